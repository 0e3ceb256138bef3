"""Orbits, coordinates, cosmology."""

import math
from collections import OrderedDict

import numpy as np
from numpy import arctan2, cos, sin, sqrt
from scipy.integrate import cumulative_trapezoid

from tests.acceptance.programs.entries import STEPS, program


def eccentric_anomaly(M, e, tol=1e-14):
    """Kepler's equation by Newton's method until the step vanishes."""
    E = M if e < 0.8 else math.pi
    for _ in range(100):
        step = (E - e * math.sin(E) - M) / (1 - e * math.cos(E))
        E -= step
        if abs(step) < tol:
            return E
    raise ArithmeticError(f"no convergence for e={e}, M={M}")


class Orbit:
    def __init__(self, a, e, omega, t0, period=1.0):
        self.a, self.e, self.omega, self.t0, self.period = a, e, omega, t0, period

    def mean_anomaly(self, t):
        return 2 * math.pi * math.fmod(t - self.t0, self.period) / self.period

    def position(self, t):
        E = eccentric_anomaly(self.mean_anomaly(t), self.e)
        nu = 2 * math.atan2(math.sqrt(1 + self.e) * math.sin(E / 2), math.sqrt(1 - self.e) * math.cos(E / 2))
        r = self.a * (1 - self.e * math.cos(E))
        return r * math.cos(nu + self.omega), r * math.sin(nu + self.omega)


def orbit_misfit(elements):
    orbit = Orbit(*elements)
    seen = {0.1: (0.7, 0.5), 0.35: (-0.9, 0.7)}
    total = 0.0
    for t, (x, y) in seen.items():
        px, py = orbit.position(t)
        total += (px - x) ** 2 + (py - y) ** 2
    return total


def radial_velocity_chi2(params, times=np.linspace(0.0, 30.0, 12)):
    """All times at once, a fixed number of steps."""
    K, e, omega, period, tau = (params[k] for k in ("K", "e", "omega", "period", "tau"))
    M = 2 * np.pi * (times - tau) / period
    E = M + e * sin(M)
    for _ in range(6):
        E = E - (E - e * sin(E) - M) / (1 - e * cos(E))
    nu = 2 * arctan2(sqrt(1 + e) * sin(E / 2), sqrt(1 - e) * cos(E / 2))
    rng = np.random.default_rng(0)
    data = 50 * cos(2 * np.pi * times / 7.0) + rng.normal(0, 3, times.size)
    sigma = np.full_like(times, 3.0)
    return np.sum(((K * (cos(nu + omega) + e * cos(omega)) - data) / sigma) ** 2) / len(times)


def galactic(equatorial):
    """Right ascension and declination into galactic longitude, by the matrix of the two systems."""
    ra, dec = np.deg2rad(equatorial)
    v = np.array([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])
    turn = np.array(
        [
            [-0.0548755604, -0.8734370902, -0.4838350155],
            [0.4941094279, -0.4448296300, 0.7469822445],
            [-0.8676661490, -0.1980763734, 0.4559837762],
        ]
    )
    g = turn @ v
    return np.degrees(np.arctan2(g[1], g[0])) + 0.1 * np.degrees(np.arcsin(g[2]))


def supernova_fit(cosmology, z=np.array([0.1, 0.3, 0.5, 0.8])):
    """Distance moduli: the integral of 1/E on a grid, interpolated."""
    grid = np.linspace(0.0, 1.0, 41)
    E = np.sqrt(cosmology["Om"] * (1 + grid) ** 3 + (1 - cosmology["Om"]) * (1 + grid) ** (3 * (1 + cosmology["w"])))
    steps = 0.5 * (1 / E[1:] + 1 / E[:-1]) * np.diff(grid)
    comoving = np.concatenate([[0.0], np.cumsum(steps)])
    distance = (1 + z) * np.interp(z, grid, comoving)
    mu = 5 * np.log10(distance) + 43.2 - 5 * np.log10(cosmology["h"] / 0.7)
    check = cumulative_trapezoid(np.ones_like(grid), grid, initial=0)
    assert check[-1] == 1.0
    return np.sum((mu - np.array([38.2, 40.8, 42.2, 43.5])) ** 2 / 0.02)


def light_curve(planet, times=np.linspace(-0.12, 0.12, 13)):
    """A transit: where the planet is before the star, by masks."""
    z = np.sqrt(planet["b"] ** 2 + (planet["a"] * times) ** 2)
    k = planet["k"]
    flux = np.ones(times.shape)
    inside = z < 1 - k
    edge = (z >= 1 - k) & (z < 1 + k)
    mu = np.sqrt(1 - z[inside] ** 2)
    flux[inside] -= k**2 * (1 - 0.4 * (1 - mu))
    zc = z[edge]
    k0 = np.arccos((k**2 + zc**2 - 1) / (2 * k * zc))
    k1 = np.arccos((1 - k**2 + zc**2) / (2 * zc))
    area = k**2 * k0 + k1 - 0.5 * np.sqrt(4 * zc**2 - (1 + zc**2 - k**2) ** 2)
    flux[edge] = flux[edge] - area / np.pi
    return np.sum((flux - 0.995) ** 2) * 1e4


def polytrope_mass(index, n=40):
    """Lane-Emden outward; the star has no surface before the grid ends."""
    theta, slope, xi, h = 1.0, 0.0, 1e-3, 0.03
    mass = 0.0
    for _ in range(n):
        slope += h * (-(theta**index) - 2 * slope / xi)
        theta += h * slope
        xi += h
        mass += h * xi**2 * theta**index
    return mass


STARS = OrderedDict(sirius=(101.3, -16.7), vega=(279.2, 38.8))

PROGRAMS = [
    program("orbits", orbit_misfit, [1.2, 0.3, 0.4, 0.05], traces=3, why=STEPS),
    program("radial velocities", radial_velocity_chi2, {"K": 48.0, "e": 0.1, "omega": 0.2, "period": 7.1, "tau": 0.1}),
    program("celestial coordinates", galactic, np.array(STARS["vega"]), also=[(np.array(STARS["sirius"]),)]),
    program("cosmology", supernova_fit, {"Om": 0.3, "w": -1.0, "h": 0.7}),
    program("transits", light_curve, {"b": 0.3, "a": 9.0, "k": 0.1}),
    program("stellar structure", polytrope_mass, 3.0),
]
