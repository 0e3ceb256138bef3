"""A hundred scripts in the style of SciPy's documentation find the same inside ``wg.exact()``, in fewer evaluations."""

from __future__ import annotations

import pytest

from tests.acceptance.exact_scripts import SCRIPTS, run, same

FINITE_DIFFERENCES_STAY = {
    "broyden_tridiagonal": "",  # it says where its Jacobian is not zero
    "noted_history": "writes",
    "tabulated_objective": "new path",
}
"""Scripts whose functions are not differentiated, and why."""


def test_there_are_a_hundred() -> None:
    assert len(SCRIPTS) >= 100
    for path in SCRIPTS.values():
        assert "wengert" not in path.read_text()


@pytest.mark.sampled(9, "each script runs three times, and its function is recorded")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_finds_the_same_in_fewer_evaluations(name: str) -> None:
    plain, counted = run(name, is_exact=False), run(name, is_exact=False, counts=True)
    found = run(name, is_exact=True, is_eager=True, counts=True)
    usual = run(name, is_exact=True)
    assert same(plain.result, found.result)
    assert same(plain.result, usual.result)
    if name in FINITE_DIFFERENCES_STAY:
        assert all(FINITE_DIFFERENCES_STAY[name] in why for why in found.kept.values())
        return
    assert not found.kept
    assert found.filled > 0
    assert found.calls <= counted.calls + 4  # recording, and one to compare
