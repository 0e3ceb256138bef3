"""A trace is open, and other code is exchanged meanwhile: the Python form of wengert.tracing.interception._opened.

Opening and closing take some bytecodes here, between which a Ctrl-C may come: see :mod:`wengert.pure.context`. What the
compiled module forbids at once, by functions of C that it exchanges (``np.add.at`` on a read-only array, ``setflags``,
a new shape), is found out here when the trace ends: every array that the trace reads has its digest compared.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import CodeType, FunctionType
from typing import Any, TypeVar

from wengert._contexts import put_off
from wengert.pure.context import CountedContext

Trace = TypeVar("Trace")

_ndarray: Any = None
_disordered: type[Exception] = RuntimeError


def setup(ndarray: type, error: type[Exception], /) -> None:
    """Say which class arrays are of, and what is raised when traces are closed in another order than they were opened
    in."""
    global _disordered, _ndarray
    _ndarray, _disordered = ndarray, error


# -------------------------------------------------------------------------- what is exchanged while any trace is open

_codes: dict[int, tuple[FunctionType, CodeType, CodeType]] = {}  # by the id of the function, which is kept
_exchanges: list[tuple[Callable[[], None], Callable[[], None]]] = []


def _put_code(function: FunctionType, old: CodeType, now: CodeType) -> None:
    if function.__code__ is old:  # what somebody else has put there meanwhile is theirs to keep
        function.__code__ = now


def _begin_all() -> None:
    for begin, _ in _exchanges:
        begin()
    for function, own, ours in _codes.values():
        if function.__code__ is own:
            function.__code__ = ours


def _end_all() -> None:
    for function, own, ours in _codes.values():
        if function.__code__ is ours:
            function.__code__ = own
    for _, end in _exchanges:
        end()


def exchange_code(function: FunctionType, own: CodeType, ours: CodeType, /) -> None:
    """Exchange a function's own code while a trace is open, and now if one is. Asked again, it does nothing."""
    if not (isinstance(function, FunctionType) and isinstance(own, CodeType) and isinstance(ours, CodeType)):
        raise TypeError("exchange_code takes a function, its own code and ours")
    if id(function) in _codes:
        return
    if len(own.co_freevars) != len(ours.co_freevars):
        raise ValueError("both codes must have as many free variables")
    _codes[id(function)] = (function, own, ours)
    if Opened._entered:
        _put_code(function, own, ours)


def give_code_back(function: FunctionType, /) -> None:
    """Exchange a function's code no more; now it has its own."""
    found = _codes.pop(id(function), None)
    if found is not None:
        _put_code(function, found[2], found[1])


def exchange(begin: Callable[[], None], end: Callable[[], None], /) -> None:
    """Call two functions when the first trace is opened and when the last one is closed; and the first one now if a
    trace is open."""
    if not (callable(begin) and callable(end)):
        raise TypeError("exchange takes two functions")
    _exchanges.append((begin, end))
    if Opened._entered:
        begin()


def begin_again() -> None:
    """Exchange what has been enrolled, if a trace is open."""
    if Opened._entered:
        _begin_all()


# ------------------------------------------------------------------------------------------------------ an open trace


class _Counts(threading.local):
    """How many traces this thread has opened that are open. The list is shared with them: one may be closed by another
    thread, that of a generator which goes on there."""

    def __init__(self) -> None:
        self.open = [0]


_of_thread = _Counts()


def is_tracing() -> bool:
    """Return whether a trace may be open that this thread has opened. False is certain."""
    return _of_thread.open[0] > 0


class Opened(CountedContext):
    """A trace is open."""

    __slots__ = ("_count", "_is_counted", "_stack", "_trace", "_was_last")

    def __init__(self, trace: Any, stack: list[Any]) -> None:
        self._trace, self._stack = trace, stack
        self._was_last = True
        self._is_counted = False
        self._count = _of_thread.open
        self.begin()

    def enter_as(self, is_first: bool) -> None:
        self._is_counted = True
        self._count[0] += 1
        trace = self._trace
        self._stack.append(trace)
        for one in trace._overtaken:
            one.is_direct = False
        trace.is_direct = True
        trace.is_open = True
        if is_first:
            _begin_all()

    def leave_as(self, is_last: bool) -> None:
        if self._is_counted:
            self._is_counted = False
            self._count[0] -= 1
        trace, stack = self._trace, self._stack
        for k in reversed(range(len(stack))):
            if stack[k] is trace:
                self._was_last = k == len(stack) - 1
                del stack[k]
                break
        if is_last:
            _end_all()
        trace.is_open = False
        trace.is_direct = False
        for one in trace._overtaken:
            one.is_direct = True
        for one in trace.read_only.lent_traced:
            one._why_readonly = ""
        _give_back([array for array in trace.read_only.lent if _lent.pop(id(array), None) is not None])

    def entered(self) -> Any:
        return self._trace

    def exited(self, is_error: bool) -> Any:
        if not self._was_last:
            raise _disordered("traces are closed in another order than they were opened in")
        return self._trace._ended(is_error)


def opened(trace: Trace, stack: list[Any], /) -> AbstractContextManager[Trace]:
    """Return a context in which ``trace`` is open, the last one of a thread's ``stack``."""
    if not isinstance(stack, list):
        raise TypeError(f"opened() argument 2 must be list, not {type(stack).__name__}")
    return Opened(trace, stack)


# ------------------------------------------------------------------------------ functions whose code asks for no `type`

_answers: dict[int, list[Any]] = {}  # by the id of a function: it, its own code, ours, and how many contexts want it


class AnsweredCodes(CountedContext):
    """Functions have other codes."""

    __slots__ = ("_codes", "_done", "_functions")

    def __init__(self, functions: Sequence[FunctionType], codes: Sequence[CodeType]) -> None:
        self._functions, self._codes, self._done = functions, codes, 0
        self.begin()

    def enter_as(self, is_first: bool) -> None:
        for function, ours in zip(self._functions, self._codes, strict=True):
            own = function.__code__
            answer = _answers.setdefault(id(function), [function, own, ours, 0])
            answer[3] += 1
            self._done += 1
            if own is not ours:
                function.__code__ = ours

    def leave_as(self, is_last: bool) -> None:
        while self._done > 0:
            self._done -= 1
            answer = _answers[id(self._functions[self._done])]
            answer[3] -= 1
            if answer[3] == 0:
                del _answers[id(answer[0])]
                _put_code(answer[0], answer[2], answer[1])


def answered(functions: tuple[FunctionType, ...], codes: tuple[CodeType, ...], /) -> AbstractContextManager[None]:
    """Return a context in which functions have other codes, by however many contexts; then they have their own."""
    are_codes = isinstance(codes, tuple) and all(isinstance(code, CodeType) for code in codes)
    are_functions = isinstance(functions, tuple) and all(isinstance(f, FunctionType) for f in functions)
    if not (are_codes and are_functions and len(functions) == len(codes)):
        raise TypeError("answered takes functions, and as many codes")
    return AnsweredCodes(functions, codes)


# ------------------------------------------------------------------------------------------- arrays that are read later


_lent: dict[int, Any] = {}  # the arrays that are read-only until the trace ends that has them in its list, by id
_n_harmless = 0  # threads that write no array of the user's


class HarmlessThread(CountedContext):
    """This thread writes no array of the user's."""

    __slots__ = ("_is_counted",)

    def __init__(self) -> None:
        self._is_counted = False
        self.begin()

    def enter_as(self, is_first: bool) -> None:
        global _n_harmless
        self._is_counted = True
        _n_harmless += 1

    def leave_as(self, is_last: bool) -> None:
        global _n_harmless
        if self._is_counted:
            self._is_counted = False
            _n_harmless -= 1


def harmless() -> AbstractContextManager[None]:
    """Return a context in which this thread writes no array of the user's, for :func:`lend`."""
    return HarmlessThread()


def _n_threads() -> int:
    """Return how many threads run Python code. Where the collector runs in between and frees what threads keep apart,
    Python 3.11 waits for itself for ever."""
    with put_off():
        return len(sys._current_frames())


def lend(arrays: list[Any], array: Any, /) -> bool:
    """Make an array read-only until the trace ends whose list this is, if there are no other threads, which may want to
    write it. Return False: it is to be looked at when the trace ends, for here nothing stops those who write read-only
    arrays."""
    if array.flags.writeable and _n_threads() <= 1 + _n_harmless:
        arrays.append(array)
        _lent[id(array)] = array
        array.flags.writeable = False
    return False


def _give_back(arrays: list[Any]) -> None:
    """Make arrays writeable again: what a view is of has to be so before the view is."""
    while arrays:
        refused: list[Any] = []
        for array in arrays:
            try:
                array.flags.writeable = True
            except ValueError:
                refused.append(array)
        if len(refused) == len(arrays):
            return  # what they are views of was made read-only by somebody else meanwhile
        arrays = refused


def is_lent(array: object, /) -> bool:
    """Return whether an array is read-only because a trace is lent it."""
    return id(array) in _lent


_PIECE = 1 << 20  # bytes that are copied at a time


def digest(array: Any, /) -> int:
    """Return a number of 64 bits that is another one, but for one case in 10**19, when an element of ``array`` is, or
    its shape, strides or dtype. It is made of Python's own hash of the bytes."""
    if not isinstance(array, _ndarray):
        raise TypeError(f"digest takes an array, not {type(array).__name__}")
    if array.nbytes <= _PIECE:
        told = hash(array.tobytes())
    else:
        rows = array if array.flags.c_contiguous else array.T if array.flags.f_contiguous else _ndarray_of(array)
        whole = memoryview(rows).cast("B")
        told = hash(tuple([hash(whole[k : k + _PIECE].tobytes()) for k in range(0, len(whole), _PIECE)]))
    return hash((told, array.shape, array.strides, array.dtype))


def _ndarray_of(array: Any) -> Any:
    """Return a copy of an array in C order, which is NumPy's own while a trace is open too."""
    copy = _ndarray(array.shape, array.dtype)
    copy[...] = array
    return copy


def forked() -> None:
    """Leave, in a child process, the contexts of threads that are not in it."""
    HarmlessThread.leave_those_of_other_threads()
    AnsweredCodes.leave_those_of_other_threads()
    Opened.leave_those_of_other_threads()
