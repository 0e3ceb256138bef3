"""Which mode a derivative is taken in, where both give it."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.ad.forward import jvp
from wengert.ad.reverse import vjp
from wengert.tape import Tape, tapes_in

OF_REPEATED = 3
"""The cost of a pullback, in tangents, of a loop that runs an unknown number of times: it runs the loop again, and
keeps what every iteration began with."""


def is_forward(tape: Tape, inputs: int, outputs: int) -> bool:
    """Whether as many tangents as there are input elements cost less than as many cotangents as output elements."""
    repeats = any(i.op.kernel.runs_unknown_times for i in tape.instrs)
    return inputs <= outputs * (OF_REPEATED if repeats else 1)


def gradient(tape: Tape, wrt: Sequence[int], nan_safe: bool = False) -> Tape:
    """The tape that computes the outputs of ``tape`` and the gradient of the first, a real number, in some inputs.

    It is the pullback, or the tangent along the only input if that is a number and a loop runs an unknown number of
    times: then nothing is kept, and nothing runs twice. Who watches wants to see cotangents, though."""
    inputs, aval = [tape.inputs[k].aval for k in wrt], tape.outputs[0].aval
    repeats = any(i.op.kernel.runs_unknown_times for i in tape.instrs)
    if inputs == [aval] and repeats and not _is_watched(tape):
        return jvp(tape, wrt, (0,), nan_safe, seed="one")
    return vjp(tape, wrt, (0,), "one", True, nan_safe)


def _is_watched(tape: Tape) -> bool:
    return any(i.op.is_watched or any(map(_is_watched, tapes_in(tuple(i.params.values())))) for i in tape.instrs)
