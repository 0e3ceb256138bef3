"""``doctor`` says which setting this is, why, and what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import wengert as wg
from wengert import config


@pytest.mark.machine_code("machine code is one of the things looked at")
def test_everything_is_right_here() -> None:
    found = wg.doctor()
    assert found.is_right and found.setting == "machine code" and not found.why and not found.install
    assert found.packages["llvmlite"] and found.version == wg.__version__
    assert "from differences" in found.looked[-1].found and "self-test" in repr(found)


def test_what_is_switched_off_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "native", False)
    found = wg.doctor(self_test=False)
    (row,) = [row for row in found.looked if row.what == "programs"]
    assert not found.is_right and not row.is_right and row.instead and found.why in row.found
    assert found.setting != "machine code" and "TO DO" in repr(found)
    assert all(row.what != "self-test" for row in found.looked)


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(config, "cache_dir", "/proc/kernels")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    (row,) = [row for row in wg.doctor(self_test=False).looked if row.what == "cache"]
    assert not row.is_right and "WENGERT_CACHE_DIR" in row.instead


def test_a_self_test_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    from wengert.api import installation

    monkeypatch.setattr(installation, "grad", lambda f: lambda x: 1 / 0)
    row = wg.doctor().looked[-1]
    assert not row.is_right and row.found.startswith("ZeroDivisionError") and "report" in row.instead


def test_a_process_without_llvmlite_says_what_to_install() -> None:
    code = """
import sys; sys.modules["llvmlite"] = None
import wengert as wg
found = wg.doctor()
assert found.setting != "machine code" and found.why == "llvmlite is not installed"
assert found.install == 'pip install "wengert[native]"' and found.install in repr(found)
assert found.looked[-1].is_right, found
wg.jit(wg.grad(lambda x: x * x))(1.0)
"""
    env = {name: value for name, value in os.environ.items() if not name.startswith("WENGERT_")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")  # and who has asked is not told again
