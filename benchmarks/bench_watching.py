"""Measure how long a call takes to see that nothing has changed: ``python -m benchmarks.bench_watching [--quick]``.

A jitted function of three numbers also reads a number of names, or an item of a large container. The same call is
measured with many, with few and with none. docs/limits-in-full.md promises that it does not depend on how many there
are, except for lists, whose items are compared one by one.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.checks import distance
from benchmarks.timing import measure, show

import numpy as np  # isort: skip  # after benchmarks.timing, which says how many threads
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

import wengert as wg

COUNTS = (10, 1_000, 100_000)
X = np.ones(3)


class Model:
    pass


def of_globals(n: int) -> Callable[[Any], Any]:
    """Return a function whose code names ``n`` global variables, a thousand in each function that it could call."""
    namespace: dict[str, Any] = {"np": np, **{sys.intern(f"g{k}"): float(k) for k in range(n)}}
    for first in range(0, n, 1000):
        names = ", ".join(f"g{k}" for k in range(first, min(first + 1000, n)))
        exec(f"def f{first}(): return [{names}]", namespace)
    calls = " + ".join(f"f{first}()[0]" for first in range(0, n, 1000))
    exec(f"def f(x):\n    return np.sum(x * g1) if x.ndim == 1 else {calls}", namespace)
    return namespace["f"]


def of_a_module_that_changes(n: int) -> Callable[[Any], Any]:
    """Return such a function, called by a loop that writes another variable of the module."""
    f = of_globals(n)
    namespace = f.__globals__
    step = wg.jit(f)

    numbers = itertools.count()

    def call(x: Any) -> Any:
        namespace["step"] = next(numbers)
        return step(x)

    return call


def of_objects(n: int) -> Callable[[Any], Any]:
    models = []
    for k in range(n // 10):
        model: Any = Model()
        vars(model).update({f"a{j}": float(k + j) for j in range(9)})
        models.append(model)
    return lambda x: np.sum(x * models[0].a0)


def of_a_class(n: int) -> Callable[[Any], Any]:
    cls: Any = type("Table", (), {f"a{k}": float(k) for k in range(n)})
    return lambda x: np.sum(x * cls.a1)


def of_a_dict(n: int) -> Callable[[Any], Any]:
    table = {f"a{k}": float(k) for k in range(n)}
    return lambda x: np.sum(x * table["a1"])


def of_a_list(n: int) -> Callable[[Any], Any]:
    items = [float(k) for k in range(n)]
    return lambda x: np.sum(x * items[1])


def of_nothing(n: int) -> Callable[[Any], Any]:
    return lambda x: np.sum(x * 2.0)


WAYS: dict[str, Callable[[int], Callable[[Any], Any]]] = {
    "nothing": of_nothing,
    "global variables": of_globals,
    "global variables, another of which is written": of_a_module_that_changes,
    "attributes of objects": of_objects,
    "a class's attributes": of_a_class,
    "a dict, of which an item is read": of_a_dict,
    "a list, of which an item is read": of_a_list,
}


def main() -> None:
    budget = 0.1 if "--quick" in sys.argv else 0.5
    table = Table(title=f"a call on Python {sys.version.split()[0]}, least / median, by what is watched")
    for title in ("", *[f"{n:,}" for n in COUNTS], "1,000,000"):
        table.add_column(title, no_wrap=True)
    for name, way in WAYS.items():
        cells = []
        for n in (*COUNTS, 1_000_000) if "item is read" in name else COUNTS:
            f = way(n)
            step = f if "written" in name else wg.jit(f)
            start = measure_first(step)
            assert distance(step(X), f(X)) < 1e-12, f"{name}: wrong"
            timing = measure(lambda step=step: step(X), budget)
            cells.append(f"{timing}, first {show(start)}")
        table.add_row(name, *cells)
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def measure_first(step: Callable[[Any], Any]) -> float:
    start = time.perf_counter()
    step(X)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
