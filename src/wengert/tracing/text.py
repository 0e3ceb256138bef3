"""Whether the text of a traced value is for people, or may decide something.

``print(f"{x:.3f}")`` shows a number, and the result of the function does not depend on it; ``cache[f"{x:.3f}"]`` takes
a branch. A run that will be repeated must guard the second and need not guard the first. The two are told apart by
the expression in the user's source: from the one that is being evaluated, found by the position of its instruction,
one climbs through whatever only builds text (``+``, ``%``, ``.format``, ``.join``, ``str()``, a list) to what takes
the text: an argument of ``print``, of logging, of ``warnings.warn``, of an exception that is raised; the message of an
assertion. Those are for people, unless the function may read them again: see :func:`may_be_read`. Everything else
decides, and so does whatever cannot be told: no source, a message assigned to a variable first. That is right too, and
only slower.
"""

from __future__ import annotations

import io
import numbers
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from wengert.tracing.callers import is_library
from wengert.tracing.python.expressions import Kind, Taker, catches_by_name, takers
from wengert.tracing.python.frames import file_name, function_name

_FOR_PEOPLE = frozenset(
    ["logging", "warnings", "traceback", "pdb", "bdb", "cmd", "code", "doctest", "unittest", "pprint", "reprlib"]
    + ["pytest", "_pytest", "pluggy", "IPython", "rich", "loguru", "structlog", "tqdm", "debugpy", "pydevd"]
    + ["_pydevd_bundle"]
)
"""Packages whose own code asks for text to show it."""

_LOGGING = frozenset(["debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"])
_BUILDING = (str, repr, format, ascii, map, list, tuple, reversed)
_BUILDING_METHODS = frozenset(
    ["format", "join", "ljust", "rjust", "center", "strip", "lstrip", "rstrip", "upper", "lower", "title", "zfill"]
)
_SHOWN_AS_TEXT = frozenset(["__repr__", "__str__", "__format__"])


PEOPLE, DECIDES = "people", "decides"
"""The uses of text. A number that is read from it is another use, under the name of what reads it: ``"float"``."""


def use(frame: FrameType | None) -> str:
    """Return what the text is for that ``frame`` is asking a traced value for."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] in _FOR_PEOPLE:
            return PEOPLE
        if is_library(frame):
            return DECIDES
        if not _is_generated(frame, module):
            ends = {_end(found, function_name(frame)) for found in takers(frame)}
            end = ends.pop() if len(ends) == 1 else DECIDES
            if end:
                return end
        frame = frame.f_back  # the text is part of another text, which that frame asks for
    return DECIDES


def _is_generated(frame: FrameType, module: str) -> bool:
    """Whether a frame is a text method that no file has: that of a dataclass, and what stands around it."""
    if module in ("dataclasses", "enum"):
        return True
    return function_name(frame) in _SHOWN_AS_TEXT and file_name(frame).startswith("<")


def _end(found: Iterator[Taker], name: str) -> str:
    """The use of text that is made in a function of this name; empty: it is of the text of an object."""
    for taker in found:
        if taker.kind in (Kind.RAISE, Kind.MESSAGE) or (taker.kind is Kind.CALL and _shows(taker)):
            return PEOPLE
        if taker.kind is Kind.RETURN and name in _SHOWN_AS_TEXT:
            return ""
        if _is_number(taker.function):
            return taker.function.__name__
        if not _builds(taker):
            return DECIDES
    return DECIDES


def _builds(taker: Taker) -> bool:
    """Whether what takes a text makes another text of it, or an error, and decides nothing."""
    if taker.kind is not Kind.CALL:
        return taker.kind in _PASSED_ON or (taker.kind is Kind.METHOD and taker.name in _BUILDING_METHODS)
    function = taker.function
    is_error = isinstance(function, type) and issubclass(function, BaseException)
    return is_error or any(function is builds for builds in _BUILDING) or taker.name in _BUILDING_METHODS


_PASSED_ON = (Kind.SUM, Kind.CHOICE, Kind.PART)


def _is_number(function: Any) -> bool:
    """Whether a call makes a number that has a derivative: ``float(text)``."""
    is_number = isinstance(function, type) and issubclass(function, numbers.Number)
    return is_number and not issubclass(function, numbers.Integral)


def _shows(taker: Taker) -> bool:
    """Whether a call shows its arguments to people."""
    import logging
    import pprint
    import warnings

    if any(taker.function is shows for shows in (print, warnings.warn, pprint.pprint, pprint.pp)):
        return all(file in (sys.stdout, sys.stderr) or is_written_only(file) for file in taker.files)
    owner = taker.owner
    return taker.name in _LOGGING and (owner is logging or isinstance(owner, logging.Logger | logging.LoggerAdapter))


def is_written_only(file: Any) -> bool:
    """Whether it is a file that nobody can read by this object: what is printed into it has been printed."""
    return isinstance(file, io.IOBase) and not file.closed and not file.readable()


def may_be_read(frame: FrameType, before: tuple[Any, ...]) -> bool:
    """Whether the function that ``frame`` runs in may read again what it shows to people: it catches the exception by
    a name, or printing, warnings or logging no longer go where they did ``before``: see :func:`outlets`."""
    return outlets() != before or _is_caught(frame)


def outlets() -> tuple[Any, ...]:
    """Where text for people goes at present."""
    warnings, logging = sys.modules["warnings"], sys.modules.get("logging")
    handlers = 0 if logging is None else len(logging._handlerList)
    return id(sys.stdout), id(sys.stderr), id(warnings.showwarning), id(warnings._showwarnmsg_impl), handlers


def _is_caught(frame: FrameType | None) -> bool:
    """Whether an exception that ``frame`` raises may be caught by name, within the outermost function traced."""
    is_caught = is_caught_here = False
    while frame is not None:
        if function_name(frame) == "record_call" and frame.f_globals.get("__name__") == _RECORDER:
            is_caught, is_caught_here = is_caught or is_caught_here, False
        elif not is_library(frame):
            is_caught_here = is_caught_here or catches_by_name(frame)
        frame = frame.f_back
    return is_caught


_RECORDER = "wengert.tracing.record"
