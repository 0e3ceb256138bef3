"""The processor that code is made for: this machine's own, or the level of x86-64 that ``config.target`` names.

A level is a set of instructions that all processors from some year on have, as the x86-64 psABI lists it; code for a
level uses no others, even if this machine has them. LLVM is imported when it is asked: what is written for a processor
can be read where there is none.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from wengert import config
from wengert.codegen.locking import TARGET
from wengert.errors import ConfigError, message

MAX_LANES = 16

V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
V3 = (*V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
V4 = (*V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
LEVELS = {"x86-64-v2": (V2, 16), "x86-64-v3": (V3, 32), "x86-64-v4": (V4, 64)}
"""The features of a processor of each level, by LLVM's names, and the bytes of its vectors."""


class Target(NamedTuple):
    """The processor features that generated code may use."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    """Width of the registers: 16, 32 or 64."""
    has_fma: bool
    """Whether a fused multiply-add is one instruction; without it ``fma`` would be a call into libm."""

    @property
    def is_x86(self) -> bool:
        """Whether instructions of x86-64 may be named: 32 or 64 bytes then mean AVX2 or AVX-512."""
        return self.triple.startswith("x86_64")

    @property
    def registers(self) -> int:
        """The number of vector registers."""
        return 16 if self.is_x86 and self.vector_bytes < 64 else 32

    def lanes(self, itemsize: int) -> int:
        """The number of elements of ``itemsize`` bytes that a vector has."""
        return min(self.vector_bytes // itemsize, MAX_LANES)


AARCH64 = Target("aarch64-unknown-linux-gnu", "generic", "+neon", 16, has_fma=True)
"""Any 64-bit ARM processor, for programs that are lowered here and run elsewhere."""


def target() -> Target:
    """The processor that code is made for from now on. Raises :class:`ConfigError`."""
    return _runnable(str(config.target)) if config.target else host()


@cache
def host() -> Target:
    """The processor that this process runs on."""
    with TARGET:
        return _host()


def _host() -> Target:
    import llvmlite.binding as llvm

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


def level(name: str) -> Target:
    """A processor that has the features of its level and no others; this machine may be a different one."""
    import llvmlite.binding as llvm

    features, vector_bytes = LEVELS[name]
    has = ",".join([f"+{feature}" for feature in features])
    with TARGET:
        here = llvm.get_process_triple()
    triple = here if here.startswith("x86_64") else "x86_64-unknown-linux-gnu"
    return Target(triple, name, has, vector_bytes, "fma" in features)


def lacking(name: str) -> list[str]:
    """The features that code for a level may use and that this machine does not have."""
    has = set(host().features.split(","))
    return [feature for feature in LEVELS[name][0] if f"+{feature}" not in has]


@cache
def _runnable(name: str) -> Target:
    if name not in LEVELS:
        raise _refused(f"config.target is {name!r}, which names no processor", ("known", ", ".join(LEVELS)))
    missing = lacking(name)
    if missing:
        raise _refused(f"config.target is {name!r}: this machine cannot run its code", ("lacks", ", ".join(missing)))
    return level(name)


def _refused(what: str, note: tuple[str, str]) -> ConfigError:
    most = [name for name in LEVELS if not lacking(name)][-1:]
    tries = [f'"{name}", the most that this machine runs' for name in most]
    return ConfigError(message(what, notes=[note], tries=[*tries, '"", or no WENGERT_TARGET: this machine itself']))
