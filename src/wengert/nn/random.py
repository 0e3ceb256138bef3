"""Random numbers as a pure function of a key: in plain NumPy, so that they are traced, compiled and repeated.

A *key* is one uint64. The n-th number of a key is ``mix(key + n γ)``: splitmix64, which passes BigCrush (Steele, Lea &
Flood 2014, Fast splittable pseudorandom number generators). The same key gives the same numbers, compiled or not, on
every processor; :func:`split` makes new keys of one, which is not used again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg

Array = Any
DType = Any
Key = Any
"""What :func:`key` and :func:`split` make."""
Seed = int
Shape = Sequence[int]

GAMMA = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd


@wg.expect.checked
def key(seed: Seed) -> Any:
    """The key of a seed, an integer from 0 to 2⁶⁴ − 1: uint64[]."""
    return np.array(seed, np.uint64)


@wg.expect.checked
def split(key: Key, n: int = 2) -> tuple[Any, ...]:
    """``n`` keys made of one.

    >>> import numpy as np
    >>> from wengert import nn
    >>> first, second = nn.random.split(nn.random.key(0))
    >>> nn.random.uniform(first, (2,)) - nn.random.uniform(second, (2,)) == 0
    array([False, False])
    """
    keys = _bits(key ^ np.uint64(0x5851F42D4C957F2D), n)  # other numbers than those that are drawn with the key itself
    return tuple([keys[k] for k in range(n)])


@wg.expect.checked
def uniform(key: Key, shape: Shape = (), dtype: DType = np.float32) -> Any:
    """Numbers from [0, 1): float32 of 24 random bits, float64 of 53."""
    dtype = np.dtype(dtype)
    digits = 24 if dtype == np.float32 else 53
    numbers = (_bits(key, math.prod(shape)) >> np.uint64(64 - digits)).astype(dtype)
    return (numbers * dtype.type(2.0**-digits)).reshape(shape)


@wg.expect.checked
def normal(key: Key, shape: Shape = (), dtype: DType = np.float32) -> Any:
    """Numbers of mean 0 and variance 1 (Box & Muller 1958)."""
    radius, angle = uniform(key, (2, math.prod(shape)), dtype)
    return (np.sqrt(-2 * np.log1p(-radius)) * np.cos((2 * math.pi) * angle)).reshape(shape)


@wg.expect.checked
def bernoulli(key: Key, p: Array, shape: Shape = ()) -> Any:
    """True with probability ``p``."""
    wg.expect.fits("bernoulli", "p", p, "shape", tuple(shape))
    return uniform(key, shape) < p


def _bits(key: Any, n: int) -> Any:
    """uint64[n]."""
    z = np.reshape(key, (1,)) + np.arange(1, n + 1, dtype=np.uint64) * GAMMA
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
