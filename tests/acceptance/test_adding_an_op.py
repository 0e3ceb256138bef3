"""A native op is one entry, one line of test and one row: an invented one is added in those three places, and nothing
is missing, and nothing slow. CONTRIBUTING.md works the same through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.kernel import target
from tests.codegen.nests.loops import Loops
from tests.ops.cases import between
from tests.ops.check_op import Case, case, check_op, formula
from wengert import config
from wengert.ad.forward import jvp
from wengert.ad.reverse import vjp
from wengert.batching import batch
from wengert.codegen.nests.emit import emit
from wengert.codegen.vecmath import FUNCTIONS, Row, Weight, arithmetic
from wengert.ops import OPS
from wengert.ops.elementwise import absolute, exp, square
from wengert.ops.kernels import flops
from wengert.ops.op import Op, elementwise
from wengert.ops.reduce import sum_
from wengert.tape import Aval, Tape

NAME = "softsign_like"
VECTOR = Aval((1000,), np.dtype(float))


def entry() -> Op:
    """Place one, in ``ops/``: y = x / (1 + |x|)."""
    return elementwise(
        lambda x: x / (1 + np.abs(x)),
        name=NAME,
        type=lambda x: x,
        partials=[lambda x, y: 1 / square(1 + absolute(x))],
        cost=flops(6),
    )


def line() -> Case:
    """Place two, in ``tests/ops/cases.py``."""
    return case(NAME, between(-3, 3), at=[(0, 1), (1, 0.25), (-3, 0.0625), (1023, 2.0**-20), (np.nan, np.nan)])


def row(weight: Weight = Weight.LIGHT) -> Row:
    """Place three, in ``codegen/vecmath/table.py``."""
    return Row(lambda x: x / (1 + arithmetic.magnitude(x)), "f", weight)


@pytest.fixture
def op(monkeypatch: pytest.MonkeyPatch) -> Iterator[Op]:
    """The entry alone. Nothing of it stays, in memory or on disk."""
    monkeypatch.setattr(config, "cache_dir", "")
    made = entry()
    yield made
    del OPS[NAME]


@pytest.fixture
def native_op(op: Op, monkeypatch: pytest.MonkeyPatch) -> Op:
    monkeypatch.setitem(FUNCTIONS, NAME, row())
    return op


def among_others(op: Op) -> Tape:
    """The op with steps before and behind it, and a reduction that they feed."""
    return formula(lambda x: sum_(exp(op(x * 2)) + x, axis=(0,)), VECTOR)


def kinds(tape: Tape) -> list[str]:
    return [k.kind for k in wg.compile(tape).kernels]


@pytest.mark.usefixtures("native_op")
def test_it_is_right_in_every_sense() -> None:
    """Value, derivatives of both modes and orders, batching, dtypes, special points, and machine code."""
    check_op(line())


@pytest.mark.machine_code("the kernels of native programs are counted")
def test_it_is_machine_code_and_fused_with_its_neighbours(native_op: Op) -> None:
    tape = among_others(native_op)
    assert kinds(tape) == ["loops"]
    assert kinds(vjp(tape, [0], [0])) == ["loops"]  # forward and backward at once
    assert kinds(jvp(tape, [0])) == ["loops"]
    assert kinds(batch(tape, (True,), 7)) == ["loops"]
    assert kinds(formula(native_op, VECTOR)) == ["loops"]


@pytest.mark.machine_code("the kernels of native programs are counted")
def test_without_its_row_it_is_right_and_says_that_it_is_slow(op: Op) -> None:
    check_op(line())
    program = wg.compile(among_others(op))
    assert [k.why for k in program.kernels if k.kind == "callback"] == ["no native lowering"]


ALIKE = {Weight.LIGHT: "reciprocal", Weight.MEDIUM: "exp", Weight.HEAVY: "erf"}


@pytest.mark.parametrize("weight", Weight)
@pytest.mark.parametrize("is_static", [True, False])
def test_its_loops_are_those_of_a_function_of_its_weight(
    weight: Weight, is_static: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Letter for letter: how often it is repeated, unrolled and masked hangs on its row and nothing else."""
    monkeypatch.setitem(FUNCTIONS, NAME, row(weight))
    monkeypatch.setitem(FUNCTIONS, ALIKE[weight], FUNCTIONS[ALIKE[weight]]._replace(function=row().function))
    assert FUNCTIONS[ALIKE[weight]].weight is weight

    def texts(name: str) -> list[str]:
        x, steps = np.ones((40, 100)), [(name, (0,), "f8"), ("multiply", (1, 0), "f8")]
        total: Any = np.ones((40, 1))
        every = [
            Loops((40, 100), 2, 1, [x], steps, [(2, x)]),
            Loops((40, 100), 1, 1, [x], steps, folds=[("add", 2, "f8")], post_stores=[(3, total)]),
            Loops((40, 100), 1, 0, [x.T.copy().T], steps, folds=[("add", 2, "f8")], post_stores=[(3, total)]),
        ]
        return [emit(each.nest(is_static)[0], "kernel", target()).replace(f".{name}.", ".called.") for each in every]

    assert texts(NAME) == texts(ALIKE[weight])


def test_a_light_one_is_repeated_and_a_heavy_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def copies(weight: Weight, n: int, is_static: bool) -> int:
        monkeypatch.setitem(FUNCTIONS, NAME, row(weight))
        loops = Loops((n,), 1, 0, [np.ones(n)], [(NAME, (0,), "f8")], [(1, np.ones(n))])
        return emit(loops.nest(is_static)[0], "kernel", target(32)).count("fdiv")

    # two vectors at once and what is left over; one and that; none of what is called
    assert [copies(weight, 1000, is_static=False) for weight in Weight] == [3, 2, 0]
    assert copies(Weight.HEAVY, 100, is_static=True) == 1  # all of it masked


def test_a_row_cannot_do_without_a_weight() -> None:
    with pytest.raises(TypeError, match="weight"):
        Row(row().function, "f")
