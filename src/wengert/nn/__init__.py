"""Networks: layers with explicit parameters, and the functions they are made of, in plain NumPy."""

from wengert.nn.convolution import conv, conv_bias_act, conv_transpose
from wengert.nn.pooling import (
    adaptive_max_pool,
    adaptive_mean_pool,
    global_max_pool,
    global_mean_pool,
    lp_pool,
    max_pool,
    mean_pool,
)
from wengert.nn.resizing import flatten, fold, pad, pixel_shuffle, pixel_unshuffle, unfold, upsample

__all__ = [
    # convolution
    "conv", "conv_bias_act", "conv_transpose",
    # pooling
    "adaptive_max_pool", "adaptive_mean_pool", "global_max_pool", "global_mean_pool", "lp_pool", "max_pool",
    "mean_pool",
    # resizing
    "flatten", "fold", "pad", "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample",
]  # fmt: skip
