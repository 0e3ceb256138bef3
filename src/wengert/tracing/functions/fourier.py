"""numpy.fft and scipy.fft on traced arrays: transforms of :mod:`wengert.ops.fourier` behind crops, zeros and axes.

The two have the same functions, and differ in what they refuse. SciPy's ``workers=`` and ``overwrite_x=`` say how, not
what, and are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.typing import ArrayLike

from wengert.ops import fourier as ops
from wengert.ops.elementwise import complex_dtype
from wengert.ops.op import OPS
from wengert.tracing.arguments import Out, Traced, along, array, as_dtype, concrete, implements, into
from wengert.tracing.emit import record
from wengert.tracing.functions.padding import roll
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

BASIC = "scipy.fft._basic_backend"
REAL = "scipy.fft._realtransforms_backend"
HELPER = "scipy.fft._helper"

# ------------------------------------------------------------------------------------------------------ arguments

_NORMS = {None: (0, 2), "backward": (0, 2), "ortho": (1, 1), "forward": (2, 0)}


def _norm(norm: str | None, is_inverse: bool) -> int:
    """Return what the sum is divided by: see :mod:`wengert.ops.fourier`."""
    if norm not in _NORMS:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return _NORMS[norm][is_inverse]


def _operand(x: Traced, to: str) -> Tracer:
    """``x`` as numbers that are "real", or may be "complex"; of real ones a transform takes half the time."""
    z = array(x)
    if z.dtype.kind == "c":
        if to == "real":
            raise TypeError("x must be a real sequence")
        return z
    wide = np.float32 if z.dtype in (np.float32, np.float16) else np.float64
    return as_dtype(z, wide)


def _resized(x: Tracer, axis: int, n: int) -> Any:
    """``x`` cropped, or continued with zeros, to length ``n`` along an axis."""
    have = x.shape[axis]
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    if n < have:
        return x[along(axis, slice(n))]
    if n == have:
        return x
    zeros = np.zeros((*x.shape[:axis], n - have, *x.shape[axis + 1 :]), x.dtype)
    return np.concatenate([x, zeros], axis)


def _axis(x: Tracer, axis: int) -> int:
    if x.ndim == 0:
        raise IndexError("tuple index out of range")
    return normalize_axis_index(axis, x.ndim)


def _lengths_and_axes(x: Tracer, s: Any, axes: Any) -> tuple[list[Any], list[int]]:
    """The lengths, None where they are not given, and the axes that are transformed."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    axes = [axes] if isinstance(axes, int | np.integer) else list(axes)
    axes = list(normalize_axis_tuple(axes, x.ndim, allow_duplicate=True))
    s = [s] if isinstance(s, int | np.integer) else s
    lengths = [None] * len(axes) if s is None else [None if n is None or n == -1 else int(n) for n in s]
    if len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return lengths, axes


# ----------------------------------------------------------------------------------------------------- transforms


def _complex(x: Tracer, lengths: Sequence[int], axes: Sequence[int], forward: bool, norm: int) -> Any:
    """``x`` transformed along ``axes``, each first brought to its length: one after the other where one comes twice."""
    params = {"forward": forward, "norm": norm}
    if len(set(axes)) < len(axes):
        for n, axis in reversed([*zip(lengths, axes, strict=True)]):
            x = record(ops.fft, (_resized(x, axis, n),), {"axes": (axis,), **params})
        return x
    for n, axis in zip(lengths, axes, strict=True):
        x = _resized(x, axis, n)
    return record(ops.fft, (x,), {"axes": tuple(axes), **params}) if axes else x


def complex_transform(
    a: Traced, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None, is_inverse: bool
) -> Any:
    x = _operand(a, "complex")
    lengths, axes = _lengths_and_axes(x, s, axes)
    return _complex(x, _given_or_own(x, lengths, axes), axes, not is_inverse, _norm(norm, is_inverse))


def _given_or_own(x: Tracer, lengths: Sequence[int | None], axes: Sequence[int]) -> list[int]:
    return [x.shape[axis] if n is None else n for n, axis in zip(lengths, axes, strict=True)]


def half_transform(
    a: Traced, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None, is_inverse: bool
) -> Any:
    """Return half a spectrum of real numbers along the last axis; ``is_inverse``: that of the inverse transform."""
    x = _operand(a, "real")
    lengths, axes = _lengths_and_axes(x, s, axes)
    if not axes:
        raise ValueError("at least 1 axis must be transformed")
    whole = _given_or_own(x, lengths, axes)
    forward, number = not is_inverse, _norm(norm, is_inverse)
    x = _resized(x, axes[-1], whole[-1])
    half = record(ops.rfft, (x,), {"axis": axes[-1], "forward": forward, "norm": number})
    return _complex(half, whole[:-1], axes[:-1], forward, number)


def whole_transform(
    a: Traced, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None, is_inverse: bool
) -> Any:
    """The real numbers that have half a spectrum; ``is_inverse`` as above: of the transform that is undone, false."""
    x = _operand(a, "complex")
    lengths, axes = _lengths_and_axes(x, s, axes)
    if not axes:
        raise ValueError("at least 1 axis must be transformed")
    last = axes[-1]
    n = 2 * (x.shape[last] - 1) if lengths[-1] is None else lengths[-1]
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    x = as_dtype(x, complex_dtype(x.dtype))
    forward, number = not is_inverse, _norm(norm, is_inverse)
    if last not in axes[:-1]:  # fewer to transform; else after the transforms along it
        x = _resized(x, last, n // 2 + 1)
    x = _complex(x, _given_or_own(x, lengths[:-1], axes[:-1]), axes[:-1], forward, number)
    x = _resized(x, last, n // 2 + 1)
    return record(ops.irfft, (x,), {"axis": last, "n": n, "forward": forward, "norm": number})


# -------------------------------------------------------------------------------------------------------- the names

_Transform = Callable[[Any, Any, Any, Any, bool], Any]


def _of_one_axis(transform: _Transform, is_inverse: bool) -> tuple[Any, Any]:
    def numpys(a: Traced, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out = None) -> Any:
        x = array(a)
        axis = _axis(x, axis)
        if n is not None:
            n = int(concrete(n, "n"))
        result = transform(x, None if n is None else (n,), (axis,), norm, is_inverse)
        return result if out is None else into(out, result)

    def scipys(
        x: Traced,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: object = None,
    ) -> Any:
        _check_plan(plan)
        return numpys(x, n, axis, norm)

    return numpys, scipys


def _of_axes(transform: _Transform, is_inverse: bool, default: Any) -> tuple[Any, Any]:
    def numpys(
        a: Traced,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = default,
        norm: str | None = None,
        out: Out = None,
    ) -> Any:
        result = transform(a, s, axes, norm, is_inverse)
        return result if out is None else into(out, result)

    def scipys(
        x: Traced,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = default,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: object = None,
    ) -> Any:
        _check_plan(plan)
        return numpys(x, s, axes, norm)

    return numpys, scipys


def _check_plan(plan: object) -> None:
    if plan is not None:
        raise NotImplementedError("Passing a precomputed plan is not yet supported by scipy.fft functions")


for _name, _transform, _is_inverse in [
    ("fft", complex_transform, False),
    ("ifft", complex_transform, True),
    ("rfft", half_transform, False),
    ("irfft", whole_transform, True),
    ("hfft", whole_transform, False),
    ("ihfft", half_transform, True),
]:
    _families = [(_name, _of_one_axis(_transform, _is_inverse))]
    _families += [
        (f"{_name}{suffix}", _of_axes(_transform, _is_inverse, default))
        for suffix, default in (("2", (-2, -1)), ("n", None))
    ]
    for _full_name, (_numpys, _scipys) in _families:
        intercepts(f"{BASIC}:{_full_name}")(_scipys)
        if hasattr(np.fft, _full_name):  # which has no hfft of several axes
            implements(getattr(np.fft, _full_name))(_numpys)


# ------------------------------------------------------------------------------------------------------- real ones


def _real_transform(kind: str, is_inverse: bool) -> Any:
    def transform(
        x: Traced,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        z = array(x)
        return _real_along(z, kind, type, [n], [_axis(z, axis)], norm, orthogonalize, is_inverse)

    def transform_axes(
        x: Traced,
        type: int = 2,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        orthogonalize: bool | None = None,
    ) -> Any:
        z = array(x)
        return _real_along(z, kind, type, *_lengths_and_axes(z, s, axes), norm, orthogonalize, is_inverse)

    return transform, transform_axes


def _real_along(
    x: Tracer,
    kind: str,
    type: int,
    lengths: Sequence[int | None],
    axes: Sequence[int],
    norm: str | None,
    orthogonalize: bool | None,
    is_inverse: bool,
) -> Any:
    if type not in ops.TRANSPOSED:
        raise ValueError("type must be an integer from 1 to 4")
    if x.dtype.kind == "c":  # each part by itself; SciPy does not hand orthogonalize= on
        parts = [
            _real_along(part, kind, type, lengths, axes, norm, None, is_inverse) for part in (np.real(x), np.imag(x))
        ]
        return record(OPS["compose"], parts, {})
    x = _operand(x, "real")
    params = {
        "kind": kind,
        "type": ops.TRANSPOSED[type] if is_inverse else type,
        "norm": _norm(norm, is_inverse),
        "orthogonal": norm == "ortho" if orthogonalize is None else bool(orthogonalize),
    }
    for n, axis in zip(lengths, axes, strict=True):
        x = _resized(x, axis, x.shape[axis] if n is None else int(concrete(n, "n")))
        if kind == "dct" and type == 1 and x.shape[axis] < 2:
            raise ValueError("DCT-I is not defined for size < 2")
        x = record(ops.real_transform, (x,), {**params, "axis": axis})
    return x


for _kind in ("dct", "dst"):
    for _prefix in ("", "i"):
        _one, _several = _real_transform(_kind, bool(_prefix))
        intercepts(f"{REAL}:{_prefix}{_kind}")(_one)
        intercepts(f"{REAL}:{_prefix}{_kind}n")(_several)


# ---------------------------------------------------------------------------------------------------------- shifts


def _shifted(x: ArrayLike, axes: Any, is_back: bool) -> Any:
    z = array(x)
    axes = range(z.ndim) if axes is None else [axes] if isinstance(axes, int | np.integer) else list(axes)
    shifts = [-(z.shape[k] // 2) if is_back else z.shape[k] // 2 for k in axes]
    return roll(z, shifts, tuple(axes)) if shifts else z.copy()


@intercepts(f"{HELPER}:fftshift")
@implements(np.fft.fftshift)
def fftshift(x: ArrayLike, axes: Sequence[int] | None = None) -> Any:
    """The zero frequency in the middle."""
    return _shifted(x, axes, is_back=False)


@intercepts(f"{HELPER}:ifftshift")
@implements(np.fft.ifftshift)
def ifftshift(x: ArrayLike, axes: Sequence[int] | None = None) -> Any:
    return _shifted(x, axes, is_back=True)
