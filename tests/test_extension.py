"""The door of the extension modules: which are compiled, which are answered in Python, and what is no installation."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wengert import extension


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_a_python_form_goes_by_the_name_of_its_module() -> None:
    done = run(
        "import wengert, wengert._contexts as c, wengert.extension as e;"
        "print(e.python_forms(), c.__name__, e.is_compiled('_contexts'), c.__file__)",
        WENGERT_PURE="_contexts",
    )
    assert done.stdout.split()[:3] == ["('_contexts',)", "wengert._contexts", "False"], done.stderr
    assert done.stdout.split()[3] == str(extension.form("_contexts"))


def test_what_wengert_pure_may_say() -> None:
    assert extension._asked_for("") == extension._asked_for("0") == frozenset()
    assert extension._asked_for("1") == frozenset(extension.MODULES)
    assert extension._asked_for("tracing") | {"_native"} == frozenset(extension.MODULES)
    assert extension._asked_for("runtime, _steps") == {"_native", "_steps"}
    with pytest.raises(ValueError, match="WENGERT_PURE is 'steps'; expected 1, 0, tracing, runtime or names"):
        extension._asked_for("steps")
    with pytest.raises(KeyError, match="no extension module"):
        extension.is_compiled("steps")


def test_half_an_extension_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    built = {"_contexts", "_steps"}
    monkeypatch.setattr(extension, "_is_built", built.__contains__)
    monkeypatch.setattr(extension, "_of_other_pythons", lambda name: [])
    with pytest.raises(ImportError, match=r"half of wengert's extension is missing \(_array_functions, .*_native\)"):
        extension._look(frozenset())
    assert extension._look(frozenset(extension.MODULES) - built) == frozenset(extension.MODULES) - built
    built.clear()
    assert extension._look(frozenset()) == frozenset(extension.MODULES)
    built.add("_native")  # nothing of the other half is there, which was not asked for
    with pytest.raises(ImportError, match="half of wengert's extension is missing"):
        extension._look(frozenset())


def test_an_extension_of_another_python_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extension, "_ROOT", tmp_path)
    monkeypatch.setattr(extension, "_is_built", lambda name: False)
    (tmp_path / "_contexts.cpython-39-x86_64-linux-gnu.so").touch()
    with pytest.raises(ImportError, match=r"for another Python .* \(_contexts.cpython-39.*install wengert again"):
        extension._look(frozenset())


def names_of(file: Path) -> set[str]:
    """The public names that a file defines."""
    found: set[str] = set()
    for statement in ast.parse(file.read_text()).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found.add(statement.name)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found.add(statement.target.id)
        elif isinstance(statement, ast.Assign) and not isinstance(statement.value, ast.Call):  # of a stub: a TypeVar
            found.update(target.id for target in statement.targets if isinstance(target, ast.Name))
    return {name for name in found if not name.startswith("_")}


FORMS = extension.GROUPS["tracing"]  # of the other half tests/pure/test_native.py asks


@pytest.mark.parametrize("name", FORMS)
def test_a_form_has_the_names_that_the_stub_declares(name: str) -> None:
    stub = extension._folder(name) / f"{name}.pyi"
    assert names_of(stub) <= names_of(extension.form(name))


WITHOUT_LOCK = """
import sys
sys._is_gil_enabled = lambda: {}
import wengert
print(sorted(name for name in sys.modules if name.startswith("wengert._")))
"""


@pytest.mark.parametrize("forms", ["", "1"])
def test_a_python_without_its_lock_is_refused_before_anything_could_switch_it_on(forms: str) -> None:
    """As a free-threaded Python says it, which imports of compiled modules would change for the whole process."""
    assert run(WITHOUT_LOCK.format(True), WENGERT_PURE=forms).stdout == "['wengert._contexts']\n"
    refused = run(WITHOUT_LOCK.format(False), WENGERT_PURE=forms)
    assert refused.returncode == 1 and refused.stdout == ""
    assert refused.stderr.splitlines()[-1] == (
        "ImportError: wengert needs Python's global lock (GIL), which this free-threaded Python runs without: start "
        "Python with PYTHON_GIL=1 (or -X gil=1), or use the usual build of Python"
    )
