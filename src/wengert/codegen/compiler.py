"""Kernels as addresses: LLVM IR text to machine code, once per machine.

A kernel is known by its *key*: what it computes, the processor, LLVM's version and the files of our code generator. It
is looked up in memory, then on disk, and compiled last; so a second process compiles nothing that it has seen.

* The text is parsed and verified before anything is generated from it; what LLVM refuses is remembered as refused,
  and the caller runs the reference instead (:class:`Refused` says why).
* One that ended a process which compiled it is tried in a process of its own first: :mod:`wengert.codegen.cache` has
  the notes of what was being compiled, and keeps the machine code.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache as once
from typing import Any

import llvmlite.binding as llvm

from wengert import config
from wengert.codegen import cache
from wengert.codegen.target import Target, host, target
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


@once
def _machine(t: Target) -> Any:
    # Level 2: at level 0 LLVM 22 aborts the process on masks of AVX-512.
    return llvm.Target.from_triple(t.triple).create_target_machine(
        cpu=t.cpu, features=t.features, opt=2, reloc="pic", codemodel="small"
    )


@once
def _engine() -> Any:
    """The linker of all kernels; it owns their code for as long as the process lives."""
    return llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{host().triple}"'), _machine(host()))


def key_of(kernel: Any) -> bytes:
    """The key of a kernel, from data that prints the same in every process."""
    return hashlib.blake2b(repr(kernel).encode() + cache.stamp(), digest_size=20).digest()


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
    with cache.noted("".join(texts.values())):
        for key, text in texts.items():
            try:
                if key in cache.suspects() and not survives(text):
                    raise Refused("LLVM ended the process that compiled it")
                code = object_code(text)
            except Refused as error:
                _refused[key] = str(error)
                continue
            _link(key, code)
            Counters.compiled += 1
            cache.save(key, code)


def object_code(text: str) -> bytes:
    """The object file of a module. Raises :class:`Refused`."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise Refused(str(error)) from error
    return _machine(target()).emit_object(module)


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


def _load(key: bytes) -> bool:
    code = cache.read(key)
    if code is None:
        return False
    try:
        _link(key, code)
    except (Refused, RuntimeError):
        return False
    Counters.loaded += 1
    return True


def survives(text: str) -> bool:
    """Whether a process of its own lives to the end of compiling ``text``."""
    import subprocess  # only here, and not needed in a lifetime

    code = "import sys; from wengert.codegen.compiler import object_code; object_code(sys.stdin.read())"
    environment = {**os.environ, "WENGERT_TARGET": config.target}
    child = subprocess.run(
        [sys.executable, "-c", code], input=text.encode(), capture_output=True, check=False, env=environment
    )
    return child.returncode >= 0  # a negative one is the signal that ended it
