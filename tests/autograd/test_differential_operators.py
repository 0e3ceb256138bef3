"""autograd's operators: results worked by hand, and the errors and names that autograd has."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert.autograd as ag
import wengert.autograd.numpy as anp

X = np.array([1.0, 2.0, 3.0])


def test_grad_of_one_argument_and_of_several() -> None:
    f = lambda x, y: x**2 * y
    assert ag.grad(f)(3.0, 2.0) == 12.0
    assert ag.grad(f, 1)(3.0, 2.0) == 9.0
    assert ag.grad(f, argnum=(1, 0))(3.0, 2.0) == (9.0, 12.0)
    assert ag.grad(f, argnum=[0])(3.0, y=2.0) == (12.0,)
    assert ag.grad(f, -1)(3.0, 2.0) == 9.0


def test_grad_has_the_names_of_autograd() -> None:
    def square(x: Any) -> Any:
        return x**2

    assert ag.grad(square).__name__ == "grad_of_square_wrt_argnum_0"
    assert ag.grad.__name__ == "grad"
    with pytest.raises(AssertionError):
        ag.grad(square, "x")


@pytest.mark.parametrize(
    ("operator", "f", "x", "error"),
    [
        (ag.grad, lambda x: x * 2, X, "Grad only applies to real scalar-output functions"),
        (ag.grad, lambda x: x * 1j, 1.0, "Grad only applies to real scalar-output functions"),
        (ag.value_and_grad, lambda x: x * 2, X, "value_and_grad only applies to real scalar-output"),
        (ag.elementwise_grad, lambda x: x * 1j, X, "Elementwise_grad only applies to real-output functions"),
        (ag.grad, lambda x: x, 3, "Can't differentiate w.r.t. type <class 'int'>"),
        (ag.grad, lambda d: d["a"], {"a": 1.0, "b": "text"}, "Can't differentiate w.r.t. type <class 'str'>"),
    ],
)
def test_errors_are_those_of_autograd(operator: Any, f: Any, x: Any, error: str) -> None:
    with pytest.raises(TypeError, match=error):
        operator(f)(x)


def test_an_array_of_one_number_has_a_gradient() -> None:
    value, gradient = ag.value_and_grad(lambda x: np.sum(x**2, keepdims=True))(X)
    assert value.shape == (1,) and value[0] == 14.0
    assert gradient.tolist() == [2.0, 4.0, 6.0]


def test_arrays_of_integers_are_differentiated_as_floats() -> None:
    assert ag.grad(lambda x: np.sum(x * x))(np.array([1, 2])).tolist() == [2.0, 4.0]


def test_a_result_without_the_argument_warns_and_has_no_derivative() -> None:
    with pytest.warns(UserWarning, match="Output seems independent of input"):
        assert ag.grad(lambda x: 1.0)(2.0) == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pull, value = ag.make_vjp(lambda x: "text" if x > 1 else "", 0)(2.0)
        assert value == "text" and pull(1.0) == 0.0
        value, tangent = ag.make_jvp(lambda x: 3.0)(2.0)(1.0)
        assert value == 3.0 and tangent == 0.0


def test_containers_are_arguments_and_gradients() -> None:
    found = ag.grad(lambda p: np.sum(p["w"] * p["layers"][0]) + p["layers"][1])({"w": X, "layers": [X, 2.0]})
    assert found["w"].tolist() == X.tolist() and found["layers"][0].tolist() == X.tolist()
    assert found["layers"][1] == 1.0


def test_jacobian_and_hessian_have_the_shapes_of_autograd() -> None:
    f = lambda x: np.outer(x, x)[:2]
    assert ag.jacobian(f)(X).shape == (2, 3, 3)
    assert ag.hessian(f)(X).shape == (2, 3, 3, 3)
    assert ag.hessian(lambda x: np.sum(x**3))(X).tolist() == np.diag(6 * X).tolist()
    assert ag.jacobian(lambda x, y: x * y, 1)(X, 2 * X).tolist() == np.diag(X).tolist()


def test_products_with_the_hessian_and_the_jacobian() -> None:
    f, g = (lambda x: np.sum(x**3)), (lambda x: x**2)
    v = np.array([1.0, 0.0, 2.0])
    assert ag.hessian_vector_product(f)(X, v).tolist() == [6.0, 0.0, 36.0]
    assert ag.hessian_tensor_product is ag.hessian_vector_product
    assert ag.make_hvp(f)(X)[0](v).tolist() == [6.0, 0.0, 36.0]
    assert ag.vector_jacobian_product(g)(X, v).tolist() == [2.0, 0.0, 12.0]
    assert ag.make_ggnvp(g)(X)(v).tolist() == [4.0, 0.0, 72.0]  # JᵀJ v, with J = diag(2 x)


def test_vjp_and_jvp() -> None:
    pull, value = ag.make_vjp(lambda x: x**2)(X)
    assert value.tolist() == [1.0, 4.0, 9.0] and pull(X).tolist() == [2.0, 8.0, 18.0]
    value, tangent = ag.make_jvp(lambda x: x**2)(X)(X)
    assert value.tolist() == [1.0, 4.0, 9.0] and tangent.tolist() == [2.0, 8.0, 18.0]
    assert ag.deriv(np.sin)(0.0) == 1.0
    assert ag.elementwise_grad(anp.exp)(np.zeros(2)).tolist() == [1.0, 1.0]


def test_complex_numbers_have_the_conventions_of_autograd() -> None:
    z = 1.0 + 2.0j
    assert ag.grad(lambda z: np.abs(z) ** 2)(z) == 2 * np.conj(z)
    assert ag.holomorphic_grad(lambda z: z**2)(z) == 2 * z
    with pytest.warns(UserWarning, match="not complex"):
        ag.holomorphic_grad(lambda z: z**2)(1.0)


def test_a_derivative_beside_values_that_are_kept() -> None:
    gradient, aux = ag.grad_and_aux(lambda x: (x**2, {"x": 2 * x}))(3.0)
    assert gradient == 6.0 and aux == {"x": 6.0}


def test_gradients_by_name() -> None:
    def f(a: Any, b: Any = 3.0, *rest: Any, scale: float = 1.0, **more: Any) -> Any:
        return scale * a * b + sum(rest) + more["c"] ** 2

    assert ag.grad_named(lambda x, y: x * y, "y")(2.0, 3.0) == 2.0
    found = ag.multigrad_dict(f)(2.0, c=5.0)
    assert found["a"] == 3.0 and found["b"] == 2.0 and found["more"] == {"c": 10.0} and found["scale"] == 6.0
    assert ag.multigrad_dict(f)(2.0, 1.0, 4.0, c=5.0)["rest"] == (1.0,)


def test_checkpoint_changes_no_result() -> None:
    assert ag.grad(lambda x: np.sum(ag.checkpoint(lambda y: np.sin(y) ** 2)(x)))(X).tolist() == pytest.approx(
        (2 * np.sin(X) * np.cos(X)).tolist()
    )


def test_derivatives_nest_over_values_of_the_outer_one() -> None:
    f = lambda x: x * ag.grad(lambda y: x * y**2)(x)  # 2 x³
    assert ag.grad(f)(2.0) == 24.0


def test_python_sees_values_while_it_is_differentiated() -> None:
    def f(x: Any) -> Any:
        if x._value > 1 and isinstance(x, anp.numpy_boxes.ArrayBox):
            return x * x._value
        return x

    assert ag.grad(f)(3.0) == 3.0
    assert ag.grad(f)(0.5) == 1.0


def test_the_value_of_a_box_is_a_constant_to_the_innermost_derivative_alone() -> None:
    inner = ag.grad(lambda y: y * y._value)  # y
    assert ag.grad(inner)(3.0) == 1.0
    assert ag.grad(lambda x: ag.grad(lambda y: x * y * (x * y)._value)(2.0))(3.0) == 12.0  # 2 x², of x
    assert ag.grad(lambda x: x * ag.grad(lambda y: y**2 * y._value)(2.0))(3.0) == 8.0
