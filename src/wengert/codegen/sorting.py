"""Sorting by the runtime's own code, along any axis, of arrays in C order."""

from __future__ import annotations

import math

from wengert.codegen.calls import KernelCall, describe
from wengert.ops.kernels import Sort
from wengert.passes.plan import PlanStep, is_c_order

TYPES = {"f8": "f64", "f4": "f32", "i8": "i64", "i4": "i32", "b1": "b1"}
"""In the runtime's words, those that it sorts."""
MOST_VALUES = 64
"""Numbers in a row up to which values are sorted sooner than by a call of NumPy's, which is faster for many: it does
without places."""


def ordering(step: PlanStep) -> KernelCall | None:
    """The kernel of a sort; None: there is none, or NumPy's is faster. Behind the result comes the work area."""
    instr = step.instr
    assert instr is not None and isinstance(instr.op.kernel, Sort)
    (x,), (y,) = step.ins, step.outs
    axis, of_values = instr.params["axis"], instr.op.kernel.what == "values"
    n = x.aval.shape[axis]
    name = TYPES.get(x.aval.dtype.str[1:])
    if name is None or not is_c_order(x) or not is_c_order(y) or n > (MOST_VALUES if of_values else 2**31):
        return None
    inner = math.prod(x.aval.shape[axis + 1 :])
    rows = math.prod(x.aval.shape[:axis]) * inner
    assert step.work is not None
    grain = -max(1, GRAIN // n)  # one row after the other: they share the work area
    stem = "sort" if of_values else "argsort"
    return KernelCall(f"{stem}_{name}", (x, y, step.work), (n, inner), rows, grain, describe(instr), instr)


GRAIN = 1_000_000  # numbers after which it is worth looking for Ctrl-C
