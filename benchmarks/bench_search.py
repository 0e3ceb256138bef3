"""Measure 1,000 random networks of the space of ``examples/search_digits.py``: how long one takes to be built, compiled
and differentiated once, after the first 50; and the memory of the process.

    python -m benchmarks.bench_search [--quick]

Each library runs in a process of its own: ours with an empty cache of kernels, and again with the kernels of the first
run; PyTorch eagerly; JAX with ``jit`` and fewer networks. A second table says where ours spends its time.
"""

from __future__ import annotations

import cProfile
import importlib.util
import json
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.timing import show  # first: it pins the threads

import numpy as np  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

from benchmarks.checks import leaves, slope_error
from benchmarks.processes import ENVIRONMENT, is_installed

ROOT = Path(__file__).parent.parent
BATCH, FIRST = 64, 50
MUST = 25e-3  # s

First = Callable[[dict[str, Any]], Any]
"""It computes the first gradient of the network of a candidate."""


def example() -> Any:
    spec = importlib.util.spec_from_file_location("search_digits", ROOT / "examples" / "search_digits.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def candidates(count: int) -> Iterator[dict[str, Any]]:
    space = example().SPACE
    return (space.sample(np.random.default_rng([0, k])) for k in range(count))


def digits() -> tuple[Any, Any]:
    (x, y), _ = example().digits()
    return x[:BATCH], y[:BATCH]


# ------------------------------------------------------------------------------------------------------- libraries


def in_wengert() -> First:
    import wengert as wg
    from wengert import nn

    network, (x, y) = example().network, digits()

    def first(candidate: dict[str, Any]) -> Any:
        model = network(candidate)
        params, state = model.init(0, x)
        return wg.jit(wg.value_and_grad(lambda p: nn.cross_entropy(model.apply(p, state, x)[0], y)))(params)

    return first


def worst_of_candidates(count: int = 5) -> float:
    """Return the greatest error of a gradient of some candidates, by differences in double precision."""
    import wengert as wg
    from wengert import nn

    network, (x, y) = example().network, digits()
    wide, found = x.astype(float), []
    for candidate in candidates(count):
        model = network(candidate)
        params, state = model.init(0, wide, dtype=float)
        loss = lambda p, model=model, state=state: nn.cross_entropy(model.apply(p, state, wide)[0], y)
        found.append(slope_error(loss, (params,), (0,), wg.jit(wg.grad(loss))(params), h=1e-6))
    return max(found)


def in_pytorch() -> First:
    import torch

    torch.set_num_threads(1)
    of = torch.nn
    acts: dict[str, Any] = {"relu": of.ReLU, "tanh": of.Tanh, "gelu": of.GELU, "swish": of.SiLU}
    x, y = [torch.tensor(a) for a in digits()]

    def first(candidate: dict[str, Any]) -> Any:
        parts, shape, act = list[Any](), [1, 8, 8], acts[candidate["activation"]]
        for channels, k in zip(candidate["channels"], candidate["kernels"], strict=True):
            parts += [of.Conv2d(shape[0], channels, k, padding="same"), act()]
            shape[0] = channels
        if candidate["pools"] and candidate["convolutions"]:
            parts.append(of.MaxPool2d(2))
            shape[1:] = [4, 4]
        parts.append(of.Flatten())
        width = shape[0] * shape[1] * shape[2]
        for n in candidate["widths"]:
            parts += [of.Linear(width, n), act()]
            width = n
        model = of.Sequential(*parts, of.Linear(width, 10))
        loss = of.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss.item(), [p.grad for p in model.parameters()]

    return first


def in_jax() -> First:
    import jax
    import jax.numpy as jnp

    acts: dict[str, Any] = {"relu": jax.nn.relu, "tanh": jnp.tanh, "gelu": jax.nn.gelu, "swish": jax.nn.silu}
    x, y = [jnp.array(a) for a in digits()]
    random = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return jnp.array(0.1 * random.standard_normal(shape).astype(np.float32))

    def first(candidate: dict[str, Any]) -> Any:
        act, pools = acts[candidate["activation"]], candidate["pools"] and candidate["convolutions"]
        convolutions, channels, side = [], 1, 4 if pools else 8
        for width, k in zip(candidate["channels"], candidate["kernels"], strict=True):
            convolutions.append((drawn(width, channels, k, k), drawn(width, 1, 1)))
            channels = width
        dense, before = [], channels * side * side
        for width in (*candidate["widths"], 10):
            dense.append((drawn(before, width), drawn(width)))
            before = width

        def loss(params: Any) -> Any:
            convolutions, dense = params
            h = x
            for w, b in convolutions:
                h = act(jax.lax.conv(h, w, (1, 1), "SAME") + b)
            if pools:
                h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
            h = h.reshape(BATCH, -1)
            for w, b in dense[:-1]:
                h = act(h @ w + b)
            scores = h @ dense[-1][0] + dense[-1][1]
            return -jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], 1).mean()

        return jax.block_until_ready(jax.jit(jax.value_and_grad(loss))((convolutions, dense)))

    return first


LIBRARIES: dict[str, Callable[[], First]] = {"wengert": in_wengert, "pytorch": in_pytorch, "jax": in_jax}


# ------------------------------------------------------------------------------------------------------ in a process


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def given_back_mb() -> float:
    """Return the memory that remains after the C library has returned what it keeps of freed memory."""
    import ctypes
    import gc

    gc.collect()
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
    return resident_mb()


def figures(library: str, count: int) -> dict[str, Any]:
    first = LIBRARIES[library]()
    times, memory = list[float](), dict[str, float]()
    for k, candidate in enumerate(candidates(count), 1):
        start = time.perf_counter()
        found = first(candidate)
        times.append(time.perf_counter() - start)
        assert all(np.isfinite(np.asarray(v)).all() for v in leaves(found)), f"{library}: candidate {k} is not finite"
        if k in (FIRST, count):
            memory[str(k)] = resident_mb()
    return {"times": times, "memory": memory, "trimmed": given_back_mb(), **(facts() if library == "wengert" else {})}


def facts() -> dict[str, Any]:
    from wengert.codegen.compiler import Counters

    return {"compiled": Counters.compiled}


PARTS: dict[str, tuple[str, ...]] = {  # by the function that does each, counted with all that it calls
    "init: parameters, and shapes layer by layer": ("containers.py", "init"),
    "trace and differentiate": ("whole.py", "_trace_in"),
    "of which reverse mode": ("reverse.py", "vjp"),
    "passes": ("passes/__init__.py", "run"),
    "plan": ("planner.py", "plan"),
    "lower": ("assemble.py", "_lowered"),
    "kernels: read and linked": ("compiler.py", "machine_code"),
    "the gradient itself": ("~", "<method 'run' of 'wengert.runtime._native.Executable' objects>"),
}


def profiled(count: int) -> list[tuple[str, float]]:
    """Return the shares of the time of a network whose kernels are compiled; they include the profiler's own time."""
    first, profile = in_wengert(), cProfile.Profile()
    start = 0.0
    for k, candidate in enumerate(candidates(count)):
        if k == FIRST:
            start = time.perf_counter()
            profile.enable()
        first(candidate)
    profile.disable()
    whole = time.perf_counter() - start
    stats: Any = pstats.Stats(profile)
    found = []
    for words, (file, name) in PARTS.items():
        of = [row[3] for (path, _, function), row in stats.stats.items() if path.endswith(file) and function == name]
        found.append((words, max(of, default=0.0) / whole))
    return found


# -------------------------------------------------------------------------------------------------------- side by side


def in_a_process(*arguments: str, **environment: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.bench_search", "--figures", *arguments]
    child = subprocess.run(
        command, cwd=ROOT, env={**ENVIRONMENT, **environment}, capture_output=True, text=True, check=False
    )
    if child.returncode:
        return {"failed": (child.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(child.stdout.splitlines()[-1])


def main() -> None:
    is_quick = "--quick" in sys.argv
    error = worst_of_candidates()
    assert error < 1e-4, f"a gradient is {error:.0e} from differences"
    count = 200 if is_quick else 1000
    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table(
        title=f"{count} networks that read digits, batch {BATCH}: built, compiled and differentiated once each"
    )
    for title in (
        "",
        "networks",
        f"each of the first {FIRST}",
        "after them: mean / median",
        "memory, MB",
        "trimmed",
        "",
    ):
        table.add_column(title)
    with tempfile.TemporaryDirectory() as folder:
        rows = [("wengert, empty cache", "wengert", count), ("wengert, second process", "wengert", count)]
        rows += [("pytorch, eager", "pytorch", count), ("jax", "jax", 60 if is_quick else 100)]
        for words, library, many in rows:
            if not is_installed(library):
                continue
            found = in_a_process(library, str(many), WENGERT_CACHE_DIR=folder)
            if "failed" in found:
                table.add_row(words, str(many), found["failed"])
                continue
            early, late = found["times"][:FIRST], found["times"][FIRST:]
            mean, said = statistics.fmean(late), f"{found['compiled']} kernels compiled" if "compiled" in found else ""
            must = f" (must be {show(MUST)})" if library == "wengert" else ""
            table.add_row(
                words,
                str(many),
                show(statistics.fmean(early)),
                f"{show(mean)} / {show(statistics.median(late))}{must}",
                " -> ".join(f"{mb:.0f}" for mb in found["memory"].values()),
                f"{found['trimmed']:.0f}",
                said,
            )
        console.print(table)
        shares = Table("with kernels that are there", "share", title="where ours takes its time (with a profiler)")
        for words, share in in_a_process("profile", "250", WENGERT_CACHE_DIR=folder):
            shares.add_row(words, f"{share:.0%}")
        console.print(shares)


if __name__ == "__main__":
    if "--figures" in sys.argv:
        what, number = sys.argv[-2], int(sys.argv[-1])
        print(json.dumps(profiled(number) if what == "profile" else figures(what, number)))
    else:
        main()
