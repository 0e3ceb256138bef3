"""Affine maps with an activation, and tables of vectors.

Written as anybody would: the compiler fuses bias and activation into what follows the product, here as in user code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.params import Array

Activation = Callable[[Any], Any]


@wg.expect.checked
def linear(x: Array, w: Array, b: Array | None = None) -> Array:
    """Return ``w @ x + b`` of a vector, or of each vector along the last axis of ``x``: PyTorch's ``F.linear``.

    Parameters
    ----------
    x : float[..., in]
    w : weights, float[out, in].
    b : bias, float[out], or None.

    Returns
    -------
    float[..., out]

    Raises
    ------
    ShapeError : the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> np.tanh(nn.linear(np.zeros((5, 3)), np.ones((2, 3)), np.ones(2))).shape
    (5, 2)
    """
    if w.ndim != 2 or x.ndim == 0 or x.shape[-1] != w.shape[1] or (b is not None and b.shape != w.shape[:1]):
        bias = "" if b is None else f", b {b.shape}"
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"dense: x {x.shape} with w {w.shape}{bias}",
                notes=[("want", "x [..., in], w [out, in], b [out]")],
            )
        )
    y = w @ x if x.ndim == 1 else x @ w.T
    return y if b is None else y + b


@wg.expect.checked
def dense_bias_act(act: Activation, w: Array, x: Array, b: Array | None = None) -> Array:
    """Return ``act(linear(x, w, b))``. It is outdated, since no other function has the weights before ``x``.

    >>> import numpy as np
    >>> from wengert import nn
    >>> np.tanh(nn.linear(np.zeros((5, 3)), np.ones((2, 3)), np.ones(2))).shape
    (5, 2)
    """
    wg.expect.outdated("nn.dense_bias_act(act, w, x, b)", "act(nn.linear(x, w, b))")
    return act(linear(x, w, b))


@wg.expect.checked
def bias_act(act: Activation, x: Array, b: Array, axis: int = -1) -> Array:
    """Return ``act(x + b)``, with a bias for each index of ``axis``.

    Parameters
    ----------
    act : an elementwise function, :func:`~wengert.nn.relu`.
    x : float[..., n, ...]
    b : bias, float[n].
    axis : where ``x`` has n elements: -1 for features, 1 for channels.

    Raises
    ------
    ShapeError : ``b`` has not one number an index of ``axis``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.bias_act(nn.relu, np.zeros((1, 2, 3)), np.array([1.0, -1.0]), axis=1)
    array([[[1., 1., 1.],
            [0., 0., 0.]]])
    """
    if b.ndim != 1 or not -x.ndim <= axis < x.ndim or x.shape[axis] != b.shape[0]:
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"bias_act: b {b.shape} along axis {axis} of x {x.shape}; expected a vector as long as it"
            )
        )
    behind = x.ndim - 1 - axis % x.ndim
    return act(x + b.reshape(b.shape + (1,) * behind))


@wg.expect.checked
def embedding(indices: Array, table: Array) -> Array:
    """Return the rows of ``table`` at ``indices``.

    Parameters
    ----------
    indices : integers [...]
    table : [n, width]

    Returns
    -------
    [..., width]

    Raises
    ------
    IndexError : an index is not in 0 ... n - 1; negative ones do not count from the end.
    DTypeError : indices are no integers.
    ArgumentError : both hold integers, and by their shapes either may be the table.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.embedding(np.array([2, 0]), np.eye(3))
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    indices = np.asarray(indices)
    # They came in the other order once. Of two arrays of integers the shapes tell, if one alone is a matrix.
    of_integers = indices.dtype.kind in "iu" and table.dtype.kind in "iu"
    if of_integers and (indices.ndim == 2) == (table.ndim == 2):
        raise wg.errors.ArgumentError(
            wg.errors.message(
                f"embedding: indices {indices.shape} and table {table.shape} both hold integers, so that the order of "
                "arguments before this one, (table, indices), cannot be told from (indices, table)",
                tries=["table[indices]", "a table of floats"],
            )
        )
    if (of_integers and indices.ndim == 2) or (indices.dtype.kind in "fc" and table.dtype.kind in "iu"):
        wg.expect.outdated("nn.embedding(table, indices)", "nn.embedding(indices, table)")
        indices, table = table, indices
    if indices.dtype.kind not in "iu":
        raise wg.errors.DTypeError(
            wg.errors.message(
                f"embedding: the indices are {indices.dtype.name}; expected integers",
                tries=["indices.astype(np.int64)"],
            )
        )
    if indices.dtype == np.uint64:  # which no index can be
        indices = np.minimum(indices, np.uint64(table.shape[0]))
    return table[np.where(indices < 0, table.shape[0], indices)]
