"""Types that editors and pyright see: each transform keeps the parameters of what it is given.

Pyright checks this file with the lints. A line that must be an error has an exemption, which pyright reports as not
needed if there is no error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import wengert as wg
from wengert import nn, ode, optimize
from wengert.runtime.jit import Jit, StatsDict
from wengert.runtime.program import Program

Vector = np.ndarray[Any, np.dtype[np.float64]]


def loss(x: Vector, y: float) -> float:
    return float(np.sum(x)) * y


def pair(x: Vector) -> tuple[float, str]:
    return float(x[0]), "aux"


def arity(x: Vector) -> None:
    wg.grad(loss)(x, 1.0)
    wg.grad(loss)(x, y=1.0)
    wg.grad(loss)(x)  # pyright: ignore[reportCallIssue]
    wg.grad(loss)(x, 1.0, 2.0)  # pyright: ignore[reportCallIssue]
    wg.grad(loss)(x, z=1.0)  # pyright: ignore[reportCallIssue]
    wg.value_and_grad(loss)(x)  # pyright: ignore[reportCallIssue]
    wg.jacobian(loss)(x)  # pyright: ignore[reportCallIssue]
    wg.hessian(loss)(x)  # pyright: ignore[reportCallIssue]
    wg.vmap(loss)(x)  # pyright: ignore[reportCallIssue]
    wg.checkpoint(loss)(x)  # pyright: ignore[reportCallIssue]
    wg.jit(loss)(x)  # pyright: ignore[reportCallIssue]
    wg.jit(wg.grad(loss))(x, y="a")  # pyright: ignore[reportArgumentType]
    wg.grad(loss, x)  # pyright: ignore[reportCallIssue, reportArgumentType]
    wg.grad(3.0)  # pyright: ignore[reportCallIssue, reportArgumentType]
    wg.jit(loss, static_argnums=0)  # pyright: ignore[reportCallIssue]


def results(x: Vector) -> None:
    assert_type(wg.grad(loss)(x, 1.0), Any)
    assert_type(wg.grad(loss, argnums=(0, 1))(x, 1.0), tuple[Any, ...])
    assert_type(wg.grad(pair, has_aux=True)(x), tuple[Any, str])
    assert_type(wg.value_and_grad(loss)(x, 1.0), tuple[float, Any])
    assert_type(wg.value_and_grad(loss, (0, 1))(x, 1.0), tuple[float, tuple[Any, ...]])
    assert_type(wg.value_and_grad(pair, has_aux=True)(x), tuple[tuple[float, str], Any])
    assert_type(wg.checkpoint(loss)(x, 1.0), float)
    assert_type(wg.jvp(loss, (x, 1.0), (x, 0.0)), tuple[float, float])
    assert_type(wg.vjp(loss, x, 1.0), tuple[float, Callable[[Any], tuple[Any, ...]]])
    assert_type(wg.vjp(pair, x, has_aux=True), tuple[float, Callable[[Any], tuple[Any, ...]], str])
    assert_type(wg.linearize(loss, x, 1.0)[0], float)
    assert_type(wg.cond(True, lambda: 1.0, lambda: 2.0), float)
    assert_type(wg.compile(wg.trace(loss)(x, 1.0)), Program)
    assert_type(wg.trace(loss)(wg.spec(3), wg.spec(())), wg.Tape)


def programs(x: Vector) -> None:
    step = wg.jit(loss)
    named: Jit[[Vector, float], float] = step
    assert_type(named(x, 1.0), float)
    assert_type(step(x, 1.0), float)
    assert_type(step(x, 1.0, out=x), float)
    assert_type(step.stats(), StatsDict)
    assert_type(step.program(x, 1.0), Program)
    step.program(x)  # pyright: ignore[reportCallIssue]
    step.statz()  # pyright: ignore[reportAttributeAccessIssue]
    assert_type(wg.fastmath(loss)(x, 1.0), float)
    assert_type(wg.fastmath()(loss)(x, 1.0), float)


@wg.jit(strict=True)
def area(r: float) -> float:
    return r * r


class Model:
    @wg.jit
    def energy(self, x: Vector) -> float:
        return float(np.sum(x))

    @wg.grad
    def slope(self, x: Vector) -> float:
        return float(np.sum(x))


def decorated(x: Vector) -> None:
    assert_type(area(1.0), float)
    assert_type(area.program(1.0), Program)
    area()  # pyright: ignore[reportCallIssue]
    assert_type(Model().energy(x), float)
    Model().energy()  # pyright: ignore[reportCallIssue]
    assert_type(Model.energy.stats(), StatsDict)
    Model().slope(x)
    Model().slope(x, x)  # pyright: ignore[reportCallIssue]


@wg.primitive
def kepler(e: float, m: float) -> float:
    return e + m


def primitives() -> None:
    assert_type(kepler(0.5, 1.0), float)
    kepler(0.5)  # pyright: ignore[reportCallIssue]
    kepler.def_pullback(lambda ct, y, e, m: (ct, ct))


def solutions(x: Vector) -> None:
    found = ode.solve_ivp(lambda t, y: -y, (0.0, 1.0), x)
    assert_type(found, ode.OdeResult)
    assert_type(found.y, np.ndarray[Any, Any])
    assert_type(found.message, str)
    model = nn.Dense(1)
    done = nn.fit(model, *model.init(0, x), (x, x))
    assert_type(done, nn.Fitted)
    assert_type(done.history, list[dict[str, float]])
    assert_type(wg.nn.Fitted, type[nn.Fitted])
    assert_type(optimize.adam(1e-3), optimize.Optimiser)


def unknown_names() -> None:
    _ = wg.jacfwd  # pyright: ignore[reportAttributeAccessIssue]
    _ = nn.Linear  # pyright: ignore[reportAttributeAccessIssue]


def of_any_callable(f: Callable[..., Any], x: Vector) -> None:
    wg.grad(f)(x, 1, z=3)
    wg.jit(f)(x)
    wg.jit(wg.vmap(f, in_axes=(0, None)))(x, 1)
    wg.grad(np.sum)(x)
    wg.jit(np.sum)(x)
    wg.vjp(np.sin, x)
    wg.jit(lambda x: x + 1)(x)
    wg.grad(lambda x, y: x * y, argnums=1)(1.0, 2.0)
