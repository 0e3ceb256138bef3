"""Read elements from memory and write them: one, or as many as a vector has lanes, with a mask or without.

A boolean is a byte in memory, and one bit in a value. Two equal reads are by default not merged, since the kernel may
write the memory between them; ``is_known`` says that the same read again gives the same value.
"""

from __future__ import annotations

from wengert.codegen.ir import LLVM_TYPES, Function, Value


def size_of(dtype: str) -> int:
    return int(dtype[1])


def memory_type(dtype: str, lanes: int) -> str:
    scalar = "i8" if dtype == "b1" else LLVM_TYPES[dtype]
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def load(
    f: Function, pointer: str, dtype: str, lanes: int = 1, mask: Value | None = None, is_known: bool = False
) -> Value:
    """Read elements that lie side by side."""
    kind, align = memory_type(dtype, lanes), size_of(dtype)
    if mask is None or lanes == 1:
        return _read(f, f"load {kind}, ptr {pointer}, align {align}", dtype, lanes, is_known)
    name = f"llvm.masked.load.{_suffix(dtype, lanes)}.p0"
    f.declarations[name] = f"declare {kind} @{name}(ptr, i32, <{lanes} x i1>, {kind})"
    given = f"ptr {pointer}, i32 {align}, {mask.typed}, {kind} zeroinitializer"
    return _read(f, f"call {kind} @{name}({given})", dtype, lanes, is_known)


def gather(f: Function, pointer: str, offsets: Value, dtype: str, mask: Value | None, is_known: bool = False) -> Value:
    """Read one element for each lane, ``offsets`` bytes from ``pointer``."""
    lanes, kind = offsets.lanes, memory_type(dtype, offsets.lanes)
    mask = mask or f.constant(1, "b1", lanes)
    name = f"llvm.masked.gather.{_suffix(dtype, lanes)}.v{lanes}p0"
    f.declarations[name] = f"declare {kind} @{name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {kind})"
    places = _places(f, pointer, offsets)
    given = f"<{lanes} x ptr> {places}, i32 {size_of(dtype)}, {mask.typed}, {kind} zeroinitializer"
    return _read(f, f"call {kind} @{name}({given})", dtype, lanes, is_known)


def prefetch(f: Function, pointer: str, ahead: int) -> None:
    """Ask for the cache line ``ahead`` bytes on. Any address will do: the processor ignores one that it must not
    read."""
    name = "llvm.prefetch.p0"
    f.declarations[name] = f"declare void @{name}(ptr, i32, i32, i32)"
    place = f.pure(f"getelementptr i8, ptr {pointer}, i64 {ahead}", "u8", 1).text
    f.effect(f"call void @{name}(ptr {place}, i32 0, i32 3, i32 1)")  # a read of data, into all caches


def store(f: Function, pointer: str, x: Value, mask: Value | None = None) -> None:
    """Write elements side by side."""
    kind, align, data = memory_type(x.dtype, x.lanes), size_of(x.dtype), _written(f, x)
    if mask is None or x.lanes == 1:
        f.effect(f"store {data}, ptr {pointer}, align {align}")
        return
    name = f"llvm.masked.store.{_suffix(x.dtype, x.lanes)}.p0"
    f.declarations[name] = f"declare void @{name}({kind}, ptr, i32, <{x.lanes} x i1>)"
    f.effect(f"call void @{name}({data}, ptr {pointer}, i32 {align}, {mask.typed})")


def scatter(f: Function, pointer: str, offsets: Value, x: Value, mask: Value | None) -> None:
    """Write one element for each lane, ``offsets`` bytes from ``pointer``."""
    lanes, kind, data = x.lanes, memory_type(x.dtype, x.lanes), _written(f, x)
    mask = mask or f.constant(1, "b1", lanes)
    name = f"llvm.masked.scatter.{_suffix(x.dtype, lanes)}.v{lanes}p0"
    f.declarations[name] = f"declare void @{name}({kind}, <{lanes} x ptr>, i32, <{lanes} x i1>)"
    places = _places(f, pointer, offsets)
    f.effect(f"call void @{name}({data}, <{lanes} x ptr> {places}, i32 {size_of(x.dtype)}, {mask.typed})")


def compress(f: Function, pointer: str, x: Value, mask: Value) -> None:
    """Write the lanes of ``x`` that ``mask`` marks, one beside the other."""
    name = f"llvm.masked.compressstore.{_suffix(x.dtype, x.lanes)}"
    f.declarations[name] = f"declare void @{name}({x.type}, ptr, <{x.lanes} x i1>)"
    f.effect(f"call void @{name}({x.typed}, ptr align {size_of(x.dtype)} {pointer}, {mask.typed})")


def load_strided(
    f: Function, pointer: str, stride: int | Value, dtype: str, lanes: int, mask: Value | None, is_known: bool = False
) -> Value:
    """Read elements that lie ``stride`` elements apart. For a stride of -1 they are read in order and reversed. For a
    stride of 2, as parts of complex numbers lie, they are taken out of two vectors that reach no further than the last
    element."""
    if isinstance(stride, int) and stride == 1:
        return load(f, pointer, dtype, lanes, mask, is_known)
    if isinstance(stride, int) and stride == -1:
        mask = None if mask is None else _reversed(mask)
        return _reversed(load(f, _last(f, pointer, dtype, lanes), dtype, lanes, mask, is_known))
    if isinstance(stride, int) and stride == 2 and lanes > 1:
        masks = (None, None) if mask is None else _every_other(f, mask)
        first = load(f, pointer, dtype, lanes, masks[0], is_known)
        second = load(f, _halfway(f, pointer, dtype, lanes), dtype, lanes, masks[1], is_known)
        return first.shuffle([2 * k + (2 * k >= lanes) for k in range(lanes)], second)
    return gather(f, pointer, _offsets(f, stride, dtype, lanes), dtype, mask, is_known)


def store_strided(f: Function, pointer: str, stride: int | Value, x: Value, mask: Value | None) -> None:
    if isinstance(stride, int) and stride == 1:
        store(f, pointer, x, mask)
    elif isinstance(stride, int) and stride == -1:
        mask = None if mask is None else _reversed(mask)
        store(f, _last(f, pointer, x.dtype, x.lanes), _reversed(x), mask)
    elif isinstance(stride, int) and stride == 2 and x.lanes > 1:
        n = x.lanes
        masks = _every_other(f, mask or f.constant(1, "b1", n))
        store(f, pointer, x.shuffle([k // 2 for k in range(n)]), masks[0])
        store(f, _halfway(f, pointer, x.dtype, n), x.shuffle([(n - 1 + k) // 2 for k in range(n)]), masks[1])
    else:
        scatter(f, pointer, _offsets(f, stride, x.dtype, x.lanes), x, mask)


def _read(f: Function, code: str, dtype: str, lanes: int, is_known: bool) -> Value:
    x = (f.pure if is_known else f.effect)(code, "u1" if dtype == "b1" else dtype, lanes)
    return x.ne(0) if dtype == "b1" else x


def _written(f: Function, x: Value) -> str:
    kind = memory_type(x.dtype, x.lanes)
    return f"{kind} {f.pure(f'zext {x.typed} to {kind}', 'u1', x.lanes).text if x.dtype == 'b1' else x.text}"


def _places(f: Function, pointer: str, offsets: Value) -> str:
    return f.pure(f"getelementptr i8, ptr {pointer}, {offsets.typed}", "u8", 1).text


def _offsets(f: Function, stride: int | Value, dtype: str, lanes: int) -> Value:
    return f.vector([k * size_of(dtype) for k in range(lanes)], "i8") * f.index(stride).splat(lanes)


def _last(f: Function, pointer: str, dtype: str, lanes: int) -> str:
    """The address of the last lane of lanes that lie backwards, which is the first in memory."""
    return f.pure(f"getelementptr i8, ptr {pointer}, i64 {-(lanes - 1) * size_of(dtype)}", "u8", 1).text


def _halfway(f: Function, pointer: str, dtype: str, lanes: int) -> str:
    """The address of the second of the two vectors out of which every other element is taken: the last element of the
    first vector."""
    return f.pure(f"getelementptr i8, ptr {pointer}, i64 {(lanes - 1) * size_of(dtype)}", "u8", 1).text


def _every_other(f: Function, mask: Value) -> tuple[Value, Value]:
    """The masks of the two vectors out of which every other element is taken: those elements that ``mask`` marks."""
    n = mask.lanes
    first = mask.shuffle([k // 2 for k in range(n)]) & f.vector([k % 2 == 0 for k in range(n)], "b1")
    second = mask.shuffle([(n - 1 + k) // 2 for k in range(n)]) & f.vector(
        [(n - 1 + k) % 2 == 0 for k in range(n)], "b1"
    )
    return first, second


def _reversed(x: Value) -> Value:
    return x.shuffle(list(range(x.lanes))[::-1])


def _suffix(dtype: str, lanes: int) -> str:
    """The type of a vector as it stands in the name of an intrinsic."""
    kind = f"f{8 * size_of(dtype)}" if dtype[0] == "f" else f"i{8 * size_of(dtype)}"
    return f"v{lanes}{kind}"
