"""Reads and writes of single elements and rows are followed through a tape, so that the steps that compute are left.

``x[3]`` is no step but a *piece*: a place in an array. An array that is written piece after piece (``y[i] = v``, or a
list that ``np.array`` joins) is no step at every write either: who reads ``y[i]`` reads ``v``; and where all of the
array is read, it is *assembled* once, of all that was written since. What repeats is then seen: two iterations of a
loop differ in the places that they read and write, and in nothing else.

Source: the scalar replacement of compilers: Allen and Kennedy (2001), Optimizing Compilers for Modern Architectures,
chapter 8.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert.ops.control import guard
from wengert.ops.index import StaticIndex, set_slice, slice_
from wengert.ops.op import Op
from wengert.ops.shape import concatenate, reshape
from wengert.source import Source
from wengert.tape import Atom, Aval, Instr, Tape, Var, affects


class Piece(NamedTuple):
    """Elements of ``base`` in C order, from ``start`` on, with these strides; both are counted in elements."""

    base: Atom
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def aval(self) -> Aval:
        return Aval(self.shape, self.base.aval.dtype)

    def is_contiguous(self) -> bool:
        return self.strides == steps_of(self.shape)


Ref = Atom | Piece
"""An operand of a step: a value, or a piece of one."""


@lru_cache(maxsize=10_000)
def steps_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of an array in C order, in elements."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def whole(a: Atom) -> Piece:
    shape = a.aval.shape
    return Piece(a, 0, shape, steps_of(shape))


def as_piece(ref: Ref) -> Piece:
    return ref if type(ref) is Piece else whole(ref)  # type: ignore[arg-type]  # no Piece, so an atom


def simplest(piece: Piece) -> Ref:
    """Return the piece, or the value itself if the piece is all of it."""
    base = piece.base
    return base if piece.shape == base.aval.shape and piece.start == 0 and piece.is_contiguous() else piece


def part(ref: Ref, index: StaticIndex) -> Piece:
    """Return the part of ``ref`` at a static index."""
    base, start, _, strides = as_piece(ref)
    if len(index) == 1 and type(index[0]) is int:
        return Piece(base, start + index[0] * strides[0], (), ())
    shape, kept = [], []
    for entry, stride in zip(index, strides, strict=True):
        if type(entry) is int:
            start += entry * stride
        else:
            first, length, step = entry
            start += first * stride
            shape.append(length)
            kept.append(step * stride)
    return Piece(base, start, tuple(shape), tuple(kept))


class IterationStep(NamedTuple):
    """An instruction whose operands may be pieces. Without an op, it assembles an array from pieces."""

    op: Op | None
    refs: tuple[Ref, ...]
    outs: tuple[Var, ...]
    params: Mapping[str, Any]
    source: Source | None
    places: tuple[int, ...] = ()
    """The places in the assembled array of the last ``refs``, one each. Where these do not cover the array, the ref
    before them is the array that they are written over."""

    @property
    def is_covered(self) -> bool:
        """Whether all of the array that is assembled is written."""
        return len(self.refs) == len(self.places)


class _Chain:
    """An array through all its writes, each of a piece of one shape."""

    def __init__(self, aval: Aval, unit: tuple[int, ...], base: Ref | None, source: Source | None) -> None:
        self.aval, self.unit, self.base, self.source = aval, unit, base, source
        self.size = Aval(unit, aval.dtype).size
        self.log: list[tuple[int, Ref]] = []
        self.times: dict[int, list[int]] = {}  # for each place: after how many writes it was written
        self.made: list[tuple[int, Var]] = []  # after how many writes it was read as a whole

    def write(self, start: int, ref: Ref) -> None:
        self.log.append((start, ref))
        self.times.setdefault(start, []).append(len(self.log))

    def at(self, start: int, time: int) -> Ref | None:
        """Return the piece that stands at ``start`` after ``time`` writes; None if it was not written."""
        times = self.times.get(start, [])
        k = bisect_right(times, time)
        return self.log[times[k - 1] - 1][1] if k else None


class _Version(NamedTuple):
    chain: _Chain
    time: int


class _Reader:
    def __init__(self, tape: Tape) -> None:
        self.steps: list[IterationStep] = []
        self.env: dict[Atom, Ref | _Version] = {}
        for instr in tape.instrs:
            if not self._follow(instr):
                self.steps.append(IterationStep(instr.op, tuple([self.whole(a) for a in instr.ins]), *instr[2:]))

    def whole(self, a: Atom) -> Ref:
        found = self.env.get(a)
        if found is None:
            return a
        return self._assembled(found, a) if type(found) is _Version else found  # type: ignore[return-value]

    def _assembled(self, version: _Version, a: Atom) -> Atom:
        """Return the array of a version as one value."""
        chain, time = version
        k = bisect_right(chain.made, time, key=lambda made: made[0])
        since, before = (chain.made[k - 1]) if k else (0, chain.base)
        if since == time:  # the chain has been read as a whole, since each chain has been written
            return before  # type: ignore[return-value]  # a variable that was made
        latest = dict(chain.log[since:time])
        places = tuple(sorted(latest))
        is_covered = len(places) * chain.size == chain.aval.size
        assert is_covered or before is not None
        refs = (*([] if is_covered else [before]), *[latest[p] for p in places])
        assert isinstance(a, Var)
        self.steps.append(IterationStep(None, refs, (a,), {}, chain.source, places))  # type: ignore[arg-type]  # no op: what is written
        chain.made.insert(k, (time, a))
        return a

    def _follow(self, instr: Instr) -> bool:
        """Whether the instruction only reads or writes pieces, and was noted."""
        op = instr.op
        if op is slice_:
            return self._read(instr)
        if op is set_slice:
            return self._write(instr)
        if op is reshape:
            return self._reshape(instr)
        return op is concatenate and self._join(instr)

    def _read(self, instr: Instr) -> bool:
        (x,), (y,), index = instr.ins, instr.outs, instr.params["index"]
        known = self.env.get(x)
        if type(known) is _Version:
            chain, time = known
            wanted = part(whole(x), index)
            found = self._within(chain, time, wanted)
            if found is not None:
                self.env[y] = found
                return True
        self.env[y] = simplest(part(self.whole(x), index))
        return True

    def _within(self, chain: _Chain, time: int, wanted: Piece) -> Ref | None:
        """Return a piece of a version as a piece of the value that was written there, or that it was written over; None
        if it is neither."""
        reach = [(n - 1) * s for n, s in zip(wanted.shape, wanted.strides, strict=True)]
        low = wanted.start + sum([r for r in reach if r < 0])
        high = wanted.start + sum([r for r in reach if r > 0])
        first = low - low % chain.size
        if 0 in wanted.shape or high >= first + chain.size:
            return None
        written = chain.at(first, time)
        if written is None:
            inner, begin = chain.base, 0
        else:
            inner, begin = written, first
        assert inner is not None
        around = as_piece(inner)
        if not around.is_contiguous():
            is_all = written is not None and wanted.shape == chain.unit and wanted.is_contiguous()
            return written if is_all else None
        return simplest(wanted._replace(base=around.base, start=around.start + wanted.start - begin))

    def _write(self, instr: Instr) -> bool:
        (x, v), (y,), index = instr.ins, instr.outs, instr.params["index"]
        wanted = part(whole(x), index)
        count = len(wanted.shape)
        rows = all(type(entry) is int for entry in index[: len(index) - count])
        if not rows or wanted.shape != x.aval.shape[len(index) - count :] or v.aval is not wanted.aval:
            return False
        if count == len(index):  # the whole array is written
            return False
        known, value = self.env.get(x), self.whole(v)
        if type(known) is _Version and known.chain.unit == wanted.shape and known.time == len(known.chain.log):
            chain = known.chain
        else:
            chain = _Chain(x.aval, wanted.shape, self.whole(x), instr.source)
        chain.write(wanted.start, value)
        self.env[y] = _Version(chain, len(chain.log))
        return True

    def _reshape(self, instr: Instr) -> bool:
        (x,), (y,) = instr.ins, instr.outs
        ref = as_piece(self.whole(x))
        if not ref.is_contiguous():
            return False
        self.env[y] = simplest(ref._replace(shape=y.aval.shape, strides=steps_of(y.aval.shape)))
        return True

    def _join(self, instr: Instr) -> bool:
        """Whether rows are put one behind the other, and that was noted."""
        ins, (y,), axis = instr.ins, instr.outs, instr.params["axis"]
        if axis != 0 or len(ins) < 2 or any(a.aval.shape[0] != 1 for a in ins):
            return False
        unit = y.aval.shape[1:]
        chain = _Chain(y.aval, unit, None, instr.source)
        for k, a in enumerate(ins):
            ref = as_piece(self.whole(a))
            row = ref._replace(shape=unit, strides=ref.strides[1:])
            chain.write(k * chain.size, simplest(row))
        self.env[y] = _Version(chain, len(ins))
        return True


class Move(NamedTuple):
    """The pieces that a read or write put at places, where it was followed through."""

    before: int
    """The number of the step that comes after it."""
    content: tuple[tuple[int, Ref], ...]


class _NotingReader(_Reader):
    def __init__(self, tape: Tape) -> None:
        self.moves: list[Move] = []
        super().__init__(tape)

    def _follow(self, instr: Instr) -> bool:
        if not super()._follow(instr):
            return False
        found = self.env[instr.outs[0]]
        if type(found) is not _Version:
            content = ((0, found),)
        elif instr.op is set_slice:
            content = (found.chain.log[found.time - 1],)
        else:
            content = tuple(found.chain.log[: found.time])
        self.moves.append(Move(len(self.steps), content))  # type: ignore[arg-type]  # no version, so a reference
        return True


def read_with_moves(tape: Tape) -> tuple[list[IterationStep], list[Ref], list[Move]]:
    """Do as :func:`read`, and return also the reads and writes that were followed through, in order."""
    reader = _NotingReader(tape)
    outputs = [reader.whole(a) for a in tape.outputs]
    return reader.steps, outputs, reader.moves


def read(tape: Tape) -> tuple[list[IterationStep], list[Ref]]:
    """Return the steps of ``tape`` that compute, and its outputs. Linear."""
    reader = _Reader(tape)
    outputs = [reader.whole(a) for a in tape.outputs]
    return reader.steps, outputs


def pieces_of(refs: Sequence[Ref]) -> list[Atom]:
    """Return the values that they are pieces of."""
    return [r.base if type(r) is Piece else r for r in refs]  # type: ignore[misc]


def kinds_of(steps: Sequence[IterationStep]) -> Any:
    """Return a number for each step: equal for steps that may be one step in several iterations, below zero for a step
    that stays alone."""
    known: dict[Any, int] = {}
    kinds = np.empty(len(steps), np.int64)
    for k, step in enumerate(steps):
        op, refs, outs, params, source, places = step
        if op is not None and ((op is not guard and affects(op, params)) or not op.is_stable or op.batch is None):
            kinds[k] = -1 - k
            continue
        line = None if source is None else source[:2]
        if op is guard:
            said: Any = (params["kind"], params["expected"].key[:2])
        else:
            said = tuple(params.items())
        key = (op, said, len(places), line, *[r.aval for r in refs], *[v.aval for v in outs])
        kinds[k] = known.setdefault(key, len(known))
    return kinds
