"""Compare differential equations with SciPy, Diffrax, torchdiffeq and numbalsoda: float64, one thread, measured
alternately in one process, at the same accuracy.

python -m benchmarks.bench_ode [--quick] [name ...]

Equal tolerances give methods errors that are orders apart. So each gets the loosest tolerance, of two a decade, with
which its result is within ``TARGET`` of a reference; the table says the tolerance, and the error that was reached.
Installing numbalsoda builds it, which needs CMake and a Fortran compiler; if it is not installed, it is left out.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from benchmarks.alternating import Calls, Other, alternately, has, shown
from benchmarks.checks import leaves, slope_error
from benchmarks.timing import show  # with it, the threads are pinned

import numpy as np  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip
from scipy.integrate import solve_ivp  # isort: skip

import wengert as wg

RNG = np.random.default_rng(0)
TARGET = 1e-6
"""The error that all have to reach."""
TOLERANCES = [10 ** (-k / 2) for k in range(4, 27)]
PREY = np.array([1.5, 1.0, 3.0, 1.0])
START = np.array([10.0, 5.0])


def prey(t: Any, y: Any, p: Any) -> Any:
    return np.array([(p[0] - p[1] * y[1]) * y[0], (p[3] * y[0] - p[2]) * y[1]])


def lorenz(t: Any, y: Any, p: Any) -> Any:
    return np.array([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])


def robertson(t: Any, y: Any, p: Any) -> Any:
    slow, fast, sink = p[0] * y[0], p[1] * y[1] * y[2], p[2] * y[1] ** 2
    return np.array([-slow + fast, slow - fast - sink, sink])


def last(rate: Any, end: float, start: Any, method: str, **options: Any) -> Callable[[Any], Any]:
    return lambda p: wg.ode.solve_ivp(rate, (0.0, end), start, method, t_eval=[end], args=(p,), **options).y[:, -1]


def in_diffrax(rate: Any, end: float, start: Any, solver: str, smallest: float) -> Callable[[Any, Any], Any]:
    import diffrax
    import jax.numpy as jnp

    def solve(p: Any, rtol: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(rate),
            getattr(diffrax, solver)(),
            0.0,
            end,
            None,
            jnp.asarray(start),
            args=p,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=smallest * rtol),
            max_steps=65536,
        ).ys[-1]

    return solve


def _stacked(rate: Any, jnp: Any) -> Any:
    names = dict(rate.__globals__)
    names["np"] = jnp
    return type(rate)(rate.__code__, names)


Solver = Callable[[float], Callable[[], Any]]
"""Given a tolerance, the call that solves with it."""


@dataclass(frozen=True)
class Problem:
    """A problem, and its solvers, of which the first is ours; ``others`` compute less, and are not compared."""

    solvers: dict[str, Solver]
    reference: Any
    others: dict[str, Solver] = field(default_factory=dict)


def equation(rate: Any, end: float, start: Any, p: Any, methods: tuple[str, str, str], gradient: bool) -> Problem:
    """Solve by our method, SciPy's and Diffrax's; a gradient is that of the sum of the last state."""
    smallest = 1e-4 if rate is robertson else 1.0  # the absolute tolerance, as a part of the relative one

    def ours(rtol: float) -> Callable[[], Any]:
        f = last(rate, end, start, methods[0], rtol=rtol, atol=smallest * rtol)
        compiled = wg.jit(wg.grad(lambda p: np.sum(f(p)))) if gradient else wg.jit(f)
        return lambda: compiled(p)

    def of_scipy(rtol: float, method: str = methods[1], p: Any = p) -> Callable[[], Any]:
        y0 = start.astype(p.dtype)
        options: Any = {"rtol": max(rtol, 3e-14), "atol": smallest * rtol}
        return lambda: solve_ivp(rate, (0.0, end), y0, method, args=(p,), **options).y[:, -1]

    best = "Radau" if rate is robertson else "DOP853"
    if gradient:  # by a small imaginary part, that costs no digits
        reference = [of_scipy(1e-13, best, p + 1e-30j * v)().sum().imag / 1e-30 for v in np.eye(len(p))]
    else:
        reference = of_scipy(1e-13, best)()
    solvers: dict[str, Solver] = {f"wengert, {methods[0]}": ours}
    others: dict[str, Solver] = {}
    if gradient:
        others[f"scipy, {methods[1]}, the value alone"] = of_scipy
    else:
        solvers[f"scipy, {methods[1]}"] = of_scipy
    if has("diffrax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        solve = in_diffrax(_stacked(rate, jax.numpy), end, start, methods[2], smallest)
        jitted = jax.jit(jax.grad(lambda p, rtol: solve(p, rtol).sum()) if gradient else solve)
        given = jax.numpy.asarray(p)
        solvers[f"diffrax, {methods[2]}"] = lambda rtol: lambda: jax.block_until_ready(jitted(given, rtol))
    if has("numbalsoda") and not gradient:
        solvers |= in_numbalsoda(rate, end, start, p, smallest)
    return Problem(solvers, np.array(reference), others)


def in_numbalsoda(rate: Any, end: float, start: Any, p: Any, smallest: float) -> dict[str, Solver]:
    """Solve by LSODA and by DOP853, with machine code of Numba's."""
    numba: Any = import_module("numba")  # which does not say what it exports
    from numbalsoda import dop853, lsoda, lsoda_sig

    inner = numba.njit(rate)
    n, m = len(start), len(p)

    @numba.cfunc(lsoda_sig)
    def compiled(t: Any, y: Any, dy: Any, p: Any) -> None:
        found = inner(t, numba.carray(y, (n,)), numba.carray(p, (m,)))
        for k in range(n):
            dy[k] = found[k]

    ts = np.array([0.0, end])
    solvers = {"lsoda": lsoda, "dop853": dop853}
    if rate is robertson:
        del solvers["dop853"]  # it does not end

    def of(solve: Any) -> Solver:
        options = {"data": p}
        return lambda rtol: (
            lambda: solve(compiled.address, start, ts, rtol=rtol, atol=smallest * rtol, **options)[0][-1]
        )

    return {f"numbalsoda, {name}": of(solve) for name, solve in solvers.items()}


def network(sizes: tuple[int, ...] = (4, 32, 4)) -> list[tuple[Any, Any]]:
    return [(RNG.normal(size=(m, n)) / np.sqrt(n), np.zeros(m)) for n, m in zip(sizes, sizes[1:], strict=False)]


def neural() -> Problem:
    """Take a gradient of the squared distance to 10 data points, in a network of 4, 32 and 4 units."""
    layers, data, ts = network(), RNG.normal(size=(4, 10)), np.linspace(0.1, 1.0, 10)
    start = np.array([1.0, 0.5, -0.5, 0.2])

    def rate(t: Any, y: Any, layers: Any) -> Any:
        (w, b), (v, c) = layers
        return v @ np.tanh(w @ y + b) + c

    def loss(rtol: float, solve: Any = wg.ode.solve_ivp, method: str = "Tsit5") -> Callable[[Any], Any]:
        options = {"t_eval": ts, "rtol": rtol, "atol": rtol}
        return lambda layers: np.mean((solve(rate, (0.0, 1.0), start, method, args=(layers,), **options).y - data) ** 2)

    def ours(rtol: float) -> Callable[[], Any]:
        compiled = wg.jit(wg.grad(loss(rtol)))
        return lambda: compiled(layers)

    reference = ours(1e-12)()
    error = slope_error(loss(1e-12, solve_ivp, "DOP853"), (layers,), (0,), reference, h=1e-4)
    assert error < 1e-8, f"the reference is {error:.0e} from differences of SciPy's solution"
    solvers: dict[str, Solver] = {"wengert": ours}
    if has("diffrax"):
        import diffrax
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)

        def theirs(layers: Any, rtol: Any) -> Any:
            (w, b), (v, c) = layers
            found = diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, y, a: v @ jnp.tanh(w @ y + b) + c),
                diffrax.Tsit5(),
                0.0,
                1.0,
                None,
                jnp.asarray(start),
                saveat=diffrax.SaveAt(ts=jnp.asarray(ts)),
                stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol),
            )
            return jnp.mean((found.ys.T - data) ** 2)

        jitted, given = jax.jit(jax.grad(theirs)), jax.tree.map(jnp.asarray, layers)
        solvers["diffrax"] = lambda rtol: lambda: jax.block_until_ready(jitted(given, rtol))
    if has("torchdiffeq"):
        import torch
        from torchdiffeq import odeint

        tensors = [torch.tensor(x, requires_grad=True) for layer in layers for x in layer]
        times, wanted, y0 = (torch.tensor(x) for x in (np.concatenate([[0.0], ts]), data.T, start))

        def in_torch(rtol: float) -> Any:
            w, b, v, c = tensors
            found: Any = odeint(lambda t, y: v @ torch.tanh(w @ y + b) + c, y0, times, rtol=rtol, atol=rtol)
            return torch.autograd.grad(((found[1:] - wanted) ** 2).mean(), tensors)

        solvers["torchdiffeq"] = lambda rtol: lambda: in_torch(rtol)
    return Problem(solvers, reference)


EXPLICIT = "Tsit5", "RK45", "Tsit5"
IMPLICIT = "KenCarp4", "Radau", "Kvaerno5"
RATES = np.array([0.04, 1e4, 3e7])
CHAOS = np.array([10.0, 28.0, 8 / 3])
WORKLOADS: dict[str, Callable[[], Problem]] = {
    "Lotka-Volterra": lambda: equation(prey, 10.0, START, PREY, EXPLICIT, False),
    "Lotka-Volterra, gradient": lambda: equation(prey, 10.0, START, PREY, EXPLICIT, True),
    "Lorenz": lambda: equation(lorenz, 10.0, np.ones(3), CHAOS, EXPLICIT, False),
    "Robertson": lambda: equation(robertson, 1e4, np.array([1.0, 0.0, 0.0]), RATES, IMPLICIT, False),
    "neural, gradient": neural,
}


def far(found: Any, reference: Any) -> float:
    """Return the greatest error relative to each element, NaN where one is not a number."""
    worst_of = 0.0
    for x, y in zip(leaves(found), leaves(reference), strict=True):
        gaps = np.abs(np.asarray(x) - np.asarray(y)) / np.maximum(np.abs(y), 1e-3 * np.max(np.abs(y), initial=0.0))
        if not np.isfinite(gaps).all():
            return math.nan
        worst_of = max(worst_of, float(np.max(gaps, initial=0.0)))
    return worst_of


def componentwise(found: Any, reference: Any) -> float:
    """Return the greatest error relative to each element, of a state whose elements are of different sizes."""
    return far([np.array([x]) for x in np.ravel(found)], [np.array([y]) for y in np.ravel(reference)])


def loosest(solver: Solver, reference: Any, error_of: Callable[[Any, Any], float]) -> tuple[float, float]:
    """Return the loosest tolerance that reaches the target, by bisection, and the error with it."""
    low, high, best = 0, len(TOLERANCES), (TOLERANCES[-1], math.nan)
    while low < high:
        k = (low + high) // 2
        error = error_of(solver(TOLERANCES[k])(), reference)
        if error <= TARGET:  # False for NaN
            high, best = k, (TOLERANCES[k], error)
        else:
            low = k + 1
    return best


def main() -> None:
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    rounds, budget_s = (2, 0.2) if "--quick" in sys.argv else (7, 0.5)
    table = Table("workload", "what", "tolerance", "error", "least / median", "times ours")
    missed: list[str] = []
    for name, make in WORKLOADS.items():
        if names and not any(part in name for part in names):
            continue
        problem, title = make(), name
        error_of = componentwise if name == "Robertson" else far
        reached = {what: loosest(s, problem.reference, error_of) for what, s in problem.solvers.items()}
        own = next(iter(reached.values()))[0]
        calls: Calls = {what: problem.solvers[what](rtol) for what, (rtol, _) in reached.items()}
        calls |= {what: Other(solver(own)) for what, solver in problem.others.items()}
        timings = alternately(calls, rounds, budget_s)
        first = next(iter(timings.values()))
        for what, timing in timings.items():
            rtol, error = reached.get(what, (own, None))
            if error is not None and not error <= TARGET:
                missed.append(f"{name}, {what}")
            ratio = f"{timing.least / first.least:.2f}"
            times = f"{show(timing.least)} / {show(timing.median)}"
            table.add_row(title, what, f"{rtol:.0e}", shown(error, TARGET), times, ratio)
            title = ""
    Console(width=130).print(table)
    if missed:
        sys.exit(f"an error of {TARGET:.0e} is not reached: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
