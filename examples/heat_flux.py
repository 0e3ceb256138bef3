"""Find the heat that went into a wall from a thermometer inside: an inverse problem with an implicit solver.

The temperature follows a heat equation, solved step by step with a tridiagonal matrix (SciPy's solve_banded). The
thermometer sits 8 mm deep and is noisy, so the flux is found with a penalty on its roughness. 200 unknowns, one
gradient.

    python examples/heat_flux.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import solve_banded
from scipy.optimize import minimize

import wengert as wg

CELLS, STEPS, DX, DT, DEEP = 40, 200, 1e-3, 0.5, 8  # m, s; the cell of the thermometer
CONDUCTIVITY, DIFFUSIVITY = 15.0, 4e-6  # of steel: W/(m K), m²/s
R = DIFFUSIVITY * DT / DX**2
BANDS = np.array([np.full(CELLS, -R), np.full(CELLS, 1 + 2 * R), np.full(CELLS, -R)])
BANDS[1, [0, -1]] = 1 + R  # no heat goes through the far end


def temperatures(flux):
    """Return what the thermometer shows after each step, for a flux into the surface in kW/m²."""

    def step(t, q):
        source = np.concatenate([np.reshape(1e3 * q * R * DX / CONDUCTIVITY, 1), np.zeros(CELLS - 1)])
        t = solve_banded((1, 1), BANDS, t + source)
        return t, t[DEEP]

    return wg.scan(step, np.zeros(CELLS), flux)[1]


def loss(flux, measured):
    return np.sum((temperatures(flux) - measured) ** 2) / 0.05**2 + 2e-2 * np.sum(np.diff(flux, 2) ** 2)


def truth():
    k = np.arange(STEPS)
    return 60 * np.exp(-(((k - 50) / 12) ** 2)) + 30 * ((k > 100) & (k < 140))


def solve(steps=100):
    """Return the true flux, what is measured, and the flux that is found."""
    rng = np.random.default_rng(0)
    measured = temperatures(truth()) + 0.05 * rng.standard_normal(STEPS)
    value_and_gradient = wg.jit(wg.value_and_grad(loss))
    options = {"maxiter": steps, "maxfun": 2 * steps}
    found = minimize(value_and_gradient, np.zeros(STEPS), measured, "L-BFGS-B", jac=True, options=options)
    return truth(), measured, found.x


def draw(flux, measured, found):
    figure = Figure(figsize=(8, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    t = DT * np.arange(STEPS)
    left.plot(t, measured, color="C3", lw=1)
    left.set(xlabel="time / s", ylabel="temperature at 8 mm / K")
    right.plot(t, flux, color="C7", lw=4, alpha=0.5, label="what went in")
    right.plot(t, found, color="C0", label="what is found")
    right.set(xlabel="time / s", ylabel="heat flux / (kW/m²)")
    right.legend(frameon=False)
    return figure


if __name__ == "__main__":
    draw(*solve()).savefig(Path(__file__).with_suffix(".png"), dpi=100)
