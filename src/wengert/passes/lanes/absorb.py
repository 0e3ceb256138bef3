"""Loops of a block absorb the steps around them: what is computed for all iterations at once, before the loop or behind
it, is computed in each iteration, and never lies in memory as a whole.

Rolling up a loop (:mod:`wengert.passes.reroll`) takes out of it what does not depend on the iteration before. That is
good for arrays that stay in the cache, and it is undone here for the stacks of a block.
"""

from __future__ import annotations

from collections import Counter

from wengert.higher.bodies import interned
from wengert.higher.loops import TapeLoop, scan
from wengert.ops.elementwise import add
from wengert.ops.kernels import Loop, Reduce
from wengert.ops.shape import broadcast_to, reshape
from wengert.passes.simplify import drop_dead
from wengert.tape import Atom, Aval, Builder, Instr, Lit, Tape, Var, building


def absorb(tape: Tape) -> Tape:
    """Return a tape whose scans do the elementwise steps on their stacks themselves, and the sums of these."""
    scans = [i.outs[0] for i in tape.instrs if type(i.op.kernel) is Loop]
    for first in scans:
        tape = _Absorbing(tape, first).tape()
    return tape


class _Absorbing:
    """One scan of a tape, whose body is written anew."""

    def __init__(self, tape: Tape, first: Var) -> None:
        self.whole = tape
        self.scan = next(i for i in tape.instrs if first in i.outs)
        loop: TapeLoop = self.scan.params["loop"]
        self.loop = loop
        self.readers = Counter([a for i in tape.instrs for a in set(i.ins)] + [*tape.outputs])
        self.maker = {v: i for i in tape.instrs for v in i.outs}
        self.later: set[Atom] = set(self.scan.outs)
        for i in tape.instrs:
            if not self.later.isdisjoint(i.ins):
                self.later.update(i.outs)
        n, m, body = loop.constants, loop.constants + loop.carries, loop.body
        self.constants: dict[Atom, Var] = dict(zip(self.scan.ins[:n], body.inputs[:n], strict=True))
        self.first = list(self.scan.ins[n:m])
        self.carries = list(body.inputs[n:m])
        self.stacks: dict[Atom, Var] = {}
        self.twice = dict[Var, Var]()  # inputs that are slices of one stack
        for a, v in zip(self.scan.ins[m:], body.inputs[m:], strict=True):
            self.twice[v] = self.stacks.setdefault(a, v)
        for a, v in zip(self.scan.ins[:n], body.inputs[:n], strict=True):
            self.twice[v] = self.constants[a]
        self.before = list[Instr]()
        """New steps of the body, before those it has."""
        self.behind = Builder()
        self.gone: set[int] = set()
        """The steps of the tape that the body does, by id."""
        self.last = list(body.outputs[: loop.carries])
        self.carried = list(self.scan.outs[: loop.carries])
        self.slices: dict[Var, Atom] = dict(
            zip(self.scan.outs[loop.carries :], body.outputs[loop.carries :], strict=True)
        )
        """The slice that each iteration gives, by its stack."""

    def tape(self) -> Tape:
        is_new = self._take_makers()
        is_new |= self._take_readers()
        is_new |= self._take_makers()  # of the stacks that those read
        return self._written() if is_new else self.whole

    def _is_stack(self, a: Atom) -> bool:
        return a.aval.ndim > 0 and a.aval.shape[0] == self.loop.length and a.aval.ndim <= 2

    def _take_makers(self) -> bool:
        """Take in elementwise steps that make a stack for this loop alone."""
        todo, count = list(self.stacks), 0
        steps = list[Instr]()
        while todo:
            a = todo.pop()
            i = self.maker.get(a)  # type: ignore[arg-type]  # a literal is made nowhere
            if i is None or not i.op.is_elementwise or self.readers[a] != 1 or not self._fits(i):
                continue
            v = self.stacks.pop(a)
            found = list[Atom]()
            for x in i.ins:
                is_new = x not in self.stacks
                found.append(self._slice_of(x, a.aval))
                if is_new and x in self.stacks:
                    todo.append(x)
            steps.append(i._replace(ins=tuple(found), outs=(v,)))
            self.gone.add(id(i))
            count += 1
        self.before = steps[::-1] + self.before
        return count > 0

    def _fits(self, i: Instr) -> bool:
        """Whether a step on stacks can be one on slices: each operand is a stack, or the same in all iterations."""
        (v,) = i.outs
        for a in i.ins:
            is_stack = a.aval.ndim == v.aval.ndim
            if is_stack and a.aval.shape != v.aval.shape and not (a.aval.ndim == 1 == v.aval.ndim):
                return False
            if a.aval.ndim == 1 and v.aval.ndim == 1 and a.aval.shape != v.aval.shape:
                return False
        return self._is_stack(v)

    def _slice_of(self, a: Atom, stack: Aval) -> Atom:
        """Return what an iteration reads of an operand of a step on stacks."""
        if type(a) is Lit:
            return a
        if a in self.slices:
            return self.slices[a]
        if a.aval.ndim == stack.ndim:
            return self.stacks.setdefault(a, Var(Aval(a.aval.shape[1:], a.aval.dtype)))
        return self.constants.setdefault(a, Var(a.aval))

    def _take_readers(self) -> bool:
        """Take in elementwise steps on the stacks that this loop makes, and their sums over the iterations."""
        count = 0
        for i in self.whole.instrs:
            if self.slices.keys().isdisjoint(i.ins) or len(i.outs) != 1:
                continue
            (v,) = i.outs
            if i.op.is_elementwise and self._fits(i) and all(a in self.slices or a not in self.later for a in i.ins):
                ins = tuple([self._slice_of(a, v.aval) for a in i.ins])
                new = Var(Aval(v.aval.shape[1:], v.aval.dtype))
                self.behind.append(i._replace(ins=ins, outs=(new,)))
                self.slices[v] = new
            elif self._is_sum(i):
                (a,) = i.ins
                total = Var(v.aval)
                with building(self.behind):
                    self.last.append(add(total, self.slices[a]))  # type: ignore[index]  # a variable
                self.carries.append(total)
                self.first.append(Lit(0, v.aval.dtype))
                self.carried.append(v)
            else:
                continue
            self.gone.add(id(i))
            count += 1
        return count > 0

    def _is_sum(self, i: Instr) -> bool:
        is_sum = type(i.op.kernel) is Reduce and i.op.kernel.combine == "add" and i.params["axis"] == (0,)
        return is_sum and i.ins[0].aval.dtype == i.outs[0].aval.dtype and i.outs[0].aval.dtype.kind == "f"

    def _written(self) -> Tape:
        loop, left = self.loop, [i for i in self.whole.instrs if id(i) not in self.gone and i is not self.scan]
        read = {a for i in left for a in i.ins} | set(self.whole.outputs)
        slices = {v: a for v, a in self.slices.items() if v in read}
        new = {old: kept for old, kept in self.twice.items() if old is not kept}
        inputs = (*self.constants.values(), *self.carries, *self.stacks.values())
        instrs = [
            i._replace(ins=tuple([new.get(a, a) for a in i.ins]))  # type: ignore[arg-type]  # a literal is no key
            for i in (*self.before, *loop.body.instrs, *self.behind.instrs)
        ]
        outputs = [new.get(a, a) for a in (*self.last, *slices.values())]  # type: ignore[arg-type]  # a literal is no key
        body = interned(drop_dead(loop.body.replace(inputs=inputs, instrs=tuple(instrs), outputs=tuple(outputs))))
        wide = TapeLoop(body, len(self.constants), len(self.carries), loop.length, loop.is_reversed)
        with building(Builder()) as builder:
            first = [_spread(a, v.aval) for a, v in zip(self.first, self.carries, strict=True)]
        operands = (*self.constants, *first, *self.stacks)
        made = Instr(scan, operands, (*self.carried, *slices), {"loop": wide, "pull": None}, self.scan.source)
        early = [i for i in left if self.later.isdisjoint(i.outs)]
        late = [i for i in left if not self.later.isdisjoint(i.outs)]
        return drop_dead(self.whole.replace(instrs=(*early, *builder.instrs, made, *late)))


def _spread(a: Atom, aval: Aval) -> Atom:
    """An operand with which a carry begins: a literal is repeated."""
    if a.aval.shape == aval.shape:
        return a
    return broadcast_to(reshape(a, shape=(1,) * aval.ndim), shape=aval.shape)
