"""Linear recurrences along the last axis, which SciPy's code of C runs: filters with an infinite response.

With A(z) = 1 + a₁ z⁻¹ + ... + a_N z⁻ᴺ and B likewise, a filter solves A Y = B X + Z, where the N numbers of Z are its
state before the first sample. So f = b * x + z, a convolution that is N longer than x, gives y by the recurrence, and
what of f − a * y lies beyond the last sample is the state after it. Derivatives are convolutions, and recurrences by
the same a; the transpose of a recurrence is the recurrence of the reversed sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.contract import contract
from wengert.ops.index import element, embed, everything, join, reverse, slice_axis
from wengert.ops.op import front, op
from wengert.ops.shape import broadcast_to, concatenate, expand, full, zeros
from wengert.ops.windows import Windows, windows
from wengert.tape import Atom, Aval


def _type(b: Aval, a: Aval, x: Aval, zi: Aval) -> tuple[Aval, Aval]:
    lead, order = x.shape[:-1], a.shape[-1]
    fits = b.shape[-1] == order + 1 and zi.shape == (*lead, order)
    if not fits or any(c.ndim > 1 and c.shape[:-1] != lead for c in (a, b)):
        raise ShapeError(f"filter_: {b}, {a}, {x}, {zi} do not fit")
    return x, zi


def _reference(
    b: np.ndarray[Any, Any], a: np.ndarray[Any, Any], x: np.ndarray[Any, Any], zi: np.ndarray[Any, Any]
) -> Any:
    from scipy.signal._sigtools import _linear_filter  # heavy to import, and needed only here

    if not x.size:
        return np.zeros(x.shape, x.dtype), zi.copy()
    if not a.shape[-1]:
        return np.asarray(b * x, x.dtype), zi.copy()
    if a.ndim == b.ndim == 1:
        return _linear_filter(b, np.concatenate([np.ones(1, a.dtype), a]), x, -1, zi)
    lead = x.shape[:-1]
    b, a = (np.broadcast_to(c, (*lead, c.shape[-1])) for c in (b, a))
    y, zf = np.empty_like(x), np.empty_like(zi)
    for k in np.ndindex(lead):
        y[k], zf[k] = _reference(b[k], a[k], x[k], zi[k])
    return y, zf


BLOCK = 4096
"""Samples that are filtered at a time. SciPy allocates its result; beyond some 100 KB that is new memory at each call,
whose pages cost as much as the filter. The state is carried on, so that the bits are the same."""


def _into(
    b: np.ndarray[Any, Any],
    a: np.ndarray[Any, Any],
    x: np.ndarray[Any, Any],
    zi: np.ndarray[Any, Any],
    y: np.ndarray[Any, Any],
    zf: np.ndarray[Any, Any],
) -> None:
    n, step = x.shape[-1], max(1, BLOCK // max(1, x.size // max(1, x.shape[-1])))
    state = zi
    for k in range(0, n, step):
        y[..., k : k + step], state = _reference(b, a, x[..., k : k + step], state)
    zf[...] = state


def _windows(x: Atom, count: int, length: int, start: int, step: int) -> Any:
    """The element (i, k) of the result is x[i + start + step k], along the last axis of ``x``."""
    shape = x.aval.shape
    axis = len(shape) - 1
    w = Windows((*shape[:-1], count, length), (*range(axis), axis, axis), (*[1] * axis, 1, step), (*[0] * axis, start))
    return windows(x, **w._asdict())


def _placed(x: Atom, length: int, start: int) -> Any:
    """``x`` within zeros, along its last axis."""
    shape = (*x.aval.shape[:-1], length)
    index = (*everything(shape)[:-1], (start, x.aval.shape[-1], 1))
    return embed(x, shape=shape, index=index)


def _weighted(x: Atom, c: Atom) -> Any:
    """Σ_k x[..., i, k] c[..., k], where ``c`` has the leading axes of ``x``, or none."""
    i, k = x.aval.ndim - 2, x.aval.ndim - 1
    lead = tuple(range(i))
    return contract(x, c, a=(*lead, i, k), b=(*lead, k) if c.aval.ndim > 1 else (k,), out=(*lead, i))


def _correlated(x: Atom, y: Atom, c: Atom) -> Any:
    """Σ_i x[..., i, k] y[..., i], summed over the leading axes as well where ``c`` has none."""
    i, k = x.aval.ndim - 2, x.aval.ndim - 1
    lead = tuple(range(i))
    return contract(x, y, a=(*lead, i, k), b=(*lead, i), out=(*lead, k) if c.aval.ndim > 1 else (k,))


def _convolved(c: Atom, x: Atom, order: int, delay: int) -> Any:
    """Σ_k c_k x[i − k − delay], for as many i as ``x`` has, and ``order`` more."""
    n = x.aval.shape[-1]
    padded = _placed(x, n + 2 * order, order)
    return _weighted(_windows(padded, n + order, c.aval.shape[-1], order - delay, -1), c)


def _one(order: int, dtype: np.dtype[Any]) -> Any:
    """The numerator 1, of the length that a filter of this order has."""
    return embed(full(1, Aval((1,), dtype)), shape=(order + 1,), index=((0, 1, 1),))


def _solved(a: Atom, f: Atom, zi: Atom | None = None) -> Any:
    """The y of a * y = f + zi, and −a * y beyond the last sample of ``f``."""
    order = a.aval.shape[-1]
    if zi is None:
        zi = zeros(Aval((*f.aval.shape[:-1], order), f.aval.dtype))
    return filter_(_one(order, f.aval.dtype), a, f, zi)


def _pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Sequence[Atom]) -> Any:
    """a * ẏ = ḟ,   ḟ = ḃ * x + b * ẋ + ż − ȧ * y."""
    (b, a, x, _), (db, da, dx, dzi) = xs, dxs
    n, order = x.aval.shape[-1], a.aval.shape[-1]
    parts: list[Any] = []
    if db is not None:
        parts.append(_convolved(db, x, order, 0))
    if dx is not None:
        parts.append(_convolved(b, dx, order, 0))
    if da is not None and order:
        parts.append(-_convolved(da, y[0], order, 1))
    if dzi is not None:
        parts.append(_placed(dzi, n + order, 0))
    if not parts:
        return None, None
    df = parts[0]
    for part in parts[1:]:
        df = df + part
    axis = df.aval.ndim - 1
    dy, rest = _solved(a, slice_axis(df, axis, 0, n))
    return dy, slice_axis(df, axis, n, order) + rest


def _cotangent(ct: Sequence[Atom | None], a: Atom, x: Atom) -> Any:
    """Return f̄, of as many elements as x and the state: the recurrence back over ȳ, with z̄ for what lies beyond."""
    ct_y, ct_z = ct
    order, axis = a.aval.shape[-1], x.aval.ndim - 1
    zi = None
    if ct_z is not None and order:
        wide = _placed(a, 2 * order, 0)
        reach = _windows(wide, order, order, 0, 1)  # a_{j + m + 1}
        zi = -_hankel(reach, ct_z)
    back = reverse(zeros(x.aval) if ct_y is None else ct_y, axis)
    y = reverse(_solved(a, back, zi)[0], axis)
    return _placed(y, x.aval.shape[-1] + order, 0) if ct_z is None else concatenate(y, ct_z, axis=axis)


def _hankel(reach: Atom, z: Atom) -> Any:
    """Σ_m reach[..., j, m] z[..., m], where ``reach`` has the leading axes of ``z``, or none."""
    n = z.aval.ndim
    lead = tuple(range(n - 1))
    labels = (*lead, n - 1, n) if reach.aval.ndim > 2 else (n - 1, n)
    return contract(reach, z, a=labels, b=(*lead, n), out=(*lead, n - 1))


def _pull_b(ct: Sequence[Atom | None], b: Atom, a: Atom, x: Atom, zi: Atom, y: Sequence[Atom]) -> Any:
    """b̄_k = Σ_i f̄[i + k] x[i]."""
    f = _cotangent(ct, a, x)
    return _correlated(_windows(f, x.aval.shape[-1], b.aval.shape[-1], 0, 1), x, b)


def _pull_a(ct: Sequence[Atom | None], b: Atom, a: Atom, x: Atom, zi: Atom, y: Sequence[Atom]) -> Any:
    """ā_k = −Σ_i f̄[i + k] y[i]."""
    if not a.aval.shape[-1]:
        return zeros(a.aval)
    f = _cotangent(ct, a, x)
    return -_correlated(_windows(f, x.aval.shape[-1], a.aval.shape[-1], 1, 1), y[0], a)


def _pull_x(ct: Sequence[Atom | None], b: Atom, a: Atom, x: Atom, zi: Atom, y: Sequence[Atom]) -> Any:
    """x̄[i] = Σ_k b_k f̄[i + k]."""
    f = _cotangent(ct, a, x)
    return _weighted(_windows(f, x.aval.shape[-1], b.aval.shape[-1], 0, 1), b)


def _pull_zi(ct: Sequence[Atom | None], b: Atom, a: Atom, x: Atom, zi: Atom, y: Sequence[Atom]) -> Any:
    """z̄ᵢ = f̄, its first elements."""
    return slice_axis(_cotangent(ct, a, x), x.aval.ndim - 1, 0, a.aval.shape[-1])


def _batch(xs: Sequence[Atom], batched: Sequence[bool], size: int) -> Any:
    b, a, x, zi = xs
    x, zi = front(x, batched[2], size), front(zi, batched[3], size)
    lead = x.aval.shape[:-1]

    def of_each(c: Atom, is_batched: bool) -> Atom:
        """One filter for all examples stays that; others are repeated over the axes of the signal."""
        if c.aval.ndim == 1:
            return c
        if not is_batched:
            return front(c, False, size)
        between = len(lead) + 1 - c.aval.ndim
        wide = expand(c, range(1, 1 + between), len(lead) + 1) if between else c
        return broadcast_to(wide, shape=(*lead, c.aval.shape[-1]))

    return filter_(of_each(b, batched[0]), of_each(a, batched[1]), x, zi)


filter_ = op(  # b [order + 1], a [order] (after the 1 that it begins with), x [..., n], state [..., order] -> y, state
    _reference,
    name="filter_",
    type=_type,
    into=_into,
    cost=lambda b, a, x, zi: 4.0 * x.size * b.shape[-1],
    pushforward=_pushforward,
    pullback=[_pull_b, _pull_a, _pull_x, _pull_zi],
    batch=_batch,
)


# ------------------------------------------------------------------------------------------------------ cascades


def _sos_type(sos: Aval, x: Aval, zi: Aval) -> tuple[Aval, Aval]:
    lead, sections = x.shape[:-1], sos.shape[-2]
    if sos.shape[-1] != 6 or zi.shape != (*lead, sections, 2) or (sos.ndim > 2 and sos.shape[:-2] != lead):
        raise ShapeError(f"cascade: {sos}, {x}, {zi} do not fit")
    return x, zi


def _sos_reference(sos: np.ndarray[Any, Any], x: np.ndarray[Any, Any], zi: np.ndarray[Any, Any]) -> Any:
    from scipy.signal._sosfilt import _sosfilt  # heavy to import, and needed only here

    if not x.size:
        return np.zeros(x.shape, x.dtype), zi.copy()
    y, zf = np.array(x, order="C"), np.array(zi, order="C")
    if sos.ndim == 2:
        _sosfilt(np.array(sos), y.reshape(-1, x.shape[-1]), zf.reshape(-1, *zi.shape[-2:]))
    else:
        for k in np.ndindex(x.shape[:-1]):
            _sosfilt(np.array(sos[k]), y[k][None], zf[k][None])
    return y, zf


def _sos_into(
    sos: np.ndarray[Any, Any],
    x: np.ndarray[Any, Any],
    zi: np.ndarray[Any, Any],
    y: np.ndarray[Any, Any],
    zf: np.ndarray[Any, Any],
) -> None:
    """SciPy's code writes into its operands, so that of one filter nothing is allocated."""
    from scipy.signal._sosfilt import _sosfilt  # heavy to import, and needed only here

    if sos.ndim == 2 and x.size and y.flags.c_contiguous and zf.flags.c_contiguous:
        y[...], zf[...] = x, zi
        _sosfilt(np.array(sos), y.reshape(-1, x.shape[-1]), zf.reshape(-1, *zi.shape[-2:]))
    else:
        y[...], zf[...] = _sos_reference(sos, x, zi)


def _sections(sos: Atom, x: Atom, zi: Atom) -> list[tuple[tuple[Any, Any, Any, Any], Any]]:
    """The operands and results of each section, as a filter of its own."""
    found = []
    for k in range(sos.aval.shape[-2]):
        row = element(sos, sos.aval.ndim - 2, k)
        axis = row.aval.ndim - 1
        operands = slice_axis(row, axis, 0, 3), slice_axis(row, axis, 4, 2), x, element(zi, zi.aval.ndim - 2, k)
        y = filter_(*operands)
        found.append((operands, y))
        x = y[0]
    return found


def _sos_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Sequence[Atom]) -> Any:
    sos, _, zi = xs
    dsos, dx, dzi = dxs
    ends = []
    for k, (operands, result) in enumerate(_sections(*xs)):
        db = da = dz = None
        if dsos is not None:
            row = element(dsos, sos.aval.ndim - 2, k)
            db, da = slice_axis(row, row.aval.ndim - 1, 0, 3), slice_axis(row, row.aval.ndim - 1, 4, 2)
        if dzi is not None:
            dz = element(dzi, zi.aval.ndim - 2, k)
        dx, end = _pushforward(operands, (db, da, dx, dz), result)
        ends.append(zeros(operands[3].aval) if end is None else end)
    return dx, join(ends, zi.aval.ndim - 2)


def _sos_cotangents(ct: Sequence[Atom | None], sos: Atom, x: Atom, zi: Atom) -> Any:
    """The cotangents of each section's filter, back from the last one to the first, and that of x."""
    ct_y, ct_z = ct
    found: list[Any] = []
    for k, (operands, result) in reversed([*enumerate(_sections(sos, x, zi))]):
        both = ct_y, None if ct_z is None else element(ct_z, ct_z.aval.ndim - 2, k)
        if both == (None, None):
            found.append(None)
            continue
        found.append((both, operands, result))
        ct_y = _pull_x(both, *operands, y=result)
    return found[::-1], ct_y


def _sos_pull_sos(ct: Sequence[Atom | None], sos: Atom, x: Atom, zi: Atom, y: Sequence[Atom]) -> Any:
    """The 1 that the denominator of a section begins with is not read."""
    rows = []
    lead = sos.aval.shape[:-2]
    for section in _sos_cotangents(ct, sos, x, zi)[0]:
        if section is None:
            rows.append(zeros(Aval((*lead, 6), sos.aval.dtype)))
            continue
        both, (b, a, u, z), result = section
        parts = _pull_b(both, b, a, u, z, result), _pull_a(both, b, a, u, z, result)
        one = zeros(Aval((*lead, 1), sos.aval.dtype))
        rows.append(concatenate(parts[0], one, parts[1], axis=len(lead)))
    return join(rows, len(lead))


def _sos_pull_x(ct: Sequence[Atom | None], sos: Atom, x: Atom, zi: Atom, y: Sequence[Atom]) -> Any:
    return _sos_cotangents(ct, sos, x, zi)[1]


def _sos_pull_zi(ct: Sequence[Atom | None], sos: Atom, x: Atom, zi: Atom, y: Sequence[Atom]) -> Any:
    states = []
    for section in _sos_cotangents(ct, sos, x, zi)[0]:
        states.append(
            zeros(Aval((*x.aval.shape[:-1], 2), x.aval.dtype))
            if section is None
            else _pull_zi(section[0], *section[1], y=section[2])
        )
    return join(states, zi.aval.ndim - 2)


def _sos_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int) -> Any:
    sos, x, zi = xs[0], front(xs[1], batched[1], size), front(xs[2], batched[2], size)
    lead = x.aval.shape[:-1]
    if batched[0] or sos.aval.ndim > 2:
        sos = front(sos, batched[0], size)
        between = len(lead) + 2 - sos.aval.ndim
        wide = expand(sos, range(1, 1 + between), len(lead) + 2) if between else sos
        sos = broadcast_to(wide, shape=(*lead, *sos.aval.shape[-2:]))
    return cascade(sos, x, zi)


cascade = op(  # rows b₀ b₁ b₂ 1 a₁ a₂ [sections, 6], x [..., n], state [..., sections, 2] -> y, state
    _sos_reference,
    name="cascade",
    type=_sos_type,
    into=_sos_into,
    cost=lambda sos, x, zi: 10.0 * x.size * sos.shape[-2],
    pushforward=_sos_pushforward,
    pullback=[_sos_pull_sos, _sos_pull_x, _sos_pull_zi],
    batch=_sos_batch,
)
