"""The processor that code is made for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm


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


@dataclass(frozen=True)
class Target:
    """What the generated code may use."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    """Width of the registers: 16, 32 or 64."""
    has_fma: bool
    """Whether a fused multiply-add is one instruction; without it ``fma`` would be a call into libm."""
