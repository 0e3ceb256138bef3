"""Eigenvalues and singular values: every rule by the checker of ops, and what equal values leave of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ops.cases import complex_numbers, shapes, well_conditioned
from tests.ops.check_op import Case, case, check_op, first_order, formula, normal_like
from wengert.ad.reverse import vjp
from wengert.ops.contract import matmul
from wengert.ops.elementwise import cast, tanh
from wengert.ops.linalg import eigh, svd
from wengert.ops.linalg.matrices import adjoint, columns_of
from wengert.ops.shape import reshape
from wengert.tape import Aval

CASES = [
    case(
        "eigh",
        well_conditioned(4, 4),
        kw=dict(lower=True, any_vectors=False),
        numpy=lambda x: tuple(np.linalg.eigh(x)),
        rtol=1e-7,
    ),
    case("eigh", shapes(2, 3, 3), kw=dict(lower=True, any_vectors=False), note="stack", rtol=1e-7),
    case(
        "eigh",
        shapes(3, 3),
        kw=dict(lower=False, any_vectors=False),
        numpy=lambda x: tuple(np.linalg.eigh(x, "U")),
        note="upper",
        rtol=1e-7,
    ),
    case("eig", shapes(2, 3, 3), note="stack", rtol=1e-6),
    case(
        "eig", complex_numbers(2, 3, 3), numpy=lambda x: tuple(np.linalg.eig(x)), dtypes="DF", note="complex", rtol=1e-6
    ),
    *[case("eig", shapes(n, n), note=f"{n}x{n}", rtol=1e-6) for n in (1, 2, 4, 5)],
    case("svd", well_conditioned(4, 4), kw=dict(full=False), numpy=lambda x: tuple(np.linalg.svd(x)), rtol=1e-7),
    case(
        "svd",
        shapes(5, 3),
        kw=dict(full=False),
        numpy=lambda x: tuple(np.linalg.svd(x, full_matrices=False)),
        note="tall",
        rtol=1e-7,
    ),
    case(
        "svd",
        shapes(2, 2, 4),
        kw=dict(full=False),
        numpy=lambda x: tuple(np.linalg.svd(x, full_matrices=False)),
        note="wide",
        rtol=1e-7,
    ),
    case("svd", shapes(4, 3), kw=dict(full=True), numpy=lambda x: tuple(np.linalg.svd(x)), note="full", rtol=1e-7),
    case("svd", shapes(2, 2, 3), kw=dict(full=True), note="full, wide stack", rtol=1e-7),
]
RNG = np.random.default_rng(0)
TURN, _ = np.linalg.qr(RNG.normal(size=(4, 4)))
M = RNG.normal(size=(4, 4))


@pytest.mark.sampled(9, "every decomposition is compiled, in both orders of derivatives")
@pytest.mark.parametrize("one", CASES, ids=str)
def test_rules(one: Case) -> None:
    check_op(one)


def scaled(v: Any, s: Any) -> Any:
    """Its columns times the numbers."""
    return v * cast(reshape(s, shape=(*s.aval.shape[:-1], 1, s.aval.shape[-1])), v.aval.dtype)


def of_eigenvalues(x: Any) -> Any:
    """Functions of a matrix, which no phase of a vector is in."""
    w, v = eigh(x, lower=True, any_vectors=False)
    return w, matmul(scaled(v, tanh(w)), adjoint(v)), matmul(scaled(v, w * w * w), adjoint(v))


def of_singular_values(x: Any) -> Any:
    u, s, vh = svd(x, full=False)
    left, right = matmul(scaled(u, s * s * s), adjoint(u)), matmul(scaled(adjoint(vh), s * s * s), vh)
    return s, matmul(scaled(u, tanh(s)), vh), left, right


def of_the_space_beside(x: Any) -> Any:
    """Projectors onto what x, and what its adjoint, does not reach, for the columns that complete u and v."""
    u, s, vh = svd(x, full=True)
    k, v = s.aval.shape[-1], adjoint(vh)
    beside = [columns_of(q, k, q.aval.shape[-1] - k) for q in (u, v)]
    return (s, *[matmul(q, adjoint(q)) for q in beside if q.aval.shape[-1]])


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (6, 6), (2, 4, 4), (2, 4, 2), (2, 4)], ids=str)
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("f", [of_eigenvalues, of_singular_values, of_the_space_beside])
def test_what_has_no_phase_at_first_and_second_order(f: Any, dtype: Any, shape: Any) -> None:
    if f is of_eigenvalues and shape[-1] != shape[-2]:
        return
    rng = np.random.default_rng(3)
    (x,) = normal_like(rng, [Aval(shape, np.dtype(dtype))])
    tape, free = formula(f, Aval(shape, np.dtype(dtype))), [lambda dx: dx]
    outputs = range(len(tape.outputs))
    first_order(tape, [0], outputs, [x], rng, 1e-6, free)
    joint = vjp(tape, [0], outputs)
    xs = [x, *normal_like(rng, [v.aval for v in tape.outputs])]
    gradients = range(len(tape.outputs), len(joint.outputs))
    first_order(joint, range(len(xs)), gradients, xs, rng, 1e-5, free * len(xs))


@pytest.mark.sampled(21, "a second each")
@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
def test_what_is_put_together_again_moves_as_it_was(dtype: str, n: int) -> None:
    x, dx = normal_like(np.random.default_rng(n), [Aval((2, n, n), np.dtype(dtype))] * 2)
    dx = np.tril(dx, -1) + np.tril(dx).conj().swapaxes(-1, -2)
    dx[..., range(n), range(n)] = dx[..., range(n), range(n)].real
    together = {
        "eig": lambda x: (lambda w, v: v * w[..., None, :] @ np.linalg.inv(v))(*np.linalg.eig(x)),
        "eigh": lambda x: (lambda w, v: v * w[..., None, :] @ v.conj().swapaxes(-1, -2))(*np.linalg.eigh(x)),
        "svd": lambda x: (lambda u, s, vh: u * s[..., None, :] @ vh)(*np.linalg.svd(x)),
        "qr": lambda x: np.matmul(*np.linalg.qr(x)),
    }
    for name, f in together.items():
        y, dy = wg.jvp(f, (x,), (dx,))
        assert y.dtype == (x.dtype if name != "eig" else np.result_type(y, np.float32))
        np.testing.assert_allclose(dy, dx, atol=2e-4 if dtype in "fF" else 1e-11, err_msg=name)
        _, pullback = wg.vjp(f, x)
        (back,) = pullback(dx)
        if name == "eigh":  # of the triangle that is read
            back = (back + back.conj().swapaxes(-1, -2)) / 2
        np.testing.assert_allclose(back, dx, atol=2e-4 if dtype in "fF" else 1e-11, err_msg=name)


def test_complex_values_that_are_equal() -> None:
    rng = np.random.default_rng(5)
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))
    x = turn * [2, 2, 5, 5] @ turn.conj().T
    ct = wg.grad(lambda x: np.sum(np.linalg.eigvalsh(x) ** 3))(x)  # of tr x³
    whole = 3 * np.conj(x @ x)
    np.testing.assert_allclose(ct, 2 * np.tril(whole, -1) + np.diag(np.diag(whole)), atol=1e-11)
    low = lambda x: (lambda v: np.real(np.sum((v @ v.conj().T) * M)))(np.linalg.eigh(x)[1][:, :2])
    dx = M + M.T + 1j * (M - M.T)
    slope = (low(x + 1e-6 * dx) - low(x - 1e-6 * dx)) / 2e-6
    assert np.sum(wg.grad(low)(x) * dx).real == pytest.approx(slope, rel=1e-6)
    assert np.isnan(wg.grad(lambda x: np.sum(np.abs(np.linalg.eigh(x)[1][:, 0]) ** 4))(x)).any()


@pytest.fixture(
    params=[np.diag([1.0, 1.0, 1.0, 3.0]), TURN @ np.diag([2.0, 2.0, 5.0, 5.0]) @ TURN.T], ids=["axes", "turned"]
)
def degenerate(request: Any) -> Any:
    """A symmetric matrix with eigenvalues that are equal."""
    return (request.param + request.param.T) / 2


def by_differences(f: Any, x: Any, step: float = 1e-6) -> Any:
    """Along symmetric directions: what the lower triangle means."""
    out = np.zeros_like(x)
    for i, j in zip(*np.tril_indices(len(x)), strict=True):
        d = np.zeros_like(x)
        d[i, j] = d[j, i] = step
        out[i, j] = (f(x + d) - f(x - d)) / (2 * step)
    return out


def test_a_sum_over_equal_eigenvalues(degenerate: Any) -> None:
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(np.linalg.eigvalsh(x)))(degenerate), np.eye(4), atol=1e-12)
    cubes = lambda x: np.sum(np.linalg.eigvalsh(x) ** 3)
    np.testing.assert_allclose(wg.grad(cubes)(degenerate), by_differences(cubes, degenerate), atol=1e-6)


def test_a_projector_onto_the_space_of_equal_eigenvalues(degenerate: Any) -> None:
    low = degenerate[0, 0] if np.count_nonzero(degenerate) == 4 else 2.0
    count = int(np.sum(np.abs(np.linalg.eigvalsh(degenerate) - low) < 1e-9))

    def f(x: Any) -> Any:
        v = np.linalg.eigh(x)[1][:, :count]
        return np.sum((v @ v.T) * M)

    np.testing.assert_allclose(wg.grad(f)(degenerate), by_differences(f, degenerate), atol=1e-6)


def test_a_vector_of_several_is_not_determined(degenerate: Any) -> None:
    """Never a large wrong number."""
    one = lambda x: np.sum(np.linalg.eigh(x)[1][:, 0] * np.arange(4.0))
    assert np.isnan(wg.grad(one)(degenerate)).any()
    tangent = np.arange(16.0).reshape(4, 4)
    assert np.isnan(wg.jvp(lambda x: np.linalg.eigh(x)[1], (degenerate,), (tangent,))[1]).any()


def test_the_triangle_that_is_read() -> None:
    x = RNG.normal(size=(3, 3))
    for triangle, kept in (("L", np.tril), ("U", np.triu)):
        f = lambda x, triangle=triangle: np.sum(np.linalg.eigvalsh(x, triangle) ** 2)
        ct = wg.grad(f)(x)
        np.testing.assert_array_equal(ct, kept(ct))
        np.testing.assert_allclose(f(kept(x)), f(x), rtol=1e-12)


def test_equal_singular_values() -> None:
    norm = lambda x: np.sum(np.linalg.svdvals(x) ** 2)
    for x in (np.eye(3), 2 * TURN, np.zeros((3, 2))):
        np.testing.assert_allclose(wg.grad(norm)(x), 2 * x, atol=1e-12)
    polar = lambda x: (lambda u, s, vh: np.sum((u @ vh) * M[:3, :3]))(*np.linalg.svd(x))
    x = np.eye(3)
    np.testing.assert_allclose(wg.grad(polar)(x), (M[:3, :3] - M[:3, :3].T) / 2, atol=1e-12)  # u vᵀ of 1 + ε
    assert np.isnan(wg.grad(lambda x: np.sum(np.linalg.svd(x)[0][:, 0] * np.arange(3.0)))(x)).any()


def test_vectors_of_a_singular_value_of_zero_are_not_determined() -> None:
    x = np.outer(np.arange(1.0, 4.0), [1.0, 2.0])
    f = lambda x, k: np.sum(np.linalg.svd(x, full_matrices=False)[0][:, k] * np.arange(3.0))
    assert np.isfinite(wg.grad(f)(x, 0)).all()
    assert np.isnan(wg.grad(f)(x, 1)).any()


@pytest.mark.sampled(2, "two seconds each")
@pytest.mark.parametrize("dtype", [float, complex])
def test_equal_eigenvalues_of_matrices_that_are_not_hermitian(dtype: Any) -> None:
    """With independent vectors, what is symmetric in the values is right; with dependent ones nothing has a derivative:
    that of Σ w² is not that of 2 w Σ w. Never a large number."""
    turn = np.random.default_rng(2).normal(size=(4, 4)).astype(dtype)
    for x in (np.zeros((4, 4), dtype), np.eye(3, dtype=dtype), turn @ np.diag([1.0, 1, 3, 3]) @ np.linalg.inv(turn)):
        total = wg.grad(lambda x: np.real(np.sum(np.linalg.eigvals(x))))
        np.testing.assert_allclose(total(x), np.eye(len(x)), atol=1e-12)
        squares = wg.grad(lambda x: np.real(np.sum(np.linalg.eigvals(x) ** 2)))
        np.testing.assert_allclose(squares(x), 2 * x.T, atol=1e-11)
    for n in (2, 3, 4, 6):
        jordan, turn = np.eye(n, k=1) + 2 * np.eye(n), np.random.default_rng(n).normal(size=(n, n))
        for x in (jordan, turn @ jordan @ np.linalg.inv(turn)):
            x = x.astype(dtype)
            assert np.isnan(wg.grad(lambda x: np.real(np.sum(np.linalg.eigvals(x) ** 2)))(x)).all()
            assert np.isnan(wg.jvp(np.linalg.eigvals, (x,), (np.ones_like(x),))[1]).all()
    both = np.diag([1.0, 1, 3]).astype(dtype)
    vector = wg.grad(lambda x: np.real(np.sum(np.linalg.eig(x)[1][:, 0] * np.arange(3))))
    assert np.isnan(vector(both)).any()
    last = wg.grad(lambda x: np.real(np.sum(np.linalg.eig(x)[1][:, 2] * np.arange(3))))
    np.testing.assert_allclose(last(both), [[0, 0, 0], [0, 0, 0.5], [0, 0, 0]], atol=1e-14)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (1, 1)])
def test_empty_and_single(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 3.0)
    for f in (np.linalg.eigvalsh, np.linalg.svdvals, np.linalg.eigvals):  # which are complex since NumPy 2.5
        assert wg.grad(lambda x, f=f: np.sum(np.real(f(x))))(x).tolist() == np.ones(shape).tolist()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
def test_vectors_of_empty_matrices(shape: tuple[int, ...]) -> None:
    x = np.ones(shape)
    for f in (np.linalg.svd, lambda x: np.linalg.qr(x, "complete")):
        for found, expected in zip(wg.jit(f)(x), f(x), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert wg.grad(lambda x, f=f: sum(np.sum(part) for part in f(x)))(x).shape == shape


@pytest.mark.sampled(7, "half a second each")
@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_values_that_are_nearly_equal(n: int, gap: float) -> None:
    """What does not depend on which is which: the projector onto both, and the polar factor, in both modes."""
    rng = np.random.default_rng(n)
    turn, _ = np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))
    other, _ = np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))
    values = np.arange(1.0, n + 1)
    values[1] = 1 + gap
    weight, dx = rng.normal(size=(2, n, n)) + 1j * rng.normal(size=(2, n, n))
    both = lambda x: np.real(np.sum((lambda v: v @ v.conj().T)(np.linalg.eigh(x)[1][:, :2]) * weight))
    polar = lambda x: np.real(np.sum((lambda u, s, vh: u @ vh)(*np.linalg.svd(x)) * weight))
    for f, x, d in ((both, turn * values @ turn.conj().T, dx + dx.conj().T), (polar, turn * values @ other, dx)):
        h = 1e-5
        slope = (8 * (f(x + h * d) - f(x - h * d)) - (f(x + 2 * h * d) - f(x - 2 * h * d))) / (12 * h)
        size = np.abs(weight).sum() * np.abs(d).max()
        tolerance = size * max(1e-8, 1e-15 / gap)
        assert abs(np.real(np.sum(wg.grad(f)(x) * d)) - slope) < tolerance
        assert abs(wg.jvp(f, (x,), (d,))[1] - slope) < tolerance


ONE = np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 1]])
SYMMETRIC = np.array([[2.0, 6, 10], [6, 10, 14], [10, 14, 18]])


def right_or_nan(got: Any, right: Any) -> None:
    assert np.all(np.isnan(got) | (np.abs(got - right) <= 1e-6 * np.max(np.abs(right)))), f"{got}, not {right}"


def test_the_second_derivative_of_a_simple_vector_beside_equal_ones_was_half_of_it() -> None:
    def f(t: Any) -> Any:
        v = np.linalg.eigh(np.diag([2.0, -1, -1]) + t * ONE)[1][:, 2]
        return v[1] / v[0]

    forward: Any = lambda g: lambda t: wg.jvp(g, (t,), (1.0,))[1]
    assert wg.grad(f)(0.0) == pytest.approx(1 / 3)
    assert forward(f)(0.0) == pytest.approx(1 / 3)
    for second in (wg.grad(wg.grad(f)), forward(wg.grad(f)), wg.grad(forward(f)), forward(forward(f))):
        right_or_nan(second(0.0), 4 / 3)


@pytest.mark.parametrize(
    ("function", "slope", "values"),
    [(np.exp, np.exp, [1.0, 1, 1]), (np.exp, np.exp, [1.0, 1, 2]), (lambda w: w, np.ones_like, [0.0, 0, 1])],
    ids=["exp of 1", "exp", "itself"],
)
def test_a_function_of_a_matrix_of_equal_eigenvalues_had_none_of_its_derivative_between_them(
    function: Any, slope: Any, values: Any
) -> None:
    """In v f(w) vᴴ the numerator between equal values is zero, and so is what it is divided by; or f is zero itself."""
    values = np.array(values)
    apart = np.subtract.outer(values, values)
    quotient = np.subtract.outer(function(values), function(values)) / np.where(apart == 0, 1, apart)
    right = SYMMETRIC * np.where(apart == 0, slope(values)[:, None], quotient)

    def f(x: Any) -> Any:
        w, v = np.linalg.eigh((x + x.T) / 2)
        return np.sum(((v * function(w)) @ v.T) * SYMMETRIC)

    def by_eig(x: Any) -> Any:
        w, v = np.linalg.eig(x)
        return np.sum(np.real((v * function(w)) @ np.linalg.inv(v)) * SYMMETRIC)

    def by_svd(x: Any) -> Any:
        u, s, vh = np.linalg.svd(x)
        return np.sum(((u * s) @ vh) * SYMMETRIC)

    for g in (f, by_eig):
        right_or_nan(wg.grad(g)(np.diag(values)), right)
        right_or_nan(wg.jvp(g, (np.diag(values),), (ONE,))[1], np.sum(right * ONE))
    right_or_nan(wg.grad(by_svd)(np.diag(values)), SYMMETRIC)


def test_vectors_of_equal_values_turn_although_nothing_turns_them_at_first_order() -> None:
    """By what reaches both from a third; the tangent was that of vectors that stay."""
    direction = np.array([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])
    for f, x in ((lambda x: np.linalg.eigh(x)[1], np.diag([-1.0, -1, 2])), (lambda x: np.linalg.svd(x)[0], np.eye(3))):
        assert np.isnan(wg.jvp(f, (x,), (direction,))[1][:, 0]).all()
        assert not np.any(wg.jvp(f, (x,), (np.zeros((3, 3)),))[1])


def test_what_of_equal_values_is_not_used_does_not_matter() -> None:
    """A single vector, the values, and what is left of a matrix by its largest singular value, which is all of it."""
    x = np.diag([1.0, 1, 2])
    simple = lambda x: (lambda w, v: np.sum(np.square(w)) + v[0, 2] * v[2, 2])(*np.linalg.eigh(x))
    np.testing.assert_allclose(wg.grad(simple)(x), by_differences(simple, x), atol=1e-6)
    x = np.outer([1.0, 2, 3], [1.0, 0, 1])
    u, _, vh = np.linalg.svd(x)
    largest = lambda x: (lambda u, s, vh: np.sum(((u[:, :1] * s[:1]) @ vh[:1]) * SYMMETRIC))(*np.linalg.svd(x))
    beside = lambda q: np.eye(3) - np.outer(q, q)
    right = SYMMETRIC - beside(u[:, 0]) @ SYMMETRIC @ beside(vh[0])
    np.testing.assert_allclose(wg.grad(largest)(x), right, atol=1e-11)
