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
from wengert.nn.params import Array, RealArray

Key = Any


@wg.expect.checked
def identity(x: Array) -> Array:
    """Return ``x`` itself: the activation of a layer that has none. Any shape.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.identity(np.array([-1.0, 2.0]))
    array([-1.,  2.])
    """
    return x


# --------------------------------------------------------------------------------------------------- piecewise linear


@wg.expect.checked
def relu(x: Array) -> Array:
    """Return max(x, 0), elementwise: any shape, range [0, ∞). The derivative at 0 is 0.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return np.where(x <= 0, 0, x)


@wg.expect.checked
def relu6(x: Array) -> Array:
    """Return min(max(x, 0), 6), elementwise: any shape, range [0, 6]. The derivative at 0 and at 6 is 0.

    Source: Howard et al. (2017), MobileNets, arXiv:1704.04861.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.relu6(np.array([-1.0, 2.0, 9.0]))
    array([0., 2., 6.])
    """
    return np.where(x <= 0, 0, np.where(x >= 6, 6, x))


@wg.expect.checked
def leaky_relu(x: Array, slope: float = 0.01) -> Array:
    """Return x where x > 0 and ``slope`` x elsewhere, elementwise: any shape. The derivative at 0 is ``slope``.

    Source: Maas et al. (2013), Rectifier nonlinearities improve neural network acoustic models.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.leaky_relu(np.array([-1.0, 2.0]), slope=0.1)
    array([-0.1,  2. ])
    """
    return np.where(x > 0, x, slope * x)


@wg.expect.checked
def rrelu(x: Array, key: Key | None = None, lower: float = 1 / 8, upper: float = 1 / 3) -> Array:
    """Return x where x > 0 and a random multiple of x elsewhere: :func:`leaky_relu` with a slope for each element.

    Source: Xu et al. (2015), Empirical evaluation of rectified activations, arXiv:1505.00853.

    Parameters
    ----------
    x : float[...], any shape.
    key : of :func:`wengert.nn.random.key`. Without one, as in evaluation, all slopes are (``lower`` + ``upper``) / 2.
    lower, upper : the slopes are uniform in [lower, upper).

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.rrelu(np.array([-1.0, 2.0]), lower=0.0, upper=0.5)
    array([-0.25,  2.  ])
    >>> drawn = nn.rrelu(np.array([-1.0, 2.0]), nn.random.key(0), 0.0, 0.5)
    >>> bool(-0.5 < drawn[0] <= 0), drawn[1]
    (True, np.float64(2.0))
    """
    if key is None:
        return leaky_relu(x, (lower + upper) / 2)
    slope = lower + (upper - lower) * random.uniform(key, x.shape, x.dtype)
    return np.where(x > 0, x, slope * x)


@wg.expect.checked
def trelu(x: Array, threshold: float = 1.0) -> Array:
    """Return x where x > ``threshold`` and 0 elsewhere, elementwise: any shape. The derivative at ``threshold`` is 0.

    Source: Konda et al. (2015), Zero-bias autoencoders and the benefits of co-adapting features, arXiv:1402.3337.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.trelu(np.array([-1.0, 0.5, 2.0]))
    array([0., 0., 2.])
    """
    return np.where(x <= threshold, 0, x)


@wg.expect.checked
def hard_tanh(x: Array) -> Array:
    """Return x clipped to [-1, 1], elementwise: any shape. The derivative at -1 and at 1 is 0.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.hard_tanh(np.array([-3.0, 0.5, 2.0]))
    array([-1. ,  0.5,  1. ])
    """
    return np.where(x <= -1, -1.0, np.where(x >= 1, 1.0, x))


@wg.expect.checked
def hard_sigmoid(x: Array) -> Array:
    """Return x / 6 + 1/2 clipped to [0, 1], elementwise: any shape. The derivative at -3 and at 3 is 0.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.hard_sigmoid(np.array([-4.0, 0.0, 1.5]))
    array([0.  , 0.5 , 0.75])
    """
    return np.where(x <= -3, 0, np.where(x >= 3, 1, x / 6 + 0.5))


@wg.expect.checked
def hard_swish(x: Array) -> Array:
    """Return x times :func:`hard_sigmoid` of x, elementwise: any shape. The derivative at -3 is 0, at 3 it is 1.

    Source: Howard et al. (2019), Searching for MobileNetV3, arXiv:1905.02244.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.hard_swish(np.array([-4.0, 1.5, 4.0]))
    array([0.   , 1.125, 4.   ])
    """
    return np.where(x <= -3, 0, np.where(x >= 3, x, x * (x / 6 + 0.5)))


@wg.expect.checked
def soft_shrink(x: Array, threshold: float = 0.5) -> Array:
    """Return x moved towards 0 by ``threshold``, and 0 where it would cross 0, elementwise: any shape.

    That is sign(x) max(|x| − threshold, 0); the derivative at ±``threshold`` is 0.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.soft_shrink(np.array([-2.0, 0.25, 2.0]), threshold=0.5)
    array([-1.5,  0. ,  1.5])
    """
    return np.where(x > threshold, x - threshold, np.where(x < -threshold, x + threshold, 0 * x))


@wg.expect.checked
def hard_shrink(x: Array, threshold: float = 0.5) -> Array:
    """Return x where |x| > ``threshold`` and 0 elsewhere, elementwise: any shape.

    The derivative at ±``threshold`` is 0.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.hard_shrink(np.array([-2.0, 0.25, 2.0]), threshold=0.5)
    array([-2.,  0.,  2.])
    """
    return np.where(np.abs(x) <= threshold, 0, x)


# ----------------------------------------------------------------------------------------------------- exponential


@wg.expect.checked
def elu(x: Array, alpha: float = 1.0) -> Array:
    """Return x where x > 0 and alpha (eˣ − 1) elsewhere, elementwise: any shape, range (−alpha, ∞).

    The derivative at 0 is ``alpha``. Source: Clevert et al. (2016), arXiv:1511.07289.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.elu(np.array([-1.0, 2.0])).round(4)
    array([-0.6321,  2.    ])
    """
    return np.where(x > 0, x, alpha * np.expm1(_lower(x)))


@wg.expect.checked
def celu(x: Array, alpha: float = 1.0) -> Array:
    """Return x where x > 0 and alpha (exp(x / alpha) − 1) elsewhere, elementwise: any shape, range (−alpha, ∞).

    The derivative is continuous for every ``alpha``: it is 1 at 0. Source: Barron (2017), arXiv:1704.07483.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.celu(np.array([-1.0, 2.0]), alpha=0.5).round(4)
    array([-0.4323,  2.    ])
    """
    return np.where(x > 0, x, alpha * np.expm1(_lower(x) / alpha))


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


@wg.expect.checked
def selu(x: Array) -> Array:
    """Return the scaled :func:`elu` that keeps mean 0 and variance 1 from layer to layer, elementwise: any shape.

    selu(x) = 1.0507 elu(x, alpha=1.6733), for weights of mean 0 and variance 1 / in.
    Source: Klambauer et al. (2017), Self-normalizing neural networks, arXiv:1706.02515.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.selu(np.array([-1.0, 2.0])).round(4)
    array([-1.1113,  2.1014])
    """
    return SELU_SCALE * elu(x, SELU_ALPHA)


def _lower(x: Array) -> Array:
    """Return x where it is negative and 0 elsewhere, so that no exponential of it overflows."""
    return np.where(x > 0, 0, x)


# ---------------------------------------------------------------------------------------------------------- sigmoids


@wg.expect.checked
def sigmoid(x: RealArray) -> Array:
    """Return 1 / (1 + e⁻ˣ), elementwise: any shape, real, range (0, 1). Nothing overflows, however large |x|.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.sigmoid(np.array([-800.0, 0.0, 800.0]))
    array([0. , 0.5, 1. ])
    """
    return special.expit(x)


@wg.expect.checked
def log_sigmoid(x: RealArray) -> Array:
    """Return log(1 / (1 + e⁻ˣ)), elementwise: any shape, real, range (−∞, 0). It keeps its digits on both sides.

    For x ≪ 0 it is near x, where the logarithm of :func:`sigmoid` would be −∞.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.log_sigmoid(np.array([-800.0, 0.0])).round(4)
    array([-8.000e+02, -6.931e-01])
    """
    return special.log_expit(x)


@wg.expect.checked
def softplus(x: RealArray) -> Array:
    """Return log(1 + eˣ), elementwise: any shape, real, range (0, ∞). It is a smooth :func:`relu`, near x for x ≫ 0.

    The derivative is :func:`sigmoid`.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.softplus(np.array([0.0, 800.0])).round(4)
    array([6.931e-01, 8.000e+02])
    """
    return -special.log_expit(-x)


@wg.expect.checked
def tanh(x: Array) -> Array:
    """Return the hyperbolic tangent (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ), elementwise: any shape, range (−1, 1).

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.tanh(np.array([-1.0, 0.0, 800.0])).round(4)
    array([-0.7616,  0.    ,  1.    ])
    """
    return np.tanh(x)


sigmoid_fast, tanh_fast = sigmoid, tanh
"""These are NNlib's names for the same functions; :func:`wengert.fastmath` is what makes them faster."""


@wg.expect.checked
def softsign(x: Array) -> Array:
    """Return x / (1 + |x|), elementwise: any shape, range (−1, 1). The derivative at 0 is 1.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.softsign(np.array([-1.0, 3.0]))
    array([-0.5 ,  0.75])
    """
    return x / (1 + np.abs(x))


@wg.expect.checked
def tanhshrink(x: Array) -> Array:
    """Return x − tanh(x), elementwise: any shape.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.tanhshrink(np.array([-2.0, 0.0, 2.0])).round(4)
    array([-1.036,  0.   ,  1.036])
    """
    return x - np.tanh(x)


@wg.expect.checked
def log_cosh(x: RealArray) -> Array:
    """Return log(cosh(x)), elementwise: any shape, real, range [0, ∞). It is near |x| − log 2 for |x| ≫ 1.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.log_cosh(np.array([-800.0, 1.0])).round(4)
    array([799.3069,   0.4338])
    """
    return x + softplus(-2.0 * x) - math.log(2)


# ----------------------------------------------------------------------------------------------- gates of x by itself


@wg.expect.checked
def gelu(x: RealArray) -> Array:
    """Return x Φ(x), where Φ is the distribution function of the normal distribution, elementwise: any shape, real.

    ``gelu_erf`` is the same function. Source: Hendrycks & Gimpel (2016), arXiv:1606.08415.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.gelu(np.array([-1.0, 0.0, 1.0])).round(4)
    array([-0.1587,  0.    ,  0.8413])
    """
    return x * special.ndtr(x)


gelu_erf = gelu


@wg.expect.checked
def gelu_tanh(x: RealArray) -> Array:
    """Return x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, elementwise: any shape, real.

    It is :func:`gelu` to three digits.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.gelu_tanh(np.array([-1.0, 0.0, 1.0])).round(4)
    array([-0.1588,  0.    ,  0.8412])
    """
    return x * special.expit(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


@wg.expect.checked
def gelu_sigmoid(x: RealArray) -> Array:
    """Return x sigmoid(1.702 x), elementwise: any shape, real. It is :func:`gelu` to about two digits.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.gelu_sigmoid(np.array([-1.0, 0.0, 1.0])).round(4)
    array([-0.1542,  0.    ,  0.8458])
    """
    return x * special.expit(1.702 * x)


@wg.expect.checked
def swish(x: RealArray) -> Array:
    """Return x times :func:`sigmoid` of x, elementwise: any shape, real. ``silu`` is the same function.

    Source: Ramachandran et al. (2017), Searching for activation functions, arXiv:1710.05941.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.swish(np.array([-1.0, 0.0, 1.0])).round(4)
    array([-0.2689,  0.    ,  0.7311])
    """
    return x * special.expit(x)


silu = swish


@wg.expect.checked
def mish(x: RealArray) -> Array:
    """Return x tanh(log(1 + eˣ)), elementwise: any shape, real. Source: Misra (2019), arXiv:1908.08681.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.mish(np.array([-1.0, 0.0, 1.0])).round(4)
    array([-0.3034,  0.    ,  0.8651])
    """
    return x * np.tanh(softplus(x))


@wg.expect.checked
def lisht(x: Array) -> Array:
    """Return x tanh(x), elementwise: any shape, range [0, ∞). Source: Roy et al. (2019), arXiv:1901.05894.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.lisht(np.array([-1.0, 0.0, 1.0])).round(4)
    array([0.7616, 0.    , 0.7616])
    """
    return x * np.tanh(x)


@wg.expect.checked
def glu(x: RealArray, axis: int = -1) -> Array:
    """Return the first half of ``x`` along ``axis``, times the sigmoid of the second half.

    Source: Dauphin et al. (2017), Language modeling with gated convolutional networks, arXiv:1612.08083.

    Parameters
    ----------
    x : float[..., 2 n, ...], of which ``axis`` has an even number of elements.
    axis : which one is halved.

    Returns
    -------
    float[..., n, ...]

    Raises
    ------
    ShapeError : ``x`` has no such axis, or it has an odd number of elements.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.glu(np.array([1.0, 2.0, 0.0, 0.0]))
    array([0.5, 1. ])
    """
    wg.expect.axes("glu", x, axis)
    if x.shape[axis] % 2:
        raise wg.errors.ShapeError(
            wg.errors.message(f"glu: axis {axis} of {x.shape} has an odd length, and cannot be halved")
        )
    values, gates = np.split(x, 2, axis)
    return values * special.expit(gates)
