"""Compare differential equations with SciPy, Diffrax, torchdiffeq and numbalsoda: float64, one thread, measured
alternately in one process.

python -m benchmarks.bench_ode [--quick] [name ...]

Installing numbalsoda builds it, which needs CMake and a Fortran compiler; if it is not installed, it is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.bench_networks import Calls, alternately, has
from benchmarks.timing import show  # with it, the threads are pinned

import numpy as np  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip
from scipy.integrate import solve_ivp  # isort: skip

import wengert as wg

RNG = np.random.default_rng(0)
TOLERANCES = {"rtol": 1e-8, "atol": 1e-8}
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


def in_diffrax(rate: Any, end: float, start: Any, solver: str, rtol: float, atol: float) -> Callable[[Any], Any]:
    import diffrax
    import jax.numpy as jnp

    def solve(p: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(rate),
            getattr(diffrax, solver)(),
            0.0,
            end,
            None,
            jnp.asarray(start),
            args=p,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
            max_steps=16384,
        ).ys[-1]

    return solve


def _stacked(rate: Any, jnp: Any) -> Any:
    names = dict(rate.__globals__)
    names["np"] = jnp
    return type(rate)(rate.__code__, names)


def equation(rate: Any, end: float, start: Any, p: Any, methods: tuple[str, str, str], gradient: bool) -> Calls:
    """Solve by our method, SciPy's and Diffrax's; a gradient is that of the sum of the last state."""
    ours = last(rate, end, start, methods[0], **TOLERANCES)
    compiled = wg.jit(wg.grad(lambda p: np.sum(ours(p)))) if gradient else wg.jit(ours)
    calls: Calls = {f"wengert, {methods[0]}": lambda: compiled(p)}
    calls[f"scipy, {methods[1]}, the value alone"] = lambda: solve_ivp(
        rate, (0.0, end), start, methods[1], args=(p,), **TOLERANCES
    )
    if has("diffrax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        theirs = in_diffrax(_stacked(rate, jax.numpy), end, start, methods[2], **TOLERANCES)
        jitted = jax.jit(jax.grad(lambda p: theirs(p).sum()) if gradient else theirs)
        given = jax.numpy.asarray(p)
        calls[f"diffrax, {methods[2]}"] = lambda: jax.block_until_ready(jitted(given))
    if has("numbalsoda") and not gradient:
        calls |= in_numbalsoda(rate, end, start, p)
    return calls


def in_numbalsoda(rate: Any, end: float, start: Any, p: Any) -> Calls:
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
    return {
        f"numbalsoda, {name}": lambda solve=solve: solve(compiled.address, start, ts, data=p, **TOLERANCES)
        for name, solve in solvers.items()
    }


def network(sizes: tuple[int, ...] = (4, 32, 4)) -> list[tuple[Any, Any]]:
    return [(RNG.normal(size=(m, n)) / np.sqrt(n), np.zeros(m)) for n, m in zip(sizes, sizes[1:], strict=False)]


def neural() -> Calls:
    """Take a gradient of the squared distance to 10 data points, in a network of 4, 32 and 4 units."""
    layers, data, ts = network(), RNG.normal(size=(4, 10)), np.linspace(0.1, 1.0, 10)
    start = np.array([1.0, 0.5, -0.5, 0.2])
    options = {"rtol": 1e-6, "atol": 1e-6}

    def rate(t: Any, y: Any, layers: Any) -> Any:
        (w, b), (v, c) = layers
        return v @ np.tanh(w @ y + b) + c

    def loss(layers: Any) -> Any:
        found = wg.ode.solve_ivp(rate, (0.0, 1.0), start, t_eval=ts, args=(layers,), **options)
        return np.mean((found.y - data) ** 2)

    compiled = wg.jit(wg.grad(loss))
    calls: Calls = {"wengert": lambda: compiled(layers)}
    if has("diffrax"):
        import diffrax
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)

        def theirs(layers: Any) -> Any:
            (w, b), (v, c) = layers
            found = diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, y, a: v @ jnp.tanh(w @ y + b) + c),
                diffrax.Tsit5(),
                0.0,
                1.0,
                None,
                jnp.asarray(start),
                saveat=diffrax.SaveAt(ts=jnp.asarray(ts)),
                stepsize_controller=diffrax.PIDController(**options),
            )
            return jnp.mean((found.ys.T - data) ** 2)

        jitted, given = jax.jit(jax.grad(theirs)), jax.tree.map(jnp.asarray, layers)
        calls["diffrax"] = lambda: jax.block_until_ready(jitted(given))
    if has("torchdiffeq"):
        import torch
        from torchdiffeq import odeint

        tensors = [torch.tensor(x, requires_grad=True) for layer in layers for x in layer]
        times, wanted, y0 = (torch.tensor(x) for x in (np.concatenate([[0.0], ts]), data.T, start))

        def in_torch() -> Any:
            w, b, v, c = tensors
            found: Any = odeint(lambda t, y: v @ torch.tanh(w @ y + b) + c, y0, times, **options)
            return torch.autograd.grad(((found[1:] - wanted) ** 2).mean(), tensors)

        calls["torchdiffeq"] = in_torch
    return calls


EXPLICIT = "Tsit5", "RK45", "Tsit5"
IMPLICIT = "KenCarp4", "Radau", "Kvaerno5"
RATES = np.array([0.04, 1e4, 3e7])
CHAOS = np.array([10.0, 28.0, 8 / 3])
WORKLOADS: dict[str, Callable[[], Calls]] = {
    "Lotka-Volterra": lambda: equation(prey, 10.0, START, PREY, EXPLICIT, False),
    "Lotka-Volterra, gradient": lambda: equation(prey, 10.0, START, PREY, EXPLICIT, True),
    "Lorenz": lambda: equation(lorenz, 10.0, np.ones(3), CHAOS, EXPLICIT, False),
    "Robertson": lambda: equation(robertson, 1e4, np.array([1.0, 0.0, 0.0]), RATES, IMPLICIT, False),
    "neural, gradient": neural,
}


def main() -> None:
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    rounds, budget_s = (2, 0.2) if "--quick" in sys.argv else (7, 0.5)
    table = Table("workload", "what", "least / median", "times ours")
    for name, make in WORKLOADS.items():
        if names and not any(part in name for part in names):
            continue
        timings = alternately(make(), rounds, budget_s)
        first = next(iter(timings.values()))
        for what, timing in timings.items():
            ratio = f"{timing.least / first.least:.2f}"
            table.add_row(name, what, f"{show(timing.least)} / {show(timing.median)}", ratio)
            name = ""
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
