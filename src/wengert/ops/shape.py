"""Ops that move or repeat elements and compute nothing: reshape, transpose, broadcast, join, constants.

This file, index.py and reduce.py are a circle, since their ops are: broadcasting and summing, joining and slicing are
each other's transposes. What closes the circle is imported where it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.elementwise import convert, multiply
from wengert.ops.kernels import Embed, Iota, Join, Region, View, free
from wengert.ops.op import front, linear, op
from wengert.ops.structured import Diagonal, Fill, Structured
from wengert.tape import Atom, Aval, Lit

# ---------------------------------------------------------------------------------------------------- reshape


def _reshape_type(x: Aval, *, shape: tuple[int, ...]) -> Aval:
    new = Aval(shape, x.dtype)
    if new.size != x.size:
        raise ShapeError(f"reshape: cannot reshape {x} into shape {list(shape)}")
    return new


def _reshape_structured(ct: Structured, k: int, x: Atom, y: Atom, *, shape: tuple[int, ...]) -> Any:
    return Fill(ct.value, x.aval) if isinstance(ct, Fill) else None


def reshape_layout(old: tuple[int, ...], strides: tuple[int, ...], /, *, shape: tuple[int, ...]) -> Region | None:
    """Groups of axes, old and new, of equal size: in each the old ones must lie one within the other, as in C order."""
    old_axes = [(n, s) for n, s in zip(old, strides, strict=True) if n != 1]
    if 0 in shape:
        return Region(0, shape, (0,) * len(shape))
    out: list[int] = []
    k = 0
    size, step = 1, 1  # of the old group: elements still to be handed out, and the stride of its innermost axis
    for n in reversed(shape):
        if n == 1:
            out.append(0)
            continue
        if size == 1:
            k += 1
            size, step = old_axes[-k]
        while size % n or size < n:
            k += 1
            if k > len(old_axes):
                return None
            length, stride = old_axes[-k]
            if stride != step * size:
                return None
            size *= length
        out.append(step)
        step *= n
        size //= n
    return Region(0, shape, tuple(reversed(out)))


reshape = linear(
    lambda x, *, shape: np.reshape(x, shape),
    name="reshape",
    type=_reshape_type,
    kernel=View(reshape_layout),
    transpose=lambda ct, x, *, shape: reshape(ct, shape=x.aval.shape),
    structured=_reshape_structured,
    rearranges=True,
    batch=lambda xs, batched, size, *, shape: reshape(xs[0], shape=(size, *shape)),
    shortcut=lambda x, *, shape: x if x.aval.shape == shape else None,
)


def expand(x: Atom, axes: Sequence[int], ndim: int) -> Any:
    """``x`` with axes of length 1 at ``axes`` of the result, which has ``ndim`` axes."""
    lengths = iter(x.aval.shape)
    return reshape(x, shape=tuple(1 if k in axes else next(lengths) for k in range(ndim)))


# -------------------------------------------------------------------------------------------------- transpose


def inverse_permutation(axes: Sequence[int]) -> tuple[int, ...]:
    inverse = [0] * len(axes)
    for k, axis in enumerate(axes):
        inverse[axis] = k
    return tuple(inverse)


def _transpose_structured(ct: Structured, k: int, x: Atom, y: Atom, *, axes: tuple[int, ...]) -> Any:
    if isinstance(ct, Fill):
        return Fill(ct.value, x.aval)
    if isinstance(ct, Diagonal):
        return Diagonal(ct.value, x.aval)
    return None


def transpose_layout(shape: tuple[int, ...], strides: tuple[int, ...], /, *, axes: tuple[int, ...]) -> Region:
    return Region(0, tuple([shape[k] for k in axes]), tuple([strides[k] for k in axes]))


transpose = linear(
    lambda x, *, axes: np.transpose(x, axes),
    name="transpose",
    type=lambda x, *, axes: Aval(tuple([x.shape[k] for k in axes]), x.dtype),
    kernel=View(transpose_layout),
    transpose=lambda ct, x, *, axes: transpose(ct, axes=inverse_permutation(axes)),
    structured=_transpose_structured,
    rearranges=True,
    batch=lambda xs, batched, size, *, axes: transpose(xs[0], axes=(0, *[k + 1 for k in axes])),
    shortcut=lambda x, *, axes: x if axes == tuple(range(len(axes))) else None,
)


def move_to_front(x: Atom, axes: Sequence[int]) -> Any:
    rest = [k for k in range(x.aval.ndim) if k not in axes]
    return transpose(x, axes=(*axes, *rest))


# -------------------------------------------------------------------------------------------------- broadcast


def _broadcast_type(x: Aval, *, shape: tuple[int, ...]) -> Aval:
    try:
        if np.broadcast_shapes(x.shape, shape) == shape:
            return Aval(shape, x.dtype)
    except ValueError:
        pass
    raise ShapeError(f"broadcast_to: cannot broadcast {x} to shape {list(shape)}")


def unbroadcast(ct: Atom, shape: tuple[int, ...]) -> Any:
    """The transpose of broadcasting ``shape`` to ``ct``'s shape: sum over the axes that were repeated."""
    from wengert.ops.reduce import sum_  # the circle: summing is the transpose of broadcasting

    have = ct.aval.shape
    if have == shape:
        return ct
    lead = len(have) - len(shape)
    axes = (*range(lead), *[k + lead for k, n in enumerate(shape) if n == 1 and have[k + lead] != 1])
    return reshape(sum_(ct, axis=axes), shape=shape)


def _broadcast_structured(ct: Structured, k: int, x: Atom, y: Atom, *, shape: tuple[int, ...]) -> Any:
    if not isinstance(ct, Fill):
        return None
    repeats = y.aval.size / x.aval.size if x.aval.size else 0
    return Fill(multiply(ct.value, Lit(repeats, ct.value.aval.dtype)), x.aval)


def _broadcast_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, shape: tuple[int, ...]) -> Any:
    gap = len(shape) - (xs[0].aval.ndim - 1)
    x = reshape(xs[0], shape=(size, *[1] * gap, *xs[0].aval.shape[1:]))
    return broadcast_to(x, shape=(size, *shape))


def broadcast_bind(avals: Sequence[Aval], *, shape: tuple[int, ...]) -> Callable[..., Any]:
    """A scalar's broadcast is built from strides of zero, a tenth of the time that np.broadcast_to takes."""
    if avals[0].shape or 0 in shape:
        return lambda x: np.broadcast_to(x, shape)
    strides = (0,) * len(shape)
    dtype = avals[0].dtype

    def fill(x: np.ndarray[Any, Any]) -> Any:
        out = np.ndarray(shape, dtype, np.asarray(x), 0, strides)
        out.flags.writeable = False
        return out

    return fill


def broadcast_layout(old: tuple[int, ...], strides: tuple[int, ...], /, *, shape: tuple[int, ...]) -> Region:
    """An axis of length 1 that is repeated has stride 0."""
    lead = len(shape) - len(old)
    kept = [s if old[k] == shape[k + lead] else 0 for k, s in enumerate(strides)]
    return Region(0, shape, (*[0] * lead, *kept))


broadcast_to = linear(
    lambda x, *, shape: np.broadcast_to(x, shape),
    name="broadcast_to",
    type=_broadcast_type,
    kernel=View(broadcast_layout),
    transpose=lambda ct, x, *, shape: unbroadcast(ct, x.aval.shape),
    structured=_broadcast_structured,
    bind=broadcast_bind,
    batch=_broadcast_batch,
    shortcut=lambda x, *, shape: x if x.aval.shape == shape else None,
)


def full(value: Atom | float, aval: Aval) -> Any:
    """``value``, a number or an atom of shape (), over the shape and in the dtype of ``aval``."""
    atom = value if isinstance(value, Atom) else Lit(value, aval.dtype)
    return broadcast_to(convert(atom, dtype=aval.dtype), shape=aval.shape)


def zeros(aval: Aval) -> Any:
    return full(0, aval)


def iota_reference(*, size: int, dtype: np.dtype[Any]) -> Any:
    return np.arange(size, dtype=dtype)


iota = op(  # np.arange(size): the only array that comes from nothing
    iota_reference,
    name="iota",
    type=lambda *, size, dtype: Aval((size,), dtype),
    kernel=Iota(),
    batch=lambda xs, batched, size, /, **params: NotImplemented,  # it has no operand that could be batched
)


# ------------------------------------------------------------------------------------------------ concatenate


def _concatenate_type(*xs: Aval, axis: int) -> Aval:
    first = xs[0]
    for x in xs[1:]:
        if x.shape[:axis] + x.shape[axis + 1 :] != first.shape[:axis] + first.shape[axis + 1 :]:
            raise ShapeError(f"concatenate: shapes differ off axis {axis}: {', '.join(map(str, xs))}")
    length = sum([x.shape[axis] for x in xs])
    return Aval((*first.shape[:axis], length, *first.shape[axis + 1 :]), first.dtype)


def _concatenate_transpose(ct: Atom, *xs: Atom, axis: int, operand: int) -> Any:
    from wengert.ops.index import slice_axis  # the circle: slicing is the transpose of joining

    start = sum([x.aval.shape[axis] for x in xs[:operand]])
    return slice_axis(ct, axis, start, xs[operand].aval.shape[axis])


def _concatenate_structured(ct: Structured, k: int, *xs_y: Atom, axis: int) -> Any:
    return Fill(ct.value, xs_y[k].aval) if isinstance(ct, Fill) else None


def _concatenate_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, axis: int) -> Any:
    return concatenate(*[front(x, b, size) for x, b in zip(xs, batched, strict=True)], axis=axis + 1)


concatenate = linear(
    lambda *xs, axis: np.concatenate(xs, axis),
    name="concatenate",
    type=_concatenate_type,
    kernel=Join(),
    transpose=_concatenate_transpose,
    structured=_concatenate_structured,
    batch=_concatenate_batch,
    is_variadic=True,
    cost=lambda *avals, **params: 0.0,
    shortcut=lambda *xs, axis: xs[0] if len(xs) == 1 else None,
)


# --------------------------------------------------------------------------------------------------- diagonal


def _embed_reference(v: np.ndarray[Any, Any]) -> Any:
    n = v.shape[-1]
    out = np.zeros((*v.shape, n), v.dtype)
    out[..., range(n), range(n)] = v
    return out


def diagonal_layout(shape: tuple[int, ...], strides: tuple[int, ...], /) -> Region:
    return Region(0, shape[:-1], (*strides[:-2], strides[-2] + strides[-1]))


def _diagonal_transpose(ct: Atom, x: Atom) -> Any:
    return Diagonal(ct, x.aval) if x.aval.ndim == 2 else embed_diagonal(ct)


def _diagonal_structured(ct: Structured, k: int, x: Atom, y: Atom) -> Any:
    return Diagonal(ct.value, x.aval) if isinstance(ct, Fill) and x.aval.ndim == 2 else None


diagonal = linear(  # of the last two axes, which have one length
    lambda x: np.diagonal(x, axis1=-2, axis2=-1),
    name="diagonal",
    type=lambda x: Aval(x.shape[:-1], x.dtype),
    kernel=View(diagonal_layout),
    transpose=_diagonal_transpose,
    structured=_diagonal_structured,
    batch=lambda xs, batched, size: diagonal(xs[0]),
)

embed_diagonal = linear(
    _embed_reference,
    name="embed_diagonal",
    type=lambda v: Aval((*v.shape, v.shape[-1]), v.dtype),
    kernel=Embed(diagonal_layout),
    transpose=lambda ct, v: diagonal(ct),
    batch=lambda xs, batched, size: embed_diagonal(xs[0]),
    cost=free,
)
