"""np.zeros and friends while a trace is active.

Arrays that the user's code makes while it is traced must be able to hold traced values. So the functions of the
module ``numpy`` that make arrays (intercepted while a trace is open)

* return *constants* (tracers of which nothing is traced yet) where nothing traced goes in,
* stack traced values in nested lists (``np.array([[x, 1.0], [y, z]])``).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from wengert.errors import ShapeError, UnsupportedFunctionError, message
from wengert.expect import stacks
from wengert.ops.elementwise import convert
from wengert.ops.shape import broadcast_to, concatenate, reshape
from wengert.tape import Atom, Aval, Lit
from wengert.tracing import hooks
from wengert.tracing.arguments import (
    Function,
    ShapeLike,
    Traced,
    holds,
    holds_traced,
    holds_tracer,
    holds_unsettled,
    is_traced,
    knows_order,
    refuse,
)
from wengert.tracing.emit import new_constant, record, trace_of, unwrap, wrap
from wengert.tracing.functions.flat import Flat
from wengert.tracing.inplace import op_view
from wengert.tracing.interception.asking import AT_CALLER, AT_CONVERSION
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.layouts import UNKNOWN_ORDER, layout
from wengert.tracing.lifting import capture, capture_constant, check_dtype, lift
from wengert.tracing.operators import check_within, converted, kind_of
from wengert.tracing.stack import current_trace
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import HANDLED_FUNCTIONS, Tracer

NUMBER_KINDS = "fiubc"  # of dtypes that can be traced
_NUMPY: Any = np  # for arguments of ours, of which its stubs want literals


def _creates(name: str, is_conversion: bool = False) -> Callable[[Function], Function]:
    """Make the decorated function ``np.name`` while code is traced, and for traced arrays at any time."""

    def register(traced: Function) -> Function:
        own = getattr(np, name)
        intercepts(own, AT_CONVERSION if is_conversion else AT_CALLER)(traced)
        HANDLED_FUNCTIONS[own] = traced
        return knows_order(traced)

    return register


# ----------------------------------------------------------------------------------------- from NumPy's to traced


def _trace() -> Trace:
    trace = current_trace()
    if trace is None:
        raise UnsupportedFunctionError("an array of traced values was asked for outside of a trace")
    return trace


def constant(out: Any) -> Any:
    """Return what NumPy returned as a constant that traced values can be written into.

    Arrays of text, dates or objects, and subclasses of ndarray, stay what they are.
    """
    if isinstance(out, tuple) and hasattr(out, "_fields"):
        return type(out)(*map(constant, out))
    if type(out) in (tuple, list):
        return type(out)([constant(one) for one in out])
    if type(out) is not np.ndarray or out.dtype.kind not in NUMBER_KINDS:
        return out
    if out.base is not None or not out.flags.writeable:  # a constant is private: nobody else may write it
        out = out.copy(order="K")
    return new_constant(_trace(), out, False)


def of_constants(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what NumPy's function gives of constants, or of what may be looked at as they may; NotImplemented if
    something else is traced, or is to be written."""
    trace = current_trace()
    if trace is None or "out" in kwargs or holds_unsettled(args) or holds_unsettled(list(kwargs.values())):
        return NotImplemented

    def value(x: Any) -> Any:
        if type(x) in (tuple, list):
            return type(x)([value(one) for one in x])
        if is_traced(x):
            return x.look("array")
        return unwrap(x, trace) if isinstance(x, Tracer | np.ndarray) else x

    return constant(function(*value(args), **{k: value(v) for k, v in kwargs.items()}))


hooks.of_constants = of_constants


def plain(x: Any) -> Any:
    """An argument that says a shape, a length or a position: NumPy takes numbers only, so traced ones are guarded."""
    if type(x) is Tracer:
        value = x.constant()
        if value is not None:
            return value[()]
        if x.shape:
            return [plain(one) for one in x]
        return operator.index(x) if x.weak else x.dtype.type(operator.index(x))
    if type(x) in (tuple, list):
        return type(x)([plain(one) for one in x])
    return x


def _shape(shape: Any) -> tuple[int, ...]:
    shape = plain(shape)
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple([operator.index(n) for n in shape])


def _number_dtype(dtype: DTypeLike | None) -> np.dtype[Any]:
    """``dtype``, if its values can be traced."""
    dtype = np.dtype(dtype)
    if dtype.kind not in NUMBER_KINDS:
        raise UnsupportedFunctionError(
            message(
                f"an array of dtype {dtype} cannot hold traced values",
                _trace().locate(),
                tries=["a list, which can hold anything"],
            )
        )
    return dtype


def _check_device(device: str | None) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')


def read_again(trace: Trace, x: object) -> Tracer | None:
    """A captured array that a compiled program reads at every call, as the traced value that it is; else None.

    Its present value may not be kept: that would be stale as soon as the user edits the array.
    """
    if trace.run.known is None:
        return None
    known = trace.run.known.get(id(x))
    if known is None or known[2]:
        unwrap(x, trace)  # notes that a program made of this trace would repeat what is true only now
        return None
    return wrap(trace, capture(trace, x), is_scalar=False)


def _read(trace: Trace, x: object) -> Any:
    """A concrete array, or the traced value that a compiled program reads again."""
    again = read_again(trace, x)
    return x if again is None else again


# --------------------------------------------------------------------------------------- nested lists of values


def _holds_array(x: object) -> bool:
    if isinstance(x, list | tuple):
        return any(map(_holds_array, x))
    return isinstance(x, np.ndarray | np.generic | Tracer)


_PYTHON_DTYPES = {bool: np.dtype(bool), float: np.dtype(float), complex: np.dtype(complex)}


def _blocks(trace: Trace, x: Any, blocks: list[Any], dtypes: set[np.dtype[Any]]) -> tuple[int, ...]:
    """The shape of nested lists. ``blocks`` gets what is in them, in order; ``dtypes`` the dtypes of that."""
    if isinstance(x, list | tuple):
        if not len(x):
            return (0,)
        first = _blocks(trace, x[0], blocks, dtypes)
        for k in range(1, len(x)):
            shape = _blocks(trace, x[k], blocks, dtypes)
            if shape != first:
                raise ShapeError(
                    message(
                        "np.array: the nested sequence is inhomogeneous: "
                        f"element 0 has shape {first}, element {k} has shape {shape}",
                        trace.locate(),
                        tries=["np.concatenate of the parts, for one long array", "a list, as it is"],
                    )
                )
        return (len(x), *first)
    t = type(x)
    if t is int:
        dtypes.add(np.asarray(x).dtype)  # int64, or what NumPy takes for larger ones
    elif t in _PYTHON_DTYPES:
        dtypes.add(_PYTHON_DTYPES[t])
    else:
        if t is not Tracer:
            x = np.asarray(x) if not isinstance(x, np.ndarray | np.generic) else _read(trace, x)
            check_dtype(x)
        dtypes.add(x.dtype)
        blocks.append(x if is_traced(x) else unwrap(x, trace) if type(x) is Tracer else x)
        return x.shape
    blocks.append(x)
    return ()


def _flat_constant(run: list[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Consecutive parts of nested lists that are not traced, as one array of one axis."""
    if all(np.ndim(one) == 0 for one in run):
        return np.array(run).astype(dtype)
    return np.concatenate([np.ravel(one) for one in run]).astype(dtype)


def _constant_atom(trace: Trace, values: np.ndarray[Any, Any]) -> Atom:
    """A constant array of one axis on the tape: as a number where all elements are one, as in a row of zeros."""
    if values.size and values.tobytes() == values[:1].tobytes() * values.size:
        return broadcast_to(Lit(values[0]), shape=values.shape)
    return capture_constant(trace, values)


def stacked(trace: Trace, nested: Sequence[Any], dtype: DTypeLike | None) -> Tracer:
    """``np.array`` of nested lists with traced values in them: one concatenation of all parts, in a new shape.

    The dtype is the one that NumPy promotes to; in ``np.array`` Python's numbers are not weak.
    """
    blocks: list[Any] = []
    dtypes: set[np.dtype[Any]] = set()
    shape = _blocks(trace, nested, blocks, dtypes)
    out_dtype = np.result_type(*dtypes) if dtype is None and dtypes else _number_dtype(dtype)
    for one in blocks if dtype is not None else ():
        check_within(one, out_dtype)
    traced = [one for one in blocks if is_traced(one)]
    if not traced:
        return new_constant(trace, np.reshape(_flat_constant(blocks, out_dtype), shape), False)
    recorder = trace_of(traced)[0] or trace
    parts: list[Any] = []
    run: list[Any] = []
    for one in (*blocks, None):
        if one is not None and not is_traced(one):
            run.append(one)
            continue
        if run:
            parts.append(_flat_constant(run, out_dtype))
            run = []
        if one is not None:
            parts.append(lift(recorder, one))

    def join() -> Atom:
        flat: list[Atom] = []
        for part in parts:
            if isinstance(part, np.ndarray):
                flat.append(_constant_atom(recorder, part))
            else:
                flat.append(reshape(convert(part, dtype=out_dtype), shape=(part.aval.size,)))
        return reshape(concatenate(*[a for a in flat if a.aval.size] or flat[:1], axis=0), shape=shape)

    return Tracer(recorder, recorder.formula(join), Aval(shape, out_dtype))


@_creates("array", is_conversion=True)
def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    **options: Any,
) -> Any:
    """``np.array``. Traced values are kept in C order; ``order`` decides whether a reshape would be a view."""
    trace = current_trace()
    copy = _COPY_MODES.get(copy, copy)
    options = _without_like(options)
    if options and holds_traced(object):
        raise UnsupportedFunctionError(
            message(f"np.array: {next(iter(options))}= is not traced", trace.locate() if trace else None)
        )
    if type(object) is Flat:
        object = object.copy()
    if type(object) is Tracer:
        out = _converted(object, dtype, copy, order)
    elif trace is None or isinstance(object, np.ndarray | np.generic):
        out = None if trace is None or (type(object) is np.ndarray and copy is not True) else read_again(trace, object)
        if out is None:
            out = _NUMPY.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, **options)
            if out is object or trace is None:
                return out
            again = read_again(trace, object)
            if again is None and np.may_share_memory(out, object):  # a view of an array that is not traced
                return out
            out = constant(out) if again is None else again
        if type(out) is Tracer and out.constant() is None:
            out = _converted(out, dtype, None, None)
    elif holds_tracer(object) or (trace.run.known is not None and _holds_array(object)):
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        out = stacked(trace, object, dtype)
        out.reorder_like(out, order)
    else:
        try:
            made = _NUMPY.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, **options)
        except ValueError as error:
            out = _held_traced(object, dtype, copy, order, error)
        else:
            if trace.run.known is not None and not isinstance(
                object, list | tuple | range | bool | int | float | complex
            ):
                trace.unrepeatable = trace.unrepeatable or (
                    f"a {type(object).__name__} at {trace.where()} was made an array while tracing"
                )
            if isinstance(made.base, memoryview):  # of memory that is somebody's, where a write would have to be seen
                made.flags.writeable = False
                return made
            return constant(made)
    if isinstance(out, Tracer) and out.ndim < ndmin:
        out = np.reshape(out, (1,) * (ndmin - out.ndim) + out.shape)  # a view
    return out


hooks.array = array
stacks(array)


def _held_traced(
    holder: Any, dtype: DTypeLike | None, copy: bool | None, order: str | None, error: ValueError
) -> Tracer:
    """The traced array that the ``__array__`` of an object gives, which NumPy has refused with ``error``; asked for as
    NumPy asks, and copied where it does not know ``copy=``."""
    if "__array__" not in str(error) or not hasattr(type(holder), "__array__"):
        raise error
    wanted = () if dtype is None else (np.dtype(dtype),)
    try:
        found = holder.__array__(*wanted) if copy is None else holder.__array__(*wanted, copy=copy)
        copy = None if copy else copy
    except TypeError:
        found = holder.__array__(*wanted)
    if type(found) is not Tracer:
        raise error
    return _converted(found, dtype, copy, order)


_COPY_MODES: dict[Any, bool | None] = {
    np._CopyMode.ALWAYS: True,
    np._CopyMode.IF_NEEDED: None,
    np._CopyMode.NEVER: False,
}
"""Another way to say ``copy=``, which SciPy uses."""


def _without_like(options: dict[str, Any]) -> dict[str, Any]:
    """NumPy's ``like=`` has done its work once we are called; anything else is NumPy's to check."""
    return {k: v for k, v in options.items() if k != "like"}


def _converted(x: Tracer, dtype: DTypeLike | None, copy: bool | None, order: str | None) -> Tracer:
    """A tracer as an array of ``dtype``: itself, where NumPy would not copy."""
    dtype = x.dtype if dtype is None else _number_dtype(dtype)
    has_order = _has_order(x, order)
    must_copy = x.is_scalar or dtype != x.dtype or not has_order
    if must_copy and copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if not must_copy and not copy:
        return x
    if has_order is None and dtype == x.dtype and not copy:  # itself or a copy, nobody can say
        return op_view(x, reshape, {"shape": x.shape}, lambda base, new: new, lambda a: a, is_ambiguous=True)
    out = x.copy(order or "K") if dtype == x.dtype else converted(x, dtype).reorder_like(x, order)
    out.is_scalar = False
    return out


def _is_contiguous(x: Tracer, which: str) -> bool | None:
    at = layout(x)
    return None if at is UNKNOWN_ORDER else bool(getattr(at.flags, which))


def _has_order(x: Tracer, order: str | None) -> bool | None:
    """Whether an array lies in memory as ``order`` asks; None if that is not known."""
    if order == "C":
        return (x._base is None and not x._is_reordered) or _is_contiguous(x, "c_contiguous")
    if order == "F":
        return _is_contiguous(x, "f_contiguous")
    return True


@_creates("asarray", is_conversion=True)
def asarray(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
    like: ArrayLike | None = None,
) -> Any:
    _check_device(device)
    return array(a, dtype, copy=copy, order=order or "K")


@_creates("asanyarray", is_conversion=True)
def asanyarray(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
    like: ArrayLike | None = None,
) -> Any:
    _check_device(device)
    return array(a, dtype, copy=copy, order=order or "K", subok=True)


@_creates("ascontiguousarray", is_conversion=True)
def ascontiguousarray(a: ArrayLike, dtype: DTypeLike | None = None, *, like: ArrayLike | None = None) -> Any:
    return array(a, dtype, copy=None, order="C", ndmin=1)


@_creates("asfortranarray", is_conversion=True)
def asfortranarray(a: ArrayLike, dtype: DTypeLike | None = None, *, like: ArrayLike | None = None) -> Any:
    return array(a, dtype, copy=None, order="F", ndmin=1)


_REQUIREMENTS = {
    **{name: name for name in "CFAWOE"},
    **dict.fromkeys(["C_CONTIGUOUS", "CONTIGUOUS"], "C"),
    **dict.fromkeys(["F_CONTIGUOUS", "FORTRAN"], "F"),
    "ALIGNED": "A",
    "WRITEABLE": "W",
    "OWNDATA": "O",
    "ENSUREARRAY": "E",
}


@_creates("require", is_conversion=True)
def require(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    requirements: str | Sequence[str] | None = None,
    *,
    like: ArrayLike | None = None,
) -> Any:
    """The array has the order that is asked for, and is writeable; who owns an argument's memory is not known."""
    names = {_REQUIREMENTS[name.upper()] for name in requirements or ()}
    if {"C", "F"} <= names:
        raise ValueError('Cannot specify both "C" and "F" order')
    if "O" in names and holds_tracer(a):
        raise refuse("require", "requirements", requirements, "np.array(x), a copy")
    order = "C" if "C" in names else "F" if "F" in names else "A"
    out = array(a, dtype, copy=None, order=order if names else "K", subok="E" not in names)
    return out.copy(order) if "W" in names and not out.flags.writeable else out


@_creates("copy", is_conversion=True)
def copy(a: ArrayLike, order: str = "K", subok: bool = False) -> Any:
    return array(a, copy=True, order=order, subok=subok)


# --------------------------------------------------------------------------------------------- filled and counted


def _made_by(original: Callable[..., Any]) -> Callable[..., Any]:
    """``original``, whose arguments are shapes and numbers only, with a constant as its result."""

    @functools.wraps(original)
    def made(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = {k: plain(v) for k, v in _without_like(kwargs).items()}
        return constant(original(*[x if type(x) is int else plain(x) for x in args], **kwargs))

    return made


for _name in ("zeros", "ones", "eye", "identity", "tri", "indices"):
    _creates(_name)(_made_by(getattr(np, _name)))

# An empty array has zeros in it: a function that reads what it has not written gives the same result at every call,
# and the tape that is recorded does not depend on what lay in memory.
empty = _creates("empty")(_made_by(np.zeros))


@intercepts(np.ndarray, AT_CALLER)
def ndarray(
    shape: ShapeLike,
    dtype: DTypeLike | None = float,
    buffer: Any = None,
    offset: Any = 0,
    strides: Any = None,
    order: str | None = None,
) -> Any:
    """Return an array as ``np.empty`` makes one; one of memory that is given stays NumPy's own."""
    if buffer is not None or strides is not None:
        return _NUMPY.ndarray(plain(shape), dtype, buffer, plain(offset), plain(strides), order)
    return constant(np.zeros(_shape(shape), dtype, "F" if order in ("F", "f") else "C"))


@_creates("full")
def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: str | None = None,
    like: ArrayLike | None = None,
) -> Any:
    _check_device(device)
    value = _value(fill_value)
    if not is_traced(value):
        return constant(_NUMPY.full(_shape(shape), _concrete(value), dtype, order))
    out = _filled(value, _shape(shape), value.dtype if dtype is None else dtype)
    return out.reorder_like(out, order)


def _filled(value: Tracer, shape: tuple[int, ...], dtype: DTypeLike | None) -> Tracer:
    out = record(broadcast_to, (_converted(value, dtype, None, None),), {"shape": shape})
    out.is_scalar = False
    return out


def _prototype(
    a: Tracer, dtype: DTypeLike | None, shape: ShapeLike | None, device: str | None
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and dtype of an array made like ``a``."""
    _check_device(device)
    if not isinstance(a, np.ndarray | np.generic | Tracer):
        a = array(a)
    return (a.shape if shape is None else _shape(shape)), (a.dtype if dtype is None else np.dtype(dtype))


def _like(out: Traced, a: ArrayLike, order: str) -> Any:
    return out.reorder_like(a, order) if type(out) is Tracer and isinstance(a, np.ndarray | Tracer) else out


@_creates("zeros_like")
def zeros_like(
    a: Tracer,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: str | None = None,
) -> Any:
    return _like(constant(np.zeros(*_prototype(a, dtype, shape, device))), a, order)


empty_like = _creates("empty_like")(zeros_like)  # as for empty


@_creates("ones_like")
def ones_like(
    a: Tracer,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: str | None = None,
) -> Any:
    return _like(constant(np.ones(*_prototype(a, dtype, shape, device))), a, order)


@_creates("full_like")
def full_like(
    a: Tracer,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: str | None = None,
) -> Any:
    shape, dtype = _prototype(a, dtype, shape, device)
    return _like(full(shape, fill_value, dtype), a, order)


@_creates("arange")
def arange(*args: Any, **kwargs: Any) -> Any:
    """``np.arange``. Of traced real numbers only the length is looked at, and guarded."""
    if not any(is_traced(x) and x.dtype.kind not in "iub" for x in (*args, *kwargs.values())):
        return _made_by(np.arange)(*args, **kwargs)
    return _real_arange(*args, **_without_like(kwargs))


def _real_arange(
    start_or_stop: Traced | None = None,
    /,
    stop: Any = None,
    step: float | Traced = 1,
    dtype: DTypeLike | None = None,
    *,
    start: float | Traced = 0,
    device: str | None = None,
) -> Any:
    """start + k δ with δ = (start + step) − start, both rounded to the result's dtype first, as NumPy does it."""
    _check_device(device)
    if stop is None:
        stop = start_or_stop
    elif start_or_stop is not None:
        start = start_or_stop
    start, stop, step = _value(start), _value(stop), _value(step)
    ratio = (stop - start) / step
    length = np.ceil(ratio).astype(np.float64)
    if holds(~(np.abs(length) < 2.0**63) | ((ratio == 0) & (start != stop))):  # NumPy's length is 1 if it underflows
        if holds(step == 0) and all(isinstance(kind_of(x), type) for x in (start, stop, step)):
            raise ZeroDivisionError("float division by zero")  # of Python's numbers
        raise ValueError("arange: cannot compute length")
    n = max(int(length), 0)
    if dtype is None:
        dtype = np.result_type(np.intp, *[kind_of(x) for x in (start, stop, step)])
    first, second = (array(x, dtype, copy=None) for x in (start, start + step))
    k = constant(np.arange(n, dtype=dtype))
    return first + k * (second - first)


@_creates("linspace")
def linspace(
    start: float | Traced,
    stop: float | Traced,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Any:
    """start + k (stop − start) / n, with the last one exactly ``stop``."""
    _check_device(device)
    start, stop, num = _value(start), _value(stop), operator.index(num)
    if not is_traced(start) and not is_traced(stop):
        return constant(_NUMPY.linspace(_concrete(start), _concrete(stop), num, endpoint, retstep, dtype, axis))
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    steps = num - 1 if endpoint else num
    computed = np.result_type(*[k(1) if isinstance(k, type) else k for k in (kind_of(start), kind_of(stop))], 1.0)
    start, stop = (array(x, computed, copy=None) for x in (start, stop))
    difference: Any = stop - start
    k = constant(np.arange(num, dtype=difference.dtype).reshape((num,) + (1,) * difference.ndim))
    step = difference / steps if steps > 0 else float("nan")
    out = k * (step if steps > 0 else difference) + start
    if endpoint and num > 1:
        out[-1] = stop
    if axis != 0:
        out = np.moveaxis(out, 0, axis)
    if dtype is not None:
        dtype = np.dtype(dtype)
        out = (np.floor(out) if dtype.kind in "iu" else out).astype(dtype)
    return (out, step) if retstep else out


def _value(x: object) -> Any:
    """An argument that is a number or an array; lists are stacked."""
    if isinstance(x, list | tuple):
        return array(x)
    if isinstance(x, np.ndarray | np.generic):
        return _read(_trace(), x)
    return x


def _concrete(x: object) -> Any:
    return unwrap(x, _trace()) if type(x) is Tracer else x


@_creates("logspace")
def logspace(
    start: float | Traced,
    stop: float | Traced,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    start, stop, base, num = _value(start), _value(stop), _value(base), operator.index(num)
    if not any(map(is_traced, (start, stop, base))):
        concrete = [_concrete(x) for x in (start, stop)]
        return constant(_NUMPY.logspace(*concrete, num, endpoint, _concrete(base), dtype, axis))
    if np.ndim(base):
        ndim = max(np.ndim(start), np.ndim(stop), np.ndim(base))
        start, stop, base = (array(x, copy=None, ndmin=ndim) for x in (start, stop, base))
        base = np.expand_dims(base, axis)
    out = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return out if dtype is None else out.astype(dtype)


@_creates("geomspace")
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """sign(start) 10^linspace(log₁₀|start|, log₁₀|stop|), with both ends exact."""
    start, stop, num = _value(start), _value(stop), operator.index(num)
    if not is_traced(start) and not is_traced(stop):
        return constant(np.geomspace(_concrete(start), _concrete(stop), num, endpoint, dtype, axis))
    if bool(np.any(np.equal(start, 0))) or bool(np.any(np.equal(stop, 0))):
        raise ValueError("Geometric sequence cannot include zero")
    computed = np.result_type(np.float64, *[kind_of(x) for x in (start, stop)])
    start, stop = (array(x, computed, copy=None) for x in (start, stop))
    sign = np.sign(start)
    start, stop = start / sign, stop / sign
    out = logspace(np.log10(start), np.log10(stop), num, endpoint)
    if num > 0:
        out[0] = start
        if num > 1 and endpoint:
            out[-1] = stop
    out = out * sign
    if axis != 0:
        out = np.moveaxis(out, 0, axis)
    return out if dtype is None else out.astype(dtype)


@_creates("fromiter")
def fromiter(iter: Iterable[Any], dtype: DTypeLike | None, count: int = -1, *, like: ArrayLike | None = None) -> Any:
    items = []
    for item in iter:
        if len(items) == count:
            break
        items.append(item)
    if not holds_tracer(items):
        return constant(np.fromiter(items, dtype, count))
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return array(items, dtype)


@_creates("fromfunction")
def fromfunction(
    function: Callable[..., Any],
    shape: ShapeLike,
    *,
    dtype: DTypeLike = float,
    like: ArrayLike | None = None,
    **kwargs: Any,
) -> Any:
    positions = np.indices(_shape(shape), dtype)
    return function(*[constant(axis) for axis in positions], **kwargs)


@intercepts(np.diag, AT_CALLER)  # of a traced array it is a view: see diagonals.py
def diag(v: ArrayLike, k: int = 0) -> Any:
    """``np.diag`` of a vector gives a new array, which users go on to write into."""
    v = _value(v)
    if is_traced(v):
        return np.diag(v, plain(k))
    out = np.diag(_concrete(v), plain(k))
    return constant(out) if np.ndim(_concrete(v)) == 1 else out
