"""Compiled functions under threads, bounds on what they keep, and what makes them trace again."""

from __future__ import annotations

import copy
import functools
import gc
import operator
import pickle
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.errors import PerformanceWarning, TooManyPathsError, WengertError
from wengert.runtime.jit import Jit, StatsDict
from wengert.tracing.surroundings.environment import Environment

X = np.array([0.5, -1.0, 2.0])


def in_threads(n: int, work: Callable[[int], None]) -> None:
    """Run ``work(k)`` in n threads that begin at once; what one raises is raised here."""
    start, raised = threading.Barrier(n), []

    def run(k: int) -> None:
        start.wait()
        try:
            work(k)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if raised:
        raise raised[0]


def test_eight_threads_take_all_branches_of_one_function() -> None:
    def f(x: Any) -> Any:
        y = x * 2 if x[0] > 0 else x - 1
        return y if np.sum(y) > 0 else y * y

    compiled = wg.jit(f)
    xs = [np.random.default_rng(k).standard_normal(3) for k in range(32)]
    want = [f(x) for x in xs]

    def work(k: int) -> None:
        for j in np.random.default_rng(k).integers(0, 32, 100):
            np.testing.assert_array_equal(compiled(xs[j]), want[j])

    in_threads(8, work)
    taken = {(bool(x[0] > 0), bool(np.sum(x * 2 if x[0] > 0 else x - 1) > 0)) for x in xs}
    assert 1 < compiled.stats()["specialisations"] <= len(taken)
    assert compiled.stats()["calls"] <= 800


def test_threads_with_signatures_of_their_own() -> None:
    compiled = wg.jit(wg.grad(lambda x: np.sum(x**2)))

    def work(k: int) -> None:
        for n in range(1, 20):
            x = np.full(n, float(k))
            np.testing.assert_array_equal(compiled(x), 2 * x)
            if n % 7 == k:
                compiled.clear()

    in_threads(8, work)


def test_threads_trace_without_jit_at_once() -> None:
    gradient = wg.grad(lambda x, c: np.sum(x**2) * c if np.sum(x) > 0 else np.sum(x) * c)

    def work(k: int) -> None:
        for j in range(20):
            sign = (-1.0) ** j
            want = np.full(3, 2.0 * k) if sign > 0 else np.full(3, float(k))
            np.testing.assert_array_equal(gradient(np.full(3, sign), float(k)), want)

    in_threads(8, work)


def test_too_many_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "max_paths", 3)
    says = r"3 different paths(.|\n)*test_jit\.py(.|\n)*np\.where"
    for strict in (True, False):
        f = wg.jit(lambda x, n: sum([x * k for k in range(n)], x), strict=strict)
        for n in range(3):
            f(1.0, n)
        with pytest.raises(TooManyPathsError, match=says) if strict else pytest.warns(PerformanceWarning, match=says):
            assert f(1.0, 3) == 4
        assert f(1.0, 2) == 2  # what is there goes on working
        assert f.stats()["specialisations"] == f.stats()["traces"] == 3
    assert f(1.0, 5) == 11 and f.stats()["plain"] == 2  # it is said once


def test_signatures_are_bounded_and_the_least_recent_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "max_programs", 2)
    f = wg.jit(lambda x: x * 2)
    for n in (1, 2, 1, 3):  # 2 goes
        f(np.ones(n))
    assert f.stats()["specialisations"] == 2
    traces = f.stats()["traces"]
    f(np.ones(1))
    assert f.stats()["traces"] == traces
    f(np.ones(2))
    assert f.stats()["traces"] == traces + 1


def test_a_static_leaf_of_equal_value_and_another_type_is_another_signature() -> None:
    f = wg.jit(lambda x, flag: x * 2 if flag is True else x)
    assert [f(1.0, True), f(1.0, 1), f(1.0, True), f(1.0, False)] == [2, 1, 2, 1]


def test_a_leaf_that_cannot_be_hashed_is_no_signature() -> None:
    f = wg.jit(lambda x, s: x * len(s))
    with pytest.raises(TypeError, match="a set among the arguments"):
        wg.jit(f, strict=True)(X, {1, 2})
    with pytest.warns(PerformanceWarning, match="a set among the arguments"):
        np.testing.assert_array_equal(f(X, {1, 2}), 2 * X)
    np.testing.assert_array_equal(f(X, {1, 2, 3}), 3 * X)


def test_a_rebound_variable_is_an_environment_of_its_own() -> None:
    scale = 2.0
    f = wg.jit(lambda x: x * scale)
    results = [f(1.0)]
    scale = 3.0
    results += [f(1.0), f(1.0)]
    scale = 2.0
    results.append(f(1.0))
    assert results == [2, 3, 3, 2]
    assert f.stats()["traces"] == 2 and f.stats()["environment_misses"] == 1


def test_environments_are_bounded() -> None:
    scale = 0.0
    f = wg.jit(lambda x: x * scale)
    for k in range(30):
        scale = float(k)
        with pytest.warns(PerformanceWarning, match="rebound, 8 times(.|\n)*scale") if k == 8 else nullcontext():
            assert f(2.0) == 2 * k
    assert f.stats()["specialisations"] <= 8


def test_the_places_of_an_environment_have_names() -> None:
    settings = {"scale": 2.0, "weights": [np.ones(3)]}
    offset = np.arange(3.0)

    def f(x: Any) -> Any:
        return x * settings["scale"] * settings["weights"][0] + offset

    compiled = wg.jit(f)
    compiled(X)
    ((special,),) = compiled._specialisations.values()
    environment = special.environment
    assert isinstance(environment, Environment) and environment.holds() and environment.changed() == []
    settings["scale"] = 3.0
    assert not environment.holds() and environment.changed() == ["settings['scale']"]
    np.testing.assert_array_equal(compiled(X), 3 * X + offset)
    offset[:] = 1.0  # an edit is no change: the array is read where it lies
    np.testing.assert_array_equal(compiled(X), 3 * X + 1)
    assert compiled.stats()["traces"] == 2


def test_what_cannot_be_repeated_is_answered_by_the_function_itself_and_says_why() -> None:
    arrays = iter([np.full(3, float(k)) for k in range(3)])  # no walk sees into it
    f = wg.jit(lambda x: x * next(arrays))
    for k in range(3):
        with (
            pytest.warns(PerformanceWarning, match=r"as it is without wg\.jit: arrays is an iterator")
            if k == 0
            else nullcontext()
        ):
            np.testing.assert_array_equal(f(X), k * X)
    stats = f.stats()
    assert (stats["traces"], stats["plain"], stats["specialisations"]) == (1, 2, 0)
    assert stats["unrepeatable"] == "arrays is an iterator"


def test_an_error_of_the_users_leaves_nothing_behind() -> None:
    def f(x: Any) -> Any:
        if x[0] < 0:
            raise KeyError("negative")
        return x * 2

    compiled = wg.jit(f)
    np.testing.assert_array_equal(compiled(np.abs(X)), 2 * np.abs(X))
    for _ in range(2):
        with pytest.raises(KeyError, match="negative"):
            compiled(-np.abs(X))
    np.testing.assert_array_equal(compiled(np.abs(X)), 2 * np.abs(X))
    assert compiled.stats()["specialisations"] == 1
    assert np.ones(2).__class__ is np.ndarray and wg.tape._current.builder is None


def test_programs_die_with_their_function() -> None:
    class Owned(np.ndarray):
        pass

    def make() -> tuple[Any, Any]:
        data = np.ones(1000).view(Owned)
        return wg.jit(lambda x: x * np.asarray(data)), weakref.ref(data)

    f, alive = make()
    with pytest.warns(PerformanceWarning, match="data, which is no plain array"):
        f(np.ones(1000))
    del f
    gc.collect()
    assert alive() is None


def test_a_jitted_function_of_no_arguments() -> None:
    c = np.arange(3.0)
    f = wg.jit(lambda: np.sum(c**2))
    assert f() == 5
    c[0] = 2.0
    assert f() == 9
    assert f.stats()["traces"] == 1


def test_results_that_are_no_arrays_of_the_tape() -> None:
    f = wg.jit(lambda x: {"x": x, "n": 3, "list": [x * 2, (1.5, True)], "none": None})
    for _ in range(2):
        got = f(2.0)
        assert got == {"x": 2.0, "n": 3, "list": [4.0, (1.5, True)], "none": None}


def test_a_jitted_function_says_what_it_is() -> None:
    @wg.jit
    def area(r: Any) -> Any:
        """Of a circle."""
        return np.pi * r**2

    assert isinstance(area, Jit)
    assert repr(area) == "<jit of area: 0 programs, 0 calls>"
    assert area._repr_html_() == "<p>&lt;jit of area: 0 programs, 0 calls&gt;</p>"
    for k in range(1200):
        area(float(k))
    area(1)
    assert repr(area) == "<jit of area: 2 programs, 1,201 calls>" and len(area.programs()) == 2
    assert area._repr_html_().count("<li>&lt;program area: ") == 2
    assert area.stats().keys() == StatsDict.__annotations__.keys()
    assert area.__doc__ == "Of a circle." and area.__module__ == __name__
    assert area.__wrapped__(1.0) == np.pi


def test_numpy_decides_where_machine_code_rounds_to_the_other_side_of_a_guard() -> None:
    """Whether equal numbers are greater than their mean hangs on how it is rounded. A call that is traced gets what
    NumPy says, and raises nothing, whichever way machine code goes; so does the next with the same values."""

    def f(x: Any) -> Any:
        y = np.sin(x)
        return np.sum(y[y > np.mean(y)] ** 2)

    rng = np.random.default_rng(0)
    for n in (6, 12):
        for number in rng.uniform(0.1, 1, 12):
            x = np.full(n, number)
            jitted = wg.jit(f)
            for _ in range(2):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", PerformanceWarning)  # of those that NumPy decides
                    np.testing.assert_allclose(jitted(x), f(x), rtol=1e-12)
                np.testing.assert_allclose(wg.value_and_grad(f)(x)[0], f(x), rtol=1e-12)
            stats = jitted.stats()
            assert (stats["traces"], stats["undecided"]) in ((1, 0), (2, 2))  # both calls, or neither


def test_numpy_decides_as_it_did_where_a_pass_rounds_to_the_other_side_of_a_guard() -> None:
    """A sum of parts becomes one sum, which rounds otherwise: GuardMiss, an error of our own, reached the user."""

    def f(x: Any) -> Any:
        parts = sum(np.split(x, 9))
        return np.square(x) if np.mean(parts) < np.sum(x) else np.arcsinh(x)

    rng, undecided = np.random.default_rng(0), 0
    for _ in range(12):
        x = rng.normal(size=9)
        jitted = wg.jit(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)
            np.testing.assert_allclose(jitted(x), f(x), rtol=1e-12)
        undecided += jitted.stats()["undecided"]
    assert undecided  # else this has tested nothing


def test_a_branch_within_a_derivative_that_rounding_decides_takes_the_way_of_python() -> None:
    """The loop of what is differentiated was rolled up before the whole was recorded: its sum is another's."""

    def f(x: np.ndarray, total: float) -> Any:
        s = 0.0
        for i in range(40):
            s = s + x[i]
        return s * s if s - total > 0 else 2 * s

    rng, undecided = np.random.default_rng(0), 0
    for _ in range(10):
        x = rng.normal(size=40)
        total = functools.reduce(operator.add, x.tolist())  # sum() has been more exact since Python 3.12
        jitted = wg.jit(wg.value_and_grad(f))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wg.PerformanceWarning)
            value, gradient = jitted(x, total)
        assert value == pytest.approx(2 * total, rel=1e-14)
        assert gradient.tolist() == [2.0] * 40
        undecided += jitted.stats()["undecided"]
    assert undecided


# ----------------------------------------------------------------------------------------------- arguments by name


@pytest.mark.machine_code("the calls of the runtime's entries are counted")
def test_arguments_by_name_are_the_runtime_s() -> None:
    """A call by name that was made before records nothing and runs no Python of ours."""
    step = wg.jit(lambda x, rate=1.0, *, shift: np.sum(x * rate) + shift)
    for k in range(3):
        assert step(X, rate=2.0, shift=1.0 + k) == 2 * X.sum() + 1 + k
        assert step(X, shift=1.0) == X.sum() + 1
        assert step(x=X, shift=1.0, rate=3.0) == 3 * X.sum() + 1
        assert step(X, 4.0, shift=1.0) == 4 * X.sum() + 1
    assert step.stats()["traces"] == 4
    assert sum(entry.calls for entry in step._entries) == 8
    out = np.empty(3)
    double = wg.jit(lambda x, by: x * by)
    assert double(X, by=2.0, out=out) is out
    assert double(X, by=3.0, out=out) is out
    np.testing.assert_array_equal(out, 3 * X)


def test_branches_of_calls_by_name() -> None:
    step = wg.jit(lambda x, scale: x * scale if np.sum(x) > 0 else x - scale)
    for x in (X, -X, X + 1, -X - 1):
        np.testing.assert_array_equal(step(x, scale=2.0), x * 2 if np.sum(x) > 0 else x - 2)
    assert step.stats()["traces"] == 2


def test_names_are_not_taken_for_a_dict() -> None:
    """f(x, s=y) and f((x,), {"s": y}) have the same leaves in the same containers."""

    @wg.jit
    def step(*args: Any, **kwargs: Any) -> Any:
        return args[0] * kwargs["s"] if kwargs else args[0][0] - args[1]["s"]

    for _ in range(2):
        np.testing.assert_array_equal(step(X, s=2.0), X * 2)
        np.testing.assert_array_equal(step((X,), {"s": 2.0}), X - 2)
    assert step.stats()["traces"] == 2


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


# ----------------------------------------------------------------------------------------------- looking is no doing


def test_looking_at_a_program_wrote_what_was_given_away() -> None:
    step = wg.jit(lambda x: x * 2, donate=lambda args: args[0])
    x = X.copy()
    for _ in range(2):
        step.program(x)
        np.testing.assert_array_equal(x, X)
        step(X.copy())


def drawn_at_every_call(x: Any, rng: Any) -> Any:
    return x * rng.normal()


def drawn_while_traced(x: Any, rng: Any) -> Any:
    return x if rng.normal() > 0 else -x


def spawned(x: Any, rng: Any) -> Any:
    return x * rng.spawn(1)[0].normal()


def drawn_and_refused(x: Any, rng: Any) -> Any:
    return float(f"{x * rng.normal():.3f}")


def drawn_and_raised(x: Any, rng: Any) -> Any:
    raise KeyError(rng.normal())


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("f", [drawn_at_every_call, drawn_while_traced, spawned, drawn_and_refused, drawn_and_raised])
def test_looking_at_a_program_drew_from_generators(f: Any, is_strict: bool) -> None:
    step = wg.jit(f, strict=is_strict)
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(2):
        with suppress(WengertError, KeyError):
            step.program(0.5, rng)
        assert rng.bit_generator.state == other.bit_generator.state
        assert rng.bit_generator.seed_seq.n_children_spawned == other.bit_generator.seed_seq.n_children_spawned
        if f in (drawn_at_every_call, drawn_while_traced, spawned) and not is_strict:
            assert step(0.5, rng) == f(0.5, other)


def test_looking_at_a_program_called_its_primitives() -> None:
    calls: list[int] = []

    @wg.primitive
    def told(x: Any) -> Any:
        calls.append(1)
        return x

    step = wg.jit(lambda x: told(x) * (2 if x > 0 else 3))
    assert (step(1.0), step(-1.0)) == (2.0, -3.0)
    calls.clear()
    kept = [step.program(1.0), step.program(-1.0), step.program(2.0)]
    assert not calls
    assert kept[0] is kept[2] is not kept[1]


def test_looking_at_a_program_is_refused_where_it_would_advance_an_iterator() -> None:
    numbers = iter(range(9))
    step = wg.jit(lambda x: x * next(numbers))
    with pytest.raises(WengertError, match="would advance numbers"):
        step.program(1.0)
    assert next(numbers) == 0


def test_a_while_with_a_counter_of_pythons_compiled_64_paths() -> None:
    @wg.jit
    def halved(x: Any) -> Any:
        n = 0
        while x > 1:
            x, n = x * 0.5, n + 1
        return x * n

    says = r"16 different paths(.|\n)*test_jit\.py(.|\n)*n = 0 \* x"
    with pytest.warns(PerformanceWarning, match=says) as warned:
        results = [halved(2.0 ** (count - 0.5)) for count in range(1, 40)]
    assert results == [0.5**0.5 * count for count in range(1, 40)] and len(warned) == 1
    stats = halved.stats()
    assert stats["traces"] == config.max_paths // 4 == 16 and stats["plain"] == 39 - 16


def test_a_while_with_a_traced_counter_is_one_path() -> None:
    """What the warning about too many paths says to write instead."""

    @wg.jit(strict=True)
    def halved(x: Any) -> Any:
        n = 0 * x
        while x > 1:
            x, n = x * 0.5, n + 1
        return x * n

    assert [halved(2.0 ** (count - 0.5)) for count in range(1, 40)] == [0.5**0.5 * count for count in range(1, 40)]
    assert halved.stats()["traces"] < 8
