"""Tables of a few numbers, looked up in registers where a processor can: AVX-512 has an instruction for 8 doubles or 16
floats, AVX2 one for 8 numbers of 4 bytes, which are the halves of doubles. Elsewhere they are read from memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from wengert.codegen import memory
from wengert.codegen.ir import Value, format_number
from wengert.codegen.vecmath import avx512

AVX2_REGISTER = 32  # bytes
NUMBERS = 8  # so many doubles in a table


def are_there(x: Value) -> bool:
    """Whether a look-up takes less time than what it saves. ("f4" without AVX-512 has not been tried.)"""
    return avx512.is_there(x) or x.dtype == "f8"


def look_up(index: Value, table: Sequence[float], dtype: str) -> Value:
    """``table[index % len(table)]``, for integers of the size of its numbers."""
    if avx512.is_there(index):
        return avx512.look_up(index, table, dtype)
    assert dtype == "f8" and len(table) == NUMBERS
    target = index.f.target
    has_avx2 = target.is_x86 and target.vector_bytes == AVX2_REGISTER and target.has_fma
    return _by_halves(index, table) if has_avx2 and 8 * index.lanes >= AVX2_REGISTER else _in_memory(index, table)


def _by_halves(index: Value, table: Sequence[float]) -> Value:
    """The upper and the lower halves of the numbers, or those of all, if they are the same."""
    f, lanes = index.f, index.lanes
    if 8 * lanes > AVX2_REGISTER:
        parts = [_by_halves(index.shuffle(list(range(k, k + lanes // 2))), table) for k in (0, lanes // 2)]
        return parts[0].shuffle(list(range(lanes)), parts[1])
    numbers = f.pure(f"bitcast {index.typed} to <8 x i32>", "i4", 8).shuffle([0, 0, 2, 2, 4, 4, 6, 6])
    lower, upper = [[struct.unpack("<ii", struct.pack("<d", x))[k] for x in table] for k in (0, 1)]

    def permuted(half: list[int]) -> Value:
        return f.call("llvm.x86.avx2.permd", "i4", 8, f.vector(half, "i4"), numbers)

    both = permuted(lower) if lower == upper else permuted(lower).shuffle([0, 9, 2, 11, 4, 13, 6, 15], permuted(upper))
    return f.pure(f"bitcast {both.typed} to <4 x double>", "f8", 4)


def _in_memory(index: Value, table: Sequence[float]) -> Value:
    f = index.f
    texts = [format_number(x, "f8") for x in table]
    name = f"@table_of_{texts[-1]}"
    f.declarations[name] = f"{name} = private constant [{NUMBERS} x double] [{', '.join(f'double {x}' for x in texts)}]"
    places = index & (NUMBERS - 1)

    def read(place: Value) -> Value:
        at = f.pure(f"getelementptr double, ptr {name}, {place.typed}", "u8", 1).text
        return memory.load(f, at, "f8", is_known=True)

    if index.lanes == 1:
        return read(places)
    found = f.constant(0.0, "f8", index.lanes)
    for k in range(index.lanes):
        found = found.with_lane(k, read(places.lane(k)))
    return found
