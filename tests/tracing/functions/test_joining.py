"""Joining, splitting, repeating, inserting and deleting against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import case, floats, integers, record, same_as_numpy, verify

X = floats(3, 4)
Y = floats(3, 4, seed=1)
X3 = floats(2, 3, 4)
V = floats(6)

CASES = [
    case("concatenate", lambda x, y: np.concatenate([x, y]), X, Y),
    case("concatenate_axis", lambda x, y: np.concatenate((x, y[:, :2], x), axis=-1), X, Y),
    case("concatenate_flat", lambda x, y: np.concatenate([x, y[0], [1.0, 2.0]], axis=None), X, Y),
    case("concatenate_with_lists", lambda x: np.concatenate([x, [1.5, 2.5], x[:1]]), V),
    case("concatenate_rows_of_an_array", lambda x: np.concatenate(x), X3),
    case("concatenate_dtype", lambda x: np.concatenate([x, x], dtype=np.float32), V, order=0),
    case("concat", lambda x: np.concat([x, np.ones((1, 4))]), X),
    case("stack", lambda x, y: (np.stack([x, y]), np.stack([x, y], axis=-1)), X, Y),
    case("stack_scalars", lambda x: np.stack([x[0], x[1], 2.0]), V),
    case("vstack", lambda x, v: np.vstack([x, v]), X, V[:4]),
    case("hstack", lambda x, y: (np.hstack([x, y]), np.hstack([x[0], y[0, :2], 3.0])), X, Y),
    case("dstack", lambda x, y: (np.dstack([x, y]), np.dstack((x[0], y[0]))), X, Y),
    case("column_stack", lambda x, v: np.column_stack([v, x, v]), X, V[:3]),
    case("append", lambda x, v: (np.append(x, v), np.append(x, v[None, :4], axis=0)), X, V),
    case("block", lambda x, y: np.block([[x, y], [y[:1], x[:1]]]), X, Y),
    case("block_mixed", lambda x: np.block([[1.0, x], [x, 2.0]]), V),
    case("split", lambda x: np.split(x, 2, axis=1), X),
    case("split_at", lambda x: np.split(x, [1, 3, 5, 9]), V),
    case("array_split", lambda x: np.array_split(x, 4), V),
    case("other_splits", lambda x: np.hsplit(x, 3) + np.vsplit(x, [1]) + np.dsplit(x, 2), X3),
    case("unstack", lambda x: np.unstack(x, axis=1), X),
    case("repeat", lambda x: (np.repeat(x, 2), x.repeat(3, axis=0), np.repeat(x, [0, 2, 1], axis=0)), X),
    case("repeat_0d", lambda x: np.repeat(x[0], 3), V),
    case("tile", lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 3)), np.tile(x[0], (2, 2))), X),
    case("resize", lambda x: (np.resize(x, (5, 3)), np.resize(x, 4)), X),
    case("delete", lambda x: (np.delete(x, 1), np.delete(x, [0, -1]), np.delete(x, slice(1, 4, 2))), V),
    case("delete_axis", lambda x: (np.delete(x, 1, axis=1), np.delete(x, [True, False, True], axis=0)), X),
    case("insert", lambda x: (np.insert(x, 2, 7.0), np.insert(x, [1, 1, 4], [1.0, 2.0, 3.0])), V),
    case("insert_traced", lambda x, v: np.insert(x, 1, v, axis=0), X, V[:4]),
    case("insert_columns", lambda x, v: np.insert(x, 1, v, axis=1), X, V[:3]),
    case("insert_many_rows", lambda x, y: np.insert(x, [0, 2], y[:2], axis=0), X, Y),
    case("insert_rows_at_one", lambda x, y: np.insert(x, [1], y, axis=0), X, Y),
]  # fmt: skip


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


def test_dtypes_are_promoted():
    same_as_numpy(lambda x, y: np.concatenate([x, y]), [integers(3), floats(2).astype(np.float32)])
    same_as_numpy(lambda x, y: np.stack([x, y]), [integers(3), integers(3).astype(np.int8)])


def test_parts_of_a_split_are_views():
    def f(x):
        y = x * 2.0
        first, second = np.split(y, 2)
        first[0] = 5.0
        second += x[0]
        rows = np.unstack(y.reshape(2, 3))
        rows[1][:] = 0.5
        return y, first, second

    verify(f, [V], order=2)


def test_out_is_written():
    def f(x):
        y = np.zeros((2, 6))
        np.stack([x, 2 * x], out=y)
        return y

    same_as_numpy(f, [V])


def test_errors_are_numpys():
    for f in (
        lambda x: np.concatenate([x, x[0]]),
        lambda x: np.concatenate([x, x.T]),
        lambda x: np.stack([x, x.T]),
        lambda x: np.split(x, 2),
    ):
        with pytest.raises(ValueError):
            f(X)
        with pytest.raises(ValueError):
            record(f, [X])


def test_an_array_that_decides_a_shape_is_guarded():
    counts = np.array([1, 0, 2])
    step = wg.jit(lambda x: np.repeat(x, counts))
    np.testing.assert_array_equal(step(V[:3]), np.repeat(V[:3], counts))
    counts[:] = [2, 1, 0]
    np.testing.assert_array_equal(step(V[:3]), np.repeat(V[:3], counts))


def unstacked(x: Any) -> Any:
    x = x * 1.0
    y = np.unstack(x)[0]
    y += 1.0
    return x, y


@pytest.mark.parametrize("x", [V, X], ids=["unstack", "unstack_rows"])
def test_what_is_unstacked_are_views(x: Any) -> None:
    as_numpy(unstacked, x)


def test_repeat_of_nothing() -> None:
    as_numpy(lambda x: np.repeat(x[:0], [], axis=0), V)
