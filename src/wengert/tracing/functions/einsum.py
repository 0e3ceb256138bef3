"""``np.einsum``: any product of arrays over named axes, as diagonals, sums and one contraction a pair.

The subscripts become labels, small integers, an operand a tuple. What an operand can do alone is done first: a
repeated label takes its diagonal, a label that nobody else has is summed. Then operands meet two by two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.errors import ShapeError, message
from wengert.ops import shape as ops
from wengert.ops.contract import contract
from wengert.ops.elementwise import equal, select
from wengert.ops.index import INTP
from wengert.ops.reduce import sum_
from wengert.ops.shape import inverse_permutation
from wengert.tape import Atom
from wengert.tracing.arguments import (
    Out,
    Traced,
    arrays,
    as_dtype,
    implements,
    into,
    knows_order,
    promote,
    scalar,
    strong_arrays,
    trace_near,
)
from wengert.tracing.emit import record
from wengert.tracing.inplace import op_view
from wengert.tracing.layouts import UNKNOWN_ORDER, laid_out, layout
from wengert.tracing.tracer import Tracer

Labels = tuple[int, ...]
_ELLIPSIS = 1 << 20  # the axes of an ellipsis count down from here, so that operands' last ones meet


# ----------------------------------------------------------------------------------------------------- subscripts


@lru_cache(4096)
def parse(subscripts: str, ndims: tuple[int, ...]) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of each operand and of the result.

    >>> parse("ij,jk", (2, 2))
    (((105, 106), (106, 107)), (105, 107))
    """
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = [_labels(t) for t in left.split(",")]
    return _resolve(terms, _labels(right) if arrow else None, ndims)


def _labels(term: str) -> tuple[Any, ...]:
    """A term as labels, letters by their code, with the ellipsis as itself."""
    head, dots, tail = term.partition("...")
    if not (head + tail).isalpha() and head + tail:
        raise ValueError(f"invalid subscript in einstein sum subscripts string: {term!r}")
    return (*[ord(c) for c in head], *([...] if dots else []), *[ord(c) for c in tail])


def _resolve(
    terms: Sequence[tuple[Any, ...]], out: tuple[Any, ...] | None, ndims: tuple[int, ...]
) -> tuple[tuple[Labels, ...], Labels]:
    if len(terms) != len(ndims):
        raise ValueError(f"einsum: {len(terms)} terms in the subscripts, {len(ndims)} operands")
    widest = 0
    known: list[Labels] = []
    for k, (term, ndim) in enumerate(zip(terms, ndims, strict=True)):
        named = len(term) - (... in term)
        if named > ndim or (named < ndim and ... not in term):
            raise ValueError(f"einsum: operand {k} has {ndim} axes, its subscripts name {named}")
        widest = max(widest, ndim - named)
        known.append(_without_ellipsis(term, ndim - named))
    if out is None:
        every = [label for term in known for label in term]
        once = sorted({label for label in every if every.count(label) == 1 and label < _ELLIPSIS - 1000})
        return tuple(known), (*_dots(widest), *once)
    result = _without_ellipsis(out, widest)
    if len(set(result)) < len(result):
        raise ValueError("einsum: a label stands twice in the output subscripts")
    if not set(result) <= {label for term in known for label in term} | set(_dots(widest)):
        raise ValueError("einsum: a label of the output stands in no operand")
    return tuple(known), result


def _dots(count: int) -> Labels:
    return tuple(range(_ELLIPSIS - count, _ELLIPSIS))


def _without_ellipsis(term: tuple[Any, ...], count: int) -> Labels:
    if ... not in term:
        return term
    at = term.index(...)
    return (*term[:at], *_dots(count), *term[at + 1 :])


def _from_lists(operands: Sequence[Any]) -> tuple[list[Any], list[tuple[Any, ...]], tuple[Any, ...] | None]:
    """``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    out = tuple(operands[-1]) if len(operands) % 2 else None
    pairs = operands[: len(operands) // 2 * 2]
    return list(pairs[::2]), [tuple(labels) for labels in pairs[1::2]], out


# ------------------------------------------------------------------------------------------------ one operand alone


def _writable_diagonal(x: Any) -> Any:
    """The diagonal of the last two axes, through which einsum, unlike ``np.diagonal``, lets one write."""

    def write(base: Atom, new: Atom) -> Any:
        n = base.aval.shape[-1]
        rows = ops.reshape(ops.iota(size=n, dtype=INTP), shape=(n, 1))
        columns = ops.reshape(ops.iota(size=n, dtype=INTP), shape=(1, n))
        return select(equal(rows, columns), ops.embed_diagonal(new), base)

    return op_view(x, ops.diagonal, {}, write, lambda a: np.einsum("...ii->...i", a))


def _without_repeats(x: Traced, labels: Labels) -> tuple[Any, Labels]:
    while len(set(labels)) < len(labels):
        label = next(k for k in labels if labels.count(k) > 1)
        i = labels.index(label)
        j = labels.index(label, i + 1)
        if x.shape[i] != x.shape[j]:
            raise ShapeError(f"einsum: dimensions of a repeated subscript differ, {x.shape[i]} and {x.shape[j]}")
        rest = [k for k in range(x.ndim) if k not in (i, j)]
        x = _writable_diagonal(np.transpose(x, (*rest, i, j)))
        labels = (*[labels[k] for k in rest], label)
    return x, labels


def _without_ones(x: Traced, labels: Labels, lengths: dict[int, int]) -> tuple[Any, Labels]:
    """An axis of length 1 that others have longer is repeated; without it, it broadcasts by itself."""
    stretched = [k for k, label in enumerate(labels) if x.shape[k] == 1 and lengths[label] != 1]
    if not stretched:
        return x, labels
    return np.squeeze(x, tuple(stretched)), tuple([lb for k, lb in enumerate(labels) if k not in stretched])


def _summed(x: Traced, labels: Labels, needed: set[int]) -> tuple[Any, Labels]:
    gone = tuple([k for k, label in enumerate(labels) if label not in needed])
    if not gone:
        return x, labels
    return record(sum_, (x,), {"axis": gone}), tuple([label for label in labels if label in needed])


# ------------------------------------------------------------------------------------------------------- in pairs


def _elementwise(x: Traced, a: Labels, y: Traced, b: Labels, out: Labels) -> Any:
    """No label is summed and one operand has them all: a product, which fuses with its neighbours."""

    def lined_up(z: Traced, labels: Labels) -> Any:
        z = np.transpose(z, sorted(range(len(labels)), key=lambda k: out.index(labels[k])))
        lengths = iter(z.shape)
        return np.reshape(z, tuple([next(lengths) if label in labels else 1 for label in out]))

    return np.multiply(lined_up(x, a), lined_up(y, b))


def _pair(x: Traced, a: Labels, y: Traced, b: Labels, needed: set[int], last: Labels | None) -> tuple[Any, Labels]:
    """Two operands become one, with the labels that the result or another operand still needs."""
    x, a = _summed(x, a, needed | set(b))
    y, b = _summed(y, b, needed | set(a))
    left = [k for k in a if k in needed]
    out = last if last is not None else (*left, *[k for k in b if k in needed and k not in a])
    out = tuple([k for k in out if k in a or k in b])
    if set(out) in (set(a), set(b)) and set(a) | set(b) == set(out):
        return _elementwise(x, a, y, b, out), out
    return record(contract, (x, y), {"a": a, "b": b, "out": out}), out


@lru_cache(1024)
def _order(terms: tuple[Labels, ...], out: Labels, shapes: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Which operands to contract next, as positions: cheapest first, as ``np.einsum_path`` finds it."""
    if len(terms) <= 2:
        return (tuple(range(len(terms))),)
    number = {label: k for k, label in enumerate(dict.fromkeys(label for term in terms for label in term))}
    args: list[Any] = []
    for term, shape in zip(terms, shapes, strict=True):
        args += [np.broadcast_to(np.zeros(()), shape), [number[label] for label in term]]
    path = np.einsum_path(*args, [number[label] for label in out if label in number], optimize="greedy")[0]
    return tuple(tuple(step) for step in path[1:])


@knows_order
@implements(np.einsum, takes_arrays=True)
def einsum(*operands: Any, out: Out = None, optimize: bool | str | Sequence[Any] = False, **options: Any) -> Any:
    dtype, casting = options.pop("dtype", None), options.pop("casting", "safe")
    order = options.pop("order", "K")
    if options:
        raise TypeError(f"einsum() got an unexpected keyword argument {next(iter(options))!r}")
    if isinstance(operands[0], str):
        xs: list[Any] = arrays(*operands[1:])
        terms, result = parse(operands[0], tuple([x.ndim for x in xs]))
    else:
        given, lists, out_list = _from_lists(operands)
        xs = arrays(*given)
        terms, result = _resolve(lists, out_list, tuple([x.ndim for x in xs]))
    if dtype is not None:
        for x in xs:
            if not np.can_cast(x.dtype, dtype, casting):
                raise TypeError(f"einsum: cannot cast {x.dtype} to {np.dtype(dtype)} with casting={casting!r}")
    xs = [as_dtype(x, dtype) for x in xs] if dtype is not None else promote(*strong_arrays(*xs))
    y = _contracted(list(xs), list(terms), result)
    if type(y) is Tracer and y._base is None and y.ndim > 1:
        if order in ("C", "F"):
            y.reorder_like(y, order)
        else:
            axes = _order_in_memory(xs, terms, result, optimize) if order == "K" else UNKNOWN_ORDER
            y.reorder(axes if axes is UNKNOWN_ORDER else laid_out(y.aval, axes))
    return into(out, scalar(y))


@implements(np.einsum_path)
def einsum_path(*operands: Any, optimize: bool | str | Sequence[Any] = "greedy", **options: Any) -> Any:
    """Return what NumPy says of arrays of these shapes, which is all that it looks at."""
    first = 1 if isinstance(operands[0], str) else 0
    step = 1 if first else 2  # without subscripts as text, an array, its labels, and so on; then those of the result
    given = list(operands)
    for k in range(first, len(given) if first else len(given) // 2 * 2, step):
        given[k] = np.broadcast_to(np.zeros(()), np.shape(given[k]))
    return np.einsum_path(*given, optimize=optimize, **options)


def _order_in_memory(
    xs: list[Any], terms: Sequence[Labels], result: Labels, optimize: bool | str | Sequence[Any]
) -> Any:
    """The axes of the result as they lie in memory, the longest stride first, or UNKNOWN_ORDER."""
    layouts = [layout(x) for x in xs]
    if any(x is UNKNOWN_ORDER for x in layouts) or (optimize is not False and len(xs) > 2):  # lengths choose the way
        return UNKNOWN_ORDER
    axes = tuple([tuple(sorted(range(x.ndim), key=lambda k, x=x: -abs(x.strides[k]))) for x in layouts])
    shapes = tuple([tuple([min(n, 2) for n in x.shape]) for x in layouts])
    return _order_of_small(tuple(terms), result, axes, shapes, bool(optimize))


@lru_cache(1024)
def _order_of_small(
    terms: tuple[Labels, ...],
    result: Labels,
    axes: tuple[tuple[int, ...], ...],
    shapes: tuple[tuple[int, ...], ...],
    optimize: bool,
) -> list[int]:
    """Return what NumPy makes of small operands that lie in memory in the same way."""
    number = {label: k for k, label in enumerate(sorted({label for term in (*terms, result) for label in term}))}
    args: list[Any] = []
    for term, order, shape in zip(terms, axes, shapes, strict=True):
        small = np.zeros([shape[k] for k in order])
        args += [np.transpose(small, inverse_permutation(order)), [number[label] for label in term]]
    strides = np.einsum(*args, [number[label] for label in result], optimize=optimize).strides
    return sorted(range(len(strides)), key=lambda k: -strides[k])


def _contracted(xs: list[Any], terms: list[Labels], result: Labels) -> Any:
    lengths: dict[int, int] = {}
    for x, labels in zip(xs, terms, strict=True):
        for label, n in zip(labels, x.shape, strict=True):
            if lengths.setdefault(label, n) != n:
                if 1 not in (n, lengths[label]):
                    raise ShapeError(
                        message(
                            f"einsum: one subscript has the lengths {lengths[label]} and {n}",
                            trace_near(xs).locate(),
                        )
                    )
                lengths[label] = n if lengths[label] == 1 else lengths[label]
    for k in range(len(xs)):
        xs[k], terms[k] = _without_repeats(xs[k], terms[k])
        xs[k], terms[k] = _without_ones(xs[k], terms[k], lengths)
    if len(xs) > 1:
        for k in range(len(xs)):
            others = {label for j, term in enumerate(terms) if j != k for label in term}
            xs[k], terms[k] = _summed(xs[k], terms[k], others | set(result))
        for step in _order(tuple(terms), result, tuple([x.shape for x in xs])):
            picked = [(xs[k], terms[k]) for k in step]
            for k in sorted(step, reverse=True):
                del xs[k], terms[k]
            x, labels = picked[0]
            for n, (y, others) in enumerate(picked[1:]):
                waiting = {label for term in (*terms, *[t for _, t in picked[n + 2 :]]) for label in term}
                is_last = not xs and n == len(picked) - 2
                x, labels = _pair(x, labels, y, others, waiting | set(result), result if is_last else None)
            xs.append(x)
            terms.append(labels)
    x, labels = _summed(xs[0], terms[0], set(result))
    present = [label for label in result if label in labels]
    if list(labels) != present:
        x = np.transpose(x, [labels.index(label) for label in present])
    if len(present) == len(result):
        return x
    # a label that had length 1 everywhere it was named keeps its axis; others were stretched to it
    shape = tuple([lengths.get(label, 1) for label in result])
    x = np.reshape(x, tuple([lengths[label] if label in labels else 1 for label in result]))
    return np.broadcast_to(x, shape).copy()
