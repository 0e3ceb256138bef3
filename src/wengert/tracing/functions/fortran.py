"""Functions that f2py has made, of SciPy's BLAS and LAPACK, with arrays of constants among their arguments.

Some of them write into an array that they are given (``dscal``, ``daxpy``, ``dswap``), be it read-only or not. What
they have written into NumPy's array that stands for a traced one is written into the traced one too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.tracing.interception.asking import AT_INSTANCE
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.trace import current_trace
from wengert.tracing.tracer import Tracer


@intercepts("scipy.linalg.blas:ddot.__class__", AT_INSTANCE)
@intercepts("scipy.linalg.lapack:dgetrf.__class__", AT_INSTANCE)
def call(f: Any, *args: Any, **kwargs: Any) -> Any:
    traced = {id(x): x for x in (*args, *kwargs.values()) if type(x) is Tracer}
    if not traced or current_trace() is None or not all(x.is_settled() for x in traced.values()):
        return NotImplemented  # the function itself refuses what is not settled
    arrays = {key: np.array(x.__array__()) for key, x in traced.items()}
    before = {key: a.tobytes() for key, a in arrays.items()}
    given = [arrays.get(id(x), x) for x in args]
    result = f(*given, **{name: arrays.get(id(x), x) for name, x in kwargs.items()})
    for key, x in traced.items():
        if arrays[key].tobytes() != before[key]:
            x[...] = arrays[key]

    def as_given(one: Any) -> Any:
        return next((traced[key] for key, a in arrays.items() if one is a), one)

    return tuple(map(as_given, result)) if type(result) is tuple else as_given(result)
