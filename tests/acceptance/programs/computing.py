"""Algorithms made smooth, and what classes and counters do."""

import math
import operator
from functools import cached_property, reduce
from itertools import groupby, islice, tee

import numpy as np

from tests.acceptance.programs.entries import program


def softmin(values, gamma=0.1):
    m = min(values)
    return m - gamma * math.log(sum(math.exp(-(v - m) / gamma) for v in values))


def soft_dtw(x, y=(0.0, 0.5, 1.2, 0.3)):
    """Dynamic time warping: a table of a recurrence."""
    n, m = len(x), len(y)
    D = [[math.inf] * (m + 1) for _ in range(n + 1)]
    D[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            before = [v for v in (D[i - 1][j], D[i][j - 1], D[i - 1][j - 1]) if v is not math.inf]
            D[i][j] = (x[i - 1] - y[j - 1]) ** 2 + softmin(before)
    return D[n][m]


def soft_edit_distance(costs, a="kitten", b="sitting"):
    memo = {}

    def distance(i, j):
        if i == 0 or j == 0:
            return costs["insert"] * j + costs["delete"] * i
        if (i, j) not in memo:
            change = 0.0 if a[i - 1] == b[j - 1] else costs["change"]
            memo[i, j] = softmin(
                [
                    distance(i - 1, j) + costs["delete"],
                    distance(i, j - 1) + costs["insert"],
                    distance(i - 1, j - 1) + change,
                ],
                0.2,
            )
        return memo[i, j]

    return distance(len(a), len(b))


def knapsack_relaxation(multiplier, items=((4.0, 12.0), (2.0, 2.0), (1.0, 1.0), (3.0, 10.0), (1.5, 4.0)), room=6.0):
    """The dual of a knapsack, with the choice of every item smoothed."""
    value = multiplier * room
    for weight, worth in sorted(items, key=lambda item: item[1] / item[0], reverse=True):
        value += np.logaddexp(0.0, 4.0 * (worth - multiplier * weight)) / 4.0
    return value


def markov_chain(rates):
    """The steady state of a chain: one equation replaced by the sum."""
    P = np.array([[0.0, rates[0], 0.1], [rates[1], 0.0, 0.3], [0.2, rates[2], 0.0]])
    P = P + np.diag(1.0 - P.sum(axis=1))
    A = P.T - np.eye(3)
    A[-1, :] = 1.0
    pi = np.linalg.solve(A, np.array([0.0, 0.0, 1.0]))
    return float(-np.sum(pi * np.log(pi)))


class Dual:
    """Numbers with a derivative of their own, by hand."""

    def __init__(self, value, slope=0.0):
        self.value, self.slope = value, slope

    @staticmethod
    def lift(x):
        return x if isinstance(x, Dual) else Dual(x)

    def __add__(self, other):
        other = Dual.lift(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        other = Dual.lift(other)
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    __radd__, __rmul__ = __add__, __mul__


def second_derivative(x):
    """The derivative by dual numbers, and its own derivative is asked for."""
    d = Dual(x, 1.0)
    y = reduce(operator.add, (c * reduce(operator.mul, [d] * k) for k, c in enumerate((0.5, -1.0, 2.0), start=1)))
    return y.slope


def horner_with_windows(coefficients):
    first, second = tee(coefficients)
    slopes = [b - a for a, b in zip(first, islice(second, 1, None))]
    runs = [list(group) for _, group in groupby(range(len(slopes)), key=lambda k: k // 2)]
    return sum(math.prod(slopes[k] for k in run) for run in runs)


class Minimiser:
    """Gradient descent with its own differences: it counts what it evaluates, and keeps the best."""

    def __init__(self, curvature):
        self.curvature = curvature
        self.best = math.inf
        self.evaluations = 0

    def f(self, x):
        self.evaluations += 1
        value = self.curvature * (x - 1.0) ** 2 + 0.1 * math.cos(3 * x)
        if value < self.best:
            self.best = value
        return value

    def run(self, x, steps=6, h=1e-3):
        for _ in range(steps):
            x = x - 0.2 * (self.f(x + h) - self.f(x - h)) / (2 * h)
        return self.f(x)


def descended(curvature):
    search = Minimiser(curvature)
    value = search.run(3.0)
    assert search.evaluations == 13, f"{search.evaluations} evaluations"
    return value + search.best


class Model:
    """Counts its evaluations, as models for scipy.optimize do."""

    def __init__(self, x, y):
        self.x, self.y = np.asarray(x), np.asarray(y)
        self.nfev = 0

    @cached_property
    def weights(self):
        return 1.0 / (0.1 + 0.05 * self.x)

    def residuals(self, p):
        return (p["a"] * np.exp(-p["k"] * self.x) - self.y) * self.weights

    def loss(self, p):
        self.nfev += 1
        r = self.residuals(p)
        return 0.5 * r @ r


decay = Model(np.linspace(0, 3, 8), 2.0 * np.exp(-0.8 * np.linspace(0, 3, 8)))


def interpreter(x, expression="3 x * sin x 2 ^ +"):
    """Reverse Polish: a stack, and a table of operations by their names."""
    binary = {"+": operator.add, "*": operator.mul, "^": operator.pow}
    stack = []
    for word in expression.split():
        match word:
            case "x":
                stack.append(x)
            case "sin" | "cos" | "exp":
                stack.append(getattr(math, word)(stack.pop()))
            case _ if word in binary:
                right, left = stack.pop(), stack.pop()
                stack.append(binary[word](left, right))
            case _:
                stack.append(float(word))
    (result,) = stack
    return result


def sorted_gap(values):
    """Order statistics by Python's sort: the order is the guard."""
    ordered = sorted(values)
    middle = ordered[len(ordered) // 2]
    return sum(abs(v - middle) for v in ordered) + max(values) - 0.5 * min(values)


def clamp(x, low, high):
    if x < low:
        return low
    return high if x > high else x


def smooth_noise(position, seed=7):
    """Perlin's noise on a lattice of fixed gradients."""
    lattice = np.random.default_rng(seed).normal(size=(4, 4, 2))
    x, y = position
    i, j = int(x), int(y)
    u, v = x - i, y - j
    fade = lambda t: t * t * t * (t * (t * 6 - 15) + 10)
    corner = lambda a, b: lattice[i + a, j + b] @ np.array([u - a, v - b])
    bottom = corner(0, 0) + fade(u) * (corner(1, 0) - corner(0, 0))
    top = corner(0, 1) + fade(u) * (corner(1, 1) - corner(0, 1))
    return clamp(bottom + fade(v) * (top - bottom), -2.0, 2.0)


@np.vectorize
def saturating(x, rate):
    return rate * x if x < 1.0 else rate * (2.0 - 1.0 / x)


def vectorised_response(rate, x=np.array([0.2, 0.8, 1.5, 3.0])):
    return np.sum(saturating(x, rate) ** 2)


def mixed_types(p):
    """What arrives is looked at: numbers, arrays and lists of them."""
    total = 0.0
    for name in sorted(p):
        value = p[name]
        if isinstance(value, (int, float)):
            total += np.float64(value) ** 2
        elif hasattr(value, "shape") and np.ndim(value) == 1:
            total += value.sum().item() * value[0]
        else:
            total += np.dot(value, [0.5] * len(value)) + np.linalg.norm(value) + np.max(np.outer(value, value))
    return total


PROGRAMS = [
    program("time warping", soft_dtw, [0.1, 0.6, 1.0, 0.9, 0.2]),
    program("edit distance", soft_edit_distance, {"insert": 1.0, "delete": 1.2, "change": 1.5}),
    program("knapsack", knapsack_relaxation, 2.7),
    program("Markov chains", markov_chain, np.array([0.3, 0.2, 0.4])),
    program("dual numbers", second_derivative, 0.7),
    program("iterators", horner_with_windows, [0.1, 0.5, 0.2, 1.4, 0.9]),
    program("optimisers", descended, 1.3),
    program(
        "fitting",
        decay.loss,
        {"a": 1.8, "k": 0.7},
        plain=True,
        why="a counter of the object is written at every call",
        state=lambda: decay.nfev,
    ),
    program("interpreters", interpreter, 0.9),
    program("order statistics", sorted_gap, [0.3, 1.2, 0.7, -0.4, 2.0]),
    program("noise", smooth_noise, [1.3, 2.6]),
    program("vectorised functions", vectorised_response, 0.8),
    program("mixed types", mixed_types, {"a": 0.5, "b": np.array([0.3, 0.4]), "c": [0.1, 0.9, -0.2]}),
]
