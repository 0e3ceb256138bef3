"""Kernels that are no map: elements at index arrays, running reductions, where something is.

A kernel is a *spec*, data that says what the code depends on: dtypes, how many dimensions there are, and which strides
are 0 or 1; :meth:`emit` writes the loops. Lengths and other strides are given at run time, so one kernel serves every
length. For each kind a function makes of places in memory a :class:`Sized`: the spec, and what it is called with.

* :class:`Indexed`: ``y = x[i, ...]``, ``x[i, ...] = v`` and ``x[i, ...] += v``. A negative index counts from the end;
  one that is out of bounds ends the kernel with status 1, and the caller raises the error. Writes are made in C order,
  so that the last one wins and sums are those of ``np.add.at``.
* :class:`Running`: every prefix of a reduction along one axis, one element after the other as in NumPy, hence bit for
  bit NumPy's. What runs side by side are vectors along another axis, or several rows.
* :class:`Extreme`: the first index of the largest or the smallest element along an axis, a NaN before all others.
* :class:`Nonzero`: the indices of what is not zero. Their number is given; another one ends the kernel with status 1.
* :class:`Search`: the place of each value in a sorted table, by bisection, several values side by side.

Dimensions come outermost first, those that are run along or reduced last. Dimensions of length 1 are gone, and those
that lie one within the other are one. Strides count elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from wengert.codegen import vecmath
from wengert.codegen.ir import Function, Target, Value, llvm_type, select
from wengert.codegen.loops import MAX_LANES, f_value, memory, memory_type, size_of, suffix
from wengert.ops.kernels import Kernel
from wengert.passes.plan import Place

Strides = tuple[int | None, ...]
"""One a dimension: 0, 1, or None, which is given at run time."""
Vectors = list[tuple[Value, Value | None]]
"""Where vectors begin, and which of their lanes count (None: all)."""

GRAIN = 16384  # points that are worth handing to a thread
REFUSED = 1  # the status for operands that the reference raises an error for


class Sized(NamedTuple):
    """A spec, and what it is called with."""

    spec: Spec
    sizes: tuple[int, ...]
    extent: int
    grain: int


class Spec(Kernel):
    """A kernel as data: equal specs are one kernel."""

    def emit(self, name: str, target: Target) -> str:
        """The text of an LLVM module with the kernel ``name``."""
        code = _Code(target)
        self.write(code)
        return code.module(name)

    def write(self, code: _Code) -> None:
        raise NotImplementedError


# ------------------------------------------------------------------------------------------------- writing loops


class _Code:
    """A kernel that is being written: its operands and sizes are asked for in order, loops are functions of bodies."""

    def __init__(self, target: Target) -> None:
        self.f = Function(target)
        self.target = target
        self.begin, self.end = f_value(self.f, "%begin"), f_value(self.f, "%end")
        self._allocas: list[str] = []
        self._n_pointers = self._n_sizes = 0
        self._can_fail = False

    def module(self, name: str) -> str:
        f = self.f
        f.lines.append("  ret i32 0")
        if self._can_fail:
            f.start("fail")
            f.lines.append(f"  ret i32 {REFUSED}")
        return f.kernel(name, self._allocas)

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
        """In bytes, of elements of ``size`` bytes."""
        return [self.size() * size if s is None else self.number(s * size) for s in row]

    def number(self, i: int) -> Value:
        return self.f.constant(i, "i8")

    def width(self, *sizes: int) -> int:
        """Lanes of a vector whose widest elements have so many bytes."""
        return max(1, min(self.target.vector_bytes // max(sizes), MAX_LANES))

    # ----------------------------------------------------------------------------------------- control flow

    def loop(self, start: Value, stop: Value, step: int, body: Callable[[Value], None]) -> None:
        """``for i in range(start, stop, step): body(i)``"""
        self.f.loop(start, stop, self.number(step), body)

    def across(self, start: Value, stop: Value, width: int, many: int, body: Callable[[Vectors], None]) -> None:
        """``body`` for the vectors of a range, ``many`` at once; what is left over one by one, the last one masked."""
        block = many * width
        count = stop - start
        whole = start + (count - (count & (block - 1)))  # a block is a power of two
        self.loop(start, whole, block, lambda i: body([(i + k * width, None) for k in range(many)]))
        if block > 1:
            self.loop(whole, stop, width, lambda i: body([(i, self.mask(i, stop, width))]))

    def mask(self, i: Value, stop: Value, width: int) -> Value | None:
        """Which lanes of the vector at ``i`` stand before ``stop``."""
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

    def when(self, condition: Value, body: Callable[[], None]) -> None:
        then, after = self.f.new_label("then"), self.f.new_label("after")
        self.f.branch_if(condition, then, after)
        self.f.start(then)
        with self.f.scope():
            body()
        self.f.branch(after)
        self.f.start(after)

    # ----------------------------------------------------------------------------------------------- memory

    def moved(self, pointer: str, *terms: tuple[Value, Value]) -> str:
        """``pointer``, index · stride (in bytes) further for each of the terms."""
        for i, stride in terms:
            if "0" not in (i.text, stride.text):
                pointer = self.f.pure(f"getelementptr i8, ptr {pointer}, {(i * stride).typed}", "u8", 1).text
        return pointer

    def load(self, pointer: str, dtype: str, lanes: int = 1, mask: Value | None = None) -> Value:
        """Elements that lie side by side. Never taken as known: the memory may be what the kernel writes."""
        f, kind, align = self.f, memory_type(dtype, lanes), size_of(dtype)
        if mask is None or lanes == 1:
            x = f.effect(f"load {kind}, ptr {pointer}, align {align}", memory(dtype), lanes)
        else:
            name = f"llvm.masked.load.{suffix(dtype, lanes)}.p0"
            f.declarations[name] = f"declare {kind} @{name}(ptr, i32, <{lanes} x i1>, {kind})"
            given = f"ptr {pointer}, i32 {align}, {mask.typed}, {kind} zeroinitializer"
            x = f.effect(f"call {kind} @{name}({given})", memory(dtype), lanes)
        return x.ne(0) if dtype == "b1" else x

    def store(self, pointer: str, x: Value, mask: Value | None = None) -> None:
        f, kind, align = self.f, memory_type(x.dtype, x.lanes), size_of(x.dtype)
        data = x.text
        if x.dtype == "b1":
            data = f.pure(f"zext {x.typed} to {kind}", "u1", x.lanes).text
        if mask is None or x.lanes == 1:
            f.effect(f"store {kind} {data}, ptr {pointer}, align {align}")
            return
        name = f"llvm.masked.store.{suffix(x.dtype, x.lanes)}.p0"
        f.declarations[name] = f"declare void @{name}({kind}, ptr, i32, <{x.lanes} x i1>)"
        f.effect(f"call void @{name}({kind} {data}, ptr {pointer}, i32 {align}, {mask.typed})")

    def gathered(self, pointer: str, offsets: Value, dtype: str, mask: Value) -> Value:
        """The elements so many bytes from ``pointer``, one a lane."""
        f, lanes, kind = self.f, offsets.lanes, memory_type(dtype, offsets.lanes)
        places = f.pure(f"getelementptr i8, ptr {pointer}, {offsets.typed}", "u8", 1).text
        name = f"llvm.masked.gather.{suffix(dtype, lanes)}.v{lanes}p0"
        f.declarations[name] = f"declare {kind} @{name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {kind})"
        given = f"<{lanes} x ptr> {places}, i32 {size_of(dtype)}, {mask.typed}, {kind} zeroinitializer"
        return f.effect(f"call {kind} @{name}({given})", dtype, lanes)

    def compress(self, pointer: str, x: Value, mask: Value) -> None:
        """The lanes of ``x`` that count, one beside the other."""
        kind, name = x.type, f"llvm.masked.compressstore.{suffix(x.dtype, x.lanes)}"
        self.f.declarations[name] = f"declare void @{name}({kind}, ptr, <{x.lanes} x i1>)"
        self.f.effect(f"call void @{name}({x.typed}, ptr align {size_of(x.dtype)} {pointer}, {mask.typed})")

    def count(self, mask: Value) -> Value:
        """How many lanes of a mask are true."""
        bits = f"i{mask.lanes}"
        name = f"llvm.ctpop.{bits}"
        self.f.declarations[name] = f"declare {bits} @{name}({bits})"
        packed = self.f.pure(f"bitcast {mask.typed} to {bits}", "u1", 1).text
        ones = self.f.pure(f"call {bits} @{name}({bits} {packed})", "u1", 1).text
        return self.f.pure(f"zext {bits} {ones} to i64", "i8", 1)

    def cell(self, x: Value) -> str:
        """Memory that holds ``x``, to be written again; LLVM keeps it in a register."""
        name = self.f.name()
        self._allocas.append(f"  {name} = alloca {llvm_type(x.dtype, x.lanes)}")
        self.write(name, x)
        return name

    def write(self, cell: str, x: Value) -> None:
        self.f.effect(f"store {x.typed}, ptr {cell}")

    def read(self, cell: str, like: Value) -> Value:
        return self.f.effect(f"load {like.type}, ptr {cell}", like.dtype, like.lanes)


# ------------------------------------------------------------------------------------------------ index arrays


class Indexed(Spec):
    """Operands: x, the index arrays, and the other side: what is read of x, or what is written there.

    The dimensions are those of the index arrays together, then the axes of x behind the indexed ones. For each index
    array the length and the stride of its axis of x are among the sizes.
    """

    what: str
    """ "gather", "set" or "add"."""
    dtype: str
    indices: tuple[Strides, ...]
    """Of the index arrays, over the first dimensions."""
    x: Strides
    """Over the other dimensions."""
    other: Strides
    """Over all dimensions."""

    def write(self, code: _Code) -> None:
        _IndexedLoops(self, code).write()


class _IndexedLoops:
    def __init__(self, spec: Indexed, code: _Code) -> None:
        self.spec, self.code, self.f = spec, code, code.f
        self.item = size_of(spec.dtype)
        self.n_index = len(spec.other) - len(spec.x)
        self.x = code.pointer()
        self.arrays = [code.pointer() for _ in spec.indices]
        self.other = code.pointer()
        self.extents = [code.size() for _ in spec.other]
        self.axes = [(code.size(), code.size() * self.item) for _ in spec.indices]  # length, stride in bytes
        self.index_strides = [code.strides(row, 8) for row in spec.indices]
        self.x_strides = code.strides(spec.x, self.item)
        self.other_strides = code.strides(spec.other, self.item)
        # The depth at which an index array's element is known: behind the last dimension it depends on.
        self.known_at = [max([d + 1 for d, s in enumerate(row) if s != 0], default=0) for row in spec.indices]
        self.lanes_are_indices = (
            spec.what == "gather"
            and not spec.x
            and self.n_index > 0
            and self.item >= 4
            and spec.other[-1] == 1
            and {row[-1] for row in spec.indices} in ({1}, {0, 1})
        )

    def write(self) -> None:
        self._index_loops(0, self.x, self.arrays, self.other)

    def _range(self, d: int) -> tuple[Value, Value]:
        if d == 0 and self.spec.what == "gather":
            return self.code.begin, self.code.end
        return self.code.number(0), self.extents[d]

    def _index_loops(self, d: int, x: str, arrays: list[str], other: str) -> None:
        """The loop over dimension ``d`` and those within. Pointers have come as far as the outer ones lead."""
        code = self.code
        for k, (length, stride) in enumerate(self.axes):
            if self.known_at[k] == d:
                i = code.load(arrays[k], "i8")
                place, is_outside = self._place(i, length)
                code.fail_if(is_outside)
                x = code.moved(x, (place, stride))
        if d == self.n_index:
            self._row(d, x, other)
            return
        if d == self.n_index - 1 and self.lanes_are_indices:
            self._gather_lanes(d, x, arrays, other)
            return

        def body(i: Value) -> None:
            inner = [code.moved(p, (i, row[d])) for p, row in zip(arrays, self.index_strides, strict=True)]
            self._index_loops(d + 1, x, inner, code.moved(other, (i, self.other_strides[d])))

        code.loop(*self._range(d), 1, body)

    def _place(self, i: Value, length: Value) -> tuple[Value, Value]:
        """The index counted from the beginning, and whether it is out of bounds."""
        length = length.splat(i.lanes)
        place = select(i < 0, i + length, i)
        return place, place.bits("u8") >= length.bits("u8")

    def _gather_lanes(self, d: int, x: str, arrays: list[str], other: str) -> None:
        """Neighbours in the result, each from where its index says."""
        code, width = self.code, self.code.width(8)

        def body(vectors: Vectors) -> None:
            for i, mask in vectors:
                mask = mask or self.f.constant(1, "b1", width)
                offsets = None
                for k, (length, stride) in enumerate(self.axes):
                    if self.known_at[k] != d + 1:
                        continue
                    here = code.moved(arrays[k], (i, code.number(8)))
                    place, is_outside = self._place(code.load(here, "i8", width, mask), length)
                    is_outside = is_outside & mask
                    any_outside = self.f.call(f"llvm.vector.reduce.or.v{width}i1", "b1", 1, is_outside)
                    code.fail_if(any_outside)
                    term = place * stride.splat(width)
                    offsets = term if offsets is None else offsets + term
                assert offsets is not None
                values = code.gathered(x, offsets, self.spec.dtype, mask)
                code.store(code.moved(other, (i, code.number(self.item))), values, mask)

        code.across(*self._range(d), width, 1, body)

    def _row(self, d: int, x: str, other: str) -> None:
        """The axes behind the indexed ones."""
        code, spec = self.code, self.spec
        k = d - self.n_index
        if d == len(spec.other):
            self._element(x, other, 1, None, False)
            return
        if d == len(spec.other) - 1 and spec.x[k] == 1 and spec.other[d] in (0, 1):
            width = code.width(self.item)
            is_repeated = spec.other[d] == 0
            if spec.what != "gather" or not is_repeated:

                def vectors(which: Vectors) -> None:
                    for i, mask in which:
                        step = code.number(self.item)
                        there = other if is_repeated else code.moved(other, (i, step))
                        self._element(code.moved(x, (i, step)), there, width, mask, is_repeated)

                code.across(*self._range(d), width, 1, vectors)
                return

        def body(i: Value) -> None:
            self._row(d + 1, code.moved(x, (i, self.x_strides[k])), code.moved(other, (i, self.other_strides[d])))

        code.loop(*self._range(d), 1, body)

    def _element(self, x: str, other: str, lanes: int, mask: Value | None, is_repeated: bool) -> None:
        code, spec = self.code, self.spec
        if spec.what == "gather":
            code.store(other, code.load(x, spec.dtype, lanes, mask), mask)
            return
        value = code.load(other, spec.dtype) if is_repeated else code.load(other, spec.dtype, lanes, mask)
        value = value.splat(lanes) if lanes > 1 else value
        if spec.what == "add":
            value = vecmath.apply("add", [code.load(x, spec.dtype, lanes, mask), value], spec.dtype)
        code.store(x, value, mask)


def indexed(what: str, x: Place, indices: Sequence[Place], other: Place) -> Sized | None:
    """``other = x[indices]``, ``x[indices] = other`` or ``x[indices] += other``; None if the dtypes are not for it."""
    n = len(indices)
    dtype = x.aval.dtype
    if other.aval.dtype != dtype or any(i.aval.dtype.str[1:] != "i8" for i in indices):
        return None
    size = dtype.itemsize
    index_ndim = max([i.aval.ndim for i in indices], default=0)
    index_shape = [max([_length(i, index_ndim, d) for i in indices], key=lambda m: m != 1) for d in range(index_ndim)]
    shape = [*index_shape, *x.aval.shape[n:]]
    index_rows = [_aligned(i, index_ndim) for i in indices]
    other_row = _aligned(other, len(shape))
    x_row = [s // size for s in x.strides[n:]]
    outer, rows = merged(index_shape, [*index_rows, other_row[:index_ndim]])
    inner, (x_row, other_inner) = merged(list(x.aval.shape[n:]), [x_row, other_row[index_ndim:]])
    *index_rows, other_outer = rows
    sizes = [*outer, *inner]
    for length, stride in zip(x.aval.shape[:n], x.strides[:n], strict=True):
        sizes += [length, stride // size]
    spec = Indexed(
        what,
        dtype.str[1:] if what == "add" else f"u{size}",  # what is only copied is bits
        tuple([_given(row, sizes) for row in index_rows]),
        _given(x_row, sizes),
        _given([*other_outer, *other_inner], sizes),
    )
    extents = [*outer, *inner]
    is_shared = what == "gather" and bool(extents)
    return Sized(spec, tuple(sizes), extents[0] if is_shared else 1, _grain(extents) if is_shared else 0)


# ------------------------------------------------------------------------------------------- running reductions


class Running(Spec):
    """Operands: what goes in (of "multiply_add" the factors, then the terms), and the result.

    The dimensions that stay come first, the lanes last among them, then the one that is run along.
    """

    combine: str
    dtype: str
    inputs: tuple[Strides, ...]
    output: Strides
    is_vector: bool
    """The lanes are neighbours in memory, for all operands."""

    def write(self, code: _Code) -> None:
        item = size_of(self.dtype)
        pointers = [code.pointer() for _ in range(len(self.inputs) + 1)]
        extents = [code.size() for _ in self.output]
        strides = [code.strides(row, item) for row in (*self.inputs, self.output)]
        width = code.width(item) if self.is_vector else 1

        def body(bases: list[list[str]], masks: list[Value | None]) -> None:
            cells = []
            for at, mask in zip(bases, masks, strict=True):
                first = code.load(at[-2], self.dtype, width, mask)  # of "multiply_add" the first factor is not read
                code.store(at[-1], first, mask)
                cells.append((code.cell(first), first))

            def step(i: Value) -> None:
                for at, mask, (cell, like) in zip(bases, masks, cells, strict=True):
                    here = [code.moved(p, (i, row[-1])) for p, row in zip(at, strides, strict=True)]
                    xs = [code.load(p, self.dtype, width, mask) for p in here[:-1]]
                    total = self._combined(code.read(cell, like), xs)
                    code.write(cell, total)
                    code.store(here[-1], total, mask)

            code.loop(code.number(1), extents[-1], 1, step)

        _kept_loops(code, pointers, strides, extents[:-1], width, 4, body)

    def _combined(self, before: Value, xs: list[Value]) -> Value:
        if self.combine == "multiply_add":  # two roundings, as the reference has them
            product = vecmath.apply("multiply", [xs[0], before], self.dtype)
            return vecmath.apply("add", [xs[1], product], self.dtype)
        return vecmath.apply(self.combine, [before, xs[0]], self.dtype)


def running(combine: str, ins: Sequence[Place], out: Place, axis: int) -> Sized | None:
    """The running reduction of ``ins`` along ``axis``; None if shapes or dtypes are not for it."""
    aval = out.aval
    functions = ("multiply", "add") if combine == "multiply_add" else (combine,)
    if any(p.aval is not aval for p in ins) or not aval.size:
        return None
    dtype = aval.dtype.str[1:]
    if not all(vecmath.is_supported(f, (dtype, dtype), dtype) for f in functions):
        return None
    kept = [d for d in range(aval.ndim) if d != axis]
    rows = [_elements(p) for p in (*ins, out)]
    extents, kept_rows = merged([aval.shape[d] for d in kept], [[row[d] for d in kept] for row in rows])
    is_vector = _bring_lanes_last(extents, kept_rows)
    sizes = [*extents, aval.shape[axis]]
    given = [_given([*row, full[axis]], sizes) for row, full in zip(kept_rows, rows, strict=True)]
    spec = Running(combine, dtype, tuple(given[:-1]), given[-1], is_vector)
    return Sized(spec, tuple(sizes), *_shared(extents, aval.size))


# ------------------------------------------------------------------------------------------ the place of an extreme


class Extreme(Spec):
    """Operands: the elements, and the indices that come out.

    The dimensions that stay come first, then the one that is searched.
    """

    compare: str
    """ "maximum" or "minimum"."""
    dtype: str
    source: Strides
    result: Strides
    lanes: str
    """What fills a vector: the "axis" that is searched, the last dimension that is "kept", or "" nothing."""

    def write(self, code: _Code) -> None:
        item = size_of(self.dtype)
        pointers = [code.pointer(), code.pointer()]
        extents = [code.size() for _ in self.source]
        source, result = code.strides(self.source, item), code.strides(self.result, 8)
        if self.lanes == "axis":

            def search(bases: list[list[str]], masks: list[Value | None]) -> None:
                ((x, out),) = bases
                code.store(out, self._along(code, x, extents[-1]))

            _kept_loops(code, pointers, [source, result], extents[:-1], 1, 1, search)
            return
        width = code.width(8) if self.lanes == "kept" else 1

        def body(bases: list[list[str]], masks: list[Value | None]) -> None:
            cells = []
            for (x, _), mask in zip(bases, masks, strict=True):
                best, at = code.load(x, self.dtype, width, mask), code.f.constant(0, "i8", width)
                cells.append((code.cell(best), best, code.cell(at), at))

            def step(i: Value) -> None:
                for (x, _), mask, (best_cell, best, at_cell, at) in zip(bases, masks, cells, strict=True):
                    value = code.load(code.moved(x, (i, source[-1])), self.dtype, width, mask)
                    before = code.read(best_cell, best)
                    takes = self._is_better(value, before)
                    code.write(best_cell, select(takes, value, before))
                    here = i.splat(width) if width > 1 else i
                    code.write(at_cell, select(takes, here, code.read(at_cell, at)))

            code.loop(code.number(1), extents[-1], 1, step)
            for (_, out), mask, (_, _, at_cell, at) in zip(bases, masks, cells, strict=True):
                code.store(out, code.read(at_cell, at), mask)

        _kept_loops(code, pointers, [source, result], extents[:-1], width, 4, body)

    def _is_better(self, x: Value, best: Value) -> Value:
        """Whether ``x`` takes the place of ``best``, which comes before it."""
        if not x.is_float:
            return x > best if self.compare == "maximum" else x < best
        is_not_worse = ~(x <= best) if self.compare == "maximum" else ~(x >= best)  # true also if either is NaN
        return is_not_worse & best.eq(best)

    def _along(self, code: _Code, x: str, length: Value) -> Value:
        """The index of the extreme of contiguous elements, which several vectors search side by side.

        Every lane begins with element 0, and takes a later one only if that is better; so in the end the best lane, or
        of equal ones the one with the lowest index, has it.
        """
        width, many, item = code.width(8), 4, size_of(self.dtype)
        first = code.load(x, self.dtype).splat(width)
        at = code.f.constant(0, "i8", width)
        cells = [(code.cell(first), code.cell(at)) for _ in range(many)]

        def body(vectors: Vectors) -> None:
            for (i, mask), (best_cell, at_cell) in zip(vectors, cells, strict=False):
                value = code.load(code.moved(x, (i, code.number(item))), self.dtype, width, mask)
                before = code.read(best_cell, first)
                takes = self._is_better(value, before)
                takes = takes if mask is None else takes & mask
                code.write(best_cell, select(takes, value, before))
                here = i.splat(width) + code.lane_numbers(width)
                code.write(at_cell, select(takes, here, code.read(at_cell, at)))

        code.across(code.number(0), length, width, many, body)
        found = [(code.read(best, first), code.read(place, at)) for best, place in cells]
        while len(found) > 1:
            found = [self._better(*pair) for pair in zip(found[::2], found[1::2], strict=True)]
        best, place = found[0]
        lanes = width
        while lanes > 2:
            lanes //= 2
            low, high = list(range(lanes)), list(range(lanes, 2 * lanes))
            best, place = self._better(
                (best.shuffle(low), place.shuffle(low)), (best.shuffle(high), place.shuffle(high))
            )
        if lanes == 2:
            best, place = self._better((best.lane(0), place.lane(0)), (best.lane(1), place.lane(1)))
        return place

    def _better(self, a: tuple[Value, Value], b: tuple[Value, Value]) -> tuple[Value, Value]:
        """Of two (element, index) the extreme, the lower index of equals."""
        (x, i), (y, j) = a, b
        is_same = x.eq(y)
        if x.is_float:
            is_same = is_same | (x.compare("un", x) & y.compare("un", y))
        takes = self._is_better(y, x) | (is_same & (j < i))
        return select(takes, y, x), select(takes, j, i)


def extreme(compare: str, x: Place, out: Place, axis: int) -> Sized | None:
    """The first index of the extreme of ``x`` along ``axis``; None where there is no element."""
    shape = x.aval.shape
    if not x.aval.size or out.aval.dtype.str[1:] != "i8":
        return None
    kept = [d for d in range(len(shape)) if d != axis]
    source, result = _elements(x), _elements(out)
    extents, rows = merged([shape[d] for d in kept], [[source[d] for d in kept], result])
    dtype = x.aval.dtype.str[1:]
    lanes = ""
    if source[axis] == 1 and shape[axis] >= 16:
        lanes = "axis"
    elif _bring_lanes_last(extents, rows):
        lanes = "kept"
    sizes = [*extents, shape[axis]]
    spec = Extreme(
        compare,
        "u1" if dtype == "b1" else dtype,
        _given([*rows[0], source[axis]], sizes),
        _given(rows[1], sizes),
        lanes,
    )
    return Sized(spec, tuple(sizes), *_shared(extents, x.aval.size))


def _kept_loops(
    code: _Code,
    pointers: list[str],
    strides: list[list[Value]],
    extents: list[Value],
    width: int,
    many: int,
    body: Callable[[list[list[str]], list[Value | None]], None],
) -> None:
    """Loops over the dimensions that stay. ``body`` gets the pointers of several vectors (or rows) side by side."""

    def loops(d: int, here: list[str]) -> None:
        if d == len(extents):
            body([here], [None])
            return
        start, stop = (code.begin, code.end) if d == 0 else (code.number(0), extents[d])
        if d == len(extents) - 1:

            def side_by_side(vectors: Vectors) -> None:
                bases = [[code.moved(p, (i, row[d])) for p, row in zip(here, strides, strict=True)] for i, _ in vectors]
                body(bases, [mask for _, mask in vectors])

            code.across(start, stop, width, many, side_by_side)
            return
        code.loop(
            start,
            stop,
            1,
            lambda i: loops(d + 1, [code.moved(p, (i, row[d])) for p, row in zip(here, strides, strict=True)]),
        )

    loops(0, pointers)


# --------------------------------------------------------------------------------------------- what is not zero


class Nonzero(Spec):
    """Operands: the elements, and for each axis the indices of those that are not zero, in C order.

    How many there are is the first of the sizes.
    """

    dtype: str
    source: Strides

    def write(self, code: _Code) -> None:
        x = code.pointer()
        outs = [code.pointer() for _ in self.source]
        expected = code.size()
        extents = [code.size() for _ in self.source]
        strides = code.strides(self.source, size_of(self.dtype))
        none = code.number(0)
        found = code.cell(none)

        def found_more(more: Value) -> Value:
            """How many were found before; that they are no more than expected is seen to."""
            before = code.read(found, none)
            total = before + more
            code.fail_if(total > expected)
            code.write(found, total)
            return before

        def vectors(which: Vectors, x: str, index: list[Value]) -> None:
            width = code.width(8)
            for i, mask in which:
                at = code.moved(x, (i, code.number(size_of(self.dtype))))
                is_found = code.load(at, self.dtype, width, mask).to("b1")
                is_found = is_found if mask is None else is_found & mask
                before = found_more(code.count(is_found))
                here = [*[k.splat(width) for k in index], i.splat(width) + code.lane_numbers(width)]
                for out, k in zip(outs, here, strict=True):
                    code.compress(code.moved(out, (before, code.number(8))), k, is_found)

        def loops(d: int, x: str, index: list[Value]) -> None:
            if d == len(extents):

                def store() -> None:
                    before = found_more(code.number(1))
                    for out, k in zip(outs, index, strict=True):
                        code.store(code.moved(out, (before, code.number(8))), k)

                code.when(code.load(x, self.dtype).to("b1"), store)
            elif d == len(extents) - 1 and self.source[d] == 1:
                code.across(none, extents[d], code.width(8), 1, lambda which: vectors(which, x, index))
            else:
                code.loop(none, extents[d], 1, lambda i: loops(d + 1, code.moved(x, (i, strides[d])), [*index, i]))

        loops(0, x, [])
        code.fail_if(code.read(found, none).ne(expected))


def nonzero(x: Place, outs: Sequence[Place]) -> Sized | None:
    """The indices of what is not zero in ``x``; None if there is no axis, or the results are not contiguous."""
    if not x.aval.ndim or any(p.aval.dtype.str[1:] != "i8" or p.strides != (8,) for p in outs):
        return None
    sizes = [outs[0].aval.size, *x.aval.shape]
    source = _given(_elements(x), sizes)
    return Sized(Nonzero(x.aval.dtype.str[1:], source), tuple(sizes), 1, 0)


# ------------------------------------------------------------------------------------------------ sorted tables


class Search(Spec):
    """Operands: a sorted table, values, and for each the number of elements before it.

    Among the sizes are the length of the table, the number of rounds that halve it to one, and its stride.
    """

    side: str
    dtype: str
    values: Strides
    result: Strides
    is_vector: bool

    def write(self, code: _Code) -> None:
        item = size_of(self.dtype)
        table = code.pointer()
        pointers = [code.pointer(), code.pointer()]
        extents = [code.size() for _ in self.values]
        length, rounds, step = code.size(), code.size(), code.size() * item
        strides = [code.strides(self.values, item), code.strides(self.result, 8)]
        width = code.width(8) if self.is_vector else 1
        first = code.f.constant(0, "i8", width)

        def is_before(at: Value, value: Value, mask: Value | None) -> Value:
            """Whether the element of the table there goes before the value."""
            if width == 1:
                return self._is_before(code.load(code.moved(table, (at, step)), self.dtype), value)
            mask = mask or code.f.constant(1, "b1", width)
            return self._is_before(code.gathered(table, at * step.splat(width), self.dtype, mask), value)

        def body(bases: list[list[str]], masks: list[Value | None]) -> None:
            values = [code.load(v, self.dtype, width, mask) for (v, _), mask in zip(bases, masks, strict=True)]
            cells = [code.cell(first) for _ in bases]
            left = code.cell(length)

            def halve(_: Value) -> None:
                """The answer is among the ``left`` + 1 places from ``at`` on."""
                many = code.read(left, length)
                half = many >> 1
                code.write(left, many - half)
                for cell, value, mask in zip(cells, values, masks, strict=True):
                    at = code.read(cell, first)
                    beyond = at + (half.splat(width) if width > 1 else half)
                    code.write(cell, select(is_before(beyond - 1, value, mask), beyond, at))

            code.loop(code.number(0), rounds, 1, halve)
            for cell, value, mask, (_, out) in zip(cells, values, masks, bases, strict=True):
                at = code.read(cell, first)
                code.store(out, select(is_before(at, value, mask), at + 1, at), mask)

        _kept_loops(code, pointers, strides, extents, width, 4, body)

    def _is_before(self, element: Value, value: Value) -> Value:
        """In the order in which NaN is the largest."""
        if self.side == "left":
            return self._is_less(element, value)
        return ~self._is_less(value, element)

    def _is_less(self, x: Value, y: Value) -> Value:
        return (x < y) | (y.compare("un", y) & x.eq(x)) if x.is_float else x < y


def search(side: str, table: Place, values: Place, out: Place) -> Sized | None:
    """The places of values in a sorted table; None if the dtypes differ, or the table is empty."""
    dtype = table.aval.dtype.str[1:]
    length = table.aval.size
    if values.aval.dtype != table.aval.dtype or not length or out.aval.dtype.str[1:] != "i8":
        return None
    extents, rows = merged(values.aval.shape, [_elements(values), _elements(out)])
    is_vector = _bring_lanes_last(extents, rows) and table.aval.dtype.itemsize >= 4
    rounds = (length - 1).bit_length()
    sizes = [*extents, length, rounds, _elements(table)[0]]
    spec = Search(side, dtype, _given(rows[0], sizes), _given(rows[1], sizes), is_vector)
    return Sized(spec, tuple(sizes), *_shared(extents, values.aval.size * (rounds + 1)))


# ------------------------------------------------------------------------------------------------ shapes and sizes


def merged(extents: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Dimensions of length 1 gone, and neighbours that all rows of strides step through as one, as one."""
    out_extents: list[int] = []
    out_rows: list[list[int]] = [[] for _ in rows]
    for d, n in enumerate(extents):
        if n == 1:
            continue
        if out_extents and all(out[-1] == row[d] * n for out, row in zip(out_rows, rows, strict=True)):
            out_extents[-1] *= n
            for out, row in zip(out_rows, rows, strict=True):
                out[-1] = row[d]
            continue
        out_extents.append(n)
        for out, row in zip(out_rows, rows, strict=True):
            out.append(row[d])
    return out_extents, out_rows


def _bring_lanes_last(extents: list[int], rows: Sequence[list[int]]) -> bool:
    """Move the dimension along which all is contiguous to the end; whether there is one. Else another that is long."""
    if not extents:
        return False
    found = [d for d in range(len(extents)) if all(row[d] == 1 for row in rows)]
    chosen = found[0] if found else max(range(len(extents)), key=lambda d: (min(extents[d], 4), d))
    for row in (extents, *rows):
        row.append(row.pop(chosen))
    return bool(found)


def _given(row: Sequence[int], sizes: list[int]) -> Strides:
    """``row`` as a spec has it; what the spec does not say is appended to ``sizes``."""
    sizes += [s for s in row if s not in (0, 1)]
    return tuple([s if s in (0, 1) else None for s in row])


def _elements(place: Place) -> list[int]:
    return [s // place.aval.dtype.itemsize for s in place.strides]


def _aligned(place: Place, ndim: int) -> list[int]:
    """Strides of an operand that is broadcast to ``ndim`` dimensions."""
    own = [0 if n == 1 else s for n, s in zip(place.aval.shape, _elements(place), strict=True)]
    return [0] * (ndim - len(own)) + own


def _length(place: Place, ndim: int, d: int) -> int:
    """The length along dimension ``d`` of ``ndim`` to which the operand is broadcast."""
    k = d - (ndim - place.aval.ndim)
    return 1 if k < 0 else place.aval.shape[k]


def _grain(extents: Sequence[int], points: int | None = None) -> int:
    """How many steps of the outermost loop are worth handing to a thread; whole blocks, if it is the only loop."""
    if points is None:
        points = 1
        for n in extents:
            points *= n
    grain = max(1, GRAIN // max(1, points // max(1, extents[0])))
    return -(-grain // 64) * 64 if len(extents) == 1 else grain


def _shared(extents: Sequence[int], points: int) -> tuple[int, int]:
    """The extent and the grain of a kernel whose outermost loop threads may share."""
    return (extents[0], _grain(extents, points)) if extents else (1, 0)
