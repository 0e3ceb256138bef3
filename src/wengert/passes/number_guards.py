"""Number the guards of a tape in their order: a guard that misses reports its number, and so where paths part."""

from __future__ import annotations

from wengert.ops.control import Expected, guard, values_of
from wengert.tape import Atom, Instr, Tape


def number_guards(tape: Tape) -> Tape:
    """Number the guards of ``tape`` in order. Linear."""
    instrs: list[Instr] = []
    count = 0
    for instr in tape.instrs:
        if instr.op is guard:
            instr = instr._replace(params={**instr.params, "position": count})
            count += len(values_of(instr))
        instrs.append(instr)
    return tape.replace(instrs=tuple(instrs)) if count else tape


def without_guards(tape: Tape) -> Tape:
    """Return ``tape`` without guards, for a run on the very values it was recorded with, for which all of them hold."""
    if any(instr.op is guard for instr in tape.instrs):
        return tape.replace(instrs=tuple(i for i in tape.instrs if i.op is not guard))
    return tape


def path_of(tape: Tape) -> tuple[Expected, ...]:
    """The path that a tape takes through the branches of its function: the values its guards expect, in order."""
    return tuple([value for instr in tape.instrs if instr.op is guard for value in values_of(instr)])


def guards_alone(tape: Tape) -> Tape:
    """Return ``tape`` with its guards and the steps they depend on alone: no outputs and no other effects. Linear."""
    kept: list[Instr] = []
    needed: set[Atom] = set()
    for instr in reversed(tape.instrs):
        if instr.op is guard or not needed.isdisjoint(instr.outs):
            needed.update(instr.ins)
            kept.append(instr)
    return tape.replace(instrs=tuple(reversed(kept)), outputs=())
