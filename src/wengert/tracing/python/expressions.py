"""This file finds what the source does with the value of the expression that a frame is evaluating.

The expression is found in the syntax tree of the user's file by the position of the frame's instruction. Others stand
around it and take its value, up to a statement: in ``print("x: " + str(x))`` an operator takes that of ``str(x)``, and
then a call. Nothing of the user's is run for this, and nothing is found where there is no source.
"""

from __future__ import annotations

import functools
import linecache
from collections.abc import Iterator
from enum import Enum
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from wengert.tracing.python.bytecode import inner_codes, span
from wengert.tracing.python.frames import code_in, place_of, value_of

if TYPE_CHECKING:  # else it is imported where a tree is made, which most programs never need
    import ast

    Path = tuple[ast.AST, ...]
    """An expression, and what it stands in, innermost first."""


class Kind(Enum):
    CALL = "a call that is given the value"
    METHOD = "a method of the value"
    SUM = "an operator + or %"
    CHOICE = "one of the two values of a conditional expression"
    PART = "a container, an f-string, an argument: whatever has the value as a part"
    RAISE = "a raise"
    MESSAGE = "the message of an assertion"
    RETURN = "a return"
    OTHER = "anything else"


class Taker(NamedTuple):
    """The construct that takes the value of an expression."""

    kind: Kind
    name: str = ""
    """The name of a method: that of the value, or that which is called."""
    function: Any = None
    """The function that is called; None if it is no name, nor an attribute of what a name stands for."""
    owner: Any = None
    """Whose method it is."""
    files: tuple[Any, ...] = ()
    """The objects that are given as ``file=`` or ``stream=``."""


def takers(frame: FrameType) -> list[Iterator[Taker]]:
    """Return what takes the value that a frame is evaluating, the next one first. Before Python 3.12 the parts of an
    f-string have its position: then there are several values. Empty if there is no source."""
    return [_takers(path, frame) for path in _paths(frame)]


def _takers(path: Path, frame: FrameType) -> Iterator[Taker]:
    for child, node in zip((None, *path), path, strict=False):
        taker = _taker(node, child, frame)
        if taker is not None:
            yield taker


def _taker(node: ast.AST, child: ast.AST | None, frame: FrameType) -> Taker | None:
    """How ``node`` takes the value of its part ``child``; None of a call of its method, which has been named."""
    import ast

    match node:
        case ast.Call() if child is node.func:
            return None
        case ast.Call(ast.Attribute(owner, name)):
            return Taker(Kind.CALL, name, _found(node.func, frame), _found(owner, frame), _files(node, frame))
        case ast.Call(function):
            return Taker(Kind.CALL, "", _found(function, frame), None, _files(node, frame))
        case ast.Attribute(_, name):
            return Taker(Kind.METHOD, name)
        case ast.BinOp(_, ast.Add() | ast.Mod(), _):
            return Taker(Kind.SUM)
        case ast.IfExp() if child is not node.test:
            return Taker(Kind.CHOICE)
        case ast.GeneratorExp() | ast.ListComp() if child is node.elt:
            return Taker(Kind.PART)
        case ast.JoinedStr() | ast.FormattedValue() | ast.List() | ast.Tuple() | ast.Starred() | ast.keyword():
            return Taker(Kind.PART)
        case ast.Raise():
            return Taker(Kind.RAISE)
        case ast.Assert() if child is node.msg:
            return Taker(Kind.MESSAGE)
        case ast.Return():
            return Taker(Kind.RETURN)
    return Taker(Kind.OTHER)


def _files(call: ast.Call, frame: FrameType) -> tuple[Any, ...]:
    return tuple([_found(given.value, frame) for given in call.keywords if given.arg in ("file", "stream")])


def _found(expression: ast.AST, frame: FrameType) -> Any:
    """Return the present value of a name, or of an attribute of what a name stands for."""
    import ast

    if isinstance(expression, ast.Attribute):
        owner = _found(expression.value, frame)
        holders = [owner, *type(owner).__mro__]
        return next((vars(h)[expression.attr] for h in holders if expression.attr in getattr(h, "__dict__", ())), None)
    if not isinstance(expression, ast.Name):
        return None
    outer = frame.f_back
    while outer is not None and expression.id not in frame.f_locals and _is_comprehension_of(outer, frame):
        frame, outer = outer, outer.f_back
    return value_of(frame, expression.id)


def _is_comprehension_of(outer: FrameType, frame: FrameType) -> bool:
    """Whether ``frame`` runs a comprehension that is written in the function of ``outer``."""
    code = code_in(frame)
    return code.co_name in ("<genexpr>", "<listcomp>") and any(code is c for c in inner_codes(code_in(outer)))


def catches_by_name(frame: FrameType) -> bool:
    """Whether an exception that is raised at the place of a frame may be looked at by code around it: by the name that
    an ``except`` gives it, or by what tells of the present one."""
    import ast

    code = place_of(frame).code
    if not code.co_exceptiontable:
        return False
    if not _TELLS_OF_EXCEPTIONS.isdisjoint(code.co_names):
        return True
    paths = _paths(frame)
    around = [node for path in paths for node in path if isinstance(node, ast.Try | ast.TryStar)]
    return not paths or any(handler.name for node in around for handler in node.handlers)


_TELLS_OF_EXCEPTIONS = frozenset(["exc_info", "format_exc", "exception"])


# ------------------------------------------------------------------------------------------------------------ trees


def _paths(frame: FrameType) -> list[Path]:
    """The expressions of the source that have the position of a frame's instruction."""
    place = place_of(frame)
    at = span(place)
    return [] if at is None else (_tree(place.code.co_filename) or {}).get(at, [])


@functools.lru_cache(64)
def _tree(file: str) -> dict[tuple[int | None, ...], list[Path]] | None:
    """The expressions of a file by their positions; None if there is no such file, or it is none of Python's."""
    import ast

    try:
        root = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
    found: dict[tuple[int | None, ...], list[Path]] = {}
    stack: list[Path] = [(root,)]
    while stack:
        path = stack.pop()
        node = path[0]
        if isinstance(node, ast.Call | ast.BinOp | ast.JoinedStr | ast.FormattedValue):
            at = node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
            found.setdefault(at, []).append(path)
        stack.extend([(child, *path) for child in ast.iter_child_nodes(node)])
    return found or None
