"""Linear filters: correlations and convolutions, uniform, Gaussian, and derivatives of images."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.of_scipy.ndimage.borders import (
    Target,
    axes_of,
    axis_of,
    between,
    doubled,
    dtype_of,
    each,
    finish,
    real,
    table,
    windows,
)
from wengert.of_scipy.ndimage.borders import padded as bordered
from wengert.tracing.arguments import Traced, array, is_traced
from wengert.tracing.interception.asking import AT_FUNCTIONS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

PLACE = "scipy.ndimage"
Modes = str | Sequence[str]
Number = float | Traced
Numbers = Number | Sequence[Number]


def correlated(x: Traced, weights: Traced, axis: int, mode: str, cval: complex, origin: int) -> Any:
    """Σₖ wₖ x[i + k − n // 2 − origin] along an axis, in float64."""
    n = weights.shape[0]
    before = n // 2 + origin
    if not 0 <= before < n:
        raise ValueError("Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= (len(weights)-1) // 2")
    if x.size == 0:
        return x
    around = bordered(x, [(before, n - 1 - before) if k == axis else (0, 0) for k in range(x.ndim)], mode, cval)
    return np.lib.stride_tricks.sliding_window_view(around, n, axis) @ weights


def weights_of(weights: ArrayLike, near: Traced) -> Any:
    """Weights as an array; a list of numbers is a constant."""
    found = (
        table(weights, near) if isinstance(weights, list | tuple) and not is_list_traced(weights) else array(weights)
    )
    return doubled(found)


def is_list_traced(values: Iterable[Any]) -> bool:
    return any(is_list_traced(x) if isinstance(x, list | tuple) else is_traced(x) for x in values)


@intercepts(f"{PLACE}:correlate1d")
def correlate1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: Target = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> Any:
    x = array(input)
    w = weights_of(weights, x)
    if w.ndim != 1 or w.shape[0] < 1:
        raise RuntimeError("no filter weights given")
    if w.dtype.kind == "c":
        w = np.conj(w)
    found = correlated(doubled(x), w, axis_of(axis, x.ndim), mode, cval, origin)
    return finish(found, dtype_of(x), output)


@intercepts(f"{PLACE}:convolve1d")
def convolve1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: Target = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> Any:
    x = array(input)
    w = weights_of(weights, x)
    if w.ndim != 1 or w.shape[0] < 1:
        raise RuntimeError("no filter weights given")
    place = -origin if w.shape[0] % 2 else -origin - 1
    found = correlated(doubled(x), w[::-1], axis_of(axis, x.ndim), mode, cval, place)
    return finish(found, dtype_of(x), output)


def _expanded(w: Traced, axes: tuple[int, ...], ndim: int, name: str) -> Any:
    """An array over some axes as one over all."""
    if w.ndim != len(axes):
        raise RuntimeError(f"{name}.ndim ({w.ndim}) must match len(axes) ({len(axes)})")
    return np.expand_dims(w, tuple([k for k in range(ndim) if k not in axes]))


def _of_many_axes(
    input: ArrayLike,
    weights: ArrayLike,
    output: Target,
    mode: Modes,
    cval: complex,
    origin: int | Sequence[int],
    axes: Any,
    is_convolution: bool,
) -> Any:
    x = array(input)
    over = axes_of(axes, x.ndim)
    w = _expanded(weights_of(weights, x), over, x.ndim, "weights")
    shifts = [0] * x.ndim
    for k, shift in zip(over, each(origin, len(over)), strict=True):
        shifts[k] = int(shift)
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported")
    if is_convolution:
        w = np.flip(w)
        shifts = [-shift if n % 2 else -shift - 1 for shift, n in zip(shifts, w.shape, strict=True)]
    elif w.dtype.kind == "c":
        w = np.conj(w)
    for shift, n in zip(shifts, w.shape, strict=True):
        if not -(n // 2) <= shift <= (n - 1) // 2:
            raise ValueError(
                "Invalid origin; origin must satisfy -(weights.shape[k] // 2) <= origin[k] <= (weights.shape[k]-1) // 2"
            )
    if x.size == 0:
        return finish(doubled(x), dtype_of(x), output)
    around = windows(doubled(x), w.shape, shifts, [mode], cval) if x.ndim else doubled(x)
    return finish(np.tensordot(around, w, x.ndim), dtype_of(x), output)


@intercepts(f"{PLACE}:correlate")
def correlate(
    input: ArrayLike,
    weights: ArrayLike,
    output: Target = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    return _of_many_axes(input, weights, output, mode, cval, origin, axes, is_convolution=False)


@intercepts(f"{PLACE}:convolve")
def convolve(
    input: ArrayLike,
    weights: ArrayLike,
    output: Target = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    return _of_many_axes(input, weights, output, mode, cval, origin, axes, is_convolution=True)


# ----------------------------------------------------------------------------------------------------------- uniform


@intercepts(f"{PLACE}:uniform_filter1d")
def uniform_filter1d(
    input: ArrayLike,
    size: int,
    axis: int = -1,
    output: Target = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> Any:
    x = array(input)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    if not 0 <= size // 2 + origin < size:
        raise ValueError("invalid origin")
    weights = table(np.full(int(size), 1 / size), x)
    found = correlated(doubled(x), weights, axis_of(axis, x.ndim), mode, cval, origin)
    return finish(found, dtype_of(x), output)


@intercepts(f"{PLACE}:uniform_filter")
def uniform_filter(
    input: ArrayLike,
    size: int | Sequence[int] = 3,
    output: Target = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """One axis after the other; SciPy converts to the dtype of the result in between."""
    x = array(input)
    over = axes_of(axes, x.ndim)
    found: Any = x
    sizes, origins, modes = each(size, len(over)), each(origin, len(over)), each(mode, len(over))
    for axis, n, shift, border in zip(over, sizes, origins, modes, strict=True):
        if n > 1:
            found = uniform_filter1d(found, int(n), axis, between(output, x), border, cval, shift)
    return finish(found, dtype_of(x), output)


# ---------------------------------------------------------------------------------------------------------- Gaussian


def gaussian_kernel(sigma: Number, order: int, radius: int, near: Traced) -> Any:
    """The weights: a normal density on −radius … radius, normalised, or one of its derivatives.

    The derivative of order n is a polynomial q times the density; q follows from q′ − q x / σ², n times.
    """
    if order < 0:
        raise ValueError("order must be non-negative")
    is_constant = not is_traced(sigma)
    places = np.arange(-radius, radius + 1)
    if is_constant:
        sigma = np.float64(concrete_number(sigma))
    x: Any = places if is_constant else table(places, near)
    variance: Any = sigma * sigma
    density = np.exp(-0.5 / variance * x**2)
    density = density / np.sum(density)
    q: list[Any] = [1.0]
    for _ in range(order):
        rising = [k * q[k] for k in range(1, len(q))] + [0.0, 0.0]
        q = [rising[k] - (q[k - 1] / variance if k else 0.0) for k in range(len(q) + 1)]
    if order:
        density = sum([q[k] * x**k for k in range(len(q))]) * density
    return table(density, near) if is_constant else density


def concrete_number(x: Number) -> float:
    return float(np.asarray(x.constant() if type(x) is Tracer else x))


@intercepts(f"{PLACE}:gaussian_filter1d")
def gaussian_filter1d(
    input: ArrayLike,
    sigma: Number,
    axis: int = -1,
    order: int = 0,
    output: Target = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """A traced sigma is looked at for the width of the window, which is cut off at a whole number."""
    x = array(input)
    width: Any = int(truncate * sigma + 0.5) if radius is None else radius
    if not isinstance(width, numbers.Integral) or width < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    weights = gaussian_kernel(sigma, order, int(width), x)[::-1]
    found = correlated(doubled(x), weights, axis_of(axis, x.ndim), mode, cval, 0)
    return finish(found, dtype_of(x), output)


@intercepts(f"{PLACE}:gaussian_filter")
def gaussian_filter(
    input: ArrayLike,
    sigma: Numbers,
    order: int | Sequence[int] = 0,
    output: Target = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
) -> Any:
    x = array(input)
    over = axes_of(axes, x.ndim)
    n = len(over)
    found: Any = x
    parts = zip(over, each(sigma, n), each(order, n), each(mode, n), each(radius, n), strict=True)
    for axis, width, derivative, border, reach in parts:
        if width > 1e-15:
            found = gaussian_filter1d(
                found, width, axis, derivative, between(output, x), border, cval, truncate, radius=reach
            )
    return finish(found, dtype_of(x), output)


# ------------------------------------------------------------------------------------------------ slopes of images


def _slope(name: str, across: list[int]) -> Callable[..., Any]:
    def slope(
        input: ArrayLike, axis: int = -1, output: Target = None, mode: Modes = "reflect", cval: complex = 0.0
    ) -> Any:
        x = array(input)
        k = axis_of(axis, x.ndim)
        modes, kept = each(mode, x.ndim), between(output, x)
        found = correlate1d(x, [-1, 0, 1], k, kept, modes[k], cval, 0)
        for d in range(x.ndim):
            if d != k:
                found = correlate1d(found, across, d, kept, modes[d], cval, 0)
        return finish(found, dtype_of(x), output)

    slope.__name__ = name
    return slope


prewitt = intercepts(f"{PLACE}:prewitt")(_slope("prewitt", [1, 1, 1]))
sobel = intercepts(f"{PLACE}:sobel")(_slope("sobel", [1, 2, 1]))


def _along_each_axis(
    x: Any, derivative: Callable[..., Any], kept: Any, mode: Modes, cval: complex, axes: Any, given: Any, keywords: Any
) -> list[Any]:
    """Call a function of the user's for each axis, and return what it makes of the image. The first call writes into an
    array, as SciPy's does."""
    over = axes_of(axes, x.ndim)
    modes = each(mode, len(over))
    found = []
    for k, (axis, border) in enumerate(zip(over, modes, strict=True)):
        target: Any = table(np.zeros(x.shape, kept), x).copy() if k == 0 else np.dtype(kept)
        value = derivative(x, axis, target, border, cval, *given, **(keywords or {}))
        found.append(target if k == 0 else value)
    return found


@intercepts(f"{PLACE}:generic_laplace", AT_FUNCTIONS)
def generic_laplace(
    input: ArrayLike,
    derivative2: Callable[..., Any],
    output: Target = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    x = array(input)
    kept = between(output, x)
    parts = _along_each_axis(x, derivative2, kept, mode, cval, axes, extra_arguments, extra_keywords)
    total: Any = sum(parts[1:], parts[0]) if parts else x
    return finish(total, dtype_of(x), output)


@intercepts(f"{PLACE}:laplace")
def laplace(
    input: ArrayLike,
    output: Target = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    second = lambda x, axis, kept, mode, cval: correlate1d(x, [1, -2, 1], axis, kept, mode, cval, 0)
    return generic_laplace(input, second, output, mode, cval, axes=axes)


@intercepts(f"{PLACE}:gaussian_laplace")
def gaussian_laplace(
    input: ArrayLike,
    sigma: Numbers,
    output: Target = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    *,
    axes: int | Sequence[int] | None = None,
    **kwargs: Any,
) -> Any:
    x = array(input)
    second = _by_gaussian(sigma, 2, axes_of(axes, x.ndim), x.ndim, kwargs)
    return generic_laplace(x, second, output, mode, cval, axes=axes)


def _by_gaussian(
    sigma: Numbers, degree: int, over: tuple[int, ...], ndim: int, keywords: Mapping[str, Any]
) -> Callable[..., Any]:
    sigmas = [0.0] * ndim
    for k, width in zip(over, each(sigma, len(over)), strict=True):
        sigmas[k] = width

    def derivative(x: Any, axis: int, kept: Any, mode: Any, cval: Any) -> Any:
        order = [degree if k == axis else 0 for k in range(ndim)]
        return gaussian_filter(x, sigmas, order, kept, mode, cval, **keywords)

    return derivative


@intercepts(f"{PLACE}:generic_gradient_magnitude", AT_FUNCTIONS)
def generic_gradient_magnitude(
    input: ArrayLike,
    derivative: Callable[..., Any],
    output: Target = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """The root of the sum of squares; where that is 0, its derivative is 0, as that of a norm."""
    x = array(input)
    kept = between(output, x)
    parts = _along_each_axis(x, derivative, kept, mode, cval, axes, extra_arguments, extra_keywords)
    if not parts:
        return finish(x, dtype_of(x), output)
    total = sum([part * part for part in parts[1:]], parts[0] * parts[0])
    is_zero = total == 0
    return finish(np.where(is_zero, 0, np.sqrt(np.where(is_zero, 1, total))), dtype_of(x), output)


@intercepts(f"{PLACE}:gaussian_gradient_magnitude")
def gaussian_gradient_magnitude(
    input: ArrayLike,
    sigma: Numbers,
    output: Target = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    *,
    axes: int | Sequence[int] | None = None,
    **kwargs: Any,
) -> Any:
    x = array(input)
    first = _by_gaussian(sigma, 1, axes_of(axes, x.ndim), x.ndim, kwargs)
    return generic_gradient_magnitude(x, first, output, mode, cval, axes=axes)


@intercepts(f"{PLACE}:generic_filter1d", AT_FUNCTIONS)
def generic_filter1d(
    input: ArrayLike,
    function: Callable[..., Any],
    filter_size: int,
    axis: int = -1,
    output: Target = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Mapping[str, Any] | None = None,
) -> Any:
    """One call of ``function`` for each line: of the line with its borders, and of the line that it writes."""
    x = real(input)
    if filter_size < 1:
        raise RuntimeError("invalid filter size")
    k = axis_of(axis, x.ndim)
    before = filter_size // 2 + origin
    if not 0 <= before < filter_size:
        raise ValueError("invalid origin")
    widths = [(before, filter_size - 1 - before) if d == k else (0, 0) for d in range(x.ndim)]
    around: Any = np.moveaxis(bordered(doubled(x), widths, mode, cval), k, -1)
    lines = np.reshape(around, (-1, around.shape[-1]))
    found = []
    for line in lines:
        target = table(np.zeros(x.shape[k]), x).copy()
        function(line.copy(), target, *extra_arguments, **(extra_keywords or {}))
        found.append(target)
    shape = (*around.shape[:-1], x.shape[k])
    stacked = np.reshape(np.stack(found), shape) if found else doubled(x)
    return finish(np.moveaxis(stacked, -1, k), x.dtype, output)
