"""This module makes operands that are hard to get right, in memory that shows what else a kernel writes.

They are aligned with no vector, and hold zeros of both signs, infinities, NaN, subnormal and ordinary numbers. Around
each of them is a margin that nobody may touch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Extents = tuple[int, ...]
Part = tuple[int, int]
KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64), ctypes.c_int64, ctypes.c_int64
)
ULPS = 4
"""Units in the last place that ours and NumPy's may be apart, as docs/how-it-works.md says."""
MARGIN = 128  # bytes on both sides of an operand


class OperandInMemory(NamedTuple):
    """An array that a kernel under test is given, with the memory around it."""

    view: Array
    """The array as the kernel reads or writes it: a dimension that it does not depend on has the length 1."""
    block: Array
    """All of the operand's memory, with its margins."""
    address: int
    strides: Extents
    """The strides in elements, one for each dimension."""

    @property
    def first(self) -> int:
        return (self.address - self.block.ctypes.data) // self.block.itemsize

    @property
    def unknown(self) -> list[int]:
        """The strides that a kernel is told at run time, which knows those of 0 and 1 itself."""
        return [s for s in self.strides if s not in (0, 1)]


class OperandMaker:
    """Makes operands; tame ones have ordinary numbers and strides that are positive."""

    def __init__(self, rng: np.random.Generator, is_tame: bool, has_large: bool = True) -> None:
        self.rng, self.is_tame, self.has_large = rng, is_tame, has_large

    def operand(
        self, dtype: str, strides: Sequence[int | None], extents: Extents, shape: Sequence[int] | None = None
    ) -> OperandInMemory:
        """An operand over ``extents``; strides that are None are chosen, so that no two elements meet."""
        span = 1 + sum([abs(s) * max(0, n - 1) for s, n in zip(strides, extents, strict=True) if s is not None])
        own = list(strides)
        for d in reversed(range(len(own))):
            if own[d] is None:
                own[d] = (span + int(self.rng.integers(1, 3))) * (1 if self.is_tame else -1)
                span += abs(own[d] or 0) * max(0, extents[d] - 1)
        full = tuple([s for s in own if s is not None])
        lengths = [n if s else 1 for n, s in zip(extents, full, strict=True)] if shape is None else shape
        return self.strided(np.dtype(dtype), tuple(lengths), full, span)

    def strided(self, dtype: np.dtype[Any], shape: Extents, strides: Extents, span: int) -> OperandInMemory:
        """An operand whose elements lie within ``span`` of its lowest one."""
        size = dtype.itemsize
        raw = np.zeros(2 * MARGIN + (span + 2) * size + 64, "u1")
        start = -raw.ctypes.data % 64 + MARGIN + size  # one element off the alignment of vectors
        block = raw[start - MARGIN : start + span * size + MARGIN].view(dtype)
        block[...] = self.numbers(dtype, block.size)
        lowest = sum([s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0 and n])
        first = MARGIN // size - lowest
        view = np.lib.stride_tricks.as_strided(block[first:], shape, [s * size for s in strides])
        return OperandInMemory(view, block, block.ctypes.data + first * size, strides)

    def dense(self, dtype: np.dtype[Any], shape: Extents) -> OperandInMemory:
        """An operand in C order."""
        strides = tuple([int(np.prod(shape[d + 1 :], dtype=np.int64)) for d in range(len(shape))])
        return self.strided(dtype, shape, strides, max(1, int(np.prod(shape, dtype=np.int64))))

    def make_ties(self, operands: Iterable[OperandInMemory]) -> None:
        """Give operands of one type the same number in a quarter of their places: there a comparison with and without
        equality differ, and numbers drawn at random seldom meet."""
        for x, y in pairwise(operands):
            if x.view.shape == y.view.shape and x.view.dtype == y.view.dtype:
                y.view[...] = np.where(self.rng.random(x.view.shape) < 0.25, x.view, y.view)

    def numbers(self, dtype: np.dtype[Any], n: int) -> Array:
        rng = self.rng
        if dtype.kind == "b":
            return rng.integers(0, 2, n).astype(dtype)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            small = rng.integers(max(info.min, -9), 10, n).astype(dtype)
            ends = np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1], dtype)
            return small if self.is_tame else np.where(rng.random(n) < 0.5, small, rng.choice(ends, n))
        info = np.finfo(dtype)
        usual = rng.normal(size=n).astype(dtype)
        if self.is_tame:
            return usual
        odd = [0.0, -0.0, np.inf, -np.inf, np.nan, info.smallest_subnormal, -info.smallest_subnormal, 1.0, -1.0, 0.5]
        odd += [info.tiny / 4, -info.tiny / 2, 2.0, -3.0]
        if self.has_large:
            odd += [info.max, -info.max, 1e30, -1e16, 745.5, -720.25, 1e-30]
        share = 0.7 if self.has_large else 0.05
        return np.where(rng.random(n) < share, rng.choice(np.array(odd, dtype), n), usual)


# ----------------------------------------------------------------------------------------------------------- running


def run(address: int, pointers: Sequence[int], sizes: Sequence[int], begin: int, end: int) -> int:
    """Run a kernel on addresses, and return its status."""
    places = (ctypes.c_void_p * max(1, len(pointers)))(*pointers)
    given = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
    return KERNEL(address)(places, given, begin, end)


def _bits(block: Array) -> bytes:
    """The bits of an array, in which all NaNs are one: of two NaNs a product is the one that LLVM puts first, which may
    be another in the rest of a loop."""
    if block.dtype.kind in "fc":
        block = np.where(np.isnan(block), np.nan, block).astype(block.dtype)
    return block.tobytes()


def halves(whole: int, middle: int) -> list[list[Part]]:
    """Return two ways to run a kernel: its extent at once, and in two parts."""
    return [[(0, whole)], [(0, middle), (middle, whole)]] if 0 < middle < whole else [[(0, whole)]]


def difference(
    address: int,
    operands: Sequence[OperandInMemory],
    sizes: Sequence[int],
    parts: Sequence[Sequence[Part]],
    wanted: Mapping[int, Sequence[Array]],
    status: int = 0,
) -> str:
    """Return what the kernel does wrong, in words, or "".

    ``wanted``: the values that each of its results may have, by the number of the operand; none: any. Each of ``parts``
    is a way to run all of it.
    """
    before = {id(x.block): x.block.copy() for x in operands}
    results = []
    for way in parts:
        for x in operands:
            x.block[...] = before[id(x.block)]
        for begin, end in way:
            got = run(address, [x.address for x in operands], sizes, begin, end)
            if got:
                break
        if got != status:
            return f"its status is {got} in the place of {status}"
        results.append([_bits(x.block) for x in operands])
    if results[1:] and results[0] != results[1] and not status:
        return "in two parts it computes other bits than at once"
    expected = {key: block.copy() for key, block in before.items()}
    for k, values in wanted.items():
        goal = operands[k]
        found = mismatch(goal.view, values) if values else ""
        if found:
            return f"operand {k}: {found}"
        there = expected[id(goal.block)].view(goal.view.dtype)[goal.first :]
        np.lib.stride_tricks.as_strided(there, goal.view.shape, goal.view.strides)[...] = goal.view
    for k, x in enumerate(operands):
        if expected[id(x.block)].tobytes() != x.block.tobytes():
            return f"it writes what is none of its results, near operand {k}"
    return ""


def mismatch(got: Array, wanted: Sequence[Array]) -> str:
    """Return where a result is none of those that may be, in words, or ""."""
    first = wanted[0]
    nan = np.isnan if got.dtype.kind == "f" else lambda x: np.zeros(x.shape, bool)
    with np.errstate(all="ignore"):
        same = (got == first) | (nan(got) & nan(first))
        if got.dtype.kind == "f":
            same &= (np.signbit(got) == np.signbit(first)) | (first != 0)
        if len(wanted) > 1:
            several = np.stack(wanted)
            agree = np.all(several == first, axis=0) | np.all(nan(several), axis=0)
            if got.dtype.kind == "f":
                finite = np.isfinite(several)
                spread = several.max(0) - several.min(0)
                near = np.abs(got - first) <= 4 * spread + ULPS * np.spacing(np.abs(first))
                same |= np.all(finite, axis=0) & np.isfinite(got) & near
                same |= ~np.all(finite, axis=0) & ~agree
            else:
                same |= ~agree
    if np.all(same):
        return ""
    where = tuple(map(int, np.argwhere(~same)[0]))
    return f"at {where} {got[where]!r} in the place of {first[where]!r}"
