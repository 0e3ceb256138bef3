"""Commands print what was asked for, and their exit codes say whose mistake it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert import config

pytest.importorskip("typer", reason="the command line needs typer")

from typer.testing import CliRunner

from wengert.report.command.app import build

MODEL = """
import numpy as np

def loss(x, y):
    return np.sum((np.exp(x) - y) ** 2)

def fails(x):
    return missing + x

def vector(x):
    return np.sin(x)

rate = 0.1
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model_of_a_test.py"
    path.write_text(MODEL)
    return str(path)


def called(*words: str) -> Any:
    return CliRunner().invoke(build(), list(words))


def test_run(model: str) -> None:
    done = called("run", f"{model}:loss", "--args", "np.zeros(3), 2.0")
    assert done.exit_code == 0 and float(done.stdout) == 3.0
    for words in ((), ("--jit",)):
        done = called("run", f"{model}:loss", "--args", "np.zeros(3), 2.0", "--grad", "--json", *words)
        assert json.loads(done.stdout) == [-2.0, -2.0, -2.0]
    assert float(called("run", "math:cos", "--args", "0.0").stdout) == 1.0


def test_arguments_from_a_file(model: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", y=2.0, x=np.zeros(3))
    done = called("run", f"{model}:loss", "--args-from", str(tmp_path / "data.npz"), "--grad", "--json")
    assert json.loads(done.stdout) == [-2.0, -2.0, -2.0]


@pytest.mark.machine_code("kernels are looked at")
def test_explain(model: str, tmp_path: Path) -> None:
    words = ("explain", f"{model}:loss", "--args", "np.zeros(3), 2.0", "--grad")
    done = called(*words)
    assert done.exit_code == 0 and "model_of_a_test.py" in done.stdout and "\x1b" not in done.stdout
    assert json.loads(called(*words, "--json").stdout)["kernels"]
    page = tmp_path / "out.html"
    assert called(*words, "--html", str(page)).exit_code == 0
    assert "<html" in page.read_text() and sorted(p.name for p in tmp_path.glob("*.html")) == ["out.html"]
    assert called(*words, "--html", str(tmp_path / "no" / "out.html")).exit_code == 2


def test_bench(model: str) -> None:
    done = called("bench", f"{model}:loss", "--args", "np.zeros(3), 2.0", "--time", "0", "--json")
    rows = json.loads(done.stdout)["rows"]
    assert [row["form"] for row in rows] == ["NumPy", "jit(f)", "grad(f)", "jit(grad(f))"]
    assert all(row["least_s"] <= row["median_s"] and row["calls"] >= 2 for row in rows)
    done = called("bench", f"{model}:vector", "--args", "np.zeros(3)", "--time", "0")
    assert done.exit_code == 0 and "jit(grad(f))" in done.stdout


def test_the_users_error_is_told_with_their_line(model: str) -> None:
    done = called("run", f"{model}:fails", "--args", "1.0", "--grad")
    assert done.exit_code == 1
    assert done.stderr.rstrip().endswith("NameError: name 'missing' is not defined")
    assert "model_of_a_test.py" in done.stderr and "wengert/" not in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("{}:los", "--args", "1, 2"), "no function los; it has loss"),
        (("{}:rate",), "a float, no function, rate"),
        (("{}",), "does not name a function"),
        (("no_such_file.py:f",), "there is no file no_such_file.py"),
        (("no_such_module:f",), "no file and no module no_such_module"),
        (("{}:loss", "--args", "np.one(3)"), "has no attribute 'one'"),
        (("{}:loss", "--args", "1.0"), "missing a required argument: 'y'"),
        (("{}:loss",), "loss(x, y)"),
        (("{}:loss", "--args-from", "none.npz"), "none.npz"),
        (("{}:loss", "--args", "1", "--args-from", "a.npz"), "exclude each other"),
    ],
)
def test_a_wrong_call_is_refused(model: str, words: tuple[str, ...], why: str) -> None:
    done = called("run", *[word.format(model) for word in words])
    assert done.exit_code == 2 and why in done.stderr


def test_names_of_a_file_that_do_not_fit(model: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", z=2.0, x=np.zeros(3))
    done = called("run", f"{model}:loss", "--args-from", str(tmp_path / "data.npz"))
    assert done.exit_code == 2 and "no parameter z and no array y" in done.stderr


def test_the_cache_is_shown_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cache_dir", str(tmp_path))
    (tmp_path / "ab.o").write_bytes(b"12345")
    (tmp_path / "other.txt").write_text("kept")
    assert called("cache", "show").stdout == f"{tmp_path}: 1 kernel, 5 bytes\n"
    assert json.loads(called("cache", "clear", "--json").stdout)["entries"] == 1
    assert json.loads(called("cache", "show", "--json").stdout)["bytes"] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]
    monkeypatch.setattr(config, "cache_dir", "")
    assert "not kept" in called("cache", "show").stdout


@pytest.mark.machine_code("machine code is one of the things looked at")
def test_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    done = called("doctor", "--json")
    assert done.exit_code == 0 and all(row["is_right"] for row in json.loads(done.stdout))
    monkeypatch.setattr(config, "native", False)
    done = called("doctor")
    assert done.exit_code == 1 and "unset WENGERT_NATIVE" in done.stdout


@pytest.mark.deep("two thousand steps, and an explanation")
def test_demo() -> None:
    done = called("demo")
    assert done.exit_code == 0 and "found [ 1.   -1.    0.6 " in done.stdout and "demo.py:7" in done.stdout


def test_a_process_of_its_own(model: str) -> None:
    start = "import sys; from wengert.report.command import main; sys.argv[0] = 'wengert'; main()"
    done = subprocess.run(
        [sys.executable, "-c", start, "run", f"{model}:loss", "--args", "np.zeros(3), 2.0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "3.0", "")


def test_the_version() -> None:
    assert called("--version").stdout.startswith("wengert ")
