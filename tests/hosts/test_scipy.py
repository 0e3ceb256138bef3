"""SciPy's compiled code calls programs by ``LowLevelCallable``: the same results, and errors that are heard."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.ndimage
from scipy import LowLevelCallable

import wengert as wg

low_level = wg.hosts.scipy.low_level
quad = scipy.integrate.quad


def bell(x: Any, a: Any = 1.0, b: Any = 3.0) -> Any:
    return np.exp(-a * x**2) * np.cos(b * x)


def test_an_integral_of_one_variable() -> None:
    made = low_level(bell)
    assert isinstance(made, LowLevelCallable) and made.signature == "double (double, void *)"
    np.testing.assert_allclose(quad(made, -5, 5), quad(bell, -5, 5), rtol=1e-12)


def test_arguments_after_the_variable() -> None:
    made = low_level(bell, 0.0, 1.0, 1.0)
    np.testing.assert_allclose(quad(made, -5, 5, args=(1.0, 3.0))[0], quad(bell, -5, 5)[0], rtol=1e-13)


def test_the_derivative_of_an_integral_is_the_integral_of_the_derivative() -> None:
    slope, made = low_level(wg.grad(bell, 1), 0.0, 1.0, 1.0), low_level(bell, 0.0, 1.0, 1.0)
    values = [quad(made, -5, 5, args=(a, 3.0))[0] for a in (1 - 1e-5, 1 + 1e-5)]
    np.testing.assert_allclose(quad(slope, -5, 5, args=(1.0, 3.0))[0], (values[1] - values[0]) / 2e-5, rtol=1e-8)
    second = low_level(wg.grad(wg.grad(bell, 1), 1), 0.0, 1.0, 1.0)
    wanted = quad(lambda x: x**4 * bell(x), -5, 5)[0]
    np.testing.assert_allclose(quad(second, -5, 5, args=(1.0, 3.0))[0], wanted, rtol=1e-10)


def test_integrals_of_several_variables() -> None:
    numbers, vector = low_level(lambda x, y: x * y**2, 0.0, 0.0), low_level(lambda p: p[0] * p[1] ** 2, np.zeros(2))
    for made in (numbers, vector):
        np.testing.assert_allclose(scipy.integrate.nquad(made, [[0, 1], [0, 1]])[0], 1 / 6, rtol=1e-12)
        np.testing.assert_allclose(scipy.integrate.dblquad(made, 0, 1, 0, 1)[0], 1 / 6, rtol=1e-12)


def test_a_filter_of_an_image() -> None:
    image = np.random.default_rng(0).normal(size=(30, 31))
    f = lambda w: np.sum(w**2) / (1 + np.abs(w[4]))
    made = low_level(f, np.zeros(9), window=True)
    wanted = scipy.ndimage.generic_filter(image, f, size=3)
    np.testing.assert_allclose(scipy.ndimage.generic_filter(image, made, size=3), wanted, rtol=1e-12)


def test_captured_arrays_are_read_where_they_lie() -> None:
    scale = np.ones(())
    made = low_level(lambda x: x * scale)
    scale[...] = 6.0
    np.testing.assert_allclose(quad(made, 0, 1)[0], 3.0)


def test_the_callable_keeps_the_program() -> None:
    made = [low_level(lambda x, k=k: x * k) for k in range(20)]
    gc.collect()
    np.testing.assert_allclose([quad(f, 0, 2)[0] for f in made], 2.0 * np.arange(20))


def failing() -> dict[str, Callable[[], Any]]:
    image = np.ones((5, 5))
    return {
        "another number of values": lambda: quad(low_level(bell, 0.0, 1.0, 1.0), 0, 1),
        "a branch goes another way": lambda: quad(low_level(lambda x: x if x > 0 else -x, 1.0), -1, 1),
        "another number of values ": lambda: scipy.ndimage.generic_filter(
            image, low_level(lambda w: w[0], np.zeros(9), window=True), size=5
        ),
        "a branch goes another way ": lambda: scipy.ndimage.generic_filter(
            -image, low_level(lambda w: w[0] if w[0] > 0 else w[1], np.ones(9), window=True), size=3
        ),
    }


@pytest.mark.parametrize("words", failing())
def test_a_run_that_fails_is_an_error_and_no_number(words: str) -> None:
    with pytest.raises((RuntimeError, SystemError)) as caught:
        failing()[words]()
    error = caught.value if isinstance(caught.value, RuntimeError) else caught.value.__cause__
    assert words.strip() in str(error)


@pytest.mark.parametrize(
    ("f", "example", "error", "words"),
    [
        (lambda x: (x, x), (), wg.errors.DTypeError, r"takes one float64\[\]; it returns float64\[\], float64\[\]"),
        (lambda x: x * 1j, (), wg.errors.DTypeError, "complex128"),
        (
            lambda a: a.sum(),
            (np.eye(2),),
            wg.errors.ShapeError,
            r"numbers, or one vector; the example is float64\[2, 2\]",
        ),
        (lambda x, y: x, (0.0, np.ones(2)), wg.errors.ShapeError, "numbers, or one vector"),
        (wg.primitive(lambda x: x * 2), (), wg.errors.StructureError, "calls Python"),
    ],
)
def test_what_scipy_cannot_call_is_refused(
    f: Any, example: tuple[Any, ...], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        low_level(f, *example)
