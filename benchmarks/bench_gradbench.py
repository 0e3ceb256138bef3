"""Compare derivatives of GradBench's evals, written in plain NumPy, with JAX's: ``make bench`` runs it.

    python -m benchmarks.bench_gradbench [name ...] [--quick] [--json FILE]

The functions are in :mod:`benchmarks.gradbench`, and in :mod:`benchmarks.gradbench_jax` where JAX needs its own loops.
Sizes are the smaller ones of GradBench. ``wengert`` is compiled by ``wg.jit``; ``wengert, plain`` is a plain call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from benchmarks import gradbench as g
from benchmarks import rows as tables
from benchmarks.rows import Row

import numpy as np  # isort: skip

Function = Callable[..., Any]


def both(ours: Function, transform: Function, argnums: int | tuple[int, ...] = 0) -> dict[str, Any]:
    """Return our two ways to call ``transform(wg)(function)``."""
    import wengert as wg

    def jitted(*inputs: Any) -> Callable[[], Any]:
        return partial(wg.jit(transform(wg, ours, argnums)), *inputs)

    def plain(*inputs: Any) -> Callable[[], Any]:
        return partial(transform(wg, ours, argnums), *inputs)

    return {"wengert": jitted, "wengert, plain": plain}


def in_jax(theirs: Function, transform: Function, argnums: int | tuple[int, ...] = 0) -> Any:
    """Return how JAX calls it; ``theirs`` returns the function, given the module with it and the retargeted ones."""

    def make(*inputs: Any) -> Callable[[], Any]:
        import jax

        from benchmarks import gradbench_jax

        call = jax.jit(transform(jax, theirs(gradbench_jax), argnums))
        given = [jax.device_put(x) for x in inputs]
        return lambda: jax.block_until_ready(call(*given))

    return make


def in_autograd(theirs: Function, argnums: int | tuple[int, ...]) -> Any:
    """Return how autograd calls the gradient of a function, which ``theirs`` returns, given the retargeted ones."""

    def make(*inputs: Any) -> Callable[[], Any]:
        import autograd

        return partial(autograd.grad(theirs(g.retargeted(autograd.numpy)), argnums), *inputs)

    return make


def gradient(library: Any, f: Function, argnums: Any) -> Function:
    return library.grad(f, argnums=argnums)


def row(name: str, inputs: Function, ours: Function, theirs: Function, transform: Function = gradient, argnums: Any = 0,
        autograds: Function | None = None) -> Row:  # fmt: skip
    """Return a row of our two ways, JAX, and autograd where it has the function."""
    by = both(ours, transform, argnums)
    by = {"wengert": by["wengert"], "jax": in_jax(theirs, transform, argnums), "wengert, plain": by["wengert, plain"]}
    if autograds is not None and find_spec("autograd"):
        by["autograd"] = in_autograd(autograds, argnums)
    return Row(name, inputs, by)


def jacobian_of_rows(library: Any, f: Function, argnums: Any) -> Function:
    """Return the Jacobian of each observation's errors, two by fifteen, and that of its weight's error."""
    blocks = library.vmap((library.jacrev if hasattr(library, "jacrev") else library.jacobian)(f))
    arguments = f.__globals__["ba_arguments"]  # of the module that f is of, which may be the retargeted one

    def found(*inputs: Any) -> Any:
        cameras, points, weights, observations, features = inputs
        return blocks(arguments(cameras, points, weights, observations), features), -2.0 * weights

    return found


def jacobian(library: Any, f: Function, argnums: Any) -> Function:
    """Return the Jacobian of many errors by few variables."""
    return library.jacfwd(f) if hasattr(library, "jacfwd") else library.jacobian(f)


def newton(library: Any, f: Function, argnums: Any) -> Function:
    """Return the gradient divided by the diagonal of the Hessian, which has no other elements."""

    def direction(centres: Any, points: Any) -> Any:
        def slope(c: Any) -> Any:
            return library.grad(lambda c: f(c, points))(c)

        first, second = library.jvp(slope, (centres,), (0 * centres + 1,))
        return first / second

    return direction


def optimised(library: Any, f: Function, argnums: Any) -> Function:
    return f


def forward_of(wg: Any) -> Function:
    def forward(f: Function) -> Function:
        return wg.jacobian(f, mode="forward")

    return forward


def ours(f: Function, modes: str) -> Function:
    import wengert as wg

    t = g.Transforms(np, wg.while_loop, wg.cond, wg.grad, forward_of(wg))
    return partial(f, t, modes)


def rows(quick: bool = False) -> list[Row]:
    found: list[Row] = []

    def drawn(*shape: int) -> Callable[[], tuple[Any, ...]]:
        return lambda: (np.random.RandomState(g.SEED).rand(*shape),)

    for n in (5, 6) if quick else (5, 6, 7):
        found.append(row(f"det {n}", drawn(n, n), g.det, lambda j: j.functions.det_of_stacks,
                         autograds=lambda f: f.det))  # fmt: skip
    for d, k in [(2, 5), (10, 5)] if quick else [(2, 5), (10, 5), (10, 25), (20, 10), (32, 25)]:
        found.append(row(
            f"gmm d={d} k={k}", partial(g.gmm_inputs, d, k), partial(g.gmm, m=0, gamma=1.0),
            lambda j: partial(j.functions.gmm, m=0, gamma=1.0), argnums=(0, 1, 2, 3),
            autograds=lambda f: partial(f.gmm, m=0, gamma=1.0),
        ))  # fmt: skip
    for n, m, p in [(4, 100, 1000)] if quick else [(4, 100, 1000), (49, 7776, 31843)]:
        found.append(row(
            f"ba p={p}", partial(g.ba_inputs, n, m, p), g.reprojection, lambda j: j.functions.reprojection,
            jacobian_of_rows,
        ))  # fmt: skip
    for size, vertices, observed in [("small", 544, 100)] if quick else [("small", 544, 100), ("big", 10000, 100)]:
        for kind in ("simple", "complicated"):
            found.append(hand(f"ht {kind} {size}", kind, vertices, observed))
    for k, n, d in [(10, 1000, 8)] if quick else [(10, 1000, 8), (100, 1000, 16), (100, 10000, 8)]:
        found.append(row(f"kmeans k={k} n={n} d={d}", partial(clusters, k, n, d), g.kmeans,
                         lambda j: j.functions.kmeans, newton))  # fmt: skip
    for n in (16, 1024) if quick else (16, 128, 1024, 16392):
        found.append(row(f"llsq n={n}", partial(polynomial, n), g.llsq, lambda j: j.llsq, autograds=lambda f: f.llsq))
    for n in (2500,) if quick else (2500, 40000, 1280000):
        found.append(row(f"lse n={n}", drawn(n), g.lse, lambda j: j.functions.lse, autograds=lambda f: f.lse))
    for layers, characters in [(2, 128)] if quick else [(2, 1024), (4, 1024)]:
        found.append(row(f"lstm l={layers} c={characters}", partial(g.lstm_inputs, layers, characters), g.lstm,
                         lambda j: j.lstm, argnums=(0, 1), autograds=lambda f: f.lstm))  # fmt: skip
    for n, s in [(1000, 10)] if quick else [(1000, 1), (1000, 10), (1000, 100), (10000, 10), (100000, 10)]:
        found.append(row(f"ode n={n} s={s}", drawn(n), partial(g.ode, steps=s), lambda j, s=s: partial(j.ode, steps=s)))
    for modes in ("fr", "ff", "rr", "rf"):
        for name, start in (("particle", np.zeros(1)), ("saddle", np.ones(2))):
            found.append(optimiser(name, modes, start))
    return found


def hand(name: str, kind: str, vertices: int, observed: int) -> Row:
    model = g.Hand(vertices, observed)
    start = model.theta if kind == "simple" else np.concatenate([np.zeros(2), model.theta])
    f = f"hand_{kind}"
    return row(name, lambda: (start,), partial(getattr(g, f), hand=model),
               lambda j: partial(getattr(j.functions, f), hand=model), jacobian)  # fmt: skip


def clusters(k: int, n: int, d: int) -> tuple[Any, ...]:
    points = np.random.RandomState(g.SEED).rand(n, d)
    return points[-k:].copy(), points


def polynomial(n: int, m: int = 128) -> tuple[Any, ...]:
    return np.random.RandomState(g.SEED).rand(m), np.linspace(-1.0, 1.0, n)


def optimiser(name: str, modes: str, start: Any) -> Row:
    """Return a row of an optimiser; JAX has no reverse mode of a while loop, so only two of the modes."""
    f = {"particle": g.particle, "saddle": g.saddle}[name]
    known = {"particle": 0.2071918746486116, "saddle": 8.246324826140356e-06}[name]
    made = both(ours(f, modes), optimised)
    by = {"wengert": made["wengert"]}
    if modes[0] == "f":
        by["jax"] = in_jax(lambda j: partial(getattr(j, name), modes), optimised)
    size = {"particle": 1, "saddle": 4}[name]
    why = {} if modes[0] == "f" else {"jax": "it has no reverse mode of a while loop"}
    return Row(f"{name} {modes}", lambda: (start,), by, 1e-5, lambda start: np.full(size, known), why)


def main() -> None:
    tables.main("bench_gradbench", "derivatives of GradBench's evals", __doc__)


if __name__ == "__main__":
    main()
