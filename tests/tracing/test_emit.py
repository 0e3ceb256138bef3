"""How a step is recorded: which trace records it, and what is computed at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import same
from tests.tracing.inputs import argument
from wengert.errors import UnsupportedFunctionError
from wengert.ops import OPS
from wengert.tracing.emit import inlined, own_array, record, trace_of, wrap
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer


def test_the_innermost_trace_of_the_operands_records_a_step_and_none_one_on_constants() -> None:
    with Trace("outer").opened() as outer:
        x = argument(outer, np.ones(3))
        with Trace("batch", concrete=False).opened() as batch:
            y = argument(batch, np.ones(3))
            constant: Any = np.zeros(3)  # while a trace is open it is a traced array
            assert trace_of([x, y]) == (batch, False) and trace_of([x, 2.0]) == (outer, False)
            if type(constant) is Tracer:
                assert trace_of([constant])[1]
            assert trace_of([1.0, np.float64(2.0)]) == (None, True)


def test_an_array_of_the_callers_is_not_written_and_a_traced_one_is_under_a_name_of_its_own() -> None:
    original = np.ones(3)
    with Trace("f").opened() as trace:
        x = argument(trace, original)
        own = own_array(x)
        own[0] = 5.0
        assert own.atom() is not x.atom() and own_array("text") == "text"
        with pytest.raises(ValueError, match="read-only"):
            own_array(original)[0] = 5.0
        assert wrap(trace, x.atom()).is_scalar is False


def test_the_steps_of_a_tape_are_recorded_one_by_one() -> None:
    tape = wg.trace(lambda x: np.sin(x) * 2.0)(np.ones(3))
    with Trace("f").opened() as trace:
        (y,) = inlined(tape, [argument(trace, np.ones(3))])
        assert [i.op.name for i in trace.builder.instrs] == ["sin", "multiply"] and y.shape == (3,)


def test_a_step_outside_of_a_trace_raises_an_error_of_its_own_each_time() -> None:
    """One exception raised twice has the traceback, the notes and the context of both."""
    raised = []
    for _ in range(2):
        with pytest.raises(UnsupportedFunctionError, match="outside of a trace") as caught:
            record(OPS["add"], (np.ones(2), np.ones(2)), {})
        raised.append(caught.value)
    assert raised[0] is not raised[1]


def test_an_op_that_is_called_with_arrays_is_its_reference() -> None:
    assert wg.ops.OPS["sin"](0.5) == np.sin(0.5) and isinstance(wg.ops.OPS["sin"](0.5), np.float64)
    same(wg.ops.OPS["sum"](np.ones((2, 3)), axis=(1,)), np.array([3.0, 3.0]))


def test_an_op_that_is_called_with_traced_arrays_is_a_step() -> None:
    def f(x: Any) -> Any:
        return wg.ops.OPS["multiply"](wg.ops.OPS["sin"](x), 2.0)

    assert [i.op.name for i in wg.trace(f)(np.ones(3)).instrs] == ["sin", "multiply"]
    same(wg.grad(lambda x: np.sum(f(x)))(np.ones(3)), 2 * np.cos(np.ones(3)))
