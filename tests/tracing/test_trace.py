"""One run of a function while it is recorded: what is lifted, what is looked at, and what is left afterwards."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import wengert as wg


def test_arrays_with_an_arithmetic_of_their_own_are_refused() -> None:
    """A matrix was multiplied element by element, and the mask of a masked array was not looked at."""
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="matrix"), pytest.warns(PendingDeprecationWarning):
        wg.jit(lambda x: x * x)(np.matrix([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="filled"):
        wg.grad(lambda x: np.sum(x * x))(np.ma.array([1.0, 2.0], mask=[0, 1]))


def test_nothing_keeps_arguments_alive() -> None:
    """A jitted function kept the arrays it was traced with; an un-jitted call freed its own only at a collection."""
    jitted = wg.jit(lambda x: x * 2 if x[0] > 0 else x)
    for call, collect in ((jitted, True), (wg.grad(lambda x: np.sum(x * 2)), False)):
        gc.collect()
        gc.disable()
        try:
            x = np.ones(1000)
            alive = weakref.ref(x)
            call(x)
            del x
            if collect:
                gc.collect()
            assert alive() is None
        finally:
            gc.enable()


def test_a_derivative_inside_vmap_does_not_look_at_the_first_example() -> None:
    """The branch that the first example takes was taken for all of them."""

    def f(x: Any) -> Any:
        return np.sum(x) * (2 if x[0] > x[1] else 3)

    examples = np.array([[1.0, 2.0], [2.0, 1.0]])
    for inside in (wg.grad(f), wg.hessian(f), lambda x: wg.jvp(f, (x,), (x,))[1], lambda x: wg.vjp(f, x)[1](1.0)):
        for mapped in (wg.vmap(inside), wg.jit(wg.vmap(inside))):
            with pytest.raises(wg.errors.ConcretizationError, match=r"vmap runs all examples at once(.|\n)*np\.where"):
                mapped(examples)
    scaled = wg.vmap(lambda x: x * wg.grad(lambda y: y * (2.0 if y > 1 else 3.0))(5.0))  # this is no example's
    np.testing.assert_array_equal(scaled(examples), 2 * examples)


def test_an_array_that_is_looked_at_is_guarded_as_a_whole() -> None:
    f = wg.jit(lambda x, n: np.repeat(x, n))
    x = np.array([1.0, 2.0])
    for n in ([1, 2], [2, 1], [1, 2], [0, 0]):
        np.testing.assert_array_equal(f(x, np.array(n)), np.repeat(x, n))
    assert f.stats()["traces"] == 3
