"""The findings of the commands, as dicts of text and numbers, which ``--json`` prints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert.report.command.targets import TargetCall


def plain(x: Any) -> Any:
    """Return a result as lists, dicts, text and numbers, for JSON.

    >>> plain({"a": (np.ones(2), np.float64(3.0))})
    {'a': [[1.0, 1.0], 3.0]}
    """
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [plain(v) for v in x]
    if isinstance(x, np.ndarray | np.generic):
        return plain(x.tolist())
    if isinstance(x, complex):
        return {"real": x.real, "imag": x.imag}
    if isinstance(x, float) and not math.isfinite(x):
        return str(x)  # JSON has no such numbers
    return x if isinstance(x, bool | int | float | str | None) else str(x)


def bench(call: TargetCall, seconds: float, progress: Callable[[str], None]) -> dict[str, Any]:
    """Return the times of a function, its gradient and both compiled: of the first call, and of later ones."""
    f = call.function
    forms = {"NumPy": f, "jit(f)": wg.jit(f), "grad(f)": wg.grad(f), "jit(grad(f))": wg.jit(wg.grad(f))}
    rows: list[dict[str, Any]] = []
    for name, form in forms.items():
        progress(name)
        try:
            rows.append({"form": name, **_times(form, call, seconds)})
        except wg.errors.WengertError as error:
            if name == "NumPy":
                raise
            rows.append({"form": name, "why_not": str(error).splitlines()[0]})
    least = rows[0]["least_s"]
    for row in rows:
        if "least_s" in row:
            row["ratio"] = row["least_s"] / least
    return {"function": call.name, "rows": rows}


def _times(f: Callable[..., Any], call: TargetCall, seconds: float) -> dict[str, Any]:
    def once() -> float:
        begin = time.perf_counter()
        f(*call.args, **call.kwargs)
        return time.perf_counter() - begin

    first = once()
    durations = [once() for _ in range(2)]
    until = time.perf_counter() + seconds
    while time.perf_counter() < until and len(durations) < 100_000:
        durations.append(once())
    median = float(np.median(durations))
    return {"first_s": first, "least_s": min(durations), "median_s": median, "calls": len(durations)}


def cache() -> dict[str, Any]:
    """Return the folder of the cache, how many kernels are in it, and their bytes."""
    folder, files = wg.doctor(self_test=False).cache, _kernels()
    return {
        "folder": None if folder is None else str(folder),
        "entries": len(files),
        "bytes": sum([path.stat().st_size for path in files]),
        "most_bytes": wg.config.cache_bytes,
    }


def clear_cache() -> dict[str, Any]:
    """Remove the kernels of the cache, and return how many there were, and their bytes."""
    before = cache()
    for path in _kernels():
        path.unlink(missing_ok=True)
    return before


def _kernels() -> list[Path]:
    folder = wg.doctor(self_test=False).cache
    return sorted(folder.glob("*.o")) if folder is not None and folder.is_dir() else []


def doctor() -> list[dict[str, Any]]:
    """Return what was looked at: its name, what was found, whether it is right, and what to do if not."""
    return [row._asdict() for row in wg.doctor().looked]
