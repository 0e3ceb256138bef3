"""Several trees at once: a function of the leaves at each place, and changes of a part of the leaves."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from optree import PyTreeKind

from wengert.errors import StructureError, message
from wengert.expect import refused
from wengert.tree.nodes import Tree, TreeDef, check_treedef, flatten, one_level
from wengert.tree.words import ABSENT, align, level_names


def leaves(tree: Tree) -> list[Any]:
    """Return the leaves of a tree, in the order of :func:`flatten`.

    Parameters
    ----------
    tree : any nest of containers; see :mod:`wengert.tree` for what they are.

    Returns
    -------
    A list of the leaves; None in a tree is no leaf.

    Raises
    ------
    StructureError : the tree is nested deeper than 1000 levels, or contains itself.

    Examples
    --------
    >>> import wengert as wg
    >>> wg.tree.leaves({"w": 1.0, "b": [2.0, None, (3.0,)]})
    [2.0, 3.0, 1.0]
    """
    return flatten(tree)[0]


def children(tree: Tree) -> dict[Any, Tree] | None:
    """Return the children of a node by the names that lead to them, in the order in which it holds them.

    Parameters
    ----------
    tree : any nest of containers; None is a node without children.

    Returns
    -------
    A dict of the children; None if ``tree`` is a leaf.

    Raises
    ------
    StructureError : a static attribute of an object has no hash.

    Examples
    --------
    >>> import wengert as wg
    >>> wg.tree.children({"w": 1.0, "b": [2.0, 3.0]}), wg.tree.children([2.0, 3.0]), wg.tree.children(1.0)
    ({'w': 1.0, 'b': [2.0, 3.0]}, {0: 2.0, 1: 3.0}, None)
    """
    parts, level = one_level(tree)
    if level.kind == PyTreeKind.LEAF:
        return None
    return dict(tree) if isinstance(tree, dict) else dict(zip(level_names(level), parts, strict=True))


def map(f: Callable[..., Any], tree: Tree, *rest: Tree, subtrees: bool = True) -> Tree:
    """Return the tree of ``f(leaf, *leaves_of_rest)``, with the structure of ``tree``.

    Parameters
    ----------
    f : takes a leaf of ``tree``, and what each tree of ``rest`` has at its place.
    tree : any nest of containers.
    rest : trees with the structure of ``tree``, or a deeper one: then ``f`` gets a subtree. Where ``tree`` has an
        object, a tree of ``rest`` has one of its class, whose attributes may be anything: booleans of a mask, None.
    subtrees : whether trees of ``rest`` may be deeper.

    Returns
    -------
    A tree of the structure of ``tree``, whose leaves are what ``f`` returned.

    Raises
    ------
    StructureError : a tree of ``rest`` has another structure; the message says where, and how.

    Examples
    --------
    >>> import wengert as wg
    >>> wg.tree.map(lambda x, dx: x - 0.5 * dx, {"w": 1.0, "b": 2.0}, {"w": 4.0, "b": 2.0})
    {'w': -1.0, 'b': 1.0}
    """
    if not callable(f):
        raise refused("map", "f", f, "a function")
    first, treedef = flatten(tree)
    columns: list[Sequence[Any]] = [first]
    for number, other in enumerate(rest, start=2):
        column, difference = _aligned(treedef, other, subtrees=subtrees)
        if difference:
            raise _differs(f"map: tree {number} differs from the first", difference)
        columns.append(column)
    return treedef.unflatten(builtins.map(f, *columns))


def flatten_up_to(treedef: TreeDef, tree: Tree, *, subtrees: bool = True, more_keys: bool = False) -> Sequence[Any]:
    """Return what ``tree`` has at each place where the structure ``treedef`` has a leaf.

    Parameters
    ----------
    treedef : a structure, as :func:`flatten` returns it.
    tree : a tree of this structure, or a deeper one: then some parts are subtrees.
    subtrees : whether the tree may be deeper.
    more_keys : whether dicts of the tree may have more keys, which are not looked at.

    Returns
    -------
    The parts, one a leaf of ``treedef``, in its order.

    Raises
    ------
    StructureError : the tree has another structure; the message says where, and how.

    Examples
    --------
    >>> import wengert as wg
    >>> _, treedef = wg.tree.flatten({"w": 1.0, "b": 2.0})
    >>> wg.tree.flatten_up_to(treedef, {"w": [3.0, 4.0], "b": 5.0})
    [5.0, [3.0, 4.0]]
    """
    check_treedef("flatten_up_to", treedef)
    parts, difference = _aligned(treedef, tree, subtrees=subtrees, more_keys=more_keys)
    if difference:
        raise _differs("a tree has another structure than expected", difference)
    return parts


def merge(f: Callable[[Any, Any], Any], tree: Tree, changes: Tree) -> Tree:
    """Return ``tree`` with ``f(leaf, change)`` in the place of each leaf that has a change.

    Parameters
    ----------
    f : takes a leaf, and the change at its place.
    tree : any nest of containers.
    changes : a tree of the same structure, or dicts that leave entries out. A dict may stand for any container, with
        the names that lead to its children: keys, attributes, numbers of elements as integers or as text.

    Returns
    -------
    A tree of the structure of ``tree``; leaves without a change are the same objects.

    Raises
    ------
    StructureError : there is a change where ``tree`` has nothing, or a container of another kind; the message says
        where.

    Examples
    --------
    >>> import wengert as wg
    >>> wg.tree.merge(lambda old, new: new, {"w": 1.0, "layers": [2.0, 3.0]}, {"layers": {"1": 30.0}})
    {'w': 1.0, 'layers': [2.0, 30.0]}
    """
    if not callable(f):
        raise refused("merge", "f", f, "a function")
    old, treedef = flatten(tree)
    new, new_def = flatten(changes)
    if new_def != treedef:
        new, difference = align(treedef, changes, fewer_keys=True)
        if difference:
            raise _differs("merge: the changes do not fit the tree", difference)
    return treedef.unflatten([x if y is ABSENT else f(x, y) for x, y in zip(old, new, strict=True)])


def _aligned(treedef: TreeDef, other: Tree, **allowed: bool) -> tuple[Sequence[Any], str | None]:
    """Return what ``other`` has at each leaf of ``treedef``, and the first difference in words."""
    column, other_def = flatten(other)
    return (column, None) if other_def == treedef else align(treedef, other, attributes=True, **allowed)


def _differs(what: str, difference: str) -> StructureError:
    return StructureError(
        message(
            f"{what}: {difference}",
            tries=["trees of one structure: wg.tree.paths(tree) has the path of each leaf"],
        )
    )
