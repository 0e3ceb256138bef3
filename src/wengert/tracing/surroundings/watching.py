"""This file notes how what a function reads in its original looks now, so that a later call can see a change.

Modules and classes with their methods and properties, sets, objects with slots, random generators are *shared* by the
traced copy of a function with the function itself: no traced value can stand in them. Everything there that the code
names is compared at every call, arrays by content. What cannot even be compared (an iterator, the clock) makes the run
unrepeatable: the function is run by Python at every call (see Trace.unrepeatable), slower, and right. What is set
elsewhere and has no parts is compared too, where it can be: the environment, the context of decimals.

The parts of a value are those that :mod:`~wengert.tracing.surroundings.environment` replaces by copies. The two walks
differ where they must:

* of a function of a library, a transform of ours or a decorator, only the user's code is looked at that it holds; the
  other walk copies its cells and defaults.
* defaults, and the arguments of a partial, are looked at in the tuple or dict that holds them: nothing is put there.
* of a library's object, what it holds itself is looked at, not the world behind it; no copy can be made of one.

What code takes from modules of libraries is noted in :mod:`~wengert.tracing.surroundings.from_libraries`; which
attributes of modules and classes are watched is decided in :mod:`~wengert.tracing.surroundings.holders`.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib.util
import operator
import sys
import types
from collections.abc import Collection, Iterable
from typing import Any, cast

import numpy as np

from wengert.attributes import held
from wengert.pure.stand_ins import StandIn, own
from wengert.tracing.callers import is_installed, is_of_package, is_on_top
from wengert.tracing.generators import ASK_FOR_STATE, Found, Generators
from wengert.tracing.python import names
from wengert.tracing.python.bytecode import code_of, free_variables
from wengert.tracing.stack import suspended
from wengert.tracing.surroundings.entering import Entering
from wengert.tracing.surroundings.from_libraries import CODE, Libraries, at_the_end, namespace_of, with_parents
from wengert.tracing.surroundings.holders import ASKS_BY_NAME, COMPUTED, Holders
from wengert.tracing.surroundings.parts import (
    BY_VALUE,
    HOLDERS,
    MAX_ITEMS,
    Part,
    Parts,
    is_generator,
    is_long,
    is_own_kind,
    is_recorded,
    is_sealed,
    parts_of,
)
from wengert.tracing.surroundings.purity import (
    PURE,
    Origin,
    is_immutable,
    is_walked,
    looks_behind,
    verdict,
    verdict_on,
)
from wengert.tracing.surroundings.reasons import By, Reasons
from wengert.tracing.surroundings.slots import (
    MISSING,
    AbsentRead,
    CacheRead,
    CodeRead,
    ItselfRead,
    Slot,
    VariableRead,
    bits_of,
    kept_by,
)
from wengert.tracing.text import is_written_only

_BY_VALUE = (*BY_VALUE, np.generic)
MANY = 1000
DEEP = 50
"""So many values within values are looked into in one go, and those that are deeper after them: a list of linked nodes
may be longer than Python's stack."""
MAKE_OBJECTS = ("copy", "copyreg", "dataclasses", "pickle")
_SHOW_ALL = frozenset({"vars", "dir"})
_SHOWS_STATE = ASK_FOR_STATE | ASKS_BY_NAME


class Watching:
    """The notes that the walks of one trace have made."""

    def __init__(self, originals: Collection[int] = (), generators: Generators | None = None) -> None:
        self._originals = originals
        self._generators = generators
        self.slots: list[Slot] = []
        self.reasons = Reasons()
        self.known: dict[int, tuple[Any, str, bool]] = {}
        """Captured arrays by their id, with their names, and whether they are promised to be constant: see Trace."""
        self.iterator = ""
        """The name of one that was found, a file or generator: what a run has drawn from it cannot be put back."""
        self.uncomputed: dict[int, tuple[Any, str, frozenset[str]]] = {}
        """Objects by their id, with their names, and those of their cached properties that nobody has asked for yet."""
        self.alive: list[Any] = []  # what is remembered by its id
        self._followed: set[tuple[int, names.Path, bool]] = set()  # what code names, from a module's globals on
        self._keepers: list[tuple[Any, str]] = []  # cached functions
        self.named_functions: list[tuple[types.FunctionType, str]] = []
        """The user's functions that were met, with their names."""
        self._shown: set[int] = set()  # the ids of bit generators whose state the code gets at, with what was met
        self.watched: set[Any] = set()
        """The ids of what the function may read in its original, and what is known of holders."""
        self.asks_ids = False
        """Whether code that was met asks for the id or the hash of what it has."""
        self.compares = self.equates = False
        """Whether it asks if two of them are one; if functions are equal."""
        self._depth = 0
        self._deeper: list[Part] = []
        self.libraries = Libraries(self)
        self.holders = Holders(self)
        self.entering = Entering(self)

    def functions(self) -> list[types.FunctionType]:
        """Return the user's functions that were met."""
        return [f for f, _ in self.named_functions]

    def judge(self, value: Any, name: str, by: By | None = None) -> None:
        """Note whether a number could come in through ``value`` itself; its parts are looked at apart. ``by``: whose
        variable it is."""
        if isinstance(value, types.FunctionType) and value.__module__ in MAKE_OBJECTS:
            self.holders.names["__class__"] = None  # copy and the like, by whatever name
        if value is getattr and not self.entering.is_looking:
            self.holders.names[COMPUTED] = None
        if not self.entering.is_looking and isinstance(value, types.GetSetDescriptorType | types.MemberDescriptorType):
            self.holders.names[value.__name__] = None
        if not self.entering.is_looking and isinstance(value, operator.attrgetter | operator.methodcaller):
            _, (first, *more) = value.__reduce__()[:2]
            asked = (first, *more) if isinstance(value, operator.attrgetter) else (first,)
            self.holders.names.update(dict.fromkeys(name for path in asked for name in path.split(".")))
        if is_walked(value):
            return
        home = value if isinstance(value, CODE) else type(value)
        if not isinstance(value, CODE) and held(value, "__dict__") is not None:
            missing = _cached_properties(type(value)) - vars(value).keys()
            if missing:
                self.uncomputed[id(value)] = value, name, missing
        if isinstance(value, np.ndarray) or self.libraries.is_foreign(namespace_of(home)):
            self.libraries.judge(value, name, by)

    def begin_following(self) -> bool:
        """Begin to follow the code of packages; return whether any may run when the function does."""
        if self.entering.is_wanted:
            self.entering.begin(self.holders.names.keys(), COMPUTED in self.holders.names)
        return self.entering.is_wanted

    def note(self, part: Part | None, is_shared: bool = False) -> None:
        """Note a part that is compared by value; nothing if it is None."""
        if part is not None:
            self.slots.append(Slot(part.name, part.read, part.value, True, is_shared))

    def watch(self, part: Part, by: By | None = None) -> None:
        """Note what a value looks like now, which the function reads in its original. ``by``: whose variable it is."""
        if type(part.value) is StandIn:  # of a function of C, while a trace is open
            part = part._replace(value=own(part.value))
        name, value, read = part.name, part.value, part.read
        self.judge(value, name, by)
        if isinstance(value, _BY_VALUE) and not isinstance(value, np.void):  # a record, which can be written
            self.slots.append(Slot(name, read, value, True, True))
            self.watch_what_hangs_on(part)
            return
        self.slots.append(Slot(name, read, value, False, True))
        if isinstance(value, HOLDERS):
            if isinstance(value, types.ModuleType):
                self.holders.handed[id(value)] = (value, name)
            self.holders.hold(value, name)
            return
        if isinstance(value, classmethod):  # which is given the class
            self.holders.names["__class__"] = None
        if id(value) in self.watched:
            return
        self.watched.add(id(value))
        self.alive.append(value)
        if self._depth == DEEP:  # that it is this value still, its own slot says: its parts are read from here on
            shown = name if len(name) < 100 else f"{name[:30]} ... {name[-30:]}"
            self._deeper.append(Part(part.key, shown, value, ItselfRead(value)))
            return
        self._look_into(part)
        while self._deeper and self._depth == 0:
            self._look_into(self._deeper.pop())

    def _look_into(self, part: Part) -> None:
        self._depth += 1
        try:
            if isinstance(part.value, types.FunctionType):
                self._watch_function(part.value, part.name)
            elif hasattr(type(part.value), "__wengert_function__"):
                self._watch_function(part.value.func, part.name)
            else:
                self._watch_parts(part)
        finally:
            self._depth -= 1

    def watch_each(self, parts: Iterable[Part]) -> None:
        for part in parts:
            self.watch(part)

    def _watch_parts(self, part: Part) -> None:
        name, value, read = part.name, part.value, part.read
        parts = parts_of(value, name, read)
        if isinstance(value, functools._lru_cache_wrapper):
            self.note(Part(None, f"what {name} keeps", True, CacheRead(value)), True)
            self._keepers.append((value, name))
            self._watch_kept(value, name)
        if parts.content is None and (why := _why_incomparable(value, name)):
            self.reasons.give_up(why)
            if hasattr(type(value), "__next__") and not is_written_only(value):
                self.iterator = self.iterator or name
            return
        if parts.content is not None:
            self._watch_content(value, name, parts.content)
            self.watch_each(parts.members)
            self.watch_each(parts.items)
        if parts.content is None or is_own_kind(value):
            self.watch_attributes(value, parts)
        if hasattr(type(value), "__wengert_parts__"):  # the rules of a primitive
            self.watch_each(parts.items)

    def watch_kept(self) -> None:
        """Watch what cached functions have returned by now, which may be edited."""
        for f, name in self._keepers:
            self._watch_kept(f, name)

    def _watch_kept(self, f: Any, name: str) -> None:
        found = [x for x in kept_by(f) if not is_immutable(x)]
        if len(found) > MAX_ITEMS:
            self.reasons.give_up(f"{name} keeps more than {MAX_ITEMS} results that can be edited")
            return
        self.watch_each(Part(None, f"what {name} keeps", x, ItselfRead(x)) for x in found)

    def _watch_content(self, value: Any, name: str, content: Part) -> None:
        if self._generators is not None and is_recorded(value):
            if id(value) not in self._originals and self._generators.is_recording:
                self._generators.found[id(value)] = Found(value, name, content.read, content.value)
                return
            self._generators.at_once.add(id(value))
        elif is_generator(value):
            self._shown.add(id(bits_of(value)))
        is_shared = not is_generator(value)  # drawing from one changes it: each call that draws is a new one
        self.note(content, is_shared)
        if isinstance(value, np.ndarray):
            if type(value) is np.ndarray and value.dtype.kind in "fiubc":
                self.known.setdefault(id(value), (value, name, False))
            self.alive.append(np.array(value))  # what an array of objects held, so that no id is used again
        elif is_long(value):
            if not all(map(is_immutable, value.values() if isinstance(value, dict) else value)):
                self.reasons.give_up(f"a {type(value).__name__} has more than {MAX_ITEMS} items")

    def settle_generators(self) -> None:
        """Compare the state of generators, rather than record what is drawn, where the code gets at it otherwise: by
        name, or because their bit generator was met as well, or a RandomState that has the same one."""
        generators = self._generators
        if generators is None:
            return
        is_asked = not _SHOWS_STATE.isdisjoint(self.holders.names)
        generators.is_recording = generators.is_recording and not is_asked
        for key, (generator, name, read, state) in list(generators.found.items()):
            if not generators.is_recording or id(bits_of(generator)) in self._shown:
                self.note(Part(None, f"the state of {name}", state, read))
                generators.at_once.add(key)
                del generators.found[key]

    def watch_what_hangs_on(self, part: Part) -> None:
        """Watch the attributes of a value that is a number or text of a class of the user's, or of an enumeration."""
        value = part.value
        if type(value) not in _BY_VALUE and held(value, "__dict__") is not None and id(value) not in self.watched:
            self.watched.add(id(value))
            self.alive.append(value)
            self.watch_attributes(value, parts_of(value, part.name, part.read))

    def watch_attributes(self, value: Any, parts: Parts) -> None:
        """Watch what a method, property, partial, or object is made of."""
        for part in parts.inner:
            if not isinstance(part.value, types.ModuleType):
                self.watch(part)
        cls = type(value)
        if isinstance(value, functools.partial) and parts.names is not None:  # what somebody has hung there
            self.note(parts.names)
            self.watch_each(parts.attributes)
        if is_sealed(cls):
            return
        home = namespace_of(cls)
        is_ours = cls is types.SimpleNamespace or is_on_top(home.get("__name__", ""))  # a layer holds the user's code
        is_foreign = not is_ours and self.libraries.is_foreign(home)
        for part in parts.attributes:
            if is_foreign and not isinstance(part.value, BY_VALUE) and type(part.value) is not np.ndarray:
                continue  # a library's object: what it holds itself, not the world behind it, unless its code runs
            self.watch(part)
        self.note(parts.names, is_shared=not is_foreign)
        self.holders.hold(cls, cls.__name__, is_found=False)
        if is_foreign and self.libraries.is_of_others(home):
            self.entering.look(value, cls.__name__)

    def _watch_function(self, f: types.FunctionType, name: str) -> None:
        parts = parts_of(f, name, lambda: f)
        if self.libraries.is_of_others(f.__globals__):
            self.entering.look(f, name)
            return
        if self.libraries.is_foreign(f.__globals__):
            for part in (*parts.cells, *parts.arguments):  # a transform of ours, a decorator: it holds the user's code
                if self._is_users(part.value):
                    self.watch(part)
            return
        by = By(name, code_of(f))
        self.note(parts.names)
        self.watch_each(parts.attributes)
        self.note_code(f, name)
        for part in parts.cells:
            if self.libraries.is_followed(part.value):
                self.slots.append(Slot(part.name, part.read, part.value, False, True))
            else:
                self.watch(part, by)
        self.watch_each(parts.inner)
        for part in parts.variables:
            variable = (id(f.__globals__), part.key)
            if variable in self.watched:
                self.libraries.heed_again(id(part.value), by)
                continue
            self.watched.add(variable)
            if isinstance(part.value, HOLDERS):
                self.holders.hold_variable(part)
                self.slots.append(Slot(part.name, part.read, part.value, False, True))
            else:
                self.watch(part, by)

    def _is_users(self, value: Any) -> bool:
        """Whether it is the user's code, or holds some."""
        if isinstance(value, types.FunctionType):
            return not self.libraries.is_foreign(value.__globals__) or bool(value.__closure__)
        if isinstance(value, (dict, list, tuple)) and len(value) < MANY:
            return any(map(self._is_users, value.values() if isinstance(value, dict) else value))
        if isinstance(value, (types.MethodType, functools.partial)) or hasattr(type(value), "__wengert_transparent__"):
            return True
        return not isinstance(value, (types.ModuleType, *BY_VALUE)) and not self.libraries.is_foreign(
            namespace_of(value if isinstance(value, type) else type(value))
        )

    def note_code(self, f: types.FunctionType, name: str) -> None:
        """Note the names in a function's code, and what it asks of the world outside of the program."""
        code = code_of(f)
        uses = names.uses(code)
        self.note_own(f, name)
        missing = self.note_missing(uses, f.__globals__, name)
        self.named_functions.append((f, name))
        self.holders.names.update(dict.fromkeys(uses.named))
        self.holders.matches = self.holders.matches or uses.matches_classes
        self.holders.catches = self.holders.catches or uses.catches
        self.compares = self.compares or uses.compares
        self.equates = self.equates or uses.equates
        self.holders.asked.update(uses.asked)
        if uses.computes_names or not _SHOW_ALL.isdisjoint(missing):
            self.holders.names[COMPUTED] = None
        if not ASKS_BY_NAME.isdisjoint(self.holders.names):
            self.holders.asked.add(COMPUTED)
        if f.__builtins__ and f.__builtins__ is not vars(builtins):
            self.reasons.give_doubt(f"{name} has builtins of its own")
        if behind := looks_behind(uses.named):
            self.reasons.give_up(f"{By(name, code)} asks for {behind}: pass what it gives as an argument", code)
        variables = self._modules_of(f, uses, name)
        for path, line in uses.paths.items():
            found = variables.get(path[0], MISSING)
            if found is MISSING:
                if path[0] in missing:
                    self.libraries.heed_builtin(path[0], By(name, code, line))
                continue
            if found is f.__globals__.get(path[0], MISSING):  # the functions of a module name the same, over and over
                followed = (id(f.__globals__), path, path in uses.seeded)
                if followed in self._followed and not self.libraries.has_changing:
                    continue
                self._followed.add(followed)
            self.holders.note_absent_along(found, path)
            if isinstance(found, types.ModuleType):
                self.libraries.take(found, path[0], path[1:], By(name, code, line))
                found = at_the_end(found, path[1:])
            self.libraries.heed_seed(found, path in uses.seeded, By(name, code, line))
        for module, attribute in uses.taken:
            found = sys.modules.get(module)
            self.holders.note_absent(found, (attribute,), module)
            if isinstance(found, types.ModuleType) and self.libraries.is_followed(found):
                self.libraries.take(found, module, (attribute,), By(name, code))

    def note_own(self, f: types.FunctionType, name: str) -> None:
        """Note the code of a function, which can be exchanged."""
        read = CodeRead(f)
        self.slots.append(Slot(f"the code of {name}", read, read(), True))

    def note_missing(self, uses: names.Uses, namespace: dict[str, Any], name: str) -> tuple[str, ...]:
        """Note and return the names that code takes from Python's builtins, and not from its module."""
        missing = tuple(sorted([v for v in uses.loaded if v not in namespace]))  # `-` would go through all globals
        if missing:
            self.slots.append(Slot(f"the builtins of {name}", AbsentRead(namespace, missing), (), True))
        for variable in missing:
            self._note_builtin(variable)
        return missing

    def _note_builtin(self, name: str) -> None:
        """Watch one of Python's builtins, or what somebody has put among them."""
        namespace: Any = vars(builtins)
        found = namespace.get(name, MISSING)
        if isinstance(found, types.BuiltinFunctionType) or (
            isinstance(found, type) and self.libraries.is_foreign(namespace_of(found))
        ):
            self.libraries.watch_name(namespace, name, name)
        elif found is not MISSING and (id(builtins), name) not in self.watched:
            self.watched.add((id(builtins), name))
            self.watch(Part(name, name, found, VariableRead(namespace, name)))

    def _modules_of(self, f: types.FunctionType, uses: names.Uses, name: str) -> dict[str, Any]:
        """Return a function's variables that are no locals, and those that it imports modules to, with their values."""
        imported = self._imported(f, uses, name)
        variables = dict(imported)
        for path in uses.paths:
            if path[0] in f.__globals__:
                variables[path[0]] = f.__globals__[path[0]]
        for variable, cell in free_variables(f):
            try:
                variables[variable] = cell.cell_contents
            except ValueError:  # not yet assigned
                variables.pop(variable, None)
        for variable, path in uses.modules:
            if path in imported:
                variables[variable] = imported[path]
        return variables

    def _imported(self, f: types.FunctionType, uses: names.Uses, name: str) -> dict[str, types.ModuleType]:
        """The modules that a function imports when it runs, and those they stand in."""
        if not uses.imported:
            return {}
        found: dict[str, types.ModuleType] = {}
        package = with_parents(f.__globals__.get("__package__") or "")
        for path in map(with_parents, uses.imported):
            paths = [*path, *[".".join(filter(None, (base, p))) for base in package for p in path]]  # from . import
            there = {p: sys.modules[p] for p in paths if p in sys.modules}
            if not there and self._import(path[-1]):
                there = {p: sys.modules[p] for p in path if p in sys.modules}
            if not there:
                self.reasons.give_up(f"{name} imports {path[-1]}", code_of(f))
            found |= there
        for path, attribute in uses.taken:
            for base in ("", *package):
                found |= self._imported_part(".".join(filter(None, (base, path))), attribute)
        for path, module in found.items():
            self.libraries.watch_name(cast(Any, sys.modules), path, f"sys.modules[{path!r}]")
            if not self.libraries.is_followed(module):
                self.holders.hold(module, path)
        return found

    def _imported_part(self, package: str, name: str) -> dict[str, types.ModuleType]:
        """The module of a package of the user's that ``from package import name`` imports, if nothing else is there."""
        holder, path = sys.modules.get(package), f"{package}.{name}"
        if not isinstance(holder, types.ModuleType) or name in vars(holder) or "__path__" not in vars(holder):
            return {}
        return {path: sys.modules[path]} if not self.libraries.is_followed(holder) and self._import(path) else {}

    def _import(self, path: str) -> bool:
        """Import a module of the user's, or of one of the libraries that are known, before the function does, whose
        arrays would be traced ones."""
        with suspended(), contextlib.suppress(ImportError):  # which the function meets too, and may go on after
            spec = importlib.util.find_spec(path.partition(".")[0])
            origin = "" if spec is None else spec.origin or ""
            is_known = not is_installed(origin) or is_of_package(path, origin) or verdict(Origin(path, "")) == PURE
            if spec is not None and is_known:
                importlib.import_module(path)
        if path not in sys.modules:
            return False
        self._followed.clear()  # there may be more behind a name now
        return True


def _why_incomparable(value: Any, name: str) -> str:
    """Why nothing tells whether ``value`` is what it was; empty if its parts do."""
    if isinstance(value, np.ufunc) and verdict_on(value) is None:
        return f"{name} is made of a Python function"
    return f"{name} is an iterator" if hasattr(type(value), "__next__") else ""


@functools.lru_cache(maxsize=1024)
def _cached_properties(cls: type) -> frozenset[str]:
    return frozenset(k for c in cls.__mro__[:-1] for k, v in vars(c).items() if type(v) is functools.cached_property)
