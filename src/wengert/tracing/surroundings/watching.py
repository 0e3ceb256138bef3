"""What a function reads in its original is watched: noted as it looks now, so that a later call can see a change.

Modules and classes with their methods and properties, sets, objects with slots, random generators are *shared* by the
traced copy of a function with the function itself: no traced value can stand in them. Everything there that the code
names is compared at every call, arrays by content. What cannot even be compared (an iterator, the clock) makes the run
unrepeatable: the function is traced again at every call (see Trace.unrepeatable), slower, and right.

The parts of a value are those that the other walk puts copies in the place of. The two differ where they must:

* a function of a library is left alone; the other walk copies its cells and defaults, since a transform of ours holds
  the user's function there.
* defaults, and the arguments of a partial, are looked at in the tuple or dict that holds them: nothing is put there.
* of a library's object, what it holds itself is looked at, not the world behind it; no copy can be made of one.
* cells, items and attributes are compared by Python, in one call of the runtime's.
* what hangs on a partial, and the rules of a primitive, are not looked at.
"""

from __future__ import annotations

import functools
import os
import random
import sys
import types
from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from wengert.tracing.callers import is_opaque
from wengert.tracing.surroundings import names
from wengert.tracing.surroundings.parts import (
    HOLDERS,
    MAX_ITEMS,
    Part,
    Parts,
    attribute_of,
    is_generator,
    is_long,
    is_own_kind,
    is_sealed,
    parts_of,
)
from wengert.tracing.surroundings.purity import (
    is_immutable,
    is_plain_class,
    is_pure,
    is_pure_module,
    takes_in_only_pure,
)
from wengert.tracing.surroundings.slots import AbsentRead, CodeRead, Slot

BY_VALUE = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), slice, range)
"""What is compared by value; everything else is compared by identity, and its parts are looked at."""

_BY_VALUE = (*BY_VALUE, np.generic)
_STDLIB = os.path.dirname(os.__file__)  # sysconfig would say the same, and take a twentieth of our import
CODE = (*HOLDERS, types.FunctionType)


class Watching:
    """What the walks of one trace have noted."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.known: dict[int, tuple[Any, str, bool]] = {}
        """Captured arrays by their id, with their names, and whether they are promised to be constant: see Trace."""
        self.is_closed = True
        """Whether nothing was found that could give another number to another run: see purity.py."""
        self.unrepeatable = ""
        self.alive: list[Any] = []  # what is remembered by its id
        self.codes: list[types.CodeType] = []
        """Of the functions that were met."""
        self._package: str | None = None
        self._names: dict[str, None] = {}  # that the code met so far mentions
        self._holders: dict[int, tuple[Any, str]] = {}  # modules and classes: what code names of them is watched
        self._libraries: dict[int, tuple[Any, str]] = {}  # modules of others: the numbers that code names of them are
        self._found_classes: set[int] = set()
        self._watched: set[Any] = set()

    def judge(self, value: Any) -> None:
        """Note whether a number could come in through ``value``."""
        if self.is_closed and not is_immutable(value):
            home = value if isinstance(value, CODE) else type(value)
            self.is_closed = is_pure(value, self.is_foreign(_namespace_of(home)))
        if isinstance(value, types.FunctionType) and value.__module__ in MAKE_OBJECTS:
            self._names["__class__"] = None  # copy and the like, by whatever name

    def is_foreign(self, namespace: dict[str, Any]) -> bool:
        """Whether a function belongs to a library whose globals are its own affair."""
        module = namespace.get("__name__", "")
        package = module.partition(".")[0]
        if is_opaque(module):
            return True
        if self._package is None:
            self._package = package  # the package of the function that is traced is always walked
        return package != self._package and _is_installed(namespace)

    def give_up(self, why: str) -> None:
        """The run cannot be repeated; the first reason is told."""
        self.unrepeatable = self.unrepeatable or why

    # ------------------------------------------------------------------------------------------------- values

    def note(self, part: Part | None, is_shared: bool = False) -> None:
        """A part that is compared by value, where there is one."""
        if part is not None:
            self.slots.append(Slot(part.name, part.read, part.value, True, is_shared))

    def watch(self, part: Part) -> None:
        """Note what a value looks like now, which the function reads in its original."""
        name, value, read = part.name, part.value, part.read
        self.judge(value)
        if isinstance(value, _BY_VALUE):
            self.slots.append(Slot(name, read, value, True, True))
            return
        self.slots.append(Slot(name, read, value, False, True))
        if isinstance(value, HOLDERS):
            self.hold(value, name)
            return
        if isinstance(value, classmethod):  # which is given the class
            self._names["__class__"] = None
        if id(value) in self._watched:
            return
        self._watched.add(id(value))
        self.alive.append(value)
        if isinstance(value, types.FunctionType):
            self._watch_function(value, name)
        elif hasattr(type(value), "__wengert_function__"):
            self._watch_function(cast(Any, value).func, name)
        else:
            self._watch_parts(part)

    def watch_each(self, parts: Iterable[Part]) -> None:
        for part in parts:
            self.watch(part)

    def _watch_parts(self, part: Part) -> None:
        name, value, read = part.name, part.value, part.read
        parts = parts_of(value, name, read, natively=False)
        if parts.content is None and (why := _why_incomparable(value, name)):
            self.give_up(why)
            return
        if parts.content is not None:
            self._watch_content(value, name, parts.content)
            self.watch_each(parts.members)
            self.watch_each(parts.items)
        if parts.content is None or is_own_kind(value):
            self.watch_attributes(value, parts)

    def _watch_content(self, value: Any, name: str, content: Part) -> None:
        is_shared = not is_generator(value)  # drawing from one changes it: each call that draws is a new one
        self.note(content, is_shared)
        if isinstance(value, np.ndarray):
            if type(value) is np.ndarray and value.dtype.kind in "fiubc":
                self.known.setdefault(id(value), (value, name, False))
            self.alive.append(np.array(value))  # what an array of objects held, so that no id is used again
        elif is_long(value):
            self.is_closed = False
            if not all(map(is_immutable, value.values() if isinstance(value, dict) else value)):
                self.give_up(f"a {type(value).__name__} has more than {MAX_ITEMS} items")

    def watch_attributes(self, value: Any, parts: Parts) -> None:
        """What a method, property, partial, or object is made of."""
        for part in parts.inner:
            if not isinstance(part.value, types.ModuleType):
                self.watch(part)
        cls = type(value)
        if is_sealed(cls):
            return
        is_foreign = cls is not types.SimpleNamespace and self.is_foreign(_namespace_of(cls))
        for part in parts.attributes:
            if is_foreign and not isinstance(part.value, BY_VALUE) and type(part.value) is not np.ndarray:
                continue  # a library's object: what it holds itself, not the world behind it
            self.watch(part)
        self.note(parts.names, is_shared=not is_foreign)
        self.hold(cls, cls.__name__, is_found=False)

    def _watch_function(self, f: types.FunctionType, name: str) -> None:
        if self.is_foreign(f.__globals__):
            return
        parts = parts_of(f, name, lambda: f, natively=False)
        self.note(parts.names)
        self.watch_each(parts.attributes)
        self.note_code(f, name)
        self.watch_each(parts.cells)
        self.watch_each(parts.inner)
        for part in parts.variables:
            variable = (id(f.__globals__), part.key)
            if variable in self._watched:
                continue
            self._watched.add(variable)
            if isinstance(part.value, HOLDERS):  # not judged: the code may name any that it does
                self.hold(part.value, part.name)
                self.slots.append(Slot(part.name, part.read, part.value, False, True))
            else:
                self.watch(part)

    # --------------------------------------------------------------------------------------------------- code

    def note_code(self, f: types.FunctionType, name: str) -> None:
        """The names in a function's code, and what it asks of the world outside of the program."""
        mentioned = names.named(f.__code__)
        self.codes.append(f.__code__)
        self.slots.append(Slot(f"the code of {name}", CodeRead(f), f.__code__, False))
        missing = tuple(sorted(names.loaded(f.__code__) - f.__globals__.keys()))
        if missing:
            self.slots.append(Slot(f"the builtins of {name}", AbsentRead(f.__globals__, missing), (), True))
        self.is_closed = self.is_closed and takes_in_only_pure(f)
        self._names.update(dict.fromkeys(mentioned))
        for builtin in missing:
            if builtin in LOOKS_AROUND:
                self.give_up(f"{name} calls {builtin}()")
        imported = self._imported(f, name)
        for module in (*[f.__globals__.get(variable) for variable in mentioned], *imported):
            if module is np and "random" in mentioned:
                self.watch(Part("random", "np.random", _numpy_random_state(), _numpy_random_state))
            elif module is random:
                self.watch(Part("random", "random", _python_random_state(), _python_random_state))
            elif isinstance(module, types.ModuleType) and module.__name__ in CLOCKS:
                self.give_up(f"{name} reads {module.__name__}")

    def _imported(self, f: types.FunctionType, name: str) -> list[types.ModuleType]:
        """The modules that a function imports when it runs, and those they stand in."""
        found: dict[str, types.ModuleType] = {}
        package = _with_parents(f.__globals__.get("__package__") or "")
        for path in map(_with_parents, names.imported(f.__code__)):
            paths = [*path, *[".".join(filter(None, (base, p))) for base in package for p in path]]  # from . import
            there = {p: sys.modules[p] for p in paths if p in sys.modules}
            if not there:
                self.give_up(f"{name} imports {path[-1]}")
            found |= there
        for path, module in found.items():
            self.hold(module, path)
        return list(found.values())

    # ------------------------------------------------------------------------------------- modules and classes

    def hold(self, holder: Any, name: str, is_found: bool = True) -> None:
        """A module or class, which the traced copy shares: see :meth:`watch_holders`.

        ``is_found``: the code can get hold of it, and so make instances; not so of the class of what it finds, unless
        that has class methods or descriptors, which are handed it.
        """
        if is_found:
            self.is_closed = self.is_closed and (is_pure_module(holder) or is_pure(holder, True))
        elif not is_plain_class(holder):
            self.is_closed, is_found = False, True
        if is_found and isinstance(holder, type):
            self._found_classes.update(map(id, holder.__mro__))
        self._hold_parts(holder, name)

    def _hold_parts(self, holder: Any, name: str) -> None:
        if id(holder) in self._holders or id(holder) in self._libraries:
            return
        if self.is_foreign(_namespace_of(holder)):
            if isinstance(holder, types.ModuleType):
                self._libraries[id(holder)] = (holder, name)
            return
        self._holders[id(holder)] = (holder, name)
        if isinstance(holder, type):
            self.note(parts_of(holder, name, lambda: holder).names)
            for base in (*holder.__mro__[1:], type(holder)):
                self._hold_parts(base, base.__name__)

    def watch_holders(self) -> None:
        """Watch the attributes of modules and classes that the code names, and what is found by way of them."""
        while True:
            may_ask = not ASKS_BY_NAME.isdisjoint(self._names)  # the code can compute a name
            todo = [
                (holder, name, attribute)
                for holder, name in list(self._holders.values())
                for attribute in list(vars(holder))
                if (attribute in self._names or self._is_asked_for(holder, attribute, may_ask))
                and (id(holder), attribute) not in self._watched
            ]
            todo += [
                (library, name, attribute)
                for library, name in self._libraries.values()
                for attribute in vars(library).keys() & self._names.keys()
                if is_immutable(vars(library)[attribute]) and (id(library), attribute) not in self._watched
            ]
            if not todo:
                return
            for holder, name, attribute in todo:
                self._watched.add((id(holder), attribute))
                self.watch(attribute_of(holder, name, attribute))

    def _is_asked_for(self, holder: Any, attribute: str, may_ask: bool) -> bool:
        """Whether an attribute can be asked for without its name in the code: by a computed name; by Python itself,
        as __call__, __add__, __getattr__ are; or as what makes an instance, where the code can."""
        if not attribute.startswith("__"):
            return may_ask
        if not isinstance(holder, type):
            return attribute == "__getattr__"
        if attribute in MAKES_AN_INSTANCE and id(holder) not in self._found_classes:
            return not GETS_A_CLASS.isdisjoint(self._names) and isinstance(vars(holder)[attribute], CALLED)
        return isinstance(vars(holder)[attribute], CALLED)


CLOCKS = ("time", "secrets", "uuid", "weakref")
"""Modules whose answers change from call to call, with nothing to compare them by."""

LOOKS_AROUND = ("globals", "vars", "eval", "exec", "input", "open", "__import__")
"""Builtins that read what no name in the code tells."""

CALLED = (types.FunctionType, staticmethod, classmethod, functools.partialmethod)
MAKE_OBJECTS = ("copy", "copyreg", "dataclasses", "pickle")
MAKES_AN_INSTANCE = ("__init__", "__new__", "__post_init__")
GETS_A_CLASS = frozenset({"__class__", "type", "__new__", "copy", "deepcopy", "replace", "__replace__", "__reduce__"})
"""Names by which code gets the class of an object, or a new object of it."""

ASKS_BY_NAME = frozenset({"getattr", "attrgetter", "methodcaller", "__dict__", "__getattribute__", "getattr_static"})
"""Names by which code gets attributes of any name."""


def _why_incomparable(value: Any, name: str) -> str:
    """Why nothing tells whether ``value`` is what it was; empty if its parts do."""
    if isinstance(value, np.ufunc) and not is_pure(value, True):
        return f"{name} is made of a Python function"
    if hasattr(type(value), "__next__"):
        return f"{name} is an iterator"
    module = getattr(value, "__module__", type(value).__module__)
    return f"{name} is of {module}" if module in CLOCKS else ""


def _is_installed(namespace: dict[str, Any]) -> bool:
    """Whether a module was installed, or came with Python: it is not of the program that the user works on."""
    file = namespace.get("__file__") or ""
    return file.startswith(_STDLIB) or "site-packages" in file or "dist-packages" in file


def _namespace_of(holder: Any) -> dict[str, Any]:
    """The globals of the module that a module is, or that a class or function stands in."""
    if isinstance(holder, types.ModuleType):
        return vars(holder)
    if isinstance(holder, types.FunctionType):
        return holder.__globals__
    module = sys.modules.get(holder.__module__)
    return {"__name__": holder.__module__} if module is None else vars(module)


def _with_parents(path: str) -> list[str]:
    """ "a.b.c" as "a", "a.b" and "a.b.c"."""
    parts = path.split(".")
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _numpy_random_state() -> Any:
    return np.random.mtrand._rand


def _python_random_state() -> Any:
    return random._inst
