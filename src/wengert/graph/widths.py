"""Changes of width: ``g.resize({"h": 24}, params, state, x)``.

The widths that are asked for, the couplings (see :mod:`~wengert.graph.couplings`), groups that must be equal, and what
must stay as it is are linear constraints on whole numbers, solved with HiGHS (``scipy.optimize.milp``). Among the
solutions the one with the least change is taken, by weight. Parameters follow by selected features.

After NaiveNASlib, https://github.com/DrChainsaw/NaiveNASlib.jl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

import wengert as wg
from wengert.graph.couplings import Couplings, couplings, is_spread, selections
from wengert.graph.rules import Joined, Own, Same, Times, followed, widened
from wengert.graph.vertices import Vertex, is_layer

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

Tree = Any


def resize(
    graph: Graph,
    widths: Mapping[str, int],
    params: Tree,
    state: Tree,
    *xs: Any,
    nearest: bool = False,
    importance: Mapping[str, Any] | Callable[[str], Any] | None = None,
    weights: Mapping[str, float] | None = None,
    rng: Any = None,
) -> tuple[Graph, Tree, Tree]:
    """Return the graph with vertices of other widths, and its parameters and state.

    What is coupled with these vertices changes with them: a sum's terms, what concatenation, flattening and groups bind
    together, norms. What reads them takes the new width. Inputs keep their widths, and so do outputs that are not asked
    for. A width is the number of channels, or of features, of what a vertex gives.

    Parameters
    ----------
    widths : of some vertices, by name.
    params, state : as of :meth:`Graph.init`. xs : like the inputs, arrays or specs.
    nearest : the nearest widths that can be had, where these cannot; otherwise that raises.
    importance : of the features of a vertex, float[width], by its name: those of least importance are dropped first.
        By default the norm of a feature's parameters.
    weights : how much a vertex should rather not change, by name, 1 by default; per feature.
    rng : a generator or seed; new features of layers are drawn as ``init`` draws them. By default they are zero.

    Returns
    -------
    graph, params, state. Where widths only grow, the function is the same (but for layers that look at all features
    together, as layer norms do): what reads a new feature reads it with the weight zero.

    Raises
    ------
    WidthError
        If there are no such widths. The message has couplings that cannot hold together.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import graph, nn
    >>> x = np.ones((1, 3, 8, 8), np.float32)
    >>> g = graph.empty("x").insert("h", nn.Conv(3, 8), after="x").insert("y", nn.Conv(3, 2), after="h")
    >>> params, state = g.init(0, x)
    >>> g, params, state = g.resize({"h": 5}, params, state, x)
    >>> g["h"].part, params["y"]["w"].shape
    (Conv(3, 5), (2, 5, 3, 3))
    """
    names = [graph[name].name for name in widths]
    specs = graph.specs(*xs, params=dict(params), state=dict(state))
    coupled = couplings(graph, specs, names)
    sizes = _sizes(graph, coupled, widths, dict(weights or {}), nearest)
    kept, new = _chosen(graph, coupled, sizes, params, importance)
    selected = selections(graph, coupled, kept, new)
    changed = {n: index for n, index in selected.items() if not _is_whole(index, coupled.widths[n])}
    return _follow(graph, coupled, changed, specs, params, state, rng)


def _is_whole(index: Any, width: int) -> bool:
    return len(index) == width and bool(np.array_equal(index, np.arange(width)))


# ------------------------------------------------------------------------------------------------------------ sizes


@dataclass
class Problem:
    """A problem has constraints on whole numbers: low <= row @ sizes <= high, each with what it says in words."""

    count: int
    rows: list[dict[int, float]] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def add(self, words: str, row: Mapping[int, float], low: float, high: float | None = None) -> None:
        self.rows.append(dict(row))
        self.low.append(low)
        self.high.append(low if high is None else high)
        self.words.append(words)

    def more(self, count: int = 1) -> int:
        """Return the number of the first of some new variables."""
        self.count += count
        return self.count - count

    def solve(self, cost: Mapping[int, float], only: list[int] | None = None) -> Any:
        """Return the cheapest whole numbers, int[count], or None; ``only`` some constraints are asked for."""
        chosen = list(range(len(self.rows))) if only is None else only
        matrix = np.zeros((len(chosen), self.count))
        for k, number in enumerate(chosen):
            matrix[k, list(self.rows[number])] = list(self.rows[number].values())
        low: Any = np.array(self.low)[chosen]  # SciPy's types know of numbers alone
        high: Any = np.array(self.high)[chosen]
        limits = LinearConstraint(matrix, low, high)
        costs = np.zeros(self.count)
        costs[list(cost)] = list(cost.values())
        found = milp(costs, integrality=np.ones(self.count), bounds=Bounds(0, np.inf), constraints=[limits])
        return np.round(found.x).astype(int) if found.success else None

    def conflict(self) -> list[str]:
        """Return constraints, in words, that cannot hold together, and can if any one of them is dropped."""
        kept = list(range(len(self.rows)))
        size = max(len(kept) // 2, 1)
        while True:
            for begin in range(0, len(kept), size)[::-1]:
                fewer = kept[:begin] + kept[begin + size :]
                if fewer and self.solve({}, fewer) is None:
                    kept = fewer
            if size == 1:
                return [self.words[n] for n in kept]
            size = max(size // 2, 1)


_MUCH = 1e4
"""The cost of a feature less than asked for, against one that changes, with ``nearest``."""


def _sizes(
    graph: Graph, coupled: Couplings, wanted: Mapping[str, int], weights: dict[str, float], nearest: bool
) -> dict[int, int]:
    """Return the new number of classes of each segment."""
    for name in weights:
        graph[name]
    problem = Problem(len(coupled.segments))
    cost: dict[int, float] = {}
    for name in coupled.widths:
        row = {k: float(n) for k, n in coupled.counts(name).items()}
        problem.add(f"{name!r} has a feature", row, 1, np.inf)
        if name in wanted and not nearest:
            problem.add(f"{name!r} is to have {wanted[name]}", row, wanted[name])
        elif name in wanted:
            _add_distance(problem, cost, row, wanted[name], _MUCH * max([1.0, *weights.values()]))
        if _why_it_stays(graph, coupled, name, wanted):
            for k in coupled.counts(name):
                problem.add(f"{name!r} stays", {k: 1.0}, len(coupled.segments[k]))
        for _, count in coupled.groups[name]:
            _add_pieces(problem, coupled, name, count)
    for k, members in coupled.segments.items():
        weight = sum(weights.get(n, 1.0) for n in coupled.widths if _is_source(coupled, n) and k in coupled.counts(n))
        _add_distance(problem, cost, {k: 1.0}, len(members), weight or 1.0)
    sizes = problem.solve(cost)
    if sizes is None:
        raise _impossible(graph, coupled, wanted)
    return {k: int(sizes[k]) for k in coupled.segments}


def _add_distance(
    problem: Problem, cost: dict[int, float], row: Mapping[int, float], target: int, weight: float
) -> None:
    """Add to the cost ``weight`` times how far ``row @ sizes`` is from ``target``, above or below."""
    above, below = problem.more(), problem.more()
    problem.add("", {**row, above: -1.0, below: 1.0}, target)
    cost[above] = cost[below] = weight


def _add_pieces(problem: Problem, coupled: Couplings, name: str, groups: int) -> None:
    size = coupled.widths[name] // groups
    first = coupled.counts(name, 0, size)
    for k in range(1, groups):
        row = {s: float(n) for s, n in first.items()}
        for s, n in coupled.counts(name, k * size, (k + 1) * size).items():
            row[s] = row.get(s, 0.0) - n
        problem.add(f"the groups of {name!r} are equal", row, 0)


def _is_source(coupled: Couplings, name: str) -> bool:
    return isinstance(coupled.rules[name], Own)


def _why_it_stays(graph: Graph, coupled: Couplings, name: str, wanted: Mapping[str, int]) -> str:
    """Return why a width may not change; empty if it may."""
    if name in graph.outputs and name not in wanted:
        return "an output"
    return coupled.stay.get(name, "")


# --------------------------------------------------------------------------------------------------------- conflicts


def _impossible(graph: Graph, coupled: Couplings, wanted: Mapping[str, int]) -> wg.errors.WidthError:
    """Return the error where there are no such widths: in terms of vertices, not of segments."""
    number = {name: k for k, name in enumerate(coupled.widths)}
    problem = Problem(len(number))
    for name, width in coupled.widths.items():
        vertex, own = graph[name], coupled.rules[name]
        problem.add(f"{name!r} has at least one feature", {number[name]: 1}, 1, np.inf)
        if name in wanted:
            problem.add(f"{name!r} is to have width {wanted[name]}", {number[name]: 1}, wanted[name])
        if why := _why_it_stays(graph, coupled, name, wanted):
            problem.add(f"{name!r}, {why}, keeps width {width}", {number[name]: 1}, width)
        if isinstance(own, Joined):
            row = {number[name]: 1.0}
            for read in vertex.inputs:
                row[number[read]] = row.get(number[read], 0.0) - 1
            problem.add(f"{name!r} is as wide as {' and '.join(vertex.inputs)} together", row, 0)
        elif isinstance(own, Same | Times):
            for read in vertex.inputs:
                times = own.count if isinstance(own, Times) else 1
                if not is_spread(own, coupled.widths[read], width):
                    what = f"{times} times as wide as" if times > 1 else "as wide as"
                    problem.add(f"{name!r} is {what} {read!r}", {number[name]: 1, number[read]: -times}, 0)
        for grouped, count in coupled.groups[name]:
            row = {number[name]: 1.0, problem.more(): -float(count)}
            problem.add(f"the width of {name!r} is a multiple of {count}, the groups of {grouped!r}", row, 0)
    what = "resize: no widths meet all of these conditions"
    if problem.solve({}) is not None:
        words = ["each of these can be had alone, but not with features in the order in which they are coupled"]
    else:
        words = problem.conflict()
    return wg.errors.WidthError(
        wg.errors.message(
            what,
            notes=[("since" if k == 0 else "and", text) for k, text in enumerate(words)],
            tries=["nearest=True, for the nearest widths that are possible"],
        )
    )


# -------------------------------------------------------------------------------------------------------- selection


def _chosen(
    graph: Graph, coupled: Couplings, sizes: dict[int, int], params: Tree, importance: Any
) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Return the classes of each segment that stay, in their order, and how many new ones come behind them."""
    shrinking = {k for k, members in coupled.segments.items() if sizes[k] < len(members)}
    worth: dict[int, float] = {}
    for name, own in coupled.classes.items() if shrinking else ():
        values = _importance(coupled, name, params.get(name), importance)
        if values is not None:
            for c, value in zip(own.tolist(), values.tolist(), strict=True):
                worth[c] = worth.get(c, 0.0) + value
    kept: dict[int, list[int]] = {}
    for k, members in coupled.segments.items():
        best = sorted(members, key=lambda c: -worth.get(c, 0.0))[: sizes[k]] if k in shrinking else members
        stay = set(best)
        kept[k] = [c for c in members if c in stay]
    return kept, {k: max(sizes[k] - len(members), 0) for k, members in coupled.segments.items()}


def _importance(coupled: Couplings, name: str, params: Tree, importance: Any) -> Any:
    given = importance(name) if callable(importance) else None if importance is None else importance.get(name)
    width = coupled.widths[name]
    if given is not None:
        given = np.asarray(given, float)
        if given.shape != (width,):
            raise wg.errors.ShapeError(
                wg.errors.message(f"resize: the importance of {name!r} has shape {given.shape}; expected ({width},)")
            )
        return given
    if params is None or not isinstance(coupled.rules[name], Own):
        return None
    total = np.zeros(width)
    for path, axes in coupled.rules[name].params.items():
        for axis, what in enumerate(axes):
            if what == "out":
                leaf = _at(params, path)
                if leaf is not None and leaf.shape[axis] == width:
                    total += np.sum(np.square(leaf, dtype=float), axis=tuple(k for k in range(leaf.ndim) if k != axis))
    return np.sqrt(total)


def _at(tree: Tree, path: str) -> Any:
    for key in path.split("."):
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


# ---------------------------------------------------------------------------------------------- parts and parameters


def _follow(
    graph: Graph,
    coupled: Couplings,
    changed: dict[str, Any],
    specs: dict[str, Any],
    params: Tree,
    state: Tree,
    rng: Any,
) -> tuple[Graph, Tree, Tree]:
    """Return the parts, parameters and state of the vertices that give or read what is ``changed``."""
    vertices, params, state = graph.vertices.whole(), dict(params), dict(state)
    generator = np.random.default_rng(0 if rng is None else rng)
    new_spec = {
        name: widened(spec, coupled.axes[name], len(changed[name])) if name in changed else spec
        for name, spec in specs.items()
    }
    for name, vertex in graph.vertices.whole().items():
        if name not in changed and changed.keys().isdisjoint(vertex.inputs):
            continue
        rule = coupled.rules[name]
        part = vertex.part
        if name in changed and rule.widened is not None:
            width = len(changed[name]) // rule.count if isinstance(rule, Times) else len(changed[name])
            part = rule.widened(part, width)
            vertices[name] = Vertex(name, part, vertex.inputs)
        if name not in params and name not in state:
            continue
        out, ins = (_index(n, changed, specs, coupled) for n in (name, vertex.inputs[0]))
        fresh: tuple[Tree, Tree] | tuple[None, None] = (None, None)
        if is_layer(part) and (rng is not None or not isinstance(rule, Own)):
            fresh = part.init(generator, *[new_spec[read] for read in vertex.inputs])
        if name in params:
            params[name] = followed(params[name], rule, ins, out, fresh[0])
        if name in state:
            state[name] = followed(state[name], rule, ins, out, fresh[1], of_state=True)
    return graph.made_of(vertices, graph.inputs, graph.outputs), params, state


def _index(name: str, changed: dict[str, Any], specs: dict[str, Any], coupled: Couplings) -> Any:
    return changed[name] if name in changed else np.arange(specs[name].shape[coupled.axes[name]])
