"""Trees: every kind of node goes apart and comes back, and structures say in words what they are."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import os
import re
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert import tree
from wengert.errors import ArgumentError, StructureError


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    W: Any
    b: Any = None
    activation: Callable[..., Any] | None = np.tanh
    name: str = "layer"


@dataclasses.dataclass(frozen=True)
class Frozen:
    c1: Any
    c2: Any = 2.0
    is_on: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    c1: Any
    name: str = "s"


@dataclasses.dataclass
class Derived:
    """Has a field that ``__init__`` does not take, and counts how often ``__post_init__`` runs."""

    runs: ClassVar[int] = 0
    x: Any
    seed: dataclasses.InitVar[float] = 1.0
    doubled: Any = dataclasses.field(init=False)

    def __post_init__(self, seed: float) -> None:
        type(self).runs += 1
        self.doubled = self.x * 2
        self.extra = np.full(2, seed)


class Model:
    """A callable object: its ``__dict__`` is its state."""

    def __init__(self, *layers: Any, activation: Any = np.tanh) -> None:
        self.layers = list(layers)
        self.activation = activation
        self.scale = 3.0

    def __call__(self, x: Any) -> Any:
        return x * self.scale


class Plain:
    """Neither a dataclass nor callable: a leaf."""


class Text(str):
    __repr__ = str.__str__


class Interval:
    def __init__(self, low: Any, high: Any, unit: Any = "m") -> None:
        self.low, self.high, self.unit = low, high, unit


tree.register(
    Interval,
    flatten=lambda interval: ((interval.low, interval.high), interval.unit, ("low", "high")),
    unflatten=lambda unit, children: Interval(*children, unit=unit),
)


class Everywhere:
    """Registered by optree's own means, for all who use optree."""

    def __init__(self, x: Any) -> None:
        self.x = x


untyped: Any = optree  # which types nodes as collections
untyped.register_pytree_node(
    Everywhere,
    lambda everywhere: ((everywhere.x,), None),
    lambda _, children: Everywhere(*children),
    namespace=untyped.registry.__GLOBAL_NAMESPACE,
)

ONES = np.ones((3, 4))


def structure(value: Any) -> tree.TreeDef:
    return tree.flatten(value)[1]


def rebuilt(value: Any) -> Any:
    leaves, treedef = tree.flatten(value)
    return tree.unflatten(treedef, leaves)


# ----------------------------------------------------------------------------------------- every kind of node


@pytest.mark.parametrize(
    ("value", "leaves", "paths"),
    [
        (1.0, [1.0], [""]),
        (None, [], []),
        ([], [], []),
        ((), [], []),
        ({}, [], []),
        ([None, ((), {})], [], []),
        ((1.0, 2.0), [1.0, 2.0], ["[0]", "[1]"]),
        ([1.0, (2.0,)], [1.0, 2.0], ["[0]", "[1][0]"]),
        ([1.0, None, "relu"], [1.0, "relu"], ["[0]", "[2]"]),
        ({"b": 1.0, "a": 2.0}, [2.0, 1.0], ['["a"]', '["b"]']),
        ({3: 1.0, (0, 1): 2.0}, [1.0, 2.0], ["[3]", "[(0, 1)]"]),
        ({'say "ü"': 1.0}, [1.0], [r'["say \"ü\""]']),
        (OrderedDict(b=1.0, a=2.0), [1.0, 2.0], ['["b"]', '["a"]']),
        (defaultdict(list, b=1.0, a=2.0), [2.0, 1.0], ['["a"]', '["b"]']),
        (deque([1.0, 2.0], maxlen=5), [1.0, 2.0], ["[0]", "[1]"]),
        (Point(1.0, [2.0]), [1.0, 2.0], [".x", ".y[0]"]),
        (np.linalg.slogdet(np.eye(2)), [1.0, 0.0], [".sign", ".logabsdet"]),
        (os.terminal_size([80, 24]), [80, 24], [".columns", ".lines"]),
        (Layer(1.0), [1.0], [".W"]),
        (Layer(1.0, 2.0), [1.0, 2.0], [".W", ".b"]),
        ([Frozen(1.0)], [1.0, 2.0], ["[0].c1", "[0].c2"]),
        ({"s": Slotted(1.0)}, [1.0], ['["s"].c1']),
        (Frozen({"a": [1.0]}), [1.0, 2.0], ['.c1["a"][0]', ".c2"]),
        (Model(), [3.0], [".scale"]),
        (Model(Layer(1.0, 2.0), Model()), [1.0, 2.0, 3.0, 3.0], None),
        (Everywhere(1.0), [1.0], ["<child 0>"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_leaves_and_paths(value: Any, leaves: list[Any], paths: list[str] | None) -> None:
    got, treedef = tree.flatten(value)
    assert got == leaves
    if paths is not None:
        assert tree.paths(value) == tree.paths(treedef) == paths
        assert [tree.path(value, i) for i in range(len(leaves))] == paths
    back = tree.unflatten(treedef, got)
    assert type(back) is type(value)
    assert tree.flatten(back) == (leaves, treedef)


def test_paths_through_objects() -> None:
    model = Model(Layer(1.0), Layer(2.0), Layer(3.0, 4.0))
    assert tree.paths([model]) == [
        "[0].layers[0].W",
        "[0].layers[1].W",
        "[0].layers[2].W",
        "[0].layers[2].b",
        "[0].scale",
    ]
    assert tree.path((0.0, model), 4) == "[1].layers[2].b"


@pytest.mark.parametrize(
    "leaf",
    [
        ONES,
        np.float32(1),
        np.array("text"),
        1,
        1j,
        True,
        "text",
        b"bytes",
        len,
        np.tanh,
        lambda x: x,
        ONES.sum,
        functools.partial(np.sum, axis=0),
        Plain(),
        Plain,
        Model,
        enum.Enum("Colour", "RED"),
        enum.Enum("Colour", "RED")["RED"],
        np.vectorize(abs),
        np.dtype("f4"),
        {1, 2},
        range(3),
        type("DictSubclass", (dict,), {})(a=1.0),
        dataclasses.dataclass(type("ErrorData", (ValueError,), {}))(),
    ],
    ids=lambda leaf: type(leaf).__name__,
)
def test_leaf(leaf: Any) -> None:
    leaves, treedef = tree.flatten(leaf)
    assert leaves[0] is leaf and len(leaves) == 1
    assert treedef == structure(1.0)
    assert tree.unflatten(treedef, leaves) is leaf


def test_dicts_keep_their_key_order_and_share_a_structure() -> None:
    one, other = {"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}
    assert list(rebuilt(one)) == ["b", "a"]
    assert list(rebuilt(other)) == ["a", "b"]
    assert structure(one) == structure(other) and hash(structure(one)) == hash(structure(other))
    assert list(rebuilt({"z": 0.0, 1: 1.0, (2,): 2.0})) == ["z", 1, (2,)]


def test_containers_keep_what_is_theirs() -> None:
    factory = rebuilt(defaultdict(list, b=1.0, a=2.0))
    assert type(factory) is defaultdict and factory.default_factory is list and list(factory) == ["b", "a"]
    assert rebuilt(deque([1.0], maxlen=3)).maxlen == 3
    assert structure(OrderedDict(a=1.0, b=2.0)) != structure(OrderedDict(b=1.0, a=2.0))
    interval = rebuilt([Interval(1.0, 2.0, "s")])[0]
    assert (interval.low, interval.high, interval.unit) == (1.0, 2.0, "s")


def test_fast_paths_give_the_structures_of_optree() -> None:
    for n in (0, 1, 6, 100):
        for kind in (tuple, list):
            flat: Any = kind([ONES] * n)
            fast = structure(flat)
            assert fast == optree.tree_structure(flat, namespace="wengert")
            assert hash(fast) == hash(optree.tree_structure(flat, namespace="wengert"))
            assert fast == structure((flat, {})).child(0)
    assert structure((1.0, 2.0)) != structure([1.0, 2.0])
    assert structure((1.0, None)) != structure((1.0, 2.0))


def test_flatten_does_not_hand_out_the_list_itself() -> None:
    batch = [ONES, ONES]
    assert tree.flatten(batch)[0] is not batch


# -------------------------------------------------------------------------------- objects and static metadata


def test_object_is_rebuilt_without_init() -> None:
    value = Derived(1.0, seed=7.0)
    runs = Derived.runs
    treedef = structure(value)
    assert tree.paths(treedef) == [".x", ".doubled", ".extra"]
    back = tree.unflatten(treedef, [10.0, 30.0, ONES])
    assert (back.x, back.doubled) == (10.0, 30.0) and back.extra is ONES
    assert Derived.runs == runs


def test_frozen_and_slotted_objects_are_rebuilt() -> None:
    assert rebuilt(Frozen(5.0, 6.0, False)) == Frozen(5.0, 6.0, False)
    assert rebuilt(Slotted(5.0, "t")) == Slotted(5.0, "t")


def test_slots_beside_a_dict() -> None:
    class Base:
        __slots__ = ("__hidden", "unset", "w")

        def __init__(self) -> None:
            self.w = 1.0
            self.__hidden = 2.0

        def __call__(self) -> float:
            return self.w + self.__hidden

    class Child(Base):
        def __init__(self) -> None:
            super().__init__()
            self.extra = 4.0

    assert tree.paths(Child()) == ["._Base__hidden", ".extra", ".w"]
    back = tree.map(lambda x: 10 * x, Child())
    assert back() == 30.0 and back.extra == 40.0 and not hasattr(back, "unset")


def test_property_of_a_field_is_left_alone() -> None:
    class Guarded(Model):
        @property
        def volume(self) -> float:
            raise AssertionError("flatten called a property")

    assert tree.paths(Guarded()) == [".scale"]


def test_cached_property_is_not_an_input() -> None:
    class Cached(Model):
        @functools.cached_property
        def double(self) -> float:
            return 2 * self.scale

    model = Cached()
    before = structure(model)
    assert model.double == 6.0
    assert structure(model) == before
    assert tree.map(lambda x: 10 * x, model).double == 60.0


def test_attribute_order_does_not_matter() -> None:
    first, second = Model(), Model()
    vars(first).update(u=1.0, v=2.0)
    vars(second).update(v=2.0, u=1.0)
    assert tree.flatten(first) == tree.flatten(second)


def test_static_attributes_are_part_of_the_structure() -> None:
    same = structure(Layer(1.0, name="a"))
    assert same == structure(Layer(2.0, name="a")) and hash(same) == hash(structure(Layer(2.0, name="a")))
    for other in (
        Layer(1.0, name="b"),
        Layer(1.0, 2.0, name="a"),
        Layer(1.0, None, np.sin, name="a"),
        Layer(1.0, False, name="a"),
    ):
        assert structure(other) != same


def test_static_attributes_are_compared_by_type_too() -> None:
    one = enum.IntEnum("one", "A")
    two = enum.IntEnum("two", "A")
    assert one["A"] == two["A"]
    assert structure(Layer(1.0, one["A"])) != structure(Layer(1.0, two["A"]))


def test_bool_attribute_is_a_switch_but_numpy_bool_is_an_array() -> None:
    assert tree.flatten(Layer(1.0, True))[0] == [1.0]
    assert tree.flatten(Layer(1.0, np.bool_(True)))[0] == [1.0, np.bool_(True)]


def test_array_likes_are_children() -> None:
    class Traced:
        def __array_ufunc__(self, *args: Any) -> None: ...

    class Aval:
        __slots__ = ("dtype", "shape")

    for value in (Traced(), Aval(), np.ma.masked_array([1.0]), 3, np.float32(1), 1j):
        assert tree.flatten(Layer(value))[0] == [value]


def test_unhashable_static_names_the_field() -> None:
    with pytest.raises(StructureError, match=r"Layer .*\.name, a set, has no hash"):
        tree.flatten([Layer(1.0, name={"a"})])
    with pytest.raises(StructureError, match=r"Interval .* static part"):
        tree.flatten(Interval(1.0, 2.0, unit=["m"]))


def test_function_attribute_stays_itself() -> None:
    activation = lambda x: x
    assert rebuilt(Layer(1.0, activation=activation)).activation is activation
    assert rebuilt(Model(activation=ONES.sum)).activation == ONES.sum


def test_callable_attribute_with_arrays_is_a_child() -> None:
    assert tree.paths(Layer(1.0, activation=Model())) == [".W", ".activation.scale"]


def test_unset_field_stays_unset() -> None:
    layer = Layer(1.0)
    del layer.b
    assert "b" not in vars(rebuilt(layer))
    assert structure(layer) != structure(Layer(1.0))


# ----------------------------------------------------------------------------------------------- registration


def test_register_overrides_what_was_found_on_first_sight() -> None:
    @dataclasses.dataclass
    class Pair:
        x: Any
        y: Any

    old = structure(Pair(1.0, 2.0))
    tree.register(Pair, lambda pair: ((pair.x,), pair.y), lambda y, children: Pair(children[0], y))
    assert tree.flatten([Pair(1.0, 2.0)])[0] == [1.0]
    assert tree.unflatten(old, [3.0, 4.0]) == Pair(3.0, 4.0)

    class Thing:
        x = 1.0

    assert tree.flatten([Thing()])[1] == structure([1.0])
    assert tree.flatten(Layer(Thing()))[0] == []
    tree.register(Thing, lambda t: ((t.x,), None), lambda _, children: Thing())
    assert tree.flatten([Thing()])[0] == [1.0]
    assert tree.flatten(Layer(Thing()))[0] == [1.0]


def test_register_refuses_what_is_decided() -> None:
    for cls in (Interval, dict, Point, type(None), Everywhere):
        with pytest.raises(StructureError, match="registered already"):
            tree.register(cls, lambda x: ((), None), lambda _, children: None)
    for cls in (np.ndarray, float, np.float32):
        with pytest.raises(StructureError, match="always a leaf"):
            tree.register(cls, lambda x: ((), None), lambda _, children: None)


def test_register_leaf() -> None:
    @functools.partial(tree.register_leaf, is_child=False)
    class Compiled:
        def __init__(self) -> None:
            self.cache = {"a": 1.0}

        def __call__(self) -> None: ...

    class Derivative(Compiled): ...

    @tree.register_leaf
    @dataclasses.dataclass(frozen=True)
    class OneHot:
        index: int

    for cls in (Compiled, Derivative):
        compiled = cls()
        assert tree.flatten([compiled])[0] == [compiled]
        assert tree.flatten(Layer(compiled))[0] == []
    assert tree.flatten(OneHot(3))[0] == [OneHot(3)]
    assert tree.flatten(Layer(OneHot(3)))[0] == [OneHot(3)]


def test_first_sight_from_many_threads_at_once() -> None:
    for _ in range(20):
        fresh = dataclasses.make_dataclass("fresh", ["x", "inner"])
        inner = type("Inner", (Model,), {})
        start = threading.Barrier(8)
        results: list[Any] = []

        def work(fresh: Any = fresh, inner: Any = inner, start: Any = start, results: Any = results) -> None:
            start.wait()
            results.append(tree.flatten((fresh(1.0, inner()), {"a": inner()})))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 8
        assert all(result == results[0] for result in results)
        assert results[0][0] == [1.0, 3.0, 3.0]


# ------------------------------------------------------------------------------------------------- hash, size

HASHED = [
    1.0,
    None,
    (),
    [],
    (1.0,),
    [1.0],
    {"a": 1.0},
    OrderedDict(a=1.0),
    Point(1.0, 2.0),
    Layer(1.0),
    Model(),
]


def test_structures_are_keys() -> None:
    programs = {structure(value): number for number, value in enumerate(HASHED)}
    assert len(programs) == len(HASHED)
    for number, value in enumerate(HASHED):
        assert programs[structure(rebuilt(value))] == number


def test_long_list() -> None:
    leaves, treedef = tree.flatten([ONES] * 10_000)
    assert len(leaves) == treedef.num_leaves == 10_000
    assert len(tree.flatten({"a": [ONES] * 10_000})[0]) == 10_000
    assert tree.path(treedef, 9_999) == "[9999]"
    assert tree.mismatch(treedef, [ONES] * 10_000) is None
    assert len(tree.describe([[ONES] * 100] * 10_000)) <= 200


def nest(depth: int) -> Any:
    value: Any = 1.0
    for level in range(depth):
        value = [value] if level % 2 else Layer(value)
    return value


def test_deep_nesting() -> None:
    deep = nest(900)
    leaves, treedef = tree.flatten(deep)
    assert leaves == [1.0]
    assert tree.flatten(tree.unflatten(treedef, [2.0])) == ([2.0], treedef)
    assert tree.path(deep, 0).startswith("[0].W[0].W")
    assert tree.mismatch(treedef, deep) is None
    assert len(tree.describe(deep)) <= 200
    with pytest.raises(StructureError, match="nested deeper than 1000 levels, or contains itself"):
        tree.flatten(nest(1001))


def test_cycle() -> None:
    model = Model()
    model.layers.append(model)
    with pytest.raises(StructureError, match="contains itself"):
        tree.flatten(model)
    assert len(tree.describe(model)) <= 200
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(StructureError, match="contains itself"):
        tree.flatten(loop)
    assert tree.describe(loop) == "[[[[[[[...]]]]]]]"


# ------------------------------------------------------------------------------------------------- hypothesis

numbers = st.floats(allow_nan=False) | st.integers() | st.just(ONES)
trees = st.recursive(
    numbers | st.none() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=4)
        | st.dictionaries(st.text(max_size=2), inner, max_size=4).map(OrderedDict)
        | st.builds(Point, inner, inner)
        | st.builds(Layer, inner, inner, name=st.sampled_from("ab"))
        | st.builds(Frozen, inner, inner, st.booleans())
        | st.builds(Slotted, inner)
        | st.builds(Model, inner, inner)
        | st.builds(Interval, inner, inner)
    ),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Whether two trees are equal: types, key order, the very same leaves. Knows nothing of optree."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Slotted):
        return same([one.c1, one.name], [other.c1, other.name])
    if isinstance(one, (Layer, Frozen, Model, Interval)):
        return vars(one).keys() == vars(other).keys() and all(same(vars(one)[k], vars(other)[k]) for k in vars(one))
    return one is other


@given(trees)
def test_round_trip(value: Any) -> None:
    leaves, treedef = tree.flatten(value)
    back = tree.unflatten(treedef, leaves)
    assert same(back, value)
    again, treedef_again = tree.flatten(back)
    assert all(map(lambda x, y: x is y, again, leaves)) and len(again) == len(leaves)
    assert treedef_again == treedef and hash(treedef_again) == hash(treedef)


@given(trees)
def test_paths_are_what_one_writes(value: Any) -> None:
    leaves, treedef = tree.flatten(value)
    for leaf, path in zip(leaves, tree.paths(treedef), strict=True):
        assert eval(f"value{path}", {"value": value}) is leaf


@given(trees, trees)
def test_mismatch_is_none_only_for_equal_structures(one: Any, other: Any) -> None:
    words = tree.mismatch(structure(one), other)
    assert (words is None) == (structure(one) == structure(other))
    assert tree.mismatch(structure(one), one) is None


@given(trees)
def test_describe_is_one_short_line(value: Any) -> None:
    for limit in (200, 40):
        text = tree.describe(value, limit)
        assert len(text) <= limit and "\n" not in text


@given(trees)
def test_selecting_everything_is_flatten(value: Any) -> None:
    leaves, treedef = tree.flatten(value)
    if leaves and all(not isinstance(leaf, str) for leaf in leaves):
        assert tree.select(value, lambda args: args) == (list(range(len(leaves))), treedef)


# ------------------------------------------------------------------------------------------ map, unflatten


def test_trees_are_walked_in_one_place() -> None:
    """No other file asks optree, whose registry has only a part of the nodes."""
    source = Path(wg.__file__).parent
    asking = [path for path in source.rglob("*.py") if re.search(r"^\s*(import|from) optree", path.read_text(), re.M)]
    assert {path.parent for path in asking} == {source / "tree"}


@pytest.mark.parametrize("name", ["map", "flatten", "unflatten", "leaves", "paths", "select", "merge", "flatten_up_to"])
def test_public_functions_say_what_they_take_return_and_raise(name: str) -> None:
    text = inspect.getdoc(getattr(wg.tree, name)) or ""
    assert all(f"{part}\n---" in text for part in ("Parameters", "Returns", "Raises", "Examples")), name
    assert "tree" in wg.__all__ and name in wg.tree.__all__ and ">>>" in text


def test_map() -> None:
    step = tree.map(lambda x, dx: x - dx, Model(Layer(5.0)), Model(Layer(1.0)))
    assert step.layers[0].W == 4.0 and step.scale == 0.0 and step.activation is np.tanh
    assert tree.map(lambda: None, None) is None


def test_map_gives_subtrees_of_deeper_trees() -> None:
    got = tree.map(lambda x, state: (x, state), {"a": 1.0, "b": 2.0}, {"b": [3.0], "a": None})
    assert got == {"a": (1.0, None), "b": (2.0, [3.0])}


def test_map_says_where_trees_differ() -> None:
    with pytest.raises(StructureError, match=r"tree 3 differs from the first: at \[1\]: expected None; got float"):
        tree.map(max, [1.0, None], [1.0, None], [1.0, 2.0])


def test_map_of_objects_takes_attributes_of_any_kind() -> None:
    """A mask has booleans where the model has arrays; static parts are compared all the same."""
    model = Model(Layer(5.0))
    mask = tree.map(lambda x: x > 2, model)
    assert tree.leaves(mask) == [] and mask.layers[0].W is True
    assert tree.map(lambda x, chosen: -x if chosen else x, model, mask).layers[0].W == -5.0
    with pytest.raises(StructureError, match=r'at \.layers\[0\]\.name: expected "layer"; got "other"'):
        tree.map(lambda x, chosen: x, model, Model(Layer(True, name="other")))
    lacking = Model(Layer(1.0))
    del lacking.layers[0].W
    with pytest.raises(StructureError, match=r"at \.layers\[0\]\.W: expected .*; got no such attribute"):
        tree.map(lambda x, chosen: x, model, lacking)


def test_map_without_subtrees_refuses_deeper_trees() -> None:
    with pytest.raises(StructureError, match=r'at \["b"\]: expected a leaf; got a list of 1'):
        tree.map(lambda x, y: x, {"a": 1.0, "b": 2.0}, {"a": 1.0, "b": [3.0]}, subtrees=False)


def test_flatten_up_to() -> None:
    expected = structure({"b": 1.0, "a": (2.0,)})
    assert tree.flatten_up_to(expected, {"a": ([1.0],), "b": None}) == [[1.0], None]
    more = {"a": (1.0,), "c": 3.0, "b": 2.0}
    assert tree.flatten_up_to(expected, more, more_keys=True) == [1.0, 2.0]
    for got, words in ((more, "got one with c"), ({"a": (1.0,)}, "got one without b")):
        with pytest.raises(StructureError, match=words):
            tree.flatten_up_to(expected, got, more_keys=got is not more)


def test_merge_changes_what_is_named() -> None:
    model = {"p": Point(1.0, [2.0, 3.0]), "layer": Layer(4.0), 5: 6.0}
    got = tree.merge(lambda x, y: x + y, model, {"p": {"y": {"1": 0.5}}, "layer": {"W": 10.0}, "5": 1.0})
    assert got["p"] == Point(1.0, [2.0, 3.5]) and got["layer"].W == 14.0 and got[5] == 7.0
    assert got["layer"].name == "layer" and list(got) == ["p", "layer", 5]
    assert tree.merge(lambda x, y: y, model, {"p": {"y": {1: 30.0}}})["p"].y == [2.0, 30.0]
    assert tree.merge(max, model, {}) == model


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q": 1.0}, "nothing is called 'q' among p"),
        ({"p": {"z": 1.0}}, r"at \[\"p\"\]: nothing is called 'z' among x, y"),
        ({"p": [1.0]}, "expected a Point with x, y; got a list of 1"),
        ({"p": {"y": [1.0]}}, "expected a list of 2; got a list of 1"),
        ({"p": {"x": {}}}, "expected a leaf; got a dict without keys"),
        ({"p": {"x": None}}, "expected a leaf; got None"),
        ({"p": 1.0}, "expected a Point with x, y; got float"),
    ],
)
def test_merge_refuses_changes_that_have_no_place(changes: Any, words: str) -> None:
    with pytest.raises(StructureError, match=words):
        tree.merge(lambda x, y: y, {"p": Point(1.0, [2.0, 3.0])}, changes)


def test_names_and_the_order_of_the_containers() -> None:
    value = [{"w": 1.0, "b": Point(2.0, OrderedDict(z=3.0, a=4.0))}, Layer(5.0), None, deque([6.0])]
    leaves, treedef = tree.flatten(value)
    names = tree.names(treedef)
    found = {names[i]: leaves[i] for i in tree.own_order(treedef)}
    assert list(found.items()) == [
        ((0, "w"), 1.0),
        ((0, "b", "x"), 2.0),
        ((0, "b", "y", "z"), 3.0),
        ((0, "b", "y", "a"), 4.0),
        ((1, "W"), 5.0),
        ((3, 0), 6.0),
    ]
    assert tree.names({"b": [1.0], 3: 2.0}) == [("b", 0), (3,)] or tree.names({"b": [1.0], 3: 2.0}) == [(3,), ("b", 0)]
    assert tree.names(1.0) == [()] and tree.own_order(structure(1.0)) == [0] and tree.own_order(structure(())) == []


def test_children() -> None:
    assert tree.children({"w": 1.0, "b": [2.0]}) == {"w": 1.0, "b": [2.0]}
    assert tree.children(Point(1.0, None)) == {"x": 1.0, "y": None}
    assert tree.children(Layer(1.0)) == {"W": 1.0}
    assert tree.children(None) == {} and tree.children(1.0) is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tree.map(3, [1.0]), "map: f is 3; expected a function"),
        (lambda: tree.merge(None, [1.0], [1.0]), "merge: f is None; expected a function"),
        (lambda: tree.select([1.0], 0), "select: selector is 0; expected a function"),
        (lambda: tree.unflatten([1.0], [1.0]), "unflatten: treedef is a list of 1; expected a structure"),
        (lambda: tree.flatten_up_to({}, {}), "flatten_up_to: treedef is a dict of 0; expected a structure"),
        (lambda: tree.own_order({}), "own_order: treedef is a dict of 0; expected a structure"),
    ],
)
def test_arguments_of_another_kind_are_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        call()


def test_unflatten_counts() -> None:
    with pytest.raises(StructureError, match="2 leaves expected, 1 given"):
        tree.unflatten(structure((1.0, 2.0)), [1.0])


# ---------------------------------------------------------------------------------------- structures in words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ONES, "float64[3, 4]"),
        (np.float32(1), "float32[]"),
        (1.0, "float"),
        (True, "bool"),
        (None, "None"),
        ("relu", '"relu"'),
        (np.tanh, "function tanh"),
        (Plain(), "Plain"),
        (Plain, "class Plain"),
        (Layer(1.0, Text("two\nlines")), 'Layer(W=float, b=two lines, activation=tanh, name="layer")'),
        ((), "()"),
        ((1.0,), "(float,)"),
        ([], "[]"),
        ({}, "{}"),
        ({"W": ONES, "b": [np.ones(2, np.float32)]}, '{"W": float64[3, 4], "b": [float32[2]]}'),
        (OrderedDict(b=1, a=2), 'OrderedDict({"b": int, "a": int})'),
        (defaultdict(list), "defaultdict({})"),
        (deque([1]), "deque([int])"),
        (Point(1.0, (2.0,)), "Point(x=float, y=(float,))"),
        (Layer(ONES), 'Layer(W=float64[3, 4], b=None, activation=tanh, name="layer")'),
        (Model(), "Model(layers=[], scale=float, activation=tanh)"),
        (Interval(1.0, 2.0), "Interval(low=float, high=float)"),
        ([1.0] * 8, "[float, float, float, float, float, float, ... 2 more]"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_describe(value: Any, text: str) -> None:
    assert tree.describe(value) == text


def test_describe_shortens() -> None:
    wide = {f"parameter_{i:02}": {"W": ONES, "b": ONES} for i in range(20)}
    text = tree.describe(wide)
    assert len(text) <= 200
    assert text.startswith('{"parameter_00": {"W": float64[3, 4], "b": float64[3, 4]}, ')
    assert text.endswith(", ... 17 more}")
    assert tree.describe(nest(20)).count("W=") == 3
    assert tree.describe({"k" * 300: 1.0}, 50) == '{"' + "k" * 45 + "..."


ARRAY = "an array, a number or a container"


@pytest.mark.parametrize(
    ("expected", "got", "words"),
    [
        (1.0, ONES, None),
        (1.0, "text", None),
        (1.0, None, "expected a leaf; got None"),
        (None, 1.0, "expected None; got float"),
        ([1.0, 2.0], [1.0], "expected a list of 2; got a list of 1"),
        ((1.0, 2.0), [1.0, 2.0], "expected a tuple of 2; got a list of 2"),
        (1.0, (ONES, 2.0), "expected a leaf; got a tuple of 2"),
        (
            [1.0, Frozen(1.0, {"a": 1.0, "b": 2.0})],
            [1.0, Frozen(1.0, [1.0, 2.0])],
            "at [1].c2: expected a dict with keys a, b; got a list of 2",
        ),
        ({"a": {}}, {"a": ONES}, 'at ["a"]: expected a dict without keys; got float64[3, 4]'),
        ({"a": 1.0, "b": 2.0}, {"a": 1.0}, "expected a dict with keys a, b; got one without b"),
        ({"a": 1.0}, {"a": 1.0, 2: 1.0}, "expected a dict with keys a; got one with 2"),
        ({"a": 1.0}, {"a b": 1.0}, 'expected a dict with keys a; got one without a and with "a b"'),
        (
            OrderedDict(a=1, b=2),
            OrderedDict(b=1, a=2),
            "expected an OrderedDict with keys a, b; got an OrderedDict with keys b, a",
        ),
        (OrderedDict(a=1), {"a": 1}, "expected an OrderedDict with keys a; got a dict with keys a"),
        (
            defaultdict(list, a=1),
            defaultdict(set, a=1),
            "expected a defaultdict with keys a and static (<class 'list'>, ['a']); got static (<class 'set'>, ['a'])",
        ),
        (Point(1.0, 2.0), (1.0, 2.0), "expected a Point with x, y; got a tuple of 2"),
        (Layer(1.0), Frozen(1.0), "expected a Layer with W; got a Frozen with c1, c2"),
        ((Layer(1.0),), (Layer(1.0, 2.0),), f"at [0].b: expected None; got {ARRAY}"),
        (Layer(1.0, 2.0), Layer(1.0), f"at .b: expected {ARRAY}; got None"),
        (Layer(1.0, name="a"), Layer(1.0, name="b"), 'at .name: expected "a"; got "b"'),
        (Model(activation=np.sin), Model(), "at .activation: expected sin; got tanh"),
        (
            Interval(1.0, 2.0),
            Interval(1.0, 2.0, "s"),
            'expected an Interval with low, high and static "m"; got static "s"',
        ),
        ([1.0, [2.0], (3.0,)], [1.0, (2.0,), [3.0]], "at [1]: expected a list of 1; got a tuple of 1"),
    ],
)
def test_mismatch(expected: Any, got: Any, words: str | None) -> None:
    assert tree.mismatch(structure(expected), got) == words


def test_mismatch_of_attributes_that_come_and_go() -> None:
    more = Model()
    vars(more).update(bias=1.0)
    assert tree.mismatch(structure(more), Model()) == f"at .bias: expected {ARRAY}; got no such attribute"
    assert tree.mismatch(structure(Model()), more) == f"at .bias: expected no such attribute; got {ARRAY}"


def test_mismatch_of_large_dicts_names_the_difference() -> None:
    expected = {f"k{i:03}": 1.0 for i in range(200)}
    got = {**expected, "extra": 1.0}
    words = tree.mismatch(structure(expected), got)
    assert words is not None and words.endswith("... 192 more; got one with extra") and len(words) < 120


# ----------------------------------------------------------------------------------------------------- select

ARGS = (Model(Layer(1.0), Layer(2.0, 3.0)), {"b": 5.0, "a": 6.0})  # leaves 1, 2, 3, scale, a, b


@pytest.mark.parametrize(
    ("selector", "indices"),
    [
        (lambda args: args[0].layers[1].b, [2]),
        (lambda args: args[0].scale, [3]),
        (lambda args: args[1], [4, 5]),
        (lambda args: args[0].layers, [0, 1, 2]),
        (lambda args: args, [0, 1, 2, 3, 4, 5]),
        (lambda args: (args[1]["b"], args[0].layers[0]), [5, 0]),
        (lambda args: [args[1]["b"], args[1]["b"]], [5, 5]),
        (lambda args: {"w": [layer.W for layer in args[0].layers], "n": None}, [0, 1]),
    ],
)
def test_select(selector: Callable[[Any], Any], indices: list[int]) -> None:
    got, treedef = tree.select(ARGS, selector)
    assert got == indices
    leaves = tree.flatten(ARGS)[0]
    assert treedef == structure(selector(ARGS))
    assert same(tree.unflatten(treedef, [leaves[i] for i in got]), selector(ARGS))


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (
            lambda args: 2 * args[0].scale,
            r"args\[0\]\.scale is a whole leaf\n  try    lambda args: args\[0\]\.scale",
        ),
        (lambda args: args[1]["a"][0], r'args\[1\]\["a"\] is a whole leaf'),
        (lambda args: args[1]["a"].T, r'args\[1\]\["a"\] is a whole leaf'),
        (lambda args: np.sum(args[1]["a"]), "only picks leaves and subtrees"),
        (lambda args: np.sin(args[1]["a"]), "only picks leaves and subtrees"),
        (lambda args: list(args[1]["a"]), "only picks leaves and subtrees"),
        (lambda args: args[1]["a"] or args[1]["b"], "only picks leaves and subtrees"),
        (lambda args: args[0].activation, r"function tanh, which the selector returned, is no leaf"),
        (
            lambda args: [args[0].scale, 3.0],
            r"float, which the selector returned, is no leaf\n  try    lambda args",
        ),
        (lambda args: args[0].layers[0].b, "picked no leaf"),
        (
            lambda args: args[0].weights,
            r"AttributeError: .*\n  try    lambda args: args\[0\]\.layers\[0\]\.W\n  or ",
        ),
        (lambda args: args[1]["c"], "KeyError"),
        (lambda args: args[2], "IndexError"),
    ],
)
def test_select_refuses(selector: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(StructureError, match=words):
        tree.select(ARGS, selector)


def test_select_refuses_a_mark_of_another_selection() -> None:
    kept: list[Any] = []
    tree.select([1.0, 2.0], lambda args: kept.append(args) or args)
    with pytest.raises(StructureError, match="is no leaf"):
        tree.select([1.0, 2.0], lambda args: kept[0][0])


def test_a_class_of_ones_own_is_a_structure_once_it_is_registered() -> None:
    @dataclasses.dataclass
    class Point:
        x: Any
        y: Any

    assert wg.grad(lambda p: p.x**2 * p.y)(Point(2.0, 3.0)) == Point(12.0, 4.0)  # dataclasses are by themselves

    class Interval:
        __slots__ = ("high", "low")

        def __init__(self, low: Any, high: Any) -> None:
            self.low, self.high = low, high

    wg.register(Interval, lambda i: ((i.low, i.high), None), lambda static, children: Interval(*children))
    gradient = wg.jit(wg.grad(lambda i: i.high**2 - i.low))(Interval(1.0, 2.0))
    assert (gradient.low, gradient.high) == (-1, 4)
