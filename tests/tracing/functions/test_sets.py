"""Arrays as sets, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.tracing.numpy_cases import case, floats, integers, verify

X = np.array([3.0, 1.0, 2.0, 1.0, -4.0, 2.0])
Y = np.array([2.0, 7.0, 1.0, 2.0])
N, M = integers(3, 4), integers(5)
NOTHING = np.zeros(0)

CASES = [
    case("unique_all", lambda x: tuple(np.unique_all(x)), X, order=0),
    case("unique_all of a matrix", lambda x: tuple(np.unique_all(x)), N, order=0),
    case("unique_counts", lambda x: tuple(np.unique_counts(x)), X, order=0),
    case("unique_inverse", lambda x: tuple(np.unique_inverse(x)), X, order=0),
    case("unique_counts of nothing", lambda x: tuple(np.unique_counts(x)), NOTHING, order=0),
    case("union1d", np.union1d, X, Y, order=0),
    case("union1d of matrices", np.union1d, floats(2, 3), floats(3), order=1),
    case("setxor1d of different numbers", np.setxor1d, floats(4), floats(3), order=1),
    case("setdiff1d of different numbers", np.setdiff1d, floats(4), floats(3), order=1),
    case("unique_all of different numbers", lambda x: np.unique_all(x).values, floats(5), order=1),
    case("union1d of integers", np.union1d, N, M, order=0),
    case("union1d with nothing", np.union1d, X, NOTHING, order=0),
    case("intersect1d", np.intersect1d, X, Y, order=0),
    case("intersect1d, unique", lambda x, y: np.intersect1d(x, y, assume_unique=True), X[:3], Y[:3], order=0),
    case("intersect1d, indices", lambda x, y: np.intersect1d(x, y, return_indices=True), X, Y, order=0),
    case("intersect1d, unique, indices", lambda x, y: np.intersect1d(x, y, True, True), X[:3], Y[:3], order=0),
    case("intersect1d of integers", np.intersect1d, N, M, order=0),
    case("intersect1d with nothing", np.intersect1d, X, NOTHING, order=0),
    case("setdiff1d", np.setdiff1d, X, Y, order=0),
    case("setdiff1d, unique", lambda x, y: np.setdiff1d(x, y, assume_unique=True), X[:3], Y, order=0),
    case("setdiff1d of integers", np.setdiff1d, N, M, order=0),
    case("setxor1d", np.setxor1d, X, Y, order=0),
    case("setxor1d, unique", lambda x, y: np.setxor1d(x, y, assume_unique=True), X[:3], Y[:3], order=0),
    case("setxor1d of integers", np.setxor1d, N, M, order=0),
    case("setxor1d with nothing", np.setxor1d, X, NOTHING, order=0),
]


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


def test_the_first_of_equals_moves():
    """Differences do not tell: whatever moves is no longer equal."""
    weighted = lambda z: np.sum(z * np.arange(1.0, 1 + z.shape[0]))
    by_x, by_y = wg.grad(lambda x, y: weighted(np.intersect1d(x, y)), (0, 1))(X, Y)
    assert by_x.tolist() == [0, 1, 2, 0, 0, 0] and not by_y.any()  # 1, 2: of x, the first of each
    by_x, by_y = wg.grad(lambda x, y: weighted(np.setxor1d(x, y)), (0, 1))(X, Y)
    assert by_x.tolist() == [2, 0, 0, 0, 1, 0] and by_y.tolist() == [0, 3, 0, 0]  # -4, 3, 7
    by_x, by_y = wg.grad(lambda x, y: weighted(np.union1d(x, y)), (0, 1))(X, Y)
    assert by_x.tolist() == [4, 2, 3, 0, 1, 0] and by_y.tolist() == [0, 5, 0, 0]  # -4, 1, 2, 3, 7


def test_names_of_the_results():
    found = wg.jit(lambda x: np.unique_all(x).counts)(X)
    np.testing.assert_array_equal(found, np.unique_all(X).counts)
