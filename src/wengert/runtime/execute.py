"""Run a recorded tape on what the caller has: arrays, or values of a trace that is open.

With a traced value among the arguments the tape is transformed and its steps join the enclosing trace, so any
transform nests in any other. With arrays it becomes a program, kept under the structure of the tape: a function
that records the same steps again, as an un-jitted gradient does at every call, is differentiated and optimised once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import config, passes
from wengert.ops.control import guard
from wengert.runtime.program import Program
from wengert.tape import Tape, splice, structure
from wengert.tracing.record import Recording
from wengert.tracing.tracer import Tracer, new_constant, trace_of, wrap

Transform = tuple[Callable[..., Tape], tuple[Any, ...]]
"""A function ``Tape -> Tape`` and its further, hashable, arguments."""

_programs: OrderedDict[Any, Program] = OrderedDict()
_lock = threading.Lock()


def transformed(tape: Tape, transforms: Sequence[Transform]) -> Tape:
    for f, args in transforms:
        tape = f(tape, *args)
    return tape


def program_for(tape: Tape, transforms: tuple[Transform, ...]) -> Program:
    """The program of the transformed tape, from the cache if a tape of this structure has been seen."""
    key = (structure(tape), transforms)
    with _lock:
        program = _programs.get(key)
        if program is not None:
            _programs.move_to_end(key)
            return program
    number = {c.var: k for k, c in enumerate(tape.captures)}
    optimised = passes.run(transformed(tape, transforms))
    program = Program(optimised, tuple(number[c.var] for c in optimised.captures))
    with _lock:
        _programs[key] = program
        while len(_programs) > config.max_programs:
            _programs.popitem(last=False)
    return program


def without_guards(tape: Tape) -> Tape:
    """For a run on the very values it was recorded with, on which every guard holds."""
    if any(instr.op is guard for instr in tape.instrs):
        return tape.replace(instrs=tuple(i for i in tape.instrs if i.op is not guard))
    return tape


def execute(
    recording: Recording, transforms: tuple[Transform, ...], args: Sequence[Any], extra: Sequence[Any] = ()
) -> list[Any]:
    """The outputs of the recorded tape after ``transforms``.

    ``args`` are the values of the recorded inputs; the recording's implicit inputs follow by themselves, then
    ``extra``, the values of the inputs that the transforms add.
    """
    tape = recording.tape
    values = [*args, *recording.implicit, *extra]
    trace, all_constant = trace_of(values)
    if trace is not None and not all_constant:
        joint = transformed(tape, transforms)
        atoms = [trace.lift(x, v.aval.dtype) for x, v in zip(values, joint.inputs, strict=True)]
        captured = [trace.capture_again(c) for c in joint.captures]
        outs = splice(trace.builder, joint, atoms, captured)
        return [wrap(trace, a) for a in outs]
    tape = without_guards(tape)
    program = program_for(tape, transforms)
    arrays = [concrete(x, v.aval.dtype) for x, v in zip(values, program.tape.inputs, strict=True)]
    results = program.run(arrays, [tape.captures[k].array for k in program.capture_numbers])
    if trace is not None:  # constants went in: what comes out is known to that trace
        return [new_constant(trace, np.asarray(r), True) for r in results]
    return results


def concrete(x: Any, dtype: np.dtype[Any]) -> Any:
    if type(x) is Tracer:
        return x.constant()
    return x if isinstance(x, np.ndarray) else np.asarray(x, dtype)[()]
