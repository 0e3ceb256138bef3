from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.differences import check

N = 40
ROWS = np.random.default_rng(1).integers(0, 7, N).tolist()


def ops_of(f: Any, *args: Any) -> list[str]:
    tape = wg.jit(f).program(*args).tape
    return [instr.op.name for instr in tape.instrs]


def added(x: Any) -> Any:
    """Add to rows in any order, as an assembly of finite elements does."""
    a = np.ones((7, 3))
    for k in range(N):
        a[ROWS[k]] += np.sin(x[k])
    return a


def test_sums_that_take_turns_are_one_step():
    x = np.random.default_rng(0).standard_normal((N, 3))
    check(added, x)
    ops = ops_of(added, x)
    assert "scan" not in ops and "scatter_add" in ops
    assert len(ops) < 10
    assert "scan" not in ops_of(wg.grad(lambda x: np.sum(added(x) ** 2)), x)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64])
def test_other_dtypes(dtype: Any):
    x = np.random.default_rng(0).integers(-9, 9, (N, 3)).astype(dtype)

    def f(x: Any) -> Any:
        a = np.zeros((7, 3), x.dtype)
        for k in range(N):
            a[ROWS[k]] += x[k] * x[k]
        return a

    np.testing.assert_array_equal(wg.jit(f)(x), f(x))
    assert "scan" not in ops_of(f, x)


@pytest.mark.parametrize(
    "rows", [np.repeat(np.arange(8), 5).tolist(), np.tile(np.arange(8), 5).tolist()], ids=["in turn", "by turns"]
)
def test_sums_of_equal_length_are_sums_of_rows(rows: Any):
    x = np.random.default_rng(0).standard_normal((N, 3))

    def f(x: Any) -> Any:
        a = np.ones((8, 3))
        for k in range(N):
            a[rows[k]] += np.sin(x[k])
        return a

    check(f, x)
    ops = ops_of(f, x)
    assert "sum" in ops and "scan" not in ops and "scatter_add" not in ops


def test_what_is_subtracted_and_what_is_there_before():
    rng = np.random.default_rng(0)
    x, start = rng.standard_normal((N, 3)), rng.standard_normal((7, 3))

    def f(x: Any, start: Any) -> Any:
        a = start * start
        for k in range(N):
            a[ROWS[k]] -= np.cos(x[k])
        return a

    check(f, x, start)
    assert "scan" not in ops_of(f, x, start)


def test_products_added_to_blocks():
    rng = np.random.default_rng(0)
    g, h = rng.standard_normal((2, N, 3, 3))

    def f(g: Any, h: Any) -> Any:
        total = np.zeros((7, 3, 3))
        for k in range(N):
            total[ROWS[k]] += g[k] @ h[N - 1 - k]
        return total

    check(f, g, h)
    assert "scan" not in ops_of(f, g, h)


def test_sums_of_which_a_partial_one_is_read():
    x = np.random.default_rng(0).standard_normal((N, 3))

    def partial(x: Any) -> Any:
        a, seen = np.zeros((7, 3)), []
        for k in range(N):
            a[ROWS[k]] += np.sin(x[k])
            seen.append(a[ROWS[k]] * 2.0)
        return np.stack(seen)

    def fed_back(x: Any) -> Any:
        a = np.zeros((7, 3))
        for k in range(N):
            a[ROWS[k]] += np.sin(x[k] + a[ROWS[k]])
        return a

    def doubled(x: Any) -> Any:
        a = np.ones((7, 3))
        for k in range(N):
            a[ROWS[k]] += a[ROWS[k]]
        return a * np.sum(x)

    for f in (partial, fed_back, doubled):
        check(f, x)


def test_infinities_stay_in_their_own_sum():
    x = np.random.default_rng(0).standard_normal((N, 3))
    x[5] = np.inf
    x[6] = np.nan
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(wg.jit(lambda x: added(1.0 / x))(x), added(1.0 / x))
