"""Filters of Fourier transforms: products with a function of the frequencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from wengert.of_scipy.ndimage.borders import Target, axis_of, each, finish, table
from wengert.tracing.arguments import Traced, array
from wengert.tracing.interception.intercept import intercepts

PLACE = "scipy.ndimage"
Number = float | Traced


def frequencies(x: Traced, n: int, axis: int) -> list[Any]:
    """The frequency of each element along each axis, to broadcast: k / length, negative in the second half. The
    transform along ``axis`` was that of ``n`` real numbers, unless n is negative."""
    found = []
    for k, length in enumerate(x.shape):
        if k == axis and n >= 0:
            places = np.arange(length) / n
        else:
            half = (length + 1) // 2
            places = np.concatenate([np.arange(half), np.arange(half - length, 0)]) / length
        found.append(table(places.reshape([-1 if d == k else 1 for d in range(x.ndim)]), x))
    return found


def filtered(
    input: ArrayLike, parameters: Any, n: int, axis: int, output: Target, factor: Callable[..., Any], is_complex: bool
) -> Any:
    x = array(input)
    k = axis_of(axis, x.ndim)
    given = each(parameters, x.ndim)
    product = x * factor(frequencies(x, n, k), given) if x.size else x
    if is_complex:
        dtype: Any = x.dtype if x.dtype.kind == "c" else np.complex128
    else:
        dtype = x.dtype if x.dtype in (np.complex64, np.complex128, np.float32) else np.float64
    return finish(product, dtype, output)


def _gaussian(rates: list[Any], sigmas: list[Any]) -> Any:
    """Π exp(−2 π² σ² f²)."""
    return np.exp(sum([-2 * np.pi**2 * s * s * f * f for f, s in zip(rates, sigmas, strict=True)]))


def _uniform(rates: list[Any], sizes: list[Any]) -> Any:
    """Π sin(π s f) / (π s f)."""
    found: Any = 1.0
    for f, s in zip(rates, sizes, strict=True):
        found = found * np.sinc(s * f)
    return found


def _ellipsoid(rates: list[Any], sizes: list[Any]) -> Any:
    """The transform of a ball of diameters s, 1 at 0: sin r / r, 2 J₁(r) / r, 3 (sin r − r cos r) / r³."""
    squares = sum([(np.pi * s * f) ** 2 for f, s in zip(rates, sizes, strict=True)])
    is_zero = squares == 0
    r = np.sqrt(np.where(is_zero, 1.0, squares))
    if len(rates) == 1:
        found = np.sin(r) / r
    elif len(rates) == 2:
        found = 2 * special.jv(1, r) / r
    else:
        found = 3 * (np.sin(r) - r * np.cos(r)) / r**3
    return np.where(is_zero, 1.0, found)


def _shift(rates: list[Any], shifts: list[Any]) -> Any:
    """Π exp(−2 π i s f)."""
    phase = sum([-2 * np.pi * s * f for f, s in zip(rates, shifts, strict=True)])
    return np.cos(phase) + 1j * np.sin(phase)


@intercepts(f"{PLACE}:fourier_gaussian")
def fourier_gaussian(
    input: ArrayLike, sigma: Number | Sequence[Number], n: int = -1, axis: int = -1, output: Target = None
) -> Any:
    return filtered(input, sigma, n, axis, output, _gaussian, False)


@intercepts(f"{PLACE}:fourier_uniform")
def fourier_uniform(
    input: ArrayLike, size: Number | Sequence[Number], n: int = -1, axis: int = -1, output: Target = None
) -> Any:
    return filtered(input, size, n, axis, output, _uniform, False)


@intercepts(f"{PLACE}:fourier_ellipsoid")
def fourier_ellipsoid(
    input: ArrayLike, size: Number | Sequence[Number], n: int = -1, axis: int = -1, output: Target = None
) -> Any:
    if np.ndim(input) > 3:
        raise NotImplementedError("Only 1d, 2d and 3d inputs are supported")
    return filtered(input, size, n, axis, output, _ellipsoid, False)


@intercepts(f"{PLACE}:fourier_shift")
def fourier_shift(
    input: ArrayLike, shift: Number | Sequence[Number], n: int = -1, axis: int = -1, output: Target = None
) -> Any:
    return filtered(input, shift, n, axis, output, _shift, True)
