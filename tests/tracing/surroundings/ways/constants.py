"""Numbers and tables of a module, some computed when it is imported."""

from __future__ import annotations

import math

import numpy as np

RATE = 0.5
TWO_PI = 2 * np.pi
LOG_TWO_PI = math.log(2 * math.pi)
TABLE = {"a": 1.5, "b": {"c": 2.5, "d": [1.0, 2.0]}}
KNOTS = np.linspace(0.0, 1.0, 5)
ORDERS = (1, 2, 3)
