"""Lower a plan to calls: decide which kernel each step runs, on which memory, with which sizes.

A step becomes a loop nest (:mod:`wengert.codegen.nests.build`), a kernel over indices (:mod:`wengert.codegen.specs`), a
routine of BLAS or LAPACK, a guard, or a callback to the NumPy reference if there is no native code for the op or its
dtypes; a callback says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.codegen import vecmath
from wengert.codegen.calls import Call, GuardCall, KernelCall, NestedCall, callback, describe, short
from wengert.codegen.contract import contraction
from wengert.codegen.fourier import by_numpy, transform
from wengert.codegen.lapack import routine
from wengert.codegen.loops import Whole
from wengert.codegen.loops import emit as emit_loop
from wengert.codegen.nests.build import aligned_strides, copy_nest, iota_call, nest_call
from wengert.codegen.nests.emit import emit as emit_nest
from wengert.codegen.nests.nest import Nest
from wengert.codegen.sorting import ordering
from wengert.codegen.specs.extremes import extreme
from wengert.codegen.specs.indexed import indexed
from wengert.codegen.specs.nonzero import nonzero
from wengert.codegen.specs.running import running
from wengert.codegen.specs.search import search
from wengert.codegen.specs.spec import Sized, Spec
from wengert.codegen.specs.spec import emit as emit_spec
from wengert.codegen.target import Target
from wengert.codegen.ufuncs import loop_call, stack_call
from wengert.ops.kernels import (
    NATIVE_DTYPES,
    Accumulate,
    Alternatives,
    ArgReduce,
    Check,
    Contract,
    Fused,
    Gather,
    Iota,
    Kernel,
    Lanes,
    Loop,
    Map,
    MapTape,
    Nonzero,
    Reduce,
    RepeatWhile,
    RepeatWhileBack,
    Routine,
    Scatter,
    Search,
    Sort,
    Stencil,
)
from wengert.passes.plan.places import Place, PlanStep
from wengert.tape import Aval, Instr


def lower(step: PlanStep, target: Target) -> Call | NestedCall:
    """Return the call that does ``step``."""
    if step.what != "run":
        return _copy(step, target)
    instr = step.instr
    assert instr is not None
    kernel = instr.op.kernel
    if not kernel.takes_any_dtype and not can_reach((*step.ins, *step.outs)):
        return loop_call(step, instr) or callback(step, "a dtype without native code")
    lowering = LOWERING.get(type(kernel))
    if lowering is None:
        return callback(step, getattr(kernel, "why", "no native lowering"))
    return lowering(step, instr, kernel, target)


def _copy(step: PlanStep, target: Target) -> Call:
    if all(p.aval.dtype.kind == "c" for p in (*step.ins, *step.outs)):
        step = step._replace(ins=tuple(map(_as_pairs, step.ins)), outs=tuple(map(_as_pairs, step.outs)))
    (source,), (goal,) = step.ins, step.outs
    if can_reach((source, goal)):
        if step.what == "copy" and source.aval.dtype == goal.aval.dtype and goal.aval.size <= FEW:
            return _copy_few(source, goal)
        return copy_nest(step, target)
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


def text_of(kernel: Nest | Spec | Whole, name: str, target: Target) -> str:
    """Return the text of an LLVM module with the kernel ``name`` for a processor."""
    if isinstance(kernel, Whole):
        return emit_loop(kernel, name, target, partial(text_of, target=target))
    return emit_nest(kernel, name, target) if isinstance(kernel, Nest) else emit_spec(kernel, name, target)


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


# ------------------------------------------------------------------------------------------ by the kind of kernel


ONLY_BOUNDS = "nothing to move, only bounds to look at"


def _guard(step: PlanStep, instr: Instr, kernel: Check, target: Target) -> Call:
    return GuardCall(step.ins[0], instr)


def _pointwise(step: PlanStep, instr: Instr, kernel: Map | MapTape, target: Target) -> Call:
    for i in [instr] if kernel.function else instr.params["body"].instrs:
        dtypes = tuple([a.aval.dtype for a in i.ins])
        if not i.op.kernel.function or not supports(i.op.kernel.function, dtypes, i.outs[0].aval.dtype):
            why = "no native lowering" if i is instr else f"{i.op.name}: no native lowering"
            return loop_call(step, instr) or callback(step, why)
    return nest_call(step, target)


def _loops(step: PlanStep, instr: Instr, kernel: Fused | Reduce, target: Target) -> Call:
    return nest_call(step, target)


def _iota(step: PlanStep, instr: Instr, kernel: Iota, target: Target) -> Call:
    return iota_call(step, target)


def _contraction(step: PlanStep, instr: Instr, kernel: Contract, target: Target) -> Call:
    return contraction(step, target)


def _gather(step: PlanStep, instr: Instr, kernel: Gather, target: Target) -> Call:
    if step.outs[0].aval.size == 0:
        return callback(step, ONLY_BOUNDS)
    return _spec_call(step, instr, indexed("gather", step.ins[0], step.ins[1:], step.outs[0]))


def _scatter(step: PlanStep, instr: Instr, kernel: Scatter, target: Target) -> Call:
    (_, given, *indices), (goal,) = step.ins, step.outs  # operand 0 lies where the result goes
    if goal.aval.size == 0:
        return callback(step, ONLY_BOUNDS)
    return _spec_call(step, instr, indexed(kernel.combine, goal, indices, given), (goal, *indices, given))


def _accumulate(step: PlanStep, instr: Instr, kernel: Accumulate, target: Target) -> Call:
    return _spec_call(step, instr, running(kernel.combine, step.ins, step.outs[0], instr.params["axis"]))


def _extreme(step: PlanStep, instr: Instr, kernel: ArgReduce, target: Target) -> Call:
    return _spec_call(step, instr, extreme(kernel.compare, step.ins[0], step.outs[0], instr.params["axis"]))


def _search(step: PlanStep, instr: Instr, kernel: Search, target: Target) -> Call:
    return _spec_call(step, instr, search(instr.params["side"], step.ins[0], step.ins[1], step.outs[0]))


def _nonzero(step: PlanStep, instr: Instr, kernel: Nonzero, target: Target) -> Call:
    return _spec_call(step, instr, nonzero(step.ins[0], step.outs))


def _nested(
    step: PlanStep, instr: Instr, kernel: Loop | RepeatWhile | RepeatWhileBack | Alternatives | Lanes, target: Target
) -> NestedCall:
    return NestedCall(step, instr.op.name)


def _sort(step: PlanStep, instr: Instr, kernel: Sort, target: Target) -> Call:
    return ordering(step, kernel.what) or callback(step, "sorted by NumPy")


def _routine(step: PlanStep, instr: Instr, kernel: Routine, target: Target) -> Call:
    if kernel.is_of_complex:
        return transform(step) or by_numpy(step, kernel) or callback(step, "computed by scipy.fft")
    return routine(step, kernel) or stack_call(step, kernel) or callback(step, "no native lowering")


LOWERING: dict[type[Kernel], Callable[[PlanStep, Instr, Any, Target], Call | NestedCall]] = {
    Check: _guard,
    Map: _pointwise,
    MapTape: _pointwise,
    Fused: _loops,
    Stencil: _loops,
    Reduce: _loops,
    Iota: _iota,
    Contract: _contraction,
    Gather: _gather,
    Scatter: _scatter,
    Accumulate: _accumulate,
    ArgReduce: _extreme,
    Search: _search,
    Nonzero: _nonzero,
    Loop: _nested,
    RepeatWhile: _nested,
    RepeatWhileBack: _nested,
    Alternatives: _nested,
    Lanes: _nested,
    Sort: _sort,
    Routine: _routine,
}
"""The function that makes the call of a step, by kind of kernel. What is not here is called back in Python."""


def _spec_call(step: PlanStep, instr: Instr, sized: Sized | None, places: Sequence[Place] = ()) -> Call:
    """The call of a :mod:`kernel <wengert.codegen.specs.spec>` that is no nest, or else of the reference."""
    if sized is None:
        return callback(step, "shapes or dtypes without native code")
    places = tuple(places) or (*step.ins, *step.outs)
    return KernelCall(sized.spec, places, *sized[1:], describe(instr), instr, instr.op.kernel.may_fail)
