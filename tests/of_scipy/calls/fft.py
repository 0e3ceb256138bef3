from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft  # noqa: F401  # so that it is intercepted

CALLS: dict[str, list[Any]] = {
    "scipy.fft._fftlog_backend.fht": [((np.arange(1.0, 5), 0.3, 0.5), {})],
    "scipy.fft._fftlog_backend.ifht": [((np.arange(1.0, 5), 0.3, 0.5), {})],
    "scipy.fft._fftlog_backend.fhtoffset": [((0.3, 0.5), {})],
}
