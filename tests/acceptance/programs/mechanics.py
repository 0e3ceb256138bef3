"""Bodies that move: rigid, elastic, connected, controlled."""

import logging
import math
from dataclasses import dataclass, field
from functools import reduce
from math import cos, sin, sqrt

import numpy as np

from tests.acceptance.programs.entries import program

log = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------------------ n-body, leapfrog


class System:
    G = 1.0
    softening = 0.05

    def __init__(self, masses):
        self.masses = np.asarray(masses)

    def accelerations(self, q):
        a = np.zeros_like(q)
        for i in range(len(self.masses)):
            for j in range(len(self.masses)):
                if i != j:
                    d = q[j] - q[i]
                    r2 = np.dot(d, d) + self.softening**2
                    a[i] += self.G * self.masses[j] * d / (r2 * np.sqrt(r2))
        return a

    def energy(self, q, v):
        kinetic = 0.5 * np.sum(self.masses * np.sum(v**2, axis=1))
        potential = 0.0
        for i, mi in enumerate(self.masses):
            for j in range(i):
                potential -= self.G * mi * self.masses[j] / np.linalg.norm(q[i] - q[j])
        return kinetic + potential


SUN_AND_TWO = System([1.0, 0.1, 0.05])


def distance_after_orbit(v0, q0, dt=0.05, steps=6):
    q, v = q0.copy(), v0.copy()
    a = SUN_AND_TWO.accelerations(q)
    for _ in range(steps):
        v = v + 0.5 * dt * a
        q = q + dt * v
        a = SUN_AND_TWO.accelerations(q)
        v = v + 0.5 * dt * a
    return np.linalg.norm(q[1] - q[2]) + 0.1 * SUN_AND_TWO.energy(q, v)


# ------------------------------------------------------------------------------------------------- quaternions


class Quaternion:
    __slots__ = ("w", "x", "y", "z")

    def __init__(self, w, x, y, z):
        self.w, self.x, self.y, self.z = w, x, y, z

    @classmethod
    def about(cls, axis, angle):
        n = math.sqrt(sum(c * c for c in axis))
        s = math.sin(angle / 2) / n
        return cls(math.cos(angle / 2), axis[0] * s, axis[1] * s, axis[2] * s)

    def __mul__(self, other):
        return Quaternion(
            self.w * other.w - self.x * other.x - self.y * other.y - self.z * other.z,
            self.w * other.x + self.x * other.w + self.y * other.z - self.z * other.y,
            self.w * other.y - self.x * other.z + self.y * other.w + self.z * other.x,
            self.w * other.z + self.x * other.y - self.y * other.x + self.z * other.w,
        )

    @property
    def conjugate(self):
        return Quaternion(self.w, -self.x, -self.y, -self.z)

    def rotate(self, v):
        r = self * Quaternion(0.0, *v) * self.conjugate
        return np.array([r.x, r.y, r.z])


def pointing_error(angles, target):
    """Euler angles z-x-z of a telescope against the direction of its target."""
    turns = [Quaternion.about(axis, a) for axis, a in zip([(0, 0, 1), (1, 0, 0), (0, 0, 1)], angles)]
    q = reduce(lambda p, r: p * r, turns)
    seen = q.rotate([0.3, -0.2, 1.0])
    assert isinstance(seen, np.ndarray), f"a direction, not {type(seen)}"
    return float(np.sum((seen - target) ** 2))


# ------------------------------------------------------------------------------------------------- rigid body


def euler_equations(omega, inertia, torque=np.zeros(3)):
    return (torque - np.cross(omega, inertia * omega)) / inertia


def spin_energy_drift(omega0, inertia):
    """Torque-free precession by the classical Runge-Kutta method."""
    omega, dt = omega0, 0.05
    for _ in range(8):
        k1 = euler_equations(omega, inertia)
        k2 = euler_equations(omega + dt / 2 * k1, inertia)
        k3 = euler_equations(omega + dt / 2 * k2, inertia)
        k4 = euler_equations(omega + dt * k3, inertia)
        omega = omega + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return omega @ (inertia * omega) + omega[0] * omega[2]


# ------------------------------------------------------------------------------------------------- a robot's arm

DH_TABLE = [  # a, alpha, d of each joint
    {"a": 0.0, "alpha": math.pi / 2, "d": 0.4},
    {"a": 0.5, "alpha": 0.0, "d": 0.0},
    {"a": 0.3, "alpha": -math.pi / 2, "d": 0.1},
    {"a": 0.1, "alpha": 0.0, "d": 0.05},
]


def link(theta, a, alpha, d):
    ct, st, ca, sa = cos(theta), sin(theta), cos(alpha), sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0.0, sa, ca, d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def reach(thetas, goal):
    T = np.eye(4)
    for theta, joint in zip(thetas, DH_TABLE):
        T = T @ link(theta, **joint)
    away = T[:3, 3] - goal
    return sqrt(away[0] ** 2 + away[1] ** 2 + away[2] ** 2)


# ------------------------------------------------------------------------------------------------- a truss

JOINTS = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.5, 0.8], [1.5, 0.8]])
BARS = [(0, 1), (1, 2), (0, 3), (1, 3), (1, 4), (2, 4), (3, 4)]


def truss_compliance(areas, load=10.0, E=200.0):
    n = 2 * len(JOINTS)
    K = np.zeros((n, n))
    for (i, j), area in zip(BARS, areas):
        d = JOINTS[j] - JOINTS[i]
        L = np.hypot(*d)
        c = np.concatenate([-d, d]) / L
        dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        K[np.ix_(dofs, dofs)] += E * area / L * np.outer(c, c)
    fixed = {0, 1, 5}
    free = [k for k in range(n) if k not in fixed]
    f = np.zeros(n)
    f[3] = -load
    u = np.linalg.solve(K[np.ix_(free, free)], f[free])
    return f[free] @ u


# ------------------------------------------------------------------------------------------------- a beam


class Beam:
    """Euler-Bernoulli, Hermite elements, clamped at the left."""

    def __init__(self, length, n):
        self.n = n
        self.h = length / n
        self.assembled = 0

    def element(self, EI):
        h = self.h
        return (
            EI
            / h**3
            * np.array(
                [
                    [12, 6 * h, -12, 6 * h],
                    [6 * h, 4 * h**2, -6 * h, 2 * h**2],
                    [-12, -6 * h, 12, -6 * h],
                    [6 * h, 2 * h**2, -6 * h, 4 * h**2],
                ]
            )
        )

    def tip(self, EI, load):
        K = np.zeros((2 * self.n + 2, 2 * self.n + 2))
        for e in range(self.n):
            K[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += self.element(EI[e])
        f = np.zeros(2 * self.n + 2)
        f[0::2] = load * self.h
        u = np.zeros_like(f)
        u[2:] = np.linalg.solve(K[2:, 2:], f[2:])
        return u[-2]


cantilever = Beam(2.0, 4)


# ------------------------------------------------------------------------------------------------- cloth


@dataclass
class Cloth:
    n: int = 3
    k: float = 30.0
    mass: float = 0.1
    springs: list = field(default_factory=list)

    def __post_init__(self):
        for i in range(self.n):
            for j in range(self.n):
                if i + 1 < self.n:
                    self.springs.append(((i, j), (i + 1, j)))
                if j + 1 < self.n:
                    self.springs.append(((i, j), (i, j + 1)))

    def forces(self, x, rest):
        f = np.zeros(x.shape)
        f[..., 2] -= 9.81 * self.mass
        for a, b in self.springs:
            d = x[b] - x[a]
            length = np.sqrt((d**2).sum())
            pull = self.k * (length - rest) * d / length
            f[a] += pull
            f[b] -= pull
        return f


def sag(rest, cloth):
    gx, gy = np.meshgrid(np.arange(cloth.n) * 1.0, np.arange(cloth.n) * 1.0, indexing="ij")
    x = np.stack([gx, gy, np.zeros_like(gx)], axis=-1)
    v = np.zeros_like(x)
    for _ in range(4):
        v += 0.02 / cloth.mass * cloth.forces(x, rest)
        v[0, :] = 0.0  # hung up by one edge
        v *= 0.98
        x = x + 0.02 * v
    return x[..., 2].mean() + 0.1 * x[-1, -1, 0]


FABRIC = Cloth()


def sag_of_fabric(rest):
    return sag(rest, FABRIC)


# ------------------------------------------------------------------------------------------------- a pendulum on a cart


class PID:
    def __init__(self, kp, ki, kd):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.integral = 0.0
        self.last = None

    def __call__(self, error, dt):
        self.integral += error * dt
        slope = 0.0 if self.last is None else (error - self.last) / dt
        self.last = error
        return self.kp * error + self.ki * self.integral + self.kd * slope


def balancing_cost(gains, theta0=0.1, dt=0.02):
    controller = PID(*gains)
    theta, omega, cost = theta0, 0.0, 0.0
    for step in range(25):
        u = controller(-theta, dt)
        omega += dt * (9.81 * math.sin(theta) + u * math.cos(theta))
        theta += dt * omega
        cost += (theta**2 + 1e-4 * u**2) * dt
        if abs(theta) > math.pi / 2:
            log.warning("fell over at step %d", step)
            return cost + 10.0
    log.debug("cost %s", cost)
    return cost


# ------------------------------------------------------------------------------------------------- linear-quadratic


def lqr_gain_cost(params, x0):
    """The Riccati recursion to its fixed point, then the cost of the closed loop."""
    damping, stiffness, effort = params["damping"], params["stiffness"], params["effort"]
    A = np.array([[1.0, 0.1], [-0.1 * stiffness, 1.0 - 0.1 * damping]])
    B = np.array([[0.0], [0.1]])
    Q, R = np.diag([1.0, 0.1]), effort * np.eye(1)
    P = Q
    for _ in range(40):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
    return x0 @ P @ x0


def mpc_cost(u, x0, horizon=5):
    A, B = np.array([[1.0, 0.2], [0.0, 1.0]]), np.array([0.02, 0.2])
    x, cost = x0, 0.0
    for k in range(horizon):
        x = A @ x + B * np.tanh(u[k])
        cost += x @ x + 0.1 * u[k] ** 2
        cost += np.maximum(x[0] - 1.2, 0.0) ** 2  # a wall
    return cost


# ------------------------------------------------------------------------------------------------- rockets


@dataclass(frozen=True)
class Stage:
    thrust: float
    flow: float
    dry: float
    fuel: float


STAGES = (Stage(400.0, 1.6, 2.0, 8.0), Stage(90.0, 0.35, 0.5, 2.5))


def apogee(pitch, stages=STAGES, dt=0.5):
    """Stages burn out one after the other; the times do not depend on the pitch."""
    x = y = vx = vy = 0.0
    for number, stage in enumerate(stages):
        fuel = stage.fuel
        above = sum(s.dry + s.fuel for s in stages[number + 1 :])
        while fuel > 0.0:
            mass = stage.dry + fuel + above
            drag = 0.002 * math.exp(-y / 800.0) * math.hypot(vx, vy)
            vx += dt * (stage.thrust * math.cos(pitch) / mass - drag * vx)
            vy += dt * (stage.thrust * math.sin(pitch) / mass - drag * vy - 9.81)
            x, y = x + dt * vx, y + dt * vy
            fuel -= stage.flow * dt
    return y + vy**2 / (2 * 9.81) - 0.01 * x


rng = np.random.default_rng(1)

PROGRAMS = [
    program(
        "n-body",
        distance_after_orbit,
        np.array([[0.0, 0.1, 0.0], [0.0, 1.0, 0.1], [0.8, 0.0, 0.2]]),
        np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, -1.5, 0.3]]),
    ),
    program("quaternions", pointing_error, [0.4, 1.1, -0.3], np.array([0.1, 0.5, 0.9])),
    program("rigid body", spin_energy_drift, np.array([0.3, 2.0, -0.4]), np.array([1.0, 2.0, 3.5])),
    program("robot arm", reach, np.array([0.3, -0.6, 0.9, 0.2]), np.array([0.5, 0.2, 0.7])),
    program("truss", truss_compliance, np.linspace(1.0, 1.6, 7)),
    program("beam", cantilever.tip, np.array([3.0, 2.5, 2.0, 1.5]), 0.7),
    program("cloth", sag_of_fabric, 0.93),
    program("PID control", balancing_cost, [25.0, 5.0, 3.0]),
    program("LQR", lqr_gain_cost, {"damping": 0.3, "stiffness": 1.2, "effort": 0.5}, np.array([1.0, -0.5])),
    program("predictive control", mpc_cost, rng.normal(size=5), np.array([1.0, 0.3])),
    program("rocket", apogee, 1.2),
]
