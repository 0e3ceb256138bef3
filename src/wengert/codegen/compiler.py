"""Kernels as machine code: from LLVM IR text, once per machine.

A kernel is known by its *key*: what it computes, the processor, LLVM's version and the files of our code generator. It
is looked up in memory, then on disk, and compiled last; so a second process compiles nothing that it has seen.

* Machine code lives as long as something refers to it (:class:`Code`): programs share it, and it is freed with the last
  of them.
* The text is parsed and verified before anything is generated from it; a kernel that LLVM refuses is remembered, and
  the caller runs the reference instead (:class:`Refused` says why).
* A kernel whose compilation ended a process is tried in a separate process first: :mod:`wengert.codegen.cache` has the
  notes of what was being compiled, and keeps the machine code.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import cache as once
from typing import Any
from weakref import WeakValueDictionary, finalize

import llvmlite.binding as llvm

from wengert import config
from wengert._contexts import acquired
from wengert.codegen import cache
from wengert.codegen.locking import LINKER
from wengert.codegen.loops import is_to_be_optimised
from wengert.codegen.target import Target, host
from wengert.codegen.vecmath import called


class Refused(Exception):
    """A kernel that cannot be compiled, and why."""


class Code:
    """The machine code of a kernel, which is in memory as long as this object lives: whoever uses the address must keep
    the object. It keeps the functions that it calls."""

    __slots__ = ("__weakref__", "address", "callees")

    def __init__(
        self, address: int, library: llvm.ResourceTracker, linker: llvm.LLJIT, callees: Mapping[str, Code]
    ) -> None:
        self.address = address
        self.callees = dict(callees)
        # Not when the process ends: a thread that is not waited for may run it until the very end.
        finalize(self, _drop, library, linker).atexit = False


_codes: WeakValueDictionary[bytes, Code] = WeakValueDictionary()
_recent: dict[bytes, Code] = {}
"""The kernels that were asked for last, in case functions are made, compiled and dropped in a loop: reading and linking
one kernel takes half a millisecond."""
RECENT = 256  # 5 to 10 MB
_refused: dict[bytes, str] = {}
_provided: dict[str, int] = {}
_dropped: deque[tuple[Any, Any]] = deque()
"""Libraries of code that is not needed any more, each with its linker."""


def _drop(library: llvm.ResourceTracker, linker: llvm.LLJIT) -> None:
    """Free a library; if another thread uses the linker now, that thread does so, or the next one. This may be called
    anywhere, when the last reference goes."""
    _dropped.append((library, linker))
    with acquired(LINKER) as is_acquired:
        if is_acquired:
            _free()


def _free() -> None:
    while _dropped:
        library, _ = _dropped.popleft()
        library.close()  # before its linker, which goes with the last of its libraries


class Counters:
    """Counts of what has been compiled in this process. Times are in seconds."""

    compiled = 0
    loaded = 0
    compile_s = 0.0


@once
def _machine(t: Target) -> Any:
    if t.triple != host().triple:  # LLVM knows the other processor by its triple alone
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    # Level 2: at level 0 LLVM 22 aborts the process on masks of AVX-512.
    return llvm.Target.from_triple(t.triple).create_target_machine(
        cpu=t.cpu, features=t.features, opt=2, reloc="pic", codemodel="small"
    )


LINKED = 256
"""The number of kernels that one linker links: it keeps some 14 kB of each until it is freed itself."""
_linkers: deque[Any] = deque(maxlen=1)


def _linker(number: int) -> Any:
    """The linker for kernel number ``number``; it links each kernel as a library of its own. It is JITLink, since only
    that frees the memory of the code of one library."""
    if not _linkers or number % LINKED == 0:
        _give_back()
        _linkers.append(llvm.create_lljit_compiler(_machine(host()), use_jit_link=True))
    return _linkers[0]


def _give_back() -> None:
    """Return to the system the memory that LLVM has freed: glibc keeps it, in as many pieces as there were kernels."""
    trim = (
        getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    )  # other C libraries have none
    if trim is not None:
        trim(0)


def key_of(kernel: Any, target: Target) -> bytes:
    """The key of a kernel, from data that prints the same in every process."""
    return hashlib.blake2b(repr(kernel).encode() + cache.stamp(target), digest_size=20).digest()


def machine_code(kernels: Mapping[bytes, Callable[[str], str]], target: Target) -> dict[bytes, Code | str]:
    """Return for each key its code, or the reason why there is none. ``kernels[key](name)`` is the IR text."""
    with LINKER:
        found: dict[bytes, Code | str] = {}
        missing = []
        for key in kernels:
            known = _codes.get(key) or _refused.get(key)
            if known is None:
                missing.append(key)
            else:
                found[key] = known
        if missing:
            start = time.perf_counter()
            texts = {}
            for key in missing:
                code = _loaded(key, target)
                if code is None:
                    texts[key] = kernels[key]
                else:
                    found[key] = code
            if texts:
                found.update(_compiled(texts, target))
            Counters.compile_s += time.perf_counter() - start
        _keep(found)
        _free()
        return found


def _keep(found: Mapping[bytes, Code | str]) -> None:
    """Keep the kernels that were asked for last, each once."""
    for key, code in found.items():
        _recent.pop(key, None)
        if isinstance(code, Code):
            _recent[key] = code
    for key in list(itertools.islice(_recent, max(0, len(_recent) - RECENT))):
        del _recent[key]


def name_of(key: bytes) -> str:
    return f"k{key.hex()}"


# ------------------------------------------------------------------------------------------------------ compiling


def _compiled(kernels: Mapping[bytes, Callable[[str], str]], target: Target) -> dict[bytes, Code | str]:
    found: dict[bytes, Code | str] = {}
    texts = {key: write(name_of(key)) for key, write in kernels.items()}
    with cache.noted("".join(texts.values())):
        for key, text in texts.items():
            with cache.one_at_a_time(key):
                found[key] = _loaded(key, target) or _made(
                    key, text, target
                )  # another process may have made it meanwhile
    return found


def _made(key: bytes, text: str, target: Target) -> Code | str:
    try:
        if key in cache.suspects() and not survives(text):
            raise Refused("LLVM ended the process that compiled it")
        symbols = called.symbols_in(text)
        callees = [_callee(symbol, target) for symbol in symbols]
        code = object_code(text, target)
        made = _linked(key, code, dict(zip(symbols, callees, strict=True)))
    except Refused as error:
        _refused[key] = str(error)
        return _refused[key]
    Counters.compiled += 1
    cache.save(key, " ".join(symbols).encode() + b"\n" + code)
    return made


def _callee(symbol: str, target: Target) -> Code:
    """The code of a function that kernels call. Raises :class:`Refused`."""
    key = key_of(symbol, target)
    known = _codes.get(key) or _refused.get(key) or _loaded(key, target)
    if known is None:
        known = _compiled({key: lambda name: called.text_of(symbol, name, target)}, target)[key]
    if isinstance(known, str):
        raise Refused(f"{symbol}: {known}")
    return known


def object_code(text: str, target: Target) -> bytes:
    """The object file of a module. Raises :class:`Refused`."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise Refused(str(error)) from error
    if is_to_be_optimised(text):
        _optimise(module, target)
    return _machine(target).emit_object(module)


def _optimise(module: llvm.ModuleRef, target: Target) -> None:
    """Inline the kernels of a loop into the loop, and optimise the result. The texts of single kernels need no
    optimising before code is generated."""
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    passes = llvm.create_pass_builder(_machine(target), options)
    passes.getModulePassManager().run(module, passes)


_numbers = itertools.count()


def _linked(key: bytes, code: bytes, callees: Mapping[str, Code]) -> Code:
    """The code of an object file that calls ``callees``, in memory. Raises :class:`Refused`."""
    name = name_of(key)
    library = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(name).add_current_process()
    addresses = {symbol: callee.address for symbol, callee in callees.items()}
    for symbol, address in {**_provided, **addresses}.items():
        library.import_symbol(symbol, address)
    number = next(_numbers)
    linker = _linker(number)
    try:
        linked = library.link(linker, f"{name}.{number}")  # the name of a library cannot be used again
    except RuntimeError as error:
        raise Refused(str(error)) from error
    known = _codes[key] = Code(linked[name], linked, linker, callees)
    return known


def provide(name: str, address: int) -> None:
    """Let kernels call the runtime's routine at an address by name."""
    _provided[name] = address


def _loaded(key: bytes, target: Target) -> Code | None:
    data = cache.read(key)
    if data is None:
        return None
    symbols, _, code = data.partition(b"\n")
    try:
        made = _linked(key, code, {symbol: _callee(symbol, target) for symbol in symbols.decode().split()})
    except Refused:  # the object file does not define the kernel
        return None
    Counters.loaded += 1
    return made


def survives(text: str) -> bool:
    """Whether a separate process lives to the end of compiling ``text``."""
    import subprocess  # imported only here, since it is hardly ever needed

    code = (
        "import sys; from wengert.codegen.compiler import object_code; from wengert.codegen.target import target; "
        "object_code(sys.stdin.read(), target())"
    )
    environment = {**os.environ, "WENGERT_TARGET": config.target}
    child = subprocess.run(
        [sys.executable, "-c", code], input=text.encode(), capture_output=True, check=False, env=environment
    )
    return 0 <= child.returncode < 1 << 30  # a negative one is the signal that ended it; a large one is Windows' word
