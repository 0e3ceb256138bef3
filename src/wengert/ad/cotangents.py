"""Cotangents known by structure, their sums, and how they become dense.

While a backward tape is built, a cotangent is one of

    None         zero                          what nothing has reached
    Fill         one scalar over a shape       the pullback of a sum
    ScatteredSum values at indices             the pullback of reading x[i]; n reads are n parts, one buffer
    Diagonal     a vector on the diagonal      the pullback of a trace
    Masked       counts where a mask holds     the pullback of where, max: selection, never 0 times something
    an atom      dense

and it becomes dense as late as possible: when a rule that knows nothing of structure needs it. A value of smaller
shape than its primal's stands for its broadcast; what is summed over repeated axes, and what is cast to the
primal's dtype (its *projection* onto the primal's space: of what is complex, for something real, the real part), is
decided here, once for all rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.ops.elementwise import add as add_op
from wengert.ops.elementwise import cast, complex_dtype, conjugate, equal, isfinite, multiply, negative, select
from wengert.ops.index import (
    StaticIndex,
    add_slice,
    embed,
    everything,
    gather,
    is_everything,
    region_shape,
    scatter_add,
    scatter_set,
    set_slice,
    slice_,
)
from wengert.ops.op import CONJUGATION
from wengert.ops.reduce import any_
from wengert.ops.shape import broadcast_to, concatenate, embed_diagonal, full, reshape, unbroadcast, zeros
from wengert.ops.structured import Cotangent, Diagonal, Fill, Marks, Masked, ScatteredSum, ScatteredTerm, marks_of
from wengert.tape import Atom, Aval, Lit, Var

if TYPE_CHECKING:
    from typing_extensions import TypeIs  # Python's own since 3.13


def is_atom(ct: Cotangent) -> TypeIs[Atom]:
    return type(ct) is Var or type(ct) is Lit  # an isinstance of the two takes three times as long


def zero_like(aval: Aval) -> Lit:
    return Lit(0, aval.dtype)


def densify(ct: Cotangent, aval: Aval) -> Atom:
    """Return ``ct`` as one atom of exactly the shape and dtype of ``aval``."""
    if is_atom(ct):
        return _fit(ct, aval)
    if ct is None:
        return zeros(aval)
    if isinstance(ct, Fill):
        return full(ct.value, aval)
    if isinstance(ct, Masked):
        return _fit(selected(ct), aval)
    if isinstance(ct, Diagonal):
        return embed_diagonal(broadcast_to(ct.value, shape=aval.shape[:1]))
    return _densify_parts(ct, aval)


def selected(ct: Masked) -> Atom:
    """The value where it counts, and zero elsewhere."""
    if ct.is_clean:
        return ct.value
    zero = zero_like(ct.value.aval)
    return select(ct.mask, ct.value, zero) if ct.holds else select(ct.mask, zero, ct.value)


def where_it_counts(ct: Masked) -> Atom:
    if isinstance(ct.mask, Marks):
        return written(ct.mask)
    return ct.mask if ct.holds else ~ct.mask


def written(marks: Marks) -> Atom:
    """Build the mask that the marks stand for: each mark is a region where the cotangent counts, or does not."""
    mask = marks.rest
    for mark in reversed(list(marks.newest_first())):
        mask = broadcast_to(mask, shape=marks.aval.shape)
        holds = Lit(isinstance(mark, ScatteredTerm))
        if mark.index is not None:
            mask = set_slice(mask, holds, index=mark.index)
        else:
            mask = scatter_set(mask, holds, *mark.indices)
    return mask


def _fit(ct: Atom, aval: Aval) -> Atom:
    """Return an atom of the type ``aval``: broadcast ``ct`` to it, or sum ``ct`` over axes along which it was broadcast
    from it."""
    if ct.aval is aval:
        return ct
    shape = ct.aval.shape
    if shape != aval.shape:
        wide = np.broadcast_shapes(shape, aval.shape)
        if wide == aval.shape:
            ct = broadcast_to(ct, shape=aval.shape)
        else:
            ct = unbroadcast(broadcast_to(ct, shape=wide), aval.shape)
    return cast(ct, aval.dtype)


def _densify_parts(ct: ScatteredSum, aval: Aval) -> Atom:
    """Write all parts into one buffer. Parts at one index are added first, so that a thousand reads of x[0] write it
    once."""
    buffer = None if ct.base is None else densify(ct.base, aval)
    at: dict[Any, Atom] = {}
    elsewhere: list[tuple[Atom, tuple[Atom, ...]]] = []
    for part in ct.parts:
        value = cast(part.value, aval.dtype)
        if part.index is None:
            elsewhere.append((value, part.indices))
        else:
            at[part.index] = add_op(at[part.index], value) if part.index in at else value
    if buffer is None and (side_by_side := _side_by_side(at, aval)) is not None:
        buffer, at = side_by_side, {}
    for index, value in at.items():
        if buffer is not None:
            buffer = add_slice(buffer, value, index=index)
        elif is_everything(index, aval.shape):
            buffer = _fit(value, aval)
        else:
            buffer = embed(value, shape=aval.shape, index=index)
    if buffer is None:
        buffer = zeros(aval)
    for value, indices in elsewhere:
        buffer = scatter_add(buffer, value, *indices)
    return buffer


LEAST_OF_A_PART = 8  # elements, on average: below, a copy of each costs more than writing them one after the other


def _side_by_side(at: Mapping[StaticIndex, Atom], aval: Aval) -> Atom | None:
    """Concatenate parts that lie side by side along one axis and cover the array; None if they do not.

    Each part is then written in place where it is made. Such are the cotangents of the gates of a recurrent cell, or of
    the steps of a loop over time."""
    if len(at) < 2 or aval.size < LEAST_OF_A_PART * len(at):
        return None
    whole = everything(aval.shape)
    cut = {k for index in at for k, (own, all_of_it) in enumerate(zip(index, whole, strict=True)) if own != all_of_it}
    if len(cut) != 1:
        return None
    (axis,) = cut
    begins, parts = dict[int, int](), dict[int, Atom]()
    for index, value in at.items():
        start, length, step = (index[axis], 1, 1) if type(index[axis]) is int else index[axis]
        if step != 1 or not length or value.aval.shape != region_shape(index) or start in parts:
            return None
        begins[start] = length
        shape = (*aval.shape[:axis], length, *aval.shape[axis + 1 :])
        parts[start] = reshape(value, shape=shape)
    starts, end = sorted(parts), 0
    for start in starts:
        if start != end:
            return None
        end += begins[start]
    return concatenate(*[parts[start] for start in starts], axis=axis) if end == aval.shape[axis] else None


def project(ct: Cotangent, aval: Aval) -> Cotangent:
    """Bring ``ct`` into the primal's space: give it the primal's dtype, and sum over axes of broadcasting."""
    if ct is None:
        return ct
    if isinstance(ct, Fill):
        if ct.aval is aval:
            return ct
        value = cast(ct.value, aval.dtype)
        if ct.aval.shape != aval.shape:
            repeats = ct.aval.size / aval.size if aval.size else 0
            value = multiply(value, Lit(repeats, aval.dtype))
        return Fill(value, aval)
    if isinstance(ct, Masked):
        shape = np.broadcast_shapes(ct.mask.aval.shape, ct.value.aval.shape)
        if shape == aval.shape:
            return ct._replace(value=cast(ct.value, aval.dtype))
        # Where no repeat counts, the sum is not 0 + 0 but nothing.
        return Masked(_any_repeat(where_it_counts(ct), shape, aval), densify(ct, aval), is_clean=True)
    if isinstance(ct, ScatteredSum) and ct.aval.shape != aval.shape:
        marks, value = _marks_of_sum(ct, aval), _fit(densify(ct, ct.aval), aval)
        return value if marks is None else Masked(marks, value, is_clean=True)
    if isinstance(ct, Diagonal | ScatteredSum):
        return ct
    if ct.aval is aval:
        return ct
    if ct.aval.shape == () and aval.shape != ():
        return Fill(cast(ct, aval.dtype), aval)
    return _fit(ct, aval)


def _any_repeat(mask: Atom, shape: tuple[int, ...], aval: Aval) -> Atom:
    """Whether a mask over ``shape`` holds anywhere along the axes along which ``aval`` was broadcast to ``shape``."""
    lead = len(shape) - aval.ndim
    axes = tuple(k for k in range(len(shape)) if k < lead or aval.shape[k - lead] != shape[k])
    return reshape(any_(broadcast_to(mask, shape=shape), axis=axes), shape=aval.shape)


def _marks_of_sum(ct: ScatteredSum, aval: Aval) -> Marks | None:
    """Mark where the sum of ``ct`` over the axes of broadcasting counts: where one of its parts has an element.

    None if it counts everywhere, or if that cannot be told without a mask over all elements that are summed.
    """
    wide, lead = ct.aval.shape, ct.aval.ndim - aval.ndim
    if ct.base is not None or np.broadcast_shapes(wide, aval.shape) != wide:
        return None
    summed: dict[StaticIndex, ScatteredTerm] = {}
    for part in ct.parts:
        if part.index is None:
            return None
        along = zip(part.index[lead:], wide[lead:], aval.shape, strict=True)
        index = tuple(entry if n == own else (0, 1, 1) for entry, n, own in along)
        if is_everything(index, aval.shape):
            return None
        summed[index] = part._replace(index=index)
    return Marks(Lit(False), tuple(summed.values()), aval)


def add(a: Cotangent, b: Cotangent, aval: Aval) -> Cotangent:
    """The sum of two cotangents of one value, keeping structure where both have it."""
    if a is None:
        return b
    if b is None:
        return a
    if isinstance(a, Fill) and isinstance(b, Fill):
        return Fill(add_op(a.value, b.value), aval)
    if isinstance(a, ScatteredSum) or isinstance(b, ScatteredSum):
        first: Any
        first, second = (a, b) if isinstance(a, ScatteredSum) else (b, a)
        if isinstance(second, ScatteredSum):
            base = add(first.base, second.base, aval)
            return ScatteredSum(base, (first.joined, second.joined), aval)
        return ScatteredSum(add(first.base, second, aval), first.joined, aval)
    if isinstance(a, Diagonal) and isinstance(b, Diagonal) and a.value.aval is b.value.aval:
        return Diagonal(add_op(a.value, b.value), aval)
    if isinstance(a, Masked) and isinstance(b, Masked):
        return _add_masked(a, b, aval)
    return add_op(_loose(a, aval), _loose(b, aval))


def _add_masked(a: Masked, b: Masked, aval: Aval) -> Cotangent:
    """The sum of two masked cotangents, masked too: where neither counts it is a structural zero and not the number 0,
    so that no 0 · ∞ arises from it."""
    a, b = [m._replace(value=cast(m.value, aval.dtype)) for m in (a, b)]
    if a.mask is not b.mask:
        return Masked(where_it_counts(a) | where_it_counts(b), add_op(selected(a), selected(b)), is_clean=True)
    if a.holds == b.holds:
        return Masked(a.mask, add_op(a.value, b.value), a.holds, a.is_clean and b.is_clean)
    return select(a.mask, a.value, b.value) if a.holds else select(a.mask, b.value, a.value)


def _loose(ct: Cotangent, aval: Aval) -> Atom:
    """Return ``ct`` as an atom that broadcasts to the value's shape: a fill stays a scalar."""
    return ct.value if isinstance(ct, Fill) else densify(ct, aval)


def apply_partial(ct: Cotangent, partial: Any, y: Aval, nan_safe: bool = False) -> Cotangent:
    """Return ``ct * partial`` for an elementwise op with output type ``y``, before projection to the operand's space.

    Forward mode uses it too, for tangents: dense or masked. ``nan_safe``: see :func:`times`.
    """
    if partial is CONJUGATION:
        return _conjugated(ct, y)
    mask: Masked | None = None
    if isinstance(ct, Masked):
        if isinstance(ct.mask, Marks):
            if not is_atom(partial) and not isinstance(partial, Masked):  # a number: zeros stay zero
                return ct._replace(value=times(ct.value, partial))
            ct = ct._replace(mask=written(ct.mask))
        mask, ct = ct, ct.value
    elif isinstance(ct, ScatteredSum) and ct.base is None and is_atom(partial):
        parts = ct.few_parts(MAX_PARTS)
        if parts is not None:
            return ScatteredSum(None, tuple([_times_part(part, partial, y, nan_safe) for part in parts]), y)
        mask, ct = support(ct, y), densify(ct, y)
    elif isinstance(ct, ScatteredSum | Diagonal):
        mask, ct = support(ct, y) if is_atom(partial) else None, densify(ct, y)
    fill = isinstance(ct, Fill)
    value: Any = ct.value if fill else ct
    if isinstance(partial, Masked):
        if mask is None or (mask.mask is partial.mask and mask.holds == partial.holds):
            mask = partial
        elif mask.mask is partial.mask:
            return None  # the one branch within the other
        else:
            mask = Masked(where_it_counts(mask) & where_it_counts(partial), None)
        partial = partial.value
    value = times(value, partial, nan_safe)
    if mask is not None:
        if np.broadcast_shapes(mask.mask.aval.shape, value.aval.shape) != y.shape:
            value = broadcast_to(value, shape=y.shape)  # so that a sum over repeated axes counts every repeat
        is_clean = mask.is_clean and type(partial) is Lit and bool(np.isfinite(partial.value))  # zeros stay zero
        return Masked(mask.mask, value, mask.holds, is_clean)
    if fill and value.aval.shape == ():
        return Fill(value, Aval(y.shape, value.aval.dtype))
    if fill and value.aval.shape != y.shape:  # a partial that broadcasts (a scalar operand's, a row's)
        return broadcast_to(value, shape=y.shape)
    return value


def _conjugated(ct: Cotangent, y: Aval) -> Cotangent:
    if isinstance(ct, Fill | Masked):
        return ct._replace(value=conjugate(ct.value))
    return conjugate(densify(ct, y))


MAX_PARTS = 4
"""Up to this many parts are multiplied one by one: less work, and zero elsewhere whatever the partial is."""


def _times_part(part: ScatteredTerm, partial: Atom, y: Aval, nan_safe: bool) -> ScatteredTerm:
    wide = broadcast_to(partial, shape=y.shape)
    at = slice_(wide, index=part.index) if part.index is not None else gather(wide, *part.indices)
    return part._replace(value=times(part.value, at, nan_safe))


def support(ct: Cotangent, aval: Aval) -> Masked | None:
    """Return ``ct`` as a mask of where it counts and its dense value; None if it counts everywhere."""
    if isinstance(ct, Masked):
        return Masked(where_it_counts(ct), densify(ct, aval))
    marks = marks_of(ct, aval)
    return None if marks is None else Masked(written(marks), densify(ct, aval))


def times(value: Atom, partial: Any, nan_safe: bool = False) -> Atom:
    """Return ``value * partial``; a partial of 1 costs nothing, one of -1 a change of sign.

    ``nan_safe``: a value that is exactly zero stays zero where the partial is no finite number (0 · ∞ = 0). Elsewhere
    the product is zero by itself, and has the derivatives of one.
    """
    if not is_atom(partial):
        if partial == 1:
            return value
        if partial == -1:
            return negative(value)
        return multiply(value, Lit(partial, value.aval.dtype))
    dtype = partial.aval.dtype if value.aval.dtype.kind != "c" else complex_dtype(partial.aval.dtype)
    product = multiply(cast(value, dtype), cast(partial, dtype))
    if not nan_safe or (type(value) is Lit and value.value != 0):
        return product
    return select(equal(value, 0) & ~isfinite(partial), zero_like(product.aval), product)
