"""The comparison with differences: it passes what is right, and says which derivative is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.autograd.extend import defjvp, defvjp, primitive
from wengert.autograd.test_util import check_equivalent, check_grads, combo_check
from wengert.autograd.util import quick_grad_check


def test_right_derivatives_pass() -> None:
    check_grads(lambda x, y: np.sin(x) * y, (0, 1), order=3)(0.3, np.array([1.0, 2.0]))
    check_grads(lambda z: np.exp(z), modes=["rev"])(0.3 + 0.2j)
    combo_check(lambda x, axis: np.cumsum(x, axis), [0])([np.ones(3), np.ones((2, 2))], axis=[0, -1])
    with pytest.warns(UserWarning, match="deprecated"):
        quick_grad_check(lambda x, y: x * y, 2.0, (3.0,))


def test_a_wrong_derivative_is_named() -> None:
    f = primitive(lambda x: x**2)
    f.__name__ = "f"
    defvjp(f, lambda ans, x: lambda g: 2.01 * g * x)
    with pytest.raises(AssertionError, match=r"\(VJP\) check of f failed"):
        check_grads(f, modes=["rev"], order=1)(1.0)
    defjvp(f, lambda g, ans, x: 2.01 * g * x)
    with pytest.raises(AssertionError, match="Value mismatch"):
        check_grads(f, modes=["fwd"], order=1)(1.0)
    with pytest.raises(AssertionError, match="VSpace mismatch"):
        check_equivalent(1.0, np.ones(2))
