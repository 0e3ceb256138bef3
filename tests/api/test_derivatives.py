"""What ``grad``, ``vjp``, ``jvp`` and ``linearize`` return for every kind of argument.

Values are compared with formulas, not with the library itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from wengert.errors import (
    DTypeError,
    ScalarOutputError,
    ShapeError,
    StructureError,
)

X = np.array([0.5, -1.0, 2.0])
V = np.array([1.0, 0.25, -0.5])


# ------------------------------------------------------------------------------------------------------- grad and value


class Layer(NamedTuple):
    weight: Any
    bias: Any


def test_the_gradient_has_the_structure_of_the_argument() -> None:
    params = {"layers": [Layer(np.ones((2, 3)), np.zeros(2))], "scale": 2.0, "none": None}

    def f(p: Any, x: Any) -> Any:
        (layer,) = p["layers"]
        return p["scale"] * np.sum(layer.weight @ x + layer.bias)

    gradient = wg.grad(f)(params, X)
    assert gradient.keys() == params.keys() and gradient["none"] is None
    (layer,) = gradient["layers"]
    assert type(layer) is Layer
    close(layer.weight, 2 * np.stack([X, X]))
    close(layer.bias, [2.0, 2.0])
    close(gradient["scale"], 2 * X.sum())


def test_gradients_have_the_dtype_and_the_kind_of_the_argument() -> None:
    for x in (np.float32(0.5), np.ones(2, np.float32), np.ones((), np.float32), np.float64(1), 1.0, np.ones((0, 2))):
        gradient = wg.grad(lambda x: np.sum(x * 2.0))(x)
        assert gradient.dtype == np.asarray(x).dtype
        assert np.shape(gradient) == np.shape(x)
        assert np.all(gradient == 2)


@pytest.mark.parametrize(
    ("f", "shown"),
    [
        (lambda x: x, r"float64\[3\]"),
        (lambda x: (x[0], x[1]), "2 values"),
        (lambda x: np.argmax(x), r"int64\[\]"),
        (lambda x: x[0] > 0, r"bool\[\]"),
        (lambda x: x[0] * 1j, r"complex128\[\]"),
        (lambda x: [], "0 values"),
        (lambda x: None, "0 values"),
    ],
)
def test_only_one_real_number_has_a_gradient(f: Any, shown: str) -> None:
    with pytest.raises(ScalarOutputError, match=shown):
        wg.grad(f)(X)


def test_a_value_that_does_not_depend_on_the_argument_has_the_gradient_zero() -> None:
    value, gradient = wg.value_and_grad(lambda x: 3.0)(X)
    assert value == 3
    close(gradient, np.zeros(3))
    close(wg.jacobian(lambda x: np.ones(2))(X), np.zeros((2, 3)))
    close(wg.jvp(lambda x: np.ones(2), (X,), (V,))[1], np.zeros(2))
    assert wg.grad(lambda x: 3.0)(1.0) == 0


def test_nan_safe_keeps_zero_times_infinity_zero() -> None:
    f = lambda x: np.sum(np.sqrt(x) * 0.0)
    x = np.array([0.0, 1.0])
    assert np.isnan(wg.grad(f)(x)[0])
    close(wg.grad(f, nan_safe=True)(x), [0.0, 0.0])


# -------------------------------------------------------------------------------------------------- vjp, jvp, linearize


def test_a_pullback_may_be_called_many_times() -> None:
    """Jᵀ ct for y = (x₀ x₁, sin x₂): no call changes what the next one reads."""
    y, pullback = wg.vjp(lambda x: np.stack([x[0] * x[1], np.sin(x[2])]), X)
    close(y, [X[0] * X[1], np.sin(X[2])])
    J = np.array([[X[1], X[0], 0], [0, 0, np.cos(X[2])]])
    rng = np.random.default_rng(0)
    for _ in range(5):
        ct = rng.standard_normal(2)
        (ct_x,) = pullback(ct)
        close(ct_x, ct @ J)
        ct_x[:] = np.nan  # the caller's own


def test_a_pullback_keeps_what_it_needs_as_it_was() -> None:
    x, c = X.copy(), V.copy()
    _, pullback = wg.vjp(lambda x: x * x * c, x)
    x[:], c[:] = 0.0, 0.0
    close(pullback(np.ones(3))[0], 2 * X * V)


def test_vjp_of_structures_with_aux() -> None:
    f = lambda p, q: ({"sum": p["a"] + q, "product": p["a"] * q}, ("aux", p["a"] > q))
    value, pullback, aux = wg.vjp(f, {"a": X}, V, has_aux=True)
    close(value["sum"], X + V)
    assert aux[0] == "aux"
    np.testing.assert_array_equal(aux[1], X > V)
    ct_p, ct_q = pullback({"sum": np.ones(3), "product": 2 * np.ones(3)})
    close(ct_p["a"], 1 + 2 * V)
    close(ct_q, 1 + 2 * X)


def test_cotangents_are_checked() -> None:
    _, pullback = wg.vjp(lambda x: {"y": x * 2}, X)
    with pytest.raises(ShapeError, match=r'the cotangent\["y"\]: expected float64\[3\], got shape \[2\]'):
        pullback({"y": np.ones(2)})
    with pytest.raises(StructureError, match="the cotangent"):
        pullback(np.ones(3))
    with pytest.raises(DTypeError, match="complex128"):
        pullback({"y": np.ones(3) * 1j})
    with pytest.raises(DTypeError, match="str"):
        pullback({"y": "text"})
    close(pullback({"y": np.ones(3, int)})[0], [2, 2, 2])  # nothing is lost in this cast
    with pytest.raises(DTypeError, match="has_aux"):
        wg.vjp(lambda x: np.argsort(x), X)


def test_jvp_of_structures() -> None:
    f = lambda p, t: (p["a"] * t, {"square": p["a"] ** 2})
    (y, rest), (dy, drest) = wg.jvp(f, ({"a": X}, 2.0), ({"a": V}, 1.0))
    close(y, 2 * X)
    close(rest["square"], X**2)
    close(dy, 2 * V + X)
    close(drest["square"], 2 * X * V)


def test_tangents_are_checked() -> None:
    with pytest.raises(StructureError, match="tangents"):
        wg.jvp(lambda x: x, (X,), (V, V))
    with pytest.raises(ShapeError, match=r"tangents\[0\]: expected float64\[3\]"):
        wg.jvp(lambda x: x, (X,), (np.ones(4),))
    with pytest.raises(DTypeError, match="complex"):
        wg.jvp(lambda x: x, (X,), (V * 1j,))


def test_a_tangent_takes_the_dtype_of_its_primal() -> None:
    _, dy = wg.jvp(lambda x: x * x, (np.ones(2, np.float32),), (np.ones(2),))
    assert dy.dtype == np.float32
    close(dy, np.float32([2, 2]))


def test_jvp_of_integer_results_is_zero_in_their_type() -> None:
    _, dy = wg.jvp(lambda x: (np.argmax(x), x > 0), (X,), (V,))
    assert [d.dtype for d in map(np.asarray, dy)] == [np.int64, np.bool_]
    assert not any(map(np.any, dy))


def test_linearize_is_linear_and_may_be_called_many_times() -> None:
    y, push = wg.linearize(lambda x, t: np.exp(t * x), X, 0.5)
    e = np.exp(0.5 * X)
    close(y, e)
    for dx, dt in [(V, 0.0), (np.zeros(3), 1.0), (3 * V, -2.0)]:
        close(push(dx, dt), e * (0.5 * dx + X * dt))
    with pytest.raises(StructureError, match="the tangent"):
        push(V)


def test_linearize_computes_the_primal_once() -> None:
    runs = []

    @wg.primitive
    def counted(x: Any) -> Any:
        runs.append(x)
        return np.sin(x)

    counted.def_pushforward(lambda dxs, y, x: dxs[0] * np.cos(x))
    _, push = wg.linearize(counted, 1.0)
    before = len(runs)
    assert [push(1.0), push(2.0)] == [np.cos(1.0), 2 * np.cos(1.0)]
    assert len(runs) == before


# -------------------------------------------------------------------------------------------------------- stop_gradient


def test_stop_gradient_of_what_is_not_traced_is_itself() -> None:
    assert wg.stop_gradient(X) is X
    assert wg.stop_gradient({"a": 1, "b": "text"}) == {"a": 1, "b": "text"}


def test_stop_gradient_in_every_mode() -> None:
    f = lambda x: x * wg.stop_gradient({"x": x**2})["x"]
    assert wg.grad(f)(3.0) == 9
    assert wg.jvp(f, (3.0,), (1.0,)) == (27.0, 9.0)
    assert wg.grad(wg.grad(f))(3.0) == 0
    close(wg.vmap(wg.grad(f))(X), X**2)
    assert wg.jit(wg.grad(f))(3.0) == 9


# ------------------------------------------------------------------------------------------------ complex numbers


def test_grad_of_a_complex_value_is_refused_with_what_takes_it() -> None:
    with pytest.raises(ScalarOutputError, match=r"complex128\[\](.|\n)*np.real(.|\n)*wg.jvp, wg.vjp"):
        wg.grad(lambda z: z * z)(1 + 2j)


def test_conventions_for_complex_numbers() -> None:
    z = np.array([1 + 2j, 3 - 1j])
    gradient = wg.grad(lambda z: np.sum(z.real**2 * z.imag))(z)
    np.testing.assert_allclose(gradient, 2 * z.real * z.imag - 1j * z.real**2)  # ∂f/∂x − i ∂f/∂y
    _, pullback = wg.vjp(lambda z: z**3, z)
    np.testing.assert_allclose(pullback(1j * z)[0], 3 * z**2 * 1j * z)  # no conjugation
    _, pullback = wg.vjp(lambda x: x * z, np.array([1.0, 2.0]))
    np.testing.assert_allclose(pullback(1j * z)[0], np.real(z * 1j * z))  # a real operand gets the real part
    assert pullback(1j * z)[0].dtype == np.float64
    np.testing.assert_allclose(wg.jvp(np.conj, (z,), (1j * z,))[1], np.conj(1j * z))


def test_complex_parts_of_structures_and_captures() -> None:
    captured = np.array([1j, 2.0])
    loss = lambda p: np.sum(np.abs(p["w"] * captured + p["b"]) ** 2)
    p = {"w": np.array([1 + 1j, 2 - 1j]), "b": np.array([0.5, -1.0])}
    got = wg.jit(wg.grad(loss))(p)
    residual = p["w"] * captured + p["b"]
    np.testing.assert_allclose(got["w"], 2 * np.conj(residual) * captured, rtol=1e-13)
    np.testing.assert_allclose(got["b"], 2 * residual.real, rtol=1e-13)
    assert got["b"].dtype == np.float64


def test_parts_that_are_written() -> None:
    def f(x: Any) -> Any:
        z = np.zeros(3, complex)
        z.real = x
        z.imag[1:] += 2 * x[1:]
        z.real[0] *= x[1]
        w = z.imag
        z[2] = 1j * x[0]
        return np.sum(np.abs(z) ** 2 * np.array([1, 2, 3.0]) + w)

    x = np.array([1.0, 2.0, 3.0])
    steps = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(wg.grad(f)(x), steps, rtol=1e-8)
    np.testing.assert_allclose(wg.jit(f)(x), f(x), rtol=1e-14)
    with pytest.raises(TypeError, match="imaginary part"):
        wg.jit(lambda x: setattr(x, "imag", 1.0))(x)


def test_a_scalar_function_of_complex_numbers_need_not_be_holomorphic() -> None:
    z = np.array([1 + 2j, 3 - 1j])
    loss = lambda z: np.sum((wg.broadcast(lambda a: a * a.conjugate() * 2j + a, z) * np.array([1, 2j])).real)
    want = wg.grad(lambda z: np.sum(((z * np.conj(z) * 2j + z) * np.array([1, 2j])).real))(z)
    np.testing.assert_allclose(wg.grad(loss)(z), want, rtol=1e-14)
    np.testing.assert_allclose(wg.jit(wg.grad(loss))(z), want, rtol=1e-14)
