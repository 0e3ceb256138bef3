"""np.einsum against NumPy's, and the contractions that it becomes."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import floats, integers, record, same_as_numpy, verify

A = floats(3, 4)
B = floats(4, 5)
S = floats(4, 4)
X3 = floats(2, 3, 4)
Y3 = floats(2, 4, 5)
V4, V5 = floats(4), floats(5)


EINSUM = [
    ("ij,jk->ik", A, B),
    ("ij,jk", A, B),
    ("ji,jk", A, A),
    ("i,i", V4, V4),
    ("i,j->ij", V4, V5),
    ("i,j->ji", V4, V5),
    ("ii", S),
    ("ii->i", S),
    ("ij->ji", A),
    ("ij->", A),
    ("ij->j", A),
    ("ba", A),
    ("ij,ij->ij", A, A),
    ("ij,j->ij", A, V4),
    ("ij,j->ji", A, V4),
    ("ij,ij", A, A),
    ("ij,kl->k", A, B),
    ("ij,jk,k->i", A, B, V5),
    ("ij,jk,kl,l", A, B, B.T.copy(), V4),
    ("bij,bjk->bik", X3, Y3),
    ("bij,bjk->ikb", X3, Y3),
    ("...ij,...jk->...ik", X3, Y3),
    ("...j,j", X3, V4),
    ("i...->...", X3),
    ("...", A),
    ("...i,...i->...", X3, A),
    ("bij,ij->b", X3, A),
    ("iij->j", floats(3, 3, 2)),
    ("iji->j", floats(3, 2, 3)),
    ("ij,jj->i", A, S),
    ("i->", V4),
    ("ij,jk->ik", floats(3, 1), B),
    ("ij,ij->ij", floats(3, 1), A),
    ("i,i->i", floats(1), V4),
    (",i->i", np.array(2.0), V4),
    (",", np.array(2.0), np.array(3.0)),
    ("a b, b c -> a c", A, B),
    ("ijk,il,jm,kn->lmn", X3, floats(2, 2), floats(3, 2), floats(4, 2)),
]


@pytest.mark.sampled(7, "a tenth of a second each")
@pytest.mark.parametrize(
    ("subscripts", "args"), [(s, a) for s, *a in EINSUM], ids=[f"{k}:{e[0]}" for k, e in enumerate(EINSUM)]
)
def test_einsum(subscripts, args):
    verify(lambda *xs: np.einsum(subscripts, *xs), args, order=2)


def test_einsum_with_lists():
    verify(lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]), [A, B], order=2)
    verify(lambda x, y: np.einsum(x, [..., 1], y, [1]), [X3, V4], order=2)
    verify(lambda x: np.einsum(x, [0, 0]), [S], order=2)


def test_einsum_options():
    def f(x, y):
        out = np.zeros((3, 5))
        np.einsum("ij,jk", x, y, out=out, optimize=True)
        return out, np.einsum("ij,jk", x, y, dtype=np.float64)

    verify(f, [A, B], order=2)
    same_as_numpy(lambda x: np.einsum("ij,jk", x, x.T, dtype=np.float64, casting="safe"), [integers(2, 3)])


def test_einsum_writes_the_diagonal():
    def f(x):
        y = x * 1.0
        np.einsum("ii->i", y)[:] = x[0]
        return y

    verify(f, [S], order=2)


def test_einsum_of_three_meets_two_by_two():
    tape, *_ = record(lambda x, y, z: np.einsum("ij,jk,k->i", x, y, z), [A, B, V5])
    assert [i.op.name for i in tape.instrs] == ["contract", "contract"]
    assert tape.instrs[0].outs[0].aval.shape == (4,)  # the vector first: never a matrix times a matrix


def test_einsum_of_booleans_is_boolean() -> None:
    b = np.array([True, False, True])
    as_numpy(lambda b: np.einsum("i,j->ij", b, b) | np.eye(3, dtype=bool), b)


def test_einsum_path_looks_at_shapes_alone():
    def f(a, b):
        paths = (
            np.einsum_path("ij,jk,kl->il", a, b, a),
            np.einsum_path(a, [0, 1], b, [1, 2], a, [2, 3], [0, 3], optimize="optimal"),
            np.einsum_path(a, [0, 1], [b[0], b[1], b[2]], [1, 2], optimize=True),
        )
        return a * sum([len(text) + sum(sum(step) for step in path[1:]) for path, text in paths])

    a, b = np.ones((2, 3)), np.ones((3, 2))
    np.testing.assert_array_equal(wg.jit(f, strict=True)(a, b), f(a, b))
