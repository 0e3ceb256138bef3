"""Names and calls that users of other libraries, or of no library yet, write: each error says what to write here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import graph, nn, ode, optimize
from wengert.errors import ArgumentError, UnknownImportError, UnknownNameError
from wengert.other_names import ARRAYS, FUNCTIONS, KEYWORDS

X = np.ones(3)
MODULES = (wg, nn, optimize, ode, graph)


def loss(x: Any) -> Any:
    return np.sum(x**2)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: wg.jacfwd, 'try    wg.jacobian(f, mode="forward")(x)'),
        (lambda: wg.elementwise_grad, "try    wg.grad(lambda x: np.sum(f(x)))(x)"),
        (lambda: wg.lax.scan, "try    wg.scan(f, init, xs)"),
        (lambda: wg.pmap, "try    wg.vmap(f)"),
        (lambda: wg.MX, "np.ndarray"),
        (lambda: wg.value_and_gradient, "try    wg.value_and_grad(f)(x)"),
        (lambda: nn.Linear, "try    nn.Dense(width)"),
        (lambda: nn.ReLU, "try    nn.relu"),
        (lambda: nn.random.PRNGKey, "try    nn.random.key(0)"),
        (lambda: optimize.Adam, "try    optimize.adam(rate)"),
        (lambda: ode.odeint, "try    ode.solve_ivp("),
        (lambda: wg.jacobain, "try    jacobian"),
        (lambda: wg.valueAndGrad, "try    value_and_grad"),
        (lambda: nn.Soft_max, "try    softmax"),
        (lambda: nn.dense_, "try    Dense"),
    ],
)
def test_a_name_of_another_library(ask: Callable[[], Any], says: str) -> None:
    with pytest.raises(UnknownNameError, match=re.escape(says)):
        ask()


def test_a_name_that_is_like_none() -> None:
    with pytest.raises(AttributeError, match=r"^module 'wengert' has no attribute 'qqqq'$"):
        _ = wg.qqqq
    assert not hasattr(wg, "jacfwd") and getattr(nn, "Linear", None) is None


def test_an_import_of_a_name_of_another_library() -> None:
    with pytest.raises(UnknownImportError, match='jacobian\\(f, mode="forward"'):
        from wengert import jacfwd  # noqa: F401
    with pytest.raises(UnknownImportError, match="Dense"):
        from wengert.nn import Linear  # noqa: F401
    from wengert import drawing  # a module that nothing else has imported

    assert drawing.__name__ == "wengert.drawing"


def test_no_name_of_the_table_is_one_of_ours() -> None:
    own = {name for module in MODULES for name in module.__all__} - {"random"}
    assert not own & (FUNCTIONS.keys() - {"random"})
    assert not [name for name in ARRAYS if hasattr(np.ndarray, name)]


def test_the_tables_name_what_is_here() -> None:
    """Every ``wg.name`` and ``nn.name`` of a repair exists."""
    modules = {"wg": wg, "nn": nn, "optimize": optimize, "ode": ode, "np": np}
    texts = [*FUNCTIONS.values(), *ARRAYS.values(), *KEYWORDS.values()]
    used = {found for text in texts for found in re.findall(r"(?<!\.)\b(wg|nn|optimize|ode|np)\.([a-zA-Z_0-9]+)", text)}
    assert len(used) > 80
    assert not [f"{module}.{name}" for module, name in used if not hasattr(modules[module], name)]


@pytest.mark.parametrize("name", ["at", "backward", "detach", "requires_grad", "numpy", "unsqueeze", "exp", "add_"])
def test_an_attribute_of_another_library_s_arrays(name: str) -> None:
    with pytest.raises(UnknownNameError, match=re.escape(f"try    {ARRAYS[name]}")):
        wg.grad(lambda x: getattr(x, name))(X)


def test_code_may_ask_whether_an_array_has_an_attribute() -> None:
    assert wg.jit(lambda x: 2 * x if hasattr(x, "detach") else 3 * x)(X).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: wg.jit(loss, static_argnums=0),
            "jit() got an unexpected keyword argument 'static_argnums'\n  try    le",
        ),
        (lambda: wg.jit(static_argnums=0), "jit() got an unexpected keyword argument 'static_argnums'"),
        (lambda: wg.vmap(loss, in_dims=0), "try    in_axes=0"),
        (lambda: wg.grad(loss, argnum=1), "try    argnums=0"),
        (lambda: wg.grad(loss, allow_int=True), "an integer has no derivative"),
        (lambda: wg.grad(loss, create_graph=True), "wg.grad(wg.grad(f)) differentiates again"),
        (lambda: wg.vjp(loss, X, retain_graph=True), "may be called many times"),
        (lambda: wg.jacobian(loss, has_aux=True), "has_aux=True"),
        (lambda: wg.grad(loss, hasaux=True), "try    has_aux=..."),
        (lambda: nn.softmax(X, dim=0), "try    axis=-1"),
        (lambda: nn.Dense(8, in_features=3), "leave it out"),
        (lambda: optimize.adam(lr=1e-3), "try    rate=1e-3"),
    ],
)
def test_a_keyword_of_another_library(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(says)):
        call()


@pytest.mark.parametrize("transform", [wg.grad, wg.value_and_grad, wg.jacobian, wg.hessian, wg.vmap, wg.jit, wg.trace])
def test_a_transform_that_is_given_the_arguments_as_well(transform: Callable[..., Any]) -> None:
    says = re.escape(f"try    wg.{transform.__name__}(f)(x)")
    with pytest.raises(ArgumentError, match=says):
        transform(loss, X)
    with pytest.raises(ArgumentError, match=says):
        transform(loss(X))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: wg.jvp(loss, X, X), "try    wg.jvp(f, (x,), (dx,))"),
        (lambda: wg.jvp(loss, (X,), X), "try    wg.jvp(f, (x,), (dx,))"),
        (lambda: wg.hvp(loss, X, X), "try    wg.hvp(f, (x,), (v,))"),
        (lambda: wg.vjp(loss(X)), "try    wg.vjp(f, x)"),
        (lambda: wg.linearize(loss(X)), "try    wg.linearize(f, x)"),
    ],
)
def test_a_product_with_a_vector_that_is_called_otherwise(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(says)):
        call()
