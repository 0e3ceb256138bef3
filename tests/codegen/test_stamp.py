"""Machine code on disk is of the code generator that there is: an edit of any of its files is another stamp."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

import wengert
from wengert.codegen import cache
from wengert.codegen.target import target

PACKAGE = Path(wengert.__file__).parent
FOLDERS = sorted({path.parent.relative_to(PACKAGE) for path in (PACKAGE / "codegen").rglob("*.py")})


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's Python, to be edited."""
    goal = tmp_path_factory.mktemp("copied") / "wengert"
    shutil.copytree(PACKAGE, goal, ignore=shutil.ignore_patterns("*.so", "__pycache__", "native"))
    return goal


def stamp_of(copy: Path) -> bytes:
    """What a process that has this copy would find. Only its ``cache.py`` is loaded, which looks around itself."""
    spec = importlib.util.spec_from_file_location("copied_cache", copy / "codegen" / "cache.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.stamp(target())


def test_there_are_folders() -> None:
    assert {"codegen", "codegen/vecmath", "codegen/nests", "codegen/specs"} <= {path.as_posix() for path in FOLDERS}


def test_a_copy_has_the_stamp_of_the_original(copy: Path) -> None:
    assert stamp_of(copy) == cache.stamp(target())


@pytest.mark.parametrize("folder", [*FOLDERS, Path("ops")], ids=str)
def test_an_edit_changes_the_stamp(folder: Path, copy: Path) -> None:
    """Of one file in each folder: its text, or its age alone; a new file; and one that is gone."""
    name = {"ops": "kernels.py"}.get(str(folder), "__init__.py")
    path, seen = copy / folder / name, [stamp_of(copy)]
    path.write_text(path.read_text() + "\n# edited\n")
    seen.append(stamp_of(copy))
    os.utime(path, (1e9, 1e9))
    seen.append(stamp_of(copy))
    if str(folder) != "ops":
        (copy / folder / "new.py").write_text("")
        seen.append(stamp_of(copy))
        path.unlink()
        seen.append(stamp_of(copy))
    assert len(set(seen)) == len(seen)


def test_what_writes_no_kernel_is_none_of_its_business(copy: Path) -> None:
    before = stamp_of(copy)
    for name in ("api/derivatives.py", "ops/elementwise.py"):
        (copy / name).write_text("# edited\n")
    assert stamp_of(copy) == before
