"""Values in lanes: an array of many lanes as an array of single elements, each of which is one number in every lane.

The axis of a value that has the length of the batch is its *lane axis*; a value without one is *uniform*. The elements
are what is left without that axis. An element is an atom of the block's tape, of shape (block,) or (), or the place
where one is read from once a step asks for it. So views, joins and transposes of small axes are no steps at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wengert.ops.elementwise import convert
from wengert.ops.index import slice_
from wengert.ops.shape import broadcast_to, concatenate, reshape, transpose
from wengert.tape import Atom, Aval, Builder, Lit, Tape, Var, building

MOST_ELEMENTS = 1 << 13  # elements of one value in one lane


class Outside(Exception):
    """A step is not one of independent lanes, or has no rule for them; the text says why."""


@dataclass(frozen=True, eq=False)
class ArrayElement:
    """An element of a value of this tape: ``index`` has one number for each axis of ``var`` but the lane axis."""

    var: Var
    lane_axis: int | None
    index: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Outer:
    """An element of the tape around the body of a loop, which is constant in the loop."""

    element: Element


@dataclass(frozen=True, eq=False)
class Sliced:
    """An element of the slice of stack number ``stack`` that an iteration reads."""

    stack: int
    index: tuple[int, ...]


Element = Atom | ArrayElement | Outer | Sliced
Elements = np.ndarray[Any, Any]
"""An array of elements."""


class LaneValue(NamedTuple):
    """A value of the tape that is put in lanes."""

    aval: Aval
    lane_axis: int | None
    elements: Elements
    """The elements, in the shape of the value without its lane axis."""
    is_sum: bool = False
    """The value is the sum of the elements over all lanes of the batch, which is taken when all blocks are done."""

    def is_zero(self) -> bool:
        return all(type(x) is Lit and not x.value for x in self.elements.flat)


def lane_axis(aval: Aval, count: int) -> int | None:
    """Return the axis of length ``count``, or None if there is none. Raises Outside if there are several."""
    found = [d for d, n in enumerate(aval.shape) if n == count]
    if len(found) > 1:
        raise Outside("several axes have the length of the batch")
    return found[0] if found else None


def without(shape: Sequence[int], axis: int | None) -> tuple[int, ...]:
    return tuple([n for d, n in enumerate(shape) if d != axis])


def array_of(elements: Sequence[Element], shape: tuple[int, ...]) -> Elements:
    out = np.empty(len(elements), object)
    out[:] = elements
    return out.reshape(shape)


class Frame:
    """A tape of a block of lanes that is being written: of all steps, or of the body of a loop among them."""

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        """The lanes of the batch, and those of a block."""
        self.builder = Builder()
        self.values: dict[Atom, LaneValue] = {}
        self.outer: dict[Any, Var] = {}
        """The inputs that stand for elements, or stacks of elements, of the tape around this one."""
        self.slices: dict[tuple[int, tuple[int, ...]], Var] = {}
        """The inputs that stand for elements of slices, by the number of the stack and the place in the slice."""
        self._read: dict[Any, Atom] = {}
        self._kept: list[Any] = []  # what `_read` and `outer` know by id stays alive

    # ------------------------------------------------------------------------------------------------------ elements

    def is_lane(self, x: Element) -> bool:
        """Whether an element is a number of its own in each lane."""
        match x:
            case ArrayElement():
                return x.lane_axis is not None
            case Outer():
                raise AssertionError("a frame asks about its own elements")
            case Sliced():
                raise AssertionError("a frame asks about its own elements")
        return x.aval.ndim == 1

    def atom(self, x: Element) -> Atom:
        """Return an element as an atom of this tape, read where it is read first."""
        if isinstance(x, Var | Lit):
            return x
        key: Any = (x.var, x.index) if isinstance(x, ArrayElement) else id(x)
        known = self._read.get(key)
        if known is None:
            self._kept.append(x)
            known = self._read[key] = self._taken(x)
        return known

    def _taken(self, x: ArrayElement | Outer | Sliced) -> Atom:
        if isinstance(x, ArrayElement):
            index: list[Any] = list(x.index)
            if x.lane_axis is not None:
                index.insert(x.lane_axis, (0, self.size, 1))
            with building(self.builder):
                return slice_(x.var, index=tuple(index))
        raise AssertionError("the frame of a body knows what it is given")

    def wide(self, x: Element) -> Atom:
        """Return an element as an atom of shape (block,)."""
        a = self.atom(x)
        if a.aval.ndim == 1:
            return a
        with building(self.builder):
            return broadcast_to(reshape(a, shape=(1,)), shape=(self.size,))

    # ------------------------------------------------------------------------------------------------ arrays of them

    def stack(self, elements: Sequence[Element], dtype: np.dtype[Any]) -> Atom:
        """Return elements as one atom of shape (elements, block), or (elements,) if they are uniform."""
        parts = [(part, self._as_rows(part)) for part in _regular_parts(elements)]
        if len(parts) == 1 and parts[0][1] is not None:
            return parts[0][1]
        are_lanes = any(self.is_lane(x) for x in elements)
        joined = list[Atom]()
        for part, rows in parts:
            if rows is None or (are_lanes and rows.aval.ndim == 1):
                atoms = [self.wide(x) if are_lanes else self.atom(x) for x in part]
                with building(self.builder):
                    joined += [reshape(_like(a, dtype), shape=(1, *a.aval.shape)) for a in atoms]
            else:
                joined.append(_like(rows, dtype))
        with building(self.builder):
            return concatenate(*joined, axis=0)

    def at_once(self, columns: Sequence[Sequence[Element]], step: Callable[..., Any]) -> list[Element]:
        """Apply an elementwise step to columns of elements, all of one length, as one step on arrays."""
        count = len(columns[0])
        atoms = list[Atom]()
        for column in columns:
            if all(x is column[0] for x in column):
                atoms.append(self.atom(column[0]))  # the same in all rows
            else:
                atoms.append(self.stack(column, self.atom(column[0]).aval.dtype))
        are_rows = [not all(x is column[0] for x in column) for column in columns]
        are_lanes = any(a.aval.ndim == 1 + is_row for a, is_row in zip(atoms, are_rows, strict=True))
        with building(self.builder):
            if are_lanes:  # rows of uniform elements stand in a column
                atoms = [
                    reshape(a, shape=(count, 1)) if is_row and a.aval.ndim == 1 else a
                    for a, is_row in zip(atoms, are_rows, strict=True)
                ]
            made = step(*atoms)
            shape = (count, self.size) if are_lanes else (count,)
            if made.aval.shape != shape:
                made = broadcast_to(made, shape=shape)
        if type(made) is Lit:
            return [made] * count
        return [ArrayElement(made, 1 if are_lanes else None, (k,)) for k in range(count)]

    def _as_rows(self, elements: Sequence[Element]) -> Atom | None:
        """The elements, if they are a regular part of one value."""
        first = elements[0]
        if not isinstance(first, ArrayElement) or not all(
            isinstance(x, ArrayElement) and x.var is first.var for x in elements
        ):
            return None
        places = np.array([x.index for x in elements if isinstance(x, ArrayElement)])
        steps = np.diff(places, axis=0)
        if len(elements) > 1 and (steps != steps[0]).any():
            return None
        step = steps[0] if len(elements) > 1 else np.eye(1, places.shape[1], dtype=int)[0]
        moving = np.flatnonzero(step)
        if len(moving) != 1:
            return None
        along = int(moving[0])
        index: list[Any] = list(first.index)
        index[along] = (first.index[along], len(elements), int(step[along]))
        lanes_first = first.lane_axis is not None and first.lane_axis <= along
        if first.lane_axis is not None:
            index.insert(first.lane_axis, (0, self.size, 1))
        with building(self.builder):
            rows = slice_(first.var, index=tuple(index))
            return transpose(rows, axes=(1, 0)) if lanes_first else rows

    def block(self, value: LaneValue) -> Atom:
        """Return a value as one atom, in which the lane axis has the length of a block."""
        axis, elements = value.lane_axis, value.elements
        assert axis is not None
        if elements.ndim == 0:
            return self.wide(elements.item())
        rest = elements.shape
        parts = np.empty(rest[1:], object)
        for k in np.ndindex(*rest[1:]):
            column = list(elements[(slice(None), *k)])
            rows = self._as_rows(column)
            shape = [1] * value.aval.ndim
            shape[axis] = self.size
            if rows is not None and rows.aval.ndim == 2:
                at = 0 if axis else 1
                shape[at] = rest[0]
                with building(self.builder):
                    parts[k] = reshape(transpose(rows, axes=(1, 0)) if at else rows, shape=tuple(shape))
                continue
            with building(self.builder):
                atoms = [reshape(_like(self.wide(x), value.aval.dtype), shape=tuple(shape)) for x in column]
                parts[k] = concatenate(*atoms, axis=0 if axis else 1)
        at = 0 if axis else 1
        for d in range(parts.ndim - 1, -1, -1):  # join along the last axis first
            along = [x for x in range(value.aval.ndim) if x != axis and x != at][d]
            joined = np.empty(parts.shape[:-1], object)
            for k in np.ndindex(*joined.shape):
                with building(self.builder):
                    joined[k] = concatenate(*parts[k], axis=along)
            parts = joined
        return parts.item()

    # ---------------------------------------------------------------------------------------------------------- done

    def tape(self, inputs: Sequence[Var], outputs: Sequence[Atom], name: str) -> Tape:
        return Tape(tuple(inputs), (), self.builder.instrs, tuple(outputs), name=name)


class BodyFrame(Frame):
    """The body of a loop: its inputs are made as its steps ask for them."""

    def __init__(self, around: Frame, stacks: Sequence[LaneValue] = ()) -> None:
        super().__init__(around.count, around.size)
        self.around = around
        self.stacks = stacks

    def is_lane(self, x: Element) -> bool:
        match x:
            case Outer():
                return self.around.is_lane(x.element)
            case Sliced():
                column = self.stacks[x.stack].elements[(slice(None), *x.index)]
                return any(self.around.is_lane(e) for e in column)
        return super().is_lane(x)

    def _taken(self, x: ArrayElement | Outer | Sliced) -> Atom:
        if isinstance(x, Outer):
            a = self.around.atom(x.element)
            if isinstance(a, Lit):
                return a
            return self.outer.setdefault(a, Var(a.aval))
        if isinstance(x, Sliced):
            dtype = self.stacks[x.stack].aval.dtype
            aval = Aval((self.size,) if self.is_lane(x) else (), dtype)
            return self.slices.setdefault((x.stack, x.index), Var(aval))
        return super()._taken(x)

    def stack(self, elements: Sequence[Element], dtype: np.dtype[Any]) -> Atom:
        if all(isinstance(x, Outer) for x in elements):
            a = self.around.stack([x.element for x in elements if isinstance(x, Outer)], dtype)
            return self.outer.setdefault(a, Var(a.aval))
        return super().stack(elements, dtype)


def _regular_parts(elements: Sequence[Element]) -> list[Sequence[Element]]:
    """Cut elements into runs, each of which is a regular part of one value, or of other elements."""
    starts = [0]
    for k in range(1, len(elements)):
        x, before = elements[k], elements[k - 1]
        is_alike = isinstance(x, ArrayElement) == isinstance(before, ArrayElement)
        if isinstance(x, ArrayElement) and isinstance(before, ArrayElement):
            is_alike = x.var is before.var
            if is_alike and k - starts[-1] > 1:
                first = elements[k - 2]
                assert isinstance(first, ArrayElement)
                is_alike = all(a - b == b - c for a, b, c in zip(x.index, before.index, first.index, strict=True))
        if not is_alike:
            starts.append(k)
    return [elements[a:b] for a, b in pairwise([*starts, len(elements)])]


def _like(a: Atom, dtype: np.dtype[Any]) -> Atom:
    return a if a.aval.dtype == dtype else convert(a, dtype=dtype)
