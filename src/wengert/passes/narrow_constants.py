"""Narrow constants: where a loop writes over all of a constant but a border, it is given the border alone.

``dy = np.zeros(n); dy[0] = x[0]; dy[1:] = x[1:] * y[:-1]`` within a loop begins each iteration with the same array, of
which one element stays. The derivative would carry a cotangent of the whole array through all iterations, to which each
adds zeros. So the border is taken before the loop, and joined in each iteration to what is written. Linear.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.edit import merge_common
from wengert.higher.bodies import alive
from wengert.higher.loops import scan
from wengert.ops.index import set_slice, slice_
from wengert.ops.shape import concatenate
from wengert.tape import Atom, Aval, Builder, Instr, Tape, Var, building, key_of

Index = tuple[tuple[int, int, int], ...]


class Border(NamedTuple):
    """The part of an array that stays, along one axis."""

    axis: int
    index: Index
    is_first: bool


def narrow_constants(tape: Tape) -> Tape:
    """Give scans the borders of those constants of which they read no more; equal constants are one."""
    if not any(instr.op is scan for instr in tape.instrs):
        return tape
    merged, builder = merge_common(tape), Builder()
    with building(builder):
        for instr in merged.instrs:
            builder.append(_narrowed(instr) if instr.op is scan and instr.params["pull"] is None else instr)
    return merged.replace(instrs=builder.instrs)


def _narrowed(instr: Instr) -> Instr:
    loop = instr.params["loop"]
    body: Tape = loop.body
    names: dict[Atom, Atom] = {}
    first: dict[object, Var] = {}
    constants: list[tuple[Var, Atom]] = []
    for v, a in zip(body.inputs[: loop.constants], instr.ins[: loop.constants], strict=True):
        known = first.setdefault(key_of(a), v)
        if known is v:
            constants.append((v, a))
        else:
            names[v] = known
    steps = [i._replace(ins=tuple([names.get(a, a) for a in i.ins])) for i in body.instrs]
    outputs = tuple([names.get(a, a) for a in body.outputs])
    given: list[tuple[Var, Atom]] = []
    for v, a in constants:
        border = _border(v, steps, outputs)
        if border is None:
            given.append((v, a))
            continue
        part = slice_(a, index=border.index)
        inner = Var(Aval(part.aval.shape, part.aval.dtype))
        given.append((inner, part))
        for k, step in enumerate(steps):
            if step.ins and step.ins[0] is v:
                joined = (inner, step.ins[1]) if border.is_first else (step.ins[1], inner)
                steps[k] = Instr(concatenate, joined, step.outs, {"axis": border.axis}, step.source)
    if len(given) == loop.constants and all(a is b for (_, a), b in zip(given, instr.ins, strict=False)):
        return instr
    inputs = (*[v for v, _ in given], *body.inputs[loop.constants :])
    new = alive(body.replace(inputs=inputs, instrs=tuple(steps), outputs=outputs))
    ins = (*[a for _, a in given], *instr.ins[loop.constants :])
    return instr._replace(ins=ins, params={**instr.params, "loop": loop._replace(body=new, constants=len(given))})


def _border(v: Var, steps: list[Instr], outputs: tuple[Atom, ...]) -> Border | None:
    """Return what the steps read of ``v``, if each writes over the same region of it and leaves a border."""
    reads = [i for i in steps if v in i.ins]
    if not reads or v in outputs:
        return None
    if any(i.op is not set_slice or i.ins[0] is not v or i.ins[1] is v for i in reads):
        return None
    index, whole = reads[0].params["index"], v.aval.shape
    if any(i.params["index"] != index for i in reads):
        return None
    if not all(type(part) is tuple and part[2] == 1 for part in index):
        return None
    if any(i.ins[1].aval.shape != tuple([n for _, n, _ in index]) for i in reads):
        return None
    cut = [axis for axis, (part, n) in enumerate(zip(index, whole, strict=True)) if part[1] != n]
    if len(cut) != 1:
        return None
    (axis,) = cut
    begin, count, _ = index[axis]
    left = whole[axis] - count
    if left > count or begin not in (0, left):
        return None
    parts = [(0, n, 1) for n in whole]
    parts[axis] = (0, left, 1) if begin else (count, left, 1)
    return Border(axis, tuple(parts), begin > 0)
