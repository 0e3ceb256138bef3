"""Activations: elementwise functions in plain NumPy, right where they are flat, steep or huge.

They take arrays or numbers of any shape and keep float32. A function with a kink has there the derivative of its flat
side, as in PyTorch and JAX (``relu`` at 0: zero); NaN stays NaN. Formulas are written so that nothing overflows and no
digits cancel in the tails.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

import wengert as wg
from wengert.nn import random

Array = Any
Key = Any
RealArray = Any
"""An array, a number, or a traced one."""


@wg.expect.checked
def identity(x: Array) -> Array:
    """``x``."""
    return x


# --------------------------------------------------------------------------------------------------- piecewise linear


@wg.expect.checked
def relu(x: Array) -> Array:
    """max(x, 0). The derivative at 0 is 0.

    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return np.where(x <= 0, 0, x)


@wg.expect.checked
def relu6(x: Array) -> Array:
    """min(max(x, 0), 6)."""
    return np.where(x <= 0, 0, np.where(x >= 6, 6, x))


@wg.expect.checked
def leaky_relu(x: Array, slope: float = 0.01) -> Array:
    """x for x > 0, ``slope`` x elsewhere."""
    return np.where(x > 0, x, slope * x)


@wg.expect.checked
def rrelu(x: Array, key: Key | None = None, lower: float = 1 / 8, upper: float = 1 / 3) -> Array:
    """:func:`leaky_relu` with a random slope for each element, uniform in [lower, upper); without a ``key``, as when it
    is not trained, with their mean (Xu et al. 2015, arXiv:1505.00853)."""
    if key is None:
        return leaky_relu(x, (lower + upper) / 2)
    slope = lower + (upper - lower) * random.uniform(key, x.shape, x.dtype)
    return np.where(x > 0, x, slope * x)


@wg.expect.checked
def trelu(x: Array, threshold: float = 1.0) -> Array:
    """x where it is greater than ``threshold``, 0 elsewhere (Konda et al. 2015, arXiv:1402.3337)."""
    return np.where(x <= threshold, 0, x)


@wg.expect.checked
def hard_tanh(x: Array) -> Array:
    """x, clipped to [-1, 1]."""
    return np.where(x <= -1, -1, np.where(x >= 1, 1, x))


@wg.expect.checked
def hard_sigmoid(x: Array) -> Array:
    """x / 6 + 1/2, clipped to [0, 1]."""
    return np.where(x <= -3, 0, np.where(x >= 3, 1, x / 6 + 0.5))


@wg.expect.checked
def hard_swish(x: Array) -> Array:
    """x :func:`hard_sigmoid`\\ (x) (Howard et al. 2019, arXiv:1905.02244)."""
    return np.where(x <= -3, 0, np.where(x >= 3, x, x * (x / 6 + 0.5)))


@wg.expect.checked
def soft_shrink(x: Array, threshold: float = 0.5) -> Array:
    """x moved towards 0 by ``threshold``; 0 where it would cross it."""
    return np.where(x > threshold, x - threshold, np.where(x < -threshold, x + threshold, 0 * x))


@wg.expect.checked
def hard_shrink(x: Array, threshold: float = 0.5) -> Array:
    """x, but 0 within ``threshold`` of 0."""
    return np.where(np.abs(x) <= threshold, 0, x)


# ----------------------------------------------------------------------------------------------------- exponential


@wg.expect.checked
def elu(x: Array, alpha: float = 1.0) -> Array:
    """x for x > 0, alpha (eˣ − 1) elsewhere (Clevert et al. 2016, arXiv:1511.07289)."""
    return np.where(x > 0, x, alpha * np.expm1(_lower(x)))


@wg.expect.checked
def celu(x: Array, alpha: float = 1.0) -> Array:
    """x for x > 0, alpha (exp(x / alpha) − 1) elsewhere: smooth for every alpha (Barron 2017, arXiv:1704.07483)."""
    return np.where(x > 0, x, alpha * np.expm1(_lower(x) / alpha))


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


@wg.expect.checked
def selu(x: Array) -> Array:
    """The :func:`elu` that keeps mean 0 and variance 1 (Klambauer et al. 2017, arXiv:1706.02515)."""
    return SELU_SCALE * elu(x, SELU_ALPHA)


def _lower(x: Array) -> Array:
    """x where it is negative; 0 elsewhere, so that no exponential of it overflows."""
    return np.where(x > 0, 0, x)


# ---------------------------------------------------------------------------------------------------------- sigmoids


@wg.expect.checked
def sigmoid(x: RealArray) -> Array:
    """1 / (1 + e⁻ˣ)."""
    return special.expit(x)


@wg.expect.checked
def log_sigmoid(x: RealArray) -> Array:
    """log(1 / (1 + e⁻ˣ)), which is near x for x ≪ 0."""
    return special.log_expit(x)


@wg.expect.checked
def softplus(x: RealArray) -> Array:
    """log(1 + eˣ), which is near x for x ≫ 0."""
    return -special.log_expit(-x)


@wg.expect.checked
def tanh(x: Array) -> Array:
    """The hyperbolic tangent."""
    return np.tanh(x)


sigmoid_fast, tanh_fast = sigmoid, tanh
"""By the names of NNlib; what makes them fast is :func:`wengert.fastmath`."""


@wg.expect.checked
def softsign(x: Array) -> Array:
    """x / (1 + |x|)."""
    return x / (1 + np.abs(x))


@wg.expect.checked
def tanhshrink(x: Array) -> Array:
    """x − tanh(x)."""
    return x - np.tanh(x)


@wg.expect.checked
def log_cosh(x: RealArray) -> Array:
    """log(cosh(x)), which is near |x| − log 2 for |x| ≫ 1."""
    return x + softplus(-2.0 * x) - math.log(2)


# ----------------------------------------------------------------------------------------------- gates of x by itself


@wg.expect.checked
def gelu(x: RealArray) -> Array:
    """x Φ(x), with the normal distribution's Φ (Hendrycks & Gimpel 2016, arXiv:1606.08415)."""
    return x * special.ndtr(x)


gelu_erf = gelu


@wg.expect.checked
def gelu_tanh(x: RealArray) -> Array:
    """:func:`gelu` to three digits: x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2."""
    return x * special.expit(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


@wg.expect.checked
def gelu_sigmoid(x: RealArray) -> Array:
    """:func:`gelu` to two digits: x sigmoid(1.702 x)."""
    return x * special.expit(1.702 * x)


@wg.expect.checked
def swish(x: RealArray) -> Array:
    """x sigmoid(x) (Ramachandran et al. 2017, arXiv:1710.05941)."""
    return x * special.expit(x)


silu = swish


@wg.expect.checked
def mish(x: RealArray) -> Array:
    """x tanh(log(1 + eˣ)) (Misra 2019, arXiv:1908.08681)."""
    return x * np.tanh(softplus(x))


@wg.expect.checked
def lisht(x: Array) -> Array:
    """x tanh(x) (Roy et al. 2019, arXiv:1901.05894)."""
    return x * np.tanh(x)


@wg.expect.checked
def glu(x: RealArray, axis: int = -1) -> Array:
    """The first half along ``axis``, gated by the sigmoid of the second (Dauphin et al. 2017, arXiv:1612.08083).

    >>> glu(np.array([1.0, 2.0, 0.0, 0.0]))
    array([0.5, 1. ])
    """
    wg.expect.axes("glu", x, axis)
    if x.shape[axis] % 2:
        raise wg.errors.ShapeError(wg.errors.message(f"glu: axis {axis} of {x.shape} has no halves"))
    values, gates = np.split(x, 2, axis)
    return values * special.expit(gates)
