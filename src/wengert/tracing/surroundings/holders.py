"""Holders are modules and classes, which the traced copy of a function shares with the function itself.

Of a holder, those attributes are watched that some code which was met can ask for: by a name that stands in the code,
by a text, by a name that is computed, or because Python itself asks for it.
"""

from __future__ import annotations

import abc
import copyreg
import functools
import types
from collections.abc import Collection
from importlib.machinery import EXTENSION_SUFFIXES
from typing import TYPE_CHECKING, Any

from wengert.attributes import held
from wengert.tracing.python import names
from wengert.tracing.python.bytecode import code_of
from wengert.tracing.surroundings.entering import OF_IMPORTS
from wengert.tracing.surroundings.from_libraries import namespace_of
from wengert.tracing.surroundings.parts import (
    Part,
    attribute_of,
    parts_of,
)
from wengert.tracing.surroundings.purity import (
    DRAWS,
    origin_of,
    verdict,
)
from wengert.tracing.surroundings.slots import (
    MISSING,
    AbsentRead,
    AttributesRead,
    NamesRead,
    RegisteredRead,
    Slot,
)

if TYPE_CHECKING:
    from wengert.tracing.surroundings.watching import Watching

LEAVES = ("math", "cmath", "operator", "itertools", "functools")
"""Modules of functions that depend on their operands alone, and of nothing else."""
_HANDED_THE_CLASS = {"__get__", "__set_name__"}
_DESCRIPTORS = {types.FunctionType, property, staticmethod, str, type(None), dict, tuple, types.GetSetDescriptorType}
CALLED = (types.FunctionType, staticmethod, classmethod, functools.partialmethod)
MAKES_AN_INSTANCE = ("__init__", "__new__", "__post_init__")
GETS_A_CLASS = frozenset({"__class__", "type", "__new__", "copy", "deepcopy", "replace", "__replace__", "__reduce__"})
"""Names by which code gets the class of an object, or a new object of it."""
COMPUTED = "getattr()"
"""No name, but the sign that code computes names."""
_COPIES = frozenset({"copy", "deepcopy", "__reduce_ex__"})
ASKS_BY_NAME = frozenset(
    {COMPUTED, "format", "format_map", "attrgetter", "methodcaller", "__dict__", "__getattribute__", "getattr_static"}
)
"""Names by which code gets attributes of any name."""


class Holders:
    """The modules and classes that one trace has met, and the names by which its code asks for attributes."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._reasons = watching.reasons
        self._slots = watching.slots
        self._libraries = watching.libraries
        self._holders: dict[int, tuple[Any, str]] = {}  # the user's, by their ids
        self._passed: dict[int, tuple[Any, str]] = {}  # those of libraries: what code names of modules is watched
        self._found_classes: set[int] = set()  # the ids of those that code can make instances of
        self.handed: dict[int, tuple[types.ModuleType, str]] = {}
        """The user's modules that are met as values."""
        self.names: dict[str, None] = {}
        """The names that the code met so far mentions."""
        self._of_packages: set[str] = set()  # those that the code of packages alone mentions
        self.asked: set[str] = set()
        """The names that code asks for as texts."""
        self.matches = False
        """Whether the code has patterns of classes."""
        self.catches = False
        """Whether the code goes on after an error."""

    def mention(self, f: types.FunctionType) -> None:
        """Remember the names in a function's code."""
        named = names.named(code_of(f))
        self.names.update(dict.fromkeys(named))
        self._of_packages.difference_update(named)

    def mention_names(self, mentioned: Collection[str]) -> None:
        """Remember the attributes that code of a package names, which is about to run: it may ask objects of the user's
        for them."""
        new = set(mentioned) - self.names.keys() - ASKS_BY_NAME - OF_IMPORTS  # of what is its own
        if new:
            self._of_packages |= new
            self.names.update(dict.fromkeys(new))
            self.watch()

    def hold(self, holder: Any, name: str, is_found: bool = True) -> None:
        """Keep a module or class, so that :meth:`watch` looks at it.

        ``is_found``: the code can get hold of it, and so make instances; not so of the class of what it finds, unless
        that has class methods or descriptors, which are handed it.
        """
        is_found = is_found or self._hands_itself(holder)
        if is_found and isinstance(holder, type):
            self._found_classes.update(map(id, holder.__mro__))
        self.hold_parts(holder, name)

    def hold_variable(self, part: Part) -> None:
        """Do as :meth:`hold` for a variable. What code takes from a library is noted already, by name."""
        if not self._libraries.is_followed(part.value):
            self.hold(part.value, part.name)

    def is_held(self, holder: Any) -> bool:
        """Whether :meth:`hold` keeps it, or it is a library's that was met."""
        return id(holder) in self._holders or id(holder) in self._passed

    def _hands_itself(self, cls: type) -> bool:
        """Whether a class is given to code of the user's without a name: to a descriptor, or by its metaclass."""
        kinds = {type(value) for value in vars(cls).values()} - _DESCRIPTORS
        found = [c for kind in kinds for c in kind.__mro__[:-1] if not _HANDED_THE_CLASS.isdisjoint(vars(c))]
        return not all(self._libraries.is_foreign(namespace_of(c)) for c in (type(cls), *found))

    def hold_parts(self, holder: Any, name: str) -> None:
        if id(holder) in self._holders or id(holder) in self._passed:
            return
        if self._libraries.is_foreign(namespace_of(holder)):
            self._passed[id(holder)] = (holder, name)
            if isinstance(holder, type):
                self._libraries.judge(holder, name)
            if self._libraries.is_of_others(namespace_of(holder)):
                self._watching.entering.is_wanted = True
                self._watching.entering.look(holder, name)
            return
        if isinstance(holder, type) and _is_compiled(holder):
            self._reasons.give_doubt(f"{name} is a class of compiled code")
        self._holders[id(holder)] = (holder, name)
        if isinstance(holder, type):
            if not _COPIES.isdisjoint(self.names):
                copyreg._slotnames(holder)  # type: ignore[attr-defined]  # not in the stubs; the first copy writes it into the class
            self._watching.note(parts_of(holder, name, lambda: holder).names)
            if isinstance(holder, abc.ABCMeta):
                read = RegisteredRead(holder)
                self._watching.note(Part(None, f"what is registered with {name}", read(), read))
            for base in (*holder.__mro__[1:], type(holder)):
                self.hold_parts(base, base.__name__)

    def watch(self) -> None:
        """Watch the attributes of modules and classes that the code names, and what is found by way of them."""
        while True:
            if self.matches:  # the class tells which attributes are meant
                for holder, _ in self._holders.values():
                    self.names.update(dict.fromkeys(vars(holder).get("__match_args__", ())))
            may_ask = not ASKS_BY_NAME.isdisjoint(self.names)  # the code can compute a name
            todo = [
                (holder, name, attribute)
                for holder, name in list(self._holders.values())
                for attribute in list(vars(holder))
                if (attribute in self.names or self._is_asked_for(holder, attribute, may_ask))
                and (id(holder), attribute) not in self._watching.watched
            ]
            if not todo and not self._watch_passed_libraries():
                break
            for holder, name, attribute in todo:
                self._watching.watched.add((id(holder), attribute))
                self._watching.watch(attribute_of(holder, name, attribute))
        self._watch_what_may_come()
        self._libraries.tell_readers(self.names.keys(), self._of_packages)

    def _watch_what_may_come(self) -> None:
        """Watch for what code asks for by a name that is no attribute's in the code, and that is not there yet; and the
        annotations of functions, where it asks for those."""
        if "__annotations__" in self.names.keys() | self.asked:
            for f, name in self._watching.named_functions:
                read = functools.partial(_annotations, f)
                self._slots.append(Slot(f"{name}.__annotations__", read, read(), True))
        modules = [(holder, name) for holder, name in self._holders.values() if isinstance(holder, types.ModuleType)]
        if self.asked and not ASKS_BY_NAME.isdisjoint(self.names):
            for holder, name in (*modules, *self._watching.named_functions):
                which = NamesRead(vars(holder))
                self._slots.append(Slot(f"the attributes of {name}", which, which(), True))
            return
        for holder, name in (*modules, *self._watching.named_functions):
            self.note_absent(holder, self.asked, name)
        if self.catches:  # an error because something is not there
            for module, name in self.handed.values():
                self.note_absent(module, self.names, name)
            for f, name in self._watching.named_functions:
                which = AttributesRead(lambda f=f: f, f)
                self._slots.append(Slot(f"the attributes of {name}", which, which(), True))

    def _watch_passed_libraries(self) -> bool:
        """Watch what code may ask of modules of libraries that it passes on as values; return whether something was
        found that was not watched yet."""
        before = len(self._watching.watched)
        may_ask = not ASKS_BY_NAME.isdisjoint(self.names)
        for library, name in list(self._passed.values()):
            if isinstance(library, types.ModuleType):
                for attribute in vars(library).keys() & (self.names.keys() - self._of_packages):
                    self._libraries.take(library, name, (attribute,), None)
                if may_ask and library.__name__ not in LEAVES and not self._libraries.is_of_others(vars(library)):
                    if verdict(origin_of(library)) == DRAWS:
                        self._libraries.watch_shared_generators()
                    self._reasons.give_doubt(f"{name} may be asked for a name that is computed")
        return len(self._watching.watched) > before

    def _is_asked_for(self, holder: Any, attribute: str, may_ask: bool) -> bool:
        """Whether an attribute can be asked for without its name in the code: by a computed name; by Python itself,
        as __call__, __add__, __getattr__ are; or as what makes an instance, where the code can."""
        if not attribute.startswith("__"):
            return may_ask
        if not isinstance(holder, type):
            return attribute == "__getattr__"
        if attribute in MAKES_AN_INSTANCE and id(holder) not in self._found_classes:
            return not GETS_A_CLASS.isdisjoint(self.names) and isinstance(vars(holder)[attribute], CALLED)
        return isinstance(vars(holder)[attribute], CALLED)

    def note_absent_along(self, found: Any, path: names.Path) -> None:
        """Note which attributes the modules and functions found along a path do not have."""
        name = path[0]
        for attribute in path[1:]:
            self.note_absent(found, (attribute,), name)
            found, name = _standing(found, attribute), f"{name}.{attribute}"
        if isinstance(found, types.ModuleType):
            self.handed[id(found)] = (found, name)

    def note_absent(self, holder: Any, attributes: Collection[str], name: str) -> None:
        """Note which of these attributes a module or function does not have: code may ask whether it has."""
        if not isinstance(holder, (types.ModuleType, types.FunctionType)) or self._libraries.is_foreign(
            namespace_of(holder)
        ):
            return
        there = vars(holder)
        if missing := tuple(sorted([a for a in attributes if a not in there])):
            read = AbsentRead(there, missing, holder if isinstance(holder, types.FunctionType) else None)
            self._slots.append(Slot(f"what {name} has not", read, (), True))


def _is_compiled(cls: type) -> bool:
    """Whether a class is one of the user's, of a module in C: its methods cannot be read."""
    file = namespace_of(cls).get("__file__") or ""
    return file.endswith(tuple(EXTENSION_SUFFIXES))


def _standing(x: Any, attribute: str) -> Any:
    """Return what an object or its class holds under a name, without running any code of theirs."""
    cls = x if isinstance(x, type) else type(x)
    for namespace in (held(x, "__dict__", {}), *map(vars, cls.__mro__)):
        if attribute in namespace:
            return namespace[attribute]
    return MISSING


def _annotations(f: types.FunctionType) -> Any:
    return tuple(f.__annotations__.items())
