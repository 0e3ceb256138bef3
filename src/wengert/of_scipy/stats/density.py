"""``scipy.stats.gaussian_kde``: its density at points, in the points, the data and the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, special

from wengert.tracing.arguments import array, inexact, is_traced, promote
from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import intercepts


def _exponents(kde: Any, points: ArrayLike) -> tuple[Any, Any]:
    """−½ |L⁻¹(point − datum)|² for each point and datum, and the logarithm of what the density is divided by."""
    at = inexact(array(points))
    at = np.reshape(at, (1, -1)) if at.ndim < 2 else at
    d, count = at.shape
    if d != kde.d:
        if not (d == 1 and count == kde.d):
            raise ValueError(f"points have dimension {d}, dataset has dimension {kde.d}")
        at = np.reshape(at, (kde.d, 1))
    factor, data, at = promote(array(kde.cho_cov, (at,)), array(kde.dataset, (at,)), at)
    both = linalg.solve_triangular(factor, np.concatenate([data, at], axis=1), lower=True)
    whitened, centres = both[:, data.shape[1] :], both[:, : data.shape[1]]
    apart = whitened[:, :, None] - centres[:, None, :]
    scale = np.sum(np.log(np.diag(factor))) + kde.d / 2 * np.log(2 * np.pi)
    return -0.5 * np.sum(apart * apart, axis=0), scale


def _holds_traced(kde: Any, points: Any) -> bool:
    return any(is_traced(x) for x in (points, kde.dataset, kde.cho_cov, kde.weights))


@intercepts("scipy.stats:gaussian_kde.evaluate", AT_OBJECT)
def evaluate(kde: Any, points: ArrayLike) -> Any:
    if not _holds_traced(kde, points):
        return NotImplemented
    exponents, scale = _exponents(kde, points)
    return np.sum(kde.weights * np.exp(exponents), axis=1) * np.exp(-scale)


@intercepts("scipy.stats:gaussian_kde.logpdf", AT_OBJECT)
def logpdf(kde: Any, x: ArrayLike) -> Any:
    if not _holds_traced(kde, x):
        return NotImplemented
    exponents, scale = _exponents(kde, x)
    return special.logsumexp(exponents, axis=1, b=kde.weights) - scale
