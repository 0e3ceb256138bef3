"""Diagonals, triangles and grids against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import case, floats, integers, same_as_numpy, verify

X = floats(3, 4)
X3 = floats(3, 3, 4)
S = floats(4, 4)
V = floats(6)
T = np.cumsum(floats(6, low=0.2, seed=4))


def _filled_diagonal(x, value):
    y = x * 1.0
    assert np.fill_diagonal(y, value) is None
    return y


CASES = [
    case("diagonal", lambda x: (np.diagonal(x), np.diagonal(x, 1), x.diagonal(-2)), X),
    case("diagonal_axes", lambda x: (np.diagonal(x, axis1=1, axis2=2), np.diagonal(x, 1, 0, 2)), X3),
    case("diag", lambda x: (np.diag(x), np.diag(x, -1), np.diag(x[0]), np.diag(x[0], 2), np.diag(x[0], -1)), S),
    case("diagflat", lambda x: np.diagflat(x, 1), X),
    case("trace", lambda x: (np.trace(x), np.trace(x, 1), np.trace(x, -1)), X),
    case("trace_axes", lambda x: np.trace(x, axis1=0, axis2=1), X3),
    case("triangles", lambda x: (np.tril(x), np.triu(x), np.tril(x, -1), np.triu(x, 2)), X),
    case("triangles_of_a_vector", lambda x: (np.tril(x), np.triu(x, -1)), V),
    case("triangles_3d", lambda x: (np.tril(x, 1), np.triu(x)), X3),
    case("indices_from", lambda x: (x[np.tril_indices_from(x)], x[np.triu_indices_from(x, 1)]), S),
    case("diag_indices_from", lambda x: x[np.diag_indices_from(x)], S),
    case("fill_diagonal", lambda x, v: _filled_diagonal(x, v), S, V[:4]),
    case("fill_diagonal_number", lambda x: _filled_diagonal(x, 3.0), floats(5, 3)),
    case("meshgrid", lambda x, y: np.meshgrid(x, y), V, T),
    case("meshgrid_sparse", lambda x, y: np.meshgrid(x, y, sparse=True, indexing="ij"), V, T),
    case("ix", lambda x: x[np.ix_([0, 2], [1, 3])], X),
    case("ix_traced", lambda x: np.ix_(x, x[:2]), V),
]  # fmt: skip


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float16])
def test_dtypes(dtype):
    n = integers(4, 4, low=0, high=3).astype(dtype)
    same_as_numpy(lambda n: (np.tril(n), np.diag(n), np.diag(n[0]), np.trace(n), np.diagonal(n)), [n])


def diagonal_of_nothing(x: Any) -> Any:
    y = np.outer(x, x)
    np.fill_diagonal(y, x[:0])
    return y


def test_fill_diagonal_of_nothing_writes_nothing() -> None:
    as_numpy(diagonal_of_nothing, V)
