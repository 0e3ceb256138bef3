"""Fused steps without machine code: the reference runs the body step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.check_op import formula
from wengert.ops.contract import matmul
from wengert.ops.elementwise import exp, sin
from wengert.ops.fused import fused
from wengert.ops.linalg.solutions import inv
from wengert.ops.reduce import sum_
from wengert.source import Source
from wengert.tape import Aval, Lit, infer

F64 = np.dtype(float)
V3 = Aval((3,), F64)
X = np.array([0.5, -1.0, 2.0])


def test_one_result_is_an_array_and_several_are_a_tuple() -> None:
    one = formula(lambda x: sin(x) * 2.0, V3)
    np.testing.assert_array_equal(fused.reference(X, body=one), np.sin(X) * 2)
    two = formula(lambda x: (y := exp(x), sum_(y, axis=(0,))), V3)
    y, total = fused.reference(X, body=two)
    np.testing.assert_array_equal(y, np.exp(X))
    assert total == np.sum(np.exp(X))
    assert infer(fused, [V3], {"body": two}) == (V3, Aval((), F64))


def test_operands_behind_the_inputs_of_the_body_are_its_literals() -> None:
    """The plan puts them there for the machine code; the body has them itself."""
    body = formula(lambda x: x * Lit(2.0), V3)
    np.testing.assert_array_equal(fused.reference(X, np.float64(2), body=body), 2 * X)


def test_an_error_notes_the_line_of_its_step() -> None:
    body = formula(lambda x: matmul(inv(x), x), Aval((2, 2), F64))
    lines = [Source("model.py", 3, "f"), Source("model.py", 4, "f")]
    body = body.replace(instrs=tuple([i._replace(source=s) for i, s in zip(body.instrs, lines, strict=True)]))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        fused.reference(np.zeros((2, 2)), body=body)
    (note,) = caught.value.__notes__
    assert note.startswith("  at     model.py:3, in f")


def test_it_says_what_it_is_made_of_and_costs_what_that_costs() -> None:
    body = formula(lambda x: sin(x) * 2.0, V3)
    instr: Any = body.instrs[0]._replace(op=fused, params={"body": body})
    assert fused.describe is not None and fused.describe(instr) == "fused sin+multiply"
    assert fused.cost(V3, body=body) == 3 * (15 + 1)
