"""Factorisations of ``scipy.linalg`` on traced arrays."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.of_scipy.checking import case, four_tests
from tests.of_scipy.linalg.matrices import HALF, HALF_ABOVE, TALL, WIDE, A, C, H, S, X, Y, sl, sym
from wengert.errors import UnsupportedFunctionError

SHAPES = {"square": A, "tall": TALL, "wide": WIDE}


def taken(f, *wanted):
    """Some of the results alone."""
    return lambda *xs: tuple([f(*xs)[k] for k in wanted])


def space(q):
    """The projector onto the columns that complete others, which are determined up to a rotation."""
    return q[:, 3:] @ q[:, 3:].conj().T


CASES = [
    *[case(f"cholesky {low}", lambda a, low=low: sl.cholesky(a, lower=low), S) for low in (False, True)],
    *[case(f"cholesky complex {low}", lambda a, low=low: sl.cholesky(sym(a), lower=low), H) for low in (False, True)],
    *[case(f"cho_factor {low}", lambda a, low=low: sl.cho_factor(a, lower=low), S) for low in (False, True)],
    *[
        case(f"cho_solve {low}", lambda a, b, low=low: sl.cho_solve(sl.cho_factor(sym(a), lower=low), b), H, X + 1j)
        for low in (False, True)
    ],
    case("cholesky_banded", lambda ab: sl.cholesky_banded(ab, lower=True), HALF, exact=True),
    case("cholesky_banded above", lambda ab: sl.cholesky_banded(ab), HALF_ABOVE, exact=True),
    case("cho_solve_banded", lambda ab, b: sl.cho_solve_banded((sl.cholesky_banded(ab, lower=True), True), b), HALF, Y),
    case(
        "cho_solve_banded above", lambda ab, b: sl.cho_solve_banded((sl.cholesky_banded(ab), False), b), HALF_ABOVE, X
    ),
    *[case(f"lu {name}", lambda a: sl.lu(a), a, exact=True) for name, a in SHAPES.items()],
    case("lu permute_l", lambda a: sl.lu(a, permute_l=True), TALL, exact=True),
    case("lu p_indices", lambda a: sl.lu(a, p_indices=True), C, exact=True),
    *[case(f"lu_factor {name}", lambda a: sl.lu_factor(a), a) for name, a in SHAPES.items()],
    *[case(f"lu_solve {t}", lambda a, b, t=t: sl.lu_solve(sl.lu_factor(a), b, trans=t), C, X + 1j) for t in (0, 1, 2)],
    case("ldl", lambda a: sl.ldl(a), A + A.T, exact=True),
    case("ldl above", lambda a: sl.ldl(a, lower=False), A + A.T, exact=True),
    case("ldl complex", lambda a: sl.ldl(a, hermitian=False), C + C.T, exact=True),
    *[
        case(f"qr {mode} {name}", lambda a, mode=mode: sl.qr(a, mode=mode), a)
        for mode in ("full", "r", "economic")
        for name, a in SHAPES.items()
        if (mode, name) != ("full", "tall")
    ],
    *[case(f"qr pivoting {name}", lambda a: sl.qr(a, mode="economic", pivoting=True), a) for name, a in SHAPES.items()],
    case("qr full tall", lambda a: (sl.qr(a)[1], space(sl.qr(a)[0])), TALL),
    case("qr raw", lambda a: (*sl.qr(a, mode="raw")[0], sl.qr(a, mode="raw")[1]), TALL),
    case("qr raw wide", lambda a: sl.qr(a, mode="raw")[0], WIDE),
    *[case(f"rq {name}", lambda a: sl.rq(a, mode="economic"), a) for name, a in SHAPES.items()],
    case("rq r", lambda a: sl.rq(a, mode="r"), WIDE),
    case("rq full", lambda a: (sl.rq(a)[0], space(sl.rq(a)[1][::-1].T)), WIDE),
    case("qr_multiply", lambda a, c: sl.qr_multiply(a, c), TALL, X.T @ A[:, [0, 1, 2, 3, 0]]),
    case("qr_multiply left", lambda a, c: sl.qr_multiply(a, c, mode="left"), TALL, Y[:3]),
    case(
        "qr_multiply complex", lambda a, c: sl.qr_multiply(a, c, mode="left", conjugate=True, pivoting=True), C, X + 1j
    ),
    case("polar", lambda a: sl.polar(a), A, exact=True),
    case("polar complex", lambda a: sl.polar(a), C, exact=True),
    case("polar tall", lambda a: sl.polar(a), TALL, exact=True),
    case("polar left", lambda a: sl.polar(a, side="left"), WIDE),
    case("polar wide", lambda a: sl.polar(a), WIDE),
    case("polar left tall", lambda a: sl.polar(a, "left"), TALL),
    case(
        "orthogonal_procrustes",
        lambda a, b: sl.orthogonal_procrustes(a, b),
        TALL,
        TALL[::-1] + X[[0, 1, 2, 3, 0]][:, [0, 1, 1]],
    ),
    case("schur", lambda a: sl.schur(a), A, exact=True),
    case("schur sorted", lambda a: sl.schur(a, sort="lhp"), A, exact=True),
    case("schur complex", lambda a: (np.abs(sl.schur(a, output="complex")[0]), np.abs(sl.schur(a, "complex")[1])), A),
    case("rsf2csf", lambda a: tuple([np.abs(x) for x in sl.rsf2csf(*sl.schur(a))]), A),
    case("hessenberg", lambda a: sl.hessenberg(a, calc_q=True), A),
    case("hessenberg complex", lambda a: sl.hessenberg(a, calc_q=True), C),
    case("hessenberg of two", lambda a: sl.hessenberg(a, calc_q=True), A[:2, :2]),
]


def test_the_other_triangle_of_a_factor_is_the_matrix_or_zero():
    """SciPy writes zeros there since 1.18."""
    factor, lower = wg.jvp(lambda a: sl.cho_factor(a)[0], (S,), (S,))[0], False
    np.testing.assert_allclose(factor, sl.cho_factor(S, lower=lower)[0], rtol=1e-13)
    assert np.all(np.tril(factor, -1) == np.tril(S, -1)) or not np.tril(factor, -1).any()


def test_log_determinant_by_cholesky():
    """The gradient of log det is the inverse: shared between the triangles as the function reads them."""

    def log_det(a):
        c, _ = sl.cho_factor(a, lower=True)
        return 2 * np.sum(np.log(np.diag(c)))

    inverse = np.linalg.inv(S)
    expected = np.tril(2 * inverse) - np.diag(np.diag(inverse))
    np.testing.assert_allclose(wg.grad(log_det)(S), expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(wg.jit(wg.grad(log_det))(S), expected, rtol=1e-11, atol=1e-13)


def test_blocks_of_schurs_form_by_hand():
    """Both elements on the diagonal of a block are the real part of the eigenvalues, r cos φ."""

    def first(r, angle):
        c, s = r * np.cos(angle), r * np.sin(angle)
        t, _ = sl.schur(np.stack([np.stack([c, -2 * s]), np.stack([0.5 * s, c])]))
        return t[0, 0]

    assert wg.grad(first, argnums=(0, 1))(2.0, 0.3) == pytest.approx((np.cos(0.3), -2 * np.sin(0.3)))


def test_equal_eigenvalues_have_no_vectors():
    assert np.isnan(wg.grad(lambda a: sl.schur(a)[1][0, 0])(np.eye(3))).any()


def test_errors():
    for f, error in [
        (lambda a: sl.cholesky(a[:2]), ValueError),
        (lambda a: sl.cholesky(-a), np.linalg.LinAlgError),
        (lambda a: sl.qr(a, mode="long")[0], ValueError),
        (lambda a: sl.cho_solve((a, True), Y[:3]), ValueError),
        (lambda a: sl.lu_solve((a, [0, 1, 2, 3]), Y[:3]), ValueError),
        (lambda a: sl.polar(a, side="middle")[0], ValueError),
        (lambda a: sl.schur(a, output="whole")[0], ValueError),
    ]:
        with pytest.raises(error):
            f(S)
        with pytest.raises(error):
            wg.grad(lambda a, f=f: np.sum(f(a)))(S)
    with pytest.raises(UnsupportedFunctionError, match="sort is a function"):
        wg.grad(lambda a: np.sum(sl.schur(a, sort=lambda x, y: x > 0)[0]))(S)


test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(
    CASES, every=23, unbatched=[c.name for c in CASES if c.name.startswith("rsf2csf")]
)
