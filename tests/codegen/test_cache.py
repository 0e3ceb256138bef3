"""Machine code on disk: a second process compiles nothing, and a folder or a process in trouble harms nobody."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.codegen.new_kernels import PROGRAM, call, code_of, factor, new_nest, python, run_program
from wengert import config
from wengert.codegen import cache, cache_folder, compiler
from wengert.codegen.nests.emit import emit
from wengert.codegen.target import target
from wengert.errors import CacheWarning


@pytest.fixture(autouse=True)
def no_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have files of kernels alone in the folder, and none that say that they were verified."""
    monkeypatch.setattr(config, "verify", False)
    monkeypatch.setenv("WENGERT_VERIFY", "0")  # of other processes


def test_a_second_process_compiles_nothing(folder: Path) -> None:
    compiled, loaded, bits = run_program()
    assert compiled > 0 and loaded == 0
    assert run_program() == (0, compiled, bits)


# -------------------------------------------------------------------------------------------------- a folder in trouble


def test_two_files_that_were_exchanged_are_not_run(folder: Path) -> None:
    """Each was whole, so that one kernel ran the code of the other."""
    keys = KEY, KEY[::-1]
    for key, code in zip(keys, (CODE, CODE[::-1]), strict=True):
        cache.save(key, code)
    assert [cache.read(key) for key in keys] == [CODE, CODE[::-1]]
    first, second = [folder / f"{key.hex()}.o" for key in keys]
    first.rename(aside := folder / "aside")
    second.rename(first)
    aside.rename(second)
    assert [cache.read(key) for key in keys] == [None, None]
    assert not first.exists() and not second.exists()


def test_files_are_reached_by_their_paths_where_no_folder_can_be_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache works where files have no modes, as under Windows."""
    monkeypatch.setattr(cache, "HAS_MODES", False)
    folder.mkdir()
    folder.chmod(0o777)
    with cache.one_at_a_time(KEY), cache.noted("define i32 @k"):
        cache.save(KEY, CODE)
        assert len(list(folder.iterdir())) == 3
    assert cache.read(KEY) == CODE and [file.name for file in folder.iterdir()] == [f"{KEY.hex()}.o"]
    (folder / f"{KEY.hex()}.o").write_bytes(b"damaged")
    assert cache.read(KEY) is None and not any(folder.iterdir())
    assert cache._is_alive(os.getpid())  # nobody is asked by a signal, which would end him


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the platform does not say which files are open")
def test_no_file_is_left_open(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a file is damaged, a pipe, or cannot be read, and where the folder is none."""

    def use() -> None:
        cache.save(KEY, CODE)
        cache.read(KEY)
        with cache.one_at_a_time(KEY), cache.noted("define void @k()"):
            pass
        (folder / f"{KEY.hex()}.o").write_bytes(b"damaged")
        cache.read(KEY)
        os.mkfifo(folder / f"{KEY.hex()}.o")
        cache.read(KEY)
        cache.save(KEY, CODE)
        (folder / f"{KEY.hex()}.o").unlink()
        with pytest.raises(ZeroDivisionError), cache.one_at_a_time(KEY), cache.noted("define void @k()"):
            _ = 1 / 0
        with monkeypatch.context() as patched:
            patched.setattr(config, "cache_dir", "/dev/null/none")
            cache.save(KEY, CODE)
            cache.read(KEY)

    use()
    before = os.listdir("/proc/self/fd")
    use()
    assert os.listdir("/proc/self/fd") == before


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
    assert call(code_of(new_nest()))[0] == 0.0


def test_no_folder_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cache_dir", "")
    monkeypatch.chdir(folder.parent)
    assert call(code_of(new_nest()))[0] == 0.0
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
    monkeypatch.setattr(cache, "SAVES_A_LOOK", 1)
    code_of(new_nest())
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert sum(sizes.values()) <= 5000
    assert f"{9:040x}.o" in sizes and f"{0:040x}.o" not in sizes
    assert "left.tmp" not in sizes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_fifty_processes_share_a_folder(folder: Path) -> None:
    """All compile the same kernels at once; one is killed between writing a file and giving it its name, one while it
    compiles. All others compute what is right, each kernel is compiled a few times at most, and all files are whole."""
    script = """
        import os, signal, sys
        sys.path.insert(0, os.getcwd())
        from tests.codegen.new_kernels import code_of, call, factor, new_nest
        from wengert.codegen import compiler

        nests = [new_nest() for _ in range(4)]
        count, compiled = os.pipe()
        children = []
        for n in range(50):
            pid = os.fork()
            if pid:
                children.append(pid)
                continue
            die = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
            if n == 7:
                os.rename = die
            if n == 11:
                compiler.object_code = die
            right = all(call(code_of(nest))[1] == factor(nest) for nest in nests)
            os.write(compiled, bytes(compiler.Counters.compiled))  # so many bytes
            os._exit(0 if right else 3)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        print(len(os.read(count, 10_000)), *codes)
    """
    done = python(script)
    assert done.returncode == 0, done.stderr
    times_compiled, *codes = [int(code) for code in done.stdout.split()]
    assert 2 <= times_compiled <= 4 * 3  # four kernels, two of which may be those of the killed
    killed = [k for k, code in enumerate(codes) if code == -signal.SIGKILL]
    assert set(killed) <= {7, 11}  # they may find all in the cache already
    assert [code for k, code in enumerate(codes) if k not in killed] == [0] * (50 - len(killed)), done.stderr
    assert len(list(folder.glob("*.o"))) == 4
    for path in folder.glob("*.o"):
        data = path.read_bytes()
        assert cache._checksum(bytes.fromhex(path.stem), data[16:]) == data[:16]


def test_a_process_waits_for_another_that_compiles_the_same(folder: Path) -> None:
    """And for that kernel alone."""
    nest, other = new_nest(), new_nest()
    holder = Holder(compiler.key_of(nest, target()))
    code_of(other)
    ended = threading.Event()
    ending = threading.Timer(0.3, lambda: (ended.set(), holder.end()))
    ending.start()
    assert call(code_of(nest))[1] == factor(nest)
    assert ended.is_set()
    ending.join()
    assert not list(folder.glob("*.lock"))


def test_who_never_gives_its_turn_back_is_waited_for_so_long_and_no_longer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "PATIENCE", 0.05)
    nest = new_nest()
    holder = Holder(compiler.key_of(nest, target()))
    try:
        assert call(code_of(nest))[1] == factor(nest)
        assert holder.child.poll() is None
    finally:
        holder.end()


def test_a_turn_needs_no_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_text("a file")
    with cache.one_at_a_time(KEY):
        pass
    monkeypatch.setattr(config, "cache_dir", "")
    with cache.one_at_a_time(KEY):
        pass


class Holder:
    """A process that has its turn at a kernel until :meth:`end`."""

    def __init__(self, key: bytes) -> None:
        code = f"""
from wengert.codegen import cache
with cache.one_at_a_time(bytes.fromhex("{key.hex()}")):
    print("mine", flush=True)
    input()
"""
        self.child = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "WENGERT_CACHE_DIR": str(config.cache_dir)},
        )
        assert self.child.stdout is not None and self.child.stdout.readline() == "mine\n"

    def end(self) -> None:
        self.child.communicate("\n")


# ---------------------------------------------------------------------------------------------- what is no machine code

KEY = bytes(range(20))
CODE = b"machine code" * 100


def whole(path: Path) -> Path:
    """A file that would be run."""
    path.write_bytes(cache._checksum(KEY, CODE) + CODE)
    return path


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


STRANGE: dict[str, Callable[[Path], Any]] = {
    "a pipe": lambda path: os.mkfifo(path),
    "a socket": make_socket,
    "a directory": lambda path: path.mkdir(),
    "a link": lambda path: path.symlink_to(whole(path.with_name("elsewhere"))),
    "a broken link": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_pipe_in_the_cache_folder_hung_the_load(folder: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """What is no file counts as absent, in every place where a file would be read or written, and stays."""
    folder.mkdir()
    monkeypatch.chdir(folder)  # the path of a socket is short
    nest = new_nest()
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    names = [f"{compiler.key_of(nest, target()).hex()}.o", f"{os.getpid()}.{threading.get_ident()}.compiling"]
    names.append(f"{child.pid}.1.compiling")
    for name in names:
        STRANGE[what](Path(name))
    before = [os.lstat(name) for name in names]
    monkeypatch.setattr(cache, "SAVES_A_LOOK", 1)
    assert call(code_of(nest))[0] == 0.0
    cache.save(KEY, CODE)  # and now the folder is looked through
    assert cache.read(KEY) == CODE
    after = [os.lstat(name) for name in names]
    assert [(s.st_ino, s.st_mode) for s in after] == [(s.st_ino, s.st_mode) for s in before]


@pytest.mark.parametrize("what", sorted(STRANGE.keys() - {"a directory"}))
def test_the_folder_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.chdir(folder.parent)
    STRANGE[what](Path(folder.name))
    cache.save(KEY, CODE)
    assert cache.read(KEY) is None
    assert call(code_of(new_nest()))[0] == 0.0


def test_a_sparse_file_of_30_gb_killed_the_load(folder: Path) -> None:
    nest = new_nest()
    folder.mkdir(0o700)
    path = folder / f"{compiler.key_of(nest, target()).hex()}.o"
    path.touch(0o600)
    try:
        os.truncate(path, 30 * 2**30)
    except OSError:
        pytest.skip("this file system has no files of that length")
    assert cache.read(compiler.key_of(nest, target())) is None
    assert call(code_of(nest))[0] == 0.0
    assert path.stat().st_size < 100_000  # the file was ours, and is whole now


def test_what_is_no_file_stays_when_the_folder_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / "directory.o").mkdir()
    (folder / "broken.o").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.tmp")
    os.utime(folder / "pipe.tmp", (1e9, 1e9))
    old = folder / "old.o"
    old.write_bytes(bytes(1000))
    os.utime(old, (1e9, 1e9))
    monkeypatch.setattr(config, "cache_bytes", len(CODE) + 16)
    monkeypatch.setattr(cache, "SAVES_A_LOOK", 1)
    cache.save(KEY, CODE)
    assert {path.name for path in folder.iterdir()} == {"directory.o", "broken.o", "pipe.tmp", f"{KEY.hex()}.o"}


# -------------------------------------------------------------------------------------------------- whose machine code

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_others_could_read_and_write_what_was_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the umask: folders have mode 0700, files 0600."""
    deep = folder / "one" / "two"
    monkeypatch.setattr(config, "cache_dir", str(deep))
    before = os.umask(0)
    try:
        cache.save(KEY, CODE)
        with cache.noted("text"):
            assert {mode(path) for path in deep.iterdir()} == {0o600}
    finally:
        os.umask(before)
    assert [mode(path) for path in (folder, folder / "one", deep)] == [0o700] * 3
    assert cache.read(KEY) == CODE


def is_compiled_anew(folder: Path, match: str, kept: Path | None = None) -> None:
    """Nothing is read, one warning says so, and what is there stays as it is."""
    with pytest.warns(CacheWarning, match=match):
        assert cache.read(KEY) is None
    assert call(code_of(new_nest()))[0] == 0.0
    assert cache.read(KEY) is None  # without a second warning: they are errors in tests
    assert kept is None or kept.exists()


@pytest.mark.parametrize("open_to", [0o770, 0o777, 0o702, 0o1777])
def test_code_was_read_from_a_folder_that_others_may_write(folder: Path, open_to: int) -> None:
    cache.save(KEY, CODE)
    folder.chmod(open_to)
    is_compiled_anew(folder, "can be written by others", folder / f"{KEY.hex()}.o")
    assert mode(folder) == open_to  # it was named, so it is not ours to close
    assert len(list(folder.iterdir())) == 1  # nothing is written there either
    folder.chmod(0o755)
    assert cache.read(KEY) == CODE


def test_the_users_own_folder_is_closed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a loose umask earlier versions made it open to others; files that they may have written are not read."""
    monkeypatch.setattr(config, "cache_dir", None)
    monkeypatch.setattr(cache_folder, "users_folder", lambda: folder)
    folder.mkdir()
    folder.chmod(0o777)
    private, planted = whole(folder / f"{KEY.hex()}.o"), whole(folder / f"{KEY[::-1].hex()}.o")
    private.chmod(0o644)
    planted.chmod(0o664)
    assert cache.read(KEY) == CODE
    assert mode(folder) == 0o700
    with pytest.warns(CacheWarning, match=f"{planted.name} can be written by others"):
        assert cache.read(KEY[::-1]) is None
    cache.save(KEY[::-1], CODE)
    assert cache.read(KEY[::-1]) == CODE and mode(planted) == 0o600


@pytest.mark.parametrize("open_to", [0o620, 0o602, 0o666])
def test_code_was_read_from_a_file_that_others_may_write(folder: Path, open_to: int) -> None:
    cache.save(KEY, CODE)
    path = folder / f"{KEY.hex()}.o"
    path.chmod(open_to)
    is_compiled_anew(folder, f"{path.name} can be written by others", path)
    cache.save(KEY, CODE)
    assert cache.read(KEY) == CODE


@as_root
def test_code_was_read_from_the_folder_of_another_user(folder: Path) -> None:
    cache.save(KEY, CODE)
    os.chown(folder, 12345, -1)
    is_compiled_anew(folder, "belongs to user 12345", folder / f"{KEY.hex()}.o")


@as_root
def test_code_was_read_from_the_file_of_another_user(folder: Path) -> None:
    cache.save(KEY, CODE)
    path = folder / f"{KEY.hex()}.o"
    os.chown(path, 12345, -1)
    is_compiled_anew(folder, f"{path.name} belongs to user 12345", path)
    cache.save(KEY, CODE)
    assert path.stat().st_uid == 12345  # it is not ours to remove


def test_code_was_read_from_a_file_with_another_name(folder: Path) -> None:
    """By which others may reach it."""
    cache.save(KEY, CODE)
    (folder.parent / "other").hardlink_to(folder / f"{KEY.hex()}.o")
    assert cache.read(KEY) is None


def test_the_folder_could_be_exchanged(folder: Path) -> None:
    """In a folder that anybody may write anybody may rename it; but not where the sticky bit forbids that."""
    cache.save(KEY, CODE)
    try:
        folder.parent.chmod(0o777)
        cache._open_to_all.cache_clear()  # a process looks once
        is_compiled_anew(folder, "anybody can put another in its place")
        folder.parent.chmod(0o1777)
        cache._open_to_all.cache_clear()
        assert cache.read(KEY) == CODE
    finally:
        folder.parent.chmod(0o700)


def test_what_the_users_own_folder_is_linked_to_is_not_closed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a folder for all, such as /tmp."""
    monkeypatch.setattr(config, "cache_dir", None)
    monkeypatch.setattr(cache_folder, "users_folder", lambda: folder)
    room = folder.parent / "room"
    room.mkdir()
    room.chmod(0o1777)
    folder.symlink_to(room)
    with pytest.warns(CacheWarning, match="can be written by others"):
        cache.save(KEY, CODE)
    assert mode(room) == 0o1777 and not list(room.iterdir())


def test_the_folder_may_be_a_link(folder: Path) -> None:
    """To where there is room."""
    (folder.parent / "room").mkdir()
    folder.symlink_to("room")
    cache.save(KEY, CODE)
    assert cache.read(KEY) == CODE


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
    names = [compiler.name_of(compiler.key_of(nest, target())) for nest in nests]
    texts = [emit(nest, name, target()) for nest, name in zip(nests, names, strict=True)]
    note_of_a_dead_process(folder, texts[0] + texts[1])
    tried = []

    def survives(text: str) -> bool:
        tried.append(text)
        return names[0] not in text

    monkeypatch.setattr(compiler, "survives", survives)
    assert isinstance(code_of(nests[0]), str)
    assert call(code_of(nests[1]))[0] == 0.0
    assert call(code_of(nests[2]))[0] == 0.0
    assert tried == texts[:2]  # the third was not under suspicion


def test_the_note_of_a_living_process_accuses_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nest = new_nest()
    folder.mkdir()
    text = emit(nest, compiler.name_of(compiler.key_of(nest, target())), target())
    (folder / f"{os.getpid()}.1.compiling").write_text(text)
    monkeypatch.setattr(compiler, "survives", lambda text: False)
    assert call(code_of(nest))[0] == 0.0


@pytest.mark.parametrize("text", ["", "\0\xff nonsense", "define i32 @k123("])
def test_a_note_that_cannot_be_read_accuses_nobody(folder: Path, text: str) -> None:
    note_of_a_dead_process(folder, text)
    (folder / "nobody.compiling").write_text("")
    assert call(code_of(new_nest()))[0] == 0.0


@pytest.mark.deep("more than a second")
def test_a_process_that_dies_while_it_compiles_leaves_the_next_one_well(folder: Path) -> None:
    dies = """
        import os, signal
        from wengert.codegen import compiler
        compiler.object_code = lambda text, target: os.kill(os.getpid(), signal.SIGKILL)
    """
    done = python(textwrap.dedent(dies) + textwrap.dedent(PROGRAM))
    assert done.returncode == -signal.SIGKILL
    assert len(list(folder.glob("*.compiling"))) == 1
    compiled, _, bits = run_program()
    assert compiled > 0
    assert run_program() == (0, compiled, bits)
