"""Steps in a batch, found and followed in one loop: beside a loop over examples, whose steps are lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ode.problems import P, prey
from wengert.ode import solve_ivp, together

PS = P * np.linspace(0.8, 1.2, 3)[:, None]
SPAN = np.array([0.5, 2.0])


def wanted(p: Any, span: Any, ts: Any, method: str = "Tsit5") -> Any:
    given = {"t_eval": ts, "args": tuple(p[:4]), "rtol": 1e-8, "atol": 1e-8}
    return solve_ivp(prey, (span[0], span[1]), p[4:], method, **given).y


@pytest.mark.parametrize("method", ["Tsit5", "RK23", "DOP853"])
def test_values(method: str) -> None:
    """Also at the start, and where time goes backwards."""
    for span in (SPAN, SPAN[::-1]):
        ts = span[0] + (span[1] - span[0]) * np.array([0.0, 0.1, 0.7, 1.0])
        one = lambda p, span=span, ts=ts: wanted(p, span, ts, method)
        np.testing.assert_allclose(wg.vmap(one)(PS), [one(p) for p in PS], rtol=1e-12)


def test_derivatives() -> None:
    """In the state, the arguments, both ends and the times; the first value is at the start, the last at the end."""
    ts = np.array([0.5, 1.2, 2.0])
    one = lambda p, span, ts: np.sum(wanted(p, span, ts) ** 2 * np.arange(1.0, 4.0))
    batch = lambda ps, span, ts: np.sum(wg.vmap(one, (0, None, None))(ps, span, ts))
    gradients = [wg.grad(one, (0, 1, 2))(p, SPAN, ts) for p in PS]
    by_p, by_span, by_t = wg.jit(wg.grad(batch, (0, 1, 2)))(PS, SPAN, ts)
    np.testing.assert_allclose(by_p, [g[0] for g in gradients], rtol=1e-9)
    np.testing.assert_allclose(by_span, sum(g[1] for g in gradients), rtol=1e-9, atol=1e-12)  # they cancel at the end
    np.testing.assert_allclose(by_t, sum(g[2] for g in gradients), rtol=1e-9)
    directions = PS, SPAN[::-1].copy(), ts
    tangent = wg.jvp(batch, (PS, SPAN, ts), directions)[1]
    along = np.sum(by_p * PS) + by_span @ directions[1] + by_t @ ts
    np.testing.assert_allclose(tangent, along, rtol=1e-9)


@pytest.mark.deep("second derivatives of two programs")
def test_second_derivatives() -> None:
    last = lambda p: wanted(p, SPAN, SPAN[1:])[0, 0]
    once = wg.hessian(last)(PS[1])
    np.testing.assert_allclose(wg.jit(wg.vmap(wg.hessian(last)))(PS)[1], once, rtol=1e-7, atol=1e-8)
    by_reverse = wg.vmap(wg.jacobian(wg.grad(last), mode="reverse"))(PS)[1]
    np.testing.assert_allclose(by_reverse, once, rtol=1e-7, atol=1e-8)


def test_no_step_is_taken() -> None:
    ends = wg.vmap(lambda t: solve_ivp(lambda t, y: -y, (0.0, t), [2.0], t_eval=t[None], rtol=1e-9).y[0, 0])
    times = np.array([0.0, 1.0, -1.0])
    np.testing.assert_allclose(ends(times), 2 * np.exp(-times), rtol=1e-6)


def test_a_complex_state() -> None:
    end = lambda w: solve_ivp(lambda t, y: 1j * w * y, (0.0, 1.0), [1.0 + 0j], t_eval=[1.0], rtol=1e-10, atol=1e-10)
    rates = np.array([1.0, 5.0])
    np.testing.assert_allclose(wg.vmap(lambda w: end(w).y[0, 0])(rates), np.exp(1j * rates), rtol=1e-8)


def test_any_number_of_steps() -> None:
    """There is no list of them that could be full."""
    rates = np.array([1.0, 400.0])
    end = lambda w: solve_ivp(lambda t, y: np.stack([y[1], -w * w * y[0]]), (0, 10), [1.0, 0.0], "RK23", t_eval=[10.0])
    seen = wg.vmap(lambda w: dict(y=end(w).y[0, 0], nfev=end(w).nfev))(rates)
    assert seen["nfev"][1] > 3 * 1024
    assert [end(w).nfev for w in rates] == list(seen["nfev"])
    np.testing.assert_allclose(seen["y"], [end(w).y[0, 0] for w in rates], rtol=1e-6)


def in_lanes(f: Any, ps: Any) -> None:
    call = wg.jit(wg.vmap(f))
    kernels = call.program(ps).kernels
    assert "in_lanes" in [k.name for k in kernels]
    assert not [k for k in kernels if k.kind == "callback"]
    np.testing.assert_allclose(call(ps)[::100], [f(p) for p in ps[::100]], rtol=1e-9, atol=1e-11)


def end(p: Any) -> Any:
    return wanted(p, SPAN, SPAN[1:])[:, 0]


MANY = P * np.linspace(0.9, 1.1, 300)[:, None]


def test_a_batch_is_one_kernel() -> None:
    in_lanes(end, MANY)


@pytest.mark.deep("two programs of some thousand steps")
def test_a_batch_of_derivatives_is_one_kernel() -> None:
    """The step of all lanes of a block is code within it, with the tangents of all parameters."""
    in_lanes(wg.jacobian(end), MANY)
    in_lanes(wg.grad(lambda p: end(p)[0]), MANY)


def test_many_values_are_no_carries() -> None:
    """They would be selected among in each step of all lanes."""
    ts = np.linspace(0.5, 2.0, 80)
    assert not together.are_few(*_given(80))
    assert together.are_few(*_given(8))
    one = lambda p: wanted(p, SPAN, ts)
    np.testing.assert_allclose(wg.vmap(one)(PS[:2]), [one(p) for p in PS[:2]], rtol=1e-12)


def _given(count: int) -> Any:
    from wengert.ode.methods import METHODS
    from wengert.ode.options import Given, Options

    options = Options(METHODS["Tsit5"], 8, 1, None, (), (), True, False)
    return options, Given(0.0, 1.0, np.ones(2), (), 1e-3, np.ones(2), 0.0, np.inf, np.linspace(0, 1, count))
