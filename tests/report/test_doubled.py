"""Double-double arithmetic beside mpmath: each op of the table has some thirty digits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest

import wengert as wg
from wengert.report.doubled import DOUBLED, Doubled, exact, run, solve

mpmath.mp.dps = 60


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


ANY = [-30.5, -2.25, -1.0, -0.3, -1e-9, 1e-200, 1e-12, 0.7, 1.0, 3.75, 29.0]
POSITIVE = [1e-200, 1e-9, 0.3, 0.9999999999, 1.0, 1.0000001, 2.5, 1e10, 1e200]
UNIT = [-1.0, -0.9999999, -0.5, -1e-9, 1e-12, 0.25, 0.75, 0.999999999999]
CASES: list[tuple[str, Any, list[float]]] = [
    ("exp", mpmath.exp, [*ANY, -600.5, 700.25]),
    ("expm1", mpmath.expm1, ANY),
    ("exp2", lambda x: mpmath.mpf(2) ** x, ANY),
    ("log", mpmath.log, POSITIVE),
    ("log2", lambda x: mpmath.log(x) / mpmath.log(2), POSITIVE),
    ("log10", mpmath.log10, POSITIVE),
    ("log1p", mpmath.log1p, [-0.999, -0.5, -1e-10, 1e-12, 0.1, 3.0, 1e8]),
    ("sqrt", mpmath.sqrt, POSITIVE),
    ("cbrt", mpmath.cbrt, POSITIVE),
    ("sin", mpmath.sin, [*ANY, 3.141592653589793, 1e5, 1e12]),
    ("cos", mpmath.cos, [*ANY, 1.5707963267948966, 1e5, 1e12]),
    ("tan", mpmath.tan, ANY),
    ("arcsin", mpmath.asin, UNIT),
    ("arccos", mpmath.acos, UNIT[1:]),
    ("arctan", mpmath.atan, [*ANY, 1e20]),
    ("sinh", mpmath.sinh, ANY),
    ("cosh", mpmath.cosh, ANY),
    ("tanh", mpmath.tanh, ANY),
    ("arcsinh", mpmath.asinh, ANY),
    ("arccosh", mpmath.acosh, [1.0000001, 1.5, 20.0, 1e6]),
    ("arctanh", mpmath.atanh, UNIT[1:]),
    ("expit", lambda x: 1 / (1 + mpmath.exp(-x)), ANY),
    ("log_expit", lambda x: -mpmath.log1p(mpmath.exp(-x)), ANY),
    ("radians", mpmath.radians, ANY),
    ("degrees", mpmath.degrees, ANY),
    ("reciprocal", lambda x: 1 / x, ANY),
]


def whole(y: Doubled, k: Any = ()) -> Any:
    return mpmath.mpf(float(y.hi[k])) + mpmath.mpf(float(y.lo[k]))


def assert_close(y: Doubled, wanted: list[Any], digits: float = 28) -> None:
    for k, w in enumerate(wanted):
        assert abs(whole(y, k) - w) <= mpmath.mpf(10) ** -digits * abs(w), (k, whole(y, k), w)


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_functions_of_one_number(case: Any) -> None:
    name, f, points = case
    x = np.array([p for p in points if name not in ("reciprocal", "tan") or abs(p) > 1e-290])
    assert_close(DOUBLED[name](exact(x)), [f(mpmath.mpf(p)) for p in x])
    tail = Doubled(x, x * 1e-17)
    if name not in ("arcsin", "arccos", "arctanh", "arccosh", "sin", "cos", "log"):  # steep there, or at an end
        assert_close(DOUBLED[name](tail), [f(whole(tail, k)) for k in range(len(x))], 27)


def test_arithmetic_of_two_numbers() -> None:
    rng = np.random.default_rng(0)
    hi = rng.standard_normal((2, 50)) * 10.0 ** rng.integers(-8, 8, (2, 50))
    x, y = [Doubled(h, h * 2.0**-54 * rng.uniform(-1, 1, 50)) for h in hi]
    pairs = [(whole(x, k), whole(y, k)) for k in range(50)]
    for name, f in [("add", lambda a, b: a + b), ("subtract", lambda a, b: a - b), ("multiply", lambda a, b: a * b),
                    ("divide", lambda a, b: a / b), ("hypot", mpmath.hypot), ("arctan2", mpmath.atan2)]:  # fmt: skip
        assert_close(DOUBLED[name](x, y), [f(a, b) for a, b in pairs], 27)
    p = exact(np.array([0.5, -3.0, 2.0, 17.0, 1.75]))
    base = Doubled(np.abs(x.hi[:5]), x.lo[:5] * np.sign(x.hi[:5]))
    assert_close(DOUBLED["power"](base, p), [whole(base, k) ** whole(p, k) for k in range(5)], 26)
    assert_close(DOUBLED["logaddexp"](exact([1.0, -500.0]), exact([2.0, 3.0])),
                 [mpmath.log(mpmath.e + mpmath.e**2), mpmath.log(mpmath.exp(-500) + mpmath.exp(3))])  # fmt: skip


def test_sums_and_products_lose_nothing() -> None:
    x = np.array([1e16, 1.0, -1e16, 3.0, 1e-9])
    y = DOUBLED["sum"](exact(x), axis=(0,))
    assert abs(whole(y) - (4 + mpmath.mpf(1e-9))) < 1e-15
    np.testing.assert_array_equal(DOUBLED["cumsum"](exact(x), axis=0).hi, [1e16, 1e16 + 1, 1, 4, 4 + 1e-9])
    a, b = np.random.default_rng(0).standard_normal((2, 3, 3))
    z = DOUBLED["contract"](exact(a), exact(b), a=(0, 1), b=(1, 2), out=(0, 2))
    wanted = mpmath.matrix(a.tolist()) * mpmath.matrix(b.tolist())
    assert all(abs(whole(z, (i, j)) - wanted[i, j]) < 1e-29 for i in range(3) for j in range(3))


def test_a_hilbert_matrix_is_solved() -> None:
    n = 10
    a = 1 / (np.arange(n)[:, None] + np.arange(n) + 1.0)
    wanted = mpmath.lu_solve(mpmath.matrix(a.tolist()), mpmath.matrix([1] * n))
    x = solve(exact(a), exact(np.ones((n, 1))))
    assert all(abs(whole(x, (k, 0)) / wanted[k] - 1) < 1e-15 for k in range(n))
    wide = solve(exact(np.stack([a.T, 2 * a.T])), exact(np.ones((n, 1))), transpose=True)
    np.testing.assert_allclose(wide.hi[1] * 2, x.hi, rtol=1e-12)


def test_special_values_are_those_of_numpy() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308])
    with np.errstate(all="ignore"):
        for name in ("exp", "log", "sqrt", "square", "tanh", "arctan", "absolute", "log1p", "expm1", "sin", "sinh"):
            wanted = wg.ops.OPS[name].reference(x)
            np.testing.assert_allclose(DOUBLED[name](exact(x)).hi, wanted, rtol=1e-15, err_msg=name)


def test_a_step_without_an_entry_is_followed_to_first_order() -> None:
    from scipy.special import gammaln

    (instr,) = wg.trace(gammaln)(2.5).instrs
    step = run(instr, [Doubled(np.asarray(2.5), np.asarray(1e-17))], [gammaln(2.5)])
    assert not step.is_known
    np.testing.assert_allclose(step.results[0].lo, 1e-17 * 0.7031566406452432, rtol=1e-6)


def test_views_and_gathers_move_both_halves() -> None:
    def f(x: Any) -> Any:
        return np.concatenate([x.reshape(2, 2).T[0], x[np.array([3, 0])], np.broadcast_to(x[1], (2,))])

    tape = wg.trace(f)(np.zeros(4))
    x = Doubled(np.arange(4.0), np.arange(4.0) * 1e-20)
    values: dict[Any, Any] = {tape.inputs[0]: x, **{c.var: c.array for c in tape.captures}}
    for i in tape.instrs:
        step = run(i, [values[a] for a in i.ins], [np.zeros(v.aval.shape, v.aval.dtype) for v in i.outs])
        assert step.is_known
        values.update(zip(i.outs, step.results, strict=True))
    np.testing.assert_array_equal(values[tape.outputs[0]].lo, f(x.lo))
