"""Cotangents known by structure: their sums are the sums of what they stand for, and they stay what they are for as
long as they can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.ops.check_op import evaluate
from wengert.ad.cotangents import (
    add,
    apply_partial,
    densify,
    project,
    selected,
    support,
    times,
    where_it_counts,
    written,
)
from wengert.ad.reverse import vjp
from wengert.ops.elementwise import greater, multiply, select, sin
from wengert.ops.index import slice_
from wengert.ops.op import CONJUGATION
from wengert.ops.reduce import sum_
from wengert.ops.shape import diagonal
from wengert.ops.structured import Diagonal, Fill, Hole, Marks, Masked, ScatteredSum, ScatteredTerm
from wengert.tape import Aval, Builder, Capture, Lit, Tape, Var, building, check

F64, INTP = np.dtype(float), np.dtype(np.intp)
SQUARE = Aval((3, 3), F64)


class Bench:
    """A tape under construction whose arrays are known, so that any atom on it can be evaluated."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.captures: list[Capture] = []

    def atom(self, value: Any) -> Any:
        array = np.asarray(value)
        var = Var(Aval(array.shape, array.dtype))
        self.captures.append(Capture(var, array))
        return var

    def value(self, atom: Any) -> Any:
        return evaluate(check(Tape((), tuple(self.captures), self.builder.instrs, (atom,))), [])[0]


ROW, CORNER, REPEATED = ((1, (0, 3, 1)), (2, 2), np.array([0, 2, 0]))
MASK = np.array([[True, False, False], [True, True, False], [False, False, False]])


def made(kind: str, bench: Bench) -> tuple[Any, Any]:
    """A cotangent of that kind over float64[3, 3], and the array that it stands for."""
    dense = np.arange(9.0).reshape(3, 3) + 1
    out = np.zeros((3, 3))
    match kind:
        case "zero":
            return None, out
        case "fill":
            return Fill(bench.atom(2.0), SQUARE), out + 2
        case "dense":
            return bench.atom(dense), dense
        case "row":
            out[1] = [1, 2, 3]
            return ScatteredSum(None, (ScatteredTerm(bench.atom(out[1].copy()), ROW),), SQUARE), out
        case "two parts":
            out[1] = [1, 2, 3]
            out[2, 2] = 5
            parts = (ScatteredTerm(bench.atom(out[1].copy()), ROW), ScatteredTerm(bench.atom(5.0), CORNER))
            return ScatteredSum(None, parts, SQUARE), out
        case "repeated rows":
            np.add.at(out, REPEATED, dense)
            return ScatteredSum(None, (ScatteredTerm(bench.atom(dense), None, (bench.atom(REPEATED),)),), SQUARE), out
        case "part on a base":
            return ScatteredSum(bench.atom(dense), (ScatteredTerm(bench.atom(5.0), CORNER),), SQUARE), dense + 5 * (
                np.arange(9) == 8
            ).reshape(3, 3)
        case "diagonal":
            return Diagonal(bench.atom([1.0, 2.0, 3.0]), SQUARE), np.diag([1.0, 2, 3])
        case "multiple of the identity":
            return Diagonal(bench.atom(2.0), SQUARE), 2 * np.eye(3)
        case "masked":
            return Masked(bench.atom(MASK), bench.atom(dense)), np.where(MASK, dense, 0)
        case "masked elsewhere":
            return Masked(bench.atom(MASK), bench.atom(dense), holds=False), np.where(MASK, 0, dense)
        case "masked number":
            return Masked(bench.atom(MASK), bench.atom(2.0)), np.where(MASK, 2.0, 0)
    raise ValueError(kind)


KINDS = [
    "zero",
    "fill",
    "dense",
    "row",
    "two parts",
    "repeated rows",
    "part on a base",
    "diagonal",
    "multiple of the identity",
    "masked",
    "masked elsewhere",
    "masked number",
]


@pytest.mark.parametrize("kind", KINDS)
def test_densify_gives_what_the_structure_stands_for(kind: str) -> None:
    bench = Bench()
    with building(bench.builder):
        ct, dense = made(kind, bench)
        atom = densify(ct, SQUARE)
    assert atom.aval is SQUARE
    np.testing.assert_array_equal(bench.value(atom), dense)


@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5))
def test_a_sum_of_any_kinds_in_any_order(kinds: list[str]) -> None:
    bench = Bench()
    total, expected = None, np.zeros((3, 3))
    with building(bench.builder):
        for kind in kinds:
            ct, dense = made(kind, bench)
            total = add(total, project(ct, SQUARE), SQUARE)
            expected = expected + dense
        atom = densify(total, SQUARE)
    assert atom.aval is SQUARE
    np.testing.assert_allclose(bench.value(atom), expected, rtol=1e-15)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_times_a_partial(kind: str) -> None:
    """An elementwise pullback: by an array, by a number, by a mask."""
    partial = np.linspace(-1, 1, 9).reshape(3, 3)
    other = MASK.T
    bench = Bench()
    with building(bench.builder):
        ct, dense = made(kind, bench)
        by_array = densify(apply_partial(ct, bench.atom(partial), SQUARE), SQUARE)
        by_number = densify(apply_partial(ct, -2, SQUARE), SQUARE)
        by_mask = densify(apply_partial(ct, Masked(bench.atom(other), 1), SQUARE), SQUARE)
        by_complement = densify(apply_partial(ct, Masked(bench.atom(other), 3, holds=False), SQUARE), SQUARE)
    np.testing.assert_allclose(bench.value(by_array), dense * partial, rtol=1e-15)
    np.testing.assert_array_equal(bench.value(by_number), dense * -2)
    np.testing.assert_array_equal(bench.value(by_mask), np.where(other, dense, 0))
    np.testing.assert_array_equal(bench.value(by_complement), np.where(other, 0, 3 * dense))


# ---------------------------------------------------------------------------------------------- what is kept


def test_fills_add_as_numbers() -> None:
    bench = Bench()
    with building(bench.builder):
        total = add(made("fill", bench)[0], made("fill", bench)[0], SQUARE)
    assert isinstance(total, Fill)
    assert len(bench.builder.instrs) == 1 and total.value.aval.shape == ()


def test_parts_are_only_listed() -> None:
    bench = Bench()
    with building(bench.builder):
        total = add(made("row", bench)[0], made("two parts", bench)[0], SQUARE)
        total = add(made("fill", bench)[0], total, SQUARE)
    assert isinstance(total, ScatteredSum) and len(total.parts) == 3 and isinstance(total.base, Fill)
    assert not bench.builder.instrs


def test_diagonals_add_as_vectors() -> None:
    bench = Bench()
    with building(bench.builder):
        total = add(made("diagonal", bench)[0], made("diagonal", bench)[0], SQUARE)
    assert isinstance(total, Diagonal) and total.value.aval.shape == (3,)


def test_the_two_branches_of_one_selection_are_one_selection() -> None:
    """No mask is negated, and nothing is added: each element comes from the one branch or from the other."""
    bench = Bench()
    with building(bench.builder):
        mask, x, y = bench.atom(MASK), bench.atom(np.ones((3, 3))), bench.atom(np.zeros((3, 3)))
        total = add(Masked(mask, x), Masked(mask, y, holds=False), SQUARE)
    assert [i.op.name for i in bench.builder.instrs] == ["select"]
    np.testing.assert_array_equal(bench.value(total), MASK * 1.0)


def test_a_branch_within_the_other_branch_is_nothing() -> None:
    bench = Bench()
    with building(bench.builder):
        mask, x = bench.atom(MASK), bench.atom(np.ones((3, 3)))
        assert apply_partial(Masked(mask, x), Masked(mask, 1, holds=False), SQUARE) is None
        within = apply_partial(Masked(mask, x), Masked(mask, 1), SQUARE)
    assert within == Masked(mask, x) and not bench.builder.instrs


def test_where_no_summand_counts_the_sum_does_not() -> None:
    """0 + 0 would be a number, and a number times an infinite partial is NaN; nothing stays nothing."""
    bench = Bench()
    with building(bench.builder):
        first, second = made("masked", bench)[0], made("masked", bench)[0]
        total = apply_partial(add(first, second, SQUARE), bench.atom(np.full((3, 3), np.inf)), SQUARE)
        value = selected(total)
    np.testing.assert_array_equal(bench.value(value), np.where(MASK, np.inf, 0))


# ------------------------------------------------------------------------------------------------ projection


@pytest.mark.parametrize(("have", "want"), [((2, 3), (1, 3)), ((2, 3), (3,)), ((2, 3), ()), ((3,), (3,)), ((), ())])
def test_project_sums_over_what_was_broadcast(have: tuple[int, ...], want: tuple[int, ...]) -> None:
    bench, ct = Bench(), np.arange(float(np.prod(have))).reshape(have)
    lead = tuple(range(len(have) - len(want)))
    expected = ct.sum(lead).reshape(want) if ct.sum(lead).size == np.prod(want) else ct.sum(0, keepdims=True)
    aval = Aval(want, F64)
    with building(bench.builder):
        atom = densify(project(bench.atom(ct), aval), aval)
    np.testing.assert_array_equal(bench.value(atom), expected)


@pytest.mark.parametrize("shape", [(4, 3), (3,), (1, 3), ()])
def test_a_projected_fill_counts_the_repeats(shape: tuple[int, ...]) -> None:
    bench, aval = Bench(), Aval(shape, F64)
    with building(bench.builder):
        ct = project(Fill(bench.atom(1.0), Aval((4, 3), F64)), aval)
        assert isinstance(ct, Fill)
        atom = densify(ct, aval)
    np.testing.assert_array_equal(bench.value(atom), np.full(shape, 12 / np.prod(shape)))


def test_project_casts_to_the_dtype_of_the_primal() -> None:
    bench, aval = Bench(), Aval((3,), np.dtype("float32"))
    with building(bench.builder):
        for ct in [bench.atom(np.ones(3)), Fill(bench.atom(1.0), Aval((3,), F64))]:
            assert densify(project(ct, aval), aval).aval is aval


# --------------------------------------------------------------------------------- in the pullback of a program


def pullback(f: Any, *avals: Aval) -> list[str]:
    """The names of the steps that the pullback of ``f`` adds, for a cotangent of one."""
    inputs = tuple(map(Var, avals))
    with building(Builder()) as builder:
        y = f(*inputs)
    tape = Tape(inputs, (), builder.instrs, (y,))
    return [i.op.name for i in vjp(tape, range(len(inputs)), [0], seed="one").instrs[len(tape) :]]


def test_the_gradient_of_a_sum_is_a_view_of_one_number() -> None:
    assert pullback(lambda x: sum_(x, axis=(0, 1)), SQUARE) == ["broadcast_to"]


def test_a_sum_of_a_product_spreads_nothing() -> None:
    """The cotangent of x is y itself, of y x itself."""
    assert pullback(lambda x, y: sum_(multiply(x, y), axis=(0, 1)), SQUARE, SQUARE) == []


def test_reads_of_one_array_share_one_buffer() -> None:
    def f(x: Any) -> Any:
        total = slice_(x, index=(0,))
        for k in range(1, 50):
            total = total + slice_(x, index=(k,)) * float(k)
        return total

    steps = pullback(f, Aval((50,), F64))
    assert steps.count("broadcast_to") <= 1 and steps.count("add_slice") <= 50


@given(st.data())
def test_parts_side_by_side_are_joined(data: st.DataObject) -> None:
    """Whatever the axis, the cuts and the order in which they are read."""
    axis, n = data.draw(st.integers(0, 2)), data.draw(st.integers(2, 6))
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), min_size=1)))
    shape = tuple([n if k == axis else 8 for k in range(3)])
    order = data.draw(st.permutations(list(zip([0, *cuts], [*cuts, n], strict=True))))
    by_number = data.draw(st.booleans())

    def at(start: int, stop: int) -> tuple[Any, ...]:
        own = start if by_number and stop == start + 1 else slice(start, stop)
        return tuple([own if k == axis else slice(None) for k in range(3)])

    def f(x: Any) -> Any:
        return sum([np.sum(x[at(*read)] * np.sin(x[at(*read)])) * k for k, read in enumerate(order, 1)])

    x = np.random.default_rng(0).normal(size=shape)
    steps = [i.op.name for i in wg.trace(wg.grad(f))(x).instrs]
    assert steps.count("concatenate") == 1 and not {"add_slice", "embed"} & {*steps}
    weights = np.empty(shape)
    for k, read in enumerate(order, 1):
        weights[at(*read)] = k
    np.testing.assert_allclose(wg.grad(f)(x), weights * (np.sin(x) + x * np.cos(x)), rtol=1e-12)


@pytest.mark.parametrize(
    "reads",
    [
        pytest.param([slice(0, 3), slice(2, 4)], id="overlapping"),
        pytest.param([slice(0, 1), slice(2, 4)], id="something left out"),
        pytest.param([slice(0, 4, 2), slice(1, 4, 2)], id="every other one"),
        pytest.param([slice(0, 4), slice(0, 2)], id="all of it, and a part"),
    ],
)
def test_parts_that_are_not_joined(reads: list[slice]) -> None:
    f = lambda x: sum([np.sum(np.sin(x[read]) * k) for k, read in enumerate(reads, 1)])
    x = np.random.default_rng(0).normal(size=(4, 9))
    assert "concatenate" not in [i.op.name for i in wg.trace(wg.grad(f))(x).instrs]
    weights = np.zeros((4, 1))
    for k, read in enumerate(reads, 1):
        weights[read] += k
    np.testing.assert_allclose(wg.grad(f)(x), weights * np.cos(x), rtol=1e-12)


def test_reads_at_one_index_are_written_once() -> None:
    def f(x: Any) -> Any:
        total = slice_(x, index=(0,))
        for k in range(1, 50):
            total = total * slice_(x, index=(k % 2,))
        return total

    steps = pullback(f, Aval((50,), F64))
    assert steps.count("embed") == 1 and steps.count("add_slice") == 1


def test_a_sum_of_many_parts_keeps_their_order_and_copies_none() -> None:
    bench = Bench()
    parts = [ScatteredTerm(bench.atom(float(k)), (k,)) for k in range(20_000)]
    of = Aval((20_000,), F64)
    total = None
    for part in parts:
        total = add(total, ScatteredSum(None, (part,), of), of)
    assert isinstance(total, ScatteredSum) and total.parts == parts
    assert len(total.joined) == 2  # what was there, and what came


def test_the_gradient_of_a_trace_is_the_identity() -> None:
    steps = pullback(lambda x: sum_(diagonal(x), axis=(0,)), SQUARE)
    assert steps == ["broadcast_to", "embed_diagonal"]


def test_a_selection_needs_one_selection_a_branch() -> None:
    def f(x: Any) -> Any:
        return select(greater(x, Lit(0.0)), sin(x), x)

    steps = pullback(f, Aval((), F64))
    assert steps == ["cos", "select"]


def test_leaky_relu_selects_once() -> None:
    steps = pullback(lambda x: select(greater(x, Lit(0.0)), x, x * 0.1), Aval((), F64))
    assert steps == ["select"]


# ----------------------------------------------------------------------------------------- each case of each function


@pytest.mark.parametrize("kind", KINDS)
def test_a_sum_with_nothing_is_the_cotangent_itself(kind: str) -> None:
    bench = Bench()
    with building(bench.builder):
        ct, _ = made(kind, bench)
        assert add(ct, None, SQUARE) is ct and add(None, ct, SQUARE) is ct
    assert not bench.builder.instrs


@pytest.mark.parametrize("partial", [1, -1, 3, 0.5, "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_product_with_a_partial_loses_nothing_of_either(dtype: str, partial: Any) -> None:
    """A real partial of float32 beside a complex cotangent gives something complex."""
    bench = Bench()
    ct = np.array([1.5, -2.0, 4.0]).astype(dtype) * (1 + 2j if dtype[0] == "c" else 1)
    ct = ct.astype(dtype)
    factor: Any = partial
    if isinstance(partial, str):
        factor = (np.array([0.25, 3.0, -1.0]) * (2 - 1j if partial[0] == "c" else 1)).astype(partial)
    with building(bench.builder):
        got = times(bench.atom(ct), bench.atom(factor) if isinstance(partial, str) else factor)
    value = bench.value(got)
    if ct.dtype.kind == "c":
        np.testing.assert_allclose(value, ct * factor, rtol=1e-6)
        assert value.dtype.kind == "c"
    else:  # what is real takes the dtype of its partial
        np.testing.assert_allclose(value, ct * factor, rtol=1e-6)
        assert value.dtype == (partial if isinstance(partial, str) else dtype)


def test_a_sign_costs_one_step_and_one_costs_none() -> None:
    for partial, steps in ((1, []), (-1, ["negative"]), (2, ["multiply"]), (0.5, ["multiply"])):
        bench = Bench()
        with building(bench.builder):
            times(bench.atom([1.0, 2.0]), partial)
        assert [i.op.name for i in bench.builder.instrs] == steps


def test_what_is_exactly_zero_stays_so_if_it_is_asked_for() -> None:
    bench = Bench()
    partial = np.array([np.inf, 2.0, np.nan])
    with building(bench.builder):
        atom = bench.atom(partial)
        ct = bench.atom([0.0, 3.0, 0.0])
        safe, plain = times(ct, atom, True), times(ct, atom)
        zero, one = times(Lit(0.0), atom, True), times(Lit(1.0), atom, True)
    np.testing.assert_array_equal(bench.value(safe), [0, 6, 0])
    np.testing.assert_array_equal(bench.value(zero), [0, 0, 0])
    np.testing.assert_array_equal(bench.value(one), partial)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(bench.value(plain), [np.nan, 6, np.nan])


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_conjugate_keeps_structure_and_conjugates_what_it_holds(kind: str) -> None:
    aval = Aval((3, 3), np.dtype(complex))
    bench = Bench()
    with building(bench.builder):
        real, dense = made(kind, bench)
        ct = apply_partial(real, bench.atom(1 + 2j), SQUARE)
        ct = project(ct, aval)
        got = apply_partial(ct, CONJUGATION, aval)
        atom = densify(got, aval)
    assert isinstance(got, Masked) == isinstance(ct, Masked)
    assert isinstance(ct, Fill) == isinstance(got, Fill)
    np.testing.assert_allclose(bench.value(atom), dense * (1 - 2j), rtol=1e-15)


def test_a_conjugate_of_what_is_not_selected_is_nothing() -> None:
    """Conjugated as an array of zeros it would meet an infinite partial next."""
    bench = Bench()
    with building(bench.builder):
        ct = Masked(bench.atom(MASK), bench.atom(np.full((3, 3), 2 + 1j)))
        partial = bench.atom(np.where(MASK, 1.0, np.inf))
        got = apply_partial(apply_partial(ct, CONJUGATION, SQUARE), partial, SQUARE)
        value = selected(got)
    np.testing.assert_array_equal(bench.value(value), np.where(MASK, 2 - 1j, 0))


def marked(bench: Bench) -> tuple[Masked, Any]:
    """A clean cotangent whose mask is not written, and where it counts."""
    index = np.array([[0, 2], [1, 1]])
    marks = Marks(
        Lit(True),
        (
            (Hole(ROW), (ScatteredTerm(bench.atom(1.0), (1, 1)), Hole(None, tuple(map(bench.atom, index))))),
            Hole(CORNER),
        ),
        SQUARE,
    )
    counts = np.ones((3, 3), bool)
    counts[1] = False
    counts[1, 1] = True
    counts[index[0], index[1]] = False
    counts[2, 2] = False
    return Masked(marks, bench.atom(np.where(counts, 3.0, 0.0)), is_clean=True), counts


def test_marks_are_written_one_over_the_other_the_newest_last() -> None:
    bench = Bench()
    with building(bench.builder):
        ct, counts = marked(bench)
        mask, all_of_it = written(ct.mask), where_it_counts(ct)
        under = support(ScatteredSum(ct, (ScatteredTerm(bench.atom([1.0, 2.0, 3.0]), ROW),), SQUARE), SQUARE)
        assert under is not None
        nothing = support(ScatteredSum(None, (ScatteredTerm(bench.atom([1.0, 2.0, 3.0]), ROW),), SQUARE), SQUARE)
        assert nothing is not None
    np.testing.assert_array_equal(bench.value(mask), counts)
    np.testing.assert_array_equal(bench.value(all_of_it), counts)
    np.testing.assert_array_equal(bench.value(under.mask), counts | (np.arange(3) == 1)[:, None])
    np.testing.assert_array_equal(bench.value(nothing.mask), np.zeros((3, 3), bool) | (np.arange(3) == 1)[:, None])


def test_a_mask_that_is_not_written_stays_so_where_a_number_is_the_partial() -> None:
    bench = Bench()
    with building(bench.builder):
        ct, counts = marked(bench)
        before = len(bench.builder.instrs)
        twice = apply_partial(ct, 2, SQUARE)
        assert isinstance(twice, Masked) and twice.mask is ct.mask
        assert len(bench.builder.instrs) == before + 1
        infinite = bench.atom(np.where(counts, 2.0, np.inf))
        by_array = selected(apply_partial(ct, infinite, SQUARE))
        by_mask = selected(apply_partial(ct, Masked(bench.atom(MASK), infinite), SQUARE))
        dense = densify(twice, SQUARE)
    np.testing.assert_array_equal(bench.value(dense), np.where(counts, 6.0, 0.0))
    np.testing.assert_array_equal(bench.value(by_array), np.where(counts, 6.0, 0.0))
    np.testing.assert_array_equal(bench.value(by_mask), np.where(counts & MASK, 6.0, 0.0))


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    ("have", "want"),
    [((2, 3), (3,)), ((2, 3), (1, 3)), ((2, 3), (2, 1)), ((2, 3), ()), ((2, 3), (2, 3)), ((4, 2, 3), (2, 1))],
)
def test_a_projected_mask_counts_where_any_repeat_did(
    have: tuple[int, ...], want: tuple[int, ...], clean: bool, holds: bool
) -> None:
    rng = np.random.default_rng(0)
    mask, value = rng.random(have) < 0.4, rng.normal(size=have)
    mask[..., 0] = False
    mask[0] = False
    counts = mask if holds else ~mask
    bench, aval = Bench(), Aval(want, F64)
    axes = tuple([k for k in range(len(have)) if ((1,) * len(have) + want)[k + len(want)] == 1])
    with building(bench.builder):
        given = np.where(counts, value, 0) if clean else value
        got = project(Masked(bench.atom(mask), bench.atom(given), holds, clean), aval)
        where, dense = where_it_counts(got), densify(got, aval)
    assert isinstance(got, Masked)
    np.testing.assert_array_equal(bench.value(where), counts.any(axis=axes).reshape(want) if axes else counts)
    total = np.where(counts, value, 0)
    np.testing.assert_allclose(bench.value(dense), total.sum(axes).reshape(want) if axes else total, rtol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 30])
@pytest.mark.parametrize("by_array", [False, True])
def test_a_few_parts_stay_parts_and_what_is_elsewhere_meets_no_partial(count: int, by_array: bool) -> None:
    bench, of = Bench(), Aval((40,), F64)
    at = np.arange(count) + 3
    partial = np.full(40, np.inf)
    partial[at] = np.arange(count) + 2.0
    want = np.zeros(40)
    want[at] = 2 * (np.arange(count) + 2.0)
    with building(bench.builder):
        if by_array:
            parts = tuple([ScatteredTerm(bench.atom(2.0), None, (bench.atom(int(k)),)) for k in at])
        else:
            parts = tuple([ScatteredTerm(bench.atom(2.0), (int(k),)) for k in at])
        got = apply_partial(ScatteredSum(None, parts, of), bench.atom(partial), of)
        atom = densify(got, of)
    assert isinstance(got, ScatteredSum if count < 4 else Masked)
    np.testing.assert_array_equal(bench.value(atom), want)


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (2, 1), (2, 3)])
@pytest.mark.parametrize("own", [(), (2, 3)])
def test_a_fill_times_a_partial_that_broadcasts(shape: tuple[int, ...], own: tuple[int, ...]) -> None:
    """A sum over what the partial was repeated along counts every repeat."""
    bench, y = Bench(), Aval((2, 3), F64)
    partial = np.random.default_rng(0).normal(size=shape)
    with building(bench.builder):
        got = apply_partial(Fill(bench.atom(2.0), y), bench.atom(partial), y)
        if own != shape:
            got = project(got, Aval(own, F64))
        atom = densify(got, Aval(own, F64) if own != shape else y)
    want = np.broadcast_to(2 * partial, (2, 3))
    np.testing.assert_allclose(bench.value(atom), want.sum() if own == () != shape else want, rtol=1e-13)
    assert isinstance(got, Fill) or shape != ()


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("same", [True, False])
def test_two_masked_add_where_either_counts(first: bool, second: bool, same: bool) -> None:
    bench = Bench()
    a, b = np.arange(9.0).reshape(3, 3) + 1, np.arange(9.0).reshape(3, 3) * 10
    other = MASK if same else MASK.T
    with building(bench.builder):
        mask = bench.atom(MASK)
        one = Masked(mask, bench.atom(a), first)
        two = Masked(mask if same else bench.atom(other), bench.atom(b), second)
        total = add(one, two, SQUARE)
        atom = densify(total, SQUARE)
        counts = where_it_counts(total) if isinstance(total, Masked) else None
    at_a, at_b = first == MASK, other == second
    np.testing.assert_array_equal(bench.value(atom), np.where(at_a, a, 0) + np.where(at_b, b, 0))
    if counts is None:
        assert (at_a | at_b).all()
    else:
        np.testing.assert_array_equal(bench.value(counts), at_a | at_b)


@pytest.mark.parametrize("axis", [0, 1])
def test_parts_that_are_one_number_each_are_not_joined_as_arrays(axis: int) -> None:
    """The cotangent of a sum of a part is one number, which is as good as an array of it."""
    at = lambda part: (slice(None),) * axis + (part,)
    f = lambda x: np.sum(x[at(slice(0, 4))]) * 2 + np.sum(x[at(slice(4, 8))]) * 3
    weights = np.empty((8, 8))
    weights[at(slice(0, 4))], weights[at(slice(4, 8))] = 2, 3
    np.testing.assert_array_equal(wg.grad(f)(np.ones((8, 8))), weights)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (np.sqrt(x - 1)[:, None] * np.arange(1.0, 4.0))[1:, 1:],
        lambda x: (np.exp(np.sqrt(x - 1)[:, None]) * np.sqrt(x - 1))[1:, 1:],
        lambda x: (np.sqrt(x[:, None] - 1) * x[None, :])[1:, :2],
    ],
)
def test_a_part_of_what_a_column_was_broadcast_to_counts_in_its_rows(f: Any) -> None:
    x = np.array([0.5, 1.5, 2.0])  # the square root of x[0] - 1 is NaN, and its row is not read
    gradient = wg.grad(lambda x: np.sum(f(x)))(x)
    want = wg.jacobian(lambda x: np.sum(f(x)), mode="forward")(x)
    assert np.all(np.isfinite(gradient))
    np.testing.assert_allclose(gradient, want)
