"""Every op of the table is correct, in every sense of :mod:`tests.ops.check_op`; that the checker would notice; and
what holds at kinks and in branches that are not taken."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.ops.cases import CASES, between, shapes
from tests.ops.check_op import Case, case, check_op, evaluate, formula
from tests.tracing.numpy_cases import as_data
from wengert.ad.forward import jvp
from wengert.ad.reverse import vjp
from wengert.ops import OPS, index, reduce, shape
from wengert.ops.contract import matmul
from wengert.ops.control import stop_gradient
from wengert.ops.elementwise import convert, cos, greater, log, maximum, minimum, power, select, sqrt
from wengert.ops.index import to_numpy
from wengert.ops.op import ZERO
from wengert.ops.structured import Fill, ScatteredSum, ScatteredTerm
from wengert.tape import Atom, Aval, Builder, Lit, Tape, Var, building, check, splice
from wengert.tracing.emit import record
from wengert.tracing.tracer import Tracer

FLOAT = np.dtype(float)


BY_QUADRATURE = {"gammainc", "gammaincc", "betainc", "jv", "yv", "iv", "kv", "ive"}
"""Their derivatives in parameters take milliseconds; tests/ops/special has them against mpmath."""


def forms(cases: list[Case]) -> list[Any]:
    """The cases; of an op that has several forms, those after the first are deep, and what quadratures are taken of."""
    seen, deep = set(BY_QUADRATURE), pytest.mark.deep("every form of every op")
    params = []
    for one in cases:
        params.append(pytest.param(one, marks=deep if one.op.name in seen else ()))
        seen.add(one.op.name)
    return params


@pytest.mark.sampled(9, "a tenth of a second each")
@pytest.mark.parametrize("case", forms(CASES), ids=str)
def test_op(case: Case) -> None:
    check_op(case)


@pytest.mark.sampled(21, "every op is compiled once more")
@pytest.mark.parametrize("case", forms([c for c in CASES if not c.op.effects]), ids=str)
def test_an_op_of_data_beside_what_is_differentiated(case: Case) -> None:
    """Inside of grad, hvp, vmap, jvp and their like, compiled: its step is on the outer tape, or on an inner one."""

    def f(*xs: Any) -> Any:
        values = [o.draw(case.rng(), o.shape) if o.is_literal else x for o, x in zip(case.operands, xs, strict=True)]
        if any(type(x) is Tracer for x in xs):
            return record(case.op, values, case.kw)
        return case.op.reference(*values, **case.kw)

    as_data(f, case.draw(case.rng()))


# ------------------------------------------------------------------------------------ the checker is not blind


def add_and_spoil(x: Any, v: Any, *, index: Any) -> Any:
    v *= 2
    x[to_numpy(index)] += v / 2
    return x


def detached(x: Atom, y: Atom) -> Any:
    return stop_gradient(y)


def slice_transpose_off_by_one(ct: Atom, x: Atom, *, index: Any) -> Any:
    return ScatteredSum(None, (ScatteredTerm(ct, ((1, 2, 1),)),), x.aval)


def twice_the_fill(ct: Any, k: int, x: Atom, y: Atom, *, axis: Any) -> Any:
    return Fill(ct.value + ct.value, x.aval) if isinstance(ct, Fill) else None


MISTAKES: list[tuple[str, Case, dict[str, Any]]] = [
    ("a wrong partial", case("tanh", between(-3, 3)), {"partials": [lambda x, y: 1 - y]}),
    (
        "a partial wrong in the ninth digit",
        case("exp2", between(-3, 3), analytic=True),
        {"partials": [lambda x, y: 0.69314718 * y]},
    ),
    ("a partial right at first order only", case("exp", between(-3, 3)), {"partials": [detached]}),
    ("a partial taken for zero", case("sin", between(-3, 3)), {"partials": [0]}),
    ("an op declared flat", case("sin", between(-3, 3), at=[(0, 1)]), {"partials": [ZERO]}),
    (
        "partials of the wrong operands",
        case("multiply", between(-3, 3), between(-3, 3)),
        {"partials": [lambda x, y, z: x, lambda x, y, z: y]},
    ),
    ("a type that differs from NumPy's", case("sqrt", between(1, 3)), {"type": lambda x: Aval(x.shape, FLOAT)}),
    ("an operand overwritten", case("square", between(1, 3)), {"reference": lambda x: np.square(x, out=x)}),
    (
        "the transpose of another index",
        case("slice", shapes(4), kw={"index": ((0, 2, 1),)}),
        {"transpose": [slice_transpose_off_by_one]},
    ),
    (
        "a structured rule that is not the dense one",
        case("sum", shapes(3, 4), kw={"axis": (0,)}),
        {"structured": twice_the_fill},
    ),
    (
        "a batch rule that mixes examples",
        case("cumsum", shapes(3), kw={"axis": 0}),
        {"batch": lambda xs, batched, size, *, axis: reduce.cumsum(xs[0], axis=0)},
    ),
    (
        "an in-place form that spoils its other operand",
        case("add_slice", shapes(4), shapes(2), kw={"index": ((0, 2, 1),)}),
        {"in_place": add_and_spoil},
    ),
    (
        "a shortcut that changes the value",
        case("negative", between(1, 3)),
        {"shortcut": lambda x: x},
    ),
    (
        "float64 in a float32 derivative",
        case("sin", between(-3, 3)),
        {"partials": [lambda x, y: cos(convert(x, dtype=FLOAT))]},
    ),
]


@pytest.mark.parametrize(("what", "case", "wrong"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_the_checker_notices(what: str, case: Case, wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, case.name, dataclasses.replace(OPS[case.name], **wrong))
    with pytest.raises(AssertionError):
        check_op(case)


# ---------------------------------------------------------------------------------------------- derivatives


def ones_at(tape: Tape, which: int) -> Any:
    return shape.full(1, tape.outputs[which].aval)


def forward(tape: Tape) -> Tape:
    """The derivative of an elementwise function of one array, by forward mode."""
    return derivative(tape, jvp(tape, [0]), tape.in_avals[0])


def reverse(tape: Tape) -> Tape:
    return derivative(tape, vjp(tape, [0], [0]), tape.out_avals[0])


def derivative(tape: Tape, joint: Tape, seed: Aval) -> Tape:
    x = Var(tape.in_avals[0])
    with building(Builder()) as builder:
        (*_, dy) = splice(builder, joint, [x, shape.full(1, seed)], [])
    return check(Tape((x,), (), builder.instrs, (dy,)))


MODES = [modes for n in (1, 2, 3) for modes in itertools.product([forward, reverse], repeat=n)]


def mode_name(modes: tuple[Callable[..., Any], ...]) -> str:
    return "-".join(m.__name__ for m in modes)


def derivative_at(f: Callable[[Any], Any], modes: tuple[Callable[[Tape], Tape], ...], x: Any) -> Any:
    tape = formula(f, Aval(np.shape(x), FLOAT))
    for mode in modes:
        tape = mode(tape)
    return evaluate(tape, [np.asarray(x)])[0]


# ------------------------------------------------------------------------- no NaN from the branch not taken


@pytest.mark.parametrize("modes", MODES, ids=mode_name)
def test_where_does_not_leak_nan(modes: tuple[Any, ...]) -> None:
    """where(x > 0, sqrt(x), 0): the branch not taken has an infinite or a NaN derivative, and takes no part."""
    by_hand = [0.25, -1 / 32, 3 / 256][len(modes) - 1]  # of sqrt at 4
    zero = Lit(0.0)
    got = derivative_at(lambda x: select(greater(x, 0), sqrt(x), zero), modes, [-1.0, 0.0, 4.0])
    np.testing.assert_allclose(got, [0, 0, by_hand], rtol=1e-14)


@pytest.mark.parametrize("modes", MODES, ids=mode_name)
def test_sqrt_of_maximum_does_not_leak_nan(modes: tuple[Any, ...]) -> None:
    """sqrt(maximum(x, 0)) for x < 0: the slope of sqrt at 0 is infinite, and nothing moves."""
    by_hand = [0.25, -1 / 32, 3 / 256][len(modes) - 1]
    got = derivative_at(lambda x: sqrt(maximum(x, 0)), modes, [-1.0, 4.0])
    np.testing.assert_allclose(got, [0, by_hand], rtol=1e-14)


@pytest.mark.parametrize("modes", MODES, ids=mode_name)
def test_log_of_where_does_not_leak_nan(modes: tuple[Any, ...]) -> None:
    """x > 0 and log(x) * x, twice selected: what stands inside the selection may be anything."""
    by_hand = [1 + np.log(2), 1 / 2, -1 / 4][len(modes) - 1]  # of x log x at 2
    zero = Lit(0.0)

    def entropy(x: Any) -> Any:
        return select(greater(x, 0), x * log(x), zero) * 1.0 + minimum(select(greater(x, 0), zero, log(x)), 0)

    np.testing.assert_allclose(derivative_at(entropy, modes, [2.0]), [by_hand], rtol=1e-14)


@pytest.mark.parametrize("modes", MODES, ids=mode_name)
def test_powers_at_zero(modes: tuple[Any, ...]) -> None:
    """x², x³ at 0 by a literal exponent, and x¹, x⁰ by one that is not known when the tape is made."""
    order = len(modes) - 1
    assert derivative_at(lambda x: power(x, 2), modes, 0.0) == [0, 2, 0][order]
    assert derivative_at(lambda x: power(x, 3), modes, 0.0) == [0, 0, 6][order]
    assert derivative_at(lambda x: power(x, Lit(0.0)), modes, 0.0) == 0


# --------------------------------------------------------------------------------------------- on the kink


def slopes(f: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """The tangent along ones and the cotangent of one."""
    x = np.asarray(x)
    tape = formula(f, Aval(x.shape, FLOAT))
    (_, tangent) = evaluate(jvp(tape, [0]), [x, np.ones_like(x)])
    (_, cotangent) = evaluate(vjp(tape, [0], [0]), [x, np.ones(tape.out_avals[0].shape)])
    return tangent, cotangent


@pytest.mark.parametrize("extreme", [reduce.max_, reduce.min_], ids=lambda op: op.name)
def test_ties_share_evenly(extreme: Any) -> None:
    tangent, cotangent = slopes(lambda x: extreme(x, axis=(0,)), [2.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(cotangent, [0.25] * 4)
    assert tangent == 1


def test_two_of_three_are_largest() -> None:
    _, cotangent = slopes(lambda x: reduce.max_(x, axis=(0,)), [1.0, 3.0, 3.0])
    np.testing.assert_array_equal(cotangent, [0, 0.5, 0.5])


@pytest.mark.parametrize("running", [reduce.cummax, reduce.cummin], ids=lambda op: op.name)
def test_the_latest_of_equals_carries_a_running_extreme(running: Any) -> None:
    _, cotangent = slopes(lambda x: running(x, axis=0), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(cotangent, [1, 1, 1])


def test_products_with_one_and_two_zeros() -> None:
    _, one = slopes(lambda x: reduce.prod(x, axis=(0,)), [2.0, 0.0, 3.0])
    np.testing.assert_array_equal(one, [0, 6, 0])
    _, two = slopes(lambda x: reduce.prod(x, axis=(0,)), [0.0, 0.0, 3.0])
    np.testing.assert_array_equal(two, [0, 0, 0])


def test_relu_at_zero_has_half_a_slope() -> None:
    tangent, cotangent = slopes(lambda x: maximum(x, 0), [0.0, 1.0, -1.0])
    np.testing.assert_array_equal(tangent, [0.5, 1, 0])
    np.testing.assert_array_equal(cotangent, [0.5, 1, 0])


def test_maximum_of_a_value_and_itself() -> None:
    tangent, cotangent = slopes(lambda x: maximum(x, x), [1.0, -1.0])
    np.testing.assert_array_equal(tangent, [1, 1])
    np.testing.assert_array_equal(cotangent, [1, 1])


@pytest.mark.parametrize("name", ["floor", "ceil", "rint", "trunc", "sign", "greater"])
def test_steps_have_no_slope_anywhere(name: str) -> None:
    """Not even where they jump: the derivative is zero by decree, and nothing is computed for it."""
    op = OPS[name]
    tape = formula(lambda x: op(x, x) if name == "greater" else op(x), Aval((3,), FLOAT))
    assert len(vjp(tape, [0], [0])) == 2  # the op, and the zero that is returned


# ----------------------------------------------------------------------------------------- indices, at random


@st.composite
def regions(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """A shape of up to three axes and a static index into it."""
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    entries: list[Any] = []
    for n in lengths:
        if n and draw(st.booleans()):
            entries.append(draw(st.integers(0, n - 1)))
            continue
        asked = draw(st.slices(n))
        start, stop, step = asked.indices(n)
        entries.append((start, len(range(start, stop, step)), step) if len(range(start, stop, step)) else (0, 0, 1))
    return tuple(lengths), tuple(entries)


@given(regions())
def test_static_indices(region: tuple[Any, Any]) -> None:
    lengths, entries = region
    taken = index.region_shape(entries)
    x = np.arange(float(np.prod(lengths))).reshape(lengths)
    np.testing.assert_array_equal(x[index.to_numpy(entries)].shape, taken)
    for one in [
        case("slice", shapes(*lengths), kw={"index": entries}),
        case("set_slice", shapes(*lengths), shapes(*taken), kw={"index": entries}),
        case("add_slice", shapes(*lengths), shapes(*taken), kw={"index": entries}),
    ]:
        check_op(one)


@given(regions(), regions())
def test_disjoint_regions_share_no_element(a: tuple[Any, Any], b: tuple[Any, Any]) -> None:
    lengths, first = a
    _, second = b
    if len(first) != len(second) or not index.are_disjoint(first, second):
        return
    x = np.zeros(tuple(max(n, 5) for n in lengths))
    x[index.to_numpy(first)] += 1
    x[index.to_numpy(second)] += 1
    assert x.max(initial=0) <= 1


def test_labels_of_a_contraction_may_be_any_numbers() -> None:
    check_op(case("contract", shapes(2, 3), shapes(3, 4), kw={"a": (7, 100), "b": (100, 3), "out": (3, 7)}))


@pytest.mark.parametrize("holds", [True, False])
def test_what_a_mask_of_slices_leaves_out_of_a_product_leaks_no_nan(holds: bool) -> None:
    """The mask leaves out rows, columns, or matrices of a stack, in which one of the operands is infinite."""
    mask = np.array([True, False])
    chosen = lambda mask, y: np.where(mask, y, 0.0) if holds else np.where(~mask, 0.0, y)
    a, b = np.array([[1.0, 2.0, 3.0], [np.inf, np.nan, 1.0]]), np.arange(6.0).reshape(3, 2)
    stack = np.stack([a[:1], a[1:]])
    rows = lambda a, b: np.sum(chosen(mask[:, None], a @ b))
    columns = lambda a, b: np.sum(chosen(mask, b.T @ a.T))
    stacks = lambda a, b: np.sum(chosen(mask[:, None, None], np.stack([a[:1], a[1:]]) @ b))
    each = lambda a, b: np.sum(chosen(mask[:, None], np.einsum("kij,jl->kl", stack * a[:, None], b)))
    wanted = np.array([[1.0, 5.0, 9.0], [0.0, 0.0, 0.0]]), np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    for f in (rows, columns, stacks):
        for gradient in (wg.grad(f, argnums=(0, 1)), wg.jit(wg.grad(f, argnums=(0, 1)))):
            for got, want in zip(gradient(a, b), wanted, strict=True):
                np.testing.assert_array_equal(got, want)
    for gradient in (wg.grad(each, argnums=1), wg.jit(wg.grad(each, argnums=1))):
        np.testing.assert_array_equal(gradient(a, b), wanted[1] ** 2)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("p", [0.5, 2.0, -1.0, 1.0, 0.0, 3.0, -0.5])
def test_power_of_a_number_at_negative_infinity_and_zero_was_not_numpys(p: float, dtype: str) -> None:
    x = np.array([-np.inf, -0.0, 0.0, 4.0, np.inf, np.nan, -1.0], dtype)
    for f in (lambda x: np.power(x, p), lambda x: x**p):
        with np.errstate(all="ignore"):
            expected, got = f(x), wg.compile(wg.trace(f)(x))(x)
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got) & (got == 0), np.signbit(expected) & (expected == 0))


SELECTIONS: list[tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = [
    (lambda x: np.where(x > 0, x, 0.0), lambda x: x > 0, 0),
    (lambda x: np.where(x <= 0, 0.0, x), lambda x: x > 0, 0),
    (lambda x: np.where(x >= 0, x, 0.0), lambda x: x >= 0, 0),
    (lambda x: np.where(x < 0, 0.0, x), lambda x: x >= 0, 0),
    (lambda x: np.where(x > 0.5, x, 0.5), lambda x: x > 0.5, 0),
    (lambda x: np.where(x < 0.5, x, 0.5), lambda x: x < 0.5, 0),
    (lambda x: np.where(x >= 0.5, 0.5, x), lambda x: x < 0.5, 0),
    (lambda x: np.where(x > 0.5, 0.5, x), lambda x: x <= 0.5, 0),
    (lambda x: np.where(x > 0.5, x, 0.25), lambda x: x > 0.5, 0),
    (lambda x: np.where(x > 0, 0.0, x), lambda x: x <= 0, 0),
    (lambda x: np.where(x > 0, x, 0.3 * x), lambda x: x > 0, 0.3),
    (lambda x: np.where(x > 0, x, -0.3 * x), lambda x: x > 0, -0.3),
    (lambda x: np.where(x >= 0, x, 0.3 * x), lambda x: x >= 0, 0.3),
    (lambda x: np.where(x > 0, x, x + 0.5), lambda x: x > 0, 1),
    (lambda x: np.where(x > 0, x, 0.5 - x), lambda x: x > 0, -1),
    (lambda x: np.where(x > 0, x, x / -2), lambda x: x > 0, -0.5),
    (lambda x: np.where(x > 0, x, x * x), lambda x: x > 0, lambda x: 2 * x),
    (lambda x: np.where(x > 0.5, x, 0.3 * x), lambda x: x > 0.5, 0.3),
    (lambda x: np.where(x > 0, x, 0.0 * x), lambda x: x > 0, 0),
    (lambda x: np.where(x > 0, 2 * x, 0.0), lambda x: x > 0, None),
]


@pytest.mark.parametrize("number", range(len(SELECTIONS)))
def test_a_derivative_asks_which_of_two_was_selected(number: int) -> None:
    """Of the result, where that answers alike, and of the operand, where it does not: at limits and between them."""
    f, is_first, slope = SELECTIONS[number]
    x = np.array([-2.0, -0.4, -0.0, 0.0, 0.2, 0.25, 0.4, 0.5, 0.6, 3.0])
    first, other = (2, 0) if slope is None else (1, slope(x) if callable(slope) else slope)
    want = np.cos(f(x)) * np.where(is_first(x), first, other)
    got = wg.jit(wg.grad(lambda x: np.sum(np.sin(f(x)))))(x)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)


def test_which_regions_share_no_element() -> None:
    """Against the elements that they have; one that is said to share none has none in common."""
    size = 7
    axis = [
        0,
        3,
        6,
        (0, 7, 1),
        (0, 3, 1),
        (3, 4, 1),
        (2, 2, 1),
        (0, 4, 2),
        (1, 3, 2),
        (6, 7, -1),
        (6, 3, -1),
        (5, 0, 1),
    ]
    every = np.arange(size)

    def elements(i: Any) -> set[int]:
        return {i} if type(i) is int else {int(every[i[0] + k * i[2]]) for k in range(i[1])}

    for a, b in itertools.product(axis, axis):
        is_known = index.are_disjoint((a,), (b,))
        if a != b:
            assert is_known == (not elements(a) & elements(b)), (a, b)
        for other in axis:
            assert index.are_disjoint((a, other), (b, other)) == is_known == index.are_disjoint((other, a), (other, b))
    assert index.are_disjoint((0, (0, 3, 1)), (0, (3, 4, 1))) and not index.are_disjoint((0, (0, 3, 1)), (0, (2, 2, 1)))


@pytest.mark.parametrize(
    ("xs", "make"),
    [
        ((FLOAT,), lambda x: convert(x, dtype=FLOAT)),
        ((FLOAT,), lambda x: OPS["positive"](x)),
        ((FLOAT,), lambda x: OPS["conjugate"](x)),
        ((FLOAT,), lambda x: OPS["real"](x)),
        ((FLOAT,), lambda x: OPS["multiply"](x, Lit(1.0, FLOAT))),
        ((FLOAT,), lambda x: OPS["multiply"](Lit(1.0, FLOAT), x)),
        ((FLOAT,), lambda x: OPS["divide"](x, Lit(1.0, FLOAT))),
        ((FLOAT,), lambda x: OPS["subtract"](x, Lit(0.0, FLOAT))),
        ((FLOAT,), lambda x: power(x, Lit(1.0, FLOAT))),
        ((FLOAT,), lambda x: select(Lit(True, np.dtype(bool)), x, x)),
        ((FLOAT,), lambda x: OPS["slice"](x, index=((0, 2, 1), (0, 3, 1)))),
        ((FLOAT,), lambda x: OPS["reshape"](x, shape=(2, 3))),
        ((FLOAT,), lambda x: OPS["transpose"](x, axes=(0, 1))),
        ((FLOAT,), lambda x: OPS["broadcast_to"](x, shape=(2, 3))),
        ((FLOAT,), lambda x: OPS["concatenate"](x, axis=0)),
        ((FLOAT,), lambda x: OPS["sum"](x, axis=())),
        ((FLOAT,), lambda x: OPS["prod"](x, axis=())),
    ],
)
def test_what_changes_nothing_is_no_instruction(xs: Any, make: Any) -> None:
    (x,) = [Var(Aval((2, 3), dtype)) for dtype in xs]
    with building(Builder()) as builder:
        assert make(x) is x
    assert not builder.instrs


@pytest.mark.parametrize(
    "make",
    [
        lambda x: convert(x, dtype=np.dtype("f4")),
        lambda x: OPS["multiply"](x, Lit(2.0, FLOAT)),
        lambda x: OPS["multiply"](Lit(-1.0, FLOAT), x),
        lambda x: OPS["divide"](x, Lit(2.0, FLOAT)),
        lambda x: OPS["divide"](Lit(1.0, FLOAT), x),
        lambda x: OPS["subtract"](Lit(0.0, FLOAT), x),
        lambda x: power(x, Lit(3.0, FLOAT)),
        lambda x: OPS["slice"](x, index=((0, 2, 1), (1, 2, 1))),
        lambda x: OPS["slice"](x, index=((0, 2, 1), (2, 3, -1))),
        lambda x: OPS["transpose"](x, axes=(1, 0)),
        lambda x: OPS["reshape"](x, shape=(3, 2)),
        lambda x: OPS["sum"](x, axis=(0,)),
        lambda x: OPS["concatenate"](x, x, axis=0),
    ],
)
def test_what_changes_something_is_one(make: Any) -> None:
    x = Var(Aval((2, 3), FLOAT))
    with building(Builder()) as builder:
        assert make(x) is not x
    assert len(builder.instrs) == 1


@pytest.mark.parametrize("left", [(4,), (3, 4), (2, 3, 4), (5, 2, 3, 4)])
@pytest.mark.parametrize("is_vector", [True, False])
def test_matmul_of_every_number_of_axes(left: tuple[int, ...], is_vector: bool) -> None:
    right = (4,) if is_vector else (*left[:-2], 4, 6)
    x, y = np.arange(float(np.prod(left))).reshape(left), np.arange(float(np.prod(right))).reshape(right) + 1
    avals = [Var(Aval(v.shape, v.dtype)) for v in (x, y)]
    with building(Builder()) as builder:
        out = matmul(*avals)
    np.testing.assert_array_equal(evaluate(Tape(tuple(avals), (), builder.instrs, (out,)), [x, y])[0], x @ y)
