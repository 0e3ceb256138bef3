"""np.emath: NumPy's values and types, also where the next call leaves the reals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

POINTS: list[Any] = [
    np.array([0.2, 0.5]),
    np.array([-0.2, 0.5]),
    np.array([2.0, -3.0]),
    np.array([1, 2]),
    np.array([-1.5 + 1j]),
    np.float32([-0.5, 2]),
]


def same(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-6 if want.dtype in (np.float32, np.complex64) else 1e-13)


@pytest.mark.parametrize("name", ["sqrt", "log", "log10", "log2", "arccos", "arcsin", "arctanh"])
def test_functions(name: str) -> None:
    f = getattr(np.emath, name)
    compiled = wg.jit(lambda x: f(x))
    with np.errstate(all="ignore"):
        for x in POINTS:
            same(compiled(x), f(x))


def test_powers_and_logarithms_to_a_base() -> None:
    for x, p in ((np.array([-2.0, 3.0]), 2.5), (np.array([2, 3]), np.array([-1, 2])), (np.array([2.0, 4.0]), 0.5)):
        same(wg.jit(lambda x, p=p: np.emath.power(x, p))(x), np.emath.power(x, p))
    x = np.array([-8.0, 8.0])
    same(wg.jit(lambda x: np.emath.logn(2, x))(x), np.emath.logn(2, x))


def test_one_function_for_both_sides_and_its_derivative() -> None:
    f = wg.jit(wg.grad(lambda x: np.sum(np.abs(np.emath.sqrt(x) + 1) ** 2)))
    for x in (np.array([2.0, 3.0]), np.array([2.0, -3.0]), np.array([1.0, 3.0])):
        plain = lambda x: np.sum(np.abs(np.emath.sqrt(x) + 1) ** 2)
        steps = [(plain(x + h) - plain(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
        np.testing.assert_allclose(f(x), steps, rtol=1e-7)
    assert f.stats()["traces"] == 2
