"""Tapes run step by step through the references of their ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy

X = np.arange(12.0).reshape(3, 4) - 4.5


def test_a_row_at_a_traced_integer_is_not_the_callers_memory() -> None:
    """A gather at integers alone gave a NumPy view of its operand; the next step in place wrote into the argument."""

    def f(x: Any, k: int) -> Any:
        row = x[k].copy()
        row[0] = 100.0
        return row

    as_numpy(f, X, 1)


@pytest.mark.parametrize("native", [True, False])
def test_errors_of_a_running_step_say_the_line(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """``LinAlgError: Singular matrix`` pointed at the call of the compiled function, and into the library."""
    monkeypatch.setattr(wg.config, "native", native)

    def inverse(a: Any) -> Any:
        b = a * 2
        c = np.linalg.inv(b)  # here: inverse
        return np.sum(c)

    def power(x: Any, n: Any) -> Any:
        y = x + 1
        z = y**n  # here: power
        return z * 2 + x

    @wg.primitive
    def strict(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("negative")
        return x

    def own(x: Any) -> Any:
        y = strict(x)  # here: own
        return y * 2

    def indexed(x: Any, i: Any) -> Any:
        return np.sin(x[i + 1])  # here: indexed

    for f, good, bad, error in [
        (inverse, (np.eye(2),), (np.zeros((2, 2)),), np.linalg.LinAlgError),
        (power, (np.arange(3), 1), (np.arange(3), -1), ValueError),
        (own, (np.ones(2),), (-np.ones(2),), ValueError),
        (indexed, (np.ones(3), 1), (np.ones(3), 7), IndexError),
    ]:
        g = wg.jit(f)
        g(*good)
        with pytest.raises(error) as raised:
            g(*bad)
        assert [f"# here: {f.__name__}" in note for note in raised.value.__notes__] == [True]
        g(*good)
    with pytest.raises(np.linalg.LinAlgError) as raised:
        wg.grad(inverse)(np.zeros((2, 2)))
    assert "# here: inverse" in raised.value.__notes__[0]
