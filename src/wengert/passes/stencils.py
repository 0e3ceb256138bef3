"""Stencils: maps of shifted reads and of writes of regions become expressions at each point of one space.

A step is *inlined* if all that read it take it into their own expression: then it is in no array, and is computed again
for each place at which it is read. A step is a *root* if its result is stored. Which of both is decided from the end:

* what others read (an output, a product, a loop), or what would be computed too often, is a root,
* a map that one root reads through views, or that is written into a region, is inlined,
* a write of a region, zeros around a region, and parts side by side are inlined like maps, and as roots are one pass
  over their result, if that is no more work than writing the region in place.

A root that reads inlined steps becomes one instruction, a ``stencil``, which the pass after this one fuses with others
as if it were a map. Linear in the tape, but for the places at which a step is read, of which there are few.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from wengert.higher.bodies import interned
from wengert.ops.fused import stencil
from wengert.ops.kernels import NATIVE_DTYPES
from wengert.passes.elements import (
    AffineIndex,
    Box,
    NotAffineError,
    core_of,
    everywhere,
    into_region,
    through_view,
    value_of,
    whole,
)
from wengert.passes.fuse import IsNative, kinds_of
from wengert.passes.rematerialise import flops_an_element
from wengert.passes.simplify import drop_dead
from wengert.tape import Atom, Instr, Tape, Var

MOST_AGAIN = 24.0  # flops an element that are computed again rather than stored once and read at each place: fewer
MOST_AGAIN_IN_ALL = 40.0  # the same, for all values that one root computes at several places
CHEAP = 4.0  # flops an element that are computed again although the value is stored, or made beside its readers
MOST_NESTED = 2  # values read at several places, one in the expression of the other
MOST_STEPS = 64  # steps of an expression: its code is there twice
MOST_BOXES = 24
LEAST_CORE = 0.5  # the part of the points that the fast code must serve, at least
LEAST_CORE_OF_JOINS = 0.75  # the same, where parts could be made in place instead
LEAST_WRITTEN = 0.25  # the part of a result that must be written anew, or else it is written in place
FEWEST = 16  # elements; kernels of fewer would be compiled for too little work
STEPS = {"map": 1, "region": 2}
ROUNDS = 3  # if an expression becomes too long, parts of it are stored at the next round
FAR = 4  # arrays as large that are made between a step and the root that computes it


def stencils(tape: Tape, is_native: IsNative) -> Tape:
    """Turn maps of shifted reads and of written regions into single instructions; dead instructions are dropped."""
    if not any(i.op.kernel.placing or _is_part(i) for i in tape.instrs):
        return tape
    tape = drop_dead(tape)
    finder = _Finder(tape, is_native)
    roots = finder.roots()
    if not roots:
        return tape
    instrs = [roots.get(k, instr) for k, instr in enumerate(tape.instrs)]
    return drop_dead(tape.replace(instrs=tuple(instrs)))


def _is_part(instr: Instr) -> bool:
    """Whether an instruction is a view of a part of its operand."""
    return instr.op.kernel.is_view and instr.outs[0].aval.size < instr.ins[0].aval.size


class _Finder:
    """Decides which steps of a tape are inlined, and makes the stencils."""

    def __init__(self, tape: Tape, is_native: IsNative) -> None:
        self.tape = tape
        self.kinds = [_kind(i, kind, is_native) for i, kind in zip(tape.instrs, kinds_of(tape, is_native), strict=True)]
        self.maker = {v: k for k, i in enumerate(tape.instrs) for v in i.outs}
        self.operands: dict[tuple[int, AffineIndex], list[tuple[Atom, AffineIndex]]] = {}
        self.base: dict[Any, Any] = {}  # of a view: the value in whose memory it is
        self.last_read: dict[Any, int] = {}
        self.readers: dict[Any, int] = defaultdict(int)
        """How often a value is read, also through views."""
        for k, i in enumerate(tape.instrs):
            for a in i.ins:
                self.last_read[self.base.get(a, a)] = k
                self.readers[self.base.get(a, a)] += not i.op.kernel.is_view
            if i.op.kernel.is_view:
                self.base[i.outs[0]] = self.base.get(i.ins[0], i.ins[0])
        self.cost: dict[Any, float] = {}
        """The flops of an element, from values that are read more than once."""
        for i, kind in zip(tape.instrs, self.kinds, strict=True):
            if kind in ("map", "region"):
                own = flops_an_element(i) if kind == "map" else 1.0
                once = [b for b in [self.base.get(a, a) for a in i.ins] if self.readers[b] == 1]
                self.cost[i.outs[0]] = own + sum([self.cost.get(b, 0.0) for b in once])
        self.last_read.update({self.base.get(a, a): len(tape.instrs) for a in tape.outputs})

    def roots(self) -> dict[int, Instr]:
        """The stencils, by the number of the instruction in whose place each stands."""
        stored: set[Any] = set(self.tape.outputs)
        for attempt in range(ROUNDS):
            known: set[int] = set()
            for _ in range(2):  # at the second time it is known which roots are stencils when their operands come
                inlined, known = self._decide(stored, known)
            found: dict[int, Instr] = {}
            failed = set[Any]()
            for k in sorted(known):
                made = self._stencil(k, inlined, attempt > 0)
                if isinstance(made, Instr):
                    found[k] = made
                else:
                    failed |= made
            if not failed:
                break
            stored |= failed
        return found

    def _decide(self, always: set[Any], known: set[int]) -> tuple[set[tuple[Any, int]], set[int]]:
        """The values that are inlined, each with a root, and the numbers of the roots that read such values or write
        regions. ``always`` are values that are stored."""
        stored = set(always)
        read: dict[Any, dict[int, set[AffineIndex]]] = defaultdict(lambda: defaultdict(set))
        self.points: dict[Any, dict[int, int]] = defaultdict(dict)
        """The number of points of a root at which a value counts, at most."""
        steps: dict[int, int] = defaultdict(int)
        self.around: dict[Any, dict[int, tuple[int, int]]] = defaultdict(dict)
        """The number of values around a value, in a root, that are read at several places, and the most places."""
        self.again: dict[int, float] = defaultdict(float)
        """The flops that each root computes again."""
        inlined: set[tuple[Any, int]] = set()
        joining: set[int] = set()
        self.made_from = [0] * (len(self.tape.instrs) + 1)
        """The bytes of what is stored by each instruction and those behind it."""
        for k in range(len(self.tape.instrs) - 1, -1, -1):
            instr, kind = self.tape.instrs[k], self.kinds[k]
            is_array = not instr.op.kernel.is_view
            self.made_from[k] = self.made_from[k + 1] + is_array * sum([v.aval.nbytes for v in instr.outs])
            if not kind:
                stored.update(instr.ins)
                continue
            (v,) = instr.outs
            by_root = read.pop(v, {})
            around = self.around.pop(v, {})
            if kind != "view":
                around = {r: (n + (len(by_root[r]) > most), len(by_root[r])) for r, (n, most) in around.items()}
            if kind == "view":
                if v in stored:
                    stored.update(instr.ins)
            else:
                is_deep = any(n > MOST_NESTED for n, _ in around.values())
                if v in stored or is_deep or not self._is_inlined(k, by_root, known | joining, steps):
                    also = {} if v in stored or is_deep else self._also_inlined(k, by_root, known | joining, steps)
                    by_root = {k: {everywhere(v.aval.shape)}, **also}
                    self.points[v][k] = v.aval.size
                    if kind == "region":
                        joining.add(k)
                else:
                    also = by_root
                    self.made_from[k] = self.made_from[k + 1]
                for root, places in also.items():
                    joining.add(root)
                    inlined.add((v, root))
                    steps[root] += len(places) * STEPS[kind]
            for root, places in by_root.items():
                for at in places:
                    for a, below in self._operands(k, at):
                        if type(a) is Var and a.aval.shape:
                            count = self.points[v][root]
                            if kind == "region" and a is instr.ins[-1]:
                                count = min(count, _written(instr))
                            self.points[a][root] = max(count, self.points[a].get(root, 0))
                            read[a][root].add(below)
                            mine, own = around.get(root, (0, 1)), self.around[a].get(root, (0, 1))
                            self.around[a][root] = max(mine[0], own[0]), max(mine[1], own[1])
        return inlined, joining

    def _operands(self, k: int, at: AffineIndex) -> list[tuple[Atom, AffineIndex]]:
        """Where the operands of a step are read for an element that is read at ``at``. It is asked again each time that
        something is decided anew, so it is kept."""
        known = self.operands.get((k, at))
        if known is None:
            known = self.operands[k, at] = self._operands_of(self.tape.instrs[k], self.kinds[k], at)
        return known

    @staticmethod
    def _operands_of(instr: Instr, kind: str, at: AffineIndex) -> list[tuple[Atom, AffineIndex]]:
        shape = instr.outs[0].aval.shape
        if kind == "map":
            return [(a, at.broadcast(a.aval.shape, shape)) for a in instr.ins]
        if kind == "view":
            return [(instr.ins[0], through_view(instr, at))]
        if instr.op.kernel.placing == "joined":
            axis, start, found = instr.params["axis"], 0, []
            for a in instr.ins:
                offsets = list(at.offsets)
                offsets[axis] -= start
                found.append((a, at._replace(offsets=tuple(offsets))))
                start += a.aval.shape[axis]
            return found
        space = ((-(1 << 60), 1 << 60),) * at.ndim
        try:
            part = into_region(instr, at, space)
        except NotAffineError:
            return [(a, everywhere(a.aval.shape)) for a in instr.ins]  # the stencil will not be made
        *base, v = instr.ins
        return [*[(x, at) for x in base], (v, part.at.broadcast(v.aval.shape, part.shape))]

    def _is_inlined(
        self, k: int, by_root: dict[int, set[AffineIndex]], joining: set[int], steps: dict[int, int]
    ) -> bool:
        """Whether the roots that read a step compute it rather than read it from an array."""
        instr, kind = self.tape.instrs[k], self.kinds[k]
        (v,) = instr.outs
        if not by_root:
            return False
        times, itself = 0.0, everywhere(v.aval.shape)
        is_beside = kind == "region"
        for root, places in by_root.items():
            if (
                self.points[v][root] > 2 * v.aval.size
                or steps[root] + len(places) * STEPS[kind] > MOST_STEPS
                or self._is_far(k, root)
            ):
                return False
            times += len(places)
            is_beside |= places != {itself}
        if not is_beside and not joining.issuperset(by_root):
            return False
        if self.readers[v] > 1:  # else it is part of the cost of what reads it
            again = (times - 1) * self.cost[v]
            if again >= MOST_AGAIN or any(self.again[root] + again > MOST_AGAIN_IN_ALL for root in by_root):
                return False
            for root in by_root:
                self.again[root] += again
        return True

    def _also_inlined(
        self, k: int, by_root: dict[int, set[AffineIndex]], joining: set[int], steps: dict[int, int]
    ) -> dict[int, set[AffineIndex]]:
        """The stencils that compute a cheap map again which others read where it is made: else it would be stored for
        them alone."""
        (v,) = self.tape.instrs[k].outs
        if self.kinds[k] != "map" or self.cost[v] > CHEAP:
            return {}
        found = {
            root: places
            for root, places in by_root.items()
            if root in joining
            and len(places) * self.cost[v] <= CHEAP
            and steps[root] + len(places) <= MOST_STEPS
            and self.points[v][root] <= 2 * v.aval.size
            and not self._is_far(k, root)
        }
        return found if len(found) < len(by_root) else {}

    def _is_far(self, k: int, root: int) -> bool:
        """Whether several operands would have to be kept for long for the sake of one result."""
        instr = self.tape.instrs[k]
        if self.made_from[k + 1] - self.made_from[root] < FAR * instr.outs[0].aval.nbytes:
            return False
        read = {self.base.get(a, a) for a in instr.ins if a.aval.shape}
        return sum([self.last_read[a] < root for a in read]) > 1

    # ---------------------------------------------------------------------------------------------------- building

    def _stencil(self, root: int, inlined: set[tuple[Any, int]], is_last: bool) -> Instr | set[Any]:
        """The stencil of a root; or, if it would be no better than its steps, those of their results that are better
        stored."""
        steps, todo = set[int](), [root]
        while todo:
            k = todo.pop()
            if k in steps:
                continue
            steps.add(k)
            for a in self.tape.instrs[k].ins:
                j = self.maker.get(a) if type(a) is Var else None
                if j is not None and ((a, root) in inlined or self.kinds[j] == "view"):
                    todo.append(j)
        instrs = [self.tape.instrs[k] for k in sorted(steps)]
        instr, made = self.tape.instrs[root], {v for i in instrs for v in i.outs}
        inputs = tuple(dict.fromkeys([a for i in instrs for a in i.ins if type(a) is Var and a not in made]))
        body = Tape(inputs, (), tuple(instrs), instr.outs, name="stencil")
        count, others = _Count(), [self.tape.instrs[k] for k in steps if k != root]
        try:
            value_of(body, count)
            is_good = self._is_worth_it(instr, others, count)
        except NotAffineError:
            is_good = False
        if not is_good:
            return {i.outs[0] for i in others if (is_last and i.op.kernel.placing) or self.readers[i.outs[0]] > 1}
        return Instr(
            stencil,
            inputs,
            instr.outs,
            {"body": interned(body), "has_edges": count.boxes != {whole(instr.outs[0].aval.shape)}},
            instr.source,
        )

    def _is_worth_it(self, root: Instr, others: Sequence[Instr], count: _Count) -> bool:
        shape = root.outs[0].aval.shape
        boxes = [b for b in count.boxes if b != whole(shape)]
        if count.steps > 1.5 * MOST_STEPS or len(boxes) > MOST_BOXES or root.outs[0].aval.size < FEWEST:
            return False
        core = math.prod([last - first for first, last in core_of(shape, boxes)])
        has_joins = any(i.op.kernel.placing == "joined" for i in (root, *others))
        if core <= (LEAST_CORE_OF_JOINS if has_joins else LEAST_CORE) * root.outs[0].aval.size:
            return False
        if not root.op.kernel.placing:
            return True
        written = [i for i in (root, *others) if i.op.kernel.placing]
        is_computed = any(not (i.op.kernel.is_view or i.op.kernel.placing) for i in others)
        if root.op.kernel.is_update:
            base = root
            while base.op.kernel.is_update and base.ins[0] in self.maker:
                before = self.tape.instrs[self.maker[base.ins[0]]]
                if before not in others:
                    break
                base = before
            if base.op.kernel.is_update and not self._dies(base.ins[0], root):
                return True
        elements = sum([_written(i) for i in written])
        return is_computed and elements >= LEAST_WRITTEN * root.outs[0].aval.size

    def _dies(self, base: Atom, root: Instr) -> bool:
        """Whether ``root`` may write over the memory of ``base``."""
        if base not in self.maker or self.tape.instrs[self.maker[base]].op.kernel.is_view:
            return False
        return self.last_read[self.base.get(base, base)] <= self.maker[root.outs[0]]


def _written(instr: Instr) -> int:
    """The elements that a write of a region, or what joins parts, writes."""
    if instr.op.kernel.placing == "joined":
        return instr.outs[0].aval.size
    kernel: Any = instr.op.kernel
    region = kernel.layout(instr.outs[0].aval.shape, (1,) * instr.outs[0].aval.ndim, **instr.params)
    return math.prod(region.shape)


def _kind(instr: Instr, kind: str, is_native: IsNative) -> str:
    """ "map", "view", "region", or "" for what is in no stencil."""
    kernel = instr.op.kernel
    if kind == "map":
        return "map" if instr.outs[0].aval.shape else ""
    if not (kernel.is_view or kernel.placing) or not instr.outs[0].aval.size:
        return ""
    if any(a.aval.dtype not in NATIVE_DTYPES for a in (*instr.ins, *instr.outs)):
        return ""
    try:
        if kernel.is_view:
            through_view(instr, everywhere(instr.outs[0].aval.shape))
            return "view"
        dtype = instr.outs[0].aval.dtype
        if not instr.outs[0].aval.shape or any(a.aval.dtype != dtype for a in instr.ins):
            return ""
        if kernel.placing != "joined":
            into_region(instr, everywhere(instr.outs[0].aval.shape), whole(instr.outs[0].aval.shape))
        return "region" if kernel.placing != "add" or is_native("add", (dtype, dtype), dtype) else ""
    except NotAffineError:
        return ""


class _Count:
    """A sink that counts what an expression would compute."""

    def __init__(self) -> None:
        self.steps = 0
        self.boxes: set[Box] = set()

    def load(self, a: Atom, at: AffineIndex, box: Box) -> None:
        self.boxes.add(box)

    def step(self, instr: Instr, operands: Sequence[Any]) -> None:
        self.steps += 1 if instr.op.kernel.function else len(instr.params["body"].instrs)

    def choose(self, box: Box, within: Any, elsewhere: Any, like: Var) -> None:
        self.steps += 1
        self.boxes.add(box)

    def added(self, x: Any, v: Any, like: Var) -> None:
        self.steps += 1

    def zero(self, like: Var) -> None:
        pass
