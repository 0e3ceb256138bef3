"""Measure a task in a process of its own: first call, later calls, memory; compare results; format figures.

A task prints a line of JSON for each figure as soon as it has it, so that nothing is lost if its time is up.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import benchmarks.timing  # first: it pins the threads
from benchmarks.checks import Arrays, leaves
from benchmarks.processes import ENVIRONMENT

import numpy as np  # isort: skip

Figures = dict[str, Any]
SAMPLE_S = 100e-6
HERE = Path(benchmarks.timing.__file__).parent.parent

# In the process that is measured


def say(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


def limit_memory(bytes_: float) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (int(bytes_), int(bytes_)))


def of_status(key: str) -> int:
    """Return a size in the status of this process, in bytes; 0 where there is no such file."""
    if not Path("/proc/self/status").exists():
        return 0
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) * 1024


def forget_peak() -> None:
    """Let the peak of this process's memory begin anew, where the system can."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def timed(call: Callable[[], Any], seconds: float, prefix: str = "", before: Callable[[], Any] | None = None) -> Any:
    """Say how long the first call takes, and the later ones; return the first result.

    Peaks of memory, of the first call and of the later ones, are in bytes above what the process held before the first.
    ``before`` is run before each call, untimed. Where the machine is shared, the time of the process (``_cpu_s``) is
    the better figure for a call that is measured once.
    """
    prepare = before or (lambda: None)
    prepare()
    forget_peak()
    held = of_status("VmRSS")
    start, cpu = time.perf_counter(), time.process_time()
    result = call()
    first, first_cpu = time.perf_counter() - start, time.process_time() - cpu
    say(
        **{
            f"{prefix}first_s": first,
            f"{prefix}first_cpu_s": first_cpu,
            f"{prefix}first_peak": of_status("VmHWM") - held,
        }
    )
    forget_peak()
    times: list[float] = []
    cpus: list[float] = []
    each = calls_of_a_sample(call) if before is None and seconds and first < 10 else 1
    end = time.perf_counter() + seconds
    while len(times) < 2000 and (time.perf_counter() < end or (len(times) < 3 and first < 10)):
        prepare()
        start, cpu = time.perf_counter(), time.process_time()
        for _ in range(each):
            call()
        cpus.append((time.process_time() - cpu) / each)
        times.append((time.perf_counter() - start) / each)
    if not times:
        times, cpus = [first], [first_cpu]
    say(**{
        f"{prefix}each_s": min(times), f"{prefix}median_s": statistics.median(times), f"{prefix}calls": len(times),
        f"{prefix}each_cpu_s": min(cpus), f"{prefix}peak": of_status("VmHWM") - held,
    })  # fmt: skip
    return result


def calls_of_a_sample(call: Callable[[], Any]) -> int:
    """Return how many calls last so long that reading the clocks does not count."""
    for _ in range(2):
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
    return max(1, int(SAMPLE_S / took))


def save(work: Path, stem: str, values: Any) -> None:
    for k, v in enumerate(leaves(values)):
        np.save(work / f"{stem}-{k}.npy", np.asarray(v))


def load(work: Path, stem: str) -> Arrays:
    found: Arrays = []
    while (path := work / f"{stem}-{len(found)}.npy").exists():
        found.append(np.load(path))
    return found


# In the process that measures others


def run_task(module: str, *args: Any, timeout_s: float = 120.0) -> Figures:
    """Run ``python -m module args``, with an empty cache of kernels; return what it says, and why if it ``failed``."""
    found: Figures = {}
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, args)],
            cwd=HERE, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True,
            env={**ENVIRONMENT, "WENGERT_CACHE_DIR": cache},
        )  # fmt: skip
        try:
            out, _ = child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, _ = child.communicate()
            found["failed"] = f"longer than {timeout_s:.0f} s"
        errors.seek(0)
        said = [line for line in errors.read().splitlines() if line.strip()]
    for line in out.splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
    if child.returncode and "failed" not in found:
        found["failed"] = (reason(said) or f"signal {-child.returncode}")[:300]
    return found


def reason(said: list[str]) -> str:
    """Return the line of a traceback that names the error."""
    starts = [k for k, line in enumerate(said) if line.startswith("Traceback")]
    for line in said[starts[-1] :] if starts else []:
        if not line.startswith((" ", "Traceback")) and (":" in line or line.endswith("Error")):
            return line.strip()
    return said[-1].strip() if said else ""


def least(found: Figures, more: Figures) -> Figures:
    """Return the figures of two rounds: of each time the lesser, of peaks the greater."""

    def of(k: str, v: Any) -> Any:
        if k not in found:
            return v
        return min(found[k], v) if k.endswith("_s") else max(found[k], v) if k.endswith("peak") else v

    return {**found, **{k: of(k, v) for k, v in more.items()}}


def of_processor(found: Any) -> Any:
    """Return figures, however nested, with the times of the processor in the place of the clock's."""
    if isinstance(found, list):
        return [of_processor(v) for v in found]
    if not isinstance(found, dict):
        return found
    of = {k: of_processor(v) for k, v in found.items()}
    return of | {k.replace("_cpu_s", "_s"): v for k, v in of.items() if k.endswith("_cpu_s")}


# Text


def seconds(x: float | None) -> str:
    if x is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if x >= size:
            return f"{x / size:.3g}{unit}"
    return f"{x * 1e6:.3g}us"


def ratio(x: float | None, y: float | None) -> str:
    return f"{x / y:.2f}" if x is not None and y else "-"


def megabytes(x: float | None) -> str:
    return "-" if x is None else f"{x / 1e6:.0f}"


def mean(ratios: list[float]) -> str:
    """Return the geometric mean in words."""
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} ({len(ratios)} rows)" if ratios else "-"


def aligned(lines: list[list[str]]) -> str:
    """Return rows as text; the first and the last column begin at the left."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]

    def cell(k: int, text: str) -> str:
        return text.ljust(widths[k]) if k in (0, len(widths) - 1) else text.rjust(widths[k])

    return "\n".join("  ".join(cell(k, text) for k, text in enumerate(line)).rstrip() for line in lines)
