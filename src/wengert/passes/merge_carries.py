"""Merge carries: carries of a loop that begin with one value and go on with one are one carry, and a carry that is a
view of another one, at the beginning and after each iteration, is a view in the body.

A step that is rolled up reads the value before it in two roles, as what it writes into and as what it reads, and the
loop hands it on twice: its body would write it twice. Linear.
"""

from __future__ import annotations

from typing import Any

from wengert.edit import merge_common
from wengert.higher.bodies import alive
from wengert.passes.simplify import use_identities
from wengert.tape import Atom, Instr, Tape, Var, key_of


def merge_carries(tape: Tape) -> Tape:
    """Hand each value from one iteration to the next once, in the loops of known length of ``tape``."""
    if not any(_is_loop(i) for i in tape.instrs):
        return tape
    names: dict[Any, Atom] = {}
    made: dict[Any, Instr] = {}
    instrs: list[Instr] = []
    for instr in tape.instrs:
        if not names.keys().isdisjoint(instr.ins):
            instr = instr._replace(ins=tuple([names.get(a, a) for a in instr.ins]))
        behind: list[Instr] = []
        if _is_loop(instr):
            instr, behind = _without_views(_merged(instr, names), made)
        instrs += [instr, *behind]
        made.update(dict.fromkeys(instr.outs, instr))
    if not names and len(instrs) == len(tape.instrs):
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


def _without_views(instr: Instr, made: dict[Any, Instr]) -> tuple[Instr, list[Instr]]:
    """Return the loop without carries that are views of others, and the views of its results."""
    loop = instr.params["loop"]
    n = loop.constants
    begins = instr.ins[n : n + loop.carries]
    if not any(a in made and made[a].op.kernel.is_view and made[a].ins[0] in begins for a in begins):
        return instr, []
    body = merge_common(use_identities(loop.body))
    inner = {v: i for i in body.instrs for v in i.outs}
    number = {a: k for k, a in enumerate(body.outputs[: loop.carries]) if type(a) is Var}
    viewed: dict[int, Instr] = {}  # for each carry that goes, the view in the body
    for k in range(loop.carries):
        view, first = inner.get(body.outputs[k]), made.get(instr.ins[n + k])  # type: ignore[call-overload]  # nothing makes a literal
        if view is None or first is None or not view.op.kernel.is_view or view.ins[0] not in number:
            continue
        j = number[view.ins[0]]
        is_alike = (first.op, first.params, first.ins) == (view.op, view.params, (instr.ins[n + j],))
        if j != k and is_alike and j not in viewed:
            viewed[k] = view._replace(ins=(body.inputs[n + j],), outs=(body.inputs[n + k],))
    if not viewed:
        return instr, []
    goes = {n + k for k in viewed}
    fewer = alive(
        body.replace(
            inputs=tuple([v for k, v in enumerate(body.inputs) if k not in goes]),
            instrs=(*viewed.values(), *body.instrs),
            outputs=tuple([a for k, a in enumerate(body.outputs) if k not in viewed]),
        )
    )
    place = {body.inputs[n + k]: instr.outs[k] for k in range(loop.carries)}
    behind = [i._replace(ins=(place[i.ins[0]],), outs=(place[i.outs[0]],)) for i in viewed.values()]
    loop = loop._replace(body=fewer, carries=loop.carries - len(viewed))
    ins = tuple([a for k, a in enumerate(instr.ins) if k not in goes])
    outs = tuple([v for k, v in enumerate(instr.outs) if k not in viewed])
    return instr._replace(ins=ins, outs=outs, params={**instr.params, "loop": loop}), behind
