"""Functions that write into arrays: each has NumPy's value, the derivative that differences say, and leaves its
arguments alone. A case is a function of one array x of six positive numbers and a matrix m of shape (3, 2)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient

CASES: dict[str, Callable[[Any, Any], Any]] = {}


def case(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    CASES[f.__name__] = f
    return f


@case
def a_recurrence_written_element_by_element(x: Any, m: Any) -> Any:
    a = np.zeros(6)
    a[0] = x[0]
    for i in range(1, 6):
        a[i] = np.sin(a[i - 1]) * x[i] + a[i - 1]
    return np.sum(a**2)


@case
def a_slice_assigned(x: Any, m: Any) -> Any:
    a = np.ones(6)
    a[1:4] = x[:3] ** 2
    a[::2] = x[1::2]
    return np.sum(a * x)


@case
def a_slice_assigned_from_itself_overlapping(x: Any, m: Any) -> Any:
    a = x * 1.0
    a[1:] = a[:-1]  # NumPy copies first where memory overlaps
    a[:3] = a[2::-1]
    return np.sum(a * np.arange(6.0))


@case
def plus_equals_on_a_slice(x: Any, m: Any) -> Any:
    a = np.zeros(6)
    a += x
    a[2:5] += x[:3] * a[:3]
    a[1:-1] *= 2.0
    a[0] -= x[5]
    a[-1] /= x[1]
    a[::3] **= 2
    return np.sum(a**2)


@case
def a_view_written_through(x: Any, m: Any) -> Any:
    a = np.zeros((2, 3))
    row = a[1]
    row[:] = x[:3]
    row[0] *= x[4]
    return np.sum(a**2) + a[1, 0]


@case
def a_base_written_under_a_view(x: Any, m: Any) -> Any:
    a = x * 1.0
    view = a[1:4]
    before = view * 1.0
    a[2] = x[0] ** 2
    return np.sum(view * before)


@case
def a_view_of_a_view_of_a_transpose(x: Any, m: Any) -> Any:
    a = m * 1.0
    t = a.T
    corner = t[1:, :2][0]
    corner[1] = x[0] * x[1]
    t[0] += corner[0]
    return np.sum(a**2) + np.sum(t[1])


@case
def two_views_that_overlap(x: Any, m: Any) -> Any:
    a = np.zeros(6)
    left, right = a[:4], a[2:]
    left[:] = x[:4]
    right *= x[2:]
    left += 1.0
    return np.sum(left * right) + a[3]


@case
def a_reshaped_view(x: Any, m: Any) -> Any:
    a = x * 1.0
    grid = a.reshape(2, 3)
    grid[:, 1] = x[:2] ** 2
    flat = grid.ravel()
    flat[0] = x[5]
    return np.sum(a**3)


@case
def a_ravel_that_copies(x: Any, m: Any) -> Any:
    a = m * 1.0
    flat = a.T.ravel()  # not contiguous: a copy
    flat[0] = 100.0 * x[0]
    return np.sum(a**2) + np.sum(flat)


@case
def a_copy_stays_behind(x: Any, m: Any) -> Any:
    a = x * 1.0
    b = a.copy()
    c = a
    a[0] = x[1] ** 2
    c[1] = x[2] ** 2
    return np.sum(a * b) + b[0]


@case
def out_of_a_ufunc(x: Any, m: Any) -> Any:
    a = np.empty(6)
    np.sin(x, out=a)
    np.multiply(a, x, out=a)
    np.add(a[:3], a[3:], out=a[:3])
    return np.sum(a**2)


@case
def out_of_functions(x: Any, m: Any) -> Any:
    a, b = np.empty(3), np.empty(6)
    np.dot(m, x[:2], out=a)
    np.cumsum(x, out=b)
    np.clip(b, 1.05, 3.05, out=b)
    return np.sum(a**2) + np.sum(b)


@case
def add_at(x: Any, m: Any) -> Any:
    a = np.zeros(4)
    np.add.at(a, [0, 1, 1, 3], x[:4])
    np.add.at(a, np.array([3, 3]), x[4:] ** 2)
    return np.sum(a**2)


@case
def indices_repeated_in_a_fancy_assignment(x: Any, m: Any) -> Any:
    a = np.zeros(4)
    a[[0, 2, 2]] = x[:3]  # the last one stays
    a[[1, 1]] += x[4:]  # buffered: one of them counts
    return np.sum(a**2)


@case
def a_mask_assigned(x: Any, m: Any) -> Any:
    a = x * 1.0
    a[a > 1.0] = 0.5
    a[np.array([True, False, False, True, False, False])] = x[:2] ** 2
    a[a < 0.6] *= 3.0
    return np.sum(a**2)


@case
def several_axes_and_ellipses(x: Any, m: Any) -> Any:
    a = np.zeros((2, 3, 2))
    a[0, ..., 1] = x[:3]
    a[1] = m
    a[:, [0, 2], 0] = x[:4].reshape(2, 2)
    a[..., None][0, 1, 0] = x[5]
    return np.sum(a**2)


@case
def a_matrix_filled_by_two_loops(x: Any, m: Any) -> Any:
    a = np.zeros((3, 3))
    for i in range(3):
        for j in range(i + 1):
            a[i, j] = x[i] * x[j + 3]
            a[j, i] = a[i, j]
    return np.sum(a @ a)


@case
def rows_swapped(x: Any, m: Any) -> Any:
    a = m * 1.0
    a[[0, 2]] = a[[2, 0]]
    a[0], a[1] = a[1].copy(), a[0].copy()
    return np.sum(a[0] * x[:2]) + np.sum(a[2] ** 2)


@case
def elements_swapped_by_tuple(x: Any, m: Any) -> Any:
    a = x * 1.0
    a[0], a[5] = a[5], a[0]
    a[1], a[2], a[3] = a[3], a[1], a[2]
    return np.sum(a * np.arange(6.0) ** 2)


@case
def rows_swapped_without_copies(x: Any, m: Any) -> Any:
    a = m * 1.0
    a[0], a[1] = a[1], a[0]  # views: both rows become the old second one
    return np.sum(a * m)


@case
def gaussian_elimination(x: Any, m: Any) -> Any:
    a = np.diag(x[:3]) + np.outer(x[3:], x[:3])
    for k in range(2):
        for i in range(k + 1, 3):
            a[i] -= a[k] * (a[i, k] / a[k, k])
    return np.log(a[0, 0]) + np.log(a[1, 1]) + np.log(a[2, 2])


@case
def a_helper_that_writes_its_argument(x: Any, m: Any) -> Any:
    def accumulate(target: Any, value: Any) -> None:
        target += value
        target[0] = 0.0

    a = np.zeros(6)
    accumulate(a, x)
    accumulate(a[2:], x[:4] ** 2)
    return np.sum(a**2)


@case
def the_argument_itself_written(x: Any, m: Any) -> Any:
    x[0] = x[1] * 2
    x *= 3.0
    m[1] = x[:2]
    return np.sum(x**2) + np.sum(m**2)


@case
def fill_and_put_and_copyto(x: Any, m: Any) -> Any:
    a = np.empty(6)
    a.fill(x[0])
    np.copyto(a[2:4], x[2:4] ** 2)
    np.put(a, [0, 5], x[:2])
    a[...] = a * 2
    return np.sum(a**2)


@case
def a_scalar_loop_carried(x: Any, m: Any) -> Any:
    s = x[0]
    t = s
    for k in range(1, 6):
        s += x[k] * t  # s is a number: t keeps the old one
        t = s * 0.5
    return s * t


@case
def a_list_of_arrays(x: Any, m: Any) -> Any:
    rows = [x[:2] * 1.0, x[2:4] * 1.0]
    rows.append(rows[0])
    rows[2] += x[4:]
    rows[1][0] = rows[0][1]
    return np.sum(np.stack(rows) ** 2)


@case
def a_dtype_of_its_own(x: Any, m: Any) -> Any:
    a = np.zeros(6, dtype=np.float32)
    a[:3] = [1.0, 2.0, 3.0]
    b = a.astype(np.float64)
    b += x
    return np.sum(b**2)


@case
def negative_steps_and_ends(x: Any, m: Any) -> Any:
    a = x * 1.0
    a[::-2] = x[:3]
    a[-2:] += a[:-4:-2]
    back = a[::-1]
    back[1:3] = x[4:]
    return np.sum(a * np.arange(1.0, 7.0))


@case
def a_broadcast_assignment(x: Any, m: Any) -> Any:
    a = np.zeros((2, 3, 2))
    a[:] = m
    a[1, :, :] += x[:2]
    a[0, 1] = x[3]
    return np.sum(a**2)


@case
def diagonals(x: Any, m: Any) -> Any:
    a = np.zeros((3, 3))
    a[np.arange(3), np.arange(3)] = x[:3]
    np.fill_diagonal(a[1:, :2], x[3] ** 2)
    a[np.tril_indices(3, -1)] += x[3:]
    return np.sum(a**2)


@case
def swapped_and_squeezed_axes(x: Any, m: Any) -> Any:
    a = np.zeros((1, 2, 3))
    a.squeeze()[:] = x.reshape(2, 3)
    a.swapaxes(1, 2)[0, 2] *= x[:2]
    np.expand_dims(a, 0)[0, 0, 0, 0] = x[5] ** 2
    np.moveaxis(a, 2, 0)[1, 0] += 1.0
    return np.sum(a**3)


@case
def split_parts_are_views(x: Any, m: Any) -> Any:
    a = x * 1.0
    first, second, third = np.split(a, 3)
    second[:] = first * third
    third += 1.0
    return np.sum(a**2)


@case
def written_under_a_branch(x: Any, m: Any) -> Any:
    a = x * 1.0
    for k in range(6):
        if a[k] > 1.0:
            a[k] = 2 - a[k]
        else:
            a[k:] *= 1.1
    return np.sum(a**2)


@case
def a_sort_by_hand(x: Any, m: Any) -> Any:
    a = x * 1.0
    for i in range(6):
        for j in range(5 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return np.sum(a * np.arange(6.0))


POINTS = [
    (np.array([0.9, 1.7, 0.4, 1.2, 0.7, 1.5]), np.array([[1.0, 0.5], [0.25, 2.0], [1.5, 0.75]])),
    (np.array([1.3, 0.2, 1.9, 0.8, 1.6, 0.5]), np.array([[0.3, 1.1], [1.4, 0.6], [0.2, 0.9]])),
]


def test_the_table_has_thirty_cases_or_more() -> None:
    assert len(CASES) >= 30


def fresh(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``f`` on copies of its arguments, for plain NumPy runs of functions that write them."""
    return lambda x, m: f(np.array(x), np.array(m))


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("name", CASES)
def test_writes_are_what_numpy_makes_of_them(name: str) -> None:
    """Value, gradient in x and in m, forward mode, jit on two paths, and the caller's arrays as they were."""
    f = CASES[name]
    jitted = wg.jit(wg.value_and_grad(f, (0, 1)))
    for x, m in POINTS:
        kept = x.copy(), m.copy()
        want = fresh(f)(x, m)
        value, (gx, gm) = wg.value_and_grad(f, (0, 1))(x, m)
        assert value == pytest.approx(want, rel=1e-14)
        assert_gradient(gx, lambda x, m=m: fresh(f)(x, m), x)
        assert_gradient(gm, lambda m, x=x: fresh(f)(x, m), m)
        _, tangent = wg.jvp(f, (x, m), (np.ones(6), np.ones((3, 2))))
        assert tangent == pytest.approx(np.sum(gx) + np.sum(gm), rel=1e-12)
        curvature = wg.hvp(f, (x, m), (np.ones(6), np.ones((3, 2))))[0]
        np.testing.assert_allclose(curvature, curvature_by_differences(f, x, m), rtol=1e-5, atol=1e-5)
        again, (jx, jm) = jitted(x, m)
        assert again == pytest.approx(want, rel=1e-14)
        np.testing.assert_allclose(jx, gx, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(jm, gm, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(x, kept[0])
        np.testing.assert_array_equal(m, kept[1])
        assert x.flags.writeable
        assert m.flags.writeable


def curvature_by_differences(f: Any, x: Any, m: Any, h: float = 1e-5) -> Any:
    """Differences of the gradient in x, all of x and m moved alike."""
    gradient = wg.grad(f, (0, 1))
    return (gradient(x + h, m + h)[0] - gradient(x - h, m - h)[0]) / (2 * h)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "a broadcast view": lambda x: np.broadcast_to(x, (2, 3)).__setitem__((0, 0), 1.0),
    "a diagonal view": lambda x: np.diagonal(np.outer(x, x)).__setitem__(0, 1.0),
    "a shape that does not fit": lambda x: np.zeros(3).__setitem__(slice(None), np.concatenate([x, x])),
    "a float into an integer array, in place": lambda x: np.zeros(3, int).__iadd__(x),
    "an index out of bounds": lambda x: np.zeros(3).__setitem__(3, x[0]),
    "a scalar": lambda x: operator.setitem(x[0], (), 1.0),
    "too many axes": lambda x: np.zeros(3).__setitem__((0, 0), x[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused(name: str) -> None:
    """Read-only views, shapes that do not fit, casts that lose: an error here too, of a kind that NumPy raises."""
    f = REFUSED[name]
    with pytest.raises((ValueError, TypeError, IndexError)) as plain:
        f(np.ones(3))
    with pytest.raises((ValueError, TypeError, IndexError)) as traced:
        wg.grad(lambda x: (f(x), np.sum(x))[1])(np.ones(3))
    public = next(c for c in type(plain.value).__mro__ if c in (ValueError, TypeError, IndexError))
    assert isinstance(traced.value, public)


def test_a_result_that_is_a_view_is_an_array_of_its_own() -> None:
    """Returned views, and the same array twice: results share memory with nobody."""

    def f(x: Any) -> Any:
        a = x * 1.0
        view = a[1:]
        view[0] = 7.0
        return a, view, a

    x = np.arange(3.0)
    for call in (wg.jit(f), lambda x: wg.vjp(f, x)[0]):
        a, view, b = call(x)
        np.testing.assert_array_equal(a, [0.0, 7.0, 2.0])
        np.testing.assert_array_equal(view, [7.0, 2.0])
        assert not np.shares_memory(a, view)
        assert not np.shares_memory(a, b)
        a[:] = -1.0
        np.testing.assert_array_equal(b, [0.0, 7.0, 2.0])


def test_one_array_for_two_arguments() -> None:
    """In NumPy a write through one argument would be seen through the other, so it is refused."""

    def f(x: Any, y: Any) -> Any:
        x[0] = 5.0
        return np.sum(x * y)

    x = np.ones(2)
    for call in (wg.grad(f, argnums=(0, 1)), wg.jit(f)):
        with pytest.raises(wg.errors.MutationError, match="the same memory is passed twice"):
            call(x, x)
    gx, gy = wg.grad(f, argnums=(0, 1))(x, x.copy())
    np.testing.assert_array_equal(gx, [0.0, 1.0])
    np.testing.assert_array_equal(gy, [5.0, 1.0])
    np.testing.assert_array_equal(x, [1.0, 1.0])


def test_an_argument_that_is_not_differentiated_is_not_written_either() -> None:
    """It is the caller's own array: the function writes a value of its own, and it can be written again afterwards."""

    def f(x: Any, data: Any) -> Any:
        data[0] = 5.0
        return np.sum(x * data)

    x, data = np.ones(2), np.array([1.0, 2.0])
    np.testing.assert_array_equal(wg.grad(f)(x, data), [5.0, 2.0])
    np.testing.assert_array_equal(data, [1.0, 2.0])
    data[0] = 3.0
    np.testing.assert_array_equal(wg.jit(wg.grad(f))(x, data), [5.0, 2.0])
    np.testing.assert_array_equal(data, [3.0, 2.0])
