"""Complex arrays as two real ones: no step calls Python that need not, nothing is copied, and what nobody reads is not
computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ops.check_op import formula
from wengert.ops.complex import interleave, plane
from wengert.ops.contract import contract
from wengert.ops.elementwise import conjugate, convert, exp, imag, real
from wengert.ops.reduce import prod
from wengert.ops.shape import broadcast_to
from wengert.passes.planes import planes
from wengert.tape import Aval, check

C, F = np.dtype(complex), np.dtype(float)
V, M = Aval((6,), C), Aval((6, 6), C)
RNG = np.random.default_rng(0)


def draw(*shape: int, dtype: Any = complex) -> Any:
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


def ops_of(f: Any, *avals: Aval) -> list[str]:
    return [i.op.name for i in check(planes(formula(f, *avals))).instrs]


def kinds(f: Any, *args: Any) -> list[str]:
    return [k.kind for k in wg.jit(f).program(*args).kernels]


def test_a_tape_of_real_numbers_stays_as_it_is() -> None:
    tape = formula(lambda x: exp(x) * x, Aval((3,), F))
    assert planes(tape) is tape


def test_a_conjugate_is_one_sign() -> None:
    assert ops_of(lambda z: conjugate(z), V) == ["plane", "plane", "negative", "interleave"]


def test_what_is_not_read_is_not_computed() -> None:
    assert ops_of(lambda z, w: real(z * w), V, V).count("multiply") == 2
    assert ops_of(lambda z: imag(conjugate(z)), V) == ["plane", "negative"]


def test_there_and_back_is_nothing() -> None:
    assert ops_of(lambda z: conjugate(conjugate(z)), V) == ["plane", "plane", "negative", "negative", "interleave"]
    assert ops_of(lambda x: real(convert(x, dtype=C)), Aval((3,), F)) == []


def test_a_product_with_a_real_matrix_is_two() -> None:
    def product(x: Any, z: Any) -> Any:
        return contract(convert(x, dtype=C), z, a=(0, 1), b=(1,), out=(0,))

    assert ops_of(product, Aval((6, 6), F), V).count("contract") == 2
    assert ops_of(lambda z, w: contract(z, w, a=(0, 1), b=(1,), out=(0,)), M, V).count("contract") == 4


def test_literals_and_broadcasts() -> None:
    assert "interleave" in ops_of(lambda z: broadcast_to(z * 2j, shape=(4, 6)), V)
    f = wg.jit(lambda z, x: z[:, None] * 2j + x)
    z, x = draw(3), RNG.normal(size=(3, 2))
    np.testing.assert_allclose(f(z, x), z[:, None] * 2j + x, rtol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8])
def test_products_of_all_elements(n: int) -> None:
    z = draw(2, n)
    assert kinds(lambda z: np.prod(z, axis=1), z).count("callback") == 0
    np.testing.assert_allclose(wg.jit(lambda z: np.prod(z, axis=1))(z), np.prod(z, axis=1), rtol=1e-12)
    assert "prod" not in ops_of(lambda z: prod(z, axis=(0,)), V)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_the_results_are_those_of_numpy(dtype: Any) -> None:
    rtol = 1e-12 if dtype == np.complex128 else 1e-5
    a, z = draw(5, 5, dtype=dtype), draw(5, dtype=dtype)
    programs = [
        lambda a, z: a @ z,
        lambda a, z: (a.conj().T @ a, np.vdot(z, z)),
        lambda a, z: np.einsum("ij,j->i", a, z.conj()) / z,
        lambda a, z: np.where(a.real > 0, a, a.imag),
        lambda a, z: a[::2, ::-1] * z[[0, 1, 2, 1, 0]],
        lambda a, z: (a.real, a.imag.copy(), np.abs(a), np.angle(z)),
        lambda a, z: np.concatenate([a, z[None] ** 2]).sum(axis=0),
        lambda a, z: np.cumsum(a * 1j, axis=1) - a.mean(),
        lambda a, z: z.astype(np.complex128) == z,
        lambda a, z: np.kron(z, a[0]) + np.outer(z, z.conj()).ravel(),
    ]
    for f in programs:
        got, want = wg.jit(f)(a, z), f(a, z)
        for x, y in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, want)], strict=True):
            assert np.asarray(x).dtype == np.asarray(y).dtype
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)
        assert "callback" not in kinds(f, a, z)


def test_inputs_captures_and_results_lie_anywhere() -> None:
    captured = draw(8)[::2]
    f = wg.jit(lambda z: np.exp(z) * captured)
    for z in (draw(4), draw(8)[::-2], np.asfortranarray(draw(4, 4)), draw(0, 4), draw(4, 4)[:, ::-1]):
        np.testing.assert_allclose(f(z), np.exp(z) * captured, rtol=1e-13)
    out = draw(4)
    assert f(z[0], out=out) is out
    np.testing.assert_allclose(out, np.exp(z[0]) * captured, rtol=1e-13)
    np.testing.assert_allclose(wg.jit(lambda z: np.exp(z))(1 + 2j), np.exp(1 + 2j), rtol=1e-13)
    captured[0] = 5j
    np.testing.assert_allclose(f(z[0]), np.exp(z[0]) * captured, rtol=1e-13)


def test_what_python_computes_is_given_whole_arrays() -> None:
    def f(a: Any) -> Any:
        return np.cumprod(a @ a, axis=0) * 1j

    a = draw(3, 3) + 3 * np.eye(3)
    np.testing.assert_allclose(wg.jit(f)(a), f(a), rtol=1e-10)
    assert kinds(f, a).count("callback") == 1


def test_planes_are_written_where_the_result_is() -> None:
    """No copy: one kernel, which reads and writes pairs."""
    assert kinds(lambda z, w: np.exp(z) * w, draw(50), draw(50)) == ["loops"]
    program = wg.jit(lambda z, w: np.exp(z) * w).program(draw(50), draw(50))
    assert program.arena_bytes == 0


def test_values_that_are_made_by_a_program_are_its_own() -> None:
    """x.real of an argument is a view in NumPy; a result never is."""
    z = draw(3)
    re = wg.jit(lambda z: z.real)(z)
    z[:] = 0
    assert np.all(re != 0)


def test_a_guard_on_complex_numbers() -> None:
    f = wg.jit(lambda z: z * 2 if z[0] == 1j else z)
    for z in (np.array([1j, 2]), np.array([2j, 2]), np.array([1j, 3])):
        np.testing.assert_array_equal(f(z), z * 2 if z[0] == 1j else z)


def test_the_two_forms() -> None:
    z = draw(3)
    assert plane.reference(z, offset=8).tolist() == z.imag.tolist()
    assert interleave.reference(z.real, z.imag).tolist() == z.tolist()
