"""Transforms by the runtime's own code: which there are, and that they are pocketfft's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft

import wengert as wg

RNG = np.random.default_rng(0)


def draw(*shape: int, dtype: Any = complex) -> Any:
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


def kinds(f: Any, *args: Any) -> list[str]:
    return [k.kind for k in wg.jit(f).program(*args).kernels]


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("n", [2**k for k in range(3, 17)])
def test_powers_of_two(n: int, dtype: Any) -> None:
    """To some units in the last place of the largest, as far as the length lets them grow."""
    x = draw(n, dtype=dtype)
    bound = 4 * np.finfo(dtype).eps * np.log2(n)
    for f in (scipy.fft.fft, scipy.fft.ifft, lambda x: scipy.fft.fft(x, norm="ortho")):
        got, want = wg.jit(lambda x, f=f: f(x))(x), f(x)
        assert got.dtype == dtype
        assert np.abs(got - want).max() <= bound * np.abs(want).max()
    assert "callback" not in kinds(lambda x: np.fft.ifft(np.fft.fft(x) * x), x)


def test_what_there_is_no_kernel_for_is_called_back() -> None:
    for f, x in [
        (np.fft.fft, draw(12)),
        (np.fft.fft, draw(4)),
        (np.fft.fft, draw(2**17)),
        (np.fft.fft, draw(16).real.copy()),
        (np.fft.fft2, draw(16, 16)),
        (lambda x: np.fft.fft(x, axis=0), draw(16, 3)),
        (np.fft.rfft, draw(16).real.copy()),
    ]:
        assert "callback" in kinds(f, x)
        np.testing.assert_allclose(wg.jit(f)(x), f(x), rtol=1e-9, atol=1e-9)


def test_rows_views_and_parts() -> None:
    x = draw(5, 3, 32)
    for f in (
        np.fft.fft,
        lambda x: np.fft.fft(x[::2, ::-1]),
        lambda x: np.fft.fft(x.transpose(2, 1, 0)[:, :, :1].transpose(2, 1, 0)),
        lambda x: np.fft.fft(np.concatenate([x, x * 2], axis=2)),
        lambda x: (np.fft.fft(x).real, np.fft.ifft(x.conj()).imag),
        lambda x: np.concatenate([np.fft.fft(x[0]), x[1]]),
    ):
        assert "callback" not in kinds(f, x)
        got, want = wg.jit(f)(x), f(x)
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, want)], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_the_same_bits_on_any_number_of_threads() -> None:
    x, f = draw(64, 1024), wg.jit(lambda x: np.fft.ifft(np.exp(1j * np.fft.fft(x))))
    before = wg.get_threads()
    try:
        wg.set_threads(1)
        one = f(x)
        wg.set_threads(2)
        np.testing.assert_array_equal(f(x), one)
    finally:
        wg.set_threads(before)


def test_an_empty_batch() -> None:
    assert wg.jit(np.fft.fft)(draw(0, 16)).shape == (0, 16)
