"""``fused`` and ``stencil``: several steps as one, made by passes from maps, reductions and writes of regions."""

from __future__ import annotations

from typing import Any

from wengert.edit import played
from wengert.ops.kernels import Fused, Stencil
from wengert.ops.op import Op, named
from wengert.tape import Aval, Instr, Tape


def _fused_reference(*xs: Any, body: Tape) -> Any:
    values = played(body, *xs[: len(body.inputs)])  # behind the inputs, the plan has put literals of the body
    results = tuple([values[v] for v in body.outputs])
    return results if len(results) > 1 else results[0]


def _fused_type(*avals: Aval, body: Tape) -> tuple[Aval, ...]:
    return body.out_avals


def _stencil_reference(*xs: Any, body: Tape, has_edges: bool) -> Any:
    return _fused_reference(*xs, body=body)


def _steps(body: Tape) -> list[str]:
    return [s for i in body.instrs for s in (_steps(i.params["body"]) if i.op is stencil else [i.op.name])]


def _describe(instr: Instr) -> str:
    return f"fused {'+'.join(_steps(instr.params['body']))}"


def _cost(*avals: Aval, body: Tape, **params: Any) -> float:
    return sum(i.op.cost(*[a.aval for a in i.ins], **i.params) for i in body.instrs)


fused = named(
    Op(  # made by the last pass before the machine code, so nothing differentiates, batches or registers it
        name="fused",
        reference=_fused_reference,
        type=_fused_type,
        kernel=Fused(),
        cost=_cost,
        describe=_describe,
    )
)

stencil = named(
    Op(  # made by the pass before that one, of steps that read one another's results at other places
        name="stencil",
        reference=_stencil_reference,
        type=lambda *avals, body, has_edges: body.out_avals,
        kernel=Stencil(),
        cost=_cost,
        describe=_describe,
    )
)
