"""A lowered program becomes an executable: kernels are compiled, symbols become addresses, and calls steps.

What is decided here is decided once; the runtime only follows it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert import config
from wengert.attributes import held
from wengert.codegen import compiler, loops
from wengert.codegen.bodies import parts_of
from wengert.codegen.calls import (
    Call,
    CallbackCall,
    GuardCall,
    KernelCall,
    SwitchCall,
    WhileCall,
    callback,
)
from wengert.codegen.lower import text_of
from wengert.codegen.lowered import Lowered, lowered_tape
from wengert.codegen.nested import bodies_of
from wengert.codegen.nests.nest import Nest
from wengert.codegen.specs.spec import Spec
from wengert.codegen.target import target
from wengert.codegen.vecmath import angles
from wengert.errors import say_where
from wengert.passes.plan.places import Buffer, Place, Plan, PlanStep, c_strides
from wengert.runtime import _native, routines
from wengert.source import Source
from wengert.tape import Aval, Instr, Tape, tapes_in
from wengert.tracebacks import fold

compiler.provide(angles.REDUCE, _native.reduce_huge_address())
for routine in (loops.INTERRUPTED, loops.MORE_ROOM, loops.FREE):
    compiler.provide(routine, _native.loop_routine_address(routine))

LONG_FLOPS = 200_000  # a program that does more lets other Python threads run meanwhile


OWN = ("copy", "scan", "while_back")
"""The runtime's own kernels that call no library."""


class KernelInfo(NamedTuple):
    """A step of a program, for people: what ``Program.kernels`` has. Its costs are computed when they are asked for."""

    name: str
    """The name of what the step computes."""
    kind: str
    """ "loops" (every kernel of our own), "BLAS" (LAPACK's routines too), "library" (a compiled loop of NumPy's or
    SciPy's), "guard" or "callback"."""
    why: str = ""
    """The reason why nothing native does a callback."""
    planned: PlanStep | None = None
    """The step of the program's plan: the instruction, and the places of its operands and results."""
    bodies: tuple[tuple[KernelInfo, ...], ...] = ()
    """The kernels of the programs of its bodies, if it is a loop or a branch that is not one kernel."""

    def __repr__(self) -> str:
        return f"KernelInfo(name={self.name!r}, kind={self.kind!r}, why={self.why!r})"

    @property
    def instrs(self) -> tuple[Instr, ...]:
        """The instructions that it does, those of its bodies included, as they are on the plan's tape."""
        return () if self.planned is None or self.planned.instr is None else tuple(_within(self.planned.instr))

    @property
    def ops(self) -> tuple[str, ...]:
        """The names of the ops that it does, in order."""
        return tuple([i.op.name for i in self.instrs])

    @property
    def sources(self) -> tuple[Source, ...]:
        """The user's lines of these, each once."""
        return tuple(dict.fromkeys([i.source for i in self.instrs if i.source is not None]))

    @property
    def flops(self) -> float:
        """The flops of one run; of a loop whose count is not known, those of one iteration."""
        instr = None if self.planned is None else self.planned.instr
        return 0.0 if instr is None else float(instr.op.cost(*[a.aval for a in instr.ins], **instr.params))

    @property
    def moved_bytes(self) -> int:
        """The bytes that it reads and writes in one run: each array once, and of a gather or a scatter the elements
        that are moved."""
        step = self.planned
        if step is None:
            return 0
        ins, outs = list(step.ins), list(step.outs)
        if step.instr is not None and step.instr.op.kernel.moves_by_index:
            ins, outs = ins[1:], outs if outs[0].aval.size < ins[0].aval.size else ins[1:2]
            ins += outs
        read = {(id(p.buffer), *p[1:3], p.aval): _touched(p) for p in ins}
        return sum(read.values()) + sum(map(_touched, outs))


def _within(instr: Instr) -> list[Instr]:
    """The instruction, or those that it is made of."""
    if not instr.params:
        return [instr]
    found = [i for tape in tapes_in(tuple(instr.params.values())) for inner in tape.instrs for i in _within(inner)]
    return found if instr.op.kernel.is_fused or instr.op.kernel.reads_beside else [instr, *found]


def _touched(place: Place) -> int:
    """The bytes of the elements at a place; where it is broadcast, of the one that stands for many."""
    return place.aval.dtype.itemsize * math.prod(
        [n for n, s in zip(place.aval.shape, place.strides, strict=True) if s or not n]
    )


class Linked(NamedTuple):
    """A program that can be run, and from which steps its parts come."""

    plan: Plan
    executable: _native.Executable
    kernels: tuple[KernelInfo, ...]
    steps: tuple[tuple[PlanStep, ...], ...]
    """The steps of the plan that each kernel does: one, but in a body that is one kernel all of them."""
    owners: tuple[int, ...]
    """The kernel to which each step of the executable belongs, by the step's number."""
    bodies: tuple[tuple[Linked, ...], ...]
    """The programs that each kernel runs: those of a loop's body, of branches."""

    @property
    def peak_bytes(self) -> int:
        """The bytes of the arena, and the most that the body of a loop or a branch takes beside it while it runs."""
        inside = [b.peak_bytes + sum([a.aval.nbytes for a in b.plan.tape.outputs]) for k in self.bodies for b in k]
        return self.plan.arena_bytes + max(inside, default=0)


def assemble(
    tape: Tape,
    in_strides: Sequence[tuple[int, ...] | None] = (),
    is_fast: bool = False,
    keeps_arena: bool = True,
    donated: Sequence[int] = (),
) -> Linked:
    """The program of ``tape``; ``is_fast``: by :data:`vecmath.FAST` where it can; ``donated``: the inputs that results
    may be written over."""
    return link(lowered_tape(tape, target(), in_strides, is_fast, donated), keeps_arena)


def link(lowered: Lowered, keeps_arena: bool = True) -> Linked:
    """Compile the kernels of a lowered program, and return what can be run.

    A loop of which LLVM refuses a kernel in the body is called back in Python.
    """
    tape, made, calls = lowered.tape, lowered.plan, list(lowered.calls)
    bodies = [link(body) for body in lowered.bodies]
    for k, call in enumerate(calls):
        outside = [i.name for n in bodies_of(call) for i in bodies[n].kernels if i.kind in ("callback", "guard")]
        if outside:
            calls[k] = callback(lowered.steps[k], f"{outside[0]}, in its body, runs in Python")
    executables = [body.executable for body in bodies]
    captures = made.tape.captures  # those that passes have left
    steps, codes, owners = _steps(lowered, calls, _first_bases(lowered), executables)
    in_strides = lowered.in_strides or [None] * len(tape.inputs)
    executable = _native.Executable(
        arena_bytes=made.arena_bytes,
        inputs=[(v.aval.dtype, v.aval.shape, s) for v, s in zip(tape.inputs, in_strides, strict=True)],
        captures=[c.array for c in captures],
        constants=[np.asarray(a.value) for a in made.literals],
        outputs=[(a.aval.dtype, a.aval.shape, k in lowered.zeroed) for k, a in enumerate(tape.outputs)],
        steps=steps,
        is_long=_is_long(tape),
        keeps_arena=keeps_arena,
        code=(codes, executables),
        donated=lowered.pairs,
        commits_at=_first_step(lowered.commits_at, made.steps, lowered.steps, calls) if lowered.pairs else -1,
    )
    infos = [
        _describe(call)._replace(planned=step, bodies=tuple([bodies[n].kernels for n in sorted(bodies_of(call))]))
        for call, step in zip(calls, lowered.steps, strict=True)
    ]
    whole = len(calls) == 1 and isinstance(calls[0], KernelCall) and isinstance(calls[0].kernel, loops.Straight)
    return Linked(
        made,
        executable,
        tuple(infos),
        (tuple(made.steps),) if whole else tuple([(step,) for step in lowered.steps]),
        owners,
        tuple([tuple([bodies[n] for n in sorted(bodies_of(call))]) for call in calls]),
    )


def _first_bases(lowered: Lowered) -> dict[str, int]:
    """The number of the first base of each kind of buffer."""
    first = {"arena": 0, "input": 1}
    first["capture"] = first["input"] + len(lowered.tape.inputs)
    first["literal"] = first["capture"] + len(lowered.plan.tape.captures)
    first["output"] = first["literal"] + len(lowered.plan.literals)
    return first


def _pointer(place: Place, first: dict[str, int]) -> tuple[int, int]:
    buffer = place.buffer
    if buffer.kind == "arena":
        return 0, buffer.offset + place.offset
    return first[buffer.kind] + buffer.number, place.offset


def checks(lowered: Lowered, kernels: Sequence[KernelInfo]) -> list[tuple[PlanStep, _native.Check]]:
    """Return where an executable looks for NaNs: the floats that each step writes, behind its last kernel.

    ``lowered`` is what the executable was made of, and ``kernels`` what :func:`link` said of it. Steps that only move
    elements are left out, or a chain of writes into one array would look at all of it each time. What they put into a
    result is looked at when the run ends.
    """
    first, found = _first_bases(lowered), list[tuple[PlanStep, Any]]()
    late: dict[int, PlanStep] = {}
    number = 0
    for step, call, info in zip(lowered.steps, lowered.calls, kernels, strict=True):
        if info.kind in ("callback", "guard"):
            number += 1
        else:
            number += 2 if isinstance(call, WhileCall) else len(parts_of(call)) or 1
        kernel = None if step.instr is None else step.instr.op.kernel
        if kernel is None or kernel.only_reads or kernel.is_update or kernel.joins:
            late.update({p.buffer.number: step for p in step.outs if p.buffer.kind == "output"})
        else:
            made = None if info.kind == "callback" else call
            found += [(step, _check(p, number - 1, first, made)) for p in step.outs if _has_floats(p.aval)]
    outputs = lowered.plan.tape.outputs
    for k, step in late.items():
        if _has_floats(outputs[k].aval):
            whole = Place(Buffer("output", k), 0, c_strides(outputs[k].aval), outputs[k].aval)
            found.append((step, _check(whole, number - 1, first)))
    return found


def _check(place: Place, number: int, first: dict[str, int], call: Call | None = None) -> _native.Check:
    """The check of what a step writes at ``place``. A kernel that may run in parts is looked at in parts, if the
    indices of its extent write one behind the other there."""
    row = 0
    if isinstance(call, KernelCall) and call.grain > 0 and call.rows:
        rows = zip(call.places[-len(call.rows) :], call.rows, strict=True)
        row = next((row for p, row in rows if p.buffer is place.buffer and p[1:] == place[1:]), 0)
        is_contiguous = place.strides == c_strides(place.aval)
        row = row if is_contiguous and row * call.extent == place.aval.size * place.aval.dtype.itemsize else 0
    return number, _pointer(place, first), place.aval.dtype, place.aval.shape, place.strides, row


def _has_floats(aval: Aval) -> bool:
    return aval.is_inexact and aval.size > 0 and aval.dtype.char in "efdFD"


def _first_step(commits_at: int, steps: Sequence[PlanStep], planned: Sequence[PlanStep], calls: Sequence[Call]) -> int:
    """Where in the runtime's list of steps the plan's step ``commits_at`` begins."""
    before = set(map(id, steps[:commits_at]))
    counts = [2 if isinstance(call, WhileCall) else len(parts_of(call)) or 1 for call in calls]
    return sum([count for step, count in zip(planned, counts, strict=True) if id(step) in before])


def _is_long(tape: Tape) -> bool:
    """Whether a run takes long, or as long as nobody knows."""
    flops = 0.0
    for i in tape.instrs:
        if i.op.kernel.runs_unknown_times:
            return True
        if i.op.kernel.has_bodies and any(map(_is_long, tapes_in(tuple(i.params.values())))):
            return True
        flops += i.op.cost(*[a.aval for a in i.ins], **i.params)
        if flops > LONG_FLOPS:
            return True
    return False


# ----------------------------------------------------------------------------------------------------- assembling


def _steps(
    lowered: Lowered, calls: list[Call], first: dict[str, int], bodies: Sequence[_native.Executable]
) -> tuple[list[tuple[Any, ...]], tuple[compiler.Code, ...], tuple[int, ...]]:
    """Return the steps in the runtime's terms, the machine code that they point to, and for each step, those in blocks
    included, the number of its call.

    Calls that cannot be compiled become callbacks, in ``calls`` too.
    """
    planned, target = lowered.steps, lowered.target
    kernels = [part.kernel for call in calls for part in parts_of(call)]
    keys = {kernel: compiler.key_of(kernel, target) for kernel in dict.fromkeys(kernels) if not isinstance(kernel, str)}
    texts = {key: partial(text_of, kernel, target=target) for kernel, key in keys.items()}
    codes = compiler.machine_code(texts, target)
    if config.verify:
        from wengert.codegen import verify  # only here: nobody else needs it

        parts = [part for call in calls for part in parts_of(call)]
        verify.verify_new(parts, codes, routines.address, target)

    def address(kernel: Nest | Spec | loops.Whole | str) -> int | str:
        if isinstance(kernel, str):
            return routines.address(kernel)
        code = codes[keys[kernel]]
        return code if isinstance(code, str) else code.address

    def pointer(place: Place) -> tuple[int, int]:
        return _pointer(place, first)

    def view(place: Place, copies: bool) -> tuple[Any, ...]:
        return pointer(place), place.aval.dtype, place.aval.shape, place.strides, copies

    def result(place: Place) -> tuple[Any, ...]:
        return pointer(place), place.aval.dtype, place.aval.shape, place.strides

    def kernel(part: KernelCall, whole: KernelCall, step: PlanStep) -> tuple[Any, ...]:
        failure = None
        if whole.can_fail:
            reference = callback(step, "")
            function = reference.function()
            if not whole.is_partial:
                function = partial(_fail, whole.name, function)
            function = _saying_where(function, step.instr)
            ins, outs = [view(p, False) for p in reference.ins], [result(p) for p in reference.outs]
            failure = function, ins, outs if whole.is_partial else []
        pointers = [pointer(p) for p in part.places]
        sizes = (*[bodies[number].address for number in part.bodies], *routines.loop(part.loop), *part.sizes)
        return "kernel", address(part.kernel), pointers, sizes, part.extent, part.grain, failure

    steps: list[tuple[Any, ...]] = []
    owners = list[int]()
    for k, call in enumerate(calls):
        parts = [(part, address(part.kernel)) for part in parts_of(call)]
        refused = next(((part, why) for part, why in parts if isinstance(why, str)), None)
        if refused is not None:
            calls[k] = call = _refused(planned[k], *refused)
        n_before = len(steps)
        if isinstance(call, KernelCall):
            steps += [kernel(part, call, planned[k]) for part, _ in parts]
        elif isinstance(call, SwitchCall):
            branches = [[kernel(branch, branch, planned[k])] for branch in call.branches]
            steps.append(("switch", pointer(call.index), branches))
        elif isinstance(call, WhileCall):
            start, test, body = [kernel(c, c, planned[k]) for c in (call.first, call.condition, call.body)]
            steps += [start, ("while", [test], pointer(call.flag), [body])]
        elif isinstance(call, GuardCall):
            params, aval = call.instr.params, call.place.aval
            expected = np.asarray(params["expected"].value, aval.dtype).tobytes()
            steps.append(("guard", pointer(call.place), aval.nbytes, expected, params["position"]))
        else:
            ins = [view(p, call.copies) for p in call.ins]
            function = _saying_where(call.function(), call.instr)
            steps.append(("writing" if call.writes else "callback", function, ins, [result(p) for p in call.outs]))
        owners += [k] * sum(map(_count, steps[n_before:]))
    return steps, tuple([code for code in codes.values() if not isinstance(code, str)]), tuple(owners)


def _count(step: tuple[Any, ...]) -> int:
    """The steps that a step is, those in its blocks included."""
    blocks = (step[1], step[3]) if step[0] == "while" else step[2] if step[0] == "switch" else ()
    return 1 + sum([_count(inner) for block in blocks for inner in block])


def _saying_where(function: Callable[..., Any], instr: Instr | None) -> Callable[..., Any]:
    """Return ``function`` with a note added to its errors: the line that its step comes from."""
    if instr is None:
        return function

    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except Exception as error:  # whatever NumPy or the user's code raises goes on, with a note
            say_where(error, instr.source)
            fold(error)  # who called machine code has no frame that would do it
            raise

    call.__name__ = held(function, "__name__", instr.op.name)  # the runtime names it when a result does not fit
    return call


def _fail(name: str, reference: Callable[..., Any], status: int, *operands: Any) -> None:
    """Raise what the reference raises for operands that a kernel refused."""
    reference(*operands)
    # It raised nothing: a matrix at the edge, which another LAPACK rounds to the other side of it.
    raise np.linalg.LinAlgError(f"{name}: singular, or not positive definite, to working precision (status {status})")


def _refused(step: PlanStep, call: KernelCall, why: str) -> CallbackCall:
    warnings.warn(f"the kernel {call.name!r} could not be compiled, and runs as NumPy: {why}", stacklevel=2)
    return callback(step, why)


def _describe(call: Call) -> KernelInfo:
    if isinstance(call, GuardCall):
        return KernelInfo("guard", "guard")
    if isinstance(call, CallbackCall):
        return KernelInfo(call.name, "callback", call.why)
    if not isinstance(call, KernelCall):
        return KernelInfo(call.name, "loops")
    if call.loop is not None:
        return KernelInfo(call.name, "loops" if isinstance(call.loop[0], str) else "library")
    return KernelInfo(call.name, "BLAS" if isinstance(call.kernel, str) and call.kernel not in OWN else "loops")
