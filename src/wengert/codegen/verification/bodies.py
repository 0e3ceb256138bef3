"""This module compares loops and branches that are one function with their bodies (:mod:`wengert.codegen.loops`) with
their kernels one by one.

What such a function does is played here: each kernel of its body is compiled by itself, and called in the order, on the
memory and as often as the data says. The kernels themselves are verified as any other. LLVM optimises the function as a
whole, which must not change a bit but for the NaN that it is.

A function is asked with the sizes that it is called with, and of iterations from none to five. A ``while`` that goes on
for long with the operands that it is given says nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.codegen.calls import KernelCall
from wengert.codegen.loops import COPY, Blocks, LoweredBody, Scan, Segment, Straight, Switch, While, WhileBack, Whole
from wengert.codegen.nests.nest import Nest
from wengert.codegen.specs.spec import Spec
from wengert.codegen.verification.operands import Array, OperandInMemory, OperandMaker, difference, halves, run

MOST_BYTES = 1 << 22  # all operands together
MOST_ITERATIONS = 100  # a loop that ends by its condition gets at most so many
GARBAGE = 0xA7  # the bytes of memory that has not been written
Address = Callable[[Nest | Spec], int]
"""A function that gives the address of a kernel's code."""


class TooLong(Exception):
    """A loop goes on for more than :data:`MOST_ITERATIONS` iterations."""


def inner_kernels(whole: Whole) -> Iterator[Nest | Spec]:
    """The kernels that a function is made of, those of functions within it too."""
    for body in _bodies(whole):
        for segment in body.segments:
            if isinstance(segment.kernel, Nest | Spec):
                yield segment.kernel
            elif not isinstance(segment.kernel, str):
                yield from inner_kernels(segment.kernel)


def _bodies(whole: Whole) -> Sequence[LoweredBody]:
    if isinstance(whole, Switch):
        return whole.branches
    return [x for x in whole if isinstance(x, LoweredBody)]


def differences(call: KernelCall, whole: Whole, address: int, address_of: Address) -> Iterator[str]:
    """Yield, for each of some operands, what the function at ``address`` does wrong, in words, or ""."""
    count = len(whole.branches[0].outputs if isinstance(whole, Switch) else _bodies(whole)[-1].outputs)
    for number in range(9):
        memory = OperandMaker(np.random.default_rng(number), is_tame=number % 3 < 2)
        length = (5, 1, 2, 0, 3)[number % 5] if isinstance(whole, Scan) else 1
        if isinstance(whole, Blocks):
            length = 1 + number % 3
        operands = _operands(call, whole, memory, length, len(call.places) - count)
        if sum([x.block.nbytes for x in operands]) > MOST_BYTES:
            return
        if number % 3 == 0:
            _make_small(operands, memory.rng)
        operands = _shared(whole, operands, memory.rng.random() < 0.5)
        sizes = (length, *call.sizes[1:]) if isinstance(whole, Scan) else call.sizes
        if isinstance(whole, Blocks):
            sizes = (_lanes(call, whole, length), *call.sizes[1:])
        results = range(len(operands) - count, len(operands))
        before = [x.block.copy() for x in operands]
        try:
            status = _play(whole, [x.address for x in operands], sizes, length, address_of)
        except TooLong:
            continue
        wanted: dict[int, list[Array]] = {k: [] if status else [np.array(operands[k].view)] for k in results}
        for x, block in zip(operands, before, strict=True):
            x.block[...] = block
        parts = halves(length, length // 2 if isinstance(whole, Scan | Blocks) else 0)
        found = difference(address, operands, sizes, parts, wanted, status)
        yield found and f"{found} ({number}th operands, {length} iterations)"


def _operands(
    call: KernelCall, whole: Whole, memory: OperandMaker, length: int, first_result: int
) -> list[OperandInMemory]:
    made = list[OperandInMemory]()
    for k, place in enumerate(call.places):
        shape = place.aval.shape
        if isinstance(whole, Scan):
            first = whole.constants + whole.carries
            if first <= k < first_result or k >= first_result + whole.carries:
                shape = (length, *shape[1:])
        if isinstance(whole, Blocks):
            made.append(_with_lanes(call, k, memory, _lanes(call, whole, length)))
        else:
            made.append(memory.dense(place.aval.dtype, shape))
    if isinstance(whole, Switch):
        made[0].view[...] = memory.rng.integers(-1, len(whole.branches) + 1)
    if isinstance(whole, Straight):  # its caller does that
        for k in whole.body.zeroed:
            made[first_result + k].view[...] = 0
    return made


def _lanes(call: KernelCall, whole: Blocks, length: int) -> int:
    """So many lanes that they are ``length`` blocks, if there are so many; of more than one, the last is not full."""
    return min(call.sizes[0], length * whole.size - (length > 1))


def _with_lanes(call: KernelCall, k: int, memory: OperandMaker, lanes: int) -> OperandInMemory:
    """Operand number ``k`` under its own strides, with so many lanes."""
    place, (count, *steps) = call.places[k], call.sizes
    rows = zip(place.aval.shape, place.strides, strict=True)
    axis = next((d for d, (n, s) in enumerate(rows) if n == count and s == steps[k]), -1)
    shape = tuple([lanes if d == axis else n for d, n in enumerate(place.aval.shape)])
    strides = tuple([s // place.aval.dtype.itemsize for s in place.strides])
    span = 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])
    return memory.strided(place.aval.dtype, shape, strides, max(1, span))


def _make_small(operands: Sequence[OperandInMemory], rng: np.random.Generator) -> None:
    """Integers that are good as indices."""
    for x in operands:
        if x.view.dtype.kind in "iu":
            x.view[...] = rng.integers(0, 2, x.view.shape)


def _shared(whole: Whole, operands: list[OperandInMemory], is_over: bool) -> list[OperandInMemory]:
    """The operands, of which results lie over others: where they must, and where they may."""
    over = dict[int, int]()
    if isinstance(whole, Straight):
        over = {len(whole.body.inputs) + k: j for k, j in enumerate(whole.body.over) if j >= 0}
    elif isinstance(whole, Scan) and is_over:
        n, m = whole.constants, whole.carries
        over = {len(whole.body.inputs) + k: n + k for k in range(m)}
    elif isinstance(whole, While) and is_over:
        first = whole.of_condition + whole.constants
        over = {first + whole.carries + k: first + k for k in range(whole.carries)}
    return [operands[over.get(k, k)] for k in range(len(operands))]


# ------------------------------------------------------------------------------------------------------------ playing


def _play(whole: Whole, pointers: Sequence[int], sizes: Sequence[int], end: int, address_of: Address) -> int:
    """Do what the function does; the status is that of the kernel that fails, or 0."""
    numbers = iter(sizes)
    if isinstance(whole, Scan):
        return _scan(whole, pointers, next(numbers), _Played(whole.body, numbers, address_of), end)
    if isinstance(whole, Blocks):
        return _blocks(whole, pointers, numbers, end, address_of)
    bodies = [_Played(body, numbers, address_of) for body in _bodies(whole)]
    if isinstance(whole, While):
        return _while(whole, pointers, *bodies)
    if isinstance(whole, WhileBack):
        return _while_back(whole, pointers, *bodies)
    if isinstance(whole, Switch):
        which = min(max(ctypes.c_int64.from_address(pointers[0]).value, 0), len(bodies) - 1)
        body, pointers = bodies[which], pointers[1:]
    else:
        (body,) = bodies
    inputs = len(body.inputs)
    return body.run(pointers[:inputs], pointers[inputs:], zeroes=isinstance(whole, Switch))


class _Room:
    """Memory of a body's own."""

    def __init__(self, nbytes: int, data: bytes = b"") -> None:
        raw = np.full(nbytes + 64, GARBAGE, "u1")
        self.raw, self.address = raw, raw.ctypes.data + -raw.ctypes.data % 64
        if data:
            ctypes.memmove(self.address, data, len(data))


class _Played:
    """A body with its sizes and memory."""

    def __init__(self, body: LoweredBody, numbers: Iterator[int], address_of: Address) -> None:
        known = lambda sizes: [next(numbers) if n is None else n for n in sizes]
        self.body, self.address_of = body, address_of
        self.inputs, self.outputs = known(body.inputs), known(body.outputs)
        self.sizes = [known((*segment.sizes, segment.extent)) for segment in body.segments]
        self.arena = _Room(body.arena)
        self.literals = [_Room(len(data), data) for data in body.literals]

    def run(self, inputs: Sequence[int], outputs: Sequence[int], zeroes: bool = True) -> int:
        if zeroes:
            for k in self.body.zeroed:
                ctypes.memset(outputs[k], 0, self.outputs[k])
        where = {
            "arena": [self.arena.address],
            "literal": [x.address for x in self.literals],
            "input": inputs,
            "output": outputs,
        }
        for segment, (*sizes, extent) in zip(self.body.segments, self.sizes, strict=True):
            places = [where[kind][number] + offset for kind, number, offset in segment.places]
            status = self._run(segment, places, sizes, extent)
            if status:
                return status
        return 0

    def _run(self, segment: Segment, places: Sequence[int], sizes: Sequence[int], extent: int) -> int:
        kernel = segment.kernel
        if isinstance(kernel, str):
            assert kernel == COPY
            _copy_few(places[0], places[1], sizes)
            return 0
        if isinstance(kernel, Nest | Spec):
            return run(self.address_of(kernel), places, sizes, 0, extent)
        return _play(kernel, places, sizes, extent, self.address_of)


def _copy_few(source: int, goal: int, sizes: Sequence[int]) -> None:
    itemsize, ndim, *rows = sizes
    shape, here, there = rows[: 3 * ndim : 3], rows[1 : 3 * ndim : 3], rows[2 : 3 * ndim : 3]
    step = lambda index, row: sum([i * s for i, s in zip(index, row, strict=True)])
    read = [(ctypes.string_at(source + step(i, here), itemsize), step(i, there)) for i in np.ndindex(*shape)]
    for data, offset in read:
        ctypes.memmove(goal + offset, data, itemsize)


class _Carries:
    """A loop hands this on: it says where that is, and where an iteration writes it."""

    def __init__(self, played: _Played, sizes: Sequence[int], first: int) -> None:
        self.sizes = sizes
        self.rooms = [_Room(n) for n in sizes]
        self.beside = [
            room if played.body.over[k] == first + k else _Room(n)
            for k, (room, n) in enumerate(zip(self.rooms, sizes, strict=True))
        ]

    @property
    def places(self) -> list[int]:
        return [room.address for room in self.rooms]

    @property
    def goals(self) -> list[int]:
        return [room.address for room in self.beside]

    def read(self, places: Sequence[int]) -> None:
        _move(self.places, places, self.sizes)

    def write(self, places: Sequence[int]) -> None:
        _move(places, self.places, self.sizes)

    def advance(self) -> None:
        _move(self.places, self.goals, self.sizes)


def _move(goals: Sequence[int], sources: Sequence[int], sizes: Sequence[int]) -> None:
    for goal, source, n in zip(goals, sources, sizes, strict=True):
        ctypes.memmove(goal, source, n)


def _scan(scan: Scan, pointers: Sequence[int], length: int, body: _Played, end: int) -> int:
    n, m = scan.constants, scan.carries
    inputs, outputs = pointers[: len(body.inputs)], pointers[len(body.inputs) :]
    carries = _Carries(body, body.outputs[:m], n)
    carries.read(inputs[n : n + m])
    for i in range(end):
        row = length - 1 - i if scan.is_reversed else i
        slices = [p + row * size for p, size in zip(inputs[n + m :], body.inputs[n + m :], strict=True)]
        results = [p + row * size for p, size in zip(outputs[m:], body.outputs[m:], strict=True)]
        status = body.run([*inputs[:n], *carries.places, *slices], [*carries.goals, *results])
        if status:
            return status
        carries.advance()
    carries.write(outputs[:m])
    return 0


def _blocks(blocks: Blocks, pointers: Sequence[int], numbers: Iterator[int], end: int, address_of: Address) -> int:
    count, steps = next(numbers), [next(numbers) for _ in pointers]
    body = _Played(blocks.body, numbers, address_of)
    for i in range(end):
        lane = min(i * blocks.size, count - blocks.size)
        here = [p + lane * step for p, step in zip(pointers, steps, strict=True)]
        status = body.run(here[: len(body.inputs)], here[len(body.inputs) :])
        if status:
            return status
    return 0


def _repeat(
    tests: Sequence[int], condition: _Played, constants: Sequence[int], body: _Played, carries: _Carries, each: Any
) -> int:
    flag = _Room(1)
    for number in range(MOST_ITERATIONS):
        status = condition.run([*tests, *carries.places], [flag.address])
        if status or not ctypes.c_uint8.from_address(flag.address).value:
            return status
        each(number)
        status = body.run([*constants, *carries.places], carries.goals)
        if status:
            return status
        carries.advance()
    raise TooLong


def _while(loop: While, pointers: Sequence[int], condition: _Played, body: _Played) -> int:
    first = loop.of_condition + loop.constants
    constants, outputs = pointers[loop.of_condition : first], pointers[first + loop.carries :]
    carries = _Carries(body, body.outputs, loop.constants)
    carries.read(pointers[first : first + loop.carries])
    status = _repeat(pointers[: loop.of_condition], condition, constants, body, carries, lambda number: None)
    if not status:
        carries.write(outputs)
    return status


def _while_back(loop: WhileBack, pointers: Sequence[int], condition: _Played, body: _Played, back: _Played) -> int:
    n, m, results = loop.constants, loop.carries, len(back.outputs)
    first = loop.of_condition + n
    constants = pointers[loop.of_condition : first]
    given, goals = pointers[first + m : len(pointers) - results], pointers[len(pointers) - results :]
    carries, kept = _Carries(body, body.outputs, n), list[list[_Room]]()
    carries.read(pointers[first : first + m])

    def keep(number: int) -> None:
        kept.append([_Room(k, ctypes.string_at(p, k)) for p, k in zip(carries.places, carries.sizes, strict=True)])

    status = _repeat(pointers[: loop.of_condition], condition, constants, body, carries, keep)
    if status:
        return status
    sums = [_Room(k, bytes(k)) for k in back.outputs[: loop.sums]]
    moving = [_Room(k, ctypes.string_at(p, k)) for p, k in zip(given, back.outputs[loop.sums :], strict=True)]
    memory, first_sum = [*sums, *moving], n + m + len(moving)
    inputs = [first_sum + k if k < loop.sums else n + m + k - loop.sums for k in range(results)]
    beside = [memory[k] if back.body.over[k] == inputs[k] else _Room(back.outputs[k]) for k in range(results)]
    for held in reversed(kept):
        status = back.run([*constants, *[x.address for x in (*held, *moving, *sums)]], [x.address for x in beside])
        if status:
            return status
        _move([x.address for x in memory], [x.address for x in beside], back.outputs)
    _move(goals, [x.address for x in memory], back.outputs)
    return 0
