"""``python -m wengert run script.py``, as a process of its own: Python's own behaviour, and derivatives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wengert.report.command.scripts import is_of_script

SCRIPT = """\
import sys
import neighbour
import numpy as np
from scipy.optimize import minimize
found = minimize(neighbour.far, np.zeros(8))
print(__name__, sys.argv[1:], found.nfev == found.njev)
if "fail" in sys.argv:
    raise KeyError("own")
if "leave" in sys.argv:
    raise SystemExit(3)
"""
NEIGHBOUR = "import numpy as np\ndef far(x):\n    return np.sum((x - 3) ** 4)\n"


def run(folder: Path, *words: str, module: bool = True) -> subprocess.CompletedProcess[str]:
    (folder / "fit.py").write_text(SCRIPT)
    (folder / "neighbour.py").write_text(NEIGHBOUR)
    command = [sys.executable, *(["-m", "wengert"] if module else []), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder.parent)


def test_a_script_runs_as_python_runs_it(tmp_path: Path) -> None:
    plain = run(tmp_path, str(tmp_path / "fit.py"), "a", "--grad", module=False)
    found = run(tmp_path, "run", "--eager", str(tmp_path / "fit.py"), "a", "--grad")
    assert plain.stdout == "__main__ ['a', '--grad'] False\n"
    assert found.stdout == "__main__ ['a', '--grad'] True\n"
    assert found.returncode == 0
    assert found.stderr.startswith("wengert: 1 call of solvers, 1 slot filled")


@pytest.mark.parametrize(("word", "code"), [("fail", 1), ("leave", 3)])
def test_how_it_ends_is_the_scripts(tmp_path: Path, word: str, code: int) -> None:
    found = run(tmp_path, "run", "--quiet", "--eager", str(tmp_path / "fit.py"), word)
    assert found.returncode == code
    assert "wengert: " not in found.stderr
    assert ("KeyError: 'own'" in found.stderr) == (word == "fail")


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    found = run(tmp_path, "run", "nothing.py")
    assert (found.returncode, found.stderr) == (2, "wengert: there is no file nothing.py\n")


def test_a_function_in_a_file_is_no_script() -> None:
    assert not is_of_script(["fit.py:loss"])
    assert not is_of_script([])
    assert not is_of_script(["--quiet"])
    assert is_of_script(["fit.py", "fit.py:loss"])
