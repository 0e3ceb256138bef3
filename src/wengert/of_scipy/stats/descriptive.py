"""Functions of samples in ``scipy.stats``: means, moments, spreads, scores, entropies, distances, transformations."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special as sc

import wengert as wg
from wengert.of_scipy.stats.samples import as_samples, check_nan_policy, of_samples, on_last_axis
from wengert.tracing.arguments import Axis, Traced, array, as_dtype, holds, inexact, unsupported
from wengert.tracing.interception.intercept import intercepts

# --------------------------------------------------------------------------------------------------------- means


def _mean(a: Traced, weights: ArrayLike | None) -> Any:
    """The mean along the last axis, weighted."""
    if weights is None:
        return np.mean(a, axis=-1)
    weights = array(weights, (a,))
    return np.sum(a * weights, axis=-1) / np.sum(weights, axis=-1)


def _weighted(name: str, f: Callable[..., Any]) -> None:
    @intercepts(f"scipy.stats:{name}")
    @functools.wraps(f)
    def mean(
        a: ArrayLike,
        *args: Any,
        axis: Axis = 0,
        dtype: Any = None,
        weights: ArrayLike | None = None,
        nan_policy: str = "propagate",
        keepdims: bool = False,
        p: Any = None,
    ) -> Any:
        rest = list(args)
        if name == "pmean" and p is None:
            p = rest.pop(0)
        axis = rest.pop(0) if rest else axis
        dtype = rest.pop(0) if rest else dtype
        weights = rest.pop(0) if rest else weights
        given = [a] if weights is None else [a, weights]
        samples = as_samples(given)
        if dtype is not None:
            samples = [as_dtype(x, dtype) for x in samples]
        if weights is not None and samples[1].ndim != samples[0].ndim:
            samples[1] = np.broadcast_to(samples[1], samples[0].shape)
        moved, axes = on_last_axis(samples, axis)
        check_nan_policy(name, nan_policy, moved)
        found = f(moved[0], moved[1] if weights is not None else None, p)
        return np.expand_dims(found, axes) if keepdims else found


def gmean(a: Traced, weights: Traced | None, p: object = None) -> Any:
    """exp of the mean of log a."""
    return np.exp(_mean(np.log(a), weights))


def hmean(a: Traced, weights: Traced | None, p: object = None) -> Any:
    """1 / mean of 1 / a; NaN of negative numbers."""
    return 1.0 / _mean(1.0 / np.where(a < 0, np.nan, a), weights)


def pmean(a: Traced, weights: Traced | None, p: float) -> Any:
    """(mean of aᵖ)^{1/p}."""
    if isinstance(p, int | float) and p == 0:
        return gmean(a, weights)
    return _mean(np.where(a < 0, np.nan, a) ** p, weights) ** (1 / p)


for _name, _f in (("gmean", gmean), ("hmean", hmean), ("pmean", pmean)):
    _weighted(_name, _f)


@of_samples("scipy.stats:trim_mean")
def trim_mean(a: Traced, proportiontocut: float) -> Any:
    """The mean without a share of the smallest and of the largest numbers."""
    n = a.shape[-1]
    cut = int(proportiontocut * n)
    if cut >= n - cut:
        raise ValueError("Proportion too big.")
    return np.mean(np.sort(a, axis=-1)[..., cut : n - cut], axis=-1)


def _trimmed(a: ArrayLike, low: int, high: int, axis: Axis) -> Any:
    a = array(a)
    a = np.ravel(a) if axis is None else a
    axis = 0 if axis is None else axis
    key: list[Any] = [slice(None)] * a.ndim
    assert isinstance(axis, int)
    key[axis] = slice(low, high)
    return np.sort(a, axis=axis)[tuple(key)]


@intercepts("scipy.stats:trimboth")
def trimboth(a: ArrayLike, proportiontocut: float, axis: Axis = 0) -> Any:
    """SciPy's result is partitioned; this one is sorted, which is such a result, too."""
    n = array(a).size if axis is None else array(a).shape[axis if isinstance(axis, int) else 0]
    cut = int(proportiontocut * n)
    if cut >= n - cut:
        raise ValueError("Proportion too big.")
    return _trimmed(a, cut, n - cut, axis)


# ------------------------------------------------------------------------------------------------------- moments


def central(a: Traced, order: int, center: Traced | None = None) -> Any:
    """The mean of (a − mean)ᵏ along the last axis."""
    off = a - (np.mean(a, axis=-1, keepdims=True) if center is None else center)
    return np.mean(off**order, axis=-1)


@of_samples("scipy.stats:moment")
def moment(a: Traced, order: Any = 1, *, center: ArrayLike | None = None, moment: Any = None) -> Any:
    order = order if moment is None else moment
    if np.ndim(order):
        return np.stack([_one_moment(a, int(k), center) for k in np.asarray(order)])
    if order != int(order):
        raise ValueError("`order` must be an integer.")
    return _one_moment(a, int(order), center)


def _one_moment(a: Traced, order: int, center: ArrayLike | None) -> Any:
    if order == 0:
        return np.ones_like(np.sum(a, axis=-1))
    if order == 1 and center is None:
        return 0.0 * np.sum(a, axis=-1)
    return central(a, order, None if center is None else array(center, (a,))[..., np.newaxis])


def skewness(a: Traced, bias: bool = True) -> Any:
    n = a.shape[-1]
    mean = np.mean(a, axis=-1)
    m2, m3 = central(a, 2), central(a, 3)
    is_flat = m2 <= (np.finfo(m2.dtype).eps * mean) ** 2
    found = np.where(is_flat, np.nan, m3 / np.where(is_flat, 1.0, m2) ** 1.5)
    return found if bias or n <= 2 else ((n - 1.0) * n) ** 0.5 / (n - 2.0) * found


def kurtosis_of(a: Traced, fisher: bool = True, bias: bool = True) -> Any:
    n = a.shape[-1]
    mean = np.mean(a, axis=-1)
    m2, m4 = central(a, 2), central(a, 4)
    is_flat = m2 <= (np.finfo(m2.dtype).eps * mean) ** 2
    found = np.where(is_flat, np.nan, m4 / np.where(is_flat, 1.0, m2) ** 2.0)
    if not bias and n > 3:
        found = 1.0 / (n - 2) / (n - 3) * ((n**2 - 1.0) * found - 3 * (n - 1) ** 2.0) + 3.0
    return found - 3 if fisher else found


@of_samples("scipy.stats:skew")
def skew(a: Traced, bias: bool = True) -> Any:
    return skewness(a, bias)


@of_samples("scipy.stats:kurtosis")
def kurtosis(a: Traced, fisher: bool = True, bias: bool = True) -> Any:
    return kurtosis_of(a, fisher, bias)


@of_samples("scipy.stats:sem")
def sem(a: Traced, ddof: int = 1) -> Any:
    """The standard error of the mean."""
    return np.std(a, axis=-1, ddof=ddof) / a.shape[-1] ** 0.5


@of_samples("scipy.stats:variation")
def variation(a: Traced, ddof: int = 0) -> Any:
    """Standard deviation over mean."""
    return np.std(a, axis=-1, ddof=ddof) / np.mean(a, axis=-1)


@intercepts("scipy.stats:gstd")
def gstd(a: ArrayLike, axis: Axis = 0, ddof: int = 1, *, keepdims: bool = False, nan_policy: str = "propagate") -> Any:
    x = inexact(array(a))
    check_nan_policy("gstd", nan_policy, [x])
    return np.exp(np.std(np.log(x), axis=axis, ddof=ddof, keepdims=keepdims))


@intercepts("scipy.stats:describe")
def describe(a: ArrayLike, axis: Axis = 0, ddof: int = 1, bias: bool = True, nan_policy: str = "propagate") -> Any:
    from scipy.stats._stats_py import DescribeResult

    moved, _ = on_last_axis(as_samples([a]), axis)
    (x,) = moved
    check_nan_policy("describe", nan_policy, moved)
    if x.size == 0:
        raise ValueError("The input must not be empty.")
    ends = np.min(x, axis=-1), np.max(x, axis=-1)
    return DescribeResult(
        x.shape[-1],
        ends,
        np.mean(x, axis=-1),
        np.var(x, axis=-1, ddof=ddof),
        skewness(x, bias),
        kurtosis_of(x, True, bias),
    )


def _within(a: Traced, limits: Sequence[Any] | None, inclusive: Sequence[bool]) -> Any:
    """Which numbers lie within limits."""
    is_in = np.ones(a.shape, bool)
    for limit, includes, sign in zip(limits or (None, None), inclusive, (1, -1), strict=True):
        if limit is not None:
            is_in = is_in & ((sign * a >= sign * limit) if includes else (sign * a > sign * limit))
    return is_in


def _trimmed_moments(
    a: Traced, limits: Sequence[Any] | None, inclusive: Sequence[bool], ddof: int = 1
) -> tuple[Any, Any, Any]:
    """Count, mean and variance of what lies within limits."""
    is_in = _within(a, limits, inclusive)
    n = np.sum(is_in, axis=-1)
    mean = np.sum(np.where(is_in, a, 0.0), axis=-1) / n
    square = np.sum(np.where(is_in, (a - mean[..., np.newaxis]) ** 2, 0.0), axis=-1)
    return n, mean, square / (n - ddof)


@of_samples("scipy.stats:tmean", axis=None)
def tmean(a: Traced, limits: Any = None, inclusive: Any = (True, True)) -> Any:
    return _trimmed_moments(a, limits, inclusive)[1]


@of_samples("scipy.stats:tvar")
def tvar(a: Traced, limits: Any = None, inclusive: Any = (True, True), ddof: int = 1) -> Any:
    return _trimmed_moments(a, limits, inclusive, ddof)[2]


@of_samples("scipy.stats:tstd")
def tstd(a: Traced, limits: Any = None, inclusive: Any = (True, True), ddof: int = 1) -> Any:
    return np.sqrt(_trimmed_moments(a, limits, inclusive, ddof)[2])


@of_samples("scipy.stats:tsem")
def tsem(a: Traced, limits: Any = None, inclusive: Any = (True, True), ddof: int = 1) -> Any:
    n, _, var = _trimmed_moments(a, limits, inclusive, ddof)
    return np.sqrt(var / n)


@of_samples("scipy.stats:tmin")
def tmin(a: Traced, lowerlimit: Any = None, inclusive: bool = True) -> Any:
    is_in = _within(a, (lowerlimit, None), (inclusive, True))
    return np.where(np.any(is_in, axis=-1), np.min(np.where(is_in, a, np.inf), axis=-1), np.nan)


@of_samples("scipy.stats:tmax")
def tmax(a: Traced, upperlimit: Any = None, inclusive: bool = True) -> Any:
    is_in = _within(a, (None, upperlimit), (True, inclusive))
    return np.where(np.any(is_in, axis=-1), np.max(np.where(is_in, a, -np.inf), axis=-1), np.nan)


# --------------------------------------------------------------------------------------------- order and spreads

_NORMAL_IQR = 2 * 0.674489750196081743202227014541307185


@of_samples("scipy.stats:iqr", axis=None)
def iqr(x: Traced, rng: Any = (25, 75), scale: Any = 1.0, interpolation: Any = "linear") -> Any:
    """The distance of two percentiles."""
    if len(rng) != 2:
        raise TypeError("quantile range must be two element sequence")
    low, high = np.percentile(x, sorted(rng), axis=-1, method=interpolation)
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} not a valid scale for `iqr`")
        scale = _NORMAL_IQR
    return (high - low) if type(scale) is float and scale == 1.0 else (high - low) / scale


@of_samples("scipy.stats:median_abs_deviation")
def median_abs_deviation(x: Traced, center: Callable[..., Any] | None = None, scale: Any = 1.0) -> Any:
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} is not a valid scale value.")
        scale = _NORMAL_IQR / 2
    middle = np.median(x, axis=-1) if center is None else center(x, axis=-1)
    return np.median(np.abs(x - middle[..., np.newaxis]), axis=-1) / scale


@intercepts("scipy.stats:rankdata")
def rankdata(a: ArrayLike, method: str = "average", *, axis: Axis = None, nan_policy: str = "propagate") -> Any:
    """Ranks, which are constant between ties."""
    x = wg.stop_gradient(array(a))
    check_nan_policy("rankdata", nan_policy, [x])
    if axis is None:
        x, axis = np.ravel(x), -1
    assert isinstance(axis, int)
    x = np.moveaxis(x, axis, -1)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f'unknown method "{method}"')
    if x.size == 0:
        return np.zeros(x.shape, float if method == "average" else int)
    n = x.shape[-1]
    order = np.argsort(x, axis=-1, kind="stable")
    back = np.argsort(order, axis=-1, kind="stable")
    if method == "ordinal":
        ranks: Any = back + 1
    else:
        y, places = np.take_along_axis(x, order, -1), np.arange(n)
        edge = np.ones_like(y[..., :1], dtype=bool)
        differs = y[..., 1:] != y[..., :-1]
        is_first, is_last = np.concatenate([edge, differs], axis=-1), np.concatenate([differs, edge], axis=-1)
        first = np.maximum.accumulate(np.where(is_first, places, 0), axis=-1) + 1
        last = np.flip(np.minimum.accumulate(np.flip(np.where(is_last, places, n), -1), axis=-1), -1) + 1
        dense = np.cumsum(is_first, axis=-1)
        found = {"min": first, "max": last, "average": (first + last) / 2, "dense": dense}[method]
        ranks = np.take_along_axis(found, back, -1)
    if x.dtype.kind in "fc" and holds(np.any(np.isnan(x))) is not False:
        ranks = np.where(np.any(np.isnan(x), axis=-1, keepdims=True), np.nan, as_dtype(ranks, np.float64))
    return np.moveaxis(ranks, -1, axis)


# -------------------------------------------------------------------------------------------------------- scores


def _scores(scores: Traced, compare: Traced, axis: Axis, ddof: int, is_same: bool) -> Any:
    mean, std = np.mean(compare, axis=axis, keepdims=True), np.std(compare, axis=axis, ddof=ddof, keepdims=True)
    if not is_same:
        return (scores - mean) / std
    is_flat = std <= np.abs(np.finfo(compare.dtype).eps * mean)
    return np.where(is_flat, np.nan, (scores - mean) / np.where(is_flat, 1.0, std))


@intercepts("scipy.stats:zscore")
def zscore(a: ArrayLike, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    (x,) = as_samples([a])
    check_nan_policy("zscore", nan_policy, [x])
    return _scores(x, x, axis, ddof, True)


@intercepts("scipy.stats:gzscore")
def gzscore(a: ArrayLike, *, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    (x,) = as_samples([a])
    check_nan_policy("gzscore", nan_policy, [x])
    return _scores(np.log(x), np.log(x), axis, ddof, True)


@intercepts("scipy.stats:zmap")
def zmap(scores: ArrayLike, compare: ArrayLike, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    x, y = as_samples([scores, compare])
    check_nan_policy("zmap", nan_policy, [x, y])
    return _scores(x, y, axis, ddof, scores is compare)


# ------------------------------------------------------------------------------------------- circular statistics


def _circular(x: Traced, period: Any) -> tuple[Any, Any]:
    angle = x * (2.0 * math.pi / period)
    return np.sin(angle), np.cos(angle)


def _resultant(x: Traced, high: Any, low: Any) -> Any:
    """The length of the mean of points on the circle; at most 1."""
    sin, cos = _circular(x, high - low)
    length = np.hypot(np.mean(sin, axis=-1), np.mean(cos, axis=-1))
    return np.where(length > 1.0, 1.0, length)


@of_samples("scipy.stats:circmean", axis=None)
def circmean(samples: Traced, high: Any = 2 * math.pi, low: Any = 0) -> Any:
    period = high - low
    sin, cos = _circular(samples, period)
    angle = np.arctan2(np.sum(sin, axis=-1), np.sum(cos, axis=-1))
    return (angle * (period / (2.0 * math.pi)) - low) % period + low


@of_samples("scipy.stats:circvar", axis=None)
def circvar(samples: Traced, high: Any = 2 * math.pi, low: Any = 0) -> Any:
    return 1.0 - _resultant(samples, high, low)


@of_samples("scipy.stats:circstd", axis=None)
def circstd(samples: Traced, high: Any = 2 * math.pi, low: Any = 0, *, normalize: bool = False) -> Any:
    found = np.sqrt(-2 * np.log(_resultant(samples, high, low)))
    return found if normalize else found * ((high - low) / (2.0 * math.pi))


# ----------------------------------------------------------------------------------------------------- entropies


@intercepts("scipy.stats:entropy")
def entropy(
    pk: ArrayLike,
    qk: ArrayLike | None = None,
    base: float | None = None,
    axis: Axis = 0,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """−Σ p log p, or Σ p log(p/q), of probabilities that are made to sum to 1."""
    if base is not None and holds(base <= 0):
        raise ValueError("`base` must be a positive number or `None`.")
    given = as_samples([pk] if qk is None else [pk, qk])
    try:
        np.broadcast_shapes(*[x.shape for x in given])
    except ValueError:
        raise ValueError("Array shapes are incompatible for broadcasting.") from None
    given = list(np.broadcast_arrays(*given))
    check_nan_policy("entropy", nan_policy, given)
    moved, axes = on_last_axis(given, axis)
    shares = [x / np.sum(x, axis=-1, keepdims=True) for x in moved]
    terms = sc.entr(shares[0]) if qk is None else sc.rel_entr(*shares)
    found = np.sum(terms, axis=-1)
    found = found if base is None else found / np.log(base)
    return np.expand_dims(found, axes) if keepdims else found


def _padded(x: Traced, m: int) -> Any:
    shape = (*x.shape[:-1], m)
    ends = np.broadcast_to(x[..., :1], shape), np.broadcast_to(x[..., -1:], shape)
    return np.concatenate([ends[0], x, ends[1]], axis=-1)


def _vasicek(x: Traced, m: int) -> Any:
    n = x.shape[-1]
    x = _padded(x, m)
    return np.mean(np.log(n / (2 * m) * (x[..., 2 * m :] - x[..., : -2 * m])), axis=-1)


def _van_es(x: Traced, m: int) -> Any:
    n = x.shape[-1]
    total = 1 / (n - m) * np.sum(np.log((n + 1) / m * (x[..., m:] - x[..., :-m])), axis=-1)
    return total + float(np.sum(1 / np.arange(m, n + 1.0))) + math.log(m) - math.log(n + 1)


def _ebrahimi(x: Traced, m: int) -> Any:
    n = x.shape[-1]
    x = _padded(x, m)
    i = np.arange(1.0, n + 1)
    c = np.where(i <= m, 1 + (i - 1) / m, 2.0)
    c = np.where(i >= n - m + 1, 1 + (n - i) / m, c)
    return np.mean(np.log(n * (x[..., 2 * m :] - x[..., : -2 * m]) / (c * m)), axis=-1)


def _correa(x: Traced, m: int) -> Any:
    n = x.shape[-1]
    x = _padded(x, m)
    steps = np.arange(-m, m + 1)[:, np.newaxis]
    window = x[..., np.arange(1, n + 1) + steps + m - 1]
    off = window - np.mean(window, axis=-2, keepdims=True)
    return -np.mean(np.log(np.sum(off * steps, axis=-2) / (n * np.sum(off**2, axis=-2))), axis=-1)


_ESTIMATES = {"vasicek": _vasicek, "van es": _van_es, "correa": _correa, "ebrahimi": _ebrahimi}


@of_samples("scipy.stats:differential_entropy")
def differential_entropy(
    values: Traced, *, window_length: int | None = None, base: float | None = None, method: str = "auto"
) -> Any:
    n = values.shape[-1]
    m = math.floor(math.sqrt(n) + 0.5) if window_length is None else window_length
    if not 2 <= 2 * m < n:
        raise ValueError(f"Window length ({m}) must be positive and less than half the sample size ({n}).")
    method = method.lower()
    if method == "auto":
        method = "van es" if n <= 10 else "ebrahimi" if n <= 1000 else "vasicek"
    if method not in _ESTIMATES:
        raise ValueError(f"`method` must be one of {set(_ESTIMATES) | {'auto'}}")
    found = _ESTIMATES[method](np.sort(values, axis=-1), m)
    return found if base is None else found / np.log(base)


# ----------------------------------------------------------------------------------------------------- distances


def _shares(values: Traced, weights: ArrayLike | None, everything: Traced) -> Any:
    """The distribution function of a weighted sample at each of the sorted values but the last."""
    order = np.argsort(values)
    at = np.searchsorted(values[order], everything[:-1], "right")
    if weights is None:
        return at / values.size
    weights = inexact(array(weights, (values,)))
    total = np.concatenate([np.zeros_like(weights[:1]), np.cumsum(weights[order])])
    return total[at] / total[-1]


def _distance(p: int, u: ArrayLike, v: ArrayLike, u_weights: ArrayLike | None, v_weights: ArrayLike | None) -> Any:
    """(∫ |U − V|ᵖ)^{1/p} of two distribution functions. Between ties, the derivative is that of the order at hand."""
    u, v = as_samples([u, v])
    everything = np.sort(np.concatenate([u, v]))
    at = wg.stop_gradient(everything)
    gap = _shares(wg.stop_gradient(u), u_weights, at) - _shares(wg.stop_gradient(v), v_weights, at)
    lengths = np.diff(everything)
    return np.sum(np.abs(gap) * lengths) if p == 1 else np.sqrt(np.sum(np.square(gap) * lengths))


@intercepts("scipy.stats:wasserstein_distance")
def wasserstein_distance(
    u_values: ArrayLike,
    v_values: ArrayLike,
    u_weights: ArrayLike | None = None,
    v_weights: ArrayLike | None = None,
) -> Any:
    return _distance(1, u_values, v_values, u_weights, v_weights)


@intercepts("scipy.stats:energy_distance")
def energy_distance(
    u_values: ArrayLike,
    v_values: ArrayLike,
    u_weights: ArrayLike | None = None,
    v_weights: ArrayLike | None = None,
) -> Any:
    return np.sqrt(2) * _distance(2, u_values, v_values, u_weights, v_weights)


# ----------------------------------------------------------------------------------------------- transformations


@intercepts("scipy.stats:boxcox")
def boxcox(
    x: ArrayLike,
    lmbda: ArrayLike | None = None,
    alpha: float | None = None,
    optimizer: object = None,
    *,
    nan_policy: str = "propagate",
) -> Any:
    """(xᵏ − 1)/k. Without a k it is the one of the greatest likelihood, as SciPy finds it."""
    data = array(x)
    check_nan_policy("boxcox", nan_policy, [data])
    if lmbda is not None:
        return sc.boxcox(data, lmbda)
    if alpha is not None or optimizer is not None:
        raise unsupported("scipy.stats.boxcox: alpha and optimizer are not traced")
    found = _most_likely("boxcox", data, _boxcox_likelihood, method="mle")
    return sc.boxcox(data, found), found


def _boxcox_likelihood(k: Traced, data: Traced) -> Any:
    n = data.shape[-1]
    logs = np.log(data)
    at_0 = k == 0  # where the variance is that of the logarithms
    safe = np.where(at_0, 1.0, k)
    shift = k * (logs - np.mean(logs, axis=-1, keepdims=True))
    powers = np.where(at_0, logs, np.expm1(shift) / safe)
    factor = np.where(at_0, 0.0, 2 * k * np.mean(logs, axis=-1))
    return (k - 1) * np.sum(logs, axis=-1) - n / 2 * (np.log(np.var(powers, axis=-1)) + factor)


@intercepts("scipy.stats:boxcox_llf")
def boxcox_llf(
    lmb: ArrayLike, data: ArrayLike, *, axis: Axis = 0, keepdims: bool = False, nan_policy: str = "propagate"
) -> Any:
    moved, axes = on_last_axis(as_samples([data]), axis)
    check_nan_policy("boxcox_llf", nan_policy, moved)
    found = as_dtype(_boxcox_likelihood(array(lmb, (moved[0],)), moved[0]), moved[0].dtype)
    return np.expand_dims(found, axes) if keepdims else found


def _yeojohnson(x: Traced, k: Traced) -> Any:
    """Yeo and Johnson (2000), Biometrika 87: a power of 1 + x above 0, of 1 − x below."""
    is_up = x >= 0
    logs = np.log1p(np.abs(x))
    power = np.where(is_up, k, 2 - k)
    is_0 = np.abs(power) < np.finfo(float).eps
    safe = np.where(is_0, 1.0, power)
    found = np.where(is_0, logs * (1 + power * logs / 2), np.expm1(safe * logs) / safe)
    return np.where(is_up, found, -found)


@intercepts("scipy.stats:yeojohnson")
def yeojohnson(x: ArrayLike, lmbda: ArrayLike | None = None, *, nan_policy: str = "propagate") -> Any:
    data = inexact(array(x))
    check_nan_policy("yeojohnson", nan_policy, [data])
    if lmbda is not None:
        return _yeojohnson(data, array(lmbda, (data,)))
    found = _most_likely("yeojohnson", data, _yeojohnson_likelihood)
    return _yeojohnson(data, found), found


def _yeojohnson_likelihood(k: Traced, data: Traced) -> Any:
    n = data.shape[-1]
    spread = np.log(np.var(_yeojohnson(data, k), axis=-1))
    return -n / 2 * spread + (k - 1) * np.sum(np.sign(data) * np.log1p(np.abs(data)), axis=-1)


@intercepts("scipy.stats:yeojohnson_llf")
def yeojohnson_llf(
    lmb: ArrayLike, data: ArrayLike, *, axis: Axis = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    moved, axes = on_last_axis(as_samples([data]), axis)
    check_nan_policy("yeojohnson_llf", nan_policy, moved)
    found = as_dtype(_yeojohnson_likelihood(array(lmb, (moved[0],)), moved[0]), moved[0].dtype)
    return np.expand_dims(found, axes) if keepdims else found


def _most_likely(name: str, data: Traced, likelihood: Callable[..., Any], **options: str) -> Any:
    """The parameter that SciPy finds, with the derivative of the solution of ∂ likelihood / ∂k = 0."""
    from scipy import stats

    maximum = getattr(stats, f"{name}_normmax")

    @functools.partial(wg.primitive, type=lambda data: np.empty((), np.float64))
    def found(data: Traced) -> Any:
        return np.float64(maximum(np.asarray(data), **options))

    return wg.known_root(lambda k: wg.grad(likelihood)(k, data), found(wg.stop_gradient(data)))
