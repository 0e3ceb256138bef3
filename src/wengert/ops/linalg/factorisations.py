"""Factorisations of matrices.

``cholesky`` reads one triangle of a matrix that is symmetric by promise. Its tangents are symmetric
likewise (what is given is made so), and its cotangents are the symmetric ones: the change of the result
when the matrix moves among the symmetric matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.ops.contract import matmul
from wengert.ops.kernels import Call
from wengert.ops.linalg.matrices import cubic, real_only, same_type, swap, triangle
from wengert.ops.linalg.solutions import triangular_solve
from wengert.ops.op import op
from wengert.tape import Atom


@real_only
def cholesky_pushforward(xs: Any, dxs: Any, y: Atom) -> Any:
    """ẏ = y Φ(y⁻¹ ẋ y⁻ᵀ), Φ(A) = tril(A) with its diagonal halved, ẋ made symmetric.

    Source: Murray (2016), Differentiation of the Cholesky decomposition, arXiv:1602.07527, equation 8.
    """
    dx = 0.5 * (dxs[0] + swap(dxs[0]))
    left = triangular_solve(y, dx, lower=True, transpose=False)  # y⁻¹ ẋ
    both = triangular_solve(y, swap(left), lower=True, transpose=False)  # y⁻¹ (y⁻¹ ẋ)ᵀ = y⁻¹ ẋ y⁻ᵀ
    return matmul(y, triangle(both, True, diagonal=0.5))


@real_only
def cholesky_pullback(ct: Atom, x: Atom, y: Atom) -> Any:
    """Cotangent of ``x`` for ``y = cholesky(x)``.

    x, y, ct : float[..., n, n]; y lower triangular, of ct only the lower triangle counts.
    Returns float[..., n, n], symmetric.

        x̄ = (S + Sᵀ) / 2,   S = y⁻ᵀ Φ(yᵀ ȳ) y⁻¹,   Φ(A) = tril(A) with its diagonal halved

    Costs two triangular solves and one product: 4n³ flops.
    Source: Murray (2016), Differentiation of the Cholesky decomposition, arXiv:1602.07527.
    """
    phi = triangle(matmul(swap(y), triangle(ct, True)), True, diagonal=0.5)
    left = triangular_solve(y, phi, lower=True, transpose=True)  # y⁻ᵀ Φ
    s = triangular_solve(y, swap(left), lower=True, transpose=True)  # y⁻ᵀ (y⁻ᵀ Φ)ᵀ = Sᵀ
    return 0.5 * (s + swap(s))


cholesky = op(  # the lower triangular y with y yᵀ = x; reads the lower triangle of x
    lambda x: np.linalg.cholesky(x),
    name="cholesky",
    type=same_type("cholesky"),
    kernel=Call("lapack.potrf"),
    cost=cubic(1 / 3),
    pushforward=cholesky_pushforward,
    pullback=[cholesky_pullback],
    batch=lambda xs, batched, size: cholesky(xs[0]),
)
