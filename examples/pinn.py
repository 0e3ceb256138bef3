"""Solve Burgers' equation by a network that knows nothing but the equation (Raissi, Perdikaris, Karniadakis 2019).

    u_t + u u_x = ν u_xx,   u(0, x) = -sin πx,   u(t, ±1) = 0,   ν = 0.01/π

A front forms at x = 0.  The loss is how far the network is from the equation, at points inside, and from the data on
the edges; it holds second derivatives, and is differentiated itself.  The solution is known as a quotient of two
integrals (Cole 1951, Hopf 1950), with which the network is compared.

    python examples/pinn.py [--steps 6000]
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from scipy.optimize import minimize

import wengert as wg

HERE = Path(__file__).parent
NU = 0.01 / np.pi
SIZES = [2, 20, 20, 20, 20, 1]


def network(seed=0):
    """Return all weights as one vector, since that is what the optimiser takes."""
    rng = np.random.default_rng(seed)
    layers = zip(SIZES, SIZES[1:], strict=False)
    return np.concatenate([x for n, m in layers for x in (rng.normal(size=n * m) * np.sqrt(2 / (n + m)), np.zeros(m))])


def u(theta, t, x):
    """Return the value of the network at one point."""
    y, at = np.stack([2 * t - 1, x]), 0
    for n, m in zip(SIZES, SIZES[1:], strict=False):
        w, b = theta[at : at + n * m].reshape(m, n), theta[at + n * m : at + n * m + m]
        at += n * m + m
        y = w @ y + b
        if m > 1:
            y = np.tanh(y)
    return y[0]


def residual(theta, t, x):
    """Return u_t + u u_x - ν u_xx at one point."""
    along_x = lambda x: wg.jvp(lambda x: u(theta, t, x), (x,), (1.0,))
    (value, u_x), (_, u_xx) = wg.jvp(along_x, (x,), (1.0,))
    _, u_t = wg.jvp(lambda t: u(theta, t, x), (t,), (1.0,))
    return u_t + value * u_x - NU * u_xx


def points(seed=0, inside=2000, edge=50):
    """Return points inside, more of them where the front is, and points on the edges, with their data."""
    rng = np.random.default_rng(seed)
    t, x = rng.uniform(size=inside), rng.uniform(-1, 1, size=inside)
    x[::4] *= 0.1
    t_edge = np.concatenate([np.zeros(2 * edge), rng.uniform(size=2 * edge)])
    x_edge = np.concatenate([np.linspace(-1, 1, 2 * edge), np.ones(edge), -np.ones(edge)])
    return (t, x), (t_edge, x_edge, np.where(t_edge == 0, -np.sin(np.pi * x_edge), 0.0))


def loss(theta, inside, edge):
    t, x, data = edge
    at_edge = wg.vmap(lambda t, x: u(theta, t, x))(t, x)
    off = wg.vmap(lambda t, x: residual(theta, t, x))(*inside)
    return np.mean(off**2) + np.mean((at_edge - data) ** 2)


def exact(t, x, nodes=200):
    """Return the solution by Gauss-Hermite quadrature: float[len(t), len(x)]."""
    z, weights = np.polynomial.hermite.hermgauss(nodes)
    t = np.maximum(np.asarray(t)[:, None, None], 1e-12)
    y = np.asarray(x)[None, :, None] - np.sqrt(4 * NU * t) * z
    heat = weights * np.exp(-np.cos(np.pi * y) / (2 * np.pi * NU))
    return -np.sum(np.sin(np.pi * y) * heat, axis=-1) / np.sum(heat, axis=-1)


def fit(steps, console):
    inside, edge = points()
    value_and_gradient = wg.jit(wg.value_and_grad(loss))
    columns = SpinnerColumn(finished_text="✓"), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("recording, differentiating, compiling", total=None)

        def report(intermediate_result):
            progress.advance(task)
            done = progress.tasks[task].completed
            progress.update(task, description=f"{done:5.0f} steps, loss {intermediate_result.fun:.2e}")

        found = minimize(
            lambda theta: value_and_gradient(theta, inside, edge),
            network(),
            jac=True,
            method="L-BFGS-B",
            callback=report,
            options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": 50, "ftol": 1e-12, "gtol": 1e-9},
        )
        progress.update(task, total=found.nit)
    return found.x


def compare(theta):
    """Return both solutions on a grid, and their root mean square distance."""
    t, x = np.linspace(0, 1, 101), np.linspace(-1, 1, 257)
    row = wg.vmap(lambda t, x: u(theta, t, x), in_axes=(None, 0))
    seen, expected = np.stack([row(s, x) for s in t]), exact(t, x)
    return t, x, seen, expected, np.linalg.norm(seen - expected) / np.linalg.norm(expected)


def draw(t, x, seen, expected):
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    field, front = figure.subplots(1, 2, width_ratios=[2, 1])
    image = field.pcolormesh(t, x, seen.T, cmap="RdBu_r", rasterized=True)
    figure.colorbar(image, ax=field, label="u")
    field.set(xlabel="t", ylabel="x")
    for s, color in zip([0.25, 0.5, 0.75], ["#2a78b5", "#7a5195", "#d1602d"], strict=True):
        k = round(100 * s)
        front.plot(x, expected[k], color=color, alpha=0.4, linewidth=4)
        front.plot(x, seen[k], color=color, linewidth=1, label=f"t = {s}")
    front.set(xlabel="x", ylabel="u", title="network, on the known solution")
    front.legend(frameon=False)
    front.spines[["top", "right"]].set_visible(False)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=6000)
    console = Console()
    t, x, seen, expected, error = compare(fit(parser.parse_args().steps, console))
    console.print(f"relative error in the mean square: {error:.1e}")
    picture = HERE / "pinn.png"
    draw(t, x, seen, expected).savefig(picture, dpi=160)
    console.print(f"The picture is in {picture}", soft_wrap=True)


if __name__ == "__main__":
    main()
