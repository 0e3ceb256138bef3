"""``wg.digits``: known cancellations are counted as mpmath counts them, and the line that lost the digits is named."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import wengert as wg

mpmath.mp.dps = 60
X = np.linspace(1, 2, 20) + 1e5
N = 8
HILBERT = 1 / (np.arange(N)[:, None] + np.arange(N) + 1.0)
mp = mpmath.mpf


def mean(xs: Any) -> Any:
    return mpmath.fsum(xs) / len(xs)


CASES: list[tuple[str, Callable[..., Any], Any, Callable[..., Any], str, str]] = [
    # name, function, argument, the same by mpmath, the op that loses digits, a part of what to write instead
    ("cosine", lambda x: (1 - np.cos(x)) / x**2, 1e-6, lambda x: (1 - mpmath.cos(x)) / x**2, "subtract", "sin(x / 2)"),
    ("variance", lambda x: np.mean(x**2) - np.mean(x) ** 2, X, lambda x: mean([v**2 for v in x]) - mean(x) ** 2,
     "subtract", "np.var(x)"),
    ("logarithm", lambda x: np.log(1 + x), 1e-10, mpmath.log1p, "log", "np.log1p(x)"),
    ("logarithm below", lambda x: np.log(1 - x), 1e-10, lambda x: mpmath.log1p(-x), "log", "np.log1p(-x)"),
    ("roots", lambda x: np.sqrt(x + 1) - np.sqrt(x), 1e9, lambda x: mpmath.sqrt(x + 1) - mpmath.sqrt(x), "subtract",
     "np.sqrt(a) + np.sqrt(b)"),
    ("quadratic", lambda b: (-b + np.sqrt(b * b - 4)) / 2, 1e6, lambda b: (-b + mpmath.sqrt(b * b - 4)) / 2, "add",
     "np.copysign"),
    ("exponential", lambda x: np.exp(x) - 1, 1e-9, mpmath.expm1, "subtract", "np.expm1(x)"),
    ("squares", lambda x: x**2 - (x - 1e-9) ** 2, 3.0, lambda x: x**2 - (x - mp(1e-9)) ** 2, "subtract",
     "(a - b) * (a + b)"),
    ("sum", lambda x: np.sum(x), np.array([1e16, 3.14, -1e16, 2.7]), mpmath.fsum, "sum", "math.fsum"),
    ("alternating", lambda x: np.sum((-x) ** np.arange(80) / np.array([math.gamma(k + 1.0) for k in range(80)])), 15.0,
     lambda x: mpmath.fsum((-x) ** k / mp(math.gamma(k + 1.0)) for k in range(80)), "sum", "math.fsum"),
    ("product", lambda x: x @ np.array([1.0, 1.0, -1.0]), np.array([1e12, 1 / 3, 1e12]), lambda x: x[0] + x[1] - x[2],
     "contract", "cancel"),
    ("many turns", lambda x: np.sin(x * 1e10), 1 / 3, lambda x: mpmath.sin(x * 10**10), "sin", "turns"),
    ("gradient", wg.grad(lambda x: np.log(1 + x) - x), 1e-9, lambda x: 1 / (1 + x) - 1, "add", "opposite sign"),
    ("hilbert", lambda x: np.linalg.solve(HILBERT, x)[0], np.ones(N),
     lambda x: mpmath.lu_solve(mpmath.matrix(HILBERT.tolist()), mpmath.matrix(x))[0], "solve", "nearly singular"),
    ("loop", lambda x: wg.fori_loop(0, 3, lambda i, c: (c + 1e8) - 1e8, x), 1 / 3, lambda x: x, "subtract", ""),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[c[0].replace(" ", "-") for c in CASES])
def test_known_cancellations(case: Any) -> None:
    _, f, x, true, op, instead = case
    (found,) = wg.digits(f)(x).results
    exact = true([mp(v) for v in x] if np.ndim(x) else mp(x))
    held = -mpmath.log10(abs(mp(found.value) - exact) / abs(exact))
    assert abs(found.digits - float(held)) < 0.01
    assert abs(mp(found.wanted) / exact - 1) < 1e-15
    assert found.lost is not None and found.lost.op == op and instead in found.lost.instead
    assert found.digits < 13 and found.unknown == ""


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.log1p(x), 1e-10),
        (lambda x: 2 * np.sin(x / 2) ** 2 / x**2, 1e-6),
        (lambda x: np.var(x), X),
        (lambda x: np.sum(np.tanh(x) ** 2), X),
        (wg.grad(lambda x: np.sum(np.exp(-x) * x)), np.linspace(0.1, 0.9, 5)),
        (lambda x: np.abs(x) - np.maximum(x, 0), -1.5),
    ],
)
def test_what_loses_nothing_names_nothing(f: Callable[..., Any], x: Any) -> None:
    (found,) = wg.digits(f)(x).results
    assert found.digits > 14 and found.lost is None


def difference(x: Any) -> Any:
    big = x + 1e10
    small = big - 1e10
    return small * 2, x


def test_it_names_the_line_and_the_operands() -> None:
    report = wg.digits(difference)(1 / 3)
    lossy, exact = report.results
    line = inspect.getsourcelines(difference)[1] + 2
    assert (lossy.path, exact.path, exact.lost) == ("result 0", "result 1", None)
    lost = lossy.lost
    assert lost is not None
    assert (lost.line, lost.function, lost.operands) == (line, "difference", (1e10 + 1 / 3, 1e10))
    assert f"test_precision.py:{line}, in difference:   small = big - 1e10" in str(report)


def test_an_overflow_is_named_and_no_digits_hold() -> None:
    (found,) = wg.digits(lambda x: np.log(np.sum(np.exp(x))))(np.array([1.0, 800.0])).results
    assert found.digits == 0 and found.lost is not None
    assert (found.lost.op, found.lost.operands) == ("exp", (800.0,)) and "np.max(x)" in found.lost.instead
    assert "exp fails: of 800 it makes inf" in str(found)
    (found,) = wg.digits(lambda x: np.exp(x) / np.sum(np.exp(x)))(np.array([1.0, 800.0])).results
    assert found.digits == 0 and found.lost is not None and found.lost.op == "exp"


def test_float32_is_compared_with_its_own_digits() -> None:
    (found,) = wg.digits(lambda x: (1 - np.cos(x)) / x**2)(np.float32(1e-2)).results
    assert found.lost is not None and found.lost.op == "subtract" and 2 < found.digits < 5
    (found,) = wg.digits(lambda x: np.sin(x))(np.float32(0.3)).results
    assert 6.5 < found.digits < 7.5 and found.lost is None


def test_a_step_of_which_no_more_is_known_is_named() -> None:
    from scipy.special import gammaln

    (found,) = wg.digits(lambda x: gammaln(x + 1e9 - 1e9))(0.3).results
    assert found.lost is not None and found.lost.op == "subtract" and 5 < found.digits < 9
    assert found.unknown.startswith("gammaln at test_precision.py")
    assert "what it loses itself is not seen" in str(found)


def test_elements_are_followed_through_moves() -> None:
    def f(x: Any) -> Any:
        y = np.concatenate([x, x + 1e9 - 1e9])
        return y.reshape(2, 3).T[::-1]

    (found,) = wg.digits(f)(np.array([0.1, 0.25, 0.5])).results
    assert found.index == (2, 1) and found.lost is not None and found.lost.operands == (0.1 + 1e9, 1e9)
    assert found.typical > 15
