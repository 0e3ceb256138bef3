"""A whole function of the user's is recorded with its surroundings: ``trace`` and ``jit`` both begin with that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wengert import tree
from wengert.errors import StructureError, WrittenError, message
from wengert.tape import Tape
from wengert.tracing.counted import RunCounts
from wengert.tracing.generators import DrawnAtOnce, Generators
from wengert.tracing.interception.type_of import answered
from wengert.tracing.record import input_of, record_call
from wengert.tracing.signature import Signature
from wengert.tracing.stack import current_trace
from wengert.tracing.surroundings.environment import Environment, ReachedTwice, walked
from wengert.tracing.text import outlets
from wengert.tracing.trace import WholeRun


class ReadsEnclosingTrace(StructureError):
    """A function captured a traced value, so it is no program of its own: its steps belong to the enclosing trace."""


class Whole(NamedTuple):
    """The record of a function that has run on traced values."""

    tape: Tape
    environment: Environment
    """The surroundings: all that the function read beside its arguments."""
    unrepeatable: str
    """The reason why the tape does not stand for another call; empty if it does."""
    written: tuple[int, ...]
    """The numbers of the inputs that the function writes."""


def trace_whole(
    f: Callable[..., Any],
    name: str,
    leaves: Sequence[Any],
    signature: Signature,
    runs_again: Callable[[Exception], bool] | None = None,
    is_rolled: bool = True,
    counts: RunCounts | None = None,
    check: Callable[[Tape], None] | None = None,
    is_look: bool = False,
) -> Whole:
    """Return the tape of ``f`` for a call's leaves, of this signature, and what must hold for another call to have it.

    ``runs_again``: whether an error that ends the traced run is followed by a run of ``f`` itself, so that what the
    first did to its surroundings is to be undone: see Environment.end_early. ``is_rolled``, ``counts``: see WholeRun.
    ``check`` raises if the tape will not do. ``is_look``: nobody has called the function, so whatever ends the run, it
    has done nothing.
    """
    rest = (lambda error: True) if is_look else runs_again, is_rolled, counts, check, is_look
    return walked(lambda environment: _trace_in(environment, f, name, leaves, signature, *rest), Generators)


def _trace_in(
    environment: Environment,
    f: Callable[..., Any],
    name: str,
    leaves: Sequence[Any],
    signature: Signature,
    runs_again: Callable[[Exception], bool] | None,
    is_rolled: bool,
    counts: RunCounts | None,
    check: Callable[[Tape], None] | None,
    is_look: bool,
) -> Whole:
    treedef = signature.treedef
    traced = [k for k, leaf in enumerate(signature.leaves) if leaf.is_traced]
    static = [k for k, leaf in enumerate(signature.leaves) if not leaf.is_traced]

    def call(*tracers: Any) -> Any:
        trace = current_trace()
        assert trace is not None
        copy = environment.copy_for(f, trace)
        new = list(leaves)
        for k in static:
            new[k] = environment.copy_argument(leaves[k], f"argument{tree.path(treedef, k)}")
        environment.look_at_classes(tree.node_types(treedef))
        if is_look:
            environment.check_not_advanced(name)
        trace.unrepeatable = trace.unrepeatable or environment.why_in_any_case
        for k, t in zip(traced, tracers, strict=True):
            new[k] = t
        given = tree.unflatten(treedef, new)
        trace.run = trace.run._replace(
            outlets=outlets(),
            generators=environment.generators,
            watches=environment.watches,
            depends=environment.depends,
            is_closed=environment.is_closed,
            doubt=environment.doubt,
        )
        with answered(environment.asking()), environment.following():
            result = copy(*given[0], **given[1]) if signature.has_kwargs else copy(*given)
        environment.end_following()
        return result

    inputs = [input_of(leaves[k]) for k in traced]
    run = WholeRun(environment.known, is_rolled, counts)
    try:
        recording = record_call(call, inputs, name=name, whole=run)
        if recording.implicit:
            raise ReadsEnclosingTrace(
                message(
                    f"{name} captured a value of a function that is being traced, so it has no tape of its own",
                    tries=["the value as an argument"],
                )
            )
        if check is not None:
            check(recording.tape)
        environment.check_computed()
        assert environment.generators is not None
        environment.generators.check_undrawn()
        if is_look:
            environment.draw_again()
        environment.close()
    except (ReachedTwice, WrittenError):  # before the function ran; of what cannot be put back
        raise
    except DrawnAtOnce as error:
        environment.end_early(error, True)
        raise
    except KeyboardInterrupt:
        environment.end_interrupted()
        raise
    except Exception as error:  # whatever ended the run, what it did to its surroundings may have to be undone
        assert environment.generators is not None
        if environment.generators.has_drawn and not (runs_again is not None and runs_again(error)):
            environment.end_early(error, True)
            raise environment.generators.need() from error  # so that it draws as far as it comes
        if runs_again is not None:
            environment.end_early(error, runs_again(error))
        raise
    in_static = tuple([(k, leaves[k]) for k in static])
    tape = recording.tape.replace(in_tree=treedef, in_static=in_static, out_tree=recording.out_treedef)
    return Whole(tape, environment, environment.unrepeatable or recording.unrepeatable, recording.written)
