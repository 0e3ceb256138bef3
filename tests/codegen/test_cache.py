"""Machine code on disk: a second process compiles nothing, and a folder or a process in trouble harms nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.codegen.new_kernels import PROGRAM, address_of, call, new_nest, python, run_program
from wengert import config
from wengert.codegen import cache, compiler
from wengert.codegen.nests.emit import emit
from wengert.codegen.target import target


def test_a_second_process_compiles_nothing(folder: Path) -> None:
    compiled, loaded, bits = run_program()
    assert compiled > 0 and loaded == 0
    assert run_program() == (0, compiled, bits)


# -------------------------------------------------------------------------------------------------- a folder in trouble


@pytest.mark.sampled(4, "three processes each")
@pytest.mark.parametrize("how", ["a bit", "cut short", "empty", "another file"])
def test_a_damaged_file_is_compiled_anew(folder: Path, how: str) -> None:
    compiled, _, bits = run_program()
    files = sorted(folder.glob("*.o"))
    contents = [path.read_bytes() for path in files]
    for path, data in zip(files, contents, strict=True):
        if how == "a bit":
            path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
        elif how == "cut short":
            path.write_bytes(data[:-100])
        elif how == "empty":
            path.write_bytes(b"")
        else:
            path.write_bytes(b"#!/bin/sh\n" * 50)
    assert run_program() == (compiled, 0, bits)
    assert run_program() == (0, compiled, bits)


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    """It stands where a file stands, so that the superuser cannot write it either."""
    folder.write_text("a file")
    compiled, loaded, _ = run_program()
    assert compiled > 0 and loaded == 0
    assert folder.read_text() == "a file"
    assert call(address_of(new_nest()))[0] == 0.0


def test_no_folder_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cache_dir", "")
    monkeypatch.chdir(folder.parent)
    assert call(address_of(new_nest()))[0] == 0.0
    assert not list(folder.parent.iterdir())


def test_the_folder_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written longest ago goes first, and so do leftovers of processes that ended while they wrote."""
    folder.mkdir()
    for k in range(10):
        path = folder / f"{k:040x}.o"
        path.write_bytes(bytes(1000))
        os.utime(path, (1e9 + k, 1e9 + k))
    left = folder / "left.tmp"
    left.write_bytes(bytes(10))
    os.utime(left, (1e9, 1e9))
    monkeypatch.setattr(config, "cache_bytes", 5000)
    monkeypatch.setattr(cache, "_saved", 0)
    address_of(new_nest())
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert sum(sizes.values()) <= 5000
    assert f"{9:040x}.o" in sizes and f"{0:040x}.o" not in sizes
    assert "left.tmp" not in sizes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_fifty_processes_share_a_folder(folder: Path) -> None:
    """All compile the same kernels at once; one is killed between writing a file and giving it its name, one while it
    compiles. All others compute what is right, and afterwards every file is whole."""
    script = """
        import os, signal, sys
        from pathlib import Path
        sys.path.insert(0, os.getcwd())
        from tests.codegen.new_kernels import address_of, call, factor, new_nest
        from wengert.codegen import compiler

        nests = [new_nest() for _ in range(4)]
        children = []
        for n in range(50):
            pid = os.fork()
            if pid:
                children.append(pid)
                continue
            die = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
            if n == 7:
                Path.replace = die
            if n == 11:
                compiler.object_code = die
            right = all(call(address_of(nest))[1] == factor(nest) for nest in nests)
            os._exit(0 if right else 3)
        print(*[os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children])
    """
    done = python(script)
    assert done.returncode == 0, done.stderr
    codes = [int(code) for code in done.stdout.split()]
    killed = [k for k, code in enumerate(codes) if code == -signal.SIGKILL]
    assert set(killed) <= {7, 11}  # they may find all in the cache already
    assert [code for k, code in enumerate(codes) if k not in killed] == [0] * (50 - len(killed)), done.stderr
    assert len(list(folder.glob("*.o"))) == 4
    for path in folder.glob("*.o"):
        data = path.read_bytes()
        assert cache._checksum(data[16:]) == data[:16]


# ------------------------------------------------------------------------------------------------- processes that ended


def note_of_a_dead_process(folder: Path, text: str) -> Path:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / f"{child.pid}.1.compiling"
    note.write_text(text)
    return note


def test_a_kernel_that_ended_a_process_is_tried_in_another_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nests = [new_nest() for _ in range(3)]
    names = [compiler.name_of(compiler.key_of(nest)) for nest in nests]
    texts = [emit(nest, name, target()) for nest, name in zip(nests, names, strict=True)]
    note_of_a_dead_process(folder, texts[0] + texts[1])
    tried = []

    def survives(text: str) -> bool:
        tried.append(text)
        return names[0] not in text

    monkeypatch.setattr(compiler, "survives", survives)
    assert isinstance(address_of(nests[0]), str)
    assert call(address_of(nests[1]))[0] == 0.0
    assert call(address_of(nests[2]))[0] == 0.0
    assert tried == texts[:2]  # the third was not under suspicion


def test_the_note_of_a_living_process_accuses_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nest = new_nest()
    folder.mkdir()
    text = emit(nest, compiler.name_of(compiler.key_of(nest)), target())
    (folder / f"{os.getpid()}.1.compiling").write_text(text)
    monkeypatch.setattr(compiler, "survives", lambda text: False)
    assert call(address_of(nest))[0] == 0.0


@pytest.mark.parametrize("text", ["", "\0\xff nonsense", "define i32 @k123("])
def test_a_note_that_cannot_be_read_accuses_nobody(folder: Path, text: str) -> None:
    note_of_a_dead_process(folder, text)
    (folder / "nobody.compiling").write_text("")
    assert call(address_of(new_nest()))[0] == 0.0


def test_a_process_that_dies_while_it_compiles_leaves_the_next_one_well(folder: Path) -> None:
    dies = """
        import os, signal
        from wengert.codegen import compiler
        compiler.object_code = lambda text: os.kill(os.getpid(), signal.SIGKILL)
    """
    done = python(textwrap.dedent(dies) + textwrap.dedent(PROGRAM))
    assert done.returncode == -signal.SIGKILL
    assert len(list(folder.glob("*.compiling"))) == 1
    compiled, _, bits = run_program()
    assert compiled > 0
    assert run_program() == (0, compiled, bits)
