"""Jacobians, Hessians and their products with vectors, compared with formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from wengert.errors import (
    DTypeError,
)

X = np.array([0.5, -1.0, 2.0])
V = np.array([1.0, 0.25, -0.5])


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
def test_a_jacobian_has_the_axes_of_the_value_then_of_the_argument(mode: Any) -> None:
    A = np.arange(24.0).reshape(2, 3, 4)
    J = wg.jacobian(lambda x: np.einsum("ijk,kl->ijl", A, x), mode=mode)(np.ones((4, 5)))
    close(J, np.einsum("ijk,lm->ijlkm", A, np.eye(5)))


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
def test_a_jacobian_of_structures_has_a_structure_in_each_leaf(mode: Any) -> None:
    f = lambda p: {"y": p["a"] * p["b"], "s": np.sum(p["a"] ** 2)}
    J = wg.jacobian(f, mode=mode)({"a": X, "b": 2.0})
    assert J.keys() == {"y", "s"}
    close(J["y"]["a"], 2 * np.eye(3))
    close(J["y"]["b"], X)
    close(J["s"]["a"], 2 * X)
    close(J["s"]["b"], 0.0)


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
def test_a_jacobian_with_respect_to_several_arguments(mode: Any) -> None:
    J = wg.jacobian(lambda x, y: x * y, (0, 1), mode=mode)(X, V)
    assert type(J) is tuple
    close(J[0], np.diag(V))
    close(J[1], np.diag(X))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(("n_out", "n_in"), [(0, 3), (3, 0), (0, 0)])
def test_an_empty_jacobian(mode: str, n_out: int, n_in: int) -> None:
    J = wg.jacobian(lambda x: np.ones((n_out, 3)) @ np.ones(3) + np.sum(x), mode=mode)(np.ones(n_in))
    assert J.shape == (n_out, n_in)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_jacobian_of_several_dtypes(mode: str) -> None:
    x, y = np.ones(2, np.float32), np.ones(2)
    J = wg.jacobian(lambda x, y: (x * 2, x * y), (0, 1), mode=mode)(x, y)
    assert J[0][0].dtype == np.float32
    for row, scale in zip(J, [(2, 0), (1, 1)], strict=True):
        for block, s in zip(row, scale, strict=True):
            np.testing.assert_array_equal(block, s * np.eye(2))


def test_a_mode_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="expected 'forward', 'reverse' or None"):
        wg.jacobian(np.sin, mode="sideways")


def test_an_integer_value_has_no_jacobian() -> None:
    with pytest.raises(DTypeError, match=r"int64\[3\]"):
        wg.jacobian(np.argsort)(X)


def test_hessian_of_structures() -> None:
    """x² y + y³ with x, y in a dict: [[2y, 2x], [2x, 6y]]."""
    H = wg.hessian(lambda p: p["x"] ** 2 * p["y"] + p["y"] ** 3)({"x": 2.0, "y": 3.0})
    assert (H["x"]["x"], H["x"]["y"], H["y"]["x"], H["y"]["y"]) == (6, 4, 4, 18)


def test_hessian_in_several_arguments() -> None:
    H = wg.hessian(lambda x, y: np.sum(x * y**2), (0, 1))(X, V)
    close(H[0][0], np.zeros((3, 3)))
    close(H[0][1], np.diag(2 * V))
    close(H[1][0], np.diag(2 * V))
    close(H[1][1], np.diag(2 * X))


def test_hvp_is_the_hessian_times_the_vector() -> None:
    f = lambda x: np.sum(np.exp(x)) + np.prod(x)
    close(wg.hvp(f, (X,), (V,)), wg.hessian(f)(X) @ V)
    H = np.diag(np.exp(X)) + np.array([[0, X[2], X[1]], [X[2], 0, X[0]], [X[1], X[0], 0]])
    close(wg.hvp(f, (X,), (V,)), H @ V)
    two = wg.hvp(lambda x, y: x * y**2, (2.0, 3.0), (1.0, 1.0))
    assert two == (6.0, 10.0)


# ------------------------------------------------------------------------------------------------ complex numbers

Z = np.array([1 + 2j, 3 - 1j, -0.5j])
MATRIX = np.array([[1, 2j, 0], [3, 4, 1j], [0, 1, -1j]])


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_the_jacobian_of_a_holomorphic_function_is_its_complex_derivative(mode: str) -> None:
    got = wg.jacobian(lambda z: np.exp(MATRIX @ z), mode=mode)(Z)
    np.testing.assert_allclose(got, np.exp(MATRIX @ Z)[:, None] * MATRIX, rtol=1e-13)


@pytest.mark.parametrize("f", [np.conj, np.abs, np.real, np.angle, lambda z: z * z.imag, np.sign])
def test_what_is_not_holomorphic_is_refused_and_of_parts_it_is_right(f: Any) -> None:
    with pytest.raises(DTypeError, match=r"not holomorphic(.|\n)*real=True"):
        wg.jacobian(f)(Z)
    got = wg.jacobian(f, real=True)(Z)
    steps = [(f(Z + h * 1e-6) - f(Z - h * 1e-6)) / 2e-6 for h in (1, 1j)]
    for part, step in enumerate(steps):
        parts = [step.real, step.imag] if np.iscomplexobj(step) else [step]
        for k, want in enumerate(parts):
            block = got[k, :, part] if np.iscomplexobj(step) else got[:, part]
            np.testing.assert_allclose(block, np.diag(want), atol=1e-8)


BODIES: dict[str, Any] = {
    "checkpoint": lambda g: lambda z: wg.checkpoint(g)(z),
    "scan": lambda g: lambda z: wg.scan(lambda c, x: (g(c) + x, c), z, np.ones((3, 3)))[0],
    "stacks": lambda g: lambda z: wg.scan(lambda c, x: (c, g(x)), 0.0, np.stack([z, z]))[1][1],
    "loop": lambda g: lambda z: wg.fori_loop(0, 2, lambda k, c: g(c), z),
    "while": lambda g: lambda z: wg.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1.0, g(c[1])), (0.0, z))[1],
    "branch": lambda g: lambda z: wg.cond(np.sum(np.abs(z)) > 0, g, lambda z: z * 2, z),
    "carry": lambda g: lambda z: wg.fori_loop(0, 3, lambda k, c: (c[1], g(c[0])), (0j * z + 1, z))[0],
    "within": lambda g: lambda z: wg.checkpoint(lambda z: wg.fori_loop(0, 2, lambda k, c: g(c), z))(z),
}


@pytest.mark.parametrize("body", BODIES)
def test_what_is_not_holomorphic_was_not_refused_within_a_body(body: str) -> None:
    with pytest.raises(DTypeError, match=r"not holomorphic.*conjugate"):
        wg.jacobian(BODIES[body](lambda z: np.conj(z) * z))(Z)
    f = BODIES[body](lambda z: 0.3 * z * z)
    step = (f(Z + 1e-6) - f(Z - 1e-6)) / 2e-6
    np.testing.assert_allclose(wg.jacobian(f)(Z), np.diag(step), atol=1e-8)
    np.testing.assert_allclose(wg.jacobian(f, mode="reverse")(Z), np.diag(step), atol=1e-8)


def test_a_real_part_that_only_a_decision_reads_is_no_reason_to_refuse() -> None:
    f = lambda z: np.where(np.abs(z) > 1, z * z, z)
    np.testing.assert_allclose(wg.jacobian(f)(Z), np.diag([*(2 * Z[:2]), 1]), rtol=1e-14)


def test_complex_values_of_real_arguments_have_a_complex_jacobian() -> None:
    x = np.array([1.0, 2.0])
    f = lambda x: np.exp(1j * x)
    np.testing.assert_allclose(wg.jacobian(f)(x), np.diag(1j * np.exp(1j * x)), rtol=1e-14)
    with pytest.raises(DTypeError, match="mode='forward'"):
        wg.jacobian(f, mode="reverse")(x)
    g = lambda x: np.sum(np.abs(f(x) + x) ** 2)
    np.testing.assert_allclose(wg.hessian(g)(x), wg.jacobian(wg.grad(g), mode="reverse")(x), rtol=1e-12)


def test_the_hessian_of_a_complex_argument_is_refused_and_of_parts_it_is_symmetric() -> None:
    loss = lambda z: np.sum(np.abs(z) ** 4)
    with pytest.raises(DTypeError, match="not holomorphic"):
        wg.hessian(loss)(Z)
    parts = wg.hessian(lambda x: loss(x[0] + 1j * x[1]))(np.stack([Z.real, Z.imag])).reshape(6, 6)
    np.testing.assert_allclose(parts, parts.T, rtol=1e-13)
