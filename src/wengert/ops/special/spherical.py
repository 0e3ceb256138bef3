"""Spherical Bessel functions and Legendre functions of scipy.special, in their argument.

Their derivatives are combinations of neighbours, in a form without a singular quotient where there is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp
from scipy.special import _ufuncs

from wengert.ops.elementwise import convert, maximum, sqrt
from wengert.ops.kernels import flops
from wengert.ops.op import NONE, Op, elementwise
from wengert.ops.special.declare import functions, like, no_formula
from wengert.ops.special.polynomials import _lower, _unless_constant, jacobi
from wengert.tape import Atom, Aval, Lit


def _bessel(name: str, below: float, above: float) -> Op:
    """Declare fₙ and its derivative; (2n + 1) fₙ' = ``below`` n fₙ₋₁ + ``above`` (n + 1) fₙ₊₁, DLMF 10.51."""

    def slope(f: Op, n: Atom, x: Atom) -> Any:
        degree = like(n, x)
        upper = n + Lit(1, n.aval.dtype)
        return (below * degree * f(_lower(n), x) + above * (degree + 1) * f(upper, x)) / (2 * degree + 1)

    first: Op = elementwise(
        getattr(_ufuncs, f"_spherical_{name}"),
        name=f"spherical_{name}",
        partials=[NONE, lambda n, x, y: slope(first, n, convert(x, dtype=y.aval.dtype))],
        cost=flops(200),
    )
    second: Op = elementwise(
        getattr(_ufuncs, f"_spherical_{name}_d"),
        name=f"spherical_{name}_d",
        partials=[NONE, lambda n, x, y: slope(second, n, convert(x, dtype=y.aval.dtype))],
        cost=flops(200),
    )
    return first


spherical_jn = _bessel("jn", 1, -1)
spherical_yn = _bessel("yn", 1, -1)
spherical_in = _bessel("in", 1, 1)
spherical_kn = _bessel("kn", -1, -1)


# ------------------------------------------------------------------------------------------------ Legendre functions


def _double(*avals: Aval) -> Aval:
    return Aval(np.broadcast_shapes(*[a.shape for a in avals]), np.dtype(float))


def _declare(name: str, *partials: Any) -> Op:
    """Declare the op of one of SciPy's newer functions, of whole numbers and then a real argument."""

    def reference(*xs: Any) -> Any:
        return getattr(sp, name)(*xs)[0]  # the first axis counts derivatives

    return elementwise(reference, name=name, type=_double, partials=partials, cost=flops(200))


legendre_p = _declare(
    "legendre_p",
    NONE,
    lambda n, x, y: _unless_constant(n, 0.5 * (like(n, x) + 1) * jacobi(_lower(n), _one(x), _one(x), x), x),
)


def _one(x: Atom) -> Lit:
    return Lit(1, x.aval.dtype)


assoc_legendre_p: Op = _declare(  # DLMF 14.10.5
    "assoc_legendre_p",
    NONE,
    NONE,
    lambda n, m, x, y: (
        (like(n, x) * x * y - (like(n, x) + like(m, x)) * assoc_legendre_p(_below(n), m, x)) / (x * x - 1)
    ),
)


def _below(n: Atom) -> Any:
    return n - Lit(1, n.aval.dtype)


def _slope_on_sphere(n: Atom, m: Atom, theta: Atom) -> Any:
    """∂/∂θ as the ladder operators give it (DLMF 14.10, in the normalisation of spherical harmonics)."""
    degree, order = like(n, theta), like(m, theta)
    one, nothing = Lit(1, m.aval.dtype), Lit(0, theta.aval.dtype)
    weight = lambda m: sqrt(maximum((degree + m) * (degree - m + 1), nothing))  # of an order beyond n it is none
    return 0.5 * (
        weight(-order) * sph_legendre_p(n, m + one, theta) - weight(order) * sph_legendre_p(n, m - one, theta)
    )


sph_legendre_p: Op = _declare("sph_legendre_p", NONE, NONE, lambda n, m, theta, y: _slope_on_sphere(n, m, theta))


# ----------------------------------------------------------------------------------------------- spheroidal functions


def _spheroidal(name: str, characteristic: Any, sign: float, is_radial_oblate: bool, has_value: bool) -> None:
    """Declare a function and its derivative in x; the next derivative is what its equation says.

    Prolate: ((1 − x²) S')' + (λ − c²x² − m²/(1 − x²)) S = 0 (DLMF 30.2.1), for angular and radial ones alike. Oblate
    angular ones have −c² for c², radial ones −x² for x² too.
    """

    def next_slope(*given: Atom) -> Any:
        m, c, x = given[0], given[2], given[-3]
        value, slope = given[-2:]
        eigenvalue = given[3] if has_value else characteristic(m, given[1], c)
        square = x * x
        if is_radial_oblate:
            rest = (eigenvalue - c * c * square - m * m / (square + 1)) * value
            return (rest - 2 * x * slope) / (square + 1)
        rest = (eigenvalue - sign * c * c * square - m * m / (1 - square)) * value
        return (2 * x * slope - rest) / (1 - square)

    unknown = [no_formula(f"{name} in {what}") for what in ("m", "n", "c", *(["its characteristic value"] * has_value))]
    first, second = functions(
        getattr(sp, name),  # whose own name is another's in SciPy before 1.15
        **{
            name: (*unknown, lambda *xs: second(*xs[:-1])),
            f"{name}_slope": (*unknown, lambda *xs: next_slope(*xs[:-1], first(*xs[:-1]), xs[-1])),
        },
    )


def _characteristic(name: str) -> Op:
    return elementwise(
        getattr(sp, name),
        name=name,
        partials=[no_formula(f"{name} in {what}") for what in ("m", "n", "c")],
        cost=flops(1000),
    )


_PROLATE, _OBLATE = _characteristic("pro_cv"), _characteristic("obl_cv")
# Radial functions of the second kind have no rule: SciPy's values of them are wrong in places, and solve no equation.
for _name in ("ang1", "ang1_cv", "rad1", "rad1_cv"):
    _spheroidal(f"pro_{_name}", _PROLATE, 1, False, _name.endswith("_cv"))
    _spheroidal(f"obl_{_name}", _OBLATE, -1, _name.startswith("rad"), _name.endswith("_cv"))
