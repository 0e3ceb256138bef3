"""Run the workloads with CasADi, as scalar expressions (SX) and as matrix expressions (MX), whichever runs faster."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

from benchmarks.timing import measure
from benchmarks.workloads import Workload

NAMES = SimpleNamespace(sin=ca.sin, cos=ca.cos, exp=ca.exp, tanh=ca.tanh, sum=ca.sum1)


@cache
def functions(w: Workload) -> tuple[Any, Any]:
    """Return the gradient as (matrix expressions, scalar expressions)."""
    symbols: list[Any] = []

    def symbol(x: Any) -> Any:
        if isinstance(x, tuple | list):
            return [symbol(v) for v in x]
        symbols.append(ca.MX.sym(f"x{len(symbols)}", *np.shape(x)))
        return symbols[-1]

    args = [symbol(x) for x in w.args]
    y = w.f(*args, xp=NAMES)
    active = flatten([args[k] for k in w.positions])
    matrices = ca.Function("gradient", symbols, [ca.densify(ca.gradient(y, s)) for s in active])
    return matrices, matrices.expand()


def flatten(x: Any) -> list[Any]:
    return [leaf for v in x for leaf in flatten(v)] if isinstance(x, tuple | list) else [x]


def leaves(w: Workload) -> list[np.ndarray]:
    return [np.asarray(x, float) for x in flatten(w.args)]


def fastest(calls: list[Callable[[], Any]]) -> Callable[[], Any]:
    return min(calls, key=lambda call: measure(call, 0.1).least)


def called(w: Workload) -> Callable[[], Any]:
    """Call it with CasADi's own matrices in and out."""
    args = [ca.DM(x) for x in leaves(w)]
    return fastest([partial(f, *args) for f in functions(w)])


def with_numpy(w: Workload) -> Callable[[], Any]:
    def call(f: Any, args: list[np.ndarray]) -> Any:
        result = f(*args)
        return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]

    return fastest([partial(call, f, leaves(w)) for f in functions(w)])


def bound(w: Workload) -> Callable[[], Any]:
    """Call it through ``buffer()``, which reads and writes the arrays where they lie."""
    return fastest([buffered(f, w) for f in functions(w)])


def bound_compiled(w: Workload) -> Callable[[], Any]:
    """Call what ``bound`` calls, compiled by a C compiler, whose time is not counted."""
    _, scalars = functions(w)
    symbols = scalars.sx_in()
    options = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O3", "-march=native"]}}
    return buffered(ca.Function("compiled", symbols, scalars.call(symbols), options), w)


def buffered(f: Any, w: Workload) -> Callable[[], Any]:
    buffer, trigger = f.buffer()
    args = [x.ravel("F") for x in leaves(w)]  # CasADi stores by columns
    results = [np.zeros(f.numel_out(k)) for k in range(f.n_out())]
    for k, x in enumerate(args):
        buffer.set_arg(k, memoryview(x))
    for k, x in enumerate(results):
        buffer.set_res(k, memoryview(x))
    trigger.kept = (f, buffer, args, results)  # it does not own them
    return trigger


KINDS = {"called": called, "NumPy in and out": with_numpy, "bound": bound, "bound, compiled by gcc": bound_compiled}
