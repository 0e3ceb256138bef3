"""The three settings give the same answers: machine code; NumPy with the extension; NumPy alone, nothing compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import wengert
from tests.acceptance.answers import answers
from wengert.errors import PerformanceWarning

ROOT = Path(__file__).parents[2]
WITHOUT_LLVMLITE = "import sys; sys.modules['llvmlite'] = None"
SAVING = """
import runpy, sys, warnings
sys.argv = ["answers", {path!r}]
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    runpy.run_module("tests.acceptance.answers", run_name="__main__")
print(*[f"{{w.category.__name__}}: {{w.message}}" for w in said], sep="\\n")

import wengert
print(wengert.doctor().setting)
compiled = [name for name, module in sys.modules.items() if name.startswith("wengert")
            and not str(getattr(module, "__file__", None) or ".py").endswith(".py")]
print("compiled:", *sorted(compiled))
"""


def run(code: str, options: tuple[str, ...] = ()) -> str:
    """Return what a process prints that has none of our variables, and does not read this checkout's settings."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("WENGERT_")}
    done = subprocess.run(
        [sys.executable, *options, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def are_the_same(found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> None:
    assert set(found) == set(wanted)
    for name, x in wanted.items():
        np.testing.assert_allclose(found[name], x, rtol=1e-10, atol=1e-12, err_msg=name)
        assert found[name].dtype == x.dtype


def here() -> Mapping[str, np.ndarray]:
    """Return the answers of this process, whichever its setting is."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", PerformanceWarning
        )  # without the extension a function that draws is run plainly
        return answers()


def test_without_llvmlite(tmp_path: Path) -> None:
    path = str(tmp_path / "answers.npz")
    said = run(f"{WITHOUT_LLVMLITE}\n{SAVING.format(path=path)}").splitlines()
    assert len(said) == 3 and said[0].startswith("PerformanceWarning: programs are run by NumPy"), said
    assert said[1] == "NumPy, with the extension"
    are_the_same(np.load(path), here())


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wengert's Python files, as the pure wheel has them: no extension was ever there."""
    folder = tmp_path_factory.mktemp("pure")
    ignored = shutil.ignore_patterns("*.so", "*.cpp", "*.h", "__pycache__")
    shutil.copytree(Path(wengert.__file__).parent, folder / "wengert", ignore=ignored)
    return folder


def test_without_the_extension(copied: Path, tmp_path: Path) -> None:
    """Python starts without the packages of ``site``, so that no editable install leads back to the extension."""
    path = str(tmp_path / "answers.npz")
    places = [str(copied), str(ROOT), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    start = f"import sys; sys.path[:0] = {places!r}; sys.modules['llvmlite'] = None"
    said = run(f"{start}\n{SAVING.format(path=path)}", ("-S",)).splitlines()
    first, *others = said
    assert first.startswith("PerformanceWarning") and "wengert is installed without its extension" in first
    draws, *others = others  # a generator's methods are C: without the extension Python runs a function that draws
    assert "the function changes the state of argument[0]" in draws
    assert others == ["NumPy, pure Python", "compiled:"]
    are_the_same(np.load(path), here())
