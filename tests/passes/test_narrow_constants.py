from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.passes.narrow_constants import narrow_constants
from wengert.passes.reroll import reroll

STEPS = 400  # a shorter loop stays straight code


def shapes_of_constants(f: Any, *args: Any) -> list[Any]:
    tape = narrow_constants(reroll(wg.trace(f)(*args)))
    (loop,) = [i for i in tape.instrs if i.op.name == "scan"]
    n = loop.params["loop"].constants
    np.testing.assert_allclose(wg.compile(tape)(*args), f(*args), rtol=1e-12)
    return sorted([v.aval.shape for v in loop.params["loop"].body.inputs[:n]])


def check(f: Any, x: Any) -> None:
    """Compare a slope with that of differences, of NumPy's own run."""
    dx, h = np.random.default_rng(1).standard_normal(x.shape), 1e-5
    slope = (np.sum(f(x + h * dx) ** 2) - np.sum(f(x - h * dx) ** 2)) / (2 * h)
    found = wg.jit(wg.grad(lambda x: np.sum(f(x) ** 2)))(x)
    np.testing.assert_allclose(np.sum(found * dx), slope, rtol=1e-7)


def chain(x: Any, begin: int) -> Any:
    """Return the state of a chain of equations, each of which reads its neighbour, after Euler's steps."""
    y = np.zeros_like(x)
    for _ in range(STEPS):
        rate = np.zeros_like(x)
        if begin:
            rate[0] = x[0]
            rate[1:] = np.sin(x[1:] * y[:-1])
        else:
            rate[-1] = x[-1]
            rate[:-1] = np.sin(x[:-1] * y[1:])
        y = y + 0.01 * rate + 0.005 * np.cos(rate)
    return y


@pytest.mark.parametrize("begin", [1, 0])
def test_a_loop_is_given_the_border_that_it_does_not_write_over(begin: int):
    x = np.random.default_rng(0).uniform(0.5, 1.5, 50)
    assert (50,) not in shapes_of_constants(lambda x: chain(x, begin), x)
    assert (1,) in shapes_of_constants(lambda x: chain(x, begin), x)
    check(lambda x: chain(x, begin), x)


@pytest.mark.deep("long chains of steps are traced and differentiated twice")
def test_second_order_through_a_border():
    x = np.random.default_rng(0).uniform(0.5, 1.5, 12)
    g = wg.grad(lambda x: np.sum(chain(x, 1) ** 2))
    check(lambda x: g(x), x)


def test_borders_of_rows_and_columns():
    x = np.random.default_rng(0).uniform(0.5, 1.5, (20, 9))

    def rows(x: Any) -> Any:
        y = np.zeros_like(x)
        for _ in range(STEPS):
            rate = np.cos(x)
            rate[2:] = x[2:] * y[:-2]
            y = y + 0.01 * rate + 0.01 * np.sin(y)
        return y

    def columns(x: Any) -> Any:
        return rows(x.T)

    for f in (rows, columns):
        check(f, x)
        assert (2, x.shape[1] if f is rows else x.shape[0]) in shapes_of_constants(f, x)


def test_what_is_read_otherwise_stays_whole():
    x = np.random.default_rng(0).uniform(0.5, 1.5, 50)

    def read(x: Any) -> Any:
        y, base = np.zeros_like(x), np.cos(x)
        for _ in range(STEPS):
            rate = base.copy()
            rate[1:] = x[1:] * y[:-1]
            y = y + 0.01 * rate + 0.01 * base
        return y

    def inner(x: Any) -> Any:
        y, base = np.zeros_like(x), np.cos(x)
        for _ in range(STEPS):
            rate = base.copy()
            rate[1:-1] = x[1:-1] * y[:-2]
            y = y + 0.01 * rate + 0.01 * np.sin(y)
        return y

    def little(x: Any) -> Any:
        y, base = np.zeros_like(x), np.cos(x)
        for _ in range(STEPS):
            rate = base.copy()
            rate[40:] = x[40:] * y[:10]
            y = y + 0.01 * rate + 0.01 * np.sin(y)
        return y

    for f in (read, inner, little):
        assert (50,) in shapes_of_constants(f, x)
        check(f, x)


def test_results_that_are_merged_are_results():
    def step(y: Any, v: Any) -> Any:
        return y + v, None

    def f(x: Any) -> Any:
        return wg.scan(step, x, np.ones((3, 4)))[0], np.cos(x), np.cos(x)

    x = np.arange(4.0)
    tape = narrow_constants(wg.trace(f)(x))
    for found, expected in zip(wg.compile(tape)(x), (x + 3, np.cos(x), np.cos(x)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
