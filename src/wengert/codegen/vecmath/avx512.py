"""Instructions of AVX-512 that nothing portable stands for, on vectors of any number of lanes.

Registers of 64 bytes mean AVX-512 here: no other x86-64 has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.codegen.ir import Value

REGISTER = 64  # bytes


def is_there(x: Value) -> bool:
    return x.f.target.is_x86 and x.f.target.vector_bytes == REGISTER


def scale(y: Value, k: Value) -> Value:
    """y · 2^⌊k⌋, rounded once, for any k (NaN gives NaN), but for an infinite y and k = −∞."""
    return _in_registers(16, lambda y, k: _masked("scalef", y, k), y, k)


def at_most_one(x: Value) -> Value:
    """x, but ±1 where |x| > 1 or x is NaN."""
    of_smaller_magnitude = "i32 2"  # the result has the sign of x
    return _in_registers(16, lambda x: _masked("range", x, x.like(1), of_smaller_magnitude), x)


def look_up(index: Value, table: Sequence[float], dtype: str) -> Value:
    """``table[index % len(table)]`` of a register of numbers, for integers of their size."""

    def permuted(index: Value) -> Value:
        suffix = {"f8": "df", "f4": "sf"}[dtype]
        numbers = index.f.vector(list(table), dtype)
        return index.f.call(f"llvm.x86.avx512.permvar.{suffix}.512", dtype, index.lanes, numbers, index)

    return _in_registers(REGISTER, permuted, index)


def _masked(name: str, x: Value, y: Value, *choice: str) -> Value:
    """An intrinsic that takes a mask, here of all lanes, and says how to round if it is of a whole register."""
    bits = 8 * x.lanes * int(x.dtype[1])
    mask = "i16 -1" if x.lanes == 16 else "i8 -1"
    rounding = ["i32 4"] if bits == 8 * REGISTER else []  # the current way: to nearest
    name = f"llvm.x86.avx512.mask.{name}.p{'d' if x.dtype == 'f8' else 's'}.{bits}"
    return x.f.call(name, x.dtype, x.lanes, x, y, *choice, x, mask, *rounding)


def _in_registers(least: int, function: Callable[..., Value], *xs: Value) -> Value:
    """The function of vectors of ``least`` bytes to a whole register; longer ones in halves, shorter ones widened."""
    lanes, size = xs[0].lanes, int(xs[0].dtype[1])
    if lanes * size > REGISTER:
        half = lanes // 2
        parts = [
            _in_registers(least, function, *[x.shuffle(list(range(start, start + half))) for x in xs])
            for start in (0, half)
        ]
        return parts[0].shuffle(list(range(lanes)), parts[1])
    if lanes * size >= least:
        return function(*xs)
    wide = least // size
    y = function(*[x.splat(wide) if lanes == 1 else x.shuffle([k % lanes for k in range(wide)]) for x in xs])
    return y.lane(0) if lanes == 1 else y.shuffle(list(range(lanes)))
