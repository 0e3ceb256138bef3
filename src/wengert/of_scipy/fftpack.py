"""``scipy.fftpack`` on traced arrays: the transforms of :mod:`scipy.fft` in older forms, and differential operators on
periodic sequences, which multiply Fourier coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft

from wengert.tracing.arguments import Traced, along, array, as_dtype, axis_of
from wengert.tracing.interception.intercept import intercepts

Number = float | Traced

transforms: Any = fft  # which returns traced arrays of them


def _along_one(name: str) -> Callable[..., Any]:
    """A transform along one axis that ``scipy.fft`` has under its name."""

    def transform(x: ArrayLike, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> Any:
        return getattr(transforms, name)(x, n, axis)

    return transform


def _along_several(name: str, usual: tuple[int, ...] | None) -> Callable[..., Any]:
    def transform(x: ArrayLike, shape: Any = None, axes: Any = usual, overwrite_x: bool = False) -> Any:
        return getattr(transforms, name)(x, shape, axes)

    return transform


for _name in ("fft", "ifft"):
    intercepts(f"scipy.fftpack:{_name}")(_along_one(_name))
for _name in ("fftn", "ifftn"):
    intercepts(f"scipy.fftpack:{_name}")(_along_several(_name, None))
for _name in ("fft2", "ifft2"):
    intercepts(f"scipy.fftpack:{_name}")(_along_several(_name, (-2, -1)))


_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
"""The type of the transform that undoes one, but for a factor."""


def _real(name: str) -> Callable[..., Any]:
    """A cosine or sine transform; its inverse, whose name begins with i, is one of another type, without a factor."""

    def transform(x: ArrayLike, type: int = 2, *given: Any, shape: Any = None, **named: Any) -> Any:
        if shape is not None:
            named["s"] = shape
        if name.startswith("i"):
            type = _INVERSE[type]
        return getattr(transforms, name.removeprefix("i"))(x, type, *given, **named)

    return transform


for _name in ("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn"):
    intercepts(f"scipy.fftpack:{_name}")(_real(_name))


@intercepts("scipy.fftpack:rfft")
def rfft(x: ArrayLike, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> Any:
    """Return the coefficients as real numbers: the first, then the real and imaginary part of each further one."""
    x = array(x)
    if x.dtype.kind == "c":
        raise TypeError("x must be a real sequence")
    axis = axis_of(axis, x.ndim)
    count = x.shape[axis] if n is None else n
    y = np.moveaxis(transforms.rfft(x, n, axis), axis, -1)
    parts = np.stack([y.real, y.imag], axis=-1)
    flat = np.reshape(parts, (*y.shape[:-1], 2 * y.shape[-1]))
    return np.moveaxis(np.concatenate([flat[..., :1], flat[..., 2 : count + 1]], axis=-1), -1, axis)


@intercepts("scipy.fftpack:irfft")
def irfft(x: ArrayLike, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> Any:
    x = array(x)
    if x.dtype.kind == "c":
        raise TypeError("x must be a real sequence")
    axis = axis_of(axis, x.ndim)
    count = x.shape[axis] if n is None else n
    flat: Any = np.moveaxis(as_dtype(x, np.result_type(x.dtype, np.float32)), axis, -1)[..., :count]
    short = count - flat.shape[-1]
    flat = np.pad(flat, [(0, 0)] * (x.ndim - 1) + [(0, short)]) if short else flat
    nothing = np.zeros_like(flat[..., :1])
    pairs = [flat[..., :1], nothing, flat[..., 1:], *([nothing] if count % 2 == 0 else [])]
    parts = np.reshape(np.concatenate(pairs, axis=-1), (*flat.shape[:-1], count // 2 + 1, 2))
    return np.moveaxis(transforms.irfft(parts[..., 0] + 1j * parts[..., 1], count, -1), -1, axis)


# ----------------------------------------------------------------------------- operators on periodic sequences


def _multiplied(x: ArrayLike, by: Callable[[Any, Any], Any], first: Any = 0.0) -> Any:
    """Return the sequence ``x`` with its Fourier coefficient j multiplied by ``by(j, is_middle)``, j = 1, 2, ..., and
    number 0 by ``first``. The middle one of an even length is real, and so must its factor be."""
    x = array(x)
    if x.dtype.kind == "c":
        return _multiplied(x.real, by, first) + 1j * _multiplied(x.imag, by, first)
    n, last = x.shape[-1], x.ndim - 1
    y = transforms.rfft(as_dtype(x, np.float64))
    j = np.arange(1.0, y.shape[-1])
    rest = y[..., 1:] * by(j, 2 * j == n)
    return transforms.irfft(np.concatenate([y[along(last, slice(0, 1))] * first, rest], axis=-1), n)


def _odd(x: ArrayLike, by: Callable[[Any], Any]) -> Any:
    """Return ``x`` with its coefficients multiplied by i ``by(j)``, of which the middle one keeps nothing."""
    return _multiplied(x, lambda j, is_middle: 1j * by(j) * np.where(is_middle, 0.0, 1.0))


def _angle(period: float | None) -> float:
    return 1.0 if period is None else 2 * np.pi / period


def _scaled(h: Number, period: float | None) -> Any:
    return h * _angle(period)


@intercepts("scipy.fftpack:diff")
def diff(x: ArrayLike, order: int = 1, period: float | None = None, _cache: Any = None) -> Any:
    """The derivative of this order, or the integral: (2πij / period)^order."""
    if order == 0:
        return array(x)
    c, sign = _angle(period), (1.0, 1.0, -1.0, -1.0)[order % 4]
    if order % 2:
        return _odd(x, lambda j: sign * (c * j) ** order)
    return _multiplied(x, lambda j, is_middle: np.where(is_middle, 0.0, sign * (c * j) ** order))


@intercepts("scipy.fftpack:hilbert")
def hilbert(x: ArrayLike, _cache: Any = None) -> Any:
    return _odd(x, np.ones_like)


@intercepts("scipy.fftpack:ihilbert")
def ihilbert(x: ArrayLike, _cache: Any = None) -> Any:
    return -hilbert(x)


@intercepts("scipy.fftpack:tilbert")
def tilbert(x: ArrayLike, h: Number, period: float | None = None, _cache: Any = None) -> Any:
    """The Hilbert transform on a strip of height h: i coth(jh 2π / period)."""
    h = _scaled(h, period)
    return _odd(x, lambda j: 1 / np.tanh(j * h))


@intercepts("scipy.fftpack:itilbert")
def itilbert(x: ArrayLike, h: Number, period: float | None = None, _cache: Any = None) -> Any:
    h = _scaled(h, period)
    return _odd(x, lambda j: -np.tanh(j * h))


def _quotient(
    above: Callable[[Any], Any], below: Callable[[Any], Any], sign: float, is_odd: bool
) -> Callable[..., Any]:
    """An operator with the factor ``above(ja) / below(jb)``, times an i with this sign where it ``is_odd``."""

    def operator(x: ArrayLike, a: Number, b: Number, period: float | None = None, _cache: Any = None) -> Any:
        c, d = _scaled(a, period), _scaled(b, period)
        factor = lambda j: sign * above(j * c) / below(j * d)
        if is_odd:
            return _odd(x, factor)
        return _multiplied(x, lambda j, is_middle: factor(j), a / b if above is np.sinh else 1.0)

    return operator


for _name, _parts in {
    "sc_diff": (np.sinh, np.cosh, 1.0, True),
    "cs_diff": (np.cosh, np.sinh, -1.0, True),
    "cc_diff": (np.cosh, np.cosh, 1.0, False),
    "ss_diff": (np.sinh, np.sinh, 1.0, False),
}.items():
    intercepts(f"scipy.fftpack:{_name}")(_quotient(*_parts))


@intercepts("scipy.fftpack:shift")
def shift(x: ArrayLike, a: Number, period: float | None = None, _cache: Any = None) -> Any:
    """x(t + a), periodic: e^(2πija / period). SciPy multiplies the middle coefficient by cosine plus sine."""
    c = _scaled(a, period)

    def factor(j: Any, is_middle: Any) -> Any:
        return np.cos(j * c) + np.sin(j * c) * np.where(is_middle, 1.0, 1j)

    return _multiplied(x, factor, 1.0)
