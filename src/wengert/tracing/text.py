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

import dis
import functools
import io
import linecache
import numbers
import sys
import types
from itertools import islice
from typing import TYPE_CHECKING, Any

from wengert.tracing.callers import is_library

if TYPE_CHECKING:
    import ast

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
"""What text is for. A number that is read from it is another use, under the name of what reads it: ``"float"``."""


def use(frame: types.FrameType | None) -> str:
    """What the text is for that ``frame`` is asking a traced value for."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] in _FOR_PEOPLE:
            return PEOPLE
        if is_library(frame):
            return DECIDES
        if not _is_generated(frame, module):
            tree = _tree(frame.f_code.co_filename)
            end = DECIDES if tree is None else _end(frame, tree)
            if end:
                return end
        frame = frame.f_back  # the text is part of another text, which that frame asks for
    return DECIDES


def _is_generated(frame: types.FrameType, module: str) -> bool:
    """Whether a frame is a text method that no file has: that of a dataclass, and what stands around it."""
    if module in ("dataclasses", "enum"):
        return True
    return frame.f_code.co_name in _SHOWN_AS_TEXT and frame.f_code.co_filename.startswith("<")


@functools.lru_cache(64)
def _tree(file: str) -> dict[tuple[int, ...], list[tuple[ast.AST, ...]]] | None:
    """By position, the expressions of a file, each with what it stands in, innermost first."""
    import ast

    try:
        root = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
    found: dict[tuple[int, ...], list[tuple[ast.AST, ...]]] = {}
    stack: list[tuple[ast.AST, ...]] = [(root,)]
    while stack:
        path = stack.pop()
        node = path[0]
        if isinstance(node, ast.Call | ast.BinOp | ast.JoinedStr | ast.FormattedValue):
            at = (node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0)
            found.setdefault(at, []).append(path)
        stack.extend([(child, *path) for child in ast.iter_child_nodes(node)])
    return found or None


def _end(frame: types.FrameType, tree: dict[tuple[int, ...], list[tuple[ast.AST, ...]]]) -> str:
    """What the text is for that is being made in ``frame``; empty: it is of the text of an object."""
    at = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    found = tree.get(at, []) if at is not None and None not in at else []  # type: ignore[arg-type]  # no None in it
    ends = {_end_of(path, frame) for path in found}  # before Python 3.12 an f-string's parts have its position
    return ends.pop() if len(ends) == 1 else DECIDES


def _end_of(path: tuple[ast.AST, ...], frame: types.FrameType) -> str:
    """The same for one expression of the source, of a path from it outwards."""
    import ast

    for child, node in zip((None, *path), path, strict=False):
        if isinstance(node, ast.Call) and child is not node.func:
            if _is_shown_by(node, frame):
                return PEOPLE
            function = _found(node.func, frame)
            if any(function is builds for builds in _BUILDING) or _is_exception(function):
                continue
            if isinstance(node.func, ast.Attribute) and node.func.attr in _BUILDING_METHODS:
                continue
            is_number = isinstance(function, type) and issubclass(function, numbers.Number)
            return function.__name__ if is_number and not issubclass(function, numbers.Integral) else DECIDES
        if isinstance(node, ast.Raise):
            return PEOPLE
        if isinstance(node, ast.Assert):
            return PEOPLE if child is node.msg else DECIDES
        if isinstance(node, ast.Return):
            return "" if frame.f_code.co_name in _SHOWN_AS_TEXT else DECIDES
        if not isinstance(node, ast.Call) and not _passes_on(node, child):
            return DECIDES
    return DECIDES


def _passes_on(node: ast.AST, child: ast.AST | None) -> bool:
    """Whether what ``node`` gives is made of the text that its part ``child`` is, and of nothing that it decides."""
    import ast

    match node:
        case ast.Attribute():  # "...".format: its call comes next
            return node.attr in _BUILDING_METHODS
        case ast.BinOp():
            return isinstance(node.op, ast.Add | ast.Mod)
        case ast.IfExp():
            return child is not node.test
        case ast.GeneratorExp() | ast.ListComp():
            return child is node.elt
    return isinstance(node, ast.JoinedStr | ast.FormattedValue | ast.List | ast.Tuple | ast.Starred | ast.keyword)


def _is_exception(function: Any) -> bool:
    return isinstance(function, type) and issubclass(function, BaseException)


def _is_shown_by(call: ast.Call, frame: types.FrameType) -> bool:
    """Whether a call shows its arguments to people."""
    import ast
    import logging
    import pprint
    import warnings

    callee = call.func
    function = _found(callee, frame)
    if any(function is shows for shows in (print, warnings.warn, pprint.pprint, pprint.pp)):
        files = [_found(given.value, frame) for given in call.keywords if given.arg in ("file", "stream")]
        return all(file in (sys.stdout, sys.stderr) or is_written_only(file) for file in files)
    if isinstance(callee, ast.Attribute) and callee.attr in _LOGGING:
        owner = _found(callee.value, frame)
        return owner is logging or isinstance(owner, logging.Logger | logging.LoggerAdapter)
    return False


def is_written_only(file: Any) -> bool:
    """Whether it is a file that nobody can read by this object: what is printed into it has been printed."""
    return isinstance(file, io.IOBase) and not file.closed and not file.readable()


def may_be_read(frame: types.FrameType, before: tuple[Any, ...]) -> bool:
    """Whether the function that ``frame`` runs in may read again what it shows to people: it catches the exception by
    a name, or printing, warnings or logging no longer go where they did ``before``: see :func:`outlets`."""
    return outlets() != before or _is_caught(frame)


def outlets() -> tuple[Any, ...]:
    """Where text for people goes at present."""
    warnings, logging = sys.modules["warnings"], sys.modules.get("logging")
    handlers = 0 if logging is None else len(logging._handlerList)
    return id(sys.stdout), id(sys.stderr), id(warnings.showwarning), id(warnings._showwarnmsg_impl), handlers


def _is_caught(frame: types.FrameType | None) -> bool:
    """Whether an exception that ``frame`` raises may be caught by name, within the outermost function traced."""
    is_caught = is_caught_here = False
    while frame is not None:
        if frame.f_code.co_name == "record_call" and frame.f_globals.get("__name__") == _RECORDER:
            is_caught, is_caught_here = is_caught or is_caught_here, False
        elif not is_library(frame):
            is_caught_here = is_caught_here or _catches(frame)
        frame = frame.f_back
    return is_caught


def _catches(frame: types.FrameType) -> bool:
    """Whether a handler around the expression that ``frame`` is at looks at the exception."""
    import ast

    if not frame.f_code.co_exceptiontable:
        return False
    if not _ASKS_FOR_THE_EXCEPTION.isdisjoint(frame.f_code.co_names):
        return True
    tree = _tree(frame.f_code.co_filename) or {}
    at = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    paths = tree.get(at, ())  # type: ignore[arg-type]  # nothing is found for a position that is not known
    around = [node for path in paths for node in path if isinstance(node, ast.Try | ast.TryStar)]
    return not paths or any(handler.name for node in around for handler in node.handlers)


_RECORDER = "wengert.tracing.record"
_ASKS_FOR_THE_EXCEPTION = frozenset(["exc_info", "format_exc", "exception"])


def _found(expression: ast.expr, frame: types.FrameType | None) -> Any:
    """What a name, or an attribute of what a name stands for, is at present; nothing of the user's is run."""
    import ast

    if isinstance(expression, ast.Attribute):
        owner = _found(expression.value, frame)
        holders = [owner, *type(owner).__mro__]
        return next((vars(h)[expression.attr] for h in holders if expression.attr in getattr(h, "__dict__", ())), None)
    if not isinstance(expression, ast.Name):
        return None
    while frame is not None:  # a comprehension has a frame of its own before Python 3.12
        for namespace in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if expression.id in namespace:
                return namespace[expression.id]
        frame = frame.f_back if frame.f_code.co_name in ("<genexpr>", "<listcomp>") else None
    return None


def is_formatting(frame: types.FrameType) -> bool:
    """Whether ``frame`` is at an operator, as it is when ``"%g" % x`` asks for a float, and ``float(x)`` is not."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "BINARY_OP"
