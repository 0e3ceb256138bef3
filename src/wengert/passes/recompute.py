"""Recompute: an array that a product reads much later is computed again from arrays that are kept anyway.

The pullback of ``y = sigmoid(z)`` reads z, and the pullback of the product with the next layer's weights reads y: each
layer keeps two arrays for the backward part. If y is elementwise in arrays that are kept anyway, and cheap beside the
product, it is computed again just before the product, into memory that all layers reuse. And if several kept arrays are
made of one, as the exponential and the mask of an exponential unit, that one is kept in their place. Linear in the
tape.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from wengert.passes.fuse import IsNative, kind_of
from wengert.passes.rematerialise import flops_an_element
from wengert.tape import Atom, Instr, Tape, Var

MIN_BYTES = 1 << 17  # smaller arrays are not worth it
MOST_FLOPS = 20.0  # to compute an element from the kept values: an exponential and a few steps around it
MOST_STEPS = 8
FAR = 4  # arrays as large that are made meanwhile


def recompute(tape: Tape, is_native: IsNative) -> Tape:
    """Compute such arrays twice, rather than keep them."""
    large = [i.outs[0] for i in tape.instrs if _is_map(i, is_native) and i.outs[0].aval.nbytes >= MIN_BYTES]
    if not large:
        return tape
    uses = _Uses(tape, is_native)
    inserted: dict[int, list[Instr]] = defaultdict(list)  # before an instruction
    names: dict[int, dict[Var, Var]] = defaultdict(dict)  # for each instruction, the new operands by the old ones
    for v in large:
        late = uses.behind_the_gap(v)
        if not any(tape.instrs[k].op.kernel.is_contraction for k in late):
            continue  # elementwise readers are left to rematerialise, after fusion
        again: dict[Var, Var] = {}
        for k in uses.steps_from_kept(v, late[0]) or uses.steps_from_fewer(v, late[0]):
            step = tape.instrs[k]
            again[step.outs[0]] = Var(step.outs[0].aval)
            inserted[late[0]].append(step._replace(ins=_renamed(step.ins, again), outs=(again[step.outs[0]],)))
        for x, new in again.items():
            for k in uses.readers[x]:
                if k >= late[0]:
                    names[k][x] = new
    if not inserted:
        return tape
    instrs: list[Instr] = []
    for k, instr in enumerate(tape.instrs):
        instrs += [*inserted.get(k, []), instr._replace(ins=_renamed(instr.ins, names.get(k, {})))]
    return tape.replace(instrs=tuple(instrs))


def _is_map(instr: Instr, is_native: IsNative) -> bool:
    return kind_of(instr, is_native) == "map"


def _renamed(atoms: Sequence[Atom], names: Mapping[Var, Var]) -> tuple[Atom, ...]:
    return tuple([names.get(a, a) if type(a) is Var else a for a in atoms])


class _Uses:
    """The instructions that make and read each value of a tape."""

    def __init__(self, tape: Tape, is_native: IsNative) -> None:
        self.tape, self.is_native = tape, is_native
        self.maker = {v: k for k, instr in enumerate(tape.instrs) for v in instr.outs}
        self.readers: dict[Var, list[int]] = defaultdict(list)
        for k, instr in enumerate(tape.instrs):
            for a in dict.fromkeys([a for a in instr.ins if type(a) is Var]):
                self.readers[a].append(k)
        self.outputs = {a for a in tape.outputs if type(a) is Var}
        bytes_made = [0 if i.op.kernel.is_view else _bytes(i.outs) for i in tape.instrs]
        self.made_before = [0, *itertools.accumulate(bytes_made)]

    def behind_the_gap(self, v: Var) -> list[int]:
        """The readers of ``v`` after the widest gap between two of its readers; none if less than ``FAR`` times the
        bytes of ``v`` are made in the gap."""
        readers = self.readers[v] if v not in self.outputs else []
        gaps = [(self.made_before[b] - self.made_before[a + 1], b) for a, b in itertools.pairwise(readers)]
        widest, first = max(gaps, default=(0, 0))
        return [k for k in readers if k >= first] if widest >= FAR * v.aval.nbytes else []

    def is_kept(self, v: Var, late: int) -> bool:
        """Whether ``v`` is in memory at instruction ``late`` in any case."""
        return v not in self.maker or v in self.outputs or self.readers[v][-1] >= late

    def steps_from_kept(self, v: Var, late: int) -> list[int]:
        """The instructions that compute ``v`` from kept values; none if they cost too much, or need other values."""
        steps, roots = self._steps(v, lambda x: self.is_kept(x, late))
        return steps if all(self.is_kept(x, late) for x in roots) else []

    def steps_from_fewer(self, v: Var, late: int) -> list[int]:
        """The instructions that compute ``v``, and the kept values on the way to it, from values that take less memory
        than those do; none if there are no such."""
        steps, roots = self._steps(v, lambda x: x not in self.maker)
        kept = [x for k in steps for x in self.tape.instrs[k].outs if x not in self.outputs and self.is_kept(x, late)]
        return steps if _bytes([x for x in roots if not self.is_kept(x, late)]) < _bytes(kept) else []

    def _steps(self, v: Var, is_root: Callable[[Var], bool]) -> tuple[list[int], list[Var]]:
        """The elementwise instructions that compute ``v``, and the values they begin with; none if they cost too
        much."""
        steps, roots, todo, flops = set[int](), list[Var](), [v], 0.0
        while todo:
            x = todo.pop()
            instr = self.tape.instrs[self.maker[x]] if x is v or not is_root(x) else None
            if instr is None or not _is_map(instr, self.is_native) or x.aval.shape != v.aval.shape:
                roots.append(x)
            elif self.maker[x] not in steps:
                steps.add(self.maker[x])
                flops += flops_an_element(instr)
                if flops > MOST_FLOPS or len(steps) > MOST_STEPS:
                    return [], []
                todo += [a for a in instr.ins if type(a) is Var]
        return sorted(steps), roots


def _bytes(values: Iterable[Var]) -> int:
    return sum([v.aval.nbytes for v in dict.fromkeys(values)])
