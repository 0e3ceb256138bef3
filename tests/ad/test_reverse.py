"""Reverse mode, as short tapes: what the backward part computes, keeps, and leaves out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal

import wengert as wg
from tests.ops.check_op import evaluate, formula
from wengert import passes
from wengert.ad.reverse import cotangent_source, cotangents, vjp
from wengert.errors import MissingRuleError
from wengert.ops.contract import matmul
from wengert.ops.control import stop_gradient
from wengert.ops.elementwise import exp, greater, log, multiply, select, sign, sin, sqrt, tanh
from wengert.ops.index import slice_
from wengert.ops.kernels import Callback, flops
from wengert.ops.linalg.determinants import slogdet
from wengert.ops.op import Op, not_implemented
from wengert.ops.reduce import sum_
from wengert.ops.structured import Fill, Part, Parts
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
    assert isinstance(parts, Parts) and parts.parts == [Part(one, (1,))]
    assert nothing is None
    assert len(builder.instrs) == len(tape)


def test_what_the_backward_part_adds_has_the_line_it_belongs_to() -> None:
    line = Source("m.py", 7, "f")
    tape = formula(sin, S)
    tape = tape.replace(instrs=tuple(i._replace(source=line) for i in tape.instrs))
    joint = vjp(tape, (0,), (0,))
    assert [i.source for i in joint.instrs] == [line] + [line._replace(role="cotangent")] * (len(joint) - 1)
    assert cotangent_source(None) is None


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
