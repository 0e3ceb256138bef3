"""Define the functions that are measured: ordinary array code, written once for every library.

``f(*args, xp=numpy)`` reads its functions from ``xp``, so that the rivals run the same lines; ``wrt`` says which
arguments are differentiated. Ours gets plain NumPy, and the arguments that are not differentiated as captured
variables; a rival that would fold such a constant at compile time gets it as an argument.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Workload:
    """A function, its arguments, and the positions of those that are differentiated."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: int | tuple[int, ...] = 0
    name: str = ""
    copies: int = 1
    """Calls use so many copies of the arguments, one after another, and keep as many results: with enough of them no
    cache holds what the next call reads and writes."""

    @property
    def positions(self) -> tuple[int, ...]:
        return (self.wrt,) if isinstance(self.wrt, int) else self.wrt

    @property
    def active(self) -> list[Any]:
        return [self.args[k] for k in self.positions]

    def closed(self) -> Callable[..., Any]:
        """Return ``f`` as a function of its differentiated arguments; the others are variables that it captures."""
        f, args, positions = self.f, self.args, self.positions
        if positions == tuple(range(len(args))):
            return f
        if positions == (0,) and len(args) == 2:
            captured = args[1]
            return lambda x: f(x, captured)
        rest = args[len(positions) :]
        return lambda *active: f(*active, *rest)  # what is differentiated comes first


def one_after_another(make: Callable[..., Callable[[], Any]], args: tuple[Any, ...], copies: int) -> Callable[[], Any]:
    """Return the call that ``make`` makes of the arguments; with several copies it uses one after the other.

    As many results are kept, since a fresh array in the place of one that was just dropped would lie in the cache.
    """
    if copies == 1:
        return make(*args)
    calls = cycle([make(*deepcopy(args)) for _ in range(copies)])
    kept = deque[Any](maxlen=copies)

    def call() -> Any:
        kept.append(next(calls)())
        return kept[-1]

    return call


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# ------------------------------------------------------------------------------------------- calls and small arrays


def network(n: int = 12, layers: int = 6) -> Workload:
    """A small network as a plain loop: input ``n``, ``layers`` square matrices, cosine after each product."""
    random = rng()
    x0 = random.random(n)
    weights = tuple(random.random((n, n)) for _ in range(layers))

    def loss(weights: Any, x: Any, xp: Any = np) -> Any:
        for w in weights:
            x = xp.cos(w @ x)
        return x[0]

    return Workload(loss, (weights, x0))


def eight() -> Workload:
    """Compute next to nothing, so that the call itself is measured."""
    return Workload(lambda x, xp=np: xp.sum(xp.sin(x) * xp.cos(x)), (np.linspace(0, 1, 8),))


def poly9(n: int = 1000) -> Workload:
    """Evaluate a polynomial of degree nine at ``n`` points, with coefficients in an object; one is differentiated."""
    random = rng()
    points, coefficients = random.random(n), random.random(10)

    class Poly9:
        def __init__(self, c: list[Any]) -> None:
            self.c0, self.c1, self.c2, self.c3, self.c4, self.c5, self.c6, self.c7, self.c8, self.c9 = c

        def __call__(self, x: Any) -> Any:
            return (
                self.c0
                + self.c1 * x
                + self.c2 * x**2
                + self.c3 * x**3
                + self.c4 * x**4
                + self.c5 * x**5
                + self.c6 * x**6
                + self.c7 * x**7
                + self.c8 * x**8
                + self.c9 * x**9
            )

    others = coefficients.tolist()

    def f(c2: Any, x: Any, xp: Any = np) -> Any:
        return xp.sum(Poly9([*others[:2], c2, *others[3:]])(x))

    return Workload(f, (1.0, points))


def sum_exp(n: int = 1000) -> Workload:
    return Workload(lambda x, xp=np: xp.sum(xp.exp(x)), (rng().standard_normal(n),))


def dense(n: int = 100) -> Workload:
    """Compute a dense layer in float32, and the gradient in its weights, its input and its bias."""
    random = rng()
    w = random.standard_normal((n, n)).astype(np.float32)
    x, b = random.random((n, n), dtype=np.float32), random.random(n, dtype=np.float32)
    return Workload(lambda w, x, b, xp=np: xp.sum(xp.tanh(w @ x + b[:, None]) ** 2), (w, x, b), (0, 1, 2))


# ------------------------------------------------------------------------- cost must not grow with what is not touched


def pick(n: int) -> Workload:
    return Workload(lambda p, c, xp=np: c[0] * p, (1.0, np.ones(n)))


def pick_both(n: int) -> Workload:
    return Workload(lambda p, c, xp=np: c[0] * p, (1.0, np.ones(n)), (0, 1))


# --------------------------------------------------------------------------------------------------- large arrays


def twenty_steps(n: int, copies: int = 1) -> Workload:
    """Take twenty elementwise steps, for which one read and one write of memory are enough."""
    return Workload(lambda x, xp=np: xp.sum(steps(x)), (rng().random(n),), copies=copies)


def twenty_steps_forward(n: int, copies: int = 1) -> Workload:
    return Workload(lambda x, xp=np: steps(x), (rng().random(n),), (), copies=copies)


def steps(x: Any) -> Any:
    y = x
    for _ in range(5):
        y = 0.25 * (y * x + 0.5) - x
    return y


# --------------------------------------------------------------------------------------------------- long programs


def graph(vertices: int = 1000, n: int = 16) -> Workload:
    """A random DAG: vertex = tanh(W @ (sum of one to three earlier ones) + b), n by n."""
    random = rng()
    parents = [
        sorted({int(k) for k in random.integers(max(0, v - 50), v + 1, random.integers(1, 4))}) for v in range(vertices)
    ]
    params = [(0.3 * random.standard_normal((n, n)), 0.1 * random.standard_normal(n)) for _ in range(vertices)]
    x0 = random.standard_normal(n)

    def loss(params: Any, x: Any, xp: Any = np) -> Any:
        memo: dict[int, Any] = {0: x}
        for v in range(vertices):  # in topological order, so that recursion is at most one deep
            total = memo[parents[v][0]]
            for p in parents[v][1:]:
                total = total + memo[p]
            w, b = params[v]
            memo[v + 1] = xp.tanh(w @ total + b)
        return xp.sum(memo[vertices])

    return Workload(loss, (params, x0))


def burgers(steps: int) -> Workload:
    """Take explicit steps of Burgers' equation on a circle, by ``roll``."""

    def f(u: Any, xp: Any = np) -> Any:
        for _ in range(steps):
            right, left = xp.roll(u, -1), xp.roll(u, 1)
            u = u - 0.1 * u * (right - left) + 0.1 * (right - 2 * u + left)
        return xp.sum(u**2)

    return Workload(f, (np.linspace(0, 1, 64),))


def slices(steps: int) -> Workload:
    """Take such steps by slices and ``concatenate``, with the ends held fixed."""

    def f(u: Any, xp: Any = np) -> Any:
        for _ in range(steps):
            inner = u[1:-1] + 0.1 * xp.tanh(u[2:] - 2 * u[1:-1] + u[:-2])
            u = xp.concatenate([u[:1], inner, u[-1:]])
        return xp.sum(u**2)

    return Workload(f, (np.linspace(0, 1, 64),))


def mirror(steps: int) -> Workload:
    """Every step reads the last one forwards and backwards: a compiler that inlines does twice the work a step."""

    def f(x: Any, xp: Any = np) -> Any:
        for i in range(steps):
            x = xp.sin(x) * xp.cos(x[::-1]) + i
        return xp.sum(x)

    return Workload(f, (0.3 * np.ones(50),))


def chain(x: Any, length: int) -> Any:
    """Take ``length`` elementwise steps, alternately of one and of two operands."""
    for _ in range(length // 2):
        x = np.sin(x) * 0.5
    return x


# ------------------------------------------------------------- what a gradient costs beside its function: a collection


def loop_sum(n: int = 1000) -> Workload:
    def f(x: Any, xp: Any = np) -> Any:
        total = 0.0
        for i in range(n):
            total = total + x[i]
        return total

    return Workload(f, (rng().standard_normal(n),))


def loop_sum_sin(n: int = 1000) -> Workload:
    def f(x: Any, xp: Any = np) -> Any:
        total = 0.0
        for i in range(n):
            total = total + xp.sin(x[i])
        return total

    return Workload(f, (rng().standard_normal(n),))


def kron_sum() -> Workload:
    random = rng()
    a, b = random.standard_normal((20, 20)), random.standard_normal((40, 40))
    return Workload(lambda a, b, xp=np: xp.sum(xp.kron(a, b)), (a, b), (0, 1))


def kron_view_sum() -> Workload:
    random = rng()
    a, b = random.standard_normal((40, 30)), random.standard_normal((40, 80))
    return Workload(lambda a, b, xp=np: xp.sum(xp.kron(a[::2, 5:25], b[:, ::2])), (a, b), (0, 1))


def loop_sin_cos_exp() -> Workload:
    def f(x: Any, xp: Any = np) -> Any:
        y = xp.zeros(100)
        for i in range(100):
            y[i] = xp.sin(xp.cos(xp.exp(x[i])))
        return xp.sum(y)

    return Workload(f, (rng().standard_normal(100),))


def map_sin_cos_exp() -> Workload:
    def f(x: Any, xp: Any = np) -> Any:
        return xp.sum(xp.array([xp.sin(xp.cos(xp.exp(v))) for v in x]))

    return Workload(f, (rng().standard_normal(100),))


def broadcast_sin_cos_exp() -> Workload:
    return Workload(lambda x, xp=np: xp.sum(xp.sin(xp.cos(xp.exp(x)))), (rng().standard_normal((10, 10)),))


def simple_mlp() -> Workload:
    random = rng()
    y, x = random.standard_normal((70, 128)), random.standard_normal((50, 128))
    w2, w1 = random.standard_normal((70, 60)), random.standard_normal((60, 50))

    def f(w2: Any, w1: Any, y: Any, x: Any, xp: Any = np) -> Any:
        return xp.sum((y - w2 @ xp.maximum(w1 @ x, 0.0)) ** 2)

    return Workload(f, (w2, w1, y, x), (0, 1))


def gp_likelihood(n: int = 64) -> Workload:
    """Compute the log marginal likelihood of a Gaussian process, in its noise and its length scale."""
    random = rng()
    x = np.sort(random.standard_normal(n))
    y = np.sin(x) + 0.1 * random.standard_normal(n)

    def f(noise: Any, scale: Any, x: Any, y: Any, xp: Any = np) -> Any:
        k = xp.exp(-0.5 * ((x[:, None] - x) / scale) ** 2) + noise * xp.eye(n)
        lower = xp.linalg.cholesky(k)
        z = xp.linalg.solve(lower, y)
        return -0.5 * z @ z - xp.sum(xp.log(xp.diag(lower)))

    return Workload(f, (0.1, 1.0, x, y), (0, 1))


def straight_line() -> Workload:
    """Take four hundred steps on scalars, without a loop that could be rolled up.

    Each step keeps areas, so that neither values nor derivatives die out or grow without bounds.
    """
    random = rng()
    choices = random.integers(0, 4, 400).tolist()

    def f(x: Any, xp: Any = np) -> Any:
        a, b = x[0], x[1]
        for c in choices:
            if c == 0:
                a = a + 0.3 * xp.sin(b)
            elif c == 1:
                b = b - 0.3 * xp.cos(a)
            elif c == 2:
                a, b = b, -a
            else:
                a = a - 0.1 * b
        return a + b

    return Workload(f, (np.array([0.4, 0.7]),))


COLLECTION: dict[str, Callable[[], Workload]] = {
    "sum": lambda: Workload(lambda x, xp=np: xp.sum(x), (rng().standard_normal(1000),)),
    "sum, loop": loop_sum,
    "sum of sin": lambda: Workload(lambda x, xp=np: xp.sum(xp.sin(x)), (rng().standard_normal(1000),)),
    "sum of sin, loop": loop_sum_sin,
    "sum of kron": kron_sum,
    "sum of kron of views": kron_view_sum,
    "sin cos exp, loop": loop_sin_cos_exp,
    "sin cos exp, map": map_sin_cos_exp,
    "sin cos exp, arrays": broadcast_sin_cos_exp,
    "perceptron": simple_mlp,
    "Gaussian process": gp_likelihood,
    "straight line": straight_line,
}

UNROLLED: dict[str, Callable[[int], Workload]] = {"burgers": burgers, "slices": slices, "mirror": mirror}

WORKLOADS: dict[str, Callable[[], Workload]] = {
    "network": network,
    "8-vector": eight,
    **{f"c[0]*p, n=1e{k}": partial(pick, 10**k) for k in range(3, 9)},
    "c[0]*p in both, n=1e7": partial(pick_both, 10**7),
    "Poly9": poly9,
    "sum(exp(x))": sum_exp,
    "dense": dense,
    "DAG": graph,
    "20 steps": partial(twenty_steps, 10**6),
    "20 steps, forward": partial(twenty_steps_forward, 10**6),
    "20 steps, from memory": partial(twenty_steps, 10**6, 24),
    "20 steps, from memory, forward": partial(twenty_steps_forward, 10**6, 24),
    "20 steps, n=1e7": partial(twenty_steps, 10**7),
    "20 steps, n=1e7, forward": partial(twenty_steps_forward, 10**7),
    **COLLECTION,
    **{f"{name}, K={k}": partial(make, k) for name, make in UNROLLED.items() for k in (4, 8, 16, 24, 32)},
}


def workload(name: str) -> Workload:
    return replace(WORKLOADS[name](), name=name)
