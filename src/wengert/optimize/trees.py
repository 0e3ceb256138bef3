"""Arithmetic on trees of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree

import wengert as wg

Tree = Any


def mapped(f: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Return the tree of ``f`` of each leaf, and of those at its place in the other trees.

    Raises
    ------
    StructureError : the trees differ.
    """
    structure = optree.tree_structure(tree)
    for other in others:
        if optree.tree_structure(other) != structure:
            what = f"trees of different structure: {structure} and {optree.tree_structure(other)}"
            raise wg.errors.StructureError(wg.errors.message(what))
    return optree.tree_map(f, tree, *others)


def parts(n: int, f: Callable[..., Any], tree: Tree, *others: Tree) -> tuple[Tree, ...]:
    """Return the ``n`` trees of the ``n`` values that ``f`` gives for each leaf."""
    leaves, treedef = optree.tree_flatten(tree)
    if any(optree.tree_structure(o) != treedef for o in others):
        mapped(f, tree, *others)  # which says how they differ
    found = [f(*xs) for xs in zip(leaves, *[optree.tree_leaves(o) for o in others], strict=True)]
    return tuple([optree.tree_unflatten(treedef, [x[k] for x in found]) for k in range(n)])


def of_reals(tree: Tree) -> Tree:
    """Return ``tree``. Raises for complex leaves.

    Their gradient is no direction of descent (its conjugate is), and their squares are not sizes.
    """
    for x in optree.tree_leaves(tree):
        if np.iscomplexobj(x):
            raise wg.errors.DTypeError(
                wg.errors.message(
                    f"parameters are complex, {np.shape(x)}: optimise their real and imaginary parts as two real arrays"
                )
            )
    return tree


def of_arrays(where: str, name: str, tree: Tree) -> Tree:
    """Return ``tree``. Raises unless it is a tree of arrays, in the name of the argument of ``where``."""
    wg.expect.require(where, name, tree, "Arrays")
    for x in optree.tree_leaves(tree):
        wg.expect.require(where, name, x, "Array")
    return tree


def zeros_like(tree: Tree) -> Tree:
    return mapped(lambda x: np.zeros(np.shape(x), x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype), tree)


def norm(tree: Tree) -> Any:
    """Return √Σ x², of all numbers of all leaves."""
    total = 0.0
    for x in optree.tree_leaves(tree):
        total = total + np.sum(x * x)
    return np.sqrt(total)


def selected(tree: Tree, like: Tree) -> Tree:
    """Return the part of ``tree`` that is in ``like``, of which nested dicts may leave out entries."""
    if isinstance(like, dict):
        return {k: selected(_entry(tree, k), part) for k, part in like.items()}
    return tree


def merged(tree: Tree, changes: Tree, f: Callable[[Any, Any], Any]) -> Tree:
    """Return ``tree`` with ``f(leaf, change)`` where there is a change; ``changes`` may leave out entries of dicts."""
    if isinstance(changes, dict) and isinstance(tree, dict):
        _check_entries(tree, changes)
        return {k: merged(x, changes[k], f) if k in changes else x for k, x in tree.items()}
    if isinstance(changes, dict) and isinstance(tree, list | tuple):  # by their numbers, as paths have them
        entries = [merged(x, changes[str(k)], f) if str(k) in changes else x for k, x in enumerate(tree)]
        return type(tree)(*entries) if hasattr(tree, "_fields") else type(tree)(entries)
    return mapped(f, tree, changes)


def _entry(tree: Tree, k: str) -> Tree:
    if isinstance(tree, dict):
        _check_entries(tree, {k: None})
        return tree[k]
    return tree[int(k)]


def _check_entries(tree: dict[str, Any], changes: dict[str, Any]) -> None:
    unknown = changes.keys() - tree.keys()
    if unknown:
        raise wg.errors.StructureError(
            wg.errors.message(
                f"no parameters are called {', '.join(map(repr, sorted(unknown)))}",
                notes=[("have", ", ".join(map(str, tree)))],
            )
        )
