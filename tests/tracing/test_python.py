"""One folder reads the interpreter, ``tracing/python/``: all other files are searched for what would do so."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "wengert"
ROOMS = ("tracing/python/", "tracing/interception/", "pure/")
"""The folders that read the interpreter, and that change what it runs; the last one where nothing is compiled."""

OF_TEXT = ("report/loops.py", "hosts/_lmfit.py")
"""The files that read text by the documented syntax trees alone: to find loops and functions in the user's files, and
what is in an expression of lmfit's."""

MODULES = ("ast", "dis", "opcode")
ATTRIBUTES = re.compile(r"__code__|co_[a-z]+|(f|gi|cr|ag)_code|(f|tb)_lasti")
BY_NAME = ("getattr", "held", "attrgetter")


def reads(text: str) -> list[tuple[int, str]]:
    """The lines of a file that read the interpreter, each with the name by which it does."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name in MODULES]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module in MODULES else []
        elif isinstance(node, ast.Attribute):
            names = [node.attr] if ATTRIBUTES.fullmatch(node.attr) else []
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in BY_NAME:
            literal = [given.value for given in node.args if isinstance(given, ast.Constant)]
            names = [value for value in literal if isinstance(value, str) and ATTRIBUTES.fullmatch(value)]
        found += [(node.lineno, name) for name in names]
    return found


def found_in(folder: Path) -> list[str]:
    """Where the files of a folder read the interpreter that should not."""
    files = [(path, path.relative_to(folder).as_posix()) for path in sorted(folder.rglob("*.py"))]
    return [
        f"{name}:{line} reads {what}: ask a function of wengert.tracing.python, or add one"
        for path, name in files
        if not name.startswith(ROOMS)
        for line, what in reads(path.read_text(encoding="utf-8"))
        if not (name in OF_TEXT and what == "ast")
    ]


def test_no_other_file_reads_the_interpreter() -> None:
    assert found_in(SOURCE) == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("import dis", "dis"),
        ("from ast import parse", "ast"),
        ("import os, opcode", "opcode"),
        ("place = frame.f_lasti", "f_lasti"),
        ("place = at.tb_lasti", "tb_lasti"),
        ("key = f.__code__", "__code__"),
        ("f.__code__ = other", "__code__"),
        ("names = code.co_names", "co_names"),
        ("first = frame.f_code.co_consts[0]", "f_code"),
        ("code = generator.gi_code", "gi_code"),
        ("code = held(f, '__code__')", "__code__"),
        ("read = operator.attrgetter('co_code')", "co_code"),
    ],
)
def test_a_line_that_was_planted_is_found(line: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "passes").mkdir()
    (tmp_path / "passes" / "planted.py").write_text(f'"""About f.__code__ and dis."""\n\n{line}\n')
    for room in ROOMS:
        (tmp_path / room).mkdir(parents=True)
        (tmp_path / room / "reader.py").write_text(f"{line}\n")
    assert f"passes/planted.py:3 reads {what}" in "\n".join(found_in(tmp_path))
    assert all(text.startswith("passes/planted.py:3 ") for text in found_in(tmp_path))


@pytest.mark.parametrize(
    "line", ["encode = error.code", "import inspect", "NAMES = ['__code__', 'f_back']", "co = x.co"]
)
def test_other_lines_are_not(line: str) -> None:
    assert reads(line) == []
