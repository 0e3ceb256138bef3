"""Without llvmlite everything is answered by NumPy, and that is said once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wengert import config
from wengert.errors import ConfigError
from wengert.runtime import machine_code

INSTALL = 'pip install "wengert[native]"'
MISSING = "import sys; sys.modules['llvmlite'] = None\n"


def child(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, in which neither variable is set but by ``variables``."""
    env = {k: v for k, v in os.environ.items() if k not in ("WENGERT_NATIVE", "WENGERT_PURE")} | variables
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_the_import_needs_no_llvmlite() -> None:
    done = child(
        "import sys, wengert; print([m for m in sys.modules if m.startswith(('llvmlite', 'wengert.codegen.'))])"
    )
    assert eval(done.stdout) == ["wengert.codegen.locking", "wengert.codegen.cache_folder"]


def test_without_llvmlite_numpy_answers_and_it_is_said_once() -> None:
    done = child(
        MISSING
        + """
import warnings
import numpy as np, wengert as wg

f = wg.jit(wg.grad(lambda x: np.sum(np.sin(x) ** 2)))
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    y = f(np.ones(3))  # line 9
    wg.jit(lambda x: x + 1)(1.0)
    wg.compile(wg.trace(np.exp)(1.0))
assert np.allclose(y, 2 * np.sin(1) * np.cos(1))
(one,) = found
assert one.category is wg.PerformanceWarning and one.lineno == 9, one
assert "llvmlite is not installed" in str(one.message) and 'pip install "wengert[native]"' in str(one.message)
assert not wg.config.native and f.stats()["traces"] == 1
"""
    )
    assert not done.stderr


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"WENGERT_NATIVE": "0"}, ""),
        ({}, "wg.config.native = False"),
        ({"WENGERT_PURE": "runtime"}, ""),
    ],
)
def test_nothing_is_said_where_it_is_meant(variables: dict[str, str], line: str) -> None:
    code = f"{MISSING}import wengert as wg\n{line}\nassert wg.jit(wg.grad(lambda x: x * x))(3.0) == 6.0"
    assert not child(code, **variables).stderr


def test_un_jitted_calls_say_it_when_machine_code_would_have_answered() -> None:
    """A script of a few gradients never has machine code, and has nothing to hear."""
    code = MISSING + "import numpy as np, wengert as wg\ng = wg.grad(lambda x: np.sum(x * x))\n"
    assert not child(code + "g(np.ones(3))").stderr
    done = child(code + "x = np.ones(100_000)\nfor _ in range(300): g(x)")
    assert done.stderr.count("PerformanceWarning: programs are run by NumPy") == 1


def test_a_variable_that_asks_for_nothing_silences_nothing() -> None:
    done = child(MISSING + "import wengert as wg\nwg.jit(lambda x: x)(1.0)", WENGERT_PURE="0")
    assert done.stderr.count("PerformanceWarning") == 1 and INSTALL in done.stderr


def test_machine_code_that_is_asked_for_and_cannot_be_is_an_error() -> None:
    code = """
import wengert as wg
try:
    wg.config.native = True
except wg.errors.ConfigError as error:
    assert "llvmlite is not installed" in str(error) and "wengert[native]" in str(error)
    assert not wg.config.native
else:
    raise AssertionError("no error")
"""
    assert not child(MISSING + code).stderr


def test_an_llvmlite_that_cannot_be_loaded_is_as_none(tmp_path: Path) -> None:
    """Its library may be of another system: that is seen when it is imported."""
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").touch()
    (tmp_path / "llvmlite" / "binding.py").write_text("raise OSError('libllvm.so: wrong ELF class')")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import numpy as np, wengert as wg
assert wg.jit(wg.grad(np.sin))(0.0) == 1.0 and not wg.config.native
"""
    assert "llvmlite cannot be imported: libllvm.so: wrong ELF class" in child(code).stderr


def test_the_reason_and_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "native", False)
    assert machine_code.why_none() and machine_code.remedy()
    monkeypatch.setattr(machine_code._State, "missing", "llvmlite is not installed")
    monkeypatch.setattr(machine_code, "_IS_FORCED", False)
    assert machine_code.why_none() == "llvmlite is not installed" and machine_code.remedy() == machine_code.needed()
    with pytest.raises(ConfigError, match="there is no machine code here: llvmlite is not installed"):
        config.native = True
    assert not config.native


@pytest.mark.machine_code("it is loaded when it is first made")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_forked_while_another_thread_loads_llvmlite_compiles() -> None:
    """It would wait for ever for the end of an import that nobody goes on with."""
    code = """
import os, signal, threading, time
import numpy as np, wengert as wg

def forked() -> None:
    child = os.fork()
    if child == 0:
        signal.alarm(100)
        os._exit(0 if wg.jit(np.cos)(0.0) == 1.0 else 1)
    assert os.waitpid(child, 0)[1] == 0

thread = threading.Thread(target=lambda: wg.jit(np.sin)(1.0))
thread.start()
for _ in range(3):
    time.sleep(0.01)
    forked()
thread.join()
"""
    child(code)
