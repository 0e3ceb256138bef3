"""Integers that are computed of the traced counter of a loop: whether they stay in int64, as Python's need not.

Each op says how large its results can be from how large its operands are (``Op.magnitude``); the counter is at most so
large. What is not known to fit may not.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from wengert.ops.control import MOST_ITERATIONS, guard
from wengert.ops.op import Op
from wengert.passes.reroll.iteration import Iteration, OperandReads, StepOutput
from wengert.passes.reroll.scans import Irregular
from wengert.tape import Atom, Lit, Tape, Var, definitions

BOUNDS = (1 << 53, 1 << 30, MOST_ITERATIONS)
"""The bounds that are tried for the counter of a loop of any count, the largest first: what is computed of it, as
Python's integers are, must fit into int64."""


def check_numbers(it: Iteration, counter: StepOutput) -> tuple[int, set[StepOutput]]:
    """Return how large the counter may get, and the integers that are computed of it, which then stay in int64, as
    Python's need not. Raise Irregular where one may leave it, or is carried on."""
    for bound in BOUNDS[:-1]:
        with suppress(Irregular):
            return bound, _numbers_within(it, counter, bound)
    return BOUNDS[-1], _numbers_within(it, counter, BOUNDS[-1])


def _numbers_within(it: Iteration, counter: StepOutput, most: int) -> set[StepOutput]:
    bounds = {counter: most}
    for j in range(it.run.period - 1):
        step, known = it.step(j), [_bound(it, o, bounds, counter) for o in it.operands[j]]
        is_free = step.op is not None and step.op.kernel.moves_by_index
        if j == counter.step or is_free or not any(it.slots[k] in bounds for o in it.operands[j] for k in it.seen(o)):
            continue
        for m, v in enumerate(step.outs):
            if v.aval.dtype.kind in "iu":
                bound = _bound_of_step(step.op, known)
                if bound is None or bound >= 2**62 or v.aval.dtype != np.int64:
                    raise Irregular
                bounds[StepOutput(j, m)] = bound
    return set(bounds)


def are_small(tape: Tape) -> bool:
    """Whether each integer that is computed of a traced counter stays in int64."""
    made = definitions(tape)
    looks = [i.ins[0] for i in tape.instrs if i.op is guard and i.params["kind"] == "iteration"]
    conditions = [made[a] for a in looks if type(a) is Var and a in made]
    bounds: dict[Atom, int] = {i.ins[0]: MOST_ITERATIONS for i in conditions}
    read = {a for i in tape.instrs for a in i.ins} | {*tape.outputs}
    for i in tape.instrs:
        if bounds.keys().isdisjoint(i.ins) or i.op.kernel.moves_by_index:
            continue
        for v in i.outs:
            if v.aval.dtype.kind in "iu" and v not in bounds and v in read:
                bound = _bound_of_step(i.op, [bounds.get(a, _size(a)) for a in i.ins])
                if bound is None or bound >= 2**62 or v.aval.dtype != np.int64:
                    return False
                bounds[v] = bound
    return True


def _size(a: Any) -> int | None:
    """Return how large a literal is; None of another atom."""
    return abs(int(a.value)) if type(a) is Lit and a.aval.dtype.kind in "iu" else None


def _bound(it: Iteration, operand: OperandReads, bounds: dict[StepOutput, int], counter: StepOutput) -> int | None:
    """Return how large an operand can be; None where that is not known."""
    hit = it.hit(operand, -1)
    if hit is None:
        return _size(operand.read.refs[-1])
    is_of_this_iteration = hit[1] == it.run.count - 1
    return bounds.get(hit[0]) if is_of_this_iteration or hit[0] == counter else None


def _bound_of_step(op: Op | None, known: Sequence[int | None]) -> int | None:
    """Return how large the results of a step can be, from what is known of its operands; None where it is not known."""
    if op is None or op.magnitude is None or None in known:
        return None
    return op.magnitude(*known)
