"""Elementwise steps by compiled loops of NumPy's and SciPy's: their bits, whatever dtypes, shapes and strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import wengert as wg
from tests.codegen.natively import native
from tests.differences import check

RNG = np.random.default_rng(0)
X = RNG.uniform(0.2, 4, (6, 5))


def kinds(program: Any) -> set[str]:
    return {k.kind for k in program.kernels}


def same(f: Callable[..., Any], *args: Any) -> None:
    program = native(f, *args)
    assert "library" in kinds(program)
    got, want = program(*args), f(*args)
    for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, want)], strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "f",
    [
        sp.gammaln,
        lambda x: sp.gammainc(2.5, x),
        lambda x: sp.gammainc(x[:, :1], x),
        lambda x: sp.gammainc(x[:3, None], x[None, 2:]),
        lambda x: sp.i0(x[::-1, ::2].T),
        lambda x: sp.betainc(x[0], x, x / 5),
        lambda x: sp.airy(x)[2],
        lambda x: sp.airy(x),
        lambda x: sp.wofz(x * (1 + 2j)),
        lambda x: sp.erf(x * 1j),
        lambda x: sp.psi(np.concatenate([x, -x])),
        lambda x: sp.jv(0.5, x[..., None] * np.arange(3)),
        lambda x: sp.gammaln(x[0, 0]),
        lambda x: sp.gammaln(x[:0]),
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_values_are_scipys(f: Callable[..., Any], dtype: str) -> None:
    if f(X[:, :]).size if not isinstance(f(X), tuple) else True:
        same(f, X.astype(dtype))


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8"])
def test_other_dtypes_are_converted(dtype: str) -> None:
    n = RNG.integers(0, 2 if dtype == "?" else 9, (300, 2)).astype(dtype)
    x = RNG.uniform(-1, 1, (300, 2))
    for f in (sp.gammaln, lambda n: sp.eval_legendre(n, x), lambda n: sp.gammainc(n[::2], n[1::2] * 0.5)):
        same(f, n)


def test_floats_of_sixteen_bits_are_numpys() -> None:
    x = X.astype(np.float16)
    same(lambda x: x * x, x)
    same(lambda x: np.sin(x)[::2] / x[1::2], x)


def test_a_loop_among_other_steps_and_where_values_die() -> None:
    f = lambda x: np.sum(sp.gammaln(sp.gammaln(x * 3) ** 2 + 1)[:, 1:] * np.cos(x[:, 1:]))
    np.testing.assert_allclose(native(f, X)(X), f(X), rtol=1e-14)
    check(f, X)


def test_in_loops_and_branches() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, t: Any) -> Any:
            c = wg.cond(t > 1, lambda c: sp.gammainc(c, t), lambda c: sp.gammaln(c + 1), c)
            return c + 0.5, c

        return wg.scan(step, 0.7, x)[1]

    got = native(f, X[0])(X[0])
    c, want = 0.7, []
    for t in X[0]:
        want.append(sp.gammainc(c, t) if t > 1 else sp.gammaln(c + 1))
        c = want[-1] + 0.5
    np.testing.assert_allclose(got, want, rtol=1e-14)
    native(wg.grad(lambda x: np.sum(f(x))), X[0])


def test_the_same_bits_on_any_number_of_threads() -> None:
    x = RNG.uniform(0.5, 30, 20_000)
    f = native(lambda x: sp.gammainc(x, x[::-1]) + sp.gammaln(x), x)
    before = wg.get_threads()
    try:
        wg.set_threads(1)
        one = f(x)
        wg.set_threads(2)
        np.testing.assert_array_equal(f(x), one)
    finally:
        wg.set_threads(before)


def test_an_error_that_scipy_was_told_to_raise_is_raised() -> None:
    f = native(sp.gammaln, X[0])
    with sp.errstate(all="raise"), pytest.raises(sp.SpecialFunctionError):
        f(-np.ones(5))
    np.testing.assert_array_equal(f(-np.ones(5)), np.inf)
