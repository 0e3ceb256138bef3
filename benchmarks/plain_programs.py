"""Small programs that autograd can run too, each made for a module that stands for NumPy.

``PROGRAMS`` has for each name a function ``make(np)``, which returns the function to differentiate, of one number, and
its arguments; the derivative is taken with respect to the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy


def _normal(*shape: int) -> Any:
    return numpy.random.default_rng(sum(shape) + 7 * len(shape)).normal(size=shape)


BY_PYTORCH_TOO = ("seed network", "perceptron", "long short term memory")
"""The programs that read arrays of the module's own alone: :mod:`benchmarks.bench_plain` runs them with PyTorch too."""

Made = tuple[Callable[..., Any], tuple[Any, ...]]
PROGRAMS: dict[str, Callable[[Any], Made]] = {}


def program(make: Callable[[Any], Made]) -> Callable[[Any], Made]:
    PROGRAMS[make.__name__.replace("_", " ")] = make
    return make


@program
def sum_of_squares(np: Any) -> Made:
    return lambda x: np.sum(x**2), (_normal(100),)


@program
def rosenbrock(np: Any) -> Made:
    return lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), (_normal(100),)


@program
def rosenbrock_of_two_numbers(np: Any) -> Made:
    return lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, (_normal(2),)


@program
def tanh_by_hand(np: Any) -> Made:
    def f(x: Any) -> Any:
        y = np.exp(-2.0 * x)
        return (1.0 - y) / (1.0 + y)

    return f, (0.7,)


@program
def series_of_the_sine(np: Any) -> Made:
    def f(x: Any) -> Any:
        term = total = x
        for k in range(1, 12):
            term = -term * x * x / (2 * k * (2 * k + 1))
            total = total + term
        return total

    return f, (1.2,)


@program
def square_root_by_newton(np: Any) -> Made:
    def f(a: Any) -> Any:
        x = a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    return f, (2.0,)


@program
def logistic_regression(np: Any) -> Made:
    x, y = _normal(50, 3), (_normal(50) > 0) * 1.0

    def loss(w: Any) -> Any:
        p = 0.5 * (np.tanh(np.dot(x, w)) + 1)
        return -np.sum(np.log(p * y + (1 - p) * (1 - y)))

    return loss, (_normal(3),)


@program
def linear_regression(np: Any) -> Made:
    x, y = _normal(100, 5), _normal(100)
    return lambda w: np.mean((x @ w - y) ** 2), (_normal(5),)


@program
def ridge_regression(np: Any) -> Made:
    x, y = _normal(60, 4), _normal(60)
    return lambda w: np.sum((np.dot(x, w) - y) ** 2) + 0.1 * np.dot(w, w), (_normal(4),)


@program
def seed_network(np: Any) -> Made:
    def net(weights: Any, x: Any) -> Any:
        for w in weights:
            x = np.cos(np.dot(w, x))
        return x[0]

    return net, ([_normal(10, 10) * 0.3 for _ in range(10)], numpy.ones(10))


@program
def perceptron(np: Any) -> Made:
    x, y = np.array(_normal(32, 8)), np.array(_normal(32, 1))

    def loss(params: Any) -> Any:
        h = x
        for w, b in params[:-1]:
            h = np.tanh(np.dot(h, w) + b)
        w, b = params[-1]
        return np.mean((np.dot(h, w) + b - y) ** 2)

    sizes = [8, 16, 16, 1]
    return loss, ([(_normal(m, n) * 0.3, numpy.zeros(n)) for m, n in zip(sizes, sizes[1:], strict=False)],)


@program
def classifier_with_softmax(np: Any) -> Made:
    x, labels = _normal(32, 10), numpy.eye(4)[numpy.arange(32) % 4]

    def loss(params: Any) -> Any:
        logits = np.dot(x, params["w"]) + params["b"]
        largest = np.max(logits, axis=1, keepdims=True)
        normal = np.log(np.sum(np.exp(logits - largest), axis=1, keepdims=True)) + largest
        return -np.mean(np.sum(labels * (logits - normal), axis=1))

    return loss, ({"w": _normal(10, 4), "b": numpy.zeros(4)},)


@program
def recurrent_network(np: Any) -> Made:
    xs = _normal(10, 4)

    def loss(params: Any) -> Any:
        w, u, b = params
        h = np.zeros(8)
        for t in range(10):
            h = np.tanh(np.dot(w, h) + np.dot(u, xs[t]) + b)
        return np.sum(h**2)

    return loss, ((_normal(8, 8) * 0.3, _normal(8, 4), numpy.zeros(8)),)


@program
def long_short_term_memory(np: Any) -> Made:
    xs = np.array(_normal(8, 4))

    def sigmoid(x: Any) -> Any:
        return 0.5 * (np.tanh(x / 2) + 1)

    def loss(params: Any) -> Any:
        w, b = params
        h, c = np.zeros(6), np.zeros(6)
        for t in range(8):
            z = np.dot(w, np.concatenate([h, xs[t]])) + b
            i, f, o, g = sigmoid(z[:6]), sigmoid(z[6:12]), sigmoid(z[12:18]), np.tanh(z[18:])
            c = f * c + i * g
            h = o * np.tanh(c)
        return np.sum(h)

    return loss, ((_normal(24, 10) * 0.3, numpy.zeros(24)),)


@program
def gaussian_mixture(np: Any) -> Made:
    x = _normal(40, 2)

    def loss(params: Any) -> Any:
        logits, means, scales = params
        z = (x[:, None, :] - means[None, :, :]) / np.exp(scales)[None, :, :]
        each = logits - np.log(np.sum(np.exp(logits))) - 0.5 * np.sum(z**2, axis=2) - np.sum(scales, axis=1)
        top = np.max(each, axis=1)
        return -np.sum(top + np.log(np.sum(np.exp(each - top[:, None]), axis=1)))

    return loss, ((numpy.zeros(3), _normal(3, 2), numpy.zeros((3, 2))),)


@program
def log_likelihood_of_a_normal(np: Any) -> Made:
    x = _normal(50)

    def f(p: Any) -> Any:
        mean, log_scale = p[0], p[1]
        return -np.sum(0.5 * ((x - mean) / np.exp(log_scale)) ** 2 + log_scale)

    return f, (numpy.array([0.1, 0.2]),)


@program
def poisson_regression(np: Any) -> Made:
    x, y = _normal(80, 3), numpy.floor(numpy.abs(_normal(80)) * 3)

    def f(w: Any) -> Any:
        eta = np.dot(x, w)
        return np.sum(np.exp(eta) - y * eta)

    return f, (_normal(3) * 0.1,)


@program
def gaussian_process(np: Any) -> Made:
    x, y = numpy.linspace(0, 1, 12), _normal(12)
    squared = (x[:, None] - x[None, :]) ** 2

    def f(p: Any) -> Any:
        k = np.exp(p[0]) * np.exp(-squared / np.exp(p[1])) + np.exp(p[2]) * np.eye(12)
        _, logdet = np.linalg.slogdet(k)
        return 0.5 * np.dot(y, np.linalg.solve(k, y)) + 0.5 * logdet

    return f, (numpy.array([0.0, -1.0, -2.0]),)


@program
def determinant(np: Any) -> Made:
    return lambda a: np.log(np.abs(np.linalg.det(a))), (_normal(5, 5),)


@program
def trace_of_the_inverse(np: Any) -> Made:
    return lambda a: np.trace(np.linalg.inv(a)), (_normal(6, 6) + 6 * numpy.eye(6),)


@program
def cholesky_likelihood(np: Any) -> Made:
    y = _normal(6)

    def f(a: Any) -> Any:
        factor = np.linalg.cholesky(np.dot(a, a.T) + np.eye(6))
        z = np.linalg.solve(factor, y)
        return np.sum(z**2) + 2 * np.sum(np.log(np.diag(factor)))

    return f, (_normal(6, 6),)


@program
def pendulum_by_euler(np: Any) -> Made:
    def f(y: Any) -> Any:
        angle, speed = y[0], y[1]
        for _ in range(50):
            angle, speed = angle + 0.02 * speed, speed - 0.02 * 9.81 * np.sin(angle)
        return angle

    return f, (numpy.array([0.5, 0.0]),)


@program
def lotka_volterra_by_runge_kutta(np: Any) -> Made:
    def field(y: Any, p: Any) -> Any:
        return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    def f(p: Any) -> Any:
        y, h = np.array([1.0, 1.0]), 0.1
        for _ in range(10):
            a = field(y, p)
            b = field(y + h / 2 * a, p)
            c = field(y + h / 2 * b, p)
            d = field(y + h * c, p)
            y = y + h / 6 * (a + 2 * b + 2 * c + d)
        return np.sum(y)

    return f, (numpy.array([1.5, 1.0, 1.0, 3.0]),)


@program
def heat_equation(np: Any) -> Made:
    def f(u: Any) -> Any:
        for _ in range(20):
            u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        return np.sum(u**2)

    return f, (_normal(64),)


@program
def wave_equation(np: Any) -> Made:
    def f(u: Any) -> Any:
        before = u
        for _ in range(20):
            inner = 2 * u[1:-1] - before[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
            before, u = u, np.concatenate([u[:1], inner, u[-1:]])
        return np.sum(u**2)

    return f, (_normal(50),)


@program
def n_bodies(np: Any) -> Made:
    masses = numpy.arange(1.0, 6.0)

    def f(x: Any) -> Any:
        d = x[:, None, :] - x[None, :, :]
        r = np.sqrt(np.sum(d**2, axis=2) + 0.01)
        return -np.sum(masses[:, None] * masses[None, :] / r)

    return f, (_normal(5, 3),)


@program
def lennard_jones(np: Any) -> Made:
    first, second = numpy.triu_indices(6, 1)

    def f(x: Any) -> Any:
        d = x[first] - x[second]
        r6 = np.sum(d * d, axis=1) ** 3
        return np.sum(4 * (1 / r6**2 - 1 / r6))

    return f, (_normal(6, 3) * 2,)


@program
def robot_arm(np: Any) -> Made:
    def f(angles: Any) -> Any:
        x = y = total = 0.0
        for k in range(6):
            total = total + angles[k]
            x = x + np.cos(total)
            y = y + np.sin(total)
        return (x - 2.0) ** 2 + (y - 1.0) ** 2

    return f, (_normal(6),)


@program
def rotation_and_projection(np: Any) -> Made:
    points = _normal(10, 3)

    def f(p: Any) -> Any:
        r, t = p[:3], p[3:]
        angle = np.sqrt(np.sum(r**2))
        axis = r / angle
        turned = (
            points * np.cos(angle)
            + np.cross(np.tile(axis, (10, 1)), points) * np.sin(angle)
            + np.outer(np.dot(points, axis), axis) * (1 - np.cos(angle))
        )
        moved = turned + t
        return np.sum((moved[:, :2] / (moved[:, 2:] + 10.0)) ** 2)

    return f, (_normal(6),)


@program
def kalman_filter(np: Any) -> Made:
    ys = _normal(10)

    def f(p: Any) -> Any:
        mean, variance, loss = 0.0, 1.0, 0.0
        q, r = np.exp(p[0]), np.exp(p[1])
        for t in range(10):
            variance = variance + q
            s = variance + r
            gain = variance / s
            error = ys[t] - mean
            loss = loss + 0.5 * (np.log(s) + error**2 / s)
            mean = mean + gain * error
            variance = (1 - gain) * variance
        return loss

    return f, (numpy.array([-1.0, 0.0]),)


@program
def hidden_markov_model(np: Any) -> Made:
    seen = numpy.arange(12) % 3

    def f(params: Any) -> Any:
        a = np.exp(params[0]) / np.sum(np.exp(params[0]), axis=1, keepdims=True)
        b = np.exp(params[1]) / np.sum(np.exp(params[1]), axis=1, keepdims=True)
        alpha, total = np.ones(4) / 4, 0.0
        for t in seen:
            alpha = np.dot(alpha, a) * b[:, t]
            s = np.sum(alpha)
            total = total + np.log(s)
            alpha = alpha / s
        return -total

    return f, ((_normal(4, 4), _normal(4, 3)),)


@program
def matrix_factorisation(np: Any) -> Made:
    data, mask = _normal(20, 15), _normal(20, 15) > 0

    def f(params: Any) -> Any:
        u, v = params
        return np.sum(np.where(mask, np.dot(u, v.T) - data, 0.0) ** 2) + 0.01 * (np.sum(u**2) + np.sum(v**2))

    return f, ((_normal(20, 3), _normal(15, 3)),)


@program
def attention(np: Any) -> Made:
    x = _normal(12, 8)

    def f(params: Any) -> Any:
        q, k, v = np.dot(x, params[0]), np.dot(x, params[1]), np.dot(x, params[2])
        s = np.dot(q, k.T) / np.sqrt(8.0)
        e = np.exp(s - np.max(s, axis=1, keepdims=True))
        return np.sum(np.dot(e / np.sum(e, axis=1, keepdims=True), v) ** 2)

    return f, ([_normal(8, 8), _normal(8, 8) + 0.1, _normal(8, 8) - 0.1],)


@program
def polynomial_by_horner(np: Any) -> Made:
    def f(coefficients: Any) -> Any:
        total = 0.0
        for k in range(12):
            total = total * 0.9 + coefficients[k]
        return total**2

    return f, (_normal(12),)


@program
def huber_loss(np: Any) -> Made:
    x, y = _normal(40, 3), _normal(40)

    def f(w: Any) -> Any:
        r = np.abs(np.dot(x, w) - y)
        return np.sum(np.where(r < 1.0, 0.5 * r**2, r - 0.5))

    return f, (_normal(3),)


@program
def branches(np: Any) -> Made:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(8):
            v = x[k]
            total = total + (v**2 if v > 0 else np.exp(v))
        return total

    return f, (_normal(8),)


@program
def black_scholes(np: Any) -> Made:
    def cdf(x: Any) -> Any:
        return 0.5 * (1.0 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def f(p: Any) -> Any:
        spot, strike, rate, sigma, time = p[0], p[1], p[2], p[3], p[4]
        d1 = (np.log(spot / strike) + (rate + sigma**2 / 2) * time) / (sigma * np.sqrt(time))
        d2 = d1 - sigma * np.sqrt(time)
        return spot * cdf(d1) - strike * np.exp(-rate * time) * cdf(d2)

    return f, (numpy.array([100.0, 95.0, 0.05, 0.2, 1.0]),)


@program
def convolution_by_slices(np: Any) -> Made:
    x = _normal(40)

    def f(w: Any) -> Any:
        y = 0.0
        for k in range(5):
            y = y + w[k] * x[k : k + 36]
        return np.sum(np.maximum(y, 0.0) ** 2)

    return f, (_normal(5),)


@program
def fourier_magnitude(np: Any) -> Made:
    return lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2), (_normal(32),)


@program
def variational_inference(np: Any) -> Made:
    noise = _normal(20, 4)

    def f(p: Any) -> Any:
        mean, log_scale = p[:4], p[4:]
        z = mean + np.exp(log_scale) * noise
        log_density = -0.5 * np.sum(z**2, axis=1) - np.sum((z[:, 1:] - z[:, :-1] ** 2) ** 2, axis=1)
        return -(np.sum(log_scale) + np.mean(log_density))

    return f, (_normal(8) * 0.1,)


@program
def optics_of_two_layers(np: Any) -> Made:
    def f(p: Any) -> Any:
        total = 0.0
        for wavelength in (0.4, 0.5, 0.6, 0.7):
            m = np.eye(2) + 0j
            for k in range(2):
                phase = 2 * np.pi * p[2 + k] * p[k] / wavelength
                m = np.dot(
                    m,
                    np.array(
                        [
                            [np.cos(phase), 1j * np.sin(phase) / p[k]],
                            [1j * p[k] * np.sin(phase), np.cos(phase)],
                        ]
                    ),
                )
            total = total + np.abs(m[0, 0] + m[1, 1]) ** 2
        return total

    return f, (numpy.array([1.4, 2.1, 0.12, 0.08]),)


@program
def sum_of_sorted(np: Any) -> Made:
    weights = numpy.linspace(1, 2, 30)
    return lambda x: np.dot(np.sort(x), weights), (_normal(30),)
