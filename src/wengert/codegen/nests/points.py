"""The code of one point of a nest's iteration space: the values computed there, and where operands lie in memory.

Values are computed once, as far out in the loops as possible. The loops that visit the points are in :mod:`loops`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wengert.codegen import memory, vecmath
from wengert.codegen.ir import Function, Index, Value, least, select
from wengert.codegen.memory import size_of
from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.nest import Load, Nest, Range, Store
from wengert.codegen.nests.panels import Panel, transposed
from wengert.codegen.target import Target
from wengert.codegen.vecmath import called

SHORT_CHAIN = 8  # steps of a loop so short that waiting for memory decides its speed
PREFETCHED = 4096  # bytes ahead
CACHE_LINE = 64  # bytes


class Point:
    """A point of the iteration space at which code is being written: an index for each dimension known so far.

    An index is an int or a scalar value; that of the lane dimension is the index of lane 0, with a mask (None: all).
    """

    __slots__ = ("index", "is_core", "lane_dim", "mask", "panels", "values")

    def __init__(
        self,
        index: Mapping[int, Index],
        lane_dim: int = -1,
        mask: Value | None = None,
        values: Mapping[int, Value] | None = None,
        panels: Mapping[int, Panel] | None = None,
    ) -> None:
        self.index, self.lane_dim, self.mask = index, lane_dim, mask
        self.values: dict[int, Value] = dict(values or {})
        """The values that have been computed at this point, by number."""
        self.panels = panels or {}
        """The panels from which operands are read, by number."""
        self.is_core = False
        """Whether it is known to be in the core."""

    def in_core(self) -> Point:
        """This point, known to be in the core."""
        point = self.inner({})
        point.is_core = True
        return point

    def inner(self, index: Mapping[int, Index], lane_dim: int = -1, mask: Value | None = None) -> Point:
        """A point further in, which has the values that were computed here."""
        lane_dim = lane_dim if lane_dim >= 0 else self.lane_dim
        point = Point({**self.index, **index}, lane_dim, mask or self.mask, self.values, self.panels)
        point.is_core = self.is_core
        return point

    def reading(self, panels: Mapping[int, Panel]) -> Point:
        """This point, but with these operands read from their panels."""
        return Point(self.index, self.lane_dim, self.mask, self.values, panels)


class NestOperand(NamedTuple):
    """An array in memory, as the kernel knows it: strides in elements, one a dimension."""

    pointer: str
    strides: Sequence[Index]
    dtype: str


class Points:
    """A nest, its facts, and the function that is being written for it."""

    def __init__(self, nest: Nest, target: Target) -> None:
        self.nest, self.facts, self.f = nest, Facts(nest, target), Function(target)
        self._n_sizes = 0
        self._zeros: str | None = None
        self._read_arguments()

    def _read_arguments(self) -> None:
        """Read the arguments of the kernel: pointers, the sizes and strides that are not in its code, and its part."""
        nest = self.nest
        in_memory = [*[x for x in nest.loads if not x.is_index], *nest.stores, *nest.post_stores]
        pointers = iter([self._pointer(k) for k in range(len(in_memory))])

        def operand(x: Load | Store) -> NestOperand:
            is_index = isinstance(x, Load) and x.is_index
            return NestOperand("" if is_index else next(pointers), [self._size(s) for s in x.strides], x.dtype)

        self.extents = [self._size(n) for n in nest.extents]
        self._piece = self._size(None) if nest.has_pieces else 0
        self.loads = [operand(x) for x in nest.loads]
        self._stores = [operand(x) for x in nest.stores]
        self._post_stores = [operand(x) for x in nest.post_stores]
        self.core = [self._range(r) for r in nest.core]
        self.boxes = [[self._range(r) for r in box.ranges] for box in nest.boxes]
        self._part = self.f.part()

    def _range(self, r: Range | None) -> tuple[Index, Index] | None:
        return None if r is None else (self._size(r[0]), self._size(r[1]))

    def _pointer(self, k: int) -> str:
        slot = self.f.pure(f"getelementptr ptr, ptr %pointers, i64 {k}", "u8", 1).text
        return self.f.pure(f"load ptr, ptr {slot}", "u8", 1).text

    def _size(self, n: int | None) -> Index:
        """A static size as int, a dynamic one as the value that comes next in ``sizes``."""
        if n is not None:
            return n
        slot = self.f.pure(f"getelementptr i64, ptr %sizes, i64 {self._n_sizes}", "u8", 1).text
        self._n_sizes += 1
        return self.f.pure(f"load i64, ptr {slot}", "i8", 1)

    def span(self, dim: int) -> tuple[Index, Index]:
        """The first index of a kept dimension, and its end."""
        if dim == 0 and self.nest.is_splittable:
            return self._part
        return 0, self.extents[dim]

    def reduced_span(self, dim: int, point: Point) -> tuple[Index, Index]:
        """The first index of a reduced dimension and its end: of all of it, or of the piece that ``point`` is in."""
        if not self.nest.has_pieces or dim != self.nest.n_kept:
            return 0, self.extents[dim]
        start = self.f.index(point.index[0]) * self._piece
        return start, least(self.f, start + self._piece, self.extents[dim])

    # ---------------------------------------------------------------------------------------------------------- values

    def hoist(self, point: Point) -> None:
        """Compute here the values that depend on no dimension further in."""
        known = set(point.index)
        for k, dims in enumerate(self.facts.depends):
            if k in self.facts.used and k not in point.values and dims <= known and k not in self.facts.edged:
                self.value(point, k)

    def value(self, point: Point, k: int, lanes: int = 0) -> Value:
        """Value ``k`` at ``point``: computed once, repeated over ``lanes`` if it is a scalar (0: as it comes)."""
        x = point.values.get(k)
        if x is None:
            x = self._compute(point, k)
            point.values[k] = x
        return x.splat(lanes) if lanes > 1 else x

    def _compute(self, point: Point, k: int) -> Value:
        nest, facts = self.nest, self.facts
        if k < facts.first_literal:
            return self._load(point, k)
        if k < facts.first_step:
            dtype, data = nest.literals[k - facts.first_literal]
            return self.f.constant(np.frombuffer(data, np.dtype(dtype))[0], dtype)
        operation = facts.operation(k)
        xs = [self.value(point, o) for o in operation.operands]
        lanes = max([x.lanes for x in xs], default=1)
        xs = [x.splat(lanes) for x in xs]
        if facts.calls and called.is_called(operation.function, [x.dtype for x in xs], operation.dtype):
            return called.call(operation.function, xs, nest.is_fast, facts.are_together)
        return vecmath.apply(operation.function, xs, operation.dtype, nest.is_fast)

    def side_by_side(self, points: Sequence[Point]) -> None:
        """Compute the values that are stored or folded at several points, one step at a time for all of them. Each step
        of a long chain waits for the one before, and a processor looks only a little ahead for other work."""
        if (self.facts.is_light or self.facts.calls) and len(points) > 1:
            for k in self.facts.inner:
                for p in points:
                    self.value(p, k)

    # ---------------------------------------------------------------------------------------------------------- memory

    def address(self, x: NestOperand, point: Point, base: str | None = None) -> str:
        """The address of an operand's element at ``point`` (its lane 0), counted from ``base`` if that is given."""
        f, base = self.f, x.pointer if base is None else base
        known, rest = self._offset(point, x.strides, size_of(x.dtype))
        if rest is not None:
            base = f.pure(f"getelementptr i8, ptr {base}, {rest.typed}", "u8", 1).text
        if known:
            base = f.pure(f"getelementptr i8, ptr {base}, i64 {known}", "u8", 1).text
        return base

    def _offset(self, point: Point, strides: Sequence[Index], size: int) -> tuple[int, Value | None]:
        """The bytes from the start of an operand to ``point`` (its lane 0): a known part, and the rest."""
        known, rest = 0, None
        for d, i in sorted(point.index.items()):
            stride = strides[d]
            if isinstance(stride, int) and stride == 0:
                continue
            if isinstance(stride, int):
                i, number = (None, i) if isinstance(i, int) else i.shifted or (i, 0)
                known += number * stride * size
            if i is None:
                continue
            scaled = self.f.index(stride * size) if isinstance(stride, int) else stride * size
            term = self.f.index(i) * scaled
            rest = term if rest is None else rest + term
        return known, rest

    def _load(self, point: Point, k: int) -> Value:
        x, f, width = self.loads[k], self.f, self.facts.width
        panel = point.panels.get(k)
        if panel is not None:
            return panel.read(panel.number(point.index), point.index[self.nest.lanes], width, self._read_mask(point))
        lane_stride = _lane_stride(x, point)
        if (box := self.nest.loads[k].box) >= 0:
            if not point.is_core:
                return self._load_within(point, k, box)
            holds = self.nest.boxes[box].holds
            if self.nest.loads[k].is_index or not holds:
                return f.constant(int(holds and x.dtype == "b1"), x.dtype)
        elif self.nest.loads[k].is_index:
            known, rest = self._offset(point, x.strides, 1)
            i = f.constant(known, "i8") if rest is None else rest + known
            if not isinstance(lane_stride, int) or lane_stride:
                lane = f.vector(list(range(width)), "i8") if width > 1 else f.constant(0, "i8")
                i = i.splat(width) + lane * f.index(lane_stride).splat(width)
            return i.to(x.dtype)
        address = self.address(x, point)
        if width == 1 or (isinstance(lane_stride, int) and lane_stride == 0):
            return memory.load(f, address, x.dtype, is_known=True)
        return memory.load_strided(f, address, lane_stride, x.dtype, width, self._read_mask(point), is_known=True)

    def _load_within(self, point: Point, k: int, box: int) -> Value:
        """Operand ``k`` at a point that may be outside of its box, where it is zero; or whether it is inside."""
        x, f, width, nest = self.loads[k], self.f, self.facts.width, self.nest
        outer, along = self._inside(point, box)
        if nest.loads[k].is_index:
            parts = [p for p in (outer, along) if p is not None]
            lanes = max([p.lanes for p in parts])
            first, *rest = [p.splat(lanes) for p in parts]
            return first & rest[0] if rest else first
        lane_stride = _lane_stride(x, point)
        if width > 1 and not (isinstance(lane_stride, int) and lane_stride == 0):
            mask = None if outer is None else outer.splat(width)
            for other in (along, self._read_mask(point)):
                mask = other if mask is None else mask if other is None else mask & other
            return memory.load_strided(f, self.address(x, point), lane_stride, x.dtype, width, mask, is_known=True)
        if width == 1 and along is not None:
            outer, along = along if outer is None else outer & along, None
        pointer = self.address(x, point)
        if outer is not None:
            pointer = f.pure(f"select {outer.typed}, ptr {pointer}, ptr {self._zero()}", "u8", 1).text
        value = memory.load(f, pointer, x.dtype, is_known=True)
        return value if along is None else select(along, value.splat(width), 0)

    def _zero(self) -> str:
        """The address of zeros."""
        if self._zeros is None:
            self._zeros = self.f.zeroed()
        return self._zeros

    def _inside(self, point: Point, box: int) -> tuple[Value | None, Value | None]:
        """Whether a point is in a box: as far as the outer dimensions tell, and for each lane; None: it is."""
        f, outer, along = self.f, None, None
        for d, bounds in enumerate(self.boxes[box]):
            if bounds is None:
                continue
            first, end = [f.index(i) for i in bounds]
            i, length = f.index(point.index[d]), (end - first).bits("u8")
            if d == self.nest.lanes:
                lane = f.vector(list(range(self.facts.width)), "i8") if self.facts.width > 1 else f.constant(0, "i8")
                at = (i - first).splat(self.facts.width) + lane
                along = at.bits("u8") < length.splat(self.facts.width)
            else:
                here = (i - first).bits("u8") < length
                outer = here if outer is None else outer & here
        return outer, along

    def _read_mask(self, point: Point) -> Value | None:
        """The mask for reading; None if all lanes are known to be in memory, though some may be masked for storing."""
        first, extent = point.index[point.lane_dim], self.nest.extents[point.lane_dim]
        is_whole = isinstance(first, int) and extent is not None and first + self.facts.width <= extent
        return None if is_whole else point.mask

    def prefetch(self, points: Sequence[Point], ahead: int = PREFETCHED) -> None:
        """Prefetch memory that is read some iterations later, where an iteration takes so long that the processor does
        not do so itself in time."""
        nest, facts = self.nest, self.facts
        is_fast = facts.is_light and len(nest.steps) <= SHORT_CHAIN
        is_left_over = points[0].mask is not None and not (facts.is_heavy or facts.ends_heavy)
        if nest.extents[nest.lanes] is not None or is_fast or is_left_over:
            return
        for k, x in enumerate(nest.loads):
            if x.strides[nest.lanes] == 1 and not x.is_index:
                line = max(1, CACHE_LINE // (facts.width * size_of(x.dtype)))  # vectors
                for p in points[::line]:
                    memory.prefetch(self.f, self.address(self.loads[k], p), ahead)

    def store(self, point: Point) -> None:
        """Write the stores of a point inside of all loops. All values are computed first, also those that are folded,
        since a store may overwrite an operand of another value."""
        for k in self.facts.folded:
            self.value(point, k)
        self._store_all(point, self.nest.stores, self._stores)

    def store_totals(self, point: Point, totals: Sequence[Value]) -> None:
        """Write the steps on the folded values ``totals``, and their stores."""
        for k, total in enumerate(totals):
            point.values[self.facts.first_fold + k] = total
        self._store_all(point, self.nest.post_stores, self._post_stores)

    def store_across(self, rows: Sequence[Point], totals: Sequence[Sequence[Value]]) -> None:
        """Write the steps on folded values, and their stores, for points whose results lie side by side in memory while
        lanes do not: squares of results are transposed before they are stored."""
        f, nest, width = self.f, self.nest, self.facts.width
        for p, values in zip(rows, totals, strict=True):
            for k, total in enumerate(values):
                p.values[self.facts.first_fold + k] = total
        columns = [[self.value(p, s.value, width) for p in rows] for s in nest.post_stores]
        for goal, values in zip(self._post_stores, columns, strict=True):
            for start in range(0, len(rows), width):
                p, group = rows[start], values[start : start + width]
                size = 1 << (len(group) - 1).bit_length()
                if size == 1:
                    self._store(p, goal, group[0])
                    continue
                mask = f.vector([k < len(group) for k in range(size)], "b1") if len(group) < size else None
                padded = [*group, *[group[-1]] * (size - len(group))]
                for first in range(0, width, size):
                    square = [x.shuffle(list(range(first, first + size))) for x in padded]
                    for k, x in enumerate(transposed(square), first):
                        at = p.inner({nest.lanes: p.index[nest.lanes] + k})
                        memory.store(f, self.address(goal, at), x, mask)

    def _store_all(self, point: Point, stores: Sequence[Store], operands: Sequence[NestOperand]) -> None:
        values = [self.value(point, s.value) for s in stores]
        for operand, x in zip(operands, values, strict=True):
            self._store(point, operand, x)

    def _store(self, point: Point, goal: NestOperand, x: Value) -> None:
        address, lane_stride, width = self.address(goal, point), _lane_stride(goal, point), self.facts.width
        if width == 1 or (isinstance(lane_stride, int) and lane_stride == 0):
            memory.store(self.f, address, x)
        else:
            memory.store_strided(self.f, address, lane_stride, x.splat(width), point.mask)


def _lane_stride(x: NestOperand, point: Point) -> Index:
    """The stride of an operand from one lane to the next; 0 if it has one element for all lanes of ``point``."""
    return x.strides[point.lane_dim] if point.lane_dim in point.index else 0
