"""GradBench's evals as NumPy functions of our own, for :mod:`benchmarks.bench_gradbench`.

GradBench (https://github.com/gradbench/gradbench) describes each problem in its ``evals`` folder; the functions here
are written from these descriptions. Inputs are drawn as its scripts draw them. The hand and the cameras, which it
reads from files, are drawn at random with the sizes that the files have.

A function that reads ``np`` and changes nothing in place is JAX's, too: :func:`retargeted` returns this module with
``jax.numpy`` for ``np``. Where JAX needs a loop of its own, the function is in :mod:`benchmarks.gradbench_jax`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Array = Any
SEED = 31337


def retargeted(numpy: Any, name: str = __name__) -> ModuleType:
    """Return this module, or another one of that name, anew and with another library for ``np``."""
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.__dict__["np"] = numpy
    return module


# Determinants by minors


def det(a: Array) -> Any:
    """Return the determinant by expansion along the first row, of numbers one by one."""
    return minor(a, 0, tuple(range(a.shape[0])))


def minor(a: Array, row: int, columns: tuple[int, ...]) -> Any:
    if len(columns) == 1:
        return a[row, columns[0]]
    total: Any = 0.0
    for k, column in enumerate(columns):
        term = a[row, column] * minor(a, row + 1, columns[:k] + columns[k + 1 :])
        total = total - term if k % 2 else total + term
    return total


def det_of_stacks(a: Array) -> Any:
    """Compute as :func:`det`, on arrays: all minors of one size at once. Shape [..., n, n]."""
    n = a.shape[-1]
    if n == 1:
        return a[..., 0, 0]
    signs = np.array([(-1.0) ** k for k in range(n)])
    kept = np.array([[j for j in range(n) if j != k] for k in range(n)])
    minors = np.moveaxis(a[..., 1:, :][..., kept], -2, -3)
    return np.sum(signs * a[..., 0, :] * det_of_stacks(minors), axis=-1)


# Mixtures of Gaussians


def gmm(alpha: Array, mu: Array, q: Array, l: Array, x: Array, m: int, gamma: float) -> Any:
    """Return the logarithm of the posterior of a mixture, whose precisions are LᵀL with a Wishart prior.

    alpha : [k], mu : [k, d], q : [k, d], l : [k, d (d - 1) / 2], x : [n, d].
    """
    from scipy.special import multigammaln

    (n, d), k = x.shape, alpha.shape[0]
    place = [[0] * d for _ in range(d)]  # of each element of L below the diagonal, column by column, from 1
    for j in range(d):
        for i in range(j + 1, d):
            place[i][j] = 1 + sum(len(range(c + 1, d)) for c in range(j)) + i - j - 1
    below = np.concatenate([np.zeros((k, 1)), l], axis=1)[:, np.array(place)]
    factor = below + np.exp(q)[:, :, None] * np.eye(d)
    centred = x[:, None, :] - mu[None, :, :]
    whitened = np.einsum("kij,nkj->nki", factor, centred)
    each = alpha + np.sum(q, axis=1) - 0.5 * np.sum(whitened**2, axis=2)
    freedom = d + m + 1
    constant = freedom * d * (np.log(gamma) - 0.5 * np.log(2.0)) - float(multigammaln(0.5 * freedom, d))
    squares = np.sum(np.exp(2.0 * q)) + np.sum(l**2)
    prior = k * constant - 0.5 * gamma**2 * squares + m * np.sum(q)
    likelihood = np.sum(logsumexp(each, 1)) - n * logsumexp(alpha, 0) - 0.5 * n * d * np.log(2.0 * np.pi)
    return likelihood + prior


def logsumexp(x: Array, axis: int) -> Any:
    most = np.max(x, axis=axis, keepdims=True)
    return np.squeeze(most, axis) + np.log(np.sum(np.exp(x - most), axis=axis))


def gmm_inputs(d: int, k: int, n: int = 1000) -> tuple[Any, ...]:
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(n, d))
    return (
        rng.normal(size=k),
        rng.uniform(size=(k, d)),
        rng.normal(size=(k, d)),
        rng.normal(size=(k, d * (d - 1) // 2)),
        x,
    )


# Bundle adjustment


def reprojection(z: Array, feature: Array) -> Any:
    """Return the weighted error of one observation: a camera of 11 numbers, a point of 3, and a weight, together 15."""
    rotation, centre, focal, principal, radial = z[0:3], z[3:6], z[6], z[7:9], z[9:11]
    seen = rotated(rotation, z[11:14] - centre)
    flat = seen[:2] / seen[2]
    square = np.sum(flat * flat)
    flat = flat * (1.0 + radial[0] * square + radial[1] * square * square)
    return z[14] * (focal * flat + principal - feature)


def rotated(axis: Array, point: Array) -> Any:
    """Rotate by Rodrigues' formula; ``axis`` has the angle for its length."""
    square = np.sum(axis * axis)
    angle = np.sqrt(square)
    unit = axis / angle
    along = np.sum(unit * point) * (1.0 - np.cos(angle))
    return point * np.cos(angle) + crossed(unit, point) * np.sin(angle) + unit * along


def crossed(a: Array, b: Array) -> Any:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def ba_inputs(n: int, m: int, p: int) -> tuple[Any, ...]:
    """Return cameras, points, weights, observations and features; all cameras are alike, all points ..."""
    rng = np.random.default_rng(SEED)
    camera = np.array([-0.8, -1.1, -0.8, 34.6, 39.7, 53.9, 419.2, 5.9, -8.5, 0.088, 0.0027])
    camera = camera * (1 + 0.01 * rng.standard_normal(11))
    point, weight, feature = np.array([7.2, 0.001, 3.0]), 0.417, np.array([271.8, 834.2])
    observations = np.stack([np.arange(p) % n, np.arange(p) % m], axis=1)
    return np.tile(camera, (n, 1)), np.tile(point, (m, 1)), np.full(p, weight), observations, np.tile(feature, (p, 1))


def ba_arguments(cameras: Array, points: Array, weights: Array, observations: Array) -> Any:
    """Return the 15 numbers of each observation."""
    return np.concatenate([cameras[observations[:, 0]], points[observations[:, 1]], weights[:, None]], axis=1)


# Hand tracking

BONES = 22  # a wrist, and for each of five fingers three joints and a tip; one bone more, of the arm


class Hand:
    """A hand drawn at random: bones in a tree, vertices that follow several of them, observed points."""

    def __init__(self, vertices: int, observed: int) -> None:
        rng = np.random.default_rng(SEED)
        self.parents = [-1, *[p for f in range(5) for p in (0, 4 * f + 1, 4 * f + 2, 4 * f + 3)], 0]
        self.relatives = np.stack([rigid(rng) for _ in range(BONES)])
        absolutes: list[Any] = []
        for bone, parent in enumerate(self.parents):
            absolutes.append(self.relatives[bone] if parent < 0 else absolutes[parent] @ self.relatives[bone])
        self.inverses = np.linalg.inv(np.stack(absolutes))
        self.positions = np.concatenate([rng.random((vertices, 3)), np.ones((vertices, 1))], axis=1)
        weights = rng.random((BONES, vertices)) * (rng.random((BONES, vertices)) < 0.2) + 1e-3
        self.weights = weights / weights.sum(axis=0)
        self.triangles = rng.integers(0, vertices, (observed, 3))
        self.observed = rng.integers(0, vertices, observed)
        self.points = rng.random((observed, 3))
        self.places = joints()
        self.theta = 0.3 * rng.standard_normal(26)
        self.us = rng.random((observed, 2)) / 2


def rigid(rng: np.random.Generator) -> Any:
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    return np.block(
        [[turn * np.linalg.det(turn), 0.1 * rng.standard_normal((3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]]
    )


def joints() -> Any:
    """Return which of (0, theta) each bone's three angles are: the first joint of a finger has two, the others one."""
    places, number = np.zeros((BONES, 3), int), 7
    for finger in range(5):
        for joint in range(3):
            bone = 4 * finger + 2 + joint - 1
            places[bone, 0], number = number, number + 1
            if joint == 0:
                places[bone, 1], number = number, number + 1
    return places


def vertices(theta: Array, hand: Hand) -> Any:
    """Return the vertices of the posed hand, [vertices, 3]; theta has a rotation, a shift and 20 angles."""
    angles = np.concatenate([np.zeros(1), theta])[hand.places]
    absolutes: list[Any] = []
    turned = hand.relatives @ turns(angles)
    for bone, parent in enumerate(hand.parents):
        absolutes.append(turned[bone] if parent < 0 else absolutes[parent] @ turned[bone])
    transforms = (np.stack(absolutes) @ hand.inverses)[:, :3]
    placed = (transforms.reshape(-1, 4) @ hand.positions.T).reshape(BONES, 3, -1)
    skinned = np.sum(placed * hand.weights[:, None, :], axis=0)
    return (rotation(theta[:3]) @ skinned).T + theta[3:6]


def turns(angles: Array) -> Any:
    """Return the rotations about z, y and x by angles [bones, (x, z, y)], as matrices [bones, 4, 4]."""
    c, s = np.cos(angles), np.sin(angles)
    cx, cz, cy, sx, sz, sy = c[:, 0], c[:, 1], c[:, 2], s[:, 0], s[:, 1], s[:, 2]
    one, zero = np.ones_like(cx), np.zeros_like(cx)

    def matrices(*rows: list[Any]) -> Any:
        return np.stack([np.stack(row, axis=1) for row in rows], axis=1)

    about_x = matrices([one, zero, zero, zero], [zero, cx, -sx, zero], [zero, sx, cx, zero], [zero, zero, zero, one])
    about_y = matrices([cy, zero, sy, zero], [zero, one, zero, zero], [-sy, zero, cy, zero], [zero, zero, zero, one])
    about_z = matrices([cz, -sz, zero, zero], [sz, cz, zero, zero], [zero, zero, one, zero], [zero, zero, zero, one])
    return about_z @ about_y @ about_x


def rotation(axis: Array) -> Any:
    angle = np.sqrt(np.sum(axis * axis))
    x, y, z = axis[0] / angle, axis[1] / angle, axis[2] / angle
    zero = 0.0 * x
    c, s = np.cos(angle), np.sin(angle)
    across = np.stack([np.stack([zero, -z, y]), np.stack([z, zero, -x]), np.stack([-y, x, zero])])
    unit = np.stack([x, y, z])
    return c * np.eye(3) + s * across + (1 - c) * (unit[:, None] * unit[None, :])


def hand_simple(theta: Array, hand: Hand) -> Any:
    return (hand.points - vertices(theta, hand)[hand.observed]).ravel()


def hand_complicated(z: Array, hand: Hand) -> Any:
    """Return the errors where a point lies within a triangle. z: two shifts of all barycentric coordinates, and theta.

    An error depends on the coordinates of its own point alone, so the shifts have their derivatives, in two columns.
    """
    us, found = hand.us + z[:2], vertices(z[2:], hand)
    corners = found[hand.triangles]
    a, b = us[:, :1], us[:, 1:]
    return (hand.points - (a * corners[:, 0] + b * corners[:, 1] + (1 - a - b) * corners[:, 2])).ravel()


# The small ones


def kmeans(centres: Array, points: Array) -> Any:
    """Return the sum over all points of the squared distance to the nearest centre."""
    squares = np.sum(points**2, axis=1)[None, :] + np.sum(centres**2, axis=1)[:, None] - 2.0 * (centres @ points.T)
    return np.sum(np.min(squares, axis=0))


def llsq(x: Array, t: Array) -> Any:
    """Return half the sum of squares of sign(t) minus a polynomial with coefficients x, at the points t."""
    value = np.zeros_like(t)
    for c in x[::-1]:
        value = value * t + c
    return 0.5 * np.sum((np.sign(t) - value) ** 2)


def lse(x: Array) -> Any:
    most = np.max(x)
    return np.log(np.sum(np.exp(x - most))) + most


def ode(x: Array, steps: int) -> Any:
    """Return the last element at t = 2 of y' = f(y), f_0 = x_0, f_i = x_i y_{i-1}, by Runge-Kutta."""

    def rate(y: Any) -> Any:
        dy = np.zeros_like(x)
        dy[0] = x[0]
        dy[1:] = x[1:] * y[:-1]
        return dy

    y, h = np.zeros_like(x), 2.0 / steps
    for _ in range(steps):
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[-1]


def lstm(main: Array, extra: Array, state: Array, sequence: Array) -> Any:
    """Return the mean loss of predicting each character's bits from those before it.

    main : [2 layers, 4 bits], extra : [3, bits], state : [2 layers, bits], sequence : [characters, bits].
    """
    hidden, cell = [state[k] for k in range(0, len(state), 2)], [state[k] for k in range(1, len(state), 2)]
    total: Any = 0.0
    for t in range(sequence.shape[0] - 1):
        hidden, cell, loss = lstm_step(main, extra, hidden, cell, sequence[t], sequence[t + 1])
        total = total + loss
    return -total / ((sequence.shape[0] - 1) * sequence.shape[1])


def lstm_step(main: Array, extra: Array, hidden: Any, cell: Any, given: Array, wanted: Array) -> tuple[Any, Any, Any]:
    x = given * extra[0]
    hiddens, cells = [], []
    for k in range(main.shape[0] // 2):
        weight, bias = main[2 * k].reshape(4, -1), main[2 * k + 1].reshape(4, -1)
        forget, ingate = sigmoid(x * weight[0] + bias[0]), sigmoid(hidden[k] * weight[1] + bias[1])
        outgate, change = sigmoid(x * weight[2] + bias[2]), np.tanh(hidden[k] * weight[3] + bias[3])
        c = cell[k] * forget + ingate * change
        x = outgate * np.tanh(c)
        hiddens.append(x)
        cells.append(c)
    predicted = x * extra[1] + extra[2]
    return hiddens, cells, np.sum(wanted * (predicted - np.log(np.sum(np.exp(predicted)) + 2.0)))


def sigmoid(x: Array) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def lstm_inputs(layers: int, characters: int, bits: int = 14) -> tuple[Any, ...]:
    rng = np.random.default_rng(SEED)
    shapes = (2 * layers, 4 * bits), (3, bits), (2 * layers, bits)
    sequence = rng.integers(0, 2, (characters, bits)).astype(float)
    return *[rng.random(shape) for shape in shapes], sequence


# Optimisers within which functions are differentiated that differentiate


class Transforms:
    """The transforms of one library that :func:`particle` and :func:`saddle` are written in."""

    def __init__(self, numpy: Any, while_loop: Any, cond: Any, reverse: Any, forward: Any) -> None:
        self.np, self.while_loop, self.cond = numpy, while_loop, cond
        self.gradient = {"r": reverse, "f": forward}


def lowest(t: Transforms, mode: str, f: Callable[[Any], Any], x: Any) -> Any:
    """Return where f is least, by gradient descent whose rate doubles after ten good steps, and halves after a bad one.

    It ends where the gradient or a step is as short as 1e-5.
    """
    g = t.gradient[mode](f)

    def length(v: Any) -> Any:
        return t.np.sqrt(t.np.sum(v * v))

    def step(s: Any) -> Any:
        x, fx, gx, rate, count, _ = s

        def moved() -> Any:
            new = x - rate * gx

            def tried() -> Any:
                value = f(new)
                return t.cond(
                    value < fx,
                    lambda: (new, value, g(new), rate, count + 1, t.np.array(True)),
                    lambda: (x, fx, gx, rate / 2, 0 * count, t.np.array(True)),
                )

            stays = (x, fx, gx, rate, count, t.np.array(False))
            return t.cond(length(x - new) <= 1e-5, lambda: stays, tried)

        doubled = (x, fx, gx, 2 * rate, 0 * count, t.np.array(True))
        done = (x, fx, gx, rate, count, t.np.array(False))
        return t.cond(length(gx) <= 1e-5, lambda: done, lambda: t.cond(count == 10, lambda: doubled, moved))

    start = (x, f(x), g(x), t.np.array(1e-5), t.np.array(0), t.np.array(True))
    return t.while_loop(lambda s: s[5], step, start)[0]


def particle(t: Transforms, modes: str, w: Any) -> Any:
    """Return the w for which a charged particle, moved by Euler's method, meets the x-axis nearest to the origin."""

    def miss(w: Any) -> Any:
        def potential(x: Any) -> Any:
            first, second = x - t.np.array([10.0, 0.0]), x - t.np.stack([10.0 + 0 * w[0], 10.0 - w[0]])
            return 1 / t.np.sqrt(t.np.sum(first**2)) + 1 / t.np.sqrt(t.np.sum(second**2))

        g, dt = t.gradient[modes[1]](potential), 0.1

        def step(s: Any) -> Any:
            x, v = s
            return x + dt * v, v - dt * g(x)

        start = t.np.array([0.0, 8.0]), t.np.array([0.75, 0.0])
        x, v = t.while_loop(lambda s: (s[0] + dt * s[1])[1] > 0, step, start)
        return (x[0] - x[1] / v[1] * v[0]) ** 2

    return lowest(t, modes[0], miss, w)


def saddle(t: Transforms, modes: str, start: Any) -> Any:
    """Return x and y of min over x, max over y of (x_1² + x_2²) - (y_1² + y_2²)."""

    def f(x: Any, y: Any) -> Any:
        return t.np.sum(x * x) - t.np.sum(y * y)

    def worst(x: Any) -> Any:
        return f(x, lowest(t, modes[1], lambda y: -f(x, y), start))

    x = lowest(t, modes[0], worst, start)
    return t.np.concatenate([x, lowest(t, modes[0], lambda y: -f(x, y), start)])
