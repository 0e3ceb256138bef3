"""Lower a plan to calls: decide which kernel each step runs, on which memory, with which sizes.

A step becomes a loop nest (:mod:`wengert.codegen.nests.build`), a kernel over indices (:mod:`wengert.codegen.specs`), a
routine of BLAS or LAPACK, a guard, or a callback to the NumPy reference if there is no native code for the op or its
dtypes; a callback says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.codegen import vecmath
from wengert.codegen.calls import Call, CallbackCall, GuardCall, KernelCall, NestedCall, callback, describe, short
from wengert.codegen.contract import contraction
from wengert.codegen.fourier import transform
from wengert.codegen.lapack import routine
from wengert.codegen.loops import Whole
from wengert.codegen.loops import emit as emit_loop
from wengert.codegen.nests.build import aligned_strides, copy_nest, nest_call
from wengert.codegen.nests.emit import emit as emit_nest
from wengert.codegen.nests.nest import Nest
from wengert.codegen.sorting import ordering
from wengert.codegen.specs.extremes import extreme
from wengert.codegen.specs.indexed import indexed
from wengert.codegen.specs.nonzero import nonzero
from wengert.codegen.specs.running import running
from wengert.codegen.specs.search import search
from wengert.codegen.specs.spec import Spec
from wengert.codegen.specs.spec import emit as emit_spec
from wengert.codegen.target import target
from wengert.ops.kernels import (
    NATIVE_DTYPES,
    Accumulate,
    ArgReduce,
    Branch,
    Check,
    Contract,
    Fused,
    Gather,
    Iota,
    Loop,
    Map,
    MapTape,
    Nonzero,
    Reduce,
    Repeat,
    RepeatBack,
    Scatter,
    Search,
    Sort,
)
from wengert.ops.kernels import Call as Routine
from wengert.passes.plan import Place, PlanStep
from wengert.tape import Aval


def lower(step: PlanStep) -> Call | NestedCall:
    """Return the call that does ``step``."""
    if step.what != "run":
        return _copy(step)
    instr = step.instr
    assert instr is not None
    kernel = instr.op.kernel
    if isinstance(kernel, Check):
        return GuardCall(step.ins[0], instr)
    if isinstance(kernel, Routine) and kernel.is_of_complex:
        return transform(step) or callback(step, "computed by scipy.fft")
    if not can_reach((*step.ins, *step.outs)):
        return callback(step, "a dtype without native code")
    if isinstance(kernel, Map):
        dtypes = tuple([p.aval.dtype for p in step.ins])
        if not supports(kernel.function, dtypes, step.outs[0].aval.dtype):
            return callback(step, "no native lowering")
        return nest_call(step)
    if isinstance(kernel, MapTape):
        for i in instr.params["body"].instrs:
            dtypes = tuple([a.aval.dtype for a in i.ins])
            if not isinstance(i.op.kernel, Map) or not supports(i.op.kernel.function, dtypes, i.outs[0].aval.dtype):
                return callback(step, f"{i.op.name}: no native lowering")
        return nest_call(step)
    if isinstance(kernel, Iota | Fused) or (isinstance(kernel, Reduce) and step.ins[0].aval.size):
        return nest_call(step)
    if isinstance(kernel, Contract):
        return contraction(step)
    if isinstance(kernel, Gather | Scatter) and step.outs[0].aval.size == 0:
        return callback(step, "nothing to move, only bounds to look at")
    if isinstance(kernel, Gather | Scatter | Accumulate | ArgReduce | Nonzero | Search):
        return _spec_call(step) or callback(step, "shapes or dtypes without native code")
    if isinstance(kernel, Loop | Repeat | RepeatBack | Branch):
        return NestedCall(step, instr.op.name)
    if isinstance(kernel, Sort):
        return ordering(step) or callback(step, "sorted by NumPy")
    if isinstance(kernel, Routine):
        return routine(step, kernel) or callback(step, "no native lowering")
    return callback(step, getattr(kernel, "why", "no native lowering"))


def _copy(step: PlanStep) -> Call:
    if all(p.aval.dtype.kind == "c" for p in (*step.ins, *step.outs)):
        step = step._replace(ins=tuple(map(_as_pairs, step.ins)), outs=tuple(map(_as_pairs, step.outs)))
    (source,), (goal,) = step.ins, step.outs
    if can_reach((source, goal)):
        if step.what == "copy" and source.aval.dtype == goal.aval.dtype and goal.aval.size <= FEW:
            return _copy_few(source, goal)
        return copy_nest(step)
    if step.what == "add":
        return CallbackCall(np.add, (goal, source), (goal,), False, "add", None, "a dtype without native code")
    return callback(step, "a dtype without native code")


def _as_pairs(place: Place) -> Place:
    """The place of an array of complex numbers as one of pairs of real numbers: float[..., 2]."""
    half = place.aval.dtype.itemsize // 2
    aval = Aval((*place.aval.shape, 2), np.dtype(f"f{half}"))
    return place._replace(strides=(*place.strides, half), aval=aval)


FEW = 64
"""The most elements that the runtime copies one by one: small arrays have many shapes, and each would be compiled."""


def _copy_few(source: Place, goal: Place) -> KernelCall:
    sizes = [goal.aval.dtype.itemsize, goal.aval.ndim]
    for row in zip(goal.aval.shape, aligned_strides(source, goal.aval.shape), goal.strides, strict=True):
        sizes += row
    return KernelCall("copy", (source, goal), tuple(sizes), 1, 0, "copy", None)


def text_of(kernel: Nest | Spec | Whole, name: str) -> str:
    """The text of an LLVM module with the kernel ``name``, for the processor that code is made for."""
    if isinstance(kernel, Whole):
        return emit_loop(kernel, name, target(), text_of)
    return emit_nest(kernel, name, target()) if isinstance(kernel, Nest) else emit_spec(kernel, name, target())


def supports(function: str, dtypes: tuple[np.dtype[Any], ...], out: np.dtype[Any]) -> bool:
    """Whether there is a native scalar function for these dtypes; the fusing pass asks this."""
    return vecmath.is_supported(function, tuple([short(d) for d in dtypes]), short(out))


def can_reach(places: Sequence[Place]) -> bool:
    """Whether generated code can read and write these places: their dtypes are native, and strides whole elements."""
    for p in places:
        if p.aval.dtype not in NATIVE_DTYPES:
            return False
        if any(s % p.aval.dtype.itemsize for s in p.strides):
            return False
    return True


# ------------------------------------------------------------------------------------ kernels that are not nests


def _spec_call(step: PlanStep) -> KernelCall | None:
    """The call of a :mod:`kernel <wengert.codegen.specs.spec>` that is not a nest; None if there is none."""
    instr, ins, outs = step.instr, step.ins, step.outs
    assert instr is not None
    kernel, params = instr.op.kernel, instr.params
    places = (*ins, *outs)
    if isinstance(kernel, Gather):
        sized = indexed("gather", ins[0], ins[1:], outs[0])
    elif isinstance(kernel, Scatter):
        places = (outs[0], *ins[2:], ins[1])  # operand 0 lies where the result goes
        sized = indexed(kernel.combine, outs[0], ins[2:], ins[1])
    elif isinstance(kernel, Accumulate):
        sized = running(kernel.combine, ins, outs[0], params["axis"])
    elif isinstance(kernel, ArgReduce):
        sized = extreme(kernel.compare, ins[0], outs[0], params["axis"])
    elif isinstance(kernel, Search):
        sized = search(params["side"], ins[0], ins[1], outs[0])
    else:
        assert isinstance(kernel, Nonzero)
        sized = nonzero(ins[0], outs)
    if sized is None:
        return None
    can_fail = isinstance(kernel, Gather | Scatter | Nonzero)
    return KernelCall(sized.spec, places, *sized[1:], describe(instr), instr, can_fail)


# ------------------------------------------------------------------------------------------------- linear algebra
