"""A program that NumPy answers is bound as one of machine code is: the same arrays, the same refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.errors import GuardError, LayoutError, NonFiniteError, ShapeError, StructureError
from wengert.runtime.program import Program


@pytest.fixture(
    params=[
        pytest.param(True, marks=pytest.mark.machine_code("it is to do the same"), id="machine code"),
        pytest.param(False, id="references"),
    ]
)
def is_native(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(config, "native", request.param)
    return request.param


def program(f: Any, *args: Any) -> Program:
    return wg.compile(wg.trace(f)(*args))


def test_a_call_reads_the_arrays_as_they_are_then(is_native: bool) -> None:
    x, out, scale = np.array([1.0, 2.0]), np.empty(2), np.array(3.0)
    call = program(lambda x: x * scale, x).bind(x, out=out)
    assert call() is out and out.tolist() == [3.0, 6.0]
    x[0], scale[...] = 10.0, 2.0
    assert call() is out and out.tolist() == [20.0, 4.0]


def test_without_out_each_call_returns_the_same_arrays(is_native: bool) -> None:
    x = np.array([1.0, 2.0])
    call: Any = program(lambda x: {"twice": 2 * x, "sum": np.sum(x)}, x).bind(x)
    first = call()
    x += 1
    assert call() is first
    assert first["twice"].tolist() == [4.0, 6.0] and first["sum"] == 5.0
    assert len(call.outputs) == 2


def test_what_does_not_fit_is_refused(is_native: bool) -> None:
    x, wide = np.zeros(4), np.zeros(8)
    made = program(np.sin, x)
    read_only = np.empty(4)
    read_only.flags.writeable = False
    with pytest.raises(LayoutError, match="it cannot be read where it lies; bind a contiguous copy"):
        made.bind(wide[::2])
    with pytest.raises(LayoutError, match="the array is read-only"):
        made.bind(x, out=read_only)
    with pytest.raises(LayoutError, match="not contiguous and aligned"):
        made.bind(x, out=wide[::2])
    with pytest.raises(LayoutError, match="shares memory"):
        made.bind(x, out=x)
    with pytest.raises(ShapeError):
        made.bind(x, out=wide)
    with pytest.raises(StructureError):
        made.bind(x, out=[x])


def test_an_out_that_is_captured_or_given_twice_is_refused(is_native: bool) -> None:
    x, held, out = np.zeros(4), np.ones(4), np.empty(4)
    with pytest.raises(LayoutError, match="shares memory"):
        program(lambda x: x + held, x).bind(x, out=held)
    with pytest.raises(LayoutError, match="shares memory"):
        program(lambda x: (x + 1, x + 2), x).bind(x, out=(out, out))


def test_a_guard_that_misses_raises_and_writes_nothing(is_native: bool) -> None:
    x, out = np.array([1.0]), np.zeros(1)
    call = program(lambda x: 2 * x if x[0] > 0 else -x, x).bind(x, out=out)
    x[0] = -1.0
    with pytest.raises(GuardError):
        call()
    assert out.tolist() == [0.0]


def test_nans_are_found(is_native: bool) -> None:
    x = np.array([1.0])
    call = program(np.log, x).bind(x)
    x[0] = -1.0
    with wg.find_nans(), pytest.raises(NonFiniteError):
        call()
