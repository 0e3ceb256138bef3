"""Arrays of shape () and NumPy scalars: which of the two a function gives, as NumPy has it.

They differ in what a write does. ``q = y; q += 1`` changes ``y`` if that is an array, and a scalar refuses
``y[...] = 5``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg

EXPRESSIONS = """
    363
    np.where(a>0, a, 2.0); np.where(m, a, a); np.where(m, a, 1); np.squeeze(a); np.squeeze(v[:1])
    v[:1].squeeze(); np.tensordot(v, v, 1); np.tensordot(v, v, axes=([0], [0])); v[0, ...]; v[..., 0]
    a[...]; a[()]; a[None]; a[None, ...]; v[0]; np.take(a, 0); np.take(v, 0); np.take(a, [0, 0])
    np.take(a, 0, axis=0); np.take(v, i); np.take(v, 0, axis=0); v.take(0); v.take(i); np.repeat(a, 3)
    np.repeat(a, 3, axis=0); np.argsort(a); np.argsort(a, axis=0); np.sort(a); np.sort(a, axis=0)
    np.sort(a, axis=None); np.nan_to_num(a); np.nan_to_num(v[0]); np.real(a); np.imag(a); a.real; a.imag
    np.real(v[0]); np.conj(a); a.conj(); np.copy(a); a.copy(); a.T; np.transpose(a); np.reshape(a, ())
    np.reshape(v[:1], ()); v[:1].reshape(()); a.reshape(-1); a.ravel(); np.ravel(a); a.flatten()
    np.atleast_1d(a); np.atleast_2d(a); np.expand_dims(a, 0); np.broadcast_to(a, ())
    np.broadcast_to(a, (2,)); np.clip(a, 0, 1); np.clip(v[0], 0, 1); np.round(a, 1); np.around(a)
    a.round(); np.fix(a); np.trunc(a); np.floor(a); np.rint(a); np.sum(a); a.sum(); a.sum(keepdims=True)
    np.sum(v, keepdims=True); np.sum(v, axis=0); np.sum(v); np.mean(v); np.mean(a); np.std(a); np.var(a)
    np.max(a); np.max(v); np.min(a); np.argmax(a); np.argmin(a); np.prod(a); np.cumsum(a); np.cumprod(a)
    np.any(a); np.all(a); np.median(a); np.median(v); np.quantile(v, 0.5); np.quantile(v, a)
    np.quantile(v, [0.5]); np.percentile(v, 50); np.quantile(a, .5); np.dot(v, v); v@v; np.dot(a, a)
    np.dot(a, v); np.inner(v, v); np.inner(a, a); np.vdot(v, v); np.vdot(a, a); np.outer(a, a)
    np.kron(a, a); np.kron(a, v); np.einsum('i,i', v, v); np.einsum('i,i->', v, v); np.einsum('->', a)
    np.einsum(',', a, a); np.matmul(v, v); np.linalg.norm(a); np.linalg.norm(v); np.linalg.det(np.eye(2)*a)
    np.linalg.inv(np.eye(2)*a); np.trace(np.eye(2)*a); np.diag(v); np.diagonal(np.eye(2)*a)
    np.interp(a, v, v); np.interp(v[0], v, v); np.searchsorted(v, a); np.searchsorted(v, v[0])
    np.digitize(a, v); np.select([m], [a], 2.); np.select([a>0], [a]); np.piecewise(a, [a>0], [lambda t: t])
    np.choose(i, [a, a, a]); np.full((), a); np.full((2,), a); np.full_like(a, 2.); np.zeros_like(a)
    np.ones_like(a); np.empty_like(a)*0; np.zeros(())+a; np.ones(())*a; np.asarray(a); np.array(a)
    np.array(v[0]); np.asarray(v[0]); np.ascontiguousarray(a); np.asfortranarray(a); np.stack([a, a])
    np.hstack([a, a]); np.concatenate([a[None], a[None]]); np.append(a, a); np.insert(v, 0, a)
    np.delete(v, 0); np.roll(a, 1); np.roll(a, 1, axis=0); np.flip(a); np.flip(a, 0); np.fliplr(a)
    np.rot90(a); np.swapaxes(a, 0, 0); np.moveaxis(a, 0, 0); np.tile(a, 2); np.tile(a, (2, 2))
    np.tile(a, ()); np.pad(a, 1); np.pad(a, ()); np.diff(a); np.gradient(a); np.trapezoid(a); np.ediff1d(a)
    np.unwrap(a); np.isclose(a, a); np.isfinite(a); np.isreal(a); np.sign(a); np.heaviside(a, a)
    np.maximum(a, 0); np.minimum(a, a); np.hypot(a, a); np.arctan2(a, a); np.power(a, 2); a**2; a**a; a+1
    1-a; -a; +a; abs(a); np.abs(a); np.exp(a); np.sin(a); np.sqrt(a); np.square(a); np.positive(a)
    np.negative(a); np.add(a, a); np.subtract(a, 1); np.multiply(a, 2); np.divide(a, 2)
    np.floor_divide(a, 2); np.mod(a, 2); a%2; a//2; divmod(a, 2)[0]; np.divmod(a, 2)[1]; np.modf(a)[0]
    np.frexp(a)[0]; np.ldexp(a, i); np.sinc(a); np.i0(a); np.angle(a); np.deg2rad(a); np.logaddexp(a, a)
    np.logical_and(m, m); np.logical_not(m); m&m; ~m; ~i; i<<1; a>0; a==a; np.greater(a, 0)
    a.astype(np.float32); v[0].astype(np.float32); a.astype(float); np.add.reduce(a); np.add.reduce(v)
    np.add.accumulate(v); np.add.accumulate(a); np.add.outer(a, a); np.add.outer(v, a); np.maximum.reduce(v)
    np.cross(v, v*a); np.linalg.solve(np.eye(2)*a, v[:2]); np.linalg.cholesky(np.eye(2)*a)
    np.linalg.slogdet(np.eye(2)*a)[1]; np.cov(v); np.cov(v*a); np.corrcoef(v*a); np.average(v*a)
    np.average(a); np.ptp(v); np.ptp(a); np.nansum(a); np.nanmax(a); np.nanmean(a); np.nanmin(v)
    np.nanprod(a); np.count_nonzero(a); np.nonzero(a); np.argwhere(a); np.flatnonzero(a)
    np.compress([True], a); np.extract(m, a); np.unique(a); np.partition(a, 0); np.argpartition(a, 0)
    np.polyval(v, a); np.polyval(v, v[0]); np.vander(v*a); np.convolve(v, v*a); np.convolve(a, a)
    np.correlate(v, v*a); np.triu(a); np.tril(a); np.meshgrid(a, a)[0]; np.meshgrid(a)[0]
    np.linspace(a, 1, 3); np.linspace(0, a, 3); np.arange(a); np.logspace(a, 1, 3); np.geomspace(a, 1, 3)
    np.ix_(v); np.take_along_axis(v, np.array([0]), 0)[0]; np.copysign(a, -1); np.nextafter(a, 1)
    np.spacing(a); np.signbit(a); np.cbrt(a); np.reciprocal(a); a.mean(); a.std(); a.var(); a.max()
    a.min(); a.argmax(); a.cumsum(); a.prod(); a.any(); a.all(); a.clip(0, 1); a.squeeze(); a.repeat(2)
    a.argsort(); a.nonzero(); a.transpose(); a.view(); a.view(np.float64); i.choose([a, a, a]); a.flat[0]
    np.block([a, a]); np.block([[a, a], [a, a]]); np.block(a); np.dstack([a, a]); np.vstack([a, a])
    np.column_stack([a, a]); np.split(v, 3)[0][0]; np.apply_along_axis(np.sum, 0, v*a); np.resize(a, (2,))
    np.resize(a, ()); np.histogram(v, 3)[0]*a; np.bincount(np.array([1, 2]), weights=np.array([1., 2.])*a)
    np.matrix_transpose(np.eye(2)*a); np.vecdot(v, v); np.linalg.vecdot(v, v)
    np.linalg.multi_dot([v, np.eye(3)*a, v]); np.linalg.matrix_power(np.eye(2)*a, 2)
    np.linalg.norm(np.eye(2)*a); np.linalg.norm(np.eye(2)*a, axis=0); np.linalg.trace(np.eye(2)*a)
    np.max(v, initial=a); np.sum(v, initial=a); np.sum(v, where=m); np.add(a, a, out=z.copy())
    np.sum(v, out=z.copy()); np.exp(a, out=z.copy()); np.exp(v[:1].reshape(()))
"""
"""Of ``a``, ``i`` and ``m``, which hold one number each, the vector ``v`` and an array ``z`` to write into."""

V = np.array([1.0, 2.0, 3.0])


VALUES = (np.array(0.7), np.array(2), np.array(True), V, np.zeros(()))


def as_it_is(y: Any) -> Any:
    return y


def added_to(y: Any) -> Any:
    other = y
    other += 1
    return y


def written(y: Any) -> Any:
    y[...] = 5
    return y


def outcome(f: Any, *args: Any) -> Any:
    """The values that ``f`` gives, or that it refuses them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [np.asarray(y) for y in f(*args)]
    except (TypeError, ValueError, IndexError, AttributeError):
        return None


@pytest.mark.sampled(7, "every function on every kind of operand")
@pytest.mark.parametrize("then", [as_it_is, added_to, written], ids=lambda f: f.__name__)
@pytest.mark.parametrize("is_array", [True, False], ids=["array", "scalar"])
@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS.replace("\n", ";").split(";") if e.strip()])
def test_arrays_and_scalars_are_told_apart(expression: str, is_array: bool, then: Any) -> None:
    f = eval(f"lambda a, i, m, v, z: {expression}")

    def run(a: Any, i: Any, m: Any, v: Any, z: Any) -> Any:
        a, i, m, v = np.copy(a), np.copy(i), np.copy(m), np.copy(v)
        if not is_array:
            a, i, m = a[()], i[()], m[()]
        y = f(a, i, m, v, z)
        return [then(one) for one in y] if isinstance(y, tuple | list) else then(y), a, v

    want = outcome(lambda *args: wg.tree.flatten(run(*args))[0], *VALUES)
    got = outcome(lambda *args: wg.tree.flatten(wg.jit(run)(*args))[0], *VALUES)
    assert (want is None) == (got is None)
    for w, g in zip(want or (), got or (), strict=True):
        assert (w.shape, w.dtype) == (g.shape, g.dtype)
        np.testing.assert_allclose(g, w, rtol=1e-14, atol=1e-15)
