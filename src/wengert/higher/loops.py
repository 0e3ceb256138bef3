"""Loops as single steps: ``scan``, with a number of iterations that is known, and ``while_``, with one that is not.

A body is a tape (see :mod:`wengert.higher.bodies`); each carry has the same type in all iterations.

* Tangents are carried beside their primals.
* The pullback of a scan is a scan that runs the other way. It reads residuals of the forward iterations, which the
  forward scan stacks when reverse mode asks for them (:func:`keep`): a value that the body computes is stored once an
  iteration, one that is the same in all iterations is not stored. Cotangents of constants are summed in place.
* The pullback of a while loop, ``while_pull``, runs the loop again and keeps the carries on a stack of its own, which
  grows since the number of iterations is unknown. Its derivatives are loops of the same kinds, by
  ⟨u, ∂(F'(x)ᵀ c)/∂x⟩ = ∂⟨c, F'(x) u⟩/∂x.

Source: Griewank and Walther (2008), Evaluating Derivatives, chapters 3 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert.ad.activity import active_operands
from wengert.edit import played
from wengert.higher.bodies import (
    alive,
    batched,
    both_ways,
    for_some,
    interned,
    moving_carry,
    over_examples,
    pulled,
    pushed,
    select_outputs,
)
from wengert.ops.control import Expected, guard
from wengert.ops.elementwise import select
from wengert.ops.index import element, join
from wengert.ops.kernels import Loop, RepeatWhile, RepeatWhileBack
from wengert.ops.op import Body, Op, front, named
from wengert.ops.reduce import any_
from wengert.ops.shape import broadcast_to, transpose, zeros
from wengert.tape import (
    Atom,
    Aval,
    Builder,
    Instr,
    Lit,
    Tape,
    Var,
    building,
    current_builder,
    has_effects,
    splice,
    without_shows,
)


class TapeLoop(NamedTuple):
    """The parameters of a scan: its body takes constants, carries and a slice of each stack, and gives carries and
    slices; ``length`` is the number of iterations."""

    body: Tape
    constants: int
    carries: int
    length: int
    is_reversed: bool
    settled: tuple[int, ...] = ()
    """Carries of which the body reads slices alone, and of these only elements that this iteration and those after it
    do not write; other elements are masked as soon as they are read. So the last value says what was read."""

    @property
    def stacks(self) -> int:
        """The number of inputs that are sliced."""
        return len(self.body.inputs) - self.constants - self.carries


def scan_cost(*avals: Aval, loop: TapeLoop, **params: Any) -> float:
    return loop.length * _cost_of(loop.body)


def _cost_of(body: Tape) -> float:
    return float(sum([i.op.cost(*[a.aval for a in i.ins], **i.params) for i in body.instrs]))


# ------------------------------------------------------------------------------------------------------------- scan


def scan_type(*avals: Aval, loop: TapeLoop, pull: Any = None) -> tuple[Aval, ...]:
    outs = loop.body.out_avals
    stacked = [Aval((loop.length, *a.shape), a.dtype) for a in outs[loop.carries :]]
    return (*outs[: loop.carries], *stacked)


def scanned(*operands: Any, loop: TapeLoop, pull: Any = None) -> Any:
    body, n, first = loop.body, loop.constants, loop.constants + loop.carries
    constants, carry, stacks = operands[:n], list(operands[n:first]), operands[first:]
    made = [np.empty((loop.length, *a.shape), a.dtype) for a in body.out_avals[loop.carries :]]
    for step in range(loop.length):
        k = loop.length - 1 - step if loop.is_reversed else step
        values = played(body, *constants, *carry, *[x[k] for x in stacks])
        results = [values[a] for a in body.outputs]
        carry = results[: loop.carries]
        for y, part in zip(made, results[loop.carries :], strict=True):
            y[k] = part
    results = (*[np.array(c) for c in carry], *made)
    return results if len(results) != 1 else results[0]


Run = Callable[[Sequence[Atom], TapeLoop], Any]
"""``run(operands, loop)`` records the op whose rule is being applied once more, for another loop."""


def _again(operands: Sequence[Atom], loop: TapeLoop) -> Any:
    return scan(*operands, loop=loop, pull=None)


def _scan_pushforward(xs: Any, dxs: Any, y: Any, *, loop: TapeLoop, pull: Any) -> Any:
    return tangents_by(_again, xs, dxs, loop)


def tangents_by(run: Run, xs: Any, dxs: Any, loop: TapeLoop) -> Any:
    """The tangents of the results, by a loop that carries tangents beside the primals."""
    body, n, first = loop.body, loop.constants, loop.constants + loop.carries
    given = frozenset(k for k, dx in enumerate(dxs) if dx is not None)
    wrt = tuple(sorted(moving_carry(body, n, loop.carries, given)))
    outputs = [k for k, a in enumerate(body.outputs) if a.aval.is_inexact]
    outputs = [k for k in outputs if k >= loop.carries or n + k in wrt]
    joint = pushed(body, wrt, tuple(outputs))
    # inputs: constants, carries, slices, tangents of each in the order of wrt; outputs likewise
    m = len(body.inputs)
    kinds = [range(n), range(n, first), range(first, m)]
    tangent = {k: m + i for i, k in enumerate(wrt)}
    ins = [j for kind in kinds for j in (*kind, *[tangent[k] for k in kind if k in tangent])]
    position = {k: len(body.outputs) + i for i, k in enumerate(outputs)}
    out_kinds = [range(loop.carries), range(loop.carries, len(body.outputs))]
    outs = [j for kind in out_kinds for j in (*kind, *[position[k] for k in kind if k in position])]
    both = interned(
        joint.replace(inputs=tuple([joint.inputs[j] for j in ins]), outputs=tuple([joint.outputs[j] for j in outs]))
    )
    operands = [xs[j] if j < m else _tangent(xs, dxs, wrt[j - m]) for j in ins]
    counts = [sum(1 for k in wrt if k in kind) for kind in kinds[:2]]
    wide = TapeLoop(both, n + counts[0], loop.carries + counts[1], loop.length, loop.is_reversed)
    results = _several(run(operands, wide))
    at = {j: i for i, j in enumerate(outs)}
    tangents = [results[at[position[k]]] if k in position else None for k in range(len(body.outputs))]
    return tangents if len(tangents) > 1 else tangents[0]


def _tangent(xs: Any, dxs: Any, k: int) -> Atom:
    return dxs[k] if dxs[k] is not None else zeros(xs[k].aval)


def _several(results: Any) -> Any:
    return results if isinstance(results, tuple) else (results,)


@dataclass(frozen=True, repr=False)
class Pull:
    """How a scan is pulled back: the operands and outputs that have cotangents, the loop, and what it reads."""

    wrt: tuple[int, ...]
    outputs: tuple[int, ...]
    loop: TapeLoop
    constants: tuple[int, ...]
    """The values that the loop reads whole, as constants: operands of the scan by number, then, from the number of
    operands on, outputs of the forward scan."""
    stacks: tuple[int, ...]
    """The stacks that the loop slices, by numbers as those of ``constants``."""

    def __repr__(self) -> str:
        return f"<of operands {self.wrt}>"


def keep(instr: Instr, active: Any) -> Instr:
    """Return the scan with further outputs: the residuals of each iteration that its pullback reads."""
    loop: TapeLoop = instr.params["loop"]
    given = frozenset(active_operands(instr, active))
    wide, pull = _kept(loop, given)
    more = [Var(Aval((loop.length, *a.aval.shape), a.aval.dtype)) for a in wide.body.outputs[len(loop.body.outputs) :]]
    return instr._replace(outs=(*instr.outs, *more), params={"loop": wide, "pull": pull})


@lru_cache(maxsize=4096)
def _kept(loop: TapeLoop, given: frozenset[int]) -> tuple[TapeLoop, Pull]:
    body, n, first = loop.body, loop.constants, loop.constants + loop.carries
    wrt = tuple(sorted(moving_carry(body, n, loop.carries, given)))
    outputs = [k for k, a in enumerate(body.outputs) if a.aval.is_inexact]
    outputs = tuple([k for k in outputs if k >= loop.carries or n + k in wrt])
    sums = sum(1 for k in wrt if k < n)
    joint = both_ways(body, wrt, outputs, sums)
    m, n_outs = len(body.inputs), len(body.outputs)
    taken = joint.inputs[:m]  # not the body's own inputs if the joint tape was made for an equal body
    seeds, totals = joint.inputs[m : m + len(outputs)], joint.inputs[m + len(outputs) :]
    late: set[Atom] = {*seeds, *totals}
    forward: list[Instr] = []
    backward: list[Instr] = []
    for i in joint.instrs:
        if late.isdisjoint(i.ins):
            forward.append(i)
        else:
            late.update(i.outs)
            backward.append(i)
    results = joint.outputs[n_outs:]
    read = dict.fromkeys(a for atoms in (*[i.ins for i in backward], results) for a in atoms if type(a) is Var)
    number: dict[Atom, int] = {v: k for k, v in enumerate(taken)}
    again, residuals = _recomputed(forward, [a for a in read if a not in late], taken, loop)
    settled = {taken[n + k]: m + k for k in loop.settled}
    constants = [v for v in residuals if number.get(v, m) < n or v in settled]
    slices = [v for v in residuals if first <= number.get(v, -1) < m]
    computed = [v for v in residuals if v not in constants and v not in slices]
    kept = (*joint.outputs[:n_outs], *computed)
    wide_body = alive(joint.replace(inputs=taken, instrs=tuple(forward), outputs=kept))
    wide = loop._replace(body=wide_body)
    # inputs: constants; totals and cotangents of carries; slices of residuals and of cotangents
    fresh: dict[Atom, Var] = {v: Var(v.aval) for v in (*residuals, *[v for i in again for v in i.outs])}
    repeated = joint.replace(instrs=tuple([i._replace(outs=tuple([fresh[v] for v in i.outs])) for i in again]))
    quiet = without_shows(repeated).instrs
    carried = [seed for seed, k in zip(seeds, outputs, strict=True) if k < loop.carries]
    sliced = [seed for seed, k in zip(seeds, outputs, strict=True) if k >= loop.carries]
    inputs = (
        *[fresh[v] for v in constants],
        *totals,
        *carried,
        *[fresh[v] for v in (*slices, *computed)],
        *sliced,
    )
    of_carries = [fresh.get(a, a) for a, k in zip(results, wrt, strict=True) if k < first]
    of_slices = [fresh.get(a, a) for a, k in zip(results, wrt, strict=True) if k >= first]
    back = joint.replace(
        inputs=inputs,
        instrs=tuple([i._replace(ins=tuple([fresh.get(a, a) for a in i.ins])) for i in (*quiet, *backward)]),
        outputs=(*of_carries, *of_slices),
    )
    back_loop = TapeLoop(interned(back), len(constants), len(of_carries), loop.length, not loop.is_reversed)
    stacks = (*[number[v] for v in slices], *[m + n_outs + k for k in range(len(computed))])
    return wide, Pull(wrt, outputs, back_loop, tuple([settled.get(v, number[v]) for v in constants]), stacks)


def kept_bytes(loop: TapeLoop) -> int:
    """The bytes of residuals that one iteration stores for the pullback if every inexact input moves."""
    moving = frozenset(k for k, v in enumerate(loop.body.inputs) if v.aval.is_inexact)
    if not moving or not any(a.aval.is_inexact for a in loop.body.outputs):
        return 0
    wide, _ = _kept(loop, moving)
    return sum([a.aval.nbytes for a in wide.body.outputs[len(loop.body.outputs) :]])


def _recomputed(
    forward: list[Instr], read: list[Var], taken: Sequence[Var], loop: TapeLoop
) -> tuple[list[Instr], list[Var]]:
    """Choose the forward steps that the pullback computes again, in their order, and the values it reads as they are.

    ``forward`` are the steps of the body, ``taken`` its inputs, ``read`` the values that the pullback needs. A value
    that is the same in every iteration is computed again, never stored, and so is one that is read from what the
    pullback has anyway. Where that stores fewer bytes, results of cheap steps are computed again as well, from the
    operands of those steps."""
    maker = {v: k for k, i in enumerate(forward) for v in i.outs}
    constant: set[Atom] = set(taken[: loop.constants])
    for i in forward:
        if all(type(a) is Lit or a in constant for a in i.ins) and not has_effects(i):
            constant.update(i.outs)
    first = loop.constants + loop.carries
    free = {*constant, *taken[first:]}
    settled = [taken[loop.constants + k] for k in loop.settled]
    free.update([v for v in settled if v not in read])
    again: set[Atom] = set(constant)
    """The values that are computed again whatever they cost."""
    for i in forward:
        if i.op.kernel.only_reads and all(type(a) is Lit or a in free or a in again for a in i.ins):
            again.update(i.outs)

    def roots(may_repeat: Callable[[Var], bool]) -> tuple[list[Instr], list[Var]]:
        steps: set[int] = set()
        kept: dict[Var, None] = {}
        todo = list(read)
        while todo:
            v = todo.pop()
            if v not in maker or not may_repeat(v):
                kept[v] = None
            elif maker[v] not in steps:
                steps.add(maker[v])
                todo += [a for a in forward[maker[v]].ins if type(a) is Var]
        return [forward[k] for k in sorted(steps)], sorted(
            kept, key=lambda v: (maker.get(v, -1), taken.index(v) if v in taken else 0)
        )

    def stored(kept: list[Var]) -> int:
        return sum([v.aval.nbytes for v in kept if v not in free])

    fewest = roots(lambda v: v in again)
    cheap = roots(lambda v: v in again or _is_cheap(forward[maker[v]]))
    return cheap if stored(cheap[1]) <= stored(fewest[1]) else fewest


CHEAP = 4.0
"""Flops an element up to which a step is computed again rather than stored and read: products, comparisons,
selections."""


def _is_cheap(i: Instr) -> bool:
    return i.op.is_elementwise and i.op.cost(*[a.aval for a in i.ins], **i.params) <= CHEAP * i.outs[0].aval.size


def _scan_pullback(ct: Any, *xs_y: Any, operand: int, loop: TapeLoop, pull: Pull | None) -> Any:
    xs, y = xs_y[:-1], _several(xs_y[-1])
    cts = _several(ct)
    if pull is None:  # the forward scan was not asked to keep residuals
        wide, pull = _kept(loop, frozenset(k for k, x in enumerate(xs) if x.aval.is_inexact))
        y = _several(scan(*xs, loop=wide._replace(body=without_shows(wide.body)), pull=None))
    known = {k: cts[k] for k in pull.outputs}
    values = (*xs, *y)
    carried = [known[k] for k in pull.outputs if k < loop.carries]
    totals = [zeros(xs[k].aval) for k in pull.wrt if k < loop.constants]
    results = _several(
        scan(
            *[values[k] for k in pull.constants],
            *totals,
            *carried,
            *[values[k] for k in pull.stacks],
            *[known[k] for k in pull.outputs if k >= loop.carries],
            loop=pull.loop,
            pull=None,
        )
    )
    return results[pull.wrt.index(operand)] if operand in pull.wrt else None


def _scan_batch(xs: Sequence[Atom], flags: Sequence[bool], size: int, *, loop: TapeLoop, pull: Any) -> Any:
    return batch_by(_again, xs, flags, size, loop)


def batch_by(run: Run, xs: Sequence[Atom], flags: Sequence[bool], size: int, loop: TapeLoop) -> Any:
    """The results for a batch of examples, by one loop whose body is batched."""
    n, first = loop.constants, loop.constants + loop.carries
    marked = (*flags[:n], *[True] * loop.carries, *flags[first:])
    body = batched(loop.body, marked, size)
    operands = [
        *xs[:n],
        *[front(x, b, size) for x, b in zip(xs[n:first], flags[n:first], strict=True)],
        *[_swapped(x) if b else x for x, b in zip(xs[first:], flags[first:], strict=True)],
    ]
    results = _several(run(operands, loop._replace(body=body)))
    return (*results[: loop.carries], *[_swapped(y) for y in results[loop.carries :]])


def one_by_one(op: Op, params: dict[str, Any], xs: Sequence[Atom], flags: Sequence[bool], size: int) -> Any:
    """Apply an op to one example after another, by a scan over the operands that ``flags`` marks."""
    constants = [k for k, is_batched in enumerate(flags) if not is_batched]
    stacks = [k for k, is_batched in enumerate(flags) if is_batched]
    inputs = {k: Var(Aval(xs[k].aval.shape[1:], xs[k].aval.dtype) if flags[k] else xs[k].aval) for k in range(len(xs))}
    builder = Builder()
    with building(builder):
        results = op(*[inputs[k] for k in range(len(xs))], **params)
    body = Tape(
        inputs=tuple([inputs[k] for k in (*constants, *stacks)]),
        captures=(),
        instrs=builder.instrs,
        outputs=tuple(_several(results)),
    )
    loop = TapeLoop(alive(body), len(constants), 0, size, False)
    return scan(*[xs[k] for k in (*constants, *stacks)], loop=loop, pull=None)


def _swapped(x: Atom) -> Any:
    """Exchange the first two axes: the batch is the first axis outside of a loop, the iterations inside."""
    return transpose(x, axes=(1, 0, *range(2, x.aval.ndim)))


def scan_unrolled(run: Any, look: Any, *operands: Atom, loop: TapeLoop, pull: Any = None) -> Any:
    """The steps of every iteration."""
    n, first = loop.constants, loop.constants + loop.carries
    carry, stacks = list(operands[n:first]), operands[first:]
    rows: list[list[Any]] = []
    for k in reversed(range(loop.length)) if loop.is_reversed else range(loop.length):
        results = run(loop.body, [*operands[:n], *carry, *[element(x, 0, k) for x in stacks]])
        carry = results[: loop.carries]
        rows.append(results[loop.carries :])
    if not rows:
        return [*carry, *[zeros(Aval((0, *a.shape), a.dtype)) for a in loop.body.out_avals[loop.carries :]]]
    return [*carry, *[join(parts, 0) for parts in zip(*(rows[::-1] if loop.is_reversed else rows), strict=True)]]


scan = named(
    Op(  # constants, carries, stacks -> carries after the last iteration, stacks of the slices that each gave
        name="scan",
        reference=scanned,
        type=scan_type,
        kernel=Loop(),
        cost=scan_cost,
        pushforward=_scan_pushforward,
        pullback=(_scan_pullback,),
        batch=_scan_batch,
        keep=keep,
        kept_in="pull",
        bodies=lambda loop, pull=None: [Body(loop.body, 0, loop.constants, loop.carries)],
        unrolled=scan_unrolled,
        is_variadic=True,
    )
)

# ------------------------------------------------------------------------------------------------------------ while


class TapeWhile(NamedTuple):
    """A loop that runs while ``condition``, of its constants and the carries, holds. ``body`` takes constants of its
    own and the carries."""

    condition: Tape
    body: Tape
    of_condition: int
    constants: int

    @property
    def carries(self) -> int:
        return len(self.body.outputs)

    @property
    def first(self) -> int:
        """The number of the first carry among the operands."""
        return self.of_condition + self.constants


def _iterated(loop: TapeWhile, operands: Sequence[Any], trail: list[Any] | None = None) -> list[Any]:
    """The carries when the condition no longer holds; the carries with which each iteration began go to ``trail``."""
    tests, constants = operands[: loop.of_condition], operands[loop.of_condition : loop.first]
    carry = list(operands[loop.first : loop.first + loop.carries])
    while played(loop.condition, *tests, *carry)[loop.condition.outputs[0]]:
        if trail is not None:
            trail.append(carry)
        values = played(loop.body, *constants, *carry)
        carry = [values[a] for a in loop.body.outputs]
    return carry


def _while(*operands: Any, loop: TapeWhile) -> Any:
    results = tuple([np.array(c) for c in _iterated(loop, operands)])
    return results if len(results) != 1 else results[0]


def _while_type(*avals: Aval, loop: TapeWhile) -> tuple[Aval, ...]:
    return loop.body.out_avals


def _active_of(loop: TapeWhile, operands: Sequence[int]) -> tuple[int, ...]:
    """The numbers of the body's inputs that move if these operands do; operands of the condition are left out."""
    given = frozenset(k - loop.of_condition for k in operands if k >= loop.of_condition)
    return tuple(sorted(moving_carry(loop.body, loop.constants, loop.carries, given)))


@lru_cache(maxsize=4096)
def _with_tangents(loop: TapeWhile, wrt: tuple[int, ...]) -> TapeWhile:
    """The loop that carries tangents behind its carries; behind its constants stand the tangents of constants."""
    n, m = loop.constants, len(loop.body.inputs)
    outputs = tuple([k - n for k in wrt if k >= n])
    joint = pushed(loop.body, wrt, outputs)
    few = sum(1 for k in wrt if k < n)
    inputs = (*joint.inputs[:n], *joint.inputs[m : m + few], *joint.inputs[n:m], *joint.inputs[m + few :])
    more = [Var(joint.inputs[m + few + k].aval) for k in range(len(outputs))]
    condition = without_shows(loop.condition)
    condition = condition.replace(inputs=(*condition.inputs, *more))
    return TapeWhile(interned(condition), interned(joint.replace(inputs=inputs)), loop.of_condition, n + few)


def _with_tangents_of(loop: TapeWhile, wrt: tuple[int, ...], xs: Sequence[Atom], dxs: dict[int, Atom]) -> list[Atom]:
    """The operands of the loop with tangents. ``dxs`` has tangents by the number of the body's input; one that is
    missing is zero."""
    at = loop.of_condition
    tangents = {k: dxs[k] if dxs.get(k) is not None else zeros(xs[at + k].aval) for k in wrt}
    of_constants = [tangents[k] for k in wrt if k < loop.constants]
    of_carries = [tangents[k] for k in wrt if k >= loop.constants]
    return [*xs[: loop.first], *of_constants, *xs[loop.first : loop.first + loop.carries], *of_carries]


def _tangents_of_results(
    loop: TapeWhile, wrt: tuple[int, ...], xs: Sequence[Atom], dxs: dict[int, Atom]
) -> dict[int, Any]:
    """The tangents of the carries when the loop ends, by the number of the carry."""
    results = _several(while_(*_with_tangents_of(loop, wrt, xs, dxs), loop=_with_tangents(loop, wrt)))
    carried = [k - loop.constants for k in wrt if k >= loop.constants]
    return dict(zip(carried, results[loop.carries :], strict=True))


def _while_pushforward(xs: Any, dxs: Any, y: Any, *, loop: TapeWhile) -> Any:
    given = [k for k, dx in enumerate(dxs) if dx is not None and k >= loop.of_condition]
    wrt = _active_of(loop, given)
    moved = _tangents_of_results(loop, wrt, xs, {k - loop.of_condition: dxs[k] for k in given})
    tangents = [moved.get(k) for k in range(loop.carries)]
    return tangents if loop.carries > 1 else tangents[0]


def _quiet(loop: TapeWhile) -> TapeWhile:
    """The loop for another run of the same iterations: it shows nothing to people."""
    return loop._replace(condition=without_shows(loop.condition), body=without_shows(loop.body))


def _while_pullback(ct: Any, *xs_y: Any, operand: int, loop: TapeWhile) -> Any:
    if operand < loop.of_condition:
        return None
    xs = xs_y[:-1]
    wrt = _active_of(loop, [k for k, x in enumerate(xs) if x.aval.is_inexact])
    cts = [_several(ct)[k - loop.constants] for k in wrt if k >= loop.constants]
    results = _several(while_pull(*xs, *cts, loop=_quiet(loop), wrt=wrt))
    return results[wrt.index(operand - loop.of_condition)] if operand - loop.of_condition in wrt else None


LARGE = 1024
"""Bytes of carries above which a batch runs one example at a time: to select among so many in each iteration takes
longer than an iteration that writes a few of them."""


def _while_batch(xs: Sequence[Atom], flags: Sequence[bool], size: int, *, loop: TapeWhile) -> Any:
    """Run all examples together until the last is done; the carries of one that is done are kept by selection. If the
    carries are more than ``LARGE`` bytes, run the examples one after another."""
    at, first = loop.of_condition, loop.first
    if sum([a.nbytes for a in loop.body.out_avals]) > LARGE:
        return one_by_one(while_, {"loop": loop}, xs, flags, size)
    wide = [front(x, b, size) for x, b in zip(xs[first:], flags[first:], strict=True)]
    looped = _batched_loop(loop, tuple(flags[:first]), size)
    return while_(
        *xs[:first] if looped.constants == loop.constants else (*xs[:at], *xs[:at], *xs[at:first]), *wide, loop=looped
    )


@lru_cache(maxsize=4096)
def _batched_loop(loop: TapeWhile, flags: tuple[bool, ...], size: int) -> TapeWhile:
    at, n, carries = loop.of_condition, loop.constants, loop.carries
    each = batched(loop.condition, (*flags[:at], *[True] * carries), size)
    body = batched(loop.body, (*flags[at:], *[True] * carries), size)
    with building(Builder()) as builder:
        inputs = [Var(v.aval) for v in each.inputs]
        (goes_on,) = _inlined(each, inputs)
        outputs = (any_(goes_on, axis=(0,)),)
    condition = interned(each.replace(inputs=tuple(inputs), instrs=builder.instrs, outputs=outputs))
    with building(Builder()) as builder:
        tests = [Var(v.aval) for v in each.inputs[:at]]
        constants = [Var(v.aval) for v in body.inputs[:n]]
        carry = [Var(v.aval) for v in body.inputs[n:]]
        (goes_on,) = _inlined(each, [*tests, *carry])
        new = _inlined(body, for_some(goes_on, [*constants, *carry], (*flags[at:], *[True] * carries)))
        kept = [
            select(broadcast_to(over_examples(goes_on, c), shape=c.aval.shape), x, c)
            for x, c in zip(new, carry, strict=True)
        ]
    looped = body.replace(inputs=(*tests, *constants, *carry), instrs=builder.instrs, outputs=tuple(kept))
    return TapeWhile(condition, interned(looped), at, at + n)


def _inlined(body: Tape, inputs: Sequence[Atom]) -> list[Any]:
    """Emit the steps of ``body`` on the current builder, and return its outputs."""
    return splice(current_builder(), body, inputs, ())


def _goes_on(run: Any, look: Any, loop: TapeWhile, tests: Sequence[Atom], carry: Sequence[Any]) -> bool:
    (condition,) = run(loop.condition, [*tests, *carry])
    goes_on = look(condition)
    guard(condition, expected=Expected(goes_on), position=0, kind="while")
    return bool(goes_on)


def _while_unrolled(run: Any, look: Any, *operands: Atom, loop: TapeWhile) -> Any:
    """The steps of every iteration, and a guard of each condition."""
    tests, constants, carry = (
        operands[: loop.of_condition],
        operands[loop.of_condition : loop.first],
        operands[loop.first :],
    )
    while _goes_on(run, look, loop, tests, carry):
        carry = run(loop.body, [*constants, *carry])
    return carry


def _while_pull_unrolled(run: Any, look: Any, *operands: Atom, loop: TapeWhile, wrt: tuple[int, ...]) -> Any:
    xs, cts = _parts(loop, wrt, operands)
    tests, constants, carry = xs[: loop.of_condition], xs[loop.of_condition : loop.first], xs[loop.first :]
    back = one_iteration_back(loop, wrt)
    sums = sum(1 for k in wrt if k < loop.constants)
    trail = []
    while _goes_on(run, look, loop, tests, carry):
        trail.append(carry)
        carry = run(loop.body, [*constants, *carry])
    totals = [zeros(a) for a in back.out_avals[:sums]]
    while trail:
        results = run(back, [*constants, *trail.pop(), *cts, *totals])
        totals, cts = results[:sums], results[sums:]
    return [*totals, *cts]


while_ = named(
    Op(  # constants of the condition, of the body, carries -> carries
        name="while",
        reference=_while,
        type=_while_type,
        kernel=RepeatWhile(),
        cost=lambda *avals, loop: 10 * (_cost_of(loop.body) + _cost_of(loop.condition)),
        pushforward=_while_pushforward,
        pullback=(_while_pullback,),
        batch=_while_batch,
        bodies=lambda loop: [Body(loop.body, loop.of_condition, loop.constants, loop.carries)],
        unrolled=_while_unrolled,
        is_variadic=True,
    )
)


def _while_pull_type(*avals: Aval, loop: TapeWhile, wrt: tuple[int, ...]) -> tuple[Aval, ...]:
    return tuple([loop.body.inputs[k].aval for k in wrt])


@lru_cache(maxsize=4096)
def one_iteration_back(loop: TapeWhile, wrt: tuple[int, ...]) -> Tape:
    """The tape that pulls cotangents back over one iteration. It takes the body's inputs, the cotangents of the carries
    after it and the sums so far, and gives the new sums and the cotangents of the carries before it."""
    n = loop.constants
    outputs = tuple([k - n for k in wrt if k >= n])
    joint = pulled(loop.body, wrt, outputs, sum(1 for k in wrt if k < n))
    return select_outputs(joint, range(loop.carries, len(joint.outputs)))


def _while_back(*operands: Any, loop: TapeWhile, back: Tape, sums: int) -> Any:
    xs, cts = operands[: loop.first + loop.carries], list(operands[loop.first + loop.carries :])
    trail: list[Any] = []
    _iterated(loop, xs, trail)
    constants = xs[loop.of_condition : loop.first]
    totals = [np.zeros(a.shape, a.dtype) for a in back.out_avals[:sums]]
    while trail:
        values = played(back, *constants, *trail.pop(), *cts, *totals)
        results = [values[a] for a in back.outputs]
        totals, cts = results[:sums], results[sums:]
    results = (*[np.array(x) for x in (*totals, *cts)],)
    return results if len(results) != 1 else results[0]


while_back = named(
    Op(  # made on the way to kernels, so nothing differentiates or batches it
        name="while_back",
        reference=_while_back,
        type=lambda *avals, loop, back, sums: back.out_avals,
        kernel=RepeatWhileBack(),
        cost=lambda *avals, loop, back, sums: 4 * _cost_of(back),
    )
)
"""The pullback of a while loop by ``back``, which goes back over one iteration: it takes the constants and carries of
the body, the cotangents of the carries and ``sums`` sums so far, and gives new sums and the cotangents before."""


def _while_pull(*operands: Any, loop: TapeWhile, wrt: tuple[int, ...]) -> Any:
    sums = sum(1 for k in wrt if k < loop.constants)
    return _while_back(*operands, loop=loop, back=one_iteration_back(loop, wrt), sums=sums)


def _parts(loop: TapeWhile, wrt: tuple[int, ...], operands: Sequence[Any]) -> tuple[Any, Any]:
    """The operands of the loop, and the cotangents of the carries."""
    count = loop.first + loop.carries
    return operands[:count], operands[count:]


def _pull_with_tangents(
    loop: TapeWhile,
    wrt: tuple[int, ...],
    xs: Sequence[Atom],
    dxs: dict[int, Atom],
    cts: Sequence[Any],
    of_tangents: Any,
) -> dict[int, Any]:
    """Pull back the loop that carries tangents too, and return the cotangents of its primals, by the number of the
    body's input. ``cts`` are the cotangents of the carries that move, ``of_tangents`` those of their tangents; None is
    zero."""
    wide = _with_tangents(loop, wrt)
    operands = _with_tangents_of(loop, wrt, xs, dxs)
    few = sum(1 for k in wrt if k < loop.constants)
    place = lambda k: k if k < loop.constants else k + few
    primal = tuple([place(k) for k in wrt])
    after = loop.constants + few + loop.carries
    tangent = (*range(loop.constants, loop.constants + few), *range(after, after + len(wrt) - few))
    chosen = tuple(sorted({*primal, *tangent}))
    seeds = {place(k): ct for k, ct in zip([k for k in wrt if k >= loop.constants], cts, strict=True)}
    seeds |= dict(zip(tangent[few:], of_tangents, strict=True))
    all_seeds = []
    for k in chosen:
        if k >= wide.constants:
            ct = seeds.get(k)
            all_seeds.append(ct if ct is not None else zeros(wide.body.inputs[k].aval))
    results = _several(while_pull(*operands, *all_seeds, loop=wide, wrt=chosen))
    return {k: results[chosen.index(place(k))] for k in wrt}


def _while_pull_pushforward(xs: Any, dxs: Any, y: Any, *, loop: TapeWhile, wrt: tuple[int, ...]) -> Any:
    (given, cts), (tangents, d_cts) = _parts(loop, wrt, xs), _parts(loop, wrt, dxs)
    moves = {k - loop.of_condition: dx for k, dx in enumerate(tangents) if dx is not None and k >= loop.of_condition}
    found = _pull_with_tangents(loop, wrt, given, moves, d_cts, cts)
    results = [found[k] for k in wrt]
    return results if len(results) > 1 else results[0]


def _while_pull_pullback(ct: Any, *xs_y: Any, operand: int, loop: TapeWhile, wrt: tuple[int, ...]) -> Any:
    given, cts = _parts(loop, wrt, xs_y[:-1])
    u = dict(zip(wrt, _several(ct), strict=True))
    count = loop.first + loop.carries
    if operand >= count:
        carried = [k - loop.constants for k in wrt if k >= loop.constants]
        return _tangents_of_results(loop, wrt, given, u)[carried[operand - count]]
    found = _pull_with_tangents(loop, wrt, given, u, [None] * len(cts), cts)
    return found.get(operand - loop.of_condition)


def _while_pull_batch(xs: Any, flags: Any, size: int, *, loop: TapeWhile, wrt: tuple[int, ...]) -> Any:
    count, at, first = loop.first + loop.carries, loop.of_condition, loop.first
    looped = _batched_loop(loop, tuple(flags[:first]), size)
    constants = [front(x, b, size) for x, b in zip(xs[at:first], flags[at:first], strict=True)]
    if not all(flags[at:first]):  # the cotangent of a constant is one of each example
        looped = _batched_loop(loop, (*flags[:at], *[True] * (first - at)), size)
    wide = [front(x, b, size) for x, b in zip(xs[first:], flags[first:], strict=True)]
    moved = tuple([k + at for k in wrt])
    return while_pull(*xs[:at], *xs[:at], *constants, *wide, loop=looped, wrt=moved) if count else None


while_pull = named(
    Op(  # operands of a while loop, cotangents of the carries that move -> cotangents of the inputs ``wrt``
        name="while_pull",
        reference=_while_pull,
        type=_while_pull_type,
        kernel=RepeatWhileBack(),
        cost=lambda *avals, loop, wrt: 40 * _cost_of(loop.body),
        pushforward=_while_pull_pushforward,
        pullback=(_while_pull_pullback,),
        unrolled=_while_pull_unrolled,
        batch=_while_pull_batch,
        is_variadic=True,
    )
)
