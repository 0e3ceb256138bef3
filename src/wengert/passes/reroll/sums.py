"""A cycle of additions and subtractions becomes a sum over all iterations, or a running one; or several sums, to which
the iterations add in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.ops.elementwise import add, subtract
from wengert.ops.index import INTP, everything, scatter_add, slice_
from wengert.ops.reduce import cumsum, sum_
from wengert.ops.shape import concatenate, reshape
from wengert.passes.reroll.columns import Places, Rolled
from wengert.passes.reroll.iteration import Iteration, Needs, OperandReads, StepOutput
from wengert.passes.reroll.pieces import Ref, as_piece
from wengert.passes.reroll.reads import Column, Numbers


class Sum(NamedTuple):
    """A cycle of additions and subtractions."""

    terms: list[tuple[OperandReads, bool]]
    """The operands that are added, each with whether it is subtracted instead."""
    init: Ref
    last: StepOutput
    is_running: bool
    """Whether all partial sums are read."""


def as_sum(it: Iteration, group: Sequence[int], needs: dict[StepOutput, Needs]) -> Sum | None:
    """Return the group as a sum; None if it is none."""
    terms, init = [], None
    for at, j in enumerate(group):
        step = it.step(j)
        if step.op is not add and step.op is not subtract:
            return None
        aval = step.outs[0].aval
        if aval.dtype.kind not in "fc" and aval.dtype != np.int64:  # sums of others have another dtype
            return None
        before = it.number[StepOutput(group[at - 1], 0)]
        inner = [k for k, o in enumerate(it.operands[j]) if it.is_inner(o, group).any()]
        if len(inner) != 1 or (step.op is subtract and inner != [0]):
            return None
        mine, other = it.operands[j][inner[0]], it.operands[j][1 - inner[0]]
        lag = 1 if at == 0 else 0
        if not mine.is_of(before, lag) or mine.read.is_piece[lag:].any():
            return None
        if lag:
            init = mine.read.refs[0]
            if mine.slot[0] >= 0 or as_piece(init).aval is not aval:
                return None
        if as_piece(other.read.refs[0]).aval is not aval:  # the same holds in all iterations: the steps are of one kind
            return None
        terms.append((other, step.op is subtract))
    last = StepOutput(group[-1], 0)
    if any(needs[StepOutput(j, 0)] != (False, False) for j in group[:-1]):
        return None
    if needs[last].all and len(group) > 1:
        return None
    assert init is not None
    return Sum(terms, init, last, needs[last].all)


def emit_sum(it: Iteration, made: Sum, places: Places) -> None:
    """Emit the sum on the current builder, and say where its values stand."""
    total: Any = None
    for operand, is_subtracted in made.terms:
        term = places.stacked(operand.read)
        if total is None:
            total = -term if is_subtracted else term
        else:
            total = total - term if is_subtracted else total + term
    init = places.atom(made.init)
    if made.is_running:
        first = reshape(init, shape=(1, *init.aval.shape))
        running = cumsum(concatenate(first, total, axis=0), axis=0)
        index = ((1, it.run.count, 1), *everything(init.aval.shape))
        rolled = Rolled(slice_(running, index=index), 0)
    else:
        rolled = Rolled(init + sum_(total, axis=(0,)), it.run.count - 1)
    places.settle(it.values(made.last), rolled)


class Sums(NamedTuple):
    """A step that adds to one of several sums, or subtracts from it, as for ``a[i[k]] += x[k]``."""

    term: OperandReads
    is_subtracted: bool
    inits: Column
    """The value of each sum before the loop."""
    number: Numbers
    """The number of the sum that each iteration adds to."""
    ends: dict[int, int]
    """The last iteration of each sum."""
    slot: StepOutput


def as_sums(it: Iteration, group: Sequence[int]) -> Sums | None:
    """Return the group as several sums, of which only the last values are read; None if it is none."""
    (j,) = group if len(group) == 1 else (-1,)
    step = it.step(j) if j >= 0 else None
    if step is None or (step.op is not add and step.op is not subtract):
        return None
    aval, slot = step.outs[0].aval, StepOutput(j, 0)
    if aval.dtype.kind not in "fc" and aval.dtype != np.int64:  # sums of others have another dtype
        return None
    inner = [k for k, o in enumerate(it.operands[j]) if it.is_inner(o, group).any()]
    if len(inner) != 1 or (step.op is subtract and inner != [0]):
        return None
    mine, other = it.operands[j][inner[0]], it.operands[j][1 - inner[0]]
    is_inner = it.is_inner(mine, group)
    if mine.read.is_piece[is_inner].any() or as_piece(other.read.refs[0]).aval is not aval:
        return None
    inits = mine.read.where(~is_inner)
    if not len(inits) or any(as_piece(ref).aval is not aval for ref in inits.refs):
        return None
    others = [o for i in range(it.run.period) if i != j for o in it.operands[i]]
    if any(it.number[slot] in it.seen(o) for o in others):
        return None
    number, ends = np.zeros(it.run.count, INTP), dict[int, int]()
    values, first = it.values(slot), it.run.start + j
    for k in range(it.run.count):
        if not is_inner[k]:
            number[k] = len(ends)
        else:
            before = int(mine.iteration[k])
            number[k] = number[before]
            only = first + k * it.run.period  # the step that may read what is there before
            if ends[number[before]] != before or it.reads.last_use[values[before]] != only:
                return None
        ends[int(number[k])] = k
    return Sums(other, step.op is subtract, inits, number, ends, slot)


def emit_sums(it: Iteration, made: Sums, places: Places) -> None:
    """Emit the sums on the current builder, and say where their last values stand. Where they are equally long, and one
    follows the other or all take turns, each is a row that is summed; else they are taken in the order of the
    iterations."""
    inits: Any = places.stacked(made.inits)
    term: Any = places.stacked(made.term.read)
    term = -term if made.is_subtracted else term
    n, shape = len(made.ends), term.aval.shape[1:]
    length = it.run.count // n
    if n * length == it.run.count and np.array_equal(made.number, np.repeat(np.arange(n), length)):
        total = inits + sum_(reshape(term, shape=(n, length, *shape)), axis=(1,))
    elif n * length == it.run.count and np.array_equal(made.number, np.tile(np.arange(n), length)):
        total = inits + sum_(reshape(term, shape=(length, n, *shape)), axis=(0,))
    else:
        total = scatter_add(inits, term, places.constant(made.number))
    values = it.values(made.slot)
    for number, k in made.ends.items():
        places.settle(range(values[k], values[k] + 1), Rolled(total, -number))
