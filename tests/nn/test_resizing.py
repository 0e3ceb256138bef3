"""Arrays on space made larger, smaller or of another shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from wengert import nn
from wengert.errors import ShapeError, StructureError

SPACE = (4, 6, 3)
in_dimensions = pytest.mark.parametrize("rank", [1, 2, 3])


def array(rank: int, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(rank).standard_normal((2, channels, *SPACE[:rank]))


EACH = {
    "flatten": nn.flatten,
    "zeros": nn.pad(((1, 2), (0, 1))),
    "constant": nn.pad(1, value=3.0),
    "reflect": nn.pad(2, "reflect"),
    "symmetric": nn.pad(2, "symmetric"),
    "edge": nn.pad(2, "edge"),
    "wrap": nn.pad(2, "wrap"),
    "nearest": nn.upsample(2),
    "nearest, broken": nn.upsample(1.5),
    "linear": nn.upsample(2, "linear"),
    "linear, three times": nn.upsample(3, "linear"),
    "linear, corners": nn.upsample(size=(5, 9), mode="linear", align_corners=True),
    "linear, smaller": nn.upsample(size=(3, 1), mode="linear", align_corners=True),
    "shuffled": lambda x: nn.pixel_shuffle(np.repeat(x, 4, 1), 2),
    "unshuffled": nn.pixel_unshuffle(2),
    "unfolded": nn.unfold(3, 1, 1, 2),
    "folded": lambda x: nn.fold(x.reshape(2 if x.size else 0, 12, 6), (3, 4), (2, 2)),
}
every = pytest.mark.parametrize("f", EACH.values(), ids=EACH.keys())


@pytest.mark.sampled(2, "a tenth of a second each")
@every
def test_compiled_and_both_derivatives(f: Any) -> None:
    x = array(2)
    close(wg.jit(f)(x), f(x))
    wg.check_derivatives(f, x)


@every
def test_dtypes_and_empty_batches(f: Any) -> None:
    x = array(2)
    for dtype in ("float32", "float64"):
        assert f(x.astype(dtype)).dtype == wg.jit(f)(x.astype(dtype)).dtype == dtype
    assert f(x[:0]).shape == wg.jit(f)(x[:0]).shape == (0, *f(x).shape[1:])


# ----------------------------------------------------------------------------------------------------------- padding


@in_dimensions
@pytest.mark.parametrize(
    ("mode", "of_numpy"),
    [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")],
)
def test_padding_modes(rank: int, mode: str, of_numpy: Any) -> None:
    x = array(rank)
    close(nn.pad(x, ((2, 1),) * rank, mode), np.pad(x, [(0, 0), (0, 0)] + [(2, 1)] * rank, mode=of_numpy))


@pytest.mark.parametrize(("mode", "most"), [("reflect", 3), ("symmetric", 4), ("wrap", 4), ("edge", 9)])
def test_no_more_than_there_is(mode: str, most: int) -> None:
    x = array(1)
    assert nn.pad(x, most, mode).shape == (2, 3, 4 + 2 * most)
    if mode != "edge":
        with pytest.raises(ShapeError, match="too few"):
            nn.pad(x, most + 1, mode)


# -------------------------------------------------------------------------------------------------------- upsampling


@in_dimensions
def test_each_element_several_times(rank: int) -> None:
    x = want = array(rank)
    for axis in range(2, 2 + rank):
        want = np.repeat(want, 3, axis)
    close(nn.upsample(x, 3), want)
    close(nn.upsample(x, (3,) * rank), want)
    close(nn.upsample(x, size=[3 * n for n in SPACE[:rank]]), want)


@in_dimensions
@pytest.mark.parametrize("places", [1, 3, 4, 11, 12, 60])
@pytest.mark.parametrize("align_corners", [False, True])
def test_straight_between_neighbours(rank: int, places: int, align_corners: bool) -> None:
    x = want = array(rank)
    for axis, n in enumerate(SPACE[:rank], start=2):
        at = np.linspace(0, n - 1, places) if align_corners else (np.arange(places) + 0.5) * n / places - 0.5
        want = np.apply_along_axis(lambda line, at=at, n=n: np.interp(at, np.arange(n), line), axis, want)
    close(nn.upsample(x, mode="linear", size=places, align_corners=align_corners), want)


def test_a_scale_an_axis() -> None:
    assert nn.upsample(array(2), (2, 1.5)).shape == (2, 3, 8, 9)


# ------------------------------------------------------------------------------------------- pixels, columns, features


@in_dimensions
def test_pixels_there_and_back(rank: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, *(4,) * rank))
    there = nn.pixel_unshuffle(x, 2)
    assert there.shape == (2, 3 * 2**rank, *(2,) * rank)
    close(there[:, 0], x[(slice(None), 0, *[slice(None, None, 2)] * rank)])
    close(nn.pixel_shuffle(there, 2), x)


@in_dimensions
@pytest.mark.parametrize("options", [{}, dict(padding=1, stride=2), dict(dilation=2, padding="same")], ids=str)
def test_unfold_makes_a_product_of_a_convolution(rank: int, options: dict[str, Any]) -> None:
    x = array(rank)
    w = np.random.default_rng(1).standard_normal((5, 3, *(2,) * rank))
    y = nn.conv(x, w, **options)
    close((w.reshape(5, -1) @ nn.unfold(x, 2, **options)).reshape(y.shape), y)


@in_dimensions
@pytest.mark.parametrize("options", [{}, dict(padding=1, stride=2), dict(dilation=2, padding="same")], ids=str)
def test_fold_is_the_adjoint_of_unfold(rank: int, options: dict[str, Any]) -> None:
    x = array(rank)
    columns = nn.unfold(x, 2, **options)
    ct = np.random.default_rng(1).standard_normal(columns.shape)
    close(np.sum(columns * ct), np.sum(x * nn.fold(ct, SPACE[:rank], 2, **options)), 1e-11)


def test_features() -> None:
    assert nn.flatten(array(3)).shape == (2, 3 * math.prod(SPACE))
    assert nn.flatten(np.zeros((0, 3, 4))).shape == (0, 12)
    assert nn.flatten(np.zeros(2)).shape == (2, 1)


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.pad(np.ones((2, 3)), 1), "without space"),
        (lambda: nn.pad(np.ones((2, 3, 0)), 1, "edge"), "too few"),
        (lambda: nn.upsample(array(2)), "expected scale or size"),
        (lambda: nn.upsample(array(2), 2, size=3), "expected scale or size"),
        (lambda: nn.upsample(array(2), (2, 2, 2)), "expected finite numbers"),
        (lambda: nn.upsample(array(2), 0.1), "expected finite numbers"),
        (lambda: nn.pixel_shuffle(array(2), 2), "a multiple of 4"),
        (lambda: nn.pixel_unshuffle(array(2), 5), "multiples of 5"),
        (lambda: nn.unfold(array(2), 9), "larger than the padded space"),
        (lambda: nn.fold(np.ones((2, 12, 7)), (3, 4), 2), r"for windows of \(2, 2\) at \(2, 3\) places in \(3, 4\)"),
        (lambda: nn.fold(np.ones((2, 12, 6)), (3, 4), 5), "larger than the padded space"),
    ],
)
def test_what_does_not_fit(call: Any, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        call()


@pytest.mark.parametrize("call", [lambda: nn.pad(array(1), 1, "mean"), lambda: nn.upsample(array(1), 2, "cubic")])
def test_unknown_modes(call: Any) -> None:
    with pytest.raises(StructureError, match="mode"):
        call()
