"""Measure one library and one workload in this process: ``python -m benchmarks.one jax network`` prints JSON."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.timing import measure  # first: it pins the threads

import numpy as np  # isort: skip

from benchmarks.workloads import workload

Figures = dict[str, Any]


def figures(library: str, name: str, kinds: list[str]) -> Figures:
    """Return ``first_s``, a checksum of the result, the least and median time of each kind of call, and counts."""
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


def leaves(x: Any) -> Iterator[Any]:
    if isinstance(x, tuple | list):
        for v in x:
            yield from leaves(v)
    else:
        yield x.detach() if hasattr(x, "detach") else x


if __name__ == "__main__":
    print(json.dumps(figures(sys.argv[1], sys.argv[2], sys.argv[3:])))
