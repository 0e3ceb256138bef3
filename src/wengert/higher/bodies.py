"""Tapes as parameters of ops: the bodies of branches and loops, and their derivatives and batches.

A body has no captured arrays: values that it reads from outside are operands of its op. So its structure says all about
it but its lines, and bodies of one structure and the same lines are one object here (:func:`interned`): instructions
with equal bodies are equal, and each derivative or batch of a body is made once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from wengert.ad.activity import dependent
from wengert.ad.cotangents import add, densify
from wengert.ad.forward import jvp
from wengert.ad.reverse import cotangents
from wengert.batching import batch
from wengert.edit import merge_common
from wengert.errors import StructureError, message
from wengert.locks import lock
from wengert.ops.control import only_where
from wengert.ops.shape import expand
from wengert.tape import Atom, Builder, Instr, Lit, Tape, Var, building, has_effects, structure, without_shows

MOST_BODIES = 10_000

CAPTURED = message(
    "a rule of a wg.primitive within the body of a loop, a branch or a checkpoint reads an array around itself",
    tries=["the array as an argument of the primitive", "numbers"],
)

_known: OrderedDict[Any, Tape] = OrderedDict()
_lock = lock()


def interned(body: Tape) -> Tape:
    """The tape of this structure and these lines that was seen first, in place of ``body``.

    The lines matter because errors and reports name them.

    Raises StructureError if it has captured arrays: a rule written in NumPy may have read one.
    """
    if body.captures:
        raise StructureError(CAPTURED)
    key = (structure(body), tuple([None if i.source is None else i.source[:2] for i in body.instrs]))
    with _lock:
        known = _known.setdefault(key, body)
        _known.move_to_end(key)
        while len(_known) > MOST_BODIES:
            _known.popitem(last=False)
    return known


def needed_steps(instrs: Sequence[Instr], outputs: Sequence[Atom]) -> list[Instr]:
    """The steps that the outputs need, those with effects, and those that these need."""
    needed, kept = set(outputs), list[Instr]()
    for i in reversed(instrs):
        if has_effects(i) or not needed.isdisjoint(i.outs):
            needed.update(i.ins)
            kept.append(i)
    return kept[::-1]


def alive(body: Tape) -> Tape:
    """Return ``body`` without the steps that its outputs do not need."""
    body = body.replace(instrs=tuple(needed_steps(body.instrs, body.outputs)))
    return interned(body.replace(in_tree=None, out_tree=None, in_static=(), metadata={}))


def steps_of_constants(body: Tape, count: int) -> list[Instr]:
    """The steps that depend on nothing but the first ``count`` inputs, without those that depend on nothing at all."""
    known: set[Atom] = set(body.inputs[:count])
    steps = []
    for i in body.instrs:
        is_known = all(type(a) is Lit or a in known for a in i.ins) and any(type(a) is Var for a in i.ins)
        if is_known and not has_effects(i) and i.op.is_stable:
            known.update(i.outs)
            steps.append(i)
    return steps


def unasked(body: Tape) -> Tape:
    """Return ``body`` without the notes of what each step shall keep for its pullback.

    A derivative taken inside of the body left those notes. The derivative that is taken of the body now differentiates
    its steps as well, so it may need more operands' pullbacks than were noted."""
    if not any(i.op.kept_in and i.params[i.op.kept_in] is not None for i in body.instrs):
        return body
    fresh = [i if i.op.kept_in is None else i._replace(params={**i.params, i.op.kept_in: None}) for i in body.instrs]
    return body.replace(instrs=tuple(fresh))


def select_outputs(body: Tape, which: Sequence[int]) -> Tape:
    return alive(body.replace(outputs=tuple([body.outputs[k] for k in which])))


def moving_carry(body: Tape, first: int, count: int, active: frozenset[int]) -> frozenset[int]:
    """Return the inputs of a body that move if those numbered ``active`` do: these, and each carry that moves after
    some iterations. The carries are ``count`` inputs from number ``first`` on, and the first ``count`` outputs."""
    while True:
        moved = dependent(body, [body.inputs[k] for k in active])
        carried = {first + k for k in range(count) if body.outputs[k] in moved}
        if carried <= active:
            return active
        active = active | carried


@lru_cache(maxsize=4096)
def pushed(body: Tape, wrt: tuple[int, ...], outputs: tuple[int, ...]) -> Tape:
    """Return the tape with the outputs of ``body`` and, behind them, the tangents of those numbered ``outputs``. It
    takes the inputs of ``body`` and, behind them, the tangents of those numbered ``wrt``.

    It runs the steps of the body beside the body itself, and so it shows nothing to people."""
    return alive(jvp(without_shows(body), wrt, outputs))


@lru_cache(maxsize=4096)
def pulled(body: Tape, wrt: tuple[int, ...], outputs: tuple[int, ...], sums: int = 0) -> Tape:
    """Return the tape with the outputs of ``body`` and, behind them, the cotangents of the inputs numbered ``wrt``. It
    takes the inputs of ``body`` and, behind them, the cotangents of the outputs numbered ``outputs``. It runs the steps
    of the body once more, and so these show nothing to people.

    ``sums``: this many further inputs stand behind all others, and are added to the first ``sums`` cotangents. The sum
    is made in place, and touches only the elements that the body has read.
    """
    return both_ways(without_shows(body), wrt, outputs, sums)


@lru_cache(maxsize=4096)
def both_ways(body: Tape, wrt: tuple[int, ...], outputs: tuple[int, ...], sums: int) -> Tape:
    """Return the tape of :func:`pulled`, in which the steps of the body show what they show."""
    body = unasked(body)
    wrt_vars = [body.inputs[k] for k in wrt]
    builder = Builder(start=body.instrs)
    seeds = [Var(body.outputs[k].aval) for k in outputs]
    given = [Var(v.aval) for v in wrt_vars[:sums]]
    with building(builder):
        found = cotangents(body, wrt_vars, [body.outputs[k] for k in outputs], list(seeds))
        totals = [*given, *[None] * (len(wrt) - sums)]
        results: list[Atom] = [
            densify(ct if total is None else add(total, ct, v.aval), v.aval)
            for ct, total, v in zip(found, totals, wrt_vars, strict=True)
        ]
    inputs = (*body.inputs, *seeds, *given)
    # A step of several operands is pulled back once for each of them, by steps that are equal. If they were not merged,
    # each derivative of each enclosing body would have several of each.
    every_output = (*body.outputs, *results)
    joint = body.replace(inputs=inputs, instrs=builder.instrs, outputs=every_output, captures=tuple(builder.captures))
    return interned(merge_common(joint) if not joint.captures else joint)


@lru_cache(maxsize=4096)
def batched(body: Tape, flags: tuple[bool, ...], size: int) -> Tape:
    """Return ``body`` mapped over a leading axis of the inputs that ``flags`` marks, and of every output."""
    return alive(batch(body, flags, size))


def over_examples(mask: Atom, x: Atom) -> Any:
    """A mask with a number for each example, to broadcast over ``x``, which has an array for each."""
    return expand(mask, list(range(1, x.aval.ndim)), x.aval.ndim)


def for_some(mask: Atom, xs: Sequence[Atom], flags: Sequence[bool]) -> list[Any]:
    """The operands of a batched body that is run for all examples and counts for some; ``flags`` say which of the
    operands have one of each example. Then no NaN of the other examples leaves the pullback of the body."""
    return [only_where(x, over_examples(mask, x)) if flag else x for x, flag in zip(xs, flags, strict=True)]
