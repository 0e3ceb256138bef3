"""The user's own rules, and how cotangents are added up."""

from __future__ import annotations

import re
import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient
from wengert.checking import DerivativeError
from wengert.errors import MissingRuleError, ShapeError, StructureError

X = np.array([1.25, -0.5, 2.0])


def bilinear(counts: Counter[str]) -> Any:
    """y = a² b c as a primitive; each of its rules counts itself."""

    @wg.primitive
    def f(a: Any, b: Any, c: Any) -> Any:
        return a**2 * b * c

    @f.def_pullback(argnum=0)
    def _(ct: Any, y: Any, a: Any, b: Any, c: Any) -> Any:
        counts["a"] += 1
        return ct * 2 * a * b * c

    @f.def_pullback(argnum=1)
    def _(ct: Any, y: Any, a: Any, b: Any, c: Any) -> Any:
        counts["b"] += 1
        return ct * a**2 * c

    @f.def_pullback(argnum=2)
    def _(ct: Any, y: Any, a: Any, b: Any, c: Any) -> Any:
        counts["c"] += 1
        return ct * a**2 * b

    return f


def test_a_primitive_takes_part_in_everything() -> None:
    """One pullback is enough for reverse and forward mode, second order, vmap and jit; the code itself stays opaque."""

    @wg.primitive
    def root(a: Any) -> Any:
        x = float(a)  # code that could not be traced
        for _ in range(60):
            x = 0.5 * (x + float(a) / x)
        return x

    @root.def_pullback
    def _(ct: Any, y: Any, a: Any) -> Any:
        return (ct / (2 * y),)

    a = 2.0
    assert wg.grad(root)(a) == pytest.approx(0.5 / np.sqrt(a))
    assert wg.jvp(root, (a,), (3.0,))[1] == pytest.approx(1.5 / np.sqrt(a))
    assert wg.grad(wg.grad(root))(a) == pytest.approx(-0.25 * a**-1.5)
    assert wg.hvp(root, (a,), (1.0,)) == pytest.approx(-0.25 * a**-1.5)
    assert wg.jit(wg.grad(root))(a) == wg.grad(root)(a)
    batch = np.array([1.0, 4.0, 9.0])
    np.testing.assert_allclose(wg.vmap(root)(batch), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(wg.vmap(wg.grad(root))(batch), 0.5 / np.sqrt(batch))
    assert root(4.0) == 2.0  # outside of any trace it is the function
    wg.check_derivatives(root, a)


def test_a_users_rules_for_forward_mode_and_batches_are_used() -> None:
    """A pushforward and a batching rule of the user's are the ones that are used."""
    used: list[str] = []

    @wg.primitive
    def triple(x: Any) -> Any:
        return 3 * x

    @triple.def_pushforward
    def _(dxs: Any, y: Any, x: Any) -> Any:
        used.append("pushforward")
        return 3 * dxs[0]

    @triple.def_batch
    def _(batched: Any, x: Any) -> Any:
        used.append("batch")
        assert batched == (True,)
        return 3 * x

    assert wg.jvp(triple, (2.0,), (1.0,)) == (6.0, 3.0)
    np.testing.assert_array_equal(wg.vmap(triple)(np.arange(3.0)), [0.0, 3.0, 6.0])
    assert used == ["pushforward", "batch"]


def test_a_primitive_may_have_several_results_and_settings() -> None:
    """A primitive may return a tuple and take hashable keyword settings, which its rules get as well."""

    @wg.primitive
    def both(x: Any, *, scale: float) -> Any:
        return np.sin(x) * scale, np.cos(x) * scale

    @both.def_pullback
    def _(cts: Any, ys: Any, x: Any, *, scale: float) -> Any:
        return (scale * (cts[0] * np.cos(x) - cts[1] * np.sin(x)),)

    def f(x: Any) -> Any:
        s, c = both(x, scale=2.0)
        return np.sum(s * c)

    x = np.linspace(0, 1, 4)
    assert_gradient(wg.grad(f)(x), lambda x: np.sum(4 * np.sin(x) * np.cos(x)), x)


def test_a_rule_defined_later_takes_effect_at_once() -> None:
    """No refresh: the derivative is that of the rule that stands now."""

    @wg.primitive
    def identity(x: Any) -> Any:
        return np.array(x)

    @identity.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        return (ct,)

    gradient, jitted = wg.grad(lambda x: identity(x) * 1.0), wg.jit(wg.grad(lambda x: identity(x) * 1.0))
    assert gradient(2.0) == jitted(2.0) == 1.0

    @identity.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        return (10 * ct,)

    assert gradient(2.0) == 10.0
    assert jitted(2.0) == 10.0


def test_a_scalar_function_is_lifted_to_arrays() -> None:
    """wg.broadcast of a function of numbers is one instruction for all elements, whatever their number."""

    def bump(x: Any, s: Any) -> Any:
        return np.exp(-x * x) * s

    x = np.linspace(-1, 1, 50)
    tape = wg.trace(lambda x: wg.broadcast(bump, x, 2.0))(x)
    assert len(tape) == 1
    assert_gradient(wg.grad(lambda x: np.sum(wg.broadcast(bump, x, 2.0)))(x), lambda x: np.sum(bump(x, 2.0)), x)


def test_only_the_pullback_that_is_needed_runs() -> None:
    """Three arguments, a counter in each partial: the gradient in one argument runs exactly one of them."""
    for argnum, name in enumerate("abc"):
        counts: Counter[str] = Counter()
        f = bilinear(counts)
        gradient = wg.grad(lambda a, b, c, f=f: f(a, b, c), argnums=argnum)(2.0, 3.0, 5.0)
        assert gradient == {"a": 60.0, "b": 20.0, "c": 12.0}[name]
        assert counts == {name: 1}
    counts = Counter()
    f = bilinear(counts)
    b = 3.0  # captured
    wg.grad(lambda a, c: f(a, b, c), argnums=(0, 1))(2.0, 5.0)
    assert counts == {"a": 1, "c": 1}


def test_a_right_rule_passes_and_a_wrong_one_is_found() -> None:
    """check_derivatives: forward against differences, reverse against forward, second order; each mistake is caught."""
    x = np.linspace(0.2, 1.0, 4)
    wg.check_derivatives(lambda x: np.sum(np.tanh(x) * x), x)
    wg.check_derivatives(lambda p, k: p["a"] ** k * np.sum(p["b"]), {"a": 1.3, "b": x[::2]}, 3)

    def primitive_with(pullback: Any) -> Any:
        @wg.primitive
        def cube(x: Any) -> Any:
            return x**3

        cube.def_pullback(pullback)
        return lambda x: np.sum(cube(x))

    wg.check_derivatives(primitive_with(lambda ct, y, x: (3 * ct * x**2,)), x)
    with pytest.raises(DerivativeError, match="finite differences"):
        wg.check_derivatives(primitive_with(lambda ct, y, x: (2 * ct * x**2,)), x)
    with pytest.raises(DerivativeError):  # right at first order, but its own derivative is cut
        wg.check_derivatives(primitive_with(lambda ct, y, x: (3 * ct * wg.stop_gradient(x) ** 2,)), x)
    wg.check_derivatives(primitive_with(lambda ct, y, x: (3 * ct * wg.stop_gradient(x) ** 2,)), x, order=1)

    @wg.primitive
    def forward_only(x: Any) -> Any:
        return x**2

    forward_only.def_pushforward(lambda dxs, y, x: 2 * x * dxs[0])
    forward_only.def_pullback(lambda ct, y, x: (2.5 * x * ct,))
    with pytest.raises(DerivativeError, match="reverse mode differs from forward mode"):
        wg.check_derivatives(lambda x: np.sum(forward_only(x)), x, order=1)


def test_a_pullback_gets_no_chance_to_write_its_cotangent() -> None:
    """A rule that writes into ct works on its own value of it: the other users of the cotangent are not disturbed."""

    @wg.primitive
    def rude(x: Any) -> Any:
        return x * 2

    @rude.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        ct *= 2
        return (ct,)

    x = np.ones(3)
    gradient = wg.grad(lambda x: np.sum((rude(x) + x) ** 2))(x)
    np.testing.assert_array_equal(gradient, 2 * 3.0 * (2 + 1) * np.ones(3))


def test_a_rule_of_the_wrong_shape_or_structure_raises() -> None:
    """Instead of broadcasting to something plausible."""

    @wg.primitive
    def f(x: Any, y: Any) -> Any:
        return np.sum(x) * y

    f.def_pullback(lambda ct, out, x, y: (ct, ct))
    with pytest.raises(ShapeError, match=r"pullback of f returned float64\[\] for argument 0, which is float64\[3\]"):
        wg.grad(lambda x: f(x, 2.0))(np.ones(3))
    f.def_pullback(lambda ct, out, x, y: ct)
    with pytest.raises(StructureError, match="tuple of 2"):
        wg.grad(lambda x: f(x, 2.0))(np.ones(3))


# ----------------------------------------------------------------------------------- one cotangent for several operands


def test_a_rule_that_returns_one_cotangent_for_both_operands_is_right() -> None:
    """add(x, x): both operands get the same cotangent, and their sum is 2, at any depth of such additions."""
    x = np.arange(3.0)
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(np.add(x, x)))(x), np.full(3, 2.0))

    def doubled(x: Any) -> Any:
        for _ in range(10):
            x = x + x
        return np.sum(x * x[0])

    assert_gradient(wg.grad(doubled)(x / 100), doubled, x / 100, rtol=1e-5)

    @wg.primitive
    def plus(a: Any, b: Any) -> Any:
        return a + b

    plus.def_pullback(lambda ct, y, a, b: (ct, ct))
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(plus(x, x) * x))(x), 4 * x)


def test_the_gradient_is_nobody_elses_array() -> None:
    """Gradients that are equal do not share memory with each other, with the arguments or with later results."""
    x, y = np.ones(3), np.ones(3)
    gx, gy = wg.grad(lambda x, y: np.sum(x + y), argnums=(0, 1))(x, y)
    gx[:] = 5.0
    np.testing.assert_array_equal(gy, np.ones(3))
    value, pullback = wg.vjp(lambda x: x, x)
    seed = np.ones(3)
    (g,) = pullback(seed)
    g[:] = 9.0
    np.testing.assert_array_equal(seed, np.ones(3))
    np.testing.assert_array_equal(pullback(seed)[0], np.ones(3))
    value[:] = 7.0
    np.testing.assert_array_equal(x, np.ones(3))


def test_a_pullback_may_be_called_again() -> None:
    """Many cotangents, one forward run; what a call returned is not overwritten by the next, nor by edits of x."""
    x = np.linspace(0, 1, 4)
    y, pullback = wg.vjp(np.tanh, x)
    results = [pullback(ct)[0] for ct in np.eye(4)]
    x[:] = 100.0
    again = [pullback(ct)[0] for ct in np.eye(4)]
    for a, b, k in zip(results, again, range(4), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a[k] == pytest.approx(1 - y[k] ** 2)


def test_n_uses_of_an_array_need_one_buffer() -> None:
    """N reads of an n-vector, slices and elements: the cotangent is one array, whatever N; peak memory says so."""
    n = 20_000
    x = np.ones(n)

    def f(x: Any, uses: int) -> Any:
        total = 0.0
        for k in range(uses):
            total = total + x[k] * x[k + 1] + np.sum(x[k : k + 2])
        return total

    peaks = []
    for uses in (10, 100):
        program = wg.compile(
            wg.trace(
                wg.grad(f),
            )(x, uses)
        )
        tracemalloc.start()
        try:
            program(x, uses)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] <= 1.3 * peaks[0]
    assert peaks[1] <= 3 * x.nbytes


# --------------------------------------------------------------------------------------------- rules that are not there


def test_a_partial_that_is_not_implemented_raises_only_if_needed() -> None:
    """The derivative in a is there; that in b raises, says why and where, unless b is constant data."""

    @wg.primitive
    def bessel(nu: Any, x: Any) -> Any:
        return nu * x

    @bessel.def_pullback
    def _(ct: Any, y: Any, nu: Any, x: Any) -> Any:
        return wg.not_implemented("the derivative in the order of a Bessel function"), ct * nu

    assert wg.grad(bessel, argnums=1)(2.0, 3.0) == 2.0
    assert wg.grad(lambda x: bessel(2.0, x) + 0.0)(3.0) == 2.0
    with pytest.raises(MissingRuleError, match=r"order of a Bessel function(.|\n)*test_rules\.py(.|\n)*stop_gradient"):
        wg.grad(lambda nu: bessel(nu, 3.0))(2.0)
    with pytest.raises(MissingRuleError, match="Bessel"):
        wg.grad(bessel, argnums=(0, 1))(2.0, 3.0)
    assert wg.grad(lambda nu: bessel(wg.stop_gradient(nu), nu))(2.0) == 2.0


def test_an_argument_without_a_rule_raises() -> None:
    """Not zeros: None is for the rule's author to say."""

    @wg.primitive
    def f(a: Any, b: Any) -> Any:
        return a * b

    f.def_pullback(lambda ct, y, a, b: ct * b, argnum=0)
    assert wg.grad(f)(2.0, 3.0) == 3.0
    with pytest.raises(MissingRuleError, match=re.escape("f has no pullback for argument 1")):
        wg.grad(f, argnums=1)(2.0, 3.0)

    f.def_pullback(lambda ct, y, a, b: None, argnum=1)  # proved independent
    assert wg.grad(f, argnums=1)(2.0, 3.0) == 0.0


def test_a_rule_that_is_not_written() -> None:
    @wg.primitive
    def opaque(x: Any) -> Any:
        return np.sin(x)

    assert opaque(0.0) == 0
    with pytest.raises(MissingRuleError, match="opaque"):
        wg.grad(opaque)(1.0)

    opaque.def_pullback(lambda ct, y, x: (wg.not_implemented("too hard"),))
    with pytest.raises(MissingRuleError, match="too hard"):
        wg.grad(opaque)(1.0)


# --------------------------------------------------------------------------------- what a primitive is given, and gives


def test_primitives_get_what_they_would_get_untraced() -> None:
    """They could write into the caller's array, Python's numbers came as int64, and 1 and True were one setting."""

    @wg.primitive
    def writes(x: Any) -> Any:
        x *= 2
        return x.sum()

    writes.def_pullback(lambda ct, y, x: (ct * np.ones(3),))
    a = np.ones(3)
    with pytest.raises(wg.errors.MutationError):
        wg.grad(lambda x: writes(x) + np.sum(x))(a)
    np.testing.assert_array_equal(a, np.ones(3))
    times = wg.primitive(lambda x, n: x * n)
    assert wg.jit(times)(np.float32(2), 3).dtype == np.float32
    either = wg.primitive(lambda x, n=1: x * (10 if n is True else n))
    assert wg.jit(lambda x: (either(x, n=1), either(x, n=True)))(2.0) == (2.0, 20.0)
    np.testing.assert_array_equal(wg.vmap(wg.primitive(lambda x: x * 2))(np.ones((2, 3))), np.full((2, 3), 2.0))


def test_settings_are_told_apart_inside_of_tuples() -> None:
    @wg.primitive
    def scaled(x: Any, s: Any = None) -> Any:
        return x * (1.0 if isinstance(s[0], int) else 5.0)

    a, b = wg.jit(lambda x: (scaled(x, s=(1,)), scaled(x, s=(1.0,))))(X)
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(b, 5 * X)


def test_a_rule_is_not_passed_by() -> None:
    """With a traced keyword the function ran without its own pullback, and the gradient was another."""

    @wg.primitive
    def rounded(x: Any, s: Any = None) -> Any:
        return np.round(x)

    @rounded.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        return (ct,)

    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(rounded(x)))(X), np.ones(3))
    for f in (lambda x: rounded(x=x), lambda x: rounded([x, x]), lambda x: rounded(x, s=[1, 2])):
        with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"rounded(.|\n)*by position"):
            wg.grad(lambda x, f=f: np.sum(f(x)))(X)


def test_complex_cotangents_are_refused() -> None:
    @wg.primitive
    def turned(x: Any) -> Any:
        return x * 1.0

    @turned.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        return (ct * 1j,)

    with pytest.raises(wg.errors.DTypeError, match="complex128"):
        wg.grad(lambda x: np.sum(turned(x)))(X)


@pytest.mark.parametrize("result", [None, np.ma.masked_array(X, [True, False, False])], ids=["none", "masked"])
def test_what_a_primitive_cannot_return(result: Any) -> None:
    with pytest.raises(wg.errors.UnsupportedFunctionError):
        wg.jit(wg.primitive(lambda x: result), strict=True)(X)
