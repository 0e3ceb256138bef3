"""Fit a model of predator and prey to the pelts of the Hudson Bay Company, 1900-1920.

Hares multiply until lynxes eat them; lynxes starve unless they eat hares (Lotka 1925, Volterra 1926):

    hare' = (a - b lynx) hare          lynx' = (d hare - c) lynx

The model is ordinary NumPy, solved by adaptive steps.  wengert turns the gradient of its likelihood, in all eight
unknowns, into native code; SciPy's L-BFGS does the rest.

    python examples/lotka_volterra.py
"""

from pathlib import Path
from timeit import repeat

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from scipy.optimize import minimize

import wengert as wg

HERE = Path(__file__).parent
DATA = np.loadtxt(HERE / "hudson_bay.csv", delimiter=",")
YEARS, PELTS = DATA[:, 0], DATA[:, 1:]  # pelts in thousands: hare, lynx

UNKNOWNS = ["a", "b", "c", "d", "hares in 1900", "lynxes in 1900", "σ of hares", "σ of lynxes"]

# Posterior means of the same model: Carpenter (2018), Predator-Prey Population Dynamics, a Stan case study.
PUBLISHED = np.array([0.55, 0.028, 0.80, 0.024, 34.0, 5.9, 0.25, 0.25])


# ---------------------------------------------------------------------- the model, in plain NumPy


def lotka_volterra(t, y, rates):
    """Return how fast the numbers of hares and lynxes change."""
    a, b, c, d = rates
    hare, lynx = y
    return np.array([(a - b * lynx) * hare, (d * hare - c) * lynx])


def simulate(rates, start, years=YEARS):
    """Return hares and lynxes in these years, the first of which is 1900: float[years, 2]."""
    span = (years[0], years[-1])
    return wg.ode.solve_ivp(lotka_volterra, span, start, t_eval=years, args=(rates,), rtol=1e-6, atol=1e-6).y.T


def loss(theta):
    """Return minus the log-likelihood of the pelts; theta is the logarithm of the unknowns, which are positive."""
    unknowns = np.exp(theta)
    rates, start, sigma = unknowns[:4], unknowns[4:6], unknowns[6:]
    y = simulate(rates, start)
    z = np.log(PELTS / y) / sigma
    return np.sum(z**2 / 2 + np.log(sigma))


def first_guess():
    """Guess from the bare numbers: cycles of 2π/√(ac) = 10 years, around c/d hares and a/b lynxes."""
    a = c = 2 * np.pi / 10
    mean_hare, mean_lynx = PELTS.mean(axis=0)
    return np.array([a, a / mean_lynx, c, c / mean_hare, *PELTS[0], 1.0, 1.0])


# ------------------------------------------------------------------------- its gradient, and its fit


def main():
    console = Console()
    theta = np.log(first_guess())
    loss_and_gradient = wg.jit(wg.value_and_grad(loss))

    console.rule("the loss as a tape")
    show_tape(console, wg.trace(loss)(theta))

    console.rule("its gradient at the first guess")
    with console.status("recording, differentiating, compiling"):
        loss_and_gradient(theta)
    compare_gradients(console, loss_and_gradient, theta)

    console.rule("the fit")
    found = fit(console, loss_and_gradient, theta)
    compare_with_published(console, np.exp(found.x))

    picture = HERE / "lotka_volterra.png"
    draw(np.exp(found.x)).savefig(picture, dpi=160)
    console.print(f"\nThe picture is in {picture}", soft_wrap=True)


def fit(console, loss_and_gradient, theta):
    """Return the most likely theta, found by L-BFGS."""
    columns = SpinnerColumn(finished_text="✓"), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=None)

        def report(intermediate_result):
            progress.advance(task)
            steps = progress.tasks[task].completed
            progress.update(task, description=f"{steps:3.0f} steps, loss {intermediate_result.fun:9.4f}")

        found = minimize(loss_and_gradient, theta, jac=True, method="L-BFGS-B", callback=report)
        progress.update(task, total=found.nit)
    if not found.success:
        raise SystemExit(f"the fit did not converge: {found.message}")
    return found


def central_differences(f, x, step=1e-5):
    """Return the gradient of f at x, from two values of f for every component of x."""
    return np.array([(f(x + dx) - f(x - dx)) / (2 * step) for dx in step * np.eye(len(x))])


# ---------------------------------------------------------------------------------- tables, picture


def show_tape(console, tape, n_shown=12):
    lines = str(tape).splitlines()
    for line in lines[:n_shown]:
        console.print(line, markup=False, highlight=False, no_wrap=True, overflow="ellipsis")
    console.print(f"... {len(tape)} instructions in all\n")


def compare_gradients(console, loss_and_gradient, theta):
    _, gradient = loss_and_gradient(theta)
    differences = central_differences(loss, theta)

    table = Table("∂ loss / ∂ log")
    for title in ["wengert", "central differences", "they differ by"]:
        table.add_column(title, justify="right")
    for name, ours, theirs in zip(UNKNOWNS, gradient, differences, strict=True):
        table.add_row(name, f"{ours:.8f}", f"{theirs:.8f}", f"{abs(ours - theirs):.0e}")
    table.add_section()
    time_ours = milliseconds(lambda: loss_and_gradient(theta))
    time_theirs = milliseconds(lambda: central_differences(loss, theta))
    table.add_row("time", f"{time_ours:.3f} ms", f"{time_theirs:.3f} ms", f"× {time_theirs / time_ours:.0f}")
    console.print(table)


def compare_with_published(console, unknowns):
    table = Table("unknown")
    for title in ["fitted", "published"]:
        table.add_column(title, justify="right")
    for name, ours, theirs in zip(UNKNOWNS, unknowns, PUBLISHED, strict=True):
        table.add_row(name, f"{ours:.3f}", f"{theirs:.3f}")
    console.print(table)


def milliseconds(call):
    """Return the time of one call, the least of several."""
    return 1000 * min(repeat(call, number=5, repeat=5)) / 5


def draw(unknowns):
    """Draw data and model: on the left over time, on the right one species against the other."""
    rates, start, sigma = unknowns[:4], unknowns[4:6], unknowns[6:]
    t = np.linspace(YEARS[0], YEARS[-1], 1001)
    y = simulate(rates, start, t)
    band = np.exp(sigma)  # a factor: two thirds of the pelts should lie within it

    figure = Figure(figsize=(11, 4.4), layout="constrained")
    over_time, cycle = figure.subplots(1, 2, width_ratios=[2, 1])
    for name, color, model, pelts, factor in zip(
        ["hare", "lynx"], ["#2a78b5", "#d1602d"], y.T, PELTS.T, band, strict=True
    ):
        over_time.fill_between(t, model / factor, model * factor, color=color, alpha=0.15, linewidth=0)
        over_time.plot(t, model, color=color, label=f"{name}, model")
        over_time.plot(YEARS, pelts, "o", color=color, markersize=4, label=f"{name}, pelts")
    over_time.set(xlabel="year", ylabel="thousands", xticks=range(1900, 1921, 5), ylim=0)
    over_time.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))

    cycle.plot(*PELTS.T, "o-", color="0.75", markersize=4, linewidth=0.8, label="pelts")
    cycle.plot(*y.T, color="0.2", label="model")
    cycle.set(xlabel="hares, thousands", ylabel="lynxes, thousands", xlim=0, ylim=0)
    cycle.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))

    for axes in (over_time, cycle):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    main()
