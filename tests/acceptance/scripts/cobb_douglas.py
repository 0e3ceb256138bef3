"""The cheapest inputs that make a given output."""

import numpy as np
from scipy.optimize import NonlinearConstraint, minimize

w = np.array([2.0, 3.0, 1.5])
a = np.array([0.3, 0.4, 0.3])
output = NonlinearConstraint(lambda x: np.prod(x**a), 10.0, np.inf)
res = minimize(lambda x: w @ x, [20.0, 20.0, 20.0], method="SLSQP", bounds=[(1e-3, None)] * 3, constraints=output)
result = res.x
print(result)
