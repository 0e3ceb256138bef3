"""Values against NumPy's and SciPy's, and derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg


def same(actual, expected, rtol=0.0):
    """Equal values, shapes and dtypes, in equal containers."""
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple)
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected, strict=True):
            same(a, b, rtol)
        return
    assert np.shape(actual) == np.shape(expected)
    assert np.asarray(actual).dtype == np.asarray(expected).dtype
    rtol = max(rtol, 1e-5 if np.asarray(expected).dtype.itemsize < 8 else 1e-12)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)


def check_value(f, *args):
    is_single = any(isinstance(x, np.ndarray) and x.dtype == np.float32 for x in args)
    same(wg.jit(f)(*args), f(*args), rtol=1e-6 if is_single else 0.0)


def check_derivative(f, *args, rtol=1e-7):
    """The cotangent against differences: Re(ct · J dx) for a random ct and dx, in each argument."""
    args = [np.asarray(a, complex if np.iscomplexobj(a) else float) for a in args]
    rng = np.random.default_rng(1)

    def normal(x):
        part = rng.standard_normal(np.shape(x))
        return part + 1j * rng.standard_normal(np.shape(x)) if np.iscomplexobj(x) else part

    y, pullback = wg.vjp(f, *args)
    ct = normal(y)
    cts = pullback(ct if np.ndim(y) else ct[()])
    for k, a in enumerate(args):
        dx = normal(a)
        h = 1e-5

        def along(t, k=k, dx=dx):
            return np.real(np.sum(ct * f(*[a + t * dx if j == k else a for j, a in enumerate(args)])))

        expected = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
        actual = np.real(np.sum(cts[k] * dx))
        assert actual == pytest.approx(expected, rel=rtol, abs=rtol), f"argument {k}"
        _, tangent = wg.jvp(f, args, [dx if j == k else np.zeros_like(b) for j, b in enumerate(args)])
        assert np.real(np.sum(ct * tangent)) == pytest.approx(actual, rel=1e-10, abs=1e-12)


def check(f, *args, rtol=1e-7):
    check_value(f, *args)
    check_derivative(f, *args, rtol=rtol)
