"""Programs are run by C code, through ctypes here: values, captured arrays, statuses, threads without the GIL."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.runtime.c_function import FAILURES

_CALL = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)  # ctypes gives up the GIL for the call


def runner(f: Callable[..., Any], *example: Any) -> Callable[..., tuple[int, list[Any]]]:
    """Return what runs ``f``, compiled for the example, by its C function: status and results."""
    tape = wg.trace(f)(*example)
    given = wg.compile(tape).c_function()
    call = _CALL(given.call)

    def run(*xs: Any) -> tuple[int, list[Any]]:
        arrays = [np.ascontiguousarray(x, v.aval.dtype) for x, v in zip(xs, tape.inputs, strict=True)]
        results = [np.full(a.aval.shape, 77).astype(a.aval.dtype) for a in tape.outputs]
        ins = (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
        outs = (ctypes.c_void_p * len(results))(*[y.ctypes.data for y in results])
        return call(given.data, ins, outs), results

    return run


X = np.array([3.0, 4.0])
A = np.random.default_rng(0).normal(size=(40, 40))

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "several results": (lambda x: (np.sqrt(np.sum(x**2)), x * 2), (X,)),
    "a gradient": (wg.grad(lambda x: np.sum(np.sin(x) ** 3)), (X,)),
    "results that begin as zeros": (wg.grad(lambda x: x[1] ** 2), (X,)),
    "products of matrices": (wg.grad(lambda a: np.sum(np.tanh(a @ a))), (A,)),
    "a factorisation": (lambda a, x: np.linalg.solve(a, x), (A, A[0])),
    "a scan": (wg.grad(lambda x: np.sum(wg.fori_loop(0, 1000, lambda _, x: np.sin(x) * 1.01, x))), (X,)),
    "a loop of any count": (
        lambda x: wg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1],
        (X,),
    ),
    "a branch": (lambda x: wg.cond(x[0] > 0, lambda x: x, lambda x: -x, x), (X,)),
    "dtypes": (lambda k, b, z, s: (k + 1, ~b, z * 1j, s / 2), (np.arange(3), np.array([True]), 1j * X, np.float32(1))),
    "a result that is an argument": (lambda x: (x, x), (X,)),
    "constants": (lambda x: x * np.arange(2.0), (X,)),
    "nothing to do": (lambda: np.arange(3), ()),
    "large, in parts by threads elsewhere": (lambda x: np.exp(x) * 2, (np.linspace(0, 1, 500_000),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_program_to_the_bit(name: str) -> None:
    f, xs = PROGRAMS[name]
    wanted = wg.tree.leaves(wg.compile(wg.trace(f)(*xs))(*xs))
    status, results = runner(f, *xs)(*xs)
    assert status == 0
    for y, w in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(y, w, strict=True)


def test_captured_arrays_are_read_where_they_lie() -> None:
    captured = np.ones(2)
    run = runner(lambda x: x + captured, X)
    captured[:] = 5
    np.testing.assert_array_equal(run(X)[1][0], [8.0, 9.0])
    captured.shape = (2, 1)
    assert run(X)[0] == 5


def test_an_array_that_was_read_only_and_can_be_written_ends_the_run() -> None:
    fixed = np.ones(2)
    fixed.flags.writeable = False
    run = runner(lambda x: x + np.exp(fixed), X)
    assert run(X)[0] == 0
    fixed.flags.writeable = True
    assert run(X)[0] == 4


def test_a_guard_that_does_not_hold_ends_the_run() -> None:
    run = runner(lambda x: x if x[0] > 0 else -x, X)
    assert run(X)[0] == 0
    assert run(-X)[0] == 1


def test_a_kernel_that_refuses_ends_the_run_and_sets_no_error() -> None:
    run = runner(lambda a: np.linalg.solve(a, a), np.eye(2))
    assert run(np.zeros((2, 2)))[0] == 2
    assert run(np.eye(2))[0] == 0


def test_a_program_that_calls_python_is_refused() -> None:
    double = wg.primitive(lambda x: x * 2)
    with pytest.raises(wg.errors.StructureError, match=r"its step <lambda> calls Python, .*: a primitive of"):
        runner(lambda x: np.sin(double(x)), X)
    with pytest.raises(wg.errors.StructureError, match="calls Python"):
        runner(lambda x: wg.print("x = {x}", x=x) or x, X)


def test_a_program_without_machine_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wg.config, "native", False)
    with pytest.raises(wg.errors.StructureError, match="NumPy runs this program, without a C function"):
        runner(np.sin, X)


def test_every_status_has_its_words() -> None:
    assert sorted(FAILURES) == [1, 2, 3, 4, 5, 6]


def test_the_program_lives_as_long_as_its_functions() -> None:
    given = wg.compile(wg.trace(np.sin)(X)).c_function()
    gc.collect()
    y = np.empty(2)
    pointers = [(ctypes.c_void_p * 1)(a.ctypes.data) for a in (X, y)]
    assert _CALL(given.call)(given.data, *pointers) == 0
    np.testing.assert_array_equal(y, wg.jit(np.sin)(X))


def test_threads_run_at_once_each_in_memory_of_its_own() -> None:
    f = wg.grad(lambda a: np.sum(np.tanh(a @ a)))
    run, batch = runner(f, A), [A * k for k in range(1, 9)]
    wanted = [wg.jit(f)(a) for a in batch]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(20):
            wrong.extend(k for k, a in enumerate(batch) if not np.array_equal(run(a)[1][0], wanted[k]))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
