"""Fields, light, heat, circuits, atoms."""

import cmath
import enum
import math
from functools import partial
from math import pi

import numpy as np
from scipy import constants as const
from scipy.spatial.distance import cdist
from scipy.special import erf

from tests.acceptance.programs.entries import STEPS, program

# ------------------------------------------------------------------------------------------------- heat equation


def implicit_euler_rod(conductivity, u0, dt=0.03, steps=3):
    """The heat equation in a rod whose conductivity depends on the temperature: Newton's method in every step."""
    n = len(u0)
    h = 1.0 / (n - 1)
    a, b = conductivity
    u = u0.copy()

    def residual(new, old):
        k = a + b * 0.5 * (new[1:] + new[:-1])
        flux = k * np.diff(new) / h
        r = np.zeros_like(new)
        r[1:-1] = new[1:-1] - old[1:-1] - dt * np.diff(flux) / h
        r[0], r[-1] = new[0] - 1.0, new[-1]
        return r

    def jacobian(new):
        k = a + b * 0.5 * (new[1:] + new[:-1])
        J = np.eye(n)
        for i in range(1, n - 1):
            left, right = (new[i] - new[i - 1]) * b / 2, (new[i + 1] - new[i]) * b / 2
            J[i, i - 1] = -dt / h**2 * (k[i - 1] - left)
            J[i, i] = 1.0 + dt / h**2 * (k[i - 1] + left + k[i] - right)
            J[i, i + 1] = -dt / h**2 * (k[i] + right)
        return J

    for _ in range(steps):
        old = u
        for _newton in range(4):
            u = u - np.linalg.solve(jacobian(u), residual(u, old))
    return np.trapezoid(u, dx=h)


# ------------------------------------------------------------------------------------------------- wave equation


class Boundary(enum.Enum):
    FIXED = "fixed"
    FREE = "free"


class String:
    """u_tt = c² u_xx by leapfrog, with either end."""

    def __init__(self, n=21, right=Boundary.FREE):
        self.x = np.linspace(0.0, 1.0, n)
        self.right = right

    @property
    def dx(self):
        return self.x[1] - self.x[0]

    def received(self, c, where=15, steps=12):
        dt = 0.4 * self.dx
        u_old = np.exp(-((self.x - 0.4) ** 2) / 0.01)
        u = u_old.copy()
        trace = []
        for _ in range(steps):
            new = np.zeros_like(u)
            new[1:-1] = 2 * u[1:-1] - u_old[1:-1] + (c * dt / self.dx) ** 2 * (u[2:] - 2 * u[1:-1] + u[:-2])
            if self.right is Boundary.FREE:
                new[-1] = new[-2]
            u_old, u = u, new
            trace.append(u[where])
        return sum(v * v for v in trace)


# ------------------------------------------------------------------------------------------------- optics


def lens(f):
    return np.array([[1.0, 0.0], [-1.0 / f, 1.0]])


def space(d):
    return np.array([[1.0, d], [0.0, 1.0]])


def spot_size(design, wavelength=1.064e-3):
    """A Gaussian beam through two lenses: ABCD matrices and the complex parameter by its real parts."""
    M = np.linalg.multi_dot([space(design["d2"]), lens(design["f2"]), space(design["d1"]), lens(design["f1"])])
    (A, B), (C, D) = M
    zr = math.pi * 1.0**2 / wavelength / 1000
    denominator = D**2 + (C * zr) ** 2
    zr_out = zr * (A * D - B * C) / denominator
    return math.sqrt(wavelength * zr_out * 1000 / math.pi)


class Layer:
    def __init__(self, index, thickness):
        self.index, self.thickness = index, thickness

    def matrix(self, wavelength):
        delta = 2 * pi * self.index * self.thickness / wavelength
        # the matrix [[cos, i sin / n], [i n sin, cos]], kept real: signs of the off-diagonals stand for i² = -1
        return np.array([[np.cos(delta), -np.sin(delta) / self.index], [self.index * np.sin(delta), np.cos(delta)]])


def reflectance(thicknesses, wavelengths=np.linspace(500.0, 600.0, 5), substrate=1.52):
    indices = [1.38, 2.1] * (len(thicknesses) // 2)
    stack = [Layer(n, d) for n, d in zip(indices, thicknesses)]
    total = 0.0
    for w in wavelengths:
        M = np.eye(2)
        for layer in stack:
            M = M @ layer.matrix(w)
        b_re, b_im = M[0, 0], -M[0, 1] * substrate
        c_re, c_im = M[1, 1] * substrate, M[1, 0]
        total += ((b_re - c_re) ** 2 + (b_im - c_im) ** 2) / ((b_re + c_re) ** 2 + (b_im + c_im) ** 2)
    return total / len(wavelengths)


# ------------------------------------------------------------------------------------------------- a ray marcher


class Vec:
    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y, self.z + o.z)

    def __sub__(self, o):
        return Vec(self.x - o.x, self.y - o.y, self.z - o.z)

    def __mul__(self, s):
        return Vec(self.x * s, self.y * s, self.z * s)

    __rmul__ = __mul__

    def dot(self, o):
        return self.x * o.x + self.y * o.y + self.z * o.z

    def __abs__(self):
        return math.sqrt(self.dot(self))

    def __repr__(self):
        return f"Vec({self.x}, {self.y}, {self.z})"


def sphere(p, centre, radius):
    return abs(p - centre) - radius


def floor_plane(p):
    return p.y + 1.0


def brightness(radius, light=Vec(0.5, 0.8, -0.4)):
    """A pixel of a sphere above a floor, by sphere tracing with a fixed number of steps."""
    scene = lambda p: min(sphere(p, Vec(0.0, 0.0, 3.0), radius), floor_plane(p))
    ray = Vec(0.1, 0.15, 1.0) * (1.0 / abs(Vec(0.1, 0.15, 1.0)))
    p, travelled = Vec(0.0, 0.0, 0.0), 0.0
    for _ in range(30):
        d = scene(p)
        travelled += d
        p = p + d * ray
        if d < 1e-12:
            break
    normal = (p - Vec(0.0, 0.0, 3.0)) * (1 / radius)
    return max(normal.dot(light) * (1 / abs(light)), 0.0) * math.exp(-0.05 * travelled)


# ------------------------------------------------------------------------------------------------- circuits


class Netlist:
    """Resistors and diodes between nodes; nodal analysis with Newton's method."""

    def __init__(self):
        self.parts = []
        self.nodes = set()

    def add(self, kind, a, b, key):
        self.parts.append((kind, a, b, key))
        self.nodes |= {a, b}
        return self

    def solve(self, values, source):
        order = {node: k for k, node in enumerate(sorted(self.nodes - {"gnd", "in"}))}
        v = np.full(len(order), 0.3)
        for _ in range(12):
            J, r = np.zeros((len(order), len(order))), np.zeros(len(order))
            at = lambda node, v=v: 0.0 if node == "gnd" else source if node == "in" else v[order[node]]
            for kind, a, b, key in self.parts:
                across = at(a) - at(b)
                if kind == "R":
                    g = 1.0 / values[key]
                    current = g * across
                elif kind == "D":
                    current = values[key] * np.expm1(across / 0.05)
                    g = values[key] * np.exp(across / 0.05) / 0.05
                else:
                    raise ValueError(f"no such part: {kind}")
                for node, sign in ((a, 1.0), (b, -1.0)):
                    if node in order:
                        r[order[node]] += sign * current
                        for other, direction in ((a, 1.0), (b, -1.0)):
                            if other in order:
                                J[order[node], order[other]] += sign * direction * g
            v = v - np.linalg.solve(J, r)
        return dict(zip(order, v))


RECTIFIER = (
    Netlist().add("R", "in", "a", "R1").add("D", "a", "b", "Is").add("R", "b", "gnd", "R2").add("R", "a", "gnd", "R3")
)


def rectified(values):
    return RECTIFIER.solve(values, 1.0)["b"]


# ------------------------------------------------------------------------------------------------- Ising, mean field


def magnetisation(T, J=1.0, field=0.1, tol=1e-12):
    m, z = 0.5, 4
    for _ in range(500):
        new = math.tanh((z * J * m + field) / T)
        if abs(new - m) < tol:
            break
        m = new
    else:
        raise RuntimeError(f"no fixed point at T = {T}")
    return m


# ------------------------------------------------------------------------------------------------- atoms

LATTICE = np.array([[i, j, k] for i in range(2) for j in range(2) for k in range(2)], float)


def lennard_jones(parameters, positions=LATTICE * 1.2, cutoff=2.0):
    """Pairs within the cutoff by a neighbour list of a fixed lattice."""
    sigma, eps = parameters
    i, j = np.nonzero(np.triu(cdist(positions, positions) < cutoff, 1))
    r = np.linalg.norm(positions[i] - positions[j], axis=1)
    s6 = (sigma / r) ** 6
    shift = (sigma / cutoff) ** 6
    return np.sum(4 * eps * (s6**2 - s6) - 4 * eps * (shift**2 - shift))


def relaxed_cluster_energy(x, cutoff=2.2):
    """Moving atoms: their neighbours are looked up anew."""
    energy = 0.0
    for a in range(len(x)):
        for b in range(a + 1, len(x)):
            r2 = np.sum((x[a] - x[b]) ** 2)
            if r2 > cutoff**2:
                continue
            inv6 = 1.0 / r2**3
            energy = energy + 4.0 * (inv6 * inv6 - inv6)
    return energy


def structure_factor(fractions, hkl=((1, 0, 0), (1, 1, 0), (2, 1, 1))):
    """|F|² summed over reflections, cosine and sine parts apart."""
    f = np.array([11.0, 17.0, 8.0])
    total = 0.0
    for h in hkl:
        phase = 2 * np.pi * (fractions @ np.array(h))
        total += np.sum(f * np.cos(phase)) ** 2 + np.sum(f * np.sin(phase)) ** 2
    return total / len(hkl)


def radius_of_gyration(angles, bond=1.5):
    """A polymer chain in the plane, made link by link."""
    heading, where = 0.0, [(0.0, 0.0)]
    for turn in angles:
        heading += turn
        x, y = where[-1]
        where.append((x + bond * math.cos(heading), y + bond * math.sin(heading)))
    chain = np.array(where)
    centre = chain.mean(axis=0)
    return np.sqrt(((chain - centre) ** 2).sum(axis=1).mean())


# ------------------------------------------------------------------------------------------------- thermal light


def planck(wavelength_um, temperature):
    lam = wavelength_um * 1e-6
    x = const.h * const.c / (lam * const.k * temperature)
    return 2 * const.h * const.c**2 / lam**5 / np.expm1(x) * 1e-12


def colour_ratio(temperature):
    bands = {"blue": 0.44, "red": 0.65}
    blue, red = (planck(w, temperature) for w in bands.values())
    return blue / red


def transmitted(layers, angles=(0.0, 30.0, 60.0)):
    """Radiative transfer: absorption and emission, layer by layer, in a few directions."""
    weights = np.polynomial.legendre.leggauss(len(angles))[1]
    total = 0.0
    for weight, angle in zip(weights, angles):
        mu, intensity = math.cos(math.radians(angle)), 1.0
        for depth, source in zip(layers["tau"], layers["source"]):
            t = math.exp(-depth / mu)
            intensity = intensity * t + source * (1 - t)
        total += weight * mu * intensity
    return total


def diffusion_depth(params, times=(0.5, 1.0, 2.0)):
    D, surface = params["D"], params["surface"]
    depths = np.linspace(0.05, 1.0, 6)
    profile = lambda t: surface * (1 - erf(depths / (2 * np.sqrt(D * t))))
    return sum(np.trapezoid(profile(t), depths) for t in times)


def resonance(components, frequencies=np.linspace(0.8, 1.2, 7)):
    """|H| of an RLC filter, by its real and imaginary parts; the sign of the j convention is checked once."""
    R, L, C = components
    assert cmath.isclose(1j**2, -1)
    w = 2 * math.pi * frequencies
    reactance = w * L - 1.0 / (w * C)
    return np.max(R / np.hypot(R, reactance)) + np.mean(R / np.hypot(R, reactance))


def schroedinger_ground_state(depth, n=24):
    """The lowest level of a finite well by inverse iteration."""
    x = np.linspace(-4, 4, n)
    h = x[1] - x[0]
    V = np.where(np.abs(x) < 1.0, -depth, 0.0)
    H = np.diag(1 / h**2 + V) - np.diag(np.full(n - 1, 0.5 / h**2), 1) - np.diag(np.full(n - 1, 0.5 / h**2), -1)
    psi = np.exp(-(x**2))
    for _ in range(30):
        psi = np.linalg.solve(H + 6.0 * np.eye(n), psi)
        psi /= np.linalg.norm(psi)
    return psi @ H @ psi


half_filled = partial(magnetisation, field=0.2, tol=1e-11)

PROGRAMS = [
    program("heat equation", implicit_euler_rod, [0.8, 0.4], np.linspace(1.0, 0.0, 7) ** 2),
    program("wave equation", String().received, 0.9),
    program("beam optics", spot_size, {"f1": 50.0, "d1": 160.0, "f2": 100.0, "d2": 90.0}),
    program("thin films", reflectance, np.array([95.0, 62.0, 101.0, 70.0])),
    program("ray marching", brightness, 0.8, traces=3, why=STEPS),
    program("circuits", rectified, {"R1": 1.0, "R2": 2.0, "R3": 4.0, "Is": 1e-4}, rtol=1e-4),
    program("Ising model", half_filled, 3.0, traces=3, why=STEPS),
    program("Lennard-Jones", lennard_jones, np.array([1.05, 0.7])),
    program("clusters", relaxed_cluster_energy, np.array([[0.0, 0.0], [1.1, 0.0], [0.5, 1.0], [1.6, 0.9], [3.0, 2.0]])),
    program("crystals", structure_factor, np.array([[0.0, 0.1, 0.0], [0.5, 0.45, 0.5], [0.2, 0.3, 0.8]])),
    program("polymers", radius_of_gyration, np.array([0.1, 0.5, -0.4, 0.8, 0.2])),
    program("thermal radiation", colour_ratio, 5500.0),
    program("radiative transfer", transmitted, {"tau": [0.1, 0.4, 0.2], "source": [0.5, 0.7, 0.9]}),
    program("diffusion", diffusion_depth, {"D": 0.1, "surface": 2.0}),
    program("resonance", resonance, (0.3, 0.5, 0.05)),
    program("quantum well", schroedinger_ground_state, 3.0),
]
