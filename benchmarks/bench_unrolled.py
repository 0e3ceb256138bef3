"""Unrolled time steps: does compiling, and running, the gradient grow linearly with their number?

A time from the function to its first gradient in a fresh process, without and with our cache of kernels; then the time
of each gradient. ``roll`` makes JAX's compiler explode, reversed indexing what it generates: the longest are left out.
"""

from __future__ import annotations

import sys

from benchmarks.processes import is_installed, run, run_cold_and_warm
from benchmarks.timing import show
from benchmarks.workloads import UNROLLED

from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

LENGTHS = (4, 8, 16, 32)
LONGEST = {"burgers": 16, "mirror": 16, "slices": 32}  # for JAX: beyond, it takes a minute or seconds a call


def main() -> None:
    quick = "--quick" in sys.argv
    table = Table(title="gradient of K steps; JAX with its own arrays in and out")
    for title in ("workload", "cold / warm", "kernels", "called", "bound", "JAX first", "JAX called", "called, faster"):
        table.add_column(title, no_wrap=True)
    for name in UNROLLED:
        for k in LENGTHS:
            ours = run_cold_and_warm(f"{name}, K={k}", "called", "bound", rounds=1 if quick else 2)
            cells = [f"{name}, K={k}", ours.get("failed", "")[:60]]
            if "failed" not in ours:
                first = f"{show(ours['cold_s'])} / {show(ours['warm_s'])}"
                kernels = f"{ours['kernels']} ({ours['compiled']} compiled)"
                cells = [cells[0], first, kernels, str(ours["called"]), str(ours["bound"])]
                if is_installed("jax") and k <= (8 if quick else LONGEST[name]):
                    theirs = run("jax", f"{name}, K={k}", "called", timeout_s=200)
                    if "failed" in theirs:
                        cells += [theirs["failed"][:40]]
                    else:
                        ratio = theirs["called"].least / ours["called"].least
                        cells += [show(theirs["first_s"]), str(theirs["called"]), f"{ratio:.3g} x"]
            table.add_row(*cells)
        table.add_section()
    Console(width=None if sys.stdout.isatty() else 170).print(table)


if __name__ == "__main__":
    main()
