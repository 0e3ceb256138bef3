"""Loops and branches: one kernel with its bodies in it where these are small, else what runs their programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from wengert.codegen import loops
from wengert.codegen.bodies import OF_A_BLOCK
from wengert.codegen.calls import (
    Call,
    CallbackCall,
    GuardCall,
    KernelCall,
    NestedCall,
    SwitchCall,
    WhileCall,
    callback,
    name_of,
)
from wengert.higher.loops import one_iteration_back
from wengert.ops.kernels import Alternatives, Kernel, Lanes, Loop, RepeatWhile, RepeatWhileBack
from wengert.passes import WITHOUT_LANES
from wengert.passes.plan.places import Buffer, Place, PlanStep, c_strides
from wengert.tape import Instr, Tape

if TYPE_CHECKING:
    from wengert.codegen.lowered import Lowered


class _Outside(Exception):
    """A body runs in Python, and so does the loop or branch that it belongs to; the text says why."""


def nested(call: NestedCall, bodies: list[Lowered], lowered: Callable[..., Lowered]) -> Call:
    """Return the call of a loop or a branch: one kernel if its bodies are small, or else calls that run their programs.

    ``lowered(tape, carries)`` makes the program of a body, in which results may be written over the inputs ``carries``.
    Programs that are called are appended to ``bodies``. A body that needs Python makes the whole call back Python.
    """
    step, before = call.step, len(bodies)
    assert step.instr is not None
    try:
        return NESTING[type(step.instr.op.kernel)](_Nesting(call, step, step.instr, bodies, lowered))
    except _Outside as why:
        del bodies[before:]
        return callback(step, str(why))


class _Nesting(NamedTuple):
    """A loop or a branch on its way to a call."""

    call: NestedCall
    step: PlanStep
    instr: Instr
    bodies: list[Lowered]
    lowered: Callable[..., Lowered]

    @property
    def places(self) -> tuple[Place, ...]:
        return (*self.step.ins, *self.step.outs)

    def program(self, body: Lowered) -> int:
        """Append a program to ``bodies``, and return its number. Raises :class:`_Outside`."""
        outside = [name_of(c) for c in body.calls if isinstance(c, CallbackCall | GuardCall)]
        if outside:
            raise _Outside(f"{outside[0]}, in its body, runs in Python")
        if body.plan.tape.captures:
            raise _Outside("its body captures an array")
        self.bodies.append(_straight(body))
        return len(self.bodies) - 1

    def kernel(
        self, kernel: loops.Whole | str, places: Sequence[Place], sizes: Sequence[int], extent: int = 1, grain: int = 0
    ) -> KernelCall:
        name = self.call.name
        return KernelCall(
            kernel, tuple(places), tuple(sizes), extent, grain, name, self.instr, can_fail=True, is_partial=True
        )

    def scan(
        self,
        places: Sequence[Place],
        body: int,
        constants: int,
        carries: int,
        length: int,
        is_reversed: bool = False,
        grain: int = 0,
    ) -> KernelCall:
        """The runtime's loop over the program of a body."""
        sizes = (constants, carries, length, int(is_reversed))
        return self.kernel("scan", places, sizes, length, grain)._replace(bodies=(body,))


def _branch(nesting: _Nesting) -> Call:
    operands = nesting.step.ins
    branches = [nesting.lowered(body) for body in nesting.instr.params["branches"]]
    found = [branch.body() for branch in branches]
    if is_small(found):
        return nesting.kernel(loops.Switch(tuple([body for body, _ in found])), nesting.places, _sizes_of(found))
    parts = [nesting.scan(nesting.places[1:], nesting.program(b), len(operands) - 1, 0, 1) for b in branches]
    return SwitchCall(operands[0], tuple(parts), nesting.call.name, nesting.instr)


def _loop(nesting: _Nesting) -> Call:
    instr, loop = nesting.instr, nesting.instr.params["loop"]
    body = nesting.lowered(loop.body, range(loop.constants, loop.constants + loop.carries))
    cost = max(1, int(instr.op.cost(*[a.aval for a in instr.ins], **instr.params)))
    grain = -max(1, LOOP_FLOPS * loop.length // cost)  # iterations until it is worth looking for Ctrl-C
    found = [body.body()]
    if is_small(found):
        whole = loops.Scan(found[0][0], loop.constants, loop.carries, loop.is_reversed)
        return nesting.kernel(whole, nesting.places, (loop.length, *_sizes_of(found)), loop.length, grain)
    program = nesting.program(body)
    return nesting.scan(
        nesting.places, program, loop.constants, loop.carries, loop.length, loop.is_reversed, grain=grain
    )


def _repeat(nesting: _Nesting) -> Call:
    step, loop = nesting.step, nesting.instr.params["loop"]
    assert step.work is not None
    body = nesting.lowered(loop.body, range(loop.constants, loop.constants + loop.carries))
    condition = nesting.lowered(loop.condition)
    found = [condition.body(), body.body()]
    if is_small(found):
        whole = loops.While(found[0][0], found[1][0], loop.of_condition, loop.constants, loop.carries)
        return nesting.kernel(whole, nesting.places, _sizes_of(found))
    program = nesting.program(body)
    tests, constants = step.ins[: loop.of_condition], step.ins[loop.of_condition : loop.first]
    counts = loop.constants, loop.carries
    test_places = (*tests, *step.outs, step.work)
    test = nesting.scan(test_places, nesting.program(condition), len(tests) + loop.carries, 0, 1)
    iteration = nesting.scan((*constants, *step.outs, *step.outs), program, *counts, 1)
    first = nesting.scan((*constants, *step.ins[loop.first :], *step.outs), program, *counts, 0)
    return WhileCall(first, test._replace(can_fail=False), step.work, iteration, nesting.call.name, nesting.instr)


def _repeat_back(nesting: _Nesting) -> Call:
    loop, params = nesting.instr.params["loop"], nesting.instr.params
    if "back" in params:
        back, sums = params["back"], params["sums"]
    else:
        back, sums = one_iteration_back(loop, params["wrt"]), sum(k < loop.constants for k in params["wrt"])
    first = loop.constants + loop.carries
    cts = len(back.inputs) - first - sums
    over = (*range(first + cts, first + cts + sums), *range(first, first + cts))
    parts = [nesting.lowered(loop.condition), nesting.lowered(loop.body), nesting.lowered(back, over)]
    found = [part.body() for part in parts]
    if is_small(found):
        (condition, _), (body, _), (iteration, _) = found
        whole = loops.WhileBack(condition, body, iteration, loop.of_condition, loop.constants, loop.carries, sums)
        return nesting.kernel(whole, nesting.places, _sizes_of(found))
    programs = tuple([nesting.program(part) for part in parts])
    sizes = (loop.of_condition, loop.constants, loop.carries, cts, sums)
    return nesting.kernel("while_back", nesting.places, sizes)._replace(bodies=programs)


def _in_lanes(nesting: _Nesting) -> Call:
    """One kernel that goes through the lanes block by block, or the program of all lanes at once."""
    step, params = nesting.step, nesting.instr.params
    count, block = params["count"], params["block"]
    atoms = [*block.inputs, *block.outputs]
    size = _size_of(block, step)
    strides = [place.strides for place in nesting.places]
    inputs = len(step.ins)
    body = nesting.lowered(block, (), strides[:inputs], strides[inputs:], most=OF_A_BLOCK)
    found = body.body()
    if found is None:
        whole = nesting.lowered(params["whole"], (), strides[:inputs], strides[inputs:], WITHOUT_LANES)
        return nesting.scan(nesting.places, nesting.program(whole), inputs, 0, 1)
    steps = [
        next((s for n, m, s in zip(p.aval.shape, a.aval.shape, p.strides, strict=True) if n != m), 0)
        for p, a in zip(nesting.places, atoms, strict=True)
    ]
    blocks = -(-count // size)
    grain = max(1, BLOCK_LANES // size)
    return nesting.kernel(loops.Blocks(found[0], size), nesting.places, (count, *steps, *found[1]), blocks, grain)


def _size_of(block: Tape, step: PlanStep) -> int:
    """The lanes of a block: the length in which its results differ from those of all lanes."""
    shapes = zip(block.outputs[0].aval.shape, step.outs[0].aval.shape, strict=True)
    return next(m for m, n in shapes if m != n)


NESTING: dict[type[Kernel], Callable[[_Nesting], Call]] = {
    Alternatives: _branch,
    Lanes: _in_lanes,
    Loop: _loop,
    RepeatWhile: _repeat,
    RepeatWhileBack: _repeat_back,
}
"""The function that makes the call, by kind of kernel."""


def bodies_of(call: Call) -> set[int]:
    """Return the numbers of the programs that a call runs."""
    match call:
        case KernelCall():
            kernels = (call,)
        case SwitchCall():
            kernels = call.branches
        case WhileCall():
            kernels = (call.first, call.condition, call.body)
        case _:
            return set()
    return {number for kernel in kernels for number in kernel.bodies}


Found = tuple[loops.LoweredBody, tuple[int, ...]]


def is_small(found: Sequence[Found | None]) -> TypeGuard[Sequence[Found]]:
    return None not in found


def _sizes_of(found: Sequence[Found]) -> list[int]:
    return [size for _, sizes in found for size in sizes]


LOOP_FLOPS = 5_000_000
BLOCK_LANES = 2048  # lanes that a thread takes at once


def _straight(lowered: Lowered) -> Lowered:
    """A body of several kernels as one call, if it is small."""
    found = lowered.body() if len(lowered.calls) > 1 else None
    if found is None:
        return lowered
    body, sizes = found
    tape = lowered.plan.tape
    places = [
        Place(Buffer(kind, k), 0, c_strides(a.aval), a.aval)
        for kind, atoms in (("input", tape.inputs), ("output", tape.outputs))
        for k, a in enumerate(atoms)
    ]
    call = KernelCall(loops.Straight(body), tuple(places), sizes, 1, 0, tape.name, None)
    return lowered._replace(steps=lowered.steps[:1], calls=[call])
