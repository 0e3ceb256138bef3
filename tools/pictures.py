"""Draw the pictures of the manual's first pages and of its benchmarks: ``python -m tools.pictures [FILE.json ...]``.

A file is what ``benchmarks.bench_gradbench --json FILE`` and its like write; without one, the throws are drawn alone.
Pictures are SVG, in ``docs/pictures``, and hold no date, so that the same figures give the same file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
OURS, OTHERS, GREY = "#1f6f8b", "#d1495b", "#777777"


def flight(angle: float, speed: float = 20.0, drag: float = 0.05, dt: float = 0.01) -> tuple[list[float], list[float]]:
    """Return where the ball is, step by step: the program of the manual's first page, which keeps its path."""
    xs, ys = [0.0], [1.8]
    vx, vy = speed * np.cos(angle), speed * np.sin(angle)
    while ys[-1] > 0:
        v = np.hypot(vx, vy)
        vx, vy = vx - dt * drag * v * vx, vy - dt * (9.81 + drag * v * vy)
        xs.append(xs[-1] + dt * vx)
        ys.append(ys[-1] + dt * vy)
    xs[-1], ys[-1] = xs[-1] - vx * ys[-1] / vy, 0.0
    return xs, ys


def draw_throws(path: Path) -> None:
    """Draw the flights that Newton's method tries on its way to a bucket."""
    plt = _pyplot()
    both = wg.jit(wg.value_and_grad(lambda angle: flight(angle)[0][-1]))
    figure, axes = plt.subplots(figsize=(8, 2.6), layout="constrained")
    angle, bucket = -0.1, 15.0
    for k in range(6):
        far, slope = both(angle)
        xs, ys = flight(angle)
        axes.plot([*xs[:-1:6], xs[-1]], [*ys[:-1:6], ys[-1]], color=OURS, alpha=0.4 + 0.12 * k, lw=1 + k / 4)
        if k < 2:
            label = ("first throw", "second")[k]
            axes.annotate(label, (far, 0.05), (6, 4), textcoords="offset points", color=GREY)
        angle = angle - (far - bucket) / slope
    axes.plot([14.7, 14.8, 15.2, 15.3], [0.6, 0, 0, 0.6], color=OTHERS, lw=2.5)
    axes.annotate("bucket", (14.7, 0.15), (-6, 0), textcoords="offset points", ha="right", color=OTHERS)
    axes.set(xlabel="metres", ylabel="metres", ylim=(-0.15, None), xlim=(0, 17))
    _save(figure, path)


def draw_ratios(path: Path, rows: list[dict[str, Any]], title: str) -> None:
    """Draw how many times the processor time of wengert each library takes, by rows, the greatest first."""
    plt = _pyplot()
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        ours = next(iter(row["by"].values()))
        for name, figures in list(row["by"].items())[1:]:
            if "each_cpu_s" in figures and figures.get("right") and ours.get("right") and "plain" not in name:
                found.setdefault(row["name"], {})[name] = figures["each_cpu_s"] / ours["each_cpu_s"]
    names = sorted(found, key=lambda name: found[name].get("jax", max(found[name].values())))
    figure, axes = plt.subplots(figsize=(8, 0.8 + 0.19 * len(names)), layout="constrained")
    axes.axvline(1.0, color=GREY, lw=1)
    for k, (library, colour, marker) in enumerate((("jax", OTHERS, "o"), ("autograd", "#e0a030", "s"))):
        points = [(found[name][library], i) for i, name in enumerate(names) if library in found[name]]
        label = {"jax": "JAX", "autograd": "autograd"}[library]
        axes.scatter(*zip(*points, strict=True), color=colour, marker=marker, s=22, label=label, zorder=3 + k)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set(xscale="log", xlabel="times as long as wengert (right of the line wengert is faster)", title=title)
    axes.grid(axis="x", color="#dddddd", lw=0.6)
    axes.legend(loc="lower right", frameon=False)
    _save(figure, path)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "wengert", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False})
    plt.rcParams.update({"axes.spines.right": False, "font.family": "sans-serif", "path.simplify_threshold": 1.0})
    return plt


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw_throws(PICTURES / "throw.svg")
    for name in sys.argv[1:]:
        rows = list(json.loads(Path(name).read_text(encoding="utf-8")).values())
        draw_ratios(PICTURES / f"{Path(name).stem}.svg", rows, "Gradients of GradBench's programs")
