"""Kepler's equation for many anomalies at once, by newton."""

import numpy as np
from scipy.optimize import newton

M = np.linspace(0.1, 3.0, 200)
e = 0.6
E = newton(lambda E: E - e * np.sin(E) - M, M + 0.3)
result = E
print(E[:5])
