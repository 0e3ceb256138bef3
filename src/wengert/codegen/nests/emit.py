"""The loops of a nest, as LLVM IR: kernels of expressions, of the views they read, and of the reductions they feed.

* :mod:`sums` says which way a reduction goes: lanes along a kept dimension (each lane has its own sum), lanes along a
  reduced one with a kept one beside it (a square of accumulators, transposed at the end into one vector of sums), or
  nothing kept (several accumulators).
* What lies side by side along another dimension than the lanes is turned round in :mod:`panels`, a block at a time.
* A value that does not depend on the inner dimensions is computed outside of their loops.
* Sums along lanes are cut into chunks whose partial sums are added pairwise, so that rounding errors grow like log n.
"""

from __future__ import annotations

from typing import Any

from wengert.codegen.nests.nest import Nest
from wengert.codegen.nests.points import SHORT_CHAIN, Point, Vector
from wengert.codegen.nests.sums import Sums
from wengert.codegen.target import Target

BLOCK_ROWS, BLOCK_VECTORS = 64, 2  # of operands that are turned round: 8 KiB (benchmarks/bench_memory.py)
MAX_CROSSWISE = 8  # operands that are: 64 KiB
MAX_VECTORS = 12  # side by side: a processor does four operations a cycle, and each waits three for the one before


def emit(nest: Nest, name: str, target: Target) -> str:
    """The text of an LLVM module with the kernel ``name``."""
    return _Emitter(nest, target).module(name)


class _Emitter(Sums):
    """Writes a nest: :class:`Points` knows what is computed, :class:`Sums` how to fold it."""

    def module(self, name: str) -> str:
        self._read_arguments()
        self._run()
        self.f.lines.append("  ret i32 0")
        return self.f.kernel(name)

    def _run(self) -> None:
        """The loops that suit the nest."""
        nest = self.nest
        point = Point({})
        self._hoist(point)
        if not nest.folds and self._crosswise():
            self._kept_loops(point, 0, nest.ndim - 2, self._blocks_turned)
        elif not nest.folds:
            self._kept_loops(point, 0, nest.ndim, self._elementwise)
        elif nest.lanes < 0 or nest.lanes >= nest.n_kept:
            if nest.n_kept and nest.lanes >= 0 and not nest.stores and not nest.has_pieces and self._is_short():
                self._kept_loops(point, 0, nest.n_kept - 1, self._square)
            else:
                self._kept_loops(point, 0, nest.n_kept, self._one_sum)
        elif nest.n_kept > 1 and self._are_light_sums:
            self._kept_loops(point, 0, nest.n_kept - 2, self._tiles)
        elif nest.is_wide and self._all_depends_on_what_is_summed:
            self._kept_loops(point, 0, nest.n_kept - 1, self._sums_in_memory)
        else:
            self._kept_loops(point, 0, nest.n_kept - 1, lambda row: self._lane_sums([row]))

    def _elementwise(self, point: Point, lanes: tuple[Any, Any] | None = None, most: int = MAX_VECTORS) -> None:
        """The vectors along the lanes, or those from one of them to another, at ``most`` so many at once."""
        nest = self.nest
        if nest.lanes < 0:
            self._store_all(point, nest.stores, 0)
            return

        def body(vectors: list[Vector]) -> None:
            points = [point.inner({nest.lanes: i}, nest.lanes, mask) for i, mask in vectors]
            self._prefetch(points)
            self._side_by_side(points)
            for p in points:
                self._store_all(p, nest.stores, 0)

        many = self._many(2 if len(nest.steps) <= SHORT_CHAIN else most)
        self._blocks(lanes or self._range(nest.lanes), many, body)

    def _crosswise(self) -> list[int]:
        """The operands of a long nest whose elements lie side by side along the dimension around the lanes: the first
        of them, so many that their panels are small."""
        nest = self.nest
        if nest.ndim < 2 or nest.lanes != nest.ndim - 1 or nest.extents[-2:] != (None, None):
            return []
        crosswise = [
            k for k, x in enumerate(nest.loads) if x.strides[-2] == 1 and x.strides[-1] not in (0, 1) and not x.is_index
        ]
        return crosswise[:MAX_CROSSWISE]

    def _blocks_turned(self, point: Point) -> None:
        """Rows and lanes in blocks, of which these operands are turned round before they are read."""
        dim, lanes = self.nest.ndim - 2, BLOCK_VECTORS * self.width
        start, stop = self._range(dim)
        end = self.extents[-1]

        def rows(top: Any) -> None:
            bottom = self._least(self.f.index(top) + BLOCK_ROWS, stop)

            def columns(first: Any) -> None:
                last = self._least(self.f.index(first) + lanes, end)
                self._turn(self._crosswise(), point, dim, (top, bottom), BLOCK_ROWS, first, lanes)

                def row(i: Any) -> None:
                    p = point.inner({dim: i})
                    self._hoist(p)
                    self._elementwise(p, (first, last), BLOCK_VECTORS)

                self._loop(top, bottom, 1, row)

            self._loop(0, end, lanes, columns)

        self._loop(start, stop, BLOCK_ROWS, rows)
