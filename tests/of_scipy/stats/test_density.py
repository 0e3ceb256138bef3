"""A kernel density: against SciPy, and differences in the points, the data and the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from tests.differences import check

RNG = np.random.default_rng(6)
X, AT = RNG.standard_normal(7), np.array([-0.5, 0.2, 1.1])
PLANE = RNG.standard_normal((2, 6))


def test_density_and_its_logarithm() -> None:
    def both(x: Any, at: Any, w: Any) -> Any:
        kde = stats.gaussian_kde(x, weights=w)
        return np.stack([kde(at), kde.evaluate(at), kde.pdf(at), np.exp(kde.logpdf(at))])

    check(both, X, AT, RNG.uniform(0.5, 1, 7), rtol=1e-6)
    check(lambda x, at: stats.gaussian_kde(x, bw_method=0.4).logpdf(at), PLANE, PLANE[:, :2] + 0.1, rtol=1e-6)


def test_a_density_that_was_made_outside() -> None:
    kde = stats.gaussian_kde(X)
    check(lambda at: kde(at) + kde.logpdf(at), AT)
    plane = stats.gaussian_kde(PLANE)
    check(lambda at: plane(at), np.array([0.2, 0.3]))  # one point, as a vector
