"""``scipy.stats``' multivariate distributions on traced values, frozen or not, by Cholesky factors.

SciPy factorises covariances by eigenvalues; of a matrix that is positive definite the results are the same. Where
``allow_singular`` is set and a matrix is singular, eigenvalues are taken here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special as sc
from scipy import stats

from wengert.of_scipy.special.usual import multigammaln
from wengert.of_scipy.stats.frozen import PLACE, drawn, has
from wengert.ops.linalg.solutions import triangular_solve
from wengert.tracing.arguments import Traced, array, as_dtype, holds, holds_traced, unsupported
from wengert.tracing.emit import record
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original
from wengert.tracing.tracer import Tracer

LOG_2PI, LOG_PI, LOG_2 = math.log(2 * math.pi), math.log(math.pi), math.log(2)

# ------------------------------------------------------------------------------------------------------- matrices


def as_float(x: ArrayLike, near: Sequence[Any] = ()) -> Tracer:
    """``np.asarray(x, dtype=float)``, traced."""
    return as_dtype(array(x, near), np.float64)


def squeezed(x: Traced) -> Any:
    x = np.squeeze(x)
    return x[()] if x.ndim == 0 else x


def squared_matrix(x: Traced, dim: int, name: str) -> Any:
    """A covariance given as a number, a diagonal or a matrix."""
    if dim == 1:
        return x.reshape(1, 1)
    if x.ndim == 0:
        return x * np.eye(dim)
    if x.ndim == 1:
        x = np.diag(x)
    if x.ndim > 2:
        raise ValueError(f"Array '{name}' must be at most two-dimensional, but {name}.ndim = {x.ndim}")
    if x.shape[0] != x.shape[1]:
        raise ValueError(f"Array '{name}' must be square if it is two dimensional, but {name}.shape = {x.shape}.")
    if x.shape != (dim, dim):
        raise ValueError(
            f"Dimension mismatch: array '{name}' is of shape {x.shape}, but 'mean' is a vector of length {dim}."
        )
    return x


def solved(factor: Traced, b: Traced, is_transposed: bool = False) -> Any:
    """L⁻¹ b, or L⁻ᵀ b, of a lower triangular L."""
    return record(triangular_solve, (factor, b), {"lower": True, "transpose": is_transposed})


def log_det(factor: Traced) -> Any:
    """log det of L Lᵀ."""
    return 2 * np.sum(np.log(np.diagonal(factor)))


class Whitening:
    """A covariance: ``whiten`` makes rows of independent standard normal numbers of rows with this covariance."""

    def __init__(self, cov: Traced, allows_singular: bool) -> None:
        self.log_det: Any
        self.rank: Any = cov.shape[0]
        self._vectors: Any = None
        if allows_singular:
            values, vectors = np.linalg.eigh(cov)
            counts = values > 1e6 * np.finfo(float).eps * np.max(np.abs(values))  # as SciPy's _eigvalsh_to_eps
            if holds(np.all(counts)) is not True:
                safe = np.where(counts, values, 1.0)
                self.log_det = np.sum(np.where(counts, np.log(safe), 0.0))
                self.rank = np.sum(counts)
                self._vectors = vectors * np.where(counts, 1 / np.sqrt(safe), 0.0)
                return
        self._factor = np.linalg.cholesky(cov)
        self.log_det = log_det(self._factor)

    def whiten(self, rows: Traced) -> Any:
        if self._vectors is not None:
            return rows @ self._vectors
        columns = np.reshape(rows, (-1, rows.shape[-1])).T
        return np.reshape(solved(self._factor, columns).T, rows.shape)


# --------------------------------------------------------------------------------------------------------- normal


def _normal(mean: Any, cov: Any, near: Sequence[Any]) -> tuple[int, Any, Any]:
    """Dimension, mean and covariance, with SciPy's defaults and errors."""
    if hasattr(cov, "covariance"):  # an object that SciPy calls Covariance
        cov = cov.covariance
    near = (mean, cov, *near)
    cov = as_float(1.0 if cov is None else cov, near)
    if mean is None:
        dim = 1 if cov.ndim < 2 else cov.shape[0]
        mean = np.zeros(dim)
    mean = as_float(mean, near)
    dim = mean.size
    mean = mean.reshape(1) if dim == 1 else mean
    if mean.ndim != 1:
        raise ValueError(f"Array 'mean' must be a vector of length {dim}.")
    return dim, mean, squared_matrix(cov, dim, "cov")


def _rows(x: ArrayLike, dim: int, near: Sequence[Any]) -> Any:
    x = as_float(x, near)
    if x.ndim == 0:
        return x[np.newaxis]
    if x.ndim == 1:
        return x[:, np.newaxis] if dim == 1 else x[np.newaxis, :]
    return x


def _normal_log(x: Any, mean: Any, cov: Any, allow_singular: bool) -> Any:
    dim, mean_, cov_ = _normal(mean, cov, (x,))
    whitening = Whitening(cov_, allow_singular)
    square = np.sum(np.square(whitening.whiten(_rows(x, dim, (mean_, cov_)) - mean_)), axis=-1)
    return squeezed(-0.5 * (whitening.rank * LOG_2PI + whitening.log_det + square))


@intercepts(PLACE + "multivariate_normal_gen.logpdf")
def normal_logpdf(
    self: object, x: ArrayLike, mean: ArrayLike | None = None, cov: ArrayLike = 1, allow_singular: bool = False
) -> Any:
    return _normal_log(x, mean, cov, allow_singular)


@intercepts(PLACE + "multivariate_normal_gen.pdf")
def normal_pdf(
    self: object, x: ArrayLike, mean: ArrayLike | None = None, cov: ArrayLike = 1, allow_singular: bool = False
) -> Any:
    return np.exp(_normal_log(x, mean, cov, allow_singular))


@intercepts(PLACE + "multivariate_normal_gen.entropy")
def normal_entropy(self: object, mean: ArrayLike | None = None, cov: ArrayLike = 1) -> Any:
    _, _, matrix = _normal(mean, cov, ())
    whitening = Whitening(matrix, True)
    return 0.5 * (whitening.rank * (LOG_2PI + 1) + whitening.log_det)


@intercepts(PLACE + "multivariate_normal_gen.rvs")
def normal_rvs(
    self: Any, mean: ArrayLike | None = None, cov: Any = 1, size: Any = 1, random_state: object = None
) -> Any:
    """mean + z R, with the root R of the covariance that NumPy takes, √w Vᵀ of its singular values w."""
    rng = self._get_random_state(random_state)
    dim, center, matrix = _normal(mean, cov, ())
    given = getattr(cov, "covariance", cov)
    if not holds_traced(given):  # a root that is no function of what is traced
        matrix = squared_matrix(np.asarray(1.0 if given is None else given, float), dim, "cov")
    shape = (*(np.atleast_1d(size).tolist() if size or np.ndim(size) else ()), dim)
    z = drawn(rng, "multivariate_normal", "normal", size=shape)
    if hasattr(cov, "colorize") and type(cov).__name__ != "CovViaPSD":  # an object with a root of its own
        return center + cov.colorize(z)
    _, w, vt = np.linalg.svd(matrix)
    return squeezed(center + z @ (np.sqrt(w)[:, None] * vt))


def _refuses_cdf(name: str, method: str) -> None:
    @intercepts(f"{PLACE}{name}_gen.{method}")
    def refuse(*_: Any, **__: Any) -> Any:
        raise unsupported(
            f"scipy.stats.{name}.{method} of traced values: it is a sum over points that SciPy draws",
            "wg.primitive around it, with its derivative",
            *(["scipy.stats.norm, one for each coordinate, of a diagonal covariance"] if "normal" in name else []),
        )


for _name, _method in (("multivariate_normal", "cdf"), ("multivariate_normal", "logcdf"), ("multivariate_t", "cdf")):
    if hasattr(getattr(stats, _name), _method):
        _refuses_cdf(_name, _method)

# ---------------------------------------------------------------------------------------------------- Student's t


def _t_log(x: Any, loc: Any, shape: Any, df: Any) -> Any:
    if not isinstance(df, Tracer) and df == np.inf:
        return _normal_log(x, loc, shape, True)
    dim, loc_, shape_ = _normal(loc, shape, (x, df))
    whitening = Whitening(shape_, True)
    square = np.sum(np.square(whitening.whiten(_rows(x, dim, (loc_,)) - loc_)), axis=-1)
    df = as_float(1 if df is None else df, (loc_,))
    t = 0.5 * (df + dim)
    constant_part = sc.gammaln(t) - sc.gammaln(0.5 * df) - dim / 2.0 * np.log(df * math.pi) - 0.5 * whitening.log_det
    return squeezed(constant_part - t * np.log(1 + (1.0 / df) * square))


@intercepts(PLACE + "multivariate_t_gen.logpdf")
def t_logpdf(self: object, x: ArrayLike, loc: ArrayLike | None = None, shape: ArrayLike = 1, df: ArrayLike = 1) -> Any:
    return _t_log(x, loc, shape, df)


@intercepts(PLACE + "multivariate_t_gen.pdf")
def t_pdf(
    self: object,
    x: ArrayLike,
    loc: ArrayLike | None = None,
    shape: ArrayLike = 1,
    df: ArrayLike = 1,
    allow_singular: bool = False,
) -> Any:
    return np.exp(_t_log(x, loc, shape, df))


@intercepts(PLACE + "multivariate_t_gen.rvs")
def t_rvs(
    self: Any,
    loc: ArrayLike | None = None,
    shape: ArrayLike = 1,
    df: ArrayLike = 1,
    size: Any = 1,
    random_state: object = None,
) -> Any:
    rng = self._get_random_state(random_state)
    dim, center, _ = _normal(loc, shape, (df,))
    if holds_traced(df) or not np.isinf(df):
        x: Any = drawn(rng, "multivariate_t", "chisquare", df, size=size) / df
    else:
        x = np.ones(size)
    z = np.reshape(normal_rvs(self, np.zeros(dim), shape, size, rng), (*np.shape(x), dim))
    return squeezed(center + z / np.sqrt(x)[..., None])


@intercepts(PLACE + "multivariate_t_gen.entropy")
def t_entropy(self: object, loc: ArrayLike | None = None, shape: ArrayLike = 1, df: ArrayLike = 1) -> Any:
    dim, _, shape_ = _normal(None, shape, (df,))
    df = as_float(df, (shape_,))
    half, half_sum = 0.5 * df, 0.5 * (dim + df)
    by_df = sc.gammaln(half) - sc.gammaln(half_sum) + 0.5 * dim * np.log(df * math.pi)
    return by_df + half_sum * (sc.psi(half_sum) - sc.psi(half)) + 0.5 * Whitening(shape_, True).log_det


# ------------------------------------------------------------------------------------------------- matrix variates


def _matrices(x: Any, mean: Any, rows: Any, columns: Any, near: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Deviations, and the two covariances, as matrices."""
    near = (x, mean, rows, columns, *near)
    rows, columns = as_float(rows, near), as_float(columns, near)
    shape = np.shape(mean) if mean is not None else (1, 1)
    rows = squared_matrix(rows, shape[0] if rows.ndim == 0 else rows.shape[0], "rowcov")
    columns = squared_matrix(columns, shape[1] if columns.ndim == 0 else columns.shape[0], "colcov")
    if mean is not None and shape != (rows.shape[0], columns.shape[0]):
        raise ValueError("Arrays `mean` and `rowcov` must have the same number of rows.")
    x = as_float(x, near)
    if x.shape[-2:] != (rows.shape[0], columns.shape[0]):
        raise ValueError("The shape of array `X` is not compatible with the distribution parameters.")
    return (x if mean is None else x - as_float(mean, near)), rows, columns


def _white_matrix(deviation: Traced, rows: Traced, columns: Traced) -> Any:
    """R⁻¹ D C⁻ᵀ of each matrix, R and C being the factors."""
    n, m = deviation.shape[-2:]
    flat = np.reshape(deviation, (-1, n, m))
    left = np.reshape(solved(rows, np.reshape(np.moveaxis(flat, 0, 1), (n, -1))), (n, -1, m))
    right = np.reshape(solved(columns, np.reshape(np.moveaxis(left, 2, 0), (m, -1))), (m, n, -1))
    return np.reshape(np.moveaxis(right, (2, 1), (0, 1)), deviation.shape)


def _matrix_normal_log(x: Any, mean: Any, rowcov: Any, colcov: Any) -> Any:
    deviation, rows, columns = _matrices(x, mean, rowcov, colcov, ())
    n, m = deviation.shape[-2:]
    by_row, by_column = np.linalg.cholesky(rows), np.linalg.cholesky(columns)
    square = np.sum(np.square(_white_matrix(deviation, by_row, by_column)), axis=(-1, -2))
    return squeezed(-0.5 * (n * m * LOG_2PI + m * log_det(by_row) + n * log_det(by_column) + square))


@intercepts(PLACE + "matrix_normal_gen.logpdf")
def matrix_normal_logpdf(
    self: object, X: ArrayLike, mean: ArrayLike | None = None, rowcov: ArrayLike = 1, colcov: ArrayLike = 1
) -> Any:
    return _matrix_normal_log(X, mean, rowcov, colcov)


@intercepts(PLACE + "matrix_normal_gen.pdf")
def matrix_normal_pdf(
    self: object, X: ArrayLike, mean: ArrayLike | None = None, rowcov: ArrayLike = 1, colcov: ArrayLike = 1
) -> Any:
    return np.exp(_matrix_normal_log(X, mean, rowcov, colcov))


if hasattr(stats._multivariate.matrix_normal_gen, "entropy"):

    @intercepts(PLACE + "matrix_normal_gen.entropy")
    def matrix_normal_entropy(self: object, rowcov: ArrayLike = 1, colcov: ArrayLike = 1) -> Any:
        rows, columns = as_float(rowcov, (colcov,)), as_float(colcov, (rowcov,))
        n, m = rows.shape[0], columns.shape[0]
        logs = [log_det(np.linalg.cholesky(squared_matrix(c, c.shape[0], "cov"))) for c in (rows, columns)]
        return 0.5 * n * m * (1 + LOG_2PI) + 0.5 * m * logs[0] + 0.5 * n * logs[1]


def _matrix_t_log(x: Any, mean: Any, row_spread: Any, col_spread: Any, df: Any) -> Any:
    """The logarithm of the density by det(1 + Wᵀ W) of the whitened deviations W."""
    deviation, rows, columns = _matrices(x, mean, row_spread, col_spread, (df,))
    m, n = deviation.shape[-2:]
    by_row, by_column = np.linalg.cholesky(rows), np.linalg.cholesky(columns)
    white = _white_matrix(deviation, by_row, by_column)
    _, log = np.linalg.slogdet(np.eye(n) + np.swapaxes(white, -1, -2) @ white)
    df = as_float(df, (rows,))
    total: Any = -((df + m + n - 1) / 2) * log - (m * n / 2) * LOG_PI
    total = total + multigammaln((df + m + n - 1) / 2, n) - multigammaln((df + n - 1) / 2, n)
    return squeezed(total - (n / 2) * log_det(by_row) - (m / 2) * log_det(by_column))


if has("matrix_t"):

    @intercepts(PLACE + "matrix_t_gen.logpdf")
    def matrix_t_logpdf(
        self: object,
        X: ArrayLike,
        mean: ArrayLike | None = None,
        row_spread: ArrayLike = 1,
        col_spread: ArrayLike = 1,
        df: ArrayLike = 1,
    ) -> Any:
        return _matrix_t_log(X, mean, row_spread, col_spread, df)

    @intercepts(PLACE + "matrix_t_gen.pdf")
    def matrix_t_pdf(
        self: object,
        X: ArrayLike,
        mean: ArrayLike | None = None,
        row_spread: ArrayLike = 1,
        col_spread: ArrayLike = 1,
        df: ArrayLike = 1,
    ) -> Any:
        return np.exp(_matrix_t_log(X, mean, row_spread, col_spread, df))


# ------------------------------------------------------------------------------------------------------- Wishart


def _wishart_scale(df: Any, scale: Any, near: Sequence[Any]) -> tuple[int, Any, Any]:
    scale = as_float(1.0 if scale is None else scale, (df, *near))
    scale = squared_matrix(scale, 1 if scale.ndim == 0 else scale.shape[0], "scale")
    dim = scale.shape[0]
    if df is None:
        df = dim
    elif np.ndim(df):
        raise ValueError("Degrees of freedom must be a scalar.")
    elif holds(df <= dim - 1):
        raise ValueError("Degrees of freedom must be greater than the dimension of scale matrix minus 1.")
    return dim, df, scale


def _stack(x: Any, dim: int, near: Sequence[Any]) -> Any:
    """Matrices on the last axis, as a stack on the first one."""
    x = as_float(x, near)
    if x.ndim == 0:
        x = (x * np.eye(dim))[:, :, np.newaxis]
    elif x.ndim == 1:
        x = x[np.newaxis, np.newaxis, :] if dim == 1 else np.diag(x)[:, :, np.newaxis]
    elif x.ndim == 2:
        x = x[:, :, np.newaxis]
    if x.ndim > 3 or x.shape[:2] != (dim, dim):
        raise ValueError(f"Quantiles have incompatible dimensions: should be {(dim, dim)}, got {x.shape[0:2]}.")
    return np.moveaxis(x, -1, 0)


def _log_dets(factors: Traced) -> Any:
    return 2 * np.sum(np.log(np.diagonal(factors, axis1=-2, axis2=-1)), axis=-1)


def _wishart_log(x: Any, df: Any, scale: Any, is_inverse: bool) -> Any:
    dim, df_, scale_ = _wishart_scale(df, scale, (x,))
    x = _stack(x, dim, (scale_,))
    of_x, of_scale = np.linalg.cholesky(x), np.linalg.cholesky(scale_)
    df_ = as_float(df_, (scale_,))
    normaliser = 0.5 * df_ * dim * LOG_2 + multigammaln(0.5 * df_, dim)
    if is_inverse:
        white = np.linalg.solve(of_x, np.broadcast_to(of_scale, of_x.shape))
        by_x = -0.5 * np.sum(np.square(white), axis=(-1, -2)) - 0.5 * (df_ + dim + 1) * _log_dets(of_x)
        return squeezed(by_x + 0.5 * df_ * log_det(of_scale) - normaliser)
    inverse = solved(of_scale, solved(of_scale, array(np.eye(dim), (x,))), True)
    by_x = 0.5 * (df_ - dim - 1) * _log_dets(of_x) - 0.5 * np.sum(inverse.T * x, axis=(-1, -2))
    return squeezed(by_x - 0.5 * df_ * log_det(of_scale) - normaliser)


def _exists(condition: Any, value: Callable[[], Any]) -> Any:
    """A moment; None where there is none."""
    return value() if holds(condition) is not False else None


def _wishart(name: str, is_inverse: bool) -> None:
    place = f"{PLACE}{name}_gen."

    @intercepts(place + "logpdf")
    def logpdf(self: object, x: ArrayLike, df: ArrayLike, scale: ArrayLike) -> Any:
        return _wishart_log(x, df, scale, is_inverse)

    @intercepts(place + "pdf")
    def pdf(self: object, x: ArrayLike, df: ArrayLike, scale: ArrayLike) -> Any:
        return np.exp(_wishart_log(x, df, scale, is_inverse))

    @intercepts(place + "mean")
    def mean(self: object, df: ArrayLike, scale: ArrayLike) -> Any:
        dim, n, s = _wishart_scale(df, scale, ())
        if not is_inverse:
            return squeezed(n * s)
        return _exists(n > dim + 1, lambda: squeezed(s / (n - dim - 1)))

    @intercepts(place + "mode")
    def mode(self: object, df: ArrayLike, scale: ArrayLike) -> Any:
        dim, n, s = _wishart_scale(df, scale, ())
        if is_inverse:
            return squeezed(s / (n + dim + 1))
        return _exists(n >= dim + 1, lambda: squeezed((n - dim - 1) * s))

    @intercepts(place + "var")
    def var(self: object, df: ArrayLike, scale: ArrayLike) -> Any:
        dim, n, s = _wishart_scale(df, scale, ())
        outer = np.multiply.outer(np.diagonal(s), np.diagonal(s))
        if not is_inverse:
            return squeezed((s**2 + outer) * n)
        below = lambda: (n - dim) * (n - dim - 1) ** 2 * (n - dim - 3)
        return _exists(n > dim + 3, lambda: squeezed(((n - dim + 1) * s**2 + (n - dim - 1) * outer) / below()))

    @intercepts(place + "entropy")
    def entropy(self: object, df: ArrayLike, scale: ArrayLike) -> Any:
        dim, n, s = _wishart_scale(df, scale, ())
        n = as_float(n, (s,))
        log = log_det(np.linalg.cholesky(s))
        common = multigammaln(0.5 * n, dim) + 0.5 * dim * n
        digammas = np.sum(sc.psi(0.5 * (n - dim + np.arange(1.0, dim + 1))))
        if is_inverse:
            return common + 0.5 * (dim + 1) * (log - LOG_2) - 0.5 * (n + dim + 1) * digammas
        return common + 0.5 * (dim + 1) * (log + dim * LOG_2) - 0.5 * (n - dim - 1) * digammas

    @intercepts(place + "rvs")
    def rvs(self: Any, df: ArrayLike, scale: ArrayLike, size: Any = 1, random_state: object = None) -> Any:
        n, shape = self._process_size(size)
        dim, count, s = _wishart_scale(df, scale, ())
        rng = self._get_random_state(random_state)
        rows, columns = np.tril_indices(dim, k=-1)
        z = drawn(rng, name, "normal", size=(*shape, len(rows)))
        if is_inverse:
            squares = drawn(rng, name, "chisquare", count - dim + 1 + np.arange(dim), size=(*shape, dim))
        else:
            each = [drawn(rng, name, "chisquare", count - k, size=n) for k in range(dim)]
            squares = np.reshape(np.stack(each), (dim, *shape[::-1])).T
        factor = array(np.zeros((*shape, dim, dim)), (s, z, squares))
        factor[..., rows, columns] = z
        factor[..., np.arange(dim), np.arange(dim)] = np.sqrt(squares)
        root = np.linalg.cholesky(s)
        if is_inverse:
            flipped = np.linalg.solve(np.swapaxes(factor, -1, -2), np.broadcast_to(root.T, factor.shape))
            return squeezed(np.swapaxes(flipped, -1, -2) @ flipped)
        mixed = root @ factor
        return squeezed(mixed @ np.swapaxes(mixed, -1, -2))


_wishart("wishart", False)
_wishart("invwishart", True)

# --------------------------------------------------------------------------------------- Dirichlet and multinomial


def _alpha(alpha: ArrayLike, near: Sequence[Any] = ()) -> Any:
    alpha = array(alpha, near)
    if holds(np.min(alpha) <= 0):
        raise ValueError("All parameters must be greater than 0")
    if alpha.ndim != 1:
        raise ValueError(f"Parameter vector 'a' must be one dimensional, but a.shape = {alpha.shape}.")
    return alpha


def _simplex(x: ArrayLike, alpha: Traced) -> Any:
    """Points on the simplex, the last component of which may be left out; SciPy's checks, where there are values."""
    x = array(x, (alpha,))
    if x.shape[0] + 1 != alpha.shape[0] and x.shape[0] != alpha.shape[0]:
        raise ValueError(
            "Vector 'x' must have either the same number of entries as, or one entry fewer than, parameter vector "
            f"'a', but alpha.shape = {alpha.shape} and x.shape = {x.shape}."
        )
    if x.shape[0] != alpha.shape[0]:
        x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
    if holds(np.min(x) < 0):
        raise ValueError("Each entry in 'x' must be greater than or equal to zero.")
    if holds(np.max(x) > 1):
        raise ValueError("Each entry in 'x' must be smaller or equal one.")
    column = np.reshape(alpha, (-1, *[1] * (x.ndim - 1)))
    if holds(np.any((x == 0) & (column < 1))):
        raise ValueError("Each entry in 'x' must be greater than zero if its alpha is less than one.")
    if holds(np.any(np.abs(np.sum(x, axis=0) - 1.0) > 10e-10)):
        raise ValueError("The input vector 'x' must lie within the normal simplex.")
    return x


def _dirichlet_log(x: ArrayLike, alpha: ArrayLike) -> Any:
    weights = _alpha(alpha, (x,))
    points = _simplex(x, weights)
    column = np.reshape(weights, (-1, *[1] * (points.ndim - 1)))
    log_b = np.sum(sc.gammaln(weights)) - sc.gammaln(np.sum(weights))
    return squeezed(np.sum(sc.xlogy(column - 1, points), axis=0) - log_b)


@intercepts(PLACE + "dirichlet_gen.logpdf")
def dirichlet_logpdf(self: object, x: ArrayLike, alpha: ArrayLike) -> Any:
    return _dirichlet_log(x, alpha)


@intercepts(PLACE + "dirichlet_gen.pdf")
def dirichlet_pdf(self: object, x: ArrayLike, alpha: ArrayLike) -> Any:
    return np.exp(_dirichlet_log(x, alpha))


@intercepts(PLACE + "dirichlet_gen.mean")
def dirichlet_mean(self: object, alpha: ArrayLike) -> Any:
    weights = _alpha(alpha)
    return squeezed(weights / np.sum(weights))


@intercepts(PLACE + "dirichlet_gen.var")
def dirichlet_var(self: object, alpha: ArrayLike) -> Any:
    weights = _alpha(alpha)
    total = np.sum(weights)
    return squeezed((weights * (total - weights)) / ((total * total) * (total + 1)))


@intercepts(PLACE + "dirichlet_gen.cov")
def dirichlet_cov(self: object, alpha: ArrayLike) -> Any:
    weights = _alpha(alpha)
    total = np.sum(weights)
    a = weights / total
    return squeezed((np.diag(a) - np.multiply.outer(a, a)) / (total + 1))


@intercepts(PLACE + "dirichlet_gen.entropy")
def dirichlet_entropy(self: object, alpha: ArrayLike) -> Any:
    weights = _alpha(alpha)
    total = np.sum(weights)
    log_b = np.sum(sc.gammaln(weights)) - sc.gammaln(total)
    return log_b + (total - weights.shape[0]) * sc.psi(total) - np.sum((weights - 1) * sc.psi(weights))


@intercepts(PLACE + "dirichlet_gen.rvs")
def dirichlet_rvs(self: Any, alpha: ArrayLike, size: Any = 1, random_state: object = None) -> Any:
    return drawn(self._get_random_state(random_state), "dirichlet", "dirichlet", _alpha(alpha), size=size)


def _probabilities(n: Any, p: Any, near: Sequence[Any] = ()) -> tuple[Any, Any, Any]:
    """n, p, of which SciPy adjusts the last so that they sum to 1, and where they are not allowed."""
    p = as_float(p, (n, *near))
    eps = np.finfo(np.float32).eps * 10 if p.dtype == np.float32 else np.finfo(float).eps * 10
    last = 1.0 - np.sum(p[..., :-1], axis=-1)
    is_off = np.abs(1 - np.sum(p, axis=-1)) > eps
    p = np.concatenate([p[..., :-1], np.where(is_off, last, p[..., -1])[..., np.newaxis]], axis=-1)
    n = array(n, (p,))
    return n, p, (n < 0) | np.any((p < 0) | (p > 1), axis=-1)


def _multinomial_log(x: Any, n: Any, p: Any) -> Any:
    n, p, is_bad = _probabilities(n, p, (x,))
    x = array(x, (p,))
    if x.size and x.shape[-1] != p.shape[-1]:
        raise ValueError(
            f"Size of each quantile should be size of p: received {x.shape[-1]}, but expected {p.shape[-1]}."
        )
    is_out = np.any((x != np.floor(x)) | (x < 0), axis=-1) | (np.sum(x, axis=-1) != n)
    found = sc.gammaln(n + 1) + np.sum(sc.xlogy(x, p) - sc.gammaln(x + 1), axis=-1)
    return np.where(is_bad, np.nan, np.where(is_out, -np.inf, found))


@intercepts(PLACE + "multinomial_gen.logpmf")
def multinomial_logpmf(self: object, x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    return _multinomial_log(x, n, p)


@intercepts(PLACE + "multinomial_gen.pmf")
def multinomial_pmf(self: object, x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    return np.exp(_multinomial_log(x, n, p))


@intercepts(PLACE + "multinomial_gen.mean")
def multinomial_mean(self: object, n: ArrayLike, p: ArrayLike) -> Any:
    count, probabilities, is_bad = _probabilities(n, p)
    return np.where(is_bad[..., np.newaxis], np.nan, count[..., np.newaxis] * probabilities)


@intercepts(PLACE + "multinomial_gen.cov")
def multinomial_cov(self: object, n: ArrayLike, p: ArrayLike) -> Any:
    count, q, is_bad = _probabilities(n, p)
    diagonal = np.eye(q.shape[-1]) * q[..., np.newaxis, :]
    found = count[..., np.newaxis, np.newaxis] * (diagonal - q[..., :, np.newaxis] * q[..., np.newaxis, :])
    return np.where(is_bad[..., np.newaxis, np.newaxis], np.nan, found)


@intercepts(PLACE + "multinomial_gen.entropy")
def multinomial_entropy(self: object, n: ArrayLike, p: ArrayLike) -> Any:
    count, q, is_bad = _probabilities(n, p)
    x = np.arange(1.0, 1 + int(np.max(np.asarray(n))))  # a look, where n is traced
    x = np.reshape(x, (-1, *[1] * max(q.ndim, count.ndim + 1)))
    by_count = np.sum(stats.binom.pmf(x, count[..., np.newaxis], q) * sc.gammaln(x + 1), axis=(0, -1))
    found = count * np.sum(sc.entr(q), axis=-1) - sc.gammaln(count + 1) + by_count
    return np.where(is_bad, np.nan, found)


def _dirichlet_counts(alpha: Any, n: Any, x: Any = None) -> tuple[Any, Any, Any, Any]:
    near = (alpha, n) if x is None else (alpha, n, x)
    a, count = array(alpha, near), array(n, near)
    if holds(np.any(a <= 0)):
        raise ValueError("`alpha` must contain only positive values.")
    if holds(np.any((count < 0) | (count != np.floor(count)))):
        raise ValueError("`n` must be a non-negative integer.")
    if x is not None:
        x = array(x, near)
        if holds(np.any((x < 0) | (x != np.floor(x)))):
            raise ValueError("`x` must contain only non-negative integers.")
        x, a = np.broadcast_arrays(x, a)
    total, count = np.broadcast_arrays(np.sum(a, axis=-1), count)
    return a, total, count, x


if has("dirichlet_multinomial"):

    def _dirichlet_multinomial_log(x: Any, alpha: Any, n: Any) -> Any:
        a, total, count, k = _dirichlet_counts(alpha, n, x)
        found = sc.gammaln(total) + sc.gammaln(count + 1) - sc.gammaln(count + total)
        found = found + np.sum(sc.gammaln(k + a) - (sc.gammaln(a) + sc.gammaln(k + 1)), axis=-1)
        return np.where(count != np.sum(k, axis=-1), -np.inf, found)[()]

    @intercepts(PLACE + "dirichlet_multinomial_gen.logpmf")
    def dirichlet_multinomial_logpmf(self: object, x: ArrayLike, alpha: ArrayLike, n: ArrayLike) -> Any:
        return _dirichlet_multinomial_log(x, alpha, n)

    @intercepts(PLACE + "dirichlet_multinomial_gen.pmf")
    def dirichlet_multinomial_pmf(self: object, x: ArrayLike, alpha: ArrayLike, n: ArrayLike) -> Any:
        return np.exp(_dirichlet_multinomial_log(x, alpha, n))

    @intercepts(PLACE + "dirichlet_multinomial_gen.mean")
    def dirichlet_multinomial_mean(self: object, alpha: ArrayLike, n: ArrayLike) -> Any:
        a, total, count, _ = _dirichlet_counts(alpha, n)
        return count[..., np.newaxis] * a / total[..., np.newaxis]

    @intercepts(PLACE + "dirichlet_multinomial_gen.var")
    def dirichlet_multinomial_var(self: object, alpha: ArrayLike, n: ArrayLike) -> Any:
        a, total, count, _ = _dirichlet_counts(alpha, n)
        count, total = count[..., np.newaxis], total[..., np.newaxis]
        return count * a / total * (1 - a / total) * (count + total) / (1 + total)

    @intercepts(PLACE + "dirichlet_multinomial_gen.cov")
    def dirichlet_multinomial_cov(self: object, alpha: ArrayLike, n: ArrayLike) -> Any:
        a, total, count, _ = _dirichlet_counts(alpha, n)
        count, total = count[..., np.newaxis, np.newaxis], total[..., np.newaxis, np.newaxis]
        share = a / total[..., 0]
        diagonal = np.eye(a.shape[-1]) * share[..., np.newaxis, :]
        both = share[..., :, np.newaxis] * share[..., np.newaxis, :]
        return count * (diagonal - both) * (count + total) / (1 + total)


# -------------------------------------------------------------------------- von Mises and Fisher, normal and gamma


def _direction(mu: Any, kappa: Any, near: Sequence[Any] = ()) -> tuple[int, Any, Any]:
    mu = as_float(mu, (kappa, *near))
    if mu.ndim > 1:
        raise ValueError("'mu' must have one-dimensional shape.")
    if holds(np.abs(np.sum(mu * mu) - 1.0) > 3e-5):
        raise ValueError("'mu' must be a unit vector of norm 1.")
    if not mu.size > 1:
        raise ValueError("'mu' must have at least two entries.")
    kappa = as_float(kappa, (mu,))
    if kappa.ndim or holds(kappa < 0):
        raise ValueError("'kappa' must be a positive scalar.")
    return mu.size, mu, kappa


def _fisher_norm(dim: int, kappa: Traced) -> Any:
    return 0.5 * (dim - 2) * np.log(kappa) - 0.5 * dim * LOG_2PI - np.log(sc.ive(0.5 * dim - 1, kappa)) - kappa


def _fisher_log(x: Any, mu: Any, kappa: Any) -> Any:
    dim, center, k = _direction(mu, kappa, (x,))
    x = as_float(x, (center,))
    if x.shape[-1] != dim:
        raise ValueError(
            "The dimensionality of the last axis of 'x' must match the dimensionality of the "
            "von Mises Fisher distribution."
        )
    if holds(np.any(np.abs(np.sum(x * x, axis=-1) - 1.0) > 3e-5)):
        raise ValueError("'x' must be unit vectors of norm 1 along last dimension.")
    return _fisher_norm(dim, k) + k * (x @ center)


if has("vonmises_fisher"):

    @intercepts(PLACE + "vonmises_fisher_gen.logpdf")
    def vonmises_fisher_logpdf(self: object, x: ArrayLike, mu: ArrayLike | None = None, kappa: ArrayLike = 1) -> Any:
        return _fisher_log(x, mu, kappa)

    @intercepts(PLACE + "vonmises_fisher_gen.pdf")
    def vonmises_fisher_pdf(self: object, x: ArrayLike, mu: ArrayLike | None = None, kappa: ArrayLike = 1) -> Any:
        return np.exp(_fisher_log(x, mu, kappa))

    @intercepts(PLACE + "vonmises_fisher_gen.rvs")
    def vonmises_fisher_rvs(
        self: object, mu: Any = None, kappa: ArrayLike = 1, size: Any = 1, random_state: object = None
    ) -> Any:
        """SciPy's own code, which draws by the inverse of the distribution function on the sphere alone."""
        if holds_traced(mu) or np.size(mu) != 3:
            raise unsupported(
                "scipy.stats.vonmises_fisher.rvs of traced parameters: SciPy turns the numbers by a factor of a "
                "singular matrix, and draws them by rejection, unless they are of three dimensions",
                "a traced kappa, and a constant mu, of three dimensions",
            )
        return original(stats._multivariate.vonmises_fisher_gen.rvs)(self, mu, kappa, size, random_state)

    @intercepts(PLACE + "vonmises_fisher_gen.entropy")
    def vonmises_fisher_entropy(self: object, mu: ArrayLike | None = None, kappa: ArrayLike = 1) -> Any:
        dim, _, k = _direction(mu, kappa)
        return -_fisher_norm(dim, k) - k * sc.ive(0.5 * dim, k) / sc.ive(0.5 * dim - 1, k)


def _gamma_parameters(*given: Any) -> tuple[list[Any], Any]:
    args = np.broadcast_arrays(*[array(x, given) for x in given])
    dtype = np.result_type(1.0, *[x.dtype for x in args])
    args = [as_dtype(x, dtype) for x in args]
    return list(args), (args[-3] > 0) & (args[-2] > 0) & (args[-1] > 0)


if has("normal_inverse_gamma"):

    def _normal_inverse_gamma_log(x: Any, s2: Any, mu: Any, lmbda: Any, a: Any, b: Any) -> Any:
        (x, s2, mu, lmbda, a, b), is_valid = _gamma_parameters(x, s2, mu, lmbda, a, b)
        found = 0.5 * (np.log(lmbda) - np.log(2 * math.pi * s2)) + a * np.log(b) - sc.gammaln(a)
        found = found - (a + 1) * np.log(s2) - (2 * b + lmbda * (x - mu) ** 2) / (2 * s2)
        return np.where(is_valid, np.where(s2 <= 0, -np.inf, found), np.nan)[()]

    @intercepts(PLACE + "normal_inverse_gamma_gen.logpdf")
    def normal_inverse_gamma_logpdf(
        self: object,
        x: ArrayLike,
        s2: ArrayLike,
        mu: ArrayLike = 0,
        lmbda: ArrayLike = 1,
        a: ArrayLike = 1,
        b: ArrayLike = 1,
    ) -> Any:
        return _normal_inverse_gamma_log(x, s2, mu, lmbda, a, b)

    @intercepts(PLACE + "normal_inverse_gamma_gen.pdf")
    def normal_inverse_gamma_pdf(
        self: object,
        x: ArrayLike,
        s2: ArrayLike,
        mu: ArrayLike = 0,
        lmbda: ArrayLike = 1,
        a: ArrayLike = 1,
        b: ArrayLike = 1,
    ) -> Any:
        return np.exp(_normal_inverse_gamma_log(x, s2, mu, lmbda, a, b))

    @intercepts(PLACE + "normal_inverse_gamma_gen.mean")
    def normal_inverse_gamma_mean(
        self: object, mu: ArrayLike = 0, lmbda: ArrayLike = 1, a: ArrayLike = 1, b: ArrayLike = 1
    ) -> Any:
        (m, _, shape, rate), is_valid = _gamma_parameters(mu, lmbda, a, b)
        is_valid = is_valid & (shape > 1)
        return np.where(is_valid, m, np.nan)[()], np.where(is_valid, rate / (shape - 1), np.nan)[()]

    @intercepts(PLACE + "normal_inverse_gamma_gen.var")
    def normal_inverse_gamma_var(
        self: object, mu: ArrayLike = 0, lmbda: ArrayLike = 1, a: ArrayLike = 1, b: ArrayLike = 1
    ) -> Any:
        (_, precision, shape, rate), is_valid = _gamma_parameters(mu, lmbda, a, b)
        of_x = np.where(is_valid & (shape > 1), rate / ((shape - 1) * precision), np.nan)
        of_s2 = np.where(is_valid & (shape > 2), rate**2 / ((shape - 1) ** 2 * (shape - 2)), np.nan)
        return of_x[()], of_s2[()]
