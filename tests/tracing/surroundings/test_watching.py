"""The walk that notes what a function reads in its original: it sees every edit, and what cannot be compared."""

from __future__ import annotations

import sys
import threading
import types
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.tracing.surroundings.kinds import EDITS, INCOMPARABLE, KINDS, Box
from tests.tracing.surroundings.walks import replaced, watched
from wengert.tracing.surroundings.parts import Part
from wengert.tracing.surroundings.slots import all_hold
from wengert.tracing.surroundings.watching import Watching


@pytest.mark.parametrize(("name", "edit"), EDITS)
def test_an_edit_of_any_part_is_seen(name: str, edit: str) -> None:
    kind = KINDS[name]()
    watching = watched(kind.value)
    assert all_hold(watching.slots)
    kind.edits[edit]()
    is_seen = edit not in kind.only_replaced
    assert all_hold(watching.slots) != is_seen


@pytest.mark.parametrize("name", INCOMPARABLE)
def test_what_cannot_be_compared_is_told(name: str) -> None:
    make, why = INCOMPARABLE[name]
    watching = watched(make())
    assert why in watching.unrepeatable
    assert all_hold(watching.slots)


def names_of(watching: Watching) -> list[str]:
    return [slot.name for slot in watching.slots]


def test_what_is_met_twice_is_looked_into_once() -> None:
    inner = [1.0]
    watching = watched((inner, inner))
    assert names_of(watching) == ["value", "len(value)", "value[0]", "len(value[0])", "value[0][0]", "value[1]"]


def test_what_is_shared_must_not_be_written_but_a_generator_may_be_drawn_from() -> None:
    box = Box(np.random.default_rng(0))
    shared = {slot.name: slot.is_shared for slot in watched([box]).slots}
    assert shared["value[0].value"] and shared["the attributes of value[0]"] and shared["len(value)"]
    assert not shared["the state of value[0].value"] and not shared["the attributes of Box"]


def test_of_a_library_s_object_its_numbers_and_arrays_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("a_library")
    module.__file__ = "/usr/lib/site-packages/a_library.py"
    monkeypatch.setitem(sys.modules, "a_library", module)
    cls = type("Estimator", (), {"__module__": "a_library", "__del__": lambda self: None})
    estimator: Any = cls()
    estimator.rate, estimator.weights, estimator.cache = 1.0, np.ones(2), {"a": 1.0}
    watching = Watching()
    watching.is_foreign({"__name__": "tests"})  # whose package the walk begins in is never a library
    watching.watch(Part(None, "x", estimator, lambda: estimator))
    assert names_of(watching) == [
        "x",
        "x.rate",
        "x.weights",
        "the content of x.weights",
        "the attributes of x",
    ]
    assert not watching.slots[-1].is_shared  # it may note what it likes in itself


class Model:
    rate, unused = 1.0, 2.0

    def __init__(self) -> None:
        self.width = 1.0

    def __call__(self, x: Any) -> Any:
        return x * self.rate

    def other(self, x: Any) -> Any:
        return x


model, used = Model(), "used"


def calls_the_object(x: Any) -> Any:
    return model(x)


def makes_an_object(x: Any) -> Any:
    return Model()(x)


def makes_another_of_its_class(x: Any) -> Any:
    return model.__class__()(x)


def computes_a_name(x: Any) -> Any:
    return getattr(model, "un" + str(used)) * x


def asks_for_a_literal_name(x: Any) -> Any:
    return getattr(model, "unused") * x  # noqa: B009


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (calls_the_object, ["Model.rate", "Model.__call__"]),
        (makes_an_object, ["Model.rate", "Model.__init__", "Model.__call__"]),
        (makes_another_of_its_class, ["Model.rate", "Model.__init__", "Model.__call__"]),
        (asks_for_a_literal_name, ["Model.rate", "Model.unused", "Model.__call__"]),
        (computes_a_name, ["Model.rate", "Model.unused", "Model.__call__", "Model.other"]),
    ],
)
def test_of_a_class_what_the_code_can_get_is_watched(f: Any, expected: list[str]) -> None:
    members = [name for name in names_of(watched(f)) if name.startswith("Model.")]
    assert sorted(members) == sorted(expected)


def test_of_a_library_the_numbers_are_watched_that_the_code_names(monkeypatch: pytest.MonkeyPatch) -> None:
    watching = watched(lambda: np.pi * np.float64(2))
    assert {"np.pi", "np.float64"} <= set(names_of(watching))  # whose function may be exchanged
    monkeypatch.setattr(np, "pi", 3.0)
    assert not all_hold(watching.slots)


def test_the_state_that_all_share_is_watched_where_it_can_be_drawn_from() -> None:
    watching = watched(lambda: np.random.rand())  # noqa: NPY002
    assert "the state of np.random" in names_of(watching)
    assert all_hold(watching.slots)
    np.random.rand()  # noqa: NPY002
    assert not all_hold(watching.slots)
    assert "the state of np.random" not in names_of(watched(lambda: np.sum(1.0)))


CLOSED: dict[str, tuple[Any, bool]] = {
    "number": (1.0, True),
    "list of numbers": ([1.0, 2], True),
    "array": (np.ones(2), True),
    "object": (Box(), True),
    "function": (lambda x: x * 2.0, True),
    "array of objects": (np.array([None]), True),
    "dict with objects as keys": ({Box(): 1.0}, True),
    "object with slots": (KINDS["object with slots"]().value, True),
    "generator": (np.random.default_rng(0), True),
    "module": (types, True),
    "function of a library that nobody knows": (pytest.approx, False),
}


@pytest.mark.parametrize("name", CLOSED)
def test_whether_a_number_could_come_in_is_judged(name: str) -> None:
    value, is_closed = CLOSED[name]
    assert watched(value).is_closed == is_closed
    assert replaced(lambda: value)[1].is_closed == is_closed


class _Doubled(list[float]):
    """Gives other items than it holds."""

    def __getitem__(self, k: Any) -> Any:
        return 2 * list.__getitem__(self, k)


class _Length(float):
    """A number with a unit."""

    unit = 1.0


def test_kinds_of_containers_and_numbers_that_were_looked_at_once() -> None:
    """A view of a dict, a proxy, the order of an OrderedDict, what hangs on a number: a change was not seen. A list
    that gives other items than it holds was taken for written, and one that holds itself was walked for ever."""
    table = {"a": 1.0, "b": 2.0}
    views = table.values(), table.keys(), table.items()
    proxy = types.MappingProxyType(table)
    ordered = OrderedDict(table)
    length, doubled = _Length(3.0), _Doubled([1.0, 2.0])
    itself: list[Any] = [1.0]
    itself.append(itself)
    lock = threading.Lock()
    cases: list[tuple[Callable[[Any], Any], Callable[[], Any]]] = [
        (lambda x: x * sum(views[0]) * len(views[1]) * dict(views[2])["a"], lambda: table.update(a=5.0, c=1.0)),
        (lambda x: x * proxy["a"] * len(proxy), lambda: table.update(a=7.0, d=1.0)),
        (lambda x: x * next(iter(ordered.values())), lambda: ordered.move_to_end("a")),
        (lambda x: x * length.unit * length, lambda: setattr(length, "unit", 4.0)),
        (lambda x: x * doubled[1] * len(doubled), lambda: list.append(doubled, 1.0)),
        (lambda x: x * itself[1][1][0], lambda: itself.__setitem__(0, 3.0)),
        (lambda x: x * (2 if lock.locked() else 3), lambda: lock.acquire(blocking=False)),
    ]
    for f, change in cases:
        compiled = wg.jit(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wg.PerformanceWarning)  # of the lock
            for _ in range(2):
                assert compiled(1.5) == compiled(1.5) == f(1.5)
                change()


def test_what_the_functions_of_one_module_name_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was decided for every function anew, whose it is."""
    taken: list[str] = []
    take = Watching._take
    monkeypatch.setattr(
        Watching, "_take", lambda self, module, name, path, by: (taken.append(name), take(self, module, name, path, by))
    )
    space: dict[str, Any] = {"__name__": "of_the_users", "np": np, "f0": lambda x: x}
    for k in range(1, 9):
        exec(f"def f{k}(x): return np.sin(f{k - 1}(x))", space)
    compiled = wg.jit(space["f8"])
    assert compiled(0.5) == pytest.approx(space["f8"](0.5), rel=1e-12)
    assert taken.count("np") == 1
    space["np"] = types.SimpleNamespace(sin=lambda x: 2 * x)  # what a name means is asked again for every trace
    assert compiled(0.5) == 2**7


def test_what_is_imported_and_is_no_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object in the place of a module raised an AttributeError; what is asked of it is watched."""

    def f(x: float) -> float:
        import stand_in_of_a_module as found

        return x * found.rate

    stand_in = types.SimpleNamespace(rate=2.0)
    monkeypatch.setitem(sys.modules, "stand_in_of_a_module", stand_in)
    for call in (wg.jit(f), wg.jit(wg.grad(f)), wg.grad(f)):
        for stand_in.rate in (2.0, 3.0):
            assert call(1.0) == stand_in.rate
