"""Derivatives compared with differences, as autograd does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from wengert.autograd.core import F, get_name, make_jvp, make_vjp, unary_to_nary, vspace

TOL = RTOL = EPS = 1e-6
scalar_close: F = lambda a, b: abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL


def make_numerical_jvp(f: F, x: object) -> F:
    """Return the derivative of ``f`` at ``x`` along a vector, by central differences."""
    x_vs, y_vs = vspace(x), vspace(f(x))
    at = lambda v, step: f(x_vs.add(x, x_vs.scalar_mul(v, step)))
    minus = lambda a, b: y_vs.add(a, y_vs.scalar_mul(b, -1.0))
    return lambda v: y_vs.scalar_mul(minus(at(v, EPS / 2), at(v, -EPS / 2)), 1.0 / EPS)


def check_vjp(f: F, x: object) -> None:
    """Raise AssertionError unless the pullback agrees with differences, along random vectors."""
    vjp, y = make_vjp(f, x)
    x_vs, y_vs = vspace(x), vspace(y)
    x_v, y_v = x_vs.randn(), y_vs.randn()
    vjp_y = x_vs.covector(vjp(y_vs.covector(y_v)))
    assert vspace(vjp_y) == x_vs
    exact, numeric = x_vs.inner_prod(x_v, vjp_y), y_vs.inner_prod(y_v, make_numerical_jvp(f, x)(x_v))
    what = f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:"
    assert scalar_close(numeric, exact), f"{what}\nanalytic: {exact}\nnumeric:  {numeric}"


def check_jvp(f: F, x: object) -> None:
    """Raise AssertionError unless the pushforward agrees with differences, along a random vector."""
    x_v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(x_v)[1], make_numerical_jvp(f, x)(x_v))


def check_equivalent(x: object, y: object) -> None:
    """Raise AssertionError unless two values are of one vector space, and close."""
    x_vs, y_vs = vspace(x), vspace(y)
    assert x_vs == y_vs, f"VSpace mismatch:\nx: {x_vs}\ny: {y_vs}"
    v = x_vs.randn()
    assert scalar_close(x_vs.inner_prod(x, v), x_vs.inner_prod(y, v)), f"Value mismatch:\nx: {x}\ny: {y}"


@unary_to_nary
def check_grads(f: F, x: object, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Raise AssertionError unless the derivatives of ``f`` agree with differences, up to an order."""
    assert all(m in ["fwd", "rev"] for m in modes)
    jvp, vjp = lambda x, v: make_jvp(f, x)(v)[1], lambda x, v: make_vjp(f, x)[0](v)
    for mode, check, name, grad_f in (("fwd", check_jvp, "jvp", jvp), ("rev", check_vjp, "vjp", vjp)):
        if mode in modes:
            check(f, x)
        if mode in modes and order > 1:
            grad_f.__name__ = f"{name}_{get_name(f)}"
            check_grads(grad_f, (0, 1), modes, order=order - 1)(x, vspace(x if mode == "fwd" else f(x)).randn())


def combo_check(fun: F, *args: object, **kwargs: object) -> F:
    """Return a function that checks ``fun`` with every combination of the given arguments."""

    def _combo_check(*choices: Any, **by_name: Any) -> None:
        for chosen in product(*choices):
            for named in product(*by_name.values()):
                check_grads(fun, *args, **kwargs)(*chosen, **dict(zip(by_name, named, strict=True)))

    return _combo_check
