"""What both modes ask of an op."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.check_op import formula
from wengert.ad.rules import no_rule, partial_of
from wengert.ops.elementwise import convert, multiply, negative, select, tanh
from wengert.ops.structured import Masked
from wengert.source import Source
from wengert.tape import Aval, Builder, Instr, building

F64 = np.dtype(float)
S, BOOL = Aval((), F64), Aval((), np.dtype(bool))


def instr_of(f: Any, *avals: Aval) -> Instr:
    (instr,) = formula(f, *avals).instrs
    return instr


def test_a_partial_is_a_number_an_atom_or_where_it_counts() -> None:
    with building(Builder()) as builder:
        assert partial_of(instr_of(negative, S), 0) == -1
        product = instr_of(multiply, S, S)
        assert partial_of(product, 0) is product.ins[1]
        chosen = instr_of(select, BOOL, S, S)
        assert partial_of(chosen, 2) == Masked(chosen.ins[0], 1, holds=False)
        assert not builder.instrs
        partial_of(instr_of(tanh, S), 0)
    assert [i.op.name for i in builder.instrs] == ["multiply", "subtract"]


def test_partials_may_depend_on_parameters() -> None:
    assert partial_of(instr_of(lambda x: convert(x, dtype=np.dtype("f")), S), 0) == 1


def test_an_op_without_a_rule_is_named_with_the_line() -> None:
    instr = instr_of(tanh, S)._replace(source=Source("model.py", 7, "f"))
    text = str(no_rule(instr, "pullback"))
    assert text.startswith("tanh has no pullback\n  at     model.py:7, in f")
    assert "wg.primitive" in text and "wg.stop_gradient" in text
