"""ndarray's methods, where they differ from the functions of the same name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from wengert.errors import UnsupportedFunctionError

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


def test_lengths_and_axes_come_one_by_one_or_together() -> None:
    as_numpy(lambda x: (x.reshape(2, 6), x.reshape((2, 6)), x.reshape(-1)), X)
    as_numpy(lambda x: (x.transpose(1, 0), x.transpose((1, 0)), x.transpose()), X)


def test_sort_and_partition_are_in_place() -> None:
    def f(x: Any) -> Any:
        y, z = x * -1.0, x * -1.0
        assert y.sort(axis=0) is None and z.partition(1) is None
        return y, np.sort(z[:, :1], axis=0)

    as_numpy(f, X)


def test_options_of_methods_stand_where_the_function_has_them_not() -> None:
    as_numpy(lambda x: (x.clip(-1), x.clip(max=1), x.repeat(2, 0), x.compress([True, False, True], 0)), X)


def test_a_view_has_the_type_that_the_array_has() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y.view()[0] = 5.0
        return y

    as_numpy(f, X)
    with pytest.raises(UnsupportedFunctionError, match=r"dtype(.|\n)*x\.astype"):
        wg.jit(lambda x: x.view(np.int64), strict=True)(X)
    with pytest.raises(UnsupportedFunctionError, match="type="):
        wg.jit(lambda x: x.view(type=np.matrix), strict=True)(X)


@pytest.mark.parametrize("name", ["tobytes", "tofile", "dump", "dumps", "byteswap", "getfield", "setfield"])
def test_the_bytes_of_a_traced_value_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedFunctionError, match=rf"ndarray\.{name} needs the concrete bytes"):
        wg.jit(lambda x: getattr(x, name)(), strict=True)(X)
