"""What results are held against: what NumPy gives, or a formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert import tree

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
"""The version of NumPy, of which older ones refuse what newer ones take: tests that ask NumPy itself leave that out."""


def close(got: Any, want: Any, rtol: float = 1e-12) -> None:
    """Equal shape and values."""
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def same_on_any_number_of_threads(call: Callable[[], Any]) -> None:
    """Equal bits with one thread and with two."""
    before = wg.get_threads()
    try:
        wg.set_threads(1)
        one = call()
        wg.set_threads(2)
        np.testing.assert_array_equal(call(), one)
    finally:
        wg.set_threads(before)


def leaves(x: Any) -> list[Any]:
    return tree.flatten(x)[0]


def same(got: Any, want: Any, rtol: float = 1e-12) -> None:
    """Equal structure, shapes, dtypes, and values to ``rtol`` of the largest element of each array."""
    assert tree.flatten(got)[1] == tree.flatten(want)[1]
    for k, (a, b) in enumerate(zip(leaves(got), leaves(want), strict=True)):
        assert np.shape(a) == np.shape(b), f"leaf {k}"
        assert np.asarray(a).dtype == np.asarray(b).dtype, f"leaf {k}"
        if np.asarray(b).dtype == np.float32:
            rtol = max(rtol, 2e-6)
        atol = rtol * max(1.0, float(np.max(np.abs(b), initial=0.0)))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=f"leaf {k}")


def as_numpy(f: Callable[..., Any], *args: Any) -> None:
    """``f`` compiled gives what ``f`` gives, twice, and the arguments stay what they are."""
    want = f(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
    compiled = wg.jit(f)
    before = [np.copy(a) for a in args]
    for _ in range(2):
        same(compiled(*args), want)
    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True))
