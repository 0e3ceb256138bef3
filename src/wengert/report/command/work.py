"""The findings of the commands, as dicts of text and numbers, which ``--json`` prints."""

from __future__ import annotations

import math
import os
import platform
import sys
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


def cache_folder() -> Path | None:
    """Return where compiled kernels are kept; None if they are kept nowhere."""
    if wg.config.cache_dir is not None:
        return Path(wg.config.cache_dir) if wg.config.cache_dir else None
    from platformdirs import user_cache_path

    return user_cache_path("wengert")


def cache() -> dict[str, Any]:
    """Return the folder of the cache, how many kernels are in it, and their bytes."""
    folder, files = cache_folder(), _kernels()
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
    folder = cache_folder()
    return sorted(folder.glob("*.o")) if folder is not None and folder.is_dir() else []


def doctor() -> list[dict[str, Any]]:
    """Return what was looked at: its name, what was found, whether it is right, and what to do if not."""
    import llvmlite
    import scipy

    def row(name: str, found: str, is_right: bool = True, instead: str = "") -> dict[str, Any]:
        return {"what": name, "found": found, "is_right": is_right, "instead": "" if is_right else instead}

    folder = cache_folder()
    return [
        row("wengert", wg.__version__),
        row("Python", f"{platform.python_version()}, {sys.executable}"),
        row("NumPy", np.__version__, np.lib.NumpyVersion(np.__version__) >= "2.0.0", "pip install 'numpy>=2'"),
        row("SciPy", scipy.__version__),
        row("llvmlite", llvmlite.__version__),
        row("processor", f"{platform.machine()}, {os.cpu_count()} of them; target {wg.config.target or 'this one'}"),
        row("machine code", "on" if wg.config.native else "off", wg.config.native, "unset WENGERT_NATIVE"),
        row("threads", str(wg.get_threads())),
        row("BLAS", _blas()),
        row("cache", str(folder), *_writable(folder)),
        row("self-test", *_self_test()),
    ]


def _blas() -> str:
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def _writable(folder: Path | None) -> tuple[bool, str]:
    if folder is None:
        return True, ""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    return os.access(nearest, os.W_OK), "set WENGERT_CACHE_DIR to a folder that can be written"


def _self_test() -> tuple[str, bool, str]:
    """Compare a compiled gradient with central differences."""
    instead = "please report this, with what is printed above"
    try:
        w, x, h = np.linspace(-1, 1, 12).reshape(3, 4), np.linspace(0.1, 0.7, 4), 1e-6

        def f(x: Any) -> Any:
            return np.sum(np.tanh(w @ x) ** 2)

        got = wg.jit(wg.grad(f))(x)
        want = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(4)]
        error = float(np.max(np.abs(got - want)))
    except Exception as error:  # whatever is wrong with the installation
        return f"{type(error).__name__}: {error}", False, instead
    return f"a compiled gradient, {error:.0e} from differences", error < 1e-7, instead
