"""Functions of numpy while a trace is open: who gets ours, and what is left afterwards."""

from __future__ import annotations

import functools
import math
import pickle
import subprocess
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.special
from numpy import array, zeros
from numpy import linspace as space

import wengert as wg
from tests.comparisons import same
from tests.tracing.interception.addresses import address
from tests.tracing.numpy_cases import play
from wengert.errors import ConfigError, WengertError
from wengert.tracing.interception import _c_functions
from wengert.tracing.interception.asking import INTO_LISTS
from wengert.tracing.interception.intercept import TABLE, Interception, check_interpreter, enroll, intercepts, withdraw
from wengert.tracing.record import Recording, input_of, record_call
from wengert.tracing.tracer import Tracer

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


@pytest.mark.needs_extension("a function that was kept elsewhere than in a module is called as it is")
def test_a_name_imported_before_makes_traced_arrays() -> None:
    """However the function got there: NumPy's own object is intercepted, not a name in its module."""
    table = {"z": zeros, "full": np.full}

    class Maker:
        make = staticmethod(zeros)

        def __init__(self) -> None:
            self.filled = np.full

    maker = Maker()

    def f(x: Any) -> Any:
        a, b, c, d = zeros(2), table["z"](2), maker.make(2), list(map(zeros, [2])).pop()
        e, g, h = functools.partial(zeros, 2)(), maker.filled(2, 1.0), table["full"](2, x[1])
        for one in (a, b, c, d, e, g):
            one[0] = x[0]
        (i,) = map(array, [[x[0], 1.0]])
        return a, b, c, d, e, g, h, i, space(x[0], 2.0, 3)

    check(f, X)


def test_compiled_code_of_a_library_gets_numpys_own_arrays_by_whatever_name_it_is_called() -> None:
    """It has no frame, so the nearest is the user's; it may take the array for memory."""
    names = {"draw": np.random.default_rng(0).normal, "old": np.random.RandomState(0).normal}

    def f(x: Any) -> Any:
        rng = np.random.RandomState(1)
        drawn = [names["old"](size=2), getattr(rng, "nor" + "mal")(size=2), *map(rng.normal, [0.0], [1.0], [(2,)])]
        assert all(type(one) is np.ndarray for one in drawn)
        return x

    record(f, X)


@pytest.mark.parametrize("index", [0, ...])
@pytest.mark.needs_extension("NumPy's classes of numbers are called as they are, and refuse traced values")
def test_what_the_class_of_arrays_makes_holds_traced_values(index: Any) -> None:
    def f(x: Any) -> Any:
        a = np.ndarray(3)
        assert isinstance(a, np.ndarray)
        a[...] = 2 * x
        a[index] = x[index] ** 2
        return np.sum(a)

    x = np.array([1.0, 2.0, 3.0])
    expected = np.full(3, 2.0)
    expected[index] = 2 * x[index]
    np.testing.assert_allclose(wg.grad(f)(x), expected)
    np.testing.assert_allclose(wg.jit(wg.grad(f))(x), expected)


@pytest.mark.needs_extension("NumPy's classes of numbers are called as they are, and refuse traced values")
def test_the_class_of_arrays_takes_what_numpys_takes() -> None:
    memory = bytearray(np.arange(6.0).tobytes())

    class Own(np.ndarray):
        pass

    def f(x: Any) -> Any:
        a = np.ndarray(shape=(2, 3), dtype=np.float32, order="F")
        assert a.dtype == np.float32 and a.flags.f_contiguous
        a[:] = x
        assert type(np.ndarray(6, float, memory)) is np.ndarray
        assert type(Own(3)) is Own
        assert np.ndarray(()).shape == () and np.ndarray([2, 1], order=None).shape == (2, 1)
        return np.sum(a) * np.ndarray((3,), float, memory, 8, (16,))[1]

    np.testing.assert_allclose(wg.grad(f)(X[:3]), np.full(3, 6.0))
    a = np.ndarray(3)
    assert type(a) is np.ndarray


@pytest.mark.parametrize(
    "function",
    [math.sin, math.pow, math.hypot, np.zeros, np.add.reduce, getattr, float, X.item, [].append],
    ids=lambda f: f.__name__,
)
def test_a_function_is_found_in_a_dict_while_a_trace_is_open(function: Any) -> None:
    before, known, reference = hash(function), {function: "before"}, weakref.ref(function)
    known_by_reference = {reference: "before"}
    found = {}

    def f(x: Any) -> Any:
        found[function] = "inside"
        assert hash(function) == before and known[function] == "before"
        assert known_by_reference[weakref.ref(function)] == "before"
        return x * x

    assert wg.grad(f)(3.0) == 6.0
    assert found[function] == "inside" and hash(function) == before


def test_rules_by_function_are_found_in_a_trace() -> None:
    rules: dict[Any, Any] = {math.sin: lambda x: 3.0 * x, np.add.reduce: lambda x: 5.0 * x}

    def f(x: Any) -> Any:
        return rules.get(math.sin, lambda x: 0.0 * x)(x) + rules.get(np.add.reduce, lambda x: 0.0 * x)(x)

    assert wg.grad(f)(1.0) == 8.0 and wg.jit(wg.grad(f), strict=True)(1.0) == 8.0


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


def addresses() -> list[Any]:
    """Of the C code of functions, the codes of functions of Python, and what lies under names."""
    return [address(np.zeros), address(np.array), np.ones.__code__, np.full.__code__, dict(vars(np))]


@pytest.mark.needs_extension("addresses of C code are compared")
def test_nothing_is_left_behind() -> None:
    own = addresses()

    def nested(x: Any) -> Any:
        assert own[0] != address(np.zeros) and own[2] is not np.ones.__code__
        assert dict(vars(np)) == own[-1]  # no name of NumPy's stands for another object
        record(lambda y: np.array([y]), S)
        assert own[0] != address(np.zeros) and own[2] is not np.ones.__code__
        return np.zeros(3) + x

    record(nested, X)
    assert addresses() == own

    def fails(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        record(fails, X)
    assert addresses() == own


def test_threads_that_trace_at_once_share_what_is_intercepted() -> None:
    own = addresses()

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
    assert not failures and addresses() == own


def test_what_somebody_else_has_put_there_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def mine(*args: Any) -> Any:
        return "mine"

    monkeypatch.setattr(np, "zeros", mine)
    record(lambda x: x * (np.zeros(3) == "mine"), X)
    assert np.zeros is mine


@pytest.mark.needs_extension("a stand-in is pickled, and inspected, as another object than its function")
def test_functions_of_numpy_are_pickled_by_any_thread_while_a_trace_is_open() -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        work = lambda: found.append(pickle.loads(pickle.dumps([zeros, np.ones, np.linspace, np.r_])))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        work()
        return x

    record(f, X)
    assert [all(a is b for a, b in zip(one, (zeros, np.ones, np.linspace), strict=False)) for one in found] == [
        True
    ] * 2


@pytest.mark.needs_extension("what is changed, and how, is another")
def test_the_inventory_says_of_each_how_it_is_changed_and_by_what() -> None:
    table = wg.interceptions()
    text = str(table).splitlines()
    assert len(text) == len(table) == len(TABLE) and sorted(table) == list(table)
    assert "math.sin: C function, answered by wengert/tracing/functions/python_math.py:" in str(table["math.sin"])
    assert table["numpy.zeros"].how == "C function" and table["numpy.linspace"].how == "array function"
    assert table["numpy.ones"].how == "code of a Python function" == table["scipy.special.softmax"].how
    assert table["numpy.errstate"].how == "code of a Python class" and table["float"].how == "C class"
    assert table["numpy.ndarray.shape"].how == "setter of an attribute"
    assert not [line for line in text if "answered by wengert" not in line]


def test_the_inventory_lists_what_is_changed_in_a_way_of_its_own() -> None:
    """The profiler of a thread was not in it, nor were the calls of ufuncs and ``type`` in the user's code."""
    table = wg.interceptions()
    assert "profiler of the thread" in str(table["sys.setprofile"]) and "environment.py" in str(table["sys.setprofile"])
    assert table["numpy.ufunc"].how == "calls of its objects" == table["numpy._ArrayFunctionDispatcher"].how
    assert "type_of.py" in str(table["type"])


def test_what_would_be_wrong_without_it_is_not_switched_off() -> None:
    one = wg.interceptions()["type"]
    with pytest.raises(ConfigError, match="type cannot be switched off"):
        one.is_on = False
    assert one.is_on
    one.is_on = True


OF_LISTS = pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")


@pytest.mark.parametrize(
    ("name", "f"),
    [
        pytest.param("numpy.ufunc", lambda x: np.square([x[0], x[1]])[0], marks=OF_LISTS),
        pytest.param("numpy.ufunc", lambda x: np.add.reduce([x[0], x[1]]), marks=OF_LISTS),
        ("numpy._ArrayFunctionDispatcher", lambda x: np.dot([x[0], x[1]], [1.0, 2.0])),
        ("math.sin", lambda x: math.sin(x[0])),
        ("float", lambda x: float(x[0])),
        ("scipy.fft._basic_backend.rfft", lambda x: np.real(scipy.fft.rfft(x)[0])),
        ("numpy.zeros", lambda x: put_first(np.zeros(3), x)),
        ("numpy.linspace", lambda x: put_first(np.linspace(0.0, 1.0, 3), x)),
        ("numpy.ones", lambda x: put_first(np.ones(3), x)),
    ],
)
def test_one_that_is_switched_off_refuses_traced_values_and_is_switched_on_again(name: str, f: Any) -> None:
    one = wg.interceptions()[name]
    gradient = wg.grad(f)(X)
    one.is_on = False
    try:
        assert "switched off" in repr(one)
        with pytest.raises((WengertError, TypeError)):
            wg.grad(f)(X)
    finally:
        one.is_on = True
    np.testing.assert_array_equal(wg.grad(f)(X), gradient)


def put_first(a: Any, x: Any) -> Any:
    a[0] = x[0]
    return a[0] * x[1]


def test_nothing_is_intercepted_twice_under_one_name() -> None:
    with pytest.raises(ValueError, match=r"already, by numpy\.zeros: C function"):
        intercepts(np.zeros)(lambda n: n)
    with pytest.raises(ValueError, match="already"):
        intercepts("scipy.special:softmax")(lambda x: x)


@pytest.mark.needs_extension("a function that was kept elsewhere than in a module is called as it is")
def test_an_object_that_is_called_is_intercepted_by_itself() -> None:
    """As the functions that f2py makes: of its class no other is."""
    blas = scipy.linalg.blas
    one = Interception("blas.ddot", blas.ddot, INTO_LISTS, lambda x, y: "ours")
    assert enroll(one) and one.how == "object that is called"
    try:
        found: list[Any] = []

        def f(x: Any) -> Any:
            found.append(blas.ddot([1.0, 2.0], [3.0, 4.0]))
            found.append(blas.ddot(x, x))
            with pytest.raises(Exception, match=r"traced|convert"):
                blas.dnrm2(x)
            return x

        record(f, X)
        assert found == [11.0, "ours"]
    finally:
        withdraw(one)
    with pytest.raises(Exception, match=r"traced|convert"):
        record(lambda x: blas.ddot(x, x), X)


ENTERING = """
import timeit
import numpy as np
from wengert.tracing.interception import _opened
from wengert.tracing.record import record_call
from wengert.tracing.trace import Trace

opened = Trace("f")

def enter():
    with _opened.opened(opened, []):  # what is exchanged; the rest is the trace's
        pass

entering = min(timeit.repeat(enter, number=200, repeat=5))
tracing = min(timeit.repeat(lambda: record_call(lambda: 0.0, [], name="f"), number=200, repeat=5))
print(entering / tracing)
"""


@pytest.mark.needs_extension("stand-ins are put into their places one by one")
def test_entering_is_cheap() -> None:
    """A ratio, not a time: one entry costs less than what any trace costs besides. In a process of its own, since each
    module of SciPy's that is imported adds the functions of it that are exchanged."""
    run = subprocess.run([sys.executable, "-c", ENTERING], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 1 / 3


def test_what_cannot_be_withdrawn_stays_as_it_is() -> None:
    """It was said to be switched off, and stood in its place."""
    one = wg.interceptions()["functools._lru_cache_wrapper"]
    with pytest.raises(KeyError):
        withdraw(one)
    assert one.is_on and one.how == "C class"


def test_a_python_that_does_not_show_who_calls_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_interpreter()
    monkeypatch.setattr(_c_functions, "is_from_python", lambda: False)
    with pytest.raises(wg.errors.InterpreterError, match=r"who calls a function of C(.|\n)*another build"):
        check_interpreter()
