"""One run of a user's function while it is being recorded.

A :class:`Trace` owns a builder. Traced arrays (:mod:`wengert.tracing.tracer`) hand it steps, and it finds the user's
source line. Each of its other tasks has a file of its own:

* :mod:`~wengert.tracing.stack`: which traces are open, and which of them records a step;
* :mod:`~wengert.tracing.lifting`: what a trace takes in that does not belong to it;
* :mod:`~wengert.tracing.looking`: what happens when the function looks at a value;
* :mod:`~wengert.tracing.read_only`: which arrays nobody may write meanwhile.

A trace that has ended is closed, and using its values raises. The body of a loop or a branch is an abstract trace too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.errors import InternalError
from wengert.source import Source
from wengert.tape import Atom, Builder, Tape, building
from wengert.tracing._steps import Steps, TraceState
from wengert.tracing.callers import KNOWN_INTERNAL, is_internal
from wengert.tracing.counted import Noting, RunCounts
from wengert.tracing.generators import Generators
from wengert.tracing.interception import _opened
from wengert.tracing.lifting import Lifted
from wengert.tracing.looking import Looking
from wengert.tracing.python.lines import Lines
from wengert.tracing.read_only import ReadOnly
from wengert.tracing.stack import current_trace, open_traces

if TYPE_CHECKING:
    from wengert.tracing.decisions import Decisions
    from wengert.tracing.tracer import Tracer


class WholeRun(NamedTuple):
    """Facts about the run of a whole function (whole.py), which hold for the traces within it too."""

    known: dict[int, tuple[Any, str, bool]] | None = None
    """The captured arrays whose origin is known, which a compiled program may read again at every call: ``id(array)``
    to (array, name, is_constant). None if the run will not be repeated."""
    is_rolled: bool = True
    """Whether loops that were unrolled are rolled up again before a derivative is taken of what is recorded."""
    counts: RunCounts | None = None
    """The loops of the compiled function: see counted.py."""
    outlets: tuple[Any, ...] = ()
    """The places where text for people went when the run began: see text.py."""
    generators: Generators | None = None
    """The generators that the run found in its surroundings. None: they are drawn from at once."""
    watches: Callable[[Any], bool] = lambda x: False
    """Whether a module, a class or the globals of functions are watched for changes: see Environment.watches."""
    depends: Callable[[str, Callable[[], Any]], None] = lambda name, read: None
    """Let what was recorded hold only while ``read()`` gives what it gives now: see Environment.depends."""
    is_closed: bool = False
    """Whether an array of unknown origin must be what it would be in any other run: see purity.py."""
    doubt: str = ""
    """The reason why it need not be, in words."""


NOT_WHOLE = WholeRun()
"""The run of a function that is recorded for a transform of one call."""


class Trace(TraceState):
    """The record of one run. ``concrete`` says whether values can be looked at (a batch has no single value)."""

    def __init__(
        self,
        name: str,
        concrete: bool = True,
        why_abstract: str = "",
        run: WholeRun = NOT_WHOLE,
    ) -> None:
        self.name = name
        self.concrete = concrete
        self.why_abstract = why_abstract
        self.run = run
        self.builder = Builder()
        self.builder.locate = self.locate
        self.lifted = Lifted()
        self.read_only = ReadOnly()

    # What most runs leave as it is, since making a trace is a good part of an un-jitted call.
    decisions: Decisions | None = None
    """The decisions of this run, if it is that of the body of a loop or a branch: see decisions.py."""
    owns = False
    """Whether a body without values records all that is done in it, be it on values of enclosing traces alone: what
    may not be reached is not done before."""
    level = 0
    any_length = False  # see Tape
    unrepeatable = ""
    """The reason why this run cannot be replayed: it met a concrete array of unknown origin. Empty if it can."""
    _overtaken: Sequence[Trace] = ()
    _marks: Sequence[int] = ()  # how far the enclosing traces had come when this one was opened

    looking: Looking
    noting: Noting
    _lines: Lines

    def __getattr__(self, name: str) -> Any:
        """Make these three when they are asked for first."""
        make = _MADE_WHEN_ASKED.get(name)
        if make is None:
            raise AttributeError(f"a trace has no {name}")
        made = self.__dict__[name] = make()
        return made

    # ------------------------------------------------------------------------------------------------ life

    def opened(self) -> AbstractContextManager[Trace]:
        """Return a context in which the trace is open. Whatever ends the block, at whatever place, nothing stays
        behind.

        Here the trace alone is changed: what others see, the enclosing traces and the process, is native/opened.cpp's.
        """
        traces = open_traces()
        if traces and self.run is NOT_WHOLE:
            self.run = traces[-1].run  # what an enclosing run may read again, this one may
        self.level = len(traces) + 1
        if traces:
            self._marks = [len(t.builder) for t in traces]
            self._overtaken = [t for t in traces if t.is_direct] if self.concrete else []
        return _opened.opened(self, traces)

    def own_all(self) -> None:
        """Record from now on what does not depend on this trace's values, too."""
        if self.owns:
            return
        self.owns = True
        traces = open_traces()
        below = traces[: self.level - 1]
        for inner in traces[self.level :]:  # which were opened since, and give back what they overtook
            for t in [t for t in inner._overtaken if t in below]:
                t.is_direct = True
            inner._overtaken = [t for t in inner._overtaken if t not in below]
        self._overtaken = [t for t in below if t.is_direct]
        for t in self._overtaken:
            t.is_direct = False

    def _ended(self, is_error: bool) -> None:
        """Let go of the values that were looked at, so that they go when the call ends; raise MutationError if an array
        was written that is going to be read."""
        outer = current_trace()
        if outer is not None:
            outer.unrepeatable = outer.unrepeatable or self.unrepeatable
        self.run = NOT_WHOLE
        self.builder.locate = None
        if self.steps is not None:
            self.steps.end()
            self.steps = self.builder.steps = self.lifted.steps = None
        self._overtaken = ()
        made = self.__dict__
        if "_lines" in made:
            self._lines.clear()
        if "noting" in made:
            self.noting.kept.clear()
        if "looking" in made:
            self.looking.end()
        self.lifted.end()
        self.read_only.end(self, is_error)

    def saw_made(self, atom: Atom, outer: Trace) -> bool:
        """Whether an enclosing trace recorded ``atom`` while this one was open: the inner function made it."""
        return any(atom in instr.outs for instr in outer.builder.since(self._marks[outer.level - 1]))

    def is_from_outside(self, root: Tracer) -> bool:
        """Whether an array was made before this trace was opened."""
        if root._trace.level >= self.level:
            return False
        return root._atom is None or not self.saw_made(root._atom, root._trace)

    # --------------------------------------------------------------------------------------------- recording

    def take_from(self, steps: Steps) -> None:
        """Let this run, of a function whose earlier runs took ``steps``, take the same ones again. Another run may be
        going on, in a thread or further out, that does; then this one takes none."""
        if steps.begin(self, self.builder.recorded(), open_traces()):
            self.steps = self.builder.steps = self.lifted.steps = steps

    def tape(self, outputs: Sequence[Atom]) -> Tape:
        """Return what was recorded. Implicit inputs stand behind the explicit ones, in their order."""
        lifted = self.lifted
        return Tape(
            inputs=(*lifted.inputs, *[i.var for i in lifted.implicit.values()]),
            captures=tuple(lifted.captures.values()),
            instrs=self.builder.instrs,
            outputs=tuple(outputs),
            name=self.name,
            any_length=self.any_length,
        )

    def formula(self, f: Callable[..., Any], *atoms: Any) -> Any:
        """Return ``f(*atoms)``, written in ops, recorded on this trace under the user's present line."""
        with building(self.builder):
            return f(*atoms)

    def locate(self) -> Source | None:
        """Return the user's line that is being executed, with the calls that led to it."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and (KNOWN_INTERNAL.get(frame.f_globals.get("__name__")) or is_internal(frame)):
            frame = frame.f_back
        return None if frame is None else self._lines.at(frame)

    def where(self) -> str:
        """Return the user's line in words."""
        source = self.locate()
        return "?" if source is None else f"{source.file}:{source.line}"


_MADE_WHEN_ASKED: dict[str, Callable[[], Any]] = {
    "looking": Looking,
    "noting": Noting,
    "_lines": partial(Lines, is_internal),
}

_opened.setup(np.ndarray, InternalError)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_opened.forked)
