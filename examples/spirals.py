"""Tell two spirals apart by a network in plain NumPy, and draw how sure it is.

Layers are matrix products and tanh; the parameters are a list of arrays. A step of training (value, gradient, Adam) is
one compiled program.

    python examples/spirals.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import wengert as wg
from wengert import optimize

SIZES = [2, 32, 32, 1]


def spirals(count=400, seed=0):
    """Return points float[count, 2] and to which spiral, 0 or 1, each belongs."""
    rng = np.random.default_rng(seed)
    side, angle = np.arange(count) % 2, rng.uniform(0.5, 3.5, count) * np.pi
    x = np.stack([np.cos(angle + np.pi * side), np.sin(angle + np.pi * side)], axis=1) * angle[:, None] / 4
    return x + 0.05 * rng.standard_normal(x.shape), side


def network(params, x):
    """Return the logit of the second spiral for points float[n, 2]."""
    for w, b in params[:-1]:
        x = np.tanh(x @ w + b)
    w, b = params[-1]
    return (x @ w + b)[:, 0]


def loss(params, x, side):
    logit = network(params, x)
    return np.mean(np.logaddexp(0, logit) - side * logit)


def train(x, side, steps=2000, seed=0):
    rng = np.random.default_rng(seed)
    params = [(rng.normal(size=(n, m)) * 1.5 / np.sqrt(n), np.zeros(m)) for n, m in zip(SIZES, SIZES[1:], strict=False)]
    step = optimize.step(loss, optimize.adam(0.01))
    memory, losses = step.init(params), []
    for _ in range(steps):
        params, memory, value = step(params, memory, x, side)
        losses.append(float(value))
    return params, losses


def draw(params, x, side, losses):
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    plane, progress = figure.subplots(1, 2, width_ratios=[1, 1])
    t = np.linspace(-3.2, 3.2, 200)
    grid = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    sure = 1 / (1 + np.exp(-wg.jit(network)(params, grid)))
    plane.contourf(t, t, sure.reshape(200, 200), 20, cmap="RdBu", alpha=0.7)
    plane.scatter(*x.T, c=side, cmap="RdBu", s=8, edgecolor="k", lw=0.3)
    plane.set(aspect="equal")
    progress.semilogy(losses, lw=1)
    progress.set(xlabel="step", ylabel="loss")
    return figure


if __name__ == "__main__":
    points, belongs = spirals()
    trained, history = train(points, belongs)
    draw(trained, points, belongs, history).savefig(Path(__file__).with_suffix(".png"), dpi=90)
