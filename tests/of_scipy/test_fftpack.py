"""scipy.fftpack on traced arrays: against SciPy, differences, and sums of sines by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import fftpack

import wengert as wg
from tests.differences import check, check_value, same

RNG = np.random.default_rng(5)
X = RNG.standard_normal((2, 6))
Z = X + 1j * RNG.standard_normal((2, 6))


def test_transforms_are_those_of_scipy_fft_in_older_forms() -> None:
    for name in ("fft", "ifft", "fft2", "ifftn"):
        check(getattr(fftpack, name), Z)
    for name in ("dct", "idct", "dst", "idst", "dctn", "idstn"):
        check(getattr(fftpack, name), X)
    check(lambda x: fftpack.fft(x, 4, axis=0, overwrite_x=True), X)
    check(lambda x: fftpack.fftn(x, shape=(2, 4)), X)
    check(lambda x: fftpack.dct(x, 3, 5, 0, "ortho"), X)


@pytest.mark.parametrize("n", [None, 1, 2, 3, 4, 5, 6, 7, 8])
def test_real_transforms_pack_their_coefficients(n: int | None) -> None:
    check(lambda x: fftpack.rfft(x, n), X)
    check(lambda x: fftpack.irfft(x, n), X)
    check_value(lambda x: fftpack.rfft(x, n, axis=0), X.astype(np.float32))
    check_value(lambda x: fftpack.irfft(x, n, 0), X.astype(np.float32))


OPERATORS: dict[str, Any] = {
    "diff": fftpack.diff,
    "diff 3": lambda x: fftpack.diff(x, 3, period=2.0),
    "diff 2": lambda x: fftpack.diff(x, 2),
    "diff -2": lambda x: fftpack.diff(x, -2),
    "diff -1": lambda x: fftpack.diff(x, -1),
    "hilbert": fftpack.hilbert,
    "ihilbert": fftpack.ihilbert,
}


@pytest.mark.sampled(2, "a second each")
@pytest.mark.parametrize("n", [5, 6])
def test_operators_on_periodic_sequences(n: int) -> None:
    x = RNG.standard_normal(n)
    for operator in OPERATORS.values():
        check(operator, x)
        check_value(operator, x + 2j)
    h = np.array(0.4)
    for operator in (fftpack.tilbert, fftpack.itilbert, fftpack.shift):
        check(lambda x, h, f=operator: f(x, h[()]), x, h)
        check(lambda x, h, f=operator: f(x, h[()], 3.0), x, h)
    for operator in (fftpack.sc_diff, fftpack.cs_diff, fftpack.cc_diff, fftpack.ss_diff):
        check(lambda x, a, b, f=operator: f(x, a[()], b[()], 5.0), x, h, np.array(1.25))


def test_a_sine_is_differentiated_and_shifted() -> None:
    t = 2 * np.pi * np.arange(16) / 16
    same(wg.jit(fftpack.diff)(np.sin(3 * t)), 3 * np.cos(3 * t), 1e-12)
    slope = wg.jacobian(lambda a: fftpack.shift(np.sin(2 * t), a))(0.25)
    same(slope, 2 * np.cos(2 * (t + 0.25)), 1e-12)


def test_real_transforms_refuse_complex_numbers_as_scipy_does() -> None:
    for f in (fftpack.rfft, fftpack.irfft):
        with pytest.raises(TypeError, match="x must be a real sequence"):
            wg.jit(f)(Z)
