from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate  # noqa: F401  # so that it is intercepted


def decay(t: Any, y: Any) -> Any:
    return -np.asarray(y)


CALLS = {
    "scipy.integrate.solve_ivp": [((decay, (0.0, 1.0), [1.0, 2.0]), {}), ((decay, (0.0, 1.0), [1.0]), {"method": "?"})],
    "scipy.integrate.odeint": [((decay, [1.0], [0.0, 0.5]), {"tfirst": True}), ((decay, [1.0]), {})],
}
