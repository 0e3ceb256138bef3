"""Roots of polynomials, as the eigenvalues of a companion matrix; their derivative is that of a simple root, which no
condition of the matrix's vectors is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.ops.contract import matmul
from wengert.ops.elementwise import absolute, cast, complex_dtype, divide, less_equal, select
from wengert.ops.index import INTP, reverse, slice_axis
from wengert.ops.linalg.matrices import ROUNDING, swap
from wengert.ops.op import op
from wengert.ops.reduce import cumprod
from wengert.ops.shape import broadcast_to, concatenate, full, iota, reshape
from wengert.tape import Atom, Aval, Lit


def _roots_type(p: Aval) -> Aval:
    *lead, count = p.shape
    return Aval((*lead, count - 1), complex_dtype(p.dtype))


def _roots_reference(p: np.ndarray[Any, Any]) -> Any:
    """The companion matrix is NumPy's, and so the order of the roots."""
    n = p.shape[-1] - 1
    companion = np.zeros((*p.shape[:-1], n, n), p.dtype)
    if n:
        companion[..., range(1, n), range(n - 1)] = 1
        companion[..., 0, :] = -p[..., 1:] / p[..., :1]
    return np.linalg.eigvals(companion).astype(complex_dtype(p.dtype), copy=False)


def _column(x: Atom) -> Any:
    return reshape(x, shape=(*x.aval.shape, 1))


def _powers(y: Atom) -> Any:
    """yⱼᵏ for k = 0 … n: complex[..., n, n + 1]."""
    *lead, n = y.aval.shape
    ones = full(Lit(1, y.aval.dtype), Aval((*lead, n, 1), y.aval.dtype))
    factors = broadcast_to(_column(y), shape=(*lead, n, n))
    return cumprod(concatenate(ones, factors, axis=len(lead) + 1), axis=len(lead) + 1)


def _slope(p: Atom, y: Atom, powers: Atom) -> Any:
    """p′(yⱼ); NaN for a root that is multiple but for rounding, |p′|² ≤ ε |p″| Σ |pₖ yᵏ|: the next root is 2 p′ / p″
    away, and rounding of p moves this one by ε Σ |pₖ yᵏ| / p′."""
    dtype, n, last = y.aval.dtype, y.aval.shape[-1], y.aval.ndim
    c = reverse(cast(p, dtype), p.aval.ndim - 1)

    def derived(c: Atom) -> Any:
        """The coefficients of the derivative."""
        exponents = iota(size=c.aval.shape[-1] - 1, dtype=INTP) + 1
        return slice_axis(c, c.aval.ndim - 1, 1, c.aval.shape[-1] - 1) * cast(exponents, dtype)

    def value(c: Atom) -> Any:
        return reshape(matmul(slice_axis(powers, last, 0, c.aval.shape[-1]), _column(c)), shape=y.aval.shape)

    first = value(derived(c))
    if n == 1:
        return first
    second = value(derived(derived(c)))
    size = reshape(matmul(absolute(powers), _column(absolute(c))), shape=y.aval.shape)
    unit = ROUNDING * (n + 1) * float(np.finfo(dtype).eps)
    is_multiple = less_equal(absolute(first) * absolute(first), unit * size * absolute(second))
    return select(is_multiple, Lit(np.nan, dtype), first)


def roots_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Atom) -> Any:
    """ẏⱼ = −Σₖ yⱼᵏ ṗₖ / p′(yⱼ), from p(y) = 0."""
    if y.aval.size == 0:
        return y
    powers = _powers(y)
    dc = reverse(cast(dxs[0], y.aval.dtype), dxs[0].aval.ndim - 1)
    value = reshape(matmul(powers, _column(dc)), shape=y.aval.shape)
    return -divide(value, _slope(xs[0], y, powers))


def roots_pullback(ct: Atom, p: Atom, y: Atom) -> Any:
    """p̄ₖ = −Σⱼ yⱼᵏ ȳⱼ / p′(yⱼ)."""
    if y.aval.size == 0:
        return full(Lit(0, p.aval.dtype), p.aval)
    powers = _powers(y)
    weights = divide(ct, _slope(p, y, powers))
    back = reshape(matmul(swap(powers), _column(weights)), shape=p.aval.shape)
    return -reverse(back, p.aval.ndim - 1)


roots = op(  # of the polynomials with coefficients p[..., n + 1], the highest power first, which is not zero; complex
    _roots_reference,
    name="roots",
    type=_roots_type,
    cost=lambda p: 10.0 * p.size * p.shape[-1] ** 2,
    pushforward=roots_pushforward,
    pullback=[roots_pullback],
    batch=lambda xs, batched, size: roots(xs[0]),
)
