"""Contexts that are entered when they are made: the Python form of native/context.h.

Entering stands in the constructor, and leaving in ``__exit__`` or, where an exception ends the block before that is
called, in ``__del__``. In C no signal can come in between. Here one can (Ctrl-C, between any two bytecodes), so what
is changed is noted before it is changed, and is changed back until that is done: an interrupted context is left when
it is freed. That is at once where the exception is handled, and as late as its traceback is let go of where somebody
keeps that; with the compiled modules it is at once always.
"""

from __future__ import annotations

import threading
import weakref
from types import TracebackType
from typing import Any, ClassVar


class EnteredContext:
    """A context that is entered when it is made; a class says by :meth:`enter` and :meth:`leave` what that changes."""

    __slots__ = ("__weakref__", "_is_entered", "_thread")

    _entered: ClassVar[dict[int, weakref.ref[Any]]]  # those of the class that are entered now, by id, in that order

    def __init_subclass__(cls) -> None:
        cls._entered = {}

    def begin(self) -> None:
        """Enter the context: what a constructor calls when the fields are set."""
        is_first = not self._entered
        self._thread = threading.get_ident()
        self._is_entered = True  # before it is done: then what was interrupted is undone
        self._entered[id(self)] = weakref.ref(self)
        try:
            self.enter(is_first)
        except BaseException:  # any, Ctrl-C too: what was done so far is undone, and it goes on
            self.end()
            raise

    def end(self) -> None:
        """Leave the context, once."""
        if not getattr(self, "_is_entered", False):
            return
        is_last = len(self._entered) == 1 and id(self) in self._entered
        self.leave(is_last)
        self._is_entered = False
        self._entered.pop(id(self), None)

    def enter(self, is_first: bool) -> None:
        """Change something. ``is_first``: no context of this kind is entered, in any thread."""
        raise NotImplementedError

    def leave(self, is_last: bool) -> None:
        """Change it back. It must not fail."""
        raise NotImplementedError

    def entered(self) -> Any:
        """Return what ``as`` gives."""
        return None

    def exited(self, is_error: bool) -> Any:
        """Say what is to be said once the context is left, as ``__exit__`` does."""
        return None

    def __enter__(self) -> Any:
        return self.entered()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Any:
        try:
            self.end()
        except BaseException:  # any: most of all Ctrl-C, which comes in between
            self.end()
            raise
        return self.exited(kind is not None)

    def __del__(self) -> None:
        self.end()

    @classmethod
    def leave_those_of_other_threads(cls) -> None:
        """Leave, in a child process, what threads have entered that are not in it, and will never leave it."""
        for reference in reversed(list(cls._entered.values())):
            one = reference()
            if one is not None and one._thread != threading.get_ident():
                one.end()
