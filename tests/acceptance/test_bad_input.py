"""Bad input raises a typed error that says what, where in the user's code, and what to do instead: never zeros, never
a stale value, never the caller's array changed, and no state is left behind."""

from __future__ import annotations

import cmath
import contextlib
import copy
import json
import math
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient, numeric_gradient
from wengert import config
from wengert.errors import (
    CaptureError,
    ConcretizationError,
    DTypeError,
    EscapedTracerError,
    MissingRuleError,
    MutationError,
    NotDifferentiableError,
    ScalarOutputError,
    ShapeError,
    StructureError,
    TooManyPathsError,
    UnsupportedFunctionError,
    WengertError,
)
from wengert.tracing.stack import current_trace

HERE = "test_bad_input.py"


def raises(kind: type[Exception], *texts: str) -> Any:
    """That error, its text with every one of ``texts``, in this order."""
    import re

    return pytest.raises(kind, match="(.|\n)*".join(re.escape(text) for text in texts))


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Any:
    """After every test, whatever it raised: NumPy is NumPy, no trace is open, and the next gradient works."""
    before = {name: getattr(np, name) for name in ("zeros", "array", "arange", "full", "ones_like")}
    errors = np.geterr()
    yield
    assert current_trace() is None
    assert {name: getattr(np, name) for name in before} == before
    assert type(np.zeros(3)) is np.ndarray
    assert np.geterr() == errors
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x**2))(np.ones(2)), [2.0, 2.0])


# ------------------------------------------------------------------------------------------- what grad is asked for


def test_an_output_that_is_not_one_number() -> None:
    with raises(ScalarOutputError, "float64[3]", "try", "np.sum", "jacobian"):
        wg.grad(lambda x: x**2)(np.ones(3))
    with raises(ScalarOutputError, "float64[1]", "try"):
        wg.grad(lambda x: x**2)(np.ones(1))
    with raises(ScalarOutputError, "2 values", "has_aux"):
        wg.grad(lambda x: (x, x))(1.0)
    with raises(ScalarOutputError, "0 values"):
        wg.grad(lambda x: None)(1.0)
    with raises(ScalarOutputError, "bool[]"):
        wg.grad(lambda x: x > 0)(1.0)
    with raises(ScalarOutputError, "int64[]"):
        wg.grad(lambda x: np.argmax(x))(np.ones(3))


def test_an_output_that_is_not_a_number_at_all() -> None:
    with raises(UnsupportedFunctionError, "returned a str", "has_aux"):
        wg.grad(lambda x: "loss")(1.0)
    with raises(StructureError, "(value, aux)"):
        wg.grad(lambda x: x, has_aux=True)(1.0)


def test_an_argument_that_has_no_derivative() -> None:
    with raises(DTypeError, "argument 0 is int64", "try", "float(3)"):
        wg.grad(lambda x: x * 2.0)(3)
    with raises(DTypeError, "argument 0 is int64", "astype(float)"):
        wg.grad(lambda x: np.sum(x) * 2.0)(np.arange(3))
    with raises(DTypeError, "argument 0", "bool"):
        wg.grad(lambda x: x * 2.0)(True)
    with raises(DTypeError, "str"):
        wg.grad(lambda x: 1.0)("three")
    with raises(DTypeError, '["n"]', "int64", "wrt="):
        wg.grad(lambda p: p["x"] * p["n"])({"x": 1.0, "n": 2})
    with raises(DTypeError, "argument 0[0][1] is a str", "try", "wrt="):
        wg.grad(lambda x: 1.0)([[1.0, "a"], [2.0]])


def test_arguments_that_are_not_there() -> None:
    with raises(StructureError, "argnums=2", "2 positional"):
        wg.grad(lambda x, y: x * y, argnums=2)(1.0, 2.0)
    with raises(StructureError, "argnums=0", "0 positional", "by position"):
        wg.grad(lambda x: x)(x=1.0)
    with pytest.raises(TypeError):
        wg.grad(lambda x: x)(1.0, 2.0)


def test_tangents_and_cotangents_of_the_wrong_shape_type_or_structure() -> None:
    x = np.ones(3)
    with raises(ShapeError, "tangents[0]", "float64[3]", "[2]"):
        wg.jvp(np.sin, (x,), (np.ones(2),))
    with raises(StructureError, "tangents"):
        wg.jvp(np.sin, (x,), (x, x))
    with raises(DTypeError, "complex128"):
        wg.jvp(np.sin, (x,), (x * 1j,))
    _, pullback = wg.vjp(np.sin, x)
    with raises(ShapeError, "cotangent", "float64[3]", "[]"):
        pullback(1.0)  # not broadcast in silence
    with raises(StructureError, "cotangent"):
        pullback((x,))
    with raises(DTypeError, "str"):
        pullback("ones")


def test_integers_out_of_derivatives_of_arrays() -> None:
    with raises(DTypeError, "vjp", "has_aux"):
        wg.vjp(lambda x: (x, np.argsort(x)), np.ones(3))
    with raises(DTypeError, "jacobian", "int64"):
        wg.jacobian(lambda x: np.argsort(x))(np.ones(3))
    with pytest.raises(ValueError, match="mode="):
        wg.jacobian(np.sin, mode="backwards")


def test_batches_that_do_not_fit() -> None:
    with raises(ShapeError, "batch sizes differ", "3", "2"):
        wg.vmap(lambda x, y: x + y)(np.ones(3), np.ones(2))
    with raises(ShapeError, "no axis", "try", "None"):
        wg.vmap(lambda x, y: x + y)(np.ones(3), 1.0)
    with raises(StructureError, "no argument is batched"):
        wg.vmap(lambda x: x, in_axes=None)(np.ones(3))
    with raises(ConcretizationError, "bool", HERE, "np.where"):
        wg.vmap(lambda x: x if x > 0 else -x)(np.ones(3))


# ----------------------------------------------------------------------------------------- what the function does


def branch_line(f: Callable[..., Any], offset: int) -> str:
    return f"{HERE}:{f.__code__.co_firstlineno + offset}"


def test_shapes_that_do_not_fit() -> None:
    def f(W: Any) -> Any:
        return np.sum(W @ np.ones((2, 4)))

    with raises(ShapeError, "float64[3, 4]", "float64[2, 4]", branch_line(f, 1), "in f"):
        wg.grad(f)(np.ones((3, 4)))
    with raises(ValueError, HERE):
        wg.grad(lambda x: np.sum(x + np.ones(2)))(np.ones(3))
    with raises(ValueError, HERE):
        wg.grad(lambda x: np.sum(np.reshape(x, (2, 2))))(np.ones(3))
    with raises(ValueError, HERE):
        wg.grad(lambda x: np.sum(np.concatenate([x, np.ones((2, 2))])))(np.ones(3))


CONCRETE: dict[str, Callable[[Any], Any]] = {
    "x.__float__()": lambda x: x.__float__() * 2,
    "cmath.sin(x)": lambda x: cmath.sin(x).real,
    "x.hex()": lambda x: float.fromhex(x.hex()),
    "x.__array__()": lambda x: x.__array__() * 2,
    "complex(x)": lambda x: complex(x).real,
    "an object array": lambda x: np.sum(np.array([x, None], dtype=object)[0]),
}


def written(a: Any, x: Any) -> Any:
    a[0] = x
    return np.sum(a)


@pytest.mark.parametrize("jitted", [False, True], ids=["plain", "jit"])
@pytest.mark.parametrize("name", CONCRETE)
def test_what_would_cut_the_derivative_raises(name: str, jitted: bool) -> None:
    """complex(x), x.hex() and the like on a traced value: an error with the user's line and a way out, not a zero."""
    gradient = wg.grad(CONCRETE[name])
    with pytest.raises(WengertError, match=rf"{HERE}:\d+(.|\n)*try ") as error:
        (wg.jit(gradient) if jitted else gradient)(1.0)
    assert isinstance(error.value, ConcretizationError | MutationError | UnsupportedFunctionError)


@pytest.mark.parametrize("jitted", [False, True], ids=["plain", "jit"])
def test_a_number_that_comes_back_from_text_raises(jitted: bool) -> None:
    """float(x) is a step, so what is written is a traced value's text, and no number is read from that."""
    for f in (lambda x: float(json.dumps(float(x))), lambda x: float(f"{float(x):.3f}")):
        gradient = wg.grad(f)
        with pytest.raises((TypeError, ValueError)):
            (wg.jit(gradient) if jitted else gradient)(1.0)


def test_float_and_math_are_steps() -> None:
    """They were refused, with what to write instead."""
    programs: list[Callable[[Any], Any]] = [
        lambda x: float(x) * 2,
        lambda x: math.sin(x),
        lambda x: math.sqrt(x * x + 1),
    ]
    for f in programs:
        want = numeric_gradient(f, 0.7)
        assert wg.grad(f)(0.7) == pytest.approx(float(want), rel=1e-7)
        assert wg.jit(wg.grad(f))(0.7) == pytest.approx(float(want), rel=1e-7)


def test_numbers_that_are_integers_may_be_looked_at() -> None:
    """Counts, signs and comparisons are guarded, so they are neither cut nor stale."""
    gradient = wg.jit(wg.grad(lambda x: x * int(x) + x * round(x) + x * (x > 1)))
    for x in (0.7, 1.2, 2.6, 1.2):
        assert gradient(x) == int(x) + round(x) + (x > 1)


def test_an_unsupported_function_names_itself() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.loadtxt([str(1.0)]) + np.busday_count("2024", x))

    with raises(UnsupportedFunctionError, "np.busday_count", branch_line(f, 1), "try"):
        wg.grad(f)(np.ones(3))
    with raises(UnsupportedFunctionError, "tobytes", HERE):
        wg.grad(lambda x: len(x.tobytes()) * 1.0)(np.ones(3))
    with raises(AttributeError, "no_such_method"):
        wg.grad(lambda x: x.no_such_method())(1.0)
    with raises(UnsupportedFunctionError, "object"):
        wg.grad(lambda x: np.sum(x * np.array([None, 1.0])))(np.ones(2))


def test_a_missing_rule_raises_and_says_where() -> None:
    @wg.primitive
    def opaque(x: Any) -> Any:
        return x * 2

    def f(x: Any) -> Any:
        return opaque(x) + x

    for derivative in (wg.grad(f), lambda x: wg.jvp(f, (x,), (1.0,)), wg.jit(wg.grad(f))):
        with raises(MissingRuleError, "opaque", branch_line(f, 1), "try"):
            derivative(1.0)
    assert wg.jit(f)(1.0) == 3.0  # without a derivative it runs


def test_a_traced_value_that_escapes() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return x

    wg.grad(f)(1.0)
    for use in (
        lambda v: v + 1,
        lambda v: np.sin(v),
        lambda v: float(v),
        lambda v: bool(v > 0),
        lambda v: np.asarray(v),
        lambda v: wg.grad(lambda y: y * v)(1.0),
        lambda v: wg.grad(lambda y: written(np.zeros(2), v) * y)(1.0),
        lambda v: wg.jit(lambda y: y * v)(1.0),
    ):
        with pytest.raises(EscapedTracerError, match="try"):
            use(kept[0])
    assert "escaped" in repr(kept[0])


def test_a_traced_value_of_another_thread() -> None:
    """It belongs to a trace that is open elsewhere: refused, or recorded there; never a wrong number here."""
    outcome: list[Any] = []

    def f(x: Any) -> Any:
        def work() -> None:
            try:
                outcome.append(wg.grad(lambda y: y * x)(2.0))
            except WengertError as error:
                outcome.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x * x

    assert wg.grad(f)(3.0) == 6.0
    assert type(outcome[0]) not in (float, np.float64)


def test_a_generator_that_outlives_its_trace() -> None:
    def lazy(x: Any) -> Any:
        for k in range(3):
            yield x * k

    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(lazy(x))
        next(kept[-1])
        return x

    wg.grad(f)(1.0)
    with pytest.raises(EscapedTracerError):
        next(kept[0])


def test_copies_of_a_traced_value() -> None:
    assert wg.grad(lambda x: copy.copy(x) * copy.deepcopy(x))(3.0) == 6.0
    with pytest.raises(TypeError, match="pickled"):
        wg.grad(lambda x: pickle.loads(pickle.dumps(x)))(3.0)


def test_a_traced_value_written_outside() -> None:
    buffer = np.zeros(3)
    with raises(MutationError, HERE, "try"):
        wg.grad(lambda x: written(buffer, x))(1.0)
    np.testing.assert_array_equal(buffer, np.zeros(3))
    with raises(WengertError, HERE, "try"):
        wg.grad(lambda x: np.sum(np.add(x, 1.0, out=buffer)))(np.ones(3))
    np.testing.assert_array_equal(buffer, np.zeros(3))
    with raises(WengertError, "try"):
        wg.grad(lambda x: (np.copyto(buffer, x), np.sum(buffer))[1])(np.ones(3))
    np.testing.assert_array_equal(buffer, np.zeros(3))


def test_a_value_of_an_inner_derivative_written_into_an_outer_array() -> None:
    def f(x: Any) -> Any:
        a = np.zeros(2)

        def inner(y: Any) -> Any:
            a[0] = y * x
            return a[0] * y

        return wg.grad(inner)(2.0) + a[0]

    with raises(MutationError, HERE, "try"):
        wg.grad(f)(3.0)


def test_too_many_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "max_paths", 5)
    gradient = wg.jit(wg.grad(lambda x, n: sum((x**k for k in range(n)), start=0.0 * x)), strict=True)
    with raises(TooManyPathsError, HERE, "try", "np.where"):
        for n in range(10):
            gradient(1.0, n)
    assert gradient(1.0, 3) == 3.0  # what is compiled still runs


def test_values_written_into_out() -> None:
    step = wg.jit(lambda x: x * 2)
    out = np.zeros(3)
    assert step(np.ones(3), out=out) is out
    np.testing.assert_array_equal(out, [2.0, 2.0, 2.0])
    for wrong in (np.zeros(2), np.zeros(3, np.float32), [np.zeros(3)], 1.0):
        with pytest.raises((StructureError, ShapeError, DTypeError)):
            step(np.ones(3), out=wrong)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises((WengertError, ValueError)):
        step(np.ones(3), out=frozen)
    np.testing.assert_array_equal(frozen, np.zeros(3))


def test_out_that_shares_memory_with_the_argument() -> None:
    """The result is as if it had been computed first and written afterwards."""
    reversed_sum = wg.jit(lambda x: x[::-1] + x)
    x = np.array([1.0, 2.0, 3.0, 5.0])
    want = x[::-1] + x
    reversed_sum(x, out=x)
    np.testing.assert_array_equal(x, want)


def test_a_program_refuses_other_arguments() -> None:
    program = wg.compile(wg.trace(lambda p: p["a"] * p["b"])({"a": np.ones(2), "b": 2.0}))
    with raises(ShapeError, "float64[2]", "float64[3]"):
        program({"a": np.ones(3), "b": 2.0})
    with raises(DTypeError, "float64[2]", "float32[2]"):
        program({"a": np.ones(2, np.float32), "b": 2.0})
    with raises(StructureError, "c"):
        program({"a": np.ones(2), "c": 2.0})
    with raises(DTypeError, '["b"]', "float64[]", '"two"'):
        program({"a": np.ones(2), "b": "two"})
    counted = wg.compile(wg.trace(lambda n: n + 1)(3))
    assert counted(4) == 5
    with raises(DTypeError, "int64[]", "float"):  # not cut to 2 in silence
        counted(2.7)


# ---------------------------------------------------------------------------------------------- nothing stays behind


def test_an_exception_inside_leaves_no_state() -> None:
    """The user's error passes unchanged; locked arrays are writeable again, at any depth of nesting."""
    large = np.ones(10_000)

    class Mine(Exception):
        pass

    def f(x: Any) -> Any:
        y = np.sum(large * x)

        def inner(z: Any) -> Any:
            np.sum(large * z)
            raise Mine("in the middle")

        return y + wg.grad(inner)(x)

    calls: list[tuple[Callable[[Any], Any], Any]] = [
        (wg.grad(f), 1.0),
        (wg.jit(wg.grad(f)), 1.0),
        (lambda x: wg.vjp(f, x), 1.0),
        (wg.vmap(f), np.ones(3)),
        (wg.hessian(f), 1.0),
    ]
    for call, x in calls:
        with pytest.raises(Mine, match="in the middle"):
            call(x)
        assert large.flags.writeable
        assert current_trace() is None
        assert type(np.zeros(2)) is np.ndarray
        large[0] = 1.0


def test_an_exception_that_the_function_handles() -> None:
    """try/except inside the function is Python's: the derivative is that of the road taken."""

    def f(x: Any) -> Any:
        try:
            y = x * 2
            raise KeyError
        except KeyError:
            return y * x

    def g(x: Any) -> Any:
        try:
            return np.sum(x @ np.ones(5))
        except ValueError:
            return np.sum(x**2)

    assert wg.grad(f)(3.0) == 12.0
    np.testing.assert_array_equal(wg.grad(g)(np.ones(3)), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(wg.jit(wg.grad(g))(np.ones(3)), [2.0, 2.0, 2.0])


def test_a_keyboard_interrupt_leaves_no_state() -> None:
    def f(x: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wg.jit(wg.grad(f))(1.0)
    assert current_trace() is None


def test_after_an_error_the_same_function_works() -> None:
    """A jitted function that raised for one input is not spoilt for others."""

    def f(x: Any) -> Any:
        if x < 0:
            raise ValueError("negative")
        return np.sqrt(x)

    gradient = wg.jit(wg.grad(f))
    assert gradient(4.0) == 0.25
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            gradient(-1.0)
        assert gradient(4.0) == 0.25


def test_other_threads_see_numpy_while_one_is_tracing() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        thread = threading.Thread(target=lambda: seen.append((type(np.zeros(2)), type(np.array([1.0, 2.0])))))
        thread.start()
        thread.join()
        return x * 2

    wg.grad(f)(1.0)
    assert seen == [(np.ndarray, np.ndarray)]


# ------------------------------------------------------- silent wrong answers of other systems: right, or raised
# Each function is compared with differences at two points through grad and through one jitted gradient; a case that
# is not supported raises a WengertError instead.

FORTY: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "the branch that was not recorded": (lambda x: x if x > 0 else -(x**3), (1.3, -1.34)),
    "a branch on a sum": (lambda x: x * 2 if x + x > 1 else x**2, (1.0, 0.1)),
    "a chain of comparisons": (lambda x: x**2 if 0 < x < 1 else x**3, (0.5, 1.5)),
    "and, or, not": (lambda x: x**2 if (x > 1 or x < -1) and not x > 3 else np.sin(x), (2.0, 4.0)),
    "max of Python": (lambda x: max(x, x**2, 0.3), (0.5, 1.5)),
    "min of a list": (lambda x: min([x * 2, 1.0, x**3]), (0.4, 1.7)),
    "sorted by key": (lambda x: sorted([x, 1.0 - x, 0.25], key=lambda v: -v)[0] ** 2, (0.2, 0.9)),
    "abs of Python": (lambda x: abs(x) * x, (1.5, -1.5)),
    "a conditional expression that is constant on one side": (lambda x: 1.0 + 0.0 * x if x > 1 else x**2, (2.0, 0.5)),
    "a constant on one side, without x": (lambda x: 1.0 if x > 1 else x**2, (2.0, 0.5)),
    "code after an early return": (lambda x: early(x), (0.5, 2.5)),
    "a while loop on the value": (lambda x: halved(x), (3.0, 40.0)),
    "a loop-carried swap": (lambda x: swapped(x), (0.7, 1.9)),
    "a list that is filled and read": (lambda x: filled(x), (0.7, 1.9)),
    "an array assigned element by element": (lambda x: assigned(x), (0.7, 1.9)),
    "an array of zeros that x is written into": (lambda x: written(np.zeros(3), x) ** 2, (0.7, 1.9)),
    "an integer buffer": (lambda x: written(np.zeros(3, dtype=int), x) * x, (0.7, 1.9)),
    "np.vectorize": (lambda x: np.sum(np.vectorize(lambda v: v**2)(np.array([x, 2 * x]))), (0.7, 1.9)),
    "np.apply_along_axis": (lambda x: np.sum(np.apply_along_axis(lambda r: r * x, 0, np.ones((2, 2)))), (0.7, 1.9)),
    "np.piecewise": (lambda x: pieces(np.array([x, -x])), (0.7, 1.9)),
    "np.frompyfunc": (lambda x: np.sum(np.frompyfunc(lambda v: v * 2, 1, 1)(np.array([x, x]))), (0.7, 1.9)),
    "a fused expression on both sides of zero": (lambda x: both_sides(np.array([x, -x])), (0.7, -1.9)),
    "sign and floor": (lambda x: np.sign(x) * x**2 + np.floor(x) * x, (1.3, -2.6)),
    "the remainder": (lambda x: (x % 0.7) * x, (1.3, -2.6)),
    "floor division": (lambda x: (x // 0.7) * x, (1.3, -2.6)),
    "divmod": (lambda x: divmod(x, 0.7)[0] * divmod(x, 0.7)[1] * x, (1.3, 2.6)),
    "round": (lambda x: round(x) * x + np.round(x, 1) * x, (1.32, 2.67)),
    "an index that is computed": (lambda x: np.array([1.0, 2.0, 3.0])[int(x)] * x, (0.4, 2.2)),
    "an argmax as an index": (lambda x: np.array([x, 1.0, x**2])[np.argmax(np.array([x, 1.0, x**2]))], (0.4, 2.2)),
    "a sort": (lambda x: np.sum(np.sort(np.array([x, 1.0, x**2])) * np.arange(3.0)), (0.4, 2.2)),
    "a range of a computed length": (lambda x: np.sum(np.arange(int(3 * x)) * x), (0.9, 2.2)),
    "a linspace between traced ends": (lambda x: np.sum(np.linspace(0, x, 4) ** 2), (0.9, 2.2)),
    "a boolean mask": (lambda x: np.sum(np.array([x, 1.0, x**2])[np.array([x, 1.0, x**2]) > 0.5]), (0.4, 2.2)),
    "a count of trues": (lambda x: np.count_nonzero(np.array([x, 1.0, x**2]) > 0.5) * x, (0.4, 2.2)),
    "a set of values": (lambda x: np.sum(np.unique(np.array([x, 1.0, x]))), (0.4, 2.2)),
    "a string made of the value": (lambda x: len("positive" if x > 0 else "neg") * x, (0.4, -2.2)),
    "a dict keyed by a comparison": (lambda x: {True: x**2, False: x**3}[bool(x > 1)], (0.4, 2.2)),
    "an in-place power": (lambda x: powered(x), (0.4, 2.2)),
    "a scalar updated through an alias": (lambda x: aliased(x), (0.4, 2.2)),
    "a derivative inside": (lambda x: x * wg.grad(lambda y: x * y * y)(x), (0.4, 2.2)),
    "a jitted function inside": (lambda x: wg.jit(lambda y: y * x)(x) * x, (0.4, 2.2)),
    "a pullback that is kept": (lambda x: wg.vjp(np.sin, x)[1](x)[0], (0.4, 2.2)),
    "a norm at a point where it is smooth": (lambda x: np.linalg.norm(np.array([x, 1.0])), (0.4, -2.2)),
    "a product with a zero in it": (lambda x: np.prod(np.array([x, 0.0, 2.0]) + np.array([0.0, x, 0.0])), (0.4, 0.0)),
    "a product of zeros": (lambda x: np.prod(np.array([x, x, 2.0])), (0.0, 0.4)),
    "zero to the power of x": (lambda x: np.power(0.0, x) + x, (0.5, 2.2)),
    "x to the power of zero": (lambda x: x**0 + x**1 + x**2, (0.0, 2.2)),
    "a square root of a square": (lambda x: np.sqrt(x**2), (0.4, -2.2)),
    "an einsum of itself": (lambda x: np.einsum("i,i->", np.array([x, 2.0]), np.array([x, x])), (0.4, 2.2)),
    "a complex detour": (lambda x: np.abs(np.exp(1j * x) + 0.5), (0.4, 2.2)),
}  # fmt: skip


def pieces(a: Any) -> Any:
    return np.sum(np.piecewise(a, [a > 0], [lambda v: v**2, 3.0]))


def both_sides(a: Any) -> Any:
    return np.sum(np.where(a > 0, a**2, 0.5))


def early(x: Any) -> Any:
    for k in range(5):
        if x * k > 2:
            return x**k
        x = x + 0.1
    return x * 7


def halved(x: Any) -> Any:
    while x > 1:
        x = x / 2
    return x**2


def swapped(x: Any) -> Any:
    a, b = x, 2 * x * x
    for _ in range(3):
        a, b = b, a + b
    return a * b


def filled(x: Any) -> Any:
    values: list[Any] = []
    for k in range(4):
        values.append(x**k)
        if len(values) > 2:
            values[0] = values[-1] + values.pop(1)
    return values[0] * values[-1]


def assigned(x: Any) -> Any:
    v = np.array([0.0, 0.0])
    v[0] = x
    v[1] = v[0] * x
    return np.sum(v)


def powered(x: Any) -> Any:
    a = np.array([x, 2 * x])
    a **= 2
    a[0] **= x
    return np.sum(a)


def aliased(x: Any) -> Any:
    a = np.array([x, 2 * x])
    b = a
    b[0] += a[1]
    b += a
    return a[0] * b[1]


def test_there_are_forty_and_more() -> None:
    assert len(FORTY) >= 40


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FORTY)
def test_a_known_silent_error_is_right_here_or_raises(name: str) -> None:
    f, points = FORTY[name]
    jitted = wg.jit(wg.grad(f))
    refusals: list[str] = []
    for x in (*points, points[0]):
        want = float(numeric_gradient(lambda v: float(f(float(v))), x))
        for gradient in (wg.grad(f), jitted, lambda x: wg.jvp(f, (x,), (1.0,))[1], wg.grad(lambda v: wg.jit(f)(v))):
            try:
                got = gradient(x)
            except WengertError as error:
                refusals.append(str(error))
                continue
            assert got == pytest.approx(want, rel=1e-5, abs=1e-7)
    assert all("\n" in text for text in refusals)  # each says more than no


RAISING = {
    "a complex detour",
    "np.frompyfunc",
}
"""The cases that may be refused. Any other that starts to raise fails below."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FORTY)
def test_which_of_them_are_refused(name: str) -> None:
    f, points = FORTY[name]
    try:
        wg.grad(f)(points[0])
        refused = False
    except WengertError:
        refused = True
    assert not refused or name in RAISING


def test_data_written_between_an_inner_derivative_and_its_use() -> None:
    """What an inner derivative read stays what it was, although its steps are run later, with the outer ones."""
    for size in (3, 10_000):
        data = np.ones(size)

        def f(x: Any, data: Any = data) -> Any:
            inner = wg.grad(lambda y: np.sum(data[:3] * y**2) + np.sum(data) * y[0])(x)
            with contextlib.suppress(ValueError):
                data[0] = 100.0
            return np.sum(inner)

        def by_hand(x: Any, size: int = size) -> Any:
            return np.sum(2 * x) + size

        x = np.ones(3)
        value, gradient = wg.value_and_grad(f)(x)
        assert value == by_hand(x)
        np.testing.assert_array_equal(gradient, [2.0, 2.0, 2.0])
        data[0] = 1.0  # writeable again


@pytest.mark.usefixtures("no_other_thread_writes")
def test_a_captured_array_written_by_another_function_while_tracing() -> None:
    """A large array that has been read may not change before the tape is run: the write raises, or is not seen."""
    data = np.ones(10_000)

    def f(x: Any) -> Any:
        y = np.sum(data * x)
        data[:] = 7.0
        return y

    with pytest.raises(ValueError, match="read-only"):
        wg.grad(f)(1.0)
    np.testing.assert_array_equal(data, np.ones(10_000))
    data[0] = 1.0


def test_a_small_array_written_after_it_was_read() -> None:
    """A small one is taken as it was when it was read."""
    data = np.ones(3)

    def f(x: Any) -> Any:
        y = np.sum(data * x)
        data[:] = 7.0
        return y

    value, gradient = wg.value_and_grad(f)(1.0)
    assert (value, gradient) == (3.0, 3.0)
    np.testing.assert_array_equal(data, [7.0, 7.0, 7.0])


def test_a_gradient_with_respect_to_an_array_of_size_zero_or_no_axes() -> None:
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x) + 1.0)(np.zeros((0, 3))), np.zeros((0, 3)))
    g = wg.grad(lambda x: np.sum(x**2))(np.array(3.0))
    assert g == 6.0
    assert np.shape(g) == ()
    assert wg.grad(lambda p: p[0] * 2)((1.0, np.zeros(0)))[1].shape == (0,)


def test_an_argument_that_is_not_used() -> None:
    """Proved independent: zeros of its own shape and dtype, not None, and no error."""
    gx, gy = wg.grad(lambda x, y: np.sum(x), argnums=(0, 1))(np.ones(2), np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(gx, [1.0, 1.0])
    np.testing.assert_array_equal(gy, np.zeros((2, 3)))
    assert gy.dtype == np.float32


def test_non_contiguous_and_read_only_arguments() -> None:
    base = np.arange(12.0).reshape(3, 4)
    for x in (
        base.T,
        base[::2, ::-1],
        np.broadcast_to(np.arange(4.0), (3, 4)),
        np.asfortranarray(base),
        wg.constant(base),
    ):
        f = lambda x: np.sum(np.sin(x) * x)
        assert_gradient(wg.grad(f)(x), f, x, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(wg.jit(wg.grad(f))(x), wg.grad(f)(x))


def test_infinities_and_nans_go_through() -> None:
    """A NaN in the data is a NaN in its own derivative and in nobody else's."""
    x = np.array([1.0, np.nan, np.inf, 2.0])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x * x))(x), [2.0, np.nan, np.inf, 4.0])
    np.testing.assert_array_equal(wg.grad(lambda x: x[0] * x[3])(x), [2.0, 0.0, 0.0, 1.0])


def test_a_compiled_function_with_an_argument_that_is_no_array() -> None:
    """Strings, None and flags are part of the signature; what has no hash is refused by name."""
    f = wg.jit(lambda x, how, flag: np.sum(x) if how == "sum" and flag else np.prod(x), strict=True)
    x = np.array([2.0, 3.0])
    assert f(x, "sum", True) == 5.0
    assert f(x, "prod", True) == 6.0
    assert f(x, "sum", False) == 6.0
    assert f(x, "sum", True) == 5.0
    assert f(x, None, True) == 6.0
    with pytest.raises(TypeError):
        f(x, {1, 2}, True)


def test_an_array_of_text_or_objects() -> None:
    with pytest.raises(WengertError, match="dtype"):
        wg.jit(lambda x: x, strict=True)(np.array(["a", "b"]))
    with pytest.raises(WengertError, match="object"):
        wg.grad(lambda x: 1.0)(np.array([1.0, None], dtype=object))


def test_a_structure_that_contains_itself() -> None:
    loop: list[Any] = [1.0]
    loop.append(loop)
    with pytest.raises(StructureError):
        wg.grad(lambda p: p[0])(loop)


def test_a_jitted_function_that_reads_a_value_of_an_enclosing_trace() -> None:
    """A closure over a traced value, compiled inside: its derivative with respect to that value is not lost."""
    assert wg.grad(lambda x: wg.jit(lambda y: x * y)(2.0))(3.0) == 2.0


def test_a_jitted_function_is_not_stale_inside_of_another() -> None:
    inner_scale = np.array([2.0])
    inner = wg.jit(lambda x: x * inner_scale)
    outer = wg.jit(wg.grad(lambda x: np.sum(inner(x))))
    np.testing.assert_array_equal(outer(np.ones(1)), [2.0])
    inner_scale[0] = 5.0
    np.testing.assert_array_equal(outer(np.ones(1)), [5.0])
    np.testing.assert_array_equal(inner(np.ones(1)), [5.0])


def test_promises_that_contradict_each_other() -> None:
    with raises(NotDifferentiableError, HERE, "stop_gradient"):
        wg.grad(lambda x: np.sum(wg.constant(x)))(np.ones(2))
    total = 0.0

    def f(x: Any) -> Any:
        nonlocal total
        total = total + x
        return x

    with raises(CaptureError, "total", HERE, "try"):
        wg.jit(f, strict=True)(1.0)
