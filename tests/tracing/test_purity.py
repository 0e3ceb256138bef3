"""NumPy scalars that are computed while tracing: constants where nothing can change them, never old where it can."""

from __future__ import annotations

import abc
import collections
import enum
import functools
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import wengert as wg

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


class Point(collections.namedtuple("Point", "a b")):
    def size(self) -> Any:
        return np.hypot(self.a, self.b)


def normal(x: Any, d: int = 3) -> Any:
    return -0.5 * x * x - 0.5 * np.log(2 * np.pi) * d


layer, wide, width, point = Layer(5), Wide(7), 16, Point(3.0, 4.0)

CLOSED: dict[str, Callable[[Any], Any]] = {
    "of a literal": lambda x: x / np.sqrt(7),
    "of NumPy's constants": normal,
    "of a global": lambda x: x * np.exp(SCALE),
    "of a helper": lambda x: x * helper(9),
    "of a property": lambda x: x * layer.scale,
    "of an inherited one": lambda x: x * wide.scale,
    "of a named tuple": lambda x: x * point.size(),
    "of a shape": lambda x: x / np.sqrt(x.shape[0]),
    "of a sum of numbers": lambda x: x * sum(np.log(k) for k in range(1, 5)),
    "of an own dtype": lambda x: x * np.float32(1.1) * np.int8(3),
    "as a power": lambda x: np.power(x, np.float64(3)) + np.float64(2) ** x,
    "in a where": lambda x: np.where(x > np.float64(1), x, np.float64(-1) * np.ones(3)),
    "written into an array": lambda x: written(x),
    "inside of a derivative": lambda x: wg.grad(lambda y: np.sum(np.sin(y) / np.sqrt(width)))(x),
    "of NumPy and SciPy functions": lambda x: x * np.max([np.linalg.norm([3.0, 4.0]), np.float64(2)]),
    "of a precision": lambda x: x + np.finfo(float).eps * np.iinfo(np.int64).max,
    "of an option": lambda x: x * np.sqrt(Choice.wide.value) * np.float64(choices["a", 1]),
    "with errors off": lambda x: quietly(x),
    "of another module": lambda x: x * np.sqrt(module.width) * module.options.scale,
    "of what is imported on the spot": lambda x: imports(x),
    "an array from numbers": lambda x: x[np.ix_([0, 2])] * np.hanning(4)[1:3] + np.mgrid[0:2],
    "a large one": lambda x: x * np.sum(np.union1d(np.r_[0:5000.0], [1.5])),
    "a basis": lambda x: wg.jacobian(lambda y: y * np.sqrt(y[::-1] + 5))(x) @ wg.hessian(lambda y: np.sum(y**3))(x),
    "of SciPy": lambda x: x * scipy.special.ndtr(0.3) * scipy.special.gamma(np.float64(2.5)),
    "through functools and operators": lambda x: x * functools.reduce(lambda a, b: a * b, [np.float64(2), np.sqrt(3)]),
}


class Choice(enum.Enum):
    wide = 4
    narrow = 2


choices = {("a", 1): 3}
module = types.ModuleType("a_module_of_a_test")
module.width, module.options = 6, types.SimpleNamespace(scale=np.float32(2.5))
sys.modules["a_module_of_a_test"] = module


def quietly(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        return x * np.log(0.5)


def imports(x: Any) -> Any:
    import math

    import numpy as numbers
    from numpy import log as ln

    return x * numbers.sqrt(2) * ln(3) * math.pi


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
]


@pytest.mark.parametrize("source", CHANGING)
def test_a_number_that_changes_is_never_old(source: Callable[[], tuple[Any, Any]]) -> None:
    put, read = source()
    step = wg.jit(lambda x: x * np.sqrt(read()) + read())
    for number in (4.0, 9.0, 16.0, 16.0, 25.0):
        put(np.float64(number))
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
