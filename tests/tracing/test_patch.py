"""Functions of numpy while a trace is open: who gets ours, and what is left afterwards."""

from __future__ import annotations

import inspect
import threading
import timeit
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.comparisons import same
from tests.tracing.numpy_cases import play
from wengert.errors import ConcretizationError, MutationError
from wengert.tracing import _opened, functions, patch  # noqa: F401  # they fill the tables
from wengert.tracing.record import Recording, input_of, record_call
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer

ORIGINALS = {name: getattr(np, name) for name in patch.NUMPY}
X = np.array([0.5, -1.5, 2.25])
S = np.float64(1.5)
LIBRARY = types.ModuleType("scipy.made_up")
exec(
    "import numpy as np\n"
    "def zeros(): return np.zeros(3)\n"
    "def convert(x): return np.asarray(x)\n"
    "def convert_list(x): return np.array([x, 1.0])\n",
    vars(LIBRARY),
)
ON_TOP = types.ModuleType("wengert.nn.made_up")
exec("import numpy as np\ndef zeros(): return np.zeros(3)\n", vars(ON_TOP))


def record(f: Callable[..., Any], *args: Any) -> Recording:
    return record_call(f, [input_of(a) for a in args], name="f")


def signature(f: Callable[..., Any]) -> inspect.Signature | None:
    """None of a function of C that says none, as those of NumPy before 2.4."""
    try:
        return inspect.signature(f)
    except ValueError:
        return None


def check(f: Callable[..., Any], *args: Any) -> None:
    """``f`` gives NumPy's values, shapes and dtypes."""
    want = f(*args)
    same(play(record(f, *args).tape, args), list(want) if isinstance(want, tuple) else [want])


def test_libraries_get_numpys_own_arrays() -> None:
    def f(x: Any) -> Any:
        assert type(LIBRARY.zeros()) is np.ndarray
        assert type(LIBRARY.convert(np.zeros(3))) is np.ndarray
        assert type(LIBRARY.convert([1.0])) is np.ndarray
        assert type(np.random.default_rng(0).normal(size=2)) is np.ndarray
        assert type(np.hanning(4)) is np.ndarray
        assert type(ON_TOP.zeros()) is Tracer
        return x

    record(f, X)


def test_libraries_may_convert_traced_values() -> None:
    """NumPy's own conversion would raise; what a library does in NumPy is traced."""

    def f(x: Any) -> Any:
        assert LIBRARY.convert(x) is x
        return LIBRARY.convert_list(x[0]), np.polynomial.polynomial.polyval(0.5, x)

    check(f, X)


def test_a_function_of_numpy_is_the_users_own() -> None:
    check(np.full_like, X, S)

    def f(x: Any) -> Any:
        inner = record(np.array, S)  # the wrapper, called for the user by the inner trace
        return play(inner.tape, [S])[0] + x

    record(f, X)


def test_a_name_imported_before_refuses_traced_values() -> None:
    zeros = ORIGINALS["zeros"]

    def f(x: Any) -> Any:
        a = zeros(3)
        a[0] = x[0]
        return a

    with pytest.raises((MutationError, ConcretizationError), match="an array made inside"):
        record(f, X)


@pytest.mark.parametrize("index", [0, ...])
def test_what_the_class_of_arrays_makes_refuses_traced_values_and_names_empty(index: Any) -> None:
    def f(x: Any) -> Any:
        a = np.ndarray(3)
        a[index] = x[index]
        return a

    with pytest.raises((MutationError, ConcretizationError), match=r"np\.empty\(shape\), .* np\.ndarray\(shape\) made"):
        record(f, X)


def test_only_the_thread_that_traces_is_concerned() -> None:
    tracing, other = threading.Event(), threading.Event()
    seen: list[Any] = []

    def elsewhere() -> None:
        tracing.wait(10)
        seen.append(np.zeros(3))
        seen.append(np.array([1.0, 2.0]))
        seen.append(np.asarray(X))
        other.set()

    def f(x: Any) -> Any:
        tracing.set()
        other.wait(10)
        return np.zeros(3) + x

    thread = threading.Thread(target=elsewhere)
    thread.start()
    record(f, X)
    thread.join()
    assert [type(one) for one in seen] == [np.ndarray] * 3


def is_restored() -> bool:
    return all(getattr(np, name) is original for name, original in ORIGINALS.items())


def test_nothing_is_left_behind() -> None:
    def nested(x: Any) -> Any:
        assert not is_restored()
        record(lambda y: np.array([y]), S)
        assert not is_restored()
        return np.zeros(3) + x

    record(nested, X)
    assert is_restored()

    def fails(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        record(fails, X)
    assert is_restored()


def test_threads_that_trace_at_once_share_one_patch() -> None:
    def f(x: Any) -> Any:
        a = np.zeros(3)
        a[0] = x[0]
        return a

    failures: list[Exception] = []

    def work() -> None:
        try:
            for _ in range(100):
                record(f, X)
        except Exception as error:  # any: a thread's would be lost; the test asserts that there is none
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert is_restored()


def test_what_somebody_else_has_put_there_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def mine(*args: Any) -> Any:
        return "mine"

    monkeypatch.setattr(np, "zeros", mine)
    with Trace("f").opened():
        assert np.zeros is mine
        assert np.ones is not ORIGINALS["ones"]
    assert np.zeros is mine
    assert np.ones is ORIGINALS["ones"]


def test_wrappers_look_like_what_they_wrap() -> None:
    with Trace("f").opened():
        for name, original in ORIGINALS.items():
            wrapper = getattr(np, name)
            assert wrapper is not original
            assert wrapper.__wrapped__ is original
            assert wrapper.__doc__ == original.__doc__
            if not callable(original):  # np.r_
                continue
            assert wrapper.__name__ == original.__name__
            assert signature(wrapper) == signature(original)
            assert np.array_equal(wrapper(3), original(3)) if name in ("zeros", "ones", "eye", "arange") else True


def test_entering_is_cheap() -> None:
    """A ratio, not a time: one entry costs less than what any trace costs besides."""

    opened = Trace("f")

    def enter() -> None:
        with _opened.opened(opened, []):  # what is exchanged; the rest is the trace's
            pass

    def trace() -> None:
        record(lambda: 0.0)

    entering = min(timeit.repeat(enter, number=200, repeat=5))
    tracing = min(timeit.repeat(trace, number=200, repeat=5))
    assert entering < tracing / 3
