"""The schedule against what can be counted, and the pullback against that of a scan that keeps everything."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError
from wengert.higher.revolve import schedule

X = np.linspace(-1.0, 1.0, 22)


@cache
def fewest(length: int, slots: int) -> int:
    """Advances that going back over ``length`` iterations needs, by trying every first place for the next carry."""
    if length <= 1:
        return 0
    if slots == 1:
        return length * (length - 1) // 2
    return min(k + fewest(length - k, slots - 1) + fewest(k, slots) for k in range(1, length))


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(("length", "slots"), [(1, 1), (2, 1), (5, 1), (5, 2), (22, 3), (22, 5), (22, 30), (60, 4)])
def test_a_schedule_goes_back_over_all_with_the_fewest_advances(length: int, slots: int, is_reversed: bool) -> None:
    table = schedule(length, slots, is_reversed)
    number = (lambda k: length - 1 - k) if is_reversed else (lambda k: k)
    known: dict[int, int] = {0: 0}
    done = 0
    for iteration in range(length):
        row, at = number(int(table.rows[iteration])), known[int(table.places[iteration])]
        assert row == length - 1 - iteration
        while done < table.ends[iteration]:
            assert number(int(table.over[done])) == at
            if table.kept[done] < slots:
                known[int(table.kept[done])] = at
            at, done = at + 1, done + 1
        assert at == row
    assert done == fewest(length, slots)


def walk(x: Any, a: Any, **options: Any) -> Any:
    def step(c: Any, t: Any) -> Any:
        c = np.sin(c) * a + t * np.exp(-(c**2))
        return c, c * t

    c, ys = wg.scan(step, x[:2], np.stack([x, x * 0.5], axis=1), **options)
    return np.sum(c) + np.sum(ys**2)


@pytest.mark.sampled(9, "every budget is compiled, with second derivatives and in a batch")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("budget", [32, 48, 100, 100_000])
def test_derivatives_are_those_of_the_scan(budget: int, reverse: bool) -> None:
    plain = lambda x, a: walk(x, a, reverse=reverse)
    kept = lambda x, a: walk(x, a, reverse=reverse, checkpoint="binomial", budget=budget)
    assert kept(X, 0.7) == plain(X, 0.7)
    for transform in (lambda f: f, wg.jit):
        for seen, expected in zip(*[transform(wg.grad(f, (0, 1)))(X, 0.7) for f in (kept, plain)], strict=True):
            np.testing.assert_allclose(seen, expected, rtol=1e-12)
    tangent = (np.cos(X), 0.3)
    np.testing.assert_allclose(*[wg.jvp(f, (X, 0.7), tangent)[1] for f in (kept, plain)], rtol=1e-12)
    np.testing.assert_allclose(*[wg.hvp(f, (X, 0.7), tangent)[0] for f in (kept, plain)], rtol=1e-10)
    rows = np.stack([X, X**2, np.sin(X)])
    batches = [wg.jit(wg.vmap(wg.grad(lambda x, f=f: f(x, 0.7))))(rows) for f in (kept, plain)]
    np.testing.assert_allclose(*batches, rtol=1e-12)


def test_a_carry_of_several_arrays_some_of_which_do_not_move() -> None:
    def f(x: Any, **options: Any) -> Any:
        step = lambda c, t: ({"n": c["n"] + 1, "y": np.cos(c["y"]) * t + c["n"]}, c["n"])
        end, ns = wg.scan(step, {"n": 0, "y": x[:3]}, x, **options)
        return np.sum(end["y"]) * np.sum(ns)

    kept = lambda x: f(x, checkpoint="binomial", budget=100)
    np.testing.assert_allclose(wg.jit(wg.grad(kept))(X), wg.grad(f)(X), rtol=1e-12)


@pytest.mark.machine_code("the bytes of a planned arena are compared")
def test_what_is_kept_is_within_the_budget_and_written_in_place() -> None:
    """64 KiB a carry, 100 iterations of which all that is read would be 13 MB."""
    n, budget = 8192, 8 << 16

    def end(x: Any, **options: Any) -> Any:
        step = lambda c, t: (np.sin(c) * np.exp(-c[::-1]) + t, None)
        return np.sum(wg.scan(step, x, np.arange(100.0) / 100, **options)[0])

    x = np.linspace(0.0, 1.0, n)
    whole, kept = wg.jit(wg.grad(end)), wg.jit(wg.grad(lambda x: end(x, checkpoint="binomial", budget=budget)))
    np.testing.assert_allclose(kept(x), whole(x), rtol=1e-12)
    assert kept.program(x).arena_bytes <= budget + 3 * x.nbytes < whole.program(x).arena_bytes
    assert {k.kind for k in kept.program(x).kernels} == {"loops"}


def test_the_default_chooses_it_where_segments_are_too_much() -> None:
    found = []
    for budget in (1 << 30, 12_000, 3_000):
        tape = wg.trace(lambda x, b=budget: walk(x, 0.7, budget=b))(np.linspace(-1.0, 1.0, 10_000))
        found.append([i.op.name for i in tape.instrs if i.op.name in ("scan", "revolve")])
    assert found == [["scan"], ["scan"], ["revolve"]]


def test_a_budget_without_room_is_refused() -> None:
    message = r"scan: a budget of 20 bytes has no room for two carries of 16 bytes\n  at .*test_revolve.py"
    with pytest.raises(ValueError, match=message):
        wg.grad(lambda x: walk(x, 0.7, checkpoint="binomial", budget=20))(X)


def test_a_schedule_that_would_be_endless_is_refused_or_not_chosen() -> None:
    step = lambda c, _: (np.sin(c) * np.exp(c), None)
    f = lambda x, **options: wg.scan(step, x, None, 10**10, **options)[0]
    assert {i.op.name for i in wg.trace(lambda x: f(x, budget=2000))(0.5).instrs} == {"scan"}
    with pytest.raises(ValueError, match="iterations, and there are 10000000000"):
        wg.trace(lambda x: f(x, checkpoint="binomial"))(0.5)


@pytest.mark.parametrize("checkpoint", [0, -3, 2.0, "segments"])
def test_another_checkpoint_is_refused(checkpoint: Any) -> None:
    expected = r"a number of iterations, 1 or more|an integer of 64 bits or 'binomial' or None"
    with pytest.raises(ArgumentError, match=rf"scan: checkpoint is .*; expected ({expected})"):
        wg.grad(lambda x: walk(x, 0.7, checkpoint=checkpoint))(X)
