"""Modules that are imported inside a context are noticed, and their own loaders stay theirs."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from wengert.solvers.imports import when_imported


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("noticed_one", "noticed_two", "noticed_three"):
        (tmp_path / f"{name}.py").write_text("there = True\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("modules")
def test_each_is_noticed_once_it_is_whole() -> None:
    found: list[tuple[str, bool]] = []
    outer: list[str] = []
    importlib.import_module("noticed_one")
    before = [*sys.meta_path]
    names = ["noticed_one", "noticed_two", "noticed_missing"]
    with (
        when_imported(names, outer.append),
        when_imported(names, lambda name: found.append((name, sys.modules[name].there))),
    ):
        module = importlib.import_module("noticed_two")
        importlib.import_module("noticed_three")
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("noticed_missing")
    assert found == [("noticed_one", True), ("noticed_two", True)]
    assert outer == ["noticed_one", "noticed_two"]
    assert sys.meta_path == before
    assert type(module.__loader__).__module__ != when_imported.__module__
    assert module.__spec__ is not None
    assert module.__spec__.loader is module.__loader__
    importlib.reload(module)
    assert len(found) == 2
