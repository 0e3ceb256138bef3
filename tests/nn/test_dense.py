"""Affine maps, biases, tables of vectors; and that the named function is the plain one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn

RNG = np.random.default_rng(0)
W, X, B = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 3)), RNG.normal(size=4)


@pytest.mark.parametrize("x", [X, X[0], X[None], X[:0]], ids=["batch", "vector", "two axes before", "empty"])
@pytest.mark.parametrize("b", [B, None], ids=["bias", "no bias"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dense(x: Any, b: Any, dtype: str) -> None:
    w, x, b = W.astype(dtype), x.astype(dtype), None if b is None else b.astype(dtype)
    y = np.tanh(nn.linear(x, w, b))
    expected = np.tanh(np.einsum("oi,...i->...o", w, x) + (0 if b is None else b))
    np.testing.assert_allclose(y, expected, rtol=1e-5 if dtype == "float32" else 1e-12)
    assert y.dtype == dtype
    if dtype == "float64":
        wg.check_derivatives(lambda w, x: np.tanh(nn.linear(x, w, b)), w, x)


def test_the_plain_expression_gives_the_same_tape() -> None:
    """Nothing is special about the function."""
    named = wg.trace(wg.grad(lambda w, x, b: np.sum(np.tanh(nn.linear(x, w, b))), (0, 2)))(W, X, B)
    plain = wg.trace(wg.grad(lambda w, x, b: np.sum(np.tanh(x @ w.T + b)), (0, 2)))(W, X, B)
    steps = [[(i.op.name, i.params) for i in tape.instrs] for tape in (named, plain)]
    assert steps[0] == steps[1]


def test_bias_act() -> None:
    x = RNG.normal(size=(2, 4, 3))
    np.testing.assert_array_equal(nn.bias_act(np.tanh, x, B, axis=1), np.tanh(x + B[:, None]))
    wg.check_derivatives(lambda x, b: nn.bias_act(np.tanh, x, b, axis=1), x, B)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: np.tanh(nn.linear(X.T, W)), r"\(3, 5\) with w \(4, 3\)"),
        (lambda: np.tanh(nn.linear(X, W, B[:2])), r"b \(2,\)"),
        (lambda: np.tanh(nn.linear(X, W[0])), "w "),
        (lambda: nn.bias_act(np.tanh, X, B), "along axis -1"),
        (lambda: nn.bias_act(np.tanh, X, B, axis=2), "along axis 2"),
    ],
)
def test_shapes_that_do_not_fit(call: Any, says: str) -> None:
    with pytest.raises(wg.errors.ShapeError, match=says):
        call()


def test_embedding() -> None:
    table, at = RNG.normal(size=(5, 3)), np.array([[4, 0], [4, 1]])
    np.testing.assert_array_equal(nn.embedding(at, table), table[at])
    ct = wg.jit(wg.grad(lambda t, at: np.sum(nn.embedding(at, t))))(table, at)
    np.testing.assert_array_equal(ct[:, 0], [1, 1, 0, 0, 2])
    for wrong in (np.array([5]), np.array([-1])):
        for f in (nn.embedding, wg.jit(nn.embedding)):
            with pytest.raises(IndexError):
                f(wrong, table)
    with pytest.raises(wg.errors.DTypeError, match="float64"):
        nn.embedding(np.array([1.0]), table)


def test_an_embedding_of_integers_is_refused_where_the_order_cannot_be_told() -> None:
    table, at = np.arange(12).reshape(4, 3), np.array([0, 3])
    np.testing.assert_array_equal(nn.embedding(at, table), table[at])
    with pytest.warns(DeprecationWarning, match=r"nn.embedding\(indices, table\)"):
        np.testing.assert_array_equal(nn.embedding(table, at), table[at])
    for f in (nn.embedding, wg.jit(nn.embedding)):
        for both in ((table, at[None]), (at[None], table), (at, at)):
            with pytest.raises(wg.errors.ArgumentError, match="both hold integers"):
                f(*both)


def test_calls_as_they_were_before_warn() -> None:
    with pytest.warns(DeprecationWarning, match=r"act\(nn.linear\(x, w, b\)\)") as told:
        y = nn.dense_bias_act(np.tanh, W, X, B)
    assert told[0].filename == __file__
    np.testing.assert_array_equal(y, np.tanh(nn.linear(X, W, B)))
    table, at = np.arange(12.0).reshape(4, 3), np.array([[0, 3]])
    with pytest.warns(DeprecationWarning, match=r"nn.embedding\(indices, table\)"):
        np.testing.assert_array_equal(nn.embedding(table, at), table[at])
    with pytest.warns(DeprecationWarning, match=r"nn.embedding\(indices, table\)"):
        np.testing.assert_array_equal(wg.jit(nn.embedding)(table, at), table[at])
