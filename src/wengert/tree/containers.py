"""Python's own containers alone: lists, tuples, dicts. Any other object is a leaf, also one that is a node elsewhere.

This is what autograd's functions know of trees: an object of a class of the user's is handed on as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree


def flatten_containers(x: Any) -> tuple[list[Any], Any]:
    """Return the leaves, None among them, and the structure.

    >>> flatten_containers([1.0, (None, 2.0)])[0]
    [1.0, None, 2.0]
    """
    return optree.tree_flatten(x, none_is_leaf=True)


def map_containers(f: Callable[..., Any], x: Any, *others: Any) -> Any:
    """Return the containers of ``x`` with ``f`` of the leaves of all, which have the same structure."""
    return optree.tree_map(f, x, *others)
