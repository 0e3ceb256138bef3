"""Passes: pure functions ``Tape -> Tape``, a file a pass, in the order of :data:`PIPELINE`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert import config
from wengert.passes.simplify import drop_dead, merge_common
from wengert.tape import Tape, check

Pass = Callable[[Tape], Tape]

PIPELINE: tuple[Pass, ...] = (
    merge_common,  # first, so that what two rules both computed is one value, and one of them may die
    drop_dead,  # after every pass that leaves values nobody reads
)


def run(tape: Tape, passes: Sequence[Pass] = PIPELINE) -> Tape:
    """``tape`` through ``passes`` in order, checked after each where ``config.check`` is on."""
    for run_pass in passes:
        tape = run_pass(tape)
        if config.check:
            check(tape, after=getattr(run_pass, "__name__", "a pass"))
    return tape
