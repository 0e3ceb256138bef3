"""Copies: of a few elements by the runtime, of more by a kernel; the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.codegen.natively import check, native, numbers
from wengert.codegen import compiler
from wengert.codegen.lower import FEW

pytestmark = pytest.mark.usefixtures("no_cache")

COPIES: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda x: x.copy(),
    "transposed": lambda x: x.T,
    "backwards": lambda x: x[..., ::-1],
    "every other": lambda x: x[::2],
    "a part": lambda x: x[-1:, 1:],
    "broadcast": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "of more axes": lambda x: np.broadcast_to(x[:, None, :2], (x.shape[0], 2, 2)),
    "one number": lambda x: x[0, 1],
    "of one number": lambda x: np.broadcast_to(x[0, 1], (2, 3)),
    "a row of nothing": lambda x: x[:0],
    "one below the other": lambda x: np.concatenate([x, x]),
    "side by side": lambda x: np.concatenate([x[:1], x[1:2]], axis=1),
}


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "u1", "b1"])
@pytest.mark.parametrize("what", COPIES)
def test_copies(what: str, dtype: str) -> None:
    for shape in ((3, 4), (2, 5), (20, 30)):
        check(COPIES[what], numbers(shape, dtype))
        check(COPIES[what], np.asfortranarray(numbers(shape, dtype)))


def test_few_elements_need_no_kernel() -> None:
    for n, compiled in ((1, 0), (FEW, 0), (FEW + 1, 1)):
        before = compiler.Counters.compiled
        program = native(lambda x: x[::-1], np.arange(float(n)))
        assert compiler.Counters.compiled - before == compiled, n
        assert [(k.name, k.kind) for k in program.kernels] == [("copy", "loops")]
