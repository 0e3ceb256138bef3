"""Let a small network find how hares and lynxes change, from the pelts of the Hudson Bay Company alone, 1900-1920.

Nothing is known of predators or prey: a network of two inputs and two outputs is the right-hand side of a differential
equation for the logarithms of both numbers (Chen et al. 2018), and the years are added one after another, since a
solution that is far from the data says little about where to go.  The gradient goes through the adaptive steps of the
solver.

    python examples/neural_ode.py [--steps 1500]
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import Progress

import wengert as wg
from wengert import optimize

HERE = Path(__file__).parent
DATA = np.loadtxt(HERE / "hudson_bay.csv", delimiter=",")
YEARS, LOGS = DATA[:, 0] - DATA[0, 0], np.log(DATA[:, 1:])  # years since 1900; log of thousands: hare, lynx
MEAN, SPREAD = LOGS.mean(axis=0), LOGS.std(axis=0)
SEEN = (LOGS - MEAN) / SPREAD
HIDDEN = 16
STAGES = [5, 8, 11, 16, 21]  # how many of the years are fitted, one stage after another


def network(seed=0):
    """Return weights of a network of 2, 16 and 2 units, and the state in 1900."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(HIDDEN, 2)), np.zeros(HIDDEN)
    second = 0.1 * rng.normal(size=(2, HIDDEN)), np.zeros(2)
    return {"layers": [first, second], "start": SEEN[0].copy()}


def rate(t, y, layers):
    """Return how fast the two logarithms change in a year."""
    (w, b), (v, c) = layers
    return v @ np.tanh(w @ y + b) + c


def solution(params, years):
    """Return the two logarithms, scaled, in these years: float[years, 2]."""
    span = (0.0, years[-1])
    found = wg.ode.solve_ivp(rate, span, params["start"], t_eval=years, args=(params["layers"],), rtol=1e-5, atol=1e-5)
    return found.y.T


def loss_of(count):
    """Return the mean squared distance to the data of the first years, plus a small term for large weights."""

    def loss(params):
        weights = sum(np.sum(w**2) for w, _ in params["layers"])
        return np.mean((solution(params, YEARS[:count]) - SEEN[:count]) ** 2) + 1e-4 * weights

    return loss


def fit(params, steps, console):
    """Return parameters fitted to all years, and the loss at each step."""
    losses = []
    with Progress(console=console) as progress:
        task = progress.add_task("", total=steps * len(STAGES))
        for count in STAGES:
            optimiser = optimize.adam(optimize.schedules.cosine(1e-2, steps))
            state = optimiser.init(params)
            value_and_gradient = wg.value_and_grad(loss_of(count))

            @wg.jit
            def step(params, state, value_and_gradient=value_and_gradient, update=optimiser.update):
                value, gradient = value_and_gradient(params)
                updates, state = update(gradient, state, params)
                return optimize.apply(params, updates), state, value

            for _ in range(steps):
                params, state, value = step(params, state)
                losses.append(float(value))
                progress.update(task, advance=1, description=f"{count:2d} years, loss {value:8.5f}")
    return params, losses


def draw(params, losses):
    """Draw the pelts and the solution on the left, and the loss at each step on the right."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    over_time, while_fitted = figure.subplots(1, 2, width_ratios=[2, 1])
    t = np.linspace(0.0, YEARS[-1], 500)
    y = np.exp(solution(params, t) * SPREAD + MEAN)
    for k, (name, color) in enumerate([("hare", "#2a78b5"), ("lynx", "#d1602d")]):
        over_time.plot(1900 + t, y[:, k], color=color, label=f"{name}, network")
        over_time.plot(1900 + YEARS, DATA[:, 1 + k], "o", color=color, markersize=4, label=f"{name}, pelts")
    over_time.set(xlabel="year", ylabel="thousands", xticks=range(1900, 1921, 5), ylim=0)
    over_time.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
    while_fitted.semilogy(losses, color="0.2", linewidth=0.8)
    while_fitted.set(xlabel="step", ylabel="loss")
    for axes in (over_time, while_fitted):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500, help="of each of the stages")
    steps = parser.parse_args().steps
    console = Console()
    params, losses = fit(network(), steps, console)
    distance = np.sqrt(np.mean((solution(params, YEARS) - SEEN) ** 2, axis=0)) * SPREAD
    console.print(f"typical error of a year: hare {100 * distance[0]:.0f} %, lynx {100 * distance[1]:.0f} %")
    picture = HERE / "neural_ode.png"
    draw(params, losses).savefig(picture, dpi=160)
    console.print(f"The picture is in {picture}", soft_wrap=True)


if __name__ == "__main__":
    main()
