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

The function that is traced is a copy of the user's whose cells, globals, lists, dicts and objects hold the traced
arrays. What is *shared* with the original instead (modules, classes with their methods and properties, sets, objects
with slots, random generators) is watched: everything there that the code names is compared at every call, arrays by
content. What cannot even be compared (an iterator, the clock, an array of unknown origin) makes the run unrepeatable:
the function is traced again at every call (see Trace.unrepeatable), slower, and right.
"""

from __future__ import annotations

import array
import enum
import functools
import pickle
import random
import sys
import sysconfig
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import CaptureError, message
from wengert.tracing.callers import is_opaque
from wengert.tracing.surroundings import names
from wengert.tracing.surroundings.purity import (
    is_immutable,
    is_plain_class,
    is_pure,
    is_pure_module,
    takes_in_only_pure,
)
from wengert.tracing.surroundings.slots import (
    AbsentRead,
    CellRead,
    ClassRead,
    CodeRead,
    ItemRead,
    PartRead,
    Slot,
    all_hold,
    is_unchanged,
)
from wengert.tracing.trace import Trace, is_readonly
from wengert.tracing.tracer import wrap

PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), slice, range)
MAX_ITEMS = 10_000
_STDLIB = sysconfig.get_path("stdlib")


class Substituted(NamedTuple):
    """Something handed to the traced copy: reading it after the trace must give what was put there."""

    name: str
    read: Callable[[], Any]
    put: Any
    original: Any


class Environment:
    """What one trace of a function found in its surroundings."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.known: dict[int, tuple[Any, str, bool]] = {}
        self.copies: list[Substituted] = []
        self._memo: dict[int, Any] = {}
        self._globals: dict[int, dict[str, Any]] = {}
        self._alive: list[Any] = []  # what is in _memo by id stays alive
        self._trace: Trace | None = None
        self._package: str | None = None
        self._names: dict[str, None] = {}  # that the code met so far mentions
        self._holders: dict[int, tuple[Any, str]] = {}  # modules and classes: what code names of them is watched
        self._libraries: dict[int, tuple[Any, str]] = {}  # modules of others: the numbers that code names of them are
        self._found_classes: set[int] = set()
        self._watched: set[Any] = set()
        self._unrepeatable = ""
        self.is_closed = True
        """Whether nothing was found that could give another number to another run: see purity.py."""

    def holds(self) -> bool:
        """Whether everything that was read is still there."""
        return all_hold(self.slots)

    def changed(self) -> list[str]:
        """The names of what is no longer what it was."""
        return [slot.name for slot in self.slots if not is_unchanged(slot)]

    # ------------------------------------------------------------------------------------------------ walking

    def copy_for(self, f: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
        """``f`` with its captured arrays replaced by traced values of ``trace``; notes every slot it reads."""
        self._trace = trace
        copy = self._replace(f, getattr(f, "__name__", "function"), lambda: f, is_root=True)
        self._watch_holders()
        trace.unrepeatable = trace.unrepeatable or self._unrepeatable
        return copy

    def copy_argument(self, value: Any, name: str) -> Any:
        """An argument that is not traced, an object or a function, which may hold arrays and change as captures do."""
        copy = self._replace(value, name, lambda: value, is_root=True)
        self._watch_holders()
        return copy

    def look_at_classes(self, classes: Iterable[type]) -> None:
        """Those of the arguments' containers, whose methods the function may call."""
        for cls in classes:
            if cls not in (tuple, list, dict, type(None)):
                self._hold(cls, cls.__name__, is_found=False)
        self._watch_holders()

    def close(self) -> None:
        """Check what was written, and let go of the trace and of what was handed to it."""
        self.check_unwritten()
        self._trace = None
        self._memo.clear()
        self._globals.clear()
        self.copies.clear()

    def check_unwritten(self) -> None:
        """Raise CaptureError if the traced run wrote something that a later call would not write."""
        for name, read, put, original in self.copies:
            try:
                now = read()
            except (KeyError, IndexError, AttributeError, ValueError):
                now = _MISSING
            if now is not put and now is not original and not (type(now) is int and now == put):
                raise _written(name)
        for slot in self.slots:
            if slot.is_shared and not is_unchanged(slot):
                raise _written(slot.name)

    def _replace(self, value: Any, name: str, read: Callable[[], Any], is_root: bool = False) -> Any:
        """What the traced copy sees in place of ``value``."""
        self._judge(value)
        if isinstance(value, np.ndarray):
            return self._array(value, name, read)
        if isinstance(value, np.generic):
            self.known[id(value)] = (value, name, True)
            self._alive.append(value)
            self.slots.append(Slot(name, read, value, True))
            return value
        if isinstance(value, (*PLAIN, enum.Enum)):
            self.slots.append(Slot(name, read, value, True))
            if isinstance(value, enum.Enum):
                self._watch_parts(value, name, read)
            return value
        if not is_root:
            self.slots.append(Slot(name, read, value, False))
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
            new = functools.partial(
                self._replace(value.func, f"{name}.func", lambda: read().func),
                *[self._replace(a, f"{name}.args[{k}]", lambda k=k: read().args[k]) for k, a in enumerate(value.args)],
                **{
                    k: self._replace(a, f"{name}.keywords[{k!r}]", lambda k=k: read().keywords[k])
                    for k, a in value.keywords.items()
                },
            )
            self._hang(value, new, name)
            return new
        if _is_sequence(value):
            return self._sequence(value, name, read)
        if type(value) in (dict, OrderedDict, defaultdict):
            return self._dict(value, name, read)
        if hasattr(type(value), "__wengert_transparent__"):  # a jitted function inside: its steps are recorded
            return self._replace(value.__wrapped__, name, lambda: read().__wrapped__)
        if hasattr(type(value), "__wengert_parts__"):  # a primitive: called as it is, but its rules read things too
            self._memo[id(value)] = value
            for part, code in value.__wengert_parts__().items():
                self._replace(code, f"{name}'s {part}", lambda p=part: read().__wengert_parts__()[p])
            return value
        if _is_copyable(type(value)):
            return self._instance(value, name, read)
        self._watch(value, name, read)
        return value

    def _array(self, value: np.ndarray[Any, Any], name: str, read: Callable[[], Any]) -> Any:
        self.slots.append(Slot(name, read, value, False))
        if value.dtype.kind not in "fiubc" or type(value) is not np.ndarray:
            self._watch(value, name, read)
            return value
        if id(value) in self._memo:
            return self._memo[id(value)]
        self._alive.append(value)
        is_constant = is_readonly(value) and _owner_is_readonly(value)
        self.known[id(value)] = (value, name, is_constant)
        if is_constant:  # a promise that may be taken back
            self.slots.append(Slot(f"{name} is read-only", lambda: is_readonly(read()), True, True))
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
        new.__qualname__, new.__module__, new.__doc__ = f.__qualname__, f.__module__, f.__doc__
        self._hang(f, new, name)
        for variable, cell, old in zip(f.__code__.co_freevars, cells, f.__closure__ or (), strict=True):
            try:
                found = old.cell_contents
            except ValueError:  # not yet assigned
                continue
            put = self._replace(found, variable, CellRead(old))
            cell.cell_contents = put
            self.copies.append(Substituted(variable, lambda cell=cell: cell.cell_contents, put, found))
        if f.__defaults__:
            new.__defaults__ = tuple(
                self._replace(d, f"{name}'s default {k}", PartRead(lambda: f, f, "defaults", k))
                for k, d in enumerate(f.__defaults__)
            )
        if f.__kwdefaults__:
            new.__kwdefaults__ = {
                k: self._replace(d, f"{name}'s default {k}", lambda k=k: (f.__kwdefaults__ or {})[k])
                for k, d in f.__kwdefaults__.items()
            }
        if in_library:
            return new
        self._note_names(f, name)
        for variable in names.named(f.__code__):
            if variable not in namespace:
                continue
            found = namespace[variable]
            if isinstance(found, types.ModuleType | type):
                self._hold(found, variable)
                self.slots.append(Slot(variable, ItemRead(namespace, variable), found, False))
                continue
            if id(found) in self._memo and shared.get(variable) is self._memo[id(found)]:
                self.slots.append(Slot(variable, ItemRead(namespace, variable), found, False))
                continue
            put = self._replace(found, variable, ItemRead(namespace, variable))
            shared[variable] = put
            if variable in names.written(f.__code__):
                self.copies.append(Substituted(variable, lambda v=variable: shared[v], put, found))
        for variable in names.written(f.__code__):
            if variable not in namespace:
                self.copies.append(Substituted(variable, lambda v=variable: shared[v], _MISSING, _MISSING))
        return new

    def _hung(self, f: Callable[..., Any], name: str) -> dict[str, PartRead]:
        """The attributes that somebody has hung on a function, and how to read them."""
        hung = vars(f)
        if not hung:
            return {}
        read = lambda: vars(f)
        self.slots.append(Slot(f"the attributes of {name}", PartRead(read, hung, "dict", ...), tuple(hung), True))
        return {attribute: PartRead(read, hung, "dict", attribute) for attribute in hung}

    def _hang(self, f: Callable[..., Any], copy: Callable[..., Any], name: str) -> None:
        for attribute, read in self._hung(f, name).items():
            vars(copy)[attribute] = self._replace(vars(f)[attribute], f"{name}.{attribute}", read)

    def _is_foreign(self, namespace: dict[str, Any]) -> bool:
        """Whether a function belongs to a library whose globals are its own affair."""
        module = namespace.get("__name__", "")
        package = module.partition(".")[0]
        if is_opaque(module):
            return True
        if self._package is None:
            self._package = package  # the package of the function that is traced is always walked
        if package == self._package:
            return False
        file = namespace.get("__file__") or ""
        return file.startswith(_STDLIB) or "site-packages" in file or "dist-packages" in file

    def _sequence(self, value: Any, name: str, read: Callable[[], Any]) -> Any:
        if self._has_many_items(value):
            self._watch(value, name, read)
            return value
        kind = "list" if type(value) is list else "" if type(value) is deque else "tuple"
        if kind == "tuple" and type(value) is not tuple:
            self._hold(type(value), type(value).__name__, is_found=False)
        self.slots.append(Slot(f"len({name})", PartRead(read, value, kind, ...), len(value), True))
        items = [self._replace(v, f"{name}[{k}]", PartRead(read, value, kind, k)) for k, v in enumerate(value)]
        if type(value) in (list, deque):
            new: Any = deque(items, value.maxlen) if isinstance(value, deque) else items
            for k, (item, old) in enumerate(zip(list(items), value, strict=True)):
                self.copies.append(Substituted(f"{name}[{k}]", lambda k=k: new[k], item, old))
            self.copies.append(Substituted(f"len({name})", lambda: len(new), len(items), len(items)))
        else:
            new = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        self._memo[id(value)] = new
        return new

    def _dict(self, value: dict[Any, Any], name: str, read: Callable[[], Any]) -> Any:
        if self._has_many_items(value):
            self._watch(value, name, read)
            return value
        new: dict[Any, Any] = defaultdict(value.default_factory) if isinstance(value, defaultdict) else type(value)()
        self._memo[id(value)] = new
        self.slots.append(Slot(f"{name}.keys()", PartRead(read, value, "dict", ...), tuple(value), True))
        self._watch_members(value, name)
        for k, v in list(value.items()):
            new[k] = self._replace(v, f"{name}[{k!r}]", PartRead(read, value, "dict", k))
            self.copies.append(Substituted(f"{name}[{k!r}]", lambda k=k: new[k], new[k], v))
        self.copies.append(Substituted(f"len({name})", lambda: len(new), len(new), len(new)))
        return new

    def _instance(self, value: Any, name: str, read: Callable[[], Any]) -> Any:
        new = types.SimpleNamespace() if type(value) is types.SimpleNamespace else object.__new__(type(value))
        self._memo[id(value)] = new
        self._hold(type(value), type(value).__name__, is_found=False)
        attributes = PartRead(read, value, "attributes", ...)
        self.slots.append(Slot(f"the attributes of {name}", attributes, attributes(), True))
        for attribute, found in list(vars(value).items()):
            put = self._replace(found, f"{name}.{attribute}", PartRead(read, value, "attributes", attribute))
            new.__dict__[attribute] = put
            self.copies.append(Substituted(f"{name}.{attribute}", lambda a=attribute: new.__dict__[a], put, found))
        self.copies.append(
            Substituted(f"the attributes of {name}", lambda: len(vars(new)), len(vars(new)), len(vars(new)))
        )
        return new

    # ----------------------------------------------------------------------- watching what cannot be replaced

    def _hold(self, holder: Any, name: str, is_found: bool = True) -> None:
        """A module or class, which the traced copy shares: see :meth:`_watch_holders`.

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
        if self._is_foreign(_namespace(holder)):
            if isinstance(holder, types.ModuleType):
                self._libraries[id(holder)] = (holder, name)
            return
        self._holders[id(holder)] = (holder, name)
        if isinstance(holder, type):
            attributes = ClassRead(holder, ...)
            self.slots.append(Slot(f"the attributes of {name}", attributes, attributes(), True))
            for base in (*holder.__mro__[1:], type(holder)):
                self._hold_parts(base, base.__name__)

    def _is_implicit(self, holder: Any, attribute: str) -> bool:
        """Whether Python calls it without its name in the code: __call__, __add__, __getattr__; what makes an
        instance, where the code can."""
        if not isinstance(holder, type):
            return attribute == "__getattr__"
        if not attribute.startswith("__"):
            return False
        if attribute in MAKES_AN_INSTANCE and id(holder) not in self._found_classes:
            return not GETS_A_CLASS.isdisjoint(self._names) and isinstance(vars(holder)[attribute], CALLED)
        return isinstance(vars(holder)[attribute], CALLED)

    def _may_ask_for(self, attribute: str) -> bool:
        """Whether the code can compute that name."""
        return not attribute.startswith("__") and not ASKS_BY_NAME.isdisjoint(self._names)

    def _watch_holders(self) -> None:
        """Watch the attributes of modules and classes that the code names, and what is found by way of them."""
        while True:
            todo = [
                (holder, f"{name}.{attribute}", attribute)
                for holder, name in list(self._holders.values())
                for attribute in list(vars(holder))
                if (attribute in self._names or self._is_implicit(holder, attribute) or self._may_ask_for(attribute))
                and (id(holder), attribute) not in self._watched
            ]
            todo += [
                (library, f"{name}.{attribute}", attribute)
                for library, name in self._libraries.values()
                for attribute in vars(library).keys() & self._names.keys()
                if is_immutable(vars(library)[attribute]) and (id(library), attribute) not in self._watched
            ]
            if not todo:
                return
            for holder, name, attribute in todo:
                self._watched.add((id(holder), attribute))
                read = ClassRead(holder, attribute) if isinstance(holder, type) else ItemRead(vars(holder), attribute)
                self._watch(vars(holder)[attribute], name, read)

    def _note_names(self, f: types.FunctionType, name: str) -> None:
        """The names in a function's code, and what it asks of the world outside of the program."""
        mentioned = names.named(f.__code__)
        self.slots.append(Slot(f"the code of {name}", CodeRead(f), f.__code__, False))
        missing = tuple(sorted(names.loaded(f.__code__) - f.__globals__.keys()))
        if missing:
            self.slots.append(Slot(f"the builtins of {name}", AbsentRead(f.__globals__, missing), (), True))
        self.is_closed = self.is_closed and takes_in_only_pure(f)
        self._names.update(dict.fromkeys(mentioned))
        for builtin in missing:
            if builtin in LOOKS_AROUND:
                self._give_up(f"{name} calls {builtin}()")
        imported = self._imported(f, name)
        for module in (*[f.__globals__.get(variable) for variable in mentioned], *imported):
            if module is np and "random" in mentioned:
                self._watch(_numpy_random_state(), "np.random", _numpy_random_state)
            elif module is random:
                self._watch(_python_random_state(), "random", _python_random_state)
            elif isinstance(module, types.ModuleType) and module.__name__ in CLOCKS:
                self._give_up(f"{name} reads {module.__name__}")

    def _imported(self, f: types.FunctionType, name: str) -> list[types.ModuleType]:
        """The modules that a function imports when it runs, and those they stand in."""
        found: dict[str, types.ModuleType] = {}
        package = _with_parents(f.__globals__.get("__package__") or "")
        for path in map(_with_parents, names.imported(f.__code__)):
            paths = [*path, *[".".join(filter(None, (base, p))) for base in package for p in path]]  # from . import
            there = {p: sys.modules[p] for p in paths if p in sys.modules}
            if not there:
                self._give_up(f"{name} imports {path[-1]}")
            found |= there
        for path, module in found.items():
            self._hold(module, path)
        return list(found.values())

    def _judge(self, value: Any) -> None:
        home = value if isinstance(value, types.ModuleType | type | types.FunctionType) else type(value)
        self.is_closed = self.is_closed and is_pure(value, self._is_foreign(_namespace(home)))
        if isinstance(value, types.FunctionType) and value.__module__ in MAKE_OBJECTS:
            self._names["__class__"] = None  # copy and the like, by whatever name

    def _has_many_items(self, value: Any) -> bool:
        """Whether a container is so long that it is compared as a whole, and its items are not looked into."""
        if len(value) <= MAX_ITEMS:
            return False
        self.is_closed = False
        if not all(map(is_immutable, value.values() if isinstance(value, dict) else value)):
            self._give_up(f"a {type(value).__name__} has more than {MAX_ITEMS} items")
        return True

    def _watch_members(self, value: Iterable[Any], name: str) -> None:
        """The elements of a set or of an array of objects, the keys of a dict: those that can change."""
        for member in value:
            if not is_immutable(member):
                self._watch(member, f"a member of {name}", lambda member=member: member)

    def _watch_hung(self, f: types.FunctionType, name: str) -> None:
        for attribute, read in self._hung(f, name).items():
            self._watch(vars(f)[attribute], f"{name}.{attribute}", read)

    def _give_up(self, why: str) -> None:
        self._unrepeatable = self._unrepeatable or why

    def _watch(self, value: Any, name: str, read: Callable[[], Any]) -> None:
        """Note what ``value``, which the function reads in its original, looks like now."""
        self._judge(value)
        if isinstance(value, (*PLAIN, np.generic)):
            self.slots.append(Slot(name, read, value, True, True))
            return
        self.slots.append(Slot(name, read, value, False, True))
        if isinstance(value, types.ModuleType | type):
            self._hold(value, name)
            return
        if isinstance(value, classmethod):  # which is given the class
            self._names["__class__"] = None
        if id(value) in self._watched:
            return
        self._watched.add(id(value))
        self._alive.append(value)
        if isinstance(value, np.ndarray):
            self._watch_array(value, name, read)
        elif isinstance(value, types.FunctionType):
            self._watch_function(value, name)
        elif isinstance(value, list | tuple | deque):
            self._watch_items(value, name, read)
        elif isinstance(value, dict):
            self._watch_dict(value, name, read)
        elif isinstance(value, set | frozenset):
            self.slots.append(Slot(name, lambda: frozenset(read()), frozenset(value), True, True))
            self._watch_members(value, name)
        elif isinstance(value, np.ufunc) and not is_pure(value, True):
            self._give_up(f"{name} is made of a Python function")
        elif isinstance(value, bytearray | memoryview | array.array):
            self.slots.append(Slot(name, lambda: bytes(read()), bytes(value), True, True))
        elif (state := _random_state(value)) is not None:  # drawing changes it: each call that draws is a new one
            self.slots.append(Slot(f"the state of {name}", lambda: _random_state(read()), state, True))
        elif hasattr(type(value), "__next__"):
            self._give_up(f"{name} is an iterator")
        elif (module := getattr(value, "__module__", type(value).__module__)) in CLOCKS:
            self._give_up(f"{name} is of {module}")
        else:
            self._watch_parts(value, name, read)
        if isinstance(value, list | tuple | deque | dict | set | frozenset) and not _is_builtin(type(value)):
            self._watch_parts(value, name, read)

    def _watch_array(self, value: Any, name: str, read: Callable[[], Any]) -> None:
        if type(value) is np.ndarray and value.dtype.kind in "fiubc":
            self.known.setdefault(id(value), (value, name, False))
        self._alive.append(np.array(value))  # what an array of objects held stays alive, so that no id is used again
        self.slots.append(Slot(f"the content of {name}", lambda: _content(read()), _content(value), True, True))
        if value.dtype.hasobject:
            self._watch_members(value.flat, name)

    def _watch_function(self, f: types.FunctionType, name: str) -> None:
        if self._is_foreign(f.__globals__):
            return
        self._watch_hung(f, name)
        self._note_names(f, name)
        for variable, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            try:
                found = cell.cell_contents
            except ValueError:  # not yet assigned
                continue
            self._watch(found, variable, lambda cell=cell: cell.cell_contents)
        if f.__defaults__:
            self._watch(f.__defaults__, f"the defaults of {name}", lambda: f.__defaults__)
        if f.__kwdefaults__:
            self._watch(f.__kwdefaults__, f"the defaults of {name}", lambda: f.__kwdefaults__)
        for variable in names.named(f.__code__):
            slot = (id(f.__globals__), variable)
            if variable in f.__globals__ and slot not in self._watched:
                self._watched.add(slot)
                found, read = f.__globals__[variable], ItemRead(f.__globals__, variable)
                if isinstance(found, types.ModuleType | type):
                    self._hold(found, variable)
                    self.slots.append(Slot(variable, read, found, False, True))
                else:
                    self._watch(found, variable, read)

    def _watch_items(self, value: Any, name: str, read: Callable[[], Any]) -> None:
        if self._has_many_items(value):
            self.slots.append(Slot(name, lambda: list(read()), list(value), True, True))
            return
        self.slots.append(Slot(f"len({name})", lambda: len(read()), len(value), True, True))
        for k, v in enumerate(value):
            self._watch(v, f"{name}[{k}]", lambda k=k: read()[k])

    def _watch_dict(self, value: Any, name: str, read: Callable[[], Any]) -> None:
        if self._has_many_items(value):
            self.slots.append(Slot(name, lambda: dict(read()), dict(value), True, True))
            return
        self.slots.append(Slot(f"{name}.keys()", lambda: tuple(read()), tuple(value), True, True))
        self._watch_members(value, name)
        for k, v in list(value.items()):
            self._watch(v, f"{name}[{k!r}]", lambda k=k: read()[k])

    def _watch_parts(self, value: Any, name: str, read: Callable[[], Any]) -> None:
        """What a method, property, partial, or object is made of."""
        for part in FUNCTION_PARTS:
            inner = getattr(value, part, None) if not _is_copyable(type(value)) else None
            if inner is not None and not isinstance(inner, types.ModuleType):
                self._watch(inner, f"{name}.{part}", lambda p=part: getattr(read(), p))
        cls = type(value)
        if is_opaque(cls.__module__) and not _in_scipy(cls):
            return
        is_foreign = cls is not types.SimpleNamespace and self._is_foreign(_namespace(cls))
        for attribute in (*getattr(value, "__dict__", ()), *_slots(cls)):
            found = getattr(value, attribute, _MISSING)
            if is_foreign and not isinstance(found, PLAIN) and type(found) is not np.ndarray:
                continue  # a library's object: what it holds itself, not the world behind it
            self._watch(found, f"{name}.{attribute}", lambda a=attribute: getattr(read(), a, _MISSING))
        if hasattr(value, "__dict__"):
            self.slots.append(
                Slot(f"the attributes of {name}", lambda: tuple(vars(read())), tuple(vars(value)), True, not is_foreign)
            )
        self._hold(cls, cls.__name__, is_found=False)


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

FUNCTION_PARTS = ("__func__", "__self__", "__wrapped__", "fget", "fset", "func", "args", "keywords")


def _written(name: str) -> CaptureError:
    return CaptureError(
        message(
            f"the function writes {name}, which it captured; a compiled function would write it only once",
            tries=[f"return {name.split('.')[0].split('[')[0]} from the function", "no wg.jit around it"],
        )
    )


def _is_sequence(value: Any) -> bool:
    """Whether it is a list, a deque, a tuple or a named tuple."""
    return type(value) in (list, tuple, deque) or (isinstance(value, tuple) and hasattr(value, "_fields"))


@functools.lru_cache(maxsize=4096)
def _is_copyable(cls: type) -> bool:
    """Whether an instance can be copied attribute by attribute: all of its state is in __dict__."""
    if cls is types.SimpleNamespace:
        return True
    if is_opaque(cls.__module__) or issubclass(cls, type) or cls.__dictoffset__ == 0:
        return False
    if _slots(cls) or hasattr(cls, "__del__"):  # a copy would release what the original still uses
        return False
    try:
        object.__new__(cls)
    except TypeError:  # made by a base in C, with state of its own: a dict, an exception, a generator of numbers
        return False
    return True


def _slots(cls: type) -> list[str]:
    found: list[str] = []
    for c in cls.__mro__:
        slots = c.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else list(slots)
    return [name for name in found if name not in ("__dict__", "__weakref__")]


def _namespace(holder: Any) -> dict[str, Any]:
    """The globals of the module that a module is, or that a class or function stands in."""
    if isinstance(holder, types.ModuleType):
        return vars(holder)
    if isinstance(holder, types.FunctionType):
        return holder.__globals__
    module = sys.modules.get(holder.__module__)
    return {"__name__": holder.__module__} if module is None else vars(module)


def _is_builtin(cls: type) -> bool:
    return cls.__module__ in ("builtins", "collections")


def _with_parents(path: str) -> list[str]:
    """ "a.b.c" as "a", "a.b" and "a.b.c"."""
    parts = path.split(".")
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _in_scipy(cls: type) -> bool:
    return cls.__module__.startswith("scipy.") and hasattr(cls, "__dict__")


def _content(x: Any) -> tuple[Any, ...]:
    """An array by value, so that it can be compared: masks, fields and objects (by identity) included."""
    mask = np.ma.getmaskarray(x).tobytes() if isinstance(x, np.ma.MaskedArray) else b""
    plain = np.array(x, subok=False)
    return plain.shape, plain.dtype.str, plain.tobytes(), mask


def _numpy_random_state() -> Any:
    return np.random.mtrand._rand


def _python_random_state() -> Any:
    return random._inst


def _random_state(value: Any) -> Any:
    """The state of a random generator, comparable; None for anything else."""
    if isinstance(value, random.Random):
        return value.getstate()
    if "numpy.random" not in sys.modules:  # NumPy imports it when it is first asked for, which takes its time
        return None
    if isinstance(value, np.random.Generator):
        return pickle.dumps(value.bit_generator.state)
    if isinstance(value, np.random.BitGenerator):
        return pickle.dumps(value.state)
    if isinstance(value, np.random.RandomState):
        return pickle.dumps(value.get_state())
    return None


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


_MISSING = _Missing()


def _owner_is_readonly(array: np.ndarray[Any, Any]) -> bool:
    """A read-only view of a writable array is not a constant: its owner can change it."""
    base = array.base
    while isinstance(base, np.ndarray):
        if not is_readonly(base):  # it may be locked, since it was captured before its view
            return False
        base = base.base
    return base is None or isinstance(base, bytes)
