"""Kernels are compiled once per machine: the caches in memory and on disk, and what happens when things go wrong."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.codegen import cache, compiler, lower
from wengert.codegen.compiler import Counters
from wengert.codegen.nests.emit import emit
from wengert.codegen.nests.nest import Load, Nest, Step, Store
from wengert.codegen.target import target

PROGRAM = """
    import numpy as np, wengert as wg
    from wengert.codegen.compiler import Counters
    x = np.linspace(0.1, 1, 100)
    y, g = wg.jit(wg.value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(x)) / np.max(x)))(x)
    print(Counters.compiled, Counters.loaded, y.hex(), g.tobytes().hex())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, in this process and in those it starts."""
    monkeypatch.setattr(config, "cache_dir", str(tmp_path / "cache"))
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path / "cache"))
    cache.suspects.cache_clear()
    yield tmp_path / "cache"
    cache.suspects.cache_clear()


def python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


def run_program(script: str = PROGRAM) -> tuple[int, int, list[str]]:
    """How many kernels a process of its own compiled, how many it loaded, and the bits of its results."""
    done = python(script)
    assert done.returncode == 0, done.stderr
    compiled, loaded, *bits = done.stdout.split()
    return int(compiled), int(loaded), bits


_factor = 0.0


def new_nest() -> Nest:
    """A kernel that no other test has: y = x * (some number)."""
    global _factor
    _factor += 1.0
    number = np.float64(_factor + 0.123456789).tobytes()
    steps = (Step("multiply", (0, 1), "f8"),)
    return Nest((4,), 1, 0, (Load("f8", (1,)),), (("f8", number),), steps, (Store(2, "f8", (1,)),))


def address_of(nest: Nest) -> int | str:
    key = compiler.key_of(nest)
    return compiler.addresses({key: lambda name: emit(nest, name, target())})[key]


def call(address: int | str) -> list[float]:
    assert isinstance(address, int)
    x, y = np.arange(4.0), np.empty(4)
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    assert run(address)(ctypes.addressof(pointers), None, 0, 4) == 0
    return y.tolist()


# ----------------------------------------------------------------------------------------------------- the caches


def test_a_kernel_is_compiled_once(folder: Path) -> None:
    nest, before = new_nest(), Counters.compiled
    first = address_of(nest)
    assert address_of(nest) == first
    assert Counters.compiled == before + 1
    assert call(first) == [k * (_factor + 0.123456789) for k in range(4)]
    assert len(list(folder.glob("*.o"))) == 1
    assert not list(folder.glob("*.compiling")) and not list(folder.glob("*.tmp"))


def test_a_second_program_of_the_same_structure_compiles_nothing(folder: Path) -> None:
    """Other lengths beyond the short ones, other coefficients, another function of the same steps."""
    layer = lambda x: np.tanh(x * 1.7) + x * 0.31
    wg.jit(layer)(np.ones(5000))
    before = Counters.compiled
    for f in (lambda x: np.tanh(x * 1.3) + x * 0.77, layer):
        x = np.linspace(0, 1, 7001)
        np.testing.assert_allclose(wg.jit(f)(x), f(x), rtol=1e-14)
    assert Counters.compiled == before


def test_a_second_process_compiles_nothing(folder: Path) -> None:
    compiled, loaded, bits = run_program()
    assert compiled > 0 and loaded == 0
    assert run_program() == (0, compiled, bits)


def test_a_key_is_the_same_in_every_process(folder: Path) -> None:
    script = """
        from tests.codegen.test_compiler import new_nest
        from wengert.codegen.compiler import key_of
        print(key_of(new_nest()).hex())
    """
    keys = {python(script, PYTHONHASHSEED=seed, PYTHONPATH=os.getcwd()).stdout for seed in ("0", "1")}
    assert len(keys) == 1 and len(keys.pop().strip()) == 40


def test_other_processors_have_other_keys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nest = new_nest()
    before = compiler.key_of(nest)
    monkeypatch.setattr(cache, "stamp", lambda: b"another processor")
    assert compiler.key_of(nest) != before
    assert compiler.key_of(new_nest()) != compiler.key_of(nest)


# ------------------------------------------------------------------------------------------------ a folder in trouble


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
        from tests.codegen import test_compiler as t
        from wengert.codegen import compiler

        nests = [t.new_nest() for _ in range(4)]
        want = [(k + 1.0) + 0.123456789 for k in range(4)]
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
            right = all(t.call(t.address_of(nest))[1] == w for nest, w in zip(nests, want))
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


# -------------------------------------------------------------------------------------------------- kernels in trouble


def test_a_kernel_that_llvm_refuses_runs_as_numpy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a warning that names it; the rest of the program is native."""

    def spoiled(nest: Nest, name: str, target: Any) -> str:
        text = emit(nest, name, target)
        return text.replace("ret i32 0", "ret i32 %nothing") if any(s.function == "tanh" for s in nest.steps) else text

    monkeypatch.setattr(lower, "emit_nest", spoiled)
    f = lambda x: np.sum(np.tanh(np.reshape(x * 3.123, (2, 3)).T), axis=0)
    x = np.linspace(0, 1, 6)
    jitted = wg.jit(f)
    with pytest.warns(UserWarning, match="tanh.*could not be compiled"):
        y = jitted(x)
    np.testing.assert_allclose(y, f(x), rtol=1e-14)
    kinds = [k.kind for k in jitted.program(x).kernels]
    assert "callback" in kinds and "loops" in kinds
    assert all(k.why for k in jitted.program(x).kernels if k.kind == "callback")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(jitted(x), y)


def test_what_is_refused_is_refused_once(folder: Path) -> None:
    nest, before = new_nest(), Counters.compiled
    key = compiler.key_of(nest)
    texts: list[str] = []

    def broken(name: str) -> str:
        texts.append(name)
        return "this is no LLVM IR"

    for _ in range(2):
        why = compiler.addresses({key: broken})[key]
        assert isinstance(why, str) and why
    assert texts == [compiler.name_of(key)]
    assert Counters.compiled == before
    assert not list(folder.glob("*.o")) and not list(folder.glob("*.compiling"))


def test_a_kernel_beside_a_broken_one_is_compiled(folder: Path) -> None:
    good, bad = new_nest(), new_nest()
    keys = compiler.key_of(good), compiler.key_of(bad)
    found = compiler.addresses({keys[1]: lambda name: "no IR", keys[0]: lambda name: emit(good, name, target())})
    assert isinstance(found[keys[1]], str)
    assert call(found[keys[0]])[0] == 0.0


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


def test_survives_asks_a_process_of_its_own() -> None:
    nest = new_nest()
    assert compiler.survives(emit(nest, "k1", target()))
    assert compiler.survives("no IR at all")  # refused, but nobody died


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
