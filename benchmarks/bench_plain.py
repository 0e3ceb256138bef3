"""Plain gradients, without ``jit``, beside autograd's: ``python -m benchmarks.bench_plain``.

Each program runs in this process, with both libraries in turns, and both gradients are compared first. Times are those
of this thread alone, in microseconds, the least of the rounds; the ratios in brackets are those of the medians. "calls"
says how many calls of the function itself, with NumPy, a gradient takes. Where PyTorch is installed, three networks run
in its eager mode too.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import benchmarks.timing  # noqa: F401  # first: it pins the threads

import autograd  # isort: skip
import autograd.numpy as anp  # isort: skip
import numpy as np  # isort: skip

import wengert as wg
from benchmarks.alternating import has
from benchmarks.plain_programs import BY_PYTORCH_TOO, PROGRAMS, Made

ROUNDS = 9
ROUND_S = 0.01
WARM_UP_S = 0.2  # seconds of calls before: what is met again and again is compiled by then


class Row(NamedTuple):
    """One program: microseconds of the function, of our gradient and of autograd's, and seconds of the first calls."""

    least: tuple[float, float, float]
    median: tuple[float, float, float]
    firsts: tuple[float, float]
    by_pytorch: tuple[float, float] | None
    """The least and the median of PyTorch's, where it runs the program too."""

    def __str__(self) -> str:
        f, ours, theirs = self.least
        ratios = f"{theirs / ours:5.2f} ({self.median[2] / self.median[1]:5.2f})"
        first = f"{self.firsts[0] * 1e3:6.1f} {self.firsts[0] / self.firsts[1]:6.2f}"
        row = f"{f:8.1f} {ours:8.1f} {theirs:8.1f} {ratios} {ours / f:7.1f} {first}"
        if self.by_pytorch is None:
            return row
        least, median = self.by_pytorch
        return f"{row}  PyTorch {least:.1f}, {least / ours:.2f} ({median / self.median[1]:.2f})"


def seconds(call: Callable[[], Any], count: int = 1) -> float:
    """Return the seconds of one of ``count`` calls."""
    start = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - start) / count


def in_pytorch(make: Callable[[Any], Made]) -> Callable[[], Any]:
    """Return the gradient of a program by PyTorch, run eagerly."""
    import torch

    torch.set_num_threads(1)
    names = SimpleNamespace(
        array=torch.as_tensor,
        dot=torch.matmul,
        concatenate=torch.cat,
        zeros=partial(torch.zeros, dtype=torch.float64),
        **{name: getattr(torch, name) for name in ("cos", "mean", "sum", "tanh")},
    )
    f, args = make(names)
    leaves, structure = wg.tree.flatten(args[0])
    leaves = [torch.as_tensor(a).requires_grad_() for a in leaves]
    params, others = wg.tree.unflatten(structure, leaves), [torch.as_tensor(a) for a in args[1:]]
    return lambda: torch.autograd.grad(f(params, *others), leaves)


def measured(make: Callable[[Any], Made], rounds: int, with_pytorch: bool) -> Row:
    f, args = make(np)
    ours, theirs = partial(wg.grad(f), *args), partial(autograd.grad(make(anp)[0]), *args)
    calls = [partial(f, *args), ours, theirs]
    their_first, our_first = seconds(theirs), seconds(ours)
    for a, b in zip(wg.tree.flatten(ours())[0], wg.tree.flatten(theirs())[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=False)
    if with_pytorch:
        calls.append(in_pytorch(make))
        for a, b in zip(wg.tree.flatten(ours())[0], calls[-1](), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=False)
    for call in calls:
        end = time.thread_time() + WARM_UP_S
        while time.thread_time() < end:
            call()
    counts = [max(1, int(ROUND_S / max(seconds(call, 3), 1e-7))) for call in calls]
    times = [[seconds(call, n) * 1e6 for call, n in zip(calls, counts, strict=True)] for _ in range(rounds)]
    f_s, ours_s, theirs_s, *others = zip(*times, strict=True)
    medians = statistics.median(f_s), statistics.median(ours_s), statistics.median(theirs_s)
    by_pytorch = (min(others[0]), statistics.median(others[0])) if others else None
    return Row((min(f_s), min(ours_s), min(theirs_s)), medians, (our_first, their_first), by_pytorch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of programs; all if none is given")
    parser.add_argument("--quick", action="store_true", help="three rounds")
    given = parser.parse_args()
    head = ("f", "ours", "autograd", "ratio", "calls", "first ms", "ours/its")
    print(f"{'':32s} {head[0]:>8s} {head[1]:>8s} {head[2]:>8s} {head[3]:>13s} {head[4]:>7s} {head[5]} {head[6]}")
    rows: list[Row] = []
    for name, make in PROGRAMS.items():
        if not given.names or any(part in name for part in given.names):
            with_pytorch = name in BY_PYTORCH_TOO and has("torch")
            rows.append(measured(make, 3 if given.quick else ROUNDS, with_pytorch))
            print(f"{name:32s} {rows[-1]}", flush=True)
    ratios = [row.least[2] / row.least[1] for row in rows]
    firsts = [row.firsts[0] / row.firsts[1] for row in rows]
    print(
        f"{statistics.median(ratios):.2f} times as fast as autograd in the median, {min(ratios):.2f} at worst; "
        f"{statistics.median([row.least[1] / row.least[0] for row in rows]):.1f} calls of f in the median; first calls "
        f"take {statistics.median(firsts):.2f} of autograd's time in the median, {max(firsts):.2f} at worst"
    )


if __name__ == "__main__":
    main()
