"""Arrays that nobody may write while a trace is open."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.errors import (
    MutationError,
)
from wengert.tracing import read_only
from wengert.tracing.lifting import lift
from wengert.tracing.read_only import is_locked, is_read_later, is_readonly
from wengert.tracing.stack import current_trace
from wengert.tracing.trace import Trace


@pytest.mark.usefixtures("no_other_thread_writes")
def test_an_error_leaves_nothing_behind() -> None:
    x, trace = np.ones(10_000), Trace("f")

    def fails() -> None:
        with trace.opened():
            lift(trace, x)
            assert not x.flags.writeable and not is_readonly(x)  # lent, not its owner's wish
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert current_trace() is None and x.flags.writeable and not trace.is_open and not trace.looking.values


@pytest.mark.usefixtures("no_other_thread_writes")
def test_an_array_and_its_views_are_read_later_while_they_are_locked() -> None:
    x = np.ones((2, 3))
    with Trace("f").opened() as trace:
        trace.read_only.lock(x)
        assert is_locked(x) and not is_locked(x[0]) and is_read_later(x[0].T) and not is_read_later(np.ndarray(3))
        view = trace.read_only.locked_view(x)
        assert view is x and not is_readonly(x)
    assert not is_locked(x) and not is_read_later(x[0]) and x.flags.writeable


def test_an_array_that_another_thread_may_write_is_compared_when_the_trace_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_only._opened, "lend", lambda lent, array: False)
    x = np.ones(3)

    def f(written: float) -> None:
        with Trace("f").opened() as trace:
            assert trace.read_only.locked_view(x).base is x and x.flags.writeable
            x[0] = written

    f(1.0)
    with pytest.raises(MutationError, match=r"float64\[3\] was written(.|\n)*while f was traced"):
        f(2.0)
