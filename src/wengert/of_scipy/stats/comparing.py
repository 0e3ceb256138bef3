"""Tests, correlations and fits of ``scipy.stats`` on traced samples: statistics and probabilities, by formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special as sc
from scipy.stats import _morestats, _stats_mstats_common, _stats_py

import wengert as wg
from wengert.of_scipy.stats.descriptive import kurtosis_of, rankdata, skewness
from wengert.of_scipy.stats.samples import as_samples, check_nan_policy, of_samples, on_last_axis, probability
from wengert.of_scipy.version import SCIPY
from wengert.tracing.arguments import Axis, Traced, array, as_dtype, holds, unsupported
from wengert.tracing.interception.intercept import intercepts

RESULTS: Any = _stats_py
RESULTS_MORE: Any = _morestats
RESULTS_COMMON: Any = _stats_mstats_common
"""SciPy's classes of results, which are made at run time."""


def _student(df: Any) -> Any:
    return lambda t: sc.stdtr(df, -t)


def _normal(z: Traced) -> Any:
    return sc.ndtr(-z)


# -------------------------------------------------------------------------------------------------------- t tests


def _t_result(estimate: Any, error: Any, df: Any, alternative: str) -> Any:
    t = estimate / error
    p = probability(t, _student(df), alternative)
    sign = {"less": -1, "two-sided": 0, "greater": 1}[alternative]
    return RESULTS.TtestResult(
        t, p, df=df + 0.0 * t, alternative=np.asarray(sign), standard_error=error, estimate=estimate
    )


def _refuse_resampling(name: str, **given: Any) -> None:
    for option, value in given.items():
        if value is not None and not (option == "trim" and value == 0):
            raise unsupported(f"scipy.stats.{name}: {option} is not traced", "the test without it")


@of_samples("scipy.stats:ttest_1samp")
def ttest_1samp(a: Traced, popmean: Any, alternative: str = "two-sided") -> Any:
    n = a.shape[-1]
    popmean = array(popmean, (a,))
    popmean = popmean[..., 0] if popmean.ndim and popmean.ndim == a.ndim else popmean
    error = np.sqrt(np.var(a, axis=-1, ddof=1) / n)
    mean = np.mean(a, axis=-1)
    t = (mean - popmean) / error
    p = probability(t, _student(n - 1), alternative)
    sign = {"less": -1, "two-sided": 0, "greater": 1}[alternative]
    return RESULTS.TtestResult(
        t, p, df=n - 1 + 0.0 * t, alternative=np.asarray(sign), standard_error=error, estimate=mean
    )


def _two_samples(
    means: Sequence[Any], variances: Sequence[Any], counts: Sequence[Any], equal_var: bool
) -> tuple[Any, Any, Any]:
    """The difference of two means, its standard error and the degrees of freedom."""
    (m1, m2), (v1, v2), (n1, n2) = means, variances, counts
    if equal_var:
        df = n1 + n2 - 2.0
        pooled = ((n1 - 1) * v1 + (n2 - 1) * v2) / df
        error = np.sqrt(pooled * (1.0 / n1 + 1.0 / n2))
    else:
        e1, e2 = v1 / n1, v2 / n2
        df = (e1 + e2) ** 2 / (e1**2 / (n1 - 1) + e2**2 / (n2 - 1))
        error = np.sqrt(e1 + e2)
    return m1 - m2, error, df


@of_samples("scipy.stats:ttest_ind", 2)
def ttest_ind(
    a: Traced,
    b: Traced,
    *,
    equal_var: bool = True,
    alternative: str = "two-sided",
    trim: float = 0,
    method: object = None,
    permutations: object = None,
    random_state: object = None,
) -> Any:
    _refuse_resampling("ttest_ind", trim=trim, method=method, permutations=permutations)
    both = (a, b)
    means, variances = [np.mean(x, axis=-1) for x in both], [np.var(x, axis=-1, ddof=1) for x in both]
    counts = [x.shape[-1] for x in both]
    gap, error, df = _two_samples(means, variances, counts, equal_var)
    return _t_result(gap, error, df, alternative)


@intercepts("scipy.stats:ttest_ind_from_stats")
def ttest_ind_from_stats(
    mean1: ArrayLike,
    std1: ArrayLike,
    nobs1: ArrayLike,
    mean2: ArrayLike,
    std2: ArrayLike,
    nobs2: ArrayLike,
    equal_var: bool = True,
    alternative: str = "two-sided",
) -> Any:
    given = (mean1, std1, nobs1, mean2, std2, nobs2)
    m1, s1, n1, m2, s2, n2 = [array(x, given) for x in given]
    gap, error, df = _two_samples((m1, m2), (s1**2, s2**2), (n1, n2), equal_var)
    t = gap / error
    return RESULTS.Ttest_indResult(t, probability(t, _student(df), alternative))


@of_samples("scipy.stats:ttest_rel", 2)
def ttest_rel(a: Traced, b: Traced, alternative: str = "two-sided") -> Any:
    d = a - b
    n = d.shape[-1]
    return _t_result(np.mean(d, axis=-1), np.sqrt(np.var(d, axis=-1, ddof=1) / n), n - 1, alternative)


# --------------------------------------------------------------------------------------------- tests of moments


def _skew_z(a: Traced) -> Any:
    n = float(a.shape[-1])
    y = skewness(a) * math.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    beta2 = 3.0 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9))
    w2 = -1 + math.sqrt(2 * (beta2 - 1))
    delta, alpha = 1 / math.sqrt(0.5 * math.log(w2)), math.sqrt(2.0 / (w2 - 1))
    return delta * np.arcsinh(y / alpha)


def _kurtosis_z(a: Traced) -> Any:
    n = float(a.shape[-1])
    expected = 3.0 * (n - 1) / (n + 1)
    var = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) * (n + 1.0) * (n + 3) * (n + 5))
    x = (kurtosis_of(a, False) - expected) / var**0.5
    root = (
        6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) * math.sqrt((6.0 * (n + 3) * (n + 5)) / (n * (n - 2) * (n - 3)))
    )
    k = 6.0 + 8.0 / root * (2.0 / root + math.sqrt(1 + 4.0 / root**2))
    below = 1 + x * math.sqrt(2 / (k - 4.0))
    term = np.sign(below) * ((1 - 2.0 / k) / np.abs(below)) ** (1 / 3)
    return (1 - 2 / (9.0 * k) - term) / math.sqrt(2 / (9.0 * k))


@of_samples("scipy.stats:skewtest")
def skewtest(a: Traced, alternative: str = "two-sided") -> Any:
    z = _skew_z(a)
    return RESULTS.SkewtestResult(z, probability(z, _normal, alternative))


@of_samples("scipy.stats:kurtosistest")
def kurtosistest(a: Traced, alternative: str = "two-sided") -> Any:
    z = _kurtosis_z(a)
    return RESULTS.KurtosistestResult(z, probability(z, _normal, alternative))


@of_samples("scipy.stats:normaltest")
def normaltest(a: Traced) -> Any:
    statistic = _skew_z(a) ** 2 + _kurtosis_z(a) ** 2
    return RESULTS.NormaltestResult(statistic, sc.chdtrc(2.0, statistic))


@of_samples("scipy.stats:jarque_bera", axis=None)
def jarque_bera(x: Traced) -> Any:
    statistic = x.shape[-1] / 6 * (skewness(x) ** 2 + kurtosis_of(x) ** 2 / 4)
    return RESULTS.SignificanceResult(statistic, sc.chdtrc(2.0, statistic))


# ------------------------------------------------------------------------------------------------ several samples


@of_samples("scipy.stats:f_oneway", None)
def f_oneway(*samples: Traced, equal_var: bool = True) -> Any:
    if not equal_var:
        raise unsupported("scipy.stats.f_oneway: equal_var=False is not traced", "equal_var=True")
    k, n = len(samples), sum(x.shape[-1] for x in samples)
    center = sum(np.sum(x, axis=-1) for x in samples) / n
    means = [np.mean(x, axis=-1) for x in samples]
    between: Any = sum(x.shape[-1] * (m - center) ** 2 for x, m in zip(samples, means, strict=True))
    within: Any = sum(np.sum((x - m[..., np.newaxis]) ** 2, axis=-1) for x, m in zip(samples, means, strict=True))
    f = (between / (k - 1)) / (within / (n - k))
    return RESULTS.F_onewayResult(f, sc.fdtrc(float(k - 1), float(n - k), f))


@of_samples("scipy.stats:bartlett", None)
def bartlett(*samples: Traced) -> Any:
    k = len(samples)
    if k < 2:
        raise ValueError("Must enter at least two input sample vectors.")
    counts = np.array([x.shape[-1] for x in samples], float)
    variances: Any = [np.var(x, axis=-1, ddof=1) for x in samples]
    rest = float(np.sum(counts)) - k
    pooled = sum((n - 1) * v for n, v in zip(counts, variances, strict=True)) / rest
    top = rest * np.log(pooled) - sum((n - 1) * np.log(v) for n, v in zip(counts, variances, strict=True))
    statistic = top / (1 + 1 / (3 * (k - 1)) * (float(np.sum(1 / (counts - 1))) - 1 / rest))
    statistic = as_dtype(statistic, samples[0].dtype)
    return RESULTS_MORE.BartlettResult(statistic, sc.chdtrc(float(k - 1), statistic))


IS_OLDER = SCIPY < (1, 17)


def _trimmed_mean(share: float) -> Callable[..., Any]:
    """The mean without a share of the smallest numbers and of the largest."""

    def mean(x: Traced, **kwargs: Any) -> Any:
        n = x.shape[-1]
        return np.mean(np.sort(x, axis=-1)[..., int(share * n) : n - int(share * n)], **kwargs)

    return mean


@of_samples("scipy.stats:levene", None)
def levene(*samples: Traced, center: str = "median", proportiontocut: float = 0.05) -> Any:
    if center not in ("mean", "median", "trimmed"):
        raise ValueError("center must be 'mean', 'median' or 'trimmed'.")
    if center == "trimmed" and IS_OLDER:  # which cuts the samples, too
        raise unsupported("scipy.stats.levene: center='trimmed' is not traced", "center='median'")
    middle: Any = {"median": np.median, "mean": np.mean, "trimmed": _trimmed_mean(proportiontocut)}[center]
    k, n = len(samples), sum(x.shape[-1] for x in samples)
    offs = [np.abs(x - middle(x, axis=-1, keepdims=True)) for x in samples]
    means = [np.mean(z, axis=-1, keepdims=True) for z in offs]
    whole = sum(z.shape[-1] * m for z, m in zip(offs, means, strict=True)) / n
    top: Any = (n - k) * sum(z.shape[-1] * (m - whole) ** 2 for z, m in zip(offs, means, strict=True))
    bottom: Any = (k - 1.0) * sum(
        np.sum((z - m) ** 2, axis=-1, keepdims=True) for z, m in zip(offs, means, strict=True)
    )
    w = (top / bottom)[..., 0]
    return RESULTS_MORE.LeveneResult(w, sc.fdtrc(float(k - 1), float(n - k), w))


_POWERS = {
    "pearson": 1.0,
    "log-likelihood": 0.0,
    "freeman-tukey": -0.5,
    "mod-log-likelihood": -1.0,
    "neyman": -2.0,
    "cressie-read": 2 / 3,
}


def _divergence(f_obs: ArrayLike, f_exp: ArrayLike | None, ddof: Any, axis: Axis, power: Any, checks: bool) -> Any:
    samples = as_samples([f_obs] if f_exp is None else [f_obs, f_exp])
    moved, _ = on_last_axis(samples, axis)
    observed = moved[0]
    expected = moved[1] if f_exp is not None else np.mean(observed, axis=-1, keepdims=True)
    if f_exp is not None and checks:
        sums = np.sum(observed, axis=-1), np.sum(expected, axis=-1)
        if holds(np.any(np.abs(sums[0] - sums[1]) > 1.5e-8 * np.minimum(*sums))):
            raise ValueError(
                "For each axis slice, the sum of the observed frequencies must agree with the sum of the expected "
                "frequencies to a relative tolerance of 1.4901161193847656e-08"
            )
    if power == 1:
        terms = (observed - expected) ** 2 / expected
    elif power == 0:
        terms = 2.0 * sc.xlogy(observed, observed / expected)
    elif power == -1:
        terms = 2.0 * sc.xlogy(expected, expected / observed)
    else:
        terms = observed * ((observed / expected) ** power - 1) / (0.5 * power * (power + 1))
    statistic = np.sum(terms, axis=-1)
    df = float(observed.shape[-1] - 1) - ddof
    return RESULTS.Power_divergenceResult(statistic, sc.chdtrc(df, statistic))


def _refuse_options(name: str, nan_policy: str, keepdims: bool) -> None:
    if nan_policy != "propagate" or keepdims:
        raise unsupported(f"scipy.stats.{name}: nan_policy and keepdims are not traced", "the defaults of both")


@intercepts("scipy.stats:power_divergence")
def power_divergence(
    f_obs: ArrayLike,
    f_exp: ArrayLike | None = None,
    ddof: Any = 0,
    axis: Axis = 0,
    lambda_: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    _refuse_options("power_divergence", nan_policy, keepdims)
    if isinstance(lambda_, str):
        if lambda_ not in _POWERS:
            raise ValueError(f"invalid string for lambda_: {lambda_!r}.")
        lambda_ = _POWERS[lambda_]
    return _divergence(f_obs, f_exp, ddof, axis, 1 if lambda_ is None else lambda_, True)


@intercepts("scipy.stats:chisquare")
def chisquare(
    f_obs: ArrayLike,
    f_exp: ArrayLike | None = None,
    ddof: Any = 0,
    axis: Axis = 0,
    *,
    sum_check: bool = True,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    _refuse_options("chisquare", nan_policy, keepdims)
    return _divergence(f_obs, f_exp, ddof, axis, 1, sum_check)


@of_samples("scipy.stats:combine_pvalues")
def combine_pvalues(pvalues: Traced, method: str = "fisher", weights: ArrayLike | None = None) -> Any:
    n = pvalues.shape[-1]
    if method == "fisher":
        statistic = -2 * np.sum(np.log(pvalues), axis=-1)
        p = sc.chdtrc(2.0 * n, statistic)
    elif method == "pearson":
        statistic = 2 * np.sum(np.log1p(-pvalues), axis=-1)
        p = sc.chdtr(2.0 * n, -statistic)
    elif method == "mudholkar_george":
        factor = math.sqrt(3 / n) / math.pi
        statistic = np.sum(np.log1p(-pvalues) - np.log(pvalues), axis=-1)
        p = _student(5.0 * n + 4)(statistic * math.sqrt((5 * n + 4) / (5 * n + 2)) * factor)
    elif method == "tippett":
        statistic = np.min(pvalues, axis=-1)
        p = -np.expm1(n * np.log1p(-statistic))
    elif method == "stouffer":
        w = np.ones(n) if weights is None else array(weights, (pvalues,))
        statistic = np.sum(w * -sc.ndtri(pvalues), axis=-1) / np.sqrt(np.sum(w * w, axis=-1))
        p = _normal(statistic)
    else:
        raise unsupported(f"scipy.stats.combine_pvalues: method={method!r} is not traced", "method='fisher'")
    return RESULTS.SignificanceResult(statistic, p)


# -------------------------------------------------------------------------------------------------- correlations


def _correlation(x: Traced, y: Traced) -> Any:
    xm, ym = x - np.mean(x, axis=-1, keepdims=True), y - np.mean(y, axis=-1, keepdims=True)
    xm = xm / np.sqrt(np.sum(xm * xm, axis=-1, keepdims=True))
    ym = ym / np.sqrt(np.sum(ym * ym, axis=-1, keepdims=True))
    r = np.sum(xm * ym, axis=-1)
    return np.where(r > 1, 1.0, np.where(r < -1, -1.0, r))[()]


def _correlation_p(r: Traced, n: int, alternative: str) -> Any:
    """The probability by the symmetric beta distribution of r in (−1, 1)."""
    if n == 2:
        return np.ones_like(r)
    a = float(n) / 2 - 1
    return probability(r, lambda r: sc.betainc(a, a, 0.5 * (1 - r)), alternative)


@intercepts("scipy.stats:pearsonr")
def pearsonr(
    x: ArrayLike, y: ArrayLike, *, alternative: str = "two-sided", method: object = None, axis: Axis = 0
) -> Any:
    _refuse_resampling("pearsonr", method=method)
    samples = as_samples([x, y])
    (a, b), _ = on_last_axis(samples, axis)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    n = a.shape[-1]
    if n < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    r = _correlation(a, b)
    given = {"statistic": r, "pvalue": _correlation_p(r, n, alternative), "alternative": alternative, "n": n}
    try:
        return RESULTS.PearsonRResult(**given, x=samples[0], y=samples[1], axis=axis)
    except TypeError:  # SciPy before 1.15
        return RESULTS.PearsonRResult(**given, x=samples[0], y=samples[1])


@of_samples("scipy.stats:pointbiserialr", 2)
def pointbiserialr(x: Traced, y: Traced) -> Any:
    r = _correlation(x, y)
    return RESULTS.SignificanceResult(r, _correlation_p(r, x.shape[-1], "two-sided"))


@intercepts("scipy.stats:spearmanr")
def spearmanr(
    a: ArrayLike,
    b: ArrayLike | None = None,
    axis: Axis = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
) -> Any:
    """A correlation of ranks: its derivative is zero, where it has one."""
    if b is None:
        raise unsupported("scipy.stats.spearmanr of a matrix is not traced", "two samples")
    samples = as_samples([a, b])
    check_nan_policy("spearmanr", nan_policy, samples)
    (x, y), _ = on_last_axis([wg.stop_gradient(s) for s in samples], axis)
    if x.ndim > 1:
        raise unsupported("scipy.stats.spearmanr of a matrix is not traced", "two samples")
    r = np.corrcoef(rankdata(x), rankdata(y))[0, 1]
    df = x.shape[-1] - 2
    t = r * np.sqrt(df / ((r + 1.0) * (1.0 - r)))
    return RESULTS.SignificanceResult(r, probability(t, _student(df), alternative))


@of_samples("scipy.stats:linregress", 2, axis=0)
def linregress(x: Traced, y: Traced, alternative: str = "two-sided") -> Any:
    n = x.shape[-1]
    if n == 0:
        raise ValueError("Inputs must not be empty.")
    if n > 1 and holds(np.all(x == x[..., :1])):
        raise ValueError("Cannot calculate a linear regression if all x values are identical")
    mx, my = np.mean(x, axis=-1), np.mean(y, axis=-1)
    dx, dy = x - mx[..., np.newaxis], y - my[..., np.newaxis]
    sxx, sxy, syy = np.mean(dx * dx, axis=-1), np.mean(dx * dy, axis=-1), np.mean(dy * dy, axis=-1)
    is_flat = syy == 0
    r = np.where(is_flat, np.where(sxy == 0, np.nan, 0.0), sxy / np.sqrt(sxx * np.where(is_flat, 1.0, syy)))
    r = np.where(r > 1.0, 1.0, np.where(r < -1.0, -1.0, r))[()]
    slope = sxy / sxx
    intercept = my - slope * mx
    if n == 2:
        error = intercept_error = 0.0 * slope
        p = np.where(y[..., 0] == y[..., 1], 1.0, 0.0)
    else:
        df, tiny = n - 2, 1.0e-20
        t = r * np.sqrt(df / ((1.0 - r + tiny) * (1.0 + r + tiny)))
        p = probability(t, _student(df), alternative)
        error = np.sqrt((1 - r**2) * syy / sxx / df)
        intercept_error = error * np.sqrt(sxx + mx**2)
    return RESULTS.LinregressResult(
        slope=slope, intercept=intercept, rvalue=r, pvalue=p, stderr=error, intercept_stderr=intercept_error
    )


@intercepts("scipy.stats:siegelslopes")
def siegelslopes(
    y: ArrayLike, x: ArrayLike | None = None, method: str = "hierarchical", *, axis: Axis = None, **policies: Any
) -> Any:
    """Medians of medians of slopes between points.  Source: Siegel (1982), Biometrika 69:1."""
    if method not in ("hierarchical", "separate"):
        raise ValueError("method can only be 'hierarchical' or 'separate'")
    if axis is not None:
        raise unsupported("scipy.stats.siegelslopes: axis= of traced samples is not there", "a call for each sample")
    y = np.ravel(array(y))
    x = np.ravel(array(np.arange(y.size, dtype=float) if x is None else x, (y,)))
    if x.size != y.size:
        raise ValueError("Array shapes are incompatible for broadcasting.")
    if x.size < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    check_nan_policy("siegelslopes", policies.get("nan_policy", "propagate"), [y, x])
    apart = x[:, np.newaxis] - x
    is_apart = apart != 0
    over = lambda z: np.median(np.nanmedian(np.where(is_apart, z / np.where(is_apart, apart, 1.0), np.nan), axis=1))
    slope = over(y[:, np.newaxis] - y)
    intercept = (
        np.median(y - slope * x) if method == "hierarchical" else over(y * x[:, np.newaxis] - y[:, np.newaxis] * x)
    )
    return RESULTS_COMMON.SiegelslopesResult(slope=slope, intercept=intercept)


# --------------------------------------------------------------------------------- distributions fitted to samples


def _fitted(name: str) -> Any:
    """Decorate a fit by formula, called with the data, floc and fscale."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        @intercepts(f"scipy.stats._continuous_distns:{name}_gen.fit")
        def fit(self: object, data: ArrayLike, *args: Any, **kwds: Any) -> Any:
            floc, fscale = kwds.pop("floc", None), kwds.pop("fscale", None)
            if kwds.pop("method", "mle") != "mle":
                raise unsupported(f"scipy.stats.{name}.fit: method='mm' is not traced", "method='mle'")
            for key in ("loc", "scale", "optimizer"):
                kwds.pop(key, None)
            if kwds or args:
                raise TypeError(f"Unknown arguments: {kwds or args}.")
            if floc is not None and fscale is not None:
                raise ValueError("All parameters fixed. There is nothing to optimize.")
            return f(as_samples([data])[0], floc, fscale)

        return f

    return register


@_fitted("norm")
def norm_fit(data: Traced, floc: Any, fscale: Any) -> Any:
    loc = np.mean(data) if floc is None else floc
    return loc, np.sqrt(np.mean((data - loc) ** 2)) if fscale is None else fscale


@_fitted("expon")
def expon_fit(data: Traced, floc: Any, fscale: Any) -> Any:
    loc = np.min(data) if floc is None else floc
    return loc, np.mean(data) - loc if fscale is None else fscale


@_fitted("laplace")
def laplace_fit(data: Traced, floc: Any, fscale: Any) -> Any:
    loc = np.median(data) if floc is None else floc
    return loc, np.sum(np.abs(data - loc)) / data.size if fscale is None else fscale


@_fitted("rayleigh")
def rayleigh_fit(data: Traced, floc: Any, fscale: Any) -> Any:
    if floc is None:
        raise unsupported("scipy.stats.rayleigh.fit: only floc=... is traced", "floc=0")
    return floc, np.sqrt(np.mean((data - floc) ** 2) / 2) if fscale is None else fscale


@_fitted("uniform")
def uniform_fit(data: Traced, floc: Any, fscale: Any) -> Any:
    if fscale is not None:
        span = np.max(data) - np.min(data)
        return np.min(data) - 0.5 * (fscale - span), fscale
    loc = np.min(data) if floc is None else floc
    return loc, np.max(data) - loc
