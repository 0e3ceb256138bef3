"""Compare this checkout with another one, before and after a change.

    python -m benchmarks.against ../before [--rounds N]

Both need their environment (``make test``). They are measured alternately, each round in fresh processes on one core.
It prints the ratios after / before of the least times and of the medians of the rounds. Machines are shared: trust a
ratio only if several runs give it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.timing import measure  # first: it pins the threads

HERE = Path(__file__).parent.parent
IMPORTS = 10  # a round: each takes a tenth of a second
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def figures() -> dict[str, float]:
    """Return the seconds of each workload, for the wengert that this process imports."""
    import numpy as np

    import wengert as wg
    from benchmarks import with_wengert, workloads
    from benchmarks.bench_tape import reads_and_writes, recorded
    from wengert.ad.reverse import vjp

    found: dict[str, float] = {}
    w = workloads.graph()
    start = time.perf_counter()
    with_wengert.called(w)()
    found["first gradient of a graph of 1000 vertices"] = time.perf_counter() - start

    def least(name: str, call: Callable[[], Any], each: int = 1) -> None:
        found[name] = measure(call, budget_s=0.4).least / each

    graph, (params, x0) = w.f, w.args
    flat = [a for pair in params for a in pair]
    x = np.linspace(0, 1, 8)
    cases: list[tuple[str, Callable[..., Any], list[Any]]] = [
        ("a chain of ufuncs", lambda x: np.sum(workloads.chain(x, 1000)), [x]),
        ("a graph of 1000 vertices", lambda *p: graph(list(zip(p[::2], p[1::2], strict=True)), x0), flat),
        ("reads and writes", reads_and_writes, [x]),
    ]
    for name, f, args in cases:
        tape = recorded(f, *args)
        least(f"record an op of {name}", partial(recorded, f, *args), len(tape))
        wrt = tuple(range(len(args)))
        least(f"differentiate an op of {name}", partial(vjp, tape, wrt, (0,), "one", True), len(tape))
    for w in (workloads.workload("8-vector"), workloads.workload("network")):
        for kind in ("un-jitted", "called", "bound"):
            least(f"gradient of {w.name or 'the network'}, {kind}", with_wengert.KINDS[kind](w))
    least("gradient of three steps, un-jitted", partial(wg.grad(lambda x: np.sum(np.sin(x) * x)), x))
    return found


def run(checkout: Path, cache: str) -> dict[str, float]:
    command = [str(checkout / ".venv/bin/python"), "-m", "benchmarks.against", "--figures"]
    environment = {**ENVIRONMENT, "WENGERT_CACHE_DIR": cache}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def import_s(checkout: Path) -> float:
    """Return the seconds that importing wengert takes when NumPy is imported already."""
    code = "import numpy, time; start = time.perf_counter(); import wengert; print(time.perf_counter() - start)"
    command = [str(checkout / ".venv/bin/python"), "-c", code]
    return float(subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout)


def compare(before: Path, after: Path, rounds: int) -> None:
    found: dict[Path, list[dict[str, float]]] = {before: [], after: []}
    imports: dict[Path, list[float]] = {before: [], after: []}
    for k in range(rounds):
        for checkout in (before, after) if k % 2 else (after, before):
            with tempfile.TemporaryDirectory() as cache:
                cold = run(checkout, cache)
                warm = run(checkout, cache)
            name = "first gradient of a graph of 1000 vertices"
            found[checkout].append({**warm, f"{name}, nothing compiled": cold[name]})
        for _ in range(IMPORTS):
            for checkout in (before, after):
                imports[checkout].append(import_s(checkout))
        print(f"round {k + 1} of {rounds}", file=sys.stderr, flush=True)
    print(f"{'after / before':55s}  least  median   before")
    rows = {name: [[figures[name] for figures in found[c]] for c in (before, after)] for name in found[before][0]}
    for name, (old, new) in {**rows, "import wengert": [imports[before], imports[after]]}.items():
        ratios = min(new) / min(old), statistics.median(new) / statistics.median(old)
        print(f"{name:55s}  {ratios[0]:5.3f}  {ratios[1]:6.3f}   {min(old) * 1e6:.3g} us")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--figures", action="store_true", help="print this process's figures as JSON")
    given = parser.parse_args()
    if given.figures:
        print(json.dumps(figures()))
    elif given.before is None:
        parser.error("which checkout to compare with?")
    else:
        compare(given.before.resolve(), HERE, given.rounds)
