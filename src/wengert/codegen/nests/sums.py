"""The ways to fold: which loops stand around which, where the accumulators are, and in what order they are added up.

Lanes along what is reduced: several accumulators, in chunks that are added pairwise (``_one_sum``), or a square of them
with a kept dimension beside it (``_square``). Lanes along a kept dimension: a sum for each lane, in registers, of
several rows and vectors at once where that is a tile of a product (``_lane_sums``, ``_tiles``), or in memory, where
there are many lanes (``_sums_in_memory``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.codegen import memory, vecmath
from wengert.codegen.ir import Value, llvm_type, select
from wengert.codegen.memory import size_of
from wengert.codegen.nests.panels import MAX_PANEL, MAX_TURNED, is_turned
from wengert.codegen.nests.points import MAX_UNROLLED, MEDIUM, Point, Points, Vector

if TYPE_CHECKING:
    from wengert.codegen.nests.nest import Fold

RUN = 64  # vectors of accumulators in memory
CHUNK = 64  # vectors in a row that are added one after the other, before partial sums are added pairwise
ROWS = {4: 4, 3: 5, 5: 3, 2: 8, 8: 2, 7: 2, 1: 8, 6: 2}
"""Shapes of a tile of a product of matrices: so many vectors, so many rows that share what is read. The best first."""
IDENTITY: dict[str, Callable[[str], Any]] = {
    "add": lambda dtype: -0.0 if dtype[0] == "f" else 0,  # -0.0 + x is x, for x = -0.0 too
    "multiply": lambda dtype: 1,
    "maximum": lambda dtype: -np.inf if dtype[0] == "f" else 0 if dtype == "b1" else np.iinfo(dtype).min,
    "minimum": lambda dtype: np.inf if dtype[0] == "f" else 1 if dtype == "b1" else np.iinfo(dtype).max,
    "logical_or": lambda dtype: 0,
    "logical_and": lambda dtype: 1,
}


class Sums(Points):
    def _one_sum(self, point: Point) -> None:
        """Everything that is reduced becomes one number (for this index of the kept dimensions)."""
        nest, f = self.nest, self.f
        if nest.lanes < 0:
            cells = [f.cell(f.constant(IDENTITY[fold.combine](fold.dtype), fold.dtype)) for fold in nest.folds]

            def innermost(index: dict[int, Any]) -> None:
                q = point.inner(index)
                self._store_all(q, nest.stores, 0)
                for cell, fold in zip(cells, nest.folds, strict=True):
                    f.write(cell, self._folded(fold, f.read(cell), q, 1))

            self._reduced_loops(point, {}, nest.n_kept, nest.ndim, innermost)
            totals = [f.read(cell) for cell in cells]
        else:
            many = 1 << self._many(4).bit_length() - 1  # accumulators are added up in pairs
            sums = self._chunked(nest.lanes, [point], lambda fold, rows: rows[0], many, self.width)
            totals = [self._across(fold, x) for fold, x in zip(nest.folds, sums, strict=True)]
        self._finish(point, totals)

    def _chunked(
        self, lane_dim: int, rows: list[Point], join: Callable[[Fold, list[Value]], Value], many: int, lanes: int
    ) -> list[Value]:
        """The folds of several rows along the lanes, with ``many`` accumulators each; ``join`` makes of a chunk's one
        value of ``lanes``."""
        nest, f, width = self.nest, self.f, self.width
        length = self.extents[lane_dim]
        outer = lane_dim - nest.n_kept  # reduced dimensions around the lanes
        is_short = outer == 0 and isinstance(length, int) and length <= CHUNK * width

        def run(index: dict[int, Any], start: Any, stop: Any) -> list[Value]:
            """The folds over one chunk."""
            cells = [[[f.cell(self._identity(fold)) for _ in range(many)] for fold in nest.folds] for _ in rows]

            def body(vectors: list[Vector]) -> None:
                for row, group in zip(rows, cells, strict=True):
                    points = [row.inner({**index, lane_dim: i}, lane_dim, mask) for i, mask in vectors]
                    self._prefetch(points)
                    self._side_by_side(points)
                    for k, q in enumerate(points):
                        self._store_all(q, nest.stores, 0)
                        for fold, slots in zip(nest.folds, group, strict=True):
                            cell = slots[k % many]
                            f.write(cell, self._folded(fold, f.read(cell), q, width))

            self._vectors(start, stop, many, body, self._is_heavy, len(rows))
            out = []
            for k, fold in enumerate(nest.folds):
                per_row = []
                for row in cells:
                    totals = [f.read(cell) for cell in row[k]]
                    while len(totals) > 1:
                        totals = [self._combine(fold, a, b) for a, b in zip(totals[::2], totals[1::2], strict=True)]
                    per_row.append(totals[0])
                out.append(join(fold, per_row))
            return out

        if is_short:
            return run({}, 0, length)
        stacks = [_Stack(self, fold, lanes) for fold in nest.folds]
        for stack in stacks:
            stack.clear()

        def along(index: dict[int, Any]) -> None:
            first, last = self._reduced_range(lane_dim, rows[0])

            def chunk(start: Any) -> None:
                stop = self._least(self.f.index(start) + CHUNK * width, last)
                for stack, x in zip(stacks, run(index, start, stop), strict=True):
                    stack.push(x)

            self._loop(first, last, CHUNK * width, chunk)

        self._reduced_loops(rows[0], {}, nest.n_kept, lane_dim, along)
        return [stack.total() for stack in stacks]

    def _is_short(self) -> bool:
        """Whether what is innermost may be written as often as there are lanes."""
        dear = sum(self._step(k).function in MEDIUM for k in self._inner if k >= self.first_step)
        return not self._is_heavy and self.width * (len(self._inner) + 14 * dear) <= MAX_UNROLLED

    def _square(self, point: Point) -> None:
        """Lanes along the last dimension, reduced, for as many indices of the last kept one as there are lanes."""
        nest, width = self.nest, self.width
        row_dim, lane_dim = nest.n_kept - 1, nest.ndim - 1
        stop = self._range(row_dim)[1]

        def body(vectors: list[Vector]) -> None:
            for first, mask in vectors:
                rows: list[Point] = []
                for r in range(width):
                    i = self._plus(first, r)
                    if isinstance(i, int) and isinstance(stop, int):
                        if i >= stop:
                            break
                    elif mask is not None:  # beyond the end the last row is taken again: its sum is not stored
                        i = self._least(i, self._plus(stop, -1))
                    p = point.inner({row_dim: i})
                    self._hoist(p)
                    rows.append(p)
                sums = self._chunked(lane_dim, rows, self._across_each, 1, width)
                self._finish(point.inner({row_dim: first}, row_dim, mask), sums)

        if nest.extents[row_dim] is not None or self._ends_heavy:
            self._vectors(*self._range(row_dim), 1, body, self._ends_heavy, width * self._points(nest.n_kept))
            return

        def row(i: Any) -> None:
            p = point.inner({row_dim: i})
            self._hoist(p)  # the lanes of each chunk first, and one accumulator: the bits must be those of a square
            self._finish(p, self._chunked(lane_dim, [p], lambda fold, rows: self._across(fold, rows[0]), 1, 1))

        start, end = [self.f.index(i) for i in self._range(row_dim)]
        whole = self._whole(start, end, width)
        self._loop(start, whole, width, lambda i: body([(i, None)]))
        self._loop(whole, end, 1, row)  # a square for what is left over would take as long again to compile

    def _lane_sums(self, rows: Sequence[Point]) -> None:
        """Lanes along the last kept dimension: every lane folds its own elements, one reduced index after the other."""
        many = self._wide if self._are_light_sums else 1
        within = len(rows) * self._points(self.nest.n_kept)
        self._blocks(self._range(self.nest.lanes), many, lambda vectors: self._sums_of(rows, vectors), within)

    def _sums_of(self, rows: Sequence[Point], vectors: Sequence[Vector]) -> None:
        nest, f = self.nest, self.f
        points = [row.inner({nest.lanes: i}, nest.lanes, mask) for row in rows for i, mask in vectors]
        for p in points:
            self._hoist(p)
        cells = [[f.cell(self._identity(fold)) for fold in nest.folds] for _ in points]

        def innermost(index: dict[int, Any]) -> None:
            for p, group in zip(points, cells, strict=True):
                q = p.inner(index)
                self._store_all(q, nest.stores, 0)
                for cell, fold in zip(group, nest.folds, strict=True):
                    f.write(cell, self._folded(fold, f.read(cell), q, self.width))

        self._reduced_loops(points[0], {}, nest.n_kept, nest.ndim, innermost, len(points))
        for p, group in zip(points, cells, strict=True):
            self._finish(p, [f.read(cell) for cell in group])

    @property
    def _all_depends_on_what_is_summed(self) -> bool:
        """Whether nothing is computed that is the same along what is summed, and would be computed again and again."""
        steps = [self._depends[k] for k in self._inner if k >= self.first_step]
        return all(self.nest.lanes not in dims or max(dims) >= self.nest.n_kept for dims in steps)

    def _sums_in_memory(self, point: Point) -> None:
        """The sums of ``_lane_sums`` with accumulators in memory, for many lanes at once: processors read ahead along
        lanes, and not across them."""
        nest, f, width = self.nest, self.f, self.width
        runs = [f.alloca(memory.memory_type(x.dtype, 1), RUN * width, self.target.vector_bytes) for x in nest.folds]
        start, stop = self._range(nest.lanes)

        def run(first: Any) -> None:
            last = self._least(self.f.index(first) + RUN * width, stop)

            def slot(k: int, i: Any) -> str:
                offset = (self.f.index(i) - first) * size_of(nest.folds[k].dtype)
                return f.pure(f"getelementptr i8, ptr {runs[k]}, {offset.typed}", "u8", 1).text

            def clear(i: Any) -> None:
                for k, fold in enumerate(nest.folds):
                    memory.store(f, slot(k, i), self._identity(fold))

            def innermost(index: dict[int, Any]) -> None:
                row = point.inner(index)
                self._hoist(row)
                following = {nest.ndim - 1: self._plus(index[nest.ndim - 1], 1)}

                def some(vectors: list[Vector]) -> None:
                    points = [row.inner({nest.lanes: i}, nest.lanes, mask) for i, mask in vectors]
                    self._prefetch([q.inner(following) for q in points], 0)
                    self._side_by_side(points)
                    for q in points:
                        self._store_all(q, nest.stores, 0)
                        for k, fold in enumerate(nest.folds):
                            at = slot(k, q.index[nest.lanes])
                            memory.store(f, at, self._folded(fold, memory.load(f, at, fold.dtype, width), q, width))

                self._vectors(first, last, self._many(4), some, self._is_heavy, 1)

            def finish(vectors: list[Vector]) -> None:
                for i, mask in vectors:
                    totals = [memory.load(f, slot(k, i), x.dtype, width) for k, x in enumerate(nest.folds)]
                    self._finish(point.inner({nest.lanes: i}, nest.lanes, mask), totals)

            self._loop(first, last, width, clear)
            self._reduced_loops(point, {}, nest.n_kept, nest.ndim, innermost, MAX_UNROLLED)
            self._vectors(first, last, 1, finish, self._ends_heavy, 1)

        self._loop(start, stop, RUN * width, run)

    def _tiles(self, point: Point) -> None:
        """Lanes along the last kept dimension, several indices of the one before at once: what they share is read
        once for all of them. Of a product of matrices that is a tile."""
        dim = self.nest.n_kept - 2
        start, stop = self._range(dim)
        turned, many = self._turned(), ROWS[self._wide]

        def rows(body: Callable[[list[Point]], None]) -> None:
            def some(i: Any, many: int) -> None:
                points = [point.inner({dim: self._plus(i, k)}) for k in range(many)]
                for p in points:
                    self._hoist(p)
                body(points)

            whole = self._whole(start, stop, many)
            self._loop(start, whole, many, lambda i: some(i, many))
            self._loop(whole, stop, 1, lambda i: some(i, 1))

        def columns(vectors: list[Vector]) -> None:
            turn(vectors[0][0], len(vectors))
            rows(lambda points: self._sums_of(points, vectors))

        def turn(first: Any, vectors: int) -> None:
            summed = 0, self.extents[-1]
            self._turn(turned, point, self.nest.ndim - 1, summed, self.extents[-1], first, vectors * self.width)

        if not turned:
            rows(self._lane_sums)
            return
        vectors = -(-self.extents[self.nest.lanes] // self.width)
        if vectors * self.extents[-1] * self.target.vector_bytes * len(turned) <= MAX_PANEL:
            turn(0, vectors)
            rows(self._lane_sums)
        else:
            self._blocks(self._range(self.nest.lanes), self._wide, columns, many * self._points(self.nest.n_kept))

    @property
    def _wide(self) -> int:
        """The vectors of a tile: such that none is left over, for that would be code of its own, if there is a way."""
        extent = self.nest.extents[self.nest.lanes]
        vectors = 4 if extent is None else -(-extent // self.width)
        return next((n for n in ROWS if vectors % n == 0 and (n > 2 or n == vectors)), 4)

    def _turned(self) -> list[int]:
        """The operands that are turned round, once for all rows."""
        nest = self.nest
        length = nest.extents[-1]
        if nest.ndim != nest.n_kept + 1 or length is None or length > MAX_TURNED:
            return []
        return [k for k, x in enumerate(nest.loads) if not x.is_index and is_turned(*x.strides[-3:])]

    def _finish(self, point: Point, totals: Sequence[Value]) -> None:
        """What is computed of the folded values, and stored."""
        for k, total in enumerate(totals):
            point.values[self.first_fold + k] = total
        self._store_all(point, self.nest.post_stores, len(self.nest.stores))

    # ----------------------------------------------------------------------------------------------------------- folds

    def _identity(self, fold: Fold) -> Value:
        return self.f.constant(IDENTITY[fold.combine](fold.dtype), fold.dtype, self.width)

    def _combine(self, fold: Fold, a: Value, b: Value) -> Value:
        return vecmath.apply(fold.combine, [a, b], fold.dtype)

    def _folded(self, fold: Fold, total: Value, point: Point, width: int) -> Value:
        """``total`` with the value at ``point`` folded in; lanes that are masked off change nothing."""
        factors = self._factors(fold)
        if factors:
            a, b = [self._at(point, k, width) for k in factors]
            return self._unmasked(point, self.f.intrinsic("fma", a, b, total), total)
        return self._unmasked(point, self._combine(fold, total, self._at(point, fold.value, width)), total)

    def _unmasked(self, point: Point, new: Value, old: Value) -> Value:
        is_kept = self.nest.lanes < self.nest.n_kept  # then nobody looks at the lanes that are masked off
        return new if point.mask is None or new.lanes == 1 or is_kept else select(point.mask, new, old)

    def _across_each(self, fold: Fold, rows: list[Value]) -> Value:
        """One vector whose lane r is the fold over the lanes of row r."""
        width = self.width
        vectors = [*rows, *[self._identity(fold)] * (width - len(rows))]
        even, odd = list(range(0, 2 * width, 2)), list(range(1, 2 * width, 2))
        while len(vectors) > 1:
            vectors = [
                self._combine(fold, a.shuffle(even, b), a.shuffle(odd, b))
                for a, b in zip(vectors[::2], vectors[1::2], strict=True)
            ]
        return vectors[0]

    def _across(self, fold: Fold, x: Value) -> Value:
        """The fold over the lanes of one vector: neighbours first, as in ``_transposed``."""
        while x.lanes > 2:
            even, odd = list(range(0, x.lanes, 2)), list(range(1, x.lanes, 2))
            x = self._combine(fold, x.shuffle(even), x.shuffle(odd))
        return self._combine(fold, x.lane(0), x.lane(1)) if x.lanes == 2 else x


class _Stack:
    """Partial results of chunks, combined pairwise: after chunk number n, as often as n ends in zeros in binary."""

    def __init__(self, emitter: Sums, fold: Fold, lanes: int) -> None:
        self.e, self.fold, self.lanes = emitter, fold, lanes
        f = emitter.f
        self.kind = llvm_type(fold.dtype, lanes)
        self.slots = f.alloca(self.kind, 64, align=emitter.target.vector_bytes)
        self.top, self.count = [f.cell(f.constant(0, "i8")) for _ in range(2)]

    def _slot(self, i: Value) -> str:
        return self.e.f.effect(f"getelementptr {self.kind}, ptr {self.slots}, {i.typed}", "u8").text

    def _load(self, i: Value) -> Value:
        return self.e.f.effect(f"load {self.kind}, ptr {self._slot(i)}", self.fold.dtype, self.lanes)

    def clear(self) -> None:
        for cell in (self.top, self.count):
            self.e.f.write(cell, self.e.f.constant(0, "i8"))

    def push(self, x: Value) -> None:
        f, e = self.e.f, self.e
        newest = f.cell(x)
        count = f.read(self.count)
        f.write(self.count, count + 1)
        # One combination for each trailing one of `count`: pairs of equal size.
        pairs = f.call("llvm.cttz.i64", "i8", 1, ~count, "i1 false")

        def pair(_: Any) -> None:
            top = f.read(self.top) - 1
            f.write(self.top, top)
            f.write(newest, e._combine(self.fold, self._load(top), f.read(newest)))

        e._loop(0, pairs, 1, pair)
        top = f.read(self.top)
        f.effect(f"store {f.read(newest).typed}, ptr {self._slot(top)}")
        f.write(self.top, top + 1)

    def total(self) -> Value:
        """What all pushes combine to. At least one chunk was pushed."""
        e, f = self.e, self.e.f
        top = f.read(self.top) - 1
        total = f.cell(self._load(top))

        def below(i: Any) -> None:
            f.write(total, e._combine(self.fold, self._load(top - i - 1), f.read(total)))

        e._loop(0, top, 1, below)
        return f.read(total)
