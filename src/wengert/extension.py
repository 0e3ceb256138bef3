"""Which of the extension modules are compiled, and which are answered by their Python forms.

Nine modules of wengert are written in C++, for speed and for what Python cannot say. Each has a *Python form*, a file
of :mod:`wengert.pure`, which goes by the module's own name where the compiled one is not: in the pure wheel, for which
no compiler was needed. So ``from wengert._contexts import silent`` is right everywhere, and nothing but this file asks
which one it is.

The environment variable ``WENGERT_PURE`` asks for the Python forms where there are compiled ones: ``1`` for all,
``tracing`` or ``runtime`` for those of one half, or names of modules, ``_steps,_opened``.

This is the first module that is imported. It imports nothing of wengert, and no NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from os import environ
from pathlib import Path
from types import ModuleType

_ROOT = Path(__file__).parent

_INTERCEPTION = ("_array_functions", "_buffers", "_c_functions", "_entered", "_opened", "_python_functions")

MODULES: dict[str, str] = {
    "_contexts": "wengert._contexts",
    "_steps": "wengert.tracing._steps",
    **{name: f"wengert.tracing.interception.{name}" for name in _INTERCEPTION},
    "_native": "wengert.runtime._native",
}
"""The extension modules: their last names, which are theirs alone, and their whole ones."""

GROUPS: dict[str, tuple[str, ...]] = {
    "tracing": ("_contexts", "_steps", *_INTERCEPTION),
    "runtime": ("_native",),
}
"""The two halves that ``WENGERT_PURE`` knows by one name."""


def is_compiled(name: str) -> bool:
    """Return whether the extension module of that last name is the compiled one.

    >>> from wengert import extension
    >>> sorted(extension.MODULES)[:2], extension.is_compiled("_steps") in (True, False)
    (['_array_functions', '_buffers'], True)
    """
    if name not in MODULES:
        raise KeyError(f"{name} is no extension module of wengert; there are {', '.join(MODULES)}")
    return name not in _python_forms


def python_forms() -> tuple[str, ...]:
    """Return the last names of the modules that are answered by their Python forms; none where all are compiled."""
    return tuple(name for name in MODULES if name in _python_forms)


def form(name: str) -> Path:
    """Return the file of the Python form of the extension module of that last name."""
    return _ROOT / "pure" / f"{name.removeprefix('_')}.py"


def _asked_for(text: str) -> frozenset[str]:
    """Return the names of the modules that ``WENGERT_PURE`` asks the Python forms of."""
    found: set[str] = set()
    for word in filter(None, (word.strip() for word in text.split(","))):
        if word == "0":
            continue
        if word != "1" and word not in GROUPS and word not in MODULES:
            raise ValueError(
                f"the environment variable WENGERT_PURE is {text!r}; expected 1, 0, {', '.join(GROUPS)} "
                f"or names of extension modules: {', '.join(MODULES)}"
            )
        found.update(MODULES if word == "1" else GROUPS.get(word, (word,)))
    return frozenset(found)


def _folder(name: str) -> Path:
    return _ROOT.joinpath(*MODULES[name].split(".")[1:-1])


def _is_built(name: str) -> bool:
    """Return whether some other finder knows the compiled module: the installed one, or that of an editable install."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if find is not None and not isinstance(finder, _FormFinder):
            if find(MODULES[name], [str(_folder(name))]) is not None:
                return True
    return False


def _of_other_pythons(name: str) -> list[Path]:
    """Return the compiled modules of that name which lie there for other Pythons, or other processors."""
    found = [file for end in ("so", "pyd") for file in _folder(name).glob(f"{name}.*{end}")]
    return [file for file in found if not any(file.name == name + suffix for suffix in EXTENSION_SUFFIXES)]


def _look(asked_for: frozenset[str]) -> frozenset[str]:
    """Return the names of the modules that their Python forms answer for. Raises ImportError where only some of the
    compiled modules are there, or where they are another Python's: neither is an installation that anybody made."""
    missing = [name for name in MODULES if name not in asked_for and not _is_built(name)]
    if not missing:
        return asked_for
    others = [file.name for name in missing for file in _of_other_pythons(name)]
    version = ".".join(map(str, sys.version_info[:2]))
    if others:
        raise ImportError(
            f"wengert's extension is there for another Python or another machine ({others[0]}), and not for this one, "
            f"{sys.implementation.name} {version}: install wengert again with this Python "
            "(`python -m pip install --force-reinstall wengert`), or set WENGERT_PURE=1 to go without it"
        )
    if len(missing) + len(asked_for) < len(MODULES):
        raise ImportError(
            f"half of wengert's extension is missing ({', '.join(missing)}): install wengert again "
            "(`python -m pip install --force-reinstall wengert`), or set WENGERT_PURE=1 to go without it"
        )
    return frozenset(MODULES)


class _FormFinder(MetaPathFinder):
    """A finder of the Python form of an extension module, under the module's name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.rpartition(".")[2]
        if MODULES.get(name) != fullname or name not in _python_forms:
            return None
        return spec_from_file_location(fullname, form(name))


def _refuse_without_gil() -> None:
    """Raise ImportError where threads run Python code at the same time.

    While a trace is open other people's code is exchanged in several steps, by the compiled modules too, which count on
    it that no other thread runs in between. Importing those would switch the lock on for the whole process, unasked: so
    this is looked at before.
    """
    is_on = getattr(sys, "_is_gil_enabled", None)
    if is_on is not None and not is_on():
        raise ImportError(
            "wengert needs Python's global lock (GIL), which this free-threaded Python runs without: start Python with "
            "PYTHON_GIL=1 (or -X gil=1), or use the usual build of Python"
        )


_refuse_without_gil()
_python_forms: frozenset[str] = _look(_asked_for(environ.get("WENGERT_PURE", "")))

if not any(isinstance(finder, _FormFinder) for finder in sys.meta_path):
    # Before the others: where a module's Python form is asked for, its compiled one may be there too.
    sys.meta_path.insert(0, _FormFinder())
