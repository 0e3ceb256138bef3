"""Arrays are traced where the user's own code asks for them, in whatever way it does, and nowhere else."""

from __future__ import annotations

import functools
import gc
import operator
import sys
import textwrap
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.signal

import wengert as wg
from wengert.tracing import callers, functions  # noqa: F401  # functions: they fill the tables
from wengert.tracing.functions import ufuncs  # noqa: F401  # they fill the tables
from wengert.tracing.record import record_call
from wengert.tracing.tracer import Tracer


def made_while_tracing(make: Callable[[], Any]) -> Any:
    seen: list[Any] = []

    def f() -> float:
        seen.append(make())
        return 0.0

    record_call(f, [], name="f")
    return seen[0]


def in_a_variable() -> Any:
    make = np.zeros
    return make(3)


def in_a_cell() -> Any:
    make = np.zeros

    def inner() -> Any:
        return make(3)

    return inner()


def in_a_partial() -> Any:
    make = functools.partial(np.zeros, 3)
    return make()


def with_unpacking() -> Any:
    args, options = [(2, 3)], {"dtype": float}
    return np.zeros(*args, **options)


def of_a_namespace() -> Any:
    xp = np
    return xp.zeros(shape=3, dtype=float)


def over_lines() -> Any:
    return np.zeros(
        (
            2,
            3,
        ),
        dtype=float,
    )


def in_a_chain() -> Any:
    return (
        np.zeros(
            6,
        )
        .reshape(2, 3)
        .copy()
    )


def in_a_generator() -> Any:
    return next(np.zeros(n) for n in (3,))


def in_a_method() -> Any:
    class Model:
        size = 3

        def state(self) -> Any:
            return np.zeros(self.size)

    return Model().state()


def beside_compiled_code() -> Any:
    rng = np.random.default_rng(0)
    out = np.empty(3)
    out[:] = rng.normal(size=3)
    return out


def as_an_argument() -> Any:
    return np.add(np.zeros(3), np.random.default_rng(0).normal(size=3))


def conditional() -> Any:
    return np.zeros(3) if np.pi > 3 else np.ones(3)


UNSURE = pytest.mark.needs_extension("the instruction does not tell for certain what it calls")

USERS = [
    lambda: np.zeros(3),
    in_a_variable,
    in_a_cell,
    in_a_partial,
    with_unpacking,
    of_a_namespace,
    over_lines,
    in_a_chain,
    in_a_generator,
    in_a_method,
    beside_compiled_code,
    as_an_argument,
    conditional,
    lambda: [np.zeros(n) for n in (1, 2)].pop(),
    lambda: functools.reduce(lambda n, _: np.zeros(n), [3, 4]),
    lambda: eval("np.zeros(3)"),
    lambda: (lambda make=np.zeros: make(3))(),
    pytest.param(lambda: (np.zeros)(3), marks=UNSURE),
    pytest.param(lambda: list(map(np.zeros, [3])).pop(), marks=UNSURE),
    pytest.param(lambda: next(map(np.zeros, [3])), marks=UNSURE),
    pytest.param(lambda: {"zeros": np.zeros}["zeros"](3), marks=UNSURE),
    pytest.param(lambda: operator.methodcaller("zeros", 3)(np), marks=UNSURE),
    pytest.param(lambda: getattr(np, "zeros")(3), marks=UNSURE),  # noqa: B009
    lambda: list(map(np.ones, [3])).pop(),
    lambda: {"ones": np.ones}["ones"](3),
    pytest.param(lambda: operator.methodcaller("linspace", 0.0, 1.0, 3)(np), marks=UNSURE),
    lambda: max([3], key=lambda n: 0) and functools.partial(np.full, 3)(1.0),
]


@pytest.mark.parametrize("make", USERS, ids=range(len(USERS)))
def test_the_users_code_gets_traced_arrays(make: Any) -> None:
    assert type(made_while_tracing(make)) is Tracer


def sampled(sampler: Any) -> Any:
    return sampler(size=3)


COMPILED = [  # these ask numpy for arrays by name, from code that has no frame
    lambda: np.random.default_rng(0).normal(size=3),
    lambda: np.random.default_rng(0).multinomial(5, [0.5, 0.5]),
    lambda: np.random.default_rng(0).permutation(4),
    lambda: np.random.RandomState(0).randn(3),
    lambda: np.random.RandomState(0).dirichlet([1.0, 2.0]),
    lambda: np.random.default_rng(0).choice([1.0, 2.0, 3.0], size=2),
    lambda: list(map(np.random.default_rng(0).normal, [0.0, 1.0], [1.0, 1.0], [2, 2])).pop(),
    lambda: {"normal": np.random.default_rng(0).normal}["normal"](size=3),
    lambda: getattr(np.random.default_rng(0), "normal")(size=3),  # noqa: B009
    lambda: functools.partial(np.random.default_rng(0).normal, size=3)(),
    lambda: sampled(np.random.default_rng(0).normal),
]


@pytest.mark.parametrize("make", COMPILED, ids=range(len(COMPILED)))
def test_compiled_code_gets_numpys_arrays(make: Any) -> None:
    assert type(made_while_tracing(make)) is np.ndarray


def frame_of(module: str) -> FrameType:
    """A frame that runs code of a module of this name."""
    namespace: dict[str, Any] = {"__name__": module, "sys": sys}
    exec("frame = sys._getframe()", namespace)
    return namespace["frame"]


@pytest.mark.parametrize(
    ("module", "is_library", "is_internal", "is_opaque"),
    [
        ("wengert.api.chosen", True, True, True),
        ("numpy.linalg", True, True, True),
        ("scipy.optimize", True, True, True),
        ("wengert.optimize", False, True, False),  # built on top
        ("wengert.nn.layers", False, True, False),
        ("contextlib", True, True, False),
        ("functools", False, False, True),
        ("pandas.core", True, True, False),
        ("statistics", False, True, False),  # traced as far as it goes; errors are at the user's line
        ("logging.handlers", False, False, True),
        ("model", False, False, False),
        ("numpy_model", False, False, False),
    ],
)
def test_whose_code_it_is(module: str, is_library: bool, is_internal: bool, is_opaque: bool) -> None:
    frame = frame_of(module)
    assert callers.is_library(frame) == is_library
    assert callers.is_internal(frame) == is_internal
    assert callers.is_opaque(module) == is_opaque


@pytest.mark.deep("collections of garbage: 3 s")
def test_a_module_that_was_made_up_at_run_time_goes_when_it_is_let_go_of() -> None:
    class Probe:
        pass

    namespace: dict[str, Any] = {"__name__": "made.up", "sys": sys, "probe": Probe()}
    exec("frame = sys._getframe()", namespace)
    is_gone = weakref.ref(namespace["probe"])
    assert not callers.is_internal(namespace["frame"])
    del namespace
    gc.collect()
    assert is_gone() is None


def test_a_class_that_says_no_module_is_of_none() -> None:
    """As functions that Cython compiles, of which NumPy 2.3 has some: a function that named one was not compiled."""

    class Compiled:
        def __init__(self, f: Any) -> None:
            self.f = f

        def __call__(self, x: Any) -> Any:
            return self.f(x)

    Compiled.__module__ = property(lambda self: "somewhere")
    assert callers.module_of(Compiled) == "" and not isinstance(Compiled.__module__, str)
    assert callers.module_of(int) == "builtins"
    double = Compiled(lambda x: 2.0 * x)
    assert wg.jit(lambda x: double(x), strict=True)(3.0) == 6.0


def test_python_code_on_compiled_code_is_traced_with_a_traced_value_in_its_hands() -> None:
    """Scikit-learn makes an array for its results, and writes into it."""
    module: dict[str, Any] = {"__name__": "sklearn.of_a_test", "np": np}
    code = """
        def score(y, x):
            out = np.ones(2)
            out[np.array([True, False])] = np.sum((y - x) ** 2)
            return np.sum(out)

        def table(n):
            return np.ones(n)
    """
    exec(textwrap.dedent(code), module)
    assert wg.grad(lambda x: module["score"](2.0, x))(3.0) == 2.0
    made = made_while_tracing(lambda: module["table"](2))
    assert type(made) is np.ndarray


@pytest.mark.parametrize(("module", "expected"), [("xarray.core", True), ("xarray", True), ("xarray_tools", False)])
def test_a_module_whose_name_begins_as_a_library_s_is_the_users(module: str, expected: bool) -> None:
    assert callers.is_library(frame_of(module)) is expected


def bowl(p: Any) -> float:
    return float((p - 1) @ (p - 1) + 0.1 * (p**4).sum())


def slope(p: Any) -> Any:
    return np.array([2 * (p[k] - 1) + 0.4 * p[k] ** 3 for k in range(3)])


@pytest.mark.parametrize("method", ["SLSQP", "L-BFGS-B", "trust-constr", "BFGS", "TNC"])
def test_arrays_that_the_users_function_made_for_compiled_code_of_scipys_were_refused(method: str) -> None:
    """SciPy's code converts what the user's functions return by ``np.atleast_1d``, and hands it on."""
    only = {"type": "eq", "fun": lambda p: np.array([p @ p - 1]), "jac": lambda p: np.array([[2 * q for q in p]])}
    more = {"constraints": only} if method in ("SLSQP", "trust-constr") else {}

    def f(x: Any) -> Any:
        return (scipy.optimize.minimize(bowl, np.arange(3.0), method=method, jac=slope, **more).x * x).sum()

    at = np.array([1.0, 2.0, 4.0])
    for transform in (wg.value_and_grad, lambda f: wg.jit(wg.value_and_grad(f), strict=True)):
        value, gradient = transform(f)(at)
        assert value == pytest.approx(f(at), rel=1e-14)  # NumPy adds in another order on 64-bit ARM
        np.testing.assert_allclose(gradient, [f(at + e) - f(at) for e in np.eye(3)])


def test_array_code_of_scipys_gets_traced_arrays_for_traced_values_alone() -> None:
    """SciPy's code writes the coefficients into zeros that it makes itself, through its own names of NumPy's."""
    b, a = np.array([1.0]), np.array([1.0, 0.5])
    f = lambda b, a, w: np.sum(scipy.signal.lp2bp(b, a, w)[1])
    step = 1e-6
    expected = (f(b, a, 2 + step) - f(b, a, 2 - step)) / (2 * step)
    assert wg.grad(f, 2)(b, a, 2.0) == pytest.approx(expected, rel=1e-6)
    assert wg.grad(lambda w: w * f(b, a, 2.0))(2.0) == f(b, a, 2.0)
