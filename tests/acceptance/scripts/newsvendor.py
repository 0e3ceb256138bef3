"""How much to order of four goods on one shelf, with demands that are normal."""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

price, cost = np.array([10.0, 8.0, 6.0, 12.0]), np.array([4.0, 3.0, 3.5, 7.0])
mean, sigma = np.array([50.0, 80.0, 60.0, 30.0]), np.array([10.0, 20.0, 5.0, 12.0])


def loss(q):
    z = (q - mean) / sigma
    expected_sales = mean - sigma * (norm.pdf(z) - z * norm.sf(z))
    return np.sum(cost * q - price * expected_sales)


res = minimize(loss, mean, method="SLSQP", constraints={"type": "ineq", "fun": lambda q: 200 - q.sum()})
result = res.x
print(result)
