"""Arrays that nobody may write while a trace is open, so that no write is lost.

A tape is run after it was recorded, and would then read what has been written meanwhile. So an array that a tape will
read is *locked*: a write is refused where it is made. Where that may not be, since another thread may want to write the
array, its digest is compared when the trace ends.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.errors import WrittenMeanwhileError, message
from wengert.tape import Aval
from wengert.tracing.interception import _opened
from wengert.tracing.lending import Lent
from wengert.tracing.stack import open_traces

if TYPE_CHECKING:
    from wengert.tracing.trace import Trace
    from wengert.tracing.tracer import Tracer

SAME_MEMORY = "the same memory is passed twice, so a write through one argument would have to be seen through the other"
READ_ALREADY = "the array is an argument of a function that is being traced, which may have read it already"
SHARED = (SAME_MEMORY, READ_ALREADY)
"""The reasons why an array is read-only while somebody else holds its memory too."""


class ReadOnly:
    """The arrays that one trace keeps from being written. native/opened.cpp gives them back when it is closed."""

    __slots__ = ("_digests", "_locked", "given_away", "lent", "lent_traced")

    def __init__(self) -> None:
        self.lent: list[np.ndarray[Any, Any]] = []
        """The arrays that were made read-only until the trace ends."""
        self.lent_traced: list[Tracer] = []
        """The arrays of enclosing traces that were."""
        self.given_away: list[Lent] = []
        """The copies of arrays made inside that code which is not traced was given: see lending.py."""
        self._locked: dict[int, np.ndarray[Any, Any]] = {}
        """The user's arrays that the tape reads when it runs, by their ids."""
        self._digests: list[tuple[np.ndarray[Any, Any], int]] = []
        """Arrays that are not read-only, each with a number that tells whether it has been written since."""

    def lock(self, array: np.ndarray[Any, Any]) -> None:
        """Let nobody write ``array`` before the trace ends, or let :meth:`end` find out that somebody did."""
        self._locked[id(array)] = array
        if not _opened.lend(self.lent, array):
            self._digests.append((array, _opened.digest(array)))

    def lock_traced(self, x: Tracer) -> None:
        """Lock an array of an enclosing trace, and what shares its memory: it is passed in the end."""
        root = x.root()
        if not root._why_readonly:
            self.lent_traced.append(root)
            root._why_readonly = READ_ALREADY

    def locked_view(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return what a function is given for an array that it may not write: itself, or a view if others may write
        it."""
        self.lock(array)
        if not array.flags.writeable:
            return array
        view = array.view()
        view.flags.writeable = False
        return view

    def has_locked(self, x: object) -> bool:
        return id(x) in self._locked

    def end(self, trace: Trace, is_error: bool) -> None:
        """Let go of all arrays. Unless the trace ended by an error, raise MutationError if an array was written that is
        going to be read."""
        digests, given_away = self._digests, self.given_away
        self._digests, self.given_away = [], []
        self.lent.clear()
        self.lent_traced.clear()
        self._locked.clear()
        if is_error:
            return
        for array, before in digests:
            if _opened.digest(array) != before:
                raise WrittenMeanwhileError(
                    message(
                        f"an array of {Aval(array.shape, array.dtype)} was written, in this thread or another, while "
                        f"{trace.name} was traced, which reads it",
                        trace.locate(),
                        tries=["a copy for the function, or for whoever writes: x.copy()"],
                    )
                )
        for lent in given_away:
            lent.check_unwritten()


is_lent = _opened.is_lent
"""Whether an array is read-only for the time of an open trace, of any thread."""


def writes_no_arrays() -> AbstractContextManager[None]:
    """Return a context in which this thread writes no array of the user's, so that another may lend one to a trace."""
    return _opened.harmless()


def is_readonly(array: np.ndarray[Any, Any]) -> bool:
    """Whether its owner has made an array read-only, rather than a trace of some thread for its time."""
    return not array.flags.writeable and not _opened.is_lent(array)


def is_locked(x: object) -> bool:
    """Whether an open trace of this thread reads ``x`` when its tape runs."""
    return any(t.read_only.has_locked(x) for t in open_traces())


def is_read_later(x: object) -> bool:
    """Whether ``x`` is locked, or an array that it is a view of."""
    while isinstance(x, np.ndarray):
        if is_locked(x):
            return True
        x = x.base
    return False
