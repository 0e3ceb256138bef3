"""Passes: pure functions ``Tape -> Tape``, in the order of the lists below.

A recorded tape goes through :data:`BEFORE_DERIVATIVES` before it is transformed and, if an enclosing trace will be
compiled, through :data:`ROLLING`. A tape that is to run many times goes through :data:`ONCE`; every tape then goes
through :data:`PIPELINE`, and through :data:`BEFORE_KERNELS` on its way to machine code. Last of all,
:mod:`wengert.passes.plan` turns a tape into a plan, which says where every value lives; :mod:`wengert.passes.memory`
explains a plan to people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert import config
from wengert.collector import undisturbed
from wengert.edit import merge_common
from wengert.passes.any_count import with_loops_of_any_count
from wengert.passes.expand import expand
from wengert.passes.fold_constants import fold_constants
from wengert.passes.fuse import IsNative, fuse
from wengert.passes.hoist import hoist
from wengert.passes.join_windows import join_windows
from wengert.passes.lanes import lanes
from wengert.passes.merge_carries import merge_carries
from wengert.passes.narrow_constants import narrow_constants
from wengert.passes.number_guards import number_guards
from wengert.passes.output_masks import output_masks
from wengert.passes.planes import planes
from wengert.passes.recompute import recompute
from wengert.passes.rematerialise import rematerialise
from wengert.passes.reroll import reroll
from wengert.passes.schedule import schedule
from wengert.passes.simplify import drop_dead, use_identities
from wengert.passes.stencils import stencils
from wengert.passes.sum_products import sum_products
from wengert.passes.transpose_products import transpose_products
from wengert.tape import Tape, check
from wengert.tracing.counted import RunCounts

Pass = Callable[..., Tape]

BEFORE_DERIVATIVES: tuple[Pass, ...] = (
    # These run on the tape that a function recorded, and on the bodies of its loops and branches.
    join_windows,  # before a derivative is taken: the derivative of windows alone would be a scatter
    hoist,  # before a derivative is taken, which would keep the value of such a step for each iteration
)

ROLLING: tuple[Pass, ...] = (
    # These run where a function inside of a compiled one is transformed, so that a short tape is differentiated.
    with_loops_of_any_count,  # before reroll, which would make a loop of the count of this run
    reroll,
    sum_products,  # after reroll, which makes batches of products and sums of them
    narrow_constants,  # after reroll, which makes scans of which a derivative will be taken
)

ONCE: tuple[Pass, ...] = (
    with_loops_of_any_count,  # first, on the tape as it was recorded: the notes on it name its steps
    # Not for un-jitted calls: their tape stands for every tape of its structure, and those have other constants; and it
    # has no guards, since it runs on the very values that it was recorded with.
    fold_constants,  # before the pipeline, which drops the steps whose results have become constants
    hoist,  # of loops of which no derivative is taken; after fold_constants, when constants are gone from the bodies
    reroll,  # after fold_constants, when steps on constants are gone, which no two iterations share
    number_guards,  # anywhere: no pass drops a guard, or moves one before another
)

PIPELINE: tuple[Pass, ...] = (
    use_identities,  # first: steps that become equal are merged below, operands no longer needed are dropped below
    merge_common,  # so that a value which two rules both computed is computed once
    output_masks,  # after merge_common, so that a mask is one value; before drop_dead, since its operand may be dead
    drop_dead,  # after every pass that leaves values which nothing reads
)

BEFORE_KERNELS: tuple[Pass, ...] = (
    # These turn a tape into one of kernels: no derivative is taken of it afterwards, and it is not batched.
    sum_products,  # before expand, which makes maps of products that are not summed
    expand,  # before the others, which work on the steps that it puts in
    merge_carries,  # before all passes that look at what a loop hands on
    lanes,  # before the others that ask for kernels, which then see what is left, and each block by itself
    planes,  # before all passes that ask for kernels, which take real numbers alone
    transpose_products,  # before fuse, which joins products with their readers
    schedule,  # before fuse, which joins steps that stand near each other
    recompute,  # when the order is final, so that the steps between two readers are known; before fuse, which takes its
    stencils,  # before fuse, which takes each as one map; after recompute, which knows maps alone
    fuse,  # on the steps that are left, in the order in which they will run
    rematerialise,  # after fuse, when the arrays between kernels are known
)

WITHOUT_LANES: tuple[Pass, ...] = tuple([p for p in BEFORE_KERNELS if p is not lanes])
"""These are for the steps of a region of lanes whose block is too long to be one kernel."""

ASK_WHAT_IS_NATIVE = frozenset([recompute, stencils, fuse, rematerialise])
"""The passes that must know which scalar functions have machine code: ``run_pass(tape, is_native)``."""
ROLL_LOOPS = frozenset([with_loops_of_any_count, reroll])
"""The passes that ``jit(f, reroll=False)`` leaves out."""


@undisturbed
def run(
    tape: Tape,
    passes: Sequence[Pass] = PIPELINE,
    is_native: IsNative | None = None,
    counts: RunCounts | None = None,
    is_rolled: bool = True,
) -> Tape:
    """Put ``tape`` through ``passes`` in order, and check it after each if ``config.check`` is on.

    ``counts`` has the notes that the run of a compiled function left on its loops; without them no loop becomes one of
    any count. If ``is_rolled`` is False, loops stay as they were recorded.

    Tapes among the parameters of a step stay as they are. The body of a map is an expression within one kernel, where
    LLVM simplifies it; and steps are equal if their bodies are one object, of which passes would make two. The bodies
    of loops and branches are programs of their own, and go through the passes when they are assembled.
    """
    for run_pass in passes:
        if run_pass in ROLL_LOOPS and not is_rolled:
            continue
        if run_pass is with_loops_of_any_count:
            tape = tape if counts is None else run_pass(tape, counts)
        else:
            tape = run_pass(tape, is_native) if run_pass in ASK_WHAT_IS_NATIVE else run_pass(tape)
        if config.check:
            check(tape, after=run_pass.__name__)
    return tape
