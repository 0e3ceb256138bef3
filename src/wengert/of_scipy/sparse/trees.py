"""Sparse matrices are nodes of trees: their elements are the one leaf, and their pattern is structure.

So the cotangent of a matrix has its class and its pattern, and a program is kept for each pattern. What the structure
keeps is a copy: nobody can change the pattern under which a program was kept, nor that of a matrix by another one's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.of_scipy.sparse.making import CLASSES, note_made
from wengert.of_scipy.sparse.values import BY_ELEMENT, Sparse, elements, with_elements
from wengert.tracing.tracer import Tracer


class Structure:
    """All of a matrix but its elements, which are zero here. It is equal to another one if all is equal."""

    def __init__(self, a: Sparse) -> None:
        self.rank = a.shape
        places = _parts(a)[-1].size
        self.count = places // len(a.shape) if a.format == "dok" else places
        self.matrix = with_elements(a, np.zeros(self.count if a.format in BY_ELEMENT else 0))
        self._parts = tuple(_parts(self.matrix))
        samples = [x[:: max(1, x.size // 8)].astype(np.int64).tobytes() for x in self._parts]  # of any index dtype
        self._hash = hash((type(a), self.rank, *samples))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Structure)
            and type(self.matrix) is type(other.matrix)
            and self.rank == other.rank
            and all(np.array_equal(x, y) for x, y in zip(self._parts, other._parts, strict=True))
        )

    def __repr__(self) -> str:
        return f"{' x '.join(map(str, self.rank))}, {self.count} places"


def _parts(a: Sparse) -> list[np.ndarray[Any, Any]]:
    """The arrays that say where the elements are."""
    if a.format == "dok":
        return [np.array([*a.keys()], np.int64).ravel()]
    if a.format == "lil":
        lengths = np.array([len(row) for row in a.rows], np.int64)
        return [lengths, np.array([j for row in a.rows for j in row], np.int64)]
    names = {"coo": ("coords",) if hasattr(a, "coords") else ("row", "col"), "dia": ("offsets",)}
    found = [getattr(a, name) for name in names.get(a.format, ("indptr", "indices"))]
    return [np.asarray(x) for part in found for x in (part if isinstance(part, tuple) else (part,))]


def _flatten(a: Sparse) -> tuple[tuple[Any], Structure, tuple[str]]:
    leaf = vars(a)[STAND_IN] if STAND_IN in vars(a) else elements(a)
    return (leaf,), Structure(a), ("data",)


STAND_IN = "_wengert_leaf"
"""The attribute for what stands for the elements of a matrix that keeps them one by one, and is no array."""


def _unflatten(structure: Structure, children: Sequence[Any]) -> Sparse:
    (data,) = children
    if structure.matrix.format in BY_ELEMENT and not isinstance(data, Tracer | np.ndarray):
        made = with_elements(structure.matrix, np.zeros(structure.count))
        vars(made)[STAND_IN] = data
    else:
        made = with_elements(structure.matrix, data)
    note_made(made)
    return made


for _cls in CLASSES:
    tree.register(_cls, _flatten, _unflatten)
