"""Run one program of NPBench in this process: ``python -m benchmarks.npbench FOLDER NAME SIZE TASK WORK SECONDS``.

NPBench (https://github.com/spcl/npbench) is a folder of NumPy programs, each with a port to JAX beside it. Nothing of
it is copied here: the programs are imported from the folder as they are. What a program takes is said by its file in
``bench_info/``. Arrays are arguments of the compiled functions, scalars are constants of theirs, for wengert and for
JAX alike.

The outputs of a program are the arrays of floats that it returns and those among its arguments that it writes. The
objective is half the sum of their squares, and its gradient is taken with respect to all arrays of floats.

The tasks are ``numpy``, ``jax``, ``jax forward`` and such of other ports, ``wengert``, ``wengert forward`` and
``differences``; they hand arrays to each other in the folder WORK.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.checks import Arrays, distance, leaves
from benchmarks.measuring import limit_memory, load, save, say, timed  # it pins the threads

import numpy as np  # isort: skip


@dataclass(frozen=True)
class Program:
    """A program of NPBench with its inputs at one size."""

    folder: Path
    info: dict[str, Any]
    inputs: dict[str, Any]

    @property
    def arrays(self) -> dict[str, Any]:
        """The arguments that are arrays, by name."""
        return {k: v for k, v in self.inputs.items() if isinstance(v, np.ndarray)}

    @property
    def active(self) -> tuple[int, ...]:
        """The places among ``arrays`` of those that a gradient is taken of."""
        return tuple(k for k, a in enumerate(self.arrays.values()) if np.issubdtype(a.dtype, np.inexact))

    def kernel(self, suffix: str) -> Callable[..., Any]:
        """Return the function of the file with this suffix, such as ``numpy`` or ``jax``."""
        return getattr(self.module(f"{self.info['module_name']}_{suffix}"), self.info["func_name"])

    def suffixes(self) -> list[str]:
        """The suffixes of the ports to JAX that there are."""
        stem = f"{self.info['module_name']}_"
        return sorted(p.stem.removeprefix(stem) for p in self.place.glob(f"{stem}jax*.py"))

    @property
    def place(self) -> Path:
        return self.folder / "npbench" / "benchmarks" / self.info["relative_path"]

    def module(self, stem: str) -> ModuleType:
        return imported(self.place / f"{stem}.py")

    def function(self, kernel: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        """Return a function of the arrays: what the kernel returns, and the arrays as it leaves them."""
        places = [k for k, v in enumerate(self.inputs.values()) if isinstance(v, np.ndarray)]
        given = [None if k in places else v for k, v in enumerate(self.inputs.values())]

        def run(*arrays: Any) -> tuple[Any, Any]:
            args = list(given)
            for place, array in zip(places, arrays, strict=True):
                args[place] = array
            return kernel(*args), arrays

        return run


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def program(folder: Path, name: str, size: str) -> Program:
    info = json.loads((folder / "bench_info" / f"{name}.json").read_text())["benchmark"]
    known = dict(info["parameters"][size])
    bare = Program(folder, info, {})
    if start := info.get("init"):
        np.random.seed(0)  # noqa: NPY002  # one program draws from NumPy's global generator
        made = getattr(bare.module(info["module_name"]), start["func_name"])(*[known[k] for k in start["input_args"]])
        names = start["output_args"]
        known |= dict(zip(names, made if len(names) > 1 else [made], strict=True))
    return Program(folder, info, {k: known[k] for k in info["input_args"]})


# Outputs and objective


def is_inexact(x: Any) -> bool:
    return np.issubdtype(np.asarray(x).dtype, np.inexact)


def outputs(p: Program) -> tuple[list[tuple[str, int]], Arrays]:
    """Return which outputs there are, as ("returned" or "written", place), and their values."""
    copies = [a.copy() for a in p.arrays.values()]
    returned, left = p.function(p.kernel("numpy"))(*copies)
    found: list[tuple[str, int]] = []
    values: Arrays = []
    for k, leaf in enumerate(leaves(returned)):
        if is_inexact(leaf) and not any(leaf is a for a in left):
            found.append(("returned", k))
            values.append(np.asarray(leaf))
    for k, (before, after) in enumerate(zip(p.arrays.values(), left, strict=True)):
        if is_inexact(after) and not np.array_equal(before, after, equal_nan=True):
            found.append(("written", k))
            values.append(after)
    if not found:  # what the program writes has the values that it had, or nothing is written
        found = [("written", k) for k, name in enumerate(p.arrays) if name in p.info["output_args"] and k in p.active]
        values = [left[k] for _, k in found]
    return found, values


def selected(found: tuple[Any, Any], which: list[tuple[str, int]]) -> tuple[Any, ...]:
    returned, arrays = found
    flat = list(leaves(returned))
    return tuple([flat[k] if kind == "returned" else arrays[k] for kind, k in which])


def half_squares(values: Any) -> Any:
    """Return half the sum of the squares of all values. It is written for NumPy and for JAX."""
    total = 0.0
    for v in values:
        is_complex = np.issubdtype(v.dtype, np.complexfloating)
        total = total + ((v.real * v.real + v.imag * v.imag).sum() if is_complex else (v * v).sum())
    return 0.5 * total


def chosen(work: Path) -> list[tuple[str, int]]:
    return [(kind, k) for kind, k in json.loads((work / "objective.json").read_text())]


# Tasks


def in_numpy(p: Program, work: Path, seconds: float) -> None:
    which, values = outputs(p)
    save(work, "outputs", values)
    objective = float(half_squares(values))
    sizes = [float(np.abs(p.inputs[name]).max(initial=0.0)) for name in p.arrays]
    say(outputs=which, names=list(p.arrays), objective=objective, sizes=sizes, active=p.active, suffixes=p.suffixes(),
        single=any(np.asarray(v).dtype in (np.float32, np.complex64) for v in [*p.arrays.values(), *values]),
        finite=bool(all(np.isfinite(v).all() for v in values)))  # fmt: skip
    run, now = p.function(p.kernel("numpy")), []

    def before() -> None:
        now[:] = [a.copy() for a in p.arrays.values()]

    timed(lambda: run(*now), seconds, "numpy_forward_", before)


def ported(p: Program, suffix: str, arrays: Any, loosened: bool) -> Callable[..., Any]:
    """Return the port as a function of the arrays; ``loosened`` without its outermost ``jax.jit``.

    A ``jit`` that does not declare the counts as static makes them traced, and a loop over a traced count has no
    reverse mode. The outermost one is redundant here, since the gradient is compiled as a whole.
    """
    kernel = p.kernel(suffix)
    run = p.function(inspect.unwrap(kernel) if loosened else kernel)
    return lambda *arrays: run(*arrays)[0]


def in_jax(p: Program, work: Path, seconds: float, suffix: str, forward: bool) -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    arrays = [jax.block_until_ready(jax.device_put(a)) for a in p.arrays.values()]
    if forward:
        port = jax.jit(ported(p, suffix, arrays, loosened=False))
        try:
            found = port(*arrays)
        except Exception as error:  # of whatever class: some ports trace only without their outermost jit
            say(strict=str(error).splitlines()[0])
            port = jax.jit(ported(p, suffix, arrays, loosened=True))
            found = port(*arrays)
        returned = [np.asarray(v) for v in leaves(found)]
        matched = []
        for value in load(work, "outputs"):
            near = 1e-3 if value.dtype in (np.float32, np.complex64) else 1e-8
            fits = [j for j, r in enumerate(returned) if j not in matched and distance(r, value) < near]
            matched.append(fits[0] if fits else None)
        gaps = [distance(r, v) for v in load(work, "outputs") for r in returned if r.shape == v.shape]
        say(matched=matched, returned=len(returned), nearest=min(gaps, default=None))
        fresh = jax.jit(lambda *arrays: port(*arrays))  # for its first call, compiled again
        timed(lambda: jax.block_until_ready(fresh(*arrays)), seconds, "forward_")
        return
    places = json.loads((work / f"places-{suffix}.json").read_text())

    def gradient(loosened: bool) -> Callable[..., Any]:
        port = ported(p, suffix, arrays, loosened)

        def objective(*arrays: Any) -> Any:
            found = list(leaves(port(*arrays)))
            return half_squares([found[j] for j in places])

        return jax.jit(jax.grad(objective, argnums=p.active))

    step = gradient(loosened=False)
    try:
        step.lower(*arrays)
    except Exception as error:  # some ports trace only without their outermost jit, and raise whatever they meet
        say(strict=str(error).splitlines()[0])
        gradient(loosened=True).lower(*arrays)
        step = gradient(loosened=True)  # which has traced nothing yet: its first call is timed
    else:
        step = gradient(loosened=False)
    found = timed(lambda: jax.block_until_ready(step(*arrays)), seconds, "")
    save(work, f"gradient-{suffix}", found)


def in_wengert(p: Program, work: Path, seconds: float, forward: bool) -> None:
    import wengert as wg

    which = chosen(work)
    run, arrays = p.function(p.kernel("numpy")), list(p.arrays.values())
    if forward:
        step = wg.jit(lambda *arrays: selected(run(*arrays), which))
    else:
        step = wg.jit(wg.grad(lambda *arrays: half_squares(selected(run(*arrays), which)), argnums=p.active))
    found = timed(lambda: step(*arrays), seconds, "forward_" if forward else "")
    save(work, "values-wengert" if forward else "gradient-wengert", found)
    kernels = step.program(*arrays).kernels
    say(**{"forward_kernels" if forward else "kernels": len(kernels)})
    stats = step.stats()
    say(**{k: stats[k] for k in ("unrepeatable", "why_plain") if stats[k]})


def in_differences(p: Program, work: Path) -> None:
    """Say the derivative along a random direction, by the steps that agree best, with its error, and the gradients'."""
    which, run = chosen(work), p.function(p.kernel("numpy"))
    wide = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
    arrays = [a.astype(wide.get(a.dtype, a.dtype)) for a in p.arrays.values()]
    single = any(a.dtype in wide for a in p.arrays.values())
    directions = direction(arrays, p.active)

    def value(h: float) -> float:
        moved = [a.copy() for a in arrays]
        for k, v in zip(p.active, directions, strict=True):
            moved[k] += h * v
        return float(half_squares([np.asarray(v) for v in selected(run(*moved), which)]))

    def slope(h: float) -> tuple[float, float]:
        coarse, fine = ((value(s) - value(-s)) / (2 * s) for s in (h, h / 2))
        better = (4 * fine - coarse) / 3
        gap = abs(better - fine)
        return (gap if np.isfinite(gap) else math.inf), better

    steps = (1e-2, 1e-3) if single else (1e-3, 1e-5, 1e-7, 1e-9)
    error, best = steadiest([slope(h) for h in steps])
    along: dict[str, float] = {}
    for path in sorted(work.glob("gradient-*-0.npy")):
        stem = path.stem.removesuffix("-0")
        terms = [np.sum(g * v).real for g, v in zip(load(work, stem), directions, strict=True)]
        along[stem.removeprefix("gradient-")] = float(sum(terms))
    say(slope=best, slope_error=error, along=along)
    if "wengert" in along and not error < 1e-4 * abs(best):  # a chaotic program, or one with steps
        import wengert as wg

        objective = lambda *xs: half_squares(selected(run(*xs), which))
        narrow = list(p.arrays.values())
        tangents = [np.zeros_like(a) for a in narrow]
        for k, v in zip(p.active, directions, strict=True):
            tangents[k] = v.astype(narrow[k].dtype)
        fixed = [k for k in range(len(narrow)) if k not in p.active]

        def of_active(*xs: Any) -> Any:
            whole = dict(zip(p.active, xs, strict=True)) | {k: narrow[k] for k in fixed}
            return objective(*[whole[k] for k in range(len(narrow))])

        active = [[xs[k] for k in p.active] for xs in (narrow, tangents)]
        say(forward_mode=float(wg.jvp(of_active, *active)[1]))


def steadiest(found: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the estimate that agrees best with that of the next step, longer or shorter, as (error, slope)."""
    best = (math.inf, math.nan)
    for k, (gap, value) in enumerate(found):
        near = [abs(value - found[j][1]) for j in (k - 1, k + 1) if 0 <= j < len(found)]
        error = max(gap, min([d for d in near if math.isfinite(d)], default=math.inf))
        best = min(best, (error, value))
    return best


def direction(arrays: Arrays, active: tuple[int, ...]) -> Arrays:
    """Return random directions as large as the arrays are in the mean."""
    rng = np.random.default_rng(1)
    found: Arrays = []
    for k in active:
        a = arrays[k]
        v = rng.standard_normal(a.shape)
        if np.iscomplexobj(a):
            v = v + 1j * rng.standard_normal(a.shape)
        found.append(v * (np.abs(a).mean() or 1.0))
    return found


def main(folder: str, name: str, size: str, task: str, work: str, seconds: str, bytes_: str) -> None:
    limit_memory(float(bytes_))
    p, place = program(Path(folder), name, size), Path(work)
    library, _, rest = task.partition(" ")
    if library == "numpy":
        in_numpy(p, place, float(seconds))
    elif library == "differences":
        in_differences(p, place)
    elif library.startswith("jax"):
        in_jax(p, place, float(seconds), library, rest == "forward")
    else:
        in_wengert(p, place, float(seconds), rest == "forward")


if __name__ == "__main__":
    main(*sys.argv[1:])
