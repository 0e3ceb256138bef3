"""Cotangents known by structure: their sums are the sums of what they stand for, and they stay what they are for as
long as they can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.ops.check_op import evaluate, formula
from wengert.ad.cotangents import add, apply_partial, densify, project, selected
from wengert.ad.reverse import vjp
from wengert.ops.elementwise import greater, multiply, select, sin
from wengert.ops.index import set_slice, slice_
from wengert.ops.reduce import sum_
from wengert.ops.shape import diagonal
from wengert.ops.structured import Diagonal, Fill, Masked, Part, Parts
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
            return Parts(None, (Part(bench.atom(out[1].copy()), ROW),), SQUARE), out
        case "two parts":
            out[1] = [1, 2, 3]
            out[2, 2] = 5
            parts = (Part(bench.atom(out[1].copy()), ROW), Part(bench.atom(5.0), CORNER))
            return Parts(None, parts, SQUARE), out
        case "repeated rows":
            np.add.at(out, REPEATED, dense)
            return Parts(None, (Part(bench.atom(dense), None, (bench.atom(REPEATED),)),), SQUARE), out
        case "part on a base":
            return Parts(bench.atom(dense), (Part(bench.atom(5.0), CORNER),), SQUARE), dense + 5 * (
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
    assert isinstance(total, Parts) and len(total.parts) == 3 and isinstance(total.base, Fill)
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
    parts = [Part(bench.atom(float(k)), (k,)) for k in range(20_000)]
    of = Aval((20_000,), F64)
    total = None
    for part in parts:
        total = add(total, Parts(None, (part,), of), of)
    assert isinstance(total, Parts) and total.parts == parts
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


@pytest.mark.parametrize(
    ("f", "at", "want"),
    [
        (lambda x: np.where(x > 0, np.sum(np.sqrt(np.stack([x, x]))), x), 0.0, 1.0),
        (lambda x: np.where(x > 0, np.sqrt(np.array([x, x])) @ np.ones(2), x), 0.0, 1.0),
        (lambda x: np.where(x > 0, np.cumsum(np.sqrt(np.array([x, x])))[1], x), 0.0, 1.0),
        (lambda x: np.max(np.stack([np.sqrt(x), 1 + 0 * x])), 0.0, 0.0),
        (lambda x: np.sum(np.where(np.array([False, True]), np.stack([np.sqrt(x), x]), 0.0)), 0.0, 1.0),
        (lambda x: np.sqrt(x)[0], np.array([1.0, 0.0]), [0.5, 0.0]),
        (lambda x: sum(np.sqrt(x)[i] for i in range(6)), np.array([1.0] * 6 + [0.0]), [0.5] * 6 + [0.0]),
        (lambda x: np.sqrt(x).reshape(3, 2).T.ravel()[-1], np.array([1.0, 0, 4, 1, 1, 1]), [0, 0, 0, 0, 0, 0.5]),
        (lambda x: np.where(np.zeros(3, bool), np.sqrt(x), 0).sum(), 0.0, 0.0),
    ],
)
def test_structural_zeros_meet_no_infinite_partial(f: Any, at: Any, want: Any) -> None:
    """The cotangent of what is not selected, or not read, became a dense 0 on its way, and 0 · ∞ is NaN."""
    np.testing.assert_array_equal(wg.grad(f)(at), want)


def by_index_array(x: Any) -> Any:
    y = np.sqrt(x - 1)
    y[[0, 1]] = x[:2]
    return np.sum(y)


def by_slice(x: Any) -> Any:
    y = np.sqrt(x - 1)
    y[:2] = x[:2]
    return np.sum(y**2)


def by_mask(x: Any) -> Any:
    y = np.sqrt(x - 1)
    y[x < 2] = x[x < 2]
    return np.sum(y)


def by_elements(x: Any) -> Any:
    y = np.sqrt(x - 1)
    y[0] = x[0]
    y[1] = x[1] * 2
    return np.sum(y)


def by_put(x: Any) -> Any:
    y = np.sqrt(x - 1)
    np.put(y, [0, 1], x[:2])
    return np.sum(y)


def element_over_element(x: Any) -> Any:
    y = np.zeros(3)
    y[0] = np.sqrt(x[0] - 1)
    y[1] = x[1]
    y[0] = x[0]
    return np.sum(y)


def element_over_part(x: Any) -> Any:
    y = np.zeros(3)
    y[:2] = np.sqrt(x[:2] - 1)
    y[0] = x[0]
    return np.sum(y**2)


def after_steps(x: Any) -> Any:
    y = 1 - np.sqrt(x - 1) * 2
    y[0] = 0.0
    return np.sum(y**2)


def with_a_read_before(x: Any) -> Any:
    y = np.sqrt(x - 1)
    z = y[2]
    y[:2] = 0.0
    return np.sum(y**2) + z


def one_index_twice(x: Any) -> Any:
    y = np.zeros(3)
    y[np.array([0, 0])] = np.sqrt(x[:2] - 1)
    return np.sum(y)


def column_over_row(x: Any) -> Any:
    y = np.zeros((2, 3))
    y[0] = np.sqrt(x - 1)
    y[:, 0] = 1
    return np.sum(y**2)


def moved(x: Any) -> Any:
    y = np.sqrt(x - 1).reshape(3, 1)
    y[0] = x[0]
    return np.sum(y.ravel()[::-1] * np.arange(3.0))


def written_twice(x: Any) -> Any:
    y = np.sqrt(x - 1)
    y[0] = x[1]
    y = y * x
    y[1] = y[0]
    return np.sum(y)


@pytest.mark.parametrize(
    "f",
    [
        by_index_array,
        by_slice,
        by_mask,
        by_elements,
        by_put,
        element_over_element,
        element_over_part,
        after_steps,
        with_a_read_before,
        one_index_twice,
        column_over_row,
        moved,
        written_twice,
    ],
    ids=lambda f: f.__name__,
)
def test_what_was_overwritten_had_the_cotangent_zero_and_so_nan(f: Any) -> None:
    """Zero times the infinite slope of a root that nobody reads."""
    x = np.array([1.0, 2.0, 3.0])
    with np.errstate(all="ignore"):
        forward = [wg.jvp(f, (x,), (e,))[1] for e in np.eye(3)]
        assert np.isfinite(forward).all()
        np.testing.assert_allclose(wg.grad(f)(x), forward, rtol=1e-14)
        np.testing.assert_allclose(wg.jit(wg.grad(f))(x), forward, rtol=1e-14)


@pytest.mark.parametrize("read", [False, True])
def test_writes_one_after_the_other_make_no_masks(read: bool) -> None:
    """Neither apart, nor each over the last: the work of each is what it was."""

    def steps(n: int) -> int:
        def f(x: Any) -> Any:
            y = x
            for k in range(n):
                value = slice_(y, index=(k,)) if read else slice_(x, index=(k,))
                y = set_slice(y, sin(value), index=((7 * k + 1) % 40,))
            return sum_(multiply(y, y), axis=(0,))

        return len(vjp(formula(f, Aval((40,), F64)), [0], [0], "one"))

    assert steps(40) - steps(20) == steps(30) - steps(10)
    assert steps(30) - steps(10) <= 20 * (9 if read else 8)


LOGITS, WEIGHTS = np.array([1.0, -np.inf, 2.0]), np.array([1.0, 2.0, 3.0])


def shares(z: Any) -> Any:
    e = np.exp(z - np.max(z))
    return np.sum(e / np.sum(e) * WEIGHTS)


@pytest.mark.parametrize(
    "f",
    [
        lambda t: np.sum(np.exp(LOGITS / t) * WEIGHTS),
        lambda t: shares(LOGITS / t),
        lambda t: shares(t * LOGITS),
        lambda t: scipy.special.softmax(np.where(WEIGHTS != 2, WEIGHTS, -np.inf) / t)[0],
        lambda t: scipy.special.logsumexp(LOGITS / t),
        lambda t: np.sum(np.logaddexp(LOGITS / t, t)),
        lambda t: shares(np.where(WEIGHTS != 2, WEIGHTS * t, -np.inf) * t),
    ],
    ids=["exp", "divided", "multiplied", "softmax", "logsumexp", "logaddexp", "where"],
)
def test_the_temperature_of_a_masked_softmax_had_no_derivative(f: Any) -> None:
    """The cotangent of -inf / t is zero, and its derivative infinite; it is -inf for every t, so there is nothing."""
    step = [f(2.0 + h) for h in (-2e-3, -1e-3, 0, 1e-3, 2e-3)]
    slope = (step[0] - 8 * step[1] + 8 * step[3] - step[4]) / 12e-3
    curve = (-step[0] + 16 * step[1] - 30 * step[2] + 16 * step[3] - step[4]) / 12e-6
    with np.errstate(all="ignore"):
        for got in (wg.grad(f)(2.0), wg.jit(wg.grad(f))(2.0), wg.jvp(f, (2.0,), (1.0,))[1]):
            assert got == pytest.approx(slope, rel=1e-9)
        for got in (wg.hessian(f)(2.0), wg.grad(wg.grad(f))(2.0)):
            assert got == pytest.approx(curve, rel=1e-6)


def test_what_does_depend_where_it_is_infinite_is_not_taken_for_nothing() -> None:
    """exp(p log x) at 0 has the slope 1 for p = 1: NaN, as zero times infinity is; and exp saturates alone."""
    with np.errstate(all="ignore"):
        for p in (0.5, 1.0, 2.0):
            assert np.isnan(wg.grad(lambda x, p=p: np.exp(p * np.log(x)))(0.0))
        assert np.isnan(wg.grad(lambda t: np.arctan(1 / t))(0.0))
        assert wg.grad(lambda t: np.sum(LOGITS / t))(2.0) == np.inf
    four = Aval((4,), F64)
    steps = [i.op.name for i in vjp(formula(lambda x, y: sin(multiply(x, y)), four, four), [0, 1], [0], "one").instrs]
    assert "isinf" not in steps
