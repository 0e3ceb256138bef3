"""Functions that Numba has compiled (``@njit``): of traced values the Python code runs that they were made of.

Their machine code takes arrays alone. Of traced arguments the function that Numba keeps, ``py_func``, is recorded in
its place; functions of Numba's that it calls come here again. Globals are constants to Numba, and so they are here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from wengert.errors import UnsupportedFunctionError, message
from wengert.tracing.arguments import holds_traced
from wengert.tracing.interception.asking import AT_INSTANCE
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.stack import current_trace
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer


class _Compiled(Protocol):
    """A function that Numba has compiled."""

    __name__: str
    py_func: Callable[..., Any]
    signatures: Sequence[Sequence[Any]]
    _can_compile: bool


@intercepts("numba.core.registry:CPUDispatcher", AT_INSTANCE)
def compiled(f: _Compiled, *args: Any, **kwargs: Any) -> Any:
    """The Python code of a function that Numba has compiled, where an argument is traced."""
    trace = current_trace()
    if trace is None or not holds_traced([*args, *kwargs.values()]):
        return NotImplemented
    if not f._can_compile:
        _check_signatures(trace, f, args)
    return f.py_func(*args, **kwargs)


def _check_signatures(trace: Trace, f: _Compiled, args: Sequence[Any]) -> None:
    """Raise if Numba, which was given the signatures of ``f``, would convert a traced argument, as Python does not."""
    for signature in f.signatures:
        dtypes = [np.dtype(str(getattr(t, "dtype", t))) for t in signature]
        if len(dtypes) == len(args) and all(
            x.aval.dtype == dtype for x, dtype in zip(args, dtypes, strict=True) if type(x) is Tracer
        ):
            return
    given = ", ".join(str(x.aval) if type(x) is Tracer else type(x).__name__ for x in args)
    raise UnsupportedFunctionError(
        message(
            f"{f.__name__} was compiled by Numba for {' or '.join(map(str, f.signatures))}, to which it would convert "
            f"({given}); its Python code does not",
            trace.locate(),
            tries=["arguments of these dtypes", "@numba.njit without signatures"],
        )
    )
