"""What ``functools.cache`` keeps: nothing of a trace, and what is edited there is seen."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg


class Tables:
    @staticmethod
    @functools.cache
    def of_class(n: int) -> list[Any]:
        return [n * 0.25, np.arange(1.0, n + 1), np.zeros(2)]

    @functools.lru_cache(maxsize=8)  # noqa: B019  # one object, as long as the tests
    def of_object(self, n: int) -> list[Any]:
        return [n * 0.25, np.arange(1.0, n + 1), np.zeros(2)]


@functools.cache
def of_module(n: int) -> list[Any]:
    return [n * 0.25, np.arange(1.0, n + 1), np.zeros(2)]


@functools.cache
def fibonacci(n: int) -> Any:
    return np.arange(n).sum() if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


tables = Tables()
FIRST = SECOND = [1]
KEPT: dict[str, Callable[[int], Any]] = {
    "by a module": of_module,
    "by a class": Tables.of_class,
    "by an object's method": tables.of_object,
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "by a module": lambda x: x * of_module(3)[1].sum(),
    "by a class": lambda x: x * Tables.of_class(3)[1].sum() + fibonacci(6),
    "by an object's method": lambda x: x * tables.of_object(3)[1].sum(),
}
TELLING: dict[str, Callable[[Any], Any]] = {  # which object is which
    "by a module": lambda x: (x if FIRST is SECOND else 2 * x) * of_module(3)[1].sum(),
    "by a class": lambda x: (x if FIRST is SECOND else 2 * x) * Tables.of_class(3)[1].sum(),
    "by an object's method": lambda x: (x if FIRST is SECOND else 2 * x) * tables.of_object(3)[1].sum(),
}


def forget() -> None:
    for f in (of_module, Tables.of_class, Tables.of_object, fibonacci):
        f.cache_clear()


@pytest.mark.parametrize("functions", [FUNCTIONS, TELLING], ids=["plain", "telling"])
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("transform", [wg.grad, wg.jit, lambda f: wg.jit(wg.grad(f))], ids=["grad", "jit", "jit grad"])
def test_a_cache_kept_traced_values_and_an_edit_there_was_not_seen(transform: Any, kept: str, functions: Any) -> None:
    f, is_gradient = functions[kept], transform is not wg.jit

    def calls(g: Callable[[float], Any]) -> list[float]:
        forget()
        got = [float(g(2.0))]
        result = KEPT[kept](3)
        assert [type(y) for y in result] == [float, np.ndarray, np.ndarray]
        result[1][0] = 0.25
        got.append(float(g(2.0)))
        assert KEPT[kept](3) is result
        forget()
        return [*got, float(g(2.0))]

    of_two = calls(f)
    want = [(y - fibonacci(6) * (kept == "by a class" and functions is FUNCTIONS)) / 2.0 for y in of_two]
    np.testing.assert_allclose(calls(transform(f)), want if is_gradient else of_two)


@pytest.mark.parametrize("maxsize", [None, 4])
def test_what_is_asked_of_traced_values_is_not_kept(maxsize: int | None) -> None:
    @functools.lru_cache(maxsize)
    def square(x: Any) -> Any:
        return x * x

    assert wg.grad(lambda x: square(x) * square(3.0))(2.0) == 36.0
    assert wg.jit(lambda x: square(x) * square(3.0))(2.0) == 36.0
    assert square.cache_info().currsize == 1 and square(3.0) == 9.0
