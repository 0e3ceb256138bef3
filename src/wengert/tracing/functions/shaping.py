"""Functions that see the same elements in another shape or order: reshape, transpose, broadcast, flip.

As in NumPy they return views, so that a write through the result reaches the original; see
:mod:`wengert.tracing.inplace`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Literal

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.typing import ArrayLike

from wengert.ops import shape as ops
from wengert.tracing.arguments import (
    Axis,
    ShapeLike,
    Traced,
    array,
    axis_of,
    implements,
    knows_order,
    not_scalar,
    refuse,
    unsupported,
)
from wengert.tracing.callers import is_ours
from wengert.tracing.emit import record
from wengert.tracing.inplace import op_view, reshape_shares
from wengert.tracing.interception.asking import is_refused
from wengert.tracing.layouts import UNKNOWN_ORDER, layout
from wengert.tracing.python.frames import calling_frame
from wengert.tracing.tracer import Tracer

# ----------------------------------------------------------------------------------------------------- reshape


def _known_shape(shape: ShapeLike, size: int) -> tuple[int, ...]:
    """``shape`` with -1 worked out."""
    lengths = [int(n) for n in shape] if isinstance(shape, tuple | list | np.ndarray | Tracer) else [int(shape)]
    if -1 not in lengths:
        return tuple(lengths)
    rest = -int(np.prod(lengths))
    if lengths.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    if rest == 0 or size % rest:
        raise ValueError(f"cannot reshape array of size {size} into shape {tuple(lengths)}")
    lengths[lengths.index(-1)] = size // rest
    return tuple(lengths)


def reshaped(x: Tracer, shape: tuple[int, ...]) -> Any:
    """A view of ``x`` in C order, or a copy where NumPy would have to copy."""
    old = x.aval.shape
    shares = False if x.is_scalar else reshape_shares(x, shape)
    if shares is False:
        out = not_scalar(record(ops.reshape, (x,), {"shape": shape}))
        out.reorder(None)
        return out
    return op_view(
        x,
        ops.reshape,
        {"shape": shape},
        lambda base, new: ops.reshape(new, shape=old),
        lambda a: a.reshape(shape),
        is_ambiguous=shares is None,
    )


def _reshape_fortran(x: Tracer, shape: tuple[int, ...]) -> Any:
    """The last axes count slowest: reverse the axes on both sides of a C-order reshape."""
    return transpose(reshaped(transpose(x), shape[::-1]))


def _is_fortran(x: Tracer, order: str, function: str) -> bool:
    if order == "C":
        return False
    if order == "F":
        return True
    if x.ndim <= 1:
        return False
    raise refuse(function, "order", order, "order='C' or order='F': the layout in memory is not traced")


@knows_order
@implements(np.reshape)
def reshape(a: ArrayLike, /, shape: ShapeLike, order: str = "C", *, copy: bool | None = None) -> Any:
    x = array(a)
    lengths = _known_shape(shape, x.size)
    if x.is_scalar and not lengths:
        return x
    if copy is False and reshape_shares(x, lengths) is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    out = _reshape_fortran(x, lengths) if _is_fortran(x, order, "reshape") else reshaped(x, lengths)
    return out.copy() if copy else out


@knows_order
@implements(np.ravel)
def ravel(a: ArrayLike, order: str = "C") -> Any:
    x = array(a)
    if _is_fortran(x, order, "ravel"):
        x = transpose(x)
    flat = reshaped(x, (x.size,))
    # unlike reshape, ravel copies whatever is not contiguous, x[::2] too
    at = layout(x)
    return flat if flat._base is None or at is UNKNOWN_ORDER or at.flags.c_contiguous else flat.copy()


def on_axis(x: Traced, axis: Axis) -> tuple[Any, int]:
    """An array and an axis of it: flattened if ``axis`` is None, and with one axis if it has none, as in NumPy."""
    if axis is None:
        return ravel(x), 0
    if x.ndim == 0:
        x = ravel(x)
    return x, axis_of(axis, x.ndim)


@implements(np.expand_dims)
def expand_dims(a: ArrayLike, axis: ShapeLike) -> Any:
    x = array(a)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    ndim = x.ndim + len(axes)
    new = normalize_axis_tuple(axes, ndim)
    lengths = iter(x.shape)
    return reshaped(x, tuple([1 if k in new else next(lengths) for k in range(ndim)]))


@implements(np.squeeze)
def squeeze(a: ArrayLike, axis: Axis = None) -> Any:
    x = array(a)
    if axis is None:
        gone = [k for k, n in enumerate(x.shape) if n == 1]
    else:
        gone = list(normalize_axis_tuple(axis, x.ndim)) if x.ndim else []
        if any(x.shape[k] != 1 for k in gone):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    if not gone:
        return x
    return reshaped(x, tuple([n for k, n in enumerate(x.shape) if k not in gone]))


def arrays_or_tracers(xs: Sequence[Any]) -> list[Any]:
    """Operands of which views are given back: of NumPy's own arrays by NumPy, so that what is written through is."""
    return [x if type(x) in (Tracer, np.ndarray) else array(x, xs) for x in xs]


def _caller() -> FrameType:
    """The frame, not of ours, that has called a function of NumPy's."""
    frame = calling_frame(2)
    while is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _at_least(xs: tuple[Any, ...], shape_of: Callable[..., Any]) -> Any:
    out: list[Any] = []
    frame = None
    for x in arrays_or_tracers(xs):
        if type(x) is Tracer:
            frame = frame or _caller()
            if is_refused(frame, (x,)):  # a library's code converts it, as by np.asarray: it may be compiled code's
                x = x.__array__()
        shape = shape_of(x.shape)
        out.append(x if shape == x.shape else np.reshape(x, shape) if type(x) is np.ndarray else reshaped(x, shape))
    return out[0] if len(out) == 1 else tuple(out)


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    return _at_least(arys, lambda shape: shape or (1,))


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    return _at_least(arys, lambda shape: (*[1] * (2 - len(shape)), *shape))


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    return _at_least(arys, lambda shape: [(1, 1, 1), (1, *shape, 1), (*shape, 1), shape][min(len(shape), 3)])


# --------------------------------------------------------------------------------------------------- transpose


@implements(np.transpose)
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Any:
    x = array(a)
    if axes is None:
        order = tuple(range(x.ndim))[::-1]
    else:
        order = normalize_axis_tuple(axes, x.ndim)
        if len(order) != x.ndim:
            raise ValueError("axes don't match array")
    if x.is_scalar:
        return x
    back = ops.inverse_permutation(order)
    return op_view(
        x,
        ops.transpose,
        {"axes": order},
        lambda base, new: ops.transpose(new, axes=back),
        lambda a: a.transpose(order),
    )


@implements(np.swapaxes)
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Any:
    x = array(a)
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return transpose(x, order)


@implements(np.matrix_transpose)
def matrix_transpose(x: Traced, /) -> Any:
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


@implements(np.moveaxis)
def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    x = array(a)
    start = normalize_axis_tuple(source, x.ndim, "source")
    end = normalize_axis_tuple(destination, x.ndim, "destination")
    if len(start) != len(end):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [k for k in range(x.ndim) if k not in start]
    for to, axis in sorted(zip(end, start, strict=True)):
        order.insert(to, axis)
    return transpose(x, order)


@implements(np.rollaxis)
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Any:
    x = array(a)
    axis = axis_of(axis, x.ndim)
    start = normalize_axis_index(start, x.ndim + 1)
    return moveaxis(x, axis, start - 1 if axis < start else start)


# --------------------------------------------------------------------------------------------------- broadcast


@implements(np.broadcast_to)
def broadcast_to(a: ArrayLike, shape: ShapeLike, subok: bool = False) -> Any:
    x = array(a)
    lengths = tuple([int(n) for n in shape]) if isinstance(shape, tuple | list) else (int(shape),)
    return op_view(
        x,
        ops.broadcast_to,
        {"shape": lengths},
        lambda base, new: base,  # never called: the view is read-only, as NumPy's
        lambda a: np.broadcast_to(a, lengths),
        is_readonly=True,
    )


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    xs = [not_scalar(x.copy()) if type(x) is Tracer and x.is_scalar else x for x in arrays_or_tracers(args)]
    shape = np.broadcast_shapes(*[x.shape for x in xs])
    return tuple([x if x.shape == shape else np.broadcast_to(x, shape) for x in xs])


# -------------------------------------------------------------------------------------------------------- flip


@implements(np.flip)
def flip(m: ArrayLike, axis: Axis = None) -> Any:
    x = array(m)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    if x.is_scalar:
        return x
    return x[tuple([slice(None, None, -1 if k in axes else 1) for k in range(x.ndim)])]


def _at_least_axes(x: Traced, ndim: int) -> Any:
    if x.ndim < ndim:
        raise ValueError(f"Input must be >= {ndim}-d.")
    return x


@implements(np.fliplr)
def fliplr(m: ArrayLike) -> Any:
    return flip(_at_least_axes(array(m), 2), 1)


@implements(np.flipud)
def flipud(m: ArrayLike) -> Any:
    return flip(_at_least_axes(array(m), 1), 0)


@implements(np.rot90)
def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    x = array(m)
    i, j = normalize_axis_tuple(axes, x.ndim)
    turns = int(k) % 4
    if turns == 0:
        return x[:]
    if turns == 2:
        return flip(x, (i, j))
    return swapaxes(flip(x, j), i, j) if turns == 1 else flip(swapaxes(x, i, j), j)


# ----------------------------------------------------------------------------------------- questions of layout


@implements(np.may_share_memory)
def may_share_memory(a: Traced, b: Traced, /, max_work: int | None = None) -> bool:
    return np.may_share_memory(*_layouts(a, b)) if _one_root(a, b) else False


@implements(np.shares_memory)
def shares_memory(a: Traced, b: Traced, /, max_work: Literal[0, -1] = -1) -> bool:
    return np.shares_memory(*_layouts(a, b), max_work=max_work) if _one_root(a, b) else False


def _one_root(a: ArrayLike, b: ArrayLike) -> bool:
    return type(a) is Tracer and type(b) is Tracer and a.root() is b.root()


def _layouts(a: Any, b: Any) -> tuple[Any, Any]:
    both = layout(a), layout(b)
    if any(at is UNKNOWN_ORDER for at in both):
        raise unsupported("whether these share memory depends on the order of an array in memory, which is not traced")
    return both
