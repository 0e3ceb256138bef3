"""Integrals of traced functions by double-exponential quadrature, in NumPy.

∫ f(x; θ) dx over [a, b] is a sum over nodes x(t), t = −T … T, that crowd at the ends double-exponentially, so it
converges also where f has a singularity there, or falls off slowly. The nodes move with a and b, so derivatives in the
limits are right too. It gives derivatives in θ of integrals whose values SciPy computes adaptively.

Source: Takahasi and Mori (1974), Double exponential formulas for numerical integration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.tracing.arguments import Traced

COUNT = 301
_T = np.linspace(-1.0, 1.0, COUNT)


def _finite() -> tuple[Any, Any, Any]:
    """Nodes in (0, 1), as distances from either end, and weights."""
    t = 4.2 * _T
    u = 0.5 * np.pi * np.sinh(t)
    low = 1 / (1 + np.exp(-2 * u))
    high = 1 / (1 + np.exp(2 * u))
    return low, high, np.pi * np.cosh(t) * low * high * (t[1] - t[0])


def _half() -> tuple[Any, Any]:
    """Nodes in (0, ∞), and weights."""
    t = 5.0 * _T
    x = np.exp(0.5 * np.pi * np.sinh(t))
    return x, 0.5 * np.pi * np.cosh(t) * x * (t[1] - t[0])


_LOW, _HIGH, _WEIGHTS = _finite()
_RAY, _RAY_WEIGHTS = _half()


def between(f: Callable[[Any], Any], a: Traced | float, b: Traced | float, ndim: int = 0) -> Any:
    """∫ f over [a, b], finite. ``f`` gets nodes on a further axis, the first, and computes on ``ndim`` others."""
    shape = (COUNT, *[1] * max(np.ndim(a), np.ndim(b), ndim))
    low, high, weights = [v.reshape(shape) for v in (_LOW, _HIGH, _WEIGHTS)]
    x: Any = np.where(low < 0.5, a + (b - a) * low, b - (b - a) * high)
    inside = (x > a) & (x < b)
    values = f(np.where(inside, x, 0.5 * (a + b)))
    counts = inside & (values != 0) & (np.isfinite(values) | (np.abs(low - 0.5) < 0.25))  # f may overflow near an end
    return np.sum(np.where(counts, values * weights, 0.0), axis=0) * (b - a)


def above(f: Callable[[Any], Any], a: Traced | float, scale: Traced | float = 1.0, ndim: int = 0) -> Any:
    """∫ f over [a, ∞); ``scale`` is a length over which f changes, a constant to derivatives."""
    shape = (COUNT, *[1] * max(np.ndim(a), np.ndim(scale), ndim))
    ray, weights = _RAY.reshape(shape), _RAY_WEIGHTS.reshape(shape)
    x = a + scale * ray
    values = f(x)
    counts = (x > a) & (values != 0) & (np.isfinite(values) | ((ray > 0.7) & (ray < 1.5)))  # far off f may overflow
    return np.sum(np.where(counts, values * weights, 0.0), axis=0) * scale


def below(f: Callable[[Any], Any], b: Traced | float, scale: Traced | float = 1.0, ndim: int = 0) -> Any:
    """∫ f over (−∞, b]."""
    return above(lambda x: f(-x), -b, scale, ndim)
