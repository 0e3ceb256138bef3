"""One iteration of a run as a graph of its steps: an edge where a step reads what another gave, in this iteration or in
one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

import numpy as np

from wengert.passes.reroll.pieces import IterationStep
from wengert.passes.reroll.reads import Column, Numbers, Reads
from wengert.passes.reroll.repeats import Run
from wengert.source import Source
from wengert.tape import Aval


class StepOutput(NamedTuple):
    """A slot, which stands for a value in each iteration: the output number ``output`` of the step number ``step``."""

    step: int
    output: int


class OperandReads(NamedTuple):
    """One operand of a step, iteration after iteration."""

    read: Column
    slot: Numbers
    """The number of the slot that is read; below zero where the value comes from outside of the run."""
    iteration: Numbers
    """The iteration whose value of that slot is read."""

    def is_of(self, slot: int, lag: int) -> bool:
        """Whether each iteration reads ``slot`` of the one ``lag`` before it, whatever the first ``lag`` iterations
        read."""
        count = len(self.slot)
        is_slot = (self.slot[lag:] == slot).all()
        return bool(is_slot and (self.iteration[lag:] == np.arange(count - lag)).all())


class Needs(NamedTuple):
    """Which values of a slot are read outside of its group."""

    all: bool
    """Whether values of other iterations than the last are read."""
    last: bool


class Iteration:
    """The steps of a run as one iteration, with what they read of each other."""

    def __init__(self, reads: Reads, run: Run) -> None:
        self.reads, self.run = reads, run
        start, period, count = run
        self.slots = [StepOutput(j, m) for j in range(period) for m in range(len(reads.steps[start + j].outs))]
        self.number = {slot: s for s, slot in enumerate(self.slots)}
        self._step_of = np.array([*[slot.step for slot in self.slots], period])
        """The step of each slot; behind them a number that is no step's, for what comes from outside."""
        self.operands = [
            [self._operand(reads.operand(start + j, o, period, count)) for o in range(len(reads.steps[start + j].refs))]
            for j in range(period)
        ]
        self.read_by = [self._steps_of(operands) for operands in self.operands]
        """The steps that each step reads, of this iteration or an earlier one."""

    def _operand(self, read: Column) -> OperandReads:
        first, n = int(self.reads.first_out[self.run.start]), len(self.slots)
        behind = read.value - first
        is_inside = (behind >= 0) & (behind < n * self.run.count)
        iteration, slot = np.divmod(behind, max(n, 1))
        return OperandReads(read, np.where(is_inside, slot, -1), iteration)

    def hit(self, operand: OperandReads, k: int) -> tuple[StepOutput, int] | None:
        """Return the slot that iteration ``k`` reads, and the iteration whose value it is; None if it comes from
        outside."""
        slot = int(operand.slot[k])
        return None if slot < 0 else (self.slots[slot], int(operand.iteration[k]))

    def seen(self, operand: OperandReads) -> list[int]:
        """Return the numbers of the slots that an operand reads."""
        is_seen = np.zeros(len(self.slots) + 1, bool)
        is_seen[operand.slot] = True  # -1, for what comes from outside, is the last entry
        return np.flatnonzero(is_seen[:-1]).tolist()

    def _steps_of(self, operands: Sequence[OperandReads]) -> set[int]:
        return {self.slots[s].step for operand in operands for s in self.seen(operand)}

    def is_inner(self, operand: OperandReads, group: Sequence[int]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return in which iterations an operand reads what a step of ``group`` gave."""
        is_of_group = np.zeros(self.run.period + 1, bool)
        is_of_group[list(group)] = True
        return is_of_group[self._step_of[operand.slot]]

    def step(self, j: int, k: int = 0) -> IterationStep:
        return self.reads.steps[self.run.start + k * self.run.period + j]

    def values(self, slot: StepOutput) -> range:
        """Return the numbers of the values of a slot, iteration after iteration."""
        n = len(self.slots)
        first = int(self.reads.first_out[self.run.start]) + self.number[slot]
        return range(first, first + n * self.run.count, n)

    def needs(self, slot: StepOutput, is_read_elsewhere: bool = False) -> Needs:
        """Return which values of ``slot`` are read when the run has ended. ``is_read_elsewhere``: another group of
        steps reads them in the run, so that all are needed."""
        numbers = self.values(slot)
        is_after = self.reads.last_use[numbers.start : numbers.stop : numbers.step] >= self.run.stop
        return Needs(is_read_elsewhere or bool(is_after[:-1].any()), bool(is_after[-1]))

    def aval(self, slot: StepOutput) -> Aval:
        return self.step(slot.step).outs[slot.output].aval

    def source(self, j: int) -> Source | None:
        source = self.step(j).source
        return None if source is None else source._replace(stands_for=f"{self.run.count} iterations")

    def parts(self) -> list[list[int]]:
        """Return the steps in groups, each of one step or a cycle, in an order in which they can be done."""
        from scipy.sparse import coo_array  # not before a loop is found: a first call need not wait for it
        from scipy.sparse.csgraph import connected_components

        period = self.run.period
        edges = [(i, j) for j in range(period) for i in self.read_by[j]]
        rows, columns = zip(*edges, strict=True) if edges else ((), ())
        graph = coo_array((np.ones(len(edges)), (rows, columns)), (period, period))
        label = connected_components(graph, connection="strong")[1].tolist()
        groups: dict[int, list[int]] = {}
        for j in range(period):
            groups.setdefault(label[j], []).append(j)
        order = TopologicalSorter({label[j]: () for j in range(period)})
        for i, j in edges:
            if label[i] != label[j]:
                order.add(label[j], label[i])
        return [groups[g] for g in order.static_order()]

    def is_cycle(self, group: Sequence[int]) -> bool:
        return len(group) > 1 or group[0] in self.read_by[group[0]]
