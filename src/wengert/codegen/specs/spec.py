"""Kernels that are not nests, as data, and how their loops are written.

A kernel is a *spec*, data that says what the code depends on: dtypes, how many dimensions there are, and which strides
are 0 or 1; :func:`emit` writes the loops. Lengths and other strides are given at run time, so one kernel serves every
length. Each kind has a file beside this one; a function there makes of places in memory a :class:`Sized`: the spec, and
what it is called with.

Dimensions come outermost first, those that are run along or reduced last. Dimensions of length 1 are gone, and those
that lie one within the other are one (:mod:`~wengert.codegen.strides`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from wengert.codegen import memory
from wengert.codegen.ir import Function, Value
from wengert.codegen.strides import Strides
from wengert.codegen.target import Target
from wengert.ops.kernels import Kernel

Vectors = list[tuple[Value, Value | None]]
"""Where vectors begin, and which of their lanes count (None: all)."""
Rows = list[tuple[list[str], Value | None]]
"""Vectors (or elements) side by side: where each has its operands, and which of its lanes count."""

REFUSED = 1  # the status for operands that the reference raises an error for


class Sized(NamedTuple):
    """A spec, and the sizes that it is called with."""

    spec: Spec
    sizes: tuple[int, ...]
    extent: int
    grain: int


class Spec(Kernel):
    """A kernel as data: equal specs are one kernel."""

    def write(self, code: SpecWriter) -> None:
        raise NotImplementedError


def emit(spec: Spec, name: str, target: Target) -> str:
    """The text of an LLVM module with the kernel ``name``."""
    code = SpecWriter(target)
    spec.write(code)
    return code.module(name)


class SpecWriter:
    """A kernel that is being written: its operands and sizes are asked for in order, loops are functions of bodies."""

    def __init__(self, target: Target) -> None:
        self.f = Function(target)
        self.target = target
        self.begin, self.end = self.f.part()
        self._n_pointers = self._n_sizes = 0
        self._can_fail = False

    def module(self, name: str) -> str:
        f = self.f
        f.lines.append("  ret i32 0")
        if self._can_fail:
            f.start("fail")
            f.lines.append(f"  ret i32 {REFUSED}")
        return f.kernel(name)

    # -------------------------------------------------------------------------------------------- arguments

    def pointer(self) -> str:
        """The next operand."""
        slot = self.f.pure(f"getelementptr ptr, ptr %pointers, i64 {self._n_pointers}", "u8", 1).text
        self._n_pointers += 1
        return self.f.pure(f"load ptr, ptr {slot}", "u8", 1).text

    def size(self) -> Value:
        """The next number among the sizes."""
        slot = self.f.pure(f"getelementptr i64, ptr %sizes, i64 {self._n_sizes}", "u8", 1).text
        self._n_sizes += 1
        return self.f.pure(f"load i64, ptr {slot}", "i8", 1)

    def strides(self, row: Strides, size: int) -> list[Value]:
        """The strides ``row`` in bytes, for elements of ``size`` bytes; those that are None are read from the sizes."""
        return [self.size() * size if s is None else self.number(s * size) for s in row]

    def number(self, i: int) -> Value:
        return self.f.constant(i, "i8")

    def width(self, *sizes: int) -> int:
        """The number of lanes of a vector whose widest elements have so many bytes."""
        return self.target.lanes(max(sizes))

    # ----------------------------------------------------------------------------------------- control flow

    def loop(self, start: Value, stop: Value, step: int, body: Callable[[Value], None]) -> None:
        """``for i in range(start, stop, step): body(i)``"""
        self.f.loop(start, stop, self.number(step), body)

    def across(self, start: Value, stop: Value, width: int, many: int, body: Callable[[Vectors], None]) -> None:
        """Loop over the vectors of a range, ``many`` at once, then over the rest one by one, the last one masked."""
        block = many * width
        count = stop - start
        whole = start + (count - (count & (block - 1)))  # a block is a power of two
        self.loop(start, whole, block, lambda i: body([(i + k * width, None) for k in range(many)]))
        if block > 1:
            self.loop(whole, stop, width, lambda i: body([(i, self.mask(i, stop, width))]))

    def kept(
        self,
        pointers: Sequence[str],
        strides: Sequence[Sequence[Value]],
        extents: Sequence[Value],
        width: int,
        many: int,
        body: Callable[[Rows], None],
    ) -> None:
        """Loop over the dimensions that stay; the last of them is taken in ``many`` vectors of ``width`` at once."""

        def moved(here: Sequence[str], i: Value, d: int) -> list[str]:
            return [self.moved(p, (i, row[d])) for p, row in zip(here, strides, strict=True)]

        def loops(d: int, here: list[str]) -> None:
            if d == len(extents):
                body([(here, None)])
                return
            start, stop = (self.begin, self.end) if d == 0 else (self.number(0), extents[d])
            if d == len(extents) - 1:
                self.across(
                    start, stop, width, many, lambda vectors: body([(moved(here, i, d), mask) for i, mask in vectors])
                )
            else:
                self.loop(start, stop, 1, lambda i: loops(d + 1, moved(here, i, d)))

        loops(0, list(pointers))

    def mask(self, i: Value, stop: Value, width: int) -> Value | None:
        """The mask of the lanes of the vector at ``i`` that stand before ``stop``."""
        if width == 1:
            return None
        return self.lane_numbers(width).compare("lt", (stop - i).splat(width))

    def lane_numbers(self, width: int) -> Value:
        return self.f.vector(list(range(width)), "i8") if width > 1 else self.number(0)

    def fail_if(self, condition: Value) -> None:
        self._can_fail = True
        goes_on = self.f.new_label("fine")
        self.f.branch_if(condition, "fail", goes_on)
        self.f.start(goes_on)

    # ----------------------------------------------------------------------------------------------- memory

    def moved(self, pointer: str, *terms: tuple[Value, Value]) -> str:
        """``pointer``, index · stride (in bytes) further for each of the terms."""
        for i, stride in terms:
            if "0" not in (i.text, stride.text):
                pointer = self.f.pure(f"getelementptr i8, ptr {pointer}, {(i * stride).typed}", "u8", 1).text
        return pointer

    def load(self, pointer: str, dtype: str, lanes: int = 1, mask: Value | None = None) -> Value:
        return memory.load(self.f, pointer, dtype, lanes, mask)

    def store(self, pointer: str, x: Value, mask: Value | None = None) -> None:
        memory.store(self.f, pointer, x, mask)

    def gathered(self, pointer: str, offsets: Value, dtype: str, mask: Value) -> Value:
        return memory.gather(self.f, pointer, offsets, dtype, mask)

    def compress(self, pointer: str, x: Value, mask: Value) -> None:
        memory.compress(self.f, pointer, x, mask)

    def count(self, mask: Value) -> Value:
        """How many lanes of a mask are true."""
        bits = f"i{mask.lanes}"
        name = f"llvm.ctpop.{bits}"
        self.f.declarations[name] = f"declare {bits} @{name}({bits})"
        packed = self.f.pure(f"bitcast {mask.typed} to {bits}", "u1", 1).text
        ones = self.f.pure(f"call {bits} @{name}({bits} {packed})", "u1", 1).text
        return self.f.pure(f"zext {bits} {ones} to i64", "i8", 1)
