"""Attention, and positions for it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.normalisation import softmax
from wengert.nn.params import Array


@wg.expect.checked
def attention(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    *,
    causal: bool = False,
    heads: int | None = None,
    scale: float | None = None,
    bias: Array | None = None,
) -> Array:
    """Return softmax(q kᵀ · scale) v: for each query the mean of the values, weighted by how its key fits.

    Source: Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.

    Parameters
    ----------
    q : float[..., tokens, width]
    k : float[..., others, width]
    v : float[..., others, width of values]
    mask : True where a token may look: broadcasts against [..., tokens, others]; with ``heads``,
        [..., heads, tokens, others] or, without an axis for them, the same for all heads.
    causal : a token looks at itself and those before it; the last token is the last of the others.
    heads : the widths are cut into so many parts, which attend one by one.
    scale : 1 / √width, of one head, if not given.
    bias : added to the scaled scores.

    Returns
    -------
    float[..., tokens, width of values]. A token that may look nowhere gets zeros.

    Raises
    ------
    ShapeError : shapes that do not fit; widths that ``heads`` does not divide.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> x = np.ones((2, 5, 8))
    >>> nn.attention(x, x, x, heads=4, causal=True).shape
    (2, 5, 8)
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        wg.expect.ndim("attention", name, x, 2, "[..., tokens, width]")
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"attention: q {q.shape}, k {k.shape}, v {v.shape}",
                notes=[("want", "q and k of one width, k and v of as many tokens")],
            )
        )
    if heads is not None:
        q, k, v = [_split(x, heads) for x in (q, k, v)]
        if mask is not None and mask.ndim == q.ndim - 1 and mask.ndim > 2:
            mask = np.expand_dims(mask, -3)
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if bias is not None:
        wg.expect.fits("attention", "bias", bias, "the scores", scores.shape)
        scores = scores + bias
    allowed = mask
    if causal:
        seen = causal_mask(q.shape[-2], k.shape[-2])
        allowed = seen if mask is None else seen & mask
    if allowed is not None:
        wg.expect.fits("attention", "mask", allowed, "the scores", scores.shape)
        scores = np.where(allowed, scores, -np.inf)
    mixed = softmax(scores) @ v
    return mixed if heads is None else _join(mixed)


@wg.expect.checked
def causal_mask(tokens: int, others: int | None = None) -> np.ndarray[Any, Any]:
    """Return bool[tokens, others]: True where the other token is not later.

    The last of the ``tokens`` is the last of the ``others``, which are as many if not given.

    >>> from wengert import nn
    >>> nn.causal_mask(2, 3)
    array([[ True,  True, False],
           [ True,  True,  True]])
    """
    others = tokens if others is None else others
    return np.tri(tokens, others, others - tokens, dtype=bool)


def _split(x: Array, heads: int) -> Array:
    """Return [..., tokens, heads · n] as [..., heads, tokens, n]."""
    width = x.shape[-1]
    if heads < 1 or width % heads:
        raise wg.errors.ShapeError(
            wg.errors.message(f"attention: the width {width} is not a multiple of the number of heads, {heads}")
        )
    return np.swapaxes(x.reshape(*x.shape[:-1], heads, width // heads), -2, -3)


def _join(x: Array) -> Array:
    x = np.swapaxes(x, -2, -3)
    return x.reshape(*x.shape[:-2], -1)


@wg.expect.checked
def sinusoidal_positions(tokens: int, width: int, base: float = 10000.0) -> np.ndarray[Any, Any]:
    """Return float32[tokens, width]: for each position sines, and then cosines, of falling frequency.

    Column k and column k + width/2 are sin(t ω) and cos(t ω) of position t, with ω = base^(−2k / width): wavelengths
    from 2π towards 2π · ``base``. Source: Vaswani et al. (2017), arXiv:1706.03762.

    Parameters
    ----------
    tokens : how many positions, from 0.
    width : how many columns; an even number, or one cosine is left out.
    base : the wavelengths are less than this times the shortest one.

    Examples
    --------
    >>> from wengert import nn
    >>> nn.sinusoidal_positions(2, 4).round(3)
    array([[0.   , 0.   , 1.   , 1.   ],
           [0.841, 0.01 , 0.54 , 1.   ]], dtype=float32)
    """
    angles = np.arange(tokens)[:, None] * base ** (-np.arange(0, width, 2) / width)
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)[:, :width].astype(np.float32)


@wg.expect.checked
def rotary(x: Array, positions: Array | None = None, base: float = 10000.0) -> Array:
    """Return ``x`` with each pair (x_k, x_{k + width/2}) turned by an angle that grows with the token's position.

    The angle is t base^(−2k / width) radians at position t, so q·k depends on the distance of two tokens alone.
    Source: Su et al. (2021), RoFormer, arXiv:2104.09864.

    Parameters
    ----------
    x : float[..., tokens, width], of even width.
    positions : [tokens], or what broadcasts against [..., tokens]; 0, 1, 2 ... if not given.
    base : the slowest pair turns nearly so many times slower than the first.

    Raises
    ------
    ShapeError : the width is odd, or the positions do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.rotary(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.0, np.pi / 2])).round(6)
    array([[1., 0.],
           [0., 1.]])
    """
    wg.expect.ndim("rotary", "x", x, 2, "[..., tokens, width]")
    half = x.shape[-1] // 2
    if x.shape[-1] % 2:
        raise wg.errors.ShapeError(
            wg.errors.message(f"rotary: the last axis of {x.shape} has an odd length; expected an even one")
        )
    where = np.arange(x.shape[-2]) if positions is None else positions
    wg.expect.fits("rotary", "positions", where, "the tokens of x", x.shape[:-1])
    angles = (where[..., None] * base ** (-np.arange(half) / half)).astype(x.dtype)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
