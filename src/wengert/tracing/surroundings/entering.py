"""This file notes what the code of other packages reads, when that code begins to run.

A function of the user's reaches a few functions of a package's, each of which could reach a few more, and in the end
all of it, and of the packages that it stands on. What runs is little of that, and only what runs can read anything. So
packages are not walked as the user's code is: while a function is traced, the interpreter tells of the first call of
each code (native/entered.cpp), and before its first instruction is executed it is noted

* what stands in the global variables that it names, and what is found there by the attributes that it asks for;
* the defaults, cells and attributes of the functions among those, and the items of lists, dicts and arrays;
* of the objects and classes that are met, the attributes that code names which has run so far.

An array there is compared by its content, so what is computed of it while tracing is a constant. What has changed when
the run ends, a cache that it has filled, makes the next call trace again, and no error: the package did so by itself.
"""

from __future__ import annotations

import contextvars
import functools
import types
import weakref
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.attributes import held
from wengert.pure.stand_ins import own
from wengert.tracing.python import names
from wengert.tracing.python.frames import code_in, first_argument, function_name
from wengert.tracing.surroundings.parts import (
    BY_VALUE,
    BYTES,
    CONTAINERS,
    INNER,
    MAX_ITEMS,
    VIEWS,
    Part,
    attribute_of,
    is_generator,
    is_long,
    parts_of,
    slots_of,
)
from wengert.tracing.surroundings.purity import DRAWS, PURE, is_immutable, origin_of, verdict_on
from wengert.tracing.surroundings.slots import MISSING, AbsentRead, ClassRead, HeldRead, ItselfRead, Slot, VariableRead

if TYPE_CHECKING:
    from wengert.tracing.surroundings.watching import Watching

_DELEGATED = (*BYTES, contextvars.ContextVar, functools._lru_cache_wrapper)
"""Types whose objects are watched as the user's own are, since they have no attributes that code names."""
OF_IMPORTS = {"__spec__", "__loader__", "__builtins__", "__cached__", "__path__"}
MAY_CALL = frozenset({"importlib.import_module", "importlib.util.find_spec"})
"""Functions that the code of packages may call: the modules that it finds are followed when their code runs."""
_WEAK = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary)


class Entering:
    """The objects of other packages that one trace has met, and what it noted of them."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self.is_wanted = False
        """Whether something of a package's was met, so that code of one may run."""
        self.is_looking = False
        """Whether what is judged at the moment is a package's, and not the user's."""
        self._met: set[int] = set()
        self._holders: dict[int, tuple[Any, str]] = {}  # modules, classes and objects: what code names of them is noted
        self._names: set[str] = set()  # that the code mentions which has run so far
        self._asks_all = False  # whether it computes names of attributes
        self._noted: set[tuple[int, str]] = set()

    def begin(self, mentioned: Collection[str], computes_names: bool) -> None:
        """The user's code, which mentions these names, is about to run."""
        self._ask(set(mentioned), computes_names)

    def enter(self, frame: types.FrameType) -> bool:
        """Note what the code of a frame reads, which is about to run for the first time; whether it is a package's."""
        watching, namespace, code = self._watching, frame.f_globals, code_in(frame)
        if not watching.libraries.is_of_others(namespace):
            return False
        module, name = str(namespace.get("__name__")), function_name(frame)
        uses = names.uses(code)
        for variable in uses.loaded:
            if variable in namespace:
                self._note(namespace, variable, f"{module}.{variable}")
        self._ask({name, *uses.named}, uses.computes_names)
        found = first_argument(frame)
        if found is not None and name in _held_names(cls := found if isinstance(found, type) else type(found)):
            self._hold_class(cls, cls.__name__)
        watching.libraries.note_outside(code, uses, namespace, f"{module}.{name}")
        return True

    def finish(self) -> None:
        """Note what objects have not, now that all names are known: it would hide what their classes have."""
        shown: dict[type, frozenset[str]] = {}
        for holder, name in self._holders.values():
            there = None if isinstance(holder, (type, types.ModuleType)) else held(holder, "__dict__")
            if there is not None:
                if type(holder) not in shown:
                    found = _shown(type(holder))
                    shown[type(holder)] = found if self._asks_all else found & self._names
                self._note_absent(there, shown[type(holder)] - there.keys(), name)

    # ------------------------------------------------------------------------------------------------------- holders

    def follow(self, found: Any, path: Collection[str], name: str) -> Any:
        """Note what stands along a path of attributes of packages' modules; the module or value that ends it."""
        for attribute in path:
            if not (isinstance(found, types.ModuleType) and self._watching.libraries.is_of_others(vars(found))):
                break
            name = f"{name}.{attribute}"
            if attribute not in vars(found):
                self._note_absent(vars(found), (attribute,), name)
                return MISSING
            self._note(vars(found), attribute, name)
            found = own(vars(found)[attribute])
        return found

    def _ask(self, mentioned: set[str], computes_names: bool) -> None:
        """Code is about to run that names these attributes."""
        new = mentioned - self._names
        self._names |= new
        if computes_names and not self._asks_all:
            self._asks_all = True
            for holder, name in list(self._holders.values()):
                self._note_named(holder, name, None)
        elif new:
            for holder, name in list(self._holders.values()):
                self._note_named(holder, name, new)
        if new:
            self._watching.holders.mention_names(new)

    def _hold(self, holder: Any, name: str) -> None:
        if id(holder) not in self._holders:
            self._holders[id(holder)] = (holder, name)
            self._watching.alive.append(holder)
            if isinstance(holder, type):
                for attribute in filter(functools.partial(_is_operator, holder), list(vars(holder))):
                    self._note_of_class(holder, attribute, name)
            self._note_named(holder, name, None if self._asks_all else self._names)

    def _hold_class(self, cls: type, name: str) -> None:
        for base in (*cls.__mro__, type(cls)):
            if id(base) in self._holders or not self._watching.libraries.is_of_others_class(base):
                continue
            read = ClassRead(base, ...)
            self._watching.slots.append(Slot(f"the attributes of {base.__name__}", read, read(), True))
            self._hold(base, name if base is cls else base.__name__)

    def _note_named(self, holder: Any, name: str, which: Collection[str] | None) -> None:
        """Note attributes of a module, a class or an object: those named, or all."""
        there = held(holder, "__dict__", {})
        named = list(there) if which is None else [a for a in which if a in there]
        if isinstance(holder, types.ModuleType):
            self._note_named_of_module(there, name, named)
            return
        if isinstance(holder, type):
            for attribute in named:
                self._note_of_class(holder, attribute, name)
            return
        for attribute in named:
            self._note(there, attribute, f"{name}.{attribute}")
        for attribute in slots_of(type(holder)):
            if which is None or attribute in which:
                self._note_slot(holder, attribute, f"{name}.{attribute}")

    def _note_named_of_module(self, there: dict[str, Any], name: str, named: Iterable[str]) -> None:
        """Note the variables ``named`` of a module, except those of the import system, which code hardly asks for."""
        for attribute in named:
            if attribute in OF_IMPORTS:
                continue
            if attribute in self._names and not self._is_by_chance(there[attribute]):
                self._note(there, attribute, f"{name}.{attribute}")
            else:
                self._note_only(there, attribute, f"{name}.{attribute}")

    # -------------------------------------------------------------------------------------------------------- values

    def _note(self, namespace: dict[str, Any], key: str, name: str) -> None:
        """Note what stands under a name in a module or an object."""
        if (id(namespace), key) in self._noted:
            return
        self._noted.add((id(namespace), key))
        self._put(Part(key, name, own(namespace[key]), VariableRead(namespace, key)))

    def _note_only(self, namespace: dict[str, Any], key: str, name: str) -> None:
        """Note which object the variable holds, and do not follow it as :meth:`_note` does."""
        if (id(namespace), key) not in self._noted:
            self._noted.add((id(namespace), key))
            self._watching.slots.append(Slot(name, VariableRead(namespace, key), own(namespace[key]), False))

    def _is_by_chance(self, value: Any) -> bool:
        """Whether it is a function of NumPy's or Python's that a module has from there, and that code which mentions a
        name like ``load`` hardly means."""
        return callable(value) and not isinstance(value, type) and verdict_on(value) not in (PURE, DRAWS, None)

    def _note_of_class(self, cls: type, attribute: str, name: str) -> None:
        if (id(cls), attribute) in self._noted:
            return
        self._noted.add((id(cls), attribute))
        self._put(attribute_of(cls, name, attribute))

    def _note_slot(self, holder: Any, attribute: str, name: str) -> None:
        if (id(holder), attribute) in self._noted:
            return
        self._noted.add((id(holder), attribute))
        value = held(holder, attribute, MISSING)
        self._put(Part(attribute, name, value, HeldRead(ItselfRead(holder), holder, attribute)))

    def _note_absent(self, namespace: dict[str, Any], which: Iterable[str], name: str) -> None:
        missing = tuple(sorted(a for a in which if (id(namespace), a) not in self._noted))
        if missing:
            self._noted.update((id(namespace), a) for a in missing)
            self._watching.slots.append(Slot(f"what {name} has not", AbsentRead(namespace, missing), (), True))

    def _put(self, part: Part) -> None:
        value = part.value
        is_by_value = isinstance(value, (*BY_VALUE, np.generic)) and not isinstance(value, np.void)
        self._watching.slots.append(Slot(part.name, part.read, value, is_by_value))
        self.look(value, part.name)

    def look(self, value: Any, name: str) -> None:
        """Note what a value is made of that stands in a package, or is handed to one, as far as code asks for it."""
        watching = self._watching
        if value is MISSING or is_immutable(value) or isinstance(value, BY_VALUE) or id(value) in self._met:
            return
        self._met.add(id(value))
        watching.alive.append(value)
        before, self.is_looking = self.is_looking, True
        try:
            self._look(value, name)
        finally:
            self.is_looking = before

    def _look(self, value: Any, name: str) -> None:
        watching = self._watching
        if isinstance(value, types.ModuleType):
            if watching.libraries.is_of_others(vars(value)):
                self._hold(value, name)
            elif not watching.libraries.is_followed(value):
                watching.holders.hold(value, name)
        elif isinstance(value, type):
            if watching.libraries.is_of_others_class(value):
                self.is_wanted = True
                self._hold_class(value, name)
            else:
                watching.holders.hold(value, name)
        elif isinstance(value, np.ndarray):
            self._note_array(value, name)
        elif isinstance(value, (*CONTAINERS, *VIEWS, types.MappingProxyType)):
            self._note_items(value, name)
        elif isinstance(value, types.FunctionType):
            self._note_function(value, name)
        elif isinstance(value, _DELEGATED) or is_generator(value):
            watching.watch(Part(None, name, value, ItselfRead(value)))
        elif isinstance(value, weakref.ref):
            self.look(value(), name)
        elif isinstance(value, _WEAK):  # what is kept elsewhere, and may be gone before
            for k, found in list(value.items()):
                self.look(found, f"{name}[{k!r:.40}]")
        else:
            self._note_object(value, name)

    def _note_array(self, value: np.ndarray[Any, Any], name: str) -> None:
        watching, cls = self._watching, type(value)
        parts = parts_of(value, name, lambda: value)
        watching.note(parts.content)
        watching.known[id(value)] = (value, name, True)
        if cls is not np.ndarray and watching.libraries.is_of_others_class(cls):  # with units, say, as attributes
            self._hold_class(cls, cls.__name__)
            self._hold(value, name)
        else:
            watching.libraries.judge(value, name)
        for member in parts.members:
            self.look(member.value, member.name)

    def _note_items(self, value: Any, name: str) -> None:
        parts = parts_of(value, name, lambda: value)
        self._watching.note(parts.content)
        if is_long(value):
            if not all(map(is_immutable, value.values() if isinstance(value, dict) else value)):
                self._watching.reasons.give_up(f"{name} has more than {MAX_ITEMS} items")
            return
        for item in parts.items:
            self._put(item)
        for member in parts.members:
            if not self._is_by_chance(member.value):  # of a table by functions
                self.look(member.value, member.name)
        if type(value).__module__ not in ("builtins", "collections"):
            self._note_object(value, name)

    def _note_function(self, f: types.FunctionType, name: str) -> None:
        watching = self._watching
        if not watching.libraries.is_foreign(f.__globals__):
            self.is_looking = False
            watching.watch(Part(None, name, f, ItselfRead(f)))
            return
        if not watching.libraries.is_of_others(f.__globals__) and not f.__closure__:
            if str(origin_of(f)) not in MAY_CALL:
                watching.libraries.judge(f, name)
            return
        self.is_wanted = True
        watching.note_own(f, name)
        parts = parts_of(f, name, lambda: f)
        watching.note(parts.names)
        for part in (*parts.inner, *parts.arguments, *parts.cells, *parts.attributes):
            self._put(part)

    def _note_object(self, value: Any, name: str) -> None:
        watching, cls = self._watching, type(value)
        for attribute in INNER:
            found = held(value, attribute)
            if found is not None:
                self.look(found, f"{name}.{attribute}")
        if isinstance(value, functools.partial):
            return
        if watching.libraries.is_of_others_class(cls):
            self.is_wanted = True
            self._hold_class(cls, cls.__name__)
            self._hold(value, name)
        elif hasattr(cls, "__next__"):
            watching.reasons.give_up(f"{name} is an iterator")
        else:
            self.is_looking = watching.libraries.is_foreign_class(cls)
            watching.watch(Part(None, name, value, ItselfRead(value)))


def _is_operator(cls: type, attribute: str) -> bool:
    """Whether Python itself asks for a method, whatever that is called in its code."""
    is_asked = attribute.startswith("__") and attribute != "__del__"
    return is_asked and isinstance(vars(cls)[attribute], types.FunctionType)


def _shown(cls: type) -> frozenset[str]:
    """The attributes of a class that one of its instance's own would hide."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__[:-1]):
        found |= vars(base)
    return frozenset(a for a, value in found.items() if not hasattr(type(value), "__set__") and not a.startswith("__"))


def _held_names(cls: type) -> set[str]:
    """The names of methods of a class and its bases."""
    return {name for base in cls.__mro__[:-1] for name in vars(base)}
