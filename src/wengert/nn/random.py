"""Random numbers as a pure function of a key: in plain NumPy, so that they are traced, compiled and repeated.

A *key* is one uint64. The n-th number of a key is ``mix(key + n γ)``: splitmix64, which passes BigCrush (Steele, Lea &
Flood 2014, Fast splittable pseudorandom number generators). The same key gives the same numbers, compiled or not, on
every processor; :func:`split` makes new keys of one, which is not used again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

import wengert as wg
from wengert.nn.params import Array

DType = DTypeLike
Key = Any
"""A key as :func:`key` and :func:`split` make them."""
Seed = int
Shape = Sequence[int]

__all__ = ["bernoulli", "key", "normal", "split", "uniform"]
if not TYPE_CHECKING:
    __getattr__ = wg.expect.missing(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)


GAMMA = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd


@wg.expect.checked
def key(seed: Seed) -> Any:
    """Return the key of a seed, an integer from 0 to 2⁶⁴ − 1: uint64[].

    Raises ArgumentError for any other seed.

    >>> from wengert import nn
    >>> nn.random.key(7)
    array(7, dtype=uint64)
    """
    return np.array(seed, np.uint64)


@wg.expect.checked
def split(key: Key, n: int = 2) -> tuple[Any, ...]:
    """Return ``n`` keys made of one, which is not used again.

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
    """Return numbers from [0, 1): float32 of 24 random bits, float64 of 53.

    Parameters
    ----------
    key : of :func:`key` or :func:`split`.
    shape : of the result.
    dtype : float32 or float64.

    Raises
    ------
    DTypeError : another dtype.

    Examples
    --------
    >>> from wengert import nn
    >>> nn.random.uniform(nn.random.key(0), (2,), "float64").round(6)
    array([0.883311, 0.431528])
    """
    dtype = np.dtype(dtype)
    digits = {"float32": 24, "float64": 53}.get(dtype.name)
    if digits is None:
        raise wg.errors.DTypeError(wg.errors.message(f"random: dtype is {dtype}; expected float32 or float64"))
    numbers = (_bits(key, math.prod(shape)) >> np.uint64(64 - digits)).astype(dtype)
    return (numbers * dtype.type(2.0**-digits)).reshape(shape)


@wg.expect.checked
def normal(key: Key, shape: Shape = (), dtype: DType = np.float32) -> Any:
    """Return numbers of the normal distribution, of mean 0 and variance 1 (Box & Muller 1958).

    Parameters
    ----------
    key : of :func:`key` or :func:`split`.
    shape : of the result.
    dtype : float32 or float64.

    Raises
    ------
    DTypeError : another dtype.

    Examples
    --------
    >>> from wengert import nn
    >>> nn.random.normal(nn.random.key(0), (2,), "float64").round(4)
    array([2.0443, 1.0451])
    """
    radius, angle = uniform(key, (2, math.prod(shape)), dtype)
    return (np.sqrt(-2 * np.log1p(-radius)) * np.cos((2 * math.pi) * angle)).reshape(shape)


@wg.expect.checked
def bernoulli(key: Key, p: Array, shape: Shape = ()) -> Any:
    """Return bool[*shape], True with probability ``p``.

    Parameters
    ----------
    key : of :func:`key` or :func:`split`.
    p : a number, or an array that broadcasts to ``shape``.
    shape : of the result.

    Raises
    ------
    ShapeError : ``p`` does not broadcast to ``shape``.

    Examples
    --------
    >>> from wengert import nn
    >>> nn.random.bernoulli(nn.random.key(0), 0.3, (4,))
    array([False, False,  True, False])
    """
    wg.expect.fits("bernoulli", "p", p, "shape", tuple(shape))
    return uniform(key, shape) < p


def _bits(key: Any, n: int) -> Any:
    """Return the first ``n`` numbers of a key, uint64[n]."""
    z = np.reshape(key, (1,)) + np.arange(1, n + 1, dtype=np.uint64) * GAMMA
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
