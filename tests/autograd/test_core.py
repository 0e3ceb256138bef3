"""Primitives with autograd's rules: any Python values, rules that are run with plain values, higher orders, boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import wengert as wg
import wengert.autograd as ag
from wengert.autograd import core
from wengert.autograd.extend import (
    Box,
    SparseObject,
    VJPNode,
    def_linear,
    defjvp,
    defjvp_argnum,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    register_notrace,
    vspace,
)
from wengert.autograd.numpy.numpy_boxes import ArrayBox
from wengert.autograd.test_util import check_grads
from wengert.autograd.tracer import getval, isbox

A = np.array([[2.0, 1.0], [1.0, 3.0]])


def solved(A: Any, b: Any) -> Any:
    """A solver that takes no traced array, as compiled code takes none."""
    assert type(A) is np.ndarray and type(b) is np.ndarray
    return scipy.linalg.lapack.dgesv(A, b)[2]


def solver() -> Callable[..., Any]:
    solve = primitive(solved)
    defvjp(
        solve,
        lambda x, A, b: lambda g: -np.outer(solve(A.T, g), x),
        lambda x, A, b: lambda g: solve(A.T, g),
    )
    return solve


def test_a_rule_calls_code_that_is_not_traced_and_has_derivatives() -> None:
    solve, b = solver(), np.array([1.0, 2.0])
    gradient = ag.grad(lambda A: np.sum(solve(A, b) ** 2))(A)
    expected = wg.grad(lambda A: np.sum(np.linalg.solve(A, b) ** 2))(A)
    assert np.allclose(gradient, expected, rtol=1e-12)
    check_grads(solve, (0, 1), modes=["rev"], order=3)(A, b)
    assert np.allclose(
        ag.hessian(lambda b: np.sum(solve(A, b) ** 2))(b), wg.hessian(lambda b: np.sum(np.linalg.solve(A, b) ** 2))(b)
    )


def test_forward_mode_of_a_primitive_that_has_a_pullback_alone() -> None:
    solve, b = solver(), np.array([1.0, 2.0])
    _, tangent = ag.make_jvp(lambda b: solve(A, b))(b)(np.array([1.0, 0.0]))
    assert np.allclose(tangent, np.linalg.solve(A, np.array([1.0, 0.0])))


def test_a_primitive_takes_and_returns_what_python_has() -> None:
    @primitive
    def scaled(parts: Any, how: str, *, by: Any) -> Any:
        return {"out": [by(part) for part in parts], "how": 1.0 * len(how)}

    @defvjp_argnum.__get__(scaled)
    def _(argnum: int, ans: Any, args: Any, kwargs: Any) -> Any:
        assert argnum == 0 and args[1] == "twice" and ans["how"] == 5.0
        return lambda g: tuple([2 * part for part in g["out"]])

    f = lambda x: np.sum(scaled((x, x * x), "twice", by=lambda x: 2 * x)["out"][1])
    assert ag.grad(f)(3.0) == 12.0
    assert scaled((1.0,), "", by=abs) == {"out": [1.0], "how": 0.0}


def test_values_decide_inside_of_rules() -> None:
    @primitive
    def relu(x: Any) -> Any:
        return x if x > 0 else 0.0

    defvjp(relu, lambda ans, x: (lambda g: g) if ans > 0 else (lambda g: 0.0))
    assert ag.grad(relu)(2.0) == 1.0 and ag.grad(relu)(-2.0) == 0.0


def test_arguments_are_pulled_back_together_if_the_rule_says_so() -> None:
    calls = []

    @primitive
    def product(a: Any, b: Any, n: int) -> Any:
        return a * b * n

    def maker(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        calls.append(argnums)
        return lambda g: [g * args[1 - k] * args[2] for k in argnums]

    defvjp_argnums(product, maker)
    assert ag.grad(product, (0, 1))(2.0, 3.0, 2) == (6.0, 4.0)
    assert set(calls) == {(0, 1)}
    assert ag.grad(product, 1)(2.0, 3.0, 2) == 4.0


def test_pushforwards_are_used_in_forward_mode() -> None:
    @primitive
    def cube(x: Any, y: Any) -> Any:
        return x**3 + y

    defjvp(cube, lambda g, ans, x, y: 100.0 * g, "same")
    assert ag.make_jvp(lambda x: cube(x, 1.0))(2.0)(1.0) == (9.0, 100.0)

    @primitive
    def twice(x: Any) -> Any:
        return 2 * x

    def_linear(twice)
    assert ag.make_jvp(twice)(2.0)(3.0) == (4.0, 6.0)
    defjvp_argnum(twice, lambda argnum, g, ans, args, kwargs: 5.0 * g)
    assert ag.make_jvp(lambda x: twice(x) ** 2)(1.0)(1.0) == (4.0, 20.0)


def test_a_missing_rule_says_so() -> None:
    @primitive
    def f(x: Any, y: Any) -> Any:
        return x * y

    with pytest.raises(NotImplementedError, match="VJP of f wrt argnums"):
        ag.grad(f)(1.0, 2.0)
    defvjp(f, lambda ans, x, y: lambda g: g * y)
    assert ag.grad(f)(1.0, 2.0) == 2.0
    with pytest.raises(NotImplementedError, match="VJP of f wrt argnum 1 not defined"):
        ag.grad(f, 1)(1.0, 2.0)
    defvjp(f, None, argnums=(1,))
    assert ag.grad(f, 1)(1.0, 2.0) == 0.0


def test_sparse_cotangents_are_added() -> None:
    @primitive
    def second(x: Any) -> Any:
        return x[1]

    def add(g: Any, total: Any) -> Any:
        total[1] += g
        return total

    defvjp(second, lambda ans, x: lambda g: SparseObject(vspace(x), lambda total: add(g, total)))
    assert ag.grad(lambda x: second(x) * 3.0)(np.ones(3)).tolist() == [0.0, 3.0, 0.0]


def test_what_is_not_traced_is_constant() -> None:
    rounded = notrace_primitive(lambda x: float(round(x)))
    assert ag.grad(lambda x: x * rounded(x))(2.7) == 3.0

    @primitive
    def floor(x: Any) -> Any:
        return float(int(x))

    register_notrace(VJPNode, floor)
    assert ag.grad(lambda x: x * floor(x))(2.7) == 2.0


def test_boxes_are_told_from_values() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append((isbox(x), isinstance(x, Box), isinstance(x, ArrayBox), isbox(np.zeros(3)), getval(x)))
        return x

    ag.grad(f)(2.0)
    assert seen == [(True, True, True, False, 2.0)]
    assert not isbox(2.0) and getval(2.0) == 2.0


def test_boxes_of_classes_that_are_not_traced_are_refused() -> None:
    class Vector:
        pass

    ArrayBox.register(type("Array", (np.ndarray,), {}))
    with pytest.raises(TypeError, match=r"Vector is no array.*wengert\.register"):
        Box.register(Vector)


def test_the_methods_of_old_warn() -> None:
    f = core.primitive(lambda x, y: x * y)
    with pytest.warns(UserWarning, match="defvjp method is deprecated"):
        f.defvjp(lambda g, ans, vs, gvs, x, y: g * y)
    with pytest.warns(UserWarning, match="defvjp_is_zero method is deprecated"):
        f.defvjp_is_zero((1,))
    assert ag.grad(f, (0, 1))(2.0, 3.0) == (3.0, 0.0)


def test_a_primitive_is_compiled_as_one_step() -> None:
    solve, b = solver(), np.array([1.0, 2.0])
    both = wg.jit(wg.value_and_grad(lambda A: np.sum(solve(A, b))))
    for scale in (1.0, 2.0, 3.0):
        value, gradient = both(scale * A)
        expected = wg.value_and_grad(lambda A: np.sum(np.linalg.solve(A, b)))(scale * A)
        assert np.allclose(value, expected[0]) and np.allclose(gradient, expected[1])


def test_a_function_of_numpy_takes_another_rule_under_its_name_here(monkeypatch: pytest.MonkeyPatch) -> None:
    import wengert.autograd.numpy as anp

    signed = lambda x: np.sign(x)
    monkeypatch.setattr(anp, "signed", signed, raising=False)
    defvjp(signed, lambda ans, x: lambda g: 5.0 * g)
    named: Any = anp
    assert ag.grad(lambda x: named.signed(x) + signed(x))(2.0) == 5.0
    twice = lambda x: 2 * x
    defvjp(twice, lambda ans, x: lambda g: 5.0 * g)
    assert ag.grad(twice)(1.0) == 2.0


def test_results_that_are_integers_have_no_derivative() -> None:
    @primitive
    def largest(x: Any, y: Any) -> Any:
        return np.max(x) * y, int(np.argmax(x))

    defvjp(largest, lambda ans, x, y: lambda g: g[0] * y * (np.arange(x.size) == ans[1]))
    defjvp(largest, lambda g, ans, x, y: (g[ans[1]] * y, 0))
    x = np.array([1.0, 3.0, 2.0])
    assert ag.grad(lambda x: largest(x, 2.0)[0])(x).tolist() == [0.0, 2.0, 0.0]
    assert ag.make_jvp(lambda x: largest(x, 2.0)[0])(x)(np.ones(3)) == (6.0, 2.0)
    with pytest.raises(NotImplementedError, match="JVP of largest wrt argnum 1 not defined"):
        ag.make_jvp(lambda y: largest(x, y)[0])(2.0)(1.0)
