"""``wg.watch``: values and cotangents at a named place, compiled or not, and no step while nobody watches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg


def straight(x: Any) -> Any:
    return wg.watch("p", np.sin(x)) ** 2


def scanned(x: Any) -> Any:
    return np.sum(wg.scan(lambda c, t: (wg.watch("p", np.sin(c) * t * x), c), x, np.arange(1.0, 3.0))[0])


def repeated(x: Any) -> Any:
    return wg.while_loop(lambda c: c < 5, lambda c: wg.watch("p", c * 2), x)


def nested(x: Any) -> Any:
    def inner(c: Any) -> Any:
        return wg.fori_loop(0, 2, lambda j, d: wg.watch("p", 2 * d + c), c)

    return wg.fori_loop(0, 2, lambda k, c: inner(c), x)


def checkpointed(x: Any) -> Any:
    return wg.checkpoint(lambda x: np.exp(wg.watch("p", x * x)))(x)


FUNCTIONS = {
    straight: ([np.sin(1.5)], [2 * np.sin(1.5)]),
    scanned: ([1.5 * np.sin(1.5), 3 * np.sin(1.5 * np.sin(1.5))], [1.0, 3 * np.cos(1.5 * np.sin(1.5))]),
    repeated: ([3.0, 6.0], [1.0, 2.0]),
    nested: ([4.5, 10.5, 31.5, 73.5], [1.0, 2.0, 7.0, 14.0]),
    checkpointed: ([2.25], [np.exp(2.25)]),
}


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_sees_values_in_order_and_cotangents_from_the_last(f: Callable[..., Any]) -> None:
    values, cotangents = FUNCTIONS[f]
    compiled = wg.jit(wg.grad(f))
    slope = compiled(1.5)
    for call, cts in ((f, []), (wg.grad(f), cotangents), (compiled, cotangents), (compiled, cotangents)):
        with wg.watching() as seen:
            found = call(1.5)
        assert np.allclose(seen["p"].values, values)
        assert np.allclose(seen["p"].cotangents, cts)
        assert call is f or np.isclose(found, slope)
    assert compiled(1.5) == slope
    assert compiled.stats()["traces"] == 2


@pytest.mark.machine_code("kernels are compared")
def test_a_program_has_no_step_for_it_while_nobody_watches() -> None:
    compiled = wg.jit(wg.grad(straight))
    compiled(1.5)
    with wg.watching():
        watched = compiled.program(1.5)
    assert sum(k.kind == "callback" for k in watched.kernels) == 2
    assert len(compiled.program(1.5).kernels) == 1
    tape = wg.trace(straight)(1.5)
    assert wg.edit.find(tape, op="watched") == []


def test_the_context_is_that_of_the_thread() -> None:
    compiled = wg.jit(straight)
    with wg.watching() as seen:
        thread = threading.Thread(target=compiled, args=(1.5,))
        thread.start()
        thread.join()
        assert seen == {}
        with wg.watching() as inner:
            compiled(0.5)
    assert seen["p"].value == inner["p"].value == np.sin(0.5)


def test_each_call_of_a_pullback_and_a_whole_batch_are_seen() -> None:
    with wg.watching() as seen:
        _, pullback = wg.vjp(straight, 1.5)
        for ct in (1.0, 2.0):
            pullback(ct)
    assert len(seen["p"].values) == 1 and np.allclose(seen["p"].cotangents, 2 * np.sin(1.5) * np.array([1.0, 2.0]))
    with wg.watching() as seen:
        wg.jit(wg.vmap(wg.grad(straight)))(np.array([0.5, 1.5]))
    assert np.allclose(seen["p"].value, np.sin([0.5, 1.5])) and seen["p"].cotangent.shape == (2,)


def test_a_watched_number_stays_a_python_number() -> None:
    with wg.watching():
        assert wg.jit(lambda x: np.float32(2) * wg.watch("x", x))(1.5).dtype == np.float32
        assert wg.watch("x", 3) == 3
