"""Derivatives of distributions in their parameters by the runtime's own code, against mpmath and the quadratures.

The numbers of the tables are mpmath's with 40 digits: ``mp.diff`` of ``gammainc``, ``betainc`` (regularized), and of
Student's distribution as ½ I(v/2, ½, v/(v + t²)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import wengert as wg
from tests.codegen.natively import native, of_op
from tests.differences import check
from wengert.ops.special import distributions

GAMMA = [  # a, x, order, derivative
    (1e-100, 1.0, 1, -0.21938393439552029),
    (1e-08, 0.001, 1, -6.331538979681606),
    (1e-08, 3.0, 1, -0.013048381589111773),
    (0.01, 1e-20, 1, -28.866557860137082),
    (0.001, 5.0, 2, -0.0053803108616609745),
    (0.0011, 0.228, 2, 0.0038187189773554154),
    (0.0023, 0.0575, 3, 0.0017681117113186777),
    (0.3, 0.05, 1, -1.280733608125873),
    (0.3, 1.99, 1, -0.1004282847275076),
    (0.3, 2.0, 1, -0.09925266010124012),
    (0.3, 40.0, 1, -7.616964685999791e-19),
    (0.5, 0.6, 2, 0.020426802073833537),
    (0.9634703931302825, 1.1321556405318611, 1, -0.4015361937852309),
    (1.5406580819048008, 1.077979556357819, 1, -0.368631898875405),
    (3.0, 2.5, 1, -0.24711735748326824),
    (3.0, 4.5, 1, -0.14463186605254558),
    (3.0, 4.5, 2, -0.05894860293512181),
    (25.0, 24.0, 2, 0.003289011229022404),
    (25.0, 24.5, 3, 0.003194507931074435),
    (29.9, 31.5, 1, -0.06838535281896135),
    (30.1, 20.0, 1, -0.009796917347552064),
    (30.1, 60.0, 1, -5.451577299782379e-06),
    (150.0, 160.0, 1, -0.022928713966447526),
    (290.0, 200.0, 1, -5.46771716766656e-10),
    (299.0, 300.5, 1, -0.022934000736794715),
    (301.0, 300.0, 1, -0.02300098667480571),
    (5000.0, 5050.0, 1, -0.00437940027623324),
    (5000.0, 4700.0, 1, -4.925061577019213e-07),
]
BETA = [  # a, b, x, orders, derivative
    (1e-06, 3.0, 0.5, 1, 0, -0.06814731654088312),
    (1e-06, 1e-06, 0.5, 1, 0, -250000.00000041124),
    (0.001, 800.0, 0.01, 1, 0, -3.6416554395852636e-05),
    (0.001, 0.5, 0.2, 0, 1, 0.004690095591884041),
    (0.5, 0.5, 0.3, 1, 0, -0.6428114811572838),
    (0.5, 0.5, 0.3, 0, 1, 0.46874458391550544),
    (0.5, 0.5, 0.8, 1, 0, -0.38756376927544045),
    (0.9583340179177156, 0.0010611615396354558, 0.999999999, 1, 0, -0.0018161174608298744),
    (4.0, 2.0, 1e-30, 0, 1, 6.416666666666669e-120),
    (5.0, 3.0, 0.6, 1, 0, -0.11496492272183455),
    (5.0, 3.0, 0.6, 0, 1, 0.18601338839726986),
    (5.0, 3.0, 0.3, 2, 0, 0.023066041733578353),
    (5.0, 3.0, 0.3, 1, 1, -0.017920561727946847),
    (5.0, 3.0, 0.3, 1, 2, -0.005403884776013565),
    (31.5, 1.128, 0.999999999, 1, 0, -1.165392059915213e-10),
    (500.0, 0.5, 0.999, 1, 0, -0.00048418339944734527),
    (500.0, 700.0, 0.4, 0, 1, 0.004808291912420851),
    (500.0, 700.0, 0.43, 1, 0, -0.00867341122345392),
    (899.0, 30.0, 0.97, 1, 0, -0.002195444057724075),
    (901.0, 30.0, 0.97, 1, 0, -0.002200960566430614),
    (2000.0, 300.0, 0.8, 1, 0, -6.204041097511597e-20),
]
STUDENT = [  # v, t, order, derivative
    (0.05, 2.0, 1, 1.0187510660283534),
    (0.5, -0.1, 1, -0.015492414570386094),
    (1.0, -3.0, 1, -0.10040852260827625),
    (3.0, 1e-08, 1, 9.732981649988489e-11),
    (3.0, 100000000.0, 1, 1.9309258893455436e-23),
    (5.0, -2.0, 1, -0.005696884352185706),
    (5.0, -2.0, 2, 0.0022456986837639287),
    (5.0, 2.0, 3, 0.0013050666936209032),
    (10.0, 0.5, 1, 0.0005311228426171839),
    (28.0, -40.0, 1, -2.324807719196239e-26),
    (29.9, 0.0124, 1, 1.3711641571722526e-06),
    (31.0, 1.0, 1, 0.00012384859075536658),
    (100.0, 1.0, 1, 1.2037892855727073e-05),
    (100.0, -0.3, 2, 6.210088746863737e-08),
]


def computed(f: Callable[..., Any], *xs: Any) -> Any:
    arrays = [np.atleast_1d(np.asarray(x)) for x in xs]
    return np.asarray(of_op(f, *arrays)(*arrays)).reshape(-1)


def gamma_by(a: Any, x: Any, order: int = 1) -> Any:
    return computed(lambda a, x: distributions.gammainc_by(a, x, order=order), a, x)


def beta_by(a: Any, b: Any, x: Any, m: int, n: int) -> Any:
    return computed(lambda a, b, x: distributions.betainc_by(a, b, x, m=m, n=n), a, b, x)


def student_by(v: Any, t: Any, order: int = 1) -> Any:
    return computed(lambda v, t: distributions.student_by_v(v, t, order=order), v, t)


def test_against_mpmath() -> None:
    for a, x, order, want in GAMMA:
        np.testing.assert_allclose(gamma_by(a, x, order), want, rtol=3e-12 if order > 2 else 2e-13)
    for a, b, x, m, n, want in BETA:
        np.testing.assert_allclose(beta_by(a, b, x, m, n), want, rtol=1e-12)
    for v, t, order, want in STUDENT:
        np.testing.assert_allclose(student_by(v, t, order), want, rtol=1e-11)


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("low", [-3, 0, 2, 4])
def test_against_quadratures(low: int) -> None:
    n = 60
    a, b, v = [10 ** RNG.uniform(low, low + 2, n) for _ in range(3)]
    x = a * 10 ** RNG.uniform(-0.5, 0.5, n)
    x[:30] = np.maximum(a / 2, a + RNG.standard_normal(n) * 2 * np.sqrt(a))[:30]
    mean = a / (a + b)
    y = np.clip(mean + RNG.standard_normal(n) * 2 * np.sqrt(mean * (1 - mean) / (a + b + 1)), 0.01, 0.99)
    t = RNG.standard_normal(n) * 2
    for order in (1, 2):
        want = distributions.gammainc_slope(a, x, order=order)
        np.testing.assert_allclose(gamma_by(a, x, order), want, rtol=1e-9, atol=1e-290)
    for orders in ({"m": 1, "n": 0}, {"m": 0, "n": 1}, {"m": 1, "n": 1}):
        want = distributions.betainc_slope(a, b, y, **orders)
        np.testing.assert_allclose(beta_by(a, b, y, **orders), want, rtol=1e-9, atol=1e-290)
    want = distributions.student_by_v.reference(v[:8], t[:8], order=1)
    np.testing.assert_allclose(student_by(v[:8], t[:8]), want, rtol=1e-10 if low < 4 else 1e-8)  # whose B is less exact


def test_edges_are_those_of_the_quadratures() -> None:
    inf, nan = np.inf, np.nan
    a, x = np.array([1.0, 1, 1, 0, -1, nan, 2, 2]), np.array([0, inf, -1, 1, 1, 1, nan, 1e-300])
    np.testing.assert_array_equal(gamma_by(a, x)[:7], distributions.gammainc_slope(a, x, order=1)[:7])
    a, y = np.array([1.0, 1, 1, 1, 0, -1, nan, 2]), np.array([0, 1, -1, 2, 0.5, 0.5, 0.5, nan])
    want = distributions.betainc_slope(a, np.ones(8), y, m=1, n=0)
    np.testing.assert_array_equal(beta_by(a, np.ones(8), y, 1, 0), want)
    v, t = np.array([1.0, 1, 1, 0, nan, 2]), np.array([0, inf, -inf, 1, 1, nan])
    np.testing.assert_array_equal(student_by(v, t), distributions.student_by_v.reference(v, t, order=1))


def test_a_likelihood_calls_nobody() -> None:
    a, b, x = RNG.uniform(1, 5, 4), RNG.uniform(1, 5, 4), RNG.uniform(0.1, 0.9, 4)

    def f(a: Any, b: Any) -> Any:
        of_gamma = np.log(sp.gammainc(a, 3 * x)) + np.log(sp.gammaincc(b, x))
        return np.sum(of_gamma + np.log(sp.betainc(a, b, x)) + sp.gammaincinv(a, x) + sp.stdtr(a, b))

    gradient = wg.grad(f, argnums=(0, 1))
    native(gradient, a, b)
    native(wg.hessian(f), a, b)
    check(lambda a: f(a, b), a)
    for mine, plain in zip(wg.jit(gradient)(a, b), gradient(a, b), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-10)


def test_single_precision_is_that_of_doubles() -> None:
    a, x = RNG.uniform(0.5, 5, (2, 7)).astype(np.float32)
    slope = gamma_by(a, x)
    assert slope.dtype == np.float32
    np.testing.assert_array_equal(slope, gamma_by(a.astype(float), x.astype(float)).astype(np.float32))
