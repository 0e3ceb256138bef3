"""Sums of convolutions with lanes along channels, which fill vectors where lines of a picture do not.

The operand that depends on the channels, and on no other kept dimension, is copied into a panel with channels side by
side; it is multiplied with elements of the other operand, for different rows. Forward, and for the derivative in the
pictures, rows are places of a line, the weights are copied (:func:`channels`), and squares of sums are transposed
before they are stored. For the derivative in the weights rows are *taps*, the places in a window, and the cotangent is
copied, one block after the other (:func:`by_taps`).
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from wengert.codegen import memory
from wengert.codegen.ir import Index, Value, least
from wengert.codegen.memory import memory_type, size_of
from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.folds import begun, combined, fold_in
from wengert.codegen.nests.loops import Vector, loop, over_columns, over_kept, over_reduced, over_rows, parts, plus
from wengert.codegen.nests.points import Point, Points
from wengert.codegen.nests.tiles import best_tile, sums_of
from wengert.codegen.nests.transpose import gathered, transposed_lines

MOST_TERMS = 1024  # terms of a sum up to which one panel holds its weights; longer sums are taken by taps
FEWEST_AT_ONCE, MOST_TAPS = 12, 64  # sums from which on a cotangent is worth a panel, and the most taps
PART = 8  # channels of a part for a thread, which copies the cotangent for itself
MOST_ROWS = 14  # rows of a tile: one vector of channels is multiplied with so many elements
PANEL_BYTES = 1 << 17  # bytes of a cotangent in a panel (benchmarks/bench_convolution.py) ...
TOTAL_BYTES = 1 << 16  # ... and of the sums of some channels in memory


def shared_along(facts: Facts) -> int | None:
    """The number of the factor that depends on the lanes, which are channels, and on no other kept dimension; or
    None."""
    nest = facts.nest
    if nest.n_kept < 2 or nest.lanes != nest.n_kept - 1 or nest.stores or nest.has_pieces or len(nest.folds) != 1:
        return None
    factors, lane, extent = facts.factors(nest.folds[0]), nest.lanes, nest.extents[nest.lanes]
    if len(factors) != 2 or None in nest.extents[1:] or extent is None or extent < facts.width:
        return None
    own = [k for k in factors if k < len(nest.loads) and {d for d in facts.depends[k] if d < nest.n_kept} == {lane}]
    if len(own) != 1 or lane in facts.depends[sum(factors) - own[0]] or nest.loads[own[0]].strides[lane] == 1:
        return None
    return own[0]


def terms_of(facts: Facts) -> int:
    return math.prod([n or 1 for n in facts.nest.extents[facts.nest.n_kept :]])


# ---------------------------------------------------------------------------------------------------------- forward


def channels_of(facts: Facts) -> int | None:
    """The number of the operand with the weights, if results lie side by side along the rows; else None."""
    nest, weights = facts.nest, shared_along(facts)
    goals = [(s.strides[nest.n_kept - 2], s.strides[nest.lanes]) for s in nest.post_stores]
    if any(row != 1 or lane in (0, 1) for row, lane in goals) or terms_of(facts) > MOST_TERMS:
        return None
    return weights


def channels(points: Points, point: Point, weights: int) -> None:
    """Write the sums of a few channels at a time, for all rows: the weights of these channels are copied once."""
    nest, dim, tile = points.nest, points.nest.n_kept - 2, best_tile(points.facts, MOST_ROWS)

    def columns(vectors: list[Vector]) -> None:
        def rows(above: Point) -> None:
            def some(i: Index, many: int) -> None:
                sums_of(points, [above.inner({dim: plus(i, k)}) for k in range(many)], vectors, is_across=True)

            over_rows(points.f, points.span(dim), tile.rows, some)

        over_kept(points, gathered(points, point, weights, vectors), dim, rows)

    assert nest.lanes == dim + 1
    over_columns(points, tile.vectors, columns)


# ------------------------------------------------------------------------------------------------------------- taps


class Taps(NamedTuple):
    """The number of the factor that is the cotangent, and the dimension from which on it is copied into a panel."""

    cotangent: int
    inner: int


def taps_of(facts: Facts) -> Taps | None:
    """The cotangent and its panel, if the kept dimensions between the first and the lanes are taps; else None."""
    nest, cotangent = facts.nest, shared_along(facts)
    if cotangent is None or terms_of(facts) <= MOST_TERMS:
        return None
    strides = nest.loads[cotangent].strides
    taps = math.prod([n or 1 for n in nest.extents[1 : nest.lanes]])
    if taps > MOST_TAPS or strides[-1] != 1 or 0 in strides[nest.n_kept :]:
        return None
    inner, row = nest.ndim, _vectors(facts) * facts.width * size_of(nest.folds[0].dtype)
    while inner > nest.n_kept and row * (nest.extents[inner - 1] or 1) <= PANEL_BYTES:
        inner -= 1
        row *= nest.extents[inner] or 1
    return Taps(cotangent, inner) if inner < nest.ndim else None


def _vectors(facts: Facts) -> int:
    """The number of vectors of channels that are summed side by side."""
    extent = facts.nest.extents[facts.nest.lanes]
    assert extent is not None
    return min(2, -(-extent // facts.width))


def by_taps(points: Points, point: Point, taps: Taps) -> None:
    """Write the sums of all taps, for a few channels at a time. They are kept in memory, side by side; the terms from
    one panel are added up in registers, a few sums at once, and then added to those in memory."""
    nest, facts, f, width, fold = points.nest, points.facts, points.f, points.facts.width, points.nest.folds[0]
    many = _vectors(facts)
    places = list(itertools.product(*[range(n or 1) for n in nest.extents[1 : nest.lanes]]))
    most = (facts.registers - 1 - many - (not facts.target.has_fma)) // many  # so many fit into the registers
    apart = many * width * size_of(fold.dtype)
    channels_at_once = max(1, TOTAL_BYTES // (apart * len(places)))
    area = f.alloca(memory_type(fold.dtype, 1), channels_at_once * len(places) * many * width, f.target.vector_bytes)
    start, stop = points.span(0)

    def slot(row: Index, k: int) -> str:
        """The address of vector number ``k`` of the sums of one channel and tap; ``row`` numbers channels and taps."""
        offset = f.index(row) * apart + k * width * size_of(fold.dtype)
        return f.pure(f"getelementptr i8, ptr {area}, {offset.typed}", "u8", 1).text

    def columns(vectors: list[Vector]) -> None:
        def some_channels(first: Index) -> None:
            last = least(f, f.index(first) + channels_at_once, stop)

            def row_of(c: Index) -> Value:
                return (f.index(c) - f.index(first)) * len(places)

            def clear(c: Index) -> None:
                for r in range(len(places)):
                    for k in range(len(vectors)):
                        memory.store(f, slot(row_of(c) + r, k), begun(points, fold, width))

            def add(above: Point, outer: dict[int, Index], c: Index, count: int) -> None:
                rows = [(plus(c, k), place) for k in range(count) for place in places]
                done = 0
                for length, times in parts(len(rows), most):
                    for _ in range(times):
                        tile(above, outer, row_of(c), done, rows[done : done + length])
                        done += length

            def tile(
                above: Point, outer: dict[int, Index], base: Value, begin: int, of: list[tuple[Index, tuple[int, ...]]]
            ) -> None:
                rows = [above.inner({0: c, **dict(enumerate(place, 1))}) for c, place in of]
                several = [row.inner({nest.lanes: i}, nest.lanes, mask) for row in rows for i, mask in vectors]
                slots = [slot(base + begin + r, k) for r in range(len(of)) for k in range(len(vectors))]
                cells = [f.cell(begun(points, fold, width)) for _ in slots]

                def innermost(index: dict[int, Index]) -> None:
                    for p, cell in zip(several, cells, strict=True):
                        fold_in(points, p.inner(index), [cell])

                over_reduced(points, several[0], nest.ndim, innermost, len(several), outer)
                for at, cell in zip(slots, cells, strict=True):  # sums of sums, which lose fewer digits than one
                    memory.store(f, at, combined(fold, memory.load(f, at, fold.dtype, width), f.read(cell)))

            def block(dim: int, outer: dict[int, Index]) -> None:
                if dim < taps.inner:
                    loop(f, 0, points.extents[dim], 1, lambda i: block(dim + 1, {**outer, dim: i}))
                    return
                above = transposed_lines(points, point.inner(outer), taps.cotangent, taps.inner, vectors)
                over_rows(f, (first, last), max(1, most // len(places)), lambda c, count: add(above, outer, c, count))

            def finish(c: Index) -> None:
                for r, place in enumerate(places):
                    for k, (i, mask) in enumerate(vectors):
                        p = point.inner({0: c, **dict(enumerate(place, 1)), nest.lanes: i}, nest.lanes, mask)
                        points.store_totals(p, [memory.load(f, slot(row_of(c) + r, k), fold.dtype, width)])

            loop(f, first, last, 1, clear)
            block(nest.n_kept, {})
            loop(f, first, last, 1, finish)

        loop(f, start, stop, channels_at_once, some_channels)

    over_columns(points, many, columns)
