"""Backward differences: the order of each, and what a change of the spacing makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.ode.bdf import Bdf, _respaced
from wengert.ode.step import Step


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_order_of_convergence(order: int) -> None:
    """From exact differences on, at a spacing of their own and at another."""
    m = Bdf()
    rate = lambda t, y: np.stack([y[1] * np.cos(t), -y[0] * np.cos(t)])
    exact = lambda t: np.array([np.sin(np.sin(t)), np.cos(np.sin(t))])

    def error(n: int, ratio: float) -> Any:
        h = 1.0 / n
        values = np.array([exact(-k * h * ratio) for k in range(8)])
        table = np.array([values[0], *[np.diff(values[::-1], j, axis=0)[-1] for j in range(1, 8)]])

        def end(table: Any) -> Any:
            def step(state: Any, t: Any) -> Any:
                before = np.where(t == 0, h * ratio, h)
                return m.follow(rate, Step(t, t + h, before, np.int64(order), np.int64(order)), state), None

            return wg.scan(step, table, np.arange(n) * h)[0][:2]

        return np.abs(wg.jit(end)(table.ravel()) - exact(1.0)).max()

    for ratio in (1.0, 0.7):
        few, many = (error(n, ratio) for n in (40, 80))
        assert np.log2(few / many) == pytest.approx(order, abs=0.4)


def test_differences_at_another_spacing() -> None:
    """Those of a polynomial, at spacings of 0.4 and of 1.5 of it."""
    values = lambda h: np.array([(1 - k * h) ** 4 - 2 * (1 - k * h) for k in range(8)])
    differences = lambda v: np.array([v[0], *[np.diff(v[::-1], j)[-1] for j in range(1, 8)]])
    for ratio in (0.4, 1.5):
        table = differences(values(0.1))[:, None]
        seen = wg.jit(lambda table, ratio=ratio: _respaced(table, np.int64(4), ratio))(table)
        np.testing.assert_allclose(seen[:5, 0], differences(values(0.1 * ratio))[:5], rtol=1e-10, atol=1e-13)
