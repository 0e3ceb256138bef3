"""Functions of scipy.special that give a sequence of functions, of all orders up to one, and its derivative.

Each of them solves a linear equation of second order, f'' = a(x) f + b(x) f': so the derivative of the derivative is
known, and every further one by the same rule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

import wengert as wg
from wengert.tracing.arguments import array, concrete, is_traced, unsupported
from wengert.tracing.interception.intercept import intercepts


def _lqmn(m: int, n: int, x: Any) -> tuple[Any, Any]:
    order, degree = np.arange(int(m) + 1.0)[:, None], np.arange(int(n) + 1.0)
    inside = 1 - x * x
    return (order**2 / inside - degree * (degree + 1)) / inside, 2 * x / inside


def _lqn(n: int, x: Any) -> tuple[Any, Any]:
    degree = np.arange(int(n) + 1.0)
    return -degree * (degree + 1) / (1 - x * x), 2 * x / (1 - x * x)


def _riccati(n: int, x: Any) -> tuple[Any, Any]:
    degree = np.arange(int(n) + 1.0)
    return degree * (degree + 1) / (x * x) - 1, 0.0


def _lmbda(v: float, x: Any) -> tuple[Any, Any]:
    order = v - int(v) + np.arange(int(v) + 1.0)
    return np.full(order.shape, -1.0), -(2 * order + 1) / x


def _parabolic(v: float, x: Any) -> tuple[Any, Any]:
    order = v - int(v) + np.arange(max(int(v), 1) + 1.0)
    return x * x / 4 - order - 0.5, 0.0


EQUATIONS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "lqn": _lqn,
    "lqmn": _lqmn,
    "riccati_jn": _riccati,
    "riccati_yn": _riccati,
    "lmbda": _lmbda,
    "pbdv_seq": _parabolic,
    "pbvv_seq": _parabolic,
    "pbdn_seq": _parabolic,
}
"""a and b of each, from its orders and x."""


@wg.primitive
def sequence(x: Any, *, name: str, orders: tuple[float, ...]) -> Any:
    """The values and the slopes of the functions, as SciPy gives them."""
    return getattr(special, name)(*orders, x[()] if isinstance(x, np.ndarray) else x)  # it takes no array


@sequence.def_pullback
def _(ct: Any, y: Any, x: Any, *, name: str, orders: tuple[float, ...]) -> Any:
    (ct_value, ct_slope), (value, slope) = ct, y
    a, b = EQUATIONS[name](*orders, x)
    return (np.sum(ct_value * slope) + np.sum(ct_slope * (a * value + b * slope)),)


def _answer(name: str, *given: Any) -> Any:
    *orders, x = given
    if any(is_traced(v) for v in orders):
        raise unsupported(f"scipy.special.{name}: its order is traced", "an order that is a plain number")
    if np.ndim(x):
        raise unsupported(f"scipy.special.{name} of an array is not traced", "one number at a time, or wg.vmap")
    plain = tuple([np.asarray(concrete(v, "item")).item() for v in orders])
    if min(plain) < 0:
        raise unsupported(f"scipy.special.{name} of a negative order is not traced", "an order of at least 0")
    return sequence(array(x), name=name, orders=plain)


for _name in EQUATIONS:
    intercepts(f"scipy.special:{_name}")(functools.partial(_answer, _name))
