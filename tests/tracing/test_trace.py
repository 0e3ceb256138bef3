"""One run of a function while it is recorded: what is lifted, what is looked at, and what is left afterwards."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.errors import ConcretizationError, EscapedTracerError, InternalError, UnsupportedFunctionError
from wengert.ops.elementwise import exp, sin
from wengert.tape import Aval, Lit
from wengert.tracing.trace import Trace, current_trace, is_readonly
from wengert.tracing.tracer import Tracer


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


def test_a_derivative_inside_vmap_does_not_look_at_the_first_example() -> None:
    """The branch that the first example takes was taken for all of them."""

    def f(x: Any) -> Any:
        return np.sum(x) * (2 if x[0] > x[1] else 3)

    examples = np.array([[1.0, 2.0], [2.0, 1.0]])
    for inside in (wg.grad(f), wg.hessian(f), lambda x: wg.jvp(f, (x,), (x,))[1], lambda x: wg.vjp(f, x)[1](1.0)):
        for mapped in (wg.vmap(inside), wg.jit(wg.vmap(inside))):
            with pytest.raises(wg.errors.ConcretizationError, match=r"vmap runs all examples at once(.|\n)*np\.where"):
                mapped(examples)
    scaled = wg.vmap(lambda x: x * wg.grad(lambda y: y * (2.0 if y > 1 else 3.0))(5.0))  # this is no example's
    np.testing.assert_array_equal(scaled(examples), 2 * examples)


def test_an_array_that_is_looked_at_is_guarded_as_a_whole() -> None:
    f = wg.jit(lambda x, n: np.repeat(x, n))
    x = np.array([1.0, 2.0])
    for n in ([1, 2], [2, 1], [1, 2], [0, 0]):
        np.testing.assert_array_equal(f(x, np.array(n)), np.repeat(x, n))
    assert f.stats()["traces"] == 3


def argument(trace: Trace, value: Any) -> Tracer:
    """A traced value that is an input of ``trace``."""
    array = value if isinstance(value, np.ndarray) else np.float64(value)  # np.asarray makes a traced one now
    aval = Aval(array.shape, array.dtype)
    return Tracer(trace, trace.new_input(aval, array), aval)


# ---------------------------------------------------------------------------------------------------- a stack of traces


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


@pytest.mark.usefixtures("no_other_thread_writes")
def test_an_error_leaves_nothing_behind() -> None:
    x, trace = np.ones(10_000), Trace("f")

    def fails() -> None:
        with trace.opened():
            trace.lift(x)
            assert not x.flags.writeable and not is_readonly(x)  # lent, not its owner's wish
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert current_trace() is None and x.flags.writeable and not trace.is_open and not trace.values


# ------------------------------------------------------------------------------------------------------- what is lifted


def test_numbers_are_literals_and_arrays_are_captured_once() -> None:
    x = np.arange(3.0)
    with Trace("f").opened() as trace:
        number = trace.lift(2.0)
        assert isinstance(number, Lit) and number.value == 2.0
        assert trace.lift(x) is trace.lift(x) is not trace.lift(x.copy())
        with pytest.raises(UnsupportedFunctionError, match="str is neither an array nor a number"):
            trace.lift("x")
        assert len(trace.tape(()).captures) == 2 and trace.tape(()).inputs == ()


@pytest.mark.usefixtures("no_other_thread_writes")
def test_a_small_array_is_copied_and_a_large_one_is_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is captured is what the array was at the first look; a small one may be written meanwhile."""
    monkeypatch.setattr(config, "snapshot_bytes", 24)
    small, large = np.ones(3), np.ones(4)
    with Trace("f").opened() as trace:
        before = trace.lift(small)
        small[0] = 5.0
        assert trace.lift(small) is not before
        assert trace.lift(large) is trace.lift(large)
        with pytest.raises(ValueError, match="read-only"):
            large[0] = 5.0
        captures = trace.tape(()).captures
    assert [c.array.tolist() for c in captures] == [[1, 1, 1], [5, 1, 1], [1, 1, 1, 1]]
    assert captures[2].array is large and large.flags.writeable


def test_a_captured_array_of_known_origin_is_read_again() -> None:
    x, unknown = np.ones(3), np.ones(3)
    with Trace("f", known={id(x): (x, "weights", False)}).opened() as trace:
        trace.lift(x)
        assert not trace.unrepeatable
        trace.lift(unknown)
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
            tape = inner.tape((inner.lift(z),))
            (implicit,) = inner.implicit.values()
            assert tape.inputs == (y.atom(), implicit.var) and list(inner.implicit) == [x.atom()]
            assert [i.op.name for i in tape.instrs] == ["multiply", "multiply"]
        assert not outer.builder.instrs
        with pytest.raises(EscapedTracerError, match="after the function that made it"):
            outer.lift(y)


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


# ---------------------------------------------------------------------------------------------------- what is looked at


def test_nothing_is_evaluated_unless_a_guard_needs_it() -> None:
    with Trace("f").opened() as trace:
        x = argument(trace, 2.0)
        y, z = np.exp(x), np.sin(x)
        assert set(trace.values) == {x.atom()}
        assert trace.evaluate(y.atom()) == np.exp(2.0)
        assert set(trace.values) == {x.atom(), y.atom()} and z.atom() not in trace.values


def test_a_look_is_a_guard_of_the_innermost_trace() -> None:
    """Whoever the value belongs to: guards stay in the order of the looks."""
    with Trace("outer").opened() as outer:
        x = argument(outer, 2.0)
        with Trace("inner").opened() as inner:
            assert outer.look(x.atom(), "bool", x) == 2.0
        (instr,) = inner.builder.instrs
        assert instr.op.name == "guard" and instr.params["kind"] == "bool"
        assert not outer.builder.instrs
        assert outer.look(Lit(3.0), "bool", x) == 3.0


def test_a_long_chain_is_evaluated_without_recursion() -> None:
    with Trace("f").opened() as trace:
        x = argument(trace, 1.0)
        y = x
        for _ in range(5000):
            y = y + 1.0
        assert trace.evaluate(y.atom()) == 5001


# ---------------------------------------------------------------------------------------------- where a step comes from


def test_a_formula_of_ours_stands_under_the_users_line() -> None:
    with Trace("f").opened() as trace:
        x = argument(trace, 1.0)
        trace.formula(lambda a: exp(sin(a)), x.atom())
        assert [i.op.name for i in trace.builder.instrs] == ["sin", "exp"]
        assert all(i.source is not None and i.source.file.endswith("test_trace.py") for i in trace.builder.instrs)
