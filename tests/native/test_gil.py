"""Every extension module says that it uses the GIL: one that did not would be imported into a Python without one."""

from __future__ import annotations

import sys
from pathlib import Path

import wengert as wg

SOURCE = Path(wg.__file__).parent
ROOT = Path(__file__).parents[2]


def test_every_module_says_that_it_uses_the_gil() -> None:
    """One said nothing, and the others that they need none: which held depended on what was imported."""
    modules = {path.name: text for path in SOURCE.rglob("*.cpp") if "PyModuleDef_Init(" in (text := path.read_text())}
    assert {"contexts.cpp", "opened.cpp", "c_functions.cpp", "entered.cpp"} < modules.keys()
    assert not [name for name, text in modules.items() if text.count("    USES_THE_GIL\n") != 1]
    texts = [path.read_text() for folder in SOURCE.rglob("native") for path in folder.iterdir() if path.is_file()]
    assert not [text for text in texts if "GIL_NOT_USED" in text or "PyModule_Create(" in text]
    assert "FREE_THREADED" not in (ROOT / "CMakeLists.txt").read_text()  # nanobind's word for the same


def test_the_gil_is_there() -> None:
    assert getattr(sys, "_is_gil_enabled", lambda: True)()
