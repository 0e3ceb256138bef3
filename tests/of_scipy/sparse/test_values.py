"""The order of assembled elements, against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.of_scipy.sparse.values import assembly


@pytest.mark.parametrize("n", [0, 1, 40])
def test_assembly(n: int) -> None:
    rng = np.random.default_rng(n)
    rows, columns, data = rng.integers(0, 4, n), rng.integers(0, 5, n), rng.standard_normal(n)
    found = assembly(rows, columns, (4, 5))
    dense, expected = np.zeros((4, 5)), np.zeros((4, 5))
    np.add.at(expected, (rows, columns), data)
    sums = np.zeros(found.indices.size)
    np.add.at(sums, found.places, data)
    for i in range(4):
        one = found.indices[found.indptr[i] : found.indptr[i + 1]]
        assert (np.diff(one) > 0).all()
        dense[i, one] = sums[found.indptr[i] : found.indptr[i + 1]]
    np.testing.assert_allclose(dense, expected)
    assert found.has_sums == (len(set(zip(rows.tolist(), columns.tolist(), strict=True))) < n)
