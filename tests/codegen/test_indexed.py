"""Index arrays, running reductions, places of extremes and LAPACK: native, and what the NumPy references give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.codegen import compiler, strides
from wengert.ops import index, linalg
from wengert.runtime import _native
from wengert.tape import Aval, Builder, Tape, Var, building

DTYPES = ["f8", "f4", "i8", "i4", "u1", "b1"]
NAN = float("nan")


@pytest.fixture(autouse=True)
def no_cache() -> Iterator[None]:
    """Nothing is read from disk: these tests are of the code as it is now."""
    before, config.cache_dir = config.cache_dir, ""
    yield
    config.cache_dir = before


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    if dtype == "b1":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype[0] == "f":
        return rng.normal(size=shape).astype(dtype)
    return rng.integers(0 if dtype[0] == "u" else -9, 9, shape).astype(dtype)


def native(function: Callable[..., Any], *args: Any) -> Any:
    """A program of ``function``, none of whose kernels calls Python back."""
    program = wg.compile(wg.trace(function)(*args))
    assert [k for k in program.kernels if k.kind == "callback"] == []
    return program


def check(function: Callable[..., Any], *args: Any) -> None:
    """The program does bit for bit what its tape does through the references, and what NumPy does."""
    program = native(function, *args)
    config.native = False
    try:
        reference = wg.compile(program.tape)
    finally:
        config.native = True
    got, through_tape = np.asarray(program(*args)), np.asarray(reference(*args))
    with np.errstate(all="ignore"):
        wanted = np.asarray(function(*[np.array(a) for a in args]))
    for want in (through_tape, wanted):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


# ------------------------------------------------------------------------------------------------ index arrays


def places(shape: tuple[int, ...], length: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Indices of an axis: repeated ones, and negative ones."""
    return np.random.default_rng(seed).integers(-length, length, shape)


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


def written(x: Any, v: Any, *indices: Any) -> Any:
    y = np.array(x)
    y[indices] = v
    return y


def added(x: Any, v: Any, *indices: Any) -> Any:
    y = np.array(x)
    np.add.at(y, indices, v)
    return y


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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("write", [written, added])
@pytest.mark.parametrize("what", SCATTERS)
def test_scatter(what: str, write: Callable[..., Any], dtype: str) -> None:
    shape, v_shape, indices = SCATTERS[what]
    check(write, numbers(shape, dtype), numbers(v_shape, dtype, 5), *indices)


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


# ------------------------------------------------------------------------------------------ running reductions

RUNNING = {
    "cumsum": lambda x, axis: np.cumsum(x, axis, dtype=x.dtype),
    "cumprod": lambda x, axis: np.cumprod(x, axis, dtype=x.dtype),
    "cummax": lambda x, axis: np.maximum.accumulate(x, axis),
    "cummin": lambda x, axis: np.minimum.accumulate(x, axis),
}
SHAPES = [((1,), 0), ((67,), 0), ((0,), 0), ((40, 33), 0), ((40, 33), 1), ((3, 5, 19), 1), ((5, 1, 3), 0), ((1, 2), 1)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("what", RUNNING)
def test_running_reductions(what: str, dtype: str) -> None:
    for shape, axis in SHAPES:
        x = numbers(shape, dtype)
        if x.size:
            check(lambda x, axis=axis: RUNNING[what](x, axis), x)
        else:
            assert native_or_nothing(lambda x, axis=axis: RUNNING[what](x, axis), x).shape == shape


def native_or_nothing(function: Callable[..., Any], x: np.ndarray[Any, Any]) -> Any:
    program = wg.compile(wg.trace(function)(x))
    assert program.kernels == ()
    return program(x)


@pytest.mark.parametrize("what", RUNNING)
def test_running_reductions_of_strided_arrays(what: str) -> None:
    x = numbers((12, 10, 9), "f8")
    for axis in range(3):
        check(lambda x, axis=axis: RUNNING[what](x.T, axis), x)
        check(lambda x, axis=axis: RUNNING[what](x[::-1, ::2, 1::3], axis), x)
        check(lambda x, axis=axis: RUNNING[what](np.broadcast_to(x[:1], x.shape), axis), x)


@pytest.mark.parametrize("what", RUNNING)
def test_running_reductions_of_special_values(what: str) -> None:
    x = np.array([-0.0, -0.0, 0.0, 3.0, np.inf, -np.inf, NAN, 1.0])
    check(lambda x: RUNNING[what](x, 0), x)
    check(lambda x: RUNNING[what](x, 0), x[:2])
    assert np.signbit(native(lambda x: np.cumsum(x), x)(x)[1])
    check(lambda x: RUNNING[what](x, 1), np.stack([x, x[::-1], np.roll(x, 3), x, x]))
    check(lambda x: RUNNING[what](x, 0), np.stack([x, x[::-1], np.roll(x, 3), x, x]))


def test_a_running_reduction_overwrites_what_dies_with_it() -> None:
    x = numbers((40, 33), "f8")
    for axis in (0, 1):
        program = native(lambda x, axis=axis: np.cumsum(np.cumsum(x * 2.0, axis) * 3.0, axis) + 1.0, x)
        assert program.arena_bytes < x.nbytes + 2 * 64
        want = np.cumsum(np.cumsum(x * 2.0, axis) * 3.0, axis) + 1.0
        np.testing.assert_array_equal(program(x), want)


def test_a_running_sum_adds_from_left_to_right() -> None:
    x = np.array([2.0**53, 1.0, 1.0, -(2.0**53)])
    np.testing.assert_array_equal(native(np.cumsum, x)(x), [2.0**53, 2.0**53, 2.0**53, 0.0])


@pytest.mark.parametrize("shape", [(41,), (6, 41), (41, 6), (5, 4, 17)])
def test_the_derivative_of_a_running_product_is_a_native_recurrence(shape: tuple[int, ...]) -> None:
    x = numbers(shape, "f8")
    for axis in range(len(shape)):
        check(wg.grad(lambda x, axis=axis: np.sum(np.cumprod(x, axis) * 3.0)), x)


# ----------------------------------------------------------------------------------------- places of extremes


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [np.argmax, np.argmin])
def test_the_first_extreme(function: Callable[..., Any], dtype: str) -> None:
    for shape in [(1,), (7,), (16,), (300,), (40, 33), (33, 4), (3, 50, 6), (2, 1, 20)]:
        x = numbers(shape, dtype)  # integers and booleans have many ties
        for axis in range(len(shape)):
            check(lambda x, axis=axis: function(x, axis), x)
            check(lambda x, axis=axis: function(x.T, axis), x)
            check(lambda x, axis=axis: function(x[::-1, ...], axis), x)
        check(lambda x: function(x), x)


@pytest.mark.parametrize("function", [np.argmax, np.argmin])
def test_a_nan_is_the_first_extreme(function: Callable[..., Any]) -> None:
    for n in (5, 40, 133):
        for at in ([], [0], [n - 1], [3, 4], [n // 2, 2, n - 1]):
            x = np.full(n, -np.inf)
            x[1::7] = np.inf
            x[at] = NAN
            check(lambda x: function(x), x)
            check(lambda x: function(x, 0), np.stack([x] * 11, 1))
            check(lambda x: function(x, 0), np.stack([x] * 3, 1))


def test_extremes_of_equal_elements_are_the_first() -> None:
    for n in (1, 9, 32, 100):
        for value in (0.0, np.inf, -np.inf, NAN):
            check(lambda x: np.argmax(x), np.full(n, value))
            check(lambda x: np.argmin(x), np.full(n, value))
    check(lambda x: np.argmax(x), np.array([-0.0, 0.0] * 20))


def test_an_extreme_of_nothing_raises() -> None:
    with pytest.raises(ValueError, match="empty"):
        np.argmax(np.zeros((3, 0)), 1)
    with pytest.raises(ValueError, match="empty"):
        wg.jit(lambda x: np.argmax(x, 1))(np.zeros((3, 0)))


# ------------------------------------------------------------------------------- what is not zero, sorted tables


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero(dtype: str) -> None:
    for shape in [(1,), (7,), (8,), (300,), (5, 33), (33, 5), (3, 1, 9)]:
        x = numbers(shape, dtype)
        if dtype[0] == "f":
            x[x < 0] = 0
        for function in (lambda x: np.nonzero(x), lambda x: np.nonzero(x.T), lambda x: np.nonzero(x[::-1, ...])):
            for k in range(x.ndim):
                check(lambda x, f=function, k=k: f(x)[k], x)
    check(lambda x: np.flatnonzero(x), np.ones(41, dtype))
    check(lambda x: np.flatnonzero(x)[0] + 0, np.eye(1, 41, 40, dtype=dtype)[0])


def test_a_nan_is_not_zero_and_a_negative_zero_is() -> None:
    check(lambda x: np.flatnonzero(x), np.array([0.0, NAN, -0.0, 1.0, -NAN]))


def test_another_number_of_nonzero_elements_raises() -> None:
    program = of_op(lambda x: index.nonzero(x, size=3), np.zeros(20, bool))
    assert [k.kind for k in program.kernels] == ["loops"]
    mask = np.zeros(20, bool)
    for true in ([1, 2], [3, 4, 5, 19], range(20), []):
        mask[:] = False
        mask[list(true)] = True
        with pytest.raises(ValueError, match=f"nonzero: {len(true)} elements are true; the tape was made for 3"):
            program(mask)
    mask[[0, 9, 19]] = True
    np.testing.assert_array_equal(program(mask)[0], [0, 9, 19])


def test_masks() -> None:
    x = np.linspace(-1, 1, 50)
    check(lambda x: x[x > 0.3] * 2, x)
    check(wg.grad(lambda x: np.sum(np.sin(x[x > 0.3]))), x)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_search_in_a_sorted_table(side: str, dtype: str) -> None:
    for length in (1, 2, 3, 7, 8, 9, 100):
        table = np.sort(numbers((length,), dtype, 3))  # of integers and booleans, with many equal elements
        values = np.concatenate([table, numbers((39,), dtype, 4)])
        check(lambda t, v: np.searchsorted(t, v, side), table, values)
        check(lambda t, v: np.searchsorted(t[::2], v[::3], side), table, values)
        check(lambda t, v: np.searchsorted(t, v[0], side), table, values)
    check(lambda t, v: np.searchsorted(t, v, side), table, numbers((6, 7), dtype))
    check(lambda t, v: np.searchsorted(t, v.T, side), table, numbers((6, 7), dtype))


@pytest.mark.parametrize("side", ["left", "right"])
def test_search_for_special_values(side: str) -> None:
    table = np.array([-np.inf, -0.0, 0.0, 1.0, np.inf, NAN, NAN])
    values = np.array([NAN, np.inf, -np.inf, 0.0, -0.0, 0.5, 2.0, -NAN, 1.0])
    for n in range(1, 8):
        check(lambda t, v: np.searchsorted(t, v, side), table[:n], values)
        check(lambda t, v: np.searchsorted(t, v[7], side), table[:n], values)


# -------------------------------------------------------------------------------------------------- LAPACK


def close(function: Callable[..., Any], *args: Any) -> None:
    """As NumPy has it, but for the rounding of another LAPACK."""
    got, wanted = native(function, *args)(*args), function(*args)
    for g, w in zip(*[x if isinstance(x, tuple) else (x,) for x in (got, wanted)], strict=True):
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-10 if args[0].dtype == "f8" else 2e-3, atol=1e-12)


def well_conditioned(*shape: int, dtype: str = "f8") -> np.ndarray[Any, Any]:
    n = shape[-1]
    return numbers(shape, dtype) + (n * np.eye(n)).astype(dtype)


ALGEBRA: dict[str, Callable[..., Any]] = {
    "solve": np.linalg.solve,
    "solve a transpose": lambda a, b: np.linalg.solve(np.swapaxes(a, -1, -2), b),
    "inv": lambda a, b: np.linalg.inv(a),
    "inv of a view": lambda a, b: np.linalg.inv(a[..., ::-1, :]),
    "slogdet": lambda a, b: tuple(np.linalg.slogdet(a)),
    "det": lambda a, b: np.linalg.det(a),
    "cholesky": lambda a, b: np.linalg.cholesky(a @ np.swapaxes(a, -1, -2)),
    "grad of solve": wg.grad(lambda a, b: np.sum(np.sin(np.linalg.solve(a, b))), argnums=(0, 1)),
    "grad of slogdet": wg.grad(lambda a, b: np.sum(np.linalg.slogdet(a)[1])),
    "grad of cholesky": wg.grad(lambda a, b: np.sum(np.cos(np.linalg.cholesky(a @ np.swapaxes(a, -1, -2))))),
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("what", ALGEBRA)
def test_linear_algebra(what: str, dtype: str) -> None:
    for stack in ((), (3,), (2, 3)):
        for n, k in ((1, 1), (2, 3), (7, 2), (20, 1)):
            close(ALGEBRA[what], well_conditioned(*stack, n, n, dtype=dtype), numbers((*stack, n, k), dtype))


def of_op(make: Callable[..., Any], *args: np.ndarray[Any, Any]) -> Any:
    """A native program of one op, without its traced function."""
    inputs = tuple([Var(Aval(a.shape, a.dtype)) for a in args])
    builder = Builder()
    with building(builder):
        out = make(*inputs)
    program = wg.compile(Tape(inputs, (), tuple(builder.instrs), (out,)))
    assert [k for k in program.kernels if k.kind == "callback"] == []
    return program


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_triangular_solutions_read_one_triangle(lower: bool, transpose: bool, dtype: str) -> None:
    for stack in ((), (4,)):
        for n, k in ((1, 1), (6, 2), (25, 3)):
            a, b = well_conditioned(*stack, n, n, dtype=dtype), numbers((*stack, n, k), dtype)
            triangle = np.tril(a) if lower else np.triu(a)
            noise = np.where(triangle == a, a, NAN).astype(dtype)
            program = of_op(lambda a, b: linalg.triangular_solve(a, b, lower=lower, transpose=transpose), noise, b)
            whole = np.swapaxes(triangle, -1, -2) if transpose else triangle
            tolerance = 1e-12 if dtype == "f8" else 1e-5
            np.testing.assert_allclose(program(noise, b)[0], np.linalg.solve(whole, b), tolerance, tolerance)
            triangle[..., n // 2, n // 2] = 0
            with pytest.raises(np.linalg.LinAlgError, match="singular"):
                program(triangle, b)


def test_determinants_of_empty_and_singular_matrices() -> None:
    close(lambda a: np.linalg.det(a), np.zeros((3, 0, 0)))
    close(lambda a: tuple(np.linalg.slogdet(a)), np.zeros((0, 0)))
    close(lambda a: np.linalg.det(a), np.ones((4, 3, 3)))
    close(lambda a: tuple(np.linalg.slogdet(a)), np.zeros((2, 3, 3)))


@pytest.mark.parametrize("function", [np.linalg.inv, lambda a: np.linalg.solve(a, a), np.linalg.cholesky])
def test_what_lapack_refuses_raises_what_numpy_raises(function: Callable[..., Any]) -> None:
    bad = np.stack([np.eye(3), np.diag([1.0, 0.0, -1.0])])
    program = native(function, np.stack([np.eye(3)] * 2))
    with pytest.raises(np.linalg.LinAlgError) as wanted:
        function(bad)
    with pytest.raises(np.linalg.LinAlgError) as got:
        program(bad)
    assert str(got.value) == str(wanted.value)


def test_the_work_area_of_a_routine_is_large_enough() -> None:
    for n, k in ((1, 1), (5, 3), (30, 1), (3, 40)):
        for dtype, suffix in (("f8", "f64"), ("f4", "f32")):
            a, b = well_conditioned(n, n, dtype=dtype), numbers((n, k), dtype)
            for routine, function in (
                ("gesv", lambda a, b: np.linalg.solve(a, b)),
                ("inv", lambda a, b: np.linalg.inv(a)),
                ("det", lambda a, b: np.linalg.det(a)),
                ("slogdet", lambda a, b: np.linalg.slogdet(a)[1]),
            ):
                made = native(function, a, b).plan
                (work,) = [s.work for s in made.steps if s.work is not None]
                assert work.aval.nbytes >= _native.work_bytes(f"{routine}_{suffix}", n, k)


# -------------------------------------------------------------------------------------------------- the kernels


def test_one_kernel_serves_every_length() -> None:
    def run(n: int, m: int, rows: int) -> None:
        x = numbers((n, m), "f8")
        i = places((rows,), n)
        check(lambda x, i: x[i] * 2.0, x, i)
        check(lambda x, i: np.cumsum(x, 0), x, i)
        check(lambda x, i: np.argmax(x, 1), x, i)

    run(20, 300, 70)
    before = compiler.Counters.compiled
    run(33, 400, 80)
    assert compiler.Counters.compiled == before


def test_dimensions_that_lie_one_within_the_other_are_one() -> None:
    assert strides.merged([2, 3, 1, 4], [[12, 4, 7, 1], [0, 0, 0, 0]]) == ([24], [[1], [0]])
    assert strides.merged([2, 3, 4], [[12, 4, 1], [3, 1, 0]]) == ([6, 4], [[4, 1], [1, 0]])
    assert strides.merged([1, 1], [[5, 1]]) == ([], [[]])


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_vectors_of_other_processors(vector_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same results from vectors of another width: kernels of their own, as the key says what they are for."""
    other = replace(compiler.target(), vector_bytes=vector_bytes)
    monkeypatch.setattr(compiler, "target", lambda: other)
    monkeypatch.setattr(compiler, "_stamp", lambda: b"%d" % vector_bytes)
    for dtype in ("f8", "f4", "u1"):
        x, v, i = numbers((41, 37), dtype), numbers((53, 37), dtype, 2), places((53,), 41)
        check(lambda x, i: x[i], x, i)
        check(lambda x, i: x[i, 3], x, i)
        check(lambda x, i: x[:, 3][i], x, i)
        check(written, x, v, i)
        check(added, x, v, i)
        for axis in (0, 1):
            check(lambda x, axis=axis: np.maximum.accumulate(x, axis), x)
            check(lambda x, axis=axis: np.argmin(x, axis), x)
        check(lambda x: np.flatnonzero(x > 1), x)
        check(lambda x, v: np.searchsorted(x, v), np.sort(x[0]), v)
