"""Windows of an array: a view in which elements stand several times, and contractions that read one in place.

``windows`` is affine: element (i, j, ...) of the result is that of ``x`` at ``start + steps · (i, j, ...)``, each axis
of the result going along one of ``x``, and at most two along the same: one says where a window is, the other where in
it. So strides and dilations are steps, and a window read backwards is a negative one.

A convolution is a contraction of windows with weights. Its derivatives are such contractions again, of windows of the
cotangent or with the cotangent as weights; so none of them writes the windows out. That is known by
``contract_windows``, which the pass ``join_windows`` puts in the place of a contraction of a view made of windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.contract import Labels, contract, contract_bind, contract_cost, contract_type
from wengert.ops.index import INTP, add_slice, element, embed, everything, is_everything, scatter_add
from wengert.ops.kernels import Contract, Region, View
from wengert.ops.op import linear
from wengert.ops.shape import iota, move_to_front, reshape, transpose, zeros
from wengert.tape import Atom, Aval

MANY_PLACES = 64
"""Places in a window, along one axis, up to which they are added one after the other."""


class Windows(NamedTuple):
    """The parameters of ``windows``: one entry for each axis of the result, but of ``start`` one for each axis of
    ``x``."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    """The axis of ``x`` along which each axis of the result goes."""
    steps: tuple[int, ...]
    start: tuple[int, ...]
    """The index in each axis of ``x`` at which the first window begins."""

    def along(self, axis: int) -> list[int]:
        """The axes of the result that go along an axis of ``x``."""
        return [k for k, d in enumerate(self.axes) if d == axis]

    def of(self, inner: Windows) -> Windows:
        """The composition: these windows of the result of ``inner``, as windows of the operand of ``inner``."""
        start = list(inner.start)
        for k, first in enumerate(self.start):
            start[inner.axes[k]] += inner.steps[k] * first
        axes = tuple([inner.axes[k] for k in self.axes])
        steps = tuple([s * inner.steps[k] for k, s in zip(self.axes, self.steps, strict=True)])
        return Windows(self.shape, axes, steps, tuple(start))


def whole(shape: tuple[int, ...]) -> Windows:
    """The windows that give an array as it is."""
    n = len(shape)
    return Windows(shape, tuple(range(n)), (1,) * n, (0,) * n)


def sliding(shape: tuple[int, ...], lengths: Sequence[int], axes: Sequence[int]) -> Windows:
    """NumPy's ``sliding_window_view``: windows of these lengths along these axes, each axis named at most once."""
    places = list(shape)
    for n, d in zip(lengths, axes, strict=True):
        places[d] -= n - 1
    shift = len(shape) + len(lengths)
    return Windows((*places, *lengths), (*range(len(shape)), *axes), (1,) * shift, (0,) * len(shape))


# ---------------------------------------------------------------------------------------------------------- the view


def _layout(old: tuple[int, ...], strides: tuple[int, ...], /, **params: Any) -> Region:
    w = Windows(**params)
    offset = sum([s * first for s, first in zip(strides, w.start, strict=True)])
    return Region(offset, w.shape, tuple([s * strides[d] for d, s in zip(w.axes, w.steps, strict=True)]))


def _type(x: Aval, **params: Any) -> Aval:
    w = Windows(**params)
    for d, n in enumerate(x.shape):
        reaches = [w.steps[k] * (w.shape[k] - 1) for k in w.along(d)]
        low, high = w.start[d] + sum([min(0, r) for r in reaches]), w.start[d] + sum([max(0, r) for r in reaches])
        if 0 not in w.shape and not (low >= 0 and high < n):
            raise ShapeError(f"windows: {low} to {high} of axis {d} of {x}")
    return Aval(w.shape, x.dtype)


def _reference(x: np.ndarray[Any, Any], **params: Any) -> Any:
    w = Windows(**params)
    if 0 in w.shape:
        return np.empty(w.shape, x.dtype)
    corner = x[tuple([slice(first, None) for first in w.start])]
    strides = [s * x.strides[d] for d, s in zip(w.axes, w.steps, strict=True)]
    return np.lib.stride_tricks.as_strided(corner, w.shape, strides, writeable=False)


def _batched(w: Windows, size: int) -> Windows:
    """The windows ``w`` of each of ``size`` arrays, which are stacked along a leading axis."""
    return Windows((size, *w.shape), (0, *[d + 1 for d in w.axes]), (1, *w.steps), (0, *w.start))


def _transpose(ct: Atom, x: Atom, **params: Any) -> Any:
    return added_up(ct, Windows(**params), x.aval.shape)


windows = linear(
    _reference,
    name="windows",
    type=_type,
    kernel=View(_layout),
    transpose=_transpose,
    batch=lambda xs, batched, size, **params: windows(xs[0], **_batched(Windows(**params), size)._asdict()),
    shortcut=lambda x, **params: x if Windows(**params) == whole(x.aval.shape) else None,
)


def added_up(ct: Atom, w: Windows, shape: tuple[int, ...]) -> Any:
    """The transpose of ``windows``: an array of this ``shape``, each element the sum of all its copies in ``ct``."""
    if 0 in w.shape:
        return zeros(Aval(shape, ct.aval.dtype))
    order = list(w.axes)  # the axis of x that each axis of ct goes along
    region: list[Any] = list(w.start)  # of the result, of which the rest is zero
    for d, n in enumerate(shape):
        mine = w.along(d)
        if len(mine) == 1:
            region[d] = (w.start[d], w.shape[mine[0]], w.steps[mine[0]])
        elif mine:
            place, inside = sorted(mine, key=lambda k: -w.shape[k])
            first, second = [k for k, axis in enumerate(order) if axis == d]
            if mine[0] != place:
                first, second = second, first
            ct = _added_along(ct, first, second, w.start[d], w.steps[place], w.steps[inside], n)
            order.pop(second)
            region[d] = (0, n, 1)
    placed = transpose(ct, axes=tuple(sorted(range(len(order)), key=order.__getitem__)))
    return placed if is_everything(tuple(region), shape) else embed(placed, shape=shape, index=tuple(region))


def _added_along(ct: Atom, place: int, inside: int, start: int, step: int, step_inside: int, n: int) -> Any:
    """Add up the axes ``place`` and ``inside`` of ``ct`` along one axis of length ``n``, which stands for ``place``."""
    count, length = ct.aval.shape[place], ct.aval.shape[inside]
    at = place - (inside < place)
    shape = [m for k, m in enumerate(ct.aval.shape) if k != inside]
    shape[at] = n
    if length > MANY_PLACES:
        position = lambda size, step: iota(size=size, dtype=INTP) * step
        index = reshape(position(count, step), shape=(count, 1)) + position(length, step_inside) + start
        front = [shape[at], *shape[:at], *shape[at + 1 :]]
        total = scatter_add(zeros(Aval(tuple(front), ct.aval.dtype)), move_to_front(ct, (place, inside)), index)
        return transpose(total, axes=(*range(1, at + 1), 0, *range(at + 1, len(shape))))
    total: Any = None
    for k in range(length):
        part, index = element(ct, inside, k), list[Any](everything(shape))
        index[at] = (start + step_inside * k, count, step)
        if total is None:
            total = embed(part, shape=tuple(shape), index=tuple(index))
        else:
            total = add_slice(total, part, index=tuple(index))
    return total


# ---------------------------------------------------------------------------------------------- contractions of windows


def _aval(x: Aval, w: Windows) -> Aval:
    return Aval(w.shape, x.dtype)


def _split(params: dict[str, Any]) -> tuple[Windows, dict[str, Labels]]:
    labels = {name: params[name] for name in ("a", "b", "out")}
    return Windows(**{name: value for name, value in params.items() if name not in labels}), labels


def _contract_type(x: Aval, y: Aval, **params: Any) -> Aval:
    w, labels = _split(params)
    return contract_type(_type(x, **w._asdict()), y, **labels)


def _contract_cost(x: Aval, y: Aval, **params: Any) -> float:
    w, labels = _split(params)
    return contract_cost(_aval(x, w), y, **labels)


def _contract_reference(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], **params: Any) -> Any:
    w, labels = _split(params)
    view = _reference(x, **w._asdict())
    return contract_bind((Aval(w.shape, x.dtype), Aval(y.shape, y.dtype)), **labels)(view, y)


def _transpose_y(ct: Atom, x: Atom, y: Atom, **params: Any) -> Any:
    w, labels = _split(params)
    return contract_windows(x, ct, a=labels["a"], b=labels["out"], out=labels["b"], **w._asdict())


def _transpose_x(ct: Atom, x: Atom, y: Atom, **params: Any) -> Any:
    """x̄[p] = Σ ct[i] y[j] over all places i and offsets j with start + s i + t j = p.

    Written as a contraction of windows of ct: with zeros between and around it, ct° has a value for each p − t j, so
    x̄[p] = Σⱼ ct°[p − t j] y[j], where ct° is read backwards in j.
    """
    w, labels = _split(params)
    a, b, out = labels["a"], labels["b"], labels["out"]
    pairs = {d: w.along(d) for d in range(x.aval.ndim)}
    turned: dict[int, tuple[int, int]] = {}  # by axis of x: that of w which ct has, and that which y has
    for d, mine in pairs.items():
        if len(mine) == 2:
            ours = [k for k in mine if a[k] in out and a[k] not in b]
            theirs = [k for k in mine if a[k] in b and a[k] not in out]
            if len(ours) != 1 or len(theirs) != 1 or 0 in w.shape:
                return added_up(contract(ct, y, a=out, b=b, out=a), w, x.aval.shape)
            turned[d] = ours[0], theirs[0]
    spread = list(ct.aval.shape)
    index: list[Any] = list(everything(spread))
    new = whole(tuple(spread))
    shape, axes, steps, start = [[*part] for part in new]
    names, result = list(out), []
    fresh = 1 + max((*a, *b, *out), default=0)
    region: list[Any] = list(w.start)
    for d, mine in pairs.items():
        n = x.aval.shape[d]
        if d in turned:
            u, v = turned[d]
            at, reach = out.index(a[u]), w.steps[v] * (w.shape[v] - 1)
            shift = max(0, reach)
            spread[at] = n + abs(reach)
            index[at] = (w.start[d] + shift, w.shape[u], w.steps[u])
            shape[at], start[at], names[at] = n, shift, fresh + d
            shape.append(w.shape[v])
            axes.append(at)
            steps.append(-w.steps[v])
            names.append(a[v])
            result.append(fresh + d)
            region[d] = (0, n, 1)
        elif mine:
            result.append(a[mine[0]])
            region[d] = (w.start[d], w.shape[mine[0]], w.steps[mine[0]])
    if not is_everything(tuple(index), tuple(spread)):
        ct = embed(ct, shape=tuple(spread), index=tuple(index))
    view = Windows(tuple(shape), tuple(axes), tuple(steps), tuple(start))
    total = contract_windows(ct, y, a=tuple(names), b=b, out=tuple(result), **view._asdict())
    if is_everything(tuple(region), x.aval.shape):
        return total
    return embed(total, shape=x.aval.shape, index=tuple(region))


def _contract_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, **params: Any) -> Any:
    w, labels = _split(params)
    a, b, out = labels["a"], labels["b"], labels["out"]
    new = 1 + max((*a, *b, *out), default=-1)
    return contract_windows(
        *xs,
        a=(new, *a) if batched[0] else a,
        b=(new, *b) if batched[1] else b,
        out=(new, *out),
        **(_batched(w, size) if batched[0] else w)._asdict(),
    )


def _expansion(x: Atom, y: Atom, **params: Any) -> Any:
    w, labels = _split(params)
    return contract(windows(x, **w._asdict()), y, **labels)


contract_windows = linear(
    _contract_reference,
    name="contract_windows",
    type=_contract_type,
    kernel=Contract(),
    transpose=[_transpose_x, _transpose_y],
    is_multilinear=True,
    batch=_contract_batch,
    cost=_contract_cost,
    expansion=_expansion,
)
