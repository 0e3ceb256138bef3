from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special  # so that it is intercepted

X = np.array([0.25, 0.5])

CALLS: dict[str, list[Any]] = {
    "scipy.special.diric": [((X, 3), {}), ((X, 0), {})],
    "scipy.special.lqn": [((3, 0.25), {})],
    "scipy.special.lqmn": [((2, 3, 0.25), {})],
    "scipy.special.riccati_jn": [((3, 0.25), {})],
    "scipy.special.riccati_yn": [((3, 0.25), {})],
    "scipy.special.lmbda": [((2.5, 0.25), {})],
    "scipy.special.pbdv_seq": [((2.5, 0.25), {})],
    "scipy.special.pbvv_seq": [((2.5, 0.25), {})],
    "scipy.special.pbdn_seq": [((2, 0.25), {})],
}
if hasattr(scipy.special, "sph_harm_y"):  # since SciPy 1.15
    CALLS |= {
        "scipy.special.legendre_p": [((2, X), {}), ((2, X), {"diff_n": 1})],
        "scipy.special.legendre_p_all": [((2, X), {})],
        "scipy.special.assoc_legendre_p": [((2, 1, X), {"norm": True})],
        "scipy.special.assoc_legendre_p_all": [((2, 1, X), {})],
        "scipy.special.sph_legendre_p": [((2, 1, X), {})],
        "scipy.special.sph_legendre_p_all": [((2, 1, X), {})],
        "scipy.special.sph_harm_y": [((2, 1, X, X), {})],
        "scipy.special.sph_harm_y_all": [((2, 1, X, X), {})],
    }
