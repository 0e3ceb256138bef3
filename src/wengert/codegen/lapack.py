"""Routines of LAPACK on stacks of matrices."""

from __future__ import annotations

import numpy as np

from wengert.codegen.calls import KernelCall, describe
from wengert.ops.kernels import Call as Routine
from wengert.passes.plan import PlanStep, is_c_order


def routine(step: PlanStep, kernel: Routine) -> KernelCall | None:
    """LAPACK on stacks of matrices in C order, which the plan has seen to; behind the results comes the work area.

    Small symmetric matrices, of whose vectors nobody sees the signs, are ours; what is not finite is left to NumPy."""
    instr = step.instr
    assert instr is not None
    stem = kernel.routine.partition(".")[2]
    dtypes = {p.aval.dtype.char for p in (*step.ins, *step.outs) if p.aval.is_inexact}
    if stem not in ROUTINES or dtypes not in ({"f"}, {"d"}) or not all(map(is_c_order, (*step.ins, *step.outs))):
        return None
    shape = step.ins[0].aval.shape
    batch = int(np.prod(shape[:-2], dtype=np.int64))
    sizes = [shape[-1], batch]
    if stem in ("getrs", "trsm"):
        sizes.insert(1, step.ins[-1].aval.shape[-1])
    sizes += [int(instr.params[name]) for name in ("lower", "transpose") if name in instr.params]
    if stem == "syevd" and instr.params["any_vectors"]:
        most = EIGHT_AT_A_TIME if batch > 3 or dtypes == {"f"} else ALONE
        if 0 < shape[-1] <= most:
            name = f"jacobi_f{8 * step.ins[0].aval.dtype.itemsize}"
            grain = 8 * max(1, GRAIN_FLOPS // (50 * shape[-1] ** 3))
            places = (*step.ins, *step.outs)
            return KernelCall(name, places, tuple(sizes), batch, grain, describe(instr), instr, True, is_partial=True)
    if stem == "syevd" and dtypes != {"d"}:  # NumPy computes in double precision, and other digits are other signs
        return None
    places = (*step.ins, *step.outs, *([step.work] if step.work is not None else []))
    name = f"{stem}_f{8 * step.ins[0].aval.dtype.itemsize}"
    # One matrix after the other: those that need a work area share it, and BLAS has threads of its own.
    grain = -max(1, GRAIN_FLOPS // max(1, shape[-1] ** 3))
    return KernelCall(name, places, tuple(sizes), batch, grain, describe(instr), instr, True, kernel.is_partial)


GRAIN_FLOPS = 2_000_000  # of matrices after which it is worth looking for Ctrl-C
EIGHT_AT_A_TIME, ALONE = 16, 6
"""Rows up to which a stack of symmetric matrices, and a few, are rotated to be diagonal sooner than LAPACK's are."""
ROUTINES = frozenset(["syevd", "getrf", "getrs", "getri", "potrf", "slogdet", "det", "cofactor", "trsm"])
