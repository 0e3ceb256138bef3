from __future__ import annotations

import numpy as np
import scipy.ndimage  # noqa: F401  # so that it is intercepted

CALLS = {
    "scipy.ndimage.generic_filter": [
        ((np.arange(6.0), np.max, 3), {}),
        ((np.arange(6.0).reshape(2, 3), np.mean), {"size": (1, 2), "axes": (0, 1)}),
        ((np.arange(6.0), np.max), {}),
    ],
}
