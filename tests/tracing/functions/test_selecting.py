"""Selection by conditions and positions against NumPy, with the writes among them."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.tracing.numpy_cases import case, floats, integers, record, same_as_numpy, verify

X = floats(3, 4)
Y = floats(3, 4, seed=1)
V = floats(6)
I = np.array([2, 0, 1, -1])
MASK = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, True]])


def writes(f):
    """``f`` writes into its first argument: a copy, made where it is traced."""

    def g(x, *rest):
        y = x * 1.0
        assert f(y, *rest) is None
        return y

    return g


CASES = [
    case("where", lambda x, y: np.where(x > 0, x, y), X, Y),
    case("where_number", lambda x: (np.where(x > 0, x, 0), np.where(MASK, 1.5, x), np.where(x > 0, 1, 0)), X),
    case("where_broadcasts", lambda x, v: np.where(x > v, v, x), X, V[:4]),
    case("where_lists", lambda x: np.where([True, False, True, False], x, [1.0, 2.0, 3.0, 4.0]), X),
    case("where_is_nonzero", lambda x: np.where(x > 0), X, order=0),
    case("select", lambda x, y: np.select([x > 0.5, x > -0.5], [x, y], 7.0), X, Y),
    case("select_broadcasts", lambda x: np.select([x[:, :1] > 0, x > 0], [x * 2, 1.0]), X),
    case("piecewise", lambda x: np.piecewise(x, [x < 0, x > 1], [lambda z: z**2, 3.0, np.exp]), X),
    case("piecewise_default", lambda x: np.piecewise(x, [x < 0], [lambda z: -z]), V),
    case("piecewise_arguments", lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda z, k: k * z, 1], 3.0), V),
    case("choose", lambda x, y: (np.choose(MASK.astype(int), [x, y]), np.choose([[2], [0], [1]], [x, y, 5.0])), X, Y),
    case("choose_wrap", lambda x: np.choose([3, -1, 0, 1], [x[0], x[1]], mode="wrap"), X),
    case("choose_traced", lambda x: np.choose((x > 0).astype(int), [x, 2 * x]), X),
    case("take", lambda x: (np.take(x, I, axis=1), x.take([1, 2], axis=0), np.take(x, 5), np.take(x, [[0, 11]])), X),
    case("take_traced", lambda x, y: np.take(x, np.argsort(y[0]), axis=1), X, Y, order=1),
    case("take_modes", lambda x: (np.take(x, [7, -9], mode="wrap"), np.take(x, [9, -3], mode="clip")), V),
    case("take_nothing", lambda x: np.take(x, np.array([], int)), V),
    case("take_along_axis", lambda x: np.take_along_axis(x, np.argsort(-x, axis=1), axis=1), X),
    case("take_along_flat", lambda x: np.take_along_axis(x, np.array([3, 1]), axis=None), V),
    case("compress", lambda x: (np.compress([True, False, True], x, axis=0), x.compress([0, 1, 1])), X),
    case("compress_traced", lambda x: np.compress(x[0] > 0, x, axis=1), X),
    case("extract", lambda x: np.extract(x > 0, x), X),
    case("nonzero", lambda x: (np.nonzero(x > 0), np.flatnonzero(x > 0), np.argwhere(x > 0)), X, order=0),
    case("mask", lambda x: x[x > 0], X),
    case("ravel_multi_index", lambda x: np.ravel_multi_index(np.nonzero(x > 0), x.shape), X, order=0),
    case("ravel_multi_index_F", lambda i, j: np.ravel_multi_index((i, j), (3, 4), order="F"),
         integers(5, low=0, high=3), integers(5, low=0, high=4, seed=1), order=0),
    case("ravel_multi_index_modes", lambda i, j: np.ravel_multi_index((i, j), (3, 4), ("wrap", "clip")), integers(6),
         integers(6, seed=1), order=0),
    case("unravel_index", lambda x: np.unravel_index(np.argmax(x), x.shape), X, order=0),
    case("put", writes(lambda x, v: np.put(x, [0, -1, 3], v)), X, V[:3]),
    case("put_method", writes(lambda x: x.put([1, 2, 3], 5.0)), X),
    case("put_repeats", writes(lambda x, v: np.put(x, [0, 1, 2, 5], v)), X, V[:2]),
    case("put_into_a_transposed", writes(lambda x, v: np.put(x.T, [0, 1, 2], v)), X, V[:3]),
    case("put_along_axis", writes(lambda x, v: np.put_along_axis(x, x.argmax(1, keepdims=True), v, 1)), X, V[:3, None]),
    case("putmask", writes(lambda x, v: np.putmask(x, x > 0, v)), X, V),
    case("putmask_number", writes(lambda x: np.putmask(x, MASK, 9.0)), X),
    case("place", writes(lambda x, v: np.place(x, x > 0, v)), X, V[:2]),
    case("copyto", writes(lambda x, v: np.copyto(x, v)), X, V[:4]),
    case("copyto_where", writes(lambda x, y: np.copyto(x, y, where=x < 0)), X, Y),
]  # fmt: skip


@pytest.mark.sampled(5, "a tenth of a second each")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32])
def test_dtypes(dtype):
    x = integers(3, 4).astype(dtype)
    same_as_numpy(lambda x: (np.where(x > 0, x, 1), np.where(x > 0, x, 1.5), np.take(x, [0, 1])), [x])
    same_as_numpy(lambda x: np.select([x > 0], [x], 0), [x])


def test_weak_numbers_stay_weak():
    same_as_numpy(lambda x, c: np.where(x > 0, x, c), [X.astype(np.float32), 2.5])


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_branch_not_taken_passes_no_nan():
    f = lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0))
    np.testing.assert_allclose(wg.grad(f)(np.array([4.0, 0.0])), [0.25, 0.0])
    g = lambda x: np.sum(np.piecewise(x, [x > 0], [np.sqrt, 1.0]))
    np.testing.assert_allclose(wg.grad(g)(np.array([4.0, 0.0])), [0.25, 0.0])


def test_only_the_count_of_a_mask_is_guarded():
    tape, *_ = record(lambda x: x[x > 0].sum(), [V])
    assert [i.params["expected"].value for i in tape.instrs if i.op.name == "guard"] == [np.count_nonzero(V > 0)]


def test_a_mask_of_a_whole_array_needs_no_look():
    def f(x):
        y = x * 1.0
        y[y < 0] = 0.0
        np.putmask(y, y > 1, 1.0)
        return y

    tape, *_ = record(f, [V])
    assert "guard" not in [i.op.name for i in tape.instrs]


def test_errors_are_numpys():
    for f in (lambda x: np.take(x, 12), lambda x: np.take(x, [5], axis=1), lambda x: np.choose([3], [x, x])):
        with pytest.raises((IndexError, ValueError)):
            f(X)
        with pytest.raises((IndexError, ValueError)):
            record(f, [X])


def test_empty():
    same_as_numpy(lambda x: (np.where(x > 0, x, 0), np.nonzero(x), x[x > 0], np.argwhere(x)), [np.zeros((0, 3))])


@pytest.mark.parametrize("where", [True, np.array([True, False, True])])
@pytest.mark.parametrize("shape", [(1, 3), (1, 1, 1), (1, 1, 3), (3,), (1,)])
def test_copyto_of_a_source_with_leading_axes_of_length_one(shape, where):
    def f(b):
        a = np.zeros(3)
        np.copyto(a, b, where=where)
        return a

    same_as_numpy(f, [np.arange(1.0, 1 + np.prod(shape)).reshape(shape)])


@pytest.mark.parametrize(("shape", "where"), [((2, 3), True), ((3, 1), True), ((3,), np.ones((1, 3), bool))])
def test_copyto_of_what_does_not_fit(shape, where):
    def f(b):
        a = np.zeros(3)
        np.copyto(a, b, where=where)
        return a

    for g in (f, wg.jit(f)):
        with pytest.raises(ValueError, match="could not broadcast"):
            g(np.ones(shape))
