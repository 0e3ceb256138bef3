"""What a function reads beside its arguments, and how a compiled program keeps it fresh.

A jitted function is traced once and run many times, so whatever it captured must be looked at again. Before the
trace its *environment* is walked: closure cells, the globals that its code names, defaults, the attributes and items
of what is found there, and the same for the functions it can reach. Then

* an **array** is handed to the function as a traced value that the program reads where it lies, at every call: an
  edit in place is seen, nothing is copied. What depends only on read-only arrays is computed once.
* a **number, string** or other plain value is a guard: while it is equal, the program holds. **Rebinding** a
  variable to another array or object fails the guard on that variable.
* what **the function itself writes** (a global, a nonlocal, an item of a captured list) would happen only while
  tracing, so it is refused.

The function that is traced is a copy of the user's whose cells and globals hold the traced arrays. What the walk
cannot see into (classes, C objects) may still give arrays to the trace: those have an unknown origin, and a run that
met one is repeated at every call (see Trace.unrepeatable): slower, and right.
"""

from __future__ import annotations

import dis
import functools
import sysconfig
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import CaptureError, message
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import wrap

PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), slice, range)
LIBRARIES = ("numpy", "scipy", "wengert", "builtins", "optree", "math", "functools", "itertools", "operator")
MAX_ITEMS = 10_000
_STDLIB = sysconfig.get_path("stdlib")


class Place(NamedTuple):
    """Somewhere the function reads: how to read it now, and what was there when it was traced."""

    name: str
    read: Callable[[], Any]
    seen: Any
    by_value: bool


class Substituted(NamedTuple):
    """Something handed to the traced copy: reading it after the trace must give what was put there."""

    name: str
    read: Callable[[], Any]
    put: Any
    original: Any


class Environment:
    """What one trace of a function found in its surroundings."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.known: dict[int, tuple[Any, str, bool]] = {}
        self.copies: list[Substituted] = []
        self._memo: dict[int, Any] = {}
        self._globals: dict[int, dict[str, Any]] = {}
        self._alive: list[Any] = []  # what is in _memo by id stays alive
        self._trace: Trace | None = None
        self._package: str | None = None

    def holds(self) -> bool:
        """Whether everything that was read is still there."""
        for _, read, seen, by_value in self.places:
            try:
                now = read()
            except (KeyError, IndexError, AttributeError, ValueError, TypeError):
                return False
            if now is seen:
                continue
            if not by_value or type(now) is not type(seen) or not _equal(now, seen):
                return False
        return True

    def changed(self) -> list[str]:
        """The names of what is no longer what it was."""
        names = []
        for place in self.places:
            alone = Environment()
            alone.places = [place]
            if not alone.holds():
                names.append(place.name)
        return names

    # ------------------------------------------------------------------------------------------------ walking

    def copy_for(self, f: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
        """``f`` with its captured arrays replaced by traced values of ``trace``; notes every place it reads."""
        self._trace = trace
        return self._replace(f, getattr(f, "__name__", "function"), lambda: f, is_root=True)

    def check_unwritten(self) -> None:
        """Raise CaptureError if the traced run wrote something that a later call would not write."""
        for name, read, put, original in self.copies:
            try:
                now = read()
            except (KeyError, IndexError, AttributeError, ValueError):
                now = _MISSING
            if now is not put and now is not original and not (type(now) is int and now == put):
                raise CaptureError(
                    message(
                        f"the function writes {name}, which it captured; a compiled function would write it only once",
                        tries=[f"return {name.split('.')[0].split('[')[0]} from the function", "no wg.jit around it"],
                    )
                )

    def _replace(self, value: Any, name: str, read: Callable[[], Any], is_root: bool = False) -> Any:
        """What the traced copy sees in place of ``value``."""
        if isinstance(value, np.ndarray):
            return self._array(value, name, read)
        if isinstance(value, np.generic):
            self.known[id(value)] = (value, name, True)
            self._alive.append(value)
            self.places.append(Place(name, read, value, True))
            return value
        if isinstance(value, PLAIN):
            self.places.append(Place(name, read, value, True))
            return value
        if not is_root:
            self.places.append(Place(name, read, value, False))
        if id(value) in self._memo:
            return self._memo[id(value)]
        self._alive.append(value)
        if isinstance(value, types.FunctionType):
            return self._function(value, name)
        if isinstance(value, types.MethodType):
            owner = self._replace(value.__self__, f"{name}.__self__", lambda: read().__self__)
            function = self._replace(value.__func__, name, lambda: read().__func__)
            return types.MethodType(function, owner)
        if isinstance(value, functools.partial):
            return functools.partial(
                self._replace(value.func, f"{name}.func", lambda: read().func),
                *[self._replace(a, f"{name}.args[{k}]", lambda k=k: read().args[k]) for k, a in enumerate(value.args)],
                **{
                    k: self._replace(a, f"{name}.keywords[{k!r}]", lambda k=k: read().keywords[k])
                    for k, a in value.keywords.items()
                },
            )
        if type(value) in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields")):
            return self._sequence(value, name, read)
        if type(value) is dict:
            return self._dict(value, name, read)
        if isinstance(value, types.ModuleType):
            return value
        if isinstance(value, type):
            return value
        if hasattr(type(value), "__wengert_transparent__"):  # a jitted function inside: its steps are recorded
            return self._replace(value.__wrapped__, name, lambda: read().__wrapped__)  # type: ignore[attr-defined]
        if hasattr(type(value), "__wengert_parts__"):  # a primitive: called as it is, but its rules read things too
            self._memo[id(value)] = value
            for part, code in value.__wengert_parts__().items():  # type: ignore[attr-defined]
                self._replace(code, f"{name}'s {part}", lambda p=part: read().__wengert_parts__()[p])
            return value
        if hasattr(value, "__dict__") and not _is_library(type(value)):
            return self._instance(value, name, read)
        return value

    def _array(self, value: np.ndarray[Any, Any], name: str, read: Callable[[], Any]) -> Any:
        self.places.append(Place(name, read, value, False))
        if value.dtype.kind not in "fiubc" or type(value) is not np.ndarray:
            return value
        if id(value) in self._memo:
            return self._memo[id(value)]
        self._alive.append(value)
        is_constant = not value.flags.writeable and _owner_is_readonly(value)
        self.known[id(value)] = (value, name, is_constant)
        if is_constant:  # a promise that may be taken back
            self.places.append(Place(f"{name}.flags.writeable", lambda: read().flags.writeable, False, True))
        assert self._trace is not None
        tracer = wrap(self._trace, self._trace.capture(value), is_scalar=False)
        tracer._why_readonly = f"{name} is captured from outside of the compiled function, which may not write it"
        self._memo[id(value)] = tracer
        return tracer

    def _function(self, f: types.FunctionType, name: str) -> Any:
        namespace = f.__globals__
        in_library = self._is_foreign(namespace)
        shared = namespace
        if not in_library:
            shared = self._globals.get(id(namespace))
            if shared is None:
                shared = self._globals[id(namespace)] = dict(namespace)
        cells = tuple(types.CellType() for _ in f.__closure__ or ())
        new = types.FunctionType(f.__code__, shared, f.__name__, f.__defaults__, cells or None)
        self._memo[id(f)] = new
        new.__kwdefaults__ = f.__kwdefaults__
        new.__dict__.update(f.__dict__)
        new.__qualname__, new.__module__, new.__doc__ = f.__qualname__, f.__module__, f.__doc__
        for variable, cell, old in zip(f.__code__.co_freevars, cells, f.__closure__ or (), strict=True):
            try:
                found = old.cell_contents
            except ValueError:  # not yet assigned
                continue
            put = self._replace(found, variable, lambda old=old: old.cell_contents)
            cell.cell_contents = put
            self.copies.append(Substituted(variable, lambda cell=cell: cell.cell_contents, put, found))
        if f.__defaults__:
            new.__defaults__ = tuple(
                self._replace(d, f"{name}'s default {k}", lambda k=k: f.__defaults__[k])  # type: ignore[index]
                for k, d in enumerate(f.__defaults__)
            )
        if f.__kwdefaults__:
            new.__kwdefaults__ = {
                k: self._replace(d, f"{name}'s default {k}", lambda k=k: f.__kwdefaults__[k])  # type: ignore[index]
                for k, d in f.__kwdefaults__.items()
            }
        if in_library:
            return new
        for variable in _global_names(f.__code__):
            if variable not in namespace:
                continue
            found = namespace[variable]
            if isinstance(found, types.ModuleType | type):
                if not _is_library_module(found):
                    self._module(found, variable, f.__code__)
                self.places.append(Place(variable, lambda v=variable: namespace[v], found, False))
                continue
            if id(found) in self._memo and shared.get(variable) is self._memo[id(found)]:
                self.places.append(Place(variable, lambda v=variable: namespace[v], found, False))
                continue
            put = self._replace(found, variable, lambda v=variable: namespace[v])
            shared[variable] = put
            if variable in _written_globals(f.__code__):
                self.copies.append(Substituted(variable, lambda v=variable: shared[v], put, found))
        for variable in _written_globals(f.__code__):
            if variable not in namespace:
                self.copies.append(Substituted(variable, lambda v=variable: shared[v], _MISSING, _MISSING))
        return new

    def _is_foreign(self, namespace: dict[str, Any]) -> bool:
        """Whether a function belongs to a library whose globals are its own affair."""
        package = namespace.get("__name__", "").partition(".")[0]
        if package in LIBRARIES:
            return True
        if self._package is None:
            self._package = package  # the package of the function that is traced is always walked
        if package == self._package:
            return False
        file = namespace.get("__file__") or ""
        return file.startswith(_STDLIB) or "site-packages" in file or "dist-packages" in file

    def _module(self, module: Any, name: str, code: types.CodeType) -> None:
        """Attributes of the user's modules and classes that the code names: plain values are guards."""
        for attribute in _global_names(code):
            found = vars(module).get(attribute, _MISSING)
            if isinstance(found, PLAIN):
                path = f"{name}.{attribute}"
                self.places.append(Place(path, lambda a=attribute: vars(module)[a], found, True))
            elif isinstance(found, np.ndarray) and found.dtype.kind in "fiubc":
                # The copy cannot be given a traced value here, so the content is compared at every call.
                seen = np.array(found)
                self.places.append(Place(f"{name}.{attribute}", lambda a=attribute: vars(module)[a], seen, True))
                self.known[id(found)] = (found, f"{name}.{attribute}", False)
                self._alive.append(found)

    def _sequence(self, value: Any, name: str, read: Callable[[], Any]) -> Any:
        if len(value) > MAX_ITEMS:
            return value
        self.places.append(Place(f"len({name})", lambda: len(read()), len(value), True))
        items = [self._replace(v, f"{name}[{k}]", lambda k=k: read()[k]) for k, v in enumerate(value)]
        if type(value) is list:
            new: Any = items
            for k, (item, old) in enumerate(zip(list(items), value, strict=True)):
                self.copies.append(Substituted(f"{name}[{k}]", lambda k=k: new[k], item, old))
            self.copies.append(Substituted(f"len({name})", lambda: len(new), len(items), len(items)))
        else:
            new = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        self._memo[id(value)] = new
        return new

    def _dict(self, value: dict[Any, Any], name: str, read: Callable[[], Any]) -> Any:
        if len(value) > MAX_ITEMS:
            return value
        new: dict[Any, Any] = {}
        self._memo[id(value)] = new
        self.places.append(Place(f"{name}.keys()", lambda: tuple(read()), tuple(value), True))
        for k, v in list(value.items()):
            new[k] = self._replace(v, f"{name}[{k!r}]", lambda k=k: read()[k])
            self.copies.append(Substituted(f"{name}[{k!r}]", lambda k=k: new[k], new[k], v))
        self.copies.append(Substituted(f"len({name})", lambda: len(new), len(new), len(new)))
        return new

    def _instance(self, value: Any, name: str, read: Callable[[], Any]) -> Any:
        try:
            new = type(value).__new__(type(value))
        except TypeError:  # made by its own rules: taken as it is
            return value
        self._memo[id(value)] = new
        for attribute, found in list(vars(value).items()):
            put = self._replace(found, f"{name}.{attribute}", lambda a=attribute: vars(read())[a])
            new.__dict__[attribute] = put
            self.copies.append(Substituted(f"{name}.{attribute}", lambda a=attribute: new.__dict__[a], put, found))
        self.copies.append(
            Substituted(f"the attributes of {name}", lambda: len(vars(new)), len(vars(new)), len(vars(new)))
        )
        return new


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


_MISSING = _Missing()


def _equal(now: Any, seen: Any) -> bool:
    if isinstance(now, np.ndarray | np.generic):
        return now.dtype == seen.dtype and now.shape == seen.shape and now.tobytes() == seen.tobytes()
    if isinstance(now, float):
        return now == seen or (now != now and seen != seen)
    return bool(now == seen)


def _owner_is_readonly(array: np.ndarray[Any, Any]) -> bool:
    """A read-only view of a writable array is not a constant: its owner can change it."""
    base = array.base
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        base = base.base
    return base is None or isinstance(base, bytes)


def _is_library(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in LIBRARIES


def _is_library_module(module: Any) -> bool:
    name = module.__name__ if isinstance(module, types.ModuleType) else module.__module__
    return name.partition(".")[0] in LIBRARIES


def _codes(code: types.CodeType) -> list[types.CodeType]:
    """A function's code and that of the functions defined in it."""
    found, at = [code], 0
    while at < len(found):
        found += [c for c in found[at].co_consts if isinstance(c, types.CodeType)]
        at += 1
    return found


@functools.lru_cache(maxsize=4096)
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for c in _codes(code) for name in c.co_names))


@functools.lru_cache(maxsize=4096)
def _written_globals(code: types.CodeType) -> frozenset[str]:
    return frozenset(
        i.argval for c in _codes(code) for i in dis.get_instructions(c) if i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
    )
