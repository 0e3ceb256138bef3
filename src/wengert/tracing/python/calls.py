"""This file finds what the instruction that a frame is executing calls.

Compiled code has no frame. When it calls a function that is written in Python, the nearest frame is the user's, and the
instruction of that tells that it has called the compiled code, and not the function.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from itertools import takewhile
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

from wengert.tracing.python.bytecode import (
    CodePlace,
    Span,
    instruction,
    instructions,
    instructions_after,
    once_a_code,
    reads_variable,
)
from wengert.tracing.python.frames import place_of, value_of


class Callee(NamedTuple):
    """The thing that an instruction calls: an "attribute" or a "variable" of some name, or something "else"."""

    kind: str
    name: str = ""


_ELSE = Callee("else")  # makers["zeros"](3), an operator, a step of an iterator


def callee(place: CodePlace) -> Callee:
    """Return what the instruction calls."""
    return _callee(*place)


@once_a_code()
def _callee(code: CodeType, offset: int) -> Callee:
    loads = _loads_callee(code, offset)
    if loads is None:
        return _ELSE
    if loads.opname in ("LOAD_ATTR", "LOAD_METHOD"):
        return Callee("attribute", loads.argval)
    if reads_variable(loads):
        return Callee("variable", loads.argval)
    return _ELSE


def called_variable(frame: FrameType, place: CodePlace | None = None) -> Any:
    """Return the object that a frame's instruction, or the one at ``place``, calls by a variable; else None."""
    kind, name = callee(place or place_of(frame))
    return value_of(frame, name) if kind == "variable" else None


def called_object(frame: FrameType) -> Any:
    """Return the object that a frame's instruction calls by a variable or an attribute, where that can be looked up
    without running code; else None."""
    path = _path_of_callee(*place_of(frame))
    found = value_of(frame, path[0]) if path else None
    for name in path[1:]:
        found = vars(found).get(name) if type(found) is ModuleType else inspect.getattr_static(found, name, None)
        if isinstance(found, property):
            return None
    return found


@once_a_code()
def _path_of_callee(code: CodeType, offset: int) -> tuple[str, ...]:
    """The variable and the attributes by which the callee is found; empty if it is by others."""
    loads = _loads_callee(code, offset)
    if loads is None:
        return ()
    path: list[str] = []
    for instr in reversed([*takewhile(lambda i: i is not loads, instructions(code)), loads]):
        if instr.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path.insert(0, instr.argval)
        elif reads_variable(instr):
            return (instr.argval, *path)
        elif instr.opname != "PUSH_NULL":
            break
    return ()


def called_names(frame: FrameType, place: CodePlace) -> list[str] | None:
    """Return what the callee is called in the source, ``["np", "linalg", "solve"]``; None if the text is not to be had,
    or is no plain name."""
    found = _span_of_callee(place)
    if found is None:
        return None
    first, last, start, end = found
    if first != last:
        return None
    text = linecache.getline(place.code.co_filename, first, frame.f_globals).encode()[start:end].decode()
    try:
        node: Any = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else None


def _span_of_callee(place: CodePlace) -> Span | None:
    loads = _loads_callee(*place)
    if loads is None:
        return None
    at = loads.positions
    return (at.lineno, at.end_lineno, at.col_offset, at.end_col_offset)


def _loads_callee(code: CodeType, offset: int) -> Any:
    """The instruction that loads what the one at ``offset`` calls; None if that is no call, or cannot be told.

    A call's expression begins with its callee, so what loads the callee has the same beginning in the source, and
    ends last of all that do (the first of those: names of keywords may be given the same place). Bytecode differs
    between versions of Python; positions in the source do not. Without them (``python -X no_debug_ranges``) nothing
    can be told.
    """
    current = instruction(CodePlace(code, offset))
    if not current.opname.startswith(("CALL", "PRECALL")):
        return None
    here = current.positions
    if here is None or here.lineno is None or here.col_offset is None:
        return None
    end = (here.end_lineno, here.end_col_offset)
    best: Any = None
    best_end: Any = (-1, -1)
    for instr in instructions(code):
        if instr is current:
            break
        at = instr.positions
        if at is None or (at.lineno, at.col_offset) != (here.lineno, here.col_offset):
            continue
        at_end: Any = (at.end_lineno, at.end_col_offset)
        if best_end < at_end < end and instr.opname != "PUSH_NULL":
            best, best_end = instr, at_end
    return best


# ----------------------------------------------------------------------------------------- what stands around a call


def place_of_call(frame: FrameType) -> CodePlace:
    """Return the instruction that calls what the frame called last. Python 3.11 may do that in the one before it."""
    return _call_behind(*place_of(frame))


@once_a_code()
def _call_behind(code: CodeType, offset: int) -> CodePlace:
    at = CodePlace(code, offset)
    call = instruction(at)
    return CodePlace(code, (instructions_after(at)[0] if call.opname == "PRECALL" else call).offset)


def call_around(place: CodePlace) -> CodePlace | None:
    """Return the call that takes what the call at ``place`` gives, as its last argument; None if there is none."""
    return _call_around(*place)


@once_a_code()
def _call_around(code: CodeType, offset: int) -> CodePlace | None:
    behind = [i for i in instructions_after(CodePlace(code, offset)) if i.opname != "PRECALL"]
    return CodePlace(code, behind[0].offset) if behind[0].opname == "CALL" else None
