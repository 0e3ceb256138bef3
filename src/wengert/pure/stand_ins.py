"""Functions of C have stand-ins while a trace is open: other objects in the places where modules hold them.

Python cannot exchange the code of a function of C, as the compiled modules do. But most code finds such a function
among the names of a module: ``math.sin``, ``np.zeros``, or in its own module, after ``from math import sin``. There a
:class:`StandIn` lies while a trace is open. It asks its arguments, or who calls, and calls what was enrolled or the
function itself; it is equal to the function, and looks like it.

A function that was kept elsewhere before (``self.f = math.sin``, a table, a default) is not reached. It takes numbers,
so a traced value says there that it is none (``Tracer.__float__``, ``Tracer.__array__``), which is an error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

OWN_PACKAGES = ("wengert", "importlib", "_frozen_importlib")
"""Packages whose modules keep NumPy's functions and Python's."""

_STDLIB = os.path.join(os.path.dirname(os.__file__), "")
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def _same(own: Any) -> Any:
    return own


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
        return _same, (self._own,)

    @property
    def __class__(self) -> Any:
        return type(self._own)

    @property
    def __doc__(self) -> Any:
        return self._own.__doc__


def own(x: Any) -> Any:
    """Return the function that ``x`` stands for; ``x`` itself if it stands for none."""
    return x._own if type(x) is StandIn else x


# ------------------------------------------------------------------------------------------------- where they are put

_stand_ins: dict[int, StandIn] = {}  # by the id of the function, which they keep
_of_classes: dict[int, Callable[[Any], StandIn]] = {}  # by the id of a class: makes one for an object of it

Place = tuple[str, Any, StandIn]
_places: dict[int, tuple[dict[str, Any], list[Place]]] = {}
"""The namespaces that hold functions which have stand-ins, by id, each with the names, the functions and those."""

_looked_at: dict[str, ModuleType] = {}
_is_put = False


def add(function: Callable[..., Any], answers: Callable[..., Any]) -> None:
    """Let ``answers(function, args, kwargs)`` be called in the place of ``function`` while a trace is open."""
    _stand_ins[id(function)] = StandIn(function, answers)
    _looked_at.clear()
    if _is_put:  # the others are looked at before the next trace
        module = sys.modules.get(str(getattr(function, "__module__", None)))
        _put(() if module is None else (module,))


def add_class(cls: type, answers: Callable[..., Any]) -> None:
    """Let ``answers(object, args, kwargs)`` be called in the place of each object of a class that a module holds."""
    _of_classes[id(cls)] = lambda x: StandIn(x, answers)
    _looked_at.clear()


def remove(function: Callable[..., Any]) -> None:
    """Let nothing stand for ``function`` any more. KeyError if nothing does."""
    found = _stand_ins.pop(id(function))
    for names, places in _places.values():
        for place in [place for place in places if place[2] is found]:
            _take_back(names, place)
            places.remove(place)


def has(function: object) -> bool:
    """Return whether a function has a stand-in."""
    return id(function) in _stand_ins


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
    found: list[ModuleType] = []
    for name, module in list(sys.modules.items()):
        if _looked_at.get(name) is module or not issubclass(type(module), ModuleType):
            continue
        names = object.__getattribute__(module, "__dict__")  # a module that is loaded when it is asked is not asked
        is_ready = not getattr(names.get("__spec__"), "_initializing", False)
        if _keeps_own(name):
            _looked_at[name] = module
            continue
        if is_ready and not _is_of_users(module):
            _looked_at[name] = module
        found.append(module)
    return found


def _found_in(names: dict[str, Any]) -> list[Place]:
    stand_ins, of_classes = _stand_ins, _of_classes
    places: list[Place] = []
    for name, x in list(names.items()):
        x = own(x)
        found = stand_ins.get(id(x))
        if found is None and id(type(x)) in of_classes:
            found = stand_ins[id(x)] = of_classes[id(type(x))](x)
        if found is not None:
            places.append((name, x, found))
    return places


def begin() -> None:
    """Put the stand-ins into their places, if they are not there."""
    global _is_put
    if _is_put:
        return
    _is_put = True  # before it is done: then what was interrupted is undone
    _put(_look())


def _put(modules: Iterable[ModuleType]) -> None:
    for module in modules:
        names = object.__getattribute__(module, "__dict__")
        places = _found_in(names)
        if places:
            _places[id(names)] = names, places
        else:
            _places.pop(id(names), None)
    for names, places in _places.values():
        for name, function, stand_in in places:
            if names.get(name) is function:
                names[name] = stand_in


def _take_back(names: dict[str, Any], place: Place) -> None:
    name, function, stand_in = place
    if names.get(name) is stand_in:  # what somebody else has put there meanwhile is theirs to keep
        names[name] = function


def end() -> None:
    """Put the functions back."""
    global _is_put
    for names, places in _places.values():
        for place in places:
            _take_back(names, place)
    _is_put = False
