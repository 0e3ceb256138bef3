"""Measure graphs that are edited, and many small ones: ``python -m benchmarks.bench_graphs [--quick]``.

* A network of 1,000 vertices, tanh(W @ (a sum of one to three earlier ones) + b), 16 by 16: its gradient as a plain
  function, as a graph, and as a graph in blocks; then one vertex replaced, inserted, removed, and the time until the
  next gradient, with how much of the graph was compiled again.
* Networks of 5 to 14 vertices, each another one: build, compile, first gradient; and the memory of the process.

Everything is measured in one process, one after another, with kernels that are compiled already where it says so.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.checks import between, leaves
from benchmarks.timing import measure, show

import numpy as np  # isort: skip  # after benchmarks.timing, which says how many threads
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

import wengert as wg  # isort: skip
from wengert import graph  # isort: skip


@dataclass(frozen=True)
class Cell:
    """A vertex that computes act(W @ (the sum of what it reads) + b)."""

    width: int = 16
    activation: Any = np.tanh

    def init(self, rng: Any, *xs: Any) -> Any:
        rng = np.random.default_rng(rng)
        w = 0.3 * rng.standard_normal((self.width, xs[0].shape[0]))
        return {"w": w, "b": 0.1 * rng.standard_normal(self.width)}, {}

    def apply(self, params: Any, state: Any, *xs: Any, train: bool = False) -> Any:
        total = xs[0]
        for x in xs[1:]:
            total = total + x
        return self.activation(params["w"] @ total + params["b"]), state


def network(vertices: int, rng: np.random.Generator) -> graph.Graph:
    """Return a random network; vertices that no other one reads are outputs."""
    wires = [graph.input("x")]
    for k in range(vertices):
        reads = sorted({int(j) for j in rng.integers(max(0, k - 50), k + 1, rng.integers(1, 4))})
        wires.append(graph.vertex(Cell(), f"v{k}")(*[wires[j] for j in reads]))
    read = {id(wire) for reader in wires for wire in reader.inputs}
    return graph.Graph(wires[:1], [wire for wire in wires if id(wire) not in read])


def total(outputs: Any) -> Any:
    return sum([np.sum(y) for y in outputs])


def whole_gradient(g: graph.Graph) -> Any:
    def loss(params: Any, x: Any) -> Any:
        outputs = g.apply(params, {}, x)[0]
        return total(outputs if isinstance(outputs, tuple) else (outputs,))

    return wg.jit(wg.value_and_grad(loss))


def of_plain(g: graph.Graph) -> Any:
    """Return the same network as a function over a list, written without the graph."""
    steps = [(v.name, v.inputs) for v in g if v.inputs]
    outputs = g.outputs

    def loss(params: Any, x: Any) -> Any:
        values = {"x": x}
        for name, reads in steps:
            s = values[reads[0]]
            for read in reads[1:]:
                s = s + values[read]
            values[name] = np.tanh(params[name]["w"] @ s + params[name]["b"])
        return sum([np.sum(values[name]) for name in outputs])

    return wg.jit(wg.value_and_grad(loss))


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def edits(quick: bool) -> Table:
    rng = np.random.default_rng(0)
    g, x = network(1000, rng), rng.standard_normal(16)
    params = {v.name: Cell().init(rng, x)[0] for v in g if v.inputs}
    for f in (whole_gradient(network(30, rng)), network(30, rng).value_and_grad(total)):  # what is loaded late is there
        small = {f"v{k}": params[f"v{k}"] for k in range(30)}
        f(small, x) if not isinstance(f, graph.ValueAndGrad) else f(small, {}, x)
    table = Table(title="a graph of 1,000 vertices", show_header=True)
    for title in ("gradient", "first", "each", "compiled again"):
        table.add_column(title)
    plain, whole = of_plain(g), whole_gradient(g)
    first = {name: seconds(lambda f=f: f(params, x)) for name, f in (("plain", plain), ("whole", whole))}
    step = g.value_and_grad(total)
    first["blocks"] = seconds(lambda: step(params, {}, x))
    gaps = {
        "graph": agreed(whole(params, x), plain(params, x)),
        "blocks": agreed(step(params, {}, x), plain(params, x)),
    }
    for name, call in (
        ("plain function", lambda: plain(params, x)),
        ("graph", lambda: whole(params, x)),
        ("graph in blocks", lambda: step(params, {}, x)),
    ):
        key = {"plain function": "plain", "graph": "whole", "graph in blocks": "blocks"}[name]
        said = str(step.report.blocks) + " blocks" if key == "blocks" else ""
        said += f" error {gaps.get(key if key == 'blocks' else 'graph', 0.0):.0e}" if key != "plain" else ""
        table.add_row(name, show(first[key]), show(measure(call).least), said)

    def edited(what: str, make: Callable[[int], graph.Graph]) -> None:
        times, shares = [], []
        for k in range(3, 1000, 331 if quick else 83):

            def call(k: int = k) -> None:
                new = make(k)
                gradient = new.value_and_grad(total)
                gradient({n: p for n, p in params.items() if n in new}, {}, x)
                shares.append(gradient.report.new_vertices)

            times.append(seconds(call))
        middle = statistics.median(times)
        of_whole, of_blocks = middle / first["whole"], middle / first["blocks"]
        of = f"{of_whole:.1%} of the whole's first, {of_blocks:.1%} of the blocks' (must be 10%)"
        table.add_row(f"{what}, to the next gradient", show(middle), of, f"{statistics.median(shares):.0f} vertices")

    edited("one replaced", lambda k: g.replace(f"v{k}", Cell(16, np.sin)))
    edited("one inserted", lambda k: g.insert("new", np.sin, between=(g[f"v{k}"].inputs[0], f"v{k}")))
    edited("one removed", lambda k: g.remove(f"v{k}", to=g[f"v{k}"].inputs[0]))
    k = 500
    other = whole_gradient(g.replace(f"v{k}", Cell(16, np.sin)))
    table.add_row("one replaced, all compiled again", show(seconds(lambda: other(params, x))), "", "1000 vertices")
    return table


def agreed(found: Any, wanted: Any) -> float:
    """Return how far a value and a gradient are from those of the plain function; raise if that is far, or NaN."""
    error = between([np.asarray(v) for v in leaves(list(found)[:2])], [np.asarray(v) for v in leaves(list(wanted))])
    if not error < 1e-6:
        raise AssertionError(f"a graph's gradient is {error:.0e} from the plain function's")
    return error


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def many(count: int) -> Table:
    """Return networks that all differ: their widths, activations and connections are random."""
    rng = np.random.default_rng(1)
    activations = (np.tanh, np.sin, np.arctan, np.exp)
    x = rng.standard_normal(16)
    table = Table(title=f"{count} networks of 5 to 14 vertices, built, compiled and differentiated once each")
    for title in ("networks", "mean", "memory of the process"):
        table.add_column(title)
    times: list[float] = []
    for k in range(count):
        start = time.perf_counter()
        wires = [graph.input("x")]
        for v in range(int(rng.integers(5, 15))):
            width, act = int(rng.integers(4, 33)), activations[rng.integers(4)]
            wires.append(graph.vertex(Cell(width, act), f"v{v}")(wires[rng.integers(max(0, v - 2), v + 1)]))
        g = graph.Graph(wires[:1], wires[-1:])
        params, _ = g.init(0, x)
        whole_gradient(g)(params, x)
        times.append(time.perf_counter() - start)
        if (k + 1) in (50, count // 4, count // 2, count):
            table.add_row(f"to {k + 1}", show(statistics.fmean(times)), f"{resident_mb():.0f} MB")
            times = []
    return table


def main() -> None:
    quick = "--quick" in sys.argv
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(edits(quick))
    console.print(many(200 if quick else 1000))


if __name__ == "__main__":
    main()
