"""What is not zero: native, and what NumPy and the references give."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.codegen.natively import DTYPES, NAN, check, numbers, of_op
from wengert.ops import index

pytestmark = pytest.mark.usefixtures("no_cache")


@pytest.mark.sampled(2, "a quarter of a second each")
@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero(dtype: str) -> None:
    for shape in [(1,), (7,), (8,), (300,), (5, 33), (33, 5), (3, 1, 9)]:
        x = numbers(shape, dtype)
        if dtype[0] == "f":
            x[x < 0] = 0
        for function in (lambda x: np.nonzero(x), lambda x: np.nonzero(x.T), lambda x: np.nonzero(x[::-1, ...])):
            for k in range(x.ndim):
                check(lambda x, f=function, k=k: f(x)[k], x)
    check(lambda x: np.flatnonzero(x), np.ones(41, dtype))
    check(lambda x: np.flatnonzero(x)[0] + 0, np.eye(1, 41, 40, dtype=dtype)[0])


def test_a_nan_is_not_zero_and_a_negative_zero_is() -> None:
    check(lambda x: np.flatnonzero(x), np.array([0.0, NAN, -0.0, 1.0, -NAN]))


def test_another_number_of_nonzero_elements_raises() -> None:
    program = of_op(lambda x: index.nonzero(x, size=3), np.zeros(20, bool))
    assert [k.kind for k in program.kernels] == ["loops"]
    mask = np.zeros(20, bool)
    for true in ([1, 2], [3, 4, 5, 19], range(20), []):
        mask[:] = False
        mask[list(true)] = True
        with pytest.raises(ValueError, match=f"nonzero: {len(true)} elements are true; the tape was made for 3"):
            program(mask)
    mask[[0, 9, 19]] = True
    np.testing.assert_array_equal(program(mask)[0], [0, 9, 19])


def test_masks() -> None:
    x = np.linspace(-1, 1, 50)
    check(lambda x: x[x > 0.3] * 2, x)
    check(wg.grad(lambda x: np.sum(np.sin(x[x > 0.3]))), x)
