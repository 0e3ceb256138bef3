"""Places: where in memory an array lies, the plan that says it for all values of a tape, and questions about places."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wengert.ops.kernels import Region
from wengert.tape import Aval, Instr, Lit, Tape


@dataclass(eq=False)
class Buffer:
    """Memory that is given out as a whole."""

    kind: str
    """ "input", "capture", "literal", "output" or "arena"."""
    number: int = -1
    """The number of the argument, captured array, literal or result."""
    nbytes: int = 0
    first: int = -1
    last: int = -1
    """The first and the last instruction that use it."""
    offset: int = 0
    """The byte of the arena at which an arena buffer begins."""


class Place(NamedTuple):
    """An array in memory: strides in bytes, one an axis."""

    buffer: Buffer
    offset: int
    strides: tuple[int, ...]
    aval: Aval

    def region(self, region: Region, dtype: np.dtype[Any]) -> Place:
        return Place(self.buffer, self.offset + region.offset, region.strides, Aval(region.shape, dtype))


class PlanStep(NamedTuple):
    """One thing to do. ``instr`` is None for "copy" and "add", which the plan itself asks for."""

    what: str
    """ "run" the instruction, "copy" ins[0], broadcast, over outs[0], or "add" it there."""
    instr: Instr | None
    ins: tuple[Place, ...]
    outs: tuple[Place, ...]
    number: int
    """The position of the instruction in the tape."""
    work: Place | None = None
    """Bytes of the arena that it may use while it runs."""
    any_length: bool = False
    """Whether the tape is for arrays of any length, as ``Tape.any_length`` says."""


@dataclass(eq=False)
class Plan:
    """The steps of a program, and the memory that they use."""

    tape: Tape
    steps: list[PlanStep] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    literals: list[Lit] = field(default_factory=list)
    arena_bytes: int = 0
    places: dict[Any, Place] = field(default_factory=dict)


@cache  # types are few, and live for ever
def c_strides(aval: Aval) -> tuple[int, ...]:
    strides: list[int] = []
    step = aval.dtype.itemsize
    for n in reversed(aval.shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def is_c_order(place: Place) -> bool:
    return all(n == 1 or s == t for n, s, t in zip(place.aval.shape, place.strides, c_strides(place.aval), strict=True))


def reach(place: Place) -> tuple[int, int]:
    """The bytes of its buffer between the first and the last that a place may touch."""
    low = high = place.offset
    for n, s in zip(place.aval.shape, place.strides, strict=True):
        if s < 0:
            low += (n - 1) * s
        else:
            high += (n - 1) * s
    return low, high + place.aval.dtype.itemsize


def overlap(a: Place, b: Place) -> bool:
    """Whether two places may have a byte in common, as far as their first and their last ones tell."""
    if a.buffer is not b.buffer:
        return False
    (low, high), (first, end) = reach(a), reach(b)
    return low < end and first < high


def is_dense(place: Place) -> bool:
    """Whether different indices are different bytes, as far as strides tell: nothing is broadcast."""
    return all(s != 0 or n <= 1 for n, s in zip(place.aval.shape, place.strides, strict=True))


def planes_of(place: Place) -> tuple[Place, Place]:
    """Return the places of the real and of the imaginary parts of complex numbers."""
    half = place.aval.dtype.itemsize // 2
    aval = Aval(place.aval.shape, np.dtype(f"f{half}"))
    return place._replace(aval=aval), place._replace(offset=place.offset + half, aval=aval)


def is_there(place: Place, goal: Place) -> bool:
    """Whether both are the same elements in the same order."""
    strides = zip(goal.aval.shape, place.strides, goal.strides, strict=True)
    same = all(n == 1 or a == b for n, a, b in strides)
    return same and place.buffer is goal.buffer and place.offset == goal.offset


def is_in_c_order(region: Region | None, aval: Aval) -> bool:
    """Whether a region of an array in C order is all of it, in its order, with this shape."""
    if region is None or region.offset or region.shape != aval.shape:
        return False
    strides = zip(aval.shape, region.strides, c_strides(aval), strict=True)
    return all(n == 1 or own == expected for n, own, expected in strides)


def same_elements(place: Place, aval: Aval) -> tuple[int, ...] | None:
    """Strides by which an array of another shape has the elements of a place in their order: in C order, or where the
    shapes differ by axes of length 1 alone; else None."""
    if place.strides == c_strides(place.aval):
        return c_strides(aval)
    axes = [(n, s) for n, s in zip(place.aval.shape, place.strides, strict=True) if n != 1]
    if [n for n, _ in axes] != [n for n in aval.shape if n != 1]:
        return None
    strides = iter([s for _, s in axes])
    return tuple([next(strides) if n != 1 else aval.dtype.itemsize for n in aval.shape])
