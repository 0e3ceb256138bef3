"""A nest whose code computes something else than it says is found; one that does what it says is not."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest

from tests.codegen.verification.made import address_of
from wengert.codegen.nests.nest import Fold, Load, Nest, Operation, Store
from wengert.codegen.vecmath import FUNCTIONS
from wengert.codegen.verification import nests
from wengert.ops import OPS
from wengert.ops.kernels import Map

pytestmark = pytest.mark.machine_code("there are no kernels")


def elementwise(*steps: Operation, extents: tuple[int | None, ...] = (None,), n_loads: int = 2) -> Nest:
    """Steps of float64 operands in C order; the last one is stored."""
    row = (*[None] * (len(extents) - 1), 1)
    loads = tuple([Load("f8", row)] * n_loads)
    last = Store(n_loads + len(steps) - 1, steps[-1].dtype, row)
    return Nest(extents, len(extents), len(extents) - 1, loads, (), steps, (last,))


def summed(combine: str, *steps: Operation) -> Nest:
    """Rows of a matrix, folded."""
    fold = Fold(combine, len(steps), "f8")
    post = (Store(len(steps) + 1, "f8", (1, 0)),)
    return Nest((None, None), 1, 1, (Load("f8", (None, 1)),), (), steps, (), (fold,), (), post)


def in_pieces(combine: str) -> Nest:
    """A vector of squares, whose pieces are folded each to a number."""
    square, fold = Operation("square", (0,), "f8"), Fold(combine, 1, "f8")
    last = Store(2, "f8", (1, 0))
    return Nest((None, None), 1, 1, (Load("f8", (0, 1)),), (), (square,), (), (fold,), (), (last,), has_pieces=True)


ADD, SUBTRACT = Operation("add", (0, 1), "f8"), Operation("subtract", (0, 1), "f8")
EXP = Operation("exp", (0,), "f8")
RIGHT = {
    "a sum of two": elementwise(ADD),
    "in rows": elementwise(ADD, extents=(None, None)),
    "of known lengths": elementwise(SUBTRACT, extents=(5,)),
    "transcendental": elementwise(EXP, Operation("sin", (1,), "f8"), n_loads=1),
    "a comparison": elementwise(Operation("less", (0, 1), "b1")),
    "sums of rows": summed("add"),
    "greatest of rows": summed("maximum"),
    "sums of squares": summed("add", Operation("square", (0,), "f8")),
    "pieces": in_pieces("add"),
    "a comparison over an operand": elementwise(Operation("greater", (0, 1), "b1"))._replace(
        loads=(Load("i1", (1,)), Load("i1", (1,)))
    ),
}


@pytest.mark.parametrize("nest", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_right_is_verified(nest: Nest) -> None:
    found = list(nests.differences(nest, address_of(nest)))
    assert found
    assert not any(found)


@pytest.mark.parametrize(
    ("said", "does"),
    [
        (elementwise(ADD), elementwise(SUBTRACT)),
        (elementwise(SUBTRACT), elementwise(Operation("subtract", (1, 0), "f8"))),
        (elementwise(EXP, n_loads=1), elementwise(Operation("exp2", (0,), "f8"), n_loads=1)),
        (elementwise(EXP, n_loads=1), elementwise(EXP, n_loads=1)._replace(extents=(7,))),
        (elementwise(Operation("maximum", (0, 1), "f8")), elementwise(Operation("fmax", (0, 1), "f8"))),
        (elementwise(EXP, n_loads=1), elementwise(ADD._replace(operands=(0, 0)), n_loads=1)),
        (
            elementwise(Operation("negative", (0,), "f8"), n_loads=1),
            Nest((None,), 1, 0, (Load("f8", (1,)),), (("f8", np.float64(0).tobytes()),),
                 (Operation("subtract", (1, 0), "f8"),), (Store(2, "f8", (1,)),)),
        ),
        (elementwise(Operation("less", (0, 1), "b1")), elementwise(Operation("less_equal", (0, 1), "b1"))),
        (summed("add"), summed("maximum")),
        (summed("add", Operation("square", (0,), "f8")), summed("add", Operation("absolute", (0,), "f8"))),
        (in_pieces("add"), in_pieces("maximum")),
    ],
    ids=["sign", "order", "function", "length", "NaN", "a step", "sign of zero", "at a tie", "fold", "in a fold",
         "pieces"],
)  # fmt: skip
def test_what_is_wrong_is_found(said: Nest, does: Nest) -> None:
    assert any(nests.differences(said, address_of(does)))


def test_what_is_rounded_anew_behind_a_sum_is_not_taken_for_wrong() -> None:
    """A sum that is off by little may be rounded to another number once something larger is added to it."""
    products = Operation("multiply", (0, 1), "f8")
    post = (Operation("subtract", (5, 2), "f8"), Operation("add", (3, 6), "f8"))
    row = (8, 1, 0)
    loads = (Load("f8", (2, 0, 1)), Load("f8", (0, 1, 8)), Load("f8", row), Load("f8", row))
    stores = (Store(5, "f8", row), Store(7, "f8", row))
    nest = Nest((2, 8, 2), 2, 1, loads, (), (products,), (), (Fold("add", 4, "f8"),), post, stores)
    assert not any(nests.differences(nest, address_of(nest)))


def test_a_divergence_may_be_off_by_digits_of_its_operands() -> None:
    """It is 0 where they are equal, and cancels beside that."""
    importlib.import_module("wengert.ops.special")
    nest = elementwise(Operation("kl_div", (0, 1), "f8"))
    assert not any(nests.differences(nest, address_of(nest)))


def test_a_power_of_one_exponent_is_that_of_each() -> None:
    """NumPy's is a square root where the exponent is 0.5 for all, which is NaN of -inf."""
    power = Operation("power", (0, 1), "f8")
    nest = Nest((41,), 1, 0, (Load("f8", (1,)), Load("f8", (0,))), (), (power,), (Store(2, "f8", (1,)),))
    code = address_of(nest)
    for number in range(20):
        assert not nests._Trial(nest, (41,), np.random.default_rng(number), False, None).difference(code)


def test_references_of_functions_that_come_later_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of scipy.special are there once that is imported."""
    nest = elementwise(Operation("late", (0,), "f8"), n_loads=1)
    right = elementwise(Operation("exp", (0,), "f8"), n_loads=1)
    assert not any(nests.differences(right, address_of(right)))
    op = OPS["exp"]
    monkeypatch.setitem(OPS, "late", dataclasses.replace(op, name="late", kernel=Map("late")))
    monkeypatch.setitem(FUNCTIONS, "late", FUNCTIONS["exp"])
    assert not any(nests.differences(nest, address_of(right)))
