import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.runtime import _native

N = 1 << 17  # 1 MiB of float64: the smallest result whose memory is kept


def twice() -> Any:
    step = wg.jit(lambda x: 2.0 * x)
    step(np.ones(N)), step(np.ones(3 * N)), step(np.ones(3))
    return step


def where(x: Any) -> int:
    return x.__array_interface__["data"][0]


def test_a_later_result_of_the_same_size_takes_the_memory_of_a_dropped_one():
    step, x = twice(), np.arange(float(N))
    first = step(x)
    place = where(first)
    del first
    again = step(x + 1)
    assert where(again) == place
    assert np.array_equal(again, 2 * x + 2)


def test_memory_is_not_taken_from_an_array_that_lives():
    step, x = twice(), np.arange(float(N))
    first = step(x)
    view, first = first[::2], None
    second = step(x + 1)
    assert np.array_equal(view, 2 * x[::2]) and np.array_equal(second, 2 * x + 2)
    assert not np.shares_memory(view, second)


def test_another_size_gives_back_what_is_kept():
    step = twice()
    first = step(np.ones(N))
    del first
    gc.collect()
    assert _native.kept_bytes() >= 8 * N
    larger = step(np.ones(5 * N))
    assert _native.kept_bytes() == 0
    del larger
    assert _native.kept_bytes() >= 40 * N


def test_what_is_small_or_too_large_is_not_kept():
    step = wg.jit(lambda x: np.broadcast_to(2.0 * x, (33, 1 << 20)) + 0.0)  # 264 MiB
    step(np.ones(1))
    assert _native.kept_bytes() == 0
    twice()(np.ones(3))
    kept = _native.kept_bytes()
    twice()(np.ones(3))
    assert _native.kept_bytes() == kept


def test_the_array_is_one_of_numpys_own():
    step, x = twice(), np.arange(float(N))
    y = step(x)
    assert y.flags.owndata and y.flags.c_contiguous and y.flags.aligned and y.flags.writeable and y.base is None
    assert np.array_equal(pickle.loads(pickle.dumps(y)), y) and np.array_equal(copy.deepcopy(y), y)
    y.resize(2 * N, refcheck=False)
    assert np.array_equal(y[:N], 2 * x) and not y[N:].any()
    y.resize(4, refcheck=False)
    assert np.array_equal(y, [0, 2, 4, 6])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128, bool])
def test_all_dtypes(dtype: Any):
    x = np.arange(1 << 20).astype(dtype)
    step = wg.jit(lambda x: x | x if x.dtype == bool else x + x)
    for _ in range(3):
        assert np.array_equal(step(x), x | x if dtype is bool else x + x)


def test_several_results_of_one_call():
    step = wg.jit(lambda x: (x + 1.0, x + 2.0, x * 3.0))
    x = np.arange(float(N))
    for _ in range(3):
        a, b, c = step(x)
        assert np.array_equal(a, x + 1) and np.array_equal(b, x + 2) and np.array_equal(c, 3 * x)
