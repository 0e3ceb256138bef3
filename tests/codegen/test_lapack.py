"""Linear algebra by LAPACK, as NumPy has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.natively import NAN, native, numbers, of_op
from wengert.ops import linalg
from wengert.runtime import _native

pytestmark = pytest.mark.usefixtures("no_cache")


def close(function: Callable[..., Any], *args: Any) -> None:
    """As NumPy has it, but for the rounding of another LAPACK."""
    got, wanted = native(function, *args)(*args), function(*args)
    for g, w in zip(*[x if isinstance(x, tuple) else (x,) for x in (got, wanted)], strict=True):
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-10 if args[0].dtype == "f8" else 2e-3, atol=1e-12)


def well_conditioned(*shape: int, dtype: str = "f8") -> np.ndarray[Any, Any]:
    n = shape[-1]
    return numbers(shape, dtype) + (n * np.eye(n)).astype(dtype)


ALGEBRA: dict[str, Callable[..., Any]] = {
    "solve": np.linalg.solve,
    "solve a transpose": lambda a, b: np.linalg.solve(np.swapaxes(a, -1, -2), b),
    "inv": lambda a, b: np.linalg.inv(a),
    "inv of a view": lambda a, b: np.linalg.inv(a[..., ::-1, :]),
    "slogdet": lambda a, b: tuple(np.linalg.slogdet(a)),
    "det": lambda a, b: np.linalg.det(a),
    "cholesky": lambda a, b: np.linalg.cholesky(a @ np.swapaxes(a, -1, -2)),
    "grad of solve": wg.grad(lambda a, b: np.sum(np.sin(np.linalg.solve(a, b))), argnums=(0, 1)),
    "grad of slogdet": wg.grad(lambda a, b: np.sum(np.linalg.slogdet(a)[1])),
    "grad of cholesky": wg.grad(lambda a, b: np.sum(np.cos(np.linalg.cholesky(a @ np.swapaxes(a, -1, -2))))),
}


@pytest.mark.sampled(7, "every routine, and its gradient, compiled")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("what", ALGEBRA)
def test_linear_algebra(what: str, dtype: str) -> None:
    for stack in ((), (3,), (2, 3)):
        for n, k in ((1, 1), (2, 3), (7, 2), (20, 1)):
            close(ALGEBRA[what], well_conditioned(*stack, n, n, dtype=dtype), numbers((*stack, n, k), dtype))


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_triangular_solutions_read_one_triangle(lower: bool, transpose: bool, dtype: str) -> None:
    for stack in ((), (4,)):
        for n, k in ((1, 1), (6, 2), (25, 3)):
            a, b = well_conditioned(*stack, n, n, dtype=dtype), numbers((*stack, n, k), dtype)
            triangle = np.tril(a) if lower else np.triu(a)
            noise = np.where(triangle == a, a, NAN).astype(dtype)
            program = of_op(lambda a, b: linalg.triangular_solve(a, b, lower=lower, transpose=transpose), noise, b)
            whole = np.swapaxes(triangle, -1, -2) if transpose else triangle
            tolerance = 1e-12 if dtype == "f8" else 1e-5
            np.testing.assert_allclose(program(noise, b)[0], np.linalg.solve(whole, b), tolerance, tolerance)
            triangle[..., n // 2, n // 2] = 0
            with pytest.raises(np.linalg.LinAlgError, match="singular"):
                program(triangle, b)


def test_determinants_of_empty_and_singular_matrices() -> None:
    close(lambda a: np.linalg.det(a), np.zeros((3, 0, 0)))
    close(lambda a: tuple(np.linalg.slogdet(a)), np.zeros((0, 0)))
    close(lambda a: np.linalg.det(a), np.ones((4, 3, 3)))
    close(lambda a: tuple(np.linalg.slogdet(a)), np.zeros((2, 3, 3)))


def test_cofactors_of_matrices_that_have_no_inverse() -> None:
    """One of a stack is enough: NumPy computes them all, and what follows goes on."""
    rng = np.random.default_rng(0)
    stack = np.stack([rng.normal(size=(5, 5)), np.diag([1.0, 2, 3, 4, 0]), np.ones((5, 5)), np.eye(5) * 1e-80])
    gradient = wg.jit(wg.grad(lambda a: np.sum(np.sin(np.linalg.det(a)))))
    for a in (stack[:1], stack, stack[:1], stack[1:2]):
        expected = np.cos(np.linalg.det(a))[:, None, None] * linalg.cofactor.reference(a)
        np.testing.assert_allclose(gradient(a), expected, rtol=1e-12, atol=1e-13)
        assert [k.kind for k in gradient.program(a).kernels if k.name == "cofactor"] == ["BLAS"]


@pytest.mark.parametrize("function", [np.linalg.inv, lambda a: np.linalg.solve(a, a), np.linalg.cholesky])
def test_what_lapack_refuses_raises_what_numpy_raises(function: Callable[..., Any]) -> None:
    bad = np.stack([np.eye(3), np.diag([1.0, 0.0, -1.0])])
    program = native(function, np.stack([np.eye(3)] * 2))
    with pytest.raises(np.linalg.LinAlgError) as wanted:
        function(bad)
    with pytest.raises(np.linalg.LinAlgError) as got:
        program(bad)
    assert str(got.value) == str(wanted.value)


def test_the_work_area_of_a_routine_is_large_enough() -> None:
    for n in (1, 5, 30, 100):
        for dtype, suffix in (("f8", "f64"), ("f4", "f32")):
            a = well_conditioned(n, n, dtype=dtype)
            for routine, function in (
                ("det", np.linalg.det),
                ("cofactor", wg.grad(np.linalg.det)),
                ("syevd", lambda a: np.linalg.eigh(a)[0]),
            ):
                if (routine, dtype) == ("syevd", "f4"):
                    continue
                made = native(function, a).plan
                (work,) = [s.work for s in made.steps if s.work is not None]
                assert work.aval.nbytes >= _native.work_bytes(f"{routine}_{suffix}", n)


def test_a_long_stack_is_solved_in_parts() -> None:
    """Between which a call can be interrupted. One that is singular is still found."""
    a, b = well_conditioned(2000, 20, 20), numbers((2000, 20, 3), "f8")
    close(np.linalg.solve, a, b)
    close(np.linalg.det, a)
    close(np.linalg.cholesky, a @ np.swapaxes(a, -1, -2))
    a[1500] = 0
    with pytest.raises(np.linalg.LinAlgError):
        wg.jit(np.linalg.solve)(a, b)


def symmetric(kind: str, n: int, b: int, dtype: str = "f8") -> np.ndarray[Any, Any]:
    a = numbers((b, n, n), dtype)
    a = (a + np.swapaxes(a, -1, -2)) / 2
    scale = np.logspace(-8, 8, n).astype(dtype) if n else np.ones(0, dtype)
    return {
        "ordinary": lambda: a,
        "huge": lambda: a * np.dtype(dtype).type(1e30 if dtype == "f4" else 1e300),
        "tiny": lambda: a * np.dtype(dtype).type(1e-30 if dtype == "f4" else 1e-300),
        "of equal values": lambda: np.round(a) * np.eye(n, dtype=dtype) + np.ones((n, n), dtype),
        "graded": lambda: a * scale * scale[:, None],
        "zero": lambda: np.zeros_like(a),
    }[kind]()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("kind", ["ordinary", "huge", "tiny", "of equal values", "graded", "zero"])
def test_eigenvalues_of_stacks(kind: str, dtype: str) -> None:
    """To a few roundings of the largest, with orthogonal vectors; one matrix has the bits it has among others."""
    eps = np.finfo(dtype).eps
    for n, b in ((1, 3), (2, 9), (3, 1), (4, 17), (6, 2), (7, 3), (16, 5)):
        a = symmetric(kind, n, b, dtype)
        for lower in (False, True):
            program = native(lambda a, lower=lower: tuple(linalg.eigh(a, lower=lower, any_vectors=True)), a)
            w, v = program(np.tril(a) if lower else np.triu(a))
            expected = np.linalg.eigvalsh(a.astype(float))
            largest = np.abs(expected).max(-1, keepdims=True)
            assert np.all(np.abs(w - expected) <= 4 * n * eps * largest)
            np.testing.assert_allclose(v @ np.swapaxes(v, -1, -2), [np.eye(n)] * b, atol=8 * n * eps)
            back = v.astype(float) * w[:, None, :] @ np.swapaxes(v, -1, -2)
            assert np.all(np.abs(back - a) <= 8 * n * eps * largest[..., None])
            if b > 8:
                few = native(lambda a, lower=lower: tuple(linalg.eigh(a, lower=lower, any_vectors=True)), a[3:7])
                np.testing.assert_array_equal(few(a[3:7])[0], w[3:7])


def test_the_vectors_that_are_seen_are_numpys() -> None:
    for n in (1, 4, 30):
        a = symmetric("ordinary", n, 3)
        for UPLO in "LU":
            close(lambda a, UPLO=UPLO: tuple(np.linalg.eigh(a, UPLO)), a)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_numpys(bad: float) -> None:
    a = np.diag([1.0, bad, 2.0])
    for f in (lambda a: tuple(np.linalg.eigh(a)), lambda a: linalg.eigh(a, lower=True, any_vectors=True)):
        try:
            expected = tuple(np.linalg.eigh(a))
        except np.linalg.LinAlgError as error:
            with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                native(f, a)(a)
        else:
            np.testing.assert_array_equal(native(f, a)(a)[0], expected[0])
