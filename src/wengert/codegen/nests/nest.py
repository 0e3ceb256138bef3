"""A loop nest as data: what is computed at each point of an iteration space.

The dimensions come outermost first, those that stay (*kept*) before those that are *reduced* away:

    for each kept index:
        for each reduced index:
            loads, steps;  stores;  fold values into accumulators
        steps on the folded values;  stores

* One dimension is the *lanes*: its elements fill a vector, what is left over is masked.
* An extent or stride of None is given at run time, in ``sizes``: one kernel serves every length.
* A long reduction that keeps nothing has pieces: each is folded to a number of its own, and another nest folds those.

:mod:`~wengert.codegen.nests.build` makes nests of steps of the plan, :mod:`~wengert.codegen.nests.emit` writes their
loops.
"""

from __future__ import annotations

from typing import NamedTuple


class Load(NamedTuple):
    """Operand number = its place in ``Nest.loads``. Strides in elements, one a dimension; 0: does not depend on it."""

    dtype: str
    strides: tuple[int | None, ...]
    is_index: bool = False
    """No memory at all: the value is Σ index · stride."""


class Operation(NamedTuple):
    """``function`` of values, by number: first the loads, then the literals, the steps, the folds, the post steps."""

    function: str
    operands: tuple[int, ...]
    dtype: str


class Store(NamedTuple):
    value: int
    dtype: str
    strides: tuple[int | None, ...]


class Fold(NamedTuple):
    combine: str
    value: int
    dtype: str


class Tiling(NamedTuple):
    """How a product is cut whose sizes are given at run time."""

    rows: int
    vectors: int
    """Of each tile."""
    copied: tuple[int, ...]
    """The operands that panels hold."""


class Nest(NamedTuple):
    """A kernel, as data. Equal nests are one kernel."""

    extents: tuple[int | None, ...]
    n_kept: int
    lanes: int
    """The dimension whose elements fill a vector: the last kept one, or the last; -1 for scalar code."""
    loads: tuple[Load, ...]
    literals: tuple[tuple[str, bytes], ...]
    steps: tuple[Operation, ...]
    stores: tuple[Store, ...]
    folds: tuple[Fold, ...] = ()
    post: tuple[Operation, ...] = ()
    post_stores: tuple[Store, ...] = ()
    is_fast: bool = False
    has_pieces: bool = False
    """The one kept dimension numbers the pieces of the first reduced one; their length is given at run time."""
    is_wide: bool = False
    """So many lanes, of a kept dimension, that their sums are kept in memory."""
    tiling: Tiling | None = None
    """A product of any size, in tiles that are all alike (:mod:`~wengert.codegen.nests.products`)."""

    @property
    def ndim(self) -> int:
        return len(self.extents)

    @property
    def is_splittable(self) -> bool:
        """Whether the outermost loop runs from ``begin`` to ``end``, so that threads may share it."""
        return self.n_kept > 0 and self.extents[0] is None
