"""Ops of linear algebra, on stacks of matrices: factorisations, solutions, inverses, determinants.

Every op works on the last two axes; leading axes are a stack, so a batch is one more of them. Singular matrices raise
``numpy.linalg.LinAlgError`` when the op runs, as in NumPy.

Source, unless a rule names another: Giles (2008), Collected matrix derivative results for forward and
reverse mode algorithmic differentiation. A bar means cotangent, a dot tangent.

One formula holds for real and complex matrices, with ᴴ for the adjoint, of real ones the transpose. In the literature
a cotangent x̄ is paired by Re tr(x̄ᴴ ẋ), here by Re tr(x̄ᵀ ẋ), without a conjugate: ours is the conjugate of theirs. So
where the literature has x̄ = f(y, ȳ), a pullback returns f(conj y, ȳ): its formula, with y for the conjugate of y.
"""

from wengert.ops.linalg.determinants import cofactor, cofactor_along, det, slogdet
from wengert.ops.linalg.factorisations import cholesky, qr
from wengert.ops.linalg.roots import roots
from wengert.ops.linalg.solutions import inv, pinv, solve, triangular_solve
from wengert.ops.linalg.sparse import sparse_matmul, sparse_sampled, sparse_solve, superlu_solve
from wengert.ops.linalg.spectra import eig, eigh, svd

__all__ = [
    "cholesky",
    "cofactor",
    "cofactor_along",
    "det",
    "eig",
    "eigh",
    "inv",
    "pinv",
    "qr",
    "roots",
    "slogdet",
    "solve",
    "sparse_matmul",
    "sparse_sampled",
    "sparse_solve",
    "superlu_solve",
    "svd",
    "triangular_solve",
]
