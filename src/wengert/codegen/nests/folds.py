"""The code of one fold: its first value, the combination of two values, and that of the lanes of a vector."""

from __future__ import annotations

import numpy as np

from wengert.codegen import vecmath
from wengert.codegen.ir import Cell, Value, select
from wengert.codegen.nests.nest import Fold
from wengert.codegen.nests.points import Point, Points
from wengert.ops.kernels import identity


def begun(points: Points, fold: Fold, lanes: int) -> Value:
    """The fold of nothing."""
    return points.f.constant(identity(fold.combine, np.dtype(fold.dtype)), fold.dtype, lanes)


def accumulators(points: Points, lanes: int) -> list[Cell]:
    """One accumulator for each fold of the nest."""
    return [points.f.cell(begun(points, fold, lanes)) for fold in points.nest.folds]


def combined(fold: Fold, a: Value, b: Value) -> Value:
    return vecmath.apply(fold.combine, [a, b], fold.dtype)


def fold_in(points: Points, point: Point, cells: list[Cell]) -> None:
    """Fold the values at ``point`` into these accumulators, and write the stores of that point."""
    points.store(point)
    for fold, cell in zip(points.nest.folds, cells, strict=True):
        before = points.f.read(cell)
        points.f.write(cell, folded(points, fold, before, point))


def folded(points: Points, fold: Fold, total: Value, point: Point) -> Value:
    """``total`` with the value at ``point`` folded in; lanes that are masked off change nothing."""
    factors = points.facts.factors(fold)
    if factors:
        a, b = [points.value(point, k, total.lanes) for k in factors]
        new = points.f.intrinsic("fma", a, b, total)
    else:
        new = combined(fold, total, points.value(point, fold.value, total.lanes))
    is_kept = points.nest.lanes < points.nest.n_kept  # then lanes that are masked off are not used afterwards
    return new if point.mask is None or new.lanes == 1 or is_kept else select(point.mask, new, total)


def across_each(points: Points, fold: Fold, rows: list[Value]) -> Value:
    """One vector whose lane r is the fold over the lanes of row r."""
    width = points.facts.width
    vectors = [*rows, *[begun(points, fold, width)] * (width - len(rows))]
    even, odd = list(range(0, 2 * width, 2)), list(range(1, 2 * width, 2))
    while len(vectors) > 1:
        vectors = [
            combined(fold, a.shuffle(even, b), a.shuffle(odd, b))
            for a, b in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return vectors[0]


def across(fold: Fold, x: Value) -> Value:
    """The fold over the lanes of one vector: neighbours first, as in :func:`across_each`."""
    while x.lanes > 2:
        even, odd = list(range(0, x.lanes, 2)), list(range(1, x.lanes, 2))
        x = combined(fold, x.shuffle(even), x.shuffle(odd))
    return combined(fold, x.lane(0), x.lane(1)) if x.lanes == 2 else x
