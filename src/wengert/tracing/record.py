"""From a call to a tape: open a trace, run the user's function on traced arrays, take down what it returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert import config, tree
from wengert.errors import UnsupportedFunctionError, message
from wengert.tape import Atom, Aval, Tape, check
from wengert.tracing import creation
from wengert.tracing.trace import Trace, run
from wengert.tracing.tracer import Tracer, wrap


class Input(NamedTuple):
    """What is known of an argument: its type, a value to look at, and how Python sees it."""

    aval: Aval
    value: Any = None
    weak: type | None = None
    is_scalar: bool = False


class Recording(NamedTuple):
    """A tape, the structure of what the function returned, and the values of enclosing traces that it read."""

    tape: Tape
    out_treedef: Any
    implicit: tuple[Tracer, ...]
    unrepeatable: str


def input_of(leaf: Any) -> Input:
    """How ``leaf``, an array, a number or a tracer, is presented to the function."""
    if type(leaf) is Tracer:
        return Input(leaf.aval, leaf.frozen(), leaf.weak, leaf.is_scalar)
    if isinstance(leaf, np.ndarray):
        return Input(Aval(leaf.shape, leaf.dtype), leaf)
    if isinstance(leaf, np.generic):
        return Input(Aval((), leaf.dtype), leaf, None, True)
    value = np.asarray(leaf)
    return Input(Aval((), value.dtype), value, type(leaf), True)


def record_call(
    call: Callable[..., Any],
    inputs: Sequence[Input],
    *,
    name: str,
    concrete: bool = True,
    why_abstract: str = "",
    known: dict[int, tuple[Any, str, bool]] | None = None,
) -> Recording:
    """Run ``call(*tracers)`` and return its tape.

    ``known`` is given for a run that is to be repeated: the captured arrays that may be read again (see Trace).
    """
    trace = Trace(name, concrete, why_abstract, known)
    with trace.recording(), creation.patched():
        tracers = []
        for one in inputs:
            tracer = wrap(trace, trace.new_input(one.aval, one.value), one.is_scalar)
            tracer.weak = one.weak
            tracers.append(tracer)
        leaves, treedef = tree.flatten(run(call, tracers, {}))
        outputs = tuple(_output(trace, leaf, k, treedef) for k, leaf in enumerate(leaves))
    tape = trace.tape(outputs)
    if config.check:
        check(tape, after="tracing")
    return Recording(tape, treedef, tuple(i.outer for i in trace.implicit.values()), trace.unrepeatable)


def _output(trace: Trace, leaf: Any, k: int, treedef: Any) -> Atom:
    try:
        return trace.lift(leaf)
    except UnsupportedFunctionError:
        raise UnsupportedFunctionError(
            message(
                f"{trace.name} returned a {type(leaf).__name__}; expected arrays and numbers",
                notes=[("at", f"result{tree.path(treedef, k)}")],
                tries=["has_aux=True, for what is not to be differentiated"],
            )
        ) from None
