"""What is changed while a trace is open gives, of what is not traced, what it gives without one.

Every function that is intercepted is called with the same arguments without a trace, and while one
is open: in the thread that traces, by the user's code and by a library's, and in another thread. The tables say which
functions those are: a new one is called with the arguments that are here, and if it takes none of them, its test fails
until it has got some (``OWN``).
"""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import secrets
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.fft
import scipy.linalg

import wengert as wg
from tests.of_scipy.calls import (
    OF_SCIPY,
    Call,
)  # whose files import SciPy's modules: these are intercepted once imported
from tests.tracing.interception.addresses import address
from tests.tracing.interception.outcomes import in_another_thread, plain
from wengert.of_scipy.refusing import REASONS
from wengert.of_scipy.version import SCIPY
from wengert.tracing.interception.asking import AT_CALLER, AT_CONVERSION, AT_FUNCTIONS
from wengert.tracing.interception.intercept import TABLE

np.random.default_rng()
wg.jvp(lambda x: x, (1.0,), (1.0,))  # a trace enrolls what waits for a module

LIBRARY = types.ModuleType("scipy.made_up")
exec("def call(f, args, kwargs): return f(*args, **kwargs) if callable(f) else f[args]", vars(LIBRARY))


def squared(x: Any) -> Any:
    return x * x


IS_OLDER = SCIPY < (1, 17)

VALUES: list[tuple[Any, ...]] = [
    (),
    ("a",),
    (0.5,),
    (3,),
    (3.5, 2.0),
    (7, 2),
    (2.0, 3.0, 4.0),
    (1, 2, 3, 4),
    ([1.0, 2.0], [0.5, 3.0]),
    ([2, 3, 4],),
    ((2, 3),),
    (np.array([0.5, -1.5, 2.25, 4.0]),),
    (np.arange(8.0).reshape(2, 4),),
    (np.arange(8.0).reshape(2, 4), np.ones((2, 4))),
    (np.array([0.5, 1.5]) + 1j,),
    (0.5, "real"),
    (0.5, "shape", 7),
    (None,),
]
"""Arguments for everything: some are right for one function, the rest are errors, which are to be the same."""

OWN: dict[str, list[Call]] = {
    "numpy.vectorize.__call__": [((np.vectorize(squared), [1.0, 2.0]), {}), ((np.vectorize(squared),), {})],
    "numpy.full": [((3, 2.5), {}), (((2, 2), 1), {"dtype": "f"}), ((3,), {})],
    "numpy.full_like": [((np.ones(3), 2), {"dtype": int})],
    "numpy.fromfunction": [((np.add, (2, 3)), {"dtype": int})],
    "numpy.fromiter": [(([1, 2, 3], "d"), {}), (([1, 2, 3], "d"), {"count": 2})],
    "numpy.errstate": [((), {"divide": "raise", "over": "ignore"})],
    "warnings.simplefilter": [(("ignore", DeprecationWarning), {})],
    "warnings.filterwarnings": [(("error", "a text of nobody's"), {}), (("ignore",), {"category": ResourceWarning})],
    "warnings.catch_warnings": [((), {}), ((), {"record": True, "action": "ignore"})],
    "numpy.r_.__getitem__": [((slice(0, 3),), {}), ((0.5, [1.0]), {})],
    "numpy.c_.__getitem__": [(([1, 2], [3, 4]), {})],
    "numpy.mgrid.__getitem__": [((slice(0, 2), slice(0, 3)), {})],
    "numpy.ogrid.__getitem__": [((slice(0, 2), slice(0, 3)), {})],
    "numpy.random.RandomState.shuffle": [(([3, 1, 2],), {})],
    "scipy.linalg._fblas.fortran": [((np.ones(3), np.arange(3.0)), {})],
    "scipy.linalg._flapack.fortran": [((np.eye(2),), {})],
    "math.isclose": [((1.0, 1.0 + 1e-12), {"rel_tol": 1e-9})],
    "math.ldexp": [((0.5, 3), {})],
    "math.nextafter": [((1.0, 2.0), {"steps": 2})],
    "_abc._abc_instancecheck": [((Iterable, [1]), {}), ((Iterable, 1), {})],
    "numpy.random.Generator.choice": [((5,), {"size": 3, "replace": False}), ((5,), {"p": np.ones(4)})],
    "numpy.random.Generator.normal": [((0.5,), {"size": (2, 3)})],
    "numpy.random.Generator.integers": [((0, 10), {"size": 4, "endpoint": True})],
    "numpy.random.Generator.binomial": [((10, 0.25), {"size": 3})],
    "numpy.random.Generator.negative_binomial": [((10, 0.25), {"size": 3})],
    "numpy.random.Generator.hypergeometric": [((5, 6, 7), {"size": 2})],
    "numpy.random.Generator.multinomial": [((10, [0.25, 0.75]), {})],
    "numpy.random.Generator.multivariate_hypergeometric": [(([3, 4, 5], 2), {})],
    "numpy.random.Generator.multivariate_normal": [((np.zeros(2), np.eye(2)), {"size": 2})],
    "numpy.random.Generator.dirichlet": [(([1.0, 2.0],), {})],
    "numpy.ufunc.at": [((np.zeros(3), [0, 0], 1.0), {})],
    "numpy.ndarray.__setstate__": [(((1, (2,), np.dtype(float), False, bytes(16)),), {})],
    "numpy.random.Generator.__setstate__": [((np.random.default_rng(1).bit_generator.state,), {})],
    **OF_SCIPY,
}
"""Arguments for one function; for objects of NumPy's they are indices."""


def _entry(name: str) -> Callable[[], Any]:
    """What finds a function where a program does."""
    if name.startswith("numpy.random.Generator."):  # in one that is new for each call: the state is where it begins
        return lambda: getattr(np.random.default_rng(7), name.rpartition(".")[2])
    if name.startswith("numpy.random.RandomState."):
        return lambda: getattr(np.random.RandomState(7), name.rpartition(".")[2])
    if name in FORTRAN:  # the class: of its functions, one
        return lambda: FORTRAN[name]
    if name.startswith("numpy.ndarray."):  # in an array that is new for each call
        return lambda: getattr(_TWO.copy(), name.rpartition(".")[2])
    if name == "random.SystemRandom.getrandbits":
        return lambda: lambda *args: type(secrets.randbits(*args))
    if name.startswith("numpy.") and name.endswith(".__getitem__"):
        return lambda: getattr(np, name.split(".")[1])
    target = TABLE[name].target
    return lambda: target


_TWO = np.zeros(2)

FORTRAN = {
    "scipy.linalg._fblas.fortran": scipy.linalg.blas.ddot,
    "scipy.linalg._flapack.fortran": scipy.linalg.lapack.dgetrf,
}
NO_FUNCTIONS = {"numpy._ArrayFunctionDispatcher", "numpy.ufunc", "sys.setprofile", "type"}  # changed in their own ways
LISTED = [name for name in TABLE if name in FORTRAN or not name.endswith(".fortran")]  # others are as these
LISTED = [name for name in LISTED if name not in NO_FUNCTIONS and name not in REASONS]  # one replacement refuses those
LISTED = [name for name in LISTED if TABLE[name].how or TABLE[name].target is not None]  # what this SciPy has
LISTED = [name for name in LISTED if TABLE[name].how or not name.startswith("scipy.")]  # another SciPy has the others
ENTRIES = {name: _entry(name) for name in LISTED if TABLE[name].how not in ("", "setter of an attribute")}
ENTRIES.pop("functools._lru_cache_wrapper")  # the class: of what it has made, the calls (test_caching.py)
PATCHED = {name for name in ENTRIES if TABLE[name].looks in (AT_CALLER, AT_CONVERSION)}
OBJECTS = {name for name in ENTRIES if not callable(ENTRIES[name]())}
ANSWERED = {name for name in ENTRIES if TABLE[name].looks == AT_FUNCTIONS}


def calls(name: str) -> list[Call]:
    """Functions of OF_SCIPY get their own arguments alone: some of SciPy's write anywhere if given odd ones."""
    return [*((args, {}) for args in VALUES if name not in OF_SCIPY), *OWN.get(name, ())]


def outcome(find: Callable[[], Any], call: Call, by: Callable[..., Any] = LIBRARY.call) -> Any:
    """What a call gives, or the error that it raises."""
    args, kwargs = copy.deepcopy(call)
    before = np.seterr()
    try:
        f = find()
        result = by(f, args, kwargs)
        if "empty" in getattr(f, "__name__", ""):
            result.fill(0)
        return "gives", plain(result)
    except Exception as error:  # any: it is compared
        return "raises", type(error), str(error)
    finally:
        np.seterr(**before)


def by_user(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return f(*args, **kwargs) if callable(f) else f[args]


ZEROS = address(np.zeros)


def while_tracing(f: Callable[[], Any]) -> Any:
    results: list[Any] = []

    def traced(x: Any) -> Any:
        assert address(np.zeros) != ZEROS
        results.append(f())
        return x

    wg.jvp(traced, (1.0,), (1.0,))
    return results[0]


@pytest.mark.sampled(7, "many that are alike")
@pytest.mark.filterwarnings("ignore")  # of odd arguments
@pytest.mark.parametrize("name", ENTRIES)
def test_untraced_calls_are_as_without_a_trace(name: str) -> None:
    find = ENTRIES[name]
    expected = [outcome(find, call, by_user) for call in calls(name)]
    is_of_older = name in OF_SCIPY and IS_OLDER  # which may not take what is written for SciPy 1.17
    assert is_of_older or any(kind == "gives" for kind, *_ in expected), f"no arguments for {name}: give some in OWN"
    everywhere = lambda by: [outcome(find, call, by) for call in calls(name)]
    assert while_tracing(lambda: in_another_thread(lambda: everywhere(by_user))) == expected, "in another thread"
    assert while_tracing(lambda: everywhere(LIBRARY.call)) == expected, "by a library"
    if name not in PATCHED | ANSWERED:  # those make traced arrays for the user's code, and call the user's function
        assert while_tracing(lambda: everywhere(by_user)) == expected, "by the user"
    assert everywhere(by_user) == expected, "after the trace"


@pytest.mark.parametrize("name", [name for name in ENTRIES if name not in OBJECTS])
@pytest.mark.needs_extension("a stand-in is pickled, and inspected, as another object than its function")
def test_what_is_asked_of_a_function_is_as_without_a_trace(name: str) -> None:
    """Its parameters and their defaults, its names, and how it is pickled."""
    asks: list[Any] = [
        lambda f: str(inspect.signature(f)),
        pickle.dumps,  # as text: a default may be NaN
        lambda f: f.__name__,
        lambda f: f.__qualname__,
        inspect.getdoc,
    ]
    asks += [lambda f: f.__kwdefaults__, lambda f: f.__defaults__]

    def answers() -> list[Any]:
        f, found = ENTRIES[name](), list[Any]()
        for ask in asks:
            try:
                found.append(ask(f))
            except Exception as error:  # any: it is compared
                found.append((type(error), re.sub(r" at 0x\w+", "", str(error))))
        return found

    expected = answers()
    assert while_tracing(answers) == expected == while_tracing(lambda: in_another_thread(answers))


@pytest.mark.parametrize("name", [n for n in ENTRIES if getattr(ENTRIES[n](), "__kwdefaults__", None)])
def test_defaults_of_keywords_are_those_of_the_function(name: str) -> None:
    """A call without them is the call with them."""
    find, known = ENTRIES[name], calls(name)
    with_defaults = [(args, {**find().__kwdefaults__, **kwargs}) for args, kwargs in known]
    expected = [outcome(find, call, by_user) for call in with_defaults]
    got = while_tracing(lambda: [outcome(find, call) for call in known])
    assert all(a == b for a, b in zip(got, expected, strict=True) if b[0] == "gives")  # errors count the arguments


@pytest.mark.needs_extension("methods and classes of C code are not intercepted")
def test_the_table_has_what_this_covers() -> None:
    assert len(ENTRIES) > 140
    assert OWN.keys() - (OF_SCIPY.keys() if IS_OLDER else set()) <= TABLE.keys() | {"math.nextafter"}
    assert len(ENTRIES) == len(LISTED) - 4, [name for name in LISTED if name not in ENTRIES]
