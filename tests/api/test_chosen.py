"""What is differentiated: positions, leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from wengert.errors import (
    DTypeError,
    StructureError,
)

X = np.array([0.5, -1.0, 2.0])
V = np.array([1.0, 0.25, -0.5])


def weighted(a: Any, b: Any, c: Any) -> Any:
    """∂a = b c², ∂b = a c², ∂c = 2 a b c."""
    return a * b * c**2


@pytest.mark.parametrize(
    ("argnums", "want"),
    [
        (0, 48.0),
        (2, 48.0),
        (-1, 48.0),
        (-2, 32.0),
        ((0, 1), (48.0, 32.0)),
        ([1, 0], (32.0, 48.0)),
        ((2,), (48.0,)),
        ((0, -1), (48.0, 48.0)),
        ((), ()),
    ],
)
def test_argnums(argnums: Any, want: Any) -> None:
    value, gradient = wg.value_and_grad(weighted, argnums)(2.0, 3.0, 4.0)
    assert value == 96
    assert gradient == want
    assert wg.grad(weighted, argnums)(2.0, 3.0, 4.0) == want
    if argnums != ():
        assert wg.jacobian(weighted, argnums)(2.0, 3.0, 4.0) == want


@pytest.mark.parametrize("argnums", [3, -4, (0, 3)])
def test_argnums_that_the_call_does_not_have(argnums: Any) -> None:
    with pytest.raises(StructureError, match="called with 3 positional arguments"):
        wg.grad(weighted, argnums)(2.0, 3.0, 4.0)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -1)])
def test_an_argument_named_twice_is_refused(argnums: Any) -> None:
    """The first of the two used to be zero."""
    with pytest.raises(StructureError, match="twice"):
        wg.grad(lambda x: x * x, argnums)(3.0)


def test_a_leaf_is_differentiated_once() -> None:
    with pytest.raises(wg.errors.StructureError, match="twice"):
        wg.grad(lambda p: np.sum(p["a"]), wrt=lambda args: (args[0]["a"], args[0]["a"]))({"a": X})


@pytest.mark.parametrize("argnums", [None, 1.0, "a", (0, 1.0)])
def test_argnums_are_positions(argnums: Any) -> None:
    with pytest.raises(wg.errors.ArgumentError, match="argnums"):
        wg.grad(lambda x, y: x * y, argnums=argnums)(2.0, 3.0)
    assert wg.grad(lambda x, y: x * y, argnums=np.int64(1))(2.0, 3.0) == 2.0


def test_wrt_selects_leaves_and_the_rest_is_constant() -> None:
    p = {"a": 2.0, "b": 3, "c": X}
    f = lambda p, y: p["a"] * p["b"] * np.sum(p["c"] * y)
    assert wg.grad(f, wrt=lambda args: args[0]["a"])(p, V) == 3 * np.sum(X * V)
    gradient = wg.grad(f, wrt=lambda args: {"c": args[0]["c"], "y": args[1]})(p, V)
    close(gradient["c"], 6 * V)
    close(gradient["y"], 6 * X)
    close(wg.jacobian(f, wrt=lambda args: args[0]["c"])(p, V), 6 * V)
    close(wg.hessian(lambda p: np.sum(p["c"] ** 3), wrt=lambda args: args[0]["c"])(p), np.diag(6 * X))


def test_wrt_an_integer_names_the_leaf() -> None:
    with pytest.raises(DTypeError, match=r'\[0\]\["b"\] is int64'):
        wg.grad(lambda p: p["a"], wrt=lambda args: args[0]["b"])({"a": 2.0, "b": 3})


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (3, "int64"),
        (True, "bool"),
        (np.arange(3), "int64"),
        ("text", "str"),
        ([1.0, "text"], "str"),
        ({"a": 2}, r'\["a"\] is int64'),
    ],
)
def test_only_floats_have_a_derivative(x: Any, shown: str) -> None:
    for transform in (wg.grad, wg.value_and_grad, wg.jacobian, wg.hessian):
        with pytest.raises(DTypeError, match=shown):
            transform(lambda x: 1.0)(x)
    with pytest.raises(DTypeError, match=shown):
        wg.vjp(lambda x: 1.0, x)


def test_keyword_arguments_are_handed_on() -> None:
    def f(x: Any, *, power: int, scale: Any = 1.0, name: str = "") -> Any:
        assert isinstance(power, int)
        return np.sum(scale * x**power)

    close(wg.grad(f)(X, power=3, scale=2.0, name="cube"), 6 * X**2)
    close(wg.grad(f)(X, power=2), 2 * X)
    close(wg.jacobian(f)(X, power=2, scale=V), 2 * X * V)
    close(wg.hessian(f)(X, power=3), np.diag(6 * X))
