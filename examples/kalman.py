"""How much of the Nile's ups and downs is weather, and how much is climate?  A Kalman filter whose noises are fitted.

The flow at Aswan is a level that wanders from year to year, plus noise. The filter runs in plain Python; its likelihood
is maximised with exact gradients, and the Hessian at the maximum gives the uncertainties. Durbin and Koopman (2012)
find 15099 and 1469 for the two variances.

Data: nile.csv, the annual flow of the Nile in 10^8 m³ (Cobb 1978, Biometrika 65; measurements, in the public domain).

    python examples/kalman.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

import wengert as wg

HERE = Path(__file__).parent
FLOW = np.genfromtxt(HERE / "nile.csv", delimiter=",", names=True)["flow"]


def filtered(q):
    """Return level, its variance, and the log likelihood of each year; q: logarithms of both variances."""
    noise, wander = np.exp(q)
    level, variance, found = FLOW[0], noise, []
    for flow in FLOW[1:]:
        variance = variance + wander
        spread, off = variance + noise, flow - level
        gain = variance / spread
        level, variance = level + gain * off, variance * (1 - gain)
        found.append((level, variance, -0.5 * (np.log(2 * np.pi * spread) + off**2 / spread)))
    return np.array(found).T


def loss(q):
    return -np.sum(filtered(q)[2])


def fit():
    """Return the logarithms of both variances, and their standard deviations."""
    found = minimize(wg.jit(wg.value_and_grad(loss)), np.log([1e4, 1e3]), jac=True, method="BFGS")
    return found.x, np.sqrt(np.diag(np.linalg.inv(wg.jit(wg.hessian(loss))(found.x))))


def draw(q):
    level, variance, _ = filtered(q)
    years = 1872 + np.arange(len(level))
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(1871 + np.arange(len(FLOW)), FLOW, ".", color="C7")
    spread = 1.645 * np.sqrt(variance)
    axes.fill_between(years, level - spread, level + spread, alpha=0.25, label="90 %")
    axes.plot(years, level, label="level")
    axes.axvline(1899, color="C3", lw=1, ls=":", label="the dam is begun")
    axes.set(ylabel="flow of the Nile / 10⁸ m³")
    axes.legend(frameon=False)
    return figure


if __name__ == "__main__":
    best, deviation = fit()
    for name, value, spread in zip(("noise", "wander"), best, deviation, strict=True):
        print(f"variance of the {name}: {np.exp(value):.0f}, within a factor of {np.exp(1.645 * spread):.1f}")
    draw(best).savefig(Path(__file__).with_suffix(".png"), dpi=100)
