"""States that are known: derivatives are those of the recurrence, values those that were given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import passes
from wengert.errors import DTypeError, ShapeError

XS = np.linspace(0.1, 1.0, 6)
COUNT = 4
B = np.array([0.3, -0.2])


def step(y: Any, x: Any, a: Any) -> Any:
    return np.sin(y) * a + x * np.array([1.0, 2.0])


def unrolled(a: Any, y: Any, xs: Any) -> Any:
    states = [y]
    for k in range(COUNT):
        states.append(step(states[-1], xs[k], a))
    return np.stack(states)


def known(a: Any, y: Any, xs: Any) -> Any:
    states = wg.stop_gradient(unrolled(a, y, xs))
    room = np.concatenate([states, np.full((3, 2), np.nan)])  # behind the last nobody looks
    return wg.known_states(lambda y, x: step(y, x, a), y, [xs], room, COUNT)[: COUNT + 1]


def weighted(f: Any) -> Any:
    weights = np.arange(10.0).reshape(5, 2) % 3 + 0.5
    return lambda a, y, xs: np.sum(f(a, y, xs) ** 2 * weights)


ARGS = (0.7, B, XS)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("argnums", [0, 1, 2, (0, 1, 2)])
def test_gradients_are_those_of_the_recurrence(argnums: Any, compiled: bool) -> None:
    expected = wg.grad(weighted(unrolled), argnums)(*ARGS)
    gradient = wg.grad(weighted(known), argnums)
    found = (wg.jit(gradient) if compiled else gradient)(*ARGS)
    for seen, wanted in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, expected)], strict=True):
        np.testing.assert_allclose(seen, wanted, rtol=1e-12)


def test_forward_mode() -> None:
    tangents = (0.3, np.array([1.0, -1.0]), np.cos(XS))
    seen, expected = (wg.jvp(weighted(f), ARGS, tangents)[1] for f in (known, unrolled))
    assert seen == pytest.approx(expected, rel=1e-12)


def test_second_derivatives() -> None:
    tangents = (0.3, np.array([1.0, -1.0]), np.cos(XS))

    def along(f: Any) -> Any:
        return wg.jvp(wg.grad(weighted(f), (0, 1, 2)), ARGS, tangents)[1]

    for seen, expected in zip(along(known), along(unrolled), strict=True):
        np.testing.assert_allclose(seen, expected, rtol=1e-11)
    twice = wg.grad(lambda y: np.sum(wg.grad(weighted(known), 1)(0.7, y, XS) ** 2))
    plain = wg.grad(lambda y: np.sum(wg.grad(weighted(unrolled), 1)(0.7, y, XS) ** 2))
    np.testing.assert_allclose(twice(B), plain(B), rtol=1e-11)


def test_no_steps() -> None:
    def f(y: Any) -> Any:
        return np.sum(wg.known_states(lambda y: y * 2, y, [], np.stack([wg.stop_gradient(y), B]), 0)[0])

    np.testing.assert_allclose(wg.grad(f)(B), [1.0, 1.0])


@pytest.mark.machine_code("kernels are counted")
def test_values_cost_nothing() -> None:
    tape = wg.trace(lambda y, states: wg.known_states(np.sin, y, [], states, 2))(B, np.ones((3, 2)))
    program = wg.compile(passes.run(tape))
    assert [k.name for k in program.kernels] == ["copy"]


def test_a_number_of_steps_that_is_traced() -> None:
    states = np.array([[1.0], [2.0], [4.0], [8.0]])

    def f(y: Any, count: Any) -> Any:
        return wg.known_states(lambda y: y * 2, y, [], states, count)[count][0]

    gradient = wg.jit(wg.grad(f))
    assert [gradient(np.ones(1), n)[0] for n in (0, 1, 3)] == [1.0, 2.0, 8.0]
    assert gradient.stats()["traces"] == 1


def test_a_step_that_changes_the_type() -> None:
    with pytest.raises(
        ShapeError, match=r"known_states: the carry.* went in as float64\[2\] and came back as float64\[\]"
    ):
        wg.trace(lambda y: wg.known_states(np.sum, y, [], np.ones((3, 2)), 2))(B)
    with pytest.raises(DTypeError, match=r"float64\[2\] and came back as complex128\[2\]"):
        wg.trace(lambda y: wg.known_states(lambda y: y * 1j, y, [], np.ones((3, 2)), 2))(B)


@pytest.mark.parametrize("compiled", [False, True])
def test_batches_of_chains_of_different_lengths(compiled: bool) -> None:
    def found(a: Any, y: Any, xs: Any, count: Any) -> Any:
        def go(state: Any) -> Any:
            out, k = state
            out = out.copy()
            out[k + 1] = step(out[k], xs[k], a)
            return out, k + 1

        room = np.zeros((len(XS) + 1, 2))
        room[0] = y
        states, k = wg.stop_gradient(wg.while_loop(lambda s: s[1] < count, go, (room, np.int64(0))))
        return np.sum(np.cos(wg.known_states(lambda y, x: step(y, x, a), y, [xs], states, k)))

    rates, starts, counts = np.array([0.3, 0.7, 0.9]), np.arange(6.0).reshape(3, 2), np.array([2, 5, 0])
    many = lambda a, y, xs: wg.vmap(found, (0, 0, None, 0))(a, y, xs, counts)
    each = list(zip(rates, starts, counts, strict=True))
    np.testing.assert_allclose(many(rates, starts, XS), [found(a, y, XS, k) for a, y, k in each], rtol=1e-13)
    gradient = wg.grad(lambda *args: np.sum(many(*args)), (0, 1, 2))
    by_a, by_y, by_xs = (wg.jit(gradient) if compiled else gradient)(rates, starts, XS)
    expected = [wg.grad(found, (0, 1, 2))(a, y, XS, k) for a, y, k in each]
    np.testing.assert_allclose(by_a, [e[0] for e in expected], rtol=1e-12)
    np.testing.assert_allclose(by_y, [e[1] for e in expected], rtol=1e-12)
    np.testing.assert_allclose(by_xs, sum(e[2] for e in expected), rtol=1e-12)
    tangent = wg.jvp(lambda a: many(a, starts, XS), (rates,), (np.ones(3),))[1]
    np.testing.assert_allclose(tangent, by_a, rtol=1e-12)


def test_untraced_the_states_are_an_array_of_its_own_too() -> None:
    states = np.ones((3, 2))
    known = wg.known_states(lambda y, x: y * x, states[0], [np.ones(2)], states, 2)
    known[1] = 0.0
    np.testing.assert_array_equal(states, np.ones((3, 2)))
