"""Arrays as sets: what is in one, in both, in one alone. How many elements there are is looked at, and guarded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.tracing.arguments import array, arrays, implements
from wengert.tracing.functions.selecting import nonzero
from wengert.tracing.functions.shaping import ravel
from wengert.tracing.functions.sorting import argsort, unique

_EMPTY = np.zeros(0)
UniqueAllResult: Any = type(np.unique_all(_EMPTY))
UniqueCountsResult: Any = type(np.unique_counts(_EMPTY))
UniqueInverseResult: Any = type(np.unique_inverse(_EMPTY))


@implements(np.unique_all)
def unique_all(x: ArrayLike, /) -> Any:
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x: ArrayLike, /) -> Any:
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: ArrayLike, /) -> Any:
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


@implements(np.union1d)
def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Any:
    return unique(np.concatenate(arrays(ar1, ar2), axis=None))


@implements(np.intersect1d)
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    x, y = [ravel(a) for a in arrays(ar1, ar2)]
    of_x = of_y = None
    if not assume_unique:
        x, of_x = unique(x, return_index=True)
        y, of_y = unique(y, return_index=True)
    both = np.concatenate([x, y])
    order = argsort(both)
    both = both[order]
    (twice,) = nonzero(both[1:] == both[:-1])
    values = both[:-1][twice]
    if not return_indices:
        return values
    in_x, in_y = order[:-1][twice], order[1:][twice] - x.shape[0]
    return values, in_x if of_x is None else of_x[in_x], in_y if of_y is None else of_y[in_y]


@implements(np.setxor1d)
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Any:
    x, y = [ravel(a) for a in arrays(ar1, ar2)]
    if not assume_unique:
        x, y = unique(x), unique(y)
    both = np.sort(np.concatenate([x, y]))
    differs = both[1:] != both[:-1]
    end = np.ones_like(both[:1], dtype=bool)
    (once,) = nonzero(np.concatenate([end, differs]) & np.concatenate([differs, end]))
    return both[once]


@implements(np.setdiff1d)
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Any:
    x, y = array(ar1, (ar2,)), array(ar2, (ar1,))
    x = ravel(x) if assume_unique else unique(x)
    (kept,) = nonzero(~np.isin(x, y))
    return x[kept]
