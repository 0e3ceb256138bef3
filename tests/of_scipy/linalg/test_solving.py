"""Linear equations, inverses and determinants of ``scipy.linalg`` on traced arrays."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.of_scipy.checking import case, four_tests, same
from tests.of_scipy.linalg.matrices import HALF, HALF_ABOVE, TALL, WIDE, A, C, H, S, X, Y, sl

STRUCTURES = {
    None: S,
    "gen": S,
    "diagonal": np.diag(np.diag(S)),
    "tridiagonal": np.tril(np.triu(S, -1), 1),
    "banded": np.tril(np.triu(S, -1), 2),
    "upper triangular": np.triu(S),
    "lower triangular": np.tril(S),
    "pos": S,
    "sym": S,
}


def solved(structure, **options):
    return lambda a, b: sl.solve(a, b, assume_a=structure, **options)


def in_structure(structure, **options):
    """The matrices are general; where SciPy looks whether they have the structure, nothing else moves."""
    pattern = STRUCTURES[structure] != 0
    return lambda a, b: sl.solve(np.where(pattern, a, 0), b, assume_a=structure, **options)


CASES = [
    *[case(f"solve {s}", in_structure(s), m, X) for s, m in STRUCTURES.items()],
    *[
        case(f"solve {s}, lower, transposed", in_structure(s, lower=True, transposed=True), m, Y)
        for s, m in STRUCTURES.items()
    ],
    case("solve her", solved("her"), H, X + 1j),
    case("solve pos complex", solved("pos", lower=True), H, X + 1j),
    *[
        case(
            f"solve_triangular {lower} {trans}",
            lambda a, b, o=(lower, trans): sl.solve_triangular(a, b, lower=o[0], trans=o[1]),
            C + 3 * np.eye(4),
            X + 1j,
        )
        for lower in (False, True)
        for trans in ("N", 1, "C")
    ],
    case("solve_triangular unit", lambda a, b: sl.solve_triangular(a, b, unit_diagonal=True), A, Y),
    case("solve_banded", lambda ab, b: sl.solve_banded((1, 2), ab, b), np.array([[0, 0, 5, 0]]).T + A, Y, exact=True),
    case(
        "solve_banded (1, 1)",
        lambda ab, b: sl.solve_banded((1, 1), ab, b),
        np.array([[0, 5, 0]]).T + A[:3],
        X,
        exact=True,
    ),
    case("solveh_banded", lambda ab, b: sl.solveh_banded(ab, b, lower=True), HALF, Y, exact=True),
    case("solveh_banded above", lambda ab, b: sl.solveh_banded(ab, b), HALF_ABOVE, X, exact=True),
    case("solve_toeplitz", lambda c, b: sl.solve_toeplitz(c, b), [5, 1, 2, 0.1], X, exact=True),
    case(
        "solve_toeplitz c r",
        lambda c, r, b: sl.solve_toeplitz((c, r), b),
        [5, 1, 2, 0.1],
        [5, 1.5, 1, 0.3],
        Y,
        exact=True,
    ),
    case("solve_toeplitz complex", lambda c, b: sl.solve_toeplitz(c, b), [5, 1j, 2, 0.1], X + 0j, exact=True),
    case("matmul_toeplitz", lambda c, r, x: sl.matmul_toeplitz((c, r), x), Y, Y[:3], X[:3]),
    case("matmul_toeplitz complex", lambda c, x: sl.matmul_toeplitz(c, x), Y + 1j, Y),
    case("solve_circulant", lambda c, b: sl.solve_circulant(c, b), [5, 1, 2, 0.1], X),
    case("inv", lambda a: sl.inv(a), S),
    case("det", lambda a: sl.det(a), A),
    case("det complex", lambda a: sl.det(a), C),
    case("pinv", lambda a: sl.pinv(a), TALL, exact=True),
    case("pinv rank", lambda a: sl.pinv(a, atol=0.1, rtol=0.0, return_rank=True), WIDE, exact=True),
    case("pinvh", lambda a: sl.pinvh(a, lower=False), S),
    case("lstsq", lambda a, b: sl.lstsq(a, b), TALL, [1.0, 2, 0, -1, 3]),
    case("lstsq wide", lambda a, b: sl.lstsq(a, b, lapack_driver="gelss"), WIDE, X[:3]),
    case("lstsq gelsy", lambda a, b: sl.lstsq(a, b, lapack_driver="gelsy")[0], TALL, [1.0, 2, 0, -1, 3]),
]


def test_a_vector_for_each_matrix_of_a_stack():
    stack = np.stack([S, S + np.eye(4)])

    def f(a, b):
        return sl.solve(a, b), sl.solve_triangular(a, b), sl.inv(a), sl.det(a), sl.pinv(a)

    value, _ = wg.jvp(f, (stack, Y), (stack, Y))
    for k in range(2):
        expected = np.linalg.solve(stack[k], Y), sl.solve_triangular(stack[k], Y), sl.inv(stack[k])
        same([x[k] for x in value[:3]], list(expected))


def test_what_is_not_read_has_no_cotangent():
    def loss(a):
        return np.sum(sl.solve(a, Y, assume_a="pos", lower=False))

    gradient = wg.grad(loss)(S)
    assert not np.tril(gradient, -1).any()
    assert gradient[np.triu_indices(4)].all()
    full = wg.grad(lambda a: np.sum(sl.solve(a, Y)))(S)
    np.testing.assert_allclose(np.triu(full + full.T - np.diag(np.diag(full))), gradient, rtol=1e-10)


def test_by_hand():
    """A derivative that shares nothing with the library: x = 1 / a, and a circulant of one element."""
    assert wg.grad(lambda a: sl.solve([[a]], [1.0])[0])(4.0) == pytest.approx(-1 / 16)
    assert wg.grad(lambda a: sl.det([[a, 1.0], [2.0, a]]))(3.0) == pytest.approx(6.0)
    assert wg.grad(lambda c: sl.solve_toeplitz([c, 0.0], [1.0, 2.0])[1])(2.0) == pytest.approx(-0.5)


def test_single_precision_stays():
    for f in (sl.inv, sl.pinv, lambda a: sl.solve(a, a), lambda a: sl.solve_triangular(a, a)):
        value, _ = wg.jvp(f, (S.astype("f"),), (S.astype("f"),))
        same(value, f(S.astype("f")))


def test_errors_are_scipys():
    for f, error in [
        (lambda a: sl.solve(a, Y[:3]), ValueError),
        (lambda a: sl.solve(a, Y, assume_a="square"), ValueError),
        (lambda a: sl.solve(a[:2], Y), ValueError),
        (lambda a: sl.solve_banded((1, 1), a, Y), ValueError),
        (lambda a: sl.solve_triangular(a, Y[:3]), ValueError),
        (lambda a: sl.solve_toeplitz(a[0], Y[:3]), ValueError),
        (lambda a: sl.solve_circulant(a[0] * 0, Y), np.linalg.LinAlgError),
        (lambda a: sl.pinv(a, rtol=-1.0), ValueError),
        (lambda a: sl.solve(a * 0, Y), np.linalg.LinAlgError),
        (lambda a: sl.det(a[:2]), ValueError),
    ]:
        with pytest.raises(error):
            f(S)
        with pytest.raises(error):
            wg.grad(lambda a, f=f: np.sum(f(a)))(S)


def test_no_unknowns():
    for f in (sl.inv, lambda a: sl.solve(a, a), lambda a: sl.solve_triangular(a, a)):
        assert wg.grad(lambda a, f=f: np.sum(f(a)))(np.zeros((0, 0))).shape == (0, 0)


test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(
    CASES, unbatched=[c.name for c in CASES if c.name.startswith("pinv rank")]
)
