"""``wg.print``: at every call and iteration, in order, once, whatever is done with the function."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError, StructureError


def printed(f: Callable[..., Any], *args: Any) -> list[str]:
    """The lines that a call prints into a redirected ``sys.stdout``."""
    with redirect_stdout(io.StringIO()) as out:
        f(*args)
    return out.getvalue().splitlines()


def straight(x: Any) -> Any:
    wg.print("start")
    y = np.exp(x)
    wg.print("y {:.3f} x {x}", y, x=x)
    return y * 2


def body(c: Any, x: Any) -> Any:
    wg.print("c {:.2f}", c)
    return np.sin(c) * x, c


def scanned(x: Any) -> Any:
    return np.sum(wg.scan(body, x, np.arange(1.0, 3.0))[1])


def unread(x: Any) -> Any:
    wg.scan(body, x, np.arange(2.0))
    return x * 2


def repeated(x: Any) -> Any:
    def step(c: Any) -> Any:
        wg.print("w {:.1f}", c)
        return c * 2

    return wg.while_loop(lambda c: c < 5, step, x)


def decided(x: Any) -> Any:
    def step(k: Any, c: Any) -> Any:
        if c > 2:
            wg.print("{} big {}", k, c)
        else:
            wg.print("{} small {}", k, c)
        return c * 1.5

    return wg.fori_loop(0, 2, step, x)


def checkpointed(x: Any) -> Any:
    def inner(x: Any) -> Any:
        wg.print("in {}", x)
        return np.exp(x)

    return wg.checkpoint(inner)(x)


def binomial(x: Any) -> Any:
    return wg.scan(lambda c, _: (body(c, 1.0)[0], None), x, None, 3, checkpoint="binomial")[0]


FUNCTIONS = {
    straight: ["start", "y 4.482 x 1.5"],
    scanned: ["c 1.50", "c 1.00"],
    unread: ["c 1.50", "c 0.00"],
    repeated: ["w 1.5", "w 3.0"],
    decided: ["0 small 1.5", "1 big 2.25"],
    checkpointed: ["in 1.5"],
    binomial: ["c 1.50", "c 1.00", "c 0.84"],
}


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_prints_once_a_call_and_iteration_in_order(f: Callable[..., Any]) -> None:
    wanted = FUNCTIONS[f]
    compiled = wg.jit(wg.grad(f))
    assert printed(f, 1.5) == wanted
    assert printed(compiled, 1.5) == wanted
    assert printed(compiled, 1.5) == wanted
    assert printed(wg.grad(f), 1.5) == wanted
    assert printed(lambda x: wg.jvp(f, (x,), (1.0,)), 1.5) == wanted


@pytest.mark.parametrize("f", [scanned, repeated], ids=lambda f: f.__name__)
def test_second_derivatives_print_once(f: Callable[..., Any]) -> None:
    assert printed(wg.grad(wg.grad(f)), 1.5) == FUNCTIONS[f]
    assert printed(lambda x: wg.jvp(wg.grad(f), (x,), (1.0,)), 1.5) == FUNCTIONS[f]


def test_a_pullback_that_is_called_again_prints_nothing() -> None:
    pullbacks: list[Any] = []
    assert printed(lambda x: pullbacks.append(wg.vjp(scanned, x)[1]), 1.5) == FUNCTIONS[scanned]
    assert printed(pullbacks[0], 1.0) == []


def test_a_batch_is_printed_whole() -> None:
    xs = np.array([1.5, 2.5])
    assert printed(wg.vmap(straight), xs) == ["start", "y [4.482 12.182] x [1.5 2.5]"]
    assert printed(wg.jit(wg.vmap(wg.grad(scanned))), xs) == ["c [1.50 2.50]", "c [1.00 0.60]"]


def test_a_call_that_leaves_its_path_prints_once() -> None:
    def f(x: Any) -> Any:
        wg.print("before {}", x)
        if x > 2:
            wg.print("yes")
            return x * 3
        wg.print("no")
        return x * x

    compiled = wg.jit(f)
    for x in (1.0, 3.0, 1.0, 3.0):
        assert printed(compiled, x) == printed(f, x)
    assert compiled.stats()["traces"] == 2


def test_a_count_that_is_new_prints_once() -> None:
    def f(x: Any) -> Any:
        wg.print("sum {}", np.sum(x))
        return x[np.nonzero(x > 1)]

    compiled = wg.jit(f)
    for n in (3, 4, 3):
        assert printed(compiled, np.arange(float(n))) == printed(f, np.arange(float(n)))


def test_a_loop_that_is_looked_at_while_tracing_prints_when_it_runs() -> None:
    def f(x: Any) -> Any:
        y = repeated(x)
        return y * 2 if y > 4 else x

    assert printed(wg.jit(f), 1.5) == printed(wg.grad(f), 1.5) == FUNCTIONS[repeated]


def test_equal_prints_stay_and_python_loops_print_in_order() -> None:
    def f(x: Any) -> Any:
        for k in range(8):
            wg.print("p{}", k)
            wg.print("same")
            x = np.sin(x) * x
        return x

    wanted = [line for k in range(8) for line in (f"p{k}", "same")]
    assert printed(wg.jit(wg.grad(f)), 1.0) == wanted
    tape = wg.trace(f)(1.0)
    assert printed(wg.compile(wg.edit.merge_common(tape)), 1.0) == wanted


def test_values_are_read_at_each_call_and_constants_are_kept() -> None:
    table = np.arange(2.0)

    def f(x: Any) -> Any:
        wg.print("{} {n:d} {s!r} {p[w]:.2f} {{}}", table, n=7, s="t", p={"w": x})
        return x * np.sum(table)

    compiled = wg.jit(f)
    assert printed(compiled, 1.0) == ["[0. 1.] 7 't' 1.00 {}"]
    table[0] = 5
    assert printed(compiled, 2.0) == ["[5. 1.] 7 't' 2.00 {}"]


def test_find_nans_prints_nothing_again() -> None:
    lines: list[str] = []

    def call() -> None:
        with wg.find_nans(), pytest.raises(wg.errors.NonFiniteError):
            wg.jit(lambda x: np.sqrt(repeated(x) - 10))(1.5)

    lines = printed(call)
    assert lines in ([], FUNCTIONS[repeated])


def test_a_template_that_does_not_fit_is_refused() -> None:
    for call, what in (
        (lambda x: wg.print("loss", x), "value 0 stands in no field"),
        (lambda x: wg.print("{} {}", x), "has a field 1"),
        (lambda x: wg.print("{x}", y=x), "has a field x"),
        (lambda x: wg.print("{", x), "is no template"),
    ):
        with pytest.raises(StructureError, match=what):
            call(1.5)
        with pytest.raises(StructureError, match=what):
            wg.grad(lambda x, call=call: (call(x), x)[1])(1.5)
    with pytest.raises(ArgumentError, match="template is"):
        wg.print(1.5)
    with pytest.raises(StructureError, match="neither an array nor a constant"):
        wg.grad(lambda x: (wg.print("{}", [set()]), x)[1])(1.5)


def test_the_name_is_public_and_does_not_shadow_the_builtin() -> None:
    assert "print" not in wg.__all__ and "print" in dir(wg)
