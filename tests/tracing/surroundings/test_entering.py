"""Code of installed packages is recorded, followed and watched as the user's own, as far as it runs.

A package is written into a folder called ``site-packages``, and called by functions of this file.
"""

from __future__ import annotations

import gc
import importlib
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tape import Builder
from wengert.tracing.surroundings.slots import native_slots

X = np.array([1.0, 2.0])

FILES = {
    "__init__": """
        from package_of_a_test import models, tables
        from package_of_a_test.tables import scaled, decorated
    """,
    "tables": """
        import functools
        import sys
        import time
        import warnings
        import numpy as np
        RATE, LIMIT, unit = 2.0, np.float64(0.5), "SI"
        WEIGHTS = np.array([1.0, 3.0])
        FACTORS = {"SI": 1.0, "IP": 10.0, "both": [1.0, {"deep": 4.0}]}
        STEPS = []
        kept = {}
        count = 0

        def set_unit(name):
            global unit
            unit = name

        def is_metric():
            return unit == "SI"

        def helper(x, power=2):
            return x**power

        def scaled(x):
            return RATE * x

        def in_units(x):
            return x * (1.0 if is_metric() else FACTORS[unit])

        def deep(x):
            return x * FACTORS["both"][1]["deep"]

        def powered(x):
            return helper(x)

        def weighted(x):
            return x * (WEIGHTS @ WEIGHTS) * np.sqrt(RATE)

        def limited(x):
            return x + np.where(LIMIT > 0.1, LIMIT, 0.0)

        def stepped(x):
            for step in STEPS:
                x = step(x)
            return x * 1.0

        def sized(x):
            return x * len(STEPS[0])

        def clocked():
            return time.time()

        def unclocked(x, is_timed=False):
            return x * (clocked() if is_timed else 3.0)

        def memoised(x):
            if "scale" not in kept:
                kept["scale"] = 5.0
            return x * kept["scale"]

        def counted(x):
            global count
            count += 1
            return x * count

        def decorated(f):
            scale = {"by": 2.0}

            @functools.wraps(f)
            def wrapper(*args):
                return scale["by"] * f(*args)

            wrapper.scale = scale
            return wrapper

        @functools.lru_cache
        def constant(k):
            return np.arange(3.0)[k] * RATE

        def cached(x):
            return x * constant(2)

        def imported_late(x):
            from package_of_a_test.late import LATE
            import package_of_a_test.late as module
            return x * LATE * module.LATE

        def asks(x, name="RATE"):
            return x * getattr(Settings(), name)

        class Settings:
            RATE = 7.0

        by_id = {}

        def keyed(x, of=(1.0, 2.0)):
            return x * by_id.setdefault(id(of), 3.0)

        def emptied(x):
            kept.pop("first", None)
            return x * len(FACTORS)

        def heard(x):
            return x * (2.0 if sys.getprofile() else 1.0)

        def streamed(x):
            return x * next(stream)

        stream = iter(range(1, 100))
    """,
    "late": "LATE = 3.0",
    "models": """
        class Meta(type):
            @property
            def order(cls):
                return 2.0

        class Base(metaclass=Meta):
            slope = 3.0
            registry = {}

            def __init__(self, width):
                self.width = width

            def __call__(self, x):
                return self.hook(x) * self.slope + self.width

            def hook(self, x):
                return x

            @staticmethod
            def shared(x):
                return 2.0 * x

            @classmethod
            def made(cls, x):
                return cls(1.0)(x)

            @property
            def doubled(self):
                return 2.0 * self.width

            def by_property(self, x):
                return self.doubled * x

            def _times(self, x):
                return self.width * x

            __matmul__ = _times

            def by_metaclass(self, x):
                return type(self).order * x

        class Child(Base):
            pass

        class Slotted:
            __slots__ = ("__shift", "a", "b")

            def __init__(self, a):
                self.a = a
                self.__shift = 1.0

            def times(self, x):
                return self.a * x + self.__shift * x

            def move(self, shift):
                self.__shift = shift

        DEFAULT = Child(0.5)
        SLOTTED = Slotted(2.0)

        def by_default(x):
            return DEFAULT(x)

        def by_slots(x):
            return SLOTTED.times(x)

        def by_property(x):
            return DEFAULT.by_property(x)
    """,
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    folder = tmp_path / "site-packages" / "package_of_a_test"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(folder.parent)
    yield importlib.import_module("package_of_a_test")
    for name in [name for name in sys.modules if name.startswith("package_of_a_test")]:
        del sys.modules[name]


def exchange(holder: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(holder, name, value)


Changed = tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]
CHANGES: dict[str, Changed] = {
    "a number of a module": (lambda p, x: p.tables.scaled(x), lambda p: exchange(p.tables, RATE=5.0)),
    "a number, by a name imported before": (lambda p, x: p.scaled(x), lambda p: exchange(p.tables, RATE=5.0)),
    "a setting, by a function that sets it": (lambda p, x: p.tables.in_units(x), lambda p: p.tables.set_unit("IP")),
    "an item of a dict that is in use": (
        lambda p, x: p.tables.deep(x),
        lambda p: p.tables.FACTORS["both"][1].update(deep=9.0),
    ),
    "an item of a list in a dict": (
        lambda p, x: p.tables.deep(x),
        lambda p: p.tables.FACTORS["both"].__setitem__(1, {"deep": 9.0}),
    ),
    "a function that another calls": (
        lambda p, x: p.tables.powered(x),
        lambda p: exchange(p.tables, helper=lambda x: 5.0 * x),
    ),
    "a function of a package": (lambda p, x: p.scaled(x), lambda p: exchange(p, scaled=lambda x: 5.0 * x)),
    "the default of one": (
        lambda p, x: p.tables.powered(x),
        lambda p: exchange(p.tables.helper, __defaults__=(3,)),
    ),
    "the code of one": (
        lambda p, x: p.tables.powered(x),
        lambda p: exchange(p.tables.helper, __code__=(lambda x, power=2: 7.0 * x).__code__),
    ),
    "an array in place": (lambda p, x: p.tables.weighted(x), lambda p: p.tables.WEIGHTS.__setitem__(0, 9.0)),
    "a number of NumPy's": (lambda p, x: p.tables.limited(x), lambda p: exchange(p.tables, LIMIT=np.float64(0.75))),
    "a list of functions": (lambda p, x: p.tables.stepped(x), lambda p: p.tables.STEPS.append(p.tables.helper)),
    "what a decorator keeps": (
        lambda p, x: p.squared(x),
        lambda p: p.squared.scale.update(by=9.0),
    ),
    "what is imported when it runs": (
        lambda p, x: p.tables.imported_late(x),
        lambda p: exchange(sys.modules["package_of_a_test.late"], LATE=5.0),
    ),
    "an attribute by a computed name": (
        lambda p, x: p.tables.asks(x),
        lambda p: exchange(p.tables.Settings, RATE=9.0),
    ),
    "an attribute of a class": (lambda p, x: p.models.Child(1.0)(x), lambda p: exchange(p.models.Base, slope=5.0)),
    "one that hides its base's": (lambda p, x: p.models.Child(1.0)(x), lambda p: exchange(p.models.Child, slope=5.0)),
    "a method": (
        lambda p, x: p.models.Child(1.0)(x),
        lambda p: exchange(p.models.Child, hook=lambda self, x: 5.0 * x),
    ),
    "a static method": (
        lambda p, x: p.models.Child.shared(x),
        lambda p: exchange(p.models.Base, shared=staticmethod(lambda x: 5.0 * x)),
    ),
    "what a class method makes": (lambda p, x: p.models.Child.made(x), lambda p: exchange(p.models.Base, slope=5.0)),
    "an attribute of an object": (
        lambda p, x: p.models.by_default(x),
        lambda p: exchange(p.models.DEFAULT, width=5.0),
    ),
    "one that hides its class's": (
        lambda p, x: p.models.by_default(x),
        lambda p: exchange(p.models.DEFAULT, slope=5.0),
    ),
    "the object": (
        lambda p, x: p.models.by_default(x),
        lambda p: exchange(p.models, DEFAULT=p.models.Child(9.0)),
    ),
    "what a property reads": (
        lambda p, x: p.models.by_property(x),
        lambda p: exchange(p.models.DEFAULT, width=5.0),
    ),
    "an operator that has another name": (
        lambda p, x: p.models.DEFAULT @ x,
        lambda p: exchange(p.models.Base, __matmul__=lambda self, x: 5.0 * x),
    ),
    "a property of a metaclass": (
        lambda p, x: p.models.DEFAULT.by_metaclass(x),
        lambda p: exchange(p.models.Meta, order=5.0),
    ),
    "an object with slots": (lambda p, x: p.models.by_slots(x), lambda p: exchange(p.models.SLOTTED, a=5.0)),
    "a private one": (lambda p, x: p.models.by_slots(x), lambda p: p.models.SLOTTED.move(5.0)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changes_in_a_package_is_seen_by_the_next_call(what: str, package: Any) -> None:
    call, change = CHANGES[what]
    package.squared = package.decorated(lambda x: x * x)  # a function of this file
    f = lambda x: np.sum(call(package, x))
    step = wg.jit(wg.value_and_grad(f), strict=True)
    before = f(X)
    assert step(X)[0] == before
    assert step(2 * X)[0] == f(2 * X)
    stats = step.stats()
    assert stats["unrepeatable"] == "" and stats["traces"] <= 2  # once more after what it imports and keeps
    change(package)
    after, slope = step(X)
    assert after == f(X) != before
    np.testing.assert_array_equal(slope, wg.grad(f)(X))
    assert step(2 * X)[0] == f(2 * X)


@pytest.mark.parametrize("what", CHANGES)
def test_without_the_profiler_a_function_that_reaches_a_package_is_traced_at_every_call(
    what: str, package: Any
) -> None:
    """Nobody knows then what the package has read."""
    call, change = CHANGES[what]
    package.squared = package.decorated(lambda x: x * x)
    f = lambda x: np.sum(call(package, x))
    step = wg.jit(wg.value_and_grad(f))
    profiler = wg.interceptions()["sys.setprofile"]
    profiler.is_on = False
    try:
        with pytest.warns(wg.PerformanceWarning, match=r"sys\.setprofile is switched off"):
            assert step(X)[0] == f(X) and step(2 * X)[0] == f(2 * X)
        change(package)
        assert step(X)[0] == f(X) and step(2 * X)[0] == f(2 * X)
        np.testing.assert_array_equal(step(X)[1], wg.grad(f)(X))
    finally:
        profiler.is_on = True


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
def test_the_inventory_says_who_hears_of_the_code_that_runs(package: Any) -> None:
    """The profiler that is there while a function runs that reaches a package, and no other time."""
    profiler = wg.interceptions()["sys.setprofile"]
    assert wg.jit(lambda x: package.tables.heard(x))(1.0) == 2.0
    profiler.is_on = False
    try:
        assert wg.jit(lambda x: package.tables.heard(x))(1.0) == 1.0
    finally:
        profiler.is_on = True
    assert sys.getprofile() is None


def test_what_a_package_computes_of_its_own_is_a_constant(package: Any) -> None:
    """Of numbers, of arrays that are compared, and what a cache of its keeps."""
    for f in (package.tables.weighted, package.tables.limited, package.tables.cached):
        step = wg.jit(lambda x, f=f: f(x), strict=True)
        for k in range(3):
            np.testing.assert_array_equal(step(X + k), f(X + k))
        assert (step.stats()["traces"], step.stats()["unrepeatable"]) == (1, "")


def test_code_that_does_not_run_is_no_reason(package: Any) -> None:
    step = wg.jit(lambda x: package.tables.unclocked(x))
    step(X)
    step(X + 1)
    assert (step.stats()["traces"], step.stats()["unrepeatable"]) == (1, "")
    timed = wg.jit(lambda x: package.tables.unclocked(x, True))
    with pytest.warns(wg.PerformanceWarning, match="reads the clock"):
        first, second = timed(X), timed(X)
    assert first[0] < second[0]


def test_what_a_package_keeps_makes_the_next_call_trace_again(package: Any) -> None:
    step = wg.jit(lambda x: package.tables.memoised(x), strict=True)
    for _ in range(4):
        np.testing.assert_array_equal(step(X), 5.0 * X)
    assert step.stats()["traces"] == 2
    package.tables.kept["scale"] = 6.0
    np.testing.assert_array_equal(step(X), 6.0 * X)


def test_what_a_package_takes_out_of_a_table_makes_the_next_call_trace_again(package: Any) -> None:
    package.tables.kept["first"] = 1.0
    step = wg.jit(lambda x: package.tables.emptied(x), strict=True)
    for _ in range(3):
        np.testing.assert_array_equal(step(X), 3.0 * X)
    assert step.stats()["traces"] == 2 and not package.tables.kept


def test_a_long_list_that_can_change_inside_is_traced_again(package: Any) -> None:
    package.tables.STEPS = [[]] * 10_001
    step = wg.jit(lambda x: package.tables.sized(x))
    with pytest.warns(wg.PerformanceWarning, match="more than 10000 items"):
        step(X)
    package.tables.STEPS[0].append(1.0)
    np.testing.assert_array_equal(step(X), X)


def test_what_a_module_reads_when_it_is_imported_is_no_reason(package: Any) -> None:
    """It is imported once. What it made there is a constant of its module, and compared."""
    (Path(package.__file__).parent / "clocked.py").write_text(
        textwrap.dedent("""
            import time
            def now(): return time.time()
            START, SCALE = now(), 2.0
            def scaled(x): return SCALE * x
        """)
    )

    def f(x: Any) -> Any:
        from package_of_a_test import clocked

        return clocked.scaled(x)

    step = wg.jit(f, strict=True)
    for _ in range(3):
        np.testing.assert_array_equal(step(X), 2.0 * X)
    assert step.stats()["unrepeatable"] == ""
    sys.modules["package_of_a_test.clocked"].SCALE = 3.0
    np.testing.assert_array_equal(step(X), 3.0 * X)


def test_what_runs_when_garbage_is_collected_is_no_reason(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library counts how long the collector takes, by the clock: whatever function was traced then seemed to ask."""
    (Path(package.__file__).parent / "measuring.py").write_text(
        textwrap.dedent("""
            import time
            def now(): return time.perf_counter()
            def measure(phase, info): now()
        """)
    )
    measure = importlib.import_module("package_of_a_test.measuring").measure

    def emit(*args: Any) -> Any:  # the collector may run anywhere, but seldom does while a function is traced
        gc.collect()
        return own(*args)

    own = Builder.emit
    monkeypatch.setattr(Builder, "emit", emit)
    gc.callbacks.append(measure)
    try:
        step = wg.jit(lambda x: package.tables.keyed(x), strict=True)
        np.testing.assert_array_equal(step(X), 3.0 * X)
    finally:
        gc.callbacks.remove(measure)


def test_garbage_of_a_packages_that_is_collected_is_no_reason_to_trace_again(
    package: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ends of its objects, ``__del__``, were taken for the function's where the collector happened to run."""
    (tmp_path / "site-packages" / "package_of_a_test" / "ending.py").write_text(
        textwrap.dedent("""
            import time
            last = 0.0
            class Cycle:
                def __init__(self): self.me = self
                def __del__(self):
                    global last
                    last = time.perf_counter()
        """)
    )
    cycle = importlib.import_module("package_of_a_test.ending").Cycle
    own = Builder.emit

    def emit(*args: Any) -> Any:
        cycle()
        gc.collect()
        return own(*args)

    monkeypatch.setattr(Builder, "emit", emit)
    step = wg.jit(lambda x: package.tables.in_units(x), strict=True)
    for k in range(3):
        np.testing.assert_array_equal(step(X + k), X + k)
    assert step.stats()["traces"] == 1


def test_ids_are_keys_of_tables_in_packages(package: Any) -> None:
    step = wg.jit(lambda x: package.tables.keyed(x), strict=True)
    for _ in range(3):
        np.testing.assert_array_equal(step(X), 3.0 * X)
    assert step.stats()["unrepeatable"] == ""


def test_an_iterator_of_a_package_is_drawn_from_at_every_call(package: Any) -> None:
    step = wg.jit(lambda x: package.tables.streamed(x))
    with pytest.warns(wg.PerformanceWarning, match="is an iterator"):
        first, second, third = (step(X)[0] for _ in range(3))
    assert (first, second - first, third - second) == (first, 1.0, 1.0)


def test_what_a_package_counts_is_counted_at_every_call(package: Any) -> None:
    step = wg.jit(lambda x: package.tables.counted(x))
    for k in range(1, 4):
        np.testing.assert_array_equal(step(X), k * X)
    with pytest.warns(wg.PerformanceWarning, match="is another at every call"):
        np.testing.assert_array_equal(step(X), 4 * X)
    for k in range(5, 8):
        np.testing.assert_array_equal(step(X), k * X)
    assert package.tables.count == 7


def test_a_method_of_the_users_that_a_package_calls_is_watched(package: Any) -> None:
    class Own(package.models.Base):
        def hook(self, x: Any) -> Any:
            return 2.0 * x

    model = Own(1.0)
    step = wg.jit(lambda x: model(x), strict=True)
    np.testing.assert_array_equal(step(X), 6.0 * X + 1.0)
    Own.hook = lambda self, x: 4.0 * x
    np.testing.assert_array_equal(step(X), 12.0 * X + 1.0)


def test_packages_are_not_walked_but_where_their_code_runs(package: Any) -> None:
    """However much a module has that could be reached."""
    module = types.ModuleType("package_of_a_test.many")
    module.__file__ = package.tables.__file__
    text = "\n".join(f"def f{k}(x):\n    return f{k + 1}(x) + NUMBER\n" for k in range(200))
    exec(f"NUMBER = 1.0\n{text}def f(x, is_many=False):\n    return f0(x) if is_many else 2.0 * x", vars(module))
    package.many = module
    step = wg.jit(lambda x: package.many.f(x), strict=True)
    step(X)
    (known,) = step._specialisations.values()
    names = [slot.name for slot in known[0].environment.slots]
    assert any("f0" in name for name in names) and not any("f1" in name for name in names)


def test_slots_of_a_package_s_objects_are_compared_by_the_runtime(package: Any) -> None:
    """And not by a function of Python's at each call: a registry of units has thousands."""
    step = wg.jit(lambda x: package.models.by_slots(x), strict=True)
    step(X)
    (known,) = step._specialisations.values()
    kinds = [place[0] for place in native_slots(known[0].environment.slots)]
    assert "member" in kinds and "call" not in kinds


def test_a_profiler_that_is_there_hears_of_what_runs_and_stays(package: Any) -> None:
    heard = set[str]()

    def profile(frame: types.FrameType, event: str, arg: Any) -> None:
        heard.add(frame.f_code.co_name)

    step = wg.jit(lambda x: package.tables.in_units(x), strict=True)
    sys.setprofile(profile)
    try:
        step(X)
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert {"in_units", "is_metric"} <= heard
    package.tables.set_unit("IP")
    np.testing.assert_array_equal(step(X), 10.0 * X)
