"""A traced value has the text of its value: ``print(x)``, ``f"{x:.3f}"``, ``str(x)``.

The value is evaluated. If the run will be repeated and the text may decide something (:mod:`wengert.tracing.text`), it
is looked at, which a guard records. A value of a trace that has ended has a text for people alone.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.errors import ConcretizationError, message
from wengert.tracing import text
from wengert.tracing.callers import is_ours
from wengert.tracing.lifting import escaped
from wengert.tracing.looking import evaluate
from wengert.tracing.stack import current_trace

if TYPE_CHECKING:
    from wengert.tracing.tracer import Tracer


def text_of(x: Tracer, show: Callable[[Any], str], frame: FrameType) -> str:
    """Return what ``show`` makes of the value, for ``frame``; of a value that cannot be seen, and for wengert itself,
    the type."""
    constant = x.constant()
    if constant is not None:
        _depend_on_options(x, frame)
        return show(x.as_python(constant))
    is_open = x._trace.is_open
    if is_ours(frame) or (
        not is_open and x._told is None and (current_trace() is None or text.use(frame) == text.PEOPLE)
    ):
        return f"traced({x.aval}{'' if is_open else ', escaped'})"
    try:
        return show(x.as_python(shown(x, frame)))
    except ConcretizationError:
        if text.use(frame) == text.PEOPLE:
            return f"traced({x.aval})"
        raise


def shown(x: Tracer, frame: FrameType) -> Any:
    """Return the value for a text that ``frame`` asks for, guarded if the run will be repeated and the text may
    decide."""
    is_open = x._trace.is_open
    if not is_open and current_trace() is None:
        return x._told
    use = text.use(frame)
    if use not in (text.PEOPLE, text.DECIDES):
        raise ConcretizationError(
            message(
                f"{use}() of the text of a traced {x.aval} would cut its derivative",
                x._trace.locate() if is_open else None,
                tries=["the value as it is", "round(x, 3), for a number of so many digits"],
            )
        )
    inner = current_trace() or x._trace
    is_read = inner.run.known is not None and (use == text.DECIDES or text.may_be_read(frame, inner.run.outlets))
    if not is_open:
        if is_read or x._told is None:  # no guard can be recorded any more
            raise escaped(x)
        return x._told
    if x._trace.concrete and not is_read:
        value = evaluate(x._trace, x.atom())
    else:
        _depend_on_options(x, frame)
        value = x.look("text")
        if x.aval.dtype.kind == "f" and not x.aval.shape and value == 0:
            bool(np.signbit(x))  # a guard takes -0.0 for 0.0
    if x.is_scalar:  # which nobody writes
        x._told = value
    return value


def _depend_on_options(x: Tracer, frame: FrameType) -> None:
    """Note that the text depends on NumPy's options, which anybody may set."""
    trace = current_trace()
    if trace is not None and x.weak is None and not is_ours(frame):
        trace.run.depends("np.get_printoptions()", np.get_printoptions)
