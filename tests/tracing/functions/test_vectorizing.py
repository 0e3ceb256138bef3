"""np.vectorize of a Python function: NumPy's values, dtypes and number of calls, and derivatives."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.tracing.numpy_cases import case, floats, same_as_numpy, verify

X, V = floats(2, 3), floats(4)
POSITIVE = floats(5, low=0.5, high=2.0)


@np.vectorize
def decorated(v: Any, k: Any = 2.0) -> Any:
    """A branch on the value."""
    return v**2 if v > 0 else k * v


@np.vectorize(excluded={"p", 1})
def horner(x: Any, p: Any) -> Any:
    return (p[0] * x + p[1]) * x


two = np.vectorize(lambda a, b: (a * b, a + b))
norm = np.vectorize(lambda v: np.sqrt(np.sum(v * v)), signature="(n)->()")
matvec = np.vectorize(np.dot, signature="(m,n),(n)->(m)")
both = np.vectorize(lambda v, a: (v * a, np.sum(v)), signature="(n),()->(n),()")

CASES = [
    case("a_branch", decorated, X),
    case("two_operands", decorated, X, floats(3)),
    case("a_keyword", lambda x, k: decorated(x, k=k), V, floats()),
    case("a_scalar", decorated, floats()),
    case("excluded", lambda x: horner(x, [1.0, -2.0, 0.5]), V),
    case("excluded_and_traced", lambda x, p: horner(x, p=[p[0], p[1]]), V, floats(2)),
    case("two_results", two, X, floats(3)),
    case("otypes", np.vectorize(lambda v: v, otypes="f"), V, order=0),
    case("otypes_of_two", np.vectorize(lambda v: (v, v > 0), otypes=[float, bool]), V),
    case("no_elements", np.vectorize(lambda v: v * v, otypes=[float]), np.zeros((0, 2)), order=0),
    case("cache", np.vectorize(lambda v: v * v, cache=True), V),
    case("a_captured_traced_value", lambda x: np.vectorize(lambda t: t * x)(np.arange(3)), floats()),
    case("a_list", lambda x: np.vectorize(lambda t: t * t)([x[0], x[2], x[1]]), V),
    case("inside_of_the_function", lambda x: np.vectorize(lambda t: np.exp(t) * 2)(x) + 1, X),
    case("a_constant", lambda x: np.vectorize(lambda t: 1.0)(x) * x, X),
    case("signature", norm, X),
    case("signature_of_one", norm, V),
    case("signature_broadcast", matvec, floats(2, 3, 3), floats(3)),
    case("signature_of_two_results", both, X, floats(2)),
]


@pytest.mark.sampled(3, "a tenth of a second each")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_vectorize_was_refused(f: Any, args: Any, order: int) -> None:
    verify(f, args, order)


def test_functions_of_the_users_own_that_take_one_number() -> None:
    """The elements have NumPy's dtype, so that integers stay integers."""
    same_as_numpy(np.vectorize(lambda n: n // 2 if n % 2 == 0 else 3 * n + 1), (np.arange(5),))
    same_as_numpy(np.vectorize(lambda n: 0 if n < 2 else n * 0.5), (np.arange(5),))  # cast to the first one's dtype


def test_it_is_called_as_often_as_numpy_calls_it() -> None:
    """One call for all elements would give every one the same number."""
    for options in ({}, {"otypes": [float]}, {"cache": True}):
        count = itertools.count(1)
        f = np.vectorize(lambda v: v * next(count), **options)  # noqa: B023
        expected = f(V)
        count = itertools.count(1)
        np.testing.assert_array_equal(wg.vjp(f, V)[0], expected)


def test_the_errors_are_numpys() -> None:
    with pytest.raises(ValueError, match="size 0 inputs"):
        wg.vjp(np.vectorize(lambda v: v), np.zeros(0))
    with pytest.raises(TypeError, match="wrong number of positional"):
        wg.vjp(matvec, X)
    with pytest.raises(ValueError, match="inconsistent size for core dimension"):
        wg.vjp(matvec, X, V)
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        wg.vjp(matvec, V, V)
    with pytest.raises(ValueError, match="wrong number of outputs"):
        wg.vjp(np.vectorize(lambda v: (v, v), signature="(n)->(n)"), X)


def test_without_traced_values_it_is_numpys_own() -> None:
    table = np.vectorize(math.erf)(np.linspace(0, 1, 3))
    np.testing.assert_allclose(table, [math.erf(0.0), math.erf(0.5), math.erf(1.0)])
    assert wg.grad(lambda x: np.sum(x * np.vectorize(len)(["a", "bc"])))(2.0) == 3.0


def test_a_captured_array_is_read_at_every_call() -> None:
    table = np.array([1.0, 2.0])
    f = wg.jit(lambda x: np.sum(x * np.vectorize(lambda t: t * t)(table)))
    assert f(1.0) == 5.0
    table[1] = 3.0
    assert f(1.0) == 10.0
