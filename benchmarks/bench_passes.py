"""Measure what the passes gain, by the time of a gradient without each of them; and what they cost, by the time to
make a program of ever more steps, which must grow no faster than their number. ``--quick`` leaves out the longest.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.checks import distance
from benchmarks.timing import measure, show  # first: it pins the threads

import numpy as np  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

import wengert as wg
from wengert import passes
from wengert.edit import merge_common
from wengert.passes import fuse, rematerialise, schedule
from wengert.passes.simplify import use_identities
from wengert.runtime.program import Program
from wengert.tape import Tape

BEFORE, AFTER = 100_000, 1_000_000
MOST = 12.0
"""How many times as long ``AFTER`` steps may take as ``BEFORE``."""


def twenty(x: Any) -> Any:
    """Take twenty elementwise steps."""
    y = np.sin(x) * np.exp(-(x**2))
    y = y + np.cos(2 * x) * 0.5 - np.tanh(y)
    y = np.sqrt(1 + y * y) + np.abs(y) / (2 + x * x)
    return np.sum(y * y - 0.1 * y + np.log(3 + y))


def scalars(x: Any, steps: int = 250) -> Any:
    """Take the same two steps on a scalar again and again."""
    for k in range(steps):
        x = x * 1.0009 + 0.001 * (k % 7)
    return x


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "20 elementwise, n = 1e5": (twenty, np.linspace(0, 1, 100_000)),
    "500 scalar": (scalars, 0.5),
}

IN_TURN = (use_identities, merge_common, schedule, fuse, rematerialise)


def without(left_out: Sequence[Callable[..., Any]], tape: Tape) -> Program:
    """Return the program of ``tape`` by all passes except the given ones."""
    early = [p for p in passes.PIPELINE if p not in left_out]
    usual = passes.BEFORE_KERNELS
    passes.BEFORE_KERNELS = tuple([p for p in usual if p not in left_out])
    try:
        return Program(passes.run(tape, early))
    finally:
        passes.BEFORE_KERNELS = usual


def worth(name: str) -> Table:
    f, x = FUNCTIONS[name]
    table = Table(title=f"gradient of {name}")
    for title in ("left out", "steps", "arena", "bound, min / median", "times as long"):
        table.add_column(title, no_wrap=True)
    tape = wg.trace(wg.value_and_grad(f))(x)
    whole = None
    for left_out in ((), *[(p,) for p in IN_TURN], IN_TURN):
        program = without(left_out, tape)
        error = max(map(distance, program.bind(x)(), wg.value_and_grad(f)(x)))
        assert error < 1e-9, f"without {left_out} the gradient is {error:.0e} from the usual one"
        took = measure(program.bind(x))
        whole = whole or took.least
        label = ", ".join([p.__name__ for p in left_out]) if len(left_out) < 2 else "all of them"
        table.add_row(
            label or "none", str(len(program.kernels)), f"{program.arena_bytes:,} bytes", str(took),
            f"{took.least / whole:.2f}",
        )  # fmt: skip
    return table


def cost(lengths: Sequence[int]) -> Table:
    table = Table(title=f"programs of scalar steps; {AFTER:,} at most {MOST:.0f} times {BEFORE:,}")
    for title in ("steps", "trace", "passes", "compile", "a step", "call", "a step"):
        table.add_column(title, no_wrap=True)
    seconds: dict[int, float] = {}
    for length in lengths:
        times = [time.perf_counter()]
        tape = wg.trace(lambda x, length=length: scalars(x, length // 2))(0.5)
        times.append(time.perf_counter())
        tape = passes.run(tape)
        times.append(time.perf_counter())
        program = Program(tape)
        times.append(time.perf_counter())
        trace, simple, compiled = np.diff(times)
        call = measure(program.bind(np.asarray(0.5))).least
        seconds[length] = simple + compiled
        table.add_row(
            f"{length:,}", show(trace), show(simple), show(compiled), show(seconds[length] / length),
            show(call), show(call / length),
        )  # fmt: skip
    if AFTER in seconds:
        ratio = seconds[AFTER] / seconds[BEFORE]
        table.caption = f"{ratio:.1f} times: {'reached' if ratio <= MOST else 'NOT REACHED'}"
    return table


def main() -> None:
    console = Console(width=None if sys.stdout.isatty() else 170)
    for name in FUNCTIONS:
        console.print(worth(name))
    console.print(cost((1000, 10_000, BEFORE) if "--quick" in sys.argv else (1000, 10_000, BEFORE, AFTER)))


if __name__ == "__main__":
    main()
