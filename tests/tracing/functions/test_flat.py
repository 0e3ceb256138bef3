"""``x.flat`` and ``np.ndenumerate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient
from tests.comparisons import as_numpy

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def set_flat(key: Any, values: Any, of: Callable[[Any], Any] = lambda x: x) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = x * 1.0
        of(y).flat[key] = values
        return y

    return f


def assigned(x: Any) -> Any:
    y = x * 1.0
    y.T.flat = [7, 8]
    return y


def enumerated(x: Any) -> Any:
    y = np.zeros((3, 2))
    for (i, j), value in np.ndenumerate(x):
        y[j, i] = value * i - j
    return y


def flat_into_a_row(x: Any) -> Any:
    y = np.zeros((2, 6))
    y[1] = x.T.flat
    return y


def iterated(x: Any) -> Any:
    it = x.flat
    first = next(it)
    return first, it.index, it.coords, sum(it), it.index, len(it), it.base is x


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(lambda x: (x.flat[0], x.flat[-1], x.flat[1:4], x.flat[[0, 5]], x.flat[...]), id="read"),
        pytest.param(lambda x: (x.T.flat[1], x.T.flat[1::2], x.flat[x.ravel() > 2], np.sum(x.flat[:])), id="views"),
        pytest.param(lambda x: (x.flat.copy(), list(x.flat)), id="all"),
        pytest.param(lambda x: (np.sum(x.flat), np.sin(x.T.flat), np.array(x.flat), np.r_[x.flat, 1.0]), id="as_array"),
        pytest.param(flat_into_a_row, id="into_a_row"),
        pytest.param(lambda x: np.array(3.0).flat[0] + x[0, 0].flat[0], id="no_axes"),
        pytest.param(set_flat(slice(None, None, 4), 0.5), id="diagonal"),
        pytest.param(set_flat(-1, 9), id="one"),
        pytest.param(set_flat(slice(0, 5), [1, 2]), id="repeated"),
        pytest.param(set_flat([5, 0], [1, 2, 3]), id="left_out"),
        pytest.param(set_flat(slice(0, 0), []), id="nothing"),
        pytest.param(set_flat(slice(0, 2), []), id="no_values"),
        pytest.param(set_flat(slice(1, None), X[0], lambda x: x.T), id="transposed"),
        pytest.param(set_flat(np.array([True, False] * 3), X), id="mask"),
        pytest.param(assigned, id="assigned"),
        pytest.param(enumerated, id="enumerated"),
        pytest.param(iterated, id="iterated"),
    ],
)
def test_flat_is_numpys(f: Callable[[Any], Any]) -> None:
    want, got = f(X.copy()), wg.jit(f)(X.copy())
    wg.tree.map(np.testing.assert_array_equal, want, got)


def test_what_is_read_is_a_copy() -> None:
    def f(x: Any) -> Any:
        part = x.flat[0:2]
        part[:] = 100
        return x

    np.testing.assert_array_equal(wg.jit(f)(X), X)


def test_positions_may_be_traced() -> None:
    def f(x: Any, k: Any) -> Any:
        y = x * x
        y.flat[k] = x.flat[k + 1]
        return y

    np.testing.assert_array_equal(wg.jit(f)(X, 2), f(X, 2))


@pytest.mark.parametrize(("key", "values"), [(6, 1.0), ((0, 1), 1.0), (None, 1.0), (0, []), (0, [1, 2]), ("a", 1.0)])
def test_what_numpy_refuses_is_refused(key: Any, values: Any) -> None:
    f = set_flat(key, values)
    for run in (f, wg.jit(f)):
        with pytest.raises((IndexError, ValueError)):
            run(X)


def test_the_gradient_goes_through() -> None:
    def f(x: Any) -> Any:
        return np.sum(set_flat(slice(1, 4), x[0] ** 2)(x) * x) + np.sum(x.T.flat[1:3] ** 3)

    assert_gradient(wg.grad(f)(X), f, X)


def written_through_flat(x: Any) -> Any:
    s = x.sum()
    t = s
    s.flat[0] = 3.0
    return s, t


def test_the_flat_of_a_scalar_is_a_copy() -> None:
    as_numpy(written_through_flat, X)
