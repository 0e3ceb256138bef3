"""autograd's three optimisers, on containers of parameters: ``grad(x, i)`` is the gradient at iteration ``i``."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd.core import F
from wengert.autograd.misc.flatten import flatten


def _moved(grad: F, x0: object, callback: F | None, num_iters: int, move: F) -> Any:
    """The parameters after steps ``move(g, i)``."""
    x, unflatten = flatten(x0)
    for i in range(num_iters):
        g = flatten(grad(unflatten(x), i))[0]
        if callback:
            callback(unflatten(x), i, unflatten(g))
        x = x + move(g, i)
    return unflatten(x)


def sgd(
    grad: F, x: object, callback: F | None = None, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Return the parameters after gradient descent with momentum."""
    velocity = np.zeros(len(flatten(x)[0]))

    def move(g: Any, i: int) -> Any:
        velocity[:] = mass * velocity - (1.0 - mass) * g
        return step_size * velocity

    return _moved(grad, x, callback, num_iters, move)


def rmsprop(grad: F, x: object, callback: F | None = None, num_iters=100, step_size=0.1, gamma=0.9, eps=10**-8) -> Any:
    """Return the parameters after steps that are divided by the root of the mean square of the gradients."""
    mean_square = np.ones(len(flatten(x)[0]))

    def move(g: Any, i: int) -> Any:
        mean_square[:] = mean_square * gamma + g**2 * (1 - gamma)
        return -step_size * g / (np.sqrt(mean_square) + eps)

    return _moved(grad, x, callback, num_iters, move)


def adam(
    grad: F, x: object, callback: F | None = None, num_iters=100, step_size=0.001, b1=0.9, b2=0.999, eps=10**-8
) -> Any:
    """Return the parameters after steps of Adam."""
    m, v = np.zeros((2, len(flatten(x)[0])))

    def move(g: Any, i: int) -> Any:
        m[:], v[:] = (1 - b1) * g + b1 * m, (1 - b2) * g**2 + b2 * v
        return -step_size * (m / (1 - b1 ** (i + 1))) / (np.sqrt(v / (1 - b2 ** (i + 1))) + eps)

    return _moved(grad, x, callback, num_iters, move)
