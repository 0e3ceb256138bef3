"""Programs of :mod:`benchmarks.applications` that JAX needs loops of its own for, or has its own functions for."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.gradbench import retargeted

jax.config.update("jax_enable_x64", True)
functions: Any = retargeted(jnp, "benchmarks.applications")


def asian(parameters: Any, z: Any) -> Any:
    spot, volatility, rate = parameters
    dt = 1.0 / z.shape[0]
    drift, scale = (rate - 0.5 * volatility**2) * dt, volatility * jnp.sqrt(dt)

    def step(carry: Any, row: Any) -> Any:
        price, total = carry
        price = price * jnp.exp(drift + scale * row)
        return (price, total + price), None

    start = spot * jnp.ones(z.shape[1]), jnp.zeros(z.shape[1])
    (_, total), _ = jax.lax.scan(step, start, z)
    return jnp.exp(-rate) * jnp.mean(jnp.maximum(total / z.shape[0] - 100.0, 0.0))


def diffusion(u: Any, steps: int) -> Any:
    def step(u: Any, _: Any) -> Any:
        inner = u[1:-1, 1:-1] + 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        return u.at[1:-1, 1:-1].set(inner), None

    last, _ = jax.lax.scan(step, u, None, length=steps)
    return 0.5 * jnp.sum(last * last)


def hidden_markov(transitions: Any, emissions: Any, seen: Any) -> Any:
    a, b = functions.softmax(transitions), functions.softmax(emissions)

    def step(forward: Any, symbol: Any) -> Any:
        forward = (forward @ a) * b[:, symbol]
        mass = jnp.sum(forward)
        return forward / mass, jnp.log(mass)

    _, logs = jax.lax.scan(step, jnp.full(a.shape[0], 1.0 / a.shape[0]), seen)
    return -jnp.sum(logs)


def cart_cost(controls: Any, start: Any) -> Any:
    h, rate = 0.05, functions.cart_rate

    def step(state: Any, u: Any) -> Any:
        k1 = rate(state, u)
        k2 = rate(state + h / 2 * k1, u)
        k3 = rate(state + h / 2 * k2, u)
        k4 = rate(state + h * k3, u)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return state, functions.cart_loss(state) + 0.01 * u * u

    last, losses = jax.lax.scan(step, start, controls)
    return jnp.sum(losses) + 10.0 * functions.cart_loss(last)


def convolutional(params: Any, x: Any, labels: Any) -> Any:
    first, second, (w, b) = params
    for kernel in (first, second):
        x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = functions.pooled(jnp.maximum(x, 0.0))
    return functions.cross_entropy(x.reshape(x.shape[0], -1) @ w + b, labels)


def torques(q: Any, dq: Any, ddq: Any, arm: Any) -> Any:
    shifts, centres, masses, inertias, axes = arm
    turns, crossed = functions.rotations(q, axes), jnp.cross

    def outward(carry: Any, joint: Any) -> Any:
        w, dw, a = carry
        turn, shift, centre, mass, inertia, axis, dq, ddq = joint
        a = turn.T @ (a + crossed(dw, shift) + crossed(w, crossed(w, shift)))
        w, dw = turn.T @ w, turn.T @ dw
        dw = dw + axis * ddq + crossed(w, axis * dq)
        w = w + axis * dq
        force = mass * (a + crossed(dw, centre) + crossed(w, crossed(w, centre)))
        return (w, dw, a), (force, inertia @ dw + crossed(w, inertia @ w))

    start = jnp.zeros(3), jnp.zeros(3), jnp.array([0.0, 0.0, 9.81])
    _, (forces, moments) = jax.lax.scan(outward, start, (turns, shifts, centres, masses, inertias, axes, dq, ddq))

    def inward(carry: Any, joint: Any) -> Any:
        f, m = carry
        force, moment, turn, shift, centre, axis = joint
        m, f = m + moment + crossed(centre, force), f + force
        torque = jnp.sum(axis * m)
        return (turn @ f, turn @ m + crossed(shift, turn @ f)), torque

    given = (forces, moments, turns, shifts, centres, axes)
    return jax.lax.scan(inward, (jnp.zeros(3), jnp.zeros(3)), given, reverse=True)[1]


def prey_ends(parameters: Any, end: float, rtol: float) -> Any:
    """Return the Jacobians of the last states by Diffrax, in forward mode."""
    import diffrax

    def last(p: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(functions.prey), diffrax.Tsit5(), 0.0, end, None, jnp.array([10.0, 5.0]), args=p,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol), max_steps=4096,
            adjoint=diffrax.ForwardMode(),
        ).ys[-1]  # fmt: skip

    return jax.vmap(jax.jacfwd(last))(parameters)
