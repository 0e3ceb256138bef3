"""Sums of products of two arrays over shared axes: matrix products, outer products, tensor contractions.

One op covers them all. Axes carry labels, small integers: ``contract(A, x, a=(0, 1), b=(1,), out=(0,))`` is
``A @ x``. Each label stands at most once in each operand, and every label of one operand alone is in ``out``, so
the cotangent of an operand is again a contraction, with the labels moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.elementwise import cast, multiply, select
from wengert.ops.index import StaticIndex, is_everything, region_shape, slice_
from wengert.ops.kernels import Contract
from wengert.ops.op import linear
from wengert.ops.reduce import sum_
from wengert.ops.shape import broadcast_to, expand, reshape, transpose
from wengert.ops.structured import Diagonal, Fill, Marks, Masked, ScatteredSum, ScatteredTerm, Structured
from wengert.tape import Atom, Aval, Lit

Labels = tuple[int, ...]

STORED_BELOW = 1 << 17
"""Bytes of an outer product that the caches hold; it is stored, and read again, for little."""


def contract_type(x: Aval, y: Aval, *, a: Labels, b: Labels, out: Labels) -> Aval:
    lengths = dict(zip(a, x.shape, strict=True))
    for label, n in zip(b, y.shape, strict=True):
        if lengths.setdefault(label, n) != n:
            raise ShapeError(f"contract: lengths differ, {lengths[label]} and {n}: {x} with {y}")
    return Aval(tuple([lengths[label] for label in out]), x.dtype)


def contract_cost(x: Aval, y: Aval, *, a: Labels, b: Labels, out: Labels) -> float:
    """Two flops a term: the product over the lengths of all labels."""
    total = 2.0
    for n in {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}.values():
        total *= n
    return total


def contract_bind(avals: Sequence[Aval], *, a: Labels, b: Labels, out: Labels) -> Callable[..., Any]:
    """The NumPy call that does it: ``dot`` for vectors and matrices, else one ``matmul`` over groups of axes."""
    if len(a) <= 2 and len(b) <= 2 and set(a) & set(b) and not set(a) & set(b) & set(out):
        shared = next(iter(set(a) & set(b)))
        if len(set(a) & set(b)) == 1:
            flip_a, flip_b = a[-1] != shared, b[0] != shared
            free = tuple(k for k in a if k != shared) + tuple(k for k in b if k != shared)
            if free == out:
                if len(b) == 1 and flip_a:
                    return lambda x, y: y.dot(x)  # a vector from the left needs no transpose
                return _dot(flip_a, flip_b and len(b) == 2)
            if free[::-1] == out:
                return lambda x, y: _dot(flip_a, flip_b)(x, y).T
    if not set(a) & set(b) and len(a) == len(b) == 1:
        return np.multiply.outer if out == a + b else lambda x, y: np.multiply.outer(y, x)
    return lambda x, y: _grouped_matmul(x, y, a, b, out)


def _dot(flip_a: bool, flip_b: bool) -> Callable[..., Any]:
    if flip_a:
        return (lambda x, y: np.dot(x.T, y.T)) if flip_b else (lambda x, y: np.dot(x.T, y))
    return (lambda x, y: np.dot(x, y.T)) if flip_b else np.ndarray.dot  # without the dispatch of np.dot


def _grouped_matmul(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], a: Labels, b: Labels, out: Labels) -> Any:
    batch = [k for k in a if k in b and k in out]
    inner = [k for k in a if k in b and k not in out]
    left = [k for k in a if k not in b]
    right = [k for k in b if k not in a]
    lengths = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}

    def grouped(z: np.ndarray[Any, Any], labels: Labels, *groups: list[int]) -> Any:
        order = [labels.index(k) for group in groups for k in group]
        lead = [lengths[k] for k in groups[0]]
        tail = [int(np.prod([lengths[k] for k in group])) for group in groups[1:]]
        return z.transpose(order).reshape(*lead, *tail)

    product = np.matmul(grouped(x, a, batch, left, inner), grouped(y, b, batch, inner, right))
    product = product.reshape([lengths[k] for k in (*batch, *left, *right)])
    have = [*batch, *left, *right]
    return product.transpose([have.index(k) for k in out])


def _reference(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], **labels: Labels) -> Any:
    return contract_bind((Aval(x.shape, x.dtype), Aval(y.shape, y.dtype)), **labels)(x, y)


def _transpose_x(ct: Atom, x: Atom, y: Atom, *, a: Labels, b: Labels, out: Labels) -> Any:
    return contract(ct, y, a=out, b=b, out=a)


def _transpose_y(ct: Atom, x: Atom, y: Atom, *, a: Labels, b: Labels, out: Labels) -> Any:
    return contract(ct, x, a=out, b=a, out=b)


def _structured(ct: Structured, k: int, x: Atom, y: Atom, z: Atom, *, a: Labels, b: Labels, out: Labels) -> Any:
    """The cotangent of an operand for a structured ``ct``. A fill or a diagonal saves the product: x̄ = s Σ y, or
    x̄ = diag(d) yᵀ. A single region saves the products with zeros outside of it, which would be NaN where the other
    operand is infinite; a mask of whole slices keeps them out."""
    mine, other, labels, others = (x, y, a, b) if k == 0 else (y, x, b, a)
    if isinstance(ct, Masked):
        return None if isinstance(ct.mask, Marks) else _of_slices(ct, z, other, labels, others, out)
    if isinstance(ct, Fill):
        gone = tuple(j for j, label in enumerate(others) if label not in labels)
        summed = sum_(other, axis=gone) if gone else other
        kept = [label for label in others if label in labels]
        placed = transpose(summed, axes=tuple(kept.index(label) for label in labels if label in kept))
        missing = [j for j, label in enumerate(labels) if label not in kept]
        return broadcast_to(multiply(ct.value, expand(placed, missing, len(labels))), shape=mine.aval.shape)
    if isinstance(ct, Diagonal):
        i, j = out  # the two labels are one: rename j to i wherever it stands
        renamed_others = tuple(i if label == j else label for label in others)
        renamed_mine = tuple(i if label == j else label for label in labels)
        if len(set(renamed_others)) < len(renamed_others) or len(set(renamed_mine)) < len(renamed_mine):
            return None
        if ct.value.aval.shape == () and set(renamed_others) == set(renamed_mine):
            axes = tuple(renamed_others.index(label) for label in renamed_mine)
            return multiply(ct.value, transpose(other, axes=axes))
        if ct.value.aval.shape == ():
            return None
        return contract(ct.value, other, a=(i,), b=renamed_others, out=renamed_mine)
    parts = ct.few_parts(1) if isinstance(ct, ScatteredSum) and ct.base is None else None
    if parts and parts[0].index is not None:
        return _of_a_region(parts[0].value, dict(zip(out, parts[0].index, strict=True)), mine, other, labels, others)
    return None


def _of_a_region(ct: Atom, region: dict[int, Any], mine: Atom, other: Atom, labels: Labels, others: Labels) -> Any:
    """The cotangent of an operand, if that of the result is ``ct`` in a region and zero elsewhere. ``region`` has the
    indices of each label that are in it."""

    def taken(operand: Atom, labels: Labels) -> StaticIndex:
        return tuple([region.get(label, (0, n, 1)) for label, n in zip(labels, operand.aval.shape, strict=True)])

    def left(labels: Iterable[int]) -> Labels:
        return tuple([label for label in labels if type(region.get(label)) is not int])

    wide = broadcast_to(cast(ct, other.aval.dtype), shape=region_shape(tuple(region.values())))
    of_region = slice_(other, index=taken(other, others))
    value = contract(wide, of_region, a=left(region), b=left(others), out=left(labels))
    index = taken(mine, labels)
    if is_everything(index, mine.aval.shape):
        return value
    return ScatteredSum(None, (ScatteredTerm(value, index),), mine.aval)


def _of_slices(ct: Masked, z: Atom, other: Atom, labels: Labels, others: Labels, out: Labels) -> Any:
    """The cotangent of an operand, if that of the result counts in whole slices of it alone: those of a mask along axes
    of one operand, as the examples of a batch. None if the mask varies along axes of both operands."""
    lead = z.aval.ndim - ct.mask.aval.ndim
    along = [label for label, n in zip(out[lead:], ct.mask.aval.shape, strict=True) if n != 1]

    def over(labels: Labels) -> Any:
        """The mask, to broadcast over an operand with these labels."""
        squeezed = reshape(ct.mask, shape=tuple([n for n in ct.mask.aval.shape if n != 1]))
        moved = transpose(squeezed, axes=tuple([along.index(label) for label in labels if label in along]))
        return expand(moved, [j for j, label in enumerate(labels) if label not in along], len(labels))

    def chosen(mask: Atom, x: Atom) -> Any:
        zero = Lit(0, x.aval.dtype)
        return select(mask, x, zero) if ct.holds else select(mask, zero, x)

    value = broadcast_to(cast(ct.value, other.aval.dtype), shape=z.aval.shape)
    if set(along) <= set(labels):
        return Masked(over(labels), contract(value, other, a=out, b=others, out=labels), ct.holds)
    if set(along) <= set(others):
        value = value if ct.is_clean else chosen(ct.mask, value)
        return contract(value, chosen(over(others), other), a=out, b=others, out=labels)
    return None


def _batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, a: Labels, b: Labels, out: Labels) -> Any:
    new = 1 + max((*a, *b), default=-1)
    return contract(
        *xs,
        a=(new, *a) if batched[0] else a,
        b=(new, *b) if batched[1] else b,
        out=(new, *out),
    )


def _expansion(x: Atom, y: Atom, *, a: Labels, b: Labels, out: Labels) -> Any:
    """Return a large product over which nothing is summed as a map, so that several are added, scaled or summed up in
    one pass over memory, and need not be stored. Small ones share the kernels of products."""
    made = contract_type(x.aval, y.aval, a=a, b=b, out=out)
    if not set(a) | set(b) <= set(out) or made.nbytes < STORED_BELOW:
        return NotImplemented

    def spread(operand: Atom, labels: Labels) -> Any:
        placed = transpose(operand, axes=tuple([labels.index(label) for label in out if label in labels]))
        missing = [j for j, label in enumerate(out) if label not in labels]
        return broadcast_to(expand(placed, missing, len(out)), shape=made.shape)

    return multiply(spread(x, a), spread(y, b))


contract = linear(
    _reference,
    name="contract",
    type=contract_type,
    kernel=Contract(),
    transpose=[_transpose_x, _transpose_y],
    structured=_structured,
    is_multilinear=True,
    bind=contract_bind,
    batch=_batch,
    cost=contract_cost,
    expansion=_expansion,
)


def matmul(x: Atom, y: Atom) -> Any:
    """``x @ y`` for one or two axes each, or with equal leading axes in both (no broadcasting)."""
    nx, ny = x.aval.ndim, y.aval.ndim
    if nx > 2:
        lead = tuple(range(nx - 2))
        i, k, j = nx - 2, nx - 1, nx
        return contract(
            x, y, a=(*lead, i, k), b=(*lead, k, j) if ny > 1 else (k,), out=(*lead, i, j) if ny > 1 else (*lead, i)
        )
    a = (0, 1) if nx == 2 else (1,)
    b = (1, 2) if ny == 2 else (1,)
    return contract(x, y, a=a, b=b, out=tuple(k for k in (*a, *b) if k != 1))
