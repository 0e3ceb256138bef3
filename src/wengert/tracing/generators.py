"""The random generators that a function draws from, while it is traced.

A run that will be repeated must not draw by itself: each call of the program is to draw its own numbers. So what the
user's code asks of a ``np.random.Generator`` that it was passed, or captured, is recorded, and nothing has been drawn
when the trace ends. That holds as long as nobody needs the numbers meanwhile. Where the function looks at one (a
branch), where a library draws for it, or where it can get at the state itself, by the generator or by the bit generator
that has the state, the run begins again, and draws as Python would (:class:`DrawnAtOnce`): right, and traced again at
every call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

ASK_FOR_STATE = frozenset({"bit_generator", "_bit_generator", "getmembers", "getmembers_static"})
"""The names by which code gets at a generator's state, beside those by which it gets attributes of any name."""


class WalkAgain(Exception):
    """The function is to be traced anew, and is to see these objects themselves."""

    def __init__(self, objects: list[Any]) -> None:
        super().__init__(f"{len(objects)} objects")
        self.objects = objects


class DrawnAtOnce(WalkAgain):
    """Numbers of these generators are needed while the function is traced."""


class Found(NamedTuple):
    """A generator, and how it was met."""

    generator: Any
    name: str
    read: Any
    """A StateRead, which reads the generator's state, or puts it back."""
    state: Any


class Generators:
    """The generators that one run may draw from at every call of its program, by their ids."""

    def __init__(self) -> None:
        self.found: dict[int, Found] = {}
        self.at_once: set[int] = set()
        """The ids of those that were met and are drawn from while tracing."""
        self.is_recording = True
        """Whether those that are met from now on are drawn from at every call."""
        self.has_drawn = False
        """Whether a draw was recorded."""
        self.needed = False
        """Whether :class:`DrawnAtOnce` was raised, which the user's code may have caught."""

    def has(self, generator: Any) -> bool:
        return id(generator) in self.found

    def need(self) -> DrawnAtOnce:
        """Return the error that begins the run again."""
        self.needed = True
        return DrawnAtOnce([found.generator for found in self.found.values()])

    def check_undrawn(self) -> None:
        """Raise if a state is no longer what it was: compiled code has drawn, of whom nobody heard."""
        if self.needed or any(found.read() != found.state for found in self.found.values()):
            raise self.need()

    def put_back(self) -> None:
        """Let every generator draw again what was drawn from it."""
        for found in self.found.values():
            found.read.put(found.state)
