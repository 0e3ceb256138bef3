"""Which tests `make test` leaves out: those with a mark that says why, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.conftest import arguments_of

CONFTEST = Path(__file__).with_name("conftest.py")
MARKERS = "[pytest]\nmarkers =\n    deep(reason): long\n    sampled(k, reason): many\n    machine_code(reason): llvm\n"


def collected(folder: Path, tests: str, native: str = "1") -> subprocess.CompletedProcess[str]:
    """What ``-m "not deep"`` finds in a folder with our ``conftest.py`` and these tests."""
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "pytest.ini").write_text(MARKERS)
    (folder / "test_them.py").write_text("import pytest\nmark = pytest.mark\n" + textwrap.dedent(tests))
    options = ["-q", "--collect-only", "--strict-markers", "-m", "not deep", str(folder)]
    command = [sys.executable, "-m", "pytest", *options]
    env = {**os.environ, "WENGERT_NATIVE": native}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=folder, env=env)


def test_the_deep_ones_are_left_out(tmp_path: Path) -> None:
    """Of a sampled test all but every k-th case, counted for each test by itself."""
    done = collected(
        tmp_path,
        """
        @mark.deep("long")
        def test_a(): ...

        @mark.sampled(3, "many")
        @mark.parametrize("k", range(7))
        def test_b(k): ...

        @mark.sampled(2, "many")
        @mark.parametrize("k", [0, pytest.param(1, marks=mark.deep("long")), 2])
        def test_c(k): ...

        @mark.parametrize("k", [0, pytest.param(1, marks=mark.deep("long"))])
        def test_d(k): ...
        """,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    names = [line.split("::")[1] for line in done.stdout.splitlines() if "::" in line]
    assert names == ["test_b[0]", "test_b[3]", "test_b[6]", "test_c[0]", "test_c[2]", "test_d[0]"]


def test_those_of_machine_code_are_left_out_where_there_is_none(tmp_path: Path) -> None:
    """A file in a folder of machine code is not imported either."""
    (tmp_path / "codegen").mkdir()
    (tmp_path / "codegen" / "test_kernels.py").write_text("import llvmlite.nothing")
    tests = """
        @mark.machine_code("kernels are counted")
        def test_a(): ...

        def test_b(): ...
        """
    done = collected(tmp_path, tests, native="0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split("::")[1] for line in done.stdout.splitlines() if "::" in line] == ["test_b"]
    assert "1 deselected" in done.stdout


def test_a_test_that_asks_for_kernels_is_skipped_where_there_are_none(tmp_path: Path) -> None:
    """One in whose course wengert itself asks for them fails."""
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "pytest.ini").write_text(MARKERS)
    (tmp_path / "test_them.py").write_text(
        textwrap.dedent("""
        import numpy as np, wengert as wg
        from wengert.report import exports

        def program():
            return wg.compile(wg.trace(np.sin)(1.0))

        def test_a(): program().kernels
        def test_b(): program().memory()
        def test_c(): wg.timed().__enter__()
        def test_d(): assert wg.compile(wg.trace(np.cos)(1.0)).arena_bytes
        def test_e(): exports._arguments, exports._with_bodies(program())
        """)
    )
    command = [sys.executable, "-m", "pytest", "-q", str(tmp_path)]
    env = {**os.environ, "WENGERT_NATIVE": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path, env=env)
    assert "2 failed, 3 skipped" in done.stdout, done.stdout + done.stderr


def test_a_mark_without_a_reason_is_refused(tmp_path: Path) -> None:
    done = collected(tmp_path, "@mark.deep\ndef test_a(): ...")
    assert done.returncode == 4
    assert "test_a: write @pytest.mark.deep(reason), with the reason why it takes long" in done.stderr + done.stdout


@pytest.mark.parametrize(
    "mark",
    [pytest.mark.deep(""), pytest.mark.deep(why="long"), pytest.mark.sampled("many"), pytest.mark.sampled(0, "many")],
    ids=str,
)
def test_what_a_mark_says(mark: pytest.MarkDecorator, request: pytest.FixtureRequest) -> None:
    with pytest.raises(pytest.UsageError, match="with the reason"):
        arguments_of(mark.mark, request.node)
    assert arguments_of(pytest.mark.sampled(7, "many").mark, request.node) == (7, "many")
