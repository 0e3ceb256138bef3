"""Orthogonal polynomials, in their argument: derivatives are those of the next family (DLMF 18.9).

In the degree and the parameters there is no closed form. At degree 0, also where it is an integer, the derivative is 0
by selection: degree −1 is nothing that SciPy computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from wengert.errors import MissingRuleError
from wengert.ops.elementwise import (
    absolute,
    arccos,
    arccosh,
    convert,
    cos,
    cosh,
    equal,
    maximum,
    select,
    sin,
    sinh,
    tanh,
)
from wengert.ops.op import NONE
from wengert.ops.special.declare import either, function, like, no_formula, number, over
from wengert.ops.special.hypergeometric import by_2f1
from wengert.tape import Atom, Lit


def _degree(name: str) -> Any:
    return no_formula(f"{name} in its degree")


def _parameter(name: str) -> Any:
    return no_formula(f"{name} in its parameter")


def _lower(n: Atom) -> Any:
    """n − 1, and 0 for n = 0."""
    one = Lit(1, n.aval.dtype)
    return select(equal(n, 0), n, n - one)


def _unless_constant(n: Atom, slope: Atom, x: Atom) -> Any:
    return either(equal(n, 0), 0, slope, like=x)


jacobi = function(
    sp.eval_jacobi,
    _degree("eval_jacobi"),
    _parameter("eval_jacobi"),
    _parameter("eval_jacobi"),
    lambda n, a, b, x, y: _unless_constant(
        n, 0.5 * (like(n, x) + like(a, x) + like(b, x) + 1) * jacobi(_lower(n), a + 1, b + 1, x), x
    ),
)
sh_jacobi = function(  # monic, so its derivative is n times the one of degree n − 1
    sp.eval_sh_jacobi,
    _degree("eval_sh_jacobi"),
    _parameter("eval_sh_jacobi"),
    _parameter("eval_sh_jacobi"),
    lambda n, p, q, x, y: _unless_constant(n, like(n, x) * sh_jacobi(_lower(n), p + 2, q + 1, x), x),
)
gegenbauer = function(
    sp.eval_gegenbauer,
    _degree("eval_gegenbauer"),
    _parameter("eval_gegenbauer"),
    lambda n, a, x, y: _unless_constant(n, 2 * like(a, x) * gegenbauer(_lower(n), a + 1, x), x),
)
genlaguerre = function(
    sp.eval_genlaguerre,
    _degree("eval_genlaguerre"),
    _parameter("eval_genlaguerre"),
    lambda n, a, x, y: _unless_constant(n, -genlaguerre(_lower(n), a + 1, x), x),
)


def _gegenbauer(n: Atom, alpha: float, x: Atom) -> Any:
    """C_{n−1} with the parameter ``alpha``, which the derivatives of several families contain."""
    real = convert(n, dtype=x.aval.dtype) if x.aval.dtype.kind == "c" and n.aval.dtype.kind == "f" else x
    parameter = Lit(alpha, real.aval.dtype) if x.aval.dtype.kind != "c" else Lit(alpha, n.aval.dtype)
    return gegenbauer(_lower(n), parameter, x)


def _mirrored(n: Atom, shift: int) -> tuple[Any, Any]:
    """Whether n is below −shift/2; and the degree above with which the family has the same polynomial, −shift − n."""
    is_below = n + n < -shift
    return is_below, select(is_below, Lit(-shift, n.aval.dtype) - n, n)


def _of_gegenbauer(
    ufunc: np.ufunc,
    alpha: float,
    factor: float = 1,
    scale: float = 1,
    shift: float = 0,
    by_degree: Callable[..., Any] | None = None,
) -> Any:
    """Declare a family whose derivative is ``factor`` C_{n−1}^(alpha)(scale x + shift): Legendre's, where P_{−n−1} is
    P_n, or Chebyshev's of the second kind, where U_{−n−2} is −U_n, and U₋₁ is 0."""
    is_odd = alpha == 2

    def rule(n: Atom, x: Atom, y: Atom) -> Any:
        is_below, degree = _mirrored(n, 2 if is_odd else 1)
        degree = select(equal(degree, -1), Lit(0, n.aval.dtype), degree)
        slope = factor * _gegenbauer(degree, alpha, scale * x + shift)
        slope = either(is_below, -slope, slope, like=x) if is_odd else slope
        return _unless_constant(degree, slope, x)

    return function(ufunc, by_degree or _degree(ufunc.__name__), rule)


def _chebyshev_degree(kind: int, factor: float, scale: float, shift: float) -> Any:
    """The partial in the degree: with x = cos θ, T_n is cos nθ and U_n is sin (n + 1)θ / sin θ; for x > 1 with cosh
    and sinh."""

    def rule(n: Atom, x: Atom, y: Atom) -> Any:
        if x.aval.dtype.kind == "c":
            raise MissingRuleError("a Chebyshev polynomial of a complex argument has no rule for its degree")
        at = scale * x + shift
        is_out = at > 1
        theta = arccos(either(is_out, 0, at, like=x))
        alpha = arccosh(either(is_out, at, 1, like=x))
        if kind == 1:
            return factor * either(is_out, alpha * sinh(n * alpha), -theta * sin(n * theta), like=x)
        inside = over(theta, sin(theta), 1) * cos((n + 1) * theta)
        rest = maximum(absolute(n + 1) - 1, 0)  # of cosh (n + 1)α / sinh α: the former overflows before the two do
        outside = over(alpha, tanh(alpha), 1) * cosh(rest * alpha) + alpha * sinh(rest * alpha)
        low = over(alpha, sinh(alpha), 1) * cosh((n + 1) * alpha)
        return factor * either(is_out, either(absolute(n + 1) < 1, low, outside, like=x), inside, like=x)

    return rule


chebyu = _of_gegenbauer(sp.eval_chebyu, 2, 2, by_degree=_chebyshev_degree(2, 1, 1, 0))
chebys = _of_gegenbauer(sp.eval_chebys, 2, 1, 0.5, by_degree=_chebyshev_degree(2, 1, 0.5, 0))
sh_chebyu = _of_gegenbauer(sp.eval_sh_chebyu, 2, 4, 2, -1, by_degree=_chebyshev_degree(2, 1, 2, -1))


def _legendre_degree(scale: float, shift: float) -> Any:
    """The partial in the degree of P_n(x) = ₂F₁(−n, n + 1; 1; (1 − x)/2)."""

    def rule(n: Atom, x: Atom, y: Atom) -> Any:
        xs = (-n, n + 1, number(1, x), 0.5 * (1 - shift - scale * x), y)
        return by_2f1(*xs, 1) - by_2f1(*xs, 0)

    return rule


legendre = _of_gegenbauer(sp.eval_legendre, 1.5, by_degree=_legendre_degree(1, 0))
sh_legendre = _of_gegenbauer(sp.eval_sh_legendre, 1.5, 2, 2, -1, by_degree=_legendre_degree(2, -1))


def _of_chebyu(ufunc: np.ufunc, factor: float, scale: float, shift: float) -> Any:
    """Declare a family whose derivative is ``factor`` n U_{n−1}(scale x + shift): Chebyshev's of the first kind, where
    T₋ₙ = Tₙ."""

    def rule(n: Atom, x: Atom, y: Atom) -> Any:
        _, degree = _mirrored(n, 0)
        return _unless_constant(degree, factor * like(degree, x) * chebyu(_lower(degree), scale * x + shift), x)

    return function(ufunc, _chebyshev_degree(1, factor / scale, scale, shift), rule)


chebyt = _of_chebyu(sp.eval_chebyt, 1, 1, 0)
chebyc = _of_chebyu(sp.eval_chebyc, 1, 0.5, 0)
sh_chebyt = _of_chebyu(sp.eval_sh_chebyt, 2, 2, -1)
laguerre = function(
    sp.eval_laguerre,
    _degree("eval_laguerre"),
    lambda n, x, y: _unless_constant(n, -genlaguerre(_lower(n), number(1, x), x), x),
)
hermite = function(
    sp.eval_hermite, NONE, lambda n, x, y: _unless_constant(n, 2 * like(n, x) * hermite(_lower(n), x), x)
)
hermitenorm = function(
    sp.eval_hermitenorm, NONE, lambda n, x, y: _unless_constant(n, like(n, x) * hermitenorm(_lower(n), x), x)
)
lpmv = function(  # DLMF 14.10.5
    sp.lpmv,
    _degree("lpmv"),
    _degree("lpmv"),
    lambda m, v, x, y: (v * x * y - (v + m) * lpmv(m, v - 1, x)) / (x * x - 1),
)
