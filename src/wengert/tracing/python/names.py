"""The names in a function's code, and what the code does with them.

What it does with them is found in one pass over the instructions.
"""

from __future__ import annotations

import builtins
import dis
import re
import sys
import types
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from wengert.source import Source
from wengert.tracing.python.bytecode import inner_codes, instructions, once_a_code, reads_variable

Path = tuple[str, ...]
"""A variable and the attributes that are asked of it: ``("np", "random", "default_rng")``."""

_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_STORES = ("STORE_FAST", "STORE_DEREF", "STORE_NAME", "STORE_GLOBAL")
_ASKING = ("getattr", "hasattr", "setattr", "delattr")
_BETWEEN = ("PUSH_NULL", "PRECALL")


class Uses(NamedTuple):
    """The uses of names by a code, and by the codes of the functions defined in it."""

    named: tuple[str, ...]
    """Global variables, builtins, attributes, modules: whatever is looked up by name."""
    loaded: frozenset[str]
    """Global variables and builtins that are read."""
    written: frozenset[str]
    """Global variables that are written or deleted."""
    imported: frozenset[str]
    """Modules that are imported when it runs."""
    paths: dict[Path, int]
    """How far what is read is followed by name, with a line. A variable alone: its value goes elsewhere."""
    taken: frozenset[tuple[str, str]]
    """A module that is imported when it runs, and what is taken from it by name."""
    modules: frozenset[tuple[str, str]]
    """A variable, and the module that an import puts there."""
    seeded: frozenset[Path]
    """Those paths that are called with a literal number first, wherever they are read."""
    asked: frozenset[str]
    """Literal names of attributes: ``getattr(x, "rate", 1.0)``."""
    computes_names: bool
    """Whether it asks for attributes by names that are no literals: ``getattr(x, name)``."""
    matches_classes: bool
    """Whether it has ``case Class(attribute)``, whose attributes are no names of the code."""
    compares: bool
    """Whether it asks if two are one: ``rule is default``."""
    equates: bool
    """Whether it asks if what may be functions are equal: ``rule == self.default``."""
    catches: bool
    """Whether it goes on after an error, by ``except`` or perhaps by ``with``."""


def codes(code: types.CodeType) -> list[types.CodeType]:
    """Return a function's code and those of the functions defined in it."""
    found, at = [code], 0
    while at < len(found):
        found += inner_codes(found[at])
        at += 1
    return found


@once_a_code()
def mentioned(code: types.CodeType) -> frozenset[str]:
    """Return all that is looked up by name, without a look at the instructions."""
    return frozenset(name for c in codes(code) for name in c.co_names)


def has_variable(code: types.CodeType, name: str) -> bool:
    """Whether a name is in the code itself, as that of a variable or an attribute."""
    return name in (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)


@once_a_code()
def uses(code: types.CodeType) -> Uses:
    """Return what the code does with names."""
    named: dict[str, None] = {}
    loaded, written, imported, taken, modules, asked = set(), set(), set(), set(), set(), set()
    paths: dict[Path, int] = {}
    unseeded: set[Path] = set()
    local: set[str] = set()
    elsewhere: set[str] = set()
    matches_classes = computes_names = compares = equates = catches = False
    for c in codes(code):
        named.update(dict.fromkeys(c.co_names))
        instrs = [i for i in instructions(c) if i.opname != "RESUME"]
        for at, i in enumerate(instrs):
            kind = i.opname
            if reads_variable(i):
                (local if kind.startswith("LOAD_FAST") else elsewhere).add(i.argval)
                if kind in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
                    loaded.add(i.argval)
                    if i.argval in _ASKING:
                        literal = _second_argument(instrs, at)
                        computes_names = computes_names or literal is None
                        named[literal or i.argval] = None
                        asked.add(literal or i.argval)
                path, end = _followed(instrs, at)
                paths.setdefault(path, _line(i) or c.co_firstlineno)
                if not _is_called_with_a_number(instrs, end):
                    unseeded.add(path)
            elif kind in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                written.add(i.argval)
            elif kind == "IMPORT_NAME":
                imported.add(i.argval)
                names, variable = _import(instrs, at)
                taken.update((i.argval, name) for name in names)
                if variable:
                    modules.add((variable[0], i.argval if variable[1] else i.argval.partition(".")[0]))
            elif kind == "IS_OP":
                compares = compares or not _is_literal(instrs[at - 1])
            elif kind == "COMPARE_OP":
                equates = equates or _equates(i, instrs[at - 1])
            elif kind == "POP_EXCEPT":
                catches = True
            elif kind == "MATCH_CLASS":
                matches_classes = True
                named.update(dict.fromkeys(s for k in c.co_consts if type(k) is tuple for s in k if type(s) is str))
    local -= elsewhere | {variable for variable, _ in modules}
    paths = {path: line for path, line in paths.items() if path[0] not in local}
    return Uses(
        tuple(named),
        frozenset(loaded),
        frozenset(written),
        frozenset(imported),
        paths,
        frozenset(taken),
        frozenset(modules),
        frozenset(paths.keys() - unseeded),
        frozenset(asked),
        computes_names,
        matches_classes,
        compares,
        equates,
        catches,
    )


def named(code: types.CodeType) -> tuple[str, ...]:
    """Return global variables, builtins, attributes, modules: whatever is looked up by name."""
    return uses(code).named


def written(code: types.CodeType) -> frozenset[str]:
    """Return the global variables that are written or deleted."""
    return uses(code).written


def _followed(instrs: list[dis.Instruction], at: int) -> tuple[Path, int]:
    """The path that begins with the variable that is read at ``at``, and the place behind it."""
    path = [instrs[at].argval]
    end = at + 1
    while instrs[end].opname in _ATTRIBUTES:
        path.append(instrs[end].argval)
        end += 1
    return tuple(path), end


def _is_called_with_a_number(instrs: list[dis.Instruction], at: int) -> bool:
    """Whether a call of what was just read begins at ``at``, and a literal number is all that it is given."""
    rest = [i for i in instrs[at : at + 6] if i.opname not in _BETWEEN][:3]
    if rest[0].opname not in ("LOAD_CONST", "LOAD_SMALL_INT") or type(rest[0].argval) is not int:
        return False
    are_names = rest[1].opname in ("KW_NAMES", "LOAD_CONST")  # of keywords; the latter as of Python 3.13
    call = rest[-1] if are_names else rest[1]
    return call.opname in ("CALL", "CALL_KW") and call.arg == 1


def _second_argument(instrs: list[dis.Instruction], at: int) -> str | None:
    """The literal text that is given second to what is read at ``at``; None if that is not certain.

    It is what last made two of the arguments there are, when the call is reached without a jump.
    """
    depth, literal = 0, None
    first = at + 2 if _NULL_IS_BEHIND and instrs[at + 1].opname == "PUSH_NULL" else at + 1
    for i in instrs[first:]:
        if i.opname == "PRECALL":  # before Python 3.12; what it takes of the stack is counted at its CALL
            continue
        if i.opname == "CALL" and depth == i.arg:
            return literal
        if i.is_jump_target or i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
            return None
        depth += -(i.arg or 0) - 1 if i.opname == "CALL" else dis.stack_effect(i.opcode, i.arg)
        if depth <= 2:
            literal = i.argval if i.opname == "LOAD_CONST" and isinstance(i.argval, str) else None
    return None


_NULL_IS_BEHIND = sys.version_info >= (3, 13)
"""Whether the NULL that a call finds beside its callee is put there after it, and not before."""


def _is_literal(last: dis.Instruction) -> bool:
    """Whether None, True, or a class of Python's was loaded: ``type(x) is float``."""
    return last.opname == "LOAD_CONST" or (last.opname == "LOAD_GLOBAL" and hasattr(builtins, str(last.argval)))


def _equates(comparison: dis.Instruction, last: dis.Instruction) -> bool:
    """Whether functions may be compared, ``last`` having loaded the second of them: it has a name, and is no local."""
    is_equality = comparison.argrepr.removeprefix("bool(")[:2] in ("==", "!=")
    is_local = last.opname.startswith("LOAD_FAST")
    return is_equality and ((reads_variable(last) and not is_local) or last.opname in _ATTRIBUTES)


def _line(instr: dis.Instruction) -> int | None:
    return getattr(instr.positions, "lineno", None)


def _import(instrs: list[dis.Instruction], at: int) -> tuple[tuple[str, ...], tuple[str, bool] | None]:
    """Return the names that an import takes from its module; or the variable that gets the module, and whether that is
    the module named (``import a.b as c``), not the package it is in (``import a.b``)."""
    names = instrs[at - 1].argval
    if names is not None:
        return names, None
    is_named = "." not in instrs[at].argval
    for i in instrs[at + 1 :]:
        if i.opname in _STORES:
            return (), (i.argval, is_named)
        is_named = is_named or i.opname == "IMPORT_FROM"
    return (), None


def place_of_write(found: Iterable[types.CodeType], name: str) -> Source | None:
    """Return the first line that writes the variable, attribute or item that a slot of this name is; None if none does
    by itself, as where a method appends."""
    last = name.rpartition(".")[2].rpartition(" ")[2]
    for code in found:
        for c in codes(code):
            for i in instructions(c):
                is_it = i.argval == last or (i.opname == "STORE_SUBSCR" and last.endswith("]"))
                if i.opname in _WRITES and (is_it or (i.opname == "STORE_ATTR" and name.startswith("the attributes"))):
                    return Source(c.co_filename, _line(i) or c.co_firstlineno, c.co_name)
    return None


def places_of_read(found: Iterable[types.CodeType], name: str) -> list[Source]:
    """Return the lines that read the variable, attribute or item that a slot of this name is: those that follow all of
    its name, as ``MODEL.gain`` does, or else those that read its last attribute, or else its variable."""
    variable, *attributes = _NAMES.findall(_IN_WORDS.sub("", name).partition("[")[0]) or [""]
    whole, last, alone = list[Source](), list[Source](), list[Source]()
    for code in found:
        for c in codes(code):
            instrs = [i for i in instructions(c) if i.opname != "RESUME"]
            for at, i in enumerate(instrs):
                if not reads_variable(i):
                    continue
                (first, *asked), _ = _followed(instrs, at)
                is_it = first == variable and not (i.opname.startswith("LOAD_FAST") and variable not in c.co_cellvars)
                source = Source(c.co_filename, _line(i) or c.co_firstlineno, c.co_name)
                if is_it:
                    alone.append(source)
                if attributes and attributes[-1] in asked:
                    (whole if is_it else last).append(source)
    return list(dict.fromkeys(whole or last or alone))


_IN_WORDS = re.compile(r"^(the \w+ of|a member of|len\()\s*")
_NAMES = re.compile(r"\w+")


@once_a_code()
def bound_anew(code: types.CodeType) -> frozenset[str]:
    """Return how the names of those slots end that the code binds anew: variables that it captured, attributes, items
    of literal keys.

    Attributes that ``__init__`` sets are of an object that is new.
    """
    found = set[str]()
    for c in codes(code):
        for before, i in pairwise(instructions(c)):
            if i.opname == "STORE_SUBSCR" and before.opname == "LOAD_CONST" and isinstance(before.argval, str):
                found.add(f"{before.argval!r}]")
            elif i.opname == "STORE_ATTR" and c.co_name == "__init__":
                continue
            elif i.opname in _WRITES and (i.opname != "STORE_DEREF" or i.argval in c.co_freevars):
                found.add(str(i.argval))
    return frozenset(found)


_WRITES = frozenset({"STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "DELETE_GLOBAL", "DELETE_ATTR"})
