"""Numba: programs called by compiled code, without the GIL and by many threads; compiled functions that are traced."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import wengert as wg

function = wg.hosts.numba.function
X = np.array([3.0, 4.0])
RNG = np.random.default_rng(0)


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) ** 3)


def test_compiled_code_calls_a_program() -> None:
    both = function(wg.value_and_grad(loss), X)

    @numba.njit
    def descend(x: Any, n: int) -> Any:
        value = 0.0
        for _ in range(n):
            value, gradient = both(x)
            x = x - 0.01 * gradient
        return value, x

    wanted, x = 0.0, X
    for _ in range(50):
        wanted, gradient = wg.value_and_grad(loss)(x)
        x = x - 0.01 * gradient
    value, found = descend(X, 50)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(found, x, rtol=1e-13)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_are_those_of_differences(order: int) -> None:
    f = function(wg.grad(loss) if order == 1 else wg.hessian(loss), X)
    base = function(loss if order == 1 else wg.grad(loss), X)
    columns = [(base(X + h) - base(X - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(f(X), np.stack(columns, -1), rtol=1e-6)


def test_numbers_arrays_and_dtypes() -> None:
    f = function(lambda a, k, z, m: (a * k, np.exp(z) * k, k > 2, m.sum(0)), 2.0, 3, 1j, np.ones((2, 3), np.float32))
    product, power, is_more, column = f(1.5, 4, 2.0, np.ones((2, 3), np.float32))
    assert product == 6.0 and abs(power - 4 * np.exp(2)) < 1e-13 and is_more is True
    np.testing.assert_array_equal(column, np.full(3, 2, np.float32), strict=True)
    assert function(lambda: np.arange(3))().tolist() == [0, 1, 2]
    assert function(lambda x: (x * 2,), X)(X)[0].tolist() == [6.0, 8.0]


def test_captured_arrays_are_read_where_they_lie() -> None:
    captured = np.ones(2)
    f = function(lambda x: x + captured, X)
    captured[:] = 5
    np.testing.assert_array_equal(f(X), X + 5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: (np.ones((2, 3)),), r"expected float32\[2, 3\] in C order"),
        (lambda: (np.ones((3, 2), np.float32).T,), r"np.ascontiguousarray\(x\), got array\(float32, 2d, F\)"),
        (lambda: (1.0,), r"expected float32\[2, 3\], got float64"),
        (lambda: (), "takes 1 arguments, got 0"),
    ],
)
def test_arguments_of_another_type_are_refused_when_they_are_compiled(given: Callable[[], Any], words: str) -> None:
    f = function(lambda x: x * 2, np.ones((2, 3), np.float32))
    with pytest.raises(numba.TypingError, match=words):
        f(*given())


def test_what_a_run_cannot_do_is_raised() -> None:
    with pytest.raises(ValueError, match=r"expected arguments float64\[2\], got arrays of other shapes"):
        function(lambda x: x * 2, X)(np.ones(3))
    with pytest.raises(ValueError, match="a branch goes another way"):
        function(lambda x: x if x[0] > 0 else -x, X)(-X)
    with pytest.raises(ValueError, match="a step refused its operands"):
        function(lambda a: np.linalg.solve(a, a), np.eye(2))(np.zeros((2, 2)))
    fixed = np.ones(2)
    fixed.flags.writeable = False
    f = function(lambda x: x + np.exp(fixed), X)
    fixed.flags.writeable = True
    with pytest.raises(ValueError, match="a read-only one can be written"):
        f(X)


@pytest.mark.parametrize(
    ("f", "example", "words"),
    [
        (lambda x: {"a": x}, (X,), "compiled code takes one array or number, or a tuple"),
        (lambda x: x, ((X, X),), "argument 0 is a tuple of 2"),
        (wg.primitive(lambda x: x * 2), (X,), "calls Python"),
    ],
)
def test_what_cannot_be_a_function_of_numbas_is_refused(f: Any, example: tuple[Any, ...], words: str) -> None:
    with pytest.raises(wg.errors.StructureError, match=words):
        function(f, *example)


ROWS = RNG.normal(size=(64, 30))


def outer(a: Any) -> Any:
    return np.sum(np.tanh(np.outer(a, a)))


def test_threads_of_numbas_run_at_once() -> None:
    gradient = function(wg.grad(outer), ROWS[0])

    @numba.njit(parallel=True)
    def all_of(rows: Any) -> Any:
        out = np.empty_like(rows)
        for i in numba.prange(rows.shape[0]):
            out[i] = gradient(rows[i])
        return out

    wanted = np.stack([wg.jit(wg.grad(outer))(row) for row in ROWS])
    for _ in range(20):
        np.testing.assert_array_equal(all_of(ROWS), wanted)


def test_threads_that_hold_no_gil_are_not_waited_for_by_one_that_does() -> None:
    """In a parallel loop the thread that started it holds the GIL and waits, so who asked for the GIL would hang. The
    loops here take long enough for others to ask for signals."""
    slow = function(lambda x: np.sum(wg.fori_loop(0, 100_000, lambda _, x: np.sin(x) * 1.01, x)), np.ones(50))

    @numba.njit(parallel=True)
    def all_of(n: int) -> Any:
        out = np.empty(n)
        for i in numba.prange(n):
            out[i] = slow(np.full(50, 1.0 / (1 + i)))
        return out

    np.testing.assert_array_equal(all_of(8), [slow(np.full(50, 1.0 / (1 + i))) for i in range(8)])


def test_threads_of_pythons_run_at_once_without_the_gil() -> None:
    gradient = function(wg.grad(outer), ROWS[0])

    @numba.njit(nogil=True)
    def all_of(rows: Any, n: int) -> Any:
        out = np.empty_like(rows)
        for _ in range(n):
            for i in range(rows.shape[0]):
                out[i] = gradient(rows[i])
        return out

    wanted, found = all_of(ROWS, 1), [None] * 4

    def work(k: int) -> None:
        found[k] = all_of(ROWS, 20)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for y in found:
        np.testing.assert_array_equal(y, wanted)


def test_code_with_an_address_in_it_is_not_kept_on_disk(tmp_path: Path) -> None:
    script = tmp_path / "kept.py"
    script.write_text(
        textwrap.dedent("""
        import numba, numpy as np, wengert as wg
        double = wg.hosts.numba.function(lambda x: x * 2, np.ones(2))
        @numba.njit(cache=True)
        def use(x):
            return double(x) + 1
        print(use(np.ones(2)))
    """)
    )
    for _ in range(2):
        run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
        assert run.stdout.strip() == "[3. 3.]" and "Cannot cache compiled function" in run.stderr


# ------------------------------------------------------------------------------------------------------ the other way


@numba.njit
def squares(x: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] ** 2
    return total


@numba.njit
def within(x: Any) -> Any:
    return np.sin(squares(x)) * x


@numba.njit(parallel=True, fastmath=True)
def in_parallel(x: Any) -> Any:
    out = np.zeros_like(x)
    for i in numba.prange(len(x)):
        out[i] = x[i] ** 3
    return out


@pytest.mark.parametrize("f", [squares, within, in_parallel])
def test_a_function_under_njit_is_traced_as_its_python_code(f: Any) -> None:
    ours = lambda x: np.sum(f(x) * np.arange(1, 3))
    wg.check_derivatives(ours, X)
    plain = lambda x: np.sum(f.py_func(x) * np.arange(1, 3))
    np.testing.assert_allclose(wg.jit(wg.grad(ours))(X), wg.grad(plain)(X), rtol=1e-13)
    np.testing.assert_allclose(wg.hessian(ours)(X), wg.hessian(plain)(X), rtol=1e-12)


def test_the_function_itself_is_what_is_differentiated() -> None:
    np.testing.assert_allclose(wg.grad(squares)(X), 2 * X)
    np.testing.assert_allclose(wg.jit(wg.grad(squares))(X), 2 * X)
    assert [i.op.name for i in wg.trace(squares)(X).instrs].count("square") == 2


def test_untraced_calls_run_its_machine_code() -> None:
    table = np.arange(3.0)
    before = len(squares.signatures)

    def f(x: Any) -> Any:
        return squares(table) * x  # a captured array is none of the arguments

    assert wg.grad(f)(2.0) == 5.0
    assert len(squares.signatures) >= max(before, 1)
    assert squares(X) == 25.0


def test_compiled_code_is_not_traced_again_at_every_call() -> None:
    f = wg.jit(wg.grad(lambda x: squares(x) * 2), strict=True)
    for k in range(5):
        np.testing.assert_allclose(f(X + k), 4 * (X + k))
        squares(np.ones(2, np.float32))  # compiles it for more types
    assert f.stats()["traces"] == 1


def test_signatures_that_would_convert_are_refused() -> None:
    @numba.njit("float32(float32)")
    def single(x: Any) -> Any:
        return x * x

    with pytest.raises(
        wg.errors.UnsupportedFunctionError, match=r"compiled by Numba for .*float32(.|\n)*without signatures"
    ):
        wg.grad(single)(2.0)
    assert wg.grad(single)(np.float32(2.0)) == 4.0


def test_ufuncs_of_numbas_are_refused_by_name() -> None:
    @numba.vectorize
    def square(x: Any) -> Any:
        return x * x

    with pytest.raises(wg.errors.UnsupportedFunctionError, match="square is not traced by wengert"):
        wg.grad(lambda x: np.sum(square(x)))(X)


def test_a_function_that_writes_its_argument() -> None:
    @numba.njit
    def fill(out: Any, x: Any) -> None:
        for i in range(len(out)):
            out[i] = x * i

    def f(x: Any) -> Any:
        out = np.zeros(4)
        fill(out, x)
        return np.sum(out)

    assert wg.grad(f)(2.0) == 6.0


def test_both_ways_at_once() -> None:
    gradient = function(wg.grad(squares), X)

    @numba.njit
    def step(x: Any) -> Any:
        return x - 0.25 * gradient(x)

    np.testing.assert_allclose(step(X), X / 2)
