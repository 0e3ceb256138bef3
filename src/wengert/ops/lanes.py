"""``in_lanes``: steps on many lanes, block after block of them; :mod:`wengert.passes.lanes` makes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.edit import played
from wengert.ops.kernels import Lanes, RepeatWhileBack
from wengert.ops.op import Op, named
from wengert.tape import Aval, Tape


def _reference(*xs: Any, whole: Tape, block: Tape, count: int) -> Any:
    values = played(whole, *xs)
    results = tuple([values[a] for a in whole.outputs])
    return results if len(results) != 1 else results[0]


def _cost(*avals: Aval, whole: Tape, block: Tape, count: int) -> float:
    return sum([i.op.cost(*[a.aval for a in i.ins], **i.params) for i in whole.instrs])


def _type(*avals: Aval, whole: Tape, block: Tape, count: int) -> tuple[Aval, ...]:
    return whole.out_avals


in_lanes = named(
    Op(  # made on the way to kernels, so nothing differentiates or batches it
        name="in_lanes",
        reference=_reference,
        type=_type,
        kernel=Lanes(),
        cost=_cost,
    )
)
"""``whole`` is the tape of these steps on all ``count`` lanes at once, which is run where the code of a block would be
too long."""


def _back(*operands: Any, loop: Any, back: Tape, sums: int) -> Any:
    tests, constants = operands[: loop.of_condition], operands[loop.of_condition : loop.first]
    carry, cts = list(operands[loop.first :][: loop.carries]), list(operands[loop.first + loop.carries :])
    trail: list[Any] = []
    while played(loop.condition, *tests, *carry)[loop.condition.outputs[0]]:
        trail.append(carry)
        values = played(loop.body, *constants, *carry)
        carry = [values[a] for a in loop.body.outputs]
    totals = [np.zeros(a.shape, a.dtype) for a in back.out_avals[:sums]]
    while trail:
        values = played(back, *constants, *trail.pop(), *cts, *totals)
        results = [values[a] for a in back.outputs]
        totals, cts = results[:sums], results[sums:]
    results = (*[np.array(x) for x in (*totals, *cts)],)
    return results if len(results) != 1 else results[0]


while_back = named(
    Op(  # made on the way to kernels, too
        name="while_back",
        reference=_back,
        type=lambda *avals, loop, back, sums: back.out_avals,
        kernel=RepeatWhileBack(),
        cost=lambda *avals, loop, back, sums: (
            4 * sum([i.op.cost(*[a.aval for a in i.ins], **i.params) for i in back.instrs])
        ),
    )
)
"""The pullback of a ``while``. ``back`` goes back over one iteration: it takes the constants and carries of the body,
the cotangents of the carries and ``sums`` sums so far, and gives new sums and the cotangents before."""
