"""Angles beyond the reach of subtraction: x modulo π/2 for any double, after Payne and Hanek (1983).

x = m 2ᴱ with an integer m of 53 bits. Of x · 2/π only what is left of multiples of 4 matters: m times a window of 192
bits of 2/π, which starts where the weight is 2. No double comes closer than 2^-61.6 to a multiple of π/2 (as a part of
π/2), so 137 good bits of the fraction are more than enough. Emitted once a module, as a function over the lanes in
memory, and called in a branch that ordinary angles never take.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.arithmetic import INF
from wengert.codegen.ir import Value, absolute, llvm_type, replace_where, select

# fmt: off
TWO_OVER_PI = (  # 64 zeros, then the binary digits of 2/π
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D, 0xA9E391615EE61B08,
)
# fmt: on

TABLE = "@wengert_two_over_pi"
REDUCE = "wengert_reduce_huge"
DEFINITIONS = {
    "wengert_two_over_pi": f"{TABLE} = internal constant [{len(TWO_OVER_PI)} x i64] "
    f"[{', '.join(f'i64 {w}' for w in TWO_OVER_PI)}]",
    "llvm.fshl.i64": "declare i64 @llvm.fshl.i64(i64, i64, i64)",
    "llvm.stacksave.p0": "declare ptr @llvm.stacksave.p0()",
    "llvm.stackrestore.p0": "declare void @llvm.stackrestore.p0(ptr)",
    "llvm.ctlz.i64": "declare i64 @llvm.ctlz.i64(i64, i1)",
    REDUCE: f"""define void @{REDUCE}(ptr %numbers, i64 %n) nounwind {{
entry:
  br label %lane
lane:
  %i = phi i64 [0, %entry], [%following, %lane]
  %px = getelementptr double, ptr %numbers, i64 %i
  %x = load double, ptr %px
  %bits = bitcast double %x to i64
  %e0 = lshr i64 %bits, 52
  %e1 = and i64 %e0, 2047
  %m0 = and i64 %bits, 4503599627370495
  %m = or i64 %m0, 4503599627370496
  %start = sub i64 %e1, 1013
  %word = lshr i64 %start, 6
  %shift = and i64 %start, 63
  %a0 = getelementptr i64, ptr {TABLE}, i64 %word
  %a1 = getelementptr i64, ptr %a0, i64 1
  %a2 = getelementptr i64, ptr %a0, i64 2
  %a3 = getelementptr i64, ptr %a0, i64 3
  %t0 = load i64, ptr %a0
  %t1 = load i64, ptr %a1
  %t2 = load i64, ptr %a2
  %t3 = load i64, ptr %a3
  %w0 = call i64 @llvm.fshl.i64(i64 %t0, i64 %t1, i64 %shift)
  %w1 = call i64 @llvm.fshl.i64(i64 %t1, i64 %t2, i64 %shift)
  %w2 = call i64 @llvm.fshl.i64(i64 %t2, i64 %t3, i64 %shift)
  %mw = zext i64 %m to i128
  %w1w = zext i64 %w1 to i128
  %w2w = zext i64 %w2 to i128
  %low = mul i128 %mw, %w2w
  %carry = lshr i128 %low, 64
  %mid0 = mul i128 %mw, %w1w
  %mid = add i128 %mid0, %carry
  %carry2 = lshr i128 %mid, 64
  %carry3 = trunc i128 %carry2 to i64
  %top = mul i64 %m, %w0
  %p2 = add i64 %top, %carry3
  %p1 = trunc i128 %mid to i64
  %p0 = trunc i128 %low to i64
  %g2 = call i64 @llvm.fshl.i64(i64 %p2, i64 %p1, i64 2)
  %g1 = call i64 @llvm.fshl.i64(i64 %p1, i64 %p0, i64 2)
  %g0 = shl i64 %p0, 2
  %whole = lshr i64 %p2, 62
  %up = lshr i64 %g2, 63
  %k = add i64 %whole, %up
  %s = ashr i64 %g2, 63
  %h2 = xor i64 %g2, %s
  %h1 = xor i64 %g1, %s
  %h0 = xor i64 %g0, %s
  %zeros = call i64 @llvm.ctlz.i64(i64 %h2, i1 false)
  %n2 = call i64 @llvm.fshl.i64(i64 %h2, i64 %h1, i64 %zeros)
  %n1 = call i64 @llvm.fshl.i64(i64 %h1, i64 %h0, i64 %zeros)
  %u = lshr i64 %n2, 38
  %v0 = lshr i64 %n2, 11
  %v = and i64 %v0, 134217727
  %y0 = call i64 @llvm.fshl.i64(i64 %n2, i64 %n1, i64 53)
  %y = lshr i64 %y0, 11
  %uf0 = sitofp i64 %u to double
  %vf0 = sitofp i64 %v to double
  %yf0 = sitofp i64 %y to double
  %uf = fmul double %uf0, 0x3E50000000000000
  %vf = fmul double %vf0, 0x3CA0000000000000
  %yf = fmul double %yf0, 0x3950000000000000
  %hi = fadd double %uf, %vf
  %p = fmul double %hi, 0x3FF921FB54442D18
  %uA = fmul double %uf, 0x3FF921FB50000000
  %uB = fmul double %uf, 0x3E5110B460000000
  %vA = fmul double %vf, 0x3FF921FB50000000
  %vB = fmul double %vf, 0x3E5110B460000000
  %c0 = fsub double %uA, %p
  %c1 = fadd double %c0, %uB
  %c2 = fadd double %c1, %vA
  %c3 = fadd double %c2, %vB
  %d0 = fmul double %hi, 0x3C91A62633145C07
  %d1 = fmul double %yf, 0x3FF921FB54442D18
  %d2 = fadd double %d0, %d1
  %q = fadd double %c3, %d2
  %e2 = sub i64 1023, %zeros
  %e3 = shl i64 %e2, 52
  %xs = ashr i64 %bits, 63
  %s2 = xor i64 %s, %xs
  %s3 = and i64 %s2, -9223372036854775808
  %e4 = or i64 %e3, %s3
  %scale = bitcast i64 %e4 to double
  %r = fmul double %p, %scale
  %rl = fmul double %q, %scale
  %k1 = xor i64 %k, %xs
  %k2 = sub i64 %k1, %xs
  store double %r, ptr %px
  %plow = getelementptr double, ptr %px, i64 %n
  store double %rl, ptr %plow
  %pk = getelementptr double, ptr %plow, i64 %n
  store i64 %k2, ptr %pk
  %following = add i64 %i, 1
  %more = icmp ult i64 %following, %n
  br i1 %more, label %lane, label %done
done:
  ret void
}}""",
}
"""The routine that reduces huge angles, compiled once and called by the kernels that may need it."""


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
    f.declarations.update({name: DEFINITIONS[name] for name in ("llvm.stacksave.p0", "llvm.stackrestore.p0")})
    place, low, k, saved = [f.name() for _ in range(4)]
    n = x.lanes
    f.lines += [
        f"  {saved} = call ptr @llvm.stacksave.p0()",
        f"  {place} = alloca double, i64 {3 * n}, align {8 * n}",
        f"  store {x.typed}, ptr {place}",
        f"  call void @{REDUCE}(ptr {place}, i64 {n})",
        f"  {low} = getelementptr double, ptr {place}, i64 {n}",
        f"  {k} = getelementptr double, ptr {place}, i64 {2 * n}",
    ]
    result = [f.effect(f"load {x.type}, ptr {part}", "f8", n) for part in (place, low)]
    quadrant = f.effect(f"load {llvm_type('i8', n)}, ptr {k}", "i8", n)
    f.lines.append(f"  call void @llvm.stackrestore.p0(ptr {saved})")
    return quadrant, result[0], result[1]
