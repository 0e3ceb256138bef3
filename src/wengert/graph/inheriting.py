"""Parameters of an edited graph: those of the graph before where they still fit, new ones where they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import optree

from wengert.graph.graph import Graph, Tree


def inherit(
    graph: Graph, rng: Any, xs: tuple[Any, ...], params: Tree, state: Tree, names: Mapping[str, str] | None = None
) -> tuple[Tree, Tree]:
    """``(params, state)`` for ``graph``: what a vertex of the same name had before, if its arrays have the same
    shapes and dtypes now; and what ``graph.init(rng, *xs)`` makes otherwise. No array is copied.

    ``names`` says which vertices have been renamed, as for :meth:`Graph.rename`.

    >>> import numpy as np
    >>> from wengert import graph
    >>> g = graph.empty("x").insert("h", np.tanh, after="x")
    >>> inherit(g, 0, (np.ones(3),), {"gone": {"w": np.ones(2)}}, {})
    ({}, {})
    """
    fresh_params, fresh_state = graph.init(rng, *xs)
    before = {new: old for old, new in (names or {}).items()}

    def kept(fresh: Tree, old: Tree) -> Tree:
        return {
            name: old[before.get(name, name)] if _is_alike(old.get(before.get(name, name)), own) else own
            for name, own in fresh.items()
        }

    return kept(fresh_params, params), kept(fresh_state, state)


def _is_alike(old: Tree, new: Tree) -> bool:
    if old is None:
        return False
    leaves, structure = optree.tree_flatten(old)
    new_leaves, new_structure = optree.tree_flatten(new)
    return structure == new_structure and all(
        a.shape == b.shape and a.dtype == b.dtype for a, b in zip(leaves, new_leaves, strict=True)
    )
