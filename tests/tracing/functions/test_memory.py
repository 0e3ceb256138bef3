"""Flags, strides, and views that strides say, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import wengert as wg
from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import case, floats, verify
from wengert.errors import MutationError, UnsupportedFunctionError

X, A = floats(12), floats(3, 4)
SINGLE = X.astype(np.float32)
CAPTURED = floats(2, 3).T

NAMES = ["c_contiguous", "f_contiguous", "contiguous", "fortran", "fnc", "forc", "aligned", "behaved", "carray"]
NAMES += ["farray", "writeable", "writebackifcopy"]
KEYS = ["C", "F", "A", "W", "X", "B", "CA", "FA", "FNC", "FORC", "C_CONTIGUOUS", "WRITEABLE"]


def flags(x: Any) -> list[bool]:
    return [getattr(x.flags, name) for name in NAMES] + [x.flags[key] for key in KEYS]


@pytest.mark.parametrize("a", [A, floats(4, 3).T, floats(3, 6)[:, ::2], floats(1, 3), np.zeros((0, 3))])
def test_flags_and_strides_of_arguments_views_and_constants(a: Any) -> None:
    def f(x: Any) -> Any:
        views = (x, x.T, x[1:], x[:, 1:], x[:, ::-1], np.broadcast_to(x, (2, *x.shape)), x[None], x.reshape(-1, 3))
        made = (np.zeros((3, 2)), np.zeros((3, 2), order="F"), np.ascontiguousarray(x.T))
        every = (*views, *made)
        return np.array([flags(y) for y in every]), np.array([(*y.strides[-2:], y.ndim) for y in every if y.size])

    for found, expected in zip(wg.jit(f, strict=True)(a), f(a), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_flags_and_strides_of_scalars_and_captured_arrays() -> None:
    def f(x: Any) -> Any:
        tells = np.array([*flags(x[0]), *flags(CAPTURED)[:6], np.isfortran(CAPTURED), *x[0].strides, *CAPTURED.strides])
        return tells, x.to_device(x.device), x * (CAPTURED + 1).strides[0] if x.ndim > 1 else x

    as_numpy(f, X)


def test_the_order_of_a_result_that_is_not_worked_out_is_not_told() -> None:
    for f in (lambda x: (x.T + x.T).strides, lambda x: (x.T + x.T).flags.c_contiguous):
        with pytest.raises(UnsupportedFunctionError, match=r"(?s)order is not known.*ascontiguousarray"):
            wg.jit(f, strict=True)(A)
    with pytest.raises(UnsupportedFunctionError, match=r"np\.isfortran is not traced: ndarray\.flags"):
        wg.jit(lambda x: np.isfortran(x.T + x.T), strict=True)(A)
    for f in (lambda x: x.flags.owndata, lambda x: x.flags["O"], lambda x: x.flags.num):
        with pytest.raises(UnsupportedFunctionError, match="is not known"):
            wg.jit(f, strict=True)(X)
    with pytest.raises(AttributeError):
        wg.jit(lambda x: x.flags.c, strict=True)(X)
    with pytest.raises(KeyError):
        wg.jit(lambda x: x.flags["c"], strict=True)(X)


def test_an_array_is_locked_and_unlocked() -> None:
    def f(x: Any) -> Any:
        y, z, w = x * 2, x + 1, x * 3
        y.flags.writeable = False
        try:
            y[0] = 1.0
        except ValueError:
            y = y * 3
        z.setflags(write=False)
        z.setflags(write=True)
        z[0] = 9.0
        w.flags["WRITEABLE"] = False
        try:
            w[1:].flags.writeable = True
        except ValueError:
            z[1] = 7.0
        return y, z, w

    as_numpy(f, X)
    for f in (lambda x: x.setflags(align=True), lambda x: setattr(x.flags, "aligned", True)):
        with pytest.raises(UnsupportedFunctionError):
            wg.jit(f, strict=True)(X)


STRIDED = [
    case("windows", lambda x: as_strided(x, (10, 3), (8, 8)) ** 2, X),
    case("windows by its own strides", lambda x: np.sin(as_strided(x, (5, 4), (2 * x.strides[0], x.strides[0]))), X),
    case("once", lambda x: as_strided(x, (3, 4), (8, 24)) ** 2, X),
    case("every third", lambda x: as_strided(x, (4,), (24,)) ** 2, X),
    case("repeated", lambda x: as_strided(x, (4, 3, 2), (0, 8, 0)) ** 2, X),
    case("one, repeated", lambda x: as_strided(x, (4, 3), (0, 0)) ** 2, X),
    case("without axes", lambda x: as_strided(x, (), ()) ** 2, X),
    case("as it is", lambda x: as_strided(x) ** 2, A),
    case("nothing", lambda x: as_strided(x, (0, 3), (8, 8)), X),
    case("blocks", lambda x: as_strided(x, (2, 3, 2, 2), (*x.strides, *x.strides)) ** 2, A),
    case("diagonal", lambda x: as_strided(x, (3,), (sum(x.strides),)) ** 2, A),
    case("of a part", lambda x: as_strided(x[2:], (3, 4), (16, 8)) ** 2, X),
    case("backwards", lambda x: as_strided(x[4:], (3, 2), (-8, 16)) ** 2, X),
    case("of what runs backwards", lambda x: as_strided(x[::-1], (5, 3), (2 * x[::-1].strides[0], 8 * -1)) ** 2, X),
    case("of a turned matrix", lambda x: as_strided(x.T, (2, 2, 3), (*x.T.strides, 8)) ** 2, A),
    case("blocks of a part", lambda x: as_strided(x[1:, 1:], (1, 2, 2, 2), (*x.strides, *x.strides)) ** 2, A),
    case("beyond a part", lambda x: as_strided(x[2:4], (2, 6), (8, 8)) ** 2, X),
    case("long windows", lambda x: as_strided(x, (8, 70), (8, 8)) ** 2, floats(80), order=1),
]


@pytest.mark.sampled(3, "a tenth of a second each")
@pytest.mark.parametrize(("f", "args", "order"), STRIDED)
def test_strided(f: Any, args: Any, order: int) -> None:
    as_numpy(f, *args)
    if order:
        wg.check_derivatives(f, *args, order=order)
    np.testing.assert_allclose(wg.vmap(f)(np.stack([args[0], -args[0]])), [f(args[0]), f(-args[0])], rtol=1e-14)


def test_of_a_part_at_a_traced_place() -> None:
    """Where such a part begins is not known, so that nothing beyond it is read."""
    row = lambda x, i: as_strided(np.reshape(x, (3, 4))[i, 1:], (2, 2), (8, 8))
    column = lambda x, i: np.reshape(x, (3, 4))[1:, i]
    for i in (0, 2):
        np.testing.assert_array_equal(wg.jit(row, strict=True)(X, i), row(X, i))
        np.testing.assert_array_equal(wg.jit(lambda x, i: x * column(x, i).strides[0], strict=True)(X, i), X * 32)
    for f in (lambda x, i: as_strided(column(x, i), (2,), (8,)), lambda x, i: as_strided(row(x, i), (4,), (8,))):
        for g in (f, lambda x, i, f=f: wg.vmap(lambda i: f(x, i))(np.stack([i, i]))):
            with pytest.raises(UnsupportedFunctionError, match="as_strided"):
                wg.jit(g, strict=True)(X, 1)
    np.testing.assert_array_equal(
        wg.jit(lambda x, i: wg.vmap(lambda i: row(x, i))(i), strict=True)(X, np.array([2, 0])), [row(X, 2), row(X, 0)]
    )


def test_strides_are_bytes() -> None:
    verify(lambda x: as_strided(x, (3, 2), (x.itemsize, 2 * x.itemsize)), [X], order=0)
    as_numpy(lambda x: as_strided(x, (3, 4), (4, 12)), SINGLE)
    as_numpy(lambda x: as_strided(x, (3, 4), (1, 3)), np.arange(12) > 5)


def test_a_strided_view_sees_writes_and_is_not_written() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        v = as_strided(y, (3, 2), (8, 8))
        y[1] = 100.0
        return v

    as_numpy(f, X)

    def of_a_constant(s: Any) -> Any:
        c = np.array([4.0, 3.0, 2.0, 1.0])
        v = as_strided(c, (2,), (16,))
        c[2] = 7.0
        before = np.sum(v)
        c[0] = s
        return before * np.sum(v)

    as_numpy(of_a_constant, 2.0)
    assert wg.grad(of_a_constant)(2.0) == 11.0
    with pytest.raises(MutationError, match="as_strided"):
        wg.jit(lambda x: as_strided(x, (3, 2), (8, 8)).__setitem__(0, 1.0), strict=True)(X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: as_strided(x, (7, 3), (8, 24)),
        lambda x: as_strided(x[2:], (11,), (8,)),
        lambda x: as_strided(x[::-1], (3,), (8,)),
        lambda x: as_strided(x[1:], (3,), (-8,)),
        lambda x: as_strided(x, (3,), (4,)),
        lambda x: as_strided(np.asfortranarray(np.reshape(x, (3, 4))), (3,), (8,)),
        lambda x: as_strided((x + 1j).imag, (3,), (16,)),
    ],
)
def test_what_is_not_an_element_is_not_read(f: Any) -> None:
    with pytest.raises(UnsupportedFunctionError, match="as_strided"):
        wg.jit(f, strict=True)(X)


def test_strides_and_lengths_are_as_many() -> None:
    with pytest.raises(ValueError, match="mismatch"):
        wg.jit(lambda x: as_strided(x, (3, 2), (8,)), strict=True)(X)
