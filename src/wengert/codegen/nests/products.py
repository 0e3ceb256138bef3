"""Products of matrices whose sizes are given at run time: one kernel for all products with equal tiles.

The code of a product of known size has several kinds of tiles, since those at its edges are smaller. Here all tiles are
alike: the last ones begin early enough to end at the edge, and compute some sums of the tiles before once more, to the
same bits. The tile, and the operands that are copied into panels, are chosen with the sizes known (:mod:`tiles`);
kernels differ in nothing else.
"""

from __future__ import annotations

from wengert.codegen.ir import Index, least, select
from wengert.codegen.memory import size_of
from wengert.codegen.nests.channels import channels_of, taps_of
from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.loops import Vector, loop, plus
from wengert.codegen.nests.nest import Nest, Tiling
from wengert.codegen.nests.panels import PanelBlock
from wengert.codegen.nests.points import Point, Points
from wengert.codegen.nests.tiles import LONGEST_PANEL, equal_tiling, sums_of
from wengert.codegen.nests.transpose import into_panels

FEWEST, MOST_POINTS = 1 << 14, 1 << 20  # multiply-adds (benchmarks/bench_contract.py); above, threads share it


def tiling_of(facts: Facts) -> Tiling | None:
    """How a product of known size is cut into equal tiles; None if it is another nest, or faster with its sizes in its
    code."""
    nest = facts.nest
    if (nest.ndim, nest.n_kept, nest.lanes, len(nest.loads), len(nest.folds)) != (3, 2, 1, 2, 1):
        return None
    if nest.stores or nest.post or nest.literals or nest.is_fast or None in nest.extents:
        return None
    if not facts.factors(nest.folds[0]) or not _fills_vectors(facts):
        return None
    if (
        not FEWEST <= facts.points_from(0) <= MOST_POINTS
        or taps_of(facts) is not None
        or channels_of(facts) is not None
    ):
        return None
    return equal_tiling(facts)


def _fills_vectors(facts: Facts) -> bool:
    width = facts.target.lanes(size_of(facts.nest.folds[0].dtype))
    return (facts.nest.extents[facts.nest.lanes] or 0) >= width == facts.width


def opened(nest: Nest, tiling: Tiling) -> tuple[Nest, tuple[int, ...]]:
    """Return the nest without its sizes, and the sizes in the order in which its kernel takes them."""
    sizes = [n for n in nest.extents if n is not None]

    def strides(row: tuple[int | None, ...]) -> tuple[int | None, ...]:
        sizes.extend([s for s in row if s not in (-1, 0, 1, None)])
        return tuple([s if s in (-1, 0, 1) else None for s in row])

    loads = tuple([x._replace(strides=strides(x.strides)) for x in nest.loads])
    goals = tuple([x._replace(strides=strides(x.strides)) for x in nest.post_stores])
    return nest._replace(extents=(None, None, None), loads=loads, post_stores=goals, tiling=tiling), tuple(sizes)


def equal_tiles(points: Points, point: Point, tiling: Tiling) -> None:
    """Write the sums of all rows and lanes: one column of tiles after the other, for which panels are filled once."""
    f, width = points.f, points.facts.width
    n_rows, n_lanes = [f.index(n) for n in points.extents[:2]]
    rows, lanes = tiling.rows, tiling.vectors * width

    def column(i: Index) -> None:
        first = f.index(least(f, i, n_lanes - lanes))
        first = select(first < 0, 0, first)  # if there are fewer lanes than a column has
        vectors: list[Vector] = [
            (least(f, plus(first, k * width), n_lanes - width), None) for k in range(lanes // width)
        ]
        block = PanelBlock(2, 0, points.extents[2], LONGEST_PANEL, first, lanes)
        above = into_panels(points, point, tiling.copied, block) if tiling.copied else point

        def row(i: Index) -> None:
            top = least(f, i, n_rows - rows)
            several = [above.inner({0: plus(top, k)}) for k in range(rows)]
            for one in several:
                points.hoist(one)
            sums_of(points, several, vectors)

        loop(f, 0, n_rows, rows, row)

    loop(f, 0, n_lanes, lanes, column)
