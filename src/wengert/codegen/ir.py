"""LLVM IR as text, written through values that behave like numbers.

A :class:`Value` is an SSA value: a scalar or a vector of ``lanes`` elements of one dtype. Arithmetic on values appends
instructions to their :class:`Function`, so that a formula in :mod:`wengert.codegen.vecmath` reads like the formula.

* dtypes are NumPy's short names: "f8", "f4", "i8" ... "i1", "u8" ... "u1", and "b1", a boolean (``i1`` in registers, a
  byte in memory). Signedness is part of the dtype, as LLVM's integers have none.
* A Python number beside a value takes its dtype and lanes.
* Equal pure instructions are one value: within a scope and the scopes around it (:meth:`Function.scope`). So the sine
  and the cosine of one argument share its reduction, though neither function knows of the other.
* No fast-math flags, ever; ``fma`` is fused only where it is written. The text is verified before LLVM compiles it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wengert.codegen.target import Target
from wengert.ops.kernels import NATIVE_DTYPES


def _scalar_type(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "f":
        return "double" if dtype.itemsize == 8 else "float"
    return "i1" if dtype.kind == "b" else f"i{8 * dtype.itemsize}"


LLVM_TYPES = {dtype.str[1:]: _scalar_type(dtype) for dtype in NATIVE_DTYPES}
"""LLVM's type of an element in a register, by the short name of its dtype."""

T = TypeVar("T")


class Value:
    """An SSA value, or a constant, of ``lanes`` elements (1: a scalar)."""

    __slots__ = ("dtype", "f", "lanes", "shifted", "text")

    def __init__(self, f: Function, text: str, dtype: str, lanes: int) -> None:
        self.f, self.text, self.dtype, self.lanes = f, text, dtype, lanes
        self.shifted: tuple[Value, int] | None = None
        """The other index and the number, if this index is their sum; then an address can hold the number."""

    @property
    def type(self) -> str:
        return llvm_type(self.dtype, self.lanes)

    @property
    def typed(self) -> str:
        return f"{self.type} {self.text}"

    @property
    def is_float(self) -> bool:
        return self.dtype[0] == "f"

    @property
    def is_unsigned(self) -> bool:
        return self.dtype[0] in "ub"

    def __repr__(self) -> str:
        return self.typed

    def like(self, number: Operand) -> Value:
        """Return ``number`` as a constant of this value's dtype and lanes; a value is returned as it is."""
        return number if isinstance(number, Value) else self.f.constant(number, self.dtype, self.lanes)

    # ------------------------------------------------------------------------------------------- arithmetic

    @property
    def _int_division(self) -> str:
        return "udiv" if self.is_unsigned else "sdiv"

    def _binary(self, other: Operand, float_op: str, int_op: str, swap: bool = False) -> Value:
        a, b = self, self.like(other)
        if swap:
            a, b = b, a
        return self.f.pure(f"{float_op if self.is_float else int_op} {a.typed}, {b.text}", self.dtype, self.lanes)

    # fmt: off
    def __add__(self, other: Operand) -> Value: return self._binary(other, "fadd", "add")
    def __radd__(self, other: Operand) -> Value: return self._binary(other, "fadd", "add", True)
    def __sub__(self, other: Operand) -> Value: return self._binary(other, "fsub", "sub")
    def __rsub__(self, other: Operand) -> Value: return self._binary(other, "fsub", "sub", True)
    def __mul__(self, other: Operand) -> Value: return self._binary(other, "fmul", "mul")
    def __rmul__(self, other: Operand) -> Value: return self._binary(other, "fmul", "mul", True)
    def __truediv__(self, other: Operand) -> Value: return self._binary(other, "fdiv", self._int_division)
    def __rtruediv__(self, other: Operand) -> Value: return self._binary(other, "fdiv", self._int_division, True)
    def __and__(self, other: Operand) -> Value: return self._binary(other, "", "and")
    def __or__(self, other: Operand) -> Value: return self._binary(other, "", "or")
    def __xor__(self, other: Operand) -> Value: return self._binary(other, "", "xor")
    def __lshift__(self, other: Operand) -> Value: return self._binary(other, "", "shl")
    def __rshift__(self, other: Operand) -> Value:
        return self._binary(other, "", "lshr" if self.is_unsigned else "ashr")
    def __invert__(self) -> Value: return self ^ (1 if self.dtype == "b1" else -1)
    def __lt__(self, other: Operand) -> Value: return self.compare("lt", other)
    def __le__(self, other: Operand) -> Value: return self.compare("le", other)
    def __gt__(self, other: Operand) -> Value: return self.compare("gt", other)
    def __ge__(self, other: Operand) -> Value: return self.compare("ge", other)
    # fmt: on

    def __neg__(self) -> Value:
        if self.is_float:
            return self.f.pure(f"fneg {self.typed}", self.dtype, self.lanes)
        return 0 - self

    def compare(self, how: str, other: Operand) -> Value:
        """ "lt", "le", "gt", "ge", "eq" (ordered: false for NaN), "ne" (true for NaN) or "un" (either is NaN)."""
        b = self.like(other)
        if self.is_float:
            code = f"fcmp {'une' if how == 'ne' else 'uno' if how == 'un' else 'o' + how}"
        else:
            code = f"icmp {how if how in ('eq', 'ne') else ('u' if self.is_unsigned else 's') + how}"
        return self.f.pure(f"{code} {self.typed}, {b.text}", "b1", self.lanes)

    def eq(self, other: Operand) -> Value:
        return self.compare("eq", other)

    def ne(self, other: Operand) -> Value:
        return self.compare("ne", other)

    # ------------------------------------------------------------------------------------------ conversions

    def bits(self, dtype: str) -> Value:
        """This value's bits as another dtype of the same size."""
        if LLVM_TYPES[dtype] == LLVM_TYPES[self.dtype]:
            return Value(self.f, self.text, dtype, self.lanes)
        return self.f.pure(f"bitcast {self.typed} to {llvm_type(dtype, self.lanes)}", dtype, self.lanes)

    def to(self, dtype: str) -> Value:
        """This number converted to another dtype, as ``astype`` does for values that fit; "b1": whether it is not
        zero."""
        old = self.dtype
        if dtype == old:
            return self
        if dtype == "b1":
            return self.ne(0)
        new_type = llvm_type(dtype, self.lanes)
        old_size, new_size = int(old[1]) if old != "b1" else 0, int(dtype[1])
        if self.is_float and dtype[0] == "f":
            code = "fpext" if new_size > old_size else "fptrunc"
        elif self.is_float:
            code = "fptoui" if dtype[0] == "u" else "fptosi"
        elif dtype[0] == "f":
            code = "uitofp" if self.is_unsigned else "sitofp"
        elif new_size == old_size:
            return self.bits(dtype)
        else:
            code = "trunc" if new_size < old_size else "zext" if self.is_unsigned else "sext"
        return self.f.pure(f"{code} {self.typed} to {new_type}", dtype, self.lanes)

    def splat(self, lanes: int) -> Value:
        """This scalar in every lane."""
        if self.lanes == lanes:
            return self
        assert self.lanes == 1
        one = self.f.pure(
            f"insertelement {llvm_type(self.dtype, lanes)} poison, {self.typed}, i32 0", self.dtype, lanes
        )
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.f.pure(f"shufflevector {one.typed}, {one.type} poison, {zeros}", self.dtype, lanes)

    def lane(self, k: int) -> Value:
        """Lane ``k`` as a scalar."""
        return self.f.pure(f"extractelement {self.typed}, i32 {k}", self.dtype, 1)

    def with_lane(self, k: int, x: Value) -> Value:
        return self.f.pure(f"insertelement {self.typed}, {x.typed}, i32 {k}", self.dtype, self.lanes)

    def shuffle(self, order: list[int], other: Value | None = None) -> Value:
        """The lanes ``order`` of this vector followed by ``other``."""
        second = other.text if other is not None else "poison"
        mask = ", ".join(f"i32 {k}" for k in order)
        return self.f.pure(
            f"shufflevector {self.typed}, {self.type} {second}, <{len(order)} x i32> <{mask}>", self.dtype, len(order)
        )


Operand = Value | float
"""A value, or a number that is written into the code as a constant of the other operand's dtype."""


def llvm_type(dtype: str, lanes: int) -> str:
    scalar = LLVM_TYPES[dtype]
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def format_number(value: float | np.generic, dtype: str) -> str:
    """A constant as LLVM writes it: floats by their bits, so that nothing is rounded."""
    if dtype == "b1":
        return "true" if value else "false"
    if dtype[0] == "f":
        if dtype == "f4":  # written as the double that it equals; a float32 NaN or inf too
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"
    bits = 8 * int(dtype[1])
    number = int(value) & ((1 << bits) - 1)
    return str(number - (1 << bits) if number >> (bits - 1) else number)


Index = int | Value
"""An index or a size: a number that is known when the code is written, or a scalar value of the code."""


class Cell:
    """A variable of the function that is being written: ``cell``, ``read`` and ``write`` of :class:`Function`."""

    __slots__ = ("depth", "value")

    def __init__(self, value: Value, depth: int) -> None:
        self.value = value
        self.depth = depth
        """The number of loops and branches that were open when the value was given."""


class _Frame(NamedTuple):
    """A loop or branch that is being written."""

    is_loop: bool
    carried: dict[Cell, tuple[Value, Value]]
    """The cells from outside that are read or written inside, with the value before the loop and the value inside."""


class Function:
    """The text of one function while it grows.

    ``header`` is its signature; the caller opens blocks and terminates them. Names of registers are unique.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        """Further lines of the module, by name: intrinsics, constants, functions that are called."""
        self._allocas: list[str] = []
        self._scratch: dict[tuple[str, int, int], str] = {}
        self._count = 0
        self._scopes: list[dict[Any, Any]] = [{}]
        self._frames: list[_Frame] = []
        self.block = "entry"
        """The label of the block that is being written, which phis of its successors name."""

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def pure(self, code: str, dtype: str, lanes: int) -> Value:
        """The value of an instruction without effects; the same instruction again gives the same value."""
        key = code, dtype, lanes  # LLVM's types do not say the sign
        for known in self._scopes:
            if key in known:
                return known[key]
        value = Value(self, self.name(), dtype, lanes)
        self.lines.append(f"  {value.text} = {code}")
        self._scopes[-1][key] = value
        return value

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """Return the result of ``make``, which is made once for the key, as an instruction is. It serves values whose
        code has branches or phis."""
        for known in self._scopes:
            if key in known:
                return known[key]
        result = self._scopes[-1][key] = make()
        return result

    def effect(self, code: str, dtype: str = "", lanes: int = 1) -> Value:
        """An instruction that must stand where it is: a load, a store, a phi."""
        if not dtype:
            self.lines.append(f"  {code}")
            return Value(self, "", "", 1)
        value = Value(self, self.name(), dtype, lanes)
        self.lines.append(f"  {value.text} = {code}")
        return value

    def call(self, name: str, dtype: str, lanes: int, *args: Value | str) -> Value:
        """A pure call, of an intrinsic such as "llvm.sqrt"; an argument may be text, a type and a constant."""
        returned = llvm_type(dtype, lanes)
        types = [a.split()[0] if isinstance(a, str) else a.type for a in args]
        self.declarations[name] = f"declare {returned} @{name}({', '.join(types)})"
        given = [a if isinstance(a, str) else a.typed for a in args]
        return self.pure(f"call {returned} @{name}({', '.join(given)})", dtype, lanes)

    def constant(self, value: float, dtype: str, lanes: int = 1) -> Value:
        number = format_number(value, dtype)
        if lanes > 1:
            number = f"<{', '.join([f'{LLVM_TYPES[dtype]} {number}'] * lanes)}>"
        return Value(self, number, dtype, lanes)

    def part(self) -> tuple[Value, Value]:
        """The two integers that a kernel is called with: the begin and the end of its part of the outermost loop."""
        return Value(self, "%begin", "i8", 1), Value(self, "%end", "i8", 1)

    def index(self, i: Index) -> Value:
        """An index, or a size, as a value."""
        return self.constant(i, "i8") if isinstance(i, int) else i

    def vector(self, values: list[Any], dtype: str) -> Value:
        """A constant vector."""
        scalar = LLVM_TYPES[dtype]
        return Value(self, f"<{', '.join(f'{scalar} {format_number(v, dtype)}' for v in values)}>", dtype, len(values))

    def intrinsic(self, name: str, *args: Value) -> Value:
        """``llvm.<name>`` overloaded on the type of its first argument, which it returns."""
        x = args[0]
        suffix = f"{'' if x.lanes == 1 else f'v{x.lanes}'}{'f' if x.is_float else 'i'}{_bits(x.dtype)}"
        return self.call(f"llvm.{name}.{suffix}", x.dtype, x.lanes, *args)

    # ----------------------------------------------------------------------------------- variables and memory

    def cell(self, x: Value) -> Cell:
        """A variable that begins as ``x``. Its values after loops and branches become phis, as LLVM needs them."""
        return Cell(x, len(self._frames))

    def read(self, cell: Cell) -> Value:
        for frame in self._frames[cell.depth :]:
            x = before = cell.value
            if frame.is_loop:  # it may be another one the next time around
                x = Value(self, self.name(), before.dtype, before.lanes)
            frame.carried[cell] = before, x
            cell.value = x
        cell.depth = len(self._frames)
        return cell.value

    def write(self, cell: Cell, x: Value) -> None:
        self.read(cell)  # the variable gets its value outside of the loop
        cell.value = x

    def alloca(self, kind: str, count: int, align: int) -> str:
        """Memory on the stack, for as long as the function runs."""
        name = self.name()
        self._allocas.append(f"  {name} = alloca {kind}, i64 {count}, align {align}")
        return name

    def zeroed(self) -> str:
        """Eight bytes of zeros on the stack."""
        name = self.alloca("i64", 1, 8)
        self._allocas.append(f"  store i64 0, ptr {name}")
        return name

    def scratch(self, kind: str, count: int, align: int) -> str:
        """Memory on the stack that all who ask for the same share: it must be read before it is written again."""
        size = kind, count, align
        if size not in self._scratch:
            self._scratch[size] = self.alloca(*size)
        return self._scratch[size]

    # ------------------------------------------------------------------------------------------------ blocks

    def new_label(self, hint: str) -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def start(self, label: str) -> None:
        """Begin the block ``label``."""
        self.lines.append(f"{label}:")
        self.block = label

    def branch(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch_if(self, condition: Value, then: str, otherwise: str) -> None:
        self.lines.append(f"  br {condition.typed}, label %{then}, label %{otherwise}")

    def body(self) -> list[str]:
        """The lines between the braces; the last block must have been terminated."""
        return ["entry:", *self._allocas, *self.lines]

    def kernel(self, name: str) -> str:
        """The text of a module with this function as the kernel ``name``.

        With the stack aligned, a vector that LLVM puts aside lies in one cache line: else loops with many of them take
        up to twice as long, depending on where the caller's stack ends.
        """
        operands = "ptr noalias %pointers, ptr noalias %sizes, i64 %begin, i64 %end"
        return self._module(f"i32 @{name}({operands}) alignstack({self.target.vector_bytes})")

    def of_values(self, name: str, operands: Sequence[Value], results: Sequence[Value]) -> str:
        """The text of a module with this function as one of values: ``name(*operands)``; of several results, as a
        structure."""
        returned = results[0].type if len(results) == 1 else f"{{ {', '.join([x.type for x in results])} }}"
        answer = results[0].typed
        if len(results) > 1:
            answer = f"{returned} poison"
            for k, x in enumerate(results):
                answer = f"{returned} {self.pure(f'insertvalue {answer}, {x.typed}, {k}', x.dtype, x.lanes).text}"
        self.lines.append(f"  ret {answer}")
        return self._module(f"{returned} @{name}({', '.join([x.typed for x in operands])})")

    def _module(self, header: str) -> str:
        width = 8 * self.target.vector_bytes
        return "\n".join(
            [
                f'target triple = "{self.target.triple}"',
                *self.declarations.values(),
                f"define {header} #0 {{",
                *self.body(),
                "}",
                f'attributes #0 = {{ nounwind "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}" }}',
                "",
            ]
        )

    def loop(
        self, start: Value, stop: Value, step: Value, body: Callable[[Value], None], is_entered: bool = False
    ) -> None:
        """``for i in range(start, stop, step): body(i)``; ``is_entered``: at least once, so that is not asked."""
        head, done = self.new_label("loop"), self.new_label("done")
        if is_entered:
            self.branch(head)
        else:
            self.branch_if(start < stop, head, done)
        before = self.block
        self.start(head)
        i, following = self.name(), self.name()
        place = len(self.lines)  # phis go here: they name the block in which the body ends
        with self.scope(is_loop=True) as carried:
            body(Value(self, i, start.dtype, 1))
        last = self.block
        self.lines[place:place] = [
            f"  {i} = {_phi(start, before, Value(self, following, start.dtype, 1), last)}",
            *[f"  {x.text} = {_phi(entry, before, cell.value, last)}" for cell, (entry, x) in carried.items()],
        ]
        self.lines.append(f"  {following} = add {start.type} {i}, {step.text}")
        self.branch_if(self.effect(f"icmp slt {start.type} {following}, {stop.text}", "b1"), head, done)
        self.start(done)
        for cell, (entry, _) in carried.items():
            self._leave(cell, cell.value if is_entered else self._merged(entry, before, cell.value, last))

    def when(self, condition: Value, body: Callable[[], None]) -> None:
        """``if condition: body()``"""
        then, after = self.new_label("then"), self.new_label("after")
        self.branch_if(condition, then, after)
        before = self.block
        self.start(then)
        with self.scope() as carried:
            body()
        last = self.block
        self.branch(after)
        self.start(after)
        for cell, (entry, _) in carried.items():
            self._leave(cell, self._merged(entry, before, cell.value, last))

    def _merged(self, a: Value, from_a: str, b: Value, from_b: str) -> Value:
        return a if a is b else self.effect(_phi(a, from_a, b, from_b), a.dtype, a.lanes)

    def _leave(self, cell: Cell, x: Value) -> None:
        cell.value, cell.depth = x, len(self._frames)

    @contextmanager
    def scope(self, is_loop: bool = False) -> Iterator[dict[Cell, tuple[Value, Value]]]:
        """The body of a loop, or of a branch: values made inside are not known outside; cells are carried."""
        self._scopes.append({})
        self._frames.append(_Frame(is_loop, {}))
        try:
            yield self._frames[-1].carried
        finally:
            self._scopes.pop()
            self._frames.pop()


def _phi(a: Value, from_a: str, b: Value, from_b: str) -> str:
    return f"phi {a.type} [ {a.text}, %{from_a} ], [ {b.text}, %{from_b} ]"


def _bits(dtype: str) -> int:
    return 1 if dtype == "b1" else 8 * int(dtype[1])


# ------------------------------------------------------------------------------------- functions of values


def select(c: Value, a: Operand, b: Operand) -> Value:
    """``a`` where ``c`` holds, else ``b``; one of them may be a number."""
    like: Any = a if isinstance(a, Value) else b
    first, second = like.like(a), like.like(b)
    return c.f.pure(f"select {c.typed}, {first.typed}, {second.typed}", first.dtype, first.lanes)


def greatest(f: Function, i: Index, limit: Index) -> Index:
    """The greater of two indices."""
    if isinstance(i, int) and isinstance(limit, int):
        return max(i, limit)
    i, limit = f.index(i), f.index(limit)
    return select(i > limit, i, limit)


def least(f: Function, i: Index, limit: Index) -> Index:
    """The lesser of two indices."""
    if isinstance(i, int) and isinstance(limit, int):
        return min(i, limit)
    i, limit = f.index(i), f.index(limit)
    return select(i < limit, i, limit)


def fma(a: Value, b: Operand, c: Operand) -> Value:
    """``a * b + c``: fused, hence rounded once, where the target can (``target.has_fma``); else in two steps.

    A formula that *needs* the single rounding asks for ``f.target.has_fma`` and has another way.
    """
    b, c = a.like(b), a.like(c)
    if not a.f.target.has_fma:
        return a * b + c
    return a.f.intrinsic("fma", a, b, c)


# fmt: off
def sqrt(x: Value) -> Value: return x.f.intrinsic("sqrt", x)
def absolute(x: Value) -> Value: return x.f.intrinsic("fabs", x)
def floor(x: Value) -> Value: return x.f.intrinsic("floor", x)
def ceil(x: Value) -> Value: return x.f.intrinsic("ceil", x)
def trunc(x: Value) -> Value: return x.f.intrinsic("trunc", x)
def rint(x: Value) -> Value: return x.f.intrinsic("rint", x)  # ties to even
def copysign(x: Value, sign: Value) -> Value: return x.f.intrinsic("copysign", x, x.like(sign))
# fmt: on


def any_lane(c: Value) -> Value:
    """Whether c holds in any lane, as a scalar."""
    return c if c.lanes == 1 else c.f.call(f"llvm.vector.reduce.or.v{c.lanes}i1", "b1", 1, c)


def replace_where(c: Value, near: Sequence[Value], far: Callable[[], Sequence[Value]]) -> list[Value]:
    """``near``, and ``far()`` in the lanes where c holds, which is rare: its code is a branch that is taken for those.

    The block that follows is another one.
    """
    f = c.f
    cells = [f.cell(x) for x in near]

    def rare() -> None:
        for cell, x in zip(cells, far(), strict=True):
            f.write(cell, select(c, x, f.read(cell)))

    f.when(any_lane(c), rare)
    return [f.read(cell) for cell in cells]
