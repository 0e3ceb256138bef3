"""Steps of training: in place, of what is trained alone, and split over workers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn, optimize

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(10, 3)).astype("f"), RNG.integers(0, 2, 10)
MODEL = nn.Chain(nn.Dense(4, np.tanh), nn.Dense(2))


def begin() -> Any:
    return MODEL.init(0, X)[0]


def loss(params: Any, x: Any, y: Any) -> Any:
    return nn.cross_entropy(MODEL.apply(params, {}, x)[0], y)


def loss_with_more(params: Any, x: Any, y: Any) -> Any:
    z = MODEL.apply(params, {}, x)[0]
    return nn.cross_entropy(z, y), z


def failing(params: Any, x: Any, y: Any) -> Any:
    raise RuntimeError("no data here")


def by_hand(n: int, optimiser: Any) -> Any:
    params = begin()
    state = optimiser.init(params)
    for _ in range(n):
        updates, state = optimiser.update(wg.grad(loss)(params, X, Y), state, params)
        params = optimize.apply(params, updates)
    return params


def close(a: Any, b: Any) -> None:
    for (path, x), y in zip(nn.paths(a).items(), nn.paths(b).values(), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6, err_msg=path)


@pytest.mark.machine_code("without it nothing is given away")
@pytest.mark.parametrize("optimiser", [optimize.sgd(0.1, 0.9), optimize.adam(0.01)], ids=["sgd", "adam"])
def test_parameters_and_state_are_written_over(optimiser: Any) -> None:
    step = optimize.step(loss, optimiser)
    params = begin()
    state = step.init(params)
    arrays = [*nn.paths(params).values(), *nn.paths(state).values()]
    params, state, first = step(params, state, X, Y)
    value = first
    for _ in range(4):
        params, state, value = step(params, state, X, Y)
    assert all(a is b for a, b in zip(arrays, [*nn.paths(params).values(), *nn.paths(state).values()], strict=True))
    assert value < first and step.compiled.stats()["traces"] == 1
    close(params, by_hand(5, optimiser))


def test_the_old_ones_may_be_kept_and_more_be_returned() -> None:
    step = optimize.step(loss_with_more, optimize.sgd(0.1), has_aux=True, donate=False)
    params = begin()
    new, _, (value, z) = step(params, step.init(params), X, Y)
    assert z.shape == (10, 2) and new["layers"]["0"]["w"] is not params["layers"]["0"]["w"]
    close(params, begin())
    assert value == loss(params, X, Y) or abs(value - loss(params, X, Y)) < 1e-6


def test_what_is_frozen_stays() -> None:
    params = begin()
    step = optimize.step(loss, optimize.adam(0.1), wrt=nn.trainable(params, "layers.1.*"))
    state = step.init(params)
    assert list(nn.paths(state["mean"])) == ["layers.1.w", "layers.1.b"]
    new, _, _ = step(params, state, X, Y)
    np.testing.assert_array_equal(new["layers"]["0"]["w"], begin()["layers"]["0"]["w"])
    assert np.any(new["layers"]["1"]["w"] != begin()["layers"]["1"]["w"])


@pytest.fixture(params=["threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with (
        ThreadPoolExecutor(2) if request.param == "threads" else ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    ) as workers:
        yield workers


@pytest.mark.sampled(2, "more than a second each")
def test_split_over_workers_it_is_the_same_step(executor: Executor) -> None:
    step = optimize.step(loss, optimize.sgd(0.1, 0.9), executor=executor, parts=3)
    params = begin()
    state = step.init(params)
    for _ in range(3):
        params, state, value = step(params, state, X, Y)
    close(params, by_hand(3, optimize.sgd(0.1, 0.9)))
    assert np.isfinite(value)
    with_more = optimize.step(loss_with_more, optimize.sgd(0.1), has_aux=True, executor=executor, parts=2)
    _, _, (_, zs) = with_more(params, with_more.init(params), X, Y)
    assert [z.shape for z in zs] == [(5, 2), (5, 2)]


def test_split_over_workers_what_is_not_finite_changes_nothing() -> None:
    """``keep_finite`` was not looked at where the batch is split."""
    with ThreadPoolExecutor(2) as workers:
        fit = optimize.step(lambda w, x: np.sum(np.log(w * x)), optimize.adam(0.1), keep_finite=True, executor=workers)
        w, x = np.ones(2), np.ones((2, 2))
        state = fit.init(w)
        new, new_state, value = fit(w, state, np.array([[1.0, 1.0], [0.0, 1.0]]))
        assert not np.isfinite(value) and new.tolist() == [1, 1] and int(new_state["count"]) == 0
        new, new_state, value = fit(w, state, x)
        assert np.isfinite(value) and np.all(new < 1) and int(new_state["count"]) == 1


def test_a_part_that_fails_changes_nothing() -> None:
    with ThreadPoolExecutor(2) as workers:
        step = optimize.step(failing, optimize.sgd(0.1), executor=workers)
        params = begin()
        with pytest.raises(wg.errors.WorkerError, match="RuntimeError: no data here"):
            step(params, step.init(params), X, Y)
        close(params, begin())
        with pytest.raises(wg.errors.ShapeError, match=r"lengths \[9, 10\]"):
            step(params, step.init(params), X, Y[:9])


def test_complex_parameters_are_refused() -> None:
    """Their gradient is no direction of descent: with every optimiser, they went astray."""
    w = np.array([1 + 2j, 3.0])
    loss = lambda w: np.sum(np.abs(w) ** 2)
    for optimiser in (optimize.sgd(0.1), optimize.adam(0.1), optimize.lbfgs()):
        fit = optimize.step(loss, optimiser)
        with pytest.raises(TypeError, match="real and imaginary parts"):
            fit(w, fit.init(w))
    with pytest.raises(TypeError, match="real and imaginary parts"):
        optimize.minimize(loss, w)


def test_a_step_says_what_it_is() -> None:
    step = optimize.step(loss, optimize.sgd(0.1))
    assert repr(step) == "<training step of loss: 0 programs, 0 calls>"
    params = begin()
    step(params, step.init(params), X, Y)
    assert repr(step) == "<training step of loss: 1 program, 1 call>"
    assert step._repr_html_().startswith("<p>&lt;training step of loss: 1 program, 1 call&gt;</p><ul><li>")
