"""Programs of applications, as users write them in NumPy, for :mod:`benchmarks.bench_workloads`.

A function that changes nothing in place and has no long loop is JAX's, too (``benchmarks.gradbench.retargeted`` says
how); for the others :mod:`benchmarks.applications_jax` has what JAX needs. Inputs are drawn with fixed seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

# An Asian option by Monte Carlo


def asian(parameters: Array, z: Array) -> Any:
    """Return the price of an Asian call: spot, volatility and rate; normal numbers [steps, paths]."""
    spot, volatility, rate = parameters[0], parameters[1], parameters[2]
    dt = 1.0 / z.shape[0]
    drift, scale = (rate - 0.5 * volatility**2) * dt, volatility * np.sqrt(dt)
    price, total = spot * np.ones(z.shape[1]), np.zeros(z.shape[1])
    for t in range(z.shape[0]):
        price = price * np.exp(drift + scale * z[t])
        total = total + price
    return np.exp(-rate) * np.mean(np.maximum(total / z.shape[0] - 100.0, 0.0))


def asian_inputs(steps: int, paths: int) -> tuple[Any, ...]:
    return np.array([100.0, 0.2, 0.03]), np.random.default_rng(0).standard_normal((steps, paths))


# Diffusion by a five-point stencil


def diffusion(u: Array, steps: int) -> Any:
    """Return half the sum of squares after so many steps; the border is fixed."""
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.2 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
        u = new
    return 0.5 * np.sum(u * u)


# Predators and prey


def prey(t: Any, y: Any, p: Any) -> Any:
    return np.array([(p[0] - p[1] * y[1]) * y[0], (p[3] * y[0] - p[2]) * y[1]])


def prey_exactly(parameters: Array, end: float = 10.0, steps: int = 5000) -> Any:
    """Return the Jacobians of the last states, [count, 2, 4], by small Runge-Kutta steps of numbers with i ε added.

    Source: Squire, Trapp (1998), Using complex variables to estimate derivatives of real functions.
    """
    found, h, small = [], end / steps, 1e-30
    for k in range(4):
        p = parameters.T.astype(complex)
        p[k] += small * 1j
        y = np.array([10.0, 5.0])[:, None] * np.ones(p.shape[1], complex)
        for _ in range(steps):
            k1 = prey(0.0, y, p)
            k2 = prey(0.0, y + h / 2 * k1, p)
            k3 = prey(0.0, y + h / 2 * k2, p)
            k4 = prey(0.0, y + h * k3, p)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        found.append(y.imag / small)
    return np.moveaxis(np.stack(found), (0, 1, 2), (2, 1, 0))


def prey_inputs(count: int) -> tuple[Any, ...]:
    return (np.array([1.5, 1.0, 3.0, 1.0]) * (1.0 + 0.1 * np.random.default_rng(0).standard_normal((count, 4))),)


# A hidden Markov model


def hidden_markov(transitions: Array, emissions: Array, seen: Array) -> Any:
    """Return minus the logarithm of the likelihood of what was seen; parameters are logits."""
    a, b = softmax(transitions), softmax(emissions)
    states = a.shape[0]
    forward, total = np.full(states, 1.0 / states), 0.0
    for symbol in seen:
        forward = (forward @ a) * b[:, symbol]
        mass = np.sum(forward)
        total = total + np.log(mass)
        forward = forward / mass
    return -total


def softmax(x: Array) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def hidden_markov_inputs(states: int, symbols: int, length: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((states, states)),
        rng.standard_normal((states, symbols)),
        rng.integers(0, symbols, length),
    )


# Two clouds of points, laid over one another: iterated closest points


def closest_points(target: Array, source: Array, rounds: int) -> Any:
    """Return the mean squared distance of the laid points to their nearest ones, after rounds of Kabsch's method."""
    moved = source
    for _ in range(rounds):
        nearest = target[np.argmin(squared_distances(moved, target), axis=1)]
        middle, aim = np.mean(moved, axis=0), np.mean(nearest, axis=0)
        u, _, vt = np.linalg.svd((moved - middle).T @ (nearest - aim))
        moved = (moved - middle) @ (u @ vt) + aim
    return np.mean(np.min(squared_distances(moved, target), axis=1))


def squared_distances(a: Array, b: Array) -> Any:
    return np.sum(a * a, axis=1)[:, None] + np.sum(b * b, axis=1)[None, :] - 2.0 * a @ b.T


def closest_points_inputs(count: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    target = rng.standard_normal((count, 3)) * np.array([1.0, 2.0, 3.0])
    c, s = np.cos(0.1), np.sin(0.1)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return target, (target + 0.01 * rng.standard_normal((count, 3))) @ turn + 0.1


# Model predictive control of a cart with a pole


def cart_cost(controls: Array, start: Array) -> Any:
    """Return the cost of controls over their horizon, by Runge-Kutta steps of 50 ms."""
    state, h, total = start, 0.05, 0.0
    for u in controls:
        k1 = cart_rate(state, u)
        k2 = cart_rate(state + h / 2 * k1, u)
        k3 = cart_rate(state + h / 2 * k2, u)
        k4 = cart_rate(state + h * k3, u)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        total = total + cart_loss(state) + 0.01 * u * u
    return total + 10.0 * cart_loss(state)


def cart_loss(state: Array) -> Any:
    return state[0] ** 2 + 5.0 * (1.0 - np.cos(state[1])) + 0.1 * state[2] ** 2 + 0.1 * state[3] ** 2


def cart_rate(state: Array, u: Any) -> Any:
    """Return the rates of place, angle, speed and turning, of a cart of 1 kg with a pole of 0.2 kg and 0.5 m."""
    s, c = np.sin(state[1]), np.cos(state[1])
    mass = 1.0 + 0.2 * s * s
    push = (u + 0.2 * s * (0.5 * state[3] ** 2 - 9.81 * c)) / mass
    turn = (-u * c - 0.1 * state[3] ** 2 * c * s + 1.2 * 9.81 * s) / (0.5 * mass)
    return np.stack([state[2], state[3], push, turn])


def cart_inputs(horizon: int) -> tuple[Any, ...]:
    return 0.1 * np.random.default_rng(0).standard_normal(horizon), np.array([0.2, 0.3, 0.0, 0.0])


# Networks, in float32


def cross_entropy(scores: Array, labels: Array) -> Any:
    shifted = scores - np.max(scores, axis=-1, keepdims=True)
    chosen = shifted[np.arange(labels.shape[0]), labels]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=-1)) - chosen)


def perceptron(params: Any, x: Array, labels: Array) -> Any:
    for w, b in params[:-1]:
        x = np.maximum(x @ w + b, 0.0)
    w, b = params[-1]
    return cross_entropy(x @ w + b, labels)


def drawn(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> Any:
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def dense(rng: np.random.Generator, n: int, m: int) -> tuple[Any, Any]:
    return drawn(rng, n, m, scale=(2.0 / n) ** 0.5), np.zeros(m, np.float32)


def perceptron_inputs(batch: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    params = [dense(rng, n, m) for n, m in [(784, 256), (256, 256), (256, 10)]]
    return params, drawn(rng, batch, 784), rng.integers(0, 10, batch)


def convolved(x: Array, w: Array) -> Any:
    """Convolve images [batch, rows, columns, channels] with windows [rows, columns, channels, outputs], unpadded."""
    height, width = x.shape[1] - w.shape[0] + 1, x.shape[2] - w.shape[1] + 1
    total: Any = 0.0
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            total = total + x[:, i : i + height, j : j + width, :] @ w[i, j]
    return total


def pooled(x: Array) -> Any:
    n, height, width, channels = x.shape
    return np.max(x.reshape(n, height // 2, 2, width // 2, 2, channels), axis=(2, 4))


def convolutional(params: Any, x: Array, labels: Array) -> Any:
    first, second, (w, b) = params
    x = pooled(np.maximum(convolved(x, first), 0.0))
    x = pooled(np.maximum(convolved(x, second), 0.0))
    return cross_entropy(x.reshape(x.shape[0], -1) @ w + b, labels)


def convolutional_inputs(batch: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    kernels = drawn(rng, 5, 5, 1, 16, scale=0.2), drawn(rng, 5, 5, 16, 32, scale=0.05)
    return (*kernels, dense(rng, 4 * 4 * 32, 10)), drawn(rng, batch, 28, 28, 1), rng.integers(0, 10, batch)


def transformer(params: Any, x: Array) -> Any:
    """Return the mean square of what a block of a transformer makes of x [words, width]: attention and a perceptron."""
    queries, keys, values, out, up, down, (scale, shift), (scale2, shift2) = params
    y = normalised(x, scale, shift)
    q, k, v = heads(y @ queries), heads(y @ keys), heads(y @ values)
    weights = softmax(q @ np.swapaxes(k, 1, 2) / q.shape[-1] ** 0.5)
    x = x + np.swapaxes(weights @ v, 0, 1).reshape(x.shape) @ out
    y = normalised(x, scale2, shift2)
    return np.mean((x + gelu(y @ up) @ down) ** 2)


def heads(x: Array) -> Any:
    return np.swapaxes(x.reshape(x.shape[0], 4, -1), 0, 1)


def normalised(x: Array, scale: Array, shift: Array) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5) * scale + shift


def gelu(x: Array) -> Any:
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def transformer_inputs(words: int, width: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    square = [drawn(rng, width, width, scale=width**-0.5) for _ in range(4)]
    up, down = drawn(rng, width, 4 * width, scale=width**-0.5), drawn(rng, 4 * width, width, scale=(4 * width) ** -0.5)
    norms = [(np.ones(width, np.float32), np.zeros(width, np.float32)) for _ in range(2)]
    return (*square, up, down, *norms), drawn(rng, words, width)


# An arm of many joints


def torques(q: Array, dq: Array, ddq: Array, arm: Any) -> Any:
    """Return the torques of an arm's joints, by Newton's and Euler's recursions.

    arm : shifts [joints, 3] from joint to joint and centres [joints, 3] of mass, masses [joints], inertias
    [joints, 3, 3]; joint k turns about x, y or z in turn.
    Source: Luh, Walker, Paul (1980), On-line computational scheme for mechanical manipulators.
    """
    shifts, centres, masses, inertias, axes = arm
    joints = masses.shape[0]
    turns = rotations(q, axes)
    w, dw, a = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 9.81])
    forces, moments = [], []
    for k in range(joints):
        back = turns[k].T
        a = back @ (a + crossed(dw, shifts[k]) + crossed(w, crossed(w, shifts[k])))
        w, dw = back @ w, back @ dw
        spin = axes[k] * dq[k]
        dw = dw + axes[k] * ddq[k] + crossed(w, spin)
        w = w + spin
        centre = a + crossed(dw, centres[k]) + crossed(w, crossed(w, centres[k]))
        forces.append(masses[k] * centre)
        moments.append(inertias[k] @ dw + crossed(w, inertias[k] @ w))
    f, m = np.zeros(3), np.zeros(3)
    found = [0.0] * joints
    for k in range(joints - 1, -1, -1):
        m = m + moments[k] + crossed(centres[k], forces[k])
        f = f + forces[k]
        found[k] = np.sum(axes[k] * m)
        f, m = turns[k] @ f, turns[k] @ m + crossed(shifts[k], turns[k] @ f)
    return np.stack(found)


def rotations(q: Array, axes: Array) -> Any:
    """Return the rotations about the axes, [joints, 3, 3], by Rodrigues' formula."""
    x, y, z = axes[:, 0], axes[:, 1], axes[:, 2]
    zero = np.zeros_like(x)
    rows = [np.stack(row, axis=1) for row in ([zero, -z, y], [z, zero, -x], [-y, x, zero])]
    across = np.stack(rows, axis=1)
    c, s = np.cos(q)[:, None, None], np.sin(q)[:, None, None]
    return c * np.eye(3) + s * across + (1.0 - c) * (axes[:, :, None] * axes[:, None, :])


def crossed(a: Array, b: Array) -> Any:
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def arm_inputs(joints: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    factors = 0.1 * rng.standard_normal((joints, 3, 3))
    arm = (
        0.2 * rng.standard_normal((joints, 3)), 0.1 * rng.standard_normal((joints, 3)), 0.5 + rng.random(joints),
        factors @ np.swapaxes(factors, 1, 2) + 0.01 * np.eye(3), np.eye(3)[np.arange(joints) % 3],
    )  # fmt: skip
    return *[0.5 * rng.standard_normal(joints) for _ in range(3)], arm


# A function of one number, with branches and a loop


def branching(x: Any, while_loop: Any, cond: Any) -> Any:
    """Return where a point goes that a piecewise map moves, when it is below 1."""

    def step(s: Any) -> Any:
        z, count = s
        return cond(z > 2.0, lambda: 0.5 * z + 0.1 * np.sin(x), lambda: z - 0.2 * z * np.exp(-z)), count + 1

    z, count = while_loop(lambda s: s[0] > 1.0, step, (x, 0 * np.int64(1)))
    return z * np.exp(-0.1 * count)


BRANCHING_C = """
#include <math.h>
#include <stddef.h>
/* The value and the derivative along x, as one writes it by hand, point by point. */
void branching(size_t n, const double* xs, double* values, double* slopes) {
  for (size_t i = 0; i < n; i++) {
    double x = xs[i], z = x, dz = 1.0;
    long count = 0;
    while (z > 1.0) {
      if (z > 2.0) {
        z = 0.5 * z + 0.1 * sin(x);
        dz = 0.5 * dz + 0.1 * cos(x);
      } else {
        double e = exp(-z);
        dz = dz - 0.2 * (1.0 - z) * e * dz;
        z = z - 0.2 * z * e;
      }
      count++;
    }
    double scale = exp(-0.1 * count);
    values[i] = z * scale;
    slopes[i] = dz * scale;
  }
}
"""

DIFFUSION_C = """
#include <stddef.h>
#include <string.h>
/* The forward sweep alone; the result is in u. */
void diffusion(size_t n, size_t m, size_t steps, double* restrict u, double* restrict new) {
  for (size_t t = 0; t < steps; t++) {
    memcpy(new, u, n * m * sizeof(double));
    for (size_t i = 1; i + 1 < n; i++) {
      const double *restrict a = u + i * m, *restrict up = a - m, *restrict down = a + m;
      double* restrict b = new + i * m;
      for (size_t j = 1; j + 1 < m; j++)
        b[j] = a[j] + 0.2 * (down[j] + up[j] + a[j + 1] + a[j - 1] - 4.0 * a[j]);
    }
    double* other = u;
    u = new;
    new = other;
  }
}
"""
