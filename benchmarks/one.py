"""Measure one library and one workload in this process: ``python -m benchmarks.one jax network`` prints JSON."""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

from benchmarks.timing import measure  # first: it pins the threads

import numpy as np  # isort: skip

from benchmarks.checks import distance, leaves, slope_error
from benchmarks.workloads import Workload, workload

Figures = dict[str, Any]


def figures(library: str, name: str, kinds: list[str]) -> Figures:
    """Return ``first_s``, the result's checksum and error, the times of each kind of call, and counts."""
    start = time.perf_counter()
    module = importlib.import_module(f"benchmarks.with_{library}")
    found: Figures = {"import_s": time.perf_counter() - start}
    w = workload(name)
    start = time.perf_counter()
    call = module.KINDS["called"](w)
    result = call()
    found["first_s"] = time.perf_counter() - start
    if hasattr(module, "facts"):
        found |= module.facts(w)
    found["checksum"] = checksum(result)
    found["error"] = error(w, result)
    del result
    for kind, make in module.KINDS.items():
        call = (not kinds or kind in kinds) and make(w)
        if call:
            found[kind] = measure(call)
    return found


def checksum(result: Any) -> float:
    """Return a number that tells results apart: the sum of all elements, each times another factor."""
    total = 0.0
    for k, x in enumerate(leaves(result)):
        flat = np.asarray(x, float).ravel()
        total += (k + 1) * float(flat @ np.cos(np.arange(flat.size)))
    return total


def error(w: Workload, result: Any) -> float | None:
    """Return how far a value is from NumPy's, or a gradient's slope from that of differences; None where none is asked.

    Results of another layout are not compared.
    """
    if not w.positions:
        return distance(result, w.f(*w.args)) if np.shape(result) == np.shape(w.args[0]) else None
    args = [in_double(x) for x in w.args]
    shapes = [[np.shape(x) for x in leaves(tree)] for tree in (result, [args[k] for k in w.positions])]
    if shapes[0] != shapes[1]:
        return None
    return slope_error(w.f, args, w.positions, result)


def in_double(x: Any) -> Any:
    return type(x)([in_double(v) for v in x]) if isinstance(x, tuple | list) else np.asarray(x, float)


if __name__ == "__main__":
    print(json.dumps(figures(sys.argv[1], sys.argv[2], sys.argv[3:])))
