"""LLVM IR, written through values that behave like numbers: what is one value, what is which instruction."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tests.codegen.kernel import compiled, target
from tests.comparisons import as_numpy
from wengert.codegen.ir import Function, Value, any_lane, fma, format_number, llvm_type, replace_where, select


def values(*dtypes: str, lanes: int = 1) -> tuple[Function, list[Value]]:
    f = Function(target())
    return f, [Value(f, f"%x{k}", dtype, lanes) for k, dtype in enumerate(dtypes)]


def code(f: Function) -> list[str]:
    """What stands right of the equals signs."""
    return [line.split(" = ")[-1].strip() for line in f.lines]


# -------------------------------------------------------------------------------------------------- what is one value


def test_equal_instructions_are_one_value() -> None:
    f, (x, y) = values("f8", "f8")
    assert x * y + 1 is x * y + 1
    assert x * y is not y * x
    assert code(f) == ["fmul double %x0, %x1", "fadd double %v1, 0x3FF0000000000000", "fmul double %x1, %x0"]


def test_effects_stand_where_they_are() -> None:
    f, _ = values()
    one, other = [f.effect("load double, ptr %p", "f8") for _ in range(2)]
    assert one.text != other.text and len(f.lines) == 2


def test_what_is_made_inside_is_not_known_outside() -> None:
    """Its block may not have run."""
    f, (x,) = values("f8")
    outside = x + 1
    with f.scope():
        inside = x + 2
        assert x + 1 is outside and x + 2 is inside
    assert x + 2 is not inside and len(f.lines) == 3


def test_what_holds_branches_is_made_once_for_its_key() -> None:
    f, (x,) = values("f8")
    assert f.shared("key", lambda: x * 3) is f.shared("key", lambda: x * 4)
    assert len(f.lines) == 1


@pytest.mark.parametrize("n", [3, 100])
def test_signed_and_unsigned_integers_of_one_width_in_one_kernel(n: int) -> None:
    """LLVM's code for both is the same text; the value of one was taken for the other's."""
    a, b = np.arange(n).astype("u4"), np.arange(-1, n - 1).astype("i4")
    as_numpy(lambda a: (a > 0) + 0, a.astype("u8"))
    as_numpy(lambda a, b: (a > 5) + (b * 5), a, b)
    as_numpy(lambda a, b: (a == 0) | (b == 0), a, b)


# -------------------------------------------------------------------------------------------- numbers and instructions


def test_a_number_takes_the_dtype_and_the_lanes_of_what_it_meets() -> None:
    f, (x, n) = values("f4", "i2", lanes=2)
    assert (x + 1).lanes == 2 and (1 - n).dtype == "i2"
    assert code(f) == [
        "fadd <2 x float> %x0, <float 0x3FF0000000000000, float 0x3FF0000000000000>",
        "sub <2 x i16> <i16 1, i16 1>, %x1",
    ]


@pytest.mark.parametrize("value", [0.0, -0.0, 0.1, 5e-324, np.inf, -np.inf, np.nan])
def test_floats_are_written_by_their_bits(value: float) -> None:
    assert int(format_number(value, "f8"), 16) == struct.unpack("<Q", struct.pack("<d", value))[0]
    single = struct.unpack("<d", struct.pack("<Q", int(format_number(value, "f4"), 16)))[0]
    assert np.float32(value).tobytes() == np.float32(single).tobytes() and (
        single == np.float32(value) or value != value
    )


def test_integers_are_written_as_llvm_reads_them() -> None:
    assert [format_number(n, "u1") for n in (0, 127, 255)] == ["0", "127", "-1"]
    assert [format_number(n, "i1") for n in (-128, -1, 127)] == ["-128", "-1", "127"]
    assert format_number(2**64 - 1, "u8") == "-1" and format_number(-(2**63), "i8") == str(-(2**63))
    assert [format_number(b, "b1") for b in (True, False)] == ["true", "false"]
    assert llvm_type("u1", 16) == "<16 x i8>" and llvm_type("b1", 1) == "i1"


def test_the_sign_is_in_the_dtype() -> None:
    f, (i, u, x) = values("i8", "u8", "f8")
    _ = [(n / n, n < n) for n in (i, u, x)], i >> 1, u >> 1
    assert [line.split()[0] + " " + line.split()[1] for line in code(f)] == [
        "sdiv i64", "icmp slt", "udiv i64", "icmp ult", "fdiv double", "fcmp olt", "ashr i64", "lshr i64",
    ]  # fmt: skip


def test_comparisons_with_nan() -> None:
    """All are false but two: "ne" and "un"."""
    x, y = np.array([1.0, np.nan, np.nan, 2.0]), np.array([1.0, 1.0, np.nan, 1.0])
    for how, want in {
        "lt": [0, 0, 0, 0],
        "ge": [1, 0, 0, 1],
        "eq": [1, 0, 0, 0],
        "ne": [0, 1, 1, 1],
        "un": [0, 1, 1, 0],
    }.items():
        run = compiled(lambda a, b, how=how: a.compare(how, b), ["f8", "f8"], "b1")
        assert run(x, y).astype(int).tolist() == want, how


@pytest.mark.parametrize(
    ("old", "new", "instruction"),
    [
        ("f4", "f8", "fpext"), ("f8", "f4", "fptrunc"), ("f8", "i4", "fptosi"), ("f8", "u4", "fptoui"),
        ("i4", "f8", "sitofp"), ("u4", "f8", "uitofp"), ("b1", "f8", "uitofp"), ("i2", "i8", "sext"),
        ("u2", "i8", "zext"), ("b1", "i8", "zext"), ("i8", "i2", "trunc"), ("f8", "b1", "fcmp"),
    ],
)  # fmt: skip
def test_conversions(old: str, new: str, instruction: str) -> None:
    f, (x,) = values(old)
    assert x.to(new).dtype == new and x.to(old) is x
    assert [line.split()[0] for line in code(f)] == [instruction]


def test_the_same_bits_of_another_sign_are_no_instruction() -> None:
    f, (n, x) = values("i4", "f4")
    assert n.to("u4").text == n.text and not f.lines
    x.bits("u4")
    assert code(f) == ["bitcast float %x1 to i32"]


def test_lanes() -> None:
    x = np.arange(8.0)
    turned = compiled(lambda v: v.shuffle([3, 2, 1, 0]), ["f8"], "f8")
    assert turned(x).tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    spread = compiled(lambda v: v.with_lane(0, v.lane(3) * 10).lane(0).splat(4), ["f8"], "f8")
    assert spread(x).tolist() == [30] * 4 + [70] * 4


@pytest.mark.parametrize("has_fma", [True, False])
def test_a_product_and_a_sum_are_fused_where_the_target_can(has_fma: bool) -> None:
    """Fused it is rounded once: (1 + ε)(1 - ε) - 1 = -ε²."""
    f = Function(target(has_fma=has_fma))
    x = Value(f, "%x", "f8", 4)
    fma(x, 2, 1)
    assert [line.split()[0] for line in code(f)] == (["call"] if f.target.has_fma else ["fmul", "fadd"])
    if has_fma and not target().has_fma:
        return
    run = compiled(lambda x, y: fma(x, y, -1), ["f8", "f8"], "f8", where=target(has_fma=has_fma))
    e = 2.0**-40
    assert run(np.full(4, 1 + e), np.full(4, 1 - e)).tolist() == [-(e**2) if has_fma else 0.0] * 4


def test_no_instruction_is_fast() -> None:
    f, (x, y) = values("f8", "f8")
    _ = x + y, x * y, x / y, x - y, fma(x, y, x), select(x < y, x, 0)
    assert not any(flag in line.split() for line in f.lines for flag in ("fast", "contract", "reassoc", "nnan", "nsz"))


# -------------------------------------------------------------------------------------------------- loops and branches


def power(x: Value, n: int) -> Value:
    """x to the n by a loop that multiplies."""
    f = x.f
    product = f.cell(x.like(1))
    f.loop(f.index(0), f.index(n), f.index(1), lambda i: f.write(product, f.read(product) * x))
    return f.read(product)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_loop_carries_its_cells(n: int) -> None:
    x = np.array([2.0, -1.0, 0.5, 3.0])
    assert compiled(lambda v: power(v, n), ["f8"], "f8")(x).tolist() == (x**n).tolist()


def test_a_loop_within_a_branch_within_a_loop() -> None:
    """Σ_{i<4} (i, and where i = 2 also 0 + 1 + 2) = 9; a cell that is only read is carried through unharmed."""

    def total(x: Value) -> Value:
        f = x.f
        found, untouched = f.cell(f.constant(0, "i8")), f.cell(x)

        def inner(j: Value) -> None:
            f.write(found, f.read(found) + j)

        def outer(i: Value) -> None:
            f.write(found, f.read(found) + i)
            f.when(i.eq(2), lambda: f.loop(f.index(0), f.index(3), f.index(1), inner, is_entered=True))
            f.read(untouched)

        f.loop(f.index(0), f.index(4), f.index(1), outer)
        return f.read(found).to("f8").splat(4) + f.read(untouched)

    assert compiled(total, ["f8"], "f8")(np.arange(4.0)).tolist() == [9, 10, 11, 12]


def test_what_is_rare_is_a_branch() -> None:
    """Lanes where it does not hold keep what they have; the other code stands behind a branch on any of them."""
    seen: list[Function] = []

    def halved_if_large(x: Value) -> Value:
        seen.append(x.f)
        return replace_where(x > 10, [x], lambda: [x / 2])[0]

    run = compiled(halved_if_large, ["f8"], "f8")
    assert run(np.array([1.0, 20.0, 3.0, 12.0, 1.0, 2.0, 3.0, 4.0])).tolist() == [1, 10, 3, 6, 1, 2, 3, 4]
    text = "\n".join(seen[0].lines)
    assert (
        text.index("llvm.vector.reduce.or") < text.index("br i1") < text.index("fdiv") < text.index("phi <4 x double>")
    )


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_vectors_on_the_stack_are_aligned(vector_bytes: int) -> None:
    """Those that LLVM put there straddled two lines of the cache, unless the caller's stack happened to end well."""
    f = Function(target(16)._replace(vector_bytes=vector_bytes))
    f.lines.append("  ret i32 0")
    assert f" alignstack({vector_bytes}) " in f.kernel("k")


def test_any_lane_of_a_scalar_is_itself() -> None:
    f, (c,) = values("b1")
    assert any_lane(c) is c and not f.lines


def test_memory_on_the_stack_is_taken_at_the_entry() -> None:
    """Within a loop it would be taken again in every iteration."""
    f, _ = values()

    def body(i: Any) -> None:
        assert f.scratch("double", 4, 32) == f.scratch("double", 4, 32) != f.alloca("double", 4, 32)

    f.loop(f.index(0), f.index(9), f.index(1), body)
    first, *rest = f.body()
    assert first == "entry:" and [("alloca" in line) for line in rest[:3]] == [True, True, False]
    assert not any("alloca" in line for line in f.lines)
