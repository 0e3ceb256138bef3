"""Remedies in the error of a NaN or an infinity, cause by cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import wengert as wg


def length(x: Any) -> Any:
    return np.sqrt(np.sum(x**2))  # the norm


CASES: list[tuple[Callable[..., Any], Any, str, str]] = [
    (wg.grad(np.sqrt), 0.0, "the derivative of sqrt", "np.where"),
    (wg.grad(length), np.zeros(3), "the derivative of sqrt", "origin"),
    (np.sqrt, -1.0, "sqrt made a NaN", "np.maximum"),
    (lambda x: x * np.log(x), 0.0, "log made an infinity", "xlogy"),
    (np.log, -1.0, "log made a NaN", "not negative"),
    (wg.grad(lambda x: np.log(x + 1e-320)), 0.0, "the derivative of log", "np.maximum"),
    (np.exp, 1000.0, "exp made an infinity", "logsumexp"),
    (lambda x: 1 / x, 0.0, "divide made an infinity", "np.where"),
    (lambda x: x / x, 0.0, "divide made a NaN", "np.where"),
    (lambda x: x**-1.5, 0.0, "power made an infinity", "0 to a negative power"),
    (lambda x: x**0.3, -1.0, "power made a NaN", "np.sign"),
    (wg.grad(lambda x: x**0.3), 0.0, "the derivative of power", "infinite derivative at 0"),
    (np.arccos, 2.0, "arccos made a NaN", "np.clip"),
    (wg.grad(np.arcsin), 1.0, "the derivative of arcsin", "np.clip"),
    (lambda x: x * np.inf, 0.0, "multiply made a NaN", "0 times infinity"),
    (lambda x: (x + np.inf) - np.inf, 0.0, "subtract made a NaN", "inf - inf"),
    (lambda x: np.float32(1) * x * x, np.float32(1e30), "multiply made an infinity", "float64"),
    (lambda x: x.astype(np.float32), np.full(2, 1e300), "made an infinity", "float64 kept"),
    (wg.grad(lambda x: np.sum(sp.xlogy(x, x))), np.zeros(2), "made", ""),
    (np.reciprocal, 0.0, "reciprocal made an infinity", "np.where"),
    (np.log1p, -1.0, "log1p made an infinity", "np.maximum"),
    (np.log1p, -3.0, "log1p made a NaN", "the logarithm of -2.0 is not real"),
    (np.arccosh, 0.5, "arccosh made a NaN", "np.maximum(x, 1.0"),
    (lambda x: x * x, np.float16(1e4), "multiply made an infinity", "float16 ends at 6.6e+04"),
    (lambda x: x * x, np.complex64(1e30), "multiply made an infinity", "complex128: complex64 ends at"),
    (lambda x: x**-1, 0j, "made a NaN", "np.where"),
    (lambda x: x ** np.complex128(-1), 0j, "power made a NaN", "0 to a negative power"),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_cause_and_remedy(number: int) -> None:
    f, x, cause, remedy = CASES[number]
    with wg.find_nans(), pytest.raises(wg.errors.NonFiniteError) as error:
        wg.jit(f)(x)
    first, _, rest = str(error.value).partition("\n")
    assert cause in first and remedy in rest and "test_remedies.py" in rest
