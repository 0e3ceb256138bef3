"""Transforms: every rule by the checker of ops, and the transposes against matrices that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ops.cases import complex_numbers, shapes
from tests.ops.check_op import Case, case, check_op, formula
from wengert.errors import ShapeError
from wengert.ops.fourier import irfft
from wengert.tape import Aval

HALF = dict(forward=True, norm=0)
CASES = [
    case("fft", complex_numbers(3, 4), kw=dict(axes=(1,), **HALF), dtypes="DF", numpy=np.fft.fft),
    case("fft", complex_numbers(2, 3, 4), kw=dict(axes=(0, 2), forward=False, norm=2), dtypes="DF", note="inverse",
         numpy=lambda x: np.fft.ifftn(x, axes=(0, 2))),
    case("fft", shapes(5), kw=dict(axes=(0,), forward=True, norm=1), note="of real ones",
         numpy=lambda x: np.fft.fft(x, norm="ortho")),
    case("rfft", shapes(2, 6), kw=dict(axis=1, **HALF), numpy=np.fft.rfft),
    case("rfft", shapes(5, 2), kw=dict(axis=0, forward=False, norm=2), note="odd",
         numpy=lambda x: np.fft.ihfft(x, axis=0)),
    case("irfft", complex_numbers(2, 4), kw=dict(axis=1, n=6, forward=False, norm=2), dtypes="DF", numpy=np.fft.irfft),
    case("irfft", complex_numbers(4, 2), kw=dict(axis=0, n=7, **HALF), dtypes="DF", note="odd",
         numpy=lambda x: np.fft.hfft(x, 7, axis=0)),
    *[
        case("real_transform", shapes(5, 2), note=f"{kind} {number}{' orthogonal' if orthogonal else ''}",
             kw=dict(kind=kind, type=number, axis=0, norm=int(orthogonal), orthogonal=orthogonal))
        for kind in ("dct", "dst") for number in (1, 2, 3, 4) for orthogonal in (False, True)
    ],
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rules(case: Case) -> None:
    check_op(case)


def test_a_spectrum_has_as_many_bins_as_it_needs() -> None:
    with pytest.raises(ShapeError, match="5 bins"):
        formula(lambda x: irfft(x, axis=0, n=8, forward=False, norm=2), Aval((4,), np.dtype(complex)))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_a_transform_is_its_matrix_and_no_matrix_is_made(n: int) -> None:
    """Its cotangent is a transform again: nothing on the tape has n² elements."""
    matrix = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
    np.testing.assert_allclose(wg.jacobian(np.fft.fft)(np.arange(n) + 0j), matrix, atol=1e-12)
    np.testing.assert_allclose(wg.jacobian(np.fft.rfft)(np.arange(n) + 0.0), matrix[: n // 2 + 1], atol=1e-12)

    def loss(x: Any) -> Any:
        return np.sum(np.abs(np.fft.irfft(np.fft.rfft(x) ** 2, n)) ** 2)

    tape = wg.trace(wg.grad(loss))(np.arange(n) + 1.0)
    assert max(v.aval.size for i in tape.instrs for v in i.outs) <= n
    assert [i.op.name for i in tape.instrs].count("fft") == 0
