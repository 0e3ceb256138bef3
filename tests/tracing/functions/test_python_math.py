"""Every function of Python's ``math`` on traced numbers: its values, differences, batches, domains."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from math import cos, exp, log, sqrt
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import same
from wengert.errors import ConcretizationError

POINTS: dict[str, list[tuple[float, ...]]] = {
    **{name: [(0.7,), (-0.3,), (0.0,)] for name in ("sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh")},
    **{name: [(0.7,), (-0.3,), (0.0,)] for name in ("exp", "exp2", "expm1", "degrees", "radians", "erf", "erfc")},
    **{name: [(0.7,), (-0.3,)] for name in ("asin", "acos", "atanh", "fabs", "cbrt", "log1p", "ulp")},
    **{name: [(0.7,), (30.0,)] for name in ("sqrt", "log", "log2", "log10", "gamma", "lgamma")},
    "acosh": [(1.7,)],
    "copysign": [(0.3, -0.8), (-0.3, 0.5)],
    "atan2": [(0.3, 0.8), (-0.3, -0.8)],
    "pow": [(0.7, 1.3), (2.5, -0.5)],
    "fmod": [(5.3, 1.2), (-5.3, 1.2), (5.3, -1.2)],
    "remainder": [(5.3, 1.2), (-5.3, 1.2), (5.9, -1.2), (3.0, 2.0), (5.0, 2.0), (-5.0, 2.0), (1.0, 4.0)],
    "hypot": [(0.3,), (0.3, -0.4), (0.3, 0.4, 1.2, 0.1)],
    "nextafter": [(0.3, 0.4)],
    "fma": [(0.3, 0.4, 0.5), (0.1, 0.1, -0.01)],
}
POINTS["log"].append((0.7, 3.0))
CASES = [(name, point) for name, points in POINTS.items() if hasattr(math, name) for point in points]
BY_PROTOCOL = {"ceil", "floor", "trunc", "prod", "sumprod", "factorial", "comb", "perm", "gcd", "lcm", "isqrt"}
ELSEWHERE = {"dist", "fsum", "isclose", "isfinite", "isinf", "isnan", "frexp", "ldexp", "modf"}
"""Tested below, since they take or give something else than floats."""

KINKED = {"remainder": [(3.0, 2.0), (5.0, 2.0), (-5.0, 2.0)]}  # values only: a step is there


def test_no_function_of_math_is_left_out() -> None:
    functions = {name for name in dir(math) if callable(getattr(math, name)) and not name.startswith("_")}
    new = {"fmax", "fmin", "isnormal", "issubnormal", "signbit"}  # later than the last Python that is tested
    assert functions - new <= POINTS.keys() | BY_PROTOCOL | ELSEWHERE


def differences(f: Any, args: tuple[float, ...], h: float = 1e-6) -> list[float]:
    moved = lambda k, by: f(*[x + by * (j == k) for j, x in enumerate(args)])
    return [(moved(k, h) - moved(k, -h)) / (2 * h) for k in range(len(args))]


@pytest.mark.sampled(5, "many that are alike")
@pytest.mark.parametrize(("name", "args"), CASES)
def test_a_function_of_math_is_recorded(name: str, args: tuple[float, ...]) -> None:
    f = getattr(math, name)
    argnums = tuple(range(len(args)))
    gradient = wg.grad(f, argnums)
    value = wg.jit(f)(*args)
    assert value == pytest.approx(f(*args), rel=4e-15 if name == "lgamma" else 4e-16, abs=1e-300)
    assert wg.jit(lambda *xs: np.float32(2) * f(*xs))(*args).dtype == np.float32  # a Python float, as from math
    np.testing.assert_array_equal(wg.jit(gradient)(*args), gradient(*args))
    if name not in ("nextafter", "ulp") and args not in KINKED.get(name, []):
        np.testing.assert_allclose(gradient(*args), differences(f, args), rtol=1e-7, atol=1e-8)
        second = wg.hessian(lambda v: f(*v))(np.array(args))
        for k in argnums:
            want = differences(lambda *xs, k=k: gradient(*xs)[k], args, 1e-5)
            np.testing.assert_allclose(second[k], want, rtol=1e-5, atol=1e-6)
    batch = wg.vmap(f)(*[np.array([x, x]) for x in args])
    np.testing.assert_allclose(batch, [f(*args)] * 2, rtol=4e-15)


@pytest.mark.parametrize("make", [np.float64, np.array, lambda x: np.array([x])])
def test_numpys_scalars_and_arrays_of_one_element_are_taken(make: Any) -> None:
    f = lambda x: math.sin(x) * math.pow(2, x) + math.hypot(x, 1)
    want = f(0.5)
    assert wg.jit(f)(make(0.5)) == pytest.approx(want, rel=1e-15)
    with pytest.raises(TypeError, match="one element"):
        wg.jit(f, strict=True)(np.array([0.5, 1.0]))


def test_an_integer_becomes_a_float() -> None:
    assert wg.jit(lambda n: math.sqrt(n) + math.exp(n))(4) == 2 + math.exp(4)
    assert wg.jit(lambda n: math.sin(n))(np.int32(2)) == math.sin(2)
    assert wg.jit(lambda x: math.sin(x))(np.float32(0.1)) == math.sin(float(np.float32(0.1)))


# ------------------------------------------------------------------------------------------ how people call them


@dataclass
class Pendulum:
    length: float = 1.5

    def energy(self, angle: Any, speed: Any) -> Any:
        return 0.5 * (self.length * speed) ** 2 + 9.81 * self.length * (1 - cos(angle)) + self._drag(speed)

    @staticmethod
    def _drag(speed: Any) -> Any:
        return sqrt(1 + speed * speed) * log(2 + speed)


def test_math_in_methods_comprehensions_lambdas_partials_and_maps() -> None:
    programs: list[Any] = [
        Pendulum().energy,
        lambda x, y: sum(exp(-k * x) * cos(y) for k in range(4)),
        lambda x, y: sum([math.atan2(x, k + y) for k in range(1, 4)]),
        lambda x, y: functools.reduce(math.hypot, (x, y, 2.0)),
        lambda x, y: sum(map(exp, (x, y))),
        lambda x, y: (lambda f: f(x) * f(y))(math.tanh),
        lambda x, y: functools.partial(math.pow, 2.0)(x) * y,
        lambda x, y: {"a": math.erf, "b": math.sin}["a"](x * y),
        lambda x, y: max(math.sin(x), math.sin(y)) + min(x, y),
        lambda x, y: math.exp(x) if math.isfinite(y) and not math.isnan(x) and not math.isinf(y) else x,
        lambda x, y: math.prod([x, y, 2.0]) + math.fsum([x, y]) + math.dist([x, y], (1.0, x * y)),
        lambda x, y: math.ldexp(x, 3) * math.modf(7 * y)[0] + math.frexp(x)[0] * math.frexp(y)[1],
        lambda x, y: math.floor(9 * x) * y + math.ceil(x) * y + math.trunc(7 * y) * x,
        lambda x, y: math.fsum(v * v for v in (x, y, 1)) + math.fsum(k * x for k in range(3)),
    ]
    for f in programs:
        want = differences(f, (0.7, 0.45))
        for g in (wg.grad(f, (0, 1)), wg.jit(wg.grad(f, (0, 1)))):
            np.testing.assert_allclose(g(0.7, 0.45), want, rtol=1e-7, atol=1e-8, err_msg=str(programs.index(f)))
        assert wg.jit(f)(0.7, 0.45) == pytest.approx(f(0.7, 0.45), rel=1e-15)


def test_a_captured_number_is_read_at_every_call() -> None:
    scale = np.array(2.0)
    f = wg.jit(lambda x: math.hypot(x, scale) + math.fsum([x, scale]) + math.pow(x, scale))
    assert f(3.0) == pytest.approx(math.hypot(3, 2) + 5 + 9)
    scale[...] = 4.0
    assert f(3.0) == pytest.approx(5 + 7 + 81)


def test_a_compiled_loop_is_not_traced_again() -> None:
    f = wg.jit(wg.grad(lambda v: math.fsum(math.sqrt(x) * math.exp(-x) for x in v)))
    x = np.linspace(0.5, 2, 20)
    for scale in (1.0, 1.5, 2.0):
        np.testing.assert_allclose(f(x * scale), wg.grad(lambda v: np.sum(np.sqrt(v) * np.exp(-v)))(x * scale))
    assert f.stats()["traces"] == 1
    everything = wg.jit(
        lambda x: (
            math.log(x, 3) + math.hypot(1.0, 2.0, x) + math.pow(2.0, x) + math.remainder(x, 0.3) + math.fmod(2.0, x)
            + math.dist((1.0, x), (2.0, 3.0)) + math.fsum([1, 2, x]) + math.isclose(x, 2) + math.modf(x)[0]
        )
    )  # fmt: skip
    assert [everything(x) > 0 for x in (0.7, 0.8)] == [True, True]
    assert everything.stats()["traces"] == 1 and everything.stats()["unrepeatable"] == ""


def test_constants_are_computed_by_math_itself() -> None:
    def f(x: Any) -> Any:
        c = np.array([4.0, 9.0])
        assert math.sqrt(c[0]) == 2.0 and type(math.sqrt(c[0])) is float and math.dist(c, [0, 0]) == math.hypot(4, 9)
        assert math.fsum(c) == 13.0
        with pytest.raises(ValueError, match="domain"):
            math.log(c[0] - 4)
        return x * math.sqrt(c[1])

    assert wg.grad(f)(1.0) == 3.0 == wg.jit(wg.grad(f))(1.0)


# --------------------------------------------------------------------------------------------------- domains

OUTSIDE: list[tuple[str, tuple[float, ...]]] = [
    ("sqrt", (-1.0,)),
    *[(name, (x,)) for name in ("log", "log2", "log10") for x in (0.0, -1.0)],
    ("log1p", (-1.0,)),
    ("asin", (1.5,)),
    ("acos", (-1.5,)),
    ("acosh", (0.5,)),
    ("atanh", (1.0,)),
    *[(name, (x,)) for name in ("gamma", "lgamma") for x in (0.0, -2.0)],
    ("gamma", (-math.inf,)),
    ("pow", (-8.0, 1 / 3)),
    ("pow", (0.0, -1.0)),
    ("pow", (0.0, -0.5)),
    ("fmod", (1.0, 0.0)),
    ("fmod", (math.inf, 1.0)),
    ("remainder", (1.0, 0.0)),
    ("log", (2.0, -1.0)),
]


@pytest.mark.parametrize(("name", "args"), OUTSIDE)
def test_outside_of_the_domain_it_raises_as_python_does(name: str, args: tuple[float, ...]) -> None:
    f = getattr(math, name)
    with pytest.raises(ValueError):
        f(*args)
    for g in (wg.grad(f), wg.jit(f), lambda *xs: wg.jit(lambda y: f(xs[0], y))(*xs[1:]) if xs[1:] else f(*xs)):
        with pytest.raises(ValueError, match="domain"), np.errstate(all="ignore"):
            g(*args)


@pytest.mark.parametrize(("name", "args"), [
    ("sqrt", (-0.0,)), ("sqrt", (math.nan,)), ("log", (math.nan,)), ("log", (math.inf,)), ("asin", (1.0,)),
    ("pow", (-8.0, 3.0)), ("pow", (math.nan, 0.0)), ("pow", (-math.inf, 0.5)), ("pow", (0.0, math.inf)),
    ("pow", (-math.inf, -0.5)), ("pow", (-math.inf, 3.0)), ("pow", (-math.inf, -3.0)), ("pow", (-math.inf, 2.5)),
    ("pow", (1.0, math.nan)), ("fmod", (1.0, math.inf)), ("fmod", (math.nan, 0.0)), ("remainder", (3.0, math.inf)),
    ("lgamma", (-math.inf,)), ("gamma", (-1.5,)), ("lgamma", (-1.5,)), ("hypot", (math.inf, math.nan)),
    ("remainder", (-0.0, 2.0)), ("copysign", (1.0, -0.0)), ("atan2", (0.0, -0.0)),
])  # fmt: skip
def test_special_values(name: str, args: tuple[float, ...]) -> None:
    f = getattr(math, name)
    same(wg.jit(f)(*args), np.float64(f(*args)), rtol=1e-15)


def test_a_domain_is_a_branch() -> None:
    """The handler runs when the value of this call is outside, also if the function was compiled for one inside."""

    def f(x: Any) -> Any:
        try:
            return math.sqrt(x)
        except ValueError:
            return -2 * x

    for g in (wg.grad(f), wg.jit(wg.grad(f))):
        assert [g(4.0), g(-1.0), g(1.0), g(-3.0)] == [0.25, -2.0, 0.5, -2.0]


@pytest.mark.needs_extension("a function that was kept elsewhere than in a module is called as it is")
def test_in_a_batch_the_result_is_numpys() -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wg.vmap(math.sqrt)(np.array([4.0, -1.0])), [2, np.nan])
    np.testing.assert_array_equal(wg.broadcast(math.exp, np.array([0.0, 1.0])), np.exp([0.0, 1.0]))
    with pytest.raises(ZeroDivisionError):
        wg.jit(math.log)(2.0, 1.0)


# --------------------------------------------------------------------------------------------- of whole numbers


def test_whole_numbers_are_looked_at() -> None:
    f = lambda n: math.factorial(n) + math.comb(n, 2) + math.perm(n, 2) + math.gcd(n, 6) + math.isqrt(n)
    g = wg.jit(lambda x, n: x * f(n))
    assert [g(1.0, 4), g(1.0, 5), g(1.0, 4)] == [f(4), f(5), f(4)]
    with pytest.raises(TypeError, match="integer"):
        wg.jit(lambda x: x * math.factorial(x), strict=True)(3.0)
    with pytest.raises(TypeError, match="integer"):
        wg.jit(lambda x: math.ldexp(1.0, x), strict=True)(3.0)
    assert wg.jit(lambda n: math.ldexp(1.5, n))(4) == 24.0
    with pytest.raises(ConcretizationError):
        wg.vmap(lambda n: math.factorial(n))(np.array([1, 2]))


def test_close_numbers() -> None:
    f = lambda x, y: x * 2 if math.isclose(x, y, rel_tol=1e-3) else x * 3
    g = wg.jit(f)
    for x, y in [(1.0, 1.0005), (1.0, 1.1), (math.inf, math.inf), (math.inf, 1.0), (math.nan, math.nan), (0.0, 1e-9)]:
        np.testing.assert_equal(g(x, y), f(x, y))
    assert wg.jit(lambda x: math.isclose(x, 0.0, abs_tol=1e-3))(1e-4)
    with pytest.raises(ValueError, match="non-negative"):
        wg.jit(lambda x: math.isclose(x, 0.0, rel_tol=-1.0))(1.0)


def test_a_sum_of_floats_loses_nothing() -> None:
    terms = np.array([1e16, 1.0, -1e16, 1e-8, 3.0])
    for f in (wg.jit(math.fsum), wg.jit(lambda v: math.fsum(list(v))), wg.jit(lambda v: math.fsum(x for x in v))):
        assert f(terms) == math.fsum(terms)
    assert wg.grad(math.fsum)(terms).tolist() == [1.0] * 5
    assert wg.jit(math.fsum)(np.array([math.inf, 1.0])) == math.inf
    assert wg.grad(lambda x: math.fsum([x]) + math.fsum([]))(1.0) == 1.0


@pytest.mark.skipif(not hasattr(math, "sumprod"), reason="since Python 3.12")
def test_sums_of_products() -> None:
    f = lambda x, y: math.sumprod([x, y, 2.0], (y, 2.0, x))
    np.testing.assert_allclose(wg.jit(wg.grad(f, (0, 1)))(0.3, 0.4), [2.4, 2.3])


def test_the_two_points_have_as_many_coordinates() -> None:
    with pytest.raises(ValueError, match="dimensions"):
        wg.jit(lambda x: math.dist([x, x], [1.0]))(1.0)
    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(wg.grad(lambda v: math.dist(v, np.zeros(2)))(x), x / 0.5)
