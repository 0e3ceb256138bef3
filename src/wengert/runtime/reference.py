"""Run a tape step by step through the NumPy references of its ops; native programs are tested against this.

It also runs programs where machine code is switched off (``WENGERT_NATIVE=0``). Slots are freed after their last use,
and an op that can work in place overwrites an operand that is not needed afterwards, so that a loop of ``x[i] = v``
costs what it costs in NumPy. Results never share memory with arguments, captured arrays or each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert._contexts import silent
from wengert.errors import say_where
from wengert.tape import Atom, Aval, Lit, Tape, Var

ReferenceStep = tuple[int, Any, int, int, int, list[int]]
"""One step, ``(arity, run, first, second, out, dead)``: ``slots[out] = run(slots[first])`` for ``arity`` 1,
``run(slots[first], slots[second])`` for 2. For ``arity`` 0 it is ``run(slots)``, which reads and stores by itself. Then
the slots in ``dead`` are emptied. It has no names, since making a tuple that has takes a third of planning."""


class Reference:
    """Runs a tape. Immutable, so that several threads may run it at once; each run has its own slots."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.steps, self._initial, self._outputs = _plan(tape)

    def run(self, inputs: Sequence[Any], captures: Sequence[Any] | None = None) -> list[Any]:
        """Return the outputs for arrays of exactly the tape's input types.

        ``captures`` stand in for the captured arrays of a tape of the same structure; by default the tape's own
        are read where they lie. Raises :class:`~wengert.ops.control.GuardMiss` when a guard does not hold.
        """
        if captures is None:
            captures = [c.array for c in self.tape.captures]
        slots = [*inputs, *captures, *self._initial]
        with silent():  # a backward part may divide by zero where a mask leaves the result out
            self._run_steps(slots)
        return self._collect(slots, inputs, captures)

    def _run_steps(self, slots: list[Any]) -> None:
        number = 0
        try:
            for number, (arity, run, first, second, out, dead) in enumerate(self.steps):  # noqa: B007  # read where it fails
                if arity == 2:
                    slots[out] = run(slots[first], slots[second])
                elif arity == 1:
                    slots[out] = run(slots[first])
                else:
                    run(slots)
                if dead:
                    for k in dead:
                        slots[k] = None
        except Exception as error:  # whatever NumPy or the user's code raises goes on, with a note
            say_where(error, self.tape.instrs[number].source)
            raise

    def _collect(self, slots: list[Any], inputs: Sequence[Any], captures: Sequence[Any]) -> list[Any]:
        results: list[Any] = []
        for k, aval, is_fresh in self._outputs:
            x = slots[k]
            if not isinstance(x, np.ndarray):
                x = np.asarray(x, aval.dtype)
            elif not (is_fresh and x.flags.c_contiguous):
                # It may share memory with an argument, a captured array, or another result; and a result is in C order,
                # The layout is that of machine code: the caller's r.ravel() shares its memory or not, whoever ran.
                x = np.array(x, order="C")
            results.append(x if aval.shape else x[()])
        return results


def _plan(tape: Tape) -> tuple[list[ReferenceStep], list[Any], list[tuple[int, Aval, bool]]]:
    given = (*tape.inputs, *[c.var for c in tape.captures])
    read_and_made = [a for instr in tape.instrs for a in (*instr.ins, *instr.outs)]
    slot = {a: k for k, a in enumerate(dict.fromkeys((*given, *read_and_made, *tape.outputs)))}
    own = list(slot)[len(given) :]
    initial = [a.value if type(a) is Lit else None for a in own]
    last_needed = {a: k for k, instr in enumerate(tape.instrs) for a in (*instr.outs, *instr.ins)}
    last_needed.update([(a, len(tape.instrs)) for a in tape.outputs])
    dying: list[list[int]] = [[] for _ in range(len(tape.instrs) + 1)]
    for a in own:
        if type(a) is Var:
            dying[last_needed[a]].append(slot[a])
    owner = _owners(tape)
    overwrites = _overwriting(tape, owner, last_needed)
    steps: list[ReferenceStep] = []
    for k, (op, ins, outs, params, _) in enumerate(tape.instrs):
        if op.bind is not None:
            run = op.bind([a.aval for a in ins], **params)
        elif k in overwrites:
            run = _bound(_writable(op.in_place), params)
        else:
            run = _bound(op.reference, params)
        if len(outs) == 1 and 0 < len(ins) < 3:
            steps.append((len(ins), run, slot[ins[0]], slot[ins[-1]], slot[outs[0]], dying[k]))
        else:
            run = _taking_slots(run, [slot[a] for a in ins], [slot[v] for v in outs])
            steps.append((0, run, -1, -1, -1, dying[k]))
    # A result that an op made and that is returned once is given to the caller; any other is copied for the caller.
    count, viewed = Counter(tape.outputs), set(owner.values())
    made = set(own).difference(owner)
    return steps, initial, [(slot[a], a.aval, a in made and count[a] == 1 and a not in viewed) for a in tape.outputs]


def _owners(tape: Tape) -> dict[Atom, Atom]:
    """Map each view to the value whose memory it shares."""
    owner: dict[Atom, Atom] = {}
    for instr in tape.instrs:
        if instr.op.is_view and instr.ins:
            memory = owner.get(instr.ins[0], instr.ins[0])
            owner.update(dict.fromkeys(instr.outs, memory))
    return owner


def _overwriting(tape: Tape, owner: dict[Atom, Atom], last_needed: dict[Atom, int]) -> set[int]:
    """The numbers of the steps that may overwrite operand 0, since no value in its memory is needed afterwards."""
    if all(instr.op.in_place is None for instr in tape.instrs):
        return set()
    last_of_memory = dict(last_needed)
    for view, memory in owner.items():
        last_of_memory[memory] = max(last_of_memory[memory], last_needed.get(view, 0))
    callers: list[Atom] = [*tape.inputs, *[c.var for c in tape.captures]]
    last_of_memory.update(dict.fromkeys(callers, len(tape.instrs)))
    found: set[int] = set()
    for k, instr in enumerate(tape.instrs):
        if instr.op.in_place is not None:
            memory, *others = [owner.get(a, a) for a in instr.ins]
            if last_of_memory[memory] <= k and memory not in others:
                found.add(k)
    return found


def _taking_slots(run: Any, ins: Sequence[int], outs: Sequence[int]) -> Any:
    """Return a step with any number of operands and results as a function of the slots."""

    def step(slots: list[Any]) -> None:
        value = run(*[slots[k] for k in ins])
        for k, v in zip(outs, (value,) if len(outs) == 1 else value, strict=True):
            slots[k] = v

    return step


def _writable(in_place: Any) -> Any:
    """Wrap ``in_place`` so that it first copies an operand 0 that cannot be written: a broadcast view or a scalar."""

    def run(x: Any, *rest: Any, **params: Any) -> Any:
        if not isinstance(x, np.ndarray) or not x.flags.writeable or 0 in x.strides:
            x = np.array(x)
        return in_place(x, *rest, **params)

    return run


def _bound(run: Any, params: Any) -> Any:
    return partial(run, **params) if params else run
