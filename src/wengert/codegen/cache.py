"""Machine code on disk: object files by key, so that a second process compiles nothing that it has seen.

* A file is written aside and renamed, so that others see all of it or nothing; it carries a checksum, and is thrown
  away if that is wrong. A folder that cannot be written is done without.
* An LLVM that kills the process does so once: the texts of the kernels at hand stand in a note in the folder while they
  are compiled. A later process that finds such a note, and its writer dead, tries each of them in a process of its own
  first, and refuses the one that ends it.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from wengert import config
from wengert.codegen.target import Target, target


def stamp() -> bytes:
    """What, beside the kernel, decides about its machine code."""
    return _stamp_for(target())


@cache
def _stamp_for(processor: Target) -> bytes:
    return repr((_generator(), llvmlite.__version__, llvm.llvm_version_info, processor)).encode()


@cache
def _generator() -> tuple[tuple[str, int, int], ...]:
    """The files that write kernels, each with its size and when it was changed: another code generator writes other
    code for the same kernel. They take a millisecond to look at."""
    package = Path(__file__).parents[1]
    files = [*(package / "codegen").rglob("*.py"), package / "ops" / "kernels.py"]  # the base of specs
    stats = [(str(f.relative_to(package)), f.stat()) for f in files]
    return tuple(sorted([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]))


def _folder() -> Path | None:
    """Where compiled kernels are kept, or None: nowhere."""
    if config.cache_dir is None:
        return _users_folder()
    return Path(config.cache_dir) if config.cache_dir else None


@cache
def _users_folder() -> Path:
    from platformdirs import user_cache_path  # takes longer to import than a small program to load

    return user_cache_path("wengert")


def _path(folder: Path, key: bytes) -> Path:
    return folder / f"{key.hex()}.o"


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def read(key: bytes) -> bytes | None:
    """The object file of a kernel, if it is on disk and whole."""
    folder = _folder()
    if folder is None:
        return None
    path = _path(folder, key)
    try:
        data = path.read_bytes()
        if _checksum(data[16:]) == data[:16]:
            return data[16:]
        path.unlink(missing_ok=True)
    except OSError:
        pass
    return None


def save(key: bytes, code: bytes) -> None:
    folder = _folder()
    if folder is None:
        return
    aside = folder / f"{key.hex()}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(_checksum(code) + code)
        aside.replace(_path(folder, key))
    except OSError:  # full, or read-only: the next process compiles again
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        return
    _bound(folder)


_saved = 0


def _bound(folder: Path) -> None:
    """Now and then, drop what was written longest ago until the folder is within its bound."""
    global _saved
    _saved += 1
    if _saved % 64 != 1:
        return
    try:
        files = [(p.stat().st_mtime, p.stat().st_size, p) for p in folder.glob("*.o")]
        for old in (*folder.glob("*.tmp"), *folder.glob("*.compiling")):
            if time.time() - old.stat().st_mtime > 3600:
                old.unlink(missing_ok=True)
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= config.cache_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size
    except OSError:
        return


def note_path() -> Path | None:
    folder = _folder()
    return None if folder is None else folder / f"{os.getpid()}.{threading.get_ident()}.compiling"


def write_note(path: Path | None, text: str) -> None:
    """Say on disk what this process is about to compile."""
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError:
        pass


@cache
def suspects() -> frozenset[bytes]:
    """The kernels that processes, now dead, were compiling when they ended."""
    folder = _folder()
    found: set[bytes] = set()
    if folder is None:
        return frozenset()
    try:
        for path in folder.glob("*.compiling"):
            if not _is_alive(int(path.name.split(".")[0])):
                found.update(
                    bytes.fromhex(name) for name in re.findall(r"define i32 @k([0-9a-f]{40})", path.read_text())
                )
    except (OSError, ValueError):
        pass
    return frozenset(found)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
