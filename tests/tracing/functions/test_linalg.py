"""numpy.linalg on traced arrays: against NumPy, and differences."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
import wengert.tracing.functions.linalg  # fills the table of traced functions
from tests.comparisons import NUMPY
from tests.differences import check, check_derivative, check_value, same
from wengert.errors import ShapeError, UnsupportedFunctionError

RNG = np.random.default_rng(7)
A, B, C = RNG.standard_normal((3, 4, 4)) + 3 * np.eye(4)
STACK = RNG.standard_normal((2, 3, 4, 4)) + 3 * np.eye(4)
X = RNG.standard_normal((3, 4))
V = RNG.standard_normal(4)


# ---------------------------------------------------------------------------------- solutions, factorisations


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (A, V),
        (A, B),
        (A, B[:, :2]),
        (STACK, V),
        (STACK, STACK[:, :, :, :2]),
        (STACK, B),
        (A, STACK[..., :1]),
        (STACK[0], STACK[:, :1, :, :3]),
        (A[:0, :0], V[:0]),
    ],
    ids=lambda x: str(x.shape),
)
def test_solve(a, b):
    check(np.linalg.solve, a, b)


def test_solve_with_one_matrix_for_a_stack_factors_it_once():
    tape = wg.trace(lambda a, b: np.linalg.solve(a, b))(A, STACK[..., :2])
    (solve,) = [i for i in tape.instrs if i.op.name == "solve"]
    assert [a.aval.shape for a in solve.ins] == [(4, 4), (4, 12)]


def test_a_stack_of_vectors_is_a_matrix_as_in_numpy_2():
    with pytest.raises(ShapeError, match=r"b\[\.\.\., None\]"):
        wg.jit(np.linalg.solve)(STACK[0], X[:, :3])


@pytest.mark.parametrize("f", [np.linalg.inv, np.linalg.det], ids=lambda f: f.__name__)
@pytest.mark.parametrize("a", [A, STACK, A[:1, :1], A[:2, :2], A[:3, :3]], ids=lambda a: str(a.shape))
def test_inverse_and_determinant(f, a):
    check(f, a, rtol=1e-6)


@pytest.mark.parametrize("a", [A, STACK], ids=lambda a: str(a.shape))
def test_slogdet(a):
    check_value(np.linalg.slogdet, a)
    check_derivative(lambda a: np.linalg.slogdet(a).logabsdet, a)
    check_derivative(lambda a: np.linalg.slogdet(a)[0] * np.linalg.slogdet(a)[1], -a)


@pytest.mark.sampled(3, "every shape is compiled, for both triangles")
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("a", [A, STACK], ids=lambda a: str(a.shape))
def test_cholesky(a, upper):
    check(lambda a: np.linalg.cholesky(a @ a.swapaxes(-1, -2), upper=upper), a)


def test_cholesky_of_a_matrix_with_one_triangle_filled_had_half_the_gradient():
    def f(x):
        a = np.zeros((2, 2))
        a[0, 0], a[1, 0], a[1, 1] = x
        return np.linalg.cholesky(a)[1, 0]  # x₁ / √x₀

    x = np.array([4.0, 3.0, 9.0])
    for g in (wg.grad(f), wg.jit(wg.grad(f))):
        np.testing.assert_allclose(g(x), [-3 / 16, 1 / 2, 0])


def test_cholesky_reads_one_triangle():
    a = A @ A.T
    for upper, half in ((False, np.tril(a)), (True, np.triu(a))):
        same(
            wg.jit(lambda x, upper=upper: np.linalg.cholesky(x, upper=upper))(half),
            np.linalg.cholesky(half, upper=upper),
        )


def test_gradient_of_det_at_a_singular_matrix():
    a = np.outer(V, V)
    a[3] += X[0]
    assert abs(np.linalg.det(a)) < 1e-12
    h = 1e-6 * np.ones((4, 4)) * X[0]
    slope = (np.linalg.det(a + h) - np.linalg.det(a - h)) / 2
    assert np.sum(wg.grad(np.linalg.det)(a) * h) == pytest.approx(slope, abs=1e-15)
    assert np.isfinite(wg.hessian(lambda a: np.linalg.det(a))(a)).all()


def test_the_derivative_of_determinants_of_which_some_are_zero() -> None:
    """One of them sent all of a stack the slow way; now each goes its own. Against minors."""
    x = np.random.default_rng(0).standard_normal((5, 4, 4))
    x[1] = 0
    x[2, 0] = x[2, 3]
    x[3] *= 1e-90  # its determinant is zero in float64, not its cofactors
    minors = [
        [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(m, i, 0), j, 1)) for j in range(4)] for i in range(4)]
        for m in x
    ]
    gradient = wg.jit(wg.grad(lambda x: np.sum(np.linalg.det(x))))(x)
    scale = np.max(np.abs(minors), (1, 2), keepdims=True)
    assert np.all(np.abs(gradient - minors) <= 1e-13 * scale)


def test_singular_matrices_raise_as_in_numpy():
    with pytest.raises(np.linalg.LinAlgError):
        wg.grad(lambda a: np.sum(np.linalg.inv(a)))(np.zeros((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        wg.jit(np.linalg.cholesky)(-np.eye(2))


def test_matrices_that_are_not_square_are_refused_with_the_users_line():
    for f in (np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky):
        with pytest.raises(ShapeError, match=r"square(.|\n)*test_linalg"):
            wg.jit(lambda x, f=f: f(x))(X)
    with pytest.raises(ShapeError, match="square"):
        wg.jit(np.linalg.inv)(V)


def test_integers_are_solved_in_float64_and_float32_stays():
    a = np.array([[2, 1], [1, 3]])
    for f in (np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky):
        for dtype in (int, bool, np.int8, np.float32):
            check_value(f, (a if dtype is not bool else np.eye(2)).astype(dtype))
    check_value(np.linalg.solve, a, np.float32([1, 2]))
    check_value(np.linalg.solve, a.astype(np.float32), np.float32([1, 2]))
    check_value(np.linalg.norm, a)
    check_value(np.linalg.norm, a.astype(np.float16))
    with pytest.raises(TypeError, match="float16"):
        wg.jit(np.linalg.inv)(a.astype(np.float16))


def test_a_list_of_traced_values_is_a_right_hand_side():
    def f(x):
        return np.linalg.solve(np.array([[2.0, x], [0.0, 1.0]]), [x, x * x])

    check(f, 0.3)


@pytest.mark.parametrize("p", [1, -1, np.inf, -np.inf, "fro"])
@pytest.mark.parametrize("a", [A, STACK], ids=lambda a: str(a.shape))
def test_cond(a, p):
    check(lambda a: np.linalg.cond(a, p), a, rtol=1e-6)


# ------------------------------------------------------------------------------------------- powers, products


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize("a", [A, STACK], ids=lambda a: str(a.shape))
def test_matrix_power(a, n):
    check(lambda a: np.linalg.matrix_power(a / 3, n), a, rtol=1e-6)


def test_matrix_power_counts():
    for n, products in ((2, 1), (3, 2), (8, 3), (7, 4), (100, 8)):
        tape = wg.trace(lambda a, n=n: np.linalg.matrix_power(a, n))(A)
        assert len(tape) == products
    check_value(lambda a: np.linalg.matrix_power(a, 3), np.arange(4).reshape(2, 2))
    with pytest.raises(TypeError, match="integer"):
        wg.jit(lambda a: np.linalg.matrix_power(a, 0.5))(A)


@pytest.mark.parametrize(
    "shapes",
    [[(3, 4), (4, 2)], [(3, 4), (4, 2), (2, 5)], [(4,), (4, 2), (2, 5), (5,)], [(4,), (4, 5), (5, 2), (2, 3)],
     [(10, 100), (100, 5), (5, 50), (50, 1)], [(3, 2), (2, 6), (6,)]],
    ids=str,
)  # fmt: skip
def test_multi_dot(shapes):
    xs = [RNG.standard_normal(s) for s in shapes]
    check(lambda *xs: np.linalg.multi_dot(xs), *xs)


def test_multi_dot_takes_the_cheapest_order():
    xs = [np.ones(s) for s in ((10, 100), (100, 5), (5, 50))]
    tape = wg.trace(lambda *xs: np.linalg.multi_dot(xs))(*xs)
    assert [i.outs[0].aval.shape for i in tape.instrs] == [(10, 5), (10, 50)]


def test_tensorsolve_and_tensorinv():
    a = RNG.standard_normal((2, 3, 6)) + np.eye(6).reshape(2, 3, 6) * 3
    check(np.linalg.tensorsolve, a, X[:2, :3])
    b = a.transpose(0, 2, 1)
    check(lambda b, x: np.linalg.tensorsolve(b, x, axes=(1,)), b, X[:2, :3])
    check(lambda a: np.linalg.tensorinv(a.reshape(6, 2, 3), ind=1), a)
    check(lambda a: np.linalg.tensorinv(a), a)


def test_names_of_the_array_api():
    la = np.linalg
    check(la.matmul, A, STACK)
    check(lambda a, b: la.tensordot(a, b, axes=1), X, A)
    check(lambda a, b: la.vecdot(a, b), X, X + 1)
    check(lambda a, b: la.vecdot(a, b, axis=0), X, X + 1)
    check(la.outer, V, X[0])
    check(la.cross, X[:, :3], X[:, 1:])
    check(lambda a: la.trace(a, offset=1), STACK)
    check(lambda a: la.diagonal(a, offset=-1), STACK)
    check(la.matrix_transpose, STACK)
    with pytest.raises(ValueError, match="one-dimensional"):
        wg.jit(la.outer)(X, X)


# ------------------------------------------------------------------------------------------------------ norms


@pytest.mark.sampled(11, "all orders along all axes")
@pytest.mark.parametrize("ord", [None, 2, 1, np.inf, -np.inf, 0, 3, 2.5, 1.5, 0.5, -1, -2])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(("x", "axis"), [(V, None), (X, 0), (X, -1), (STACK, (2,))], ids=str)
def test_vector_norm(x, axis, ord, keepdims):
    check(lambda x: np.linalg.norm(x, ord, axis, keepdims), x)
    check(lambda x: np.linalg.vector_norm(x, ord=ord or 2, axis=axis, keepdims=keepdims), x)


@pytest.mark.sampled(3, "many that are alike")
@pytest.mark.parametrize("ord", [None, "fro", "f", 1, -1, np.inf, -np.inf])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(("x", "axis"), [(X, None), (STACK, (0, -1)), (STACK, (3, 1))], ids=str)
def test_matrix_norm(x, axis, ord, keepdims):
    check(lambda x: np.linalg.norm(x, ord, axis, keepdims), x)


def test_norms_over_all_axes():
    check(np.linalg.norm, STACK)
    check(lambda x: np.linalg.norm(x, keepdims=True), STACK)
    check(lambda x: np.linalg.vector_norm(x, axis=(0, 2), ord=3), STACK)
    check(lambda x: np.linalg.vector_norm(x, keepdims=True), STACK)
    check(np.linalg.matrix_norm, STACK)
    check(lambda x: np.linalg.matrix_norm(x, ord=1, keepdims=True), STACK)
    check(np.linalg.norm, 2.0)
    check_value(np.linalg.norm, np.zeros((0,)))
    check_value(lambda x: np.linalg.norm(x, np.inf), np.zeros((0,)))
    check_value(lambda x: np.linalg.norm(x, np.inf, axis=0), np.zeros((0, 3)))
    check_value(np.linalg.norm, X + 1j * X)


@pytest.mark.parametrize("ord", [None, 2, 1, np.inf, 3, 1.5, 0.5])
def test_gradient_of_a_norm_at_zero_is_zero(ord):
    gradient = wg.grad(lambda x: np.linalg.norm(x, ord))
    assert gradient(np.zeros(3)).tolist() == [0, 0, 0]
    assert np.isfinite(gradient(np.array([0.0, 1.0, 2.0]))).all()
    hessian = wg.hessian(lambda x: np.linalg.norm(x, ord))
    assert not np.isnan(hessian(np.zeros(3))).any()
    assert not np.isnan(hessian(np.array([0.0, 1.0, 2.0]))).any()


def test_gradient_of_norms_of_rows_one_of_them_zero():
    x = np.array([[3.0, 4.0], [0.0, 0.0]])
    gradient = wg.grad(lambda x: np.sum(np.linalg.norm(x, axis=1)))(x)
    np.testing.assert_allclose(gradient, [[0.6, 0.8], [0, 0]])


@pytest.mark.parametrize("ord", [2, -2, "nuc"])
def test_norms_by_singular_values(ord):
    check(lambda x: np.linalg.norm(x, ord), X, rtol=1e-6)
    check(lambda x: np.linalg.norm(x, ord, axis=(2, 0), keepdims=True), STACK[0], rtol=1e-6)
    check(lambda x: np.linalg.matrix_norm(x, ord=ord), STACK, rtol=1e-6)


@pytest.mark.parametrize("p", [None, 2, -2])
def test_condition_by_singular_values(p):
    check(lambda x: np.linalg.cond(x, p), A, rtol=1e-6)
    check(lambda x: np.linalg.cond(x, p), STACK, rtol=1e-6)


# ---------------------------------------------------------------------------- eigenvalues and singular values

SYMMETRIC = A + A.T


@pytest.mark.parametrize("uplo", ["L", "U", "l"])
def test_eigenvalues_of_symmetric_matrices(uplo):
    check(lambda x: np.linalg.eigvalsh(x, uplo), A, rtol=1e-6)
    check(lambda x: np.linalg.eigh(x, UPLO=uplo).eigenvalues, STACK, rtol=1e-6)
    check(lambda x: (lambda w, v: v * np.exp(w) @ v.T)(*np.linalg.eigh(x, uplo)), SYMMETRIC, rtol=1e-6)


@pytest.mark.parametrize("x", [A, X, X.T, STACK[:, :, :3]], ids=lambda x: str(x.shape))
def test_singular_values(x):
    check(np.linalg.svdvals, x, rtol=1e-6)
    check(lambda x: np.linalg.svd(x, compute_uv=False), x, rtol=1e-6)
    check(lambda x: (lambda u, s, vh: (u * np.tanh(s)[..., None, :]) @ vh)(*np.linalg.svd(x, False)), x, rtol=1e-6)


@pytest.mark.parametrize("x", [A, X, X.T, STACK[0], STACK[:, :, :3]], ids=lambda x: str(x.shape))
def test_qr(x):
    check(lambda x: np.linalg.qr(x).R, x, rtol=1e-6)
    check(lambda x: np.linalg.qr(x)[0], x, rtol=1e-6)
    check(lambda x: np.linalg.qr(x, "r"), x, rtol=1e-6)
    if x.shape[-1] >= x.shape[-2]:
        check(lambda x: np.linalg.qr(x, "complete").Q, x, rtol=1e-6)


@pytest.mark.parametrize("x", [A, X, X.T, STACK[0], np.outer(V, V[:3])], ids=lambda x: str(x.shape))
def test_pseudo_inverse(x):
    check_value(np.linalg.pinv, x)
    check_value(lambda x: np.linalg.pinv(x, rtol=0.3), x)
    if np.all(np.linalg.matrix_rank(x) == min(x.shape[-2:])):
        check_derivative(np.linalg.pinv, x, rtol=1e-6)


def test_the_derivative_of_a_pseudo_inverse_is_that_among_matrices_of_its_rank():
    u, v = RNG.standard_normal(4), RNG.standard_normal(3)
    f = lambda u: np.sum(np.linalg.pinv(np.outer(u, v)) * np.arange(12.0).reshape(3, 4))
    expected = lambda u: np.sum(np.outer(v, u) / (u @ u) / (v @ v) * np.arange(12.0).reshape(3, 4))
    np.testing.assert_allclose(wg.grad(f)(u), wg.grad(expected)(u), rtol=1e-8)


def test_rank():
    for x in (A, X, np.outer(V, V), np.zeros((3, 3)), STACK, V, np.zeros(3)):
        check_value(np.linalg.matrix_rank, x)
        check_value(lambda x: np.linalg.matrix_rank(x, 0.5), x)
        check_value(lambda x: np.linalg.matrix_rank(x, rtol=0.5), x)


@pytest.mark.parametrize("x", [A, X, X.T, np.outer(V, V[:3])], ids=lambda x: str(x.shape))
def test_least_squares(x):
    for b in (RNG.standard_normal(x.shape[0]), RNG.standard_normal((x.shape[0], 2))):
        found, expected = wg.jit(lambda x, b: np.linalg.lstsq(x, b))(x, b), np.linalg.lstsq(x, b)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-12)
        if expected[2] == min(x.shape):
            check_derivative(lambda x, b: np.linalg.lstsq(x, b)[0], x, b, rtol=1e-5)
    for wrong in (x[0], x[:2]):
        with pytest.raises(np.linalg.LinAlgError):
            wg.jit(lambda x, b: np.linalg.lstsq(x, b)[0])(wrong, np.ones(3))


def complex_like(x):
    return x + 1j * np.random.default_rng(3).standard_normal(x.shape)


AC, BC, SC, XC = [complex_like(x) for x in (A, B, STACK[:, 0], X)]


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.sampled(2, "two seconds each")
@pytest.mark.parametrize("a", [AC, SC], ids=lambda a: str(a.shape))
def test_complex_factorisations(a):
    for upper in (False, True):
        check(lambda a, upper=upper: np.linalg.cholesky(a @ adjoint(a), upper=upper), a)
    for part in (0, 1):
        check(lambda a, part=part: np.linalg.qr(a)[part], a, rtol=1e-6)
        check(lambda a, part=part: np.linalg.qr(a[..., :2])[part], a, rtol=1e-6)
        check(lambda a, part=part: np.linalg.qr(a[..., :2, :])[part], a, rtol=1e-6)
        check(lambda a, part=part: np.linalg.slogdet(a)[part], a, rtol=1e-6)


@pytest.mark.sampled(3, "half a second each")
@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("a", [AC, SC], ids=lambda a: str(a.shape))
def test_eigenvalues_of_hermitian_matrices(a, uplo):
    check(lambda x: np.linalg.eigvalsh(x, uplo), a, rtol=1e-6)
    check_value(lambda x: np.linalg.eigh(x, uplo).eigenvectors, a)
    check(lambda x: (lambda w, v: v * np.exp(w[..., None, :]) @ adjoint(v))(*np.linalg.eigh(x, uplo)), a, rtol=1e-6)


@pytest.mark.sampled(5, "every shape is compiled")
@pytest.mark.parametrize("a", [AC, XC, XC.T, SC], ids=lambda a: str(a.shape))
def test_singular_values_and_solutions_of_complex_matrices(a):
    check(np.linalg.svdvals, a, rtol=1e-6)
    check(lambda x: (lambda u, s, vh: (u * np.tanh(s)[..., None, :]) @ vh)(*np.linalg.svd(x, False)), a, rtol=1e-6)
    check(np.linalg.pinv, a, rtol=1e-6)
    for tol in (None, 1.0):
        check_value(lambda x, tol=tol: np.linalg.matrix_rank(x, tol), a)
    if a.ndim == 2:
        found, expected = wg.jit(np.linalg.lstsq)(a, a[:, :2] + 1), np.linalg.lstsq(a, a[:, :2] + 1)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-12)
            assert np.asarray(one).dtype.kind == np.asarray(other).dtype.kind
        check_derivative(lambda a, b: np.linalg.lstsq(a, b)[0], a, a[:, 0] * 2j, rtol=1e-5)
    if a.shape == (4, 3):
        check_derivative(lambda a, b: np.linalg.lstsq(a, b)[1], a, a[:, 0] + V, rtol=1e-5)


def test_norms_and_conditions_of_complex_matrices():
    for order in ("fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf):
        check(lambda x, order=order: np.linalg.norm(x, order), XC, rtol=1e-6)
    for order in (2, -2):
        check(lambda x, order=order: np.linalg.cond(x, order), XC, rtol=1e-6)
    for p in (1, -1, np.inf, -np.inf, "fro"):
        condition = np.real if NUMPY < (2, 4) else lambda y: y  # before, complex numbers without an imaginary part
        check(lambda a, p=p, condition=condition: condition(np.linalg.cond(a, p)), AC, rtol=1e-6)


def test_compositions_of_complex_matrices():
    for n in (-2, 0, 3):
        check(lambda a, n=n: np.linalg.matrix_power(a / 3, n), SC, rtol=1e-6)
    check(lambda *xs: np.linalg.multi_dot(xs), XC, AC, BC[:, 0])
    check(lambda a, b: np.linalg.tensorsolve(a.reshape(2, 2, 4), b.reshape(2, 2)), AC, BC[0], rtol=1e-6)
    check(lambda a: np.linalg.tensorinv(a.reshape(4, 2, 2), ind=1), AC, rtol=1e-6)
    check(np.linalg.det, SC, rtol=1e-6)
    check(lambda a: np.linalg.norm(a[0], 3), AC)
    assert wg.grad(lambda z: np.linalg.norm(z))(np.zeros(3, complex)).tolist() == [0, 0, 0]


@pytest.mark.sampled(5, "every shape is compiled")
@pytest.mark.parametrize("a", [X.T, STACK[0, :, :3], XC, X[:2]], ids=lambda a: f"{a.dtype}{a.shape}")
def test_vectors_that_complete_the_others(a):
    """Of the space that they span: NumPy's own, and projectors onto it."""
    m, n = a.shape[-2:]
    k = min(m, n)
    check_value(np.linalg.svd, a)

    def beside(x):
        u, _, vh = np.linalg.svd(x)
        q, p = u[..., k:], vh[..., k:, :]
        return np.matmul(q, adjoint(q)) if m > n else np.matmul(adjoint(p), p)

    check_derivative(beside, a, rtol=1e-6)
    tall = a if m > n else np.swapaxes(a, -1, -2)
    check_value(lambda x: np.linalg.qr(x, "complete"), tall)
    check(lambda x: np.linalg.qr(x, "complete").R, tall, rtol=1e-6)
    check_derivative(
        lambda x: (lambda q: np.matmul(q, adjoint(q)))(np.linalg.qr(x, "complete").Q[..., k:]), tall, rtol=1e-6
    )
    check_derivative(lambda x: np.matmul(*np.linalg.qr(x, "complete")), tall, rtol=1e-6)


@pytest.mark.sampled(5, "every part in every shape is compiled")
@pytest.mark.parametrize("a", [A, X, STACK[0, :, :3], XC.T], ids=lambda a: f"{a.dtype}{a.shape}")
def test_reflections_of_qr(a):
    for part in (0, 1):
        check(lambda x, part=part: np.linalg.qr(x, "raw")[part], a, rtol=1e-6)


def test_reflections_of_special_matrices():
    for x in (
        np.zeros((3, 2)),
        np.eye(3),
        -np.eye(3, dtype=complex) * 1j,
        np.zeros((0, 2)),
        np.zeros((2, 0)),
        np.ones((1, 1)),
    ):
        check_value(lambda x: np.linalg.qr(x, "raw"), x)


@pytest.mark.parametrize("a", [SYMMETRIC, A, AC, SC], ids=lambda a: f"{a.dtype}{a.shape}")
def test_hermitian_matrices_by_their_lower_triangle(a):
    la = np.linalg
    check_value(lambda x: la.svd(x, hermitian=True), a)
    check(lambda x: la.svd(x, compute_uv=False, hermitian=True), a, rtol=1e-6)
    check(lambda x: (lambda u, s, vh: (u * np.exp(s)[..., None, :]) @ vh)(*la.svd(x, hermitian=True)), a, rtol=1e-6)
    check(lambda x: la.pinv(x, hermitian=True), a, rtol=1e-6)
    for tol in (None, 2.0):
        check_value(lambda x, tol=tol: la.matrix_rank(x, tol, hermitian=True), a)


TURNING = np.array([[0.0, -2, 0.3], [1, 0.1, 0], [0.2, 0, 1]])  # of which two eigenvalues are complex


@pytest.mark.sampled(3, "a second each")
@pytest.mark.parametrize("a", [A, SC, TURNING], ids=lambda a: f"{a.dtype}{a.shape}")
def test_eigenvalues_and_vectors(a):
    check(np.linalg.eigvals, a, rtol=1e-6)
    check_value(np.linalg.eig, a)
    check(lambda x: np.linalg.eig(x).eigenvalues, a, rtol=1e-6)
    check(lambda x: np.real(np.linalg.eig(x)[1] * np.linalg.eig(x)[1]), a, rtol=1e-6)
    check_derivative(wg.grad(lambda x: np.sum(np.abs(np.linalg.eig(x)[1][..., 0, :]) ** 4)), a, rtol=1e-5)
    check(
        lambda x: (lambda w, v: np.linalg.solve(v.swapaxes(-1, -2), v.swapaxes(-1, -2) * w[..., None]))(
            *np.linalg.eig(x)
        ),
        a,
    )


def test_eigenvalues_are_real_where_numpys_are():
    f = wg.jit(np.linalg.eigvals)
    for a in (
        SYMMETRIC,
        TURNING,
        SYMMETRIC[:3, :3],
        TURNING,
        np.zeros((3, 3)),
        np.zeros((0, 0)),
        np.arange(4).reshape(2, 2),
    ):
        same(f(a), np.linalg.eigvals(a))
    for a in (A, AC, TURNING):
        single = a.astype(np.complex64 if a.dtype.kind == "c" else np.float32)
        same(f(single), np.linalg.eigvals(single), rtol=1e-5)
    stack = np.stack([SYMMETRIC[:3, :3], TURNING])
    np.testing.assert_allclose(wg.vmap(np.linalg.eigvals)(stack), np.linalg.eigvals(stack))
    assert wg.vmap(np.linalg.eigvals)(stack[:1]).dtype == complex
    g = wg.grad(lambda a: np.sum(np.abs(np.linalg.eig(a)[1]) ** 4))
    np.testing.assert_allclose(wg.vmap(g)(stack), [g(x) for x in stack], rtol=1e-9, atol=1e-12)
    z = wg.jacobian(lambda t: np.linalg.eigvals(TURNING * t))(1.0)
    np.testing.assert_allclose(z, np.linalg.eigvals(TURNING), rtol=1e-12)
    for wrong in (X, V):
        with pytest.raises(ShapeError, match="square"):
            wg.jit(np.linalg.eig)(wrong)


SINGLE = AC.astype(np.complex64)
DECOMPOSED = [
    lambda a: np.linalg.cholesky(a @ adjoint(a) + np.eye(4, dtype=a.dtype)),
    lambda a: np.linalg.qr(a).R,
    np.linalg.svdvals,
    np.linalg.eigvalsh,
    np.linalg.pinv,
    lambda a: np.linalg.slogdet(a).sign,
    lambda a: (lambda w, v: v @ (np.tanh(w)[:, None] * adjoint(v)))(*np.linalg.eigh(a)),
]


@pytest.mark.sampled(3, "half a second each")
@pytest.mark.parametrize("f", DECOMPOSED)
def test_complex_decompositions_in_single_precision_mapped_and_of_second_order(f):
    loss = lambda a: np.sum(np.abs(f(a)) ** 2)
    for a in (SINGLE, A.astype(np.float32)):
        assert wg.jit(f)(a).dtype == f(a).dtype
        gradient = wg.jit(wg.grad(loss))(a)
        assert gradient.dtype == a.dtype
        wide = wg.grad(loss)(a.astype(complex if a is SINGLE else float))
        np.testing.assert_allclose(gradient, wide, rtol=1e-3, atol=1e-4 * np.abs(wide).max())
    np.testing.assert_allclose(wg.vmap(f)(SC), [f(x) for x in SC], rtol=1e-10, atol=1e-12)
    g = wg.grad(loss)
    np.testing.assert_allclose(wg.vmap(g)(SC), [g(x) for x in SC], rtol=1e-8, atol=1e-9)
    check_derivative(g, AC, rtol=1e-5)


def test_decompositions_that_are_refused():
    for f in (
        lambda x: np.linalg.pinv(x, rtol=x[0, 0]),
        lambda x: np.linalg.norm(x, x[0, 0]),
    ):
        with pytest.raises(UnsupportedFunctionError):
            wg.jit(f, strict=True)(X)
    for f, error in (
        (lambda x: np.linalg.qr(x, "nonsense"), ValueError),
        (lambda x: np.linalg.eigh(x[:, :3], "X"), ValueError),
        (lambda x: np.linalg.eigh(x), ShapeError),
        (lambda x: np.linalg.svd(x[0]), np.linalg.LinAlgError),
    ):
        with pytest.raises(error):
            wg.jit(f, strict=True)(X)


def test_norms_that_numpy_refuses():
    for args in (
        (X, 3),
        (X, None, (0, 0)),
        (STACK, None, (0, 1, 2)),
        (X, "nonsense"),
        (V, "fro"),
        (STACK, 2),
    ):
        with pytest.raises(ValueError):
            np.linalg.norm(*args)
        with pytest.raises(ValueError):
            wg.jit(lambda x, args=args: np.linalg.norm(x, *args[1:]))(args[0])
    with pytest.raises(TypeError, match="axis"):
        wg.jit(lambda x: np.linalg.norm(x, axis=[0]))(X)


# ----------------------------------------------------------------------------------------- higher order, vmap


def test_second_order_through_solve_and_norm():
    def f(a, b):
        x = np.linalg.solve(a, b)
        return np.linalg.norm(x) + np.linalg.slogdet(a)[1]

    check_derivative(lambda a, b: wg.grad(f)(a, b), A, V)
    check_derivative(lambda a, b: wg.grad(f, 1)(a, b), A, V)


@pytest.mark.parametrize(
    "f",
    [np.linalg.inv, np.linalg.det, lambda a: np.linalg.solve(a, a @ a), lambda a: np.linalg.cholesky(a @ a.T),
     lambda a: np.linalg.solve(A, a), lambda a: np.linalg.solve(a, V), np.linalg.norm],
)  # fmt: skip
def test_vmap_is_a_loop(f):
    xs = STACK[0]
    np.testing.assert_allclose(wg.vmap(f)(xs), [f(x) for x in xs], rtol=1e-10)
    g = wg.grad(lambda x: np.sum(f(x)))
    np.testing.assert_allclose(wg.vmap(g)(xs), [g(x) for x in xs], rtol=1e-8, atol=1e-10)
