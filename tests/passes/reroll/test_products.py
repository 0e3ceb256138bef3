"""Products of slices of the same arrays are slices of one product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.ops.contract import contract
from wengert.passes.reroll.products import joined_products

RNG = np.random.default_rng(11)
N = 16


def matrix(n: int, m: int) -> Any:
    return RNG.uniform(0.5, 1.5, (n, m))


def upper_rows(x: Any) -> Any:
    cov = np.zeros((N, N))
    for i in range(N):
        cov[i:, i] = cov[i, i:] = x[:, i] @ x[:, i:] / 3.0
    return np.sum(np.sin(cov))


def matrix_product(a: Any, b: Any) -> Any:
    c = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            c[i, j] = a[i, :] @ b[:, j]
    return np.sum(c * c)


def rows_in_reverse(a: Any, b: Any) -> Any:
    b = b[::-1]
    return sum(np.sum((a[i, 1::2] @ b[1 : 1 + N // 2]) ** 2) * (i + 1) for i in range(N - 1, -1, -1))


def row_by_column(a: Any, b: Any) -> Any:
    """Place i of both operands, in each product."""
    return sum((a[i, :] @ b[:, i]) ** 2 for i in range(N))


def triangular(a: Any, b: Any) -> Any:
    """Rows that are read are written later."""
    b = b.copy()
    for i in range(N):
        for j in range(N):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return np.sum(b * b)


def shifted(a: Any, b: Any) -> Any:
    """The range that is summed begins elsewhere in the other operand, and some ranges are empty."""
    return sum((a[i, : i // 2] @ b[2 : 2 + i // 2, j]) ** 2 for i in range(N) for j in range(3, N))


SQUARE = (matrix(N, N), matrix(N, N))
CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (upper_rows, (matrix(30, N),)),
    (matrix_product, SQUARE),
    (rows_in_reverse, SQUARE),
    (row_by_column, SQUARE),
    (triangular, SQUARE),
    (shifted, SQUARE),
]


@pytest.mark.sampled(3, "a second and a half each where the machine code is new")
@pytest.mark.parametrize(("f", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_a_family_of_products_is_one_product(f: Any, args: Any) -> None:
    tape = wg.trace(f)(*args)
    joined = joined_products(tape)
    assert sum(i.op is contract for i in joined.instrs) <= 1 < sum(i.op is contract for i in tape.instrs)
    every = tuple(range(len(args)))
    value, found = wg.jit(wg.value_and_grad(f, argnums=every))(*args)
    np.testing.assert_allclose(value, f(*args), rtol=1e-11)
    for a, b in zip(found, wg.grad(f, argnums=every)(*args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    directions = tuple([np.cos(np.arange(a.size)).reshape(a.shape) for a in args])
    slope = wg.jit(lambda *xs: wg.jvp(f, xs, directions)[1])(*args)
    np.testing.assert_allclose(slope, sum(np.sum(g * d) for g, d in zip(found, directions, strict=True)), rtol=1e-8)


@pytest.mark.parametrize("f", [triangular, shifted], ids=["triangular", "shifted"])
def test_what_no_product_reads_never_counts(f: Any) -> None:
    a, b = SQUARE
    for marker in (np.nan, np.inf):
        x, y = np.array(a), np.array(b)
        if f is triangular:
            x[np.triu_indices(N)] = marker  # read from below the diagonal on
        else:
            x[:, N // 2 :] = y[:2] = y[:, :3] = marker
        value, found = wg.jit(wg.value_and_grad(f, argnums=(0, 1)))(x, y)
        np.testing.assert_allclose(value, f(x, y))
        for g, plain in zip(found, wg.grad(f, argnums=(0, 1))(x, y), strict=True):
            assert np.isfinite(g).all()
            np.testing.assert_allclose(g, plain, rtol=1e-9, atol=1e-11)
    if f is triangular:
        y = np.array(b)
        y[0, 1] = np.nan  # is read by its own sum alone
        c = wg.jit(lambda x, y: _written(x, y))(a, y)
        np.testing.assert_allclose(c, _written(a, y))
        assert np.isnan(c).sum() == 1


def _written(a: Any, b: Any) -> Any:
    b = b.copy()
    for i in range(N):
        for j in range(N):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return b


def test_products_of_what_was_written_stay_as_they_are() -> None:
    def prefix(a: Any) -> Any:
        x = np.ones(N)
        for i in range(N):
            x[i] = 1.0 + a[i, :i] @ x[:i] * 0.01
        return np.sum(x)

    def overwritten(a: Any, b: Any) -> Any:
        total = 0.0
        for i in range(N):
            total = total + a[i, :] @ b[:, i]
            b[:, i + 1 :] = b[:, i + 1 :] * 0.5
        return total

    tape = wg.trace(prefix)(SQUARE[0])
    assert joined_products(tape) is tape
    tape = wg.trace(overwritten)(*SQUARE)
    assert joined_products(tape) is tape
    np.testing.assert_allclose(
        wg.jit(lambda a, b: overwritten(a, b.copy()))(*SQUARE), overwritten(SQUARE[0], SQUARE[1].copy())
    )


def test_a_product_of_which_little_is_used_is_not_made() -> None:
    def f(a: Any, b: Any) -> Any:
        return sum(a[i, :] @ b[:, (i * 7) % N] for i in range(N))

    tape = wg.trace(f)(*SQUARE)
    assert joined_products(tape) is tape


def test_a_product_larger_than_all_arrays_is_not_made() -> None:
    def f(a: Any, b: Any) -> Any:
        total = np.zeros((N, N))
        for k in range(N):
            total = total + np.outer(a[:, k], b[k])
        return np.sum(total * total)

    np.testing.assert_allclose(wg.jit(wg.grad(f))(*SQUARE), wg.grad(f)(*SQUARE), rtol=1e-9)
    tape = wg.trace(f)(*SQUARE)
    assert joined_products(tape) is tape


@pytest.mark.parametrize(
    "dtype", [np.float32, pytest.param(np.complex128, marks=pytest.mark.deep("float32 takes the same road"))]
)
def test_other_dtypes(dtype: Any) -> None:
    a, b = (x.astype(dtype) for x in SQUARE)

    def f(a: Any, b: Any) -> Any:
        return np.sum(np.abs(_written(a, b)))

    found = wg.jit(wg.grad(f, argnums=(0, 1)))(a, b)
    for g, plain in zip(found, wg.grad(f, argnums=(0, 1))(a, b), strict=True):
        assert g.dtype == dtype
        np.testing.assert_allclose(g, plain, rtol=1e-3 if dtype == np.float32 else 1e-10)
