"""Build the loop nest of a step of the plan: a map, a reduction, a small contraction, or several of them fused.

The shape of a nest is decided here: axes of length 1 are dropped, axes that lie one within the other in memory are
joined, and lanes go along the axis where memory is contiguous. Short nests have their sizes written into the code, long
ones get them at run time, so that one kernel serves every length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.codegen.calls import KernelCall, describe, short
from wengert.codegen.memory import size_of
from wengert.codegen.nests.channels import FEWEST_AT_ONCE, MOST_TAPS, MOST_TERMS, PART, taps_of
from wengert.codegen.nests.facts import Facts, are_light_sums
from wengert.codegen.nests.nest import Fold, Limits, Load, Nest, Operation, Range, Store
from wengert.codegen.nests.panels import FEWEST_LANES, FEWEST_ROWS, MAX_TRANSPOSED, is_transposed
from wengert.codegen.nests.products import opened, tiling_of
from wengert.codegen.strides import grain
from wengert.codegen.target import Target
from wengert.passes import elements
from wengert.passes.plan.instructions import MIN_PIECES, PIECE, is_in_code, operands
from wengert.passes.plan.places import Place, PlanStep
from wengert.tape import Atom, Aval, Instr, Lit, Tape, Var, key_of

WIDE = 128  # lanes: with fewer, adding to memory waits for the addition before (benchmarks/bench_memory.py)
SHARED = 1 << 20  # multiply-adds of a batch of products that are worth handing to a thread: 20 to 40 us
PART_ROWS = 64  # rows, or a multiple, that a thread takes of a shared product: it copies the operand that all rows read
EDGED_POINTS = 256  # likewise, if there are boxes
STATIC_POINTS = 2048  # a nest of at most so many points has its sizes written into its code
ROLLED_POINTS = 16  # likewise, in a tape whose loops were rolled up: its code serves any number of iterations
FEWEST_TERMS = 24  # terms of a sum from which on lanes may go along channels, and sums are transposed to be stored
FEWEST_PLACES = 256  # results from which on the weights of such sums are worth a panel
FULLER = 1.1  # how much fuller vectors along channels must be to be chosen (all: benchmarks/bench_convolution.py)
Ref = tuple[str, int]  # a value of a nest that is being built: ("load", 0), ("step", 3) ...


class _Operation(NamedTuple):
    """An :class:`Operation` before values have their numbers."""

    function: str
    operands: tuple[Ref, ...]
    dtype: str
    is_commutative: bool


class _Builder:
    """A nest that is being put together: dimensions as they come, kept ones first."""

    def __init__(self, target: Target, any_length: bool, extents: Sequence[int], n_kept: int) -> None:
        self.target = target
        self.extents = list(extents)
        self.any_length = any_length
        self.n_kept = n_kept
        self.loads: list[tuple[str, list[int], bool]] = []
        self.boxes: list[elements.Box] = []
        self.box_of: list[int] = []
        """The number of the box of each load, or -1."""
        self.load_places: list[Place | None] = []
        self.literals: list[tuple[str, bytes]] = []
        self.steps: list[_Operation] = []
        self.folds: list[tuple[str, Ref, str]] = []
        self.post: list[_Operation] = []
        self.stores: list[tuple[Ref, str, list[int], Place]] = []
        self.post_stores: list[tuple[Ref, str, list[int], Place]] = []
        self._known: dict[Any, Ref] = {}

    @property
    def has_reduced(self) -> bool:
        return len(self.extents) > self.n_kept

    def load(self, place: Place, strides: list[int], box: elements.Box | None = None) -> Ref:
        """An operand under byte strides, one a dimension; outside of ``box`` it is zero."""
        size, number = place.aval.dtype.itemsize, self._box(box)
        key = (id(place.buffer), place.offset, tuple(strides), place.aval.dtype, number)
        if key not in self._known:
            self._known[key] = ("load", len(self.loads))
            self.loads.append((short(place.aval.dtype), [s // size for s in strides], False))
            self.load_places.append(place)
            self.box_of.append(number)
        return self._known[key]

    def index(self, dtype: str, strides: list[int]) -> Ref:
        return self._index(dtype, strides, -1)

    def inside(self, box: elements.Box) -> Ref:
        """Whether a point is in ``box``."""
        key = ("inside", box)
        if key not in self._known:
            self._known[key] = self._index("b1", [0] * len(self.extents), self._box(box))
        return self._known[key]

    def _index(self, dtype: str, strides: list[int], box: int) -> Ref:
        self.loads.append((dtype, strides, True))
        self.load_places.append(None)
        self.box_of.append(box)
        return "load", len(self.loads) - 1

    def _box(self, box: elements.Box | None) -> int:
        if box is None or box == elements.whole(self.extents):
            return -1
        if box not in self.boxes:
            self.boxes.append(box)
        return self.boxes.index(box)

    def literal(self, a: Lit) -> Ref:
        key = a.key
        if key not in self._known:
            self._known[key] = ("literal", len(self.literals))
            self.literals.append((short(a.aval.dtype), a.value.tobytes()))
        return self._known[key]

    def step(
        self, function: str, operands: Sequence[Ref], dtype: str, is_commutative: bool = False, is_post: bool = False
    ) -> Ref:
        where = self.post if is_post else self.steps
        if is_commutative:  # x + y and y + x share a kernel
            operands = sorted(operands)
        where.append(_Operation(function, tuple(operands), dtype, is_commutative))
        return ("post" if is_post else "step"), len(where) - 1

    def fold(self, combine: str, value: Ref, dtype: str) -> Ref:
        if not self.has_reduced:
            return value
        self.folds.append((combine, value, dtype))
        return "fold", len(self.folds) - 1

    def store(self, value: Ref, place: Place, strides: list[int], is_post: bool = False) -> None:
        size = place.aval.dtype.itemsize
        where = self.post_stores if is_post else self.stores
        where.append((value, short(place.aval.dtype), [s // size for s in strides], place))

    # --------------------------------------------------------------------------------------------- finishing

    def call(
        self, name: str, instr: Instr | None, is_static: bool | None = None, work: Place | None = None
    ) -> KernelCall:
        """The nest on its memory; ``is_static``: its sizes are in its code (None: if it is short). With room to
        ``work`` in, a long reduction is cut into pieces."""
        rows = (
            [s for _, s, _ in self.loads] + [s for _, _, s, _ in self.stores] + [s for _, _, s, _ in self.post_stores]
        )
        order = [d for d in range(len(self.extents)) if self.extents[d] != 1]
        kept = [d for d in order if d < self.n_kept]
        reduced = [d for d in order if d >= self.n_kept]
        if not reduced and self.folds:
            self._without_folds()
            rows = [s for _, s, _ in self.loads] + [s for _, _, s, _ in self.stores]
        kept, reduced, lanes = self._choose_lanes(kept, reduced, rows, is_static=is_static is True)
        dims = [[d] for d in kept], [[d] for d in reduced]
        merged_kept, merged_reduced = [self._merged([d[0] for d in group], rows) for group in dims]
        if self.folds:
            merged_kept = self._with_shared_rows(merged_kept, lanes)
        groups = [*merged_kept, *merged_reduced]
        extents = [int(np.prod([self.extents[d] for d in g], dtype=np.int64)) for g in groups]
        inner = [g[-1] for g in groups]  # the innermost dimension has the stride of the group
        n_kept = len(merged_kept)
        if lanes >= 0:
            lanes = next(k for k, g in enumerate(groups) if lanes in g)
        points = int(np.prod(extents, dtype=np.int64)) if extents else 1
        most = ROLLED_POINTS if self.any_length else EDGED_POINTS if self.boxes else STATIC_POINTS
        is_static = points <= most if is_static is None else is_static
        is_shared = is_static and (n_kept > 2 or n_kept == lanes + 1 == 2) and points > SHARED
        # then only the number of products, or of rows of a single one, is not in the code
        sizes: list[int] = extents[:1] if is_shared else [] if is_static else list(extents)
        n_pieces, then = 0, None
        if work is not None and not is_static and self.folds and not merged_kept:
            piece = -(-PIECE // (points // extents[0]))  # a part of the outermost extent
            n_pieces = -(-extents[0] // piece)
            if n_pieces < MIN_PIECES:
                n_pieces = 0
            else:
                then = self._finish(work, n_pieces, name, instr)
                sizes = [n_pieces, *extents, piece]
                extents, n_kept, lanes = [n_pieces, *extents], 1, lanes + (lanes >= 0)

        def strides(row: list[int], of_piece: int = 0) -> tuple[int | None, ...]:
            out: list[int | None] = [of_piece] if n_pieces else []
            for k, d in enumerate(inner, n_pieces > 0):
                if is_static or row[d] in (-1, 0, 1) or (k == lanes and row[d] == 2):  # 2: a part of complex numbers
                    out.append(row[d])
                else:
                    sizes.append(row[d])
                    out.append(None)
            return tuple(out)

        def ranges(box: elements.Box, bounded: elements.Box) -> tuple[Range | None, ...]:
            """The ranges of ``box``, where ``bounded`` has bounds."""
            out: list[Range | None] = []
            for g, n in zip(groups, extents, strict=True):
                inner = n // self.extents[g[0]]  # only the outermost dimension of a group has bounds
                if bounded[g[0]] == (0, self.extents[g[0]]):
                    out.append(None)
                    continue
                first, end = [i * inner for i in box[g[0]]]
                if is_static:
                    out.append((first, end))
                else:
                    sizes.extend((first, end))
                    out.append((None, None))
            return tuple(out)

        core = elements.core_of(self.extents, self.boxes)
        number = self._numbers()

        def operation(step: _Operation) -> Operation:
            return Operation(step.function, tuple([number[r] for r in step.operands]), step.dtype)

        nest = Nest(
            extents=tuple([None, *extents[1:]] if is_shared else extents if is_static else [None] * len(extents)),
            n_kept=n_kept,
            lanes=lanes,
            loads=tuple(
                [
                    Load(dtype, strides(row), is_index, box)
                    for (dtype, row, is_index), box in zip(self.loads, self.box_of, strict=True)
                ]
            ),
            literals=tuple(self.literals),
            steps=tuple([operation(s) for s in self.steps]),
            stores=tuple([Store(number[v], dtype, strides(row)) for v, dtype, row, _ in self.stores]),
            folds=tuple([Fold(c, number[v], dtype) for c, v, dtype in self.folds]),
            post=tuple([operation(s) for s in self.post]),
            post_stores=tuple([Store(number[v], dtype, strides(row, 1)) for v, dtype, row, _ in self.post_stores]),
            core=ranges(core, core) if self.boxes else (),
            boxes=tuple([Limits(ranges(box, box), elements.is_part(core, box)) for box in self.boxes]),
            has_pieces=n_pieces > 0,
            is_wide=bool(self.folds) and not is_static and 0 <= lanes < n_kept and extents[lanes] >= WIDE,
        )
        places = [p for p in self.load_places if p is not None]
        places += [p for *_, p in self.stores] + [p for *_, p in self.post_stores]
        extent = extents[0] if extents else 1
        if (tiling := tiling_of(Facts(nest, self.target)) if is_static else None) is not None:
            nest, given = opened(nest, tiling)
            return KernelCall(nest, tuple(places), given, extent, 0, name, instr)
        if is_shared:
            part = -(-SHARED * extent // points)
            if n_kept == 2:
                part = -(-part // PART_ROWS) * PART_ROWS
            elif taps_of(Facts(nest, self.target)) is not None:
                part = max(part, PART)
        else:
            part = 1 if n_pieces else grain(extent, points, lanes == 0) if nest.is_splittable else 0
        stored = [] if n_pieces or not groups else [*self.stores, *self.post_stores]
        written = tuple([row[inner[0]] * p.aval.dtype.itemsize for _, _, row, p in stored])
        return KernelCall(nest, tuple(places), tuple(sizes), extent, part, name, instr, then=then, rows=written)

    def _finish(self, work: Place, n_pieces: int, name: str, instr: Instr | None) -> KernelCall:
        """Build the nest that folds the partial results of the pieces, in order, and does the steps after the folds.

        This builder keeps the steps before the folds, and stores the partial results.
        """
        last = _Builder(self.target, self.any_length, [n_pieces], 0)
        parts: list[Place] = []
        carried: dict[Ref, Ref] = {}
        for k, (combine, _, dtype) in enumerate(self.folds):
            aval = Aval((n_pieces,), np.dtype(dtype))
            parts.append(Place(work.buffer, work.offset + 8 * n_pieces * k, (aval.dtype.itemsize,), aval))
            carried["fold", k] = last.fold(combine, last.load(parts[k], [aval.dtype.itemsize]), dtype)

        def carry(ref: Ref) -> Ref:
            if ref not in carried:
                kind, k = ref
                if kind == "load":
                    place = self.load_places[k]
                    assert place is not None  # an index differs from point to point
                    carried[ref] = last.load(place, [0])
                elif kind == "literal":
                    last.literals.append(self.literals[k])
                    carried[ref] = "literal", len(last.literals) - 1
                else:
                    step = (self.steps if kind == "step" else self.post)[k]
                    refs = [carry(r) for r in step.operands]
                    carried[ref] = last.step(step.function, refs, step.dtype, step.is_commutative, is_post=True)
            return carried[ref]

        for value, _, _, place in self.post_stores:
            last.store(carry(value), place, [0], is_post=True)
        self.post, self.post_stores = [], []
        for k, part in enumerate(parts):
            self.store(("fold", k), part, [0] * len(self.extents), is_post=True)
        return last.call(name, instr, is_static=False)  # one kernel serves all lengths

    def _without_folds(self) -> None:
        """Drop folds over axes of length 1: each gives the value itself."""
        alias: dict[Ref, Ref] = {("fold", k): value for k, (_, value, _) in enumerate(self.folds)}
        for k, step in enumerate(self.post):
            self.steps.append(step._replace(operands=tuple([alias.get(r, r) for r in step.operands])))
            alias["post", k] = ("step", len(self.steps) - 1)
        self.stores += [(alias.get(v, v), dtype, row, place) for v, dtype, row, place in self.post_stores]
        self.folds, self.post, self.post_stores = [], [], []

    def _numbers(self) -> dict[Ref, int]:
        number: dict[Ref, int] = {}
        kinds = (
            ("load", self.loads),
            ("literal", self.literals),
            ("step", self.steps),
            ("fold", self.folds),
            ("post", self.post),
        )
        for kind, items in kinds:
            for k in range(len(items)):
                number[kind, k] = len(number)
        return number

    def _choose_lanes(
        self, kept: list[int], reduced: list[int], rows: list[list[int]], is_static: bool
    ) -> tuple[list[int], list[int], int]:
        """Return the dimensions in loop order, and the one that is vectorised: the one along which most operands are
        contiguous, or can be made so by a panel for all rows of a product."""
        candidates = kept if not self.folds else [*kept, *reduced]
        if not candidates:
            return kept, reduced, -1
        n_loads = len(self.loads)

        def score(d: int) -> tuple[float, int]:
            total = 0.0
            for k, row in enumerate(rows):
                is_memory = k >= n_loads or not self.loads[k][2]
                weight = 2 if k >= n_loads else 1
                if is_memory and row[d] != 0:
                    is_transposed = is_static and k < n_loads and self._is_transposed(row, kept, d, reduced)
                    total += weight if row[d] == 1 or is_transposed else -2 * weight
            return total * min(self.extents[d], 8), d

        best = max(candidates, key=score)
        if is_static and (channel := self._channels(kept, reduced, rows)) is not None:
            return [*[d for d in kept if d != channel], channel], reduced, channel
        for group in (kept, reduced):
            if best in group:
                group.remove(best)
                group.append(best)
        return kept, reduced, best

    def _channels(self, kept: list[int], reduced: list[int], rows: list[list[int]]) -> int | None:
        """The dimension of the channels of a convolution, if vectors are fuller along it than along a line; else
        None."""
        product = self.steps[-1] if self.steps else None
        if len(self.folds) != 1 or product is None or product.function != "multiply" or not self._are_light_sums():
            return None
        if {kind for kind, _ in product.operands} != {"load"} or len(kept) < 2 or not self.target.has_fma:
            return None
        n_loads = len(self.loads)
        first, second = [self.loads[k][1] for _, k in product.operands]
        for x, w in ((first, second), (second, first)):
            own = [d for d in kept if w[d] != 0]
            line = [d for d in kept if all(row[d] == 1 for row in rows[n_loads:])]
            if len(own) != 1 or len(line) != 1 or own == line or x[own[0]] != 0 or x[line[0]] == 0:
                continue
            (channel,), (along,), width = own, line, self.target.lanes(size_of(product.dtype))
            terms = int(np.prod([self.extents[d] for d in reduced], dtype=np.int64))
            others = [self.extents[d] for d in kept if d != channel]
            if self.extents[channel] < width or terms < FEWEST_TERMS or w[channel] == 1:
                continue
            if self._is_transposed(x, kept, along, reduced):
                continue
            filled = lambda d, width=width: self.extents[d] / (-(-self.extents[d] // width) * width)
            if terms > MOST_TERMS:
                taps = int(np.prod(others[1:], dtype=np.int64))
                if w[reduced[-1]] == 1 and taps <= MOST_TAPS and taps * others[0] >= FEWEST_AT_ONCE:
                    return channel
            elif np.prod(others) >= FEWEST_PLACES and (x[along] != 1 or filled(channel) > FULLER * filled(along)):
                return channel
        return None

    def _with_shared_rows(self, kept: list[list[int]], lanes: int) -> list[list[int]]:
        """Move next to the lanes a kept dimension all of whose indices read the same vectors, if one is long enough for
        a tile. So the windows of a convolution are read once for many channels, and not once for each row."""
        if len(kept) < 3 or lanes not in kept[-1]:
            return kept
        along = [row for _, row, is_index in self.loads if row[lanes] != 0 and not is_index]
        is_shared = lambda group: any(row[group[-1]] == 0 for row in along)
        if is_shared(kept[-2]):
            return kept
        rows = [g for g in kept[1:-2] if is_shared(g) and self.extents[g[-1]] >= FEWEST_ROWS]
        if not rows:
            return kept
        return [*[g for g in kept[:-1] if g is not rows[-1]], rows[-1], kept[-1]]

    def _is_transposed(self, row: list[int], kept: list[int], d: int, reduced: list[int]) -> bool:
        """Whether a panel holds this operand with its lanes along ``d``, for enough of them and enough rows."""
        around = [k for k in kept if k != d]  # the innermost of them numbers the rows
        if len(reduced) != 1 or not around or d not in kept or self.extents[reduced[0]] > MAX_TRANSPOSED:
            return False
        is_worth_it = self.extents[around[-1]] >= FEWEST_ROWS and self.extents[d] >= FEWEST_LANES
        return is_worth_it and self._are_light_sums() and is_transposed(row[around[-1]], row[d], row[reduced[0]])

    def _are_light_sums(self) -> bool:
        return are_light_sums([s.function for s in self.steps], [s.function for s in self.post])

    def _merged(self, dims: list[int], rows: list[list[int]]) -> list[list[int]]:
        """Join neighbouring dimensions that all operands step through as if they were one."""
        groups: list[list[int]] = []
        for d in dims:
            if groups:
                outer = groups[-1][-1]
                is_free = all(box[d] == (0, self.extents[d]) for box in self.boxes)
                if is_free and all(row[outer] == row[d] * self.extents[d] for row in rows):
                    groups[-1].append(d)
                    continue
            groups.append([d])
        return groups


def aligned_strides(place: Place, shape: Sequence[int]) -> list[int]:
    """Byte strides of an operand that is broadcast to ``shape``."""
    lead = len(shape) - place.aval.ndim
    own = [0 if n == 1 else s for n, s in zip(place.aval.shape, place.strides, strict=True)]
    return [0] * lead + own


def copy_nest(step: PlanStep, target: Target) -> KernelCall:
    """The nest that writes operand 0, broadcast, over the goal, or adds it to the goal."""
    (source,), (goal,) = step.ins, step.outs
    shape = goal.aval.shape
    b = _Builder(target, step.any_length, shape, len(shape))
    value = b.load(source, aligned_strides(source, shape))
    if source.aval.dtype != goal.aval.dtype:
        value = b.step("convert", [value], short(goal.aval.dtype))
    if step.what == "add":
        here = b.load(goal, list(goal.strides))
        dtype = short(goal.aval.dtype)
        value = b.step("add", [here, value], dtype, is_commutative=True)
    b.store(value, goal, list(goal.strides))
    return b.call("copy" if step.what == "copy" else "add in place", None)


def iota_call(step: PlanStep, target: Target) -> KernelCall:
    """The nest that writes each element's index."""
    instr, (goal,) = step.instr, step.outs
    assert instr is not None
    b = _Builder(target, step.any_length, instr.outs[0].aval.shape, 1)
    value = b.index("i8", [1])
    if short(goal.aval.dtype) != "i8":
        value = b.step("convert", [value], short(goal.aval.dtype))
    b.store(value, goal, list(goal.strides))
    return b.call("iota", instr)


def nest_call(step: PlanStep, target: Target) -> KernelCall:
    """The loop nest for a map, a reduction, a small contraction, or several of them fused."""
    instr = step.instr
    assert instr is not None
    if instr.op.kernel.is_fused:
        body = instr.params["body"]
        return _Lowering(body.instrs, step, instr, target).call()
    return _Lowering([instr], step, instr, target).call()


class _Lowering:
    """Writes the instructions of one step into a nest."""

    def __init__(self, instrs: Sequence[Instr], step: PlanStep, instr: Instr, target: Target) -> None:
        self.instrs, self.instr, self.step = instrs, instr, step
        self.places = {key_of(a): place for a, place in zip(operands(instr), step.ins, strict=True)}
        self.goals = dict(zip(instr.outs, step.outs, strict=True))
        self.contraction = next((i for i in instrs if i.op.kernel.is_contraction), None)
        fold = next((i for i in instrs if i.op.kernel.is_fold), None)
        self.labels: list[int] = []
        if self.contraction is not None:
            params = self.contraction.params
            self.labels = [*params["out"], *[k for k in params["a"] if k not in params["out"]]]
            self.labels += [k for k in params["b"] if k not in self.labels]
            x, y = self.contraction.ins
            lengths = {
                **dict(zip(params["a"], x.aval.shape, strict=True)),
                **dict(zip(params["b"], y.aval.shape, strict=True)),
            }
            self.space = self.kept = self.contraction.outs[0].aval.shape
            extents, self.n_kept = [lengths[k] for k in self.labels], len(params["out"])
            self.axes: list[int] = []
            self.order = list(range(self.n_kept))
        else:
            self.space = fold.ins[0].aval.shape if fold is not None else instrs[0].outs[0].aval.shape
            self.axes = list(fold.params["axis"]) if fold is not None else []
            self.order = [d for d in range(len(self.space)) if d not in self.axes]
            self.kept = tuple([self.space[d] for d in self.order])
            self.n_kept = len(self.order)
            extents = [self.space[d] for d in (*self.order, *self.axes)]
        self.b = _Builder(target, self.step.any_length, extents, self.n_kept)
        self.after: set[Any] = set()  # values after the reduction
        self.ref: dict[Any, Ref] = {}

    def call(self) -> KernelCall:
        for i in self.instrs:
            kernel: Any = i.op.kernel
            if kernel.is_contraction:
                self._contract(i)
            elif kernel.is_fold:
                self._fold(i, kernel.combine)
            else:
                is_post = any(a in self.after for a in i.ins)
                if self.after and (self.contraction is not None or self.kept != self.space):
                    is_post |= i.outs[0].aval.shape == self.kept
                self._map(i, is_post)
        for v, goal in self.goals.items():
            is_post = v in self.after
            self.b.store(self.ref[v], goal, self._spread(goal, is_post), is_post)
        is_static = None if self.contraction is None else True
        return self.b.call(describe(self.instr), self.instr, is_static, self.step.work)

    def _spread(self, place: Place, is_post: bool) -> list[int]:
        """Byte strides over the dimensions of the nest."""
        if is_post or self.contraction is not None:
            return aligned_strides(place, self.kept) + [0] * (len(self.b.extents) - self.n_kept)
        strides = aligned_strides(place, self.space)
        return [strides[d] for d in (*self.order, *self.axes)]

    def _operand(self, a: Atom, is_post: bool) -> Ref:
        known = self.ref.get(a)
        if known is not None:
            return known
        if type(a) is Lit and is_in_code(a):
            return self.b.literal(a)
        place = self.places[key_of(a)]
        return self.b.load(place, self._spread(place, is_post))

    def _map(self, i: Instr, is_post: bool) -> None:
        if i.op.kernel.reads_beside:
            self.ref[i.outs[0]] = elements.value_of(i.params["body"], _Stencil(self, i))
            return
        operands = [self._operand(a, is_post) for a in i.ins]
        is_late = is_post and self.b.has_reduced
        self.ref[i.outs[0]] = self.mapped(i, operands, is_late)
        if is_post:
            self.after.add(i.outs[0])

    def mapped(self, i: Instr, operands: Sequence[Ref], is_late: bool = False) -> Ref:
        """A map's value."""
        if i.op.kernel.function:
            return self._step(i, operands, is_late)
        inner: dict[Any, Ref] = dict(zip(i.params["body"].inputs, operands, strict=True))
        for j in i.params["body"].instrs:
            refs = [inner[a] if a in inner else self.b.literal(a) for a in j.ins]
            inner[j.outs[0]] = self._step(j, refs, is_late)
        last = i.params["body"].outputs[0]
        return inner[last] if last in inner else self.b.literal(last)

    def _step(self, i: Instr, operands: Sequence[Ref], is_late: bool) -> Ref:
        return self.b.step(i.op.kernel.function, operands, short(i.outs[0].aval.dtype), i.op.is_commutative, is_late)

    def _fold(self, i: Instr, combine: str) -> None:
        value = self._operand(i.ins[0], False)
        dtype = short(i.outs[0].aval.dtype)
        if dtype != short(i.ins[0].aval.dtype):
            value = self.b.step("convert", [value], dtype)
        self.ref[i.outs[0]] = self.b.fold(combine, value, dtype)
        if self.b.has_reduced:
            self.after.add(i.outs[0])

    def _contract(self, i: Instr) -> None:
        dtype = short(i.outs[0].aval.dtype)
        refs = []
        for a, labels in zip(i.ins, (i.params["a"], i.params["b"]), strict=True):
            if type(a) is Lit and is_in_code(a):
                refs.append(self.b.literal(a))
                continue
            place = self.places[key_of(a)]
            stride = {k: s for k, s, n in zip(labels, place.strides, place.aval.shape, strict=True) if n != 1}
            refs.append(self.b.load(place, [stride.get(k, 0) for k in self.labels]))
        multiply, add = ("logical_and", "logical_or") if dtype == "b1" else ("multiply", "add")
        product = self.b.step(multiply, refs, dtype, is_commutative=True)
        self.ref[i.outs[0]] = self.b.fold(add, product, dtype)
        if self.b.has_reduced:
            self.after.add(i.outs[0])


class _Stencil:
    """Writes the elements that a stencil is made of (:mod:`wengert.passes.elements`) into a nest."""

    def __init__(self, lowering: _Lowering, instr: Instr) -> None:
        self.lowering, self.b = lowering, lowering.b
        body: Tape = instr.params["body"]
        self.outside: dict[Any, Atom] = dict(zip(body.inputs, instr.ins, strict=True))
        self.dims = (*lowering.order, *lowering.axes)

    def load(self, a: Atom, at: elements.AffineIndex, box: elements.Box) -> Ref:
        if type(a) is Lit and is_in_code(a):
            return self.b.literal(a)
        place = self.lowering.places[key_of(self.outside.get(a, a))]
        offset = sum([o * s for o, s in zip(at.offsets, place.strides, strict=True)])
        strides = [sum([row[d] * s for row, s in zip(at.factors, place.strides, strict=True)]) for d in self.dims]
        return self.b.load(place._replace(offset=place.offset + offset), strides, self._turned(box))

    def step(self, instr: Instr, operands: Sequence[Ref]) -> Ref:
        return self.lowering.mapped(instr, operands)

    def choose(self, box: elements.Box, within: Ref, elsewhere: Ref, like: Var) -> Ref:
        inside = self.b.inside(self._turned(box))
        return self.b.step("select", [inside, within, elsewhere], short(like.aval.dtype))

    def added(self, x: Ref, v: Ref, like: Var) -> Ref:
        return self.b.step("add", [x, v], short(like.aval.dtype), is_commutative=True)

    def zero(self, like: Var) -> Ref:
        return self.b.literal(Lit(0, like.aval.dtype))

    def _turned(self, box: elements.Box) -> elements.Box:
        return tuple([box[d] for d in self.dims])
