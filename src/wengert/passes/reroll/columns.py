"""The pieces that an operand is, one in each iteration, are read as one array: a slice where they follow one another,
else gathered by a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wengert.ops.index import INTP, gather, slice_
from wengert.ops.shape import broadcast_to, concatenate, iota, reshape
from wengert.passes.reroll.pieces import Piece, Ref, as_piece, simplest, steps_of
from wengert.passes.reroll.reads import Column, Numbers, Reads, is_one
from wengert.tape import Atom, Aval, Capture, Lit, Var


class Rolled(NamedTuple):
    """Where the values of a step stand after it was rolled up: along the first axis of ``atom``."""

    atom: Atom
    first: int | None
    """The iteration whose value stands first; None: all iterations have this one."""


class Places:
    """Where the values of the old tape stand in the new one. What has to be computed for that is emitted on the current
    builder."""

    def __init__(self, captures: Sequence[Capture], reads: Reads) -> None:
        self.reads = reads
        self.captures = list(captures)
        self.known: dict[Any, Atom] = {}
        self._atoms = list(reads.values)
        """The values of the new tape. A value that stayed as it was has the number that it has in ``reads``."""
        self._number: dict[Atom, int] = {}
        self._base = np.arange(len(self._atoms))
        """The number of the value that each value of the old tape is a piece of now."""
        self._offset = np.zeros(len(self._atoms), np.int64)
        self._is_literal = reads.is_literal()
        constants: dict[Atom, Any] = {c.var: c.array for c in captures if c.is_constant and c.var in reads.number}
        self._constants = constants
        self._is_constant = self._is_literal.copy()
        self._is_constant[[reads.number[v] for v in constants]] = True

    def counter(self, count: int) -> Atom:
        """Return the numbers of ``count`` iterations, int64[count]: one value of the new tape for all loops."""
        key = "counter", count
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = iota(size=count, dtype=INTP)
        return known

    def settle(self, numbers: range, rolled: Rolled) -> None:
        """Say where the values of these numbers stand now: those of one step, iteration after iteration."""
        values = slice(numbers.start, numbers.stop, numbers.step)
        self._base[values] = self._number_of(rolled.atom)
        if rolled.first is not None:
            size = self.reads.values[numbers[0]].aval.size
            self._offset[values] = (np.arange(len(numbers)) - rolled.first) * size

    def _number_of(self, a: Atom) -> int:
        known = self.reads.number.get(a)
        if known is None:
            known = self._number.setdefault(a, len(self._atoms))
            if known == len(self._atoms):
                self._atoms.append(a)
        return known

    def has_moved(self, a: Atom) -> bool:
        """Whether a value of the old tape is a piece of another value now."""
        number = self.reads.number.get(a)
        return number is not None and self._base[number] != number

    def is_constant(self, a: Atom) -> bool:
        """Whether the value is known before the program runs."""
        return type(a) is Lit or a in self._constants

    def place(self, ref: Ref) -> Piece | Lit:
        """Return ``ref`` as a piece of a value of the new tape."""
        if type(ref) is Lit:
            return ref
        piece = as_piece(ref)
        if not self.has_moved(piece.base):
            return piece
        number = self.reads.number[piece.base]
        return piece._replace(base=self._atoms[self._base[number]], start=piece.start + int(self._offset[number]))

    def atom(self, ref: Ref) -> Atom:
        """Return the value of ``ref`` in the new tape."""
        if type(ref) is Var and not self.has_moved(ref):
            return ref
        piece = self.place(ref)
        if type(piece) is Lit:
            return piece
        simple = simplest(piece)
        if not isinstance(simple, Piece):
            return simple
        known = self.known.get(piece)
        if known is None:
            known = self.known[piece] = self._read(piece)
        return known

    def _read(self, piece: Piece) -> Atom:
        base, start, shape, strides = piece
        index = _as_index(base.aval.shape, start, shape, strides)
        if index is not None:
            return slice_(base, index=index)
        if piece.is_contiguous():
            flat = self._flat(base)
            return reshape(slice_(flat, index=((start, piece.aval.size, 1),)), shape=shape)
        return gather(self._flat(base), self.constant(_elements(piece)))

    def _flat(self, base: Atom) -> Atom:
        return self._shaped(base, (base.aval.size,))

    def _shaped(self, base: Atom, shape: tuple[int, ...]) -> Atom:
        if base.aval.shape == shape:
            return base
        key = (base, shape)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = reshape(base, shape=shape)
        return known

    def constant(self, array: Any) -> Atom:
        """Return a capture of the new tape that holds ``array``, which never changes."""
        key = (array.dtype.str, array.shape, array.tobytes())
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = Var(Aval(array.shape, array.dtype))
            array.flags.writeable = False
            self.captures.append(Capture(known, array, "table", True))
        return known

    # --------------------------------------------------------------------------------------------------- columns

    def column(self, read: Column) -> tuple[Atom, bool]:
        """Return an array whose first axis counts the entries, and True; or, if all entries are one value, that value,
        and False."""
        first = read.refs[0]
        if read.is_one():
            return self.atom(first), False
        base, start = self._base[read.value], read.start + self._offset[read.value]
        if is_one(base) and is_one(start) and is_one(read.form):
            return self.atom(first), False
        if self._is_literal[read.value].all():
            values = [a.base.value if type(a) is Piece else a.value for a in read.refs]  # type: ignore[union-attr]  # literals
            if all(v.tobytes() == values[0].tobytes() for v in values):
                return self.atom(first), False
            shape = as_piece(first).shape  # not () where a literal is repeated
            column = np.array(values, as_piece(first).aval.dtype).reshape(len(values), *[1] * len(shape))
            return self.constant(np.broadcast_to(column, (len(values), *shape)).copy()), True
        is_constant = self._is_constant[read.value]
        way = np.where(is_constant, -1, base), np.where(is_constant, 0, read.form)
        ends = np.flatnonzero((way[0][1:] != way[0][:-1]) | (way[1][1:] != way[1][:-1])) + 1
        groups = [slice(a, b) for a, b in pairwise([0, *ends.tolist(), len(read)])]  # each of one value and form
        return self._joined([self._stack(read.refs[g], start[g], bool(is_constant[g.start])) for g in groups]), True

    def _stack(self, refs: Sequence[Ref], starts: Numbers, is_constant: bool) -> Atom:
        """Return these pieces, stacked: of one value and one form, each from its element of ``starts`` on; or
        constants."""
        if is_constant:
            return self.constant(np.array([self._value(r) for r in refs]))
        first = self.place(refs[0])
        assert type(first) is Piece
        base, start, shape, _ = first
        n = len(refs)
        if n == 1:
            return reshape(self.atom(refs[0]), shape=(1, *shape))
        size = Aval(shape, INTP).size
        step = int(starts[1] - starts[0]) if is_one(np.diff(starts)) else 0
        if first.is_contiguous() and size and not (starts % size).any():
            rows = self._shaped(base, (base.aval.size // size, *shape)) if base.aval.size % size == 0 else None
            if rows is not None:
                if step and step % size == 0:
                    index = ((start // size, n, step // size), *[(0, m, 1) for m in shape])
                    return slice_(rows, index=index)
                return gather(rows, self.constant(starts // size))
        table = starts.reshape(n, *[1] * len(shape)) + _elements(first) - start
        return gather(self._flat(base), self.constant(table))

    def _value(self, ref: Ref) -> Any:
        if type(ref) is Lit:
            return ref.value
        piece = as_piece(ref)
        return self._constants[piece.base].reshape(-1)[_elements(piece)]

    def _joined(self, stacks: Sequence[Atom]) -> Atom:
        return stacks[0] if len(stacks) == 1 else concatenate(*stacks, axis=0)

    def stacked(self, read: Column) -> Atom:
        """Return the column as an array whose first axis counts the entries, also where all are one value."""
        atom, is_stacked = self.column(read)
        return atom if is_stacked else broadcast_to(atom, shape=(len(read), *atom.aval.shape))


def _elements(piece: Piece) -> Any:
    """Return the places of its elements."""
    grid = np.full(piece.shape, piece.start, np.intp)
    for axis, (n, stride) in enumerate(zip(piece.shape, piece.strides, strict=True)):
        shape = [1] * len(piece.shape)
        shape[axis] = n
        grid += np.arange(n, dtype=np.intp).reshape(shape) * stride
    return grid


def _as_index(
    around: tuple[int, ...], start: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[Any, ...] | None:
    """Return the static index of an array of shape ``around`` that gives these elements; None if there is none."""
    index: list[Any] = []
    left = list(zip(shape, strides, strict=True))
    for n, step in zip(around, steps_of(around), strict=True):
        at, start = divmod(start, step) if step else (0, start)
        if at >= n:
            return None
        if left and step and left[0][1] % step == 0 and _fits(at, left[0][0], left[0][1] // step, n):
            index.append((at, left[0][0], left[0][1] // step or 1))
            left.pop(0)
        else:
            index.append(at)
    return tuple(index) if not left and start == 0 else None


def is_readable(piece: Piece, around: Aval) -> bool:
    """Whether the elements of an array of this type are a view of it."""
    return piece.is_contiguous() or _as_index(around.shape, piece.start, piece.shape, piece.strides) is not None


def _fits(at: int, count: int, step: int, n: int) -> bool:
    return count >= 1 and step != 0 and 0 <= at + (count - 1) * step < n
