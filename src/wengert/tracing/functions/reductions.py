"""Reductions and running sums and products: from elements along axes to one value, or to all partial values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from wengert.ops import index as index_ops
from wengert.ops import reduce as ops
from wengert.ops.op import Op
from wengert.ops.shape import reshape
from wengert.tracing.arguments import (
    BOOL,
    MISSING,
    Axis,
    Mask,
    Number,
    Out,
    Traced,
    array,
    as_dtype,
    axes_of,
    axis_of,
    implements,
    into,
    scalar,
)
from wengert.tracing.emit import record
from wengert.tracing.functions.shaping import ravel
from wengert.tracing.operators import check_within
from wengert.tracing.tracer import Tracer


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([1 if k in axes else n for k, n in enumerate(shape)])


def keep(y: Traced, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Any:
    """``y`` with the reduced axes of ``shape`` as axes of length 1, if ``keepdims`` asks for it."""
    if keepdims is MISSING or not keepdims:
        return y
    return record(reshape, (y,), {"shape": kept_shape(shape, axes)})


def _sum_dtype(x: Tracer, dtype: DTypeLike | None, out: Out) -> np.dtype[Any]:
    """NumPy adds and multiplies in the dtype of ``out``; if there is none, small integers in the machine's integer."""
    if dtype is not None:
        return np.dtype(dtype)
    if out is not None and out is not MISSING:
        return (out[0] if isinstance(out, tuple) else out).dtype
    own = x.aval.dtype
    if own.kind in "bi" and own.itemsize < 8:
        return np.dtype(np.int64)
    if own.kind == "u" and own.itemsize < 8:
        return np.dtype(np.uint64)
    return own


def _first(initial: Any, dtype: np.dtype[Any], near: Sequence[Any]) -> Any:
    """``initial=`` in the dtype of the reduction, which it does not widen: as a number is written into an array."""
    if np.ndim(initial):
        raise ValueError(f"initial= must be a number, and has shape {np.shape(initial)}")
    if isinstance(initial, np.integer):
        initial = int(initial)  # must fit
    if isinstance(initial, float | np.floating) and dtype.kind in "iu":
        initial = int(initial)  # truncated; of infinity, OverflowError
    check_within(initial, dtype)
    return as_dtype(initial, dtype, near)


def _check_identity(combine: np.ufunc, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Raise if there is nothing to reduce, where ``initial=None`` takes away what the result would be."""
    if any(shape[k] == 0 for k in axes):
        raise ValueError(f"zero-size array to reduction operation {combine.__name__} which has no identity")


# ------------------------------------------------------------------------------------------------ sum, product


def _accumulate(
    op: Op,
    identity: int,
    combine: np.ufunc,
    a: ArrayLike,
    axis: Axis,
    dtype: DTypeLike | None,
    out: Out,
    keepdims: bool,
    initial: Number | None,
    where: Mask,
) -> Any:
    x = array(a)
    target = _sum_dtype(x, dtype, out)
    if x.aval.dtype != target:
        x = as_dtype(x, target)
    if where is not MISSING and where is not True:
        x = np.where(where, x, identity)
    axes = axes_of(axis, x.ndim)
    if initial is None:
        _check_identity(combine, x.shape, axes)
    y = record(op, (x,), {"axis": axes})
    if initial is not MISSING and initial is not None:
        y = combine(_first(initial, target, (y,)), y)
    return into(out, keep(y, x.shape, axes, keepdims), "unsafe")


@implements(np.sum)
def sum_(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Number | None = MISSING,
    where: Mask = MISSING,
) -> Any:
    return _accumulate(ops.sum_, 0, np.add, a, axis, dtype, out, keepdims, initial, where)


@implements(np.prod)
def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Number | None = MISSING,
    where: Mask = MISSING,
) -> Any:
    return _accumulate(ops.prod, 1, np.multiply, a, axis, dtype, out, keepdims, initial, where)


# ------------------------------------------------------------------------------------------------ max, min


def _lowest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else int(np.iinfo(dtype).min)


def _highest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return np.inf
    return True if dtype.kind == "b" else int(np.iinfo(dtype).max)


def _extreme(
    op: Op,
    worst: Callable[[np.dtype[Any]], Any],
    combine: np.ufunc,
    a: ArrayLike,
    axis: Axis,
    out: Out,
    keepdims: bool,
    initial: Number | None,
    where: Mask,
) -> Any:
    x = array(a)
    axes = axes_of(axis, x.ndim)
    if initial is None:
        _check_identity(combine, x.shape, axes)
    has_initial = initial is not MISSING and initial is not None
    if has_initial:
        if out is not None and out is not MISSING:  # which has its say in where NumPy compares
            x = as_dtype(x, np.result_type(x.dtype, (out[0] if isinstance(out, tuple) else out).dtype))
        first: Any = _first(initial, x.dtype, (x,))
    if where is not MISSING and where is not True:
        if not has_initial:
            raise ValueError(
                f"reduction operation '{combine.__name__}' does not have an identity, so to use a where mask one "
                "has to specify 'initial'"
            )
        x = np.where(where, x, worst(x.dtype))
    if has_initial and any(x.shape[k] == 0 for k in axes):  # nothing to compare: the initial value everywhere
        rest = tuple([n for k, n in enumerate(x.shape) if k not in axes])
        everywhere: Any = np.broadcast_to(first, rest)
        y = scalar(everywhere.copy())
    else:
        y = record(op, (x,), {"axis": axes})
        if has_initial:
            y = combine(y, first)
    return into(out, keep(y, x.shape, axes, keepdims), "unsafe")


@implements(np.max, np.amax)
def max_(
    a: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Number | None = MISSING,
    where: Mask = MISSING,
) -> Any:
    return _extreme(ops.max_, _lowest, np.maximum, a, axis, out, keepdims, initial, where)


@implements(np.min, np.amin)
def min_(
    a: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Number | None = MISSING,
    where: Mask = MISSING,
) -> Any:
    return _extreme(ops.min_, _highest, np.minimum, a, axis, out, keepdims, initial, where)


@implements(np.ptp)
def ptp(a: ArrayLike, axis: Axis = None, out: Out = None, keepdims: bool = False) -> Any:
    return into(out, np.subtract(max_(a, axis, None, keepdims), min_(a, axis, None, keepdims)))


def _arg(op: Op, a: ArrayLike, axis: int | None, out: Out, keepdims: bool) -> Any:
    x = array(a)
    flat = ravel(x) if axis is None or x.ndim == 0 else x
    k = axis_of(0 if axis is None else axis, flat.ndim)
    if flat.shape[k] == 0:
        raise ValueError(f"attempt to get {op.name} of an empty sequence")
    y = record(op, (flat,), {"axis": k})
    if axis is None:
        return into(out, keep(y, x.shape, tuple(range(x.ndim)), keepdims))
    return into(out, keep(y, x.shape, (k,), keepdims))


@implements(np.argmax)
def argmax(a: ArrayLike, axis: int | None = None, out: Out = None, *, keepdims: bool = False) -> Any:
    return _arg(index_ops.argmax, a, axis, out, keepdims)


@implements(np.argmin)
def argmin(a: ArrayLike, axis: int | None = None, out: Out = None, *, keepdims: bool = False) -> Any:
    return _arg(index_ops.argmin, a, axis, out, keepdims)


# ----------------------------------------------------------------------------------------------- truth, counts


def truth(a: ArrayLike) -> Any:
    """Where ``a`` is nonzero; NaN is."""
    x = array(a)
    return x if x.aval.dtype == BOOL else as_dtype(x, BOOL)


def _quantifier(op: Op, identity: bool, a: ArrayLike, axis: Axis, out: Out, keepdims: bool, where: Mask) -> Any:
    x = truth(a)
    if where is not MISSING and where is not True:
        x = np.where(where, x, identity)
    axes = axes_of(axis, x.ndim)
    return into(out, keep(record(op, (x,), {"axis": axes}), x.shape, axes, keepdims), "unsafe")


@implements(np.any)
def any_(a: ArrayLike, axis: Axis = None, out: Out = None, keepdims: bool = False, *, where: Mask = MISSING) -> Any:
    return _quantifier(ops.any_, False, a, axis, out, keepdims, where)


@implements(np.all)
def all_(a: ArrayLike, axis: Axis = None, out: Out = None, keepdims: bool = False, *, where: Mask = MISSING) -> Any:
    return _quantifier(ops.all_, True, a, axis, out, keepdims, where)


@implements(np.count_nonzero)
def count_nonzero(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Any:
    return sum_(truth(a), axis, np.intp, None, keepdims)


# ------------------------------------------------------------------------------------------------ running kinds


def _running(op: Op, a: ArrayLike, axis: int | None, dtype: DTypeLike | None, out: Out) -> Any:
    x = array(a)
    if axis is None or x.ndim == 0:
        x = ravel(x)
    x = as_dtype(x, _sum_dtype(x, dtype, out))
    return into(out, record(op, (x,), {"axis": axis_of(0 if axis is None else axis, x.ndim)}), "unsafe")


@implements(np.cumsum)
def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Out = None) -> Any:
    return _running(ops.cumsum, a, axis, dtype, out)


@implements(np.cumprod)
def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Out = None) -> Any:
    return _running(ops.cumprod, a, axis, dtype, out)


def _cumulative(
    op: Op, identity: int, a: ArrayLike, axis: int | None, dtype: DTypeLike | None, out: Out, include_initial: bool
) -> Any:
    x = np.atleast_1d(array(a))
    if axis is None:
        if x.ndim != 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    y = _running(op, x, axis, dtype, None)
    if include_initial:
        first = np.full_like(y, identity, shape=kept_shape(y.shape, (axis_of(axis, y.ndim),)))
        y = np.concatenate([first, y], axis)
    return into(out, y)


@implements(np.cumulative_sum)
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    include_initial: bool = False,
) -> Any:
    return _cumulative(ops.cumsum, 0, x, axis, dtype, out, include_initial)


@implements(np.cumulative_prod)
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    include_initial: bool = False,
) -> Any:
    return _cumulative(ops.cumprod, 1, x, axis, dtype, out, include_initial)
