"""Shapes and sizes of the kernels that are no map: strides count elements, one a dimension, outermost first."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.passes.plan import Place

Strides = tuple[int | None, ...]
"""One a dimension: 0, 1, or None, which is given at run time."""

GRAIN = 16384  # points that are worth handing to a thread


def merged(extents: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Dimensions of length 1 gone, and neighbours that all rows of strides step through as one, as one."""
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
    """The dimensions but ``axis``, :func:`merged`."""
    kept = [d for d in range(len(extents)) if d != axis]
    return merged([extents[d] for d in kept], [[row[d] for d in kept] for row in rows])


def bring_lanes_last(extents: list[int], rows: Sequence[list[int]]) -> bool:
    """Move the dimension along which all is contiguous to the end; whether there is one. Else another that is long."""
    if not extents:
        return False
    found = [d for d in range(len(extents)) if all(row[d] == 1 for row in rows)]
    chosen = found[0] if found else max(range(len(extents)), key=lambda d: (min(extents[d], 4), d))
    for row in (extents, *rows):
        row.append(row.pop(chosen))
    return bool(found)


def given(row: Sequence[int], sizes: list[int]) -> Strides:
    """``row`` as a spec has it; what the spec does not say is appended to ``sizes``."""
    sizes += [s for s in row if s not in (0, 1)]
    return tuple([s if s in (0, 1) else None for s in row])


def elements(place: Place) -> list[int]:
    return [s // place.aval.dtype.itemsize for s in place.strides]


def grain(extent: int, points: int, has_lanes: bool) -> int:
    """How many steps of the outermost loop, of ``extent``, are worth handing to a thread; whole blocks of vectors, if
    those run along it."""
    n = max(1, GRAIN // max(1, points // max(1, extent)))
    return -(-n // 64) * 64 if has_lanes else n


def shared(extents: Sequence[int], points: int) -> tuple[int, int]:
    """The extent and the grain of a kernel whose outermost loop threads may share."""
    return (extents[0], grain(extents[0], points, len(extents) == 1)) if extents else (1, 0)
