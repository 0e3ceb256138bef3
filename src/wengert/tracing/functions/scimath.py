"""numpy.lib.scimath, or np.emath, on traced arrays: real where all results are, else complex.

Which of the two depends on values: a compiled function guards what it saw, and is traced again for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib import scimath
from numpy.typing import ArrayLike

from wengert.tracing.arguments import Traced, array, as_dtype, implements

_TO_SINGLE = frozenset("efbBhH")
"""Codes of the dtypes that NumPy makes complex64."""


def _complex_if(x: Traced, leaves_the_reals: Callable[[Any], Any]) -> Any:
    """``x``, as complex numbers if the function that comes leaves the reals for any element."""
    if x.dtype.kind == "c" or not bool(np.any(leaves_the_reals(x))):
        return x
    return as_dtype(x, np.complex64 if x.dtype.char in _TO_SINGLE else np.complex128)


def _negative(x: Traced) -> Any:
    return x < 0


def _beyond_one(x: Traced) -> Any:
    return np.abs(x) > 1


def _of(function: Callable[..., Any], leaves_the_reals: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(_complex_if(array(x), leaves_the_reals))


for _name in ("sqrt", "log", "log10", "log2"):
    implements(getattr(scimath, _name))(_of(getattr(np, _name), _negative))
for _name in ("arccos", "arcsin", "arctanh"):
    implements(getattr(scimath, _name))(_of(getattr(np, _name), _beyond_one))


@implements(scimath.logn)
def logn(n: int, x: ArrayLike) -> Any:
    return np.log(_complex_if(array(x, (n,)), _negative)) / np.log(_complex_if(array(n, (x,)), _negative))


@implements(scimath.power)
def power(x: ArrayLike, p: ArrayLike) -> Any:
    p = array(p, (x,))
    if p.dtype.kind in "iu" and bool(np.any(p < 0)):
        p = as_dtype(p, np.float64)
    return np.power(_complex_if(array(x, (p,)), _negative), p)
