"""The slots a function reads: how each is read now, what was there when the function was traced.

A slot is a variable, an item, an attribute. A program holds while every slot holds what it did when the function was
traced. Here they are looked at in Python; :func:`native_slots` says the same to the runtime, which calls them places
and looks at them at every call.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np


class Slot(NamedTuple):
    """Somewhere the function reads: how to read it now, and what was there when it was traced."""

    name: str
    read: Callable[[], Any]
    seen: Any
    by_value: bool
    is_shared: bool = False
    """The traced run saw the original, which it must not have changed."""


class CellRead(NamedTuple):
    """Reads a variable of an enclosing function."""

    cell: types.CellType

    def __call__(self) -> Any:
        return self.cell.cell_contents


class ItemRead(NamedTuple):
    """Reads a global variable."""

    namespace: dict[str, Any]
    key: str

    def __call__(self) -> Any:
        return self.namespace[self.key]


class PartRead(NamedTuple):
    """Reads a part of a container: an item, an attribute, a default, or (``part`` is ...) which of them there are."""

    read: Callable[[], Any]
    container: Any
    """What was read when the function was traced."""
    kind: str
    """ "list", "tuple", "dict", "attributes" or "defaults"; "" for what the runtime does not know."""
    part: Any

    def __call__(self) -> Any:
        now = self.read()
        if self.kind == "attributes" and self.part is ...:
            return type(now), *vars(now)
        if self.kind == "attributes":
            now = vars(now)
        elif self.kind == "defaults":
            now = now.__defaults__
        if self.part is not ...:
            return now[self.part]
        return tuple(now) if isinstance(now, dict) else len(now)

    def native(self) -> tuple[Any, ...] | None:
        """The whole container, in the runtime's terms."""
        if self.kind == "list":
            return "list", self.container, tuple(self.container)
        if self.kind == "dict":
            return "dict", self.container, tuple(self.container), tuple(self.container.values())
        if self.kind == "attributes":
            return "attributes", self.container, tuple(vars(self.container)), tuple(vars(self.container).values())
        if self.kind == "defaults":
            return "defaults", self.container, self.container.__defaults__
        return None


class ClassRead(NamedTuple):
    """Reads an attribute of a class, or (``attribute`` is ...) its bases and which attributes it has."""

    cls: type
    attribute: Any

    def __call__(self) -> Any:
        if self.attribute is ...:
            return *self.cls.__mro__, *vars(self.cls)
        return vars(self.cls)[self.attribute]


class AbsentRead(NamedTuple):
    """Reads which of some names a namespace has: they are builtins, until somebody defines them there."""

    namespace: dict[str, Any]
    names: tuple[str, ...]

    def __call__(self) -> Any:
        return tuple(name for name in self.names if name in self.namespace)


class CodeRead(NamedTuple):
    """Reads what a function does."""

    f: types.FunctionType

    def __call__(self) -> Any:
        return self.f.__code__


MOVED = (KeyError, IndexError, AttributeError, ValueError, TypeError)
"""What reading a slot raises when it is no longer there, or no longer of its kind."""


def is_unchanged(slot: Slot) -> bool:
    """Whether what was there when the function was traced is there now."""
    return all_hold((slot,))


def all_hold(slots: Iterable[Slot]) -> bool:
    """Whether what was there is there now, in each of the slots."""
    for _, read, seen, by_value, _ in slots:
        try:
            now = read()
            if now is not seen and not (by_value and type(now) is type(seen) and _equal(now, seen)):
                return False
        except MOVED:
            return False
    return True


def native_slots(slots: Iterable[Slot], version_of: Callable[[type], int]) -> list[tuple[Any, ...]]:
    """The slots in the runtime's terms, its places: cells and items by identity, the rest by a call.

    ``version_of`` tells a number that changes when a class does, or 0.
    """
    native: dict[Any, tuple[Any, ...]] = {}
    rest: list[Slot] = []
    for slot in slots:
        read = slot.read
        if type(read) is CellRead:
            native[id(read.cell)] = ("cell", read.cell, slot.seen)
        elif type(read) is AbsentRead and not slot.seen:
            native[id(read.namespace), read.names] = ("absent", read.namespace, read.names)
        elif type(read) is CodeRead:
            native[id(read.f), "code"] = ("code", read.f, slot.seen)
        elif type(read) is ItemRead:
            native[id(read.namespace), read.key] = ("item", read.namespace, read.key, slot.seen)
        elif type(read) is PartRead and read.kind == "tuple":
            continue  # the tuple itself is looked at, and cannot change
        elif type(read) is PartRead and read.kind:
            key = (id(read.container), read.kind)
            if key not in native:
                whole = read.native()
                assert whole is not None
                native[key] = whole
        elif type(read) is ClassRead and is_unchanged(slot) and version_of(read.cls):
            native[id(read.cls)] = ("type", read.cls, version_of(read.cls))
        else:
            rest.append(slot)
    calls = [("call", lambda: all_hold(rest), True)] if rest else []
    return [*native.values(), *calls]


def _equal(now: Any, seen: Any) -> bool:
    if isinstance(now, np.ndarray | np.generic):
        return now.dtype == seen.dtype and now.shape == seen.shape and now.tobytes() == seen.tobytes()
    if isinstance(now, float):
        return (now == seen and math.copysign(1, now) == math.copysign(1, seen)) or (now != now and seen != seen)
    return bool(now == seen)
