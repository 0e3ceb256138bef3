"""This file tells what a value is made of, and how each part of it is read again.

Two walks go through the world that a function reads: one puts copies in the place of what it finds
(:mod:`~wengert.tracing.surroundings.environment`), the other notes what that looks like
(:mod:`~wengert.tracing.surroundings.watching`). Both get the parts of a value here, so what one of them knows of, the
other does. What they do with a part, and which they leave alone, is theirs to say.
"""

from __future__ import annotations

import array
import contextvars
import functools
import os
import random
import struct
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.attributes import held
from wengert.pure.stand_ins import own
from wengert.tracing.callers import is_opaque, module_of
from wengert.tracing.python import names
from wengert.tracing.python.bytecode import code_of, free_variables
from wengert.tracing.surroundings.purity import is_immutable
from wengert.tracing.surroundings.slots import (
    MISSING,
    ArgumentRead,
    ArrayRead,
    AttributeRead,
    AttributesRead,
    CellRead,
    ClassRead,
    Container,
    ContentRead,
    DefaultRead,
    DefaultsRead,
    HeldRead,
    ItemRead,
    ItselfRead,
    KeysRead,
    KeywordDefaultRead,
    LengthRead,
    MembersRead,
    StateRead,
    VariableRead,
)

MAX_ITEMS = 10_000
_ENVIRON = type(os.environ)
SEQUENCES = (list, tuple, deque)
SETS = (set, frozenset)
CONTAINERS = (*SEQUENCES, dict, *SETS)
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
HOLDERS = (types.ModuleType, type)
BY_VALUE = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), slice, range)
"""Types whose objects are compared by value; everything else is compared by identity, and its parts are looked at."""
BYTES = (bytearray, memoryview, array.array)
INNER = ("__func__", "__self__", "__wrapped__", "fget", "fset", "func", "args", "keywords")
"""The attributes of a method, a property, a decorated function, a partial, that hold what it is made around."""


class Part(NamedTuple):
    """One of the things that a value is made of."""

    key: Any
    """Which of its kind: an index, a key, the name of an attribute."""
    name: str
    """The part in words: ``table['a']``."""
    value: Any
    read: Callable[[], Any]
    """Reads it again."""


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Parts:
    """The parts that a value is made of, kind by kind; most values have one kind or two."""

    content: Part | None = None
    """The part that is compared by value: a length, the keys of a dict, the bytes of an array, a generator's state."""
    items: Iterable[Part] = ()
    """The items of a sequence or a dict; the rules of a primitive."""
    members: Iterable[Part] = ()
    """Those keys of a dict, and elements of a set or of an array of objects, that can change themselves."""
    names: Part | None = None
    """Which attributes there are, of an object or class; on a function, those that somebody has hung there."""
    attributes: Iterable[Part] = ()
    inner: Iterable[Part] = ()
    """The objects inside a method, a property, a partial, and the containers of its arguments and defaults."""
    arguments: Iterable[Part] = ()
    """The items of those containers: a call is given them besides its own arguments."""
    cells: Iterable[Part] = ()
    """Variables of enclosing functions, the keys being their positions."""
    variables: Iterable[Part] = ()
    """Global variables that the code names."""


def parts_of(value: Any, name: str, read: Callable[[], Any]) -> Parts:
    """The parts of ``value``, which is called ``name`` and read again by ``read``."""
    if isinstance(value, types.FunctionType):
        return _of_function(value, name)
    if isinstance(value, np.ndarray | np.void):
        return _of_array(value, name, read)
    if isinstance(value, HOLDERS):
        return _of_holder(value, name)
    if isinstance(value, VIEWS):
        return _of_dict(value.mapping, name, lambda: read().mapping)
    if isinstance(value, types.MappingProxyType):
        return _of_dict(value, name, read)
    if isinstance(value, CONTAINERS):
        parts = _of_container(value, name, read)
        if is_own_kind(value):
            _add_attributes(parts, value, name, read)
        return parts
    if is_copyable(type(value)):
        return _of_copyable(value, name, read)
    if isinstance(value, BYTES):
        return Parts(Part(None, name, bytes(value), lambda: bytes(read())))
    if is_generator(value):
        state = StateRead(read)
        return Parts(Part(None, f"the state of {name}", state(), state))
    if isinstance(value, types.GenericAlias):  # it cannot be changed; its attributes are its class's
        origin = value.__origin__
        return Parts(inner=[Part("__origin__", f"{name}.__origin__", origin, ItselfRead(origin))])
    if isinstance(value, contextvars.ContextVar):
        return Parts(inner=[Part(None, f"{name}.get()", value.get(MISSING), lambda: read().get(MISSING))])
    parts = Parts()
    if isinstance(value, functools.partial):
        parts = _of_partial(value, name, read)
    elif hasattr(type(value), "__wengert_parts__"):
        parts = _of_primitive(value, name, read)
    _add_attributes(parts, value, name, read)
    return parts


def attribute_of(holder: Any, name: str, attribute: str) -> Part:
    """An attribute of a module or class."""
    read = ClassRead(holder, attribute) if isinstance(holder, type) else VariableRead(vars(holder), attribute)
    return Part(attribute, f"{name}.{attribute}", own(vars(holder)[attribute]), read)


# --------------------------------------------------------------------------------------------------------- callables


def _of_function(f: types.FunctionType, name: str) -> Parts:
    """A function's parts are read through itself: whoever holds it looks at whether it is another."""
    parts = Parts(variables=_variables(f))
    if vars(f):
        parts.names, parts.attributes = _hung(f, name, lambda: f)
    if f.__closure__:
        parts.cells = _cells(f)
    if f.__defaults__ or f.__kwdefaults__:
        parts.inner = _containers_of_defaults(f, name)
        parts.arguments = _defaults(f, name)
    return parts


def _cells(f: types.FunctionType) -> Iterator[Part]:
    for k, (variable, cell) in enumerate(free_variables(f)):
        try:
            found = cell.cell_contents
        except ValueError:  # not yet assigned
            continue
        yield Part(k, variable, found, CellRead(cell))


def _containers_of_defaults(f: types.FunctionType, name: str) -> Iterator[Part]:
    if f.__defaults__:
        yield Part("__defaults__", f"the defaults of {name}", f.__defaults__, DefaultsRead(f, "__defaults__"))
    if f.__kwdefaults__:
        yield Part("__kwdefaults__", f"the defaults of {name}", f.__kwdefaults__, DefaultsRead(f, "__kwdefaults__"))


def _defaults(f: types.FunctionType, name: str) -> Iterator[Part]:
    for k, default in enumerate(f.__defaults__ or ()):
        yield Part(k, f"{name}'s default {k}", default, DefaultRead(f, k))
    for k, default in (f.__kwdefaults__ or {}).items():
        yield Part(k, f"{name}'s default {k}", default, KeywordDefaultRead(f, k))


def _variables(f: types.FunctionType) -> Iterator[Part]:
    namespace = f.__globals__
    for variable in names.named(code_of(f)):
        if variable in namespace:
            yield Part(variable, variable, namespace[variable], VariableRead(namespace, variable))


def _hung(f: Callable[..., Any], name: str, read: Callable[[], Any]) -> tuple[Part, list[Part]]:
    """The attributes that somebody has hung on a function."""
    attributes = [Part(a, f"{name}.{a}", found, AttributeRead(read, f, a)) for a, found in vars(f).items()]
    return _which(f, name, read), attributes


def _of_partial(value: Any, name: str, read: Callable[[], Any]) -> Parts:
    positional = [
        Part(k, f"{name}.args[{k}]", found, ArgumentRead(read, value, k)) for k, found in enumerate(value.args)
    ]
    by_keyword = [
        Part(k, f"{name}.keywords[{k!r}]", found, ArgumentRead(read, value, k)) for k, found in value.keywords.items()
    ]
    parts = Parts(arguments=[*positional, *by_keyword])
    if vars(value):
        parts.names, parts.attributes = _hung(value, name, read)
    return parts


def _of_primitive(value: Any, name: str, read: Callable[[], Any]) -> Parts:
    """Return what a primitive calls itself: the user's function and its rules."""
    rules = value.__wengert_parts__().items()
    return Parts(items=[Part(k, f"{name}'s {k}", rule, lambda k=k: read().__wengert_parts__()[k]) for k, rule in rules])


# -------------------------------------------------------------------------------------------------------- containers


def is_sequence(value: Any) -> bool:
    """Whether it is a list, a deque, a tuple or a named tuple."""
    return type(value) in SEQUENCES or (isinstance(value, tuple) and hasattr(value, "_fields"))


def is_long(value: Any) -> bool:
    """Whether a list or dict has so many items that it is compared as a whole, and they are not looked into."""
    return isinstance(value, (*SEQUENCES, dict)) and len(value) > MAX_ITEMS


def is_own_kind(value: Any) -> bool:
    """Whether a container is of the user's own kind: it has attributes and methods besides its items."""
    return isinstance(value, CONTAINERS) and type(value).__module__ not in ("builtins", "collections")


def _of_container(value: Any, name: str, read: Callable[[], Any]) -> Parts:
    if is_long(value):
        whole = ContentRead(read, _container(value))
        return Parts(Part(None, name, whole(), whole))
    if isinstance(value, dict):
        return _of_dict(value, name, read)
    if isinstance(value, SETS):
        return Parts(Part(None, name, frozenset(value), MembersRead(read, value)), members=_members(value, name))
    container = _container(value)
    base: Any = next(cls for cls in SEQUENCES if isinstance(value, cls))
    return Parts(
        Part(None, f"len({name})", len(value), LengthRead(read, container)),
        [
            Part(k, f"{name}[{k}]", item, _item_read(base, value, read, container, k))
            for k, item in enumerate(base.__iter__(value))
        ],
    )


def _container(value: Any) -> Container | None:
    """How the runtime looks at a container, if it can: an OrderedDict keeps the order of its keys elsewhere."""
    if isinstance(value, OrderedDict):
        return None
    kind = next((cls.__name__ for cls in (list, tuple, dict) if isinstance(value, cls)), "")
    return Container(kind, value) if kind else None


def _item_read(base: Any, value: Any, read: Callable[[], Any], container: Container | None, key: Any) -> Any:
    """Reads an item where it lies: a class of the user's may give something else, made anew at each time."""
    if type(value).__getitem__ is base.__getitem__:
        return ItemRead(read, container, key)
    return lambda: base.__getitem__(read(), key)


def _of_dict(value: Any, name: str, read: Callable[[], Any]) -> Parts:
    base: Any = next((cls for cls in (OrderedDict, dict) if isinstance(value, cls)), type(value))
    container = _container(value)
    return Parts(
        Part(None, f"{name}.keys()", tuple(value), KeysRead(read, container)),
        [Part(k, f"{name}[{k!r}]", item, _item_read(base, value, read, container, k)) for k, item in base.items(value)],
        _members(value, name),
    )


def _members(value: Iterable[Any], name: str) -> list[Part]:
    return [
        Part(None, f"a member of {name}", member, ItselfRead(member)) for member in value if not is_immutable(member)
    ]


def _of_array(value: Any, name: str, read: Callable[[], Any]) -> Parts:
    content = Part(None, f"the content of {name}", _content(value), ArrayRead(read, value, _content))
    return Parts(content, members=_members(np.asarray(value).flat, name) if value.dtype.hasobject else ())


def _content(x: Any) -> tuple[Any, ...]:
    """An array by value, so that it can be compared: masks, fields and objects (by identity) included."""
    mask = np.ma.getmaskarray(x).tobytes() if isinstance(x, np.ma.MaskedArray) else b""
    plain = np.array(x, subok=False)
    return plain.shape, plain.dtype.str, plain.tobytes(), mask


def is_generator(value: Any) -> bool:
    """Whether it is a generator of random numbers, or of seeds: drawing one changes it."""
    if isinstance(value, random.Random):
        return True
    if "numpy.random" not in sys.modules:  # NumPy imports it when it is first asked for, which takes its time
        return False
    kinds = np.random.Generator | np.random.BitGenerator | np.random.RandomState | np.random.SeedSequence
    return isinstance(value, kinds)


def is_recorded(value: Any) -> bool:
    """Whether it is a generator of which it is recorded what a function draws."""
    return is_generator(value) and type(value) is np.random.Generator


# ----------------------------------------------------------------------------------------------------------- objects


def _of_copyable(value: Any, name: str, read: Callable[[], Any]) -> Parts:
    names, attributes = _hung(value, name, read)
    return Parts(names=names, attributes=attributes)


def _add_attributes(parts: Parts, value: Any, name: str, read: Callable[[], Any]) -> None:
    """Add the attributes of a value as an object; those set on a partial are there already."""
    parts.inner = _inner(value, name, read)
    if is_sealed(type(value)) or parts.names is not None:
        return
    if held(value, "__dict__") is not None:
        parts.names = _which(value, name, read)
    parts.attributes = _attributes(value, name, read)


def _inner(value: Any, name: str, read: Callable[[], Any]) -> Iterator[Part]:
    for attribute in INNER:
        found = held(value, attribute)
        if found is not None:
            yield Part(attribute, f"{name}.{attribute}", found, HeldRead(read, value, attribute))


def _which(value: Any, name: str, read: Callable[[], Any]) -> Part:
    return Part(None, f"the attributes of {name}", (type(value), *vars(value)), AttributesRead(read, value))


def _attributes(value: Any, name: str, read: Callable[[], Any]) -> Iterator[Part]:
    """Yield the attributes of an object, in its ``__dict__`` and in its slots."""
    for attribute in (*held(value, "__dict__", ()), *slots_of(type(value))):
        found = held(value, attribute, MISSING)
        yield Part(attribute, f"{name}.{attribute}", found, HeldRead(read, value, attribute))


def _of_holder(holder: Any, name: str) -> Parts:
    """Return the parts of a module or class: its attributes."""
    attributes = (attribute_of(holder, name, attribute) for attribute in list(vars(holder)))
    if not isinstance(holder, type):
        return Parts(attributes=attributes)
    which = ClassRead(holder, ...)
    return Parts(names=Part(None, f"the attributes of {name}", which(), which), attributes=attributes)


_POINTER = struct.calcsize("P")


@functools.lru_cache(maxsize=4096)
def is_copyable(cls: type) -> bool:
    """Whether an instance can be copied attribute by attribute: all of its state is in __dict__."""
    if cls is types.SimpleNamespace:
        return True
    if is_opaque(module_of(cls)) or issubclass(cls, type) or cls.__dictoffset__ == 0:
        return False
    if cls is _ENVIRON or module_of(cls).partition(".")[0] == "logging":  # a logger knows all, and what they write to
        return False
    if slots_of(cls) or hasattr(cls, "__del__"):  # a copy would release what the original still uses
        return False
    if any(isinstance(found, functools._lru_cache_wrapper) for kind in cls.__mro__ for found in vars(kind).values()):
        return False  # a method that keeps its results tells objects by their identity
    if cls.__basicsize__ > object.__basicsize__ + _POINTER * ((cls.__dictoffset__ > 0) + (cls.__weakrefoffset__ > 0)):
        return False  # state in C beside its __dict__, as a function that Cython compiled has: a copy has none of it
    try:
        object.__new__(cls)
    except TypeError:  # made by a base in C, with state of its own: a dict, an exception, a generator of numbers
        return False
    return True


_TOLD_BY_IDENTITY = (types.FunctionType, types.MethodType, functools.partial)


def is_told_by_identity(value: Any, depth: int = 8) -> bool:
    """Whether a copy of ``value`` does not equal it, nor has its hash: it is an object that says nothing of either, a
    function, or holds one of those."""
    if isinstance(value, _TOLD_BY_IDENTITY):
        return True
    if isinstance(value, (tuple, *SETS)):
        return depth > 0 and any(is_told_by_identity(x, depth - 1) for x in value)
    if is_immutable(value) or not is_copyable(type(value)):
        return False
    if type(value).__hash__ is object.__hash__:
        return True
    return depth > 0 and any(is_told_by_identity(x, depth - 1) for x in vars(value).values())


def functions_in(value: Any) -> list[Any]:
    """The functions in a key that is told by identity: itself, a method's, those of a tuple."""
    if isinstance(value, types.FunctionType):
        return [value]
    if isinstance(value, types.MethodType):
        return [value.__func__]
    return [f for x in value for f in functions_in(x)] if isinstance(value, (tuple, *SETS)) else []


def is_sealed(cls: type) -> bool:
    """Whether the attributes of an instance are a library's affair: not so of SciPy's objects and of polynomials, made
    of the user's numbers."""
    if cls is _ENVIRON:  # which is compared as a whole
        return True
    is_of_numbers = module_of(cls).startswith(("scipy.", "numpy.polynomial.")) or cls is np.poly1d
    return is_opaque(module_of(cls)) and not is_of_numbers


@functools.lru_cache(maxsize=4096)
def slots_of(cls: type) -> tuple[str, ...]:
    """The attributes that instances keep in ``__slots__``, under the names by which they are read.

    The descriptors tell, and not ``__slots__`` itself: there ``__x`` stands as it is written, and an iterator is empty
    once the class is made.
    """
    return tuple(
        name
        for c in cls.__mro__
        if "__slots__" in vars(c)
        for name, descriptor in vars(c).items()
        if isinstance(descriptor, types.MemberDescriptorType)
    )
