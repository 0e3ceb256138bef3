"""Splines through images: against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import wengert as wg
from tests.differences import check, check_value, same

RNG = np.random.default_rng(0)
X = RNG.standard_normal((7, 6))
FAR = RNG.uniform(-9, 14, (2, 30))
MODES = ["constant", "reflect", "nearest", "mirror", "wrap", "grid-wrap", "grid-constant", "grid-mirror"]


@pytest.mark.sampled(7, "each mode is compared in each order")
@pytest.mark.parametrize("mode", MODES)
def test_values_of_each_order_in_each_mode(mode: str) -> None:
    orders = range(6)

    def all_at_once(x: Any, far: Any) -> Any:
        found = []
        for order in orders:
            options = {"order": order, "mode": mode, "cval": 0.7}
            found.append(ndimage.map_coordinates(x, far, **options))
            found.append(ndimage.shift(x, (1.3, -2.6), **options).ravel())
            found.append(ndimage.zoom(x, (1.3, 0.6), **options).ravel())
        return np.concatenate(found)

    check_value(all_at_once, X, FAR)


@pytest.mark.sampled(3, "each order is compared with differences")
@pytest.mark.parametrize("order", range(1, 6))
def test_derivatives_of_each_order(order: int) -> None:
    mode = MODES[order]
    far = FAR[:, :4] if order > 1 else np.array([[0.3, 2.2], [4.1, 1.7]])
    options: dict[str, Any] = {"order": order, "mode": mode, "cval": 0.7}
    check(lambda x, far: ndimage.map_coordinates(x, far, **options), X, far, rtol=1e-6)
    check(lambda x, by: ndimage.shift(x, by, **options), X, np.array([1.3, -2.6]), rtol=1e-6)


def test_a_rotation_and_a_map() -> None:
    check(lambda x, a: ndimage.rotate(x, a, mode="mirror", order=2), X[:3, :3], np.array(25.0), rtol=1e-6)
    check_value(lambda x, m: ndimage.affine_transform(x, m, 0.25), X, np.array([[0.9, 0.2], [-0.1, 1.1]]))


@pytest.mark.deep("each transform is compared with differences; those of one order are quick")
def test_the_other_transforms() -> None:
    m, away = np.array([[0.9, 0.2], [-0.1, 1.1]]), np.array([0.3, -0.4])
    check(lambda x, m, away: ndimage.affine_transform(x, m, away, mode="mirror"), X, m, away, rtol=1e-6)
    check(
        lambda x, m: ndimage.affine_transform(x, m, 0.25, order=2, mode="nearest"), X, np.array([0.9, 1.2]), rtol=1e-6
    )
    check(lambda x, m: ndimage.affine_transform(x, m, mode="mirror"), X, np.c_[m, away], rtol=1e-6)
    check(lambda x, a: ndimage.rotate(x, a, reshape=False, mode="wrap"), X, np.array(25.0), rtol=1e-6)
    check_value(lambda x: ndimage.rotate(x, 25.0), X)
    check_value(lambda x: ndimage.rotate(x, 25.0, axes=(0, 2), mode="reflect"), RNG.standard_normal((4, 2, 5)))
    check(lambda x: ndimage.zoom(x, 1.5, mode="grid-wrap", grid_mode=True), X)
    bend = lambda at, by: (at[0] - 0.3 * by, at[1] + 0.01 * at[0])
    check(
        lambda x, by: ndimage.geometric_transform(x, bend, mode="mirror", extra_arguments=(by,)),
        X,
        np.array(0.9),
        rtol=1e-6,
    )
    halves = lambda at: (at[0] / 2, at[1]) if at[0] < 3 else (at[0] - 0.5, at[1])
    check(lambda x: ndimage.geometric_transform(x, halves), X)


@pytest.mark.deep("derivatives of order two")
def test_dtypes_batches_and_order_two() -> None:
    check_value(lambda x: ndimage.map_coordinates(x, FAR[:, :5], mode="wrap"), (100 * X).astype(np.int32))
    check_value(lambda x: ndimage.shift(x, 0.3), X.astype(np.float32))
    check(lambda z: ndimage.shift(z, 0.3, mode="mirror") + ndimage.spline_filter(z, output=complex), X + 1j * X[::-1])
    same(wg.vmap(lambda x: ndimage.shift(x, 0.3))(X), np.stack([ndimage.shift(x, 0.3) for x in X]), rtol=1e-12)
    wg.check_derivatives(lambda at: ndimage.map_coordinates(X, at, mode="mirror", order=5), FAR[:, :2] % 5, order=2)

    def into_output(x: Any) -> Any:
        out = np.empty((7, 6))
        ndimage.rotate(x, 20.0, reshape=False, output=out)
        return out

    check(into_output, X)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ndimage.map_coordinates(x, FAR[:1]),
        lambda x: ndimage.map_coordinates(x, FAR, order=7),
        lambda x: ndimage.shift(x, 0.5, mode="unknown"),
        lambda x: ndimage.spline_filter(x, 1),
        lambda x: ndimage.affine_transform(x, np.eye(3)[:, :2]),
        lambda x: ndimage.rotate(x[0], 3.0),
        lambda x: ndimage.rotate(x, 3.0, axes=(0, 5)),
    ],
)
def test_errors_are_scipys(call: Any) -> None:
    with pytest.raises((RuntimeError, ValueError)) as expected:
        call(X)
    with pytest.raises(expected.type) as found:
        wg.jit(call)(X)
    assert str(found.value)[:16] == str(expected.value)[:16]


def test_a_linear_interpolation_by_hand() -> None:
    at = wg.grad(lambda t: ndimage.map_coordinates(np.array([1.0, 3.0, 7.0]), [[t]], order=1)[0])(1.25)
    assert at == 4.0


def test_an_affine_transformation_into_a_dtype() -> None:
    for matrix in (np.eye(2), np.ones(2)):
        f = lambda x, m=matrix: ndimage.affine_transform(x, m, output=np.float32)
        got, expected = wg.jit(f)(np.ones((2, 3))), f(np.ones((2, 3)))
        np.testing.assert_array_equal(got, expected)
        assert got.dtype == expected.dtype
