"""A loop kernel for one function, compiled by itself: what the tests of generated functions call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from wengert.codegen import contract
from wengert.codegen import target as processors
from wengert.codegen.ir import Function, Value, llvm_type
from wengert.codegen.target import Target
from wengert.codegen.vecmath import angles, called
from wengert.runtime._native import reduce_huge_address

llvm.add_symbol(angles.REDUCE, reduce_huge_address())

HOST = processors.target()
"""What this run makes code for: this machine, or the level that ``WENGERT_TARGET`` names."""
NO_FMA = "-fma,-avx512f,-avx,-avx2,-sse4.1,-sse4.2,-ssse3,-sse3"


def target(vector_bytes: int = 32, has_fma: bool = HOST.has_fma) -> Target:
    """A processor whose kernels run here: :data:`HOST` with vectors of another length, or, without FMA, a plain x86-64
    as of SSE2 (elsewhere, kernels that use none).

    Registers of 64 bytes mean AVX-512 to the generator, so they are not had of a machine without it. For text that is
    looked at and not run, take :func:`wengert.codegen.target.level`.
    """
    assert vector_bytes <= max(32, HOST.vector_bytes), "this could not be run"
    if has_fma or not HOST.triple.startswith("x86_64"):
        return HOST._replace(vector_bytes=vector_bytes, has_fma=has_fma)
    return HOST._replace(cpu="x86-64", features=NO_FMA, vector_bytes=vector_bytes, has_fma=False)


@cache
def engine(cpu: str, features: str) -> tuple[Any, Any]:
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=2)
    return machine, llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def add(text: str, where: Target, speed_level: int) -> Any:
    """Add a module, and the callees that it calls, to the engine of a processor, which is returned.

    An engine may hold code for vectors of several lengths: each has callees of its own name.
    """
    machine, jit = engine(where.cpu, where.features)
    for symbol in called.symbols_in(text):
        name = f"{symbol}.{where.vector_bytes}"
        text = text.replace(f"@{symbol}(", f"@{name}(")
        if not jit.get_function_address(name):
            add(called.text_of(symbol, name, where), where, speed_level)
    module = llvm.parse_assembly(text)
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=speed_level))
    builder.getModulePassManager().run(module, builder)
    jit.add_module(module)
    jit.finalize_object()
    return jit


def memory_type(dtype: str, lanes: int) -> str:
    return llvm_type("u1" if dtype == "b1" else dtype, lanes)


def text_of(function: Callable[..., Value], dtypes: list[str], out: str, lanes: int, where: Target, name: str) -> str:
    """``void name(long n, out*, in*...)``, n a multiple of lanes."""
    f = Function(where)
    f.branch("loop")
    f.start("loop")
    i = Value(f, "%i", "i8", 1)
    after = Value(f, "%after", "i8", 1)
    body = len(f.lines)

    def address(k: int, dtype: str) -> Value:
        return f.pure(f"getelementptr {memory_type(dtype, 1)}, ptr %p{k}, i64 {i.text}", "i8", 1)

    xs = []
    for k, dtype in enumerate(dtypes):
        stored = "u1" if dtype == "b1" else dtype
        x = f.effect(f"load {memory_type(dtype, lanes)}, ptr {address(k + 1, dtype).text}, align 1", stored, lanes)
        xs.append(x.ne(0) if dtype == "b1" else x)
    y = function(*xs)
    assert y.dtype == out and y.lanes == lanes
    y = y.to("u1") if out == "b1" else y
    f.effect(f"store {y.typed}, ptr {address(0, out).text}, align 1")
    f.lines.append(f"  {after.text} = add i64 {i.text}, {lanes}")
    f.branch_if(after < Value(f, "%n", "i8", 1), "loop", "exit")
    f.lines.insert(body, f"  {i.text} = phi i64 [0, %entry], [{after.text}, %{f.block}]")
    f.start("exit")
    f.lines.append("  ret void")
    pointers = "".join(f", ptr noalias %p{k}" for k in range(len(dtypes) + 1))
    lines = [*f.declarations.values(), f"define void @{name}(i64 %n{pointers}) {{", *f.body(), "}"]
    return "\n".join(lines)


_count = 0


def compiled(
    function: Callable[..., Value], dtypes: list[str], out: str, lanes: int = 4, where: Target | None = None
) -> Callable[..., np.ndarray]:
    """The function as one of arrays of equal length."""
    global _count
    _count += 1
    where = where or target()
    name = f"kernel_{_count}"
    text = text_of(function, dtypes, out, lanes, where, name)
    jit = add(text, where, speed_level=2)
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (len(dtypes) + 1))(
        jit.get_function_address(name)
    )

    def run(*arrays: np.ndarray) -> np.ndarray:
        n = len(arrays[0])
        padded = -(-n // lanes) * lanes
        inputs = []
        for x, dtype in zip(arrays, dtypes, strict=True):
            assert x.dtype == np.dtype(dtype), (x.dtype, dtype)
            filled = np.ones(padded, x.dtype)
            filled[:n] = x
            inputs.append(filled)
        result = np.empty(padded, out)
        if padded:
            call(padded, result.ctypes.data, *[x.ctypes.data for x in inputs])
        return result[:n]

    run.call = call
    return run


def tiled_as_with_vectors_of(vector_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let products be tiled, or left to BLAS, as on a processor with such vectors."""
    is_tiled = contract.is_tiled
    monkeypatch.setattr(
        contract,
        "is_tiled",
        lambda product, step, target: is_tiled(product, step, target._replace(vector_bytes=vector_bytes)),
    )
