"""Fourier transforms by the runtime's own code: complex numbers, along the last axis, with a power of two as length."""

from __future__ import annotations

import math

from wengert.codegen.calls import KernelCall, describe
from wengert.passes.plan.places import PlanStep, is_c_order

SHORTEST, LONGEST = 3, 16
"""Binary logarithms of the lengths; for longer ones pocketfft is as fast (runtime/native/fourier.cpp)."""


def transform(step: PlanStep) -> KernelCall | None:
    """The call of the kernel for a transform of arrays in C order, which the plan arranges; None if there is none.

    Behind the place of the result stands the workspace."""
    instr = step.instr
    assert instr is not None
    (x,), (y,) = step.ins, step.outs
    n = x.aval.shape[-1] if x.aval.ndim else 0
    logarithm = n.bit_length() - 1
    if n != 1 << max(logarithm, 0) or not SHORTEST <= logarithm <= LONGEST or not y.aval.size:
        return None
    if instr.params["axes"] != (x.aval.ndim - 1,) or x.aval.dtype != y.aval.dtype or y.aval.dtype.char not in "FD":
        return None
    if not is_c_order(x) or not is_c_order(y):
        return None
    name = f"fft_f{4 * y.aval.dtype.itemsize}:{logarithm}"
    sizes = (logarithm, instr.params["norm"], int(instr.params["forward"]))
    batch = math.prod(x.aval.shape[:-1])
    grain = -max(1, GRAIN // n)  # negative: rows run one after the other, since they share the workspace
    assert step.work is not None
    return KernelCall(name, (x, y, step.work), sizes, batch, grain, describe(instr), instr)


GRAIN = 1_000_000  # numbers after which it is worth looking for Ctrl-C
