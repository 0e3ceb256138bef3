"""Initialisers make the arrays that parameters begin as: functions ``(rng, shape, dtype) -> array``, known by name too.

Weights are [out, in, *kernel]; *fan in* is what one output is summed over, *fan out* what one input goes into.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg

Shape = Sequence[int]
Initialiser = Callable[[np.random.Generator, Shape, Any], np.ndarray[Any, Any]]


def fans(shape: Shape) -> tuple[int, int]:
    """Return fan in and fan out.

    >>> fans((16, 3, 5, 5))
    (75, 400)
    """
    if len(shape) < 2:
        return (shape[0], shape[0]) if shape else (1, 1)
    inside = math.prod(shape[2:])
    return shape[1] * inside, shape[0] * inside


def zeros(rng: np.random.Generator, shape: Shape, dtype: Any = "float32") -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype)


def ones(rng: np.random.Generator, shape: Shape, dtype: Any = "float32") -> np.ndarray[Any, Any]:
    return np.ones(shape, dtype)


def constant(value: float) -> Initialiser:
    """Return the initialiser that gives ``value`` everywhere."""
    return lambda rng, shape, dtype="float32": np.full(shape, value, dtype)


def normal(deviation: float = 0.01) -> Initialiser:
    """Return the initialiser of normal numbers with mean 0 and this standard deviation."""
    return lambda rng, shape, dtype="float32": (deviation * rng.standard_normal(shape)).astype(dtype)


def uniform(bound: float = 0.01) -> Initialiser:
    """Return the initialiser of uniform numbers in [-bound, bound)."""
    return lambda rng, shape, dtype="float32": rng.uniform(-bound, bound, shape).astype(dtype)


def truncated_normal(deviation: float = 0.02, at: float = 2.0) -> Initialiser:
    """Return the initialiser of normal numbers that are drawn again beyond ``at`` standard deviations."""

    def draw(rng: np.random.Generator, shape: Shape, dtype: Any = "float32") -> np.ndarray[Any, Any]:
        x = rng.standard_normal(shape)
        while (far := np.abs(x) > at).any():
            x[far] = rng.standard_normal(int(far.sum()))
        return (deviation * x).astype(dtype)

    return draw


def orthogonal(rng: np.random.Generator, shape: Shape, dtype: Any = "float32") -> np.ndarray[Any, Any]:
    """Return rows of length 1 at right angles, or columns if there are fewer (Saxe et al. 2014, arXiv:1312.6120)."""
    rows, columns = shape[0], math.prod(shape[1:])
    q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))
    return (q if rows >= columns else q.T).reshape(shape).astype(dtype)


def _scaled(variance: Callable[[int, int], float], is_normal: bool) -> Initialiser:
    def draw(rng: np.random.Generator, shape: Shape, dtype: Any = "float32") -> np.ndarray[Any, Any]:
        deviation = math.sqrt(variance(*fans(shape)))
        return (
            normal(deviation)(rng, shape, dtype) if is_normal else uniform(math.sqrt(3) * deviation)(rng, shape, dtype)
        )

    return draw


INITIALISERS: dict[str, Initialiser] = {
    "zeros": zeros,
    "ones": ones,
    "orthogonal": orthogonal,
    "truncated_normal": truncated_normal(),
    # Glorot & Bengio 2010; He et al. 2015, arXiv:1502.01852; LeCun et al. 1998
    "glorot_normal": _scaled(lambda into, out_of: 2 / (into + out_of), True),
    "glorot_uniform": _scaled(lambda into, out_of: 2 / (into + out_of), False),
    "kaiming_normal": _scaled(lambda into, out_of: 2 / into, True),
    "kaiming_uniform": _scaled(lambda into, out_of: 2 / into, False),
    "lecun_normal": _scaled(lambda into, out_of: 1 / into, True),
    "lecun_uniform": _scaled(lambda into, out_of: 1 / into, False),
}


@wg.expect.checked
def initialiser(chosen: str | Initialiser) -> Initialiser:
    """Return the initialiser of this name, or the function itself.

    Names are "zeros", "ones", "orthogonal", "truncated_normal", and "glorot", "kaiming" or "lecun" with "_normal" or
    "_uniform", which scale the variance by fan in and fan out.

    Parameters
    ----------
    chosen : a name, or a function ``(rng, shape, dtype) -> array``.

    Raises
    ------
    StructureError : there is none of this name.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> draw = nn.initialiser("glorot_uniform")
    >>> w = draw(np.random.default_rng(0), (4, 2), "float32")
    >>> w.shape, w.dtype, bool(np.max(np.abs(w)) <= 1)  # uniform in ±√(6 / (in + out))
    ((4, 2), dtype('float32'), True)
    """
    if not isinstance(chosen, str):
        return chosen
    if chosen not in INITIALISERS:
        raise wg.errors.StructureError(
            wg.errors.message(f"no initialiser is called {chosen!r}", tries=[", ".join(sorted(INITIALISERS))])
        )
    return INITIALISERS[chosen]
