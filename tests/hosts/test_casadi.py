"""CasADi calls NumPy functions with numbers and symbols, differentiates them to any order, and solves problems."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import wengert as wg

function = wg.hosts.casadi.function
RNG = np.random.default_rng(0)
X, A = RNG.normal(size=3), RNG.normal(size=(2, 3))


def two(x: Any, a: Any) -> Any:
    return np.sin(a @ x) * x[0], np.sum(a * a[::-1]) * x


def casadi_two(x: Any, a: Any) -> Any:
    return ca.sin(a @ x) * x[0], ca.sum1(ca.sum2(a * ca.vertcat(a[1, :], a[0, :]))) * x


OURS = function(two, X, A)
SYMBOLS = ca.MX.sym("x", 3), ca.MX.sym("a", 2, 3)


def test_a_call_with_numbers() -> None:
    for y, wanted in zip(OURS(X, A), two(X, A), strict=True):
        np.testing.assert_array_equal(np.array(y).ravel(), wanted)


DERIVATIVES: dict[str, Callable[[Any, Any], Any]] = {
    "value": lambda y, w: y,
    "jacobian": ca.jacobian,
    "forward": lambda y, w: ca.jtimes(y, w, w),
    "reverse": lambda y, w: ca.jtimes(y, w, y, True),
    "gradient": lambda y, w: ca.gradient(ca.sumsqr(y), w),
    "hessian": lambda y, w: ca.hessian(ca.sumsqr(y), w)[0],
    "mixed": lambda y, w: ca.jacobian(ca.gradient(ca.sumsqr(y), SYMBOLS[0]), w),
    "third order": lambda y, w: ca.jacobian(ca.jtimes(ca.gradient(ca.sumsqr(y), w), w, w), w),
}


@pytest.mark.parametrize("result", [0, 1])
@pytest.mark.parametrize("argument", [0, 1])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_casadis_own(name: str, argument: int, result: int) -> None:
    found = [
        np.array(ca.Function("f", SYMBOLS, [DERIVATIVES[name](f(*SYMBOLS)[result], SYMBOLS[argument])])(X, A))
        for f in (OURS, casadi_two)
    ]
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-12)


def test_matrices_are_columns_behind_each_other() -> None:
    flipped = function(lambda a: a[::-1] * 2, A)
    np.testing.assert_array_equal(np.array(flipped(A)), A[::-1] * 2)
    (a,) = [ca.MX.sym("a", 2, 3)]
    jacobian = np.array(ca.Function("j", [a], [ca.jacobian(flipped(a), a)])(A))
    own = np.array(ca.Function("j", [a], [ca.jacobian(ca.vertcat(a[1, :], a[0, :]) * 2, a)])(A))
    np.testing.assert_array_equal(jacobian, own)


def solved(objective: Any, constraints: Any, n: int) -> tuple[Any, float, int]:
    x = ca.MX.sym("x", n)
    options = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": 0}
    solver = ca.nlpsol("s", "ipopt", {"x": x, "f": objective(x), "g": constraints(x)}, options)
    found = solver(x0=np.full(n, 0.1), lbg=[-np.inf, 0.1], ubg=[5, 1.0])
    return np.array(found["x"]).ravel(), float(found["f"]), solver.stats()["iter_count"]


def test_ipopt_takes_the_same_steps_to_the_same_optimum() -> None:
    n = 10

    def ours() -> tuple[Any, float, int]:
        objective = function(lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), np.ones(n))
        return solved(objective, function(lambda x: np.array([np.sum(x**2), x[0] * x[1]]), np.ones(n)), n)

    theirs = solved(
        lambda x: ca.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
        lambda x: ca.vertcat(ca.sumsqr(x), x[0] * x[1]),
        n,
    )
    mine = ours()
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-9)
    assert mine[2] == theirs[2] and abs(mine[1] - theirs[1]) < 1e-9


def test_a_callback_outlives_the_name_that_it_had() -> None:
    x = ca.MX.sym("x", 3)
    gradient = ca.Function("g", [x], [ca.gradient(function(lambda x: np.sum(x**3), X)(x), x)])
    gc.collect()
    np.testing.assert_allclose(np.array(gradient(X)).ravel(), 3 * X**2, rtol=1e-14)


def test_an_error_of_the_function_says_what_it_was() -> None:
    def refuse(x: Any) -> Any:
        if x[0] > 100:
            raise ValueError("too far from here")
        return x

    with pytest.raises(RuntimeError, match="too far from here"):
        function(refuse, X)(np.full(3, 200.0))


def test_a_branch_may_go_another_way_than_with_the_example() -> None:
    f = function(lambda x: x if x[0] > 0 else -2 * x, np.ones(3))
    np.testing.assert_array_equal(np.array(f(-np.ones(3))).ravel(), np.full(3, 2.0))


@pytest.mark.parametrize(
    ("f", "example", "error", "words"),
    [
        (lambda x: x, np.ones((2, 2, 2)), wg.errors.ShapeError, r"argument 0 is float64\[2, 2, 2\]"),
        (lambda x: x[:, None, None] * np.ones((3, 2, 2)), X, wg.errors.ShapeError, "result 0 is"),
        (lambda x: x * 1j, X, wg.errors.DTypeError, r"result 0 is complex128\[3\]; CasADi has real matrices alone"),
    ],
)
def test_what_casadi_has_no_matrix_for_is_refused(f: Any, example: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        function(f, example)


# ----------------------------------------------------------------------------------------------------------- sparsity


def banded(x: Any) -> Any:
    return x[2:] * x[:-2] + x[1:-1]


N = 30


def test_patterns_of_jacobians_and_hessians_are_casadis_own() -> None:
    x, at = ca.MX.sym("x", N), RNG.normal(size=N)
    ours = function(banded, np.ones(N))
    for of in (lambda y: ca.jacobian(y, x), lambda y: ca.hessian(ca.sumsqr(y), x)[0]):
        mine, theirs = [ca.Function("f", [x], [of(f(x))])(at) for f in (ours, banded)]
        assert mine.sparsity() == theirs.sparsity()
        np.testing.assert_allclose(mine.full(), theirs.full(), rtol=1e-12, atol=1e-13)
    whole = ours.jacobian()(at, 0)
    assert whole.nnz() == 3 * (N - 2)
    np.testing.assert_allclose(whole.full(), ca.Function("f", [x], [ca.jacobian(banded(x), x)])(at).full())


def test_ipopt_gets_sparse_matrices() -> None:
    n = 40
    sizes = []
    for objective, constraints in [
        (function(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2), np.ones(n)), function(banded, np.ones(n))),
        (lambda x: ca.sumsqr(x[1:] - x[:-1] ** 2), banded),
    ]:
        x = ca.MX.sym("x", n)
        options = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": 0}
        problem = {"x": x, "f": objective(x), "g": constraints(x)}
        solver = ca.nlpsol("s", "ipopt", problem, options)
        found = solver(x0=0.9, lbg=-10, ubg=1.5)
        pattern = solver.get_function("nlp_jac_g").sparsity_out(1), solver.get_function("nlp_hess_l").sparsity_out(0)
        sizes.append(([p.nnz() for p in pattern], solver.stats()["iter_count"], np.array(found["x"]).ravel()))
    assert sizes[0][:2] == sizes[1][:2]
    np.testing.assert_allclose(sizes[0][2], sizes[1][2], rtol=1e-8)


def test_a_pattern_that_holds_no_longer_is_an_error() -> None:
    indices = np.arange(3)
    x = ca.MX.sym("x", 4)
    jacobian = ca.Function("j", [x], [ca.jacobian(function(lambda x: x[indices] ** 2, np.ones(4))(x), x)])
    assert jacobian(np.ones(4)).nnz() == 3
    indices[0] = 3
    with pytest.raises(RuntimeError, match="the pattern of its Jacobian, which CasADi was told"):
        jacobian(np.ones(4))


def test_a_function_with_branches_is_dense_and_right() -> None:
    x = ca.MX.sym("x", 3)
    jacobian = ca.Function("j", [x], [ca.jacobian(function(lambda x: x if x[0] > 0 else x[::-1] * 2, X)(x), x)])
    np.testing.assert_array_equal(jacobian(np.ones(3)).full(), np.eye(3))
    np.testing.assert_array_equal(jacobian(-np.ones(3)).full(), 2 * np.eye(3)[::-1])
