"""Functions and classes of ``scipy.interpolate`` on traced arrays: in the points, the values, and where it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import interpolate as s
from scipy import spatial

import wengert as wg
from tests.differences import check, check_derivative, same
from tests.of_scipy.checking import OF_COMPILED
from wengert.errors import UnsupportedFunctionError

RNG = np.random.default_rng(3)
P = np.array([0.0, 0.5, 1.3, 2.0, 3.1, 4.0, 5.2])
V, S = RNG.standard_normal(7), RNG.standard_normal(7)
ROWS = RNG.standard_normal((2, 7, 3))
AT, BEYOND = np.array([0.1, 0.7, 2.5, 4.9]), np.array([-0.4, 0.7, 5.9])
LOW, HIGH = np.array(0.3), np.array(4.4)
GX, GY, GRID = np.linspace(0, 1, 5), np.linspace(0, 1, 6) ** 1.5, RNG.standard_normal((5, 6))
GRIDS: Any = (GX, GY)
PAIRS = RNG.uniform(0.1, 0.9, (4, 2))
SPOTS = np.concatenate([[[0.0, 0], [0, 1], [1, 0], [1, 1]], RNG.uniform(0.1, 0.9, (6, 2))])
HEIGHTS = RNG.standard_normal(10)
KNOTS = np.array([0.0, 0, 0, 0, 1.5, 2.7, 5.2, 5.2, 5.2, 5.2])
INNER = np.array([1.5, 3.7])
C = RNG.standard_normal(6)
PADDED, WAVES = np.concatenate([C, np.zeros(4)]), np.array([1.0, -1, 2, -1, 1, -2])
PIECES, BREAKS = RNG.standard_normal((4, 3)), np.array([0.0, 1.0, 2.3, 3.0])
END = np.eye(7)[-1]


def cubic(v: Any) -> Any:
    return s.CubicSpline(P, v)


def spline(c: Any, *options: Any) -> Any:
    return s.BSpline(KNOTS, c, 3, *options)


def whole(inner: Any) -> Any:
    return np.concatenate([np.zeros(4), inner, np.full(4, 5.2)])


def periodic(v: Any) -> Any:
    return v * (1 - END) + v[0] * END


FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "interp1d": (lambda p, v, x: s.interp1d(p, v)(x), P, V, AT),
    "interp1d of rows": (lambda v, x: s.interp1d(P, v, axis=1, fill_value="extrapolate")(x), ROWS, BEYOND),
    "interp1d nearest": (lambda v: s.interp1d(P, v, "nearest")(AT), V),
    "interp1d previous": (lambda v: s.interp1d(P, v, "previous")(AT), V),
    "interp1d quadratic": (lambda p, v, x: s.interp1d(p, v, "quadratic")(x), P, V, AT),
    "interp1d cubic": (lambda v, x: s.interp1d(P, v, "cubic", bounds_error=False, fill_value=0.5)(x), V, BEYOND),
    "CubicSpline": (lambda p, v, x: s.CubicSpline(p, v)(x), P, V, BEYOND),
    "CubicSpline clamped": (lambda v, x: s.CubicSpline(P, v, 1, "clamped")(x), ROWS, AT),
    "CubicSpline natural": (lambda p, v, x: s.CubicSpline(p, v, bc_type=((1, 0.3), "natural"))(x, 1), P, V, AT),
    "CubicSpline periodic": (lambda v, x: s.CubicSpline(P, periodic(v), bc_type="periodic")(x), V, BEYOND),
    "CubicHermiteSpline": (lambda p, v, d, x: s.CubicHermiteSpline(p, v, d)(x), P, V, S, AT),
    "PchipInterpolator": (lambda p, v, x: s.PchipInterpolator(p, v)(x), P, V, AT),
    "Akima1DInterpolator": (lambda p, v, x: s.Akima1DInterpolator(p, v)(x), P, V, AT),
    "makima": (lambda p, v, x: s.Akima1DInterpolator(p, v, method="makima")(x), P, V, AT),
    "pchip_interpolate": (s.pchip_interpolate, P, V, AT),
    "derivative": (lambda v, x: cubic(v).derivative()(x), V, AT),
    "antiderivative": (lambda p, v, x: s.PchipInterpolator(p, v).antiderivative(2)(x), P, V, AT),
    "integrate": (lambda p, v, a, b: s.PchipInterpolator(p, v).integrate(a, b), P, V, LOW, HIGH),
    "roots": (lambda v: cubic(v).roots(extrapolate=False), V),
    "solve": (lambda c, y: s.PPoly(c, BREAKS).solve(y, extrapolate=False), PIECES, np.array(0.1)),
    "PPoly": (lambda c, b, x: s.PPoly(c, b)(x), PIECES, BREAKS, AT),
    "PPoly falling": (lambda c, b, x: s.PPoly(c, b, False)(x), PIECES, BREAKS[::-1].copy(), np.array([0.2, 2.7])),
    "PPoly periodic": (lambda c, b, x: s.PPoly(c, b, "periodic")(x), PIECES, BREAKS, BEYOND),
    "PPoly.from_spline": (lambda c, x: s.PPoly.from_spline((KNOTS, c, 3))(x), C, AT),
    "BPoly": (lambda c, b, x: s.BPoly(c, b)(x), PIECES, BREAKS, AT),
    "BPoly, second derivative": (lambda c, b, x: s.BPoly(c, b)(x, 2), PIECES, BREAKS, AT),
    "BPoly.from_derivatives": (lambda v, d, x: s.BPoly.from_derivatives(P, np.stack([v, d], 1))(x), V, S, AT),
    "BPoly.integrate": (lambda c, b: s.BPoly(c, b).integrate(0.2, 2.7), PIECES, BREAKS),
    "NdPPoly": (lambda c, x: s.NdPPoly(c, (BREAKS, BREAKS))(x), RNG.standard_normal((2, 3, 3, 3)), PAIRS),
    "make_interp_spline": (lambda p, v, x: s.make_interp_spline(p, v)(x), P, V, BEYOND),
    "make_interp_spline quintic": (lambda p, v, x: s.make_interp_spline(p, v, 5, axis=1)(x), P, ROWS, AT),
    "make_interp_spline natural": (lambda p, v, x: s.make_interp_spline(p, v, bc_type="natural")(x, 1), P, V, AT),
    "make_interp_spline linear": (lambda p, v, x: s.make_interp_spline(p, v, 1)(x), P, V, AT),
    "make_lsq_spline": (lambda v, t, w, x: s.make_lsq_spline(P, v, whole(t), 3, w)(x), V, INNER, S**2 + 1, AT),
    "make_smoothing_spline": (lambda v, x: s.make_smoothing_spline(P, v, lam=0.3)(x), V, AT),
    "BSpline": (lambda t, c, x: s.BSpline(t, c, 3)(x), KNOTS + 0.01 * np.arange(10), C, BEYOND),
    "BSpline, second derivative": (lambda c, x: spline(c)(x, 2), C, AT),
    "BSpline.derivative": (lambda c, x: spline(c).derivative()(x), C, AT),
    "BSpline.antiderivative": (lambda c, x: spline(c).antiderivative()(x), C, AT),
    "BSpline.integrate": (lambda c, a, b: spline(c).integrate(a, b), C, LOW, HIGH),
    "BSpline.integrate within": (lambda c, b: spline(c, False).integrate(0.4, b), C, HIGH),
    "BSpline periodic": (lambda c, x: spline(c, "periodic")(x), C, BEYOND),
    "NdBSpline": (lambda c, x: s.NdBSpline((KNOTS, KNOTS), c, 3)(x), RNG.standard_normal((6, 6)), PAIRS),
    "KroghInterpolator": (lambda p, v, x: s.KroghInterpolator(p, v)(x), P, V, AT),
    "KroghInterpolator.derivative": (lambda p, v, x: s.KroghInterpolator(p, v).derivative(x, 2), P, V, AT),
    "krogh_interpolate": (lambda v, x: s.krogh_interpolate(P, v, x), V, AT),
    "BarycentricInterpolator": (lambda v, x: s.BarycentricInterpolator(P, v)(x), V, AT),
    "barycentric_interpolate": (lambda v, x: s.barycentric_interpolate(P, v, x), V, AT),
    "lagrange": (lambda p, v, x: s.lagrange(p[:4], v[:4])(x), P, V, AT),
    "approximate_taylor_polynomial": (lambda x: s.approximate_taylor_polynomial(np.sin, x, 3, 0.5)(0.1), np.array(0.4)),
    "pade": (lambda c: s.pade(c, 2)[0](0.3), np.array([1, 1, 0.5, 1 / 6, 1 / 24])),
    "splev": (lambda c, x: s.splev(x, (KNOTS, c, 3)), C, AT),
    "splev beyond": (lambda c, x: s.splev(x, (KNOTS, c, 3), 1, 3), C, BEYOND),
    "splint": (lambda c, a, b: s.splint(a, b, (KNOTS, c, 3)), C, LOW, HIGH),
    "splder": (lambda c, x: s.splev(x, s.splder((KNOTS, c, 3))), PADDED, AT),
    "splantider": (lambda c, x: s.splev(x, s.splantider((KNOTS, c, 3))), PADDED, AT),
    "spalde": (lambda c: s.spalde(2.0, (KNOTS, c, 3)), C),
    "sproot": (lambda c: s.sproot((KNOTS, np.concatenate([c, np.zeros(4)]), 3)), WAVES),
    "insert": (lambda c, x: s.splev(x, s.insert(2.0, (KNOTS, c, 3))), PADDED, AT),
    "insert into one without zeros": (lambda c: s.insert(2.0, (KNOTS, c, 3), 2)[1], C),
    "splrep": (lambda p, v, x: s.splev(x, s.splrep(p, v)), P, V, AT),
    "splrep with knots": (lambda v, x: s.splev(x, s.splrep(P, v, t=[2.2])), V, AT),
    "InterpolatedUnivariateSpline": (lambda v, x: s.InterpolatedUnivariateSpline(P, v)(x), V, AT),
    "LSQUnivariateSpline": (lambda v, x: s.LSQUnivariateSpline(P, v, [2.2])(x), V, AT),
    "RectBivariateSpline": (lambda z, x: s.RectBivariateSpline(GX, GY, z)(x[:, 0], x[:, 1], grid=False), GRID, PAIRS),
    "RectBivariateSpline on a grid": (lambda z, x: s.RectBivariateSpline(GX, GY, z)(x, x), GRID, np.array([0.2, 0.6])),
    "RegularGridInterpolator": (lambda g, v, x: s.RegularGridInterpolator((g, GY), v)(x), GX, GRID, PAIRS),
    "RegularGridInterpolator of rows": (
        lambda v, x: s.RegularGridInterpolator(GRIDS, v)(x),
        RNG.standard_normal((5, 6, 2)),
        PAIRS,
    ),
    "interpn nearest": (lambda v: s.interpn(GRIDS, v, PAIRS, "nearest"), GRID),
    "interpn slinear": (lambda v, x: s.interpn(GRIDS, v, x, "slinear"), GRID, PAIRS),
    "interpn pchip": (lambda v, x: s.interpn(GRIDS, v, x, "pchip"), GRID, PAIRS),
    "interpn beyond": (lambda v, x: s.interpn(GRIDS, v, x, bounds_error=False, fill_value=None), GRID, PAIRS * 2),
    "interpn splinef2d": (lambda v, x: s.interpn(GRIDS, v, x, "splinef2d"), GRID, PAIRS),
    "RBFInterpolator": (lambda p, v, x: s.RBFInterpolator(p, v)(x), SPOTS, HEIGHTS, PAIRS),
    "RBFInterpolator gaussian": (
        lambda v, x, e: s.RBFInterpolator(SPOTS, v, kernel="gaussian", epsilon=e)(x),
        HEIGHTS,
        PAIRS,
        np.array(2.0),
    ),
    "RBFInterpolator smooth": (
        lambda v, x: s.RBFInterpolator(SPOTS, v, kernel="quintic", degree=2, smoothing=0.1)(x),
        HEIGHTS,
        PAIRS,
    ),
    "RBFInterpolator of neighbors": (lambda p, v, x: s.RBFInterpolator(p, v, 5)(x), SPOTS, HEIGHTS, PAIRS),
    "RBFInterpolator of neighbors, gaussian": (
        lambda v, e: s.RBFInterpolator(SPOTS, np.stack([v, v**2], 1), 5, 0.1, "gaussian", e)(PAIRS),
        HEIGHTS,
        np.array(2.0),
    ),
    "Rbf": (lambda v, x: s.Rbf(SPOTS[:, 0], SPOTS[:, 1], v)(x[:, 0], x[:, 1]), HEIGHTS, PAIRS),
    "LinearNDInterpolator": (lambda p, v, x: s.LinearNDInterpolator(p, v)(x), SPOTS, HEIGHTS, PAIRS),
    "griddata": (lambda v, x: s.griddata(SPOTS, v, x), HEIGHTS, PAIRS),
    "griddata nearest": (lambda v: s.griddata(SPOTS, v, PAIRS, "nearest"), HEIGHTS),
    "griddata of numbers": (lambda v, x: s.griddata(P, v, x), V, AT),
    "NearestNDInterpolator": (lambda v: s.NearestNDInterpolator(SPOTS, v)(PAIRS), HEIGHTS),
}
"""A call of each function or class, with arguments that it is differentiated in. The key says what it tries."""

SMOOTH = s.SmoothBivariateSpline(*RNG.uniform(0, 1, (2, 60)), RNG.standard_normal(60))
RECTANGLE, RADIAL = s.RectBivariateSpline(GX, GY, GRID), s.Rbf(SPOTS[:, 0], SPOTS[:, 1], HEIGHTS, function="gaussian")
OUTSIDE: dict[str, tuple[Callable[..., Any], Any]] = {
    "CubicSpline": (cubic(V), AT),
    "BSpline": (s.make_interp_spline(P, V), AT),
    "UnivariateSpline": (s.UnivariateSpline(P, V), AT),
    "RectBivariateSpline": (lambda x: RECTANGLE.ev(x[:, 0], x[:, 1], 1), PAIRS),
    "SmoothBivariateSpline": (lambda x: SMOOTH(x[:, 0], x[:, 1], grid=False), PAIRS),
    "RegularGridInterpolator": (s.RegularGridInterpolator(GRIDS, GRID), PAIRS),
    "RegularGridInterpolator cubic": (s.RegularGridInterpolator(GRIDS, GRID, method="cubic"), PAIRS),
    "RBFInterpolator": (s.RBFInterpolator(SPOTS, HEIGHTS), PAIRS),
    "Rbf": (lambda x: RADIAL(x[:, 0], x[:, 1]), PAIRS),
    "LinearNDInterpolator": (s.LinearNDInterpolator(SPOTS, HEIGHTS), PAIRS),
    "LinearNDInterpolator in units of its own": (s.LinearNDInterpolator(SPOTS, HEIGHTS, rescale=True), PAIRS),
    "KroghInterpolator": (s.KroghInterpolator(P, V), AT),
    "BarycentricInterpolator": (s.BarycentricInterpolator(P, V), AT),
    "PchipInterpolator": (s.PchipInterpolator(P, V), AT),
    "Akima1DInterpolator": (s.Akima1DInterpolator(P, V), AT),
    "interp1d": (s.interp1d(P, V, "cubic"), AT),
    "NdBSpline": (s.NdBSpline((KNOTS, KNOTS), RNG.standard_normal((6, 6)), 3), PAIRS),
    "integral": (lambda x: s.CubicSpline(P, V).integrate(0.2, x), HIGH),
}
"""Objects that are made outside of the traced function, and where they are asked."""
if hasattr(s, "AAA"):  # since SciPy 1.15
    OUTSIDE["AAA"] = (s.AAA(np.linspace(0, 6, 30), np.sin(np.linspace(0, 6, 30))), AT)
FUNCTIONS |= {f"{name} made outside": case for name, case in OUTSIDE.items()}


@pytest.mark.sampled(73, "the same for many functions")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_derivatives(name: str) -> None:
    f, *args = FUNCTIONS[name]
    check(f, *args, rtol=1e-6)


WIDE = SPOTS * np.array([1.0, 7.0]) + 3.0  # of one unit in each direction, and of two
TWO = np.stack([HEIGHTS, HEIGHTS**2], 1)
SCATTERED: dict[str, Any] = {
    "linear": s.LinearNDInterpolator(SPOTS, HEIGHTS),
    "linear, rows": s.LinearNDInterpolator(SPOTS, TWO, fill_value=3.0, rescale=True),
    "linear, triangles": s.LinearNDInterpolator(spatial.Delaunay(SPOTS), TWO),
    "nearest": s.NearestNDInterpolator(SPOTS, HEIGHTS),
    "nearest, rows": s.NearestNDInterpolator(SPOTS, TWO.astype(np.float32), rescale=True),
    "nearest, integers": s.NearestNDInterpolator(SPOTS, np.arange(10)),
    "grid": s.RegularGridInterpolator(GRIDS, GRID),
    "grid, cubic": s.RegularGridInterpolator(GRIDS, GRID, method="cubic"),
}
PLACES: list[Callable[[Any, Any], Any]] = [
    lambda f, p: f(p),
    lambda f, p: f((p[0], p[1])),
    lambda f, p: f([p[0], p[1]]),
    lambda f, p: f([[p[0], p[1]], [0.2, 0.3]]),
    lambda f, p: f((p[:, None], p)),
    lambda f, p: f((p[0], 0.5)),
    lambda f, p: f(np.stack([p, p[::-1]])[None]),
]
CURVED: dict[str, Any] = {
    "rectangle": RECTANGLE,
    "smooth": SMOOTH,
    "its derivative": RECTANGLE.partial_derivative(1, 0),
}
CORNERS: list[Callable[[Any, Any], Any]] = [
    lambda f, p: f(p[0], p[1]),
    lambda f, p: f(p[0], p[1], dx=1),
    lambda f, p: f(p[0], 0.3, dy=1),
    lambda f, p: f(p[0], p[1], grid=False),
    lambda f, p: f(p[None], p[1:], dx=1),
    lambda f, p: f(p[:, None], p, grid=False),
    lambda f, p: f(p[0], p, grid=False),
]


@OF_COMPILED
@pytest.mark.sampled(5, "the same for many objects")
@pytest.mark.parametrize("name", [*SCATTERED, *CURVED])
def test_objects_made_outside_answer_numbers_and_arrays_in_scipys_shapes(name: str) -> None:
    made, forms = (SCATTERED[name], PLACES) if name in SCATTERED else (CURVED[name], CORNERS)
    point = np.array([0.3, 0.42])
    answers = lambda p: [form(made, p) for form in forms]
    joined = lambda p: np.concatenate([np.ravel(x) for x in answers(p)])
    for actual, expected in zip(
        wg.vjp(lambda p: (p, answers(p)), point, has_aux=True)[-1], answers(point), strict=True
    ):
        same(actual, expected, rtol=1e-9)
    same(wg.jit(joined)(point), joined(point), rtol=1e-9)
    check_derivative(joined, point, rtol=1e-6)


@OF_COMPILED
def test_scattered_points_of_other_units() -> None:
    """SciPy's own triangles, and its own nearest points, for objects made of constants and of traced values."""
    at = np.array([[3.2, 4.5], [3.4, 9.0], [9.0, 9.0]])
    for rescale in (False, True):
        for make in (s.LinearNDInterpolator, s.NearestNDInterpolator):
            inside = lambda v, x, make=make, rescale=rescale: make(WIDE, v, rescale=rescale)(x)
            outside = make(WIDE, HEIGHTS, rescale=rescale)
            same(wg.vjp(inside, HEIGHTS, at)[0], outside(at), rtol=1e-9)
            same(wg.vjp(outside, at)[0], outside(at), rtol=1e-9)
    nearest = s.NearestNDInterpolator(SPOTS, HEIGHTS)
    same(wg.vjp(lambda x: nearest(x, distance_upper_bound=0.1), PAIRS)[0], nearest(PAIRS, distance_upper_bound=0.1))
    pair = lambda v, x: s.LinearNDInterpolator((SPOTS[:, 0], SPOTS[:, 1]), v)(x[0, 0], x[:, 1])
    same(wg.vjp(pair, HEIGHTS, PAIRS)[0], pair(HEIGHTS, PAIRS), rtol=1e-9)
    with pytest.raises(ValueError, match="at least 2-D"):
        wg.vjp(lambda v: s.NearestNDInterpolator(P, v)(AT), V)
    for call in (
        lambda x: nearest(x, distance_upper_bound=x[0, 0]),
        lambda x: s.NearestNDInterpolator(x, HEIGHTS[:4], tree_options={"boxsize": 2.0})(x),
    ):
        with pytest.raises(UnsupportedFunctionError, match="NearestNDInterpolator"):
            wg.vjp(call, PAIRS)


@pytest.mark.needs_extension("a function of f2py's is called as it is")
def test_a_grid_is_asked_along_vectors() -> None:
    for call in (lambda x: RECTANGLE(x, 0.3), lambda x: RECTANGLE(0.3, x, dy=1)):
        for f in (call, lambda x, call=call: wg.vjp(call, x)):
            with pytest.raises(ValueError):  # whose words are f2py's
                f(np.array([[0.1, 0.2], [0.3, 0.4]]))


@pytest.mark.deep("more than a second")
def test_derivatives_of_second_order_and_batches() -> None:
    points = np.array([0.3, 2.2])
    wg.check_derivatives(lambda v, x: s.PchipInterpolator(P, v)(x), V, points, order=2)
    wg.check_derivatives(lambda c, x: s.BSpline(KNOTS, c, 3)(x), C, points, order=2)
    wg.check_derivatives(lambda v, x: s.RegularGridInterpolator(GRIDS, v)(x), GRID, PAIRS[:2], order=2)
    many = np.stack([AT, AT + 0.1])
    for made in (s.CubicSpline(P, V), s.BSpline(KNOTS, C, 3), s.UnivariateSpline(P, V)):
        same(wg.vmap(made)(many), made(many))


def test_values_are_scipys_to_the_last_bit() -> None:
    for made in (s.CubicSpline(P, V), s.make_interp_spline(P, V), s.RegularGridInterpolator(GRIDS, GRID)):
        at = PAIRS if isinstance(made, s.RegularGridInterpolator) else AT
        np.testing.assert_array_max_ulp(wg.vjp(made, at)[0], made(at), 2)


def test_a_cubic_by_hand() -> None:
    """The spline through x³ at four points is x³: its value at 2.5, and its slope 3 x²."""
    f = lambda x: s.CubicSpline(np.arange(4.0), np.arange(4.0) ** 3)(x)
    value, slope = wg.value_and_grad(f)(2.5)
    assert (value, slope) == (pytest.approx(15.625), pytest.approx(18.75))


def test_outside_of_the_points_values_are_nan_with_derivative_zero() -> None:
    f = s.Akima1DInterpolator(P, V)
    y, pullback = wg.vjp(f, np.array([-1.0, 1.0]))
    assert np.isnan(y).tolist() == [True, False]
    assert pullback(np.ones(2))[0][0] == 0.0


def test_a_root_at_a_jump_moves_with_its_breakpoint() -> None:
    c = np.array([[0.0, 0.0], [-1.0, 1.0]])
    roots = lambda b: s.PPoly(c, b).roots(extrapolate=False)
    assert wg.jacobian(roots)(np.array([0.0, 1.0, 2.0])).tolist() == [[0.0, 1.0, 0.0]]


@OF_COMPILED
def test_what_is_chosen_by_the_values_is_refused() -> None:
    for call in (
        lambda v: s.UnivariateSpline(P, v)(AT),
        lambda v: s.splrep(P, v, s=1.0)[1],
        lambda v: s.make_smoothing_spline(P, v)(AT),
        lambda v: s.CloughTocher2DInterpolator(SPOTS[:7], v)(PAIRS),
    ):
        with pytest.raises(UnsupportedFunctionError):
            wg.vjp(call, V)


def test_orders_of_derivatives_below_zero_are_refused_as_scipy_refuses_them() -> None:
    flat = s.BSpline(KNOTS, C, 3)
    with pytest.raises(NotImplementedError, match="nu= -1"):
        wg.vjp(lambda x: flat(x, -1), AT)
    tensor = s.NdBSpline((KNOTS, KNOTS), np.outer(C, C), 3)
    with pytest.raises(ValueError, match="derivatives must be positive"):
        wg.vjp(lambda x: tensor(x, nu=(-1, 0)), PAIRS)


def test_interpolators_made_outside_are_mapped_over_examples() -> None:
    """SciPy looks at the bounds, which nobody can in a batch: a point outside of them gives NaN there."""
    grid = s.RegularGridInterpolator((GX, GY), GRID)
    line = s.interp1d(P, V)
    inner, points = np.linspace(P[0], P[-1], 4)[1:-1], PAIRS
    for f, xs in ((lambda p: grid(p[None])[0], points), (lambda t: line(t), inner)):
        found = wg.vmap(wg.value_and_grad(lambda x, f=f: np.sum(f(x))))(xs)
        each = [wg.value_and_grad(lambda x, f=f: np.sum(f(x)))(x) for x in xs]
        np.testing.assert_allclose(found[0], [value for value, _ in each], rtol=1e-14)
        np.testing.assert_allclose(found[1], [slope for _, slope in each], rtol=1e-12)
    assert np.isnan(wg.vmap(lambda p: grid(p[None])[0])(points + 9.0)).all()
    assert np.isnan(wg.vmap(lambda t: line(t))(inner + 99.0)).all()
    with pytest.raises(ValueError, match="out of bounds in dimension 0"):
        wg.grad(lambda p: grid(p)[0])(points[0] + 9.0)
    with pytest.raises(ValueError, match="above the interpolation range"):
        wg.grad(lambda t: line(t)[()])(99.0)
