"""The traces that are open in a thread.

Traces nest and form a stack, one for each thread. The innermost concrete trace records every step, so that steps, and
guards above all, stay in the order in which they were taken. An abstract one (a batch) records only what depends on its
own values, so that what is the same for all examples is computed once, and can be looked at.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from wengert._contexts import replaced

if TYPE_CHECKING:
    from wengert.tracing.trace import Trace


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


_stack = _Stack()


def open_traces() -> list[Trace]:
    """Return the traces that are open in this thread, the innermost last: the list itself."""
    return _stack.traces


def current_trace() -> Trace | None:
    """Return the innermost trace of this thread."""
    return _stack.traces[-1] if _stack.traces else None


def suspended() -> AbstractContextManager[Any]:
    """Return a context in which no trace is open in this thread: for what the traced function does not do itself."""
    return replaced(_stack, "traces", [])


def recorder(trace: Trace) -> Trace:
    """Return the trace that records a step on values of ``trace``, the innermost of its operands'. One that has ended
    is returned too: it raises when its values are lifted."""
    return trace if trace.is_direct or not trace.is_open else recorder_of_none()


def recorder_of_none() -> Trace:
    """Return the trace that records a step without operands: the innermost of those that record directly and are
    concrete or own their steps; the outermost of all if there is none."""
    return next((t for t in reversed(_stack.traces) if t.is_direct and (t.concrete or t.owns)), _stack.traces[0])


def bodies() -> list[Trace]:
    """Return the open traces of bodies of loops and branches, the innermost last."""
    return [t for t in _stack.traces if t.decisions is not None]


def is_in_body() -> bool:
    """Whether what happens now in this thread is recorded once, for any number of runs."""
    return any(t.decisions is not None for t in _stack.traces)


def innermost_body() -> Trace | None:
    return next((t for t in reversed(_stack.traces) if t.decisions is not None), None)
