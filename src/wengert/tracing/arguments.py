"""Arguments of NumPy's functions are made ready for ops: arrays, dtypes, axes, and arrays to write results into.

An array that the user passes is handed on as the object it is: its identity says which capture it is, and a
converted copy would go stale. What we make ourselves (index tables, fill values) is a constant of the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from wengert.errors import ConcretizationError, MutationError, UnsupportedFunctionError, message
from wengert.ops.elementwise import convert
from wengert.tape import Atom, literal
from wengert.tracing import foreign, hooks
from wengert.tracing.emit import new_constant, record, trace_of, unwrap, wrap
from wengert.tracing.layouts import KNOWN_ORDER, UNKNOWN_ORDER, has_c_order
from wengert.tracing.lifting import lift
from wengert.tracing.looking import has_values
from wengert.tracing.stack import current_trace
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import HANDLED_FUNCTIONS, TAKES_ARRAYS, Tracer

Function = TypeVar("Function", bound=Callable[..., Any])

# What our functions take in the place of NumPy's. Its ``ArrayLike`` is whatever ``array`` makes a traced array of; a
# Tracer is one too, for it has ``__array__``.

Traced = Tracer | np.ndarray[Any, Any]
"""A traced array inside our own code. By its stubs NumPy returns an ndarray, and of a Tracer it returns a Tracer."""

Axis = int | tuple[int, ...] | list[int] | None
"""``axis=``: one, several, or None for all of them."""

ShapeLike = int | tuple[int, ...] | list[int]
"""``shape=`` and ``size=``: a length, or one for each axis; a traced integer is looked at."""

Out = Traced | tuple[Traced, ...] | None
"""``out=``: the array to write into, or a tuple of that one."""

Mask = Traced | bool
"""``where=``: which elements take part."""

Number = complex | np.number[Any] | np.bool
"""A number, as NumPy's stubs have it. A Tracer without axes may come in its place."""

Order = Literal["K", "A", "C", "F"] | None
"""``order=``: how a new array lies in memory."""

Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
"""``casting=``: which conversions of dtypes are allowed."""

MISSING: Any = np._NoValue  # NumPy's own word for an argument that was not given; it stands for one of any type
INTP = np.dtype(np.intp)
BOOL = np.dtype(bool)


def knows_order(f: Function) -> Function:
    """Decorate what says itself how its results lie in memory, or makes them in C order of operands in any."""
    KNOWN_ORDER.add(f)
    return f


def implements(*functions: Any, takes_arrays: bool = False) -> Callable[[Function], Function]:
    """Make the decorated function what these functions of NumPy do to traced arrays.

    ``takes_arrays`` puts them into TAKES_ARRAYS.
    """

    def register(f: Function) -> Function:
        for function in functions:
            HANDLED_FUNCTIONS[function] = f
            if takes_arrays:
                TAKES_ARRAYS.add(function)
        return f

    return register


def unsupported(what: str, *tries: str) -> UnsupportedFunctionError:
    trace = current_trace()
    return UnsupportedFunctionError(message(what, trace.locate() if trace else None, tries=tries))


def refuse(function: str, option: str, value: Any, *tries: str) -> UnsupportedFunctionError:
    """The error for an option that exists in NumPy and is not traced."""
    return unsupported(f"np.{function}: {option}={value!r} is not traced", *tries)


# ------------------------------------------------------------------------------------------------------ arrays


def trace_near(xs: Sequence[Any]) -> Trace:
    """The trace that a step on ``xs`` will be recorded on."""
    trace, all_constant = trace_of(xs)
    if trace is None or all_constant:
        trace = current_trace() or trace
    if trace is None:
        raise unsupported("a traced operation was applied to concrete arrays outside of a trace")
    return trace


def is_number(x: Any) -> bool:
    """Whether ``x`` is a Python number, and not one of NumPy's, some of which are Python's, too."""
    return isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic)


def holds_only_numbers(x: Any) -> bool:
    """Whether ``x`` is made of Python numbers alone, so that it cannot change between two calls."""
    return all(map(holds_only_numbers, x)) if type(x) is list or type(x) is tuple else is_number(x)


def is_traced(x: Any) -> bool:
    """Whether ``x`` is more than a constant."""
    return type(x) is Tracer and x.constant() is None


def holds_tracer(x: Any) -> bool:
    """Whether a value, or something in its nested lists, is a tracer. At C speed where all are plain numbers."""
    if type(x) is Tracer:
        return True
    if not isinstance(x, list | tuple):
        return False
    types = set(map(type, x))
    if Tracer in types:
        return True
    return any(issubclass(t, list | tuple) for t in types) and any(map(holds_tracer, x))


def holds_traced(x: Any) -> bool:
    """Whether NumPy's own conversion would fail. A library that asks for it may go on in NumPy, and be traced."""
    if isinstance(x, list | tuple):
        return holds_tracer(x) and any(map(holds_traced, x))
    return is_traced(x)


def holds_unsettled(x: Any) -> bool:
    """Whether a value, or something in its nested lists, cannot be looked at as it is: see Tracer.is_settled."""
    if isinstance(x, list | tuple):
        return holds_tracer(x) and any(map(holds_unsettled, x))
    return type(x) is Tracer and not x.is_settled()


def constant(trace: Trace, value: Any, dtype: Any = None) -> Tracer:
    """A constant of our own making."""
    return new_constant(trace, np.asarray(value, dtype), True)


def array(x: Any, near: Sequence[Any] = ()) -> Tracer:
    """``x`` as a traced array: an ndarray is captured, a list is stacked; ``near`` says on which trace."""
    if type(x) is Tracer:
        return x
    trace = trace_near(near)
    if isinstance(x, np.ndarray | np.generic):
        return wrap(trace, lift(trace, x), isinstance(x, np.generic))
    if holds_only_numbers(x):
        return constant(trace, x)
    if isinstance(x, list | tuple):
        stacked = hooks.array(x)
        return stacked if type(stacked) is Tracer else array(stacked, near)
    if type(x) is hooks.Flat:
        return x.copy()
    if isinstance(x, range):
        return array(np.asarray(x), near)
    if isinstance(x, np.poly1d):
        return array(x.coeffs, near)
    if foreign.is_foreign(x):
        return array(foreign.as_ndarray(x), near)
    raise unsupported(f"{type(x).__name__} is neither an array nor a number")


def arrays(*xs: Any) -> list[Tracer]:
    """Operands that go into one step, as traced arrays."""
    return [x if type(x) is Tracer else array(x, xs) for x in xs]


def strong_arrays(*xs: Any) -> list[Tracer]:
    """Return traced arrays, none of them weak, for functions that make arrays of Python's numbers."""
    return [x if x.weak is None else x.copy() for x in arrays(*xs)]


def as_written(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return what is written into an array of that dtype: Python's integers must fit."""
    if isinstance(value, np.ndarray | np.generic) or (type(value) is Tracer and value.weak is None):
        return array(value)
    return hooks.array(value, dtype)


def iota(size: int, near: Sequence[Any], dtype: np.dtype[Any] = INTP) -> Tracer:
    return constant(trace_near(near), np.arange(size, dtype=dtype))


def formula(f: Callable[..., Atom], reference: Callable[..., Any], *xs: Any) -> Any:
    """``f``, written in ops, on the atoms of ``xs``; ``reference``, its NumPy meaning, if all are constants."""
    trace, all_constant = trace_of(xs)
    if trace is None or all_constant:
        trace = trace_near(xs)
        values = [np.asarray(unwrap(x, trace)) for x in xs]
        result = new_constant(trace, np.array(reference(*values), order="C"), True)
    else:
        result = wrap(trace, trace.formula(f, *[lift(trace, x) for x in xs]))
    if result.ndim > 1 and not all(map(has_c_order, xs)):
        result.reorder(UNKNOWN_ORDER)
    return result


def detached(x: Tracer) -> Tracer:
    """``x``, of one axis, as an array of its own on its own trace. A copy of the user's belongs to the function that
    makes it, which may write what it alone knows; an array of an enclosing function then could not take it any more."""
    return x.copy() if x.constant() is not None else x.frozen()


def not_scalar(x: Any) -> Any:
    """A fresh result that NumPy gives as an array even if its shape is ()."""
    if type(x) is Tracer:
        x.is_scalar = False
    return x


def scalar(x: Any) -> Any:
    """``x``, as a scalar if its shape is ()."""
    return x if x.ndim else x[()]


def concrete(x: Any, kind: str) -> Any:
    """The value of an argument that decides shapes; a look at it, guarded, where it is traced."""
    if type(x) is Tracer:
        return np.asarray(x.look(kind))
    if isinstance(x, list | tuple) and not holds_only_numbers(x):
        return np.asarray([concrete(e, kind) for e in x])
    if isinstance(x, np.ndarray | np.generic):
        captured = array(x)
        if captured._trace.concrete:  # a guard, for an array may be edited between two calls
            return np.asarray(captured.look(kind))
    return np.asarray(x)


def holds(condition: Any) -> bool | None:
    """Whether ``condition`` holds: a look, guarded. None where values cannot be looked at, as in a batch."""
    if type(condition) is Tracer and condition.constant() is None and not has_values(condition._trace):
        return None
    try:
        return bool(condition)
    except ConcretizationError:
        return None


# ------------------------------------------------------------------------------------------------------ dtypes


def kind(x: Any) -> Any:
    """Return what ``x`` brings to ``np.result_type``: a dtype, or a Python number, which is weak."""
    if type(x) is Tracer:
        return x.aval.dtype if x.weak is None else x.weak(0)
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype
    if is_number(x):
        return x
    return array(x).dtype


def common_dtype(*xs: Any) -> np.dtype[Any]:
    return np.result_type(*[kind(x) for x in xs])


def as_dtype(x: Any, dtype: Any, near: Sequence[Any] = ()) -> Any:
    """``x`` converted to ``dtype``, in this machine's byte order: the same object if it has that dtype already."""
    dtype = np.dtype(dtype).newbyteorder("=")
    if type(x) is not Tracer and is_number(x):
        trace, all_constant = trace_of(near)
        if trace is None or all_constant:
            return constant(trace_near(near), x, dtype)
        return wrap(trace, literal(x, dtype))
    if not isinstance(x, Tracer | np.ndarray | np.generic):
        x = array(x, near)
    if x.dtype == dtype:
        return x
    if type(x) is not Tracer:
        x = array(x, near)
    return record(convert, (x,), {"dtype": dtype})


def promote(*xs: Any, dtype: Any = None) -> list[Any]:
    """Operands in the dtype that NumPy would compute in, Python numbers taking that of the arrays."""
    for x in xs:
        if type(x) is not Tracer or x.weak is not None:
            break
    else:
        if dtype is None:
            first = xs[0].aval.dtype
            if all(x.aval.dtype == first for x in xs):
                return list(xs)
    target = common_dtype(*xs) if dtype is None else np.dtype(dtype)
    return [as_dtype(x, target, xs) for x in xs]


def inexact(x: Tracer) -> Tracer:
    """``x`` as floating point: integers and booleans become float64."""
    return x if x.aval.dtype.kind in "fc" else as_dtype(x, np.float64)


# -------------------------------------------------------------------------------------------------------- axes


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """``axis=`` of a reduction, sorted and non-negative; None is all of them."""
    if axis is None:
        return tuple(range(ndim))
    if ndim == 0 and not isinstance(axis, tuple) and int(axis) in (0, -1):
        return ()  # NumPy's ufuncs allow it
    return tuple(sorted(normalize_axis_tuple(axis, ndim, "axis")))


def axis_of(axis: Any, ndim: int) -> int:
    return normalize_axis_index(int(axis), ndim)


def along(axis: int, key: Any) -> tuple[Any, ...]:
    """The key that indexes ``axis`` alone."""
    return (*[slice(None)] * axis, key)


# ---------------------------------------------------------------------------------------------------- ``out=``


def check_target(out: Any, *near: Any) -> None:
    """Raise if ``out``, which is to be written, is a scalar, or was made outside of the traced function."""
    if type(out) is not Tracer:
        raise MutationError(
            message(
                f"a {type(out).__name__} made outside of the traced function would be written",
                trace_near(near).locate(),
                tries=["an array made inside, by np.empty or np.zeros"],
            )
        )
    if out.is_scalar:
        raise TypeError(f"a {out.dtype.name} scalar cannot be written; only arrays can")


def into(out: Any, value: Any, casting: Any = "same_kind") -> Any:
    """Write ``value`` into ``out=`` and return it; ``value`` itself where no ``out`` was given."""
    if out is None or out is MISSING:
        return value
    if isinstance(out, tuple):
        (out,) = out
    check_target(out, value)
    if out.shape != value.shape:
        raise ValueError(f"output parameter has the wrong shape: {out.shape}, the result has {value.shape}")
    if not np.can_cast(value.dtype, out.dtype, casting):
        raise TypeError(f"cannot cast the result from {value.dtype} to {out.dtype}, the dtype of out=")
    out.assign(value)
    return out
