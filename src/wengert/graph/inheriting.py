"""Parameters of an edited graph: those of the graph before where they still fit, new ones where they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import wengert as wg
from wengert.graph.graph import Graph, Tree
from wengert.graph.vertices import is_layer

Generator = Any
Params = Mapping[str, Any]


@wg.expect.checked
def inherit(
    graph: Graph,
    rng: Generator,
    xs: tuple[Any, ...],
    params: Mapping[str, Any],
    state: Mapping[str, Any],
    names: Mapping[str, str] | None = None,
) -> tuple[Tree, Tree]:
    """Return ``(params, state)`` for an edited graph: those of the graph before, where they still fit, else new ones.

    What a vertex of the same name had before is kept if its arrays have the same shapes and dtypes now; otherwise the
    layer's ``init`` makes it with ``rng``. No array is copied.

    Parameters
    ----------
    graph : the graph after the edit.
    rng : a Generator or a seed.
    xs : like its inputs, arrays or specs.
    params, state : of the graph before.
    names : which vertices have been renamed, as for :meth:`Graph.rename`.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import graph, nn
    >>> x = np.ones((1, 2))
    >>> g = graph.empty("x").insert("h", nn.Dense(3), after="x")
    >>> params, state = g.init(0, x)
    >>> edited = g.insert("y", nn.Dense(1), after="h")
    >>> new, state = graph.inherit(edited, 0, (x,), params, state)
    >>> new["h"]["w"] is params["h"]["w"], list(new)
    (True, ['h', 'y'])
    """
    before = {new: old for old, new in (names or {}).items()}
    old_params, old_state = (
        {name: tree[before.get(name, name)] for name in graph.names if before.get(name, name) in tree}
        for tree in (params, state)
    )
    try:
        return _completed(graph, rng, xs, old_params, old_state)
    except wg.errors.ShapeError:  # some do not fit any more; whether all would fit is for init to say
        fresh_params, fresh_state = graph.init(rng, *xs)
    return _fitting(old_params, fresh_params), _fitting(old_state, fresh_state)


def _completed(graph: Graph, rng: Generator, xs: tuple[Any, ...], params: Tree, state: Tree) -> tuple[Tree, Tree]:
    """Return what is there, and what is made where there is nothing. Raises ShapeError if something does not fit.

    Looking at shapes takes a tenth of making everything anew.
    """
    made = dict(params), dict(state)
    specs = graph.specs(*xs, params=made[0], state=made[1], rng=rng)
    for vertex in graph:
        if vertex.name in params or vertex.name in state:
            fresh = vertex.part.init(0, *[specs[read] for read in vertex.inputs]) if is_layer(vertex.part) else ({}, {})
            if not all(_is_alike(old.get(vertex.name, {}), new) for old, new in zip(made, fresh, strict=True)):
                raise wg.errors.ShapeError(f"inherit: {vertex.name!r} has parameters of other shapes")
    in_order = [{name: tree[name] for name in graph.names if name in tree} for tree in made]
    return in_order[0], in_order[1]


def _fitting(old: Tree, fresh: Tree) -> Tree:
    return {name: old[name] if name in old and _is_alike(old[name], own) else own for name, own in fresh.items()}


def _is_alike(old: Tree, new: Tree) -> bool:
    leaves, structure = wg.tree.flatten(old)
    new_leaves, new_structure = wg.tree.flatten(new)
    return structure == new_structure and all(
        np.shape(a) == np.shape(b) and _dtype(a) == _dtype(b) for a, b in zip(leaves, new_leaves, strict=True)
    )


def _dtype(leaf: Any) -> Any:
    return leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
