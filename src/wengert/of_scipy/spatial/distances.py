"""``scipy.spatial.distance`` on traced arrays: every metric is one formula, of vectors and of stacks of them.

At distance 0 a metric that is a root has the derivative 0, as ``np.linalg.norm`` has: docs/kinks.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.spatial import distance

from wengert.errors import ConcretizationError
from wengert.of_scipy.version import SCIPY
from wengert.tracing.arguments import (
    Out,
    Traced,
    array,
    as_dtype,
    constant,
    holds,
    inexact,
    into,
    is_traced,
    trace_near,
    unsupported,
)
from wengert.tracing.interception.asking import AT_FUNCTIONS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

import wengert as wg  # isort: skip

Weights = Traced | None
PLACE = "scipy.spatial.distance"

# ---------------------------------------------------------------------------------------------------- the formulas
# Each takes vectors along the last axis, and whatever the metric's keywords are.


def root(x: Traced) -> Any:
    """√x, with the derivative 0 at 0."""
    is_zero = x == 0
    return np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, x)))


def quotient(x: Traced, y: Traced) -> Any:
    """x / y, and 0 where y is 0."""
    is_zero = y == 0
    return np.where(is_zero, 0.0, x / np.where(is_zero, 1.0, y))


def weighted_sum(x: Traced, w: Weights) -> Any:
    return np.sum(x if w is None else w * x, axis=-1)


def power_sum(x: Traced, p: float | Traced, w: Weights = None) -> Any:
    """Σ w |x|ᵖ. The derivative at x = 0 is 0, in p too."""
    size = np.abs(x)
    is_zero = size == 0
    return weighted_sum(np.where(is_zero, 0.0, np.where(is_zero, 1.0, size) ** p), w)


def by_minkowski(u: Traced, v: Traced, p: float | Traced = 2, w: Weights = None) -> Any:
    if is_traced(p):
        total = power_sum(u - v, p, w)
        is_zero = total == 0
        return np.where(is_zero, 0.0, np.where(is_zero, 1.0, total) ** (1 / p))
    p = float(p)
    if p <= 0:
        raise ValueError("p must be greater than 0")
    if p == 1:
        return by_cityblock(u, v, w)
    if p == np.inf:
        return np.max(np.abs(u - v) if w is None else (w != 0) * np.abs(u - v), axis=-1)
    if p == 2:
        return np.linalg.norm(u - v if w is None else root(w) * (u - v), axis=-1)
    total = power_sum(u - v, p, w)
    is_zero = total == 0
    return np.where(is_zero, 0.0, np.where(is_zero, 1.0, total) ** (1 / p))


def by_euclidean(u: Traced, v: Traced, w: Weights = None) -> Any:
    return by_minkowski(u, v, 2, w)


def by_sqeuclidean(u: Traced, v: Traced, w: Weights = None) -> Any:
    return weighted_sum((u - v) ** 2, w)


def by_seuclidean(u: Traced, v: Traced, V: Any) -> Any:  # SciPy's name
    return root(weighted_sum((u - v) ** 2, 1 / V))


def by_cityblock(u: Traced, v: Traced, w: Weights = None) -> Any:
    return weighted_sum(np.abs(u - v), w)


def by_chebyshev(u: Traced, v: Traced, w: Weights = None) -> Any:
    return np.max(np.abs(u - v) if w is None else (w > 0) * np.abs(u - v), axis=-1)


def by_mahalanobis(u: Traced, v: Traced, VI: Any) -> Any:  # SciPy's name
    delta = u - v
    return root(np.sum(delta @ VI * delta, axis=-1))


def by_correlation(u: Traced, v: Traced, w: Weights = None, centered: bool = True) -> Any:
    if w is not None:
        w = w / np.sum(w)
    if centered:
        u, v = [x - (np.mean(x, axis=-1) if w is None else np.sum(w * x, axis=-1))[..., None] for x in (u, v)]
    uv, uu, vv = weighted_sum(u * v, w), weighted_sum(u * u, w), weighted_sum(v * v, w)
    return np.clip(1 - uv / np.sqrt(uu * vv), 0, 2)


def by_cosine(u: Traced, v: Traced, w: Weights = None) -> Any:
    return by_correlation(u, v, w, centered=False)


def by_braycurtis(u: Traced, v: Traced, w: Weights = None) -> Any:
    return weighted_sum(np.abs(u - v), w) / weighted_sum(np.abs(u + v), w)


def by_canberra(u: Traced, v: Traced, w: Weights = None) -> Any:
    return weighted_sum(quotient(np.abs(u - v), np.abs(u) + np.abs(v)), w)


def by_jensenshannon(u: Traced, v: Traced, base: float | Traced | None = None, w: Weights = None) -> Any:
    p, q = [x / np.sum(x, axis=-1)[..., None] for x in (u, v)]
    m = (p + q) / 2
    js = np.sum(special.rel_entr(p, m) + special.rel_entr(q, m), axis=-1)
    return root((js if base is None else js / np.log(base)) / 2)


def by_hamming(u: Traced, v: Traced, w: Weights = None) -> Any:
    return np.mean(u != v, axis=-1) if w is None else np.sum((u != v) * (w / np.sum(w)), axis=-1)


def by_jaccard(u: Traced, v: Traced, w: Weights = None) -> Any:
    u, v = u != 0, v != 0
    return quotient(weighted_sum(1.0 * (u ^ v), w), weighted_sum(1.0 * (u | v), w))


def counted(u: Traced, v: Traced, w: Weights) -> tuple[Any, Any, Any]:
    """How many are true in both, in one alone, in none: sums of products, so that numbers may be more than truths."""
    u, v = 1.0 * u, 1.0 * v
    one = weighted_sum((1 - u) * v, w) + weighted_sum(u * (1 - v), w)
    return weighted_sum(u * v, w), one, weighted_sum((1 - u) * (1 - v), w)


def by_dice(u: Traced, v: Traced, w: Weights = None) -> Any:
    both, one, _ = counted(u, v, w)
    return one / (2 * both + one)


def by_rogerstanimoto(u: Traced, v: Traced, w: Weights = None) -> Any:
    both, one, none = counted(u, v, w)
    return 2 * one / (both + none + 2 * one)


def by_russellrao(u: Traced, v: Traced, w: Weights = None) -> Any:
    n = 1.0 * np.shape(u)[-1] if w is None else np.sum(w)
    return (n - counted(u, v, w)[0]) / n


def by_sokalsneath(u: Traced, v: Traced, w: Weights = None) -> Any:
    both, one, _ = counted(u, v, w)
    return 2 * one / (both + 2 * one)


def by_yule(u: Traced, v: Traced, w: Weights = None) -> Any:
    both, _, none = counted(u, v, w)
    half = weighted_sum((1 - 1.0 * u) * v, w) * weighted_sum(1.0 * u * (1 - 1.0 * v), w)
    return quotient(2 * half, both * none + half)


METRICS: dict[str, Callable[..., Any]] = {
    name.removeprefix("by_"): f for name, f in [*globals().items()] if name.startswith("by_")
}
OF_TRUTHS = ("rogerstanimoto", "russellrao", "sokalsneath", "yule")
"""Metrics of truths, into which ``cdist`` and ``pdist`` convert what they get. Of dice they take the numbers."""

ALIASES = {
    "chebychev": "chebyshev", "cheby": "chebyshev", "cheb": "chebyshev", "ch": "chebyshev", "cblock": "cityblock",
    "cb": "cityblock", "c": "cityblock", "co": "correlation", "cos": "cosine", "euclid": "euclidean",
    "eu": "euclidean", "e": "euclidean", "matching": "hamming", "hamm": "hamming", "ha": "hamming", "h": "hamming",
    "jacc": "jaccard", "ja": "jaccard", "j": "jaccard", "js": "jensenshannon", "mahal": "mahalanobis",
    "mah": "mahalanobis", "mi": "minkowski", "m": "minkowski", "pnorm": "minkowski", "se": "seuclidean",
    "s": "seuclidean", "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
}  # fmt: skip
"""SciPy's other names of metrics."""

# ---------------------------------------------------------------------------------------------------- two vectors


def vector(x: ArrayLike) -> Tracer:
    found = array(x)
    if found.ndim != 1:
        raise ValueError("Input vector should be 1-D.")
    return found


def weights(w: ArrayLike, n: int | None = None) -> Any:
    found = as_dtype(vector(w), np.float64)
    if n is not None and found.shape[0] != n:
        raise ValueError(f"Weights must have same size as input vector. {found.shape[0]} vs. {n}")
    if holds(np.any(found < 0)):
        raise ValueError("Input weights should be all non-negative")
    return found


IS_NEWER = SCIPY > (1, 17)
OF_STACKS = ("euclidean", "sqeuclidean", "minkowski") if IS_NEWER else ()
"""The metrics that take stacks of vectors: none before SciPy 1.18."""


def _of_two(name: str) -> Callable[..., Any]:
    formula = METRICS[name]

    def metric(u: ArrayLike, v: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(list(inspect.signature(formula).parameters)[2:], args, strict=False)), **kwargs}
        if given.get("w") is not None:
            given["w"] = weights(given["w"])
        if "V" in given:
            given["V"] = as_dtype(vector(given["V"]), np.float64)
        if "VI" in given:
            given["VI"] = np.atleast_2d(array(given["VI"]))
        x, y = (array(u), array(v)) if name in OF_STACKS else (vector(u), vector(v))
        is_of_integers = name in ("sqeuclidean", "braycurtis", "canberra") and x.dtype.kind not in "fc"
        return formula(inexact(x) if is_of_integers else x, y, **given)

    return metric


for _name in METRICS:
    if _name != "jensenshannon":
        intercepts(f"{PLACE}:{_name}")(_of_two(_name))


@intercepts(f"{PLACE}:jensenshannon")
def jensenshannon(
    p: ArrayLike, q: ArrayLike, base: float | Traced | None = None, *, axis: int = 0, keepdims: bool = False
) -> Any:
    ours: list[Any] = [inexact(array(x)) for x in (p, q)]
    found = by_jensenshannon(np.moveaxis(ours[0], axis, -1), np.moveaxis(ours[1], axis, -1), base)
    return np.expand_dims(found, axis) if keepdims else found


# ------------------------------------------------------------------------------------------------- many vectors


def _found(metric: object) -> str:
    """The metric's own name."""
    if not isinstance(metric, str):
        raise TypeError("2nd argument metric must be a string identifier or a function.")
    name = metric.lower()
    name = name.removeprefix("test_")
    name = ALIASES.get(name, name)
    if name not in METRICS:
        raise ValueError(f"Unknown Distance Metric: {metric.lower()}")
    return name


def _keywords(name: str, points: list[Traced], n: int, given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a metric, with SciPy's defaults, which are statistics of all points."""
    given = dict(given)
    if given.get("w") is not None:
        given["w"] = weights(given["w"], n)
    else:
        given.pop("w", None)
    every: Any = None if name not in ("seuclidean", "mahalanobis") else np.concatenate(points)
    if name == "seuclidean":
        variances = given.get("V")
        given["V"] = np.var(every, axis=0, ddof=1) if variances is None else inexact(array(variances))
        if given["V"].ndim != 1:
            raise ValueError("Variance vector V must be one-dimensional.")
        if given["V"].shape[0] != n:
            raise ValueError(
                "Variance vector V must be of the same dimension as the vectors on which the distances are computed."
            )
    if name == "mahalanobis":
        inverse = given.get("VI")
        if inverse is None:
            m = sum(x.shape[0] for x in points)
            if m <= n:
                raise ValueError(
                    f"The number of observations ({m}) is too small; the covariance matrix is singular. For "
                    f"observations with {n} dimensions, at least {n + 1} observations are required."
                )
            inverse = np.linalg.inv(np.atleast_2d(np.cov(np.transpose(every)))).T
        given["VI"] = inexact(array(inverse))
    return given


def _pairs(u: Traced, v: Traced, metric: object, points: list[Traced], given: dict[str, Any]) -> Any:
    """The distances of stacks of vectors that broadcast against each other."""
    name = _found(metric)
    given = _keywords(name, points, u.shape[-1], given)
    if name == "dice" and "w" in given and u.dtype.kind != "b":
        raise unsupported("scipy.spatial.distance: weighted dice of numbers is not traced", "x != 0, which are truths")
    if name in OF_TRUTHS:
        u, v = u != 0, v != 0
    return METRICS[name](u, v, **given)


def _points(x: ArrayLike, name: str) -> Any:
    x = array(x)
    if x.ndim != 2:
        raise ValueError(f"{name} must be a 2-dimensional array.")
    return x if x.dtype.kind == "b" else as_dtype(x, np.float64)


def table(x: np.ndarray, near: Traced) -> Traced:
    """An index table of our own making, a constant of the trace."""
    return constant(trace_near((near,)), x)


def pairs_of(n: int, near: Traced) -> tuple[Traced, Traced]:
    """The indices of all pairs i < j of n, row by row."""
    i, j = np.triu_indices(n, 1)
    return table(i, near), table(j, near)


def _called(metric: Callable[..., Any], us: Traced, vs: Traced, given: dict[str, Any]) -> Any:
    """A function of the user's for each pair, of rows of the same number: mapped where it does not look at values."""
    if us.shape[0] == 0:
        return table(np.zeros(0), us)
    try:
        return as_dtype(wg.vmap(lambda u, v: metric(u, v, **given))(us, vs), np.float64)
    except ConcretizationError:
        found = [metric(us[k], vs[k], **given) for k in range(us.shape[0])]
        return as_dtype(array(found, (us,)), np.float64)


@intercepts(f"{PLACE}:cdist", AT_FUNCTIONS)
def cdist(
    XA: ArrayLike, XB: ArrayLike, metric: str | Callable[..., Any] = "euclidean", *, out: Out = None, **kwargs: Any
) -> Any:
    """The distances of each row of XA from each of XB."""
    a, b = _points(XA, "XA"), _points(XB, "XB")
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    if callable(metric):
        i, j = [table(k, a) for k in np.indices((a.shape[0], b.shape[0])).reshape(2, -1)]
        found = np.reshape(_called(metric, a[i], b[j], kwargs), (a.shape[0], b.shape[0]))
    else:
        found = _pairs(a[:, None, :], b[None, :, :], metric, [a, b], kwargs)
    return into(out, found)


@intercepts(f"{PLACE}:pdist", AT_FUNCTIONS)
def pdist(X: ArrayLike, metric: str | Callable[..., Any] = "euclidean", *, out: Out = None, **kwargs: Any) -> Any:
    """The distances of each row from each later one."""
    x = array(X)
    if x.ndim != 2:
        raise ValueError(f"A 2-dimensional array must be passed. (Shape was {x.shape}).")
    x = _points(x, "X")
    i, j = pairs_of(x.shape[0], x)
    if callable(metric):
        found = _called(metric, x[i], x[j], kwargs)
    else:
        found = _pairs(x[i], x[j], metric, [x], kwargs)
    return into(out, found)


# --------------------------------------------------------------------------------------------- the two forms of a table


def _check_table(d: Traced, name: str | None, tol: float = 0.0) -> None:
    """Raise as SciPy's is_valid_dm does; what cannot be looked at, as in a batch, is not checked."""
    title = f"Distance matrix '{name}'" if name else "Distance matrix"
    if d.ndim != 2:
        raise ValueError(f"{title} must have shape=2 (i.e. be two-dimensional).")
    diagonal = np.diagonal(d)
    if tol == 0.0:
        if holds(np.all(d == d.T)) is False:
            raise ValueError(f"{title} must be symmetric.")
        if holds(np.all(diagonal == 0)) is False:
            raise ValueError(f"{title} diagonal must be zero.")
        return
    if holds(np.all(d - d.T <= tol)) is False:
        raise ValueError(f"{title} must be symmetric within tolerance {tol:5.5f}.")
    if holds(np.all(diagonal <= tol)) is False:
        raise ValueError(f"{title} diagonal must be close to zero within tolerance {tol:5.5f}.")


@intercepts(f"{PLACE}:squareform")
def squareform(X: ArrayLike, force: str = "no", checks: bool = True) -> Any:
    """A symmetric table with zeros on its diagonal, from what is above it; and back."""
    x = array(X)
    if force.lower() == "tomatrix" and x.ndim != 1:
        raise ValueError("Forcing 'tomatrix' but input X is not a distance vector.")
    if force.lower() == "tovector" and x.ndim != 2:
        raise ValueError("Forcing 'tovector' but input X is not a distance matrix.")
    if x.ndim == 1:
        n = int(np.ceil(np.sqrt(2 * x.shape[0]))) or 1
        if n * (n - 1) != 2 * x.shape[0]:
            raise ValueError(
                "Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer n >= 2."
            )
        if n == 1:
            return table(np.zeros((1, 1), x.dtype), x)
        i, j = np.triu_indices(n, 1)
        place = np.full((n, n), x.shape[0])
        place[i, j] = place[j, i] = np.arange(x.shape[0])
        return np.concatenate([x, table(np.zeros(1, x.dtype), x)])[table(place, x)]
    if x.ndim == 2:
        if x.shape[0] != x.shape[1]:
            raise ValueError("The matrix argument must be square.")
        if checks:
            _check_table(x, "X")
        return x[pairs_of(x.shape[0], x)]
    raise ValueError(
        f"The first argument must be one or two dimensional array. A {x.ndim}-dimensional array is not permitted"
    )


@intercepts(f"{PLACE}:is_valid_dm")
def is_valid_dm(
    D: ArrayLike,  # SciPy's name
    tol: float = 0.0,
    throw: bool = False,
    name: str | None = "D",
    warning: bool = False,
) -> bool:
    """A look at the table, guarded."""
    try:
        _check_table(array(D), name, tol)
    except ValueError as error:
        if throw:
            raise
        if warning:
            import warnings

            warnings.warn(str(error), stacklevel=2)
        return False
    return True


def _by_shape(name: str) -> Callable[..., Any]:
    """A function that asks for no more than a shape and a dtype: SciPy's own, of zeros."""

    def answer(x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        x = array(x)
        return getattr(distance, name)(np.zeros(x.shape, x.dtype), *args, **kwargs)

    return answer


for _name in ("is_valid_y", "num_obs_dm", "num_obs_y"):
    intercepts(f"{PLACE}:{_name}")(_by_shape(_name))


@intercepts(f"{PLACE}:directed_hausdorff")
def directed_hausdorff(u: ArrayLike, v: ArrayLike, *_: Any, **__: Any) -> Any:
    """The largest of the distances to the nearest point. Where several are equal, SciPy's order of the search, which
    is random, says which are named; here it is the first."""
    a, b = _points(u, "u"), _points(v, "v")
    if a.shape[1] != b.shape[1]:
        raise ValueError("u and v need to have the same number of columns")
    between = by_euclidean(a[:, None, :], b[None, :, :])
    nearest = np.min(between, axis=1)
    i = np.argmax(nearest)
    return nearest[i], i, np.argmin(between[i])
