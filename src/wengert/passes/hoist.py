"""Hoist: steps of a loop's body that read nothing but constants of the loop, taken before it.

A loop may run no iteration, and then such a step, which might fail, must not run. So the steps stand in a branch before
the loop, on the condition for its first iteration. That is worth it where they are heavy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wengert.higher.bodies import alive, steps_of_constants
from wengert.higher.branches import cond
from wengert.higher.loops import while_
from wengert.ops.elementwise import convert
from wengert.ops.shape import zeros
from wengert.tape import Builder, Instr, Tape, Var, building, splice, without_shows

HEAVY = 1000.0  # flops of such steps that are worth a branch before the loop


class Hoisted(NamedTuple):
    """A body without its invariant steps, and the tapes that compute these before the loop."""

    body: Tape
    """The body; behind its constants it takes the values of the steps that were taken out."""
    before: Tape
    """These steps: from the constants to the values."""
    without: Tape
    """Zeros in place of the values, for a loop that does not begin: there a step might fail."""


def hoist(tape: Tape) -> Tape:
    """Take the heavy steps that are the same in every iteration out of the ``while`` loops of ``tape``."""
    if not any(i.op is while_ for i in tape.instrs):
        return tape
    fixed = {c.var for c in tape.captures}
    instrs: list[Instr] = []
    for instr in tape.instrs:
        if instr.op is while_:
            before, instr = _hoisted(instr, fixed)
            instrs += before
        instrs.append(instr)
    return tape.replace(instrs=tuple(instrs))


def _hoisted(instr: Instr, fixed: set[Var]) -> tuple[tuple[Instr, ...], Instr]:
    """Return the steps before a loop, and the loop without them. Constants among ``fixed`` alone are not worth it."""
    loop = instr.params["loop"]
    constants, carries = instr.ins[loop.of_condition : loop.first], instr.ins[loop.first :]
    found = split(loop.body, loop.constants)
    if found is None or not any(type(a) is Var and a not in fixed for a in constants):
        return (), instr
    with building(Builder()) as builder:
        builder.source = instr.source
        (goes_on,) = splice(builder, without_shows(loop.condition), [*instr.ins[: loop.of_condition], *carries], ())
        index = convert(goes_on, dtype=np.dtype(np.int64))
        values = cond(index, *constants, branches=(found.without, found.before), wrt=None)
    known = values if isinstance(values, tuple) else (values,)
    operands = (*instr.ins[: loop.first], *known, *carries)
    loop = loop._replace(body=found.body, constants=loop.constants + len(known))
    return tuple(builder.instrs), instr._replace(ins=operands, params={"loop": loop})


def split(body: Tape, constants: int) -> Hoisted | None:
    """Return ``body`` without the steps that read its first ``constants`` inputs alone, or None if these are light."""
    steps = steps_of_constants(body, constants)
    if sum([i.op.cost(*[a.aval for a in i.ins], **i.params) for i in steps]) < HEAVY:
        return None
    inner = [i for i in body.instrs if i not in steps]
    read = {*[a for i in inner for a in i.ins], *body.outputs}
    known = [v for i in steps for v in i.outs if v in read]
    given = body.inputs[:constants]
    before = alive(body.replace(inputs=given, instrs=tuple(steps), outputs=tuple(known)))
    with building(Builder()) as builder:
        nothing = tuple([zeros(v.aval) for v in known])
    without = alive(body.replace(inputs=given, instrs=builder.instrs, outputs=nothing))
    left = body.replace(inputs=(*given, *known, *body.inputs[constants:]), instrs=tuple(inner))
    return Hoisted(alive(left), before, without)
