"""A model as a class, whose method is minimised."""

import numpy as np
from scipy.optimize import minimize


class Ridge:
    def __init__(self, X, y, penalty):
        self.X, self.y, self.penalty = X, y, penalty

    def loss(self, w):
        r = self.X @ w - self.y
        return r @ r / len(r) + self.penalty * (w @ w)

    def fit(self):
        self.w = minimize(self.loss, np.zeros(self.X.shape[1]), method="BFGS").x
        return self


rng = np.random.default_rng(22)
X = rng.normal(size=(80, 5))
y = X @ np.arange(5.0) + 0.1 * rng.normal(size=80)
result = np.array([Ridge(X, y, penalty).fit().w for penalty in (0.0, 0.1, 1.0)])
print(result)
