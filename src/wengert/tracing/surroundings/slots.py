"""The slots a function reads: how each is read now, what was there when the function was traced.

A slot is a variable, an item, an attribute. A program holds while every slot holds what it did when the function was
traced. Here they are looked at in Python; :func:`native_slots` says the same to the runtime, which calls them places
and looks at them at every call. The readers are plain classes: dataclasses take longer to make than they save to write.
"""

from __future__ import annotations

import gc
import math
import pickle
import random
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from wengert.tracing.patch import NUMPY, WRAPPERS
from wengert.tracing.python.bytecode import code_of


class Slot(NamedTuple):
    """Somewhere the function reads: how to read it now, and what was there when it was traced."""

    name: str
    read: Callable[[], Any]
    seen: Any
    by_value: bool
    is_shared: bool = False
    """The traced run saw the original, which it must not have changed."""


class CellRead:
    """Reads a variable of an enclosing function."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType) -> None:
        self.cell = cell

    def __call__(self) -> Any:
        return self.cell.cell_contents


class VariableRead:
    """Reads a global variable."""

    __slots__ = ("key", "namespace")

    def __init__(self, namespace: dict[str, Any], key: str) -> None:
        self.namespace, self.key = namespace, key

    def __call__(self) -> Any:
        return self.namespace[self.key]

    def put(self, value: Any) -> None:
        self.namespace[self.key] = value


class NameRead(VariableRead):
    """Reads what stands under a name in a module of a library's, where somebody may put something else, as a test does
    for its time. What we put there ourselves, for as long as a trace is open, is what it stands for."""

    __slots__ = ()

    def __call__(self) -> Any:
        found = self.namespace[self.key]
        return NUMPY[self.key] if found is WRAPPERS.get(self.key, MISSING) else found


class FormRead:
    """Reads the dtype, shape and strides of an array, all of which can be set."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __call__(self) -> Any:
        return self.array.dtype, self.array.shape, self.array.strides


class Container:
    """A container as it was when the function was traced, which the runtime compares in one go, by its items.

    ``kind`` is "list", "tuple", "dict", "attributes" (of an object) or "defaults" (of a function).
    """

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Any) -> None:
        self.kind, self.value = kind, value

    def native(self) -> tuple[Any, ...]:
        """In the runtime's terms."""
        kind, value = self.kind, self.value
        if kind == "list":
            return kind, value, tuple(value)
        if kind == "defaults":
            return kind, value, value.__defaults__
        entries = vars(value) if kind == "attributes" else value
        return kind, value, tuple(entries), tuple(entries.values())


class PartRead:
    """Reads a part of a container, given how that is read. Each kind of part is read by a class of its own.

    ``container`` is what the runtime looks at in place of this part, None if it does not know how; ``key`` says which
    part it is, None where it is said of all of them how many, or which, there are.
    """

    __slots__ = ("container", "key", "read")

    def __init__(self, read: Callable[[], Any], container: Container | None, key: Any = None) -> None:
        self.read, self.container, self.key = read, container, key


class ItemRead(PartRead):
    """Reads an item."""

    __slots__ = ()

    def __call__(self) -> Any:
        return self.read()[self.key]


class LengthRead(PartRead):
    """Reads how many items there are."""

    __slots__ = ()

    def __call__(self) -> Any:
        return len(self.read())


class KeysRead(PartRead):
    """Reads which keys there are."""

    __slots__ = ()

    def __call__(self) -> Any:
        return tuple(self.read())


class AttributeRead(PartRead):
    """Reads an attribute of an object that has all of them in its ``__dict__``."""

    __slots__ = ()

    def __call__(self) -> Any:
        return vars(self.read())[self.key]

    def put(self, value: Any) -> None:
        vars(self.read())[self.key] = value


class AttributesRead(PartRead):
    """Reads of which class an object is, and which attributes it has."""

    __slots__ = ()

    def __call__(self) -> Any:
        now = self.read()
        return type(now), *vars(now)


class DefaultRead(PartRead):
    """Reads the default of a positional parameter."""

    __slots__ = ()

    def __call__(self) -> Any:
        return self.read().__defaults__[self.key]


class ClassRead:
    """Reads an attribute of a class, or (``attribute`` is ...) its names, its bases and which attributes it has."""

    __slots__ = ("attribute", "cls")

    def __init__(self, cls: type, attribute: Any) -> None:
        self.cls, self.attribute = cls, attribute

    def __call__(self) -> Any:
        if self.attribute is ...:
            return _NAME(self.cls), _QUALNAME(self.cls), *self.cls.__mro__, *vars(self.cls)
        return vars(self.cls)[self.attribute]

    def put(self, value: Any) -> None:
        setattr(self.cls, self.attribute, value)


_NAME, _QUALNAME = vars(type)["__name__"].__get__, vars(type)["__qualname__"].__get__


class AbsentRead:
    """Reads which of some names a namespace has: they are builtins, until somebody defines them there."""

    __slots__ = ("names", "namespace")

    def __init__(self, namespace: dict[str, Any], names: tuple[str, ...]) -> None:
        self.namespace, self.names = namespace, names

    def __call__(self) -> Any:
        return tuple(name for name in self.names if name in self.namespace)


class StateRead:
    """Reads the state of a random generator, comparable."""

    __slots__ = ("read",)

    def __init__(self, read: Callable[[], Any]) -> None:
        self.read = read

    def __call__(self) -> Any:
        value = self.read()
        if isinstance(value, random.Random):
            return value.getstate()
        if hasattr(value, "get_state"):  # a RandomState
            return pickle.dumps(value.get_state())
        if hasattr(value, "generate_state"):  # a SeedSequence
            return pickle.dumps(_seeds(value))
        bits = bits_of(value)
        return pickle.dumps((bits.state, _seeds(bits.seed_seq)))

    def put(self, state: Any) -> None:
        """Let it draw, or spawn, again what it has drawn since it was in this state."""
        value = self.read()
        if isinstance(value, random.Random):
            value.setstate(state)
        elif hasattr(value, "set_state"):
            value.set_state(pickle.loads(state))
        elif hasattr(value, "generate_state"):
            _put_seeds(value, pickle.loads(state))
        else:
            bits = bits_of(value)
            bits.state, seeds = pickle.loads(state)
            _put_seeds(bits.seed_seq, seeds)


def bits_of(generator: Any) -> Any:
    """The bit generator of one of numpy.random, which has its state and may be shared; of others, these themselves."""
    name = "_bit_generator" if hasattr(generator, "get_state") else "bit_generator"  # of a RandomState; of a Generator
    return getattr(generator, name, generator)


def _seeds(sequence: Any) -> Any:
    """What a SeedSequence is pickled with: how many children it has had, too. None of what is no such thing."""
    return sequence.__reduce__()[2] if hasattr(sequence, "__setstate_cython__") else None


def _put_seeds(sequence: Any, state: Any) -> None:
    if state is not None:
        sequence.__setstate_cython__(state)


class CacheRead:
    """Reads whether a function that keeps its results (``functools.cache``) still has all that it had: how often it had
    to compute one only grows, until somebody clears it."""

    __slots__ = ("f", "most")

    def __init__(self, f: Any) -> None:
        self.f, self.most = f, f.cache_info().misses

    def __call__(self) -> Any:
        misses = self.f.cache_info().misses
        has_all, self.most = misses >= self.most, max(self.most, misses)
        return has_all


def kept_by(f: Any) -> list[Any]:
    """The results that a function keeps (``functools.cache``), and some of the keys.

    CPython shows them to its collector of garbage alone, before the function itself, in a dict if they have no bound.
    """
    referents = gc.get_referents(f)
    before = referents[: next(k for k, x in enumerate(referents) if x is f.__wrapped__)]
    if f.cache_parameters()["maxsize"] is None:
        return list(before[-1].values())
    return [x for x in before[:-1] if not isinstance(x, type)]


class CodeRead:
    """Reads what a function does, and the texts that it can be asked for."""

    __slots__ = ("f",)

    def __init__(self, f: types.FunctionType) -> None:
        self.f = f

    def __call__(self) -> Any:
        f = self.f
        return code_of(f), f.__doc__, f.__name__, f.__qualname__, f.__module__


class Missing:
    """What is where nothing is."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()
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
    named: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
    rest: list[Slot] = []
    for slot in slots:
        read = slot.read
        if type(read) is CellRead:
            native[id(read.cell)] = ("cell", read.cell, slot.seen)
        elif type(read) is AbsentRead and not slot.seen:
            native[id(read.namespace), read.names] = ("absent", read.namespace, read.names)
        elif type(read) is CodeRead:
            native[id(read.f), "code"] = ("code", read.f, slot.seen)
        elif type(read) is NameRead:
            named.setdefault(id(read.namespace), (read.namespace, {}))[1][read.key] = slot.seen
        elif type(read) is FormRead:
            dtype, shape, strides = slot.seen
            native[id(read.array), "form"] = ("form", read.array, dtype, (*shape, *strides))
        elif type(read) is VariableRead:
            native[id(read.namespace), read.key] = ("item", read.namespace, read.key, slot.seen)
        elif isinstance(read, PartRead) and read.container is not None:
            kind, value = read.container.kind, read.container.value
            if kind != "tuple" and (id(value), kind) not in native:  # a tuple is looked at, and cannot change
                native[id(value), kind] = read.container.native()
        elif type(read) is ClassRead and is_unchanged(slot) and version_of(read.cls):
            native[id(read.cls)] = ("type", read.cls, version_of(read.cls))
        else:
            rest.append(slot)
    names = [_native_names(*found) for found in named.values()]
    calls = [("call", lambda: all_hold(rest), True)] if rest else []
    return [*native.values(), *names, *calls]


def _native_names(namespace: dict[str, Any], seen: dict[str, Any]) -> tuple[Any, ...]:
    """Names of a module in the runtime's terms: under each stands one of two objects."""
    pairs = [(x, WRAPPERS[key] if NUMPY.get(key, MISSING) is x else x) for key, x in seen.items()]
    return "names", namespace, tuple(seen), tuple([x for pair in pairs for x in pair])


def _equal(now: Any, seen: Any) -> bool:
    if isinstance(now, np.ndarray | np.generic):
        return now.dtype == seen.dtype and now.shape == seen.shape and now.tobytes() == seen.tobytes()
    if isinstance(now, float):
        return (now == seen and math.copysign(1, now) == math.copysign(1, seen)) or (now != now and seen != seen)
    return bool(now == seen)
