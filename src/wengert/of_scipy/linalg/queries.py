"""Norms, and questions about the structure of a matrix, which are looks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.of_scipy.linalg.operands import checks_finite, inexact
from wengert.tracing.arguments import Traced, array, concrete
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original


def _scipy(name: str) -> Any:
    import scipy.linalg

    return original(getattr(scipy.linalg, name))


@intercepts("scipy.linalg:norm")
@checks_finite
def norm(
    a: ArrayLike,
    ord: int | float | str | None = None,
    axis: int | tuple[int, int] | None = None,
    keepdims: bool = False,
    check_finite: bool = True,
) -> Any:
    (a,) = inexact(a)
    if a.size == 0 and axis is None:
        return np.sum(np.abs(a), keepdims=keepdims)
    return np.linalg.norm(a, ord, axis, keepdims)  # type: ignore[call-overload]  # its stub has each norm by name


@intercepts("scipy.linalg:bandwidth")
def bandwidth(a: ArrayLike) -> Any:
    return _scipy("bandwidth")(concrete(a != 0, "the bandwidth of a matrix"))


@intercepts("scipy.linalg:issymmetric")
def issymmetric(a: ArrayLike, atol: float | None = None, rtol: float | None = None) -> bool:
    return _is_like(a, np.swapaxes(array(a), -1, -2), "issymmetric", atol, rtol)


@intercepts("scipy.linalg:ishermitian")
def ishermitian(a: ArrayLike, atol: float | None = None, rtol: float | None = None) -> bool:
    return _is_like(a, np.conj(np.swapaxes(array(a), -1, -2)), "ishermitian", atol, rtol)


def _is_like(a: ArrayLike, other: Traced, name: str, atol: float | None, rtol: float | None) -> Any:
    """Whether a matrix equals its transpose or adjoint: a look at whether, and not at the values."""
    a = array(a)
    if a.ndim < 2:
        raise ValueError("Input array must be a 2D NumPy array" if a.ndim < 2 else "")
    if a.ndim == 2 and a.shape[0] != a.shape[1]:
        raise ValueError("Input array must be square")
    if atol or rtol:
        limit = (0.0 if rtol is None else rtol) * np.abs(other) + (0.0 if atol is None else atol)
        found = np.all(np.abs(a - other) <= limit, axis=(-2, -1))
    else:
        found = np.all(a == other, axis=(-2, -1))
    return bool(found) if a.ndim == 2 else found
