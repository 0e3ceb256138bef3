"""The addresses of compiled loops, and that the runtime converts between dtypes as NumPy does."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.runtime.native_kernels import SIGNATURE
from wengert.codegen.ufuncs import FROM, TO
from wengert.runtime import _native


def test_loops_have_addresses() -> None:
    function, _ = _native.ufunc_loop(np.sin, np.sin.types.index("d->d")) or (0, 0)
    assert function != 0
    assert _native.ufunc_loop(np.sin, 1000) is None
    assert _native.ufunc_loop(np.sin, -1) is None
    assert _native.ufunc_loop("gammainc_by_a", 1) is not None
    assert _native.ufunc_loop("no such loop", 1) is None


@pytest.mark.parametrize("source", FROM)
@pytest.mark.parametrize("goal", TO)
def test_conversions_are_numpys(source: str, goal: str) -> None:
    """np.positive of the one dtype reads the other; pieces are shorter than the array."""
    if (source, goal) != ("F", "D") and np.dtype(source).kind == "c" and goal != source:
        return
    x = (np.arange(300) - 7).astype(source)
    y = np.zeros(300, goal)
    function, data = _native.ufunc_loop(np.positive, np.positive.types.index(f"{goal}->{goal}")) or (0, 0)
    conversion = 1 + len(TO) * FROM.index(source) + TO.index(goal) if source != goal else 0
    sizes = [function, data, 2, 1, 1, 300, 0, y.itemsize, conversion, x.itemsize, 1, y.itemsize, 0, y.itemsize]
    kernel = SIGNATURE(_native.kernel_address("elements"))
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    assert kernel(pointers, (ctypes.c_int64 * len(sizes))(*sizes), 0, 300) == 0
    np.testing.assert_array_equal(y, x.astype(goal))
