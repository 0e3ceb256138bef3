"""Run a recorded tape on the caller's arguments: arrays, or values of a trace that is open.

If an argument is traced, the tape is transformed and its steps join the enclosing trace, so any transform nests in any
other. If all are arrays, the tape becomes a program, which is kept by the structure of the tape: a function that
records the same steps again, as an un-jitted gradient does at every call, is differentiated and optimised once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert import config, passes
from wengert._contexts import replaced
from wengert.edit import merge_common
from wengert.locks import lock
from wengert.passes.number_guards import without_guards
from wengert.passes.simplify import drop_dead
from wengert.runtime._native import finding
from wengert.runtime.nonfinite import Call, calling
from wengert.runtime.program import Program
from wengert.runtime.tiered import TieredProgram
from wengert.tape import Tape, has_effects, splice, structure, without_data
from wengert.tracing.emit import new_constant, trace_of, wrap
from wengert.tracing.lifting import capture_again, lift
from wengert.tracing.record import Recording
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer
from wengert.tracing.ways import forget_steps

Transform = tuple[Callable[..., Tape], tuple[Any, ...]]
"""A function ``Tape -> Tape`` and its further, hashable, arguments."""

_programs: OrderedDict[Any, TieredProgram] = OrderedDict()
_lock = lock()


def forget() -> None:
    """Let go of the programs of un-jitted calls, and of the steps that they took."""
    with _lock:
        _programs.clear()
        forget_steps()


def programs() -> list[Program]:
    """Return the programs of un-jitted calls that are machine code by now."""
    with _lock:
        kept = list(_programs.values())
    return [tiered.program for tiered in kept if tiered.program is not None]


def transformed(tape: Tape, transforms: Sequence[Transform]) -> Tape:
    """Return the tape that the transforms make of a recorded one, in order."""
    tape = passes.run(tape, passes.BEFORE_DERIVATIVES)
    for f, args in transforms:
        tape = f(tape, *args)
    return tape


def _has_fixed_rules(tape: Tape) -> bool:
    """Whether a derivative of ``tape`` is the same whenever it is made."""
    return all(instr.op.is_stable or instr.op.has_fixed_rules for instr in tape.instrs)


def program_for(tape: Tape, transforms: tuple[Transform, ...]) -> TieredProgram:
    """The program of the transformed tape, from the cache if a tape of this structure and these lines was seen.

    The lines matter because errors name them.
    """
    lines = tuple([None if i.source is None else (i.source.file, i.source.line) for i in tape.instrs])
    key = (structure(tape), lines, transforms)
    with _lock:
        program = _programs.get(key)
        if program is not None:
            _programs.move_to_end(key)
            return program
    number = {c.var: k for k, c in enumerate(tape.captures)}
    joint = transformed(tape, transforms)
    # The references run equal steps twice, which is right but for those that show something: their pullback is one.
    shows = any(map(has_effects, joint.instrs))
    needed = passes.run(joint, (merge_common, drop_dead) if shows else (drop_dead,))
    numbers = tuple([number.get(c.var, -1) for c in needed.captures])
    hollow = tuple([c if k < 0 else without_data(c) for c, k in zip(needed.captures, numbers, strict=True)])
    program = TieredProgram(needed.replace(captures=hollow), numbers)
    if _has_fixed_rules(tape):
        with _lock:
            _programs[key] = program
            while len(_programs) > config.max_programs:
                _programs.popitem(last=False)
    return program


def execute(
    recording: Recording,
    transforms: tuple[Transform, ...],
    args: Sequence[Any],
    extra: Sequence[Any] = (),
    call: Call | None = None,
) -> list[Any]:
    """Return the outputs of the recorded tape after ``transforms``.

    ``args`` are the values of the recorded inputs; the recording's implicit inputs follow by themselves, then
    ``extra``, the values of the inputs that the transforms add. ``call`` is the user's call, for names in errors.
    """
    tape = recording.tape
    values = [*args, *recording.implicit, *extra]
    trace, all_constant = trace_of(values)
    if trace is not None and not all_constant:
        return _spliced(trace, recording, transforms, values)
    program = recording.programs.get(transforms)
    if program is None:
        program = program_for(without_guards(tape), transforms)
        if _has_fixed_rules(tape):
            recording.programs[transforms] = program
    arrays = [
        x if type(x) is np.ndarray else concrete(x, v.aval.dtype)
        for x, v in zip(values, program.tape.inputs, strict=True)
    ]
    captures = _captures_of(program, recording.captured)
    if finding.mode and call is not None:
        known = dict(zip([c.var for c in program.tape.captures], captures, strict=True))
        with replaced(calling, "call", (call, args, known)):
            results = program.run_recorded(arrays, captures)
    else:
        results = program.run_recorded(arrays, captures)
    if trace is not None:  # all arguments are constants of that trace, so the results are constants of it too
        return [new_constant(trace, np.asarray(r), True) for r in results]
    return results


def _spliced(trace: Trace, recording: Recording, transforms: tuple[Transform, ...], values: Sequence[Any]) -> list[Any]:
    """Let the steps of the transformed tape join a trace that is open."""
    tape, key = recording.tape, (_spliced, transforms)
    joint = recording.programs.get(key)
    if joint is None:
        joint = transformed(tape, transforms)
        numbers = {c.var: k for k, c in enumerate(tape.captures)}
        joint = joint.replace(captures=tuple([without_data(c) if c.var in numbers else c for c in joint.captures]))
        if _has_fixed_rules(tape):
            recording.programs[key] = joint
    atoms = [lift(trace, x, v.aval.dtype) for x, v in zip(values, joint.inputs, strict=True)]
    present = {c.var: c._replace(array=array) for c, array in zip(tape.captures, recording.captured, strict=True)}
    captured = [capture_again(trace, present.get(c.var, c)) for c in joint.captures]
    if trace.steps is None:
        outs = splice(trace.builder, joint, atoms, captured)
    else:
        make = partial(splice, trace.builder, joint, atoms, captured)
        outs = trace.steps.block(joint, (*atoms, *captured), make)
    return [wrap(trace, a) for a in outs]


def run_once(tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """Run a tape once, on the very values that it was recorded with, by the program of its structure, as an un-jitted
    call does."""
    program = program_for(without_guards(tape), ())
    return program.run_recorded(inputs, _captures_of(program, [c.array for c in tape.captures]))


def _captures_of(program: TieredProgram, captured: Sequence[Any]) -> list[Any]:
    """The arrays for the captures of the program: those the function captured, or, for number -1, one that a rule
    captured."""
    return [
        captured[k] if k >= 0 else own.array
        for k, own in zip(program.capture_numbers, program.tape.captures, strict=True)
    ]


def concrete(x: object, dtype: np.dtype[Any]) -> Any:
    """The argument that a program gets for a value that is not an array: a constant of an enclosing trace, or a
    number. It was checked when it was recorded, and is not checked again."""
    if type(x) is Tracer:
        return x.constant()
    return np.asarray(x, dtype)[()]
