"""Pieces, one of each iteration, as one array: slices where they follow one another, else gathered by a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from wengert.ops.index import INTP, gather, slice_
from wengert.ops.shape import broadcast_to, concatenate, reshape
from wengert.passes.reroll.pieces import Piece, Ref, as_piece, simplest, steps_of
from wengert.tape import Atom, Aval, Capture, Lit, Var


class Rolled(NamedTuple):
    """Where the values of a step stand that was rolled up."""

    atom: Atom
    first: int | None
    """The iteration whose value stands first; None: all iterations have this one."""


class Places:
    """Where values of the tape as it was stand in the tape that is made; on which ``emit`` and ops append."""

    def __init__(self, captures: Sequence[Capture]) -> None:
        self.rolled: list[Rolled] = []
        self.where: dict[Atom, tuple[int, int]] = {}
        """Of a value: its number in ``rolled``, and its iteration."""
        self.captures = list(captures)
        self._constants: dict[Atom, Any] = {c.var: c.array for c in captures if c.is_constant}
        self.known: dict[Any, Atom] = {}

    def place(self, ref: Ref) -> Piece | Lit:
        """``ref`` as a piece of a value of the new tape."""
        if type(ref) is Lit:
            return ref
        piece = ref if type(ref) is Piece else as_piece(ref)
        found = self.where.get(piece.base)
        if found is None:
            return piece
        rolled, k = self.rolled[found[0]], found[1]
        offset = 0 if rolled.first is None else (k - rolled.first) * piece.base.aval.size
        return piece._replace(base=rolled.atom, start=piece.start + offset)

    def atom(self, ref: Ref) -> Atom:
        """The value of ``ref``."""
        if type(ref) is Var and ref not in self.where:
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
        """An array that never changes."""
        key = (array.dtype.str, array.shape, array.tobytes())
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = Var(Aval(array.shape, array.dtype))
            array.flags.writeable = False
            self.captures.append(Capture(known, array, "table", True))
        return known

    # --------------------------------------------------------------------------------------------------- columns

    def column(self, refs: Sequence[Ref]) -> tuple[Atom, bool]:
        """What stands at ``refs``: an array of which the first axis counts them, and True; or, if it is the same for
        all, that value, and False."""
        first = refs[0]
        if all(r is first for r in refs) or all(r == first for r in refs):
            return self.atom(first), False
        places = [self.place(r) for r in refs]
        if all(p == places[0] for p in places):
            return self.atom(first), False
        if all(type(p) is Lit for p in places):
            values = [p.value for p in places]  # type: ignore[union-attr]
            if all(v.tobytes() == values[0].tobytes() for v in values):
                return places[0], False  # type: ignore[return-value]
            return self.constant(np.array(values, places[0].aval.dtype)), True
        groups = [list(g) for _, g in groupby(places, key=self._kind)]
        return self._joined([self._stack(g) for g in groups]), True

    def _kind(self, p: Piece | Lit) -> Any:
        """Equal for places that are read together: of one base in one way; or of constants."""
        if type(p) is Lit or p.base in self._constants:
            return None
        return p.base, p.shape, p.strides

    def _stack(self, places: Sequence[Piece | Lit]) -> Atom:
        first = places[0]
        if self._kind(first) is None:
            return self.constant(np.array([self._value(p) for p in places]))
        assert type(first) is Piece
        starts = np.array([p.start for p in places])  # type: ignore[union-attr]
        base, start, shape, _ = first
        size = Aval(shape, INTP).size
        steps = np.unique(np.diff(starts))
        step = int(steps[0]) if len(steps) == 1 else 0
        n = len(places)
        if n == 1:
            return reshape(self.atom(first), shape=(1, *shape))
        if first.is_contiguous() and size and start % size == 0 and not (starts % size).any():
            rows = self._shaped(base, (base.aval.size // size, *shape)) if base.aval.size % size == 0 else None
            if rows is not None:
                if step and step % size == 0:
                    index = ((start // size, n, step // size), *[(0, m, 1) for m in shape])
                    return slice_(rows, index=index)
                return gather(rows, self.constant(starts // size))
        table = starts.reshape(n, *[1] * len(shape)) + _elements(first) - start
        return gather(self._flat(base), self.constant(table))

    def _value(self, p: Piece | Lit) -> Any:
        if type(p) is Lit:
            return p.value
        return self._constants[p.base].reshape(-1)[_elements(p)]

    def _joined(self, stacks: Sequence[Atom]) -> Atom:
        return stacks[0] if len(stacks) == 1 else concatenate(*stacks, axis=0)

    def stacked(self, refs: Sequence[Ref]) -> Atom:
        """The column, also where it is the same for all."""
        atom, is_stacked = self.column(refs)
        return atom if is_stacked else broadcast_to(atom, shape=(len(refs), *atom.aval.shape))


def _elements(piece: Piece) -> Any:
    """The places of its elements."""
    grid = np.full(piece.shape, piece.start, np.intp)
    for axis, (n, stride) in enumerate(zip(piece.shape, piece.strides, strict=True)):
        shape = [1] * len(piece.shape)
        shape[axis] = n
        grid += np.arange(n, dtype=np.intp).reshape(shape) * stride
    return grid


def _as_index(
    around: tuple[int, ...], start: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[Any, ...] | None:
    """The static index of an array of shape ``around`` that gives these elements, if there is one."""
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
