"""What is computed again rather than stored: the cut is the cheapest there is, and the values are the same."""

from __future__ import annotations

import sys
from itertools import chain, combinations
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

import wengert as wg
from tests.comparisons import as_numpy
from tests.passes.random_tapes import arguments, random_tape
from wengert.codegen.lower import supports
from wengert.ops.contract import matmul
from wengert.ops.elementwise import add, exp, multiply, subtract
from wengert.passes.fuse import fuse
from wengert.passes.rematerialise import FREE, READ, WRITE, _flow, _minimum_cut, body_of, rematerialise
from wengert.passes.simplify import drop_dead
from wengert.runtime.reference import Reference
from wengert.tape import Aval, Builder, Instr, Lit, Tape, Var, building, check

F64 = np.dtype("float64")
SQUARE = Aval((100, 100), F64)


def fused(f: Any, *avals: Aval) -> Tape:
    inputs = tuple(map(Var, avals))
    with building(Builder()) as builder:
        y = f(*inputs)
    outputs = y if isinstance(y, tuple) else (y,)
    return fuse(drop_dead(Tape(inputs, (), builder.instrs, outputs)), supports)


def between(tape: Tape) -> int:
    """Arrays that one instruction makes and another reads."""
    made = {v for i in tape.instrs for v in i.outs}
    return len({a for i in tape.instrs for a in i.ins if a in made})


def barrier(c: Any, w: Any) -> Any:
    """Something between two expressions that cannot be fused with either."""
    return matmul(matmul(c, w), w)


def test_a_cheap_chain_is_computed_again() -> None:
    def f(x: Any, w: Any) -> Any:
        a = multiply(x, Lit(2.0))
        b = add(a, Lit(1.0))
        return multiply(barrier(multiply(b, a), w), add(b, a))

    before = fused(f, SQUARE, SQUARE)
    after = check(rematerialise(before, supports), after="rematerialise")
    assert between(after) < between(before)
    first, last = after.instrs[0], after.instrs[-1]
    assert len(first.outs) == 1  # only what the product reads is stored
    assert after.inputs[0] in last.ins and {i.op.name for i in body_of(last).instrs} == {"multiply", "add"}


def test_an_exponential_is_stored() -> None:
    def f(x: Any, w: Any) -> Any:
        a = exp(x)
        return multiply(barrier(multiply(a, Lit(2.0)), w), a)

    before = fused(f, SQUARE, SQUARE)
    assert rematerialise(before, supports) is before


def test_what_is_stored_for_others_anyway_is_read() -> None:
    def f(x: Any, w: Any) -> Any:
        a = subtract(x, Lit(1.0))
        return multiply(barrier(a, w), a), a

    before = fused(f, SQUARE, SQUARE)
    assert rematerialise(before, supports) is before


def test_small_values_are_stored() -> None:
    def f(x: Any, w: Any) -> Any:
        a = multiply(x, Lit(2.0))
        return multiply(barrier(add(a, Lit(1.0)), w), a)

    before = fused(f, Aval((10, 10), F64), Aval((10, 10), F64))
    assert rematerialise(before, supports) is before


def cost_of(stored: frozenset[Var], earlier: Instr, later: Instr, needed: list[Var], shared: set[Any]) -> int | None:
    """What it costs to have ``needed`` from ``stored``; None if they do not suffice. Written without the pass."""
    made = {i.outs[0]: i for i in body_of(earlier).instrs}
    todo, seen, total = [v for v in needed if v not in stored], set(), 0
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if v not in made or made[v].op is exp:
            return None
        todo += [a for a in made[v].ins if type(a) is Var and a not in stored]
    for v in stored:
        if v in made:
            total += READ + FREE + (0 if v in shared else WRITE)
        else:
            total += FREE if v in later.ins else READ + FREE
    return total


@pytest.mark.parametrize("seed", range(60))
def test_the_cut_is_a_cheapest_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all sets of values that could be stored, for random expressions of up to eight steps."""
    r = Random(seed)
    monkeypatch.setattr(sys.modules["wengert.passes.rematerialise"], "MIN_BYTES", 1)

    def f(x: Any, y: Any, w: Any) -> Any:
        values = [x, y]
        for _ in range(r.randint(2, 6)):
            op = r.choice([add, multiply, subtract, exp])
            values.append(op(r.choice(values)) if op is exp else op(r.choice(values), r.choice(values)))
        later = barrier(values[-1], w)
        for v in r.sample(values[2:], r.randint(1, len(values) - 2)):
            later = multiply(later, v)
        return later

    before = fused(f, SQUARE, SQUARE, SQUARE)
    earlier, later = before.instrs[0], before.instrs[-1]
    needed = [v for v in later.ins if v in earlier.outs]
    others = {a for i in before.instrs[1:-1] for a in i.ins} | set(before.outputs)
    readers = {v: ({1} if v in others else set()) | {2} for v in earlier.outs}
    if not needed:
        return
    cut = _minimum_cut(earlier, later, needed, 2, {**{v: set() for v in values_of(earlier)}, **readers})
    best = min(
        cost
        for stored in map(frozenset, subsets(values_of(earlier)))
        if (cost := cost_of(stored, earlier, later, needed, others)) is not None
    )
    as_it_is = cost_of(frozenset(needed), earlier, later, needed, others)
    found = as_it_is if cut is None else cost_of(frozenset(cut), earlier, later, needed, others)
    assert found == best


def values_of(instr: Instr) -> list[Var]:
    body = body_of(instr)
    return [*body.inputs, *[v for i in body.instrs for v in i.outs]]


def subsets(values: list[Var]) -> Any:
    return chain.from_iterable(combinations(values, n) for n in range(1, min(len(values), 5) + 1))


@pytest.mark.parametrize("seed", range(300))
def test_random_tapes_give_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["wengert.passes.rematerialise"], "MIN_BYTES", 1)
    tape = fuse(drop_dead(random_tape(seed)), supports)
    inputs = arguments(tape)
    moved = check(rematerialise(tape, supports), after="rematerialise")
    assert between(moved) <= between(tape)
    for a, b in zip(Reference(tape).run(inputs), Reference(moved).run(inputs), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", range(100))
def test_the_flow_is_that_of_scipy_and_of_the_cut_it_leaves(seed: int) -> None:
    r = Random(seed)
    n = r.randint(2, 12)
    edges = [(r.randrange(n), r.randrange(n), r.randint(0, 9)) for _ in range(r.randint(0, 4 * n))]
    flow, reached = _flow(edges, n)
    tails, heads, capacities = np.array(edges, np.int32).reshape(-1, 3).T
    assert flow == maximum_flow(coo_array((capacities, (tails, heads)), shape=(n, n)).tocsr(), 0, 1).flow_value
    assert flow == sum(capacity for a, b, capacity in edges if a in reached and b not in reached)


def test_long_steps_without_native_code_stay_callbacks() -> None:
    """The pass that computes cheap values again merged them with what it found beside them, if that was 16 KiB long: a
    KeyError, numbers instead of NumPy's error, and an integer division by zero that ended the process."""
    x, n = np.linspace(0.5, 3, 4000), np.arange(1, 4001)
    as_numpy(lambda x: special.gammaln(2 * x) + 1, x)
    as_numpy(lambda n: special.gammaln(n), n)
    as_numpy(lambda n: np.gcd(n + 1, 6) * 2, n)
    as_numpy(lambda x: np.signbit(x.astype(np.float16)) * 2, x)
    as_numpy(lambda x: np.abs(x.astype(complex)) + 1, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        as_numpy(lambda n: np.reciprocal(2 * n) + 1, n - 1)
    np.testing.assert_allclose(
        wg.jit(wg.grad(lambda x: np.sum(special.gammaln(2 * x))))(x), 2 * special.digamma(2 * x), rtol=1e-13
    )
    with pytest.raises(ValueError, match="negative integer powers"):
        wg.jit(lambda n: (n + 1) ** n)(-n)
