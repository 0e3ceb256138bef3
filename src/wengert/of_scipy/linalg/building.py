"""Matrices that are made of vectors and blocks: places for elements, so that derivatives are selections and sums."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.tracing.arguments import Traced, array, arrays, as_dtype, common_dtype, holds
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer


def _vector(x: ArrayLike) -> Tracer:
    found: Any = np.atleast_1d(array(x))
    return found


def _zeros(like: Traced, *shape: int) -> Any:
    """An array of zeros with the stack and the dtype of ``like``."""
    return np.zeros((*like.shape[:-1], *shape), like.dtype)


def placed(values: Traced, index: np.ndarray[Any, Any]) -> Any:
    """values[..., index], a matrix for each vector of the stack."""
    return np.take(values, index, axis=-1)


def toeplitz_of(c: Traced, r: Traced) -> Any:
    """The matrices with the first columns c and the first rows r, of which the first element is not read."""
    m, n = c.shape[-1], r.shape[-1]
    if c.shape[:-1] != r.shape[:-1]:
        lead = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
        c, r = np.broadcast_to(c, (*lead, m)), np.broadcast_to(r, (*lead, n))
    values = np.concatenate([c[..., ::-1], r[..., 1:]], axis=-1)
    return placed(values, np.arange(m)[::-1, None] + np.arange(n))


@intercepts("scipy.linalg:toeplitz")
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Any:
    c = _vector(c)
    return toeplitz_of(c, np.conj(c) if r is None else _vector(r))


@intercepts("scipy.linalg:circulant")
def circulant(c: ArrayLike) -> Any:
    c = _vector(c)
    n = c.shape[-1]
    return placed(c, (np.arange(n)[:, None] - np.arange(n)) % n)


@intercepts("scipy.linalg:hankel")
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Any:
    c = array(c)
    r = np.zeros_like(c) if r is None else array(r)
    if c.ndim > 1 or r.ndim > 1:
        what = "hankel: of arrays of several axes all elements are taken"
        warnings.warn(what, FutureWarning, stacklevel=2)
    c, r = np.ravel(c), np.ravel(r)
    values = np.concatenate([c, r[1:]])
    return placed(values, np.arange(len(c))[:, None] + np.arange(len(r)))


@intercepts("scipy.linalg:leslie")
def leslie(f: ArrayLike, s: ArrayLike) -> Any:
    f, s = _vector(f), _vector(s)
    if f.shape[-1] != s.shape[-1] + 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less than the length of f."
        )
    if s.shape[-1] == 0:
        raise ValueError("The length of s must be at least 1.")
    dtype = common_dtype(f, s)
    n = f.shape[-1]
    lead = np.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    f, s = np.broadcast_to(as_dtype(f, dtype), (*lead, n)), np.broadcast_to(as_dtype(s, dtype), (*lead, n - 1))
    below = np.concatenate([s[..., None] * np.eye(n - 1, dtype=dtype), _zeros(s, n - 1, 1)], axis=-1)
    return np.concatenate([f[..., None, :], below], axis=-2)


@intercepts("scipy.linalg:block_diag")
def block_diag(*arrs: ArrayLike) -> Any:
    blocks = [np.atleast_2d(x) for x in arrays(*arrs)]
    dtype = common_dtype(*blocks)
    lead = np.broadcast_shapes(*[x.shape[:-2] for x in blocks])
    blocks = [np.broadcast_to(as_dtype(x, dtype), (*lead, *x.shape[-2:])) for x in blocks]
    width = sum(x.shape[-1] for x in blocks)
    rows, start = [], 0
    for x in blocks:
        m, n = x.shape[-2:]
        before, after = np.zeros((*lead, m, start), dtype), np.zeros((*lead, m, width - start - n), dtype)
        rows.append(np.concatenate([before, x, after], axis=-1))
        start += n
    return np.concatenate(rows, axis=-2)


@intercepts("scipy.linalg:companion")
def companion(a: ArrayLike) -> Any:
    a = _vector(a)
    n = a.shape[-1]
    if n < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    if holds(np.any(a[..., 0] == 0)):
        raise ValueError("The first coefficient(s) of `a` (i.e. elements of `a[..., 0]`) must not be zero.")
    first = -a[..., 1:] / (1.0 * a[..., 0:1])
    below = np.broadcast_to(np.eye(n - 2, n - 1, dtype=first.dtype), (*a.shape[:-1], n - 2, n - 1))
    return np.concatenate([first[..., None, :], below], axis=-2)


@intercepts("scipy.linalg:fiedler")
def fiedler(a: ArrayLike) -> Any:
    a = _vector(a)
    if a.size == 0:
        return np.zeros(0)
    if a.size == 1:
        return np.zeros((1, 1))
    return np.abs(a[..., :, None] - a[..., None, :])


@intercepts("scipy.linalg:fiedler_companion")
def fiedler_companion(a: ArrayLike) -> Any:
    a = _vector(a)
    length = a.shape[-1]
    if length <= 2:
        if length == 2:
            return -(a / a[..., :1])[..., None, 1:]
        return np.zeros(a.shape, a.dtype)
    if a.ndim == 1 and holds(a[0] == 0.0):
        raise ValueError("Leading coefficient is zero.")
    monic = a / a[..., :1]
    n = length - 1
    index, ones = np.zeros((n, n), int), np.zeros((n, n), bool)  # which coefficient stands where, and the ones
    ones[range(3, n, 2), range(1, n - 2, 2)] = True
    index[range(2, n, 2), range(1, n - 1, 2)] = np.arange(length)[3::2]
    ones[range(0, n - 2, 2), range(2, n, 2)] = True
    index[range(0, n - 1, 2), range(1, n, 2)] = np.arange(length)[2::2]
    index[0, 0], ones[1, 0] = 1, True
    values = np.where(index > 0, -placed(monic, index), np.zeros((), monic.dtype))
    return np.where(ones, np.ones((), monic.dtype), values)


@intercepts("scipy.linalg:convolution_matrix")
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Any:
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    a = array(a)
    if a.size == 0:
        raise ValueError("len(a) must be at least 1.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    a = np.atleast_1d(a)
    m = a.shape[-1]
    trim = {"full": 0, "same": min(n, m) - 1, "valid": 2 * (min(n, m) - 1)}[mode]
    rows = np.arange(trim // 2, m + n - 1 - (trim - trim // 2))
    index = rows[:, None] - np.arange(n)
    inside = (index >= 0) & (index < m)
    return np.where(inside, placed(a, np.where(inside, index, 0)), np.zeros((), a.dtype))


@intercepts("scipy.linalg:khatri_rao")
def khatri_rao(a: ArrayLike, b: ArrayLike) -> Any:
    a, b = arrays(a, b)
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if a.shape[-1] != b.shape[-1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    product = a[..., :, None, :] * b[..., None, :, :]
    return np.reshape(product, (*product.shape[:-3], a.shape[-2] * b.shape[-2], a.shape[-1]))


@intercepts("scipy.linalg:kron")  # until SciPy 1.16
def kron(a: ArrayLike, b: ArrayLike) -> Any:
    return np.kron(*arrays(a, b))


@intercepts("scipy.linalg:diagsvd")
def diagsvd(s: ArrayLike, M: int, N: int) -> Any:
    s = _vector(s)
    if s.shape[-1] not in (M, N):
        raise ValueError("Length of s must be M or N.")
    k = s.shape[-1]
    part = s[..., None] * np.eye(k, dtype=s.dtype)
    if k == M:
        return np.concatenate([part, _zeros(s, M, N - M)], axis=-1)
    return np.concatenate([part, _zeros(s, M - N, N)], axis=-2)
