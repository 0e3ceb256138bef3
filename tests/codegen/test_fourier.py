"""Transforms by the runtime's own code: which there are, and that they are pocketfft's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft

import wengert as wg
from tests.comparisons import same_on_any_number_of_threads

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
    transforms: list[Any] = [scipy.fft.fft, scipy.fft.ifft, lambda x: scipy.fft.fft(x, norm="ortho")]
    for f in transforms:
        got, want = wg.jit(lambda x, f=f: f(x))(x), f(x)
        assert got.dtype == dtype
        assert np.abs(got - want).max() <= bound * np.abs(want).max()
    assert "callback" not in kinds(lambda x: np.fft.ifft(np.fft.fft(x) * x), x)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 12, 13, 97, 100])
def test_other_lengths_by_numpys_loops(n: int) -> None:
    x = draw(n)
    for f, given in [
        (np.fft.fft, x),
        (np.fft.ifft, x.real.copy()),
        (lambda x: scipy.fft.fft(x, norm="ortho"), x.astype(np.complex64)),
        (np.fft.rfft, x.real.copy()),
        (np.fft.ihfft, x.real.astype(np.float32)),
        (lambda x: np.fft.irfft(x, n), x),
        (lambda x: np.fft.hfft(x, n), x),
    ]:
        assert "callback" not in kinds(f, given)
        got, want = wg.jit(f)(given), f(given)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 if "f" in got.dtype.char.lower() else 1e-13)


def test_other_axes_and_several() -> None:
    x = draw(6, 5, 4)
    for f in [
        np.fft.fftn,
        np.fft.ifft2,
        lambda x: np.fft.fft(x, axis=0),
        lambda x: np.fft.ifftn(x[::2, ::-1], axes=(2, 0)),
        lambda x: np.fft.irfft(x, axis=1),
        lambda x: np.fft.irfftn(x),
        lambda x: np.fft.rfftn(x.real, axes=(1, 0)),
        lambda x: np.fft.fftn(x.real),
        lambda x: np.fft.ifft(x.imag, axis=1),
    ]:
        assert "callback" not in kinds(f, x)
        np.testing.assert_allclose(wg.jit(f)(x), f(x), rtol=0, atol=1e-13)
        loss = lambda x, f=f: np.sum(np.abs(f(x)) ** 2)
        assert "callback" not in kinds(wg.grad(loss), x)
        np.testing.assert_allclose(wg.jit(wg.grad(loss))(x), wg.grad(loss)(x), atol=1e-11)


def test_what_there_is_no_kernel_for_is_called_back() -> None:
    for f, x in [
        (np.fft.fft, draw(200, 100)),
        (scipy.fft.dct, draw(16).real.copy()),
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
    same_on_any_number_of_threads(lambda: f(x))


def test_an_empty_batch() -> None:
    assert wg.jit(np.fft.fft)(draw(0, 16)).shape == (0, 16)
