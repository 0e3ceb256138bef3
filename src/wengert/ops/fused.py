"""``fused``: several steps as one, made by the fusing pass from maps and the reductions that they feed."""

from __future__ import annotations

from typing import Any

from wengert.edit import played
from wengert.ops.kernels import Fused
from wengert.ops.op import Op, named
from wengert.tape import Aval, Instr, Tape


def _fused_reference(*xs: Any, body: Tape) -> Any:
    values = played(body, *xs[: len(body.inputs)])  # behind the inputs, the plan has put literals of the body
    results = tuple([values[v] for v in body.outputs])
    return results if len(results) > 1 else results[0]


def _fused_type(*avals: Aval, body: Tape) -> tuple[Aval, ...]:
    return body.out_avals


def _describe(instr: Instr) -> str:
    return f"fused {'+'.join(i.op.name for i in instr.params['body'].instrs)}"


fused = named(
    Op(  # made by the last pass before the machine code, so nothing differentiates, batches or registers it
        name="fused",
        reference=_fused_reference,
        type=_fused_type,
        kernel=Fused(),
        cost=lambda *avals, body: sum(i.op.cost(*[a.aval for a in i.ins], **i.params) for i in body.instrs),
        describe=_describe,
    )
)
