"""The ops that SciPy's routines are the references of are correct, in every sense of :mod:`tests.ops.check_op`."""

from __future__ import annotations

import pytest

from tests.ops.check_op import Case, check_op
from tests.ops.linalg_cases import CASES

SLOW = {"expm", "expm_frechet", "logm", "matrix_power"}
"""SciPy takes milliseconds for a small matrix, and derivatives of second order have larger ones."""


def forms() -> list[object]:
    seen, params = set(SLOW), []
    for one in CASES:
        marks = pytest.mark.deep("every form of every op") if one.name in seen else ()
        params.append(pytest.param(one, marks=marks))
        seen.add(one.name)
    return params


@pytest.mark.sampled(15, "every op is checked in full")
@pytest.mark.parametrize("case", forms(), ids=str)
def test_op(case: Case) -> None:
    check_op(case)
