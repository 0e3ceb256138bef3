"""Axes, ``keepdims``, ``nan_policy`` and probabilities of a statistic: the common part of functions of samples."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from wengert.tracing.arguments import Axis, Traced, array, as_dtype, axes_of, holds, inexact, unsupported
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

Function = Callable[..., Any]


def check_nan_policy(name: str, policy: str, samples: Sequence[Traced]) -> None:
    """NaN is propagated; "raise" is a look, and "omit" is refused: how many numbers are left is not known."""
    if policy == "propagate":
        return
    if policy == "raise":
        if any(holds(np.any(np.isnan(x))) for x in samples):
            raise ValueError("The input contains nan values")
        return
    if policy == "omit":
        raise unsupported(f"scipy.stats.{name}: nan_policy='omit' is not traced", "x[~np.isnan(x)] of a plain mask")
    raise ValueError("nan_policy must be one of {'propagate', 'raise', 'omit'}")


def as_samples(xs: Sequence[ArrayLike]) -> list[Any]:
    """Samples as traced arrays of floats, of one dtype, with one axis at least."""
    found = [inexact(array(x, xs)) for x in xs]
    dtype = np.result_type(*[x.dtype for x in found])
    return [np.atleast_1d(x.astype(dtype)) for x in found]


def on_last_axis(samples: Sequence[Any], axis: Axis) -> tuple[list[Any], tuple[int, ...]]:
    """Samples with what they are taken along on their last axis; and the axes that this was."""
    if axis is None:
        return [np.ravel(x) for x in samples], tuple(range(max(x.ndim for x in samples)))
    axes = axes_of(axis, samples[0].ndim)
    moved = []
    for x in samples:
        here = axes_of(axis, x.ndim)
        x = np.moveaxis(x, here, tuple(range(-len(here), 0)))
        moved.append(x if len(here) == 1 else np.reshape(x, (*x.shape[: x.ndim - len(here)], -1)))
    return moved, axes


def of_samples(place: str, count: int | None = 1, *, axis: Axis = 0) -> Callable[[Function], Function]:
    """Decorate what computes along the last axis of samples, and answers for a function of SciPy's.

    ``count``: that many arguments are samples, None: all that are given by position. ``axis`` is SciPy's default.
    """
    name = place.partition(":")[2]
    own = getattr(stats, name, None)  # an older SciPy may not have it

    def register(f: Function) -> Function:
        names = list(inspect.signature(f if own is None else own).parameters)

        @functools.wraps(f)
        def answer(*args: Any, **kwds: Any) -> Any:
            if count is None:
                samples, named = list(args), kwds
            else:
                named = {**dict(zip(names, args, strict=False)), **kwds}
                samples = [named.pop(key) for key in names[:count] if key in named]
            policy, keeps = named.pop("nan_policy", "propagate"), named.pop("keepdims", False)
            moved, axes = on_last_axis(as_samples(samples), named.pop("axis", axis))
            check_nan_policy(name, policy, moved)
            found = f(*moved, **named)
            if type(found) is Tracer and found.dtype.kind == "f":  # counts and thresholds do not make it wider
                found = as_dtype(found, moved[0].dtype)
            return kept(found, axes) if keeps else found

        return intercepts(place)(answer)

    return register


def kept(found: Any, axes: tuple[int, ...]) -> Any:
    if isinstance(found, tuple):
        return type(found)(*[np.expand_dims(x, axes) for x in found])
    return np.expand_dims(found, axes)


def probability(statistic: Traced, sf: Callable[[Any], Any], alternative: str) -> Any:
    """The probability of a statistic at least as extreme, whose distribution is symmetric."""
    if alternative == "less":
        return sf(-statistic)
    if alternative == "greater":
        return sf(statistic)
    if alternative != "two-sided":
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    return 2 * sf(np.abs(statistic))
