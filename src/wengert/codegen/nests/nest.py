"""A loop nest as data: what is computed at each point of an iteration space.

The dimensions come outermost first, those that stay (*kept*) before those that are *reduced* away:

    for each kept index:
        for each reduced index:
            loads, steps;  stores;  fold values into accumulators
        steps on the folded values;  stores

* One dimension is the *lanes*: its elements fill vectors, the last of which is masked.
* An extent or stride of None is given at run time, in ``sizes``: one kernel serves every length.
* Near the edges of a stencil some operands do not count: each is read within its :class:`Limits` only. In the *core*,
  where most points are, it is known of all limits whether they hold.
* A long reduction without kept dimensions has pieces: each is folded to a number of its own, and another nest folds
  those.

:mod:`~wengert.codegen.nests.build` makes nests of steps of the plan, :mod:`~wengert.codegen.nests.emit` writes their
loops.
"""

from __future__ import annotations

from typing import NamedTuple


class Load(NamedTuple):
    """An operand, whose number is its place in ``Nest.loads``. Strides are in elements, one for each dimension; 0 means
    that it does not depend on the dimension."""

    dtype: str
    strides: tuple[int | None, ...]
    is_index: bool = False
    """The value is not read from memory: it is Σ index · stride, or with a box, whether the point is in it."""
    box: int = -1
    """The number of the box outside of which the value is zero; -1: none."""


Range = tuple[int | None, int | None]
"""The first index and the end of a range; None is given at run time."""


class Limits(NamedTuple):
    """A part of the iteration space."""

    ranges: tuple[Range | None, ...]
    """One for each dimension; None is all of it."""
    holds: bool
    """Whether the core is within; if not, it is outside."""


class Operation(NamedTuple):
    """A ``function`` of values, which are numbered: loads, then literals, steps, folds, post steps."""

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
    """How a product whose sizes are given at run time is cut into tiles."""

    rows: int
    vectors: int
    """The number of vectors of each tile, as ``rows`` is that of its rows."""
    copied: tuple[int, ...]
    """The numbers of the operands that are copied into panels."""


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
    """Whether the kept dimension numbers the pieces of the first reduced one; their length is given at run time."""
    is_wide: bool = False
    """Whether there are so many lanes, of a kept dimension, that their sums are kept in memory."""
    core: tuple[Range | None, ...] = ()
    """The ranges of the core, if there are boxes."""
    boxes: tuple[Limits, ...] = ()
    tiling: Tiling | None = None
    """A product of any size, in tiles that are all alike (:mod:`~wengert.codegen.nests.products`)."""

    @property
    def ndim(self) -> int:
        return len(self.extents)

    @property
    def is_splittable(self) -> bool:
        """Whether the outermost loop runs from ``begin`` to ``end``, so that threads may share it."""
        return self.n_kept > 0 and self.extents[0] is None
