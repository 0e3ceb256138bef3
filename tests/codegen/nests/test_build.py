"""Long reductions, cut into pieces that threads share."""

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.threads import same_bits
from wengert.passes.plan import MIN_PIECES, PIECE

LONG = MIN_PIECES * PIECE


def long(n: int = LONG + 4321, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(0).random(n).astype(dtype)


@pytest.mark.parametrize("n", [LONG - 1, LONG, LONG + 1, LONG + PIECE - 1, 1_000_003])
def test_sums_are_exact_to_a_few_bits(n: int) -> None:
    x = long(n)
    assert abs(same_bits(np.sum, x) - math.fsum(x)) <= 4 * np.spacing(math.fsum(x))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8])
def test_dtypes(dtype: Any) -> None:
    x = (100 * long(dtype=np.float64)).astype(dtype)
    assert np.allclose(
        same_bits(lambda x: (np.sum(x), np.max(x), np.any(x > 99)), x), (x.sum(), x.max(), np.any(x > 99))
    )


def test_all_that_is_fused_with_it() -> None:
    """Several folds, a map that is stored, scalars before and after, and an operand that both parts read."""
    x = long()

    def f(x: Any, c: Any) -> Any:
        y = np.exp(x) * c
        return y, np.sum(y) * c + x[0], np.sqrt(np.max(y) + np.sum(x * x))

    for got, want in zip(same_bits(f, x, 1.5), f(x, 1.5), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)
    assert len(wg.jit(lambda x: np.sqrt(np.sum(np.exp(x)))).program(x).kernels) == 1


@pytest.mark.parametrize(
    ("shape", "view"),
    [
        ((600, 1100), lambda x: x[:, ::2]),
        ((600, 1100), lambda x: x.T),
        ((600, 1100), lambda x: x[::-1, 3:]),
        ((3, 300_000), lambda x: x[:, 1:]),
    ],
)
def test_arrays_that_are_not_one_run_of_memory(shape: tuple[int, int], view: Any) -> None:
    x = np.random.default_rng(1).random(shape)
    np.testing.assert_allclose(same_bits(lambda x: np.sum(np.sin(view(x))), x), np.sum(np.sin(view(x))), rtol=1e-13)


def test_gradient() -> None:
    x = long()
    value, gradient = same_bits(wg.value_and_grad(lambda x: np.log(np.sum(np.exp(x)))), x)
    np.testing.assert_allclose(value, np.log(np.sum(np.exp(x))), rtol=1e-14)
    np.testing.assert_allclose(gradient, np.exp(x) / np.sum(np.exp(x)), rtol=1e-13)


def test_only_what_is_long_needs_room() -> None:
    assert wg.jit(np.sum).program(long(LONG - 1)).arena_bytes == 0
    assert 0 < wg.jit(np.sum).program(long(LONG)).arena_bytes <= 64
    assert wg.jit(lambda x: np.sum(x, axis=1)).program(long(LONG).reshape(4, -1)).arena_bytes == 0
