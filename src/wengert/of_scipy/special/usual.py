"""The usual functions of scipy.special that are Python code: sums of exponentials, gamma functions, and others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from wengert.ops.control import stop_gradient
from wengert.ops.reduce import max_
from wengert.ops.special import exp_minus, exp_minus_body
from wengert.tracing.arguments import (
    Axis,
    Traced,
    array,
    as_dtype,
    axes_of,
    constant,
    inexact,
    not_scalar,
    promote,
    scalar,
    trace_near,
    unsupported,
)
from wengert.tracing.emit import record
from wengert.tracing.functions.reductions import keep
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer


def largest(x: Traced, axes: tuple[int, ...]) -> Any:
    """The maximum, a constant to derivatives: what is subtracted and added again has none."""
    return record(stop_gradient, (record(max_, (x,), {"axis": axes}),), {})


@intercepts("scipy.special:logsumexp")
def logsumexp(a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log Σ b exp(a) = m + log Σ b exp(a − m), m = max a. The derivative in ``a`` is softmax, for b = 1.

    Infinities are limits: an entry -inf counts nothing, of a maximum +inf all of the derivative goes to where
    it is taken, and entries that are all -inf share it evenly. Not as exact as SciPy where the result is near
    0: the error is that of ``log(1 + t)`` for small t.
    """
    if b is None:
        a = inexact(array(a))
    else:
        a, b = promote(*[x if type(x) is Tracer else array(x, (a, b)) for x in (a, b)])
        a, b = inexact(a), inexact(b)
        if b.constant() is not None:  # weight 0: not even an infinity counts
            a = np.where(b == 0, -np.inf, a)
        elif a.shape != np.broadcast_shapes(a.shape, b.shape):
            a = np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape))
    axes = axes_of(axis, a.ndim)
    if any(a.shape[k] == 0 for k in axes):
        total = np.sum(a, axis=axes, keepdims=keepdims)
        out = constant(trace_near((a,)), np.full(total.shape, -np.inf, a.dtype))
        return (out, np.sign(out)) if return_sign else out
    if a.dtype.kind == "c":
        return _logsumexp_of_complex(a, axes, b, keepdims, return_sign)
    m = largest(a, axes)
    terms = record(exp_minus, (a, keep(m, a.shape, axes, True)), {"body": exp_minus_body(a.dtype)})
    total = np.sum(terms if b is None else b * terms, axis=axes)
    logarithm = np.log(total) if b is None else log_of_any(np.abs(total) if return_sign else total)
    out = keep(logarithm + m, a.shape, axes, keepdims)
    return (out, keep(np.sign(total), a.shape, axes, keepdims)) if return_sign else out


def _logsumexp_of_complex(a: Traced, axes: tuple[int, ...], b: Traced | None, keepdims: bool, has_sign: bool) -> Any:
    """log Σ b exp(a − m) + m, m = max Re a; with the sign, log |Σ b exp(a − m)| + m and Σ / |Σ|."""
    m = largest(np.real(a), axes)
    m = np.where(np.isfinite(m), m, 0.0)
    terms = np.exp(a - keep(m, a.shape, axes, True))
    total = np.sum(terms if b is None else b * terms, axis=axes)
    if not has_sign:
        return keep(np.log(total) + m, a.shape, axes, keepdims)
    size = np.abs(total)
    return keep(log_of_any(size) + m, a.shape, axes, keepdims), keep(total / size, a.shape, axes, keepdims)


def log_of_any(total: Traced) -> Any:
    """log, silently -inf at 0 and NaN below, as SciPy's; there its derivative is 0."""
    is_positive = total > 0
    otherwise = np.where(total == 0, -np.inf, np.nan)
    return scalar(np.where(is_positive, np.log(np.where(is_positive, total, 1)), otherwise.astype(total.dtype)))


@intercepts("scipy.special:softmax")
def softmax(x: ArrayLike, axis: Axis = None) -> Any:
    """exp(x − max) / Σ exp(x − max)."""
    x = inexact(array(x))
    axes = axes_of(axis, x.ndim)
    terms = np.exp(x - keep(largest(x, axes), x.shape, axes, True))
    return terms / np.sum(terms, axis=axes, keepdims=True)


@intercepts("scipy.special:log_softmax")
def log_softmax(x: ArrayLike, axis: Axis = None) -> Any:
    """x − max − log Σ exp(x − max)."""
    x = inexact(array(x))
    axes = axes_of(axis, x.ndim)
    shifted = x - keep(largest(x, axes), x.shape, axes, True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axes, keepdims=True))


@intercepts("scipy.special:polygamma")
def polygamma(n: ArrayLike, x: ArrayLike) -> Any:
    """The n-th derivative of digamma, (−1)ⁿ⁺¹ n! ζ(n + 1, x)."""
    if type(n) is Tracer and n.constant() is None:
        raise unsupported("scipy.special.polygamma: the order n is traced", "an order that is a plain integer")
    n = np.asarray(n.constant() if type(n) is Tracer else n)
    x = array(x)
    at_zero = special.psi(x)
    if n.ndim == 0 and n == 0:
        return not_scalar(as_dtype(at_zero, np.result_type(at_zero.dtype, np.float64)))
    factor = (-1.0) ** (n + 1) * special.gamma(n + 1.0)
    y = constant(trace_near((x,)), factor) * special.zeta(n + 1, x)
    return not_scalar(y if n.ndim == 0 else np.where(n == 0, at_zero, y))


@intercepts("scipy.special:multigammaln")
def multigammaln(a: float | Traced, d: int) -> Any:
    """log Γ_d(a) = d(d−1)/4 log π + Σ_{j<d} log Γ(a − j/2). That a > (d−1)/2 is not checked."""
    if np.ndim(d) or np.floor(d) != d:
        raise ValueError("d should be a positive integer (dimension)")
    n = int(d)
    total = special.gammaln(a)
    for j in range(1, n):
        total = total + special.gammaln(a - j / 2)
    return total + n * (n - 1) / 4 * math.log(math.pi)


@intercepts("scipy.special:diric")
def diric(x: ArrayLike, n: int) -> Any:
    """sin(nx/2) / (n sin(x/2)), Dirichlet's function, for whole n; near a multiple of 2π by its parabola there."""
    x = array(x)
    order = np.asarray(n.constant() if type(n) is Tracer else n)
    if order.dtype == object or (type(n) is Tracer and n.constant() is None):
        raise unsupported("scipy.special.diric: the order n is traced", "an order that is a plain integer")
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(float)
    half = as_dtype(x, dtype) / 2
    turns = np.round(half / np.pi)
    below = np.sin(half)
    is_near = np.abs(below) < (2.0**-37 if dtype == np.float64 else 2.0**-11)
    sign = np.power(-1.0, turns * (order - 1)).astype(dtype)
    beyond = half - turns * np.pi
    parabola = sign * (1 - (order**2 - 1) / 6 * beyond * beyond)
    usual = np.sin(order * half) / (order * np.where(is_near, 1, below))
    return np.where(order <= 0, np.nan, np.where(is_near, parabola, usual)).astype(dtype)
