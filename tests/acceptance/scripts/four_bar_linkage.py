"""The angles of a four-bar linkage while its crank turns."""

import numpy as np
from scipy.optimize import fsolve

a, b, c, d = 1.0, 3.0, 2.5, 3.2


def loop(q, crank):
    return [
        a * np.cos(crank) + b * np.cos(q[0]) - c * np.cos(q[1]) - d,
        a * np.sin(crank) + b * np.sin(q[0]) - c * np.sin(q[1]),
    ]


q, path = np.array([0.7, 1.5]), []
for crank in np.linspace(0, 2 * np.pi, 36):
    q = fsolve(loop, q, args=(crank,))
    path.append(q)
result = np.array(path)
print(result[:3])
