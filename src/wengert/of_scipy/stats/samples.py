"""Axes, ``keepdims``, ``nan_policy`` and probabilities of a statistic: the common part of functions of samples."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.tracing.arguments import Axis, Traced, array, axes_of, holds, inexact, unsupported
from wengert.tracing.interception.intercept import intercepts

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

    def register(f: Function) -> Function:
        @functools.wraps(f)
        def answer(*args: Any, **kwds: Any) -> Any:
            n = len(args) if count is None else count
            named = f.__code__.co_varnames[:n] if len(args) < n else ()
            samples = [*args[:n], *[kwds.pop(key) for key in named[len(args) :]]]
            policy, keeps = kwds.pop("nan_policy", "propagate"), kwds.pop("keepdims", False)
            rest = list(args[n:])
            at = POSITIONS.get(name)
            along = kwds.pop("axis", axis)
            if at is not None and len(rest) > at:
                along = rest.pop(at)
            moved, axes = on_last_axis(as_samples(samples), along)
            check_nan_policy(name, policy, moved)
            found = f(*moved, *rest, **kwds)
            return kept(found, axes) if keeps else found

        return intercepts(place)(answer)

    return register


AFTER = (
    "skew kurtosis sem variation iqr median_abs_deviation normaltest skewtest kurtosistest ttest_rel",
    "moment trim_mean tmin tmax ttest_1samp",
    "tmean tvar tstd tsem circmean circvar circstd",
)
POSITIONS = {name: place for place, names in enumerate(AFTER) for name in names.split()}
"""The place of ``axis`` among the arguments after the samples, where it may be given by position."""


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
