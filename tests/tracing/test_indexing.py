"""``x[key]`` and ``x[key] = value``: views, copies and errors are NumPy's; a traced position is no guard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from wengert.tape import Aval
from wengert.tracing.indexing import parse
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer

X = np.arange(12.0).reshape(3, 4) - 4.5
V = np.array([1.25, -0.5, 2.0])


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


def test_an_index_array_of_shape_empty_copies() -> None:
    """``x[np.array(0)]`` was the view that ``x[0]`` is; NumPy copies."""

    def f(x: Any) -> Any:
        x = x * 1.0
        row = x[np.array(0)]
        row[...] = 0.0
        return x, row

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


def test_an_array_made_of_a_scalar_is_not_a_view_of_it() -> None:
    """A write into ``s[...]`` reached ``s``, and the array that it is an element of."""

    def f(x: Any) -> Any:
        s, t = x[0], np.sum(x)
        v, w = s[...], t[None]
        v *= 5
        w += 1
        return s + x[0] + t, v, w

    as_numpy(f, np.ones(3))
    np.testing.assert_array_equal(wg.grad(lambda x: f(x)[0])(np.ones(3)), [3, 1, 1])


def at_no_places(x: Any) -> Any:
    v = x * 2
    v[[]] = x[:1]
    np.add.at(v, [], x[:1])
    mask = np.zeros(3, bool)
    v[mask] = x[mask]
    y = np.outer(x, x)
    y[np.zeros((0, 1), int), [0, 1]] = 5.0
    return v, y, y[[], :], y[:, []]


def by_booleans(x: Any) -> Any:
    y, z = x * 1.0, x * 1.0
    y[True] = 3.0
    z[False] = 9.0
    return y, z, x[True], x[False], x[np.True_], x[np.array(True)]


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(at_no_places, id="no_places"),
        pytest.param(by_booleans, id="booleans"),
        pytest.param(lambda x: np.array(x[0])[True], id="boolean_of_no_axes"),
    ],
)
def test_what_selects_nothing_or_all_of_a_new_axis(f: Any) -> None:
    as_numpy(f, V)


def test_the_gradient_of_no_places() -> None:
    g = wg.jit(wg.grad(lambda x: np.sum(x[np.zeros(3, bool)] ** 2) + x[0]))
    np.testing.assert_array_equal(g(V), [1, 0, 0])


# -------------------------------------------------------------------------------------------------------- what a key is


KEYS: dict[str, Any] = {
    "an integer": 1,
    "from the end": (slice(None), -1),
    "a slice backwards": (slice(None, None, -2), slice(3, 0, -1)),
    "nothing": slice(2, 2),
    "an ellipsis between": (0, Ellipsis, slice(1, 3)),
    "new axes": (None, slice(1), None, 2),
    "everything": (),
    "an index array": [2, 0, 2],
    "two arrays beside each other": (slice(None), [0, 3], [1, 0]),
    "two arrays apart": ([0, 1], slice(None), [1, 0]),
    "an integer and an array apart": (0, slice(None), [1, 0]),
    "a mask": np.array([True, False, True]),
    "a mask of two axes": np.arange(12).reshape(3, 4) % 2 == 0,
    "a mask and an array": (np.array([True, False, True]), [1, 3]),
    "arrays that broadcast": (np.array([[0], [2]]), np.array([1, 3])),
    "an empty list": [],
}
CUBE = np.arange(24.0).reshape(3, 4, 2)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_every_key_reads_and_writes_what_numpy_does(key: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        part = y[key]
        y[key] = 0.5
        return y, part, part * 2

    as_numpy(f, CUBE)


@pytest.mark.parametrize(
    "key",
    [3, (0, 0, 0, 0), (Ellipsis, Ellipsis), [0, 3], [0.5], "name", np.ones(4, bool), (slice(None), slice(None), 2)],
)
def test_keys_that_numpy_refuses_are_index_errors(key: Any) -> None:
    for f in (lambda x: x[key], wg.jit(lambda x: x[key])):
        with pytest.raises(IndexError):
            f(CUBE)


def test_a_key_falls_into_a_basic_part_and_an_advanced_one() -> None:
    with Trace("f").opened() as trace:
        x = Tracer(
            trace, trace.lifted.new_input(Aval((3, 4, 2), np.dtype(float)), CUBE), Aval((3, 4, 2), np.dtype(float))
        )
        basic = parse(x, (1, slice(None, None, -1), None))
        assert basic.basic == ((1, (3, 4, -1), (0, 2, 1)), (4, 1, 2)) and basic.arrays == ()
        key = parse(x, (slice(1, 3), [0, 1], [1, 1]))
        assert key.basic == (((1, 2, 1), (0, 4, 1), (0, 2, 1)), (2, 4, 2))
        assert [a.constant().tolist() for a in key.arrays] == [[0, 1], [1, 1]] and key.axes == (1, 2) and key.lead == 1
        assert parse(x, ([0, 1], slice(None), [1, 1])).lead == 0  # apart: their axes come first
        assert [a.shape for a in parse(x, np.ones((3, 4), bool)).arrays] == [(12,), (12,)]


# ------------------------------------------------------------------------------------------ what it becomes on the tape


@pytest.mark.parametrize(
    ("f", "args", "ops"),
    [
        (lambda x: x[1], (V,), ["slice"]),
        (lambda x: x[1:, 2], (X,), ["slice"]),
        (lambda x: x[[2, 0]], (X,), ["gather"]),
        (lambda x, k: x[k], (V, 1), ["gather"]),
        (lambda x, k: x[:, k], (X, np.array([1, 0])), ["transpose", "gather", "transpose"]),
    ],
)
def test_a_key_is_few_steps(f: Any, args: Any, ops: list[str]) -> None:
    assert [i.op.name for i in wg.trace(f)(*args).instrs] == ops


def test_a_traced_position_is_no_guard_and_a_traced_mask_is_one() -> None:
    """``x[k]`` runs for any k; ``x[mask]`` for any mask of so many trues."""
    at = wg.jit(lambda x, k: x[k])
    assert [at(V, k) for k in (0, 2, -1)] == [V[0], V[2], V[-1]] and at.stats()["traces"] == 1
    masked = wg.jit(lambda x, mask: x[mask])
    for mask in ([True, False, True], [False, True, True], [True, False, False]):
        np.testing.assert_array_equal(masked(V, np.array(mask)), V[mask])
    assert masked.stats()["traces"] == 2


def test_a_traced_position_out_of_bounds_is_found_when_it_runs() -> None:
    at = wg.jit(lambda x, k: x[k])
    at(V, 0)
    for k in (3, -4):
        with pytest.raises(IndexError, match="out of bounds"):
            at(V, k)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_masked_array_is_no_index() -> None:
    """NumPy reads what the mask hides, too; the elements that it does not hide were taken for all."""
    x = np.arange(3.0)
    masked = np.ma.masked_array([False, True, True], [False, True, False])
    for key in (masked, np.ma.masked_array([0, 2], [False, True]), np.ma.masked_array(1, True), np.matrix([0, 1])):
        for f in (lambda x, key=key: np.sum(x[key]), lambda x, key=key: (2 * x).__setitem__(key, 1.0)):
            with pytest.raises(wg.errors.UnsupportedFunctionError, match="arithmetic of its own"):
                wg.vjp(lambda x, f=f: f(x) or x, x)


BOOLEAN_KEYS: dict[str, Any] = {
    "x[b]": lambda b: b,
    "x[(b,)]": lambda b: (b,),
    "x[b, 0]": lambda b: (b, 0),
    "x[0, b]": lambda b: (0, b),
    "x[b, b]": lambda b: (b, b),
    "x[:, b]": lambda b: (slice(None), b),
    "x[b, :, 0]": lambda b: (b, slice(None), 0),
    "x[b, [0, 1]]": lambda b: (b, [0, 1]),
    "x[[0, 1], :, b]": lambda b: ([0, 1], slice(None), b),
    "x[None, b]": lambda b: (None, b),
    "x[..., b]": lambda b: (..., b),
}


@pytest.mark.parametrize("is_true", [True, False])
@pytest.mark.parametrize("key", BOOLEAN_KEYS)
def test_one_boolean_as_an_index_is_all_or_nothing_of_a_new_axis(key: str, is_true: bool) -> None:
    """A traced one was refused, and any among other indices."""
    x = np.arange(12.0).reshape(3, 4) + 1
    ways = [lambda x: np.bool_(is_true), lambda x: np.array(is_true), lambda x: (x[0, 0] > 0) == is_true]
    for boolean in ways:

        def read(x: Any, boolean: Any = boolean) -> Any:
            return x[BOOLEAN_KEYS[key](boolean(x))]

        def write(x: Any, boolean: Any = boolean) -> Any:
            y = x * 1.0
            y[BOOLEAN_KEYS[key](boolean(x))] = 3 * x[0, 0]
            return y

        for f in (read, write):
            try:
                want = f(x)
            except IndexError:
                with pytest.raises(IndexError):
                    wg.vjp(f, x)
                continue
            got = wg.vjp(f, x)[0]
            assert np.shape(got) == want.shape and np.array_equal(got, want)


def test_a_traced_boolean_as_an_index_is_guarded() -> None:
    f = wg.jit(lambda x: np.sum(x[x > 1]))
    assert [float(f(v)) for v in (2.0, 0.5, 3.0)] == [2.0, 0.0, 3.0]
    assert wg.grad(f)(2.0) == 1 and wg.grad(f)(0.5) == 0


def test_keys_that_are_equal_in_python_are_told_apart() -> None:
    """A key of integers and slices is taken apart once for each shape."""
    x = np.arange(6.0).reshape(2, 3)
    keys: list[Any] = [
        1,
        True,
        np.int64(1),
        (1,),
        (1, slice(None)),
        (slice(1, None),),
        slice(1, None),
        slice(True, None),
    ]
    keys += [
        (slice(None), 1),
        (slice(None), True),
        (slice(0, 2, 1), 1),
        (0, 1),
        (0, -1),
        (None, 1),
        (False, 1),
        (0, 0, 0),
    ]
    for key in keys + keys:
        try:
            want = x[key]
        except IndexError:
            with pytest.raises(IndexError):
                wg.vjp(lambda x, key=key: x[key], x)
            continue
        got = wg.vjp(lambda x, key=key: x[key], x)[0]
        assert np.shape(got) == want.shape and np.array_equal(got, want)
