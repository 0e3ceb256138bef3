"""The class of :class:`~wengert.tracing.tracer.Tracer`'s class: whoever compares it, or looks it up, is refused.

What ``type(x)`` is asked for in the user's functions is answered by exchanging the call
(:mod:`~wengert.tracing.interception.type_of`); this is for what that does not reach.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from wengert.errors import ConcretizationError, message
from wengert.tracing import callers, libraries
from wengert.tracing.python.bytecode import is_indexing
from wengert.tracing.python.frames import calling_frame, place_of
from wengert.tracing.python.names import has_variable
from wengert.tracing.stack import current_trace


class TracerType(type):
    """The class of Tracer, for code that gets it from ``type(x)`` where type_of.py does not reach: compared with a
    class, or looked up, it would be none of those that the value may have, and another branch be taken."""

    def __eq__(cls, other: Any) -> bool:
        if other is cls:
            return True
        _check_asks_no_user(calling_frame(1))
        return False

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        frame = calling_frame(1)
        if not callers.is_internal(frame) and not _is_asked_by_numpy(frame):  # internal as optree is, at every leaf
            _check_asks_no_user(frame)
        return type.__hash__(cls)


def _is_asked_by_numpy(frame: FrameType) -> bool:
    """Whether it is NumPy's compiled code, or SciPy's by way of it, that looks the class up, to make an array of a
    value. Most of its versions pass on an error, where its own way leads to a constant, or to a refusal in better
    words.

    Who asks has no frame if it is compiled: it is what the line calls, or an array that is indexed, in a function that
    names no ``type``.
    """
    place = place_of(frame)
    if has_variable(place.code, "type"):
        return False
    function = libraries.called(frame)
    if function is not None:
        return function.startswith(("np.", "scipy."))
    return is_indexing(place)


def _check_asks_no_user(frame: FrameType) -> None:
    trace = current_trace()
    if trace is None or callers.is_internal(frame) or not callers.is_the_users(frame.f_globals):
        return
    if str(libraries.called(frame)).startswith("pickle."):  # refuses by itself
        return
    raise ConcretizationError(
        message(
            "type() of a traced value was compared with a class, or looked up, where it could not be answered",
            trace.locate(),
            tries=["isinstance(x, float)", "x.__class__"],
        )
    )
