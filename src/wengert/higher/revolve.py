"""``revolve``: a scan whose pullback keeps a fixed number of carries, and computes those between them again.

Forward it is a scan that keeps nothing. Its pullback goes back one iteration after the other; each time it begins from
the last carry that is kept, and on the way to the iteration it keeps further carries in places that have become free.
A table made beforehand says which (:func:`schedule`): with s places, and each iteration computed again at most r times,
it can go back over (s + r)! / (s! r!) iterations, and no schedule can do better.

Source: Griewank and Walther (2000), Algorithm 799: revolve, ACM TOMS 26, 19-45.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb
from typing import Any, Literal, NamedTuple

import numpy as np

from wengert.ad.activity import active_operands
from wengert.edit import merge_common
from wengert.higher.bodies import alive, moving_carry, pulled
from wengert.higher.loops import (
    TapeLoop,
    TapeWhile,
    batch_by,
    kept_bytes,
    scan,
    scan_cost,
    scan_type,
    scan_unrolled,
    scanned,
    tangents_by,
    while_,
)
from wengert.ops.elementwise import add, less
from wengert.ops.index import INTP, gather, scatter_set
from wengert.ops.kernels import View, whole
from wengert.ops.op import Op, named
from wengert.ops.shape import zeros
from wengert.tape import Atom, Aval, Builder, Instr, Lit, Tape, Var, building, splice, without_shows

Kept = int | Literal["binomial"] | None
"""A scan keeps for its way back: everything (None), the carries at which segments of so many iterations begin (an int),
or as many carries as there is room for ("binomial")."""
FEW_SCHEDULED = 1 << 16  # iterations of which a table is made without being asked for


def kept_within(loop: TapeLoop, budget: int) -> Kept:
    """Return what of a loop is kept within ``budget`` bytes.

    That is everything if there is room, else the carries at which segments begin, of the length that makes the bytes of
    these carries and of one segment least, else as many carries as there is room for.
    """
    each, carries = kept_bytes(loop), carried_bytes(loop)
    if loop.length * each <= budget:
        return None
    size = max(1, min(loop.length, round((loop.length * carries / each) ** 0.5)))
    fits = size * each + loop.length // size * carries <= budget
    return size if fits or 2 * carries > budget or loop.length > FEW_SCHEDULED else "binomial"


def carried_bytes(loop: TapeLoop) -> int:
    """Return the bytes that an iteration hands on."""
    return sum([a.nbytes for a in loop.body.out_avals[: loop.carries]])


class Schedule(NamedTuple):
    """How to go back over a number of iterations.

    For each iteration back, in order: ``rows`` is its number, ``places`` the place of the carry to begin with, ``ends``
    the number of advances that must have been made before it. For each advance: ``over`` is the iteration it runs, and
    ``kept`` the place at which the carry before it is kept; the place behind all others means that it is not kept."""

    rows: Any
    places: Any
    ends: Any
    over: Any
    kept: Any


@lru_cache(maxsize=256)
def schedule(length: int, slots: int, is_reversed: bool = False) -> Schedule:
    """The schedule with the fewest advances over ``length`` iterations, with places for ``slots`` carries.

    The first carry is kept from the beginning. A reversed loop counts iterations from the end. No table is empty."""
    rows, places, ends = range(length - 1, -1, -1), list[int](), list[int]()
    over, kept = list[int](), list[int]()
    known = [0]  # the iterations whose carries are kept, by place
    for row in rows:
        while known[-1] > row:
            known.pop()
        places.append(len(known) - 1)
        at = known[-1]
        while at < row:
            is_new = known[-1] != at
            if is_new:
                known.append(at)
            goal = min(at + _split(row + 1 - at, slots + 1 - len(known)), row)
            kept += [len(known) - 1 if is_new else slots, *[slots] * (goal - at - 1)]
            over += range(at, goal)
            at = goal
        ends.append(len(over))
    number = (lambda k: length - 1 - k) if is_reversed else (lambda k: k)
    tables = (map(number, rows), places, ends, map(number, over or [0]), kept or [slots])
    return Schedule(*[_frozen(list(x)) for x in tables])


def _split(length: int, slots: int) -> int:
    """The number of iterations to advance over before the next carry is kept. There are ``length`` iterations, at least
    two, and places for ``slots`` carries, of which the carry before the first iteration has one."""
    repeats = 1
    while comb(slots + repeats, slots) < length:
        repeats += 1
    return length - max(comb(slots + repeats - 2, slots - 1), length - comb(slots + repeats - 1, slots))


def _frozen(x: Sequence[int]) -> Any:
    array = np.array(x, INTP)
    array.flags.writeable = False
    return array


FIRST = len(Schedule._fields)
"""The number of the operand at which those of the scan begin; before them stand the tables of a schedule."""


@lru_cache(maxsize=1024)
def _back(loop: TapeLoop, slots: int, iterations: int, advances: int, wrt: tuple[int, ...]) -> TapeLoop:
    """The pullback as a loop over the iterations back.

    Its constants are the tables of the advances, the constants of the body, its stacks, and the cotangents of stacked
    results. Its carries are the number of advances made, the carries that are kept, sums of the cotangents of
    constants, cotangents of the carries, and of stacks. Its slices are the tables of the iterations back."""
    body, n, m = loop.body, loop.constants, loop.constants + loop.carries
    outputs = _outputs(loop, wrt)
    index = Aval((), INTP)
    of_stack = lambda a: Aval((iterations, *a.shape), a.dtype)
    over, kept = [Var(Aval((advances,), INTP)) for _ in range(2)]
    constants, stacks = [Var(v.aval) for v in body.inputs[:n]], [Var(of_stack(v.aval)) for v in body.inputs[m:]]
    ct_stacks = {k: Var(of_stack(body.outputs[k].aval)) for k in outputs if k >= loop.carries}
    fixed = (over, kept, *constants, *stacks)
    done, row, place, end = [Var(index) for _ in range(4)]
    known = [Var(Aval((slots + 1, *v.aval.shape), v.aval.dtype)) for v in body.inputs[n:m]]
    given = {k: Var(body.inputs[k].aval if k < m else of_stack(body.inputs[k].aval)) for k in wrt}
    builder = Builder()
    with building(builder):
        carries = [gather(x, place) for x in known]
        there = while_(end, *fixed, done, *known, *carries, loop=_advances(loop, slots, iterations, advances))
        done_after, after = there[0], there[1:]
        at = [*constants, *after[loop.carries :], *[gather(x, row) for x in stacks]]
        cts = [given[n + k] if k < loop.carries else gather(ct_stacks[k], row) for k in outputs]
        sums = [k for k in wrt if k < n]
        joint = pulled(body, wrt, outputs, len(sums))
        found = splice(builder, joint, [*at, *cts, *[given[k] for k in sums]], ())[len(body.outputs) :]
        results = [ct if k < m else scatter_set(given[k], ct, row) for k, ct in zip(wrt, found, strict=True)]
    tape = Tape(
        inputs=(*fixed, *ct_stacks.values(), done, *known, *given.values(), row, place, end),
        captures=(),
        instrs=builder.instrs,
        outputs=(done_after, *after[: loop.carries], *results),
    )
    counts = len(fixed) + len(ct_stacks), 1 + len(known) + len(given)
    return TapeLoop(alive(merge_common(tape)), *counts, iterations, False)


def _advances(loop: TapeLoop, slots: int, iterations: int, advances: int) -> TapeWhile:
    """The loop that advances to an iteration. Its carries are the number of advances made, the carries that are kept,
    and the carries with which the next advance begins."""
    body, n, m = without_shows(loop.body), loop.constants, loop.constants + loop.carries
    over, kept = [Var(Aval((advances,), INTP)) for _ in range(2)]
    constants = [Var(v.aval) for v in body.inputs[:n]]
    stacks = [Var(Aval((iterations, *v.aval.shape), v.aval.dtype)) for v in body.inputs[m:]]
    done, end = Var(Aval((), INTP)), Var(Aval((), INTP))
    known = [Var(Aval((slots + 1, *v.aval.shape), v.aval.dtype)) for v in body.inputs[n:m]]
    carries = [Var(v.aval) for v in body.inputs[n:m]]
    with building(Builder()) as builder:
        goes_on: Any = less(done, end)
    moving = (done, *known, *carries)
    condition = Tape(inputs=(end, *moving), captures=(), instrs=builder.instrs, outputs=(goes_on,))
    with building(Builder()) as builder:
        place, row = gather(kept, done), gather(over, done)
        written = [scatter_set(x, c, place) for x, c in zip(known, carries, strict=True)]
        at = [*constants, *carries, *[gather(x, row) for x in stacks]]
        following = splice(builder, body, at, ())[: loop.carries]
        after: Any = add(done, 1)
    inputs, outputs = (over, kept, *constants, *stacks, *moving), (after, *written, *following)
    advance = Tape(inputs=inputs, captures=(), instrs=builder.instrs, outputs=outputs)
    return TapeWhile(alive(condition), alive(advance), 1, 2 + n + len(stacks))


def _outputs(loop: TapeLoop, wrt: Sequence[int]) -> tuple[int, ...]:
    """The numbers of the body's outputs that have cotangents."""
    inexact = [k for k, a in enumerate(loop.body.outputs) if a.aval.is_inexact]
    return tuple([k for k in inexact if k >= loop.carries or loop.constants + k in wrt])


def _moving(loop: TapeLoop, wrt: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(moving_carry(loop.body, loop.constants, loop.carries, frozenset(wrt))))


def _keep(instr: Instr, active: Any) -> Instr:
    wrt = tuple([k - FIRST for k in active_operands(instr, active)])
    return instr._replace(params={**instr.params, "wrt": wrt})


def _pullback(ct: Any, *xs_y: Any, operand: int, loop: TapeLoop, slots: int, wrt: tuple[int, ...] | None) -> Any:
    table, xs = xs_y[:FIRST], xs_y[FIRST:-1]
    cts = ct if isinstance(ct, tuple) else (ct,)
    given = wrt if wrt is not None else [k for k, x in enumerate(xs) if x.aval.is_inexact]
    moving = _moving(loop, given)
    if operand - FIRST not in moving:
        return None
    n, m = loop.constants, loop.constants + loop.carries
    outputs = _outputs(loop, moving)
    back = _back(loop, slots, loop.length, table[Schedule._fields.index("over")].aval.shape[0], moving)
    known = []
    for x in xs[n:m]:
        room = zeros(Aval((slots + 1, *x.aval.shape), x.aval.dtype))
        known.append(scatter_set(room, x, Lit(0, INTP)))
    begin = [cts[k - n] if n <= k < m else zeros(xs[k].aval) for k in moving]
    constants = [table[3], table[4], *xs[:n], *xs[m:], *[cts[k] for k in outputs if k >= loop.carries]]
    results: Any = scan(*constants, Lit(0, INTP), *known, *begin, *table[:3], loop=back, pull=None)
    return results[1 + loop.carries + moving.index(operand - FIRST)]


def _pushforward(xs: Any, dxs: Any, y: Any, *, loop: TapeLoop, slots: int, wrt: Any) -> Any:
    again = lambda operands, wide: revolve(*xs[:FIRST], *operands, loop=wide, slots=slots, wrt=None)
    return tangents_by(again, xs[FIRST:], dxs[FIRST:], loop)


def _batch(xs: Sequence[Atom], flags: Sequence[bool], size: int, *, loop: TapeLoop, slots: int, wrt: Any) -> Any:
    again = lambda operands, wide: revolve(*xs[:FIRST], *operands, loop=wide, slots=slots, wrt=None)
    return batch_by(again, xs[FIRST:], flags[FIRST:], size, loop)


revolve = named(
    Op(  # a schedule, constants, carries, stacks -> as scan
        name="revolve",
        reference=lambda *operands, loop, slots, wrt: scanned(*operands[FIRST:], loop=loop),
        type=lambda *avals, loop, slots, wrt: scan_type(*avals[FIRST:], loop=loop),
        kernel=View(whole),
        cost=lambda *avals, loop, slots, wrt: scan_cost(*avals, loop=loop),
        pushforward=_pushforward,
        pullback=(_pullback,),
        batch=_batch,
        keep=_keep,
        kept_in="wrt",
        expansion=lambda *operands, loop, slots, wrt: scan(*operands[FIRST:], loop=loop, pull=None),
        unrolled=lambda run, look, *operands, loop, slots, wrt: scan_unrolled(run, look, *operands[FIRST:], loop=loop),
        is_variadic=True,
    )
)
