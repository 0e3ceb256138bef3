"""Units on traced numbers: against SciPy, and differences."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import constants

import wengert as wg
from tests.differences import check


def test_temperatures_and_wavelengths() -> None:
    def each(x: Any) -> Any:
        found = [
            constants.convert_temperature(x, a, b) for a, b in itertools.product(("C", "k", "Rankine", "f"), repeat=2)
        ]
        return np.stack([*found, constants.lambda2nu(x) / 1e8, constants.nu2lambda(x) / 1e8])

    check(each, np.array([3.0, 20.0]))
    with pytest.raises(NotImplementedError, match="old_scale='X' is unsupported"):
        wg.grad(lambda x: constants.convert_temperature(x, "X", "k"))(1.0)
