"""Parameters as a whole: paths of leaves, which are trained, one vector that is all of them, gradients that add up."""

from __future__ import annotations

import difflib
import fnmatch
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

Array = np.ndarray[Any, Any]
"""An array of numbers, traced or not; at the door, whatever NumPy makes one of."""

RealArray = Array
Tree = Any
Arrays = Any
"""A tree of arrays."""


@wg.expect.checked
def paths(params: Tree) -> dict[str, Array]:
    """Return the leaves of a tree by their dotted paths: keys, numbers of elements, names of fields and attributes.

    Parameters
    ----------
    params : nested dicts, lists, tuples, dataclasses and whatever else :mod:`wengert.tree` takes apart.

    Raises
    ------
    StructureError : two leaves have one path, as keys with dots can make it.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> list(nn.paths({"layers": {"0": {"w": np.ones(2), "b": np.ones(1)}}}))
    ['layers.0.w', 'layers.0.b']
    """
    found: dict[str, Array] = {}
    for names, leaf in _named(params):
        path = ".".join(names)
        if path in found:
            raise wg.errors.StructureError(
                wg.errors.message(
                    f"paths: two arrays have the path {path!r}",
                    notes=[("keys", " and ".join(repr(one) for one, _ in _named(params) if ".".join(one) == path))],
                    tries=["keys without dots, which differ as text"],
                )
            )
        found[path] = leaf
    return found


def _named(tree: Tree) -> list[tuple[list[str], Array]]:
    """Return the names that lead to each leaf, as text, and the leaf, in the order in which containers hold them."""
    leaves, treedef = wg.tree.flatten(tree)
    names = wg.tree.names(treedef)
    return [([str(name) for name in names[i]], leaves[i]) for i in wg.tree.own_order(treedef)]


@wg.expect.checked
def count(params: Arrays) -> int:
    """Return how many numbers a tree of arrays holds in all.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.count({"w": np.ones((2, 3)), "b": np.ones(2)})
    8
    """
    return sum(math.prod(np.shape(x)) for x in wg.tree.leaves(params))


@wg.expect.checked
def trainable(params: Tree, *patterns: str, frozen: str | Iterable[str] = ()) -> Callable[[Any], Any]:
    """Return a selector of what to differentiate with respect to: ``wrt=nn.trainable(params, "layers.3.*")``.

    Parameters
    ----------
    params : the parameters, of which the paths are looked at.
    patterns : what is trained, as of :mod:`fnmatch`; without any, everything.
    frozen : patterns of what of that is not.

    Returns
    -------
    A selector for ``wrt=`` of functions whose first argument are the parameters: the leaves that match, in nested
    dicts. The others are constants, and have no cotangent.

    Raises
    ------
    StructureError : a pattern matches nothing, or nothing is left.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> from wengert import nn
    >>> params = {"a": np.ones(2), "b": np.ones(3)}
    >>> wg.grad(lambda p: np.sum(p["a"]) * np.sum(p["b"]), wrt=nn.trainable(params, "a"))(params)
    {'a': array([3., 3.])}
    """
    known = list(paths(params))
    chosen = _matched(known, patterns) if patterns else set(known)
    chosen -= _matched(known, (frozen,) if isinstance(frozen, str) else frozen)
    if not chosen:
        raise wg.errors.StructureError(wg.errors.message("trainable: all of the parameters are frozen"))

    return _Selector(frozenset(chosen))


class _Selector(NamedTuple):
    """This selector picks leaves by their paths. It is equal to others of the same paths, and can be sent elsewhere."""

    chosen: frozenset[str]

    def __call__(self, args: Any) -> Any:
        picked: dict[str, Any] = {}
        for (*above, name), leaf in _named(args[0]):
            if ".".join([*above, name]) in self.chosen:
                here = picked
                for part in above:
                    here = here.setdefault(part, {})
                here[name] = leaf
        return picked


def _matched(known: list[str], patterns: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for pattern in patterns:
        matched = fnmatch.filter(known, pattern)
        if not matched:
            near = difflib.get_close_matches(pattern, known, 3, 0.3) or known[:3]
            raise wg.errors.StructureError(wg.errors.message(f"no parameter matches {pattern!r}", tries=near))
        found.update(matched)
    return found


@wg.expect.checked
def flat(params: Arrays) -> tuple[np.ndarray[Any, Any], Tree]:
    """Return one vector with all the parameters, and a tree of their structure whose arrays are parts of it.

    What is written into the one is in the other; nothing else is copied. A gradient becomes one vector in the same way:
    ``vector, tree = nn.flat(params); gradient(params, out=tree)``.

    Raises
    ------
    DTypeError : the arrays are not of one dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> vector, tree = nn.flat({"w": np.ones((2, 2)), "b": np.zeros(3)})
    >>> tree["w"][0, 1] = 5
    >>> vector
    array([1., 5., 1., 1., 0., 0., 0.])
    """
    leaves, treedef = wg.tree.flatten(wg.tree.map(np.asarray, params))
    dtypes = {np.dtype(x.dtype) for x in leaves}
    if len(dtypes) > 1:
        raise wg.errors.DTypeError(
            wg.errors.message(
                f"flat: one vector has one dtype, and these are {', '.join(sorted(d.name for d in dtypes))}",
                tries=["nn.flat of the parts of one dtype"],
            )
        )
    vector = np.empty(sum(math.prod(x.shape) for x in leaves), dtypes.pop() if dtypes else np.float32)
    start = 0
    for i in wg.tree.own_order(treedef):
        x = leaves[i]
        leaves[i] = vector[start : start + x.size].reshape(x.shape)
        leaves[i][...] = x
        start += x.size
    return vector, wg.tree.unflatten(treedef, leaves)


@wg.expect.checked
def mapped(f: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Return ``f`` of each leaf, and of those of other trees of the same structure, in a tree of that structure.

    Parameters
    ----------
    f : takes one leaf of each tree.
    tree : as :mod:`wengert.tree` takes them apart; None stands for no leaf, and stays.
    others : trees with the same keys and lengths; a dict may have more keys, which are not looked at.

    Raises
    ------
    StructureError : another tree has another structure; the message says where.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.mapped(np.add, {"w": np.ones(2), "b": [1.0, None]}, {"w": np.ones(2), "b": [2.0, None]})
    {'w': array([2., 2.]), 'b': [np.float64(3.0), None]}
    """
    leaves, treedef = wg.tree.flatten(tree)
    columns = [leaves, *[wg.tree.flatten_up_to(treedef, x, subtrees=False, more_keys=True) for x in others]]
    rows = list(zip(*columns, strict=True))
    found: list[Any] = [None] * len(leaves)
    for i in wg.tree.own_order(treedef):  # the order counts where f draws random numbers
        found[i] = f(*rows[i])
    return wg.tree.unflatten(treedef, found)


@wg.expect.checked
def accumulate(gradient: Callable[..., Tree]) -> Callable[..., Tree]:
    """Return the compiled function ``(total, *args) -> total + gradient(*args)``, which adds in place.

    The arrays of ``total`` are its result, so gradients of any number of micro-batches take the memory of one.

    >>> import numpy as np, wengert as wg
    >>> from wengert import nn
    >>> add = nn.accumulate(wg.grad(lambda w, x: np.sum(w * x)))
    >>> total = np.zeros(2)
    >>> for x in (np.array([1.0, 2.0]), np.array([10.0, 20.0])):
    ...     total = add(total, np.ones(2), x)
    >>> total
    array([11., 22.])
    """

    def added(total: Tree, *args: Any) -> Tree:
        return mapped(lambda a, b: a + b, total, gradient(*args))

    return wg.jit(added, donate=lambda args: args[0])
