"""Design a mirror for green light that lets the rest through: inverse design by transfer matrices.

Sixteen layers of titanium oxide and silica on glass; their thicknesses are free. The field in a layer turns by a
2 by 2 matrix of complex numbers. Light at all wavelengths is computed at once, and the gradient in all thicknesses
costs about as much again.

    python examples/coating.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

import wengert as wg

WAVELENGTHS = np.linspace(400, 700, 121)  # nm
INDEX, GLASS = np.array([2.4, 1.46] * 8), 1.52
WANTED = (np.abs(WAVELENGTHS - 532) < 20).astype(float)
WEIGHTS = np.where(np.abs(np.abs(WAVELENGTHS - 532) - 25) < 12, 0.0, 1.0)  # the edges may be anything


def reflected(thickness):
    """Return the share of the light that comes back, float[wavelengths]."""
    m = np.broadcast_to(np.eye(2), (len(WAVELENGTHS), 2, 2))
    for n, d in zip(INDEX, thickness, strict=True):
        phase = 2 * np.pi * n * d / WAVELENGTHS
        c, s = np.cos(phase), np.sin(phase)
        m = m @ np.moveaxis(np.array([[c, 1j * s / n], [1j * s * n, c]]), -1, 0)
    b, c = (m @ np.array([1.0, GLASS])).T
    return np.abs((b - c) / (b + c)) ** 2


def loss(thickness):
    return np.sum(WEIGHTS * (reflected(thickness) - WANTED) ** 2) / np.sum(WEIGHTS)


def design(tries=30, seed=0):
    """Return the best of some local searches."""
    rng = np.random.default_rng(seed)
    value_and_gradient = wg.jit(wg.value_and_grad(loss))
    starts = rng.uniform(40, 250, (tries, len(INDEX)))
    bounds = [(10, 400)] * len(INDEX)
    found = [minimize(value_and_gradient, start, jac=True, bounds=bounds, options={"maxiter": 500}) for start in starts]
    return min(found, key=lambda one: one.fun).x


def draw(thickness):
    figure = Figure(figsize=(8, 3), layout="constrained")
    spectrum, stack = figure.subplots(1, 2, width_ratios=[3, 1])
    spectrum.fill_between(WAVELENGTHS, 100 * WANTED, color="C2", alpha=0.2, label="wanted")
    spectrum.plot(WAVELENGTHS, 100 * reflected(thickness), color="C2", label="designed")
    spectrum.set(xlabel="wavelength / nm", ylabel="reflected / %", ylim=(0, 102))
    spectrum.legend(frameon=False)
    bottom = np.concatenate([[0], np.cumsum(thickness[::-1])])[:-1]
    stack.bar(0, thickness[::-1], bottom=bottom, color=["C0", "C7"] * 8, width=1)
    stack.set(ylabel="height over the glass / nm", xticks=[])
    return figure


if __name__ == "__main__":
    draw(design()).savefig(Path(__file__).with_suffix(".png"), dpi=100)
