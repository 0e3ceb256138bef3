"""Find the lightest bridge: the cross-sections of nearly 600 bars, of which most are not needed.

Every pair of near nodes may have a bar. The stiffness matrix is assembled and solved with SciPy's sparse matrices, and
the gradient of the compliance in all cross-sections costs one solution more.

    python examples/truss.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy import sparse
from scipy.sparse.linalg import spsolve

import wengert as wg

ACROSS, UP = 17, 5
NODES = np.array([(i, j) for i in range(ACROSS) for j in range(UP)], float)
APART = np.linalg.norm(NODES[:, None] - NODES[None], axis=2)
BARS = np.argwhere((APART < 2.9) & np.triu(np.ones_like(APART, bool), 1) & (APART != 2.0))
ALONG = NODES[BARS[:, 1]] - NODES[BARS[:, 0]]
LENGTHS = np.linalg.norm(ALONG, axis=1)
DIRECTION = np.concatenate([-ALONG, ALONG], axis=1) / LENGTHS[:, None]
PLACES = (2 * BARS[:, :, None] + [0, 1]).reshape(-1, 4)
ROWS, COLUMNS = np.repeat(PLACES, 4, axis=1).ravel(), np.tile(PLACES, 4).ravel()
FREE = np.setdiff1d(np.arange(2 * len(NODES)), [0, 1, 2 * UP * (ACROSS - 1), 2 * UP * (ACROSS - 1) + 1])
FORCE = np.zeros(2 * len(NODES))
FORCE[2 * UP * np.arange(1, ACROSS - 1) + 1] = -1 / (ACROSS - 2)  # the road is at the bottom


def compliance(areas):
    elements = (areas / LENGTHS)[:, None, None] * DIRECTION[:, :, None] * DIRECTION[:, None, :]
    stiffness = sparse.coo_array((elements.ravel(), (ROWS, COLUMNS)), shape=(FORCE.size, FORCE.size)).tocsc()
    return FORCE[FREE] @ spsolve(stiffness[FREE][:, FREE], FORCE[FREE])


def optimise(steps=150):
    """Return the cross-sections. Where the gradient per volume is steep, they grow; the volume stays."""
    areas, values = np.ones(len(BARS)), []
    value_and_gradient = wg.jit(wg.value_and_grad(compliance))
    for _ in range(steps):
        value, gradient = value_and_gradient(areas)
        areas = np.maximum(areas * np.sqrt(-gradient / LENGTHS), 0)
        areas = np.maximum(areas * LENGTHS.sum() / (LENGTHS @ areas), 1e-5)
        values.append(value)
    return areas, np.array(values)


def draw(areas, values):
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    bridge, progress = figure.subplots(1, 2, width_ratios=[3, 1])
    for (i, j), area in zip(BARS, areas, strict=True):
        bridge.plot(*NODES[[i, j]].T, color="k", lw=0.9 * np.sqrt(area), solid_capstyle="round")
    bridge.plot(*NODES[[0, UP * (ACROSS - 1)]].T, "C3^", ms=10)
    bridge.set(aspect="equal")
    bridge.set_axis_off()
    progress.semilogx(1 + np.arange(len(values)), values)
    progress.set(xlabel="step", ylabel="compliance")
    return figure


if __name__ == "__main__":
    draw(*optimise()).savefig(Path(__file__).with_suffix(".png"), dpi=100)
