"""Steps by loops that were compiled elsewhere: those of NumPy's and SciPy's ufuncs, and the runtime's own.

The runtime calls a ufunc's loop as NumPy does, without Python, so results are those of the library bit for bit. The
loop is chosen by NumPy's own rules; operands of another dtype than the loop's are converted in pieces.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from wengert.codegen.calls import KernelCall, describe
from wengert.codegen.nests.build import aligned_strides
from wengert.codegen.strides import merged
from wengert.ops.kernels import Routine
from wengert.passes.plan.places import PlanStep, c_strides, is_c_order
from wengert.tape import Instr

FROM, TO = "?bBhHiIlLfdF", "lfdFD"
"""The dtypes between which the runtime converts (runtime/native/ufuncs.cpp counts as well)."""
MOST_ARGUMENTS, LARGEST = 12, 16
GRAIN_FLOPS = 200_000  # flops that are worth handing to a thread


def loop_call(step: PlanStep, instr: Instr) -> KernelCall | None:
    """The call of the compiled loop for a step; None if there is none, or none for its dtypes."""
    loop = instr.op.kernel.compiled_loop
    if loop is None:
        return None
    (goal,) = step.outs
    given = [p.aval.dtype for p in step.ins]
    if isinstance(loop.source, str):
        number = loop.variant(**instr.params)
        dtypes: list[np.dtype[Any]] = [np.dtype(float)] * (len(given) + 1)
    else:
        number, dtypes = _chosen(loop.source, given)
    if any(d.kind in loop.raises_for for d in dtypes):
        return None
    if number is None or len(dtypes) > MOST_ARGUMENTS or max(d.itemsize for d in dtypes) > LARGEST:
        return None
    n_in, wanted = len(given), len(given) + loop.result
    shape = goal.aval.shape
    extents, rows = merged(shape, [*[aligned_strides(p, shape) for p in step.ins], list(goal.strides)])
    none = [0] * len(extents)
    sizes = [len(dtypes), n_in, len(extents), *extents]
    for k, dtype in enumerate(dtypes):
        if k >= n_in and k != wanted:
            sizes += [-1, dtype.itemsize, 0, *none]
            continue
        place = min(k, n_in)
        own = given[k] if k < n_in else goal.aval.dtype
        conversion = _conversion(own, dtype) if k < n_in else _conversion(dtype, own)
        if conversion is None:
            return None
        sizes += [place, dtype.itemsize, conversion, *rows[place]]
    cost = instr.op.cost(*[a.aval for a in instr.ins], **instr.params)
    grain = max(16, int(GRAIN_FLOPS * goal.aval.size / max(1.0, cost)))
    return KernelCall(
        "elements",
        (*step.ins, goal),
        tuple(sizes),
        math.prod(shape),
        grain,
        describe(instr),
        instr,
        loop=(loop.source, number),
    )


def stack_call(step: PlanStep, kernel: Routine) -> KernelCall | None:
    """The call of a generalised ufunc of numpy.linalg on stacks of matrices in C order, which the plan arranges; None
    if there is none for the dtypes. What it refuses, the reference computes, or raises an error."""
    instr, places = step.instr, (*step.ins, *step.outs)
    assert instr is not None
    if kernel.gufunc is None or not all(map(is_c_order, places)):
        return None
    name, (rows, columns) = kernel.gufunc(**instr.params), step.ins[0].aval.shape[-2:]
    older = name.replace("_", "_m_" if rows < columns else "_n_", 1)  # svd_s was two routines in NumPy 2.0
    routines = np.linalg._umath_linalg
    ufunc = getattr(routines, name, None) or getattr(routines, older, None)
    dtypes = [p.aval.dtype for p in places]
    if not isinstance(ufunc, np.ufunc) or ufunc.signature is None:
        return None
    number = _number_of(ufunc, dtypes)
    if number is None:
        return None
    cores = [re.findall(r"\w+", one) for one in re.findall(r"\(([^)]*)\)", ufunc.signature)]
    if [p.aval.ndim - len(core) for p, core in zip(places, cores, strict=True)] != [step.ins[0].aval.ndim - 2] * len(
        cores
    ):
        return None
    extents: dict[str, int] = {}
    for p, core in zip(places, cores, strict=True):
        extents.update(zip(core, p.aval.shape[p.aval.ndim - len(core) :], strict=True))
    if 0 in extents.values():
        return None
    strides = [c_strides(p.aval)[p.aval.ndim - len(core) :] for p, core in zip(places, cores, strict=True)]
    items = [
        p.aval.dtype.itemsize * math.prod([extents[c] for c in core]) for p, core in zip(places, cores, strict=True)
    ]
    first = dtypes[0].itemsize // 8 * math.prod([extents[c] for c in cores[0]]) if kernel.needs_finite else 0
    flat = [s for row in strides for s in row]
    sizes = (len(places), len(extents), len(flat), 1, first, *extents.values(), *items, *flat)
    batch = math.prod(step.ins[0].aval.shape[:-2])
    grain = -max(1, GRAIN_FLOPS // max(extents.values()) ** 3)  # negative: what LAPACK calls has threads of its own
    loop = (ufunc, number)
    return KernelCall("stacks", places, sizes, batch, grain, describe(instr), instr, True, is_partial=True, loop=loop)


def _number_of(ufunc: np.ufunc, dtypes: list[np.dtype[Any]]) -> int | None:
    """The number of the loop for just these dtypes, of operands and results."""
    for number, types in enumerate(ufunc.types):
        if "O" not in types and [np.dtype(c) for c in types.replace("->", "")] == dtypes:
            return number
    return None


def _chosen(ufunc: np.ufunc, given: list[np.dtype[Any]]) -> tuple[int | None, list[np.dtype[Any]]]:
    """The number of the loop that NumPy would run for operands of these dtypes, and all of its dtypes."""
    if ufunc.signature is not None:
        return None, []
    dtypes = list(ufunc.resolve_dtypes((*given, *[None] * ufunc.nout)))
    return _number_of(ufunc, dtypes), dtypes


def _conversion(own: np.dtype[Any], loop: np.dtype[Any]) -> int | None:
    """The number that the runtime has for a conversion, 0 if none is needed; None if it has none."""
    if own == loop:
        return 0
    at, to = _place(FROM, own), _place(TO, loop)
    if at is None or to is None or (own.kind == "c" and loop.kind != "c"):
        return None
    return 1 + len(TO) * at + to


def _place(letters: str, dtype: np.dtype[Any]) -> int | None:
    return next((k for k, c in enumerate(letters) if np.dtype(c) == dtype), None)
