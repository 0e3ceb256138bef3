"""From an optimised tape to an executable: the last passes, the kernels' addresses, and the list of steps.

What is decided here is decided once; the runtime only follows it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from wengert import config, passes
from wengert.attributes import held
from wengert.codegen import compiler, loops, vecmath
from wengert.codegen.bodies import body_of, parts_of
from wengert.codegen.calls import (
    Call,
    CallbackCall,
    GuardCall,
    KernelCall,
    NestedCall,
    SwitchCall,
    WhileCall,
    callback,
)
from wengert.codegen.lower import lower, supports, text_of
from wengert.codegen.nests.nest import Nest
from wengert.codegen.specs.spec import Spec
from wengert.codegen.vecmath import angles
from wengert.errors import say_where
from wengert.higher.loops import one_iteration_back
from wengert.ops.kernels import Branch, Loop, RepeatBack
from wengert.passes import donation
from wengert.passes.plan.instructions import is_in_code
from wengert.passes.plan.places import Buffer, Place, Plan, PlanStep, c_strides
from wengert.passes.plan.planner import plan
from wengert.runtime import _native, routines
from wengert.tape import Instr, Lit, Tape, structure, tapes_in

compiler.provide(angles.REDUCE, _native.reduce_huge_address())
for routine in (loops.INTERRUPTED, loops.MORE_ROOM, loops.FREE):
    compiler.provide(routine, _native.loop_routine_address(routine))

LONG_FLOPS = 200_000  # a program that does more lets other Python threads run meanwhile


OWN = ("copy", "scan", "while_back")
"""The runtime's own kernels that call no library."""


class KernelInfo(NamedTuple):
    """A step of a program, for people: what ``Program.kernels`` has."""

    name: str
    """What it computes."""
    kind: str
    """ "loops" (every kernel of our own), "BLAS" (LAPACK's routines too), "guard" or "callback"."""
    why: str = ""
    """Of a callback: why nothing native does it."""


def assemble(
    tape: Tape,
    in_strides: Sequence[tuple[int, ...] | None] = (),
    is_fast: bool = False,
    keeps_arena: bool = True,
    donated: Sequence[int] = (),
) -> tuple[Plan, _native.Executable, tuple[KernelInfo, ...]]:
    """The plan of ``tape``, its executable, and what it runs; ``is_fast``: by :data:`vecmath.FAST` where it can;
    ``donated``: the inputs that results may be written over."""
    return _assembled(lowered_tape(tape, in_strides, is_fast, donated), tape, in_strides, keeps_arena)


def _assembled(
    lowered: Lowered, tape: Tape, in_strides: Sequence[tuple[int, ...] | None] = (), keeps_arena: bool = True
) -> tuple[Plan, _native.Executable, tuple[KernelInfo, ...]]:
    made, calls, pairs = lowered.made, lowered.calls, lowered.pairs
    first = {"arena": 0, "input": 1}
    first["capture"] = first["input"] + len(tape.inputs)
    captures = made.tape.captures  # what passes left of them
    first["literal"] = first["capture"] + len(captures)
    first["output"] = first["literal"] + len(made.literals)
    steps, codes = _steps(lowered.steps, calls, first)
    executable = _native.Executable(
        arena_bytes=made.arena_bytes,
        inputs=[
            (v.aval.dtype, v.aval.shape, s)
            for v, s in zip(tape.inputs, in_strides or [None] * len(tape.inputs), strict=True)
        ],
        captures=[c.array for c in captures],
        constants=[np.asarray(a.value) for a in made.literals],
        outputs=[(a.aval.dtype, a.aval.shape, k in lowered.zeroed) for k, a in enumerate(tape.outputs)],
        steps=steps,
        is_long=_is_long(tape),
        keeps_arena=keeps_arena,
        code=(codes, lowered.bodies),
        donated=pairs,
        commits_at=_first_step(lowered.commits_at, made.steps, lowered.steps, calls) if pairs else -1,
    )
    return made, executable, tuple([_describe(call) for call in calls])


class Lowered(NamedTuple):
    """A tape as calls, before anything is compiled."""

    tape: Tape
    made: Plan
    steps: list[PlanStep]
    """Those of the plan that there is something to do for."""
    calls: list[Call]
    """Of each, its call."""
    pairs: tuple[donation.Pair, ...]
    commits_at: int
    zeroed: tuple[int, ...]
    """Results that begin as zeros."""
    bodies: list[_native.Executable]
    """What calls point to."""

    def body(self) -> tuple[loops.Body, tuple[int, ...]] | None:
        """As what a loop's function runs, if it is small, with the sizes that it is given."""
        flops = sum([i.op.cost(*[a.aval for a in i.ins], **i.params) for i in self.made.tape.instrs])
        return None if self.bodies else body_of(self.made, self.calls, flops, self.pairs, self.zeroed)


def lowered_tape(
    tape: Tape,
    in_strides: Sequence[tuple[int, ...] | None] = (),
    is_fast: bool = False,
    donated: Sequence[int] = (),
    is_body: bool = False,
) -> Lowered:
    """``is_body``: of a loop, where results always may be written over what was ``donated``."""
    pairs = donation.pairs_of(tape, donated)
    made = plan(donation.written_late(passes.run(tape, passes.BEFORE_KERNELS, supports), pairs, is_body), in_strides)
    zeroed = zero_outputs(made)
    pairs, commits_at = donation.safe(made, [p for p in pairs if p[0] not in zeroed.values()], is_body)
    steps = [s for s in made.steps if id(s) not in zeroed and not (is_body and donation.is_nothing(s, pairs))]
    bodies: list[_native.Executable] = []
    lowered = [_lowered(step) for step in steps]
    calls = [_nested(call, bodies, is_fast) if isinstance(call, NestedCall) else call for call in lowered]
    if is_fast:
        calls = [_fast(call) if isinstance(call, KernelCall) else call for call in calls]
    return Lowered(tape, made, steps, calls, pairs, commits_at, tuple(zeroed.values()), bodies)


def _straight(lowered: Lowered) -> Lowered:
    """A body of several kernels as one call, if it is small."""
    found = lowered.body() if len(lowered.calls) > 1 else None
    if found is None:
        return lowered
    body, sizes = found
    tape = lowered.made.tape
    places = [
        Place(Buffer(kind, k), 0, c_strides(a.aval), a.aval)
        for kind, atoms in (("input", tape.inputs), ("output", tape.outputs))
        for k, a in enumerate(atoms)
    ]
    call = KernelCall(loops.Straight(body), tuple(places), sizes, 1, 0, tape.name, None)
    return lowered._replace(steps=lowered.steps[:1], calls=[call])


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


def zero_outputs(made: Plan) -> dict[int, int]:
    """The steps, by id, that begin a result by filling it with zeros, and which result: the runtime gets it as zeros,
    which for a large array costs nothing until it is touched."""
    found: dict[int, int] = {}
    touched: set[int] = set()
    for step in made.steps:
        goal = step.outs[0] if step.outs else None
        if goal is not None and goal.buffer.kind == "output" and goal.buffer.number not in touched:
            whole = made.tape.outputs[goal.buffer.number].aval
            if (
                step.what == "copy"
                and _is_zero(step.ins[0], made)
                and (goal.offset, goal.strides) == (0, c_strides(whole))
                and goal.aval.size == whole.size
            ):
                found[id(step)] = goal.buffer.number
        touched.update([p.buffer.number for p in (*step.ins, *step.outs) if p.buffer.kind == "output"])
    return found


def _is_zero(place: Place, made: Plan) -> bool:
    """Whether a place is zero all over, now and for ever, down to the sign."""
    if place.buffer.kind == "literal":
        return not any(made.literals[place.buffer.number].value.tobytes())
    if place.buffer.kind != "capture" or any(place.strides):
        return False
    capture = made.tape.captures[place.buffer.number]
    return capture.is_constant and capture.array.size > 0 and not any(capture.array.ravel()[:1].tobytes())


class _Outside(Exception):
    """A body runs in Python, and so does what it is the body of; the text says why."""


def _nested(call: NestedCall, bodies: list[_native.Executable], is_fast: bool) -> Call:
    """A loop or a branch: one function, if its bodies are small, or else what runs their programs, which have kernels
    alone. Those go to ``bodies``: they must live as long."""
    step, instr = call.step, call.step.instr
    assert instr is not None
    operands, params = step.ins, instr.params

    def lowered(body: Tape, carries: Sequence[int] = ()) -> Lowered:
        return lowered_tape(passes.run(body), (), is_fast, carries, is_body=True)

    def made(lowered: Lowered) -> int:
        _, executable, infos = _assembled(_straight(lowered), lowered.tape)
        outside = [info.name for info in infos if info.kind in ("callback", "guard")]
        if outside or executable.captures:
            raise _Outside(f"{outside[0]}, in its body, runs in Python" if outside else "its body captures an array")
        bodies.append(executable)
        return executable.address

    def kernel(
        kernel: loops.Whole | str, places: Sequence[Place], sizes: Sequence[int], extent: int = 1, grain: int = 0
    ) -> KernelCall:
        sizes = tuple(sizes)
        return KernelCall(kernel, tuple(places), sizes, extent, grain, call.name, instr, can_fail=True, is_partial=True)

    def scan(places: Sequence[Place], *sizes: int, grain: int = 0) -> KernelCall:
        return kernel("scan", places, sizes, sizes[3], grain)

    places = (*operands, *step.outs)
    try:
        if isinstance(instr.op.kernel, Branch):
            branches = [lowered(body) for body in params["branches"]]
            found = [branch.body() for branch in branches]
            if is_small(found):
                return kernel(loops.Switch(tuple([body for body, _ in found])), places, _sizes_of(found))
            parts = [scan(places[1:], made(branch), len(operands) - 1, 0, 1, 0) for branch in branches]
            return SwitchCall(operands[0], tuple(parts), call.name, instr)
        loop = params["loop"]
        if isinstance(instr.op.kernel, RepeatBack):
            back, sums = one_iteration_back(loop, params["wrt"]), sum(k < loop.constants for k in params["wrt"])
            first = loop.constants + loop.carries
            cts = len(back.inputs) - first - sums
            over = (*range(first + cts, first + cts + sums), *range(first, first + cts))
            parts = [lowered(loop.condition), lowered(loop.body), lowered(back, over)]
            found = [part.body() for part in parts]
            if is_small(found):
                (condition, _), (body, _), (turn, _) = found
                whole = loops.WhileBack(condition, body, turn, loop.of_condition, loop.constants, loop.carries, sums)
                return kernel(whole, places, _sizes_of(found))
            sizes = [made(part) for part in parts]
            return kernel("while_back", places, (*sizes, loop.of_condition, loop.constants, loop.carries, cts, sums))
        body = lowered(loop.body, range(loop.constants, loop.constants + loop.carries))
        if isinstance(instr.op.kernel, Loop):
            cost = max(1, int(instr.op.cost(*[a.aval for a in instr.ins], **params)))
            grain = -max(1, LOOP_FLOPS * loop.length // cost)  # iterations until it is worth looking for Ctrl-C
            found = [body.body()]
            if is_small(found):
                whole = loops.Scan(found[0][0], loop.constants, loop.carries, loop.is_reversed)
                return kernel(whole, places, (loop.length, *_sizes_of(found)), loop.length, grain)
            sizes = (made(body), loop.constants, loop.carries, loop.length, int(loop.is_reversed))
            return scan(places, *sizes, grain=grain)
        assert step.work is not None
        condition = lowered(loop.condition)
        found = [condition.body(), body.body()]
        if is_small(found):
            whole = loops.While(found[0][0], found[1][0], loop.of_condition, loop.constants, loop.carries)
            return kernel(whole, places, _sizes_of(found))
        address = made(body)
        tests, constants = operands[: loop.of_condition], operands[loop.of_condition : loop.first]
        test = scan((*tests, *step.outs, step.work), made(condition), len(tests) + loop.carries, 0, 1, 0)
        turn = scan((*constants, *step.outs, *step.outs), address, loop.constants, loop.carries, 1, 0)
        first = scan((*constants, *operands[loop.first :], *step.outs), address, loop.constants, loop.carries, 0, 0)
        return WhileCall(first, test._replace(can_fail=False), step.work, turn, call.name, instr)
    except _Outside as why:
        return callback(step, str(why))


Found = tuple[loops.Body, tuple[int, ...]]


def is_small(found: Sequence[Found | None]) -> TypeGuard[Sequence[Found]]:
    return None not in found


def _sizes_of(found: Sequence[Found]) -> list[int]:
    return [size for _, sizes in found for size in sizes]


LOOP_FLOPS = 5_000_000

# ------------------------------------------------------------------------------------------------------- lowering

_templates: dict[Any, tuple[KernelCall, tuple[int, ...]]] = {}


def _lowered(step: PlanStep) -> Call | NestedCall:
    """The call of a step, from that of an equal one if there was one: a long program has few kinds of step."""
    places = (*step.ins, *step.outs)
    key = _key_of(step, places)
    known = _templates.get(key)
    if known is not None:
        call, order = known
        return call._replace(places=tuple([places[k] for k in order]), instr=step.instr)
    call = lower(step)
    if isinstance(call, KernelCall):
        number = {id(p): k for k, p in reversed(list(enumerate(places)))}
        if all(id(p) in number for p in call.places):
            if len(_templates) > 4096:
                _templates.clear()
            bare = call._replace(places=(), instr=None)  # what is the step's own would keep its whole tape
            _templates[key] = (bare, tuple([number[id(p)] for p in call.places]))
    return call


def _fast(call: KernelCall) -> KernelCall:
    """The call with the faster versions of its functions, where it has any."""
    kernel = call.kernel
    if isinstance(kernel, Nest) and any(s.function in vecmath.FAST for s in (*kernel.steps, *kernel.post)):
        kernel = kernel._replace(is_fast=True)
    return call._replace(kernel=kernel, then=None if call.then is None else _fast(call.then))


def _key_of(step: PlanStep, places: Sequence[Place]) -> Any:
    """Equal for steps that one kernel does, with the same sizes."""
    first: dict[Any, int] = {}
    memory = tuple([(first.setdefault((id(p.buffer), p.offset), k), p.strides, p.aval) for k, p in enumerate(places)])
    instr = step.instr
    if instr is None:
        return step.what, len(step.ins), memory
    literals = tuple([a.key if type(a) is Lit and is_in_code(a) else None for a in instr.ins])
    params = tuple([structure(p) if isinstance(p, Tape) else (k, p) for k, p in instr.params.items()])
    return instr.op, literals, params, len(step.ins), memory, config.target


# ----------------------------------------------------------------------------------------------------- assembling


def _steps(
    planned: Sequence[PlanStep], calls: list[Call], first: dict[str, int]
) -> tuple[list[tuple[Any, ...]], tuple[compiler.Code, ...]]:
    """The steps in the runtime's terms, and the machine code that they point to; calls that cannot be compiled become
    callbacks, in ``calls`` too."""
    kernels = [part.kernel for call in calls for part in parts_of(call)]
    keys = {kernel: compiler.key_of(kernel) for kernel in dict.fromkeys(kernels) if not isinstance(kernel, str)}
    codes = compiler.machine_code({key: partial(text_of, kernel) for kernel, key in keys.items()})
    if config.verify:
        from wengert.codegen import verify  # only here: nobody else needs it

        parts = [part for call in calls for part in parts_of(call)]
        verify.verify_new(parts, codes, routines.address)

    def address(kernel: Nest | Spec | loops.Whole | str) -> int | str:
        if isinstance(kernel, str):
            return routines.address(kernel)
        code = codes[keys[kernel]]
        return code if isinstance(code, str) else code.address

    def pointer(place: Place) -> tuple[int, int]:
        buffer = place.buffer
        if buffer.kind == "arena":
            return 0, buffer.offset + place.offset
        return first[buffer.kind] + buffer.number, place.offset

    def view(place: Place, copies: bool) -> tuple[Any, ...]:
        return pointer(place), place.aval.dtype, place.aval.shape, place.strides, copies

    def result(place: Place) -> tuple[Any, ...]:
        return pointer(place), place.aval.dtype, place.aval.shape, place.strides

    def kernel(part: KernelCall, whole: KernelCall, step: PlanStep) -> tuple[Any, ...]:
        failure = None
        if whole.can_fail:
            reference = callback(step, "")
            function = reference.function if whole.is_partial else partial(_fail, whole.name, reference.function)
            function = _saying_where(function, step.instr)
            ins, outs = [view(p, False) for p in reference.ins], [result(p) for p in reference.outs]
            failure = function, ins, outs if whole.is_partial else []
        pointers = [pointer(p) for p in part.places]
        return "kernel", address(part.kernel), pointers, part.sizes, part.extent, part.grain, failure

    steps: list[tuple[Any, ...]] = []
    for k, call in enumerate(calls):
        parts = [(part, address(part.kernel)) for part in parts_of(call)]
        refused = next(((part, why) for part, why in parts if isinstance(why, str)), None)
        if refused is not None:
            calls[k] = call = _refused(planned[k], *refused)
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
            function = _saying_where(call.function, call.instr)
            steps.append(("writing" if call.writes else "callback", function, ins, [result(p) for p in call.outs]))
    return steps, tuple([code for code in codes.values() if not isinstance(code, str)])


def _saying_where(function: Callable[..., Any], instr: Instr | None) -> Callable[..., Any]:
    """``function``, whose errors get a note of the line that its step comes from."""
    if instr is None:
        return function

    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except Exception as error:  # whatever NumPy or the user's code raises goes on, with a note
            say_where(error, instr.source)
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
    return KernelInfo(call.name, "BLAS" if isinstance(call.kernel, str) and call.kernel not in OWN else "loops")
