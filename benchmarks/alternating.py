"""Compare calls of several libraries in one process: first what they compute, then their times, in turns."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from benchmarks.checks import between, leaves, worst
from benchmarks.timing import Timing, measure, show  # with it, the threads are pinned

import numpy as np  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

Calls = dict[str, Callable[[], Any]]
"""Calls that wait for their results, one for each library or spelling. The first is ours."""


def has(name: str) -> bool:
    return find_spec(name) is not None


@dataclass(frozen=True)
class Other:
    """A call that computes something else than the first one, such as the value alone; it is not compared."""

    call: Callable[[], Any]

    def __call__(self) -> Any:
        return self.call()


@dataclass(frozen=True)
class Compared:
    """Calls to compare, and how."""

    calls: Calls
    near: float = 1e-6
    """The greatest relative error of a right result."""
    check: Callable[[Any], float] | None = None
    """Returns the error of the first call's result, by other means than the other calls."""
    must: dict[str, float] = field(default_factory=dict)
    """How many times as long as some other call ours may take."""


def errors(compared: Compared) -> dict[str, float]:
    """Return the error of each call that can be compared: ours from the check, the others from ours.

    Without a check ours has the least error that another one has from it, since that one is right if it agrees.
    """
    results = {name: call() for name, call in compared.calls.items() if not isinstance(call, Other)}
    arrays = {name: [np.asarray(v) for v in leaves(result)] for name, result in results.items()}
    (first, ours), *others = arrays.items()
    found = {name: between(theirs, ours) for name, theirs in others}
    if compared.check is not None:
        own = compared.check(results[first])
    else:
        own = min(found.values(), key=worst, default=0.0)
        if not found and not all(np.isfinite(x).all() for x in ours if x.dtype.kind in "fc"):
            own = math.nan
    return {first: own, **found}


def alternately(calls: Calls, rounds: int, budget_s: float) -> dict[str, Timing]:
    """Return each call's best round; rounds alternate, since noise on the machine comes and goes."""
    found: dict[str, list[Timing]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(measure(call, budget_s))
    return {
        name: Timing(min(t.least for t in ts), sorted(t.median for t in ts)[len(ts) // 2]) for name, ts in found.items()
    }


def report(workloads: dict[str, Callable[[], Calls | Compared]], usual: tuple[int, float] = (7, 0.5)) -> None:
    """Print a table of the workloads named on the command line, or of all; exit with an error if a result is wrong.

    ``usual`` has the rounds, and the seconds of each; ``--quick`` takes fewer.
    """
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    rounds, budget_s = (2, 0.2) if "--quick" in sys.argv else usual
    table = Table("workload", "what", "least / median", "times ours (at least)", "error")
    wrong: list[str] = []
    for name, make in workloads.items():
        if names and not any(part in name for part in names):
            continue
        made = make()
        compared = made if isinstance(made, Compared) else Compared(made)
        error = errors(compared)
        timings = alternately(compared.calls, rounds, budget_s)
        ours, title = next(iter(timings.values())), name
        for what, timing in timings.items():
            ratio = f"{timing.least / ours.least:.2f}"
            if what in compared.must:
                ratio += f" ({1 / compared.must[what]:.2f})"
            said = shown(error.get(what), compared.near)
            if "WRONG" in said:
                wrong.append(f"{name}, {what}")
            table.add_row(title, what, f"{show(timing.least)} / {show(timing.median)}", ratio, said)
            title = ""
    Console(width=130).print(table)
    if wrong:
        sys.exit(f"wrong results: {'; '.join(wrong)}")


def shown(error: float | None, near: float) -> str:
    """Return an error in words; NaN is one."""
    if error is None:
        return ""
    return f"{error:.0e}" if worst(error) <= near else f"WRONG: {error:.0e}"
