"""The plan of a tape: text of short ones, and of random ones what must hold whatever they are.

:func:`simulate` runs a plan with NumPy in real bytes, knowing no kernels: if what it computes is what the references
compute, every value was in its place for as long as it was wanted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.passes.random_tapes import arguments, random_tape
from tests.passes.tapes import tape
from wengert.codegen.lower import supports
from wengert.higher.loops import TapeLoop, scan
from wengert.ops.contract import contract
from wengert.ops.elementwise import add, cos, exp, multiply, sin
from wengert.ops.index import add_slice, argsort, reverse, scatter_add, set_slice, slice_
from wengert.ops.kernels import Scatter
from wengert.ops.reduce import cumsum, sum_
from wengert.ops.shape import broadcast_to, concatenate, reshape, transpose
from wengert.passes.fuse import fuse
from wengert.passes.plan.arena import ALIGNMENT
from wengert.passes.plan.instructions import may_share_memory
from wengert.passes.plan.places import (
    Buffer,
    Place,
    Plan,
    c_strides,
)
from wengert.passes.plan.planner import plan
from wengert.passes.simplify import drop_dead
from wengert.runtime.reference import Reference
from wengert.tape import Aval, Capture, Lit, Tape, Var

F64, INT = np.dtype(float), np.dtype(np.intp)
VECTOR, MATRIX, NUMBER = Aval((3,), F64), Aval((3, 4), F64), Aval((), F64)

# ------------------------------------------------------------------------------------------------- a plan as text


def place_text(place: Place, names: dict[int, str]) -> str:
    buffer = place.buffer
    name = names.setdefault(id(buffer), f"{buffer.kind}{buffer.number if buffer.number >= 0 else len(names)}")
    where = f"+{place.offset}" if place.offset else ""
    laid = "" if place.strides == c_strides(place.aval) else f" by {place.strides}"
    return f"{name}{where}{list(place.aval.shape)}{laid}"


def text_of(made: Plan) -> list[str]:
    """One line a step; arena buffers are named a, b, c ... in the order in which they appear."""
    letters = iter("abcdefghijklmnop")
    names: dict[int, str] = {}
    lines = []
    for step in made.steps:
        for place in (*step.ins, *step.outs):
            if place.buffer.kind == "arena" and id(place.buffer) not in names:
                names[id(place.buffer)] = next(letters)
        what = step.what if step.instr is None else step.instr.op.name
        ins, outs = (", ".join(place_text(p, names) for p in places) for places in (step.ins, step.outs))
        lines.append(f"{what} {ins} -> {outs}".rstrip())
    return lines


def becomes(f: Callable[..., Any], avals: Sequence[Aval], *lines: str, captures: tuple[Capture, ...] = ()) -> None:
    assert text_of(plan(tape(f, *avals, captures=captures))) == list(lines)


# ---------------------------------------------------------------------------------------------- where values live


def test_a_result_is_written_where_it_is_wanted() -> None:
    becomes(lambda x: sin(x), [VECTOR], "sin input0[3] -> output0[3]")


def test_a_map_overwrites_an_operand_that_dies() -> None:
    becomes(
        lambda x: exp(cos(sin(x))) * x,
        [VECTOR],
        "sin input0[3] -> a[3]",
        "cos a[3] -> a[3]",
        "exp a[3] -> a[3]",
        "multiply a[3], input0[3] -> output0[3]",
    )


def test_what_is_read_again_is_not_overwritten() -> None:
    def f(x: Any) -> Any:
        y = sin(x)
        z = cos(y)
        return exp(z) * y

    becomes(
        f,
        [VECTOR],
        "sin input0[3] -> a[3]",
        "cos a[3] -> b[3]",
        "exp b[3] -> b[3]",
        "multiply b[3], a[3] -> output0[3]",
    )


def test_arguments_and_captures_are_not_overwritten() -> None:
    c = Capture(Var(VECTOR), np.zeros(3), "c")
    becomes(
        lambda x, c: sum_(sin(x) + cos(c), axis=(0,)),
        [VECTOR],
        "sin input0[3] -> a[3]",
        "cos capture0[3] -> b[3]",
        "add a[3], b[3] -> a[3]",
        "sum a[3] -> output0[]",
        captures=(c,),
    )


def test_a_result_is_not_overwritten_by_what_reads_it() -> None:
    def f(x: Any) -> Any:
        y = sin(x)
        return y, sum_(cos(y), axis=(0,))

    becomes(f, [VECTOR], "sin input0[3] -> output0[3]", "cos output0[3] -> a[3]", "sum a[3] -> output1[]")


def test_a_loop_carries_on_where_its_carry_is() -> None:
    """If the carry dies with it, and is nothing else to the loop."""
    loop = TapeLoop(tape(lambda x, carry: (sin(carry) * x,), VECTOR, VECTOR), 1, 1, 5, False)
    again = lambda x, begin: sum_(scan(x, begin, loop=loop, pull=None), axis=(0,))
    becomes(
        lambda x: again(x, cos(x)),
        [VECTOR],
        "cos input0[3] -> a[3]",
        "scan input0[3], a[3] -> a[3]",
        "sum a[3] -> output0[]",
    )

    def of_one_value(x: Any) -> Any:
        y = cos(x)
        return again(y, y)

    becomes(
        of_one_value,
        [VECTOR],
        "cos input0[3] -> a[3]",
        "scan a[3], a[3] -> b[3]",
        "sum b[3] -> output0[]",
    )


def test_an_operand_that_is_read_at_other_indices_is_not_overwritten() -> None:
    """y + y[::-1] in place would read what it has just written; so would y + y[:1]."""

    def mirrored(x: Any) -> Any:
        y = sin(x)
        return sum_(y + reverse(y, 0), axis=(0,))

    def by_the_first(x: Any) -> Any:
        y = sin(x)
        return sum_(y + slice_(y, index=((0, 1, 1),)), axis=(0,))

    def by_the_first_row(x: Any) -> Any:
        y = sin(x)
        return sum_(y + slice_(y, index=((0, 1, 1), (0, 4, 1))), axis=(0, 1))

    for f, aval in ((mirrored, VECTOR), (by_the_first, VECTOR), (by_the_first_row, MATRIX)):
        made = plan(tape(f, aval))
        (step,) = [s for s in made.steps if s.instr is not None and s.instr.op.name == "add"]
        assert step.outs[0].buffer is not step.ins[0].buffer, f.__name__


POINTWISE: dict[str, tuple[Callable[..., Any], int, bool]] = {
    "a map": (lambda m, v: sin(m) * m, 0, True),
    "what is folded afterwards": (lambda m, v: ((y := sin(m) * 2.0), sum_(y, axis=(0,)))[0], 0, True),
    "read once all has been folded": (lambda m, v: sum_(sin(m), axis=(1,)) + v, 1, True),
    "read while it is folded": (lambda m, v: sum_(m * v, axis=(0,)) * 2.0, 1, False),
    "read by both": (lambda m, v: sum_(m * v, axis=(0,)) + v, 1, False),
    "read after a product": (lambda m, v: contract(m, reverse(v, axis=0), a=(0, 1), b=(1,), out=(0,)) + v, 1, True),
    "read by a product": (lambda m, v: contract(m, v, a=(0, 1), b=(1,), out=(0,)) * 2.0, 1, False),
    "read by a product, and after it": (lambda m, v: contract(m, v, a=(0, 1), b=(1,), out=(0,)) + v, 1, False),
    "sorted": (lambda m, v: argsort(v, axis=0), 1, False),
}


@pytest.mark.parametrize("case", POINTWISE)
def test_a_result_may_be_written_over_what_nobody_reads_any_more(case: str) -> None:
    f, k, expected = POINTWISE[case]
    made = fuse(tape(f, Aval((3, 3), F64), VECTOR), supports)
    last = made.instrs[-1]
    assert may_share_memory(last, made.inputs[k], last.outs[0]) is expected


def test_a_view_keeps_the_memory_of_its_operand() -> None:
    """y is not read any more when z is made, but its transpose is."""

    def f(x: Any) -> Any:
        y = sin(x)
        t = transpose(y, axes=(1, 0))
        z = cos(y)
        return t + transpose(z, axes=(1, 0))

    becomes(
        f,
        [MATRIX],
        "sin input0[3, 4] -> a[3, 4]",
        "cos a[3, 4] -> b[3, 4]",
        "add a[4, 3] by (8, 32), b[4, 3] by (8, 32) -> output0[4, 3]",
    )


def test_views_are_no_steps() -> None:
    becomes(
        lambda x: exp(reshape(transpose(slice_(x, index=((0, 3, 1), (3, 2, -2))), axes=(1, 0)), shape=(2, 3))),
        [MATRIX],
        "exp input0+24[2, 3] by (-16, 32) -> output0[2, 3]",
    )


def test_a_reshape_that_no_strides_can_say_is_a_copy() -> None:
    becomes(
        lambda x: exp(reshape(transpose(x, axes=(1, 0)), shape=(12,))),
        [MATRIX],
        "copy input0[4, 3] by (8, 32) -> a[4, 3]",
        "exp a[12] -> output0[12]",
    )


def test_an_argument_that_is_returned_is_copied() -> None:
    becomes(lambda x: (x, x), [VECTOR], "copy input0[3] -> output0[3]", "copy input0[3] -> output1[3]")


def test_a_result_that_is_returned_twice_is_computed_once() -> None:
    def f(x: Any) -> Any:
        y = sin(x)
        return y, y

    becomes(f, [VECTOR], "sin input0[3] -> output0[3]", "copy output0[3] -> output1[3]")


def test_a_concatenation_is_written_by_its_producers() -> None:
    becomes(
        lambda x: concatenate(sin(x), cos(x), x, axis=0),
        [VECTOR],
        "sin input0[3] -> output0[3]",
        "cos input0[3] -> output0+24[3]",
        "copy input0[3] -> output0+48[3]",
    )


def test_a_concatenation_of_concatenations_is_written_once() -> None:
    becomes(
        lambda x: concatenate(concatenate(sin(x), cos(x), axis=1), exp(x), axis=1),
        [Aval((2, 2), F64)],
        "sin input0[2, 2] -> output0[2, 2] by (48, 8)",
        "cos input0[2, 2] -> output0+16[2, 2] by (48, 8)",
        "exp input0[2, 2] -> output0+32[2, 2] by (48, 8)",
    )


def test_what_is_stacked_is_written_where_it_comes_to_stand() -> None:
    """Through the view that gives it an axis of length 1; but not what is longer than what is stacked of it."""
    becomes(
        lambda x: concatenate(reshape(sin(x), shape=(3, 1, 4)), reshape(cos(x), shape=(3, 1, 4)), axis=1),
        [MATRIX],
        "sin input0[3, 4] -> output0[3, 4] by (64, 8)",
        "cos input0[3, 4] -> output0+32[3, 4] by (64, 8)",
    )
    longer = lambda x: concatenate(
        slice_(sin(x), index=((0, 2, 1), (0, 4, 1))), slice_(x, index=((2, 1, 1), (0, 4, 1))), axis=0
    )
    assert [line.split()[0] for line in text_of(plan(tape(longer, MATRIX)))] == ["sin", "copy", "copy"]
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(simulate(plan(tape(longer, MATRIX)), [x])[0], np.concatenate([np.sin(x[:2]), x[2:]]))


def test_two_parts_of_one_result_that_are_written_into_were_refused() -> None:
    """The second part's memory was taken for being read, since the buffer of both is, by the first part."""

    def f(x: Any, i: Any) -> Any:
        first, second = sin(x), cos(x)
        after = reshape(scatter_add(second, x, i), shape=(12,))
        return concatenate(reshape(scatter_add(first, x, i), shape=(12,)), after, axis=0)

    becomes(
        f,
        [MATRIX, Aval((3,), INT)],
        "sin input0[3, 4] -> output0[3, 4]",
        "cos input0[3, 4] -> output0+96[3, 4]",
        "scatter_add output0+96[3, 4], input0[3, 4], input1[3] -> output0+96[3, 4]",
        "scatter_add output0[3, 4], input0[3, 4], input1[3] -> output0[3, 4]",
    )


def test_a_part_that_is_read_again_is_not_what_is_written_into() -> None:
    def f(x: Any) -> Any:
        y = sin(x)
        return concatenate(y, set_slice(y, Lit(0.5), index=(1,)), cos(y), axis=0)

    y = np.sin(np.arange(3.0))
    np.testing.assert_array_equal(
        simulate(plan(tape(f, VECTOR)), [np.arange(3.0)])[0], [*y, y[0], 0.5, y[2], *np.cos(y)]
    )


def test_what_is_joined_twice_is_copied_once() -> None:
    def f(x: Any) -> Any:
        y = sin(x)
        return concatenate(y, y, axis=0)

    assert sum(line.startswith("sin") for line in text_of(plan(tape(f, VECTOR)))) == 1
    assert simulate(plan(tape(f, VECTOR)), [np.arange(3.0)])[0].tolist() == [*np.sin(np.arange(3.0))] * 2


def test_a_chain_of_writes_works_in_one_buffer() -> None:
    """y[0] = x[2]; y[1] = y[0] + x[1] ...: the result's own memory, and nothing of the array's size is copied."""

    def f(x: Any) -> Any:
        y = broadcast_to(Lit(0.0), shape=(3,))
        for k in range(3):
            before = slice_(y, index=(max(0, k - 1),))
            y = set_slice(y, add(before, slice_(x, index=(k,))), index=(k,))
        return y

    made = plan(tape(f, VECTOR))
    whole = [s for s in made.steps if s.outs and s.outs[0].aval.shape == (3,)]
    assert [s.what for s in whole] == ["copy"]  # the zeros
    assert {s.outs[0].buffer.kind for s in whole} == {"output"}
    assert simulate(made, [np.array([1.0, 2.0, 3.0])])[0].tolist() == [1.0, 3.0, 6.0]


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_the_arena_does_not_grow_with_a_chain_of_writes(n: int) -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        for k in range(1, n):
            y = add_slice(y, slice_(y, index=(k - 1,)), index=(k,))
        return sum_(y, axis=(0,))

    made = plan(tape(f, Aval((n,), F64)))
    assert made.arena_bytes <= 8 * n + 4 * ALIGNMENT
    assert sum(p.aval.size for s in made.steps for p in s.outs) <= 3 * n


def test_a_write_into_an_argument_is_a_write_into_a_copy() -> None:
    becomes(
        lambda x: set_slice(x, Lit(1.0), index=(0,)),
        [VECTOR],
        "copy input0[3] -> output0[3]",
        "copy literal0[] -> output0[]",
    )


@pytest.mark.parametrize("write", ["set_slice", "scatter_add"])
def test_a_view_from_before_a_write_is_not_written(write: str) -> None:
    """y = 2 x; v = y[1]; y[1] = 7 or y[[1]] += 7; y and v are returned: v is the old number."""

    def f(x: Any) -> Any:
        y = multiply(x, Lit(2.0))
        v = slice_(y, index=(1,))
        if write == "set_slice":
            return set_slice(y, Lit(7.0), index=(1,)), v
        return scatter_add(y, Lit(7.0), Lit(np.array(1), INT)), v

    before = tape(f, VECTOR)
    x = np.array([1.0, 2.0, 3.0])
    same(simulate(plan(before), [x]), Reference(before).run([x]))


def test_an_empty_array_is_no_step() -> None:
    empty = Aval((0, 3), F64)
    assert plan(tape(lambda x: sin(x), empty)).steps == []
    becomes(lambda x: sum_(x, axis=(0,)), [empty], "copy literal0[] -> output0[3]")
    becomes(lambda x: concatenate(x, x, axis=0), [empty])


def test_strides_of_arguments_are_those_given() -> None:
    made = plan(tape(lambda x: sin(x), MATRIX), [(8, 24)])
    assert text_of(made) == ["sin input0[3, 4] by (8, 24) -> output0[3, 4]"]
    with_reshape = tape(lambda x: reshape(x, shape=(12,)), MATRIX)
    x = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    same(simulate(plan(with_reshape, [x.strides]), [x]), [x.reshape(12)])


def test_sorting_places_has_room_for_a_row_of_keys_and_places_twice() -> None:
    made = plan(tape(lambda x: argsort(x, axis=1), Aval((3, 50), F64)))
    (work,) = [step.work for step in made.steps if step.work is not None]
    assert work.aval.size == 2 * 50 * (8 + 8) <= made.arena_bytes


def test_a_buffer_that_died_lends_its_bytes() -> None:
    """A long chain of reductions and products lives in a few buffers, however long it is."""

    def chain(n: int) -> Tape:
        def f(x: Any) -> Any:
            for _ in range(n):
                x = contract(x, x, a=(0, 1), b=(1, 2), out=(0, 2))
            return x

        return tape(f, Aval((4, 4), F64))

    sizes = {plan(chain(n)).arena_bytes for n in (3, 10, 100)}
    assert len(sizes) == 1
    assert sizes.pop() <= 2 * 128


# --------------------------------------------------------------------------------------------- whatever the tape is


def memory_of(made: Plan, inputs: Sequence[np.ndarray[Any, Any]]) -> Callable[[Place], np.ndarray[Any, Any]]:
    """Bytes for all buffers, and a place as an array in them. What nobody has written yet is NaN."""
    arena = np.full(made.arena_bytes // 8 + 1, np.nan).view(np.uint8)[: made.arena_bytes]
    results = [np.full(max(1, a.aval.nbytes // 8 + 1), np.nan).view(np.uint8) for a in made.tape.outputs]
    fixed: dict[str, list[np.ndarray[Any, Any]]] = {
        "input": list(inputs),
        "capture": [c.array for c in made.tape.captures],
        "literal": [np.array(a.value) for a in made.literals],
        "output": results,
    }

    def array(place: Place) -> np.ndarray[Any, Any]:
        buffer, aval = place.buffer, place.aval
        if buffer.kind == "arena":
            room = arena[buffer.offset : buffer.offset + buffer.nbytes]
            return np.ndarray(aval.shape, aval.dtype, room, place.offset, place.strides)
        base = fixed[buffer.kind][buffer.number]
        if buffer.kind == "output":
            return np.ndarray(aval.shape, aval.dtype, base, place.offset, place.strides)
        return at_address(base, place)

    return array


def at_address(base: np.ndarray[Any, Any], place: Place) -> np.ndarray[Any, Any]:
    """A place in an array that is given, whatever its strides."""

    class Part:
        def __init__(self) -> None:
            self.owner = base
            self.__array_interface__ = {
                "data": (base.__array_interface__["data"][0] + place.offset, True),
                "shape": place.aval.shape,
                "strides": place.strides,
                "typestr": place.aval.dtype.str,
                "version": 3,
            }

    return np.asarray(Part())


def simulate(made: Plan, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """The results of a plan whose steps NumPy takes: operands first, then results, into the same memory."""
    array = memory_of(made, inputs)
    for step in made.steps:
        ins, outs = [array(p) for p in step.ins], [array(p) for p in step.outs]
        if step.what == "run":
            assert step.instr is not None
            op, given = step.instr.op, step.instr.ins
            values = [np.copy(x) for x in ins[: len(given)]]
            with np.errstate(all="ignore"):
                made_values = op.reference(*values, **step.instr.params)
            for goal, value in zip(outs, made_values if len(outs) > 1 else (made_values,), strict=True):
                goal[...] = value
        elif step.what == "copy":
            outs[0][...] = np.copy(ins[0])
        else:
            outs[0][...] += np.copy(ins[0])
    results = [Buffer("output", k) for k in range(len(made.tape.outputs))]
    return [
        np.copy(array(Place(b, 0, c_strides(a.aval), a.aval))) for b, a in zip(results, made.tape.outputs, strict=True)
    ]


def same(got: Sequence[Any], want: Sequence[Any]) -> None:
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


seeds = st.integers(0, 2**32 - 1)
both = pytest.mark.parametrize("is_fused", [False, True], ids=["as it is", "fused"])


def plan_of(seed: int, is_fused: bool) -> Plan:
    made = drop_dead(random_tape(seed))
    return plan(fuse(made, supports) if is_fused else made)


@both
@given(seed=seeds)
@settings(max_examples=5 * settings().max_examples)
def test_a_plan_computes_what_its_tape_says(seed: int, is_fused: bool) -> None:
    made = plan_of(seed, is_fused)
    inputs = arguments(made.tape, seed)
    kept = [np.copy(x) for x in inputs]
    same(simulate(made, inputs), Reference(random_tape(seed)).run(inputs))
    for x, before in zip(inputs, kept, strict=True):
        np.testing.assert_array_equal(x, before)


@both
@given(seed=seeds)
def test_values_that_live_together_lie_apart(seed: int, is_fused: bool) -> None:
    """By brute force: each buffer's life, from the first step that names it to the last, against every other's."""
    made = plan_of(seed, is_fused)
    life: dict[int, tuple[Buffer, int, int]] = {}
    for k, step in enumerate(made.steps):
        for place in (*step.ins, *step.outs, *([step.work] if step.work else [])):
            if place.buffer.kind == "arena":
                buffer, first, _ = life.get(id(place.buffer), (place.buffer, k, k))
                life[id(place.buffer)] = (buffer, first, k)
    for buffer, _, _ in life.values():
        assert buffer.offset % ALIGNMENT == 0
        assert 0 <= buffer.offset <= buffer.offset + buffer.nbytes <= made.arena_bytes
    for (a, a_first, a_last), (b, b_first, b_last) in itertools.combinations(life.values(), 2):
        if a_first <= b_last and b_first <= a_last:
            assert a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset


def region_of(place: Place) -> Any:
    strides = [0 if n == 1 else s for n, s in zip(place.aval.shape, place.strides, strict=True)]
    return place.offset, place.aval.shape, strides


@both
@given(seed=seeds)
def test_a_step_that_works_in_place_reads_where_it_writes(seed: int, is_fused: bool) -> None:
    """A result shares memory with an operand only index by index; nothing is written that is not the program's own."""
    made = plan_of(seed, is_fused)
    array = memory_of(made, arguments(made.tape))
    for step in made.steps:
        for goal in step.outs:
            assert goal.buffer.kind in ("arena", "output")
        if step.instr is not None and isinstance(step.instr.op.kernel, Scatter):
            assert step.ins[0] == step.outs[0]
            pairs = itertools.product(step.ins[1:], step.outs)
        else:
            pairs = itertools.product(step.ins, step.outs)
        for source, goal in pairs:
            if source.aval.size and np.shares_memory(array(source), array(goal)):
                assert region_of(source) == region_of(goal), step
        for a, b in itertools.combinations(step.outs, 2):
            assert not np.shares_memory(array(a), array(b))


def test_the_work_of_planning_is_linear() -> None:
    """Steps and buffers of a chain; and no place is listed twice."""

    def chain(n: int) -> Tape:
        def f(x: Any) -> Any:
            for k in range(n):
                x = cumsum(sin(x), axis=0) + float(k)
            return x

        return tape(f, VECTOR)

    small, large = plan(chain(20)), plan(chain(200))
    assert len(large.steps) == 10 * len(small.steps)
    assert large.arena_bytes == small.arena_bytes


def test_what_is_repeated_is_copied_before_a_part_of_it_is_written() -> None:
    index = (0, (0, 3, 1))
    becomes(
        lambda x, y: sin(set_slice(broadcast_to(exp(x), shape=(4, 3)), y, index=index)),
        [VECTOR, VECTOR],
        "exp input0[3] -> a[3]",
        "copy a[4, 3] by (0, 8) -> b[4, 3]",
        "copy input1[3] -> b[3]",
        "sin b[4, 3] -> output0[4, 3]",
    )
    becomes(
        lambda x, y: sin(set_slice(broadcast_to(exp(x), shape=(1, 3)), y, index=index)),
        [VECTOR, VECTOR],
        "exp input0[3] -> a[3]",
        "copy input1[3] -> a[3]",
        "sin a[1, 3] by (0, 8) -> output0[1, 3]",
    )
