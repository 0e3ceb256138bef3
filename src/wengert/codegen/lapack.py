"""Routines of LAPACK on stacks of matrices."""

from __future__ import annotations

import numpy as np

from wengert.codegen.calls import KernelCall, describe
from wengert.ops.kernels import Routine
from wengert.passes.plan.places import PlanStep, is_c_order


def routine(step: PlanStep, kernel: Routine) -> KernelCall | None:
    """The call of a LAPACK routine on stacks of matrices in C order, which the plan arranges; None if there is none.

    Behind the places of the results stands the workspace. Small symmetric matrices, if any signs of their vectors will
    do, are done by our own code; it leaves matrices that are not finite to NumPy."""
    instr = step.instr
    assert instr is not None
    stem = kernel.routine.partition(".")[2]
    dtypes = {p.aval.dtype.char for p in (*step.ins, *step.outs) if p.aval.is_inexact}
    dtype = step.ins[0].aval.dtype
    if stem not in ROUTINES or not all(map(is_c_order, (*step.ins, *step.outs))):
        return None
    if dtype.char not in ("fdFD" if kernel.takes_complex else "fd") or not dtypes <= {dtype.char, dtype.char.lower()}:
        return None
    if stem == "qr" and dtype.char not in "dD":
        return None
    suffix = f"{dtype.kind}{8 * dtype.itemsize}"
    shape = step.ins[0].aval.shape
    batch = int(np.prod(shape[:-2], dtype=np.int64))
    sizes = [shape[-1], batch]
    if stem in ("getrs", "trsm"):
        sizes.insert(1, step.ins[-1].aval.shape[-1])
    if stem == "qr":
        sizes += [shape[-2], step.outs[0].aval.shape[-1]]
    sizes += [int(instr.params[name]) for name in ("lower", "transpose") if name in instr.params]
    if stem == "syevd" and instr.params["any_vectors"]:
        most = EIGHT_AT_A_TIME if batch > 3 or dtypes == {"f"} else ALONE
        if 0 < shape[-1] <= most:
            name = f"jacobi_f{8 * step.ins[0].aval.dtype.itemsize}"
            grain = 8 * max(1, GRAIN_FLOPS // (50 * shape[-1] ** 3))
            places = (*step.ins, *step.outs)
            return KernelCall(name, places, tuple(sizes), batch, grain, describe(instr), instr, True, is_partial=True)
    if stem == "syevd" and dtypes != {"d"}:  # NumPy computes in double precision; less may give other signs of vectors
        return None
    places = (*step.ins, *step.outs, *([step.work] if step.work is not None else []))
    name = f"{stem}_{suffix}"
    # Negative: one matrix after the other, since all share the workspace, and BLAS has threads of its own.
    grain = -max(1, GRAIN_FLOPS // max(1, shape[-1] ** 3))
    return KernelCall(name, places, tuple(sizes), batch, grain, describe(instr), instr, True, kernel.is_partial)


GRAIN_FLOPS = 2_000_000  # flops after which it is worth looking for Ctrl-C
EIGHT_AT_A_TIME, ALONE = 16, 6
"""The order of symmetric matrices up to which Jacobi rotations are faster than LAPACK: in a stack, and of a few."""
ROUTINES = frozenset(["syevd", "getrf", "getrs", "getri", "potrf", "slogdet", "det", "cofactor", "trsm", "qr"])
