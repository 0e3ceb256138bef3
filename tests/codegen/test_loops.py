"""Loops and branches whose bodies are small, as functions of their own: what becomes one, and that it computes what the
runtime's own loop does, which runs the others."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.codegen import loops
from wengert.codegen.compiler import Counters
from wengert.codegen.lower import text_of
from wengert.codegen.lowered import Lowered, lowered_tape
from wengert.codegen.target import target

X = np.random.default_rng(0).uniform(0.5, 1.5, 7)


def kernels(f: Callable[..., Any], *args: Any) -> list[Any]:
    """Those of a compiled function that are loops or branches."""
    calls = lowered_tape(wg.jit(f).program(*args).tape, target()).calls
    found = [getattr(call, "kernel", None) for call in calls]
    return [kernel for kernel in found if isinstance(kernel, loops.Whole) or kernel in ("scan", "while_back")]


def both(monkeypatch: pytest.MonkeyPatch, f: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
    """What the function gives, and what it gives if no body is small."""
    got = wg.jit(lambda *xs: f(*xs))(*args)
    with monkeypatch.context() as patch:
        patch.setattr(Lowered, "body", lambda self: None)
        assert not any(isinstance(kernel, loops.Whole) for kernel in kernels(lambda *xs: f(*xs), *args))
        return got, wg.jit(lambda *xs: f(*xs))(*args)


def recurrence(x: Any, a: Any = 0.7) -> Any:
    return wg.scan(lambda y, x: (a * y + np.sin(x), y), 0.3, x)


def swapped(x: Any) -> Any:
    step = lambda c, t: ((c[1], c[0] * t, c[2] + 1), (c[0], c[2], t > 1))
    return wg.scan(step, (x[0], x[1], 0), x)


def backwards(x: Any) -> Any:
    return wg.scan(lambda c, row: (np.cos(c) + row, c * row[:2].sum()), np.zeros(3), x, reverse=True)


def written(x: Any) -> Any:
    def step(y: Any, k: Any) -> Any:
        y = y.copy()
        y[k + 1] = 0.5 * y[k] + x[k]
        return y, None

    return wg.scan(step, np.zeros(len(x) + 1), np.arange(len(x)))[0]


def wide(x: Any) -> Any:
    """Carries too large for the function's own memory, in place and beside."""
    step = lambda c, t: ((c[0] * t, c[2], np.flip(c[1])), None)
    return wg.scan(step, (np.ones(100), np.arange(90.0), np.arange(90.0) * x[0]), x)[0]


def newton(a: Any) -> Any:
    return wg.while_loop(lambda x: np.abs(x * x - a) > 1e-12 * a, lambda x: (x + a / x) / 2, a)


def many_iterations(x: Any) -> Any:
    """More than are kept on the stack."""
    start = (0, x, np.float64(0.0))
    return wg.while_loop(lambda c: c[0] < 300, lambda c: (c[0] + 1, c[1] * 0.99, c[2] + c[1][0]), start)[1:]


def chosen(k: Any, x: Any) -> Any:
    return wg.switch(k, [np.sin, lambda x: x * x, lambda x: np.zeros(7) + x[0]], x)


def nested(x: Any) -> Any:
    def step(c: Any, t: Any) -> Any:
        inner = wg.fori_loop(0, 3, lambda k, y: y * t + k, c)
        return wg.cond(t > 1, lambda c: c, np.sin, inner), inner

    return wg.scan(step, 0.1, x)


MATRIX = np.random.default_rng(1).normal(size=(5, 3))
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "recurrence": (recurrence, (X,)),
    "with a constant": (recurrence, (X, 0.3)),
    "float32": (recurrence, (X.astype("f4"), np.float32(0.3))),
    "no iteration": (recurrence, (X[:0],)),
    "one iteration": (recurrence, (X[:1],)),
    "carries that change places": (swapped, (X,)),
    "backwards": (backwards, (MATRIX,)),
    "written in place": (written, (X,)),
    "wide": (wide, (X,)),
    "newton": (newton, (3.0,)),
    "many iterations": (many_iterations, (X,)),
    "no iteration of a while loop": (lambda x: wg.while_loop(lambda x: x < 0, np.sin, x), (0.5,)),
    "nested": (nested, (X,)),
    **{f"branch {k}": (chosen, (k, X)) for k in (-5, 0, 1, 2, 9)},
}
GRADIENTS = [name for name in CASES if "branch" not in name and not name.startswith(("no iteration", "carries"))]


def summed(f: Callable[..., Any]) -> Callable[..., Any]:
    leaves = lambda y: [x for x in wg.tree.flatten(y)[0] if np.asarray(x).dtype.kind == "f"]
    return lambda *xs: sum([np.sum(np.tanh(y)) for y in leaves(f(*xs))])


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("name", CASES)
def test_one_function_computes_what_the_runtimes_loop_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, args = CASES[name]
    assert any(isinstance(kernel, loops.Whole) for kernel in kernels(f, *args))
    assert not {"scan", "while_back"} & {k for k in kernels(f, *args) if isinstance(k, str)}
    got, expected = both(monkeypatch, f, *args)
    for x, y in zip(wg.tree.flatten(got)[0], wg.tree.flatten(expected)[0], strict=True):
        np.testing.assert_array_equal(x, y)
        assert np.asarray(x).dtype == np.asarray(y).dtype


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, args = CASES[name]
    got, expected = both(monkeypatch, wg.grad(summed(f)), *args)
    np.testing.assert_allclose(got, expected, rtol=1e-14 if got.dtype == "f8" else 1e-6)


def test_the_stack_of_a_while_loops_pullback_grows() -> None:
    """Against the derivative on paper: x times 0.99 three hundred times, and the sum of what it was before each."""
    got = wg.jit(wg.grad(lambda x: many_iterations(x)[0].sum() + many_iterations(x)[1]))(X)
    powers = 0.99 ** np.arange(300)
    np.testing.assert_allclose(got, np.full(7, 0.99**300) + np.eye(7)[0] * powers.sum(), rtol=1e-12)


def test_the_same_loop_at_another_length_compiles_nothing_new() -> None:
    number = next(_numbers)
    for f in (lambda x: np.sum(written(x) * number), lambda x: recurrence(x, number)[0]):
        for g in (f, wg.grad(f)):
            wg.jit(lambda x, g=g: g(x))(np.ones(3000))
            before = Counters.compiled
            again = wg.jit(lambda x, g=g: g(x))
            again(np.ones(7000))
            assert Counters.compiled == before


_numbers = itertools.count(1.2345)


def test_what_a_body_refuses_is_numpys_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    f = lambda k, x: wg.scan(lambda c, j: (c + x[j], c), 0.0, k)
    got, expected = both(monkeypatch, f, np.array([0, -1, 3]), X)
    np.testing.assert_array_equal(got[1], expected[1])
    with pytest.raises(IndexError, match="out of bounds"):
        wg.jit(f)(np.array([0, 99]), X)


def test_a_body_that_is_large_is_left_to_the_runtime() -> None:
    """One that takes long, one that needs much memory, one of many kernels; and one that calls a library."""
    long = lambda x: wg.scan(lambda c, t: (np.sin(c[::-1]) * t, None), np.ones(10_000), x)[0]
    many = lambda x: wg.scan(lambda c, t: (np.cumsum(np.cumsum(c)) * t, None), np.ones(3000), x)[0]
    library = lambda x: wg.scan(lambda c, t: (np.linalg.solve(np.eye(40) + c * t, c), None), np.ones((40, 40)), x)[0]
    for f in (long, many, library):
        assert kernels(f, X) == ["scan"]


def test_the_text_holds_a_kernel_once_however_often_it_is_called() -> None:
    def step(c: Any, t: Any) -> Any:
        for _ in range(6):
            c = np.cumsum(c) * t
        return c, None

    (kernel,) = kernels(lambda x: wg.scan(step, np.ones(5), x)[0], X)
    assert isinstance(kernel, loops.Scan)
    assert len(kernel.body.segments) >= 12
    text = text_of(kernel, "here", target())
    assert text.count("define ") == 1 + len({segment.kernel for segment in kernel.body.segments}) < 6
    assert loops.is_to_be_optimised(text)
    assert loops.emit(kernel, "here", target(), partial(text_of, target=target())) == text
