"""Random numbers of a key: the same everywhere, uniform, and those of split keys unrelated."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn


def splitmix64(state: int, n: int) -> list[int]:
    """The published generator, in Python's integers."""
    found, mask = [], 2**64 - 1
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        found.append(z ^ (z >> 31))
    return found


@pytest.mark.parametrize("seed", [0, 1234567, 2**64 - 1])
def test_the_numbers_are_splitmix64s(seed: int) -> None:
    expected = [z >> 11 for z in splitmix64(seed, 6)]
    numbers = nn.random.uniform(nn.random.key(seed), (2, 3), np.float64)
    np.testing.assert_array_equal((numbers * 2.0**53).ravel(), np.array(expected, float))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_and_not_they_are_the_same_bits(dtype: type) -> None:
    draw = lambda key: (nn.random.uniform(key, (1000,), dtype), *nn.random.split(key, 3))
    for a, b in zip(draw(nn.random.key(7)), wg.jit(draw)(nn.random.key(7)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def test_they_are_spread_as_they_should() -> None:
    first, second = nn.random.split(nn.random.key(5))
    u, v = nn.random.uniform(first, (200_000,)), nn.random.uniform(second, (200_000,))
    counts = np.histogram(u, 100, (0, 1))[0]
    assert np.sum((counts - 2000) ** 2 / 2000) < 150  # chi squared, 99 degrees
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.01 and abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.01
    z = nn.random.normal(first, (200_000,), np.float64)
    assert abs(z.mean()) < 0.01 and abs(z.std() - 1) < 0.01 and abs((z**4).mean() - 3) < 0.1
    assert abs(np.mean(nn.random.bernoulli(first, 0.3, (100_000,))) - 0.3) < 0.01


def test_shapes() -> None:
    key = nn.random.key(1)
    assert nn.random.uniform(key).shape == () and nn.random.normal(key, (0, 2)).shape == (0, 2)
    assert nn.random.normal(key, (3,)).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.complex128])
def test_a_dtype_that_has_no_such_numbers_is_refused(dtype: type) -> None:
    """As numbers of 53 bits it would be NaN, or zeros."""
    for draw in (nn.random.uniform, nn.random.normal):
        with pytest.raises(wg.errors.DTypeError, match="expected float32 or float64"):
            draw(nn.random.key(0), (2,), dtype)
