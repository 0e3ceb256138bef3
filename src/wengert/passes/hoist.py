"""Hoist: steps of a loop's body that read nothing but constants of the loop, taken before it."""

from __future__ import annotations

from typing import NamedTuple

from wengert.higher.bodies import alive, steps_of_constants
from wengert.ops.shape import zeros
from wengert.tape import Builder, Tape, building

HEAVY = 1000.0  # flops of such steps that are worth a branch before the loop


class Hoisted(NamedTuple):
    """A body without its invariant steps, and the tapes that compute these before the loop."""

    body: Tape
    """The body; behind its constants it takes the values of the steps that were taken out."""
    before: Tape
    """These steps: from the constants to the values."""
    without: Tape
    """Zeros in place of the values, for a loop that does not begin: there a step might fail."""


def hoist(body: Tape, constants: int) -> Hoisted | None:
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
