"""The counts that must not rise find what they are to find."""

import pytest

from tools import counts


@pytest.fixture
def _house(tmp_path, monkeypatch):
    """A house of two files and one test, as the folder in which the tool is run."""
    (tmp_path / "src/wengert/ops").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "src/wengert/ops/kernels.py").write_text("class Map:\n    pass\n")
    (tmp_path / "src/wengert/lower.py").write_text(
        '"""What a kernel is."""\n'
        "from typing import Any\n"
        "from wengert.ops import kernels\n"
        "class Map:\n"
        '    """Return nothing."""\n'
        "def lower(kernel: Any, name: str) -> bool:\n"
        "    match kernel:\n"
        "        case kernels.Map():\n"
        "            return True\n"
        "    return isinstance(kernel, kernels.Map | str) or isinstance(kernel, str)\n"
    )
    (tmp_path / "tests/test_lower.py").write_text("def test_rd_2():\n    pass\ndef test_lowering_2():\n    pass\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_house")
def test_what_is_counted_is_found_with_its_line():
    assert counts.kernel_questions() == ["src/wengert/lower.py:8", "src/wengert/lower.py:10"]
    assert counts.classes_met_twice() == ["Map: src/wengert/lower.py:4, src/wengert/ops/kernels.py:1"]
    assert counts.without_subject() == ["src/wengert/lower.py:1: What a kernel is."]
    assert [is_any for _, is_any in counts.parameters()] == [True, False]
    assert counts.codes() == ["tests/test_lower.py:1: test_rd_2"]


@pytest.mark.usefixtures("_house")
def test_an_alias_of_any_counts_as_any_where_it_is_imported_too(tmp_path):
    (tmp_path / "src/wengert/names.py").write_text("import typing\nTree = typing.Any\nLeaves = list[typing.Any]\n")
    (tmp_path / "src/wengert/lower.py").write_text(
        "from wengert.names import Leaves, Tree as T\n"
        "Model: TypeAlias = T\n"
        "def lower(a: T, b: Model | None, c: 'T', d: Optional[T], e: Leaves, f: object, g: Unknown): ...\n"
    )
    assert [is_any for _, is_any in counts.parameters()] == [True] * 4 + [False] * 3


def test_public_functions_are_those_that_packages_export():
    names = {name for name, _ in counts.public_functions()}
    assert {"wengert.grad", "wengert.nn.dropout", "wengert.ode.solve_ivp"} <= names
