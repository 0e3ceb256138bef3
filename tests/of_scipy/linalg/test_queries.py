"""Norms, and questions about matrices, of ``scipy.linalg`` on traced arrays."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.of_scipy.linalg.checking import (
    A,
    S,
    Y,
    case,
    check_batch,
    check_derivative,
    check_jit,
    check_second,
    check_value,
    params,
    sl,
)

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


@pytest.mark.sampled(11, "every function, with its options")
@params(CASES)
def test_value_and_derivative(one):
    check_value(one)
    check_derivative(one)


@pytest.mark.sampled(37, "every function, with its options")
@params(CASES)
def test_second_derivative(one):
    check_second(one)


@pytest.mark.sampled(29, "every function, with its options")
@params(CASES)
def test_batch(one):
    check_batch(one)


@pytest.mark.deep("compiled")
@pytest.mark.parametrize("start", range(0, len(CASES), 6))
def test_compiled(start):
    check_jit(CASES[start : start + 6])
