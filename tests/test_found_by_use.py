"""What two reviews by use found: writes, aliases and empty arrays; dicts, settings and shared memory."""

from __future__ import annotations

import copy
import enum
import fractions
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy, same

X = np.array([1.25, -0.5, 2.0])
M = np.arange(6.0).reshape(2, 3)
B = np.array([True, False, True])
SINGLE = np.array([1e8, 1, 1, 1, 1, 1, 1, 1], np.float32)
WINDOWS = np.lib.stride_tricks.sliding_window_view


def at_overlapping(ufunc: np.ufunc) -> Any:
    def f(x: Any) -> Any:
        x = x * 1.0
        ufunc.at(x, [0, 0, 1], x[:3])
        return x

    return f


def windows_of_what_is_written(x: Any) -> Any:
    x = x * 1.0
    windows = WINDOWS(x, 2)
    x[0] = 5.0
    return windows, windows * 2


def through_views_without_axes(x: Any) -> Any:
    v = np.zeros(3)
    y = v[..., 0]
    y += x[0]
    a = np.zeros((3, 3)).reshape(-1)[..., 4]
    a[()] = 3.0
    np.add(1, 2, out=v[..., 1])
    v[..., 2].fill(2.0)
    return v, a, y


def unstacked(x: Any) -> Any:
    x = x * 1.0
    y = np.unstack(x)[0]
    y += 1.0
    return x, y


def reduced_over_no_axes(x: Any) -> Any:
    a = np.array(x[0])
    y = np.subtract.reduce(a)
    y += 1.0
    return a, y


def at_no_places(x: Any) -> Any:
    v = x * 2
    v[[]] = x[:1]
    np.add.at(v, [], x[:1])
    mask = np.zeros(3, bool)
    v[mask] = x[mask]
    y = np.outer(x, x)
    y[np.zeros((0, 1), int), [0, 1]] = 5.0
    return v, y, y[[], :], y[:, []]


def diagonal_of_nothing(x: Any) -> Any:
    y = np.outer(x, x)
    np.fill_diagonal(y, x[:0])
    return y


def by_booleans(x: Any) -> Any:
    y, z = x * 1.0, x * 1.0
    y[True] = 3.0
    z[False] = 9.0
    return y, z, x[True], x[False], x[np.True_], x[np.array(True)]


def scalars_are_not_written(x: Any) -> Any:
    s = x.sum()
    t = s
    s.flat[0] = 3.0
    return s, t


@pytest.mark.parametrize(
    ("f", "x"),
    [
        pytest.param(at_overlapping(np.multiply), X, id="multiply.at"),
        pytest.param(at_overlapping(np.maximum), X, id="maximum.at"),
        pytest.param(windows_of_what_is_written, X, id="sliding_window_view"),
        pytest.param(lambda x: WINDOWS(np.outer(x, x), (2, 2)).sum((2, 3)), X, id="sliding_windows"),
        pytest.param(through_views_without_axes, X, id="views_without_axes"),
        pytest.param(unstacked, X, id="unstack"),
        pytest.param(unstacked, M, id="unstack_rows"),
        pytest.param(reduced_over_no_axes, X, id="reduce_over_no_axes"),
        pytest.param(at_no_places, X, id="no_places"),
        pytest.param(diagonal_of_nothing, X, id="fill_diagonal"),
        pytest.param(by_booleans, X, id="booleans"),
        pytest.param(lambda x: np.array(x[0])[True], X, id="boolean_of_no_axes"),
        pytest.param(scalars_are_not_written, X, id="flat_of_a_scalar"),
        pytest.param(lambda x: np.sum(x, out=np.zeros(())), SINGLE, id="sum_out"),
        pytest.param(lambda x: np.cumsum(x, out=np.zeros(8)), SINGLE, id="cumsum_out"),
        pytest.param(lambda x: np.mean(x, out=np.zeros((), int)), X, id="mean_out_int"),
        pytest.param(lambda b: np.cumsum(b, out=np.zeros(3, bool)), B, id="cumsum_out_bool"),
        pytest.param(lambda b: np.sum(b, out=np.zeros((), np.uint8)), B, id="sum_out_uint8"),
        pytest.param(lambda x: np.max(x, out=np.zeros((), int)), X, id="max_out_int"),
        pytest.param(lambda x: np.linspace(np.int8(1), x[0], 5), np.ones(1, np.float32), id="linspace"),
        pytest.param(lambda b: b**2, B, id="square_of_booleans"),
        pytest.param(lambda b: np.outer(b, b) + 1, B, id="outer_of_booleans"),
        pytest.param(lambda x: np.dot(x > 0, x > 1) * x, X, id="dot_of_booleans"),
        pytest.param(lambda b: np.triu(np.outer(b, ~b)), B, id="triu_of_booleans"),
        pytest.param(lambda b: np.einsum("i,j->ij", b, b) | np.eye(3, dtype=bool), B, id="einsum_of_booleans"),
        pytest.param(lambda x: (np.outer(x > 0, x > 1) @ (x > 0)) * x, X, id="matvec_of_booleans"),
        pytest.param(lambda x: np.array([x[:0], np.zeros(0)]), X, id="array_of_empty"),
        pytest.param(lambda x: np.pad(x, 1, constant_values=(x[0], 3)), X, id="pad"),
        pytest.param(lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=((1, 2), (3, x[0, 0]))), M, id="pad_pairs"),
        pytest.param(lambda x: np.repeat(x[:0], [], axis=0), X, id="repeat_of_empty"),
        pytest.param(lambda x: np.max(x[:0], initial=9.0, where=x[:0] > 0), X, id="max_of_empty"),
    ],
)
def test_as_numpy(f: Any, x: Any) -> None:
    as_numpy(f, x)


def test_the_gradient_of_no_places() -> None:
    g = wg.jit(wg.grad(lambda x: np.sum(x[np.zeros(3, bool)] ** 2) + x[0]))
    np.testing.assert_array_equal(g(X), [1, 0, 0])


def test_views_of_arrays_that_are_not_traced_are_numpys() -> None:
    """``np.atleast_1d(w, x)`` gave a traced copy of ``w``; what was written into it was lost."""

    def f(x: Any, w: Any) -> Any:
        a, _ = np.atleast_1d(w, x)
        a[0] = 7.0
        return np.sum(w * x)

    w = np.array([0.5, 2.0, 0.25])
    assert wg.vmap(lambda x: f(x, np.copy(w)))(X[None])[0] == f(X, np.copy(w))
    with pytest.raises(wg.errors.MutationError):
        wg.grad(f)(X, w)


def test_a_copy_that_may_be_none_is_not_written() -> None:
    """``np.asfortranarray`` of a result whose order is not known is the array itself, or a copy: here always a copy."""

    def f(x: Any) -> Any:
        y = np.clip(x.T, 0, 9)
        v = np.asfortranarray(y)
        v[0] = 55.0
        return y

    with pytest.raises(wg.errors.MutationError, match=r"order(.|\n)*np\.array"):
        wg.jit(f)(M)
    as_numpy(lambda x: np.ascontiguousarray(np.clip(x.T, 0, 9)) * 2, M)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.copyto(x[0], 1.0),
        lambda x: np.putmask(x[0], True, 1.0),
        lambda x: np.place(x[0], True, 1.0),
        lambda x: np.sum(x, out=x[0]),
    ],
)
def test_scalars_are_not_written(f: Any) -> None:
    for run in (f, wg.jit(f)):
        with pytest.raises(TypeError):
            run(X)


def test_what_is_put_into_an_array_of_outside_is_refused() -> None:
    def f(x: Any, w: Any) -> Any:
        np.put(w, [0], np.ones(1))
        return np.sum(w * x)

    with pytest.raises(wg.errors.MutationError, match="outside"):
        wg.grad(f)(X, X.copy())


def test_lists_of_traced_values_are_named() -> None:
    with pytest.raises(wg.errors.ConcretizationError, match=r"np\.max takes(.|\n)*np\.max\(np\.array"):
        wg.jit(lambda x: np.max([x[0], 0.0]))(X)


# ------------------------------------------------------------------------------------------ what tells calls apart


def test_the_order_of_a_dict_is_part_of_its_type() -> None:
    """A program traced for one order of the keys answered calls in another."""

    def f(p: Any, **k: Any) -> Any:
        first = next(iter(k.values()))
        return {name: first * v for name, v in p.items()}, np.concatenate([v.ravel() for v in p.values()])

    g = wg.jit(f)
    for _ in range(3):
        for p in ({"a": X, "b": X + 1}, {"b": X + 1, "a": X}):
            for k in ({"r": 2.0, "s": 3.0}, {"s": 3.0, "r": 2.0}):
                got, want = g(p, **k), f(p, **k)
                same(got, want)
                assert list(got[0]) == list(want[0])
    assert g.stats()["traces"] == 4


class Color(enum.IntEnum):
    RED = 1


class Shape(enum.IntEnum):
    ROUND = 1


class Text(str):
    pass


class Real(float):
    pass


@pytest.mark.parametrize(
    "values",
    [
        (Color.RED, Shape.ROUND, True, fractions.Fraction(1)),
        ("a", Text("a")),
        (frozenset({True}), frozenset({1.0}), frozenset({1})),
        (Real(0.0), Real(-0.0)),
    ],
    ids=["enums", "strings", "sets", "zeros"],
)
def test_static_arguments_of_other_types_are_others(values: tuple[Any, ...]) -> None:
    def f(x: Any, k: Any) -> Any:
        inner = next(iter(k)) if isinstance(k, frozenset) else k
        return x * (len(repr(inner)) + 100 * len(type(inner).__name__))

    g = wg.jit(f)
    for k in (*values, *values):
        assert g(2.0, k) == f(2.0, k)


def test_keys_of_other_types_are_others() -> None:
    g = wg.jit(lambda p: sum(v * len(type(k).__name__) for k, v in p.items()))
    for p in ({True: 2.0}, {1: 2.0}, {1.0: 2.0}, {True: 2.0}):
        assert g(p) == 2.0 * len(type(next(iter(p))).__name__)
    h = wg.jit(lambda p: sum(v * len(repr(k)) for k, v in p.items()))
    for p in ({(1,): 2.0}, {(True,): 2.0}, {0.0: 2.0}, {-0.0: 2.0}, {("a", 1): 2.0}, {("a", 1): 2.0}):
        assert h(p) == 2.0 * len(repr(next(iter(p))))


def test_the_order_of_a_defaultdict_and_of_what_is_in_it() -> None:
    class Weight:
        def __init__(self, a: Any) -> None:
            self.a = a + 0

    wg.tree.register(Weight, lambda w: ((w.a,), None), lambda _, children: Weight(*children))
    g = wg.jit(lambda d: next(iter(d.values())).a * 2.0)
    for keys in ("ab", "ba", "ab"):
        d = defaultdict(lambda: Weight(0.0))
        for key in keys:
            d[key] = Weight(float(ord(key)))
        assert g(d) == 2.0 * ord(keys[0])


def test_settings_are_told_apart_inside_of_tuples() -> None:
    @wg.primitive
    def scaled(x: Any, s: Any = None) -> Any:
        return x * (1.0 if isinstance(s[0], int) else 5.0)

    a, b = wg.jit(lambda x: (scaled(x, s=(1,)), scaled(x, s=(1.0,))))(X)
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(b, 5 * X)


def test_a_rule_is_not_passed_by() -> None:
    """With a traced keyword the function ran without its own pullback, and the gradient was another."""

    @wg.primitive
    def rounded(x: Any, s: Any = None) -> Any:
        return np.round(x)

    @rounded.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        return (ct,)

    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(rounded(x)))(X), np.ones(3))
    for f in (lambda x: rounded(x=x), lambda x: rounded([x, x]), lambda x: rounded(x, s=[1, 2])):
        with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"rounded(.|\n)*by position"):
            wg.grad(lambda x, f=f: np.sum(f(x)))(X)


def test_complex_cotangents_are_refused() -> None:
    @wg.primitive
    def turned(x: Any) -> Any:
        return x * 1.0

    @turned.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        return (ct * 1j,)

    with pytest.raises(wg.errors.DTypeError, match="complex128"):
        wg.grad(lambda x: np.sum(turned(x)))(X)


@pytest.mark.parametrize("result", [None, np.ma.masked_array(X, [True, False, False])], ids=["none", "masked"])
def test_what_a_primitive_cannot_return(result: Any) -> None:
    with pytest.raises(wg.errors.UnsupportedFunctionError):
        wg.jit(wg.primitive(lambda x: result))(X)


def test_a_leaf_is_differentiated_once() -> None:
    with pytest.raises(wg.errors.StructureError, match="twice"):
        wg.grad(lambda p: np.sum(p["a"]), wrt=lambda args: (args[0]["a"], args[0]["a"]))({"a": X})


def test_a_parameter_called_out() -> None:
    """Its argument was overwritten with the result."""
    for f in (lambda x, out=3.0: x + out, lambda x, out: x + out):
        g, room = wg.jit(f), np.array([10.0, 20.0, 30.0])
        np.testing.assert_array_equal(g(X, room), X + room)
        for _ in range(2):
            with pytest.raises(wg.errors.StructureError, match="parameter out"):
                g(X, out=room)
        np.testing.assert_array_equal(room, [10, 20, 30])
    room = np.empty(3)
    for f in (lambda x, out=None: x + 1, lambda x, out=5.0, /: x + 1):
        assert wg.jit(f)(X, out=room) is room
        np.testing.assert_array_equal(room, X + 1)


# ----------------------------------------------------------------------------------------------------- shared memory


def test_memory_that_is_written_is_not_passed_twice() -> None:
    """Only the same object at the first call was seen."""

    def f(a: Any, b: Any) -> Any:
        a += 1.0
        return a * b

    whole = np.arange(8.0)
    shared = [(whole, whole), (whole[:], whole[:]), (whole[:4], whole[3:7]), (whole[::2], whole[::-2])]
    apart = [(whole[:4], whole[4:]), (whole[::2], whole[1::2])]
    g = wg.jit(f)
    for a, b in [*apart, *shared, *apart]:
        want = f(np.copy(a), np.copy(b))
        if np.shares_memory(a, b):
            for run in (g, wg.jit(f), wg.grad(lambda a, b: np.sum(f(a, b)))):
                with pytest.raises(wg.errors.MutationError, match="passed twice"):
                    run(a, b)
        else:
            np.testing.assert_array_equal(g(a, b), want)
    np.testing.assert_array_equal(wg.jit(lambda a, b: a * b)(whole, whole), whole * whole)  # read alone


def test_an_argument_that_is_captured_too() -> None:
    x = np.ones(3)

    def f(a: Any) -> Any:
        a += 1.0
        return a * x

    g = wg.jit(f)
    np.testing.assert_array_equal(g(np.ones(3)), [2, 2, 2])
    for run in (g, wg.jit(f), wg.grad(lambda a: np.sum(f(a)))):
        with pytest.raises(wg.errors.MutationError, match="passed twice"):
            run(x)
    np.testing.assert_array_equal(g(np.ones(3)), [2, 2, 2])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 and later: that is what is tested
def test_a_fork_while_another_thread_compiles() -> None:
    """The child waited for ever for a lock that a thread held which it does not have."""
    from wengert.codegen import compiler

    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with compiler._lock:
            held.set()
            done.wait(0.2)

    wg.jit(lambda x: x + 1)(X)
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            right = np.array_equal(wg.jit(lambda x: x * 3 - 1)(X), X * 3 - 1)
        finally:
            os._exit(0 if right else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


# ------------------------------------------------------------------------------------------------------------ NaN


@pytest.mark.parametrize(
    ("f", "shares"),
    [
        (np.max, ([0.5, 0.5],) * 3),
        (np.min, ([0.5, 0.5],) * 3),
        (np.median, ([0, 1], [1, 0], [0, 1])),
        (lambda v: np.maximum(v[0], v[1]), ([0, 1], [1, 0], [1, 0])),
        (lambda v: np.minimum(v[0], v[1]), ([0, 1], [1, 0], [1, 0])),
        (lambda v: np.fmax(v[0], v[1]), ([1, 0], [0, 1], [1, 0])),
        (lambda v: np.fmin(v[0], v[1]), ([1, 0], [0, 1], [1, 0])),
        (lambda v: np.sum(np.clip(v, 0, 2)), ([1, 1], [1, 1], [1, 1])),
    ],
    ids=["max", "min", "median", "maximum", "minimum", "fmax", "fmin", "clip"],
)
def test_a_nan_has_the_derivative_where_it_is_the_result(f: Any, shares: Any) -> None:
    """Reverse mode gave 0, forward mode NaN."""
    for v, share in zip(([1.0, np.nan], [np.nan, 1.0], [np.nan, np.nan]), shares, strict=True):
        x = np.array(v)
        np.testing.assert_array_equal(wg.grad(f)(x), share)
        np.testing.assert_array_equal(wg.jacobian(f, mode="forward")(x), share)
        np.testing.assert_array_equal(wg.jit(wg.grad(f))(x), share)


# ------------------------------------------------------------------------------------------------- copies, messages


@wg.jit
def compiled(x: Any) -> Any:
    return x * 2


def doubled(x: Any) -> Any:
    return x * 2


def test_a_compiled_function_is_pickled_as_a_function() -> None:

    assert pickle.loads(pickle.dumps(compiled)) is compiled
    other = pickle.loads(pickle.dumps(wg.jit(doubled)))
    assert other(3.0) == 6.0 and other.__wrapped__ is doubled
    assert copy.deepcopy({"f": compiled})["f"] is compiled and copy.copy(compiled) is compiled


def test_large_integers() -> None:
    f = wg.jit(lambda y, n: y * n)
    assert f(2.0, 2**63 - 1) == 2.0 * (2**63 - 1)
    for n in (2**63, 2**64, -(2**63) - 1):
        with pytest.raises(wg.errors.DTypeError, match="more than 63 bits"):
            f(2.0, n)
    assert f(np.uint64(1), np.uint64(2**63)) == 2**63


def test_a_program_refuses_what_is_traced() -> None:
    program = wg.jit(doubled).program(X)
    with pytest.raises(wg.errors.ConcretizationError, match="arrays alone"):
        wg.grad(lambda x: np.sum(program(x)))(X)


@pytest.mark.parametrize("argnums", [None, 1.0, "a", (0, 1.0)])
def test_argnums_are_positions(argnums: Any) -> None:
    with pytest.raises(wg.errors.StructureError, match="argnums"):
        wg.grad(lambda x, y: x * y, argnums=argnums)(2.0, 3.0)
    assert wg.grad(lambda x, y: x * y, argnums=np.int64(1))(2.0, 3.0) == 2.0


@pytest.mark.parametrize("text", ["abc", "0", "-1"])
def test_a_variable_that_is_no_number_is_named(text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import wengert"],
        env={**os.environ, "WENGERT_THREADS": text},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "WENGERT_THREADS" in done.stderr.splitlines()[-1]


def test_conversions_of_arrays_that_are_not_traced_are_views() -> None:
    """``np.asfortranarray`` of an array of shape () is a view of one element, and was a copy."""

    def f(x: Any, w: Any) -> Any:
        w = np.copy(w)
        view = np.asfortranarray(w[0, ...])
        w[0] = 7.0
        return x * view

    w = np.array([1.0, 2.0])
    for run in (wg.vmap(lambda x: f(x, w)), wg.jit(lambda x: f(x[0], w)[None])):
        np.testing.assert_array_equal(run(X[:1]), [[7.0 * X[0]]])


def test_a_copy_that_may_be_none_is_written_where_nobody_can_tell() -> None:
    def f(x: Any) -> Any:
        y = np.ascontiguousarray(np.clip(x.T, 0, 9))
        y[0] = 5.0
        z = np.clip(x.T, 0, 9).reshape(-1)
        z[1] = 7.0
        row = np.asfortranarray(np.cumsum(x.T, 0))[1]
        row *= 2.0
        return y, z, row

    as_numpy(f, M)
    x = M.copy()
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(f(x)[0] ** 2))(x), np.array([[0, 2, 4], [0, 8, 10.0]]))
