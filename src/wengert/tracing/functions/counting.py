"""A ``for i in range(n)``, where ``n`` is a traced integer, is recorded by its value, or as a ``while`` on a counter.

The value of ``n`` is looked at, so each count is a path of its own. Where a compiled function has met several counts in
one place (:mod:`wengert.tracing.counted`), the loop is recorded there as the ``while`` that it is, ``i`` being traced
too: at each iteration it is looked at whether ``i < n``, and nobody learns the count. If the iterations then carry
traced values alone, they become one step (passes/any_count.py); what asks for the value of ``i``, as an index into a
list does, says so by a guard, and the loop stays what it was.

A counter that may leave the bounds for which its loop was checked is none, and a range of very many numbers is given up
after the first of its iterations: Python answers that call.

``n`` may be ``int(n)``, if that is written in the brackets of ``range`` and nobody else gets the number.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np

from wengert.errors import TooManyIterationsError, message
from wengert.ops.control import MOST_ITERATIONS
from wengert.ops.elementwise import subtract
from wengert.tracing.callers import is_internal
from wengert.tracing.counted import RunCounts
from wengert.tracing.emit import record
from wengert.tracing.interception.asking import AT_ANY
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.looking import evaluate, has_values
from wengert.tracing.operators import python_number
from wengert.tracing.python.bytecode import CodePlace
from wengert.tracing.python.calls import call_around, called_variable, place_of_call
from wengert.tracing.python.frames import calling_frame
from wengert.tracing.python.loops import is_before_for
from wengert.tracing.stack import current_trace, is_in_body
from wengert.tracing.tracer import Tracer

INT64 = np.dtype(np.int64)

MOST_COUNTED = 1 << 16
"""The most iterations of a loop with a traced counter: to look at one takes some ten times as long as to record it."""
MOST_RECORDED = 1 << 14
"""The most iterations that are recorded of a range of more than MOST_ITERATIONS: most loops leave one before."""


@intercepts(range, AT_ANY)
def traced_range(*args: Any) -> Any:
    counts, frame = _counts(), calling_frame(1)
    place = place_of_call(frame)
    if counts is None or len(args) > 2 or not all(map(_is_count, args)) or not _is_of_a_loop(frame, place):
        return range(*map(operator.index, args))
    start, stop = args if len(args) == 2 else (0, args[0])
    low, high = _value(start), _value(stop)
    if high - low < MOST_COUNTED and low > -MOST_ITERATIONS and high < MOST_ITERATIONS:  # else a guard would not hold
        number = counts.counted(place)
        if number is not None:
            return _counted(number, start, stop)
    found = range(*map(operator.index, args))
    if high - low >= MOST_ITERATIONS:
        return _first_of_many(found, high - low, counts)
    counts.note(place, len(found))
    return found


def _value(x: Any) -> int:
    """Return the value of a bound, which no guard notes."""
    return x if type(x) is int else int(evaluate(x._trace, x.atom()))


def _first_of_many(numbers: range, count: int, counts: RunCounts) -> Iterator[int]:
    """Yield the numbers, so many that they are not worth recording, unless the loop is left early."""
    yield from numbers[:MOST_RECORDED]
    trace = current_trace()
    where = None if trace is None else trace.locate()
    what = f"a loop of {count} iterations, whose number is traced, would be recorded iteration by iteration"
    tries = [
        "wg.fori_loop(0, n, ...), or wg.while_loop where it may end early",
        f"calls with other numbers of iterations before, below {MOST_COUNTED}: a loop that carries only traced values "
        "is compiled for any number after some five of them",
    ]
    error = TooManyIterationsError(message(what, where, tries=tries))
    counts.refuse(error)
    raise error


def _counts() -> RunCounts | None:
    """Return the counts of the compiled function that is traced; None in a body, which is not its tape."""
    trace = current_trace()
    return None if trace is None or is_in_body() else trace.run.counts


@intercepts(int)
def traced_int(x: Any) -> Any:
    """Return the value, looked at; the traced number itself where ``range`` gets it, which then asks for the value."""
    if type(x) is not Tracer:
        raise TypeError(
            f"int() argument must be a string, a bytes-like object or a real number, not {type(x).__name__!r}"
        )
    frame = calling_frame(1)
    if _is_count(x) and _counts() is not None:
        place = call_around(place_of_call(frame))
        if place is not None and _is_of_a_loop(frame, place):
            return python_number(x.astype(INT64))
    return x.__int__()


def _is_count(x: Any) -> bool:
    """Whether a loop may count to ``x``: an integer that int64 holds, of which the value, if it is traced, is known."""
    if type(x) is not Tracer:
        return type(x) is int
    is_integer = x.is_scalar and x.aval.dtype.kind in "iu" and x.aval.dtype != np.uint64
    return is_integer and x.constant() is None and x._trace.is_open and has_values(x._trace)


def _counted(number: int, start: Any, stop: Any) -> Iterator[Any]:
    """Yield the numbers of ``range(start, stop)``, traced, each when it has been looked at whether it is one."""
    start, stop = (python_number(x.astype(INT64)) if type(x) is Tracer else x for x in (start, stop))
    i = start if type(start) is Tracer else python_number(record(subtract, (stop, stop), {})) + start
    while bool((i < stop).look("iteration", number)):
        yield i
        i = i + 1


def _is_of_a_loop(frame: FrameType, place: CodePlace) -> bool:
    """Whether the call at ``place`` is one of Python's ``range``, and a ``for`` statement goes over what it gives."""
    is_users = not is_internal(frame)
    return is_users and is_before_for(place) and called_variable(frame, place) is builtins.range
