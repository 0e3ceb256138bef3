"""This file notes how what a function reads in its original looks now, so that a later call can see a change.

Modules and classes with their methods and properties, sets, objects with slots, random generators are *shared* by the
traced copy of a function with the function itself: no traced value can stand in them. Everything there that the code
names is compared at every call, arrays by content. What cannot even be compared (an iterator, the clock) makes the run
unrepeatable: the function is run by Python at every call (see Trace.unrepeatable), slower, and right. So does what is
set elsewhere and has no parts, if it can be compared, count as watched: the environment, the context of decimals.

The parts of a value are those that the other walk puts copies in the place of. The two differ where they must:

* of a function of a library, a transform of ours or a decorator, only the user's code is looked at that it holds; the
  other walk copies its cells and defaults.
* defaults, and the arguments of a partial, are looked at in the tuple or dict that holds them: nothing is put there.
* of a library's object, what it holds itself is looked at, not the world behind it; no copy can be made of one.

What the code takes from modules of NumPy's, SciPy's and Python's is judged by its name
(:mod:`~wengert.tracing.surroundings.purity`); code of other packages is followed when it runs
(:mod:`~wengert.tracing.surroundings.entering`).
"""

from __future__ import annotations

import abc
import builtins
import contextlib
import copyreg
import functools
import importlib.util
import operator
import random
import sys
import types
from collections.abc import Collection, Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any, NamedTuple, cast

import numpy as np

from wengert.attributes import held
from wengert.source import Source
from wengert.tracing.callers import is_installed, is_of_package, is_on_top, is_opaque
from wengert.tracing.generators import ASK_FOR_STATE, Found, Generators
from wengert.tracing.python import names
from wengert.tracing.python.bytecode import code_of, free_variables
from wengert.tracing.python.lines import first_line
from wengert.tracing.surroundings.elsewhere import (
    SET_ELSEWHERE,
    class_of_states,
    state_of_numpy,
    state_of_python,
)
from wengert.tracing.surroundings.entering import MAY_CALL, OF_IMPORTS, Entering
from wengert.tracing.surroundings.parts import (
    BY_VALUE,
    HOLDERS,
    MAX_ITEMS,
    Part,
    Parts,
    attribute_of,
    is_generator,
    is_long,
    is_own_kind,
    is_recorded,
    is_sealed,
    parts_of,
)
from wengert.tracing.surroundings.purity import (
    CHANGING_BUILTINS,
    DRAWING_METHODS,
    DRAWS,
    PURE,
    Origin,
    is_changing_by_name,
    is_immutable,
    is_listed,
    is_walked,
    looks_behind,
    origin_of,
    reading_methods,
    verdict,
    verdict_on,
)
from wengert.tracing.surroundings.slots import (
    MISSING,
    AbsentRead,
    AttributesRead,
    CacheRead,
    CodeRead,
    ItselfRead,
    NamesRead,
    RegisteredRead,
    Slot,
    VariableRead,
    bits_of,
    kept_by,
)
from wengert.tracing.text import is_written_only
from wengert.tracing.trace import suspended

_BY_VALUE = (*BY_VALUE, np.generic)
CODE = (*HOLDERS, types.FunctionType)


class By(NamedTuple):
    """Who asks for something, in words: the name of a function, its file and line."""

    name: str
    code: types.CodeType
    line: int = 0

    def __str__(self) -> str:
        file, first, *_ = first_line(self.code)
        return f"{self.name} at {file}:{self.line or first}"


class Reason(NamedTuple):
    """Why a run cannot be repeated."""

    why: str
    code: types.CodeType | None
    """The code that must run for it; None: it is a reason in any case."""
    verdict: str = ""
    """The verdict on ``name``, which the code reads: see purity.py."""
    name: str = ""


_known_pure: dict[tuple[int, str], Any] = {}
"""Functions of libraries' modules that were found to be pure, by the module, which lives for ever, and the name."""


class Watching:
    """The notes that the walks of one trace have made."""

    def __init__(self, originals: Collection[int] = (), generators: Generators | None = None) -> None:
        self._originals = originals
        self._generators = generators
        self.slots: list[Slot] = []
        self.known: dict[int, tuple[Any, str, bool]] = {}
        """Captured arrays by their id, with their names, and whether they are promised to be constant: see Trace."""
        self.doubt = ""
        """The reason why it is not known whether another run gives another number, or empty: see purity.py."""
        self._reasons: list[Reason] = []  # why it does
        self._changing: dict[Any, list[Reason]] = {}  # those that each library's attribute, or value, was found to be
        self.unrepeatable = ""
        """The reason why another run gives another number; empty if none was found."""
        self.iterator = ""
        """The name of one that was found, a file or generator: what a run has drawn from it cannot be put back."""
        self.uncomputed: dict[int, tuple[Any, str, frozenset[str]]] = {}
        """Objects by their id, with their names, and those of their cached properties that nobody has asked for yet."""
        self.alive: list[Any] = []  # what is remembered by its id
        self._followed: set[tuple[int, names.Path, bool]] = set()  # what code names, from a module's globals on
        self._foreign: dict[tuple[Any, Any], bool] = {}  # by the name and the file of a module: see is_foreign
        self._names: dict[str, None] = {}  # that the code met so far mentions
        self._keepers: list[tuple[Any, str]] = []  # cached functions
        self._holders: dict[int, tuple[Any, str]] = {}  # modules and classes: what code names of them is watched
        self._libraries: dict[int, tuple[Any, str]] = {}  # modules of others: the numbers that code names of them are
        self._readers: dict[str, frozenset[str]] = {}  # methods that read what their object does not hold
        self._functions: list[tuple[types.FunctionType, str]] = []
        self._shown: set[int] = set()  # the ids of bit generators whose state the code gets at, with what was met
        self._asked: set[str] = set()  # names that code asks for, as texts
        self._matches = False  # whether the code has patterns of classes
        self._catches = False  # whether it goes on after an error
        self._handed: dict[int, tuple[types.ModuleType, str]] = {}  # the user's modules that are met as values
        self._found_classes: set[int] = set()
        self._watched_names: set[tuple[int, str]] = set()
        self.watched: set[Any] = set()
        """The ids of what the function may read in its original, and what is known of holders."""
        self.asks_ids = False
        """Whether code that was met asks for the id or the hash of what it has."""
        self.compares = self.equates = False
        """Whether it asks if two of them are one; if functions are equal."""
        self.entering = Entering(self)
        self._of_packages: set[str] = set()  # names that the code of packages alone mentions
        self._others: dict[tuple[Any, Any], bool] = {}  # by the name and the file of a module: see is_of_others

    @property
    def is_closed(self) -> bool:
        """Whether nothing was found that could give another number to another run: see purity.py."""
        return not self.doubt

    def functions(self) -> list[types.FunctionType]:
        """The user's that were met."""
        return [f for f, _ in self._functions]

    def judge(self, value: Any, name: str, by: By | None = None) -> None:
        """Note whether a number could come in through ``value`` itself; its parts are looked at apart. ``by``: whose
        variable it is."""
        if isinstance(value, types.FunctionType) and value.__module__ in MAKE_OBJECTS:
            self._names["__class__"] = None  # copy and the like, by whatever name
        if value is getattr and not self.entering.is_looking:
            self._names[COMPUTED] = None
        if not self.entering.is_looking and isinstance(value, types.GetSetDescriptorType | types.MemberDescriptorType):
            self._names[value.__name__] = None
        if not self.entering.is_looking and isinstance(value, operator.attrgetter | operator.methodcaller):
            _, (first, *more) = value.__reduce__()[:2]
            asked = (first, *more) if isinstance(value, operator.attrgetter) else (first,)
            self._names.update(dict.fromkeys(name for path in asked for name in path.split(".")))
        if is_walked(value):
            return
        home = value if isinstance(value, CODE) else type(value)
        if not isinstance(value, CODE) and held(value, "__dict__") is not None:
            missing = _cached_properties(type(value)) - vars(value).keys()
            if missing:
                self.uncomputed[id(value)] = value, name, missing
        if isinstance(value, np.ndarray) or self.is_foreign(_namespace_of(home)):
            self.judge_library(value, name, by)

    def mention(self, f: types.FunctionType) -> None:
        """The names in a function's code."""
        self._names.update(dict.fromkeys(names.named(code_of(f))))

    def is_foreign(self, namespace: dict[str, Any]) -> bool:
        """Whether a function belongs to a library whose globals are its own affair."""
        home = (namespace.get("__name__", ""), namespace.get("__file__"))
        known = self._foreign.get(home)
        if known is None:
            known = self._foreign[home] = self._decide_foreign(namespace)
        return known

    def _decide_foreign(self, namespace: dict[str, Any]) -> bool:
        module = namespace.get("__name__", "")
        package = module.partition(".")[0]
        if (
            is_opaque(module)
            or is_on_top(module)
            or (package in sys.builtin_module_names and "__file__" not in namespace)
        ):
            return True
        return is_installed(namespace.get("__file__") or "")

    def is_of_others(self, namespace: dict[str, Any]) -> bool:
        """Whether it is the globals of a package's module, whose code is followed as it runs: see entering.py."""
        home = (namespace.get("__name__", ""), namespace.get("__file__"))
        known = self._others.get(home)
        if known is None:
            known = self.is_foreign(namespace) and is_of_package(str(home[0]), home[1] or "")
            self._others[home] = known
        return known

    def is_foreign_class(self, cls: type) -> bool:
        """Whether a class is a library's."""
        return self.is_foreign(_namespace_of(cls))

    def is_of_others_class(self, cls: type) -> bool:
        """Whether a class is made by such code."""
        return self.is_of_others(_namespace_of(cls))

    def begin_following(self) -> bool:
        """The function is about to run; whether code of packages may run then."""
        if self.entering.is_wanted:
            self.entering.begin(self._names.keys(), COMPUTED in self._names)
        return self.entering.is_wanted

    def mention_names(self, mentioned: Collection[str]) -> None:
        """Code of a package's is about to run that names these attributes, perhaps of what is the user's."""
        new = set(mentioned) - self._names.keys() - ASKS_BY_NAME - OF_IMPORTS  # of what is its own
        if new:
            self._of_packages |= new
            self._names.update(dict.fromkeys(new))
            self.watch_holders()

    def give_up(self, why: str, code: types.CodeType | None = None, verdict: str = "", name: str = "") -> None:
        """The run cannot be repeated, if it runs ``code``; the first reason is told."""
        self.unrepeatable = self.unrepeatable or why
        self._reasons.append(Reason(why, code, verdict, name))

    @property
    def why_in_any_case(self) -> str:
        """Why the run cannot be repeated, whatever it runs."""
        return next((reason.why for reason in self._reasons if reason.code is None), "")

    @property
    def depends_on_what_runs(self) -> bool:
        """Whether only code that may not run is a reason."""
        return bool(self._reasons) and not self.why_in_any_case

    def forget_what_did_not_run(self, ran: Collection[Source]) -> None:
        """Forget the reasons in code that the run did not come to: it would not when it is repeated."""
        self._reasons = [found for found in self._reasons if found.code is None or first_line(found.code) in ran]
        self.unrepeatable = self._reasons[0].why if self._reasons else ""

    def _note_changing(self, key: Any, before: int, by: By | None) -> None:
        """Keep the reasons of ``by`` that came since there were ``before``: they hold for all who read ``key``."""
        codes = (None, by and by.code)
        self._changing[key] = [found for found in self._reasons[before:] if found.verdict and found.code in codes]

    def _heed_again(self, key: Any, by: By | None) -> None:
        """Another function reads what was found to be changing."""
        for found in self._changing.get(key, ()):
            self._heed(found.verdict, by, found.name)

    def give_doubt(self, why: str) -> None:
        """A number may come in that nothing is known of; the first reason is told."""
        self.doubt = self.doubt or why

    # ---------------------------------------------------------------------------------------------- libraries

    def is_followed(self, value: Any) -> bool:
        """Whether it is a library's module, of which code takes this and that by name: see :meth:`_take`."""
        return isinstance(value, types.ModuleType) and self.is_foreign(vars(value))

    def _take(self, module: types.ModuleType, name: str, path: tuple[str, ...], by: By | None) -> None:
        """Watch what code takes from a module, ``name.path``."""
        while self.is_followed(module):
            if not path:  # who knows what is done with it: any name in the code may be asked of it
                self._hold_parts(module, name)
                if verdict(origin_of(module)) == DRAWS:
                    self._watch_shared_generators()
                return
            attribute, path = path[0], path[1:]
            found = vars(module).get(attribute, MISSING)
            if found is MISSING:
                found = sys.modules.get(f"{module.__name__}.{attribute}", MISSING)
            if found is MISSING and module.__name__ in ("numpy", "scipy"):  # which import parts when they are asked for
                found = getattr(module, attribute, MISSING)
            name = f"{name}.{attribute}"
            self._watch_name(vars(module), attribute, name)
            if not isinstance(found, types.ModuleType):
                if (id(module), attribute) not in self.watched:
                    self.watched.add((id(module), attribute))
                    before = len(self._reasons)
                    self._take_value(module, attribute, name, found, by)
                    if len(self._reasons) > before:
                        self._note_changing((id(module), attribute), before, by)
                else:
                    self._heed_again((id(module), attribute), by)
                if path and path[0] in held(found, "__dict__", ()) and type(found) is types.FunctionType:
                    self.give_doubt(f"{by} reads {name}.{path[0]}, which somebody has put there")
                return
            module = found
        self.hold(module, name)

    def _watch_name(self, namespace: dict[str, Any], key: str, name: str) -> None:
        """Watch the variable ``key`` of a library: it must still hold the function that was traced."""
        if key in namespace and (id(namespace), key) not in self._watched_names:
            self._watched_names.add((id(namespace), key))
            read = VariableRead(namespace, key)
            self.slots.append(Slot(name, read, read(), False, True))

    def _take_value(self, module: types.ModuleType, attribute: str, name: str, found: Any, by: By | None) -> None:
        if callable(found) and _known_pure.get((id(module), attribute)) is found:
            return
        where = Origin(origin_of(module).module, attribute)
        is_users = isinstance(found, CODE) and not self.is_foreign(_namespace_of(found))
        is_changing = callable(found) and not is_users and verdict(where)
        if found is MISSING and self.is_of_others(vars(module)):  # its __getattr__ says
            self.entering.is_wanted = True
            self.entering.follow(module, (attribute,), name.rpartition(".")[0])
        elif found is MISSING or is_changing or is_changing_by_name(where):
            self._heed(verdict(where), by, name)
        elif is_walked(found) or not self.is_foreign(_namespace_of(found if isinstance(found, CODE) else type(found))):
            self.watch(Part(attribute, name, found, VariableRead(vars(module), attribute)))
        else:
            if self.judge_library(found, name, by, where) and callable(found) and len(_known_pure) < 10_000:
                _known_pure[id(module), attribute] = found
            if self.entering.is_wanted and self.is_of_others(vars(module)):
                self.entering.look(found, name)

    def judge_library(self, value: Any, name: str, by: By | None = None, where: Origin | None = None) -> bool:
        """Heed what a library's function, class or object at ``where`` is known to do. Return whether it is pure."""
        if not isinstance(value, np.ndarray) and self.is_of_others(
            _namespace_of(value if isinstance(value, CODE) else type(value))
        ):
            self.entering.is_wanted = True  # its code is followed when it runs
            return False
        home = origin_of(value)
        for origin in (where, home):
            read = None if origin is None else SET_ELSEWHERE.get(str(origin)) or SET_ELSEWHERE.get(origin.module)
            if read is not None:
                self.note(Part(None, str(origin), read(), read), is_shared=True)
                return False
        found = PURE if is_listed(where) else (where and verdict(where)) or verdict_on(value)
        before = len(self._reasons)
        self._heed(found, by, name)
        if len(self._reasons) > before:
            self.alive.append(value)
            self._note_changing(id(value), before, by)
        methods = reading_methods(home)
        if methods:
            self._readers[name] = methods
        return found == PURE and not methods

    def _heed(self, found: str | None, by: By | None, name: str) -> None:
        """Act on a verdict."""
        if found is None:
            self.give_doubt(f"{by or 'the function'} reads {name}, of which nothing is known")
        elif found != PURE:
            if found == DRAWS:
                self._watch_shared_generators()
            why = f"{by or 'the function'} reads {name}, which {found}: pass what it gives as an argument"
            self.give_up(why, None if by is None or found == DRAWS else by.code, found, name)

    def _watch_shared_generators(self) -> None:
        """The generators that all share: what a run has drawn from them is put back where the run is begun again."""
        self.watch(Part("random", "random", state_of_python(), state_of_python))
        if "numpy.random" in sys.modules:
            self.watch(Part("random", "np.random", state_of_numpy(), state_of_numpy))

    # ------------------------------------------------------------------------------------------------- values

    def note(self, part: Part | None, is_shared: bool = False) -> None:
        """A part that is compared by value, where there is one."""
        if part is not None:
            self.slots.append(Slot(part.name, part.read, part.value, True, is_shared))

    def watch(self, part: Part, by: By | None = None) -> None:
        """Note what a value looks like now, which the function reads in its original. ``by``: whose variable it is."""
        name, value, read = part.name, part.value, part.read
        self.judge(value, name, by)
        if isinstance(value, _BY_VALUE) and not isinstance(value, np.void):  # a record, which can be written
            self.slots.append(Slot(name, read, value, True, True))
            self.watch_what_hangs_on(part)
            return
        self.slots.append(Slot(name, read, value, False, True))
        if isinstance(value, HOLDERS):
            if isinstance(value, types.ModuleType):
                self._handed[id(value)] = (value, name)
            self.hold(value, name)
            return
        if isinstance(value, classmethod):  # which is given the class
            self._names["__class__"] = None
        if id(value) in self.watched:
            return
        self.watched.add(id(value))
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
        parts = parts_of(value, name, read)
        if isinstance(value, functools._lru_cache_wrapper):
            self.note(Part(None, f"what {name} keeps", True, CacheRead(value)), True)
            self._keepers.append((value, name))
            self._watch_kept(value, name)
        if parts.content is None and (why := _why_incomparable(value, name)):
            self.give_up(why)
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
            self.give_up(f"{name} keeps more than {MAX_ITEMS} results that can be edited")
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
                self.give_up(f"a {type(value).__name__} has more than {MAX_ITEMS} items")

    def settle_generators(self) -> None:
        """Compare the state of generators, rather than record what is drawn, where the code gets at it otherwise: by
        name, or because their bit generator was met as well, or a RandomState that has the same one."""
        generators = self._generators
        if generators is None:
            return
        is_asked = not _SHOWS_STATE.isdisjoint(self._names)
        generators.is_recording = generators.is_recording and not is_asked
        for key, (generator, name, read, state) in list(generators.found.items()):
            if not generators.is_recording or id(bits_of(generator)) in self._shown:
                self.note(Part(None, f"the state of {name}", state, read))
                generators.at_once.add(key)
                del generators.found[key]

    def watch_what_hangs_on(self, part: Part) -> None:
        """The attributes of a value that is a number or text of a class of the user's, or of an enumeration."""
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
        home = _namespace_of(cls)
        is_ours = cls is types.SimpleNamespace or is_on_top(home.get("__name__", ""))  # a layer holds the user's code
        is_foreign = not is_ours and self.is_foreign(home)
        for part in parts.attributes:
            if is_foreign and not isinstance(part.value, BY_VALUE) and type(part.value) is not np.ndarray:
                continue  # a library's object: what it holds itself, not the world behind it, unless its code runs
            self.watch(part)
        self.note(parts.names, is_shared=not is_foreign)
        self.hold(cls, cls.__name__, is_found=False)
        if is_foreign and self.is_of_others(home):
            self.entering.look(value, cls.__name__)

    def _watch_function(self, f: types.FunctionType, name: str) -> None:
        parts = parts_of(f, name, lambda: f)
        if self.is_of_others(f.__globals__):
            self.entering.look(f, name)
            return
        if self.is_foreign(f.__globals__):
            for part in (*parts.cells, *parts.arguments):  # a transform of ours, a decorator: it holds the user's code
                if self._is_users(part.value):
                    self.watch(part)
            return
        by = By(name, code_of(f))
        self.note(parts.names)
        self.watch_each(parts.attributes)
        self.note_code(f, name)
        for part in parts.cells:
            if self.is_followed(part.value):
                self.slots.append(Slot(part.name, part.read, part.value, False, True))
            else:
                self.watch(part, by)
        self.watch_each(parts.inner)
        for part in parts.variables:
            variable = (id(f.__globals__), part.key)
            if variable in self.watched:
                self._heed_again(id(part.value), by)
                continue
            self.watched.add(variable)
            if isinstance(part.value, HOLDERS):
                self.hold_variable(part)
                self.slots.append(Slot(part.name, part.read, part.value, False, True))
            else:
                self.watch(part, by)

    def hold_variable(self, part: Part) -> None:
        """A module or class in a variable. What code takes from a library's module by name is known already."""
        if not self.is_followed(part.value):
            self.hold(part.value, part.name)

    def _is_users(self, value: Any) -> bool:
        """Whether it is the user's code, or holds some."""
        if isinstance(value, types.FunctionType):
            return not self.is_foreign(value.__globals__) or bool(value.__closure__)
        if isinstance(value, (dict, list, tuple)) and len(value) < MANY:
            return any(map(self._is_users, value.values() if isinstance(value, dict) else value))
        if isinstance(value, (types.MethodType, functools.partial)) or hasattr(type(value), "__wengert_transparent__"):
            return True
        return not isinstance(value, (types.ModuleType, *BY_VALUE)) and not self.is_foreign(
            _namespace_of(value if isinstance(value, type) else type(value))
        )

    # --------------------------------------------------------------------------------------------------- code

    def note_code(self, f: types.FunctionType, name: str) -> None:
        """The names in a function's code, and what it asks of the world outside of the program."""
        code = code_of(f)
        uses = names.uses(code)
        self.note_own(f, name)
        missing = self._note_missing(uses, f.__globals__, name)
        self._functions.append((f, name))
        self._names.update(dict.fromkeys(uses.named))
        self._matches = self._matches or uses.matches_classes
        self._catches = self._catches or uses.catches
        self.compares = self.compares or uses.compares
        self.equates = self.equates or uses.equates
        self._asked.update(uses.asked)
        if uses.computes_names or not _SHOW_ALL.isdisjoint(missing):
            self._names[COMPUTED] = None
        if not ASKS_BY_NAME.isdisjoint(self._names):
            self._asked.add(COMPUTED)
        if f.__builtins__ and f.__builtins__ is not vars(builtins):
            self.give_doubt(f"{name} has builtins of its own")
        if behind := looks_behind(uses.named):
            self.give_up(f"{By(name, code)} asks for {behind}: pass what it gives as an argument", code)
        variables = self._modules_of(f, uses, name)
        for path, line in uses.paths.items():
            found = variables.get(path[0], MISSING)
            if found is MISSING:
                if path[0] in missing:
                    self._heed_builtin(path[0], By(name, code, line))
                continue
            if found is f.__globals__.get(path[0], MISSING):  # the functions of a module name the same, over and over
                followed = (id(f.__globals__), path, path in uses.seeded)
                if followed in self._followed and not self._changing:
                    continue
                self._followed.add(followed)
            self._note_absent_along(found, path)
            if isinstance(found, types.ModuleType):
                self._take(found, path[0], path[1:], By(name, code, line))
                found = _at_the_end(found, path[1:])
            self._heed_seed(found, path in uses.seeded, By(name, code, line))
        for module, attribute in uses.taken:
            found = sys.modules.get(module)
            self._note_absent(found, (attribute,), module)
            if isinstance(found, types.ModuleType) and self.is_followed(found):
                self._take(found, module, (attribute,), By(name, code))

    def note_own(self, f: types.FunctionType, name: str) -> None:
        """The code of a function, which can be exchanged."""
        read = CodeRead(f)
        self.slots.append(Slot(f"the code of {name}", read, read(), True))

    def _note_missing(self, uses: names.Uses, namespace: dict[str, Any], name: str) -> tuple[str, ...]:
        """Note and return the names that code takes from Python's builtins, and not from its module."""
        missing = tuple(sorted([v for v in uses.loaded if v not in namespace]))  # `-` would go through all globals
        if missing:
            self.slots.append(Slot(f"the builtins of {name}", AbsentRead(namespace, missing), (), True))
        for variable in missing:
            self._note_builtin(variable)
        return missing

    def _heed_builtin(self, name: str, by: By, is_packages: bool = False) -> None:
        """Code calls a builtin. In packages, and in ``__hash__``, ids and hashes are keys of tables."""
        if name in CHANGING_BUILTINS:
            are_keys = name in ("id", "hash") and (is_packages or by.name.endswith("__hash__"))
            self.asks_ids = self.asks_ids or name == "id" or (name == "hash" and not are_keys)
            if not are_keys:
                self._heed(verdict(Origin("builtins", name)), by, f"{name}()")

    def _heed_seed(self, found: Any, is_seeded: bool, by: By) -> None:
        if not is_seeded and (found is random.Random or (found is not None and found is class_of_states())):
            self.give_up(f"{by} calls {found.__name__}, whose seed is no literal number", by.code)

    def note_outside(self, code: types.CodeType, uses: names.Uses, namespace: dict[str, Any], name: str) -> None:
        """Note what the code of a package takes from modules, and asks of the world outside the program, when it begins
        to run."""
        missing = self._note_missing(uses, namespace, name)
        variables = {
            variable: sys.modules[path]
            for variable, module in uses.modules
            for path in self._absolute(module, namespace)
            if path in sys.modules
        }
        for path, line in uses.paths.items():
            found, by = variables.get(path[0], namespace.get(path[0], MISSING)), By(name, code, line)
            if found is MISSING:
                if path[0] in missing:
                    self._heed_builtin(path[0], by, is_packages=True)
                continue
            if isinstance(found, types.ModuleType):
                self._take_in(found, path[1:], path[0], by)
                found = _at_the_end(found, path[1:])
            self._heed_seed(found, path in uses.seeded, by)
        for module, attribute in uses.taken:
            for path in self._absolute(module, namespace):
                if path in sys.modules:
                    self._take_in(sys.modules[path], (attribute,), path, By(name, code))

    def _take_in(self, found: types.ModuleType, path: names.Path, name: str, by: By) -> None:
        """Note what the code of a package takes from a module, its own or another's."""
        at: Any = found
        for k, attribute in enumerate(path):
            if not isinstance(at, types.ModuleType):
                return
            if not self.is_of_others(vars(at)):
                break
            name = f"{name}.{attribute}"
            at = self.entering.follow(at, path[k : k + 1], name.rpartition(".")[0])
        else:
            k = len(path)
        if isinstance(at, types.ModuleType) and self.is_followed(at) and not self.is_of_others(vars(at)):
            if at is sys and path[k : k + 1] == ("modules",):
                self.slots.append(Slot("sys.modules", _modules, _modules(), True))
            elif ".".join((at.__name__, *path[k:])) not in MAY_CALL:
                self._take(at, name, tuple(path[k:]), by)

    def _absolute(self, module: str, namespace: dict[str, Any]) -> list[str]:
        """The names that a module that is imported by code of a package's may have."""
        return [module, *[f"{base}.{module}".rstrip(".") for base in _with_parents(str(namespace.get("__package__")))]]

    def _note_builtin(self, name: str) -> None:
        """One of Python's builtins, or what somebody has put among them."""
        namespace: Any = vars(builtins)
        found = namespace.get(name, MISSING)
        if isinstance(found, types.BuiltinFunctionType) or (
            isinstance(found, type) and self.is_foreign(_namespace_of(found))
        ):
            self._watch_name(namespace, name, name)
        elif found is not MISSING and (id(builtins), name) not in self.watched:
            self.watched.add((id(builtins), name))
            self.watch(Part(name, name, found, VariableRead(namespace, name)))

    def _note_absent_along(self, found: Any, path: names.Path) -> None:
        """Note which attributes the modules and functions found along a path do not have."""
        name = path[0]
        for attribute in path[1:]:
            self._note_absent(found, (attribute,), name)
            found, name = _standing(found, attribute), f"{name}.{attribute}"
        if isinstance(found, types.ModuleType):
            self._handed[id(found)] = (found, name)

    def _note_absent(self, holder: Any, attributes: Collection[str], name: str) -> None:
        """Attributes that a module or function has not, as yet: the code may ask whether it has."""
        if not isinstance(holder, (types.ModuleType, types.FunctionType)) or self.is_foreign(_namespace_of(holder)):
            return
        there = vars(holder)
        if missing := tuple(sorted([a for a in attributes if a not in there])):
            read = AbsentRead(there, missing, holder if isinstance(holder, types.FunctionType) else None)
            self.slots.append(Slot(f"what {name} has not", read, (), True))

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
        package = _with_parents(f.__globals__.get("__package__") or "")
        for path in map(_with_parents, uses.imported):
            paths = [*path, *[".".join(filter(None, (base, p))) for base in package for p in path]]  # from . import
            there = {p: sys.modules[p] for p in paths if p in sys.modules}
            if not there and self._import(path[-1]):
                there = {p: sys.modules[p] for p in path if p in sys.modules}
            if not there:
                self.give_up(f"{name} imports {path[-1]}", code_of(f))
            found |= there
        for path, attribute in uses.taken:
            for base in ("", *package):
                found |= self._imported_part(".".join(filter(None, (base, path))), attribute)
        for path, module in found.items():
            self._watch_name(cast(Any, sys.modules), path, f"sys.modules[{path!r}]")
            if not self.is_followed(module):
                self.hold(module, path)
        return found

    def _imported_part(self, package: str, name: str) -> dict[str, types.ModuleType]:
        """The module of a package of the user's that ``from package import name`` imports, if nothing else is there."""
        holder, path = sys.modules.get(package), f"{package}.{name}"
        if not isinstance(holder, types.ModuleType) or name in vars(holder) or "__path__" not in vars(holder):
            return {}
        return {path: sys.modules[path]} if not self.is_followed(holder) and self._import(path) else {}

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

    # ------------------------------------------------------------------------------------- modules and classes

    def hold(self, holder: Any, name: str, is_found: bool = True) -> None:
        """A module or class, which the traced copy shares: see :meth:`watch_holders`.

        ``is_found``: the code can get hold of it, and so make instances; not so of the class of what it finds, unless
        that has class methods or descriptors, which are handed it.
        """
        is_found = is_found or self._hands_itself(holder)
        if is_found and isinstance(holder, type):
            self._found_classes.update(map(id, holder.__mro__))
        self._hold_parts(holder, name)

    def is_held(self, holder: Any) -> bool:
        """Whether it is one of these, or is a library's, which keep their own."""
        return id(holder) in self._holders or id(holder) in self._libraries

    def _hands_itself(self, cls: type) -> bool:
        """Whether a class is given to code of the user's without a name: to a descriptor, or by its metaclass."""
        kinds = {type(value) for value in vars(cls).values()} - _DESCRIPTORS
        found = [c for kind in kinds for c in kind.__mro__[:-1] if not _HANDED_THE_CLASS.isdisjoint(vars(c))]
        return not all(self.is_foreign(_namespace_of(c)) for c in (type(cls), *found))

    def _hold_parts(self, holder: Any, name: str) -> None:
        if id(holder) in self._holders or id(holder) in self._libraries:
            return
        if self.is_foreign(_namespace_of(holder)):
            self._libraries[id(holder)] = (holder, name)
            if isinstance(holder, type):
                self.judge_library(holder, name)
            if self.is_of_others(_namespace_of(holder)):
                self.entering.is_wanted = True
                self.entering.look(holder, name)
            return
        if isinstance(holder, type) and _is_compiled(holder):
            self.give_doubt(f"{name} is a class of compiled code")
        self._holders[id(holder)] = (holder, name)
        if isinstance(holder, type):
            if not _COPIES.isdisjoint(self._names):
                copyreg._slotnames(holder)  # type: ignore[attr-defined]  # not in the stubs; the first copy writes it into the class
            self.note(parts_of(holder, name, lambda: holder).names)
            if isinstance(holder, abc.ABCMeta):
                read = RegisteredRead(holder)
                self.note(Part(None, f"what is registered with {name}", read(), read))
            for base in (*holder.__mro__[1:], type(holder)):
                self._hold_parts(base, base.__name__)

    def watch_holders(self) -> None:
        """Watch the attributes of modules and classes that the code names, and what is found by way of them."""
        while True:
            if self._matches:  # the class tells which attributes are meant
                for holder, _ in self._holders.values():
                    self._names.update(dict.fromkeys(vars(holder).get("__match_args__", ())))
            may_ask = not ASKS_BY_NAME.isdisjoint(self._names)  # the code can compute a name
            todo = [
                (holder, name, attribute)
                for holder, name in list(self._holders.values())
                for attribute in list(vars(holder))
                if (attribute in self._names or self._is_asked_for(holder, attribute, may_ask))
                and (id(holder), attribute) not in self.watched
            ]
            if not todo and not self._watch_libraries():
                break
            for holder, name, attribute in todo:
                self.watched.add((id(holder), attribute))
                self.watch(attribute_of(holder, name, attribute))
        self._watch_what_may_come()
        for name, methods in self._readers.items():
            if which := methods & self._names.keys():
                if not DRAWING_METHODS.isdisjoint(which):
                    self._watch_shared_generators()
                self.give_up(f"{sorted(which)[0]}() of {name} reads more than its object: pass what it gives")

    def _watch_what_may_come(self) -> None:
        """Watch for what code asks for by a name that is no attribute's in the code, and that is not there yet; and the
        annotations of functions, where it asks for those."""
        if "__annotations__" in self._names.keys() | self._asked:
            for f, name in self._functions:
                read = functools.partial(_annotations, f)
                self.slots.append(Slot(f"{name}.__annotations__", read, read(), True))
        modules = [(holder, name) for holder, name in self._holders.values() if isinstance(holder, types.ModuleType)]
        if self._asked and not ASKS_BY_NAME.isdisjoint(self._names):
            for holder, name in (*modules, *self._functions):
                which = NamesRead(vars(holder))
                self.slots.append(Slot(f"the attributes of {name}", which, which(), True))
            return
        for holder, name in (*modules, *self._functions):
            self._note_absent(holder, self._asked, name)
        if self._catches:  # an error because something is not there
            for module, name in self._handed.values():
                self._note_absent(module, self._names, name)
            for f, name in self._functions:
                which = AttributesRead(lambda f=f: f, f)
                self.slots.append(Slot(f"the attributes of {name}", which, which(), True))

    def _watch_libraries(self) -> bool:
        """Watch what code may ask by name of libraries' modules that it passes on; return whether there was more."""
        before = len(self.watched)
        may_ask = not ASKS_BY_NAME.isdisjoint(self._names)
        for library, name in list(self._libraries.values()):
            if isinstance(library, types.ModuleType):
                for attribute in vars(library).keys() & (self._names.keys() - self._of_packages):
                    self._take(library, name, (attribute,), None)
                if may_ask and library.__name__ not in LEAVES and not self.is_of_others(vars(library)):
                    if verdict(origin_of(library)) == DRAWS:
                        self._watch_shared_generators()
                    self.give_doubt(f"{name} may be asked for a name that is computed")
        return len(self.watched) > before

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


LEAVES = ("math", "cmath", "operator", "itertools", "functools")
"""Modules of functions that depend on their operands alone, and of nothing else."""

MANY = 1000
_HANDED_THE_CLASS = {"__get__", "__set_name__"}
_DESCRIPTORS = {types.FunctionType, property, staticmethod, str, type(None), dict, tuple, types.GetSetDescriptorType}

CALLED = (types.FunctionType, staticmethod, classmethod, functools.partialmethod)
MAKE_OBJECTS = ("copy", "copyreg", "dataclasses", "pickle")
MAKES_AN_INSTANCE = ("__init__", "__new__", "__post_init__")
GETS_A_CLASS = frozenset({"__class__", "type", "__new__", "copy", "deepcopy", "replace", "__replace__", "__reduce__"})
"""Names by which code gets the class of an object, or a new object of it."""

COMPUTED = "getattr()"
"""No name, but the sign that code computes names."""

_COPIES = frozenset({"copy", "deepcopy", "__reduce_ex__"})

_SHOW_ALL = frozenset({"vars", "dir"})
ASKS_BY_NAME = frozenset(
    {COMPUTED, "format", "format_map", "attrgetter", "methodcaller", "__dict__", "__getattribute__", "getattr_static"}
)
"""Names by which code gets attributes of any name."""
_SHOWS_STATE = ASK_FOR_STATE | ASKS_BY_NAME


def _why_incomparable(value: Any, name: str) -> str:
    """Why nothing tells whether ``value`` is what it was; empty if its parts do."""
    if isinstance(value, np.ufunc) and verdict_on(value) is None:
        return f"{name} is made of a Python function"
    return f"{name} is an iterator" if hasattr(type(value), "__next__") else ""


def _namespace_of(holder: Any) -> dict[str, Any]:
    """The globals of the module that a module is, or that a class or function stands in."""
    if isinstance(holder, types.ModuleType):
        return vars(holder)
    if isinstance(holder, types.FunctionType):
        return holder.__globals__
    name = str(held(holder, "__module__", ""))  # of an object in the place of a module: none
    module = sys.modules.get(name)
    return {"__name__": name} if module is None else vars(module)


def _with_parents(path: str) -> list[str]:
    """ "a.b.c" as "a", "a.b" and "a.b.c"."""
    parts = path.split(".")
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _modules() -> tuple[str, ...]:
    """Return what a package may ask for: which other modules are there."""
    return tuple(sys.modules)


@functools.lru_cache(maxsize=1024)
def _cached_properties(cls: type) -> frozenset[str]:
    return frozenset(k for c in cls.__mro__[:-1] for k, v in vars(c).items() if type(v) is functools.cached_property)


def _is_compiled(cls: type) -> bool:
    """Whether a class is one of the user's, of a module in C: its methods cannot be read."""
    file = _namespace_of(cls).get("__file__") or ""
    return file.endswith(tuple(EXTENSION_SUFFIXES))


def _at_the_end(module: Any, path: tuple[str, ...]) -> Any:
    """Return the first object along a path of modules that is not a module."""
    for attribute in path:
        if not isinstance(module, types.ModuleType):
            break
        module = vars(module).get(attribute)
    return module


def _standing(x: Any, attribute: str) -> Any:
    """Return what an object or its class holds under a name, without running any code of theirs."""
    cls = x if isinstance(x, type) else type(x)
    for namespace in (held(x, "__dict__", {}), *map(vars, cls.__mro__)):
        if attribute in namespace:
            return namespace[attribute]
    return MISSING


def _annotations(f: types.FunctionType) -> Any:
    return tuple(f.__annotations__.items())
