"""Sorting by the runtime's own code, along any axis, of arrays in C order."""

from __future__ import annotations

import math

from wengert.codegen.calls import KernelCall, describe
from wengert.passes.plan.places import PlanStep, is_c_order

TYPES = {"f8": "f64", "f4": "f32", "i8": "i64", "i4": "i32", "b1": "b1"}
"""The dtypes that the runtime sorts, and its names for them."""
FEWEST, MOST = 16, 160
"""The lengths of a row up to which our sort is always faster than NumPy's, and beyond which it never is. For booleans
it always is."""
CALL = 40_000
"""The number of pairs, in all rows, that are compared in the time of a call of NumPy; it decides between these
lengths."""


def ordering(step: PlanStep, what: str) -> KernelCall | None:
    """The call of the kernel for a sort; None if there is none, or if NumPy is faster. The last place is the
    workspace."""
    instr = step.instr
    assert instr is not None
    (x,), (y,) = step.ins, step.outs
    axis = instr.params["axis"]
    n = x.aval.shape[axis]
    name = TYPES.get(x.aval.dtype.str[1:])
    if name is None or not is_c_order(x) or not is_c_order(y) or n > 2**31:
        return None
    inner = math.prod(x.aval.shape[axis + 1 :])
    rows = math.prod(x.aval.shape[:axis]) * inner
    grain = max(1, GRAIN // max(1, n))
    if what == "values":
        if name != "b1" and n > FEWEST and (n > MOST or rows * n * n > CALL):
            return None
        return KernelCall(f"sort_{name}", (x, y), (n, inner), rows, grain, describe(instr), instr)
    stem, sizes = "argsort", (n, inner)
    if what == "places":
        if name == "b1":
            return None
        ranks = instr.params["ranks"]
        stem, sizes = "argselect", (n, inner, len(ranks), *ranks)
    assert step.work is not None  # the rows share the workspace, so they are sorted one after the other
    return KernelCall(f"{stem}_{name}", (x, y, step.work), sizes, rows, -grain, describe(instr), instr)


GRAIN = 1_000_000  # numbers after which it is worth looking for Ctrl-C
