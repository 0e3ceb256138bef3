"""Sparse products and solutions: factors are kept, patterns are compared. The rules are tested by the table of ops."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.errors import ShapeError
from wengert.ops.linalg.sparse import Factors, Pattern, Settings, sparse_matmul, sparse_solve
from wengert.tape import Aval

N = 4
DENSE = np.diag(np.arange(1.0, N + 1)) + np.eye(N, k=1)
ROWS, COLUMNS = np.nonzero(DENSE)
DATA = DENSE[ROWS, COLUMNS]
PATTERN = Pattern((N, N), COLUMNS, np.searchsorted(ROWS, np.arange(N + 1)))


def test_patterns_are_equal_if_their_places_are() -> None:
    again = Pattern((N, N), PATTERN.indices, PATTERN.indptr)
    assert again == PATTERN
    assert hash(again) == hash(PATTERN)
    columns = PATTERN.indices.copy()
    columns[-1] = 0
    assert Pattern((N, N), columns, PATTERN.indptr) != PATTERN != Pattern((N, N + 1), PATTERN.indices, PATTERN.indptr)
    assert PATTERN.rows.tolist() == ROWS.tolist()
    assert not PATTERN.indices.flags.writeable


def test_shapes_must_fit() -> None:
    f64 = np.dtype(float)
    with pytest.raises(ShapeError, match="expected 4 rows"):
        sparse_matmul.type(Aval(DATA.shape, f64), Aval((3, 1), f64), pattern=PATTERN, transpose=False)
    with pytest.raises(ShapeError, match="expected 4 rows"):
        sparse_solve.type(Aval(DATA.shape, f64), Aval((3, 1), f64), pattern=PATTERN, transpose=False)


def test_factors_are_kept_within_bounds_and_never_stale() -> None:
    pattern, settings = PATTERN, Settings()
    small = Factors(max_bytes=1)
    data = DATA.copy()
    first = small.of(data, pattern, settings)
    assert small.of(data, pattern, settings) is first
    data[0] *= 2
    assert small.of(data, pattern, settings) is not first
    assert small.of(DATA, pattern, settings) is not first
    small.clear()
    large = Factors(max_bytes=1 << 20)
    kept = [large.of(k * DATA, pattern, settings) for k in (1.0, 2.0, 3.0)]
    assert [large.of(k * DATA, pattern, settings) for k in (1.0, 2.0, 3.0)] == kept
    assert large.made == 3
