"""Questions about arrays against NumPy: shapes and dtypes take no step, comparisons of whole arrays do."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tracing.numpy_cases import case, floats, record, same_as_numpy, verify

X = floats(3, 4)


CASES = [
    case("isclose", lambda x, y: (np.isclose(x, y), np.allclose(x, x), np.allclose(x, y)), X, -X, order=0),
    case("array_equal", lambda x: (np.array_equal(x, x), np.array_equal(x, x[0])), X, order=0),
    case("array_equiv", lambda x: (np.array_equiv(x, x[:1]), np.array_equiv(x, x[:, :2])), X, order=0),
    case("isreal", lambda x: (np.isreal(x), np.iscomplex(x), np.isposinf(x), np.isneginf(x)), X, order=0),
    case("astype", lambda x: np.astype(x, np.float32), X, order=0),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


def test_special_values():
    x = np.array([np.nan, np.inf, -np.inf, 1.0, -0.0])
    same_as_numpy(lambda x: (np.isposinf(x), np.isneginf(x)), [x])
    same_as_numpy(
        lambda x: (np.isclose(x, x), np.isclose(x, x, equal_nan=True), np.array_equal(x, x, equal_nan=True)), [x]
    )


def test_shapes_and_dtypes_are_known():
    def f(x):
        assert np.shape(x) == (3, 4) and np.ndim(x) == 2 and np.size(x) == 12 and np.size(x, 0) == 3
        assert np.result_type(x, np.float32) == np.float64 and np.can_cast(x, np.float64)
        assert np.isrealobj(x) and not np.iscomplexobj(x) and np.common_type(x) is np.float64
        assert np.result_type(x.astype(np.float32), 3.0) == np.float32
        return x

    tape, *_ = record(f, [X])
    assert [i.op.name for i in tape.instrs] == ["convert"]
