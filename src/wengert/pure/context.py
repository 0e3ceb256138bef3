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

from wengert.locks import lock


class EnteredContext:
    """A context that is entered when it is made; a class says by :meth:`enter` and :meth:`leave` what that changes."""

    __slots__ = ("_is_entered",)

    def begin(self) -> None:
        """Enter the context: what a constructor calls when the fields are set."""
        self._is_entered = True  # before it is done: then what was interrupted is undone
        try:
            self.enter()
        except BaseException:  # any, Ctrl-C too: what was done so far is undone, and it goes on
            self.end()
            raise

    def end(self) -> None:
        """Leave the context, once."""
        if getattr(self, "_is_entered", False):
            try:
                self.leave()
            except Exception:  # any: a mistake made in leaving is no reason to leave twice
                self._is_entered = False
                raise
            self._is_entered = False

    def enter(self) -> None:
        """Change something."""
        raise NotImplementedError

    def leave(self) -> None:
        """Change it back, as far as it was changed: it may be called again where it was interrupted."""
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


_changing = lock()
"""The lock that is held while a context is entered or left of which the first, or the last, changes something."""


class CountedContext(EnteredContext):
    """A context of which it is known how many are entered, in all threads: the first one changes something for all."""

    __slots__ = ("__weakref__", "_thread")

    _entered: ClassVar[dict[int, weakref.ref[Any]]]  # those of the class that are entered now, by id, in that order

    def __init_subclass__(cls) -> None:
        cls._entered = {}

    def begin(self) -> None:
        self._thread = threading.get_ident()
        with _changing:
            super().begin()

    def end(self) -> None:
        if getattr(self, "_is_entered", False):
            with _changing:
                super().end()

    def enter(self) -> None:
        is_first = not self._entered
        self._entered[id(self)] = weakref.ref(self)
        self.enter_as(is_first)

    def leave(self) -> None:
        is_last = self._entered.keys() <= {id(self)}
        try:
            self.leave_as(is_last)
        except Exception:  # any: as above
            self._entered.pop(id(self), None)
            raise
        self._entered.pop(id(self), None)

    def enter_as(self, is_first: bool) -> None:
        """Change something. ``is_first``: no other context of this kind is entered, in any thread."""
        raise NotImplementedError

    def leave_as(self, is_last: bool) -> None:
        """Change it back, as :meth:`leave` does."""
        raise NotImplementedError

    @classmethod
    def leave_those_of_other_threads(cls) -> None:
        """Leave, in a child process, what threads have entered that are not in it, and will never leave it."""
        for reference in reversed(list(cls._entered.values())):
            one = reference()
            if one is not None and one._thread != threading.get_ident():
                one.end()
