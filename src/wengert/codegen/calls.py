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
    bodies: tuple[int, ...] = ()
    """The programs that it runs, by their numbers in :class:`~wengert.codegen.lowered.Lowered`. Once these are linked,
    their addresses go before ``sizes``."""
    loop: tuple[Any, int] | None = None
    """The compiled loop that it runs: a ufunc and the number of its loop, or the name of a loop of the runtime's own
    and the number of its variant. The addresses of the loop and of its data go before ``sizes``."""
    rows: tuple[int, ...] = ()
    """The bytes from what one index of the extent writes to what the next one does, for each result; empty if that is
    not known. The results are the last of ``places``."""


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
    """A call back into Python: ``function(*arrays)``, made when the program is linked."""

    what: str
    """ "run" for the reference of ``instr``, or "copy" or "add" as :class:`PlanStep` has it."""
    ins: tuple[Place, ...]
    outs: tuple[Place, ...]
    name: str
    instr: Instr | None
    why: str

    @property
    def copies(self) -> bool:
        """Whether the operands are passed as copies, since the function is the user's and may keep them."""
        return self.instr is not None and self.instr.op.into is None and not self.instr.op.is_stable

    @property
    def writes(self) -> bool:
        """Whether it is ``function(*arrays, *results)``, which writes its results."""
        return self.instr is not None and self.instr.op.into is not None

    def function(self) -> Callable[..., Any]:
        """Return what Python runs."""
        if self.instr is None:
            return np.add if self.what == "add" else partial(np.broadcast_to, shape=self.outs[0].aval.shape)
        op, params = self.instr.op, self.instr.params
        if op.into is not None:
            return partial(op.into, **params)
        function = op.bind([a.aval for a in self.instr.ins], **params) if op.bind is not None else op.reference
        if op.bind is None and params:
            function = partial(function, **params)
        # Without warnings, as references run: a backward part may divide by zero behind a mask.
        return partial(_silently, function) if op.is_stable else function


Call = KernelCall | SwitchCall | WhileCall | GuardCall | CallbackCall


def short(dtype: np.dtype[Any]) -> str:
    return dtype.str[1:]


def describe(instr: Instr) -> str:
    return instr.op.describe(instr) if instr.op.describe is not None else instr.op.name


def name_of(call: CallbackCall | GuardCall) -> str:
    """Return the name of a call that runs in Python."""
    return "guard" if isinstance(call, GuardCall) else call.name


def callback(step: PlanStep, why: str) -> CallbackCall:
    """The call that does ``step`` by its NumPy reference."""
    instr, (ins, outs) = step.instr, (step.ins, step.outs)
    if step.what == "add":
        ins = (*outs, *ins)
    name = describe(instr) if instr is not None else "add" if step.what == "add" else f"copy of {ins[0].aval}"
    return CallbackCall(step.what, ins, outs, name, instr, why)


def _silently(function: Callable[..., Any], *args: Any) -> Any:
    with silent():
        return function(*args)
