"""Loops that tracing has unrolled are rolled up again.

A trace has every iteration of a loop as steps of its own. Where they repeat, steps over all iterations take their
place: an array step, a sum, or a ``scan``. The tape no longer grows with the number of iterations, and neither does
what is differentiated, planned and compiled. Sums are taken in another order; nothing else changes.

Here a tape with ``t = t + sin(x[0])``, ``t = t + sin(x[1])``, ... on its way, with the names of the classes::

    tape            y0 = slice(x, 0); s0 = sin(y0); t1 = add(t0, s0); y1 = slice(x, 1); s1 = sin(y1); ...
      |  pieces.py: reads and writes of elements are no steps, but say which piece of an array a step reads
      v
    IterationStep   sin(x[0]); add(t0, s0); sin(x[1]); add(t1, s1); ...  each operand is a Ref: a value or a Piece
      |  reads.py: operands as columns of numbers        repeats.py: where the kinds of steps repeat
      v
    Column, Run     one operand in all iterations: x[0], x[1], ...; a Run: its start, its period of 2, its count
      |  iteration.py: what the steps of one iteration read of each other
      v
    Iteration       sin -> add -> add, the next iteration's. Each value is named by its StepOutput, each operand has
      |             OperandReads, and Needs say which values are read behind the loop
      |  roller.py: each step alone, or each cycle of steps, becomes one of three things
      v
    an array step   sin(x[0:n]): on no cycle, so it is done in all iterations at once
    Sum             t0 + sum(...): a cycle of additions (sums.py)
    ScanPlan        any other cycle (scans.py): each operand is Held, from the iteration before, or Recalled, from an
      |             earlier one, which a History of all values keeps
      v
    Places          says where the value of each old step stands now: it is Rolled into one place of an array
                    (columns.py); with it emitter.py writes the tape anew, and assembling.py joins pieces to arrays

Where many steps are left, they are read once more as they stand, without pieces: ordered.py rolls up loops that read
and write slices of arrays, of lengths and at places that follow the counter, in scans that keep the order of all steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.collector import undisturbed
from wengert.errors import MissingRuleError
from wengert.notes import current as current_notes
from wengert.ops.index import slice_
from wengert.passes.reroll.emitter import Emitter
from wengert.passes.reroll.ordered import in_order
from wengert.passes.reroll.pieces import kinds_of, read
from wengert.passes.reroll.products import joined_products
from wengert.passes.reroll.repeats import FEWEST, repeats
from wengert.passes.simplify import drop_dead
from wengert.tape import Tape

TIMES = 3
"""The tape is rolled so often: loops in loops are rolled up from the inside."""

LONG = 300
"""Where so many steps are left, loops are tried that write arrays in place. They cannot be done at once."""


@undisturbed
def reroll(tape: Tape) -> Tape:
    """Return ``tape`` with loops in place of what repeats. Sums are taken in another order. Log-linear."""
    tape = joined_products(tape)
    ways = (in_order, _rolled) if _has_slices_of_all_lengths(tape) else (_rolled, in_order)
    shortest = tape
    for roll in ways:
        rolled = _repeated(roll, tape)
        shortest = min(shortest, rolled, key=lambda t: len(t.instrs))
        if len(shortest.instrs) < LONG:
            break
    return shortest


def _has_slices_of_all_lengths(tape: Tape) -> bool:
    """Whether a line takes slices of many lengths, as ``a[:i]`` does: these are no pieces that repeat."""
    shapes: dict[Any, set[tuple[int, ...]]] = {}
    for i in tape.instrs:
        if i.op is slice_ and i.source is not None:
            found = shapes.setdefault(i.source[:2], set())
            found.add(i.outs[0].aval.shape)
            if len(found) > FEWEST:
                return True
    return False


def _repeated(roll: Callable[[Tape], Tape], tape: Tape) -> Tape:
    for _ in range(TIMES):
        rolled = roll(tape)
        if rolled is tape:
            break
        tape = rolled
    return tape


def _rolled(tape: Tape) -> Tape:
    if len(tape.instrs) < 2 * FEWEST:
        return tape
    steps, outputs = read(drop_dead(tape))
    runs = repeats(kinds_of(steps))
    if not runs:
        return tape
    try:
        return Emitter(tape, steps, outputs).run(runs)
    except MissingRuleError as error:  # an op has no rule for batches
        notes = current_notes()
        if notes is not None:
            for r in runs:
                sources = [step.source for step in steps[r.start : r.start + r.period]]
                notes.leave_unrolled(sources, r.count, str(error).split("\n", 1)[0])
        return tape
