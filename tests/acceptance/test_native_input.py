"""Native programs with unusual and with wrong arguments, and when something fails: right, or an error."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytestmark = pytest.mark.machine_code("what native programs take and refuse")


# --------------------------------------------------------------------------------------------------------- bad input


def unaligned(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:]
    view = raw.view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def read_only(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    x = x.copy()
    x.flags.writeable = False
    return x


def poly(x: Any) -> Any:
    return x * x + 2 * x


MATRIX = np.arange(12.0).reshape(3, 4)
UNUSUAL = {
    "transposed": MATRIX.T.copy().T,
    "reversed": MATRIX[::-1, ::-1],
    "every second": np.repeat(MATRIX, 2, axis=1)[:, ::2],
    "broadcast": np.broadcast_to(np.arange(4.0), (3, 4)),
    "unaligned": unaligned(MATRIX),
    "read-only": read_only(MATRIX),
    "unaligned and reversed": unaligned(MATRIX)[::-1],
    "a subarray": np.arange(30.0).reshape(5, 6)[1:4, 1:5],
    "other byte order": MATRIX.astype(">f8"),
    "float32": MATRIX.astype("f"),
    "float16": MATRIX.astype(np.float16),
    "integers": MATRIX.astype(int),
    "small integers": MATRIX.astype(np.int8),
    "booleans": MATRIX > 3,
    "complex": MATRIX + 1j,
    "another shape": MATRIX[:2],
    "another number of axes": MATRIX[0],
    "empty": MATRIX[:0],
    "a number": 1.5,
    "a NumPy number": np.float64(1.5),
    "shape ()": np.array(1.5),
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_a_jitted_function_takes_what_numpy_takes(what: str) -> None:
    """After it was compiled for an ordinary array, at the first call and at the second; nothing is written to."""
    x = UNUSUAL[what]
    kept = np.copy(x)
    step = wg.jit(poly)
    step(MATRIX)
    with np.errstate(all="ignore"):
        want = poly(x)
    for _ in range(3):
        got = step(x)
        assert np.asarray(got).dtype == np.asarray(want).dtype.newbyteorder("=")
        np.testing.assert_allclose(got, want, rtol=1e-3 if what == "float16" else 1e-6)
    np.testing.assert_array_equal(step(MATRIX), poly(MATRIX))
    np.testing.assert_array_equal(x, kept)


BIG_ENDIAN: dict[str, Any] = {
    "sums": lambda x: np.stack([x.sum(), x.mean(), np.std(x), np.prod(x), np.trace(x), np.linalg.norm(x)]),
    "running sums": lambda x: np.cumsum(x, 1),
    "extremes": lambda x: np.max(x, 0) - np.min(x, 1),
    "products": lambda x: x @ x + np.dot(x, x.T) + np.einsum("ij,kj->ki", x, x),
    "elementwise": lambda x: np.where(x > 2, np.sin(x), x**2),
    "inverse": lambda x: np.linalg.inv(x + 20 * np.eye(4)),
    "median": lambda x: np.median(x, 0) + np.sort(x)[0],
    "pad": lambda x: np.pad(x, 1),
    "written": lambda x: (lambda y: (y.__setitem__(0, x[1]), y)[1])(x.copy()),
    "converted": lambda x: x.astype(">f4") * 2,
}


@pytest.mark.parametrize("what", BIG_ENDIAN)
def test_another_byte_order_is_right(what: str) -> None:
    """As an argument, captured, and in the derivative; results are in the machine's own order."""
    f, x = BIG_ENDIAN[what], MATRIX[[0, 1, 2, 0]] + np.arange(4.0)[:, None]
    swapped = x.astype(x.dtype.newbyteorder())
    want, loss = f(x), lambda x: np.sum(f(x) ** 2)
    for got in (wg.jit(f)(swapped), wg.jit(lambda y: f(swapped) + y)(0.0)):
        assert got.dtype == want.dtype.newbyteorder("=")
        np.testing.assert_allclose(got, want, rtol=1e-6)
    for gradient in (wg.grad(loss), wg.jit(wg.grad(loss))):
        np.testing.assert_allclose(gradient(swapped).astype(float), gradient(x), rtol=1e-6)


def test_arrays_in_another_byte_order_are_written_as_numpy_writes_them() -> None:
    """A reshape of one that is not contiguous is a copy; one of shape () is an array."""

    def f(x: Any, y: Any) -> Any:
        flat = x.reshape(-1)
        flat[0] = 7
        y[...] = 3 * y
        return x, flat, y

    for x in (MATRIX, MATRIX.T, MATRIX[:, ::2], MATRIX[::-1]):
        y = np.array(2.0, ">f8")
        swapped = np.repeat(x.astype(">f8"), 2, 0)[::2] if not x.flags.c_contiguous else x.astype(">f8")
        want = f(swapped.copy() if swapped.flags.c_contiguous else np.repeat(swapped, 2, 0)[::2], y.copy())
        for got, expected in zip(wg.jit(f)(swapped, y), want, strict=True):
            np.testing.assert_array_equal(got, expected)


LAYOUTS_ONLY = ("transposed", "reversed", "every second", "broadcast", "unaligned", "read-only", "a subarray")


@pytest.mark.parametrize("what", [w for w in UNUSUAL if w not in (*LAYOUTS_ONLY, "unaligned and reversed")])
def test_a_program_refuses_what_it_was_not_made_for(what: str) -> None:
    program = wg.jit(poly).program(MATRIX)
    with pytest.raises((wg.errors.ShapeError, wg.errors.DTypeError)):
        program(UNUSUAL[what])
    np.testing.assert_array_equal(program(MATRIX), poly(MATRIX))


@pytest.mark.parametrize("what", LAYOUTS_ONLY)
def test_a_program_takes_any_layout_of_its_type(what: str) -> None:
    np.testing.assert_array_equal(wg.jit(poly).program(MATRIX)(UNUSUAL[what]), poly(UNUSUAL[what]))


def test_a_program_refuses_another_structure() -> None:
    program = wg.jit(lambda p, x: p["a"] * x).program({"a": MATRIX}, MATRIX)
    wrong: list[tuple[Any, ...]] = [
        (),
        ({"a": MATRIX},),
        ({"a": MATRIX}, MATRIX, MATRIX),
        ({"b": MATRIX}, MATRIX),
        ({"a": MATRIX, "b": MATRIX}, MATRIX),
        ([MATRIX], MATRIX),
        (MATRIX, MATRIX),
        ({"a": None}, MATRIX),
        ({"a": "text"}, MATRIX),
        ({"a": [MATRIX]}, MATRIX),
    ]
    for args in wrong:
        with pytest.raises((wg.errors.StructureError, wg.errors.ShapeError, wg.errors.DTypeError)):
            program(*args)
    with pytest.raises(wg.errors.StructureError):
        program({"a": MATRIX}, MATRIX, other=MATRIX)
    np.testing.assert_array_equal(program({"a": MATRIX}, MATRIX), MATRIX**2)


def test_results_that_share_memory_can_be_arguments() -> None:
    """They are made read-only while a function is traced, and writeable again."""
    w, b = wg.jit(lambda w, b: (w * 2, b + 1))(np.ones(3), np.zeros(1))
    assert w.base is b.base is not None
    assert wg.jit(lambda w, b: w @ w + b)(w, b) == 13
    np.testing.assert_array_equal(wg.grad(lambda w, b: np.sum(w * b))(w, b), [1, 1, 1])
    with pytest.raises(ZeroDivisionError):
        wg.jit(lambda w: w * (1 / 0))(w)
    w[0] = b[0] = 5
    assert memoryview(w.base).nbytes >= w.nbytes + b.nbytes


@pytest.mark.parametrize("n", [6, 6000])  # kept as they are, or read where they lie
def test_arrays_that_numpy_would_not_make_writeable_again_are_not_made_read_only(n: int) -> None:
    a = np.arange(float(n))
    strided = np.lib.stride_tricks.as_strided(a, (n - 1, 2), (8, 8))
    want = np.sum(strided, 0)
    np.testing.assert_array_equal(wg.jit(lambda s: np.sum(s, 0))(strided), want)
    np.testing.assert_array_equal(wg.jit(lambda x: np.sum(strided, 0) * x)(1.0), want)
    np.testing.assert_array_equal(wg.grad(lambda x, s: np.sum(x * s))(np.ones(2), strided), want)
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x * strided))(np.ones(2)), want)
    assert strided.flags.writeable and a.flags.writeable


@pytest.mark.parametrize("is_view_first", [True, False])
def test_an_array_and_a_view_of_it_are_writeable_again(is_view_first: bool) -> None:
    a = np.ones(4)
    pair = (a[1:], a) if is_view_first else (a, a[1:])
    np.testing.assert_array_equal(
        wg.grad(lambda x, y: np.sum(x) * np.sum(y))(*pair), np.full(pair[0].size, pair[1].size)
    )
    assert all(x.flags.writeable for x in pair)


def test_too_many_or_too_few_arguments_of_a_jitted_function() -> None:
    step = wg.jit(poly)
    step(MATRIX)
    for args in ((), (MATRIX, MATRIX)):
        with pytest.raises(TypeError):
            step(*args)
    with pytest.raises(TypeError):
        step(MATRIX, nothing=1)
    np.testing.assert_array_equal(step(MATRIX), poly(MATRIX))


@pytest.mark.parametrize(
    "out",
    [
        np.empty((3, 3)),
        np.empty((3, 4), "f"),
        np.empty((3, 4), ">f8"),
        read_only(MATRIX),
        [np.empty((3, 4))],
        "text",
        np.empty(12),
    ],
    ids=["shape", "dtype", "byte order", "read-only", "structure", "no array", "axes"],
)
def test_an_out_that_does_not_fit_is_refused(out: Any) -> None:
    step = wg.jit(poly)
    step(MATRIX)
    with pytest.raises((wg.errors.StructureError, wg.errors.ShapeError, wg.errors.DTypeError)):
        step(MATRIX, out=out)
    y = np.empty((3, 4))
    assert step(MATRIX, out=y) is y
    np.testing.assert_array_equal(y, poly(MATRIX))


def test_an_out_that_is_an_argument() -> None:
    """Where the result overlaps with what is read, all is read first."""
    x = MATRIX.copy()
    step = wg.jit(lambda x: np.cumsum(x[::-1], axis=0))
    want = step(x)
    step(x, out=x)
    np.testing.assert_array_equal(x, want)
    wide = np.arange(20.0)
    shifted = wg.jit(lambda x: x + 1)
    shifted(wide[:10])
    shifted(wide[:10], out=wide[5:15])
    np.testing.assert_array_equal(wide[5:15], np.arange(1.0, 11.0))


# -------------------------------------------------------------------------------------------------- when things fail


def test_out_of_memory_is_an_error_and_no_more() -> None:
    n = 1 << 22
    step = wg.jit(lambda x: np.sum(np.cumsum(x[:, None] * x[None, :], axis=0)))
    assert step(np.ones(3)) == 18.0
    for _ in range(2):
        with pytest.raises(MemoryError):
            step(np.ones(n))
        assert step(np.ones(3)) == 18.0
    large = wg.jit(lambda x: x[:, None] * x[None, :])
    with pytest.raises(MemoryError):
        large(np.ones(n))
    np.testing.assert_array_equal(large(np.ones(2)), np.ones((2, 2)))


class Trouble(Exception):
    pass


def test_an_exception_in_a_callback_passes_through() -> None:
    raises = [False]
    error = Trouble("on purpose")

    @wg.primitive
    def twice(x: Any) -> Any:
        if raises[0]:
            raise error
        return 2 * x

    @twice.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        return (2 * ct,)

    step = wg.jit(wg.value_and_grad(lambda x: np.sum(np.sin(twice(np.cos(x))))))
    x = np.linspace(0, 1, 5)
    before = step(x)
    count = sys.getrefcount(x)
    for _ in range(3):
        raises[0] = True
        with pytest.raises(Trouble) as seen:
            step(x)
        assert seen.value is error
        del seen
        raises[0] = False
        again = step(x)
        assert again[0] == before[0]
        np.testing.assert_array_equal(again[1], before[1])
    error.__traceback__ = None
    assert sys.getrefcount(x) == count


def test_a_singular_matrix_raises_what_numpy_raises() -> None:
    step = wg.jit(lambda a, b: np.linalg.solve(a, b) + 1.0)
    good = np.eye(3) * 2
    np.testing.assert_array_equal(step(good, np.ones(3)), np.full(3, 1.5))
    with pytest.raises(np.linalg.LinAlgError):
        step(np.zeros((3, 3)), np.ones(3))
    np.testing.assert_array_equal(step(good, np.ones(3)), np.full(3, 1.5))
    with pytest.raises(np.linalg.LinAlgError):
        wg.jit(np.linalg.cholesky)(-np.eye(3))


def test_an_index_out_of_bounds_raises_what_numpy_raises() -> None:
    step = wg.jit(lambda x, i: x[i] * 2.0)
    x = np.arange(5.0)
    np.testing.assert_array_equal(step(x, np.array([0, -1])), [0.0, 8.0])
    for bad in (np.array([0, 5]), np.array([-6, 0])):
        with pytest.raises(IndexError):
            step(x, bad)
    np.testing.assert_array_equal(step(x, np.array([0, -1])), [0.0, 8.0])


def test_an_index_into_an_empty_array_is_out_of_bounds() -> None:
    def written(x: Any, i: Any) -> Any:
        y = x.copy()
        y[i] = 0.5
        return y

    with pytest.raises(IndexError):
        wg.jit(written)(np.zeros(0), np.array([0]))
    with pytest.raises(IndexError):
        wg.jit(lambda x, i: x[i])(np.zeros(0), np.array([0]))
    assert wg.jit(written)(np.zeros(0), np.zeros(0, np.intp)).shape == (0,)
