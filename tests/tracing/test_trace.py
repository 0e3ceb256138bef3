"""One run of a function while it is recorded, and what is left afterwards."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import wengert as wg
from tests.tracing.inputs import argument
from wengert.ops.elementwise import exp, sin
from wengert.tracing.trace import NOT_WHOLE, Trace, WholeRun


@pytest.mark.deep("many collections of garbage: 6 s")
def test_nothing_keeps_arguments_alive() -> None:
    """A jitted function kept the arrays it was traced with; an un-jitted call freed its own only at a collection."""
    jitted = wg.jit(lambda x: x * 2 if x[0] > 0 else x)
    for call, collect in ((jitted, True), (wg.grad(lambda x: np.sum(x * 2)), False)):
        gc.collect()
        gc.disable()
        try:
            x = np.ones(1000)
            alive = weakref.ref(x)
            call(x)
            del x
            if collect:
                gc.collect()
            assert alive() is None
        finally:
            gc.enable()


def test_a_formula_of_ours_stands_under_the_users_line() -> None:
    with Trace("f").opened() as trace:
        x = argument(trace, 1.0)
        trace.formula(lambda a: exp(sin(a)), x.atom())
        assert [i.op.name for i in trace.builder.instrs] == ["sin", "exp"]
        assert all(i.source is not None and i.source.file.endswith("test_trace.py") for i in trace.builder.instrs)


def test_a_trace_within_the_run_of_a_whole_function_may_read_again_what_that_may() -> None:
    """From when it is opened until it has ended."""
    run = WholeRun({}, is_rolled=False, doubt="a test")
    with Trace("outer", run=run).opened():
        inner = Trace("inner")
        assert inner.run is NOT_WHOLE
        with inner.opened():
            assert inner.run is run
            with Trace("another", run=WholeRun({1: (None, "x", True)})).opened() as other:
                assert other.run.known == {1: (None, "x", True)} and other.run.is_rolled
        assert inner.run is NOT_WHOLE
