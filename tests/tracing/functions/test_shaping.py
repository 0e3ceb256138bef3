"""Reshape, transpose, broadcast and flip against NumPy, and writes through the views that they return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import case, floats, integers, same_as_numpy, verify
from wengert.errors import MutationError, UnsupportedFunctionError

X = floats(3, 4)
X3 = floats(2, 3, 4)
V = floats(6)

CASES = [
    case("reshape", lambda x: np.reshape(x, (2, -1)), X),
    case("reshape_method", lambda x: (x.reshape(6, 2), x.reshape((4, 3)), x.reshape(-1)), X),
    case("reshape_fortran", lambda x: x.reshape(2, 6, order="F"), X),
    case("reshape_of_transposed", lambda x: x.T.reshape(2, 6), X),
    case("reshape_copy", lambda x: np.reshape(x, (12,), copy=True), X),
    case("reshape_to_0d", lambda x: x[:1].reshape(()), V),
    case("ravel", lambda x: (np.ravel(x), x.ravel(order="F")), X),
    case("flatten", lambda x: (x.flatten(), x.flatten("F")), X),
    case("transpose", lambda x: (np.transpose(x, (2, 0, 1)), x.T, x.transpose(1, 0, 2), x.transpose((0, 2, 1))), X3),
    case("transpose_negative", lambda x: np.transpose(x, (-1, 0, 1)), X3),
    case("swapaxes", lambda x: (np.swapaxes(x, 0, -1), x.swapaxes(1, 2), x.mT), X3),
    case("moveaxis", lambda x: (np.moveaxis(x, 0, -1), np.moveaxis(x, (0, 1), (-1, 0))), X3),
    case("rollaxis", lambda x: (np.rollaxis(x, 2), np.rollaxis(x, 0, 3), np.rollaxis(x, 1, 2)), X3),
    case("matrix_transpose", lambda x: np.matrix_transpose(x), X3),
    case("permute_dims", lambda x: np.permute_dims(x, (1, 0)), X),
    case("squeeze", lambda x: (np.squeeze(x[:1, :, :1]), x[:, :1].squeeze(1), x.squeeze()), X3),
    case("expand_dims", lambda x: (np.expand_dims(x, 0), np.expand_dims(x, (-1, 1))), X),
    case("atleast", lambda x: (np.atleast_1d(x[0, 0]), np.atleast_2d(x[0]), np.atleast_3d(x), np.atleast_3d(x[0])), X),
    case("atleast_several", lambda x: np.atleast_2d(x, x[0], 3.0), X),
    case("broadcast_to", lambda x: np.broadcast_to(x, (2, 3, 4)), X),
    case("broadcast_arrays", lambda x, v: np.broadcast_arrays(x, v, 1.5), X, V[:4]),
    case("flip", lambda x: (np.flip(x), np.flip(x, 1), np.flip(x, (0, -1)), np.fliplr(x), np.flipud(x)), X3),
    case("rot90", lambda x: tuple(np.rot90(x, k) for k in (-1, 0, 1, 2, 3)), X),
    case("rot90_axes", lambda x: np.rot90(x, axes=(1, 2)), X3),
    case("view", lambda x: (x.view(), x.view(x.dtype)), X),
]


@pytest.mark.sampled(3, "a tenth of a second each")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize(("f", "args", "order"), CASES[:8])
def test_integers(f, args, order):
    same_as_numpy(f, [integers(*a.shape) for a in args])


def test_empty_and_0d():
    same_as_numpy(lambda x: (x.reshape(3, 0), x.T, np.ravel(x), np.flip(x), np.expand_dims(x, 1)), [np.zeros((0, 3))])
    same_as_numpy(lambda x: (x.reshape(1, 1), x.T, np.ravel(x), np.squeeze(x), np.flip(x)), [np.array(2.5)])


WRITES = {
    "reshape": lambda x: x.reshape(4, 3),
    "ravel": lambda x: x.ravel(),
    "transpose": lambda x: x.T,
    "transposed_ravel_is_a_copy": lambda x: x.T.ravel(),
    "flatten_is_a_copy": lambda x: x.flatten(),
    "swapaxes_of_reshape": lambda x: x.reshape(2, 2, 3).swapaxes(0, 2),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "squeeze": lambda x: x[:1].squeeze(),
    "flip": lambda x: np.flip(x, 1),
    "rot90": lambda x: np.rot90(x),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "view": lambda x: x.view(),
    "einsum": lambda x: np.einsum("ij->ji", x),
    "real": lambda x: np.real(x),
}


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("make", WRITES.values(), ids=WRITES.keys())
def test_writes_go_through_views_as_in_numpy(make):
    def f(x):
        y = x * 1.0
        z = make(y)
        z[..., 1:] = x[0, 0] * 10
        z *= 2.0
        y[0] += 1.0
        return y, z

    verify(f, [X], order=2)


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("make", WRITES.values(), ids=WRITES.keys())
def test_writes_go_through_views_of_constants(make):
    def f(x):
        y = np.arange(12.0).reshape(3, 4)
        z = make(y)
        z[..., :1] = 7.0
        w = y.copy()
        z[..., 1:] = x[0, 0]
        return y, z, w

    verify(f, [X], order=2)


def test_a_reshaped_scalar_is_no_view():
    def f(x):
        s = np.sum(x)
        r = s.reshape(1)
        r[0] = 3.0
        return s, r

    same_as_numpy(f, [X])


def test_broadcast_views_are_read_only():
    def f(x):
        np.broadcast_to(x, (2, 3, 4))[0] = 1.0

    with pytest.raises(MutationError):
        same_as_numpy_of_writes(f)


def same_as_numpy_of_writes(f):
    from tests.tracing.numpy_cases import record

    record(f, [X])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.reshape(5),
        lambda x: x.reshape(-1, 5),
        lambda x: x.reshape(-1, -1),
        lambda x: np.transpose(x, (0, 0)),
        lambda x: np.squeeze(x, 0),
        lambda x: np.swapaxes(x, 0, 2),
        lambda x: np.broadcast_to(x, (3, 5)),
    ],
)
def test_errors_are_numpys(f):
    with pytest.raises(ValueError):
        f(X)
    with pytest.raises(ValueError):
        same_as_numpy_of_writes(f)


def test_memory_is_shared_where_numpy_shares_it():
    def f(x):
        y = x * 1.0
        shared = [np.shares_memory(y, y.T), np.may_share_memory(y, y.copy()), np.shares_memory(y[:1], y[1:])]
        return [np.array(s) for s in shared]

    same_as_numpy(f, [X])


def test_order_in_memory_is_refused():
    with pytest.raises(UnsupportedFunctionError, match="order='K'"):
        same_as_numpy_of_writes(lambda x: x.ravel(order="K"))


def test_bytes_are_refused():
    with pytest.raises(UnsupportedFunctionError, match="tobytes"):
        same_as_numpy_of_writes(lambda x: x.tobytes())


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


def test_views_of_arrays_that_are_not_traced_are_numpys() -> None:
    """``np.atleast_1d(w, x)`` gave a traced copy of ``w``; what was written into it was lost."""

    def f(x: Any, w: Any) -> Any:
        a, _ = np.atleast_1d(w, x)
        a[0] = 7.0
        return np.sum(w * x)

    w, x = np.array([0.5, 2.0, 0.25]), np.array([1.25, -0.5, 2.0])
    assert wg.vmap(lambda x: f(x, np.copy(w)))(x[None])[0] == f(x, np.copy(w))
    np.testing.assert_array_equal(wg.grad(f)(x, w), [7.0, 2.0, 0.25])
    assert w[0] == 0.5
