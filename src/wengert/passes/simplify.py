"""Simplify: fewer instructions for the same values, by dropping dead code, identities and folding constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._contexts import silent
from wengert.tape import Atom, Capture, Instr, Lit, Tape, Var, key_of


def drop_dead(tape: Tape) -> Tape:
    """Remove instructions whose results nobody reads, and captures likewise. Guards and effects stay. Linear."""
    needed: set[Atom] = set(tape.outputs)
    kept: list[Instr] = []
    for instr in reversed(tape.instrs):
        if instr.op.effects or not needed.isdisjoint(instr.outs):
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


def fold_constants(tape: Tape) -> Tape:
    """Compute now all steps that depend only on constants: literals and captures that never change. Linear.

    It is worth its time only for a tape that runs more than once. Results of shape () become literals. The value of a
    view is a view in NumPy too, so a large constant is not copied.
    """
    values: dict[Atom, Any] = {c.var: c.array for c in tape.captures if c.is_constant}
    folded: dict[Atom, Atom] = {}
    seen: dict[Any, Var] = {}  # equal constants are one, else equal steps that read them would not be merged
    captures = list(tape.captures)
    kept: list[Instr] = []
    for c in tape.captures:
        if c.is_constant and c.array.ndim == 0:
            folded[c.var] = Lit(c.array, c.array.dtype)
    for instr in tape.instrs:
        op, ins, outs, params, source = instr
        varies = any(type(a) is Var and a not in values for a in ins)
        if varies or op.effects or len(outs) != 1:
            if not folded.keys().isdisjoint(ins):
                instr = Instr(op, tuple([folded.get(a, a) for a in ins]), outs, params, source)
            kept.append(instr)
            continue
        (out,) = outs
        key = (op, *[key_of(folded.get(a, a)) for a in ins], *params.items())
        known = seen.setdefault(key, out)
        if known is not out and known in values:
            values[out] = values[known]
            folded[out] = folded.get(known, known)
            continue
        with silent():
            try:
                value = op.reference(*[a.value if type(a) is Lit else values[a] for a in ins], **params)
            except Exception:  # a step that fails now will fail, or not be reached, when the program runs
                kept.append(Instr(op, tuple([folded.get(a, a) for a in ins]), outs, params, source))
                continue
        values[out] = np.asarray(value)
        if out.aval.shape == ():
            folded[out] = Lit(value, out.aval.dtype)
        else:
            captures.append(Capture(out, values[out], op.name, True))
    return tape.replace(
        instrs=tuple(kept),
        captures=tuple(captures),
        outputs=tuple(folded.get(a, a) for a in tape.outputs),
    )
