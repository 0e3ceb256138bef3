"""Booleans packed into bytes, and back, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.tracing.numpy_cases import booleans, case, integers, verify

BYTES = integers(3, 2, low=0, high=256).astype(np.uint8)
BITS, NUMBERS, NOTHING = booleans(11), integers(2, 10, low=0, high=3), np.zeros((0, 2), np.uint8)

CASES = [
    case("packbits", np.packbits, BITS, order=0),
    case("packbits of numbers", np.packbits, NUMBERS, order=0),
    case("packbits of rows", lambda x: (np.packbits(x, axis=1), np.packbits(x, -2)), NUMBERS, order=0),
    case("packbits, the first last", lambda x: np.packbits(x, bitorder="little"), BITS, order=0),
    case("packbits of a scalar", lambda x: np.packbits(x[0]), BITS, order=0),
    case("packbits of nothing", lambda x: (np.packbits(x), np.packbits(x, 1), np.packbits(x, 0)), NOTHING, order=0),
    case("unpackbits", np.unpackbits, BYTES, order=0),
    case("unpackbits of rows", lambda x: (np.unpackbits(x, axis=1), np.unpackbits(x, 0)), BYTES, order=0),
    case("unpackbits, the first last", lambda x: np.unpackbits(x, axis=1, bitorder="little"), BYTES, order=0),
    case("unpackbits, some", lambda x: (np.unpackbits(x, 1, 3), np.unpackbits(x, 1, -3)), BYTES, order=0),
    case("unpackbits, more", lambda x: (np.unpackbits(x, 1, 20), np.unpackbits(x, count=0)), BYTES, order=0),
    case("unpackbits of a scalar", lambda x: (np.unpackbits(x[0, 0]), np.unpackbits(x[0, 0], 0)), BYTES, order=0),
    case("unpackbits of nothing", lambda x: (np.unpackbits(x), np.unpackbits(x, 1)), NOTHING, order=0),
]


@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


def test_there_and_back():
    f = lambda x: np.unpackbits(np.packbits(x), count=x.size)
    np.testing.assert_array_equal(wg.jit(f, strict=True)(BITS), BITS)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (np.packbits, np.ones(3)),
        (lambda x: np.packbits(x, axis=1), np.ones(3, int)),
        (lambda x: np.packbits(x, bitorder="x"), np.ones(3, int)),
        (lambda x: np.packbits(x, bitorder=1), np.ones(3, int)),
        (np.unpackbits, np.ones(3, int)),
        (lambda x: np.unpackbits(x, axis=2), BYTES),
        (lambda x: np.unpackbits(x, count=-100), BYTES),
    ],
)
def test_what_numpy_refuses_is_refused(f, x):
    with pytest.raises((TypeError, ValueError)) as own:
        f(x)
    with pytest.raises(own.type):
        wg.jit(f, strict=True)(x)
