"""Time calls in one thread, pinned to one core: the minimum and the median of many samples.

Machines are shared and noisy, so things to compare are measured on the same core, one process after another, and ratios
of minima are judged. Import this module before any library that starts threads.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

SAMPLE_S = 50e-6  # a sample lasts at least this long, so that reading the clock (50 ns or so) does not count


class Timing(NamedTuple):
    """The seconds that a call takes."""

    least: float
    median: float

    def __str__(self) -> str:
        return f"{show(self.least)} / {show(self.median)}"


def show(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def measure(call: Callable[[], Any], budget_s: float = 0.5, at_most: int = 2000) -> Timing:
    """Call for ``budget_s`` seconds or ``at_most`` samples, after a few calls to warm up."""
    for _ in range(3):
        call()
    start = time.perf_counter()
    call()
    calls = range(max(1, int(SAMPLE_S / (time.perf_counter() - start))))  # of one sample
    times: list[float] = []
    end = time.perf_counter() + budget_s
    while len(times) < at_most and (len(times) < 3 or time.perf_counter() < end):
        start = time.perf_counter()
        for _ in calls:
            call()
        times.append((time.perf_counter() - start) / len(calls))
    return Timing(min(times), statistics.median(times))
