"""Central differences: what the tests of this folder hold derivatives against. Knows nothing of wengert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def numeric_gradient(f: Callable[..., Any], x: Any, h: float = 1e-6) -> Any:
    """∂f/∂x by (f(x + h) - f(x - h)) / 2h, element by element; ``f`` gets a fresh copy of ``x`` at every call."""
    x = np.asarray(x, float)
    gradient = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[k] += h
        below[k] -= h
        gradient[k] = (f(above[()]) - f(below[()])) / (2 * h)
    return gradient


def assert_gradient(got: Any, f: Callable[..., Any], x: Any, rtol: float = 1e-6, atol: float = 1e-7) -> None:
    want = numeric_gradient(f, x)
    assert np.shape(got) == want.shape
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
