"""Markets, options, households, insurance, games."""

import math
from collections import Counter
from enum import Enum
from functools import lru_cache
from math import erf, exp, log, sqrt

import numpy as np
from scipy.stats import norm

from tests.acceptance.programs.entries import STEPS, program

# ------------------------------------------------------------------------------------------------- options


class Kind(Enum):
    CALL = 1
    PUT = -1


def cdf(x):
    return 0.5 * (1.0 + erf(x / sqrt(2.0)))


class Option:
    def __init__(self, strike, expiry, kind=Kind.CALL):
        self.strike, self.expiry, self.kind = strike, expiry, kind

    def price(self, spot, sigma, rate=0.02):
        v = sigma * sqrt(self.expiry)
        d1 = (log(spot / self.strike) + (rate + 0.5 * sigma * sigma) * self.expiry) / v
        d2 = d1 - v
        phi = self.kind.value
        return phi * (spot * cdf(phi * d1) - self.strike * exp(-rate * self.expiry) * cdf(phi * d2))


BOOK = [(Option(100.0, 0.5), 10), (Option(95.0, 0.25, Kind.PUT), -5), (Option(110.0, 1.0), 3)]


def book_value(market):
    return sum(n * option.price(market["spot"], market["vol"]) for option, n in BOOK)


def american_put(sigma, spot=100.0, strike=105.0, rate=0.05, expiry=0.5, steps=8):
    """Cox, Ross and Rubinstein's tree, backward in place."""
    dt = expiry / steps
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(rate * dt) - 1 / up) / (up - 1 / up)
    prices = spot * up ** np.arange(-steps, steps + 1, 2)
    values = np.maximum(strike - prices, 0.0)
    for step in range(steps - 1, -1, -1):
        prices = spot * up ** np.arange(-step, step + 1, 2)
        values = math.exp(-rate * dt) * (p * values[1:] + (1 - p) * values[:-1])
        values = np.maximum(values, strike - prices)
    return float(values[0])


def implied_volatility(price, spot=100.0, strike=102.0, expiry=0.75):
    option = Option(strike, expiry)
    sigma = 0.25
    for _ in range(8):
        v = sigma * sqrt(expiry)
        d1 = (log(spot / strike) + (0.02 + 0.5 * sigma**2) * expiry) / v
        vega = spot * sqrt(expiry) * exp(-0.5 * d1**2) / sqrt(2 * math.pi)
        sigma = sigma - (option.price(spot, sigma) - price) / vega
    return sigma


def asian_option(params, strike=100.0):
    paths = np.random.default_rng(0).standard_normal((16, 6))
    dt = 1 / 6
    growth = (params["mu"] - 0.5 * params["sigma"] ** 2) * dt + params["sigma"] * np.sqrt(dt) * paths
    prices = 100.0 * np.exp(np.cumsum(growth, axis=1))
    return np.mean(np.maximum(prices.mean(axis=1) - strike, 0.0)) * math.exp(-params["mu"])


def portfolio(w, returns=np.random.default_rng(3).normal(0.01, 0.05, (24, 4))):
    w = np.exp(w) / np.exp(w).sum()
    r = returns @ w
    downside = r[r < 0]
    return -r.mean() / np.sqrt(np.mean(downside**2)) + 0.1 * np.sum(w * np.log(w))


def bond_curve(rates, bonds=((1, 0.02, 99.0), (2, 0.03, 99.5), (3, 0.035, 100.2))):
    """Prices of coupon bonds from a curve, linear between its knots."""
    knots = [0.0, 1.0, 2.0, 4.0]
    error = 0.0
    for years, coupon, quoted in bonds:
        price = 0.0
        for k in range(1, 2 * years + 1):
            t = k / 2
            r = np.interp(t, knots, rates)
            price += 100 * (coupon / 2 + (k == 2 * years)) * exp(-r * t)
        error += (price - quoted) ** 2
    return error


# ------------------------------------------------------------------------------------------------- households, firms


class CES:
    def __init__(self, shares, elasticity):
        total = sum(shares)
        self.shares = [s / total for s in shares]
        self.rho = (elasticity - 1) / elasticity

    def __call__(self, goods):
        return sum(s * x**self.rho for s, x in zip(self.shares, goods)) ** (1 / self.rho)

    def demand(self, prices, income):
        sigma = 1 / (1 - self.rho)
        index = sum(s**sigma * p ** (1 - sigma) for s, p in zip(self.shares, prices))
        return [income * s**sigma * p**-sigma / index for s, p in zip(self.shares, prices)]


def welfare(policy):
    utility = CES([2.0, 1.0, 1.0], policy["elasticity"])
    prices = [1.0, 1.2 * (1 + policy["tax"]), 0.8]
    return utility(utility.demand(prices, 10.0))


def steady_state(theta, tol=1e-12):
    """Capital of a growth model: the Euler equation by Newton, until it holds."""
    alpha, beta, delta = theta
    k = 5.0
    residual = 1.0
    while abs(residual) > tol:
        residual = beta * (alpha * k ** (alpha - 1) + 1 - delta) - 1
        k -= residual / (beta * alpha * (alpha - 1) * k ** (alpha - 2))
    return k**alpha - delta * k


def savings_value(beta, n=9):
    """Value iteration on a grid, with a soft choice."""
    grid = np.linspace(0.5, 3.0, n)
    consumption = grid[:, None] * 1.05 + 1.0 - grid[None, :]
    u = np.where(consumption > 0, np.log(np.maximum(consumption, 1e-12)), -1e6)
    V = np.zeros(n)
    for _ in range(25):
        Q = u + beta * V[None, :]
        top = Q.max(axis=1)
        V = top + 0.1 * np.log(np.exp((Q - top[:, None]) / 0.1).sum(axis=1))
    return V[n // 2]


def discrete_choice(theta, choices=("bus", "car", "bus", "bike", "car", "bus")):
    cost = {"bus": 2.0, "car": 4.5, "bike": 0.2}
    time = {"bus": 35.0, "car": 20.0, "bike": 50.0}
    v = {m: theta["cost"] * cost[m] + theta["time"] * time[m] + theta.get(m, 0.0) for m in cost}
    denominator = log(sum(exp(x) for x in v.values()))
    return -sum(n * (v[m] - denominator) for m, n in Counter(choices).items())


def auction_revenue(reserve, values=np.sort(np.random.default_rng(8).uniform(0, 1, (12, 3)), axis=1)):
    """A second-price auction with a reserve, smoothed."""
    highest, second = values[:, -1], values[:, -2]
    sold = 1 / (1 + np.exp(-30 * (highest - reserve)))
    return (sold * np.maximum(second, reserve)).mean()


# ------------------------------------------------------------------------------------------------- insurance


@lru_cache(maxsize=None)
def mortality(table="men"):
    base = {"men": 1.0e-4, "women": 0.7e-4}[table]
    return tuple(1 - math.exp(-base * math.exp(0.09 * age)) for age in range(110))


def annuity(contract, age=64):
    """A pension while alive, and a sum at death; ages from a table."""
    q = mortality("women")
    value, alive, discount = 0.0, 1.0, 1.0
    for k in range(age, len(q)):
        discount /= 1 + contract["rate"]
        value += discount * alive * (contract["pension"] + q[k] * contract["lump"])
        alive *= 1 - q[k]
        if alive < 1e-6:
            break
    return value


def claims_reserve(factors, triangle=((100.0, 150.0, 160.0), (110.0, 170.0), (95.0,))):
    ultimate = []
    for row in triangle:
        amount = row[-1]
        for f in factors[len(row) - 1 :]:
            amount = amount * f
        ultimate.append(amount)
    return sum(ultimate) - sum(row[-1] for row in triangle)


def queue_cost(rates, servers=3):
    """Erlang's formula for a call centre."""
    load = rates["arrival"] / rates["service"]
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    if not load < servers:
        raise ValueError(f"unstable queue, load {load:.2f}")
    waiting = last / (sum(terms) + last)
    return 2.0 * rates["service"] + waiting / (servers * rates["service"] - rates["arrival"])


# ------------------------------------------------------------------------------------------------- games

GAMES = [("anna", "boris", 1.0), ("boris", "carla", 0.5), ("carla", "anna", 0.0), ("anna", "boris", 1.0)]


class Elo:
    def __init__(self, k, scale):
        self.k, self.scale = k, scale
        self.ratings = dict.fromkeys(("anna", "boris", "carla"), 1500.0)

    def expected(self, a, b):
        return 1 / (1 + 10 ** ((self.ratings[b] - self.ratings[a]) / self.scale))

    def play(self, a, b, score):
        p = self.expected(a, b)
        self.ratings[a] += self.k * (score - p)
        self.ratings[b] -= self.k * (score - p)
        return -score * math.log(p) - (1 - score) * math.log1p(-p)


def elo_loss(settings):
    table = Elo(*settings)
    return sum(table.play(*game) for game in GAMES)


def kelly(fraction, odds=((0.55, 1.0), (0.3, 3.0), (0.15, -0.5))):
    return -sum(p * math.log1p(fraction * gain) for p, gain in odds) - math.log(1 - 0.1 * fraction)


def quantile_cost(order, mean=100.0, sd=20.0):
    """A newsvendor: SciPy knows the quantiles, the loss is written out."""
    z = (order - mean) / sd
    best = mean + sd * norm.ppf(0.7)
    density, below = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi), cdf(z)
    return 3.0 * sd * (z * below + density) + 7.0 * sd * (density - z * (1 - below)) + 1e-3 * (order - best) ** 2


PROGRAMS = [
    program("options", book_value, {"spot": 101.0, "vol": 0.22}),
    program("binomial trees", american_put, 0.3),
    program("implied volatility", implied_volatility, 9.3),
    program("Monte Carlo", asian_option, {"mu": 0.05, "sigma": 0.2}),
    program("portfolios", portfolio, np.array([0.1, -0.2, 0.3, 0.0])),
    program("bonds", bond_curve, [0.02, 0.025, 0.03, 0.035]),
    program("consumption", welfare, {"elasticity": 1.7, "tax": 0.15}),
    program("growth", steady_state, (0.33, 0.96, 0.08), traces=3, why=STEPS),
    program("savings", savings_value, 0.93),
    program("discrete choice", discrete_choice, {"cost": -0.3, "time": -0.05, "car": 0.4, "bike": 0.1}),
    program("auctions", auction_revenue, 0.45),
    program("pensions", annuity, {"rate": 0.02, "pension": 12.0, "lump": 100.0}),
    program("reserves", claims_reserve, [1.5, 1.07]),
    program("queues", queue_cost, {"arrival": 2.0, "service": 1.1}),
    program("ratings", elo_loss, [24.0, 400.0]),
    program("betting", kelly, 0.3),
    program("inventories", quantile_cost, 105.0),
]
