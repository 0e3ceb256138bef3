"""Functions of the gamma family, exponential integrals, Fresnel's and Dawson's, zeta, and hypergeometric functions.

In the parameters of ₀F₁, ₁F₁ and ₂F₁ there is a series, and of the others no closed form. Formulas without a source are
in the DLMF.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import scipy.special as sp

from wengert.ops.elementwise import (
    absolute,
    compose,
    cos,
    cosh,
    equal,
    exp,
    hypot,
    imag,
    less_equal,
    log,
    power,
    real,
    rint,
    select,
    sign,
    sin,
    sinh,
)
from wengert.ops.op import NONE, ZERO, Op
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
from wengert.ops.special.hypergeometric import by_0f1, by_1f1, by_2f1
from wengert.ops.special.usual import beta, erf, gamma, gammaln, psi, psi_difference
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


def _is_pole(x: Atom) -> Any:
    """Whether x is 0, −1, −2, ..., where Γ has its poles and 1/Γ its zeros."""
    return less_equal(x, 0) & equal(x, rint(x))


def _parity(x: Atom) -> Any:
    """(−1)ˣ of a whole number."""
    return 1 - 2 * absolute(x - 2 * rint(0.5 * x))


def _poch_by_z(z: Atom, m: Atom, y: Atom) -> Any:
    """y (ψ(z + m) − ψ(z)); where z is a pole Γ(z + m) (1/Γ)'(z), and where z + m is one too, y (ψ(1 − z − m) −
    ψ(1 − z)): a polynomial's."""
    top = z + m
    is_zero, is_whole = _is_pole(z) & ~_is_pole(top), _is_pole(z) & _is_pole(top)
    pole = either(_is_pole(z), z, 0, like=z)
    over_pole = either(is_zero, top, 1, like=z)
    at_zero = _parity(pole) * gammasgn(over_pole) * exp(gammaln(over_pole) + gammaln(1 - pole))
    at_whole = y * psi_difference(1 - pole, either(is_whole, -m, 0, like=z)) * -1
    general = -y * psi_difference(either(_is_pole(z), 1, z, like=z), m)
    return either(is_zero, at_zero, either(is_whole, at_whole, general, like=z), like=z)


poch = function(sp.poch, _poch_by_z, lambda z, m, y: y * psi(z + m))


def _binom_zeros(n: Atom, k: Atom) -> tuple[Any, Any, Any, Any]:
    """Where the coefficient is 0 because n − k + 1 is a pole of Γ, and the slope of 1/Γ there times the other factors,
    (−1)^(k−n−1) B(n + 1, k − n); then the same two for k + 1."""
    above, below = _is_pole(n - k + 1), _is_pole(k + 1)
    over_n, under_0 = either(above, k - n, 1, like=k), either(below, -k, 1, like=k)
    at_above = _parity(over_n - 1) * beta(n + 1, over_n)
    at_below = _parity(under_0 - 1) * beta(n + 1, under_0)
    return above, at_above, below, at_below


def _binom_by_n(n: Atom, k: Atom, y: Atom) -> Any:
    above, at_above, below, _ = _binom_zeros(n, k)
    general = y * psi_difference(n + 1, either(above | below, 0, -k, like=k))
    return either(above, at_above, general, like=k)


def _binom_by_k(n: Atom, k: Atom, y: Atom) -> Any:
    above, at_above, below, at_below = _binom_zeros(n, k)
    inside = either(above | below, 0, k, like=k)
    general = y * (psi(either(above | below, 1, n - inside + 1, like=k)) - psi(inside + 1))
    return either(above, -at_above, either(below, at_below, general, like=k), like=k)


binom = function(sp.binom, _binom_by_n, _binom_by_k)

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


def _quarter_turns(x: Atom) -> Any:
    """x² less a multiple of 4, without the rounding of x²: of x = 2 m + f it is 4 m f + f², and m f is exact, since the
    two have together the digits of x."""
    m = rint(0.5 * x)
    f = x - 2 * m
    crossed = m * f
    return 4 * (crossed - rint(crossed)) + f * f


def _wave(x: Atom, complex_wave: Op, in_degrees: Op) -> Any:
    """sin or cos of ½ π x²."""
    return complex_wave(0.5 * math.pi * x * x) if x.aval.dtype.kind == "c" else in_degrees(90 * _quarter_turns(x))


fresnel_s, fresnel_c = functions(
    sp.fresnel,
    fresnel_s=[lambda x, y: _wave(x, sin, sindg)],
    fresnel_c=[lambda x, y: _wave(x, cos, cosdg)],
)


def _squared(x: Atom) -> tuple[Any, Any]:
    """x² and its rounding error (Dekker 1971, Numerische Mathematik 18, 224)."""
    split = x * 134217729.0 if x.aval.dtype.itemsize == 8 else x * 4097.0
    high = split - (split - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2 * high * low) + low * low


def _modified_fresnel(ufunc: np.ufunc, name: str, sign: float) -> None:
    """F(x) = ∫ₓ^∞ exp(±i t²) dt and K = F exp(∓i (x² + π/4)) / √π."""

    def wave(x: Atom, y: Atom) -> Any:
        square, rest = _squared(x)
        return exp(sign * 1j * like(square, y)) * exp(sign * 1j * like(rest, y))

    turned = -cmath.exp(-sign * 1j * math.pi / 4) / SQRT_PI
    c = [math.prod(k - 0.5 for k in range(1, n + 1)) for n in range(10)]
    unit = -sign * 1j
    terms = [-(0.5 / SQRT_PI) * (2 * k + 1) * c[k] * unit**k for k in range(10)]

    def by_k(x: Atom, y: Atom) -> Any:
        """The partial of K, from w' = 2i/√π − 2 z w. Where x is large these two terms cancel, and the derivative is
        that of the series i/2√π Σ (½)ₖ z^(−2k−1), in ±i x²."""
        is_far = x > 20
        far = like(either(is_far, 1 / (either(is_far, x, 1, like=x) * x), 0, like=x), y)
        tail = far * series(terms, far) * cmath.exp(sign * 1j * math.pi / 4)
        return either(is_far, tail, number(turned, y) - 2j * sign * like(x, y) * y, like=y)

    functions(
        ufunc,
        **{
            f"{name}_f": [lambda x, y: -wave(x, y)],
            f"{name}_k": [by_k],
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


def _voigt(x: Atom, sigma: Atom, gamma_: Atom, y: Atom) -> tuple[Any, Any, Any]:
    """The derivatives of Re w(z) / σ√(2π), z = (x + iγ) / σ√2, by w' = 2i/√π − 2 z w; where z is large that is rounding
    alone, and w is i/√π Σ (½)ₖ z^(−2k−1) (DLMF 7.12.1), a series in σ/(x + iγ): right for σ = 0, too."""
    size = absolute(sigma)
    is_far = (gamma_ > 17 * size) | (hypot(x, gamma_) > 55 * size)
    v = compose(x, gamma_)
    z = compose(either(is_far, 1, x, like=x), either(is_far, 1, gamma_, like=x))
    width = either(is_far, 1, size, like=x)
    z = z / like(math.sqrt(2) * width, z)
    slope = number(2j / SQRT_PI, z) - 2 * z * wofz(z)
    scale = 1 / (2 * SQRT_PI * width * width)
    near = (real(slope) * scale, -y / width - real(slope * z) * (math.sqrt(2) * scale), -imag(slope) * scale)

    inverse = 1 / either(is_far, v, 1, like=v)
    w = like(math.sqrt(2) * either(is_far, size, 0, like=x), v) * inverse
    c = [math.prod(k - 0.5 for k in range(1, n + 1)) for n in range(14)]
    by_v = (-1j / math.pi) * inverse * inverse * series([(2 * k + 1) * c[k] for k in range(14)], w * w)
    by_sigma = w * inverse * inverse * series([(2 * k) * c[k] for k in range(1, 14)], w * w)
    far = (real(by_v), real((1j * math.sqrt(2) / math.pi) * by_sigma), -imag(by_v))
    by_x, by_size, by_gamma = [either(is_far, f, n, like=x) for f, n in zip(far, near, strict=True)]
    return by_x, sign(sigma) * by_size, by_gamma


voigt_profile = function(
    sp.voigt_profile, *[lambda x, sigma, gamma_, y, k=k: _voigt(x, sigma, gamma_, y)[k] for k in range(3)]
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
    lambda x, p, y: power(x, p) * log(x),
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

hyp0f1 = function(sp.hyp0f1, lambda v, z, y: by_0f1(v, z), lambda v, z, y: hyp0f1(v + 1, z) / like(v, y))
hyp1f1 = function(
    sp.hyp1f1,
    *[lambda a, b, x, y, k=k: by_1f1(a, b, x, k) for k in range(2)],
    lambda a, b, x, y: like(a / b, y) * hyp1f1(a + 1, b + 1, x),
)
hyp2f1 = function(
    sp.hyp2f1,
    *[lambda a, b, c, x, y, k=k: by_2f1(a, b, c, x, y, k) for k in range(3)],
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
