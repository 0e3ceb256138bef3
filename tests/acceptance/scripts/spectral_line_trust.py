"""Newton's method in a region of trust, which asks for second derivatives by a function that has them."""

import numpy as np
from scipy.optimize import minimize, rosen, rosen_der

res = minimize(rosen, np.full(8, 0.5), method="Newton-CG", jac=rosen_der, options={"xtol": 1e-8})
result = res.x
print(result)
