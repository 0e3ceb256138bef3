"""This module compares nests with the references of their steps.

A nest says by itself what it computes: the same loads, steps, folds and stores, each by the NumPy reference of the op
whose function it is, must give the same numbers. Where its code has no lengths, it is asked for some from nothing to
two vectors and one, and for one that fills the largest block. Once its result lies over an operand, where that may be;
and it is run in two parts, where threads may share it. Nothing outside of its results may change.

Bits must be equal, but for the NaN that it is, where every step is arithmetic. A function that is transcendental, and a
sum or product of floats, may differ by what is documented; how far that carries is seen from references whose functions
and sums are off by that much (:class:`Blur`). Where those disagree about what is finite, nothing is said.

The faster versions of ``fastmath``, and products of more than a million terms, are not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.nest import Limits, Nest, Operation, Range
from wengert.codegen.target import target
from wengert.codegen.vecmath import FUNCTIONS
from wengert.codegen.verification.operands import (
    ULPS,
    Array,
    Extents,
    OperandInMemory,
    OperandMaker,
    Part,
    difference,
    halves,
)
from wengert.ops import OPS
from wengert.ops.kernels import of_nothing

EXACT = ("wengert.codegen.vecmath.arithmetic", "wengert.codegen.vecmath.table", "wengert.codegen.ir")
"""The modules with the functions that equal NumPy's bit for bit."""
RELATIVE_TO_TERMS = ("logaddexp", "logaddexp2", "kl_div")
"""Functions whose error is measured in units of the greatest operand, since the terms that they add may cancel."""
OVERFLOW_BETWEEN = ("pseudo_huber",)
"""Functions whose reference is NaN where a term overflows, while ours gives the value."""
BLURS = (1, -1, 0, 0)
"""The directions in which the results of references are moved, one after another."""
MANY_POINTS, MOST_POINTS = 1 << 14, 1 << 20
"""A nest whose lengths are in its code is run once if it has more points than the first, and not beyond the second."""
BLOCK = 8  # vectors that a loop over lanes takes at once, at most


def differences(nest: Nest, address: int) -> Iterator[str]:
    """Yield, for each of some operands, what the kernel at ``address`` does wrong, in words, or ""."""
    if nest.is_fast:
        return
    for number, extents in enumerate(_lengths(nest)):
        points = math.prod(extents)
        if points > MOST_POINTS:
            return
        ways = [(number % 2 == 0, None), (number % 2 == 1, _overwritten(nest))]
        for is_tame, over in ways if points <= MANY_POINTS else ways[:1]:
            trial = _Trial(nest, extents, np.random.default_rng(number), is_tame, over)
            found = trial.difference(address)
            yield found and f"{found} (lengths {extents}, over operand {over})"


def _lengths(nest: Nest) -> Iterator[Extents]:
    """Yield the lengths that are tried: those in the code; of the others one after the other small ones."""
    if None not in nest.extents:
        yield tuple([n for n in nest.extents if n is not None])
        return
    width = Facts(nest, target()).width
    least = [0] * nest.ndim
    if nest.tiling is not None:  # it serves products of at least one tile
        least = [nest.tiling.rows, width, 1]
    elif nest.folds:
        least = [0] * nest.n_kept + [1] * (nest.ndim - nest.n_kept)  # a nest reduces at least one element
    usual = [n if n is not None else width + 1 if d == nest.lanes else 3 for d, n in enumerate(nest.extents)]
    usual = [max(n, low) for n, low in zip(usual, least, strict=True)]
    for d, n in enumerate(nest.extents):
        if n is None and not (nest.has_pieces and d == 0):  # the length of pieces is chosen, not their number
            along = (0, 1, 2, 5)
            if d == nest.lanes:
                along = (0, 1, width - 1, width, 2 * width - 1, 2 * width + 1, (BLOCK + 1) * width + 1)
            for length in sorted({max(least[d], k) for k in along}):
                yield (*usual[:d], length, *usual[d + 1 :])


def _overwritten(nest: Nest) -> int | None:
    """Return the load in whose place the only store may be: of its size, and of all its strides."""
    if len(nest.stores) != 1 or nest.folds:
        return None
    goal = nest.stores[0]
    for k, load in enumerate(nest.loads):
        is_of_its_size = load.dtype[1:] == goal.dtype[1:]
        is_whole = not load.is_index and load.box < 0
        if is_of_its_size and load.strides == goal.strides and is_whole and 0 not in load.strides:
            return k
    return None


# ------------------------------------------------------------------------------------------------------- references


def _references() -> dict[str, Callable[..., Any]]:
    """Return the references by the names of functions; there are more once scipy.special is imported."""
    return {op.kernel.function: op.reference for op in OPS.values() if op.kernel.function}


def _is_exact(function: str) -> bool:
    written = FUNCTIONS[function].function
    return getattr(written, "func", written).__module__ in EXACT and function != "power"


class Blur:
    """The errors that results may have: a reference moved by them is as good as the reference. With ``sign`` 1 all are
    too large, with −1 too small, with 0 each is one of both."""

    def __init__(self, rng: np.random.Generator, sign: int) -> None:
        self.rng, self.sign = rng, sign

    def signs(self, shape: Extents) -> Array:
        return 2 * self.rng.integers(0, 2, shape) - 1 if self.sign == 0 else np.full(shape, self.sign)

    def function(self, name: str, xs: Sequence[Array], y: Array, is_rounded_anew: bool) -> Array:
        """Return ``y``, the result of a function, moved by its error. ``is_rounded_anew``: an operand may have an
        error, so that ``y`` may be rounded to its neighbour, however small that error was."""
        if name == "convert":
            return self._converted(xs[0], y)
        if y.dtype.kind != "f":
            return y
        if _is_exact(name):
            return np.where(y != 0, y + self.signs(y.shape) * np.spacing(np.abs(y)), y) if is_rounded_anew else y
        if name in OVERFLOW_BETWEEN:
            y = np.where(np.isnan(y), self.rng.normal(size=y.shape), y)
        size = np.abs(y)
        if name in RELATIVE_TO_TERMS:
            size = np.maximum(size, np.max(np.abs(np.broadcast_arrays(*xs)), axis=0))
        off = ULPS * np.spacing(size)
        tiny = np.finfo(y.dtype).tiny
        off = np.where(size < tiny, tiny, off)  # SciPy's expit(-720) is 0, of e⁻⁷²⁰ = 2e-313
        return y + self.signs(y.shape) * off

    def _converted(self, x: Array, y: Array) -> Array:
        """Numbers that an integer type does not hold become whatever a processor makes of them."""
        if x.dtype.kind != "f" or y.dtype.kind not in "iu":
            return y
        info = np.iinfo(y.dtype)
        fits = (x > float(info.min) - 1) & (x < float(info.max) + (y.dtype.itemsize < 8))
        return np.where(fits, y, self.rng.integers(info.min, info.max, y.shape, y.dtype, endpoint=True))

    def fold(self, combine: str, x: Array, y: Array, axes: tuple[int, ...]) -> Array:
        if y.dtype.kind != "f" or combine not in ("add", "multiply"):
            return y
        size = np.sum(np.abs(x), axes, keepdims=True) if combine == "add" else np.abs(y)
        terms = max(2, min(x.size // max(1, y.size), 32))
        return y + self.signs(y.shape) * terms * np.spacing(size)


class _Trial:
    """A nest on operands of its own."""

    def __init__(self, nest: Nest, extents: Extents, rng: np.random.Generator, is_tame: bool, over: int | None) -> None:
        self.piece = 0
        if nest.has_pieces:
            self.piece = -(-extents[1] // 2) if is_tame else int(rng.integers(1, extents[1] + 1))
            extents = (-(-extents[1] // self.piece), *extents[1:])
        self.nest, self.extents, self.rng, self.over = nest, extents, rng, over
        self.sizes = [n for n, given in zip(extents, nest.extents, strict=True) if given is None]
        if nest.has_pieces:
            self.sizes.append(self.piece)
        self.kept = extents[: nest.n_kept]
        sums = any(f.combine in ("add", "multiply") for f in nest.folds)
        self.memory = OperandMaker(rng, is_tame, has_large=not sums)  # whether a sum overflows depends on its order
        self.values: list[Array] = []
        """The operand that is loaded."""
        self.operands: list[OperandInMemory] = []
        where = list[int]()
        for load in nest.loads:
            if load.is_index:
                index = self._index(load.dtype, load.strides) if load.box < 0 else np.ones((), bool)
                self.values.append(index)
                continue
            where.append(len(self.sizes))
            self.operands.append(self._operand(load.dtype, load.strides))
            self.values.append(self.operands[-1].view)
        if not is_tame:
            self.memory.make_ties(self.operands)
        self.first = len(self.operands)
        if over is not None:
            number = over - sum(x.is_index for x in nest.loads[:over])
            shared = self.operands[number]
            self.operands.append(shared._replace(view=shared.view.view(nest.stores[0].dtype)))
            count = nest.stores[0].strides.count(None)
            self.sizes += self.sizes[where[number] :][:count]  # repeat the strides that are given at run time
        else:
            self.operands += [self._operand(s.dtype, s.strides) for s in nest.stores]
        self.operands += [self._operand(s.dtype, s.strides, nest.n_kept) for s in nest.post_stores]
        core = [self._core(r, n) for r, n in zip(nest.core, extents, strict=False)]
        boxes = [self._inside(self._box(box, core)) for box in nest.boxes]
        for k, load in enumerate(nest.loads):
            if load.box >= 0:
                inside = boxes[load.box]
                self.values[k] = inside if load.is_index else np.where(inside, self.values[k], np.zeros((), load.dtype))

    def _core(self, given: Range | None, length: int) -> tuple[int, int]:
        """The range of the core along a dimension; one that is given at run time is noted."""
        if given is None:
            return 0, length
        first, last = given
        if first is not None and last is not None:
            return first, last
        first = min(1, length)
        self.sizes += (first, max(first, length - 1))
        return first, max(first, length - 1)

    def _box(self, box: Limits, core: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """The ranges of a box that holds the core, or has nothing of it; those that are given at run time are noted."""
        ranges = list[tuple[int, int]]()
        for given, length, (first, last) in zip(box.ranges, self.extents, core, strict=True):
            if given is None:
                ranges.append((0, length))
            elif given[0] is not None and given[1] is not None:
                ranges.append((given[0], given[1]))
            else:
                ranges.append(((0, last), (first, length))[int(self.rng.integers(2))] if box.holds else (0, first))
                self.sizes += ranges[-1]
        return ranges

    def _inside(self, ranges: Sequence[tuple[int, int]]) -> Array:
        inside = np.ones((1,) * len(ranges), bool)
        for d, (n, (first, last)) in enumerate(zip(self.extents, ranges, strict=True)):
            i = np.arange(n).reshape([-1 if k == d else 1 for k in range(len(ranges))])
            inside = inside & (i >= first) & (i < last)
        return inside

    def _operand(self, dtype: str, strides: tuple[int | None, ...], n_dims: int | None = None) -> OperandInMemory:
        """Memory of its own for an operand, whose strides that are given at run time are noted."""
        shape = None
        if n_dims is not None:
            lengths = zip(self.extents, strides, strict=True)
            shape = [n if d < n_dims and s != 0 else 1 for d, (n, s) in enumerate(lengths)]
        made = self.memory.operand(dtype, strides, self.extents, shape)
        self.sizes += [own for own, s in zip(made.strides, strides, strict=True) if s is None]
        return made

    def _index(self, dtype: str, strides: tuple[int | None, ...]) -> Array:
        """The value at each point of a load that is an index; strides that are given at run time are noted."""
        full = [int(self.rng.integers(2, 9)) if s is None else s for s in strides]
        self.sizes += [own for own, s in zip(full, strides, strict=True) if s is None]
        ndim = len(full)
        terms = [
            s * np.arange(n if s else 1).reshape([-1 if k == d else 1 for k in range(ndim)])
            for d, (n, s) in enumerate(zip(self.extents, full, strict=True))
        ]
        return np.asarray(sum(terms), dtype).reshape([n if s else 1 for n, s in zip(self.extents, full, strict=True)])

    # ---------------------------------------------------------------------------------------------------- running

    def difference(self, address: int) -> str:
        """Return what the kernel does wrong, in words, or ""."""
        with np.errstate(all="ignore"):
            wanted = [self._computed(None)]
            if self._is_loose():
                wanted += [self._computed(Blur(self.rng, sign)) for sign in BLURS]
        results = {self.first + k: values for k, values in enumerate(zip(*wanted, strict=True))}
        return difference(address, self.operands, self.sizes, self._parts(), results)

    def _parts(self) -> list[list[Part]]:
        whole = self.extents[0] if self.extents else 1
        width = Facts(self.nest, target()).width
        middle = whole // 2 if self.nest.lanes else whole // 2 // width * width
        any_length = self.extents and not any(self.nest.extents)  # others have parts of so many rows alone
        is_cut = any_length and self.nest.is_splittable and self.over is None and self.nest.tiling is None
        return halves(whole, middle if is_cut else 0)

    def _is_loose(self) -> bool:
        steps = (*self.nest.steps, *self.nest.post)
        sums = any(f.combine in ("add", "multiply") and f.dtype[0] == "f" for f in self.nest.folds)
        return sums or any(not _is_exact(s.function) or (s.function, s.dtype[0]) == ("convert", "i") for s in steps)

    def _computed(self, blur: Blur | None) -> list[Array]:
        """The values that are stored, by the references."""
        nest = self.nest
        values: list[Array] = [np.array(x) for x in self.values]
        values += [np.frombuffer(data, np.dtype(dtype)).reshape(()) for dtype, data in nest.literals]

        references = _references()
        loose = set[int]()
        """The numbers of values that may be off."""

        def step(s: Operation) -> None:
            # In full: where all exponents are one 0.5, NumPy takes square roots, and the root of -inf is NaN.
            xs = [np.array(x) for x in np.broadcast_arrays(*[values[k] for k in s.operands])]
            if s.function == "convert":
                y = xs[0].astype(s.dtype)
            else:
                y = np.asarray(references[s.function](*xs), s.dtype)
            is_off = not loose.isdisjoint(s.operands)
            if is_off or not _is_exact(s.function):
                loose.add(len(values))
            values.append(y if blur is None else np.asarray(blur.function(s.function, xs, y, is_off), s.dtype))

        for s in nest.steps:
            step(s)
        goals = self.operands[self.first :]
        out = [np.broadcast_to(values[s.value], goals[k].view.shape) for k, s in enumerate(nest.stores)]
        for fold in nest.folds:
            if fold.value in loose or fold.combine in ("add", "multiply"):
                loose.add(len(values))
            if not nest.has_pieces:
                values.append(self._folded(fold.combine, fold.dtype, values[fold.value], self.extents, blur))
                continue
            x = np.broadcast_to(values[fold.value], (1, *self.extents[1:]))
            pieces = [x[:, k : k + self.piece] for k in range(0, self.extents[1], self.piece)]
            folded = [self._folded(fold.combine, fold.dtype, piece, piece.shape, blur) for piece in pieces]
            values.append(np.concatenate(folded))
        for s in nest.post:
            step(s)
        post = zip(nest.post_stores, goals[len(nest.stores) :], strict=True)
        return out + [np.broadcast_to(values[s.value], goal.view.shape) for s, goal in post]

    def _folded(self, combine: str, dtype: str, x: Array, extents: Extents, blur: Blur | None) -> Array:
        """The fold of ``x``, broadcast to ``extents``, over the dimensions that are not kept."""
        n_kept = self.nest.n_kept
        x, axes = np.broadcast_to(x, extents), tuple(range(n_kept, len(extents)))
        if x.size == 0 and np.prod(extents[:n_kept], dtype=int):
            y = np.full((*extents[:n_kept], *[1] * len(axes)), of_nothing(combine, np.dtype(dtype)), dtype)
        else:
            y = np.asarray(getattr(np, combine).reduce(x, axes, dtype=dtype, keepdims=True))
        return y if blur is None else np.asarray(blur.fold(combine, x, y, axes), dtype)
