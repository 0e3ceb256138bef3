"""Draw how many times as long as ours each library takes, row by row, on a logarithmic axis, in SVG."""

from __future__ import annotations

import math
from html import escape
from typing import Any

COLOURS = ("#d1495b", "#edae49", "#66a182", "#2e4057", "#8d6a9f")
LEFT, WIDTH, HEIGHT, GAP, MARGIN = 420, 520, 12, 10, 40


def picture(title: str, rows: list[dict[str, Any]]) -> str:
    """Return the picture of rows as :mod:`benchmarks.rows` has them; wrong results and failures have no bar."""
    bars: list[tuple[str, list[tuple[str, float]]]] = []
    for row in rows:
        ours = next(iter(row["by"].values()))
        if "each_s" in ours and ours.get("right"):
            others = list(row["by"].items())[1:]
            found = [(name, f["each_s"] / ours["each_s"]) for name, f in others if "each_s" in f and f.get("right")]
            bars.append((row["name"], found))
        else:
            bars.append((f"{row['name']} (ours: none)", []))
    ratios = [ratio for _, found in bars for _, ratio in found]
    low, high = math.floor(math.log10(min([0.5, *ratios]))), math.ceil(math.log10(max([2.0, *ratios])))
    names = sorted({name for _, found in bars for name, _ in found})
    colours = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}

    def at(ratio: float) -> float:
        return LEFT + WIDTH * (math.log10(ratio) - low) / (high - low)

    parts, y = [text(LEFT, 20, title, "start", 15)], MARGIN
    for k, name in enumerate(names):
        parts.append(f'<rect x="{LEFT + 130 * k}" y="{y - 9}" width="10" height="10" fill="{colours[name]}"/>')
        parts.append(text(LEFT + 130 * k + 15, y, name, "start"))
    y += 30
    top = y - 12
    for label, found in bars:
        height = max(1, len(found)) * HEIGHT
        parts.append(text(LEFT - 8, y + height / 2 + 4, label, "end"))
        for k, (name, ratio) in enumerate(found):
            start, end = sorted((at(1.0), at(ratio)))
            parts.append(
                f'<rect x="{start:.1f}" y="{y + k * HEIGHT}" width="{max(end - start, 1):.1f}" height="{HEIGHT - 2}" '
                f'fill="{colours[name]}"/>'
            )
            parts.append(text(end + 4, y + k * HEIGHT + 9, f"{ratio:.3g}", "start", 9))
        y += height + GAP
    for power in range(low, high + 1):
        x = at(10.0**power)
        stroke = "#444" if power == 0 else "#ddd"
        parts.insert(0, f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{y}" stroke="{stroke}"/>')
        parts.append(text(x, y + 14, f"{10.0**power:g}", "middle"))
    parts.append(text(LEFT, y + 32, "times as long as wengert, compiled", "start"))
    size = f'width="{LEFT + WIDTH + 80}" height="{y + 45}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def text(x: float, y: float, words: str, anchor: str, size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'
