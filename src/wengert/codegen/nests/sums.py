"""The ways to fold: in what order loops stand, where the accumulators are, and in what order they are added up.

If lanes run along a reduced dimension, there are several accumulators, in chunks that are added pairwise
(:func:`one_sum`), or a square of them with a kept dimension beside it (:func:`square`). If lanes run along a kept
dimension, there is a sum for each lane, in registers (:mod:`tiles`), or in memory if there are many lanes
(:func:`sums_in_memory`).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from wengert.codegen import memory
from wengert.codegen.ir import Index, least
from wengert.codegen.memory import size_of
from wengert.codegen.nests.channels import by_taps, channels, channels_of, taps_of
from wengert.codegen.nests.chunks import chunked
from wengert.codegen.nests.facts import MAX_UNROLLED, Facts
from wengert.codegen.nests.folds import accumulators, across, across_each, begun, combined, fold_in, folded
from wengert.codegen.nests.loops import Vector, loop, over_kept, over_reduced, over_rows, over_vectors, plus, whole
from wengert.codegen.nests.points import Point, Points
from wengert.codegen.nests.products import equal_tiles
from wengert.codegen.nests.tiles import lane_sums, tiles
from wengert.codegen.vecmath import FUNCTIONS, Weight

RUN = 64  # the number of vectors of accumulators in memory


def all_sums(points: Points, point: Point) -> None:
    """Write the folds of the nest, in the way that suits it."""
    nest, facts = points.nest, points.facts
    if nest.tiling is not None:
        equal_tiles(points, point, nest.tiling)
    elif (taps := taps_of(facts)) is not None:
        by_taps(points, point, taps)
    elif (grid := grid_of(facts)) is not None:
        over_kept(points, point, grid.rows, lambda p: crossed(points, p, grid))
    elif nest.lanes < 0 or nest.lanes >= nest.n_kept:
        if nest.n_kept and nest.lanes >= 0 and not nest.stores and not nest.has_pieces and _is_short(facts):
            over_kept(points, point, nest.n_kept - 1, lambda rows: square(points, rows))
        else:
            over_kept(points, point, nest.n_kept, lambda row: one_sum(points, row))
    elif (weights := channels_of(facts)) is not None:
        channels(points, point, weights)
    elif nest.n_kept > 1 and facts.are_light_sums:
        over_kept(points, point, nest.n_kept - 2, lambda rows: tiles(points, rows))
    elif nest.is_wide and _all_depends_on_what_is_summed(facts):
        over_kept(points, point, nest.n_kept - 1, lambda row: sums_in_memory(points, row))
    else:
        over_kept(points, point, nest.n_kept - 1, lambda row: lane_sums(points, [row]))


def _is_short(facts: Facts) -> bool:
    """Whether the innermost code may be written as often as there are lanes."""
    weights = [FUNCTIONS[facts.operation(k).function].weight for k in facts.inner_steps]
    length = len(facts.inner) + 14 * weights.count(Weight.MEDIUM)
    return not facts.is_heavy and facts.width * length <= MAX_UNROLLED


def _all_depends_on_what_is_summed(facts: Facts) -> bool:
    """Whether every value computed varies along the summed dimensions, so that none would be computed repeatedly."""
    nest, steps = facts.nest, [facts.depends[k] for k in facts.inner_steps]
    return all(nest.lanes not in dims or max(dims) >= nest.n_kept for dims in steps)


# ------------------------------------------------------------------------------------ lanes along a reduced dimension


def one_sum(points: Points, point: Point) -> None:
    """Write the fold of all reduced dimensions to one number (for one index of the kept dimensions)."""
    nest, f = points.nest, points.f
    if nest.lanes < 0:
        cells = accumulators(points, 1)
        over_reduced(points, point, nest.ndim, lambda index: fold_in(points, point.inner(index), cells))
        totals = [f.read(cell) for cell in cells]
    else:
        many = 1 << points.facts.vectors_at_once(4).bit_length() - 1  # accumulators are added up in pairs
        sums = chunked(points, nest.lanes, [point], lambda fold, rows: rows[0], many, points.facts.width)
        totals = [across(fold, x) for fold, x in zip(nest.folds, sums, strict=True)]
    points.store_totals(point, totals)


def square(points: Points, point: Point) -> None:
    """Write folds with lanes along the last dimension, which is reduced, for as many indices of the last kept dimension
    at once as there are lanes."""
    nest, facts, f, width = points.nest, points.facts, points.f, points.facts.width
    row_dim, lane_dim = nest.n_kept - 1, nest.ndim - 1
    span = points.span(row_dim)
    stop = span[1]

    def row_at(i: Index) -> Point:
        row = point.inner({row_dim: i})
        points.hoist(row)
        return row

    def body(vectors: list[Vector]) -> None:
        for first, mask in vectors:
            rows: list[Point] = []
            for r in range(width):
                i = plus(first, r)
                if isinstance(i, int) and isinstance(stop, int):
                    if i >= stop:
                        break
                elif mask is not None:  # beyond the end the last row is taken again: its sum is not stored
                    i = least(f, i, plus(stop, -1))
                rows.append(row_at(i))
            sums = chunked(points, lane_dim, rows, lambda fold, xs: across_each(points, fold, xs), 1, width)
            points.store_totals(point.inner({row_dim: first}, row_dim, mask), sums)

    if nest.extents[row_dim] is not None or facts.ends_heavy:
        over_vectors(points, span, 1, body, facts.ends_heavy, width * facts.points_from(nest.n_kept))
        return

    def row(i: Index) -> None:  # the lanes of each chunk first, and one accumulator: the bits must be those of a square
        one = row_at(i)
        points.store_totals(one, chunked(points, lane_dim, [one], lambda fold, xs: across(fold, xs[0]), 1, 1))

    end = whole(f, *span, width)
    loop(f, span[0], end, width, lambda i: body([(i, None)]))
    loop(f, end, stop, 1, row)  # a masked square for the rest would double the compile time


class Grid(NamedTuple):
    """A grid of sums of products: one factor is the same in all columns, the other in all rows."""

    rows: int
    """The dimension of the rows."""
    many: int
    """The number of rows that are summed side by side."""
    columns: int
    """The first dimension of the columns, all of which are summed side by side; their other dimensions follow it."""


MOST_COLUMNS = 12


def grid_of(facts: Facts) -> Grid | None:
    """The grid of sums that registers hold at once, with lanes along a reduced dimension; None if there is none. The
    derivative of a convolution in its weights has one: a row for each channel, a column for each place in a window."""
    nest = facts.nest
    if nest.lanes < nest.n_kept or nest.stores or nest.has_pieces or len(nest.folds) != 1 or None in nest.extents[1:]:
        return None
    factors = facts.factors(nest.folds[0])
    if not factors or not facts.are_light_sums:
        return None
    depends = [facts.depends[k] for k in factors]
    if any(nest.lanes not in d for d in depends):
        return None
    columns, count, owner = nest.n_kept, 1, None
    while columns > 0:
        mine = [k for k in (0, 1) if columns - 1 in depends[k]]
        extent = nest.extents[columns - 1]
        if extent is None or len(mine) != 1 or owner not in (None, mine[0]) or count * extent > MOST_COLUMNS:
            break
        columns, count, owner = columns - 1, count * extent, mine[0]
    if owner is None or count < 2:
        return None
    rows = [d for d in range(columns) if d in depends[1 - owner] and d not in depends[owner]]
    many = (facts.registers - 2) // (count + 1)
    return Grid(rows[-1], many, columns) if rows and many else None


def crossed(points: Points, point: Point, grid: Grid) -> None:
    """Write the sums of all rows and columns: a vector of a row is read once for all columns, and vice versa."""
    nest, f = points.nest, points.f
    extents = [points.span(d)[1] for d in range(grid.columns, nest.n_kept)]
    places = list(itertools.product(*[range(n) for n in extents if isinstance(n, int)]))

    def tile(rows: list[Point], dim: int) -> None:
        """Write the loops over the dimensions between rows and columns."""
        if dim < grid.columns:
            loop(f, *points.span(dim), 1, lambda i: tile([row.inner({dim: i}) for row in rows], dim + 1))
            return
        below = [row.inner(dict(enumerate(at, grid.columns))) for row in rows for at in places]
        for p in below:
            points.hoist(p)
        totals = [accumulators(points, points.facts.width) for _ in below]

        def run(within: dict[int, Index]) -> None:
            cells = [accumulators(points, points.facts.width) for _ in below] if within else totals

            def along(index: dict[int, Index]) -> None:
                def body(vectors: list[Vector]) -> None:
                    for i, mask in vectors:
                        for p, cell in zip(below, cells, strict=True):
                            fold_in(points, p.inner({**index, nest.lanes: i}, nest.lanes, mask), cell)

                over_vectors(points, points.reduced_span(nest.lanes, below[0]), 1, body, False, len(below))

            over_reduced(points, below[0], nest.lanes, along, len(below), within)
            for total, cell in zip(totals, cells, strict=True) if within else ():
                f.write(total[0], combined(nest.folds[0], f.read(total[0]), f.read(cell[0])))

        if nest.lanes - nest.n_kept > 1:  # many sums of few terms each, rather than few of many, which lose digits
            loop(f, *points.reduced_span(nest.n_kept, below[0]), 1, lambda i: run({nest.n_kept: i}))
        else:
            run({})
        for p, (cell,) in zip(below, totals, strict=True):
            points.store_totals(p, [across(nest.folds[0], f.read(cell))])

    def some(i: Index, many: int) -> None:
        tile([point.inner({grid.rows: plus(i, k)}) for k in range(many)], grid.rows + 1)

    over_rows(f, points.span(grid.rows), grid.many, some)


# ------------------------------------------------------------------------------------ lanes along a kept dimension


def sums_in_memory(points: Points, point: Point) -> None:
    """Write sums with accumulators in memory, for many lanes at once: a processor reads ahead along lanes only."""
    nest, facts, f, width = points.nest, points.facts, points.f, points.facts.width
    runs = [f.alloca(memory.memory_type(x.dtype, 1), RUN * width, f.target.vector_bytes) for x in nest.folds]
    start, stop = points.span(nest.lanes)

    def run(first: Index) -> None:
        first = f.index(first)
        span = first, least(f, first + RUN * width, stop)

        def slot(k: int, i: Index) -> str:
            offset = (f.index(i) - first) * size_of(nest.folds[k].dtype)
            return f.pure(f"getelementptr i8, ptr {runs[k]}, {offset.typed}", "u8", 1).text

        def clear(i: Index) -> None:
            for k, fold in enumerate(nest.folds):
                memory.store(f, slot(k, i), begun(points, fold, width))

        def innermost(index: dict[int, Index]) -> None:
            row = point.inner(index)
            points.hoist(row)
            following = {nest.ndim - 1: plus(index[nest.ndim - 1], 1)}

            def some(vectors: list[Vector]) -> None:
                several = [row.inner({nest.lanes: i}, nest.lanes, mask) for i, mask in vectors]
                points.prefetch([p.inner(following) for p in several], 0)
                points.side_by_side(several)
                for p in several:
                    points.store(p)
                    for k, fold in enumerate(nest.folds):
                        at = slot(k, p.index[nest.lanes])
                        before = memory.load(f, at, fold.dtype, width)
                        memory.store(f, at, folded(points, fold, before, p))

            over_vectors(points, span, facts.vectors_at_once(4), some, facts.is_heavy, 1)

        def finish(vectors: list[Vector]) -> None:
            for i, mask in vectors:
                totals = [memory.load(f, slot(k, i), x.dtype, width) for k, x in enumerate(nest.folds)]
                points.store_totals(point.inner({nest.lanes: i}, nest.lanes, mask), totals)

        loop(f, *span, width, clear)
        over_reduced(points, point, nest.ndim, innermost, MAX_UNROLLED)
        over_vectors(points, span, 1, finish, facts.ends_heavy, 1)

    loop(f, start, stop, RUN * width, run)
