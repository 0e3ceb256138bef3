"""Carries that begin and go on alike are one."""

from __future__ import annotations

import numpy as np

import wengert as wg
from tests.differences import same
from tests.passes.tapes import F64, tape
from wengert.higher.loops import TapeLoop, scan
from wengert.ops.elementwise import add, multiply, sin
from wengert.ops.index import slice_
from wengert.passes.merge_carries import merge_carries
from wengert.tape import Aval

VECTOR = Aval((3,), F64)


def loop_of(body, carries, length=4):
    return TapeLoop(tape(body, *[VECTOR] * carries), 0, carries, length, False)


def run(made, *xs):
    return wg.compile(made)(*xs)


def test_equal_carries_are_one():
    def body(x, y, z):
        new = sin(multiply(x, y))
        return new, new, add(z, y)

    def f(x):
        return scan(x, x, x, loop=loop_of(body, 3), pull=None)

    before = tape(f, VECTOR)
    after = merge_carries(before)
    assert after.instrs[-1].params["loop"].carries == 2
    x = np.array([0.3, 1.0, 2.0])
    same(tuple(run(after, x)), tuple(run(before, x)))


def test_equal_steps_of_the_body_are_seen():
    def body(x, y):
        return sin(multiply(x, y)), sin(multiply(x, y))

    after = merge_carries(tape(lambda x: scan(x, x, loop=loop_of(body, 2), pull=None), VECTOR))
    assert after.instrs[-1].params["loop"].carries == 1
    assert len({*after.outputs}) == 1


def test_carries_that_begin_or_go_on_otherwise_stay():
    def same_end(x, y):
        new = multiply(x, y)
        return new, new

    def other_end(x, y):
        return multiply(x, y), add(x, y)

    for made in (
        tape(lambda a, b: scan(a, b, loop=loop_of(same_end, 2), pull=None), VECTOR, VECTOR),
        tape(lambda a, b: scan(a, a, loop=loop_of(other_end, 2), pull=None), VECTOR, VECTOR),
    ):
        assert merge_carries(made) is made


def test_a_view_of_a_carry_is_no_carry():
    part = ((1, 2, 1),)

    def body(x, y):
        new = multiply(x, add(slice_(y, index=((0, 1, 1),)), x))
        return new, slice_(new, index=part)

    loop = TapeLoop(tape(body, VECTOR, Aval((2,), F64)), 0, 2, 4, False)
    before = tape(lambda x: scan(x, slice_(x, index=part), loop=loop, pull=None), VECTOR)
    after = merge_carries(before)
    assert [i.params["loop"].carries for i in after.instrs if "loop" in i.params] == [1]
    x = np.array([0.3, 1.0, 0.2])
    same(tuple(run(after, x)), tuple(run(before, x)))
    other = tape(lambda x: scan(x, slice_(x, index=((0, 2, 1),)), loop=loop, pull=None), VECTOR)
    assert merge_carries(other) is other
