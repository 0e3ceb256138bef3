"""Functions of SciPy's against SciPy's own, and their derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert import tree

rng = np.random.default_rng(0)

OF_COMPILED = pytest.mark.needs_extension("a class of SciPy's compiled code is called as it is")
"""What it is of asks SciPy's compiled classes, or their objects, for traced values."""


class Case(NamedTuple):
    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    exact: bool
    """The values are SciPy's, bit for bit, as long as nothing is compiled."""


def case(name: str, f: Callable[..., Any], *args: Any, exact: bool = False) -> Case:
    return Case(name, f, tuple([np.asarray(x) for x in args]), exact)


def leaves(x: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in tree.flatten(x)[0]]


def same(actual: Any, expected: Any, exact: bool = False) -> None:
    actual, expected = leaves(actual), leaves(expected)
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        assert a.shape == e.shape
        assert a.dtype == e.dtype
        if exact:
            np.testing.assert_array_equal(a, e)
        elif e.size:
            rtol = 2e-4 if e.dtype.char in "fF" else 1e-10
            np.testing.assert_allclose(a, e, rtol=rtol, atol=rtol * max(1, np.max(np.abs(e))))


def direction(x: Any) -> Any:
    part = rng.standard_normal(x.shape)
    return part + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else part


def loss_of(one: Case) -> Callable[..., Any]:
    """A real function of all results that have derivatives."""
    weights = [direction(x) if x.dtype.kind in "fc" else None for x in leaves(one.f(*one.args))]

    def loss(*xs: Any) -> Any:
        found = tree.flatten(one.f(*xs))[0]
        return sum(np.real(np.sum(w * y)) for w, y in zip(weights, found, strict=True) if w is not None)

    return loss


def slope(f: Callable[[float], Any], h: float = 1e-5) -> Any:
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def along(f: Callable[..., Any], args: Sequence[Any], dirs: Sequence[Any]) -> Callable[[float], Any]:
    return lambda t: f(*[x + t * dx for x, dx in zip(args, dirs, strict=True)])


def check_value(one: Case) -> None:
    """The value un-jitted, with its type."""
    value, _ = wg.jvp(one.f, one.args, [np.zeros_like(x) for x in one.args])
    same(value, one.f(*one.args), one.exact)


def check_derivative(one: Case, rtol: float = 1e-6) -> None:
    loss = loss_of(one)
    dirs = [direction(x) for x in one.args]
    expected = slope(along(loss, one.args, dirs))
    _, forward = wg.jvp(loss, one.args, dirs)
    gradients = wg.grad(loss, argnums=tuple(range(len(dirs))))(*one.args)
    reverse = sum(np.real(np.sum(g * dx)) for g, dx in zip(gradients, dirs, strict=True))
    assert forward == pytest.approx(expected, rel=rtol, abs=rtol)
    assert reverse == pytest.approx(forward, rel=1e-9, abs=1e-9)


def check_second(one: Case, rtol: float = 1e-5) -> None:
    """A derivative of the gradient against differences of it."""
    loss = loss_of(one)
    gradient = wg.grad(loss, argnums=tuple(range(len(one.args))))
    dirs, others = [direction(x) for x in one.args], [direction(x) for x in one.args]

    def first(*xs: Any) -> Any:
        return sum(np.real(np.sum(g * dx)) for g, dx in zip(gradient(*xs), dirs, strict=True))

    expected = slope(along(first, one.args, others))
    _, forward = wg.jvp(first, one.args, others)
    assert forward == pytest.approx(expected, rel=rtol, abs=rtol)
    again = wg.grad(first, argnums=tuple(range(len(dirs))))(*one.args)
    reverse = sum(np.real(np.sum(g * dx)) for g, dx in zip(again, others, strict=True))
    assert reverse == pytest.approx(forward, rel=1e-7, abs=1e-7)


def check_batch(one: Case) -> None:
    """A batch, and its gradient, against a loop; what is looked at is not."""
    loss = loss_of(one)
    stacks = [np.stack([x, x + 0.01 * direction(x)]) for x in one.args]
    every = tuple(range(len(stacks)))
    found = wg.vmap(wg.value_and_grad(loss, argnums=every))(*stacks)
    for k in range(2):
        expected = wg.value_and_grad(loss, argnums=every)(*[x[k] for x in stacks])
        same([leaf[k] for leaf in leaves(found)], leaves(expected))


def check_jit(cases: Sequence[Case]) -> None:
    """Several functions, and their gradients, in one program."""
    sizes = np.cumsum([len(one.args) for one in cases])[:-1]

    def parts(xs: Sequence[Any]) -> list[Any]:
        return [list(xs[a:b]) for a, b in zip([0, *sizes], [*sizes, len(xs)], strict=True)]

    losses = [loss_of(one) for one in cases]
    args = [x for one in cases for x in one.args]

    def all_values(*xs: Any) -> Any:
        return [one.f(*own) for one, own in zip(cases, parts(xs), strict=True)]

    def total(*xs: Any) -> Any:
        return sum(loss(*own) for loss, own in zip(losses, parts(xs), strict=True))

    same(wg.jit(all_values)(*args), all_values(*args))
    every = tuple(range(len(args)))
    same(wg.jit(wg.grad(total, argnums=every))(*args), wg.grad(total, argnums=every)(*args))


def four_tests(cases: Sequence[Case], every: int = 11, unbatched: Collection[str] = ()) -> tuple[Any, Any, Any, Any]:
    """Tests of all cases: value and derivative, second derivative, batch, compiled; of which `make test` runs some.

    ``every``: of how many one is run; ``unbatched``: names of cases without a batch, since their values are looked at.
    """

    def each(chosen: Sequence[Case], k: int) -> Callable[[Any], Any]:
        sampled = pytest.mark.sampled(k, "every function, with its options")
        return lambda test: sampled(pytest.mark.parametrize("one", chosen, ids=lambda one: one.name)(test))

    @each(cases, every)
    def value_and_derivative(one: Case) -> None:
        check_value(one)
        check_derivative(one)

    @each(cases, 3 * every + 4)
    def second_derivative(one: Case) -> None:
        check_second(one)

    @each([one for one in cases if one.name not in unbatched], 2 * every + 7)
    def batch(one: Case) -> None:
        check_batch(one)

    @pytest.mark.deep("compiled")
    @pytest.mark.parametrize("start", range(0, len(cases), 6))
    def compiled(start: int) -> None:
        check_jit(cases[start : start + 6])

    return value_and_derivative, second_derivative, batch, compiled
