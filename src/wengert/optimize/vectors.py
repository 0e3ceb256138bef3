"""The vector that a solver of SciPy's sees in the place of a tree of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

import wengert as wg
from wengert.optimize.trees import of_arrays, of_reals

Tree = Any
Arrays = Any
"""A tree of arrays."""
Array = Any


class Packing:
    """How the leaves of a tree lie in one vector of float64, one behind the other."""

    def __init__(self, where: str, x0: Tree) -> None:
        """Raise DTypeError for complex leaves, and ArgumentError where there is no number, in the name of ``where``."""
        leaves, self._treedef = wg.tree.flatten(of_reals(of_arrays(where, "x0", x0)))
        if not leaves:
            raise wg.expect.refused(where, "x0", x0, "an array, or a tree of arrays, with a number at least")
        self._where, self._shapes = where, [np.shape(x) for x in leaves]
        self._ends = np.cumsum([np.size(x) for x in leaves])
        self.start = np.concatenate([np.ravel(np.asarray(x, float)) for x in leaves])
        """The vector of ``x0``."""

    def tree_of(self, vector: Array) -> Tree:
        """Return the tree that a vector, float[n], stands for."""
        pieces = np.split(vector, self._ends[:-1])
        return wg.tree.unflatten(self._treedef, [p.reshape(s) for p, s in zip(pieces, self._shapes, strict=True)])

    def bounds(self, bounds: tuple[Any, Any]) -> scipy.optimize.Bounds:
        """Return SciPy's bounds for a pair of trees of arrays or numbers.

        Raises StructureError and ShapeError where they are not like ``x0``, and OptionError where low is above high.
        """
        where = self._where
        sides = [wg.tree.flatten_up_to(self._treedef, of_arrays(where, "bounds", b), subtrees=False) for b in bounds]
        for side in sides:
            for b, s in zip(side, self._shapes, strict=True):
                wg.expect.fits(where, "bounds", b, "an array of x0", s)
        ends: Any = [
            np.concatenate(
                [np.broadcast_to(np.asarray(b, float), s).ravel() for b, s in zip(side, self._shapes, strict=True)]
            )
            for side in sides
        ]
        low, high = ends
        if not np.all(low <= high):
            raise wg.errors.OptionError(wg.errors.message(f"{where}: bounds has a low above its high"))
        return scipy.optimize.Bounds(low, high)


def flat(tree: Tree) -> Array:
    """Return all numbers of a tree as one vector, in the order of its leaves."""
    return np.concatenate([np.ravel(x) for x in wg.tree.leaves(tree)])
