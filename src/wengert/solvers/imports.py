"""Modules are noticed when they are imported: a script imports what it calls after the context has been entered."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _NoticingLoader(importlib.abc.Loader):
    """A module's own loader, and what is to be done once the module is there."""

    def __init__(self, own: Any, done: Callable[[], None]) -> None:
        self._own, self._done = own, done

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._own
        module.__loader__ = self._own
        self._own.exec_module(module)
        self._done()


class _ImportFinder(importlib.abc.MetaPathFinder):
    def __init__(self, names: Sequence[str], notice: Callable[[str], None]) -> None:
        self._names, self._notice = set(names), notice

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self._names:
            return None
        behind = [*sys.meta_path]
        for finder in behind[behind.index(self) + 1 :]:  # which may be one of a context around this one
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _NoticingLoader(spec.loader, lambda: self._notice(name))
                return spec
        return None


@contextmanager
def when_imported(names: Sequence[str], notice: Callable[[str], None]) -> Iterator[None]:
    """FilledCall ``notice`` with each of the modules that is imported already, and with others when they are."""
    finder = _ImportFinder(names, notice)
    sys.meta_path.insert(0, finder)
    try:
        for name in names:
            spec = getattr(sys.modules.get(name), "__spec__", None)
            if name in sys.modules and not getattr(spec, "_initializing", False):
                notice(name)
        yield
    finally:
        sys.meta_path.remove(finder)
