"""Panels: copies of operands in which lanes, and the vectors read one after the other, lie side by side.
:mod:`transpose` fills them: once for all rows of a product, and a block at a time in elementwise loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wengert.codegen.ir import Function, Index, Value
from wengert.codegen.memory import load, memory_type, store

FEWEST_ROWS, FEWEST_LANES = 4, 8  # the smallest product for which an operand is transposed (bench_contract.py)
MAX_PANEL = 1 << 16  # bytes of a panel for all columns of a product; a larger one is made for each column of tiles ...
MAX_TRANSPOSED = 1024  # ... and has at most so many indices that are summed, 256 KiB: half of the second cache, or less
FIRST_CACHE = 1 << 15  # bytes of the first cache, or less
SET_BYTES = 512  # elements that lie a multiple of these bytes apart share at most an eighth of the first cache
MAX_APART = 1 << 18  # bytes: 64 pages, whose addresses a processor holds at once
COPIED_ROWS = 16  # the fewest rows of a product for which an operand is copied (benchmarks/bench_contract.py)


def is_transposed(row: int | None, lane: int | None, summed: int | None) -> bool:
    """Whether an operand with these strides, in elements, is worth a panel: all rows read the same elements, which lie
    side by side along the summed dimension, not along the lanes."""
    return row == 0 and summed == 1 and lane not in (0, 1)


def is_crowded(row: int | None, lane: int | None, summed: int | None, length: int, itemsize: int) -> bool:
    """Whether an operand is worth a panel though its lanes lie side by side, because all rows read vectors that compete
    for few places in the first cache: some vectors for each of ``length`` summed indices, as where extents are powers
    of two."""
    if row != 0 or lane != 1 or summed is None:
        return False
    apart = abs(summed) * itemsize
    return (apart % SET_BYTES == 0 and apart * length > FIRST_CACHE) or apart * length > MAX_APART


def transposed(rows: Sequence[Value]) -> list[Value]:
    """The columns of a square of as many vectors as they have lanes.

    Blocks of 1, 2, 4 ... lanes beside the diagonal change places: log2(n) shuffles a vector.
    """
    vectors, n = list(rows), len(rows)
    size = 1
    while size < n:
        upper = [k if not k & size else n + k - size for k in range(n)]
        lower = [k + size if not k & size else n + k for k in range(n)]
        for i in range(n):
            if not i & size:
                a, b = vectors[i], vectors[i + size]
                vectors[i], vectors[i + size] = a.shuffle(upper, b), a.shuffle(lower, b)
        size *= 2
    return vectors


class PanelBlock(NamedTuple):
    """The part of an operand that a panel holds: the indices from ``start`` to ``stop`` of the dimension ``dim``, at
    most ``length`` of them, and ``many`` lanes from ``first``."""

    dim: int
    start: Index
    stop: Index
    length: int
    first: Index
    many: int


class Panel:
    """A copy of a block on the stack: for each index along its ``dim`` the lanes, side by side. ``dims``: the
    dimensions that are numbered through as one, and the distance of their indices in that numbering."""

    def __init__(self, f: Function, dtype: str, block: PanelBlock, dims: Mapping[int, int] | None = None) -> None:
        self.f, self.dtype, self.block, self.dims = f, dtype, block, dims or {block.dim: 1}
        self.memory = f.alloca(memory_type(dtype, 1), block.length * block.many, f.target.vector_bytes)

    def number(self, index: Mapping[int, Index]) -> Index:
        """The number of the row of the panel for these indices."""
        total: Index = 0
        for d, apart in self.dims.items():
            i = index[d] * apart if apart != 1 else index[d]
            total = i if isinstance(total, int) and total == 0 else total + i
        return total

    def write(self, index: Index, lane: Index, x: Value) -> None:
        """Write ``x`` to the lanes from ``lane`` of the panel."""
        store(self.f, self._place(index, lane), x)

    def read(self, index: Index, lane: Index, lanes: int, mask: Value | None) -> Value:
        """Read the lanes from ``lane`` of the nest. No write follows the first read, so equal reads are one value."""
        place = self._place(index, self.f.index(lane) - self.f.index(self.block.first))
        return load(self.f, place, self.dtype, lanes, mask, is_known=True)

    def _place(self, index: Index, lane: Index) -> str:
        i = (self.f.index(index) - self.f.index(self.block.start)) * self.block.many + self.f.index(lane)
        kind = memory_type(self.dtype, 1)
        return self.f.pure(f"getelementptr {kind}, ptr {self.memory}, {i.typed}", "u8", 1).text
