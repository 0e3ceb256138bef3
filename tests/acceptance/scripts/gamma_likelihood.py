"""Shape and scale of a gamma distribution by maximum likelihood."""

from scipy import stats
from scipy.optimize import minimize

data = stats.gamma.rvs(2.5, scale=1.7, size=300, random_state=1)


def nll(p):
    a, scale = p
    return -stats.gamma.logpdf(data, a, scale=scale).sum()


res = minimize(nll, [1.0, 1.0], bounds=[(1e-3, None), (1e-3, None)])
result = res.x
print(result)
