"""What a trace takes in: literals, captured arrays, values of enclosing traces; and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.tracing.inputs import argument
from wengert import config
from wengert.errors import (
    EscapedTracerError,
    UnsupportedFunctionError,
)
from wengert.tape import Lit
from wengert.tracing.lifting import lift
from wengert.tracing.trace import Trace, WholeRun


def test_arrays_with_an_arithmetic_of_their_own_are_refused() -> None:
    """A matrix was multiplied element by element, and the mask of a masked array was not looked at."""
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="matrix"), pytest.warns(PendingDeprecationWarning):
        wg.jit(lambda x: x * x, strict=True)(np.matrix([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="filled"):
        wg.grad(lambda x: np.sum(x * x))(np.ma.array([1.0, 2.0], mask=[0, 1]))


class Length(np.ndarray[Any, Any]):
    """Metres, or kilometres: a sum is in the unit of what comes first."""

    def __new__(cls, values: Any, unit: float) -> Any:
        made = np.asarray(values, dtype=float).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, other: Any) -> None:
        self.unit = getattr(other, "unit", 1.0)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        units = [getattr(x, "unit", 1.0) for x in inputs]
        plain = [np.asarray(x) * (u / units[0]) for x, u in zip(inputs, units, strict=True)]
        made = getattr(ufunc, method)(*plain, **kwargs).view(Length)
        made.unit = units[0]
        return made


class Labelled(np.ndarray[Any, Any]):
    label = "a"


@pytest.mark.parametrize("way", [wg.grad, lambda f: wg.jit(wg.grad(f))])
def test_units_were_lost_silently(way: Any) -> None:
    """Three kilometres and four metres were seven."""
    km, m = Length([3.0, 3.0], 1000.0), Length([4.0, 4.0], 1.0)
    uses = (
        lambda x: np.sum(x * km + m),
        lambda x: np.sum(km * x),
        lambda x: np.sum(np.multiply(km, x)),
        lambda x: np.sum(np.add(x, km)),
        lambda x: np.sum(np.ones(2) * km * x),
    )
    for f in uses:
        with pytest.raises(UnsupportedFunctionError, match=r"arithmetic of its own|is no Length"):
            way(f)(np.ones(2))
    with pytest.raises(UnsupportedFunctionError, match="arithmetic of its own"):
        way(lambda x: np.sum(x))(km)
    kilometres = np.asarray(km + m)
    assert way(lambda x: np.sum(x * kilometres))(np.ones(2)).tolist() == [3.004, 3.004]
    assert way(lambda x: np.sum(x * np.ones(2).view(Labelled)))(np.ones(2)).tolist() == [1.0, 1.0]


def test_what_nothing_traced_is_in_can_have_units() -> None:
    """An array made inside is NumPy's own as soon as it is one of another class, and nobody may write it."""

    def f(x: Any) -> Any:
        width = np.array([3.0, 3.0]).view(Length)
        width.unit = 1000.0
        assert type(width) is Length and type(2.0 * width) is Length
        return np.sum(x * np.asarray(width + width))

    assert wg.grad(f)(np.ones(2)).tolist() == [6.0, 6.0]
    assert wg.jit(wg.grad(f), strict=True)(np.ones(2)).tolist() == [6.0, 6.0]

    def writes(x: Any) -> Any:
        values = np.zeros(2)
        labelled = values.view(Labelled)
        values[0] = x[0]
        return np.sum(labelled)

    with pytest.raises(wg.errors.MutationError):
        wg.grad(writes)(np.ones(2))
    with pytest.raises(UnsupportedFunctionError, match="is no Labelled"):
        wg.grad(lambda x: np.sum(x.view(Labelled)))(np.ones(2))


def test_numbers_are_literals_and_arrays_are_captured_once() -> None:
    x = np.arange(3.0)
    with Trace("f").opened() as trace:
        number = lift(trace, 2.0)
        assert isinstance(number, Lit) and number.value == 2.0
        assert lift(trace, x) is lift(trace, x) is not lift(trace, x.copy())
        with pytest.raises(UnsupportedFunctionError, match="str is neither an array nor a number"):
            lift(trace, "x")
        assert len(trace.tape(()).captures) == 2 and trace.tape(()).inputs == ()


@pytest.mark.usefixtures("no_other_thread_writes")
def test_a_small_array_is_copied_and_a_large_one_is_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is captured is what the array was at the first look; a small one may be written meanwhile."""
    monkeypatch.setattr(config, "snapshot_bytes", 24)
    small, large = np.ones(3), np.ones(4)
    with Trace("f").opened() as trace:
        before = lift(trace, small)
        small[0] = 5.0
        assert lift(trace, small) is not before
        assert lift(trace, large) is lift(trace, large)
        with pytest.raises(ValueError, match="read-only"):
            large[0] = 5.0
        captures = trace.tape(()).captures
    assert [c.array.tolist() for c in captures] == [[1, 1, 1], [5, 1, 1], [1, 1, 1, 1]]
    assert captures[2].array is large and large.flags.writeable


def test_a_captured_array_of_known_origin_is_read_again() -> None:
    x, unknown = np.ones(3), np.ones(3)
    with Trace("f", run=WholeRun({id(x): (x, "weights", False)})).opened() as trace:
        lift(trace, x)
        assert not trace.unrepeatable
        lift(trace, unknown)
        capture, other = trace.tape(()).captures
    assert capture.array is x and capture.name == "weights"
    assert other.array is not unknown and "computed while tracing" in trace.unrepeatable


def test_a_value_of_an_enclosing_trace_is_an_implicit_input() -> None:
    """So the inner derivative takes it for a constant: perturbations are not confused."""
    with Trace("outer").opened() as outer:
        x = argument(outer, 2.0)
        with Trace("inner").opened() as inner:
            y = argument(inner, 3.0)
            z = y * x * x
            tape = inner.tape((lift(inner, z),))
            (implicit,) = inner.lifted.implicit.values()
            assert tape.inputs == (y.atom(), implicit.var) and list(inner.lifted.implicit) == [x.atom()]
            assert [i.op.name for i in tape.instrs] == ["multiply", "multiply"]
        assert not outer.builder.instrs
        with pytest.raises(EscapedTracerError, match="after the function that made it"):
            lift(outer, y)


def test_equal_constants_of_a_compiled_function_are_captured_once() -> None:
    """Each iteration of a loop makes its own zeros: a loop of them was not seen, and all of them were kept."""

    def f(x: Any) -> Any:
        for _ in range(20):
            b = np.zeros_like(x)
            b[1:-1] = np.sin(x[2:])
            x = x + b * np.zeros(x.shape)
        return np.sum(x)

    x = np.linspace(0.0, 1.0, 50)
    step = wg.jit(wg.grad(f))
    np.testing.assert_allclose(step(x), wg.grad(f)(x))
    tape = wg.jit(f).program(x).tape
    assert len(tape.captures) <= 1
