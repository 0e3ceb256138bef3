"""Donated arguments: results over them, and nothing that is still to be read is overwritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.passes import PIPELINE, donation, run
from wengert.passes.plan.planner import plan

everything = lambda args: args


def given(n: int, side: int = 4) -> list[np.ndarray[Any, Any]]:
    return [np.random.default_rng(k).normal(size=(side, side)) for k in range(n)]


@pytest.mark.machine_code("without it nothing is given away")
def test_a_step_of_training_needs_no_second_set_of_parameters() -> None:
    def loss(p: Any, x: Any) -> Any:
        return np.sum(np.tanh(np.tanh(x @ p["w"]) @ p["u"]) ** 2)

    def step(p: Any, m: Any, count: Any, x: Any) -> Any:
        value, ct = wg.value_and_grad(loss)(p, x)
        m = {k: 0.9 * m[k] + ct[k] for k in m}
        return {k: p[k] - 0.1 * m[k] for k in p}, m, count + 1, value

    w, u, x = given(3)
    p, m, count = {"w": w, "u": u}, {"w": np.zeros((4, 4)), "u": np.zeros((4, 4))}, np.array(0)
    expected = step({k: v.copy() for k, v in p.items()}, m, count, x)
    fast = wg.jit(step, donate=lambda args: args[:3])
    result = fast(p, m, count, x)
    assert all(result[0][k] is p[k] and result[1][k] is m[k] for k in p) and result[2] is count
    for a, b in zip(expected[:2], result[:2], strict=True):
        for k in a:
            np.testing.assert_allclose(b[k], a[k], rtol=1e-12)
    assert count == 1
    again = fast(*result[:3], x)
    assert again[0]["w"] is w and count == 2 and fast.stats()["traces"] == 1


CASES: dict[str, Callable[..., Any]] = {
    "each over itself": lambda a, b: (a + 1, b * 2),
    "each over the other, which is read after it": lambda a, b: (b + 1, a * 2),
    "as they were, exchanged": lambda a, b: (b, a),
    "the same twice": lambda a, b: (a * b, a * b),
    "itself": lambda a, b: (a, a + b),
    "turned round": lambda a, b: (a.T + 0, b[::-1] * 2),
    "a product with it": lambda a, b: (a @ b, b @ a),
    "a sum over it, and it": lambda a, b: (a - a.sum(), b / b.max()),
    "read by a later step": lambda a, b: (a * 2, (a @ b) + a[0]),
    "parts": lambda a, b: (np.concatenate([b[:2], a[2:]]), np.where(a > b, a, b)),
    "rolled": lambda a, b: (np.roll(a, 1), np.cumsum(b, axis=0)),
    "a number over none": lambda a, b: (a.sum(), b * a.sum()),
    "through a view": lambda a, b: (a.reshape(2, 8)[::-1].reshape(4, 4) + a, b.T @ b),
}


@pytest.mark.parametrize("f", CASES.values(), ids=CASES.keys())
def test_what_is_written_over_is_no_longer_needed(f: Callable[..., Any]) -> None:
    expected = f(*given(2))
    fast = wg.jit(f, donate=everything)
    for _ in range(2):
        for a, b in zip(expected, fast(*given(2)), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12)


def random_step(seed: int) -> Callable[..., Any]:
    """A random function of four square matrices, which gives four."""
    rng = np.random.default_rng(seed)
    one: list[Callable[..., Any]] = [np.tanh, lambda x: x.T, lambda x: x[::-1], lambda x: x - x.mean(), np.negative]
    two: list[Callable[..., Any]] = [np.add, np.multiply, np.maximum, lambda x, y: x @ y / 4, lambda x, y: x + y[0]]
    steps = [(rng.integers(2), rng.integers(5), *rng.integers(0, 4 + k, 2)) for k in range(8)]
    results = rng.integers(0, 12, 4)

    def f(*xs: Any) -> Any:
        values = list(xs)
        for kind, which, i, j in steps:
            values.append(one[which](values[i]) if kind else two[which](values[i], values[j]))
        return tuple(values[k] for k in results)

    return f


@pytest.mark.sampled(23, "random programs of one kind")
@pytest.mark.parametrize("seed", range(300))
def test_random_steps_with_all_their_arguments_donated(seed: int) -> None:
    f = random_step(seed)
    expected = f(*given(4))
    fast = wg.jit(f, donate=everything)
    for _ in range(2):
        xs = given(4)
        results = fast(*xs)
        for a, b in zip(expected, results, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-10)


def test_trees_of_one_structure_are_written_leaf_over_leaf() -> None:
    tape = wg.trace(lambda p, q: ([x + 1 for x in p], q[0].sum(), [x * 2 for x in q]))(given(3), given(2, 5))
    assert donation.pairs_of(tape, range(5)) == ((0, 0), (1, 1), (2, 2), (4, 3), (5, 4))
    assert donation.pairs_of(tape, [1]) == ((0, 1),)


@pytest.mark.machine_code("without it nothing is given away")
def test_nothing_is_written_before_the_run_can_no_longer_end() -> None:
    def f(a: Any, b: Any, k: Any) -> Any:
        new = a + 1
        return new, b[k]  # an index may be out of bounds

    a, b = given(2)
    tape = run(wg.trace(f)(a, b, np.array([1, 2])), PIPELINE)
    late = donation.written_late(tape, [(0, 0)])
    names = [i.op.name for i in late.instrs]
    assert names.index("add") > names.index("gather")
    made = plan(late)
    pairs, commits_at = donation.safe(made, [(0, 0)])
    assert pairs == ((0, 0),) and commits_at == len(made.steps) - 1
    assert donation.safe(plan(tape), [(0, 0)])[0] == ()

    fast = wg.jit(f, donate=lambda args: args[0])
    before = a.copy()
    with pytest.raises(IndexError):
        fast(a, b, np.array([1, 9]))
    np.testing.assert_array_equal(a, before)
    assert fast(a, b, np.array([1, 2]))[0] is a


READS: dict[str, Callable[..., Any]] = {
    "itself": lambda a, b: (a + 1, b * a),
    "a view of it": lambda a, b: (a + 1, b * a.T),
    "a view of a view": lambda a, b: (a + 1, b * a.T[::-1]),
    "two views": lambda a, b: (a + 1, b * a.T + a[::-1]),
}


@pytest.mark.parametrize("f", READS.values(), ids=READS.keys())
def test_what_writes_over_an_input_comes_after_all_that_reads_it_be_it_through_views(f: Callable[..., Any]) -> None:
    tape = wg.trace(f)(*given(2))
    late = donation.written_late(tape, [(0, 0)])
    assert late.instrs[-1].outs == (tape.outputs[0],)
    assert donation.safe(plan(late), [(0, 0)])[0] == ((0, 0),)
    assert donation.safe(plan(tape), [(0, 0)])[0] == ()
    assert [i for i in late.instrs[:-1] if i in tape.instrs] == [i for i in tape.instrs if i is not late.instrs[-1]]


@pytest.mark.machine_code("without it nothing is given away")
def test_a_guard_that_misses_leaves_the_arguments_as_they_were() -> None:
    fast = wg.jit(lambda a: (a + 1, a * 0) if a.sum() > 0 else (a - 1, a * 0), donate=lambda args: args[0])
    x = np.ones(3)
    assert fast(x)[0] is x
    y = -np.ones(3)
    np.testing.assert_array_equal(fast(y)[0], [-2, -2, -2])
    z = -np.ones(3)
    assert fast(z)[0] is z
    np.testing.assert_array_equal(z, [-2, -2, -2])


def test_what_is_read_only_strided_or_shared_is_kept() -> None:
    fast = wg.jit(lambda a, b: (a + 1, b.sum()), donate=everything)
    a, b = given(2)
    fixed = wg.constant(a)
    assert fast(fixed, b)[0] is not fixed
    np.testing.assert_array_equal(fixed, a)
    turned, before = a.T, a.copy()
    np.testing.assert_array_equal(fast(turned, b)[0], before.T + 1)
    for second in (a, a[:], a.reshape(16)):
        before = a.copy()
        np.testing.assert_array_equal(fast(a, second)[0], before + 1)
        np.testing.assert_array_equal(a, before)
    captured = given(1)[0]
    with_captured = wg.jit(lambda x: x + captured, donate=everything)
    for _ in range(2):
        np.testing.assert_array_equal(with_captured(captured), 2 * given(1)[0])
        np.testing.assert_array_equal(captured, given(1)[0])


@pytest.mark.machine_code("without it nothing is given away")
def test_keywords_are_not_given_away_and_numbers_have_no_memory() -> None:
    fast = wg.jit(lambda a, n, *, b: (a * n + b, b + 1), donate=everything)
    a, b = given(2)
    expected = a * 2.0 + b
    result = fast(a, 2.0, b=b)
    assert result[0] is a and result[1] is not b
    np.testing.assert_array_equal(result[0], expected)


def test_out_takes_the_place_of_what_is_donated() -> None:
    fast = wg.jit(lambda a: a + 1, donate=everything)
    a, out = np.zeros(3), np.empty(3)
    for _ in range(2):
        assert fast(a, out=out) is out
        np.testing.assert_array_equal(a, 0)
        np.testing.assert_array_equal(out, 1)


def test_one_that_picks_nothing_of_the_call_raises() -> None:
    with pytest.raises(wg.errors.StructureError, match="selector"):
        wg.jit(lambda a: a + 1, donate=lambda args: args[3])(np.ones(3))


def test_without_machine_code_nothing_is_given_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wg.config, "native", False)
    a = np.zeros(3)
    result = wg.jit(lambda x: x + 1, donate=everything)(a)
    np.testing.assert_array_equal(result, 1)
    np.testing.assert_array_equal(a, 0)


def test_a_chain_of_writes_begins_when_all_else_has_read_the_input() -> None:
    """An element is taken out, and nothing copied, although the tape takes it after the first write."""

    def f(ct: Any, k: Any) -> Any:
        cleared = ct.copy()
        cleared[k] = 0.0
        cleared[k - 1] += ct[k] * 2.0
        return cleared

    tape = run(wg.trace(f)(np.ones(5), np.int64(3)))
    late = donation.written_late(tape, [(0, 0)], is_body=True)
    names = [i.op.name for i in late.instrs]
    assert names[:3] == ["subtract", "gather", "scatter_set"]
    made = plan(late)
    pairs, _ = donation.safe(made, [(0, 0)], is_body=True)
    assert pairs == ((0, 0),)
    copies = [step for step in made.steps if step.what == "copy" and step.ins[0].aval.shape == (5,)]
    assert len(copies) == 1 and donation.is_nothing(copies[0], pairs)
    assert not donation.is_nothing(copies[0], ()) and not donation.is_nothing(made.steps[0], pairs)
