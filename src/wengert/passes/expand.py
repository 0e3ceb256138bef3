"""Expand: replace ops that exist only for their derivative rules by ops that have kernels."""

from __future__ import annotations

from wengert.edit import merge_common
from wengert.tape import Atom, Builder, Tape, building


def expand(tape: Tape) -> Tape:
    """Replace each op that has an expansion by that, and merge equal steps. Linear in the tape."""
    if not any(instr.op.expansion for instr in tape.instrs):
        return tape
    builder = Builder()
    new: dict[Atom, Atom] = {}
    with building(builder):
        for instr in tape.instrs:
            ins = tuple([new.get(a, a) for a in instr.ins]) if new else instr.ins
            builder.source = instr.source
            made = NotImplemented if instr.op.expansion is None else instr.op.expansion(*ins, **instr.params)
            if made is NotImplemented:
                builder.append(instr if ins == instr.ins else instr._replace(ins=ins))
                continue
            new.update(zip(instr.outs, (made,) if len(instr.outs) == 1 else made, strict=True))
    if not new:
        return tape
    expanded = tape.replace(instrs=builder.instrs, outputs=tuple([new.get(a, a) for a in tape.outputs]))
    return merge_common(expanded)  # two expansions may have equal steps
