"""nutpie samples a density that wengert differentiates, in its own threads."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import wengert as wg

with warnings.catch_warnings():  # ArviZ tells of its future when it is imported
    warnings.simplefilter("ignore")
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

SCALES = np.array([1.0, 2.0, 0.5])


def log_density(x: Any) -> Any:
    return -np.sum(((x - np.arange(3)) / SCALES) ** 2) / 2


def expanded(*_: Any) -> Any:
    return lambda x: {"x": x}


def test_moments_of_a_normal_distribution() -> None:
    model = from_pyfunc(
        3, lambda: wg.jit(wg.value_and_grad(log_density)), expanded, [np.dtype("float64")], [(3,)], ["x"]
    )
    draws = nutpie.sample(model, draws=1000, tune=300, chains=2, seed=1, progress_bar=False).posterior["x"]
    np.testing.assert_allclose(draws.mean(("chain", "draw")), np.arange(3), atol=0.25)
    np.testing.assert_allclose(draws.std(("chain", "draw")), SCALES, rtol=0.12)


def test_the_function_returns_what_nutpie_asks_for() -> None:
    value, gradient = wg.jit(wg.value_and_grad(log_density))(np.ones(3))
    assert isinstance(value, float) and gradient.dtype == np.float64 and gradient.flags.c_contiguous
    np.testing.assert_allclose(gradient, -(1 - np.arange(3)) / SCALES**2)
