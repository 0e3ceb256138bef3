"""Cotangents and tangents that are known by structure, so that zeros cost nothing.

A dense cotangent is an atom. A structured one says more than an array of numbers would: where it counts
(:class:`Masked`), that it is one scalar everywhere (:class:`Fill`), a diagonal (:class:`Diagonal`), or values at
indices (:class:`ScatteredSum`). The rules of ops return them, and the rule ``structured`` of an op takes them. How they
are added and multiplied, and become dense as late as possible, is in :mod:`wengert.ad.cotangents`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from wengert.tape import Atom, Aval, Lit


class Masked(NamedTuple):
    """A partial derivative, a tangent or a cotangent that counts only where ``mask`` holds and is zero elsewhere.

    It is applied by selection, never by multiplying with zero, so that no NaN leaks from the branch not taken.
    """

    mask: Any
    """An atom, or :class:`Marks`."""
    value: Any
    holds: bool = True
    """If False, it counts where ``mask`` does not hold. So the two branches of a selection share one mask."""
    is_clean: bool = False
    """If True, the value is zero already where it does not count, so it is dense as it stands; the mask is kept since
    the next factor may be infinite there."""


class Fill(NamedTuple):
    """A cotangent that is one scalar everywhere, as the pullback of a full sum gives."""

    value: Atom
    aval: Aval


class Diagonal(NamedTuple):
    """A cotangent of shape (n, n) that is zero off its diagonal; ``value`` is float[n], or one scalar."""

    value: Atom
    aval: Aval


class ScatteredTerm(NamedTuple):
    """``value`` at ``index`` (static, see :mod:`wengert.ops.index`) or at the arrays ``indices``."""

    value: Atom
    index: tuple[Any, ...] | None
    indices: tuple[Atom, ...] = ()


class ScatteredSum(NamedTuple):
    """A cotangent that is ``base`` (None: zero) plus parts at indices, as the pullback of reading ``x[i]`` gives.

    The parts are kept apart for as long as possible, so that n reads of one array cost n parts and one buffer.
    """

    base: Any
    joined: tuple[Any, ...]
    """Each entry is a :class:`ScatteredTerm` or such a tuple: so two sums of many parts are added in constant time."""
    aval: Aval

    @property
    def parts(self) -> list[ScatteredTerm]:
        """All parts, in the order in which they are added. It takes time linear in their number."""
        return list(self._each())

    def few_parts(self, most: int) -> list[ScatteredTerm] | None:
        """The parts if there are at most ``most``, else None; it looks at no more than these."""
        found = list(itertools.islice(self._each(), most + 1))
        return found if len(found) <= most else None

    def _each(self) -> Iterator[ScatteredTerm]:
        todo: list[Any] = [self.joined]
        while todo:
            last = todo.pop()
            if isinstance(last, ScatteredTerm):
                yield last
            else:
                todo += reversed(last)


Structured = Masked | Fill | Diagonal | ScatteredSum
"""A cotangent that is known by structure."""

Cotangent = Atom | Structured | None
"""A cotangent, dense or known by structure; None is zero."""


class Hole(NamedTuple):
    """A place, as that of a :class:`ScatteredTerm`, that was overwritten: the elements that stood there have no
    cotangent."""

    index: tuple[Any, ...] | None
    indices: tuple[Atom, ...] = ()


class Marks(NamedTuple):
    """A description of the mask of a clean :class:`Masked`, from which the mask is built only if it is read; most are
    not.

    The mask is ``rest``, on which is written, one after the other, true at parts and false at holes. So a chain of
    writes into one array costs one hole for each write.
    """

    rest: Atom
    joined: tuple[Any, ...]
    """Each entry is a :class:`ScatteredTerm`, a :class:`Hole` or such a tuple, the oldest first."""
    aval: Aval

    def newest_first(self) -> Iterator[ScatteredTerm | Hole]:
        todo: list[Any] = [self.joined]
        while todo:
            last = todo.pop()
            if isinstance(last, ScatteredTerm | Hole):
                yield last
            else:
                todo += last


def marks_of(ct: Cotangent, aval: Aval) -> Marks | None:
    """The marks of where a cotangent counts, by its structure; None if it counts everywhere."""
    if isinstance(ct, ScatteredSum):
        under = Marks(Lit(False), (), aval) if ct.base is None else marks_of(ct.base, aval)
        return None if under is None else under._replace(joined=(under.joined, ct.joined))
    if not isinstance(ct, Masked):
        return None
    return ct.mask if isinstance(ct.mask, Marks) else Marks(ct.mask if ct.holds else ~ct.mask, (), aval)
