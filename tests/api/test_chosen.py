"""What is differentiated: positions, leaves, and what is returned beside the value."""

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
    with pytest.raises(wg.errors.StructureError, match="argnums"):
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
        (1 + 2j, "complex128"),
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


def test_aux_is_any_structure_of_any_thing() -> None:
    marker = object()

    def f(x: Any) -> Any:
        y = np.sin(x)
        return np.sum(y), {"y": y, "name": "sin", "marker": marker, "n": 3, "none": None, "flag": x[0] > 0}

    (value, aux), gradient = wg.value_and_grad(f, has_aux=True)(X)
    close(value, np.sin(X).sum())
    close(gradient, np.cos(X))
    close(aux["y"], np.sin(X))
    assert aux["name"] == "sin" and aux["marker"] is marker and aux["n"] == 3 and aux["none"] is None
    assert aux["flag"] == np.True_
    gradient, aux = wg.grad(f, has_aux=True)(X)
    close(gradient, np.cos(X))
    assert aux["marker"] is marker


def test_aux_takes_no_part_in_the_derivative() -> None:
    gradient, aux = wg.grad(lambda x: (x * 2, x**5), has_aux=True)(3.0)
    assert (gradient, aux) == (2, 243)


def test_aux_at_every_call_is_that_calls() -> None:
    """Text is no part of the tape, so that equal tapes must not give each other's."""
    names = iter(["first", "second"])
    f = wg.grad(lambda x: (x * x, next(names)), has_aux=True)
    assert [f(1.0)[1], f(1.0)[1]] == ["first", "second"]


@pytest.mark.parametrize("result", [3.0, (1.0, 2.0, 3.0), [1.0, 2.0]])
def test_has_aux_without_aux(result: Any) -> None:
    with pytest.raises(StructureError, match="has_aux=True"):
        wg.grad(lambda x: result, has_aux=True)(1.0)


def test_keyword_arguments_are_handed_on() -> None:
    def f(x: Any, *, power: int, scale: Any = 1.0, name: str = "") -> Any:
        assert isinstance(power, int)
        return np.sum(scale * x**power)

    close(wg.grad(f)(X, power=3, scale=2.0, name="cube"), 6 * X**2)
    close(wg.grad(f)(X, power=2), 2 * X)
    close(wg.jacobian(f)(X, power=2, scale=V), 2 * X * V)
    close(wg.hessian(f)(X, power=3), np.diag(6 * X))
