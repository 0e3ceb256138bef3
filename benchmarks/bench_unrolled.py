"""Measure traced Python loops: the time to the first compiled gradient, and of each later one, beside a plain call; the
compiled loop beside its vector form; and loops to convergence from 1,000 random starts, compiled, beside the plain
functions. Each gradient is compared with differences first, and each value with the plain function's.

python -m benchmarks.bench_unrolled [name ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.alternating import shown as in_words
from benchmarks.checks import distance, slope_error
from benchmarks.timing import show  # with it, the threads are pinned

import numpy as np  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

import wengert as wg

RNG = np.random.default_rng(0)
NEAR = 1e-6
WRONG: list[float] = []


def exponentials(x: Any) -> Any:
    return sum(np.exp(v) for v in x)


def horner(c: Any) -> Any:
    s = 0.0
    for a in c:
        s = s * 0.7 + a
    return s


def pairs(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            s += np.sqrt((x[i] - x[j]) ** 2 + 1.0)
    return s


def warping(a: Any) -> Any:
    b = a[::-1] * 0.9
    n = len(a)
    d = np.full((n + 1, n + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            best = np.minimum(np.minimum(d[i - 1, j], d[i, j - 1]), d[i - 1, j - 1])
            d[i, j] = (a[i - 1] - b[j - 1]) ** 2 + best
    return d[n, n]


def binomial(p: Any, n: int = 500) -> Any:
    spot, strike, sigma, r = p[0], p[1], p[2], p[3]
    dt = 1.0 / n
    u = np.exp(sigma * np.sqrt(dt))
    q = (np.exp(r * dt) - 1 / u) / (u - 1 / u)
    discount = np.exp(-r * dt)
    v = [np.maximum(spot * u ** (2.0 * j - n) - strike, 0.0) for j in range(n + 1)]
    for i in range(n, 0, -1):
        v = [discount * (q * v[j + 1] + (1 - q) * v[j]) for j in range(i)]
    return v[0]


RETURNS = RNG.normal(size=1000)


def garch(p: Any) -> Any:
    omega, alpha, beta = p
    variance, total = np.var(RETURNS), 0.0
    for t in range(len(RETURNS)):
        total += np.log(variance) + RETURNS[t] ** 2 / variance
        variance = omega + alpha * RETURNS[t] ** 2 + beta * variance
    return 0.5 * total


SEEN = RNG.normal(size=(500, 2))
OBSERVE = np.eye(2, 4)


def kalman(p: Any) -> Any:
    a = np.eye(4) + p[0] * np.eye(4, k=2)
    q, r = p[1] * np.eye(4), p[2] * np.eye(2)
    m, cov, total = np.zeros(4), np.eye(4), 0.0
    for z in SEEN:
        m, cov = a @ m, a @ cov @ a.T + q
        s = OBSERVE @ cov @ OBSERVE.T + r
        residual = z - OBSERVE @ m
        gain = cov @ OBSERVE.T @ np.linalg.inv(s)
        m, cov = m + gain @ residual, cov - gain @ OBSERVE @ cov
        total = total + np.log(np.linalg.det(s)) + residual @ np.linalg.solve(s, residual)
    return 0.5 * total


def rigid_body(y: Any, steps: int = 400) -> Any:
    def rate(y: Any) -> Any:
        return [y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]

    y, h = list(y), 0.01
    along = lambda y, k, h: [a + h * b for a, b in zip(y, k, strict=True)]
    for _ in range(steps):
        k1 = rate(y)
        k2 = rate(along(y, k1, h / 2))
        k3 = rate(along(y, k2, h / 2))
        k4 = rate(along(y, k3, h))
        y = [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(y, k1, k2, k3, k4, strict=True)]
    return y[0] + y[1] * y[2]


def recurrence(x: Any) -> Any:
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = 0.7 * y[i - 1] + np.sin(x[i])
    return np.sum(y)


def numbers(n: int) -> Any:
    return RNG.normal(size=n)


PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "sum of exp, n=10": (exponentials, numbers(10)),
    "sum of exp, n=1e3": (exponentials, numbers(1000)),
    "sum of exp, n=1e5": (exponentials, numbers(100_000)),
    "Horner, n=1e4": (horner, numbers(10_000)),
    "pairs, n=60": (pairs, numbers(60)),
    "pairs, n=300": (pairs, numbers(300)),
    "time warping, 60 by 60": (warping, numbers(60)),
    "binomial tree, 500 steps": (binomial, np.array([100.0, 95.0, 0.2, 0.05])),
    "GARCH(1,1), 1,000 days": (garch, np.array([0.1, 0.1, 0.8])),
    "Kalman filter, 500 of 4x4": (kalman, np.array([0.1, 0.1, 0.5])),
    "rigid body, 400 steps": (rigid_body, np.array([0.0, 1.0, 1.0])),
    "rigid body, 1,000 steps": (lambda y: rigid_body(y, 1000), np.array([0.0, 1.0, 1.0])),
    "recurrence, n=1e3": (recurrence, numbers(1000)),
    "recurrence, n=1e4": (recurrence, numbers(10_000)),
}


# ------------------------------------------------------------------------------------------------- to convergence


def kepler(mean: Any) -> Any:
    """Solve for one number by Newton's method."""
    e, anomaly, step = 0.6, mean, 1.0
    while abs(step) > 1e-12:
        step = (anomaly - e * np.sin(anomaly) - mean) / (1 - e * np.cos(anomaly))
        anomaly = anomaly - step
    return anomaly


def newton(x: Any) -> Any:
    """Solve two equations by Newton's method."""
    f = np.ones_like(x)
    while np.sum(f**2) > 1e-20:
        f = np.array([x[0] ** 2 + x[1] ** 2 - 4, np.exp(x[0]) + x[1] - 1])
        x = x - np.linalg.solve(np.array([[2 * x[0], 2 * x[1]], [np.exp(x[0]), 1.0]]), f)
    return x


def fixed_point(x: Any) -> Any:
    y = np.zeros(5)
    while np.linalg.norm(x - y) > 1e-10:
        y = x
        x = np.cos(x) * 0.9 + 0.1 * np.mean(x)
    return x


MATRIX = np.cov(RNG.normal(size=(10, 40)))


def power_iteration(x: Any) -> Any:
    x, before = x / np.sqrt(x @ x), np.zeros(10)
    while np.max(np.abs(x - before)) > 1e-10:
        before = x
        x = MATRIX @ x
        x = x / np.sqrt(x @ x)
    return x @ MATRIX @ x


STARTS: dict[str, tuple[Callable[..., Any], Any]] = {
    "Kepler's equation": (kepler, RNG.uniform(0.0, 6.0, 1000)),
    "Newton, two equations": (newton, RNG.uniform(-2.0, -1.0, (1000, 2)) * np.array([1.0, -1.0])),
    "fixed point of 5 numbers": (fixed_point, RNG.normal(size=(1000, 5))),
    "power iteration, 10x10": (power_iteration, RNG.normal(size=(1000, 10))),
}


def timed(f: Callable[..., Any], *args: Any) -> float:
    start = time.perf_counter()
    f(*args)
    return time.perf_counter() - start


def least(f: Callable[..., Any], *args: Any) -> float:
    times = [timed(f, *args) for _ in range(5)]
    end = time.perf_counter() + 0.3
    while time.perf_counter() < end:
        times.append(timed(f, *args))
    return min(times)


def main() -> None:
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    wanted = lambda name: not names or any(part in name for part in names)
    console = Console(width=130)
    table = Table(
        "program", "call", "first gradient", "calls + 0.5 s", "forward", "gradient", "of a call", "lines", "error"
    )
    for name, (f, x) in PROGRAMS.items():
        if wanted(name):
            table.add_row(name, *first_and_each(f, x))
    console.print(table)
    table = Table("replay", "loop", "vector form", "ratio", "error")
    for n in (10, 1000, 100_000):
        if wanted(name := f"sum of exp, n={n}"):
            loop, vectors = wg.jit(exponentials), wg.jit(lambda x: np.sum(np.exp(x)))
            x = numbers(n)
            error = shown(distance(loop(x), vectors(x)))
            both = [least(f, x) for f in (loop, vectors)]
            table.add_row(name, *map(show, both), f"{both[0] / both[1]:.2f}", error)
    console.print(table)
    table = Table("to convergence, a call", "plain", "compiled", "ratio", "traces, 1,000 starts", "programs", "error")
    for name, (f, starts) in STARTS.items():
        if wanted(name):
            table.add_row(name, *from_all(f, starts))
    console.print(table)
    if WRONG:
        sys.exit(f"{len(WRONG)} wrong results")


def shown(error: float) -> str:
    """Return an error in words, and remember it if it is too large, or NaN."""
    WRONG.extend([] if error <= NEAR else [error])
    return in_words(error, NEAR)


def first_and_each(f: Callable[..., Any], x: Any) -> list[str]:
    call = min(timed(f, x) for _ in range(3))
    compiled, gradient = wg.jit(f), wg.jit(wg.grad(f))
    first = timed(gradient, x)
    error = max(distance(compiled(x), f(x)), slope_error(f, (x,), (0,), gradient(x), h=1e-6))
    forward, each = least(compiled, x), least(gradient, x)
    lines = f"{len(compiled.program(x).tape)} / {len(gradient.program(x).tape)}"
    allowed = f"{max(first - 0.5, 0) / call:.0f}"
    row = [show(call), show(first), allowed, show(forward), f"{show(each)} ({each / forward:.1f})"]
    return [*row, f"{each / call:.3f}", lines, shown(error)]


def from_all(f: Callable[..., Any], starts: Any) -> list[str]:
    compiled = wg.jit(f)

    def run(f: Callable[..., Any]) -> None:
        for x in starts:
            f(x)

    error = max([distance(compiled(x), f(x)) for x in starts])
    stats = compiled.stats()
    plain, each = [least(run, g) / len(starts) for g in (f, compiled)]
    counts = [str(stats[key]) for key in ("traces", "specialisations")]
    return [show(plain), show(each), f"{plain / each:.1f}", *counts, shown(error)]


if __name__ == "__main__":
    main()
