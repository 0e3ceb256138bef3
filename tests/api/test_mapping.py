"""``vmap`` over any axes of any structure, and ``broadcast`` of scalar functions, compared with formulas."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from wengert.errors import (
    ConcretizationError,
    ShapeError,
    StructureError,
    UnsupportedFunctionError,
)

X = np.array([0.5, -1.0, 2.0])
V = np.array([1.0, 0.25, -0.5])


# ----------------------------------------------------------------------------------------------------------------- vmap


def test_in_axes() -> None:
    A, B = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)
    close(wg.vmap(np.sum)(A), A.sum(1))
    close(wg.vmap(np.sum, in_axes=1)(A), A.sum(0))
    close(wg.vmap(np.sum, in_axes=-1)(A), A.sum(0))
    close(wg.vmap(np.dot, in_axes=(None, 1))(A[0], B), A[0] @ B)
    close(wg.vmap(np.dot, in_axes=(1, 0))(A, np.ones((4, 3))), A.sum(0))
    close(wg.vmap(lambda x, y: x - y, in_axes=[0, None])(A, 1.0), A - 1)


def test_in_axes_of_structures() -> None:
    arg = {"x": np.arange(6.0).reshape(2, 3), "w": {"a": np.ones(2), "b": 5.0}, "list": [X, np.float64(2)]}
    f = lambda p, s: p["x"] * s + p["w"]["b"] * np.sum(p["w"]["a"]) + p["list"][0] * p["list"][1]
    got = wg.vmap(f, in_axes=({"x": 1, "w": None, "list": [0, None]}, None))(arg, 2.0)
    want = arg["x"].T * 2 + 5 * 2 + (X * 2)[:, None]
    close(got, want)
    close(
        wg.vmap(lambda p: p["a"] + p["b"], in_axes=({"a": 0, "b": -1},))({"a": X, "b": np.ones((2, 3))}),
        [[1.5] * 2, [0] * 2, [3] * 2],
    )


def test_vmap_takes_an_ordered_dict_in_its_own_order() -> None:
    d = OrderedDict(b=np.arange(4.0).reshape(2, 2), a=np.zeros((2, 2)))
    axes = OrderedDict(b=0, a=1)
    np.testing.assert_array_equal(wg.vmap(lambda d: d["a"].sum() + d["b"].sum(), in_axes=(axes,))(d), [1.0, 5.0])


def test_out_axes() -> None:
    A = np.arange(24.0).reshape(2, 3, 4)
    for axis in (0, 1, 2, -1, -2):
        close(wg.vmap(lambda x: x * 2, out_axes=axis)(A), np.moveaxis(A * 2, 0, axis))
    y, z = wg.vmap(lambda x: (x, x[:2]), out_axes=1)(A)
    assert y.shape == (3, 2, 4) and z.shape == (2, 2, 4)


def test_vmap_nested_in_other_axes() -> None:
    A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    outer = wg.vmap(wg.vmap(np.dot, in_axes=(None, 0)), in_axes=(0, None))
    close(outer(A, B), A @ B.T)
    close(wg.vmap(wg.vmap(np.dot, in_axes=(0, None)), in_axes=(None, 0), out_axes=1)(A, B), A @ B.T)


def test_vmap_of_keyword_arguments() -> None:
    close(wg.vmap(lambda x, *, y: x * y)(X, y=V), X * V)
    close(wg.vmap(lambda x, *, y: x * y, in_axes=(None,))(2.0, y=V), 2 * V)


def test_vmap_of_scalars_integers_and_constants() -> None:
    n, const, x = wg.vmap(lambda k: (k * 2, 7.0, np.zeros(2) + k))(np.arange(3))
    np.testing.assert_array_equal(n, [0, 2, 4])
    assert n.dtype == np.int64
    close(const, [7.0, 7.0, 7.0])
    close(x, [[0, 0], [1, 1], [2, 2]])


def test_vmap_of_nothing_is_empty() -> None:
    assert wg.vmap(lambda x: np.outer(x, x))(np.ones((0, 3))).shape == (0, 3, 3)


def test_vmap_of_a_captured_value_of_an_enclosing_derivative() -> None:
    """d/da Σ sin(a xᵢ) = Σ xᵢ cos(a xᵢ)."""
    close(wg.grad(lambda a: np.sum(wg.vmap(lambda x: np.sin(a * x))(X)))(0.7), np.sum(X * np.cos(0.7 * X)))


def test_vmap_refuses_what_does_not_fit() -> None:
    f = lambda x, y: x
    with pytest.raises(ShapeError, match=r"batch sizes differ, 3 in argument\[0\]\[0\] and 2"):
        wg.vmap(f)(X, np.ones(2))
    with pytest.raises(ShapeError, match=r"shape \[\] and no axis 0"):
        wg.vmap(f)(X, 1.0)
    with pytest.raises(ShapeError, match="no axis -2"):
        wg.vmap(f, in_axes=-2)(X, X)
    with pytest.raises(StructureError, match="no argument is batched"):
        wg.vmap(f, in_axes=None)(X, X)
    with pytest.raises(StructureError, match="in_axes has 1 entries for 2 arguments"):
        wg.vmap(f, in_axes=(0,))(X, X)
    with pytest.raises(StructureError, match="does not fit the argument"):
        wg.vmap(f, in_axes=({"a": 0}, 0))({"b": X}, X)


def test_a_batch_has_no_branch() -> None:
    with pytest.raises(ConcretizationError, match=r"bool needs the value(.|\n)*np\.where"):
        wg.vmap(lambda x: x if x > 0 else -x)(X)
    close(wg.vmap(lambda x, flag: x if flag > 0 else -x, in_axes=(0, None))(X, 1.0), X)  # the same for all


# ------------------------------------------------------------------------------------------------------------ broadcast


def test_broadcast_of_arrays() -> None:
    f = lambda a, b: np.sin(a) * b + 1
    A = np.arange(6.0).reshape(2, 3)
    close(wg.broadcast(f, A, X), np.sin(A) * X + 1)
    close(wg.broadcast(f, 0.5, 2.0), np.sin(0.5) * 2 + 1)
    close(wg.broadcast(lambda a: 3.0, X), [3.0, 3.0, 3.0])


def test_broadcast_is_one_instruction_with_a_derivative() -> None:
    f = lambda x: np.sum(wg.broadcast(lambda a, b: a**3 * b, x, V))
    assert [i.op.name for i in wg.trace(f)(X).instrs] == ["map", "sum"]
    close(wg.grad(f)(X), 3 * X**2 * V)
    close(wg.hessian(f)(X), np.diag(6 * X * V))
    close(wg.vmap(lambda t: wg.broadcast(lambda a: a * t, X))(V), np.outer(V, X))


def test_broadcast_captures_scalars_and_values_of_enclosing_traces() -> None:
    scale = np.array(2.0)
    close(wg.broadcast(lambda a: a * scale, X), 2 * X)
    close(wg.grad(lambda t: np.sum(wg.broadcast(lambda a: np.exp(t * a), X)))(0.5), np.sum(X * np.exp(0.5 * X)))
    both = wg.grad(lambda t: wg.grad(lambda s: np.sum(wg.broadcast(lambda a: a * t**2 * s, X)))(1.0))
    close(both(3.0), 6 * X.sum())


def test_broadcast_of_integers_and_several_dtypes() -> None:
    k = np.arange(3)
    got = wg.broadcast(lambda a, k: np.where(k > 0, a, 0 * a), X.astype(np.float32), k)
    assert got.dtype == np.float32
    close(got, np.float32([0.0, -1.0, 2.0]))


def test_broadcast_refuses_what_is_not_a_function_of_numbers() -> None:
    with pytest.raises(UnsupportedFunctionError, match="not a function of numbers"):
        wg.broadcast(lambda a: np.sum(np.ones(3) * a), X)
    with pytest.raises(ShapeError, match="must return one number"):
        wg.broadcast(lambda a: (a, a), X)
    with pytest.raises(ShapeError, match="must return one number"):
        wg.broadcast(lambda a: a * np.ones(2), X)
    with pytest.raises(ConcretizationError, match="one step for all elements"):
        wg.broadcast(lambda a: a if a > 0 else -a, X)
