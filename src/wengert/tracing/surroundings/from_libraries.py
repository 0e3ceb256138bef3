"""The names that code takes from modules of libraries are noted here, and judged.

What the user's code takes from modules of NumPy's, SciPy's and Python's is judged by its name
(:mod:`~wengert.tracing.surroundings.purity`), and the variable that holds it is compared at each call. Code of other
packages is followed when it runs (:mod:`~wengert.tracing.surroundings.entering`); what it takes from modules in its
turn is noted here.
"""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Set
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.attributes import held
from wengert.pure.stand_ins import own
from wengert.tracing.callers import is_installed, is_of_package, is_on_top, is_opaque
from wengert.tracing.python import names
from wengert.tracing.surroundings.elsewhere import (
    SET_ELSEWHERE,
    class_of_states,
    state_of_numpy,
    state_of_python,
)
from wengert.tracing.surroundings.entering import MAY_CALL
from wengert.tracing.surroundings.parts import (
    HOLDERS,
    Part,
)
from wengert.tracing.surroundings.purity import (
    CHANGING_BUILTINS,
    DRAWING_METHODS,
    DRAWS,
    LOCAL_TIMES,
    PURE,
    Origin,
    is_changing_by_name,
    is_listed,
    is_walked,
    origin_of,
    reading_methods,
    verdict,
    verdict_on,
)
from wengert.tracing.surroundings.reasons import By, Reason
from wengert.tracing.surroundings.slots import (
    MISSING,
    Slot,
    VariableRead,
)

if TYPE_CHECKING:
    from wengert.tracing.surroundings.watching import Watching

CODE = (*HOLDERS, types.FunctionType)
_known_pure: dict[tuple[int, str], Any] = {}
"""Functions of libraries that were found to be pure, by the id of their module, which lives for ever, and the name."""


class Libraries:
    """The names that the code which one trace has met takes from libraries."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._reasons = watching.reasons
        self._slots = watching.slots
        self._foreign: dict[tuple[Any, Any], bool] = {}  # by the name and the file of a module: see is_foreign
        self._others: dict[tuple[Any, Any], bool] = {}  # by the name and the file of a module: see is_of_others
        self._watched_names: set[tuple[int, str]] = set()
        self._readers: dict[str, frozenset[str]] = {}  # methods that read what their object does not hold
        self._changing: dict[Any, list[Reason]] = {}  # why an attribute or value of a library's is changing

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
        """Whether these are the globals of a package's module, whose code is followed as it runs: see entering.py."""
        home = (namespace.get("__name__", ""), namespace.get("__file__"))
        known = self._others.get(home)
        if known is None:
            known = self.is_foreign(namespace) and is_of_package(str(home[0]), home[1] or "")
            self._others[home] = known
        return known

    def is_foreign_class(self, cls: type) -> bool:
        """Whether a class is a library's."""
        return self.is_foreign(namespace_of(cls))

    def is_of_others_class(self, cls: type) -> bool:
        """Whether a class is made by the code of a package: see :meth:`is_of_others`."""
        return self.is_of_others(namespace_of(cls))

    def is_followed(self, value: Any) -> bool:
        """Whether it is a library's module, of which code takes this and that by name: see :meth:`take`."""
        return isinstance(value, types.ModuleType) and self.is_foreign(vars(value))

    def take(self, module: types.ModuleType, name: str, path: tuple[str, ...], by: By | None) -> None:
        """Watch what code takes from a module, ``name.path``."""
        while self.is_followed(module):
            if not path:  # who knows what is done with it: any name in the code may be asked of it
                self._watching.holders.hold_parts(module, name)
                if verdict(origin_of(module)) == DRAWS:
                    self.watch_shared_generators()
                return
            attribute, path = path[0], path[1:]
            found = own(vars(module).get(attribute, MISSING))
            if found is MISSING:
                found = sys.modules.get(f"{module.__name__}.{attribute}", MISSING)
            if found is MISSING and module.__name__ in ("numpy", "scipy"):  # which import parts when they are asked for
                found = getattr(module, attribute, MISSING)
            name = f"{name}.{attribute}"
            self.watch_name(vars(module), attribute, name)
            if not isinstance(found, types.ModuleType):
                if (id(module), attribute) not in self._watching.watched:
                    self._watching.watched.add((id(module), attribute))
                    before = len(self._reasons.found)
                    self._take_value(module, attribute, name, found, by)
                    if len(self._reasons.found) > before:
                        self._note_changing((id(module), attribute), before, by)
                else:
                    self.heed_again((id(module), attribute), by)
                if path and path[0] in held(found, "__dict__", ()) and type(found) is types.FunctionType:
                    self._reasons.give_doubt(f"{by} reads {name}.{path[0]}, which somebody has put there")
                return
            module = found
        self._watching.holders.hold(module, name)

    def watch_name(self, namespace: dict[str, Any], key: str, name: str) -> None:
        """Watch the variable ``key`` of a library: it must still hold the function that was traced."""
        if key in namespace and (id(namespace), key) not in self._watched_names:
            self._watched_names.add((id(namespace), key))
            read = VariableRead(namespace, key)
            self._slots.append(Slot(name, read, read(), False, True))

    def _take_value(self, module: types.ModuleType, attribute: str, name: str, found: Any, by: By | None) -> None:
        if callable(found) and _known_pure.get((id(module), attribute)) is found:
            return
        where = Origin(origin_of(module).module, attribute)
        is_users = isinstance(found, CODE) and not self.is_foreign(namespace_of(found))
        is_changing = callable(found) and not is_users and verdict(where)
        if found is MISSING and self.is_of_others(vars(module)):  # its __getattr__ says
            self._watching.entering.is_wanted = True
            self._watching.entering.follow(module, (attribute,), name.rpartition(".")[0])
        elif found is MISSING or is_changing or is_changing_by_name(where):
            self.heed(verdict(where), by, name)
        elif is_walked(found) or not self.is_foreign(namespace_of(found if isinstance(found, CODE) else type(found))):
            self._watching.watch(Part(attribute, name, found, VariableRead(vars(module), attribute)))
        else:
            if self.judge(found, name, by, where) and callable(found) and len(_known_pure) < 10_000:
                _known_pure[id(module), attribute] = found
            if self._watching.entering.is_wanted and self.is_of_others(vars(module)):
                self._watching.entering.look(found, name)

    def judge(self, value: Any, name: str, by: By | None = None, where: Origin | None = None) -> bool:
        """Note what is known of a library's function, class or object, which stands at ``where``.

        Return True if it is pure. False: it is changing or unknown, or what it holds is compared at each call, or its
        code is followed when it runs.
        """
        if not isinstance(value, np.ndarray) and self.is_of_others(
            namespace_of(value if isinstance(value, CODE) else type(value))
        ):
            self._watching.entering.is_wanted = True  # its code is followed when it runs
            return False
        home = origin_of(value)
        for origin in (where, home):
            read = None if origin is None else SET_ELSEWHERE.get(str(origin)) or SET_ELSEWHERE.get(origin.module)
            if read is not None:
                self._watching.note(Part(None, str(origin), read(), read), is_shared=True)
                return False
        found = PURE if is_listed(where) else (where and verdict(where)) or verdict_on(value)
        before = len(self._reasons.found)
        self.heed(found, by, name)
        if len(self._reasons.found) > before:
            self._watching.alive.append(value)
            self._note_changing(id(value), before, by)
        methods = reading_methods(home)
        if methods:
            self._readers[name] = methods
        return found == PURE and not methods

    def heed(self, found: str | None, by: By | None, name: str) -> None:
        """Note the reason that a verdict of purity.py gives."""
        if found is None:
            self._reasons.give_doubt(f"{by or 'the function'} reads {name}, of which nothing is known")
        elif found != PURE:
            if found == DRAWS:
                self.watch_shared_generators()
            why = f"{by or 'the function'} reads {name}, which {found}: pass what it gives as an argument"
            self._reasons.give_up(why, None if by is None or found == DRAWS else by.code, found, name)

    def heed_again(self, key: Any, by: By | None) -> None:
        """Note that another function reads what was found to be changing."""
        for found in self._changing.get(key, ()):
            self.heed(found.verdict, by, found.name)

    @property
    def has_changing(self) -> bool:
        """Whether a library's attribute or value was found to be changing."""
        return bool(self._changing)

    def tell_readers(self, mentioned: Set[str], by_packages: Set[str]) -> None:
        """Give up for methods that read what their object does not hold, if code mentions one.

        Packages alone mention ``by_packages``, and name much ``timestamp`` that has nothing to do with a local time.
        """
        for name, methods in self._readers.items():
            if which := (methods & mentioned) - (LOCAL_TIMES & by_packages):
                if not DRAWING_METHODS.isdisjoint(which):
                    self.watch_shared_generators()
                self._reasons.give_up(f"{sorted(which)[0]}() of {name} reads more than its object: pass what it gives")

    def _note_changing(self, key: Any, before: int, by: By | None) -> None:
        """Keep the reasons that were found after the first ``before`` and hold for ``by``, or for any code: each other
        function that reads ``key`` gets them too."""
        codes = (None, by and by.code)
        self._changing[key] = [found for found in self._reasons.found[before:] if found.verdict and found.code in codes]

    def watch_shared_generators(self) -> None:
        """Watch the generators that all share. What a run has drawn from them is put back if the run begins again."""
        self._watching.watch(Part("random", "random", state_of_python(), state_of_python))
        if "numpy.random" in sys.modules:
            self._watching.watch(Part("random", "np.random", state_of_numpy(), state_of_numpy))

    def heed_builtin(self, name: str, by: By, is_packages: bool = False) -> None:
        """Note that code calls a builtin. In packages, and in ``__hash__``, ids and hashes are keys of tables."""
        if name in CHANGING_BUILTINS:
            are_keys = name in ("id", "hash") and (is_packages or by.name.endswith("__hash__"))
            self._watching.asks_ids = self._watching.asks_ids or name == "id" or (name == "hash" and not are_keys)
            if not are_keys:
                self.heed(verdict(Origin("builtins", name)), by, f"{name}()")

    def heed_seed(self, found: Any, is_seeded: bool, by: By) -> None:
        if not is_seeded and (found is random.Random or (found is not None and found is class_of_states())):
            self._reasons.give_up(f"{by} calls {found.__name__}, whose seed is no literal number", by.code)

    def note_outside(self, code: types.CodeType, uses: names.Uses, namespace: dict[str, Any], name: str) -> None:
        """Note what the code of a package takes from modules, and asks of the world outside the program, when it begins
        to run."""
        missing = self._watching.note_missing(uses, namespace, name)
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
                    self.heed_builtin(path[0], by, is_packages=True)
                continue
            if isinstance(found, types.ModuleType):
                self._take_in(found, path[1:], path[0], by)
                found = at_the_end(found, path[1:])
            self.heed_seed(found, path in uses.seeded, by)
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
            at = self._watching.entering.follow(at, path[k : k + 1], name.rpartition(".")[0])
        else:
            k = len(path)
        if isinstance(at, types.ModuleType) and self.is_followed(at) and not self.is_of_others(vars(at)):
            if at is sys and path[k : k + 1] == ("modules",):
                self._slots.append(Slot("sys.modules", _modules, _modules(), True))
            elif ".".join((at.__name__, *path[k:])) not in MAY_CALL:
                self.take(at, name, tuple(path[k:]), by)

    def _absolute(self, module: str, namespace: dict[str, Any]) -> list[str]:
        """The names that a module that is imported by code of a package's may have."""
        return [module, *[f"{base}.{module}".rstrip(".") for base in with_parents(str(namespace.get("__package__")))]]


def namespace_of(holder: Any) -> dict[str, Any]:
    """The globals of the module that a module is, or that a class or function stands in."""
    if isinstance(holder, types.ModuleType):
        return vars(holder)
    if isinstance(holder, types.FunctionType):
        return holder.__globals__
    name = str(held(holder, "__module__", ""))  # of an object in the place of a module: none
    module = sys.modules.get(name)
    return {"__name__": name} if module is None else vars(module)


def with_parents(path: str) -> list[str]:
    """ "a.b.c" as "a", "a.b" and "a.b.c"."""
    parts = path.split(".")
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _modules() -> tuple[str, ...]:
    """Return what a package may ask for: which other modules are there."""
    return tuple(sys.modules)


def at_the_end(module: Any, path: tuple[str, ...]) -> Any:
    """Return the first object along a path of modules that is not a module."""
    for attribute in path:
        if not isinstance(module, types.ModuleType):
            break
        module = vars(module).get(attribute)
    return module
