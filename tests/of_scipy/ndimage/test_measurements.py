"""Statistics of labelled elements, and tables without a derivative: against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import wengert as wg
from tests.differences import check, check_value
from wengert.errors import UnsupportedFunctionError

X = np.random.default_rng(0).standard_normal((5, 6))
LABELS = np.random.default_rng(1).integers(0, 4, (5, 6))
INDEX = np.array([[1, 3], [2, 9]])


@pytest.mark.parametrize(
    "name", ["sum_labels", "sum", "mean", "variance", "standard_deviation", "minimum", "maximum", "median"]
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_statistics(name: str) -> None:
    f = getattr(ndimage, name)
    index = INDEX[:, 0] if name != "median" else INDEX[0]
    check(lambda x: f(x) + f(x, LABELS) * f(x, LABELS, 2), X)
    check(lambda x: f(x, LABELS, index), X)
    if name in ("sum_labels", "minimum", "maximum"):
        check_value(lambda x: f(x, LABELS, INDEX), X)
    check_value(lambda x: f(x, LABELS, index), np.arange(30).reshape(5, 6))


def test_places_and_centers() -> None:
    check(lambda x: np.stack(ndimage.center_of_mass(x)), X)
    check(lambda x: np.array(ndimage.center_of_mass(x, LABELS, [1, 2])), X)

    def places(x: Any) -> Any:
        low, high, at, top = ndimage.extrema(x, LABELS, [1, 2])
        more = ndimage.minimum_position(x), ndimage.maximum_position(x, LABELS)
        return np.concatenate([low, high, np.ravel(at), np.ravel(top), np.ravel(more)])

    check_value(places, X)


def test_a_function_of_each_label() -> None:
    check(lambda x: ndimage.labeled_comprehension(x, LABELS, [1, 2, 9], np.prod, float, 0.5), X)
    check(lambda x: ndimage.labeled_comprehension(x, LABELS, 2, lambda v, at: v @ at, float, 0, True), X)
    check(lambda x: ndimage.labeled_comprehension(x, None, None, np.sum, float, 0), X)


def test_what_has_no_derivative_is_constant() -> None:
    def f(x: Any) -> Any:
        labels, count = ndimage.label(x > 0)
        inside = ndimage.binary_erosion(ndimage.binary_fill_holes(x > -0.5), iterations=1)
        near = sum([np.asarray(d(x > 0)) for d in (ndimage.distance_transform_edt, ndimage.distance_transform_cdt)])
        where = ndimage.find_objects(labels)[0]
        counts = ndimage.histogram(x, -2, 2, 4)
        return x * labels * count + x * inside + near * x + np.sum(x[where]) + np.sum(counts)

    check(f, X)
    assert wg.jit(lambda x: ndimage.label(x)[1])(np.array([0.0, 1.0, 0.0, 2.0])) == 2


def test_labels_are_guarded() -> None:
    f = wg.jit(lambda x, labels: ndimage.sum_labels(x, labels, [1, 2]))
    np.testing.assert_allclose(f(X, LABELS), ndimage.sum_labels(X, LABELS, [1, 2]))
    other = LABELS[::-1].copy()
    np.testing.assert_allclose(f(X, other), ndimage.sum_labels(X, other, [1, 2]))


def test_an_option_with_a_derivative_is_refused() -> None:
    with pytest.raises(UnsupportedFunctionError, match="an option is traced"):
        wg.grad(lambda s: np.sum(ndimage.distance_transform_edt(X > 0, sampling=s)))(1.5)


def test_arrays_made_inside_of_the_function_are_constants() -> None:
    """The answer called itself until the stack was full."""

    def f(x: Any) -> Any:
        mask = np.zeros(5)
        mask[[0, 1, 3]] = 1
        labels, count = ndimage.label(mask)
        seeds = ndimage.watershed_ift(np.ones(5, np.uint8), np.ones(5, int))
        return np.sum(x * labels) * count + np.sum(x * seeds)

    x = np.arange(5.0)
    for gradient in (wg.grad(f), wg.jit(wg.grad(f))):
        assert gradient(x).tolist() == [3.0, 3.0, 1.0, 5.0, 1.0]
