"""Learn how well 18 baseball players hit from their first 45 times at bat, 1970, and see how the season went on.

The players' skills are drawn from one distribution, whose centre and spread are unknown as well: a hierarchical model
(Efron and Morris 1975). It is written with the distributions of ``scipy.stats``, as a statistician would:

    centre ~ norm(-1, 1)     spread ~ halfnorm(0, 1)     skill of a player ~ norm(0, 1)
    hits ~ binom(45, expit(centre + spread * skill))

wengert turns the log density and its gradient into native code, and 60 lines of Hamiltonian Monte Carlo (Neal 2011)
sample the posterior.

    python examples/batting.py [--samples 4000]
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from scipy.special import expit
from scipy.stats import binom, halfnorm, norm

import wengert as wg

HERE = Path(__file__).parent
DATA = np.genfromtxt(HERE / "batting.csv", delimiter=",", dtype=[("name", "U20"), ("hits", int), ("rest", float)])
HITS, REST, TRIES = DATA["hits"], DATA["rest"], 45
STEPS = 12  # of the leapfrog method, for one sample


# ----------------------------------------------------------------------- the model, in SciPy's words


def averages(theta):
    """Return the batting average of each player; theta is the centre, log of the spread, and the skills."""
    return expit(theta[0] + np.exp(theta[1]) * theta[2:])


def log_density(theta):
    """Return the logarithm of the posterior density, up to a constant."""
    centre, log_spread, skills = theta[0], theta[1], theta[2:]
    prior = norm.logpdf(centre, -1, 1) + halfnorm.logpdf(np.exp(log_spread)) + log_spread
    return prior + np.sum(norm.logpdf(skills)) + np.sum(binom.logpmf(HITS, TRIES, averages(theta)))


# -------------------------------------------------------------------------- Hamiltonian Monte Carlo


def leapfrog(slope, theta, momentum, size):
    """Return where a particle is after some steps, whose potential is minus the log density."""
    momentum = momentum + size / 2 * slope(theta)
    for _ in range(STEPS - 1):
        theta = theta + size * momentum
        momentum = momentum + size * slope(theta)
    theta = theta + size * momentum
    return theta, momentum + size / 2 * slope(theta)


def sample(count, progress, seed=1):
    """Return samples of the posterior, float[count, unknowns], and how many proposals were taken."""
    rng = np.random.default_rng(seed)
    density = wg.jit(log_density)
    move = wg.jit(lambda theta, momentum, size: leapfrog(wg.grad(log_density), theta, momentum, size))
    theta, size, taken, found = np.zeros(2 + len(HITS)), 0.1, 0, []
    warm_up = count // 4
    for k in progress(range(count + warm_up)):
        momentum = rng.normal(size=theta.shape)
        new, end = move(theta, momentum, size * rng.uniform(0.8, 1.2))
        gain = density(new) - density(theta) + (momentum @ momentum - end @ end) / 2
        is_taken = np.log(rng.uniform()) < gain
        theta = new if is_taken else theta
        if k < warm_up:  # four proposals of five are to be taken
            size *= 1.02 if is_taken else 0.92
        else:
            taken += is_taken
            found.append(theta)
    return np.array(found), taken / count


# ------------------------------------------------------------------------------- what was learnt


def draw(expected, low, high, name):
    figure = Figure(figsize=(7, 5.5), layout="constrained")
    axes = figure.subplots()
    rows = np.arange(len(HITS))[::-1]
    axes.hlines(rows, low, high, color="#9ecae1", lw=6, label="90 % of the posterior")
    axes.plot(expected, rows, "o", color="#08519c", label="posterior mean")
    axes.plot(HITS / TRIES, rows, "|", color="k", ms=12, label="the first 45 times at bat")
    axes.plot(REST, rows, "*", color="#d94801", ms=9, label="the rest of the season")
    axes.set_yticks(rows, DATA["name"])
    axes.set_xlabel("batting average")
    axes.legend(loc="lower right", fontsize=8)
    figure.savefig(HERE / name, dpi=120)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=4000)
    count = parser.parse_args().samples
    console = Console()
    start = perf_counter()
    with Progress(console=console) as bar:
        samples, rate = sample(count, lambda steps: bar.track(steps, description="sampling"))
    seconds = perf_counter() - start

    each = np.array([averages(theta) for theta in samples])
    expected, (low, high) = each.mean(axis=0), np.quantile(each, [0.05, 0.95], axis=0)
    table = Table("player", "first 45", "posterior", "90 %", "rest")
    for name, hits, mean, a, b, rest in zip(DATA["name"], HITS, expected, low, high, REST, strict=True):
        table.add_row(name, f"{hits / TRIES:.3f}", f"{mean:.3f}", f"{a:.3f} to {b:.3f}", f"{rest:.3f}")
    console.print(table)
    error = lambda guess: np.sum((guess - REST) ** 2)
    console.print(f"{count} samples in {seconds:.1f} s, {rate:.0%} of the proposals were taken")
    console.print(
        f"squared errors: {error(HITS / TRIES):.3f} of the first averages, {error(expected):.3f} of the model"
    )
    draw(expected, low, high, "batting.png")
    console.print("[green]batting.png shows both")


if __name__ == "__main__":
    main()
