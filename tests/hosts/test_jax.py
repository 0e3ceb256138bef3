"""JAX differentiates, batches and compiles NumPy functions, and wengert functions of JAX's: to any order, both ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import wengert as wg


@pytest.fixture(autouse=True, params=["float64", "float32"])
def dtype(request: pytest.FixtureRequest) -> Iterator[str]:
    """JAX computes with 64 bits, or as it does by default; each test is run with both."""
    with jax.enable_x64(request.param == "float64"):
        yield request.param


def layer(w: Any, x: Any) -> Any:
    return np.tanh(w @ x) * np.sum(x**2)


def jax_layer(w: Any, x: Any) -> Any:
    return jnp.tanh(w @ x) * jnp.sum(x**2)


OURS = wg.hosts.jax.function(layer)
RNG = np.random.default_rng(0)
W, X, WS, XS = (RNG.normal(size=s) for s in [(3, 4), (4,), (5, 3, 4), (4, 5)])


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda w, x: jnp.sum(f(w, x) ** 3)


TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "value": lambda f: f,
    "jit": jax.jit,
    "jacrev": lambda f: jax.jacrev(f, (0, 1)),
    "jacfwd": lambda f: jax.jacfwd(f, (0, 1)),
    "gradient under jit": lambda f: jax.jit(jax.grad(total(f), (0, 1))),
    "hessian": lambda f: jax.hessian(total(f), (0, 1)),
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f, 1), 0),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(f, 1), 0),
    "third order": lambda f: jax.grad(lambda w, x: jnp.sum(jax.jacfwd(jax.grad(total(f)), 1)(w, x))),
    "jvp of a gradient": lambda f: lambda w, x: jax.jvp(jax.grad(total(f)), (w, x), (w, x)),
    "linearize": lambda f: lambda w, x: jax.linearize(f, w, x)[1](w, x),
    "checkpoint": lambda f: jax.jit(jax.checkpoint(jax.grad(total(f)))),
    "a loop": lambda f: jax.grad(
        lambda w, x: jax.lax.scan(lambda c, _: (jnp.sin(jnp.sum(f(c * w, x))), None), jnp.ones((), w.dtype), None, 3)[0]
    ),
}

BATCHES: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "one of two": lambda f: lambda ws, xs: jax.vmap(f, (0, None))(ws, xs[:, 0]),
    "along other axes": lambda f: jax.vmap(f, (0, 1)),
    "of a gradient": lambda f: jax.vmap(jax.grad(total(f), (0, 1)), (0, 1)),
    "under a gradient": lambda f: jax.grad(lambda ws, xs: jnp.sum(jax.vmap(f, (0, 1))(ws, xs) ** 2), (0, 1)),
    "under a gradient of what is shared": lambda f: (
        lambda ws, xs: jax.grad(lambda w: jnp.sum(jax.vmap(f, (None, 1))(w, xs) ** 2))(ws[0])
    ),
    "of a hessian under jit": lambda f: jax.jit(jax.vmap(jax.hessian(total(f), 1), (0, 1))),
    "within each other": lambda f: lambda ws, xs: jax.vmap(lambda w: jax.vmap(lambda x: f(w, x), 1)(xs))(ws),
}


def same(mine: Any, theirs: Any) -> None:
    def close(a: Any, b: Any) -> None:
        assert a.dtype == b.dtype
        tolerance = 1e-11 if a.dtype in (jnp.float64, jnp.complex128) else 5e-4
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1, float(jnp.max(jnp.abs(b)))))

    jax.tree.map(close, mine, theirs)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_give_what_they_give_of_jaxs_own(name: str) -> None:
    w, x = jnp.asarray(W), jnp.asarray(X)
    same(TRANSFORMS[name](OURS)(w, x), TRANSFORMS[name](jax_layer)(w, x))


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name: str) -> None:
    ws, xs = jnp.asarray(WS), jnp.asarray(XS)
    same(BATCHES[name](OURS)(ws, xs), BATCHES[name](jax_layer)(ws, xs))


def test_jaxs_own_check_of_derivatives_passes(dtype: str) -> None:
    if dtype == "float64":
        check_grads(OURS, (jnp.asarray(W), jnp.asarray(X)), 3)


def test_a_batch_is_one_call(counted_double: Any) -> None:
    double, calls = counted_double
    jax.vmap(wg.hosts.jax.function(double))(jnp.asarray(WS))
    assert calls == [3]


def test_trees_settings_and_integers() -> None:
    f = wg.hosts.jax.function(lambda p, *, n: {"y": np.sin(p["a"]) ** n, "k": (np.arange(3), p["i"] + 1)})
    a, i = jnp.asarray(X[:3]), jnp.arange(3)
    for call in (f, jax.jit(f, static_argnames="n")):
        found = call({"a": a, "i": i}, n=2)
        same(found["y"], jnp.sin(a) ** 2)
        same(found["k"], (jnp.arange(3), i + 1))
        same(call({"a": a, "i": i}, n=3)["y"], jnp.sin(a) ** 3)
    same(jax.grad(lambda a: jnp.sum(f({"a": a, "i": i}, n=2)["y"]))(a), 2 * jnp.sin(a) * jnp.cos(a))


def test_complex_numbers_follow_jaxs_convention() -> None:
    z = jnp.asarray(X + 1j * X[::-1])
    ours = wg.hosts.jax.function(lambda z: np.sum(np.abs(z * z * np.conj(z) + np.exp(z))))
    theirs = lambda z: jnp.sum(jnp.abs(z * z * jnp.conj(z) + jnp.exp(z)))
    same(jax.grad(ours)(z), jax.grad(theirs)(z))
    same(jax.jvp(ours, (z,), (z,)), jax.jvp(theirs, (z,), (z,)))


def test_shapes_that_depend_on_values_have_to_be_given() -> None:
    branch = lambda x: x * 2 if x[0] > 0 else x
    x = jnp.asarray(np.abs(X))
    with pytest.raises(wg.errors.ConcretizationError) as caught:
        wg.hosts.jax.function(branch)(x)
    assert "wg.hosts.jax.function(f, type=...)" in caught.value.__notes__[-1]
    given = wg.hosts.jax.function(branch, type=lambda x: x)
    same(jax.jit(given)(x), 2 * x)
    same(jax.jit(given)(-x), -x)
    same(jax.grad(lambda x: jnp.sum(given(x)))(x), jnp.full(4, 2, x.dtype))


def test_large_arrays_come_through_a_callback() -> None:
    x = jnp.ones(2_000_000)
    assert jax.jit(wg.hosts.jax.function(lambda x: np.sum(x * x)))(x) == 2_000_000


# ------------------------------------------------------------------------------------------------------ the other way


def test_a_function_of_jaxs_is_a_primitive_whatever_jaxs_setting_is() -> None:
    f = wg.hosts.jax.primitive(jax_layer)
    loss, ours = lambda w, x: np.sum(f(w, x) ** 2), lambda w, x: np.sum(layer(w, x) ** 2)
    np.testing.assert_allclose(f(W, X), layer(W, X), rtol=1e-14)
    wg.check_derivatives(loss, W, X)
    for k in (0, 1):
        np.testing.assert_allclose(wg.hessian(loss, k)(W, X), wg.hessian(ours, k)(W, X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(wg.jit(wg.grad(loss))(W, X), wg.grad(ours)(W, X), rtol=1e-11)


def test_batches_jacobians_and_tangents_of_a_primitive() -> None:
    f = wg.hosts.jax.primitive(jax_layer)
    np.testing.assert_allclose(wg.vmap(f, (0, None))(WS, X), wg.vmap(layer, (0, None))(WS, X), rtol=1e-12)
    np.testing.assert_allclose(wg.jacobian(f, 1)(W, X), wg.jacobian(layer, 1)(W, X), rtol=1e-11)
    np.testing.assert_allclose(wg.jvp(f, (W, X), (W, X))[1], wg.jvp(layer, (W, X), (W, X))[1], rtol=1e-11)


def test_a_batch_of_a_primitive_is_one_call() -> None:
    traced: list[int] = []
    f = wg.hosts.jax.primitive(lambda x: (traced.append(x.ndim), jnp.sin(x))[1])
    wg.vmap(f)(WS)
    assert len(traced) <= 3  # JAX traces it; it is not called for each of five


def test_several_results_integers_and_high_orders() -> None:
    f = wg.hosts.jax.primitive(lambda a, k, b: (jnp.sin(a) * b.sum(), a[k]))
    both = lambda a, b: (lambda r: np.sum(r[0]) * np.sum(r[1]))(f(a, np.array([0, 1, 1]), b))
    wg.check_derivatives(both, X, X)
    sine = wg.hosts.jax.primitive(jnp.sin)
    np.testing.assert_allclose(wg.grad(wg.grad(wg.grad(lambda t: sine(t))))(0.3), -np.cos(0.3), rtol=1e-14)


def test_dtypes_of_a_primitive() -> None:
    f = wg.hosts.jax.primitive(lambda x: x * 2)
    assert f(X.astype(np.float32)).dtype == np.float32
    assert f(X).dtype == np.float64 and f(np.arange(3)).dtype == np.int64
