from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

sl: Any = scipy.linalg  # without the types of its functions, which have a result for each option

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])
B = np.arange(6.0).reshape(3, 2)
V = np.array([3.0, 1.0, 0.5])
BAND = np.array([[0.0, 1.0, 1.0], [4.0, 5.0, 6.0]])
FACTORS = sl.cho_factor(A)

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        [
            "inv",
            "det",
            "pinv",
            "pinvh",
            "cholesky",
            "cho_factor",
            "lu",
            "lu_factor",
            "ldl",
            "qr",
            "rq",
            "polar",
            "schur",
        ]
        + ["hessenberg", "eig", "eigvals", "eigh", "eigvalsh", "svd", "svdvals", "orth", "null_space", "matrix_balance"]
        + ["expm", "expm_cond", "logm", "sqrtm", "signm", "cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm", "norm"]
        + ["bandwidth", "issymmetric", "ishermitian"],
        (A,),
    ),
    **dict.fromkeys(["solve", "solve_triangular", "lstsq", "subspace_angles"], (A, B)),
    **dict.fromkeys(["toeplitz", "circulant", "hankel", "companion", "fiedler", "fiedler_companion"], (V,)),
    **dict.fromkeys(["solve_toeplitz", "matmul_toeplitz", "solve_circulant"], (V, B)),
    **dict.fromkeys(
        ["solve_continuous_lyapunov", "solve_discrete_lyapunov", "orthogonal_procrustes", "rsf2csf"], (A, A)
    ),
    **dict.fromkeys(["khatri_rao", "kron", "expm_frechet", "qz", "ordqz"], (A, A)),
    **dict.fromkeys(["eig_banded", "eigvals_banded", "cholesky_banded"], (BAND,)),
    **dict.fromkeys(["solve_continuous_are", "solve_discrete_are"], (A, B, np.eye(3), np.eye(2))),
    **dict.fromkeys(["eigh_tridiagonal", "eigvalsh_tridiagonal", "leslie"], (V, V[:2])),
    "solve_banded": ((0, 1), BAND, V),
    "solveh_banded": (BAND, B),
    "cho_solve": (FACTORS, B),
    "cho_solve_banded": ((sl.cholesky_banded(BAND), False), B),
    "lu_solve": (sl.lu_factor(A), B),
    "qr_multiply": (A, B.T),
    "fractional_matrix_power": (A, 0.5),
    "funm": (A, np.exp),
    "solve_sylvester": (A, A, A),
    "block_diag": (A, B),
    "convolution_matrix": (V, 2),
    "diagsvd": (V, 3, 4),
    "cdf2rdf": sl.eig(A),
    "cossin": (np.eye(4), 2, 2),
    "qr_delete": (*sl.qr(A), 0),
    "qr_insert": (*sl.qr(A), V, 0),
    "qr_update": (*sl.qr(A), V, V),
    "clarkson_woodruff_transform": (A, 2, 0),
}

CALLS: dict[str, list[Any]] = {
    f"scipy.linalg.{name}": [(args, {}), (args[:-1] if len(args) > 1 else ("?",), {})]
    for name, args in ARGUMENTS.items()
}
CALLS["scipy.linalg.clarkson_woodruff_transform"] = [((A, 2, 0), {})]  # without a seed it draws other numbers
