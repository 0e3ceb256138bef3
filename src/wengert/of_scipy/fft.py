"""The fast Hankel transforms of ``scipy.fft``; its other transforms are NumPy's too, or beside these.

Source: Hamilton (2000), Monthly Notices of the Royal Astronomical Society 312:2, FFTLog.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from wengert.tracing.arguments import Traced, array, as_dtype, constant, holds, trace_near
from wengert.tracing.interception.intercept import intercepts

PLACE = "scipy.fft._fftlog_backend"
LN_2 = np.log(2)
Number = float | Traced


def _coefficients(n: int, near: Traced, dln: Any, mu: Any, offset: Any, bias: Any) -> Any:
    """u = 2^q e^{2 i y (log 2 − offset)} Γ((μ + 1 + q)/2 + i y) / conj Γ((μ + 1 − q)/2 + i y), for each frequency."""
    step = constant(trace_near((near,)), np.pi * np.arange(n // 2 + 1) / n)
    y = step / dln
    upper = special.loggamma((mu + 1 + bias) / 2 + 1j * y)
    lower = special.loggamma((mu + 1 - bias) / 2 + 1j * y)
    u = np.exp(upper - np.conj(lower) + LN_2 * bias + 2j * y * (LN_2 - offset))
    if n % 2 == 0:
        last = constant(trace_near((near,)), np.arange(n // 2 + 1) == n // 2)
        u = np.where(last, np.real(u) + 0j, u)
    return u


def _transformed(a: Traced, u: Traced, is_inverse: bool) -> Any:
    n = a.shape[-1]
    spectrum = np.fft.rfft(a)
    found = np.fft.irfft(spectrum / np.conj(u) if is_inverse else spectrum * u, n)
    return np.flip(found, axis=-1)


def _logarithms(a: Traced, dln: Any) -> Any:
    n = a.shape[-1]
    return constant(trace_near((a,)), np.arange(n) - (n - 1) / 2) * dln


def _check(u: Traced, is_inverse: bool) -> None:
    is_singular = u[0] == 0 if is_inverse else ~np.isfinite(u[0])
    if holds(is_singular):
        what = "singular inverse transform" if is_inverse else "singular transform"
        warnings.warn(f"{what}; consider changing the bias", stacklevel=4)


@intercepts(f"{PLACE}:fht")
def fht(a: ArrayLike, dln: Number, mu: Number, offset: Number = 0.0, bias: Number = 0.0) -> Any:
    x = as_dtype(array(a, (dln, mu, offset, bias)), np.float64)
    u = _coefficients(x.shape[-1], x, dln, mu, offset, bias)
    _check(u, False)
    r = _logarithms(x, dln)
    return _transformed(x * np.exp(-bias * r), u, False) * np.exp(-bias * (r + offset))


@intercepts(f"{PLACE}:ifht")
def ifht(A: ArrayLike, dln: Number, mu: Number, offset: Number = 0.0, bias: Number = 0.0) -> Any:
    x = as_dtype(array(A, (dln, mu, offset, bias)), np.float64)
    u = _coefficients(x.shape[-1], x, dln, mu, offset, bias)
    _check(u, True)
    r = _logarithms(x, dln)
    return _transformed(x * np.exp(bias * (r + offset)), u, True) * np.exp(bias * r)


@intercepts(f"{PLACE}:fhtoffset")
def fhtoffset(dln: Number, mu: Number, initial: Number = 0.0, bias: Number = 0.0) -> Any:
    y = np.pi / (2 * dln)
    upper = special.loggamma((mu + 1 + bias) / 2 + 1j * y)
    lower = special.loggamma((mu + 1 - bias) / 2 + 1j * y)
    turn = (LN_2 - initial) / dln + (np.imag(upper) + np.imag(lower)) / np.pi
    return initial + (turn - np.round(turn)) * dln
