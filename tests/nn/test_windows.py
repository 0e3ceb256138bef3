"""Windows on space, and what says where they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ShapeError
from wengert.nn.windows import described, padded, paddings, per_axis, side_by_side, windows


def test_a_number_an_axis() -> None:
    assert per_axis(2, 3, "stride") == (2, 2, 2)
    assert per_axis([1, 2], 2, "stride") == (1, 2)
    assert per_axis(np.int64(2), 1, "stride") == (2,)


@pytest.mark.parametrize("value", [0, (1,), (1, 2, 3), (1, 1.5), -1, 2.0])
def test_no_number_an_axis(value: Any) -> None:
    with pytest.raises(ShapeError, match="stride is"):
        per_axis(value, 2, "stride")


@pytest.mark.parametrize(
    ("padding", "pairs"),
    [
        (1, [(1, 1), (1, 1)]),
        ((1, 2), [(1, 1), (2, 2)]),
        (((0, 1), (2, 3)), [(0, 1), (2, 3)]),
        ("valid", [(0, 0), (0, 0)]),
        ("same", [(1, 1), (0, 1)]),
    ],
)
def test_padding(padding: Any, pairs: list[tuple[int, int]]) -> None:
    assert paddings(padding, (5, 6), (3, 3), (1, 2)) == pairs


@pytest.mark.parametrize("padding", ["full", -1, (1,), ((1, 2, 3), 1), 1.5, (1, -1)])
def test_no_padding(padding: Any) -> None:
    with pytest.raises(ShapeError, match="padding is"):
        paddings(padding, (5, 6), (3, 3), (1, 1))


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("reach", [1, 2, 5])
def test_same_gives_a_place_every_stride(n: int, stride: int, reach: int) -> None:
    [(before, after)] = paddings("same", (n,), (reach,), (stride,))
    assert (n + before + after - reach) // stride + 1 == -(-n // stride)
    assert after - before in (0, 1)


def test_without_padding_nothing_is_copied() -> None:
    x = np.ones((1, 1, 3))
    assert padded(x, [(0, 0)]) is x
    assert padded(x, [(1, 2)], 5.0).tolist() == [[[5, 1, 1, 1, 5, 5]]]


def test_windows_are_a_view() -> None:
    x = np.arange(10.0).reshape(1, 1, 10)
    seen = windows(x, (3,), (2,), (2,))
    assert np.shares_memory(seen, x)
    assert seen[0, 0].tolist() == [[0, 2, 4], [2, 4, 6], [4, 6, 8]]


def test_windows_when_traced() -> None:
    x = np.arange(60.0).reshape(1, 2, 5, 6)
    want = windows(x, (2, 3), (2, 1), (1, 2))
    assert np.array_equal(wg.jit(lambda x: windows(x, (2, 3), (2, 1), (1, 2)))(x), want)


def test_a_window_that_is_too_large() -> None:
    with pytest.raises(ShapeError, match=r"a window of \(3,\) is larger than the padded space \(4,\)") as raised:
        windows(np.ones((1, 1, 4)), (3,), (1,), (2,))
    assert "dilation (2,) it spans (5,)" in str(raised.value)


def test_channels_become_places() -> None:
    x = np.arange(4.0).reshape(1, 4, 1, 1)
    assert side_by_side(x, (2, 2)).tolist() == [[[[0, 1], [2, 3]]]]
    assert side_by_side(np.zeros((0, 4, 3, 3)), (2, 2)).shape == (0, 1, 6, 6)


def test_an_array_in_words() -> None:
    assert described(np.zeros((2, 3), np.float32)) == described(wg.spec((2, 3), np.float32)) == "float32[2, 3]"
