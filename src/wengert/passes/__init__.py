"""Passes: pure functions ``Tape -> Tape``, in the order of the lists below.

A tape that is to run many times goes through :data:`ONCE`; every tape then goes through :data:`PIPELINE`, and through
:data:`BEFORE_KERNELS` on its way to machine code. Last of all, :mod:`wengert.passes.plan` makes of a tape a plan: where
every value lives; :mod:`wengert.passes.memory` tells people about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert import config
from wengert.collector import undisturbed
from wengert.edit import merge_common
from wengert.passes.expand import expand
from wengert.passes.fuse import IsNative, fuse
from wengert.passes.number_guards import number_guards
from wengert.passes.output_masks import output_masks
from wengert.passes.planes import planes
from wengert.passes.recompute import recompute
from wengert.passes.rematerialise import rematerialise
from wengert.passes.reroll import reroll
from wengert.passes.schedule import schedule
from wengert.passes.simplify import drop_dead, fold_constants, use_identities
from wengert.passes.turn import turn
from wengert.tape import Tape, check

Pass = Callable[..., Tape]

ONCE: tuple[Pass, ...] = (
    # Not for un-jitted calls: their tape stands for every tape of its structure, and those have other constants; and it
    # has no guards, since it runs on the very values that it was recorded with.
    fold_constants,  # before the pipeline, which drops what the constants were made of
    reroll,  # after it, when steps on constants are gone, which no two iterations share
    number_guards,  # anywhere: no pass drops a guard, or moves one before another
)

PIPELINE: tuple[Pass, ...] = (
    use_identities,  # first, since what becomes equal by them is merged, and what they no longer need is dropped
    merge_common,  # so that what two rules both computed is one value, and one of them may die
    output_masks,  # after it, so that a mask is one value; before the next, since what it compared may die
    drop_dead,  # after every pass that leaves values nobody reads
)

BEFORE_KERNELS: tuple[Pass, ...] = (
    # What makes a tape of kernels: no derivative is taken of it, and nothing batches it.
    expand,  # first: the others know the steps it is made of
    planes,  # before all that knows kernels, which are of real numbers
    turn,  # before fusion, which joins products with what reads them
    schedule,  # before fusion, which joins what stands near
    recompute,  # once it is known what stands between an array and its last readers; before what it inserts is fused
    fuse,  # on what is left to compute, in the order in which it will be
    rematerialise,  # after it, when it is known what lies between kernels
)

ASK_WHAT_IS_NATIVE = frozenset([recompute, fuse, rematerialise])
"""The passes that must know which scalar functions there is machine code for: ``run_pass(tape, is_native)``."""


@undisturbed
def run(tape: Tape, passes: Sequence[Pass] = PIPELINE, is_native: IsNative | None = None) -> Tape:
    """``tape`` through ``passes`` in order, checked after each where ``config.check`` is on.

    Tapes among the parameters, the bodies of maps, stay as they are. Each is an expression within one kernel, where
    LLVM simplifies it; and steps are equal if their bodies are one object, which passes would make two of. A body that
    is a program of its own, of a branch or a loop, is to be descended into here, so that no pass has to.
    """
    for run_pass in passes:
        tape = run_pass(tape, is_native) if run_pass in ASK_WHAT_IS_NATIVE else run_pass(tape)
        if config.check:
            check(tape, after=run_pass.__name__)
    return tape
