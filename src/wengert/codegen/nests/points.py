"""What a nest computes at one point of its iteration space, and the loops that visit the points.

Every kind of kernel that :mod:`loops` writes stands on this: values that are computed once, as far out as they may be;
addresses; loops with whole vectors and with what is left over, and how many of them stand side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.codegen import memory, vecmath
from wengert.codegen.ir import Function, Value, select
from wengert.codegen.memory import size_of
from wengert.codegen.nests.panels import SQUARE, Panel, transposed
from wengert.codegen.target import Target

if TYPE_CHECKING:
    from wengert.codegen.nests.nest import Fold, Nest, Step, Store

UNROLLED = 12  # vectors of a loop of known length that become straight-line code
REDUCED_UNROLLED = 16  # indices of a reduced dimension of known length that do
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

Vector = tuple[Any, Value | None]
"""The index of lane 0, and which lanes count (None: all)."""


class Point:
    """Where in the iteration space code is being written: an index for each dimension known so far.

    An index is an int or a scalar value; that of the lane dimension is the index of lane 0, with a mask (None: all).
    """

    __slots__ = ("index", "lane_dim", "mask", "values")

    def __init__(self, index: dict[int, Any], lane_dim: int = -1, mask: Value | None = None) -> None:
        self.index, self.lane_dim, self.mask = index, lane_dim, mask
        self.values: dict[int, Value] = {}

    def inner(self, index: dict[int, Any], lane_dim: int = -1, mask: Value | None = None) -> Point:
        """A point further in, which knows what was computed here."""
        point = Point({**self.index, **index}, lane_dim if lane_dim >= 0 else self.lane_dim, mask or self.mask)
        point.values = dict(self.values)
        return point


def are_light_sums(before: Collection[str], after: Collection[str]) -> bool:
    """Whether sums of few steps, and what becomes of them, may be written several times side by side."""
    return len(before) <= 4 and LIGHT.issuperset([*before, *after])


class Points:
    """The function that is being written, the nest, and what follows from it."""

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

    def _summed(self, fold: Fold) -> tuple[int, ...]:
        return self._factors(fold) or (fold.value,)

    def _factors(self, fold: Fold) -> tuple[int, ...]:
        """The operands of the product that is summed, where it is one and a fused multiply-add saves its rounding."""
        k = fold.value - self.first_step
        if fold.combine != "add" or fold.dtype[0] != "f" or not self.target.has_fma or k < 0:
            return ()
        step = self.nest.steps[k]
        return step.operands if step.function == "multiply" else ()

    def _read_arguments(self) -> None:
        """What the kernel is called with: pointers, sizes and strides that its code does not hold, and its part."""
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

    def _size(self, n: int | None) -> Any:
        """A static size as int, a dynamic one as the value that comes next in ``sizes``."""
        if n is not None:
            return n
        slot = self.f.pure(f"getelementptr i64, ptr %sizes, i64 {self.n_sizes}", "u8", 1).text
        self.n_sizes += 1
        return self.f.pure(f"load i64, ptr {slot}", "i8", 1)

    # ----------------------------------------------------------------------------------------------------------- loops

    def _kept_loops(self, point: Point, dim: int, stop: int, body: Callable[[Point], None]) -> None:
        """Loops over the dimensions ``dim`` to ``stop``, but for the lanes, which ``body`` runs along."""
        if dim >= stop or dim == self.nest.lanes:
            body(point)
            return

        def inner(i: Any) -> None:
            below = point.inner({dim: i})
            self._hoist(below)
            self._kept_loops(below, dim + 1, stop, body)

        self._loop(*self._range(dim), 1, inner)

    def _reduced_loops(
        self,
        point: Point,
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

    def _range(self, dim: int) -> tuple[Any, Any]:
        if dim == 0 and self.nest.is_splittable:
            return self.begin, self.end
        return 0, self.extents[dim]

    def _reduced_range(self, dim: int, point: Point) -> tuple[Any, Any]:
        if not self.nest.has_pieces or dim != self.nest.n_kept:
            return 0, self.extents[dim]
        start = self.f.index(point.index[0]) * self.piece
        return start, self._least(start + self.piece, self.extents[dim])

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
        f.loop(self.f.index(start), self.f.index(stop), self.f.index(step), body, is_entered=is_known)

    def _blocks(
        self, between: tuple[Any, Any], many: int, body: Callable[[list[Vector]], None], within: int = 1
    ) -> None:
        """``body`` for the vectors of a range of lanes, ``many`` at once: (index of lane 0, mask or None) each."""
        left = min(many, 4) if self.target.vector_bytes == 64 else 1
        self._vectors(*between, many, body, self._is_heavy or self._ends_heavy, within, left)

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

    def _mask(self, i: Any, stop: Any) -> Value | None:
        """Which lanes, counted from index ``i``, stand before ``stop``."""
        if self.width == 1:
            return None
        lane = self.f.vector(list(range(self.width)), "i8")
        return lane.compare("lt", (self.f.index(stop) - self.f.index(i)).splat(self.width))

    def _whole(self, start: Any, stop: Any, many: int) -> Any:
        """Where a range ends without what is left over when it is taken ``many`` at a time."""
        if isinstance(start, int) and isinstance(stop, int):
            return stop - (stop - start) % many
        return self.f.index(start) + (self.f.index(stop) - self.f.index(start)) / many * many

    def _least(self, i: Any, limit: Any) -> Any:
        if isinstance(i, int) and isinstance(limit, int):
            return min(i, limit)
        i, limit = self.f.index(i), self.f.index(limit)
        return select(i.compare("lt", limit), i, limit)

    def _plus(self, i: Any, k: int) -> Any:
        return i + k if isinstance(i, int) or k else i

    # ------------------------------------------------------------------------------------------------ how much at once

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

    def _side_by_side(self, points: Sequence[Point]) -> None:
        """Compute what is stored or folded at several points, a step at a time for all of them: each step of a long
        chain waits for the one before, and a processor looks only so far ahead for others to do meanwhile."""
        if self._is_light and len(points) > 1:
            for k in self._inner:
                for p in points:
                    self._at(p, k, 0)

    def _prefetch(self, points: Sequence[Point], ahead: int = PREFETCHED) -> None:
        """Ask for what is read some turns later, where a turn takes so long that nobody else asks for it in time."""
        nest = self.nest
        is_fast = self._is_light and len(nest.steps) <= SHORT_CHAIN
        is_left_over = points[0].mask is not None and not (self._is_heavy or self._ends_heavy)
        if nest.extents[nest.lanes] is not None or is_fast or is_left_over:
            return
        for k, x in enumerate(nest.loads):
            if x.strides[nest.lanes] == 1 and not x.is_index:
                line = max(1, CACHE_LINE // (self.width * size_of(x.dtype)))  # vectors
                for p in points[::line]:
                    address = self._address(self._load_pointer[k], p, self.load_strides[k], size_of(x.dtype))
                    memory.prefetch(self.f, address, ahead)

    # ---------------------------------------------------------------------------------------------------------- values

    def _hoist(self, point: Point) -> None:
        """Compute here what depends on nothing further in."""
        known = set(point.index)
        for k, dims in enumerate(self._depends):
            if k in self._used and k not in point.values and dims <= known:
                self._at(point, k, 0)

    def _at(self, point: Point, k: int, lanes: int) -> Value:
        """Value ``k`` at ``point``: computed once, repeated over ``lanes`` if it is a scalar (0: as it comes)."""
        x = point.values.get(k)
        if x is None:
            x = self._compute(point, k)
            point.values[k] = x
        return x.splat(lanes) if lanes > 1 else x

    def _compute(self, point: Point, k: int) -> Value:
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

    def _offset(self, point: Point, strides: Sequence[Any], size: int) -> tuple[int, Value | None]:
        """The bytes from the start of an operand to ``point`` (its lane 0): a known part, and the rest."""
        known, rest = 0, None
        for d, i in sorted(point.index.items()):
            stride = strides[d]
            if isinstance(stride, int) and stride == 0:
                continue
            if isinstance(stride, int) and isinstance(i, int):
                known += i * stride * size
                continue
            scaled = self.f.index(stride) * size if not isinstance(stride, int) else self.f.index(stride * size)
            term = self.f.index(i) * scaled
            rest = term if rest is None else rest + term
        return known, rest

    def _address(self, base: str, point: Point, strides: Sequence[Any], size: int) -> str:
        known, rest = self._offset(point, strides, size)
        if rest is not None:
            base = self.f.pure(f"getelementptr i8, ptr {base}, {rest.typed}", "u8", 1).text
        if known:
            base = self.f.pure(f"getelementptr i8, ptr {base}, i64 {known}", "u8", 1).text
        return base

    def _load(self, point: Point, k: int) -> Value:
        load, strides, f = self.nest.loads[k], self.load_strides[k], self.f
        if k in self._panels:
            panel = self._panels[k]
            return panel.read(point.index[panel.dim], point.index[self.nest.lanes], self.width, point.mask)
        lane_stride = strides[point.lane_dim] if point.lane_dim >= 0 and point.lane_dim in point.index else 0
        if load.is_index:
            known, rest = self._offset(point, strides, 1)
            i = self.f.constant(known, "i8") if rest is None else rest + known
            if not isinstance(lane_stride, int) or lane_stride:
                lane = f.vector(list(range(self.width)), "i8") if self.width > 1 else f.constant(0, "i8")
                i = i.splat(self.width) + lane * self.f.index(lane_stride).splat(self.width)
            return i.to(load.dtype)
        address = self._address(self._load_pointer[k], point, strides, size_of(load.dtype))
        if self.width == 1 or (isinstance(lane_stride, int) and lane_stride == 0):
            return memory.load(f, address, load.dtype, is_known=True)
        return memory.load_strided(f, address, lane_stride, load.dtype, self.width, point.mask, is_known=True)

    def _turn(
        self, loads: Sequence[int], point: Point, dim: int, along: tuple[Any, Any], most: int, first: Any, many: int
    ) -> None:
        """Turn round what lies side by side along ``dim``: for the indices ``along`` it, at ``most`` so many, and for
        ``many`` lanes from ``first``. From here on ``_load`` reads these operands from their panels, until they are
        filled again."""
        self._panels = {k: Panel(self.f, self.nest.loads[k].dtype, most, dim, along[0], first, many) for k in loads}
        for k, panel in self._panels.items():
            self._fill(panel, k, point, along)

    def _fill(self, panel: Panel, k: int, point: Point, along: tuple[Any, Any]) -> None:
        f, lanes_dim, strides, size = self.f, self.nest.lanes, self.load_strides[k], size_of(panel.dtype)
        last = self._plus(self.extents[lanes_dim], -1)
        square = min(self.width, SQUARE)

        def columns(start: Any) -> None:
            lines = []
            for j in range(square):
                i = self._least(self.f.index(panel.first) + start + j, last)  # beyond the end the last is taken again
                lines.append(self._address(self._load_pointer[k], point.inner({lanes_dim: i}), strides, size))

            def block(i: Any, lanes: int) -> None:
                at = Point({panel.dim: i})
                values = [
                    memory.load(f, self._address(x, at, strides, size), panel.dtype, lanes, is_known=True)
                    for x in lines
                ]
                if lanes > 1 and not isinstance(along[0], int):
                    for x in lines:  # what the next block of rows begins with
                        memory.prefetch(f, self._address(x, at, strides, size), panel.length * size)
                if lanes == 1:
                    for j, x in enumerate(values):
                        panel.write(i, start + j, x)
                else:
                    for t, x in enumerate(transposed(values)):
                        panel.write(self._plus(i, t), start, x)

            whole = self._whole(*along, square)
            self._loop(along[0], whole, square, lambda i: block(i, square))
            self._loop(whole, along[1], 1, lambda i: block(i, 1), square)

        self._loop(0, self._least(self._plus(last, 1) - panel.first, panel.many), square, columns)

    def _store_all(self, point: Point, stores: Sequence[Store], first: int) -> None:
        """All values first, also those that are folded: a store may overwrite what another value is loaded from."""
        if stores is self.nest.stores:
            for fold in self.nest.folds:
                for k in self._summed(fold):
                    self._at(point, k, 0)
        values = [self._at(point, s.value, 0) for s in stores]
        for k, (s, x) in enumerate(zip(stores, values, strict=True)):
            self._store(point, x, s, first + k)

    def _store(self, point: Point, x: Value, store: Store, k: int) -> None:
        strides = self.store_strides[k]
        base = self.pointers[sum(not x.is_index for x in self.nest.loads) + k]
        address = self._address(base, point, strides, size_of(store.dtype))
        lane_stride = strides[point.lane_dim] if point.lane_dim >= 0 and point.lane_dim in point.index else 0
        if self.width == 1 or (isinstance(lane_stride, int) and lane_stride == 0):
            memory.store(self.f, address, x)
        else:
            memory.store_strided(self.f, address, lane_stride, x.splat(self.width), point.mask)


def f_value(f: Function, text: str) -> Value:
    return Value(f, text, "i8", 1)
