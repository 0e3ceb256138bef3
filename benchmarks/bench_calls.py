"""Functions in kernels, written where they are needed or called: ``python -m benchmarks.bench_calls [--quick]``.

What ``MAX_INLINED`` of codegen/nests/facts.py follows: kernels of so many different functions take how long to compile,
and to run, the one way and the other. The callees that are called have been compiled before, as on a machine where
wengert has been used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.timing import Timing, measure, show

import numpy as np  # isort: skip  # after benchmarks.timing, which says how many threads
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

import wengert as wg
from wengert import config
from wengert.codegen import compiler
from wengert.codegen.compiler import Code
from wengert.codegen.nests import facts

NEVER = 10**9
LENGTHS = (1, 2, 3, 4, 5, 8, 20, 60)
SIZES = (1, 8, 1000, 100_000)
CALLEES: dict[bytes, Code] = {}


def chain(length: int, functions: tuple[str, ...]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for k in range(length):
            x = getattr(np, functions[k % len(functions)])(0.5 * x)
        return x

    return f


def compiled(f: Callable[[Any], Any], x: Any, most: int) -> tuple[float, Callable[[], Any]]:
    """Seconds of compiling it anew, and the call, with so many functions inlined."""
    facts.MAX_INLINED, before = most, facts.MAX_INLINED
    forget_kernels()
    try:
        step = wg.jit(lambda x: f(x))
        program = step.program(x)
    finally:
        facts.MAX_INLINED = before
    return step.stats()["compile_s"], program.bind(x)


def forget_kernels() -> None:
    """As a kernel has one key, however it is written; the callees stay."""
    callees = {id(callee) for code in compiler._codes.values() for callee in code.callees.values()}
    kept = {key: code for key, code in compiler._codes.items() if id(code) in callees}
    CALLEES.update(kept)
    compiler._codes.clear()
    compiler._codes.update(CALLEES)


def main() -> None:
    config.cache_dir = ""
    budget = 0.05 if "--quick" in sys.argv else 0.3
    for functions in (("sin", "exp"), ("tanh",), ("log1p", "sqrt", "arctan")):
        table = Table(title=f"{', '.join(functions)}: inlined / called")
        for title in ("functions", "to compile", *[f"to run, n = {n}" for n in SIZES]):
            table.add_column(title, no_wrap=True)
        for length in LENGTHS:
            f, cells, compiling = chain(length, functions), [], (0.0, 0.0)
            for n in SIZES:
                x = np.linspace(0.1, 1.0, n)
                compiled(f, x, 0)  # the callees
                ways = [compiled(f, x, most) for most in (NEVER, 0)]
                compiling = (ways[0][0], ways[1][0])
                a, b = in_turns(ways[0][1], ways[1][1], budget)
                cells.append(f"{show(a.least)} / {show(b.least)}: {b.least / a.least:.2f} ({b.median / a.median:.2f})")
            table.add_row(str(length), f"{show(compiling[0])} / {show(compiling[1])}", *cells)
        Console(width=None if sys.stdout.isatty() else 170).print(table)


def in_turns(a: Callable[[], Any], b: Callable[[], Any], budget: float) -> tuple[Timing, Timing]:
    """Both, a few times each in turn, since the machine changes meanwhile."""
    rounds = [(measure(a, budget / 4), measure(b, budget / 4)) for _ in range(4)]
    one, other = zip(*rounds, strict=True)
    return best(one), best(other)


def best(timings: Sequence[Timing]) -> Timing:
    return Timing(min([t.least for t in timings]), min([t.median for t in timings]))


if __name__ == "__main__":
    main()
