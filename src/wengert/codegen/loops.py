"""Loop nests: the kernels of elementwise expressions, of the views they read, and of the reductions they feed.

A :class:`Nest` says what is computed at each point of an iteration space, as data; :func:`emit` writes the loops. The
dimensions come outermost first, those that stay (*kept*) before those that are *reduced* away:

    for each kept index:
        for each reduced index:
            loads, steps;  stores;  fold values into accumulators
        steps on the folded values;  stores

* One dimension is the *lanes*: its elements fill a vector, what is left over is masked. With reductions there are three
  ways: lanes along a kept dimension (each lane has its own sum), lanes along a reduced one with a kept one beside it
  (a square of accumulators, transposed at the end into one vector of sums), and nothing kept (several accumulators).
* A value that does not depend on the inner dimensions is computed outside of their loops.
* Sums along lanes are cut into chunks whose partial sums are added pairwise, so that rounding errors grow like log n.
* An extent or stride of None is given at run time, in ``sizes``: one kernel serves every length.
* A long reduction that keeps nothing has pieces: each is folded to a number of its own, and another nest folds those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.codegen import memory, vecmath
from wengert.codegen.ir import Function, Target, Value, llvm_type, select
from wengert.codegen.memory import size_of
from wengert.codegen.panels import MAX_PANEL, MAX_TURNED, SQUARE, Panel, is_turned, transposed


class Load(NamedTuple):
    """Operand number = its place in ``Nest.loads``. Strides in elements, one a dimension; 0: does not depend on it."""

    dtype: str
    strides: tuple[int | None, ...]
    is_index: bool = False
    """No memory at all: the value is Σ index · stride."""


class Step(NamedTuple):
    """``function`` of values, by number: first the loads, then the literals, the steps, the folds, the post steps."""

    function: str
    operands: tuple[int, ...]
    dtype: str


class Store(NamedTuple):
    value: int
    dtype: str
    strides: tuple[int | None, ...]


class Fold(NamedTuple):
    combine: str
    value: int
    dtype: str


@dataclass(frozen=True)
class Nest:
    """A kernel, as data. Equal nests are one kernel."""

    extents: tuple[int | None, ...]
    n_kept: int
    lanes: int
    """The dimension whose elements fill a vector: the last kept one, or the last; -1 for scalar code."""
    loads: tuple[Load, ...]
    literals: tuple[tuple[str, bytes], ...]
    steps: tuple[Step, ...]
    stores: tuple[Store, ...]
    folds: tuple[Fold, ...] = ()
    post: tuple[Step, ...] = ()
    post_stores: tuple[Store, ...] = ()
    is_fast: bool = False
    has_pieces: bool = False
    """The one kept dimension numbers the pieces of the first reduced one; their length is given at run time."""

    def emit(self, name: str, target: Target) -> str:
        """The text of an LLVM module with the kernel ``name``."""
        return _Emitter(self, target).module(name)

    @property
    def ndim(self) -> int:
        return len(self.extents)

    @property
    def is_splittable(self) -> bool:
        """Whether the outermost loop runs from ``begin`` to ``end``, so that threads may share it."""
        return self.n_kept > 0 and self.extents[0] is None


RUN = 64  # vectors of accumulators in memory
CHUNK = 64  # vectors in a row that are added one after the other, before partial sums are added pairwise
UNROLLED = 12  # vectors of a loop of known length that become straight-line code
REDUCED_UNROLLED = 16  # indices of a reduced dimension of known length that do
ROWS = {4: 4, 3: 5, 5: 3, 2: 8, 8: 2, 7: 2, 1: 8, 6: 2}
"""Shapes of a tile of a product of matrices: so many vectors, so many rows that share what is read. The best first."""
MAX_VECTORS = 12  # side by side: a processor does four operations a cycle, and each waits three for the one before
SHORT_CHAIN = 8  # steps of a loop that memory keeps up with
PREFETCHED = 4096  # bytes ahead
CACHE_LINE = 64  # bytes
MAX_UNROLLED = 256  # steps of a loop that is unrolled, or takes several vectors at once
MAX_LANES = 16
# fmt: off
LIGHT = frozenset({
    "add", "subtract", "multiply", "negative", "square", "absolute", "fabs", "select", "convert", "maximum", "minimum",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_not",
    "sign", "sqrt", "divide", "positive", "reciprocal",
})
# fmt: on
"""Functions of a few instructions: a loop of them is unrolled."""
MEDIUM = frozenset({"exp", "exp2", "log", "log2", "log10", "tanh", "expit", "expm1", "log1p"})
"""Functions of some tens: a copy for the whole vectors, and one for the rest. A kernel with any other is written with
one loop, all of it masked: a second copy would cost more time to compile than it saves to run."""
IDENTITY: dict[str, Callable[[str], Any]] = {
    "add": lambda dtype: -0.0 if dtype[0] == "f" else 0,  # -0.0 + x is x, for x = -0.0 too
    "multiply": lambda dtype: 1,
    "maximum": lambda dtype: -np.inf if dtype[0] == "f" else 0 if dtype == "b1" else np.iinfo(dtype).min,
    "minimum": lambda dtype: np.inf if dtype[0] == "f" else 1 if dtype == "b1" else np.iinfo(dtype).max,
    "logical_or": lambda dtype: 0,
    "logical_and": lambda dtype: 1,
}


Vector = tuple[Any, Value | None]
"""The index of lane 0, and which lanes count (None: all)."""


class _Point:
    """Where in the iteration space code is being written: an index for each dimension known so far.

    An index is an int or a scalar value; that of the lane dimension is the index of lane 0, with a mask (None: all).
    """

    __slots__ = ("index", "lane_dim", "mask", "values")

    def __init__(self, index: dict[int, Any], lane_dim: int = -1, mask: Value | None = None) -> None:
        self.index, self.lane_dim, self.mask = index, lane_dim, mask
        self.values: dict[int, Value] = {}

    def inner(self, index: dict[int, Any], lane_dim: int = -1, mask: Value | None = None) -> _Point:
        """A point further in, which knows what was computed here."""
        point = _Point({**self.index, **index}, lane_dim if lane_dim >= 0 else self.lane_dim, mask or self.mask)
        point.values = dict(self.values)
        return point


def are_light_sums(before: Collection[str], after: Collection[str]) -> bool:
    """Whether sums of few steps, and what becomes of them, may be written several times side by side."""
    return len(before) <= 4 and LIGHT.issuperset([*before, *after])


class _Emitter:
    def __init__(self, nest: Nest, target: Target) -> None:
        self.nest = nest
        self.target = target
        self.f = Function(target)
        self.n_loads = len(nest.loads)
        self.n_literals = len(nest.literals)
        self._panels: dict[int, Panel] = {}
        self.first_step = self.n_loads + self.n_literals
        self.first_fold = self.first_step + len(nest.steps)
        self.first_post = self.first_fold + len(nest.folds)
        self.width = self._lane_count()
        functions, after = [{s.function for s in steps} for steps in (nest.steps, nest.post)]
        self._is_heavy = not functions <= LIGHT | MEDIUM
        self._is_light = functions <= LIGHT
        self._ends_heavy = not after <= LIGHT | MEDIUM
        self._are_light_sums = are_light_sums([s.function for s in nest.steps], after)
        self._depends = self._dependencies()
        self._inner = sorted(self._needs(nest.stores, (), [k for x in nest.folds for k in self._summed(x)]))
        self._used = self._needs(nest.post_stores, nest.post, [x.value for x in nest.folds]) | set(self._inner)

    # --------------------------------------------------------------------------------------------- preparation

    def _lane_count(self) -> int:
        nest = self.nest
        if nest.lanes < 0:
            return 1
        dtypes = [x.dtype for x in (*nest.loads, *nest.steps, *nest.stores, *nest.folds, *nest.post)]
        widest = max([size_of(d) for d in dtypes], default=8)
        width = min(self.target.vector_bytes // widest, MAX_LANES)
        extent = nest.extents[nest.lanes]
        while extent is not None and width > 1 and width // 2 >= extent:
            width //= 2
        return max(width, 1)

    def _dependencies(self) -> list[frozenset[int]]:
        """The dimensions that each value before the folds depends on."""
        depends = [frozenset(d for d, s in enumerate(x.strides) if s != 0) for x in self.nest.loads]
        depends += [frozenset()] * self.n_literals
        for step in self.nest.steps:
            depends.append(frozenset().union(*[depends[k] for k in step.operands]))
        return depends

    def _needs(self, stores: Sequence[Store], post: Sequence[Step], values: Sequence[int]) -> set[int]:
        """The values that must be known for these, among them the loads."""
        needed = {s.value for s in stores} | set(values)
        for k in range(len(post) - 1, -1, -1):
            if self.first_post + k in needed:
                needed.update(post[k].operands)
        for k in range(len(self.nest.steps) - 1, -1, -1):
            if self.first_step + k in needed:
                needed.update(self.nest.steps[k].operands)
        return needed

    def module(self, name: str) -> str:
        f, nest = self.f, self.nest
        self.pointers: list[str] = []
        for k in range(sum(not x.is_index for x in nest.loads) + len(nest.stores) + len(nest.post_stores)):
            slot = f.pure(f"getelementptr ptr, ptr %pointers, i64 {k}", "u8", 1).text
            self.pointers.append(f.pure(f"load ptr, ptr {slot}", "u8", 1).text)
        self._load_pointer: list[str] = []
        taken = 0
        for x in nest.loads:
            self._load_pointer.append("" if x.is_index else self.pointers[taken])
            taken += not x.is_index
        self.n_sizes = 0
        self.extents = [self._size(n) for n in nest.extents]
        self.piece = self._size(None) if nest.has_pieces else 0
        self.load_strides = [[self._size(s) for s in x.strides] for x in nest.loads]
        self.store_strides = [[self._size(s) for s in x.strides] for x in (*nest.stores, *nest.post_stores)]
        self.begin, self.end = f_value(f, "%begin"), f_value(f, "%end")
        self._run()
        f.lines.append("  ret i32 0")
        return f.kernel(name)

    def _size(self, n: int | None) -> Any:
        """A static size as int, a dynamic one as the value that comes next in ``sizes``."""
        if n is not None:
            return n
        slot = self.f.pure(f"getelementptr i64, ptr %sizes, i64 {self.n_sizes}", "u8", 1).text
        self.n_sizes += 1
        return self.f.pure(f"load i64, ptr {slot}", "i8", 1)

    # --------------------------------------------------------------------------------------------------- loops

    def _run(self) -> None:
        nest = self.nest
        point = _Point({})
        self._hoist(point)
        if not nest.folds:
            self._kept_loops(point, 0, nest.ndim, self._elementwise)
        elif nest.lanes < 0 or nest.lanes >= nest.n_kept:
            if nest.n_kept and nest.lanes >= 0 and not nest.stores and not nest.has_pieces and self._is_short():
                self._kept_loops(point, 0, nest.n_kept - 1, self._square)
            else:
                self._kept_loops(point, 0, nest.n_kept, self._one_sum)
        elif nest.n_kept > 1 and self._are_light_sums:
            self._kept_loops(point, 0, nest.n_kept - 2, self._tiles)
        elif nest.extents[nest.lanes] is None and self._all_depends_on_what_is_summed:
            self._kept_loops(point, 0, nest.n_kept - 1, self._sums_in_memory)
        else:
            self._kept_loops(point, 0, nest.n_kept - 1, lambda row: self._lane_sums([row]))

    def _kept_loops(self, point: _Point, dim: int, stop: int, body: Callable[[_Point], None]) -> None:
        """Loops over the dimensions ``dim`` to ``stop``, but for the lanes, which ``body`` runs along."""
        if dim >= stop or dim == self.nest.lanes:
            body(point)
            return

        def inner(i: Any) -> None:
            below = point.inner({dim: i})
            self._hoist(below)
            self._kept_loops(below, dim + 1, stop, body)

        self._loop(*self._range(dim), 1, inner)

    def _range(self, dim: int) -> tuple[Any, Any]:
        if dim == 0 and self.nest.is_splittable:
            return self.begin, self.end
        return 0, self.extents[dim]

    def _reduced_range(self, dim: int, point: _Point) -> tuple[Any, Any]:
        if not self.nest.has_pieces or dim != self.nest.n_kept:
            return 0, self.extents[dim]
        start = self._value(point.index[0]) * self.piece
        stop, limit = start + self.piece, self._value(self.extents[dim])
        return start, select(stop.compare("lt", limit), stop, limit)

    def _loop(self, start: Any, stop: Any, step: Any, body: Callable[[Any], None], unroll: int = 0) -> None:
        """``for i in range(start, stop, step)``; unrolled if it is short and everything is known."""
        f = self.f
        if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
            trips = max(0, -(-(stop - start) // step))
            if trips <= max(1, unroll):
                for i in range(start, stop, step):
                    body(i)
                return
        is_known = isinstance(start, int) and isinstance(stop, int)
        f.loop(self._value(start), self._value(stop), self._value(step), body, is_entered=is_known)

    def _blocks(self, dim: int, many: int, body: Callable[[list[Vector]], None], within: int = 1) -> None:
        """``body`` for the vectors along ``dim``, ``many`` at once: (index of lane 0, mask or None) each."""
        left = min(many, 4) if self.target.vector_bytes == 64 else 1
        self._vectors(*self._range(dim), many, body, self._is_heavy or self._ends_heavy, within, left)

    def _mask(self, i: Any, stop: Any) -> Value | None:
        """Which lanes, counted from index ``i``, stand before ``stop``."""
        if self.width == 1:
            return None
        lane = self.f.vector(list(range(self.width)), "i8")
        return lane.compare("lt", (self._value(stop) - self._value(i)).splat(self.width))

    def _whole(self, start: Any, stop: Any, many: int) -> Any:
        """Where a range ends without what is left over when it is taken ``many`` at a time."""
        if isinstance(start, int) and isinstance(stop, int):
            return stop - (stop - start) % many
        return self._value(start) + (self._value(stop) - self._value(start)) / many * many

    def _value(self, i: Any) -> Value:
        return self.f.constant(i, "i8") if isinstance(i, int) else i

    def _plus(self, i: Any, k: int) -> Any:
        return i + k if isinstance(i, int) or k else i

    # -------------------------------------------------------------------------------------------------- bodies

    def _elementwise(self, point: _Point) -> None:
        nest = self.nest
        if nest.lanes < 0:
            self._store_all(point, nest.stores, 0)
            return

        def body(vectors: list[Vector]) -> None:
            points = [point.inner({nest.lanes: i}, nest.lanes, mask) for i, mask in vectors]
            self._prefetch(points)
            self._side_by_side(points)
            for p in points:
                self._store_all(p, nest.stores, 0)

        self._blocks(nest.lanes, self._many(2 if len(nest.steps) <= SHORT_CHAIN else MAX_VECTORS), body)

    def _prefetch(self, points: Sequence[_Point], ahead: int = PREFETCHED) -> None:
        """Ask for what is read some turns later, where a turn takes so long that nobody else asks for it in time."""
        nest = self.nest
        is_short = nest.extents[nest.lanes] is not None or (self._is_light and len(nest.steps) <= SHORT_CHAIN)
        is_left_over = points[0].mask is not None and not (self._is_heavy or self._ends_heavy)
        if is_short or is_left_over:
            return
        for k, x in enumerate(nest.loads):
            if x.strides[nest.lanes] == 1 and not x.is_index:
                line = max(1, CACHE_LINE // (self.width * size_of(x.dtype)))  # vectors
                for p in points[::line]:
                    address = self._address(self._load_pointer[k], p, self.load_strides[k], size_of(x.dtype))
                    memory.prefetch(self.f, address, ahead)

    def _many(self, most: int) -> int:
        """How many vectors a loop takes at once: up to ``most``, as registers and the length of the code allow."""
        if not self._is_light:
            return 1
        steps = [k for k in self._inner if k >= self.first_step]  # operands can be read again, at little cost
        last_read = {o: k for k in steps for o in self._step(k).operands}
        live, most_live = set[int](), 1
        for k in steps:
            live = {x for x in live if last_read.get(x, self.first_fold) >= k} | {k}
            most_live = max(most_live, len(live))
        registers = 32 if self.target.vector_bytes == 64 else 16
        return max(1, min(most, -(-registers // most_live), MAX_UNROLLED // max(1, len(steps))))

    def _unrolled(self, most: int, within: int = 1) -> int:
        """How many turns of a loop may become straight-line code: ``most``, or as many as are compiled in no time.

        ``within``: how often a turn computes what is innermost.
        """
        return min(most, MAX_UNROLLED // max(1, within * len(self._inner))) if self._is_light else 1

    def _points(self, dim: int) -> int:
        """How many points the loops from ``dim`` inwards visit; many, if that is known at run time."""
        return math.prod([MAX_UNROLLED if n is None else n for n in self.nest.extents[dim:]])

    def _is_short(self) -> bool:
        """Whether what is innermost may be written as often as there are lanes."""
        dear = sum(self._step(k).function in MEDIUM for k in self._inner if k >= self.first_step)
        return not self._is_heavy and self.width * (len(self._inner) + 14 * dear) <= MAX_UNROLLED

    def _side_by_side(self, points: Sequence[_Point]) -> None:
        """Compute what is stored or folded at several points, a step at a time for all of them: each step of a long
        chain waits for the one before, and a processor looks only so far ahead for others to do meanwhile."""
        if self._is_light and len(points) > 1:
            for k in self._inner:
                for p in points:
                    self._at(p, k, 0)

    def _tiles(self, point: _Point) -> None:
        """Lanes along the last kept dimension, several indices of the one before at once: what they share is read
        once for all of them. Of a product of matrices that is a tile."""
        dim = self.nest.n_kept - 2
        start, stop = self._range(dim)
        turned, many = self._turned(), ROWS[self._wide]

        def rows(body: Callable[[list[_Point]], None]) -> None:
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
            self._panels = {k: self._panel(point, k, first, vectors * self.width) for k in turned}

        if not turned:
            rows(self._lane_sums)
            return
        vectors = -(-self.extents[self.nest.lanes] // self.width)
        if vectors * self.extents[-1] * self.target.vector_bytes * len(turned) <= MAX_PANEL:
            turn(0, vectors)
            rows(self._lane_sums)
        else:
            self._blocks(self.nest.lanes, self._wide, columns, many * self._points(self.nest.n_kept))

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
        if nest.ndim != nest.n_kept + 1 or length is None or length > MAX_TURNED or nest.extents[-2] is None:
            return []
        return [k for k, x in enumerate(nest.loads) if not x.is_index and is_turned(*x.strides[-3:])]

    def _panel(self, point: _Point, k: int, first: Any, many: int) -> Panel:
        """Operand ``k`` for so many lanes from ``first``, one index of what is summed after the other."""
        nest, f = self.nest, self.f
        dtype, strides, size = nest.loads[k].dtype, self.load_strides[k], size_of(nest.loads[k].dtype)
        length, last = self.extents[-1], self._value(self.extents[nest.lanes] - 1)
        panel = Panel(f, dtype, length, first, many)
        square = min(self.width, SQUARE)

        def columns(start: Any) -> None:
            lines = []
            for j in range(square):
                i = self._value(first) + start + j
                i = select(i.compare("lt", last), i, last)  # beyond the end the last is taken again: it is not stored
                lines.append(self._address(self._load_pointer[k], point.inner({nest.lanes: i}), strides, size))

            def block(i: Any, lanes: int) -> None:
                at = _Point({nest.ndim - 1: i})
                values = [
                    memory.load(f, self._address(x, at, strides, size), dtype, lanes, is_known=True) for x in lines
                ]
                if lanes == 1:
                    for j, x in enumerate(values):
                        panel.write(i, start + j, x)
                else:
                    for t, x in enumerate(transposed(values)):
                        panel.write(self._plus(i, t), start, x)

            whole = length - length % square
            self._loop(0, whole, square, lambda i: block(i, square))
            self._loop(whole, length, 1, lambda i: block(i, 1), square)

        self._loop(0, many, square, columns)
        return panel

    def _lane_sums(self, rows: Sequence[_Point]) -> None:
        """Lanes along the last kept dimension: every lane folds its own elements, one reduced index after the other."""
        many = self._wide if self._are_light_sums else 1
        within = len(rows) * self._points(self.nest.n_kept)
        self._blocks(self.nest.lanes, many, lambda vectors: self._sums_of(rows, vectors), within)

    def _sums_of(self, rows: Sequence[_Point], vectors: Sequence[Vector]) -> None:
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

    def _sums_in_memory(self, point: _Point) -> None:
        """The sums of ``_lane_sums`` where each element takes its time: of many lanes at once, with accumulators in
        memory, since processors read ahead along lanes and not across them."""
        nest, f, width = self.nest, self.f, self.width
        runs = [f.alloca(memory.memory_type(x.dtype, 1), RUN * width, self.target.vector_bytes) for x in nest.folds]
        start, stop = self._range(nest.lanes)

        def run(first: Any) -> None:
            last = self._value(first) + RUN * width
            last = select(last.compare("lt", self._value(stop)), last, self._value(stop))

            def slot(k: int, i: Any) -> str:
                offset = (self._value(i) - first) * size_of(nest.folds[k].dtype)
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

    def _reduced_loops(
        self,
        point: _Point,
        index: dict[int, Any],
        dim: int,
        stop: int,
        body: Callable[[dict[int, Any]], None],
        many: int = 1,
    ) -> None:
        """``body`` for the indices of the reduced dimensions from ``dim``, which computes ``many`` points of each."""
        if dim >= stop:
            body(index)
            return

        def inner(i: Any) -> None:
            self._reduced_loops(point, {**index, dim: i}, dim + 1, stop, body, many)

        turns = self._unrolled(REDUCED_UNROLLED, many * self._points(dim + 1))
        self._loop(*self._reduced_range(dim, point), 1, inner, turns)

    def _square(self, point: _Point) -> None:
        """Lanes along the last dimension, reduced, for as many indices of the last kept one as there are lanes."""
        nest, width = self.nest, self.width
        row_dim, lane_dim = nest.n_kept - 1, nest.ndim - 1
        stop = self._range(row_dim)[1]

        def body(vectors: list[Vector]) -> None:
            for first, mask in vectors:
                rows: list[_Point] = []
                for r in range(width):
                    i = self._plus(first, r)
                    if isinstance(i, int) and isinstance(stop, int):
                        if i >= stop:
                            break
                    elif mask is not None:  # beyond the end the last row is taken again: its sum is not stored
                        end = self._value(stop) - 1
                        i = select(self._value(i).compare("lt", end), self._value(i), end)
                    p = point.inner({row_dim: i})
                    self._hoist(p)
                    rows.append(p)
                sums = self._chunked(lane_dim, rows, self._transposed, 1, width)
                self._finish(point.inner({row_dim: first}, row_dim, mask), sums)

        if nest.extents[row_dim] is not None or self._ends_heavy:
            self._vectors(*self._range(row_dim), 1, body, self._ends_heavy, width * self._points(nest.n_kept))
            return

        def row(i: Any) -> None:
            p = point.inner({row_dim: i})
            self._hoist(p)  # the lanes of each chunk first, and one accumulator: the bits must be those of a square
            self._finish(p, self._chunked(lane_dim, [p], lambda fold, rows: self._across(fold, rows[0]), 1, 1))

        start, end = [self._value(i) for i in self._range(row_dim)]
        whole = self._whole(start, end, width)
        self._loop(start, whole, width, lambda i: body([(i, None)]))
        self._loop(whole, end, 1, row)  # a square for what is left over would take as long again to compile

    def _finish(self, point: _Point, totals: Sequence[Value]) -> None:
        """What is computed of the folded values, and stored."""
        for k, total in enumerate(totals):
            point.values[self.first_fold + k] = total
        self._store_all(point, self.nest.post_stores, len(self.nest.stores))

    def _one_sum(self, point: _Point) -> None:
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
        self, lane_dim: int, rows: list[_Point], join: Callable[[Fold, list[Value]], Value], many: int, lanes: int
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
            limit = self._value(last)

            def chunk(start: Any) -> None:
                stop = self._value(start) + CHUNK * width
                stop = select(stop.compare("lt", limit), stop, limit)
                for stack, x in zip(stacks, run(index, start, stop), strict=True):
                    stack.push(x)

            self._loop(first, last, CHUNK * width, chunk)

        self._reduced_loops(rows[0], {}, nest.n_kept, lane_dim, along)
        return [stack.total() for stack in stacks]

    def _vectors(
        self,
        start: Any,
        stop: Any,
        many: int,
        body: Callable[[list[Vector]], None],
        is_heavy: bool,
        within: int,
        left: int = 1,
    ) -> None:
        """``body`` for the vectors of a range: ``many`` at once, then those left over, masked, ``left`` at once.

        One that ``is_heavy`` is written once, with a mask throughout. For ``within`` see ``_unrolled``.
        """
        width = self.width
        if is_heavy and not (isinstance(stop, int) and stop - start <= width):
            self._loop(start, stop, width, lambda i: body([(i, self._mask(i, stop))]))
            return
        if isinstance(start, int) and isinstance(stop, int):
            full, rest = divmod(stop - start, width)
            whole = full - full % many
            self._loop(
                start,
                start + whole * width,
                many * width,
                lambda i: body([(self._plus(i, k * width), None) for k in range(many)]),
                self._unrolled(UNROLLED, within) // many,
            )
            last: list[Vector] = [(start + k * width, None) for k in range(whole, full)]
            if rest:
                mask = self.f.vector([k < rest for k in range(width)], "b1") if width > 1 else None
                last.append((start + full * width, mask))
            if last:
                body(last)
            return
        whole = self._whole(start, stop, many * width)
        self._loop(start, whole, many * width, lambda i: body([(self._plus(i, k * width), None) for k in range(many)]))
        if many * width > 1:

            def masked(i: Any) -> None:
                indices = [self._plus(i, k * width) for k in range(left)]
                body([(j, self._mask(j, stop)) for j in indices])

            self._loop(whole, stop, left * width, masked)

    # ---------------------------------------------------------------------------------------------------- folds

    def _identity(self, fold: Fold) -> Value:
        return self.f.constant(IDENTITY[fold.combine](fold.dtype), fold.dtype, self.width)

    def _combine(self, fold: Fold, a: Value, b: Value) -> Value:
        return vecmath.apply(fold.combine, [a, b], fold.dtype)

    def _folded(self, fold: Fold, total: Value, point: _Point, width: int) -> Value:
        """``total`` with the value at ``point`` folded in; lanes that are masked off change nothing."""
        factors = self._factors(fold)
        if factors:
            a, b = [self._at(point, k, width) for k in factors]
            return self._unmasked(point, self.f.intrinsic("fma", a, b, total), total)
        return self._unmasked(point, self._combine(fold, total, self._at(point, fold.value, width)), total)

    def _summed(self, fold: Fold) -> tuple[int, ...]:
        return self._factors(fold) or (fold.value,)

    def _factors(self, fold: Fold) -> tuple[int, ...]:
        """The operands of the product that is summed, where it is one and a fused multiply-add saves its rounding."""
        k = fold.value - self.first_step
        if fold.combine != "add" or fold.dtype[0] != "f" or not self.target.has_fma or k < 0:
            return ()
        step = self.nest.steps[k]
        return step.operands if step.function == "multiply" else ()

    def _unmasked(self, point: _Point, new: Value, old: Value) -> Value:
        is_kept = self.nest.lanes < self.nest.n_kept  # then nobody looks at the lanes that are masked off
        return new if point.mask is None or new.lanes == 1 or is_kept else select(point.mask, new, old)

    def _transposed(self, fold: Fold, rows: list[Value]) -> Value:
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

    # --------------------------------------------------------------------------------------------------- values

    def _hoist(self, point: _Point) -> None:
        """Compute here what depends on nothing further in."""
        known = set(point.index)
        for k, dims in enumerate(self._depends):
            if k in self._used and k not in point.values and dims <= known:
                self._at(point, k, 0)

    def _at(self, point: _Point, k: int, lanes: int) -> Value:
        """Value ``k`` at ``point``: computed once, repeated over ``lanes`` if it is a scalar (0: as it comes)."""
        x = point.values.get(k)
        if x is None:
            x = self._compute(point, k)
            point.values[k] = x
        return x.splat(lanes) if lanes > 1 else x

    def _compute(self, point: _Point, k: int) -> Value:
        nest = self.nest
        if k < self.n_loads:
            return self._load(point, k)
        if k < self.first_step:
            dtype, data = nest.literals[k - self.n_loads]
            return self.f.constant(np.frombuffer(data, np.dtype(dtype))[0], dtype)
        step = self._step(k)
        xs = [self._at(point, o, 0) for o in step.operands]
        lanes = max([x.lanes for x in xs], default=1)
        return vecmath.apply(step.function, [x.splat(lanes) for x in xs], step.dtype, nest.is_fast)

    def _step(self, k: int) -> Step:
        return self.nest.steps[k - self.first_step] if k < self.first_fold else self.nest.post[k - self.first_post]

    def _offset(self, point: _Point, strides: Sequence[Any], size: int) -> tuple[int, Value | None]:
        """The bytes from the start of an operand to ``point`` (its lane 0): a known part, and the rest."""
        known, rest = 0, None
        for d, i in sorted(point.index.items()):
            stride = strides[d]
            if isinstance(stride, int) and stride == 0:
                continue
            if isinstance(stride, int) and isinstance(i, int):
                known += i * stride * size
                continue
            scaled = self._value(stride) * size if not isinstance(stride, int) else self._value(stride * size)
            term = self._value(i) * scaled
            rest = term if rest is None else rest + term
        return known, rest

    def _address(self, base: str, point: _Point, strides: Sequence[Any], size: int) -> str:
        known, rest = self._offset(point, strides, size)
        if rest is not None:
            base = self.f.pure(f"getelementptr i8, ptr {base}, {rest.typed}", "u8", 1).text
        if known:
            base = self.f.pure(f"getelementptr i8, ptr {base}, i64 {known}", "u8", 1).text
        return base

    def _load(self, point: _Point, k: int) -> Value:
        load, strides, f = self.nest.loads[k], self.load_strides[k], self.f
        if k in self._panels:
            return self._panels[k].read(point.index[self.nest.ndim - 1], point.index[self.nest.lanes], self.width)
        lane_stride = strides[point.lane_dim] if point.lane_dim >= 0 and point.lane_dim in point.index else 0
        if load.is_index:
            known, rest = self._offset(point, strides, 1)
            i = self.f.constant(known, "i8") if rest is None else rest + known
            if not isinstance(lane_stride, int) or lane_stride:
                lane = f.vector(list(range(self.width)), "i8") if self.width > 1 else f.constant(0, "i8")
                i = i.splat(self.width) + lane * self._value(lane_stride).splat(self.width)
            return i.to(load.dtype)
        address = self._address(self._load_pointer[k], point, strides, size_of(load.dtype))
        if self.width == 1 or (isinstance(lane_stride, int) and lane_stride == 0):
            return memory.load(f, address, load.dtype, is_known=True)
        return memory.load_strided(f, address, lane_stride, load.dtype, self.width, point.mask, is_known=True)

    def _store_all(self, point: _Point, stores: Sequence[Store], first: int) -> None:
        """All values first, also those that are folded: a store may overwrite what another value is loaded from."""
        if stores is self.nest.stores:
            for fold in self.nest.folds:
                for k in self._summed(fold):
                    self._at(point, k, 0)
        values = [self._at(point, s.value, 0) for s in stores]
        for k, (s, x) in enumerate(zip(stores, values, strict=True)):
            self._store(point, x, s, first + k)

    def _store(self, point: _Point, x: Value, store: Store, k: int) -> None:
        strides = self.store_strides[k]
        base = self.pointers[sum(not x.is_index for x in self.nest.loads) + k]
        address = self._address(base, point, strides, size_of(store.dtype))
        lane_stride = strides[point.lane_dim] if point.lane_dim >= 0 and point.lane_dim in point.index else 0
        if self.width == 1 or (isinstance(lane_stride, int) and lane_stride == 0):
            memory.store(self.f, address, x)
        else:
            memory.store_strided(self.f, address, lane_stride, x.splat(self.width), point.mask)


class _Stack:
    """Partial results of chunks, combined pairwise: after chunk number n, as often as n ends in zeros in binary."""

    def __init__(self, emitter: _Emitter, fold: Fold, lanes: int) -> None:
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


def f_value(f: Function, text: str) -> Value:
    return Value(f, text, "i8", 1)
