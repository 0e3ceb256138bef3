"""A derivative that is supplied: of which callables, why not, and what stands in for it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from numpy.testing import assert_allclose
from scipy.optimize import minimize  # long before the context

import wengert as wg
from wengert import extension
from wengert.solvers.supplied import note_spent, spent_on

X0 = np.array([1.3, 0.7, 0.8, 1.9])


def rosen(x: Any, a: float = 1.0) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


class Model:
    """Callables of several kinds."""

    def __init__(self) -> None:
        self.at = np.arange(4.0)

    def distance(self, x: Any, scale: float = 1.0) -> Any:
        return scale * np.sum((x - self.at) ** 2)

    def __call__(self, x: Any) -> Any:
        return self.distance(x)


def far(scale: float, x: Any, *, to: Any) -> Any:
    return scale * np.sum((x - to) ** 2)


CALLABLES = {
    "method": Model().distance,
    "object": Model(),
    "partial": functools.partial(far, 2.0, to=np.arange(4.0)),
    "array of one": lambda x: np.sum((x - np.arange(4.0)) ** 2, keepdims=True),
    "list of one": lambda x: [np.sum((x - np.arange(4.0)) ** 2)],
    "branches": lambda x: np.sum((x - np.arange(4.0)) ** 2) * (1.0 if x[0] > 0.5 else 2.0),
    "of scipy": lambda x: -scipy.stats.norm.logpdf(x, np.arange(4.0)).sum(),
}


@pytest.mark.parametrize("name", CALLABLES)
def test_callables(name: str) -> None:
    f = CALLABLES[name]
    with wg.exact(quiet=True, eager=True) as tally:
        found = minimize(f, [3, 3, 3, 3])
    assert_allclose(found.x, np.arange(4.0), atol=1e-5)
    assert (tally.filled, tally.kept) == (1, {})


def test_what_the_function_reads_is_never_stale() -> None:
    model = Model()
    with wg.exact(quiet=True, eager=True):
        assert_allclose(minimize(model.distance, np.ones(4)).x, np.arange(4.0), atol=1e-6)
        model.at = np.arange(4.0)[::-1].copy()
        assert_allclose(minimize(model.distance, np.ones(4)).x, model.at, atol=1e-6)
        model.at[1] = 7.0
        assert_allclose(minimize(model.distance, np.ones(4)).x, [3, 7, 1, 0], atol=1e-6)


seen: list[Any] = []


_memory: dict[str, float] = {"": 1.0}


def noting(x: Any) -> Any:
    seen.append(x.copy())
    return np.sum((x - 1) ** 2)


def named(x: Any) -> Any:
    scale = _memory.get(f"{x[0]:.3f}", 1.0)
    return scale * np.sum((x - 1) ** 2)


_generator = np.random.default_rng(0)


def drawing(x: Any) -> Any:
    return np.sum((x - 1) ** 2) + 1e-12 * _generator.random()


def keyed(x: Any) -> Any:
    return {x.tobytes(): np.sum((x - 1) ** 2)}[x.tobytes()]


DRAWS = "changes the state" if extension.python_forms() else "draws random numbers"
REFUSED = {
    noting: "writes",
    named: "text of values",
    drawing: DRAWS,
    keyed: "tobytes",
}


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_be_recorded_goes_on_as_it_was_written(f: Callable[..., Any]) -> None:
    def run() -> tuple[Any, int, str]:
        seen.clear()
        globals()["_generator"] = np.random.default_rng(0)
        found = minimize(f, [3.0, 4.0])
        return found, len(seen), repr(_generator.bit_generator.state)

    plain, count, state = run()
    place = rf"{f.__name__} \(.*test_supplied.py:{f.__code__.co_firstlineno}\): .*{REFUSED[f]}"
    with wg.exact(quiet=True, eager=True) as tally:
        with pytest.warns(wg.FiniteDifferencesWarning, match=place) as told:
            found, counted, drawn = run()
        assert [str(w.filename) for w in told] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run()  # it is said once
    assert (found.x == plain.x).all()
    assert (found.nfev, counted, drawn) == (plain.nfev, count, state)
    assert [where.split()[0] for where in tally.kept] == [f.__name__]
    assert f"finite differences stay for {f.__name__} (" in tally.summary()


def test_what_is_printed_is_printed_at_each_evaluation(capsys: Any) -> None:
    def printing(x: Any) -> Any:
        print(f"at {x}")
        return np.sum((x - 1) ** 2)

    with wg.exact(quiet=True, eager=True) as tally:
        found = minimize(printing, [3.0, 4.0])
    assert tally.filled == 1
    assert len(capsys.readouterr().out.splitlines()) == found.nfev + 2  # it is recorded, and the value compared


def test_an_error_of_the_function_is_the_users() -> None:
    class OwnError(Exception):
        pass

    def fails(x: Any) -> Any:
        raise OwnError

    with wg.exact(quiet=True, eager=True), pytest.warns(wg.FiniteDifferencesWarning), pytest.raises(OwnError):
        minimize(fails, X0)
    with wg.exact(quiet=True), pytest.raises(TypeError, match="fun"):
        minimize(x0=X0)


def test_differences_stand_in_where_the_derivative_is_not_finite() -> None:
    f = lambda x: np.sum(np.sqrt(np.abs(x - 1.0))) + np.sum((x - 1.0) ** 2)
    with wg.exact(quiet=True, eager=True) as tally:
        found = minimize(lambda x: np.sqrt(np.sum(x**2)) + f(x + 1.0), np.zeros(2))
    assert np.isfinite(found.fun)
    assert tally.differences > 0
    assert "stood in" in tally.summary()


def test_nan_on_the_way_is_no_error() -> None:
    f = lambda x: x[0] - np.log(x[0])
    with np.errstate(invalid="ignore", divide="ignore"):
        plain = minimize(f, [50.0], method="BFGS")  # the first step goes where there is no logarithm
        with wg.exact(quiet=True, eager=True) as tally:
            assert_allclose(minimize(f, [50.0], method="BFGS").x, plain.x, rtol=1e-4)
            assert_allclose(minimize(f, [2.0], method="BFGS").x, 1, rtol=1e-4)
    assert tally.differences > 0  # where the value is NaN, so is the derivative, as SciPy has it


def test_recording_waits_until_it_is_worth_while(monkeypatch: pytest.MonkeyPatch) -> None:
    def long(x: Any) -> Any:
        total = x[0] ** 2
        for k in range(900):
            total = total + np.sin(x[k % 2]) ** (2 + k % 3)
        return total

    with wg.exact(quiet=True) as tally:
        monkeypatch.setattr("time.process_time", lambda: 0.0)
        minimize(rosen, X0)
        assert (tally.filled, tally.put_off) == (0, 1)
        monkeypatch.setattr("time.process_time", lambda: 1.0)
        minimize(rosen, X0)
        assert (tally.filled, tally.put_off) == (1, 1)
        minimize(long, [1.0, 1.0], options={"maxiter": 2})
        assert (tally.filled, tally.put_off, tally.kept) == (1, 2, {})
        monkeypatch.setattr("time.process_time", lambda: 1e4)
        minimize(long, [1.0, 1.0], options={"maxiter": 2})
        assert (tally.filled, tally.put_off, tally.kept) == (1, 3, {})  # so long it does not take by itself
        assert spent_on(long) > 0
        note_spent(long, 1e3)
        minimize(long, [1.0, 1.0], options={"maxiter": 2})
        assert (tally.filled, tally.put_off, tally.kept) == (2, 3, {})
    assert "left empty so far" in tally.summary()
