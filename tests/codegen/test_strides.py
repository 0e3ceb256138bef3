"""Dimensions of kernels."""

from __future__ import annotations

import numpy as np

from wengert.codegen import strides
from wengert.passes.plan.places import Place
from wengert.tape import Aval


def test_dimensions_that_lie_one_within_the_other_are_one() -> None:
    assert strides.merged([2, 3, 1, 4], [[12, 4, 7, 1], [0, 0, 0, 0]]) == ([24], [[1], [0]])
    assert strides.merged([2, 3, 4], [[12, 4, 1], [3, 1, 0]]) == ([6, 4], [[4, 1], [1, 0]])
    assert strides.merged([1, 1], [[5, 1]]) == ([], [[]])


def test_the_dimensions_but_one() -> None:
    assert strides.without(1, [2, 3, 4], [[12, 4, 1], [8, 0, 2]]) == ([2, 4], [[12, 1], [8, 2]])
    assert strides.without(0, [9, 3, 4], [[1, 36, 9]]) == ([12], [[9]])
    assert strides.without(0, [5], [[1]]) == ([], [[]])


def test_lanes_lie_where_all_is_contiguous_or_else_where_it_is_long() -> None:
    extents, rows = [5, 6, 7], [[1, 5, 30], [1, 5, 60]]
    assert strides.bring_lanes_last(extents, rows)
    assert (extents, rows) == ([6, 7, 5], [[5, 30, 1], [5, 60, 1]])
    for extents, last in (([9, 6, 2], [9, 2, 6]), ([9, 2, 2], [2, 2, 9]), ([3, 2, 1], [2, 1, 3]), ([2, 2], [2, 2])):
        rows = [[10 * n for n in extents]]
        assert not strides.bring_lanes_last(extents, rows)
        assert extents == last and rows == [[10 * n for n in last]]
    assert not strides.bring_lanes_last([], [[]])
    extents, rows = [5, 6], [[1, 5], [0, 1]]
    assert not strides.bring_lanes_last(extents, rows) and extents == [5, 6]


def test_strides_of_0_and_1_are_in_the_code() -> None:
    sizes = [8]
    assert strides.given([0, 1, 2, -1, 7], sizes) == (0, 1, None, None, None)
    assert sizes == [8, 2, -1, 7]


def test_elements_are_counted_in_their_own_size() -> None:
    aval = Aval((3, 5), np.dtype("f4"))
    assert strides.elements(Place(0, 0, (40, -4), aval)) == [10, -1]


def test_a_thread_gets_as_much_as_is_worth_it() -> None:
    n = strides.GRAIN
    for has_lanes in (True, False):
        assert [strides.grain(extent, extent, has_lanes) for extent in (10**6, 1, 0)] == [n, n, n]
        assert strides.grain(10**6, 2 * 10**6, has_lanes) == n // 2
    assert [strides.grain(100, 100 * n // k, False) for k in (1, 2, 3)] == [1, 2, 3]
    assert [strides.grain(100, 100 * n // k, True) for k in (1, 64, 65, 128)] == [64, 64, 128, 128]
    assert strides.grain(100, 1000 * n, False) == 1
    assert strides.shared([], 1) == (1, 0)
    assert strides.shared([100], 100 * n // 65) == (100, 128)
    assert strides.shared([100, n // 65], 100 * (n // 65)) == (100, 65)
