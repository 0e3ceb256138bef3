"""What a function reads from around itself is never old: watched, or read by the function itself, which is heard."""

from __future__ import annotations

import abc
import builtins
import contextvars
import datetime
import decimal
import functools
import gc
import importlib
import inspect
import io
import json
import locale
import math
import operator
import os
import pathlib
import pickle
import platform
import random
import sys
import threading
import time
import types
import uuid
import warnings
import weakref
from collections.abc import Callable
from fractions import Fraction
from os import environ, getenv
from pathlib import Path
from random import random as draw
from time import perf_counter
from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg
from tests.tracing.surroundings.ways import constants, readers
from tests.tracing.surroundings.ways import models as m

pytestmark = pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")  # here it is asked that nothing is stale

X = np.array([0.5, 1.5])
Put = Callable[[float], Any]
Hazard = tuple[Put, Callable[[Any], Any]]
"""How the surroundings are changed, and a function that reads them."""

NAME = "WENGERT_TEST_RATE"
RATE: Any = 1.0
variable: contextvars.ContextVar[Any] = contextvars.ContextVar("variable", default=1.0)
local = threading.local()
this = sys.modules[__name__]


def put_environment(v: float) -> None:
    os.environ[NAME] = str(v)


def put_global(v: float) -> None:
    global RATE
    RATE = v


class Local(threading.local):
    pass


class Counter:
    count: Any = 0.0

    def __init__(self) -> None:
        self.count = Counter.count


class Shape(abc.ABC):  # noqa: B024
    pass


class Rate:
    def __init__(self) -> None:
        self.value = 1.0


own_local = Local()
rates = [Rate()]
reference = weakref.ref(rates[0])
record = np.zeros(1, [("a", float)])[0]
polynomial = np.polynomial.Polynomial([1.0, 2.0])
poly1d = np.poly1d([1.0, 2.0])
table = types.MappingProxyType({})
hung: Any = lambda x: x
made_by_code: dict[str, Any] = {"np": np, "rate": 1.0}
exec("def read(x):\n    return x * rate", made_by_code)
module_by_hand = types.ModuleType("module_by_hand")
vars(module_by_hand)["rate"] = 1.0
part: Any = functools.partial(lambda x, **rates: x * sum(rates.values()), a=1.0)
members = {"a": Rate()}


def uses_an_attribute_that_may_be_there(x: Any) -> Any:
    return x * getattr(hung, "rate", 1.0)


def deletes(v: float) -> None:
    if v == 2.0:
        constants.TABLE.pop("gone", None)
    else:
        constants.TABLE["gone"] = v


def put_decimals(v: float) -> None:
    decimal.getcontext().prec = int(v)


def put_key(v: float) -> None:
    part.keywords.clear()
    part.keywords.update({"a": 1.0} if v == 2.0 else {"a": 1.0, "b": v})


def put_registered(v: float) -> None:
    if v == 3.0:
        Shape.register(Rate)


def put_dispatch(v: float) -> None:
    readers.kind_of.register(float, lambda x: v)


def put_rounding(v: float) -> None:
    np.set_printoptions(precision=int(v))


def put_error_state(v: float) -> None:
    np.seterr(divide="ignore" if v == 2.0 else "warn")


def put_recursion_limit(v: float) -> None:
    sys.setrecursionlimit(5000 + int(v))


def put_reloaded(v: float) -> None:
    importlib.reload(constants)
    constants.RATE = v


def put_counts(v: float) -> None:
    (readers.counted.__defaults__ or ([],))[0].append(v)


def put_default(v: float) -> None:
    readers.defaulted.__defaults__ = (v,)


def put_file(path: Path) -> Put:
    def put(v: float) -> None:
        path.write_text(json.dumps([v, v]))
        np.savetxt(path.with_suffix(".txt"), [v])
        np.save(path.with_suffix(".npy"), [v])
        path.with_suffix(".pickle").write_bytes(pickle.dumps(v))

    return put


def opened(path: Path) -> float:
    with open(path) as file:
        return json.load(file)[0]


HAZARDS: dict[str, Hazard] = {
    "the environment": (put_environment, lambda x: x * float(os.environ[NAME])),
    "the environment by get": (put_environment, lambda x: x * float(os.environ.get(NAME, "1"))),
    "the environment by getenv": (put_environment, lambda x: x * float(os.getenv(NAME, "1"))),
    "the environment by its own name": (put_environment, lambda x: x * float(environ[NAME])),
    "the environment by getenv's own name": (put_environment, lambda x: x * float(getenv(NAME, "1"))),
    "the environment, whether it is there": (
        put_environment,
        lambda x: x * (NAME in os.environ) * float(environ[NAME]),
    ),
    "the command line": (lambda v: sys.argv.__setitem__(slice(1, None), [str(v)]), lambda x: x * float(sys.argv[1])),
    "the length of the command line": (lambda v: sys.argv.append(str(v)), lambda x: x * len(sys.argv)),
    "the limit of recursion": (put_recursion_limit, lambda x: x * sys.getrecursionlimit()),
    "a context variable": (variable.set, lambda x: x * variable.get()),
    "an object in a context variable": (
        lambda v: (variable.set(rates[0]), setattr(rates[0], "value", v)),
        lambda x: x * variable.get().value,
    ),
    "of a thread": (lambda v: setattr(local, "rate", v), lambda x: x * local.rate),
    "of a thread, of an own class": (lambda v: setattr(own_local, "rate", v), lambda x: x * own_local.rate),
    "the context of decimals": (put_decimals, lambda x: x * float(decimal.Decimal(1) / decimal.Decimal(7))),
    "the precision of decimals": (put_decimals, lambda x: x * decimal.getcontext().prec),
    "errors of NumPy": (put_error_state, lambda x: x * len(np.geterr()["divide"])),
    "what NumPy prints": (put_rounding, lambda x: x * np.get_printoptions()["precision"]),
    "warnings": (lambda v: warnings.simplefilter("ignore", append=True), lambda x: x * len(warnings.filters)),
    "globals()": (put_global, lambda x: x * globals()["RATE"]),
    "vars() of a module": (put_global, lambda x: x * vars(this)["RATE"]),
    "the dict of a module": (lambda v: setattr(constants, "NEW", v), lambda x: x * constants.__dict__.get("NEW", 1.0)),
    "an attribute that is not there": (
        lambda v: setattr(constants, "NEWER", v),
        lambda x: x * getattr(constants, "NEWER", 1.0),
    ),
    "whether an attribute is there": (
        lambda v: setattr(constants, "NEWEST", v),
        lambda x: x * constants.NEWEST if hasattr(constants, "NEWEST") else x,
    ),
    "an attribute that is tried": (lambda v: setattr(constants, "TRIED", v), lambda x: tries(x)),
    "an attribute of a function that is tried": (lambda v: setattr(tries, "rate", v), lambda x: tries_itself(x)),
    "an attribute of a computed name that is not there": (
        lambda v: setattr(constants, "NEWER2", v),
        lambda x: x * getattr(constants, "".join(["NEW", "ER2"]), 1.0),
    ),
    "the names of a module": (lambda v: setattr(constants, "a" * int(v), v), lambda x: x * len(dir(constants))),
    "the attributes of an object": (
        lambda v: setattr(rates[0], "b" * int(v), v),
        lambda x: x * sum(v for k, v in vars(rates[0]).items() if k != "value"),
    ),
    "eval": (put_global, lambda x: x * eval("RATE")),
    "the frame": (put_global, lambda x: x * sys._getframe().f_globals["RATE"]),
    "the globals of a function": (put_global, lambda x: x * put_global.__globals__["RATE"]),
    "the frame by inspect": (put_global, lambda x: x * inspect.currentframe().f_globals["RATE"]),
    "modules by name": (put_global, lambda x: x * sys.modules[__name__].RATE),
    "modules by import_module": (put_global, lambda x: x * importlib.import_module(__name__).RATE),
    "a reference": (lambda v: setattr(rates[0], "value", v), lambda x: x * reference().value),
    "a record": (lambda v: record.__setitem__("a", v), lambda x: x * record["a"].item()),
    "coefficients": (lambda v: polynomial.coef.__setitem__(0, v), lambda x: x * float(polynomial(2.0))),
    "coefficients of a poly1d": (lambda v: poly1d.__setitem__(0, v), lambda x: x * float(poly1d(2.0))),
    "an attribute hung on a function later": (lambda v: setattr(hung, "rate", v), uses_an_attribute_that_may_be_there),
    "an attribute in another dict that a function is given later": (
        lambda v: setattr(hung, "__dict__", {"rate": v}),
        uses_an_attribute_that_may_be_there,
    ),
    "a global of code made at run time": (lambda v: made_by_code.__setitem__("rate", v), made_by_code["read"]),
    "a module made by hand": (lambda v: setattr(module_by_hand, "rate", v), lambda x: x * module_by_hand.rate),
    "a class counter": (lambda v: setattr(Counter, "count", v), lambda x: x * Counter().count),
    "a class that is registered": (put_registered, lambda x: x * 2.0 if isinstance(rates[0], Shape) else x),
    "a key of a partial": (put_key, part),
    "a mutable default": (put_counts, lambda x: readers.counted(x)),
    "a default that is replaced": (put_default, lambda x: readers.defaulted(x)),
    "a key that is deleted": (deletes, lambda x: x * constants.TABLE.get("gone", 1.0)),
    "a module that is loaded again": (put_reloaded, lambda x: x * constants.RATE),
    "a gradient of another module": (lambda v: setattr(readers, "RATE", v), lambda x: readers.gradient(x)),
    "a compiled function of another module": (lambda v: setattr(readers, "RATE", v), lambda x: readers.compiled(x)),
    "a mapped function of another module": (lambda v: setattr(readers, "RATE", v), lambda x: readers.mapped(x)),
    "a context manager of another module": (lambda v: setattr(readers, "RATE", v), lambda x: scoped(x)),
    "a primitive's rule of another module": (
        lambda v: setattr(readers, "RATE", v),
        lambda x: wg.grad(lambda y: np.sum(readers.cubed(y)))(x),
    ),
    "an attribute of a partial of another module": (
        lambda v: setattr(readers.part, "rate", v),
        lambda x: x * readers.part.rate,
    ),
    "functions by type of another module": (put_dispatch, lambda x: x * readers.kind_of(1.0)),
    "an object in a dict of another module": (
        lambda v: readers.numbers.__setitem__("a", v),
        lambda x: x * readers.numbers["a"],
    ),
    "an item of a member": (lambda v: setattr(members["a"], "value", v), lambda x: x * members["a"].value),
    "the state of the garbage collector": (
        lambda v: gc.set_threshold(700 + int(v)),
        lambda x: x * gc.get_threshold()[0],
    ),
    "a method that is replaced": (
        lambda v: setattr(m.Normal, "density", lambda self, x: x * v),
        lambda x: m.Normal().density(x),
    ),
    "an attribute of an object that is made inside": (
        lambda v: setattr(m.Plain, "scale", v),
        lambda x: m.Plain(3).evaluate(x),
    ),
    "a base that is replaced": (
        lambda v: setattr(m.Mixin, "scaled", lambda self, x: x * v),
        lambda x: m.Both(3).scaled(x),
    ),
    "an operator that is replaced": (
        lambda v: setattr(m.Vector, "__abs__", lambda self: self.x * v),
        lambda x: abs(m.Vector(x, 1.0)),
    ),
    "fractions": (put_global, lambda x: x * float(Fraction(RATE))),
    "a table seen through a proxy": (
        lambda v: globals().__setitem__("table", {"a": v}),
        lambda x: x * table.get("a", 1.0),
    ),
}


def tries(x: Any) -> Any:
    try:
        return x * constants.TRIED
    except AttributeError:
        return x


def tries_itself(x: Any) -> Any:
    try:
        return x * tries.rate
    except AttributeError:
        return x


def scoped(x: Any) -> Any:
    with readers.scope() as rate:
        return x * rate


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(NAME, "1.0")
    monkeypatch.setattr(sys, "argv", ["a", "1.0"])
    limit, options, errors, filters = (
        sys.getrecursionlimit(),
        np.get_printoptions(),
        np.geterr(),
        list(warnings.filters),
    )
    threshold, precision = gc.get_threshold(), decimal.getcontext().prec
    holders = (constants, readers, m.Normal, m.Plain, m.Mixin, m.Vector, Counter, this)
    before = [dict(vars(holder)) for holder in holders]
    defaults = readers.defaulted.__defaults__
    yield
    readers.defaulted.__defaults__ = defaults
    for holder, values in zip(holders, before, strict=True):
        for name, value in values.items():
            if vars(holder)[name] is not value:
                setattr(holder, name, value)
        for name in vars(holder).keys() - values.keys():
            delattr(holder, name)
    gc.set_threshold(*threshold)
    decimal.getcontext().prec = precision
    sys.setrecursionlimit(limit)
    np.set_printoptions(**options)
    np.seterr(**errors)
    warnings.filters[:] = filters


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("name", HAZARDS)
def test_what_a_function_reads_around_itself_is_never_old(name: str) -> None:
    put, f = HAZARDS[name]
    step, slope = wg.jit(f), wg.jit(lambda x: np.sum(f(x)))
    for v in (None, 2.0, 3.0, 3.0, 5.0):
        try:
            _ = f(X) if v is None else put(v)
        except (AttributeError, KeyError, LookupError):  # there is nothing yet
            continue
        np.testing.assert_allclose(step(X), f(X), rtol=1e-12)
        np.testing.assert_allclose(step(X), f(X), rtol=1e-12)
        np.testing.assert_allclose(slope(X), np.sum(f(X)), rtol=1e-12)


WATCHED = [
    *(
        "the environment",
        "the environment by get",
        "the environment by getenv",
        "the command line",
        "a context variable",
    ),
    *("of a thread", "the context of decimals", "errors of NumPy", "what NumPy prints", "the limit of recursion"),
    *("a gradient of another module", "functions by type of another module", "a context manager of another module"),
    *(
        "a primitive's rule of another module",
        "a key of a partial",
        "a mutable default",
        "a module that is loaded again",
    ),
]


@pytest.mark.parametrize("name", WATCHED)
def test_what_can_be_compared_is_not_traced_again_at_every_call(name: str) -> None:
    put, f = HAZARDS[name]
    put(2.0)
    step = wg.jit(f)
    for _ in range(3):
        step(X)
    assert step.stats()["traces"] == 1 and step.stats()["unrepeatable"] == ""


def of_the_file(path: Path) -> dict[str, Callable[[Any], Any]]:
    text, array, pickled = path.with_suffix(".txt"), path.with_suffix(".npy"), path.with_suffix(".pickle")
    return {
        "open": lambda x: x * opened(path),
        "io.open": lambda x: x * json.loads(io.open(path).read())[0],  # noqa: UP020
        "read_text": lambda x: x * json.loads(path.read_text())[0],
        "Path": lambda x: x * json.loads(pathlib.Path(path).read_text())[0],
        "loadtxt": lambda x: x * float(np.loadtxt(text)),
        "genfromtxt": lambda x: x * float(np.genfromtxt(text)),
        "load": lambda x: x * float(np.load(array)[0]),
        "fromfile": lambda x: x * float(np.fromfile(array)[-1]),
        "memmap": lambda x: x * float(np.memmap(array, float)[-1]),
        "pickle": lambda x: x * pickle.loads(pickled.read_bytes()),
        "size": lambda x: x * os.path.getsize(path),
        "stat": lambda x: x * os.stat(path).st_size,
        "listdir": lambda x: x * len(os.listdir(path.parent)),
    }


@pytest.mark.filterwarnings("ignore:unclosed")
@pytest.mark.parametrize("name", of_the_file(Path("numbers")))
def test_a_file_that_is_read_is_never_old(name: str, tmp_path: Path) -> None:
    f = of_the_file(tmp_path / "numbers")[name]
    put = put_file(tmp_path / "numbers")
    step = wg.jit(f)
    for v in (2.0, 3.25, 5.0):
        put(v)
        (tmp_path / str(v)).touch()
        np.testing.assert_allclose(step(X), f(X), rtol=1e-12)
    assert "step" not in step.stats()["unrepeatable"] and step.stats()["unrepeatable"]


CLOCKS: dict[str, Callable[[Any], Any]] = {
    "time": lambda x: x * time.time(),
    "perf_counter": lambda x: x * perf_counter(),
    "monotonic_ns": lambda x: x * float(time.monotonic_ns()),
    "now": lambda x: x * datetime.datetime.now().timestamp(),
    "today": lambda x: x + datetime.datetime.today().microsecond,
    "random": lambda x: x * random.random(),
    "random by its own name": lambda x: x * draw(),
    "gauss": lambda x: x * random.gauss(0.0, 1.0),
    "shuffle": lambda x: x * random.sample(range(10**6), 1)[0],
    "an unseeded Random": lambda x: x * random.Random().random(),
    "a Random with a seed of None": lambda x: x * random.Random(None).random(),
    "np.random": lambda x: x * np.random.rand(),  # noqa: NPY002
    "np.random as a float": lambda x: x * float(np.random.normal()),  # noqa: NPY002
    "default_rng": lambda x: x * np.random.default_rng().random(),
    "default_rng of None": lambda x: x * np.random.default_rng(None).random(),
    "default_rng of a variable": lambda x, seed=None: x * float(np.random.default_rng(seed).random()),
    "RandomState": lambda x: x * np.random.RandomState().rand(),
    "Generator": lambda x: x * np.random.Generator(np.random.PCG64()).random(),
    "uuid": lambda x: x * float(uuid.uuid4().int),
    "urandom": lambda x: x * float(int.from_bytes(os.urandom(6), "big")),
    "id": lambda x: x * float(id(object())),
    "default hash": lambda x: x * float(hash(Rate())),
    "processes": lambda x: x * time.process_time(),
    "counters": lambda x: x * float(len(gc.get_objects())) + time.time(),
}


@pytest.mark.parametrize("name", CLOCKS)
def test_what_differs_at_every_call_is_answered_by_the_function_itself_and_heard(name: str) -> None:
    step = wg.jit(CLOCKS[name])
    for _ in range(3):
        step(X)
    stats = step.stats()
    assert (stats["traces"], stats["plain"], stats["specialisations"]) == (1, 2, 0)
    assert stats["unrepeatable"]


def test_the_machine_and_the_locale_are_heard_or_watched() -> None:
    step = wg.jit(lambda x: x * len(platform.machine()))
    np.testing.assert_array_equal(step(X), X * len(platform.machine()))
    assert "platform.machine" in step.stats()["unrepeatable"]
    step = wg.jit(lambda x: x * len(str(locale.getlocale())))
    np.testing.assert_array_equal(step(X), X * len(str(locale.getlocale())))
    assert not step.stats()["unrepeatable"]


def test_the_folder_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = wg.jit(lambda x: x * len(os.getcwd()))
    for path in (Path.cwd(), tmp_path, tmp_path.parent):
        monkeypatch.chdir(path)
        np.testing.assert_array_equal(step(X), X * len(os.getcwd()))
    assert step.stats()["traces"] == 3 and not step.stats()["unrepeatable"]


def test_another_thread_s_own_is_another() -> None:
    local.rate = 2.0
    step = wg.jit(lambda x: x * local.rate)
    np.testing.assert_array_equal(step(X), X * 2)
    got: list[Any] = []

    def work() -> None:
        local.rate = 5.0
        got.append(step(X))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(got[0], X * 5)


def test_another_context_s_own_is_another() -> None:
    variable.set(2.0)
    step = wg.jit(lambda x: x * variable.get())
    np.testing.assert_array_equal(step(X), X * variable.get())
    context = contextvars.copy_context()
    context.run(variable.set, 7.0)
    np.testing.assert_array_equal(context.run(step, X), X * 7)


def test_an_iterator_among_the_arguments_is_read_at_every_call() -> None:
    step = wg.jit(lambda x, numbers: x * next(numbers))
    numbers = iter([2.0, 3.0, 5.0])
    for k in (2.0, 3.0, 5.0):
        np.testing.assert_array_equal(step(X, numbers), X * k)
    assert "iterator" in step.stats()["unrepeatable"]


class Clock:
    def now(self) -> float:
        return time.perf_counter()


def test_a_clock_among_the_arguments_is_read_at_every_call() -> None:
    step = wg.jit(lambda x, clock: x * clock.now())
    clock = Clock()
    assert step(X, clock)[0] != step(X, clock)[0]
    assert "time.perf_counter" in step.stats()["unrepeatable"]


def test_a_reason_tells_the_line_the_cause_and_the_remedy() -> None:
    def reads(x: Any) -> Any:
        return x * time.time()

    step = wg.jit(reads)
    step(X)
    why = step.stats()["unrepeatable"]
    assert f"{__file__}:{reads.__code__.co_firstlineno + 1}" in why
    assert "time.time" in why and "reads the clock" in why and "pass what it gives as an argument" in why


def test_defaults_that_grow() -> None:
    def f(x: Any, a: Any, b: Any = 2.0) -> Any:
        return x * a + b

    g = lambda x: f(x, 3.0)
    step = wg.jit(g)
    np.testing.assert_array_equal(step(X), g(X))
    f.__defaults__ = (5.0, 7.0)
    np.testing.assert_array_equal(step(X), g(X))


def test_locals_are_the_function_s_own() -> None:
    def f(x: Any) -> Any:
        rate = 2.0
        return x * locals()["rate"] + rate

    step = wg.jit(f)
    np.testing.assert_array_equal(step(X), f(X))
    assert not step.stats()["unrepeatable"]


@pytest.mark.parametrize("name", ["late_module_of_a_test"])
def test_a_module_that_a_function_imports_first_keeps_numpy_s_arrays(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{name}.py").write_text("import numpy as np\nTABLE = np.zeros(2) + 3.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    namespace: dict[str, Any] = {}
    exec(f"def f(x):\n    import {name} as late\n    return x * late.TABLE", namespace)
    step = wg.jit(namespace["f"])
    np.testing.assert_array_equal(step(X), X * 3)
    assert type(sys.modules[name].TABLE) is np.ndarray
    monkeypatch.delitem(sys.modules, name)


@functools.cache
def kept(n: int) -> Any:
    table = np.zeros(n)
    table[0] = np.sqrt(2)
    return table + 1


def test_what_a_function_keeps_for_later_is_numpy_s_own() -> None:
    kept.cache_clear()
    step = wg.jit(lambda x: x * kept(2))
    for k in range(2):
        np.testing.assert_array_equal(step(X + k), (X + k) * kept(2))
    assert type(kept(2)) is np.ndarray
    assert step.stats()["traces"] == 1 and not step.stats()["unrepeatable"]


@functools.cache
def squared(x: float) -> Any:
    return x * x


def test_a_function_that_keeps_results_may_be_given_a_traced_number() -> None:
    f = lambda x: squared(x) * 3.0
    step = wg.jit(wg.grad(f))
    assert [step(v) for v in (2.0, 5.0)] == [12.0, 30.0]
    assert step.stats()["traces"] == 1
    assert squared.cache_info().currsize == 0


def test_a_none_in_a_library_s_module_that_becomes_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "of_a_test", None, raising=False)
    step = wg.jit(lambda x: x if np.of_a_test is None else x * np.of_a_test)
    np.testing.assert_array_equal(step(X), X)
    monkeypatch.setattr(np, "of_a_test", 3.0)
    np.testing.assert_array_equal(step(X), X * 3)


FACTORS = {1: 2.0}


@functools.cache
def factor(n: int) -> float:
    return FACTORS[n]


@functools.cache
def row(n: int) -> Any:
    return np.full(n, 2.0)


def test_a_function_that_keeps_results_and_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FACTORS, 1, 2.0)
    factor.cache_clear()
    f = lambda x: x * factor(1)
    step = wg.jit(f)
    np.testing.assert_array_equal(step(X), X * 2)
    FACTORS[1] = 3.0
    np.testing.assert_array_equal(step(X), X * 2)  # as in Python: what it had kept
    factor.cache_clear()
    np.testing.assert_array_equal(step(X), X * 3)
    factor.cache_clear()


def test_what_a_function_has_kept_is_edited() -> None:
    row.cache_clear()
    step = wg.jit(lambda x: x * row(3))
    np.testing.assert_array_equal(step(2.0), [4.0, 4.0, 4.0])
    row(3)[0] = 5.0
    np.testing.assert_array_equal(step(2.0), [10.0, 4.0, 4.0])
    row.cache_clear()


class Keeping:
    def __init__(self) -> None:
        self.rate = 2.0

    @functools.cache  # noqa: B019
    def scaled(self, n: int) -> float:
        return self.rate * n


def test_a_method_that_keeps_results_knows_its_object() -> None:
    """A copy of the object would be another key, and so computed anew."""
    k = Keeping()
    step = wg.jit(lambda x: x * k.scaled(3))
    assert step(1.0) == 6.0
    k.rate = 5.0
    assert step(1.0) == k.scaled(3) == 6.0
    Keeping.scaled.cache_clear()
    assert step(1.0) == k.scaled(3) == 15.0
    Keeping.scaled.cache_clear()
    k.rate = 7.0
    assert step(1.0) == k.scaled(3) == 21.0


@pytest.mark.parametrize("of", [random.Random, np.random.RandomState])
def test_a_generator_that_is_seeded_again_before_a_call_is_drawn_from_in_it(of: Any) -> None:
    """It is then as it was when the function was traced; a program that holds what was drawn would not move it on."""
    generator = of(3)
    f = lambda x: x * generator.uniform(0.0, 1.0)

    def calls(f: Any) -> list[Any]:
        generator.seed(3)
        first = f(1.0)
        generator.seed(3)
        return [first, f(1.0), f(1.0), f(1.0)]

    step = wg.jit(f)
    assert calls(step) == calls(f)


# --------------------------------------------------------------------------------- what somebody exchanges for a time


def described() -> None:
    """Four"""


def helper(x: Any) -> Any:
    return np.arctan(x)


captured = np.array([1 / 3, 2 / 3])
name_getter, density_getter = operator.attrgetter("rate"), operator.methodcaller("rate")
numpy_in_a_table = {"np": np}


class Rated:
    rate: Any = 2.0


class Calling:
    @staticmethod
    def rate() -> Any:
        return 2.0


def twice(x: Any) -> Any:
    return 2 * x


EXCHANGED: dict[str, tuple[Any, str, Any, Callable[[Any], Any]]] = {
    "a function of NumPy's": (np, "cosh", twice, lambda x: np.cosh(x)),
    "one for another of NumPy's": (np, "sum", np.max, lambda x: np.sum(x)),
    "one in a helper": (np, "arctan", twice, lambda x: helper(x)),
    "one by getattr": (np, "sinh", twice, lambda x: getattr(np, "sinh")(x)),  # noqa: B009
    "one of a module in a table": (np, "cosh", twice, lambda x: numpy_in_a_table["np"].cosh(x)),
    "one that makes arrays": (np, "zeros", np.ones, lambda x: x + np.zeros(2)),
    "one of a part of NumPy": (np.linalg, "norm", np.max, lambda x: np.linalg.norm(x)),
    "a part of NumPy": (np, "linalg", types.SimpleNamespace(norm=np.max), lambda x: np.linalg.norm(x)),
    "one of SciPy's": (scipy.special, "erf", twice, lambda x: scipy.special.erf(x)),
    "one of math": (math, "sin", twice, lambda x: math.sin(x[0]) * x),
    "one of operator": (operator, "mul", operator.add, lambda x: operator.mul(x, 3.0)),
    "a builtin function": (builtins, "abs", twice, lambda x: abs(x - 3)),
    "a number among the builtins": (builtins, "WENGERT_TEST", 3.0, lambda x: x * WENGERT_TEST),  # type: ignore[name-defined]  # noqa: F821
    "an imported module": (sys, "modules", None, lambda x: x * imports()),
    "what an attrgetter gets of a class": (Rated, "rate", 3.0, lambda x: x * name_getter(Rated)),
    "what a methodcaller calls of a class": (Calling, "rate", lambda: 3.0, lambda x: x * density_getter(Calling)),
    "a docstring": (described, "__doc__", "Of three words", lambda x: x * len(described.__doc__ or "")),
    "a docstring by getattr": (described, "__doc__", "Three", lambda x: x * len(getattr(described, "__doc__"))),  # noqa: B009
    "annotations": (described, "__annotations__", {}, lambda x: x * len(described.__annotations__)),
    "the module of a function": (described, "__module__", "m", lambda x: x * len(described.__module__)),
    "the shape of an array": (captured, "shape", (2, 1), lambda x: x * captured.ndim),
    "the flags of an array": (captured.flags, "writeable", False, lambda x: x * (2 + captured.flags.writeable)),
    "the flags of a view": (captured.flags, "writeable", False, lambda x: x * (2 + captured[1:].flags["W"])),
}


def imports() -> Any:
    import wengert_test

    return wengert_test.rate


@pytest.mark.parametrize("name", EXCHANGED)
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_what_is_exchanged_for_a_time_was_never_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    holder, attribute, new, f = EXCHANGED[name]
    monkeypatch.setattr(builtins, "WENGERT_TEST", 2.0, raising=False)
    monkeypatch.setitem(sys.modules, "wengert_test", types.SimpleNamespace(rate=2.0))
    step = wg.jit(f)

    def check() -> None:
        for _ in range(2):
            np.testing.assert_allclose(step(X), f(X), rtol=1e-15)

    check()
    with monkeypatch.context() as exchanged:
        if holder is sys:
            exchanged.setitem(sys.modules, "wengert_test", types.SimpleNamespace(rate=3.0))
        else:
            exchanged.setattr(holder, attribute, staticmethod(new) if holder is Calling else new)
        check()
    check()
    assert step.stats()["traces"] <= 3 and not step.stats()["unrepeatable"]


SHOWN: dict[str, Callable[[Any], Any]] = {
    "str": lambda x: x * len(str(captured)),
    "repr": lambda x: x * len(repr(captured)),
    "format": lambda x: x * len(f"{captured}"),
    "%": lambda x: x * len("%s" % (captured,)),  # noqa: UP031
    "of a list": lambda x: x * len(str([captured])),
    "of an array made inside": lambda x: x * len(str(np.ones(3) / 3)),
    "array2string": lambda x: x * len(np.array2string(captured)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_text_of_an_array_is_as_the_options_say(name: str) -> None:
    step = wg.jit(SHOWN[name])
    for digits in (8, 2, 8, 3):
        with np.printoptions(precision=digits):
            np.testing.assert_allclose(step(X), SHOWN[name](X), rtol=1e-15)
    assert step.stats()["traces"] <= 3


def test_a_class_is_known_by_its_name_now() -> None:
    step = wg.jit(lambda x: x * len(Rated.__name__) * len(Rated.__qualname__))
    np.testing.assert_allclose(step(X), X * 25, rtol=1e-15)
    Rated.__name__ = "Rate"
    try:
        np.testing.assert_allclose(step(X), X * 20, rtol=1e-15)
    finally:
        Rated.__name__ = "Rated"


def test_an_array_that_lies_otherwise_is_another() -> None:
    c = np.arange(6.0)
    step = wg.jit(lambda x: x[0] * c[1])
    _ = step(X), step(X)
    c.resize((2, 3), refcheck=False)
    np.testing.assert_array_equal(step(X), X[0] * c[1])


# ------------------------------------------------------------- what reads the clock, and whether the run comes to it


class Dated:
    rate = 2.0

    def __init__(self, w: Any = 3.0) -> None:
        self.made = time.time()
        self.w = w

    def evaluate(self, x: Any) -> Any:
        return x * self.w

    @classmethod
    def make(cls) -> Any:
        return cls()

    @classmethod
    def scaled(cls, x: Any) -> Any:
        return x * cls.rate

    @property
    def age(self) -> Any:
        return time.time() - self.made

    def __call__(self, x: Any) -> Any:
        return x * perf_counter()


class Undated(Dated):
    def __init__(self) -> None:
        self.w = 4.0


def timed(x: Any) -> Any:
    return x * time.time()


def timed_too(x: Any) -> Any:
    return x * time.time()


def timed_by_its_own_name(x: Any) -> Any:
    return x * perf_counter()


def timed_too_by_its_own_name(x: Any) -> Any:
    return x * perf_counter()


def timed_inside(x: Any) -> Any:
    return (lambda y: y * time.time())(x)


def made_a_timer() -> Any:
    return lambda x: x * time.time()


def timed_in_turns() -> Any:
    while True:
        yield time.time()


def wrapped(f: Any) -> Any:
    @functools.wraps(f)
    def wrapper(x: Any) -> Any:
        return f(x) * perf_counter()

    return wrapper


@wrapped
def decorated(x: Any) -> Any:
    return x


@functools.lru_cache
def remembered_time(k: int) -> Any:
    return time.time() * k


@functools.singledispatch
def dispatched_time(k: Any) -> Any:
    return 1.0


@dispatched_time.register
def _(k: int) -> Any:
    return time.time()


def looks_at_its_frame(x: Any) -> Any:
    return x * sys._getframe().f_lineno


dated, undated, timer = Dated(), Undated(), made_a_timer()
classes = {"dated": Dated}

NOT_RUN: dict[str, Callable[[Any], Any]] = {
    "a class whose instances are asked": lambda x: dated.evaluate(x) if isinstance(dated, Dated) else x,
    "an attribute of the class": lambda x: x * Dated.rate,
    "a class method that makes none": lambda x: Dated.scaled(x),
    "the class of an object": lambda x: dated.evaluate(x) * type(dated).rate * dated.__class__.rate,
    "a class in a table": lambda x: x * classes["dated"].rate,
    "a base whose __init__ is overridden": lambda x: Undated().evaluate(x) * undated.w,
    "a method by its class": lambda x: Dated.evaluate(dated, x),
    "an error's class": lambda x: x if x.ndim == 1 else Dated().evaluate(x),
    "a branch to a function": lambda x: x if x.ndim == 1 else timed(x) + timed_by_its_own_name(x),
    "a frame that nobody looks at": lambda x: x if x.ndim == 1 else looks_at_its_frame(x),
}
RUN: dict[str, Callable[[Any], Any]] = {
    "a class that is called": lambda x: Dated().evaluate(x),
    "a class method that makes one": lambda x: Dated.make().evaluate(x),
    "a class in a table that is called": lambda x: classes["dated"]().evaluate(x),
    "the class of an object that is called": lambda x: type(dated)().evaluate(x),
    "a property": lambda x: x * dated.age,
    "an object that is called": lambda x: dated(x),
    "a function": lambda x: timed(x),
    "the second that reads the same": lambda x: timed_too(x) if x.ndim == 1 else timed(x),
    "the second that reads the same by its own name": lambda x: (
        timed_too_by_its_own_name(x) if x.ndim == 1 else timed_by_its_own_name(x)
    ),
    "the first that reads the same": lambda x: timed(x) if x.ndim == 1 else timed_too(x),
    "a function inside": lambda x: timed_inside(x),
    "a function that was made before": lambda x: timer(x) if x.ndim == 1 else made_a_timer()(x),
    "a generator": lambda x: x * next(timed_in_turns()),
    "a decorator": lambda x: decorated(x),
    "a function that keeps its results": lambda x: x * remembered_time(len(x)),
    "a function by type": lambda x: x * dispatched_time(len(x)),
    "called by compiled code": lambda x: functools.reduce(lambda a, f: f(a), [timed], x),
    "its frame": lambda x: looks_at_its_frame(x),
}


@pytest.mark.parametrize("name", NOT_RUN)
def test_a_function_that_the_run_does_not_come_to_is_no_reason_to_trace_again(name: str) -> None:
    step = wg.jit(NOT_RUN[name])
    for _ in range(3):
        np.testing.assert_array_equal(step(X), NOT_RUN[name](X))
    stats = step.stats()
    assert (stats["traces"], stats["plain"], stats["unrepeatable"]) == (1, 0, "")


@pytest.mark.parametrize("name", RUN)
def test_a_function_that_the_run_comes_to_is_one(name: str) -> None:
    remembered_time.cache_clear()
    step = wg.jit(RUN[name])
    step(X)
    stats = step.stats()
    assert stats["unrepeatable"] and not stats["specialisations"]


def test_another_path_that_comes_to_the_clock_is_heard_then() -> None:
    step = wg.jit(lambda x: x * 2.0 if x[0] > 0 else timed(x))
    np.testing.assert_array_equal(step(X), X * 2.0)
    assert not step.stats()["unrepeatable"]
    first = step(-X)
    assert "reads time.time" in step.stats()["unrepeatable"]
    assert step(-X)[0] < first[0]  # as time goes on
    np.testing.assert_array_equal(step(X), X * 2.0)
    assert step.stats()["traces"] == 2


def test_under_a_profiler_what_runs_is_told_as_without() -> None:
    step = wg.jit(lambda x: x if x.ndim == 1 else timed(x))
    sys.setprofile(lambda *args: None)
    try:
        step(X)
    finally:
        sys.setprofile(None)
    assert step.stats()["unrepeatable"] == ""
