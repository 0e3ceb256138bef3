"""Polynomials as arrays of coefficients, the highest power first; and functions along axes.

The package ``numpy.polynomial`` is not here: its code is traced as it is (see callers.py), all but ``trimseq``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.ops import linalg as ops
from wengert.tracing.arguments import Traced, array, arrays, axis_of, constant, holds, implements, inexact
from wengert.tracing.emit import record
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer


@implements(np.polyval)
def polyval(p: ArrayLike, x: ArrayLike) -> Any:
    """Horner's rule."""
    if isinstance(x, np.poly1d):
        return functools.reduce(lambda y, c: y * x + c, array(p), np.poly1d(0))
    c, z = arrays(p, x)
    y = np.zeros_like(z)
    for k in range(c.shape[0]):
        y = y * z + c[k]
    return y


@implements(np.vander)
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Any:
    """Powers as running products, so that zero has all its derivatives."""
    z = array(x)
    if z.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = z.shape[0] if N is None else int(N)
    z = z.astype(np.promote_types(z.dtype, np.int64))
    column = np.reshape(z, (-1, 1))
    if n == 0:
        return np.zeros_like(column, shape=(z.shape[0], 0))
    factors = [np.ones_like(column), *[column] * (n - 1)]
    powers = np.cumprod(np.concatenate(factors, axis=1), axis=1)
    return powers if increasing else np.flip(powers, 1).copy()


def _same_length(a1: ArrayLike, a2: ArrayLike) -> tuple[Any, Any]:
    x, y = [np.atleast_1d(z) for z in arrays(a1, a2)]
    n = max(x.shape[0], y.shape[0])
    x, y = [np.pad(z, (n - z.shape[0], 0)) if z.shape[0] < n else z for z in (x, y)]
    return x, y


def _like(c: Traced, *given: Any) -> Any:
    """Coefficients as an object that NumPy makes of them where one was given."""
    return np.poly1d(c) if any(isinstance(p, np.poly1d) for p in given) else c


@implements(np.polyadd)
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Any:
    x, y = _same_length(a1, a2)
    return _like(x + y, a1, a2)


@implements(np.polysub)
def polysub(a1: ArrayLike, a2: ArrayLike) -> Any:
    x, y = _same_length(a1, a2)
    return _like(x - y, a1, a2)


@implements(np.polymul)
def polymul(a1: ArrayLike, a2: ArrayLike) -> Any:
    x, y = arrays(a1, a2)
    return _like(np.convolve(x, y), a1, a2)


@implements(np.polydiv)
def polydiv(u: ArrayLike, v: ArrayLike) -> Any:
    """Divide by long division. Zeros at the start of the remainder are looked at, and guarded; in a batch they stay."""
    given = u, v
    u, v = [np.atleast_1d(z) + 0.0 for z in arrays(u, v)]
    r = u + np.zeros_like(v, shape=(1,))  # in the dtype that both have together
    n = v.shape[0]
    count = max(u.shape[0] - n + 1, 0)
    scale = 1.0 / v[0]
    q = []
    for k in range(count):
        q.append(scale * r[k])
        r[k : k + n] -= q[k] * v
    q = np.stack(q) if q else np.zeros_like(r, shape=(1,))
    while r.shape[0] > 1 and holds(np.allclose(r[0], 0, rtol=1e-14)):
        r = r[1:]
    return _like(q, *given), _like(r, *given)


@implements(np.polyder)
def polyder(p: ArrayLike, m: int = 1) -> Any:
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    c = array(p)
    for _ in range(int(m)):
        c = c[:-1] * constant(c._trace, np.arange(c.shape[0] - 1, 0, -1))
    return c


@implements(np.polyint)
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Any:
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    c: Any = array(p, (k,))
    added: Any = np.zeros(int(m)) if k is None else k
    for j in range(int(m)):
        c0 = added if np.ndim(added) == 0 else added[j if np.size(added) > 1 else 0]
        divided: Any = c / constant(c._trace, np.arange(c.shape[0], 0, -1))
        c = np.append(divided, c0)
    return c


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Any:
    """The function is called once a line: its steps stand on the tape as often."""
    x: Any = array(arr)
    axis = axis_of(axis, x.ndim)
    lines = np.moveaxis(x, axis, -1)
    outer = lines.shape[:-1]
    results: list[Tracer] = []
    for index in np.ndindex(*outer):
        results.append(array(func1d(lines[index], *args, **kwargs), (x,)))
    if not results:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    inner = results[0].shape
    y = np.reshape(np.stack(results), (*outer, *inner))
    for k in range(len(inner)):
        y = np.moveaxis(y, len(outer) + k, axis + k)
    return y


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Traced, axes: Any) -> Any:
    x = array(a)
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        y = func(x, axis_of(axis, a.ndim))
        x = y if y.ndim == x.ndim else np.expand_dims(y, axis_of(axis, a.ndim))
    return x


@implements(np.roots)
def roots(p: ArrayLike) -> Any:
    """The eigenvalues of the companion matrix, real if all are, as in NumPy. Zeros at both ends are looked for, and
    guarded; in a batch they cannot be, and the first coefficient must not be zero."""
    c: Any = np.atleast_1d(array(p))
    if c.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    first, end = 0, c.shape[0]
    while first < end and holds(c[first] == 0):
        first += 1
    if first == end:
        return np.zeros(0)
    while holds(c[end - 1] == 0):
        end -= 1
    at_zero, c = c.shape[0] - end, inexact(c[first:end])
    n = c.shape[0] - 1
    if n == 0:
        return np.zeros(at_zero)
    found: Any = record(ops.roots, (c,), {})
    if c.dtype.kind != "c" and holds(np.all(found.imag == 0)):
        found = found.real
    return np.concatenate([found, np.zeros(at_zero, found.dtype)]) if at_zero else found


@implements(np.poly)
def poly(seq_of_zeros: ArrayLike) -> Any:
    """The coefficients of the polynomial with these roots, or with the eigenvalues of a matrix, one factor after the
    other. Those of complex roots that are pairs of conjugates are real, as in NumPy: a look, guarded."""
    roots: Any = np.atleast_1d(array(seq_of_zeros))
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] != 0:
        roots = np.linalg.eigvals(roots)
    elif roots.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    found: Any = np.ones_like(roots, shape=(1,))
    for k in range(roots.shape[0]):
        found = np.convolve(found, np.stack([np.ones_like(roots[k]), -roots[k]]), mode="full")
    if not roots.shape[0]:
        return 1.0
    is_paired = roots.dtype.kind == "c" and holds(np.all(np.sort(roots) == np.sort(np.conj(roots))))
    return found.real if is_paired else found


@implements(np.polynomial.polynomial.polyval2d)
def polyval2d(x: ArrayLike, y: ArrayLike, c: ArrayLike) -> Any:
    """Σᵢⱼ cᵢⱼ xⁱ yʲ, by Horner's rule in x, then in y."""
    x, y, c = arrays(x, y, c)
    if x.shape != y.shape:
        raise ValueError("x, y, z are not compatible")
    return _horner(_horner(np.reshape(c, c.shape + (1,) * x.ndim), x), y)


@implements(np.polynomial.polynomial.polygrid2d)
def polygrid2d(x: ArrayLike, y: ArrayLike, c: ArrayLike) -> Any:
    """The polynomial is evaluated at all points of a grid: the axes of ``x``, and behind them those of ``y``."""
    x, y, c = arrays(x, y, c)
    rows = _horner(np.reshape(c, c.shape + (1,) * x.ndim), x)
    return _horner(np.reshape(rows, rows.shape + (1,) * y.ndim), y)


def _horner(c: Traced, x: Traced) -> Any:
    """Σᵢ cᵢ xⁱ of coefficients along the first axis."""
    y = c[-1] + x * 0
    for k in range(c.shape[0] - 2, -1, -1):
        y = c[k] + y * x
    return y


@implements(np.polyfit)
def polyfit(
    x: Traced,
    y: Traced,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """Least squares with columns of one length, as NumPy has them."""
    x, y = [z.astype(np.result_type(z.dtype, float)) for z in arrays(x, y)]
    order = int(deg) + 1
    if order < 1:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.shape[0] == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    columns, right = np.vander(x, order), y
    if w is not None:
        weights = array(w)
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weights.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        columns = columns * weights[:, None]
        right = right * (weights[:, None] if y.ndim == 2 else weights)
    lengths = np.sqrt(np.sum(columns * columns, axis=0))
    limit = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    c, residuals, rank, s = np.linalg.lstsq(columns / lengths, right, limit)
    c = (c.T / lengths).T
    if full:
        return c, residuals, rank, s, limit
    if not cov:
        return c
    columns = columns / lengths
    scatter = np.linalg.inv(columns.T @ columns) / np.outer(lengths, lengths)
    if isinstance(cov, str) and cov == "unscaled":
        factor = np.ones_like(y, shape=())
    elif x.shape[0] <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    else:
        factor = residuals / (x.shape[0] - order)
    return c, scatter * factor if y.ndim == 1 else scatter[:, :, None] * factor


@intercepts("numpy.polynomial.polyutils:trimseq")
def trimseq(seq: Traced | list[Any]) -> Any:
    """Without the zeros at the end, which are looked at; in a batch, where each example may have others, they stay."""
    n = len(seq)
    while n > 1 and holds(seq[n - 1] == 0):
        n -= 1
    return seq[:n] if n < len(seq) else seq
