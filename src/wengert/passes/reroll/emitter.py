"""Writes a tape anew, with loops in the place of some of its runs."""

from __future__ import annotations

from wengert.notes import current as current_notes
from wengert.passes.reroll.assembling import assembled_alone
from wengert.passes.reroll.columns import Places, Rolled
from wengert.passes.reroll.iteration import Iteration
from wengert.passes.reroll.pieces import IterationStep, Ref
from wengert.passes.reroll.reads import Reads
from wengert.passes.reroll.repeats import FEWEST, Run
from wengert.passes.reroll.roller import NotRolled, Roller
from wengert.passes.reroll.scans import Irregular
from wengert.passes.simplify import drop_dead
from wengert.tape import Builder, Instr, Tape, building

PEELED = 4
"""Iterations that may stay outside, where a loop begins otherwise than it goes on."""


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
        except NotRolled as why:
            self._leave(r, str(why))
            return
        except Irregular:
            if may_peel and r.count > FEWEST:
                self.emit_all(r.start, r.start + r.period)
                self._roll(Run(r.start + r.period, r.period, r.count - 1), may_peel - 1)
            else:
                self._leave(r, "an iteration reads what others gave, and not at one distance before it")
            return
        if roller.is_worth_it():
            roller.roll()
            self.has_rolled = True
        else:
            self._leave(r, f"a scan would save {r.saved} steps, and so short a loop runs faster as straight code")

    def _leave(self, r: Run, why: str) -> None:
        """Emit a run as it was, and note why."""
        notes = current_notes()
        if notes is not None:
            notes.leave_unrolled([step.source for step in self.steps[r.start : r.start + r.period]], r.count, why)
        self.emit_all(r.start, r.stop)

    def emit(self, step: IterationStep) -> None:
        """Emit a step as it was."""
        self.builder.source = step.source
        if step.op is not None:
            atoms = tuple([self.places.atom(r) for r in step.refs])
            self.builder.append(Instr(step.op, atoms, step.outs, step.params, step.source))
            return
        (out,) = step.outs
        number = self.reads.number[out]
        self.places.settle(range(number, number + 1), Rolled(assembled_alone(step, self.reads, self.places), None))
