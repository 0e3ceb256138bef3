"""Notes are taken while loops are recorded, so that a loop's tape may stand for any number of its iterations.

A compiled function is traced with the counts that its loops have in one call. Whether a loop does the same for any
count is seen in two ways, both kept here; :mod:`wengert.passes.any_count` makes the loop of what is noted.

*Notes.* What a ``while`` does may depend on how often it has run: on a counter, a list that grows, the iterator of a
``for``. None of that is on the tape. So at each condition that is looked at, a note says what stands beside traced
values in the frames of the user's functions. A loop between two looks with equal notes is a function of traced values
alone. What cannot be compared makes no note. Of a traced value it is noted which it is: the one that a step of this
iteration has made, or one from before the loop, of which names may have been exchanged.

*Counts.* :class:`Counts` has, for a compiled function, the counts with which its tapes were the same but for these.
A ``for`` over a traced range is recorded as a ``while`` on a traced counter after several counts
(functions/counting.py). :class:`RunCounts` is the part of it that belongs to one run, with the notes of that run.
"""

from __future__ import annotations

import itertools
import sys
from bisect import bisect_right
from collections.abc import Sequence
from hashlib import blake2b
from types import BuiltinFunctionType, CellType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.errors import ConcretizationError, WengertError
from wengert.ops.control import Expected
from wengert.tape import Atom, Builder, Tape, structure
from wengert.tracing import hooks
from wengert.tracing.callers import is_internal, is_own_module, module_of
from wengert.tracing.python.bytecode import CodePlace, code_of
from wengert.tracing.python.calls import called_variable, callee
from wengert.tracing.python.frames import code_in, function_name, is_generator, is_run, place_of
from wengert.tracing.python.loops import Truth, asks_truth, is_counting, loops_around

if TYPE_CHECKING:
    from wengert.tracing.trace import Trace
    from wengert.tracing.tracer import Tracer

ENOUGH = 3
"""A tape must have been recorded with this many counts before it stands for all."""
SEVERAL = 2
"""A ``for`` is traced with a counter after this many counts."""
MOST_TRIES = 6
"""A place is given up after this many traces with a counter that have come to no loop."""
MOST_BYTES = 1 << 18
MOST_ELEMENTS = 200
AS_THEY_ARE = (bool, int, float, complex, str, bytes, type(None))


class NotCounted(ConcretizationError):
    """A ``for`` that was traced with a counter is to be traced by its count after all."""


# ------------------------------------------------------------------------------------------------------- the counts


class Counts:
    """The numbers of iterations with which a compiled function's tapes were the same but for these."""

    def __init__(self) -> None:
        self._seen: dict[Any, list[set[int]]] = {}
        self._ranges: dict[CodePlace, set[int]] = {}
        self._tries: dict[CodePlace, int] = {}
        self.knows_any = False
        self.has_learnt = False
        """Whether loops have become known since this was last set back."""

    def begin(self, is_by_value: bool = False) -> RunCounts:
        """Begin a run; ``is_by_value``: every ``for`` is traced by its count."""
        return RunCounts(self, is_by_value)

    def learn(self, tape: Tape, found: Sequence[int], tried: set[CodePlace]) -> bool:
        """Keep the counts ``found`` of the loops of ``tape``, and return whether each has been seen with enough. If it
        has, the places that were ``tried`` may be tried as often again."""
        seen = self._seen.setdefault(structure(tape), [set() for _ in found])
        was_known = all(len(counts) >= ENOUGH for counts in seen)
        for counts, count in zip(seen, found, strict=True):
            counts.add(count)
        is_known = all(len(counts) >= ENOUGH for counts in seen)
        self.has_learnt = self.has_learnt or (is_known and not was_known)
        self.knows_any = self.knows_any or is_known
        if is_known:
            for place in tried:
                self._tries.pop(place, None)
        return is_known

    def note(self, place: CodePlace, count: int) -> None:
        """Note that the ``for`` at ``place``, whose count is a traced integer, was traced with this count."""
        self._ranges.setdefault(place, set()).add(count)

    def is_worth_it(self, place: CodePlace) -> bool:
        """Whether the ``for`` at ``place`` may be traced with a counter: not before several counts, and not if that has
        been of no use often."""
        return len(self._ranges.get(place, ())) >= SEVERAL and self._tries.get(place, 0) < MOST_TRIES

    def may_count(self) -> bool:
        return any(self.is_worth_it(place) for place in self._ranges)

    def failed(self, tried: set[CodePlace]) -> None:
        """Note that one more trace with counters at these places came to no loop."""
        for place in tried:
            self._tries[place] = self._tries.get(place, 0) + 1

    def give_up(self, tried: set[CodePlace]) -> None:
        """Trace no ``for`` at these places with a counter any more."""
        self._tries.update(dict.fromkeys(tried, MOST_TRIES))


class RunCounts:
    """The loops of one run of a compiled function: which were traced with a counter, and the notes on its looks."""

    def __init__(self, counts: Counts, is_by_value: bool = False) -> None:
        self._counts = counts
        self._is_by_value = is_by_value
        self._tried = set[CodePlace]()
        self._refused: WengertError | None = None
        self._notes: dict[int, tuple[Expected, IterationNote]] = {}
        """The notes by the id of what a guard expects: each look makes that anew, and a guard that moves keeps it."""

    # The notes:

    def note_guard(self, expected: Expected, note: IterationNote) -> None:
        """Keep the note on the look that a guard stands for."""
        self._notes[id(expected)] = expected, note

    def note_of(self, expected: Expected) -> IterationNote | None:
        """Return the note on the look of the guard that expects this, if there is one."""
        found = self._notes.get(id(expected))
        return None if found is None else found[1]

    # Each ``for`` whose count is a traced integer, by its place:

    def note(self, place: CodePlace, count: int) -> None:
        """Note that a ``for`` is traced by its count."""
        self._counts.note(place, count)

    def counted(self, place: CodePlace) -> int | None:
        """Return a number for a ``for`` that is to be traced with a counter; None if it is not."""
        if self._is_by_value or not self._counts.is_worth_it(place):
            return None
        self._tried.add(place)
        return next(_numbers)

    def may_count(self) -> bool:
        return not self._is_by_value and self._counts.may_count()

    def learn(self, tape: Tape, found: Sequence[int]) -> bool:
        """Keep the counts that were found, and return whether each loop of ``tape`` is known now to be one of any
        count."""
        return self._counts.learn(tape, found, self._tried)

    def failed(self) -> bool:
        """Note that what was traced will not do. Return whether a loop in it had a counter."""
        self._counts.failed(self._tried)
        return bool(self._tried)

    def give_up(self) -> None:
        """Trace none of these loops with a counter any more."""
        self._counts.give_up(self._tried)

    def refuse(self, error: WengertError) -> None:
        """Keep nothing of this run, even if the function catches the error itself."""
        self._refused = error

    def check_not_refused(self) -> None:
        if self._refused is not None:
            raise self._refused


_numbers = itertools.count()


# ------------------------------------------------------------------------------------------------------ the notes


class _Unknown(Exception):
    """Something has a state that cannot be compared."""


class IterationNote(NamedTuple):
    """A note on one look, hashable."""

    loop: int | None
    """The number of a ``for`` with a traced counter; None of a ``while``."""
    beside: Any
    """A value that is equal for two looks if the same stands beside traced values."""
    values: tuple[NotedValue, ...]
    """The traced values that stand there."""


class NotedValue(NamedTuple):
    """A traced value: it stays what it is if it was made before a loop; or is, in each iteration, what the same step of
    that iteration, or of one before it, has made."""

    value: Atom | None
    view: str
    """The lens through which it is seen, if it is a view of that, as text."""
    made: tuple[int, int, int]
    """The place where it was made: how many looks ago, by which step after that, and which of its outputs it is."""
    memory: int = 0
    """A number for the memory of an array: which others are it, or views of it."""

    def is_as(self, other: NotedValue) -> bool:
        is_it = self.value is other.value or self.made == other.made
        return is_it and self.view == other.view and self.memory == other.memory


class Noting:
    """The state of the notes on one trace: when values were looked at, and which step made which value."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}
        """The objects that have been noted by their ids, which no other may get."""
        self.container_comparisons: set[CodePlace] = set()
        """Instructions that have compared what may be containers, item by item."""
        self._counts: list[int] = []
        """The number of steps that had been recorded at each look."""
        self._made: dict[Any, tuple[int, int]] = {}
        """The step that made each value, and which of its outputs it is, of the first ``_n_seen`` steps."""
        self._n_seen = 0

    def look(self, n_steps: int) -> None:
        """Note that somebody has looked at a value when there were so many steps."""
        self._counts.append(n_steps)

    def noted(self, x: Tracer, builder: Builder, memory: int) -> NotedValue:
        """Return which value of the trace ``x`` is, or is a view of; ``memory``: see NotedValue."""
        for instr in builder.since(self._n_seen):
            self._made.update({v: (self._n_seen, m) for m, v in enumerate(instr.outs)})
            self._n_seen += 1
        root = x.root()._atom
        step, output = self._made.get(root, (-1, 0))
        n_before = bisect_right(self._counts, step)
        begin = self._counts[n_before - 1] if n_before else 0
        view = "" if x._atom is not None else repr(x._lens)
        return NotedValue(root, view, (len(self._counts) - n_before, step - begin, output), memory)


def note_iteration(trace: Trace, made_by: str, loop: int | None = None) -> IterationNote | None:
    """Return what stands beside traced values now; None where it cannot be said, or where no ``while`` can be the
    reason. ``made_by``: the name of the op that has made the value that is looked at. ``loop``: the reason is the
    ``for`` of this number, of the innermost frame, whose counter is traced."""
    frames: list[FrameType] = []
    outermost = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_run(frame):
            outermost = len(frames)
        elif not is_internal(frame):
            frames.append(frame)
        frame = frame.f_back
    frames = frames[:outermost]
    looping = 0 if loop is not None else _frame_of_while(trace, frames, made_by)
    if looping is None or not frames or is_generator(frames[looping]):
        return None  # who takes from a generator may stop before its loop does
    around = [loops_around(place_of(f)) for f in frames[looping + 1 :]]
    if any(loops and loops[0].kind == "for" for loops in around):
        return None
    trace.noting.kept[id(frames[looping])] = frames[looping]
    note = _Note(trace)
    try:
        beside = tuple([note.of_frame(f) for f in frames])
    except _Unknown:
        return None
    return IterationNote(loop, (id(frames[looping]), beside), tuple(note.values))


# -------------------------------------------------------------------------------------------------- whose loop it is


def _frame_of_while(trace: Trace, frames: list[FrameType], made_by: str) -> int | None:
    """Return the innermost frame with a ``while`` around what it executes, if nothing else can have brought about the
    look more than once in one iteration: no ``for``, and no compiled code, as ``any(map(f, iterator))`` is."""
    for k, frame in enumerate(frames):
        loops = loops_around(place_of(frame))
        if (loops and loops[0].kind == "for") or is_generator(frame):
            return None
        if not (_looks_itself(trace, frame, made_by) if k == 0 else _calls(frame, frames[k - 1])):
            return None
        if loops:
            return k if all(x.kind == "while" or is_counting(frame, x) for x in loops) else None
    return None


def _looks_itself(trace: Trace, frame: FrameType, made_by: str) -> bool:
    """Whether the frame's own code branches on a value, or asks for its ``bool``."""
    asks = asks_truth(frame)
    if asks not in (Truth.COMPARISON, Truth.ITEMS):
        return asks is Truth.BRANCH
    place = place_of(frame)
    if asks is Truth.ITEMS or made_by not in _ORDERINGS:
        trace.noting.container_comparisons.add(place)
    return place not in trace.noting.container_comparisons


_ORDERINGS = ("less", "less_equal", "greater", "greater_equal", "not_equal")
"""The ops that comparisons are, but for ``==``. Since Python 3.13 a comparison asks for the ``bool`` of its result
itself, and cannot be told from one of two lists, which asks for those of its items. But that asks first which of the
items are *equal*: so of ``==`` nothing can be told, and of another nothing where an equality was looked at before."""


def _calls(frame: FrameType, inner: FrameType) -> bool:
    """Whether the frame's code has called the function of ``inner`` by its name, and not code that calls it."""
    kind, name = callee(place_of(frame))
    if kind == "variable":
        return code_of(called_variable(frame)) is code_in(inner)
    return kind == "attribute" and name == function_name(inner)


# ------------------------------------------------------------------------------------------- what stands beside it


class _Note:
    """A note in the making. What is met again is noted by its number: whether two names have one object counts."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.values: list[NotedValue] = []
        self._known: dict[int, int] = {}
        self._count = 0

    def of_frame(self, frame: FrameType) -> Any:
        names = tuple([(name, self.of(x)) for name, x in frame.f_locals.items()])
        return id(code_in(frame)), self._of_globals(frame.f_globals), names

    def of(self, x: Any) -> Any:
        """Return what tells ``x``, all the way down, from what it may be in another iteration. Raise _Unknown if a part
        of it cannot be compared."""
        kind: Any = type(x)
        if kind is hooks.Tracer:  # before it is compared with others
            return self._of_tracer(x)
        if kind in AS_THEY_ARE:
            self._number()
            return kind, repr(x)
        known = self._known.get(id(x))
        if known is not None:
            return "met", known
        self._known[id(x)] = self._number()
        if issubclass(kind, np.generic) and kind.__module__ == "numpy" and not x.dtype.hasobject:
            return kind, str(x.dtype), x.tobytes()
        if kind is np.ndarray:
            return id(x), x.shape, x.strides, x.flags.writeable, _digest(x)
        if kind in (list, tuple):
            return kind, tuple([self.of(one) for one in x])
        if kind is dict:
            return kind, tuple([(self.of(k), self.of(v)) for k, v in x.items()])
        if kind is FunctionType:
            return self._of_function(x)
        if kind is CellType:
            return "cell", self.of(x.cell_contents) if _is_filled(x) else None
        if kind is BuiltinFunctionType:  # a method of an object, or a function of a module
            owner = x.__self__
            return x.__name__, id(x) if owner is None or isinstance(owner, ModuleType | str) else self.of(owner)
        if kind is np.dtype or issubclass(kind, np.dtype):
            return "dtype", self._of_dtype(x)
        if kind is np.ufunc and any(t.strip("O") != "->" for t in x.types):  # none of a Python function
            return id(x)
        if issubclass(kind, type | ModuleType) and (_is_immutable(x) or self.trace.run.watches(x)):
            return id(x)
        if is_own_module(module_of(kind)):
            return self._of_ours(x)
        raise _Unknown

    def _number(self) -> int:
        self._count += 1
        if self._count > MOST_ELEMENTS:
            raise _Unknown
        return self._count

    def _of_tracer(self, x: Tracer) -> Any:
        memory = 0 if x.is_scalar else self._known.setdefault(id(x.root()), self._number())
        value = x.constant() if x._atom is None else None
        if value is not None:
            return "constant", memory, value.shape, str(value.dtype), _digest(value)
        self.values.append(x._trace.noting.noted(x, x._trace.builder, memory))
        return "traced", x.aval

    def _of_function(self, f: FunctionType) -> Any:
        said = f.__name__, f.__qualname__, f.__module__, f.__doc__
        parts = (f.__defaults__, f.__kwdefaults__, f.__dict__, f.__annotations__, *(f.__closure__ or ()))
        return id(code_of(f)), self._of_globals(f.__globals__), *map(self.of, said), *map(self.of, parts)

    def _of_ours(self, x: Any) -> Any:
        """Note an object of ours by what it holds: a user's function, or a layer."""
        self.trace.noting.kept[id(x)] = x
        if hasattr(type(x), "__wengert_parts__"):
            parts = x.__wengert_parts__()  # a dict made anew: it is not noted by its id, which another may get
            return id(x), tuple([(name, self.of(part)) for name, part in parts.items()])
        if hasattr(type(x), "__wrapped__") or "__wrapped__" in getattr(x, "__dict__", ()):
            return id(x), self.of(x.__wrapped__)
        if not hasattr(x, "__dict__"):
            raise _Unknown
        return type(x), self.of(vars(x))

    def _of_globals(self, namespace: dict[str, Any]) -> int:
        """Note the globals of a module by their id: they are watched, and so are their copies."""
        if id(namespace) not in self.trace.noting.kept:
            module = sys.modules.get(str(namespace.get("__name__")))
            if vars(module or object) is not namespace and not self.trace.run.watches(namespace):
                raise _Unknown
            self.trace.noting.kept[id(namespace)] = namespace
        return id(namespace)

    def _of_dtype(self, x: np.dtype[Any]) -> str:
        if x.fields is not None or x.metadata is not None:  # of which the names can be changed
            raise _Unknown
        return repr(x)


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # it raises
    except ValueError:
        return False
    return True


def _is_immutable(x: Any) -> bool:
    """Whether it is a class that nobody can change, as those of compiled code are."""
    return isinstance(x, type) and (bool(x.__flags__ & IMMUTABLE) or not x.__flags__ & ON_THE_HEAP)


IMMUTABLE, ON_THE_HEAP = 1 << 8, 1 << 9
"""Py_TPFLAGS_IMMUTABLETYPE and Py_TPFLAGS_HEAPTYPE."""


def _digest(x: np.ndarray[Any, Any]) -> bytes:
    if x.dtype.kind not in "fiubc" or x.nbytes > MOST_BYTES:
        raise _Unknown
    return blake2b(x.tobytes(), digest_size=16).digest()
