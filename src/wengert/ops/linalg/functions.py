"""Functions of matrices: the exponential, the logarithm, powers, the square root, the sign.

The derivative of a function f at x in the direction e, Fréchet's, is a block of the function of a larger matrix,

    f([[x, e], [0, x]]) = [[f(x), L(x, e)], [0, f(x)]]

which holds for defective matrices too. L is linear in e, and its adjoint is L(xᵀ, ·), without a conjugate here. So both
rules are the function itself, and all orders of derivatives follow. Where there is a cheaper way, it is taken.

Source: Higham (2008), Functions of Matrices, sections 3.2 and 3.3; Al-Mohy & Higham (2009), Computing the Fréchet
derivative of the matrix exponential, SIAM J. Matrix Anal. Appl. 30:4.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.ops.contract import matmul
from wengert.ops.elementwise import absolute, cast, complex_dtype, imag, less_equal, real, select
from wengert.ops.index import slice_axis
from wengert.ops.linalg.equations import sylvester
from wengert.ops.linalg.matrices import (
    batch_all,
    cubic,
    rounding,
    same_type,
    square,
    swap,
    times_matrix,
    trace_of_product,
)
from wengert.ops.linalg.spectra import eig
from wengert.ops.linalg.stacks import Array, over_stack, scipy_linalg
from wengert.ops.op import op
from wengert.ops.reduce import any_
from wengert.ops.shape import concatenate, reshape, zeros
from wengert.tape import Atom, Aval, Lit


def block(x: Atom, e: Atom) -> Any:
    """[[x, e], [0, x]]."""
    n = x.aval.ndim
    above = concatenate(x, e, axis=n - 1)
    return concatenate(above, concatenate(zeros(e.aval), x, axis=n - 1), axis=n - 2)


def corner(y: Atom) -> Any:
    """The block above the diagonal, L, of f([[x, e], [0, x]])."""
    n, ndim = y.aval.shape[-1] // 2, y.aval.ndim
    return slice_axis(slice_axis(y, ndim - 2, 0, n), ndim - 1, n, n)


# ------------------------------------------------------------------------------------------------- the exponential


def _expm_reference(x: Array) -> Any:
    return scipy_linalg().expm(x) if x.size else np.zeros(x.shape, x.dtype)


expm = op(
    _expm_reference,
    name="expm",
    type=same_type("expm"),
    cost=cubic(30),
    pushforward=lambda xs, dxs, y: expm_frechet(xs[0], dxs[0], method="SPS"),
    pullback=[lambda ct, x, y: expm_frechet(swap(x), ct, method="SPS")],
    batch=lambda xs, batched, size: expm(xs[0]),
)


def _frechet_type(x: Aval, e: Aval, *, method: str) -> Aval:
    square("expm_frechet", x)
    return e


def _frechet_one(x: Array, e: Array, *, method: str) -> Any:
    return scipy_linalg().expm_frechet(x, e, method=method, compute_expm=False, check_finite=False)


def _second(x: Atom, e: Atom, dx: Atom) -> Any:
    """The derivative of L(x, e) in x along dx: L([[x, dx], [0, x]], [[e, 0], [0, e]]), its block above the diagonal.
    It is symmetric in e and dx. Source: Higham & Relton (2014), Higher order Fréchet derivatives of matrix functions,
    SIAM J. Matrix Anal. Appl. 35:3."""
    return corner(expm_frechet(block(x, dx), block(e, zeros(e.aval)), method="SPS"))


def frechet_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, *, method: str) -> Any:
    (x, e), (dx, de) = xs, dxs
    along_x = None if dx is None else _second(x, e, dx)
    along_e = None if de is None else expm_frechet(x, de, method=method)
    if along_x is None or along_e is None:
        return along_e if along_x is None else along_x
    return along_x + along_e


expm_frechet = op(  # the derivative of expm at x in the direction e
    over_stack(_frechet_one, _frechet_type),
    name="expm_frechet",
    type=_frechet_type,
    cost=cubic(90),
    pushforward=frechet_pushforward,
    pullback=[
        lambda ct, x, e, y, *, method: _second(swap(x), swap(e), ct),
        lambda ct, x, e, y, *, method: expm_frechet(swap(x), ct, method=method),
    ],
    batch=lambda xs, batched, size, **params: expm_frechet(*batch_all(xs, batched, size), **params),
)


# ------------------------------------------------------------------- logarithm and powers: complex, of real x too


def _complex_type(x: Aval, *others: Aval) -> Aval:
    square("logm", x)
    return Aval(x.shape, complex_dtype(x.dtype))


def _logm_one(x: Array) -> Any:
    with (
        warnings.catch_warnings()
    ):  # that it may be inaccurate is an estimate, and x is a block of a derivative perhaps
        warnings.simplefilter("ignore", RuntimeWarning)
        return scipy_linalg().logm(x)


def _in_complex(x: Atom, like: Atom) -> Any:
    return cast(x, like.aval.dtype)


def _off_the_cut(x: Atom) -> Any:
    """1 for each matrix, as float[..., 1, 1], or NaN if an eigenvalue is 0 or negative.

    There the principal logarithm jumps, and which branch a routine takes for each eigenvalue of a block is decided by
    rounding. A factor NaN, and no selection, so that the derivatives of the derivative are NaN too.
    """
    if x.aval.size == 0:
        return Lit(1, x.aval.dtype)
    w = eig(x)[0]
    size = reshape(rounding(x), shape=(*w.aval.shape[:-1], 1))
    on_cut = any_(less_equal(real(w), size) & less_equal(absolute(imag(w)), size), axis=(w.aval.ndim - 1,))
    on_cut = reshape(on_cut, shape=(*on_cut.aval.shape, 1, 1))
    return select(on_cut, Lit(np.nan, x.aval.dtype), Lit(1, x.aval.dtype))


def _of_logarithm(x: Atom, e: Atom) -> Any:
    """L(x, e) of the logarithm."""
    return _in_complex(_off_the_cut(x), e) * corner(logm(block(x, e)))


def logm_pullback(ct: Atom, x: Atom, y: Atom) -> Any:
    return _of_logarithm(_in_complex(swap(x), y), ct)


logm = op(  # the principal logarithm
    over_stack(_logm_one, _complex_type),
    name="logm",
    type=_complex_type,
    cost=cubic(100),
    pushforward=lambda xs, dxs, y: _of_logarithm(_in_complex(xs[0], y), _in_complex(dxs[0], y)),
    pullback=[logm_pullback],
    batch=lambda xs, batched, size: logm(xs[0]),
)


def _power_one(x: Array, t: Array) -> Any:
    return scipy_linalg().fractional_matrix_power(x, float(t))


def _times(t: Atom, x: Atom) -> Any:
    return times_matrix(_in_complex(t, x), x)


def power_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom) -> Any:
    """The derivative of exp(t log x): the exponential's at t log x, in the direction t L(x, ẋ) + ṫ log x, L the
    logarithm's. SciPy's logarithm takes a tenth of the time of its power."""
    (x, t), (dx, dt) = xs, dxs
    log_x = logm(x)
    direction: Any = None
    if dx is not None:
        direction = _times(t, _of_logarithm(_in_complex(x, y), _in_complex(dx, y)))
    if dt is not None:
        by_t = _times(dt, log_x)
        direction = by_t if direction is None else direction + by_t
    return expm_frechet(_times(t, log_x), direction, method="SPS")


def power_pullback_x(ct: Atom, x: Atom, t: Atom, y: Atom) -> Any:
    of_log = _times(t, expm_frechet(swap(_times(t, logm(x))), ct, method="SPS"))
    return _of_logarithm(_in_complex(swap(x), y), of_log)


def power_pullback_t(ct: Atom, x: Atom, t: Atom, y: Atom) -> Any:
    """t̄ = tr(ȳᵀ y log x)."""
    return trace_of_product(ct, matmul(y, logm(x)))


matrix_power = op(  # x to the power t, a number for each matrix
    over_stack(_power_one, _complex_type, (2, 0)),
    name="matrix_power",
    type=_complex_type,
    cost=lambda x, t: 100.0 * x.size * x.shape[-1],
    pushforward=power_pushforward,
    pullback=[power_pullback_x, power_pullback_t],
    batch=lambda xs, batched, size: matrix_power(*batch_all(xs, batched, size)),
)


# ---------------------------------------------------------------------------------------------- square root, sign


def _sqrtm_one(x: Array) -> Any:
    return scipy_linalg().sqrtm(x)


def sqrtm_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Atom) -> Any:
    """y ẏ + ẏ y = ẋ. Source: Higham (2008), equation 6.3."""
    return sylvester(y, y, _in_complex(dxs[0], y), perturbs=False)


sqrtm = op(  # the principal square root
    over_stack(_sqrtm_one, _complex_type),
    name="sqrtm",
    type=_complex_type,
    cost=cubic(30),
    pushforward=sqrtm_pushforward,
    pullback=[lambda ct, x, y: sylvester(swap(y), swap(y), ct, perturbs=False)],
    batch=lambda xs, batched, size: sqrtm(xs[0]),
)


def _signm_one(x: Array) -> Any:
    return scipy_linalg().signm(x)


def _of_sign(x: Atom, y: Atom, e: Atom) -> Any:
    """L with n L + L n = e − y e y, n = x y, which is the root of x². Source: Higham (2008), theorem 5.7."""
    n = matmul(x, y)
    return sylvester(n, n, e - matmul(y, matmul(e, y)), perturbs=False)


signm = op(  # the matrix with the signs of the real parts of the eigenvalues for the eigenvalues
    over_stack(_signm_one, same_type("signm")),
    name="signm",
    type=same_type("signm"),
    cost=cubic(60),
    pushforward=lambda xs, dxs, y: _of_sign(xs[0], y, dxs[0]),
    pullback=[lambda ct, x, y: _of_sign(swap(x), swap(y), ct)],
    batch=lambda xs, batched, size: signm(xs[0]),
)
