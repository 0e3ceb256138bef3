"""The walk that puts copies in the place of what a function reads: it sees every edit, and spares the originals."""

from __future__ import annotations

import functools
import re
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.tracing.surroundings.kinds import EDITS, INCOMPARABLE, KINDS, Box, Pair
from tests.tracing.surroundings.walks import replaced
from wengert import nn
from wengert.errors import CaptureError, FirstUseError, WrittenError
from wengert.tracing.surroundings.environment import Environment
from wengert.tracing.tracer import Tracer


@pytest.mark.parametrize(("name", "edit"), EDITS)
def test_an_edit_of_any_part_is_seen(name: str, edit: str) -> None:
    kind = KINDS[name]()
    value = kind.value
    _, environment, _ = replaced(lambda: value)
    assert environment.holds() and environment.changed() == []
    kind.edits[edit]()
    is_seen = edit not in kind.only_watched
    assert environment.holds() != is_seen
    assert bool(environment.changed()) == is_seen


@pytest.mark.parametrize("name", INCOMPARABLE)
def test_what_cannot_be_compared_is_told(name: str) -> None:
    make, why = INCOMPARABLE[name]
    value = make()
    _, environment, trace = replaced(lambda: value)
    assert why in environment.unrepeatable
    assert trace.unrepeatable == environment.why_in_any_case
    assert environment.holds()


def test_an_iterator_of_the_users_class_is_copied() -> None:
    """It is an object like any other: what it reads and writes is in its attributes."""

    class Count:
        n = 0

        def __next__(self) -> int:
            self.n += 1
            return self.n

    count = Count()
    _, _, trace = replaced(lambda: count)
    assert trace.unrepeatable == ""
    step = wg.jit(lambda x: x * next(count), strict=True)
    with pytest.raises(CaptureError, match=r"writes the attributes of count"):
        step(1.0)
    assert "n" not in vars(count)


ARRAY = np.ones(3)


def _reads_a_default(array: Any = ARRAY, *, other: Any = ARRAY) -> Any:
    return array, other


HOLDERS_OF_AN_ARRAY: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "variable": (ARRAY, lambda x: x),
    "list": ([0, ARRAY], lambda x: x[1]),
    "tuple": ((0, ARRAY), lambda x: x[1]),
    "named tuple": (Pair(0, ARRAY), lambda x: x.right),
    "deque": (deque([ARRAY], 1), lambda x: x[0]),
    "dict": ({"a": ARRAY}, lambda x: x["a"]),
    "OrderedDict": (OrderedDict(a=ARRAY), lambda x: x["a"]),
    "defaultdict": (defaultdict(float, a=ARRAY), lambda x: x["a"]),
    "namespace": (types.SimpleNamespace(a=ARRAY), lambda x: x.a),
    "object": (Box(ARRAY), lambda x: x.value),
    "bound method": (Box(ARRAY).read, lambda x: x()),
    "partial": (functools.partial(abs, ARRAY), lambda x: x.args[0]),
    "partial's keyword": (functools.partial(dict, a=ARRAY), lambda x: x.keywords["a"]),
    "default": (_reads_a_default, lambda x: x()[0]),
    "keyword default": (_reads_a_default, lambda x: x()[1]),
    "global": (lambda: ARRAY, lambda x: x()),
    "jitted function": (wg.jit(lambda: ARRAY), lambda x: x()),
}


@pytest.mark.parametrize("name", HOLDERS_OF_AN_ARRAY)
def test_the_copy_holds_a_traced_value_where_the_original_holds_an_array(name: str) -> None:
    value, get = HOLDERS_OF_AN_ARRAY[name]
    copy, environment, _ = replaced(lambda: value)
    assert type(get(copy())) is Tracer
    if name != "jitted function":  # which gives way to its function
        assert get(value) is ARRAY
        assert type(copy()) is (Tracer if name == "variable" else type(value))
    assert environment.known[id(ARRAY)][0] is ARRAY
    assert ARRAY.flags.writeable


def test_one_array_in_two_places_is_one_traced_value() -> None:
    x, box = np.ones(2), Box()
    box.value = x
    copy, environment, _ = replaced(lambda: (x, [x], box, box))
    in_a_variable, in_a_list, once, twice = copy()
    assert in_a_list[0] is in_a_variable and once.value is in_a_variable and once is twice
    assert len(environment.known) == 1


def test_functions_of_one_module_have_one_copy_of_its_globals() -> None:
    copy, _, _ = replaced(lambda: (test_one_array_in_two_places_is_one_traced_value, _reads_a_default))
    a, b = copy()
    assert a.__globals__ is b.__globals__ is copy.__globals__ is not globals()


def test_a_read_only_array_is_a_constant_until_it_is_not() -> None:
    x = np.ones(2)
    x.flags.writeable = False
    _, environment, _ = replaced(lambda: x)
    assert environment.known[id(x)][1:] == ("x", True)
    x.flags.writeable = True
    assert environment.changed() == ["x is read-only"]


def _write_a_variable() -> Callable[[], Any]:
    n = 0

    def f() -> None:
        nonlocal n
        n += 1

    return f


def _writers() -> dict[str, tuple[Callable[[], Any], str]]:
    xs, queue, table, box, names = [0.0], deque([0.0]), {"a": 0.0}, Box(), set[str]()
    closing = KINDS["object that is not copied"]().value
    return {
        "a variable": (_write_a_variable(), "n"),
        "an item": (lambda: xs.__setitem__(0, 1.0), r"xs\[0\]"),
        "an item more": (lambda: xs.append(1.0), r"len\(xs\)"),
        "an item less": (lambda: xs.pop(), r"xs\[0\]"),
        "an item of a deque": (lambda: queue.__setitem__(0, 1.0), r"queue\[0\]"),
        "an item of a dict": (lambda: table.__setitem__("a", 1.0), r"table\['a'\]"),
        "another key": (lambda: table.__setitem__("b", 1.0), r"len\(table\)"),
        "an attribute": (lambda: setattr(box, "value", 2.0), r"box\.value"),
        "another attribute": (lambda: setattr(box, "other", 2.0), "the attributes of box"),
        "a member": (lambda: names.add("a"), "names"),
        "an attribute of a class": (lambda: setattr(Box, "rate", 1.5), r"Box\.rate"),
        "an attribute of what is not copied": (lambda: setattr(closing, "value", 2.0), r"closing\.value"),
        "another of what is not copied": (lambda: setattr(closing, "other", 2.0), "the attributes of closing"),
    }


@pytest.mark.parametrize("name", _writers())
def test_what_the_copy_writes_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Box, "rate", 1.0)
    f, what = _writers()[name]

    def write(copy: Any, environment: Environment) -> None:
        environment.check_unwritten()
        copy()[0]()
        with pytest.raises(CaptureError, match=f"^the function writes {what}, which it captured") as raised:
            environment.check_unwritten()
        assert re.search(r"return \w+ from the function", str(raised.value))  # a variable, not its length or attributes

    replaced(lambda: (f, Box.rate), write)


def test_nothing_of_the_trace_is_kept_when_it_is_closed() -> None:
    x = np.ones(2)
    _, environment, _ = replaced(lambda: x)
    environment.close()
    assert environment._trace is None and not environment._memo and not environment.copies
    assert environment.holds()


def test_what_a_checked_function_reads_is_seen_behind_its_door() -> None:
    w, options, x = np.ones(3), {"k": 2.0}, np.ones(3)

    @wg.expect.checked
    def scaled(x: Any, by: float = 1.0) -> Any:
        return x * w * options["k"] * by

    f = wg.jit(lambda x: np.sum(scaled(x)))
    assert f(x) == 6
    w[:] = 2
    assert f(x) == 12
    options["k"] = 3.0
    assert f(x) == 18
    scaled.__wrapped__.__defaults__ = (2.0,)
    assert f(x) == 36


def test_an_attribute_hung_on_a_function_of_ours_while_it_is_traced_is_not_kept() -> None:
    relu: Any = nn.relu

    def f(x: Any) -> Any:
        relu.seen = True
        return np.sum(relu(x))

    with pytest.raises(CaptureError, match="relu"):
        wg.trace(f)(np.ones(2))
    assert not hasattr(relu, "seen")


class Keeps:
    """Keeps what it has computed once."""

    def __init__(self, base: Any) -> None:
        self.base = base

    @functools.cached_property
    def double(self) -> Any:
        return np.zeros(()) + 2.0 * self.base


class Slotted(Keeps):
    """Of which no copy is made: the traced run asks the original."""

    __slots__ = ("beside",)


@pytest.mark.parametrize("base", [-0.5, np.array(-0.5)], ids=["number", "array"])
@pytest.mark.parametrize("cls", [Keeps, Slotted])
@pytest.mark.parametrize("transform", [wg.jit, lambda f: wg.jit(wg.value_and_grad(f, 0))], ids=["value", "gradient"])
def test_a_cached_property_was_computed_before_the_function_asked_for_it(cls: Any, transform: Any, base: Any) -> None:
    def calls(of: Callable[..., Any]) -> list[Any]:
        kept = cls(base)

        def f(x: Any, n: int) -> Any:
            for _ in range(n):
                x = np.sin(x * kept.double) + n
            return x

        g, got = of(f), []
        for new, n in ((base, 0), (0.25, 0), (0.25, 3), (0.9, 2), (0.9, 0)):
            kept.base = new
            got.append(g(0.7, n))
        return [*[y[0] if isinstance(y, tuple) else y for y in got], kept.double]

    np.testing.assert_allclose(calls(transform), calls(lambda f: f))


@pytest.mark.filterwarnings("ignore::wengert.errors.PerformanceWarning")
@pytest.mark.parametrize("put", ["attribute", "global", "item"])
def test_a_cached_property_was_computed_in_another_state_than_it_was_asked_for(put: str) -> None:
    """In the state before the call, or behind it; what came of that stayed in the user's object."""

    def call(of: Callable[..., Any]) -> list[Any]:
        state, table = types.SimpleNamespace(k=3.0), [3.0]
        put_in: dict[str, Callable[[float], Any]] = {
            "attribute": lambda k: setattr(state, "k", k),
            "global": lambda k: globals().update(GLOBAL=k),
            "item": lambda k: table.__setitem__(0, k),
        }
        get: dict[str, Callable[[], Any]] = {
            "attribute": lambda: state.k,
            "global": lambda: GLOBAL,
            "item": lambda: table[0],
        }
        put_in["global"](3.0)

        class Asks:
            @functools.cached_property
            def norm(self) -> Any:
                return 14.0 * get[put]()

        kept = Asks()

        def f(x: Any) -> Any:
            put_in[put](1.0)
            y = kept.norm * x
            put_in[put](3.0)
            return y

        g = of(f)
        return [float(g(1.0)), float(g(2.0)), kept.norm]

    assert call(lambda f: f) == [14.0, 28.0, 14.0]
    assert call(wg.jit) == [14.0, 28.0, 14.0]


GLOBAL = 3.0


def test_a_cached_property_is_refused_where_python_cannot_run_the_function() -> None:
    kept = Keeps(0.5)
    for call in (wg.jit(lambda x: x * kept.double, strict=True), wg.jit(lambda x: x * kept.double).program):
        with pytest.raises(FirstUseError, match=r"ask for kept\.double, which Python keeps"):
            call(2.0)
        assert "double" not in vars(kept)
    numbers = iter([1.0, 2.0])
    with pytest.raises(WrittenError, match="may have advanced numbers"):
        wg.jit(lambda x: x * next(numbers) * kept.double)(2.0)
    f = wg.jit(lambda x: x * kept.double)
    assert f(2.0) == f(2.0) == 2.0 and "double" in vars(kept) and f.stats()["traces"] == 1


def test_a_cached_property_that_an_interrupted_run_computed_is_forgotten() -> None:
    for cls in (Keeps, Slotted):
        kept = cls(0.5)

        def f(x: Any, kept: Any = kept) -> Any:
            if len(vars(kept)) or kept.double is not None:
                raise KeyboardInterrupt
            return x

        with pytest.raises(KeyboardInterrupt):
            wg.jit(f)(2.0)
        assert type(vars(kept).get("double", 0.0)) is float


class Named:
    """Equals those of its name."""

    def __init__(self, name: str, weight: Any) -> None:
        self.name, self.weight = name, weight

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def test_what_a_key_or_a_member_holds_that_equals_its_copy_is_seen() -> None:
    """It is shared with the original, where no copy need be made."""
    one, two = Named("one", 1.0), Named("two", [1.0])
    table, members = {one: 2.0}, {two}
    step = wg.jit(lambda x: sum(x * key.weight * w for key, w in table.items()), strict=True)
    of_a_set = wg.jit(lambda x: sum(x * member.weight[0] for member in members), strict=True)
    assert (step(1.0), of_a_set(1.0)) == (2.0, 1.0)
    one.weight, two.weight[0] = 3.0, 5.0
    assert (step(1.0), of_a_set(1.0)) == (6.0, 5.0)
    copy, environment, _ = replaced(lambda: (table, members))
    assert next(iter(copy()[0])) is one and next(iter(copy()[1])) is two
    assert environment.holds()
    one.weight = 7.0
    assert not environment.holds()


BEHIND_A_DOOR = {"rate": 2.0}


@wg.expect.checked
def bare(x: Any, power: int) -> Any:
    return x**power * BEHIND_A_DOOR["rate"] * helper_of_bare(x)


def helper_of_bare(x: Any) -> Any:
    return 1.0


def test_what_a_checked_function_without_cells_and_defaults_reads_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    f = wg.jit(lambda x: bare(x, 1), strict=True)
    assert f(1.0) == 2.0
    monkeypatch.setitem(BEHIND_A_DOOR, "rate", 3.0)
    assert f(1.0) == 3.0
    monkeypatch.setitem(globals(), "helper_of_bare", lambda x: x + 4.0)
    assert f(1.0) == 15.0
