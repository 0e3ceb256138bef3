"""The loops of a nest, as LLVM IR: kernels of expressions, of the views they read, and of the reductions they feed.

* A value that does not depend on the inner dimensions is computed outside of their loops (:mod:`points`).
* Elementwise loops are here; :mod:`sums` says which way a reduction goes.
* An operand whose elements lie side by side along another dimension than the lanes is transposed into a panel
  (:mod:`panels`), a block at a time.
"""

from __future__ import annotations

from wengert.codegen.ir import Index, greatest, least, select
from wengert.codegen.nests.loops import Vector, loop, mask, over_blocks, over_kept
from wengert.codegen.nests.nest import Nest
from wengert.codegen.nests.panels import PanelBlock
from wengert.codegen.nests.points import SHORT_CHAIN, Point, Points
from wengert.codegen.nests.sums import all_sums
from wengert.codegen.nests.transpose import into_panels
from wengert.codegen.target import Target

BLOCK_ROWS, BLOCK_VECTORS = 64, 2  # the size of the blocks that are transposed: 8 KiB (benchmarks/bench_memory.py)
MAX_CROSSWISE = 8  # the most operands that are transposed: 64 KiB
CORE_VECTORS = 4  # of a stencil: what it reads is in the way, rather than what it waits for
MAX_VECTORS = 12  # vectors side by side: a processor does four operations a cycle, each three cycles behind the last


def emit(nest: Nest, name: str, target: Target) -> str:
    """The text of an LLVM module with the kernel ``name``."""
    points = Points(nest, target)
    outside = Point({})
    points.hoist(outside)
    crosswise = _crosswise(nest)
    if nest.folds:
        all_sums(points, outside)
    elif nest.boxes and nest.lanes >= 0:
        over_kept(points, outside, nest.ndim, lambda row: around_core(points, row))
    elif crosswise:
        over_kept(points, outside, nest.ndim - 2, lambda plane: blocks_transposed(points, plane, crosswise))
    else:
        over_kept(points, outside, nest.ndim, lambda row: elementwise(points, row))
    points.f.lines.append("  ret i32 0")
    return points.f.kernel(name)


def elementwise(
    points: Points,
    row: Point,
    span: tuple[Index, Index] | None = None,
    most: int = MAX_VECTORS,
    left: int | None = None,
) -> None:
    """Write the elementwise loop along the lanes, or over the part ``span`` of them, at most ``most`` vectors at once,
    and ``left`` of the rest."""
    nest = points.nest
    if nest.lanes < 0:
        points.store(row)
        return

    def body(vectors: list[Vector]) -> None:
        several = [row.inner({nest.lanes: i}, nest.lanes, mask) for i, mask in vectors]
        points.prefetch(several)
        points.side_by_side(several)
        for p in several:
            points.store(p)

    is_short = len(nest.steps) <= SHORT_CHAIN and not points.facts.calls
    many = points.facts.vectors_at_once(2 if is_short else most)
    over_blocks(points, span or points.span(nest.lanes), many, body, left=left)


def around_core(points: Points, row: Point) -> None:
    """Write the loops along the lanes before the core, behind it, and in it; a row beside the core has no part in
    it."""
    f, nest = points.f, points.nest
    start, stop = points.span(nest.lanes)
    first, end = points.core[nest.lanes] or (start, stop)
    first = least(f, greatest(f, first, start), stop)
    end = greatest(f, least(f, end, stop), first)
    for d, bounds in enumerate(points.core):
        if bounds is not None and d != nest.lanes:
            low, high = [f.index(i) for i in bounds]
            is_there = (f.index(row.index[d]) - low).bits("u8") < (high - low).bits("u8")
            first, end = [select(is_there, f.index(i), f.index(stop)) for i in (first, end)]

    def edge(i: Index, last: Index) -> None:
        width = points.facts.width
        loop(f, i, last, width, lambda j: points.store(row.inner({nest.lanes: j}, nest.lanes, mask(f, j, last, width))))

    def side(k: Index) -> None:
        is_first = f.index(k).eq(0)
        edge(select(is_first, f.index(start), f.index(end)), select(is_first, f.index(first), f.index(stop)))

    loop(f, 0, 2, 1, side)  # so that the code is there once
    elementwise(points, row.in_core(), (first, end), CORE_VECTORS, 1)


def _crosswise(nest: Nest) -> list[int]:
    """The numbers of the operands of a long nest whose elements lie side by side along the dimension around the lanes;
    only the first few, so that their panels are small."""
    if nest.ndim < 2 or nest.lanes != nest.ndim - 1 or nest.extents[-2:] != (None, None):
        return []
    crosswise = [
        k for k, x in enumerate(nest.loads) if x.strides[-2] == 1 and x.strides[-1] not in (0, 1) and not x.is_index
    ]
    return crosswise[:MAX_CROSSWISE]


def blocks_transposed(points: Points, plane: Point, crosswise: list[int]) -> None:
    """Write the loops over blocks of rows and lanes; in each block these operands are transposed before they are
    read."""
    f, dim, lanes = points.f, points.nest.ndim - 2, BLOCK_VECTORS * points.facts.width
    start, stop = points.span(dim)
    end = points.extents[-1]

    def rows(top: Index) -> None:
        bottom = least(f, f.index(top) + BLOCK_ROWS, stop)

        def columns(first: Index) -> None:
            last = least(f, f.index(first) + lanes, end)
            transposed = into_panels(points, plane, crosswise, PanelBlock(dim, top, bottom, BLOCK_ROWS, first, lanes))

            def row(i: Index) -> None:
                p = transposed.inner({dim: i})
                points.hoist(p)
                elementwise(points, p, (first, last), BLOCK_VECTORS)

            loop(f, top, bottom, 1, row)

        loop(f, 0, end, lanes, columns)

    loop(f, start, stop, BLOCK_ROWS, rows)
