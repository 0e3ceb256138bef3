"""The text of a traced value is that of NumPy's, and is looked at where it may decide something."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ConcretizationError

X = np.array([1.5, -2.0, 0.25])


def test_text_is_that_of_the_value_of_this_call() -> None:
    seen = []

    def texts(x: Any) -> list[str]:
        return [repr(x), f"{x}", str(x[0]), f"{x[0]:.3f}", repr(x[0]), "%s" % x, "%.2f" % x[0], repr(np.zeros(2))]  # noqa: UP031

    wg.jvp(lambda x: (seen.extend(texts(x)), x)[1], (X,), (X,))
    assert seen == texts(X)


def test_a_text_that_decides_is_guarded_and_minus_zero_is_told_from_zero() -> None:
    names = {"0.0": 1.0, "-0.0": 2.0}
    f = wg.jit(lambda x: x + names.get(f"{x}", 3.0), strict=True)
    assert [f(v) for v in (0.0, -0.0, 5.0, 0.0, -0.0)] == [1.0, 2.0, 8.0, 1.0, 2.0]


def test_a_number_that_is_read_from_a_text_is_refused() -> None:
    with pytest.raises(ConcretizationError, match=r"float\(\) of the text of a traced float64"):
        wg.jit(lambda x: x * float(f"{x:.3f}"), strict=True)(math.pi)
