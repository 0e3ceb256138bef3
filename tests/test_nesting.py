"""Transformations of transformations: derivatives of derivatives, of pullbacks, under jit and vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from tests.random_nesting import NESTS, TRANSFORMS, Nest, Wrong, check
from wengert.tracing.tracer import Tracer

X = np.array([0.5, -1.0, 2.0])
V = np.array([1.0, 0.25, -0.5])


def poly(x: Any) -> Any:
    """f = Σ x³; f' = 3x², f'' = 6x, f''' = 6."""
    return np.sum(x**3)


cube = lambda x: x**3
forward = lambda f: lambda x: wg.jvp(f, (x,), (1.0,))[1]
reverse = wg.grad
by_vjp = lambda f: lambda x: wg.vjp(f, x)[1](1.0)[0]
by_linearize = lambda f: lambda x: wg.linearize(f, x)[1](1.0)
by_jacobian = lambda f: wg.jacobian(f)
by_jit = lambda f: wg.jit(wg.grad(f))
FIRST = {
    "jvp": forward,
    "grad": reverse,
    "vjp": by_vjp,
    "linearize": by_linearize,
    "jacobian": by_jacobian,
    "jit": by_jit,
}


@pytest.mark.sampled(5, "all triples of modes")
@pytest.mark.parametrize("third", FIRST)
@pytest.mark.parametrize("second", FIRST)
@pytest.mark.parametrize("first", FIRST)
def test_derivatives_nest_to_the_third_order(first: str, second: str, third: str) -> None:
    """x⁴ + sin x: 24 x − cos x."""
    f = lambda x: x**4 + np.sin(x)
    d3 = FIRST[third](FIRST[second](FIRST[first](f)))
    close(d3(0.7), 24 * 0.7 - np.cos(0.7), rtol=1e-10)


@pytest.mark.parametrize("inner", FIRST)
@pytest.mark.parametrize("outer", FIRST)
def test_derivatives_nest_around_vmap_and_jit(outer: str, inner: str) -> None:
    """d/dt Σ d/dx (x³ t²) = 2t Σ 3x²."""
    f = lambda t: np.sum(wg.jit(wg.vmap(FIRST[inner](lambda x: x**3 * t**2)))(X))
    close(FIRST[outer](f)(2.0), 4 * np.sum(3 * X**2), rtol=1e-10)


def test_grad_of_jacobian() -> None:
    """The sum of squares of J = diag(3x²): 9 Σ x⁴."""
    close(wg.grad(lambda x: np.sum(wg.jacobian(cube)(x) ** 2))(X), 36 * X**3)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobian_of_jacobian(mode: str) -> None:
    J = wg.jacobian(wg.jacobian(cube, mode=mode), mode=mode)(X)
    want = np.zeros((3, 3, 3))
    want[range(3), range(3), range(3)] = 6 * X
    close(J, want)


def test_vmap_of_hessian() -> None:
    XS = np.stack([X, V])
    close(wg.vmap(wg.hessian(poly))(XS), np.stack([np.diag(6 * X), np.diag(6 * V)]))


def test_hessian_of_a_sum_over_vmap() -> None:
    close(wg.hessian(lambda x: np.sum(wg.vmap(cube)(x)))(X), np.diag(6 * X))


def test_jit_of_vmap_of_grad() -> None:
    f = wg.jit(wg.vmap(wg.grad(lambda x, a: a * x**3), in_axes=(0, None)))
    for a in (1.0, 2.0):
        close(f(X, a), 3 * a * X**2)
    assert f.stats()["traces"] == 1


def test_jvp_of_vjp_and_vjp_of_jvp() -> None:
    f = lambda x: wg.vjp(cube, x)[1](V)[0]
    y, dy = wg.jvp(f, (X,), (np.ones(3),))
    close(y, 3 * X**2 * V)
    close(dy, 6 * X * V)
    _, pullback = wg.vjp(lambda x: wg.jvp(cube, (x,), (V,))[1], X)
    close(pullback(np.ones(3))[0], 6 * X * V)


def test_the_derivative_of_a_pullback_in_its_cotangent() -> None:
    """ct ↦ Jᵀ ct is linear; its Jacobian is Jᵀ."""
    _, pullback = wg.vjp(lambda x: np.stack([x[0] * x[1], x[2]]), X)
    J = np.array([[X[1], X[0], 0], [0, 0, 1.0]])
    close(wg.jacobian(lambda ct: pullback(ct)[0])(np.ones(2)), J.T)
    _, push = wg.linearize(cube, X)
    close(wg.jacobian(push)(V), np.diag(3 * X**2))
    close(wg.vmap(push)(np.eye(3)), np.diag(3 * X**2))
    close(wg.jit(lambda ct: pullback(ct)[0])(np.ones(2)), J.T @ np.ones(2))


def test_hvp_in_jit_and_in_vmap() -> None:
    f = wg.jit(lambda x, v: wg.hvp(poly, (x,), (v,)))
    close(f(X, V), 6 * X * V)
    close(f(V, X), 6 * X * V)
    assert f.stats()["traces"] == 1
    close(wg.vmap(lambda v: wg.hvp(poly, (X,), (v,)))(np.eye(3)), np.diag(6 * X))


def test_grad_of_hvp_is_the_third_derivative() -> None:
    close(wg.grad(lambda x: np.sum(wg.hvp(poly, (x,), (V,)) * V))(X), 6 * V**2)


def test_value_and_grad_of_value_and_grad() -> None:
    def g(x: Any) -> Any:
        value, slope = wg.value_and_grad(cube)(x)
        return value * slope  # 3 x⁵

    assert wg.value_and_grad(g)(2.0) == (96.0, 240.0)


def test_grad_with_aux_inside_of_grad() -> None:
    def g(x: Any) -> Any:
        slope, aux = wg.grad(lambda x: (x**3, x**2), has_aux=True)(x)
        return slope + aux  # 3x² + x²

    assert wg.grad(g)(2.0) == 16


def test_a_branch_inside_of_nested_derivatives() -> None:
    f = lambda x: x**3 if x > 0 else x**2
    second = wg.jit(wg.grad(wg.grad(f)))
    assert [second(2.0), second(-2.0), second(3.0)] == [12, 2, 18]
    assert second.stats()["traces"] == 2
    close(
        wg.jacobian(wg.grad(lambda x: np.sum(np.stack([f(v) for v in x]))))(np.array([2.0, -1.0])), np.diag([12.0, 2])
    )


def test_the_primal_of_a_structure_in_a_nested_transform() -> None:
    f = lambda p: p["a"] ** 2 * p["b"]
    mixed = wg.grad(lambda p: wg.grad(f)(p)["b"])({"a": 3.0, "b": 2.0})
    assert mixed == {"a": 6.0, "b": 0.0}


# ---------------------------------------------------------------------------------------------- random programs

REFUSED = (
    "the same memory is passed twice",
    "cannot become a concrete array",
    "out= is a concrete ndarray",
    "made outside of",
    "order of an array in memory",
)
"""The messages that docs/limits-in-full.md has for arrays that are not differentiated, or shared."""


def check_all(nests: list[Nest]) -> None:
    """NumPy and differences say what is right; most programs are nothing out of the ordinary."""
    refused = 0
    for nest in nests:
        found = check(nest)
        if found not in ("right", "skipped"):
            assert any(words in found for words in REFUSED), f"{found}\n{nest!r}"
            refused += 1
    assert refused <= 1 + 0.3 * len(nests)


@pytest.mark.sampled(8, "all pairs of transforms")
@pytest.mark.parametrize("inner", TRANSFORMS)
@pytest.mark.parametrize("outer", TRANSFORMS)
def test_random_programs_with_writes_under_every_pair(outer: str, inner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wg.config, "native", False)
    check_all([Nest((outer, inner), seed) for seed in range(4)])


@pytest.mark.sampled(16, "all triples of transforms")
@pytest.mark.parametrize("second", TRANSFORMS)
@pytest.mark.parametrize("first", TRANSFORMS)
def test_random_programs_with_writes_under_every_triple(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wg.config, "native", False)
    check_all([Nest(nest, 0) for nest in NESTS if nest[:2] == (first, second) and len(nest) == 3])


def test_random_programs_find_a_constant_that_an_outer_tape_reads_as_written_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What they are for: with the array itself on the tape, instead of one that later writes leave alone."""
    monkeypatch.setattr(wg.config, "native", False)
    monkeypatch.setattr(Tracer, "lent_constant", Tracer.constant)
    wrong = 0
    for outer in ("jit", "jvp", "linearize"):
        for seed in range(20):
            try:
                check(Nest((outer, "vmap"), seed))
            except Wrong:
                wrong += 1
    assert wrong >= 3
