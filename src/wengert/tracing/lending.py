"""Code that is not traced is given a copy of the numbers of an array made inside.

In NumPy it would be given the memory itself. So as long as it, or what it made of it, lives, the array is not written,
for there the write would not be seen. And what compiled code writes into the copy, be it read-only or not (functions of
f2py do, and what was given an address), would not be seen in the array: that is found out by a digest, at the latest
when the trace ends, whoever wrote and however that code was called.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.errors import MutationError, message
from wengert.source import Source
from wengert.tape import Aval
from wengert.tracing.interception import _opened

if TYPE_CHECKING:
    from wengert.tracing.trace import Trace


class Lent:
    """A copy that was given away, where, and what tells whether it has been written since.

    What is written into it matters if the array is read afterwards: not so of one that was made for the call alone,
    ``f(x.copy())``.
    """

    __slots__ = ("array", "before", "is_read", "place")

    def __init__(self, array: np.ndarray[Any, Any], place: Source | None, is_read: bool) -> None:
        self.array: np.ndarray[Any, Any] | None = array
        self.before = _opened.digest(array)
        self.place = place
        self.is_read = is_read
        """Whether the array that it is a copy of has been read since."""

    def is_held(self) -> bool:
        """Whether somebody else has the copy, or a view of it."""
        return self.array is not None and sys.getrefcount(self.array) > _UNHELD

    def is_written(self) -> bool:
        return self.array is not None and _opened.digest(self.array) != self.before

    def note_read(self) -> None:
        """Note that the array is read now. Raise if its copy has been written, and nobody is to write it any more."""
        self.is_read = True
        self.let_go()

    def check_unwritten(self) -> None:
        """Raise if code that is not traced has written into the copy, and the array has been read since."""
        if self.is_read and self.is_written():
            assert self.array is not None
            aval = Aval(self.array.shape, self.array.dtype)
            what = f"code that is not traced was given {aval} as NumPy's array, and has written into it"
            tries = [
                "wg.primitive around the call, which returns what was written",
                "make the call before, outside of the traced function",
            ]
            raise MutationError(message(f"{what}, which the traced function does not see", self.place, tries=tries))

    def let_go(self) -> bool:
        """Whether nobody can write the copy any more, nor needs it to tell whether it was written."""
        if self.is_held():
            return False
        self.check_unwritten()
        if not self.is_written():
            self.array = None
        return True


_UNHELD = 2  # by the Lent, and by the question


def lend(trace: Trace, array: np.ndarray[Any, Any], place: Source | None, is_read: bool) -> Lent:
    """Note that ``array`` is given away; and look at what nobody has any more, for it will not be written again."""
    read_only = trace.read_only
    read_only.given_away = [lent for lent in read_only.given_away if not lent.let_go()]
    read_only.given_away.append(lent := Lent(array, place, is_read))
    return lent
