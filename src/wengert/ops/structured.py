"""Cotangents and tangents that are known by structure, so that what is zero costs nothing.

A dense one is an atom; these say more than an array of its numbers would: where it counts (:class:`Masked`), that it is
one scalar everywhere (:class:`Fill`), a diagonal (:class:`Diagonal`), or values at indices (:class:`Parts`). The rules
of ops return them, and the rule ``structured`` of an op is given them. How they are added and multiplied, and become
dense as late as possible, is in :mod:`wengert.ad.cotangents`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from wengert.tape import Atom, Aval, Lit


class Masked(NamedTuple):
    """A partial derivative, a tangent or a cotangent that counts only where ``mask`` holds and is zero elsewhere.

    Applied by selection, never by multiplying with zero, so that no NaN leaks from the branch not taken.
    """

    mask: Any
    """An atom, or :class:`Marks`."""
    value: Any
    holds: bool = True
    """False: it counts where ``mask`` does not hold. The two branches of a selection so share one mask."""
    is_clean: bool = False
    """The value is zero already where it does not count, so it is dense as it stands; the mask is kept for what
    it is multiplied with next, which may be infinite there."""


class Fill(NamedTuple):
    """A cotangent that is one scalar everywhere: what the pullback of a full sum gives."""

    value: Atom
    aval: Aval


class Diagonal(NamedTuple):
    """A cotangent of shape (n, n) that is zero off its diagonal; ``value`` is float[n], or one scalar."""

    value: Atom
    aval: Aval


class Part(NamedTuple):
    """``value`` at ``index`` (static, see :mod:`wengert.ops.index`) or at the arrays ``indices``."""

    value: Atom
    index: tuple[Any, ...] | None
    indices: tuple[Atom, ...] = ()


class Parts(NamedTuple):
    """A cotangent that is ``base`` (None: zero) plus parts at indices: what reading ``x[i]`` gives.

    Kept apart for as long as possible, so that n reads of one array cost n parts and one buffer.
    """

    base: Any
    joined: tuple[Any, ...]
    """:class:`Part`, and such tuples: the sum of two takes no longer for being of many parts."""
    aval: Aval

    @property
    def parts(self) -> list[Part]:
        """All of them, the first to be added first. Takes as long as there are parts."""
        return list(self._each())

    def few_parts(self, most: int) -> list[Part] | None:
        """The parts, if there are no more than ``most``; takes no longer if there are."""
        found = list(itertools.islice(self._each(), most + 1))
        return found if len(found) <= most else None

    def _each(self) -> Iterator[Part]:
        todo: list[Any] = [self.joined]
        while todo:
            last = todo.pop()
            if isinstance(last, Part):
                yield last
            else:
                todo += reversed(last)


class Hole(NamedTuple):
    """A place as that of a :class:`Part`, where something else was written: what was there has no cotangent."""

    index: tuple[Any, ...] | None
    indices: tuple[Atom, ...] = ()


class Marks(NamedTuple):
    """The mask of a :class:`Masked` that is clean, before it is written: most masks are never read.

    It is what ``rest`` says, and then, one after the other, true at parts and false at holes. So a chain of writes into
    one array costs one hole a write.
    """

    rest: Atom
    joined: tuple[Any, ...]
    """:class:`Part`, :class:`Hole`, and such tuples, the oldest first."""
    aval: Aval

    def newest_first(self) -> Iterator[Part | Hole]:
        todo: list[Any] = [self.joined]
        while todo:
            last = todo.pop()
            if isinstance(last, Part | Hole):
                yield last
            else:
                todo += last


def marks_of(ct: Any, aval: Aval) -> Marks | None:
    """Where a cotangent counts, by its structure; None if it counts everywhere."""
    if isinstance(ct, Parts):
        under = Marks(Lit(False), (), aval) if ct.base is None else marks_of(ct.base, aval)
        return None if under is None else under._replace(joined=(under.joined, ct.joined))
    if not isinstance(ct, Masked):
        return None
    return ct.mask if isinstance(ct.mask, Marks) else Marks(ct.mask if ct.holds else ~ct.mask, (), aval)
