"""A bound call allocates nothing, a call its results; a million of them leave nothing behind."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytestmark = pytest.mark.machine_code("what is counted is what native programs allocate")


# ------------------------------------------------------------------------------------------------------- allocations

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


@pytest.fixture(scope="session")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that counts allocations when it is preloaded."""
    if COMPILER is None or not sys.platform.startswith("linux"):
        pytest.skip("counting takes a library in place of malloc: a C compiler, and a loader that knows LD_PRELOAD")
    library = tmp_path_factory.mktemp("counter") / "allocations.so"
    source = Path(__file__).with_name("allocations.c")
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


COUNT = """
    import ctypes, gc, itertools, sys
    import numpy as np, wengert as wg
    allocations = ctypes.c_long.in_dll(ctypes.CDLL(None), "allocations")

    def count(call, n=1000):
        for _ in itertools.repeat(None, 10):
            call()
        gc.collect()
        gc.disable()

        def of(n):
            loop = itertools.repeat(None, n)
            before = allocations.value
            for _ in loop:
                call()
            return allocations.value - before

        of(n)
        return of(2 * n) - of(n)  # the number that counts is an object itself, which Python may have kept one for
"""
WORKLOADS = {
    "x-8 elementwise": "x = np.ones(5000); f = lambda x: np.sin(x) * np.exp(-x) + x; out = np.empty(5000)",
    "x-8 gradient": "x = np.ones(100); f = wg.grad(lambda x: np.sum(np.cumsum(np.sin(x)) ** 2)); out = np.empty(100)",
    "rd-1": "x = np.ones((100, 100)); f = wg.grad(lambda a: np.sum(a.T @ a + a @ a.T)); out = np.empty((100, 100))",
    "nn-1": """
        x = np.ones((70, 70)); w = np.ones((70, 70)); b = np.ones(70)
        f = wg.grad(lambda x: np.sum(np.tanh(w @ x + b[:, None]) ** 2)); out = np.empty((70, 70))""",
    "a layer's": """
        from wengert import nn
        inputs, b, x = np.ones((70, 70)), np.ones(70), np.ones((70, 70))
        f = wg.grad(lambda w: np.sum(np.tanh(nn.linear(inputs, w, b)) ** 2)); out = np.empty((70, 70))""",
    "a layer's, forward": """
        from wengert import nn
        w, b, x = np.ones((50, 70)), np.ones(50), np.ones((20, 70))
        f = lambda x: np.tanh(nn.linear(x, w, b)); out = np.empty((20, 50))""",
    "a convolution's": """
        from wengert import nn
        x, w, b = np.ones((2, 3, 9, 9), "f"), np.ones((4, 3, 3, 3), "f"), np.ones(4, "f")
        f = wg.grad(lambda x: np.sum(nn.conv_bias_act(nn.relu, x, w, b, padding=1) ** 2))
        out = np.empty((2, 3, 9, 9), "f")""",
    "fw-1": "x = np.ones(3); f = lambda x: 2 * (x + 1); out = np.empty(3)",
    "scalars": """
        x = np.ones(40)
        def f(x):
            total = 0.0
            for k in range(40):
                total = total * 0.5 + x[k]
            return np.full(40, 1.0) * total
        out = np.empty(40)""",
}


@pytest.mark.sampled(7, "a process a workload, of seconds")
@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_bound_call_allocates_nothing(workload: str, counter: Path) -> None:
    """There is no malloc at all, Python's own objects included, in a thousand calls."""
    script = [COUNT, WORKLOADS[workload], "call = wg.jit(f).program(x).bind(x, out=out); print(count(call))"]
    assert allocated("\n".join(map(textwrap.dedent, script)), counter) == 0


def test_a_call_allocates_its_results_alone(counter: Path) -> None:
    """An array is two allocations, its header and its data; with ``out=``, whose dict is the caller's, there is none
    but that dict."""
    script = COUNT + "    x = np.ones(50); step = wg.jit(lambda x: np.sin(x) * x); print(count(lambda: step(x)))"
    assert allocated(textwrap.dedent(script), counter) <= 1000 * 4
    script = COUNT + "    x = np.ones(50); y = np.empty(50); step = wg.jit(lambda x: np.sin(x) * x)\n"
    script += "    print(count(lambda: step(x, out=y)))"
    assert allocated(textwrap.dedent(script), counter) <= 1000 * 2


def test_the_counter_counts(counter: Path) -> None:
    script = COUNT + "    print(count(lambda: np.empty(1000)))"
    assert allocated(textwrap.dedent(script), counter) >= 1000


def allocated(script: str, counter: Path) -> int:
    environment = {**os.environ, "LD_PRELOAD": str(counter), "OPENBLAS_NUM_THREADS": "1"}
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # free-threaded Python's own objects cannot be counted
        environment["PYTHONMALLOC"] = "malloc"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120, env=environment
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


# ------------------------------------------------------------------------------------------------------------- leaks


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.deep("a million calls")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells how much memory is held now")
def test_a_million_calls_leak_nothing() -> None:
    x, y = np.ones(8), np.empty(8)
    offset = np.full(8, 0.5)
    step = wg.jit(lambda x: x * 2.0 + offset)
    call = step.program(x).bind(x, out=y)
    branch = wg.jit(lambda x: x * 2 if x[0] > 0 else -x)
    minus = -x
    jobs: list[tuple[int, Callable[[], Any]]] = [
        (500_000, call),
        (200_000, lambda: step(x)),
        (200_000, lambda: step(x, out=y)),
        (50_000, lambda: step({"a": x}["a"])),
        (5_000, lambda: (branch(x), branch(minus))),
        (5_000, lambda: step(x[::1].astype(float))),
    ]
    for n, job in jobs:
        for _ in range(1000):
            job()
        gc.collect()
        counts = [sys.getrefcount(o) for o in (x, y, offset, step, call)]
        before = resident_bytes()
        for _ in range(n):
            job()
        gc.collect()
        assert resident_bytes() - before < 2_000_000
        assert [sys.getrefcount(o) for o in (x, y, offset, step, call)] == counts
