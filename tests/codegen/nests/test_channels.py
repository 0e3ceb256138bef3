"""Convolutions with lanes along channels: when they are, and that results do not depend on it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.codegen.lower import lower
from wengert.codegen.nests.channels import TOTAL_BYTES, channels_of, taps_of
from wengert.codegen.nests.emit import emit
from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.nest import Nest
from wengert.codegen.target import target

RNG = np.random.default_rng(0)


def convolve(x: Any, w: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("ncyxij,ocij->noyx", windows, w)


def by_places(x: Any, w: Any) -> Any:
    """A convolution, offset by offset of the window."""
    height, width = [n - m + 1 for n, m in zip(x.shape[2:], w.shape[2:], strict=True)]
    out = np.zeros((len(x), len(w), height, width))
    for i, j in np.ndindex(*w.shape[2:]):
        out += np.einsum("ncyx,oc->noyx", x[:, :, i : i + height, j : j + width].astype(float), w[:, :, i, j])
    return out


def facts_of_contractions(f: Any, *args: Any) -> list[Facts]:
    steps = wg.jit(f).program(*args).plan.steps
    nests = [
        lower(step, target()).kernel for step in steps if step.instr is not None and step.instr.op.name == "contract"
    ]
    return [Facts(nest, target()) for nest in nests if isinstance(nest, Nest)]


def of(x: tuple[int, ...], w: tuple[int, ...]) -> tuple[Any, Any, Any]:
    pictures, weights = [RNG.normal(size=shape).astype("f") for shape in (x, w)]
    return pictures, weights, RNG.normal(size=by_places(pictures, weights).shape).astype("f")


def pulled(x: Any, w: Any, ct: Any) -> Any:
    return wg.vjp(convolve, x, w)[1](ct)


def derivative_in_w(x: Any, w: Any, ct: Any) -> Any:
    return wg.vjp(lambda w: convolve(x, w), w)[1](ct)[0]


needs_fma = pytest.mark.skipif(not target().has_fma, reason="sums of products are written another way")


@needs_fma
def test_lanes_are_channels_where_lines_are_short() -> None:
    x, w, ct = of((16, 4, 12, 12), (32, 4, 3, 3))
    (facts,) = facts_of_contractions(convolve, x, w)
    assert channels_of(facts) is not None and taps_of(facts) is None
    (facts,) = facts_of_contractions(derivative_in_w, x, w, ct)
    assert taps_of(facts) is not None and channels_of(facts) is None


@needs_fma
def test_lanes_are_places_where_channels_are_few() -> None:
    x, w, ct = of((8, 4, 20, 34), (3, 4, 3, 3))
    for facts in [*facts_of_contractions(convolve, x, w), *facts_of_contractions(derivative_in_w, x, w, ct)]:
        assert channels_of(facts) is None and taps_of(facts) is None


@pytest.mark.sampled(5, "a tenth of a second each")
@pytest.mark.parametrize("channels", [16, 17, 31, 32, 33, 48])
@pytest.mark.parametrize("n", [10, 11, 16, 20])
def test_any_number_of_channels_and_places(channels: int, n: int) -> None:
    """Vectors that overlap, tiles that are no square, and some that are one row."""
    x, w, ct = of((10, 9, n, n + 1), (channels, 9, 3, 3))
    np.testing.assert_allclose(wg.jit(convolve)(x, w), by_places(x, w), rtol=1e-4, atol=1e-4)
    dw = wg.jit(derivative_in_w)(x, w, ct)
    expected = by_places(x.swapaxes(0, 1), ct.swapaxes(0, 1)).swapaxes(0, 1)  # of which every picture is a channel
    np.testing.assert_allclose(dw, expected, rtol=1e-4, atol=1e-3)


def test_long_sums_lose_few_digits() -> None:
    x, w, ct = [np.abs(v) for v in of((60, 2, 26, 26), (16, 2, 3, 3))]
    dw = wg.jit(derivative_in_w)(x, w, ct)
    expected = by_places(x.swapaxes(0, 1), ct.swapaxes(0, 1)).swapaxes(0, 1)
    np.testing.assert_allclose(dw, expected, rtol=2e-5)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    x, w, ct = of((8, 40, 14, 14), (32, 40, 3, 3))
    fast = wg.jit(pulled)
    once = fast(x, w, ct)
    before = wg.get_threads()
    try:
        for threads in (1, 3):
            wg.set_threads(threads)
            for a, b in zip(once, fast(x, w, ct), strict=True):
                np.testing.assert_array_equal(a, b)
    finally:
        wg.set_threads(before)


def test_windows_of_one_place_are_products() -> None:
    """Of a batch of pictures with the same weights, in tiles or as BLAS takes them; nothing is done by NumPy."""
    x, w, ct = of((3, 160, 24, 24), (160, 160, 1, 1))
    forward, backward = wg.jit(convolve), wg.jit(pulled)
    np.testing.assert_allclose(forward(x, w), by_places(x, w), rtol=1e-4, atol=1e-4)
    dx, dw = backward(x, w, ct)
    matrix = w[:, :, 0, 0]
    np.testing.assert_allclose(dx, np.einsum("noyx,oc->ncyx", ct, matrix), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(dw[:, :, 0, 0], np.einsum("noyx,ncyx->oc", ct, x), rtol=1e-3, atol=1e-2)
    (product,) = forward.program(x, w).kernels
    assert product.kind in ("BLAS", "loops") and product.name.startswith("contract")
    if target().has_fma:
        assert all(k.kind != "callback" for k in backward.program(x, w, ct).kernels)


@needs_fma
def test_the_sums_of_as_many_channels_as_have_room_are_kept_at_once() -> None:
    x, w, ct = of((16, 4, 12, 12), (32, 4, 3, 3))
    (facts,) = facts_of_contractions(derivative_in_w, x, w, ct)
    rooms = re.findall(r"alloca float, i64 (\d+)", emit(facts.nest, "k", target()))
    taps, width = 9, target().lanes(4)
    at_once = TOTAL_BYTES // (2 * width * 4 * taps)
    assert at_once > 1 and str(at_once * taps * 2 * width) in rooms
