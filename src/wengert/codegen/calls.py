"""What a program's steps call: kernels and routines on memory, guards, and Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert._contexts import silent
from wengert.codegen.loops import Whole
from wengert.codegen.nests.nest import Nest
from wengert.codegen.specs.spec import Spec
from wengert.passes.plan import Place, PlanStep
from wengert.tape import Instr


class KernelCall(NamedTuple):
    """Native code on memory."""

    kernel: Nest | Spec | Whole | str
    """What is compiled; or the name of a kernel of the runtime's own ("copy", BLAS, LAPACK)."""
    places: tuple[Place, ...]
    sizes: tuple[int, ...]
    extent: int
    grain: int
    """Parts of the extent begin and end at multiples of it. Threads may share them; but if it is negative, they are run
    in their order. 0: never split."""
    name: str
    instr: Instr | None
    can_fail: bool = False
    """It may find operands that it does not take: the reference says which."""
    is_partial: bool = False
    """Operands that it does not take the reference computes with, rather than refuse."""
    then: KernelCall | None = None
    """What finishes the work, when all of the extent is done."""


class NestedCall(NamedTuple):
    """A loop or a branch: its bodies are programs of their own, which the runtime makes."""

    step: PlanStep
    name: str


class SwitchCall(NamedTuple):
    """One of several kernels, by the int64 at ``index``."""

    index: Place
    branches: tuple[KernelCall, ...]
    name: str
    instr: Instr


class WhileCall(NamedTuple):
    """``first``, and while the byte at ``flag`` is not 0, which ``condition`` writes, ``body``."""

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
    """Python is called back: ``function(*arrays)``."""

    function: Callable[..., Any]
    ins: tuple[Place, ...]
    outs: tuple[Place, ...]
    copies: bool
    """The operands are handed out as copies: the function is the user's, who may keep them."""
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
    """``step`` by its NumPy reference."""
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
    if op.is_stable:  # as the reference runs: a backward part divides by zero where a mask will not look
        function = partial(_silently, function)
    return CallbackCall(function, step.ins, step.outs, not op.is_stable, describe(instr), instr, why)


def _silently(function: Callable[..., Any], *args: Any) -> Any:
    with silent():
        return function(*args)
