"""Volatilities that options imply, by newton."""

import numpy as np
from scipy.optimize import newton
from scipy.stats import norm

S, r, T = 100.0, 0.02, 0.5


def call(sigma, K):
    d1 = (np.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * np.sqrt(T))
    return S * norm.cdf(d1) - K * np.exp(-r * T) * norm.cdf(d1 - sigma * np.sqrt(T))


strikes = [80.0, 100.0, 120.0]
prices = [call(0.25, K) for K in strikes]
result = np.array([newton(lambda s: call(s, K) - p, 0.3) for K, p in zip(strikes, prices)])
print(result)
