"""Measure what tracing and differentiating cost, and where the time goes."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from typing import Any

from benchmarks.timing import measure  # first: it pins the threads

import numpy as np  # isort: skip

import wengert as wg
from benchmarks import workloads
from benchmarks.checks import slope_error
from wengert import passes
from wengert.ad.reverse import vjp
from wengert.runtime.program import Program
from wengert.tape import check
from wengert.tracing.record import input_of, record_call


def recorded(f: Callable[..., Any], *args: Any) -> Any:
    return record_call(f, [input_of(a) for a in args], name="f").tape


def table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def costs() -> None:
    rows = [("workload", "instructions", "trace an op (min / median)", "differentiate an instruction")]
    x = np.linspace(0, 1, 8)
    network, (weights, x0) = workloads.network().f, workloads.network().args
    graph, (params, start) = workloads.graph().f, workloads.graph().args
    flat = [a for pair in params for a in pair]
    cases: list[tuple[str, Callable[..., Any], list[Any]]] = [
        ("chain of 1000 ufuncs", lambda x: np.sum(workloads.chain(x, 1000)), [x]),
        ("network, 6 layers", lambda *w: network(w, x0), list(weights)),
        ("DAG, 1000 vertices", lambda *p: graph(list(zip(p[::2], p[1::2], strict=True)), start), flat),
        ("100 reads and writes", reads_and_writes, [x]),
    ]
    for name, f, args in cases:
        tape = recorded(f, *args)
        wrt = tuple(range(len(args)))
        error = slope_error(f, args, wrt, wg.grad(f, argnums=wrt)(*args))
        assert error < 1e-6, f"{name}: the gradient is {error:.0e} from differences"
        trace = measure(lambda f=f, args=args: recorded(f, *args))
        reverse = measure(lambda tape=tape, wrt=wrt: vjp(tape, wrt, (0,), "one", True))
        n = len(tape)
        rows.append(
            (
                name,
                str(n),
                f"{trace.least / n * 1e6:.1f} / {trace.median / n * 1e6:.1f} us",
                f"{reverse.least / n * 1e6:.1f} / {reverse.median / n * 1e6:.1f} us",
            )
        )
    table(rows)


def reads_and_writes(x: Any) -> Any:
    y = np.zeros(8)
    for k in range(100):
        y[k % 8] = x[(k + 1) % 8] * y[(k - 1) % 8]
    return np.sum(y)


def dag() -> None:
    loss, (params, x0) = workloads.graph().f, workloads.graph().args
    flat = [a for pair in params for a in pair]

    def f(*p: Any) -> Any:
        return loss(list(zip(p[::2], p[1::2], strict=True)), x0)

    wrt = tuple(range(len(flat)))
    tape = recorded(f, *flat)
    joint = vjp(tape, wrt, (0,), "one", True)
    optimised = passes.run(joint)
    print(f"\nDAG of 1000 vertices: {len(tape)} instructions, joint {len(joint)}, optimised {len(optimised)}")
    program = Program(optimised)
    arrays = [*flat, *[c.array for c in optimised.captures]]
    rows = [("step", "min / median")]
    for name, call in [
        ("trace", lambda: recorded(f, *flat)),
        ("differentiate", lambda: vjp(tape, wrt, (0,), "one", True)),
        ("check", lambda: check(joint)),
        ("optimise", lambda: passes.run(joint)),
        ("plan", lambda: Program(optimised)),
        ("run once", lambda: program.run(arrays[: len(flat)])),
    ]:
        rows.append((name, str(measure(call, at_most=50))))
    table(rows)


def profile() -> None:
    print("\nwhere the time of tracing and differentiating the DAG goes:")
    loss, (params, x0) = workloads.graph().f, workloads.graph().args
    flat = [a for pair in params for a in pair]
    profiler = cProfile.Profile()
    profiler.enable()
    tape = recorded(lambda *p: loss(list(zip(p[::2], p[1::2], strict=True)), x0), *flat)
    vjp(tape, tuple(range(len(flat))), (0,), "one", True)
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(12)


if __name__ == "__main__":
    costs()
    dag()
    profile()
