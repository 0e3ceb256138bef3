"""Reactions, equations of state, batteries."""

import math
from collections import namedtuple
from math import exp, log

import numpy as np
from scipy.interpolate import CubicSpline

from tests.acceptance.programs.entries import BRANCHES, STEPS, program

R = 8.314462618

# ------------------------------------------------------------------------------------------------- kinetics

Reaction = namedtuple("Reaction", "reactants products A Ea")

SPECIES = ["A", "B", "C", "D"]
MECHANISM = [
    Reaction({"A": 1}, {"B": 1}, 2.0e3, 25e3),
    Reaction({"B": 1, "A": 1}, {"C": 1}, 8.0e3, 30e3),
    Reaction({"C": 1}, {"D": 2}, 5.0e2, 22e3),
]


def rate_constant(reaction, T):
    return reaction.A * math.exp(-reaction.Ea / (R * T))


def production(c, T):
    rates = {name: 0.0 for name in SPECIES}
    for reaction in MECHANISM:
        r = rate_constant(reaction, T)
        for name, order in reaction.reactants.items():
            r *= c[SPECIES.index(name)] ** order
        for name, n in reaction.reactants.items():
            rates[name] -= n * r
        for name, n in reaction.products.items():
            rates[name] += n * r
    return np.array([rates[name] for name in SPECIES])


def yield_of_d(T, t_end=3.0, steps=15):
    c, dt = np.array([1.0, 0.0, 0.0, 0.0]), t_end / steps
    for _ in range(steps):
        half = c + 0.5 * dt * production(c, T)
        c = c + dt * production(half, T)
    if np.any(c < -1e-6):
        raise ArithmeticError(f"negative concentrations {c} at {T:.1f} K")
    return c[SPECIES.index("D")]


# ------------------------------------------------------------------------------------------------- Peng-Robinson


class PengRobinson:
    def __init__(self, Tc, Pc, omega):
        self.Tc, self.Pc, self.omega = Tc, Pc, omega
        self.b = 0.07780 * R * Tc / Pc
        self.solved = 0

    def alpha(self, T):
        k = 0.37464 + 1.54226 * self.omega - 0.26992 * self.omega**2
        return (1 + k * (1 - math.sqrt(T / self.Tc))) ** 2

    def compressibility(self, T, P):
        a = 0.45724 * (R * self.Tc) ** 2 / self.Pc * self.alpha(T)
        A, B = a * P / (R * T) ** 2, self.b * P / (R * T)
        Z = 1.0
        while True:
            f = Z**3 - (1 - B) * Z**2 + (A - 3 * B**2 - 2 * B) * Z - (A * B - B**2 - B**3)
            slope = 3 * Z**2 - 2 * (1 - B) * Z + (A - 3 * B**2 - 2 * B)
            step = f / slope
            Z = Z - step
            if abs(step) < 1e-13:
                break
        return Z, A, B

    def fugacity_coefficient(self, T, P):
        Z, A, B = self.compressibility(T, P)
        s = math.sqrt(2)
        return exp(Z - 1 - log(Z - B) - A / (2 * s * B) * log((Z + (1 + s) * B) / (Z + (1 - s) * B)))


methane = PengRobinson(190.56, 4.599e6, 0.011)


def methane_fugacity(state):
    T, P = state
    return methane.fugacity_coefficient(T, P * 1e5)


# ------------------------------------------------------------------------------------------------- flash


def vapour_fraction(K, z=(0.4, 0.35, 0.25)):
    """Rachford-Rice by bisection, then Newton's polish, which carries the derivative."""
    g = lambda v: sum(zi * (ki - 1) / (1 + v * (ki - 1)) for zi, ki in zip(z, K))
    low, high = 0.0, 1.0
    for _ in range(12):
        mid = 0.5 * (low + high)
        low, high = (mid, high) if g(mid) > 0 else (low, mid)
    v = 0.5 * (low + high)
    for _ in range(4):
        slope = -sum(zi * (ki - 1) ** 2 / (1 + v * (ki - 1)) ** 2 for zi, ki in zip(z, K))
        v -= g(v) / slope
    return v


# ------------------------------------------------------------------------------------------------- a titration


def ph_error(pk, volumes=np.linspace(2.0, 18.0, 5), measured=np.array([4.1, 4.6, 5.0, 5.5, 6.9])):
    """A weak acid and a strong base; the charge balance by a fixed number of Newton steps in ln h."""
    ka, kw = 10.0**-pk, 1e-14
    total = 0.0
    for v, seen in zip(volumes, measured):
        acid, base = 0.1 * 20 / (20 + v), 0.1 * v / (20 + v)
        u = -seen * math.log(10)
        for _ in range(25):
            h = math.exp(u)
            f = h + base - kw / h - acid * ka / (ka + h)
            df = h + kw / h + acid * ka * h / (ka + h) ** 2
            u = u - np.clip(f / df, -1.0, 1.0)
        total += (-u / math.log(10) - seen) ** 2
    return total


# ------------------------------------------------------------------------------------------------- a battery

SOC = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
OCV = np.array([3.0, 3.45, 3.6, 3.7, 3.9, 4.05, 4.2])
OCV_SMOOTH = CubicSpline(SOC, OCV)


class Cell:
    def __init__(self, capacity, r0, r1, c1):
        self.capacity, self.r0, self.r1, self.c1 = capacity, r0, r1, c1
        self.soc, self.v1 = 0.9, 0.0
        self.history = []

    def step(self, current, dt):
        self.soc -= current * dt / (3600 * self.capacity)
        self.v1 += dt * (current / self.c1 - self.v1 / (self.r1 * self.c1))
        voltage = np.interp(self.soc, SOC, OCV) - current * self.r0 - self.v1
        self.history.append(voltage)
        return voltage


def voltage_misfit(p, currents=(1.0, 2.0, 0.5, -1.0, 3.0)):
    cell = Cell(**p)
    reference = OCV_SMOOTH(0.8)
    for current in currents:
        for _ in range(3):
            cell.step(current, 60.0)
    return np.mean((np.array(cell.history) - reference) ** 2)


# ------------------------------------------------------------------------------------------------- adsorption


def langmuir_freundlich(p):
    pressure = np.array([0.1, 0.3, 0.7, 1.5, 3.0, 6.0])
    loading = np.array([0.4, 0.9, 1.6, 2.4, 3.0, 3.4])
    model = p["qmax"] * (p["b"] * pressure) ** p["n"] / (1 + (p["b"] * pressure) ** p["n"])
    weights = np.where(pressure < 1.0, 2.0, 1.0)
    return float((weights * (model - loading) ** 2).sum() / weights.sum())


def debye_hueckel(ions, A=0.509):
    """Mean activity of ions given as a list of (charge, concentration)."""
    strength = 0.5 * sum(c * z**2 for z, c in zip((1, -1, 2, -2), ions))
    if strength > 0.5:
        raise ValueError("too concentrated: I = {:.3f}".format(float(strength)))
    return 10 ** (-A * 4 * (math.sqrt(strength) / (1 + math.sqrt(strength)) - 0.3 * strength))


PROGRAMS = [
    program("chemical kinetics", yield_of_d, 330.0),
    program("Peng-Robinson", methane_fugacity, (250.0, 40.0), traces=3, why=STEPS),
    program("flash", vapour_fraction, [2.5, 1.1, 0.4], traces=3, why=BRANCHES),
    program("titration", ph_error, 4.7),
    program("batteries", voltage_misfit, {"capacity": 2.0, "r0": 0.02, "r1": 0.015, "c1": 2000.0}),
    program("adsorption", langmuir_freundlich, {"qmax": 4.0, "b": 0.9, "n": 0.85}),
    program("electrolytes", debye_hueckel, np.array([0.05, 0.03, 0.01, 0.02])),
]
