"""What the functions of control flow refuse, and what they are outside of a trace."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import errors
from wengert.tape import Tape, tapes_in

LINE = "test_loops.py"

REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "another dtype": (lambda x: wg.scan(lambda c, t: (c + 0.5, None), 0, x)[0], errors.DTypeError,
                      r"scan: the carry went in as int64\[\] and came back as float64\[\]"),
    "another shape": (lambda x: wg.scan(lambda c, t: (np.stack([c, t]), None), 0.0, x)[0], errors.ShapeError,
                      r"went in as float64\[\] and came back as float64\[2\]"),
    "another structure": (lambda x: wg.scan(lambda c, t: ((c, t), None), 0.0, x)[0], errors.StructureError,
                          "another structure"),
    "no pair": (lambda x: wg.scan(lambda c, t: c + t, 0.0, x)[0], errors.StructureError, "no pair"),
    "a leaf of many": (lambda x: wg.while_loop(lambda s: s["a"] > 0, lambda s: {**s, "b": 1}, {"a": x[0], "b": 0.5}),
                       errors.DTypeError, r"the carry\[.b.\] went in as float64\[\] and came back as int64\[\]"),
    "a condition of many": (lambda x: wg.while_loop(lambda c: c > 0, lambda c: c - 1, x), errors.DTypeError,
                            r"the condition is bool\[3\]; expected bool\[\]"),
    "a condition of numbers": (lambda x: wg.while_loop(lambda c: c, lambda c: c - 1, x[0]), errors.DTypeError,
                               r"the condition is float64\[\]; expected bool\[\]"),
    "branches of two shapes": (lambda x: wg.cond(x[0] > 0, lambda: x, lambda: x[0]), errors.ShapeError,
                               r"one branch returns float64\[\] and another float64\[3\]"),
    "branches of two structures": (lambda x: wg.cond(x[0] > 0, lambda: x, lambda: (x, x)), errors.StructureError,
                                   "different structures"),
    "a predicate of many": (lambda x: wg.cond(x > 0, np.sin, np.cos, x), errors.DTypeError, "the predicate is bool"),
    "an index that is none": (lambda x: wg.switch(x[0], [np.sin], x), errors.DTypeError, "expected an integer"),
    "no branches": (lambda x: wg.switch(0, [], x), errors.StructureError, "no branches"),
    "lengths that differ": (lambda x: wg.scan(lambda c, t: (c, None), 0.0, (x, x[:2]))[0], errors.ShapeError, "differ"),
    "no length": (lambda x: wg.scan(lambda c, t: (c, None), x[0])[0], errors.ShapeError, "no length"),
    "no axis": (lambda x: wg.scan(lambda c, t: (c, None), 0.0, x[0])[0], errors.ShapeError, "no axis"),
    "an index in a body": (lambda x: wg.scan(lambda c, t: (c + [1, 2][int(t)], None), 0.0, x)[0],
                           errors.ConcretizationError, "recorded once, and not"),
    "a write of what is outside": (lambda x: counted_outside(x), errors.MutationError, "made outside of it"),
    "a branch that writes": (lambda x: wg.cond(x[0] > 0, lambda y: y.__iadd__(1)[0], lambda y: y[0], x),
                             errors.MutationError, "writes an array that it was given"),
    "a while that changes its carry": (lambda x: wg.while_loop(lambda c: np.sum(c) < 9, lambda c: c[:2], x),
                                       errors.ShapeError, r"went in as float64\[3\] and came back as float64\[2\]"),
    "a counted loop that does": (lambda x: wg.fori_loop(0, 3, lambda i, c: c + 0.5, 0), errors.DTypeError,
                                 r"fori_loop: the carry went in as int64\[\] and came back as float64\[\]"),
    "one of a traced count": (lambda x: wg.fori_loop(0, x.astype(int)[0], lambda i, c: {"a": c}, x[0]),
                              errors.StructureError, r"(?s)fori_loop: the carry.*given +float64\[\]"),
    "a bounded one": (lambda x: wg.while_loop(lambda c: c < 9, lambda c: (c, c), x[0], max_steps=3),
                      errors.StructureError, r"(?s)while_loop: the carry.*given +float64\[\]"),
    "no condition": (lambda x: wg.while_loop(lambda c: None, lambda c: c, x), errors.DTypeError, "condition is None"),
    "two conditions": (lambda x: wg.while_loop(lambda c: (c > 0, c < 1), lambda c: c, x[0]), errors.DTypeError,
                       r"the condition is bool\[\], bool\[\]; expected bool\[\]"),
    "a bounded condition": (lambda x: wg.while_loop(lambda c: c, lambda c: c, x[0], max_steps=3), errors.DTypeError,
                            r"the condition is float64\[\]; expected bool\[\]"),
    "a traced length": (lambda x: wg.scan(lambda c, _: (c, None), 0, None, x.astype(int)[0]),
                        errors.ConcretizationError, r"(?s)the length is a traced int64\[\].*wg.fori_loop\(0, n"),
    "a length that is none": (lambda x: wg.scan(lambda c, _: (c, None), 0, None, 3.0), errors.DTypeError,
                              "the length is 3.0; expected an integer"),
    "a length below zero": (lambda x: wg.scan(lambda c, _: (c, None), 0, None, -3), errors.ShapeError, "is -3"),
    "a bound beyond int64": (lambda x: wg.fori_loop(0, 2**63, lambda i, c: c, 0), errors.DTypeError,
                             "the upper bound is 9223372036854775808; expected an integer that fits into int64"),
    "a bound below": (lambda x: wg.fori_loop(-(2**63) - 1, x.astype(int)[0], lambda i, c: c, 0), errors.DTypeError,
                      "the lower bound is -9223372036854775809"),
    "a bound that is none": (lambda x: wg.fori_loop(0, x[0], lambda i, c: c, 0), errors.DTypeError,
                             r"the upper bound is float64\[\]; expected an integer of shape \(\)"),
    "a bound of many": (lambda x: wg.fori_loop(x.astype(int), 3, lambda i, c: c, 0), errors.DTypeError,
                        r"the lower bound is int64\[3\]; expected an integer of shape \(\)"),
    "a bound without sign": (lambda x: wg.fori_loop(0, x.astype(np.uint64)[0], lambda i, c: c, 0), errors.DTypeError,
                             r"the upper bound is uint64\[\]"),
    "another index that is none": (lambda x: wg.switch(1.5, [np.sin], x), errors.DTypeError, "expected an integer"),
    "no value at all": (lambda x: wg.scan(lambda c, t: (c, None), object(), x)[0], errors.UnsupportedFunctionError,
                        "an array of dtype object cannot be traced"),
    "a draw in a body": (lambda x: wg.scan(lambda c, t: (c + RNG.normal(), None), 0.0, x)[0],
                         errors.UnsupportedFunctionError, "drawn once, for all iterations"),
}  # fmt: skip


def counted_outside(x: Any) -> Any:
    count = np.zeros(1)

    def step(c: Any, t: Any) -> Any:
        count[0] += 1
        return c + t, None

    return wg.scan(step, 0.0, x)[0] + count[0]


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_both_types_and_the_line(name: str) -> None:
    f, error, text = REFUSED[name]
    with pytest.raises(error, match=text) as caught:
        wg.jit(f, strict=True)(np.ones(3))
    if name not in ("no branches"):
        assert LINE in str(caught.value)


def test_outside_of_a_trace_they_are_pythons_own() -> None:
    seen: list[Any] = []

    def step(c: Any, x: Any) -> Any:
        seen.append(x)
        return c + x, {"twice": 2 * x}

    carry, ys = wg.scan(step, 0, {"only": np.arange(3)}["only"])
    assert carry == 3 and ys["twice"].tolist() == [0, 2, 4] and seen == [0, 1, 2]
    assert wg.scan(lambda c, _: (c * 2, None), 1, length=5) == (32, None)
    assert wg.fori_loop(2, 5, lambda k, s: s + k, 0) == 9 and wg.fori_loop(5, 2, lambda k, s: s + k, 7) == 7
    assert wg.while_loop(lambda x: x < 100, lambda x: x * 3, 1) == 243
    assert wg.cond(True, lambda: "yes", lambda: "no") == "yes" and wg.switch(5, [lambda: 0, lambda: 1]) == 1
    with pytest.raises(errors.DTypeError, match="expected bool"):
        wg.while_loop(lambda x: x, lambda x: x, 1)
    carry, ys = wg.scan(lambda c, x: (c + x, np.stack([c, x])), 0.0, np.zeros(0))
    assert carry == 0.0 and ys.shape == (0, 2)


def test_a_traced_predicate_beside_a_static_one() -> None:
    """A branch on what is known is taken while tracing, and no step is recorded."""
    tape = wg.trace(lambda x: wg.cond(len(x) > 2, np.sin, np.cos, x))(np.ones(3))
    assert [i.op.name for i in tape.instrs] == ["sin"]


def test_what_does_not_change_is_computed_before_the_loop() -> None:
    f = lambda x, w: wg.scan(lambda c, t: (c + np.sum(np.exp(w)) * t, None), 0.0, x)[0]
    tape = wg.trace(f)(np.ones(3), np.ones(100))
    assert [i.op.name for i in tape.instrs] == ["exp", "sum", "scan"]


def step_of(c: Any) -> Any:
    return c * 1.0


ENDLESS: dict[str, Any] = {
    "one native function": lambda x: wg.while_loop(lambda c: c > 0, step_of, x),
    "branches": lambda x: wg.while_loop(lambda c: c > 0 and c < 1e9, lambda c: c * 1.0 if c > 2 else c + 0.0, x),
    "a count": lambda x: wg.fori_loop(0, np.where(x > 0, 2**62, 0), lambda i, c: np.abs(c) * 0.5 + c * 0.5, x),
    "kernels": lambda x: wg.while_loop(
        lambda c: np.sum(c) > 0, lambda c: np.linalg.solve(np.eye(3), c), np.full(3, x) * 1.0
    )[0],
    "a batch": lambda x: wg.vmap(lambda x: wg.while_loop(lambda c: c > 0, step_of, x))(np.stack([x, x]))[0],
    "in a branch": lambda x: wg.cond(
        x > 0, lambda x: wg.while_loop(lambda c: c > 0, lambda c: c + 1e-3, x), lambda x: x, x
    ),
    "a scan in a scan": lambda x: wg.cond(x > 0, in_scans, lambda x: x, x),
    "large scans in a scan": lambda x: wg.cond(x > 0, lambda x: np.sum(in_scans(x + np.zeros(30_000))), lambda x: x, x),
}  # fmt: skip


def in_scans(x: Any) -> Any:
    inner = lambda c: wg.scan(lambda c, _: (np.sin(c) + 2 + np.cumsum(np.cumsum(c)), None), c, None, 10**10)[0]
    return wg.scan(lambda c, _: (inner(c), None), np.ravel(x), None, 3)[0][0]


@pytest.mark.sampled(5, "a quarter of a second each")
@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_loop_is_stopped(name: str) -> None:
    import _thread

    f = wg.jit(ENDLESS[name], strict=True)
    assert f(-1.0) == -1.0
    timer = threading.Timer(0.3, _thread.interrupt_main)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may ignore it
    try:
        start = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f(1.0)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() > start
    assert f(-1.0) == -1.0


def test_counters_do_not_wrap() -> None:
    """They are int64 whatever the bounds are."""
    count = wg.jit(lambda low, high: wg.fori_loop(low, high, lambda i, c: c + (i > 0), 0), strict=True)
    total = wg.jit(lambda low, high: wg.fori_loop(low, high, lambda i, c: c + i, 0), strict=True)
    for dtype in (np.int8, np.uint8, np.int16, np.int64):
        assert count(dtype(100), 300) == 200 and count(np.int64(-5), dtype(127)) == 126
        assert total(dtype(120), dtype(127)) == sum(range(120, 127))
    assert count(-5, True) == 0 and total(np.int8(5), np.int8(3)) == 0
    assert wg.fori_loop(np.int8(100), np.int8(127), lambda i, c: c + i, 0) == sum(range(100, 127))
    near = wg.jit(lambda low: wg.fori_loop(low, 2**63 - 1, lambda i, c: c + 1, 0), strict=True)
    assert near(2**63 - 4) == 3


def test_many_iterations_take_no_array_of_numbers() -> None:
    from wengert.api.loops import MOST_COUNTED

    f = lambda x: wg.fori_loop(0, 10 * MOST_COUNTED, lambda i, c: c + 1, x)
    assert [i.op.name for i in wg.trace(f)(1.0).instrs] == ["while"]


def test_the_index_of_a_switch_is_clipped_as_it_is() -> None:
    f = wg.jit(lambda k: wg.switch(k, [lambda: 0, lambda: 1, lambda: 2]), strict=True)
    assert [f(k) for k in (np.uint64(2**64 - 1), np.int8(-5), 7, np.uint8(1))] == [2, 0, 2, 1]


# -------------------------------------------------------------------------------------------------- checkpoints


def deep(x: Any, layer: Any) -> Any:
    for w in (0.5, 1.5, 0.7):
        x = layer(w, x)
    return np.sum(x)


def layer(w: Any, x: Any) -> Any:
    return np.tanh(np.sin(w * x) @ np.exp(-(x**2)) * x)


def test_a_checkpoint_has_the_same_derivatives() -> None:
    x = np.linspace(-1.0, 1.0, 30).reshape(5, 6)[:5, :5]
    kept = wg.checkpoint(layer)
    assert deep(x, kept) == deep(x, layer)
    for transform in (wg.grad, lambda f: wg.jit(wg.grad(f))):
        expected = transform(lambda x: deep(x, layer))(x)
        np.testing.assert_allclose(transform(lambda x: deep(x, kept))(x), expected, rtol=1e-12)
    v = np.cos(x)
    hvps = [wg.hvp(lambda x, f=f: deep(x, f), (x,), (v,)) for f in (kept, layer)]
    np.testing.assert_allclose(*hvps, rtol=1e-11)
    batches = [wg.vmap(wg.grad(lambda x, f=f: deep(x, f)))(np.stack([x, v])) for f in (kept, layer)]
    np.testing.assert_allclose(*batches, rtol=1e-12)


@pytest.mark.machine_code("the bytes of a planned arena are compared")
def test_a_checkpoint_keeps_less() -> None:
    def chain(x: Any, step: Any) -> Any:
        for _ in range(6):
            x = step(x)
        return np.sum(x)

    def step(x: Any) -> Any:
        for _ in range(5):
            x = np.sin(x) * np.cos(np.cumsum(x))
        return x

    x = np.linspace(0.0, 1.0, 10_000)
    sizes = []
    for f in (step, wg.checkpoint(step)):
        g = wg.jit(wg.grad(lambda x, f=f: chain(x, f)))
        g(x)
        sizes.append(g.program(x).arena_bytes)
    assert sizes[1] < sizes[0] / 2


def test_a_checkpoint_of_trees_and_captures() -> None:
    def f(a: Any) -> Any:
        g = wg.checkpoint(lambda d, scale=1.0: {"y": d["x"] * a * scale, "z": np.sin(a)})
        out = g({"x": a}, scale=2.0)
        return out["y"] + out["z"]

    assert wg.grad(f)(0.5) == pytest.approx(2.0 + np.cos(0.5))


def steps_in(tape: Tape) -> int:
    """Of the tape and its bodies, however deep."""
    return sum([1 + sum(map(steps_in, tapes_in(tuple(i.params.values())))) for i in tape.instrs])


@pytest.mark.machine_code("the steps of a plan are counted")
def test_checkpoints_within_checkpoints_stay_small() -> None:
    """The pullback of a step with several operands asks for each of them: as many steps at every level, once."""

    def nested(depth: int) -> Any:
        f: Any = lambda a, b, c, d, x: np.sin(a * x) + np.cos(b * x) * c + d
        for _ in range(depth):
            f = wg.checkpoint(lambda a, b, c, d, x, f=f: f(a, b, c, d, x) * x)
        return f

    sizes = []
    for depth in (2, 4, 6):
        g = wg.jit(wg.grad(nested(depth), argnums=(0, 1, 2, 3, 4)))
        at = 0.1, 0.2, 0.3, 0.4, 0.9
        expected = wg.grad(nested(0), (0, 1, 2, 3))(*at)
        np.testing.assert_allclose(g(*at)[:4], np.multiply(expected, at[4] ** depth))
        sizes.append(steps_in(g.program(*at).plan.tape))
    assert sizes[2] - sizes[1] < 3 * (sizes[1] - sizes[0])


def walk(x: Any, a: Any, **options: Any) -> Any:
    def step(c: Any, t: Any) -> Any:
        c = np.sin(c) * a + t * np.exp(-(c**2))
        return c, c * t

    c, ys = wg.scan(step, x[:2], np.stack([x, x * 0.5], axis=1), **options)
    return np.sum(c) + np.sum(ys**2)


@pytest.mark.sampled(9, "half a second each")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("options", [{"checkpoint": 1}, {"checkpoint": 4}, {"checkpoint": 5}, {"budget": 100}])
def test_a_checkpointed_scan(options: Any, reverse: bool) -> None:
    x = np.linspace(-1.0, 1.0, 22)
    plain, kept = (lambda x, a: walk(x, a, reverse=reverse)), (lambda x, a: walk(x, a, reverse=reverse, **options))
    for f in (lambda g: wg.grad(g, (0, 1))(x, 0.7), lambda g: wg.jit(wg.grad(g, (0, 1)))(x, 0.7)):
        for seen, expected in zip(f(kept), f(plain), strict=True):
            np.testing.assert_allclose(seen, expected, rtol=1e-11)
    assert kept(x, 0.7) == pytest.approx(plain(x, 0.7), rel=1e-12)
    hvps = [wg.hvp(lambda x, f=f: f(x, 0.7), (x,), (np.cos(x),)) for f in (kept, plain)]
    np.testing.assert_allclose(*hvps, rtol=1e-10)


@pytest.mark.machine_code("the bytes of a planned arena are compared")
def test_memory_within_a_budget() -> None:
    x = np.linspace(-1.0, 1.0, 10_000)
    sizes = []
    for options in ({}, {"budget": 200_000}):
        g = wg.jit(wg.grad(lambda x, o=options: walk(x, 0.7, **o)))
        g(x)
        program = g.program(x)
        sizes.append(program.arena_bytes - 3 * 2 * x.nbytes)  # slices, results and cotangents are the program's
    assert sizes[1] < 200_000 < sizes[0]


# ------------------------------------------------------------------------------------------------- bounded loops


def halving(x: Any) -> Any:
    return wg.while_loop(lambda c: c > 1.0, lambda c: c / 2, x, max_steps=5)


@pytest.mark.parametrize("transform", [lambda f: f, wg.jit, wg.grad, lambda f: wg.jit(wg.grad(f))])
def test_a_loop_that_takes_too_long(transform: Any) -> None:
    f = transform(halving)
    f(10.0)
    with pytest.raises(RuntimeError, match=r"the condition still holds after max_steps=5\n  at .*test_loops.py"):
        f(100.0)
    f(20.0)


# -------------------------------------------------------------------------------------- what may not be reached


def test_what_a_branch_does_with_its_surroundings_is_not_done_before_it() -> None:
    f = lambda x: wg.cond(x > 0, lambda: np.sqrt(x), lambda: 0.0 * x)
    assert (wg.grad(f)(-1.0), wg.jit(wg.grad(f))(-1.0), wg.jit(wg.grad(f))(4.0)) == (0.0, 0.0, 0.25)
    np.testing.assert_array_equal(wg.jit(wg.vmap(wg.grad(f)))(np.array([-1.0, 4.0])), [0.0, 0.25])
    element = wg.jit(lambda x, i: wg.cond(i > 2, lambda: x[i], lambda: 0.0), strict=True)
    assert element(np.ones(5), -9) == 0.0 and element(np.ones(5), 3) == 1.0
    with pytest.raises(IndexError):
        element(np.ones(5), 9)
    singular = wg.jit(lambda x, i: wg.cond(i < 5, lambda: np.linalg.solve(0 * np.outer(x, x), x), lambda: x))
    np.testing.assert_array_equal(singular(np.ones(3), 9), np.ones(3))


def test_nor_what_a_loop_does_that_does_not_begin() -> None:
    f = lambda x: wg.while_loop(lambda c: c < 0, lambda c: c + np.sqrt(x), 5.0 + x)
    assert wg.grad(f)(-1.0) == wg.jit(wg.grad(f))(-1.0) == 1.0
    element = wg.jit(lambda x, i: wg.while_loop(lambda c: c < 0, lambda c: c + x[i], 5.0), strict=True)
    assert element(np.ones(5), 9) == 5.0
    nothing = lambda x: wg.scan(lambda c, t: (c + np.sqrt(x), None), 2.0 * x, np.zeros(0))[0]
    assert wg.jit(wg.grad(nothing))(-1.0) == 2.0


def test_nor_what_stands_behind_a_look() -> None:
    f = lambda x, a: wg.scan(lambda c, t: (c + np.sqrt(a) if c > 10 else c * t, None), x, np.arange(3.0))[0]
    for g in (wg.grad(f, (0, 1)), wg.jit(wg.grad(f, (0, 1)), strict=True)):
        assert g(1.0, -1.0) == (0.0, 0.0)


def test_heavy_steps_that_are_the_same_in_every_iteration_are_taken_once_if_the_loop_begins() -> None:
    def f(w: Any, x: Any, n: Any) -> Any:
        return wg.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, np.tanh(np.sqrt(w) @ w @ w @ s[1])), (0, x))[1]

    w, x = RNG.uniform(0.02, 0.06, (12, 12)), np.ones(12)
    program = wg.jit(f).program(w, x, 3)
    assert [i.op.name for i in program.tape.instrs] == ["less", "convert", "cond", "while"]
    expected = x
    for _ in range(3):
        expected = np.tanh(np.sqrt(w) @ w @ w @ expected)
    np.testing.assert_allclose(wg.jit(f)(w, x, 3), expected, rtol=1e-12)
    eager = wg.grad(lambda w: np.sum(f(w, x, 3)))(w)
    step = 1e-6 * np.eye(12)[:1].T @ np.eye(12)[3:4]
    slope = (np.sum(f(w + step, x, 3)) - np.sum(f(w - step, x, 3))) / 2e-6
    assert eager[0, 3] == pytest.approx(slope, rel=1e-5)
    assert abs(slope) > 1e-2
    np.testing.assert_array_equal(wg.jit(wg.grad(lambda w: np.sum(f(w, x, 0))))(-w), np.zeros((12, 12)))


def test_an_integer_made_of_the_surroundings_is_looked_at_before_the_branch() -> None:
    f = wg.jit(lambda x, n: wg.cond(x > 0, lambda: x * np.arange(5.0)[int(n + 1)], lambda: x), strict=True)
    assert [f(2.0, 2), f(2.0, 3), f(-1.0, 3)] == [6.0, 8.0, -1.0]


def test_arrays_that_a_body_makes_of_constants_are_its_own() -> None:
    def f(p: Any, make: Callable[[Any], Any]) -> Any:
        c = np.ones(3)

        def step(s: Any, _: Any) -> Any:
            u = make(c)
            u[0] = np.cos(s)
            return s + u.sum(), None

        return wg.scan(step, p, None, 3)[0]

    for make in (lambda c: c.copy(), lambda c: 2 * c, lambda c: np.concatenate([c, c])):
        slope = (f(1.0 + 1e-6, make) - f(1.0 - 1e-6, make)) / 2e-6
        gradient = wg.grad(lambda p, m=make: f(p, m))
        assert gradient(1.0) == pytest.approx(slope, rel=1e-6)
        assert wg.jit(gradient)(1.0) == pytest.approx(slope, rel=1e-6)


def test_the_pullback_of_a_body_that_was_seen_in_another_loop() -> None:
    """The joint tape of the one was another's body, of other variables."""
    wg.jit(lambda x, d: wg.scan(lambda c, x: (np.sin(c), x * np.cos(c)), x, d))(0.5, np.ones(3))
    f = lambda x: wg.scan(lambda c, _: (np.sin(c), None), x, None, 3)[0]
    slopes = np.cos([0.5, np.sin(0.5), np.sin(np.sin(0.5))])
    assert wg.grad(f)(0.5) == pytest.approx(np.prod(slopes), rel=1e-14)


def test_a_scan_of_no_iterations_whose_body_cannot_be_recorded() -> None:
    """It went round in circles until Python's stack was full."""

    def body(c: Any, x: Any) -> Any:
        return c * len(c.hex()), x

    with pytest.raises(errors.ConcretizationError, match="hex"):
        wg.scan(body, 1.0, np.zeros(0))
    carry, ys = wg.scan(lambda c, x: (c * 2, c + x), 1.0, np.zeros(0))
    assert carry == 1.0 and ys.shape == (0,)
