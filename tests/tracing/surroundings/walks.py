"""The two walks, each begun at one value, in a trace as they are for a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.tracing.record import record_call
from wengert.tracing.stack import current_trace
from wengert.tracing.surroundings.environment import Environment
from wengert.tracing.surroundings.parts import Part
from wengert.tracing.surroundings.watching import Watching
from wengert.tracing.trace import Trace, WholeRun


def replaced(
    f: Callable[..., Any], then: Callable[[Any, Environment], Any] = lambda copy, environment: None
) -> tuple[Any, Environment, Trace]:
    """The copy of ``f``, with what was noted, and the trace that its arrays belong to.

    ``then``: what is done in the trace with the copy, and with what was noted.
    """
    environment, found = Environment(), []

    def call() -> float:
        trace = current_trace()
        assert trace is not None
        copy = environment.copy_for(f, trace)
        found.extend([copy, trace])
        then(copy, environment)
        return 0.0

    record_call(call, [], name="a test", whole=WholeRun(environment.known))
    return found[0], environment, found[1]


def watched(value: Any) -> Watching:
    watching = Watching()

    def call() -> float:
        watching.watch(Part(None, "value", value, lambda: value))
        watching.holders.watch()
        return 0.0

    record_call(call, [], name="a test", whole=WholeRun(watching.known))
    return watching
