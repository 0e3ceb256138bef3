"""Populations, genes, nerves, drugs."""

import dataclasses
import math
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, product
from typing import Optional

import numpy as np

from tests.acceptance.programs.entries import program

# ------------------------------------------------------------------------------------------------- predator, prey


def rk4(f, y, t, h, *args):
    k1 = f(t, y, *args)
    k2 = f(t + h / 2, y + h / 2 * k1, *args)
    k3 = f(t + h / 2, y + h / 2 * k2, *args)
    k4 = f(t + h, y + h * k3, *args)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def lotka_volterra(t, y, alpha, beta, delta, gamma):
    prey, predator = y
    return np.array([alpha * prey - beta * prey * predator, delta * prey * predator - gamma * predator])


def hares_and_lynxes(theta):
    y = np.array([10.0, 5.0])
    loss = 0.0
    for k in range(10):
        y = rk4(lotka_volterra, y, 0.2 * k, 0.2, *theta)
        loss += np.log(y / np.array([8.0, 6.0])) @ np.log(y / np.array([8.0, 6.0]))
    return loss / 10


# ------------------------------------------------------------------------------------------------- an epidemic


@dataclass
class Compartments:
    S: float
    E: float
    I: float
    R: float

    @property
    def total(self):
        return self.S + self.E + self.I + self.R

    def __add__(self, other):
        return Compartments(*(getattr(self, f.name) + getattr(other, f.name) for f in dataclasses.fields(self)))


@dataclass(frozen=True)
class Rates:
    beta: float
    sigma: float
    gamma: float
    lockdown: Optional[int] = 12

    def change(self, c, day):
        beta = self.beta * (0.4 if self.lockdown is not None and day >= self.lockdown else 1.0)
        infected = beta * c.S * c.I / c.total
        ill, well = self.sigma * c.E, self.gamma * c.I
        return Compartments(-infected, infected - ill, ill - well, well)


def epidemic_peak(p):
    c = Compartments(990.0, 5.0, 5.0, 0.0)
    rates = Rates(**p)
    course = []
    for day in range(25):
        c = c + rates.change(c, day)
        course.append(c.I)
    return np.log(np.sum(np.exp(np.array(course) / 10.0))) * 10.0  # a soft maximum


# ------------------------------------------------------------------------------------------------- nerves


class HodgkinHuxley:
    C = 1.0
    reversal = {"Na": 50.0, "K": -77.0, "leak": -54.4}

    def __init__(self, g):
        self.g = g

    @staticmethod
    def rates(v):
        am = 0.1 * (v + 40) / (1 - math.exp(-(v + 40) / 10))
        bm = 4 * math.exp(-(v + 65) / 18)
        ah = 0.07 * math.exp(-(v + 65) / 20)
        bh = 1 / (1 + math.exp(-(v + 35) / 10))
        an = 0.01 * (v + 55) / (1 - math.exp(-(v + 55) / 10))
        bn = 0.125 * math.exp(-(v + 65) / 80)
        return (am, bm), (ah, bh), (an, bn)

    def current(self, v, m, h, n):
        return (
            self.g["Na"] * m**3 * h * (v - self.reversal["Na"])
            + self.g["K"] * n**4 * (v - self.reversal["K"])
            + self.g["leak"] * (v - self.reversal["leak"])
        )

    def run(self, stimulus, steps=24, dt=0.05):
        v = -65.2
        gates = [a / (a + b) for a, b in self.rates(v)]
        for _ in range(steps):
            gates = [x + dt * (a * (1 - x) - b * x) for x, (a, b) in zip(gates, self.rates(v))]
            v = v + dt * (stimulus - self.current(v, *gates)) / self.C
            yield v


def mean_potential(g):
    voltages = list(HodgkinHuxley(g).run(stimulus=8.0))
    return sum(voltages) / len(voltages)


def cable_attenuation(radii, resistivity=1.0, leak=0.1):
    """A dendrite of cylinders: a tridiagonal system by elimination, in place."""
    n = len(radii)
    axial = np.array([radii[i] ** 2 * radii[i + 1] ** 2 / (radii[i] ** 2 + radii[i + 1] ** 2) for i in range(n - 1)])
    axial = axial / resistivity
    diagonal = leak * radii
    diagonal[:-1] += axial
    diagonal[1:] += axial
    rhs = np.zeros(n)
    rhs[0] = 1.0
    for i in range(1, n):
        w = -axial[i - 1] / diagonal[i - 1]
        diagonal[i] -= w * -axial[i - 1]
        rhs[i] -= w * rhs[i - 1]
    v = np.empty(n)
    v[-1] = rhs[-1] / diagonal[-1]
    for i in reversed(range(n - 1)):
        v[i] = (rhs[i] + axial[i] * v[i + 1]) / diagonal[i]
    return v[-1] / v[0]


# ------------------------------------------------------------------------------------------------- a tree of life

BASES = "ACGT"


class Node:
    def __init__(self, name=None, children=()):
        self.name, self.children = name, list(children)

    def __iter__(self):
        for child in self.children:
            yield from child
        yield self

    @property
    def is_leaf(self):
        return not self.children


def jukes_cantor(t, rate):
    e = np.exp(-4 * rate * t / 3)
    return np.where(np.eye(4, dtype=bool), 0.25 + 0.75 * e, 0.25 - 0.25 * e)


def conditional(node, site, lengths, rate):
    """Felsenstein's pruning: P(data below | base here)."""
    if node.is_leaf:
        return np.array([1.0 if ALIGNMENT[node.name][site] == b else 0.0 for b in BASES])
    return reduce(
        np.multiply,
        (jukes_cantor(lengths[c.name], rate) @ conditional(c, site, lengths, rate) for c in node.children),
    )


LIFE = Node("root", [Node("great apes", [Node("human"), Node("chimp")]), Node("gorilla")])
ALIGNMENT = {"human": "ACGTA", "chimp": "ACGTC", "gorilla": "ACTTC"}


def tree_likelihood(lengths, rate=1.3):
    pi = np.full(4, 0.25)
    return sum(math.log(pi @ conditional(LIFE, site, lengths, rate)) for site in range(5))


# ------------------------------------------------------------------------------------------------- genes


def allele_after(p, generations=12):
    """Selection, mutation, drift left out; genotypes as a dict of pairs."""
    q, fitness = p["q"], {"AA": 1.0 + p["s"], "Aa": 1.0 + p["h"] * p["s"], "aa": 1.0}
    for _ in range(generations):
        freq = {"AA": q * q, "Aa": 2 * q * (1 - q), "aa": (1 - q) ** 2}
        mean = sum(freq[g] * fitness[g] for g in freq)
        q = (freq["AA"] * fitness["AA"] + 0.5 * freq["Aa"] * fitness["Aa"]) / mean
        q = q * (1 - 1e-3) + (1 - q) * 1e-4
    return q


def coalescent(theta, counts=(7, 3, 2, 1)):
    """Poisson likelihood of a site-frequency spectrum."""
    return -sum(k * math.log(theta / (i + 1)) - theta / (i + 1) - math.lgamma(k + 1) for i, k in enumerate(counts))


def growth_of(matrix):
    """The dominant eigenvalue of a Leslie matrix by powers."""
    L = np.zeros((3, 3))
    L[0] = matrix["births"]
    L[np.arange(1, 3), np.arange(2)] = matrix["survival"]
    n = np.ones(3)
    for _ in range(40):
        n = L @ n
        n /= n.sum()
    return (L @ n).sum()


def foodweb(r, interactions=np.array([[-1.0, -0.3, -0.1], [0.2, -0.8, -0.4], [0.05, 0.3, -0.6]])):
    """Abundances at equilibrium, those that are negative left out."""
    n = np.linalg.solve(interactions, -r)
    alive = n > 0
    return np.sum(np.log1p(n[alive]))


# ------------------------------------------------------------------------------------------------- medicine


def concentration(dose, t, ka, ke, V):
    return np.where(t >= 0, dose * ka / (V * (ka - ke)) * (np.exp(-ke * t) - np.exp(-ka * t)), 0.0)


def pharmacokinetics(p, schedule=((0.0, 100.0), (6.0, 50.0), (12.0, 50.0))):
    t = np.array([1.0, 3.0, 5.0, 7.0, 10.0, 13.0, 18.0])
    model = sum(concentration(d, t - at, p["ka"], p["ke"], p["V"]) for at, d in schedule)
    seen = np.array([3.0, 3.5, 2.9, 3.8, 4.0, 4.9, 3.1])
    return np.sum((np.log(model) - np.log(seen)) ** 2)


def dose_response(p):
    """Four parameters, and doses in a dict of lists."""
    assays = {0.1: [2.0, 3.1], 1.0: [11.0, 9.5], 10.0: [52.0, 48.0], 100.0: [88.0]}
    hill = lambda d: p[0] + (p[1] - p[0]) / (1 + (p[2] / d) ** p[3])
    return np.mean([(hill(d) - y) ** 2 for d, ys in assays.items() for y in ys])


def enzyme_rate(k, substrates=(0.2, 0.5, 1.0, 2.0), inhibitors=(0.0, 0.5)):
    total = 0.0
    for (s, i), v in zip(product(substrates, inhibitors), accumulate([0.1] * 8)):
        total += (k["vmax"] * s / (k["km"] * (1 + i / k["ki"]) + s) - v) ** 2
    return total


PROGRAMS = [
    program("ecology", hares_and_lynxes, [0.55, 0.05, 0.03, 0.6]),
    program("epidemics", epidemic_peak, {"beta": 0.9, "sigma": 0.4, "gamma": 0.2}),
    program("neurons", mean_potential, {"Na": 120.0, "K": 36.0, "leak": 0.3}),
    program("cable theory", cable_attenuation, np.array([2.0, 1.7, 1.2, 0.9, 0.5])),
    program("phylogenetics", tree_likelihood, {"human": 0.1, "chimp": 0.15, "gorilla": 0.3, "great apes": 0.12}),
    program("population genetics", allele_after, {"q": 0.2, "s": 0.1, "h": 0.4}),
    program("coalescents", coalescent, 4.2),
    program("demography", growth_of, {"births": np.array([0.0, 1.3, 0.9]), "survival": np.array([0.6, 0.5])}),
    program("food webs", foodweb, np.array([1.0, 0.4, -0.5])),
    program("pharmacokinetics", pharmacokinetics, {"ka": 0.9, "ke": 0.12, "V": 20.0}),
    program("dose response", dose_response, (1.0, 95.0, 9.0, 1.1)),
    program("enzymes", enzyme_rate, {"vmax": 1.1, "km": 0.4, "ki": 0.3}),
]
