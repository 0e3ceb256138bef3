"""A little of everything, whose results every setting is to agree on: machine code, NumPy, and no extension at all.

Run as a program, ``python -m tests.acceptance.answers FILE``, it writes them into a file of arrays.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import wengert as wg

X = np.linspace(-1.0, 2.0, 5)
A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) * np.exp(-x * x)) + np.sum(np.cumsum(x) ** 2)


def in_place(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(1, len(x)):
        out[i] = out[i - 1] * x[i] + np.cos(x[i - 1])
    return np.sum(out)


def newton(a: Any) -> Any:
    y = a
    while abs(y * y - a) > 1e-12:
        y = 0.5 * (y + a / y)
    return y


def branching(x: Any) -> Any:
    return x**3 if x > 0 else np.sin(x)


def walked(x: Any) -> Any:
    return wg.scan(lambda c, t: (np.tanh(c) + t, c * t), 0.3, x)[0]


def solved(a: Any, b: Any) -> Any:
    return np.sum(np.linalg.solve(a, b)) + np.linalg.slogdet(a)[1] + np.sum(np.linalg.eigvalsh(a) ** 3)


def answers() -> dict[str, Any]:
    """Return the results, by names."""
    found: dict[str, Any] = {}
    for name, transform in (("plainly", lambda f: f), ("compiled", wg.jit)):
        found |= {
            f"value and gradient {name}": transform(wg.value_and_grad(loss))(X),
            f"hessian {name}": transform(wg.hessian(loss))(X),
            f"vmap {name}": transform(wg.vmap(wg.grad(loss)))(np.outer([1.0, -0.5], X)),
            f"jvp {name}": transform(lambda x: wg.jvp(loss, (x,), (x * x,)))(X),
            f"in place {name}": transform(wg.grad(in_place))(X),
            f"while {name}": transform(wg.grad(newton))(2.0),
            f"both branches {name}": [transform(wg.grad(branching))(x) for x in (0.7, -0.7)],
            f"scan {name}": transform(wg.grad(walked))(X),
            f"linear algebra {name}": transform(wg.grad(solved, argnums=(0, 1)))(A, X[:3]),
            f"complex {name}": transform(wg.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 3)))(X),
        }
    found["a captured array that is edited"] = _edited()
    found["an equation that is integrated"] = wg.jit(wg.grad(_integrated))(np.array([1.0, 0.5]))
    found["a minimum"] = wg.optimize.minimize(lambda p: np.sum((p - X) ** 4 + (p - X) ** 2), np.zeros(5)).x
    found["random numbers"] = wg.jit(lambda rng, x: np.sum(rng.normal(size=4) * x))(np.random.default_rng(3), 2.0)
    found["a donated argument"] = _donated()
    leaves = {name: wg.tree.flatten(value)[0] for name, value in found.items()}
    return {f"{name} [{k}]": np.asarray(x) for name, xs in leaves.items() for k, x in enumerate(xs)}


def _edited() -> list[Any]:
    scale = np.ones(3)
    f = wg.jit(wg.grad(lambda x: np.sum(scale * x * x)))
    first = f(X[:3])
    scale[1] = -4.0
    return [first, f(X[:3])]


def _integrated(p: Any) -> Any:
    end = wg.ode.solve_ivp(lambda t, y: np.stack([y[1], -p[0] * y[0] - p[1] * y[1]]), (0.0, 2.0), np.array([1.0, 0.0]))
    return end.y[0, -1]


def _donated() -> list[Any]:
    step = wg.jit(lambda x, g: (x - 0.1 * g, np.sum(x)), donate=lambda args: args[0])
    x = X.copy()
    new, total = step(x, np.ones(5))
    new, total = step(new, np.ones(5))
    return [new, total]


if __name__ == "__main__":
    np.savez(sys.argv[1], **answers())
