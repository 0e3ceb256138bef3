"""Sums with lanes along a kept dimension, in registers: every lane folds its own elements, one reduced index after the
other. Several vectors of several rows are folded side by side, and operands that they share are read once for all of
them: in a product of matrices, that is a *tile*.

A tile is as large as registers allow. If extents are known, all tiles are nearly equal, so that none has too few sums
to keep a processor busy: each addition to a sum waits for the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from wengert.codegen.ir import Index
from wengert.codegen.memory import size_of
from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.folds import accumulators, fold_in
from wengert.codegen.nests.loops import (
    Vector,
    over_blocks,
    over_columns,
    over_reduced,
    over_rows,
    parts,
    plus,
)
from wengert.codegen.nests.nest import Load, Nest, Tiling
from wengert.codegen.nests.panels import COPIED_ROWS, MAX_PANEL, MAX_TRANSPOSED, PanelBlock, is_crowded, is_transposed
from wengert.codegen.nests.points import Point, Points
from wengert.codegen.nests.transpose import into_panels

LATENCY = 10  # additions under way at once: a processor begins two a cycle, and each takes four
LONGEST = 16  # sums of a tile: with more it takes longer to compile, and no less to run (benchmarks/bench_contract.py)
MOST = 8  # rows, or vectors, of a tile
MANY_ROWS = 1 << 10  # assumed rows of a product if the number is known only at run time: each part has at least 64
FEWEST_ALIKE = 3  # rows of tiles that are all alike: with fewer, operands that they share are read too often
LONGEST_PANEL = 256  # summed indices that a panel has room for if their number is known at run time: 128 KiB or less
ALIKE = 1.1  # a kernel that other products share may take this many times the time of tiles of several kinds
A_KIND = 0.02  # the share of the time of all tiles that a further kind of tile must save, since it is compiled


class Tile(NamedTuple):
    """The sums that are computed side by side: so many vectors of so many rows."""

    rows: int
    vectors: int


def tiles(points: Points, point: Point) -> None:
    """Write the sums of all indices of the last two kept dimensions, the rows and the lanes."""
    nest, facts, tile, copied = points.nest, points.facts, best_tile(points.facts), _copied(points.facts)
    dim = nest.n_kept - 2

    def rows(above: Point, body: Callable[[list[Point]], None]) -> None:
        def some(i: Index, many: int) -> None:
            several = [above.inner({dim: plus(i, k)}) for k in range(many)]
            for row in several:
                points.hoist(row)
            body(several)

        over_rows(points.f, points.span(dim), tile.rows, some)

    def columns(vectors: list[Vector]) -> None:
        above = _with_panels(points, point, copied, vectors[0][0], len(vectors)) if copied else point
        rows(above, lambda several: sums_of(points, several, vectors))

    if nest.extents[nest.lanes] is None or not _is_shared(nest):
        rows(point, lambda several: lane_sums(points, several))
        return
    all_vectors = _n_vectors(facts) | 1  # an odd number, for those of an even one may be crowded
    if copied and _panel_bytes(points, all_vectors) <= MAX_PANEL:
        point, copied = _with_panels(points, point, copied, 0, all_vectors), []
    over_columns(points, tile.vectors, columns)  # columns outside, so that operands of all rows stay in the first cache


def lane_sums(points: Points, rows: Sequence[Point]) -> None:
    """Write the sums of all lanes of some rows."""
    nest, facts = points.nest, points.facts
    body = lambda vectors: sums_of(points, rows, vectors)
    many = best_tile(facts).vectors if facts.are_light_sums else 1
    if nest.extents[nest.lanes] is not None and facts.are_light_sums:
        over_columns(points, many, body)
    else:
        over_blocks(points, points.span(nest.lanes), many, body, len(rows) * facts.points_from(nest.n_kept))


def sums_of(points: Points, rows: Sequence[Point], vectors: Sequence[Vector], is_across: bool = False) -> None:
    """Write the sums of some rows and some vectors of their lanes. ``is_across``: results of rows lie side by side."""
    nest = points.nest
    several = [row.inner({nest.lanes: i}, nest.lanes, mask) for row in rows for i, mask in vectors]
    for p in several:
        points.hoist(p)
    cells = [accumulators(points, points.facts.width) for _ in several]
    order = list(range(len(several)))
    if len(rows) < len(vectors):  # operands of rows or of vectors stay in registers: those of which there are fewer
        order.sort(key=lambda k: k % len(vectors))

    def innermost(index: dict[int, Index]) -> None:
        for k in order:
            fold_in(points, several[k].inner(index), cells[k])

    over_reduced(points, several[0], nest.ndim, innermost, len(several))
    if is_across and all(mask is None for _, mask in vectors):
        totals = [[points.f.read(cell) for cell in group] for group in cells]
        for k in range(len(vectors)):
            points.store_across(several[k :: len(vectors)], totals[k :: len(vectors)])
        return
    for p, group in zip(several, cells, strict=True):
        points.store_totals(p, [points.f.read(cell) for cell in group])


# ------------------------------------------------------------------------------------------------------------- shape


def best_tile(facts: Facts, most: int = MOST) -> Tile:
    """The tile, of at most ``most`` rows, with which all sums take the least time. The time is estimated by counting
    loads and multiply-adds, two of which a processor does in a cycle."""
    nest = facts.nest
    lanes, n_rows = nest.extents[nest.lanes], nest.extents[nest.n_kept - 2] if nest.n_kept > 1 else 1
    if lanes is None or (n_rows is None and nest.n_kept != 2):
        return Tile(4, 4)
    n_rows = n_rows or MANY_ROWS
    n_vectors, is_shared = _n_vectors(facts), _is_shared(nest)

    def cost(tile: Tile) -> tuple[float, int]:
        busy = all_loads = kinds = 0
        for h, some in parts(n_rows, tile.rows):
            for w, others in parts(n_vectors, tile.vectors):
                loads = h + (w if is_shared else h * w)
                busy += some * others * max(h * w, loads, LATENCY)
                all_loads += some * others * loads
                kinds += 1
        return busy * (1 + A_KIND * kinds), all_loads

    return min([Tile(_most_rows(facts, w, most), w) for w in range(1, min(n_vectors, MOST) + 1)], key=cost)


def _most_rows(facts: Facts, vectors: int, most: int) -> int:
    """The most rows of a tile with so many vectors. Registers hold its sums, the operands of rows or of vectors,
    whichever are fewer, and one operand of the others."""
    left = facts.registers - 1 - (not facts.target.has_fma)  # without FMA, a product needs a register of its own
    fitting = [h for h in range(1, most + 1) if h * vectors <= LONGEST and h * vectors + min(h, vectors) <= left]
    return max(fitting, default=1)


def _n_vectors(facts: Facts) -> int:
    lanes = facts.nest.extents[facts.nest.lanes]
    assert lanes is not None
    return -(-lanes // facts.width)


def _is_shared(nest: Nest) -> bool:
    """Whether all rows read the same vectors."""
    return nest.n_kept > 1 and any(x.strides[nest.n_kept - 2] == 0 and x.strides[nest.lanes] != 0 for x in nest.loads)


def equal_tiling(facts: Facts) -> Tiling | None:
    """The tile with which the sums of a product of known size take the least time if all tiles are alike, and the
    operands copied into panels; None if tiles of several kinds take much less time."""
    nest, n_vectors = facts.nest, _n_vectors(facts)
    rows, terms, copied = nest.extents[nest.n_kept - 2] or 1, nest.extents[-1] or 1, _copied(facts)
    if rows < FEWEST_ALIKE or not _is_shared(nest) or any(nest.loads[k].strides[nest.lanes] == 1 for k in copied):
        return None
    if copied and terms > LONGEST_PANEL:
        return None

    def busy(h: int, w: int) -> int:
        return max(h * w, h + w, LATENCY)

    def of_all(tile: Tile) -> tuple[int, int]:
        count = -(-rows // tile.rows) * -(-n_vectors // tile.vectors)
        return count * busy(*tile), count * sum(tile)

    tiles = [
        Tile(h, w)
        for w in range(1, min(n_vectors, MOST) + 1)
        for h in range(FEWEST_ALIKE, min(rows, _most_rows(facts, w, MOST)) + 1)
    ]
    found, best = min(tiles, key=of_all), best_tile(facts)
    several = [(h, w, a * b) for h, a in parts(rows, best.rows) for w, b in parts(n_vectors, best.vectors)]
    if of_all(found)[0] > ALIKE * sum([many * busy(h, w) for h, w, many in several]):
        return None
    return Tiling(*found, tuple(copied))


# ------------------------------------------------------------------------------------------------------------ panels


def _with_panels(points: Points, point: Point, loads: Sequence[int], first: Index, vectors: int) -> Point:
    """Copy so many vectors of these operands into panels, and return the point at which they are read from these."""
    length = points.extents[-1]
    assert isinstance(length, int)
    block = PanelBlock(points.nest.ndim - 1, 0, length, length, first, vectors * points.facts.width)
    return into_panels(points, point, loads, block)


def _panel_bytes(points: Points, vectors: int) -> int:
    length = points.extents[-1]
    assert isinstance(length, int)
    return length * vectors * points.f.target.vector_bytes


def _copied(facts: Facts) -> list[int]:
    """The numbers of the operands of which all rows read the same, and that should be copied into panels."""
    nest = facts.nest
    n_rows, length = nest.extents[nest.n_kept - 2] or MANY_ROWS, nest.extents[-1]
    if nest.ndim != nest.n_kept + 1 or length is None or length > MAX_TRANSPOSED:
        return []
    is_long = _n_vectors(facts) > 1 and n_rows >= COPIED_ROWS

    def is_copied(x: Load) -> bool:
        row, lane, summed = x.strides[-3:]
        return is_transposed(row, lane, summed) or (is_long and is_crowded(row, lane, summed, length, size_of(x.dtype)))

    return [k for k, x in enumerate(nest.loads) if not x.is_index and is_copied(x)]
