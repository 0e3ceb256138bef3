"""A call becomes a tape: a trace is opened, the user's function runs on traced arrays, and its result is taken down."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from wengert import config, tree
from wengert.collector import seldom
from wengert.errors import (
    ConcretizationError,
    DTypeError,
    MutationError,
    SharedMemoryError,
    UnsupportedFunctionError,
    WengertError,
    message,
)
from wengert.source import Source
from wengert.tape import Atom, Aval, Tape, check, without_data
from wengert.tracing import functions  # noqa: F401  # they fill the tables and the hooks
from wengert.tracing._steps import Steps, may_overlap
from wengert.tracing.arguments import holds_tracer
from wengert.tracing.callers import is_internal, is_library, is_ours
from wengert.tracing.generators import WalkAgain
from wengert.tracing.interception.intercept import opened
from wengert.tracing.interception.type_of import answered, asking_in
from wengert.tracing.layouts import has_c_order, layout, strides_alone
from wengert.tracing.libraries import UNNAMED, instead_of, is_of_ctypes, refused_function
from wengert.tracing.lifting import check_dtype, lift
from wengert.tracing.python.frames import run
from wengert.tracing.python.lines import line_of
from wengert.tracing.read_only import SAME_MEMORY
from wengert.tracing.trace import NOT_WHOLE, Trace, WholeRun
from wengert.tracing.tracer import Tracer


class Input(NamedTuple):
    """An argument as the function gets it: its type, a value to look at, and how Python sees it."""

    aval: Aval
    value: Any = None
    weak: type | None = None
    is_scalar: bool = False
    layout: Any = None
    """An array without memory that has the strides of one that is not in C order."""
    lent: Tracer | None = None
    """The array of an enclosing trace that is passed, which nobody may write until the function has returned."""


class Recording(NamedTuple):
    """A tape, the structure of what the function returned, and the values of enclosing traces that it read."""

    tape: Tape
    out_treedef: Any
    programs: dict[Any, Any]
    """Programs made of this tape, by transforms; shared by all runs that recorded the same."""
    implicit: tuple[Tracer, ...] = ()
    unrepeatable: str = ""
    captured: tuple[Any, ...] = ()
    """The captured arrays of this run, in the order of ``tape.captures``, which may be those of an earlier one."""
    written: tuple[int, ...] = ()
    """The inputs that the function wrote."""


def has_own_strides(x: np.ndarray[Any, Any]) -> bool:
    """Whether an array is seen with the strides that it has: not in C order, or of one axis that runs backwards."""
    return x.ndim > 0 and not x.flags.c_contiguous and (x.ndim > 1 or x.strides[0] < 0)


def input_of(leaf: Any) -> Input:
    """Return how ``leaf``, an array, a number or a tracer, is presented to the function.

    That is all that is decided here. Whether it has a derivative is asked before (api/chosen.py). What its program is
    given is decided after (runtime/execute.py), from the leaf and not from the value here: of a number of Python's that
    is an array, which an enclosing trace would capture, where the number is a literal.
    """
    if isinstance(leaf, np.ndarray):
        check_dtype(leaf)
        if has_own_strides(leaf):
            return Input(Aval(leaf.shape, leaf.dtype), leaf, layout=strides_alone(leaf))
        return Input(Aval(leaf.shape, leaf.dtype), leaf)
    if type(leaf) is Tracer:
        order = None if has_c_order(leaf) else layout(leaf)
        return Input(leaf.aval, leaf.frozen(), leaf.weak, leaf.is_scalar, order, None if leaf.is_scalar else leaf)
    if isinstance(leaf, np.generic):
        return Input(Aval((), leaf.dtype), leaf, None, True)
    check_integer(leaf)
    value = np.asarray(leaf)
    return Input(Aval((), value.dtype), value, type(leaf), True)


def check_integer(x: Any) -> None:
    """Raise DTypeError if ``x`` is an integer of Python's that does not fit into int64, as which it is traced."""
    if type(x) is int and not -(2**63) <= x < 2**63:
        raise DTypeError(
            message(f"the integer {x} has more than 63 bits", tries=["np.uint64(n), up to 64 bits", "float(n)"])
        )


def record_call(
    call: Callable[..., Any],
    inputs: Sequence[Input],
    *,
    name: str,
    concrete: bool = True,
    why_abstract: str = "",
    whole: WholeRun = NOT_WHOLE,
    steps: Steps | None = None,
) -> Recording:
    """Run ``call(*tracers)`` and return its tape.

    ``whole`` is given for the run of a whole function, which is to be repeated.
    ``steps`` are those of earlier runs; if this one takes the same, what was recorded then is given back, with the
    captured arrays of this run.
    """
    trace = Trace(name, concrete, why_abstract, whole)
    with opened(trace), seldom():
        if steps is not None and trace.run is NOT_WHOLE:
            trace.take_from(steps)
        tracers: list[Tracer] = []
        new_input, lock = trace.lifted.new_input, trace.read_only.lock
        for aval, value, weak, is_scalar, order, lent in inputs:
            tracer = Tracer(trace, new_input(aval, value), aval, is_scalar and aval.shape == ())
            if weak is not None:
                tracer.weak = weak
            if order is not None:
                tracer.reorder(order)
            if lent is not None:
                trace.read_only.lock_traced(lent)
            if type(value) is np.ndarray:
                lock(value)  # it is read when the tape runs, so nobody writes the original before
            if not aval.dtype.isnative:  # in this machine's byte order, and for the rest what NumPy was given
                tracer = tracer.astype(aval.dtype.newbyteorder("="))
                tracer.is_scalar = is_scalar
                tracer.reorder(order)
            tracers.append(tracer)
        for k in sharing([i.value for i in inputs]):
            tracers[k]._why_readonly = SAME_MEMORY
        try:
            functions = asking_in(call) if whole.known is None else ()  # a run that will be repeated sees to it itself
            if functions:
                with answered(functions):
                    result = run(call, tracers, {})
            else:
                result = run(call, tracers, {})
            leaves, treedef = ([result], _LEAF) if type(result) is Tracer else tree.flatten(result)
        except WalkAgain:
            raise
        except WengertError as error:
            _locate(error)
            raise
        except Exception as error:  # of whatever class a library, or its C code, makes of ours
            interrupt = _interrupt_behind(error)
            if interrupt is not None:
                raise interrupt from None
            ours = in_our_words(trace, error)
            if ours is None:
                raise
            raise ours from error
        outputs = tuple([_output(trace, leaf, k, treedef) for k, leaf in enumerate(leaves)])
        written = _written_inputs(inputs, tracers, trace)
        captures = trace.lifted.captures.values()
        captured = tuple([c.array for c in captures])
        implicit = tuple([i.outer for i in trace.lifted.implicit.values()])
        if trace.steps is not None:
            read = (*[c.var for c in captures], *[i.var for i in trace.lifted.implicit.values()])
            variables = (*trace.lifted.inputs, *read)
            known = trace.steps.recording(outputs, variables)
            if known is not None and known.out_treedef == treedef and known.written == written:
                present = known.tape.replace(captures=tuple(captures)) if captured else known.tape
                return Recording(present, treedef, known.programs, implicit, trace.unrepeatable, captured, written)
        tape = trace.tape(outputs)
        recording = Recording(tape, treedef, {}, implicit, trace.unrepeatable, captured, written)
        if trace.steps is not None:
            hollow = tape.replace(captures=tuple([without_data(c) for c in tape.captures]))
            trace.steps.keep(outputs, variables, recording._replace(tape=hollow, captured=(), implicit=()))
    if config.check:
        check(tape, after="tracing")
    return recording


_REFUSALS = (UnsupportedFunctionError, ConcretizationError, MutationError)


_OF_OTHERS = (TypeError, AttributeError, BufferError, RecursionError, AssertionError, struct.error)
"""The errors that a library raises which knows no traced values."""

_LEAF = tree.flatten(0.0)[1]


def _source_of(error: Exception) -> Source | None:
    """Return the user's line from which an exception came."""
    at = error.__traceback__
    source = None
    while at is not None:
        if not is_internal(at.tb_frame) and not is_library(at.tb_frame):
            source = line_of(at.tb_frame, at.tb_lineno)
        at = at.tb_next
    return source


def _interrupt_behind(error: Exception) -> BaseException | None:
    """Return Ctrl-C, or another end of the program, that came while C code asked a traced value for a number, and of
    which that code made an error of its own. What Python code made of an interrupt is left alone."""
    behind: BaseException | None = error
    while isinstance(behind, Exception):
        behind = behind.__cause__ or behind.__context__
    at = None if behind is None else behind.__traceback__
    return behind if at is not None and is_ours(at.tb_frame) else None


def in_our_words(trace: Trace, error: Exception) -> WengertError | None:
    """Return a library's error in our words, if it is about traced values."""
    if isinstance(error, ValueError):
        if isinstance(error.__cause__, ConcretizationError):  # we raised it while NumPy asked for a number
            return _named(_written_outside(error.__cause__), error)
        if "read-only" in repr(error.args):
            return _written_while_lent(trace, error)
    if trace.looking.refusal is not None and _is_refusal(trace.looking.refusal[1], error):
        return ConcretizationError(trace.looking.refusal[0])
    if isinstance(error, ValueError) and "__array__ method not producing an array" in str(error):
        return _not_memory(error)
    is_about_types = isinstance(error, ValueError) and "type" in str(error)  # it knows no type of a traced value's
    refused = (
        refused_function(error, holds_tracer)
        if is_about_types or isinstance(error, _OF_OTHERS) or is_of_ctypes(error)
        else None
    )
    return None if refused is None else _not_traced(refused, error)


def _is_refusal(refused: Source | None, error: Exception) -> bool:
    """Whether an error is what a library made of our refusal, in the line ``refused``, to be a number: ``SystemError``,
    as C code went on with an exception pending, one of the library's own, for the same line, or Python's, of an
    operator whose method took the refusal for one of the operand's type, as numpy.polynomial's do."""
    behind: BaseException | None = error
    while behind is not None:
        if isinstance(behind, ConcretizationError) and isinstance(error, SystemError):
            return True
        behind = behind.__cause__ or behind.__context__
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    source = _source_of(error)
    is_librarys = at is not None and is_internal(at.tb_frame)
    is_librarys = is_librarys or (isinstance(error, TypeError) and "unsupported operand type" in str(error))
    return is_librarys and source is not None and refused is not None and source[:2] == refused[:2]


def _locate(error: WengertError) -> None:
    """Put the user's line into the text of an error that was raised where nobody knew it, by an op's type rule; and
    the function of a library that the line calls, if what is refused is something that the library called."""
    text = str(error)
    if isinstance(error, _REFUSALS):
        text = str(_named(error, error))
    source = _source_of(error)
    if "\n  at " not in text and source is not None:
        first, *rest = text.split("\n")
        error.args = ("\n".join([message(first, source), *rest]),)


def _named(error: WengertError, raised: Exception) -> WengertError:
    """Let ``error``, which says what was refused in ``raised``, begin with the function of a library, if that was
    something that a library called."""
    text = str(error)
    refused = refused_function(raised)
    if refused is not None and refused not in text.split("\n")[0]:
        first, *rest = text.split("\n")
        where, *tries = message("", _source_of(raised), tries=_tries(refused)).split("\n")[1:]
        kept = [line for line in rest if not line.startswith(("  at ", "  try ", "  or "))]
        error.args = ("\n".join([f"{refused} is not traced: {first}", where, *kept, *tries]),)
    return error


def _not_traced(refused: str, error: Exception) -> UnsupportedFunctionError:
    """Return the error for a library's own, about a traced value."""
    said = str(error).partition("\n")[0]
    if refused == UNNAMED and ("unsupported operand type" in said or "not supported between" in said):
        what = said.replace("'Tracer'", "a traced value")  # an operator of the user's own line
        return UnsupportedFunctionError(message(what, _source_of(error), tries=["numbers or arrays on both sides"]))
    what = f"{refused} is not traced, and cannot take a traced value" + (f": {said}" if said else "")
    return UnsupportedFunctionError(message(what, _source_of(error), tries=_tries(refused)))


def _not_memory(error: ValueError) -> UnsupportedFunctionError:
    """Return the error for an object that was asked for an array by NumPy, and holds a traced one."""
    what = "an object's __array__ returned a traced array, and NumPy takes only memory from there"
    tries = ["np.asarray(x) of the object x first", "the arrays that it holds, by their names: np.sin(x.values)"]
    return UnsupportedFunctionError(message(what, _source_of(error), tries=tries))


def _tries(refused: str) -> list[str]:
    return [*instead_of(refused), "wg.primitive around it"]


def _written_while_lent(trace: Trace, error: ValueError) -> MutationError:
    """Return the error for a write that NumPy refused, since the array is locked while the function is traced."""
    return MutationError(
        message(
            f"{trace.name} writes into an array that was made outside of it: {error}",
            _source_of(error),
            tries=[
                "a copy made inside: np.array(x)",
                "differentiating with respect to it too (argnums=), so that it is a value",
            ],
        )
    )


def shares_memory(a: Any, b: Any) -> bool:
    """Whether two arrays have an element in common; also if that would take long to find out."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return False
    try:
        return np.may_share_memory(a, b) and np.shares_memory(a, b, 10_000)  # type: ignore[arg-type]  # stubs lack numbers
    except np.exceptions.TooHardError:
        return True


def same_memory(name: str) -> SharedMemoryError:
    return SharedMemoryError(message(f"{name}: {SAME_MEMORY}", tries=["a copy in place of one of them: np.array(x)"]))


def sharing(values: Sequence[Any]) -> set[int]:
    """Return the numbers of the arrays that share memory with another. It takes n log n for those that lie apart."""
    if len(values) < 2 or not may_overlap([*values]):
        return set()
    arrays = [(k, x) for k, x in enumerate(values) if type(x) is np.ndarray and x.size]
    found: set[int] = set()
    first: dict[int, int] = {}
    ends = []
    for k, x in arrays:
        if first.setdefault(id(x), k) == k:
            ends.append((*byte_bounds(x), k))
        else:
            found |= {k, first[id(x)]}
    ends.sort()
    for n, (_, end, k) in enumerate(ends):
        for start, _, other in ends[n + 1 :]:
            if start >= end:
                break
            if not found >= {k, other} and shares_memory(values[k], values[other]):
                found |= {k, other}
    return found


def _written_inputs(inputs: Sequence[Input], tracers: Sequence[Tracer], trace: Trace) -> tuple[int, ...]:
    """Return the inputs that the function wrote; raise if it captured an array that shares the memory of one."""
    written = tuple([k for k, t in enumerate(tracers) if t._version])
    for k in written:
        lifted = trace.lifted
        captured = [*[c.array for c in lifted.captures.values()], *[x for x, _ in lifted.snapshots.values()]]
        if any(shares_memory(inputs[k].value, x) for x in captured):
            raise same_memory(trace.name)
    return written


def _written_outside(cause: ConcretizationError) -> MutationError:
    return MutationError(
        message(
            "a traced value was written into an array that was made outside of the traced function, or by a function "
            "that is not traced",
            notes=[(line.split()[0], " ".join(line.split()[1:])) for line in str(cause).splitlines()[1:2]],
            tries=[
                "an array made inside, by np.zeros, np.array ...",
                "np.array(a) of an array a that another function made, before it is written",
                "np.stack([...]) of the values",
            ],
        )
    )


def _output(trace: Trace, leaf: Any, k: int, treedef: Any) -> Atom:
    try:
        return lift(trace, leaf)
    except UnsupportedFunctionError:
        raise UnsupportedFunctionError(
            message(
                f"{trace.name} returned a {type(leaf).__name__}; expected arrays and numbers",
                notes=[("at", f"result{tree.path(treedef, k)}")],
                tries=["has_aux=True, for what is not to be differentiated"],
            )
        ) from None
