"""Measure pairs of a library and a workload, each in a process of its own, one after the other."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.timing import Timing

HERE = Path(__file__).parent
Results = dict[tuple[str, str], dict[str, Any]]
"""By (library, workload): what :mod:`benchmarks.one` prints, with pairs of times as timings."""
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""As it is for a library that has been installed: its modules are not compiled anew in each process."""


def is_installed(library: str) -> bool:
    try:
        importlib.metadata.version({"pytorch": "torch"}.get(library, library))
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def run(library: str, workload: str, *kinds: str, timeout_s: float = 300, **environment: str) -> dict[str, Any]:
    """Return what ``benchmarks.one`` measures in a fresh process, or {"failed": why}."""
    command = [sys.executable, "-m", "benchmarks.one", library, workload, *kinds]
    try:
        child = subprocess.run(
            command,
            cwd=HERE.parent,
            env={**ENVIRONMENT, **environment},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"longer than {timeout_s:.0f} s"}
    if child.returncode:
        return {"failed": (child.stderr.strip().splitlines() or ["no message"])[-1]}
    found = json.loads(child.stdout.splitlines()[-1])
    return {k: Timing(*v) if isinstance(v, list) else v for k, v in found.items()}


def run_cold_and_warm(workload: str, *kinds: str, rounds: int = 2) -> dict[str, Any]:
    """Return ``cold_s``, with an empty cache of kernels, and ``warm_s``, in later processes: the least ones."""
    colds, warms, found = [], [], {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            cold = run("wengert", workload, "called", WENGERT_CACHE_DIR=folder)
            if "failed" in cold:
                return cold
            warm = run("wengert", workload, *kinds, WENGERT_CACHE_DIR=folder)
            if "failed" in warm:
                return warm
        colds.append(cold["first_s"])
        warms.append(warm["first_s"])
        found = better(found, {**warm, "compiled": cold["compiled"], "compile_s": cold["compile_s"]})
    return {**found, "cold_s": min(colds), "warm_s": min(warms)}


def is_wrong(found: dict[str, Any], other: dict[str, Any] | None = None) -> bool:
    """Whether an error is too large, or NaN, or the checksum is not that of ``other``; single precision is allowed."""
    error = found.get("error")
    if error is not None and not error < 1e-4:
        return True
    sums = [f["checksum"] for f in (found, other or {}) if "checksum" in f]
    if any(not math.isfinite(s) for s in sums):
        return True
    return len(sums) == 2 and abs(sums[0] - sums[1]) > 1e-3 * max(1.0, abs(sums[1]))


def better(found: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of two rounds, with the lesser of each two timings."""
    return {k: min(found.get(k, v), v) if isinstance(v, Timing) else v for k, v in other.items()}


def seconds_to_import(module: str, rounds: int = 5) -> Timing:
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", code]
    times = sorted(
        float(subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout)
        for _ in range(rounds + 1)  # the first may have to compile bytecode
    )
    return Timing(times[0], times[len(times) // 2])
