"""Find the shape of a cluster of 13 atoms of argon, and the notes that it sings: energy, forces and vibrations.

The energy is Lennard-Jones', of all pairs. Its gradient are the forces, which pull 40 random clusters downhill; its
Hessian at the minimum gives the frequencies of vibration. The best known energy is -44.326801 (Hoare and Pal 1971), of
an icosahedron.

    python examples/argon.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

import wengert as wg

ATOMS = 13
I, J = np.triu_indices(ATOMS, 1)


def energy(places):
    """Return the energy of float[3 * ATOMS] places, in units of the depth of the potential."""
    x = places.reshape(ATOMS, 3)
    inverse = 1 / np.sum((x[I] - x[J]) ** 2, axis=1) ** 3
    return np.sum(4 * (inverse**2 - inverse))


def search(tries=40, seed=0):
    """Return the best minimum of some random starts, and the energies of all of them."""
    rng = np.random.default_rng(seed)
    value_and_gradient = wg.jit(wg.value_and_grad(energy))
    found = []
    for _ in range(tries):
        start = rng.normal(scale=1.0, size=3 * ATOMS)
        found.append(minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000}))
    return min(found, key=lambda one: one.fun).x, np.array([one.fun for one in found])


def frequencies(places):
    """Return the frequencies of vibration in 1/cm; the six motions of the whole have none."""
    curvature = np.linalg.eigvalsh(wg.jit(wg.hessian(energy))(places))[6:]
    depth, size, mass = 1.654e-21, 3.405e-10, 6.634e-26  # J, m, kg
    return np.sqrt(curvature * depth / size**2 / mass) / (2 * np.pi * 2.998e10)


def draw(places, energies):
    figure = Figure(figsize=(9, 3), layout="constrained")
    cluster = figure.add_subplot(1, 3, 1, projection="3d")
    x = places.reshape(ATOMS, 3)
    for i, j in zip(I, J, strict=True):
        if np.linalg.norm(x[i] - x[j]) < 1.3:
            cluster.plot(*x[[i, j]].T, color="C7", lw=1)
    cluster.scatter(*x.T, s=150, color="C0", edgecolor="w")
    cluster.set_axis_off()
    minima, notes = figure.add_subplot(1, 3, 2), figure.add_subplot(1, 3, 3)
    minima.hist(energies[energies < -35], 30, color="C1")
    minima.set(xlabel="energy of the minima found", ylabel="starts")
    notes.vlines(frequencies(places), 0, 1, color="C2")
    notes.set(xlabel="vibrations / (1/cm)", yticks=[])
    return figure


if __name__ == "__main__":
    best, all_energies = search()
    print(f"energy {all_energies.min():.6f}")
    draw(best, all_energies).savefig(Path(__file__).with_suffix(".png"), dpi=100)
