"""np.zeros and friends while a trace is active.

Arrays that the user's code makes while it is traced must be able to hold traced values. So while a trace is open
somewhere in the process, the functions of the module ``numpy`` that make arrays are replaced by wrappers, which

* return *constants* (tracers of which nothing is traced yet) where nothing traced goes in,
* stack traced values in nested lists (``np.array([[x, 1.0], [y, z]])``),
* do what NumPy does in every thread that is not tracing, and for every caller that is not the user's code
  (see callers.py).

``np.errstate`` and ``np.seterr`` are replaced too, to refuse what compiled code does not do.

Only attributes of the module can be replaced: after ``from numpy import zeros`` a program has NumPy's own, whose
arrays refuse traced values with an error that says so.
"""

from __future__ import annotations

import functools
import operator
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.errors import ShapeError, UnsupportedFunctionError, message
from wengert.ops.elementwise import convert
from wengert.ops.shape import broadcast_to, concatenate, reshape
from wengert.tape import Atom, Aval, Lit
from wengert.tracing.arguments import holds, refuse
from wengert.tracing.callers import is_called_by_name, is_library, is_ours
from wengert.tracing.layouts import KNOWN_ORDER, UNKNOWN_ORDER, layout
from wengert.tracing.operators import check_within, converted, kind_of
from wengert.tracing.trace import Trace, check_dtype, current_trace
from wengert.tracing.tracer import HANDLED_FUNCTIONS, Tracer, new_constant, record, trace_of, unwrap, wrap

NUMBER_KINDS = "fiubc"  # of dtypes that can be traced

# ----------------------------------------------------------------------------------------- from NumPy's to traced


def _trace() -> Trace:
    trace = current_trace()
    if trace is None:
        raise UnsupportedFunctionError("an array of traced values was asked for outside of a trace")
    return trace


def constant(out: Any) -> Any:
    """What NumPy returned, as a constant that traced values can be written into.

    Arrays of text, dates or objects, and subclasses of ndarray, stay what they are.
    """
    if type(out) in (tuple, list):
        return type(out)([constant(one) for one in out])
    if type(out) is not np.ndarray or out.dtype.kind not in NUMBER_KINDS:
        return out
    if out.base is not None or not out.flags.writeable:  # a constant is private: nobody else may write it
        out = out.copy(order="K")
    return new_constant(_trace(), out, False)


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


def _number_dtype(dtype: Any) -> np.dtype[Any]:
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


def _check_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')


def is_traced(x: Any) -> bool:
    """Whether ``x`` is more than a constant."""
    return type(x) is Tracer and x.constant() is None


def read_again(trace: Trace, x: Any) -> Tracer | None:
    """A captured array that a compiled program reads at every call, as the traced value that it is; else None.

    Its present value may not be kept: that would be stale as soon as the user edits the array.
    """
    if trace.known is None:
        return None
    known = trace.known.get(id(x))
    if known is None or known[2]:
        unwrap(x, trace)  # notes that a program made of this trace would repeat what is true only now
        return None
    return wrap(trace, trace.capture(x), is_scalar=False)


def _read(trace: Trace, x: Any) -> Any:
    """A concrete array, or the traced value that a compiled program reads again."""
    again = read_again(trace, x)
    return x if again is None else again


# --------------------------------------------------------------------------------------- nested lists of values


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


def _holds_array(x: Any) -> bool:
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
            x = NUMPY["asarray"](x) if not isinstance(x, np.ndarray | np.generic) else _read(trace, x)
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
    if values.tobytes() == values[:1].tobytes() * values.size:
        return broadcast_to(Lit(values[0]), shape=values.shape)
    return trace.capture_constant(values)


def stacked(trace: Trace, nested: Any, dtype: Any) -> Tracer:
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
            parts.append(recorder.lift(one))

    def join() -> Atom:
        flat: list[Atom] = []
        for part in parts:
            if isinstance(part, np.ndarray):
                flat.append(_constant_atom(recorder, part))
            else:
                flat.append(reshape(convert(part, dtype=out_dtype), shape=(part.aval.size,)))
        return reshape(concatenate(*[a for a in flat if a.aval.size] or flat[:1], axis=0), shape=shape)

    return Tracer(recorder, recorder.formula(join), Aval(shape, out_dtype))


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    **options: Any,
) -> Any:
    """``np.array``. Traced values are kept in C order; ``order`` decides whether a reshape would be a view."""
    trace = current_trace()
    options = _without_like(options)
    if options and holds_traced(object):
        raise UnsupportedFunctionError(
            message(f"np.array: {next(iter(options))}= is not traced", trace.locate() if trace else None)
        )
    if type(object) is Tracer:
        out = _converted(object, dtype, copy, order)
    elif trace is None or isinstance(object, np.ndarray | np.generic):
        out = None if trace is None or (type(object) is np.ndarray and copy is not True) else read_again(trace, object)
        if out is None:
            out = NUMPY["array"](object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, **options)
            if out is object or trace is None:
                return out
            again = read_again(trace, object)
            out = constant(out) if again is None else again
        if type(out) is Tracer and out.constant() is None:
            out = _converted(out, dtype, None, None)
    elif holds_tracer(object) or (trace.known is not None and _holds_array(object)):
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        out = stacked(trace, object, dtype)
        out.reorder_like(out, order)
    else:
        if trace.known is not None and not isinstance(object, list | tuple | range | bool | int | float | complex):
            trace.unrepeatable = trace.unrepeatable or (
                f"a {type(object).__name__} at {trace.where()} was made an array while tracing"
            )
        return constant(NUMPY["array"](object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, **options))
    if isinstance(out, Tracer) and out.ndim < ndmin:
        out = np.reshape(out, (1,) * (ndmin - out.ndim) + out.shape)  # a view
    return out


def _without_like(options: dict[str, Any]) -> dict[str, Any]:
    """NumPy's ``like=`` has done its work once we are called; anything else is NumPy's to check."""
    return {k: v for k, v in options.items() if k != "like"}


def _converted(x: Tracer, dtype: Any, copy: bool | None, order: str | None) -> Tracer:
    """A tracer as an array of ``dtype``: itself, where NumPy would not copy."""
    dtype = x.dtype if dtype is None else _number_dtype(dtype)
    must_copy = x.is_scalar or dtype != x.dtype or not _has_order(x, order)
    if must_copy and copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if not must_copy and not copy:
        return x
    out = x.copy(order or "K") if dtype == x.dtype else converted(x, dtype).reorder_like(x, order)
    out.is_scalar = False
    return out


def _is_contiguous(x: Tracer, which: str) -> bool:
    at = layout(x)
    return at is not UNKNOWN_ORDER and bool(getattr(at.flags, which))


def _has_order(x: Tracer, order: str | None) -> bool:
    if order == "C":
        return (x._base is None and not x._is_reordered) or _is_contiguous(x, "c_contiguous")
    if order == "F":
        return _is_contiguous(x, "f_contiguous")
    return True


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Any:
    _check_device(device)
    return array(a, dtype, copy=copy, order=order or "K")


def asanyarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Any:
    _check_device(device)
    return array(a, dtype, copy=copy, order=order or "K", subok=True)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return array(a, dtype, copy=None, order="C", ndmin=1)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return array(a, dtype, copy=None, order="F", ndmin=1)


def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
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


# An empty array has zeros in it: a function that reads what it has not written gives the same result at every call,
# and the tape that is recorded does not depend on what lay in memory.
empty = _made_by(np.zeros)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    _check_device(device)
    value = _value(fill_value)
    if not is_traced(value):
        return constant(NUMPY["full"](_shape(shape), _concrete(value), dtype, order))
    out = _filled(value, _shape(shape), value.dtype if dtype is None else dtype)
    return out.reorder_like(out, order)


def _filled(value: Tracer, shape: tuple[int, ...], dtype: Any) -> Tracer:
    out = record(broadcast_to, (_converted(value, dtype, None, None),), {"shape": shape})
    out.is_scalar = False
    return out


def _prototype(a: Any, dtype: Any, shape: Any, device: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and dtype of an array made like ``a``."""
    _check_device(device)
    if not isinstance(a, np.ndarray | np.generic | Tracer):
        a = array(a)
    return (a.shape if shape is None else _shape(shape)), (a.dtype if dtype is None else np.dtype(dtype))


def _like(out: Any, a: Any, order: str) -> Any:
    return out.reorder_like(a, order) if type(out) is Tracer and isinstance(a, np.ndarray | Tracer) else out


def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    return _like(constant(NUMPY["zeros"](*_prototype(a, dtype, shape, device))), a, order)


empty_like = zeros_like  # as for empty


def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    return _like(constant(NUMPY["ones"](*_prototype(a, dtype, shape, device))), a, order)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    shape, dtype = _prototype(a, dtype, shape, device)
    return _like(full(shape, fill_value, dtype), a, order)


def arange(*args: Any, **kwargs: Any) -> Any:
    """``np.arange``. Of traced real numbers only the length is looked at, and guarded."""
    if not any(is_traced(x) and x.dtype.kind not in "iub" for x in (*args, *kwargs.values())):
        return _made_by(NUMPY["arange"])(*args, **kwargs)
    return _real_arange(*args, **_without_like(kwargs))


def _real_arange(
    start_or_stop: Any = None,
    /,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    start: Any = 0,
    device: Any = None,
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
    k = constant(NUMPY["arange"](n, dtype=dtype))
    return first + k * (second - first)


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """start + k (stop − start) / n, with the last one exactly ``stop``."""
    _check_device(device)
    start, stop, num = _value(start), _value(stop), operator.index(num)
    if not is_traced(start) and not is_traced(stop):
        return constant(NUMPY["linspace"](_concrete(start), _concrete(stop), num, endpoint, retstep, dtype, axis))
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    steps = num - 1 if endpoint else num
    start, stop = start * 1.0, stop * 1.0
    difference = stop - start
    k = constant(NUMPY["arange"](num, dtype=difference.dtype).reshape((num,) + (1,) * difference.ndim))
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


def _value(x: Any) -> Any:
    """An argument that is a number or an array; lists are stacked."""
    if isinstance(x, list | tuple):
        return array(x)
    if isinstance(x, np.ndarray | np.generic):
        return _read(_trace(), x)
    return x


def _concrete(x: Any) -> Any:
    return unwrap(x, _trace()) if type(x) is Tracer else x


def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    start, stop, base, num = _value(start), _value(stop), _value(base), operator.index(num)
    if not any(map(is_traced, (start, stop, base))):
        concrete = [_concrete(x) for x in (start, stop)]
        return constant(NUMPY["logspace"](*concrete, num, endpoint, _concrete(base), dtype, axis))
    if np.ndim(base):
        ndim = max(np.ndim(start), np.ndim(stop), np.ndim(base))
        start, stop, base = (array(x, copy=None, ndmin=ndim) for x in (start, stop, base))
        base = np.expand_dims(base, axis)
    out = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return out if dtype is None else out.astype(dtype)


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """sign(start) 10^linspace(log₁₀|start|, log₁₀|stop|), with both ends exact."""
    start, stop, num = _value(start), _value(stop), operator.index(num)
    if not is_traced(start) and not is_traced(stop):
        return constant(NUMPY["geomspace"](_concrete(start), _concrete(stop), num, endpoint, dtype, axis))
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


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Any:
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


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    positions = np.indices(_shape(shape), dtype)
    return function(*[constant(axis) for axis in positions], **kwargs)


def diag(v: Any, k: int = 0) -> Any:
    """``np.diag`` of a vector gives a new array, which users go on to write into."""
    v = _value(v)
    if is_traced(v):
        return NUMPY["diag"](v, plain(k))
    out = NUMPY["diag"](_concrete(v), plain(k))
    return constant(out) if np.ndim(_concrete(v)) == 1 else out


# ---------------------------------------------------------------------------------------------- floating-point errors


def _without_raising(name: str) -> Callable[..., Any]:
    """NumPy's switch for floating-point errors, which compiled code does not look at: none can be made to raise."""

    def switch(*args: Any, **kwargs: Any) -> Any:
        for option, value in (*[("all", a) for a in args], *kwargs.items()):
            if value in ("raise", "call"):
                raise refuse(name, option, value, "a test of the value: if not np.all(np.isfinite(y))")
        return NUMPY[name](*args, **kwargs)

    return switch


# ------------------------------------------------------------------------------------------------------- the patch

_CONVERSIONS: dict[str, Callable[..., Any]] = {
    "array": array,
    "asarray": asarray,
    "asanyarray": asanyarray,
    "ascontiguousarray": ascontiguousarray,
    "asfortranarray": asfortranarray,
    "copy": copy,
}
"""Functions that turn a value into an array; of a traced value, and for any caller, into a traced one."""

_CREATIONS: dict[str, Callable[..., Any]] = {
    "zeros": _made_by(np.zeros),
    "ones": _made_by(np.ones),
    "empty": empty,
    "eye": _made_by(np.eye),
    "identity": _made_by(np.identity),
    "tri": _made_by(np.tri),
    "indices": _made_by(np.indices),
    "full": full,
    "zeros_like": zeros_like,
    "ones_like": ones_like,
    "empty_like": empty_like,
    "full_like": full_like,
    "arange": arange,
    "linspace": linspace,
    "logspace": logspace,
    "geomspace": geomspace,
    "fromiter": fromiter,
    "fromfunction": fromfunction,
    "diag": diag,
}
"""Functions that make an array of shapes, numbers and values."""

_SWITCHES: dict[str, Callable[..., Any]] = {name: _without_raising(name) for name in ("errstate", "seterr")}

NUMPY: dict[str, Any] = {name: getattr(np, name) for name in (*_CONVERSIONS, *_CREATIONS, *_SWITCHES)}
"""NumPy's own functions, by name: ``np.zeros`` may be a wrapper at the moment."""


def _creation(original: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    name = original.__name__

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None:
            return original(*args, **kwargs)
        frame = sys._getframe(1)
        if is_library(frame) or not is_called_by_name(frame, name):
            return original(*args, **kwargs)
        return traced(*args, **kwargs)

    return wrapper


def _conversion(original: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    name = original.__name__

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None:
            return original(*args, **kwargs)
        frame = sys._getframe(1)
        if is_library(frame) and (is_ours(frame) or not args or not holds_traced(args[0])):
            return original(*args, **kwargs)
        if not is_called_by_name(frame, name):
            return original(*args, **kwargs)
        return traced(*args, **kwargs)

    return wrapper


def holds_traced(x: Any) -> bool:
    """Whether NumPy's own conversion would fail. A library that asks for it may go on in NumPy, and be traced."""
    if isinstance(x, list | tuple):
        return holds_tracer(x) and any(map(holds_traced, x))
    return is_traced(x)


_WRAPPERS = {
    **{name: _conversion(NUMPY[name], traced) for name, traced in _CONVERSIONS.items()},
    **{name: _creation(NUMPY[name], traced) for name, traced in (*_CREATIONS.items(), *_SWITCHES.items())},
}
_read_all = operator.itemgetter(*NUMPY)
_OWN, _OURS = _read_all(NUMPY), _read_all(_WRAPPERS)


class _Patch:
    """The replacement of NumPy's functions while one trace or more are open in the process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open = 0

    def __enter__(self) -> None:
        with self.lock:
            if self.open == 0:
                _replace(NUMPY, _WRAPPERS)
            self.open += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.open -= 1
            if self.open == 0:
                _replace(_WRAPPERS, NUMPY)


def _replace(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Put ``new`` functions where the ``old`` ones stand in numpy's namespace; 1 µs, for it is done at every trace."""
    namespace = np.__dict__
    if _read_all(namespace) == (_OWN if old is NUMPY else _OURS):
        namespace.update(new)
        return
    for name, function in old.items():  # what somebody else has put there is theirs to keep
        if namespace[name] is function:
            namespace[name] = new[name]


_patch = _Patch()


def patched() -> _Patch:
    """A context in which array creation in ``numpy`` makes traced arrays, for threads that are tracing."""
    return _patch


HANDLED_FUNCTIONS["array"] = array
for _name, _traced in (*_CONVERSIONS.items(), *_CREATIONS.items()):
    if _name != "diag":  # of a traced array it is a view: see diagonals.py
        HANDLED_FUNCTIONS[NUMPY[_name]] = _traced
        HANDLED_FUNCTIONS[_WRAPPERS[_name]] = _traced  # for like=, NumPy names the function that it finds in numpy
        KNOWN_ORDER.add(_traced)
