"""Questions about arrays: shapes, dtypes, comparisons of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from wengert.tracing.arguments import Casting, Out, Traced, array, arrays, implements, into, kind
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

# ---------------------------------------------------------------------------------------- shapes, dtypes: no steps


@implements(np.shape)
def shape(a: ArrayLike) -> tuple[int, ...]:
    return array(a).shape


@implements(np.ndim)
def ndim(a: ArrayLike) -> int:
    return array(a).ndim


@implements(np.size)
def size(a: ArrayLike, axis: int | tuple[int, ...] | None = None) -> int:
    x = array(a)
    if axis is None:
        return x.size
    return int(np.prod([x.shape[k] for k in (axis if isinstance(axis, tuple) else (axis,))]))


@intercepts("numpy:isscalar")
def isscalar(element: object) -> Any:
    return element.is_scalar if type(element) is Tracer else NotImplemented


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    return np.result_type(*[kind(x) if isinstance(x, Tracer | np.ndarray) else x for x in arrays_and_dtypes])


@implements(np.can_cast)
def can_cast(from_: Any, to: DTypeLike, casting: Casting = "safe") -> bool:
    return np.can_cast(*[x.dtype if type(x) is Tracer else x for x in (from_, to)], casting=casting)


@implements(np.min_scalar_type)
def min_scalar_type(a: Traced, /) -> Any:
    """NumPy looks at the value of a scalar; the answer for a traced one is that of its dtype."""
    return a.dtype


@implements(np.common_type)
def common_type(*xs: Any) -> Any:
    return np.common_type(*[np.empty(0, x.dtype) for x in xs])


@implements(np.iscomplexobj)
def iscomplexobj(x: ArrayLike) -> bool:
    return array(x).dtype.kind == "c"


@implements(np.isrealobj)
def isrealobj(x: ArrayLike) -> bool:
    return array(x).dtype.kind != "c"


@implements(np.astype)
def astype(x: Traced, dtype: DTypeLike | None, /, *, copy: bool = True, device: str | None = None) -> Any:
    return x.astype(dtype, copy=copy)


# -------------------------------------------------------------------------------------------- tests, one by one


@implements(np.isreal)
def isreal(x: ArrayLike) -> Any:
    return np.imag(array(x)) == 0


@implements(np.iscomplex)
def iscomplex(x: ArrayLike) -> Any:
    return np.imag(array(x)) != 0


@implements(np.isposinf)
def isposinf(x: ArrayLike, out: Out = None) -> Any:
    return into(out, array(x) == np.inf)


@implements(np.isneginf)
def isneginf(x: ArrayLike, out: Out = None) -> Any:
    return into(out, array(x) == -np.inf)


@implements(np.isclose)
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: float | Traced = 1e-5, atol: float | Traced = 1e-8, equal_nan: bool = False
) -> Any:
    """|a - b| ≤ atol + rtol |b| where b is finite, else a = b."""
    x, y = arrays(a, b)
    y = y if y.dtype.kind in "fc" else y.astype(np.float64)
    is_close = (np.abs(x - y) <= atol + rtol * np.abs(y)) & np.isfinite(y) | (x == y)
    return is_close | np.isnan(x) & np.isnan(y) if equal_nan else is_close


@implements(np.allclose)
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: float | Traced = 1e-5, atol: float | Traced = 1e-8, equal_nan: bool = False
) -> Any:
    return np.all(isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Any:
    x, y = arrays(a1, a2)
    if x.shape != y.shape:
        return False
    is_equal = x == y
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        is_equal = is_equal | np.isnan(x) & np.isnan(y)
    return np.all(is_equal)


@implements(np.array_equiv)
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Any:
    x, y = arrays(a1, a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return np.all(x == y)
