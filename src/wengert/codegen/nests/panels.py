"""Operands that are turned round before they are read, so that lanes lie side by side: of products, once for all rows,
and of elementwise loops, a block at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.codegen.ir import Function, Value
from wengert.codegen.memory import load, memory_type, store

SQUARE = 4  # elements a side of what is turned round at once: larger squares take long to compile
FEWEST_ROWS, FEWEST_LANES = 4, 8  # of a product that is worth turning an operand round (benchmarks/bench_contract.py)
MAX_PANEL = 1 << 16  # bytes of a panel for all columns of a product; else there is one for those of each tile ...
MAX_TURNED = 256  # ... and for so many indices of what is summed, 112 KiB


def is_turned(row: int | None, lane: int | None, summed: int | None) -> bool:
    """Whether an operand with these strides, in elements, is worth a panel: all rows read the same, and its elements
    lie side by side along what is summed, not along the lanes."""
    return row == 0 and summed == 1 and lane not in (0, 1)


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


class Panel:
    """A copy on the stack: for each index along ``dim`` from ``start``, at most ``length`` of them, ``many`` elements
    side by side, from lane ``first``."""

    def __init__(self, f: Function, dtype: str, length: int, dim: int, start: Any, first: Any, many: int) -> None:
        self.f, self.dtype, self.length, self.many = f, dtype, length, many
        self.dim, self.start, self.first = dim, start, first
        self.memory = f.alloca(memory_type(dtype, 1), length * many, f.target.vector_bytes)

    def write(self, index: Any, lane: Any, x: Value) -> None:
        """For the lanes from ``lane`` of the panel."""
        store(self.f, self._place(index, lane), x)

    def read(self, index: Any, lane: Any, lanes: int, mask: Value | None) -> Value:
        """For the lanes from ``lane`` of the nest. Nobody writes once somebody reads: the same is the same again."""
        place = self._place(index, self.f.index(lane) - self.f.index(self.first))
        return load(self.f, place, self.dtype, lanes, mask, is_known=True)

    def _place(self, index: Any, lane: Any) -> str:
        i = (self.f.index(index) - self.f.index(self.start)) * self.many + self.f.index(lane)
        kind = memory_type(self.dtype, 1)
        return self.f.pure(f"getelementptr {kind}, ptr {self.memory}, {i.typed}", "u8", 1).text
