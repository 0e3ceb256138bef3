"""A trace takes in what does not belong to it.

*Lifting* makes an atom of a trace of what a step reads: numbers become literals, arrays are captured, and values of an
enclosing trace become implicit inputs, so nested derivatives cannot confuse their perturbations.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert import config
from wengert.errors import EscapedTracerError, UnsupportedFunctionError, message
from wengert.ops.elementwise import convert
from wengert.tape import Atom, Aval, Capture, Lit, Var, literal
from wengert.tracing import hooks

if TYPE_CHECKING:
    from wengert.tracing._steps import Steps
    from wengert.tracing.trace import Trace
    from wengert.tracing.tracer import Tracer


class Implicit(NamedTuple):
    """A value of an enclosing trace that the function read: an input that nobody passed."""

    var: Var
    outer: Tracer


class Lifted:
    """All that has come into one trace from outside: inputs and captures. ``steps``: see Trace."""

    __slots__ = ("captures", "constants", "given", "implicit", "inputs", "snapshots", "steps")

    def __init__(self) -> None:
        self.steps: Steps | None = None
        self.inputs: list[Var] = []
        self.given: dict[Var, Any] = {}
        """The arrays, and values of enclosing traces, that the inputs are."""
        self.implicit: dict[Var, Implicit] = {}
        """The implicit inputs, by the variables of the enclosing traces."""
        self.captures: dict[int, Capture] = {}
        self.constants: dict[tuple[Any, ...], np.ndarray[Any, Any]] = {}
        """The constants among them, by what they hold."""
        self.snapshots: dict[int, tuple[Any, Capture]] = {}
        """The captured arrays that were copied, by the ids of the originals, which they keep alive."""

    def new_input(self, aval: Aval, value: Any) -> Var:
        """Add an input; ``value`` is its array, or a tracer of an enclosing trace, or None."""
        var = Var(aval) if self.steps is None else self.steps.variable("input", len(self.inputs), aval, Var)
        self.inputs.append(var)
        if value is not None:
            self.given[var] = value
        return var

    def from_outside(self, var: Var) -> Any:
        """Return what an input, an implicit input or a captured array is: an array, or a value of an enclosing
        trace."""
        if var in self.given:
            return self.given[var]
        implicit = self.outer(var)
        return implicit if implicit is not None else next(c for c in self.captures.values() if c.var is var)

    def outer(self, var: Atom) -> Tracer | None:
        """Return the value of an enclosing trace that an implicit input stands for; None of another variable."""
        return next((i.outer for i in self.implicit.values() if i.var is var), None)

    def end(self) -> None:
        """Let go of the user's arrays that no tape needs."""
        self.given.clear()
        self.snapshots.clear()
        self.constants.clear()


def lift(trace: Trace, x: Any, dtype: np.dtype[Any] | None = None) -> Atom:
    """Return ``x`` as an atom of ``trace``. Python numbers take ``dtype``."""
    if type(x) is hooks.Tracer:
        if x._trace is not trace:
            return _lift_tracer(trace, x)
        if x._base is None and x._constant is None and trace.is_open:
            return x._atom  # type: ignore[return-value]  # of no base and no constant: it has one
        return x.atom()
    if type(x) in (float, int, bool, complex):
        return literal(x, dtype)
    if isinstance(x, np.generic):
        run = trace.run
        if run.is_closed and run.known is not None and id(x) not in run.known:
            check_dtype(x)
            return literal(x.item(), x.dtype)
    if isinstance(x, np.ndarray | np.generic):
        return capture(trace, x)
    if isinstance(x, bool | int | float | complex):
        return Lit(x, dtype)
    raise UnsupportedFunctionError(message(f"{type(x).__name__} is neither an array nor a number", trace.locate()))


def _lift_tracer(trace: Trace, x: Tracer) -> Atom:
    constant = x.lent_constant()
    if constant is not None:
        return capture_constant(trace, constant)
    if not x._trace.is_open:
        raise escaped(x)
    if x._trace.level > trace.level:
        raise EscapedTracerError(
            message(
                f"{x.aval} belongs to an inner function that is still being differentiated",
                trace.locate(),
                tries=["return it from the inner function instead of storing it outside"],
            )
        )
    outer = x.atom()
    if isinstance(outer, Lit):
        return outer
    known = trace.lifted.implicit.get(outer)
    if known is None:
        lifted, steps = trace.lifted, trace.lifted.steps
        var = Var(outer.aval) if steps is None else steps.variable("implicit", len(lifted.implicit), outer.aval, Var)
        known = lifted.implicit[outer] = Implicit(var, x.frozen())
    return known.var


# ------------------------------------------------------------------------------------------------------- captures


def capture(trace: Trace, x: Any) -> Atom:
    """Return the atom of a concrete array of the user's, in this machine's byte order."""
    check_dtype(x)
    var = _capture(trace, x)
    if x.dtype.isnative:
        return var
    return trace.builder.emit(convert, (var,), {"dtype": x.dtype.newbyteorder("=")})[0]


def _capture(trace: Trace, x: Any) -> Var:
    """Return the variable of ``x``, which is read where it lies if its origin is known or if it is large
    (``config.snapshot_bytes``), and may not be written while the trace is open. Others are copied as they are now."""
    if trace.run.known is not None:
        known = trace.run.known.get(id(x))
        if known is not None:
            array, name, is_constant = known
            array = np.asarray(array)
            trace.read_only.lock(array)
            return _captured(trace.lifted, id(x), array, name, is_constant)
        doubt_repeats(trace, Aval(np.shape(x), x.dtype))
    lifted = trace.lifted
    if isinstance(x, np.generic) or x.nbytes <= config.snapshot_bytes:
        old = lifted.snapshots.get(id(x))
        if old is not None and (isinstance(x, np.generic) or same_bytes(old[1].array, x)):
            return old[1].var
        snapshot = Capture(_new_capture(lifted, Aval(x.shape, x.dtype)), _copied(x))
        lifted.captures[id(snapshot)] = snapshot
        lifted.snapshots[id(x)] = (x, snapshot)
        return snapshot.var
    trace.read_only.lock(x)
    return _captured(lifted, id(x), x, "", False)


def doubt_repeats(trace: Trace, aval: Aval) -> None:
    """Note that a run that is repeated may find other numbers where this one has found an array of ``aval``."""
    run = trace.run
    if run.known is not None and not trace.unrepeatable and not run.is_closed:
        trace.unrepeatable = (
            f"{aval} at {trace.where()} is a NumPy value that was computed while tracing, "
            f"and {run.doubt or 'where it came from is not known'}: compute it outside, and pass it"
        )


def capture_constant(trace: Trace, array: np.ndarray[Any, Any]) -> Var:
    """Return the variable of an array made while tracing, which nobody else can change."""
    lifted, is_constant = trace.lifted, trace.run.known is not None
    if is_constant and array.size > 0 and array.flags.c_contiguous and id(array) not in lifted.captures:
        # Each iteration makes the same zeros. Equal constants are one: the loop is seen, and one of them is kept.
        key = (array.shape, array.dtype.str, blake2b(array.data, digest_size=16).digest())
        array = lifted.constants.setdefault(key, array)
    return _captured(lifted, id(array), array, "", is_constant)


def capture_again(trace: Trace, one: Capture) -> Var:
    """Capture what an inner trace has captured, because ``trace`` takes over the inner one's steps.

    The inner trace held it locked, and has ended; this one reads it later.
    """
    trace.read_only.lock(one.array)
    return _captured(trace.lifted, id(one.array), one.array, one.name, one.is_constant)


def _captured(lifted: Lifted, key: int, array: np.ndarray[Any, Any], name: str, is_constant: bool) -> Var:
    known = lifted.captures.get(key)
    if known is None:
        var = _new_capture(lifted, Aval(array.shape, array.dtype))
        known = lifted.captures[key] = Capture(var, array, name, is_constant)
    return known.var


def _new_capture(lifted: Lifted, aval: Aval) -> Var:
    return Var(aval) if lifted.steps is None else lifted.steps.variable("capture", len(lifted.captures), aval, Var)


def _copied(x: Any) -> np.ndarray[Any, Any]:
    """Return a copy that is not a traced array, as that of np.array would be while a trace is open."""
    out = np.ndarray(x.shape, x.dtype)
    out[...] = x
    return out


def same_bytes(a: np.ndarray[Any, Any], b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


# ------------------------------------------------------------------------------------------------ what is refused


def check_dtype(x: Any) -> None:
    if type(x) is not np.ndarray and isinstance(x, np.matrix | np.ma.MaskedArray):
        raise UnsupportedFunctionError(
            message(
                f"a {type(x).__name__} has an arithmetic of its own, which is not traced",
                tries=[
                    "np.asarray(x)" if isinstance(x, np.matrix) else "x.filled(...), and the mask as an array beside it"
                ],
            )
        )
    if type(x) is not np.ndarray and isinstance(x, np.ndarray) and has_own_arithmetic(type(x)):
        raise UnsupportedFunctionError(
            message(
                f"a {type(x).__name__} has an arithmetic of its own, as of units, which is not traced",
                tries=["its numbers alone, np.asarray(x), in units that were converted outside of the traced function"],
            )
        )
    if x.dtype.kind not in "fiubc":
        raise UnsupportedFunctionError(
            message(
                f"an array of dtype {x.dtype} cannot be traced",
                tries=["np.stack([...]) of traced values"] * (x.dtype == object)
                + ["an array of numbers of up to 64 bits"],
            )
        )


_ARITHMETIC = ("__array_ufunc__", "__array_wrap__", "__array_function__", "__add__", "__mul__", "__rmul__", "__sub__")


@lru_cache(maxsize=1024)
def has_own_arithmetic(cls: type) -> bool:
    """Whether a class of arrays says itself what sums and products of it are, as those with units do."""
    own = [base for base in cls.__mro__ if base not in np.ndarray.__mro__ and base is not np.memmap]
    return any(name in vars(base) for base in own for name in _ARITHMETIC)


def escaped(x: Tracer) -> EscapedTracerError:
    return EscapedTracerError(
        message(
            f"{x.aval} is used after the function that made it has been traced",
            notes=[("made", f"in {x._trace.name}")],
            tries=[
                "return the value from the function",
                "has_aux=True to return values beside the result",
                "no cache (lru_cache, a dict made outside) around what the function computes",
            ],
        )
    )
