"""The ops that programs call back in Python, each with a reason. The list may only become shorter."""

from __future__ import annotations

import pytest

from tests.ops.callbacks import every_callback

BY_SCIPY = "a routine of scipy.linalg, which nobody has written in native code"
RARE = "an integral or a series in a parameter of a function that is rarely differentiated in it"
SPARSE = "a routine of scipy.sparse"
COMPLEX = "of complex numbers alone"

REASONS = {
    "assoc_legendre_p": "a generalised ufunc of SciPy's",
    "balance": BY_SCIPY,
    "banded_cholesky": BY_SCIPY,
    "banded_solve": BY_SCIPY,
    "bessel_by_order": RARE,
    "beta_mixture": RARE,
    "beta_mixture_by": RARE,
    "carlson": RARE,
    "cascade": "filters with a state, by scipy.signal",
    "cofactor_along": "the derivative of the cofactors of a singular matrix",
    "cumprod": COMPLEX,
    "draw": "a generator of NumPy's, whose state is Python's",
    "eig_banded": BY_SCIPY,
    "eig_left": BY_SCIPY,
    "eigh_by": BY_SCIPY,
    "eigh_tridiagonal": BY_SCIPY,
    "expm": BY_SCIPY,
    "expm_frechet": BY_SCIPY,
    "filter_": "filters with a state, by scipy.signal",
    "gamma_mixture_by_a": RARE,
    "general_eig": BY_SCIPY,
    "hermitian_banded_solve": BY_SCIPY,
    "hypergeometric_by": RARE,
    "ldl": BY_SCIPY,
    "legendre_p": "a generalised ufunc of SciPy's",
    "logm": BY_SCIPY,
    "lyapunov": BY_SCIPY,
    "mathieu_a_by_q": RARE,
    "mathieu_b_by_q": RARE,
    "matrix_power": BY_SCIPY,
    "order_of": BY_SCIPY,
    "pinv_by": BY_SCIPY,
    "pivots": BY_SCIPY,
    "plu": BY_SCIPY,
    "polar": BY_SCIPY,
    "qr_order": BY_SCIPY,
    "real_transform": "cosine and sine transforms, by scipy.fft",
    "recurrence": COMPLEX,
    "riccati": BY_SCIPY,
    "roots": "made of several routines in NumPy",
    "schur": BY_SCIPY,
    "schur_turn": BY_SCIPY,
    "select": "of operands of different dtypes",
    "signm": BY_SCIPY,
    "sparse_matmul": SPARSE,
    "sparse_sampled": SPARSE,
    "sparse_solve": SPARSE,
    "sph_legendre_p": "a generalised ufunc of SciPy's",
    "spline_filter": "by scipy.ndimage",
    "sqrtm": BY_SCIPY,
    "superlu_solve": SPARSE,
    "svd_by": BY_SCIPY,
    "sylvester": BY_SCIPY,
    "t_mixture_by_v": RARE,
    "toeplitz_solve": BY_SCIPY,
    "zeta_by_s": RARE,
}


@pytest.mark.machine_code("callbacks of kernels are counted")
def test_what_is_called_back() -> None:
    found = every_callback()
    assert set(found) - set(REASONS) == set(), "these need native code, or a reason"
    assert set(REASONS) - set(found) == set(), "these have native code now: take them off the list"


@pytest.mark.machine_code("callbacks of kernels are counted")
def test_what_is_complex_alone_has_native_code_of_reals() -> None:
    found = every_callback()
    for name, reason in REASONS.items():
        if reason == COMPLEX:
            assert found[name] == {"complex"}, name
