"""Merge carries: carries of a loop that begin with one value and go on with one are one carry.

A step that is rolled up reads the value before it in two roles, as what it writes into and as what it reads, and the
loop hands it on twice: its body would write it twice. Linear.
"""

from __future__ import annotations

from typing import Any

from wengert.edit import merge_common
from wengert.higher.bodies import alive
from wengert.passes.simplify import use_identities
from wengert.tape import Atom, Instr, Tape, key_of


def merge_carries(tape: Tape) -> Tape:
    """Hand each value from one iteration to the next once, in the loops of known length of ``tape``."""
    if not any(_is_loop(i) for i in tape.instrs):
        return tape
    names: dict[Any, Atom] = {}
    instrs: list[Instr] = []
    for instr in tape.instrs:
        if not names.keys().isdisjoint(instr.ins):
            instr = instr._replace(ins=tuple([names.get(a, a) for a in instr.ins]))
        instrs.append(_merged(instr, names) if _is_loop(instr) else instr)
    if not names:
        return tape
    return tape.replace(instrs=tuple(instrs), outputs=tuple([names.get(a, a) for a in tape.outputs]))


def _is_loop(instr: Instr) -> bool:
    kernel = instr.op.kernel
    return not kernel.runs_unknown_times and kernel.first_carry(instr.params) is not None


def _merged(instr: Instr, names: dict[Any, Atom]) -> Instr:
    """Return the loop with fewer carries, and write the new names of its results into ``names``."""
    loop = instr.params["loop"]
    n = loop.constants
    begins = [key_of(a) for a in instr.ins[n : n + loop.carries]]
    if len({*begins}) == len(begins):
        return instr
    body = merge_common(use_identities(loop.body))
    first: dict[Any, int] = {}
    same: dict[int, int] = {}  # for each carry that goes, the one that stays
    for k in range(loop.carries):
        kept = first.setdefault((key_of(instr.ins[n + k]), key_of(body.outputs[k])), k)
        if kept != k:
            same[k] = kept
    if not same:
        return instr
    inner = {body.inputs[n + k]: body.inputs[n + kept] for k, kept in same.items()}
    names.update({instr.outs[k]: instr.outs[kept] for k, kept in same.items()})
    goes = {n + k for k in same}
    fewer = alive(
        body.replace(
            inputs=tuple([v for k, v in enumerate(body.inputs) if k not in goes]),
            instrs=tuple([i._replace(ins=tuple([inner.get(a, a) for a in i.ins])) for i in body.instrs]),
            outputs=tuple([inner.get(a, a) for k, a in enumerate(body.outputs) if k not in same]),
        )
    )
    return instr._replace(
        ins=tuple([a for k, a in enumerate(instr.ins) if k not in goes]),
        outs=tuple([v for k, v in enumerate(instr.outs) if k not in same]),
        params={**instr.params, "loop": loop._replace(body=fewer, carries=loop.carries - len(same))},
    )
