"""Shapes and sizes of kernels that are not nests: strides count elements, one for each dimension, outermost first."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.passes.plan.places import Place

Strides = tuple[int | None, ...]
"""One stride for each dimension: 0, 1, or None for a stride that is given at run time."""

GRAIN = 16384  # points that are worth handing to a thread


def merged(extents: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Drop dimensions of length 1, and join neighbours that all rows of strides step through as one."""
    out_extents: list[int] = []
    out_rows: list[list[int]] = [[] for _ in rows]
    for d, n in enumerate(extents):
        if n == 1:
            continue
        if out_extents and all(out[-1] == row[d] * n for out, row in zip(out_rows, rows, strict=True)):
            out_extents[-1] *= n
            for out, row in zip(out_rows, rows, strict=True):
                out[-1] = row[d]
            continue
        out_extents.append(n)
        for out, row in zip(out_rows, rows, strict=True):
            out.append(row[d])
    return out_extents, out_rows


def without(axis: int, extents: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """The dimensions except ``axis``, joined as :func:`merged` does."""
    kept = [d for d in range(len(extents)) if d != axis]
    return merged([extents[d] for d in kept], [[row[d] for d in kept] for row in rows])


def bring_lanes_last(extents: list[int], rows: Sequence[list[int]]) -> bool:
    """Move the dimension along which all operands are contiguous to the end, or, if there is none, another that is
    long. Returns whether there is one."""
    if not extents:
        return False
    found = [d for d in range(len(extents)) if all(row[d] == 1 for row in rows)]
    chosen = found[0] if found else max(range(len(extents)), key=lambda d: (min(extents[d], 4), d))
    for row in (extents, *rows):
        row.append(row.pop(chosen))
    return bool(found)


def given(row: Sequence[int], sizes: list[int]) -> Strides:
    """Return ``row`` as a spec has it; strides that the spec leaves to run time are appended to ``sizes``."""
    sizes += [s for s in row if s not in (0, 1)]
    return tuple([s if s in (0, 1) else None for s in row])


def elements(place: Place) -> list[int]:
    return [s // place.aval.dtype.itemsize for s in place.strides]


def grain(extent: int, points: int, has_lanes: bool) -> int:
    """The number of steps of the outermost loop that are worth handing to a thread; a multiple of the length of a block
    of vectors, if those run along it."""
    n = max(1, GRAIN // max(1, points // max(1, extent)))
    return -(-n // 64) * 64 if has_lanes else n


def shared(extents: Sequence[int], points: int) -> tuple[int, int]:
    """The extent and the grain of a kernel whose outermost loop threads may share."""
    return (extents[0], grain(extents[0], points, len(extents) == 1)) if extents else (1, 0)
