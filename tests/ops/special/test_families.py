"""Every family of scipy.special: the checker of ops on each, and mpmath where a derivative is a quadrature."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from scipy.optimize import brentq

import wengert as wg
from tests.ops.check_op import CHECKS, Case, check_derivatives, first_order, inexact_outputs, tape_of
from tests.ops.special import slopes
from tests.ops.special_cases import CASES
from wengert.errors import MissingRuleError
from wengert.ops.special import SEVERAL
from wengert.ops.special.noncentral import beta_mixture
from wengert.tracing.emit import record
from wengert.tracing.tracer import Tracer

BY_QUADRATURE = frozenset(
    [
        "bdtrik",
        "bdtrin",
        "betaincc",
        "betainccinv",
        "betaincinv",
        "betainc_by_parameters",
        "bessel_by_order",
        "btdtria",
        "btdtrib",
        "carlson",
    ]
    + [
        "chdtriv",
        "elliprd",
        "elliprg",
        "elliprj",
        "fdtr",
        "fdtrc",
        "fdtri",
        "fdtridfd",
        "gammainc_by_a",
        "gdtr",
        "gdtrc",
    ]
    + [
        "gdtria",
        "gdtrib",
        "gdtrix",
        "nbdtrik",
        "nbdtrin",
        "pdtrik",
        "stdtr",
        "student_by_v",
        "stdtridf",
        "stdtrit",
        "chdtr",
        "chdtrc",
    ]
    + ["chdtri", "gammaincinv", "gammainccinv", "jve", "yve", "kve"]
    + ["chndtr", "chndtrix", "chndtridf", "chndtrinc", "nctdtr", "nctdtrit", "nctdtridf", "nctdtrinc"]
    + ["ncfdtr", "ncfdtri", "ncfdtrinc", "ncfdtridfn", "ncfdtridfd"]
)
"""Their derivatives take milliseconds each: of these all is checked with the deep tests."""


def is_slow(name: str) -> bool:
    return name in BY_QUADRATURE or name.startswith(("pro_", "obl_"))


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.deep("quadratures, or slow in SciPy")) if is_slow(c.name) else c for c in CASES],
    ids=str,
)
@pytest.mark.sampled(3, "every operand of every function, in two orders")
def test_family(case: Case) -> None:
    for check in CHECKS:
        check(case)


@pytest.mark.sampled(7, "a tenth of a second each")
@pytest.mark.parametrize("case", [c for c in CASES if c.name in BY_QUADRATURE], ids=str)
def test_family_once(case: Case) -> None:
    """Value and first derivatives, at one shape."""
    for check in CHECKS:
        if check is not check_derivatives and check.__name__ in ("check_value", "check_unwritten"):
            check(case)
    rng = case.rng()
    tape, xs, number = tape_of(case, case.draw(rng))
    wrt = [i for i, k in enumerate(number) if tape.inputs[i].aval.is_inexact and k not in case.unwritten]
    first_order(tape, wrt, inexact_outputs(tape), xs, rng, case.rtol, [lambda dx: dx for _ in wrt])


@pytest.mark.parametrize("ufunc", [f for f in SEVERAL if f.nin <= 3], ids=lambda ufunc: ufunc.__name__)
def test_all_results_of_a_ufunc_with_several(ufunc: np.ufunc) -> None:
    """Spheroidal functions, of four arguments and five, are called in test_legendre.py."""
    xs = [np.array([0.5, 0.7]), np.array([2.0, 2.0]), np.array([0.6, 0.3])][: ufunc.nin]
    xs = xs if ufunc.nin == 1 else xs[1:] + xs[:1] if ufunc.nin == 2 else [xs[1], xs[0], xs[2]]
    got = wg.jit(lambda *xs: ufunc(*xs))(*xs)
    assert isinstance(got, tuple) and len(got) == ufunc.nout
    for a, b in zip(got, ufunc(*xs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("name", [name for name in slopes.stored() if not slopes.is_usual(name)])
def test_derivatives_are_those_stored(name: str) -> None:
    """At ordinary points and where one operand is small, about 1, large or negative: each branch of a rule."""
    assert not slopes.wrong(name)


# ----------------------------------------------------------------------------------------------------- quadratures


def gradient(f: Any, *xs: float) -> Any:
    return wg.grad(f, argnums=tuple(range(len(xs))))(*map(float, xs))


@pytest.mark.parametrize("a", [1e-3, 0.3, 1.0, 7.5, 200.0, 1e4])
@pytest.mark.parametrize("share", [1e-3, 0.5, 0.99, 1.02, 1.5, 5.0])
def test_the_incomplete_gamma_function_in_its_parameter(a: float, share: float) -> None:
    """To 1e-10 relative, but for what is smaller than any difference that mpmath takes."""
    x = a * share
    with mpmath.workdps(40):
        want = mpmath.diff(lambda a: mpmath.gammainc(a, 0, x, regularized=True), mpmath.mpf(a), h=mpmath.mpf(10) ** -12)
    got = gradient(sp.gammainc, a, x)[0]
    np.testing.assert_allclose(got, float(want), rtol=1e-10, atol=1e-60)
    np.testing.assert_allclose(gradient(sp.gammaincc, a, x)[0], -got, rtol=1e-14)


@pytest.mark.parametrize("a", [0.05, 0.5, 3.0, 80.0])
@pytest.mark.parametrize("b", [0.1, 2.0, 150.0])
@pytest.mark.parametrize("x", [1e-4, 0.3, 0.9])
def test_the_incomplete_beta_function_in_its_parameters(a: float, b: float, x: float) -> None:
    with mpmath.workdps(60):
        f = lambda a, b: mpmath.betainc(a, b, 0, mpmath.mpf(x), regularized=True)
        want = [mpmath.diff(f, (mpmath.mpf(a), mpmath.mpf(b)), n) for n in ((1, 0), (0, 1))]
    got = gradient(sp.betainc, a, b, x)[:2]
    np.testing.assert_allclose(got, [float(w) for w in want], rtol=1e-10, atol=1e-60)


@pytest.mark.parametrize("df", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("t", [-4.0, -0.2, 0.0, 0.7, 12.0])
def test_students_distribution_in_its_degrees_of_freedom(df: float, t: float) -> None:
    def cdf(v: Any) -> Any:
        w = v / (v + mpmath.mpf(t) ** 2)
        tail = mpmath.betainc(v / 2, 0.5, 0, w, regularized=True) / 2
        return tail if t < 0 else 1 - tail

    with mpmath.workdps(40):
        want = mpmath.diff(cdf, mpmath.mpf(df))
    np.testing.assert_allclose(gradient(sp.stdtr, df, t)[0], float(want), rtol=1e-10, atol=1e-18)


@pytest.mark.parametrize(("df", "t"), [(3.0, 0.7), (4.5, -2.0), (30.0, 1.5)])
def test_students_distribution_thrice_in_its_degrees_of_freedom(df: float, t: float) -> None:
    def cdf(v: Any) -> Any:
        tail = mpmath.betainc(v / 2, 0.5, 0, v / (v + mpmath.mpf(t) ** 2), regularized=True) / 2
        return tail if t < 0 else 1 - tail

    f = lambda v: sp.stdtr(v, t)
    for order in (1, 2, 3):
        f = wg.grad(f)
        with mpmath.workdps(40):
            want = mpmath.diff(cdf, mpmath.mpf(df), order)
        np.testing.assert_allclose(f(df), float(want), rtol=1e-8)


BESSEL = {  # ours, and with how much the functions are scaled
    "jv": (sp.jv, mpmath.besselj, 0),
    "yv": (sp.yv, mpmath.bessely, 0),
    "iv": (sp.iv, mpmath.besseli, 0),
    "ive": (sp.ive, mpmath.besseli, -1),
    "kv": (sp.kv, mpmath.besselk, 0),
    "kve": (sp.kve, mpmath.besselk, 1),
}


@pytest.mark.parametrize("name", BESSEL)
@pytest.mark.parametrize("v", [-9.7, -1.0, 0.001, 0.5, 12.2, 99.5])
@pytest.mark.parametrize("x", [1e-3, 0.3, 11.0, 300.0])
def test_bessel_functions_in_their_order(name: str, v: float, x: float) -> None:
    ours, theirs, scaled = BESSEL[name]
    with mpmath.workdps(50):
        scale, h = mpmath.exp(scaled * mpmath.mpf(x)), mpmath.mpf(10) ** -12
        f = lambda v: scale * theirs(v, mpmath.mpf(x))
        want = (f(mpmath.mpf(v) + h) - f(mpmath.mpf(v) - h)) / (2 * h)
    if 1e-290 < abs(want) < 1e290:
        np.testing.assert_allclose(gradient(ours, v, x)[0], float(want), rtol=1e-11)


@pytest.mark.parametrize("name", ["jv", "yv"])
@pytest.mark.parametrize(("v", "x"), [(60.0, 40.0), (130.0, 100.0), (500.0, 500.0), (500.001, 500.0)])
def test_bessel_functions_in_their_order_about_the_turning_point(name: str, v: float, x: float) -> None:
    """Where J is tiny; and where the integrand turns most."""
    ours, theirs, _ = BESSEL[name]
    with mpmath.workdps(40):
        h = mpmath.mpf(10) ** -12
        want = (theirs(mpmath.mpf(v) + h, x) - theirs(mpmath.mpf(v) - h, x)) / (2 * h)
    np.testing.assert_allclose(gradient(ours, v, x)[0], float(want), rtol=1e-11)


@pytest.mark.parametrize("name", ["jv", "yv"])
@pytest.mark.parametrize(("v", "x"), [(0.3, 3e4), (2.2, 1e6), (-3.5, 2e5), (90.0, 2e4)])
def test_bessel_functions_in_their_order_far_out(name: str, v: float, x: float) -> None:
    """By a series in 1/x."""
    ours, theirs, _ = BESSEL[name]
    with mpmath.workdps(40):
        h = mpmath.mpf(10) ** -12
        want = (theirs(mpmath.mpf(v) + h, x) - theirs(mpmath.mpf(v) - h, x)) / (2 * h)
    np.testing.assert_allclose(gradient(ours, v, x)[0], float(want), rtol=1e-8)


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions_twice_in_their_order_and_in_both_arguments(name: str) -> None:
    ours, theirs, scaled = BESSEL[name]
    hessian = wg.hessian(lambda vx: ours(vx[0], vx[1]))(np.array([1.3, 2.5]))
    with mpmath.workdps(40):
        f = lambda v, x: mpmath.exp(scaled * x) * theirs(v, x)
        want = [float(mpmath.diff(f, (mpmath.mpf("1.3"), mpmath.mpf("2.5")), n)) for n in ((2, 0), (1, 1), (0, 2))]
    np.testing.assert_allclose([hessian[0, 0], hessian[0, 1], hessian[1, 1]], want, rtol=1e-10)
    np.testing.assert_allclose(hessian[1, 0], want[1], rtol=1e-10)


def test_bessel_functions_in_their_order_where_there_is_none() -> None:
    """At 0 and for x < 0; of complex numbers nobody has written it."""
    assert gradient(sp.jv, 1.5, 0.0)[0] == 0.0
    assert np.isnan(gradient(sp.jv, 0.0, 0.0)[0])
    assert np.isnan(gradient(sp.jv, 2.0, -1.0)[0])
    assert np.isnan(gradient(sp.jv, 2e3, 2e4)[0])
    with pytest.raises(MissingRuleError, match="complex argument has no rule for its order"):
        wg.grad(lambda v: sp.jv(v, 0.7 + 0.4j).real)(1.5)


def test_voigts_profile_at_its_edges() -> None:
    lorentz = lambda x, gamma: gamma / (np.pi * (x * x + gamma * gamma))
    want = wg.grad(lorentz, argnums=(0, 1))(0.3, 1.0)
    np.testing.assert_allclose(gradient(sp.voigt_profile, 0.3, 0.0, 1.0), [want[0], 0.0, want[1]], rtol=1e-14)
    density = np.exp(-0.5 * 0.3**2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(gradient(sp.voigt_profile, 0.3, 1.0, 0.0)[0], -0.3 * density, rtol=1e-12)


@pytest.mark.parametrize(("m", "n", "nc", "x"), [(2.3, 3.1, 0.7, 1.5), (4.0, 7.0, 5.0, 0.4), (10.0, 3.5, 20.0, 6.0)])
def test_the_noncentral_f_distribution(m: float, n: float, nc: float, x: float) -> None:
    def cdf(nc: Any, x: Any) -> Any:
        w = m * x / (m * x + n)
        weight = lambda j: mpmath.exp(-nc / 2) * (nc / 2) ** j / mpmath.factorial(j)
        terms = lambda j: weight(j) * mpmath.betainc(mpmath.mpf(m) / 2 + j, mpmath.mpf(n) / 2, 0, w, regularized=True)
        return mpmath.fsum(terms(j) for j in range(80))

    with mpmath.workdps(30):
        want = [mpmath.diff(cdf, (mpmath.mpf(nc), mpmath.mpf(x)), order) for order in ((1, 0), (0, 1))]
    got = wg.grad(sp.ncfdtr, argnums=(2, 3))(m, n, nc, x)
    np.testing.assert_allclose(got, [float(w) for w in want], rtol=1e-11)


@pytest.mark.parametrize(
    ("m", "n", "p", "x"),
    [(2.3, 3.1, 0.25, 1.8), (3.9, 2.2, 0.2, 1.6), (2.1, 2.1, 0.29, 1.9), (3.0, 3.9, 0.22, 1.5), (2.6, 3.4, 0.3, 2.0)],
)
def test_the_noncentrality_of_an_f_distribution_has_the_slope_of_the_true_root(
    m: float, n: float, p: float, x: float
) -> None:
    """SciPy's own root is off by 1e-5; where its search ends one step sooner its differences are off by 1e-2."""

    def solve(m: float, n: float, p: float, x: float) -> Any:
        return brentq(lambda nc: sp.ncfdtr(m, n, nc, x) - p, 1e-6, 200.0, xtol=1e-13)

    at, h = np.array([m, n, p, x]), 1e-4  # atol: the error of SciPy's root moves the small slope in n by 1e-5
    want = [(solve(*(at + h * e)) - solve(*(at - h * e))) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(wg.grad(sp.ncfdtrinc, argnums=(0, 1, 2, 3))(m, n, p, x), want, rtol=5e-5, atol=2e-5)


@pytest.mark.parametrize(("v", "nc", "t"), [(3.5, 0.7, 1.2), (5.0, 0.5, -0.5), (12.0, 2.0, 2.5), (2.0, 0.5, 0.0)])
def test_the_noncentral_t_distribution_in_its_noncentrality(v: float, nc: float, t: float) -> None:
    def slope(s: Any) -> Any:
        chi = s ** (v - 1) * mpmath.exp(-s * s / 2) / (mpmath.mpf(2) ** (v / 2 - 1) * mpmath.gamma(mpmath.mpf(v) / 2))
        return -chi * mpmath.npdf(t * s / mpmath.sqrt(v) - nc)

    with mpmath.workdps(20):
        want = float(mpmath.quad(slope, [0, 1, 2, 4, 8, 16]))
    np.testing.assert_allclose(wg.grad(sp.nctdtr, argnums=1)(v, nc, t), want, rtol=1e-11)


@pytest.mark.parametrize("ufunc", [sp.mathieu_a, sp.mathieu_b])
@pytest.mark.parametrize("m", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("q", [2.0, 30.0])
def test_the_eigenvalues_of_mathieus_equation(ufunc: Any, m: float, q: float) -> None:
    h = 1e-3
    want = (ufunc(m, q - 2 * h) - 8 * ufunc(m, q - h) + 8 * ufunc(m, q + h) - ufunc(m, q + 2 * h)) / (12 * h)
    np.testing.assert_allclose(wg.grad(ufunc, argnums=1)(m, q), want, rtol=1e-10)


@pytest.mark.parametrize("m", [-3.0, 0.0, 1e-9, 0.5, 0.999])
def test_elliptic_integrals_where_the_textbook_cancels(m: float) -> None:
    with mpmath.workdps(30):
        for f, g in ((sp.ellipk, mpmath.ellipk), (sp.ellipe, mpmath.ellipe)):
            want = [mpmath.diff(g, mpmath.mpf(m), n) for n in (1, 2)]
            got = [wg.grad(f)(m), wg.grad(wg.grad(f))(m)]
            np.testing.assert_allclose(got, [float(w) for w in want], rtol=1e-11)


def test_what_has_no_derivative_says_so() -> None:
    with pytest.raises(MissingRuleError, match="degree has no closed form"):
        wg.grad(lambda n: sp.eval_laguerre(n, 0.3))(2.5)
    with pytest.raises(MissingRuleError, match=r"hyperu in a(.|\n)*test_families\.py"):
        wg.grad(lambda a: sp.hyperu(a, 2.0, 0.3))(2.5)
    assert wg.grad(lambda x: sp.pdtr(2.0 + 0 * x, x))(1.0) < 0


@pytest.mark.parametrize(
    ("f", "x", "slope"),
    [
        (sp.rgamma, -2.0, 2.0),
        (sp.rgamma, 0.0, 1.0),
        (sp.spence, 1.0, -1.0),
        (lambda x: sp.sici(x)[0], 0.0, 1.0),
        (lambda x: sp.shichi(x)[0], 0.0, 1.0),
        (sp.beip, 0.0, 0.5),
        (lambda x: sp.eval_legendre(0, x), 0.3, 0.0),
        (lambda lam: sp.tklmbda(0.3, lam), 0.0, 0.0516556),
        (lambda x: sp.nctdtr(4.0, 0.5, x), 0.0, None),
        (lambda x: sp.chndtr(x, 3.0, 0.0), 1.0, None),
    ],
)
def test_removable_points(f: Any, x: float, slope: float | None) -> None:
    if slope is None:
        slope = (f(x + 1e-5) - f(x - 1e-5)) / 2e-5
    np.testing.assert_allclose(wg.grad(f)(x), slope, rtol=1e-6, atol=1e-12)


def test_of_complex_numbers() -> None:
    z = 0.7 + 0.4j
    for f in (
        sp.erfi,
        sp.wofz,
        sp.rgamma,
        sp.spence,
        sp.lambertw,
        sp.wrightomega,
        lambda z: sp.hyp2f1(1.0, 2.0, 2.5, z),
    ):
        step = (f(z + 1e-6) - f(z - 1e-6)) / 2e-6
        np.testing.assert_allclose(wg.jacobian(f)(z), step, rtol=1e-7)
    for order in (0, 2.5):
        f = lambda z, v=order: sp.jv(v, z) * sp.hankel1(v, z)
        np.testing.assert_allclose(wg.jacobian(f)(z), (f(z + 1e-6) - f(z - 1e-6)) / 2e-6, rtol=1e-7)
    with pytest.raises(MissingRuleError, match="complex"):
        wg.jacobian(lambda z: sp.jve(1.0, z))(z)


@pytest.mark.parametrize("function", [sp.bdtr, sp.bdtrc])
def test_where_all_trials_are_counted_their_probability_does_not_matter(function: Any) -> None:
    assert wg.grad(lambda p: function(5.0, 5, p))(0.3) == 0
    assert abs(wg.grad(lambda p: function(4.0, 5, p))(0.3)) == pytest.approx(5 * 0.3**4)  # d(1 - p⁵)


def test_what_has_no_derivative_says_so_in_forward_mode_too() -> None:
    """With the function and the operand."""
    with pytest.raises(MissingRuleError, match=r"hyperu: .* operand 0 .*hyperu in a"):
        wg.jvp(lambda a: sp.hyperu(a, 2.0, 0.3), (2.5,), (1.0,))
    with pytest.raises(MissingRuleError, match="scaled"):
        wg.jacobian(lambda z: sp.ive(1.0, z))(0.7 + 0.4j)


@pytest.mark.parametrize("ufunc", [sp.chndtridf, sp.nctdtridf, sp.ncfdtridfn, sp.ncfdtridfd])
def test_degrees_of_freedom_of_noncentral_distributions_have_derivatives(ufunc: Any) -> None:
    """In p: dy/dp of a root is 1 over dp/dy."""
    cdf, at, xs = {
        sp.chndtridf: (sp.chndtr, 1, (3.0, 2.2, 0.7)),
        sp.nctdtridf: (sp.nctdtr, 0, (2.5, 0.5, 2.0)),
        sp.ncfdtridfn: (sp.ncfdtr, 0, (2.5, 3.0, 0.7, 0.3)),
        sp.ncfdtridfd: (sp.ncfdtr, 1, (3.0, 2.7, 0.6, 1.5)),
    }[ufunc]
    h, place = 1e-4, [[*xs[:at], xs[at] + d, *xs[at + 1 :]] for d in (-1e-4, 1e-4)]
    slope = (cdf(*place[1]) - cdf(*place[0])) / (2 * h)
    solving = [*xs[:at], float(cdf(*xs)), *xs[at + 1 :]]
    np.testing.assert_allclose(wg.grad(ufunc, argnums=at)(*solving), 1 / slope, rtol=1e-4)


@pytest.mark.parametrize("is_over", [False, True])
def test_a_mixture_of_beta_densities_moves_with_both_parts_of_one(is_over: bool) -> None:
    """w and 1 - w are one variable: of the two, a power is taken of the one that was not rounded."""

    def mixture(h: Any, w: Any) -> Any:
        operands = [1.7, 2.3, h, w, 1 - w]
        is_traced = any(isinstance(x, Tracer) for x in operands)
        return (
            record(beta_mixture, operands, {"is_over": is_over})
            if is_traced
            else beta_mixture.reference(*operands, is_over=is_over)
        )

    wg.check_derivatives(mixture, np.array([0.4, 1.3, 0.9]), np.array([0.3, 0.8, 0.5]), rtol=1e-7)
