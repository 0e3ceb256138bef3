"""``scipy.stats`` on traced arrays: distributions, multivariate ones, and functions of samples."""

from __future__ import annotations

from wengert.of_scipy.stats import (
    choosing,
    comparing,
    continuous,
    density,
    descriptive,
    discrete,
    distributions,
    multivariate,
)

__all__ = [
    "choosing",
    "comparing",
    "continuous",
    "density",
    "descriptive",
    "discrete",
    "distributions",
    "multivariate",
]
