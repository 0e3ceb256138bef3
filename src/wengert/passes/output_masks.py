"""Recompute a mask from the selection's output, so that its input need not be kept.

The derivative of y = where(x <= 0, 0, x) asks once more whether x <= 0; but y <= 0 holds exactly where x <= 0 does. So
the pullback need not keep x if y is kept anyway, as it is when the next layer multiplies by y.
"""

from __future__ import annotations

from wengert.ops.op import Op
from wengert.tape import Atom, Builder, Instr, Lit, Tape, building


def output_masks(tape: Tape) -> Tape:
    """Let each step that reads such a mask after the selection read a comparison of the selection's result. Linear."""
    made: dict[Atom, Instr] = {}
    pending: dict[Atom, tuple[Op, Atom, Lit]] = {}  # for each mask, the comparison that replaces it from here on
    new: dict[Atom, Atom] = {}
    builder = Builder()
    with building(builder):
        for instr in tape.instrs:
            for a in instr.ins:
                if a in pending and a not in new:
                    builder.source = instr.source
                    compare, y, limit = pending[a]
                    new[a] = compare(y, limit)
            if not new.keys().isdisjoint(instr.ins):
                instr = instr._replace(ins=tuple([new.get(a, a) for a in instr.ins]))
            builder.append(instr)
            for v in instr.outs:
                made[v] = instr
            if instr.op.output_mask is not None:
                found = instr.op.output_mask(made.get, *instr.ins)
                if found is not None and instr.ins[0] not in new:
                    pending.setdefault(instr.ins[0], (found[0], instr.outs[0], found[1]))
    return tape.replace(instrs=builder.instrs) if new else tape
