"""Likelihoods, filters, survival, sampling."""

import math
from abc import ABC, abstractmethod
from functools import partial
from itertools import combinations

import numpy as np
from scipy.special import expit, gammaln, log_ndtr, logsumexp

from tests.acceptance.programs.entries import program

LOG_2PI = np.log(2 * np.pi)

# ------------------------------------------------------------------------------------------------- state space


class KalmanFilter:
    def __init__(self, F, H, Q, R):
        self.F, self.H, self.Q, self.R = F, H, Q, R

    def predict(self, x, P):
        return self.F @ x, self.F @ P @ self.F.T + self.Q

    def update(self, x, P, z):
        S = self.H @ P @ self.H.T + self.R
        K = P @ self.H.T @ np.linalg.inv(S)
        y = z - self.H @ x
        loglik = -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(S)[1] + len(y) * LOG_2PI)
        return x + K @ y, (np.eye(len(x)) - K @ self.H) @ P, loglik


def tracking_likelihood(noise, measurements, dt=0.5):
    F = np.array([[1.0, dt], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    q = np.exp(noise["process"])
    Q = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    kf = KalmanFilter(F, H, Q, np.exp(noise["sensor"]) * np.eye(1))
    x, P, total = np.zeros(2), np.eye(2), 0.0
    for z in measurements:
        x, P = kf.predict(x, P)
        if not np.isnan(z):  # a measurement that is missing
            x, P, loglik = kf.update(x, P, np.atleast_1d(z))
            total += loglik
    return -total


# ------------------------------------------------------------------------------------------------- Gaussian process


class Kernel(ABC):
    @abstractmethod
    def __call__(self, a, b): ...

    def __add__(self, other):
        return Sum(self, other)

    def __mul__(self, other):
        return Product(self, other)


class Sum(Kernel):
    def __init__(self, *parts):
        self.parts = parts

    def __call__(self, a, b):
        return sum(k(a, b) for k in self.parts)


class Product(Sum):
    def __call__(self, a, b):
        value = self.parts[0](a, b)
        for k in self.parts[1:]:
            value = value * k(a, b)
        return value


class RBF(Kernel):
    def __init__(self, variance, scale):
        self.variance, self.scale = variance, scale

    def __call__(self, a, b):
        return self.variance * np.exp(-0.5 * np.subtract.outer(a, b) ** 2 / self.scale**2)


class Periodic(Kernel):
    def __init__(self, period):
        self.period = period

    def __call__(self, a, b):
        return np.exp(-2 * np.sin(np.pi * np.abs(a[:, None] - b[None, :]) / self.period) ** 2)


def gp_likelihood(log_params):
    variance, scale, period, noise = np.exp(log_params)
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 5, 8))
    y = np.sin(2 * x) + 0.1 * rng.standard_normal(8)
    kernel = RBF(variance, scale) * Periodic(period) + RBF(0.3, 2.0)
    try:
        L = np.linalg.cholesky(kernel(x, x) + noise * np.eye(len(x)))
    except np.linalg.LinAlgError:
        return np.inf
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return 0.5 * y @ alpha + np.sum(np.log(np.diag(L))) + 0.5 * len(x) * np.log(2 * np.pi)


# ------------------------------------------------------------------------------------------------- hidden Markov


def hmm_forward(params, observed=(0, 2, 1, 1, 0, 2, 2)):
    """The forward algorithm in logarithms."""
    log_A = params["A"] - logsumexp(params["A"], axis=1, keepdims=True)
    log_B = params["B"] - logsumexp(params["B"], axis=1, keepdims=True)
    alpha = -math.log(2) + log_B[:, observed[0]]
    for o in observed[1:]:
        alpha = logsumexp(alpha[:, np.newaxis] + log_A, axis=0) + log_B[:, o]
    return -float(logsumexp(alpha))


# ------------------------------------------------------------------------------------------------- time series


def garch(theta, returns=0.01 * np.array([1.2, -0.4, 0.3, -2.1, 1.9, 0.2, -0.8, 0.5])):
    omega, alpha, beta = (math.exp(t) for t in theta)
    h = np.empty(len(returns))
    h[0] = returns.var()
    for t in range(1, len(h)):
        h[t] = omega + alpha * returns[t - 1] ** 2 + beta * h[t - 1]
    return 0.5 * np.sum(np.log(h) + returns**2 / h)


def arma_css(coefficients):
    ar, ma = coefficients["ar"], coefficients["ma"]
    y = np.cos(np.arange(12) ** 1.3)
    e = [0.0, 0.0]
    for t in range(2, len(y)):
        forecast = sum(a * y[t - 1 - i] for i, a in enumerate(ar)) + sum(m * e[t - 1 - i] for i, m in enumerate(ma))
        e.append(y[t] - forecast)
    return np.mean(np.square(e[2:]))


# ------------------------------------------------------------------------------------------------- survival


def cox_partial_likelihood(beta, X, times, events):
    order = np.argsort(-times)
    eta = (X @ beta)[order]
    risk = np.log(np.cumsum(np.exp(eta)))
    return -np.sum((eta - risk)[events[order] == 1])


def weibull_censored(p, patients=((2.0, True), (5.0, False), (3.3, True), (7.0, True), (1.0, False))):
    shape, scale = p["shape"], p["scale"]
    loglik = 0.0
    for t, died in patients:
        if died:
            loglik += math.log(shape / scale) + (shape - 1) * math.log(t / scale)
        loglik -= (t / scale) ** shape
    return -loglik


# ------------------------------------------------------------------------------------------------- regression


def logistic_regression(w, X, y, penalty=0.1):
    z = X @ w[:-1] + w[-1]
    return np.mean(np.logaddexp(0, z) - y * z) + penalty * np.dot(w[:-1], w[:-1])


def poisson_counts(w, X, counts):
    mu = np.exp(np.clip(X @ w, -10, 10))
    return np.sum(mu - counts * np.log(mu) + gammaln(counts + 1.0))


def probit(w, X, y):
    s = np.where(y > 0, 1.0, -1.0)
    return -log_ndtr(s * (X @ w)).sum()


def huber(r, delta=1.0):
    a = np.abs(r)
    return np.where(a <= delta, 0.5 * r**2, delta * (a - 0.5 * delta))


def robust_line(p, x=np.arange(6.0), y=np.array([0.1, 1.2, 1.9, 9.0, 4.2, 5.1])):
    return huber(y - (p["slope"] * x + p["level"])).sum()


def mixture_of_gaussians(p, data):
    weights = np.exp(p["logits"]) / np.sum(np.exp(p["logits"]))
    total = 0.0
    for x in data:
        parts = [
            w * math.exp(-0.5 * ((x - m) / s) ** 2) / (s * math.sqrt(2 * math.pi))
            for w, m, s in zip(weights, p["means"], np.exp(p["logs"]))
        ]
        total += math.log(sum(parts))
    return -total / len(data)


def rank_correlation(w, X=np.array([[1.0, 0.2], [0.3, 0.9], [0.5, 0.4], [0.1, 0.7]]), scale=0.2):
    """A smooth Kendall's tau against a fixed order."""
    score = X @ w
    pairs = list(combinations(range(len(score)), 2))
    return np.mean([np.tanh((score[j] - score[i]) / scale) for i, j in pairs])


# ------------------------------------------------------------------------------------------------- sampling


def metropolis_estimate(log_scale, n=12):
    """A chain with its draws fixed: the path of accepted steps is a constant of the neighbourhood."""
    rng = np.random.RandomState(4)
    scale = math.exp(log_scale)
    log_density = lambda x: -0.5 * x * x / scale**2
    x, total = 0.5, 0.0
    for step, u in zip(rng.normal(size=n), rng.rand(n)):
        candidate = x + 0.7 * step * scale
        if math.log(u) < log_density(candidate) - log_density(x):
            x = candidate
        total += x * x
    return total / n


def importance_weights(shift):
    draws = np.random.default_rng(42).normal(size=30)
    logw = -shift * draws - 0.5 * shift**2
    w = np.exp(logw - np.max(logw))
    w /= w.sum()
    ess = 1 / np.sum(w**2)
    return np.log(ess) + w @ draws


def variational_bound(q, n=8):
    eps = np.random.default_rng(1).standard_normal((n, 2))
    z = q["mean"] + np.exp(q["logsd"]) * eps
    log_joint = -0.5 * np.sum(z**2, axis=1) + np.log(expit(3 * z[:, 0] - z[:, 1]))
    return np.mean(log_joint) + np.sum(q["logsd"]) + 0.5 * z.shape[1] * (1 + LOG_2PI)


rng = np.random.default_rng(2)
X = rng.normal(size=(10, 3))
Y = (X @ [1.0, -0.5, 0.2] + 0.3 * rng.normal(size=10) > 0).astype(float)
COX = partial(cox_partial_likelihood, X=X, times=rng.exponential(size=10), events=(rng.random(10) < 0.7).astype(int))

PROGRAMS = [
    program(
        "Kalman filter",
        tracking_likelihood,
        {"process": -1.0, "sensor": -2.0},
        np.array([0.2, 0.4, np.nan, 1.3, 1.4, 2.2]),
    ),
    program("Gaussian process", gp_likelihood, np.log([1.0, 1.2, 3.0, 0.1])),
    program(
        "hidden Markov model",
        hmm_forward,
        {"A": np.array([[1.0, -0.5], [0.2, 0.4]]), "B": np.array([[0.5, 0.1, -0.3], [-1.0, 0.6, 0.8]])},
    ),
    program("volatility", garch, [-9.5, -1.8, -0.4]),
    program("time series", arma_css, {"ar": [0.5, -0.2], "ma": [0.3]}),
    program("Cox model", COX, np.array([0.3, -0.2, 0.5])),
    program("survival", weibull_censored, {"shape": 1.4, "scale": 4.0}),
    program("logistic regression", logistic_regression, np.array([0.3, -0.2, 0.1, 0.05]), X, Y),
    program("count data", poisson_counts, np.array([0.3, -0.2, 0.1]), X, np.arange(10) % 4),
    program("probit", probit, np.array([0.3, -0.2, 0.1]), X, Y),
    program("robust regression", robust_line, {"slope": 0.93, "level": 0.21}),
    program(
        "mixture of Gaussians",
        mixture_of_gaussians,
        {"logits": np.array([0.1, -0.2]), "means": np.array([-1.0, 1.5]), "logs": np.array([0.0, -0.3])},
        [-1.4, -0.7, 0.2, 1.1, 1.8, 2.0],
    ),
    program("ranking", rank_correlation, np.array([0.7, -0.3])),
    program("Metropolis", metropolis_estimate, 0.1),
    program("importance sampling", importance_weights, 0.6),
    program(
        "variational inference", variational_bound, {"mean": np.array([0.2, -0.1]), "logsd": np.array([-0.5, 0.1])}
    ),
]
