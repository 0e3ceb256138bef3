"""Recursive filters of ``scipy.signal``: ``lfilter``, ``sosfilt`` and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import signal

from wengert.of_scipy.signal.arrays import padded_to, source
from wengert.ops.filters import cascade, filter_
from wengert.tracing.arguments import (
    Traced,
    array,
    arrays,
    as_dtype,
    axis_of,
    concrete,
    constant,
    holds,
    inexact,
    promote,
    trace_near,
)
from wengert.tracing.emit import record
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original


@intercepts("scipy.signal._sigtools:_linear_filter")
def linear_filter(b: Traced, a: Traced, x: Traced, axis: int = -1, zi: Traced | None = None) -> Any:
    """y of a * y = b * x + zi, of which SciPy's Python code has checked the shapes, and the state after it."""
    given = [b, a, x] if zi is None else [b, a, x, zi]
    given = promote(*arrays(*given))
    if given[0].dtype.kind not in "fc":
        given = [as_dtype(v, np.float64) for v in given]
    b, a = given[:2]
    if holds(a[0] == 0):
        raise ValueError("BUG: filter coefficient a[0] == 0 not supported yet")
    axis, length = axis_of(axis, given[2].ndim), max(a.shape[0], b.shape[0])
    b, a = padded_to(b / a[0], length), padded_to(a / a[0], length)
    rows: Any = np.moveaxis(given[2], axis, -1)
    if zi is None:
        zi = constant(trace_near(given), np.zeros((*rows.shape[:-1], length - 1), rows.dtype))
    else:
        zi = np.broadcast_to(np.moveaxis(given[3], axis, -1), (*rows.shape[:-1], length - 1))
    y, zf = record(filter_, (b, a[1:], rows, zi), {})
    y, zf = np.moveaxis(y, -1, axis), np.moveaxis(zf, -1, axis)
    return y if len(given) == 3 else (y, zf)


@intercepts("scipy.signal._sosfilt:_sosfilt")
def sosfilt(sos: Traced, x: Traced, zi: Traced) -> None:
    """A cascade of sections on each row of ``x``, written into ``x`` and ``zi``, which are SciPy's own copies."""
    y, zf = record(cascade, tuple(promote(*arrays(sos, x, zi))), {})
    x[...] = y
    zi[...] = zf


def normalised(b: Traced, a: Traced) -> tuple[Any, Any]:
    """``b`` and ``a`` divided by a[0]. SciPy's code divides where a[0] is not 1, and then has no derivative in it."""
    b, a = inexact(array(b, (a,))), inexact(array(a, (b,)))
    if a.ndim != 1 or not a.shape[0] or holds(a[0] == 0) is not False:
        return b, a
    return b / a[0], a / a[0]


@intercepts("scipy.signal:lfiltic")
def lfiltic(b: Traced, a: Traced, y: Traced, x: Traced | None = None) -> Any:
    b, a = normalised(np.atleast_1d(array(b, (a, y, x))), np.atleast_1d(array(a, (b, y, x))))
    return original(signal.lfiltic)(b, a, y, x)


@intercepts("scipy.signal:lfilter_zi")
def lfilter_zi(b: Traced, a: Traced) -> Any:
    """The state z = A z + B of a filter at rest, where A is the companion matrix of a, transposed."""
    b, a = (np.atleast_1d(array(v, (b, a))) for v in (b, a))
    if b.ndim != 1:
        raise ValueError("Numerator b must be 1-D.")
    if a.ndim != 1:
        raise ValueError("Denominator a must be 1-D.")
    while a.shape[0] > 1 and holds(a[0] == 0):
        a = a[1:]
    if a.shape[0] < 1:
        raise ValueError("There must be at least one nonzero `a` coefficient.")
    b, a = normalised(b, a)
    length = max(a.shape[0], b.shape[0])
    b, a = promote(padded_to(b, length), padded_to(a, length))
    if length == 1:
        return b[1:]
    n = length - 1
    matrix = source(np.eye(n, dtype=a.dtype) - np.eye(n, k=1, dtype=a.dtype), a)
    matrix = np.concatenate([matrix[:, :1] + a[1:, None], matrix[:, 1:]], axis=1)
    return np.linalg.solve(matrix, b[1:] - a[1:] * b[0])


@intercepts("scipy.signal:unique_roots")
def unique_roots(p: Traced, tol: float = 1e-3, rtype: str = "min") -> Any:
    """The roots that are nearer than ``tol`` to one another count as one. Which these are is looked at, and guarded."""
    reduce: Any = {"max": np.max, "maximum": np.max, "min": np.min, "minimum": np.min, "avg": np.mean, "mean": np.mean}
    if rtype not in reduce:
        raise ValueError("`rtype` must be one of {'max', 'maximum', 'min', 'minimum', 'avg', 'mean'}")
    p = array(p)
    is_near = concrete(np.abs(p[:, None] - p) <= tol, "bool")
    found, counts, left = [], [], list(range(p.shape[0]))
    while left:
        group = [k for k in left if is_near[left[0], k]]
        found.append(reduce[rtype](p[np.array(group)]))
        counts.append(len(group))
        left = [k for k in left if k not in group]
    return np.stack(found) if found else p, np.asarray(counts)
