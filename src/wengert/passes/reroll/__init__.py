"""Loops that were unrolled, rolled up again.

A trace has every iteration of a loop as steps of its own. Where they repeat, one step over all iterations takes their
place: an array step, a sum, or a ``scan``. The tape no longer grows with the number of iterations, and neither does
what is differentiated, planned and compiled. Sums are taken in another order; nothing else changes.

* :mod:`~wengert.passes.reroll.pieces`: reads and writes of elements are followed through.
* :mod:`~wengert.passes.reroll.repeats`: where the steps repeat.
* :mod:`~wengert.passes.reroll.loops`: what the iterations become.
* :mod:`~wengert.passes.reroll.columns`: their operands, as arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.collector import undisturbed
from wengert.errors import InternalError, WengertError
from wengert.ops.control import guard
from wengert.ops.index import scatter_set, set_slice
from wengert.ops.shape import reshape
from wengert.passes.reroll.columns import Places, Rolled
from wengert.passes.reroll.loops import Irregular, Iteration, NotRolled, Roller
from wengert.passes.reroll.pieces import IterationStep, Ref, read
from wengert.passes.reroll.reads import Reads
from wengert.passes.reroll.repeats import FEWEST, Run, repeats
from wengert.passes.simplify import drop_dead
from wengert.tape import Aval, Builder, Instr, Tape, building

TIMES = 3
"""How often: loops in loops are rolled up from the inside."""
PEELED = 4
"""Iterations that may stay outside, where a loop begins otherwise than it goes on."""


@undisturbed
def reroll(tape: Tape) -> Tape:
    """``tape`` with loops in place of what repeats; sums are taken in another order. Log-linear."""
    for _ in range(TIMES):
        rolled = _rolled(tape)
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
    except InternalError:
        raise
    except WengertError:  # of an op that has no batches
        return tape


def kinds_of(steps: list[IterationStep]) -> Any:
    """A number for each step, equal for steps that may be iterations of one; below zero for what stays alone."""
    known: dict[Any, int] = {}
    kinds = np.empty(len(steps), np.int64)
    for k, step in enumerate(steps):
        op, refs, outs, params, source, places = step
        if op is not None and ((op.effects and op is not guard) or not op.is_stable or op.batch is None):
            kinds[k] = -1 - k
            continue
        line = None if source is None else source[:2]
        if op is guard:
            said: Any = (params["kind"], params["expected"].key[:2])
        else:
            said = tuple(params.items())
        key = (op, said, len(places), line, *[r.aval for r in refs], *[v.aval for v in outs])
        kinds[k] = known.setdefault(key, len(known))
    return kinds


class Emitter:
    """Writes a tape anew, step by step, with loops in the place of some of its runs."""

    def __init__(self, tape: Tape, steps: list[IterationStep], outputs: list[Ref]) -> None:
        self.tape, self.steps, self.outputs = tape, steps, outputs
        self.reads = Reads(steps, outputs)
        self.places = Places(tape.captures, self.reads)
        self.builder = Builder()
        self.has_rolled = False

    def run(self, runs: list[Run]) -> Tape:
        done = 0
        with building(self.builder):
            for r in runs:
                self.emit_all(done, r.start)
                self._roll(r, PEELED)
                done = r.stop
            self.emit_all(done, len(self.steps))
        return self.made() if self.has_rolled else self.tape

    def made(self) -> Tape:
        """Return the tape of what was emitted."""
        self.builder.source = None
        with building(self.builder):
            outputs = tuple([self.places.atom(r) for r in self.outputs])
        metadata = {v: note for v, note in self.tape.metadata.items() if not self.places.has_moved(v)}
        return drop_dead(
            self.tape.replace(
                instrs=self.builder.instrs,
                captures=tuple(self.places.captures),
                outputs=outputs,
                metadata=metadata,
                any_length=True,
            )
        )

    def emit_all(self, start: int, stop: int) -> None:
        """Emit these steps as they were."""
        for step in self.steps[start:stop]:
            self.emit(step)

    def _roll(self, r: Run, may_peel: int) -> None:
        try:
            roller = Roller(Iteration(self.reads, r), self.places, self.emit)
        except NotRolled:
            self.emit_all(r.start, r.stop)
            return
        except Irregular:
            if may_peel and r.count > FEWEST:
                self.emit_all(r.start, r.start + r.period)
                self._roll(Run(r.start + r.period, r.period, r.count - 1), may_peel - 1)
            else:
                self.emit_all(r.start, r.stop)
            return
        if roller.is_worth_it():
            roller.roll()
            self.has_rolled = True
        else:
            self.emit_all(r.start, r.stop)

    def emit(self, step: IterationStep) -> None:
        """The step as it was."""
        self.builder.source = step.source
        if step.op is not None:
            atoms = tuple([self.places.atom(r) for r in step.refs])
            self.builder.append(Instr(step.op, atoms, step.outs, step.params, step.source))
            return
        (out,) = step.outs
        number = self.reads.number[out]
        self.places.settle(range(number, number + 1), Rolled(self._assembled(step), None))

    def _assembled(self, step: IterationStep) -> Any:
        aval, n = step.outs[0].aval, len(step.places)
        values = self.places.stacked(self.reads.column(step.refs[-n:]))
        if step.is_covered:
            return reshape(values, shape=aval.shape)
        unit = values.aval.shape[1:]
        size = Aval(unit, aval.dtype).size
        rows = reshape(self.places.atom(step.refs[0]), shape=(aval.size // size, *unit))
        at = np.array(step.places) // size
        steps = np.unique(np.diff(at))
        if len(steps) <= 1:
            index = ((int(at[0]), n, int(steps[0]) if len(steps) else 1), *[(0, m, 1) for m in unit])
            made = set_slice(rows, values, index=index)
        else:
            made = scatter_set(rows, values, self.places.constant(at))
        return reshape(made, shape=aval.shape)
