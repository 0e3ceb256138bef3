"""Which traces are open in a thread, and which of them records a step."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tests.tracing.inputs import argument
from wengert.errors import (
    ConcretizationError,
    InternalError,
)
from wengert.tracing.stack import current_trace, is_in_body, open_traces, suspended
from wengert.tracing.trace import Trace


def test_traces_nest_in_a_thread_and_end_in_order() -> None:
    assert current_trace() is None
    with Trace("outer").opened() as outer:
        with Trace("inner").opened() as inner:
            assert current_trace() is inner and (outer.level, inner.level) == (1, 2)
            seen: list[Any] = []
            thread = threading.Thread(target=lambda: seen.append(current_trace()))
            thread.start()
            thread.join()
            assert seen == [None]
        assert current_trace() is outer and not inner.is_open
    assert current_trace() is None


def test_closing_the_wrong_trace_is_a_bug_of_ours() -> None:
    outer, inner = Trace("outer"), Trace("inner")
    contexts = [outer.opened(), inner.opened()]
    with pytest.raises(InternalError, match="another order"):
        contexts[0].__exit__(None, None, None)
    assert current_trace() is inner and inner.is_open and not outer.is_open
    contexts[1].__exit__(None, None, None)
    assert current_trace() is None


def test_a_batch_records_only_what_depends_on_it() -> None:
    """What is the same for all examples is computed once, and can be looked at."""
    ones = np.ones(3)
    with Trace("outer").opened() as outer:
        x = argument(outer, 2.0)
        with Trace("batch", concrete=False, why_abstract="of many").opened() as batch:
            y = argument(batch, ones)
            z = x * x
            _ = y * z
            assert bool(z > 3)
            with pytest.raises(ConcretizationError, match=r"of many(.|\n)*np\.where"):
                bool(np.sum(y) > 3)
        assert [i.op.name for i in outer.builder.instrs] == ["multiply", "greater"]
        assert [i.op.name for i in batch.builder.instrs] == ["multiply", "guard", "sum", "greater"]


def test_no_trace_is_open_where_all_are_suspended() -> None:
    with Trace("f").opened() as trace:
        with suspended():
            assert current_trace() is None and not open_traces()
        assert open_traces() == [trace] and not is_in_body()
