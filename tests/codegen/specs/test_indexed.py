"""Index arrays: native, and what NumPy and the references give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.natively import DTYPES, added, check, native, numbers, places, written
from wengert.runtime import _native

pytestmark = pytest.mark.usefixtures("no_cache")


GATHERS: dict[str, tuple[Callable[..., Any], tuple[int, ...], list[np.ndarray[Any, Any]]]] = {
    "elements": (lambda x, i: x[i], (50,), [places((37,), 50)]),
    "one element": (lambda x, i: x[i], (50,), [np.array(-3)]),
    "of one": (lambda x, i: x[i], (1,), [np.array([0, -1, 0])]),
    "rows": (lambda x, i: x[i], (9, 21), [places((14,), 9)]),
    "short rows": (lambda x, i: x[i], (9, 3), [places((14,), 9)]),
    "one row": (lambda x, i: x[i], (9, 40), [np.array(4)]),
    "matrices": (lambda x, i: x[i], (5, 4, 6), [places((2, 3), 5)]),
    "pairs": (lambda x, i, j: x[i, j], (6, 7), [places((19,), 6), places((19,), 7, 2)]),
    "outer pairs": (lambda x, i, j: x[i, j], (6, 7, 2), [places((3, 1), 6), places((1, 17), 7, 2)]),
    "along an axis": (lambda x, i: np.take_along_axis(x, i, 1), (4, 5, 18), [places((4, 3, 18), 5)]),
    "a column each": (lambda x, i: np.take_along_axis(x, i, 0), (4, 18), [places((1, 18), 4)]),
    "behind an axis": (lambda x, i: x[:, i], (6, 7), [places((19,), 7)]),
    "backwards": (lambda x, i: x[::-1][i], (30,), [places((19,), 30)]),
    "of a transpose": (lambda x, i: x.T[i], (21, 9), [places((14,), 9)]),
    "every other": (lambda x, i: x[::2, 1::3][i], (12, 40), [places((14,), 6)]),
    "strided indices": (lambda x, i: x[i[::3]], (30,), [places((40,), 30)]),
    "indices repeated": (lambda x, i: x[np.broadcast_to(i, (3, 17))], (30,), [np.array(-2)]),
    "into a transpose": (lambda x, i: np.ascontiguousarray(x[i.T].T), (30,), [places((5, 9), 30)]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("what", GATHERS)
def test_gather(what: str, dtype: str) -> None:
    function, shape, indices = GATHERS[what]
    check(function, numbers(shape, dtype), *indices)


def test_gather_of_nothing() -> None:
    check(lambda x, i: x[i].sum(), np.ones(4), np.zeros(0, np.intp))
    # Nothing is moved here either, but the index has bounds, at which the reference looks.
    assert wg.jit(lambda x, i: x[i].sum())(np.ones((4, 0)), np.array([1, 2])) == 0.0


@pytest.mark.parametrize(
    ("shape", "indices"),
    [
        ((5,), [np.array([0, 5])]),
        ((5,), [np.array([-6] + [0] * 30)]),
        ((5,), [np.array([0] * 30 + [9])]),
        ((5,), [np.array(5)]),
        ((5, 3), [np.array([1, -6, 2])]),
        ((5, 3), [np.array([1, 2]), np.array([1, 3])]),
        ((0, 3), [np.array([0])]),
        ((5,), [np.array([np.iinfo(np.int64).min])]),
        ((5,), [np.array([np.iinfo(np.int64).max])]),
    ],
)
def test_an_index_out_of_bounds_raises_what_numpy_raises(
    shape: tuple[int, ...], indices: list[np.ndarray[Any, Any]]
) -> None:
    x = np.zeros(shape)
    with pytest.raises(IndexError) as wanted:
        x[tuple(indices)]
    fine = [np.zeros_like(i) for i in indices]
    traced = np.zeros(tuple(max(n, 1) for n in shape))

    def gather(x: Any, *indices: Any) -> Any:
        return x[tuple(indices)]

    def write(x: Any, *indices: Any) -> Any:
        y = np.array(x)
        y[tuple(indices)] = 1.0
        return y

    for function in (gather, write):
        if traced.shape != shape and function is write:
            continue  # NumPy finds an empty destination first
        jitted = wg.jit(function)
        jitted(traced, *fine)
        with pytest.raises(IndexError) as got:
            jitted(x, *indices)
        assert str(got.value) == str(wanted.value)
        jitted(traced, *fine)  # and the program is as good as before


SCATTERS: dict[str, tuple[tuple[int, ...], tuple[int, ...], list[np.ndarray[Any, Any]]]] = {
    "elements": ((20,), (37,), [places((37,), 20)]),
    "one element": ((20,), (), [np.array(-3)]),
    "one value": ((20,), (), [places((37,), 20)]),
    "rows": ((9, 21), (14, 21), [places((14,), 9)]),
    "one row, often": ((9, 21), (21,), [places((14,), 9)]),
    "a value a row": ((9, 21), (14, 1), [places((14,), 9)]),
    "pairs": ((6, 7), (19,), [places((19,), 6), places((19,), 7, 2)]),
    "outer pairs": ((6, 7, 2), (3, 17, 2), [places((3, 1), 6), places((1, 17), 7, 2)]),
    "matrices": ((5, 4, 6), (2, 3, 4, 6), [places((2, 3), 5)]),
    "nowhere": ((5, 4), (0, 4), [np.zeros(0, np.intp)]),
}


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("write", [written, added])
@pytest.mark.parametrize("what", SCATTERS)
def test_scatter(what: str, write: Callable[..., Any], dtype: str) -> None:
    shape, v_shape, indices = SCATTERS[what]
    check(write, numbers(shape, dtype), numbers(v_shape, dtype, 5), *indices)


@pytest.mark.parametrize("write", [written, added])
@pytest.mark.parametrize("shape", [(100,), (100, 7)])
def test_a_long_scatter_in_parts_writes_in_order(shape: tuple[int, ...], write: Callable[..., Any]) -> None:
    """Between which a call can be interrupted; the bits are those of one part, whatever the number of threads."""
    before = _native.get_threads()
    rng = np.random.default_rng(0)
    x, i = rng.normal(size=shape), rng.integers(-100, 100, 200_000)
    v = rng.normal(size=(200_000, *shape[1:]))
    try:
        for n in (1, 3):
            _native.set_threads(n)
            check(write, x, v, i)
    finally:
        _native.set_threads(before)


@pytest.mark.parametrize("write", [written, added])
def test_scatter_of_strided_values(write: Callable[..., Any]) -> None:
    i = places((14,), 9)
    check(lambda x, v, i: write(x, v.T, i), numbers((9, 21), "f8"), numbers((21, 14), "f8"), i)
    check(lambda x, v, i: write(x.T, v[::-1], i), numbers((21, 9), "f8"), numbers((14, 21), "f8"), i)


def test_the_last_write_wins_and_only_it_has_a_cotangent() -> None:
    i = np.array([2, 0, 2, 2, 1])
    gradient = native(wg.grad(lambda v, i: np.sum(written(np.zeros(3), v, i) * np.arange(1.0, 4))), np.ones(5), i)
    np.testing.assert_array_equal(gradient(np.ones(5), i), [0, 1, 0, 3, 2])


def test_a_chain_of_writes_works_in_one_buffer() -> None:
    def f(x: Any, i: Any) -> Any:
        y = x * 2.0
        for k in range(6):
            y[i + k] = float(k)
            np.add.at(y, i, 1.0)
        return y + 0.5

    i = np.array([0, 3, 3])
    program = native(f, np.ones(1000), i)
    assert program.arena_bytes < 8192 + 8 * 64
    np.testing.assert_array_equal(program(np.ones(1000), i), f(np.ones(1000), i))


def test_a_captured_array_is_never_written() -> None:
    c = np.zeros(8)
    i = np.array([1, 1, 2])
    program = native(lambda v, i: added(c, v, i), np.ones(3), i)
    np.testing.assert_array_equal(program(np.ones(3), i), [0, 2, 1, 0, 0, 0, 0, 0])
    assert not c.any()


def test_threads_share_a_gather_and_the_bits_are_the_same() -> None:
    x, i = numbers((70_000,), "f8"), places((150_001,), 70_000)
    program = native(lambda x, i: x[i], x, i)
    before = _native.get_threads()
    try:
        for n in (1, 3):
            _native.set_threads(n)
            np.testing.assert_array_equal(program(x, i), x[i])
            with pytest.raises(IndexError):
                program(x, np.where(np.arange(i.size) == i.size - 2, 70_000, i))
    finally:
        _native.set_threads(before)
