"""How each kind of kernel is planned: one function a kind, in the table :data:`PLANNING`.

What is not in the table reads and writes places of any strides, and is planned by ``Planner.run_step``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wengert.ops.kernels import (
    Alternatives,
    Check,
    Contract,
    Embed,
    Interleave,
    Join,
    Kernel,
    Layout,
    Loop,
    Reduce,
    Region,
    RepeatWhile,
    RepeatWhileBack,
    Routine,
    Scatter,
    Sort,
    View,
    Write,
    of_nothing,
)
from wengert.passes.plan.instructions import first_carry, parts_of
from wengert.passes.plan.places import Place, is_there
from wengert.tape import Instr, Lit

if TYPE_CHECKING:
    from wengert.passes.plan.planner import Planner


def plan_view(planner: Planner, instr: Instr, kernel: View) -> None:
    """A view is another place in the operand's memory, and no step."""
    (a,), (v,), params = instr.ins, instr.outs, instr.params
    place = planner.of(a)
    region = kernel.layout(place.aval.shape, place.strides, **params)
    if region is None:  # a reshape that no strides can say
        place = planner.contiguous(place)
        region = kernel.layout(place.aval.shape, place.strides, **params)
        assert region is not None
    planner.put(v, place.region(region, v.aval.dtype))


def plan_check(planner: Planner, instr: Instr, kernel: Check) -> None:
    """The runtime reads what a guard looks at in C order."""
    planner.step("run", instr, [planner.contiguous(planner.of(instr.ins[0]))], [])


def plan_joining(planner: Planner, instr: Instr, kernel: Join | Interleave) -> None:
    """Each operand that has not been made in its part of the result is copied there."""
    goal = planner.destination(instr.outs[0])
    for a, part in zip(instr.ins, parts_of(goal, instr), strict=True):
        if a.aval.size and not is_there(planner.of(a), part):
            planner.step("copy", None, [planner.of(a)], [part])


def plan_write(planner: Planner, instr: Instr, kernel: Write) -> None:
    """Operand 1 is copied, or added, over a region of operand 0."""
    part = _part(planner.write_over(instr), kernel.layout, instr)
    if part.aval.size:
        given = planner.apart(planner.of(instr.ins[1]), part)
        planner.step("add" if kernel.combine == "add" else "copy", None, [given], [part])


def plan_embed(planner: Planner, instr: Instr, kernel: Embed) -> None:
    """The result is filled with zeros, and operand 0 copied into its region."""
    goal = planner.destination(instr.outs[0])
    part = _part(goal, kernel.layout, instr)
    if part.aval.size < goal.aval.size:
        planner.step("copy", None, [planner.of(Lit(0, goal.aval.dtype))], [goal])
    if part.aval.size:
        planner.step("copy", None, [planner.of(instr.ins[0])], [part])


def plan_scatter(planner: Planner, instr: Instr, kernel: Scatter) -> None:
    """The kernel writes over operand 0, or a copy of it; what it reads lies apart from there."""
    if instr.outs[0].aval.size == 0:
        planner.run_step(instr)  # it moves nothing, but checks the indices
        return
    goal = planner.write_over(instr)
    planner.step("run", instr, [goal, *[planner.apart(planner.of(a), goal) for a in instr.ins[1:]]], [goal])


def plan_reduction(planner: Planner, instr: Instr, kernel: Reduce) -> None:
    """A reduction of no elements is a copy of the number that it gives."""
    (v,) = instr.outs
    if instr.ins[0].aval.size == 0:
        nothing = Lit(of_nothing(kernel.combine, v.aval.dtype), v.aval.dtype)
        planner.step("copy", None, [planner.of(nothing)], [planner.destination(v)])
    else:
        planner.run_step(instr)


def plan_contraction(planner: Planner, instr: Instr, kernel: Contract) -> None:
    """A contraction over no elements is zero."""
    if any(a.aval.size == 0 for a in instr.ins):
        (v,) = instr.outs
        planner.step("copy", None, [planner.of(Lit(0, v.aval.dtype))], [planner.destination(v)])
    else:
        planner.run_step(instr)


def plan_call(planner: Planner, instr: Instr, kernel: Routine) -> None:
    """A routine takes matrices in C order, and room to work in."""
    nbytes: int | None = None
    if kernel.is_of_complex:
        nbytes = 2 * instr.ins[0].aval.shape[-1] * instr.outs[0].aval.dtype.itemsize  # one row
    elif kernel.needs_room:
        first = instr.ins[0].aval
        matrices = [a.aval.shape[-2:] for a in (*instr.ins, *instr.outs) if a.aval.ndim >= first.ndim]
        elements = sum([n * m for n, m in matrices]) + kernel.further_rows * (first.shape[-1] + 1)
        nbytes = elements * first.dtype.itemsize + 4 * first.shape[-1]
    _run_in_c_order(planner, instr, nbytes)


def plan_sort(planner: Planner, instr: Instr, kernel: Sort) -> None:
    """A row is sorted in C order; that of places works in room for its keys and their places, twice."""
    x = instr.ins[0].aval
    nbytes = None if kernel.what == "values" else 4 * x.dtype.itemsize * x.shape[instr.params["axis"]]
    _run_in_c_order(planner, instr, nbytes)


def plan_bodies(planner: Planner, instr: Instr, kernel: Loop | RepeatWhileBack | Alternatives) -> None:
    """Bodies take operands in C order; results are written before all is read."""
    _run_bodies(planner, instr, None)


def plan_repeat(planner: Planner, instr: Instr, kernel: RepeatWhile) -> None:
    """A loop of any count has room for whether it goes on."""
    _run_bodies(planner, instr, planner.room(1, bool))


def _run_bodies(planner: Planner, instr: Instr, work: Place | None) -> None:
    given = [planner.contiguous(planner.of(a)) for a in instr.ins]
    made = [_carried(planner, instr, k, given) for k in range(len(instr.outs))]
    planner.step("run", instr, given, made, work)


def _carried(planner: Planner, instr: Instr, k: int, given: Sequence[Place]) -> Place:
    """Return the place of result number ``k`` of a loop: that of its first value, if this is a carry that dies here."""
    v, operand = instr.outs[k], first_carry(instr, k)
    if operand is not None and v not in planner.wanted:
        place = given[operand]
        is_alone = all(p.buffer is not place.buffer for j, p in enumerate(given) if j != operand)
        if place.buffer.kind == "arena" and place.buffer.last <= planner.now and is_alone:
            return planner.put(v, place)
    return planner.destination(v)


def _run_in_c_order(planner: Planner, instr: Instr, nbytes: int | None) -> None:
    """Plan an instruction with operands in C order, results where they are wanted, and so many bytes to work in."""
    given = [planner.contiguous(planner.of(a)) for a in instr.ins]
    made = [planner.destination(v) for v in instr.outs]
    planner.step("run", instr, given, made, None if nbytes is None else planner.room(nbytes))


def _part(goal: Place, layout: Layout, instr: Instr) -> Place:
    """The region of a place that an instruction writes."""
    region: Region | None = layout(goal.aval.shape, goal.strides, **instr.params)
    assert region is not None
    return goal.region(region, goal.aval.dtype)


PLANNING: dict[type[Kernel], Callable[[Planner, Instr, Any], None]] = {
    View: plan_view,
    Check: plan_check,
    Join: plan_joining,
    Interleave: plan_joining,
    Write: plan_write,
    Embed: plan_embed,
    Scatter: plan_scatter,
    Reduce: plan_reduction,
    Contract: plan_contraction,
    Routine: plan_call,
    Sort: plan_sort,
    Loop: plan_bodies,
    RepeatWhile: plan_repeat,
    RepeatWhileBack: plan_bodies,
    Alternatives: plan_bodies,
}
