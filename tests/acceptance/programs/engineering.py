"""Machines, structures, flows, networks of power and traffic."""

import logging
import math
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from types import SimpleNamespace

import numpy as np
from scipy.special import roots_legendre

from tests.acceptance.programs.entries import STEPS, program

logger = logging.getLogger("engineering")

# ------------------------------------------------------------------------------------------------- finite elements


def poisson_1d(k, n=8):
    """-(k u')' = 1 with a coefficient per element and Gauss' quadrature of the load."""
    nodes = np.linspace(0, 1, n + 1)
    xi, weights = np.polynomial.legendre.leggauss(2)
    A, f = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    for e in range(n):
        h = nodes[e + 1] - nodes[e]
        A[e : e + 2, e : e + 2] += k[e] / h * np.array([[1, -1], [-1, 1]])
        for x, w in zip(xi, weights):
            shape = np.array([(1 - x) / 2, (1 + x) / 2])
            f[e : e + 2] += w * h / 2 * shape
    inner = slice(1, -1)
    u = np.zeros(n + 1)
    u[inner] = np.linalg.solve(A[inner, inner], f[inner])
    return f @ u


class TriangleMesh:
    def __init__(self, n):
        g = np.linspace(0, 1, n + 1)
        self.points = np.array([(x, y) for y in g for x in g])
        corner = [j * (n + 1) + i for j in range(n) for i in range(n)]
        self.triangles = [(c, c + 1, c + n + 1) for c in corner] + [(c + 1, c + n + 2, c + n + 1) for c in corner]
        self.boundary = np.flatnonzero(np.any((self.points == 0) | (self.points == 1), axis=1))
        self.interior = np.setdiff1d(np.arange(len(self.points)), self.boundary)

    def stiffness(self, conductivity):
        K = np.zeros((len(self.points), len(self.points)))
        for number, tri in enumerate(self.triangles):
            xy = self.points[list(tri)]
            B = np.array([xy[1] - xy[0], xy[2] - xy[0]])
            G = np.linalg.solve(B, np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]]))
            K[np.ix_(tri, tri)] += conductivity[number % len(conductivity)] * 0.5 * abs(np.linalg.det(B)) * G.T @ G
        return K


PLATE = TriangleMesh(3)


def plate_temperature(conductivity):
    i = PLATE.interior
    K = PLATE.stiffness(conductivity)
    T = np.linalg.solve(K[np.ix_(i, i)], np.full(len(i), 1 / 9))
    return T.mean()


# ------------------------------------------------------------------------------------------------- flow


def panel_lift(params, n=10):
    """Vortices on the camber line of an aerofoil."""
    alpha, camber = params["alpha"], params["camber"]
    edges = np.linspace(0, 1, n + 1)
    vortex, control = edges[:-1] + 0.25 / n, edges[:-1] + 0.75 / n
    slope = camber * 4 * (1 - 2 * control)
    influence = 1 / (2 * np.pi * (control[:, None] - vortex[None, :]))
    gamma = np.linalg.solve(influence, np.sin(alpha - np.arctan(slope)))
    return 2 * np.sum(gamma)


POLAR = {
    "alpha": np.radians([-10, -5, 0, 5, 10, 15]),
    "cl": np.array([-0.8, -0.3, 0.25, 0.8, 1.25, 1.3]),
    "cd": np.array([0.03, 0.012, 0.01, 0.012, 0.02, 0.06]),
}


def propeller_thrust(blade, rpm=2000.0, speed=10.0):
    """Blade elements with tables of lift and drag, and induction by fixed-point steps."""
    radius = np.linspace(0.2, 0.8, 5)
    omega = rpm * 2 * np.pi / 60
    thrust = 0.0
    for r, twist, chord in zip(radius, blade["twist"], blade["chord"]):
        a = 0.0
        for _ in range(4):
            v_axial, v_round = speed * (1 + a), omega * r
            phi = math.atan2(v_axial, v_round)
            cl = np.interp(twist - phi, POLAR["alpha"], POLAR["cl"])
            cd = np.interp(twist - phi, POLAR["alpha"], POLAR["cd"])
            cn = cl * math.cos(phi) - cd * math.sin(phi)
            sigma = 2 * chord / (2 * math.pi * r)
            a = 0.5 * a + 0.5 * sigma * cn / (4 * math.sin(phi) ** 2)
        thrust += 0.5 * 1.225 * (v_axial**2 + v_round**2) * chord * cn * 2 * 0.15
    return thrust


def friction_factor(Re, roughness):
    """Colebrook, until it stands still."""
    f = 0.02
    while True:
        new = (-2 * math.log10(roughness / 3.7 + 2.51 / (Re * math.sqrt(f)))) ** -2
        if abs(new - f) < 1e-12:
            return new
        f = new


def pipe_pressure(pipe):
    Re = pipe["velocity"] * pipe["diameter"] / 1e-6
    if Re < 2300:
        f = 64 / Re
    else:
        f = friction_factor(Re, 1e-3)
    logger.info("friction factor %s", f)
    return f * 100.0 / pipe["diameter"] * 1000 * pipe["velocity"] ** 2 / 2 / 1e5


STEAM = np.array(
    [  # °C, kPa, kJ/kg of the liquid, kJ/kg of the steam
        [100.0, 101.4, 419.2, 2675.6],
        [150.0, 476.2, 632.2, 2745.9],
        [200.0, 1554.9, 852.3, 2792.0],
        [250.0, 3976.2, 1085.7, 2801.0],
        [300.0, 8587.9, 1344.8, 2749.6],
    ]
)


class SteamTable:
    columns = {"T": 0, "p": 1, "hf": 2, "hg": 3}

    def __getitem__(self, name):
        return STEAM[:, self.columns[name]]

    def lookup(self, wanted, **known):
        ((name, value),) = known.items()
        return np.interp(value, self[name], self[wanted])


def turbine_work(cycle):
    table = SteamTable()
    T_hot = table.lookup("T", p=cycle["p_hot"])
    h1 = table.lookup("hg", T=T_hot)
    quality = 0.95 - 0.05 * cycle["loss"]
    h2 = table.lookup("hf", p=cycle["p_cold"]) * (1 - quality) + table.lookup("hg", p=cycle["p_cold"]) * quality
    return h1 - h2


# ------------------------------------------------------------------------------------------------- power


def power_flow(loads):
    """Newton's method on the angles and voltages of three buses."""
    Y = np.array([[0.0, 10.0, 8.0], [10.0, 0.0, 5.0], [8.0, 5.0, 0.0]])
    P, Q = -np.asarray(loads["P"]), -np.asarray(loads["Q"])
    theta, V = np.zeros(3), np.ones(3)

    def mismatch(state):
        th, v = np.concatenate([[0.0], state[:2]]), np.concatenate([[1.0], state[2:]])
        d = th[:, None] - th[None, :]
        p = np.sum(v[:, None] * v[None, :] * Y * np.sin(d), axis=1)
        q = v**2 * Y.sum(axis=1) - np.sum(v[:, None] * v[None, :] * Y * np.cos(d), axis=1)
        return np.concatenate([p[1:] - P, q[1:] - Q])

    state = np.concatenate([theta[1:], V[1:]])
    for _ in range(5):
        th, v = np.concatenate([[0.0], state[:2]]), np.concatenate([[1.0], state[2:]])
        C = v[:, None] * v[None, :] * Y * np.cos(th[:, None] - th[None, :])
        S = v[:, None] * v[None, :] * Y * np.sin(th[:, None] - th[None, :])
        J = np.zeros((4, 4))
        J[:2, :2] = (np.diag(C.sum(1)) - C)[1:, 1:]
        J[:2, 2:] = (np.diag(S.sum(1) / v) + S / v[None, :])[1:, 1:]
        J[2:, :2] = (np.diag(S.sum(1)) - S)[1:, 1:]
        J[2:, 2:] = (np.diag(2 * v * Y.sum(1) - C.sum(1) / v) - C / v[None, :])[1:, 1:]
        state = state - np.linalg.solve(J, mismatch(state))
    return state[2] * state[3] - 0.1 * state[0]


def solar_yield(panel, hours=range(6, 19)):
    """A panel through a day: the sun behind the horizon or behind the panel gives nothing."""
    tilt, azimuth = panel
    energy = 0.0
    for hour in hours:
        elevation = math.radians(60) * math.sin(math.pi * (hour - 6) / 12)
        if elevation <= 0:
            continue
        sun = math.radians(15 * (hour - 12))
        incidence = math.sin(elevation) * math.cos(tilt) + math.cos(elevation) * math.sin(tilt) * math.cos(
            sun - azimuth
        )
        energy += max(0.0, incidence) * 0.7 ** (1 / math.sin(elevation) ** 0.678)
    return energy


# ------------------------------------------------------------------------------------------------- traffic


@dataclass(frozen=True)
class Driver:
    v0: float = 30.0
    T: float = 1.5
    a: float = 1.0
    b: float = 2.0
    s0: float = 2.0

    def acceleration(self, gap, v, dv):
        wanted = self.s0 + max(0.0, v * self.T + v * dv / (2 * math.sqrt(self.a * self.b)))
        return self.a * (1 - (v / self.v0) ** 4 - (wanted / gap) ** 2)


def platoon_comfort(behaviour, cars=4, steps=15, dt=0.3):
    driver = replace(Driver(), **behaviour)
    assert set(behaviour) <= asdict(driver).keys()
    x = [-25.0 * k for k in range(cars)]
    v = [20.0] * cars
    discomfort = 0.0
    for step in range(steps):
        a = [-2.0 if step < 5 else 0.5]
        for k in range(1, cars):
            a.append(driver.acceleration(x[k - 1] - x[k] - 5.0, v[k], v[k] - v[k - 1]))
        x = [xi + dt * vi for xi, vi in zip(x, v)]
        v = [vi + dt * ai for vi, ai in zip(v, a)]
        discomfort += sum(ai * ai for ai in a[1:]) * dt
    return discomfort


def road_network(tolls, demand=6.0):
    """Users of three roads spread by a logit of their times; congestion by fixed-point iteration."""
    free, capacity = np.array([10.0, 15.0, 12.0]), np.array([2.0, 4.0, 3.0])
    flow = np.full(3, demand / 3)
    for _ in range(25):
        time = free * (1 + 0.15 * (flow / capacity) ** 4)
        u = -0.3 * (time + tolls)
        share = np.exp(u - u.max()) / np.exp(u - u.max()).sum()
        flow = 0.7 * flow + 0.3 * demand * share
    return flow @ (free * (1 + 0.15 * (flow / capacity) ** 4))


# ------------------------------------------------------------------------------------------------- design


@lru_cache
def quadrature(n):
    return roots_legendre(n)


def antenna_gain(excitations, spacing=0.5):
    x, w = quadrature(16)
    theta = 0.5 * np.pi * (x + 1)
    n = np.arange(len(excitations))
    phase = 2 * np.pi * spacing * np.outer(np.cos(theta), n)
    field2 = (np.cos(phase) @ excitations) ** 2 + (np.sin(phase) @ excitations) ** 2
    return np.sum(excitations) ** 2 / (0.25 * np.pi * np.sum(w * field2 * np.sin(theta)))


CONFIG = {"material": {"E": 210e3, "yield": 235.0}, "safety": 1.5, "shape": "tube"}


def column_margin(section, config=CONFIG, length=2000.0, load=5e4):
    """Buckling or yielding, whichever comes first; the configuration is a dict of dicts."""
    if config["shape"] == "tube":
        d, t = section["d"], section["t"]
        area, inertia = math.pi * (d - t) * t, math.pi / 64 * (d**4 - (d - 2 * t) ** 4)
    else:
        area, inertia = section["b"] ** 2, section["b"] ** 4 / 12
    euler = math.pi**2 * config["material"]["E"] * inertia / length**2
    plastic = config["material"]["yield"] * area
    return min(euler, plastic) / (config["safety"] * load) - 1


def vibration(design, omegas=np.array([0.5, 1.0, 1.5])):
    """A tuned mass damper: the largest answer, softly; the state in a namespace."""
    p = SimpleNamespace(mu=design[0], f=design[1], zeta=design[2])
    answers = []
    for g in omegas:
        re = (p.f**2 - g**2) * (1 - g**2) - p.mu * p.f**2 * g**2
        im = 2 * p.zeta * p.f * g * (1 - g**2 * (1 + p.mu))
        answers.append(np.sqrt(((p.f**2 - g**2) ** 2 + (2 * p.zeta * p.f * g) ** 2) / (re**2 + im**2)))
    return np.logaddexp.reduce(np.array(answers)) if hasattr(np.logaddexp, "reduce") else max(answers)


simple_plate = partial(poisson_1d, n=5)

PROGRAMS = [
    program("finite elements", simple_plate, np.array([1.0, 2.0, 1.5, 0.7, 1.2])),
    program("finite elements in a plane", plate_temperature, np.array([1.0, 2.0, 0.5])),
    program("aerodynamics", panel_lift, {"alpha": 0.08, "camber": 0.02}),
    program(
        "propellers", propeller_thrust, {"twist": [0.9, 0.6, 0.4, 0.31, 0.25], "chord": [0.08, 0.1, 0.09, 0.07, 0.05]}
    ),
    program("pipes", pipe_pressure, {"velocity": 1.5, "diameter": 0.1}, traces=3, why=STEPS),
    program("steam", turbine_work, {"p_hot": 3000.0, "p_cold": 300.0, "loss": 0.4}),
    program("power grid", power_flow, {"P": [0.8, 0.5], "Q": [0.3, 0.2]}),
    program("solar power", solar_yield, [0.5, 0.1]),
    program("traffic", platoon_comfort, {"T": 1.4, "a": 1.2, "b": 1.8}),
    program("road pricing", road_network, np.array([1.0, 0.5, 0.2])),
    program("antennas", antenna_gain, np.array([1.0, 1.5, 1.4, 0.8])),
    program("columns", column_margin, {"d": 60.0, "t": 4.0}),
    program("vibration", vibration, [0.1, 0.9, 0.2]),
]
