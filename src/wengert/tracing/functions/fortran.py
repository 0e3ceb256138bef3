"""Functions that f2py has made of Fortran's, of SciPy's BLAS and LAPACK and of anybody's modules.

Some of them write into an array that they are given (``dscal``, ``daxpy``, ``dswap``), be it read-only or not. What
they have written into NumPy's array that stands for a traced one is written into the traced one too; an array that is
read after the function has ended may not be written before. Each module has a class of such functions of its own, in
which their call is intercepted, however they are reached.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import WrittenMeanwhileError, message
from wengert.tape import Aval
from wengert.tracing.interception import _opened
from wengert.tracing.interception.asking import AT_INSTANCE
from wengert.tracing.interception.intercept import TABLE, intercepts, when_marked
from wengert.tracing.lifting import doubt_repeats
from wengert.tracing.read_only import is_read_later
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer


@when_marked("__f2py_numpy_version__")
def enroll(module: types.ModuleType) -> None:
    """Intercept the functions of a module that f2py has made."""
    f = next((x for x in vars(module).values() if type(x).__name__ == "fortran"), None)
    name = f"{module.__name__}.fortran"
    if f is not None and name not in TABLE:
        intercepts(type(f), AT_INSTANCE, name=name)(call)


def call(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """One of them, with arrays of constants among its arguments, or arrays that are read later."""
    trace = current_trace()
    if trace is None:
        return NotImplemented
    given: dict[int, Any] = {id(x): x for x in (*args, *kwargs.values())}
    traced = {key: x for key, x in given.items() if type(x) is Tracer}
    read_later: dict[int, Any] = {key: x for key, x in given.items() if isinstance(x, np.ndarray) and is_read_later(x)}
    if not (traced or read_later) or not all(x.is_settled() for x in traced.values()):
        return NotImplemented  # the function itself refuses what is not settled
    arrays = {key: np.array(x.__array__(copy=True)) for key, x in traced.items()}
    arrays |= {key: np.asarray(memoryview(x)) for key, x in read_later.items()}  # the memory itself, to be met once
    before = {key: _opened.digest(a) for key, a in arrays.items()}
    result = f(*[arrays.get(id(x), x) for x in args], **{name: arrays.get(id(x), x) for name, x in kwargs.items()})
    written = [key for key, a in arrays.items() if _opened.digest(a) != before[key]]
    for key in written:
        aval = Aval(arrays[key].shape, arrays[key].dtype)
        if key in read_later:
            what = f"{aval} was written by a function of Fortran's, and is read later by what {trace.name} recorded"
            tries = ["a copy for the function that writes: np.array(x), made inside"]
            raise WrittenMeanwhileError(message(what, trace.locate(), tries=tries))
        doubt_repeats(trace, aval)
        traced[key][...] = arrays[key]

    def as_given(one: object) -> Any:
        return next((given[key] for key, a in arrays.items() if one is a), one)

    return tuple(map(as_given, result)) if type(result) is tuple else as_given(result)
