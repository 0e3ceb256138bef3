"""ndarray's methods on traced arrays: the functions of the same name, with the method's own way to take axes.

``x.cumsum(0)`` of a traced ``x`` is ``METHODS["cumsum"](x, 0)``; the table is the end of this file. What is not in it
is written in :class:`~wengert.tracing.tracer.Tracer` itself (attributes, and ``copy``, ``astype``, ``item`` ..., which
look at how it is made), or is not traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.errors import ConcretizationError, message
from wengert.tracing.arguments import Out, Traced, knows_order, refuse, unsupported
from wengert.tracing.functions import (
    calculus,
    diagonals,
    joining,
    products,
    reductions,
    selecting,
    shaping,
    sorting,
    statistics,
)
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import METHODS, SCALAR_METHODS, Tracer


def _lengths(lengths: tuple[Any, ...]) -> Any:
    """``x.reshape(2, 3)`` and ``x.reshape((2, 3))``."""
    return lengths[0] if len(lengths) == 1 else lengths


@knows_order
def reshape(x: Tracer, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    return shaping.reshape(x, _lengths(shape), order, copy=copy)


@knows_order
def flatten(x: Tracer, order: str = "C") -> Any:
    return shaping.ravel(x, order).copy()


def transpose(x: Tracer, *axes: Any) -> Any:
    return shaping.transpose(x, _lengths(axes) if axes else None)


def view(x: Tracer, dtype: Any = None, type: type | None = None) -> Any:
    if type is None and _is_class_of_arrays(dtype):
        dtype, type = None, dtype
    if type is not None and type is not np.ndarray:
        if x.is_settled():  # nothing traced is in it: an array of NumPy's, which nobody may write
            array = x.__array__()
            array.flags.writeable = False
            return array.view(type)
        raise unsupported(
            f"ndarray.view: a traced array is no {type.__name__}, a class of arrays with attributes of its own",
            "the numbers alone, np.asarray(x), and beside them what the class adds",
        )
    if dtype is not None and dtype is not np.ndarray and np.dtype(dtype) != x.dtype:
        raise refuse("ndarray.view", "dtype", np.dtype(dtype), "x.astype(dtype), which converts the values")
    return x if x.is_scalar else shaping.reshaped(x, x.shape)


def _is_class_of_arrays(x: object) -> bool:
    return isinstance(x, type) and issubclass(x, np.ndarray)


def repeat(x: Tracer, repeats: int | Sequence[int] | Traced, axis: int | None = None) -> Any:
    return joining.repeat(x, repeats, axis)


def sort(
    x: Tracer, axis: int | None = -1, kind: str | None = None, order: str | None = None, *, stable: bool | None = None
) -> None:
    """The array is changed in place, as ndarray's method does."""
    x.assign(sorting.sort(x, axis, kind, order, stable=stable))


def partition(
    x: Tracer, kth: ArrayLike, axis: int | None = -1, kind: str | None = "introselect", order: str | None = None
) -> None:
    x.assign(sorting.partition(x, kth, axis, kind, order))


def clip(x: Tracer, min: Any = None, max: Any = None, out: Out = None, **options: Any) -> Any:
    return calculus.clip(x, min, max, out, **options)


def put(x: Tracer, indices: ArrayLike, values: ArrayLike, mode: str = "raise") -> None:
    selecting.put(x, indices, values, mode)


@knows_order
def compress(x: Tracer, condition: ArrayLike, axis: int | None = None, out: Out = None) -> Any:
    return selecting.compress(condition, x, axis, out)


def conjugate(x: Tracer) -> Any:
    return np.conjugate(x) if x.dtype.kind == "c" else x  # the method, unlike the function, does not copy


def _bytes(name: str) -> Any:
    def of_settled(x: Tracer, *args: Any, **kwargs: Any) -> Any:
        if name in _READING and x.is_settled():
            return getattr(np.array(x.look("bytes"), order="K"), name)(*args, **kwargs)
        raise unsupported(
            f"ndarray.{name} needs the concrete bytes of a traced {x.aval}", "the value returned from the function"
        )

    return of_settled


_READING = ("tobytes", "tofile", "dump", "dumps")


def is_integer(x: Tracer) -> Any:
    return np.isfinite(x) & (np.floor(x) == x)


def _digits(name: str) -> Any:
    def of_a_constant(x: Tracer, *args: Any, **kwargs: Any) -> Any:
        if x.constant() is not None:
            return getattr(x.seen_class()(x.constant()), name)(*args, **kwargs)
        trace = current_trace()
        raise ConcretizationError(
            message(
                f"{name}() of a traced {x.aval} would give the digits of this call's value, also in later calls",
                trace.locate() if trace else None,
                tries=["the value returned from the function", "wg.stop_gradient and a function of NumPy"],
            )
        )

    return of_a_constant


METHODS.update(
    reshape=reshape,
    ravel=shaping.ravel,
    flatten=flatten,
    transpose=transpose,
    swapaxes=shaping.swapaxes,
    squeeze=shaping.squeeze,
    view=view,
    sum=reductions.sum_,
    prod=reductions.prod,
    mean=statistics.mean,
    std=statistics.std,
    var=statistics.var,
    max=reductions.max_,
    min=reductions.min_,
    argmax=reductions.argmax,
    argmin=reductions.argmin,
    any=reductions.any_,
    all=reductions.all_,
    cumsum=reductions.cumsum,
    cumprod=reductions.cumprod,
    dot=products.dot,
    trace=diagonals.trace,
    diagonal=diagonals.diagonal,
    clip=clip,
    round=calculus.round_,
    repeat=repeat,
    sort=sort,
    argsort=sorting.argsort,
    partition=partition,
    argpartition=sorting.argpartition,
    searchsorted=sorting.searchsorted,
    take=selecting.take,
    put=put,
    choose=selecting.choose,
    compress=compress,
    nonzero=selecting.nonzero,
    conj=conjugate,
    conjugate=conjugate,
    **{name: _bytes(name) for name in ("tobytes", "tofile", "dump", "dumps", "byteswap", "getfield", "setfield")},
)

SCALAR_METHODS.update(is_integer=is_integer, hex=_digits("hex"), as_integer_ratio=_digits("as_integer_ratio"))
