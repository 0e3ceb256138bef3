"""Fixed points and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert.autograd as ag
from wengert.autograd.misc.fixed_points import fixed_point


def test_newtons_square_root_has_the_derivatives_of_the_root() -> None:
    newton = lambda a: lambda x: 0.5 * (x + a / x)
    root: Any = lambda a: fixed_point(newton, a, 1.0, lambda x, y: abs(x - y), 1e-12)
    assert np.isclose(root(4.0), 2.0) and np.isclose(ag.grad(root)(4.0), 0.25)
    assert np.isclose(ag.grad(ag.grad(root))(4.0), -1 / 32)
