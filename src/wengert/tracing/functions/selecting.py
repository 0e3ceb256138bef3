"""Choosing elements: by conditions (where, select, choose), by positions (take, put), and where things are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.ops import index as ops
from wengert.ops.elementwise import select as select_op
from wengert.tracing.arguments import (
    INTP,
    Axis,
    Casting,
    Mask,
    Out,
    ShapeLike,
    Traced,
    along,
    array,
    arrays,
    as_dtype,
    as_written,
    axis_of,
    check_target,
    common_dtype,
    constant,
    formula,
    holds,
    implements,
    into,
    iota,
    kind,
    knows_order,
    not_scalar,
    promote,
    refuse,
    scalar,
    trace_near,
)
from wengert.tracing.emit import record
from wengert.tracing.functions.flat import Flat
from wengert.tracing.functions.reductions import truth
from wengert.tracing.functions.shaping import broadcast_to, on_axis, ravel, reshaped
from wengert.tracing.indexing import fit
from wengert.tracing.operators import check_within
from wengert.tracing.tracer import Tracer

# -------------------------------------------------------------------------------------------------- conditions


@implements(np.where, takes_arrays=True)
def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None, /) -> Any:
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    near = (condition, x, y)
    if isinstance(x, list | tuple):
        x = array(x, near)
    if isinstance(y, list | tuple):
        y = array(y, near)
    dtype = common_dtype(x, y)
    mask = truth(array(condition, near))
    return not_scalar(record(select_op, (mask, as_dtype(x, dtype, near), as_dtype(y, dtype, near)), {}))


@implements(np.select)
def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> Any:
    """The first choice whose condition holds: selections from the last to the first."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    choices = promote(*choicelist, default)
    shape = np.broadcast_shapes(*[np.shape(c) for c in (*condlist, *choices)])
    out: Any = choices[-1]
    for condition, choice in zip(reversed(list(condlist)), reversed(choices[:-1]), strict=True):
        if array(condition, choices).dtype.kind != "b":
            raise TypeError("invalid entry in condlist: should be boolean ndarray")
        out = where(condition, choice, out)
    return out if out.shape == shape else broadcast_to(out, shape).copy()


@implements(np.piecewise)
def piecewise(x: ArrayLike, condlist: Sequence[ArrayLike], funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Each function sees all of ``x``, and the result is selected: sizes never depend on values.

    What a function does off its piece never counts, in value or derivative.
    """
    z = array(x)
    conditions = [condlist] if isinstance(condlist, Tracer | np.ndarray) and condlist.ndim == z.ndim else condlist
    if isinstance(conditions, bool | np.bool_):
        conditions = [conditions]
    conditions = [truth(array(c, (z,))) for c in conditions]
    n = len(conditions)
    if len(funclist) not in (n, n + 1):
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    out: Any = np.zeros_like(z)
    if len(funclist) == n + 1:
        out = _piece(funclist[n], z, args, kw)
    for condition, f in zip(conditions, funclist, strict=False):  # the last that holds wins, as in NumPy
        out = where(condition, _piece(f, z, args, kw), out)
    return out


def _piece(f: Callable[..., Any] | ArrayLike, x: Tracer, args: Sequence[Any], kw: Mapping[str, Any]) -> Any:
    value = f(x, *args, **kw) if callable(f) else f
    return broadcast_to(as_dtype(value, x.dtype, (x,)), x.shape)


@implements(np.choose)
def choose(a: ArrayLike, choices: Sequence[ArrayLike] | Traced, out: Out = None, mode: str = "raise") -> Any:
    index = array(a, tuple(choices))
    options = arrays(*promote(*choices))
    if not np.can_cast(index.dtype, INTP):
        raise TypeError(f"Cannot cast array data from {index.dtype!r} to dtype('int64')")
    if mode == "raise" and holds(np.any((index < 0) | (index >= len(options)))):
        raise ValueError("invalid entry in choice array")
    shape = np.broadcast_shapes(index.shape, *[c.shape for c in options])
    index = _bounded(as_dtype(index, INTP), len(options), mode, "choose")
    stacked = np.stack([broadcast_to(c, shape) for c in options])
    return into(out, take_along_axis(stacked, broadcast_to(index, shape)[None], 0)[0])


@implements(np.copyto)
def copyto(dst: Any, src: ArrayLike, casting: Casting = "same_kind", where: Mask = True) -> None:
    check_within(src, dst.dtype)
    given = kind(src)  # a number is first what it becomes beside the destination
    if not np.can_cast(given if isinstance(given, np.dtype) else np.result_type(given, dst.dtype), dst.dtype, casting):
        raise TypeError(f"Cannot cast array data to {dst.dtype!r} according to the rule {casting!r}")
    check_target(dst, src)
    new = fit(array(as_dtype(src, dst.dtype, (dst,)), (dst,)), dst.shape, dst)  # as in an assignment
    if where is not True:
        if np.broadcast_shapes(np.shape(where), dst.shape) != dst.shape:
            raise ValueError(f"could not broadcast where mask from shape {np.shape(where)} into shape {dst.shape}")
        new = np.where(where, new, dst)
    into(dst, broadcast_to(new, dst.shape), casting)


@implements(np.putmask)
def putmask(a: Traced, /, mask: ArrayLike, values: ArrayLike) -> None:
    """``values`` are repeated over all of ``a``, wherever the mask holds or not."""
    v = ravel(as_dtype(as_written(values, a.dtype), a.dtype))
    if v.size == 0:
        return
    into(a, np.where(mask, np.resize(v, a.shape) if v.size > 1 else v[0], a))


# ----------------------------------------------------------------------------------------------------- positions


def _bounded(index: Traced, n: int, mode: str, function: str) -> Any:
    """Positions brought into range as ``mode`` says; out of range they raise only if they are concrete."""
    if mode == "clip":
        return np.clip(index, 0, n - 1)
    if mode == "wrap":
        return np.remainder(index, n)
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    known = index.constant() if type(index) is Tracer else index
    if known is not None and known.size and not (-n <= known.min() and known.max() < n):
        raise IndexError(f"np.{function}: index out of bounds for size {n}")
    return index


@knows_order
@implements(np.take)
def take(a: ArrayLike, indices: ArrayLike, axis: Axis = None, out: Out = None, mode: str = "raise") -> Any:
    x = array(a, (indices,))
    index = indices
    if isinstance(index, list | tuple):
        index = array(index, (x,)) if len(index) else constant(trace_near((x,)), index, INTP)
    x, axis = on_axis(x, axis)
    if mode != "raise":
        index = _bounded(array(index, (x,)), x.shape[axis], mode, "take")
    y = x[along(axis, index)]
    if type(y) is Tracer:  # no view, and in C order, as what is read by arrays is not
        y = scalar(y.copy())
    return into(out, y)


@implements(np.take_along_axis)
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: Axis = -1) -> Any:
    x, index = arrays(arr, indices)
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        x, axis = ravel(x), 0
    if x.ndim != index.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = axis_of(axis, x.ndim)
    return taken_along(x, as_dtype(index, INTP), axis)


def taken_along(x: Traced, index: ArrayLike, axis: int) -> Tracer:
    return formula(lambda a, i: ops.take_along(a, i, axis), lambda a, i: np.take_along_axis(a, i, axis), x, index)


@implements(np.put_along_axis)
def put_along_axis(arr: Traced, indices: ArrayLike, values: ArrayLike, axis: Axis) -> None:
    x, index = arr, array(indices, (arr,))
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    grid: list[Any] = [
        reshaped(iota(n, (x,)), tuple([n if j == k else 1 for j in range(x.ndim)])) for k, n in enumerate(x.shape)
    ]
    grid[axis] = index
    x[tuple(grid)] = values


@implements(np.put)
def put(a: Tracer, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> None:
    """Write at positions of the flattened array; ``v`` is repeated to as many values as there are positions."""
    if type(a) is not Tracer:
        check_target(a, ind, v)
    index = ravel(as_dtype(array(ind, (a,)), INTP))
    values = ravel(as_written(v, a.dtype))
    if not index.size or not values.size:
        return
    Flat(a)[_bounded(index, a.size, mode, "put")] = values


@knows_order
@implements(np.compress)
def compress(condition: ArrayLike, a: ArrayLike, axis: Axis = None, out: Out = None) -> Any:
    mask, x = truth(array(condition, (a,))), array(a, (condition,))
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        x, axis = ravel(x), 0
    return take(x, nonzero(mask)[0], axis_of(axis, x.ndim), out)


@implements(np.extract)
def extract(condition: ArrayLike, arr: ArrayLike) -> Any:
    mask, x = arrays(condition, arr)
    return ravel(x)[nonzero(ravel(mask))[0]]


@implements(np.place)
def place(arr: Tracer, mask: ArrayLike, vals: ArrayLike) -> None:
    """The first, second ... true element gets the first, second ... value, over and over."""
    check_target(arr, mask, vals)
    index = nonzero(ravel(array(mask, (arr,))))[0]
    if index.size:
        values = as_written(vals, arr.dtype)
        if values.size == 0:
            raise ValueError("Cannot insert from an empty array!")
        put(arr, index, values)


# ---------------------------------------------------------------------------------------------- where things are


@implements(np.nonzero)
def nonzero(a: ArrayLike) -> tuple[Any, ...]:
    """Only the number of nonzero elements of a traced array is looked at, and guarded."""
    mask = truth(array(a))
    if mask.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    size = int(np.count_nonzero(mask))
    found = record(ops.nonzero, (mask,), {"size": size})
    return found if isinstance(found, tuple) else (found,)


@implements(np.flatnonzero)
def flatnonzero(a: ArrayLike) -> Any:
    return nonzero(ravel(array(a)))[0]


@implements(np.argwhere)
def argwhere(a: ArrayLike) -> Any:
    x = array(a)
    if x.ndim == 0:
        return np.zeros_like(x, shape=(int(np.count_nonzero(x)), 0), dtype=INTP)
    return np.transpose(np.stack(nonzero(x)))


@implements(np.ravel_multi_index)
def ravel_multi_index(
    multi_index: Sequence[ArrayLike], dims: ShapeLike, mode: str | tuple[str, ...] = "raise", order: str = "C"
) -> Any:
    indices, lengths = arrays(*multi_index), tuple(dims) if isinstance(dims, tuple | list) else (dims,)
    modes = (mode,) * len(lengths) if isinstance(mode, str) else tuple(mode)
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    if len(indices) != len(lengths):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(lengths)}")
    total: Any = 0
    axes = list(zip(indices, lengths, modes, strict=True))
    for index, n, how in axes if order == "C" else reversed(axes):
        if index.dtype.kind not in "iu":
            raise TypeError("only int indices permitted")
        if how == "raise" and holds(np.any((index < 0) | (index >= n))):
            raise ValueError("invalid entry in coordinates array")
        index = index % n if how == "wrap" else np.clip(index, 0, n - 1) if how == "clip" else index
        total = total * n + index
    return total


@implements(np.unravel_index)
def unravel_index(indices: ArrayLike, shape: ShapeLike, order: str = "C") -> tuple[Any, ...]:
    index = array(indices)
    lengths = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if order != "C":
        raise refuse("unravel_index", "order", order)
    if index.size and index.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    size = math.prod(lengths)
    if holds(np.any((index < 0) | (index >= size))):
        raise ValueError(f"index is out of bounds for array with size {size}")
    out = []
    for n in reversed(lengths):
        out.append(index % n)
        index = index // n
    return tuple(reversed(out))
