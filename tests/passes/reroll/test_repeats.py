"""Where a sequence repeats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.passes.reroll.repeats import FEWEST, Run, repeats


def found(*kinds: int) -> list[Run]:
    return repeats(np.array(kinds, np.int64))


def test_a_loop_is_found_between_other_steps() -> None:
    assert found(7, 8, *[1, 2, 3] * 10, 9) == [Run(2, 3, 10)]


@pytest.mark.parametrize("count", [0, 1, FEWEST - 1])
def test_few_iterations_are_no_loop(count: int) -> None:
    assert found(*[1, 2, 3] * count) == []


def test_the_shortest_period_is_taken() -> None:
    assert found(*[1, 2] * 40) == [Run(0, 2, 40)]


def test_steps_that_stay_alone_end_a_run() -> None:
    assert found(*[1, 2] * 10, -21, *[1, 2] * 10) == [Run(0, 2, 10), Run(21, 2, 10)]


def test_an_iteration_that_repeats_within_itself() -> None:
    """Its period is the distance of no two neighbours."""
    body = [1, 1, 2, 1, 1, 2, 1, 3]
    assert found(*body * 50) == [Run(0, 8, 50)]


def test_loops_one_behind_the_other() -> None:
    assert found(*[1, 2] * 20, *[3, 4, 5] * 30) == [Run(0, 2, 20), Run(40, 3, 30)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=120))
def test_what_is_found_repeats(kinds: list[int]) -> None:
    stop = 0
    for run in found(*kinds):
        assert run.start >= stop
        assert run.count >= FEWEST
        stop = run.stop
        assert kinds[run.start : stop] == kinds[run.start : run.start + run.period] * run.count
    assert stop <= len(kinds)
