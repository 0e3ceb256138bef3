"""What NumPy's functions take: arrays to write results into, dtypes, axes, and values that are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([1.25, -0.5, 2.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.copyto(x[0], 1.0),
        lambda x: np.putmask(x[0], True, 1.0),
        lambda x: np.place(x[0], True, 1.0),
        lambda x: np.sum(x, out=x[0]),
    ],
)
def test_scalars_are_not_written(f: Any) -> None:
    for run in (f, wg.jit(f)):
        with pytest.raises(TypeError):
            run(X)


def test_what_is_put_into_an_array_of_outside_is_refused() -> None:
    def f(x: Any, w: Any) -> Any:
        np.put(w, [0], np.ones(1))
        return np.sum(w * x)

    with pytest.raises(wg.errors.MutationError, match="outside"):
        wg.grad(f)(X, X.copy())
