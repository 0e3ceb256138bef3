"""The Python form of the runtime's module answers every call by Python code, and refuses what is of machine code."""

from __future__ import annotations

import gc
import sys
import threading
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

import pytest

from wengert import extension
from wengert.errors import ConfigError
from wengert.pure import opened


@pytest.fixture(scope="module")
def native() -> ModuleType:
    """The Python form, by a name of its own."""
    spec = spec_from_file_location("wengert.pure.native", extension.form("_native"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stub_names() -> set[str]:
    """The names that the stub of the module declares, but for its aliases of types."""
    import ast

    text = (extension._folder("_native") / "_native.pyi").read_text(encoding="utf-8")
    body = ast.parse(text).body
    classes_and_functions = [n.name for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    return {*classes_and_functions, "finding"}


def test_every_name_has_a_python_form_or_an_error(native: ModuleType) -> None:
    of_machine_code = set(native.OF_MACHINE_CODE)
    for name in of_machine_code:
        with pytest.raises(ConfigError, match=rf"{name} is of machine code(.|\n)*wg.doctor\(\)"):
            getattr(native, name)
    names = stub_names()
    assert of_machine_code < names and all(hasattr(native, name) for name in names - of_machine_code)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = native.nothing


def test_a_dispatcher_asks_the_subclass_at_every_call(native: ModuleType) -> None:
    class Answering(native.Dispatcher):
        def _slow(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return args, kwargs, native.finding.mode

    answering = Answering(1, a=2)
    assert answering(3, out=None) == ((3,), {"out": None}, 0) and answering.calls == 1
    assert answering._entries == () and answering._forget() is None
    answering._finds_nans = True
    assert answering() == ((), {}, 2) and native.finding.mode == 0 and answering.calls == 2
    assert Answering.__class_getitem__(int).__origin__ is Answering


def test_finding_is_of_a_thread(native: ModuleType) -> None:
    finding = native.finding
    assert (finding.here, finding.everywhere, finding.mode) == (-1, 0, 0)
    finding.everywhere = 2
    try:
        assert finding.mode == 2
        finding.here = 0
        seen: list[int] = []
        thread = threading.Thread(target=lambda: seen.append(finding.mode))
        thread.start()
        thread.join()
        assert (finding.mode, seen) == (0, [2])
    finally:
        finding.everywhere, finding.here = 0, -1


def test_threads_are_a_number_without_effect(native: ModuleType) -> None:
    assert native.get_threads() == 1
    native.set_threads(3)
    assert native.get_threads() == 3
    with pytest.raises(ValueError, match="at least 1"):
        native.set_threads(0)
    with pytest.raises(TypeError):
        native.set_threads("2")


def test_the_clock_goes_on(native: ModuleType) -> None:
    assert native.now()[1] <= native.now()[1]
    assert native.n_watched_dicts() == native.kept_bytes() == 0
    native.setup(guard_miss=RuntimeError)


def test_nothing_is_collected_while_threads_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 waited for itself for ever where a thread-local object was freed in ``sys._current_frames``."""
    frames, collects = sys._current_frames, []
    monkeypatch.setattr(sys, "_current_frames", lambda: (collects.append(gc.isenabled()), frames())[1])
    assert opened._n_threads() == len(frames())
    assert collects == [False] and gc.isenabled()
