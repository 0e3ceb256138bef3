"""Matrix and tensor products and convolution against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import case, floats, integers, record, same_as_numpy, verify
from wengert.errors import ShapeError, UnsupportedFunctionError

A = floats(3, 4)
B = floats(4, 5)
S = floats(4, 4)
X3 = floats(2, 3, 4)
Y3 = floats(2, 4, 5)
V3, V4, V5, V20, V90 = floats(3), floats(4), floats(5), floats(20), floats(90)
FLAGS = np.array([True, False, True])
SIGNED = np.array([1.25, -0.5, 2.0])

CASES = [
    *[case(f"matmul_{x.ndim}_{y.ndim}_{k}", lambda x, y: x @ y, x, y, order=2) for k, (x, y) in enumerate([
        (A, B), (A, V4), (V3, A), (V4, V4), (X3, Y3), (X3, B), (A, Y3), (X3, V4), (V4, Y3),
        (floats(2, 1, 3, 4), floats(5, 4, 2)), (floats(1, 3, 4), Y3),
    ])],
    case("matmul_function", lambda x: np.matmul(x, np.ones((4, 2))), A),
    case("in_place", lambda x, y: _imatmul(x, y), A, S),
    case("dot", lambda x, y: (np.dot(x, y), x.dot(y), np.dot(y, 2.0), np.dot(3, x)), A, B),
    case("dot_vectors", lambda x, v: (np.dot(x, v), np.dot(v, v)), A, V4),
    case("dot_3d", lambda x, y: np.dot(x, y), X3, Y3),
    case("dot_3d_vector", lambda x, y: (np.dot(x, y), np.dot(y, np.swapaxes(x, 1, 2))), X3, V4),
    case("inner", lambda x, y: (np.inner(x, y), np.inner(y, y), np.inner(x, 2.0)), X3, V4),
    case("outer", lambda x, y: np.outer(x, y), A, V5),
    case("vdot", lambda x, y: np.vdot(x, y), A, floats(3, 4, seed=1)),
    case("vecdot", lambda x, y: np.vecdot(x, y), X3, A),
    case("matvec", lambda x, y: np.matvec(x, y), X3, V4),
    case("vecmat", lambda x, y: np.vecmat(x, y), V3, X3),
    case("tensordot", lambda x, y: (np.tensordot(x, y, 1), np.tensordot(x, y, 0)), A, B),
    case("tensordot_axes", lambda x, y: np.tensordot(x, y, axes=([0, 2], [0, 1])), X3, Y3),
    case("tensordot_axis", lambda x, y: np.tensordot(x, y, axes=(-1, 1)), X3, Y3),
    case("kron", lambda x, y: (np.kron(x, y), np.kron(y[0], x)), A, B),
    case("cross", lambda x, y: np.cross(x, y), floats(4, 3), V3),
    case("cross_axes", lambda x, y: np.cross(x, y, axisa=0, axisc=0), floats(3, 4), floats(4, 3)),
    *[case(f"convolve_{m}", lambda x, y, m=m: (np.convolve(x, y, m), np.convolve(y, x, m)), V20, V4)
      for m in ("full", "same", "valid")],
    *[case(f"correlate_{m}", lambda x, y, m=m: (np.correlate(x, y, m), np.correlate(y, x, m)), V20, V5)
      for m in ("full", "same", "valid")],
    *[case(f"convolve_long_{m}", lambda x, y, m=m: (np.convolve(x, y, m), np.correlate(y, x, m)), V90, V20, order=1)
      for m in ("full", "same", "valid")],
    case("convolve_by_one", lambda x: (np.convolve(x, [2.0]), np.convolve(3.0, x)), V5),
]  # fmt: skip


def _imatmul(x, y):
    z = x * 1.0
    z @= y
    return z


@pytest.mark.sampled(9, "a tenth of a second each")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


def test_matrix_products_are_one_instruction():
    for f in (lambda x, y: x @ y, np.dot, lambda x, y: np.einsum("ij,jk->ik", x, y)):
        tape, *_ = record(f, [A, B])
        assert [i.op.name for i in tape.instrs] == ["contract"]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.bool_, np.float32])
def test_dtypes(dtype):
    x, y = integers(3, 4).astype(dtype), integers(4, 2).astype(dtype)
    same_as_numpy(lambda x, y: (x @ y, np.dot(x, y), np.einsum("ij,jk", x, y), np.einsum("ij->", x)), [x, y])
    same_as_numpy(lambda x, y: (x @ y, np.kron(x, y), np.outer(x, y)), [x, floats(4, 2)])


def test_long_convolution():
    tape = same_as_numpy(np.convolve, [floats(1000), floats(700)])
    assert len(tape) < 50
    assert max(v.aval.size for i in tape.instrs for v in i.outs) < 300_000  # not 1000 × 700: blocks of a band


def test_complex():
    x, y = floats(3) + 1j * floats(3, seed=1), floats(3, seed=2) - 1j * floats(3, seed=3)
    same_as_numpy(lambda x, y: (np.vdot(x, y), np.vecdot(x, y), np.correlate(x, y, "full"), x @ y), [x, y])


def test_empty():
    same_as_numpy(lambda x, y: (x @ y, np.einsum("ij,jk", x, y), np.dot(x, y)), [np.zeros((3, 0)), np.zeros((0, 2))])


def test_shapes_that_do_not_fit():
    with pytest.raises(ShapeError, match=r"matmul: inner dimensions differ, 4 and 3"):
        record(lambda x: x @ x, [A])
    for f in (np.dot, np.inner, lambda x, y: np.tensordot(x, y), lambda x, y: np.einsum("ij,ij", x, y)):
        with pytest.raises(ShapeError):
            record(f, [A, floats(2, 5)])


def test_refused():
    with pytest.raises((UnsupportedFunctionError, ValueError)):
        record(np.cross, [V4[:2], V4[:2]])


@pytest.mark.parametrize(
    ("f", "x"),
    [
        pytest.param(lambda b: np.outer(b, b) + 1, FLAGS, id="outer_of_booleans"),
        pytest.param(lambda x: np.dot(x > 0, x > 1) * x, SIGNED, id="dot_of_booleans"),
        pytest.param(lambda b: np.triu(np.outer(b, ~b)), FLAGS, id="triu_of_booleans"),
        pytest.param(lambda x: (np.outer(x > 0, x > 1) @ (x > 0)) * x, SIGNED, id="matvec_of_booleans"),
    ],
)
def test_products_of_booleans_are_booleans(f: Any, x: Any) -> None:
    as_numpy(f, x)


@pytest.mark.parametrize("mode", ["valid", "same", "full"])
@pytest.mark.parametrize("n", [2, 5])
def test_correlate_of_booleans_gave_integers(mode, n):
    same_as_numpy(lambda x, y: np.correlate(x, y, mode), [np.array([True, False, True]), np.arange(n) % 2 == 0])
