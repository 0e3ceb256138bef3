"""Loops over the points of a nest: whole vectors, several at once, then a rest that is masked.

Each function takes a ``body``, which writes the code inside. A loop of known extent may become straight-line code.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.ir import Function, Index, Value, least
from wengert.codegen.nests.points import Point, Points

UNROLLED = 12  # vectors of a loop of known length that become straight-line code
REDUCED_UNROLLED = 16  # indices of a reduced dimension of known length that do

Vector = tuple[Index, Value | None]
"""The index of lane 0, and which lanes count (None: all)."""
Vectors = Callable[[list[Vector]], None]
"""A function that writes the body of a loop for vectors side by side."""


def loop(f: Function, start: Index, stop: Index, step: Index, body: Callable[[Index], None], unroll: int = 0) -> None:
    """``for i in range(start, stop, step)``; unrolled if it is short and everything is known."""
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        trips = max(0, -(-(stop - start) // step))
        if trips <= max(1, unroll):
            for i in range(start, stop, step):
                body(i)
            return
    is_known = isinstance(start, int) and isinstance(stop, int)
    f.loop(f.index(start), f.index(stop), f.index(step), body, is_entered=is_known)


def over_kept(points: Points, point: Point, stop: int, body: Callable[[Point], None]) -> None:
    """Loop over the kept dimensions up to ``stop``, or up to the lanes; ``body`` writes the loop along these."""

    def loops(dim: int, point: Point) -> None:
        if dim >= stop or dim == points.nest.lanes:
            body(point)
            return

        def inner(i: Index) -> None:
            below = point.inner({dim: i})
            points.hoist(below)
            loops(dim + 1, below)

        loop(points.f, *points.span(dim), 1, inner)

    loops(0, point)


def over_reduced(
    points: Points,
    point: Point,
    stop: int,
    body: Callable[[dict[int, Index]], None],
    many: int = 1,
    within: dict[int, Index] | None = None,
) -> None:
    """Loop over the reduced dimensions up to ``stop``, except the first ones, for which ``within`` has indices.
    ``body`` computes ``many`` points for each index."""

    def loops(dim: int, index: dict[int, Index]) -> None:
        if dim >= stop:
            body(index)
            return
        unroll = points.facts.unrolled(REDUCED_UNROLLED, many * points.facts.points_from(dim + 1))
        span = points.reduced_span(dim, point)
        loop(points.f, *span, 1, lambda i: loops(dim + 1, {**index, dim: i}), unroll)

    loops(points.nest.n_kept + len(within or {}), within or {})


def over_blocks(
    points: Points, span: tuple[Index, Index], many: int, body: Vectors, within: int = 1, left: int | None = None
) -> None:
    """Loop over the vectors of a range of lanes, ``many`` at once, and ``left`` of the rest."""
    facts = points.facts
    if left is None:
        left = min(many, 4) if facts.target.vector_bytes == 64 else 1
    over_vectors(points, span, many, body, facts.is_heavy or facts.ends_heavy, within, left)


def parts(n: int, most: int) -> list[tuple[int, int]]:
    """Cut ``n`` into as few parts as possible, none longer than ``most``, and as equal as possible. Returns lengths,
    and how many parts have each, the longer ones first."""
    count = -(-n // most)
    length, longer = divmod(n, count)
    return [(k, many) for k, many in ((length + 1, longer), (length, count - longer)) if many]


def over_rows(f: Function, span: tuple[Index, Index], most: int, body: Callable[[Index, int], None]) -> None:
    """Loop over the indices of a range with ``body(first, many)``, ``most`` at once or a little less. If the range is
    known only at run time, the rest is taken one by one."""
    start, stop = span
    if isinstance(start, int) and isinstance(stop, int):
        for length, many in parts(stop - start, most):
            loop(f, start, start + many * length, length, lambda i, n=length: body(i, n))
            start += many * length
    else:
        end = whole(f, start, stop, most)
        loop(f, start, end, most, lambda i: body(i, most))
        loop(f, end, stop, 1, lambda i: body(i, 1))


def over_columns(points: Points, most: int, body: Vectors) -> None:
    """Loop over the vectors along lanes whose number is known, ``most`` at once or a little less.

    The last vector ends where the lanes do, and has some lanes of the one before once more: so no mask is needed, which
    takes time without AVX-512, and a register. Only if these lanes must not be stored again, the last vector has one.
    """
    f, width, extent = points.f, points.facts.width, points.nest.extents[points.nest.lanes]
    assert extent is not None
    may_store_again = points.facts.may_store_again

    def last(i: Index) -> Vector:
        if extent < width:
            return i, mask(f, i, extent, width)
        here = least(f, i, extent - width)
        if may_store_again:
            return here, None
        assert isinstance(i, int) and isinstance(here, int)
        return here, f.vector([k >= i - here for k in range(width)], "b1")

    def some(i: Index, many: int, has_last: bool) -> None:
        vectors: list[Vector] = [(plus(i, k * width), None) for k in range(many)]
        body([*vectors[:-1], last(vectors[-1][0])] if has_last else vectors)

    first = 0
    for length, many in parts(-(-extent // width), most):
        step, stop = length * width, first + many * length * width
        is_cut = stop > extent
        apart = is_cut and not may_store_again
        loop(f, first, stop - step * apart, step, lambda i, n=length, cut=is_cut and not apart: some(i, n, cut))
        if apart:
            some(stop - step, length, True)
        first = stop


def over_vectors(
    points: Points,
    span: tuple[Index, Index],
    many: int,
    body: Vectors,
    is_heavy: bool,
    within: int,
    left: int = 1,
) -> None:
    """Loop over the vectors of a range: ``many`` at once, then the rest, masked, ``left`` at once.

    If the code ``is_heavy``, it is written once, with a mask throughout. For ``within`` see :meth:`Facts.unrolled`.
    """
    f, width = points.f, points.facts.width
    start, stop = span
    if is_heavy and not (isinstance(start, int) and isinstance(stop, int) and stop - start <= width):
        loop(f, start, stop, width, lambda i: body([(i, mask(f, i, stop, width))]))
    elif isinstance(start, int) and isinstance(stop, int):
        full, rest = divmod(stop - start, width)
        end = start + (full - full % many) * width
        unroll = points.facts.unrolled(UNROLLED, within) // many
        loop(f, start, end, many * width, lambda i: body([(plus(i, k * width), None) for k in range(many)]), unroll)
        last: list[Vector] = [(i, None) for i in range(end, start + full * width, width)]
        if rest:
            which = f.vector([k < rest for k in range(width)], "b1") if width > 1 else None
            last.append((start + full * width, which))
        if last:
            body(last)
    else:
        end = whole(f, start, stop, many * width)
        loop(f, start, end, many * width, lambda i: body([(plus(i, k * width), None) for k in range(many)]))
        if many * width > 1:

            def masked(i: Index) -> None:
                body([(j, mask(f, j, stop, width)) for j in [plus(i, k * width) for k in range(left)]])

            loop(f, end, stop, left * width, masked)


def mask(f: Function, i: Index, stop: Index, width: int) -> Value | None:
    """The mask of the lanes that, counted from index ``i``, stand before ``stop``."""
    if width == 1:
        return None
    lane = f.vector(list(range(width)), "i8")
    return lane < (f.index(stop) - f.index(i)).splat(width)


def whole(f: Function, start: Index, stop: Index, many: int) -> Index:
    """The end of a range without the rest that is left when it is taken ``many`` at a time."""
    if isinstance(start, int) and isinstance(stop, int):
        return stop - (stop - start) % many
    return f.index(start) + (f.index(stop) - f.index(start)) / many * many


def plus(i: Index, k: int) -> Index:
    """``i + k``, without an instruction where k is 0."""
    if isinstance(i, int) or not k:
        return i + k if k else i
    base, before = i.shifted or (i, 0)
    out = i + k
    out.shifted = base, before + k
    return out
