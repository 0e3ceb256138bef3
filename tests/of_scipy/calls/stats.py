from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as stats

X = np.array([0.3, 0.7, 1.2])
_INFRASTRUCTURE = "scipy.stats._distn_infrastructure"
_METHODS = ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"]
_DISCRETE = ["pmf", "logpmf", *_METHODS[2:]]

_P, _A, _M, _S = np.array([0.2, 0.3, 0.5]), np.array([1.5, 2.0, 3.0]), np.ones((2, 3)), np.eye(3) + 0.5
_PLACES = ("_lib", "_external")
_E, _K = np.array([0.6, 0.8]), np.array([1, 2, 3])

_MULTIVARIATE: dict[str, dict[str, tuple[Any, ...]]] = {
    "multivariate_normal": dict.fromkeys(["pdf", "logpdf"], (X, X, _S))
    | dict.fromkeys(["cdf", "logcdf"], (X[:2], X[:2], _S[:2, :2]))
    | {"entropy": (X, _S), "rvs": (X, _S, 2, 1)},
    "multivariate_t": dict.fromkeys(["pdf", "logpdf"], (X, X, _S, 3))
    | {"cdf": (X, X, _S, 3), "entropy": (X, _S, 3), "rvs": (X, _S, 3, 2, 1)},
    "matrix_normal": dict.fromkeys(["pdf", "logpdf"], (_M, _M, np.eye(2), _S)) | {"entropy": (np.eye(2), _S)},
    "matrix_t": dict.fromkeys(["pdf", "logpdf"], (_M, _M, np.eye(2), _S, 3)) | {"rvs": (_M, np.eye(2), _S, 3, 1, 1)},
    "dirichlet": dict.fromkeys(["pdf", "logpdf"], (_P, _A))
    | dict.fromkeys(["mean", "var", "cov", "entropy"], (_A,))
    | {"rvs": (_A, 1, 1)},
    "wishart": dict.fromkeys(["pdf", "logpdf"], (_S, 7, _S))
    | dict.fromkeys(["mean", "mode", "var", "entropy"], (7, _S))
    | {"rvs": (7, _S, 2, 1)},
    "invwishart": dict.fromkeys(["pdf", "logpdf"], (_S, 7, _S))
    | dict.fromkeys(["mean", "mode", "var", "entropy"], (7, _S))
    | {"rvs": (7, _S, 2, 1)},
    "multinomial": dict.fromkeys(["pmf", "logpmf"], (_K, 6, _P))
    | dict.fromkeys(["mean", "cov", "entropy"], (6, _P))
    | {"rvs": (6, _P, 2, 1)},
    "dirichlet_multinomial": dict.fromkeys(["pmf", "logpmf"], (_K, _A, 6))
    | dict.fromkeys(["mean", "var", "cov"], (_A, 6)),
    "vonmises_fisher": dict.fromkeys(["pdf", "logpdf"], (_E, _E, 2.0)) | {"entropy": (_E, 2.0), "rvs": (_E, 2.0, 2, 1)},
    "normal_inverse_gamma": dict.fromkeys(["pdf", "logpdf"], (0.5, 1.0, 0.0, 1.0, 3.0, 2.0))
    | dict.fromkeys(["mean", "var"], (0.0, 1.0, 3.0, 2.0)),
}
_PARAMETERS = {
    "multivariate_normal": (X, _S),
    "multivariate_t": (X, _S, 3),
    "matrix_normal": (_M, np.eye(2), _S),
    "matrix_t": (_M, np.eye(2), _S, 3),
    "dirichlet": (_A,),
    "wishart": (7, _S),
    "invwishart": (7, _S),
    "multinomial": (6, _P),
    "dirichlet_multinomial": (_A, 6),
    "vonmises_fisher": (_E, 2.0),
    "normal_inverse_gamma": (0.0, 1.0, 3.0, 2.0),
}


def _multivariate() -> dict[str, list[Any]]:
    place, found = "scipy.stats._multivariate", {}
    for name, methods in _MULTIVARIATE.items():
        d = getattr(stats, name, None)
        if d is None:
            continue
        parameters = _PARAMETERS[name]
        for method, args in methods.items():
            found[f"{place}.{name}_gen.{method}"] = [((d, *args), {})]
        found[f"{place}.{name}_gen.__call__"] = [((d, *parameters), {})]
        for method in [m for m in methods if m.removeprefix("log") in ("pdf", "pmf", "cdf")]:
            count = len(methods[method]) - len(parameters)
            first, frozen = methods[method][:count], d(*methods[method][count:])
            found[f"{place}.{name}_frozen.{method}"] = [((frozen, *first), {})]
    return found


_ROWS = np.arange(1.0, 25).reshape(12, 2) ** 1.3 % 7 + 1
_ONE = "gmean hmean skew kurtosis sem variation gstd describe tmean tvar tstd tsem tmin tmax iqr median_abs_deviation"
_ONE += (
    " rankdata zscore gzscore circmean circvar circstd entropy differential_entropy skewtest kurtosistest normaltest"
)
_ONE += " jarque_bera chisquare power_divergence moment"
_TWO = "zmap ttest_ind ttest_rel f_oneway bartlett levene"
_PAIRS = "wasserstein_distance energy_distance pearsonr pointbiserialr spearmanr linregress siegelslopes"
_FITTED = "norm expon laplace uniform"
_OWN: dict[str, tuple[Any, ...]] = {
    "pmean": (_ROWS, 2),
    "trim_mean": (_ROWS, 0.1),
    "trimboth": (_ROWS, 0.1),
    "boxcox": (X, 0.5),
    "boxcox_llf": (0.5, X),
    "yeojohnson": (X, 0.5),
    "yeojohnson_llf": (0.5, X),
    "ttest_1samp": (_ROWS, 1.0),
    "ttest_ind_from_stats": (1.0, 1.0, 5, 2.0, 1.0, 6),
    "combine_pvalues": (_P,),
}


def _of_samples() -> dict[str, list[Any]]:
    found: dict[str, Any] = dict.fromkeys(_ONE.split(), (_ROWS,))
    found |= dict.fromkeys(_TWO.split(), (_ROWS, _ROWS**0.5))
    found |= dict.fromkeys(_PAIRS.split(), (_ROWS[:, 0], _ROWS[:, 1]))
    calls = {f"scipy.stats.{name}": [(args, {})] for name, args in (found | _OWN).items()}
    place = "scipy.stats._continuous_distns"
    calls |= {f"{place}.{name}_gen.fit": [((getattr(stats, name), X), {})] for name in _FITTED.split()}
    return calls | {f"{place}.rayleigh_gen.fit": [((stats.rayleigh, X), {"floc": 0})]}


_NEW = {"UnivariateDistribution.cache_policy.fget": [((stats.Normal(),), {})]} if hasattr(stats, "Normal") else {}
CALLS: dict[str, list[Any]] = {
    **{f"scipy.stats._distribution_infrastructure.{name}": calls for name, calls in _NEW.items()},
    **_of_samples(),
    **_multivariate(),
    **{f"{_INFRASTRUCTURE}.rv_continuous.{m}": [((stats.norm, X / 2), {})] for m in _METHODS},
    **{f"{_INFRASTRUCTURE}.rv_discrete.{m}": [((stats.poisson, X, 1.5), {})] for m in _DISCRETE},
    f"{_INFRASTRUCTURE}.rv_generic.stats": [((stats.gamma, 2.0), {})],
    "scipy.stats.rv_continuous.expect": [((stats.gamma, None, (2.0,)), {}), ((stats.norm, np.square), {"lb": 0.0})],
    f"{_INFRASTRUCTURE}.rv_generic.entropy": [((stats.gamma, 2.0), {})],
    f"{_INFRASTRUCTURE}.rv_generic.moment": [((stats.gamma, 2, 2.0), {}), ((stats.gamma, -1, 2.0), {})],
    "scipy._lib.array_api_extra.apply_where": [((X > 0.5, X, np.log), {"fill_value": 0.0})],
    "scipy._external.array_api_extra.apply_where": [((X > 0.5, X, np.log), {"fill_value": 0.0})],
    **{f"scipy.{place}.array_api_compat.common._helpers.is_writeable_array": [((X,), {})] for place in _PLACES},
    "scipy._lib._util._lazywhere": [((X > 0.5, (X,), np.log, 0.0), {})],
    "scipy._lib._util._lazyselect": [(([X > 0.5], [np.log], (X,)), {})],
}
_DENSITY = stats.gaussian_kde(X)
CALLS |= {f"scipy.stats.gaussian_kde.{name}": [((_DENSITY, X), {})] for name in ("evaluate", "logpdf")}
