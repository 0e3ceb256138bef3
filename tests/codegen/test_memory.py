"""Reads and writes of memory: what a mask leaves out is neither read nor written, and a boolean is a byte."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.codegen.kernel import engine, target
from tests.codegen.nests.loops import at_the_edge
from wengert.codegen import memory
from wengert.codegen.ir import Function, Value

DTYPES = ["f8", "f4", "i8", "u2", "i1", "b1"]
LANES = 4
_count = 0


def run(body: Callable[..., None], *arrays: np.ndarray[Any, Any]) -> str:
    """Run ``body(f, "%p0", "%p1" ...)`` once on the addresses of the arrays; its text."""
    global _count
    _count += 1
    where, name = target(), f"memory_{_count}"
    f = Function(where)
    pointers = [f"%p{k}" for k in range(len(arrays))]
    body(f, *pointers)
    f.lines.append("  ret void")
    given = ", ".join(f"ptr {p}" for p in pointers)
    text = "\n".join([*f.declarations.values(), f"define void @{name}({given}) {{", *f.body(), "}"])
    module = llvm.parse_assembly(text)
    module.verify()
    _, jit = engine(where.cpu, where.features)
    jit.add_module(module)
    jit.finalize_object()
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(jit.get_function_address(name))
    call(*[x.__array_interface__["data"][0] for x in arrays])
    return text


def some(dtype: str, n: int = LANES) -> np.ndarray[Any, Any]:
    return (np.arange(n) % 3 - (dtype[0] in "fi")).astype(dtype)


def first(f: Function, n: int) -> Value:
    """A mask of the first ``n`` lanes."""
    return f.vector([k < n for k in range(LANES)], "b1")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", [1, LANES])
def test_elements_side_by_side(dtype: str, lanes: int) -> None:
    x, y = some(dtype), np.zeros(LANES, dtype)
    run(lambda f, a, b: memory.store(f, b, memory.load(f, a, dtype, lanes)), x, y)
    assert y.tolist() == [*x[:lanes].tolist(), *np.zeros(LANES - lanes, dtype).tolist()]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_mask_keeps_reads_and_writes_inside(dtype: str, n: int) -> None:
    """The arrays end where a page ends behind which nothing may be touched."""
    x, y = at_the_edge(some(dtype, n), True), at_the_edge(np.ones(n, dtype), True)
    run(lambda f, a, b: memory.store(f, b, memory.load(f, a, dtype, LANES, first(f, n)), first(f, n)), x, y)
    assert y.tolist() == x.tolist()


def test_what_is_not_read_is_zero() -> None:
    x, y = np.full(LANES, 7.0), np.ones(LANES)
    run(lambda f, a, b: memory.store(f, b, memory.load(f, a, "f8", LANES, first(f, 2))), x, y)
    assert y.tolist() == [7, 7, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stride", [1, -1, 2, -3, 0])
@pytest.mark.parametrize("is_known", [True, False], ids=["in the code", "at run time"])
def test_strides(dtype: str, stride: int, is_known: bool) -> None:
    """Elements so far apart, backwards too; from an array that begins, or ends, at the edge of a page."""
    n = LANES - 1
    span = abs(stride) * (n - 1) + 1
    x = at_the_edge(some(dtype, span), stride >= 0)
    start = 0 if stride >= 0 else span - 1
    y = np.ones(n, dtype)

    def body(f: Function, a: str, b: str) -> None:
        at = f.pure(f"getelementptr i8, ptr {a}, i64 {start * x.itemsize}", "u8", 1).text
        step = stride if is_known else Value(f, f.effect(f"add i64 {stride}, 0", "i8").text, "i8", 1)
        memory.store(f, b, memory.load_strided(f, at, step, dtype, LANES, first(f, n)), first(f, n))

    run(body, x, y)
    assert y.tolist() == [x[start + k * stride] for k in range(n)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stride", [1, -1, 2])
def test_strided_writes_leave_what_lies_between(dtype: str, stride: int) -> None:
    x = some(dtype)
    y = np.ones(2 * LANES, dtype)
    start = 0 if stride > 0 else LANES - 1
    want = y.copy()
    want[[start + k * stride for k in range(LANES)]] = x

    def body(f: Function, a: str, b: str) -> None:
        at = f.pure(f"getelementptr i8, ptr {b}, i64 {start * y.itemsize}", "u8", 1).text
        memory.store_strided(f, at, stride, memory.load(f, a, dtype, LANES), None)

    run(body, x, y)
    assert y.tolist() == want.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_anywhere(dtype: str) -> None:
    """Offsets are in bytes; a lane that does not count may have any."""
    x, y = some(dtype, 9), np.ones(9, dtype)
    places = [8, 0, 5, 10**12]

    def body(f: Function, a: str, b: str) -> None:
        offsets = f.vector([k * x.itemsize for k in places], "i8")
        memory.scatter(f, b, offsets, memory.gather(f, a, offsets, dtype, first(f, 3)), first(f, 3))

    run(body, x, y)
    want = np.ones(9, dtype)
    want[places[:3]] = x[places[:3]]
    assert y.tolist() == want.tolist()


def test_the_lanes_that_count_stand_side_by_side() -> None:
    x, y = np.array([3.0, -1.0, 2.0, -5.0]), at_the_edge(np.zeros(2), True)

    def body(f: Function, a: str, b: str) -> None:
        v = memory.load(f, a, "f8", LANES)
        memory.compress(f, b, v, v > 0)

    run(body, x, y)
    assert y.tolist() == [3, 2]


def test_any_byte_but_zero_is_true() -> None:
    x, y = np.array([0, 1, 2, 255], np.uint8), np.full(LANES, 9, np.uint8)
    run(lambda f, a, b: memory.store(f, b, memory.load(f, a, "b1", LANES)), x, y)
    assert y.tolist() == [0, 1, 1, 1]


def test_a_read_is_another_one_unless_it_is_known() -> None:
    """The memory may be what the kernel writes."""

    def reads(is_known: bool) -> int:
        f = Function(target())
        for _ in range(3):
            memory.load(f, "%p", "f8", 1, None, is_known)
            memory.gather(f, "%p", f.vector([0, 8], "i8"), "f8", None, is_known)
        return len([line for line in f.lines if " load " in line or "masked.gather" in line])

    assert reads(True) == 2 and reads(False) == 6


def test_ahead_of_the_reads() -> None:
    """A prefetch of memory that is not there is ignored."""
    x = at_the_edge(np.ones(1), True)
    assert "@llvm.prefetch.p0" in run(lambda f, a: memory.prefetch(f, a, 1 << 20), x)
