"""Marks which elements of an array the steps behind it read, before loops over its slices are rolled up.

Unrolled, ``b[:i] @ x[:i]`` reads certain elements of ``b``, and the cotangent of ``b`` has a structure that says which.
Rolled up, all of ``b`` goes into a loop, from which the number zero comes back for an element that no iteration reads:
times an infinite derivative, as that of ``b = sqrt(a)`` where a = 0, it would be NaN. So ``only_where`` keeps which
elements count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.ops.control import only_where
from wengert.ops.elementwise import greater_equal, less, logical_and
from wengert.ops.index import INTP, region_shape, set_slice, slice_, to_numpy
from wengert.ops.shape import iota, reshape
from wengert.passes.reroll.repeats import FEWEST
from wengert.tape import Atom, Aval, Builder, Capture, Instr, Tape, Var, building

MOST_LOOKED_AT = 1 << 28
"""Elements of regions that are looked at for one array. One of which more is read is taken to be read as a whole."""

Mask = np.ndarray[Any, np.dtype[np.bool_]]


class _Use(NamedTuple):
    instr: Instr | None
    """None: the tape returns the value."""
    operand: int


def marked(tape: Tape) -> Tape:
    """Return ``tape`` with ``only_where`` behind each array of which its slices leave something out. Linear."""
    readers: dict[Atom, list[_Use]] = {}
    for instr in tape.instrs:
        for k, a in enumerate(instr.ins):
            readers.setdefault(a, []).append(_Use(instr, k))
    for a in tape.outputs:
        readers.setdefault(a, []).append(_Use(None, 0))
    masks = {
        v: mask
        for instr in tape.instrs
        if instr.ins and instr.op is not only_where and instr.op is not set_slice
        for v in instr.outs
        if v.aval.is_inexact and v.aval.ndim and _is_cut(v, readers) and (mask := _read_of(v, readers)) is not None
    }
    return _with_masks(tape, masks) if masks else tape


def _is_cut(v: Var, readers: dict[Atom, list[_Use]]) -> bool:
    """Whether all that reads ``v`` are slices and writes."""
    return all(use.instr is not None and use.instr.op in (slice_, set_slice) for use in readers.get(v, ()))


def _read_of(v: Var, readers: dict[Atom, list[_Use]]) -> Mask | None:
    """Return which elements of ``v`` are read before they are overwritten; None if they are all, or it is not known."""
    is_read, is_kept = np.zeros(v.aval.shape, bool), np.ones(v.aval.shape, bool)
    slices: set[Any] = set()
    looked_at = 0
    now: Atom | None = v
    while now is not None:
        written: Instr | None = None
        for instr, k in readers.get(now, ()):
            if instr is not None and k == 0 and instr.op is slice_:
                index = instr.params["index"]
                if index in slices:
                    continue
                slices.add(index)
                at = to_numpy(index)
                is_read[at] |= is_kept[at]
            elif instr is not None and k == 0 and instr.op is set_slice and written is None:
                written = instr
            else:
                is_read |= is_kept  # it is read as a whole
                written = None
                break
            looked_at += Aval(region_shape(instr.params["index"]), INTP).size
            if looked_at > MOST_LOOKED_AT:
                return None
        if written is not None:
            is_kept[to_numpy(written.params["index"])] = False
        now = None if written is None else written.outs[0]
    return None if len(slices) < FEWEST or is_read.all() else is_read


def _with_masks(tape: Tape, masks: dict[Var, Mask]) -> Tape:
    tables: list[Capture] = []
    new: dict[Atom, Atom] = {}
    builder = Builder()
    with building(builder):
        for instr in tape.instrs:
            builder.source = instr.source
            builder.append(instr._replace(ins=tuple([new.get(a, a) for a in instr.ins])) if new else instr)
            for v in instr.outs:
                if v in masks:
                    new[v] = only_where(v, _mask(masks[v], tables))
    builder.source = None
    outputs = tuple([new.get(a, a) for a in tape.outputs])
    return tape.replace(instrs=builder.instrs, captures=(*tape.captures, *tables), outputs=outputs)


def _mask(mask: Mask, tables: list[Capture]) -> Atom:
    """Return the mask as a value of the tape: from where each row begins and ends, if the rows are intervals."""
    n = mask.shape[-1]
    first = np.where(mask.any(axis=-1), mask.argmax(axis=-1), 0)
    end = np.where(mask.any(axis=-1), n - mask[..., ::-1].argmax(axis=-1), 0)
    if (end - first != mask.sum(axis=-1)).any():
        return _table(mask, tables)
    here = reshape(iota(size=n, dtype=INTP), shape=(*[1] * (mask.ndim - 1), n))
    is_in = less(here, _table(end[..., None], tables))
    return logical_and(is_in, greater_equal(here, _table(first[..., None], tables))) if first.any() else is_in


def _table(array: np.ndarray[Any, Any], tables: list[Capture]) -> Var:
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    tables.append(Capture(Var(Aval(array.shape, array.dtype)), array, "table", True))
    return tables[-1].var
