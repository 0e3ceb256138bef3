"""``wg.find_nans``: which operation made a NaN or an infinity, on every way of calling, and no false alarms."""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.programs.fields import PROGRAMS
from wengert.errors import NonFiniteError

X = np.array([4.0, 0.0, 1.0])


def roots(x: Any) -> Any:
    return np.sum(np.sqrt(x))


def found(f: Callable[..., Any], *args: Any, **options: Any) -> NonFiniteError:
    with wg.find_nans(**options), pytest.raises(NonFiniteError) as error:
        f(*args)
    return error.value


def line_of(f: Callable[..., Any]) -> int:
    return inspect.getsourcelines(f)[1] + 1


WAYS: dict[str, Callable[[], Any]] = {
    "un-jitted": lambda: wg.grad(roots)(X),
    "jitted": lambda: wg.jit(wg.grad(roots))(X),
    "jit within": lambda: wg.jit(wg.grad(wg.jit(roots)))(X),
    "vjp": lambda: wg.vjp(roots, X)[1](1.0),
    "jacobian": lambda: wg.jacobian(np.sqrt)(X),
    "mapped": lambda: wg.jit(wg.vmap(wg.grad(roots)))(np.stack([X + 1, X])),
    "hvp": lambda: wg.jit(lambda x: wg.hvp(roots, (x,), (x + 1,)))(X),
    "checkpoint": lambda: wg.jit(wg.grad(lambda x: wg.checkpoint(roots)(x)))(X),
}


@pytest.mark.parametrize("way", WAYS)
def test_derivative_of_a_root_is_found_on_every_way(way: str) -> None:
    error = found(WAYS[way])
    assert error.operands[1] == 0.0 and str(error).startswith(
        "the derivative of sqrt made an infinity: divide(0.5, 0.0)"
    )
    assert "np.sqrt(x + 1e-12)" in str(error)
    is_forward = way in ("jacobian", "hvp")
    assert error.is_backward != is_forward and ("  pass   forward" if is_forward else "  pass   backward") in str(error)
    assert error.source is not None and (error.source.function == "roots" or way == "jacobian")


def test_message_has_line_index_operands_and_remedy() -> None:
    def f(x: Any) -> Any:
        return np.log(x) + 1

    error = found(wg.jit(f), X)
    assert (error.op, error.index, error.operands) == ("log", (1,), (0.0,)) and not error.is_backward
    assert error.source is not None and error.source.line == line_of(f)
    text = str(error)
    assert text.startswith("log made an infinity: log(0.0) = -inf at index [1] of [3]")
    assert f"test_finding.py:{line_of(f)}, in f:   return np.log(x) + 1" in text
    assert "\n  x      0.0" in text and "xlogy" in text


def test_option_of_jit_and_calls_that_are_fine() -> None:
    step = wg.jit(wg.grad(roots), find_nans=True)
    assert step(X + 1).tobytes() == wg.jit(wg.grad(roots))(X + 1).tobytes()
    for _ in range(2):
        with pytest.raises(NonFiniteError):
            step(X)
    assert np.isinf(wg.jit(wg.grad(roots))(X)[1])  # nobody else looks
    assert step.stats()["traces"] == 1


def test_infinities_can_be_left_out() -> None:
    f = wg.jit(np.log)
    with wg.find_nans(infinities=False):
        assert np.isinf(f(X)[1])
    assert found(f, -X, infinities=False).index == (0,)


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("float32", (3, 5)), ("float64", ()), ("complex64", (7,)), ("complex128", (2, 3, 4)), ("float32", (0, 3))],
)
def test_dtypes_and_shapes(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.ones(shape, dtype)
    f = wg.jit(lambda x: 1 / x)
    with wg.find_nans():
        f(x)
    if x.size:
        x[(-1,) * x.ndim] = 0
        assert found(f, x).index == tuple(n - 1 for n in shape)


def test_strided_arguments_and_results() -> None:
    x = np.arange(12.0).reshape(3, 4)
    assert found(wg.jit(lambda x: np.log(x).T), np.asfortranarray(x)).index == (0, 0)
    assert found(wg.jit(lambda x: 1 / x[::-1, 1::2]), x - 1).index == (2, 0)


def test_what_is_data_is_nobodys_fault() -> None:
    gaps = np.array([np.nan, 1.0, 2.0])
    with wg.find_nans():
        assert np.isinf(wg.jit(lambda x: np.where(x > 0, x, -np.inf))(X)[1])
        assert np.isnan(wg.jit(lambda x: np.where(x > 0, x, np.nan))(X)[1])
        assert np.isnan(wg.jit(lambda x: np.where(x > 0, np.log(x), np.nan))(X)[1])
        assert wg.jit(np.nansum)(gaps) == 3.0
        assert np.isinf(wg.jit(lambda x: x + 1)(np.array([np.inf]))[0])
        assert wg.jit(lambda x: np.min(x, initial=np.inf))(X) == 0.0
        np.testing.assert_array_equal(wg.jit(lambda x: np.where(np.isnan(x), 0.0, 2 * x))(gaps), [0, 2, 4])


def test_what_a_selection_leaves_out_is_not_reported() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(x) * np.log(x), 0.0))

    with wg.find_nans():
        assert np.isfinite(wg.jit(wg.grad(f))(X)).all()
        assert np.isfinite(wg.grad(f)(X)).all()


def test_argument_with_a_nan_is_named() -> None:
    def f(params: Any, x: Any) -> Any:
        return params["w"] * x

    error = found(wg.jit(f), {"w": np.array([1.0, np.nan])}, np.ones(2))
    assert 'params["w"][1] is NaN' in str(error) and error.op == ""


@pytest.mark.parametrize("argument", [0, 1])
def test_argument_of_a_call_without_jit_is_named(argument: int) -> None:
    def f(params: Any, x: Any) -> Any:
        return np.sum(params["w"] * x)

    args = {"w": np.ones(2)}, np.ones(2)
    (args[0]["w"], args[1])[argument][1] = np.nan
    for way in (
        lambda: wg.value_and_grad(f)(*args),
        lambda: wg.grad(f)(args[0], x=args[1]),
        lambda: wg.vjp(f, *args),
        lambda: wg.jvp(f, args, args),
        lambda: wg.jacobian(f, argnums=(0, 1))(*args),
        lambda: wg.vmap(f)(*args),
    ):
        assert ('params["w"]', "x")[argument] + "[1] is NaN" in str(found(way))


def test_switch_is_of_all_threads_and_takes_effect_at_once() -> None:
    f = wg.jit(np.log)
    try:
        wg.config.find_nans = True
        with pytest.raises(NonFiniteError):
            f(X)
    finally:
        wg.config.find_nans = False
    assert np.isinf(f(X)[1])


PARTED: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "vector": (lambda x: 2.0 / x + 1, (140_000,)),
    "matrix": (lambda x: 2.0 / x.reshape(700, 200) + np.arange(200.0), (700, 200)),
    "two results": (lambda x: (2.0 / x, x.astype("float32") * 3), (140_000,)),
    "sums of rows": (lambda x: np.sum(2.0 / x.reshape(-1, 4), axis=1), (35_000, 4)),
    "transposed": (lambda x: (2.0 / x.reshape(700, 200)).T, (700, 200)),
    "complex": (lambda x: 2.0 / x + 1j, (140_000,)),
    "total": (lambda x: np.sum(2.0 / x), (140_000,)),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", PARTED)
def test_large_kernels_are_looked_at_in_parts(case: str, threads: int, n_threads: Callable[[int], None]) -> None:
    f, shape = PARTED[case]
    f, x = wg.jit(f), np.random.default_rng(1).normal(size=140_000)
    expected = wg.tree.flatten(f(x))[0]
    n_threads(threads)
    with wg.find_nans():
        seen = wg.tree.flatten(f(x))[0]
    assert all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(seen, expected, strict=True))
    for place in (0, 16_384, 70_001, 139_999):
        y = x.copy()
        y[place] = 0.0
        assert np.ravel_multi_index(found(f, y).index, shape) == place


@pytest.fixture
def n_threads() -> Iterator[Callable[[int], None]]:
    before = wg.get_threads()
    yield wg.set_threads
    wg.set_threads(before)


def test_first_of_several_is_named() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        return np.sum(y - y)

    error = found(wg.jit(f), np.array([1.0, 1000.0]))
    assert error.op == "exp" and error.index == (1,) and "logsumexp" in str(error)


def test_in_loops_the_iteration_is_named() -> None:
    def step(c: Any, x: Any) -> Any:
        c = np.sqrt(c - x)
        return c, c

    def f(x: Any) -> Any:
        return wg.scan(step, x, np.ones(5))[0]

    for way in (wg.jit(f), wg.jit(wg.grad(f)), wg.grad(f)):
        error = found(way, 9.0)
        assert error.op == "sqrt" and "iteration 3 of 5" in str(error)
        assert error.source is not None and error.source.line == line_of(step)
    repeated = wg.jit(lambda x: wg.while_loop(lambda c: c < 1e300, np.log, x))
    assert "iteration 2" in str(found(repeated, 2.0))
    chosen = wg.jit(lambda x: wg.cond(x > 0, np.log, lambda x: np.sqrt(x), x))
    assert "sqrt(-1.0)" in str(found(chosen, -1.0))


def test_backward_over_a_loop() -> None:
    def f(x: Any) -> Any:
        return wg.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, np.sqrt(c[1])), (0, x))[1]

    error = found(wg.jit(wg.grad(f)), 0.0)
    assert "the derivative of sqrt" in str(error)


def test_rule_of_a_primitive_is_named() -> None:
    @wg.primitive
    def half(x: Any) -> Any:
        return x / 2

    @half.def_pullback
    def half_back(ct: Any, y: Any, x: Any) -> Any:
        return (ct / (x - x),)

    error = found(wg.jit(wg.grad(lambda x: half(x))), 1.0)
    assert "half" in str(error) and "by its rule half_back" in str(error)


def test_bound_programs_and_out() -> None:
    x, out = X + 1, np.empty(3)
    step = wg.jit(wg.grad(roots))
    call = step.program(x).bind(x, out=out)
    with wg.find_nans():
        call()
        step(x, out=out)
    x[1] = 0.0
    found(call)
    found(lambda: step(x, out=out))
    assert np.isinf(call()[1])


def test_donated_arguments_are_read_before_they_are_written() -> None:
    step = wg.jit(lambda s: np.sqrt(s - 1.0) + np.log(s), donate=lambda args: args[0])
    error = found(step, np.array([5.0, 0.5, 7.0] * 500))
    assert error.op == "sqrt" and error.operands == (-0.5,)


def test_only_the_thread_that_opened_the_context_looks() -> None:
    f, seen = wg.jit(np.log), list[Any]()
    f(X)
    with wg.find_nans():
        thread = threading.Thread(target=lambda: seen.append(f(X)))
        thread.start()
        thread.join()
        with pytest.raises(NonFiniteError):
            f(X)
    assert np.isinf(seen[0][1]) and np.isinf(f(X)[1])


def test_kernels_and_plan_are_the_same() -> None:
    program = wg.jit(wg.grad(roots)).program(X)
    before = program.kernels, program.arena_bytes, program.executable
    with wg.find_nans():
        program(X + 1)
    assert (program.kernels, program.arena_bytes, program.executable) == before


CLEAN = [e for e in PROGRAMS if not e.plain][::9]


@pytest.mark.parametrize("number", range(len(CLEAN)))
@pytest.mark.sampled(17, "thirty programs take ten seconds")
def test_no_false_alarms_and_the_same_bits(number: int) -> None:
    entry = CLEAN[number]
    args = entry.points[0]
    step = wg.jit(wg.value_and_grad(entry.f))
    expected = step(*copy.deepcopy(args))
    with wg.find_nans():
        seen = step(*copy.deepcopy(args))
    pairs = zip(wg.tree.flatten(seen)[0], wg.tree.flatten(expected)[0], strict=True)
    assert all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in pairs)
