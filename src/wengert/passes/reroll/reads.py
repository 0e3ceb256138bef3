"""The operands of steps as columns of numbers, which say which value an operand is, and which piece of it.

A tape has a hundred thousand operands where it has a loop, and what becomes of them is asked of all at once. So values
have numbers, those that steps give in the order in which they are given, and what is asked is arithmetic on arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np

from wengert.passes.reroll.pieces import IterationStep, Piece, Ref, steps_of
from wengert.tape import Atom, Lit

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Form = tuple[tuple[int, ...], tuple[int, ...]]
"""The shape and the strides of a piece."""


class Column(NamedTuple):
    """Some operands that are read, one entry after the other."""

    refs: Sequence[Ref]
    value: Numbers
    """The number of the value that is read."""
    start: Numbers
    form: Numbers
    """The number of the shape and strides."""
    is_piece: np.ndarray[Any, np.dtype[np.bool_]]

    def __len__(self) -> int:
        return len(self.refs)

    def at(self, entries: slice) -> Column:
        refs, value, start, form, is_piece = self
        return Column(refs[entries], value[entries], start[entries], form[entries], is_piece[entries])

    def where(self, mask: np.ndarray[Any, Any]) -> Column:
        refs, value, start, form, is_piece = self
        return Column([*compress(refs, mask)], value[mask], start[mask], form[mask], is_piece[mask])

    def is_one(self) -> bool:
        """Whether all entries are the same."""
        return all(map(is_one, self[1:]))


def is_one(entries: np.ndarray[Any, Any]) -> bool:
    """Whether all entries are the same."""
    return bool((entries == entries[0]).all())


class Reads:
    """The operands of all steps, and the outputs of the tape, with numbers for the values that they are pieces of."""

    def __init__(self, steps: Sequence[IterationStep], outputs: Sequence[Ref]) -> None:
        self.steps = steps
        self.values: list[Atom] = list(chain.from_iterable([s.outs for s in steps]))
        """The values; each stands at its number."""
        self.made = len(self.values)
        """The number of those that steps give, which come first."""
        self.number: dict[Atom, int] = dict(zip(self.values, range(self.made), strict=True))
        self.forms: dict[Form, int] = {((), ()): 0}
        counts = np.fromiter([len(s.refs) for s in steps], np.int64, len(steps))
        self.first_out = _begins(np.fromiter([len(s.outs) for s in steps], np.int64, len(steps)))
        """Return the number of each step's first output."""
        self._first_ref = _begins(counts)
        self._all = self.column([*chain.from_iterable([s.refs for s in steps]), *outputs])
        reader = np.repeat(np.arange(len(steps) + 1), [*counts, len(outputs)])
        self.last_use = np.full(len(self.values), -1)
        """Return the last step that reads each value; outputs of the tape are read behind all steps."""
        self.last_use[self._all.value] = reader

    def column(self, refs: Sequence[Ref]) -> Column:
        is_piece = [type(r) is Piece for r in refs]
        bases: list[Atom] = [r[0] if type(r) is Piece else r for r in refs]  # type: ignore[misc]  # no Piece: an atom
        number = self.number
        if not all(map(number.__contains__, bases)):
            for a in bases:
                if a not in number:
                    number[a] = len(self.values)
                    self.values.append(a)
        value = np.array([number[a] for a in bases], np.int64)
        start = np.array([r[1] if type(r) is Piece else 0 for r in refs], np.int64)
        form = np.array([self._form(r) for r in refs], np.int64)
        return Column(refs, value, start, form, np.array(is_piece, bool))

    def _form(self, ref: Ref) -> int:
        """Return the number of its shape and strides: 0 for scalars, which most are."""
        if type(ref) is Piece:
            return self.forms.setdefault(ref[2:], len(self.forms)) if ref[2] else 0
        shape = ref.aval.shape
        return self.forms.setdefault((shape, steps_of(shape)), len(self.forms)) if shape else 0

    def operand(self, step: int, o: int, period: int, count: int) -> Column:
        """Return the operand number ``o`` of ``step`` and of every ``period``-th step after it, ``count`` in all. A
        step and the one a period after it have as many operands."""
        first = int(self._first_ref[step])
        width = int(self._first_ref[step + period]) - first
        return self._all.at(slice(first + o, first + o + width * count, width or 1))

    def is_literal(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return for each value whether it is a literal."""
        found = np.zeros(len(self.values), bool)
        found[self.made :] = [type(a) is Lit for a in self.values[self.made :]]
        return found


def _begins(counts: Numbers) -> Numbers:
    return np.concatenate([[0], np.cumsum(counts)])
