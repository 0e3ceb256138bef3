"""A loss of sequences whose labels are in order, but not in time."""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert.nn.losses import reduced
from wengert.nn.normalisation import logsumexp
from wengert.nn.params import Array


@wg.expect.checked
def ctc_loss(
    log_probabilities: Array,
    labels: Array,
    lengths: Array | None = None,
    label_lengths: Array | None = None,
    *,
    blank: int = 0,
    reduction: str = "mean",
) -> Array:
    """Return −log of the probability of all ways to spread ``labels`` over time, reduced.

    Each label stands for some steps in a row, with any number of blanks between two of them, and at least one between
    equal ones. The recurrence is that of Graves et al. (2006), Connectionist temporal classification, equations 6 to 8,
    in logarithms: a step of time is a few operations on [batch, 2 labels + 1], recorded one by one.

    Parameters
    ----------
    log_probabilities : float[batch, time, classes], of :func:`~wengert.nn.log_softmax`.
    labels : integers [batch, most labels], not ``blank``; what stands behind ``label_lengths`` is not looked at, but
        must be a class.
    lengths : integers [batch], the steps of each sample; all of them if not given.
    label_lengths : integers [batch], the labels of each sample; all of them if not given.
    blank : the class that stands for no label.
    reduction : "mean" of the samples, their "sum", or "none" of it, float[batch].

    Returns
    -------
    One number a sample, or what ``reduction`` makes of them. Infinite where there are too few steps for the labels.

    Raises
    ------
    ShapeError : shapes that do not fit, no steps.
    IndexError : a label is no class.
    OptionError : another ``reduction``.

    Examples
    --------
    Two steps for one label, where all is equally likely: label and blank, blank and label, or the label twice.

    >>> import numpy as np
    >>> from wengert import nn
    >>> print(nn.ctc_loss(np.log(np.full((1, 2, 2), 0.5)), np.array([[1]])).round(6), -np.log(0.75).round(6))
    0.287682 0.287682
    """
    labels = np.asarray(labels)
    _check(log_probabilities, labels, lengths, label_lengths)
    batch, time, classes = log_probabilities.shape
    most = labels.shape[1]
    blanks = np.full((batch, most + 1, 1), blank, labels.dtype)
    states = np.concatenate([blanks[:, :most], labels[:, :, None]], 2).reshape(batch, 2 * most)
    states = np.concatenate([states, blanks[:, most]], 1)  # blank, label, blank ... label, blank
    places = np.arange(2 * most + 1)
    may_skip = (places >= 2) & (states != np.roll(states, 2, 1))  # the blank before it, which stands between others
    emitted = log_probabilities[np.arange(batch)[:, None], :, np.where(states < 0, classes, states)]
    alpha = np.where(places < 2, emitted[:, :, 0], -np.inf)
    for t in range(1, time):
        come = np.logaddexp(alpha, _later(alpha, 1))
        come = np.logaddexp(come, np.where(may_skip, _later(alpha, 2), -np.inf)) + emitted[:, :, t]
        alpha = come if lengths is None else np.where((t < lengths)[:, None], come, alpha)
    last = 2 * (np.full(batch, most) if label_lengths is None else label_lengths)[:, None]
    is_end = (places == last) | (places == last - 1)
    return reduced(-logsumexp(np.where(is_end, alpha, -np.inf)), reduction)


def _later(alpha: Array, n: int) -> Array:
    """Return the numbers ``n`` states before; −∞ where there is none."""
    nothing = np.full((alpha.shape[0], min(n, alpha.shape[1])), -np.inf, alpha.dtype)
    return np.concatenate([nothing, alpha[:, :-n]], 1)


def _check(log_probabilities: Array, labels: Array, lengths: Array | None, label_lengths: Array | None) -> None:
    shape = np.shape(log_probabilities)
    numbers = [np.shape(n) for n in (lengths, label_lengths) if n is not None]
    fits = len(shape) == 3 and shape[1] > 0 and labels.ndim == 2 and labels.shape[0] == shape[0]
    if not fits or any(n != shape[:1] for n in numbers):
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"ctc_loss: log_probabilities {shape}, labels {labels.shape}, lengths {numbers}",
                notes=[("want", "[batch, time, classes] with time > 0, [batch, most labels], and [batch] each")],
            )
        )
