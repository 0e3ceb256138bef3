"""Compare convolutions with PyTorch's and JAX's: a forward pass, and the gradient of all operands, in one thread,
measured alternately in one process. Ours are contractions of windows, as anybody would write them.

    python -m benchmarks.bench_convolution [--quick] [name ...]
"""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.alternating import Calls, alternately, has
from benchmarks.timing import show  # first: it pins the threads

import numpy as np  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

import wengert as wg
from benchmarks.processes import ENVIRONMENT
from wengert import nn


class Convolution(NamedTuple):
    """A convolution of x [batch, channels, *space] with w [out, channels, *window]."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    stride: int = 1
    dtype: str = "float32"


CONVOLUTIONS = {
    "28x28, 1 -> 16, 3x3": Convolution((64, 1, 28, 28), (16, 1, 3, 3)),
    "26x26, 16 -> 32, 3x3": Convolution((64, 16, 26, 26), (32, 16, 3, 3)),
    "14x14, 64 -> 64, 3x3": Convolution((16, 64, 14, 14), (64, 64, 3, 3)),
    "32x32, 3 -> 6, 5x5": Convolution((32, 3, 32, 32), (6, 3, 5, 5)),
    "14x14, 6 -> 16, 5x5": Convolution((32, 6, 14, 14), (16, 6, 5, 5)),
    "1024, 16 -> 32, 5": Convolution((16, 16, 1024), (32, 16, 5)),
    "14x14, 64 -> 64, 1x1": Convolution((16, 64, 14, 14), (64, 64, 1, 1)),
    "28x28, 16 -> 32, 3x3, every other": Convolution((32, 16, 28, 28), (32, 16, 3, 3), 2),
    "26x26, 16 -> 32, 3x3, float64": Convolution((16, 16, 26, 26), (32, 16, 3, 3), 1, "float64"),
}


# ---------------------------------------------------------------------------------------------- convolutions alone


def convolve(x: Any, w: Any, stride: int = 1) -> Any:
    n = w.ndim - 2
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=tuple(range(2, 2 + n)))
    windows = windows[(..., *[slice(None, None, stride)] * n, *[slice(None)] * n)]
    space, inside = "xyz"[:n], "ijk"[:n]
    return np.einsum(f"nc{space}{inside},oc{inside}->no{space}", windows, w)


def of_wengert(c: Convolution, x: Any, w: Any, ct: Any) -> tuple[Calls, Calls]:
    forward = wg.jit(lambda x, w: convolve(x, w, c.stride))
    backward = wg.jit(lambda x, w, ct: wg.vjp(lambda x, w: convolve(x, w, c.stride), x, w)[1](ct))
    return {"wengert": lambda: forward(x, w)}, {"wengert": lambda: backward(x, w, ct)}


def of_pytorch(c: Convolution, x: Any, w: Any, ct: Any) -> tuple[Calls, Calls]:
    import torch

    torch.set_num_threads(1)
    convolution = {3: torch.nn.functional.conv1d, 4: torch.nn.functional.conv2d}[x.ndim]
    a, b, g = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True), torch.tensor(ct)

    def forward() -> Any:
        with torch.no_grad():
            return convolution(a, b, stride=c.stride).numpy()

    def backward() -> Any:
        return [g.numpy() for g in torch.autograd.grad(convolution(a, b, stride=c.stride), (a, b), g)]

    return {"pytorch": forward}, {"pytorch": backward}


def of_jax(c: Convolution, x: Any, w: Any, ct: Any) -> tuple[Calls, Calls]:
    import jax

    jax.config.update("jax_enable_x64", True)
    convolution = lambda x, w: jax.lax.conv_general_dilated(x, w, (c.stride,) * (x.ndim - 2), "VALID")
    one, all_ = jax.jit(convolution), jax.jit(lambda x, w, ct: jax.vjp(convolution, x, w)[1](ct))
    a, b, g = [jax.device_put(v) for v in (x, w, ct)]
    return {"jax": lambda: one(a, b).block_until_ready()}, {"jax": lambda: jax.block_until_ready(all_(a, b, g))}


OTHERS = {"torch": of_pytorch, "jax": of_jax}


def alone(c: Convolution) -> list[Calls]:
    """Return the calls of all libraries, forward and for all gradients."""
    random = np.random.default_rng(0)
    x, w = [random.normal(size=shape).astype(c.dtype) for shape in (c.x, c.w)]
    ct = random.normal(size=convolve(x, w, c.stride).shape).astype(c.dtype)
    forward, backward = Calls(), Calls()
    for of_library in (of_wengert, *[f for name, f in OTHERS.items() if has(name)]):
        one, all_ = of_library(c, x, w, ct)
        forward |= one
        backward |= all_
    for calls in (forward, backward):
        results = [call() for call in calls.values()]
        assert all(np.isfinite(v).all() for v in listed(results[0]))
        for other in results[1:]:
            for ours, theirs in zip(listed(results[0]), listed(other), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4 * np.abs(theirs).max())
    return [forward, backward]


def listed(result: Any) -> list[Any]:
    return [np.asarray(v) for v in (result if isinstance(result, list | tuple) else [result])]


# ----------------------------------------------------------------------------------------------------------- a step

RATE = 0.01
BATCH = 64


def parameters() -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    shapes = {(16, 1, 3, 3): 0.3, (16,): 0.0, (32, 16, 3, 3): 0.1, (32,): 0.0, (32 * 24 * 24, 10): 0.01, (10,): 0.0}
    return tuple([(scale * random.normal(size=shape)).astype("float32") for shape, scale in shapes.items()])


def digits() -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    return random.normal(size=(BATCH, 1, 28, 28)).astype("float32"), random.integers(0, 10, BATCH)


def step_of_wengert() -> Callable[[], Any]:
    params, (x, labels) = parameters(), digits()

    def loss(params: Any, x: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = params
        h = np.maximum(convolve(x, w1) + b1[:, None, None], 0)
        h = np.maximum(convolve(h, w2) + b2[:, None, None], 0)
        z = h.reshape(BATCH, -1) @ w3 + b3
        z = z - z.max(-1, keepdims=True)
        return (np.log(np.exp(z).sum(-1)) - z[np.arange(BATCH), labels]).mean()

    @wg.jit
    def step(params: Any, x: Any) -> Any:
        value, grads = wg.value_and_grad(loss)(params, x)
        return tuple([p - np.float32(RATE) * g for p, g in zip(params, grads, strict=True)]), value

    return lambda: step(params, x)


def step_of_nn() -> Callable[[], Any]:
    """Write the same with the functions of ``wengert.nn``, whose rectifier keeps only its output, as PyTorch's does."""
    params, (x, labels) = parameters(), digits()

    def loss(params: Any, x: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = params
        h = nn.conv_bias_act(nn.relu, x, w1, b1)
        h = nn.conv_bias_act(nn.relu, h, w2, b2)
        return nn.cross_entropy(h.reshape(BATCH, -1) @ w3 + b3, labels)

    @wg.jit
    def step(params: Any, x: Any) -> Any:
        value, grads = wg.value_and_grad(loss)(params, x)
        return tuple([p - np.float32(RATE) * g for p, g in zip(params, grads, strict=True)]), value

    return lambda: step(params, x)


def step_of_jax() -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp

    x, labels = digits()

    def loss(params: Any, x: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = params
        convolve = lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "VALID")
        h = jax.nn.relu(convolve(x, w1) + b1[:, None, None])
        h = jax.nn.relu(convolve(h, w2) + b2[:, None, None])
        z = h.reshape(BATCH, -1) @ w3 + b3
        return -jnp.mean(jax.nn.log_softmax(z)[jnp.arange(BATCH), labels])

    @jax.jit
    def step(params: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x)
        return tuple([p - np.float32(RATE) * g for p, g in zip(params, grads, strict=True)]), value

    params, x = jax.device_put(parameters()), jax.device_put(x)
    return lambda: jax.block_until_ready(step(params, x))


def step_of_pytorch() -> Callable[[], Any]:
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    x, labels = [torch.tensor(a) for a in digits()]
    params = [torch.tensor(p, requires_grad=True) for p in parameters()]

    def step() -> Any:
        w1, b1, w2, b2, w3, b3 = params
        h = functional.relu(functional.conv2d(x, w1, b1))
        h = functional.relu(functional.conv2d(h, w2, b2))
        value = functional.cross_entropy(h.reshape(BATCH, -1) @ w3 + b3, labels)
        grads = torch.autograd.grad(value, params)
        with torch.no_grad():
            return [p - RATE * g for p, g in zip(params, grads, strict=True)], value.detach()

    return step


STEPS = {"wengert": step_of_wengert, "wengert.nn": step_of_nn, "pytorch": step_of_pytorch, "jax": step_of_jax}


def is_there(library: str) -> bool:
    return has({"pytorch": "torch", "wengert.nn": "wengert"}.get(library, library))


def step_calls() -> Calls:
    calls = {name: STEPS[name]() for name in ("wengert", "pytorch", "jax") if is_there(name)}
    losses = [float(call()[1]) for call in calls.values()]
    np.testing.assert_allclose(losses, losses[0], rtol=1e-4)
    return calls


# ----------------------------------------------------------------------------------------------------------- memory


def peak_mb(library: str) -> float:
    """Return how much three steps add to the peak memory of this process: beside the library, which has made a step of
    two pictures, and what the step is given. Results are counted."""
    global BATCH
    BATCH, whole = 2, BATCH
    STEPS[library]()()
    BATCH = whole
    call = STEPS[library]()
    gc.collect()
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
    before = of_status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from here on
    for _ in range(3):
        call()
    return of_status("VmHWM") - before


def of_status(name: str) -> float:
    found = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(found.split()[1]) * 1024 / 1e6


def peaks() -> dict[str, float]:
    """Return the peaks of fresh processes, the least of several: after the first one, no kernel has to be compiled."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for library in filter(is_there, STEPS):
            command = [sys.executable, "-m", "benchmarks.bench_convolution", "--peak", library]
            least = float("inf")
            for round_ in range(5):
                done = subprocess.run(
                    command,
                    cwd=Path(__file__).parent.parent,
                    env={**ENVIRONMENT, "WENGERT_CACHE_DIR": folder},
                    capture_output=True,
                    text=True,
                    check=True,
                )
                least = min(least, float(done.stdout.split()[-1])) if round_ else least
            found[library] = least
    return found


# ----------------------------------------------------------------------------------------------------------- report


def main() -> None:
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    rounds, budget_s = (2, 0.05) if "--quick" in sys.argv else (5, 0.2)
    table = Table("convolution", "call", "wengert", "PyTorch", "JAX", "of PyTorch's speed", "of JAX's", "GFLOP/s")

    def row(name: str, kind: str, calls: Calls, flops: float | None = None) -> None:
        t = {k: v.least for k, v in alternately(calls, rounds, budget_s).items()}
        ratios = [f"{t[k] / t['wengert']:.2f}" if k in t else "" for k in ("pytorch", "jax")]
        rate = f"{flops / t['wengert'] / 1e9:.0f}" if flops else ""
        times = [show(t[k]) if k in t else "" for k in ("wengert", "pytorch", "jax")]
        table.add_row(name, kind, *times, *ratios, rate)

    for name, c in CONVOLUTIONS.items():
        if not names or any(n in name for n in names):
            places = np.prod([(n - m) // c.stride + 1 for n, m in zip(c.x[2:], c.w[2:], strict=True)])
            flops = 2.0 * c.x[0] * float(places) * float(np.prod(c.w))
            for kind, calls, many in zip(("forward", "gradient of all"), alone(c), (1, 2), strict=True):
                row(name, kind, calls, many * flops)
    if not names or "step" in names:
        row("two convolutions and a dense layer, batch of 64", "step", step_calls())
    Console(width=160).print(table)
    if sys.platform == "linux" and (not names or "memory" in names):
        mb = peaks()
        table = Table("peak memory of the step", *mb, "ours of PyTorch's (at most a half)")
        of_theirs = f"{mb['wengert'] / mb['pytorch']:.2f}" if "pytorch" in mb else ""
        table.add_row("beside library and inputs", *[f"{x:.1f} MB" for x in mb.values()], of_theirs)
        Console(width=160).print(table)


if __name__ == "__main__":
    if "--peak" in sys.argv:
        print(peak_mb(sys.argv[-1]))
    else:
        main()
