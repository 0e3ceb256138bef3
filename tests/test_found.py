"""What random programs and random keys found: each bug with the smallest program that shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.test_random_programs import same

X = np.arange(12.0).reshape(3, 4) - 4.5


def as_numpy(f: Callable[..., Any], *args: Any) -> None:
    """``f`` compiled gives what ``f`` gives, twice, and the arguments stay what they are."""
    want = f(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
    compiled = wg.jit(f)
    before = [np.copy(a) for a in args]
    for _ in range(2):
        same(compiled(*args), want)
    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True))


def test_a_traced_mask_of_one_axis() -> None:
    """The op that finds the true elements returned a tuple of one where one array was promised."""
    as_numpy(lambda x: np.sum(x[x[:, 0] > 0]), X)
    as_numpy(lambda x: np.sum(x.ravel()[x.ravel() < 2] ** 2), X)


def test_a_row_at_a_traced_integer_is_a_view() -> None:
    """``row = x[k]`` with a traced ``k`` was a copy, so that a write into the row was lost without a word."""

    def f(x: Any, k: int) -> Any:
        x = x * 1.0
        row = x[k]
        row *= 2.0
        row[1:] += x[0, 1:]
        part = x[k - 1, ..., :2]
        part[...] = 0.5
        return x, row, part

    for k in (0, 1, 2, -1):
        as_numpy(f, X, k)


def test_a_view_at_a_traced_integer_of_an_array_of_constants() -> None:
    """An array made while tracing is kept as an ndarray: it must become a traced one when such a view is written."""

    def f(x: Any, k: int) -> Any:
        total = np.zeros((3, 4))
        row = total[k]
        row += x[0]
        return total, row

    as_numpy(f, X, 2)


def test_a_row_at_a_traced_integer_is_not_the_callers_memory() -> None:
    """A gather at integers alone gave a NumPy view of its operand; the next step in place wrote into the argument."""

    def f(x: Any, k: int) -> Any:
        row = x[k].copy()
        row[0] = 100.0
        return row

    as_numpy(f, X, 1)


def test_an_index_array_of_shape_empty_copies() -> None:
    """``x[np.array(0)]`` was the view that ``x[0]`` is; NumPy copies."""

    def f(x: Any) -> Any:
        x = x * 1.0
        row = x[np.array(0)]
        row[...] = 0.0
        return x, row

    as_numpy(f, X)


def test_ravel_of_what_is_not_contiguous_copies() -> None:
    """``x[0, ::2].ravel()`` was a view, as the reshape of the same would be; writes into it reached ``x``."""

    def f(x: Any) -> Any:
        x = x * 1.0
        flat, view = x[0, ::2].ravel(), x[1, ::2].reshape(-1)
        flat[...] = 0.0
        view[...] = 0.0
        diagonal = np.diagonal(x).ravel()  # the diagonal is read-only, its copy is not
        diagonal[0] = 7.0
        return x, flat, view, diagonal

    as_numpy(f, X)


def test_roll_by_nothing_copies() -> None:
    """``np.roll(x, 0)`` was ``x`` itself."""

    def f(x: Any) -> Any:
        x = x * 1.0
        rolled = np.roll(x, 0)
        rolled[0] = 0.0
        return x, rolled

    as_numpy(f, X)


def test_the_conj_of_a_real_array_is_the_array() -> None:
    """The method does not copy, the function does."""

    def f(x: Any) -> Any:
        x = x * 1.0
        a, b = x.conj(), np.conj(x)
        a[0] = 0.0
        b[1] = 0.0
        return x, a, b

    as_numpy(f, X)


def test_index_arrays_that_do_not_broadcast_are_an_index_error() -> None:
    """It was a ValueError."""
    for f in (lambda x: x[[0, 1], [0, 1, 2]], lambda x: x[np.array([0, 1]), np.array([0, 1, 2])]):
        for g in (f, wg.jit(f)):
            with pytest.raises(IndexError, match="broadcast"):
                g(X)


def test_what_selects_nothing_may_be_out_of_bounds() -> None:
    """NumPy does not look at the other index arrays then."""
    nothing = np.zeros(0, int)
    as_numpy(lambda x: x[nothing, np.array([9])], X)
    as_numpy(lambda x, i, j: x[i, j], X, nothing, np.array([9]))


def test_a_write_at_a_traced_mask_of_shape_empty() -> None:
    """It was refused, although no element needs to be looked at."""

    def f(x: Any) -> Any:
        s = np.array(x[0, 0])
        s[s < 0] = 3.0
        return s * x

    as_numpy(f, X)
    as_numpy(f, -X)


def test_item_and_tolist_give_python_numbers() -> None:
    """Of a float32 array they gave float32 values: an array of them was float32, not float64."""
    x = X.astype(np.float32)
    as_numpy(lambda x: (np.array(x.tolist()), np.array([x[0, 0].item()])), x)
    as_numpy(lambda x: x[0, 0].item() * x[1], x)  # and weak: float32 stays
    as_numpy(lambda x: x.item(5) * np.ones(2, np.float32), X)


def test_fill_of_a_scalar_does_nothing() -> None:
    """NumPy's scalars have the method too; it changed the value."""

    def f(x: Any) -> Any:
        s = x.sum()
        s.fill(2.0)
        return s * x

    as_numpy(f, X)


def test_a_numpy_scalar_alone_into_a_traced_out() -> None:
    """``np.sin(np.float64(0.3), out=x)`` raised AttributeError: np.float64 is a float to isinstance."""
    number = np.float64(0.3)

    def f(x: Any) -> Any:
        x = x * 1.0
        np.sin(number, out=x[0])
        np.add(number, 1, out=x[1])
        return x

    as_numpy(f, X)
    as_numpy(f, X.astype(np.float32))
    same(wg.grad(lambda x: np.sum(f(x)))(X), np.array([[0.0] * 4, [0.0] * 4, [1.0] * 4]))


@pytest.mark.parametrize(
    "fresh", [lambda x: x.T + 1.0, lambda x: np.array(x.T), lambda x: np.sin(x.T), lambda x: x.T * x.T]
)
def test_a_result_in_another_order_is_not_written_through_its_reshape(fresh: Any) -> None:
    """NumPy keeps the order of a transposed operand, so the reshape is a copy; it was taken for a view."""

    def read_only(x: Any) -> Any:
        y = fresh(x)
        return y.reshape(-1) * 2.0 + np.sum(y)

    def written(x: Any) -> Any:
        y = fresh(x)
        u = y.reshape(-1)
        u[...] = 0.0
        return y

    def stale(x: Any) -> Any:
        y = fresh(x)
        u = y.reshape(-1)
        y[0] = 0.0
        return u + 0.0

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(wg.jit(read_only)(x), read_only(x))
    for f in (written, stale):
        with pytest.raises(wg.errors.MutationError, match="order of an array in memory"):
            wg.jit(f)(x)


def test_arguments_in_fortran_order_alias_as_numpy_says() -> None:
    """The order of an argument decides whether a reshape of it is a view, and was not looked at."""

    def f(x: Any) -> Any:
        y = x.view()
        z = x.reshape(-1)
        z[0] = 100.0
        return y, z

    jitted = wg.jit(f)
    for x in (np.ones((2, 3)), np.ones((3, 2)).T, np.asfortranarray(np.ones((2, 3)))):
        for got, wanted in zip(jitted(x), f(np.array(x, order="K")), strict=True):
            np.testing.assert_array_equal(got, wanted)
