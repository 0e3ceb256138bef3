"""The ops of SciPy's linear algebra with ordinary operands: one line a form of an op. See :mod:`tests.ops.check_op`.

Vectors of LAPACK's choice may change their sign with the precision, so single precision is not compared where there are
vectors; complex ones may change their phase, so they are compared in tests/of_scipy/linalg, where it does not count.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

import wengert.of_scipy.linalg  # noqa: F401  # which registers the ops
from tests.ops.cases import complex_numbers, exactly, positive_definite, shapes, well_conditioned
from tests.ops.check_op import Operand, case

HALF = [[9.0, 8, 7, 9], [1, 2, -1, 5], [0.3, 0.1, 2, 3]]
HALF_ABOVE = [[5, 0.3, 0.1 + 1j, 2], [5, 1, 2j, -1], [9, 8, 7, 9]]
BLOCKS = [[1, 2, 3, 0.2], [-3, 2, 1, 0.1], [0.2, -0.1, 4, 1], [0.1, 0.2, -2, 3]]
UNSTABLE = [[-0.54, 0.36], [1.3, 0.95]]


def triangular(*shape: int) -> Operand:
    """Upper triangular matrices with different elements on the diagonal, which stay triangular."""
    return Operand(
        lambda rng, shape: np.triu(rng.standard_normal(shape)) + np.diag(3.0 * np.arange(shape[-1])), shape, np.triu
    )


def symmetric(*shape: int) -> Operand:
    """Positive definite matrices, which stay symmetric."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        a = rng.standard_normal(shape)
        return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])

    return Operand(draw, shape, lambda dx: dx + np.swapaxes(dx, -1, -2))


CASES = [
    # equations
    case(
        "sylvester",
        well_conditioned(3, 3),
        well_conditioned(2, 2),
        shapes(3, 2),
        kw=dict(perturbs=True),
        dtypes="dD",
        numpy=lambda a, b, q: np.linalg.solve(np.kron(a, np.eye(2)) + np.kron(np.eye(3), b.T), q.ravel()).reshape(
            q.shape
        ),
    ),
    case(
        "sylvester",
        well_conditioned(2, 3, 3),
        well_conditioned(2, 2, 2),
        shapes(2, 3, 2),
        kw=dict(perturbs=False),
        note="stack",
    ),
    case(
        "sylvester",
        complex_numbers(2, 2),
        complex_numbers(3, 3),
        complex_numbers(2, 3),
        kw=dict(perturbs=False),
        dtypes="D",
        note="complex",
    ),
    case("lyapunov", well_conditioned(3, 3), shapes(3, 3), kw=dict(method="continuous"), dtypes="dD"),
    case(
        "lyapunov",
        complex_numbers(3, 3),
        complex_numbers(3, 3),
        kw=dict(method="continuous"),
        dtypes="D",
        note="complex",
    ),
    case(
        "lyapunov",
        shapes(3, 3),
        shapes(3, 3),
        kw=dict(method="discrete"),
        dtypes="dD",
        is_narrow=False,
        note="discrete",
    ),
    case(
        "lyapunov",
        shapes(2, 3, 3),
        shapes(2, 3, 3),
        kw=dict(method="bilinear"),
        dtypes="dD",
        is_narrow=False,
        note="stack",
    ),
    case(
        "lyapunov",
        complex_numbers(3, 3),
        complex_numbers(3, 3),
        kw=dict(method="discrete"),
        dtypes="D",
        note="discrete complex",
    ),
    case(
        "riccati",
        exactly(UNSTABLE),
        exactly([[-0.7], [-1.27]]),
        symmetric(2, 2),
        symmetric(1, 1),
        exactly([[1.0, 0], [0, 1]]),
        exactly([[0.1], [0.2]]),
        kw=dict(given="es", balanced=False, is_discrete=False),
        dtypes="d",
        rtol=1e-6,
        is_narrow=False,
    ),
    case(
        "riccati",
        exactly(UNSTABLE),
        exactly([[-0.7], [-1.27]]),
        symmetric(2, 2),
        symmetric(1, 1),
        exactly([[1.04, -0.04], [0.19, 1.03]]),
        exactly([[0.1], [0.2]]),
        kw=dict(given="es", balanced=False, is_discrete=True),
        dtypes="d",
        rtol=1e-6,
        is_narrow=False,
        note="discrete",
    ),
    # functions of matrices
    case("expm", shapes(2, 2), dtypes="fdD"),
    case("expm", complex_numbers(2, 2, 2), dtypes="D", note="stack"),
    case("expm_frechet", shapes(2, 2), shapes(2, 2), kw=dict(method="SPS"), dtypes="dD"),
    case("logm", positive_definite(2, 2), dtypes="dD"),
    case("matrix_power", positive_definite(2, 2), exactly(0.3), dtypes="dD", keeps_reals=True),
    case("sqrtm", positive_definite(3, 3), dtypes="dD"),
    case("sqrtm", complex_numbers(3, 3), dtypes="D", note="complex"),
    case("signm", shapes(3, 3), dtypes="dD"),
    # factorisations
    case("plu", shapes(3, 3), dtypes="fdD"),
    case("plu", shapes(4, 3), dtypes="fdD", note="tall"),
    case("plu", complex_numbers(2, 3, 4), dtypes="D", note="wide stack"),
    case("pivots", exactly([1, 0, 2]), numpy=lambda p: np.int32([1, 1, 2])),
    case("order_of", exactly([1, 1, 2]), numpy=lambda p: np.array([1, 0, 2])),
    case("qr_order", shapes(3, 4)),
    case("ldl", symmetric(3, 3), kw=dict(lower=True, hermitian=True), dtypes="d"),
    case("ldl", shapes(4, 4), kw=dict(lower=False, hermitian=True), dtypes="d", note="upper"),
    case("ldl", complex_numbers(4, 4), kw=dict(lower=True, hermitian=False), dtypes="D", note="complex"),
    case("polar", shapes(3, 3), dtypes="dD"),
    case("polar", complex_numbers(2, 4, 3), dtypes="D", note="tall stack"),
    case("schur", exactly([[1, 2, 3], [0.1, 2, 1], [0.2, -0.1, 3]]), kw=dict(sort=None), dtypes="d", is_narrow=False),
    case("schur", exactly(BLOCKS), kw=dict(sort="lhp"), dtypes="d", is_narrow=False, note="blocks"),
    case("schur_turn", triangular(3, 3), shapes(3, 3), kw=dict(transpose=False), dtypes="dD"),
    case(
        "schur_turn",
        triangular(2, 3, 3),
        shapes(2, 3, 3),
        kw=dict(transpose=True),
        dtypes="dD",
        note="transposed stack",
    ),
    # bands
    case(
        "banded_solve",
        shapes(4, 5),
        shapes(5, 2),
        kw=dict(lower=1, upper=2, transpose=False),
        dtypes="dD",
        numpy=lambda ab, b: np.linalg.solve(
            sum(np.diag(ab[2 - k, max(k, 0) : 5 + min(k, 0)], k) for k in (-1, 0, 1, 2)), b
        ),
    ),
    case(
        "banded_solve",
        complex_numbers(2, 4, 5),
        complex_numbers(2, 5, 1),
        kw=dict(lower=2, upper=1, transpose=True),
        dtypes="D",
        note="transposed stack",
    ),
    case("hermitian_banded_solve", exactly(HALF), shapes(4, 2), kw=dict(lower=True), dtypes="dD"),
    case(
        "hermitian_banded_solve",
        exactly(HALF_ABOVE),
        complex_numbers(4, 2),
        kw=dict(lower=False),
        dtypes="D",
        note="complex",
    ),
    case("banded_cholesky", exactly(HALF), kw=dict(lower=True), dtypes="dD"),
    case("banded_cholesky", exactly(HALF_ABOVE), kw=dict(lower=False), dtypes="D", note="complex"),
    case(
        "toeplitz_solve",
        exactly([5, 1, 2, 0.1]),
        exactly([4, 1.5, 1, 0.2]),
        shapes(4, 2),
        dtypes="dD",
        numpy=lambda c, r, b: np.linalg.solve(scipy.linalg.toeplitz(c, r), b),
    ),
    case(
        "toeplitz_solve",
        exactly([[5, 1j, 2, 0.1]]),
        exactly([[4, 1.5, 1j, 0.2]]),
        complex_numbers(1, 4, 2),
        dtypes="D",
        note="stack",
    ),
    # spectra
    case("eigh_by", well_conditioned(3, 3), kw=dict(lower=True, driver=None, subset=None), rtol=1e-7, is_narrow=False),
    case(
        "eigh_by",
        well_conditioned(2, 3, 3),
        kw=dict(lower=False, driver="evd", subset=(1, 2)),
        rtol=1e-7,
        is_narrow=False,
        note="subset",
    ),
    case("eigh_tridiagonal", shapes(4), shapes(3), kw=dict(driver="auto", subset=(0, 1)), rtol=1e-7, is_narrow=False),
    case("eig_banded", shapes(2, 4), kw=dict(lower=True, subset=None), rtol=1e-7, is_narrow=False),
    case("eig_left", exactly([[1.0, 2], [0.5, -1]]), rtol=1e-7, is_narrow=False),
    case("general_eig", exactly([[1.0, 2], [0.5, -1]]), symmetric(2, 2), rtol=1e-7, is_narrow=False),
    case("svd_by", shapes(4, 3), kw=dict(full=False, driver="gesvd"), rtol=1e-7, is_narrow=False),
    case("pinv_by", shapes(4, 3), kw=dict(atol=0.0, rtol=None), rtol=1e-7),
    case("balance", shapes(3, 3), kw=dict(permute=True, scale=False)),
]
