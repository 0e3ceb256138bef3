"""What a compiled function captured is never stale: edits in place, rebinding, attributes, defaults, globals."""

from __future__ import annotations

import enum
import functools
import itertools
import random
import time
import types
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg

DATA = np.array([1.0, 2.0])
SCALE = 2.0
TABLE = {"weights": np.array([1.0, 1.0]), "power": 1.0}
SETTINGS = types.SimpleNamespace(shift=np.array([0.0, 0.0]), mode="plain")


def helper(x: Any) -> Any:
    return x * DATA * SCALE


def squares(x: Any) -> Any:
    return np.sum(helper(x) ** 2)


@pytest.fixture(params=["jit of grad", "grad"])
def gradient_of(request: pytest.FixtureRequest) -> Any:
    """Whether programs are kept (jit) or made anew (which must not mean kept too long either)."""
    return (lambda f: wg.jit(wg.grad(f))) if request.param == "jit of grad" else wg.grad


def test_a_captured_array_edited_in_place_is_read_anew(gradient_of: Any) -> None:
    """The new content counts, at once, in place and in every part of it."""
    c = np.array([1.0, 2.0, 3.0])
    gradient = gradient_of(lambda x: np.sum(c * x**2))
    x = np.ones(3)
    np.testing.assert_array_equal(gradient(x), 2 * c)
    c[0] = 10.0
    np.testing.assert_array_equal(gradient(x), [20.0, 4.0, 6.0])
    c *= 2
    np.testing.assert_array_equal(gradient(x), [40.0, 8.0, 12.0])
    np.copyto(c, 0.0)
    np.testing.assert_array_equal(gradient(x), np.zeros(3))


def test_an_edit_in_place_is_not_a_new_trace() -> None:
    """The program reads the array where it lies: no copy was made, and nothing is recorded again."""
    c = np.array([1.0, 2.0, 3.0])
    gradient = wg.jit(wg.grad(lambda x: np.sum(c * x**2)))
    for k in range(5):
        c[:] = k
        np.testing.assert_array_equal(gradient(np.ones(3)), np.full(3, 2.0 * k))
    assert gradient.stats()["traces"] == 1
    assert gradient.program(np.ones(3)).tape.captures[0].array is c


def test_a_large_captured_array_edited_in_place_is_read_anew(gradient_of: Any) -> None:
    """Above the size at which captured arrays are copied, too; and it can be written again after every call."""
    c = np.ones(10_000)
    gradient = gradient_of(lambda x: np.sum(c * x))
    for value in (1.0, 2.0, 3.0):
        c[:] = value
        np.testing.assert_array_equal(gradient(np.ones(10_000)), np.full(10_000, value))


def test_a_captured_view_shows_what_is_written_through_its_base(gradient_of: Any) -> None:
    """A captured view sees what is written through its base, and through another view."""
    base = np.arange(6.0)
    view = base[::2]
    frozen = base[1::2]
    frozen.flags.writeable = False  # the view is read-only; what it shows may change all the same
    gradient = gradient_of(lambda x: np.sum(view * x) + np.sum(frozen * x))
    np.testing.assert_array_equal(gradient(np.ones(3)), [1.0, 5.0, 9.0])
    base[:] = 1.0
    np.testing.assert_array_equal(gradient(np.ones(3)), [2.0, 2.0, 2.0])


def test_a_read_only_view_of_an_array_that_is_edited_is_no_constant(gradient_of: Any) -> None:
    """The array is locked while the function is traced, but it is not read-only, so its view is not constant."""
    base = np.arange(3.0)
    frozen = base.view()
    frozen.flags.writeable = False
    scale = wg.constant(np.full(3, 2.0))
    gradient = gradient_of(lambda x: np.sum(np.exp(base) * x) + np.sum(frozen * scale * x))
    for k in range(3):
        base[:] = k
        np.testing.assert_allclose(gradient(np.ones(3)), np.full(3, np.exp(k) + 2 * k))


def test_a_read_only_array_that_is_made_writable_and_edited_is_read_anew(gradient_of: Any) -> None:
    """A promise taken back: whoever owns the array may make it writeable again, and then edit it."""
    c = np.ones(3)
    c.flags.writeable = False
    gradient = gradient_of(lambda x: np.sum(np.exp(c) * x))
    np.testing.assert_allclose(gradient(np.ones(3)), np.exp(np.ones(3)))
    c.flags.writeable = True
    c[:] = 2.0
    np.testing.assert_allclose(gradient(np.ones(3)), np.exp(np.full(3, 2.0)))


def test_a_rebound_closure_variable_is_seen(gradient_of: Any) -> None:
    """nonlocal rebinding of an array, to another shape too; of a number; of a function."""
    c: Any = np.array([1.0, 2.0])
    s = 3.0

    power: Any = lambda x: x**2
    gradient = gradient_of(lambda x: np.sum(c * power(x)) * s)
    x = np.ones(2)
    np.testing.assert_array_equal(gradient(x), [6.0, 12.0])
    c = np.array([5.0, 5.0])
    np.testing.assert_array_equal(gradient(x), [30.0, 30.0])
    c = 7.0
    np.testing.assert_array_equal(gradient(x), [42.0, 42.0])
    s = 1.0
    np.testing.assert_array_equal(gradient(x), [14.0, 14.0])
    power = lambda x: x**3
    np.testing.assert_array_equal(gradient(x), [21.0, 21.0])


def test_a_zero_that_changes_its_sign_is_another_number(gradient_of: Any) -> None:
    """0.0 == -0.0, yet 1/x differs; 1 == 1.0 == True, yet their dtypes differ."""
    s: Any = 0.0
    gradient = gradient_of(lambda x: x * np.copysign(1.0, s))
    assert gradient(2.0) == 1.0
    s = -0.0
    assert gradient(2.0) == -1.0


def test_rebound_globals_of_the_module_and_of_helpers_are_seen(
    gradient_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A global that only a called helper reads: rebound, edited in place, and a number."""
    gradient = gradient_of(squares)
    x = np.ones(2)

    def want() -> Any:
        return 2 * (DATA * SCALE) ** 2

    module = globals()
    np.testing.assert_array_equal(gradient(x), want())
    monkeypatch.setitem(module, "DATA", np.array([3.0, 4.0]))
    np.testing.assert_array_equal(gradient(x), want())
    DATA[0] = -1.0
    np.testing.assert_array_equal(gradient(x), want())
    monkeypatch.setitem(module, "SCALE", 5.0)
    np.testing.assert_array_equal(gradient(x), want())
    monkeypatch.setitem(module, "helper", lambda x: x * 3.0)
    np.testing.assert_array_equal(gradient(x), [18.0, 18.0])


def test_changed_items_and_attributes_are_seen(gradient_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of a captured dict, of a list, attributes of an object: edited, replaced, added."""
    layers = [np.array([1.0, 2.0])]

    def f(x: Any) -> Any:
        total = np.sum(TABLE["weights"] * x) * TABLE["power"] + np.sum(SETTINGS.shift * x)
        for layer in layers:
            total = total + np.sum(layer * x)
        return total if SETTINGS.mode == "plain" else 0.5 * total

    def want() -> Any:
        total = TABLE["weights"] * TABLE["power"] + SETTINGS.shift + sum(layers)
        return total if SETTINGS.mode == "plain" else 0.5 * total

    gradient = gradient_of(f)
    x = np.ones(2)
    np.testing.assert_array_equal(gradient(x), want())
    layers[0][1] = 7.0
    np.testing.assert_array_equal(gradient(x), want())
    layers.append(np.array([10.0, 10.0]))
    np.testing.assert_array_equal(gradient(x), want())
    layers[0] = np.zeros(2)
    np.testing.assert_array_equal(gradient(x), want())
    monkeypatch.setitem(TABLE, "power", 3.0)
    np.testing.assert_array_equal(gradient(x), want())
    monkeypatch.setitem(TABLE, "weights", np.array([0.0, 1.0]))
    np.testing.assert_array_equal(gradient(x), want())
    monkeypatch.setattr(SETTINGS, "shift", np.array([1.0, -1.0]))
    np.testing.assert_array_equal(gradient(x), want())
    monkeypatch.setattr(SETTINGS, "mode", "half")
    np.testing.assert_array_equal(gradient(x), want())


class Layer:
    bias = np.array([1.0, 1.0])  # of the class

    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, x: Any) -> Any:
        return np.sum((self.w * x + self.bias) ** 2)

    def method(self, x: Any) -> Any:
        return self(x) * 2


@pytest.mark.parametrize("how", ["object", "method", "closure"])
def test_changed_arrays_and_attributes_of_objects_are_seen(
    how: str, gradient_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """self.w edited in place, rebound, and a class attribute rebound, whatever way the object gets there."""
    layer = Layer(np.array([1.0, 2.0]))
    functions: dict[str, Any] = {"object": layer, "method": layer.method, "closure": lambda x: layer(x)}
    gradient = gradient_of(functions[how])
    factor = 4 if how == "method" else 2
    x = np.ones(2)

    def want() -> Any:
        return factor * (layer.w * x + layer.bias) * layer.w

    np.testing.assert_array_equal(gradient(x), want())
    layer.w[0] = 5.0
    np.testing.assert_array_equal(gradient(x), want())
    layer.w = np.array([-1.0, 3.0])
    np.testing.assert_array_equal(gradient(x), want())
    monkeypatch.setattr(Layer, "bias", np.array([0.0, 2.0]))
    np.testing.assert_array_equal(gradient(x), want())
    Layer.bias[0] = 9.0
    np.testing.assert_array_equal(gradient(x), want())


def test_edited_defaults_and_arguments_of_partial_are_seen(gradient_of: Any) -> None:
    """Default arguments, keyword-only defaults and the arguments of functools.partial, edited in place."""
    a, b, c = np.ones(2), np.full(2, 2.0), np.full(2, 3.0)

    def f(c: Any, x: Any, a: Any = a, *, b: Any = b) -> Any:
        return np.sum(a * b * c * x)

    g = partial(f, c)
    gradient = gradient_of(lambda x: g(x))
    x = np.ones(2)
    np.testing.assert_array_equal(gradient(x), a * b * c)
    for array in (a, b, c):
        array[0] += 1.5
        np.testing.assert_array_equal(gradient(x), a * b * c)
    f.__defaults__ = (np.array([0.0, 1.0]),)
    np.testing.assert_array_equal(gradient(x), [0.0, 6.0])


@dataclass
class Box:
    value: Any

    @property
    def doubled(self) -> Any:
        return self.value * 2


def test_what_is_computed_from_captured_arrays_is_never_stale(gradient_of: Any) -> None:
    """Through a property, a copy, np.asarray, a nested function, a conversion, a reduction to a number."""
    box = Box(np.array([1.0, 2.0]))
    c = np.array([3.0, 4.0])

    def f(x: Any) -> Any:
        copied = c.copy()
        copied[0] = 0.0

        def inner(y: Any) -> Any:
            return y * np.asarray(c).mean() + copied

        return np.sum(inner(x) * x) + np.sum(box.doubled * x) + x[0] * c.max() + x[1] * float(len(c))

    def want(x: Any) -> Any:
        cut = c.copy()
        cut[0] = 0.0
        return 2 * x * c.mean() + cut + box.value * 2 + np.array([c.max(), 2.0])

    gradient = gradient_of(f)
    x = np.array([1.0, -1.0])
    np.testing.assert_allclose(gradient(x), want(x))
    c[1] = 10.0
    np.testing.assert_allclose(gradient(x), want(x))
    box.value[0] = -4.0
    np.testing.assert_allclose(gradient(x), want(x))


def test_a_branch_follows_the_captured_data_that_lies_there_now(gradient_of: Any) -> None:
    """The branch follows the data that lies there now."""
    c = np.array([1.0, 1.0])
    gradient = gradient_of(lambda x: np.sum(x) if np.all(c > 0) else np.sum(x**2))
    x = np.full(2, 3.0)
    np.testing.assert_array_equal(gradient(x), [1.0, 1.0])
    c[1] = -1.0
    np.testing.assert_array_equal(gradient(x), [6.0, 6.0])
    c[1] = 1.0
    np.testing.assert_array_equal(gradient(x), [1.0, 1.0])


def test_captured_indices_and_masks_that_are_edited_are_read_anew(gradient_of: Any) -> None:
    """An index array, a mask and an index number that are captured and then edited."""
    index, mask, k = np.array([0, 1]), np.array([True, False, False]), 0
    gradient = gradient_of(lambda x: np.sum(x[index]) + np.sum(x[mask]) * 10 + x[k] * 100)
    x = np.ones(3)
    np.testing.assert_array_equal(gradient(x), [111.0, 1.0, 0.0])
    index[0] = 2
    np.testing.assert_array_equal(gradient(x), [110.0, 1.0, 1.0])
    mask[:] = [False, True, True]
    np.testing.assert_array_equal(gradient(x), [100.0, 11.0, 11.0])
    k = 2
    np.testing.assert_array_equal(gradient(x), [0.0, 11.0, 111.0])


def test_a_promised_constant_is_computed_once() -> None:
    """wg.constant is a copy that cannot be written, so what was folded cannot be stale."""
    original = np.ones(3)
    c = wg.constant(original)
    gradient = wg.jit(wg.grad(lambda x: np.sum(np.exp(c) * x)))
    gradient(np.ones(3))
    original[:] = 5.0  # the copy is untouched
    np.testing.assert_allclose(gradient(np.ones(3)), np.full(3, np.e))
    with pytest.raises(ValueError, match="read-only"):
        c[0] = 1.0


def test_results_share_no_memory_with_each_other_nor_with_arguments(gradient_of: Any) -> None:
    """The same array object with other content is another input, and results never share its memory."""
    gradient = gradient_of(lambda x: np.sum(x * 1.0))
    x = np.ones(2)
    first = gradient(x)
    first[:] = 7.0
    np.testing.assert_array_equal(gradient(x), [1.0, 1.0])
    identity = wg.jit(lambda x: (x, x))
    a, b = identity(x)
    assert a is not b
    assert not np.shares_memory(a, b)
    assert not np.shares_memory(a, x)


def test_an_argument_that_is_captured_as_well_is_data_there(gradient_of: Any) -> None:
    """One array in two roles: differentiated where it is the argument, data where it is captured."""
    x = np.array([2.0, 3.0])
    gradient = gradient_of(lambda y: np.sum(y * x))
    np.testing.assert_array_equal(gradient(x), x)
    x[0] = 9.0
    np.testing.assert_array_equal(gradient(x), [9.0, 3.0])


# ------------------------------------------------------------------------------------------ what no copy can be made of

FACTOR = 2.0


class Model:
    rate = 2.0

    def __init__(self) -> None:
        self.w = 1.0

    def __call__(self, x: Any) -> Any:
        return x * FACTOR

    def rated(self, x: Any) -> Any:
        return x * self.rate

    @property
    def scale(self) -> Any:
        return FACTOR * self.w

    @staticmethod
    def static(x: Any) -> Any:
        return x * FACTOR

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x * cls.rate


class Inherited(Model):
    pass


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a: Any) -> None:
        self.a = a


class Table(dict[str, Any]):
    pass


class Row(list[Any]):
    pass


@functools.lru_cache
def remembered() -> Any:
    return FACTOR


def other_module() -> Any:
    """A module of the user's, with globals of its own that its functions read."""
    module = types.ModuleType("othermodule")
    code = """
FACTOR = 2.0
CONFIG = {"a": 2.0, "deep": [{"b": 2.0}]}
class Settings:
    value = 2.0
def helper(x):
    return x * FACTOR
def twice_removed(x):
    return helper(x)
"""
    exec(code, vars(module))
    vars(module)["array"] = np.ones(2)
    return module


def watched_cases() -> dict[str, tuple[Any, Any]]:
    """A function of a number, and an edit of what it reads that changes its value."""
    m, model, child = other_module(), Model(), Inherited()
    slotted, table, row = Slotted(2.0), Table(a=2.0), Row([2.0])
    by_default = defaultdict(float, a=2.0)
    ordered, queue, numbers = OrderedDict(a=2.0), deque([2.0]), {2.0}
    objects, masked = np.array([2.0, None], dtype=object), np.ma.array([2.0, 3.0])
    fields = np.zeros(1, dtype=[("a", float)])
    long_list = [2.0] * 20_000
    array, raw = np.ones(2), bytearray(b"\x02")
    namespace = types.SimpleNamespace(a=2.0, inner=types.SimpleNamespace(b=2.0))

    def set_global(value: float) -> Any:
        return lambda: globals().__setitem__("FACTOR", value)

    return {
        "a global that a method reads": (lambda x: model(x), set_global(3.0)),
        "a global that a callable object reads": (model, set_global(3.0)),
        "a global that a property reads": (lambda x: model.scale * x, set_global(3.0)),
        "a global that a static method reads": (lambda x: Model.static(x), set_global(3.0)),
        "a static method by its object": (lambda x: model.static(x), set_global(3.0)),
        "a global that an inherited method reads": (lambda x: child(x), set_global(3.0)),
        "an attribute of the class": (lambda x: model.rated(x), lambda: setattr(Model, "rate", 3.0)),
        "an attribute of a base class": (lambda x: child.rated(x), lambda: setattr(Model, "rate", 3.0)),
        "an attribute that shadows the base's": (lambda x: child.rated(x), lambda: setattr(Inherited, "rate", 3.0)),
        "an attribute that shadows the class's": (lambda x: model.rated(x), lambda: setattr(model, "rate", 3.0)),
        "a class method": (lambda x: Model.of_class(x), lambda: setattr(Model, "rate", 3.0)),
        "a method that is replaced": (lambda x: model.rated(x), lambda: setattr(Model, "rated", lambda self, x: 9 * x)),
        "a global of another module": (lambda x: m.helper(x), lambda: setattr(m, "FACTOR", 3.0)),
        "a global two calls away": (lambda x: m.twice_removed(x), lambda: setattr(m, "FACTOR", 3.0)),
        "a function of another module": (lambda x: m.helper(x), lambda: setattr(m, "helper", lambda x: 9 * x)),
        "a dict of another module": (lambda x: x * m.CONFIG["a"], lambda: m.CONFIG.update(a=3.0)),
        "deep in a dict of another module": (
            lambda x: x * m.CONFIG["deep"][0]["b"],
            lambda: m.CONFIG["deep"][0].update(b=3.0),
        ),
        "a class of another module": (lambda x: x * m.Settings.value, lambda: setattr(m.Settings, "value", 3.0)),
        "an array of another module": (lambda x: x * m.array[0], lambda: m.array.fill(3.0)),
        "its array, as a number": (lambda x: x * float(m.array[0]), lambda: m.array.fill(3.0)),
        "its array, rebound to an equal one": (lambda x: x * np.sum(m.array), lambda: rebound_and_edited(m)),
        "a slot": (lambda x: x * slotted.a, lambda: setattr(slotted, "a", 3.0)),
        "a defaultdict": (lambda x: x * by_default["a"], lambda: by_default.update(a=3.0)),
        "an OrderedDict": (lambda x: x * ordered["a"], lambda: ordered.update(a=3.0)),
        "a subclass of dict": (lambda x: x * table["a"], lambda: table.update(a=3.0)),
        "a subclass of list": (lambda x: x * row[0], lambda: row.__setitem__(0, 3.0)),
        "a deque": (lambda x: x * queue[0], lambda: queue.__setitem__(0, 3.0)),
        "a set": (lambda x: x * len(numbers), lambda: numbers.add(3.0)),
        "a long list": (lambda x: x * long_list[-1], lambda: long_list.__setitem__(-1, 3.0)),
        "bytes that can be written": (lambda x: x * raw[0], lambda: raw.__setitem__(0, 3)),
        "a namespace": (lambda x: x * namespace.inner.b, lambda: setattr(namespace.inner, "b", 3.0)),
        "a cached function": (lambda x: x * remembered(), lambda: (remembered.cache_clear(), set_global(3.0)())),
        "an array of objects": (lambda x: x * objects[0], lambda: objects.__setitem__(0, 3.0)),
        "a masked array": (lambda x: x * float(masked[0]), lambda: masked.__setitem__(0, 3.0)),
        "a structured array": (lambda x: x * (1 + float(fields["a"][0])), lambda: fields["a"].__setitem__(0, 3.0)),
        "a list made of an array": (lambda x: x * array.tolist()[0], lambda: array.fill(3.0)),
        "the sum of an array's elements": (lambda x: x * sum(v for v in array), lambda: array.fill(3.0)),
        "globals()": (lambda x: x * globals()["FACTOR"], set_global(3.0)),
        "a partial's argument": (partial(lambda s, x: s[0] * x, [2.0]), None),
    }


def rebound_and_edited(module: Any) -> None:
    module.array = np.array(module.array)
    module.array[0] = 3.0


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")  # here it is asked that nothing is stale
@pytest.mark.parametrize("name", watched_cases())
def test_edits_of_what_no_copy_can_be_made_of_are_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes, properties, other modules, slots, sets, objects of the standard library: edited, and seen at once."""
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    for cls in (Model, Inherited):
        monkeypatch.setattr(cls, "rate", 2.0)
    monkeypatch.setattr(Model, "rated", Model.rated)
    monkeypatch.delattr(Inherited, "rate")
    remembered.cache_clear()
    f, edit = watched_cases()[name]
    jitted = wg.jit(wg.value_and_grad(f))
    before = jitted(1.0)
    assert before == (f(1.0), f(1.0))
    if edit is None:
        f.args[0][0] = 3.0
    else:
        edit()
    assert f(1.0) != before[0]
    assert jitted(1.0) == (f(1.0), f(1.0))


def numbers_from(source: str) -> Any:
    """A function that draws another number at every call, and what puts its source back to the beginning."""
    generator, legacy, python = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)
    iterator, counter = iter(range(10)), itertools.count()
    return {
        "a Generator": lambda x: x * generator.random(),
        "a Generator's arrays": lambda x: x * np.sum(generator.normal(size=3)),
        "a RandomState": lambda x: x * legacy.rand(),
        "random.Random": lambda x: x * python.random(),
        "np.random": lambda x: x * np.random.rand(),  # noqa: NPY002
        "random": lambda x: x * random.random(),
        "an iterator": lambda x: x * (1 + next(iterator)),
        "itertools": lambda x: x * (1 + next(counter)),
        "the clock": lambda x: x * time.perf_counter(),
    }[source]


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")  # some are traced again, and say so: elsewhere
@pytest.mark.parametrize(
    "source",
    ["a Generator", "a Generator's arrays", "a RandomState", "random.Random", "np.random", "random"]
    + ["an iterator", "itertools", "the clock"],
)
def test_a_number_that_is_drawn_is_drawn_at_every_call(source: str) -> None:
    """A compiled function does not repeat the numbers of its first call."""
    jitted = wg.jit(wg.grad(numbers_from(source)))
    assert len({float(jitted(1.0)) for _ in range(4)}) == 4


def test_a_generator_that_is_not_drawn_from_costs_nothing() -> None:
    """An object that carries a generator for other purposes does not stop a function from being compiled."""
    model = types.SimpleNamespace(rng=np.random.default_rng(0), w=2.0)
    jitted = wg.jit(wg.grad(lambda x: x * model.w))
    for _ in range(4):
        assert jitted(1.0) == 2.0
    assert jitted.stats()["traces"] == 1


class Single:
    """Always the same object, however it is made."""

    made: Any = None

    def __new__(cls) -> Any:
        if cls.made is None:
            cls.made = object.__new__(cls)
        return cls.made


def test_the_users_objects_keep_their_arrays_while_tracing() -> None:
    """Tracing puts traced values into copies, never into the object that the user holds."""
    single = Single()
    single.w = np.array([1.0, 2.0])
    kept = single.w
    gradient = wg.jit(wg.grad(lambda x: np.sum(single.w * x)))
    np.testing.assert_array_equal(gradient(np.ones(2)), kept)
    assert single.w is kept


# ------------------------------------------------------------------------------------------------- constructors


class RandomModel:
    """Its weights are random; what a call does is not."""

    def __init__(self, rate: float = 1.0) -> None:
        self.weights = np.random.standard_normal(3) if rate < 0 else np.ones(3)  # noqa: NPY002 the state that all share
        self.rate = rate * SCALE

    def __call__(self, x: Any) -> Any:
        return np.sum(np.tanh(self.weights * x) * self.rate)


class Layered(RandomModel):
    """Made of nothing that is handed its class."""


class SpecialModel(RandomModel):
    @classmethod
    def other(cls, x: Any) -> Any:
        return cls(3.0)(x)

    def again(self, x: Any) -> Any:
        return self.__class__(4.0)(x)

    def twin(self, x: Any) -> Any:
        return type(self)(5.0)(x)


def test_a_constructor_that_the_function_cannot_call_is_no_part_of_it() -> None:
    """Drawing random numbers elsewhere, as training does, leaves the program as it is."""
    model, x = Layered(-1.0), np.ones(3)
    step = wg.jit(wg.grad(lambda x: model(x)))
    for _ in range(3):
        np.random.shuffle(np.arange(5))  # noqa: NPY002
        np.testing.assert_allclose(step(x), model.rate * model.weights / np.cosh(model.weights) ** 2)
    assert step.stats()["traces"] == 1


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")  # the constructor draws numbers
@pytest.mark.parametrize("make", ["by name", "class method", "__class__", "type"])
def test_a_constructor_that_the_function_calls_reads_what_is_there_now(
    make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, x = SpecialModel(), np.ones(3)
    f = {
        "by name": lambda x: SpecialModel(2.0)(x),
        "class method": lambda x: model.other(x),
        "__class__": lambda x: model.again(x),
        "type": lambda x: model.twin(x),
    }[make]
    step = wg.jit(f)
    before = step(x)
    np.testing.assert_allclose(before, f(x))
    monkeypatch.setattr(f"{__name__}.SCALE", 7.0)
    np.testing.assert_allclose(step(x), f(x))
    assert step(x) != before


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Sentinel:
    pass


SENTINEL = Sentinel()


def test_enums_and_sentinels_stay_themselves_under_jit() -> None:
    """The walk of the environment copied them, and `is` took the other branch."""
    colour = Colour.BLUE
    assert wg.jit(lambda x: x * (2 if colour is Colour.BLUE else 1))(3.0) == 6.0
    assert wg.jit(lambda x, m: x * (2 if m is SENTINEL else 1))(3.0, SENTINEL) == 6.0


def test_objects_and_functions_as_arguments_are_not_stale() -> None:
    """Arguments that are not traced were looked up by identity, and what they held was never looked at again."""

    class Model:
        def __init__(self) -> None:
            self.k = 2.0

        @wg.jit
        def f(self, x: Any) -> Any:
            return x * self.k

    model = Model()
    assert model.f(3.0) == 6.0
    model.k = 5.0
    assert model.f(3.0) == 15.0
    k = 2.0
    apply = wg.jit(lambda h, x: h(x))
    h = lambda x: k * x
    assert apply(h, 3.0) == 6.0
    k = 5.0
    assert apply(h, 3.0) == 15.0


LONGER_THAN_THE_STACK = 1500


def linked(n: int, of: Any) -> list[types.SimpleNamespace]:
    """Nodes of which each refers to the next."""
    nodes = [types.SimpleNamespace(value=of(k), next=None) for k in range(n)]
    for node, after in itertools.pairwise(nodes):
        node.next = after
    return nodes


def test_linked_nodes_may_be_more_than_the_stack_holds() -> None:
    """Looking into one from the other ended in a RecursionError after some 200."""
    first = linked(LONGER_THAN_THE_STACK, float)[0]
    nested: list[Any] = [1.0]
    for _ in range(LONGER_THAN_THE_STACK):
        nested = [nested]
    f = lambda x: x * first.next.value * len(nested)
    assert wg.grad(f)(2.0) == wg.jit(wg.grad(f), strict=True)(2.0) == 1.0


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
@pytest.mark.parametrize("of", [float, lambda k: np.array([k, 1.0])], ids=["numbers", "arrays"])
def test_an_edit_of_a_node_far_down_is_seen(of: Any, gradient_of: Any) -> None:
    nodes = linked(220, of)

    def total(x: Any) -> Any:
        s, node = 0.0 * x, nodes[0]
        while node is not None:
            s, node = s + node.value * x, node.next
        return np.sum(s)

    x = np.ones(2)
    gradient, slope = gradient_of(total), sum(of(k) for k in range(220)) * x
    np.testing.assert_array_equal(gradient(x), slope)
    for k in (3, 49, 50, 51, 99, 100, 101, 150, 219):
        nodes[k].value += 1000.0
        slope += 1000.0
        np.testing.assert_array_equal(gradient(x), slope)
    nodes[200].next = None
    np.testing.assert_array_equal(gradient(x), sum(node.value for node in nodes[:201]) * x)


class Named:
    """An object that holds a function of NumPy's."""

    def __init__(self, f: Any) -> None:
        self.f = f


def test_a_function_of_c_in_an_object_is_the_same_in_a_trace_within_a_trace() -> None:
    """Without the extension something stands for it in the outer trace, and the inner one missed its attributes."""
    held = Named(np.fft.rfft)
    inner = lambda s: np.sum(np.abs(held.f(np.stack([s, s]))) ** 2)
    assert wg.jit(lambda x: wg.jit(inner)(2.0) * x, strict=True)(3.0) == 48.0
