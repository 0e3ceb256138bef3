"""Measure ways through memory: arrays that no cache holds, sums along the first axis, operands in different orders; and
loops on arrays that the innermost cache holds.

``points.PREFETCHED``, ``build.WIDE``, the blocks of ``emit`` and how many vectors stand side by side
(``facts.vectors_at_once``, ``emit.MAX_VECTORS``) are chosen by this table. Each function is measured
as a bound program and by NumPy. Where it says so, calls use enough arrays one after another that none is in a cache.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.timing import measure  # first: it pins the threads

import numpy as np  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

import wengert as wg
from benchmarks.with_numpy import twenty_steps as slope_of_steps
from benchmarks.workloads import one_after_another, steps


def horner(x: Any) -> Any:
    y = x * 0.3 + 1.7
    for c in (1.1, 0.2, 0.7, 1.3, 2.2, 0.9, 1.6):
        y = y * x + c
    return y


def products(x: Any) -> Any:
    """Compute many values that are read again later."""
    a = x * x
    b = a - x
    c = a * b + x
    d = c * a - b
    e = d * c + a
    g = e * d - c
    return (g * e + d * b) * a - e + x


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], int]] = {  # shape, number of arrays
    "sin(x), from memory": (np.sin, (1_000_000,), 24),
    "sum(sin(x)), from memory": (lambda x: np.sum(np.sin(x)), (1_000_000,), 24),
    "twenty steps, from memory": (steps, (1_000_000,), 24),
    "exp(x)": (np.exp, (1000,), 1),
    "twenty steps": (steps, (3000,), 1),
    "slope of twenty steps": (slope_of_steps, (3000,), 1),
    "a polynomial of degree 8": (horner, (3000,), 1),
    "products": (products, (3000,), 1),
    "products of products": (lambda x: products(products(x)), (3000,), 1),
    "sum(sin(x), 0)": (lambda x: np.sum(np.sin(x), 0), (1000, 1000), 1),
    "sum(exp(x), 0)": (lambda x: np.sum(np.exp(x), 0), (1000, 1000), 1),
    "sum(exp(x), 0), two columns": (lambda x: np.sum(np.exp(x), 0), (200_000, 2), 1),
    "sum(x, 0), two columns": (lambda x: np.sum(x, 0), (200_000, 2), 1),
    "sum(x, 0), 512 columns": (lambda x: np.sum(x, 0), (2000, 512), 1),
    "x.T, copied": (lambda x: np.ascontiguousarray(x.T), (1000, 1000), 1),
    "x.T, copied, 500 by 4000": (lambda x: np.ascontiguousarray(x.T), (500, 4000), 1),
    "x + x.T": (lambda x: x + x.T, (1000, 1000), 1),
    "x + x.T, rows of 8 KiB": (lambda x: x + x.T, (1024, 1024), 1),
    "sin(x.T) + x": (lambda x: np.sin(x.T) + x, (1000, 1000), 1),
}


def main() -> None:
    dtypes = (np.float64,) if "--quick" in sys.argv else (np.float64, np.float32)
    console = Console(width=None if sys.stdout.isatty() else 110)
    for dtype in dtypes:
        table = Table(title=f"{np.dtype(dtype)}, min / median")
        for title in ("", "bound", "NumPy", "bound / NumPy"):
            table.add_column(title, no_wrap=True)
        for name, (f, shape, copies) in FUNCTIONS.items():
            x = np.random.default_rng(0).random(shape).astype(dtype)
            np.testing.assert_allclose(wg.jit(f)(x), f(x), rtol=1e-3 if dtype == np.float32 else 1e-9)
            calls = (
                one_after_another(wg.jit(f).program(x).bind, (x,), copies),
                one_after_another(partial(partial, f), (x,), copies),
            )
            for call in calls * copies:  # what is touched for the first time costs more
                call()
            ours, numpys = [measure(call, 0.3) for call in calls]
            table.add_row(name, str(ours), str(numpys), f"{ours.least / numpys.least:.2f}")
        console.print(table)


if __name__ == "__main__":
    main()
