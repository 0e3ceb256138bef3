"""Integrals of samples within traced functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate

import wengert as wg
from tests.differences import check_derivative, same
from tests.of_scipy.optimize.solutions import check_solution

Y = np.random.default_rng(0).normal(size=(3, 9))
X = np.cumsum(np.abs(Y[0]) + 0.1)


def every(y: Any, x: Any, dx: Any) -> list[Any]:
    n = y.shape[-1]
    found = [integrate.simpson(y, x=x), integrate.simpson(y, dx=dx), integrate.cumulative_trapezoid(y, x=x, initial=0)]
    found += [integrate.cumulative_trapezoid(y, dx=dx, axis=0), integrate.trapezoid(y, x=x)]
    if hasattr(integrate, "cumulative_simpson") and n > 1:
        found += [integrate.cumulative_simpson(y, x=x), integrate.cumulative_simpson(y, dx=dx, initial=dx)]
        found += [integrate.cumulative_simpson(y, dx=dx, axis=0)]
    if n == 9:
        found.append(integrate.romb(y, dx=dx))
    return found


@pytest.mark.sampled(2, "the rules for odd and even numbers of samples")
@pytest.mark.parametrize("n", [9, 8, 3, 2, 1])
def test_samples(n: int) -> None:
    y, x = Y[:, :n], X[:n]
    for got, expected in zip(wg.jit(every)(y, x, 0.5), every(y, x, 0.5), strict=True):
        same(got, expected)
    for k in (0, 2) if n < 3 else (0, 1, 2):
        total = lambda v, k=k: sum(
            np.sum(np.sin(r)) for r in every(*[v if j == k else a for j, a in enumerate((y, x, 0.5))])
        )
        check_derivative(total, (y, x, 0.5)[k])


def test_single_precision() -> None:
    y = Y.astype(np.float32)
    for f in (integrate.simpson, integrate.cumulative_trapezoid, integrate.cumulative_simpson):
        assert wg.jit(f)(y).dtype == f(y).dtype


def test_bad_samples() -> None:
    check_solution(lambda p: integrate.romb(Y[0] * p), 1.0)
    with pytest.raises(ValueError, match="one plus a non-negative power of 2"):
        wg.grad(lambda p: integrate.romb(Y[0, :8] * p))(1.0)
    with pytest.raises(ValueError, match="length of x along axis"):
        wg.grad(lambda p: integrate.simpson(Y[0] * p, x=X[:4]))(1.0)
