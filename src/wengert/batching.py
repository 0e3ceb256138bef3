"""Batching: ``batch: Tape -> Tape``, the transform behind ``vmap``.

Values that depend on a batched input carry the batch as their leading axis; everything else is computed once for
all examples. Each op has a rule; elementwise ops line their axes up, linear algebra works on stacks.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert import config
from wengert.errors import ConcretizationError, message
from wengert.ops.op import front
from wengert.tape import Atom, Aval, Builder, Instr, Tape, Var, building, check


def batch(tape: Tape, batched: Sequence[bool], size: int) -> Tape:
    """Map ``tape`` over a leading axis of length ``size``, which the inputs that ``batched`` marks have, and all
    outputs."""
    env: dict[Atom, Atom] = {}
    inputs: list[Var] = []
    with_batch: set[Atom] = set()
    for v, is_batched in zip(tape.inputs, batched, strict=True):
        new = Var(Aval((size, *v.aval.shape), v.aval.dtype)) if is_batched else v
        inputs.append(new)
        env[v] = new
        if is_batched:
            with_batch.add(v)
    builder = Builder()
    with building(builder):
        for instr in tape.instrs:
            op, ins, outs, params, source = instr
            flags = [a in with_batch for a in ins]
            if not any(flags):
                builder.append(instr)
                continue
            builder.source = source
            assert op.batch is not None  # only fused steps have none, and a fused tape is not batched
            new = op.batch([env.get(a, a) for a in ins], flags, size, **params)
            if new is NotImplemented:
                raise _not_batchable(instr)
            with_batch.update(outs)
            env.update(zip(outs, new if isinstance(new, tuple) else (new,), strict=True))
        builder.source = None
        outputs = tuple([front(env.get(a, a), a in with_batch, size) for a in tape.outputs])
    mapped = tape.replace(
        inputs=tuple(inputs),
        captures=(*tape.captures, *builder.captures),
        instrs=builder.instrs,
        outputs=outputs,
        metadata={env.get(v, v): note for v, note in tape.metadata.items()},
        name=f"batch of {tape.name}",
    )
    return check(mapped, after="batch") if config.check else mapped


def _not_batchable(instr: Instr) -> ConcretizationError:
    return ConcretizationError(
        message(
            f"{instr.op.name} of a batched value: each example could have another one",
            instr.source,
            tries=["np.where instead of if, x * mask or np.where instead of x[mask]", "a Python loop over examples"],
        )
    )
