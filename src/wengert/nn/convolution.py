"""Convolutions in one, two and three dimensions, and their adjoints.

Written with windows of the input and one sum of products, as anybody would: the compiler reads the windows where they
lie, and applies bias and activation to the sums before they are stored. (What networks call a convolution is, in
mathematics, a correlation: the kernel is not turned round.)
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.params import Array
from wengert.nn.windows import (
    Padding,
    PerAxis,
    counted,
    described,
    elements,
    padded,
    paddings,
    per_axis,
    reach,
    side_by_side,
    taken_apart,
    windows,
)

Activation = Callable[[Any], Any]

_PLACES, _KERNEL = "zyx", "ijk"  # letters of einsum for the axes of space, and those of a kernel


@wg.expect.checked
def conv_bias_act(
    act: Activation,
    x: Array,
    w: Array,
    b: Array | None = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """Return ``act(conv(x, w) + b)``, with one bias a channel.

    Parameters
    ----------
    act : an elementwise function, :func:`~wengert.nn.relu`.
    x : float[batch, in, *space], with one to three axes of space.
    w : float[out, in / groups, *kernel]
    b : float[out], or None.
    stride : the distance of two windows; a number, or one an axis.
    padding : zeros around ``x``: a number, one an axis, (before, after) an axis; "valid" for none; "same" for
        ⌈space / stride⌉ places, the odd zero behind (TensorFlow's and JAX's).
    dilation : the distance of two elements of a window.
    groups : the channels are that many convolutions side by side; as many as ``in`` for a depthwise one.

    Returns
    -------
    float[batch, out, *places], where places = ⌊(space + padding − dilation (kernel − 1) − 1) / stride⌋ + 1.

    Raises
    ------
    ShapeError : the channels, groups or shapes do not fit, or the kernel is larger than the padded space.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> x = np.arange(16.0).reshape(1, 1, 4, 4)
    >>> nn.conv_bias_act(nn.relu, x, np.ones((1, 1, 3, 3)), np.array([-80.0]))
    array([[[[ 0.,  0.],
             [ 1., 10.]]]])
    """
    rank = _rank(x, w, b, "conv")
    channels, outputs = x.shape[1], w.shape[0]
    if groups < 1 or channels != w.shape[1] * groups or outputs % groups:
        raise _misfit("conv", x, w, groups, "w [out, in / groups, *kernel], out a multiple of groups")
    kernel, stride, dilation = w.shape[2:], per_axis(stride, rank, "stride"), per_axis(dilation, rank, "dilation")
    x = padded(x, paddings(padding, x.shape[2:], reach(kernel, dilation), stride))
    y = _correlated(x, w, stride, dilation, groups)
    return act(y if b is None else y + b.reshape(-1, *(1,) * rank))


@wg.expect.checked
def conv(
    x: Array,
    w: Array,
    b: Array | None = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """Return the sums of each window of ``x`` times ``w``, plus ``b``: :func:`conv_bias_act` without an activation.

    The parameters, result and errors are those of :func:`conv_bias_act`.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.conv(np.array([[[1.0, 2.0, 4.0]]]), np.array([[[-1.0, 1.0]]]))
    array([[[1., 2.]]])
    """
    return conv_bias_act(lambda y: y, x, w, b, stride, padding, dilation, groups)


def _correlated(x: Array, w: Array, stride: Sequence[int], dilation: Sequence[int], groups: int = 1) -> Array:
    """Return Σ over channels and kernel of windows times weights, without padding."""
    if groups > 1 and w.shape[1] == 1:
        return _depthwise(x, w, stride, dilation)
    rank = x.ndim - 2
    if stride[-1] > 1 and all(s == 1 or d == 1 for s, d in zip(stride, dilation, strict=True)):
        return _correlated(*_in_phases(x, w, stride, dilation), (1,) * rank, dilation, groups)
    places, kernel = _PLACES[-rank:], _KERNEL[:rank]
    if groups == 1:
        return np.einsum(
            f"nc{places}{kernel},oc{kernel}->no{places}", windows(x, w.shape[2:], stride, dilation), w, optimize=True
        )
    outputs = w.shape[0]
    x = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    w = w.reshape(groups, outputs // groups, *w.shape[1:])
    grouped = windows(x, w.shape[3:], stride, dilation)
    y = np.einsum(f"ngc{places}{kernel},goc{kernel}->ngo{places}", grouped, w, optimize=True)
    return y.reshape(y.shape[0], outputs, *y.shape[3:])


def _in_phases(x: Array, w: Array, stride: Sequence[int], dilation: Sequence[int]) -> tuple[Array, Array]:
    """Return ``x`` and ``w`` of the same sums with stride 1: every s-th element of each is a channel of its own.

    With k = s q + p, 0 ≤ p < s, of an element of the kernel, Σₖ x[s i + k] w[k] = Σₚ Σ_q xₚ[i + q] wₚ[q], where xₚ[i] =
    x[s i + p]. Neighbours in xₚ are neighbours in memory, which they are not in x; nor has the derivative in x zeros
    between its elements. Of a kernel shorter than the stride most of x is not read.
    """
    kernel = w.shape[2:]
    places, lengths = counted(x.shape[2:], kernel, stride, dilation), reach(kernel, dilation)
    kept = [min(k, s) for k, s in zip(kernel, stride, strict=True)]
    turns = [-(-k // m) for k, m in zip(kernel, kept, strict=True)]
    spans = [r if s == 1 else t for r, t, s in zip(lengths, turns, stride, strict=True)]
    ends = [(n + t - 1) * s for n, t, s in zip(places, spans, stride, strict=True)]
    w = padded(w, [(0, t * m - k) for t, m, k in zip(turns, kept, kernel, strict=True)])
    return taken_apart(_span(x, (0,) * len(stride), ends), stride, kept), taken_apart(w, kept, kept)


def _depthwise(x: Array, w: Array, stride: Sequence[int], dilation: Sequence[int]) -> Array:
    """Convolve each channel alone.

    Nothing is summed over channels, so it is no product of matrices but a sum of products, one for each element of the
    kernel: one loop over ``x``.
    """
    batch, channels, outputs, rank = x.shape[0], x.shape[1], w.shape[0], x.ndim - 2
    places, kernel = counted(x.shape[2:], w.shape[2:], stride, dilation), w.shape[2:]
    x = x.reshape(batch, channels, 1, *x.shape[2:])
    w = w.reshape(channels, outputs // channels, *kernel, *(1,) * rank)
    terms = [x[here] * w[(slice(None), slice(None), *at)] for at, here in elements(kernel, places, stride, dilation)]
    return functools.reduce(operator.add, terms).reshape(batch, outputs, *places)


# ------------------------------------------------------------------------------------------------------- the adjoint


@wg.expect.checked
def conv_transpose(
    x: Array,
    w: Array,
    b: Array | None = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    output_padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """Return the adjoint of :func:`conv` with the same weights: ⟨conv(x, w), y⟩ = ⟨x, conv_transpose(y, w)⟩.

    With a stride it upsamples.

    Parameters
    ----------
    x : float[batch, in, *space], with one to three axes of space.
    w : float[in, out / groups, *kernel], as :func:`conv` has them on the way from ``out`` to ``in`` channels.
    b : float[out], or None.
    stride : the distance of two windows in the result; a number, or one an axis.
    padding : what :func:`conv` would add, and what is cut off here; "same" gives space · stride.
    output_padding : which of the ``stride`` sizes that :func:`conv` takes to the same one; less than ``stride``
        or ``dilation``.
    dilation, groups : as of :func:`conv_bias_act`.

    Returns
    -------
    float[batch, out, *places], places = (space − 1) stride − padding + dilation (kernel − 1) + 1 + output_padding.

    Raises
    ------
    ShapeError : the channels, groups or shapes do not fit, or nothing would be left.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.conv_transpose(np.array([[[1.0, 2.0]]]), np.array([[[1.0, 10.0, 100.0]]]), stride=2)
    array([[[  1.,  10., 102.,  20., 200.]]])
    """
    rank = _rank(x, w, None, "conv_transpose")
    if groups < 1 or x.shape[1] != w.shape[0] or x.shape[1] % groups:
        raise _misfit("conv_transpose", x, w, groups, "w [in, out / groups, *kernel], in a multiple of groups")
    outputs = w.shape[1] * groups
    if b is not None and b.shape != (outputs,):
        raise _misfit("conv_transpose", x, w, groups, f"b [{outputs}], not {described(b)}")
    stride, dilation = per_axis(stride, rank, "stride"), per_axis(dilation, rank, "dilation")
    w, dilation = _spread(w, stride, dilation)
    lengths = reach(w.shape[2:], dilation)
    begins, ends = _cut(x.shape[2:], lengths, stride, padding, per_axis(output_padding, rank, "output_padding", 0))
    y = _interleaved(x, w, stride, dilation, groups, begins, ends)
    return y if b is None else y + b.reshape(-1, *(1,) * rank)


def _cut(
    space: Sequence[int], lengths: Sequence[int], stride: Sequence[int], padding: Padding, more: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return where the result begins and ends in the sum of all windows, along each axis."""
    if padding == "same":  # of a conv whose input is space · stride; where its windows leave gaps, these are zeros
        pairs = paddings("same", [n * s for n, s in zip(space, stride, strict=True)], lengths, stride)
        ends = [before + n * s for (before, _), n, s in zip(pairs, space, stride, strict=True)]
    else:
        pairs = paddings(padding, space, lengths, stride)
        ends = [(n - 1) * s + r - after for (_, after), n, s, r in zip(pairs, space, stride, lengths, strict=True)]
    begins = [before for before, _ in pairs]
    ends = [end + m for end, m in zip(ends, more, strict=True)]
    if any(end <= begin for begin, end in zip(begins, ends, strict=True)):
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"conv_transpose: padding {padding!r} removes all of the output that space {tuple(space)} gives"
            )
        )
    return begins, ends


def _spread(w: Array, stride: Sequence[int], dilation: Sequence[int]) -> tuple[Array, tuple[int, ...]]:
    """Return weights with the zeros that dilation means, where there is a stride too; and the dilation that is left."""
    steps = [d if s > 1 else 1 for s, d in zip(stride, dilation, strict=True)]
    if all(d == 1 for d in steps):
        return w, tuple(dilation)
    wide = np.zeros((*w.shape[:2], *reach(w.shape[2:], steps)), w.dtype)
    wide[(..., *[slice(None, None, d) for d in steps])] = w
    return wide, tuple([1 if s > 1 else d for s, d in zip(stride, dilation, strict=True)])


def _interleaved(
    x: Array,
    w: Array,
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    begins: Sequence[int],
    ends: Sequence[int],
) -> Array:
    """Return the sum of all windows w, a stride apart and times x, from ``begins`` to ``ends``.

    With K = ⌈k / s⌉ the elements s q + p, 0 ≤ p < s, of the sum are Σⱼ x[q − j] w[s j + p], j < K: for each phase p a
    convolution of x with every s-th weight, turned round. So it is one convolution with s times as many channels,
    which then lie side by side. No zeros are put between the elements of x.
    """
    first = [begin // s for begin, s in zip(begins, stride, strict=True)]
    last = [-(-end // s) for end, s in zip(ends, stride, strict=True)]
    phases = _phases(w, stride, groups)
    lengths = reach(phases.shape[2:], dilation)
    x = _span(x, [a - r + 1 for a, r in zip(first, lengths, strict=True)], last)
    y = side_by_side(_correlated(x, phases, (1,) * len(stride), dilation, groups), stride)
    cuts = [slice(a - f * s, e - f * s) for a, e, f, s in zip(begins, ends, first, stride, strict=True)]
    return y[(..., *cuts)]


def _phases(w: Array, stride: Sequence[int], groups: int) -> Array:
    """Return [in, out / groups, *kernel] as [out · phases, in / groups, *⌈kernel / stride⌉], with kernels turned."""
    rank, kernel = len(stride), w.shape[2:]
    turns = [-(-k // s) for k, s in zip(kernel, stride, strict=True)]
    w = padded(w, [(0, n * s - k) for n, s, k in zip(turns, stride, kernel, strict=True)])
    split = [n for pair in zip(turns, stride, strict=True) for n in pair]
    inputs, outputs = w.shape[0] // groups, w.shape[1]
    w = w.reshape(groups, inputs, outputs, *split)
    w = np.transpose(w, (0, 2, *range(4, 3 + 2 * rank, 2), 1, *range(3, 3 + 2 * rank, 2)))
    w = w[(..., *[slice(None, None, -1)] * rank)]
    return w.reshape(groups * outputs * math.prod(stride), *w.shape[2 + rank :])


def _span(x: Array, begins: Sequence[int], ends: Sequence[int]) -> Array:
    """Return ``x`` from ``begins`` to ``ends`` along the axes of space, zeros where it has no elements."""
    space = x.shape[2:]
    pads = [(max(-a, 0), max(e - n, 0)) for a, e, n in zip(begins, ends, space, strict=True)]
    cuts = [slice(max(a, 0), max(min(e, n), 0)) for a, e, n in zip(begins, ends, space, strict=True)]
    return padded(x[(..., *cuts)], pads)


# ------------------------------------------------------------------------------------------------------------ checks


def _rank(x: Array, w: Array, b: Array | None, what: str) -> int:
    """Return how many axes of space there are."""
    if x.ndim != w.ndim or not 3 <= x.ndim <= 5:
        raise _misfit(what, x, w, 1, "both with as many axes of space, one to three, behind two others")
    if b is not None and b.shape != w.shape[:1]:
        raise _misfit(what, x, w, 1, f"b [{w.shape[0]}], not {described(b)}")
    return x.ndim - 2


def _misfit(what: str, x: Array, w: Array, groups: int, want: str) -> Exception:
    several = "" if groups == 1 else f" in {groups} groups"
    return wg.errors.ShapeError(
        wg.errors.message(f"{what}: x {described(x)} with w {described(w)}{several}", notes=[("want", want)])
    )
