"""Find the stiffest beam that may use half of the material: topology optimisation with SciPy's sparse matrices.

One half of a beam that rests on its ends is cut into square finite elements, each with a density. The stiffness of an
element is a power of its density, so that grey is poor value (Bendsøe 1989). What is minimised is the compliance
fᵀ u, where K(density) u = f. Assembly, filter and solution are ordinary SciPy; wengert gives the gradient in all
densities, for the price of little more than the solution itself.

    python examples/topology.py
"""

from pathlib import Path
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from scipy import sparse
from scipy.sparse.linalg import spsolve
from scipy.spatial import cKDTree

import wengert as wg

HERE = Path(__file__).parent
NX, NY, VOLUME, PENALTY, RADIUS, SOFT = 90, 30, 0.5, 3.0, 1.8, 1e-9

# The nodes are numbered column by column. Each has two unknowns, how far it moves to the right and down.
NODE = np.arange((NX + 1) * (NY + 1)).reshape(NX + 1, NY + 1)
CORNERS = np.stack([NODE[:-1, 1:], NODE[1:, 1:], NODE[1:, :-1], NODE[:-1, :-1]], axis=-1).reshape(-1, 4)
UNKNOWNS = (2 * CORNERS[:, :, None] + [0, 1]).reshape(-1, 8)
ROWS, COLUMNS = np.repeat(UNKNOWNS, 8, axis=1).ravel(), np.tile(UNKNOWNS, 8).ravel()

# The middle of the beam, on the left, does not move sideways, and its end, on the right below, not down.
FREE = np.setdiff1d(np.arange(2 * NODE.size), [*(2 * NODE[0]), 2 * NODE[-1, -1] + 1])
FORCE = (FREE - 2 * NODE[0, 0] == 1).astype(float)


def stiffness(nu=0.3):
    """The stiffness matrix of a square of full density, in plane stress: Andreassen et al. (2011), 88 lines."""
    a = np.array([[12, 3, -6, -3], [3, 12, 3, 0], [-6, 3, 12, -3], [-3, 0, -3, 12]])
    b = np.array([[-6, -3, 0, 3], [-3, -6, -3, -6], [0, -3, -6, 3], [3, -6, 3, -6]])
    c = np.array([[-4, 3, -2, 9], [3, -4, -9, 4], [-2, -9, -4, -3], [9, 4, -3, -4]])
    d = np.array([[2, -3, 4, -9], [-3, 2, 9, -2], [4, 9, 2, 3], [-9, -2, 3, 2]])
    return (np.block([[a, b], [b.T, a]]) + nu * np.block([[c, d], [d.T, c]])) / (24 * (1 - nu**2))


def averages():
    """Weights that fall off with the distance, within a radius: without them, a chessboard would seem stiff."""
    centres = np.argwhere(np.ones((NX, NY)))
    near = cKDTree(centres).sparse_distance_matrix(cKDTree(centres), RADIUS, output_type="coo_matrix")
    weights = sparse.csr_array((RADIUS - near.data, (near.row, near.col)), shape=near.shape)
    return sparse.diags_array(1 / weights.sum(axis=1)) @ weights


ELEMENT, FILTER = stiffness(), averages()


def compliance(density):
    modulus = SOFT + (FILTER @ density) ** PENALTY
    elements = np.multiply.outer(modulus, ELEMENT)
    whole = sparse.coo_array((elements.ravel(), (ROWS, COLUMNS)), shape=(2 * NODE.size, 2 * NODE.size)).tocsc()
    return FORCE @ spsolve(whole[FREE][:, FREE], FORCE)


def improved(density, gradient, move=0.2):
    """The next densities: where the gradient is steep, more. The factor is found by halving: the volume is given."""
    low, high = 0.0, 1e9
    while high - low > 1e-4 * (low + high):
        factor = (low + high) / 2
        wanted = density * np.sqrt(np.maximum(-gradient, 0) / factor)
        new = np.clip(wanted, np.maximum(density - move, 0), np.minimum(density + move, 1))
        low, high = (factor, high) if new.mean() > VOLUME else (low, factor)
    return new


def optimise(steps, report=lambda k, value: None):
    density = np.full(NX * NY, VOLUME)
    value_and_gradient = wg.jit(wg.value_and_grad(compliance))
    for k in range(steps):
        value, gradient = value_and_gradient(density)
        report(k, value)
        density = improved(density, gradient)
    return density, float(value)


def draw(density):
    half = (FILTER @ density).reshape(NX, NY).T
    figure = Figure(figsize=(9, 1.9), layout="constrained")
    axes = figure.subplots()
    axes.imshow(np.hstack([half[:, ::-1], half]), cmap="gray_r", vmin=0, vmax=1)
    axes.set_axis_off()
    return figure


def main():
    console, began = Console(), perf_counter()
    console.print(f"{NX * NY} densities, {FREE.size} unknowns")
    with console.status("") as status:
        density, value = optimise(80, lambda k, value: status.update(f"step {k + 1}: compliance {value:.2f}"))
    console.print(f"compliance {value:.2f} after 80 steps, in {perf_counter() - began:.1f} s")
    draw(density).savefig(HERE / "topology.png", dpi=100)
    console.print(f"The picture is in {HERE / 'topology.png'}", soft_wrap=True)


if __name__ == "__main__":
    main()
