"""``cond`` and ``switch``: the branch that is taken, in value and in every derivative."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import wengert as wg


def rooted(x: Any) -> Any:
    return wg.cond(x > 0, np.sqrt, lambda x: x**2 - x, x)


def test_the_branch_that_is_taken_is_differentiated() -> None:
    for f in (rooted, wg.jit(rooted)):
        for x, values in ((4.0, (2.0, 0.25, -1 / 32)), (-3.0, (12.0, -7.0, 2.0))):
            assert f(x) == pytest.approx(values[0])
            assert wg.grad(f)(x) == wg.jvp(f, (x,), (1.0,))[1] == pytest.approx(values[1])
            assert wg.grad(wg.grad(f))(x) == wg.hessian(f)(x) == pytest.approx(values[2])
    compiled = wg.jit(wg.grad(rooted))
    assert [compiled(4.0), compiled(-3.0)] == [0.25, -7.0] and compiled.stats()["traces"] == 1


def test_in_a_batch_nothing_leaks_from_the_branch_not_taken() -> None:
    x = np.array([4.0, -3.0, 9.0])
    np.testing.assert_allclose(wg.vmap(rooted)(x), [2.0, 12.0, 3.0])
    np.testing.assert_allclose(wg.vmap(wg.grad(rooted))(x), [0.25, -7.0, 1 / 6])
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(wg.vmap(rooted)(x)))(x), [0.25, -7.0, 1 / 6])
    np.testing.assert_allclose(wg.vmap(wg.grad(wg.grad(rooted)))(x), [-1 / 32, 2.0, -1 / 108])
    one_for_all = lambda p, x: wg.cond(p, np.sin, np.cos, x)
    np.testing.assert_allclose(wg.vmap(one_for_all, in_axes=(None, 0))(np.True_, x), np.sin(x))


INFINITE = {  # of an array with an infinite element: their pullbacks multiply zeros with it
    "a product of matrices": lambda v: np.sum(np.outer(v, v) @ v),
    "a product": np.prod,
    "products": lambda v: np.sum(np.cumprod(v)),
    "a maximum": np.max,
    "a determinant": lambda v: np.linalg.det(np.diag(v)),
    "a transform": lambda v: np.sum(np.abs(np.fft.fft(v))),
    "a loop": lambda v: wg.scan(lambda c, t: (c * t, None), 1.0, v)[0],
}


@pytest.mark.sampled(3, "a second each where the machine code is new")
@pytest.mark.parametrize("name", INFINITE)
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_in_a_batch_nothing_leaks_from_steps_that_are_not_taken(name: str) -> None:
    """They are those of a branch that an example does not take, or of an iteration of a loop that it has left."""
    step = lambda x: INFINITE[name](np.array([1 / x[2], x[0], x[1]]))
    branching = lambda x: wg.cond(x[0] < 1, step, lambda x: x[0] * x[1] * 0.1, x)
    again = lambda v, x: np.stack([0.001 * step(np.stack([v[0], v[1], x[2]])) + v[0] + 1, v[1]])
    looping = lambda x: wg.while_loop(lambda v: v[0] < 0.9, lambda v: again(v, x), x[:2] * 0.1)[0] * x[1]
    x = np.array([[0.1, 0.2, 0.3], [20, 1, 0], [0.5, 1, 2]])
    for f in (branching, looping):
        for batch in (lambda x, f=f: np.sum(wg.vmap(f)(x)), lambda x, f=f: sum(wg.vmap(f)(x))):
            for gradient in (wg.grad(batch), wg.jit(wg.grad(batch))):
                np.testing.assert_allclose(gradient(x), [wg.grad(f)(row) for row in x], rtol=1e-11)
        curvature = wg.grad(lambda x, f=f: np.sum(wg.grad(lambda x: np.sum(wg.vmap(f)(x)))(x) ** 2))
        np.testing.assert_allclose(curvature(x)[1], 2 * wg.hessian(f)(x[1]) @ wg.grad(f)(x[1]), rtol=1e-11)


def test_captures_trees_and_arrays() -> None:
    w = np.array([1.0, 2.0, 3.0])

    def f(p: Any, x: Any, scale: Any) -> Any:
        big = scale * 10
        out = wg.cond(p, lambda t: {"y": t["a"] * w, "n": 1}, lambda t: {"y": t["a"] + big, "n": 2}, {"a": x})
        return np.sum(out["y"]) * out["n"]

    for p in (True, False):
        plain = (lambda x, s: np.sum(x * w)) if p else (lambda x, s: 2 * np.sum(x + s * 10))
        for g in (lambda x, s, p=p: f(np.bool_(p), x, s), lambda x, s, p=p: f((x[0] > 0) == p, x, s)):
            for h in (g, wg.jit(g)):
                assert h(w, 0.5) == pytest.approx(plain(w, 0.5))
                for got, want in zip(*[wg.grad(k, argnums=(0, 1))(w, 0.5) for k in (h, plain)], strict=True):
                    np.testing.assert_allclose(got, want)
    compiled = wg.jit(lambda x: wg.cond(x > 0, lambda x: x * w, lambda x: x + w, x))
    compiled(1.0)
    w[0] = 7.0  # a captured array is read at every call
    assert compiled(1.0)[0] == 7.0 and compiled.stats()["traces"] == 1


@pytest.mark.parametrize(
    "native", [pytest.param(True, marks=pytest.mark.machine_code("both ways are compared")), False]
)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_branches_of_several_results(count: int, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wg.config, "native", native)
    f = wg.jit(lambda x: wg.cond(x > 0, lambda x: (x, 2 * x, 3 * x)[:count], lambda x: (-x, x * x, x)[:count], x))
    assert f(2.0) == (2.0, 4.0, 6.0)[:count]
    assert f(-3.0) == (3.0, 9.0, -3.0)[:count]


def test_switch_clips_its_index() -> None:
    branches = [np.sin, np.cos, lambda x: x * x]
    f = lambda k, x: wg.switch(k, branches, x)
    compiled = wg.jit(f)
    for k, want in ((0, np.sin), (1, np.cos), (2, np.square), (-5, np.sin), (9, np.square)):
        assert f(k, 0.3) == compiled(k, 0.3) == pytest.approx(want(0.3))
        assert wg.jit(wg.grad(f, argnums=1))(k, 0.3) == pytest.approx(wg.grad(want)(0.3))
    at = np.array([0, 1, 2, -1, 5])
    np.testing.assert_allclose(wg.vmap(f, in_axes=(0, None))(at, 0.3), [f(int(k), 0.3) for k in at])


def test_only_the_operand_that_moves_is_pulled_back() -> None:
    f = lambda x, y: wg.cond(x > y, lambda x, y: np.sin(x) * np.exp(y), lambda x, y: x, x, y)
    tape = wg.trace(wg.grad(f))(1.0, 0.5)
    count = Counter(i.op.name for i in tape.instrs)
    (_, back) = [i for i in tape.instrs if i.op.name == "cond"]
    assert count["cond"] == 2 and len(back.outs) == 1
    assert [i.op.name for i in back.params["branches"][1].instrs] == ["exp", "multiply", "cos", "multiply"]


def a_scan(x: Any) -> Any:
    return wg.scan(lambda c, z: (np.sin(c) + z * z, None), 0.5, x)[0]


def a_binomial_scan(x: Any) -> Any:
    return wg.scan(lambda c, z: (np.sin(c) + z * z, None), 0.5, x, checkpoint="binomial", budget=64)[0]


def a_branch(x: Any) -> Any:
    return wg.cond(x[0] > 0, lambda x: np.sum(np.sin(x) * np.prod(x)), lambda x: x[1], x)


def another_while(x: Any) -> Any:
    return wg.while_loop(lambda c: c[1] < 3, lambda c: (np.sin(c[0]) * np.sum(x), c[1] + 1), (1.0, 0))[0]


@pytest.mark.parametrize("inner", [a_scan, a_binomial_scan, a_branch, another_while])
def test_the_derivative_of_a_body_that_takes_a_derivative_itself(inner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The body's own derivative had asked its loop to keep what that needs; the next one took this for its own."""
    monkeypatch.setattr(wg.config, "native", False)
    f = lambda x: np.sum(wg.grad(inner)(x) * np.cos(x))
    x = np.array([0.3, -0.4, 0.7])
    want = wg.grad(f)(x)
    for body in (
        wg.checkpoint(f),
        lambda x: wg.cond(x[0] > 0, f, lambda x: 0.0, x),
        lambda x: wg.scan(lambda c, _: (c + f(x), None), 0.0, None, length=1)[0],
    ):
        np.testing.assert_allclose(wg.grad(body)(x), want, rtol=1e-12)
