"""Reverse mode, as short tapes: what the backward part computes, keeps, and leaves out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal
import scipy.special

import wengert as wg
from tests.ops.check_op import evaluate, formula
from wengert import passes
from wengert.ad.reverse import cotangent_source, cotangents, vjp, with_residuals
from wengert.edit import merge_common
from wengert.errors import MissingRuleError
from wengert.ops.contract import matmul
from wengert.ops.control import stop_gradient
from wengert.ops.elementwise import exp, greater, log, multiply, select, sign, sin, sqrt, tanh
from wengert.ops.index import scatter_set, set_slice, slice_
from wengert.ops.kernels import Callback, flops
from wengert.ops.linalg.determinants import slogdet
from wengert.ops.op import Op, not_implemented
from wengert.ops.reduce import sum_
from wengert.ops.structured import Fill, ScatteredSum, ScatteredTerm
from wengert.source import Source
from wengert.tape import Aval, Builder, Instr, Lit, Tape, Var, building

F64 = np.dtype(float)
S, V3 = Aval((), F64), Aval((3,), F64)
M33 = Aval((3, 3), F64)
X = np.array([0.5, 1.0, 2.0])


def gradient(f: Callable[..., Any], *avals: Aval, wrt: tuple[int, ...] = (0,), **options: Any) -> Tape:
    return passes.run(vjp(formula(f, *avals), wrt, (0,), "one", **options))


def names(tape: Tape) -> list[str]:
    return [i.op.name for i in tape.instrs]


def test_a_product_prints_as_by_hand() -> None:
    joint = vjp(formula(lambda x, y: sin(x) * y, S, S), (0, 1), (0,))
    assert str(joint) == (
        "vjp of tape(v0: float64[], v1: float64[], v2: float64[]):\n"
        "  v3: float64[] = sin(v0)\n"
        "  v4: float64[] = multiply(v3, v1)\n"
        "  v5: float64[] = multiply(v2, v1)\n"
        "  v6: float64[] = multiply(v2, v3)\n"
        "  v7: float64[] = cos(v0)\n"
        "  v8: float64[] = multiply(v5, v7)\n"
        "  return v4, v8, v6"
    )


def test_the_forward_part_is_the_tape_itself() -> None:
    tape = formula(lambda x: sum_(tanh(x) * x, axis=(0,)), V3)
    joint = vjp(tape, (0,), (0,), "one", runs_once=True)
    assert joint.instrs[: len(tape)] == tape.instrs
    assert joint.inputs == tape.inputs and joint.runs_once
    assert vjp(tape, (0,), (0,)).inputs[:-1] == tape.inputs  # and the seed


def test_a_rule_in_terms_of_the_output_keeps_no_input() -> None:
    """tanh' = 1 − y², exp' = y, √' = 1/2y: the backward part reads y alone."""
    for f in (tanh, exp, sqrt):
        tape = formula(f, V3)
        joint = vjp(tape, (0,), (0,))
        for instr in joint.instrs[1:]:
            assert tape.inputs[0] not in instr.ins
        np.testing.assert_allclose(
            evaluate(joint, [X, np.ones(3)])[1],
            {tanh: 1 - np.tanh(X) ** 2, exp: np.exp(X), sqrt: 0.5 / np.sqrt(X)}[f],
        )


def test_the_cotangent_of_a_constant_is_not_computed() -> None:
    """W x with respect to x: no outer product for W."""
    joint = gradient(lambda x, w: sum_(matmul(w, x), axis=(0,)), V3, M33)
    assert max(v.aval.size for i in joint.instrs for v in i.outs) == 3
    assert len(joint.outputs) == 2
    both = gradient(lambda x, w: sum_(matmul(w, x), axis=(0,)), V3, M33, wrt=(0, 1))
    assert both.out_avals == (S, V3, M33)


def test_steps_that_do_not_reach_the_output_have_no_cotangent() -> None:
    joint = vjp(formula(lambda x: (sin(x), exp(log(x))), S), (0,), (0,), "one")
    assert names(joint) == ["sin", "log", "exp", "cos"]
    assert joint.out_avals == (S, S, S)


def test_an_input_that_is_not_used_has_the_cotangent_zero() -> None:
    joint = gradient(lambda x, y: sum_(x, axis=(0,)), V3, V3, wrt=(0, 1))
    value, ct_x, ct_y = evaluate(joint, [X, X])
    assert value == 3.5
    np.testing.assert_array_equal(ct_x, np.ones(3))
    np.testing.assert_array_equal(ct_y, np.zeros(3))


def test_an_output_that_is_an_input_or_a_literal() -> None:
    joint = vjp(formula(lambda x: (x, Lit(2.0)), S), (0,), (0, 1))
    assert len(joint) == 0
    assert evaluate(joint, [np.float64(3), np.float64(5), np.float64(7)]) == [3, 2, 5]


def test_one_value_as_two_outputs_adds_their_cotangents() -> None:
    def f(x: Any) -> Any:
        y = sin(x)
        return y, y

    joint = vjp(formula(f, S), (0,), (0, 1))
    assert evaluate(joint, [np.float64(0), np.float64(2), np.float64(3)])[2] == 5


def test_derivatives_stop_where_they_are_zero() -> None:
    for f in (lambda x: sign(x) * x, lambda x: stop_gradient(x) * x, lambda x: select(greater(x, 0.0), x, x * x)):
        tape = formula(f, S)
        joint = vjp(tape, (0,), (0,), "one")
        assert evaluate(joint, [np.float64(3)])[1] in (1, 3)
    joint = vjp(formula(lambda x: sign(exp(x)), S), (0,), (0,), "one")
    assert names(joint) == ["exp", "sign"]  # no step is added
    assert evaluate(joint, [np.float64(3)])[1] == 0


def test_the_cotangents_of_an_op_of_two_results() -> None:
    """The logarithm of a determinant, the second of two: its gradient is a⁻ᵀ. And the sign has none."""
    a = np.array([[3.0, 1.0, 0.5], [0.25, 2.0, -1.0], [0.75, 1.5, 4.0]])
    joint = vjp(formula(lambda a: slogdet(a)[1], M33), (0,), (0,), "one")
    np.testing.assert_allclose(evaluate(joint, [a])[1], np.linalg.inv(a).T, rtol=1e-13)
    joint = vjp(formula(lambda a: slogdet(a)[0], M33), (0,), (0,), "one")
    np.testing.assert_array_equal(evaluate(joint, [a])[1], np.zeros((3, 3)))


def test_a_cotangent_that_is_an_array_meets_a_transpose() -> None:
    joint = vjp(formula(matmul, M33, V3), (0, 1), (0,))
    w, ct = np.arange(9.0).reshape(3, 3), np.array([2.0, -1.0, 0.5])
    _, ct_w, ct_x = evaluate(joint, [w, X, ct])
    np.testing.assert_allclose(ct_w, np.outer(ct, X))
    np.testing.assert_allclose(ct_x, w.T @ ct)


def test_the_seed_of_a_sum_is_one_scalar() -> None:
    joint = gradient(lambda x: sum_(x * x, axis=(0,)), V3)
    assert "broadcast_to" not in names(joint)
    np.testing.assert_array_equal(evaluate(joint, [X])[1], 2 * X)


def test_reads_of_single_elements_share_one_buffer() -> None:
    n = 50

    def f(x: Any) -> Any:
        total = Lit(0.0)
        for k in range(n):
            total = total + sin(slice_(x, index=(k,)))
        return total

    joint = gradient(f, Aval((n,), F64))
    assert sum(v.aval.size == n for i in joint.instrs for v in i.outs) <= n + 1
    made = [i.op.name for i in joint.instrs if any(v.aval.size == n for v in i.outs) and not i.op.in_place]
    assert len(made) <= 1  # every other writes in place
    x = np.linspace(0, 1, n)
    np.testing.assert_allclose(evaluate(joint, [x])[1], np.cos(x))


def test_the_tape_of_a_gradient_is_linear_in_the_tape() -> None:
    def chain(n: int) -> int:
        def f(x: Any) -> Any:
            for _ in range(n):
                x = sin(x) * x
            return x

        return len(gradient(f, S))

    assert chain(40) - chain(20) == 2 * (chain(20) - chain(10))
    assert chain(40) < 40 * 2 * 5


def test_nan_safe() -> None:
    f = lambda x: sum_(multiply(sqrt(x), 0.0), axis=(0,))
    x = np.array([0.0, 1.0, 4.0])
    assert np.isnan(evaluate(gradient(f, V3), [x])[1][0])
    np.testing.assert_array_equal(evaluate(gradient(f, V3, nan_safe=True), [x])[1], np.zeros(3))


def test_nan_safe_holds_where_a_mask_does() -> None:
    f = lambda x: sum_(multiply(select(greater(x, -1.0), sqrt(x), Lit(0.0)), 0.0), axis=(0,))
    x = np.array([0.0, 1.0, -4.0])
    assert np.isnan(evaluate(gradient(f, V3), [x])[1][0])
    np.testing.assert_array_equal(evaluate(gradient(f, V3, nan_safe=True), [x])[1], np.zeros(3))


def test_nan_safe_costs_nothing_where_the_cotangent_is_a_number() -> None:
    f = lambda x: sum_(tanh(x), axis=(0,))
    assert str(gradient(f, V3, nan_safe=True)) == str(gradient(f, V3))


def test_cotangents_are_structured_as_they_come() -> None:
    tape = formula(lambda x, y: sum_(x, axis=(0,)) + slice_(y, index=(1,)), V3, V3)
    with building(Builder(start=tape.instrs)) as builder:
        one = Lit(1.0)
        fill, parts = cotangents(tape, tape.inputs, tape.outputs, [one])
        (nothing,) = cotangents(tape, tape.inputs[:1], [], [])
    assert fill == Fill(one, V3)
    assert isinstance(parts, ScatteredSum) and parts.parts == [ScatteredTerm(one, (1,))]
    assert nothing is None
    assert len(builder.instrs) == len(tape)


def test_what_the_backward_part_adds_has_the_line_it_belongs_to() -> None:
    line = Source("m.py", 7, "f")
    tape = formula(sin, S)
    tape = tape.replace(instrs=tuple(i._replace(source=line) for i in tape.instrs))
    joint = vjp(tape, (0,), (0,))
    assert [i.source for i in joint.instrs] == [line] + [line.derived("cotangent", "sin")] * (len(joint) - 1)
    assert cotangent_source(tape.instrs[0]._replace(source=None)) is None


def test_a_rule_that_nobody_wrote_names_the_op_and_the_line() -> None:
    rule = not_implemented("nobody has worked it out")
    kernel, cost = Callback("a test"), flops(1)
    bare = Op(name="bare", reference=np.sin, type=lambda x: x, kernel=kernel, cost=cost, pullback=(rule,))
    x, y = Var(S), Var(S)
    instr = Instr(bare, (x,), (y,), {}, Source("model.py", 12, "loss"))
    with pytest.raises(MissingRuleError, match=r"bare: .* operand 0 .* nobody has worked it out(?s:.*)model.py:12"):
        vjp(Tape((x,), (), (instr,), (y,)), (0,), (0,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cotangents_have_the_type_of_their_primal(dtype: Any) -> None:
    aval = Aval((3,), np.dtype(dtype))
    joint = vjp(formula(lambda x, s: x * s, aval, Aval((), np.dtype(dtype))), (0, 1), (0,))
    assert joint.out_avals[1:] == (aval, Aval((), np.dtype(dtype)))


def test_the_cotangent_of_weights_is_made_before_what_goes_on() -> None:
    """What goes on needs the values no longer that the one of weights is made of."""
    x, w, v = [Aval(shape, F64) for shape in ((3, 4), (4, 5), (5, 6))]
    loss = lambda x, w, v: sum_(sin(matmul(tanh(matmul(x, w)), v)), axis=(0, 1))
    tape = gradient(loss, x, w, v, wrt=(1, 2))
    contractions = [i.outs[0].aval.shape for i in tape.instrs if i.op.name == "contract"]
    assert contractions == [(3, 5), (3, 6), (5, 6), (3, 5), (4, 5)]


FOURIER = [
    (lambda a: np.sum(WEIGHTS[:8] * np.fft.irfft(a, 10)[0:8]), 6),
    (lambda a: np.sum(WEIGHTS[:4] * np.fft.irfft(np.fft.rfft(a) * 2)[1:5]), 8),
    (lambda a: np.sum(np.fft.fft(np.fft.fft(a)[:6]).real[np.array([0, 2])]), 12),
    (lambda a: np.sum(scipy.signal.fftconvolve(a, a[:3], mode="same") ** 2), 7),
    (lambda a: np.sum(np.square(scipy.fft.dct(a, 2)[::2])) + np.sum(np.square(scipy.fft.dst(a, 1)[-1:])), 8),
    (lambda a: np.sum(np.where(np.arange(9) < 4, np.fft.irfft(a, 9), 0) ** 2), 5),
]
WEIGHTS = np.random.default_rng(30).standard_normal(8)


@pytest.mark.parametrize(("f", "n"), FOURIER, ids=["irfft", "two", "index array", "fftconvolve", "dct", "where"])
def test_a_cotangent_was_lost_where_the_transform_of_its_mask_is_zero(f: Any, n: int) -> None:
    """The mask of what counts went through the transpose as numbers, which cancel in a Fourier transform."""
    a = np.random.default_rng(n).standard_normal(n)
    forward = [wg.jvp(f, (a,), (e,))[1] for e in np.eye(n)]
    np.testing.assert_allclose(wg.grad(f)(a), forward, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(wg.jit(wg.grad(f))(a), forward, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(wg.jacobian(f, mode="reverse")(a), forward, rtol=1e-11, atol=1e-11)


# ----------------------------------------------------------------------------------- structural zeros


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


PAIRS: dict[str, Any] = {
    "a product by broadcasting": lambda y: np.sum((y[:, None] * y)[1:, 1:]),
    "two parts of it": lambda y: np.sum((y[:, None] * y)[1:, 1:]) + np.sum((y / y[:, None])[2, 1:] ** 2),
    "an outer product": lambda y: np.sum(np.outer(y, y)[1:, 1:]),
    "a row of it": lambda y: np.sum(np.outer(y, y)[1, 1:]),
    "an element of it": lambda y: np.outer(y, y)[-1, 1] ** 2,
    "a matrix product": lambda y: np.sum(np.sin(y.reshape(3, 1) @ y.reshape(1, 3))[:0:-1, 1:]),
    "an einsum": lambda y: np.sum(np.einsum("i,j,k->jki", y, y, y)[1:, 2, 1:]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_part_of_all_pairs_was_read_and_what_is_infinite_in_the_others_leaked(name: str) -> None:
    f = lambda x: PAIRS[name](np.sqrt(x - 1))
    x = np.array([0.5, 1.5, 2.0])
    with np.errstate(invalid="ignore"):
        differences = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)[1:]]
        np.testing.assert_allclose(wg.grad(f)(x), [0.0, *differences], rtol=1e-7)


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


LOGITS, FACTORS = np.array([1.0, -np.inf, 2.0]), np.array([1.0, 2.0, 3.0])


def shares(z: Any) -> Any:
    e = np.exp(z - np.max(z))
    return np.sum(e / np.sum(e) * FACTORS)


@pytest.mark.sampled(3, "a quarter of a second each")
@pytest.mark.parametrize(
    "f",
    [
        lambda t: np.sum(np.exp(LOGITS / t) * FACTORS),
        lambda t: shares(LOGITS / t),
        lambda t: shares(t * LOGITS),
        lambda t: scipy.special.softmax(np.where(FACTORS != 2, FACTORS, -np.inf) / t)[0],
        lambda t: scipy.special.logsumexp(LOGITS / t),
        lambda t: np.sum(np.logaddexp(LOGITS / t, t)),
        lambda t: shares(np.where(FACTORS != 2, FACTORS * t, -np.inf) * t),
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


def test_what_is_fixed_before_a_step_that_saturates_meets_no_infinite_slope_on_its_way() -> None:
    """exp(-inf / sqrt(s)) is 0 for every s, also for s = 0, where the root has an infinite slope."""
    q, s = np.array([1.0, -np.inf]), np.array([4.0, 0.0])
    with np.errstate(all="ignore"):
        ct = wg.grad(lambda s: np.sum(np.exp(q / np.sqrt(s))))(s)
    np.testing.assert_allclose(ct, [-np.exp(0.5) / 16, 0], rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda q, t: np.exp((q / t)[0]) + 2 * np.exp((q / t)[2]),
        lambda q, t: np.sum(np.exp(np.diagonal(q[:, None] / t))),
    ],
    ids=["elements", "a diagonal"],
)
def test_before_a_step_that_saturates_a_cotangent_may_be_of_parts_or_a_diagonal(f: Any) -> None:
    q, t = np.array([1.0, -2.0, 0.5]), np.array([2.0, 1.0, 4.0])
    ct_q, ct_t = wg.grad(f, argnums=(0, 1))(q, t)
    zero = np.zeros(3)
    np.testing.assert_allclose(ct_q, [wg.jvp(f, (q, t), (e, zero))[1] for e in np.eye(3)], rtol=1e-13)
    np.testing.assert_allclose(ct_t, [wg.jvp(f, (q, t), (zero, e))[1] for e in np.eye(3)], rtol=1e-13)


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


WHERE = np.array([True, False, True])


def select_part(x: Any) -> Any:
    """What is written counts at one of its two places, and what is under it at one other."""
    y = np.sqrt(x)
    y[:2] = np.sqrt(x[1:])
    return np.sum(np.where(WHERE, y, 0.0))


def slice_over_array(x: Any) -> Any:
    y = np.zeros(4)
    y[np.array([0, 2])] = np.sqrt(x[:2])
    y[:1] = x[2]
    return np.sum(y)


def array_over_slice(x: Any) -> Any:
    y = np.zeros(4)
    y[0:2] = np.sqrt(x[:2])
    y[np.array([0, 3])] = x[2]
    return np.sum(y * 3)


def array_over_another(x: Any) -> Any:
    y, first, second = np.zeros(4), np.array([0, 1]), np.array([3, 0])
    y[first] = np.sqrt(x[:2])
    y[second] = x[1:]
    return np.sum(y * 3)


def array_over_itself(x: Any) -> Any:
    y, at = np.zeros(4), np.array([3, 0])
    y[at] = np.sqrt(x[:2])
    y[at] = x[1:]
    return np.sum(y * 3)


def slices_that_overlap(x: Any) -> Any:
    y = np.zeros(4)
    y[0:2] = np.sqrt(x[:2][::-1])
    y[1:3] = x[1:]
    return np.sum(y**2)


def slices_apart(x: Any) -> Any:
    y = np.sqrt(np.concatenate([x, x + 1]))
    y[0:1] = x[2]
    y[4:6] = 1.0
    return np.sum(y**2)


def read_in_part(x: Any) -> Any:
    y = np.zeros(4)
    y[0:2] = np.sqrt(x[:2])
    y[2:4] = x[1:]
    return y[0] + y[1] * 2 + np.sum(y[2:3])


def read_none_of_it(x: Any) -> Any:
    y = np.zeros(4)
    y[0:2] = np.sqrt(x[:2])
    y[2:4] = x[1:]
    return np.sum(y[2:3])


def read_by_array(x: Any) -> Any:
    y = np.zeros(4)
    y[np.array([0, 1])] = np.sqrt(x[:2])
    y[2:4] = x[1:]
    return np.sum(y[np.array([1, 1, 3])])


def a_branch_within_the_other(x: Any) -> Any:
    return np.sum(np.where(x > 1, np.where(x > 1, x * x, np.sqrt(x - 3)), x))


@pytest.mark.parametrize(
    "f",
    [
        select_part,
        slice_over_array,
        array_over_slice,
        array_over_another,
        array_over_itself,
        slices_that_overlap,
        slices_apart,
        read_in_part,
        read_none_of_it,
        read_by_array,
        a_branch_within_the_other,
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("at", [[0.0, 1.0, 4.0], [4.0, 0.0, 1.0], [1.0, 4.0, 0.0], [0.5, 2.0, 3.0]], ids=str)
def test_writes_and_reads_that_meet_in_part_count_where_they_do(f: Any, at: list[float]) -> None:
    """By slices and by arrays, the one over the other; against forward mode, which knows no cotangents."""
    x = np.array(at)
    with np.errstate(all="ignore"):
        forward = np.array([wg.jvp(f, (x,), (e,))[1] for e in np.eye(3)])
        reverse = wg.grad(f)(x)
    if np.isfinite(forward).all():  # else an infinite slope counts
        np.testing.assert_allclose(reverse, forward, rtol=1e-14)
    else:
        assert not np.isfinite(reverse).all()


def test_what_no_cotangent_reaches_adds_no_steps() -> None:
    def f(x: Any, y: Any) -> Any:
        mask = greater(x, 0.0)
        return sum_(select(mask, select(mask, x, exp(log(y))), x), axis=(0,))

    joint = vjp(formula(f, V3, V3), (0, 1), (0,), "one")
    assert "divide" not in names(joint) and names(joint).count("exp") == 1
    np.testing.assert_array_equal(evaluate(joint, [X, -X])[1:], [np.ones(3), np.zeros(3)])


def test_what_reads_a_cotangent_stands_before_what_writes_over_it() -> None:
    """The other way round the cotangent would have to be copied first."""
    for f, read in (
        (lambda x, v, at: set_slice(x, v, index=((0, 2, 1),)), "slice"),
        (lambda x, v, at: scatter_set(x, v, at), "gather"),
    ):
        joint = vjp(formula(f, V3, Aval((2,), F64), Aval((2,), np.dtype(np.intp))), (0, 1), (0,))
        added = [(i.op.name, joint.inputs[3] in i.ins) for i in joint.instrs[1:]]
        assert (read, True) in added
        written = [n for n, (name, is_read) in enumerate(added) if is_read and name in ("set_slice", "scatter_set")]
        assert written and added.index((read, True)) < min(written)


@pytest.mark.sampled(3, "half a second each")
@pytest.mark.parametrize("op", ["eigh", "eigvals", "svd"])
def test_cotangents_of_several_results_may_be_of_any_structure(op: str) -> None:
    """None, dense and masked, beside each other."""
    a = np.array([[3.0, 1.0, 0.5], [1.0, 2.0, -1.0], [0.5, -1.0, 4.0]])
    functions: dict[str, list[Any]] = {
        "eigh": [
            lambda a: np.sum(np.linalg.eigh(a)[0] * X),
            lambda a: np.linalg.eigh(a)[0][1] * 2,
            lambda a: np.sum(np.linalg.eigh(a)[1][:, 1] ** 4),
            lambda a: np.sum(np.abs(np.linalg.eigh(a)[1]) @ np.linalg.eigh(a)[0]),
        ],
        "eigvals": [
            lambda a: np.sum(np.real(np.linalg.eigvals(a)) ** 2),
            lambda a: np.real(np.linalg.eig(a)[0][0]) + np.sum(np.abs(np.linalg.eig(a)[1][:, 0]) ** 4),
        ],
        "svd": [
            lambda a: np.sum(np.linalg.svd(a)[1] * X),
            lambda a: np.linalg.svd(a)[1][0] + np.sum(np.linalg.svd(a)[0][:, 0] ** 4),
            lambda a: np.sum(np.abs(np.linalg.svd(a)[2][1])),
        ],
    }
    directions = np.random.default_rng(0).normal(size=(2, 3, 3))
    for f in functions[op]:
        gradient_of_f = wg.grad(f)(a)
        for d in directions + directions.swapaxes(1, 2):
            assert np.sum(gradient_of_f * d) == pytest.approx(wg.jvp(f, (a,), (d,))[1], rel=1e-9)


# ------------------------------------------------------------------------------------------ what the forward part keeps


def scanned(x: Any, y: Any) -> Any:
    return wg.scan(lambda c, v: (np.sin(c * v), None), x, y)[0]


def test_a_loop_keeps_for_its_pullback_what_that_reads() -> None:
    """Otherwise the pullback would run it a second time."""
    tape = wg.trace(lambda x, y: np.sum(scanned(x, y)) + np.sum(scanned(y[0], y * 2)))(X, np.ones((4, 3)))
    joint = vjp(tape, (0,), (0,), "one")
    before = [i for i in tape.instrs if i.op.name == "scan"]
    after = [i for i in joint.instrs if i.op.name == "scan"]
    assert len(before) == 2 and len(after) == 3
    assert [len(i.outs) - len(j.outs) for i, j in zip(after, before, strict=False)][1] == 0
    assert after[1] is before[1], "which the derivative does not go through"
    both = merge_common(vjp(tape, (0, 1), (0,), "one"))  # of both operands there is one pullback, asked for twice
    assert [i.op.name for i in both.instrs].count("scan") == 4


def test_a_tape_whose_steps_keep_nothing_is_the_tape_itself() -> None:
    tape = formula(lambda x: sin(x), V3)
    assert with_residuals(tape, tape.inputs, tape.outputs) is tape


T = np.linspace(0, 1, 5)
ZERO_BY_VALUE: dict[str, tuple[Any, tuple[float, ...]]] = {
    "an exact fit": (lambda v: 0.5 * np.sum((v[0] * np.exp(-v[1] * T) - 2 * np.exp(-1.5 * T)) ** 2), (2.0, 1.5)),
    "no amplitude": (lambda v: np.sum(v[0] * np.exp(v[1] * T)), (0.0, 0.5)),
    "a product of three": (lambda v: np.exp(v[0] * v[1] * v[2]), (0.0, 1.0, 2.0)),
    "behind a product": (lambda v: v[0] * np.exp(-v[1] * v[2]), (0.0, 1.0, 2.0)),
    "a quotient": (lambda v: v[0] * np.logaddexp(v[1] / v[2], 0.3), (0.0, 0.0, 2.0)),
    "a softmax": (lambda v: v[0] * np.exp(v[1] * v[2]) / np.sum(np.exp(v * v[1])), (0.0, 1.0, 2.0)),
    "a complex exponential": (lambda v: v[0] * np.real(np.exp((v[1] + 1j) * v[2])), (0.0, 1.0, 2.0)),
    "a power": (lambda v: v[0] ** v[1], (2.0, 0.0)),
    "a power of a complex number": (lambda v: np.real((v[0] + 0.5j) ** (v[1] + 0j)), (2.0, 0.0)),
}


@pytest.mark.sampled(3, "a tenth of a second each")
@pytest.mark.parametrize("nan_safe", [False, True])
@pytest.mark.parametrize("name", ZERO_BY_VALUE)
def test_a_cotangent_that_is_zero_by_value_moves(name: str, nan_safe: bool) -> None:
    """It was taken for one that is nothing there, and its own derivative for zero: the Hessian was not symmetric."""
    f, at = ZERO_BY_VALUE[name]
    gradient, x, h = wg.grad(f, nan_safe=nan_safe), np.array(at), 1e-6
    want = np.array([(gradient(x + h * e) - gradient(x - h * e)) / (2 * h) for e in np.eye(len(at))])
    for hessian in (wg.hessian(f, nan_safe=nan_safe), wg.jacobian(gradient, mode="reverse"), wg.jit(wg.hessian(f))):
        np.testing.assert_allclose(hessian(x), want, rtol=1e-6, atol=1e-7)
