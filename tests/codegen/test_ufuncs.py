"""Steps by compiled loops of NumPy's and SciPy's: their bits, whatever dtypes, shapes and strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import wengert as wg
from tests.codegen.natively import native
from tests.comparisons import same_on_any_number_of_threads
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
    same_on_any_number_of_threads(lambda: f(x))


def test_an_error_that_scipy_was_told_to_raise_is_raised() -> None:
    f = native(sp.gammaln, X[0])
    with sp.errstate(all="raise"), pytest.raises(sp.SpecialFunctionError):
        f(-np.ones(5))
    np.testing.assert_array_equal(f(-np.ones(5)), np.inf)


# ------------------------------------------------------------------------------------------------------------ stacks


def drawn(*shape: int, dtype: str) -> Any:
    x = RNG.standard_normal(shape) + (1j * RNG.standard_normal(shape) if dtype[0] == "c" else 0)
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
def test_linear_algebra_is_numpys(dtype: str) -> None:
    for f, shape in [
        (np.linalg.svd, (5, 3)),
        (lambda a: np.linalg.svd(a, full_matrices=False), (2, 3, 6)),
        (np.linalg.qr, (3, 7, 5)),
        (np.linalg.qr, (40, 40)),
        (lambda a: np.linalg.qr(a, "complete"), (9, 2)),
        (np.linalg.eigh, (2, 3, 5, 5)),
        (np.linalg.eig, (2, 6, 6)),
    ]:
        a = drawn(*shape, dtype=dtype)
        got, want = native(lambda a, f=f: f(a), a)(a), f(a)
        for mine, theirs in zip(*[tuple(r) if isinstance(r, tuple) else (r,) for r in (got, want)], strict=True):
            is_real = np.asarray(theirs).dtype.kind == "f" and np.asarray(mine).dtype.kind == "c"
            np.testing.assert_array_equal(mine, theirs.astype(mine.dtype) if is_real else theirs)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
def test_pseudo_inverses_leave_out_what_is_small(dtype: str) -> None:
    for a in (drawn(5, 3, dtype=dtype), drawn(2, 3, 4, dtype=dtype), np.ones((3, 3), dtype), np.zeros((2, 3), dtype)):
        tolerance = 1e-13 if dtype in ("f8", "c16") else 1e-5
        np.testing.assert_allclose(native(np.linalg.pinv, a)(a), np.linalg.pinv(a), tolerance, tolerance)


@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_complex_matrices_are_factored_by_lapack(dtype: str) -> None:
    rtol = 1e-12 if dtype == "c16" else 1e-4
    for n in (1, 3, 30):
        a = drawn(2, n, n, dtype=dtype) + (2 if n > 3 else n) * np.eye(n, dtype=dtype)
        b = drawn(2, n, 2, dtype=dtype)
        for f in (
            lambda a, b: np.linalg.solve(a, b),
            lambda a, b: np.linalg.inv(a),
            lambda a, b: tuple(np.linalg.slogdet(a)),
            lambda a, b: np.linalg.det(a),
            lambda a, b: np.linalg.cholesky(a @ np.conj(np.swapaxes(a, 1, 2))),
        ):
            got, want = native(f, a, b)(a, b), f(a, b)
            for mine, theirs in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, want)], strict=True):
                assert np.asarray(mine).dtype == np.asarray(theirs).dtype
                np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol)
            loss = lambda a, b, f=f: sum(
                np.sum(np.abs(y) ** 2) for y in (lambda y: y if type(y) is tuple else (y,))(f(a, b))
            )
            gradient = wg.grad(lambda a, b, loss=loss: np.log(loss(a, b)), argnums=(0, 1))
            native(gradient, a, b)
            for mine, plain in zip(wg.jit(gradient)(a, b), gradient(a, b), strict=True):
                np.testing.assert_allclose(mine, plain, rtol=100 * rtol, atol=100 * rtol)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.svd(a)[1],
        lambda a: np.linalg.eig(a)[0],
        lambda a: np.linalg.eigh(a + 0j)[0],
        lambda a: np.linalg.inv(a + 0j),
        lambda a: np.linalg.qr(a)[1],
    ],
)
def test_what_is_not_finite_is_numpys(f: Callable[..., Any], bad: float) -> None:
    """One of a stack; the others are right."""
    a = np.stack([np.eye(3), np.diag([1.0, bad, 2])])
    program = native(f, np.stack([np.eye(3)] * 2))
    try:
        want = f(a)
    except np.linalg.LinAlgError as error:
        with pytest.raises(np.linalg.LinAlgError, match=str(error)):
            program(a)
    else:
        np.testing.assert_array_equal(program(a), want)
    np.testing.assert_array_equal(program(np.stack([np.eye(3)] * 2)), f(np.stack([np.eye(3)] * 2)))


def test_singular_complex_matrices_are_refused() -> None:
    singular = np.ones((2, 2)) + 0j
    for f in (np.linalg.inv, lambda a: np.linalg.solve(a, a)):
        with pytest.raises(np.linalg.LinAlgError, match="ingular"):
            native(f, np.eye(2) + 0j)(singular)
    np.testing.assert_array_equal(native(np.linalg.det, singular)(singular), 0)


def test_derivatives_of_decompositions() -> None:
    a = RNG.standard_normal((4, 3))
    check(lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 3), a)
    check(lambda a: np.sum(np.linalg.qr(a)[1] ** 3), a)
    check(lambda a: np.sum(np.abs(np.linalg.eig(a[:3])[0]) ** 2), a)
    check(lambda a: np.sum(np.linalg.pinv(a) ** 2), a)
