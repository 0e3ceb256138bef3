"""Sorting by the runtime's own code: which there is, and that it is NumPy's order, ties and NaN included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.natively import native
from wengert.codegen.sorting import FEWEST, MOST
from wengert.ops import index as ops
from wengert.tracing.emit import record

RNG = np.random.default_rng(0)
DTYPES = ["f8", "f4", "i8", "i4", "?"]


def drawn(dtype: str, *shape: int) -> Any:
    """With ties, and of floats zeros of either sign, infinities and NaN."""
    x = RNG.integers(-40, 40, shape)
    if dtype == "?":
        return x > 0
    if dtype[0] == "i":
        return (x * 10**7).astype(dtype)
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e30])
    x = np.where(RNG.random(shape) < 0.2, special[RNG.integers(len(special), size=shape)], x / 7.0)
    with np.errstate(over="ignore"):
        return x.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 64, 65, 160, 161, 256, 257, 3000])
def test_places_are_those_of_a_stable_sort(n: int, dtype: str) -> None:
    x = drawn(dtype, n)
    np.testing.assert_array_equal(native(np.argsort, x)(x), np.argsort(x, kind="stable"))
    if n <= MOST or dtype == "?":
        np.testing.assert_array_equal(native(np.sort, x)(x), np.sort(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_axis_of_arrays_of_any_layout(dtype: str) -> None:
    x = drawn(dtype, 3, 40, 5)
    for axis in (0, 1, 2, -1):
        for f in (np.sort, lambda x, axis: np.argsort(x, axis, kind="stable")):
            for given in (x, np.asfortranarray(x), x[::-1, ::2]):
                of = lambda x, f=f, axis=axis: f(x, axis=axis)
                np.testing.assert_array_equal(native(of, given)(given), f(given, axis=axis))
    assert native(np.sort, x[:, :0])(x[:, :0]).shape == (3, 0, 5)


def selected(ranks: tuple[int, ...], axis: int = 0) -> Any:
    """A function of the places of these ranks."""
    return lambda x: record(ops.argselect, (x,), {"axis": axis, "ranks": ranks})


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("n", [1, 7, 160, 161, 257, 3000, 5000])
def test_places_of_some_ranks_are_those_of_a_stable_sort(n: int, dtype: str) -> None:
    ranks = tuple(sorted({0, n // 3, (n - 1) // 2, n // 2, n - 1}))
    spread = RNG.standard_normal(n) * 10.0 ** RNG.integers(-9, 9, n)
    for x in (drawn(dtype, n), spread.astype(dtype), np.full(n, 3, dtype), np.arange(n, 0, -1).astype(dtype)):
        x = np.where(np.isnan(x), x.dtype.type(7), x)
        expected = np.argsort(x, kind="stable")[list(ranks)]
        np.testing.assert_array_equal(native(selected(ranks), x)(x), expected)


@pytest.mark.parametrize("n", [5, 300])
def test_a_nan_stands_for_all_ranks_of_its_row(n: int) -> None:
    x = RNG.standard_normal((2, n, 3))
    x[0, [1, 3], 1] = np.nan
    places = native(selected((0, 2), axis=1), x)(x)
    assert places.shape == (2, 2, 3)
    assert places[0, :, 1].tolist() == [3, 3]
    rest = np.argsort(x, axis=1)[:, [0, 2]]
    assert (places == rest).sum() == places.size - 2


def test_medians_and_percentiles_select() -> None:
    x = RNG.standard_normal((7, 600))
    for f in (lambda x: np.median(x, axis=1), lambda x: np.percentile(x, [25, 75], axis=1), np.median):
        gradient = wg.value_and_grad(lambda x, f=f: np.sum(f(x)))
        names = [k.name for k in native(gradient, x).kernels]
        assert names.count("argselect") == 1
        assert not {"sort", "argsort"} & set(names)
    many = wg.compile(wg.trace(lambda x: np.percentile(x, np.arange(0, 100, 5)))(x))
    assert "argselect" not in [k.name for k in many.kernels]


def kinds(f: Any, x: Any) -> set[str]:
    return {k.kind for k in wg.jit(f).program(x).kernels}


def test_what_numpy_sorts_sooner_is_called_back() -> None:
    assert kinds(np.sort, np.ones(MOST + 1)) == {"callback"}
    assert kinds(np.sort, np.ones((1000, FEWEST + 1))) == {"callback"}
    assert "callback" not in kinds(np.sort, np.ones((1000, FEWEST))) | kinds(np.sort, np.ones(MOST))
    assert "callback" not in kinds(np.sort, np.ones(10_000, bool)) | kinds(np.argsort, np.ones((9, 3000)))
    assert kinds(np.sort, np.ones(3, complex)) == kinds(np.argsort, np.ones(3, np.float16)) == {"callback"}


def test_values_have_the_signs_of_zero_that_a_stable_sort_gives_them() -> None:
    x = np.array([0.0, 3.0, -0.0, -1.0, 0.0, -0.0])
    assert np.signbit(native(np.sort, x)(x)).tolist() == [True, False, True, False, True, False]


def test_only_places_take_room() -> None:
    n = 1 << 18
    room = lambda f: wg.jit(f).program(np.ones(n)).arena_bytes
    assert room(np.sort) < 8 * n <= 32 * n <= room(np.argsort) < 33 * n


def test_what_is_made_of_sorting_calls_nobody() -> None:
    x = drawn("i8", 9, 20) / 3.0
    for f in (
        lambda x: np.median(x, axis=1),
        lambda x: np.quantile(x, [0.1, 0.5], axis=0),
        lambda x: np.partition(x, 3, axis=1)[:, :3],
        lambda x: np.sort(x, axis=1)[:, -3:],
        lambda x: np.searchsorted(x[0], x[1], sorter=np.argsort(x[0])) * x[1],
    ):
        gradient = wg.value_and_grad(lambda x, f=f: np.sum(f(x) ** 2))
        value, slope = native(gradient, x)(x)
        expected = gradient(x)
        np.testing.assert_allclose(value, expected[0], rtol=1e-13)
        np.testing.assert_allclose(slope, expected[1], rtol=1e-13)


def test_a_sort_in_place_of_what_dies() -> None:
    f = lambda x: np.sort(np.sort(2 * x, axis=0), axis=1)
    x = drawn("f8", 20, 30)
    np.testing.assert_array_equal(native(f, x)(x), f(x))
