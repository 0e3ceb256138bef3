"""What a traced value looks like to Python: its text, its type, its hash, the numbers of other libraries.

Each program takes the way that NumPy takes with it, plain and compiled, at every value; or it raises a typed error
that names the line. Never the other branch.
"""

from __future__ import annotations

import bisect
import collections
import copy
import ctypes
import dataclasses
import datetime
import enum
import functools
import heapq
import itertools
import json
import logging
import operator
import pickle
import random
import statistics
import string
import struct
from array import array as typed_array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import wengert as wg
from wengert.errors import ConcretizationError, UnsupportedFunctionError, WengertError

LOG = logging.getLogger(__name__)
HERE = r"(.|\n)*at .*test_looks\.py:\d+"
VALUES = (0.7, 0.8, 1.25, 0.7)


def as_python(f: Callable[[Any], Any], values: Any = VALUES, derivative: Callable[[Any], Any] | None = None) -> None:
    """``f`` gives what Python gives it, plain and compiled, at one value after another, and so does its derivative."""
    wants = [f(v) for v in values]
    for transformed in (wg.value_and_grad(f), wg.jit(wg.value_and_grad(f)), wg.jit(f)):
        for value, want in zip(values, wants, strict=True):
            got = transformed(value)
            if isinstance(got, tuple):
                got, slope = got
                want_slope = derivative(value) if derivative else (f(value + 1e-7) - f(value - 1e-7)) / 2e-7
                np.testing.assert_allclose(slope, want_slope, rtol=1e-5)
            np.testing.assert_allclose(got, want, rtol=1e-14)


def refused(f: Callable[[Any], Any], what: str, value: Any = 0.7) -> None:
    """``f`` raises our error, with the line here, plain and compiled."""
    compiled = wg.jit(f, strict=True)
    for transformed in (wg.grad(f) if isinstance(value, float) else compiled, compiled):
        with pytest.raises((ConcretizationError, UnsupportedFunctionError), match=what + HERE):
            transformed(value)


# ---------------------------------------------------------------------------------------------------------- text


def test_a_key_made_of_text_was_the_same_for_every_number() -> None:
    table = {"0.700": 2.0, "0.800": 3.0}
    as_python(lambda x: table.get(f"{x:.3f}", 5.0) * x, derivative=lambda x: table.get(f"{x:.3f}", 5.0))


def test_a_comparison_of_text_took_the_wrong_branch() -> None:
    as_python(lambda x: 2 * x if f"{x:.1f}" == "0.7" else 3 * x)
    as_python(lambda x: 2 * x if str(x) == "0.7" else 3 * x, derivative=lambda x: 2 if x == 0.7 else 3)
    as_python(lambda x: 2 * x if format(x, ".2f") == "0.80" else 3 * x)
    as_python(lambda x: 2 * x if repr(x) == "0.8" else 3 * x, derivative=lambda x: 2 if x == 0.8 else 3)
    as_python(lambda x: 2 * x if "%g" % x == "0.8" else 3 * x, derivative=lambda x: 2 if x == 0.8 else 3)  # noqa: UP031
    as_python(lambda x: 2 * x if "%d" % x == "0" else 3 * x)  # noqa: UP031
    as_python(lambda x: 2 * x if "%s" % x == "0.8" else 3 * x, derivative=lambda x: 2 if x == 0.8 else 3)  # noqa: UP031


def test_the_length_of_text_was_that_of_the_type() -> None:
    as_python(lambda x: len(f"{x:.6g}") * x, derivative=lambda x: len(f"{x:.6g}"))
    as_python(lambda x: len(string.Template("$a").substitute(a=x)) * x, derivative=lambda x: len(str(x)))


def test_setdefault_of_text_found_another_numbers_entry() -> None:
    def f(x: Any) -> Any:
        cache: dict[str, Any] = {}
        for factor in (1.0, 2.0, 1.0):
            cache.setdefault(str(x * factor), []).append(factor)
        return x * len(cache) * len(cache[str(x)])

    as_python(f, derivative=lambda x: 4.0)


def test_the_text_of_minus_zero_is_not_that_of_zero() -> None:
    as_python(lambda x: 2 * x + (1 if str(x).startswith("-") else 3), values=(0.0, -0.0, 0.0), derivative=lambda x: 2)


def test_the_text_of_an_array_was_its_type() -> None:
    def f(x: Any) -> Any:
        return np.sum(x) * len(str(x)) + len(f"{x[0]}") + len(repr(x))

    g = wg.jit(f)
    for x in (np.ones(2), np.array([1.5, 2.25]), np.ones(2)):
        assert g(x) == f(x)
        np.testing.assert_array_equal(wg.grad(f)(x), np.full(2, float(len(str(x)))))


def test_a_message_shows_the_number_of_this_call(capsys: Any, caplog: Any) -> None:
    def f(x: Any) -> Any:
        print(f"x = {x:.3f}", x, "%g" % x)  # noqa: UP031
        LOG.warning("x is %s, %.2f", x, x)
        return x * x

    for g in (wg.grad(f), wg.jit(wg.grad(f))):
        g(0.75)
        assert capsys.readouterr().out == "x = 0.750 0.75 0.75\n"
        assert caplog.messages.pop() == "x is 0.75, 0.75"


def test_text_for_people_is_no_guard() -> None:
    def f(x: Any) -> Any:
        print(f"x = {x:.3f}")
        return x * x

    g = wg.jit(f)
    for value in VALUES:
        g(value)
    assert g.stats()["traces"] == 1


def test_an_exception_shows_the_number_of_this_call() -> None:
    def f(x: Any) -> Any:
        if x > 0:
            raise ValueError(f"bad x: {x:.2f}")
        assert x < -1, f"x is {x}"
        return x

    for g in (wg.grad(f), wg.jit(wg.grad(f)), wg.jit(f)):
        with pytest.raises(ValueError, match=r"bad x: 0\.70"):
            g(0.7)
        with pytest.raises(AssertionError, match=r"x is -0\.5"):
            g(-0.5)


def test_text_in_a_batch_shows_the_type_or_is_refused(capsys: Any) -> None:
    wg.vmap(lambda x: (print(f"x = {x:.3f}"), x)[1])(np.ones(3))
    assert capsys.readouterr().out == "x = traced(float64[])\n"
    for f in (wg.vmap(lambda x: len(str(x)) * x), wg.jit(wg.vmap(wg.grad(lambda x: len(str(x)) * x)))):
        with pytest.raises(ConcretizationError, match=HERE):
            f(np.ones(3))


def test_a_number_read_from_text_lost_its_derivative() -> None:
    refused(lambda x: float(str(x)) * x, r"float\(\) of the text of a traced float64")
    refused(lambda x: float(f"{x:.3f}") * x, r"float\(\) of the text of a traced float64")
    refused(lambda x: np.float64("{:.3f}".format(x)) * x, r"float64\(\) of the text of a traced float64")  # noqa: UP032
    refused(lambda x: Decimal("%.3f" % x), r"Decimal\(\) of the text of a traced float64")  # noqa: UP031
    as_python(lambda x: int(f"{x:.0f}") * x)  # a step, as int(x) is


def test_text_of_nested_derivatives_is_that_of_the_value() -> None:
    def f(x: Any) -> Any:
        return x**3 if f"{x:.1f}" == "0.7" else x**2

    for second in (wg.grad(wg.grad(f)), wg.jit(wg.grad(wg.grad(f))), wg.grad(wg.jit(wg.grad(f)))):
        np.testing.assert_allclose([second(0.7), second(0.8), second(0.7)], [4.2, 2.0, 4.2], rtol=1e-14)


def test_text_inside_of_another_transform_is_that_of_the_outer_value() -> None:
    def batched(x: Any) -> Any:
        return np.sum(wg.vmap(lambda a: a * x * len(f"{x:.1f}"))(np.ones(2)))

    def nested(x: Any) -> Any:
        return wg.grad(lambda y: y * x * len(f"{y:.1f}"))(x)

    for f, slope in ((batched, lambda x: 2.0 * len(f"{x:.1f}")), (nested, lambda x: 1.0 * len(f"{x:.1f}"))):
        as_python(f, values=(2.0, 12.0, 2.0), derivative=slope)


def test_a_logger_of_a_module_made_a_compiled_function_write_what_it_captured() -> None:
    class Solver:
        def __init__(self) -> None:
            self.log = LOG

        def loss(self, x: Any) -> Any:
            self.log.warning(f"x = {x:.2f}")
            return x * x

    g = wg.jit(wg.grad(Solver().loss))
    assert [g(v) for v in VALUES] == [2 * v for v in VALUES]
    assert g.stats()["traces"] == 1


# ---------------------------------------------------------------------------------------------------------- hash


def test_a_table_indexed_by_a_traced_integer_was_unhashable() -> None:
    table = {0: 2.0, 1: 3.0}
    kinds = np.array([0, 1, 0])

    def f(x: Any, kinds: Any) -> Any:
        return sum(table[k] * v for k, v in zip(kinds, x, strict=True))

    for g in (wg.grad(f), wg.jit(wg.grad(f)), wg.grad(lambda x, k: f(x, k)), wg.grad(lambda x, _: f(x, kinds))):
        np.testing.assert_array_equal(g(np.ones(3), kinds), [2.0, 3.0, 2.0])
    g = wg.jit(wg.grad(f))
    for k in ([0, 1, 0], [1, 1, 0], [0, 0, 0]):
        np.testing.assert_array_equal(g(np.ones(3), np.array(k)), [table[i] for i in k])


def test_a_set_of_traced_integers_counts_them() -> None:
    def f(x: Any, k: Any) -> Any:
        return x * len(set(k)) + collections.Counter(k)[3]

    g = wg.jit(f)
    for k in ([1, 2, 3], [1, 1, 3], [3, 3, 3]):
        assert g(2.0, np.array(k)) == f(2.0, k)


def test_a_float_as_a_key_is_refused_in_our_words() -> None:
    refused(lambda x: {round(x, 3): 2.0}[0.7] * x, "cannot be a key of a dict")
    refused(lambda x: x * len({x}), "an element of a set")
    refused(lambda x: hash(x) * x, "its derivative would be lost")
    as_python(lambda x: {700: 2.0, 800: 3.0}.get(round(x * 1000), 5.0) * x)
    as_python(lambda x: 2 * x if x in (0.7, 0.8) else 3 * x, derivative=lambda x: 3 if x == 1.25 else 2)


OF_LOCAL_CACHE = pytest.mark.needs_extension("a cache that a local variable holds is called as it is")


@OF_LOCAL_CACHE
def test_a_function_with_a_cache_is_called_for_a_traced_value() -> None:
    as_python(lambda x: functools.lru_cache(lambda v: 2 * v)(x), derivative=lambda x: 2)


def test_an_array_as_a_key_is_refused_as_numpy_does() -> None:
    for f in (wg.grad(lambda x: {x: 1}), wg.jit(lambda x: {x: 1}, strict=True)):
        with pytest.raises(TypeError, match=r"unhashable type: 'numpy\.ndarray'"):
            f(np.ones(3))


def test_a_key_that_stays_behind_is_the_number_it_was() -> None:
    kept: dict[Any, str] = {}

    def f(x: Any, k: Any) -> Any:
        kept[k] = "three"
        return x * k

    wg.grad(f)(2.0, np.int64(3))
    wg.jit(lambda x, k: (kept.setdefault(k, "other"), x)[1])  # never called: nothing is added
    assert len(kept) == 1
    assert kept[3] == "three"
    assert kept.get(4) is None
    assert 3.0 in kept
    assert list(kept) == [3]
    kept[3] = "again"
    assert len(kept) == 1


@OF_LOCAL_CACHE
def test_a_cache_keeps_no_traced_result() -> None:
    @functools.lru_cache
    def times(k: Any, by: int) -> Any:
        return k * by

    assert wg.jit(lambda x, k: x * times(k, 2))(1.5, 3) == 9.0
    assert times(3, 2) == 6
    assert wg.grad(lambda x: x * times(int(4 * x) + np.argmax(np.stack([x, 2 * x])), 2))(1.5) == 14.0
    assert times.cache_info().currsize == 1
    assert times(7, 2) + 1 == 15


# ---------------------------------------------------------------------------------------------------------- type


def is_number(v: Any) -> bool:
    return type(v) in (float, np.float64)


class Model:
    def __init__(self, slope: Any) -> None:
        self.slope = slope

    def loss(self, x: Any) -> Any:
        return self.slope * x if type(x) is float else -x

    @staticmethod
    def offset(x: Any) -> Any:
        return 2 * x if type(x) == float else 3 * x  # noqa: E721

    @property
    def rule(self) -> Any:
        return lambda x: 2 * x if type(x) is float else 3 * x


MODEL = Model(2.0)
HANDLERS: dict[type, Any] = {float: lambda x: 2 * x, np.float64: lambda x: 4 * x, np.ndarray: lambda x: np.sum(5 * x)}


def in_a_closure() -> Callable[[Any], Any]:
    def is_float(v: Any) -> bool:
        return type(v) is float

    return lambda x: 2 * x if is_float(x) else 3 * x


def beside_another_type(x: Any) -> Any:
    class Tag:
        type = 3

    made = type("Made", (), {"type": 2})
    return Tag.type * made().type * (2 * x if type(x) is float and isinstance(type(x), type) else x)


BY_TYPE: dict[str, Callable[[Any], Any]] = {
    "in a tuple": lambda x: 2 * x if type(x) in (float, np.float64) else 3 * x,
    "is": lambda x: 2 * x if type(x) is float else 3 * x,
    "is not": lambda x: 2 * x if type(x) is not float else 3 * x,
    "==": lambda x: 2 * x if type(x) == float else 3 * x,  # noqa: E721
    "a table of handlers": lambda x: HANDLERS[type(x)](x),
    "get of a table": lambda x: HANDLERS.get(type(x), lambda v: 7 * v)(x),
    "its name": lambda x: len(type(x).__name__) * x,
    "its text": lambda x: len(str(type(x))) * x,
    "issubclass": lambda x: 2 * x if issubclass(type(x), float) else 3 * x,
    "np.issubdtype": lambda x: 2 * x if np.issubdtype(type(x), np.floating) else 3 * x,
    "as a constructor": lambda x: type(x)(3.0) * x,
    "a helper": lambda x: 2 * x if is_number(x) else 3 * x,
    "a helper in a closure": in_a_closure(),
    "a helper in a list": lambda x, helpers=[is_number]: 2 * x if helpers[0](x) else 3 * x,
    "a method": lambda x: MODEL.loss(x) + Model.offset(x) + MODEL.rule(x),
    "a bound method": MODEL.loss,
    "a partial": functools.partial(lambda k, x: k * x if type(x) is float else 0.0 * x, 2.0),
    "another type": beside_another_type,
    "of what is computed": lambda x: 2 * x if type(x + 1) is float else 3 * x,
    "match on it": lambda x: 2 * x if (type(x), 1) == (float, 1) else 3 * x,
    "a compiled helper": wg.jit(lambda x: 2 * x if type(x) is float else 3 * x),
}


@pytest.mark.parametrize("name", BY_TYPE)
def test_type_of_a_traced_number_was_that_of_no_number(name: str) -> None:
    f = BY_TYPE[name]
    as_python(f)
    as_python(f, tuple(map(np.float64, VALUES)))
    second = wg.grad(wg.grad(lambda x: f(x) * x))(0.7)
    np.testing.assert_allclose(second, 2 * f(1.0), rtol=1e-14)
    if not hasattr(f, "stats"):
        g = wg.jit(f)
        for value in VALUES:
            g(value)
        assert g.stats()["traces"] == 1


def test_type_of_a_traced_array_is_ndarray() -> None:
    def f(x: Any) -> Any:
        return HANDLERS[type(x)](x) if type(x) is np.ndarray and type(x[0]) is np.float64 else np.sum(x)

    for g in (wg.grad(f), wg.jit(wg.grad(f))):
        np.testing.assert_array_equal(g(np.ones(2)), [5.0, 5.0])
    np.testing.assert_array_equal(wg.vmap(lambda x: 2 * x if type(x) is np.float64 else 3 * x)(np.ones(2)), [2.0, 2.0])


def test_type_where_it_cannot_be_answered_is_no_other_class() -> None:
    for use in (  # the line is that of the text that is evaluated
        lambda x: 2 * x if eval("lambda v: type(v) == float")(x) else 3 * x,
        lambda x: 2 * x if eval("lambda v: type(v) in (float, int)")(x) else 3 * x,
        lambda x: eval("lambda table, v: table.get(type(v), 1.0)")({float: 2.0}, x) * x,
    ):
        for g in (wg.grad(use), wg.jit(use, strict=True)):
            with pytest.raises(ConcretizationError, match=r"type\(\) of a traced value(.|\n)*at .*<string>:1"):
                g(0.7)


def test_functions_have_their_own_code_again() -> None:
    before = is_number.__code__, Model.loss.__code__
    wg.grad(lambda x: MODEL.loss(x) if is_number(x) else x)(0.7)
    with pytest.raises(ZeroDivisionError):
        wg.grad(lambda x: MODEL.loss(x) / 0 if is_number(x) and 1 // 0 else x)(0.7)
    wg.jit(lambda x: MODEL.loss(x) if is_number(x) else x)(0.7)
    assert (is_number.__code__, Model.loss.__code__) == before


# --------------------------------------------------------------------------------------- numbers of other libraries

LIBRARIES: dict[str, Callable[[Any], Any]] = {
    "mpmath.sin": lambda x: float(mpmath.sin(x)),
    "mpmath.mpf": lambda x: float(mpmath.mpf(x)) * x,
    "decimal.Decimal": lambda x: float(Decimal(x)),
    "fractions.Fraction": lambda x: float(Fraction(x)),
    "statistics.mean": lambda x: statistics.mean([x, 2 * x]),
    "statistics.stdev": lambda x: statistics.stdev([x, 2 * x]),
    "statistics.variance": lambda x: statistics.variance([x, 2 * x]),
    "struct.pack": lambda x: struct.unpack("d", struct.pack("d", x))[0],
    "json.dumps": lambda x: float(json.dumps({"x": x})[6:-1]),
    "datetime.timedelta": lambda x: datetime.timedelta(seconds=x).total_seconds(),
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_function_of_a_library_is_refused_by_its_name(name: str) -> None:
    refused(LIBRARIES[name], rf"{name} is not traced")


def test_what_stores_numbers_of_c_is_refused() -> None:
    refused(lambda x: typed_array("d", [x])[0] * x, "would cut its derivative")
    refused(lambda x: ctypes.c_double(x).value * x, "would cut its derivative")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: statistics.fmean([x, 2 * x]),
        lambda x: statistics.geometric_mean([x, 2 * x]),
        pytest.param(
            lambda x: statistics.NormalDist(x, 1.0).cdf(0.3),
            marks=pytest.mark.needs_extension("float(x) in a library's code is called as it is"),
        ),
        lambda x: statistics.linear_regression([1.0, 2.0], [x, 2 * x]).slope,
    ],
)
def test_what_computes_by_the_functions_of_math_is_traced(f: Any) -> None:
    as_python(f)


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")  # what draws is traced at every call
def test_what_only_compares_and_adds_is_traced() -> None:
    as_python(lambda x: statistics.median([x, 2 * x, 3 * x]))
    as_python(lambda x: random.uniform(x, x) + random.choice([x, x]))
    as_python(lambda x: Fraction(1, 2) + x if isinstance(x, int) else x / 2)
    as_python(lambda x: heapq.nlargest(1, [x, 2 * x, x * x])[0] + heapq.nsmallest(1, [x, 1.0])[0])
    as_python(lambda x: bisect.bisect([0.1, 0.75, 1.0], x) * x)
    as_python(lambda x: sorted([2 * x, x, 1.0])[0] + min(x, 1.1) + max([x, 2 * x], key=lambda v: -v))
    as_python(lambda x: list(itertools.accumulate([x, x * x, x]))[-1] + functools.reduce(operator.mul, [x, x, x]))
    as_python(lambda x: sum(1 for _ in itertools.groupby([x, x, 2 * x])) * x)


# --------------------------------------------------------------------------------------------------- other hazards


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


class Level(enum.Enum):
    LOW = 0.7
    HIGH = 0.8


def by_class(x: Any) -> Any:
    match x:
        case float():
            return 2 * x
        case np.ndarray():
            return 5 * x
        case _:
            return 3 * x


def by_shape(x: Any) -> Any:
    match [x, 2 * x]:
        case [a, b] if a < 0.75:
            return a * b
        case [a, *rest]:
            return a + sum(rest)


@functools.singledispatch
def dispatched(x: Any) -> Any:
    return 3 * x


@dispatched.register
def _(x: float) -> Any:
    return 2 * x


@dispatched.register
def _(x: np.ndarray) -> Any:
    return np.sum(4 * x)


LIKE_A_FLOAT: dict[str, Callable[[Any], Any]] = {
    "match by class": by_class,
    "match by shape": by_shape,
    "singledispatch": dispatched,
    "__class__": lambda x: 2 * x if x.__class__ is float else 3 * x,
    "issubclass of __class__": lambda x: 2 * x if issubclass(x.__class__, float) else 3 * x,
    "np.issubdtype of __class__": lambda x: 2 * x if np.issubdtype(x.__class__, np.floating) else 3 * x,
    "copy": lambda x: copy.copy(x) * copy.deepcopy([x, {"x": x}])[0],
    "dataclasses.replace": lambda x: (lambda p: p.a * p.b)(dataclasses.replace(Pair(x, x), b=2 * x)),
    "dataclasses.asdict": lambda x: dataclasses.asdict(Pair(x, x))["a"] * 2,
    "equal dataclasses": lambda x: x * (Pair(x, 1.0) == Pair(x, 1.0)),
    "identity": lambda x: 2 * x if x is x else 3 * x,
    "an enumeration by its value": lambda x: 2 * x if x > 1 else Level(x).value * x,
    "in a tuple": lambda x: 2 * x if x in (0.7, 0.9) else 3 * x,
    "index of a list": lambda x: [1.25, 0.7, 0.8].index(x) * x,
    "count of a list": lambda x: [x, x, 1.0].count(x) * x,
    "remove from a list": lambda x: (lambda items: (items.remove(x), sum(items))[1])([x, 2 * x]),
    "vars": lambda x: 2 * x if not hasattr(x, "__dict__") else 3 * x,
    "dir": lambda x: ("fill" in dir(x)) * x + ("hex" in dir(x)) * x,
    "is_integer": lambda x: x * (2 if (4 * x).is_integer() else 3),
    "getattr with a default": lambda x: getattr(x, "foo", 3.0) * x,
    "divmod": lambda x: divmod(x, 0.3)[1] + divmod(2, x)[0],
    "round": lambda x: round(x) * x,
    "int": lambda x: int(3 * x) * x,
    "a walrus and a star": lambda x: (y := x * 2) * (lambda *a: a[0] * a[1])(*(x, y)),
    "comparison by a key": lambda x: sorted([2 * x, x], key=functools.cmp_to_key(lambda a, b: 1 if a > b else -1))[0],
    "slices by a traced integer": lambda x: sum([x, 2 * x, 3 * x][: round(3 * x)]),
    "range of a traced integer": lambda x: sum(x * k for k in range(int(3 * x))),
    "operator.index": lambda x: operator.index(round(3 * x)) * x,
    "attrgetter": lambda x: operator.attrgetter("real")(x) * x,
    "np.ndim and np.shape": lambda x: x * (np.ndim(x) + len(np.shape(x)) + 1),
    "del": lambda x: (lambda d: (d.pop("x"), d)[0])({"x": x}) * 2,
    "a default dict": lambda x: (lambda d: [d["a"].append(x), d["a"]][1][0])(collections.defaultdict(list)) * x,
}


if hasattr(Level, "_unhashable_values_map_"):  # as of Python 3.12 or 3.13, Enum looks numbers up by their hash alone
    del LIKE_A_FLOAT["an enumeration by its value"]

STEPS = {"in a tuple", "index of a list", "an enumeration by its value", "is_integer"}
"""Of these the branch is taken at single values, where differences see the others."""


@pytest.mark.parametrize("name", LIKE_A_FLOAT)
def test_a_traced_float_is_as_a_float_to(name: str) -> None:
    f = LIKE_A_FLOAT[name]
    values = (0.7, 0.8, 0.7) if "index" in name or "enumeration" in name else VALUES
    as_python(f, values, derivative=(lambda x: f(x) / x) if name in STEPS else None)


def test_a_traced_integer_is_as_an_integer() -> None:
    def f(x: Any, k: Any) -> Any:
        digits = k.bit_length() + k.bit_count() + k.numerator + k.denominator + len(k.to_bytes(2, "big"))
        return x * digits + [x, 2 * x, 3 * x, 4 * x][k] + sum([x] * k) + k.as_integer_ratio()[0]

    g, h = wg.jit(f), wg.jit(wg.grad(f))
    for k in (3, 1, 2, 3):
        assert g(1.5, k) == f(1.5, k)
        assert h(1.5, k) == f(1.0, k) - k


def test_what_would_cut_the_derivative_is_refused() -> None:
    refused(lambda x: float.fromhex(x.hex()), r"hex\(\) of a traced")
    refused(lambda x: x.as_integer_ratio()[0] * x, r"as_integer_ratio\(\) of a traced")


def test_what_a_float_has_not_a_traced_float_has_not() -> None:
    for use in (
        lambda x: x.foo,
        lambda x: vars(x),
        lambda x: x.__dict__,
        lambda x: [1, 2][x],
        lambda x: "a" * x,
        lambda x: len(x),
        lambda x: list(x),
        lambda x: operator.index(x),
        lambda x: pickle.dumps(lambda: x),
        lambda x: x(),
        lambda x: x[0],
        lambda x: ",".join([x]),
        lambda x: x.__array_interface__,
    ):
        for f in (wg.grad(use), wg.jit(use, strict=True)):
            with pytest.raises((TypeError, AttributeError, IndexError, pickle.PicklingError)):
                f(0.7)


def test_a_traced_value_is_not_pickled() -> None:
    for f in (wg.grad(lambda x: pickle.dumps(x)), wg.jit(lambda x: pickle.dumps([x]), strict=True)):
        with pytest.raises(TypeError, match="cannot be pickled"):
            f(0.7)
    assert issubclass(ConcretizationError, WengertError)
