"""``for`` loops whose count is a traced integer: one program for every count, or a path for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.ops.control import guard
from wengert.tracing.functions import counting

COUNTS = [5, 7, 9, 11, 13, 4, 6, 8, 10, 12, 3, 15, 1, 2, 0, 20, 19, 17]
A = np.linspace(0.5, 1.5, 20)


def horner(x: Any, n: Any) -> Any:
    s = 0.0 * x
    for i in range(int(n)):
        s = s * x + i
    return s


def unused(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = np.sin(x) + 1
    return x


def from_a_start(x: Any, n: Any) -> Any:
    y = x
    for i in range(2, n):
        y = y * x / i
    return y


def reads(a: Any, n: Any) -> Any:
    s = 0.0
    for i in range(n):
        s = s * 0.5 + a[i - 3] * (2 * i - 1)
    return s + np.sum(a)


def writes(a: Any, n: Any) -> Any:
    y = a * 0
    for i in range(n):
        y[i] = a[i] * 2
    return np.sum(y * np.arange(20.0))


def squares(x: Any, n: Any) -> Any:
    for i in range(n):
        x = x + 1 / (i * i + 1)
    return x


def of_a_derivative(x: Any, n: Any) -> Any:
    slope = wg.grad(lambda z: z**4 - 3 * z)
    for _ in range(n):
        x = x - 0.1 * slope(x)
    return x


ONE_PROGRAM: list[tuple[Callable[..., Any], Any]] = [
    (horner, 0.9), (unused, 0.3), (from_a_start, 1.3), (reads, A), (writes, A), (squares, 0.2), (of_a_derivative, 0.4),
]  # fmt: skip


def check(f: Callable[..., Any], x: Any, counts: list[int]) -> tuple[Any, Any]:
    """Compiled as the function itself, and its gradient; both are given back."""
    value, gradient = wg.jit(f, strict=True), wg.jit(wg.grad(f), strict=True)
    for n in counts:
        np.testing.assert_allclose(value(x, n), f(x, n), rtol=1e-11)
        np.testing.assert_allclose(gradient(x, n), wg.grad(f)(x, n), rtol=1e-9)
    return value, gradient


@pytest.mark.sampled(9, "a second each")
@pytest.mark.parametrize(("f", "x"), ONE_PROGRAM)
def test_one_program_for_every_count(f: Callable[..., Any], x: Any) -> None:
    value, gradient = check(f, x, COUNTS)
    assert "while" in [i.op.name for i in value.program(x, 9).tape.instrs]
    for compiled in (value, gradient):
        before = compiled.stats()
        for n in range(4, 20):
            compiled(x, n)
        after = compiled.stats()
        assert after["traces"] == before["traces"] and after["guard_misses"] <= before["guard_misses"] + 1
        for n in (1, 9, 0, 8, 2, 1, 12, 0, 3, 17, 3):
            compiled(x, n)
        few = compiled.stats()["traces"]
        for n in (1, 9, 0, 8, 2, 1, 12, 0, 3, 17, 3):
            np.testing.assert_allclose(compiled(x, n), (f if compiled is value else wg.grad(f))(x, n), rtol=1e-9)
        assert compiled.stats()["traces"] == few
    np.testing.assert_allclose(value(x * 0.5, 14), f(x * 0.5, 14), rtol=1e-11)


def test_a_few_counts_are_paths() -> None:
    """As they were: unrolled, and rolled up as arrays; after two, with a counter; known when three have come to one."""
    compiled = wg.jit(horner)
    for traces, n in enumerate((10, 12, 14, 16, 18), 1):
        compiled(0.9, n)
        assert compiled.stats()["traces"] == traces
    compiled(0.9, 500)
    assert compiled.stats()["traces"] == 5


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_counts_of_numpys(dtype: Any) -> None:
    compiled = wg.jit(unused, strict=True)
    for n in (*COUNTS, 127):
        assert compiled(0.3, dtype(n)) == pytest.approx(unused(0.3, n), rel=1e-12)


def test_an_index_beyond_the_end_is_refused() -> None:
    f = wg.jit(lambda a, n: reads(a, n + 0), strict=True)
    for n in (*COUNTS, 23):
        assert f(A, n) == pytest.approx(reads(A, n), rel=1e-11)
    for _ in range(2):
        with pytest.raises(IndexError):
            f(A, 24)


# ------------------------------------------------------------------------------------------------ a path for each


def indexes_a_list(x: Any, n: Any) -> Any:
    weights = [1.0, 2.0, 3.0, 4.0, 5.0] * 8
    for i in range(n):
        x = x * 0.9 + weights[i]
    return x


def compares(x: Any, n: Any) -> Any:
    for i in range(n):
        if i == 7:
            x = x * 2
        x = np.sin(x)
    return x


def counts(x: Any, n: Any) -> Any:
    k = [0]
    for _ in range(n):
        k[0] += 1
        x = np.sin(x) * k[0]
    return x


def needs_it_afterwards(x: Any, n: Any) -> Any:
    i = 0
    for i in range(n):
        x = np.sin(x) + i
    return x * i


def power_afterwards(x: Any, n: Any) -> Any:
    j = 0
    for i in range(n):
        j = 3 * i
        x = np.sin(x)
    return x * 2**j


def knows_the_count(x: Any, n: Any) -> Any:
    m = int(n)
    for _ in range(m):
        x = np.sin(x)
    return x * m


def grows(x: Any, n: Any) -> Any:
    history = [x]
    for _ in range(n):
        history.append(np.sin(history[-1]))
    return history[-1] + 2 * history[len(history) // 2]


def nested(x: Any, n: Any) -> Any:
    for i in range(n):
        for j in range(i):
            x = np.sin(x) + j
    return x


def leaves(x: Any, n: Any) -> Any:
    for _ in range(n):
        if x > 4:
            break
        x = x + 0.5
    return x


def in_another(x: Any, n: Any) -> Any:
    return wg.scan(lambda c, t: (unused(c, n) * t, None), x, np.array([0.5, 1.5]))[0]


# Python's integers have no end.


def taylor(x: Any, n: Any) -> Any:
    s, k = 0.0 * x, 1
    for i in range(n):
        s = s + x**i / k
        k = k * (i + 1)
    return s


def powers(x: Any, n: Any) -> Any:
    for i in range(n):
        x = x + 10**i
    return x


def cubes(x: Any, n: Any) -> Any:
    for i in range(n):
        x = x + 1e-9 * i**3
    return x


def doubles(x: Any, n: Any) -> Any:
    k = 1
    for i in range(n):
        k = k + k + i
        x = x * 0.5 + k
    return x


PATHS = [indexes_a_list, compares, counts, needs_it_afterwards, power_afterwards, knows_the_count, grows, leaves]
PATHS += [in_another, taylor, powers, cubes, doubles]


@pytest.mark.sampled(5, "each is traced a dozen times")
@pytest.mark.parametrize("f", PATHS)
def test_what_depends_on_its_count_stays_as_it_is(f: Callable[..., Any]) -> None:
    value, _ = check(f, 0.3, [5, 7, 9, 11, 13, 3, 30, 1, 2, 0, 28, 26, 40, 12, 6])
    assert value.stats()["traces"] > 10
    assert value.stats()["plain"] == 0


def test_nested_ones_stay_as_they_are() -> None:
    check(nested, 0.3, [5, 3, 6, 4, 7, 2, 8])


def test_in_a_batch() -> None:
    f = wg.jit(lambda xs, n: wg.vmap(lambda x: unused(x, n))(xs), strict=True)
    for n in COUNTS:
        np.testing.assert_allclose(f(A, n), unused(A, n), rtol=1e-12)


def test_what_is_done_once_is_done_once() -> None:
    """A trace that is tried with a counter, and does not do, leaves nothing behind."""
    state = {"runs": 0.0}

    def f(x: Any, n: Any) -> Any:
        rng = np.random.default_rng(3)
        return grows(x, n) * rng.normal() + state["runs"]

    compiled = wg.jit(f, strict=True)
    for n in COUNTS:
        assert compiled(0.3, n) == pytest.approx(f(0.3, n), rel=1e-12)


def test_other_ranges_are_pythons() -> None:
    def f(x: Any, n: Any) -> Any:
        found = [range(n), *list(map(range, [n, n + 1]))]
        for r in found:
            assert type(r) is range
        total = sum(x * i for i in range(n)) + sum([x for _ in range(int(n))])
        for i in range(n, 0, -1):
            total = total * 0.5 + i
        for i in reversed(range(int(n))):
            total = total + len(range(i))
        return total

    compiled = wg.jit(f, strict=True)
    for n in COUNTS[:9]:
        assert compiled(0.3, n) == pytest.approx(f(0.3, n), rel=1e-12)
    with pytest.raises(TypeError, match="integer"):
        wg.jit(lambda x: [x for _ in range(x)], strict=True)(2.0)
    with pytest.raises(TypeError, match="int"):
        wg.jit(lambda x: int([x]), strict=True)(2.0)


def _moved(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x * 0.999 + 1e-3
    return x


def _by_squares(x: Any, n: Any) -> Any:
    for i in range(n):
        x = x * 0.999 + 1e-9 * (i * i)
    return x


@pytest.mark.parametrize("f", [_moved, _by_squares])
def test_a_loop_of_a_million_iterations_and_more_hung(f: Callable[..., Any]) -> None:
    compiled = wg.jit(f)
    for n in (3, 4, 5, 6, 7):
        assert compiled(0.5, n) == pytest.approx(f(0.5, n), rel=1e-12)
    traces = compiled.stats()["traces"]
    assert compiled(0.5, 1 << 20) == pytest.approx(f(0.5, 1 << 20), rel=1e-9)
    assert compiled.stats()["traces"] == traces and compiled.stats()["plain"] == 0


def test_a_loop_of_a_million_iterations_that_is_not_known_is_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_RECORDED", 1000)
    compiled = wg.jit(_moved)
    says = r"a loop of 1048576 iterations(.|\n)*test_counting\.py(.|\n)*fori_loop"
    with pytest.warns(wg.PerformanceWarning, match=says):
        assert compiled(0.5, 1 << 20) == _moved(0.5, 1 << 20)
    assert compiled(0.5, 3) == pytest.approx(_moved(0.5, 3), rel=1e-12)
    assert compiled.stats()["traces"] == 1 and compiled.stats()["plain"] == 1
    with pytest.raises(wg.errors.TooManyIterationsError, match=says):
        wg.jit(_moved, strict=True)(0.5, 1 << 20)


def test_a_loop_over_too_many_numbers_that_is_left_early_is_compiled() -> None:
    def halved(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x * 0.5
            if x < 1.0:
                break
        return x

    compiled = wg.jit(halved, strict=True)
    for x in (3.0, 50.0, 3.5):
        assert compiled(x, 10**12) == halved(x, 10**12)


def test_a_loop_of_too_many_iterations_is_given_up_even_if_the_function_catches_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "MOST_RECORDED", 1000)

    def f(x: Any, n: Any) -> Any:
        try:
            for _ in range(n):
                x = x * 0.999 + 1e-3
        except RuntimeError:
            return x * 0
        return x

    compiled = wg.jit(f)
    with pytest.warns(wg.PerformanceWarning, match="a loop of 1048576 iterations"):
        assert compiled(0.5, 1 << 20) == f(0.5, 1 << 20)


def test_a_loop_of_many_iterations_is_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look took 0.3 ms: a count of 500,000 took minutes where two others had been met before."""
    monkeypatch.setattr(counting, "MOST_COUNTED", 50)
    compiled = wg.jit(_moved)
    for n in (3, 4, 100):
        assert compiled(0.5, n) == pytest.approx(_moved(0.5, n), rel=1e-12)
    assert not any(i.op is guard and i.params["kind"] == "iteration" for i in compiled.program(0.5, 100).tape.instrs)
    for n in (5, 6, 7, 200):
        assert compiled(0.5, n) == pytest.approx(_moved(0.5, n), rel=1e-12)
    assert compiled.stats()["traces"] == 6  # the loop is known then


def test_a_counter_that_begins_beyond_its_bound_is_no_leaked_guard() -> None:
    def f(x: Any, a: Any, b: Any) -> Any:
        for i in range(a, b):
            x = x + 1.0 * (i * i * i)
        return x

    compiled = wg.jit(f)
    for begin in (0, (1 << 20) - 5, 1 << 20, -(1 << 20) - 5):
        for n in (3, 4, 5, 6, 7):
            assert compiled(0.5, begin, begin + n) == pytest.approx(f(0.5, begin, begin + n), rel=1e-12)
    assert compiled.stats()["plain"] == 0
