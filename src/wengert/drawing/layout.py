"""Place the nodes of a drawing in layers, so that every edge runs down.

The method is that of Sugiyama, Tagawa and Toda (1981), in four steps:

1. *Layers*: a node stands below all that it reads; one that ``hangs`` stands right above its readers.
2. *Bends*: an edge that crosses layers gets a place in each of them, so that it meets no box.
3. *Order* within layers: each place moves to the median of its neighbours' in the layer above, then below, alternately
   (Eades and Wormald 1994); the order with the fewest crossings is kept.
4. *Coordinates*: places move to the mean of their neighbours, as far as their order and the space between them allow:
   that is isotonic regression, which finds the nearest such coordinates at once. Bends pull harder, so that long edges
   are straight.

A graph that is much higher than wide is then cut into columns, from left to right, where few edges are cut.

Everything is linear in nodes and bends but for the sorting, and nothing recurses.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

SWEEPS = 12
BEND_WIDTH = 10.0
SPACE = 24.0
"""The space between two places of a layer."""

Place = str | tuple[str, str, int]
"""The name of a node, or the bend of the edge from one node to another in a layer."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Node:
    """A node is what a layout knows of a box: its name, whose values it reads, and how wide it is.

    ``hangs``: it reads nothing, and stands right above its readers rather than at the top.
    """

    name: str
    reads: tuple[str, ...]
    width: float
    hangs: bool = False


@dataclass(frozen=True)
class Layout:
    """A layout says where the nodes of a drawing stand.

    ``layers``, from above, have places in their order; ``x`` is the middle of each; ``routes`` are the places of each
    edge, its two nodes included; ``reads`` is how many others each node reads.
    """

    layers: list[list[Place]]
    x: dict[Place, float]
    routes: dict[tuple[str, str], list[Place]]
    reads: dict[str, int]


def layout(nodes: Sequence[Node]) -> Layout:
    """Return where the nodes stand, each of which comes after those that it reads."""
    layer_of = layers_of(nodes)
    layers: list[list[Place]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for name, layer in layer_of.items():
        layers[layer].append(name)
    routes: dict[tuple[str, str], list[Place]] = {}
    above: dict[Place, list[Place]] = {node.name: [] for node in nodes}
    below: dict[Place, list[Place]] = {node.name: [] for node in nodes}
    for node in nodes:
        for read in dict.fromkeys(node.reads):
            bends: list[Place] = [(read, node.name, layer) for layer in range(layer_of[read] + 1, layer_of[node.name])]
            for bend in bends:
                layers[bend[2]].append(bend)  # type: ignore[index]  # a bend, which has a layer
                above[bend], below[bend] = [], []
            route = routes[read, node.name] = [read, *bends, node.name]
            for a, b in pairwise(route):
                below[a].append(b)
                above[b].append(a)
    layers = ordered(layers, above, below)
    x = coordinates(layers, above, below, {node.name: node.width for node in nodes})
    return Layout(layers, x, routes, {node.name: len(set(node.reads)) for node in nodes})


def layers_of(nodes: Sequence[Node]) -> dict[str, int]:
    """Return the layer of each node, counted from above."""
    layer: dict[str, int] = {}
    highest: dict[str, int] = {}  # of the readers of each
    for node in nodes:
        layer[node.name] = max([layer[read] + 1 for read in node.reads], default=0)
        for read in node.reads:
            highest[read] = min(highest.get(read, layer[node.name]), layer[node.name])
    hanging = {node.name: highest[node.name] - 1 for node in nodes if node.hangs and node.name in highest}
    return layer | hanging


# ------------------------------------------------------------------------------------------------------------ order


def ordered(
    layers: list[list[Place]], above: Mapping[Place, list[Place]], below: Mapping[Place, list[Place]]
) -> list[list[Place]]:
    """Return the layers in the order with the fewest crossings that the sweeps find."""
    best, fewest = layers, crossings(layers, below)
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        down = sweep % 2 == 0
        layers = _swept(layers, above if down else below, down)
        count = crossings(layers, below)
        if count < fewest:
            best, fewest = layers, count
    return best


def _swept(layers: list[list[Place]], neighbours: Mapping[Place, list[Place]], down: bool) -> list[list[Place]]:
    """Return each layer sorted by the medians of its places' neighbours in the one before.

    A place without such neighbours keeps its relative place.
    """
    result: list[list[Place]] = []
    position: dict[Place, float] = {}
    for layer in layers if down else reversed(layers):
        keys: dict[Place, float] = {}
        for k, place in enumerate(layer):
            at = [position[n] for n in neighbours[place] if n in position]
            keys[place] = median(at) if at else k / max(len(layer) - 1, 1)
        layer = sorted(layer, key=keys.__getitem__)
        position |= {place: k / max(len(layer) - 1, 1) for k, place in enumerate(layer)}
        result.append(layer)
    return result if down else result[::-1]


def crossings(layers: Sequence[Sequence[Place]], below: Mapping[Place, Sequence[Place]]) -> int:
    """Return how many pairs of edges cross between neighbouring layers."""
    count = 0
    for upper, lower in pairwise(layers):
        position = {place: k for k, place in enumerate(lower)}
        ends: list[int] = []  # of the edges from further left, sorted
        for place in upper:
            own = [position[b] for b in below[place]]
            count += sum(len(ends) - bisect_right(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return count


# ------------------------------------------------------------------------------------------------------ coordinates


def coordinates(
    layers: Sequence[Sequence[Place]],
    above: Mapping[Place, Sequence[Place]],
    below: Mapping[Place, Sequence[Place]],
    widths: Mapping[str, float],
) -> dict[Place, float]:
    """Return the middle of each place; the least left edge is at 0."""
    half = {place: (widths[place] if isinstance(place, str) else BEND_WIDTH) / 2 for layer in layers for place in layer}
    x: dict[Place, float] = {}
    for layer in layers:
        x |= dict(zip(layer, _apart(np.zeros(len(layer)), np.ones(len(layer)), _offsets(layer, half)), strict=True))
    for sweep in range(2 * SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wanted, weights = [], []
            for place in layer:
                near = (*above[place], *below[place]) if sweep >= SWEEPS else above[place] if down else below[place]
                is_bend = not isinstance(place, str)
                wanted.append(sum(x[n] for n in near) / len(near) if near else x[place])
                weights.append((8.0 if is_bend else 1.0 + len(near)) if near else 0.1)
            moved = _apart(np.array(wanted), np.array(weights), _offsets(layer, half))
            x |= dict(zip(layer, moved, strict=True))
    left = min((x[place] - half[place] for place in x), default=0.0)
    return {place: float(at - left) for place, at in x.items()}


def _offsets(layer: Sequence[Place], half: Mapping[Place, float]) -> Floats:
    """Return where the places stand if they stand as near to one another as they may."""
    steps = [0.0] + [half[a] + half[b] + SPACE for a, b in pairwise(layer)]
    return np.cumsum(steps)


def _apart(wanted: Floats, weights: Floats, offsets: Floats) -> Floats:
    """Return the coordinates nearest to ``wanted`` whose distances are those of ``offsets`` or more."""
    if not len(wanted):
        return wanted
    return isotonic_regression(wanted - offsets, weights=weights).x + offsets


# ---------------------------------------------------------------------------------------------------------- columns

LONG = 16
"""The number of layers up to which they are one column."""
ASPECT = 1.5
"""The ratio of width to height that columns are made for: a screen's."""
LEEWAY = 3
"""How many layers a cut is moved at most, to cut fewer edges."""


def columns(places: Layout, width: float, height: float) -> list[list[list[Place]]]:
    """Return the layers, column by column; ``width`` is that of one column, ``height`` that of one layer."""
    total = len(places.layers)
    if total <= LONG:
        return [places.layers]

    def misses(count: int) -> float:
        return abs(np.log(count * width / (total / count * height) / ASPECT))

    count = min(range(1, total // LONG * 2 + 1), key=misses)
    cuts, size = [0], total / count
    for k in range(1, count):
        middle = round(k * size)
        near = range(max(cuts[-1] + 2, middle - LEEWAY), min(total - 2, middle + LEEWAY) + 1)
        if near:
            cuts.append(min(near, key=lambda cut: (_cut_edges(places, cut), abs(cut - middle))))
    return [places.layers[a:b] for a, b in pairwise([*cuts, total])]


def _cut_edges(places: Layout, cut: int) -> int:
    """Return how many edges run from above into layer ``cut``."""
    return sum(1 if not isinstance(place, str) else places.reads[place] for place in places.layers[cut])
