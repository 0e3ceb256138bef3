"""The context: every solver gets its derivatives, values are the function's own, and nothing stays behind."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from numpy.testing import assert_allclose
from scipy.optimize import minimize  # long before the context

import wengert as wg
from tests.solvers.counting import Counted
from wengert.solvers import calls

X0 = np.array([1.3, 0.7, 0.8, 1.9])


def rosen(x: Any, a: float = 1.0) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


def test_the_slot_of_an_old_import_is_filled() -> None:
    plain = minimize(rosen, X0)
    with wg.exact(quiet=True, eager=True) as tally:
        found = minimize(rosen, X0)
    assert_allclose(found.x, 1, rtol=1e-6)
    assert found.nfev == found.njev == tally.derivatives
    assert plain.nfev > 4 * found.nfev
    assert tally.evaluations_saved == 4 * found.njev
    assert (tally.calls, tally.filled, tally.kept) == (1, 1, {})


def test_python_calls_the_function_for_each_value() -> None:
    f = Counted(rosen)
    with wg.exact(quiet=True, eager=True):
        found = minimize(f.inner, X0, args=(1.0,))
        with pytest.warns(wg.FiniteDifferencesWarning, match="writes"):
            counted = minimize(f, X0)
    assert found.nfev < counted.nfev == f.count


def test_everything_is_put_back() -> None:
    functions = {
        f"{module}.{path}": getattr(importlib_of(module), path)
        for module in ("scipy.optimize", "scipy.integrate")
        for path, _ in calls.of_module(module)
    }
    before = {name: f.__code__ for name, f in functions.items()}
    signatures = {name: inspect.signature(f) for name, f in functions.items()}
    wg.grad(rosen)(X0)  # so that all of them are intercepted while a trace is open

    def fail() -> None:
        assert all(f.__code__ is not before[name] for name, f in functions.items())
        assert all(inspect.signature(f) == signatures[name] for name, f in functions.items())
        with wg.exact(quiet=True):
            minimize(rosen, X0)
        assert all(f.__code__ is not before[name] for name, f in functions.items())
        raise KeyError

    with pytest.raises(KeyError), wg.exact(quiet=True):
        fail()
    assert all(f.__code__ is before[name] for name, f in functions.items())
    wg.grad(lambda p: minimize(lambda x: np.sum((x - p) ** 2), np.zeros(2)).x[0])(1.0)
    assert all(f.__code__ is before[name] for name, f in functions.items())


def importlib_of(module: str) -> Any:
    return {"scipy.optimize": scipy.optimize, "scipy.integrate": scipy.integrate}[module]


def test_another_thread_sees_no_change() -> None:
    found: list[int] = []
    with wg.exact(quiet=True, eager=True) as tally:
        thread = threading.Thread(target=lambda: found.append(minimize(rosen, X0).nfev))
        thread.start()
        thread.join()
        assert tally.calls == 0
    assert found == [minimize(rosen, X0).nfev]


def test_a_trace_within_the_context_is_as_ever() -> None:
    """A solver in a traced function is differentiated by the interceptions, in the context or not."""

    def nearest(p: Any) -> Any:
        return minimize(lambda x: np.sum((x - p) ** 4 + (x - p) ** 2), np.zeros(3)).x

    p = np.array([1.0, 2.0, 3.0])
    expected = wg.jacobian(nearest)(p)
    with wg.exact(quiet=True, eager=True):
        assert_allclose(wg.jacobian(nearest)(p), expected)
        assert minimize(rosen, X0).nfev < 40
    assert_allclose(wg.jacobian(nearest)(p), expected)


def test_the_context_within_a_trace_changes_nothing() -> None:
    def f(p: Any) -> Any:
        with wg.exact(quiet=True, eager=True):
            return minimize(lambda x: np.sum((x - p) ** 2), np.zeros(2)).x[1]

    assert_allclose(wg.grad(f)(np.array([1.0, 2.0])), [0, 1], atol=1e-8)


def test_it_is_a_decorator_and_nests() -> None:
    context = wg.exact(quiet=True, eager=True)

    @context
    def run(depth: int) -> int:
        if depth:
            return run(depth - 1)
        return int(minimize(rosen, X0).nfev)

    assert run(2) < 40
    with wg.exact(quiet=True, eager=True) as outer, wg.exact(quiet=True, eager=True) as inner:
        minimize(rosen, X0)
    assert outer.calls == inner.calls == 1
    assert outer.derivatives == inner.derivatives > 0


def test_the_summary_is_printed_to_stderr(capsys: Any) -> None:
    with wg.exact(eager=True):
        minimize(rosen, X0)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("wengert: 1 call of solvers, 1 slot filled: ")
    with wg.exact():
        pass
    assert capsys.readouterr().err == ""
