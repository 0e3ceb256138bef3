"""Functions of C have stand-ins while a trace is open: other objects where modules hold them.

Python cannot exchange the code of a function of C, as the compiled modules do. But most code finds such a function
among the names of a module: ``math.sin``, ``np.zeros``, or in its own module, after ``from math import sin``. There a
:class:`StandIn` lies while a trace is open. It asks its arguments, or who calls, and calls what was enrolled or the
function itself; it is equal to the function, and looks like it.

A function that was kept elsewhere before (``self.f = math.sin``, a table, a default) is not reached. It takes numbers,
so a traced value says there that it is none (``Tracer.__float__``, ``Tracer.__array__``), which is an error.
"""

from __future__ import annotations

import copyreg
import functools
import importlib
import operator
import os
import sys
from collections.abc import Callable, Iterable
from types import FrameType, MethodType, ModuleType
from typing import Any, NamedTuple

OWN_PACKAGES = ("wengert", "importlib", "_frozen_importlib")
"""Packages whose modules keep NumPy's functions and Python's."""

_STDLIB = os.path.join(os.path.dirname(os.__file__), "")
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class StandIn:
    """An object that stands for a function of C, and calls it, or what answers in its place."""

    __slots__ = ("__weakref__", "_answers", "_own")

    def __init__(self, own: Callable[..., Any], answers: Callable[..., Any]) -> None:
        object.__setattr__(self, "_own", own)
        object.__setattr__(self, "_answers", answers)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._answers(self._own, args, kwargs)

    # All else is the function's.
    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._own, name, value)

    def __eq__(self, other: object) -> bool:
        return self._own == (other._own if type(other) is StandIn else other)

    def __hash__(self) -> int:
        return hash(self._own)

    def __repr__(self) -> str:
        return repr(self._own)

    def __dir__(self) -> list[str]:
        return dir(self._own)

    def __copy__(self) -> Any:
        return self._own

    def __deepcopy__(self, memo: object) -> Any:
        return self._own

    def __reduce__(self) -> Any:
        return self._own.__reduce__()  # by name, under which the stand-in is found

    @property
    def __class__(self) -> Any:
        return type(self._own)

    @property
    def __doc__(self) -> Any:
        return self._own.__doc__


# As the functions that Cython compiles have it: the module of each, and not of the class.
setattr(StandIn, "__module__", property(lambda self: self._own.__module__))  # noqa: B010  # which no type knows of


def is_called_within() -> bool:
    """Return whether the stand-in that is being called is called by the very function that another one has called:
    by compiled code, which nobody sees otherwise (``np.array(x)`` that asks ``x.__array__()``)."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not _CALL:
        frame = frame.f_back
    caller = None if frame is None else frame.f_back
    return caller is not None and str(caller.f_globals.get("__name__")) in _FORMS


_CALL = StandIn.__call__.__code__
_FORMS = frozenset(
    f"{package}{name}"
    for package, underscore in (("wengert.pure.", ""), ("wengert.tracing.interception.", "_"))
    for name in (f"{underscore}c_functions", f"{underscore}array_functions")
)


class MethodStandIn(StandIn):
    """A stand-in that becomes a method, as what ``functools.lru_cache`` makes does."""

    __slots__ = ()

    def __get__(self, of: object, cls: type | None = None) -> Any:
        return self if of is None else MethodType(self, of)


def own(x: Any) -> Any:
    """Return the function that ``x`` stands for, or the attribute of a class; ``x`` itself if it stands for none."""
    if type(x) is StandIn or type(x) is MethodStandIn:
        return x._own
    return _own_attributes.get(id(x), x) if _own_attributes else x


_own_attributes: dict[int, Any] = {}
"""The attributes of classes that have others in their places, by the ids of those."""


# ------------------------------------------------------------------------------------------------- where they are put

_stand_ins: dict[int, StandIn] = {}  # by the id of the function, which they keep
_answers_of: dict[type, Callable[..., Any]] = {}
_of_classes: dict[int, Callable[[Any], StandIn]] = {}  # by the id of a class: makes one for an object of it


class NamesOfModule:
    """The names of one namespace that hold functions which have stand-ins."""

    __slots__ = ("get", "names", "own", "own_by_name", "stand_ins", "stand_ins_by_name")

    def __init__(self, names: dict[str, Any], found: dict[str, StandIn]) -> None:
        self.names = names
        self.stand_ins_by_name = found
        self.own_by_name = {name: stand_in._own for name, stand_in in found.items()}
        self.get = operator.itemgetter(*found, next(iter(found)))  # of two at least, so that it gives a tuple
        self.own, self.stand_ins = self.get(self.own_by_name), self.get(self.stand_ins_by_name)

    def put(self) -> None:
        """Put the stand-ins where the functions are."""
        try:
            are_there = self.get(self.names) == self.own  # in one call, as mostly all are
        except KeyError:
            are_there = False
        if are_there:
            self.names.update(self.stand_ins_by_name)
            return
        for name, stand_in in self.stand_ins_by_name.items():
            if self.names.get(name) is stand_in._own:
                self.names[name] = stand_in

    def take_back(self) -> None:
        """Put the functions back. What somebody else has put there meanwhile is theirs to keep."""
        try:
            are_there = self.get(self.names) == self.stand_ins
        except KeyError:
            are_there = False
        if are_there:
            self.names.update(self.own_by_name)
            return
        for name, stand_in in self.stand_ins_by_name.items():
            if self.names.get(name) is stand_in:
                self.names[name] = stand_in._own


class Attribute(NamedTuple):
    """A method with a cache, or a static one, in its class."""

    cls: type
    name: str
    own: Any
    other: Any

    def put(self) -> None:
        if vars(self.cls).get(self.name) is self.own:
            _own_attributes[id(self.other)] = self.own
            type.__setattr__(self.cls, self.name, self.other)

    def take_back(self) -> None:
        if vars(self.cls).get(self.name) is self.other:
            type.__setattr__(self.cls, self.name, self.own)
        _own_attributes.pop(id(self.other), None)


_attributes: dict[int, list[Attribute]] = {}
"""The methods with caches of the classes of each module, by the id of its namespace."""

_places: dict[int, NamesOfModule] = {}
"""The places of each namespace, by its id."""

_latest: tuple[int, str] = (0, "")
"""How many modules there were, and the last of them, when all had been looked at."""

_users: list[ModuleType] = []
"""The modules of the program that the user works on, whose variables change while it runs; and what is imported now."""

_classes: set[type] = set()
"""The classes of the functions."""

_looked_at: dict[str, ModuleType] = {}
_is_put = False


def add(function: Callable[..., Any], answers: Callable[..., Any]) -> None:
    """Let ``answers(function, args, kwargs)`` be called in the place of ``function`` while a trace is open."""
    _stand_ins[id(function)] = StandIn(function, answers)
    _classes.add(type(function))
    _looked_at.clear()
    if _is_put:  # the others are looked at before the next trace
        module = sys.modules.get(str(getattr(function, "__module__", None)))
        _put(() if module is None else (module,))


def add_class(cls: type, answers: Callable[..., Any]) -> None:
    """Let ``answers(object, args, kwargs)`` be called in the place of each object of a class that a module holds."""
    _answers_of[cls] = answers
    _of_classes[id(cls)] = lambda x: StandIn(x, answers)
    _classes.add(cls)
    _looked_at.clear()


def remove(function: Callable[..., Any]) -> None:
    """Let nothing stand for ``function`` any more. KeyError if nothing does."""
    found = _stand_ins.pop(id(function))
    for key, places in list(_places.items()):
        names = [name for name, stand_in in places.stand_ins_by_name.items() if stand_in is found]
        if names:
            places.take_back()
            others = {name: x for name, x in places.stand_ins_by_name.items() if x is not found}
            del _places[key]
            if others:
                _places[key] = NamesOfModule(places.names, others)
                if _is_put:
                    _places[key].put()


def has(function: object) -> bool:
    """Return whether a function has a stand-in."""
    return id(function) in _stand_ins


def standing_for(x: object) -> StandIn | None:
    """Return what stands for ``x`` while a trace is open; ``x`` itself if it stands for a function; else None."""
    if type(x) is StandIn or type(x) is MethodStandIn:
        return x
    return _stand_ins.get(id(x)) if _is_put else None


def is_in_module(function: Any) -> bool:
    """Return whether a function is one of a module, and no method."""
    if isinstance(getattr(function, "__self__", None), ModuleType):
        return True
    module = sys.modules.get(str(getattr(function, "__module__", None)))
    return module is not None and any(own(x) is function for x in list(vars(module).values()))


def _is_of_users(module: ModuleType) -> bool:
    """Return whether a module is of the program that the user works on, whose variables change while it runs."""
    file = getattr(module, "__file__", None) or ""
    is_installed = file.startswith(_STDLIB) or any(folder in file for folder in _PACKAGES)
    return not is_installed and module.__name__ not in sys.builtin_module_names


def _keeps_own(name: str) -> bool:
    """Return whether a module is ours, or a part of NumPy's own code: they keep the functions themselves."""
    first, *rest = name.split(".")
    return first in OWN_PACKAGES or (first == "numpy" and any(part.startswith("_") for part in rest))


def _look() -> list[ModuleType]:
    """Return the modules that are new, or whose variables change."""
    global _latest, _users
    latest = len(sys.modules), next(reversed(sys.modules), "")
    if latest == _latest and _looked_at:
        return _users
    users: list[ModuleType] = []
    found: list[ModuleType] = []
    for name, module in list(sys.modules.items()):
        if _looked_at.get(name) is module or not issubclass(type(module), ModuleType):
            continue
        names = object.__getattribute__(module, "__dict__")  # a module that is loaded when it is asked is not asked
        if _keeps_own(name):
            _looked_at[name] = module
            continue
        if _is_of_users(module) or getattr(names.get("__spec__"), "_initializing", False):
            users.append(module)
        else:
            _looked_at[name] = module
            found.append(module)
    _latest, _users = latest, users
    return [*found, *users]


def _cached_in(names: dict[str, Any]) -> list[Attribute]:
    """Return the methods with caches of the classes that a module has made."""
    module, found = names.get("__name__"), list[Attribute]()
    for cls in list(names.values()):
        if isinstance(cls, type) and cls.__flags__ & _MADE and cls.__module__ == module:
            for name, value in list(vars(cls).items()):
                its_own = own(value)
                other = _other_method(its_own)
                if other is not None:
                    found.append(Attribute(cls, name, its_own, other))
    return found


_MADE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that was made at run time


def _other_method(value: Any) -> Any:
    """Return what stands for an attribute of a class that is a function with a cache; None if it is none."""
    if type(value) in (staticmethod, classmethod):
        inner = _other_method(value.__func__)
        return None if inner is None else type(value)(inner)
    if type(value) is functools._lru_cache_wrapper and functools._lru_cache_wrapper in _answers_of:
        return MethodStandIn(value, _answers_of[functools._lru_cache_wrapper])
    return None


def _found_in(names: dict[str, Any]) -> dict[str, StandIn]:
    """Return the stand-ins of the functions that a namespace holds, by their names there."""
    stand_ins, of_classes = _stand_ins, _of_classes
    places: dict[str, StandIn] = {}
    for name, x in list(names.items()):
        if type(x) is StandIn:
            x = x._own
        found = stand_ins.get(id(x))
        if found is None and id(type(x)) in of_classes:
            found = stand_ins[id(x)] = of_classes[id(type(x))](x)
        if found is not None:
            places[name] = found
    return places


class ImportedModule:
    """A module, in a pickle."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.name,)


def _reduced(function: Any) -> Any:
    """Return how a function is pickled in whose place another object lies, which pickle would find under its name."""
    if _stand_ins.get(id(function)) is None:
        return function.__reduce__()
    module = getattr(function, "__module__", None) or function.__self__.__name__
    return getattr, (ImportedModule(module), function.__name__)


def begin() -> None:
    """Put the stand-ins into their places, if they are not there."""
    global _is_put
    if _is_put:
        return
    _is_put = True  # before it is done: then what was interrupted is undone
    _put(_look())
    for cls in _classes:
        copyreg.dispatch_table.setdefault(cls, _reduced)


def _put(modules: Iterable[ModuleType]) -> None:
    for module in modules:
        names = object.__getattribute__(module, "__dict__")
        found = _found_in(names)
        known = _places.get(id(names))
        if not found:
            _places.pop(id(names), None)
        elif known is None or known.stand_ins_by_name != found:
            _places[id(names)] = NamesOfModule(names, found)
        cached = _cached_in(names)
        before = _attributes.get(id(names), [])
        if [(one.cls, one.name, id(one.own)) for one in cached] != [(one.cls, one.name, id(one.own)) for one in before]:
            for one in before:
                one.take_back()
            _attributes[id(names)] = cached
    for places in _places.values():
        places.put()
    for attributes in _attributes.values():
        for one in attributes:
            one.put()


def end() -> None:
    """Put the functions back."""
    global _is_put
    if not _is_put:
        return
    for cls in _classes:
        if copyreg.dispatch_table.get(cls) is _reduced:
            del copyreg.dispatch_table[cls]
    for places in _places.values():
        places.take_back()
    for attributes in _attributes.values():
        for one in attributes:
            one.take_back()
    _is_put = False
