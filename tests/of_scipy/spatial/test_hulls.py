"""Hulls, triangulations and diagrams of traced points; shapes and great circles: against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import spatial

import wengert as wg
from tests.differences import check, check_value
from tests.of_scipy.checking import OF_COMPILED
from wengert.errors import UnsupportedFunctionError

RNG = np.random.default_rng(0)
P = RNG.uniform(size=(8, 2))


@OF_COMPILED
@pytest.mark.sampled(2, "each dimension is one formula")
@pytest.mark.parametrize("d", [2, 3, 4])
def test_measures_of_a_hull(d: int) -> None:
    def measured(p: Any) -> Any:
        hull = spatial.ConvexHull(p)
        return np.concatenate([[hull.volume, hull.area], np.ravel(hull.equations)])

    check(measured, np.random.default_rng(d).standard_normal((d + 4, d)), rtol=1e-6)


@OF_COMPILED
def test_triangulations() -> None:
    check(lambda p: spatial.Delaunay(p).transform, P[:5], rtol=1e-5)
    x, made = RNG.uniform(size=(4, 2)), spatial.Delaunay(P)
    check_value(lambda p: spatial.Delaunay(p).find_simplex(x), P)
    check(lambda x: made.find_simplex(x) * x[:, 0], x)

    def interpolated(p: Any, values: Any) -> Any:
        made = spatial.Delaunay(p)
        k = made.find_simplex(np.array([0.5, 0.5]))
        t = made.transform[k]
        c = t[:2] @ (np.array([0.5, 0.5]) - t[2])
        return np.sum(np.append(c, 1 - np.sum(c)) * values[made.simplices[int(k)]])

    check(interpolated, P, np.arange(8.0) ** 2, rtol=1e-6)


@OF_COMPILED
@pytest.mark.parametrize("d", [2, 3])
def test_diagrams(d: int) -> None:
    p = RNG.uniform(size=(d + 5, d))
    check_value(lambda p: spatial.Voronoi(p).vertices, p)
    made, expected = [], spatial.Voronoi(p)
    wg.jvp(lambda p: made.append(spatial.Voronoi(p)) or p[0, 0], (p,), (p,))
    assert made[0].regions == expected.regions
    assert made[0].ridge_vertices == expected.ridge_vertices
    assert made[0].ridge_dict == expected.ridge_dict


@OF_COMPILED
def test_vertices_of_a_diagram_have_derivatives() -> None:
    check(
        lambda p: spatial.Voronoi(p).vertices,
        np.array([[0.0, 0.1], [1, 0], [0.2, 1], [1.1, 1.3], [0.5, 0.6]]),
        rtol=1e-6,
    )


@OF_COMPILED
def test_tables_are_guarded() -> None:
    f = wg.jit(lambda p: spatial.ConvexHull(p).volume)
    for _ in range(4):
        p = RNG.uniform(size=(7, 2))
        np.testing.assert_allclose(f(p), spatial.ConvexHull(p).volume, rtol=1e-12)


def test_shapes_and_great_circles() -> None:
    check(lambda a, b: spatial.procrustes(a, b)[1] + spatial.procrustes(a, b)[2], P, P[::-1] + 0.1 * P**2)
    u, v = [x / np.linalg.norm(x) for x in RNG.standard_normal((2, 3))]
    check(lambda t: spatial.geometric_slerp(u, v, t), np.array([0.2, 0.7]))
    unit = lambda x: x / np.linalg.norm(x)
    check(lambda a, b: spatial.geometric_slerp(unit(a), unit(b), 0.3), 2 * u, 3 * v)


@OF_COMPILED
def test_what_is_refused_says_so() -> None:
    for f in (spatial.SphericalVoronoi, lambda p: spatial.HalfspaceIntersection(p, np.zeros(1)),
              lambda p: spatial.ConvexHull(p, incremental=True)):  # fmt: skip
        with pytest.raises(UnsupportedFunctionError):
            wg.grad(lambda p, f=f: f(p) and 0.0)(P)
    with pytest.raises(ValueError, match="unit n-sphere"):
        wg.jit(lambda t: spatial.geometric_slerp(t, t + 1, 0.5))(np.ones(3))


@OF_COMPILED
def test_an_area_by_hand() -> None:
    """The area of a triangle changes with a corner by half the length of the edge before it."""
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(wg.grad(lambda p: spatial.ConvexHull(p).volume)(corners)[2], [0, 1], atol=1e-15)
