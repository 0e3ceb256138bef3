"""The tape of a whole function of the user's, with its surroundings: what ``trace`` and ``jit`` both begin with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert import tree
from wengert.errors import StructureError, message
from wengert.tape import Tape
from wengert.tracing.record import input_of, record_call
from wengert.tracing.signature import leaf_kind
from wengert.tracing.surroundings.environment import Environment
from wengert.tracing.trace import current_trace


class ReadsEnclosingTrace(StructureError):
    """A function captured a traced value, so it is no program of its own: its steps belong to the enclosing trace."""


def trace_whole(
    f: Callable[..., Any], name: str, leaves: Sequence[Any], treedef: Any, has_kwargs: bool
) -> tuple[Tape, Environment, str, tuple[int, ...]]:
    """The tape of ``f`` for a call's leaves, the environment it read, why it cannot be repeated ("" if it can), and the
    inputs that it writes."""
    environment = Environment()
    traced = [k for k, x in enumerate(leaves) if leaf_kind(x)[0]]

    def call(*tracers: Any) -> Any:
        trace = current_trace()
        assert trace is not None
        copy = environment.copy_for(f, trace)
        new = list(leaves)
        for k, x in enumerate(leaves):
            if not leaf_kind(x)[0]:
                new[k] = environment.copy_argument(x, f"argument{tree.path(treedef, k)}")
        environment.look_at_classes(tree.node_types(treedef))
        trace.is_closed = environment.is_closed
        for k, t in zip(traced, tracers, strict=True):
            new[k] = t
        given = tree.unflatten(treedef, new)
        return copy(*given[0], **given[1]) if has_kwargs else copy(*given)

    inputs = [input_of(leaves[k]) for k in traced]
    recording = record_call(call, inputs, name=name, known=environment.known)
    if recording.implicit:
        raise ReadsEnclosingTrace(
            message(
                f"{name} captured a value of a function that is being traced, so it has no tape of its own",
                tries=["the value as an argument"],
            )
        )
    environment.close()
    static = tuple((k, x) for k, x in enumerate(leaves) if not leaf_kind(x)[0])
    tape = recording.tape.replace(in_tree=treedef, in_static=static, out_tree=recording.out_treedef)
    return tape, environment, recording.unrepeatable, recording.written
