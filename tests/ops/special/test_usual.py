"""Every entry of ops/special.py against mpmath, in the middle and in the tails."""

from __future__ import annotations

import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp
from mpmath import mpf

import wengert as wg
from tests.ops.special import slopes
from wengert.ad.forward import jvp
from wengert.errors import MissingRuleError
from wengert.ops import OPS, UFUNCS
from wengert.ops import special as ops
from wengert.ops.op import not_implemented
from wengert.runtime.program import Program
from wengert.tape import Aval, Builder, Tape, Var, building

mp.mp.dps = 50


def tape_of(op, avals, **params):
    """The tape of one instruction."""
    xs = [Var(a) for a in avals]
    with building(Builder()) as builder:
        y = op(*xs, **params)
    return Tape(tuple(xs), (), builder.instrs, (y,))


def derivatives(op, xs, k, order=1, dtype="float64"):
    """y and its first ``order`` derivatives in operand ``k``, at numbers ``xs``."""
    avals = [Aval((), np.dtype(dtype))] * len(xs)
    tape = tape_of(op, avals)
    inputs = [np.asarray(x, dtype)[()] for x in xs]
    for _ in range(order):
        n = len(tape.inputs)
        tape = jvp(tape, [k], outputs=[len(tape.outputs) - 1])
        inputs.append(np.ones((), dtype)[()])
        assert len(tape.inputs) == n + 1
    with np.errstate(all="ignore"):
        return [float(v) for v in Program(tape).run(inputs)]


def ncdf(x):
    return mp.ncdf(x) if x > 0 else mp.erfc(-x / mp.sqrt(2)) / 2


def boxcox(x, lam):
    return mp.log(x) if lam == 0 else mp.expm1(lam * mp.log(x)) / lam


def inv_boxcox(y, lam):
    return mp.exp(y) if lam == 0 else mp.exp(mp.log1p(lam * y) / lam)


def kl(x, y):
    return x * mp.log(x / y) - x + y


def pseudo_huber(d, r):
    return d**2 * (mp.sqrt(1 + (r / d) ** 2) - 1)


def huber(d, r):
    return r**2 / 2 if abs(r) <= d else d * (abs(r) - d / 2)


def exprel(x):
    return mpf(1) if x == 0 else mp.expm1(x) / x


MIDDLE = [-1.7, -0.3, 0.0, 0.4, 2.1]
POSITIVE = [1e-3, 0.4, 1.0, 2.7, 9.0]
PAIRS = [(0.7, 1.9), (3.1, 0.2), (1e-4, 2.0)]

# op, its meaning in mpmath, points
UNARY = [
    (ops.erf, mp.erf, [*MIDDLE, 5.0, -5.0, 8.0]),
    (ops.erfc, mp.erfc, [*MIDDLE, 5.0, 20.0]),
    (ops.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), [*MIDDLE, 5.0, 24.0, 26.0, 1e3, 1e8, -5.0]),
    (ops.erfinv, mp.erfinv, [-0.999999, -0.5, 0.0, 0.3, 0.99]),
    (ops.erfcinv, lambda x: mp.erfinv(1 - x), [1e-20, 1e-3, 0.5, 1.0, 1.7]),
    (
        ops.dawsn,
        lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
        [*MIDDLE, 5.0, 24.0, 26.0, -40.0, 1e4],
    ),
    (ops.ndtr, ncdf, [*MIDDLE, -20.0, 10.0]),
    (ops.log_ndtr, lambda x: mp.log(ncdf(x)), [*MIDDLE, -37.0, -1e3, -1e5, 5.0, 20.0]),
    (ops.ndtri, lambda x: -mp.sqrt(2) * mp.erfinv(1 - 2 * x), [1e-20, 1e-3, 0.5, 0.9]),
    (ops.expit, lambda x: 1 / (1 + mp.exp(-x)), [*MIDDLE, 40.0, -40.0, -700.0]),
    (ops.logit, lambda x: mp.log(x / (1 - x)), [1e-300, 1e-3, 0.5, 0.9]),
    (ops.log_expit, lambda x: -mp.log1p(mp.exp(-x)), [*MIDDLE, 40.0, 700.0, -40.0]),
    (ops.entr, lambda x: -x * mp.log(x), POSITIVE),
    (ops.exp10, lambda x: mpf(10) ** x, MIDDLE),
    (ops.exprel, exprel, [*MIDDLE, 0.19, 0.21, -0.19, -0.21, 1e-9, 30.0, 709.0, -30.0, -1e8]),
    (ops.cosm1, lambda x: mp.cos(x) - 1, [*MIDDLE, 1e-9]),
    (ops.gamma, mp.gamma, [-1.7, -0.3, 0.4, 2.1, 1e-10, 100.0]),
    (ops.gammaln, mp.loggamma, [0.4, 2.1, 1e-10, 1e10]),
    (ops.loggamma, mp.loggamma, [0.4, 2.1, 1e-10, 1e10]),
    (ops.psi, mp.psi0 if hasattr(mp, "psi0") else lambda x: mp.psi(0, x), [-1.7, -0.3, 0.4, 2.1, 100.0]),
    (ops.j0, lambda x: mp.besselj(0, x), MIDDLE),
    (ops.j1, lambda x: mp.besselj(1, x), MIDDLE),
    (ops.y0, lambda x: mp.bessely(0, x), POSITIVE),
    (ops.y1, lambda x: mp.bessely(1, x), POSITIVE),
    (ops.i0, lambda x: mp.besseli(0, x), MIDDLE),
    (ops.i1, lambda x: mp.besseli(1, x), MIDDLE),
    (ops.i0e, lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), [-1.7, 0.4, 2.1, 45.0, 55.0, -55.0, 1e6]),
    (ops.i1e, lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), [-1.7, 0.4, 2.1, 45.0, 55.0, -55.0, 1e6]),
    (ops.k0, lambda x: mp.besselk(0, x), POSITIVE),
    (ops.k1, lambda x: mp.besselk(1, x), POSITIVE),
    (ops.exp1, mp.e1, POSITIVE),
    (ops.expi, mp.ei, POSITIVE),
]
BINARY = [
    (ops.xlogy, lambda x, y: x * mp.log(y) if x else mpf(0), [*PAIRS, (0.0, 2.0)]),
    (ops.xlog1py, lambda x, y: x * mp.log1p(y) if x else mpf(0), [*PAIRS, (2.0, -0.5), (0.0, 2.0)]),
    (ops.rel_entr, lambda x, y: x * mp.log(x / y), [*PAIRS, (1.0, 1.0 + 1e-9), (1e-200, 1e200)]),
    (ops.kl_div, kl, [*PAIRS, (1.0, 1.0 + 1e-9), (1e-20, 1.0)]),
    (ops.boxcox, boxcox, [*PAIRS, (2.0, 1e-9), (2.0, 0.0), (2.0, -3.0), (1e-4, 1e-3)]),
    (ops.boxcox1p, lambda x, lam: boxcox(1 + x, lam), [*PAIRS, (1e-9, 0.5), (2.0, 0.0)]),
    (ops.inv_boxcox, inv_boxcox, [(0.7, 1.9), (3.1, 0.2), (2.0, 1e-9), (2.0, 0.0), (0.1, -3.0)]),
    (ops.inv_boxcox1p, lambda y, lam: inv_boxcox(y, lam) - 1, [(0.7, 1.9), (3.1, 0.2), (2.0, 0.0)]),
    (ops.huber, huber, [(1.0, 0.5), (1.0, -0.5), (1.0, 3.0), (1.0, -3.0)]),
    (ops.pseudo_huber, pseudo_huber, [(1.0, 0.5), (1.0, 1e-6), (2.0, -1e9), (1e-3, 4.0)]),
    (ops.beta, mp.beta, [*PAIRS, (100.0, 1.0), (1.0, 100.0)]),
    (
        ops.betaln,
        lambda a, b: mp.log(mp.beta(a, b)),
        [*PAIRS, (29.0, 1.0), (31.0, 1.0), (1e8, 2.0), (2.0, 1e8)],
    ),
]
IN_LAST_ONLY = [
    (ops.zeta, lambda s, q: mp.zeta(s, q), [(2.0, 0.7), (3.5, 2.0), (2.0, 1e4)]),
    (
        ops.gammainc,
        lambda a, x: mp.gammainc(a, 0, x, regularized=True),
        [(0.7, 1.9), (1.0, 1e-3), (3.1, 20.0)],
    ),
    (ops.gammaincc, lambda a, x: mp.gammainc(a, x, regularized=True), [(0.7, 1.9), (1.0, 1e-3), (3.1, 20.0)]),
    (
        ops.betainc,
        lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        [(0.7, 1.9, 0.3), (2.0, 3.0, 0.999), (1.0, 1.0, 0.5)],
    ),
    (ops.jv, mp.besselj, [(2.0, 1.3), (0.5, 3.0)]),
    (ops.yv, mp.bessely, [(2.0, 1.3), (0.5, 3.0)]),
    (ops.iv, mp.besseli, [(2.0, 1.3), (0.5, 3.0)]),
    (ops.kv, mp.besselk, [(2.0, 1.3), (0.5, 3.0)]),
    (ops.ive, lambda v, x: mp.exp(-abs(x)) * mp.besseli(v, x), [(2.0, 1.3), (0.5, 3.0)]),
]


def table():
    for op, f, points in UNARY:
        for x in points:
            yield pytest.param(op, f, (x,), 0, id=f"{op.name}({x})")
    for op, f, points in BINARY:
        for xs in points:
            for k in range(len(xs)):
                yield pytest.param(op, f, xs, k, id=f"{op.name}{xs}, d{k}")
    for op, f, points in IN_LAST_ONLY:
        for xs in points:
            yield pytest.param(op, f, xs, len(xs) - 1, id=f"{op.name}{xs}")


def exact_derivative(f, xs, k, order):
    """By mpmath's differences, with enough digits for any step."""
    xs = [mpf(x) for x in xs]
    scale = abs(xs[k]) or mpf(10) ** -12
    with mp.workdps(60):
        return mp.diff(
            lambda t: f(*[t if j == k else x for j, x in enumerate(xs)]),
            xs[k],
            order,
            h=scale * mpf(10) ** -15,
        )


@pytest.mark.sampled(7, "every function at many points against 50 digits")
@pytest.mark.parametrize(("op", "f", "xs", "k"), list(table()))
def test_derivative_is_exact_in_the_middle_and_in_the_tails(op, f, xs, k):
    _, dy = derivatives(op, xs, k)
    expected = float(exact_derivative(f, xs, k, 1))
    assert dy == pytest.approx(expected, rel=3e-12, abs=1e-300), (dy, expected)


@pytest.mark.sampled(35, "every function at many points against 50 digits")
@pytest.mark.parametrize(("op", "f", "xs", "k"), list(table()))
def test_second_derivative(op, f, xs, k):
    dy, d2y = derivatives(op, xs, k, order=2)[1:]
    expected = float(exact_derivative(f, xs, k, 2))
    scale = abs(expected) + abs(dy) / max(abs(xs[k]), 1)
    assert d2y == pytest.approx(expected, rel=1e-9, abs=1e-8 * scale + 1e-290), (d2y, expected)


def test_every_entry_is_in_a_table():
    tested = {op for op, *_ in (*UNARY, *BINARY, *IN_LAST_ONLY)}
    untested = {"ndtri_exp", "riemann_zeta", "zetac", "zeta_by_s", "exp_minus"}  # by their own tests below
    mine = {op for u, op in UFUNCS.items() if isinstance(op, type(ops.erf)) and op is getattr(ops, op.name, None)}
    mine = {op for op in mine if op.reference not in vars(np).values()}
    assert {op.name for op in mine - tested} <= untested


@pytest.mark.parametrize("op", [op for op, *_ in (*UNARY, *BINARY)], ids=lambda op: op.name)
def test_float32_stays_float32(op):
    xs = [np.float32(0.5)] * len(op.partials)
    tape = tape_of(op, [Aval((), np.dtype("float32"))] * len(xs))
    assert tape.outputs[0].aval.dtype == np.float32
    for k in range(len(xs)):
        out = Program(jvp(tape, [k])).run([*xs, np.float32(1)])
        assert out[1].dtype == np.float32
        assert out[1] == pytest.approx(derivatives(op, [0.5] * len(xs), k)[1], rel=2e-5, abs=1e-6)


@pytest.mark.parametrize("x", [5.0, 7.0, 100.0])
def test_float32_tail_of_erfcx(x):
    assert derivatives(ops.erfcx, [x], 0, dtype="float32")[1] == pytest.approx(
        derivatives(ops.erfcx, [x], 0)[1], rel=2e-5
    )


def test_ndtri_exp_undoes_log_ndtr():
    for x in (-1e3, -40.0, -5.0, -0.1):
        y, dy = derivatives(ops.log_ndtr, [x], 0)
        back, dx = derivatives(ops.ndtri_exp, [y], 0)
        assert back == pytest.approx(x, rel=1e-12)
        assert dx == pytest.approx(1 / dy, rel=1e-10)


# --------------------------------------------------------------------------------------------- kinks, corners


@pytest.mark.parametrize(
    ("op", "xs", "expected"),
    [
        (ops.xlogy, (0.0, 0.0), (-np.inf, 0.0)),
        (ops.xlogy, (0.0, 2.0), (np.log(2), 0.0)),
        (ops.xlog1py, (0.0, -1.0), (-np.inf, 0.0)),
        (ops.rel_entr, (0.0, 0.0), (0.0, 0.0)),
        (ops.rel_entr, (0.0, 2.0), (-np.inf, 0.0)),
        (ops.kl_div, (0.0, 0.0), (0.0, 1.0)),
        (ops.kl_div, (0.0, 2.0), (-np.inf, 1.0)),
        (ops.kl_div, (2.0, 2.0), (0.0, 0.0)),
        (ops.pseudo_huber, (0.0, 2.0), (2.0, 0.0)),
        (ops.pseudo_huber, (0.0, 0.0), (0.0, 0.0)),
        (ops.huber, (1.0, 1.0), (0.0, 1.0)),
        (ops.boxcox, (0.0, 2.0), (0.0, 0.25)),
        (ops.i0e, (0.0,), (0.0,)),
        (ops.i1e, (0.0,), (0.5,)),
        (ops.entr, (0.0,), (np.inf,)),
        (ops.log_ndtr, (-np.inf,), (np.inf,)),
        (ops.log_ndtr, (np.inf,), (0.0,)),
        (ops.expit, (np.inf,), (0.0,)),
        (ops.expit, (-np.inf,), (0.0,)),
        (ops.log_expit, (-np.inf,), (1.0,)),
    ],
    ids=str,
)
def test_corner(op, xs, expected):
    assert tuple(derivatives(op, xs, k)[1] for k in range(len(xs))) == pytest.approx(expected)


def test_hessian_of_log_ndtr_far_out_is_finite():
    assert derivatives(ops.log_ndtr, [60.0], 0, order=2)[1:] == [0.0, 0.0]
    assert derivatives(ops.log_ndtr, [-1e4], 0, order=2)[2] == pytest.approx(-1, rel=1e-6)


def test_orders_and_parameters_without_closed_form_say_so():
    for op, k in ((ops.cylinder.struve, 0), (ops.cylinder.modstruve, 0)):
        with pytest.raises(MissingRuleError, match="closed form"):
            derivatives(op, [2.0] * len(op.partials), k)
    assert callable(not_implemented(""))


@pytest.mark.parametrize("s", [-1.0, 0.0, 0.5, 1.001, 2.0, 11.3, 60.0])
def test_zeta_in_its_exponent(s):
    want = float(mp.zeta(mpf(s), derivative=1))
    for op in (ops.riemann_zeta, ops.zetac):
        np.testing.assert_allclose(derivatives(op, [s], 0)[1], want, rtol=1e-11)
    if s > 1:
        want = float(mp.diff(lambda s: mp.zeta(s, mpf(2.5)), mpf(s)))
        np.testing.assert_allclose(derivatives(ops.zeta, [s, 2.5], 0)[1], want, rtol=1e-11)


def test_ufuncs_that_scipy_shares_with_numpy_are_the_same_op():
    assert UFUNCS[sp.log1p] is OPS["log1p"]
    assert UFUNCS[sp.expm1] is OPS["expm1"]
    assert UFUNCS[sp.digamma] is ops.psi


def test_exp_minus_takes_infinities_as_limits():
    body = ops.exp_minus_body(np.dtype(float))
    x = np.array([np.inf, -np.inf, 0.0, -np.inf])
    m = np.array([np.inf, 0.0, np.inf, -np.inf])
    tape = tape_of(ops.exp_minus, [Aval((4,), np.dtype(float))] * 2, body=body)
    y, dy = Program(jvp(tape, [0])).run([x, m, np.ones(4)])
    assert y.tolist() == dy.tolist() == [1, 0, 0, 1]
    assert Program(body).run([np.float64(1.0), np.float64(3.0)])[0] == np.exp(-2)
    assert len(body.instrs) == 4


def test_importing_wengert_does_not_import_scipy_special():
    code = "import wengert, sys; assert 'scipy.special' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", [name for name in slopes.stored() if slopes.is_usual(name)])
def test_derivatives_are_those_stored(name: str) -> None:
    """At ordinary points and where one operand is small, about 1, large or negative: each branch of a rule."""
    assert not slopes.wrong(name)


@pytest.mark.parametrize(("v", "x"), [(20.5, 100.0), (7.5, 60.0), (1.5, 60.0), (2.0, -70.0), (3.0, -70.0), (2.5, 49.0)])
def test_scaled_bessel_functions_where_their_series_begins(v: float, x: float) -> None:
    """It wants x > v² and 50; of a negative x, the series of |x|."""
    functions = [(sp.ive, lambda x: mp.exp(-abs(x)) * mp.besseli(v, x))]
    if x > 0:
        functions.append((sp.kve, lambda x: mp.exp(x) * mp.besselk(v, x)))
    for ours, theirs in functions:
        np.testing.assert_allclose(wg.grad(lambda x, f=ours: f(v, x))(x), float(mp.diff(theirs, mpf(x))), rtol=1e-11)
