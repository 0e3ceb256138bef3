"""Mutants are what they say, keep their lines and names, and are made of nothing that no value depends on; what a
process of one ends with is heard."""

from __future__ import annotations

import ast
import os
import signal
from pathlib import Path

import pytest

from tools import mutants
from tools.mutants_equal import EQUAL
from tools.mutations import Mutant, mutant_tree, mutants_in


def changes(text: str) -> set[str]:
    return {f"{m.kind}: {m.change}" for m in mutants_in("f.py", text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y", {"sign: x + y -> x - y"}),
        ("-x", {"sign: -x -> x"}),
        ("x * y", {"factor: x * y -> x / y", "factor: x * y -> x"}),
        ("x @ y", {"order: x @ y -> y @ x", "factor: x @ y -> x"}),
        ("x[1]", {"index: 1 -> 2"}),
        ("x[:n]", {"index: :n -> :n - 1"}),
        ("f(x, y)", {"order: f(x, y) -> f(y, x)"}),
        ("equal(x, y)", set()),
        ("select(c, x, y)", {"mask: select(c, x, y) -> select(c, y, x)"}),
        ("not x", {"mask: not x -> x"}),
        ("x < y", {"comparison: x < y -> x <= y", "comparison: x < y -> x > y"}),
        ("x and y", {"mask: x and y -> x or y", "missing case: x and y -> x", "missing case: x and y -> y"}),
        ("x if c else y", {"missing case: x if c else y -> x", "missing case: x if c else y -> y"}),
        ("isinstance(x, A | B)", {"missing case: A | B -> A"}),
        ("if c:\n    y = x", {"missing case: if c: ... -> if False: ...", "missing case: if c: ... -> if True: ..."}),
        ("[x for x in y if x]", {"missing case: for x in y if x -> for x in y"}),
        ("f(x)", {"missing case: f(x) -> pass"}),
    ],
)
def test_the_changes_of(text: str, expected: set[str]) -> None:
    statement = text if text.startswith("if") or text == "f(x)" else f"z = {text}"
    assert changes(statement) == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""Text."""',
        "raise ValueError(x + 1)",
        "if x < 0:\n    raise ValueError(x)",
        "assert x < 1",
        "def f(x: A | B) -> C | D: pass",
        "def __repr__(self): return x + 1",
        "y = f(x, cost=flops(2 * n))",
        "_solve_cost = lambda n: n * n",
        "y = f'{x + 1}'",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    x = 1 + 1",
        "__all__ = ['a'] + ['b']",
        "@f(x, 1)\ndef g(): pass",
    ],
)
def test_no_mutant_is_made_of_what_no_value_depends_on(text: str) -> None:
    assert [c for c in changes(text) if "f(x, cost" not in c] == []


TEXT = "def f(x):\n    y = x + 1\n\n    return y * x\n"


def test_a_mutant_computes_something_else_and_keeps_its_lines() -> None:
    found = next(m for m in mutants_in("f.py", TEXT) if m.change == "x + 1 -> x - 1")
    names: dict[str, object] = {}
    exec(compile(mutant_tree(found, TEXT), "f.py", "exec"), names)
    f = names["f"]
    assert callable(f) and f(5) == 20
    assert [line for _, _, line in f.__code__.co_lines()][-1] == 4
    assert (found.line, found.function_line) == (2, 1)
    assert found.diff(TEXT) == "@@ -1,3 +1,3 @@\n def f(x):\n-    y = x + 1\n+    y = x - 1\n     return y * x"


def test_a_mutant_is_known_again_when_lines_move() -> None:
    moved = "g = 1\n\n\n" + TEXT
    keys = {m.key for m in mutants_in("f.py", TEXT)}
    assert keys < {m.key for m in mutants_in("f.py", moved)}
    assert len(keys) == len(mutants_in("f.py", TEXT))


def test_as_many_mutants_are_drawn_of_each_group_and_the_same_again() -> None:
    found = mutants.drawn(10, seed=3, only=["ad/forward.py", "ops/contract.py"])
    assert found == mutants.drawn(10, seed=3, only=["ad/forward.py", "ops/contract.py"])
    assert [m.file for m in found] == ["ops/contract.py", "ad/forward.py"] * 5
    assert found != mutants.drawn(10, seed=4, only=["ad/forward.py", "ops/contract.py"])


def test_equal_mutants_are_still_there() -> None:
    """A row whose code has changed goes."""
    keys = {m.key for f in {e.file for e in EQUAL.values()} for m in mutants_in(f, (mutants.SOURCE / f).read_text())}
    assert set(EQUAL) <= keys


def test_every_group_has_files_and_their_mirrors_exist() -> None:
    for patterns in mutants.GROUPS.values():
        for pattern in patterns:
            assert mutants.files_of([pattern])
    assert mutants.mirror_of("ad/reverse.py") == "tests/ad/test_reverse.py"
    assert mutants.mirror_of("ops/elementwise.py") == "tests/ops/test_ops.py"


def test_the_module_is_compiled_with_the_mutant_in_it() -> None:
    file = "ad/partition.py"
    mutant: Mutant = mutants_in(file, (mutants.SOURCE / file).read_text())[0]
    finder = mutants.MutantFinder(mutant)
    assert finder.find_spec("wengert.ad.reverse") is None
    spec = finder.find_spec("wengert.ad.partition")
    assert spec.origin == str(mutants.SOURCE / file)
    plain = compile(ast.parse((mutants.SOURCE / file).read_text()), spec.origin, "exec", dont_inherit=True)
    assert finder.get_code("wengert.ad.partition") != plain


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: ["what", 1], (["what", 1], "")),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), (None, f"ended by signal {int(signal.SIGTERM)}")),
        (lambda: os._exit(0), (None, "ended")),
        (lambda: os.kill(os.getpid(), signal.SIGXCPU), (None, "out of time")),
    ],
)
def test_what_a_process_ends_with_is_heard(work: object, said: object, tmp_path: Path) -> None:
    assert callable(work)
    assert mutants.forked(work, 5, tmp_path / "log") == said


def test_a_failure_of_the_tool_is_none_of_the_mutant(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        mutants.forked(lambda: 1 // 0, 5, tmp_path / "log")
