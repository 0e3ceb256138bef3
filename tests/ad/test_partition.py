"""A joint tape in two parts: what runs now, what runs later, and what is handed over."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.check_op import evaluate, formula
from wengert.ad.forward import jvp
from wengert.ad.partition import first_part, keep_outputs, partition, second_part
from wengert.ad.reverse import vjp
from wengert.ops.elementwise import exp, sign, sin
from wengert.tape import Aval, Capture, Tape, check

V3 = Aval((3,), np.dtype(float))
X, CT = np.array([0.5, 1.0, 2.0]), np.array([1.0, -1.0, 0.25])


def names(tape: Tape) -> list[str]:
    return [i.op.name for i in tape.instrs]


def test_the_pullback_of_a_sine() -> None:
    """The cosine does not depend on the cotangent, so it is computed now; only it is handed over."""
    now, later = partition(vjp(formula(sin, V3), (0,), (0,)), 1, 1)
    assert names(now) == ["sin", "cos"] and names(later) == ["multiply"]
    y, cosine = evaluate(check(now), [X])
    np.testing.assert_allclose(cosine, np.cos(X))
    np.testing.assert_allclose(evaluate(check(later), [cosine, CT])[0], CT * np.cos(X))
    assert later.captures == () and y.shape == (3,)


def test_the_two_parts_share_no_variable() -> None:
    joint = vjp(formula(lambda x: exp(x) * x, V3), (0,), (0,))
    now, later = partition(joint, 1, 1)
    assert set(now.inputs).isdisjoint(later.inputs)
    assert not any(v in later.inputs for i in now.instrs for v in i.outs)
    assert [i.op for i in (*now.instrs, *later.instrs)].count(exp) == 1


def test_a_residual_is_handed_over_once() -> None:
    def f(x: Any) -> Any:
        y = exp(x)
        return y * y * y

    now, later = partition(vjp(formula(f, V3), (0,), (0,)), 1, 1)
    assert len(set(now.outputs[1:])) == len(now.outputs) - 1 == len(later.inputs) - 1
    outs = evaluate(now, [X])
    np.testing.assert_allclose(evaluate(later, [*outs[1:], CT])[0], 3 * np.exp(3 * X) * CT)


def test_a_linear_function_keeps_nothing() -> None:
    now, later = partition(vjp(formula(lambda x: x * 2.0, V3), (0,), (0,)), 1, 1)
    assert len(now.outputs) == 1 and len(later.inputs) == 1
    np.testing.assert_array_equal(evaluate(later, [CT])[0], 2 * CT)


def test_captured_arrays_that_the_second_part_reads_are_residuals() -> None:
    one = formula(lambda x, w: x * w, V3, V3)
    capture = Capture(one.inputs[1], np.arange(3.0), "w")
    now, later = partition(vjp(one.replace(inputs=one.inputs[:1], captures=(capture,)), (0,), (0,)), 1, 1)
    assert now.captures == (capture,) and later.captures == ()
    assert now.outputs[1] is capture.var
    np.testing.assert_array_equal(evaluate(later, [np.arange(3.0), CT])[0], np.arange(3.0) * CT)


def test_a_tangent_that_is_zero_has_nothing_to_run_later() -> None:
    now, later = partition(jvp(formula(sign, V3), (0,)), 1, 1)
    assert names(check(now))[0] == "sign"
    results = evaluate(now, [X])
    np.testing.assert_array_equal(evaluate(check(later), [*results[1:], CT])[0], np.zeros(3))


def test_each_part_alone() -> None:
    joint = vjp(formula(sin, V3), (0,), (0,))
    assert names(first_part(joint, 1, 1)) == ["sin", "cos"]
    assert names(second_part(joint, 1, 1)) == ["multiply"]
    assert keep_outputs(joint, 1).outputs == joint.outputs[1:]
    assert keep_outputs(joint, 1).instrs == joint.instrs
