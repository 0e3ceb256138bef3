"""Passes: pure functions ``Tape -> Tape``, a file a pass, in the order of :data:`PIPELINE` and :func:`before_kernels`.

The last of them, :mod:`wengert.passes.plan`, makes of a tape a plan: where every value lives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert import config
from wengert.passes.fuse import IsNative, fuse
from wengert.passes.rematerialise import rematerialise
from wengert.passes.schedule import schedule
from wengert.passes.simplify import drop_dead, merge_common, use_identities
from wengert.tape import Tape, check

Pass = Callable[[Tape], Tape]

PIPELINE: tuple[Pass, ...] = (
    use_identities,  # first, since what becomes equal by them is merged, and what they no longer need is dropped
    merge_common,  # so that what two rules both computed is one value, and one of them may die
    drop_dead,  # after every pass that leaves values nobody reads
)


def before_kernels(is_native: IsNative) -> tuple[Pass, ...]:
    """What makes a tape of kernels: no derivative is taken of it, and nothing batches it."""
    return (
        schedule,  # before fusion, which joins what stands near
        lambda tape: fuse(tape, is_native),
        lambda tape: rematerialise(tape, is_native),  # after it, when it is known what lies between kernels
    )


def run(tape: Tape, passes: Sequence[Pass] = PIPELINE) -> Tape:
    """``tape`` through ``passes`` in order, checked after each where ``config.check`` is on."""
    for run_pass in passes:
        tape = run_pass(tape)
        if config.check:
            check(tape, after=getattr(run_pass, "__name__", "a pass"))
    return tape
