"""Arithmetic on trees of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

Tree = Any


def mapped(f: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Return the tree of ``f`` of each leaf, and of those at its place in the other trees.

    All have one structure: of a deeper tree, arithmetic would make one array of a list of arrays.

    Raises
    ------
    StructureError : the trees differ.
    """
    return wg.tree.map(f, tree, *others, subtrees=False)


def parts(n: int, f: Callable[..., Any], tree: Tree, *others: Tree) -> tuple[Tree, ...]:
    """Return the ``n`` trees of the ``n`` values that ``f`` gives for each leaf."""
    leaves, treedef = wg.tree.flatten(tree)
    columns = [wg.tree.flatten_up_to(treedef, other, subtrees=False) for other in others]
    found = [f(*xs) for xs in zip(leaves, *columns, strict=True)]
    return tuple([wg.tree.unflatten(treedef, [x[k] for x in found]) for k in range(n)])


def of_reals(tree: Tree) -> Tree:
    """Return ``tree``. Raises for complex leaves.

    Their gradient is no direction of descent (its conjugate is), and their squares are not sizes.
    """
    for x in wg.tree.leaves(tree):
        if np.iscomplexobj(x):
            raise wg.errors.DTypeError(
                wg.errors.message(
                    f"parameters of shape {np.shape(x)} are complex: optimise real and imaginary parts as two arrays"
                )
            )
    return tree


def of_arrays(where: str, name: str, tree: Tree) -> Tree:
    """Return ``tree``. Raises unless it is a tree of arrays, in the name of the argument of ``where``."""
    wg.expect.require(where, name, tree, "Arrays")
    for x in wg.tree.leaves(tree):
        wg.expect.require(where, name, x, "Array")
    return tree


def zeros_like(tree: Tree) -> Tree:
    return mapped(lambda x: np.zeros(np.shape(x), x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype), tree)


def norm(tree: Tree) -> Any:
    """Return √Σ x², of all numbers of all leaves."""
    total = 0.0
    for x in wg.tree.leaves(tree):
        total = total + np.sum(x * x)
    return np.sqrt(total)
