"""Facts that follow from a nest and a processor before any code is written: how wide vectors are, which values depend
on which dimensions, and how often code may be repeated, by its length (:class:`~wengert.codegen.vecmath.Weight`)."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from wengert.codegen import vecmath
from wengert.codegen.memory import size_of
from wengert.codegen.nests.nest import Fold, Nest, Operation, Store
from wengert.codegen.target import Target
from wengert.codegen.vecmath import FUNCTIONS, Weight, called

LONG_CHAIN = 24  # steps
LONG_AT_ONCE = {16: 4, 32: 6}  # vectors of such a chain, by the number of registers (benchmarks/bench_memory.py)
# Measured by benchmarks/bench_calls.py, for processors that look some hundred instructions ahead
MAX_INLINED = 3  # functions of some length in a kernel: more take longer to compile than calls cost
CALLED_AT_ONCE = 4  # vectors: a function that waits for the one before leaves the processor to those of another
MAX_UNROLLED = 256  # steps of a loop that is unrolled, or takes several vectors at once


def are_light_sums(before: Collection[str], after: Collection[str]) -> bool:
    """Whether the code of sums, and of the steps on them, is so short that it may be written several times."""
    return len(before) <= 4 and vecmath.weight_of([*before, *after]) == Weight.LIGHT


class Facts:
    """The facts about a nest on a processor. Values are numbered: loads, literals, steps, folds, post steps."""

    def __init__(self, nest: Nest, target: Target) -> None:
        self.nest, self.target = nest, target
        self.first_literal = len(nest.loads)
        self.first_step = self.first_literal + len(nest.literals)
        self.first_fold = self.first_step + len(nest.steps)
        self.first_post = self.first_fold + len(nest.folds)
        self.width = self._lane_count()
        before, after = [[s.function for s in steps] for steps in (nest.steps, nest.post)]
        self.are_light_sums = are_light_sums(before, after)
        self.folded = [k for fold in nest.folds for k in self.factors(fold) or (fold.value,)]
        """The values that are computed at each point and folded."""
        self.depends = self._dependencies()
        """The dimensions that each value before the folds depends on."""
        self.edged = self._edged()
        """The values that are other ones near an edge than within the core."""
        self.inner = sorted(self._needs(nest.stores, (), self.folded))
        """The values that are computed inside of all loops, or further out for them."""
        self.used = self._needs(nest.post_stores, nest.post, [x.value for x in nest.folds]) | set(self.inner)
        self.calls = self._is_better_called()
        """Whether functions of some length are called, rather than written where they are needed."""
        self.are_together = self._are_together()
        """Whether all functions that share a callee have one operand here: then one call computes all of them."""
        weight, last_weight = [self._weight_of(first, steps) for first, steps in self._parts()]
        self.is_light = weight == Weight.LIGHT and not self.calls
        self.is_heavy, self.ends_heavy = weight == Weight.HEAVY, last_weight == Weight.HEAVY

    @property
    def may_store_again(self) -> bool:
        """Whether the results of some lanes may be computed and stored twice. They may not if an operand is like the
        result, which may be stored over it."""
        nest = self.nest
        like = [x for x in nest.loads if x.strides[nest.lanes] != 0 and all(s == 0 for s in x.strides[nest.n_kept :])]
        return not nest.stores and not like

    def _lane_count(self) -> int:
        nest = self.nest
        if nest.lanes < 0:
            return 1
        dtypes = [x.dtype for x in (*nest.loads, *nest.steps, *nest.stores, *nest.folds, *nest.post)]
        width = self.target.lanes(max([size_of(d) for d in dtypes], default=8))
        extent = nest.extents[nest.lanes]
        while extent is not None and width > 1 and width // 2 >= extent:
            width //= 2
        return width

    def _dependencies(self) -> list[frozenset[int]]:
        bounded = [frozenset(d for d, r in enumerate(box.ranges) if r is not None) for box in self.nest.boxes]
        depends = [frozenset(d for d, s in enumerate(x.strides) if s != 0) for x in self.nest.loads]
        depends = [d if x.box < 0 else d | bounded[x.box] for d, x in zip(depends, self.nest.loads, strict=True)]
        depends += [frozenset()] * len(self.nest.literals)
        for step in self.nest.steps:
            depends.append(frozenset().union(*[depends[k] for k in step.operands]))
        return depends

    def _edged(self) -> frozenset[int]:
        edged = {k for k, x in enumerate(self.nest.loads) if x.box >= 0}
        for k, step in enumerate(self.nest.steps, self.first_step):
            if not edged.isdisjoint(step.operands):
                edged.add(k)
        return frozenset(edged)

    def _needs(self, stores: Sequence[Store], post: Sequence[Operation], values: Sequence[int]) -> set[int]:
        """The values that must be known for these, among them the loads."""
        needed = {s.value for s in stores} | set(values)
        for first, steps in ((self.first_post, post), (self.first_step, self.nest.steps)):
            for k in reversed(range(len(steps))):
                if first + k in needed:
                    needed.update(steps[k].operands)
        return needed

    def _parts(self) -> list[tuple[int, tuple[Operation, ...]]]:
        """The steps, and the post steps, each with the number of the first."""
        return [(self.first_step, self.nest.steps), (self.first_post, self.nest.post)]

    def _weight_of(self, first: int, steps: Sequence[Operation]) -> Weight:
        """The weight of those of these steps whose code is written here, and not called."""
        return vecmath.weight_of(
            [s.function for k, s in enumerate(steps, first) if not (self.calls and self._could_be_called(k))]
        )

    def _could_be_called(self, k: int) -> bool:
        function, operands, dtype = self.operation(k)
        return called.is_called(function, [self._dtype_of(o) for o in operands], dtype)

    def _is_better_called(self) -> bool:
        """Whether there are many functions, or one that waits for another; or one that is too long for a second copy,
        without a mask, in a loop of unknown length."""
        steps = [k for first, part in self._parts() for k in range(first, first + len(part)) if k in self.used]
        found, in_a_row = list[int](), dict[int, int]()
        for k in steps:
            in_a_row[k] = max([in_a_row.get(o, 0) for o in self.operation(k).operands], default=0)
            if self._could_be_called(k):
                in_a_row[k] += 1
                found.append(k)
        is_long = self.nest.lanes >= 0 and self.nest.extents[self.nest.lanes] is None
        return (
            len({self._call_of(k) for k in found}) > MAX_INLINED
            or max(in_a_row.values(), default=0) > 1
            or (is_long and any(FUNCTIONS[self.operation(k).function].weight == Weight.HEAVY for k in found))
        )

    def _call_of(self, k: int) -> tuple[str, tuple[int, ...]]:
        """A key that is equal for functions which one call computes."""
        function, operands, _ = self.operation(k)
        return (called.TOGETHER[0] if function in called.TOGETHER else function), operands

    def _dtype_of(self, k: int) -> str:
        if k < self.first_literal:
            return self.nest.loads[k].dtype
        if k < self.first_step:
            return self.nest.literals[k - self.first_literal][0]
        if self.first_fold <= k < self.first_post:
            return self.nest.folds[k - self.first_fold].dtype
        return self.operation(k).dtype

    def _are_together(self) -> bool:
        found: dict[tuple[int, ...], set[str]] = {}
        for step in (*self.nest.steps, *self.nest.post):
            found.setdefault(step.operands, set()).add(step.function)
        return any(found[operands].issuperset(called.TOGETHER) for operands in found)

    def operation(self, k: int) -> Operation:
        """The step or post step that computes value ``k``."""
        return self.nest.steps[k - self.first_step] if k < self.first_fold else self.nest.post[k - self.first_post]

    def factors(self, fold: Fold) -> tuple[int, ...]:
        """The operands of the product that is summed, where it is one and a fused multiply-add saves its rounding."""
        k = fold.value - self.first_step
        if fold.combine != "add" or fold.dtype[0] != "f" or not self.target.has_fma or k < 0:
            return ()
        step = self.nest.steps[k]
        return step.operands if step.function == "multiply" else ()

    @property
    def inner_steps(self) -> list[int]:
        return [k for k in self.inner if k >= self.first_step]

    # ------------------------------------------------------------------------------------------------ how much at once

    @property
    def registers(self) -> int:
        return self.target.registers

    def points_from(self, dim: int) -> int:
        """The number of points that the loops from ``dim`` inwards visit; a large number if it is known only at run
        time."""
        return math.prod([MAX_UNROLLED if n is None else n for n in self.nest.extents[dim:]])

    def unrolled(self, most: int, within: int = 1) -> int:
        """The number of iterations of a loop that may become straight-line code: at most ``most``, and fewer if they
        would take long to compile.

        ``within``: how often an iteration computes the innermost values.
        """
        return min(most, MAX_UNROLLED // max(1, within * len(self.inner))) if self.is_light else 1

    def vectors_at_once(self, most: int) -> int:
        """The number of vectors that a loop takes at once: up to ``most``, as registers and the length of code allow.

        Their values and the constants should fit into the registers. But if the steps are a long chain, a processor
        cannot begin the next iteration of the loop in time, and several vectors at once are worth storing some values.
        """
        if self.calls and not self.is_heavy:
            return max(1, min(most, CALLED_AT_ONCE, MAX_UNROLLED // len(self.inner)))
        if not self.is_light:
            return 1
        steps = self.inner_steps
        last_read = {o: k for k in steps for o in self.operation(k).operands}
        live, most_live = set[int](), 1  # operands can be read again, at little cost
        for k in steps:
            live = {x for x in live if last_read.get(x, self.first_fold) >= k} | {k}
            most_live = max(most_live, len(live))
        constants = [o for o in last_read if not self.depends[o]]
        fitting = (self.registers - 1 - len(constants)) // most_live
        many = LONG_AT_ONCE[self.registers] if len(steps) > LONG_CHAIN else fitting
        return max(1, min(most, many, MAX_UNROLLED // max(1, len(steps))))
