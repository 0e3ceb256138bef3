"""A Python that is read wrongly is refused when wengert is imported."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wengert.errors import InterpreterError
from wengert.tracing.python import self_test
from wengert.tracing.python.bytecode import CodePlace
from wengert.tracing.python.calls import Callee

ROOT = Path(__file__).parents[3]


def test_this_python_is_read_rightly() -> None:
    self_test.check_interpreter()


@pytest.mark.parametrize(
    ("name", "broken", "what"),
    [
        ("callee", lambda place: Callee("else"), "what is called"),
        ("called_variable", lambda frame, place=None: None, "what is called"),
        ("call_around", lambda place: None, "loops, what is called"),
        ("place_of_call", lambda frame: CodePlace(self_test._counts.__code__, 0), "loops, what is called"),
        ("loops_around", lambda place: (), "loops"),
        ("is_counting", lambda frame, loop: False, "loops"),
        ("is_before_for", lambda place: False, "loops"),
        ("asks_truth", lambda frame: self_test.Truth.NOT, "who asks for a truth"),
        ("uses", lambda code: [][0], "names"),
        ("first_line", lambda code: self_test.line_of(sys._getframe(), 1), "lines"),
        ("is_operator", lambda place: False, "operators"),
        ("is_indexing", lambda place: True, "operators"),
    ],
)
def test_a_reader_that_does_not_know_this_python_is_noticed(
    name: str, broken: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hasattr(self_test, name)
    monkeypatch.setattr(self_test, name, broken)
    monkeypatch.setattr(
        self_test, "_PROBES", [p._replace(read=broken) if p.read.__name__ == name else p for p in self_test._PROBES]
    )
    with pytest.raises(InterpreterError, match=re.escape(f"wrongly ({what}): use CPython")):
        self_test.check_interpreter()


BROKEN = """
import dis

own = dis.get_instructions
renamed = {"LOAD_ATTR": "GET_ATTRIBUTE", "LOAD_METHOD": "GET_ATTRIBUTE", "FOR_ITER": "NEXT"}
dis.get_instructions = lambda code: [i._replace(opname=renamed.get(i.opname, i.opname)) for i in own(code)]
try:
    import wengert
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_a_python_whose_instructions_have_other_names_is_refused_with_a_sentence() -> None:
    done = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, check=True)
    version = re.escape(sys.version.split()[0])
    assert re.fullmatch(
        rf"InterpreterError wengert reads bytecode, and reads that of cpython {version} wrongly "
        r"\(loops, names, what is called\): use CPython [\d., ]+ or [\d.]+, or a newer wengert\n",
        done.stdout,
    )


def test_a_python_without_columns_is_not_refused() -> None:
    """Nothing can be told of calls there, which is known."""
    compiled_anew = "import sys; exec(open(sys.argv[1]).read()); check_interpreter(); print(_HAS_COLUMNS)"
    done = subprocess.run(
        [sys.executable, "-B", "-X", "no_debug_ranges", "-c", compiled_anew, self_test.__file__],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


def test_the_pythons_that_are_supported_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [c.rpartition(" :: ")[2] for c in project["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    assert tuple(found) == self_test.SUPPORTED
    assert project["requires-python"] == f">={self_test.SUPPORTED[0]}"
