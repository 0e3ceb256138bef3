import gc
import sys
import threading
import weakref
from collections import namedtuple
from types import CellType
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.entries import ARRAY, Jit, X, entry, jit
from tests.runtime.native.executables import F4, F8, I8, TWICE_PLUS_ONE, executable, kernel, leaks
from tests.runtime.native_kernels import address
from wengert.runtime._native import Dispatcher


def echo(*dtypes: Any) -> Any:
    """A program that gives its inputs of shape () back."""
    n = len(dtypes)
    steps = [
        ("callback", lambda x: x, [((1 + k, 0), d, (), None, False)], [((1 + n + k, 0), d, (), None)])
        for k, d in enumerate(dtypes)
    ]
    return executable(inputs=[(d, (), None) for d in dtypes], outputs=[(d, ()) for d in dtypes], steps=steps)


def test_a_call_that_fits_runs_the_program():
    e = entry()
    f = jit(e)
    assert np.array_equal(f(X), 2 * X + 1)
    assert (f.calls, e.calls, e.executable.runs) == (1, 1, 1)
    assert not f.slow


def test_others_go_the_slow_way():
    f = jit(entry())
    calls = [((), {}), ((X, X), {}), ((X,), {"y": 1}), ((X,), {"out": None, "y": 2}), ((3,), {}), ((), {"x": X})]
    for args, kwargs in calls:
        assert f(*args, **kwargs) == "slow"
    assert [(len(a), k) for a, k in f.slow] == [(len(a), k) for a, k in calls]
    assert f.calls == len(calls)


def test_arguments_by_name():
    """Those of the entry, in its order, after the positional ones; out last, or nowhere."""
    two = ("tuple", [0, ("none",)])
    f = jit(entry(two, keywords=("y",)))
    f._install(entry(two, keywords=("x", "y")))
    out = np.empty(8)
    for args, kwargs in [((X,), {"y": None}), ((), {"x": X, "y": None}), ((X,), {"".join(["y"]): None, "out": None})]:
        assert np.array_equal(f(*args, **kwargs), 2 * X + 1)
    assert f(X, y=None, out=out) is out
    assert np.array_equal(out, 2 * X + 1)
    assert not f.slow
    for args, kwargs in [
        ((X, None), {}),
        ((X,), {"z": None}),
        ((), {"y": None, "x": X}),
        ((X,), {"out": out, "y": None}),
        ((X,), {"y": 1}),
        ((), {"y": X}),
        ((X,), {"y": None, "x": X}),
    ]:
        assert f(*args, **kwargs) == "slow"
        assert f.slow[-1][1].keys() == kwargs.keys()
    for wrong in [(1,), ("a", "b", "c")]:
        with pytest.raises(ValueError, match="keyword"):
            entry(two, keywords=wrong)


def test_a_miss_is_told_the_names():
    missed = jit(entry(keywords=("x",), executable=executable(steps=[("guard", (1, 0), 8, b"x" * 8, 0)])))
    missed._missed = lambda token, position, seen, args, kwargs: (args, kwargs)
    args, kwargs = missed(x=X)
    assert args == () and kwargs["x"] is X


def test_without_entries():
    assert Jit()(1, a=2) == "slow"
    with pytest.raises(AttributeError, match="_slow"):
        Dispatcher()(1)
    with pytest.raises(TypeError):
        Jit()._install(3)


def test_errors_of_the_slow_way_are_its_own():
    class Raises(Dispatcher):
        def _slow(self, args, kwargs):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Raises()(X)


class TestLeaves:
    @pytest.mark.parametrize(
        ("x", "fits"),
        [
            (X, True),
            (X[::-1], False),
            (np.zeros(16)[::2], True),
            (np.zeros(8, "=f8"), True),
            (np.zeros(8, ">f8"), False),
            (np.zeros(8, F4), False),
            (np.zeros(8, np.int64), False),
            (np.zeros(7), False),
            (np.zeros((8, 1)), False),
            (np.float64(3), False),
            (np.zeros(8).view(np.recarray), False),
            (np.ma.zeros(8), False),
            (X.tolist(), False),
            (None, False),
        ],
    )
    def test_vectors(self, x, fits):
        f = jit(entry())
        result = f(x)
        assert np.array_equal(result, 2 * x + 1) if fits else result == "slow"

    @pytest.mark.parametrize("x", [X, np.zeros(16)[::2], np.zeros(16)[::-2]])
    def test_vectors_that_do_not_run_backwards_so(self, x):
        program = executable(inputs=[(F8, (8,), (-8,))], steps=TWICE_PLUS_ONE)
        assert jit(entry(leaves=[("array", F8, (8,), (-8,))], executable=program))(x) == "slow"

    @pytest.mark.parametrize(
        ("x", "fits"),
        [
            (X.reshape(2, 4), True),
            (np.asfortranarray(X.reshape(2, 4)), False),
            (X.reshape(4, 2).T, False),
            (np.zeros((2, 8))[:, ::2], False),
            (X.reshape(4, 2), False),
        ],
    )
    def test_matrices_in_c_order(self, x, fits):
        program = executable(inputs=[(F8, (2, 4), None)], steps=TWICE_PLUS_ONE)
        result = jit(entry(leaves=[("array", F8, (2, 4), None)], executable=program))(x)
        assert np.array_equal(result, 2 * x.ravel() + 1) if fits else result == "slow"

    @pytest.mark.parametrize(
        ("x", "fits"),
        [
            (X.reshape(4, 2).T, True),
            (X.reshape(2, 4), False),
            (np.zeros((4, 4))[:, ::2].T, False),
            (X.reshape(4, 2)[::-1].T, False),
        ],
    )
    def test_matrices_with_given_strides(self, x, fits):
        program = executable(inputs=[(F8, (2, 4), (8, 16))], steps=TWICE_PLUS_ONE)
        result = jit(entry(leaves=[("array", F8, (2, 4), (8, 16))], executable=program))(x)
        assert np.array_equal(result, 2 * x.T.ravel() + 1) if fits else result == "slow"

    def test_an_empty_matrix(self):
        program = executable(inputs=[(F8, (0, 4), None)], outputs=[], steps=[])
        f = jit(entry(leaves=[("array", F8, (0, 4), None)], executable=program, result=("none",)))
        assert f(np.zeros((0, 4), order="F")) is None

    def test_unaligned(self):
        x = np.frombuffer(b"." + X.tobytes(), np.uint8)[1:].view(F8)
        assert np.array_equal(jit(entry())(x), 2 * X + 1)

    @pytest.mark.parametrize(
        ("leaf", "dtype", "fitting", "others"),
        [
            (("float",), F8, [1.5, float("inf")], [1, True, np.float64(1), "1", np.array(1.0)]),
            (("int",), I8, [3, -(2**63), 2**63 - 1], [True, 2**63, -(2**63) - 1, 10**30, 1.0, np.int64(1)]),
            (("complex",), np.dtype(complex), [1j], [1.0, np.complex128(1)]),
            (("scalar", F8), F8, [np.float64(2)], [2.0, np.float32(2), np.array(2.0)]),
            (("scalar", F4), F4, [np.float32(2)], [2.0, np.float64(2)]),
            (("scalar", np.dtype(bool)), np.dtype(bool), [np.True_], [True, 1]),
            (("array", F8, (), None), F8, [np.array(2.0)], [2.0, np.float64(2), np.array([2.0])]),
        ],
    )
    def test_numbers(self, leaf, dtype, fitting, others):
        f = jit(entry(leaves=[leaf], executable=echo(dtype)))
        for x in fitting:
            result = f(x)
            assert result == x
            assert type(result) is dtype.type
        for x in others:
            assert f(x) == "slow"

    def test_the_same_object(self):
        marker = (1000, "a")
        f = jit(entry(("tuple", [0, 1]), [ARRAY, ("same", marker)]))
        assert np.array_equal(f(X, marker), 2 * X + 1)
        assert f(X, (*marker,)) == "slow"

    def test_which_leaf_is_which_input(self):
        f = jit(
            entry(
                ("tuple", [1, 0]),
                [("float",), ("int",)],
                executable=echo(I8, F8),
                input_leaves=[1, 0],
                result=("list", [1, 0]),
            )
        )
        assert f(7, 2.5) == [2.5, 7]

    def test_many_leaves(self):
        n = 300
        steps = [kernel("double", (1 + k, 0), (1 + n + k, 0), extent=1) for k in range(n)]
        program = executable(inputs=[(F8, (1,), None)] * n, outputs=[(F8, (1,))] * n, steps=steps)
        structure = ("tuple", [("list", list(range(n)))])
        f = jit(
            entry(
                structure,
                [("array", F8, (1,), None)] * n,
                executable=program,
                input_leaves=range(n),
                result=("list", list(range(n))),
            )
        )
        results = f([np.array([float(k)]) for k in range(n)])
        assert [r[0] for r in results] == [2 * k for k in range(n)]
        assert f([np.zeros(1)] * (n - 1)) == "slow"


class TestSharedMemory:
    """An entry for a function that writes its arguments takes only arrays that lie apart."""

    def f(self, written: Any, captures: Any = ()) -> Jit:
        n = 2 + len(captures)
        steps = [kernel("double", (1 + k, 0), (1 + n + k, 0), extent=2) for k in range(2)]
        program = executable(
            inputs=[(F8, (2,), None)] * 2, captures=list(captures), outputs=[(F8, (2,))] * 2, steps=steps
        )
        return jit(
            entry(
                ("tuple", [0, 1]),
                [("array", F8, (2,), None)] * 2,
                executable=program,
                input_leaves=[0, 1],
                result=("tuple", [0, 1]),
                written=written,
            )
        )

    def test_arrays(self):
        whole = np.arange(6.0)
        f, anywhere = self.f([1]), self.f([])
        for a, b in ((whole[:2], whole[2:4]), (whole[4:], whole[:2])):
            np.testing.assert_array_equal(f(a, b), (2 * a, 2 * b))
        for a, b in (
            (whole[:2], whole[:2]),
            (whole[:2], whole[1:3]),
            (whole[:4:2], whole[1:4:2]),
        ):
            assert f(a, b) == "slow"
            np.testing.assert_array_equal(anywhere(a, b), (2 * a, 2 * b))

    def test_captured_arrays(self):
        whole = np.arange(6.0)
        f = self.f([0], captures=[whole[4:]])
        np.testing.assert_array_equal(f(whole[:2], whole[2:4]), (2 * whole[:2], 2 * whole[2:4]))
        np.testing.assert_array_equal(f(whole[:2], whole[3:5]), (2 * whole[:2], 2 * whole[3:5]))  # is read alone
        assert f(whole[3:5], whole[:2]) == "slow"
        assert f(whole[4:], whole[:2]) == "slow"


class TestStructures:
    STRUCTURE = ("tuple", [("dict", [("a", 0), ("b", ("list", [1, ("none",)]))]), ("tuple", [("tuple", []), 2])])

    def f(self, result: Any = 0) -> Jit:
        return jit(
            entry(
                self.STRUCTURE,
                [("float",), ("int",), ("float",)],
                executable=echo(F8, I8, F8),
                input_leaves=[0, 1, 2],
                result=result,
            )
        )

    def test_in(self):
        f = self.f(("tuple", [0, 1, 2]))
        assert f({"a": 1.0, "b": [2, None]}, ((), 3.0)) == (1.0, 2, 3.0)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ({"a": 1.0}, ((), 3.0)),
            ({"b": [2, None], "a": 1.0}, ((), 3.0)),  # the function may go by the order
            ({"a": 1.0, "c": [2, None]}, ((), 3.0)),
            ({"a": 1.0, "b": [2, None], "c": 0}, ((), 3.0)),
            ({"a": 1.0, "b": (2, None)}, ((), 3.0)),
            ({"a": 1.0, "b": [2]}, ((), 3.0)),
            ({"a": 1.0, "b": [2, 0]}, ((), 3.0)),
            ({"a": 1.0, "b": [2, None, None]}, ((), 3.0)),
            ({"a": 1.0, "b": [2, None]}, [(), 3.0]),
            ({"a": 1.0, "b": [2, None]}, ((1,), 3.0)),
            (type("D", (dict,), {})(a=1.0, b=[2, None]), ((), 3.0)),
            ([1.0, [2, None]], ((), 3.0)),
            (None, ((), 3.0)),
        ],
    )
    def test_others(self, first, second):
        assert self.f(("tuple", [0, 1, 2]))(first, second) == "slow"

    def test_a_list_subclass(self):
        class List(list):
            pass

        f = jit(entry(("tuple", [("list", [0])])))
        assert np.array_equal(f([X]), 2 * X + 1)
        assert f(List([X])) == "slow"

    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            (("tuple", [0, 1, 2]), (1.0, 2, 3.0)),
            (("list", [2, ("tuple", [1]), 0]), [3.0, (2,), 1.0]),
            (("dict", [("z", 0), ("a", ("none",)), (5, ("list", [1, 2, 2]))]), {"z": 1.0, "a": None, 5: [2, 3.0, 3.0]}),
        ],
    )
    def test_out(self, spec, expected):
        result = self.f(spec)({"a": 1.0, "b": [2, None]}, ((), 3.0))
        assert result == expected
        assert type(result) is type(expected)
        if type(expected) is dict:
            assert list(result) == list(expected)

    def test_unflatten(self):
        f = self.f(lambda leaves: ("made of", leaves))
        assert f({"a": 1.0, "b": [2, None]}, ((), 3.0)) == ("made of", [1.0, 2, 3.0])
        assert f({"a": 1.0, "b": [2, None]}, ((), 3.0), out=()) == "slow"

    def test_keys_that_raise_when_compared(self):
        """Keys of classes of one's own are not compared; the slow path looks at them."""

        class Key:
            def __hash__(self):
                return hash("a")

            def __eq__(self, other):
                raise ZeroDivisionError

        key = Key()
        f = jit(entry(("tuple", [("dict", [(key, 0)])])))
        assert f({Key(): X}) == "slow"
        np.testing.assert_array_equal(f({key: X}), 2 * X + 1)

    @pytest.mark.parametrize(
        "rest",
        [
            {"written": [1]},
            {"written": [-1]},
            {"structure": 0},
            {"structure": ("tuple", [1])},
            {"structure": ("tuple", [])},
            {"structure": ("set", [0])},
            {"structure": ("named", dict, [0])},
            {"structure": ("named", 1, [0])},
            {"structure": ("named", [0])},
            {"structure": ("tuple", [("dict", [("a",)])])},
            {"leaves": [("arry", F8, (8,), None)]},
            {"leaves": [("array", F8, (7,), None)]},
            {"leaves": [("array", F4, (8,), None)]},
            {"leaves": [("same", X)]},
            {"leaves": [("float",)]},
            {"leaves": [("array", F8)]},
            {"input_leaves": []},
            {"input_leaves": [1]},
            {"input_leaves": [-1]},
            {"result": 1},
            {"result": ("none",)},
            {"places": [("attribute", X, X)]},
            {"places": [("cell", X, X)]},
            {"places": [("item", X, "a", X)]},
            {"places": [("call", X, X)]},
            {"places": [()]},
        ],
    )
    def test_descriptions_that_make_no_sense(self, rest):
        with pytest.raises(ValueError):
            entry(**rest)


class TestOut:
    def test_written_straight_into(self):
        f = jit(entry())
        out = np.empty(8)
        assert f(X, out=out) is out
        assert np.array_equal(out, 2 * X + 1)
        assert not f.slow
        assert np.array_equal(f(X, out=None), out)

    def test_in_a_structure(self):
        program = executable(
            outputs=[(F8, (8,)), (F8, ())], steps=[*TWICE_PLUS_ONE, kernel("double", (1, 8), (3, 0), extent=1)]
        )
        f = jit(entry(executable=program, result=("dict", [("a", 1), ("b", ("list", [0]))])))
        assert list(f(X)) == ["a", "b"]
        out = {"b": [np.empty(8)], "a": np.empty(())}
        assert f(X, out=out) is out
        assert np.array_equal(out["b"][0], 2 * X + 1)
        assert out["a"] == 2
        assert not f.slow
        assert f(X, out={"b": [np.empty(8)], "a": np.float64(0)}) == "slow"
        assert f(X, out={"b": [np.empty(8)]}) == "slow"
        assert f(X, out=np.empty(8)) == "slow"

    def test_what_does_not_fit(self):
        e = entry()
        f = jit(e)
        memory = np.zeros(16)
        readonly = np.zeros(8)
        readonly.flags.writeable = False
        others = [np.empty(7), np.empty(8, F4), np.empty(16)[::2], readonly, memory[4:12], [0] * 8, np.ma.zeros(8), ()]
        for out in others:
            assert f(memory[:8], out=out) == "slow"
        assert [k["out"] is out for (_, k), out in zip(f.slow, others, strict=True)] == [True] * len(others)
        assert e.executable.runs == 0

    def test_none_inside_is_no_array(self):
        f = jit(entry(result=("list", [0])))
        assert f(X, out=[None]) == "slow"

    def test_a_captured_array(self):
        capture = np.zeros(8)
        f = jit(entry(executable=executable(captures=[capture], steps=[kernel("double", (2, 0), (3, 0))])))
        assert f(X, out=capture) == "slow"
        assert f(X, out=np.ones(8)).sum() == 0


class TestPlaces:
    def test_a_cell(self):
        content = [1]
        cell = CellType(content)
        f = jit(entry(places=[("cell", cell, content)]))
        assert np.array_equal(f(X), 2 * X + 1)
        cell.cell_contents = [1]
        assert f(X) == "slow"
        del cell.cell_contents
        assert f(X) == "slow"

    def test_an_item(self):
        content = object()
        names: dict[str, Any] = {"a": content}
        f = jit(entry(places=[("item", names, "a", content)]))
        assert np.array_equal(f(X), 2 * X + 1)
        names["a"] = 3
        assert f(X) == "slow"
        del names["a"]
        assert f(X) == "slow"
        names["a"] = content
        assert np.array_equal(f(X), 2 * X + 1)

    def test_a_call(self):
        content: Any = object()
        f = jit(entry(places=[("call", lambda: content, None)]))
        assert f(X) == "slow"
        content = None
        assert np.array_equal(f(X), 2 * X + 1)
        f = jit(entry(places=[("call", lambda: 1 / 0, None)]))
        assert f(X) == "slow"

        def interrupted():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            jit(entry(places=[("call", interrupted, None)]))(X)

    def test_a_call_that_empties_the_arguments_and_forgets_the_entries(self):
        args = [X.copy()]

        def look():
            args.clear()
            f._forget()
            gc.collect()

        f = jit(entry(("tuple", [("list", [0])]), places=[("call", look, None)]))
        assert np.array_equal(f(args), 2 * X + 1)
        assert f([X]) == "slow"

    def test_the_entry_for_these_surroundings_is_found(self):
        names = {"a": 1}
        f = jit(entry(places=[("item", names, "a", 1)], token="one"))
        f._install(
            entry(places=[("item", names, "a", 2)], executable=executable(steps=[kernel("double", (1, 0), (2, 0))]))
        )
        assert f(X)[1] == 3
        names["a"] = 2
        assert f(X)[1] == 2
        names["a"] = 3
        assert f(X) == "slow"


class TestEntries:
    def test_the_last_four_are_kept(self):
        f = Jit()
        entries = [
            entry(
                leaves=[("array", F8, (n,), None)],
                executable=executable(inputs=[(F8, (n,), None)], outputs=[], steps=[]),
                result=("none",),
            )
            for n in range(6)
        ]
        for e in entries:
            f._install(e)
        assert f._entries == tuple(entries[:1:-1])
        assert [f(np.zeros(n)) for n in range(6)] == ["slow"] * 2 + [None] * 4
        f._install(entries[3])
        assert f._entries == tuple(entries[k] for k in (3, 5, 4, 2))
        f._forget()
        assert f._entries == ()
        assert f(np.zeros(3)) == "slow"

    def test_readable(self):
        program = executable(steps=TWICE_PLUS_ONE)
        e = entry(executable=program, token="t")
        assert (e.token, e.executable, e.calls) == ("t", program, 0)


def test_a_guard_miss():
    program = executable(inputs=[(I8, (), None)], outputs=[(I8, ())], steps=[
        ("guard", (1, 0), 8, np.int64(3).tobytes(), 6),
        ("kernel", address("store_size"), [(2, 0)], [9], 1, 0, None),
    ])  # fmt: skip
    f = jit(entry(leaves=[("int",)], executable=program, token="here"))
    assert f(3) == 9
    assert f(4) == ("missed", "here", 6, np.int64(4).tobytes(), (4,), {})
    out = np.array(0)
    assert f(4, out=out) == ("missed", "here", 6, np.int64(4).tobytes(), (4,), {"out": out})
    assert out == 0


def test_errors_of_a_run_are_raised():
    step = ("callback", lambda x: 1 / 0, [((1, 0), F8, (8,), None, False)], [])
    with pytest.raises(ZeroDivisionError):
        jit(entry(executable=executable(steps=[step])))(X)
    with pytest.raises(MemoryError):
        jit(entry(executable=executable(arena_bytes=2**60)))(X)


def test_a_subclass_is_a_class_like_others():
    f = jit(entry())
    f.name = "changed"
    assert weakref.ref(f)() is f
    assert f.__dict__["name"] == "changed"

    class Calls(Jit):
        def __call__(self, x):
            return "mine"

    g = Calls()
    g._install(entry())
    assert g(X) == "mine"
    assert np.array_equal(Dispatcher.__call__(g, X), 2 * X + 1)

    class Sub(Jit):
        pass

    h = Sub()
    h._install(entry())
    assert np.array_equal(h(X), 2 * X + 1)
    assert np.array_equal(next(map(h, [X])), 2 * X + 1)


def test_cycles_are_collected():
    f = Jit()
    f._install(
        entry(
            places=[("call", (lambda g: lambda: g and None)(f), None)],
            token=f,
            leaves=[ARRAY, ("same", f)],
            structure=("tuple", [0, 1]),
        )
    )
    assert np.array_equal(f(X, f), 2 * X + 1)
    alive = weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None


def test_eight_threads():
    f = jit(entry(executable=executable(steps=TWICE_PLUS_ONE, is_long=True)))
    other = entry(
        leaves=[("array", F8, (7,), None)],
        executable=executable(inputs=[(F8, (7,), None)], outputs=[], steps=[]),
        result=("none",),
    )
    wrong = []

    def work(k):
        for i in range(300):
            x = np.full(8, float(1000 * k + i))
            if not np.array_equal(f(x), 2 * x + 1):
                wrong.append(k)
            if i % 50 == k:
                f._install(other)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.deep("ten thousand calls of every path")
def test_no_path_leaks():
    names = {"a": X}
    out = np.empty(8)
    tree = {"a": [X], "b": (X, None)}
    structure = ("tuple", [("dict", [("a", ("list", [0])), ("b", ("tuple", [1, ("none",)]))])])
    f = jit(entry(places=[("item", names, "a", X)]))
    g = jit(entry(structure, [ARRAY, ARRAY], result=("dict", [("r", ("list", [0]))])))
    one = namedtuple("one", "x")
    of_class = jit(entry(("tuple", [("named", one, [0])]), result=("named", one, [0])))
    missing = jit(entry(executable=executable(steps=[("guard", (1, 0), 8, b"x" * 8, 0)]), token=names))
    unflattened = jit(entry(result=lambda leaves: leaves))
    named = jit(entry(keywords=("x",)))
    for h in (f, g):
        h._slow = lambda args, kwargs: None
    paths = {
        "fit": lambda: f(X),
        "out": lambda: f(X, out=out),
        "copy": lambda: f(X[::-1]),
        "slow": lambda: f(X, 1),
        "slow with keywords": lambda: f(X, a=out),
        "keywords": lambda: named(x=X),
        "out that does not fit": lambda: f(X, out=X),
        "tree": lambda: g(tree),
        "named tuple": lambda: of_class(one(X)),
        "a tree that fits in part": lambda: g({"a": [X], "b": (X, X)}),
        "miss": lambda: missing(X),
        "unflatten": lambda: unflattened(X),
        "install": lambda: f._install(f._entries[0]),
        "entry": lambda: entry(structure, [ARRAY, ARRAY], [("item", names, "a", X)], result=("dict", [("r", 0)])),
    }
    counted = [X, out, names, one, None, tree, names["a"], F8]
    for name, call in paths.items():
        before = [sys.getrefcount(v) for v in counted if v is not None]
        assert leaks(call, 10_000 if name != "entry" else 2000) < 2000, name
        assert [sys.getrefcount(v) for v in counted if v is not None] == before, name
