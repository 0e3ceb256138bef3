"""Every public function of every public module of SciPy can be intercepted, called untraced meanwhile, and put back.

It is so whatever the function is: a closure, a decorated one, one with keyword-only defaults, a method, a class, an
object that is called, a function of C. Functions that have no protocol and no interception yet are the ones to come.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import marshal
import pkgutil
import signal
import types
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest
import scipy

import wengert as wg
from tests.tracing.interception.outcomes import in_another_thread, plain
from wengert.tracing.interception.asking import INTO_LISTS
from wengert.tracing.interception.intercept import TABLE, Interception, enroll, withdraw

A, V = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.5, 1.5, 2.5])


def square(t: Any) -> Any:
    return np.sum(np.square(t)) - 0.3


CALLS: list[tuple[Any, ...]] = [
    (),
    (V,),
    (A,),
    (0.5,),
    (3,),
    (V, V),
    (A, A),
    (0.3, 0.6),
    (A, V[:2]),
    (V, 2),
    (square, 0.0, 1.0),
    (square, V),
    (V, V, V),
    (0.3, 0.6, 0.9),
    (3, V),
]
"""Arguments for everything: some are right for one function, the rest are errors, which are to be the same."""

NOT_CALLED = (
    *("scipy.datasets", "scipy.io", "scipy.test", "scipy.fftpack.convolve", "scipy.interpolate.dfitpack"),
    *("scipy.ndimage.distance_transform", "scipy.interpolate.spalde", "scipy.interpolate.splev"),
    "scipy.special.seterr",
)
"""They fetch, read and write files, or memory where arguments are odd, or set what a thread has of its own."""

OF_FORTRAN = {"daxpy": (V, V), "ddot": (V, V), "dnrm2": (V,), "dgemm": (1.0, A, A), "dgetrf": (A,), "dpotrf": (A,)}
"""Good calls of functions that f2py has made: of odd arguments these write anywhere."""


@functools.cache  # it imports all of SciPy
def public_functions() -> dict[str, Any]:
    """By name, each once: what is called of all modules whose names are public, but for what warns that it goes."""
    found: dict[int, tuple[str, Any]] = {}
    for info in pkgutil.walk_packages(scipy.__path__, "scipy.", onerror=lambda name: None):
        if any(part.startswith("_") or part in ("tests", "conftest") for part in info.name.split(".")):
            continue
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            module = importlib.import_module(info.name)
            names = [name for name in vars(module) if not name.startswith("_")]
            if not info.name.endswith(("blas", "lapack")):  # which list their two finders alone
                names = getattr(module, "__all__", names)
            for name in names:
                n_said = len(said)
                f = getattr(module, name, None)
                if len(said) == n_said and callable(f) and not isinstance(f, types.ModuleType):
                    found.setdefault(id(f), (f"{info.name}.{name}", f))
    wg.jvp(lambda x: x, (1.0,), (1.0,))  # a trace enrolls what waits for these modules
    return dict(found.values())


class TooLongError(Exception):
    pass


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(f: Any, args: tuple[Any, ...]) -> Any:
    np.random.seed(0)  # noqa: NPY002  # the one that SciPy draws from
    args = tuple([x.copy() if isinstance(x, np.ndarray) else x for x in args])
    try:
        return "gives", plain(f(*args))
    except TooLongError:
        raise
    except Exception as error:  # any: it is compared
        return "raises", type(error), str(error)


def known_calls(name: str, f: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """Calls of ``f`` that are quick and give the same twice, with what they give: two good ones, and an error."""
    found: list[tuple[tuple[Any, ...], Any]] = []
    safe = CALLS
    if name.startswith(NOT_CALLED) or type(f).__name__ == "fortran":
        safe = [(), *[args for key, args in OF_FORTRAN.items() if name.endswith(f".{key}")]]
    for args in safe:
        try:
            with at_most(0.3):
                first, again = outcome(f, args), outcome(f, args)
        except TooLongError:
            continue
        if first == again and sum(kind == first[0] for _, (kind, *_) in found) < (2 if first[0] == "gives" else 1):
            found.append((args, first))
    return found


def arguments(f: Any, x: Any) -> tuple[list[Any], dict[str, Any]]:
    """Those that a call of a function written in Python has to have, each ``x``, or one that it may have; none if it
    takes none."""
    parameters = inspect.signature(f, follow_wrapped=False).parameters.values()
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    others = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    named = {p.name: x for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    n = sum(p.default is p.empty for p in by_position)
    if by_position or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [x] * max(n, 1), named
    return [], named or dict.fromkeys(others[:1], x)


def call_with_traced(f: Any, is_of_python: bool) -> None:
    def traced(x: Any) -> Any:
        args, kwargs = arguments(f, x) if is_of_python else ([x], {})
        with suppress(TypeError):  # of those that nobody can call
            if args or kwargs:
                f(*args, **kwargs)
        return x

    wg.jvp(traced, (1.0,), (1.0,))


def is_called_by_nobody(f: Any, is_of_python: bool) -> bool:
    """Whether a class is abstract, or is not made of a number, or a function takes no arguments."""
    if is_of_python and arguments(f, 1.0) == ([], {}):
        return True
    try:
        f(1.0)
    except TypeError as error:
        return "takes no arguments" in str(error) or "abstract" in str(error)
    except ValueError as error:
        return "do not support instantiation from a scalar" in str(error)
    return False


def check(name: str, f: Any) -> str:
    """How ``f`` was intercepted. AssertionError where anything differs."""
    known, own, face = known_calls(name, f), code_of(f), face_of(f)
    elsewhere = in_another_thread(lambda: [outcome(f, args) for args, _ in known])
    calls: list[Any] = []

    def ours(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return None if isinstance(f, type) and isinstance(args[0], f) else "ours"  # as ``__init__`` must

    one = Interception(name, f, INTO_LISTS, ours)
    if isinstance(f, np.ufunc | type(np.sum)):
        assert not enroll(one)  # it asks the traced array itself
        return "protocol"
    assert enroll(one), "cannot be intercepted"
    how = one.how
    try:
        is_of_python = how.startswith("code of")
        call_with_traced(f, is_of_python)
        assert len(calls) == 1 or is_called_by_nobody(f, is_of_python), "not answered"
        seen: list[Any] = []

        def untraced(x: Any) -> Any:
            seen.append([outcome(f, args) for args, _ in known])
            seen.append(in_another_thread(lambda: [outcome(f, args) for args, _ in known]))
            assert in_another_thread(lambda: face_of(f)) == face, "looks otherwise while a trace is open"
            return x

        wg.jvp(untraced, (1.0,), (1.0,))
        assert seen == [[before for _, before in known], elsewhere], "gives something else while a trace is open"
    finally:
        withdraw(one)
    assert code_of(f) == own and face_of(f) == face, "not put back"
    assert len(calls) <= 1, "called for what is not traced"
    return how


def functions_of(f: Any) -> list[types.FunctionType]:
    """All functions written in Python by which ``f`` may be called."""
    places = [f, getattr(f, "__func__", f), type(f).__call__, getattr(f, "__new__", f), getattr(f, "__init__", f)]
    return [place for place in places if isinstance(place, types.FunctionType)]


def code_of(f: Any) -> Any:
    return [function.__code__ for function in functions_of(f)]


def face_of(f: Any) -> Any:
    """What is seen of the functions of ``f`` without a call: attributes, defaults, parameters, and where they are."""
    found: list[Any] = []
    for function in functions_of(f):
        code, parameters = function.__code__, inspect.getargs(function.__code__)
        marshal.loads(marshal.dumps(code))
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_freevars
        place = code.co_filename, code.co_firstlineno, code.co_name, code.co_qualname
        found += [dict(vars(function)), function.__defaults__, function.__kwdefaults__, parameters, counts, place]
        found += [str(inspect.signature(function)), str(inspect.signature(function, follow_wrapped=False))]
    return found


def failures(functions: dict[str, Any]) -> tuple[dict[str, str], Counter[str]]:
    found: dict[str, str] = {}
    counts: Counter[str] = Counter()
    known = {id(one.target) for one in TABLE.values()}
    for name, f in functions.items():
        if known & {id(f), *map(id, functions_of(f))}:
            counts["intercepted already"] += 1
            continue
        try:
            counts[check(name, f)] += 1
        except (AssertionError, TypeError, KeyError) as error:
            found[name] = str(error).partition("\n")[0]
    return found, counts


@pytest.mark.filterwarnings("ignore")  # of odd arguments
@pytest.mark.needs_extension("a function that was kept elsewhere than in a module is called as it is")
def test_public_functions_are_intercepted_called_untraced_and_put_back() -> None:
    """Of each kind some; the deep test has all."""
    found, counts = failures(dict(list(public_functions().items())[::20]))
    assert not found and len(counts) >= 5


@pytest.mark.filterwarnings("ignore")  # of odd arguments
@pytest.mark.deep("every one of 2,600 functions, several times in two threads: a minute")
def test_every_public_function_is_intercepted_called_untraced_and_put_back() -> None:
    found, counts = failures(public_functions())
    print(counts)
    assert not found and counts.total() > 1500
