"""Programs on scipy.interpolate, scipy.spatial, scipy.special: curves, tables, rotations, distances, functions."""

# SciPy has no types, and what is inferred of its code is more than it returns.
# pyright: reportOperatorIssue=false, reportAssignmentType=false, reportOptionalIterable=false

import numpy as np
from scipy import constants, interpolate, special
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.spatial.transform import Rotation

from tests.acceptance.programs.entries import BRANCHES, program

RNG = np.random.default_rng(105)
KNOTS = np.array([0.0, 0.7, 1.3, 2.2, 3.0])


def table(y, at):
    return np.sum(interpolate.interp1d(KNOTS, y)(at) ** 2)


def spline(y, at):
    curve = interpolate.CubicSpline(KNOTS, y)
    return np.sum(curve(at) ** 2) + curve(1.0, 1) + curve.integrate(0.2, 2.5)


def yield_curve(rates, times):
    discount = interpolate.PchipInterpolator(KNOTS, rates)
    return np.sum(np.exp(-discount(times) * times))


def airfoil(x):
    """A curve made outside, evaluated where the parameters say."""
    return np.sum(PROFILE(x) ** 2)


PROFILE = interpolate.CubicSpline(KNOTS, np.sin(KNOTS))


def akima(y, at):
    return interpolate.Akima1DInterpolator(KNOTS, y)(at).sum()


def bspline(c, at):
    knots = np.r_[[0.0] * 4, [1.5], [3.0] * 4]
    curve = interpolate.BSpline(knots, c, 3)
    return np.sum(curve(at) ** 2) + curve.derivative()(1.0)


def made_spline(y, at):
    return np.sum(interpolate.make_interp_spline(KNOTS, y, k=3)(at) ** 2)


def old_spline(at):
    return np.sum(interpolate.splev(at, TCK) ** 2)


TCK = interpolate.splrep(KNOTS, np.cos(KNOTS))


def lookup(p, values):
    """A property of a fluid from a table of temperatures and pressures."""
    grid = (np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0, 3.0]))
    return interpolate.RegularGridInterpolator(grid, values)(np.array([[p[0], p[1]], [0.3, p[1]]])).sum()


def surface(heights, at):
    grid = (np.arange(3.0), np.arange(4.0))
    return interpolate.interpn(grid, heights, at).sum()


def radial(y, x, at):
    return interpolate.RBFInterpolator(x, y, kernel="gaussian", epsilon=1.0)(at).sum()


def bond_angles(angles, atoms):
    turned = Rotation.from_euler("xyz", angles).apply(atoms)
    return np.sum(turned[:, 0] * turned[:, 2])


def attitude(q, star):
    r = Rotation.from_quat(q)
    return star @ r.as_matrix() @ star[::-1] + r.magnitude() + np.sum(r.inv().as_rotvec())


def two_turns(p):
    r = Rotation.from_rotvec(p[:3]) * Rotation.from_rotvec(p[3:])
    return np.sum(r.as_rotvec() ** 3)


def lennard_jones(x):
    r = pdist(x)
    return np.sum(4 * (r**-12 - r**-6))


def attraction(x, y):
    return np.sum(np.exp(-cdist(x, y))) + np.sum(cdist(x, y, "cityblock")) + np.max(squareform(pdist(x)))


def nearest(x, sites):
    distances, _ = cKDTree(sites).query(x)
    return np.sum(distances**2)


def hydrogen(p):
    """A radial wave function and its angular part."""
    r, theta = p
    radial = r**2 * np.exp(-r / 3) * special.genlaguerre(1, 5)(2 * r / 3)
    return radial * np.abs(special.sph_harm_y(2, 1, theta, 0.4)) ** 2


def waveguide(p):
    return special.jv(1, p[0]) * special.kv(1, p[1]) + special.jvp(2, p[0]) + special.spherical_jn(2, p[1])


def gamma_functions(p):
    return special.gammaln(p[0]) + special.betaln(p[0], p[1]) - special.digamma(p[1]) + special.gammainc(p[0], p[1])


def lambert(x):
    """The current of a diode with a resistor in series."""
    return np.real(special.lambertw(x * np.exp(x))) + special.expit(x) * special.logsumexp([x, 1.0])


def thermal(T):
    beta = 1 / (constants.k * T * 1e21)
    return np.exp(-beta * 3.0) + special.xlogy(beta, beta)


PROGRAMS = [
    program("a table of values", table, RNG.normal(size=5), np.array([0.3, 1.1, 2.6])),
    program("a cubic spline", spline, RNG.normal(size=5), np.array([0.3, 1.1, 2.6])),
    program(
        "a yield curve",
        yield_curve,
        np.array([0.01, 0.02, 0.025, 0.03, 0.031]),
        np.array([0.5, 1.0, 2.7]),
        traces=2,
        why=BRANCHES,
    ),
    program("a curve made outside", airfoil, np.array([0.4, 1.9])),
    program("Akima's spline", akima, RNG.normal(size=5), np.array([0.3, 1.1, 2.6])),
    program("a curve of control points", bspline, RNG.normal(size=5), np.array([0.3, 1.1, 2.6])),
    program("a spline through points", made_spline, RNG.normal(size=5), np.array([0.3, 1.1, 2.6])),
    program("a spline of FITPACK", old_spline, np.array([0.4, 1.9])),
    program("a table in two variables", lookup, np.array([1.3, 1.6]), RNG.normal(size=(3, 4))),
    program("heights of a surface", surface, RNG.normal(size=(3, 4)), np.array([[0.4, 1.2], [1.7, 2.9]])),
    program("radial functions", radial, RNG.normal(size=5), RNG.normal(size=(5, 2)), RNG.normal(size=(3, 2))),
    program("Euler's angles", bond_angles, np.array([0.3, -0.5, 0.8]), RNG.normal(size=(4, 3))),
    program("an attitude", attitude, np.array([0.3, -0.2, 0.5, 0.8]), np.array([0.2, 0.5, -0.7])),
    program("two rotations", two_turns, np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.3])),
    program("a cluster of atoms", lennard_jones, np.array([[0.0, 0, 0], [1.1, 0, 0], [0, 1.2, 0.1], [0.2, 0.1, 1.3]])),
    program("distances of points", attraction, RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))),
    program("nearest sites", nearest, RNG.normal(size=(3, 2)), RNG.normal(size=(6, 2))),
    program("a hydrogen atom", hydrogen, np.array([2.0, 0.7])),
    program("a waveguide", waveguide, np.array([1.5, 0.8])),
    program("gamma functions", gamma_functions, np.array([2.5, 1.3])),
    program("a diode", lambert, 0.6),
    program("a thermal state", thermal, 300.0),
]
