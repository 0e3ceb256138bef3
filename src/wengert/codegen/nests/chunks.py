"""Sums along the lanes: in chunks, whose partial sums are added pairwise, so that rounding errors grow like log n."""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.ir import Index, Value, least, llvm_type
from wengert.codegen.nests.folds import accumulators, combined, fold_in
from wengert.codegen.nests.loops import Vector, loop, over_reduced, over_vectors
from wengert.codegen.nests.nest import Fold
from wengert.codegen.nests.points import Point, Points

CHUNK = 64  # vectors in a row that are added one after the other, before partial sums are added pairwise


def chunked(
    points: Points, lane_dim: int, rows: list[Point], join: Callable[[Fold, list[Value]], Value], many: int, lanes: int
) -> list[Value]:
    """The folds of several rows along the lanes, with ``many`` accumulators each. ``join`` makes one value of ``lanes``
    lanes from the folds of one chunk of all rows."""
    nest, f, width = points.nest, points.f, points.facts.width
    length = points.extents[lane_dim]
    is_innermost = lane_dim == nest.n_kept  # no reduced dimensions around the lanes

    def run(index: dict[int, Index], start: Index, stop: Index) -> list[Value]:
        """The folds over one chunk."""
        cells = [[accumulators(points, width) for _ in range(many)] for _ in rows]

        def body(vectors: list[Vector]) -> None:
            for row, slots in zip(rows, cells, strict=True):
                several = [row.inner({**index, lane_dim: i}, lane_dim, mask) for i, mask in vectors]
                points.prefetch(several)
                points.side_by_side(several)
                for k, point in enumerate(several):
                    fold_in(points, point, slots[k % many])

        over_vectors(points, (start, stop), many, body, points.facts.is_heavy, len(rows))
        out = []
        for k, fold in enumerate(nest.folds):
            out.append(join(fold, [_pairwise(fold, [f.read(slot[k]) for slot in slots]) for slots in cells]))
        return out

    if is_innermost and isinstance(length, int) and length <= CHUNK * width:
        return run({}, 0, length)
    stacks = [_PairwiseStack(points, fold, lanes) for fold in nest.folds]

    def along(index: dict[int, Index]) -> None:
        first, last = points.reduced_span(lane_dim, rows[0])

        def chunk(start: Index) -> None:
            stop = least(f, f.index(start) + CHUNK * width, last)
            for stack, x in zip(stacks, run(index, start, stop), strict=True):
                stack.push(x)

        loop(f, first, last, CHUNK * width, chunk)

    over_reduced(points, rows[0], lane_dim, along)
    return [stack.total() for stack in stacks]


def _pairwise(fold: Fold, totals: list[Value]) -> Value:
    while len(totals) > 1:
        totals = [combined(fold, a, b) for a, b in zip(totals[::2], totals[1::2], strict=True)]
    return totals[0]


class _PairwiseStack:
    """A stack of partial results, combined pairwise: after chunk number n, as many pairs as n has zeros at its end in
    binary."""

    def __init__(self, points: Points, fold: Fold, lanes: int) -> None:
        self.f, self.fold, self.lanes = points.f, fold, lanes
        self.kind = llvm_type(fold.dtype, lanes)
        self.slots = self.f.alloca(self.kind, 64, align=self.f.target.vector_bytes)
        self.top, self.count = [self.f.cell(self.f.constant(0, "i8")) for _ in range(2)]

    def _slot(self, i: Value) -> str:
        return self.f.effect(f"getelementptr {self.kind}, ptr {self.slots}, {i.typed}", "u8").text

    def _load(self, i: Value) -> Value:
        return self.f.effect(f"load {self.kind}, ptr {self._slot(i)}", self.fold.dtype, self.lanes)

    def push(self, x: Value) -> None:
        f = self.f
        newest = f.cell(x)
        count = f.read(self.count)
        f.write(self.count, count + 1)
        # One combination for each trailing one of `count`: pairs of equal size.
        pairs = f.call("llvm.cttz.i64", "i8", 1, ~count, "i1 false")

        def pair(_: Index) -> None:
            top = f.read(self.top) - 1
            f.write(self.top, top)
            f.write(newest, combined(self.fold, self._load(top), f.read(newest)))

        loop(f, 0, pairs, 1, pair)
        top = f.read(self.top)
        f.effect(f"store {f.read(newest).typed}, ptr {self._slot(top)}")
        f.write(self.top, top + 1)

    def total(self) -> Value:
        """The combination of all values that were pushed, at least one."""
        f = self.f
        top = f.read(self.top) - 1
        total = f.cell(self._load(top))

        def below(i: Index) -> None:
            f.write(total, combined(self.fold, self._load(top - i - 1), f.read(total)))

        loop(f, 0, top, 1, below)
        return f.read(total)
