from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as stats

X = np.array([0.3, 0.7, 1.2])
_INFRASTRUCTURE = "scipy.stats._distn_infrastructure"
_METHODS = ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"]
_DISCRETE = ["pmf", "logpmf", *_METHODS[2:]]

CALLS: dict[str, list[Any]] = {
    **{f"{_INFRASTRUCTURE}.rv_continuous.{m}": [((stats.norm, X / 2), {})] for m in _METHODS},
    **{f"{_INFRASTRUCTURE}.rv_discrete.{m}": [((stats.poisson, X, 1.5), {})] for m in _DISCRETE},
    f"{_INFRASTRUCTURE}.rv_generic.stats": [((stats.gamma, 2.0), {})],
    f"{_INFRASTRUCTURE}.rv_generic.entropy": [((stats.gamma, 2.0), {})],
    "scipy._lib.array_api_extra.apply_where": [((X > 0.5, X, np.log), {"fill_value": 0.0})],
    "scipy._lib._util._lazyselect": [(([X > 0.5], [np.log], (X,)), {})],
}
