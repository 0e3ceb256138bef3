"""What holds for kernels of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.natively import added, check, numbers, places, written
from wengert.codegen import compiler
from wengert.codegen.target import target
from wengert.runtime import assemble

pytestmark = pytest.mark.usefixtures("no_cache")


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


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_vectors_of_other_processors(vector_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same results from vectors of another width: kernels of their own, as the key says what they are for."""
    other = target()._replace(vector_bytes=vector_bytes)
    monkeypatch.setattr(assemble, "target", lambda: other)
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


def test_every_dimension_that_stays_is_looped_over() -> None:
    """Three that do not lie one within the other, and no two of one length: with lanes, and one element at a time."""
    x = numbers((8, 3, 7, 5), "f8")[::2, :, ::3, :]
    i = places((6,), 4)
    for axis in range(4):
        check(lambda x, axis=axis: np.argmax(x, axis), x)
        check(lambda x, axis=axis: np.cumsum(x, axis), x)
        check(lambda x, axis=axis: np.argmin(x.T, axis), x)
    check(lambda x, i: x[i], x, i)
    check(lambda x, i: x[:, :, :, i % 2], x, i)
    check(lambda t, v: np.searchsorted(t, v), np.sort(x.ravel()), numbers((8, 3, 7, 10), "f8")[::2, :, ::3, ::2])
