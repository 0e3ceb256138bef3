"""Which features of a graph must change together.

Every feature of every value is a node; a sum, a norm or a concatenation couples features of its value with features of
what it reads. What is coupled, through however many vertices, is one *class*: it is kept or dropped as one. Classes
that occur in the same vertices, equally often, are a *segment*: only how many of a segment there are is a question of
numbers, and widths are sums of these. So a change of widths is a small linear problem in the sizes of segments, and the
answer says where in each vertex features are dropped and where new ones stand.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import wengert as wg
from wengert.graph.rules import Fixed, Joined, Rule, Same, Times, rule, rule_of
from wengert.graph.vertices import InputPart, Vertex, is_layer

if TYPE_CHECKING:
    from wengert.graph.graph import Graph


@dataclass(frozen=True)
class Couplings:
    """These are the vertices that are coupled with some that are asked for, and how."""

    rules: dict[str, Rule]
    axes: dict[str, int]
    """The axis of the features of each value of the whole graph."""
    widths: dict[str, int]
    """The width of each coupled vertex."""
    classes: dict[str, Any]
    """The class of each of their features, int[width]."""
    segments: dict[int, list[int]]
    """The classes of each segment, in the order in which they stand in the values."""
    segment_of: dict[int, int]
    groups: dict[str, list[tuple[str, int]]]
    """The vertices that treat a value in equal pieces, since they give it or read it; and how many pieces."""
    stay: dict[str, str]
    """Why some widths cannot change."""

    def counts(self, name: str, begin: int = 0, end: int | None = None) -> dict[int, int]:
        """Return how often each class of a segment is in the value of a vertex, or in features ``begin`` to ``end``."""
        found = Counter(self.classes[name][begin:end].tolist())
        return {self.segment_of[c]: count for c, count in found.items()}


def couplings(graph: Graph, specs: dict[str, Any], names: list[str]) -> Couplings:
    """Return what is coupled with the vertices ``names``, by values of ``specs``."""
    axes, rules = _axes_and_rules(graph, specs)
    coupled = _coupled(graph, rules, names)
    widths = {name: specs[name].shape[axes[name]] for name in coupled}
    start = dict(zip(widths, np.cumsum([0, *widths.values()]).tolist(), strict=False))
    pairs = [pair for name in coupled for pair in _pairs(graph, name, rules[name], widths, start)]
    total = sum(widths.values())
    a, b = np.concatenate([np.empty((2, 0), int), *pairs], axis=1)
    links = coo_array((np.ones(len(a)), (a, b)), shape=(total, total))
    labels = connected_components(links, directed=False)[1]
    classes = {name: labels[start[name] : start[name] + width] for name, width in widths.items()}
    groups = _groups(graph, rules, widths)
    segments, segment_of = _segments(classes, groups)
    stay = _stay(graph, rules, widths)
    return Couplings(rules, axes, widths, classes, segments, segment_of, groups, stay)


def _axes_and_rules(graph: Graph, specs: dict[str, Any]) -> tuple[dict[str, int], dict[str, Rule]]:
    axes: dict[str, int] = {}
    rules: dict[str, Rule] = {}
    wanted = _axes_of_inputs(graph)
    for vertex in graph:
        operands, ndim = [specs[read] for read in vertex.inputs], getattr(specs[vertex.name], "ndim", 0)
        found = rule_of(vertex.part, operands, [axes[read] for read in vertex.inputs])
        if found.axis is not None:
            axis = found.axis
        else:
            axis = axes[vertex.inputs[0]] if vertex.inputs else wanted.get(vertex.name, 1)
        axes[vertex.name] = min(axis, ndim - 1) % max(ndim, 1) if ndim else 0
        rules[vertex.name] = found if ndim and _agrees(found, vertex, specs, axes) else Fixed()
    return axes, rules


def _agrees(found: Rule, vertex: Vertex, specs: dict[str, Any], axes: dict[str, int]) -> bool:
    """Return whether a layer takes the features of what it reads to be along the axis where they are."""
    if found.axis is None or not is_layer(vertex.part):
        return True
    return all(min(found.axis, specs[r].ndim - 1) % specs[r].ndim == axes[r] for r in vertex.inputs if specs[r].ndim)


def _axes_of_inputs(graph: Graph) -> dict[str, int]:
    """Return for each input the axis that the first layer that depends on it takes for that of the features."""
    axis: dict[str, int] = {}
    for vertex in reversed(list(graph)):
        found = rule(vertex.part, ())
        own = axis.get(vertex.name) if found is None or found.axis is None else found.axis
        for read in vertex.inputs:
            if own is not None:
                axis[read] = own
    return axis


def _coupled(graph: Graph, rules: dict[str, Rule], names: list[str]) -> list[str]:
    """Return the vertices whose widths may have to change with those of ``names``, in topological order."""
    readers = graph.readers()
    found, todo = set(names), list(names)
    while todo:
        name = todo.pop()
        near = [r for r in readers[name] if _passes_on(rules[r])]
        if _passes_on(rules[name]):
            near += graph[name].inputs
        todo += [n for n in dict.fromkeys(near) if n not in found]
        found.update(near)
    return [name for name in graph.vertices if name in found]


def _passes_on(rule: Rule) -> bool:
    """Return whether the width of the value is bound to those of what is read."""
    return isinstance(rule, Same | Joined | Times)


def _pairs(graph: Graph, name: str, rule: Rule, widths: dict[str, int], start: dict[str, int]) -> list[Any]:
    """Return the features that a vertex couples, int[2, n] for each of what it reads."""
    found, begin = [], start[name]
    if not _passes_on(rule):
        return []
    for read in graph[name].inputs:
        own = np.arange(widths[read])
        if isinstance(rule, Joined):
            value = begin + own
            begin += widths[read]
        elif isinstance(rule, Times):
            value = start[name] + np.arange(widths[name])
            own = np.repeat(own, rule.count)
        elif is_spread(rule, widths[read], widths[name]):
            continue
        else:
            value = start[name] + own
        found.append(np.stack([start[read] + own, value]))
    return found


def is_spread(rule: Rule, read: int, width: int) -> bool:
    """Return whether a value of width 1 is read beside wider ones, once for each of their features."""
    return isinstance(rule, Same) and read == 1 and width != 1


def _stay(graph: Graph, rules: dict[str, Rule], widths: dict[str, int]) -> dict[str, str]:
    found = {}
    for vertex in graph:
        name, rule = vertex.name, rules[vertex.name]
        if isinstance(rule, Fixed) and name in widths:
            found[name] = "an input" if isinstance(vertex.part, InputPart) else "whose part has no rule for widths"
        for read in vertex.inputs:
            if read in widths and isinstance(rule, Fixed):
                found.setdefault(read, f"read by {name!r}, whose part has no rule for widths")
            elif read in widths and is_spread(rule, widths[read], widths.get(name, 1)):
                found.setdefault(read, f"of which {name!r} spreads one feature over all others")
    return found


def _groups(graph: Graph, rules: dict[str, Rule], widths: dict[str, int]) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {name: [] for name in widths}
    for vertex in graph:
        rule = rules[vertex.name]
        if rule.groups > 1:
            for name in dict.fromkeys([vertex.name, *vertex.inputs]):
                if name in found:
                    found[name].append((vertex.name, rule.groups))
    return found


def _segments(
    classes: dict[str, Any], groups: dict[str, list[tuple[str, int]]]
) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Return the classes of each segment, and the segment of each class."""
    occurs: dict[int, Counter[Any]] = {}
    for name, own in classes.items():
        for k, c in enumerate(own.tolist()):
            where = occurs.setdefault(c, Counter())
            where[name] += 1
            for vertex, count in groups[name]:
                where[name, vertex, k * count // len(own)] += 1
    number: dict[Any, int] = {}
    segments: dict[int, list[int]] = {}
    segment_of: dict[int, int] = {}
    for c, where in occurs.items():  # in the order in which they are met
        k = segment_of[c] = number.setdefault(frozenset(where.items()), len(number))
        segments.setdefault(k, []).append(c)
    return segments, segment_of


# ------------------------------------------------------------------------------------------------------ selections


def selections(graph: Graph, coupled: Couplings, kept: dict[int, list[int]], new: dict[int, int]) -> dict[str, Any]:
    """Return which old features the new value of each coupled vertex has, int[new width], -1 for a new one.

    ``kept`` are the classes of each segment that stay, ``new`` is how many are new, which stand behind them.

    A vertex whose features are all of different classes is cut into segments. What is computed from such follows, and
    what is summed with that: its features may be of one class several times, and their order is that of the others.
    """
    found: dict[str, Any] = {}
    for name, own in coupled.classes.items():
        if len(set(own.tolist())) == len(own):
            found[name] = _of_segments(coupled, name, kept, new)
    while True:
        before = len(found)
        for name in coupled.widths:
            _hand_on(graph, coupled, name, found)
        if len(found) == len(coupled.widths):
            break
        if len(found) == before:
            raise _out_of_order(next(name for name in coupled.widths if name not in found))
    return found


def _of_segments(coupled: Couplings, name: str, kept: dict[int, list[int]], new: dict[int, int]) -> Any:
    index: list[int] = []
    own = coupled.classes[name].tolist()
    begin = 0
    while begin < len(own):
        segment = coupled.segment_of[own[begin]]
        members = coupled.segments[segment]
        if own[begin : begin + len(members)] != members:
            raise _out_of_order(name)
        place = {c: begin + k for k, c in enumerate(members)}
        index += [*[place[c] for c in kept[segment]], *[-1] * new[segment]]
        begin += len(members)
    return np.array(index, int)


def _hand_on(graph: Graph, coupled: Couplings, name: str, found: dict[str, Any]) -> None:
    """Put selections on from what a vertex reads to its value; where the features are the same, back as well."""
    rule, inputs = coupled.rules[name], graph[name].inputs
    if not _passes_on(rule):
        return
    if isinstance(rule, Same):
        alike = [n for n in (name, *inputs) if not is_spread(rule, coupled.widths[n], coupled.widths[name])]
        known = [found[n] for n in alike if n in found]
        if any(not np.array_equal(index, known[0]) for index in known[1:]):
            raise _out_of_order(name)
        found.update({n: known[0] for n in alike if known})
    elif isinstance(rule, Times) and inputs[0] in found:
        of = np.repeat(found[inputs[0]], rule.count)
        found[name] = np.where(of < 0, -1, of * rule.count + np.tile(np.arange(rule.count), len(of) // rule.count))
    elif isinstance(rule, Joined) and all(read in found for read in inputs):
        begins = np.cumsum([0, *[coupled.widths[read] for read in inputs]])
        pieces = [np.where(found[n] < 0, -1, found[n] + k) for n, k in zip(inputs, begins, strict=False)]
        found[name] = np.concatenate(pieces)


def _out_of_order(name: str) -> wg.errors.WidthError:
    return wg.errors.WidthError(
        wg.errors.message(
            f"resize: the features of {name!r} are combined with the same other features in different orders"
        )
    )
