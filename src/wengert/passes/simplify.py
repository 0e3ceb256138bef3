"""Simplify: fewer instructions for the same values, by dropping dead code and by identities."""

from __future__ import annotations

from wengert.tape import Atom, Instr, Tape, has_effects


def drop_dead(tape: Tape) -> Tape:
    """Remove instructions whose results nobody reads, and captures likewise. Guards and effects stay. Linear."""
    needed: set[Atom] = set(tape.outputs)
    kept: list[Instr] = []
    for instr in reversed(tape.instrs):
        if has_effects(instr) or not needed.isdisjoint(instr.outs):
            needed.update(instr.ins)
            kept.append(instr)
    captures = tuple(c for c in tape.captures if c.var in needed)
    return tape.replace(instrs=tuple(reversed(kept)), captures=captures)


def use_identities(tape: Tape) -> Tape:
    """Replace each instruction by the one that its op's ``identity`` gives, so that others become dead. Linear."""
    made: dict[Atom, Instr] = {}
    kept: list[Instr] = []
    for instr in tape.instrs:
        op, ins, outs, params, source = instr
        better = None if op.identity is None else op.identity(made.get, *ins)
        if better is not None:
            instr = Instr(*better, outs, params, source)
        for v in outs:
            made[v] = instr
        kept.append(instr)
    return tape.replace(instrs=tuple(kept))
