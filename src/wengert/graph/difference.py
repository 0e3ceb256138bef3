"""The difference between two graphs, by the names of their vertices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wengert.graph.vertices import Vertex, words

if TYPE_CHECKING:
    from wengert.graph.graph import Graph


@dataclass(frozen=True)
class Difference:
    """A difference says what the second of two graphs has otherwise, by the names of vertices. Print it.

    :meth:`Graph.difference` makes it. It is false if the graphs are equal. ``removed``, ``added``, ``replaced`` (has
    another part) and ``rewired`` (reads others) are names, ``ends`` lines on inputs and outputs, ``lines`` all that is
    printed.

    >>> import numpy as np
    >>> from wengert import graph
    >>> g = graph.empty("x").insert("a", np.sin, after="x")
    >>> d = g.difference(g.replace("a", np.cos))
    >>> print(d)
    replaced  a: sin -> cos
    >>> d.replaced, d.added, bool(g.difference(g))
    (('a',), (), False)
    """

    removed: tuple[str, ...]
    added: tuple[str, ...]
    replaced: tuple[str, ...]
    """These have another part."""
    rewired: tuple[str, ...]
    """These read other vertices."""
    ends: tuple[str, ...]
    """Lines on inputs and outputs."""
    lines: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.lines)

    def __str__(self) -> str:
        return "\n".join(self.lines) or "the graphs are equal"


def difference(graph: Graph, other: Graph) -> Difference:
    """Return what has to be done to ``graph`` to get ``other``.

    >>> import numpy as np
    >>> from wengert import graph
    >>> g = graph.empty("x").insert("a", np.sin, after="x").insert("b", np.cos, after="a")
    >>> print(difference(g, g.replace("a", np.tan).insert("c", np.exp, after="a")))
    replaced  a: sin -> tan
    added     c: exp(a)
    rewired   b: a -> c
    """
    before, after = graph.vertices.whole(), other.vertices.whole()
    removed = tuple([name for name in before if name not in after])
    added = tuple([name for name in after if name not in before])
    both = [name for name in after if name in before]
    replaced = tuple([name for name in both if before[name].part != after[name].part])
    rewired = tuple([name for name in both if before[name].inputs != after[name].inputs])
    ends = tuple(
        [
            f"{what:<9} {', '.join(old)} -> {', '.join(new)}"
            for what, old, new in (("inputs", graph.inputs, other.inputs), ("outputs", graph.outputs, other.outputs))
            if old != new
        ]
    )
    lines = [f"removed   {name}: {_formula(before[name])}" for name in removed]
    lines += [f"replaced  {_change(name, before, after, lambda v: words(v.part))}" for name in replaced]
    lines += [f"added     {name}: {_formula(after[name])}" for name in added]
    lines += [f"rewired   {_change(name, before, after, lambda v: ', '.join(v.inputs))}" for name in rewired]
    return Difference(removed, added, replaced, rewired, ends, (*lines, *ends))


def _formula(vertex: Vertex) -> str:
    return f"{words(vertex.part)}({', '.join(vertex.inputs)})"


def _change(name: str, before: dict[str, Vertex], after: dict[str, Vertex], say: Callable[[Vertex], str]) -> str:
    return f"{name}: {say(before[name])} -> {say(after[name])}"
