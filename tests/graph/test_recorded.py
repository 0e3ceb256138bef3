"""Functions as graphs of their steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import graph
from wengert.errors import GuardError

W = np.array([[0.5, -1.0], [2.0, 0.25]])


def network(params: Any, x: Any) -> Any:
    h = np.tanh(x @ params["w"].T + params["b"])
    return np.sum(h, axis=1), np.max(x[:, 0])


def branch(x: Any) -> Any:
    return np.exp(x) if np.sum(x) > 0 else -x


def decomposed(x: Any) -> Any:
    return np.linalg.slogdet(x @ x.T + np.eye(2))


def captured(x: Any) -> Any:
    return np.sum(np.sin(W @ x) * 2.0)


X = np.array([[1.0, 2.0], [3.0, -4.0]])
CASES = [
    (network, ({"w": W, "b": np.ones(2)}, X)),
    (branch, (X,)),
    (decomposed, (X,)),
    (captured, (X[0],)),
]


def leaves(args: Any) -> list[Any]:
    import optree

    return optree.tree_leaves(args)


@pytest.mark.parametrize(("f", "args"), CASES)
def test_the_graph_of_a_function_computes_what_it_does(f: Any, args: Any) -> None:
    g = graph.of(f, *args)
    expected, found = leaves(f(*args)), g(*leaves(args))
    for y, z in zip(expected, found if isinstance(found, tuple) else (found,), strict=True):
        np.testing.assert_allclose(z, y, rtol=1e-14)
    compiled = wg.jit(g)(*leaves(args))
    for y, z in zip(expected, compiled if isinstance(compiled, tuple) else (compiled,), strict=True):
        np.testing.assert_allclose(z, y, rtol=1e-14)


@pytest.mark.parametrize(("f", "args"), CASES)
def test_and_has_its_derivatives(f: Any, args: Any) -> None:
    g = graph.of(f, *args)

    def of_function(*xs: Any) -> Any:
        import optree

        return np.sum(leaves(f(*optree.tree_unflatten(optree.tree_structure(args), xs)))[-1])

    def of_graph(*xs: Any) -> Any:
        y = g(*xs)
        return np.sum(y[-1] if isinstance(y, tuple) else y)

    every = tuple(range(len(leaves(args))))
    for a, b in zip(wg.grad(of_function, every)(*leaves(args)), wg.grad(of_graph, every)(*leaves(args)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_inputs_are_named_after_parameters_and_keys() -> None:
    assert graph.of(network, {"w": W, "b": np.ones(2)}, X).inputs == ("params.b", "params.w", "x")
    assert graph.of(lambda *xs: xs[0] + xs[1], 1.0, 2.0).inputs == ("xs", "x1")


def test_captured_arrays_are_constants_and_can_be_exchanged() -> None:
    """Closed-over weights are found, and replaced by others."""
    g = graph.of(captured, X[0])
    (name,) = g.find(type=graph.Constant)
    assert name == "W" and g[name].part.value is W
    other = g.replace(name, graph.Constant(np.eye(2)))
    np.testing.assert_allclose(other(X[0]), np.sum(np.sin(X[0]) * 2))
    np.testing.assert_allclose(g(X[0]), captured(X[0]))


def test_another_path_is_noticed() -> None:
    g = graph.of(branch, X)
    with pytest.raises(GuardError, match="one path through a function"):
        g(-10 + 0 * X)


def test_specs_are_enough() -> None:
    g = graph.of(network, {"w": wg.spec((2, 2), "float64"), "b": wg.spec(2, "float64")}, wg.spec((5, 2), "float64"))
    np.testing.assert_allclose(g(np.ones(2), W, X)[0], network({"w": W, "b": np.ones(2)}, X)[0])


def test_a_gradient_is_a_function_too() -> None:
    g = graph.of(wg.grad(captured), X[0])
    np.testing.assert_allclose(g(X[0]), wg.grad(captured)(X[0]), rtol=1e-14)
