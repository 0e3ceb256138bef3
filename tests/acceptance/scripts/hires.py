"""The problem HIRES of eight species, by BDF."""

import numpy as np
from scipy.integrate import solve_ivp


def hires(t, y):
    return np.array(
        [
            -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
            1.71 * y[0] - 8.75 * y[1],
            -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
            8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
            -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
            -280 * y[5] * y[7] + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
            280 * y[5] * y[7] - 1.81 * y[6],
            -280 * y[5] * y[7] + 1.81 * y[6],
        ]
    )


sol = solve_ivp(hires, (0, 321.8122), [1, 0, 0, 0, 0, 0, 0, 0.0057], method="BDF", rtol=1e-7, atol=1e-10)
result = sol.y[:, -1]
print(result)
