"""Tests mirror the source: every file of it has a test of its path, or a row of :mod:`tests.mirror`."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from tests.mirror import COVERED, Row

ROOT = Path(__file__).parent.parent
SOURCE, TESTS = ROOT / "src" / "wengert", ROOT / "tests"


def has_code(path: Path) -> bool:
    """Whether there is more in it than a docstring."""
    return path.suffix != ".py" or any(not isinstance(node, ast.Expr) for node in ast.parse(path.read_text()).body)


@cache
def sources() -> list[str]:
    """The Python and C++ files with code in them; headers and stubs declare what stands in others."""
    files = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".cpp")]
    return sorted(path.relative_to(SOURCE).as_posix() for path in files if has_code(path))


def mirrored(source: str) -> str:
    """Where the test of a file stands; that of an ``__init__.py`` is named after the folder."""
    path = Path("wengert", source)
    folder, name = (path.parent.parent, path.parent.name) if path.stem == "__init__" else (path.parent, path.stem)
    return Path("tests", *folder.parts[1:], f"test_{name}.py").as_posix()


@pytest.mark.parametrize(
    ("source", "test"),
    [
        ("ad/reverse.py", "tests/ad/test_reverse.py"),
        ("config.py", "tests/test_config.py"),
        ("tree/__init__.py", "tests/test_tree.py"),
        ("ops/linalg/__init__.py", "tests/ops/test_linalg.py"),
        ("__init__.py", "tests/test_wengert.py"),
        ("runtime/native/bound.cpp", "tests/runtime/native/test_bound.py"),
    ],
)
def test_where_the_test_of_a_file_stands(source: str, test: str) -> None:
    assert mirrored(source) == test and (SOURCE / source).exists()


@pytest.mark.parametrize("source", sources())
def test_every_file_has_a_test_or_a_row(source: str) -> None:
    rows = [row for row in COVERED if source in row.sources]
    if (ROOT / mirrored(source)).exists():
        assert not rows, f"{source} has {mirrored(source)}: its row in tests/mirror.py is not needed"
    else:
        assert rows, f"write {mirrored(source)}, or say in tests/mirror.py which test covers {source}, and why"


@pytest.mark.parametrize("row", COVERED, ids=lambda row: row.test)
def test_a_row_is_of_files_that_exist(row: Row) -> None:
    assert (ROOT / row.test).exists() and Path(row.test).name.startswith("test_")
    assert row.sources and [source for source in row.sources if source not in sources()] == []
    assert len(row.why.split()) > 4


def test_a_file_has_one_row() -> None:
    assert [source for source, n in Counter(s for row in COVERED for s in row.sources).items() if n > 1] == []


def imported(text: str) -> list[str]:
    """What a file imports, by its full name; so do the scripts that it runs in other processes, which are strings."""
    names: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "import" in node.value:
            with suppress(SyntaxError):
                names += imported(textwrap.dedent(node.value))
    return names


def of_tests(text: str) -> list[str]:
    return [name for name in imported(text) if re.match(r"tests\.(.*\.)?test_", name)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from tests.codegen.test_compiler import new_nest", ["tests.codegen.test_compiler.new_nest"]),
        ("def f():\n    from tests.codegen import kernel, test_compiler as t", ["tests.codegen.test_compiler"]),
        ("import tests.test_tree", ["tests.test_tree"]),
        ("SCRIPT = '''\n    import os\n    from tests.test_tree import nest\n'''", ["tests.test_tree.nest"]),
        ("from tests.codegen.kernel import target", []),
        ("'from tests.test_tree one may not import'", []),
    ],
)
def test_which_imports_are_of_tests(text: str, names: list[str]) -> None:
    assert of_tests(text) == names


@pytest.mark.sampled(5, "many that are alike")
@pytest.mark.parametrize(
    "path", sorted(set(TESTS.rglob("*.py")) - {Path(__file__)}), ids=lambda path: path.relative_to(TESTS).as_posix()
)
def test_no_test_imports_from_another(path: Path) -> None:
    """What tests share stands in files of its own, named by what they hold."""
    assert of_tests(path.read_text()) == []
    assert path.stem not in ("utils", "helpers", "common", "misc")
