"""Known solutions of equations: derivatives of the implicit function theorem, beside closed forms and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, ShapeError, StructureError

# -------------------------------------------------------------------------------------------- equations and solutions


def square_root(p: Any) -> Any:
    """The solution of y² = p, by an iteration whose length depends on the value."""
    y = wg.while_loop(lambda y: np.abs(y * y - p) > 1e-15 * p, lambda y: (y + p / y) / 2, 1.0 + 0.0 * p)
    return wg.known_root(lambda y: y * y - p, y)


def kepler(e: Any, M: Any) -> Any:
    E = M
    for _ in range(12):
        E = E - (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
    return wg.known_root(lambda E: E - e * np.sin(E) - M, E)


def residual(y: Any, p: Any) -> Any:
    """Two equations: y0 + y1 = p0, y0 y1 = p1, whose solutions are those of y² − p0 y + p1 = 0."""
    return np.stack([y[0] + y[1] - p[0], y[0] * y[1] - p[1]])


def jacobian_of_residual(y: Any) -> Any:
    return np.stack([np.stack([1.0 + 0.0 * y[0], 1.0 + 0.0 * y[0]]), np.stack([y[1], y[0]])])


def by_formula(p: Any) -> Any:
    root = np.sqrt(p[0] ** 2 / 4 - p[1])
    return np.stack([p[0] / 2 + root, p[0] / 2 - root])


def pair(p: Any) -> Any:
    return wg.known_root(lambda y: residual(y, p), wg.stop_gradient(by_formula(p)))


def pair_by_jacobian(p: Any) -> Any:
    return wg.known_root(lambda y: residual(y, p), wg.stop_gradient(by_formula(p)), jac=jacobian_of_residual)


P = np.array([3.0, 1.5])
PAIRS = pytest.mark.parametrize("known", [pair, pair_by_jacobian])

# ---------------------------------------------------------------------------------------------------------- derivatives


def test_derivatives_of_a_square_root() -> None:
    """To the third order, forward and reverse in each order of nesting."""
    along = lambda f: lambda x: wg.jvp(f, (x,), (1.0,))[1]
    f, a = square_root, 4.0
    assert f(a) == 2.0
    for ways in (
        (wg.grad, wg.grad, wg.grad),
        (along, along, along),
        (wg.grad, along, wg.grad),
        (along, wg.grad, along),
    ):
        g: Any = f
        for transform, expected in zip(ways, (1 / 4, -1 / 32, 3 / 256), strict=True):
            g = transform(g)
            assert g(a) == pytest.approx(expected, rel=1e-14)
            assert wg.jit(g)(a) == pytest.approx(expected, rel=1e-14)


def test_keplers_equation() -> None:
    e, M = 0.6, 0.8
    E = kepler(e, M)
    assert pytest.approx(M, rel=1e-15) == E - e * np.sin(E)
    slope = 1 / (1 - e * np.cos(E))
    np.testing.assert_allclose(wg.grad(kepler, argnums=(0, 1))(e, M), (np.sin(E) * slope, slope), rtol=1e-14)
    second = -e * np.sin(E) * slope**3  # ∂²E/∂M²
    assert wg.grad(wg.grad(kepler, argnums=1), argnums=1)(e, M) == pytest.approx(second, rel=1e-13)
    h = 1e-5
    by_e = lambda M: wg.grad(kepler)(e, M)
    assert wg.grad(wg.grad(kepler), 1)(e, M) == pytest.approx((by_e(M + h) - by_e(M - h)) / (2 * h), rel=1e-8)


@PAIRS
def test_a_system_of_two_equations(known: Any) -> None:
    np.testing.assert_allclose(residual(known(P), P), 0.0, atol=1e-15)
    np.testing.assert_allclose(wg.jacobian(known)(P), wg.jacobian(by_formula)(P), rtol=1e-13)
    v = np.array([0.3, -0.7])
    np.testing.assert_allclose(wg.jvp(known, (P,), (v,))[1], wg.jvp(by_formula, (P,), (v,))[1], rtol=1e-13)
    weighted = lambda f: lambda p: f(p)[0] ** 2 - 3 * f(p)[1]
    np.testing.assert_allclose(wg.grad(weighted(known))(P), wg.grad(weighted(by_formula))(P), rtol=1e-13)


@PAIRS
def test_second_and_third_derivatives_of_a_system(known: Any) -> None:
    weighted = lambda f: lambda p: f(p)[0] ** 2 - 3 * f(p)[1]
    hessian = wg.hessian(weighted(by_formula))(P)
    np.testing.assert_allclose(wg.hessian(weighted(known))(P), hessian, rtol=1e-12)
    np.testing.assert_allclose(wg.jit(wg.hessian(weighted(known)))(P), hessian, rtol=1e-12)
    v = np.array([0.3, -0.7])
    third = lambda f: wg.jvp(lambda p: wg.hvp(weighted(f), (p,), (v,)), (P,), (v,))[1]
    np.testing.assert_allclose(third(known), third(by_formula), rtol=1e-11)


def test_the_jacobian_that_is_given_is_differentiated_too() -> None:
    """It captures the parameter, unlike that of the system above."""

    def cube_root(p: Any) -> Any:  # of p y³ = 1
        y = wg.stop_gradient(p ** (-1 / 3))
        return wg.known_root(lambda y: p * y**3 - 1, y, jac=lambda y: 3 * p * y**2)

    f, expected = cube_root, lambda p: p ** (-1 / 3)
    for _ in range(3):
        f, expected = wg.grad(f), wg.grad(expected)
        assert f(2.0) == pytest.approx(expected(2.0), rel=1e-13)


def test_minima_and_fixed_points() -> None:
    """Which are solutions too: the slope is zero, or nothing changes."""
    loss = lambda y, p: np.sum((y - p) ** 4) + np.sum(y**2) / 2

    def smallest(p: Any) -> Any:
        y = 0.0 * p
        for _ in range(40):
            y = y - (4 * (y - p) ** 3 + y) / (12 * (y - p) ** 2 + 1)
        return wg.known_root(wg.grad(lambda y: loss(y, p)), y)

    y = smallest(P)
    curvature = 12 * (y - P) ** 2
    np.testing.assert_allclose(wg.jit(wg.jacobian(smallest))(P), np.diag(curvature / (1 + curvature)), rtol=1e-12)

    def fixed(a: Any) -> Any:
        y = wg.fori_loop(0, 100, lambda _, y: np.cos(a * y), 0.5 + 0.0 * a)
        return wg.known_root(lambda y: np.cos(a * y) - y, y)

    y = fixed(0.8)
    s = np.sin(0.8 * y)
    assert wg.grad(fixed)(0.8) == pytest.approx(-y * s / (1 + 0.8 * s), rel=1e-13)


def test_unknowns_of_any_shape() -> None:
    """A matrix: the square root of a symmetric one, whose equations depend on each other."""

    def root(a: Any) -> Any:
        w, v = np.linalg.eigh(wg.stop_gradient(a))
        return wg.known_root(lambda y: y @ y - a, (v * np.sqrt(w)) @ v.T)

    a, da = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[0.3, 0.1], [0.1, -0.2]])
    y, dy = wg.jvp(root, (a,), (da,))
    np.testing.assert_allclose(y @ dy + dy @ y, da, rtol=1e-13)
    ct = np.array([[1.0, -2.0], [0.5, 3.0]])
    assert np.sum(wg.vjp(root, a)[1](ct)[0] * da) == pytest.approx(np.sum(ct * dy), rel=1e-13)
    nothing = lambda p: wg.known_root(lambda y: y - p, np.zeros(0))
    assert wg.jacobian(nothing)(np.zeros(0)).shape == (0, 0)


def test_a_solution_found_outside_of_what_is_traced() -> None:
    """By code that is not traced at all, as one op of its own."""

    @wg.primitive(type=lambda p: np.empty(()))
    def found(p: Any) -> Any:
        y = 1.0
        while abs(np.exp(y) * y - p) > 1e-14 * p:
            y -= (np.exp(y) * y - p) / (np.exp(y) * (1 + y))
        return y

    lambert = lambda p: wg.known_root(lambda y: y * np.exp(y) - p, found(p))
    w = lambert(2.0)
    assert wg.jit(wg.grad(lambert))(2.0) == pytest.approx(np.exp(-w) / (1 + w), rel=1e-13)


def test_what_is_captured_never_goes_stale() -> None:
    matrix, b = np.array([[3.0, 1.0], [0.5, 2.0]]), np.ones(2)
    known = lambda b: wg.known_root(lambda y: matrix @ y - b, np.linalg.solve(matrix, wg.stop_gradient(b)))
    compiled = wg.jit(wg.jacobian(known))
    for entry in (3.0, 5.0):
        matrix[0, 0] = entry
        np.testing.assert_allclose(compiled(b), np.linalg.inv(matrix), rtol=1e-14)


def test_the_result_is_an_array_of_its_own() -> None:
    def written(p: Any) -> Any:
        y = np.sqrt(p)
        known = wg.known_root(lambda y: y**2 - p, y)
        y[0] = 100.0
        known[1] = 0.0
        return known

    p = np.ones(3)
    np.testing.assert_array_equal(written(p), [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(wg.jit(written)(p), [1.0, 0.0, 1.0])
    np.testing.assert_allclose(wg.grad(lambda p: np.sum(written(p) * p))(p), [1.5, 0.0, 1.5])


@pytest.mark.machine_code("kernels are counted")
def test_the_value_costs_nothing() -> None:
    """The function is not run, and no matrix is solved, where no derivative is asked for."""
    known = wg.jit(lambda p: wg.known_root(lambda y: np.sin(y) - p, np.arcsin(p)))
    plain = wg.jit(lambda p: np.arcsin(p))
    assert known(0.5) == plain(0.5)
    assert len(known.program(0.5).kernels) == len(plain.program(0.5).kernels) == 1


@pytest.mark.machine_code("kernels are counted")
def test_the_matrix_is_factored_once_for_all_orders() -> None:
    kernels = [k.name for k in wg.jit(wg.hessian(lambda p: pair(p)[0])).program(P).kernels]
    assert kernels.count("lu") == 1 and kernels.count("lu_solve") > 1
    assert not {"solve", "inv", "lu_inv"} & set(kernels)


# ------------------------------------------------------------------------------------------------- batches and loops


PS = P * np.linspace(0.9, 1.3, 4)[:, None]


@PAIRS
def test_a_batch_solves_many_small_systems(known: Any) -> None:
    np.testing.assert_allclose(wg.vmap(known)(PS), [known(p) for p in PS], rtol=1e-15)
    each = wg.jacobian(by_formula)
    np.testing.assert_allclose(wg.vmap(wg.jacobian(known))(PS), [each(p) for p in PS], rtol=1e-12)
    total = lambda ps: np.sum(wg.vmap(known)(ps)[:, 0] ** 2)
    one = wg.grad(lambda p: by_formula(p)[0] ** 2)
    np.testing.assert_allclose(wg.jit(wg.grad(total))(PS), [one(p) for p in PS], rtol=1e-12)
    np.testing.assert_allclose(
        wg.hvp(total, (PS,), (PS,)), [wg.hvp(lambda p: by_formula(p)[0] ** 2, (p,), (p,)) for p in PS], rtol=1e-11
    )


def test_a_batch_of_batches_with_what_is_shared() -> None:
    """A parameter that all examples share has the sum of their cotangents."""
    es, Ms = np.array([0.1, 0.4, 0.6]), np.array([0.3, 1.2])
    both = wg.vmap(lambda e: wg.vmap(lambda M: kepler(e, M))(Ms))
    np.testing.assert_allclose(both(es), [[kepler(e, M) for M in Ms] for e in es], rtol=1e-14)
    gradient = wg.grad(lambda e: np.sum(wg.vmap(lambda M: kepler(e, M))(Ms)))
    assert gradient(0.4) == pytest.approx(sum(wg.grad(kepler)(0.4, M) for M in Ms), rel=1e-13)
    expected = [sum(wg.grad(kepler)(e, M) for M in Ms) for e in es]
    np.testing.assert_allclose(wg.grad(lambda es: np.sum(both(es)))(es), expected, rtol=1e-13)


def test_a_batch_with_one_solution_for_all() -> None:
    """y is the same, and what it depends on is not."""
    f = lambda k: wg.known_root(lambda y: k * (y - 1.0), 1.0)
    g = lambda k: wg.known_root(lambda y: y**2 - k / wg.stop_gradient(k), 1.0)
    np.testing.assert_allclose(wg.vmap(f)(np.array([1.0, 2.0])), [1.0, 1.0])
    np.testing.assert_allclose(wg.vmap(wg.grad(g))(np.array([1.0, 2.0])), [0.5, 0.25])


def test_in_the_bodies_of_loops_and_branches() -> None:
    def nested(p: Any) -> Any:  # sqrt(p + sqrt(p + sqrt(p)))
        return wg.scan(lambda y, _: (square_root(p + y), None), 0.0 * p, None, length=3)[0]

    h = 1e-5
    plain = lambda p: np.sqrt(p + np.sqrt(p + np.sqrt(p)))
    assert nested(2.0) == pytest.approx(plain(2.0), rel=1e-14)
    assert wg.jit(nested)(2.0) == pytest.approx(plain(2.0), rel=1e-14)
    assert wg.jit(wg.grad(nested))(2.0) == pytest.approx(wg.grad(plain)(2.0), rel=1e-13)
    assert wg.jvp(nested, (2.0,), (1.0,))[1] == pytest.approx(wg.grad(plain)(2.0), rel=1e-13)
    assert wg.grad(wg.grad(nested))(2.0) == pytest.approx(wg.grad(wg.grad(plain))(2.0), rel=1e-12)
    assert wg.grad(plain)(2.0) == pytest.approx((plain(2 + h) - plain(2 - h)) / (2 * h), rel=1e-8)
    branched = wg.grad(lambda p: wg.cond(p > 1, square_root, lambda p: p, p))
    assert (branched(4.0), branched(0.5)) == (0.25, 1.0)


def test_an_equation_with_branches() -> None:
    """Which is recorded for both."""

    def known(p: Any) -> Any:
        def f(y: Any) -> Any:
            return y - p if y > 1 else 2 * y - p

        return wg.known_root(f, p if p > 1 else p / 2)

    assert (wg.grad(known)(3.0), wg.grad(known)(0.5)) == (1.0, 0.5)


def test_single_precision_stays_single() -> None:
    p = P.astype(np.float32)
    assert pair(p).dtype == wg.jit(pair)(p).dtype == np.float32
    gradient = wg.jit(wg.grad(lambda p: pair(p)[0]))(p)
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, wg.grad(lambda p: pair(p)[0])(P), rtol=1e-5)


def test_complex_parameters_of_real_unknowns() -> None:
    known = lambda c: wg.known_root(lambda y: y**2 - np.abs(c) ** 2, wg.stop_gradient(np.abs(c)))
    c = 3.0 + 4.0j
    assert known(c) == 5.0
    assert wg.grad(known)(c) == pytest.approx(wg.grad(np.abs)(c), rel=1e-13)


# --------------------------------------------------------------------------------------------------------------- errors


def test_a_singular_matrix_is_numpys_error_with_the_users_line() -> None:
    double = lambda p: wg.known_root(lambda y: (y - p) ** 2, p)  # a double root: the slope there is zero
    for derivative in (wg.grad(double), wg.jit(wg.grad(double)), lambda p: wg.jvp(double, (p,), (1.0,))[1]):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as raised:
            derivative(2.0)
        assert "test_implicit.py" in "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])


def test_what_is_refused() -> None:
    with pytest.raises(DTypeError, match="y is complex128"):
        wg.known_root(lambda y: y, 1j)
    with pytest.raises(DTypeError, match="y is int64"):
        wg.known_root(lambda y: y, np.arange(3))
    x = np.ones(2)
    for f, jac, error, text in (
        (lambda y: y[0], None, ShapeError, r"f returned float64\[\]; expected float64\[2\]"),
        (lambda y: (y, y), None, StructureError, "f returned"),
        (lambda y: y > 0, None, DTypeError, r"f returned bool\[2\]"),
        (lambda y: y, lambda y: y, ShapeError, r"jac returned float64\[2\]; expected float64\[2, 2\]"),
    ):
        with pytest.raises(error, match=text) as raised:
            wg.jit(lambda x, f=f, jac=jac: wg.known_root(f, x, jac), strict=True)(x)
        assert "test_implicit.py" in str(raised.value)
