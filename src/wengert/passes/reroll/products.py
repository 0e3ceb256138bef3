"""Joins the products of a loop to one: ``data[:, i] @ data[:, i:]`` for all i are slices of ``data.T @ data``.

A *family* is the contractions of one line whose operands are slices of the same two arrays. Places that each takes
alone become axes of the product, and what each member of the family gives is a slice of it. Where the range that is
summed over differs, as in ``A[i+1:, i] @ B[i+1:, j]``, it must follow from the places in one operand: then products are
summed where a mask holds. Elements that a member does not read never count, so that none of them makes a NaN.

Source: Allen and Kennedy (2001), Optimizing Compilers for Modern Architectures, chapter 2 (loop distribution).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.ops.contract import contract, contract_cost
from wengert.ops.elementwise import greater_equal, less, logical_and, multiply, select
from wengert.ops.index import INTP, StaticIndex, everything, set_slice, slice_, to_numpy
from wengert.ops.reduce import sum_
from wengert.ops.shape import iota, reshape, transpose
from wengert.passes.reroll.reads import Numbers
from wengert.passes.reroll.repeats import FEWEST
from wengert.passes.simplify import drop_dead
from wengert.tape import Atom, Aval, Builder, Capture, Instr, Lit, Tape, Var, building

MOST_WASTED = 4.0
"""A product may cost so many times what its slices do, in flops and in bytes; and it is at most so many times as large
as the largest array of the tape."""

MOST_SUMMED = 1 << 26
"""Products that are summed one by one, under a mask, are at most so many."""

FIRST_LANE = 1 << 16
"""Labels from here on are places that each member has alone."""


class _SliceRead(NamedTuple):
    """A slice of an array that no step has written before it is read."""

    base: Atom
    index: StaticIndex


class _Member(NamedTuple):
    instr: Instr
    regions: tuple[_SliceRead, _SliceRead]


def joined_products(tape: Tape) -> Tape:
    """Return ``tape`` with one product for each family of contractions. Linear in what the slices read."""
    families: dict[Any, list[_Member]] = {}
    for member in _members(tape):
        families.setdefault(_family(member), []).append(member)
    families = {key: f for key, f in families.items() if len(f) >= FEWEST}
    if not families:
        return tape
    largest = max([v.aval.nbytes for v in _values(tape)])
    plans = [made for f in families.values() if (made := _planned(f, largest)) is not None]
    return _emitted(tape, plans) if plans else tape


def _values(tape: Tape) -> Iterator[Var]:
    yield from tape.inputs
    for capture in tape.captures:
        yield capture.var
    for instr in tape.instrs:
        yield from instr.outs


def _members(tape: Tape) -> list[_Member]:
    """Return the contractions, with the regions that they read."""
    if sum([i.op is contract for i in tape.instrs]) < FEWEST:
        return []
    root: dict[Atom, Atom] = {}
    """The array that a chain of writes began with, for the newest value of it."""
    is_written: dict[Atom, np.ndarray[Any, Any]] = {}
    regions: dict[Atom, _SliceRead] = {}
    found = []
    for instr in tape.instrs:
        if instr.op is slice_:
            x, index = instr.ins[0], instr.params["index"]
            start = root.get(x)
            is_old = start is not None and not is_written[start][to_numpy(index)].any()
            regions[instr.outs[0]] = _SliceRead(start if is_old and start is not None else x, index)
        elif instr.op is set_slice:
            x = instr.ins[0]
            start = root.pop(x, x)
            if start not in is_written:
                is_written[start] = np.zeros(x.aval.shape, bool)
            elif start is x:
                continue  # another chain begins with the same array
            is_written[start][to_numpy(instr.params["index"])] = True
            root[instr.outs[0]] = start
        elif instr.op is contract:
            x, y = [regions.get(a) or _SliceRead(a, everything(a.aval.shape)) for a in instr.ins]
            found.append(_Member(instr, (x, y)))
    return found


def _family(member: _Member) -> Any:
    instr, regions = member
    line = None if instr.source is None else instr.source[:2]
    forms = [(r.base, tuple([None if type(e) is int else e[2] for e in r.index])) for r in regions]
    return (line, *forms, *[instr.params[name] for name in ("a", "b", "out")])


class _LabelledAxis(NamedTuple):
    """An axis of an operand: its label in the product, and what each member reads of it: start, length and step."""

    label: int
    is_lane: bool
    """Whether each member reads one place of it."""
    read: Numbers
    is_one: bool
    """Whether all members read the same."""
    part: tuple[int, int, int]
    """The part that all members read together: start, length and step."""

    def places(self) -> list[Any]:
        """Return where each member stands within that part."""
        starts = [0] * len(self.read) if self.is_one else (self.read[:, 0] - self.part[0]).tolist()
        return starts if self.is_lane else [(a, n, 1) for a, n in zip(starts, self.read[:, 1].tolist(), strict=True)]


def _axis(label: int, is_lane: bool, read: Numbers) -> _LabelledAxis:
    is_empty = read[:, 1] == 0
    if is_empty.any() and not is_empty.all():  # it may be written as one that begins anywhere
        read[is_empty, 0] = read[~is_empty, 0].min()
    is_one = bool((read == read[0]).all())
    low, high = int(read[:, 0].min()), int((read[:, 0] + read[:, 1]).max())
    return _LabelledAxis(label, is_lane, read, is_one, tuple(read[0].tolist()) if is_one else (low, high - low, 1))


class _Summed(NamedTuple):
    """A range that is summed over and that follows from places, the ``lanes``; within the part that is read."""

    label: int
    lanes: tuple[int, ...]
    begin: Numbers
    end: Numbers


class _Plan(NamedTuple):
    family: list[_Member]
    operands: tuple[list[_LabelledAxis], list[_LabelledAxis]]
    out: tuple[int, ...]
    summed: _Summed | None


def _planned(family: list[_Member], largest: int) -> _Plan | None:
    """Return how the family becomes one product; None if it does not, or if that costs too much."""
    params = family[0].instr.params
    lanes: dict[bytes, int] = {}
    x, y = [_axes([m.regions[k].index for m in family], params[name], lanes) for k, name in enumerate(("a", "b"))]
    if any(a.read[:, 2].min() < 1 or not a.read[:, 1].any() for a in (*x, *y)):
        return None
    if any(not a.is_one and not a.is_lane and a.read[0, 2] != 1 for a in (*x, *y)):
        return None
    if any(len({a.label for a in operand}) < len(operand) for operand in (x, y)):
        return None  # a diagonal
    of_y = {a.label: a for a in y}
    shared = [(a, of_y[a.label]) for a in x if a.label in of_y]
    if any(a.is_one != b.is_one or (not a.is_one and len(set(a.read[:, 0] - b.read[:, 0])) > 1) for a, b in shared):
        return None
    out = (*lanes.values(), *params["out"])
    ragged = [(a, b) for a, b in shared if a.label not in out and not a.is_one]
    summed = None
    if ragged:
        summed = _summed(ragged[0][0], x) or _summed(ragged[0][1], y)
        if summed is None or len(ragged) > 1:
            return None
    plan = _Plan(family, (x, y), out, summed)
    return plan if _is_worth_it(plan, largest) else None


def _axes(indices: Sequence[StaticIndex], labels: Sequence[int], lanes: dict[bytes, int]) -> list[_LabelledAxis]:
    """Return the axes of one operand. Places that are the same in all members, axis for axis, have one label."""
    axes, names = [], iter(labels)
    for axis, entry in enumerate(indices[0]):
        if type(entry) is int:
            read = np.array([(index[axis], 1, 1) for index in indices], np.int64)
            axes.append(_axis(lanes.setdefault(read.tobytes(), FIRST_LANE + len(lanes)), True, read))
        else:
            axes.append(_axis(next(names), False, np.array([index[axis] for index in indices], np.int64)))
    return axes


def _summed(ragged: _LabelledAxis, operand: Sequence[_LabelledAxis]) -> _Summed | None:
    """Return the range of each lane of the operand; None if it does not follow from the lane."""
    lanes = [a for a in operand if a.is_lane]
    shape = tuple([a.part[1] for a in lanes])
    keys = tuple([a.read[:, 0] - a.part[0] for a in lanes])
    start = ragged.read[:, 0] - ragged.part[0]
    begin, end = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    begin[keys], end[keys] = start, start + ragged.read[:, 1]
    if (begin[keys] != start).any() or (end[keys] != start + ragged.read[:, 1]).any():
        return None
    return _Summed(ragged.label, tuple([a.label for a in lanes]), begin, end)


def _is_worth_it(plan: _Plan, largest: int) -> bool:
    lengths = {a.label: a.part[1] for operand in plan.operands for a in operand}
    terms, size = math.prod(lengths.values()), math.prod([lengths[label] for label in plan.out])
    one = plan.family[0].instr.outs[0].aval
    if (plan.summed is not None and terms > MOST_SUMMED) or size * one.dtype.itemsize > MOST_WASTED * largest:
        return False
    done = sum([contract_cost(*[a.aval for a in m.instr.ins], **m.instr.params) for m in plan.family])
    given = sum([m.instr.outs[0].aval.size for m in plan.family])
    return 2 * terms <= MOST_WASTED * done and size <= MOST_WASTED * given


def _emitted(tape: Tape, plans: Sequence[_Plan]) -> Tape:
    of_first = {plan.family[0].instr.outs[0]: plan for plan in plans}
    tables: list[Capture] = []
    taken: dict[Atom, tuple[Atom, StaticIndex]] = {}
    builder = Builder()
    with building(builder):
        for instr in tape.instrs:
            builder.source = instr.source
            plan = of_first.get(instr.outs[0]) if instr.outs else None
            if plan is not None:
                product = _product(plan, tables)
                axes = {a.label: a for operand in plan.operands for a in operand}
                places = zip(*[axes[label].places() for label in plan.out], strict=True)
                taken.update({m.instr.outs[0]: (product, at) for m, at in zip(plan.family, places, strict=True)})
            if instr.outs and instr.outs[0] in taken:
                product, index = taken[instr.outs[0]]
                builder.append(Instr(slice_, (product,), instr.outs, {"index": index}, instr.source))
            else:
                builder.append(instr)
    builder.source = None
    return drop_dead(tape.replace(instrs=builder.instrs, captures=(*tape.captures, *tables)))


def _product(plan: _Plan, tables: list[Capture]) -> Atom:
    """Emit the product of the family on the current builder."""
    operands, labels = [], []
    for k, axes in enumerate(plan.operands):
        operands.append(slice_(plan.family[0].regions[k].base, index=tuple([a.part for a in axes])))
        labels.append(tuple([a.label for a in axes]))
    (x, y), (a, b) = operands, labels
    if plan.summed is None:
        return contract(x, y, a=a, b=b, out=plan.out)
    order = (*plan.out, *[label for label in a if label not in plan.out])
    terms = multiply(_lined_up(x, a, order), _lined_up(y, b, order))
    mask = _mask(plan.summed, terms.aval.shape, order, tables)
    return sum_(select(mask, terms, Lit(0, terms.aval.dtype)), axis=tuple(range(len(plan.out), len(order))))


def _lined_up(x: Atom, labels: Sequence[int], order: Sequence[int]) -> Atom:
    """Return ``x`` with its axes in this order, and axes of length one where it has none."""
    have = [label for label in order if label in labels]
    x = transpose(x, axes=tuple([labels.index(label) for label in have]))
    lengths = dict(zip(have, x.aval.shape, strict=True))
    return reshape(x, shape=tuple([lengths.get(label, 1) for label in order]))


def _mask(summed: _Summed, shape: Sequence[int], order: Sequence[int], tables: list[Capture]) -> Atom:
    """Return where a product counts; it broadcasts with all products."""

    def at_lanes(ends: Numbers) -> Atom:
        capture = Capture(Var(Aval(ends.shape, INTP)), ends.astype(INTP), "table", True)
        capture.array.flags.writeable = False
        tables.append(capture)
        return _lined_up(capture.var, summed.lanes, order)

    n = shape[order.index(summed.label)]
    here = _lined_up(iota(size=n, dtype=INTP), (summed.label,), order)
    is_in = less(here, at_lanes(summed.end))
    return logical_and(is_in, greater_equal(here, at_lanes(summed.begin))) if summed.begin.any() else is_in
