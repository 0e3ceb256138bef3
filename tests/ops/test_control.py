"""Guards, and values that derivatives do not pass."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.ops.control import EACH, Expected, GuardMiss, guard, only_where, stop_gradient, values_of
from wengert.tape import Aval, Instr, Var


def test_expected_values_are_compared_by_their_bytes() -> None:
    assert Expected(np.nan) == Expected(np.nan)
    assert Expected(0.0) != Expected(-0.0)
    assert Expected(1) != Expected(1.0)
    assert Expected([1, 2]) == Expected(np.array([1, 2])) != Expected([[1, 2]])
    assert len({Expected(True), Expected(True), Expected(False)}) == 2
    assert repr(Expected(3)) == "3" and repr(Expected([1.0, 2.0])) == "<float64[2]>"


def test_a_guard_that_misses_says_which_it_is_and_what_it_saw() -> None:
    look = lambda x, value: guard.reference(x, expected=Expected(value), position=3, kind="int")
    assert look(2, 2) == look(np.array([1, 2]), [1, 2]) == ()
    for seen, value in ((2, 1), (np.array([1, 2]), [1, 3]), (np.nan, 1.0)):
        with pytest.raises(GuardMiss) as raised:
            look(seen, value)
        assert raised.value.position == 3 and raised.value.value == Expected(seen)


def test_a_guard_is_kept_for_its_effect_and_a_stopped_gradient_is_not() -> None:
    assert guard.effects and not stop_gradient.effects
    tape = wg.trace(lambda x: wg.stop_gradient(x) * x)(2.0)
    assert [i.op.name for i in tape.instrs] == ["stop_gradient", "multiply"]
    assert wg.grad(lambda x: wg.stop_gradient(x) * x)(2.0) == 2.0


def test_the_cotangent_of_only_where_is_a_structural_zero_elsewhere() -> None:
    """It stays zero whatever factor it meets; the tangent, which is asked for everywhere, is that of the identity."""
    mask = np.array([[True], [False]])
    f = lambda x: only_where(np.sqrt(x), mask) * 3
    x = np.array([[4.0, 1.0], [0.0, 1.0]])
    _, pull = wg.vjp(f, x)
    np.testing.assert_array_equal(pull(np.ones((2, 2)))[0], [[0.75, 1.5], [0.0, 0.0]])
    np.testing.assert_array_equal(wg.jit(lambda x: wg.vjp(f, x)[1](np.ones((2, 2)))[0])(x), [[0.75, 1.5], [0.0, 0.0]])
    np.testing.assert_array_equal(wg.jvp(f, (x,), (np.array([[1.0, 0.0], [0.0, 1.0]]),))[1], [[0.75, 0], [np.nan, 1.5]])
    assert len(wg.jit(lambda x: only_where(x, mask))(x)) == 2


def test_a_guard_of_an_array_expects_it_as_one_value_and_one_of_each_expects_its_elements() -> None:
    def values(kind: str, seen: object) -> tuple[Expected, ...]:
        x = Var(Aval(np.shape(seen), np.asarray(seen).dtype))
        return values_of(Instr(guard, (x,), (), {"expected": Expected(seen), "position": 0, "kind": kind}, None))

    assert values("mask", [True, False]) == (Expected([True, False]),)
    assert values("int", 3) == (Expected(3),)
    assert values(EACH, [[1, 2], [3, 4]]) == tuple(map(Expected, (1, 2, 3, 4)))


def test_a_guard_of_each_names_the_first_element_that_differs() -> None:
    look = lambda x, value: guard.reference(np.array(x), expected=Expected(value), position=3, kind=EACH)
    assert look([[1, 2], [3, 4]], [[1, 2], [3, 4]]) == ()
    for seen, value, where, what in (([1, 2, 3], [1, 5, 5], 4, 2), ([[9, 2], [3, 4]], [[1, 2], [3, 4]], 3, 9)):
        with pytest.raises(GuardMiss) as raised:
            look(seen, value)
        assert raised.value.position == where and raised.value.value == Expected(what)


def test_a_stopped_gradient_is_the_identity_in_every_mode() -> None:
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(wg.jit(wg.stop_gradient)(x), x)
    np.testing.assert_array_equal(wg.vmap(wg.stop_gradient)(x), x)
    np.testing.assert_array_equal(wg.jvp(wg.stop_gradient, (x,), (x,))[1], 0 * x)
    np.testing.assert_array_equal(wg.vjp(wg.stop_gradient, x)[1](x)[0], 0 * x)
