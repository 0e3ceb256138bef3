"""Means, variances, quantiles and correlations, as compositions of reductions.

A standard deviation of zero is a kink, as of a norm: its derivative is taken to be zero, by selection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, DTypeLike

from wengert.ops import reduce as ops
from wengert.tracing.arguments import (
    MISSING,
    Axis,
    Mask,
    Number,
    Out,
    Traced,
    array,
    as_dtype,
    axes_of,
    holds,
    implements,
    inexact,
    into,
    scalar,
)
from wengert.tracing.emit import record
from wengert.tracing.functions.reductions import keep

# ------------------------------------------------------------------------------------------------ mean, variance


def _length(x: Traced, axes: tuple[int, ...]) -> int:
    n = 1
    for k in axes:
        n *= x.shape[k]
    return n


def _count(x: Traced, axes: tuple[int, ...], where: Mask, keepdims: bool) -> Any:
    """How many elements each mean is over."""
    if where is MISSING or where is True:
        return _length(x, axes)
    mask = np.broadcast_to(array(where, (x,)), x.shape)
    return np.sum(mask, axes, keepdims=bool(keepdims is not MISSING and keepdims))


@implements(np.mean)
def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Mask = MISSING,
) -> Any:
    x = array(a)
    axes = axes_of(axis, x.ndim)
    result = np.dtype(dtype) if dtype is not None else x.aval.dtype
    if dtype is None and result.kind not in "fc":
        result = np.dtype(np.float64)
    half = result == np.float16 and dtype is None
    x = as_dtype(x, np.float32 if half else result)  # NumPy adds up half precision in single
    if where is MISSING or where is True:
        y = keep(record(ops.sum_, (x,), {"axis": axes}), x.shape, axes, keepdims) / _length(x, axes)
    else:
        total = np.sum(x, axes, keepdims=keepdims, where=where)
        y = total / as_dtype(_count(x, axes, where, keepdims), x.dtype, (x,))
    return into(out, as_dtype(y, result), "unsafe")


def _squared_distance(d: Traced) -> Any:
    if d.dtype.kind != "c":
        return np.square(d)
    return np.square(np.real(d)) + np.square(np.imag(d))


@implements(np.var)
def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Mask = MISSING,
    mean: ArrayLike = MISSING,
    correction: float = MISSING,
) -> Any:
    """Σ |x - mean|² / (n - ddof)."""
    x = array(a)
    axes = axes_of(axis, x.ndim)
    if correction is not MISSING:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    x = inexact(x) if dtype is None else as_dtype(x, dtype)
    half = x.dtype == np.float16
    work = as_dtype(x, np.float32) if half and dtype is None else x
    center = np.mean(work, axes, keepdims=True, where=where) if mean is MISSING else mean
    squares = _squared_distance(work - center)
    total = np.sum(squares, axes, keepdims=keepdims, where=where)
    freedom = _count(x, axes, where, keepdims) - ddof
    if isinstance(freedom, int | float):
        freedom = max(freedom, 0)
    else:
        freedom = as_dtype(np.maximum(freedom, 0), total.dtype, (total,))
    y = total / freedom
    return into(out, as_dtype(y, x.dtype) if half else y, "unsafe")


def root(v: ArrayLike) -> Any:
    """The square root of a variance: its derivative at zero is zero."""
    is_zero = v == 0
    return scalar(np.where(is_zero, v, np.sqrt(np.where(is_zero, 1, v))))


@implements(np.std)
def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Mask = MISSING,
    mean: ArrayLike = MISSING,
    correction: float = MISSING,
) -> Any:
    return into(out, root(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)))


@implements(np.average)
def average(
    a: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Σ w x / Σ w."""
    x = array(a, (weights,))
    if weights is None:
        y = mean(x, axis, keepdims=keepdims)
        count = x.size / y.size if y.size else 0.0
        return (y, np.full_like(y, count)) if returned else y
    w = array(weights, (x,))
    dtype = np.result_type(x.dtype, w.dtype, *(["f8"] if x.dtype.kind in "iub" else []))
    axes = axes_of(axis, x.ndim)
    if w.shape != x.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        given = normalize_axis_tuple(axis, x.ndim)
        if w.shape != tuple([x.shape[k] for k in given]):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        w = np.transpose(w, np.argsort(given).tolist())
        w = np.reshape(w, tuple([n if k in axes else 1 for k, n in enumerate(x.shape)]))
    x, w = as_dtype(x, dtype), as_dtype(w, dtype)
    scale = (
        np.sum(np.broadcast_to(w, x.shape), axes, keepdims=keepdims)
        if w.shape != x.shape
        else np.sum(w, axes, keepdims=keepdims)
    )
    _check_scale(scale)
    y = np.sum(x * w, axes, keepdims=keepdims) / scale
    return (y, scale) if returned else y


def _check_scale(scale: ArrayLike) -> None:
    if holds(np.any(scale == 0)):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")


# --------------------------------------------------------------------------------------------------- covariance


@implements(np.cov)
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Any:
    """Rows are variables, columns observations: Σ w (x - mean)(x - mean)ᴴ / (Σ w - ddof ...)."""
    x = array(m, (y,))
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(x.dtype, np.float64, *([] if y is None else [array(y, (x,)).dtype]))
    rows = _variables(x, rowvar, dtype)
    if y is not None:
        rows = np.concatenate([rows, _variables(array(y, (x,)), rowvar, dtype)])
    if ddof is None:
        ddof = 0 if bias else 1
    if ddof != int(ddof):
        raise ValueError("ddof must be integer")
    w: Any = None
    aw: Any = None
    if fweights is not None:
        given = array(fweights, (x,))
        w = _weights(given, "fweights", rows)
        if given.dtype.kind == "f" and holds(np.any(w != np.rint(w))):
            raise TypeError("fweights must be integer")
    if aweights is not None:
        aw = _weights(array(aweights, (x,)), "aweights", rows)
        w = aw if w is None else w * aw
    if w is None:
        centred = rows - np.mean(rows, axis=1, keepdims=True)
        scale: Any = max(rows.shape[1] - ddof, 0)
        product = np.dot(centred, np.conjugate(centred.T))
    else:
        total = np.sum(w)
        _check_scale(total)
        centred = rows - np.reshape(np.sum(rows * w, axis=1) / total, (-1, 1))
        if ddof == 0:
            scale = total
        elif aweights is None:
            scale = total - ddof
        else:
            scale = total - ddof * np.sum(w * aw) / total
        scale = np.maximum(scale, 0)  # less than no degree of freedom is none, as without weights
        product = np.dot(centred, np.conjugate((centred * w).T))
    return np.squeeze(np.divide(product, scale))


def _weights(w: Traced, name: str, rows: Traced) -> Any:
    """One weight an observation, none negative."""
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if w.shape != rows.shape[1:]:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if holds(np.any(w < 0)):
        raise ValueError(f"{name} cannot be negative")
    return as_dtype(w, np.float64)


def _variables(x: Traced, rowvar: bool, dtype: DTypeLike | None) -> Any:
    rows = np.atleast_2d(as_dtype(x, dtype))
    return rows if rowvar or x.ndim < 2 else rows.T


@implements(np.corrcoef)
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike | None = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = np.sqrt(np.diagonal(c))
    scaled = c / spread[:, None] / spread[None, :]
    return np.clip(scaled, -1, 1)


# ---------------------------------------------------------------------------------------------------- NaN-aware


def _masked(a: ArrayLike, fill: float) -> tuple[Any, Any]:
    """``a`` with its NaNs replaced, and where they are; None for a dtype that has none."""
    x = array(a)
    if x.dtype.kind not in "fc":
        return x, None
    mask = np.isnan(x)
    return np.where(mask, fill, x), mask


@implements(np.nansum)
def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Number = MISSING,
    where: Mask = MISSING,
) -> Any:
    return np.sum(_masked(a, 0)[0], axis, dtype, out, keepdims, initial, where)


@implements(np.nanprod)
def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Number = MISSING,
    where: Mask = MISSING,
) -> Any:
    return np.prod(_masked(a, 1)[0], axis, dtype, out, keepdims, initial, where)


@implements(np.nancumsum)
def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None) -> Any:
    return np.cumsum(_masked(a, 0)[0], axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None) -> Any:
    return np.cumprod(_masked(a, 1)[0], axis, dtype, out)


def _present(mask: Traced, where: Mask) -> Any:
    """The elements that take part: neither NaN nor excluded by ``where``."""
    return ~mask if where is MISSING or where is True else ~mask & array(where, (mask,))


@implements(np.nanmean)
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Mask = MISSING,
) -> Any:
    x, mask = _masked(a, 0)
    if mask is None:
        return mean(x, axis, dtype, out, keepdims, where=where)
    total = np.sum(x, axis, dtype, None, keepdims, where=where)
    count = np.sum(_present(mask, where), axis, keepdims=keepdims)
    return into(out, total / as_dtype(count, total.dtype))


@implements(np.nanvar)
def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Mask = MISSING,
    mean: ArrayLike = MISSING,
    correction: float = MISSING,
) -> Any:
    x, mask = _masked(a, 0)
    if correction is not MISSING:
        ddof = correction
    if mask is None:
        return var(x, axis, dtype, out, ddof, keepdims, where=where, mean=mean)
    x = x if dtype is None else as_dtype(x, dtype)
    present = np.broadcast_to(_present(mask, where), x.shape)
    x = np.where(present, x, 0)
    count = np.sum(present, axis, keepdims=True)
    center = np.sum(x, axis, keepdims=True) / as_dtype(count, x.dtype) if mean is MISSING else mean
    squares = _squared_distance(np.where(present, x - center, 0))
    total = np.sum(squares, axis, keepdims=keepdims)
    freedom = np.reshape(count, total.shape) - ddof
    has_some = freedom > 0
    y = np.where(has_some, total / as_dtype(np.where(has_some, freedom, 1), total.dtype), np.nan)
    return into(out, scalar(y))


@implements(np.nanstd)
def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Mask = MISSING,
    mean: ArrayLike = MISSING,
    correction: float = MISSING,
) -> Any:
    y = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return into(out, root(y))


def _nan_extreme(
    function: Callable[..., Any],
    worst: float,
    a: ArrayLike,
    axis: Any,
    out: Out,
    keepdims: bool,
    initial: Number,
    where: Mask,
) -> Any:
    x, mask = _masked(a, worst)
    if mask is None:
        return function(x, axis, out, keepdims, initial, where)
    y = function(x, axis, None, keepdims, initial, where)
    if initial is MISSING:
        y = scalar(np.where(np.all(mask, axis, keepdims=keepdims), np.nan, y))
    return into(out, y)


@implements(np.nanmax)
def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Number = MISSING,
    where: Mask = MISSING,
) -> Any:
    return _nan_extreme(np.max, -np.inf, a, axis, out, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Number = MISSING,
    where: Mask = MISSING,
) -> Any:
    return _nan_extreme(np.min, np.inf, a, axis, out, keepdims, initial, where)


@implements(np.nanargmax)
def nanargmax(a: ArrayLike, axis: int | None = None, out: Out = None, *, keepdims: bool = False) -> Any:
    return _nan_argument(np.argmax, -np.inf, a, axis, out, keepdims)


@implements(np.nanargmin)
def nanargmin(a: ArrayLike, axis: int | None = None, out: Out = None, *, keepdims: bool = False) -> Any:
    return _nan_argument(np.argmin, np.inf, a, axis, out, keepdims)


def _nan_argument(
    function: Callable[..., Any], worst: float, a: ArrayLike, axis: int | None, out: Out, keepdims: bool
) -> Any:
    x, mask = _masked(a, worst)
    if mask is not None and bool(np.any(np.all(mask, axis))):  # a look: NumPy raises here, and so do we
        raise ValueError("All-NaN slice encountered")
    return function(x, axis, out, keepdims=keepdims)
