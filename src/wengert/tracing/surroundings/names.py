"""The names in a function's code, and what the code does with them."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterable

from wengert.source import Source


def codes(code: types.CodeType) -> list[types.CodeType]:
    """A function's code and that of the functions defined in it."""
    found, at = [code], 0
    while at < len(found):
        found += [c for c in found[at].co_consts if isinstance(c, types.CodeType)]
        at += 1
    return found


@functools.lru_cache(maxsize=4096)
def named(code: types.CodeType) -> tuple[str, ...]:
    """Global variables, builtins, attributes, modules: whatever is looked up by name."""
    return tuple(dict.fromkeys(name for c in codes(code) for name in c.co_names))


def loaded(code: types.CodeType) -> frozenset[str]:
    """Global variables and builtins that are read."""
    return _by_instruction(code, ("LOAD_GLOBAL", "LOAD_NAME"))


def written(code: types.CodeType) -> frozenset[str]:
    """Global variables that are written or deleted."""
    return _by_instruction(code, ("STORE_GLOBAL", "DELETE_GLOBAL"))


def imported(code: types.CodeType) -> frozenset[str]:
    """Modules that the function imports when it runs."""
    return _by_instruction(code, ("IMPORT_NAME",))


@functools.lru_cache(maxsize=4096)
def matches_classes(code: types.CodeType) -> bool:
    """Whether it has ``case Class(attribute=...)``, whose attributes are no names of the code."""
    return any(i.opname == "MATCH_CLASS" for c in codes(code) for i in dis.get_instructions(c))


@functools.lru_cache(maxsize=8192)
def _by_instruction(code: types.CodeType, names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(i.argval for c in codes(code) for i in dis.get_instructions(c) if i.opname in names)


def place_of_write(found: Iterable[types.CodeType], name: str) -> Source | None:
    """The first line that writes the variable, attribute or item that a slot of this name is; None if none does by
    itself, as where a method appends."""
    last = name.rpartition(".")[2].rpartition(" ")[2]
    for code in found:
        for c in codes(code):
            for i in dis.get_instructions(c):
                line = i.positions.lineno if i.positions else None
                is_it = i.argval == last or (i.opname == "STORE_SUBSCR" and last.endswith("]"))
                if i.opname in _WRITES and (is_it or (i.opname == "STORE_ATTR" and name.startswith("the attributes"))):
                    return Source(c.co_filename, line or c.co_firstlineno, c.co_name)
    return None


_WRITES = frozenset({"STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "DELETE_GLOBAL", "DELETE_ATTR"})
