"""Which mode a derivative is taken in, where both give it."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.ad.forward import jvp
from wengert.ad.reverse import vjp
from wengert.tape import Tape

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
    times: then nothing is kept, and nothing runs twice."""
    inputs, aval = [tape.inputs[k].aval for k in wrt], tape.outputs[0].aval
    if inputs == [aval] and any(i.op.kernel.runs_unknown_times for i in tape.instrs):
        return jvp(tape, wrt, (0,), nan_safe, seed="one")
    return vjp(tape, wrt, (0,), "one", True, nan_safe)
