"""Kernels as addresses: LLVM IR text to machine code, once per machine.

A kernel is known by its *key*: what it computes, the processor, LLVM's version and our own. It is looked up in memory,
then on disk, and compiled last; so a second process compiles nothing that it has seen.

* The text is parsed and verified before anything is generated from it; what LLVM refuses is remembered as refused,
  and the caller runs the reference instead (:class:`Refused` says why).
* An LLVM that kills the process does so once: the texts of the kernels at hand stand in a note in the cache folder
  while they are compiled. A later process that finds such a note, and its writer dead, tries each of them in a process
  of its own first, and refuses the one that ends it.
* A file of the cache is written aside and renamed, so that others see all of it or nothing; it carries a checksum, and
  is thrown away if that is wrong. A folder that cannot be written is done without.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from wengert import config
from wengert.codegen.ir import Target
from wengert.locks import lock


class Refused(Exception):
    """A kernel that cannot be compiled, and why."""


_lock = lock()  # LLVM's engine is used by one thread at a time
_addresses: dict[bytes, int] = {}
_refused: dict[bytes, str] = {}


class Counters:
    """What has been compiled in this process. Times in seconds."""

    compiled = 0
    loaded = 0
    compile_s = 0.0


@cache
def target() -> Target:
    """The processor that this process runs on."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    found = llvm.get_host_cpu_features()
    width = (
        64 if found.get("avx512f") and found.get("avx512vl") and found.get("avx512dq") and found.get("avx512bw") else 0
    )
    width = width or (32 if found.get("avx2") else 16)
    triple = llvm.get_process_triple()
    has_fma = bool(found.get("fma")) or triple.startswith(("aarch64", "arm64"))
    return Target(triple, llvm.get_host_cpu_name(), found.flatten(), width, has_fma)


@cache
def _machine() -> Any:
    t = target()
    # Level 2: at level 0 LLVM 22 aborts the process on masks of AVX-512.
    return llvm.Target.from_triple(t.triple).create_target_machine(
        cpu=t.cpu, features=t.features, opt=2, reloc="pic", codemodel="small"
    )


@cache
def _engine() -> Any:
    """The linker of all kernels; it owns their code for as long as the process lives."""
    return llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{target().triple}"'), _machine())


@cache
def _stamp() -> bytes:
    """What, beside the kernel, decides about its machine code."""
    t = target()
    with os.scandir(Path(__file__).parent) as files:  # another code generator writes other code for the same kernel
        ours = sorted((f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files if f.name.endswith(".py"))
    return repr((ours, llvmlite.__version__, llvm.llvm_version_info, t.triple, t.cpu, t.features)).encode()


def key_of(kernel: Any) -> bytes:
    """The key of a kernel, from data that prints the same in every process."""
    return hashlib.blake2b(repr(kernel).encode() + _stamp(), digest_size=20).digest()


def addresses(kernels: Mapping[bytes, Callable[[str], str]]) -> dict[bytes, int | str]:
    """For each key the address of its code, or why there is none. ``kernels[key](name)`` is the IR text."""
    with _lock:
        missing = [k for k in kernels if k not in _addresses and k not in _refused]
        if missing:
            start = time.perf_counter()
            missing = [k for k in missing if not _load(k)]
            if missing:
                _compile({k: kernels[k] for k in missing})
            Counters.compile_s += time.perf_counter() - start
        return {k: _addresses[k] if k in _addresses else _refused[k] for k in kernels}


def name_of(key: bytes) -> str:
    return f"k{key.hex()}"


# ------------------------------------------------------------------------------------------------------ compiling


def _compile(kernels: Mapping[bytes, Callable[[str], str]]) -> None:
    texts = {key: write(name_of(key)) for key, write in kernels.items()}
    note = _note_path()
    _write_note(note, "".join(texts.values()))
    try:
        for key, text in texts.items():
            try:
                if key in _suspects() and not survives(text):
                    raise Refused("LLVM ended the process that compiled it")
                code = object_code(text)
            except Refused as error:
                _refused[key] = str(error)
                continue
            _link(key, code)
            Counters.compiled += 1
            _save(key, code)
    finally:
        if note is not None:
            with suppress(OSError):  # the folder may not be one, or not writable
                note.unlink()


def object_code(text: str) -> bytes:
    """The object file of a module. Raises :class:`Refused`."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise Refused(str(error)) from error
    return _machine().emit_object(module)


def _link(key: bytes, code: bytes) -> None:
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    address = engine.get_function_address(name_of(key))
    if not address:
        raise Refused("its object file does not hold it")
    _addresses[key] = address


def provide(name: str, address: int) -> None:
    """Let kernels call the routine at an address by name."""
    llvm.add_symbol(name, address)


# ----------------------------------------------------------------------------------------------------- the disk


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


def _read(key: bytes) -> bytes | None:
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


def _load(key: bytes) -> bool:
    code = _read(key)
    if code is None:
        return False
    try:
        _link(key, code)
    except (Refused, RuntimeError):
        return False
    Counters.loaded += 1
    return True


def _save(key: bytes, code: bytes) -> None:
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


def _note_path() -> Path | None:
    folder = _folder()
    return None if folder is None else folder / f"{os.getpid()}.{threading.get_ident()}.compiling"


def _write_note(path: Path | None, text: str) -> None:
    """Say on disk what this process is about to compile."""
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError:
        pass


@cache
def _suspects() -> frozenset[bytes]:
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


def survives(text: str) -> bool:
    """Whether a process of its own lives to the end of compiling ``text``."""
    import subprocess  # only here, and not needed in a lifetime

    code = "import sys; from wengert.codegen.compiler import object_code; object_code(sys.stdin.read())"
    child = subprocess.run([sys.executable, "-c", code], input=text.encode(), capture_output=True, check=False)
    return child.returncode >= 0  # a negative one is the signal that ended it


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


__all__ = ["Counters", "Refused", "addresses", "key_of", "name_of", "object_code", "provide", "survives", "target"]
