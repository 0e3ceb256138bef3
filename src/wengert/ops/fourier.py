"""Fourier, cosine and sine transforms: linear ops, each of which has a transform for its transpose.

They are computed by the compiled part of scipy.fft, in which ``norm`` is a number: 0 nothing, 1 by the root of the
length, 2 by the length, of all transformed axes; where ``forward`` says so the exponent is negative.

Source of the definitions: scipy.fft's documentation. F is symmetric, so the cotangent of a transform is transformed
alike, without conjugation; half spectra stand for whole ones, in which the inner bins occur twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.elementwise import complex_dtype, equal, real_dtype, select
from wengert.ops.index import INTP
from wengert.ops.kernels import Callback, Cost, Routine
from wengert.ops.op import linear
from wengert.ops.shape import expand, iota
from wengert.tape import Atom, Aval, Lit

Axes = tuple[int, ...]
BY_SCIPY = Callback("computed by scipy.fft")
BY_ROUTINE = Routine("fourier.fft", is_of_complex=True)  # where codegen has one, else as the others


@cache
def _compiled() -> Any:
    """Return the compiled part of scipy.fft, imported when it is needed: it takes a fifth of the time of the functions
    around it."""
    library = "duccfft" if find_spec("scipy.fft._duccfft") else "pocketfft"  # since SciPy 1.18, and before
    return import_module(f"scipy.fft._{library}.py{library}")


def _cost_along(axes_of: Callable[[Any], Axes]) -> Cost:
    """5 n log₂ n for each transform of length n, complex."""

    def cost(x: Aval, **params: Any) -> float:
        n = int(np.prod([x.shape[k] for k in axes_of(params)]))
        return 5.0 * x.size * np.log2(max(n, 2))

    return cost


def _along(x: Atom, axis: int) -> Any:
    """The index of each element along an axis, to broadcast against ``x``."""
    n, ndim = x.aval.shape[axis], x.aval.ndim
    return expand(iota(size=n, dtype=INTP), [k for k in range(ndim) if k != axis], ndim)


def _scaled_at(x: Atom, axis: int, places: tuple[int, ...], there: float, elsewhere: float) -> Any:
    """``x`` times a number at some places along an axis, and another one elsewhere."""
    index, dtype = _along(x, axis), x.aval.dtype
    factor: Any = Lit(elsewhere, dtype)
    for place in places:
        factor = select(equal(index, place), Lit(there, dtype), factor)
    return x * factor


# ------------------------------------------------------------------------------------------------ of complex numbers


def _fft_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, axes: Axes, forward: bool, norm: int) -> Any:
    return fft(xs[0], axes=tuple([k + 1 for k in axes]), forward=forward, norm=norm)


fft = linear(  # of x real or complex, along different axes: complex, of the same shape
    lambda x, *, axes, forward, norm: _compiled().c2c(x, axes, forward, norm),
    name="fft",
    type=lambda x, *, axes, forward, norm: Aval(x.shape, complex_dtype(x.dtype)),
    kernel=BY_ROUTINE,
    transpose=lambda ct, x, **params: fft(ct, **params),
    bind=lambda avals, *, axes, forward, norm: partial(_compiled().c2c, axes=axes, forward=forward, inorm=norm),
    batch=_fft_batch,
    cost=_cost_along(lambda params: params["axes"]),
)

# ------------------------------------------------------------------------------------------- of half spectra


def _ends(n: int) -> tuple[int, ...]:
    """The bins of a half spectrum of length n that occur once in the whole one."""
    return (0,) if n % 2 else (0, n // 2)


def _half_type(x: Aval, *, axis: int, forward: bool, norm: int) -> Aval:
    shape = (*x.shape[:axis], x.shape[axis] // 2 + 1, *x.shape[axis + 1 :])
    return Aval(shape, complex_dtype(x.dtype))


def _rfft_transpose(ct: Atom, x: Atom, *, axis: int, forward: bool, norm: int) -> Any:
    """x̄ₙ = Re Σₖ ctₖ wᵏⁿ over half of the bins: the array with the half spectrum whose inner bins are halved."""
    n = x.aval.shape[axis]
    return irfft(_scaled_at(ct, axis, _ends(n), 1, 0.5), axis=axis, n=n, forward=forward, norm=norm)


def _rfft_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, axis: int, forward: bool, norm: int) -> Any:
    return rfft(xs[0], axis=axis + 1, forward=forward, norm=norm)


rfft = linear(  # of x real, along one axis of length n: the first n // 2 + 1 bins
    lambda x, *, axis, forward, norm: _compiled().r2c(x, (axis,), forward, norm),
    name="rfft",
    type=_half_type,
    kernel=Routine("fourier.rfft", is_of_complex=True),
    transpose=_rfft_transpose,
    bind=lambda avals, *, axis, forward, norm: partial(_compiled().r2c, axes=(axis,), forward=forward, inorm=norm),
    batch=_rfft_batch,
    cost=_cost_along(lambda params: (params["axis"],)),
)


def _whole_type(x: Aval, *, axis: int, n: int, forward: bool, norm: int) -> Aval:
    if n // 2 + 1 != x.shape[axis]:
        raise ShapeError(f"irfft: a spectrum of {n} real numbers has {n // 2 + 1} bins: {x}, along axis {axis}")
    return Aval((*x.shape[:axis], n, *x.shape[axis + 1 :]), real_dtype(x.dtype))


def _irfft_transpose(ct: Atom, x: Atom, *, axis: int, n: int, forward: bool, norm: int) -> Any:
    """x̄ₖ = cₖ Σₙ ctₙ wᵏⁿ, where cₖ counts how often bin k occurs; real where the imaginary part of x is not read."""
    return _scaled_at(rfft(ct, axis=axis, forward=forward, norm=norm), axis, _ends(n), 1, 2)


def _irfft_batch(
    xs: Sequence[Atom], batched: Sequence[bool], size: int, *, axis: int, n: int, forward: bool, norm: int
) -> Any:
    return irfft(xs[0], axis=axis + 1, n=n, forward=forward, norm=norm)


irfft = linear(  # n real numbers of the first bins of their spectrum; an imaginary part that cannot be is ignored
    lambda x, *, axis, n, forward, norm: _compiled().c2r(x, (axis,), n, forward, norm),
    name="irfft",
    type=_whole_type,
    kernel=Routine("fourier.irfft", is_of_complex=True),
    transpose=_irfft_transpose,
    bind=lambda avals, *, axis, n, forward, norm: partial(
        _compiled().c2r, axes=(axis,), lastsize=n, forward=forward, inorm=norm
    ),
    batch=_irfft_batch,
    cost=_cost_along(lambda params: (params["axis"],)),
)

# --------------------------------------------------------------------------------------------- cosines and sines

TRANSPOSED = {1: 1, 2: 3, 3: 2, 4: 4}
"""The type that is the transpose, and the inverse, of each but for factors."""


def _real_transform(x: Atom, *, kind: str, type: int, axis: int, norm: int, orthogonal: bool) -> Any:
    return getattr(_compiled(), kind)(x, type, (axis,), norm, None, 1, orthogonal)


def _real_bind(
    avals: Sequence[Aval], *, kind: str, type: int, axis: int, norm: int, orthogonal: bool
) -> Callable[..., Any]:
    transform = getattr(_compiled(), kind)
    return lambda x: transform(x, type, (axis,), norm, None, 1, orthogonal)


def _real_transpose(ct: Atom, x: Atom, *, kind: str, type: int, axis: int, norm: int, orthogonal: bool) -> Any:
    """Orthogonal, and of type 4, the transform of the transposed type. Else the elements at the ends are weighted: of
    cosines x₀, in type 1 also the last, counts once in the sum where the others count twice; of sines the last."""
    n = x.aval.shape[axis]
    other = partial(real_transform, kind=kind, type=TRANSPOSED[type], axis=axis, norm=norm, orthogonal=orthogonal)
    end = (0,) if kind == "dct" else (n - 1,)
    if orthogonal or type == 4 or (kind == "dst" and type == 1):
        return other(ct)
    if type == 1:
        ends = (0, n - 1)
        return _scaled_at(other(_scaled_at(ct, axis, ends, 1, 0.5)), axis, ends, 1, 2)
    return other(_scaled_at(ct, axis, end, 2, 1)) if type == 2 else _scaled_at(other(ct), axis, end, 0.5, 1)


def _real_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, axis: int, **params: Any) -> Any:
    return real_transform(xs[0], axis=axis + 1, **params)


real_transform = linear(  # of x real, along one axis: "dct" or "dst" of type 1 to 4
    _real_transform,
    name="real_transform",
    type=lambda x, **params: x,
    kernel=BY_SCIPY,
    transpose=_real_transpose,
    bind=_real_bind,
    batch=_real_batch,
    cost=_cost_along(lambda params: (params["axis"],)),
)
