"""The slots a function reads: how each is read now, what was there when the function was traced.

A slot is a variable, an item, an attribute. A program holds while every slot holds what it did when the function was
traced. Here they are looked at in Python, each through all that it is reached by. :func:`native_slots` says the same to
the runtime, which calls them places: of each, the object that it is in, since the slots that lead there are places too.
The readers are plain classes: dataclasses take longer to make than they save to write.
"""

from __future__ import annotations

import abc
import functools
import gc
import math
import operator
import pickle
import random
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.attributes import held
from wengert.pure.stand_ins import StandIn, own
from wengert.tracing.python.bytecode import code_of
from wengert.tracing.read_only import is_lent, is_readonly

Places: TypeAlias = list[tuple[Any, ...]]
"""Places in the runtime's terms: see _native.pyi."""


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

    def native(self, seen: Any) -> Places:
        return [("cell", self.cell, seen)]


class VariableRead:
    """Reads a global variable: a function of C, where something stands for it while a trace is open."""

    __slots__ = ("key", "namespace")

    def __init__(self, namespace: dict[str, Any], key: str) -> None:
        self.namespace, self.key = namespace, key

    def __call__(self) -> Any:
        found = self.namespace[self.key]
        return own(found) if type(found) is StandIn else found

    def put(self, value: Any) -> None:
        self.namespace[self.key] = value

    def native(self, seen: Any) -> Places:
        return [("item", self.namespace, self.key, seen)]


class FormRead:
    """Reads the dtype, shape and strides of an array, all of which can be set."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __call__(self) -> Any:
        return self.array.dtype, self.array.shape, self.array.strides

    def native(self, seen: Any) -> Places:
        dtype, shape, strides = seen
        return [("form", self.array, dtype, (*shape, *strides))]


_ITERATES: dict[str, Callable[[Any], Any]] = {"list": list.__iter__, "tuple": tuple.__iter__}


class Container:
    """A container as it was found, all of whose parts are read: the runtime compares it in one go, by its items.

    ``kind`` is "list", "tuple" or "dict".
    """

    __slots__ = ("_native", "items", "kind", "value")

    def __init__(self, kind: str, value: Any) -> None:
        self.kind, self.value = kind, value
        self.items: Any = dict(dict.items(value)) if kind == "dict" else tuple(_ITERATES[kind](value))
        """The items that the container had, so that the notes and what the runtime is told cannot differ."""
        self._native: Places | None = None

    def native(self) -> Places:
        """Return the container in the runtime's terms: the same tuple for every part."""
        if self._native is None:
            items = self.items
            if self.kind == "dict":
                self._native = [("dict", self.value, tuple(items), tuple(items.values()))]
            else:
                self._native = [("list", self.value, items)] if self.kind == "list" else []
        return self._native


class PartRead:
    """Reads a part of a container, given how that is read. Each kind of part is read by a class of its own.

    ``container`` is what the runtime looks at in place of this part, None if it does not know how; ``key`` says which
    part it is, None where it is said of all of them how many, or which, there are.
    """

    __slots__ = ("container", "key", "read")

    def __init__(self, read: Callable[[], Any], container: Container | None, key: Any = None) -> None:
        self.read, self.container, self.key = read, container, key

    def was_seen(self, seen: Any, items: Any) -> bool:
        """Whether ``seen`` is what this reads of ``items``, those of the container as it was found."""
        raise NotImplementedError

    def native(self, seen: Any) -> Places | None:
        container = self.container
        return container.native() if container is not None and self.was_seen(seen, container.items) else None


class ItemRead(PartRead):
    """Reads an item."""

    __slots__ = ()

    def __call__(self) -> Any:
        return self.read()[self.key]

    def was_seen(self, seen: Any, items: Any) -> bool:
        try:
            return items[self.key] is seen
        except (KeyError, IndexError):  # the run has taken it out
            return False


class LengthRead(PartRead):
    """Reads how many items there are."""

    __slots__ = ()

    def __call__(self) -> Any:
        return len(self.read())

    def was_seen(self, seen: Any, items: Any) -> bool:
        return len(items) == seen


class KeysRead(PartRead):
    """Reads which keys there are."""

    __slots__ = ()

    def __call__(self) -> Any:
        return tuple(self.read())

    def was_seen(self, seen: Any, items: Any) -> bool:
        return seen is not MISSING and _are_the_same(seen, tuple(items))


class ContentRead(PartRead):
    """Reads all items of a sequence or dict that has many, which are compared as a whole."""

    __slots__ = ()

    def __call__(self) -> Any:
        now = self.read()
        return dict(now) if isinstance(now, dict) else list(now)

    def was_seen(self, seen: Any, items: Any) -> bool:
        if isinstance(items, dict):
            return isinstance(seen, dict) and _are_the_same(_flat(seen), _flat(items))
        return seen is not MISSING and _are_the_same(seen, items)


def _flat(entries: dict[Any, Any]) -> list[Any]:
    return [*entries, *entries.values()]


def _are_the_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


class AttributeRead:
    """Reads an attribute of an object that has it in its ``__dict__``; ``holder`` is the object that was found."""

    __slots__ = ("holder", "key", "read")

    def __init__(self, read: Callable[[], Any], holder: Any, key: Any) -> None:
        self.read, self.holder, self.key = read, holder, key

    def __call__(self) -> Any:
        return vars(self.read())[self.key]

    def put(self, value: Any) -> None:
        vars(self.read())[self.key] = value

    def native(self, seen: Any) -> Places | None:
        found = _dict_of(self.holder)
        return None if found is None else [found, ("item", found[2], self.key, seen)]


class AttributesRead:
    """Reads of which class an object is, and which attributes it has."""

    __slots__ = ("holder", "read")

    def __init__(self, read: Callable[[], Any], holder: Any) -> None:
        self.read, self.holder = read, holder

    def __call__(self) -> Any:
        now = self.read()
        return type(now), *vars(now)

    def native(self, seen: Any) -> Places | None:
        found = _dict_of(self.holder)
        if found is None or seen is MISSING:
            return None
        return [("kind", self.holder, seen[0]), found, ("keys", found[2], seen[1:])]


class HeldRead:
    """Reads an attribute of an object wherever that keeps it, as :func:`~wengert.attributes.held` does."""

    __slots__ = ("holder", "key", "read")

    def __init__(self, read: Callable[[], Any], holder: Any, key: str) -> None:
        self.read, self.holder, self.key = read, holder, key

    def __call__(self) -> Any:
        return held(own(self.read()), self.key, MISSING)

    def _in_class(self) -> Any:
        return next((vars(c)[self.key] for c in type(self.holder).__mro__ if self.key in vars(c)), MISSING)

    def can_be_put(self) -> bool:
        """Whether the attribute can be bound as before without any code of the class: it is one of ``__slots__``, or in
        the ``__dict__``."""
        in_class = self._in_class()
        if isinstance(in_class, types.MemberDescriptorType):
            return True
        return not hasattr(type(in_class), "__set__") and _dict_of(self.holder) is not None

    def put(self, value: Any) -> None:
        holder, member = self.read(), self._in_class()
        is_slot = isinstance(member, types.MemberDescriptorType)
        if value is MISSING:
            member.__delete__(holder) if is_slot else vars(holder).pop(self.key)
        elif is_slot:
            member.__set__(holder, value)
        else:
            vars(holder)[self.key] = value

    def native(self, seen: Any) -> Places | None:
        holder, in_class = self.holder, self._in_class()
        if isinstance(in_class, types.MemberDescriptorType):
            return [("member", holder, in_class) if seen is MISSING else ("member", holder, in_class, seen)]
        found = _dict_of(holder)
        if found is None or hasattr(type(in_class), "__set__") or found[2].get(self.key, MISSING) is not seen:
            return None
        return [found, ("item", found[2], self.key, seen)]


def _dict_of(holder: Any) -> tuple[str, Any, Any] | None:
    """The place that says which ``__dict__`` an object has; None if its class reads it in a way of its own."""
    return ("__dict__", holder, object.__getattribute__(holder, "__dict__")) if _has_dict(type(holder)) else None


@functools.lru_cache(maxsize=4096)
def _has_dict(cls: type) -> bool:
    """Whether instances have a ``__dict__`` that is read as Python reads it."""
    descriptor = next((vars(c)["__dict__"] for c in cls.__mro__ if "__dict__" in vars(c)), None)
    is_read_as_it_is = isinstance(descriptor, types.GetSetDescriptorType | types.MemberDescriptorType)
    return cls.__dictoffset__ != 0 and is_read_as_it_is


class DefaultRead:
    """Reads the default of a positional parameter."""

    __slots__ = ("defaults", "f", "key")

    def __init__(self, f: types.FunctionType, key: int) -> None:
        self.f, self.key, self.defaults = f, key, f.__defaults__ or ()

    def __call__(self) -> Any:
        return (self.f.__defaults__ or ())[self.key]

    def native(self, seen: Any) -> Places | None:
        return [("defaults", self.f, self.defaults)] if self.defaults[self.key] is seen else None


class KeywordDefaultRead:
    """Reads the default of a parameter that is given by name alone."""

    __slots__ = ("defaults", "f", "key")

    def __init__(self, f: types.FunctionType, key: str) -> None:
        self.f, self.key, self.defaults = f, key, f.__kwdefaults__ or {}

    def __call__(self) -> Any:
        return (self.f.__kwdefaults__ or {})[self.key]

    def native(self, seen: Any) -> Places:
        return [("kwdefaults", self.f, self.defaults), ("item", self.defaults, self.key, seen)]


class DefaultsRead:
    """Reads the tuple, or the dict, of a function's defaults: ``attribute`` is "__defaults__" or "__kwdefaults__"."""

    __slots__ = ("attribute", "f")

    def __init__(self, f: types.FunctionType, attribute: str) -> None:
        self.f, self.attribute = f, attribute

    def __call__(self) -> Any:
        return getattr(self.f, self.attribute)

    def native(self, seen: Any) -> Places:
        return [(self.attribute.strip("_"), self.f, seen)]


class MembersRead:
    """Reads the members of a set; ``holder`` is the set that was found."""

    __slots__ = ("holder", "read")

    def __init__(self, read: Callable[[], Any], holder: Any) -> None:
        self.read, self.holder = read, holder

    def __call__(self) -> Any:
        return frozenset(self.read())

    def native(self, seen: Any) -> Places | None:
        if isinstance(self.holder, frozenset):
            return []
        now = frozenset(self.holder)
        is_same = seen is not MISSING and len(now) == len(seen) and {*map(id, now)} == {*map(id, seen)}
        return [("set", self.holder, seen)] if is_same else None


class ArrayRead:
    """Reads the form and the bytes of an array, by what ``content`` says that they are."""

    __slots__ = ("content", "holder", "read")

    def __init__(self, read: Callable[[], Any], holder: Any, content: Callable[[Any], tuple[Any, ...]]) -> None:
        self.read, self.holder, self.content = read, holder, content

    def __call__(self) -> Any:
        return self.content(self.read())

    def native(self, seen: Any) -> Places | None:
        array = self.holder
        if type(array) is not np.ndarray or array.dtype.hasobject or not array.flags.c_contiguous or seen is MISSING:
            return None
        shape, dtype, content, _ = seen
        if array.shape != shape or array.dtype.str != dtype:
            return None
        return [*FormRead(array).native((array.dtype, shape, array.strides)), ("content", array, content)]


class ReadonlyRead:
    """Reads whether the owner of an array has made it read-only, rather than an open trace for its time."""

    __slots__ = ("holder", "read")

    def __init__(self, read: Callable[[], Any], holder: np.ndarray[Any, Any]) -> None:
        self.read, self.holder = read, holder

    def __call__(self) -> bool:
        return is_readonly(self.read())

    def native(self, seen: Any) -> Places | None:
        lent = ("call", functools.partial(is_lent, self.holder), False)
        return [("readonly", self.holder, seen), lent] if seen is True else None


class ArgumentRead:
    """Reads an argument of a partial, by its position or its name."""

    __slots__ = ("holder", "key", "read")

    def __init__(self, read: Callable[[], Any], holder: Any, key: int | str) -> None:
        self.read, self.holder, self.key = read, holder, key

    def __call__(self) -> Any:
        return _arguments_of(self.read(), self.key)[self.key]

    def native(self, seen: Any) -> Places | None:
        found = _arguments_of(self.holder, self.key)
        where = ("member", self.holder, _MEMBERS_OF_PARTIAL[type(self.key)], found)
        if isinstance(self.key, str):
            return [where, ("item", found, self.key, seen)]
        return [where] if found[self.key] is seen else None


def _arguments_of(partial: Any, key: int | str) -> Any:
    return partial.args if isinstance(key, int) else partial.keywords


_MEMBERS_OF_PARTIAL: dict[type, Any] = {int: vars(functools.partial)["args"], str: vars(functools.partial)["keywords"]}


class KeywordsRead:
    """Reads which arguments of a partial have names."""

    __slots__ = ("holder", "read")

    def __init__(self, read: Callable[[], Any], holder: Any) -> None:
        self.read, self.holder = read, holder

    def __call__(self) -> Any:
        return tuple(self.read().keywords)

    def native(self, seen: Any) -> Places | None:
        keywords = self.holder.keywords
        return [("member", self.holder, _MEMBERS_OF_PARTIAL[str], keywords), ("keys", keywords, seen)]


class RegisteredRead:
    """Reads the classes that an abstract one takes for its own."""

    __slots__ = ("cls",)

    def __init__(self, cls: abc.ABCMeta) -> None:
        self.cls = cls

    def __call__(self) -> Any:
        return frozenset(abc._get_dump(self.cls)[0])  # type: ignore[attr-defined]  # not in the stubs: nothing public tells


class ItselfRead:
    """Reads what cannot be another: a member of a set, while the set has the same members."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value

    def native(self, seen: Any) -> Places | None:
        return [] if seen is self.value else None


class ClassRead:
    """Reads an attribute of a class, or (``attribute`` is ...) its class, bases, names and which attributes it has."""

    __slots__ = ("attribute", "cls")

    def __init__(self, cls: type, attribute: Any) -> None:
        self.cls, self.attribute = cls, attribute

    def __call__(self) -> Any:
        cls = self.cls
        if self.attribute is ...:
            return type(cls), cls.__mro__, _NAME(cls), _QUALNAME(cls), tuple(vars(cls))
        return own(vars(cls)[self.attribute])

    def put(self, value: Any) -> None:
        setattr(self.cls, self.attribute, value)

    def native(self, seen: Any) -> Places | None:
        if self.attribute is not ...:
            return [("item", self.cls, self.attribute, seen)]
        return None if seen is MISSING else [("class", self.cls, seen[:4]), ("keys", self.cls, seen[4])]


_NAME, _QUALNAME = vars(type)["__name__"].__get__, vars(type)["__qualname__"].__get__


class AbsentRead:
    """Reads which of some names a namespace has: they are builtins, until somebody defines them there.

    ``holder``: the function whose ``__dict__`` it is, and which may be given another.
    """

    __slots__ = ("holder", "names", "namespace")

    def __init__(self, namespace: dict[str, Any], names: tuple[str, ...], holder: Any = None) -> None:
        self.namespace, self.names, self.holder = namespace, names, holder

    def __call__(self) -> Any:
        namespace = self.namespace if self.holder is None else vars(self.holder)
        return tuple(name for name in self.names if name in namespace)

    def native(self, seen: Any) -> Places | None:
        if seen:
            return None
        if self.holder is None:
            return [("absent", self.namespace, self.names)]
        return [("__dict__", self.holder, vars(self.holder)), ("absent", vars(self.holder), self.names)]


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
    """Return the state that a SeedSequence is pickled with, its number of children included; None of other objects."""
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

    def native(self, seen: Any) -> Places | None:
        return None if seen is MISSING else [("code", self.f, seen)]


class NamesRead:
    """Reads which names a namespace has."""

    __slots__ = ("namespace",)

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace

    def __call__(self) -> Any:
        return tuple(self.namespace)

    def native(self, seen: Any) -> Places | None:
        return None if seen is MISSING else [("keys", self.namespace, seen)]


class Missing:
    """The class of MISSING, which stands where nothing is."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()
MOVED = (KeyError, IndexError, AttributeError, ValueError, TypeError)
"""The errors that reading a slot raises when it is no longer there, or no longer of its kind."""


def is_unchanged(slot: Slot) -> bool:
    """Whether what was there when the function was traced is there now."""
    return all_hold((slot,))


def all_hold(slots: Iterable[Slot]) -> bool:
    """Whether what was there is there now, in each of the slots."""
    for _, read, seen, by_value, _ in slots:
        try:
            now = read()
            if now is not seen and own(now) is not own(seen) and not (by_value and _is_same(now, seen)):
                return False
        except MOVED:
            return False
    return True


def native_slots(slots: Iterable[Slot]) -> Places:
    """The slots in the runtime's terms, its places: by identity where the reader of the slot says how, or by a call.

    A slot that holds something else by now than it did (MISSING stands for it) is one that Python looks at.
    """
    native: dict[Any, tuple[Any, ...]] = {}
    registered: list[Slot] = []
    rest: list[Slot] = []
    for slot in slots:
        read: Any = slot.read
        if type(read) is RegisteredRead:
            registered.append(slot)
            continue
        say = getattr(type(read), "native", None)
        places = None if say is None else say(read, own(slot.seen))
        if places is None:
            rest.append(slot)
            continue
        for place in places:
            native.setdefault((place[0], *map(id, place[1:])), place)
    calls: Places = [("call", lambda: all_hold(rest), True)] if rest else []
    if registered:  # of which there is one number for all
        calls.insert(0, ("counted", abc.get_cache_token, lambda: all_hold(registered), True))
    return [*_merged(native.values()), *calls]


def _merged(places: Iterable[tuple[Any, ...]]) -> Places:
    """The places, with one for all of a dict where its keys and each of its items are looked at."""
    found = {id(place[1]): place[2] for place in places if place[0] == "keys"}
    items: dict[int, dict[str, Any]] = {which: {} for which in found}
    for place in places:
        if place[0] == "item" and id(place[1]) in items:
            items[id(place[1])].setdefault(place[2], place[3])
    whole = {which for which, keys in found.items() if keys and all(key in items[which] for key in keys)}
    merged: Places = []
    for place in places:
        kind, holder, *rest = place
        values = items[id(holder)] if id(holder) in whole and not isinstance(holder, type) else None
        if values is None:
            merged.append(place)
        elif kind == "keys":
            merged.append(("dict", holder, rest[0], tuple([values[key] for key in rest[0]])))
        elif not (kind == "item" and values.get(rest[0], MISSING) is rest[1]):
            merged.append(place)
    return merged


def _is_same(now: Any, seen: Any) -> bool:
    return now is seen or (type(now) is type(seen) and _equal(now, seen))


def _equal(now: Any, seen: Any) -> bool:
    if isinstance(now, np.ndarray | np.generic):
        return now.dtype == seen.dtype and now.shape == seen.shape and now.tobytes() == seen.tobytes()
    if isinstance(now, (list, tuple)):  # in which 1 and True, 0.0 and -0.0 are equal
        return _are_the_same(now, seen) or (len(now) == len(seen) and all(map(_is_same, now, seen)))
    if isinstance(now, dict):
        return len(now) == len(seen) and all(map(_is_same, _flat(now), _flat(seen)))
    if isinstance(now, float):
        return (now == seen and math.copysign(1, now) == math.copysign(1, seen)) or (now != now and seen != seen)
    return bool(now == seen)
