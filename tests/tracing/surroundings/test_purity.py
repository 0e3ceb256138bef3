"""NumPy scalars that are computed while tracing: constants where nothing can change them, never old where it can."""

from __future__ import annotations

import abc
import collections
import enum
import functools
import operator
import os
import random
import sys
import threading
import time
import types
import weakref
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special

import wengert as wg
from wengert.tracing.surroundings import purity

pytestmark = pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")  # here it is asked that nothing is stale

X = np.arange(3.0)
SCALE = 0.5


def helper(d: int) -> Any:
    return 1 / np.sqrt(d)


class Layer:
    def __init__(self, width: int) -> None:
        self.width = width

    @property
    def scale(self) -> Any:
        return np.sqrt(self.width) * self.factor()

    def factor(self) -> Any:
        return np.float64(2)


class Wide(Layer):
    pass


def normal(x: Any, d: int = 3) -> Any:
    return -0.5 * x * x - 0.5 * np.log(2 * np.pi) * d


layer, wide, width = Layer(5), Wide(7), 16

CLOSED: dict[str, Callable[[Any], Any]] = {
    "of a literal": lambda x: x / np.sqrt(7),
    "of NumPy's constants": normal,
    "of a global": lambda x: x * np.exp(SCALE),
    "of a helper": lambda x: x * helper(9),
    "of a property": lambda x: x * layer.scale,
    "of an inherited one": lambda x: x * wide.scale,
    "of a shape": lambda x: x / np.sqrt(x.shape[0]),
    "of a sum of numbers": lambda x: x * sum(np.log(k) for k in range(1, 5)),
    "of an own dtype": lambda x: x * np.float32(1.1) * np.int8(3),
    "as a power": lambda x: np.power(x, np.float64(3)) + np.float64(2) ** x,
    "in a where": lambda x: np.where(x > np.float64(1), x, np.float64(-1) * np.ones(3)),
    "written into an array": lambda x: written(x),
    "inside of a derivative": lambda x: wg.grad(lambda y: np.sum(np.sin(y) / np.sqrt(width)))(x),
    "of NumPy and SciPy functions": lambda x: x * np.max([np.linalg.norm([3.0, 4.0]), np.float64(2)]),
    "of a precision": lambda x: x + np.finfo(float).eps * np.iinfo(np.int64).max,
    "with errors off": lambda x: quietly(x),
    "an array from numbers": lambda x: x[np.ix_([0, 2])] * np.hanning(4)[1:3] + np.mgrid[0:2],
    "a large one": lambda x: x * np.sum(np.union1d(np.r_[0:5000.0], [1.5])),
    "a basis": lambda x: wg.jacobian(lambda y: y * np.sqrt(y[::-1] + 5))(x) @ wg.hessian(lambda y: np.sum(y**3))(x),
    "of SciPy": lambda x: x * special.ndtr(0.3) * special.gamma(np.float64(2.5)),
    "through functools and operators": lambda x: x * functools.reduce(lambda a, b: a * b, [np.float64(2), np.sqrt(3)]),
}


module = types.ModuleType("a_module_of_a_test")
module.width, module.options = 6, types.SimpleNamespace(scale=np.float32(2.5))
sys.modules["a_module_of_a_test"] = module


def quietly(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        return x * np.log(0.5)


def written(x: Any) -> Any:
    y = x.copy()
    y[1] = np.sqrt(2)
    return y


@pytest.mark.parametrize("name", CLOSED)
def test_a_constant_is_traced_once(name: str) -> None:
    step = wg.jit(CLOSED[name])
    for k in range(3):
        x = X + k
        got, expected = step(x), CLOSED[name](x)
        assert np.asarray(got).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(got, expected, rtol=1e-14)
    assert step.stats()["traces"] == 1 and not step.stats()["unrepeatable"]


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: wg.grad(f),
    "value_and_grad": lambda f: wg.value_and_grad(f),
    "grad of a compiled function": lambda f: wg.grad(wg.jit(f)),
    "jacobian": lambda f: wg.jacobian(f),
    "hessian": lambda f: wg.hessian(f),
    "grad of grad": lambda f: wg.grad(lambda x: np.sum(wg.grad(f)(x))),
    "vmap of grad": lambda f: lambda x: wg.vmap(wg.grad(f))(np.stack([x, x])),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_constant_of_a_function_that_is_transformed_is_traced_once(name: str) -> None:
    def density(x: Any) -> Any:
        return -0.5 * np.sum(x**3) - 0.5 * x.size * np.log(2 * np.pi) + np.sum(np.log(np.diag(np.outer(x + 1, x + 1))))

    expected = TRANSFORMED[name](density)
    step = wg.jit(TRANSFORMED[name](density))
    for k in range(3):
        got, want = step(X + k), expected(X + k)
        for g, w in zip(got if type(got) is tuple else (got,), want if type(want) is tuple else (want,), strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-12)
    assert step.stats()["traces"] == 1 and not step.stats()["unrepeatable"]


def test_a_number_from_elsewhere_in_a_function_that_is_transformed_is_never_old() -> None:
    numbers = iter([2.0, 3.0, 5.0])
    step = wg.jit(wg.grad(lambda x: x * np.sqrt(next(numbers))))
    assert [step(1.0) for _ in range(3)] == [np.sqrt(2.0), np.sqrt(3.0), np.sqrt(5.0)]


def test_what_a_constant_depends_on_is_looked_at() -> None:
    d = 4
    step = wg.jit(lambda x: x / np.sqrt(d) * layer.scale)
    np.testing.assert_allclose(step(X), X / 2 * layer.scale)
    d = 9
    np.testing.assert_allclose(step(X), X / 3 * layer.scale)
    layer.width = 11
    np.testing.assert_allclose(step(X), X / 3 * np.sqrt(11) * 2)
    assert step.stats()["traces"] == 3


def on_a_function() -> tuple[Any, Any]:
    def f() -> Any:
        return f.number

    return lambda v: setattr(f, "number", v), f


def on_a_partial() -> tuple[Any, Any]:
    p = functools.partial(abs)
    return lambda v: setattr(p, "number", v), lambda: p.number


def in_a_record() -> tuple[Any, Any]:
    record = np.zeros(1, [("a", "f8")])[0]
    return lambda v: record.__setitem__("a", v), lambda: record["a"]


def in_an_array_of_objects() -> tuple[Any, Any]:
    objects = np.array([[0.0], None], object)
    return lambda v: objects[0].__setitem__(0, v), lambda: objects[0][0]


def of_a_thread() -> tuple[Any, Any]:
    class Local(threading.local):
        pass

    local = Local()
    return lambda v: setattr(local, "number", v), lambda: local.number


def on_a_dict_of_its_own_kind() -> tuple[Any, Any]:
    class Config(dict):
        number: Any

    config = Config()
    return lambda v: setattr(config, "number", v), lambda: config.number


def of_a_metaclass() -> tuple[Any, Any]:
    class Meta(type):
        pass

    class Thing(metaclass=Meta):
        pass

    return lambda v: setattr(Meta, "number", v), lambda: Thing.number


def of_an_abstract_class() -> tuple[Any, Any]:
    class Base(abc.ABC):
        number: Any

    class Thing(Base):
        pass

    return lambda v: setattr(Base, "number", v), lambda: Thing.number


def of_a_module_that_answers() -> tuple[Any, Any]:
    module = types.ModuleType("answering")
    box: dict[str, Any] = {}
    module.__getattr__ = lambda name: box[name]
    return lambda v: box.__setitem__("number", v), lambda: module.number


def by_name() -> tuple[Any, Any]:
    box = types.SimpleNamespace()
    name = "num" + "ber"
    return lambda v: setattr(box, name, v), lambda: getattr(box, "num" + "ber")


def by_name_of_a_module() -> tuple[Any, Any]:
    name = "wid" + "th"
    return lambda v: setattr(module, name, v), lambda: getattr(module, "wid" + "th")


def by_name_of_a_method() -> tuple[Any, Any]:
    return put_global, lambda: getattr(Unit.metre, "fac" + "tor")()


def by_reference() -> tuple[Any, Any]:
    class Box:
        number: Any

    box = Box()
    _alive.append(box)
    reference = weakref.ref(box)
    return lambda v: setattr(box, "number", v), lambda: reference().number


def of_the_process() -> tuple[Any, Any]:
    return lambda v: os.environ.__setitem__("WENGERT_TEST_NUMBER", str(v)), lambda: np.float64(
        os.environ["WENGERT_TEST_NUMBER"]
    )


def by_import() -> tuple[Any, Any]:
    def read() -> Any:
        from tests.tracing import imported_number

        return imported_number

    import tests.tracing as here

    return lambda v: setattr(here, "imported_number", v), read


def put_into_numpy() -> tuple[Any, Any]:
    return lambda v: setattr(np, "number_of_a_test", v), lambda: np.number_of_a_test


def of_a_counter() -> tuple[Any, Any]:
    counter: Any = collections.Counter()
    return lambda v: counter.__setitem__("number", v), lambda: counter["number"]


def of_a_descriptor() -> tuple[Any, Any]:
    class Descriptor:
        value: Any

        def __get__(self, *_: Any) -> Any:
            return self.value

    class Thing:
        number = Descriptor()

    thing = Thing()
    return lambda v: setattr(vars(Thing)["number"], "value", v), lambda: thing.number


def of_slots() -> tuple[Any, Any]:
    class Slotted:
        __slots__ = ("number",)

    slotted = Slotted()
    return lambda v: setattr(slotted, "number", v), lambda: slotted.number


def of_a_set() -> tuple[Any, Any]:
    numbers: set[Any] = set()

    def put(v: Any) -> None:
        numbers.clear()
        numbers.add(v)

    return put, lambda: next(iter(numbers))


def of_an_option() -> tuple[Any, Any]:
    class Option(enum.Enum):
        first = [0.0]  # noqa: RUF012

    return lambda v: Option.first.value.__setitem__(0, v), lambda: Option.first.value[0]


class Box:
    number: Any


def of_an_object_in_a_set() -> tuple[Any, Any]:
    box = Box()
    boxes = {box}
    _alive.append(box)
    return lambda v: setattr(next(iter(boxes)), "number", v), lambda: sum(b.number for b in boxes)


def of_an_object_that_is_a_key() -> tuple[Any, Any]:
    boxes = {Box(): 1}
    return lambda v: setattr(next(iter(boxes)), "number", v), lambda: sum(b.number for b in boxes)


def of_an_object_among_many() -> tuple[Any, Any]:
    boxes = [Box()] * 10_001
    return lambda v: setattr(boxes[0], "number", v), lambda: boxes[0].number


def of_another_module() -> tuple[Any, Any]:
    return lambda v: setattr(module.options, "number", v), lambda: module.options.number


def of_an_array_of_another_module() -> tuple[Any, Any]:
    module.array = np.zeros(2)
    return lambda v: module.array.__setitem__(0, v), lambda: module.array[0]


NUMBER: Any = None


def put_global(v: Any) -> None:
    global NUMBER
    NUMBER = v


def number() -> Any:
    return NUMBER


class Unit(enum.Enum):
    metre = 1

    def factor(self) -> Any:
        return NUMBER


class Pair(NamedTuple):
    a: float

    def factor(self) -> Any:
        return NUMBER


class Static:
    __call__ = staticmethod(number)


class Recipe:
    """The well-known way to a property of a class."""

    def __get__(self, _: Any, owner: type) -> Any:
        return owner()


class Made:
    one = Recipe()

    def __init__(self) -> None:
        self.number = NUMBER


def of_a_method(owner: Any) -> Callable[[], tuple[Any, Any]]:
    return lambda: (put_global, lambda: owner.factor())


def of_a_static_method() -> tuple[Any, Any]:
    static = Static()
    return put_global, lambda: static()


def of_an_instance_that_a_descriptor_makes() -> tuple[Any, Any]:
    made = Made()
    return put_global, lambda: made.one.number


def of_a_pattern() -> tuple[Any, Any]:
    box = Box()

    def read() -> Any:
        match box:
            case Box(number=n):
                return n

    return lambda v: setattr(box, "number", v), read


def behind_a_decorator() -> tuple[Any, Any]:
    @functools.wraps(number)
    def read() -> Any:
        return read.__wrapped__()

    return put_global, read


def of_a_function_made_a_ufunc() -> tuple[Any, Any]:
    made = np.frompyfunc(lambda _: NUMBER, 1, 1)
    return put_global, lambda: made(0)


def of_a_module_by_another_way(xp: Any = np) -> tuple[Any, Any]:
    return lambda v: setattr(np, "number_of_a_test", v), lambda xp=xp: xp.number_of_a_test


def by_a_getter() -> tuple[Any, Any]:
    return lambda v: setattr(Box, "number", v), lambda: operator.attrgetter("number")(Box)


def of_another_class() -> tuple[Any, Any]:
    box = Box()

    def put(v: Any) -> None:
        box.__class__ = type("Box", (Box,), {"number": v})

    return put, lambda: box.number


def of_other_code() -> tuple[Any, Any]:
    def read() -> Any:
        return np.float64(0)

    def put(v: Any) -> None:
        read.__code__ = read.__code__.replace(co_consts=tuple(v if type(c) in (int, float) else c for c in consts))

    consts = read.__code__.co_consts
    return lambda v: put(float(v)), read


def in_place_of_a_builtin() -> tuple[Any, Any]:
    namespace: dict[str, Any] = {"np": np}
    exec("def read():\n    return np.float64(len([1, 1, 1, 1]))", namespace)

    def put(v: Any) -> None:
        if v != 4:
            namespace["len"] = lambda _: v

    return put, namespace["read"]


@pytest.mark.parametrize("kind", [np.float64, float])
def test_what_an_argument_s_class_reads(kind: Any) -> None:
    """Of a dataclass, whose arrays are traced, and of an object that is not."""

    @dataclass
    class Parameters:
        weights: Any

        def factor(self) -> Any:
            return NUMBER

    class Static:
        def factor(self) -> Any:
            return NUMBER

    for q in (Parameters(X), Static()):
        step = wg.jit(lambda x, q: x * q.factor())
        for value in (2.0, 3.0):
            put_global(kind(value))
            np.testing.assert_array_equal(step(X, q), X * value)


_alive: list[Any] = []
CHANGING = [
    on_a_function,
    on_a_partial,
    in_a_record,
    in_an_array_of_objects,
    of_a_thread,
    on_a_dict_of_its_own_kind,
    of_a_metaclass,
    of_an_abstract_class,
    of_a_module_that_answers,
    by_name,
    by_name_of_a_module,
    by_name_of_a_method,
    by_reference,
    of_the_process,
    by_import,
    put_into_numpy,
    of_a_counter,
    of_a_descriptor,
    of_slots,
    of_a_set,
    of_an_option,
    of_an_object_in_a_set,
    of_an_object_that_is_a_key,
    of_an_object_among_many,
    of_another_module,
    of_an_array_of_another_module,
    of_a_method(Unit.metre),
    of_a_method(Pair(1.0)),
    of_a_static_method,
    of_an_instance_that_a_descriptor_makes,
    of_a_pattern,
    behind_a_decorator,
    of_a_function_made_a_ufunc,
    of_a_module_by_another_way,
    by_a_getter,
    of_another_class,
    of_other_code,
    in_place_of_a_builtin,
]


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("kind", [np.float64, float])
@pytest.mark.parametrize("source", CHANGING)
def test_a_number_that_changes_is_never_old(source: Callable[[], tuple[Any, Any]], kind: type) -> None:
    put, read = source()
    step = wg.jit(lambda x: x * read() ** 0.5 + read())
    for number in (4.0, 9.0, 16.0, 16.0, 25.0):
        put(kind(number))
        np.testing.assert_allclose(step(X), X * np.sqrt(number) + number)


def test_a_file_is_read_at_every_call(tmp_path: Path) -> None:
    path = tmp_path / "number.npy"

    def imports_load(x: Any) -> Any:
        from numpy import load as read

        return x * read(path)[()]

    for step in (wg.jit(lambda x: x * np.load(path)[()]), wg.jit(imports_load)):
        for number in (2.0, 3.0):
            np.save(path, np.float64(number))
            np.testing.assert_allclose(step(X), X * number)
    path = tmp_path / "numbers"
    step = wg.jit(lambda x: x * np.memmap(path, float, "r")[0])
    for number in (2.0, 3.0):
        path.write_bytes(np.float64(number).tobytes())
        np.testing.assert_allclose(step(X), X * number)


VERDICTS: dict[str, tuple[Any, str | None]] = {
    "a function of NumPy's": (np.sum, ""),
    "a reader of NumPy's": (np.load, "reads a file"),
    "a ufunc of SciPy's": (special.gamma, ""),
    "a function of SciPy's": (special.logsumexp, ""),
    "a function of Python's": (operator.add, ""),
    "a clock": (time.perf_counter, "reads the clock"),
    "a module nobody thought of": (zipfile.ZipFile, "is not known to be the same at the next call"),
    "a builtin that looks around": (globals, "can reach what the code does not name"),
    "a builtin that runs code": (eval, "can reach what the code does not name"),
    "a builtin that reads": (open, "reads a file"),
    "a builtin that asks for input": (input, "reads from outside of the program"),
    "a builtin of identities": (id, "differs from object to object"),
    "another library": (pytest.approx, None),
    "a ufunc of the user's": (np.frompyfunc(abs, 1, 1), None),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_what_is_said_of_a_library(name: str) -> None:
    value, expected = VERDICTS[name]
    assert purity.verdict_on(value) == expected


ORIGINS: dict[str, tuple[Any, tuple[str, str]]] = {
    "a module": (np.linalg, ("numpy.linalg", "")),
    "a module in C": (sys.modules["_operator"], ("operator", "")),
    "a function of a private file": (np.linalg.norm, ("numpy.linalg", "norm")),
    "a ufunc": (np.sin, ("numpy", "sin")),
    "a ufunc of SciPy's": (special.gamma, ("scipy.special", "gamma")),
    "a ufunc of nobody's": (np.frompyfunc(abs, 1, 1), ("?", "abs (vectorized)")),
    "a function in C": (time.perf_counter, ("time", "perf_counter")),
    "a function of a private module in C": (operator.add, ("operator", "add")),
    "a function of the system's module": (os.getcwd, ("os", "getcwd")),
    "a method of an object in C": ([].append, ("builtins", "append")),
    "a method of a class in C": (dict.fromkeys, ("builtins", "fromkeys")),
    "a method of a generator": (random.random, ("random", "random")),
    "a class": (threading.local, ("threading", "_local")),
    "an object": (os.environ, ("os", "_Environ")),
    "a function of a test": (helper, (__name__, "helper")),
    "a method of a test's object": (layer.factor, (__name__, "factor")),
    "a test's object": (layer, (__name__, "Layer")),
    "a function that is said to be of another library": (
        types.FunctionType(helper.__code__, {"__name__": "numpy.linalg._linalg"}, "helper"),
        ("numpy.linalg._linalg", "helper"),
    ),
}


@pytest.mark.parametrize("name", ORIGINS)
def test_where_something_of_a_library_is_from(name: str) -> None:
    value, expected = ORIGINS[name]
    assert purity.origin_of(value) == expected


NAMES: dict[tuple[str, str], str | None] = {
    ("os", "_Environ"): "",
    ("os", "environ"): "asks the operating system",
    ("os.path", "join"): "",
    ("threading", "_local"): "",
    ("threading", "current_thread"): "differs from thread to thread",
    ("_pytest.assertion.rewrite", "rewrite"): "",
    ("_pytest.capture", "start"): None,
    ("numpy", "load"): "reads a file",
    ("numpy._core", "load"): "reads a file",
    ("numpy.random", "default_rng"): "",
    ("numpy.random", "rand"): purity.DRAWS,
    ("numpy.random._generator", "Unknown"): purity.DRAWS,
    ("scipy.stats._distn_infrastructure", "rv_frozen"): "",
    ("zipfile", "ZipFile"): "is not known to be the same at the next call",
    ("_zipfile_of_the_users", "read"): None,
    ("datetime", "datetime"): "",
    ("a_library", "f"): None,
    ("a_library.random", "f"): None,
    ("builtins", "open"): "reads from outside of the program",
    ("builtins", "len"): "",
    ("sys", "stdout"): "",
    ("sys", "argv"): "depends on the state of Python",
    ("json", "load"): "reads a file",
    ("json", "loads"): "",
    ("__future__", "annotations"): "",
    ("_collections_abc", "Mapping"): "",
    ("random", "Random"): "",
    ("secrets", "token_bytes"): "asks the system for random numbers",
}


@pytest.mark.parametrize("origin", NAMES, ids=".".join)
def test_what_is_said_of_a_name(origin: tuple[str, str]) -> None:
    assert purity.verdict(purity.Origin(*origin)) == NAMES[origin]


def test_a_private_name_is_public_where_the_module_is_python_s() -> None:
    for module, public in (
        ("posix", "os"), ("_io", "io"), ("_sre", "re"), ("_thread", "threading"), ("_random", "random"),
        ("__future__", "__future__"), ("_of_the_users", "_of_the_users"), ("numpy", "numpy"),
    ):  # fmt: skip
        assert purity.origin_of(types.ModuleType(module)) == (public, "")


WALKED: list[tuple[Any, bool]] = [
    (types, True), (types.ModuleType("a"), True), (1, True), (np.float64(1), True), ((1, "a"), True), ([1], True),
    ({"a": 1}, True), (slice(1), True), (functools.partial(abs), True), (layer.factor, True), (wg.jit(helper), True),
    (wg.grad(helper), True), (helper, False), (np.ones(1), False), (layer, False), (np.sin, False), (len, False),
    (np.zeros(1, [("a", "f8")])[0], False), (np.str_("a"), False), (enum, True), (object(), True),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), WALKED)
def test_what_is_made_of_nothing_but_its_parts(value: Any, expected: bool) -> None:
    assert purity.is_walked(value) == expected


def test_what_cannot_change() -> None:
    for value in (1, 1.5, True, "a", b"a", None, ..., range(3), np.int8(1), np.bool_(1), (1, ("a", None)), ()):
        assert purity.is_immutable(value)
    for value in ([], (1, []), {}, np.ones(1), np.str_("a"), np.datetime64(1, "s"), layer, helper, Pair(1.0), int):
        assert not purity.is_immutable(value)


def test_the_methods_that_read_more_than_their_object() -> None:
    assert "now" in purity.reading_methods(purity.Origin("datetime", "datetime"))
    assert "rvs" in purity.reading_methods(purity.Origin("scipy.stats._distn_infrastructure", "rv_frozen"))
    for module in ("scipy", "scipy.special", "numpy", "pathlib_of_a_test", ""):
        assert purity.reading_methods(purity.Origin(module, "")) == frozenset()


def test_an_attribute_by_which_code_gets_at_what_it_does_not_name() -> None:
    assert purity.looks_behind(("np", "sin", "__name__")) == ""
    assert purity.looks_behind(("np", "f_back", "__globals__")) == "f_back"
