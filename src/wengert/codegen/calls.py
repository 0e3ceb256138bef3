"""The calls that a program makes, one a step: kernels and routines on memory, guards, and Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert._contexts import silent
from wengert.codegen.loops import Whole
from wengert.codegen.nests.nest import Nest
from wengert.codegen.specs.spec import Spec
from wengert.passes.plan.places import Place, PlanStep
from wengert.tape import Instr


class KernelCall(NamedTuple):
    """A call of native code on memory."""

    kernel: Nest | Spec | Whole | str
    """The kernel to compile, or the name of a kernel of the runtime ("copy", BLAS, LAPACK)."""
    places: tuple[Place, ...]
    sizes: tuple[int, ...]
    extent: int
    grain: int
    """The extent may be split into parts that begin and end at multiples of this number. Threads may share the parts;
    if the number is negative, they are run in order. 0: never split."""
    name: str
    instr: Instr | None
    can_fail: bool = False
    """The kernel may find operands that it does not take; then the reference runs, and raises."""
    is_partial: bool = False
    """The reference computes the result for operands that the kernel does not take, rather than raise."""
    then: KernelCall | None = None
    """The call that finishes the work, when all of the extent is done."""


class NestedCall(NamedTuple):
    """A loop or a branch whose bodies are programs of their own, which the runtime makes."""

    step: PlanStep
    name: str


class SwitchCall(NamedTuple):
    """A call of one of several kernels, chosen by the int64 at ``index``."""

    index: Place
    branches: tuple[KernelCall, ...]
    name: str
    instr: Instr


class WhileCall(NamedTuple):
    """A loop: run ``first``, then ``body`` while the byte at ``flag``, which ``condition`` writes, is not 0."""

    first: KernelCall
    condition: KernelCall
    flag: Place
    body: KernelCall
    name: str
    instr: Instr


class GuardCall(NamedTuple):
    place: Place
    instr: Instr


class CallbackCall(NamedTuple):
    """A call back into Python: ``function(*arrays)``."""

    function: Callable[..., Any]
    ins: tuple[Place, ...]
    outs: tuple[Place, ...]
    copies: bool
    """The operands are passed as copies, since the function is the user's and may keep them."""
    name: str
    instr: Instr | None
    why: str
    writes: bool = False
    """``function(*arrays, *results)`` writes its results."""


Call = KernelCall | SwitchCall | WhileCall | GuardCall | CallbackCall


def short(dtype: np.dtype[Any]) -> str:
    return dtype.str[1:]


def describe(instr: Instr) -> str:
    return instr.op.describe(instr) if instr.op.describe is not None else instr.op.name


def callback(step: PlanStep, why: str) -> CallbackCall:
    """The call that does ``step`` by its NumPy reference."""
    instr = step.instr
    if instr is None:
        source, out = step.ins[0].aval, step.outs[0].aval
        return CallbackCall(
            partial(np.broadcast_to, shape=out.shape), step.ins, step.outs, False, f"copy of {source}", None, why
        )
    op = instr.op
    if op.into is not None:
        function = partial(op.into, **instr.params)
        return CallbackCall(function, step.ins, step.outs, False, describe(instr), instr, why, writes=True)
    function = op.bind([a.aval for a in instr.ins], **instr.params) if op.bind is not None else op.reference
    if op.bind is None and instr.params:
        function = partial(function, **instr.params)
    if op.is_stable:  # without warnings, as references run: a backward part may divide by zero behind a mask
        function = partial(_silently, function)
    return CallbackCall(function, step.ins, step.outs, not op.is_stable, describe(instr), instr, why)


def _silently(function: Callable[..., Any], *args: Any) -> Any:
    with silent():
        return function(*args)
