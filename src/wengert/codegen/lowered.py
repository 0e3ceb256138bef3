"""A lowered program is a plan, the call of each of its steps, and the programs of its bodies, for one target.

A :class:`Lowered` is data. It names kernels by what they compute, routines and bodies by symbols, and has no address in
it: it can be written to bytes, and lowered on one machine for another. The runtime links it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from wengert import passes
from wengert.codegen import vecmath
from wengert.codegen.bodies import OF_A_LOOP, Most, body_of
from wengert.codegen.calls import Call, KernelCall, NestedCall
from wengert.codegen.loops import LoweredBody
from wengert.codegen.lower import lower, supports
from wengert.codegen.nested import nested
from wengert.codegen.nests.nest import Nest
from wengert.codegen.target import Target
from wengert.passes import donation
from wengert.passes.plan.instructions import is_in_code
from wengert.passes.plan.places import Place, Plan, PlanStep, c_strides
from wengert.passes.plan.planner import plan
from wengert.tape import Lit, Tape, structure


class Lowered(NamedTuple):
    """A tape as calls for one target, before anything is compiled."""

    tape: Tape
    target: Target
    in_strides: tuple[tuple[int, ...] | None, ...]
    """The strides of each input in bytes, or None if it is in C order; empty if all are."""
    plan: Plan
    steps: list[PlanStep]
    """The steps of the plan for which there is something to do."""
    calls: list[Call]
    """The call of each of ``steps``."""
    pairs: tuple[donation.Pair, ...]
    """The outputs that are written over inputs."""
    commits_at: int
    """The number of the first step of the plan after whose beginning the run must not be stopped."""
    zeroed: tuple[int, ...]
    """The outputs that begin as zeros."""
    bodies: tuple[Lowered, ...]
    """The programs that calls refer to by their numbers."""
    most: Most
    """How large it may be as a body."""

    def body(self) -> tuple[LoweredBody, tuple[int, ...]] | None:
        """Return the program as the body of a loop's function, and the sizes it is given; None if it is large."""
        flops = sum([i.op.cost(*[a.aval for a in i.ins], **i.params) for i in self.plan.tape.instrs])
        return None if self.bodies else body_of(self.plan, self.calls, flops, self.pairs, self.zeroed, self.most)


def lowered_tape(
    tape: Tape,
    target: Target,
    in_strides: Sequence[tuple[int, ...] | None] = (),
    is_fast: bool = False,
    donated: Sequence[int] = (),
    is_body: bool = False,
    out_strides: Sequence[tuple[int, ...] | None] = (),
    last_passes: Sequence[passes.Pass] | None = None,
    most: Most = OF_A_LOOP,
) -> Lowered:
    """Run the last passes over ``tape``, and return its program for ``target``.

    ``is_fast`` takes :data:`vecmath.FAST` where it can. Results may be written over the inputs ``donated``; they always
    may in the body of a loop, ``is_body``. ``most`` is for the program as a body, and for the bodies of its loops.
    """
    pairs = donation.pairs_of(tape, donated)
    kernels = passes.run(tape, last_passes or passes.BEFORE_KERNELS, supports)
    made = plan(donation.written_late(kernels, pairs, is_body), in_strides, out_strides)
    zeroed = zero_outputs(made)
    pairs, commits_at = donation.safe(made, [p for p in pairs if p[0] not in zeroed.values()], is_body)
    steps = [s for s in made.steps if id(s) not in zeroed and not (is_body and donation.is_nothing(s, pairs))]
    bodies: list[Lowered] = []

    def lowered_body(
        body: Tape,
        carries: Sequence[int] = (),
        in_strides: Sequence[tuple[int, ...] | None] = (),
        out_strides: Sequence[tuple[int, ...] | None] = (),
        last_passes: Sequence[passes.Pass] | None = None,
        most: Most = most,
    ) -> Lowered:
        made = passes.run(body)
        return lowered_tape(made, target, in_strides, is_fast, carries, True, out_strides, last_passes, most)

    calls = list[Call]()
    for step in steps:
        call = _lowered(step, target)
        calls.append(nested(call, bodies, lowered_body) if isinstance(call, NestedCall) else call)
    if is_fast:
        calls = [_fast(call) if isinstance(call, KernelCall) else call for call in calls]
    zeros = tuple(zeroed.values())
    return Lowered(tape, target, tuple(in_strides), made, steps, calls, pairs, commits_at, zeros, tuple(bodies), most)


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


_templates: dict[Any, tuple[KernelCall, tuple[int, ...]]] = {}


def _lowered(step: PlanStep, target: Target) -> Call | NestedCall:
    """The call of a step, from that of an equal one if there was one: a long program has few kinds of step."""
    places = (*step.ins, *step.outs)
    key = _key_of(step, places, target)
    known = _templates.get(key)
    if known is not None:
        call, order = known
        return call._replace(places=tuple([places[k] for k in order]), instr=step.instr)
    call = lower(step, target)
    if isinstance(call, KernelCall) and call.then is None:  # what follows has places of its own
        number = {id(p): k for k, p in reversed(list(enumerate(places)))}
        if all(id(p) in number for p in call.places):
            if len(_templates) > 4096:
                _templates.clear()
            bare = call._replace(places=(), instr=None)  # its places and instruction would keep the whole tape alive
            _templates[key] = (bare, tuple([number[id(p)] for p in call.places]))
    return call


def _fast(call: KernelCall) -> KernelCall:
    """The call with the faster versions of its functions, where it has any."""
    kernel = call.kernel
    if isinstance(kernel, Nest) and any(s.function in vecmath.FAST for s in (*kernel.steps, *kernel.post)):
        kernel = kernel._replace(is_fast=True)
    return call._replace(kernel=kernel, then=None if call.then is None else _fast(call.then))


def _key_of(step: PlanStep, places: Sequence[Place], target: Target) -> Any:
    """Return a key that is equal for steps that one kernel does with the same sizes."""
    first: dict[Any, int] = {}
    memory = tuple([(first.setdefault((id(p.buffer), p.offset), k), p.strides, p.aval) for k, p in enumerate(places)])
    instr = step.instr
    if instr is None:
        return step.what, len(step.ins), memory, target
    literals = tuple([a.key if type(a) is Lit and is_in_code(a) else None for a in instr.ins])
    params = tuple([structure(p) if isinstance(p, Tape) else (k, p) for k, p in instr.params.items()])
    return instr.op, literals, params, len(step.ins), memory, target
