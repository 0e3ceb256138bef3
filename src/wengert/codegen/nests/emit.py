"""The loops of a nest, as LLVM IR: kernels of expressions, of the views they read, and of the reductions they feed.

* A value that does not depend on the inner dimensions is computed outside of their loops (:mod:`points`).
* Elementwise loops are here; :mod:`sums` says which way a reduction goes.
* An operand whose elements lie side by side along another dimension than the lanes is transposed into a panel
  (:mod:`panels`), a block at a time.
"""

from __future__ import annotations

from wengert.codegen.ir import Index, least
from wengert.codegen.nests.loops import Vector, loop, over_blocks, over_kept
from wengert.codegen.nests.nest import Nest
from wengert.codegen.nests.panels import PanelBlock
from wengert.codegen.nests.points import SHORT_CHAIN, Point, Points
from wengert.codegen.nests.sums import all_sums
from wengert.codegen.nests.transpose import into_panels
from wengert.codegen.target import Target

BLOCK_ROWS, BLOCK_VECTORS = 64, 2  # the size of the blocks that are transposed: 8 KiB (benchmarks/bench_memory.py)
MAX_CROSSWISE = 8  # the most operands that are transposed: 64 KiB
MAX_VECTORS = 12  # vectors side by side: a processor does four operations a cycle, each three cycles behind the last


def emit(nest: Nest, name: str, target: Target) -> str:
    """The text of an LLVM module with the kernel ``name``."""
    points = Points(nest, target)
    outside = Point({})
    points.hoist(outside)
    crosswise = _crosswise(nest)
    if nest.folds:
        all_sums(points, outside)
    elif crosswise:
        over_kept(points, outside, nest.ndim - 2, lambda plane: blocks_transposed(points, plane, crosswise))
    else:
        over_kept(points, outside, nest.ndim, lambda row: elementwise(points, row))
    points.f.lines.append("  ret i32 0")
    return points.f.kernel(name)


def elementwise(points: Points, row: Point, span: tuple[Index, Index] | None = None, most: int = MAX_VECTORS) -> None:
    """Write the elementwise loop along the lanes, or over the part ``span`` of them, at most ``most`` vectors at
    once."""
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
    over_blocks(points, span or points.span(nest.lanes), many, body)


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
