"""The rules of imports that our own tools check, on packages made up for the purpose."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest

from tools.circles import MEANT, circles
from tools.contracts import PublicApiAlone


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package ``made_up`` with a public function and a file below it."""
    folder = tmp_path / "made_up"
    folder.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    write(folder, {"__init__": "from made_up.below import f", "below": "def f(): pass"})
    yield folder
    sys.modules.pop("made_up", None)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def broken(*on_top: str) -> list[tuple[str, str]]:
    options: dict[str, Any] = dict(root="made_up", on_top=list(on_top))
    check = PublicApiAlone("", session_options={}, contract_options=options).check(
        grimp.build_graph("made_up", cache_dir=None), False
    )
    assert check.kept == (not check.metadata["found"])
    return check.metadata["found"]


def test_a_layer_on_top_may_import_the_package_and_its_own_files(package: Path) -> None:
    write(package, {"nn/__init__": "import made_up\nfrom made_up.nn import layers", "nn/layers": "import made_up as m"})
    assert broken("made_up.nn", "made_up.not_there_yet") == []


def test_a_layer_on_top_that_looks_below_is_named(package: Path) -> None:
    write(package, {"nn/__init__": "", "nn/layers": "def layer():\n    from made_up.below import f"})
    assert broken("made_up.nn") == [("made_up.nn.layers", "made_up.below")]


def test_a_layer_on_top_imports_what_another_shows_and_not_its_files(package: Path) -> None:
    write(package, {"nn/__init__": "from made_up import optimize\nfrom made_up.optimize import steps"})
    write(package, {"optimize/__init__": "", "optimize/steps": ""})
    assert broken("made_up.nn", "made_up.optimize") == [("made_up.nn", "made_up.optimize.steps")]


def test_a_circle_is_found_also_through_an_import_inside_a_function(package: Path) -> None:
    write(package, {"below": "from made_up import beside", "beside": "def g():\n    from made_up import below"})
    assert circles("made_up") >= {frozenset({"made_up.below", "made_up.beside"})}


def test_imports_for_type_checking_make_no_circle(package: Path) -> None:
    write(package, {"a": "from made_up import b"})
    write(package, {"b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from made_up import a"})
    assert circles("made_up") == set()


def test_the_circles_of_wengert_are_those_that_are_meant() -> None:
    assert circles("wengert") == MEANT
