"""This module keeps machine code on disk: object files by key, so that a second process compiles nothing twice.

* Code that is read from there is run. So it is read only from a folder and from files that belong to this user and that
  nobody else may write; any other is left alone, with one warning, and counts as absent. Folders are made with mode
  0700, files with 0600.
* A path that is not a regular file, or a file longer than any machine code, is neither read nor removed: nothing here
  waits at a pipe or follows a link.
* If several processes need one kernel at once, one compiles it, and the others read its file (:func:`one_at_a_time`).
* A file is written aside and renamed, so that others see all of it or nothing; it carries a checksum of its key and its
  code, and is thrown away if that is wrong: so is one that stands under the name of another. A folder that cannot be
  written is done without.
* Windows has neither modes nor folders that are open: there the folder is trusted, which is the user's own unless
  another one is named, and files are reached by their paths. (It has not run there.)
* An LLVM that kills the process does so once: while kernels are compiled, their texts stand in a note in the folder. A
  later process that finds such a note, and its writer dead, first tries each of them in a separate process, and refuses
  the one that ends it.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from stat import S_IRWXU, S_ISREG, S_ISVTX, S_IWGRP, S_IWOTH
from typing import NamedTuple

import llvmlite
import llvmlite.binding as llvm

from wengert import config
from wengert.codegen.cache_folder import cache_folder
from wengert.codegen.target import Target
from wengert.errors import CacheWarning, message

if os.name == "posix":
    import fcntl
else:
    import msvcrt

HAS_MODES = os.name == "posix"
"""Whether files have modes and owners, and folders can be open."""

OTHERS_WRITE = S_IWGRP | S_IWOTH
PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
OUR_OWN = PLAIN | getattr(os, "O_NOFOLLOW", 0)
NEVER_WAIT = OUR_OWN | getattr(os, "O_NONBLOCK", 0)
"""Flags of files, where the system has them: for this process alone; not by a link; without waiting for a pipe."""

PATIENCE = 10.0  # seconds that a process waits for another, which may have been stopped
MAX_BYTES = 64 * 1024 * 1024  # a longer file is not kept: the longest kernels take a few MB


@cache
def stamp(target: Target) -> bytes:
    """Return all that decides about the machine code of a kernel beside the kernel itself."""
    return repr((_generator(), llvmlite.__version__, llvm.llvm_version_info, target)).encode()


@cache
def _generator() -> tuple[tuple[str, int, int], ...]:
    """Return the files that write kernels, each with its size and when it was changed: another code generator writes
    other code for the same kernel. They take a millisecond to look at."""
    package = Path(__file__).parents[1]
    files = [*(package / "codegen").rglob("*.py"), package / "ops" / "kernels.py"]  # the base of specs
    stats = [(str(f.relative_to(package)), f.stat()) for f in files]
    return tuple(sorted([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]))


# ------------------------------------------------------------------------------------ which files can be trusted


class Folder(NamedTuple):
    """A folder that is open: files are reached by the descriptor that was looked at, wherever the path leads later.
    Where the system has no such thing ``fd`` is None."""

    path: Path
    fd: int | None

    def place(self, name: str) -> str | Path:
        """Return what names a file, beside ``dir_fd=fd``."""
        return name if self.fd is not None else self.path / name

    def all(self) -> int | Path:
        """Return what lists the files."""
        return self.fd if self.fd is not None else self.path


@contextmanager
def _opened(is_made: bool = False) -> Iterator[Folder | None]:
    """Open the folder (``is_made``: make it first); None if there is none, or others may have put things there."""
    path, fd = cache_folder(), None
    if path is not None:
        with suppress(OSError):
            if is_made:
                _make(path)
            if HAS_MODES:
                fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if path is not None and not HAS_MODES:
        yield Folder(path, None) if path.is_dir() else None
        return
    if path is None or fd is None:
        yield None
        return
    try:
        folder = Folder(path, fd)
        yield folder if _is_private(folder) else None
    finally:
        os.close(fd)


def _make(path: Path) -> None:
    """Make the folder, and what it lies in, for the user alone: ``mkdir(parents=True)`` would follow the umask."""
    if not path.is_dir():
        _make(path.parent)
        with suppress(FileExistsError):
            path.mkdir(S_IRWXU)


def _is_private(folder: Folder) -> bool:
    """Return whether nobody else can put anything into the folder, which is open; warn if somebody can."""
    assert folder.fd is not None
    stat = os.fstat(folder.fd)
    if not _is_ours(stat):
        _distrust(folder, f"belongs to user {stat.st_uid}", "a folder of your own")
        return False
    if stat.st_mode & OTHERS_WRITE and config.cache_dir is None and not folder.path.is_symlink():
        # Made by us under a loose umask. What others put there is theirs still, or could be written by others: _read
        # looks at each file. A folder that was named, or is linked to, may be anything, and open for a reason.
        with suppress(OSError):
            os.fchmod(folder.fd, S_IRWXU)
        stat = os.fstat(folder.fd)
    if stat.st_mode & OTHERS_WRITE:
        _distrust(folder, "can be written by others", f"chmod 700 {folder.path}")
        return False
    around = _open_to_all(folder.path)
    if around is not None:
        _distrust(folder, f"lies in {around}, where anybody can put another in its place", f"chmod +t {around}")
        return False
    return True


@cache
def _open_to_all(path: Path) -> Path | None:
    """Return a folder around this one in which anybody may rename what is another's, if there is one.

    sshd and sudo ask whose all of them are as well. Within a container they may be nobody's; and who can rename this
    folder can put only another one of this user's in its place, or _is_private sees it.
    """
    with suppress(OSError):  # it is gone by now
        for around in path.resolve().parents:
            mode = around.stat().st_mode
            if mode & S_IWOTH and not mode & S_ISVTX:
                return around
    return None


_distrusted: set[Path] = set()


def _distrust(folder: Folder, why: str, remedy: str, name: str = "") -> None:
    """Warn, once for a folder, that it is not used."""
    if folder.path in _distrusted:
        return
    _distrusted.add(folder.path)
    what = f"{folder.path / name} {why}: machine code is not read from there, but compiled anew"
    warnings.warn(
        message(what, tries=[remedy, "WENGERT_CACHE_DIR=another_folder, or empty for none"]), CacheWarning, stacklevel=2
    )


def _is_ours(stat: os.stat_result) -> bool:
    return not HAS_MODES or stat.st_uid == os.geteuid()


def _can_others_write(stat: os.stat_result) -> bool:
    return HAS_MODES and bool(stat.st_mode & OTHERS_WRITE)


def _is_plain(stat: os.stat_result) -> bool:
    """Return whether a file is regular, of plausible size, and has no other name by which it may lie open elsewhere."""
    return S_ISREG(stat.st_mode) and stat.st_size <= MAX_BYTES and stat.st_nlink == 1


# ------------------------------------------------------------------------------------------------------------ files


def _read(folder: Folder, name: str) -> bytes | None:
    """Return what is in a file, or None if it cannot be trusted."""
    try:  # without waiting for the other end of a pipe
        fd = os.open(folder.place(name), os.O_RDONLY | NEVER_WAIT, dir_fd=folder.fd)
    except OSError:
        return None
    try:
        stat = os.fstat(fd)
        if not _is_plain(stat):
            return None
        if not _is_ours(stat):
            _distrust(folder, f"belongs to user {stat.st_uid}", f"rm {folder.path / name}", name)
            return None
        if _can_others_write(stat):
            _distrust(folder, "can be written by others", f"chmod go-w {folder.path / name}", name)
            return None
        with suppress(OSError), open(fd, "rb", closefd=False) as file:
            return file.read(MAX_BYTES)
        return None
    finally:
        os.close(fd)


def _write(folder: Folder, name: str, data: bytes) -> bool:
    """Make a file, whole or not at all, and return whether that went well. What is there and is not ours stays."""
    with suppress(FileNotFoundError):
        stat = os.stat(folder.place(name), dir_fd=folder.fd, follow_symlinks=False)
        if not (S_ISREG(stat.st_mode) and _is_ours(stat)):
            return False
    aside = f"{name}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        fd = os.open(folder.place(aside), os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, 0o600, dir_fd=folder.fd)
    except OSError:  # read-only: the next process compiles again
        return False
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.replace(folder.place(aside), folder.place(name), src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    except OSError:  # full
        _remove(folder, aside)
        return False
    return True


def _remove(folder: Folder, name: str) -> None:
    with suppress(OSError):
        os.unlink(folder.place(name), dir_fd=folder.fd)


def _checksum(key: bytes, code: bytes) -> bytes:
    made = hashlib.blake2b(key, digest_size=16)
    made.update(code)
    return made.digest()


def read(key: bytes) -> bytes | None:
    """Return the object file of a kernel, or None if it is not on disk, or not whole."""
    name = f"{key.hex()}.o"
    with _opened() as folder:
        data = None if folder is None else _read(folder, name)
        if folder is None or data is None:
            return None
        if _checksum(key, data[16:]) == data[:16]:
            return data[16:]
        _remove(folder, name)
    return None


def save(key: bytes, code: bytes) -> None:
    with _opened(is_made=True) as folder:
        if folder is not None and _write(folder, f"{key.hex()}.o", _checksum(key, code) + code):
            if int.from_bytes(key[-2:], "little") % SAVES_A_LOOK == 0:  # one in so many, over all processes
                _bound(folder)


SAVES_A_LOOK = 256
"""The folder is looked through once for so many files that are written: it may have 60,000, which take a second."""


def _bound(folder: Folder) -> None:
    """Drop what was written longest ago until the folder is within its bound."""
    files = []
    with suppress(OSError), os.scandir(folder.all()) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another process drops files too
                stat = entry.stat(follow_symlinks=False)
                if not (_is_plain(stat) and _is_ours(stat)):
                    continue
                if entry.name.endswith(".o"):
                    files.append((stat.st_mtime, stat.st_size, entry.name))
                elif entry.name.endswith((".tmp", ".lock", ".compiling")) and time.time() - stat.st_mtime > 3600:
                    _remove(folder, entry.name)
    total = sum([size for _, size, _ in files])
    for _, size, name in sorted(files):
        if total <= config.cache_bytes:
            break
        _remove(folder, name)
        total -= size


# ------------------------------------------------------------------------------------------------- locks and notes


@contextmanager
def one_at_a_time(key: bytes) -> Iterator[None]:
    """A context in which no other process within such a context compiles this kernel, which may be on disk by then.

    It is a courtesy, not a promise: a process that has waited too long, or cannot make the file to lock, goes ahead.
    """
    name = f"{key.hex()}.lock"
    with _opened(is_made=True) as folder:
        fd = None
        if folder is not None:
            with suppress(OSError):
                fd = os.open(folder.place(name), os.O_RDWR | os.O_CREAT | OUR_OWN, 0o600, dir_fd=folder.fd)
        try:
            if fd is not None:
                _wait_for(fd)
            yield
        finally:
            if folder is not None and fd is not None:
                if not HAS_MODES:  # where a file that is open cannot be removed
                    os.close(fd)
                _remove(folder, name)  # processes that wait for the lock find the kernel; a later one makes a new file
                if HAS_MODES:
                    os.close(fd)


def _lock(fd: int) -> None:
    if os.name == "posix":
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)


def _wait_for(fd: int) -> None:
    """Lock the file, if that can be done before patience ends."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            _lock(fd)
        except (BlockingIOError, PermissionError):  # another process has it
            if time.monotonic() > end:
                return
            time.sleep(0.005)
        except OSError:  # a file system without locks
            return
        else:
            return


@contextmanager
def noted(text: str) -> Iterator[None]:
    """A context in which a note on disk says that this process is compiling ``text``."""
    name = f"{os.getpid()}.{threading.get_ident()}.compiling"
    with _opened(is_made=True) as folder:
        is_written = folder is not None and _write(folder, name, text.encode())
    try:
        yield
    finally:
        if is_written:
            with _opened() as folder:
                if folder is not None:
                    _remove(folder, name)


@cache
def suspects() -> frozenset[bytes]:
    """Return the kernels that processes which are dead were compiling when they ended."""
    found: set[bytes] = set()
    with _opened() as folder:
        names = [] if folder is None else os.listdir(folder.all())
        for name in names:
            pid, _, end = name.partition(".")
            if folder is None or not end.endswith("compiling") or not pid.isdecimal() or _is_alive(int(pid)):
                continue
            text = _read(folder, name) or b""
            found.update([bytes.fromhex(key.decode()) for key in re.findall(rb"define [^@]*@k([0-9a-f]{40})", text)])
    return frozenset(found)


def _is_alive(pid: int) -> bool:
    if not HAS_MODES:  # where os.kill would end the process, whatever the signal
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        return True
    return True
