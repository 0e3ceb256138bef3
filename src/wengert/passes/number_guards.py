"""Number the guards of a tape in their order: a guard that misses says its number, and so where paths part."""

from __future__ import annotations

from wengert.ops.control import Expected, guard
from wengert.tape import Tape


def number_guards(tape: Tape) -> tuple[Tape, tuple[Expected, ...]]:
    """``tape`` with its guards numbered in order, and the path that they record."""
    path: list[Expected] = []
    instrs = list(tape.instrs)
    for k, instr in enumerate(instrs):
        if instr.op is guard:
            instrs[k] = instr._replace(params={**instr.params, "position": len(path)})
            path.append(instr.params["expected"])
    return (tape.replace(instrs=tuple(instrs)) if path else tape), tuple(path)
