"""Norms, and questions about matrices, of ``scipy.linalg`` on traced arrays."""

from __future__ import annotations

import numpy as np

import wengert as wg
from tests.of_scipy.checking import case, four_tests
from tests.of_scipy.linalg.matrices import A, S, Y, sl

CASES = [
    *[case(f"norm {o}", lambda a, o=o: sl.norm(a, o), A) for o in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
    case("norm of rows", lambda a: sl.norm(a, 3, axis=1, keepdims=True), A),
    case("norm of a vector", lambda a: sl.norm(a), Y + 1j),
]


def test_structure_is_a_look():
    def f(a):
        if sl.issymmetric(a) and sl.ishermitian(a, rtol=1e-10):
            return np.sum(sl.expm(a))
        low, high = sl.bandwidth(a)
        return np.sum(a) * (low + 10 * high)

    jitted = wg.jit(wg.grad(f))
    np.testing.assert_allclose(jitted(S), wg.grad(lambda a: np.sum(sl.expm(a)))(S))
    assert (jitted(np.triu(S)) == 30).all()
    assert (jitted(np.tril(S, 1)) == 13).all()


test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(CASES)
