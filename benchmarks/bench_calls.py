"""Measure functions in kernels, inlined or called: ``python -m benchmarks.bench_calls [--quick]``.

``Facts._is_better_called`` of codegen/nests/facts.py follows this table. It says how long kernels with a number of
functions, one after another or side by side, take to compile and to run, in either way. The callees have been compiled
before, as on a machine where wengert has been used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.checks import distance
from benchmarks.timing import Timing, measure, show

import numpy as np  # isort: skip  # after benchmarks.timing, which says how many threads
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

import wengert as wg
from wengert import config
from wengert.codegen import compiler
from wengert.codegen.compiler import Code
from wengert.codegen.nests.facts import Facts

LENGTHS = (1, 2, 3, 4, 5, 8, 20, 60)
SIZES = (1, 8, 1000, 100_000)
CALLEES: dict[bytes, Code] = {}


def chain(length: int, functions: tuple[str, ...]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for k in range(length):
            x = getattr(np, functions[k % len(functions)])(0.5 * x)
        return x

    return f


def side_by_side(length: int, functions: tuple[str, ...]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        return sum(getattr(np, functions[k % len(functions)])((0.5 + 0.1 * k) * x) for k in range(length))

    return f


def compiled(f: Callable[[Any], Any], x: Any, calls: bool) -> tuple[float, Callable[[], Any]]:
    """Return the seconds of compiling it anew, and the call, with functions called or inlined."""
    before = Facts._is_better_called
    Facts._is_better_called = lambda self: calls
    forget_kernels()
    try:
        step = wg.jit(lambda x: f(x))
        program = step.program(x)
    finally:
        Facts._is_better_called = before
    return step.stats()["compile_s"], program.bind(x)


def forget_kernels() -> None:
    """Forget the compiled kernels, since both ways of writing one have the same key; the callees stay."""
    callees = {id(callee) for code in compiler._codes.values() for callee in code.callees.values()}
    kept = {key: code for key, code in compiler._codes.items() if id(code) in callees}
    CALLEES.update(kept)
    compiler._codes.clear()
    compiler._codes.update(CALLEES)


def main() -> None:
    config.cache_dir = ""
    budget = 0.05 if "--quick" in sys.argv else 0.3
    cases = [
        (chain, ("sin", "exp")),
        (chain, ("tanh",)),
        (chain, ("log1p", "sqrt", "arctan")),
        (side_by_side, ("sin", "exp")),
        (side_by_side, ("exp", "log1p", "tanh")),
    ]
    for way, functions in cases:
        table = Table(title=f"{', '.join(functions)}, {way.__name__}: inlined / called")
        for title in ("functions", "to compile", *[f"to run, n = {n}" for n in SIZES]):
            table.add_column(title, no_wrap=True)
        for length in LENGTHS:
            f, cells, compiling = way(length, functions), [], (0.0, 0.0)
            for n in SIZES:
                x = np.linspace(0.1, 1.0, n)
                compiled(f, x, True)  # the callees
                ways = [compiled(f, x, calls) for calls in (False, True)]
                for _, call in ways:
                    assert distance(call(), f(x)) < 1e-12, f"{way.__name__} of {length} {functions} is wrong"
                compiling = (ways[0][0], ways[1][0])
                a, b = alternately(ways[0][1], ways[1][1], budget)
                cells.append(f"{show(a.least)} / {show(b.least)}: {b.least / a.least:.2f} ({b.median / a.median:.2f})")
            table.add_row(str(length), f"{show(compiling[0])} / {show(compiling[1])}", *cells)
        Console(width=None if sys.stdout.isatty() else 170).print(table)


def alternately(a: Callable[[], Any], b: Callable[[], Any], budget: float) -> tuple[Timing, Timing]:
    """Measure both alternately, a few times each, since the machine changes meanwhile."""
    rounds = [(measure(a, budget / 4), measure(b, budget / 4)) for _ in range(4)]
    one, other = zip(*rounds, strict=True)
    return best(one), best(other)


def best(timings: Sequence[Timing]) -> Timing:
    return Timing(min([t.least for t in timings]), min([t.median for t in timings]))


if __name__ == "__main__":
    main()
