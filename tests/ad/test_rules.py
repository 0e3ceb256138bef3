"""What both modes ask of an op."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.check_op import evaluate, formula
from wengert.ad.rules import fixed_at, no_rule, partial_of
from wengert.higher.mapped import map_scalar
from wengert.ops.elementwise import convert, divide, multiply, negative, select, sqrt, tanh
from wengert.ops.structured import Masked
from wengert.source import Source
from wengert.tape import Aval, Builder, Instr, Lit, Tape, Var, building

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


def test_a_literal_that_is_finite_fixes_no_result_and_an_infinite_one_may() -> None:
    """q / t is infinite for q = -inf, whatever t is; of a literal it is known."""
    vector = Aval((3,), F64)
    quotient = instr_of(divide, vector, vector)
    q, t = quotient.ins
    with building(Builder()) as builder:
        assert fixed_at(quotient, 0) is None, "with respect to q nothing is fixed"
        found = fixed_at(quotient, 1)
        assert [i.op.name for i in builder.instrs] == ["isinf"] and builder.instrs[0].ins == (q,)
        assert found is builder.instrs[0].outs[0]
        assert fixed_at(instr_of(tanh, vector), 0) is None
        for value, is_fixed in ((2.0, False), (np.inf, True), (-np.inf, True), (np.nan, True)):
            instr = quotient._replace(ins=(Lit(value), t))
            assert (fixed_at(instr, 1) is not None) == is_fixed, value
        whole = Aval((3,), np.dtype(int))
        assert fixed_at(quotient._replace(ins=(Var(whole), t)), 1) is None, "an integer is never infinite"


def test_what_a_scalar_function_derives_is_told_that_zero_stays_zero() -> None:
    scalar = formula(lambda x: multiply(sqrt(x), 0.0), S)
    instr = instr_of(lambda x: map_scalar(x, body=scalar), S)
    values = {}
    for nan_safe in (False, True):
        with building(Builder()) as builder:
            partial = partial_of(instr, 0, nan_safe)
        inputs = (*instr.ins, *instr.outs)
        with np.errstate(all="ignore"):
            values[nan_safe] = evaluate(Tape(inputs, (), builder.instrs, (partial,)), [np.float64(0), np.float64(0)])[0]
    assert np.isnan(values[False]) and values[True] == 0
