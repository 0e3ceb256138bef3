"""GradBench's evals that JAX needs loops of its own for; see :mod:`benchmarks.gradbench`."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks import gradbench

jax.config.update("jax_enable_x64", True)
functions: Any = gradbench.retargeted(jnp)
transforms = gradbench.Transforms(jnp, jax.lax.while_loop, jax.lax.cond, jax.grad, jax.jacfwd)


def llsq(x: Any, t: Any) -> Any:
    return 0.5 * jnp.sum((jnp.sign(t) - jnp.polyval(x[::-1], t)) ** 2)


def ode(x: Any, steps: int) -> Any:
    def rate(y: Any) -> Any:
        return x * jnp.concatenate([jnp.ones(1), y[:-1]])

    def step(y: Any, _: Any) -> Any:
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    h = 2.0 / steps
    return jax.lax.scan(step, jnp.zeros_like(x), None, length=steps)[0][-1]


def lstm(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    def step(carry: Any, pair: Any) -> Any:
        hidden, cell, loss = functions.lstm_step(main, extra, *carry, *pair)
        return (hidden, cell), loss

    start = [state[k] for k in range(0, len(state), 2)], [state[k] for k in range(1, len(state), 2)]
    _, losses = jax.lax.scan(step, start, (sequence[:-1], sequence[1:]))
    return -jnp.sum(losses) / ((sequence.shape[0] - 1) * sequence.shape[1])


particle = partial(gradbench.particle, transforms)
saddle = partial(gradbench.saddle, transforms)
