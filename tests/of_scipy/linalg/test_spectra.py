"""Eigenvalues and singular values of ``scipy.linalg`` on traced arrays."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.of_scipy.checking import case, four_tests, same
from tests.of_scipy.linalg.matrices import HALF, HALF_ABOVE, TALL, WIDE, A, B, C, H, S, X, Y, sl, sym
from wengert.errors import UnsupportedFunctionError
from wengert.of_scipy.version import SCIPY


def phases(v):
    """v up to the phases of its columns, which are LAPACK's choice."""
    return v[:, None] * v.conj()


def free(f):
    """The values and the vectors up to their phases."""

    def g(*xs):
        w, *vs = f(*xs)
        return (w, *[phases(v) for v in vs])

    return g


BOOL = (False, True)
GENERAL = np.array([[1.0, 2, 0.1], [0.5, -1, 0.3], [0.2, 0.7, 3]])

CASES = [
    case("eig", free(lambda a: sl.eig(a)), A),
    case("eig left", free(lambda a: sl.eig(a, left=True)), GENERAL),
    case("eig left complex", free(lambda a: sl.eig(a, left=True, right=False)), C),
    case("eigvals", lambda a: sl.eigvals(a), A),
    case("eigvals homogeneous", lambda a: sl.eigvals(a, homogeneous_eigvals=True), A),
    case("eig of two", free(lambda a, b: sl.eig(a, b)), GENERAL, S[:3, :3]),
    case("eigvals of two", lambda a, b: sl.eigvals(a, b), A, B),
    *[case(f"eigh {low}", free(lambda a, low=low: sl.eigh(sym(a), lower=low)), A) for low in BOOL],
    *[case(f"eigh {d}", free(lambda a, d=d: sl.eigh(a, driver=d)), A) for d in ("ev", "evd", "evr", "evx")],
    case("eigh complex", free(lambda a: sl.eigh(sym(a))), H),
    case("eigvalsh", lambda a: sl.eigvalsh(a), A),
    *[
        case(
            f"eigh of two {low} {kind}",
            free(lambda a, b, o=(low, kind): sl.eigh(a, sym(b), lower=o[0], type=o[1])),
            A,
            S,
        )
        for low in BOOL
        for kind in (1, 2, 3)
    ],
    case("eigh of two complex", free(lambda a, b: sl.eigh(sym(a), sym(b))), C, H),
    case("eigvalsh of two", lambda a, b: sl.eigvalsh(a, b, type=2), A, S),
    case("eigh by index", free(lambda a: sl.eigh(a, subset_by_index=[1, 2])), A),
    case("eigh by value", free(lambda a: sl.eigh(a, subset_by_value=[0, np.inf])), A),
    case("eigvalsh by value", lambda a: sl.eigvalsh(a, subset_by_value=[0, np.inf]), A),
    case("eigh of two by index", free(lambda a, b: sl.eigh(a, b, subset_by_index=[0, 2])), A, S),
    case("eigh_tridiagonal", free(lambda d, e: sl.eigh_tridiagonal(d, e)), Y, Y[:3]),
    case(
        "eigh_tridiagonal index",
        free(lambda d, e: sl.eigh_tridiagonal(d, e, select="i", select_range=(1, 2))),
        Y,
        Y[:3],
    ),
    case(
        "eigvalsh_tridiagonal value",
        lambda d, e: sl.eigvalsh_tridiagonal(d, e, select="v", select_range=(0, 5)),
        Y,
        Y[:3],
    ),
    case("eig_banded", free(lambda ab: sl.eig_banded(ab)), HALF_ABOVE),
    case("eig_banded index", free(lambda ab: sl.eig_banded(ab, lower=True, select="i", select_range=(0, 1))), HALF),
    case("eigvals_banded value", lambda ab: sl.eigvals_banded(ab, select="v", select_range=(7, 9)), HALF_ABOVE),
    case("svd", lambda a: (sl.svd(a)[1], sl.svd(a)[0][:, 3:] @ sl.svd(a)[0][:, 3:].T), TALL),
    case("svd short", lambda a: sl.svd(a, full_matrices=False), WIDE),
    case("svd gesvd", lambda a: sl.svd(a, full_matrices=False, lapack_driver="gesvd"), TALL, exact=True),
    case("svdvals", lambda a: sl.svdvals(a), C),
    case("orth", lambda a: sl.orth(a), TALL),
    case("null_space", lambda a: sl.null_space(a) @ sl.null_space(a).T, WIDE),
    case("subspace_angles", lambda a, b: sl.subspace_angles(a, b), TALL, X[[0, 1, 2, 3, 0]]),
    case("matrix_balance", lambda a: sl.matrix_balance(a)[0], A * np.array([1, 100, 0.01, 1.0])),
    case("cdf2rdf", lambda a: sl.cdf2rdf(*sl.eig(a))[0], A),
]
LOOKS = (
    "eigh by value",
    "eigvalsh by value",
    "eigvalsh_tridiagonal value",
    "eigvals_banded value",
    "orth",
    "null_space",
)
LOOKS += ("subspace_angles", "cdf2rdf")


IS_NEWER = SCIPY > (1, 17)
"""Since SciPy 1.18 ``eig`` has code of its own, whose vectors may have other signs than NumPy's."""


def test_signs_of_vectors_are_scipys():
    a = np.random.default_rng(3).standard_normal((6, 6))
    b = a @ a.T + 6 * np.eye(6)
    for f in (
        lambda a: sl.eigh(a)[1],
        lambda a: sl.eigh(a, driver="ev")[1],
        lambda a: sl.eigh(a, subset_by_index=[2, 3])[1],
        lambda a: sl.eigh(a, b)[1],
        lambda a: sl.eigh_tridiagonal(a[0], a[0, 1:])[1],
        lambda a: sl.eig_banded(a[:2])[1],
        *([] if IS_NEWER else [lambda a: sl.eig(a)[1], lambda a: sl.eig(a, left=True)[1]]),
        lambda a: sl.svd(a)[0],
        lambda a: sl.svd(a, lapack_driver="gesvd")[2],
        lambda a: sl.matrix_balance(a, separate=True)[1],
        lambda a: sl.matrix_balance(a)[1],
    ):
        same(wg.jvp(f, (a,), (a,))[0], f(a))


def test_eigenvalues_of_two_by_hand():
    """det(a − w b) = 0 for diagonal matrices: w = a / b."""
    by_a, by_b = wg.grad(lambda a, b: sl.eigvalsh(np.diag([a, 5.0]), np.diag([b, 1.0]))[0], argnums=(0, 1))(2.0, 4.0)
    assert (by_a, by_b) == pytest.approx((0.25, -0.125))


def test_refused():
    for f in (lambda a: sl.eig(a, S, left=True)[0], lambda a: sl.eigvals(a, S, homogeneous_eigvals=True)):
        with pytest.raises(UnsupportedFunctionError):
            wg.grad(lambda a, f=f: np.real(np.sum(f(a))))(A)


def test_errors_are_scipys():
    for f in (
        lambda a: sl.eigh(a, driver="best")[0],
        lambda a: sl.eigh(a, driver="gvd")[0],
        lambda a: sl.eigh(a, S, driver="evd")[0],
        lambda a: sl.eigh(a, subset_by_index=[2, 9])[0],
        lambda a: sl.eigh(a, driver="evd", subset_by_index=[0, 1])[0],
        lambda a: sl.eigh_tridiagonal(a[0], a[0])[0],
        lambda a: sl.eig_banded(a, select="i", select_range=(0, 9))[0],
        lambda a: sl.svd(a, lapack_driver="jacobi")[1],
    ):
        with pytest.raises(ValueError):
            f(S)
        with pytest.raises(ValueError):
            wg.grad(lambda a, f=f: np.sum(f(a)))(S)


test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(CASES, unbatched=LOOKS)
