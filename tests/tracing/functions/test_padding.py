"""Padding, rolling and sliding windows against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import NUMPY, as_numpy
from tests.tracing.numpy_cases import case, floats, integers, record, same_as_numpy, verify
from wengert.errors import UnsupportedFunctionError

X = floats(3, 4)
V = floats(6)


CASES = [
    case("roll", lambda x: (np.roll(x, 1), np.roll(x, -2, axis=1), np.roll(x, (1, 2), axis=(0, 1)), np.roll(x, 14)), X),
    case("roll_both_by_one", lambda x: np.roll(x, 1, axis=(0, 1)), X),
    case("roll_nothing", lambda x: np.roll(x, 0), X),
    case("pad", lambda x: np.pad(x, 2), X),
    case("pad_values", lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=((1, 2), (3, 4))), X),
    case("pad_traced_value", lambda x, v: np.pad(x, 1, constant_values=v[0]), X, V),
    *([case("pad_one_axis", lambda x: np.pad(x, {1: (1, 2)}), X)] if NUMPY >= (2, 4) else []),
    *[case(f"pad_{m}", lambda x, m=m: np.pad(x, ((1, 2), (2, 1)), mode=m), X)
      for m in ("edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap")],
    case("pad_odd", lambda x: tuple([np.pad(x, ((1, 2), (3, 0)), mode=m, reflect_type="odd")
                                     for m in ("reflect", "symmetric")]), X),
    case("pad_odd_of_one", lambda x: np.pad(x[:1], 2, mode="reflect", reflect_type="odd"), V),
    case("pad_far", lambda x: tuple(np.pad(x, 17, mode=m) for m in ("reflect", "symmetric", "wrap", "edge")), V),
    case("pad_ramp_ends", lambda x: np.pad(x, (2, 3), mode="linear_ramp", end_values=(1.0, -2.0)), V),
    case("pad_stat_length", lambda x: np.pad(x, (1, 2), mode="mean", stat_length=(2, 3)), V),
    case("sliding_window_view", lambda x: np.lib.stride_tricks.sliding_window_view(x, 3), V),
    case("sliding_windows", lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)), X),
]  # fmt: skip


@pytest.mark.sampled(5, "a tenth of a second each")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


SPARSE = np.array([[0.0, 0, 0, 0, 0], [0, 0, 3, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]])


@pytest.mark.parametrize("trim", ["fb", "F", "b"])
@pytest.mark.parametrize("x", [SPARSE[1], SPARSE[1].astype(int), SPARSE[1] > 0, SPARSE[0], np.zeros(0), np.float64(1)])
def test_trim_zeros(x, trim):
    same_as_numpy(lambda x: np.trim_zeros(x, trim), [x])


@pytest.mark.parametrize("axis", [None, 0, -1, *([(0, 1), ()] if NUMPY >= (2, 4) else [])])
def test_trim_zeros_of_axes(axis):
    for x in (SPARSE, 0 * SPARSE):
        same_as_numpy(lambda x: (np.trim_zeros(x, axis=axis), np.trim_zeros(x, "f", axis)), [x])


def test_where_zeros_end_is_looked_at():
    f = wg.jit(lambda x: np.trim_zeros(x) ** 2, strict=True)
    for x in ([0.0, 1, 2, 0], [3.0, 0, 2, 0], [0.0, 0, 0, 0]):
        np.testing.assert_array_equal(f(np.array(x)), np.trim_zeros(np.array(x)) ** 2)
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(np.trim_zeros(x) ** 2))(SPARSE[1]), 2 * SPARSE[1])
    wg.check_derivatives(lambda x: np.trim_zeros(x) ** 2, np.array([1.0, 2, 0, 3]))
    assert type(wg.jit(lambda x: np.array(type(np.trim_zeros([0.0, x, 0.0])) is list), strict=True)(1.0)[()]) is np.bool
    with pytest.raises(ValueError, match="unexpected"):
        wg.jit(lambda x: np.trim_zeros(x, "x"), strict=True)(V)


def test_integers_stay_integers():
    same_as_numpy(lambda x: np.pad(x, 2, mode="mean"), [integers(5)])
    same_as_numpy(lambda x: np.pad(x, 2, mode="linear_ramp", end_values=7), [integers(5)])


def test_a_gather_with_few_runs_is_made_of_slices():
    tape, *_ = record(lambda x: np.pad(x, 2, mode="reflect"), [V])
    assert {i.op.name for i in tape.instrs} == {"slice", "concatenate"}


def test_refused():
    with pytest.raises(UnsupportedFunctionError, match="at most 4 for reflect_type='odd'"):
        record(lambda x: np.pad(x, 5, mode="reflect", reflect_type="odd"), [np.arange(5.0)])


def test_errors_are_numpys():
    f = lambda x: np.pad(x, -1)
    with pytest.raises(ValueError):
        f(X)
    with pytest.raises(ValueError):
        record(f, [X])


def test_roll_by_nothing_copies() -> None:
    """``np.roll(x, 0)`` was ``x`` itself."""

    def f(x: Any) -> Any:
        x = x * 1.0
        rolled = np.roll(x, 0)
        rolled[0] = 0.0
        return x, rolled

    as_numpy(f, X)


def windows_of_what_is_written(x: Any) -> Any:
    x = x * 1.0
    windows = np.lib.stride_tricks.sliding_window_view(x, 2)
    x[0] = 5.0
    return windows, windows * 2


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(windows_of_what_is_written, id="sliding_window_view"),
        pytest.param(
            lambda x: np.lib.stride_tricks.sliding_window_view(np.outer(x, x), (2, 2)).sum((2, 3)), id="sliding_windows"
        ),
        pytest.param(lambda x: np.pad(x, 1, constant_values=(x[0], 3)), id="pad"),
        pytest.param(
            lambda x: np.pad(x.reshape(2, 3), ((1, 2), (0, 1)), constant_values=((1, 2), (3, x[0]))), id="pad_pairs"
        ),
    ],
)
def test_windows_see_writes_and_numbers_stand_beside_traced_values(f: Any) -> None:
    as_numpy(f, V)
