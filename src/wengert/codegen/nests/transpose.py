"""Copy operands into panels: transposed, a square of elements at a time; or a vector, if lanes lie side by side."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen import memory
from wengert.codegen.ir import Index, least
from wengert.codegen.memory import size_of
from wengert.codegen.nests.loops import Vector, loop, plus, whole
from wengert.codegen.nests.panels import Panel, PanelBlock, transposed
from wengert.codegen.nests.points import Point, Points

SQUARE = 4  # the side of a square that is transposed at once, in elements: larger squares take long to compile


def into_panels(points: Points, point: Point, loads: Sequence[int], block: PanelBlock) -> Point:
    """Copy these operands into panels, transposed if their elements lie side by side along ``block.dim``. Returns the
    point at which they are read from the panels."""
    panels = {k: Panel(points.f, points.loads[k].dtype, block) for k in loads}
    for k, panel in panels.items():
        if points.loads[k].strides[points.nest.lanes] == 1:
            _copy(points, point, panel, k)
        else:
            _fill(points, point, panel, k)
    return point.reading(panels)


def gathered(points: Points, point: Point, k: int, vectors: Sequence[Vector]) -> Point:
    """Copy an operand that depends on these lanes and on reduced dimensions alone, so that lanes lie side by side.
    Returns the point at which it is read from the copy."""
    f, nest, operand, width = points.f, points.nest, points.loads[k], points.facts.width
    dims, length = dict[int, int](), 1
    for d in reversed(range(nest.n_kept, nest.ndim)):
        if nest.loads[k].strides[d] != 0:
            dims[d] = length
            length *= nest.extents[d] or 1
    first = vectors[0][0]
    panel = Panel(f, operand.dtype, PanelBlock(-1, 0, length, length, first, len(vectors) * width), dims)

    def fill(left: list[int], index: dict[int, Index]) -> None:
        if left:
            loop(f, 0, points.extents[left[0]], 1, lambda i: fill(left[1:], {**index, left[0]: i}))
            return
        for i, mask in vectors:
            place = points.address(operand, point.inner({**index, nest.lanes: i}))
            x = memory.load_strided(f, place, operand.strides[nest.lanes], panel.dtype, width, mask, is_known=True)
            panel.write(panel.number(index), f.index(i) - f.index(first), x)

    fill(sorted(dims), {})
    return point.reading({k: panel})


def transposed_lines(points: Points, point: Point, k: int, inner: int, vectors: Sequence[Vector]) -> Point:
    """Copy the part of an operand with these lanes, along the dimensions from ``inner`` on, transposed: its elements
    lie side by side along the last dimension. Returns the point at which it is read from the copy."""
    f, nest, operand, width = points.f, points.nest, points.loads[k], points.facts.width
    dims, length = dict[int, int](), 1
    for d in reversed(range(inner, nest.ndim)):
        dims[d] = length
        length *= nest.extents[d] or 1
    last = nest.ndim - 1
    block = PanelBlock(last, 0, nest.extents[last] or 1, length, vectors[0][0], len(vectors) * width)
    panel = Panel(f, operand.dtype, block, dims)

    def lines(dim: int, at: Point) -> None:
        if dim == last:
            _fill(points, at, panel, k)
        else:
            loop(f, 0, points.extents[dim], 1, lambda i: lines(dim + 1, at.inner({dim: i})))

    lines(inner, point)
    return point.reading({k: panel})


def _copy(points: Points, point: Point, panel: Panel, k: int) -> None:
    f, nest, operand, block, width = points.f, points.nest, points.loads[k], panel.block, points.facts.width
    first, last = f.index(block.first), plus(points.extents[nest.lanes], -width)

    def row(t: Index) -> None:
        def vector(lane: Index) -> None:
            i = f.index(least(f, first + lane, last))  # the last vector ends where the lanes do
            place = points.address(operand, point.inner({block.dim: t, nest.lanes: i}))
            panel.write(t, i - first, memory.load(f, place, panel.dtype, width, is_known=True))

        loop(f, 0, _lanes(points, block), width, vector)

    loop(f, block.start, block.stop, 1, row)


def _lanes(points: Points, block: PanelBlock) -> Index:
    """The number of lanes of a block that exist: the last block may have fewer."""
    return least(points.f, points.extents[points.nest.lanes] - block.first, block.many)


def _fill(points: Points, point: Point, panel: Panel, k: int) -> None:
    f, nest, operand, block = points.f, points.nest, points.loads[k], panel.block
    square = min(points.facts.width, SQUARE)
    last = plus(points.extents[nest.lanes], -1)

    def columns(start: Index) -> None:
        lines = []
        for j in range(square):
            i = least(f, f.index(block.first) + start + j, last)  # beyond the end the last line is read again
            lines.append(points.address(operand, point.inner({nest.lanes: i})))

        def rows(i: Index, lanes: int) -> None:
            at, number = Point({block.dim: i}), lambda i: panel.number({**point.index, block.dim: i})
            values = [
                memory.load(f, points.address(operand, at, base), panel.dtype, lanes, is_known=True) for base in lines
            ]
            if lanes > 1 and not isinstance(block.start, int):
                for base in lines:  # the beginning of the next block of rows
                    memory.prefetch(f, points.address(operand, at, base), block.length * size_of(panel.dtype))
            if lanes == 1:
                for j, x in enumerate(values):
                    panel.write(number(i), start + j, x)
            else:
                for t, x in enumerate(transposed(values)):
                    panel.write(plus(number(i), t), start, x)

        end = whole(f, block.start, block.stop, square)
        loop(f, block.start, end, square, lambda i: rows(i, square))
        loop(f, end, block.stop, 1, lambda i: rows(i, 1), square)

    loop(f, 0, _lanes(points, block), square, columns)
