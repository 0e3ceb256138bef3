"""Reductions, running sums and products against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import booleans, case, floats, integers, same_as_numpy, verify

X = floats(3, 4)
X3 = floats(2, 3, 4)
V = floats(7)
SINGLE = np.array([1e8, 1, 1, 1, 1, 1, 1, 1], np.float32)
B = np.array([True, False, True])
NAN = np.where(floats(4, 5, seed=3) > 1.2, np.nan, floats(4, 5, seed=4))
W = floats(3, 4, seed=9, low=0.2)
MASK = booleans(3, 4)
MASK[:, 0] = True

CASES = [
    case("sum", lambda x: np.sum(x), X),
    case("sum_axis", lambda x: np.sum(x, 0), X),
    case("sum_negative_axes_keepdims", lambda x: np.sum(x, axis=(-1, 0), keepdims=True), X3),
    case("sum_dtype", lambda x: np.sum(x, dtype=np.float32), X, order=0),
    case("sum_initial_where", lambda x: np.sum(x, axis=1, initial=2.5, where=MASK), X),
    case("sum_no_axes", lambda x: np.sum(x, axis=()), X),
    case("sum_scalar", lambda x: np.sum(x[0], axis=0), V),
    case("sum_method", lambda x: x.sum(axis=1, keepdims=True), X),
    case("prod", lambda x: np.prod(x), V),
    case("prod_axis", lambda x: np.prod(x, axis=(0, 2)), X3),
    case("prod_with_zeros", lambda x: np.prod(x), np.array([2.0, 0.0, 3.0, 0.0])),
    case("prod_where", lambda x: np.prod(x, axis=0, where=MASK, initial=2), X),
    case("max", lambda x: np.max(x), X),
    case("max_axis", lambda x: x.max(axis=-1), X),
    case("amin", lambda x: np.amin(x, axis=(0, 2), keepdims=True), X3),
    case("max_initial", lambda x: np.max(x, axis=0, initial=0.3), X),
    case("min_where", lambda x: np.min(x, axis=0, initial=0.5, where=MASK), X),
    case("max_of_nothing", lambda x: np.max(x[:, :0], axis=1, initial=1.5), X),
    case("ptp", lambda x: np.ptp(x, axis=1, keepdims=True), X),
    case("argmax", lambda x: (np.argmax(x), np.argmin(x, axis=0), x.argmax(1, keepdims=True)), X, order=0),
    case("argmax_flat_keepdims", lambda x: np.argmax(x, keepdims=True), X, order=0),
    case("any_all", lambda x: (np.any(x > 1), np.all(x > -3, axis=0), (x > 0).any(1, keepdims=True)), X, order=0),
    case("any_where", lambda x: (np.any(x, where=MASK), np.all(x, axis=1, where=MASK)), X, order=0),
    case("count_nonzero", lambda x: np.count_nonzero(x > 0, axis=1, keepdims=True), X, order=0),
    case("cumsum", lambda x: np.cumsum(x, axis=1), X),
    case("cumsum_flat", lambda x: np.cumsum(x), X),
    case("cumprod", lambda x: x.cumprod(axis=0), X),
    case("cumprod_with_zeros", lambda x: np.cumprod(x), np.array([2.0, 0.0, 3.0, 0.0, 1.5])),
    case("cumulative_sum", lambda x: np.cumulative_sum(x, axis=1, include_initial=True), X),
    case("cumulative_prod", lambda x: np.cumulative_prod(x, include_initial=True), V),
]


@pytest.mark.sampled(3, "a tenth of a second each")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16])
@pytest.mark.parametrize(
    "f",
    [np.sum, np.prod, np.max, np.cumsum, np.cumprod, np.any, np.argmax, np.count_nonzero],
    ids=lambda f: f.__name__,
)
def test_dtypes(f, dtype):
    same_as_numpy(lambda x: f(x, axis=0), [integers(5, 2, low=0, high=3).astype(dtype)])


@pytest.mark.parametrize("f", [np.sum, np.prod, np.cumsum, np.any, np.all, np.cumprod], ids=lambda f: f.__name__)
def test_empty_and_0d(f):
    same_as_numpy(f, [np.zeros((0, 3))])
    same_as_numpy(lambda x: f(x, axis=0), [np.zeros((0, 3))])
    same_as_numpy(f, [np.array(2.5)])


def test_out_is_written():
    def f(x):
        y = np.zeros(4)
        assert np.sum(x, axis=0, out=y) is y
        z = np.empty(4)
        np.mean(x, 0, out=z)
        return y, z

    same_as_numpy(f, [X])


@pytest.mark.parametrize(
    ("f", "x"),
    [
        pytest.param(lambda x: np.sum(x, out=np.zeros(())), SINGLE, id="sum_out"),
        pytest.param(lambda x: np.cumsum(x, out=np.zeros(8)), SINGLE, id="cumsum_out"),
        pytest.param(lambda b: np.cumsum(b, out=np.zeros(3, bool)), B, id="cumsum_out_bool"),
        pytest.param(lambda b: np.sum(b, out=np.zeros((), np.uint8)), B, id="sum_out_uint8"),
        pytest.param(lambda x: np.max(x, out=np.zeros((), int)), np.array([1.25, -0.5, 2.0]), id="max_out_int"),
    ],
)
def test_the_dtype_of_out_is_that_of_the_loop_where_numpy_has_it_so(f: Any, x: Any) -> None:
    as_numpy(f, x)


def test_max_of_nothing_is_its_initial_value() -> None:
    as_numpy(lambda x: np.max(x[:0], initial=9.0, where=x[:0] > 0), V)


I1 = np.array([1, 2], np.int8)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.max(x, initial=np.float64(2.7)),
        lambda x: np.min(x, initial=0.5),
        lambda x: x.max(initial=np.float64(1e9)),
        lambda x: np.maximum.reduce(x, initial=np.float64(2.7)),
        lambda x: np.max(x, initial=None),
        lambda x: np.max(x[:0], initial=np.float64(2.7), keepdims=True),
        lambda x: np.max(x, initial=np.float64(2.1), out=np.zeros((), np.float64)),
        lambda x: np.sum(x, initial=np.float64(2.7)),
        lambda x: np.prod(x, initial=np.float64(2.7)),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_the_initial_value_widened_the_result(f, dtype):
    same_as_numpy(f, [np.arange(1, 4).astype(dtype)])


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x: np.max(x, initial=300), OverflowError),
        (lambda x: np.max(x, initial=np.int64(300)), OverflowError),
        (lambda x: np.max(x, initial=np.inf), OverflowError),
        (lambda x: np.max(x, initial=np.array([1.0, 2.0])), ValueError),
        (lambda x: np.sum(x[:0], initial=None), ValueError),
        (lambda x: np.max(x[:0], initial=None), ValueError),
    ],
)
def test_an_initial_value_that_numpy_refuses(f, error):
    with pytest.raises(error):
        f(I1)
    with pytest.raises(error):
        wg.jit(f)(I1)


@pytest.mark.parametrize("f", [np.cumulative_sum, np.cumulative_prod])
def test_cumulative_sum_of_a_scalar_was_refused(f):
    for options in ({}, {"include_initial": True}):
        np.testing.assert_array_equal(wg.jit(lambda x, options=options: f(x, **options))(3.0), f(3.0, **options))
