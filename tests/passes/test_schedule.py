"""The order of instructions: what grows memory moves to its first reader, and nothing is read before it is there."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.passes.random_tapes import arguments, random_tape
from wengert.ops.elementwise import add, multiply, sin
from wengert.ops.reduce import sum_
from wengert.ops.shape import broadcast_to, transpose
from wengert.passes.schedule import schedule
from wengert.runtime.reference import Reference
from wengert.tape import Aval, Builder, Lit, Tape, Var, building, check

F64 = np.dtype("float64")


def order(tape: Tape) -> list[str]:
    return [i.op.name for i in tape.instrs]


def test_a_repeated_scalar_is_repeated_where_it_is_read() -> None:
    x, s = Var(Aval((1000,), F64)), Var(Aval((), F64))
    with building(Builder()) as builder:
        wide = add(broadcast_to(s, shape=(1000,)), Lit(1.0))  # 8000 bytes out of 8
        y = sum_(multiply(x, x), axis=(0,))
        z = sum_(multiply(wide, x), axis=(0,))
    tape = Tape((x, s), (), builder.instrs, (y, z))
    assert order(tape) == ["broadcast_to", "add", "multiply", "sum", "multiply", "sum"]
    assert order(schedule(tape)) == ["broadcast_to", "multiply", "sum", "add", "multiply", "sum"]


def test_what_lets_go_of_as_much_as_it_makes_stays() -> None:
    x = Var(Aval((1000,), F64))
    with building(Builder()) as builder:
        a = sin(multiply(x, Lit(2.0)))
        b = sum_(x, axis=(0,))
        c = multiply(a, b)
    tape = Tape((x,), (), builder.instrs, (c,))
    # The product takes 8000 bytes, so it waits for the sine; the sine lets go of the product, so it stays.
    assert order(schedule(tape)) == ["multiply", "sin", "sum", "multiply"]


@pytest.mark.parametrize("is_view", [False, True])
def test_what_it_is_made_of_is_not_kept_for_it(is_view: bool) -> None:
    """A product of 80 kB is read as a view, too: what takes 8 kB could wait for its reader, and what it reads cannot.
    But for an argument, which is kept anyway."""
    x, y = Var(Aval((10, 1000), F64)), Var(Aval((10, 1000), F64))
    with building(Builder()) as builder:
        a = multiply(x, y)
        columns = sum_(transpose(a, axes=(1, 0)) if is_view else a, axis=(1,) if is_view else (0,))
        of_x = sum_(x, axis=(0,))
        last = sum_(sin(y), axis=(0,))
        z = add(multiply(columns, last), of_x)
    tape = Tape((x, y), (), builder.instrs, (z,))
    made = {i.outs[0]: k for k, i in enumerate(schedule(tape).instrs)}
    assert made[columns] < made[last] < made[of_x]


def test_of_two_readers_that_move_to_one_place_the_one_that_comes_first_there_counts() -> None:
    """The product that both read was put before the one with the lower number, and behind the other."""
    x, y, z = Var(Aval((1000,), F64)), Var(Aval((3, 1000), F64)), Var(Aval((3, 3, 1000), F64))
    with building(Builder()) as builder:
        both = sin(x)
        first = sum_(x, axis=(0,))
        nested = multiply(both, y)  # goes before `wide`, which goes before the last step
        direct = add(both, y)  # goes before the last step, and before `wide`
        wide = multiply(nested, z)
        second = sum_(y, axis=(0, 1))
        last = add(add(wide, direct), add(first, second))
    moved = check(schedule(Tape((x, y, z), (), builder.instrs, (last,))), after="schedule")
    made = {i.outs[0]: k for k, i in enumerate(moved.instrs)}
    assert made[second] < made[both] < made[direct] < made[nested] < made[wide]


def test_small_values_stay() -> None:
    x = Var(Aval((10,), F64))
    with building(Builder()) as builder:
        a = sin(x)
        b = multiply(x, x)
        c = add(a, b)
    tape = Tape((x,), (), builder.instrs, (c,))
    assert schedule(tape) is tape


@pytest.mark.parametrize("seed", range(200))
def test_random_tapes_give_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["wengert.passes.schedule"], "MIN_BYTES", 1)
    tape = random_tape(seed)
    inputs = arguments(tape)
    moved = check(schedule(tape), after="schedule")
    assert sorted(map(id, moved.instrs)) == sorted(map(id, tape.instrs))
    for a, b in zip(Reference(tape).run(inputs), Reference(moved).run(inputs), strict=True):
        np.testing.assert_array_equal(a, b)
