"""The frames that are running: what each of them runs, the place that it is at, and the values of its variables."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED
from types import CodeType, FrameType, FunctionType
from typing import Any

from wengert import extension
from wengert._contexts import is_collecting
from wengert.tracing.python.bytecode import CodePlace, code_of


def run(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call the user's function. Its frame is where the tree of calls on the tape begins."""
    return f(*args, **kwargs)


RUN_CODE = code_of(run)


def is_run(frame: FrameType) -> bool:
    """Whether a frame is that of :func:`run`: what is above it belongs to whoever started the trace."""
    return frame.f_code is RUN_CODE


_NAMES_IN_CODE = "wengert.tracing.interception.names_in_code"
_BETWEEN = frozenset(
    [*[extension.MODULES[name] for name in extension.python_forms()], "wengert.pure.stand_ins", _NAMES_IN_CODE]
    if extension.python_forms()
    else []
)
"""The modules whose frames stand where the compiled ones have none."""


def calling_frame(depth: int) -> FrameType:
    """Return the frame so many calls above the one that asks, as ``sys._getframe(depth)`` does there: that of 1 has
    called it. The Python forms of extension modules do not count."""
    if not _BETWEEN:
        return sys._getframe(depth + 1)
    frame: FrameType | None = sys._getframe(1)
    while depth > 0 and frame is not None:
        frame = frame.f_back
        depth -= frame is None or frame.f_globals.get("__name__") not in _BETWEEN
    if frame is None:
        raise ValueError("call stack is not deep enough")
    return frame


def code_in(frame: FrameType) -> CodeType:
    """Return the code that a frame runs."""
    return frame.f_code


def place_of(frame: FrameType) -> CodePlace:
    """Return the instruction that a frame is at: the call that it waits for, if it has called another one."""
    return CodePlace(frame.f_code, frame.f_lasti)


def behind_error(error: BaseException) -> list[tuple[FrameType, CodePlace]]:
    """Return the frames that an error came up through, the outermost first, each with the instruction that it left."""
    found: list[tuple[FrameType, CodePlace]] = []
    at = error.__traceback__
    while at is not None:
        found.append((at.tb_frame, CodePlace(at.tb_frame.f_code, at.tb_lasti)))
        at = at.tb_next
    return found


def file_name(frame: FrameType) -> str:
    return frame.f_code.co_filename


def function_name(frame: FrameType) -> str:
    return frame.f_code.co_name


def qualified_name(frame: FrameType) -> str:
    """Return the name of a frame's function with that of its class: ``Model.loss``."""
    return frame.f_code.co_qualname


def is_of_collector(frame: FrameType | None) -> bool:
    """Whether a frame runs because Python collects garbage: the end of an object in a cycle (``__del__``, a callback of
    weakref), a callback's (``gc.callbacks``), or called by one."""
    if is_collecting():
        return True
    codes = {code_of(f) for f in gc.callbacks if isinstance(f, FunctionType)}
    while codes and frame is not None:
        if frame.f_code in codes:
            return True
        frame = frame.f_back
    return False


def is_generator(frame: FrameType) -> bool:
    """Whether a frame can be left and taken up again, as those of generators and coroutines can."""
    return bool(frame.f_code.co_flags & _GENERATORS)


_GENERATORS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def value_of(frame: FrameType, name: str) -> Any:
    """Return what a variable is for the code of a frame; None if there is no such variable."""
    code = frame.f_code
    is_local = name in code.co_varnames or name in code.co_freevars or name in code.co_cellvars
    if is_local or not code.co_flags & CO_OPTIMIZED:  # else a look at the local variables is in vain, and takes long
        if name in frame.f_locals:
            return frame.f_locals[name]
    for namespace in (frame.f_globals, frame.f_builtins):
        if name in namespace:
            return STAND_FOR.get(name, namespace[name])
    return None


STAND_FOR: dict[str, Any] = {}
"""The builtins that exchanged code calls by other names, by those: see interception/names_in_code.py."""


def is_importing(frame: FrameType) -> bool:
    """Whether a frame runs because the user's function imports a module: once, and at no later call."""
    at: FrameType | None = frame
    while at is not None and not is_run(at):
        if at.f_code.co_name == "<module>":
            return True
        at = at.f_back
    return False


def first_argument(frame: FrameType) -> Any:
    """Return what the first parameter of a frame's function is, of a method its object; None if it has none."""
    code = frame.f_code
    return frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
