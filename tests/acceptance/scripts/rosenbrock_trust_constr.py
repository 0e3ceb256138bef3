"""The constrained example of SciPy's tutorial, by trust-constr."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize


def rosen(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0)


def cons_f(x):
    return [x[0] ** 2 + x[1], x[0] ** 2 - x[1]]


linear = LinearConstraint([[1, 2], [2, 1]], [-np.inf, 1], [1, 1])
nonlinear = NonlinearConstraint(cons_f, -np.inf, 1)
bounds = Bounds([0, -0.5], [1.0, 2.0])
res = minimize(rosen, np.array([0.5, 0]), method="trust-constr", constraints=[linear, nonlinear], bounds=bounds)
result = res.x
print(result)
