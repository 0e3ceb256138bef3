"""NumPy's operators and ufuncs convert their operands: to the dtypes of the loop that NumPy would run, Python's
numbers, which are weak (NEP 50) but must fit, and the short ways for what is written most often."""

from __future__ import annotations

import array
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.errors import DTypeError, RangeError, UnsupportedFunctionError, in_short, message
from wengert.ops.elementwise import complex_sign, convert
from wengert.ops.op import UFUNCS, Op
from wengert.tape import Atom, Aval
from wengert.tracing import foreign, hooks, layouts
from wengert.tracing.emit import new_constant, record, trace_of, unwrap
from wengert.tracing.lifting import capture, check_dtype, has_own_arithmetic, lift
from wengert.tracing.stack import current_trace
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer

PYTHON_NUMBERS = (bool, int, float, complex)
_FLOAT64 = np.dtype(np.float64)
_INT64 = np.dtype(np.int64)
COMPARISONS = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})

COMPOSED_UFUNCS: dict[Any, Callable[..., Any]] = {}
"""The short way for ufuncs that are compositions of ops and have an operator: matmul of two arrays."""

DIRECT_STEPS: dict[tuple[Any, Aval, Aval], tuple[Op, dict[str, Any]]] = {}
"""The one step that an operator on two traced arrays of these types was found to be: it is so again."""

_loops: dict[Any, Any] = {}  # (ufunc, kinds) -> dtypes of the loop, all weak; (ufunc, aval) -> no conversion


def loop_dtypes(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the operands of the loop that NumPy would run; ``kinds`` are dtypes or Python's number types."""
    asked = tuple([np.dtype(bool) if k is bool else k for k in kinds])
    if all(k in (int, float, complex) for k in asked):  # only Python numbers: they are int64, float64
        asked = tuple([np.dtype(k) for k in asked])
    try:
        return ufunc.resolve_dtypes((*asked, *[None] * ufunc.nout))[: ufunc.nin]
    except TypeError as error:
        names = ", ".join(k.name if isinstance(k, np.dtype) else k.__name__ for k in kinds)
        trace = current_trace()
        raise DTypeError(
            message(f"{ufunc.__name__} is not defined for {names}", trace.locate() if trace else None)
        ) from error


def kind_of(x: Any) -> Any:
    """Return what decides the dtype of a result: a dtype, or a Python number's type, which is weak."""
    t = type(x)
    if t is Tracer:
        return x.weak or x.aval.dtype
    if t is float or t is int or t is bool or t is complex:
        return t
    if isinstance(x, np.ndarray | np.generic):
        check_dtype(x)
        return x.dtype
    for number in PYTHON_NUMBERS:
        if isinstance(x, number):
            return number
    raise UnsupportedFunctionError(message(f"{t.__name__} is neither an array nor a number", _current_source()))


def _current_source() -> Any:
    trace = current_trace()
    return trace.locate() if trace is not None else None


def apply_ufunc(ufunc: Any, op: Op, inputs: Sequence[Any], operator: bool = False) -> Any:
    """A ufunc on at least one tracer: NumPy's own loop decides the dtypes, conversions are steps of the tape."""
    if len(inputs) == 1:  # nearly half of all steps: one traced operand, the short way
        x = inputs[0]
        if x.is_bare():
            known = _loops.get((ufunc, x.aval))
            if known is None:
                dtype = x.aval.dtype
                is_formula = dtype.kind == "c" and ufunc in COMPLEX_FORMULAS
                known = _loops[ufunc, x.aval] = loop_dtypes(ufunc, (dtype,))[0] == dtype and not is_formula
            if known:
                (out,) = x._trace.builder.emit(op, (x._atom,), {})
                return Tracer(x._trace, out, out.aval, out.aval.shape == ())
    trace, all_constant = trace_of(inputs)
    assert trace is not None  # one of them is traced
    if all_constant:
        return constant_ufunc(ufunc, trace, inputs)
    try:
        kinds = tuple([kind_of(x) for x in inputs])
    except UnsupportedFunctionError:
        inputs = [as_operand(x) for x in inputs]
        kinds = tuple([kind_of(x) for x in inputs])
    known = _loops.get((ufunc, kinds))
    if known is None:
        if len(_loops) + len(DIRECT_STEPS) > 100_000:  # bounded: every type ever seen has entries
            _loops.clear()
            DIRECT_STEPS.clear()
        known = _loops[ufunc, kinds] = (loop_dtypes(ufunc, kinds), all(isinstance(k, type) for k in kinds))
    dtypes, all_weak = known
    if len(inputs) == 2 and not all_weak:
        a, b = inputs
        if type(a) is Tracer and type(b) is Tracer and not (a.weak or b.weak):
            if (a.aval.dtype, b.aval.dtype) == dtypes:  # in C order or not: is_bare asks again
                DIRECT_STEPS[ufunc, a.aval, b.aval] = (op, {})
    atoms: list[Atom] = []
    for k, (x, dtype) in enumerate(zip(inputs, dtypes, strict=True)):
        if kinds[k] is int and dtype.kind in "iu":
            if ufunc in COMPARISONS and not is_within(x, dtype):
                return _compared_beyond(ufunc, trace, inputs, k)
            check_within(x, dtype)
        atom = lift(trace, x, dtype)
        if atom.aval.dtype != dtype:
            atom = trace.builder.emit(convert, (atom,), {"dtype": dtype})[0]
        atoms.append(atom)
    if dtypes[0].kind == "c" and ufunc in COMPLEX_FORMULAS:
        out = trace.formula(COMPLEX_FORMULAS[ufunc], *atoms)
    else:
        (out,) = trace.builder.emit(op, tuple(atoms), {})
    result = Tracer(trace, out, out.aval, out.aval.shape == ())
    if len(out.aval.shape) > 1 and not all(map(layouts.has_c_order, inputs)):
        result.reorder(layouts.UNKNOWN_ORDER)
    if operator and all_weak:  # Python's own arithmetic on numbers stays a Python number
        result.weak = {"f": float, "i": int, "b": None, "c": complex}.get(out.aval.dtype.kind)
    return result


hooks.apply_ufunc = apply_ufunc

COMPLEX_FORMULAS: dict[Any, Any] = {np.sign: complex_sign}
"""Ufuncs that are of complex numbers another function, with another derivative."""


_PYTHON: dict[str, tuple[type | None, type]] = {  # kind -> weak type, dtype
    "f": (float, np.float64),
    "i": (int, np.int64),
    "u": (int, np.int64),
    "c": (complex, np.complex128),
    "b": (None, np.bool_),
}


def python_number(x: Tracer) -> Any:
    """A traced value of shape () as the Python number that NumPy would make of it: of full precision, and weak."""
    constant = x.constant()
    if constant is not None:
        return constant.item()
    weak, dtype = _PYTHON[x.aval.dtype.kind]
    out = x.frozen() if x.aval.dtype == dtype else record(convert, (x,), {"dtype": np.dtype(dtype)})
    out.is_scalar, out.weak = True, weak
    return out


hooks.python_number = python_number


def is_within(x: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a Python number, traced or not, can be one of ``dtype``. Of a traced integer it is a guard."""
    is_traced_int = type(x) is Tracer and x.weak is int
    if dtype.kind not in "iu" or not (type(x) is int or (is_traced_int and dtype != _INT64)):
        return True
    bounds = np.iinfo(dtype)
    if is_traced_int and dtype == np.uint64:
        return bool(x >= 0)  # it has 64 bits itself
    return bool((x >= bounds.min) & (x <= bounds.max))


def check_within(x: Any, dtype: np.dtype[Any]) -> None:
    """Raise RangeError, an OverflowError as NumPy's, for a Python integer that ``dtype`` cannot hold."""
    if not is_within(x, dtype):
        n = in_short(x) if type(x) is int else "a traced Python integer"
        tries = ["x.astype(np.int64)" if is_within(x, _INT64) else "a float: 2.0**63 in place of 2**63"]
        raise RangeError(message(f"{n} is out of bounds for {dtype.name}", _current_source(), tries=tries))


def converted(x: Tracer, dtype: np.dtype[Any]) -> Any:
    """``x`` in another dtype, as where NumPy puts it into an array: Python's integers must fit."""
    check_within(x, dtype)
    return record(convert, (x,), {"dtype": dtype})


def _compared_beyond(ufunc: Any, trace: Trace, inputs: Sequence[Any], k: int) -> Tracer:
    """A comparison with an integer, operand ``k``, that the other operand's dtype does not have: the same for all."""
    sides, other = [0, 0], inputs[1 - k]
    sides[k] = -1 if bool(inputs[k] < 0) else 1
    return new_constant(trace, np.full(np.shape(other), ufunc(*sides)), True).reorder_like(other, "K")


def constant_ufunc(ufunc: Any, trace: Trace, inputs: Sequence[Any]) -> Any:
    values = [unwrap(x, trace) for x in inputs]
    out = ufunc(*values)
    if isinstance(out, np.ndarray) and has_own_arithmetic(type(out)):
        return out  # with units, say: an array of its own kind, into which nothing traced has gone
    if isinstance(out, tuple):
        return tuple(new_constant(trace, v, True) for v in out)
    return new_constant(trace, out, True)


def as_operand(x: Any) -> Any:
    """Lists and tuples are arrays to a ufunc; with traced values in them they are stacked. So are other libraries'."""
    if isinstance(x, list | tuple):
        return hooks.array(x)
    return foreign.as_ndarray(x) if foreign.is_foreign(x) else x


def _is_foreign_operand(x: Any) -> bool:
    """Whether it is another library's array, and no container that has its turn."""
    return foreign.is_foreign(x) and not hasattr(type(x), "__array_ufunc__")


def _is_left_to_python(ufunc: Any, x: Any, other: Any) -> bool:
    """Whether Python, rather than NumPy, says what a traced value and a sequence give: it repeats a list as often as an
    integer says, which it asks for by ``__index__``; and numbers of its own have no other operator with lists."""
    if not x.is_scalar or not isinstance(other, _SEQUENCES):
        return False
    if type(other) is array.array:  # which a float multiplies, as other libraries' arrays
        return ufunc is np.multiply and x.aval.dtype.kind in "biu"
    return ufunc is np.multiply or x.weak is not None


_SEQUENCES = (list, tuple, array.array)


def binary(ufunc: Any, a: Any, b: Any) -> Any:
    """An operator between two values, one of them traced."""
    if type(a) is Tracer and type(b) is Tracer and a._trace is b._trace:
        known = DIRECT_STEPS.get((ufunc, a.aval, b.aval))
        if known is not None and a.is_bare() and b.is_bare():
            op, params = known
            (out,) = a._trace.builder.emit(op, (a._atom, b._atom), params)  # type: ignore[arg-type]  # plain: it has one
            return Tracer(a._trace, out, out.aval, out.aval.shape == ())
    elif type(a) is Tracer and type(b) is np.ndarray and a.is_bare() and b.flags.c_contiguous:
        known = DIRECT_STEPS.get((ufunc, a.aval, Aval(b.shape, b.dtype)))
        if known is not None:
            op, params = known
            (out,) = a._trace.builder.emit(op, (a._atom, capture(a._trace, b)), params)  # type: ignore[arg-type]  # plain
            return Tracer(a._trace, out, out.aval, out.aval.shape == ())
    op = UFUNCS.get(ufunc)
    if type(a) not in _OPERANDS or type(b) not in _OPERANDS:
        x, other = (a, b) if type(a) is Tracer else (b, a)
        if getattr(type(other), "__array_ufunc__", _numeric) is None:
            return NotImplemented
        if _is_left_to_python(ufunc, x, other):
            is_truth = ufunc is np.multiply and x.dtype.kind == "b"  # of Python's integers, perhaps
            return other * int(x) if is_truth else NotImplemented
        if isinstance(other, list | tuple) or _is_foreign_operand(other):
            a, b = as_operand(a), as_operand(b)
        elif not isinstance(other, np.ndarray | np.generic | bool | int | float | complex):
            return NotImplemented
    if op is not None:
        return apply_ufunc(ufunc, op, (a, b), operator=True)
    composed = COMPOSED_UFUNCS.get(ufunc)
    if composed is not None and type(a) in _ARRAYS and type(b) in _ARRAYS:
        return composed(a, b)
    return hooks.call_ufunc(ufunc, "__call__", (a, b), {})


hooks.binary = binary


_numeric = object()
_ARRAYS = frozenset({Tracer, np.ndarray})
_OPERANDS = frozenset({Tracer, np.ndarray, float, int})


def compare(ufunc: Any, a: Tracer, b: Any) -> Any:
    if b is None or isinstance(b, str):
        return ufunc is np.not_equal  # as NumPy: never equal, element by element
    if not a._trace.is_open and a._hashed is not None:  # a key that a dict has kept: as what it was put there
        return ufunc(a._hashed, b)
    if type(b) is Tracer and not b._trace.is_open and b._hashed is not None:
        b = b._hashed
    return binary(ufunc, a, b)


hooks.compare = compare


def unary(ufunc: Any, x: Tracer) -> Any:
    return apply_ufunc(ufunc, UFUNCS[ufunc], (x,), operator=True)


hooks.unary = unary


_OPERATORS = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.power: operator.pow,
}


def in_place(ufunc: Any, x: Tracer, other: Any) -> Any:
    """``x += other``: a new value for an array, a new object for a scalar, as in NumPy."""
    apply = _OPERATORS.get(ufunc) if type(other) in _OPERANDS else None
    result = binary(ufunc, x, other) if apply is None else apply(x, other)
    if x.is_scalar or result is NotImplemented:
        return result
    if not np.can_cast(result.aval.dtype, x.aval.dtype, "same_kind"):
        raise TypeError(
            message(
                f"{ufunc.__name__} in place cannot cast the result from {result.aval.dtype} to {x.aval.dtype}",
                x._trace.locate(),
                tries=["x = x + y instead of x += y", "x.astype(float) first"],
            )
        )
    if result.aval.shape != x.aval.shape:
        raise ValueError(
            message(
                f"{ufunc.__name__} in place: {result.aval} does not fit into {x.aval}",
                x._trace.locate(),
                tries=["x = x + y"],
            )
        )
    x.assign(result)
    return x


hooks.in_place = in_place
