"""Programs of un-jitted calls: NumPy runs the references of their ops at first, machine code once it has been earned.

A compiler takes as long as hundreds of small calls, and most structures are never met again; so the first call does not
wait for it. NumPy answers until all its calls together have taken about as long as compiling would: the cost is then
within a constant factor of the better choice, whatever follows (the ski rental problem). Before that point another
thread begins to compile, if there is a processor for it, so that little is left to wait for.

Both times are estimated from the tape and never measured. So machine code, whose last digits are not NumPy's, takes
over at the same call in every run of a script: each run gives the same bits. ``config.tiered = False`` compiles at the
first call.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from wengert import config, passes
from wengert.ops.op import Op
from wengert.runtime import _native, machine_code
from wengert.runtime.nonfinite import look
from wengert.runtime.program import Program
from wengert.runtime.reference import Reference
from wengert.tape import Aval, Tape
from wengert.tracing.read_only import writes_no_arrays

# Seconds, as they were on a processor of 2024 (benchmarks/bench_first_calls.py); only their ratios count.
A_STEP = 1e-6  # a step in NumPy, however small
AN_ELEMENT = 1e-9  # an element that NumPy writes
A_FLOP = 3e-10  # a flop of an elementwise function
COMPILING = 1e-2  # compiling any tape
COMPILING_A_STEP = 2e-4  # compiling, for each step

BEGIN, ADOPT = 1 / 16, 1 / 2  # shares of the cost of compiling: when to begin it, and when to wait for it


class TieredProgram:
    """Runs a tape whose captured arrays are given at each run.

    ``capture_numbers`` has for each capture of the tape its number among the captures of the recorded tape; -1 for an
    array that a rule captured.

    It is safe under several threads without a lock: they may lose a count, or make a program twice, and no more.
    """

    def __init__(self, tape: Tape, capture_numbers: tuple[int, ...] = ()) -> None:
        self.tape = tape
        self.capture_numbers = capture_numbers
        self.program: Program | None = None
        """The machine code; None as long as the references answer."""
        self._seconds = reference_seconds(tape)  # the time of one run by the references
        self._price = compile_seconds(tape)
        self._spent = 0.0
        self._reads: list[int] = []  # the captures that the machine code reads
        self._reference: Reference | None = None
        self._thread: threading.Thread | None = None
        self._begun: list[Program] = []  # the program that the thread has made

    def run_recorded(self, inputs: Sequence[Any], captures: Sequence[Any]) -> list[Any]:
        """Return the outputs for the very values that the tape was recorded with, for which every guard holds."""
        if self.program is None:
            self._count_a_run()
        if self.program is not None:
            return self.program.run_recorded(inputs, [captures[k] for k in self._reads])[0]
        if _native.finding.mode:
            look(self.tape, inputs, captures)
        reference = self._reference = self._reference or Reference(self.tape)
        return reference.run(inputs, captures)

    def _count_a_run(self) -> None:
        self._spent += self._seconds
        if not config.native:
            if self._spent >= ADOPT * self._price:
                machine_code.say_once()
            return
        if not config.tiered or self._spent >= ADOPT * self._price:
            program = self._awaited() or self._compiled()
            number = {c.var: k for k, c in enumerate(self.tape.captures)}
            self._reads = [number[c.var] for c in program.tape.captures]
            self.program = program  # last: another thread may be at it
            self._reference, self._thread = None, None
        elif self._spent >= BEGIN * self._price and self._thread is None and _processors() > 1:
            thread = threading.Thread(target=self._begin, name="wengert compiles")
            thread.start()
            self._thread = thread  # last: it may be interrupted before

    def _compiled(self) -> Program:
        """Compile the optimised tape. The references run the tape as it is, since they run too seldom for optimising to
        pay."""
        return Program(passes.run(self.tape), captures_vary=True)

    def _begin(self) -> None:
        # An error is not lost: the call that needs the program compiles again, and raises it.
        with writes_no_arrays(), suppress(Exception):
            self._begun.append(self._compiled())

    def _awaited(self) -> Program | None:
        thread = self._thread
        if thread is not None:
            thread.join()  # in a child of a fork the thread does not run, and this returns at once
        return self._begun[0] if self._begun else None


class Earning:
    """The account of a program that NumPy answers for: whether its runs have earned machine code by now.

    A loop runs its body so often that NumPy would take longer for it than a compiler: it has earned it from the start.
    """

    def __init__(self, tape: Tape) -> None:
        self._seconds = float("inf") if any(i.op.bodies is not None for i in tape.instrs) else reference_seconds(tape)
        self._left = ADOPT * compile_seconds(tape)

    def is_earned(self) -> bool:
        """Count one run, and say whether machine code is to do it."""
        self._left -= self._seconds
        if self._left <= 0 and not config.native:
            machine_code.say_once()
        return config.native and (self._left <= 0 or not config.tiered)


def reference_seconds(tape: Tape) -> float:
    """Estimate the seconds that NumPy takes for steps that machine code does faster: it writes less memory, and does
    elementwise steps in wider registers. The flops of a product are not counted, since BLAS does them in both cases."""
    alike = Counter([(i.op, v.aval) for i in tape.instrs if not i.params for v in i.outs])
    others = [_seconds(i.op, v.aval, i.params) for i in tape.instrs if i.params for v in i.outs]
    return sum([count * _seconds(op, aval, {}) for (op, aval), count in alike.items()]) + sum(others)


def _seconds(op: Op, out: Aval, params: Mapping[str, Any]) -> float:
    if op.is_view:
        return 0.0
    return A_STEP + AN_ELEMENT * out.size + (A_FLOP * op.cost(out, **params) if op.is_elementwise else 0.0)


def compile_seconds(tape: Tape) -> float:
    """Estimate the seconds that it takes to compile a tape if none of its code is on disk."""
    return COMPILING + COMPILING_A_STEP * len(tape.instrs)


def _processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
