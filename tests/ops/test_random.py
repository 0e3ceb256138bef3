"""Draws on the tape, and the implicit derivatives of what was drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import wengert as wg
from wengert.ops.random import Drawing, OperandRef, draw, implicit

QUANTILES: dict[str, tuple[tuple[float, ...], Any]] = {
    "standard_gamma": ((1.7,), sp.gammaincinv),
    "beta": ((1.7, 0.6), sp.betaincinv),
    "standard_t": ((3.5,), sp.stdtrit),
    "f": ((2.5, 4.5), lambda m, n, p: sp.fdtri(m, n, p)),
}
"""For each family parameters, and the inverse of its distribution function."""


@pytest.mark.parametrize("family", QUANTILES)
def test_what_was_drawn_moves_as_its_quantile_does(family: str) -> None:
    parameters, quantile = QUANTILES[family]
    p = np.array([0.05, 0.3, 0.7, 0.95])
    z = quantile(*parameters, p)
    for k in range(len(parameters)):
        moved = lambda h, k=k: quantile(*[t + h * (j == k) for j, t in enumerate(parameters)], p)
        slope = (moved(1e-4) - moved(-1e-4)) / 2e-4
        slope += (slope - (moved(2e-4) - moved(-2e-4)) / 4e-4) / 3
        tangents = tuple([np.float64(j == k) for j in range(len(parameters))])
        _, dz = wg.jvp(lambda *ts: implicit(z, *ts, family=family), parameters, tangents)
        np.testing.assert_allclose(dz, slope, rtol=2e-7)


def test_the_second_derivative_is_that_of_the_quantile() -> None:
    a, p = 1.7, 0.3
    z = sp.gammaincinv(a, p)
    slope = lambda a: wg.grad(lambda t: implicit(sp.gammaincinv(a, p), t, family="standard_gamma"))(a)
    (second,) = [wg.grad(wg.grad(lambda t: implicit(z, t, family="standard_gamma")))(a)]
    assert second == pytest.approx((slope(a + 1e-4) - slope(a - 1e-4)) / 2e-4, rel=1e-5)


def test_a_drawing_is_equal_by_value_and_says_what_it_is() -> None:
    a = Drawing("normal", (1.0,), {"size": 3})
    assert a == Drawing("normal", (1.0,), {"size": 3}) and hash(a) == hash(Drawing("normal", (1.0,), {"size": 3}))
    others = [("normal", (1,), {"size": 3}), ("normal", (1.0,), {"size": 4}), ("gumbel", (1.0,), {"size": 3})]
    assert all(a != Drawing(*other) for other in others) and a != "normal"
    assert repr(a) == "normal(1.0, size=3)"
    assert Drawing("poisson", (OperandRef(0),), {"size": 2}).by(np.random.default_rng(0), [np.full(2, 1e9)]).min() > 0


@pytest.mark.needs_extension("what draws from a generator is traced at every call")
def test_draws_are_neither_merged_nor_dropped_nor_computed_beforehand() -> None:
    rng = np.random.default_rng(0)

    def f(x: Any) -> Any:
        rng.normal()  # which nobody reads
        return x + rng.normal() - rng.normal()

    program = wg.jit(f).program(1.0)
    assert [i.op for i in program.tape.instrs].count(draw) == 3
    assert [k.name for k in program.kernels if k.kind == "callback"] == ["normal()"] * 3


@pytest.mark.needs_extension("a generator takes no traced parameters")
def test_in_a_batch_a_parameter_of_each_belongs_to_all_of_its_draws() -> None:
    rng = np.random.default_rng(0)
    means = np.array([0.0, 100.0])
    draws = wg.vmap(lambda mean: rng.normal(mean, 1e-3, size=(2, 3)))(means)
    np.testing.assert_allclose(draws, np.broadcast_to(means[:, None, None], (2, 2, 3)), atol=0.1)
    draws = wg.jit(wg.vmap(lambda mean: rng.poisson(mean, size=(2, 3))))(np.array([1.0, 1e6]))  # no standard one, moved
    assert np.all(draws[0] < 1000) and np.all(draws[1] > 1000)
    rows = np.array([[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]])
    draws = wg.vmap(lambda mean: rng.normal(mean, 1e-3, size=(2, 3)))(rows)
    np.testing.assert_allclose(draws, np.broadcast_to(rows[:, None], (2, 2, 3)), atol=0.1)
