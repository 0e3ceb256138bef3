"""Ops that combine elements along axes: reductions and running reductions.

``axis`` is a sorted tuple of non-negative axes, which go from the result, or one axis for the running kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.elementwise import convert, equal, select
from wengert.ops.index import INTP, along, gaps, reverse, slice_axis, take_along
from wengert.ops.kernels import Accumulate, Reduce, flops
from wengert.ops.op import Op, front, linear, op
from wengert.ops.shape import (
    broadcast_to,
    concatenate,
    expand,
    full,
    inverse_permutation,
    iota,
    move_to_front,
    reshape,
    transpose,
)
from wengert.ops.structured import Fill, Masked, ScatteredSum, ScatteredTerm, Structured
from wengert.tape import Atom, Aval, Lit

Axes = tuple[int, ...]


def reduced(x: Aval, axis: Axes) -> tuple[int, ...]:
    return tuple([n for k, n in enumerate(x.shape) if k not in axis])


def spread(y: Atom, x: Atom, axis: Axes) -> Any:
    """A reduced value at the place of each element that went into it: broadcasts against ``x``."""
    return expand(y, axis, x.aval.ndim)


def _batch_axes(make: Op) -> Any:
    def batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, axis: Axes, **params: Any) -> Any:
        return make(*xs, axis=tuple([k + 1 for k in axis]), **params)

    return batch


# -------------------------------------------------------------------------------------------------------- sum


def _sum_transpose(ct: Atom, x: Atom, *, axis: Axes) -> Any:
    if ct.aval.shape == ():
        return Fill(ct, x.aval)
    return broadcast_to(spread(ct, x, axis), shape=x.aval.shape)


def _sum_structured(ct: Structured, k: int, x: Atom, y: Atom, *, axis: Axes) -> Any:
    return Fill(ct.value, x.aval) if isinstance(ct, Fill) else None


sum_ = linear(
    lambda x, *, axis: np.sum(x, axis, dtype=x.dtype),
    name="sum",
    type=lambda x, *, axis: Aval(reduced(x, axis), x.dtype),
    kernel=Reduce("add"),
    transpose=_sum_transpose,
    structured=_sum_structured,
    cost=flops(1),
    batch=lambda xs, batched, size, **params: _batch_axes(sum_)(xs, batched, size, **params),
    shortcut=lambda x, *, axis: x if axis == () else None,
)

# ------------------------------------------------------------------------------------------------ product


def products_of_others(x: Atom, axis: Axes) -> Any:
    """The product, for each element, of all other elements along ``axis``: right also where elements are zero."""
    flat = move_to_front(x, axis)
    n = 1
    for k in axis:
        n *= x.aval.shape[k]
    rest = flat.aval.shape[len(axis) :]
    rows = reshape(flat, shape=(n, *rest))
    if n == 0:
        return x
    one = full(1, Aval((1, *rest), x.aval.dtype))
    before = concatenate(one, slice_axis(cumprod(rows, axis=0), 0, 0, n - 1), axis=0)
    after = reverse(cumprod(reverse(rows, 0), axis=0), 0)
    after = concatenate(slice_axis(after, 0, 1, n - 1), one, axis=0)
    out = reshape(before * after, shape=flat.aval.shape)
    order = [*axis, *[k for k in range(x.aval.ndim) if k not in axis]]
    return transpose(out, axes=inverse_permutation(order))


def prod_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, *, axis: Axes) -> Any:
    return sum_(dxs[0] * products_of_others(xs[0], axis), axis=axis)


def prod_pullback(ct: Atom, x: Atom, y: Atom, *, axis: Axes) -> Any:
    """x̄ᵢ = ȳ ∏_{j≠i} xⱼ, by running products from both ends, so that zeros are no exception."""
    return spread(ct, x, axis) * products_of_others(x, axis)


prod = op(
    lambda x, *, axis: np.prod(x, axis, dtype=x.dtype),
    name="prod",
    type=lambda x, *, axis: Aval(reduced(x, axis), x.dtype),
    kernel=Reduce("multiply"),
    pushforward=prod_pushforward,
    pullback=[prod_pullback],
    batch=lambda xs, batched, size, **params: _batch_axes(prod)(xs, batched, size, **params),
    shortcut=lambda x, *, axis: x if axis == () else None,
)

# ------------------------------------------------------------------------------------------------- max, min


def _extreme_type(name: str) -> Any:
    def result(x: Aval, *, axis: Axes) -> Aval:
        if x.size == 0 and any(x.shape[k] == 0 for k in axis):
            raise ShapeError(f"{name}: no element to take the {name} of in {x} along axis {axis}")
        return Aval(reduced(x, axis), x.dtype)

    return result


def _extreme(name: str, kernel: str, reference: Callable[..., Any], falls_short: Callable[[Any, Any], Any]) -> Op:
    """The greatest or the least. Where it is taken share its derivative evenly: all elements, if it is NaN."""

    def ties(x: Atom, y: Atom, axis: Axes) -> tuple[Any, Any]:
        """The mask of the elements that are the extreme, and their number."""
        at = ~falls_short(x, spread(y, x, axis))
        return at, sum_(convert(at, dtype=x.aval.dtype), axis=axis)

    def pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Atom, *, axis: Axes) -> Any:
        at, count = ties(xs[0], y, axis)
        return sum_(select(at, dxs[0], Lit(0, y.aval.dtype)), axis=axis) / count

    def pullback(ct: Atom, x: Atom, y: Atom, *, axis: Axes) -> Any:
        """The cotangent reaches no other element, by selection."""
        at, count = ties(x, y, axis)
        return Masked(at, spread(ct / count, x, axis))

    def switches(x: Atom, y: Atom, *, axis: Axes) -> list[Any]:
        """The gap between the extreme and the next element."""
        if x.aval.size == 0:
            return [None]
        rows = reshape(move_to_front(x, axis), shape=(x.aval.size // y.aval.size, *y.aval.shape))
        return gaps(rows, 0, [-1 if name == "max" else 0])

    extreme = op(
        lambda x, *, axis: reference(x, axis),
        name=name,
        type=_extreme_type(name),
        kernel=Reduce(kernel),
        switches=switches,
        pushforward=pushforward,
        pullback=[pullback],
        batch=lambda xs, batched, size, **params: _batch_axes(extreme)(xs, batched, size, **params),
    )
    return extreme


max_ = _extreme("max", "maximum", np.max, lambda x, y: x < y)
min_ = _extreme("min", "minimum", np.min, lambda x, y: x > y)
any_ = op(
    lambda x, *, axis: np.any(x, axis),
    name="any",
    type=lambda x, *, axis: Aval(reduced(x, axis), np.dtype(bool)),
    kernel=Reduce("logical_or"),
    batch=lambda xs, batched, size, **params: _batch_axes(any_)(xs, batched, size, **params),
)
all_ = op(
    lambda x, *, axis: np.all(x, axis),
    name="all",
    type=lambda x, *, axis: Aval(reduced(x, axis), np.dtype(bool)),
    kernel=Reduce("logical_and"),
    batch=lambda xs, batched, size, **params: _batch_axes(all_)(xs, batched, size, **params),
)

# --------------------------------------------------------------------------------------------- running kinds


def _batch_axis(make: Op) -> Any:
    def batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, axis: int) -> Any:
        return make(*xs, axis=axis + 1)

    return batch


cumsum = linear(
    lambda x, *, axis: np.cumsum(x, axis, dtype=x.dtype),
    name="cumsum",
    type=lambda x, *, axis: x,
    kernel=Accumulate("add"),
    transpose=lambda ct, x, *, axis: reverse(cumsum(reverse(ct, axis), axis=axis), axis),
    cost=flops(1),
    batch=lambda xs, batched, size, **params: _batch_axis(cumsum)(xs, batched, size, **params),
)


def previous(y: Atom, axis: int, first: float) -> Any:
    """``y`` moved one place on along ``axis``, with ``first`` in front."""
    n = y.aval.shape[axis]
    if n == 0:
        return y
    shape = list(y.aval.shape)
    shape[axis] = 1
    head = full(first, Aval(tuple(shape), y.aval.dtype))
    return concatenate(head, slice_axis(y, axis, 0, n - 1), axis=axis)


def following(y: Atom, axis: int, last: float) -> Any:
    return reverse(previous(reverse(y, axis), axis, last), axis)


def _recurrence_reference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], *, axis: int) -> Any:
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    h = np.array(b)
    for i in range(1, len(h)):
        h[i] += a[i] * h[i - 1]
    return np.moveaxis(h, 0, axis)


def _backwards(ct: Atom, a: Atom, axis: int) -> Any:
    """gᵢ = ctᵢ + aᵢ₊₁ gᵢ₊₁: the same recurrence from the other end."""
    return reverse(recurrence(reverse(following(a, axis, 0), axis), reverse(ct, axis), axis=axis), axis)


def recurrence_pullback_a(ct: Atom, a: Atom, b: Atom, y: Atom, *, axis: int) -> Any:
    return _backwards(ct, a, axis) * previous(y, axis, 0)


def recurrence_pullback_b(ct: Atom, a: Atom, b: Atom, y: Atom, *, axis: int) -> Any:
    return _backwards(ct, a, axis)


def recurrence_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Atom, *, axis: int) -> Any:
    a, _ = xs
    da, db = dxs
    rate = db if da is None else da * previous(y, axis, 0)
    if da is not None and db is not None:
        rate = rate + db
    return recurrence(a, rate, axis=axis)


def _recurrence_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, axis: int) -> Any:
    a, b = [front(x, is_batched, size) for x, is_batched in zip(xs, batched, strict=True)]
    return recurrence(a, b, axis=axis + 1)


recurrence = op(  # hᵢ = aᵢ hᵢ₋₁ + bᵢ with h₋₁ = 0: the derivative of running products needs it, in O(n)
    _recurrence_reference,
    name="recurrence",
    type=lambda a, b, *, axis: b,
    kernel=Accumulate("multiply_add"),
    cost=flops(2),
    pushforward=recurrence_pushforward,
    pullback=[recurrence_pullback_a, recurrence_pullback_b],
    batch=_recurrence_batch,
)


def cumprod_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Atom, *, axis: int) -> Any:
    """ẏᵢ = xᵢ ẏᵢ₋₁ + yᵢ₋₁ ẋᵢ."""
    return recurrence(xs[0], previous(y, axis, 1) * dxs[0], axis=axis)


def cumprod_pullback(ct: Atom, x: Atom, y: Atom, *, axis: int) -> Any:
    return _backwards(ct, x, axis) * previous(y, axis, 1)


cumprod = op(
    lambda x, *, axis: np.cumprod(x, axis, dtype=x.dtype),
    name="cumprod",
    type=lambda x, *, axis: x,
    kernel=Accumulate("multiply"),
    pushforward=cumprod_pushforward,
    pullback=[cumprod_pullback],
    batch=lambda xs, batched, size, **params: _batch_axis(cumprod)(xs, batched, size, **params),
)


def _running_place(x: Atom, y: Atom, axis: int) -> Any:
    """The index at which each running extreme was met; the last one if several are equal."""
    n = x.aval.shape[axis]
    place = expand(iota(size=n, dtype=INTP), [k for k in range(x.aval.ndim) if k != axis], x.aval.ndim)
    return cummax(select(equal(x, y), place, Lit(0, INTP)), axis=axis)


def running_pushforward(xs: Sequence[Atom], dxs: Sequence[Any], y: Atom, *, axis: int) -> Any:
    return take_along(dxs[0], _running_place(xs[0], y, axis), axis)


def running_pullback(ct: Atom, x: Atom, y: Atom, *, axis: int) -> Any:
    return ScatteredSum(None, (ScatteredTerm(ct, None, along(_running_place(x, y, axis), x.aval.shape, axis)),), x.aval)


def _running_switches(x: Atom, y: Atom, *, axis: int) -> list[Any]:
    """The distance of each element to the extreme of those before it."""
    n = x.aval.shape[axis]
    return [slice_axis(x, axis, 1, n - 1) - slice_axis(y, axis, 0, n - 1)] if n > 1 else [None]


cummax = op(
    lambda x, *, axis: np.maximum.accumulate(x, axis),
    name="cummax",
    type=lambda x, *, axis: x,
    kernel=Accumulate("maximum"),
    switches=_running_switches,
    pushforward=running_pushforward,
    pullback=[running_pullback],
    batch=lambda xs, batched, size, **params: _batch_axis(cummax)(xs, batched, size, **params),
)
cummin = op(
    lambda x, *, axis: np.minimum.accumulate(x, axis),
    name="cummin",
    type=lambda x, *, axis: x,
    kernel=Accumulate("minimum"),
    switches=_running_switches,
    pushforward=running_pushforward,
    pullback=[running_pullback],
    batch=lambda xs, batched, size, **params: _batch_axis(cummin)(xs, batched, size, **params),
)
