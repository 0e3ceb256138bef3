"""Cotangents known by structure: how many parts there are is asked in time that their number does not decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.ops.structured import ScatteredSum, ScatteredTerm
from wengert.tape import Aval, Lit

AVAL = Aval((8,), np.dtype(float))
PARTS = tuple(ScatteredTerm(Lit(float(k)), (k,)) for k in range(5))


@pytest.mark.parametrize(
    "joined",
    [PARTS, (PARTS,), (PARTS[:2], PARTS[2:]), ((PARTS[:1], (PARTS[1], (PARTS[2:4],))), PARTS[4])],
    ids=["flat", "nested", "sum of two", "sum of sums"],
)
def test_parts_come_in_the_order_in_which_they_are_added(joined: Any) -> None:
    assert ScatteredSum(None, joined, AVAL).parts == list(PARTS)


def test_few_parts_are_no_more_than_so_many() -> None:
    ct = ScatteredSum(None, (PARTS[:2], PARTS[2:]), AVAL)
    assert ct.few_parts(5) == list(PARTS)
    assert ct.few_parts(4) is None
    assert ScatteredSum(None, (), AVAL).few_parts(0) == []


def test_a_sum_of_a_hundred_thousand_is_walked_without_recursion() -> None:
    joined: Any = ()
    for _ in range(100_000):
        joined = (joined, PARTS[:1])
    ct = ScatteredSum(None, joined, AVAL)
    assert len(ct.parts) == 100_000
