"""``wg.check_derivatives``: right rules pass, and each kind of wrong one is found and said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.checking import DerivativeError
from wengert.errors import MissingRuleError, WengertError

X = np.linspace(0.5, 1.5, 3)


def test_right_derivatives_pass() -> None:
    def f(p: Any, k: int, flag: str, t: float) -> Any:
        return {"y": np.tanh(p["w"] @ p["x"]) ** k * t, "name": p["x"][0] > 0, "s": np.sum(p["x"])}

    p = {"w": np.arange(6.0).reshape(2, 3) / 10, "x": X}
    assert wg.check_derivatives(f, p, 3, "flag", 2.0) is None
    assert wg.check_derivatives(f, p, 3, "flag", 2.0, argnums=3) is None
    assert wg.check_derivatives(np.sin, X.astype(np.float32)) is None  # in float64, so that differences mean something
    assert wg.check_derivatives(lambda x: np.zeros((0, 2)) * x[0], X) is None


def sine() -> Any:
    @wg.primitive
    def sine(x: Any) -> Any:
        return np.sin(x)

    return sine


def test_a_foreign_adjoint_without_rules_is_compared_with_differences() -> None:
    adjoint = wg.primitive(type=lambda ct, x: np.empty(x.shape))(lambda ct, x: ct * np.cos(x))
    right, wrong = sine(), sine()
    right.def_pullback(lambda ct, y, x: (adjoint(ct, x),))
    wrong.def_pullback(lambda ct, y, x: (1.01 * adjoint(ct, x),))
    wg.check_derivatives(lambda x: right(x) * x, X, order=1)
    with pytest.raises(DerivativeError, match=r"reverse mode differs from finite(.|\n)*the pullback of sine"):
        wg.check_derivatives(lambda x: wrong(x) * x, X, order=1)
    with pytest.raises(MissingRuleError) as caught:
        wg.check_derivatives(lambda x: right(x) * x, X)
    assert "order=1" in caught.value.__notes__[0]


@pytest.mark.deep("more than a second")
def test_a_wrong_pushforward_is_found() -> None:
    f = sine()
    f.def_pushforward(lambda dxs, y, x: dxs[0] * np.cos(x) * 1.01)
    f.def_pullback(lambda ct, y, x: (ct * np.cos(x),))
    with pytest.raises(
        DerivativeError, match=r"sine: forward mode differs from finite differences in result 0(.|\n)*wanted"
    ):
        wg.check_derivatives(f, X)


def test_a_wrong_pullback_is_found() -> None:
    f = sine()
    f.def_pushforward(lambda dxs, y, x: dxs[0] * np.cos(x))
    f.def_pullback(lambda ct, y, x: (ct * np.cos(x) * 1.01,))
    with pytest.raises(DerivativeError, match="reverse mode differs from forward mode"):
        wg.check_derivatives(f, X)


def test_a_pullback_that_is_wrong_alone_is_found_too() -> None:
    """Forward mode is then made of it, and differs from differences."""
    f = sine()
    f.def_pullback(lambda ct, y, x: (-ct * np.cos(x),))
    with pytest.raises(DerivativeError, match="finite differences"):
        wg.check_derivatives(f, X)


def test_a_wrong_second_derivative_is_found_at_order_two() -> None:
    """The slope is right and said to be constant."""
    f = sine()
    f.def_pullback(lambda ct, y, x: (ct * wg.stop_gradient(np.cos(x)),))
    wg.check_derivatives(f, X, order=1)
    with pytest.raises(DerivativeError, match="the gradient of sine"):
        wg.check_derivatives(f, X)


def test_a_stopped_gradient_differs_from_differences() -> None:
    with pytest.raises(DerivativeError, match="finite differences"):
        wg.check_derivatives(lambda x: x * wg.stop_gradient(x), X)


def test_a_nan_is_wrong() -> None:
    f = sine()
    f.def_pushforward(lambda dxs, y, x: dxs[0] * np.nan)
    f.def_pullback(lambda ct, y, x: (ct * np.nan,))
    with pytest.raises(DerivativeError):
        wg.check_derivatives(f, X)


def test_its_error_is_an_assertion_and_one_of_wengerts() -> None:
    assert issubclass(DerivativeError, AssertionError) and issubclass(DerivativeError, WengertError)


def test_the_gradient_of_cholesky_was_said_to_be_wrong() -> None:
    """It was spread over both triangles, of which NumPy reads one."""
    b = np.random.default_rng(0).standard_normal((3, 3))
    a = b @ b.T + np.eye(3)
    for upper in (False, True):
        wg.check_derivatives(lambda a, upper=upper: np.linalg.cholesky(a, upper=upper), a)
        wg.check_derivatives(lambda a, upper=upper: np.sum(np.log(np.diagonal(np.linalg.cholesky(a, upper=upper)))), a)
    wg.check_derivatives(np.linalg.cholesky, np.stack([a, a + np.eye(3)]))


@pytest.mark.parametrize("factor", [1.01, 0.5])
@pytest.mark.parametrize("rule", ["pushforward", "pullback"])
def test_a_wrong_rule_of_cholesky_is_found(rule: str, factor: float) -> None:
    from wengert.ops.linalg import cholesky
    from wengert.ops.linalg.factorisations import cholesky_pullback, cholesky_pushforward

    if rule == "pushforward":
        wrong: Any = lambda xs, dxs, y: factor * cholesky_pushforward(xs, dxs, y)
    else:
        wrong = (lambda ct, x, y: factor * cholesky_pullback(ct, x, y),)
    before = getattr(cholesky, rule)
    object.__setattr__(cholesky, rule, wrong)
    try:
        with pytest.raises(DerivativeError):
            wg.check_derivatives(np.linalg.cholesky, np.diag([1.0, 2.0]) + 0.25)
    finally:
        object.__setattr__(cholesky, rule, before)


def test_complex_arguments_and_values_are_checked_in_parts() -> None:
    z = np.array([1 + 2j, 3 - 1j])
    wg.check_derivatives(lambda z, x: (z * np.conj(z) * x, np.abs(z)), {"z": z}["z"], np.array([1.0, 2.0]))
    wg.check_derivatives(lambda p: np.sum(np.exp(p["z"]) * p["x"]).real, {"z": z, "x": np.array([0.5, 1.0])})

    @wg.primitive
    def squared(z: Any) -> Any:
        return z * z

    @squared.def_pullback
    def _(ct: Any, y: Any, z: Any) -> Any:
        return (ct * 2 * np.conj(z),)  # conjugated, where nothing is to be

    with pytest.raises(DerivativeError):
        wg.check_derivatives(squared, z)
    with pytest.raises(DerivativeError, match="no argument"):
        wg.check_derivatives(lambda n: n * 2.0, 3)


def test_the_step_at_fault_is_named_with_its_rule_and_line() -> None:
    wrong = sine()

    @wrong.def_pushforward
    def _(dxs: Any, y: Any, x: Any) -> Any:
        return dxs[0] * np.cos(x)

    @wrong.def_pullback
    def slope(ct: Any, y: Any, x: Any) -> Any:
        return (ct * np.cos(x) * 1.01,)

    def f(x: Any) -> Any:
        y = np.exp(x)
        y = wrong(y) + y
        return np.sum(np.tanh(y))

    with pytest.raises(DerivativeError) as caught:
        wg.check_derivatives(f, X)
    text = str(caught.value)
    line = slope.__code__.co_firstlineno
    assert f"the pullback of sine (test_checking.py:{line}) is wrong at its operands" in text
    assert "in f:   y = wrong(y) + y" in text


def test_the_step_at_fault_is_found_within_a_loop_and_at_order_two() -> None:
    wrong = sine()
    wrong.def_pullback(lambda ct, y, x: (ct * wg.stop_gradient(np.cos(x)),))
    with pytest.raises(DerivativeError, match="stop_gradient has the derivative 0 by decree"):
        wg.check_derivatives(lambda x: wrong(2 * x), X)
    bad = wg.primitive(np.sin, type=lambda x: x)
    bad.def_pullback(lambda ct, y, x: (ct,))
    with pytest.raises(DerivativeError, match="the pullback of sin "):
        wg.check_derivatives(lambda x: wg.fori_loop(0, 2, lambda i, c: bad(c), x), X, order=1)


@pytest.mark.parametrize(
    ("f", "op"),
    [
        (lambda x: wg.nn.leaky_relu(x - 1.0), "greater"),
        (lambda x: np.where(x > 1.0, 2 * x, x + 1.0), "greater"),
        (lambda x: x * 2 if x[1] > 1.0 else x * 3, "greater"),
    ],
)
def test_a_kink_is_said_to_be_one(f: Any, op: str) -> None:
    with pytest.raises(DerivativeError, match=f"{op} has a kink, or jumps, at these arguments"):
        wg.check_derivatives(f, X)


def test_all_modes_agree() -> None:
    wg.check_derivatives(lambda x: np.tanh(x) * np.sum(x**2), X, all_modes=True)


def test_a_wrong_batch_rule_is_found_among_all_modes() -> None:
    f = sine()
    f.def_pushforward(lambda dxs, y, x: dxs[0] * cosine(x))
    f.def_pullback(lambda ct, y, x: (ct * cosine(x),))
    cosine = wg.primitive(lambda x: np.cos(x))
    cosine.def_pullback(lambda ct, y, x: (-ct * np.sin(x),))
    scaled = wg.primitive(lambda x: 2 * x)
    scaled.def_pullback(lambda ct, y, x: (scaled(ct),))
    scaled.def_pushforward(lambda dxs, y, x: scaled(dxs[0]))
    wg.check_derivatives(scaled, X)
    scaled.def_batch(lambda batched, x: 3 * x)
    with pytest.raises(DerivativeError, match="vmap of forward mode differs"):
        wg.check_derivatives(scaled, X, all_modes=True)
