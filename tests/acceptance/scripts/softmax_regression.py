"""Three classes by softmax regression."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

rng = np.random.default_rng(6)
centres = np.array([[0, 0], [2, 1], [-1, 2]])
label = rng.integers(0, 3, 150)
X = np.column_stack([np.ones(150), centres[label] + 0.8 * rng.normal(size=(150, 2))])


def loss(w):
    scores = X @ w.reshape(3, 3)
    return np.mean(logsumexp(scores, axis=1) - scores[np.arange(150), label]) + 1e-3 * np.sum(w**2)


res = minimize(loss, np.zeros(9), method="L-BFGS-B", options={"ftol": 1e-12, "gtol": 1e-8})
result = res.x
print(res.fun)
