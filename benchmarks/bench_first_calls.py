"""Measure what the first call costs, in fresh processes: ``python -m benchmarks.bench_first_calls [--quick]``.

Each process imports one library, differentiates one other function, so that what is loaded late is there, and then
takes the gradient of a chain of sines and exponentials, or of a small network, for the first and the second time. The
compiled ones have no cache on disk: once where the process has compiled no sine or exponential yet, once where it has.
The last table measures a function whose path is new at every call, with and without machine code; and how long NumPy
and the compiler take for a step and an element, which the constants of ``runtime/tiered.py`` follow.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.checks import slope_error
from benchmarks.processes import ENVIRONMENT, HERE, is_installed
from benchmarks.timing import Timing, show

import numpy as np  # isort: skip  # after benchmarks.timing, which says how many threads
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

LENGTHS = (2, 5, 20, 60)
CASES = (*[f"{n} steps" for n in LENGTHS], "network of 3 layers")
X = np.linspace(0.1, 1.0, 8)


def chain(xp: Any, length: int, x: Any = X) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def f(x: Any) -> Any:
        for k in range(length):
            x = xp.sin(x) if k % 2 == 0 else xp.exp(-x)
        return xp.sum(x)

    return f, (x,)


def network(xp: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    rng = np.random.default_rng(0)

    def f(weights: Any, x: Any) -> Any:
        for w in weights:
            x = xp.tanh(w @ x)
        return xp.sum(x * x)

    return f, ([rng.normal(size=(16, 16)) for _ in range(3)], rng.normal(size=16))


def case(name: str, xp: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return network(xp) if name.startswith("network") else chain(xp, int(name.split()[0]))


def times(call: Callable[[], Any], count: int) -> list[float]:
    found = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return found


def one(library: str, name: str) -> list[float]:
    """Return the seconds of the first calls in this process."""
    if library == "autograd":
        import autograd.numpy as xp
        from autograd import grad
    else:
        import wengert as wg
        from wengert import grad

        xp = np
    f, args = case(name, xp)
    grad(lambda x: xp.sum(x * x))(X)
    if library.startswith("compiled"):
        wg.jit(grad(lambda x: np.sum(x * x)))(X)
        if library == "compiled again":
            wg.jit(grad(lambda x: np.sum(np.sin(x) * np.tanh(np.exp(x)))))(X)
        step = wg.jit(grad(f))
        found = times(lambda: step(*args), 2)
        assert slope_error(f, args, (0,), step(*args)) < 1e-6
        return found
    if library == "waits":
        wg.config.tiered = False
    found = times(lambda: grad(f)(*args), 3)
    plain, given = case(name, np)
    error = slope_error(plain, given, (0,), grad(f)(*args))
    assert error < 1e-6, f"{library}, {name}: the gradient is {error:.0e} from differences"
    return found


def new_paths(count: int = 60) -> float:
    """Return the seconds of a call of a function that takes another number of steps each time."""
    import wengert as wg

    def f(x: Any, steps: int) -> Any:
        for _ in range(steps):
            x = np.cos(x) * x
        return np.sum(x)

    wg.grad(f)(X, 0)
    start = time.perf_counter()
    for steps in range(1, count + 1):
        wg.grad(f)(X, steps)
    return (time.perf_counter() - start) / count


def in_a_process(*arguments: str, **environment: str) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.bench_first_calls", "--one", *arguments]
    variables = {**ENVIRONMENT, "WENGERT_CACHE_DIR": "", **environment}
    child = subprocess.run(command, cwd=HERE.parent, env=variables, capture_output=True, text=True, check=True)
    return json.loads(child.stdout)


def first_calls(rounds: int) -> Table:
    table = Table(title="seconds of a process's first gradient, least / median of processes")
    libraries = [*(["autograd"] if is_installed("autograd") else []), "wengert", "waits", "compiled", "compiled again"]
    for title in ("case", *libraries, "wengert / autograd", "second: wengert", "second: waits"):
        table.add_column(title, no_wrap=True)
    for name in CASES:
        found: dict[str, list[list[float]]] = {}
        for _ in range(rounds):
            for library in libraries:
                found.setdefault(library, []).append(in_a_process(library, name))
        nth = {(k, n): timing([run[n] for run in found[k]]) for k in libraries for n in (0, 1)}
        ratio = ""
        if "autograd" in libraries:
            ours, theirs = nth["wengert", 0], nth["autograd", 0]
            ratio = f"{ours.least / theirs.least:.2f} ({ours.median / theirs.median:.2f}); must be 5"
        seconds = [str(nth["wengert", 1]), str(nth["waits", 1])]
        table.add_row(name, *[str(nth[k, 0]) for k in libraries], ratio, *seconds)
    return table


def timing(samples: list[float]) -> Timing:
    return Timing(min(samples), statistics.median(samples))


def paths_and_estimates(rounds: int) -> Table:
    table = Table(title="a path that is new at every call; and what a step costs", show_header=False)
    paths = {native: [] for native in ("1", "0")}
    for _ in range(rounds):
        for native, samples in paths.items():
            samples += in_a_process("paths", WENGERT_NATIVE=native)
    ours, references = timing(paths["1"]), timing(paths["0"])
    table.add_row("a new path", f"{ours}; references alone {references}", f"{ours.least / references.least:.2f} x")
    steps, elements, compiling = in_a_process("estimates")
    table.add_row("NumPy", f"{show(steps)} a step, {show(elements)} an element", "")
    table.add_row("the compiler", f"{show(compiling)} a step of sin or exp", "")
    return table


def estimates() -> list[float]:
    """Return the seconds that the references take for a step and for an element, and the compiler for a step."""
    import wengert as wg
    from wengert.ad.reverse import vjp
    from wengert.runtime.reference import Reference

    def gradient(length: int, x: Any) -> Any:
        f, args = chain(np, length, x)
        return vjp(wg.trace(f)(*args), (0,), (0,), "one", True, False)

    small, wide = gradient(20, X), gradient(20, np.ones(100_000))
    a_step = min(times(lambda: Reference(small).run([X]), 50)) / len(small)
    an_element = min(times(lambda: Reference(wide).run([np.ones(100_000)]), 5)) / len(wide) / 100_000
    compiling = []
    for length in (5, 20, 60):  # the first compiles the functions that the others call
        f, args = chain(np, length)
        compiling += times(lambda f=f, args=args: wg.jit(wg.grad(f))(*args), 1)
    return [a_step, an_element, (compiling[2] - compiling[1]) / (len(gradient(60, X)) - len(small))]


def main() -> None:
    if "--one" in sys.argv:
        what = sys.argv[sys.argv.index("--one") + 1 :]
        found = [new_paths()] if what == ["paths"] else estimates() if what == ["estimates"] else one(*what)
        print(json.dumps(found))
        return
    rounds = 3 if "--quick" in sys.argv else 9
    console = Console(width=None if sys.stdout.isatty() else 190)
    console.print(first_calls(rounds))
    console.print(paths_and_estimates(rounds))


if __name__ == "__main__":
    main()
