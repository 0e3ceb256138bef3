"""Every kind of value that a function may read beside its arguments, each with the edits that must be seen in it."""

from __future__ import annotations

import array
import enum
import functools
import random
import time
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Edit = Callable[[], Any]


@dataclass
class Kind:
    """A value, and for each of its parts, in words, how it is changed."""

    value: Any
    edits: dict[str, Edit]
    only_replaced: tuple[str, ...] = ()
    """The edits that are seen where a copy was made, and not where the value is watched."""
    only_watched: tuple[str, ...] = ()


class Box:
    """All of its state is in its ``__dict__``, so a copy of it can be made."""

    rate = 1.0

    def __init__(self, value: Any = 1.0) -> None:
        self.value = value

    def read(self) -> Any:
        return self.value


class Crate(Box):
    pass


class Slotted:
    __slots__ = ("unset", "value")

    def __init__(self) -> None:
        self.value = 1.0


class Closing(Box):
    """A copy would close what the original still uses."""

    def __del__(self) -> None:
        pass


class Pair(NamedTuple):
    left: Any
    right: Any


class Row(list[Any]):
    note = 0.0


class Table(dict[str, Any]):
    note = 0.0


SOURCE = """
import wengert as wg

scale, table, weight, helper_scale = 1.0, {"a": 1.0}, 1.0, 1.0

def f(x, y=1.0, *, z=1.0):
    return x * y * z * scale * table["a"] * len([x]) * helper(x)

def helper(x):
    return x * helper_scale

def other(x, y=1.0, *, z=1.0):
    return x

class Model:
    rate = 1.0

    def __init__(self):
        self.width = 1.0

    def method(self, x):
        return x * scale

    @property
    def size(self):
        return self.width * scale

    @staticmethod
    def static(x):
        return x * helper_scale

    @classmethod
    def of_class(cls, x):
        return x * weight

class Child(Model):
    pass

model = Child()

def reads_an_object(x):
    return model.method(x) * model.size * model.rate * Model.static(x) * model.of_class(x)

gradient = wg.grad(f)

@wg.jit
def jitted(x):
    return x * scale

@wg.primitive
def primitive(x):
    return x * scale

@primitive.def_pullback
def _(ct, y, x):
    return (ct * weight,)
"""


def module_of_a_test() -> Any:
    module = types.ModuleType("module_of_a_test")
    exec(SOURCE, vars(module))
    return module


def put(container: Any, key: Any, value: Any = 2.0) -> Edit:
    return lambda: container.__setitem__(key, value)


def removed(container: Any, key: Any) -> Edit:
    return lambda: container.__delitem__(key)


def attribute(holder: Any, name: str, value: Any = 2.0) -> Edit:
    return lambda: setattr(holder, name, value)


def _function() -> Kind:
    m = module_of_a_test()
    m.f.note = 1.0
    return Kind(
        m.f,
        {
            "a global": attribute(m, "scale"),
            "an item of a global": put(m.table, "a"),
            "a global of what it calls": attribute(m, "helper_scale"),
            "what it calls": attribute(m, "helper", m.other),
            "a default": attribute(m.f, "__defaults__", (2.0,)),
            "a keyword default": put(m.f.__kwdefaults__, "z"),
            "an attribute": attribute(m.f, "note"),
            "another attribute": attribute(m.f, "other"),
            "its code": attribute(m.f, "__code__", m.other.__code__),
            "in place of a builtin": attribute(m, "len", abs),
        },
    )


def _closure() -> Kind:
    a, b = 1.0, [1.0]

    def f(x: Any) -> Any:
        return x * a * b[0]

    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    return Kind(f, {"a variable": attribute(cells["a"], "cell_contents"), "an item of one": put(b, 0)})


def _method() -> Kind:
    m = module_of_a_test()
    return Kind(
        m.model.method,
        {
            "an attribute of its object": attribute(m.model, "width"),
            "a global": attribute(m, "scale"),
        },
    )


def _reader_of_an_object() -> Kind:
    m = module_of_a_test()
    return Kind(
        m.reads_an_object,
        {
            "another object": attribute(m, "model", m.Model()),
            "an attribute of the object": attribute(m.model, "width"),
            "one that shadows the class's": attribute(m.model, "rate"),
            "an attribute of a base": attribute(m.Model, "rate"),
            "one that shadows the base's": attribute(m.Child, "rate"),
            "a method": attribute(m.Model, "method", m.other),
            "what a property reads": attribute(m, "scale"),
            "what a static method reads": attribute(m, "helper_scale"),
            "what a class method reads": attribute(m, "weight"),
            "the class": attribute(m, "Model", m.Child),
        },
    )


def _reader_of_a_module() -> Kind:
    m = module_of_a_test()
    return Kind(
        lambda x: m.f(x) * m.table["a"],
        {"its variable": attribute(m, "scale"), "an item of one": put(m.table, "a"), "another": removed(vars(m), "f")},
    )


def _partial() -> Kind:
    argument = [1.0]
    p = functools.partial(max, argument, default=1.0)
    p.note = 1.0
    return Kind(
        p,
        {
            "in an argument": put(argument, 0),
            "a keyword": put(p.keywords, "default"),
            "an attribute": attribute(p, "note"),
        },
    )


def _jitted() -> Kind:
    m = module_of_a_test()
    return Kind(m.jitted, {"a global of its function": attribute(m, "scale")})


def _gradient() -> Kind:
    """A function of wengert's, in whose cells the user's function is."""
    m = module_of_a_test()
    return Kind(m.gradient, {"a global of its function": attribute(m, "scale")})


def _primitive() -> Kind:
    """The code itself runs at every call, so that nothing it reads is watched; its rule is recorded."""
    m = module_of_a_test()
    return Kind(m.primitive, {"a global of its rule": attribute(m, "weight")})


def _list() -> Kind:
    inner, x = [1.0], [1.0, None]
    x[1] = inner
    return Kind(x, {"an item": put(x, 0), "how many": lambda: x.append(1.0), "in an item": put(inner, 0)})


def _tuple() -> Kind:
    inner = [1.0]
    return Kind((1.0, inner), {"in an item": put(inner, 0)})


def _named_tuple() -> Kind:
    inner = [1.0]
    return Kind(Pair(1.0, inner), {"in an item": put(inner, 0)})


def _deque() -> Kind:
    x = deque([1.0, 1.0])
    return Kind(x, {"an item": put(x, 0), "how many": x.clear})


def _dict(x: dict[Any, Any]) -> Kind:
    key, inner = Box(), [1.0]
    x |= {"a": 1.0, "b": inner, key: 1.0}
    return Kind(
        x,
        {
            "an item": put(x, "a"),
            "in an item": put(inner, 0),
            "in a key": attribute(key, "value"),
            "another key": put(x, "c"),
            "one key less": removed(x, "a"),
        },
    )


def _set(kind: Callable[..., Any]) -> Kind:
    member = Box()
    x = kind([1.0, member])
    edits = {"in a member": attribute(member, "value")}
    return Kind(x, edits | {"another member": lambda: x.add(2.0)} if kind is set else edits)


def _own_list() -> Kind:
    x = Row([1.0])
    return Kind(x, {"an item": put(x, 0), "how many": lambda: x.append(1.0), "an attribute": attribute(x, "note")})


def _own_dict() -> Kind:
    x = Table(a=1.0)
    return Kind(x, {"an item": put(x, "a"), "another key": put(x, "b"), "an attribute": attribute(x, "note")})


def _object(x: Any) -> Kind:
    x.inner = [1.0]
    edits = {
        "an attribute": attribute(x, "value"),
        "in an attribute": put(x.inner, 0),
        "another attribute": attribute(x, "other"),
        "one attribute less": lambda: delattr(x, "value"),
    }
    if type(x) is Box:
        edits["its class"] = attribute(x, "__class__", Crate)
    return Kind(x, edits)


def _slots() -> Kind:
    x = Slotted()
    return Kind(x, {"a slot": attribute(x, "value"), "a slot that was not set": attribute(x, "unset")})


def _enum() -> Kind:
    class Option(enum.Enum):
        first = [1.0]  # noqa: RUF012

    x = Option.first
    return Kind(x, {"in its value": put(x.value, 0), "another attribute": attribute(x, "other")})


def _exception() -> Kind:
    argument = [1.0]
    return Kind(ValueError(argument), {"in an argument": put(argument, 0)})


def _property() -> Kind:
    m = module_of_a_test()
    return Kind(vars(m.Model)["size"], {"what it reads": attribute(m, "scale")})


def _array() -> Kind:
    x = np.ones(3)
    return Kind(x, {"an element": put(x, 0)}, only_watched=("an element",))  # the program reads it where it lies


def _array_of_objects() -> Kind:
    inner = [1.0]
    x = np.array([None, inner, 1.0], object)
    return Kind(x, {"an element": put(x, 2), "in an element": put(inner, 0)})


def _masked_array() -> Kind:
    x = np.ma.array([1.0, 1.0], mask=[False, True])
    return Kind(x, {"an element": put(x, 0), "the mask": put(x, 0, np.ma.masked)})


def _structured_array() -> Kind:
    x = np.zeros(2, [("a", float)])
    return Kind(x, {"a field": put(x["a"], 0)})


def _long_list() -> Kind:
    x = [1.0] * 20_000
    return Kind(x, {"an item": put(x, -1)})


def _long_dict() -> Kind:
    x = dict.fromkeys(range(20_000), 1.0)
    return Kind(x, {"an item": put(x, 3)})


def _bytes(x: Any) -> Kind:
    return Kind(x, {"an item": put(x, 0, 7)})


def _drawn(generator: Any) -> Kind:
    return Kind(generator, {"its state": lambda: generator.random()})


KINDS: dict[str, Callable[[], Kind]] = {
    "function": _function,
    "closure": _closure,
    "bound method": _method,
    "reader of an object": _reader_of_an_object,
    "reader of a module": _reader_of_a_module,
    "partial": _partial,
    "jitted function": _jitted,
    "gradient": _gradient,
    "primitive": _primitive,
    "property": _property,
    "list": _list,
    "tuple": _tuple,
    "named tuple": _named_tuple,
    "deque": _deque,
    "dict": lambda: _dict({}),
    "OrderedDict": lambda: _dict(OrderedDict()),
    "defaultdict": lambda: _dict(defaultdict(float)),
    "set": lambda: _set(set),
    "frozenset": lambda: _set(frozenset),
    "list of its own kind": _own_list,
    "dict of its own kind": _own_dict,
    "namespace": lambda: _object(types.SimpleNamespace(value=1.0)),
    "object": lambda: _object(Box()),
    "object that is not copied": lambda: _object(Closing()),
    "object with slots": _slots,
    "option": _enum,
    "exception": _exception,
    "array": _array,
    "array of objects": _array_of_objects,
    "masked array": _masked_array,
    "structured array": _structured_array,
    "long list": _long_list,
    "long dict": _long_dict,
    "bytearray": lambda: _bytes(bytearray(b"\x01")),
    "memoryview": lambda: _bytes(memoryview(bytearray(b"\x01"))),
    "array.array": lambda: _bytes(array.array("b", [1])),
    "Generator": lambda: _drawn(np.random.default_rng(0)),
    "RandomState": lambda: _drawn(np.random.RandomState(0)),
    "Random": lambda: _drawn(random.Random(0)),
}


EDITS = [(name, edit) for name, make in KINDS.items() for edit in make().edits]


def _iterator_of_its_own_kind() -> Any:
    class Numbers:
        def __next__(self) -> float:
            return 1.0

    return Numbers()


def _reads_the_clock() -> float:
    return time.perf_counter()


def _opens_a_file() -> Any:
    return open("numbers")


def _imports() -> Any:
    import not_there

    return not_there


INCOMPARABLE: dict[str, tuple[Callable[[], Any], str]] = {
    "iterator": (lambda: iter([1.0]), "value is an iterator"),
    "ufunc of the user's": (lambda: np.frompyfunc(abs, 1, 1), "value is made of a Python function"),
    "reference": (lambda: weakref.ref(Box), "value"),
    "long list of lists": (lambda: [[]] * 20_000, "a list has more than 10000 items"),
    "reader of the clock": (lambda: _reads_the_clock, "reads time.perf_counter, which reads the clock"),
    "reader of a file": (lambda: _opens_a_file, "reads open(), which reads from outside"),
    "importer": (lambda: _imports, "value imports not_there"),
}
"""What nothing can be compared by: how it is made, and the reason that is told for tracing a function anew."""
