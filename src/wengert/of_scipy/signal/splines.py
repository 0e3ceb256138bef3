"""Splines on regular grids: the starting values of their filters, sums that SciPy's code of C takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.signal import _spline

from wengert.of_scipy.signal.arrays import source
from wengert.tracing.arguments import Traced, array, concrete, inexact, is_traced, unsupported
from wengert.tracing.interception.intercept import intercepts

SHORT = 512
"""Samples up to which the sums are looked for first: they end where their terms are as small as ``precision``."""


def _weights(routine: Callable[..., Any], x: Traced, *args: Any, from_end: bool = False) -> Any:
    """The matrix of a sum that is linear in a signal like ``x``, a constant: what SciPy makes of the unit vectors."""
    n = x.shape[-1]
    for length in dict.fromkeys([min(n, SHORT), n]):
        try:
            found = routine(np.eye(length, dtype=x.dtype), *args)
        except ValueError:
            if length == n:
                raise
            continue
        pads = [(n - length, 0) if from_end else (0, n - length), (0, 0)]
        return source(np.pad(np.asarray(found), pads), x)
    raise AssertionError


def _constants(name: str, *args: Any) -> list[Any]:
    if any(map(is_traced, args)):
        raise unsupported(f"{name}: a pole that is traced", "a plain number")
    return [np.asarray(concrete(a, "float")).item() for a in args]


@intercepts("scipy.signal._spline:symiirorder1_ic")
def symiirorder1_ic(signal: Traced, z1: float | Traced, precision: float = -1.0) -> Any:
    x = inexact(array(signal))
    constants = _constants("scipy.signal.symiirorder1", z1, precision)
    return x @ _weights(_spline.symiirorder1_ic, x, *constants)


@intercepts("scipy.signal._spline:symiirorder2_ic_fwd")
def symiirorder2_ic_fwd(signal: Traced, r: float | Traced, omega: float | Traced, precision: float = -1.0) -> Any:
    x = inexact(array(signal))
    constants = _constants("scipy.signal.symiirorder2", r, omega, precision)
    return x @ _weights(_spline.symiirorder2_ic_fwd, x, *constants)


@intercepts("scipy.signal._spline:symiirorder2_ic_bwd")
def symiirorder2_ic_bwd(signal: Traced, r: float | Traced, omega: float | Traced, precision: float = -1.0) -> Any:
    x = inexact(array(signal))
    constants = _constants("scipy.signal.symiirorder2", r, omega, precision)
    return x @ _weights(_spline.symiirorder2_ic_bwd, x, *constants, from_end=True)
