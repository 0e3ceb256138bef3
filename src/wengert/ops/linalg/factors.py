"""LU factors of a matrix, computed once for its solutions, inverse and determinant.

``solve``, ``inv`` and ``slogdet`` expand to these ops on their way to kernels, where equal ones are merged. No
derivative is taken of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.ops.elementwise import real_dtype
from wengert.ops.kernels import Routine
from wengert.ops.linalg.matrices import batch_all, cubic, square
from wengert.ops.op import Op, not_implemented, op
from wengert.tape import Atom, Aval

PIVOTS = np.dtype(np.intc)


def is_factored(x: Atom) -> bool:
    """Whether there are kernels for the factors of ``x``."""
    return x.aval.dtype.char in "fdFD"


def _each(f: Callable[..., Any], dtypes: tuple[Any, ...], *stacks: Any) -> tuple[Any, ...]:
    """Apply ``f`` to each matrix of the stacks, whose leading axes are the same."""
    lead = stacks[0].shape[:-2]
    results = [f(*[x[k] for x in stacks]) for k in np.ndindex(lead)]
    return tuple(
        np.array([r[k] for r in results], dtype).reshape(*lead, *np.shape(results[0][k]))
        for k, dtype in enumerate(dtypes)
    )


def _factors_type(x: Aval) -> tuple[Aval, Aval]:
    square("lu", x)
    return x, Aval(x.shape[:-1], PIVOTS)


def _factors(x: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    if not x.size:
        return np.zeros(x.shape, x.dtype), np.zeros(x.shape[:-1], PIVOTS)
    getrf = _lapack("getrf", x)
    return _each(lambda a: (lambda lu, pivots, info: (lu.T, pivots + 1))(*getrf(a)), (x.dtype, PIVOTS), x)


def _lapack(name: str, x: np.ndarray[Any, Any]) -> Any:
    from scipy.linalg import get_lapack_funcs  # heavy to import, and needed only here

    return get_lapack_funcs(name, dtype=x.dtype)


def _check_regular(factors: np.ndarray[Any, Any]) -> None:
    if (np.diagonal(factors, axis1=-2, axis2=-1) == 0).any():
        raise np.linalg.LinAlgError("Singular matrix")


def _solutions(
    factors: np.ndarray[Any, Any], pivots: np.ndarray[Any, Any], b: np.ndarray[Any, Any], *, transpose: bool
) -> Any:
    if not b.size:
        return np.zeros(b.shape, b.dtype)
    _check_regular(factors)
    getrs = _lapack("getrs", b)
    one = lambda lu, p, b: (getrs(lu.T, p[..., 0] - 1, b, trans=int(transpose))[0],)
    return _each(one, (b.dtype,), factors, pivots[..., None], b)[0]


def _inverses(factors: Any, pivots: Any) -> Any:
    one = np.broadcast_to(np.eye(factors.shape[-1], dtype=factors.dtype), factors.shape)
    return _solutions(factors, pivots, one, transpose=False)


def _determinants(factors: Any, pivots: Any) -> tuple[Any, Any]:
    diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
    exchanges = np.sum(pivots != np.arange(1, pivots.shape[-1] + 1), axis=-1)
    sign = np.prod(np.sign(diagonal), axis=-1) * (1 - 2 * (exchanges % 2))
    with np.errstate(divide="ignore"):
        logarithm = np.sum(np.log(np.abs(diagonal)), axis=-1)
    return np.asarray(sign, factors.dtype), np.asarray(logarithm, real_dtype(factors.dtype))


def _of_factors(
    reference: Callable[..., Any], name: str, type: Callable[..., Any], routine: str, cost: Callable[..., Any]
) -> Op:
    made: Op = op(
        reference,
        name=name,
        type=type,
        kernel=Routine(f"lapack.{routine}", takes_complex=True),
        cost=cost,
        pushforward=not_implemented("factors are made when all derivatives have been taken"),
        pullback=[not_implemented("factors are made when all derivatives have been taken")],
        is_variadic=True,
        batch=lambda xs, batched, size, **params: made(*batch_all(xs, batched, size), **params),
    )
    return made


lu = _of_factors(_factors, "lu", _factors_type, "getrf", cubic(2 / 3))  # of x float[..., n, n]: the factors of P L U, L
# without its diagonal of ones, as float[..., n, n] transposed, and the row exchanged with each, from 1: int[..., n]
lu_solve = _of_factors(
    _solutions, "lu_solve", lambda factors, pivots, b, *, transpose: b, "getrs", cubic(0, per_column=2)
)
lu_inv = _of_factors(_inverses, "lu_inv", lambda factors, pivots: factors, "getri", cubic(4 / 3))
lu_slogdet = _of_factors(
    _determinants,
    "lu_slogdet",
    lambda factors, pivots: tuple(Aval(factors.shape[:-2], d) for d in (factors.dtype, real_dtype(factors.dtype))),
    "slogdet",
    cubic(0, per_column=1),
)
