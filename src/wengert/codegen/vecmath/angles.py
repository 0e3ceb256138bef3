"""Angles beyond the reach of subtraction: a call of the runtime, in a branch that ordinary angles never take."""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.ir import Value, absolute, llvm_type, replace_where, select
from wengert.codegen.vecmath.arithmetic import INF

REDUCE = "wengert_reduce_huge"
"""The runtime's routine that reduces huge angles (``angles.cpp``), called by the kernels that may need it."""

Angle = tuple[Value, Value, Value]
"""The quadrant, and the reduced angle as high and low part."""


def replace_far(x: Value, limit: float, near: Angle, far: Callable[[Value], Angle]) -> Angle:
    """``near`` where |x| ≤ limit or x is not finite; elsewhere ``far``, which is given the limit in the other lanes."""
    size = absolute(x)
    is_far = (size > limit) & (size < INF)
    quadrant, r, low = replace_where(is_far, near, lambda: far(select(is_far, x, limit)))
    return quadrant, r, low


def reduce_huge(x: Value) -> Angle:
    """The reduction of doubles of 2^20 and more, by way of memory: r over x, then the low parts, then the quadrants."""
    f = x.f
    f.declarations[REDUCE] = f"declare void @{REDUCE}(ptr, i64)"
    n = x.lanes
    place = f.scratch("double", 3 * n, align=8 * n)
    f.effect(f"store {x.typed}, ptr {place}")
    f.effect(f"call void @{REDUCE}(ptr {place}, i64 {n})")

    def part(k: int, dtype: str) -> Value:
        at = f.pure(f"getelementptr double, ptr {place}, i64 {k * n}", "u8", 1).text
        return f.effect(f"load {llvm_type(dtype, n)}, ptr {at}", dtype, n)

    return part(2, "i8"), part(0, "f8"), part(1, "f8")
