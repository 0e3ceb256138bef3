"""What is taken of the arena lies apart, and what is given back is one stretch again."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.passes.plan.arena import FreeList


@pytest.mark.parametrize("seed", range(5))
def test_what_is_taken_of_the_arena_lies_apart_and_given_back_is_one_stretch(seed: int) -> None:
    rng, free = np.random.default_rng(seed), FreeList()
    taken: list[tuple[int, int]] = []
    for _ in range(300):
        if taken and rng.random() < 0.5:
            free.give(*taken.pop(int(rng.integers(len(taken)))))
        else:
            size = 64 * int(rng.integers(1, 6))
            taken.append((free.take(size), size))
        own = sorted([*taken, *free.sizes.items()])
        assert all(start + size == after for (start, size), (after, _) in zip(own, own[1:], strict=False))
        assert not own or (own[0][0] == 0 and sum(own[-1]) == free.top)
    for one in taken:
        free.give(*one)
    assert free.sizes == {0: free.top} and free.starts == [0] and free.by_size == [(free.top, 0)]


def test_a_stretch_at_the_end_grows() -> None:
    """What is larger than what was last let go of begins where that did."""
    free = FreeList()
    assert [free.take(64), free.take(128)] == [0, 64]
    free.give(64, 128)
    assert free.take(256) == 64 and free.top == 320
    free.give(0, 64)
    assert free.take(128) == 320 and free.top == 448  # the free one is not the last
    assert free.take(64) == 0
