"""ndarray's methods, where they differ from the functions of the same name."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.comparisons import as_numpy

X = np.arange(12.0).reshape(3, 4) - 4.5


def test_the_conj_of_a_real_array_is_the_array() -> None:
    """The method does not copy, the function does."""

    def f(x: Any) -> Any:
        x = x * 1.0
        a, b = x.conj(), np.conj(x)
        a[0] = 0.0
        b[1] = 0.0
        return x, a, b

    as_numpy(f, X)
