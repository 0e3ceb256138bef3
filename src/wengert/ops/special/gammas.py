"""Functions of the gamma family, exponential integrals, Fresnel's and Dawson's, zeta, and hypergeometric functions.

In the parameters of hypergeometric functions there is no closed form. Formulas without a source are in the DLMF.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import scipy.special as sp

from wengert.ops.elementwise import (
    compose,
    cos,
    cosh,
    equal,
    exp,
    imag,
    less_equal,
    log,
    power,
    real,
    select,
    sin,
    sinh,
)
from wengert.ops.op import NONE, ZERO
from wengert.ops.special.declare import (
    SQRT_PI,
    either,
    function,
    functions,
    like,
    no_formula,
    normal_density,
    number,
    over,
    series,
)
from wengert.ops.special.usual import erf, gamma, psi
from wengert.tape import Atom, Lit

# ------------------------------------------------------------------------------------------------------- gamma


def _rgamma_partial(x: Atom, y: Atom) -> Any:
    """−ψ(x) / Γ(x), and at a pole −n of Γ, where ψ is infinite, (−1)ⁿ n!."""
    if x.aval.dtype.kind == "c":
        return -psi(x) * y
    at_pole = equal(y, 0) & less_equal(x, 0)
    away = either(at_pole, 1, x, like=x)
    pole = either(at_pole, x, 0, like=x)
    return either(at_pole, cos(math.pi * pole) * gamma(1 - pole), -psi(away) * y, like=x)


rgamma = function(sp.rgamma, _rgamma_partial)
gammasgn = function(sp.gammasgn, ZERO)
poch = function(sp.poch, lambda z, m, y: y * (psi(z + m) - psi(z)), lambda z, m, y: y * psi(z + m))
binom = function(
    sp.binom,
    lambda n, k, y: y * (psi(n + 1) - psi(n - k + 1)),
    lambda n, k, y: y * (psi(n - k + 1) - psi(k + 1)),
)

# ------------------------------------------------------------------------------------------- exponential integrals


def _expn_partial(n: Atom, x: Atom, y: Atom) -> Any:
    """−E_{n−1}(x); for n = 0, −e⁻ˣ (1 + 1/x)/x."""
    one = Lit(1, n.aval.dtype)
    is_zero = equal(n, 0)
    return either(is_zero, -exp(-x) * (1 + 1 / x) / x, -expn(select(is_zero, n, n - one), x), like=x)


expn = function(sp.expn, NONE, _expn_partial)
sici_si, sici_ci = functions(sp.sici, sici_si=[lambda x, y: over(sin(x), x, 1)], sici_ci=[lambda x, y: cos(x) / x])
shichi_shi, shichi_chi = functions(
    sp.shichi, shichi_shi=[lambda x, y: over(sinh(x), x, 1)], shichi_chi=[lambda x, y: cosh(x) / x]
)
fresnel_s, fresnel_c = functions(
    sp.fresnel,
    fresnel_s=[lambda x, y: sin(0.5 * math.pi * x * x)],
    fresnel_c=[lambda x, y: cos(0.5 * math.pi * x * x)],
)


def _modified_fresnel(ufunc: Any, name: str, sign: float) -> None:
    """F(x) = ∫ₓ^∞ exp(±i t²) dt and K = F exp(∓i (x² + π/4)) / √π."""

    def wave(x: Atom, y: Atom) -> Any:
        return exp(sign * 1j * like(x * x, y))

    turned = -cmath.exp(-sign * 1j * math.pi / 4) / SQRT_PI
    functions(
        ufunc,
        **{
            f"{name}_f": [lambda x, y: -wave(x, y)],
            f"{name}_k": [lambda x, y: number(turned, y) - 2j * sign * like(x, y) * y],
        },
    )


_modified_fresnel(sp.modfresnelp, "modfresnelp", 1)
_modified_fresnel(sp.modfresnelm, "modfresnelm", -1)


def _spence_partial(z: Atom, y: Atom) -> Any:
    """log z / (1 − z), and near 1 the series −Σ (1 − z)ᵏ/(k + 1)."""
    u = 1 - z
    if z.aval.dtype.kind == "c":
        return either(equal(u, 0), -1, log(z) / either(equal(u, 0), 1, u, like=z), like=z)
    is_near = (u < 0.03) & (u > -0.03)
    near = -series([1 / (k + 1) for k in range(12)], either(is_near, u, 0, like=u))
    return either(is_near, near, log(z) / either(is_near, 1, u, like=u), like=u)


spence = function(sp.spence, _spence_partial)

# ------------------------------------------------------------------------------------------------ error functions

erfi = function(sp.erfi, lambda x, y: (2 / SQRT_PI) * exp(x * x))
wofz = function(sp.wofz, lambda z, y: number(2j / SQRT_PI, z) - 2 * z * y)


def _voigt(x: Atom, sigma: Atom, gamma_: Atom) -> tuple[Any, Any, Any]:
    """w'(z) for z = (x + iγ) / σ√2, z itself, and 1/2σ²√π."""
    z = compose(x, gamma_) / like(math.sqrt(2) * sigma, compose(x, gamma_))
    slope = number(2j / SQRT_PI, z) - 2 * z * wofz(z)
    return slope, z, 1 / (2 * SQRT_PI * sigma * sigma)


def _voigt_by_sigma(x: Atom, sigma: Atom, gamma_: Atom, y: Atom) -> Any:
    slope, z, scale = _voigt(x, sigma, gamma_)
    return -y / sigma - real(slope * z) * scale * math.sqrt(2)


voigt_profile = function(  # Re w(z) / σ√(2π); where σ is 0 it is another function: NaN
    sp.voigt_profile,
    lambda x, sigma, gamma_, y: (lambda w, z, scale: real(w) * scale)(*_voigt(x, sigma, gamma_)),
    _voigt_by_sigma,
    lambda x, sigma, gamma_, y: (lambda w, z, scale: -imag(w) * scale)(*_voigt(x, sigma, gamma_)),
)
owens_t = function(  # Owen (1956), Annals of Mathematical Statistics 27, 1075
    sp.owens_t,
    lambda h, a, y: -0.5 * normal_density(h) * erf(a * h / math.sqrt(2)),
    lambda h, a, y: exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)),
)

# ------------------------------------------------------------------------------------------------------- powers

powm1 = function(
    sp.powm1,
    lambda x, p, y: p * power(x, p - 1),
    lambda x, p, y: (y + 1) * log(x),
)
DEGREE = math.pi / 180
sindg = function(sp.sindg, lambda x, y: DEGREE * cosdg(x))
cosdg = function(sp.cosdg, lambda x, y: -DEGREE * sindg(x))
tandg = function(sp.tandg, lambda x, y: DEGREE * (1 + y * y))
cotdg = function(sp.cotdg, lambda x, y: -DEGREE * (1 + y * y))
radian = function(  # of degrees, minutes and seconds
    sp.radian, *[lambda d, m, s, y, unit=DEGREE / 60**k: number(unit, d) for k in range(3)]
)
round_ = function(sp.round, ZERO)
wrightomega = function(sp.wrightomega, lambda z, y: y / (1 + y))
lambertw = function(sp._ufuncs._lambertw, lambda z, k, tol, y: exp(-y) / (1 + y), NONE, ZERO, name="lambertw")

# -------------------------------------------------------------------------------------------------- hypergeometric

hyp0f1 = function(sp.hyp0f1, no_formula("hyp0f1 in v"), lambda v, z, y: hyp0f1(v + 1, z) / like(v, y))
hyp1f1 = function(
    sp.hyp1f1,
    no_formula("hyp1f1 in a"),
    no_formula("hyp1f1 in b"),
    lambda a, b, x, y: like(a / b, y) * hyp1f1(a + 1, b + 1, x),
)
hyp2f1 = function(
    sp.hyp2f1,
    no_formula("hyp2f1 in a"),
    no_formula("hyp2f1 in b"),
    no_formula("hyp2f1 in c"),
    lambda a, b, c, x, y: like(a * b / c, y) * hyp2f1(a + 1, b + 1, c + 1, x),
)
hyperu = function(
    sp.hyperu,
    no_formula("hyperu in a"),
    no_formula("hyperu in b"),
    lambda a, b, x, y: -a * hyperu(a + 1, b + 1, x),
)
wright_bessel = function(
    sp.wright_bessel,
    no_formula("wright_bessel in a"),
    no_formula("wright_bessel in b"),
    lambda a, b, x, y: wright_bessel(a, b + a, x),
)
log_wright_bessel = function(
    sp.log_wright_bessel,
    no_formula("log_wright_bessel in a"),
    no_formula("log_wright_bessel in b"),
    lambda a, b, x, y: exp(log_wright_bessel(a, b + a, x) - y),
)
