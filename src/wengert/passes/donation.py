"""Donation: results that are written into the memory of arguments, which the caller gives away.

A step of training computes new parameters from old ones; if the old ones are not needed afterwards, the new ones need
no memory of their own. A result may be written over an argument after the last step that reads the argument, or point
by point in that step; and after the last step that may end the run, so that an error never leaves half of the arguments
written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wengert.ops.kernels import (
    Alternatives,
    Callback,
    Check,
    Gather,
    Lanes,
    Loop,
    Nonzero,
    RepeatWhile,
    RepeatWhileBack,
    Routine,
    Scatter,
)
from wengert.passes.plan.instructions import first_carry, may_share_memory, operands
from wengert.passes.plan.places import Place, Plan, PlanStep, c_strides
from wengert.tape import Atom, Aval, Instr, Tape, Var

Pair = tuple[int, int]
"""The number of an output, and of the input over which it is written."""

MAY_END_THE_RUN = (
    *(Check, Callback, Routine, Gather, Scatter, Nonzero),
    *(Loop, RepeatWhile, RepeatWhileBack, Alternatives, Lanes),
)


def pairs_of(tape: Tape, given: Iterable[int]) -> tuple[Pair, ...]:
    """Pair each output with the first input of ``given`` that has its type and is free, in order. So trees of equal
    structure are written leaf over leaf."""
    free: dict[Aval, list[int]] = {}
    for k in given:
        free.setdefault(tape.inputs[k].aval, []).append(k)
    return tuple([(k, free[a.aval].pop(0)) for k, a in enumerate(tape.outputs) if free.get(a.aval)])


def written_late(tape: Tape, pairs: Sequence[Pair], is_body: bool = False) -> Tape:
    """Move each step that writes a donated output behind the other readers of the input that it overwrites, if no step
    before there needs its result. The other steps keep their order.

    ``is_body`` says that the tape is the body of a loop, whose carries are of no use to anyone if it ends early."""
    if not pairs:
        return tape
    made_at = {v: k for k, instr in enumerate(tape.instrs) for v in instr.outs}
    last_read = _last_reads(tape)
    ends = -1 if is_body else max([k for k, instr in enumerate(tape.instrs) if may_end_the_run(instr)], default=-1)
    rank: list[float] = [float(k) for k in range(len(tape.instrs))]  # the new order of the instructions
    for output, given in pairs:
        maker = _first_writer(tape, made_at, output, given)
        if maker is not None:
            last = max([k for k in last_read.get(tape.inputs[given], ()) if k != maker], default=-1)
            rank[maker] = max(rank[maker], last + 0.5, ends + 0.5)
    for k, instr in enumerate(tape.instrs):
        rank[k] = max([rank[k], *[rank[made_at[a]] for a in instr.ins if a in made_at]])
        if rank[k] > k and may_end_the_run(instr) and not is_body:
            return tape
    order = sorted(range(len(rank)), key=rank.__getitem__)
    return tape.replace(instrs=tuple([tape.instrs[k] for k in order]))


def _first_writer(tape: Tape, made_at: dict[Var, int], output: int, given: int) -> int | None:
    """The instruction that begins to write an output: its maker, or the first of a chain of writes into one array that
    begins with the input."""
    maker = at = made_at.get(tape.outputs[output])  # type: ignore[arg-type]  # a literal is made nowhere
    while at is not None and tape.instrs[at].op.kernel.is_update:
        source = tape.instrs[at].ins[0]
        if source is tape.inputs[given]:
            return at
        at = made_at.get(source)  # type: ignore[arg-type]  # likewise
    return maker


def _last_reads(tape: Tape) -> dict[Atom, list[int]]:
    """The last two instructions that read the memory of each value, directly or through views."""
    found: dict[Atom, list[int]] = {}
    for k in range(len(tape.instrs) - 1, -1, -1):
        instr = tape.instrs[k]
        is_view = instr.op.kernel.is_view
        for a in dict.fromkeys(instr.ins):
            reads = [k, *(found.get(instr.outs[0], ()) if is_view else ())]
            found[a] = sorted({*found.get(a, ()), *reads}, reverse=True)[:2]
    return found


def safe(plan: Plan, pairs: Sequence[Pair], is_body: bool = False) -> tuple[tuple[Pair, ...], int]:
    """Return the pairs whose output ``plan`` writes when the input is no longer needed, and the first step that does.

    From that step on nothing may end the run early, except in the body of a loop."""
    kept: list[Pair] = []
    commits_at = len(plan.steps)
    may_end = [k for k, step in enumerate(plan.steps) if step.instr and may_end_the_run(step.instr)]
    ends = -1 if is_body else max(may_end, default=-1)
    reads, writes = _touched(plan)
    for output, given in pairs:
        written = writes.get(("output", output), commits_at)
        read = reads.get(("input", given), -1)
        if written > ends and (read < written or (read == written and _is_read_first(plan.steps[read], output, given))):
            kept.append((output, given))
            commits_at = min(commits_at, written)
    return tuple(kept), commits_at


def _touched(plan: Plan) -> tuple[dict[tuple[str, int], int], dict[tuple[str, int], int]]:
    """The last step that reads each buffer, and the first one that writes it, by kind and number."""
    reads: dict[tuple[str, int], int] = {}
    writes: dict[tuple[str, int], int] = {}
    for k, step in enumerate(plan.steps):
        reads.update([(_number(p), k) for p in step.ins])
        for p in step.outs:
            writes.setdefault(_number(p), k)
    return reads, writes


def _number(place: Place) -> tuple[str, int]:
    return place.buffer.kind, place.buffer.number


def _is_read_first(step: PlanStep, output: int, given: int) -> bool:
    """Whether the step reads each point of the input only to write the output at the same point."""
    instr = step.instr
    if instr is None:
        return is_nothing(step, [(output, given)])
    targets = [(k, p) for k, p in enumerate(step.outs) if _number(p) == ("output", output)]
    sources = [(j, p) for j, p in enumerate(step.ins) if _number(p) == ("input", given)]
    atoms = operands(instr)
    return all(
        (p.offset, p.strides, p.aval.shape) == (goal.offset, goal.strides, goal.aval.shape)
        and goal.strides == c_strides(goal.aval)
        and (j == first_carry(instr, k) or may_share_memory(instr, atoms[j], instr.outs[k]))
        for k, goal in targets
        for j, p in sources
    )


def is_nothing(step: PlanStep, pairs: Sequence[Pair]) -> bool:
    """Whether a step copies an input onto itself, since the output is written over it."""
    if step.what != "copy" or step.instr is not None:
        return False
    (source,), (goal,) = step.ins, step.outs
    if (source.buffer.kind, goal.buffer.kind) != ("input", "output"):
        return False
    is_same = (source.offset, source.strides, source.aval) == (goal.offset, goal.strides, goal.aval)
    return is_same and (goal.buffer.number, source.buffer.number) in pairs


def may_end_the_run(instr: Instr) -> bool:
    """Whether a guard may miss there, or an error be raised."""
    return isinstance(instr.op.kernel, MAY_END_THE_RUN)
