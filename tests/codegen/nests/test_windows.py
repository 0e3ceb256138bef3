"""Convolutions: contractions of windows, which are read where they lie, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import wengert as wg

RNG = np.random.default_rng(0)


def by_places(x: Any, w: Any, step: int = 1, dilation: int = 1) -> Any:
    """A convolution of [batch, channels, *space], offset by offset of the window."""
    space = [(n - dilation * (m - 1) - 1) // step + 1 for n, m in zip(x.shape[2:], w.shape[2:], strict=True)]
    out = np.zeros((x.shape[0], w.shape[0], *space))
    for at in np.ndindex(*w.shape[2:]):
        part = tuple(
            [slice(k * dilation, k * dilation + n * step - step + 1, step) for k, n in zip(at, space, strict=True)]
        )
        out += np.einsum("nc...,oc->no...", x[(..., *part)].astype(float), w[(..., *at)].astype(float))
    return out


def convolve(x: Any, w: Any, step: int = 1, dilation: int = 1) -> Any:
    n = w.ndim - 2
    spans = [dilation * (m - 1) + 1 for m in w.shape[2:]]
    windows = sliding_window_view(x, spans, axis=tuple(range(2, 2 + n)))
    windows = windows[(slice(None), slice(None), *[slice(None, None, step)] * n, *[slice(None, None, dilation)] * n)]
    space, inside = "xyz"[:n], "ijk"[:n]
    return np.einsum(f"nc{space}{inside},oc{inside}->no{space}", windows, w)


SHAPES = {
    "pictures": ((3, 5, 11, 13), (7, 5, 3, 3), 1, 1),
    "wide": ((2, 3, 8, 45), (9, 3, 3, 3), 1, 1),
    "many channels": ((2, 16, 9, 26), (33, 16, 3, 3), 1, 1),
    "every other": ((2, 4, 15, 12), (6, 4, 3, 2), 2, 1),
    "dilated": ((2, 4, 15, 20), (6, 4, 3, 3), 1, 2),
    "every third, dilated": ((1, 2, 20, 17), (3, 2, 2, 3), 3, 2),
    "large windows": ((2, 3, 12, 20), (5, 3, 5, 5), 1, 1),
    "one channel": ((4, 1, 10, 10), (1, 1, 3, 3), 1, 1),
    "of one": ((2, 6, 7, 9), (5, 6, 1, 1), 1, 1),
    "whole": ((2, 3, 4, 6), (5, 3, 4, 6), 1, 1),
    "along a line": ((3, 4, 50), (6, 4, 5), 1, 1),
    "in space": ((2, 2, 5, 6, 7), (3, 2, 2, 3, 2), 1, 1),
    "full of channels": ((8, 5, 15, 14), (32, 5, 3, 3), 1, 1),
    "fuller of channels": ((8, 18, 15, 14), (35, 18, 3, 3), 1, 1),
    "channels, every other": ((8, 4, 31, 28), (17, 4, 3, 3), 2, 1),
    "channels along a line": ((4, 3, 300), (40, 3, 5), 1, 1),
    "many pictures of one channel": ((12, 1, 14, 13), (16, 1, 3, 3), 1, 1),
    "channels, of one": ((9, 20, 12, 12), (24, 20, 1, 1), 1, 1),
    "no pictures": ((0, 2, 5, 5), (3, 2, 3, 3), 1, 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SHAPES)
def test_values_and_cotangents(name: str, dtype: str) -> None:
    of_x, of_w, step, dilation = SHAPES[name]
    x, w = RNG.normal(size=of_x).astype(dtype), RNG.normal(size=of_w).astype(dtype)
    f = lambda x, w: convolve(x, w, step, dilation)
    expected = by_places(x, w, step, dilation)
    tolerance = dict(rtol=1e-4, atol=1e-3) if dtype == "float32" else dict(rtol=1e-10, atol=1e-10)
    fast = wg.jit(f)
    np.testing.assert_allclose(fast(x, w), expected, **tolerance)
    ct = RNG.normal(size=expected.shape).astype(dtype)

    pull = wg.jit(lambda x, w, ct: wg.vjp(f, x, w)[1](ct))
    dx, dw = pull(x, w, ct)
    assert dx.dtype == dw.dtype == dtype
    # Linear in each operand: <ct, f(x, w)> is <dx, x> and <dw, w>; and all of dx, dw by directions.
    for program in (fast.program(x, w), pull.program(x, w, ct)):
        assert {k.kind for k in program.kernels} <= {"loops", "BLAS"}
    other_x, other_w = RNG.normal(size=of_x).astype(dtype), RNG.normal(size=of_w).astype(dtype)
    scale = 1 + np.abs(ct).sum()
    wide = ct.astype(float)
    assert abs(np.sum(dx * other_x) - np.sum(wide * by_places(other_x, w, step, dilation))) < tolerance["rtol"] * scale
    assert abs(np.sum(dw * other_w) - np.sum(wide * by_places(x, other_w, step, dilation))) < tolerance["rtol"] * scale


def test_derivatives_of_any_order() -> None:
    x, w = RNG.normal(size=(2, 2, 5, 6)), RNG.normal(size=(3, 2, 2, 3))
    for step, dilation in [(1, 1), (2, 1), (1, 2)]:
        f = lambda x, w, s=step, d=dilation: np.tanh(convolve(x, w, s, d))
        wg.check_derivatives(f, x, w)
        second = lambda x, w, f=f: np.sum(wg.grad(lambda x: np.sum(f(x, w) ** 2))(x) ** 2)
        wg.check_derivatives(second, x, w)


def test_in_a_batch_of_weights() -> None:
    x, w = RNG.normal(size=(2, 3, 8, 9)), RNG.normal(size=(4, 5, 3, 3, 3))
    np.testing.assert_allclose(wg.vmap(convolve, in_axes=(None, 0))(x, w), [by_places(x, k) for k in w])
    ct = wg.vmap(wg.grad(lambda w: np.sum(convolve(x, w) ** 2)))(w)
    np.testing.assert_allclose(ct[2], wg.grad(lambda w: np.sum(convolve(x, w) ** 2))(w[2]))


SPELLINGS: dict[str, Callable[[Any, Any], Any]] = {
    "einsum": lambda v, w: np.einsum("ncyxij,ocij->noyx", v, w),
    "einsum, the other way round": lambda v, w: np.einsum("ocij,ncyxij->noyx", w, v),
    "tensordot": lambda v, w: np.moveaxis(np.tensordot(v, w, axes=((1, 4, 5), (1, 2, 3))), -1, 1),
    "of moved axes": lambda v, w: np.einsum("nyxcij,ocij->noyx", np.moveaxis(v, 1, 3), w),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_windows_are_written_out(spelling: str) -> None:
    """However it is spelt, forward and backward the arrays that are stored are no larger than those there
    are, where one with the windows written out is nine times as large as the pictures."""
    contracted = SPELLINGS[spelling]
    x, w = RNG.normal(size=(8, 4, 20, 20)), RNG.normal(size=(6, 4, 3, 3))

    def loss(x: Any, w: Any) -> Any:
        h = contracted(sliding_window_view(x, (3, 3), axis=(2, 3)), w)
        return np.sum(np.tanh(h) ** 2)

    gradient = wg.jit(wg.grad(loss, (0, 1)))
    dx, dw = gradient(x, w)
    plain = wg.grad(lambda x, w: np.sum(np.tanh(convolve(x, w)) ** 2), (0, 1))(x, w)
    np.testing.assert_allclose(dx, plain[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(dw, plain[1], rtol=1e-9, atol=1e-9)
    program = gradient.program(x, w)
    assert all(k.kind == "loops" for k in program.kernels)
    activations, padded = 8 * 6 * 18 * 18 * 8, 8 * 6 * 22 * 22 * 8
    assert program.arena_bytes <= 2 * activations + padded + 4096


@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_threads_gives_the_same_bits(threads: int) -> None:
    x, w = RNG.normal(size=(6, 8, 30, 30)).astype("f"), RNG.normal(size=(20, 8, 3, 3)).astype("f")
    gradient = wg.jit(wg.grad(lambda x, w: np.sum(convolve(x, w) ** 2), (0, 1)))
    once = gradient(x, w)
    before = wg.get_threads()
    try:
        wg.set_threads(threads)
        for a, b in zip(once, gradient(x, w), strict=True):
            np.testing.assert_array_equal(a, b)
    finally:
        wg.set_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pools(dtype: str) -> None:
    x = RNG.permutation(2 * 3 * 8 * 9).reshape(2, 3, 8, 9).astype(dtype)
    pool = lambda x: sliding_window_view(x, (2, 3), axis=(2, 3))[:, :, ::2, ::3].max((4, 5))
    expected = x.reshape(2, 3, 4, 2, 3, 3).max((3, 5))
    fast, gradient = wg.jit(pool), wg.jit(wg.grad(lambda x: np.sum(pool(x) ** 2)))
    np.testing.assert_array_equal(fast(x), expected)
    at = x == np.repeat(np.repeat(expected, 2, 2), 3, 3)
    np.testing.assert_array_equal(gradient(x), 2 * x * at)
    for program in (fast.program(x), gradient.program(x)):
        assert all(k.kind == "loops" for k in program.kernels)
