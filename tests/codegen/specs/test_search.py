"""Search in sorted tables: native, and what NumPy and the references give."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.natively import DTYPES, NAN, check, numbers

pytestmark = pytest.mark.usefixtures("no_cache")


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_search_in_a_sorted_table(side: str, dtype: str) -> None:
    for length in (1, 2, 3, 7, 8, 9, 100):
        table = np.sort(numbers((length,), dtype, 3))  # of integers and booleans, with many equal elements
        values = np.concatenate([table, numbers((39,), dtype, 4)])
        check(lambda t, v: np.searchsorted(t, v, side), table, values)
        check(lambda t, v: np.searchsorted(t[::2], v[::3], side), table, values)
        check(lambda t, v: np.searchsorted(t, v[0], side), table, values)
    check(lambda t, v: np.searchsorted(t, v, side), table, numbers((6, 7), dtype))
    check(lambda t, v: np.searchsorted(t, v.T, side), table, numbers((6, 7), dtype))


@pytest.mark.parametrize("side", ["left", "right"])
def test_search_for_special_values(side: str) -> None:
    table = np.array([-np.inf, -0.0, 0.0, 1.0, np.inf, NAN, NAN])
    values = np.array([NAN, np.inf, -np.inf, 0.0, -0.0, 0.5, 2.0, -NAN, 1.0])
    for n in range(1, 8):
        check(lambda t, v: np.searchsorted(t, v, side), table[:n], values)
        check(lambda t, v: np.searchsorted(t, v[7], side), table[:n], values)
