"""One run of a user's function while it is being recorded.

A :class:`Trace` owns a builder. Traced arrays (:mod:`wengert.tracing.tracer`) hand it steps; it finds the user's
source line, takes in what does not belong to it (*lifting*: numbers become literals, arrays are captured, values of
an enclosing trace become implicit inputs, so nested derivatives cannot confuse their perturbations), and evaluates
values on demand when the function looks at one (a *guard*).

Traces nest in a thread and form a stack. The innermost concrete trace records every step, so that steps, and guards
above all, stay in the order in which they were taken. An abstract one (a batch) records only what depends on its own
values, so that what is the same for all examples is computed once, and can be looked at.
A trace that has ended is closed, and using its values raises. Nothing is evaluated unless a guard needs it.

The body of a loop or a branch is an abstract trace too. There the truth of a value is *decided*: the body is run once
for each outcome (:mod:`wengert.tracing.decisions`). A guard would be looked at once an iteration, so what can be looked
at is guarded before the loop.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert import config
from wengert._contexts import replaced, silent
from wengert.errors import (
    ConcretizationError,
    EscapedTracerError,
    InternalError,
    UnsupportedFunctionError,
    WrittenMeanwhileError,
    message,
)
from wengert.ops.control import Expected, guard
from wengert.ops.elementwise import convert
from wengert.source import Source
from wengert.tape import Atom, Aval, Builder, Capture, Instr, Lit, Tape, Var, building, literal
from wengert.tracing import hooks
from wengert.tracing.callers import KNOWN_INTERNAL, is_internal
from wengert.tracing.counted import Looks, RunCounts, note_iteration
from wengert.tracing.decisions import Decisions, ValueNumbers, moved_out
from wengert.tracing.generators import Generators
from wengert.tracing.interception import _opened
from wengert.tracing.lending import Lent
from wengert.tracing.python.lines import Lines

if TYPE_CHECKING:
    from wengert.tracing.tracer import Tracer


SAME_MEMORY = "the same memory is passed twice, so a write through one argument would have to be seen through the other"
READ_ALREADY = "it is an argument of a function that is being traced, which may have read it already"
SHARED = (SAME_MEMORY, READ_ALREADY)
"""Why an array is read-only while somebody else holds its memory too."""

OF_NUMBERS = ["np.array(a)[i] for an element of a list; np.floor(x), x.astype(int) for int(x): these are steps"]
LOOKS_INSTEAD = ["np.where(condition, a, b) instead of if", "a loop outside of the mapped function"]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


_stack = _Stack()


def current_trace() -> Trace | None:
    """The innermost trace of this thread."""
    return _stack.traces[-1] if _stack.traces else None


def suspended() -> AbstractContextManager[Any]:
    """No trace is open in this thread: what is done meanwhile is not of the function that is traced."""
    return replaced(_stack, "traces", [])


def writes_no_arrays() -> AbstractContextManager[None]:
    """What this thread does meanwhile writes no array of the user's, so that another may lend one to a trace."""
    return _opened.harmless()


def recorder(trace: Trace) -> Trace:
    """The trace that records a step on values of ``trace``, the innermost of its operands'."""
    return trace if trace.is_direct or not trace.is_open else recorder_of_none()


def is_in_body() -> bool:
    """Whether what happens now in this thread is recorded once, for any number of runs."""
    return any(t.decisions is not None for t in _stack.traces)


def innermost_body() -> Trace | None:
    return next((t for t in reversed(_stack.traces) if t.decisions is not None), None)


def _bodies() -> list[Trace]:
    return [t for t in _stack.traces if t.decisions is not None]


def recorder_of_none() -> Trace:
    """The trace that records a step without operands: the innermost concrete one, or the outermost of all."""
    return next((t for t in reversed(_stack.traces) if t.is_direct and (t.concrete or t.owns)), _stack.traces[0])


class Implicit(NamedTuple):
    """A value of an enclosing trace that the function read: an input that nobody passed."""

    var: Var
    outer: Tracer


class Trace:
    """The record of one run. ``concrete`` says whether values can be looked at (a batch has no single value).

    ``known`` maps ``id(array)`` to (array, name, is_constant) for captured arrays whose origin is known, which a
    compiled program may read again at every call; ``None`` means that the run will not be repeated.
    """

    refusal: tuple[str, Source | None] | None = None
    """The last refusal of a number to a library, and where: its code may make another error of it, or lose it."""
    watches: Callable[[Any], bool] = staticmethod(lambda x: False)
    """Whether a module, a class or the globals of functions are watched for changes: see Environment.watches."""
    depends: Callable[[str, Callable[[], Any]], None] = staticmethod(lambda name, read: None)
    """Let what was recorded hold only while ``read()`` gives what it gives now: see Environment.depends."""

    def __init__(
        self,
        name: str,
        concrete: bool = True,
        why_abstract: str = "",
        known: dict[int, tuple[Any, str, bool]] | None = None,
        follow: Tape | None = None,
    ) -> None:
        self.name = name
        self.builder = Builder(follow)
        self.builder.locate = self.locate
        self._follow = follow
        self.concrete = concrete
        self.why_abstract = why_abstract
        self.known = known
        self.outlets: tuple[Any, ...] = ()
        """Where text for people went when a run began that will be repeated: see text.py."""
        self.generators: Generators | None = None
        """Those that a run which will be repeated found in its surroundings. None: they are drawn from at once."""
        self.is_rolled = True if not _stack.traces else _stack.traces[-1].is_rolled
        """Whether loops that were unrolled are rolled up again before a derivative is taken of what is recorded."""
        self.any_length = False  # see Tape
        self.counts: RunCounts | None = None if not _stack.traces else _stack.traces[-1].counts
        """The loops of the compiled function that is traced: see counted.py."""
        self.looks = Looks()
        self.decisions: Decisions | None = None
        """Of the body of a loop or a branch, which runs as often as nobody knows: what it decides in this run."""
        self._numbers: ValueNumbers | None = None
        self.owns = False
        """Whether a body without values records all that is done in it, be it on values of enclosing traces alone: what
        may not be reached is not done before."""
        self.level = 0
        self.is_open = False
        self.is_direct = False
        """Whether steps on this trace's values alone are recorded here, rather than by an inner trace."""
        self._overtaken: list[Trace] = []
        self.inputs: list[Var] = []
        self.implicit: dict[Var, Implicit] = {}
        self.captures: dict[int, Capture] = {}
        self.snapshots: dict[int, tuple[Any, Capture]] = {}
        self.given: dict[Var, Any] = {}
        """What the inputs are: arrays, and values of enclosing traces."""
        self.values: dict[Var, Any] = {}
        self.unrepeatable: str = ""
        """Why this run cannot be replayed: it met a concrete array of unknown origin. Empty if it can."""
        self.is_closed = False
        """Whether an array of unknown origin must be what it would be in any other run: see purity.py."""
        self.doubt = ""
        """Why it need not be, in words."""
        self._defined: dict[Var, Instr] = {}
        self._indexed = 0
        self._marks: list[int] = []  # how far the enclosing traces had come when this one was opened
        self._lent: list[np.ndarray[Any, Any]] = []
        self._lent_traced: list[Tracer] = []
        self._read: dict[int, np.ndarray[Any, Any]] = {}
        """By their ids, the user's arrays that the tape reads when it runs, which nobody may write before."""
        self._digests: list[tuple[np.ndarray[Any, Any], int]] = []
        """Arrays that will be read again, each with a number that tells whether it has been written since."""
        self.given_away: list[Lent] = []
        """The copies of arrays made inside that code which is not traced was given: see lending.py."""
        self._lines = Lines(is_internal)

    # ------------------------------------------------------------------------------------------------ life

    def opened(self) -> AbstractContextManager[Trace]:
        """A context in which the trace is open. Whatever ends the block, at whatever place, nothing stays behind.

        Here the trace alone is changed: what others see, the enclosing traces and the process, is native/opened.cpp's.
        """
        outer = current_trace()
        if outer is not None and self.known is None:
            self.known = outer.known  # what an enclosing run may read again, this one may
            self.outlets = outer.outlets
            self.generators = outer.generators
            self.watches, self.depends = outer.watches, outer.depends
            self.is_closed, self.doubt = outer.is_closed, outer.doubt
        self._marks = [len(t.builder) for t in _stack.traces]
        self.level = len(_stack.traces) + 1
        self._overtaken = [t for t in _stack.traces if t.is_direct] if self.concrete else []
        return _opened.opened(self, _stack.traces)

    def own_all(self) -> None:
        """From now on record what does not depend on this trace's values, too."""
        if self.owns:
            return
        self.owns = True
        below = _stack.traces[: self.level - 1]
        for inner in _stack.traces[self.level :]:  # which were opened since, and give back what they overtook
            for t in [t for t in inner._overtaken if t in below]:
                inner._overtaken.remove(t)
                t.is_direct = True
        self._overtaken = [t for t in below if t.is_direct]
        for t in self._overtaken:
            t.is_direct = False

    def _ended(self, is_error: bool) -> None:
        """Let go of the values that were looked at, so that they go when the call ends; raise MutationError if an array
        was written that is going to be read."""
        outer = current_trace()
        if outer is not None:
            outer.unrepeatable = outer.unrepeatable or self.unrepeatable
        digests, given_away = self._digests, self.given_away
        for kept in (self._overtaken, self._lines, self._lent, self._lent_traced, self.looks.kept):
            kept.clear()
        for kept in (self.given, self.values, self._defined, self.snapshots, self._read):
            kept.clear()
        self.watches, self.depends = type(self).watches, type(self).depends
        self.builder.locate = self._numbers = None
        self._digests, self.given_away = [], []
        if not is_error:
            self._check_unwritten(digests)
            for lent in given_away:
                lent.check_unwritten()

    def saw_made(self, atom: Atom, outer: Trace) -> bool:
        """Whether an enclosing trace recorded ``atom`` while this one was open: the inner function made it."""
        return any(atom in instr.outs for instr in outer.builder.since(self._marks[outer.level - 1]))

    def is_from_outside(self, root: Tracer) -> bool:
        """Whether an array was made before this trace was opened."""
        if root._trace.level >= self.level:
            return False
        return root._atom is None or not self.saw_made(root._atom, root._trace)

    def new_input(self, aval: Aval, value: Any) -> Var:
        """A further input; ``value`` is its array, or a tracer of an enclosing trace, or None."""
        k = len(self.inputs)
        var = Var(aval) if self._follow is None else self._follow.inputs[k]
        self.inputs.append(var)
        if value is not None:
            self.given[var] = self.values[var] = value
        return var

    def tape(self, outputs: Sequence[Atom]) -> Tape:
        """What was recorded. Implicit inputs stand behind the explicit ones, in ``self.implicit``'s order."""
        return Tape(
            inputs=(*self.inputs, *[i.var for i in self.implicit.values()]),
            captures=tuple(self.captures.values()),
            instrs=self.builder.instrs,
            outputs=tuple(outputs),
            name=self.name,
            any_length=self.any_length,
        )

    # --------------------------------------------------------------------------------------------- recording

    def emit(self, op: Any, atoms: tuple[Atom, ...], params: dict[str, Any]) -> tuple[Atom, ...]:
        return self.builder.emit(op, atoms, params)

    def formula(self, f: Callable[..., Any], *atoms: Any) -> Any:
        """``f(*atoms)``, written in ops, recorded on this trace under the user's present line."""
        with building(self.builder):
            return f(*atoms)

    def locate(self) -> Source | None:
        """The user's line that is being executed, with the calls that led to it."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and (KNOWN_INTERNAL.get(frame.f_globals.get("__name__")) or is_internal(frame)):
            frame = frame.f_back
        return None if frame is None else self._lines.at(frame)

    def lift(self, x: Any, dtype: np.dtype[Any] | None = None) -> Atom:
        """``x`` as an atom of this trace. Python numbers take ``dtype``."""
        if type(x) is hooks.Tracer:
            if x._trace is not self:
                return self._lift_tracer(x)
            if x._base is None and x._constant is None and self.is_open:
                return x._atom  # type: ignore[return-value]  # of no base and no constant: it has one
            return x.atom()
        if type(x) in (float, int, bool, complex):
            return literal(x, dtype)
        if isinstance(x, np.generic) and self.is_closed and self.known is not None and id(x) not in self.known:
            check_dtype(x)
            return literal(x.item(), x.dtype)
        if isinstance(x, np.ndarray | np.generic):
            return self.capture(x)
        if isinstance(x, bool | int | float | complex):
            return Lit(x, dtype)
        raise UnsupportedFunctionError(message(f"{type(x).__name__} is neither an array nor a number", self.locate()))

    def _lift_tracer(self, x: Tracer) -> Atom:
        constant = x.lent_constant()
        if constant is not None:
            return self.capture_constant(constant)
        if not x._trace.is_open:
            raise escaped(x)
        if x._trace.level > self.level:
            raise EscapedTracerError(
                message(
                    f"{x.aval} belongs to an inner function that is still being differentiated",
                    self.locate(),
                    tries=["return it from the inner function instead of storing it outside"],
                )
            )
        outer = x.atom()
        if isinstance(outer, Lit):
            return outer
        known = self.implicit.get(outer)
        if known is None:
            known = self.implicit[outer] = Implicit(Var(outer.aval), x.frozen())
        return known.var

    def capture(self, x: Any) -> Atom:
        """A concrete array of the user's, in this machine's byte order."""
        check_dtype(x)
        var = self._capture(x)
        if x.dtype.isnative:
            return var
        return self.emit(convert, (var,), {"dtype": x.dtype.newbyteorder("=")})[0]

    def _capture(self, x: Any) -> Var:
        """Read where it lies if its origin is known; otherwise as it is now."""
        if self.known is not None:
            known = self.known.get(id(x))
            if known is not None:
                array, name, is_constant = known
                array = np.asarray(array)
                self.lock(array)
                return self._captured(id(x), array, name, is_constant)
            self.doubt_repeats(Aval(np.shape(x), x.dtype))
        if isinstance(x, np.generic) or x.nbytes <= config.snapshot_bytes:
            old = self.snapshots.get(id(x))
            if old is not None and (isinstance(x, np.generic) or same_bytes(old[1].array, x)):
                return old[1].var
            capture = Capture(self._new_capture(Aval(x.shape, x.dtype)), _copied(x))
            self.captures[id(capture)] = capture
            self.snapshots[id(x)] = (x, capture)
            return capture.var
        self.lock(x)
        return self._captured(id(x), x, "", False)

    def doubt_repeats(self, aval: Aval) -> None:
        """Note that a run that is repeated may find other numbers where this one has found an array of ``aval``."""
        if self.known is not None and not self.unrepeatable and not self.is_closed:
            self.unrepeatable = (
                f"{aval} at {self.where()} is a NumPy value that was computed while tracing, "
                f"and {self.doubt or 'where it came from is not known'}: compute it outside, and pass it"
            )

    def capture_constant(self, array: np.ndarray[Any, Any]) -> Var:
        """An array made while tracing, which nobody else can change."""
        return self._captured(id(array), array, "", self.known is not None)

    def capture_again(self, capture: Capture) -> Var:
        """What an inner trace captured, and this one needs because it takes over the inner one's steps.

        The inner trace held it locked, and has ended; this one reads it later.
        """
        self.lock(capture.array)
        return self._captured(id(capture.array), capture.array, capture.name, capture.is_constant)

    def _captured(self, key: int, array: np.ndarray[Any, Any], name: str, is_constant: bool) -> Var:
        known = self.captures.get(key)
        if known is None:
            var = self._new_capture(Aval(array.shape, array.dtype))
            known = self.captures[key] = Capture(var, array, name, is_constant)
        return known.var

    def _new_capture(self, aval: Aval) -> Var:
        if self._follow is not None and len(self.captures) < len(self._follow.captures):
            var = self._follow.captures[len(self.captures)].var
            if var.aval is aval:
                return var
        return Var(aval)

    def lock(self, array: np.ndarray[Any, Any]) -> None:
        """See to it that no write is lost: the tape is run later and would read what is written now.

        A write is refused where it is made, unless there are other threads: theirs may not be. Then it is an error when
        the trace ends, for which the array is read twice.
        """
        self._read[id(array)] = array
        if not _opened.lend(self._lent, array):
            self._digests.append((array, _opened.digest(array)))

    def lend(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What the function is given for an array that it may not write: itself, or a view if others may write it."""
        self.lock(array)
        if not array.flags.writeable:
            return array
        view = array.view()
        view.flags.writeable = False
        return view

    def _check_unwritten(self, digests: Sequence[tuple[np.ndarray[Any, Any], int]]) -> None:
        for array, before in digests:
            if _opened.digest(array) != before:
                raise WrittenMeanwhileError(
                    message(
                        f"an array of {Aval(array.shape, array.dtype)} was written, in this thread or another, while "
                        f"{self.name} was traced, which reads it",
                        self.locate(),
                        tries=["a copy for the function, or for whoever writes: x.copy()"],
                    )
                )

    def lock_traced(self, x: Tracer) -> None:
        """The same for an array of an enclosing trace, and for what shares its memory: it is passed in the end."""
        root = x.root()
        if not root._why_readonly:
            self._lent_traced.append(root)
            root._why_readonly = READ_ALREADY

    def where(self) -> str:
        source = self.locate()
        return "?" if source is None else f"{source.file}:{source.line}"

    # ------------------------------------------------------------------------------------------------ looking

    def has_values(self) -> bool:
        """Whether values can be looked at, as those of no batch and of no body can."""
        bodies = _bodies()
        return self.concrete and (not bodies or bodies[0].level > self.level)

    def look(self, atom: Atom, kind: str, owner: Tracer, loop: int | None = None) -> Any:
        """The concrete value of ``atom``, guarded: the tape is valid for inputs that look the same. Within the body of
        a loop or a branch, the outcome of a truth that has no value."""
        if type(atom) is Lit:
            return atom.value
        bodies = _bodies()
        if self.has_values() and not (bodies and self._is_of_batch(atom)):
            return self._guarded(atom, kind, owner, loop)
        if bodies and kind == "bool" and bodies[-1].level >= self.level:
            return bodies[-1]._decided(owner)
        if self.concrete or (kind != "bool" and self._comes_from_outside(atom)):  # it is looked at where it comes from
            moved = moved_out(self, atom, self._around_bodies())
            return moved._trace.look(moved.atom(), kind, moved)
        where = self.locate()
        what = f"{kind} needs the value of {owner.aval}, which has none: {self.why_abstract}"
        error = ConcretizationError(message(what, where, tries=LOOKS_INSTEAD if self.decisions is None else OF_NUMBERS))
        (current_trace() or self).refusal = (str(error), where)
        raise error

    def _comes_from_outside(self, atom: Atom) -> bool:
        return self.owns and type(atom) is Var and all(v not in self.inputs for v in self.ancestors(atom)[1])

    def _is_of_batch(self, atom: Atom) -> bool:
        """Whether a value of an enclosing trace without values has gone into ``atom``."""
        if type(atom) is Lit or all(t.concrete for t in _stack.traces[: self.level]):
            return False
        outer = [self.from_outside(v) for v in self.ancestors(atom)[1]]
        traced = [x for x in outer if type(x) is hooks.Tracer and x.constant() is None]
        return any(not x._trace.concrete or x._trace._is_of_batch(x.atom()) for x in traced)

    def _guarded(self, atom: Atom, kind: str, owner: Tracer, loop: int | None) -> Any:
        value = self.evaluate(atom)
        # The innermost trace records the guard, whoever the value belongs to: guards stay in the order of the looks,
        # on which the tree of tapes rests. But no body does: what is looked at there does not change while it runs.
        bodies = _bodies()
        innermost = _stack.traces[bodies[0].level - 2] if bodies else current_trace() or self
        inner_atom = atom if innermost is self else innermost.lift(owner)
        expected = Expected(value)
        if not bodies and kind in ("iteration", "bool") and (counts := innermost.counts) is not None:
            made = self._definitions().get(atom) if type(atom) is Var else None
            note = note_iteration(innermost, "" if made is None else made.op.name, loop)
            if note is not None:
                counts.note_guard(expected, note)
        innermost.emit(guard, (inner_atom,), {"expected": expected, "position": -1, "kind": kind})
        for t in _stack.traces:
            t.looks.add(len(t.builder))
        return value

    def _decided(self, condition: Tracer) -> bool:
        """The outcome of ``condition`` in this run of a body."""
        atom = self.lift(condition)
        if type(atom) is Lit:
            return bool(atom.value)
        assert self.decisions is not None
        outcome = self.decisions.outcome(self.number(atom), len(self.builder), atom, self.locate())
        self.own_all()  # what comes now is of this path
        return outcome

    def number(self, atom: Atom) -> Hashable:
        """Equal for values that are equal since they are made in one way."""
        if self._numbers is None:
            self._numbers = ValueNumbers()
        return self._numbers.of(atom, self)

    def _around_bodies(self) -> Trace:
        """The innermost trace with values around the outermost body; the outermost of all if there is none."""
        around = _stack.traces[: _bodies()[0].level - 1]
        return next((t for t in reversed(around) if t.concrete), around[0])

    def ancestors(self, atom: Var) -> tuple[list[Instr], list[Var]]:
        """The steps that ``atom`` comes from, in their order, and the variables that no step gives them."""
        defined = self._definitions()
        leaves: list[Var] = []
        steps: set[int] = set()
        seen, todo = set[Var](), [atom]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            if at in defined:
                steps.add(id(defined[at]))
                todo.extend([a for a in defined[at].ins if type(a) is Var])
            else:
                leaves.append(at)
        return [i for i in self.builder.since(0) if id(i) in steps], leaves

    def from_outside(self, var: Var) -> Any:
        """What an input, an implicit input or a captured array is: an array, or a value of an enclosing trace."""
        if var in self.given:
            return self.given[var]
        implicit = next((i.outer for i in self.implicit.values() if i.var is var), None)
        return implicit if implicit is not None else next(c for c in self.captures.values() if c.var is var)

    def evaluate(self, atom: Atom, is_example: bool = False) -> Any:
        """The concrete value of an atom: its ancestors are run through their references, each at most once.

        ``is_example``: where a trace has no values, those of its first example will do.
        """
        if type(atom) is Lit:
            return atom.value
        if self.generators is not None and self.generators.has_drawn and not is_example:
            raise self.generators.need()
        defined = self._definitions()
        values = ChainMap({}, self.values) if is_example else self.values  # nobody takes an example for the value
        stack: list[Var] = [atom]
        while stack:
            var = stack[-1]
            if var in values:
                values[var] = self._concrete(values[var], is_example)
                stack.pop()
                continue
            instr = defined.get(var)
            if instr is None:
                values[var] = self._leaf_value(var, is_example)
                stack.pop()
                continue
            missing = [a for a in instr.ins if type(a) is Var and a not in values]
            if missing:
                stack.extend(missing)
                continue
            args = [a.value if type(a) is Lit else self._concrete(values[a], is_example) for a in instr.ins]
            with silent():
                out = instr.op.reference(*args, **instr.params)
            if len(instr.outs) == 1:
                values[instr.outs[0]] = out
            else:
                values.update(zip(instr.outs, out, strict=True))
            stack.pop()
        return values[atom]

    def _definitions(self) -> dict[Var, Instr]:
        """The instruction that made each variable so far."""
        new = self.builder.since(self._indexed)
        for instr in new:
            for v in instr.outs:
                self._defined[v] = instr
        self._indexed += len(new)
        return self._defined

    def is_of_captures(self, atom: Atom) -> bool:
        """Whether captured arrays alone have gone into ``atom``: no input of this trace, nor of an enclosing one."""
        defined, captured = self._definitions(), {c.var for c in self.captures.values()}
        stack, seen = [atom], set[Atom]()
        while stack:
            at = stack.pop()
            if type(at) is Lit or at in captured or at in seen:
                continue
            seen.add(at)
            if at in defined:
                stack.extend(defined[at].ins)
            elif at not in self.implicit or not (outer := self.implicit[at].outer)._trace.is_of_captures(outer.atom()):
                return False
        return True

    def _concrete(self, value: Any, is_example: bool) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            return value
        if type(value) is partial:  # an example, put off until it is asked for
            return value()
        return self._of_enclosing(value, is_example)

    def _of_enclosing(self, x: Tracer, is_example: bool) -> Any:
        if x._trace.concrete or is_example:
            return x._trace.evaluate(x.atom(), is_example)
        raise ConcretizationError(
            message(
                f"the value of {x.aval} is needed, which has none: {x._trace.why_abstract}",
                self.locate(),
                tries=LOOKS_INSTEAD,
            )
        )

    def _leaf_value(self, var: Var, is_example: bool) -> Any:
        for c in self.captures.values():
            if c.var is var:
                return c.array
        for i in self.implicit.values():
            if i.var is var:
                return self._of_enclosing(i.outer, is_example)
        raise ConcretizationError(
            message(f"{var.aval} has no value here: {self.why_abstract or 'it is abstract'}", self.locate())
        )


is_lent = _opened.is_lent
"""Whether an array is read-only for the time of an open trace, of any thread."""


def is_readonly(array: np.ndarray[Any, Any]) -> bool:
    """Whether its owner has made an array read-only, rather than a trace of some thread for its time."""
    return not array.flags.writeable and not _opened.is_lent(array)


def is_locked(x: Any) -> bool:
    """Whether an open trace of this thread reads ``x`` when its tape runs: see Trace.lock."""
    return any(id(x) in t._read for t in _stack.traces)


def is_read_later(x: Any) -> bool:
    """Whether ``x`` is locked, or an array that it is a view of."""
    while isinstance(x, np.ndarray):
        if is_locked(x):
            return True
        x = x.base
    return False


def _copied(x: Any) -> np.ndarray[Any, Any]:
    """An array of its own; not np.array, which makes traced arrays while a trace is open."""
    out = np.ndarray(x.shape, x.dtype)
    out[...] = x
    return out


def same_bytes(a: np.ndarray[Any, Any], b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def check_dtype(x: Any) -> None:
    if type(x) is not np.ndarray and isinstance(x, np.matrix | np.ma.MaskedArray):
        raise UnsupportedFunctionError(
            message(
                f"a {type(x).__name__} has an arithmetic of its own, which is not traced",
                tries=[
                    "np.asarray(x)" if isinstance(x, np.matrix) else "x.filled(...), and the mask as an array beside it"
                ],
            )
        )
    if type(x) is not np.ndarray and isinstance(x, np.ndarray) and has_own_arithmetic(type(x)):
        raise UnsupportedFunctionError(
            message(
                f"a {type(x).__name__} has an arithmetic of its own, as of units, which is not traced",
                tries=["its numbers alone, np.asarray(x), in units that were converted outside of the traced function"],
            )
        )
    if x.dtype.kind not in "fiubc":
        raise UnsupportedFunctionError(
            message(
                f"an array of dtype {x.dtype} cannot be traced",
                tries=["np.stack([...]) of traced values"] * (x.dtype == object)
                + ["an array of numbers of up to 64 bits"],
            )
        )


_ARITHMETIC = ("__array_ufunc__", "__array_wrap__", "__array_function__", "__add__", "__mul__", "__rmul__", "__sub__")


@lru_cache(maxsize=1024)
def has_own_arithmetic(cls: type) -> bool:
    """Whether a class of arrays says itself what sums and products of it are, as those with units do."""
    own = [base for base in cls.__mro__ if base not in np.ndarray.__mro__ and base is not np.memmap]
    return any(name in vars(base) for base in own for name in _ARITHMETIC)


def escaped(x: Tracer) -> EscapedTracerError:
    return EscapedTracerError(
        message(
            f"{x.aval} is used after the function that made it has been traced",
            notes=[("made", f"in {x._trace.name}")],
            tries=[
                "return the value from the function",
                "has_aux=True to return values beside the result",
                "no cache (lru_cache, a dict made outside) around what the function computes",
            ],
        )
    )


_opened.setup(np.ndarray, InternalError)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_opened.forked)
