"""The walk that notes what a function reads in its original: it sees every edit, and what cannot be compared."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import math
import operator
import random
import statistics
import sys
import threading
import time
import types
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from copy import copy as another
from dataclasses import replace as with_other
from fractions import Fraction
from pathlib import Path
from random import random as draw
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.stats

import wengert as wg
from tests.tracing.surroundings.kinds import EDITS, INCOMPARABLE, KINDS, Box
from tests.tracing.surroundings.walks import replaced, watched
from wengert.tracing.generators import Generators
from wengert.tracing.surroundings.from_libraries import Libraries
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
    assert why in watching.reasons.unrepeatable
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
    watching.watch(Part(None, "x", estimator, lambda: estimator))
    assert names_of(watching) == [
        "x",
        "x.rate",
        "x.weights",
        "the content of x.weights",
        "the attributes of x",
        "the attributes of Estimator",
    ]
    assert not watching.slots[4].is_shared  # it may note what it likes in itself


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
    assert watched(value).reasons.is_closed == is_closed
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
    take = Libraries.take
    monkeypatch.setattr(
        Libraries, "take", lambda self, module, name, path, by: (taken.append(name), take(self, module, name, path, by))
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


@dataclasses.dataclass(eq=False, repr=False)
class Checked:
    rate: float = 1.0

    def __post_init__(self) -> None:
        pass

    def other(self) -> None:
        pass


class Holding:
    """Has an object, which is no descriptor."""

    part = Box()

    def __init__(self) -> None:
        self.width = 1.0

    @classmethod
    def make(cls) -> Any:
        return cls()


class Handed:
    """Is handed to a descriptor."""

    class Own:
        def __get__(self, _: Any, owner: Any) -> Any:
            return owner()

    own = Own()

    def __init__(self) -> None:
        self.width = 1.0


class Named:
    """Is handed to a descriptor when it is made."""

    class Own:
        def __set_name__(self, owner: Any, name: str) -> None:
            self.owner = owner

    own = Own()

    def __init__(self) -> None:
        self.width = 1.0


class OfMeta(metaclass=type("Meta", (type,), {"__module__": __name__})):
    def __init__(self) -> None:
        self.width = 1.0


REPLACES = {"__replace__", "__init__", "__post_init__"} if sys.version_info >= (3, 13) else set[str]()
"""The method that dataclasses have as of Python 3.13 makes an object of the class, of any."""
checked, holding, handed, named, of_meta, find = Checked(), Holding(), Handed(), Named(), OfMeta(), getattr

MEMBERS: list[tuple[Any, Any, set[str]]] = [
    (lambda x: x * holding.width, Holding, set()),
    (lambda x: x * holding.part.value, Holding, {"part"}),
    (lambda x: x * Holding().width, Holding, {"__init__"}),
    (lambda x: x * type(holding)().width, Holding, {"__init__"}),
    (lambda x: x * holding.make().width, Holding, {"__init__", "make"}),
    (lambda x: x * find(holding, "wid" + "th"), Holding, {"__init__", "make", "part"}),
    (lambda x: x * handed.width, Handed, {"__init__"}),
    (lambda x: x * named.width, Named, {"__init__"}),
    (lambda x: x * of_meta.width, OfMeta, {"__init__"}),
    (lambda x: x * checked.rate, Checked, {"rate", *REPLACES}),
    (lambda x: x * with_other(checked, rate=2.0).rate, Checked, {"rate", "__init__", "__post_init__", *REPLACES}),
    (lambda x: x * another(holding).width, Holding, {"__init__"}),
]  # fmt: skip


@pytest.mark.parametrize(("f", "cls", "expected"), MEMBERS)
def test_of_a_class_no_more_is_watched_than_the_code_can_get(f: Any, cls: type, expected: set[str]) -> None:
    members = {name.split(".", 1)[1] for name in names_of(watched(f)) if name.startswith(f"{cls.__name__}.")}
    assert {name for name in members if "." not in name and " " not in name} == expected


class Equal:
    """Equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def rule(self, x: Any) -> Any:
        return x


class EqualClass(type):
    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return 0


class EqualModule(types.ModuleType):
    __eq__, __hash__ = Equal.__eq__, Equal.__hash__

    def rule(self, x: Any) -> Any:
        return x


def a_module(name: str) -> Any:
    return EqualModule(name)


def a_class() -> Any:
    return EqualClass("One", (), {"rule": staticmethod(lambda x: x)})


EQUALS: dict[str, Any] = {
    "objects": Equal,
    "classes": a_class,
    "modules": lambda: a_module("of_the_users"),
    "modules of a library": lambda: a_module("numpy.of_a_test"),
}
CODE = """
def of_a_global(x):
    return value.rule(x)

def of_an_attribute(x):
    return space.value.rule(x)

def of_an_item(x):
    return items[0].rule(x)

def of_a_default(x, value=value):
    return value.rule(x)

def made():
    inner = value
    def of_a_cell(x):
        return inner.rule(x)
    def put(value):
        nonlocal inner
        inner = value
    return of_a_cell, put

of_a_cell, put_cell = made()
"""
PLACES: dict[str, Any] = {
    "of_a_global": lambda m, value: m.__setitem__("value", value),
    "of_an_attribute": lambda m, value: setattr(m["space"], "value", value),
    "of_an_item": lambda m, value: m["items"].__setitem__(0, value),
    "of_a_default": lambda m, value: setattr(m["of_a_default"], "__defaults__", (value,)),
    "of_a_cell": lambda m, value: m["put_cell"](value),
}


@pytest.mark.parametrize("kind", EQUALS)
@pytest.mark.parametrize("place", PLACES)
def test_another_object_that_equals_the_one_that_was_there_is_seen(kind: str, place: str) -> None:
    value = EQUALS[kind]()
    m: dict[str, Any] = {
        "__name__": "of_the_users",
        "value": value,
        "items": [value],
        "space": types.SimpleNamespace(value=value),
    }
    exec(CODE, m)
    walks = watched(m[place]).slots, replaced(m[place])[1].slots
    assert all(map(all_hold, walks))
    PLACES[place](m, EQUALS[kind]())
    assert not any(map(all_hold, walks))


def test_another_function_of_a_library_that_equals_the_one_that_was_there_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(np, "of_a_test", Equal(), raising=False)
    f = lambda x: np.of_a_test(x)
    walks = watched(f).slots, replaced(f)[1].slots
    assert all(map(all_hold, walks))
    monkeypatch.setattr(np, "of_a_test", Equal())
    assert not any(map(all_hold, walks))


IMPORTS: dict[str, tuple[str, bool]] = {
    "import user_module as late": ("user_module", True),
    "import user_package.part as late": ("user_package.part", True),
    "from user_package import part as late": ("user_package.part", True),
    "from user_module import nothing as late": ("user_module", True),
    "from user_package import nothing as late": ("user_package", True),
    "import colorsys as late": ("colorsys", True),
    "import zipapp as late": ("zipapp", False),
    "import library_of_a_test as late": ("library_of_a_test", True),
    "import not_there as late": ("not_there", False),
    "import user_package.not_there as late": ("user_package.not_there", False),
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "site-packages"
    for folder in (tmp_path / "user_package", library):
        folder.mkdir()
    for path in (tmp_path / "user_module.py", tmp_path / "user_package" / "part.py", library / "library_of_a_test.py"):
        path.write_text("RATE = 2.0")
    for name in ("colorsys", "zipapp"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for path in (tmp_path, library):
        monkeypatch.syspath_prepend(path)


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("statement", IMPORTS)
def test_what_a_function_would_import_is_imported_before_if_it_is_known(
    statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of Python's of which nothing is known is left to the function, which is traced anew at every call."""
    path, is_known = IMPORTS[statement]
    is_there = "not_there" not in path
    module: dict[str, Any] = {"__name__": "of_the_users"}
    exec(f"def f(x):\n    {statement}\n    return x * late.RATE", module)
    for name in (path, "user_package"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    watching = watched(module["f"])
    assert watching.reasons.unrepeatable == ("" if is_known else f"value imports {path}")
    assert (path in sys.modules) == (is_known and is_there)
    assert (f"sys.modules[{path!r}]" in names_of(watching)) == (is_known and is_there)
    if path.startswith("user") and is_there and "nothing" not in statement:
        assert f"{path}.RATE" in names_of(watching)
    for name in (path, "user_package"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("modules")
def test_a_module_that_a_function_takes_from_its_package_keeps_numpy_s_arrays(tmp_path: Path) -> None:
    """It kept traced ones, and a change of it was not seen."""
    (tmp_path / "user_package" / "late.py").write_text("import numpy as np\nRATE, TABLE = 2.0, np.zeros(2) + 3.0\n")
    module: dict[str, Any] = {"__name__": "of_the_users"}
    exec("def f(x):\n    from user_package import late\n    return x * late.RATE * late.TABLE[0]", module)
    step = wg.jit(module["f"], strict=True)
    assert step(1.0) == 6.0
    late = sys.modules["user_package.late"]
    assert type(late.TABLE) is np.ndarray
    late.RATE = 4.0
    assert step(1.0) == 12.0
    for name in ("user_package.late", "user_package"):
        del sys.modules[name]


FOREIGN: dict[str, tuple[str, str | None, bool]] = {
    "NumPy": ("numpy.linalg", None, True),
    "what is built on top": ("wengert.nn.of_a_test", None, True),
    "a part of Python": ("sys", None, True),
    "a module of the user's with that name": ("sys", "/home/user/sys.py", False),
    "the standard library": ("json.decoder", functools.__file__, True),
    "another package": ("other.part", "/x/site-packages/other/part.py", True),
    "another program": ("program", "/home/user/program.py", False),
    "code made at run time": ("", None, False),
}


def test_whose_code_is_walked() -> None:
    """What is installed is not: it is followed when it runs."""
    watching = Watching()
    for name, file, is_foreign in FOREIGN.values():
        namespace = {"__name__": name} | ({} if file is None else {"__file__": file})
        assert watching.libraries.is_foreign(namespace) == is_foreign


def test_a_generator_is_recorded_unless_it_is_to_be_drawn_from_at_once() -> None:
    own, other, late = (np.random.default_rng(k) for k in range(3))
    generators = Generators()
    watching = Watching({id(other): other}, generators)
    for name, generator in (("own", own), ("other", other)):
        watching.watch(Part(None, name, generator, lambda generator=generator: generator))
    generators.is_recording = False
    watching.watch(Part(None, "late", late, lambda: late))
    assert {id(found.generator): found.name for found in generators.found.values()} == {id(own): "own"}
    assert generators.at_once == {id(other), id(late)}
    assert names_of(watching) == ["own", "other", "the state of other", "late", "the state of late"]
    generators.is_recording = True
    watching.settle_generators()
    assert id(own) in generators.found
    watching.judge(getattr, "getattr")
    watching.settle_generators()
    assert not generators.found and not generators.is_recording
    assert generators.at_once == {id(own), id(other), id(late)}
    assert names_of(watching)[-1] == "the state of own"


def test_what_code_may_ask_of_a_library_by_a_name_that_is_computed() -> None:
    """Of modules whose functions depend on their operands alone it may."""
    libraries = [np], [math]
    assert "libraries[0][0] may be asked" in watched(lambda name: getattr(libraries[0][0], name)).reasons.doubt
    of_math = [math, operator, functools]
    assert watched(lambda name: getattr(of_math[0], name)).reasons.is_closed
    assert watched(lambda: len(libraries)).reasons.is_closed
    classes = [Fraction]
    assert watched(lambda name: (getattr(model, name), classes)).reasons.is_closed


def test_what_somebody_has_hung_on_a_function_of_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    f = lambda: scipy.linalg.expm.of_a_test
    assert watched(f).reasons.is_closed
    monkeypatch.setattr(scipy.linalg.expm, "of_a_test", 2.0, raising=False)
    assert "reads scipy.linalg.expm.of_a_test, which somebody has put there" in watched(f).reasons.doubt
    assert watched(lambda: scipy.linalg.expm.other).reasons.is_closed
    assert watched(lambda: scipy.linalg.expm).reasons.is_closed


@pytest.mark.parametrize("f", [calls_the_object, makes_an_object, computes_a_name, asks_for_a_literal_name])
def test_no_slot_is_noted_twice(f: Any) -> None:
    names = names_of(watched(f))
    assert len(names) == len(set(names))


def test_which_arrays_are_known_by_their_names() -> None:
    x, masked, objects = np.ones(2), np.ma.ones(2), np.array([None])
    watching = watched([x, masked, objects, np.array(["a"])])
    assert watching.known == {id(x): (x, "value[0]", False)}


LIBRARIES = {"random": random, "np.random": np.random, "np": np}
NORMAL, PYTHONS_NORMAL = scipy.stats.norm, statistics.NormalDist()
TO_DRAW_FROM = types.SimpleNamespace(random=random, shuffle=np.random.shuffle)


def shuffle_imported(numbers: Any) -> None:
    from random import shuffle

    shuffle(numbers)


def shuffle_imported_of_numpy(numbers: Any) -> None:
    import numpy.random as of_numpy

    of_numpy.shuffle(numbers)  # noqa: NPY002


def shuffle_of_a_default(numbers: Any, by: Any = random) -> None:
    by.shuffle(numbers)


DRAWN_FROM_ALL: dict[str, Any] = {
    "by its module": lambda numbers: random.shuffle(numbers),
    "by NumPy's module": lambda numbers: np.random.shuffle(numbers),  # noqa: NPY002
    "by its own name": lambda numbers: numbers.append(draw()),
    "a module in a table": lambda numbers: LIBRARIES["random"].shuffle(numbers),
    "NumPy's module in a table": lambda numbers: LIBRARIES["np.random"].shuffle(numbers),
    "NumPy in a table": lambda numbers: LIBRARIES["np"].random.shuffle(numbers),
    "a module of an object": lambda numbers: TO_DRAW_FROM.random.shuffle(numbers),
    "a function of an object": lambda numbers: TO_DRAW_FROM.shuffle(numbers),
    "a module of a default": shuffle_of_a_default,
    "a name that is computed": lambda numbers: getattr(random, "shuf" + "fle")(numbers),
    "a name that is computed, of a module in a table": lambda numbers: getattr(LIBRARIES["random"], "shuf" + "fle")(
        numbers
    ),
    "imported inside": shuffle_imported,
    "imported inside from NumPy": shuffle_imported_of_numpy,
    "a function of NumPy's that is no method": lambda numbers: numbers.append(np.random.ranf()),  # noqa: NPY002
    "a function of SciPy's": lambda numbers: numbers.extend(scipy.sparse.random(2, 2, 0.5).data),
    "a method of SciPy's": lambda numbers: numbers.append(NORMAL.rvs()),
    "a method of Python's": lambda numbers: numbers.extend(PYTHONS_NORMAL.samples(2)),
}


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
@pytest.mark.parametrize("name", DRAWN_FROM_ALL)
def test_what_a_run_that_is_begun_again_has_drawn_from_the_generators_that_all_share(name: str) -> None:
    """It was drawn twice, where the module had been handed on or was imported inside."""
    numbers: list[Any] = []
    change = DRAWN_FROM_ALL[name]

    def f(x: Any) -> Any:
        change(numbers)  # a write, which ends the traced run
        return x * numbers[-1]

    def drawn(f: Any) -> list[Any]:
        numbers[:] = [1.0, 2.0, 3.0, 4.0, 5.0]
        random.seed(3)
        np.random.seed(3)  # noqa: NPY002
        return [f(2.0), *numbers, random.random(), np.random.rand()]  # noqa: NPY002

    assert drawn(wg.jit(f)) == drawn(f)


def test_the_generators_that_all_share_are_not_looked_at_where_nobody_draws_from_them() -> None:
    module = [random]
    for f in (lambda: random.Random(3).random(), lambda: np.sin(1.0), lambda: len(module), lambda: np.random.SFC64(1)):
        assert not replaced(f)[1].is_drawn_from
    for f in (lambda: random.random(), lambda: random, lambda: np.random, lambda: draw()):
        assert replaced(f)[1].is_drawn_from


def test_what_reads_more_than_its_object_is_told_each_time() -> None:
    for f in (lambda: datetime.datetime.now(), lambda: Path("a").exists(), lambda: datetime.datetime.fromtimestamp(0)):
        for _ in range(2):
            assert "reads more than its object" in watched(f).reasons.unrepeatable
    for f in (lambda: datetime.datetime(2000, 1, 1), lambda: Path("a").name):
        assert watched(f).reasons.unrepeatable == "" and watched(f).reasons.is_closed


def test_a_function_that_waits_may_stand_in_a_table() -> None:
    table = {"wait": time.sleep}
    assert watched(lambda: table["wait"](0)).reasons.unrepeatable == ""
    assert "reads the clock" in watched([time.time]).reasons.unrepeatable
    assert "may refer to an object that is gone" in watched([weakref.ref(Box)]).reasons.unrepeatable


OUTER, INNER = types.ModuleType("of_the_users"), types.ModuleType("of_the_users.inner")
OUTER.inner = INNER
HOLDING = types.SimpleNamespace(module=INNER, function=calls_the_object)
IN_A_LIST: list[Any] = [INNER, calls_the_object]


class OfAClass:
    module = INNER


def or_one(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (AttributeError, ImportError):
        return 1.0


def by_a_local_variable() -> Any:
    inner = OUTER.inner
    return inner.rate


def by_an_import() -> Any:
    from of_the_users import rate

    return rate


ABSENT: dict[str, tuple[Callable[[], Any], Any]] = {
    "of a module": (lambda: OUTER.rate, OUTER),
    "with underscores": (lambda: OUTER.__rate__, OUTER),
    "with underscores, of a function": (lambda: calls_the_object.__rate__, calls_the_object),
    "asked for by its name": (lambda: getattr(OUTER, "rate"), OUTER),  # noqa: B009
    "of a module in a module": (lambda: OUTER.inner.rate, INNER),
    "of a module of an object": (lambda: HOLDING.module.rate, INNER),
    "of a function of an object": (lambda: HOLDING.function.rate, calls_the_object),
    "of a module of a class": (lambda: OfAClass.module.rate, INNER),
    "of a module in a list": (lambda: IN_A_LIST[0].rate, INNER),
    "of a function in a list": (lambda: IN_A_LIST[1].rate, calls_the_object),
    "of a module in a local variable": (by_a_local_variable, INNER),
    "imported": (by_an_import, OUTER),
}


@pytest.mark.parametrize("name", ABSENT)
def test_an_attribute_that_is_not_there_yet(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was not seen that it had come, but where a module or function stood in a variable."""
    read, holder = ABSENT[name]
    attribute = "__rate__" if "underscores" in name else "rate"
    monkeypatch.setitem(sys.modules, "of_the_users", OUTER)
    step = wg.jit(lambda x: x * or_one(read), strict=True)
    assert step(2.0) == 2.0
    monkeypatch.setattr(holder, attribute, 3.0, raising=False)
    assert step(2.0) == 6.0
    monkeypatch.delattr(holder, attribute)
    assert step(2.0) == 2.0
    assert step.stats()["traces"] <= 3


def test_what_is_not_there_is_asked_for_where_code_goes_on_after_an_error() -> None:
    assert not [name for name in names_of(watched(lambda: IN_A_LIST[0].__name__)) if "has not" in name]
    assert "what IN_A_LIST[0] has not" in names_of(watched(lambda: or_one(lambda: IN_A_LIST[0].rate)))
