"""``in_lanes``: steps on many lanes, block after block of them; :mod:`wengert.passes.lanes` makes it."""

from __future__ import annotations

from typing import Any

from wengert.edit import played
from wengert.ops.kernels import Lanes
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
