"""The derivative of ``wg.broadcast(f, *arrays)`` is that of ``f``: as short a tape, and the same values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import wengert as wg
from tests.ops.check_op import evaluate, formula
from wengert import passes
from wengert.ad.activity import has_derivative
from wengert.ad.reverse import vjp
from wengert.errors import MissingRuleError
from wengert.higher.mapped import map_scalar
from wengert.ops import OPS
from wengert.ops.elementwise import greater, log, multiply, select, sin, sqrt, tanh
from wengert.ops.op import ZERO, partials_of
from wengert.tape import Aval, Lit, Tape

F64 = np.dtype(float)
S, V3 = Aval((), F64), Aval((3,), F64)
X, W = np.array([0.5, -1.0, 2.0]), np.array([3.0, 0.25, -2.0])


def body(f: Callable[..., Any], n: int = 1) -> Tape:
    return formula(f, *[S] * n).replace(name="f")


def gradient(f: Callable[..., Any], *avals: Aval, wrt: tuple[int, ...] = (0,)) -> Tape:
    """The gradient of the function of numbers ``f``, mapped over arrays."""
    of = body(f, len(avals))
    return passes.run(vjp(formula(lambda *xs: map_scalar(*xs, body=of), *avals), wrt, [0]))


def names(tape: Tape) -> list[str]:
    return [i.op.name for i in tape.instrs]


# -------------------------------------------------------------------------------------------------- structure


def test_it_is_an_op_like_any_other() -> None:
    assert OPS["map"] is map_scalar and map_scalar.is_elementwise


def test_the_derivative_is_a_formula_on_the_operands() -> None:
    assert str(gradient(lambda x, w: sin(x * w), V3, S)) == (
        "vjp of tape(v0: float64[3], v1: float64[], v2: float64[3]):\n"
        "  v3: float64[3] = map(v0, v1, body=<f: 2 instructions>)\n"
        "    f(v0: float64[], v1: float64[]):\n"
        "      v2: float64[] = multiply(v0, v1)\n"
        "      v3: float64[] = sin(v2)\n"
        "      return v3\n"
        "  v4: float64[3] = multiply(v0, v1)\n"
        "  v5: float64[3] = cos(v4)\n"
        "  v6: float64[3] = multiply(v5, v1)\n"
        "  v7: float64[3] = multiply(v2, v6)\n"
        "  return v3, v7"
    )


def test_what_is_said_in_terms_of_the_output_computes_it_no_second_time() -> None:
    assert names(gradient(tanh, V3)) == ["map", "multiply", "subtract", "multiply"]


def test_a_scalar_among_the_operands_is_summed_over_once() -> None:
    assert names(gradient(lambda x, t: sin(t) * x * t + t * t, V3, S, wrt=(1,))).count("sum") == 1


def horner(x: Any, *coefficients: Any) -> Any:
    return functools.reduce(lambda value, c: value * x + c, coefficients)


def test_the_gradient_in_many_operands_costs_a_multiple_of_the_function() -> None:
    """Not a multiple of the number of operands: that is reverse mode within the body."""

    def length(n: int) -> int:
        return len(gradient(horner, *[V3] * (n + 1), wrt=tuple(range(n + 1))))

    assert length(40) - length(20) == 20 * (length(21) - length(20))
    assert length(40) < 40 * 2 * 4


def test_an_operand_that_does_not_move_the_result_has_no_derivative() -> None:
    of = body(lambda x, k: select(greater(k, 0), x, OPS["floor"](k) * 1.0), 2)
    rules = partials_of(map_scalar, {"body": of})
    assert rules[1] is ZERO and callable(rules[0])
    assert has_derivative(map_scalar, 0, {"body": of}) and not has_derivative(map_scalar, 1, {"body": of})
    assert partials_of(map_scalar, {"body": of}) is rules  # found once


@pytest.mark.machine_code("kernels are counted")
def test_gradient_and_value_are_one_kernel() -> None:
    f = lambda x: np.sum(wg.broadcast(lambda a, b: np.sin(a) * b + a**2, x, 2.0))
    assert len(wg.compile(wg.trace(wg.value_and_grad(f))(X)).kernels) == 1


# ------------------------------------------------------------------------------------------------------ values

POINTS = np.array([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 30.0, 800.0, np.inf, -np.inf, np.nan, 1e-310])
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "selected root": lambda a, b: np.where(a > 0, np.sqrt(a), 0.0) * b,
    "root of what is selected": lambda a, b: np.sqrt(np.where(a > 0, a, 0.0)) + b,
    "a branch within itself": lambda a, b: np.where(a > 0, np.where(a > 0, b, a), a * a),
    "a branch within the other": lambda a, b: np.where(a > 0, b, np.where(a > 0, a, 2 * b)),
    "maximum, minimum": lambda a, b: np.maximum(a, b) * np.minimum(a, 0.5),
    "absolute": lambda a, b: abs(a) + abs(b) ** 3,
    "power": lambda a, b: a**b,
    "quotient": lambda a, b: a / b + 1 / (1 + b * b),
    "steps": lambda a, b: np.sign(a) * b + np.floor(b) + np.heaviside(a, b),
    "a comparison as a number": lambda a, b: (a > b) * a,
    "one operand": lambda a, b: a,
    "no operand": lambda a, b: 3.0,
    "nested": lambda a, b: wg.broadcast(lambda u, v: u * np.sin(v), a, b) * b,
}


def first(f: Callable[..., Any]) -> Any:
    return wg.grad(f, argnums=(0, 1))(POINTS, np.roll(POINTS, 3))


def first_beside_a_scalar(f: Callable[..., Any]) -> Any:
    return wg.grad(f, argnums=(0, 1))(POINTS, 0.5)


def first_in_integers(f: Callable[..., Any]) -> Any:
    return wg.grad(f)(POINTS, np.arange(len(POINTS)) % 3)


def first_in_float32(f: Callable[..., Any]) -> Any:
    return wg.grad(f, argnums=(0, 1))(POINTS.astype("f"), np.roll(POINTS, 3).astype("f"))


def nan_safe(f: Callable[..., Any]) -> Any:
    return wg.grad(f, argnums=(0, 1), nan_safe=True)(POINTS, np.roll(POINTS, 3))


def tangent(f: Callable[..., Any]) -> Any:
    return wg.jvp(f, (X, W), (W, X))


def second(f: Callable[..., Any]) -> Any:
    return wg.grad(lambda a, b: np.sum(wg.grad(f)(a, b) * W), argnums=(0, 1))(X, np.array([2.0, 0.0, -1.0]))


def third(f: Callable[..., Any]) -> Any:
    along = lambda g: lambda a, b: np.sum(wg.grad(g)(a, b) * W)
    return wg.grad(along(along(f)), argnums=(0, 1))(X, np.array([2.0, 0.5, 3.0]))


def forward_over_reverse(f: Callable[..., Any]) -> Any:
    return wg.hvp(lambda a: f(a, W), (X,), (W,))


def of_each_row(f: Callable[..., Any]) -> Any:
    return wg.vmap(wg.grad(f, argnums=(0, 1)), in_axes=(0, None))(POINTS.reshape(5, 3), W)


DERIVATIVES = [
    first,
    first_beside_a_scalar,
    first_in_integers,
    first_in_float32,
    tangent,
    second,
    third,
    forward_over_reverse,
    of_each_row,
]


def compare(f: Callable[..., Any], derivative: Callable[..., Any], after: Callable[[Any], Any]) -> None:
    def mapped(a: Any, b: Any) -> Any:
        return after(wg.broadcast(f, a, b))

    def written_out(a: Any, b: Any) -> Any:
        return after(np.broadcast_to(f(a, b), np.broadcast_shapes(np.shape(a), np.shape(b))))

    for got, expected in zip(derivative(mapped), derivative(written_out), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12 if got.dtype == F64 else 2e-6, atol=1e-12)


@pytest.mark.sampled(9, "every body in every order")
@pytest.mark.parametrize("derivative", DERIVATIVES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_derivatives_are_those_of_the_function(name: str, derivative: Callable[..., Any]) -> None:
    """At kinks, poles, infinities and NaN, in branches taken and not taken."""
    compare(FUNCTIONS[name], derivative, np.sum)


@pytest.mark.sampled(3, "every body in every order")
@pytest.mark.parametrize("derivative", [*DERIVATIVES, nan_safe], ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "select" in name or "branch" in name])
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_what_is_selected_stays_so_behind_the_body(name: str, derivative: Callable[..., Any]) -> None:
    """An infinite slope behind it meets no zero of a branch not taken."""
    compare(FUNCTIONS[name], derivative, lambda y: np.sum(np.sqrt(y)))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_nan_safe_is_that_of_the_function(name: str) -> None:
    compare(FUNCTIONS[name], nan_safe, np.sum)


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_nan_safe_did_not_reach_into_the_body() -> None:
    x = np.array([0.0, 1.0, 4.0])

    def f(x: Any) -> Any:
        return np.sum(wg.broadcast(lambda x: 0 * np.sqrt(x) + x * x, x))

    for transform in (wg.grad, wg.jacobian):
        for g in (transform(f, nan_safe=True), wg.jit(transform(f, nan_safe=True))):
            np.testing.assert_array_equal(g(x), 2 * x)
    np.testing.assert_array_equal(wg.jvp(f, (x,), (x,), nan_safe=True)[1], 34)
    np.testing.assert_array_equal(wg.hessian(f, nan_safe=True)(x), 2 * np.eye(3))
    assert np.isnan(wg.grad(f)(x)[0])  # as IEEE arithmetic says


def test_no_nan_leaks_from_a_branch_not_taken() -> None:
    """Not in the body, nor from it into what the result is put into: a mask goes through."""
    x = np.array([-1.0, 0.0, 4.0])
    zero = Lit(0.0)
    inside = gradient(lambda x: select(greater(x, 0), x * log(x), zero), V3)
    np.testing.assert_allclose(evaluate(inside, [x, np.ones(3)])[1], [0, 0, 1 + np.log(4)])
    of = body(lambda x: select(greater(x, 0), x * x, zero))
    outside = vjp(formula(lambda x: sqrt(map_scalar(x, body=of)), V3), [0], [0])
    np.testing.assert_array_equal(evaluate(outside, [x, np.ones(3)])[1], [0, 0, 1])


def test_a_value_times_nothing_is_zero_and_not_nan() -> None:
    """The derivative of a branch within the other counts nowhere, whatever it is multiplied with."""
    zero = Lit(0.0)

    def f(x: Any, k: Any) -> Any:
        mask = greater(k, 0)
        return select(mask, zero, select(mask, x, zero))

    (_, dx) = evaluate(gradient(f, V3, V3), [X, W, np.full(3, np.inf)])
    np.testing.assert_array_equal(dx, np.zeros(3))


# ------------------------------------------------------------------------------------------------------- rules


def test_a_rule_that_nobody_wrote_is_missed_only_where_it_is_needed() -> None:
    f = lambda order, x: np.sum(wg.broadcast(lambda n, a: sp.struve(n, a) * a, order, x))
    order, x = np.array([1.0, 2.0]), np.array([0.5, 1.5])
    slope = sp.struve(order - 1, x) - order / x * sp.struve(order, x)
    np.testing.assert_allclose(wg.grad(f, argnums=1)(order, x), slope * x + sp.struve(order, x))
    with pytest.raises(MissingRuleError, match=r"(?s)struve: the derivative with respect to operand 0.*test_mapped.py"):
        wg.grad(f, argnums=0)(order, x)
    with pytest.raises(MissingRuleError, match="struve: the derivative with respect to operand 0"):
        wg.jvp(f, (order, x), (order, x))


def test_a_body_is_multiplied_with_the_cotangent_and_nothing_else() -> None:
    assert names(gradient(lambda x: multiply(x, 3.0), V3)) == ["map", "multiply"]
    assert names(gradient(lambda x: x + 1.0, V3)) == ["map"]
