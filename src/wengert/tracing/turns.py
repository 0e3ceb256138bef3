"""Whether a ``while`` of Python's carries nothing from turn to turn but traced values.

What a loop does may depend on how often it has run: on a counter, a list that grows, the iterator of a ``for``. None of
that is on the tape. So at each condition that is looked at, what stands beside traced values in the frames of the
user's functions is noted; a loop between two looks that note the same is a function of traced values alone. What cannot
be compared makes no note. Of a traced value it is noted which it is: the one that a step of this turn has made, or one
from before the loop, of which names may have been exchanged.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from types import BuiltinFunctionType, CellType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.tracing import hooks
from wengert.tracing.callers import is_internal, is_own_module, module_of
from wengert.tracing.python.bytecode import code_of
from wengert.tracing.python.calls import called_variable, callee
from wengert.tracing.python.frames import code_in, function_name, is_generator, is_run, place_of
from wengert.tracing.python.loops import Truth, asks_truth, is_counting, loops_around

if TYPE_CHECKING:
    from wengert.tracing.trace import Trace
    from wengert.tracing.tracer import Tracer

MOST_BYTES = 1 << 18
MOST_ELEMENTS = 200
AS_THEY_ARE = (bool, int, float, complex, str, bytes, type(None))


class _Unknown(Exception):
    """Something whose state is nobody's to compare."""


class Turn(NamedTuple):
    """What is noted at a look, hashable."""

    beside: Any
    """What stands beside traced values."""
    which: tuple[Which, ...]
    """Which traced values stand there."""


class Which(NamedTuple):
    """A traced value: it stays what it is if it was made before a loop; or is, in each turn, what the same step of that
    turn, or of one before it, has made."""

    value: Any
    view: str
    """How it is seen, if it is a view of that."""
    made: tuple[int, int, int]
    """How many looks ago, by which step after that look, and which of its outputs it is."""
    memory: int = 0
    """Of an array, a number for its memory: which others are it, or views of it."""

    def is_as(self, other: Which) -> bool:
        is_it = self.value is other.value or self.made == other.made
        return is_it and self.view == other.view and self.memory == other.memory


def turn(trace: Trace, made_by: str, is_counted: bool = False) -> Turn | None:
    """What stands there now; None where it cannot be said, or where no ``while`` can be the reason. ``made_by``: the
    name of the op that has made the value that is looked at. ``is_counted``: the reason is a ``for`` of the innermost
    frame's, whose counter is traced."""
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
    looping = 0 if is_counted else _frame_of_while(trace, frames, made_by)
    if looping is None or not frames or is_generator(frames[looping]):
        return None  # who takes from a generator may stop before its loop does
    around = [loops_around(place_of(f)) for f in frames[looping + 1 :]]
    if any(loops and loops[0].kind == "for" for loops in around):
        return None
    trace.looping[id(frames[looping])] = frames[looping]
    note = _Note(trace)
    try:
        beside = tuple([note.of_frame(f) for f in frames])
    except _Unknown:
        return None
    return Turn((id(frames[looping]), beside), tuple(note.which))


# -------------------------------------------------------------------------------------------------- whose loop it is


def _frame_of_while(trace: Trace, frames: list[FrameType], made_by: str) -> int | None:
    """The innermost frame with a ``while`` around what it executes, if nothing else can have brought about the look,
    in one turn, more than once: no ``for``, and no compiled code, as ``any(map(f, iterator))`` is."""
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
        trace.container_comparisons.add(place)
    return place not in trace.container_comparisons


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
    """One note in the making. What is met again is noted by its number: whether two names have one object counts."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.which: list[Any] = []
        self._known: dict[int, int] = {}
        self._count = 0

    def of_frame(self, frame: FrameType) -> Any:
        names = tuple([(name, self.of(x)) for name, x in frame.f_locals.items()])
        return id(code_in(frame)), self._of_globals(frame.f_globals), names

    def of(self, x: Any) -> Any:
        """What tells ``x``, all the way down, from what it may be in another turn. Raises _Unknown for what it is of
        that cannot be compared."""
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
        if issubclass(kind, type | ModuleType) and (_is_immutable(x) or self.trace.watches(x)):
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
        self.which.append(x._trace.which(x, memory))
        return "traced", x.aval

    def _of_function(self, f: FunctionType) -> Any:
        said = f.__name__, f.__qualname__, f.__module__, f.__doc__
        parts = (f.__defaults__, f.__kwdefaults__, f.__dict__, f.__annotations__, *(f.__closure__ or ()))
        return id(code_of(f)), self._of_globals(f.__globals__), *map(self.of, said), *map(self.of, parts)

    def _of_ours(self, x: Any) -> Any:
        """An object of ours, by what a user's function or layer it holds."""
        self.trace.looping[id(x)] = x
        if hasattr(type(x), "__wengert_parts__"):
            return id(x), self.of(x.__wengert_parts__())
        if hasattr(type(x), "__wrapped__") or "__wrapped__" in getattr(x, "__dict__", ()):
            return id(x), self.of(x.__wrapped__)
        if not hasattr(x, "__dict__"):
            raise _Unknown
        return type(x), self.of(vars(x))

    def _of_globals(self, namespace: dict[str, Any]) -> int:
        """Those of modules are watched; so are their copies."""
        if id(namespace) not in self.trace.looping:
            module = sys.modules.get(str(namespace.get("__name__")))
            if vars(module or object) is not namespace and not self.trace.watches(namespace):
                raise _Unknown
            self.trace.looping[id(namespace)] = namespace
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
