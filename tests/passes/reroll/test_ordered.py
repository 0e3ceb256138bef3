"""Loops that write arrays in place, with slices as long as their counters say, are rolled up in the order of their
steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(5)


def matrix(n: int, m: int) -> Any:
    return RNG.uniform(0.5, 1.5, (n, m))


def solve_lower(L: Any, b: Any) -> Any:
    x = np.empty_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x * x)


def solve_upper(L: Any, b: Any) -> Any:
    n = b.shape[0]
    x = np.zeros_like(b)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - L[i, i + 1 :] @ x[i + 1 :]) / L[i, i]
    return np.sum(x**3)


def toeplitz(r: Any) -> Any:
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = alpha
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y * y)


def triangular_product(A: Any, B: Any) -> Any:
    B = B.copy()
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    return np.sum(B * B)


def rank_k_update(C: Any, A: Any) -> Any:
    C = C.copy()
    for i in range(A.shape[0]):
        C[i, : i + 1] *= 1.2
        for k in range(A.shape[1]):
            C[i, : i + 1] += 1.5 * A[i, k] * A[: i + 1, k]
    return np.sum(C * C)


def covariance(x: Any) -> Any:
    n = x.shape[1]
    cov = np.zeros((n, n))
    x = x - np.mean(x, axis=0)
    for i in range(n):
        cov[i:n, i] = cov[i, i:n] = x[:, i] @ x[:, i:n] / (n - 1.0)
    return np.sum(np.sin(cov))


def sweeps(u: Any) -> Any:
    n = u.shape[0]
    p, q = np.zeros_like(u), np.zeros_like(u)
    for _ in range(3):
        for j in range(1, n - 1):
            p[1 : n - 1, j] = 0.5 / (0.3 * p[1 : n - 1, j - 1] + 2.0)
            q[1 : n - 1, j] = (u[j, : n - 2] + u[j, 2:] + q[1 : n - 1, j - 1]) * p[1 : n - 1, j]
        u = u.copy()
        for j in range(n - 2, 0, -1):
            u[1 : n - 1, j] = p[1 : n - 1, j] * u[1 : n - 1, j + 1] + q[1 : n - 1, j]
    return np.sum(u * u)


def divided_rows(x: Any, y: Any) -> Any:
    """Zeros as padding would make NaN here, whose derivative would leak."""
    out = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        out[i, :i] = np.log(x[i, :i] / (y[:i] - 0.25)) * np.sqrt(x[:i, 0])
    return np.sum(out * out)


def blocks(x: Any) -> Any:
    """Two axes of a written block grow."""
    n = x.shape[0]
    y = np.zeros((n, n))
    for i in range(1, n):
        y[:i, :i] += x[i] * x[:i]
    return np.sum(y * y)


def moving_windows(x: Any) -> Any:
    out = np.zeros(x.shape[0])
    for i in range(2, x.shape[0] - 2):
        out[i] = np.sum(x[i - 2 : i + 3] * np.arange(5.0)) * x[i]
        out[i - 1] += out[i] * x[x.shape[0] - 1 - i]
    return np.sum(out * out)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...], int]] = [
    (solve_lower, (matrix(60, 60) + 20 * np.eye(60), matrix(60, 1)[:, 0]), 30),
    (solve_upper, (matrix(60, 60) + 20 * np.eye(60), matrix(60, 1)[:, 0]), 34),
    (toeplitz, (0.5 ** np.arange(1.0, 61.0),), 60),
    (triangular_product, (matrix(20, 20), matrix(20, 24)), 40),
    (rank_k_update, (matrix(30, 30), matrix(30, 12)), 60),
    (covariance, (matrix(40, 60),), 60),
    (sweeps, (matrix(60, 60),), 80),
    (divided_rows, (matrix(60, 60), matrix(60, 1)[:, 0]), 60),
    (blocks, (matrix(60, 1)[:, 0],), 30),
    (moving_windows, (matrix(400, 1)[:, 0],), 60),
]


@pytest.mark.sampled(4, "two seconds each where the machine code is new")
@pytest.mark.parametrize(("f", "args", "most"), CASES, ids=[f.__name__ for f, _, _ in CASES])
def test_loops_over_slices_of_an_array_that_is_written(f: Any, args: Any, most: int) -> None:
    every = tuple(range(len(args)))
    step = wg.jit(wg.value_and_grad(f, argnums=every))
    value, found = step(*args)
    plain_value, plain = wg.value_and_grad(f, argnums=every)(*args)
    np.testing.assert_allclose(value, f(*args), rtol=1e-10)
    np.testing.assert_allclose(value, plain_value, rtol=1e-10)
    for a, b in zip(found, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
    assert len(step.program(*args).kernels) <= most
    for again, a in zip(step(*args)[1], found, strict=True):
        np.testing.assert_array_equal(again, a)


@pytest.mark.sampled(2, "a second each where the machine code is new")
@pytest.mark.parametrize(("f", "args", "most"), CASES[:4], ids=[f.__name__ for f, _, _ in CASES[:4]])
def test_forward_mode_and_second_order(f: Any, args: Any, most: int) -> None:
    direction = tuple([np.cos(np.arange(a.size)).reshape(a.shape) * 1e-2 for a in args])
    every = tuple(range(len(args)))
    _, slope = wg.jit(lambda *xs: wg.jvp(f, xs, direction))(*args)
    gradient = wg.grad(f, argnums=every)(*args)
    np.testing.assert_allclose(slope, sum(np.sum(g * d) for g, d in zip(gradient, direction, strict=True)), rtol=1e-8)
    product = wg.jit(lambda *xs: wg.jvp(lambda *ys: wg.grad(f, argnums=every)(*ys), xs, direction)[1])(*args)
    step = 1e-5
    ahead, behind = ([a + s * d for a, d in zip(args, direction, strict=True)] for s in (step, -step))
    for p, a, b in zip(product, wg.grad(f, argnums=every)(*ahead), wg.grad(f, argnums=every)(*behind), strict=True):
        np.testing.assert_allclose(p, (a - b) / (2 * step), rtol=1e-4, atol=1e-4 * float(np.max(np.abs(p))))


def test_padding_that_is_not_finite_never_counts() -> None:
    """The upper triangle and the end of ``x`` are read by no iteration in which they count."""
    n = 60
    L = np.where(np.tri(n, dtype=bool), matrix(n, n) + 20 * np.eye(n), np.inf)
    b = matrix(n, 1)[:, 0]

    def f(L: Any, b: Any) -> Any:
        x = np.full(n, np.nan)
        for i in range(n):
            x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
        return np.sum(x * x)

    value, (of_L, of_b) = wg.jit(wg.value_and_grad(f, argnums=(0, 1)))(L, b)
    np.testing.assert_allclose(value, f(L, b))
    lower, _ = wg.grad(f, argnums=(0, 1))(L, b)
    assert np.isfinite(of_b).all()
    np.testing.assert_allclose(of_L, lower, rtol=1e-9, atol=1e-12)
    assert (of_L[np.triu_indices(n, 1)] == 0).all()


@pytest.mark.parametrize(("f", "matrices"), [(solve_lower, 1), (solve_upper, 2)], ids=["lower", "upper"])
def test_the_pullback_of_a_triangular_solve_stores_no_values(f: Any, matrices: int) -> None:
    """Rows are read where they lie, and what was solved before is known in the end: the cotangent alone is a matrix."""
    n = 200
    args = (matrix(n, n) + 20 * np.eye(n), matrix(n, 1)[:, 0])
    program = wg.jit(wg.grad(f, argnums=(0, 1))).program(*args)
    assert program.arena_bytes < matrices * n * n * 8 + 20_000


def test_what_is_read_before_it_is_written_again_is_stored() -> None:
    """The last value of ``x`` would not say what each iteration read of it."""
    n = 60

    def f(a: Any, b: Any) -> Any:
        x = b.copy()
        for i in range(n):
            s = a[i, :i] @ x[:i]
            x[: i + 1] = x[: i + 1] * 0.9 + 0.01 * s * a[i, : i + 1]
        return np.sum(x * x)

    def only_ahead(a: Any, b: Any) -> Any:
        x = b.copy()
        for i in range(n - 1):
            x[i] = x[i + 1] * a[i, i] + a[i, :i] @ x[:i] * 0.1
        return np.sum(x * x)

    for g in (f, only_ahead):
        args = matrix(n, n), matrix(n, 1)[:, 0]
        found = wg.jit(wg.grad(g, argnums=(0, 1)))(*args)
        for one, plain in zip(found, wg.grad(g, argnums=(0, 1))(*args), strict=True):
            np.testing.assert_allclose(one, plain, rtol=1e-9, atol=1e-12)


def test_rows_of_a_sparse_matrix_are_padded_tables() -> None:
    n = 300
    counts = RNG.integers(0, 5, n)
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns = RNG.integers(0, n, starts[-1])

    def f(values: Any, x: Any) -> Any:
        y = np.empty(n)
        for i in range(n):
            y[i] = values[starts[i] : starts[i + 1]] @ x[columns[starts[i] : starts[i + 1]]]
        return np.sum(y * y)

    values, x = matrix(starts[-1], 1)[:, 0], matrix(n, 1)[:, 0]
    found = wg.jit(wg.grad(f, argnums=(0, 1)))(values, x)
    for a, b in zip(found, wg.grad(f, argnums=(0, 1))(values, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.sampled(2, "three seconds each where the machine code is new")
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_dtypes(dtype: Any) -> None:
    n = 60

    def f(L: Any, b: Any) -> Any:
        x = np.zeros_like(b)
        for i in range(n):
            x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
        return np.sum(np.abs(x) ** 2)

    L, b = (matrix(n, n) + 20 * np.eye(n)).astype(dtype), matrix(n, 1)[:, 0].astype(dtype)
    found = wg.jit(wg.grad(f, argnums=(0, 1)))(L, b)
    for a, c in zip(found, wg.grad(f, argnums=(0, 1))(L, b), strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, c, rtol=1e-4 if dtype == np.float32 else 1e-10, atol=1e-6)


def test_beside_other_steps_and_mapped() -> None:
    def f(L: Any, b: Any) -> Any:
        x = np.zeros_like(b)
        for i in range(60):
            x[i] = (np.sin(b)[i] - L[i, :i] @ x[:i]) / L[i, i]
        return np.exp(-x[::2]) @ x[1::2]

    L, b = matrix(60, 60) + 20 * np.eye(60), matrix(3, 60)
    found = wg.jit(wg.vmap(wg.grad(f, argnums=1), in_axes=(None, 0)))(L, b)
    np.testing.assert_allclose(found, [wg.grad(f, argnums=1)(L, one) for one in b], rtol=1e-9)
