"""Layers on space: convolutions with their weights, and pooling and resizing as layers with names.

Inputs are [batch, channels, *space], and tell how many channels and axes of space there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.activations import identity
from wengert.nn.convolution import conv_bias_act, conv_transpose
from wengert.nn.initialisers import Initialiser, initialiser
from wengert.nn.layers.base import Array, DType, Generator, Layer, Params, Spec, entry
from wengert.nn.pooling import lp_pool, max_pool, mean_pool
from wengert.nn.resizing import upsample
from wengert.nn.windows import Padding, PerAxis, described, per_axis, space_rank


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Conv(Layer):
    """This layer convolves, adds a bias and applies an activation: :func:`~wengert.nn.conv_bias_act` with parameters.

    float[batch, channels, *space] -> float[batch, width, *places].

    Parameters
    ----------
    kernel : its length along all axes of space, or each.
    width : how many channels come out.
    activation : an elementwise function.
    stride, padding, dilation, groups : as of :func:`~wengert.nn.conv_bias_act`.
    bias : whether there is one.
    weights : what they begin as, an initialiser or its name.

    ``params`` are ``w`` [width, channels / groups, *kernel] and ``b`` [width], zeros.

    Raises
    ------
    ShapeError : channels or width are no multiple of ``groups``, or the input has no space.

    Examples
    --------
    >>> import wengert as wg
    >>> from wengert import nn
    >>> layer = nn.Conv((3, 3), 16, nn.relu, padding="same")
    >>> layer
    Conv((3, 3), 16, activation=relu, padding='same')
    >>> params, state = layer.init(0, wg.spec((32, 1, 8, 8), "float32"))
    >>> params["w"].shape, params["b"].shape
    ((16, 1, 3, 3), (16,))
    """

    kernel: PerAxis
    width: int
    activation: Callable[[Any], Any] = identity
    stride: PerAxis = 1
    padding: Padding = 0
    dilation: PerAxis = 1
    groups: int = 1
    bias: bool = True
    weights: str | Initialiser = "glorot_uniform"

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        channels, kernel = _channels(self, xs[0]), per_axis(self.kernel, space_rank(xs[0], repr(self)), "kernel")
        return _drawn(self, rng, (self.width, channels // self.groups, *kernel), dtype), {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        (x,), options = xs, (self.stride, self.padding, self.dilation, self.groups)
        return conv_bias_act(self.activation, x, entry(self, params, "w"), params.get("b"), *options), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class ConvTranspose(Layer):
    """This layer is the adjoint of a convolution, with bias and activation: :func:`~wengert.nn.conv_transpose`.

    float[batch, channels, *space] -> float[batch, width, *places].

    Parameters
    ----------
    kernel, width, activation, stride, padding, dilation, groups, bias, weights : as of :class:`Conv`.
    output_padding : as of :func:`~wengert.nn.conv_transpose`.

    ``params`` are ``w`` [channels, width / groups, *kernel] and ``b`` [width], zeros.

    Raises
    ------
    ShapeError : channels or width are no multiple of ``groups``, or the input has no space.

    Examples
    --------
    >>> import wengert as wg
    >>> from wengert import nn
    >>> layer = nn.ConvTranspose(2, 8, stride=2)
    >>> params, state = layer.init(0, wg.spec((1, 16, 7, 7), "float32"))
    >>> wg.spec_of(layer.apply)(params, state, wg.spec((1, 16, 7, 7), "float32"))[0]
    float32[1, 8, 14, 14]
    """

    kernel: PerAxis
    width: int
    activation: Callable[[Any], Any] = identity
    stride: PerAxis = 1
    padding: Padding = 0
    output_padding: PerAxis = 0
    dilation: PerAxis = 1
    groups: int = 1
    bias: bool = True
    weights: str | Initialiser = "glorot_uniform"

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        channels, kernel = _channels(self, xs[0]), per_axis(self.kernel, space_rank(xs[0], repr(self)), "kernel")
        return _drawn(self, rng, (channels, self.width // self.groups, *kernel), dtype), {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        (x,), options = xs, (self.stride, self.padding, self.output_padding, self.dilation, self.groups)
        return self.activation(conv_transpose(x, entry(self, params, "w"), params.get("b"), *options)), state


def _channels(layer: Conv | ConvTranspose, x: Array) -> int:
    """Return the channels of ``x``, which the layer's groups divide, as they do its width."""
    if x.ndim < 3 or x.shape[1] % layer.groups or layer.width % layer.groups:
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"{layer}: x is {described(x)}",
                notes=[("want", f"[batch, channels, *space]; channels and width multiples of groups, {layer.groups}")],
            )
        )
    return x.shape[1]


def _drawn(layer: Conv | ConvTranspose, rng: Generator, shape: Sequence[int], dtype: Any) -> Params:
    w = initialiser(layer.weights)(np.random.default_rng(rng), shape, dtype)
    return {"w": w, "b": np.zeros(layer.width, dtype)} if layer.bias else {"w": w}


# --------------------------------------------------------------------------------------------------- without weights


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class MaxPool(Layer):
    """This layer takes the greatest element of each window.

    Its parameters, shapes and errors are those of :func:`~wengert.nn.max_pool`.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.MaxPool(2).apply({}, {}, np.array([[[1.0, 5.0, 2.0, 3.0]]]))[0]
    array([[[5., 3.]]])
    """

    window: PerAxis
    stride: PerAxis | None = None
    padding: Padding = 0
    dilation: PerAxis = 1

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return max_pool(*xs, self.window, self.stride, self.padding, self.dilation), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class MeanPool(Layer):
    """This layer takes the mean of each window.

    Its parameters, shapes and errors are those of :func:`~wengert.nn.mean_pool`.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.MeanPool(2).apply({}, {}, np.array([[[1.0, 5.0, 2.0, 4.0]]]))[0]
    array([[[3., 3.]]])
    """

    window: PerAxis
    stride: PerAxis | None = None
    padding: Padding = 0
    count_include_pad: bool = True

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return mean_pool(*xs, self.window, self.stride, self.padding, self.count_include_pad), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class LPPool(Layer):
    """This layer takes the p-norm of each window.

    Its parameters, shapes and errors are those of :func:`~wengert.nn.lp_pool`.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.LPPool(2, 2).apply({}, {}, np.array([[[3.0, 4.0, 0.0, 0.0]]]))[0]
    array([[[5., 0.]]])
    """

    p: float
    window: PerAxis
    stride: PerAxis | None = None
    padding: Padding = 0

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return lp_pool(*xs, self.p, self.window, self.stride, self.padding), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Upsample(Layer):
    """This layer makes more places of space.

    Its parameters, shapes and errors are those of :func:`~wengert.nn.upsample`.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.Upsample(2, "linear").apply({}, {}, np.array([[[1.0, 3.0]]]))[0]
    array([[[1. , 1.5, 2.5, 3. ]]])
    """

    scale: float | Sequence[float] | None = None
    mode: str = "nearest"
    size: PerAxis | None = None
    align_corners: bool = False

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return upsample(*xs, self.scale, self.mode, self.size, self.align_corners), state
