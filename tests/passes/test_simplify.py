"""The simplifying passes, on short tapes as text: before and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.passes.tapes import F64, NUMBER, VECTOR, effect, tape
from wengert.ad.reverse import vjp
from wengert.edit import merge_common
from wengert.ops.elementwise import add, cos, divide, exp, multiply, negative, sin, subtract, tanh
from wengert.ops.linalg import slogdet
from wengert.ops.reduce import sum_
from wengert.ops.shape import iota
from wengert.passes import PIPELINE, run
from wengert.passes.fold_constants import fold_constants
from wengert.passes.simplify import drop_dead, use_identities
from wengert.source import Source
from wengert.tape import Aval, Capture, Lit, Tape, Var, check


def becomes(before: Tape, simplify: Callable[[Tape], Tape], *lines: str) -> None:
    """The pass makes these lines of it, and finds nothing more to do the second time."""
    after = check(simplify(before))
    assert [line.strip() for line in str(after).splitlines()[1:]] == list(lines)
    assert str(simplify(after)) == str(after)


# -------------------------------------------------------------------------------------------------- dead code


def test_what_nobody_reads_goes_with_all_it_needed() -> None:
    def f(x: Any) -> Any:
        exp(cos(x))
        return sin(x)

    becomes(tape(f, VECTOR), drop_dead, "v1: float64[3] = sin(v0)", "return v1")


def test_a_guard_stays_with_what_it_looks_at() -> None:
    def f(x: Any) -> Any:
        effect(x)
        exp(x)
        return x

    becomes(
        tape(f, NUMBER),
        drop_dead,
        "v1: bool[] = less(v0, 0.0)",
        "guard(v1, expected=False, position=0, kind='if')",
        "return v0",
    )


def test_captures_that_nobody_reads_go() -> None:
    read, unread = [Capture(Var(VECTOR), np.zeros(3), name) for name in ("read", "unread")]
    becomes(
        tape(lambda x, a, b: x + a, VECTOR, captures=(read, unread)),
        drop_dead,
        "c0: float64[3] = captured read",
        "v1: float64[3] = add(v0, c0)",
        "return v1",
    )


def test_inputs_stay_although_nobody_reads_them() -> None:
    assert len(drop_dead(tape(lambda x, y: sin(x), VECTOR, VECTOR)).inputs) == 2


def test_one_of_two_outputs_keeps_a_step_alive() -> None:
    before = tape(lambda x: slogdet(x)[1], Aval((2, 2), F64))
    becomes(before, drop_dead, "v1: float64[], v2: float64[] = slogdet(v0)", "return v2")


# --------------------------------------------------------------------------------------- common subexpressions


def test_equal_expressions_are_computed_once() -> None:
    def f(x: Any) -> Any:
        return sin(x) * cos(x) + sin(x) * cos(x)

    becomes(
        tape(f, VECTOR),
        merge_common,
        "v1: float64[3] = sin(v0)",
        "v2: float64[3] = cos(v0)",
        "v3: float64[3] = multiply(v1, v2)",
        "v4: float64[3] = add(v3, v3)",
        "return v4",
    )


def test_equal_literals_are_equal_operands() -> None:
    before = tape(lambda x: multiply(x, Lit(2.0)) + multiply(x, Lit(2.0)), VECTOR)
    becomes(before, merge_common, "v1: float64[3] = multiply(v0, 2.0)", "v2: float64[3] = add(v1, v1)", "return v2")


def test_operands_may_be_exchanged_where_the_op_says_so() -> None:
    assert len(merge_common(tape(lambda x: (multiply(x, Lit(2.0)), multiply(Lit(2.0), x)), VECTOR))) == 1
    assert len(merge_common(tape(lambda x, y: (add(x, y), add(y, x), add(x, x)), VECTOR, VECTOR))) == 2
    assert len(merge_common(tape(lambda x, y: (subtract(x, y), subtract(y, x)), VECTOR, VECTOR))) == 2


def test_negative_zero_is_another_number() -> None:
    before = tape(lambda x: (add(x, Lit(0.0)), add(x, Lit(-0.0))), VECTOR)
    assert len(merge_common(before)) == 2


def test_other_parameters_are_another_expression() -> None:
    before = tape(lambda x: (sum_(x, axis=(0,)), sum_(x, axis=(1,))), Aval((3, 3), F64))
    assert len(merge_common(before)) == 2
    assert len(merge_common(tape(lambda: (iota(size=2, dtype=F64), iota(size=3, dtype=F64))))) == 2
    assert len(merge_common(tape(lambda: (iota(size=2, dtype=F64), iota(size=2, dtype=F64))))) == 1


def test_several_outputs_merge_together() -> None:
    before = tape(lambda x: slogdet(x)[0] + slogdet(x)[1], Aval((2, 2), F64))
    becomes(
        before,
        merge_common,
        "v1: float64[], v2: float64[] = slogdet(v0)",
        "v3: float64[] = add(v1, v2)",
        "return v3",
    )


def test_guards_do_not_merge() -> None:
    def f(x: Any) -> Any:
        effect(x)
        effect(x)
        return x

    assert [i.op.name for i in merge_common(tape(f, NUMBER)).instrs] == ["less", "guard", "guard"]


def test_outputs_and_notes_follow_the_value_that_stays() -> None:
    before = tape(lambda x: (sin(x), sin(x)), VECTOR)
    before = before.replace(metadata={before.outputs[1]: "note"})
    after = merge_common(before)
    assert after.outputs[0] is after.outputs[1]
    assert after.metadata == {after.outputs[0]: "note"}


def test_a_step_keeps_its_source_line() -> None:
    before = tape(lambda x: sin(sin(x)) + sin(x), VECTOR)
    lines = [Source("m.py", k, "f") for k in range(len(before))]
    before = before.replace(instrs=tuple(i._replace(source=s) for i, s in zip(before.instrs, lines, strict=True)))
    assert [i.source.line for i in merge_common(before).instrs] == [0, 1, 3]


# -------------------------------------------------------------------------------------------------- identities

IDENTITIES: list[tuple[Callable[..., Any], str]] = [
    (lambda x, y: x + negative(y), "subtract(v0, v1)"),
    (lambda x, y: negative(x) + y, "subtract(v1, v0)"),
    (lambda x, y: x - negative(y), "add(v0, v1)"),
    (lambda x, y: negative(x) * negative(y), "multiply(v0, v1)"),
    (lambda x, y: multiply(negative(x), Lit(3.0, x.aval.dtype)), "multiply(v0, -3.0)"),
    (lambda x, y: multiply(Lit(-3.0, x.aval.dtype), negative(x)), "multiply(3.0, v0)"),
    (lambda x, y: divide(x, Lit(-8.0, x.aval.dtype)), "multiply(v0, -0.125)"),
]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("f", "becomes_"), IDENTITIES, ids=[text for _, text in IDENTITIES])
def test_an_identity_holds_for_every_bit(f: Callable[..., Any], becomes_: str, dtype: str) -> None:
    info = np.finfo(dtype)
    special = [0.0, 1.0, 3.0, 0.1, np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal]
    x, y = (a.ravel() for a in np.meshgrid(*[np.array([*special, *[-v for v in special]], dtype)] * 2))
    aval = Aval(x.shape, x.dtype)
    before = tape(f, aval, aval)
    after = drop_dead(check(use_identities(before)))
    (line,) = [str(line).split(" = ")[1] for line in str(after).splitlines() if " = " in str(line)]
    assert line == becomes_
    with np.errstate(all="ignore"):
        results = [_played(after, x, y), _played(before, x, y)]
    number = ~np.isnan(results[0])
    np.testing.assert_array_equal(number, ~np.isnan(results[1]))
    assert results[0][number].tobytes() == results[1][number].tobytes()


def _played(t: Tape, *arrays: Any) -> Any:
    values: dict[Any, Any] = dict(zip(t.inputs, arrays, strict=True))
    for instr in t.instrs:
        values[instr.outs[0]] = instr.op.reference(*[a.value if isinstance(a, Lit) else values[a] for a in instr.ins])
    return values[t.outputs[0]]


@pytest.mark.parametrize("divisor", [0.0, 3.0, np.inf, np.nan, 5e-324, 2.0**1023, 2.0**-1023])
def test_only_powers_of_two_whose_inverse_is_exact_are_multiplied_by(divisor: float) -> None:
    before = tape(lambda x: divide(x, Lit(divisor)), VECTOR)
    assert str(use_identities(before)) == str(before)


def test_integers_are_not_divided_by_multiplying() -> None:
    before = tape(lambda x: divide(x, Lit(2)), Aval((3,), np.dtype(int)))
    assert str(use_identities(before)) == str(before)


MIXED = [
    lambda x, y: x + negative(y),
    lambda x, y: x - negative(y),
    lambda x, y: negative(x) * negative(y),
]


@pytest.mark.parametrize("f", MIXED)
def test_a_negative_of_another_dtype_wraps_around_elsewhere(f: Callable[..., Any]) -> None:
    """1 + (-uint8(5)) is 252, and 1 - uint8(5) is -4."""
    before = tape(f, Aval((3,), np.dtype(int)), Aval((3,), np.dtype(np.uint8)))
    assert str(use_identities(before)) == str(before)


# ------------------------------------------------------------------------------------------------ all together


def test_the_pullback_of_tanh_reads_its_output_twice_and_computes_it_once() -> None:
    joint = vjp(tape(lambda x: tanh(x), NUMBER), [0], [0], seed="one")
    becomes(
        joint,
        run,
        "v1: float64[] = tanh(v0)",
        "v2: float64[] = multiply(v1, v1)",
        "v3: float64[] = subtract(1.0, v2)",
        "return v1, v3",
    )


@pytest.mark.parametrize("one_pass", [*PIPELINE, fold_constants], ids=lambda p: p.__name__)
def test_a_pass_is_total(one_pass: Callable[[Tape], Tape]) -> None:
    """An empty tape, one that hands an input or a literal through, and one without inputs."""
    for before in [tape(lambda: ()), tape(lambda x: (x, x, Lit(1.0)), VECTOR), tape(lambda: iota(size=3, dtype=F64))]:
        after = check(one_pass(before))
        assert after.in_avals == before.in_avals and after.out_avals == before.out_avals
