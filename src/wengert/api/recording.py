"""Functions as transforms, loops and branches record them: what was recorded goes through the passes that come before
derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert import passes
from wengert.api.named import F, function_name
from wengert.higher import recording
from wengert.higher.recording import RecordedBody
from wengert.tape import Aval, Tape
from wengert.tracing.record import Input, Recording
from wengert.tracing.stack import current_trace
from wengert.tracing.ways import Way, record_in_either_way


def record_for_transform(f: F, call: Callable[[Way], F], inputs: Sequence[Input], **options: Any) -> Recording:
    """Record ``call(way)``, in which the user's ``f`` runs; if an enclosing trace will be compiled, put loops in the
    place of repeated steps, so that a short tape is differentiated."""
    recorded = record_in_either_way(f, call, inputs, function_name(f), **options)
    trace = current_trace()
    if trace is None or not trace.run.is_rolled:
        return recorded
    rolled = passes.run(recorded.tape, passes.ROLLING, counts=trace.run.counts)
    trace.any_length = trace.any_length or rolled.any_length
    if rolled is recorded.tape:
        return recorded
    return recorded._replace(tape=rolled, programs={}, captured=tuple([c.array for c in rolled.captures]))


def record_body(
    name: str, f: Callable[..., Any], avals: Sequence[Aval], treedef: Any, *, is_certain: bool = False
) -> RecordedBody:
    """Record ``f`` as a body of the loop or branch ``name``; see :func:`wengert.higher.recording.record_body`."""
    return recording.record_body(name, f, avals, treedef, prepare=_prepared, is_certain=is_certain)


def _prepared(tape: Tape) -> Tape:
    return passes.run(tape, passes.BEFORE_DERIVATIVES)


def results_of(outs: Any) -> list[Any]:
    """Return what ``record`` gave as a list: an op with one result gives that alone."""
    return list(outs) if isinstance(outs, tuple) else [outs]
