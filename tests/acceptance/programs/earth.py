"""The ground, the sea, the air, and where one is."""

import math
from functools import lru_cache
from math import asin, atan2, cos, degrees, radians, sin, sqrt, tan

import numpy as np

from tests.acceptance.programs.entries import STEPS, program

EARTH_RADIUS = 6371.0


# ------------------------------------------------------------------------------------------------- geodesy


def haversine(a, b):
    (lat1, lon1), (lat2, lon2) = (map(radians, p) for p in (a, b))
    h = sin((lat2 - lat1) / 2) ** 2 + cos(lat1) * cos(lat2) * sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS * asin(min(1.0, sqrt(h)))


def tour_length(harbours):
    return sum(haversine(a, b) for a, b in zip(harbours, harbours[1:]))


class Ellipsoid:
    a = 6378137.0
    f = 1 / 298.257223563

    @property
    def b(self):
        return self.a * (1 - self.f)

    def vincenty(self, lat1, lon1, lat2, lon2, tol=1e-12):
        U1 = math.atan((1 - self.f) * tan(radians(lat1)))
        U2 = math.atan((1 - self.f) * tan(radians(lat2)))
        L = radians(lon2 - lon1)
        lam, count = L, 0
        while True:
            sin_sigma = math.hypot(cos(U2) * sin(lam), cos(U1) * sin(U2) - sin(U1) * cos(U2) * cos(lam))
            cos_sigma = sin(U1) * sin(U2) + cos(U1) * cos(U2) * cos(lam)
            sigma = atan2(sin_sigma, cos_sigma)
            sin_alpha = cos(U1) * cos(U2) * sin(lam) / sin_sigma
            cos2_alpha = 1 - sin_alpha**2
            cos_2m = cos_sigma - 2 * sin(U1) * sin(U2) / cos2_alpha
            C = self.f / 16 * cos2_alpha * (4 + self.f * (4 - 3 * cos2_alpha))
            before = lam
            lam = L + (1 - C) * self.f * sin_alpha * (
                sigma + C * sin_sigma * (cos_2m + C * cos_sigma * (-1 + 2 * cos_2m**2))
            )
            count += 1
            if abs(lam - before) < tol or count > 100:
                break
        u2 = cos2_alpha * (self.a**2 - self.b**2) / self.b**2
        A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
        B = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
        delta = B * sin_sigma * (cos_2m + B / 4 * (cos_sigma * (-1 + 2 * cos_2m**2)))
        return self.b * A * (sigma - delta) / 1000


WGS84 = Ellipsoid()


def geodesic(p):
    return WGS84.vincenty(*p)


# ------------------------------------------------------------------------------------------------- GPS


def receiver_offset(ranges):
    """Where a receiver is, and how wrong its clock, from ranges to five satellites: Gauss-Newton."""
    satellites = 20.0 * np.array(
        [[0.0, 0.6, 0.8], [0.7, 0.1, 0.7], [-0.6, 0.3, 0.75], [0.1, -0.7, 0.7], [0.3, 0.2, 0.93]]
    )
    state = np.zeros(4)
    for _ in range(6):
        away = state[:3] - satellites
        distance = np.sqrt(np.einsum("ij,ij->i", away, away))
        J = np.hstack([away / distance[:, None], np.ones((5, 1))])
        r = ranges - (distance + state[3])
        state = state + np.linalg.solve(J.T @ J, J.T @ r)
    return np.sum(state[:3] ** 2) + state[3]


# ------------------------------------------------------------------------------------------------- seismology


def travel_time(velocities, depths=np.array([1.0, 2.0, 1.5, 3.0]), offset=4.0):
    """Shoot a ray through layers: the ray parameter that reaches the offset, by Newton; then its time."""
    p = 0.05
    for _ in range(12):
        s = velocities * p
        c = np.sqrt(1 - s**2)
        reached = np.sum(depths * s / c)
        slope = np.sum(depths * velocities / c**3)
        p = p + (offset - reached) / slope
    return np.sum(depths / (velocities * np.sqrt(1 - (velocities * p) ** 2)))


# ------------------------------------------------------------------------------------------------- gravity


class Prism:
    G = 6.674e-3

    def __init__(self, left, right, top, bottom):
        self.left, self.right, self.top, self.bottom = left, right, top, bottom

    def anomaly(self, x, density):
        """Of a long prism, at the surface."""
        g = 0.0
        for edge, sign in ((self.right, 1), (self.left, -1)):
            d = edge - x
            for depth, other in ((self.bottom, 1), (self.top, -1)):
                g += sign * other * (d * np.log(np.hypot(d, depth)) + depth * np.arctan2(d, depth))
        return 2 * self.G * density * g


BODIES = [Prism(-2.0, -0.5, 0.5, 1.5), Prism(0.3, 1.2, 0.8, 3.0)]
STATIONS = np.linspace(-4.05, 4.05, 9)
OBSERVED = 3e-3 * np.exp(-(STATIONS**2) / 4)


def gravity_misfit(densities):
    modelled = sum(body.anomaly(STATIONS, rho) for body, rho in zip(BODIES, densities))
    return 1e4 * np.mean((modelled - OBSERVED) ** 2)


# ------------------------------------------------------------------------------------------------- ocean

EOS80 = {
    "rho": [999.842594, 6.793952e-2, -9.095290e-3, 1.001685e-4, -1.120083e-6, 6.536332e-9],
    "A": [8.24493e-1, -4.0899e-3, 7.6438e-5, -8.2467e-7, 5.3875e-9],
    "B": [-5.72466e-3, 1.0227e-4, -1.6546e-6],
    "C": 4.8314e-4,
}


def horner(coefficients, t):
    value = 0.0
    for c in reversed(coefficients):
        value = value * t + c
    return value


def sea_density(salinity, temperature):
    A, B = horner(EOS80["A"], temperature), horner(EOS80["B"], temperature)
    return horner(EOS80["rho"], temperature) + A * salinity + B * salinity**1.5 + EOS80["C"] * salinity**2


def stability(column):
    """Squared buoyancy frequency, summed over a column of water."""
    rho = np.array([sea_density(s, t) for s, t in zip(column["salinity"], column["temperature"])])
    return -9.81 / 1025.0 * -np.sum(np.diff(rho) * np.array([1.0, 0.5, 0.25]))


# ------------------------------------------------------------------------------------------------- air


@lru_cache(maxsize=None)
def standard_atmosphere():
    z = np.array([0.0, 11000.0, 20000.0, 32000.0])
    return z, np.array([288.15, 216.65, 216.65, 228.65])


def pressure_at(surface, height=9000.0, n=20):
    """The hydrostatic equation upward through a table of temperatures, with the surface's own warmth on top."""
    z, T = standard_atmosphere()
    dz = height / n
    p = surface["pressure"]
    for k in range(n):
        h = (k + 0.5) * dz
        layer = np.searchsorted(z, h) - 1
        lapse = (T[layer + 1] - T[layer]) / (z[layer + 1] - z[layer])
        temperature = T[layer] + lapse * (h - z[layer]) + surface["warmth"] * math.exp(-h / 2000.0)
        p *= math.exp(-9.80665 * dz / (287.05 * temperature))
    return p


def wet_bulb(air):
    """Temperature of a wet bulb, by the secant method until it stands still."""
    T, humidity = air
    saturation = lambda t: 6.112 * math.exp(17.67 * t / (t + 243.5))
    vapour = humidity / 100 * saturation(T)
    f = lambda t: saturation(t) - vapour - 0.66 * (T - t)
    a, b = T - 15.0, T
    fa, fb = f(a), f(b)
    for _ in range(50):
        if abs(b - a) < 1e-8:
            return b
        a, b, fa = b, b - fb * (b - a) / (fb - fa), fb
        fb = f(b)
    raise RuntimeError("no convergence, last at {}".format(b))


# ------------------------------------------------------------------------------------------------- ground water


def drawdown(p, wells=((0.0, 0.0, 1.2), (3.0, 1.0, 0.7))):
    """Theis' solution by the series of the well function."""

    def well_function(u):
        total, term = -0.5772156649015329 - math.log(u), u
        for n in range(1, 25):
            total += (-1) ** (n + 1) * term / n
            term *= u / (n + 1)
        return total

    s = 0.0
    for x, y, rate in wells:
        r = math.dist((x, y), (1.0, 0.5))
        u = r**2 * p["storativity"] / (4 * p["transmissivity"] * 2.0)
        s += rate / (4 * math.pi * p["transmissivity"]) * well_function(u)
    return s


def runoff(p, rain=np.array([0.0, 5.0, 20.0, 3.0, 0.0, 0.0, 8.0, 1.0])):
    """A bucket that leaks and overflows, hour by hour."""
    store, routed, peak = p["start"], [], 0.0
    for r in rain:
        store = store + r
        spill = np.maximum(store - p["capacity"], 0.0)
        leak = p["k"] * store
        store = store - spill - leak
        routed.append(spill + leak)
    flow = np.convolve(routed, [0.5, 0.3, 0.2])
    return np.sum(flow**2) / len(rain) + peak


def bearing(p):
    """Initial course between two places, in degrees from north."""
    lat1, lon1, lat2, lon2 = [radians(v) for v in p]
    y = sin(lon2 - lon1) * cos(lat2)
    x = cos(lat1) * sin(lat2) - sin(lat1) * cos(lat2) * cos(lon2 - lon1)
    return (degrees(atan2(y, x)) + 360.0) % 360.0


PROGRAMS = [
    program("navigation", tour_length, [(53.5, 10.0), (51.9, 4.5), (51.5, -0.1)]),
    program("courses", bearing, [53.5, 10.0, 40.6, -73.8]),
    program("geodesics", geodesic, [50.07, -5.71, 58.64, -3.07], traces=3, why=STEPS),
    program("satellite navigation", receiver_offset, np.array([19.5, 20.1, 19.2, 19.9, 19.7])),
    program("seismology", travel_time, np.array([2.0, 3.1, 4.0, 5.2])),
    program("gravimetry", gravity_misfit, [0.3, 0.5]),
    program("oceanography", stability, {"salinity": [34.1, 34.5, 34.7, 34.9], "temperature": [18.0, 14.0, 9.0, 5.0]}),
    program("atmosphere", pressure_at, {"pressure": 1013.0, "warmth": 3.0}),
    program("meteorology", wet_bulb, [25.0, 40.0], traces=3, why=STEPS),
    program("ground water", drawdown, {"storativity": 0.02, "transmissivity": 0.8}),
    program("hydrology", runoff, {"start": 4.0, "capacity": 15.0, "k": 0.1}),
]
