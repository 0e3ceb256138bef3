"""A probit model, by scipy.special."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr

rng = np.random.default_rng(18)
X = np.column_stack([np.ones(250), rng.normal(size=(250, 2))])
y = np.where(X @ [0.2, 1.0, -0.5] + rng.normal(size=250) > 0, 1, -1)
result = minimize(lambda b: -log_ndtr(y * (X @ b)).sum(), np.zeros(3)).x
print(result)
