"""Primitives: what the user's code is given, how its rules are asked for, and what they may not return."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import (
    ConcretizationError,
    MissingRuleError,
    ShapeError,
    StructureError,
    UnsupportedFunctionError,
)
from wengert.higher.primitive import NUMBERS, Setting, keywords

X = np.array([0.5, -1.0, 2.0])


def scaled() -> Any:
    """y = a b, elementwise, with one pullback for both arguments; its code cannot be traced."""

    @wg.primitive
    def times(a: Any, b: Any) -> Any:
        return np.array([float(x) * float(y) for x, y in zip(*np.broadcast_arrays(np.ravel(a), b), strict=True)])

    times.def_pullback(lambda ct, y, a, b: (ct * b, ct * a))
    return times


# --------------------------------------------------------------------------------------------------- settings


def test_settings_are_equal_by_value_and_type() -> None:
    assert Setting("n", 1) == Setting("n", 1) and hash(Setting("n", 1)) == hash(Setting("n", 1))
    for other in (Setting("n", 1.0), Setting("n", True), Setting("m", 1), 1):
        assert Setting("n", 1) != other
    assert Setting("x", 0.0) != Setting("x", -0.0)
    assert repr(Setting("n", 1)) == "n=1"


def test_which_operands_are_numbers_is_no_keyword_of_the_users() -> None:
    assert keywords([Setting("n", 1), Setting(NUMBERS, (float, None))]) == {"n": 1}


# ----------------------------------------------------------------------------------------------- the user's code


def test_an_edit_of_what_the_code_reads_is_seen_without_another_trace() -> None:
    """The code runs at every call, so nothing that it reads has to be watched."""
    scale = {"by": 2.0}

    @wg.primitive
    def scaling(x: Any) -> Any:
        return scale["by"] * np.asarray(x)

    compiled = wg.jit(lambda x: np.sum(scaling(x)))
    assert compiled(X) == 2.0 * np.sum(X)
    scale["by"] = 5.0
    assert compiled(X) == 5.0 * np.sum(X) and compiled.stats()["traces"] == 1


def test_the_type_rule_stands_in_for_a_run() -> None:
    runs: list[Any] = []

    @wg.primitive(type=lambda x: x[:2])
    def head(x: Any) -> Any:
        runs.append(x)
        return x[:2].copy()

    tape = wg.trace(head)(X)
    assert not runs and tape.out_avals[0].shape == (2,)
    np.testing.assert_array_equal(wg.compile(tape)(X), X[:2])
    assert len(runs) == 1


def test_without_a_type_rule_the_code_runs_once_for_each_type_of_arguments() -> None:
    runs: list[Any] = []

    @wg.primitive
    def f(x: Any) -> Any:
        runs.append(np.shape(x))
        return x * 2

    for x in (X, X + 1, np.ones(2), X):
        wg.trace(f)(x)
    assert runs == [(3,), (2,)]


def test_results_of_another_type_than_before_are_refused() -> None:
    lengths = iter([3, 2])
    shrinking = wg.primitive(lambda x: x[: next(lengths)].copy())
    says = r"returned float64\[2\](.|\n)*it returned float64\[3\] before"
    with pytest.raises(ShapeError, match=says):
        wg.jit(shrinking)(X)


def test_a_tuple_of_one_result_stays_a_tuple() -> None:
    alone = wg.primitive(lambda x: (x * 2,))
    (y,) = wg.jit(alone)(X)
    np.testing.assert_array_equal(y, 2 * X)


def test_the_code_and_its_rules_are_parts_of_a_function_that_calls_it() -> None:
    f = scaled()
    f.def_pullback(lambda ct, y, a, b: ct, argnum=1)
    assert list(f.__wengert_parts__()) == [
        "function",
        "pullback",
        "pushforward",
        "batch",
        "pullback of argument 1",
    ]


# ------------------------------------------------------------------------------------------------- pullbacks


def test_the_rule_of_one_argument_goes_before_the_rule_of_all() -> None:
    f = scaled()
    f.def_pullback(lambda ct, y, a, b: 10 * ct * b, argnum=0)
    for got in (wg.grad(lambda a, b: np.sum(f(a, b)), argnums=(0, 1))(X, X + 1), wg.vjp(f, X, X + 1)[1](np.ones(3))):
        np.testing.assert_allclose(got[0], 10 * (X + 1))
        np.testing.assert_allclose(got[1], X)
    np.testing.assert_allclose(wg.jvp(f, (X, X), (np.ones(3), np.zeros(3)))[1], 10 * X)


def test_a_cotangent_that_is_none_is_zero() -> None:
    f = scaled()
    f.def_pullback(lambda ct, y, a, b: (ct * b, None))
    np.testing.assert_array_equal(wg.grad(lambda b: np.sum(f(X, b)))(X), np.zeros(3))
    np.testing.assert_array_equal(wg.jvp(lambda b: f(X, b), (X,), (X,))[1], np.zeros(3))


def test_a_pullback_that_is_missing_is_missed_only_where_it_is_needed() -> None:
    @wg.primitive
    def f(a: Any, b: Any) -> Any:
        return a * b

    with pytest.raises(MissingRuleError, match="f has neither a pushforward nor a pullback"):
        wg.jvp(f, (X, X), (X, X))
    f.def_pullback(lambda ct, y, a, b: ct * b, argnum=0)
    np.testing.assert_array_equal(wg.grad(lambda a: np.sum(f(a, X)))(X), X)
    np.testing.assert_array_equal(wg.jvp(lambda a: f(a, X), (X,), (X,))[1], X * X)
    for missing in (lambda: wg.grad(lambda b: np.sum(f(X, b)))(X), lambda: wg.jvp(lambda b: f(X, b), (X,), (X,))):
        with pytest.raises(MissingRuleError, match="f has no pullback for argument 1"):
            missing()


def test_a_cotangent_that_nobody_worked_out_is_missed_only_where_it_is_needed() -> None:
    f = scaled()
    f.def_pullback(lambda ct, y, a, b: (ct * b, wg.not_implemented("in b it is hard")))
    np.testing.assert_array_equal(wg.grad(lambda a: np.sum(f(a, X)))(X), X)
    for missing in (lambda: wg.grad(lambda b: np.sum(f(X, b)))(X), lambda: wg.jvp(lambda b: f(X, b), (X,), (X,))):
        with pytest.raises(MissingRuleError, match="in b it is hard"):
            missing()


@pytest.mark.parametrize("derivative", [lambda f: wg.grad(lambda x: np.sum(f(x)))(X), lambda f: wg.jvp(f, (X,), (X,))])
def test_a_pullback_of_another_form_is_refused_in_both_modes(derivative: Any) -> None:
    f = wg.primitive(lambda x: x * 2)
    f.def_pullback(lambda ct, y, x: ct * 2)
    with pytest.raises(StructureError, match="expected a tuple of 1 cotangents"):
        derivative(f)
    f.def_pullback(lambda ct, y, x: (ct, ct))
    with pytest.raises(StructureError, match="expected a tuple of 1 cotangents"):
        derivative(f)
    f.def_pullback(lambda ct, y, x: (np.sum(ct),))
    with pytest.raises(ShapeError, match=r"returned float64\[\] for argument 0, which is float64\[3\]"):
        derivative(f)


def test_a_rule_reads_what_it_captures_when_it_runs() -> None:
    weight = np.array([1.0, 2.0, 3.0])
    f = wg.primitive(lambda x: x * weight)
    f.def_pullback(lambda ct, y, x: (ct * weight,))
    gradient = wg.jit(wg.grad(lambda x: np.sum(f(x))))
    np.testing.assert_array_equal(gradient(X), weight)
    weight[0] = 10
    np.testing.assert_array_equal(gradient(X), [10, 2, 3])
    np.testing.assert_array_equal(wg.jvp(f, (X,), (np.ones(3),))[1], [10, 2, 3])


@pytest.mark.parametrize("derivative", [lambda f: wg.grad(lambda x: np.sum(f(x)))(X), lambda f: wg.jvp(f, (X,), (X,))])
def test_a_rule_may_not_read_a_value_of_an_enclosing_trace(derivative: Any) -> None:
    def outer(t: Any) -> Any:
        f = wg.primitive(lambda x: x * 2)
        f.def_pullback(lambda ct, y, x: (ct * t,))
        return np.sum(derivative(f)[0])

    with pytest.raises(StructureError, match="reads a value of an enclosing trace"):
        wg.grad(outer)(2.0)


# ------------------------------------------------------------------------------- a pushforward by transposition


def test_several_results_are_pushed_forward_by_the_pullback() -> None:
    both = wg.primitive(lambda x: (np.sin(x), np.cos(x)))
    both.def_pullback(lambda cts, ys, x: (cts[0] * ys[1] - cts[1] * ys[0],))
    _, (ds, dc) = wg.jvp(both, (X,), (X,))
    np.testing.assert_allclose(ds, np.cos(X) * X)
    np.testing.assert_allclose(dc, -np.sin(X) * X)


@pytest.mark.parametrize("several", [tuple, list])
def test_rules_give_tuples_or_lists(several: Any) -> None:
    both = wg.primitive(lambda x, a: (np.sin(x) * a, np.cos(a)))

    @both.def_pullback
    def back(cts: Any, ys: Any, x: Any, a: Any) -> Any:
        return several([cts[0] * np.cos(x) * a, np.sum(cts[0] * np.sin(x)) - cts[1] * np.sin(a)])

    @both.def_pushforward
    def forth(dxs: Any, ys: Any, x: Any, a: Any) -> Any:
        return several([np.cos(x) * a * dxs[0] + np.sin(x) * dxs[1], -np.sin(a) * dxs[1]])

    @both.def_batch
    def rows(batched: Any, x: Any, a: Any) -> Any:
        assert batched == (True, False)
        return several([np.sin(x) * a, np.cos(a) * np.ones(len(x))])

    loss = lambda x, a: np.sum(both(x, a)[0]) + 2 * both(x, a)[1]
    got_x, got_a = wg.grad(loss, argnums=(0, 1))(X, 0.5)
    np.testing.assert_allclose(got_x, np.cos(X) * 0.5)
    assert got_a == pytest.approx(np.sum(np.sin(X)) - 2 * np.sin(0.5))
    _, (ds, dc) = wg.jvp(both, (X, 0.5), (X, 2.0))
    np.testing.assert_allclose(ds, np.cos(X) * 0.5 * X + np.sin(X) * 2)
    assert dc == pytest.approx(-np.sin(0.5) * 2)
    stack = np.stack([X, 2 * X])
    sines, cosines = wg.vmap(both, in_axes=(0, None))(stack, 0.5)
    np.testing.assert_allclose(sines, np.sin(stack) * 0.5)
    np.testing.assert_allclose(cosines, np.cos([0.5, 0.5]))


def test_a_pullback_in_another_precision_pushes_forward_in_that_of_the_primal() -> None:
    x = X.astype(np.float32)
    f = wg.primitive(lambda x: np.exp(x))
    f.def_pullback(lambda ct, y, x: (np.exp(x.astype(np.float64)) * ct,))
    wg.check(wg.trace(lambda x: wg.jvp(f, (x,), (x,))[1])(x))
    dy = wg.jvp(f, (x,), (x,))[1]
    assert dy.dtype == np.float32
    np.testing.assert_allclose(dy, np.exp(x) * x, rtol=1e-6)


# ----------------------------------------------------------------------------------------------------- batches


def test_what_has_no_rule_for_batches_runs_example_by_example() -> None:
    shapes: list[Any] = []

    @wg.primitive
    def f(x: Any, w: Any) -> Any:
        shapes.append(np.shape(x))
        return x @ w

    f.def_pullback(lambda ct, y, x, w: (ct * w, ct * x))
    rows, w = np.arange(6.0).reshape(2, 3), X
    np.testing.assert_allclose(wg.vmap(f, in_axes=(0, None))(rows, w), rows @ w)
    assert set(shapes) == {(3,)}
    stack = np.stack([rows, rows + 1])
    np.testing.assert_allclose(wg.vmap(wg.vmap(f, in_axes=(0, None)), in_axes=(0, None))(stack, w), stack @ w)


def test_cotangents_of_examples_are_stacked_or_summed_where_they_share_the_argument() -> None:
    f = wg.primitive(lambda x, w: x @ w, type=lambda x, w: x[0])  # within a trace there is no example to run it on
    f.def_pullback(lambda ct, y, x, w: (ct * w, ct * x))
    rows = np.arange(6.0).reshape(2, 3)
    loss = lambda rows, w: np.sum(wg.vmap(f, in_axes=(0, None))(rows, w) ** 2)
    d_rows, d_w = wg.grad(loss, argnums=(0, 1))(rows, X)
    np.testing.assert_allclose(d_rows, 2 * np.outer(rows @ X, X))
    np.testing.assert_allclose(d_w, 2 * (rows @ X) @ rows)


def test_cotangents_of_examples_of_examples() -> None:
    """The rule sees one example, however many maps are around it."""
    shapes: list[Any] = []
    f = wg.primitive(lambda x, w: x @ w, type=lambda x, w: x[0])

    @f.def_pullback
    def back(ct: Any, y: Any, x: Any, w: Any) -> Any:
        shapes.append((ct.shape, y.shape, x.shape, w.shape))
        return ct * w, ct * x

    stack = np.arange(18.0).reshape(3, 2, 3)
    mapped = wg.vmap(wg.vmap(f, in_axes=(0, None)), in_axes=(0, None))
    d_stack, d_w = wg.grad(lambda stack, w: np.sum(mapped(stack, w) ** 2), argnums=(0, 1))(stack, X)
    np.testing.assert_allclose(d_stack, 2 * (stack @ X)[..., None] * X)
    np.testing.assert_allclose(d_w, np.einsum("ij,ijk->k", 2 * (stack @ X), stack))
    assert set(shapes) == {((), (), (3,), (3,))}


def test_cotangents_of_examples_with_two_results() -> None:
    both = wg.primitive(lambda x: (np.sin(x), np.sum(x)), type=lambda x: (x, x[0]))
    both.def_pullback(lambda cts, ys, x: (cts[0] * np.cos(x) + cts[1] * np.ones(3),))
    rows = np.arange(6.0).reshape(2, 3)

    def loss(rows: Any) -> Any:
        sines, sums = wg.vmap(both)(rows)
        return np.sum(sines**2) + np.sum(sums**2)

    want = 2 * np.sin(rows) * np.cos(rows) + 2 * rows.sum(1)[:, None]
    np.testing.assert_allclose(wg.grad(loss)(rows), want, rtol=1e-14)


def test_a_rule_that_gives_too_many_is_told_how_many_there_are() -> None:
    f = wg.primitive(lambda x: np.sin(x))
    f.def_pushforward(lambda dxs, y, x: (np.cos(x) * dxs[0], dxs[0]))
    with pytest.raises(StructureError, match="expected a tangent for each of 1 results"):
        wg.jvp(f, (X,), (X,))
    g = wg.primitive(lambda x: np.sin(x))
    g.def_pushforward(lambda dxs, y, x: (np.cos(x) * dxs[0],))
    np.testing.assert_allclose(wg.jvp(g, (X,), (X,))[1], np.cos(X) * X)


def test_the_cotangent_of_examples_may_be_none() -> None:
    f = wg.primitive(lambda x, w: x * w)
    f.def_pullback(lambda ct, y, x, w: (ct * w, None))
    rows = np.arange(6.0).reshape(2, 3)
    gradient = wg.grad(lambda w: np.sum(wg.vmap(f, in_axes=(0, None))(rows, w)))
    np.testing.assert_array_equal(gradient(X), np.zeros(3))


def test_a_batch_of_no_examples() -> None:
    f = wg.primitive(lambda x: (x * 2, np.sum(x)), type=lambda x: (x, x[0]))
    doubled, total = wg.vmap(f)(np.zeros((0, 3)))
    assert doubled.shape == (0, 3) and total.shape == (0,)


def test_forward_mode_through_a_batch_says_what_to_write() -> None:
    f = scaled()
    wg.trace(f)(X, X)  # its type is known from then on
    with pytest.raises(MissingRuleError, match="differentiate first, then map"):
        wg.jvp(lambda x: wg.vmap(lambda r: f(r, X))(x), (np.ones((2, 3)),), (np.ones((2, 3)),))
    got = wg.vmap(lambda r: wg.jvp(lambda r: f(r, X), (r,), (r,))[1])(np.ones((2, 3)))
    np.testing.assert_allclose(got, [X, X])


def doubled(with_rule: str, given: Any) -> Any:
    @wg.primitive
    def doubled(x: Any) -> Any:
        return 2 * x

    getattr(doubled, f"def_{with_rule}")(lambda *args: given(args[-1]))
    return doubled


@pytest.mark.parametrize(
    "given", [lambda x: x[0], lambda x: x[None], lambda x: 0.0, lambda x: x[:2]], ids=["element", "axis", "0", "part"]
)
def test_a_tangent_of_another_shape_was_broadcast(given: Any) -> None:
    f = doubled("pushforward", given)
    with pytest.raises(ShapeError, match=r"the pushforward of doubled (.|\n)* for a result that is float64\[3\]"):
        wg.jvp(f, (X,), (X,))


@pytest.mark.parametrize("given", [lambda x: x[0], lambda x: x.T, lambda x: 2 * x[:, :1]], ids=["1", "turned", "part"])
def test_a_batch_of_another_shape_was_broadcast(given: Any) -> None:
    f = doubled("batch", given)
    with pytest.raises(ShapeError, match=r"the batch rule of doubled returned (.|\n)* that is float64\[2, 3\]"):
        wg.vmap(lambda x: f(x) + x)(np.ones((2, 3)))


def test_rules_that_give_another_number_of_results_are_refused() -> None:
    @wg.primitive
    def both(x: Any) -> Any:
        return x, 2 * x

    both.def_pushforward(lambda dxs, y, x: dxs[0])
    both.def_batch(lambda batched, x: (x, 2 * x, x))
    with pytest.raises(StructureError, match=r"the pushforward of both returned (.|\n)* each of 2 results"):
        wg.jvp(both, (X,), (X,))
    with pytest.raises(StructureError, match=r"the batch rule of both returned (.|\n)* each of 2 results"):
        wg.vmap(both)(np.ones((2, 3)))
    both.def_pushforward(lambda dxs, y, x: (dxs[0], None))  # zero
    (_, (dy, zero)) = wg.jvp(both, (X,), (X,))
    np.testing.assert_array_equal(dy, X)
    np.testing.assert_array_equal(zero, 0 * X)


@pytest.fixture
def square() -> Any:
    """A primitive that has not been called, so that its type is not known."""

    @wg.primitive
    def square(x: Any) -> Any:
        return x**2

    square.def_pullback(lambda ct, y, x: (2 * ct * x,))
    return square


def test_where_no_value_shows_the_type_the_error_says_how_to_tell_it(square: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(wg.vmap(square)(x))

    for g in (f, wg.grad(f)):
        with pytest.raises(ConcretizationError, match=r"square\(float64\[\]\) has no values(.|\n)*wg.primitive\(type="):
            g(np.ones(0))


def test_the_gradient_of_a_mapped_primitive_of_unknown_type_was_refused(square: Any) -> None:
    """One example of the batch shows the type, of values of an enclosing trace too."""

    def f(x: Any) -> Any:
        return np.sum(wg.vmap(square)(x))

    np.testing.assert_array_equal(wg.grad(f)(X), 2 * X)
    square._types.clear()
    np.testing.assert_array_equal(wg.jit(wg.grad(f))(X), 2 * X)


def test_a_rule_that_reads_an_array_is_refused_in_the_body_of_a_loop() -> None:
    """It was a KeyError: a body has no arrays but its operands."""
    weights = np.array([1.0, 2.0, 3.0])

    @wg.primitive(type=lambda x: x)
    def square(x: Any) -> Any:
        return x**2

    @square.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        return (ct * 2 * x * np.sum(weights) / 6,)

    assert wg.grad(square)(1.5) == 3.0
    for f in (lambda s: wg.scan(lambda c, t: (c + square(s * t), 0.0), 0.0, weights)[0], wg.checkpoint(square)):
        with pytest.raises(StructureError, match="reads an array around itself"):
            wg.grad(f)(1.5)


def constant_array(value: float) -> Any:
    x = np.array(value)
    x.flags.writeable = False
    return x


def by_address(a: Any, b: Any) -> Any:
    """Quotient by code that takes addresses: it works with memory of NumPy's alone."""
    out = np.empty(b.shape)
    assert a.ctypes.data and b.ctypes.data and out.ctypes.data
    out[:] = b / a
    return out


@pytest.fixture
def divided() -> Any:
    divided = wg.primitive(by_address)
    adjoint = wg.primitive(type=lambda a, ct: np.empty(ct.shape))(by_address)

    @divided.def_pullback
    def _(ct: Any, y: Any, a: Any, b: Any) -> Any:
        of_b = adjoint(a, ct)
        return -of_b * y, of_b

    @adjoint.def_pullback
    def _(ct: Any, y: Any, a: Any, b: Any) -> Any:
        of_b = divided(a, ct)
        return -of_b * y, of_b

    return divided


def test_arrays_made_in_the_code_of_a_primitive_were_traced(divided: Any) -> None:
    """Foreign code that wants an address raised, and said that wg.primitive helps."""
    a, b = np.array([1.0, 2.0, 4.0]), np.ones(3)
    f = lambda a: np.sum(divided(a, b))
    for derivative in (wg.grad(f), wg.jit(wg.grad(f))):
        np.testing.assert_allclose(derivative(a), -1 / a**2)
    np.testing.assert_allclose(wg.hessian(f)(a), np.diag(2 / a**3))
    np.testing.assert_allclose(wg.jvp(lambda a: divided(a, b), (a,), (b,))[1], -1 / a**2)
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(np.stack([a, 2 * a])), [-1 / a**2, -1 / (2 * a) ** 2])
    wg.check_derivatives(divided, a, b)


def test_a_primitive_of_constants_makes_arrays_of_numpys(divided: Any) -> None:
    table = np.array([1.0, 2.0])

    def f(x: Any) -> Any:
        y = divided(table, np.full(2, 3.0)) + divided(table, table)
        y[0] = x[0]
        return np.sum(y * x)

    np.testing.assert_allclose(wg.grad(f)(np.ones(2)), [2.0, 2.5])
    np.testing.assert_allclose(wg.jit(wg.grad(f))(np.ones(2)), [2.0, 2.5])


def test_the_type_rule_may_make_any_array() -> None:
    doubled = wg.primitive(type=lambda x: np.empty(x.shape).view())(lambda x: 2 * x)
    doubled.def_pullback(lambda ct, y, x: (2 * ct,))
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(doubled(x)))(X), np.full(X.shape, 2.0))


def test_foreign_code_in_a_rule_is_told_to_be_a_second_primitive() -> None:
    divided = wg.primitive(by_address)
    divided.def_pullback(lambda ct, y, a, b: (None, by_address(a, ct)))
    with pytest.raises(UnsupportedFunctionError, match=r"ndarray\.ctypes is not traced") as caught:
        wg.grad(lambda b: np.sum(divided(np.ones(3), b)))(np.ones(3))
    (note,) = caught.value.__notes__
    assert "a rule of by_address" in note and "is a second primitive that the rule calls" in note


def test_a_function_of_ctypes_in_a_rule_is_told_to_be_a_second_primitive() -> None:
    fill = ctypes.CDLL(None)["memset"]
    fill.argtypes = [np.ctypeslib.ndpointer(np.float64), ctypes.c_int, ctypes.c_size_t]

    def pullback(ct: Any, y: Any, x: Any) -> Any:
        fill(ct, 1, 8)
        return (ct,)

    doubled = wg.primitive(lambda x: 2 * x)
    doubled.def_pullback(pullback)
    with pytest.raises(UnsupportedFunctionError, match=r"an ndarray\n  at .*in pullback") as caught:
        wg.grad(lambda x: np.sum(doubled(x)))(np.ones(3))
    (note,) = caught.value.__notes__
    assert "is a second primitive that the rule calls" in note


def test_a_primitive_of_unknown_type_in_a_rule_is_told_how_to_tell_it() -> None:
    divided, adjoint = wg.primitive(by_address), wg.primitive(by_address)
    divided.def_pullback(lambda ct, y, a, b: (None, adjoint(a, ct)))
    with pytest.raises(ConcretizationError, match=r"type=lambda a, b: np\.empty\(shape, dtype\)\)") as caught:
        wg.grad(lambda b: np.sum(divided(np.ones(3), b)))(np.ones(3))
    (note,) = caught.value.__notes__
    assert note.startswith("The lambda is given empty arrays")


def test_what_a_primitive_reads_was_watched() -> None:
    """A compiled function was answered by Python if a primitive in it read a clock, a foreign library or a list that it
    writes. It is run at each call, so it may."""
    calls: list[float] = []

    @wg.primitive
    def counted(x: Any) -> Any:
        calls.append(time.perf_counter())
        return len(calls) * np.asarray(ctypes.c_double(float(x)).value)

    counted.def_pullback(lambda ct, y, x: (ct * y / x,))
    gradient = wg.jit(wg.grad(counted))
    first = [float(gradient(2.0)) for _ in range(3)]
    assert first[1] == first[0] + 1 and first[2] == first[1] + 1
    stats = gradient.stats()
    assert (stats["traces"], stats["plain"], stats["unrepeatable"]) == (1, 0, "")


@pytest.mark.parametrize("operand", [2.0, np.float64(2.0), constant_array(2.0)], ids=["number", "scalar", "read-only"])
def test_a_primitive_of_constants_runs_at_each_call(operand: Any) -> None:
    factor = [1.0]
    scale = wg.primitive(lambda x: factor[0] * np.asarray(x))
    f = wg.jit(lambda x: x * scale(operand) + x * scale(np.zeros(()) + operand))
    assert f(1.0) == 4.0
    factor[0] = 3.0
    assert f(1.0) == 12.0
    assert f.stats()["traces"] == 1
    assert wg.grad(f)(1.0) == 12.0
