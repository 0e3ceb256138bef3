"""The ways to fold: which loops stand around which, where the accumulators are, and in what order they are added up.

Lanes along what is reduced: several accumulators, in chunks that are added pairwise (:func:`one_sum`), or a square of
them with a kept dimension beside it (:func:`square`). Lanes along a kept dimension: a sum for each lane, in registers
(:mod:`tiles`), or in memory, where there are many lanes (:func:`sums_in_memory`).
"""

from __future__ import annotations

from wengert.codegen import memory
from wengert.codegen.ir import Index, least
from wengert.codegen.memory import size_of
from wengert.codegen.nests.chunks import chunked
from wengert.codegen.nests.facts import MAX_UNROLLED, Facts
from wengert.codegen.nests.folds import accumulators, across, across_each, begun, fold_in, folded
from wengert.codegen.nests.loops import Vector, loop, over_kept, over_reduced, over_vectors, plus, whole
from wengert.codegen.nests.points import Point, Points
from wengert.codegen.nests.tiles import lane_sums, tiles
from wengert.codegen.vecmath import FUNCTIONS, Weight

RUN = 64  # vectors of accumulators in memory


def all_sums(points: Points, point: Point) -> None:
    """The folds of the nest, in the way that suits it."""
    nest, facts = points.nest, points.facts
    if nest.lanes < 0 or nest.lanes >= nest.n_kept:
        if nest.n_kept and nest.lanes >= 0 and not nest.stores and not nest.has_pieces and _is_short(facts):
            over_kept(points, point, nest.n_kept - 1, lambda rows: square(points, rows))
        else:
            over_kept(points, point, nest.n_kept, lambda row: one_sum(points, row))
    elif nest.n_kept > 1 and facts.are_light_sums:
        over_kept(points, point, nest.n_kept - 2, lambda rows: tiles(points, rows))
    elif nest.is_wide and _all_depends_on_what_is_summed(facts):
        over_kept(points, point, nest.n_kept - 1, lambda row: sums_in_memory(points, row))
    else:
        over_kept(points, point, nest.n_kept - 1, lambda row: lane_sums(points, [row]))


def _is_short(facts: Facts) -> bool:
    """Whether what is innermost may be written as often as there are lanes."""
    weights = [FUNCTIONS[facts.operation(k).function].weight for k in facts.inner_steps]
    length = len(facts.inner) + 14 * weights.count(Weight.MEDIUM)
    return not facts.is_heavy and facts.width * length <= MAX_UNROLLED


def _all_depends_on_what_is_summed(facts: Facts) -> bool:
    """Whether nothing is computed that is the same along what is summed, and would be computed again and again."""
    nest, steps = facts.nest, [facts.depends[k] for k in facts.inner_steps]
    return all(nest.lanes not in dims or max(dims) >= nest.n_kept for dims in steps)


# -------------------------------------------------------------------------------------- lanes along what is reduced


def one_sum(points: Points, point: Point) -> None:
    """Everything that is reduced becomes one number (for this index of the kept dimensions)."""
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
    """Lanes along the last dimension, reduced, for as many indices of the last kept one as there are lanes."""
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
    loop(f, end, stop, 1, row)  # a square for what is left over would take as long again to compile


# ------------------------------------------------------------------------------------ lanes along a kept dimension


def sums_in_memory(points: Points, point: Point) -> None:
    """Sums with accumulators in memory, for many lanes at once: processors read ahead along lanes, not across them."""
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
