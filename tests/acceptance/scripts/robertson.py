"""Robertson's chemical reaction, by BDF."""

import numpy as np
from scipy.integrate import solve_ivp


def robertson(t, y):
    a, b, c = y
    r1, r2, r3 = 0.04 * a, 1e4 * b * c, 3e7 * b * b
    return np.array([-r1 + r2, r1 - r2 - r3, r3])


sol = solve_ivp(robertson, (0, 1e5), [1.0, 0.0, 0.0], method="BDF", rtol=1e-7, atol=1e-10)
result = sol.y[[0, 2], -1]
print(result, sol.nfev)
