"""Filters that take an element of each window by its rank: minimum, maximum, median; and grey morphology of them."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.of_scipy.ndimage.borders import Target, axes_of, axis_of, between, each, finish, real, windows
from wengert.tracing.arguments import Traced, array, as_dtype, unsupported
from wengert.tracing.interception.intercept import intercepts

PLACE = "scipy.ndimage"
Size = int | Sequence[int] | None
Origin = int | Sequence[int]
Modes = str | Sequence[str]


def chosen(is_minimum: bool) -> Callable[..., Any]:
    return np.min if is_minimum else np.max


def _along_one(x: Traced, size: int, axis: int, mode: str, cval: float, origin: int, is_minimum: bool) -> Any:
    if size < 1:
        raise RuntimeError("incorrect filter size")
    if not 0 <= size // 2 + origin < size:
        raise ValueError("invalid origin")
    if x.size == 0:
        return x
    lengths = [int(size) if k == axis else 1 for k in range(x.ndim)]
    around = windows(x, lengths, [origin if k == axis else 0 for k in range(x.ndim)], [mode], cval)
    return chosen(is_minimum)(around, axis=tuple(range(x.ndim, 2 * x.ndim)))


def _filter1d(is_minimum: bool) -> Callable[..., Any]:
    def one(
        input: ArrayLike,
        size: int,
        axis: int = -1,
        output: Target = None,
        mode: str = "reflect",
        cval: float = 0.0,
        origin: int = 0,
    ) -> Any:
        x = real(input)
        found = _along_one(x, size, axis_of(axis, x.ndim), mode, cval, origin, is_minimum)
        return finish(found, x.dtype, output)

    return one


intercepts(f"{PLACE}:minimum_filter1d")(_filter1d(True))
intercepts(f"{PLACE}:maximum_filter1d")(_filter1d(False))


def _laid_out(is_in: Any, over: tuple[int, ...], ndim: int, name: str = "footprint") -> Any:
    """An array over some axes as one over all."""
    if is_in.ndim != len(over):
        raise RuntimeError(f"{name}.ndim ({is_in.ndim}) must match len(axes) ({len(over)})")
    return np.expand_dims(is_in, tuple([k for k in range(ndim) if k not in over]))


def _origins(origin: Origin, over: tuple[int, ...], ndim: int) -> list[int]:
    found = [0] * ndim
    for k, shift in zip(over, each(origin, len(over)), strict=True):
        found[k] = int(shift)
    return found


def _in_windows(x: Traced, is_in: Any, origins: Sequence[int], mode: Modes, cval: float) -> Any:
    """The elements of each window that the footprint has, along a last axis."""
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
    return windows(x, is_in.shape, origins, [mode], cval)[..., is_in]


def extreme(
    input: ArrayLike,
    size: Size,
    footprint: ArrayLike | None,
    structure: ArrayLike | None,
    output: Target,
    mode: Modes,
    cval: float,
    origin: Origin,
    is_minimum: bool,
    axes: Any,
) -> Any:
    """The smallest of x − s in each window, or the largest of x + s: s is the structure, or 0."""
    if size is not None and footprint is not None:
        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=4)
    x = real(input)
    if structure is not None and x.dtype.kind == "b":  # SciPy's own result is no function of the window
        raise unsupported("grey morphology of truths by a structure is not traced", "binary_erosion", "footprint=")
    over = axes_of(axes, x.ndim)
    is_in = None if footprint is None else np.asarray(footprint, dtype=bool)
    if structure is None:
        if is_in is None and size is None:
            raise RuntimeError("no footprint provided")
        if is_in is not None and not is_in.any():
            raise ValueError("All-zero footprint is not supported.")
        if is_in is not None and is_in.all():
            size, is_in = is_in.shape, None
        if is_in is None:
            found: Any = x
            n = len(over)
            for axis, length, shift, border in zip(over, each(size, n), each(origin, n), each(mode, n), strict=True):
                if length > 1:
                    found = as_dtype(found, between(output, x))
                    found = _along_one(found, int(length), axis, border, cval, int(shift), is_minimum)
            return finish(found, x.dtype, output)
    origins = _origins(origin, over, x.ndim)
    heights = None if structure is None else as_dtype(array(structure), np.float64)
    if is_in is None and heights is not None:
        is_in = np.ones(heights.shape, dtype=bool)
    whole = _laid_out(is_in, over, x.ndim)
    if x.size == 0:
        return finish(x, x.dtype, output)
    around = _in_windows(as_dtype(x, np.float64), whole, origins, mode, cval)
    if heights is not None:
        kept = _laid_out(heights, over, x.ndim, "structure")[whole]
        around = around - kept if is_minimum else around + kept
    return finish(chosen(is_minimum)(around, axis=-1), x.dtype, output)


def _extreme_filter(is_minimum: bool) -> Callable[..., Any]:
    def of_windows(
        input: ArrayLike,
        size: Size = None,
        footprint: ArrayLike | None = None,
        output: Target = None,
        mode: Modes = "reflect",
        cval: float = 0.0,
        origin: Origin = 0,
        *,
        axes: int | Sequence[int] | None = None,
    ) -> Any:
        return extreme(input, size, footprint, None, output, mode, cval, origin, is_minimum, axes)

    return of_windows


intercepts(f"{PLACE}:minimum_filter")(_extreme_filter(True))
intercepts(f"{PLACE}:maximum_filter")(_extreme_filter(False))


# -------------------------------------------------------------------------------------------------------------- ranks


def by_rank(
    input: ArrayLike,
    rank_of: Callable[[int], int],
    size: Size,
    footprint: ArrayLike | None,
    output: Target,
    mode: Modes,
    cval: float,
    origin: Origin,
    axes: Any,
) -> Any:
    if size is not None and footprint is not None:
        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=4)
    x = real(input)
    over = axes_of(axes, x.ndim)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        is_in = np.ones([int(n) for n in each(size, len(over))], dtype=bool)
    else:
        is_in = np.asarray(footprint, dtype=bool)
    whole = _laid_out(is_in, over, x.ndim)
    count = int(whole.sum())
    rank = rank_of(count)
    if rank < 0:
        rank += count
    if not 0 <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    if x.size == 0:
        return finish(x, x.dtype, output)
    around = _in_windows(x, whole, _origins(origin, over, x.ndim), mode, cval)
    if rank in (0, count - 1):
        return finish(chosen(rank == 0)(around, axis=-1), x.dtype, output)
    return finish(np.sort(around, axis=-1)[..., rank], x.dtype, output)


@intercepts(f"{PLACE}:rank_filter")
def rank_filter(
    input: ArrayLike,
    rank: int,
    size: Size = None,
    footprint: ArrayLike | None = None,
    output: Target = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Origin = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    wanted = operator.index(rank)
    return by_rank(input, lambda count: wanted, size, footprint, output, mode, cval, origin, axes)


@intercepts(f"{PLACE}:median_filter")
def median_filter(
    input: ArrayLike,
    size: Size = None,
    footprint: ArrayLike | None = None,
    output: Target = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Origin = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    return by_rank(input, lambda count: count // 2, size, footprint, output, mode, cval, origin, axes)


@intercepts(f"{PLACE}:percentile_filter")
def percentile_filter(
    input: ArrayLike,
    percentile: float,
    size: Size = None,
    footprint: ArrayLike | None = None,
    output: Target = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Origin = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    share = float(percentile) + (100.0 if percentile < 0 else 0.0)
    if not 0 <= share <= 100:
        raise RuntimeError("invalid percentile")
    rank_of = lambda count: count - 1 if share == 100 else int(count * share / 100)
    return by_rank(input, rank_of, size, footprint, output, mode, cval, origin, axes)


# ---------------------------------------------------------------------------------------------------- grey morphology


def grey_erosion(
    input: ArrayLike,
    size: Size = None,
    footprint: ArrayLike | None = None,
    structure: ArrayLike | None = None,
    output: Target = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Origin = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")
    return extreme(input, size, footprint, structure, output, mode, cval, origin, True, axes)


def grey_dilation(
    input: ArrayLike,
    size: Size = None,
    footprint: ArrayLike | None = None,
    structure: ArrayLike | None = None,
    output: Target = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Origin = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """The structure is read backwards, and so is the place of the window."""
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")
    x = real(input)
    over = axes_of(axes, x.ndim)
    is_in = None if footprint is None else np.flip(np.asarray(footprint))
    heights: Any = None if structure is None else np.flip(array(structure))
    lengths = next((a.shape for a in (is_in, heights) if a is not None), None) or each(size, len(over))
    shifts = [-int(s) if n % 2 else -int(s) - 1 for s, n in zip(each(origin, len(over)), lengths, strict=True)]
    return extreme(x, size, is_in, heights, output, mode, cval, shifts, False, axes)


Options = dict[str, Any]
"""Arguments that functions of two steps hand on: all but the output."""


def opened(x: Any, options: Options, output: Target) -> Any:
    eroded = grey_erosion(x, **options)
    return grey_dilation(eroded, output=output, **options)


def closed(x: Any, options: Options, output: Target) -> Any:
    dilated = grey_dilation(x, **options)
    return grey_erosion(dilated, output=output, **options)


def _white_tophat(x: Any, options: Options, output: Target) -> Any:
    return _difference(x, opened(x, options, None), output)


def _black_tophat(x: Any, options: Options, output: Target) -> Any:
    return _difference(closed(x, options, None), x, output)


def _difference(x: Any, y: Any, output: Target) -> Any:
    is_of_truths = x.dtype.kind == "b"
    return finish(x ^ y if is_of_truths else x - y, x.dtype, output)


def _gradient(x: Any, options: Options, output: Target) -> Any:
    dilated = grey_dilation(x, **options)
    return _difference(dilated, grey_erosion(x, **options), output)


def _laplace(x: Any, options: Options, output: Target) -> Any:
    dilated = grey_dilation(x, **options)
    eroded = grey_erosion(x, **options)
    return finish(dilated + eroded - x - x, x.dtype, output)


def _composed(of: Callable[..., Any]) -> Callable[..., Any]:
    def composed(
        input: ArrayLike,
        size: Size = None,
        footprint: ArrayLike | None = None,
        structure: ArrayLike | None = None,
        output: Target = None,
        mode: Modes = "reflect",
        cval: float = 0.0,
        origin: Origin = 0,
        *,
        axes: int | Sequence[int] | None = None,
    ) -> Any:
        options: Options = {"size": size, "footprint": footprint, "structure": structure, "mode": mode, "cval": cval}
        return of(real(input), {**options, "origin": origin, "axes": axes}, output)

    return composed


intercepts(f"{PLACE}:grey_erosion")(grey_erosion)
intercepts(f"{PLACE}:grey_dilation")(grey_dilation)
for _name, _of in {
    "grey_opening": opened,
    "grey_closing": closed,
    "white_tophat": _white_tophat,
    "black_tophat": _black_tophat,
    "morphological_gradient": _gradient,
    "morphological_laplace": _laplace,
}.items():
    intercepts(f"{PLACE}:{_name}")(_composed(_of))
