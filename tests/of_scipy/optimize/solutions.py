"""Derivatives of solutions, beside differences of what SciPy computes without a trace."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg


def differences(f: Any, p: float, h: float = 1e-3) -> Any:
    """f' by differences of the fourth order."""
    return (8 * (f(p + h) - f(p - h)) - (f(p + 2 * h) - f(p - 2 * h))) / (12 * h)


def check_solution(
    f: Any, p: float, rtol: float = 1e-5, value_rtol: float = 1e-6, second_rtol: float | None = None
) -> None:
    """Value and first derivative of f, an array of one number, in both modes, and compiled; and the second one, if a
    tolerance for it is given."""
    expected = differences(f, p)
    atol = rtol * np.max(np.abs(expected))
    value, tangent = wg.jvp(f, (p,), (1.0,))
    np.testing.assert_allclose(value, f(p), rtol=value_rtol, atol=value_rtol)
    np.testing.assert_allclose(tangent, expected, rtol=rtol, atol=atol)
    weights = np.cos(np.arange(np.size(expected))).reshape(np.shape(expected))
    total = lambda p: np.sum(f(p) * weights)
    slope = wg.grad(total)
    jitted = wg.jit(lambda p: (total(p), slope(p)) if second_rtol is None else (total(p), slope(p), wg.grad(slope)(p)))
    jitted(p)
    at = p * (1 + 1e-9)  # values that are not those of the recording
    compiled = jitted(at)
    np.testing.assert_allclose(compiled[0], total(at), rtol=value_rtol, atol=value_rtol)
    np.testing.assert_allclose(compiled[1], np.sum(tangent * weights), rtol=1e-6, atol=1e-7)
    if second_rtol is not None:
        second = differences(slope, p)
        scale = second_rtol * (abs(second) + np.sum(np.abs(expected)))
        np.testing.assert_allclose(compiled[2], second, rtol=second_rtol, atol=scale)
