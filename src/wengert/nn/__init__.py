"""Networks: layers with explicit parameters, and the functions they are made of, in plain NumPy.

Nothing here is special to the compiler: ``np.tanh(x @ w.T + b)`` in your own code gives the same kernels as
``np.tanh(nn.linear(x, w, b))``. Arguments come in one order: a function to apply, ``x``, weights, bias, a key, options.
Axes: batch first; channels before space; features last. Weights are [out, in, *kernel].
"""

from typing import TYPE_CHECKING

import wengert as wg
from wengert.nn import random
from wengert.nn.activations import (
    celu,
    elu,
    gelu,
    gelu_erf,
    gelu_sigmoid,
    gelu_tanh,
    glu,
    hard_shrink,
    hard_sigmoid,
    hard_swish,
    hard_tanh,
    identity,
    leaky_relu,
    lisht,
    log_cosh,
    log_sigmoid,
    mish,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    sigmoid_fast,
    silu,
    soft_shrink,
    softplus,
    softsign,
    swish,
    tanh,
    tanh_fast,
    tanhshrink,
    trelu,
)
from wengert.nn.alignment import ctc_loss
from wengert.nn.attention import attention, causal_mask, rotary, sinusoidal_positions
from wengert.nn.convolution import conv, conv_bias_act, conv_transpose
from wengert.nn.dense import bias_act, dense_bias_act, embedding, linear
from wengert.nn.exchange import from_torch, to_torch
from wengert.nn.fitting import Fitted, fit
from wengert.nn.initialisers import initialiser
from wengert.nn.layers.attention import MultiHeadAttention, PositionalEmbedding, TransformerBlock
from wengert.nn.layers.base import Layer, as_layer
from wengert.nn.layers.containers import Branch, Chain, Maxout, Parallel, Repeat, SkipConnection, compact
from wengert.nn.layers.dense import Bilinear, Dense, Dropout, Embedding, Reshape, Scale
from wengert.nn.layers.norms import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm
from wengert.nn.layers.recurrent import GRU, LSTM, RNN
from wengert.nn.layers.spatial import Conv, ConvTranspose, LPPool, MaxPool, MeanPool, Upsample
from wengert.nn.losses import (
    absolute_error,
    accuracy,
    binary_cross_entropy,
    cosine,
    cross_entropy,
    hinge,
    huber,
    kl_divergence,
    squared_error,
)
from wengert.nn.normalisation import (
    alpha_dropout,
    batch_norm,
    dropout,
    group_norm,
    instance_norm,
    layer_norm,
    log_softmax,
    logsumexp,
    rms_norm,
    softmax,
)
from wengert.nn.params import accumulate, count, flat, mapped, paths, trainable
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
from wengert.nn.sampling import grid_sample
from wengert.nn.storage import load, save
from wengert.nn.summaries import Summary, flops, summary

__all__ = [
    # activations
    "celu", "elu", "gelu", "gelu_erf", "gelu_sigmoid", "gelu_tanh", "glu", "hard_shrink", "hard_sigmoid", "hard_swish",
    "hard_tanh", "identity", "leaky_relu", "lisht", "log_cosh", "log_sigmoid", "mish", "relu", "relu6", "rrelu", "selu",
    "sigmoid", "sigmoid_fast", "silu", "soft_shrink", "softplus", "softsign", "swish", "tanh", "tanh_fast",
    "tanhshrink", "trelu",
    # alignment
    "ctc_loss",
    # attention
    "attention", "causal_mask", "rotary", "sinusoidal_positions",
    # convolution
    "conv", "conv_bias_act", "conv_transpose",
    # dense
    "bias_act", "dense_bias_act", "embedding", "linear",
    # weights of PyTorch's
    "from_torch", "to_torch",
    # layers
    "Layer", "as_layer",
    "Conv", "ConvTranspose", "LPPool", "MaxPool", "MeanPool", "Upsample",
    # losses
    "absolute_error", "accuracy", "binary_cross_entropy", "cosine", "cross_entropy", "hinge", "huber", "kl_divergence",
    "squared_error",
    # norms, dropout, softmax
    "alpha_dropout", "batch_norm", "dropout", "group_norm", "instance_norm", "layer_norm", "log_softmax", "logsumexp",
    "rms_norm", "softmax",
    # pooling
    "adaptive_max_pool", "adaptive_mean_pool", "global_max_pool", "global_mean_pool", "lp_pool", "max_pool",
    "mean_pool",
    # layers
    "Bilinear", "Branch", "Chain", "Dense", "Dropout", "Embedding", "Maxout", "Parallel", "Repeat", "Reshape", "Scale",
    "SkipConnection", "compact", "BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm", "RMSNorm", "GRU", "LSTM", "RNN",
    "MultiHeadAttention", "PositionalEmbedding", "TransformerBlock",
    # parameters
    "Fitted", "fit", "load", "save", "Summary", "flops", "summary",
    "accumulate", "count", "flat", "initialiser", "mapped", "paths", "trainable",
    # random numbers
    "random",
    # resizing
    "flatten", "fold", "pad", "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample",
    # sampling
    "grid_sample",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = wg.expect.missing(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
