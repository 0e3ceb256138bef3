"""A step is recorded: arrays of the user's become atoms, the op is put on the tape, and its results are traced arrays.

Whoever traces something calls :func:`record`. Steps of which every operand is constant are computed with NumPy at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.errors import UnsupportedFunctionError
from wengert.ops.op import Op
from wengert.tape import OPERATORS, Atom, Aval, Tape, splice
from wengert.tracing import hooks, layouts
from wengert.tracing.lifting import check_dtype, lift
from wengert.tracing.stack import current_trace, recorder
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer


def new_constant(trace: Trace, value: Any, is_scalar: bool) -> Tracer:
    """Return a constant of the innermost trace: an array made while tracing, which may be written."""
    trace = current_trace() or trace  # where it is made it may be written, whatever it is made of
    array = np.asarray(value)
    if array.dtype == object:  # an integer of more than 64 bits, among others
        check_dtype(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    out = Tracer(trace, None, Aval(array.shape, array.dtype), is_scalar and array.ndim == 0)
    out._constant = array
    if array.ndim > 1 and not array.flags.c_contiguous:
        out.reorder(layouts.strides_alone(array))
    return out


hooks.new_constant = new_constant


def own_array(x: Any) -> Any:
    """Return an argument for a function whose writes its caller must not see: a traced array under a name of its own,
    which costs no step; an array as it is, locked while it is being traced."""
    if type(x) is Tracer:
        return x if x.is_scalar else x.copy("K")
    if isinstance(x, np.ndarray):
        trace = current_trace()
        assert trace is not None
        return trace.read_only.locked_view(x)
    return x


def wrap(trace: Trace, atom: Atom, is_scalar: bool = True) -> Tracer:
    """Return the traced array of an atom; ``is_scalar``: a scalar, if it has no axes."""
    return Tracer(trace, atom, atom.aval, is_scalar and atom.aval.shape == ())


def trace_of(xs: Sequence[Any]) -> tuple[Trace | None, bool]:
    """Return the trace that records a step on ``xs``, and whether all of them are constants."""
    best: Trace | None = None
    all_constant = True
    for x in xs:
        if type(x) is Tracer:
            if x._trace is best and not all_constant:
                continue
            if x._atom is None and x.constant() is not None:
                best = best or x._trace
                continue
            if best is None or all_constant or x._trace.level > best.level:
                best = x._trace
            all_constant = False
    if best is not None and not all_constant:
        best = recorder(best)
    return best, all_constant


def record(op: Op, xs: Sequence[Any], params: dict[str, Any]) -> Any:
    """Put ``op(*xs, **params)`` on the tape: the one door between the user's arrays and the ops.

    Dtypes are taken as they are; tuples come back for ops with several outputs. Constants are computed at once.
    """
    trace, all_constant = trace_of(xs)
    if all_constant:
        trace = trace or _trace_for_concrete()
        values = [unwrap(x, trace) for x in xs]
        for v in values:
            if type(v) is not np.ndarray and isinstance(v, np.ndarray):
                check_dtype(v)  # which refuses those with an arithmetic of their own
        out = op.reference(*[np.asarray(v) for v in values], **params)
        if isinstance(out, tuple):
            return tuple(new_constant(trace, v, True) for v in out)
        result = new_constant(trace, np.array(out, order="C"), True)
        if result.aval.ndim > 1 and not op.kernel.is_contraction and not all(map(layouts.has_c_order, xs)):
            result.reorder(layouts.UNKNOWN_ORDER)
        return result
    assert trace is not None
    outs = trace.builder.emit(op, tuple([lift(trace, x) for x in xs]), params)
    if len(outs) == 1:
        (out,) = outs
        result = Tracer(trace, out, out.aval, out.aval.shape == ())
        if len(out.aval.shape) > 1 and not op.kernel.is_contraction and not all(map(layouts.has_c_order, xs)):
            result.reorder(layouts.UNKNOWN_ORDER)
        return result
    return tuple([wrap(trace, a) for a in outs])


hooks.record = record


def inlined(tape: Tape, xs: Sequence[Any]) -> list[Tracer]:
    """Record the steps of a tape for ``xs`` one by one, and return its results."""
    trace, are_constant = trace_of(xs)
    if trace is None or are_constant:
        trace = _trace_for_concrete()
    return [wrap(trace, a) for a in splice(trace.builder, tape, [lift(trace, x) for x in xs], ())]


def _on_arrays(op: Op, xs: Sequence[Any], params: dict[str, Any]) -> Any:
    """Call an op with arrays: it is recorded if one is traced, and its reference is called otherwise."""
    if any(type(x) is Tracer for x in xs):
        return record(op, xs, params)
    result = op.reference(*map(np.asarray, xs), **params)
    return tuple([y[()] for y in result]) if isinstance(result, tuple) else result[()]


OPERATORS["on arrays"] = _on_arrays


def _trace_for_concrete() -> Trace:
    trace = current_trace()
    if trace is None:
        raise UnsupportedFunctionError("a traced operation was applied to concrete arrays outside of a trace")
    return trace


def unwrap(x: Any, trace: Trace) -> Any:
    """Return the concrete value of a constant, or of something that never was traced."""
    if type(x) is Tracer:
        constant = x.constant()
        assert constant is not None
        return constant[()] if x.is_scalar else constant
    if trace.run.known is not None and isinstance(x, np.ndarray | np.generic) and not trace.unrepeatable:
        known = trace.run.known.get(id(x))
        if not (known[2] if known is not None else trace.run.is_closed):
            trace.unrepeatable = f"a concrete {type(x).__name__} at {trace.where()} was computed with while tracing"
    return x
