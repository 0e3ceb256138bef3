"""Dimensions of kernels."""

from __future__ import annotations

from wengert.codegen import strides


def test_dimensions_that_lie_one_within_the_other_are_one() -> None:
    assert strides.merged([2, 3, 1, 4], [[12, 4, 7, 1], [0, 0, 0, 0]]) == ([24], [[1], [0]])
    assert strides.merged([2, 3, 4], [[12, 4, 1], [3, 1, 0]]) == ([6, 4], [[4, 1], [1, 0]])
    assert strides.merged([1, 1], [[5, 1]]) == ([], [[]])
